/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time to the next cylinder, from accesses over few tracks. Of two places a few tracks apart some lie on one
 * surface, and the actuator moves; some do not, and a change of heads takes longer than the arm, or is all that
 * happens. Which of the two takes longer is not known beforehand, nor how tracks follow each other. So both times, how
 * many of the accesses are which, and how the arm's grow with the distance are one posterior, for which the curve is
 * what is believed first.
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
	double fitted, scale; /* of Student's law with four degrees of freedom */
	double rise;          /* of the arm's time with the root of the cylinders, of one surface */
	double least;         /* no head is there sooner */
};

struct stats_estimate near_next_cylinder(const struct near_pairs *pairs, const struct near_prior *prior);
