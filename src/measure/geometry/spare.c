/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sectors that a track has and nobody can address: spares at its end. Seen from the ends of tracks alone they belong to
 * the skew. But the sectors that can be read are only as wide as their track has room for: over n of them the angle
 * grows by n parts of a whole track. One pair of sectors says that as well as noise lets it; many pairs of several
 * tracks together say it to a fraction of a sector.
 */
#include <math.h>
#include <stdlib.h>

#include "measure/geometry/walk.h"

#define PAIRS        \
	(GEO_BATCH / \
	 2) /* of all tracks: one batch, as each time that a track is read again takes reads elsewhere before */
#define APART \
	0.06 /* of a track: pairs begin so far from its ends at least, so that no angle strays over a whole turn */
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
		if (track[i].is_sure) /* the spacing alone tells it already */
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

/* Will it tell? Else the reads are better spent on the walk, as where the cache has to forget all behind each few of
 * them. */
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
	geo_forget(g); /* one of so many is late, now and then, and what comes next would stand on it */
	if (r < 0 || seen < FEWEST || !summary_of(more, seen, &s))
		return r;
	ret->more = s.median;
	ret->error = summary_median_error(&s);
	ret->sectors = (uint64_t)fmax(0.0, round(s.median));
	ret->is_sure = ret->error < FINE && fabs(s.median - (double)ret->sectors) < NEAR;
	ret->most = (uint64_t)fmax(0.0, round(s.median + SURE * ret->error));
	return 0;
}
