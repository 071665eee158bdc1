/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many tracks zones have: with several surfaces as many on each, so whole cylinders. Where surfaces are alike, and
 * an arm that settles slowly takes as long to the next cylinder as to another head, neither sizes nor skews nor
 * accesses tell two surfaces from one, but a half of the zones of one surface have an odd number of tracks.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/geometry/search.h"

#define HIDDEN 0.05 /* of zones may lack a track where it is not seen */
#define SEEN_LEAST                                                                                              \
	2 /* surfaces whose sizes come again behind a band: one alone may be a zone that another one follows (a \
	     choice) */
#define NEARLY 16 /* part of a band: so many tracks a surface may seem to have more or fewer */

/* The zones that begin and end for certain, of which no track is without data; how many tracks each has. */
static size_t lengths_of(const struct geo_fit *one, uint64_t *ret)
{
	size_t n = 0;

	for (size_t i = 1; i + 1 < one->n; i++) {
		const struct geo_fit_zone *z = &one->zone[i];

		if (z[0].margin >= GEO_SURE && z[1].margin >= GEO_SURE && z[1].cylinder - z[0].cylinder == z[0].tracks)
			ret[n++] = z[0].tracks;
	}
	return n;
}

/* How much less likely these are with so many surfaces than with one; as many spare tracks in each may be hidden. */
static double against(const uint64_t *length, size_t n, uint32_t heads)
{
	double chance = 1.0 / heads, least = INFINITY;

	for (uint32_t spare = 0; spare < heads; spare++) {
		double sum = 0.0;

		for (size_t i = 0; i < n; i++)
			sum += log(chance / (length[i] % heads == spare ? 1.0 - HIDDEN : HIDDEN / (heads - 1)));
		least = fmin(least, sum);
	}
	return least;
}

double geo_lengths_speak_against(const struct geo_fit *one, uint32_t heads)
{
	uint64_t length[GEO_ZONES_MAX];
	size_t n = lengths_of(one, length);

	return heads > 1 ? fmax(0.0, against(length, n, heads)) : 0.0;
}

double geo_lengths_speak_for_several(const struct geo_fit *one)
{
	uint64_t length[GEO_ZONES_MAX];
	size_t n = lengths_of(one, length);
	double most = 0.0;

	for (uint32_t heads = 2; heads <= GEO_HEADS; heads++)
		most = fmax(most, -against(length, n, heads) - log(heads)); /* the spare ones were chosen to suit */
	return most;
}

/* ---- zones that are as long as each other ---- */

/* All but the last, which goes on; a disk whose first band is not over looks like that. */
static bool are_equally_long(const struct geo_fit *one)
{
	uint64_t first = one->zone[0].tracks, off = first / NEARLY + 1;

	for (size_t i = 1; i < one->n; i++)
		if (one->zone[i].tracks > first + off || (i + 1 < one->n && one->zone[i].tracks + off < first))
			return false;
	return one->n > 1 && first <= GEO_BAND_MOST;
}

/* Where a track lies if each zone is a surface of one band. */
struct place {
	size_t head;
	uint64_t cylinder;
};

static struct place place_of(const struct geo_fit *one, uint64_t track, bool is_serpentine)
{
	uint64_t band = one->zone[0].tracks, at;
	size_t k = one->n - 1;

	while (k && one->zone[k].track > track)
		k--;
	at = track - one->zone[k].track;
	at = at < band ? at : band - 1;
	return (struct place){ k, is_serpentine && k % 2 ? band - 1 - at : at };
}

/* Accesses as one surface has them, and as a band has; from which track to which. */
struct crossing {
	size_t n;
	struct geo_access one[GEO_MADE_MOST + GEO_PAIRS], of[GEO_MADE_MOST + GEO_PAIRS];
	uint64_t track[GEO_MADE_MOST + GEO_PAIRS][2];
};

static void collect(const struct geo_search *s, struct crossing *c)
{
	memcpy(c->one, s->made + (size_t)GEO_SHAPES_MAX * GEO_MADE_MOST, s->nmade * sizeof(c->one[0]));
	memcpy(c->track, s->made_at, s->nmade * sizeof(c->track[0]));
	c->n = s->nmade + geo_side_by_side(s, c->one + s->nmade, c->track + s->nmade);
}

static double speaks_against_band(struct crossing *c, const struct geo_curve *curve, const struct geo_fit *zones,
                                  bool is_serpentine)
{
	for (size_t i = 0; i < c->n; i++) {
		struct place a = place_of(zones, c->track[i][0], is_serpentine),
			     b = place_of(zones, c->track[i][1], is_serpentine);

		c->of[i] = c->one[i];
		c->of[i].cylinders = a.cylinder > b.cylinder ? a.cylinder - b.cylinder : b.cylinder - a.cylinder;
		c->of[i].is_other_head = a.head != b.head;
	}
	return geo_speaks_against(c->of, c->one, c->n, curve);
}

double geo_crossings_speak_against_band(const struct geo_search *s, const struct geo_fit *one)
{
	cleanup_free struct crossing *c = NULL;
	struct geo_curve curve;

	if (!are_equally_long(one))
		return INFINITY;
	c = malloc(sizeof(*c));
	if (!c)
		return 0.0;
	collect(s, c);
	curve = geo_curve_of(c->one, c->n);
	return fmin(speaks_against_band(c, &curve, one, false), speaks_against_band(c, &curve, one, true));
}

/* The same sizes, as far as both are seen. */
static bool has_same_sizes(const struct geo_fit_zone *a, const struct geo_fit_zone *b)
{
	size_t seen = 0;

	for (size_t k = 0; k < GEO_HEADS; k++) {
		if (a->size[k] && b->size[k] && a->size[k] != b->size[k])
			return false;
		seen += a->size[k] && b->size[k];
	}
	return seen >= SEEN_LEAST;
}

const struct geo_fit_zone *geo_longest_zone(const struct geo_fit *fit)
{
	const struct geo_fit_zone *longest = NULL;

	for (size_t i = 0; i < fit->n; i++)
		if (!longest || fit->zone[i].cylinders > longest->cylinders)
			longest = &fit->zone[i];
	return longest;
}

uint64_t geo_band_behind(const struct geo_fit *fit)
{
	const struct geo_fit_zone *z = geo_longest_zone(fit);

	return z && z + 1 < fit->zone + fit->n && has_same_sizes(z, z + 1) ? z->cylinders : 0;
}
