/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values with their intervals, and how they are combined, each side by its own. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
	double low, high; /* NaN, NaN: not known */
};

static inline double interval_half(struct interval ci)
{
	return (ci.high - ci.low) / 2.0;
}

struct stats_estimate {
	double value; /* NaN: not known */
	struct interval ci;
};
#define STATS_95      1.96 /* standard errors to either side (normal law) */
#define STATS_UNKNOWN ((struct stats_estimate){ NAN, { NAN, NAN } })
static inline struct stats_estimate stats_about(double value, double half)
{
	return (struct stats_estimate){ value, { value - half, value + half } };
}

/* 95 % interval of the mean of an autocorrelated series: batch means (>= 10 batches, Student's t). */
struct interval stats_batch_means_ci(const double *x, size_t n);
/*
 * Sum, difference, multiple and ratio of independent estimates, each with its own two sides: what lies below the sum is
 * from what lies below its terms, and below the difference from what lies above the one that is taken off. No interval
 * is combined in another way.
 */
struct stats_estimate stats_sum(struct stats_estimate a, struct stats_estimate b);
struct stats_estimate stats_times(struct stats_estimate a, double factor);
struct stats_estimate stats_difference(struct stats_estimate a, struct stats_estimate b);
struct stats_estimate stats_ratio(struct stats_estimate a,
                                  struct stats_estimate b); /* of positive ones, in logarithms */
/* 95 % interval of the share k of n (E. B. Wilson, 1927): holds it near 0 and 1, too. NaNs: n is 0. */
struct interval stats_share_ci(uint64_t k, uint64_t n);
/* 95 % interval of quantile q by order statistics (binomial); NaNs when n is too small. x sorted. */
struct interval stats_quantile_ci_sorted(const double *x, size_t n, double q);
/* The 1-based ranks of that interval's ends: never less than 95 %. */
bool stats_quantile_ranks(uint64_t n, double q, uint64_t *ret_low, uint64_t *ret_high);
/*
 * Sequential stopping: is the relative half-width of the mean reached? Looking after every value and stopping at the
 * first narrow interval would cover less than 95 %; so it looks only at lengths that grow by a quarter, from min_n on,
 * and wants two narrow looks in a row. That costs about a quarter more values; the interval is narrower than asked.
 */
struct stop {
	double precision;
	size_t next_n;
	bool was_narrow, is_reached;
};
void stop_init(struct stop *s, double precision, size_t min_n);
/* x is the whole series so far; cheap between looks. Stays true once reached. */
bool stop_check(struct stop *s, const double *x, size_t n);
