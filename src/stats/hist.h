/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A latency histogram, a value type. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interval.h"

/*
 * Log-linear: values below 2^HIST_BITS exact, above it 2^HIST_BITS buckets per octave; a bucket is reported by its
 * middle, so the error is at most 1 / 2^(HIST_BITS + 1) = 0.39 %. Covers 0 .. 2^63 ns. About 58 KiB.
 */
#define HIST_BITS    7
#define HIST_BUCKETS ((64 - HIST_BITS + 1) << HIST_BITS)

struct hist {
	uint64_t count, min, max;
	double sum; /* exact, beside the buckets */
	uint64_t bucket[HIST_BUCKETS];
};

struct hist *hist_new(void); /* free() it */
void hist_clear(struct hist *h);
void hist_merge(struct hist *into, const struct hist *from);
uint64_t hist_quantile(const struct hist *h, double q); /* 0 <= q <= 1; 0 when empty; q = 1 is the exact max */
struct interval hist_quantile_ci(const struct hist *h, double q); /* 95 %, order statistics; NaNs when n is too small */
double hist_mean(const struct hist *h);                           /* NaN when empty */
double hist_variance(const struct hist *h);                       /* of the buckets' middles; NaN when empty */
/*
 * Where the share p lies, between the edges of its bucket; of a bucket that stands out from both neighbours the edge
 * itself. NaN when empty.
 */
double hist_place(const struct hist *h, double p, bool is_upper);
/* true when the sample is large enough to carry quantile q: at least 10 values beyond it (p99: 1000). */
bool hist_can_quantile(const struct hist *h, double q);
uint64_t hist_known_quantile(const struct hist *h, double q); /* UINT64_MAX: it cannot */

/* Bars of a picture: values in [from, to). */
struct hist_bar {
	uint64_t from, to, count;
};
#define HIST_BARS_MAX 64
/*
 * The whole distribution as at most HIST_BARS_MAX bars with round edges: of one width, or of one ratio where the
 * largest value is beyond 8 times the median. Returns how many; their counts add up to h->count.
 */
size_t hist_bars(const struct hist *h, struct hist_bar *ret);

static inline uint32_t hist_index(uint64_t v)
{
	uint32_t shift;

	if (v < (1ull << (HIST_BITS + 1)))
		return (uint32_t)v;
	shift = 63u - HIST_BITS - (uint32_t)__builtin_clzll(v);
	return (shift << HIST_BITS) + (uint32_t)(v >> shift);
}

static inline void hist_add(struct hist *h, uint64_t v)
{
	h->count++;
	h->sum += (double)v;
	if (v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->bucket[hist_index(v)]++;
}
