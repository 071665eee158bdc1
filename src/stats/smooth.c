/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A smooth curve through points that are known so and so well: a Gaussian process (Rasmussen and Williams, Gaussian
 * Processes for Machine Learning, 2006, 2.2 and 5.4) about 0, so about a trend that the caller has taken off. Its
 * covariance is Matern's of 3/2 in the logarithm of x; how far the curve goes and over which length it bends is not
 * chosen, but averaged over, each by its likelihood. What is asked for are sums of the curve at some places: one place,
 * or a mean.
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "stats/stats.h"

static const double reaches[] = { 0.1, 0.3, 1.0, 3.0 }; /* of the points' own size */
static const double lengths[] = { 0.15, 0.4, 1.0,
	                          2.5 }; /* in the logarithm of x: from less than two points are apart to half of all */
#define MODELS (ARRAY_LEN(reaches) * ARRAY_LEN(lengths))

static double covariance(double x, double other, double reach, double length)
{
	double z = sqrt(3.0) * fabs(log(fmax(x, 1e-9) / fmax(other, 1e-9))) / length;

	return reach * reach * (1.0 + z) * exp(-z);
}

struct model {
	size_t n;
	double triangle[SMOOTH_MAX][SMOOTH_MAX]; /* of the points' covariance: Cholesky's */
	double solved[SMOOTH_MAX];
};

static void forward(const struct model *m, double *v)
{
	for (size_t i = 0; i < m->n; i++) {
		for (size_t k = 0; k < i; k++)
			v[i] -= m->triangle[i][k] * v[k];
		v[i] /= m->triangle[i][i];
	}
}

/* The log of its likelihood. */
static double learn(struct model *m, const struct smooth_point *p, size_t n, double reach, double length)
{
	double sum = 0.0;

	m->n = n;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k <= i; k++) {
			double v = covariance(p[i].x, p[k].x, reach, length) +
			           (i == k ? p[i].se * p[i].se + 1e-9 * reach * reach : 0.0);

			for (size_t j = 0; j < k; j++)
				v -= m->triangle[i][j] * m->triangle[k][j];
			m->triangle[i][k] = i == k ? sqrt(fmax(v, 1e-12 * reach * reach)) : v / m->triangle[k][k];
		}
	for (size_t i = 0; i < n; i++)
		m->solved[i] = p[i].y;
	forward(m, m->solved);
	for (size_t i = 0; i < n; i++)
		sum -= 0.5 * m->solved[i] * m->solved[i] + log(m->triangle[i][i]);
	return sum;
}

/* Mean and variance of the sum under one model. */
static void predict(const struct model *m, const struct smooth_point *p, const double *x, const double *w, size_t n,
                    double reach, double length, double *ret_mean, double *ret_variance)
{
	double to[SMOOTH_MAX] = { 0 }, own = 0.0;

	for (size_t k = 0; k < n; k++) {
		for (size_t i = 0; i < m->n; i++)
			to[i] += w[k] * covariance(p[i].x, x[k], reach, length);
		for (size_t j = 0; j < n; j++)
			own += w[k] * w[j] * covariance(x[j], x[k], reach, length);
	}
	forward(m, to);
	*ret_mean = 0.0;
	for (size_t i = 0; i < m->n; i++) {
		*ret_mean += to[i] * m->solved[i];
		own -= to[i] * to[i];
	}
	*ret_variance = fmax(own, 0.0);
}

bool smooth_sum(const struct smooth_point *p, size_t n, const double *x, const double *w, size_t nx, double *ret_mean,
                double *ret_se)
{
	cleanup_free struct model *m = xcalloc(1, sizeof(*m));
	double size = 0.0, best = -INFINITY, total = 0.0, likelihood[MODELS], mean[MODELS], variance[MODELS];

	if (n < 4 || n > SMOOTH_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(p[i].y) || !(p[i].se > 0.0) || !(p[i].x > 0.0))
			return false;
		size += (p[i].y * p[i].y + p[i].se * p[i].se) / (double)n;
	}
	size = sqrt(size);
	for (size_t k = 0; k < MODELS; k++) {
		double reach = reaches[k / ARRAY_LEN(lengths)] * size, length = lengths[k % ARRAY_LEN(lengths)];

		likelihood[k] = learn(m, p, n, reach, length);
		best = fmax(best, likelihood[k]);
		predict(m, p, x, w, nx, reach, length, &mean[k], &variance[k]);
	}
	*ret_mean = *ret_se = 0.0;
	for (size_t k = 0; k < MODELS; k++) {
		likelihood[k] = exp(likelihood[k] - best);
		total += likelihood[k];
		*ret_mean += likelihood[k] * mean[k];
	}
	*ret_mean /= total;
	for (size_t k = 0; k < MODELS; k++)
		*ret_se += likelihood[k] / total * (variance[k] + pow(mean[k] - *ret_mean, 2.0));
	*ret_se = sqrt(*ret_se);
	return true;
}
