/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seek curve: when the head is there (overhead and seek), against the part of the stroke. Two pieces are fitted to
 * points (stats/seekfit.c), and what they leave is smoothed (stats/smooth.c). Of writes with few points it is the curve
 * of the reads and what they take more.
 */
#ifndef PLATTER_MODEL_CURVE_H
#define PLATTER_MODEL_CURVE_H

#include "stats/stats.h"

#define CURVE_CELLS  64
#define CURVE_POINTS 48

struct curve_point {
	double stroke;            /* part of it */
	struct stats_estimate at; /* ns */
};

struct curve_fit_ci {
	struct interval a, b, c, e, knee;
};

struct curve {
	bool is_known;
	bool falls; /* far seeks take less than near ones, which one arm's do not: it is not known then */
	struct seek_fit fit;
	struct curve_fit_ci fit_ci;
	double misfit_ns;           /* of the two pieces, beside what the points are not known */
	double smooth[CURVE_CELLS]; /* beside the fit, at curve_cell() */
	double rms_ns;              /* of the points about the smooth curve */
	struct stats_estimate average;
	bool is_by_reads;
	double more_ns, more_se; /* beyond the reads' then; NaN else */
};

/* The fit alone. reads: of writes, the curve of the reads; NULL: there is none. */
struct curve curve_fit(const struct curve_point *p, size_t n, double period, const struct curve *reads);
/* The rest. place_off: parts of the stroke that a place may be off. has_intervals: how sure the fit is, and with it the
 * average, is wanted. */
void curve_smooth(struct curve *c, const struct curve_point *p, size_t n, double place_off, const struct curve *reads,
                  bool has_intervals);
double curve_at(const struct curve *c, double stroke); /* 0 for 0 */
double curve_cell(size_t cell);                        /* part of the stroke */
/* What a point says of another part of the stroke, near it. */
struct stats_estimate curve_moved(const struct curve *c, const struct curve_point *p, double stroke, double place_off);

#endif
