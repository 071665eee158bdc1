/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the geometry, for the model's own files (geometry.c, disk*.c, truth.c). The door is model.h. */
#pragma once

#include "model.h"

struct geo_zone {
	uint64_t first_slot, slots; /* slots of the zone */
	uint64_t first_track, tracks;
	uint64_t band_slots;  /* of a full band */
	uint64_t first_spare; /* slot of the first spare track; the zone's end when there is none */
	uint32_t first_cylinder, cylinders;
	uint32_t band; /* cylinders of a full band */
	uint32_t bands;
	uint32_t heads;                                 /* surfaces in use */
	uint32_t surface[PROFILE_SURFACES_MAX];         /* of head h */
	uint32_t spt[PROFILE_SURFACES_MAX];             /* of head h */
	uint32_t before[PROFILE_SURFACES_MAX + 1];      /* sum of spt of the heads before h */
	uint32_t before_back[PROFILE_SURFACES_MAX + 1]; /* the same with the heads in reverse order */
	bool tracks_alternate, heads_alternate;
	double angle;                          /* of its first track */
	double head_skew, cyl_skew, next_skew; /* next_skew: to the next band */
	double band_advance;                   /* angle from a full band's first track to the next band's */
};

/* A run of slots without data. */
struct geo_skip {
	uint64_t first, count; /* slots */
	uint64_t before;       /* skipped slots before it */
};

/* A sector that lies elsewhere: on a slot that is skipped. */
struct geo_remap {
	uint64_t sector, slot;
};

struct geometry {
	const struct profile *p;
	struct geo_zone *zones;
	size_t nzones;
	struct geo_skip *skips;
	size_t nskips;
	struct geo_remap *remaps; /* by sector */
	size_t nremaps;
	uint64_t slots, sectors, lbas, tracks;
	uint32_t cylinders, ratio; /* logical sectors in a physical one */
	double period_ns;
	double head_switch_ns;
	bool has_track_off;
	struct geometry *arm[2]; /* of a disk with two: each arm's part of it; NULL: there is one */
	struct profile arm_profile[2];
	double *zone_revolutions; /* truth.c's memory of what takes long: through all of a zone; NaN: not yet known */
};

#define ANGLE_SLACK_NS 2.0 /* rounding of completions to ns must not cost a revolution */

static inline double geo_frac(double x)
{
	return x - __builtin_floor(x);
}

uint64_t geo_slot(const struct geometry *g, uint64_t sector);
void geo_slot_place(const struct geometry *g, uint64_t slot, struct place *ret);
const struct geo_zone *geo_zone_of_slot(const struct geometry *g, uint64_t slot);
/* Number of skipped slots in [0, slot). */
uint64_t geo_skipped_before(const struct geometry *g, uint64_t slot);

/* As geometry_move_ns, and how it scatters. */
double geometry_move(const struct geometry *g, const struct place *a, const struct place *b,
                     struct scatter *ret_scatter);

/* Slot of a sector of a track; UINT64_MAX when there is no such one. */
uint64_t geo_slot_of(const struct geometry *g, uint32_t cylinder, uint32_t surface, uint32_t sector);

/* ---- arms.c ---- */

bool arms_fill(struct geometry *g); /* false: out of memory */
void arms_place(const struct geometry *g, uint64_t sector, struct place *ret);
/* What lies on one of two arms of these bytes, in its own bytes; as much as nothing when first == end. */
void geometry_on_arm(const struct geometry *g, size_t arm, uint64_t first_byte, uint64_t end_byte, uint64_t *ret_first,
                     uint64_t *ret_end);
double arms_stream_ns(const struct geometry *g, uint64_t first_byte, uint64_t end_byte);
size_t arms_zones(const struct geometry *g, bool is_streamed, struct truth_zone *ret, size_t max);
void arms_random(const struct geometry *g, uint64_t first_byte, uint64_t end_byte, uint32_t len_bytes,
                 struct truth_random *ret);

/* ---- defects.c: both while the geometry is made; false: out of memory ---- */

bool defects_skip(struct geometry *g);
bool defects_remap(struct geometry *g);
size_t defects_remapped_before(const struct geometry *g, uint64_t sector);

/* Revolutions from now (angle now, 0 <= now) until the head is over `angle`; slack: how much too late still counts as
 * in time. */
static inline double geo_wait(double now, double angle, double slack)
{
	double w = geo_frac(angle - now);

	return w > 1.0 - slack ? w - 1.0 : w;
}
