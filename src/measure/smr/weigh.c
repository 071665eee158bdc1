/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Likelihoods of times, per unit of their logarithm. */
#include <math.h>

#include "measure/smr/smr.h"

#define OUTLIER 0.1 /* of times that have another reason */

static double log_normal(double x, double centre, double sigma)
{
	double z = log(x / centre) / sigma;

	return exp(-0.5 * z * z) / (sigma * sqrt(2 * M_PI));
}

static double even(double x, double low, double high)
{
	return x >= low && x <= high ? 1 / log(high / low) : 0;
}

/* Anything from a tenth of a millisecond to minutes. */
double smr_outlier(double ns)
{
	return even(fmin(fmax(ns, 1e5), 1e11), 1e5, 1e11);
}

/* Of times that scatter about one that is only known to lie between low and high, evenly in its logarithm. */
double smr_common_time(const double *x, size_t n, double low, double high, double sigma)
{
	enum { STEPS = 100 };
	double best = -INFINITY, sum = 0, log_l[STEPS];

	for (int k = 0; k < STEPS; k++) {
		double centre = low * pow(high / low, (k + 0.5) / STEPS);

		log_l[k] = 0;
		for (size_t i = 0; i < n; i++)
			log_l[k] += log((1 - OUTLIER) * log_normal(x[i], centre, sigma) + OUTLIER * smr_outlier(x[i]));
		best = fmax(best, log_l[k]);
	}
	for (int k = 0; k < STEPS; k++)
		sum += exp(log_l[k] - best) / STEPS;
	return best + log(sum);
}
