/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bias and coverage of an estimator over many seeds. Each tally prints one line (the table in README-stats is this
 * output) and says whether the mean error and the share of intervals that hold the truth are within what the test
 * states.
 */
#ifndef PLATTER_TEST_TALLY_H
#define PLATTER_TEST_TALLY_H

#include <math.h>
#include <stdio.h>

#include "seeds.h"
#include "stats/stats.h"

static inline bool is_near(double a, double b, double relative)
{
	return fabs(a - b) <= relative * fmax(fabs(a), fabs(b));
}

struct tally {
	size_t n, failed, covered, width_n;
	double sum, sum_sq, width, worst;
};

static inline void tally_add(struct tally *t, double estimate, struct interval ci, double truth)
{
	double e = estimate - truth;

	if (!isfinite(e)) {
		t->failed++;
		return;
	}
	t->n++;
	t->sum += e;
	t->sum_sq += e * e;
	t->worst = fmax(t->worst, fabs(e));
	if (isfinite(ci.low)) {
		t->covered += ci.low <= truth && truth <= ci.high;
		t->width += (ci.high - ci.low) / 2;
		t->width_n++;
	}
}

/* The same, as parts of the truth. */
static inline void tally_add_ratio(struct tally *t, double estimate, struct interval ci, double truth)
{
	tally_add(t, estimate / truth - 1.0, (struct interval){ ci.low / truth - 1.0, ci.high / truth - 1.0 }, 0.0);
}

static inline double tally_bias(const struct tally *t)
{
	return t->sum / (double)t->n;
}

static inline double tally_rms(const struct tally *t)
{
	return sqrt(t->sum_sq / (double)t->n);
}

static inline double tally_coverage(const struct tally *t)
{
	return (double)t->covered / (double)t->width_n;
}

/* Coverage is at least 93 % but for what chance does when there are fewer than 500 intervals. */
static inline bool tally_is_covered(const struct tally *t)
{
	double n = (double)t->width_n, slack = n < 450 ? 3 * sqrt(0.05 * 0.95 / n) - 0.02 : 0;

	return tally_coverage(t) >= 0.93 - slack;
}

/* The same, and at most 98 %: no wider than need be either. */
static inline bool tally_covers(const struct tally *t)
{
	double n = (double)t->width_n, slack = n < 450 ? 3 * sqrt(0.05 * 0.95 / n) - 0.02 : 0;

	return tally_is_covered(t) && tally_coverage(t) <= 0.98 + slack;
}

/* unit scales the errors: 1e-6 for microseconds of seconds. */
static inline void tally_print(const struct tally *t, const char *what, double unit, const char *unit_text)
{
	printf("%-58s n %5zu failed %3zu bias %9.4g rms %9.4g %-4s", what, t->n, t->failed, tally_bias(t) / unit,
	       tally_rms(t) / unit, unit_text);
	if (t->width_n)
		printf(" half %9.4g coverage %.3f", t->width / (double)t->width_n / unit, tally_coverage(t));
	printf("\n");
}

#endif
