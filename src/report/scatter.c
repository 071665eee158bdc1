/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far a figure scatters from run to run, by all disks of a fleet: few runs of one disk do not show it. As Smyth
 * (2004): the disks' variances scatter around one of theirs all, with prior degrees of freedom, which are few where
 * the disks differ in this. Both are found by what half of the disks may spoil: cube roots of variances are nearly
 * normal (Wilson and Hilferty 1931), their median is the centre, and Qn is how much wider they are than chance.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/alike.h"

#define DISKS_LEAST 3 /* of which one may be bad */

struct scatter {
	struct look {
		const char *measurement, *figure;
		double variance, df;
	} * v;
	size_t n;
};

struct scatter *scatter_new(void)
{
	struct scatter *s = xcalloc(1, sizeof(*s));
	return s;
}

void scatter_free(struct scatter *s)
{
	if (s)
		free(s->v);
	free(s);
}

void scatter_add(struct scatter *s, const char *measurement, const char *figure, double variance, double df)
{
	if (!(variance > 0.0) || !(df > 0.0))
		return;
	xappend(s->v, s->n, (struct look){ measurement, figure, variance, df });
}

/* Of chi-squared by its degrees of freedom: mean and deviation of the cube root. */
static double root_mean(double df)
{
	return 1.0 - 2.0 / (9.0 * df);
}

struct prior scatter_prior(const struct scatter *s, const char *measurement, const char *figure)
{
	cleanup_free double *x = xcalloc(s ? 2 * s->n + 1 : 1, sizeof(*x));
	double *df = x + (s ? s->n : 0), all = 0.0, usual, wider;
	struct prior p = { 0 };
	size_t n = 0;
	for (size_t i = 0; s && i < s->n; i++)
		if (strcmp(s->v[i].figure, figure) == 0 && strcmp(s->v[i].measurement, measurement) == 0) {
			x[n] = cbrt(s->v[i].variance) / root_mean(s->v[i].df);
			df[n++] = s->v[i].df;
			all += s->v[i].df;
		}
	if (n < DISKS_LEAST)
		return p;
	p.variance = pow(stats_median(x, n), 3.0);
	n = 0;
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].figure, figure) == 0 && strcmp(s->v[i].measurement, measurement) == 0)
			x[n++] = (cbrt(s->v[i].variance / p.variance) - root_mean(s->v[i].df)) /
			         sqrt(2.0 / (9.0 * s->v[i].df));
	wider = pow(stats_qn(x, n), 2.0) - 1.0;
	usual = stats_median(df, n);
	all *= 1.0 - 1.0 / (double)n; /* of the others */
	p.df = wider > 0.0 ? fmin(usual / wider, all) : all;
	return p;
}
