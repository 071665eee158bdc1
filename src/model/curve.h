/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seek curve: when the head is there (overhead and seek), against the part of the stroke: a smooth curve through
 * points about a root and a line that meet (stats/smooth.c), of which little is known beforehand. All that is asked of
 * it, a place or a mean, is with its uncertainty.
 */
#pragma once

#include "stats/stats.h"

#define CURVE_CELLS      64
#define CURVE_POINTS     48
#define CURVE_TURNS_MOST 8.0 /* revolutions: no arm takes longer */

struct curve_point {
	double stroke;            /* part of it */
	struct stats_estimate at; /* ns */
};

struct curve {
	bool is_known;
	bool falls; /* far seeks take less than near ones, which one arm's do not: it is not known then */
	double time[CURVE_CELLS], se[CURVE_CELLS]; /* at curve_cell() */
	double rms_ns;                             /* of the points about it */
	struct stats_estimate average;             /* over uniform pairs of cylinders */
};
#define CURVE_UNKNOWN ((struct curve){ .average = STATS_UNKNOWN })

/* place_off: parts of the stroke that a place may be off. */
struct curve curve_of(const struct curve_point *p, size_t n, double period, double place_off);
double curve_at(const struct curve *c, double stroke); /* 0 for 0 */
struct stats_estimate curve_about(const struct curve *c, double stroke);
/* What a point says of another part of the stroke, near it. */
struct stats_estimate curve_moved(const struct curve *c, const struct curve_point *p, double stroke, double place_off);
double curve_cell(size_t cell); /* part of the stroke */
