/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many tracks zones have: with several surfaces as many on each, so whole cylinders. Where surfaces are alike, and an arm that settles slowly takes as long to the next cylinder as to another
 * head, neither sizes nor skews nor accesses tell two surfaces from one, but a half of the zones of one surface have an odd number of tracks.
 */
#include <math.h>

#include "measure/geometry/search.h"

#define HIDDEN 0.05 /* of zones may lack a track where it is not seen */

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

double geo_lengths_speak_against(const struct geo_fit *one, uint32_t heads)
{
	uint64_t length[GEO_ZONES_MAX];
	double chance = 1.0 / heads, least = INFINITY;
	size_t n = lengths_of(one, length);

	/* As many spare tracks in each may be hidden. */
	for (uint32_t spare = 0; spare < heads && heads > 1; spare++) {
		double against = 0.0;

		for (size_t i = 0; i < n; i++)
			against += log(chance / (length[i] % heads == spare ? 1.0 - HIDDEN : HIDDEN / (heads - 1)));
		least = fmin(least, against);
	}
	return isfinite(least) && least > 0.0 ? least : 0.0;
}
