/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A document of `geometry` against a disk: zones reported as sure, defects, the layout. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lacks.h"
#include "measure/shared/heads.h"
#include "visible.h"
#include "wildjudge.h"

static bool has_equal_tracks(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "sectors_per_track"), json_object_get(b, "sectors_per_track")) != 0;
}

static bool has_size(const json_t *zone, double size)
{
	const json_t *sizes = json_object_get(zone, "sectors_per_track"), *v;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)sizes, i, v) if (json_number_value(v) == size) return true;
	return false;
}

/* It begins where a zone does, no edge that can be seen is inside, and its tracks are as large. */
static const char *wrong_zone(const struct judge *j, double first, double last, double size)
{
	const json_t *zones = json_object_get(j->c->truth, "zones"), *zone, *before = NULL, *middle = NULL;
	bool begins = false, is_whole = true;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)zones, i, zone)
	{
		double edge = wild_number(zone, "first_byte");

		begins = begins || edge == first || (i == 0 && first == 0);
		is_whole = is_whole && !(before && !has_equal_tracks(before, zone) && edge > first && edge <= last);
		if (edge <= (first + last) / 2)
			middle = zone;
		before = zone;
	}
	if (!begins)
		return "no zone begins there";
	if (!is_whole)
		return "another zone begins within";
	return isnan(size) || has_size(middle, size) ? NULL : "it has no such tracks";
}

static void sure_zones(struct judge *j)
{
	for (struct wild_row row = wild_begin(j->c->doc, "zones"); wild_next(&row);) {
		const char *certainty = wild_word(&row, "certainty"), *wrong;
		double first = wild_at(&row, "first_byte");
		double last = wild_at(&row, "last_byte");
		double size = wild_at(&row, "sectors_per_track");

		if (!certainty || strcmp(certainty, "sure") != 0)
			continue;
		wrong = wrong_zone(j, first, last, size);
		if (wrong)
			lie(j, "sure zone", "%.0f to %.0f, %.0f sectors: %s", first, last, size, wrong);
	}
}

static void defects(struct judge *j)
{
	for (struct wild_row row = wild_begin(j->c->doc, "defects"); wild_next(&row);) {
		const char *kind = wild_word(&row, "kind"), *wrong;
		const char *certainty = wild_word(&row, "certainty"); /* earlier documents have none */
		double first = wild_at(&row, "first_byte");
		double missing = wild_at(&row, "missing");
		double surface = wild_at(&row, "surface");

		wrong = j->c->g->arm[0] || !kind ? NULL : lacks_wrong(j->c->g, first, missing, surface, kind);
		if (wrong && (!certainty || strcmp(certainty, "sure") == 0))
			lie(j, "defect", "%s at %.0f, %.0f on surface %.0f: %s", kind, first, missing, surface, wrong);
	}
}

/* A sector of a row, in the middle of each third of its stretches, that is on another surface than those that were
 * reported before as that surface, or on one that was reported as another; UINT64_MAX: none is. Where a track lacks
 * sectors that noise hid the ends are off by these. */
static uint64_t sector_elsewhere(const struct judge *j, const struct heads_row *row, int64_t of[HEADS_MOST])
{
	uint64_t bytes = j->c->p->physical_sector_bytes, length = row->length_bytes / bytes;

	for (uint64_t n = 0; n < row->times; n++)
		for (uint64_t k = 0; k < 3; k++) {
			uint64_t sector = (row->first_byte + n * row->every_bytes) / bytes + length * (2 * k + 1) / 6;
			struct place at;

			geometry_place(j->c->g, sector, &at);
			for (uint32_t i = 0; i < HEADS_MOST; i++)
				if ((of[i] == (int64_t)at.surface) != (i == row->surface) && of[row->surface] >= 0)
					return sector;
			of[row->surface] = (int64_t)at.surface;
		}
	return UINT64_MAX;
}

static void heads(struct judge *j)
{
	int64_t of[HEADS_MOST];

	for (size_t i = 0; i < HEADS_MOST; i++)
		of[i] = -1;
	for (struct wild_row row = wild_begin(j->c->doc, "heads"); wild_next(&row);) {
		double every = wild_at(&row, "every_bytes");
		const struct heads_row r = { .first_byte = (uint64_t)wild_at(&row, "first_byte"),
			                     .length_bytes = (uint64_t)wild_at(&row, "length_bytes"),
			                     .surface = (uint64_t)wild_at(&row, "surface"),
			                     .times = (uint64_t)wild_at(&row, "times"),
			                     .every_bytes = isfinite(every) ? (uint64_t)every : 0 };

		uint64_t elsewhere = r.surface < HEADS_MOST ? sector_elsewhere(j, &r, of) : 0;

		if (elsewhere < UINT64_MAX)
			lie(j, "heads", "%.0f bytes at %.0f are not all on surface %.0f, sector %.0f is not",
			    (double)r.length_bytes, (double)r.first_byte, (double)r.surface, (double)elsewhere);
	}
}

/* Of one of two arms or disks; else of the disk. */
static double surfaces_of_part(const struct profile *p)
{
	return p->arms.kind == ARMS_HALVES || p->arms.kind == ARMS_INTERLEAVED ? floor(p->surfaces / 2.0) : p->surfaces;
}

struct interval wild_arm_surfaces(const struct wild_case *c)
{
	double n = c->g->arm[0] ? surfaces_of_part(c->p) : (double)NAN;

	return (struct interval){ n, n };
}

struct interval wild_disk_surfaces(const struct wild_case *c)
{
	double n = c->g->arm[0] ? (double)NAN : c->p->surfaces;

	return (struct interval){ n, n };
}

/* Of all of it, or of either part. */
static bool is_right_count(const struct profile *p, double surfaces)
{
	double part = surfaces_of_part(p);

	if (p->arms.kind == ARMS_JOINED)
		return surfaces == part || surfaces == 2 * part;
	return surfaces == p->surfaces || surfaces == part || (part < p->surfaces && surfaces == p->surfaces - part);
}

bool wild_is_layout(const struct profile *p, const char *text, bool may_alternate)
{
	const struct profile_zone *z = &p->zones[0];
	bool is_alternate = strstr(text, "heads alternate"), does_alternate = z->heads_alternate && !is_one_band(p);
	char want[128];

	if (surfaces_of_part(p) == 1)
		return strcmp(text, "track after track") == 0;
	if (is_alternate != does_alternate && (is_alternate || !may_alternate))
		return false;
	if (z->band_tracks == 1)
		return strncmp(text, "head-first", 10) == 0;
	if (is_one_band(p))
		(void)snprintf(want, sizeof(want), "seek-first, a zone is one band, %s",
		               z->tracks_alternate ? "serpentine" : "forward");
	else
		(void)snprintf(want, sizeof(want), "seek-first in bands of %" PRIu32 " tracks, %s", z->band_tracks,
		               z->tracks_alternate ? "serpentine" : "forward");
	return strncmp(text, want, strlen(want)) == 0;
}

static void layout(struct judge *j)
{
	const json_t *figures = json_object_get(j->c->doc, "figures");
	const char *text = wild_figure_word(j->c->doc, "layout");
	const struct profile_zone *z = j->c->p->zones;
	double surfaces = wild_number(figures, "surfaces"), of_arm = wild_number(figures, "arm_surfaces");

	if (isfinite(of_arm) && of_arm != wild_arm_surfaces(j->c).low)
		lie(j, "surfaces", "%.0f of the first arm reported, there are %" PRIu32 " in all", of_arm,
		    j->c->p->surfaces);
	if (isfinite(surfaces) && !is_right_count(j->c->p, surfaces))
		lie(j, "surfaces", "%.0f reported, there are %" PRIu32, surfaces, j->c->p->surfaces);
	if (text && !wild_is_layout(j->c->p, text, wild_has_notice(j->c->doc, "heads-alternate-unseen")))
		lie(j, "layout", "%s reported; bands of %" PRIu32 "%s%s", text, z->band_tracks,
		    z->tracks_alternate ? ", serpentine" : "", z->heads_alternate ? ", heads alternate" : "");
}

void judge_geometry(struct judge *j)
{
	sure_zones(j);
	defects(j);
	heads(j);
	layout(j);
}
