/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A document against a disk: each figure beside its truth, and whatever is said that is false. A statement is false
 * when the model says otherwise, not when it is imprecise: what is hedged (unclear, not told) is never a lie.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lacks.h"
#include "visible.h"
#include "wildboard.h"

#define SLOW_TRUTH_PART 0.5    /* of the loss that was told, by which the disk must be slower in truth */
#define SLOW_OFF        0.1    /* a slow region's rate may be off by that part */
#define FAR_US          1000.0 /* of a read: the media of no flat device takes as long */
#define STRETCH_PART    0.5    /* of a stretch that must be as it is told */
#define MISSED_LOSS     0.1    /* a slow region that loses so much and in which it was measured should be found */
#define STALL_S         4.0    /* a wait so long may be told as a stall, which begins at 5 s */

struct judge {
	const struct wild_case *c;
	const char *command;
	json_t *figures, *lies, *notices, *missed;
	size_t planted; /* regions that should be found */
};

static json_t *real(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

void wild_say(json_t *to, const char *what, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)json_array_append_new(to, json_pack("{s:s,s:s}", "what", what, "text", text));
}

#define lie(j, ...) wild_say((j)->lies, __VA_ARGS__)

/* ---- figures ---- */

static void add_figure(struct judge *j, const char *name, const double told[3], struct interval truth,
                       enum wild_scale scale)
{
	(void)json_array_append_new(j->figures,
	                            json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:i}", "name", name, "value", real(told[0]),
	                                      "low", real(told[1]), "high", real(told[2]), "true_low", real(truth.low),
	                                      "true_high", real(truth.high), "scale", (int)scale));
}

static void one_figure(struct judge *j, const struct wild_figure *f)
{
	const json_t *figures = json_object_get(j->c->doc, "figures");
	const json_t *ci = json_object_get(json_object_get(j->c->doc, "intervals"), f->name);
	double told[3] = { wild_number(figures, f->name), (double)NAN, (double)NAN }, x;
	bool rotates = j->c->p->kind == DISK_ROTATING;
	struct interval truth;

	if (json_array_size(ci) == 2) {
		told[1] = json_number_value(json_array_get(ci, 0));
		told[2] = json_number_value(json_array_get(ci, 1));
	}
	if (f->is_mechanical && !rotates) {
		if (isfinite(told[0]))
			lie(j, f->name, "%.6g is given, but nothing rotates there", told[0]);
		return;
	}
	x = f->member ? wild_number(j->c->truth, f->member) : (double)NAN;
	truth = f->member ? (struct interval){ x, x } : f->truth(j->c);
	if (isfinite(truth.low))
		add_figure(j, f->name, told, truth, f->scale);
}

/* Rows of a table whose rate is of the bytes that it names. */
static void rate_rows(struct judge *j, const char *table, const char *name)
{
	const json_t *rows = wild_rows(j->c->doc, table), *row;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		double told[3] = { wild_cell(j->c->doc, table, row, "rate_bytes_per_s"),
			           wild_cell(j->c->doc, table, row, "low"), wild_cell(j->c->doc, table, row, "high") };
		double first = wild_cell(j->c->doc, table, row, "first_byte");
		double last = wild_cell(j->c->doc, table, row, "last_byte");
		struct interval truth;

		if (!isfinite(told[0]) || !(first >= 0 && last >= first && last < (double)geometry_bytes(j->c->g)))
			continue;
		truth = wild_rate(j->c, (uint64_t)first, (uint64_t)last + 1);
		if (isfinite(truth.low))
			add_figure(j, name, told, truth, WILD_RATIO);
	}
}

/* ---- zones: places ---- */

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
	const json_t *rows = wild_rows(j->c->doc, "slow_regions"), *row;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		double first = wild_cell(j->c->doc, "slow_regions", row, "first_byte");
		double end = wild_cell(j->c->doc, "slow_regions", row, "last_byte") + 1;
		double told = wild_cell(j->c->doc, "slow_regions", row, "rate_bytes_per_s");
		double loss = 1 - wild_cell(j->c->doc, "slow_regions", row, "rate_to_expected_ratio");
		double usual = fmin(truth_rate_at(j->c->g, (uint64_t)first), truth_rate_at(j->c->g, (uint64_t)end - 1));
		double rate = truth_rate(j->c->g, (uint64_t)first, (uint64_t)end);
		/* As with any other place: where more than the media is slow the rate is of both. */
		struct interval right = wild_rate(j->c, (uint64_t)first, (uint64_t)end);

		if (is_in_region(j, first, end, true)) /* what cannot be read is slow as well */
			continue;
		if (!(1 - rate / usual >= SLOW_TRUTH_PART * loss))
			lie(j, "slow region", "%.0f to %.0f is reported %.1f %% slow, and is %.1f %%", first, end - 1,
			    100 * loss, 100 * (1 - rate / usual));
		else if (!(told >= (1 - SLOW_OFF) * right.low && told <= (1 + SLOW_OFF) * right.high))
			lie(j, "rate of a slow region", "%.0f to %.0f gives %.4g B/s, %.4g is reported", first, end - 1,
			    rate, told);
	}
}

static void unreadable(struct judge *j)
{
	const json_t *rows = wild_rows(j->c->doc, "unreadable"), *row;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		double first = wild_cell(j->c->doc, "unreadable", row, "first_byte");
		double last = wild_cell(j->c->doc, "unreadable", row, "last_byte");

		if (!is_in_region(j, first, last + 1, true))
			lie(j, "unreadable region", "%.0f to %.0f can be read", first, last);
	}
}

/* Does a row of the table lie on these bytes; or, is_within, in them as a whole? */
static bool has_row(const struct judge *j, const char *table, double first, double end, bool is_within)
{
	const json_t *rows = wild_rows(j->c->doc, table), *row;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		double from = wild_cell(j->c->doc, table, row, "first_byte");
		double to = wild_cell(j->c->doc, table, row, "last_byte");

		if (is_within ? from >= first && to < end : from < end && to >= first)
			return true;
	}
	return false;
}

/* Did a sample read bytes of it? Between the samples of a place nobody knows. */
static bool is_read(const struct judge *j, double first, double end)
{
	const json_t *rows = wild_rows(j->c->doc, "samples"), *row;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		double from = wild_cell(j->c->doc, "samples", row, "offset_bytes");
		double to = wild_cell(j->c->doc, "samples", row, "end_bytes");

		if (from < end && to > first)
			return true;
	}
	return false;
}

/* What is there, was measured, and is not told: nothing false, but what one measures for. */
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

/*
 * Ends of recording zones, to the nearest place that was measured and what the edge is said to be uncertain by, and
 * their number where it is told exactly.
 */
static void bands(struct judge *j)
{
	const json_t *rows = wild_rows(j->c->doc, "bands"), *row;
	const json_t *zones = json_object_get(j->c->truth, "zones"), *zone;
	size_t places = json_array_size(wild_rows(j->c->doc, "curve")), i, k;
	double spacing = (double)geometry_bytes(j->c->g) / (double)(places > 1 ? places - 1 : 1);

	if (json_array_size(rows) && !wild_has_notice(j->c->doc, "zones-at-least") &&
	    json_array_size(rows) != json_array_size(zones) && json_array_size(rows) != zones_of_each_surface(zones))
		lie(j, "number of zones", "%zu are reported of %zu", json_array_size(rows), json_array_size(zones));
	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		double at = wild_cell(j->c->doc, "bands", row, "first_byte"), nearest = (double)INFINITY;
		double half = wild_cell(j->c->doc, "bands", row, "edge_half_bytes");

		if (i == 0)
			continue;
		json_array_foreach((json_t *)(uintptr_t)zones, k, zone) if (k) nearest =
			fmin(nearest, fabs(wild_number(zone, "first_byte") - at));
		if (!(nearest <= spacing + (isfinite(half) ? half : 0)))
			lie(j, "recording zone", "no zone begins at %.0f, the nearest is %.3g bytes away", at, nearest);
	}
}

/* ---- zones: stretches ---- */

static bool is_flat(const struct wild_case *c)
{
	return c->p->kind != DISK_ROTATING;
}

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

/* Where the second arm's half, or the second disk, begins; NaN: nowhere. */
static double second_begins(const struct wild_case *c)
{
	bool is_in_a_row = c->p->arms.kind == ARMS_HALVES || c->p->arms.kind == ARMS_JOINED;
	uint64_t at = is_in_a_row && c->g->arm[0] ? geometry_bytes(c->g->arm[0]) : UINT64_MAX;

	return at < geometry_bytes(c->g) ? (double)at : (double)NAN;
}

static bool is_uneven_row(const struct wild_case *c, const json_t *row)
{
	const char *kind = wild_text(c->doc, "stretches", row, "kind");

	return kind && strcmp(kind, "uneven") == 0;
}

/* What is not stored makes one part of a flat device unlike what is in no such part. */
static bool differs(const struct wild_case *c, double first, double end)
{
	const json_t *rows = wild_rows(c->doc, "stretches"), *row;
	double rest = (double)geometry_bytes(c->g), beside = unstored_share(c, 0, rest) * rest;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		double from = wild_cell(c->doc, "stretches", row, "first_byte");
		double to = wild_cell(c->doc, "stretches", row, "last_byte") + 1;

		if (!is_uneven_row(c, row))
			continue;
		rest -= to - from;
		beside -= unstored_share(c, from, to) * (to - from);
	}
	return rest > 0 && fabs(unstored_share(c, first, end) - beside / rest) >= STRETCH_PART;
}

/* To the nearest places that were measured. */
static void stretches(struct judge *j)
{
	const json_t *rows = wild_rows(j->c->doc, "stretches"), *row;
	size_t places = json_array_size(wild_rows(j->c->doc, "curve")), i;
	double spacing = (double)geometry_bytes(j->c->g) / (double)(places > 1 ? places - 1 : 1);

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		const char *kind = wild_text(j->c->doc, "stretches", row, "kind");
		double first = wild_cell(j->c->doc, "stretches", row, "first_byte");
		double end = wild_cell(j->c->doc, "stretches", row, "last_byte") + 1;

		if (!kind)
			continue;
		if (strcmp(kind, "not stored, or cached") == 0 && !(unstored_share(j->c, first, end) >= STRETCH_PART))
			lie(j, "stretch not stored", "of %.0f to %.0f, %.0f %% hold no data", first, end - 1,
			    100 * unstored_share(j->c, first, end));
		if (strcmp(kind, "another device or actuator") == 0 &&
		    !(fabs(first - second_begins(j->c)) <= 2 * spacing))
			lie(j, "stretch of another device", "none begins near %.0f", first);
		if (is_uneven_row(j->c, row) && !(is_flat(j->c) && differs(j->c, first, end)))
			lie(j, "uneven stretch", "%.0f to %.0f is as the rest", first, end - 1);
	}
}

/* ---- geometry: zones told as sure, the layout ---- */

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
	const json_t *rows = wild_rows(j->c->doc, "zones"), *row;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		const char *certainty = wild_text(j->c->doc, "zones", row, "certainty"), *wrong;
		double first = wild_cell(j->c->doc, "zones", row, "first_byte");
		double last = wild_cell(j->c->doc, "zones", row, "last_byte");
		double size = wild_cell(j->c->doc, "zones", row, "sectors_per_track");

		if (!certainty || strcmp(certainty, "sure") != 0)
			continue;
		wrong = wrong_zone(j, first, last, size);
		if (wrong)
			lie(j, "sure zone", "%.0f to %.0f, %.0f sectors: %s", first, last, size, wrong);
	}
}

static void defects(struct judge *j)
{
	const json_t *rows = wild_rows(j->c->doc, "defects"), *row;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)rows, i, row)
	{
		const char *kind = wild_text(j->c->doc, "defects", row, "kind"), *wrong;
		const char *certainty =
			wild_text(j->c->doc, "defects", row, "certainty"); /* earlier documents have none */
		double first = wild_cell(j->c->doc, "defects", row, "first_byte");
		double missing = wild_cell(j->c->doc, "defects", row, "missing");
		double surface = wild_cell(j->c->doc, "defects", row, "surface");

		wrong = j->c->g->arm[0] || !kind ? NULL : lacks_wrong(j->c->g, first, missing, surface, kind);
		if (wrong && (!certainty || strcmp(certainty, "sure") == 0))
			lie(j, "defect", "%s at %.0f, %.0f on surface %.0f: %s", kind, first, missing, surface, wrong);
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

/* Of all of it, or of either part. */
static bool is_right_count(const struct profile *p, double surfaces)
{
	double part = surfaces_of_part(p);

	if (p->arms.kind == ARMS_JOINED)
		return surfaces == part || surfaces == 2 * part;
	return surfaces == p->surfaces || surfaces == part || (part < p->surfaces && surfaces == p->surfaces - part);
}

/* may_alternate: it says that this was not seen. */
static bool is_right_layout(const struct profile *p, const char *text, bool may_alternate)
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
	const char *text = json_string_value(json_object_get(figures, "layout"));
	const struct profile_zone *z = j->c->p->zones;
	double surfaces = wild_number(figures, "surfaces"), of_arm = wild_number(figures, "arm_surfaces");

	if (isfinite(of_arm) && of_arm != wild_arm_surfaces(j->c).low)
		lie(j, "surfaces", "%.0f of the first arm reported, there are %" PRIu32 " in all", of_arm,
		    j->c->p->surfaces);
	if (isfinite(surfaces) && !is_right_count(j->c->p, surfaces))
		lie(j, "surfaces", "%.0f reported, there are %" PRIu32, surfaces, j->c->p->surfaces);
	if (text && !is_right_layout(j->c->p, text, wild_has_notice(j->c->doc, "heads-alternate-unseen")))
		lie(j, "layout", "%s reported; bands of %" PRIu32 "%s%s", text, z->band_tracks,
		    z->tracks_alternate ? ", serpentine" : "", z->heads_alternate ? ", heads alternate" : "");
}

/* ---- smr ---- */

static void shingling(struct judge *j)
{
	const char *told = json_string_value(json_object_get(json_object_get(j->c->doc, "figures"), "shingled"));
	bool shingles = j->c->p->mcache.band_bytes > 0;

	j->planted++;
	if (told && strcmp(told, shingles ? "no" : "yes") == 0)
		lie(j, "shingled", "%s reported, and its tracks %s", told, shingles ? "shingle" : "do not");
	else if (!told || strcmp(told, "undecided") == 0)
		wild_say(j->missed, "verdict", "whether its tracks shingle");
}

/* ---- buffer ---- */

/* Texts: each is told rightly, or it is false, or missed. */
static void policy(struct judge *j, const char *name, const char *truth)
{
	const char *told = json_string_value(json_object_get(json_object_get(j->c->doc, "figures"), name));

	j->planted += truth != NULL;
	if (told && !(truth && strcmp(told, truth) == 0))
		lie(j, name, "%s reported, in truth %s", told, truth ? truth : "there is no such thing");
	else if (!told && truth)
		wild_say(j->missed, name, "%s", truth);
}

/* refused: what is told of them then. */
static const char *fua_reads(const struct profile *p, const char *refused)
{
	if (p->kind != DISK_ROTATING)
		return NULL;
	return p->cache.fua_reads == FUA_READS_REFUSED  ? refused
	       : p->cache.fua_reads == FUA_READS_BUFFER ? "come from the buffer"
	                                                : "come from the media";
}

static const char *ahead_ends(const struct profile *p)
{
	uint64_t segment = p->cache.bytes / (p->cache.sizing == CACHE_FIXED ? p->cache.segments : 2);

	if (p->cache.ahead_reach == AHEAD_TRACK)
		return "at the end of a track";
	return p->cache.ahead_bytes && p->cache.ahead_bytes < segment ? "after a fixed length"
	                                                              : "when its segment is full";
}

static void policies(struct judge *j)
{
	const struct profile *p = j->c->p;
	bool rotates = p->kind == DISK_ROTATING, ahead = rotates && p->cache.read_ahead && p->cache.bytes;
	bool caches = rotates && p->wcache.is_on && p->wcache.bytes;

	policy(j, "sizing",
	       rotates && p->cache.segments > 1 ? p->cache.sizing == CACHE_FIXED ? "fixed" : "by use" : NULL);
	policy(j, "reads_ahead",
	       !rotates                              ? NULL
	       : !ahead                              ? "never"
	       : p->cache.ahead_when == AHEAD_ALWAYS ? "always"
	                                             : "after reads in sequence");
	policy(j, "read_ahead_ends", ahead ? ahead_ends(p) : NULL);
	policy(j, "write_cache", !rotates ? NULL : caches ? "on" : "off");
	policy(j, "flush", !caches ? NULL : p->wcache.is_flush_ignored ? "returns at once" : "waits for the media");
	policy(j, "fua_reads", fua_reads(p, NULL));
	policy(j, "fua_writes", !caches ? NULL : p->wcache.is_fua_ignored ? "return at once" : "wait for the media");
	policy(j, "reads_pass_writes", caches ? "go between" : NULL);
	policy(j, "keeps_before", rotates ? p->cache.is_pre_read ? "yes" : "no" : NULL);
}

/* ---- notices that blame somebody ---- */

static bool never(const struct wild_case *c)
{
	(void)c;
	return false;
}

/* A flat device whose reads take as long as a disk's: a network. */
static bool is_far(const struct wild_case *c)
{
	return is_flat(c) && c->p->ssd.read_latency_us >= FAR_US;
}

static bool is_rotating(const struct wild_case *c)
{
	return c->p->kind == DISK_ROTATING;
}

static bool is_limited(const struct wild_case *c)
{
	return c->p->path.limit_bytes_per_s > 0 || c->p->path.limit_ops > 0;
}

static bool changes_with_time(const struct wild_case *c)
{
	return c->p->faults.nstalls || c->p->spindle.drift != 0.0 || is_limited(c);
}

static bool is_of_command(const struct wild_case *c, const char *name)
{
	const char *command = json_string_value(json_object_get(json_object_get(c->doc, "head"), "measurement"));

	return command && strcmp(command, name) == 0;
}

static bool may_stall(const struct wild_case *c)
{
	const struct profile *p = c->p;
	double turn_s = is_rotating(c) ? 60 / p->spindle.rpm : 0;

	for (size_t i = 0; i < p->faults.nstalls; i++)
		if (p->faults.stalls[i].length_s >= STALL_S)
			return true;
	for (size_t i = 0; i < p->faults.nfails; i++)
		if (p->faults.fails[i].delay_s >= STALL_S)
			return true;
	for (size_t i = 0; i < p->media.nbads; i++)
		if (p->media.bads[i].revolutions * turn_s >= STALL_S)
			return true;
	if (p->wcache.is_on && p->wcache.bytes && is_of_command(c, "buffer")) /* of a flush of all that it takes */
		return true;
	return is_limited(c) || p->own.standby_s >= STALL_S ||
	       p->mcache.bytes > 0; /* which is cleaned for as long as it takes */
}

static bool has_unstored(const struct wild_case *c)
{
	return c->p->media.ntrims > 0;
}

static bool has_two_arms(const struct wild_case *c)
{
	return c->p->arms.kind != ARMS_ONE;
}

static bool is_of_two(const struct wild_case *c)
{
	return isfinite(second_begins(c));
}

static bool is_uneven(const struct wild_case *c)
{
	return is_flat(c) && c->p->media.ntrims > 0;
}

static bool sleeps(const struct wild_case *c)
{
	return c->p->own.park_after_s > 0 || c->p->own.standby_after_s > 0 || c->p->own.begins_asleep;
}

static bool fails_at_times(const struct wild_case *c)
{
	for (size_t i = 0; i < c->p->media.nbads; i++)
		if (c->p->media.bads[i].kind & BAD_HEALS)
			return true;
	return c->p->faults.nfails > 0;
}

static bool has_errors(const struct wild_case *c)
{
	return c->p->media.nbads || c->p->faults.nfails;
}

static bool goes(const struct wild_case *c)
{
	return isfinite(c->p->faults.gone_at_s) || c->p->faults.gone_at_request;
}

static bool drops_flushes(const struct wild_case *c)
{
	return c->p->wcache.is_flush_ignored;
}

static bool drops_fua(const struct wild_case *c)
{
	return c->p->wcache.is_fua_ignored;
}

static bool keeps_nothing(const struct wild_case *c)
{
	return c->p->cache.drops_read || !c->p->cache.bytes;
}

/* What a notice claims, and when that is so. Simulated machines are idle and nobody else is on them. */
static const struct claim {
	const char *code;
	bool (*is_true)(const struct wild_case *c);
	const char *otherwise;
} claims[] = {
	{ "not-rotating", is_flat, "it rotates" },
	{ "not-rotational", is_flat, "it rotates" },
	{ "says-rotating", is_flat, "it rotates, as it says" },
	{ "says-not-rotating", is_rotating, "nothing rotates there" },
	{ "rotation-unclear", is_far, "the machine was idle, and no network between" },
	{ "not-stored", has_unstored, "all of it is stored" },
	{ "not-one-arm", has_two_arms, "one arm moves over all of it" },
	{ "another-device", is_of_two, "it is one device with one arm" },
	{ "uneven", is_uneven, "all of it is alike" },
	{ "flush-returns-at-once", drops_flushes, "it waits for the media" },
	{ "fua-ignored", drops_fua, "they wait for the media" },
	{ "nothing-kept", keeps_nothing, "it keeps what it has read" },
	{ "bursts", is_limited, "there is no limit and the machine was idle" },
	{ "token-bucket", is_limited, "there is no limit" },
	{ "speed-up", changes_with_time, "it was idle before" },
	{ "drift", changes_with_time, "it is as fast as before" },
	{ "stalled", may_stall, "no request takes so long" },
	{ "spin-up", sleeps, "it was awake" },
	{ "healed", fails_at_times, "nothing heals there" },
	{ "too-many-errors", has_errors, "it has no errors" },
	{ "device-gone", goes, "it is there" },
	{ "other-io", never, "nobody else used it" },
	{ "steal", never, "there is no hypervisor" },
	{ "thermal", never, "nothing is hot" },
	{ "stopped", never, "nobody stopped it" },
	{ "device-errors", has_errors, "it has no errors" },
	{ NULL, NULL, NULL },
};

static void notices(struct judge *j)
{
	const json_t *all = json_object_get(j->c->doc, "notices"), *n;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)all, i, n)
	{
		const char *code = json_string_value(json_object_get(n, "code"));
		const struct claim *c = claims;

		if (!code)
			continue;
		(void)json_array_append_new(j->notices, json_string(code));
		while (c->code && strcmp(c->code, code) != 0)
			c++;
		if (c->code && !c->is_true(j->c))
			lie(j, code, "but %s: \"%.200s\"", c->otherwise, json_string_value(json_object_get(n, "text")));
	}
}

json_t *wild_judge(const struct wild_case *c)
{
	const json_t *head = json_object_get(c->doc, "head");
	const char *command = json_string_value(json_object_get(head, "measurement"));
	const char *status = json_string_value(json_object_get(c->doc, "status"));
	struct judge j = { .c = c, .command = command ? command : "" };
	bool rotates = c->p->kind == DISK_ROTATING;

	j.figures = json_array();
	j.lies = json_array();
	j.notices = json_array();
	j.missed = json_array();
	for (const struct wild_figure *f = wild_figures; f->name; f++)
		if (strcmp(f->command, j.command) == 0)
			one_figure(&j, f);
	if (strcmp(j.command, "zones") == 0) {
		rate_rows(&j, "curve", "(places of the curve)");
		slow_regions(&j);
		unreadable(&j);
		missed(&j);
		stretches(&j);
		if (rotates)
			bands(&j);
	}
	if (strcmp(j.command, "geometry") == 0 && rotates) {
		sure_zones(&j);
		defects(&j);
		layout(&j);
		policy(&j, "fua_reads", fua_reads(c->p, "are refused"));
	}
	if (strcmp(j.command, "smr") == 0)
		shingling(&j);
	if (strcmp(j.command, "buffer") == 0)
		policies(&j);
	j.planted += wild_surface(c, j.lies, j.missed);
	j.planted += wild_sustain(c, j.figures, j.lies, j.missed);
	notices(&j);
	return json_pack("{s:o,s:o,s:o,s:I,s:o,s:s,s:o}", "figures", j.figures, "lies", j.lies, "missed", j.missed,
	                 "planted", (json_int_t)j.planted, "notices", j.notices, "status", status ? status : "none",
	                 "device_s", real(wild_number(head, "elapsed_s")));
}
