/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pure arithmetic on numbers: no device, no clock, no output. Every estimator names its source in its .c file
 * and is tested against known truth: bias and interval coverage.
 */
#ifndef PLATTER_STATS_STATS_H
#define PLATTER_STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

/* ---- hist.c: latency histogram, a value type ---- */

/*
 * Log-linear: values below 2^HIST_BITS exact, above it 2^HIST_BITS buckets per octave; a bucket is reported by its
 * middle, so the error is at most 1 / 2^(HIST_BITS + 1) = 0.39 %. Covers 0 .. 2^63 ns. About 58 KiB.
 */
#define HIST_BITS    7
#define HIST_BUCKETS ((64 - HIST_BITS + 1) << HIST_BITS)

struct hist {
	uint64_t count, min, max;
	double sum, sum_sq; /* exact moments beside the buckets */
	uint64_t bucket[HIST_BUCKETS];
};

struct hist *hist_new(void); /* NULL when out of memory; free() it */
void hist_clear(struct hist *h);
void hist_merge(struct hist *into, const struct hist *from);
uint64_t hist_quantile(const struct hist *h, double q); /* 0 <= q <= 1; 0 when empty; q = 1 is the exact max */
double hist_mean(const struct hist *h);                 /* NaN when empty */
double hist_stddev(const struct hist *h);               /* sample deviation; NaN below two */
/* true when the sample is large enough to carry quantile q: at least 10 values beyond it (p99: 1000). */
bool hist_can_quantile(const struct hist *h, double q);

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
	double d = (double)v;

	h->count++;
	h->sum += d;
	h->sum_sq += d * d;
	if (v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->bucket[hist_index(v)]++;
}

/* ---- summary.c ---- */

struct interval {
	double low, high; /* NaN, NaN: not known */
};

struct summary {
	size_t n;
	double mean, stddev, min, max, median, mad;
	struct interval mean_ci; /* 95 %, Student's t */
};

/* x is left as it is; memory for a copy is taken (false when there is none or n = 0). */
bool summary_of(const double *x, size_t n, struct summary *ret);

double stats_median(double *x, size_t n);                          /* reorders x; NaN when n = 0 */
double stats_quantile_sorted(const double *x, size_t n, double q); /* linear interpolation, x sorted */
double stats_harmonic_mean(const double *x, size_t n);             /* all x > 0, else NaN */
double stats_t_975(double df);                                     /* 97.5 % point of Student's t */
void stats_sort(double *x, size_t n);

/* 95 % interval of the mean of an autocorrelated series: batch means (>= 10 batches, Student's t). */
struct interval stats_batch_means_ci(const double *x, size_t n);
/* 95 % interval of quantile q by order statistics (binomial); NaNs when n is too small. x sorted. */
struct interval stats_quantile_ci_sorted(const double *x, size_t n, double q);
/* 95 % percentile bootstrap (2000 draws) of fn over x. */
struct interval stats_bootstrap_ci(const double *x, size_t n, double (*fn)(const double *x, size_t n, void *arg),
                                   void *arg, struct rng *rng);
/* Marks |x - median| > 5 * 1.4826 * MAD; returns how many. With MAD = 0 marks what differs from the median. */
size_t stats_outliers(const double *x, size_t n, bool *ret_is_outlier);
/* Kolmogorov-Smirnov distance of sorted x to the uniform law on [0, 1), and its p value. */
double stats_ks_uniform_sorted(const double *x, size_t n, double *ret_p);

/* ---- fit.c ---- */

struct line {
	double a, b;       /* y = a + b x */
	double a_se, b_se; /* standard errors */
	double rms;        /* of the residuals */
};

/* Weighted least squares; w may be NULL. false when degenerate. */
bool fit_line(const double *x, const double *y, const double *w, size_t n, struct line *ret);

/*
 * Period of events t_i = t_0 + n_i * T with unknown integers n_i: T in [low, high], found by maximum phase coherence and
 * refined by least squares on the lattice. ret_se: standard error of T. false when no period stands out.
 */
bool fit_period(const double *t, size_t n, double low, double high, double *ret_period, double *ret_se);

/*
 * Change points of a piecewise constant series with the noise `sigma` of one value (<= 0: estimated from differences by MAD),
 * PELT (Killick 2012) with a BIC-like penalty. ret_start[k] is the first index of segment k; returns the number of segments
 * (1 when there is no change), at most max.
 */
size_t fit_segments(const double *y, size_t n, double sigma, size_t min_len, size_t *ret_start, size_t max);

/* rate(x) = r0 sqrt(1 - x (1 - r^2)), x in 0..1 the place on the disk: constant linear density. */
struct density_fit {
	double r0, r;     /* start rate, end-to-start ratio */
	double rms_ratio; /* of relative residuals */
};
bool fit_density(const double *x, const double *rate, size_t n, struct density_fit *ret);
double density_rate(const struct density_fit *f, double x);

/* seek(d) = a + b sqrt(d) for d < knee, c + e d above (Ruemmler and Wilkes 1994), least squares over all knees. */
struct seek_fit {
	double a, b, c, e, knee, rms;
};
bool fit_seek(const double *distance, const double *seek, const double *w, size_t n, struct seek_fit *ret);
double seek_fit_at(const struct seek_fit *f, double distance);

#endif
