/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mean of the whole surface, from samples in the order of their places: time to read everything = integral of time
 * per byte over the place, by trapezoids between the samples. Its error has two parts: the noise of the samples with
 * their weights, and the place of each step between two samples, about which nothing is known but that it lies there:
 * uniform, variance (step x distance)^2 / 12.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

/* Are there samples close enough to each other and to both ends to speak of the whole? */
static bool is_covered(const struct zone_at *v, size_t n, const struct zone_layout *l)
{
	double region = (double)(l->end_bytes - l->first_bytes);
	double most = 1.6 * region / (double)(l->npositions > 1 ? l->npositions - 1 : 1);

	if (n < 2 || v[0].from - (double)l->first_bytes > most || (double)l->end_bytes - v[n - 1].end > most)
		return false;
	for (size_t i = 1; i < n; i++)
		if (v[i].mid - v[i - 1].mid > most)
			return false;
	return true;
}

static int by_position(const void *a, const void *b)
{
	const struct zone_at *x = a, *y = b;

	return x->position < y->position ? -1 : x->position > y->position;
}

/*
 * By how much noise that lasts for a while is larger in the mean than the same noise at random: samples' differences
 * from their places, summed over stretches of time. 1 at least; samples of places that were read once, and of no place,
 * say nothing.
 */
static double lasting_noise(const struct zone_at *v, size_t n)
{
	cleanup_free struct zone_at *w = xcalloc(n + 1, sizeof(*w));
	double block[ZONE_TIME_BLOCKS] = { 0 }, first = INFINITY, last = -INFINITY, squares = 0.0, blocks = 0.0;

	memcpy(w, v, n * sizeof(*w));
	qsort(w, n, sizeof(*w), by_position);
	for (size_t i = 0; i < n; i++) {
		first = fmin(first, w[i].at_s);
		last = fmax(last, w[i].at_s);
	}
	for (size_t a = 0, b; a < n && last > first; a = b) {
		double mean;

		for (b = a + 1; b < n && w[b].position == w[a].position; b++)
			;
		if (b - a < 2 || w[a].position == ZONE_NONE)
			continue;
		mean = zone_mean_y(w, a, b);
		for (size_t i = a; i < b; i++) {
			double off = (w[i].y - mean) * sqrt((double)(b - a) / (double)(b - a - 1));

			squares += off * off;
			block[zone_time_block(w[i].at_s, first, last)] += off;
		}
	}
	for (size_t k = 0; k < ZONE_TIME_BLOCKS; k++)
		blocks += block[k] * block[k];
	return squares > 0.0 ? fmax(blocks / squares, 1.0) : 1.0;
}

/*
 * Variance of the mean by slow regions that no sample met. One narrower than the distance of two places is met by
 * chance, with the probability of its part of that distance: for each that was met as much as fills the rest of it is
 * expected elsewhere (Horvitz and Thompson 1952), and not known.
 */
static double variance_of_unmet(const struct zone_layout *l, const struct zone_slows *slows)
{
	double region = (double)(l->end_bytes - l->first_bytes), var = 0.0;
	double spacing = region / (double)(l->npositions > 1 ? l->npositions - 1 : 1);

	for (size_t i = 0; slows && i < slows->n; i++) {
		const struct zone_slow *slow = &slows->v[i];
		double rest = fmax(spacing - (double)(slow->end_bytes - slow->first_bytes), 0.0) / region;
		double more = rest * (exp(slow->y) - exp(slow->expected_y));

		var += slow->is_confirmed ? more * more : 0.0;
	}
	return var;
}

bool zone_mean(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
               const struct zone_bands *bands, const struct zone_slows *slows, double *ret_ns_per_byte,
               struct interval *ret_ci)
{
	const struct zone_left_out none = { NULL, NULL };
	size_t n;
	cleanup_free struct zone_at *v = zone_in_order(samples, l, lv, &none, &n);
	double region = (double)(l->end_bytes - l->first_bytes), mean = 0.0, var = 0.0, noise_var = 0.0, half;

	if (!v || !is_covered(v, n, l))
		return false;
	for (size_t i = 0; i < n; i++) {
		double left = i ? 0.5 * (v[i].mid - v[i - 1].mid) : v[i].mid - (double)l->first_bytes;
		double right = i + 1 < n ? 0.5 * (v[i + 1].mid - v[i].mid) : (double)l->end_bytes - v[i].mid;
		double weight = (left + right) / region, s = exp(v[i].y);

		mean += weight * s;
		noise_var += weight * weight * s * s * v[i].sigma * v[i].sigma;
		if (i) {
			double step = s - exp(v[i - 1].y), gap = (v[i].mid - v[i - 1].mid) / region;
			double noise = s * s * (v[i].sigma * v[i].sigma + v[i - 1].sigma * v[i - 1].sigma);

			var += fmax(step * step - noise, 0.0) * gap * gap / 12.0;
		}
	}
	var += noise_var * lasting_noise(v, n);
	var += variance_of_unmet(l, slows);
	/* The samples of a place lie close together, mostly on the same surfaces, and scatter less than places do. */
	var = fmax(var / mean / mean, bands->mean_var);
	/* In the logarithm, as all else: a time is never negative. */
	half = 1.96 * sqrt(var + lv->lost_var + lv->loss_var);
	*ret_ns_per_byte = mean;
	ret_ci->low = mean * exp(-half);
	ret_ci->high = mean * exp(half);
	return true;
}
