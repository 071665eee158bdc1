/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is told of zones and surfaces. Behind layout.h. Not a door. */
#ifndef PLATTER_MEASURE_GEOMETRY_TELL_H
#define PLATTER_MEASURE_GEOMETRY_TELL_H

#include "measure/geometry/layout.h"

/* ---- zones.c ---- */

struct geo_zone {
	size_t first_item, end_item;
	size_t best; /* the item with the longest stretch without trouble */
	uint64_t size[GEO_RUNS];
	size_t nsizes;   /* of its tracks, in the order of the surfaces; 1: all are equal */
	bool is_unclear; /* it may belong to a neighbour */
};

struct geo_zone_row {
	uint64_t first_byte, last_byte, sectors_per_track;
	double skew_ratio;
	uint64_t surface, tracks, missing;
	const char *certainty;
};

extern const struct field geo_zone_fields[];
/* Heap array; how many. */
size_t geo_zones(struct geo_walk *w, struct geo_zone **ret);
struct geo_layout;
/* Is where this zone of the layout begins or ends, or the layout itself, not certain? */
bool geo_fit_is_unclear(const struct geo_walk *w, const struct geo_layout *layout, size_t i);
/* Rows from a layout; how many zones are unclear. */
size_t geo_fit_rows(struct geo_walk *w, const struct geo_layout *layout, uint64_t end);
/* The same from what the walk found. end: the sector behind the last zone. */
size_t geo_zone_rows(struct geo_walk *w, const struct geo_zone *zone, size_t n, uint64_t end,
                     const struct geo_layout *layout);

/* ---- heads.c ---- */

#define GEO_NOWHERE UINT32_MAX /* no surface that is told */

/* What lies where, as far as a layout is told and zones are sure. */
struct geo_map {
	struct geo_walk *w;
	struct geo_order *o;
	const struct geo_layout *layout;
	uint32_t *head; /* of each track, or GEO_NOWHERE */
	bool *is_sure;  /* of each zone of the layout */
	struct geo_hole *hole;
	size_t nholes;
	bool are_surfaces; /* the disk's; else those of the first of several arms */
};

/* Tables heads, surfaces and defects. */
int geo_map_rows(struct geo_walk *w, struct geo_order *o, const struct geo_layout *layout, struct err *err);

/* ---- defects.c ---- */

extern const struct field geo_surface_fields[], geo_defect_fields[];

#define GEO_DEFECTS_PART 0.012 /* of the budget: for a second look at the ends of tracks that lack something, */
#define GEO_DEFECTS_AT   0.985 /* so the walk ends before, also where rates are not read */

/* Does the angle jump by what was seen there before, or by as much more as the track lacks, which may be at its begin
 * or its end? */
bool geo_jumps_as_seen(double jump, double seen, double lack, double near);
/*
 * Does the angle say that a track is passed over? It jumps as it was seen to, by more or less than between two tracks
 * of the zone, and behind the next one as between any two: a track that lies askew for itself jumps back.
 */
bool geo_passes_track(const struct geo_fit_zone *z, double jump, double seen, double behind, double near);
/* What is missing, sure where a second look found both ends of the track (or, of one that is missing, the jump), and
 * the surfaces with how much of it each has. */
int geo_defect_rows(const struct geo_map *m, struct err *err);

#endif
