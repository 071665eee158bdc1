/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What limits the burst. After the same rest it is asked again with requests of another size: as many bytes are a cache
 * or a credit of bytes, as many requests a credit of requests. At a lower rate bytes, or requests, are as many again,
 * or more where some come back meanwhile; as many seconds are a credit of time. Heat is one by bytes, too, but behind
 * every rest it is slow again at one and the same temperature. What is fast again without a rest where the burst began
 * lies in the place, and what no rest brings back was room that had been free.
 */
#include <math.h>

#include "measure/sustain/sustain.h"

#define REST_FIRST_NS (2 * NS_PER_S)
#define REST_GROWS    3
#define REST_MOST_NS  (600 * NS_PER_S)
#define ALL_BACK      0.97 /* of the burst */
#define SLOW_S        2.0  /* and as long as it was fast */
#define AS_LONG       1.5  /* times as long as it was fast before */
#define GIVE_UP       3    /* times the burst: it will not be slow again */
#define AMOUNT_SD     0.15 /* of the logarithm of an amount that is the same with requests of another size */
#define PACED_SD      0.03 /* and of the same requests at another rate */
#define PACE_NEAR     2.0  /* rates that differ by less: it is asked for little more than what it is slow at */
#define SIGMAS        1.96 /* to each side: amounts have 95 % intervals */
#define TIME_LESS     1.0  /* decades less likely beforehand: no provider describes a credit of seconds */
#define CELSIUS_SD    1.0  /* drives say whole degrees */
#define CELSIUS_LEAST 5.0  /* warmer than before: less shows nothing */
#define SURE          2.0  /* decades */
#define UNEXPLAINED   3.0  /* of what has any other reason */
#define VAGUE         0.03 /* of what came back: a longer rest shows more */
#define AS_FAST       0.9  /* of the burst, for GIVE_UP times as long: only requests are counted */

static bool is_paced(const struct sustain_rest *r)
{
	return r->asked_bytes_per_s > 0;
}

/* What it may be slow at with requests of that size, at most. */
static double slow_most(const struct sustain_states *f, uint64_t block_bytes)
{
	return sustain_last(f)->rate.value * fmax(1, (double)block_bytes / (double)f->block_bytes);
}

/* When it was slow again, which 0 is where it was not fast; at the rates of the first burst, as far as they are its. */
static double change_s(const struct sustain_series *s, const struct sustain_states *f, struct sustain_rest *ret)
{
	struct stats_estimate fast = f->v[f->burst].rate, slow = sustain_last(f)->rate, amount = stats_about(0, 0);
	struct sustain_states now;
	double at_s = 0;

	if (is_paced(ret)) {
		fast = stats_about(ret->asked_bytes_per_s, 0);
		slow = stats_about(ret->slow_bytes_per_s, 0);
	}
	if (ret->block_bytes == f->block_bytes || is_paced(ret)) {
		at_s = sustain_change_s(s, &fast, &slow, &amount);
	} else if (sustain_states(s, &now)) {
		slow = sustain_last(&now)->rate;
		/* as slow as as many bytes or requests are; no burst ends where it only stalls */
		if (now.burst < now.n && slow.value < sqrt(fast.value * slow_most(f, ret->block_bytes))) {
			at_s = now.v[now.burst].to_s;
			fast = now.v[now.burst].rate;
			amount = now.amount;
		}
	}
	if (!(amount.ci.low > 0)) /* it may as well be none */
		amount = stats_about(0, 0);
	ret->fast_bytes = amount.value;
	ret->uncertain_bytes = interval_half(amount.ci);
	ret->fast_requests = amount.value / (double)ret->block_bytes;
	ret->fast_bytes_per_s = amount.value > 0 ? fast.value : (double)NAN;
	ret->slow_bytes_per_s = slow.value;
	return at_s;
}

bool sustain_rest_found(const struct sustain_series *s, const struct sustain_states *f, struct sustain_rest *ret)
{
	const struct sustain_state *b = &f->v[f->burst];
	double at_s, pace = is_paced(ret) ? b->rate.value / ret->asked_bytes_per_s : 1;
	size_t at;

	if (s->n < 2 || s->time_s < 2 * SLOW_S)
		return false;
	at_s = change_s(s, f, ret);
	at = at_s > 0 ? sustain_bin_at(s, at_s) : s->n - 1;
	ret->begin_celsius = s->v[0].celsius;
	ret->celsius = s->v[at < s->n ? at : s->n - 1].celsius;
	return (at_s > 0 && s->time_s - at_s >= fmax(SLOW_S, at_s) && s->time_s >= AS_LONG * ret->as_long_s) ||
	       (at_s <= 0 && ret->block_bytes == f->block_bytes && !is_paced(ret)) ||
	       s->time_s >= GIVE_UP * pace * (b->to_s - b->from_s) + SLOW_S;
}

static bool has_all_back(const struct sustain_states *f, const struct sustain_rest *r)
{
	return r->fast_bytes + r->uncertain_bytes >= ALL_BACK * f->amount.ci.low;
}

/* The longest rest that did not bring all back, or the first that did: also where what came before is vague. */
static const struct sustain_rest *to_repeat(const struct sustain_states *f, const struct sustain_rests *r)
{
	const struct sustain_rest *best = NULL;

	for (size_t i = 0; i < r->n && r->v[i].block_bytes == f->block_bytes && !is_paced(&r->v[i]); i++)
		if (r->v[i].fast_bytes > 0 &&
		    (!best || !has_all_back(f, &r->v[i]) || best->uncertain_bytes > VAGUE * best->fast_bytes))
			best = &r->v[i];
	return best;
}

/* What the small requests of a rest and at a rate are held against: the same ones as fast as they go. */
static const struct sustain_rest *unpaced(const struct sustain_rests *r, const struct sustain_rest *paced)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].rest_ns == paced->rest_ns && r->v[i].block_bytes == paced->block_bytes &&
		    !is_paced(&r->v[i]))
			return &r->v[i];
	return NULL;
}

bool sustain_next_rest(const struct sustain_states *f, const struct sustain_rests *r, uint32_t other_block,
                       struct sustain_rest *ret)
{
	const struct sustain_rest *last = r->n ? &r->v[r->n - 1] : NULL, *again = to_repeat(f, r);
	bool is_first = !last || (last->block_bytes == f->block_bytes && !is_paced(last));
	double ratio;

	*ret = (struct sustain_rest){
		.block_bytes = f->block_bytes, .asked_bytes_per_s = NAN, .celsius = NAN, .begin_celsius = NAN
	};
	if (r->n == SUSTAIN_RESTS)
		return false;
	if (is_first && (!last || (!has_all_back(f, last) && last->rest_ns * REST_GROWS <= REST_MOST_NS))) {
		ret->rest_ns = last ? last->rest_ns * REST_GROWS : REST_FIRST_NS;
		return true;
	}
	if (!again || is_paced(last))
		return false;
	ret->rest_ns = again->rest_ns;
	if (is_first) {
		ret->block_bytes = other_block;
		ret->as_long_s = again->fast_bytes / again->fast_bytes_per_s;
		return true;
	}
	if (last->block_bytes < f->block_bytes &&
	    last->fast_bytes > 0) /* small ones show more exactly when it is slow */
		again = last;
	ratio = again->fast_bytes_per_s / again->slow_bytes_per_s;
	ret->block_bytes = again->block_bytes;
	ret->slow_bytes_per_s = again->slow_bytes_per_s;
	ret->asked_bytes_per_s = again->slow_bytes_per_s * (ratio < PACE_NEAR ? cbrt(ratio) : sqrt(ratio));
	return true;
}

static double log10_normal(double x, double sd)
{
	return (-0.5 * x * x / (sd * sd) - log(sd * sqrt(2 * M_PI))) / M_LN10;
}

/* Decades for one temperature at which it becomes slow, against any that was seen. */
static double heat_ratio(const struct sustain_states *f, const struct sustain_rests *r)
{
	double at = f->v[f->burst].celsius, low = f->begin_celsius, high = at, sum = 0, sd = CELSIUS_SD * M_SQRT2;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		low = fmin(low, r->v[i].begin_celsius);
		high = fmax(high, r->v[i].celsius);
	}
	if (!(at >= CELSIUS_LEAST && high > low))
		return -INFINITY;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].fast_bytes > 0) {
			sum += fmax(-SURE, log10_normal(r->v[i].celsius - at, sd) + log10(high - low));
			n++;
		}
	return n ? sum : (double)-INFINITY;
}

/*
 * What a minute brings back: by the longest rest that did not bring all back, less one before it, as a disk may
 * begin only after a while.
 */
static struct stats_estimate per_minute(const struct sustain_states *f, const struct sustain_rests *r)
{
	const struct sustain_rest *a = NULL, *b = NULL;

	for (size_t i = 0; i < r->n && r->v[i].block_bytes == f->block_bytes && !is_paced(&r->v[i]); i++) {
		if (has_all_back(f, &r->v[i]))
			break;
		a = b;
		b = &r->v[i];
	}
	if (!a || !(a->fast_bytes > 0) || !(b->fast_bytes > a->fast_bytes))
		return STATS_UNKNOWN;
	return stats_times(stats_difference(stats_about(b->fast_bytes, b->uncertain_bytes),
	                                    stats_about(a->fast_bytes, a->uncertain_bytes)),
	                   60e9 / (double)(b->rest_ns - a->rest_ns));
}

/* What a repetition makes likely. */
enum { BYTES, REQUESTS, TIME, HEAT, LIMITS };
static const enum sustain_cause causes[LIMITS] = { SUSTAIN_BYTES, SUSTAIN_REQUESTS, SUSTAIN_TIME, SUSTAIN_HEAT };

/* A repetition beside what it repeats, in decades. */
static void weigh_repeat(const struct sustain_rest *a, const struct sustain_rest *b, double log10_l[LIMITS])
{
	double rate = b->fast_bytes_per_s / a->fast_bytes_per_s, bytes = log(b->fast_bytes / a->fast_bytes), same;
	double sd = hypot(is_paced(b) ? PACED_SD : AMOUNT_SD,
	                  hypot(b->uncertain_bytes / b->fast_bytes, a->uncertain_bytes / a->fast_bytes) / SIGMAS);
	/* of a credit that comes back at the slow rate all the time */
	double refilled = log(b->fast_bytes_per_s / (b->fast_bytes_per_s - a->slow_bytes_per_s)) -
	                  log(a->fast_bytes_per_s / (a->fast_bytes_per_s - a->slow_bytes_per_s));

	if (!is_paced(b)) {
		log10_l[TIME] += log10_normal(bytes - log(rate), sd);
		log10_l[BYTES] += log10_normal(bytes, sd);
		log10_l[HEAT] += log10_normal(bytes, sd);
		log10_l[REQUESTS] += log10_normal(log(b->fast_requests / a->fast_requests), sd);
		return;
	}
	/* a stall between explains anything */
	same = fmax(-UNEXPLAINED, fmax(log10_normal(bytes, sd), log10_normal(bytes - refilled, sd)));
	log10_l[TIME] += fmax(-UNEXPLAINED, log10_normal(bytes - log(rate), sd));
	log10_l[BYTES] += same;
	log10_l[REQUESTS] += same;
	log10_l[HEAT] += bytes > sd ? -log10(M_LN10) : -SURE; /* more, as it is cooled for longer */
}

/* By what repetitions had. */
static void judge_repeats(const struct sustain_states *f, const struct sustain_rests *r, struct sustain_found *ret)
{
	const struct sustain_rest *first = to_repeat(f, r);
	double log10_l[LIMITS] = { [TIME] = -TIME_LESS, [HEAT] = heat_ratio(f, r) }, other = -INFINITY;
	size_t best = 0;
	bool is_known = log10_l[HEAT] >= SURE; /* which shows without a repetition */

	for (size_t i = 0; first && i < r->n; i++) {
		const struct sustain_rest *again = &r->v[i];

		if (again->block_bytes != f->block_bytes && !(again->fast_bytes > 0) &&
		    again->slow_bytes_per_s >= AS_FAST * f->v[f->burst].rate.value) {
			log10_l[REQUESTS] += 2 * SURE;
			is_known = true;
		}
		if (again->rest_ns != first->rest_ns || !(again->fast_bytes > 0) ||
		    (again->block_bytes == f->block_bytes && !is_paced(again)))
			continue;
		weigh_repeat(is_paced(again) ? unpaced(r, again) : first, again, log10_l);
		is_known |= !is_paced(again);
	}
	if (!is_known)
		return;
	for (size_t i = 1; i < LIMITS; i++)
		best = log10_l[i] > log10_l[best] ? i : best;
	for (size_t i = 0; i < LIMITS; i++)
		other = i != best ? fmax(other, log10_l[i]) : other;
	ret->cause_log10_ratio = log10_l[best] - other;
	if (ret->cause_log10_ratio >= SURE)
		ret->cause = causes[best];
}

bool sustain_lies_in_place(const struct sustain_states *f, const struct sustain_rests *r)
{
	return r->again_bytes_per_s > sqrt(f->v[f->burst].rate.value * sustain_last(f)->rate.value);
}

void sustain_find_cause(const struct sustain_states *f, const struct sustain_rests *r, struct sustain_found *ret)
{
	*ret = (struct sustain_found){ .cause_log10_ratio = NAN, .minute_bytes = STATS_UNKNOWN };
	ret->is_settled = sustain_is_settled(f);
	if (f->burst >= f->n) {
		ret->cause = !ret->is_settled           ? SUSTAIN_UNKNOWN
		             : f->asked_bytes_per_s > 0 ? SUSTAIN_ASKED
		                                        : SUSTAIN_NOTHING;
		return;
	}
	ret->minute_bytes = per_minute(f, r);
	if (sustain_lies_in_place(f, r)) {
		ret->is_settled = true;
		ret->cause = SUSTAIN_PLACE;
	} else if (r->n && !to_repeat(f, r) && r->v[r->n - 1].rest_ns * REST_GROWS > REST_MOST_NS) {
		ret->cause = SUSTAIN_SPACE;
	} else {
		judge_repeats(f, r, ret);
	}
}
