/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time to the next cylinder, from accesses over few tracks. Of two places a few tracks apart some lie on one
 * surface, and the actuator moves; some do not, and a change of heads takes longer than the arm, or is all that
 * happens. Which of the two takes longer is not known beforehand, nor how tracks follow each other. Nor is the power of
 * the distance by which the arm's time grows, up to a farther move that the curve knows. All these are one posterior.
 */
#pragma once

#include "stats/stats.h"

#define NEAR_PAIRS 256

struct near_pairs {
	struct near_pair { /* what a pair of places says by itself */
		uint64_t tracks;
		double ns, se;
	} v[NEAR_PAIRS];
	size_t n;
};

struct near_prior {
	double fitted, scale;   /* of Student's law with four degrees of freedom */
	double far, far_tracks; /* when it is there over these tracks, by the curve */
	double least;           /* no head is there sooner */
};

/* pairs: one at least. */
struct stats_estimate near_next_cylinder(const struct near_pairs *pairs, const struct near_prior *prior);
