/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * States of a rate (stats/states.h). Time is cut into cells that grow with it, as what comes soon is short; edges and
 * amounts are of the bins.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/sustain/sustain.h"
#include "stats/states.h"

#define CELL_GROWS  0.04 /* of the time so far: bursts are known to a part of their length */
#define CELL_LEAST  8    /* requests */
#define ALIKE       0.9  /* neighbours that differ by less are one state */
#define AMOUNT_BINS 20   /* behind a change that are looked at, at least; or ... */
#define AMOUNT_PART 0.1  /* of the burst: over longer, heat that comes and goes weighs the amount down */
#define AGAIN       0.75 /* of the difference: what is as fast for as long later on is not a burst */
#define KEPT_UP     0.98 /* of the rate that was asked for */
#define SETTLED     1.0  /* times as long as all before it; and at least ... */
#define SETTLED_S   600.0
#define ROUND_S     60.0 /* SNIA PTS: rounds of a minute, five of them, range 20 %, slope 10 % of their mean */
#define ROUNDS      5

struct cells {
	struct states states;
	size_t first[STATES_PIECES + 1]; /* bin of each */
};

static void cells_init(struct cells *c, const struct sustain_series *s, double least_s)
{
	double bytes = 0, requests = 0, from = 0;

	for (size_t i = 0; i < s->n && c->states.n < STATES_PIECES; i++) {
		double to = sustain_edge_s(s, i + 1);

		bytes += (double)s->v[i].bytes;
		requests += (double)s->v[i].requests;
		if (requests < CELL_LEAST || to - from < fmax(least_s, CELL_GROWS * from))
			continue;
		states_add(&c->states, bytes / (to - from), requests);
		c->first[c->states.n] = i + 1;
		from = to;
		bytes = requests = 0;
	}
}

/* ---- states from bins ---- */

static double span_s(const struct sustain_series *s, size_t first, size_t end)
{
	return sustain_edge_s(s, end) - sustain_edge_s(s, first);
}

size_t sustain_bin_at(const struct sustain_series *s, double at_s)
{
	size_t i = 0;

	while (i < s->n && sustain_edge_s(s, i + 1) <= at_s)
		i++;
	return i;
}

static double rate_of(const struct sustain_series *s, size_t first, size_t end)
{
	double bytes = 0;

	for (size_t i = first; i < end; i++)
		bytes += (double)s->v[i].bytes;
	return end > first ? bytes / span_s(s, first, end) : 0;
}

/* The bin in which the rate changes: what lies about the edge is divided so that both sides fit best. */
static size_t settle_edge(const struct sustain_series *s, size_t from, size_t to, double before, double after)
{
	double middle = (before + after) / 2, sum = 0, most = 0;
	size_t best = from;

	for (size_t i = from; i < to; i++) {
		sum += ((double)s->v[i].bytes - middle * span_s(s, i, i + 1)) * (before > after ? 1 : -1);
		if (sum > most) {
			most = sum;
			best = i + 1;
		}
	}
	return best;
}

static double worst_second(const struct sustain_series *s, size_t first, size_t end)
{
	double sum = 0, least = INFINITY, span;

	for (size_t i = first, from = first; i < end; i++) {
		sum += (double)s->v[i].bytes;
		for (; span_s(s, from + 1, i + 1) >= 1; from++)
			sum -= (double)s->v[from].bytes;
		span = span_s(s, from, i + 1);
		if (span >= 1 && span < 1.5)
			least = fmin(least, sum / span);
	}
	return isinf(least) ? (double)NAN : least;
}

static double p999(const struct sustain_series *s, size_t first, size_t end)
{
	double n = 0, at[SUSTAIN_WAITS] = { 0 }, beyond = 0;

	for (size_t i = first; s->waits && i < end; i++)
		for (size_t k = 0; k < SUSTAIN_WAITS; k++)
			at[k] += s->waits[i][k];
	for (size_t k = 0; k < SUSTAIN_WAITS; k++)
		n += at[k];
	if (n < 10000)
		return (double)NAN;
	for (size_t k = SUSTAIN_WAITS; k-- > 0;) {
		beyond += at[k];
		if (beyond >= n / 1000)
			return 256 * exp2(((double)k + (beyond - n / 1000) / at[k]) / SUSTAIN_PARTS);
	}
	return (double)NAN;
}

/* Of the mean rate, from pieces of time of equal length: of the last bin. */
static struct interval spread(const struct sustain_series *s, size_t first, size_t end)
{
	cleanup_free double *x = xcalloc(end - first + 1, sizeof(*x));
	double each = span_s(s, end - 1, end), bytes = 0;
	size_t n = 0;

	for (size_t i = first, from = first; i < end; i++) {
		bytes += (double)s->v[i].bytes;
		if (span_s(s, from, i + 1) < 0.99 * each)
			continue;
		x[n++] = bytes / span_s(s, from, i + 1);
		from = i + 1;
		bytes = 0;
	}
	return stats_batch_means_ci(x, n);
}

static void by_time(const struct sustain_series *s, struct sustain_state *st, bool is_first, bool is_last)
{
	/* what lies about a change is of neither */
	size_t first = st->first + !is_first, end = st->end - (!is_last && st->end > first + 1);
	double time, one;

	if (end <= first) {
		first = st->first;
		end = st->end;
	}
	time = span_s(s, first, end);
	st->rate = (struct stats_estimate){ rate_of(s, first, end), spread(s, first, end) };
	one = st->requests > 0 ? st->bytes / st->requests / time : 0; /* a request more or less, at its ends */
	st->rate.ci.low -= one;
	st->rate.ci.high += one;
	st->worst_bytes_per_s = worst_second(s, first, end);
	st->p999_ns = p999(s, first, end);
	st->celsius = s->v[st->end - 1].celsius;
}

/* Of each state whose bins are known. */
static void fill(const struct sustain_series *s, struct sustain_states *f)
{
	for (size_t k = 0; k < f->n; k++) {
		struct sustain_state *st = &f->v[k];

		st->bytes = st->requests = 0;
		for (size_t i = st->first; i < st->end; i++) {
			st->bytes += (double)s->v[i].bytes;
			st->requests += (double)s->v[i].requests;
		}
		st->from_s = sustain_edge_s(s, st->first);
		st->to_s = sustain_edge_s(s, st->end);
		by_time(s, st, k == 0, k + 1 == f->n);
	}
}

static bool are_alike(double x, double y)
{
	return fmin(x, y) >= ALIKE * fmax(x, y);
}

static void drop(struct sustain_states *f, size_t first, size_t end)
{
	memmove(&f->v[first], &f->v[end], (f->n - end) * sizeof(f->v[0]));
	f->n -= end - first;
}

/* Neighbours that are alike, or of too few bins to know, are one. */
static void join_alike(const struct sustain_series *s, struct sustain_states *f)
{
	for (size_t i = 0; i + 1 < f->n;) {
		struct sustain_state *a = &f->v[i], *b = a + 1;

		if (a->end >= a->first + STATES_LEAST && b->end >= b->first + STATES_LEAST &&
		    !are_alike(rate_of(s, a->first, a->end), rate_of(s, b->first, b->end))) {
			i++;
			continue;
		}
		a->end = a->end > b->end ? a->end : b->end; /* an edge may have passed another */
		drop(f, i + 1, i + 2);
		i = 0;
	}
}

/* Stalls hide where a rate changes: what is as fast as the burst before it, and then as the one behind it, is none. */
static void drop_mixed(const struct sustain_series *s, struct sustain_states *f, struct sustain_state *burst)
{
	struct sustain_state *next = burst + 1, *last = burst + 2;
	double x = rate_of(s, burst->first, burst->end), y;
	size_t edge;

	if (last >= f->v + f->n)
		return;
	y = rate_of(s, last->first, last->end);
	edge = settle_edge(s, next->first, next->end, x, y);
	if (are_alike(rate_of(s, next->first, edge), x) && are_alike(rate_of(s, edge, next->end), y)) {
		burst->end = last->first = edge;
		drop(f, (size_t)(next - f->v), (size_t)(last - f->v));
	}
}

/* Does it come as fast again for half as long, when it is over? */
static bool comes_again(const struct sustain_series *s, const struct sustain_states *f)
{
	const struct sustain_state *burst = &f->v[f->burst];
	double slow = sustain_last(f)->rate.value, enough = slow + AGAIN * (burst->rate.value - slow);
	double half_s = (burst->to_s - burst->from_s) / 2;
	size_t i = sustain_bin_at(s, burst->to_s + half_s), k = i; /* it may end a little later */

	for (; i < s->n; i += (k - i) / 4 + 1) {
		while (k < s->n && (k <= i || span_s(s, i, k) < half_s))
			k++;
		if (span_s(s, i, k) < half_s)
			break;
		if (rate_of(s, i, k) >= enough)
			return true;
	}
	return false;
}

static double half_of(const struct stats_estimate *e)
{
	return fmax(0, interval_half(e->ci)); /* 0: too few bins to know */
}

/*
 * What was fast in the bins from first to edge. Bytes less those of the rate just behind it stay the same there, up to
 * stalls. They are the part of the burst by which fast is more than slow. A throttle is slower just there than on
 * average, until it is cool for the first time. How sure the amount is depends on how far those bytes change, on how
 * well both rates are known, and on the requests under way at the change.
 */
static struct stats_estimate amount_of(const struct sustain_series *s, size_t first, size_t edge, size_t end,
                                       const struct stats_estimate *fast, const struct stats_estimate *slow)
{
	double excess = 0, sum = 0, squares = 0, bytes = 0, requests = 0, part, now, half;
	double as_long = AMOUNT_PART * span_s(s, first, edge);
	size_t n = 0, last = edge + 1; /* that one may hold some of both */

	while (last < end && (last <= edge + AMOUNT_BINS || span_s(s, edge + 1, last) < as_long))
		last++;
	last = last < end ? last : end;
	now = fmin(last > edge + 2 ? rate_of(s, edge + 1, last) : slow->value, slow->value);
	part = 1 - now / fast->value;
	for (size_t i = first; i < last; i++) {
		excess += (double)s->v[i].bytes - now * span_s(s, i, i + 1);
		bytes += (double)s->v[i].bytes;
		requests += (double)s->v[i].requests;
		if (i > edge) {
			n++;
			sum += excess;
			squares += excess * excess;
		}
	}
	if (n < 2 || !(part > 0))
		return stats_about(bytes, bytes);
	sum /= (double)n;
	half = hypot(2 * sqrt(fmax(0, squares / (double)n - sum * sum)), half_of(slow) * span_s(s, edge + 1, last) / 2);
	half = hypot(half / part, sum / part * (1 / part - 1) * half_of(fast) / fast->value);
	return stats_about(sum / part, half + bytes / requests * (1 + 2 * s->depth));
}

/* Without its first bin, in which no request was answered yet, and the last one. */
static double within(const struct sustain_series *s, size_t first, size_t end)
{
	return end > first + 3 ? rate_of(s, first + 1, end - 1) : rate_of(s, first, end);
}

static void measure_amount(const struct sustain_series *s, struct sustain_states *f)
{
	struct sustain_state *b = &f->v[f->burst];
	struct stats_estimate fast = b->rate;
	double each = b->bytes / b->requests;

	fast.value = within(s, b->first, b->end);
	f->amount = amount_of(s, b->first, b->end, b[1].end, &fast, &b[1].rate);
	b->bytes = f->amount.value;
	b->to_s = b->from_s + b->bytes / b->rate.value;
	b->requests = b->bytes / each;
}

double sustain_change_s(const struct sustain_series *s, const struct stats_estimate *fast,
                        const struct stats_estimate *slow, struct stats_estimate *ret_bytes)
{
	size_t edge = settle_edge(s, 0, s->n, fast->value, slow->value);
	struct stats_estimate now = *fast;

	if (edge > AMOUNT_BINS)
		now = stats_about(within(s, 0, edge), fmax(half_of(fast), interval_half(spread(s, 1, edge - 1))));
	*ret_bytes = edge ? amount_of(s, 0, edge, s->n, &now, slow) : stats_about(0, 0);
	return sustain_edge_s(s, edge);
}

static double pts(const struct sustain_series *s)
{
	for (size_t r = 0; (double)(r + ROUNDS) * ROUND_S <= sustain_edge_s(s, s->n); r++) {
		double low = INFINITY, high = 0, sum = 0, slope = 0;
		size_t end = sustain_bin_at(s, (double)r * ROUND_S);

		for (size_t k = 0; k < ROUNDS; k++) {
			size_t from = end;
			double x;

			end = sustain_bin_at(s, (double)(r + k + 1) * ROUND_S);
			x = rate_of(s, from, end);

			low = fmin(low, x);
			high = fmax(high, x);
			sum += x;
			slope += ((double)k - 2) * x / 10; /* least squares over 0 .. 4 */
		}
		if (high - low <= 0.2 * sum / ROUNDS && fabs(slope) * (ROUNDS - 1) <= 0.1 * sum / ROUNDS)
			return (double)(r + ROUNDS) * ROUND_S;
	}
	return (double)NAN;
}

/* All that is nearer to the fastest state than to the last one, however it stalls, is one burst. */
static void find_burst(const struct sustain_series *s, struct sustain_states *f)
{
	double most = 0, slow = sustain_last(f)->rate.value;
	size_t first = f->n, last = f->n;

	for (size_t k = 0; k + 1 < f->n; k++)
		most = fmax(most, f->v[k].rate.value);
	for (size_t k = 0; k + 1 < f->n; k++)
		if (f->v[k].rate.value > fmax(slow, (most + slow) / 2)) {
			first = first < k ? first : k;
			last = k;
		}
	if (first > 0 && first < f->n && f->v[first - 1].rate.value < slow) /* it began with a stall */
		first--;
	f->burst = first;
	f->amount = STATS_UNKNOWN;
	if (first == f->n)
		return;
	f->v[first].end = f->v[last].end;
	drop(f, first + 1, last + 1);
	drop_mixed(s, f, &f->v[first]);
	fill(s, f);
	if (f->v[first].rate.value > f->v[first + 1].rate.value)
		measure_amount(s, f);
}

/* In cells of that time at least. */
static void segment(const struct sustain_series *s, double least_s, struct sustain_states *f)
{
	cleanup_free struct cells *c = xcalloc(1, sizeof(*c));
	size_t end[SUSTAIN_STATES];

	cells_init(c, s, least_s);
	f->n = 1;
	f->log10_ratio = 0;
	if (c->states.n >= STATES_LEAST)
		f->log10_ratio = states_partition(&c->states, SUSTAIN_STATES, &f->n, end);
	for (size_t k = 0; k < f->n; k++) {
		size_t before = k ? end[k - 1] : 0;

		f->v[k].first = k ? f->v[k - 1].end : 0;
		f->v[k].end = s->n;
		if (k + 1 < f->n) /* within two cells of the edge */
			f->v[k].end = settle_edge(s, c->first[end[k] > before + 3 ? end[k] - 3 : before],
			                          c->first[end[k] + 3 < c->states.n ? end[k] + 3 : c->states.n],
			                          rate_of(s, c->first[before], c->first[end[k]]),
			                          rate_of(s, c->first[end[k]], c->first[end[k + 1]]));
	}
	join_alike(s, f);
	fill(s, f);
}

bool sustain_states(const struct sustain_series *s, struct sustain_states *f)
{
	double requests = 0;

	*f = (struct sustain_states){
		.amount = STATS_UNKNOWN, .time_s = s->time_s, .pts_s = NAN, .asked_bytes_per_s = NAN
	};
	for (size_t i = 0; i < s->n; i++)
		requests += (double)s->v[i].requests;
	if (requests < STATES_LEAST * CELL_LEAST)
		return false;
	f->begin_celsius = s->v[0].celsius;
	/* What lies between two stalls comes again: longer cells show whether there is a burst. */
	for (double least_s = 0, burst_s = 0;; least_s = 2 * fmax(least_s, fmax(burst_s, SUSTAIN_FIRST))) {
		segment(s, least_s, f);
		f->block_bytes = (uint64_t)(sustain_last(f)->bytes / sustain_last(f)->requests + 0.5);
		find_burst(s, f);
		if (f->burst == f->n || !comes_again(s, f))
			break;
		burst_s = f->v[f->burst].to_s - f->v[f->burst].from_s;
	}
	f->pts_s = pts(s);
	if (f->burst == f->n && s->asked_bytes_per_s > 0 &&
	    sustain_last(f)->rate.value >= KEPT_UP * s->asked_bytes_per_s)
		f->asked_bytes_per_s = s->asked_bytes_per_s;
	return true;
}

double sustain_settles_s(const struct sustain_states *f)
{
	double from = f->n ? sustain_last(f)->from_s : 0;

	return f->n <= 1 ? SUSTAIN_ALONE_S : from + fmax(SETTLED * from, SETTLED_S);
}
