/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/tracks.h"

#include <math.h>

#include "stats/stats.h"

#define DENSE      4    /* that many others have to agree with one (a choice) */
#define CONSISTENT 0.85 /* of the survey's pairs that a grid has to explain (5 % of real tracks are slipped) */

/* The densest of what pairs of neighbours say, as those on one track agree. */
static double densest(double *v, size_t n)
{
	size_t width = n / 3 + 1 > DENSE ? n / 3 + 1 : DENSE;
	double least = INFINITY, found = NAN;

	if (n < 8)
		return NAN;
	stats_sort(v, n);
	for (size_t i = 0; i + width < n; i++)
		if (v[i + width] - v[i] < least) {
			least = v[i + width] - v[i];
			found = v[i + width / 2];
		}
	return least < 0.05 * found ? found : (double)NAN;
}

/* From one to the next, the shorter way for what lies on one track. */
static double way(const struct tracks_survey *v, size_t i, double *ret_bytes)
{
	double bytes = v->offset[i - 1] - v->offset[i], turn = v->phase[i - 1] - v->phase[i];

	turn = bytes < 0.0 ? -turn : turn;
	*ret_bytes = fabs(bytes);
	return turn - floor(turn);
}

double tracks_length(const struct tracks_survey *v, double guess)
{
	double one[TRACKS_SURVEY], bytes_sum = 0.0, turn_sum = 0.0, length;
	size_t n = 0;

	for (size_t i = 1; i < v->n; i++) {
		double bytes, turn = way(v, i, &bytes);

		if (bytes < 0.8 * guess && turn > 0.15 && turn < 0.7)
			one[n++] = bytes / turn;
	}
	length = densest(one, n);
	for (size_t i = 1; i < v->n; i++) { /* all those on one track together */
		double bytes, turn = way(v, i, &bytes);

		if (fabs(turn - bytes / length) < TRACKS_TOLERANCE / 2.0) {
			bytes_sum += bytes;
			turn_sum += turn;
		}
	}
	return turn_sum > 0.0 ? bytes_sum / turn_sum : (double)NAN;
}

/* Pairs of the survey that a grid of equal tracks explains: a track begins between them, or none does. */
static size_t explained(const struct tracks_survey *v, double first, double track)
{
	size_t n = 0;

	for (size_t i = 1; i < v->n; i++) {
		double above = floor((v->offset[i - 1] - first) / track), below = floor((v->offset[i] - first) / track);

		n += v->is_known[i] && (above != below) == v->is_break[i];
	}
	return n;
}

bool tracks_grid(struct tracks_survey *v, double *track, double *ret_first, double *ret_slack)
{
	size_t most = 0, known = 0;
	double base = v->offset[v->n - 1], best_track = *track, low = NAN, high = NAN;

	for (size_t i = 1; i < v->n; i++) {
		double step = phase_distance(v->phase[i - 1] - (v->offset[i - 1] - v->offset[i]) / *track, v->phase[i]);

		v->is_known[i] = v->offset[i - 1] - v->offset[i] < 0.8 * *track;
		v->is_break[i] = fabs(step) > TRACKS_TOLERANCE;
		known += v->is_known[i];
	}
	for (int k = 0; k < 9; k++) { /* the measured length first */
		double length = *track * (1.0 + 0.0004 * (k & 1 ? (k + 1) / 2 : -k / 2));

		for (int j = 0; j < 400; j++) {
			double first = base - length * (double)j / 400.0;
			size_t n = explained(v, first, length);

			if (n > most || (n == most && length == best_track && j > 0 && isfinite(high) &&
			                 low - first < 1.5 * length / 400.0)) {
				if (n > most)
					high = first;
				most = n;
				low = first;
				best_track = length;
			}
		}
	}
	if (known < TRACKS_SURVEY / 2 || (double)most < CONSISTENT * (double)known)
		return false;
	*track = best_track;
	*ret_first = (low + high) / 2.0;
	*ret_slack = (high - low) / 2.0 + 0.01 * best_track;
	return true;
}
