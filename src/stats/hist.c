/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log-linear histogram of latencies (the idea of Tene's HdrHistogram, with a power of two of buckets per octave so that
 * the index is a shift). A bucket of octave 2^m is 2^(m - HIST_BITS) wide, so its middle is off by at most
 * 2^-(HIST_BITS + 1) of the value. Moments are kept beside the buckets and are not quantised.
 */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hist *hist_new(void)
{
	struct hist *h = malloc(sizeof(*h));

	if (h)
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
	into->sum_sq += from->sum_sq;
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	for (size_t i = 0; i < HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

/* Middle of bucket i, rounded down; for exact buckets the value itself. */
static uint64_t bucket_middle(size_t i)
{
	uint32_t shift;

	if (i < (1u << (HIST_BITS + 1)))
		return i;
	shift = (uint32_t)(i >> HIST_BITS) - 1;
	return ((uint64_t)(i - ((size_t)shift << HIST_BITS)) << shift) + (1ull << shift) / 2;
}

/* The value of 1-based rank, by its bucket's middle, never outside of what was seen. */
static uint64_t value_of_rank(const struct hist *h, uint64_t rank)
{
	uint64_t seen = 0, v = h->max;

	if (rank >= h->count)
		return h->max;
	for (size_t i = hist_index(h->min); i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank) {
			v = bucket_middle(i);
			break;
		}
	}
	return v < h->min ? h->min : v > h->max ? h->max : v;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	double rank;

	if (h->count == 0)
		return 0;
	if (!(q > 0)) /* NaN too */
		return h->min;
	/*
	 * nearest rank: the smallest value with at least q of all at or below it; the slack undoes 0.99 * 100 =
	 * 99.00000000000001
	 */
	rank = ceil(q * (double)h->count * (1 - 1e-13));
	return value_of_rank(h, rank >= (double)h->count ? h->count : rank < 1 ? 1 : (uint64_t)rank);
}

struct interval hist_quantile_ci(const struct hist *h, double q)
{
	struct interval none = { NAN, NAN }, ci;
	uint64_t low, high;

	if (!stats_quantile_ranks(h->count, q, &low, &high))
		return none;
	ci.low = (double)value_of_rank(h, low);
	ci.high = (double)value_of_rank(h, high);
	return ci;
}

uint64_t hist_count_above(const struct hist *h, uint64_t v)
{
	uint64_t n = 0;

	if (v >= h->max)
		return 0;
	for (size_t i = (size_t)hist_index(v) + 1; i < HIST_BUCKETS; i++)
		n += h->bucket[i];
	return n;
}

double hist_mean(const struct hist *h)
{
	return h->count ? h->sum / (double)h->count : (double)NAN;
}

double hist_stddev(const struct hist *h)
{
	double n = (double)h->count, var;

	if (h->count < 2)
		return NAN;
	var = (h->sum_sq - h->sum / n * h->sum) / (n - 1);
	return var > 0 ? sqrt(var) : 0; /* rounding may leave a little less than nothing */
}

bool hist_can_quantile(const struct hist *h, double q)
{
	double beyond = q < 0.5 ? q : 1 - q;

	if (h->count == 0 || !(beyond >= 0))
		return false;
	return beyond == 0 || (double)h->count * beyond >= 10 * (1 - 1e-9); /* 1 - 0.9999 is a little below 1e-4 */
}
