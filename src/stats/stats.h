/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pure arithmetic on numbers: no device, no clock, no output. Every estimator names its source in its .c file
 * and is tested against known truth: bias and interval coverage.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "hist.h"
#include "interval.h"

/* ---- summary.c ---- */

/*
 * Hostile input: functions of samples leave out values that are not finite (a summary's n counts the others). What
 * cannot be determined is NaN or false, and outputs stay untouched. Intervals are two-sided, 95 %. n may be 0.
 */
struct summary {
	size_t n;
	double mean, stddev, min, max, median, mad;
	struct interval mean_ci; /* 95 %, Student's t */
};

/* x is left as it is. false: it has no finite value. */
bool summary_of(const double *x, size_t n, struct summary *ret);
/* Standard error of the median, by the MAD, as if the bulk were normal. */
double summary_median_error(const struct summary *s);

size_t stats_keep_finite(double *x, size_t n);         /* moves the finite values to the front, in order */
double *stats_copy_finite(const double *x, size_t *n); /* a copy of those, in order; *n becomes their number */
double stats_median(double *x, size_t n);              /* reorders x; NaN when n = 0 */
double stats_qn(const double *x, size_t n); /* scale that stays right with half of the values wrong; NaN when n < 2 */
double stats_quantile_sorted(const double *x, size_t n, double q); /* linear interpolation, x sorted */
/* Up to where in n cells of such weights, from 0 to n, that share of the whole lies. */
double stats_cell_of_share(const double *weight, size_t n, double share);
double stats_log_sum(const double *log_of, size_t n); /* the logarithm of the sum of what these are the logarithms of */
double stats_harmonic_mean(const double *x, size_t n); /* all x > 0, else NaN */
void stats_sort(double *x, size_t n);                  /* NaNs last */

/* ---- dist.c ---- */

double stats_t_975(double df); /* 97.5 % point of Student's t; df may be broken; 1.95996 for infinity */
double stats_t_cdf(double t, double df);
double stats_normal_cdf(double z);
double stats_beta_cdf(double x, double a, double b); /* regularised incomplete beta function I_x(a, b) */
double stats_binomial_cdf(uint64_t k, uint64_t n, double p);
/* Kolmogorov-Smirnov distance of sorted x to the uniform law on [0, 1), and its p value (ret_p may be NULL). */
double stats_ks_uniform_sorted(const double *x, size_t n, double *ret_p);

/* ---- slots.c: for batch means of a series that is too long to keep ---- */

#define SLOTS_MAX 128
#define SLOTS_MIN 20 /* fewer full ones show nothing */

struct slots {
	uint64_t width; /* of a slot */
	double sum[SLOTS_MAX];
};
void slots_start(struct slots *s, uint64_t width);
/* at: its time, from 0; not falling much. */
void slots_add(struct slots *s, uint64_t at, double value);
/* 95 % interval of the sum per time, around the given rate. NaNs: the run is too short. */
struct interval slots_rate_ci(const struct slots *s, uint64_t end, double rate);

/* ---- waits.c: waiting times over time ---- */

#define WAITS_SLOTS     SLOTS_MAX
#define WAITS_SLOTS_MIN SLOTS_MIN
#define WAITS_BEYOND    10 /* independent values beyond a quantile, as hist_can_quantile() wants of all */

struct waits { /* zeroed before the first start */
	uint64_t width;
	struct hist *slot[WAITS_SLOTS]; /* NULL: nothing in it */
};
void waits_start(struct waits *s, uint64_t width);
void waits_done(struct waits *s);
void waits_add(struct waits *s, uint64_t at, uint64_t value);
void waits_sum(const struct waits *s, uint64_t from, struct hist *ret);
/* How much of the beginning of [0, to) to leave out as not yet steady; whole slots, half of it at most. */
uint64_t waits_warm_up(const struct waits *s, uint64_t to);
/*
 * In the long run, of what was added in [from, to), which is `all` (waits_sum()): with 95 % intervals, NaN where they
 * hang together for too long to know. The quantile's value is NaN where all of them could not carry it.
 */
struct stats_estimate waits_rate(const struct waits *s, uint64_t from, uint64_t to, const struct hist *all);
struct stats_estimate waits_mean(const struct waits *s, uint64_t from, uint64_t to, const struct hist *all);
struct stats_estimate waits_quantile(const struct waits *s, uint64_t from, uint64_t to, const struct hist *all,
                                     double q);
/* How many independent values they are worth, by how long they stay on one side of the median; NaN: the run is too
 * short. */
double waits_independent(const struct waits *s, uint64_t from, uint64_t to, const struct hist *all);

/* ---- fit.c ---- */

struct line {
	double a, b;       /* y = a + b x */
	double a_se, b_se; /* standard errors */
	double rms;        /* of the residuals */
};

/* Weighted least squares; w may be NULL. false when degenerate. */
bool fit_line(const double *x, const double *y, const double *w, size_t n, struct line *ret);

/* rate(x) = r0 sqrt(1 - x (1 - r^2)), x in 0..1 the place on the disk: constant linear density. Bears slow regions. */
struct density_fit {
	double r0, r;     /* start rate, end-to-start ratio */
	double rms_ratio; /* of relative residuals */
};
bool fit_density(const double *x, const double *rate, size_t n, struct density_fit *ret);
double density_rate(const struct density_fit *f, double x);

/* ---- arrival.c: when the head is there ---- */

/* One access from place to place: from the command to the begin of the sector, whole revolutions of waiting in it. So
 * the head arrived in the last one of them. */
struct arrival_sample {
	double access;
	uint32_t group; /* of one pair of places; below 64 */
};
struct arrival_prior { /* what other distances show; 0: nothing */
	double scatter, missed;
};
struct arrival {
	double median;
	struct interval ci; /* with what is not known of scatter and spread */
	double scatter;     /* robust deviation of one arrival */
	struct interval scatter_ci;
	double spread; /* deviation of the groups' medians */
	size_t n;
};
/* false: fewer than four samples, or one that is not finite. */
bool fit_arrival(const struct arrival_sample *s, size_t n, double period, const struct arrival_prior *prior,
                 struct arrival *ret);
/* How arrivals scatter: Student's law with four degrees of freedom, for the scale 1. */
static inline double arrival_t4_cdf(double z)
{
	double s = z / sqrt(1.0 + z * z / 4.0);

	return 0.5 + s * (0.375 - 0.03125 * s * s);
}
static inline double arrival_t4_density(double z)
{
	double q = 1.0 + z * z / 4.0;

	return 0.375 / (q * q * sqrt(q));
}
double arrival_likelihood(double access, double median, double scale, double period, double missed);
/* Adds how many accesses came whole revolutions late, where that can be determined. */
struct arrival_missed {
	size_t missed, of;
};
void arrival_count_missed(const struct arrival_sample *s, size_t n, double period, const struct arrival *fit,
                          struct arrival_missed *sum);

/* ---- period.c: rotation ---- */

/*
 * Period of events t_i = t_0 + n_i * T with unknown integers n_i: T in [low, high], found by maximum phase coherence
 * and refined by least squares on the lattice. false when no period stands out. The
 * longest period that explains the events is taken, so their distances must not all be multiples of 2 T or 3 T while
 * that lies in [low, high]: vary the waiting. At least 20 events.
 */
struct period_fit {
	double period, se; /* in the unit of t; se: standard error */
	double t0;         /* a time on the lattice, near the middle of the events */
	double coherence;  /* mean resultant length, 0..1 */
	double noise;      /* deviation of an inlier from the lattice */
	size_t inliers, outliers;
};
bool fit_period(const double *t, size_t n, double low, double high, struct period_fit *ret);

/*
 * The same period, and how well it is known, from events in groups: those of a group have one phase, which nobody
 * knows. Where each is counted from the first of its group, the error of the first is in all of them. A standard error
 * that takes them for independent is too small. ev: group by group, two at least of each; finite times. *fit stays as
 * it is where that shows nothing.
 */
struct period_event {
	uint64_t group;
	double t, at;                /* at: when it was, from any one time on */
	double residual, arm, score; /* are written; arm: turns from the middle of its group */
};
void refine_period(struct period_event *ev, size_t n, struct period_fit *fit);

/* Angles are parts of a revolution, in [0, 1). */
double phase_of(double t, double t0, double period);
double phase_distance(double a, double b); /* the short way from b to a, in [-0.5, 0.5) */

/* ---- smooth.c ---- */

#define SMOOTH_MAX 64 /* points */
struct smooth_point {
	double x, y, se; /* x > 0; se > 0 */
};
/* What a smooth curve through points may be; free() it. NULL: fewer than four points, or too many. */
struct smooth *smooth_new(const struct smooth_point *p, size_t n);
/* The curve, summed over nx places with the weights w, and its standard error. */
double smooth_sum(const struct smooth *s, const double *x, const double *w, size_t nx, double *ret_se);
/* What the others say of one of the points, and how far that is to be off it. */
double smooth_left_out(const struct smooth *s, size_t point, double *ret_se);

/* ---- seekfit.c ---- */

/* seek(d) = a + b sqrt(d) for d < knee, c + e d above, where the pieces meet. Where no knee shows it is infinite, and c
 * and e are 0. */
struct seek_fit {
	struct stats_estimate a, b, c, e, knee;
	double misfit; /* root of the mean square that the points are off, where that is not chance; else 0 */
};
bool fit_seek(const struct smooth_point *p, size_t n, struct seek_fit *ret); /* in order of distance */
double seek_fit_at(const struct seek_fit *f, double distance);

/* ---- laws: what zero events mean, and the operational laws of Denning and Buzen (1978) ---- */

/* 95 % upper bound of the rate of events of which none came in time T: -log 5 % is 2.9957. */
static inline double law_rule_of_three(double t)
{
	return t > 0 ? 2.995732273553991 / t : (double)NAN;
}
static inline double law_interactive_n(double throughput, double response, double z)
{
	return throughput * (response + z);
}
/* Closed system: total demand d, largest demand d_max, think time z. */
static inline double law_knee_users(double d, double d_max, double z)
{
	return (d + z) / d_max;
}

/* ---- bucket.c: rate and ring ---- */

/* Completed bytes up to and with t_ns, both not falling; the first point is the start (bytes usually 0). */
struct bucket_point {
	uint64_t t_ns, bytes;
};
/*
 * The largest rate that a ring would have borne without overflow had the completions come as they did: the largest R
 * with R (t - s) - (W(t) - W(s)) <= ring for all s < t. Exact, rounded down; UINT64_MAX when no time passed. A ring
 * that is large for the length of the run gives more than the disks' own rate: compare with the mean.
 */
uint64_t bucket_max_rate(const struct bucket_point *p, size_t n, uint64_t ring_bytes);
/*
 * Completions of a run of any length in bounded memory: when there are more than max (even), each stride-th is kept,
 * and the last. What a ring then would have borne is a lower bound: that of a ring smaller by stride - 1 of the largest
 * steps.
 */
struct bucket_log {
	struct bucket_point *p; /* max + 1, the last one behind those that are kept */
	size_t n, max;
	uint64_t stride, seen, last_bytes, step_max_bytes;
};
void bucket_log_start(struct bucket_log *l, size_t max); /* zeroed, or used before with the same max */
void bucket_log_done(struct bucket_log *l);
void bucket_log_add(struct bucket_log *l, uint64_t t_ns, uint64_t bytes);
uint64_t bucket_log_max_rate(const struct bucket_log *l, uint64_t ring_bytes);
