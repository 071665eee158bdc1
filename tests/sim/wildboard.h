/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scoreboard (tools/wild): platter's own commands over many disks as they occur, each held against what is true of
 * it. main_wild.c runs them, wildjudge.c holds a document against a disk (wildzones.c, wildgeometry.c, wildsurface.c,
 * wildsustain.c, wildcheck.c what is of one command), wildtruth.c knows what is true (wildwork.c by putting requests to
 * a disk), wildcells.c reads documents, wildscore.c adds up.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "geometry.h"
#include "sim.h"
#include "stats/stats.h"

/* ---- a document and the disk that it speaks of ---- */

struct wild_case {
	const json_t *doc;   /* a result document, platter-json(5) */
	const json_t *truth; /* as `platter-simdisk truth --json` prints it; rates of the disk and of zones only for
	                        zones, no random reads */
	const struct geometry *g;
	const struct profile *p;
};

/*
 * {"figures": [{"name", "value", "low", "high", "true_low", "true_high", "scale"}], "lies": [{"what", "text"}],
 * "missed": [{"what", "text"}] of so many "planted", "notices": [CODE], "status"}: numbers are null where there are
 * none. A name may come several times (rows of a table). NULL: out of memory.
 */
json_t *wild_judge(const struct wild_case *c);
/* Surfaces of the first of two arms or disks that share the addresses; NaN: there is only one. */
struct interval wild_arm_surfaces(const struct wild_case *c);
/* Of a disk with one; NaN: there are several, so that boards count either kind by itself. */
struct interval wild_disk_surfaces(const struct wild_case *c);
/* Of `surface`: places that are reported and false; that are there, were scanned and are not reported. How many should
 * be. */
size_t wild_surface(const struct wild_case *c, json_t *lies, json_t *missed);
/* Is it a document of this command? */
bool wild_is(const struct wild_case *c, const char *command);
/* Of `sustain`, as tools/wild calls it: its figures, and what limits the device. How many should be. */
size_t wild_sustain(const struct wild_case *c, json_t *figures, json_t *lies, json_t *missed);
/* The same, and of `check` {"kind", "named"} of each fault that was planted in "faults", and of healthy disks whether
 * they are called so. */
json_t *wild_check(const struct wild_case *c);
/* What a disk reports of itself in a run of `check`. */
void wild_check_plant(struct sim_disk *sd, const struct profile *p);
/* A media cache, if it has one, becomes one of those that take long to judge: --hard. */
void wild_hard_cache(struct profile *p, uint64_t seed);
/* {"what", "text"} to a list. */
void wild_say(json_t *to, const char *what, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What errors are reported in. */
enum wild_scale {
	WILD_RATIO, /* parts of the truth */
	WILD_TURN,  /* revolutions; whole ones do not count */
	WILD_PLAIN, /* in the figure's own unit */
};

/* A figure whose truth is known (if it is), with value and interval as reported; of a table's row, or of the document.
 */
void wild_add(json_t *to, const char *name, const double reported[3], struct interval truth, enum wild_scale scale);
void wild_add_figure(json_t *to, const json_t *doc, const char *name, struct interval truth, enum wild_scale scale);

struct wild_figure {
	const char *command, *name;
	const char *member; /* of the truth; NULL: asked below */
	/* The truth as a range, mostly of one number; NaN: there is none for this disk. */
	struct interval (*truth)(const struct wild_case *c);
	enum wild_scale scale;
	bool is_mechanical; /* said of a disk that does not rotate it is false */
};
extern const struct wild_figure wild_figures[]; /* ends with name NULL */
/* What a measurement of places may rightly say of these bytes. */
struct interval wild_rate(const struct wild_case *c, uint64_t first, uint64_t end);

/* ---- the disk at work, of which no formula is known: wildwork.c ---- */

#define WILD_QUEUE_MAX     256
#define WILD_STREAMED_MOST (32u << 20) /* bytes; of what does not rotate, whose requests scatter, more */

/*
 * n random reads over the whole disk at a depth; ret (may be NULL): the times of those that the media answered, sorted;
 * *ret_n: of how many. Returns the seconds that they took all in all.
 */
double wild_random_s(const struct wild_case *c, uint32_t depth, size_t n, double *ret, size_t *ret_n);
/*
 * Bytes per second of reading in order as zones does. Where nothing but the media is slow that is the media's rate; in
 * front of a slow interface, and on what is flat, it depends on blocks and depth, and only the disk at work knows.
 */
double wild_streamed(const struct wild_case *c, uint64_t first, uint64_t end, uint64_t block);

/* ---- the document's cells ---- */

double wild_number(const json_t *o, const char *key); /* of an object; NaN: not there, or null */
const json_t *wild_rows(const json_t *doc, const char *table);
struct wild_row { /* for (struct wild_row row = wild_begin(doc, "zones"); wild_next(&row);) */
	const json_t *doc, *cells;
	const char *table;
	size_t number; /* from 1 */
};
struct wild_row wild_begin(const json_t *doc, const char *table);
bool wild_next(struct wild_row *r);
struct wild_row wild_last(const json_t *doc, const char *table); /* of a table without rows: no cells */
double wild_at(const struct wild_row *r, const char *key);
const char *wild_word(const struct wild_row *r, const char *key);  /* NULL: none */
const char *wild_figure_word(const json_t *doc, const char *name); /* of a figure that is a text; NULL: none */
json_t *wild_real(double x);                                       /* null where it is NaN or infinite */
bool wild_has_notice(const json_t *doc, const char *code);

/* ---- adding up ---- */

struct wild_board;
struct wild_board *wild_board_new(const char *command);
void wild_board_free(struct wild_board *b);
/* seed's verdict (taken over): what wild_judge() gave, with "seed", "class", "ended", "device_s", "cpu_s". */
void wild_board_add(struct wild_board *b, json_t *verdict);
void wild_board_print(const struct wild_board *b, FILE *out, bool by_class);
void wild_board_row(const struct wild_board *b, FILE *out, const char *name); /* of the table in tests/BOARDS.md */
json_t *wild_board_json(const struct wild_board *b);
