/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edges that are looked at once more, and the tracks between them. */
#include <math.h>
#include <stdlib.h>

#include "measure/geometry/walk.h"

/* ---- a second look ---- */

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

static void judge(const struct geo *g, struct geo_edge *e, double jump)
{
	if (isnan(jump))
		return;
	/* First of all: what was taken for a jump once, by an answer that was late, may be as near to none as to
	 * itself. */
	if (geo_apart(jump, 0.0) < geo_near(g))
		e->is_unsure = true;
	else if (geo_apart(jump, e->jump) >= geo_near(g))
		e->jump = jump;
}

int geo_confirm(struct geo *g, struct geo_edge *edge, size_t n, size_t *ret_wrong, struct err *err)
{
	uint64_t first[GEO_JUMPS];
	double spacing[GEO_JUMPS], jump[GEO_JUMPS];
	size_t from = n && isnan(edge[0].jump); /* the begin of the disk or of the walk is not an edge that was found */
	int r = 0;

	*ret_wrong = 0;
	for (size_t at = from; at < n && r == 0; at += GEO_JUMPS) {
		size_t m = n - at < GEO_JUMPS ? n - at : GEO_JUMPS;

		for (size_t i = 0; i < m; i++) {
			first[i] = edge[at + i].first;
			spacing[i] = edge[at + i].after;
		}
		r = geo_read_jumps(g, first, spacing, m, jump, err);
		for (size_t i = 0; i < m && r == 0; i++)
			judge(g, &edge[at + i], jump[i]);
	}
	for (size_t i = from; i < n; i++)
		*ret_wrong += edge[i].is_unsure;
	return r;
}

/* ---- tracks ---- */

/* Of a revolution: by its spacing what is shorter is not a track of its own, but a part of one, or of a stripe. */
#define PART 0.75

/* Sectors of a whole track from their spacing, when that is known well enough. 0: not. */
static uint64_t whole_track(const struct geo *g, double spacing_ratio)
{
	double n = 1.0 / spacing_ratio;

	/* The spacing rests on half a track at least: its error is below 4 tol of it. */
	return isfinite(n) && n >= 1.0 && n * 4.0 * g->tol < 0.2 && fabs(n - round(n)) < 0.2 ? (uint64_t)round(n) : 0;
}

/* The same for a piece of len sectors, whose spacing is only as good as it is long. */
static uint64_t whole_piece(const struct geo *g, double spacing_ratio, uint64_t len)
{
	double n = 1.0 / spacing_ratio;

	return isfinite(n) && n >= 1.0 && n * n * 2.0 * g->tol < 0.2 * (double)len && fabs(n - round(n)) < 0.2
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

/* Sectors of a whole track as the piece from edge i on shows, 0: it does not. */
static uint64_t reported_by(const struct geo *g, const struct geo_edge *edge, size_t i)
{
	uint64_t len = edge[i + 1].first - edge[i].first;

	return (double)len * edge[i].after < 0.5 ? whole_piece(g, edge[i].after, len) : whole_track(g, edge[i].after);
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
			                                      (!whole && (double)len * edge[i].after < PART) };
	}
	return m;
}

/* ---- sectors that nobody can address ---- */

/* Sectors that a track has and nobody can address: spares at its end. Seen from the ends of tracks alone they belong
 * to the skew. But the sectors that can be read are only as wide as their track has room for: over n of them the angle
 * grows by n parts of a whole track. One pair of sectors says that as well as noise lets it; many pairs of several
 * tracks together say it to a fraction of a sector. */

/* Of all tracks: one batch, as each time that a track is read again takes reads elsewhere before. */
#define PAIRS (GEO_BATCH / 2)
/* Of a track: pairs begin so far from its ends at least, so that no angle strays over a whole turn. */
#define APART    0.06
#define REACH    0.25 /* of it: no pair is closer together than half of a track, where it says little */
#define FINE     0.2  /* of a sector: a standard error by which one sector more or less is certain */
#define FORESEEN 0.1  /* the same, by the noise of the rotation: half of it, as that is of what is best */
#define NEAR     0.4  /* so near must the mean be to a whole number */
#define SURE     3.0  /* deviations */
#define FEWEST   10   /* pairs */
#define LARGEST  256  /* sectors of a track: larger ones, which later drives have, spare nothing in each */

struct pair {
	uint64_t low, high;
};

/* Of each track in turn, from its ends inwards. */
static size_t choose(const struct geo_track *track, size_t n, uint64_t size, struct pair *ret)
{
	uint64_t first = (uint64_t)(APART * (double)size), room = (uint64_t)(REACH * (double)size) - first, step;
	size_t usual = 0, m = 0, each;

	for (size_t i = 0; i < n; i++) {
		if (track[i].sectors != size || track[i].per_track != size || track[i].is_doubtful)
			continue;
		if (track[i].is_sure) /* the spacing alone shows it already */
			return 0;
		usual++;
	}
	each = usual ? PAIRS / usual : 0;
	step = each && room > each ? room / each : 1;
	for (size_t i = 0; i < n; i++) {
		if (track[i].sectors != size || track[i].per_track != size || track[i].is_doubtful)
			continue;
		for (uint64_t k = 0; k < each && k * step < room; k++)
			ret[m++] = (struct pair){ track[i].first + first + k * step,
				                  track[i].first + size - 1 - first - k * step };
	}
	return m;
}

static double angle_of(const uint64_t *sector, const double *angle, size_t n, uint64_t wanted)
{
	for (size_t i = 0; i < n; i++)
		if (sector[i] == wanted)
			return angle[i];
	return NAN;
}

/* Will it show them? Else the reads are better spent on the walk, as where the cache has to forget all behind each few
 * of them. */
static bool is_worth_it(const struct geo *g, uint64_t size, size_t pairs)
{
	return size <= LARGEST && !(geo_kept_has_below(&g->kept) && geo_flush_cost(g) > GEO_VERY_DEAR) &&
	       1.2533 * g->rot.noise_ns / g->rot.period_ns * (double)size / sqrt((double)pairs) < FORESEEN;
}

int geo_spare(struct geo *g, const struct geo_track *track, size_t n, uint64_t size, struct geo_spare *ret,
              struct err *err)
{
	struct pair pair[PAIRS];
	uint64_t sector[GEO_BATCH];
	double angle[GEO_BATCH], more[PAIRS];
	size_t m = choose(track, n, size, pair), seen = 0;
	struct summary s;
	int r;

	*ret = (struct geo_spare){ .error = INFINITY };
	if (m < FEWEST || !is_worth_it(g, size, m))
		return 0;
	for (size_t i = 0; i < m; i++) {
		sector[2 * i] = pair[i].low;
		sector[2 * i + 1] = pair[i].high;
	}
	qsort(sector, 2 * m, sizeof(sector[0]), geo_down);
	r = geo_probe(g, sector, angle, 2 * m, err);
	for (size_t i = 0; i < m && r == 0; i++) {
		double turn = geo_frac(angle_of(sector, angle, 2 * m, pair[i].high) -
		                       angle_of(sector, angle, 2 * m, pair[i].low));

		if (turn > REACH)
			more[seen++] = (double)(pair[i].high - pair[i].low) / turn - (double)size;
	}
	geo_forget(g); /* one of that many is late, now and then, and what comes next would stand on it */
	if (r < 0 || seen < FEWEST || !summary_of(more, seen, &s))
		return r;
	ret->more = s.median;
	ret->error = summary_median_error(&s);
	ret->sectors = (uint64_t)fmax(0.0, round(s.median));
	ret->is_sure = ret->error < FINE && fabs(s.median - (double)ret->sectors) < NEAR;
	ret->most = (uint64_t)fmax(0.0, round(s.median + SURE * ret->error));
	return 0;
}
