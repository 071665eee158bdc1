/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/pool.h"

#include <math.h>

#include "base/cleanup.h"

/* The mean of all, if theirs differ by `spread`; and the log likelihood of that (of what is left beside the mean: REML,
 * Patterson and Thompson 1971). */
static double pooled(const struct pool_mean *v, size_t n, double variance, double spread, double *ret_mean,
                     double *ret_weight)
{
	double log_sum = 0.0, sum = 0.0, weight = 0.0, square = 0.0;

	for (size_t i = 0; i < n; i++) {
		double own = spread * spread + variance / v[i].n;

		sum += v[i].mean / own;
		weight += 1.0 / own;
		log_sum += 0.5 * log(own);
	}
	*ret_mean = sum / weight;
	*ret_weight = weight;
	for (size_t i = 0; i < n; i++)
		square += pow(v[i].mean - *ret_mean, 2.0) / (spread * spread + variance / v[i].n);
	return -0.5 * square - log_sum - 0.5 * log(weight);
}

void pool_means(struct pool_mean *v, size_t n, double variance, double floor)
{
	/* Of the error of a middling one: from none to where there is nothing to be learnt from the others. All alike
	 * likely beforehand. */
	static const double spreads[] = { 0.0, 0.3, 0.6, 1.0, 1.7, 3.0, 6.0 };
	double spread[ARRAY_LEN(spreads)], mean[ARRAY_LEN(spreads)], weight[ARRAY_LEN(spreads)],
		likely[ARRAY_LEN(spreads)], most = -INFINITY, all = 0.0, values = 0.0;

	for (size_t i = 0; i < n; i++)
		values += v[i].n;
	for (size_t k = 0; k < ARRAY_LEN(spreads); k++) {
		spread[k] = hypot(spreads[k] * sqrt(variance * (double)n / values), floor);
		likely[k] = pooled(v, n, variance, spread[k], &mean[k], &weight[k]);
		most = fmax(most, likely[k]);
	}
	for (size_t k = 0; k < ARRAY_LEN(spreads); k++)
		all += likely[k] = exp(likely[k] - most);
	for (size_t i = 0; i < n; i++) {
		double own = variance / v[i].n, first = 0.0, second = 0.0;

		for (size_t k = 0; k < ARRAY_LEN(spreads); k++) {
			double keep = spread[k] * spread[k] / (spread[k] * spread[k] + own), rest = 1.0 - keep;
			double at = keep * v[i].mean + rest * mean[k];

			first += likely[k] / all * at;
			second += likely[k] / all * (keep * own + rest * rest / weight[k] + at * at);
		}
		v[i].mean = first;
		v[i].se = sqrt(fmax(second - first * first, 0.0));
	}
}
