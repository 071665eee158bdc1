/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Means of samples of one kind, each drawn to the mean of all as far as their differences are no more than chance
 * (empirical Bayes: Efron and Morris 1975). */
#ifndef PLATTER_MODEL_POOL_H
#define PLATTER_MODEL_POOL_H

#include <stddef.h>

struct pool_mean {
	double mean, n; /* of so many values */
	double se;      /* found, with a new mean */
};
/* variance: of a value. floor: as a deviation, so far they differ at least. */
void pool_means(struct pool_mean *v, size_t n, double variance, double floor);

#endif
