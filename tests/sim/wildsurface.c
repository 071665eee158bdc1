/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A document of `surface` against a disk: each place that is called weak or unreadable is so, sector for sector, and
 * each that is so and was scanned is reported with its LBA.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "geometry.h"
#include "truth_noise.h"
#include "wildboard.h"

#define SECTORS_EACH 64 /* of a weak region: more are one thing to be found, all in all */

static bool is_bad(const struct profile *p, uint64_t lba)
{
	for (size_t i = 0; i < p->media.nbads; i++)
		if ((p->media.bads[i].kind & BAD_READ) && lba >= p->media.bads[i].lba &&
		    lba - p->media.bads[i].lba < p->media.bads[i].count)
			return true;
	return false;
}

static bool is_trimmed(const struct profile *p, uint64_t lba)
{
	for (size_t i = 0; i < p->media.ntrims; i++)
		if (lba >= p->media.trims[i].lba && lba - p->media.trims[i].lba < p->media.trims[i].count)
			return true;
	return false;
}

/* The place of a weak track at which it loses revolutions, or moved away to a spare track, which takes as long each
 * time. */
static bool is_slow_there(const struct geometry *g, uint64_t sector)
{
	struct place place;

	geo_slot_place(g, geo_slot(g, sector), &place);
	return truth_weak(g, &place, 1) > 0 ||
	       defects_remapped_before(g, sector + 1) > defects_remapped_before(g, sector);
}

/* Planted, or slow by itself. */
static bool is_weak(const struct wild_case *c, uint64_t lba)
{
	uint32_t ratio = c->g->ratio;

	for (size_t i = 0; i < c->p->media.nslows; i++) {
		const struct profile_slow *s = &c->p->media.slows[i];

		if (lba >= s->lba && lba - s->lba < s->count && (lba - s->lba) / ratio % s->every == 0)
			return true;
	}
	if (c->p->kind != DISK_ROTATING)
		return false;
	if (!c->g->arm[0])
		return is_slow_there(c->g, lba / ratio);
	for (size_t arm = 0; arm < 2; arm++) { /* each is a disk of its own */
		uint64_t size = c->p->physical_sector_bytes, byte = lba / ratio * size, from, to;

		geometry_on_arm(c->g, arm, byte, byte + size, &from, &to);
		if (to > from)
			return is_slow_there(c->g->arm[arm], from / size);
	}
	return false;
}

/*
 * What a row of the table of bad places says: of every sector where it names sectors, of one at least where it names a
 * place. Pending and unchecked ones are left open and say nothing; any other kind of row is false.
 */
static const struct claim {
	const char *kind, *name;
	bool is_any; /* true where one sector is so */
	bool is_read_error;
} claims[] = {
	{ "unreadable", "unreadable sector", false, true },
	{ "healed", "sector that failed once", true, true },
	{ "always", "weak sector", false, false },
};

static void false_place(const struct wild_case *c, const struct claim *claim, uint64_t first, uint64_t end,
                        json_t *lies)
{
	for (uint64_t lba = first; lba < end; lba += c->g->ratio)
		if ((claim->is_read_error ? is_bad(c->p, lba) : is_weak(c, lba)) == claim->is_any) {
			if (!claim->is_any)
				wild_say(lies, claim->name, "LBA %" PRIu64 " of %" PRIu64 " to %" PRIu64 " is not", lba,
				         first, end - 1);
			return;
		}
	if (claim->is_any)
		wild_say(lies, claim->name, "LBA %" PRIu64 " to %" PRIu64 " is healthy", first, end - 1);
}

static void false_places(const struct wild_case *c, json_t *lies)
{
	for (struct wild_row row = wild_begin(c->doc, "slow"); wild_next(&row);) {
		const char *kind = wild_word(&row, "kind");
		uint64_t first = (uint64_t)wild_at(&row, "lba");
		uint64_t end = first + (uint64_t)wild_at(&row, "length_bytes") / c->p->logical_sector_bytes;

		bool is_claim = false;

		for (size_t k = 0; kind && k < sizeof(claims) / sizeof(claims[0]); k++)
			if (strcmp(kind, claims[k].kind) == 0) {
				false_place(c, &claims[k], first, end, lies);
				is_claim = true;
			}
		if (kind && !is_claim && strcmp(kind, "pending") != 0 && strcmp(kind, "unchecked") != 0)
			wild_say(lies, "row of bad places", "LBA %" PRIu64 " is %s", first, kind);
	}
}

/* What is said of these sectors: of the first row that has to do with them; exactly: that begins there. */
static const char *said_of(const struct wild_case *c, uint64_t lba, uint64_t count, bool is_exact)
{
	const char *reported = "nothing";

	for (struct wild_row row = wild_begin(c->doc, "slow"); wild_next(&row);) {
		double first = wild_at(&row, "offset_bytes") / c->p->logical_sector_bytes;
		double end = first + wild_at(&row, "length_bytes") / c->p->logical_sector_bytes;
		const char *kind = wild_word(&row, "kind");

		if (!kind || !(first < (double)(lba + count) && end > (double)lba))
			continue;
		if (!is_exact || first == (double)lba)
			return kind;
		reported = strcmp(kind, "unchecked") == 0 ? "not read again" : "another first sector";
	}
	return reported;
}

static bool is_scanned(const struct wild_case *c, uint64_t lba, uint64_t count)
{
	const json_t *figures = json_object_get(c->doc, "figures");
	double sector = c->p->logical_sector_bytes;

	return (double)lba * sector >= wild_number(figures, "first_bytes") &&
	       (double)(lba + count) * sector <= wild_number(figures, "scanned_to_bytes");
}

static size_t weak_region(const struct wild_case *c, const struct profile_slow *s, json_t *missed)
{
	uint64_t step = (uint64_t)s->every * c->g->ratio, n = (s->count + step - 1) / step, planted = 0;

	if (n > SECTORS_EACH) {
		if (!is_scanned(c, s->lba, s->count))
			return 0;
		if (strcmp(said_of(c, s->lba, s->count, false), "nothing") == 0)
			wild_say(missed, "weak region", "LBA %" PRIu64 ", %" PRIu64 " sectors", s->lba, s->count);
		return 1;
	}
	for (uint64_t lba = s->lba; lba < s->lba + s->count; lba += step) {
		const char *reported = said_of(c, lba, c->g->ratio, true);

		if (!is_scanned(c, lba, c->g->ratio) || is_trimmed(c->p, lba) || is_bad(c->p, lba))
			continue;
		planted++;
		if (strcmp(reported, "always") != 0)
			wild_say(missed,
			         wild_has_notice(c->doc, "insensitive") || wild_has_notice(c->doc, "buffered")
			                 ? "weak sector, and it said that such ones hide"
			                 : "weak sector",
			         "LBA %" PRIu64 ", %g revolutions: %s", lba, s->revolutions, reported);
	}
	return planted;
}

size_t wild_surface(const struct wild_case *c, json_t *lies, json_t *missed)
{
	size_t planted = 0;

	if (!wild_is(c, "surface"))
		return 0;
	false_places(c, lies);
	for (size_t i = 0; i < c->p->media.nslows && c->p->kind == DISK_ROTATING; i++)
		planted += weak_region(c, &c->p->media.slows[i], missed);
	for (size_t i = 0; i < c->p->media.nbads; i++) {
		const struct profile_bad *b = &c->p->media.bads[i];

		if (!(b->kind & BAD_READ) || !is_scanned(c, b->lba, b->count) || is_trimmed(c->p, b->lba))
			continue;
		planted++;
		if (strcmp(said_of(c, b->lba, b->count, true), "unreadable") != 0)
			wild_say(missed, "unreadable sectors", "LBA %" PRIu64 ", %" PRIu64 " sectors: %s", b->lba,
			         b->count, said_of(c, b->lba, b->count, true));
	}
	return planted;
}
