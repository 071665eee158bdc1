/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the walk: walk.c, leap.c, confirm.c, found.c. Not a door. */
#ifndef PLATTER_MEASURE_GEOMETRY_WALK_H
#define PLATTER_MEASURE_GEOMETRY_WALK_H

#include "measure/geometry/tracks.h"

/* ---- found.c ---- */

/* Into what the walk goes on by: the last runs. */
void geo_walk_remember(struct geo_walk *w, const struct geo_run *run);
/* As the last of the items; its runs are copied. */
void geo_walk_add(struct geo_walk *w, const struct geo_item *item);
/* As the last of the gaps. */
void geo_walk_add_gap(struct geo_walk *w, struct geo_gap gap);

#define GEO_LONG_RUN 8    /* tracks of a run that says something by itself */
#define GEO_PIECE    0.75 /* of the track before: no surface or zone holds so much less */

/* ---- confirm.c ---- */

#define GEO_CONFIRM                                                                                               \
	60 /* ends of items are looked at a second time together, as reading a sector again takes reads elsewhere \
	      before */

/* A second look at the ends of so many items. Behind one whose end is none the walk goes on from its begin again, and
 * what was found behind it is for later. */
int geo_walk_confirm(struct geo_walk *w, struct err *err);
/* Takes over what was found later from w->at on, as far as its ends were seen twice; and forgets what the walk has
 * passed. */
int geo_walk_take_later(struct geo_walk *w, struct err *err);

/* ---- leap.c ---- */

#define GEO_ADVANCE_SURE 0.05 /* of a revolution: as far as a leap's angle may be uncertain */

/* What is tried as a whole. */
struct geo_leap {
	uint64_t sectors, tracks;
	double advance, error; /* of the angle, by jumps; what is unknown of it, falling as the way grows that it is
	                          known from: */
	uint64_t total;        /* so many times that was seen already */
	double jump;           /* at its end */
	double after;          /* spacing behind it */
	/* A cycle's runs, of which the ends are looked at as well: sizes in another order have the same sum. */
	const struct geo_item *inside;
	bool is_known; /* it was found so at least once */
};

/* Angle of the sector behind an edge, and the jump there; see leap.c. */
int geo_edge_angles(struct geo *g, uint64_t edge, double after, double jump, double before, double *ret_angle,
                    double *ret_jump, struct err *err);
/* Of one size and jump? */
bool geo_same_run(const struct geo *g, const struct geo_run *a, const struct geo_run *b);
/* So many of these at once; *ret_ok: it ended where it should, and the walk is there now. */
int geo_try_leap(struct geo_walk *w, struct geo_leap *l, uint64_t k, bool *ret_ok, struct err *err);
/* As often as it goes; how often that is. */
int geo_gallop(struct geo_walk *w, struct geo_leap *l, uint64_t *ret_n, struct err *err);

#endif
