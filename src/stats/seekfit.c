/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seek curve in two pieces that meet (Ruemmler and Wilkes, "An introduction to disk drive modeling", 1994): square
 * root of the distance while the arm is still being accelerated, linear after that. For each knee the rest is linear
 * least squares; where the knee lies is as likely as its squares say, and that is in all intervals. A single root where
 * Schwarz's criterion (1978) wants no knee.
 */
#include "stats/stats.h"

#include <math.h>

#define KNEES   256 /* in the logarithm, from the second distance to the last but one: closer than a knee is known */
#define CLOSER  8   /* rounds, each a quarter as far apart, about the best */
#define COLUMNS 3

double seek_fit_at(const struct seek_fit *f, double distance)
{
	if (distance < f->knee.value)
		return f->a.value + f->b.value * sqrt(fmax(distance, 0.0));
	return f->c.value + f->e.value * distance;
}

struct solved { /* at one knee */
	double knee, x[COLUMNS], covariance[COLUMNS][COLUMNS], chi2;
};

static void columns(double d, double knee, double *ret)
{
	ret[0] = 1.0;
	ret[1] = sqrt(fmin(d, knee));
	ret[2] = fmax(d - knee, 0.0);
}

/* Inverse of the first m by m of a matrix that is symmetric and positive (Gauss and Jordan, in place); false: columns
 * depend on each other. */
static bool invert(double a[COLUMNS][COLUMNS], size_t m)
{
	for (size_t j = 0; j < m; j++) {
		const double pivot = a[j][j];

		if (!(pivot > 1e-12))
			return false;
		a[j][j] = 1.0;
		for (size_t k = 0; k < m; k++)
			a[j][k] /= pivot;
		for (size_t i = 0; i < m; i++) {
			const double times = a[i][j];

			if (i == j)
				continue;
			a[i][j] = 0.0;
			for (size_t k = 0; k < m; k++)
				a[i][k] -= times * a[j][k];
		}
	}
	return true;
}

/* knee: infinite: a single root. A curve does not fall at its begin, nor begin beyond what was seen, as two distances
 * that are nearly one would have it. */
static bool solve(const struct smooth_point *p, size_t n, double knee, struct solved *ret)
{
	const size_t m = isfinite(knee) ? COLUMNS : COLUMNS - 1;
	double a[COLUMNS][COLUMNS] = { { 0.0 } }, to[COLUMNS] = { 0.0 }, scale[COLUMNS] = { 0.0 }, f[COLUMNS],
	       most = 0.0;

	*ret = (struct solved){ .knee = knee };
	for (size_t i = 0; i < n; i++) {
		columns(p[i].x, knee, f);
		most = fmax(most, fabs(p[i].y));
		for (size_t j = 0; j < m; j++) {
			scale[j] = hypot(scale[j], f[j] / p[i].se);
			to[j] += f[j] * p[i].y / (p[i].se * p[i].se);
			for (size_t k = 0; k < m; k++)
				a[j][k] += f[j] * f[k] / (p[i].se * p[i].se);
		}
	}
	for (size_t j = 0; j < m * m; j++)
		a[j / m][j % m] /= scale[j / m] * scale[j % m];
	if (!invert(a, m))
		return false;
	for (size_t j = 0; j < m * m; j++) {
		ret->covariance[j / m][j % m] = a[j / m][j % m] / scale[j / m] / scale[j % m];
		ret->x[j / m] += ret->covariance[j / m][j % m] * to[j % m];
	}
	for (size_t i = 0; i < n; i++) {
		columns(p[i].x, knee, f);
		ret->chi2 += pow((p[i].y - f[0] * ret->x[0] - f[1] * ret->x[1] - f[2] * ret->x[2]) / p[i].se, 2.0);
	}
	return m < COLUMNS || (ret->x[1] >= 0.0 && fabs(ret->x[0]) <= most);
}

/* a, b, c, e or the knee, at one knee, and its variance there. */
static double part_of(const struct solved *s, int which, double *ret_variance)
{
	const double g[][COLUMNS] = { { 1 }, { 0, 1 }, { 1, sqrt(s->knee), -s->knee }, { 0, 0, 1 }, { 0 } };
	double value = which == 4 ? s->knee : 0.0;

	*ret_variance = 0.0;
	for (size_t j = 0; j < COLUMNS; j++) {
		value += g[which][j] * s->x[j];
		for (size_t k = 0; k < COLUMNS; k++)
			*ret_variance += g[which][j] * g[which][k] * s->covariance[j][k];
	}
	return value;
}

/* The same at the best knee, and how sure by all, each as likely as it is. */
static struct stats_estimate estimate_of(const struct solved *v, size_t n, size_t best, double wider, int which)
{
	double own, sum = 0.0, all = 0.0;
	const double value = part_of(&v[best], which, &own);

	for (size_t i = 0; i < n; i++) {
		const double likely = exp((v[best].chi2 - v[i].chi2) / 2.0 / wider),
			     off = part_of(&v[i], which, &own) - value;

		all += likely;
		sum += likely * (own * wider + off * off);
	}
	return stats_about(value, STATS_95 * sqrt(sum / all));
}

static size_t best_of(const struct solved *v, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		best = v[i].chi2 < v[best].chi2 ? i : best;
	return best;
}

bool fit_seek(const struct smooth_point *p, size_t n, struct seek_fit *ret)
{
	struct solved root, v[KNEES + 1];
	double ratio = n > 5 ? pow(p[n - 2].x / p[1].x, 1.0 / (KNEES - 1)) : 1.0, wider, degrees = (double)n - 4.0;
	size_t nv = 0, best;

	if (n < 3 || !solve(p, n, INFINITY, &root))
		return false;
	for (size_t i = 0; ratio > 1.0 && i < KNEES; i++)
		nv += solve(p, n, p[1].x * pow(ratio, (double)i), &v[nv]);
	best = best_of(v, nv);
	for (int round = 0; nv && round < CLOSER; round++) { /* the best one itself, closer */
		const double about = v[best].knee;

		ratio = pow(ratio, 0.25);
		for (int k = -4; k <= 4; k++)
			if (solve(p, n, about * pow(ratio, k), &v[nv]) && v[nv].chi2 < v[best].chi2)
				v[best] = v[nv];
	}
	wider = nv ? fmax(v[best].chi2 / degrees, 1.0) : fmax(root.chi2 / ((double)n - 2.0), 1.0);
	if (!nv || root.chi2 - v[best].chi2 < 2.0 * log((double)n) * wider) {
		v[0] = root;
		nv = 1;
		best = 0;
	}
	*ret = (struct seek_fit){ .a = estimate_of(v, nv, best, wider, 0),
		                  .b = estimate_of(v, nv, best, wider, 1),
		                  .knee = { INFINITY, { NAN, NAN } } };
	if (isfinite(v[best].knee)) {
		ret->c = estimate_of(v, nv, best, wider, 2);
		ret->e = estimate_of(v, nv, best, wider, 3);
		ret->knee = estimate_of(v, nv, best, wider, 4);
	}
	/* Beyond what chance does once in thousands of runs. */
	if (v[best].chi2 > (double)n + 4.0 * sqrt(2.0 * (double)n))
		for (size_t i = 0; i < n; i++)
			ret->misfit += pow(p[i].y - seek_fit_at(ret, p[i].x), 2.0) / (double)n;
	ret->misfit = sqrt(ret->misfit);
	return true;
}
