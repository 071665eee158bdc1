/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layouts, and the shortest accesses that tell them apart. Behind order.h. Not a door. */
#ifndef PLATTER_MEASURE_GEOMETRY_LAYOUT_H
#define PLATTER_MEASURE_GEOMETRY_LAYOUT_H

#include "measure/geometry/order.h"

/* ---- shapes.c ---- */

#define GEO_SHAPES_MAX                                                                                               \
	320 /* that are kept at a time, half of them until each has its ways of the arm; the dear ones go when it is \
	       full */

/* Layouts that explain the sequence at about the least cost, the cheapest first; ret: GEO_SHAPES_MAX. How many. */
size_t geo_shapes(struct geo *g, struct geo_order *o, struct geo_shape *ret, double *ret_cost);
/* Figure layout. */
void geo_tell_layout(struct result *res, const struct geo_shape *shape);
/* A notice: whether heads alternate was not seen, so that it is told as if they did not. */
void geo_say_turning_is_hidden(struct result *res);
/* The same but for whether every second band goes through the heads backwards. */
bool geo_is_turned(const struct geo_shape *a, const struct geo_shape *b);

/* That of most tracks, the first of them; NULL: there is no zone. */
const struct geo_fit_zone *geo_longest_zone(const struct geo_fit *fit);
/* How long the longest zone is, if what lies behind it has the same sizes on the same surfaces: as long as a band. 0:
 * it has not. */
uint64_t geo_band_behind(const struct geo_fit *fit);

/* ---- access.c ---- */

struct geo_profile_row {
	uint64_t distance_tracks;
	double access_ns, resolution_ns;
	uint64_t first_byte;
};

extern const struct field geo_profile_fields[];

struct geo_spot { /* a track */
	uint64_t first, sectors;
	double angle;
};

struct geo_pair {
	struct geo_spot from, to; /* first and sectors are given */
	uint64_t distance;        /* tracks, for the table */
	double access, error;     /* revolutions; NaN: could not be found. error: a standard deviation */
	double aim;               /* while it is searched for */
	bool is_done;
	int stuck;
};

/* The shortest access of each pair. from, to: the part of the whole run that this is. *ret_scatter: of single accesses,
 * revolutions. */
int geo_shortest(struct geo *g, struct geo_pair *pair, size_t n, double from, double to, double *ret_scatter,
                 struct err *err);

/* ---- threshold.c ---- */

#define GEO_LOOKS     28  /* accesses of a pair: halving comes to the scatter in 10, the rest is for late ones */
#define GEO_TURNS_MAX 4.0 /* revolutions: no shortest access is longer */

/* Accesses of one pair that were aimed: how many revolutions each took. */
struct geo_looks {
	double turns[GEO_LOOKS];
	size_t n;
};

/* Accesses that are longer are made; evidence: how well that explains the looks (a log-likelihood). */
struct geo_border {
	double at, error, evidence;
};

/* scatter: of the time that a single access takes. */
struct geo_border geo_border(const struct geo_looks *looks, double scatter);
/* The deviation of single accesses that explains the looks of all pairs best. */
double geo_scatter(const struct geo_looks *looks, size_t n);

/* ---- layout.c ---- */

struct geo_layout {
	struct geo_shape shape;
	struct geo_fit *fit;    /* the zones of the best shape; NULL: none that explains the tracks */
	bool is_told;           /* the figures are */
	bool is_messy;          /* it leaves too much unexplained */
	bool is_mended;         /* by accesses: in between, which track is on which surface is not known */
	bool is_turning_said;   /* that heads alternate, or not, by accesses */
	bool is_turning_hidden; /* they may or may not, for all that is known */
};

/* Figures surfaces, layout, confidence, or a notice. ret->fit is the caller's to free. */
int geo_layout(struct geo *g, struct geo_order *o, struct geo_layout *ret, struct err *err);

/* ---- settle.c ---- */

/*
 * Of a layout that is told, and its zones: if all that was walked says for certain that heads alternate, or do not, it
 * is told and read that way; where it makes no difference, a notice says so, and a surface is one of two. (Drives of
 * which all surfaces are alike are rare since the density of each is set apart.)
 */
void geo_settle_turning(struct geo *g, struct geo_order *o, struct geo_layout *l);

/* Of a layout in which a zone is one band, and all that was walked: if it says how long bands are, it is told and read
 * that way; if only that zones are longer, the layout is not told any more. */
void geo_settle_band(struct geo *g, struct geo_order *o, struct geo_layout *l);

#endif
