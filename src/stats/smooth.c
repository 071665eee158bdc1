/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A smooth curve through points that are known so and so well: a Gaussian process (Rasmussen and Williams, Gaussian
 * Processes for Machine Learning, 2006, 2.2, 2.7 and 5.4) about a trend of which little is known beforehand: a
 * root and a line that meet at a knee. Its covariance is Matern's of 3/2 in the logarithm of x. How far
 * the curve goes from the trend, over which length it bends, and where the knee is, is not chosen, but averaged over,
 * each by its likelihood. What is asked for are sums of the curve at some places: one place, or a mean.
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "stats/stats.h"

static const double reaches[] = { 0.01, 0.05, 0.25, 1.0 }; /* of the points' own deviation */
static const double lengths[] = { 0.15, 0.6,
	                          2.5 }; /* in the logarithm of x: from less than two points are apart to half of all */
static const double knees[] = { INFINITY, 0.05, 0.1, 0.2, 0.35, 0.6 }; /* of the largest x */
#define MODELS (ARRAY_LEN(reaches) * ARRAY_LEN(lengths) * ARRAY_LEN(knees))
#define BEGIN  0.001 /* of the largest x: before it the curve goes on as the trend does (a choice) */
#define VAGUE  10.0  /* times the mean square of the points: of the trend's parts little is known beforehand */

struct smooth {
	size_t n;
	double most, vague, x[SMOOTH_MAX], y[SMOOTH_MAX], bent[SMOOTH_MAX];
	struct model {
		double reach, length, knee, log_likely;
		double triangle[SMOOTH_MAX][SMOOTH_MAX]; /* of the points' covariance: Cholesky's */
		double solved[SMOOTH_MAX];
	} model[MODELS];
};

static double bent(const struct smooth *s, double x)
{
	return log(x + BEGIN * s->most);
}

static double covariance(const struct smooth *s, const struct model *m, double x, double at, double other,
                         double other_at)
{
	const double z = sqrt(3.0) * fabs(at - other_at) / m->length;
	const double bend = m->reach * m->reach * (1.0 + z) * exp(-z);

	return bend + s->vague * (1.0 + sqrt(fmin(x, m->knee) * fmin(other, m->knee)) / s->most +
	                          fmax(x - m->knee, 0.0) * fmax(other - m->knee, 0.0) / (s->most * s->most));
}

static void forward(const struct model *m, size_t from, size_t n, double *v)
{
	for (size_t i = from; i < n; i++) {
		for (size_t k = from; k < i; k++)
			v[i] -= m->triangle[i][k] * v[k];
		v[i] /= m->triangle[i][i];
	}
}

static void learn(const struct smooth *s, struct model *m, const struct smooth_point *p)
{
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k <= i; k++) {
			double v = covariance(s, m, s->x[i], s->bent[i], s->x[k], s->bent[k]);

			if (i == k)
				v += p[i].se * p[i].se + 1e-12 * s->vague;
			for (size_t j = 0; j < k; j++)
				v -= m->triangle[i][j] * m->triangle[k][j];
			m->triangle[i][k] = i == k ? sqrt(fmax(v, 1e-14 * s->vague)) : v / m->triangle[k][k];
		}
	for (size_t i = 0; i < s->n; i++)
		m->solved[i] = s->y[i];
	forward(m, 0, s->n, m->solved);
	for (size_t i = 0; i < s->n; i++)
		m->log_likely -= 0.5 * m->solved[i] * m->solved[i] + log(m->triangle[i][i]);
}

struct smooth *smooth_new(const struct smooth_point *p, size_t n)
{
	struct smooth *s;
	double mean = 0.0, size = 0.0, square = 0.0;

	if (n < 4 || n > SMOOTH_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(p[i].y) || !(p[i].se > 0.0) || !(p[i].x > 0.0))
			return NULL;
		mean += p[i].y / (double)n;
	}
	s = xcalloc(1, sizeof(*s));
	s->n = n;
	for (size_t i = 0; i < n; i++) {
		s->x[i] = p[i].x;
		s->y[i] = p[i].y;
		s->most = fmax(s->most, p[i].x);
		size += ((p[i].y - mean) * (p[i].y - mean) + p[i].se * p[i].se) / (double)n;
		square += (p[i].y * p[i].y + p[i].se * p[i].se) / (double)n;
	}
	for (size_t i = 0; i < n; i++)
		s->bent[i] = bent(s, s->x[i]);
	s->vague = VAGUE * square;
	for (size_t k = 0; k < MODELS; k++) {
		struct model *m = &s->model[k];

		m->reach = reaches[k % ARRAY_LEN(reaches)] * sqrt(size);
		m->length = lengths[k / ARRAY_LEN(reaches) % ARRAY_LEN(lengths)];
		m->knee = knees[k / ARRAY_LEN(reaches) / ARRAY_LEN(lengths)] * s->most;
		learn(s, m, p);
	}
	return s;
}

/* Of all models, each as likely as it is. */
static double mixed(const double *log_likely, const double *mean, const double *variance, double *ret_se)
{
	double most = -INFINITY, total = 0.0, all = 0.0, sum = 0.0;

	for (size_t k = 0; k < MODELS; k++)
		most = fmax(most, log_likely[k]);
	for (size_t k = 0; k < MODELS; k++) {
		const double likely = exp(log_likely[k] - most);

		total += likely;
		all += likely * mean[k];
		sum += likely * (variance[k] + mean[k] * mean[k]);
	}
	all /= total;
	*ret_se = sqrt(fmax(sum / total - all * all, 0.0));
	return all;
}

double smooth_left_out(const struct smooth *s, size_t point, double *ret_se)
{
	double log_likely[MODELS], mean[MODELS], variance[MODELS];

	/* By a column of the inverse (Rasmussen and Williams, 5.12). */
	for (size_t k = 0; k < MODELS; k++) {
		const struct model *m = &s->model[k];
		double v[SMOOTH_MAX] = { 0.0 }, own = 0.0, other = 0.0;

		mean[k] = variance[k] = 0.0;
		log_likely[k] = m->log_likely;
		v[point] = 1.0;
		forward(m, point, s->n, v);
		for (size_t i = point; i < s->n; i++) {
			own += v[i] * v[i];
			other += v[i] * m->solved[i];
		}
		variance[k] = 1.0 / own;
		mean[k] = s->y[point] - other / own;
		log_likely[k] += 0.5 * (other * other / own - log(own));
	}
	return mixed(log_likely, mean, variance, ret_se);
}

double smooth_sum(const struct smooth *s, const double *x, const double *w, size_t nx, double *ret_se)
{
	cleanup_free double *at = xcalloc(nx, sizeof(*at));
	double log_likely[MODELS], mean[MODELS], variance[MODELS];

	for (size_t j = 0; j < nx; j++)
		at[j] = bent(s, x[j]);
	for (size_t k = 0; k < MODELS; k++) {
		const struct model *m = &s->model[k];
		double to[SMOOTH_MAX] = { 0.0 };

		mean[k] = variance[k] = 0.0;
		log_likely[k] = m->log_likely;
		for (size_t j = 0; j < nx; j++) {
			for (size_t i = 0; i < s->n; i++)
				to[i] += w[j] * covariance(s, m, s->x[i], s->bent[i], x[j], at[j]);
			for (size_t i = 0; i < nx; i++)
				variance[k] += w[j] * w[i] * covariance(s, m, x[i], at[i], x[j], at[j]);
		}
		forward(m, 0, s->n, to);
		for (size_t i = 0; i < s->n; i++) {
			mean[k] += to[i] * m->solved[i];
			variance[k] -= to[i] * to[i];
		}
		variance[k] = fmax(variance[k], 0.0);
	}
	return mixed(log_likely, mean, variance, ret_se);
}
