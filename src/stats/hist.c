/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log-linear histogram of latencies (the idea of Tene's HdrHistogram, with a power of two of buckets per octave so that
 * the index is a shift). A bucket of octave 2^m is 2^(m - HIST_BITS) wide, so its middle is off by at most
 * 2^-(HIST_BITS + 1) of the value. Moments are kept beside the buckets and are not quantised.
 */
#include "base/xalloc.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hist *hist_new(void)
{
	struct hist *h = xmust(malloc(sizeof(*h)));

	hist_clear(h);
	return h;
}

void hist_clear(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	into->count += from->count;
	into->sum += from->sum;
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	for (size_t i = 0; i < HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

/* First value of bucket i and how many values it holds. */
static uint64_t bucket_first(size_t i, uint64_t *ret_width)
{
	uint32_t shift;

	*ret_width = 1;
	if (i < (1u << (HIST_BITS + 1)))
		return i;
	shift = (uint32_t)(i >> HIST_BITS) - 1;
	*ret_width = 1ull << shift;
	return (uint64_t)(i - ((size_t)shift << HIST_BITS)) << shift;
}

/* Rounded down; for exact buckets the value itself. */
static uint64_t bucket_middle(size_t i)
{
	uint64_t width, first = bucket_first(i, &width);

	return first + width / 2;
}

/* Of the rank, from 1 to count; *ret_below: how many lie in those before it. */
static size_t bucket_of_rank(const struct hist *h, double rank, double *ret_below)
{
	size_t i = hist_index(h->min);

	for (*ret_below = 0; i < hist_index(h->max) && *ret_below + (double)h->bucket[i] < rank; i++)
		*ret_below += (double)h->bucket[i];
	return i;
}

/* Nothing outside of what was seen. */
static uint64_t within(const struct hist *h, uint64_t v)
{
	return v < h->min ? h->min : v > h->max ? h->max : v;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	double rank, below;

	if (h->count == 0)
		return 0;
	if (!(q > 0)) /* NaN too */
		return h->min;
	/*
	 * nearest rank: the smallest value with at least q of all at or below it; the slack undoes 0.99 * 100 =
	 * 99.00000000000001
	 */
	rank = ceil(q * (double)h->count * (1 - 1e-13));
	if (rank >= (double)h->count)
		return h->max;
	return within(h, bucket_middle(bucket_of_rank(h, fmax(rank, 1), &below)));
}

struct interval hist_quantile_ci(const struct hist *h, double q)
{
	struct interval none = { NAN, NAN }, ci;
	uint64_t low, high, last, width;
	double below;

	if (!stats_quantile_ranks(h->count, q, &low, &high))
		return none;
	/* Where in its bucket a value lies is not known: from the low end of the one to the high end of the other. */
	ci.low = (double)within(h, bucket_first(bucket_of_rank(h, (double)low, &below), &width));
	last = bucket_first(bucket_of_rank(h, (double)high, &below), &width);
	ci.high = (double)within(h, last + width - 1);
	return ci;
}

double hist_mean(const struct hist *h)
{
	return h->count ? h->sum / (double)h->count : (double)NAN;
}

bool hist_can_quantile(const struct hist *h, double q)
{
	double beyond = q < 0.5 ? q : 1 - q;

	if (h->count == 0 || !(beyond >= 0))
		return false;
	return beyond == 0 || (double)h->count * beyond >= 10 * (1 - 1e-9); /* 1 - 0.9999 is a little below 1e-4 */
}

uint64_t hist_known_quantile(const struct hist *h, double q)
{
	return hist_can_quantile(h, q) ? hist_quantile(h, q) : UINT64_MAX;
}

double hist_variance(const struct hist *h)
{
	double mean = hist_mean(h), sum = 0.0;

	for (size_t i = 0; i < HIST_BUCKETS; i++)
		if (h->bucket[i])
			sum += (double)h->bucket[i] * pow((double)bucket_middle(i) - mean, 2.0);
	return sum / (double)h->count;
}

/* ---- bars of a picture ---- */

double hist_place(const struct hist *h, double p, bool is_upper)
{
	double rank = p * (double)h->count, seen, at;
	uint64_t beside, width, first;
	size_t i;

	if (h->count == 0)
		return NAN;
	i = bucket_of_rank(h, rank, &seen);
	first = bucket_first(i, &width);
	beside = i ? h->bucket[i - 1] : 0;
	if (i + 1 < HIST_BUCKETS && h->bucket[i + 1] > beside)
		beside = h->bucket[i + 1];
	if (h->bucket[i] > 2 * beside)
		at = (double)first + (is_upper ? (double)(width - 1) : 0.0);
	else
		at = (double)first + (double)width * (rank - seen) / (double)h->bucket[i];
	return fmin(fmax(at, (double)h->min), (double)h->max);
}

/* About how many values lie below v: whole buckets, and the share of v's own bucket. */
static uint64_t count_below(const struct hist *h, uint64_t v)
{
	size_t last = hist_index(v);
	uint64_t n = 0, width, first = bucket_first(last, &width);

	if (v > h->max)
		return h->count;
	for (size_t i = 0; i < last; i++)
		n += h->bucket[i];
	return n + (uint64_t)((double)h->bucket[last] * (double)(v - first) / (double)width + 0.5);
}

/* The next of 1, 2, 5, 10, 20 ... */
static uint64_t round_up(double v)
{
	double power = pow(10.0, floor(log10(fmax(v, 1.0)))), m = fmax(v, 1.0) / power;

	return (uint64_t)(power * (m <= 1.0 ? 1.0 : m <= 2.0 ? 2.0 : m <= 5.0 ? 5.0 : 10.0));
}

/* Edge i of the bars: i steps of one width, or 10^(i / per_decade). */
static uint64_t edge(uint64_t step, double per_decade, uint64_t i)
{
	return step ? i * step : (uint64_t)(fmin(pow(10.0, (double)i / per_decade), 0x1.fffffp63) + 0.5);
}

/* The number of Rice's rule, 2 n^(1/3), at least 8; round edges. */
size_t hist_bars(const struct hist *h, struct hist_bar *ret)
{
	static const double per_decade[] = { 40, 20, 10, 5, 2 }; /* 2: 38 bars from 1 ns to the end of time */
	double want = fmin(fmax(2.0 * cbrt((double)h->count), 8.0), HIST_BARS_MAX - 2.0), decades, per = 0;
	uint64_t least = h->min ? h->min : 1, step = 0, first, below = 0;
	size_t n = 0;

	if (h->count == 0)
		return 0;
	if (h->max / 8 <= hist_quantile(h, 0.5))
		step = h->max > h->min ? round_up((double)(h->max - h->min) / want) : round_up((double)h->max / 100.0);
	decades = log10((double)h->max / (double)least);
	for (size_t k = 0; k < sizeof(per_decade) / sizeof(per_decade[0]) && (k == 0 || decades * per > want); k++)
		per = per_decade[k];
	first = step ? h->min / step : (uint64_t)(log10((double)least) * per);
	for (uint64_t i = first; n < HIST_BARS_MAX && i < first + 4 * HIST_BARS_MAX && below < h->count; i++) {
		struct hist_bar bar = { edge(step, per, i), edge(step, per, i + 1), 0 };

		if (bar.to <= bar.from)
			continue; /* below 20 ns edges of one ratio fall together */
		bar.count = count_below(h, bar.to) - below;
		below += bar.count;
		ret[n++] = bar;
	}
	if (n)
		ret[n - 1].count += h->count - below; /* at the end of time */
	return n;
}
