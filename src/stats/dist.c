/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distribution functions. Normal by erfc; beta by its continued fraction (DLMF 8.17.22) with Lentz's method; t and
 * binomial through beta (DLMF 8.17.5). Relative error below 1e-12 where used (a + b up to 1e7).
 */
#include "stats/stats.h"

#include <float.h>
#include <math.h>

#define TINY      1e-300
#define STEPS_MAX 100000

static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign); /* lgamma() writes a global */
}

double stats_normal_cdf(double z)
{
	return 0.5 * erfc(-z * M_SQRT1_2);
}

/* DLMF 8.17.22 by the modified method of Lentz; good for x below (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < TINY ? TINY : d);
	h = d;
	for (int m = 1; m < STEPS_MAX; m++) {
		double m2 = 2.0 * m, even, odd, step;

		even = m * (b - m) * x / ((a + m2 - 1) * (a + m2));
		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < TINY ? TINY : d);
		c = fabs(c) < TINY ? TINY : c;
		h *= d * c;
		odd = -(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1));
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < TINY ? TINY : d);
		c = fabs(c) < TINY ? TINY : c;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 4 * DBL_EPSILON)
			break;
	}
	return h;
}

double stats_beta_cdf(double x, double a, double b)
{
	double front;

	if (!(a > 0 && b > 0) || isnan(x))
		return NAN;
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double stats_binomial_cdf(uint64_t k, uint64_t n, double p)
{
	if (!(p >= 0 && p <= 1))
		return NAN;
	if (k >= n || p == 0)
		return 1;
	return stats_beta_cdf(1 - p, (double)(n - k), (double)k + 1);
}

/* The share above t > 0. */
static double t_upper(double t, double df)
{
	return 0.5 * stats_beta_cdf(df / (df + t * t), df / 2, 0.5);
}

double stats_t_cdf(double t, double df)
{
	if (!(df > 0) || isnan(t))
		return NAN;
	if (isinf(df))
		return stats_normal_cdf(t);
	return t < 0 ? t_upper(-t, df) : 1 - t_upper(t, df);
}

/* Newton's steps from the normal law's, which is too low: the share above is convex, so that none goes too far. */
double stats_t_975(double df)
{
	const double z = 1.959963984540054;
	double t = z, step = z;

	if (!(df > 0))
		return NAN;
	for (int i = 0; df <= 1e7 && step > 1e-15 * t && i < STEPS_MAX; i++) {
		double log_pdf = log_gamma((df + 1) / 2) - log_gamma(df / 2) - 0.5 * log(df * M_PI) -
		                 (df + 1) / 2 * log1p(t * t / df);

		step = (t_upper(t, df) - 0.025) / exp(log_pdf);
		t += fmax(step, 0);
	}
	return t;
}

/* Kolmogorov's limit law: P(sqrt(n) D > x). Two series of one function, each where it converges at once. */
static double kolmogorov_upper(double x)
{
	double sum = 0;

	if (!(x > 0))
		return 1;
	if (x < 1.18) {
		double y = exp(-M_PI * M_PI / (8 * x * x));

		return 1 - sqrt(2 * M_PI) / x * (y + pow(y, 9) + pow(y, 25) + pow(y, 49));
	}
	for (int k = 1; k <= 6; k++)
		sum += (k & 1 ? 2 : -2) * exp(-2.0 * k * k * x * x);
	return sum;
}

double stats_ks_uniform_sorted(const double *x, size_t n, double *ret_p)
{
	double d = 0, root = sqrt((double)n);

	if (n == 0) {
		if (ret_p)
			*ret_p = NAN;
		return NAN;
	}
	for (size_t i = 0; i < n; i++) {
		double u = x[i] < 0 ? 0 : x[i] > 1 ? 1 : x[i];

		d = fmax(d, fmax((double)(i + 1) / (double)n - u, u - (double)i / (double)n));
	}
	/* Stephens 1970: makes the limit law good from n = 5 on */
	if (ret_p)
		*ret_p = kolmogorov_upper((root + 0.12 + 0.11 / root) * d);
	return d;
}
