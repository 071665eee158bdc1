/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What limits the burst. After the same rest it is asked again with requests of another size: as many bytes are a
 * cache or a credit of bytes, as many requests a credit of requests. Heat is one by bytes, too, but behind every rest
 * it is slow again at one and the same temperature. What is fast again without a rest where the burst began lies in the
 * place, and what no rest brings back was room that had been free.
 */
#include <math.h>

#include "measure/sustain/sustain.h"

#define REST_FIRST_NS (2 * NS_PER_S)
#define REST_GROWS    3
#define REST_MOST_NS  (600 * NS_PER_S)
#define ALL_BACK      0.9  /* of the burst */
#define BRIEF         8.0  /* times the settled rate, and twice what requests of another size can make of it */
#define SLOW_S        2.0  /* and as long as it was fast */
#define AMOUNT_SD     0.15 /* of the logarithm of an amount that is the same again */
#define CELSIUS_SD    1.0  /* drives say whole degrees */
#define CELSIUS_LEAST 5.0  /* warmer than before: less tells nothing */
#define SURE          2.0  /* decades */

bool sustain_rest_found(const struct sustain_series *s, const struct sustain_states *f, struct sustain_rest *ret)
{
	double fast = f->v[f->burst].rate.value, slow = sustain_last(f)->rate.value;
	struct sustain_states now;
	bool is_slow;

	if (!sustain_states(s, &now))
		return false;
	ret->begin_celsius = now.begin_celsius;
	ret->slow_bytes_per_s = sustain_last(&now)->rate.value;
	ret->celsius = sustain_last(&now)->celsius;
	if (now.n > 1 && now.burst < now.n) {
		const struct sustain_state *b = &now.v[now.burst];

		ret->fast_bytes = now.amount.value;
		ret->fast_requests = b->requests;
		ret->uncertain_bytes = interval_half(now.amount.ci);
		ret->fast_bytes_per_s = b->rate.value;
		ret->celsius = b->celsius;
		/* for requests of either size */
		is_slow = ret->slow_bytes_per_s < b->rate.value * sqrt(slow / fast);
		return is_slow && s->time_s - b->to_s >= fmax(SLOW_S, b->to_s);
	}
	/* what is over in a moment shows only in the mean; larger requests may be faster all the time */
	ret->fast_bytes = (now.v[0].rate.value - slow) * s->time_s;
	ret->uncertain_bytes = ret->fast_bytes / 2;
	ret->fast_bytes_per_s = NAN;
	if (!(now.v[0].rate.value > BRIEF * slow))
		ret->fast_bytes = ret->uncertain_bytes = 0;
	ret->fast_requests = ret->fast_bytes / (double)ret->block_bytes;
	/* slow from the beginning, or still fast */
	return now.n == 1 && s->time_s >= 2 * SLOW_S &&
	       (ret->slow_bytes_per_s < sqrt(fast * slow) ||
	        s->time_s >= 3 * (f->v[f->burst].to_s - f->v[f->burst].from_s) + SLOW_S);
}

static bool has_all_back(const struct sustain_states *f, const struct sustain_rest *r)
{
	return r->fast_bytes >= ALL_BACK * f->amount.value;
}

uint64_t sustain_next_rest_ns(const struct sustain_states *f, const struct sustain_rests *r)
{
	const struct sustain_rest *last = r->n ? &r->v[r->n - 1] : NULL;

	if (!last)
		return REST_FIRST_NS;
	if (has_all_back(f, last) || last->rest_ns * REST_GROWS > REST_MOST_NS || r->n + 2 > SUSTAIN_RESTS)
		return 0;
	return last->rest_ns * REST_GROWS;
}

int sustain_rest_to_repeat(const struct sustain_states *f, const struct sustain_rests *r)
{
	int best = -1;

	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].fast_bytes > 0 && (best < 0 || !has_all_back(f, &r->v[i])))
			best = (int)i;
	return best;
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
	if (!(high - low >= CELSIUS_LEAST))
		return -INFINITY;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].fast_bytes > 0) {
			sum += fmax(-SURE, log10_normal(r->v[i].celsius - at, sd) + log10(high - low));
			n++;
		}
	return n ? sum : (double)-INFINITY;
}

/* What a minute brings back: by the rest that gave most without giving all, and the one before it. */
static struct stats_estimate per_minute(const struct sustain_states *f, const struct sustain_rests *r)
{
	const struct sustain_rest *a = NULL, *b = NULL;
	double s;

	for (size_t i = 0; i < r->n && r->v[i].block_bytes == r->v[0].block_bytes; i++) {
		if (has_all_back(f, &r->v[i]) && b)
			break;
		a = b && b->fast_bytes > 0 ? b : NULL;
		b = &r->v[i];
	}
	if (!b || has_all_back(f, b))
		return STATS_UNKNOWN;
	if (a && a->fast_bytes >= b->fast_bytes)
		a = NULL;
	s = (double)(b->rest_ns - (a ? a->rest_ns : 0)) * 1e-9;
	return stats_times(stats_difference(stats_about(b->fast_bytes, b->uncertain_bytes),
	                                    a ? stats_about(a->fast_bytes, a->uncertain_bytes) : stats_about(0, 0)),
	                   60 / s);
}

void sustain_find_cause(const struct sustain_states *f, const struct sustain_rests *r, struct sustain_found *ret)
{
	const struct sustain_rest *again = r->n ? &r->v[r->n - 1] : NULL, *first = NULL;
	double bytes, requests, heat, fast, slow, sd;

	*ret = (struct sustain_found){ .cause_log10_ratio = NAN, .minute_bytes = STATS_UNKNOWN };
	ret->is_settled = sustain_is_settled(f);
	if (f->burst >= f->n) {
		ret->cause = ret->is_settled ? SUSTAIN_NOTHING : SUSTAIN_UNKNOWN;
		return;
	}
	fast = f->v[f->burst].rate.value;
	slow = sustain_last(f)->rate.value;
	ret->minute_bytes = per_minute(f, r);
	if (r->again_bytes_per_s > sqrt(fast * slow)) {
		ret->is_settled = true;
		ret->cause = SUSTAIN_PLACE;
		return;
	}
	if (again && sustain_rest_to_repeat(f, r) < 0 && r->v[r->n - 1].rest_ns * REST_GROWS > REST_MOST_NS)
		ret->cause = SUSTAIN_SPACE;
	for (size_t i = 0; again && i + 1 < r->n; i++)
		if (r->v[i].rest_ns == again->rest_ns && r->v[i].block_bytes != again->block_bytes)
			first = &r->v[i];
	if (!first || !(again->fast_bytes > 0))
		return;
	sd = hypot(AMOUNT_SD,
	           hypot(again->uncertain_bytes / again->fast_bytes, first->uncertain_bytes / first->fast_bytes));
	bytes = log10_normal(log(again->fast_bytes / first->fast_bytes), sd);
	requests = log10_normal(log(again->fast_requests / first->fast_requests), sd);
	heat = bytes + heat_ratio(f, r);
	if (heat > bytes && heat >= requests + SURE) {
		ret->cause_log10_ratio = heat - fmax(bytes, requests);
		ret->cause = ret->cause_log10_ratio >= SURE ? SUSTAIN_HEAT : SUSTAIN_UNKNOWN;
	} else {
		ret->cause_log10_ratio = fabs(bytes - requests);
		if (ret->cause_log10_ratio >= SURE)
			ret->cause = bytes > requests ? SUSTAIN_BYTES : SUSTAIN_REQUESTS;
	}
}
