/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lacks.h"

#include <math.h>
#include <string.h>

#include "geometry.h"

/* First slot of the track that this one is in. */
static uint64_t begin_of_track(const struct geometry *g, uint64_t slot, struct place *ret)
{
	geo_slot_place(g, slot, ret);
	return slot - ret->sector;
}

/* Slots of [first, first + n) without data. */
static uint64_t lacking(const struct geometry *g, uint64_t first, uint64_t n)
{
	return geo_skipped_before(g, first + n) - geo_skipped_before(g, first);
}

/* A whole track without data on that surface, between the two slots. */
static bool is_track_between(const struct geometry *g, uint64_t from, uint64_t to, double missing, double surface)
{
	struct place place;

	for (uint64_t slot = from; slot < to; slot += place.spt) {
		slot = begin_of_track(g, slot, &place);
		if (slot >= from && slot + place.spt <= to && (isnan(surface) || place.surface == surface) &&
		    place.spt == missing)
			return true;
	}
	return false;
}

const char *lacks_wrong(const struct geometry *g, double first_byte, double missing, double surface, const char *kind)
{
	uint64_t sector = (uint64_t)first_byte / g->p->physical_sector_bytes;
	uint64_t slot, before, begin;
	struct place place;

	if (!(sector < g->sectors && missing > 0.0))
		return "there is no such place";
	slot = geo_slot(g, sector);
	before = sector ? geo_slot(g, sector - 1) + 1 : 0;
	if (strcmp(kind, "track") == 0)
		return is_track_between(g, before, slot, missing, surface) ? NULL : "no such track is missing there";
	begin = begin_of_track(g, slot, &place);
	if (isfinite(surface) && place.surface != surface)
		return "another surface";
	if (strcmp(kind, "sectors") == 0)
		return begin < before && (double)(slot - before) == missing ? NULL : "another number is missing there";
	if (begin < before)
		return "no track begins there";
	return (double)lacking(g, begin, place.spt) >= missing ? NULL : "its track lacks another number";
}

struct lacks lacks_count(const struct geometry *g, uint64_t end_byte)
{
	uint64_t end = end_byte / g->p->physical_sector_bytes, last = UINT64_MAX;
	struct lacks n = { 0, 0 };

	for (size_t i = 0; i < g->nskips; i++) {
		const struct geo_skip *s = &g->skips[i];
		struct place place;
		uint64_t begin;

		for (uint64_t slot = s->first; slot < s->first + s->count; slot = begin + place.spt) {
			uint64_t empty;

			begin = begin_of_track(g, slot, &place);
			empty = lacking(g, begin, place.spt);
			if (slot - s->before > end ||
			    begin == last) /* about the sector there: what is missing is little */
				continue;
			last = begin;
			n.tracks += empty < place.spt;
			n.empty += empty == place.spt;
		}
	}
	return n;
}
