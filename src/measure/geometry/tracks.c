/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both sides of edges, read again; and the tracks between edges. */
#include <math.h>

#include "measure/geometry/walk.h"

int geo_read_jumps(struct geo *g, const uint64_t *first, const double *spacing, size_t n, double *ret, struct err *err)
{
	uint64_t sector[GEO_BATCH] = { 0 };
	double angle[GEO_BATCH];
	int r;

	for (size_t i = 0; i < n; i++) {
		sector[2 * i] = first[i];
		sector[2 * i + 1] = first[i] - 1;
	}
	r = geo_probe_sure(g, sector, angle, 2 * n, err);
	for (size_t i = 0; i < n; i++)
		ret[i] = r == 0 ? geo_frac(angle[2 * i] - angle[2 * i + 1] - spacing[i]) : (double)NAN;
	return r;
}

/* Sectors of a whole track from the spacing of a piece, when that is known well enough: it is as good as the piece is
 * long, or as half a track. 0: not. */
static uint64_t whole_track(const struct geo *g, double spacing_ratio, uint64_t len)
{
	double n = 1.0 / spacing_ratio, known = fmin((double)len, n / 2.0);

	return isfinite(n) && n >= 1.0 && n * n * 2.0 * g->tol < 0.2 * known && fabs(n - round(n)) < 0.2
	               ? (uint64_t)round(n)
	               : 0;
}

/* Missing sectors at an edge inside a track of n sectors: a whole number of them fits the jump. */
static uint64_t missing_at(const struct geo *g, const struct geo_edge *e, uint64_t n)
{
	double k = e->jump * (double)n;

	return n && fabs(k - round(k)) < fmax(0.05, 4.0 * g->tol * (double)n) && round(k) >= 1.0 ? (uint64_t)round(k)
	                                                                                         : 0;
}

/* Could a piece with this spacing, known as well as it is long, be of a track of n sectors? */
static bool could_be(const struct geo *g, double spacing_ratio, uint64_t len, uint64_t n)
{
	return len < 3 || fabs(spacing_ratio * (double)n - 1.0) * (double)len < 4.0 * g->tol * (double)n;
}

/* The same as the piece from edge i on shows. */
static uint64_t reported_by(const struct geo *g, const struct geo_edge *edge, size_t i)
{
	return whole_track(g, edge[i].after, edge[i + 1].first - edge[i].first);
}

/* The same with the help of the pieces on both sides, between which only sectors are missing; i is not the last edge
 * but one when n allows. */
static uint64_t reported_around(const struct geo *g, const struct geo_edge *edge, size_t i, size_t n,
                                const struct geo_track *last)
{
	uint64_t len = edge[i + 1].first - edge[i].first, whole = reported_by(g, edge, i);

	if (!whole && last && last->sectors + last->missing < last->per_track &&
	    could_be(g, edge[i].after, len, last->per_track))
		whole = last->per_track;
	for (size_t k = i + 1; !whole && k < i + 4 && k + 1 < n; k++) {
		uint64_t all = edge[k + 1].first - edge[i].first;
		bool fits = true;

		whole = reported_by(g, edge, k);
		for (size_t j = i; whole && j <= k; j++) {
			uint64_t gone = j > i ? missing_at(g, &edge[j], whole) : 0;

			all += gone;
			fits = fits && (j == i || gone) &&
			       could_be(g, edge[j].after, edge[j + 1].first - edge[j].first, whole);
		}
		if (whole && !(fits && all <= whole))
			return 0;
	}
	return whole;
}

size_t geo_tracks(const struct geo *g, const struct geo_edge *edge, size_t n, struct geo_track *ret)
{
	size_t m = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		uint64_t len = edge[i + 1].first - edge[i].first, gone = 0, whole;
		struct geo_track *last = m ? &ret[m - 1] : NULL;

		whole = reported_around(g, edge, i, n, last);
		if (last && last->per_track == whole)
			gone = missing_at(g, &edge[i], whole);
		if (gone && last->sectors + last->missing + gone + len <= whole) {
			last->sectors += len;
			last->missing += gone;
			last->is_doubtful = last->is_doubtful || edge[i + 1].is_unsure;
			continue;
		}
		ret[m++] = (struct geo_track){ .first = edge[i].first,
			                       .sectors = len,
			                       .per_track = whole ? whole : len,
			                       .skew = edge[i].jump,
			                       .is_sure = whole != 0,
			                       .is_doubtful = edge[i].is_unsure || edge[i + 1].is_unsure ||
			                                      (double)len * edge[i].after > GEO_ROUND ||
			                                      (!whole && (double)len * edge[i].after < GEO_MOST) };
	}
	return m;
}
