/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A document of `zones` against a disk: places that are slow or cannot be read, recording zones, stretches. */
#include <math.h>
#include <string.h>

#include "wildjudge.h"

#define SLOW_TRUTH_PART 0.5 /* of the loss that is reported, by which the disk must be slower in truth */
#define SLOW_OFF        0.1 /* a slow region's rate may be off by that part */
#define STRETCH_PART    0.5 /* of a stretch that must be as it is reported */
#define MISSED_LOSS     0.1 /* a slow region that loses so much and in which it was measured should be found */

/* ---- places ---- */

static bool is_in_region(const struct judge *j, double first, double end, bool is_bad)
{
	const json_t *regions = json_object_get(j->c->truth, "regions"), *r;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)regions, i, r)
	{
		const char *kind = json_string_value(json_object_get(r, "kind"));

		if ((strcmp(kind ? kind : "", "unreadable") == 0) == is_bad && wild_number(r, "first_byte") < end &&
		    wild_number(r, "end_byte") > first)
			return true;
	}
	return false;
}

static void slow_regions(struct judge *j)
{
	for (struct wild_row row = wild_begin(j->c->doc, "slow_regions"); wild_next(&row);) {
		double first = wild_at(&row, "first_byte");
		double end = wild_at(&row, "last_byte") + 1;
		double reported = wild_at(&row, "rate_bytes_per_s");
		double loss = 1 - wild_at(&row, "rate_to_expected_ratio");
		double usual = fmin(truth_rate_at(j->c->g, (uint64_t)first), truth_rate_at(j->c->g, (uint64_t)end - 1));
		double rate = truth_rate(j->c->g, (uint64_t)first, (uint64_t)end);
		/* As with any other place: where more than the media is slow the rate is of both. */
		struct interval right = wild_rate(j->c, (uint64_t)first, (uint64_t)end);

		if (is_in_region(j, first, end, true)) /* what cannot be read is slow as well */
			continue;
		if (!(1 - rate / usual >= SLOW_TRUTH_PART * loss))
			lie(j, "slow region", "%.0f to %.0f is reported %.1f %% slow, and is %.1f %%", first, end - 1,
			    100 * loss, 100 * (1 - rate / usual));
		else if (!(reported >= (1 - SLOW_OFF) * right.low && reported <= (1 + SLOW_OFF) * right.high))
			lie(j, "rate of a slow region", "%.0f to %.0f gives %.4g B/s, %.4g is reported", first, end - 1,
			    rate, reported);
	}
}

static void unreadable(struct judge *j)
{
	for (struct wild_row row = wild_begin(j->c->doc, "unreadable"); wild_next(&row);) {
		double first = wild_at(&row, "first_byte");
		double last = wild_at(&row, "last_byte");

		if (!is_in_region(j, first, last + 1, true))
			lie(j, "unreadable region", "%.0f to %.0f can be read", first, last);
	}
}

/* Does a row of the table lie on these bytes; or, is_within, in them as a whole? */
static bool has_row(const struct judge *j, const char *table, double first, double end, bool is_within)
{
	for (struct wild_row row = wild_begin(j->c->doc, table); wild_next(&row);) {
		double from = wild_at(&row, "first_byte");
		double to = wild_at(&row, "last_byte");

		if (is_within ? from >= first && to < end : from < end && to >= first)
			return true;
	}
	return false;
}

/* Did a sample read bytes of it? Between the samples of a place nobody knows. */
static bool is_read(const struct judge *j, double first, double end)
{
	for (struct wild_row row = wild_begin(j->c->doc, "samples"); wild_next(&row);) {
		double from = wild_at(&row, "offset_bytes");
		double to = wild_at(&row, "end_bytes");

		if (from < end && to > first)
			return true;
	}
	return false;
}

/* What is there, was measured, and is not reported: nothing false, but what one measures for. */
static void missed(struct judge *j)
{
	const json_t *regions = json_object_get(j->c->truth, "regions"), *r;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)regions, i, r)
	{
		double first = wild_number(r, "first_byte"), end = wild_number(r, "end_byte");
		double rate = wild_number(r, "rate_bytes_per_s"), usual = truth_rate_at(j->c->g, (uint64_t)first);
		bool is_slow = isfinite(rate);

		if (is_slow ? !has_row(j, "curve", first, end, true) || rate > (1 - MISSED_LOSS) * usual
		            : !is_read(j, first, end))
			continue;
		j->planted++;
		if (has_row(j, "unreadable", first, end, false) ||
		    (is_slow && has_row(j, "slow_regions", first, end, false)))
			continue;
		wild_say(j->missed, is_slow ? "slow region" : "unreadable region", "%.0f to %.0f, %.1f %% slow", first,
		         end - 1, 100 * (1 - (is_slow ? rate / usual : 0)));
	}
}

/* Where zones end elsewhere on each surface the disk has more of them than each surface; 0: these have not equally
 * many. */
static size_t zones_of_each_surface(const json_t *zones)
{
	const json_t *zone;
	size_t i, n = 0, surfaces = json_array_size(json_object_get(json_array_get(zones, 0), "sectors_per_track"));

	for (size_t k = 0; k < surfaces; k++) {
		double before = 0.0;
		size_t own = 0;

		json_array_foreach((json_t *)(uintptr_t)zones, i, zone)
		{
			double size = json_number_value(json_array_get(json_object_get(zone, "sectors_per_track"), k));

			own += size != before;
			before = size;
		}
		if (k && own != n)
			return 0;
		n = own;
	}
	return n;
}

/* From one place that was measured to the next. */
static double spacing_bytes(const struct judge *j)
{
	size_t places = json_array_size(wild_rows(j->c->doc, "curve"));

	return (double)geometry_bytes(j->c->g) / (double)(places > 1 ? places - 1 : 1);
}

/*
 * Ends of recording zones, to the nearest place that was measured and what the edge is said to be uncertain by, and
 * their number where it is reported exactly.
 */
static void bands(struct judge *j)
{
	const json_t *zones = json_object_get(j->c->truth, "zones"), *zone;
	size_t n = json_array_size(wild_rows(j->c->doc, "bands")), k;
	double spacing = spacing_bytes(j);

	if (n && !wild_has_notice(j->c->doc, "zones-at-least") && n != json_array_size(zones) &&
	    n != zones_of_each_surface(zones))
		lie(j, "number of zones", "%zu are reported of %zu", n, json_array_size(zones));
	for (struct wild_row row = wild_begin(j->c->doc, "bands"); wild_next(&row);) {
		double at = wild_at(&row, "first_byte"), nearest = (double)INFINITY;
		double half = wild_at(&row, "edge_half_bytes");

		if (row.number == 1)
			continue;
		json_array_foreach((json_t *)(uintptr_t)zones, k, zone) if (k) nearest =
			fmin(nearest, fabs(wild_number(zone, "first_byte") - at));
		if (!(nearest <= spacing + (isfinite(half) ? half : 0)))
			lie(j, "recording zone", "no zone begins at %.0f, the nearest is %.3g bytes away", at, nearest);
	}
}

/* ---- stretches ---- */

/* Share of these bytes that holds no data. */
static double unstored_share(const struct wild_case *c, double first, double end)
{
	double sum = 0, sector = c->p->logical_sector_bytes;

	for (size_t i = 0; i < c->p->media.ntrims; i++) {
		double from = fmax(first, (double)c->p->media.trims[i].lba * sector);
		double to = fmin(end, (double)(c->p->media.trims[i].lba + c->p->media.trims[i].count) * sector);

		sum += fmax(0, to - from);
	}
	return end > first ? sum / (end - first) : 0;
}

double wild_second_begins(const struct wild_case *c)
{
	bool is_in_a_row = c->p->arms.kind == ARMS_HALVES || c->p->arms.kind == ARMS_JOINED;
	uint64_t at = is_in_a_row && c->g->arm[0] ? geometry_bytes(c->g->arm[0]) : UINT64_MAX;

	return at < geometry_bytes(c->g) ? (double)at : (double)NAN;
}

static bool is_uneven_row(const struct wild_row *row)
{
	const char *kind = wild_word(row, "kind");

	return kind && strcmp(kind, "uneven") == 0;
}

/* What is not stored makes one part of a flat device unlike what is in no such part. */
static bool differs(const struct wild_case *c, double first, double end)
{
	double rest = (double)geometry_bytes(c->g), beside = unstored_share(c, 0, rest) * rest;

	for (struct wild_row row = wild_begin(c->doc, "stretches"); wild_next(&row);) {
		double from = wild_at(&row, "first_byte");
		double to = wild_at(&row, "last_byte") + 1;

		if (!is_uneven_row(&row))
			continue;
		rest -= to - from;
		beside -= unstored_share(c, from, to) * (to - from);
	}
	return rest > 0 && fabs(unstored_share(c, first, end) - beside / rest) >= STRETCH_PART;
}

/* To the nearest places that were measured. */
static void stretches(struct judge *j)
{
	double spacing = spacing_bytes(j);

	for (struct wild_row row = wild_begin(j->c->doc, "stretches"); wild_next(&row);) {
		const char *kind = wild_word(&row, "kind");
		double first = wild_at(&row, "first_byte");
		double end = wild_at(&row, "last_byte") + 1;

		if (!kind)
			continue;
		if (strcmp(kind, "not stored, or cached") == 0 && !(unstored_share(j->c, first, end) >= STRETCH_PART))
			lie(j, "stretch not stored", "of %.0f to %.0f, %.0f %% hold no data", first, end - 1,
			    100 * unstored_share(j->c, first, end));
		if (strcmp(kind, "another device or actuator") == 0 &&
		    !(fabs(first - wild_second_begins(j->c)) <= 2 * spacing))
			lie(j, "stretch of another device", "none begins near %.0f", first);
		if (is_uneven_row(&row) && !(j->c->p->kind != DISK_ROTATING && differs(j->c, first, end)))
			lie(j, "uneven stretch", "%.0f to %.0f is as the rest", first, end - 1);
	}
}

void judge_zones(struct judge *j)
{
	slow_regions(j);
	unreadable(j);
	missed(j);
	stretches(j);
	if (j->c->p->kind == DISK_ROTATING)
		bands(j);
}
