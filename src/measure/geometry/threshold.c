/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shortest access between two tracks from accesses that were aimed: one of x revolutions is made when the head gets
 * there in time, else it takes a revolution more. Where the head takes a little longer or shorter each time there is no
 * sharp border, but one by which half of the accesses are made; some are late by a revolution for no reason at all. All
 * accesses of a pair count, each by how likely it is for a border at y: the posterior of y, by which the next aim is
 * chosen, too (probabilistic bisection, Horstein 1963). How far accesses scatter is the same for all pairs, and is
 * learned from all of them.
 */
#include <math.h>

#include "measure/geometry/layout.h"

#define LAPSES  0.03 /* of the accesses come a revolution late: what real hosts and drives lose at most */
#define POINTS  48   /* of a grid over what is possible, made finer so often: */
#define REFINED 5    /* from 4 revolutions to below the finest deviation */
#define ASKED   24   /* pairs at most that tell how far accesses scatter */
#define FAR     12.0 /* of the log-likelihood: so much less likely is not looked at again */

/* Deviations that are tried, in revolutions. */
static const double scatters[] = { 0.0003, 0.001, 0.002, 0.004, 0.007, 0.012, 0.02 };

static void fill(const struct geo_looks *k, double scatter, double low, double step, double *ret_log, double *ret_most)
{
	*ret_most = -INFINITY;
	for (int i = 0; i < POINTS; i++) {
		double y = low + ((double)i + 0.5) * step;

		ret_log[i] = 0.0;
		for (size_t j = 0; j < k->n; j++)
			ret_log[i] += log(arrival_likelihood(k->turns[j], y, fmax(scatter, step), 1.0, LAPSES));
		*ret_most = fmax(*ret_most, ret_log[i]);
	}
}

struct geo_border geo_border(const struct geo_looks *k, double scatter)
{
	double log_of[POINTS], most, low = 0.0, high = GEO_TURNS_MAX, step = 0.0, sum = 0.0, mean = 0.0, square = 0.0;

	for (int pass = 0; pass < REFINED; pass++) {
		int first = 0, last = POINTS - 1;

		step = (high - low) / POINTS;
		fill(k, scatter, low, step, log_of, &most);
		if (pass + 1 == REFINED || step < scatter / 3.0)
			break;
		while (first < last && log_of[first] < most - FAR)
			first++;
		while (last > first && log_of[last] < most - FAR)
			last--;
		high = fmin(GEO_TURNS_MAX, low + (double)(last + 2) * step);
		low = fmax(0.0, low + (double)(first - 1) * step);
	}
	for (int i = 0; i < POINTS; i++) {
		double y = low + ((double)i + 0.5) * step, w = exp(log_of[i] - most);

		sum += w;
		mean += w * y;
		square += w * y * y;
	}
	mean /= sum;
	return (struct geo_border){ .at = mean,
		                    .error = sqrt(fmax(0.0, square / sum - mean * mean) + step * step / 12.0),
		                    .evidence = most + log(sum * step) };
}

double geo_scatter(const struct geo_looks *k, size_t n)
{
	double best = scatters[0], most = -INFINITY;

	for (size_t s = 0; s < sizeof(scatters) / sizeof(scatters[0]); s++) {
		double all = 0.0;

		for (size_t i = 0; i < n; i += n / ASKED + 1)
			if (k[i].n > 3)
				all += geo_border(&k[i], scatters[s]).evidence;
		if (all > most) {
			most = all;
			best = scatters[s];
		}
	}
	return best;
}
