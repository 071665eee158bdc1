/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What accesses over few tracks say: a row for each distance, and the next cylinder, which is the least of the
 * distances at which the arm moves and not another head is chosen. Arithmetic only: no device, no clock.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/seek/seek.h"

#define APART 3 /* tracks: nearer the places overlap, and the drive reads on from one into the other */
#define GAP                                                                                                            \
	0.4 /* of all that these times differ by: from one to twelve cylinders they rise by steps of less than a sixth \
	       of that */
#define CYLINDER_MOST 24 /* tracks of a cylinder: no drive has more surfaces than 22 */

struct near_row {
	uint64_t tracks, distance_bytes;
	double seek_ns, low, high, with_overhead_ns;
	uint64_t samples, hits;
};

const struct field seek_near_fields[] = {
	FIELD_U64(struct near_row, tracks, UNIT_COUNT, "tracks"),
	FIELD_U64(struct near_row, distance_bytes, UNIT_BYTES, "distance"),
	FIELD_F64(struct near_row, seek_ns, UNIT_NS, "seek"),
	FIELD_F64(struct near_row, low, UNIT_NS, "shortest"),
	FIELD_F64(struct near_row, high, UNIT_NS, "longest"),
	FIELD_F64(struct near_row, with_overhead_ns, UNIT_NS, "with overhead"),
	FIELD_U64(struct near_row, samples, UNIT_COUNT, "reads"),
	FIELD_U64(struct near_row, hits, UNIT_COUNT, "cache hits", .detail = true),
	FIELD_END,
};

/* What each pair of places says by itself. */
static size_t pairs_of(const struct seek_run *s, const struct seek_point *p, double *ret)
{
	const struct arrival_prior prior = { .scatter = isfinite(s->scatter_ns) ? s->scatter_ns : 0.0 };
	size_t found = 0;

	for (uint32_t g = 0; g < p->log.pairs; g++) {
		struct arrival_sample one[64];
		struct arrival a;
		size_t n = seek_samples(&p->log, g, one, ARRAY_LEN(one));

		if (n >= 5 && fit_arrival(one, n, s->rot.period_ns, &prior, &a) &&
		    interval_half(a.ci) < 0.02 * s->rot.period_ns && seek_is_after_overhead(s, &a))
			ret[found++] = a.median;
	}
	return found;
}

/* All that is known over no more tracks than a cylinder holds, in order. */
static size_t all_pairs(const struct seek_point *p, double (*pairs)[64], const size_t *npairs, size_t n, double *ret)
{
	size_t all = 0;

	for (size_t i = 0; i < n && p[i].tracks <= CYLINDER_MOST; i++) {
		memcpy(ret + all, pairs[i], npairs[i] * sizeof(*ret));
		all += npairs[i];
	}
	stats_sort(ret, all);
	return all;
}

/*
 * Times far below the curve's begin are changes to another head, where they stand beside longer ones over as many
 * tracks: of places as far apart some lie in one cylinder and some do not. So they are where nothing lies between them
 * and the longer ones, as the arm's times become longer evenly. Where all are as short, the curve begins lower than it
 * was followed.
 */
static double least_of_seeks(const struct seek_run *s, const struct seek_point *p, double (*pairs)[64],
                             const size_t *npairs, size_t n)
{
	double least = s->has_fit ? seek_arrival(s, 1e-9) - 0.15e6 : 0.0, v[POINTS_MAX * 64];
	size_t all = all_pairs(p, pairs, npairs, n, v);

	for (size_t i = 0; i < n && p[i].tracks <= CYLINDER_MOST; i++) {
		size_t below = 0;

		for (size_t k = 0; k < npairs[i]; k++)
			below += pairs[i][k] < least;
		if (below && below < npairs[i])
			return least;
	}
	for (size_t i = 1; i < all; i++)
		if (v[i - 1] < least && v[i] - v[i - 1] > GAP * (v[all - 1] - v[0]))
			return v[i];
	return 0.0;
}

/* The next cylinder: the least of the distances at which the arm moves. Index of the row, n: none. */
static size_t choose_track(struct seek_run *s, const struct seek_point *p, double (*pairs)[64], const size_t *npairs,
                           size_t n)
{
	double least = least_of_seeks(s, p, pairs, npairs, n);
	size_t chosen = n;

	for (size_t i = 0; i < n; i++) {
		double kept[64];
		struct summary sum;
		size_t m = 0;

		for (size_t k = 0; k < npairs[i]; k++)
			if (pairs[i][k] >= least)
				kept[m++] = pairs[i][k];
		if (p[i].tracks < APART || m == 0 || !summary_of(kept, m, &sum) ||
		    (isfinite(s->track.median) && sum.median >= s->track.median))
			continue;
		chosen = i;
		s->track.median = sum.median;
		s->track.ci = (struct interval){ fmin(sum.min, sum.median - s->scatter_ns / 3.0) - 10e3,
			                         fmax(sum.max, sum.median + s->scatter_ns / 3.0) + 10e3 };
	}
	return chosen;
}

/*
 * Where tracks follow each other on one surface, k of them are k cylinders: the time to the next one is then less, by
 * about as much as twice as many take more, under the square root. And what was chosen may be a change of the head:
 * over more tracks than a cylinder holds the arm moves for certain, and the time to the next cylinder is not more than
 * that.
 */
static void widen_track(struct seek_run *s, const struct seek_point *p, double (*pairs)[64], const size_t *npairs,
                        size_t n, size_t chosen)
{
	bool is_low = false;

	for (size_t i = chosen + 1; i < n; i++) {
		double v[64], m;

		if (npairs[i] == 0)
			continue;
		memcpy(v, pairs[i], sizeof(v));
		m = stats_median(v, npairs[i]);
		if (!is_low && p[i].tracks >= 2 * p[chosen].tracks) {
			s->track.ci.low -= 1.3 * fmax(m - s->track.median, 0.0);
			is_low = true;
		}
		if (p[i].tracks >= CYLINDER_MOST && npairs[i] >= 2) {
			s->track.ci.high = fmax(s->track.ci.high, m + 2.0 * s->scatter_ns);
			s->has_track_bound = true;
			return;
		}
	}
}

void seek_tell_near(struct seek_run *s, struct seek_point *p, size_t n)
{
	struct table *t = s->is_writing ? result_table(s->res, "write_near", "Seek time of writes over few tracks",
	                                               seek_near_fields)
	                                : result_table(s->res, "near", "Seek time over few tracks", seek_near_fields);
	double pairs[POINTS_MAX][64];
	size_t npairs[POINTS_MAX], chosen;

	for (size_t i = 0; i < n; i++) {
		double v[64];
		struct summary sum;
		struct near_row row = { .tracks = p[i].tracks };

		npairs[i] = p[i].log.pairs ? pairs_of(s, &p[i], pairs[i]) : 0;
		memcpy(v, pairs[i], sizeof(v));
		/* Where places overlap the drive may read on from one into the other: one pair alone is not believed.
		 */
		if (npairs[i] < (p[i].tracks < APART ? 2 : 1) || !summary_of(v, npairs[i], &sum))
			continue;
		row.distance_bytes = seek_distance(&p[i].log, &row.samples, &row.hits);
		row.with_overhead_ns = sum.median;
		row.seek_ns = sum.median - s->overhead_ns;
		row.low = sum.min - s->overhead_ns;
		row.high = sum.max - s->overhead_ns;
		result_row(t, &row);
	}
	chosen = choose_track(s, p, pairs, npairs, n);
	if (chosen < n)
		widen_track(s, p, pairs, npairs, n, chosen);
}
