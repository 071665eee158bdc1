/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is reported of zones and surfaces. Behind layout.h. Not a door. */
#pragma once

#include "measure/geometry/layout.h"

/* ---- zones.c ---- */

struct geo_zone_row {
	uint64_t first_byte, last_byte, sectors_per_track;
	double skew_ratio;
	uint64_t surface, tracks, missing;
	const char *certainty;
};

extern const struct field geo_zone_fields[];
/* Is where this zone of the layout begins or ends, or the layout itself, not certain? */
bool geo_fit_is_unclear(const struct geo_walk *w, const struct geo_layout *layout, size_t i);
/* Rows from a layout; how many zones are unclear. */
size_t geo_fit_rows(struct geo_walk *w, const struct geo_layout *layout, uint64_t end);
/* The same from what the walk found, of no layout. end: the sector behind the last zone. */
size_t geo_walk_rows(struct geo_walk *w, uint64_t end);

/* ---- map.c ---- */

/* What lies where, as far as a layout is reported and zones are sure. */
struct geo_map {
	struct geo_walk *w;
	struct geo_order *o;
	const struct geo_layout *layout;
	uint32_t *head; /* of each track, UINT32_MAX: on none that is reported */
	uint64_t *cylinder;
	bool *is_sure; /* of each zone of the layout */
	struct geo_hole *hole;
	size_t nholes;
	bool are_surfaces; /* the disk's; else those of the first of several arms */
};

/* Tables heads and defects. */
int geo_map_rows(struct geo_walk *w, struct geo_order *o, const struct geo_layout *layout, struct err *err);

/* What is missing, as far as that is sure. */
int geo_defect_rows(const struct geo_map *m, struct err *err);

extern const struct field geo_defect_fields[];

#define GEO_DEFECTS_PART                                                                     \
	0.012 /* of the budget: for a second look at the ends of tracks that lack something; \
	       * the walk ends before, also where rates are not read */

/* Does the angle jump by what was seen there before, or by as much more as the track lacks, which may be at its begin
 * or its end? */
bool geo_jumps_as_seen(double jump, double seen, double lack, double near);
