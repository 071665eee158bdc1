/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alike.c, compare.c, trend.c: what belongs together, and when two numbers differ. Only src/report includes this. */
#pragma once

#include <stdbool.h>

#include "result/result.h"

#define WHY_TEXT 200

enum alike { ALIKE, OTHER_MEASUREMENT, OTHER_DISK, OTHER_OPTIONS };

/* Are two documents of the same test: the same measurement, of the same place, by the same way? why (WHY_TEXT bytes)
 * says what is not. */
enum alike alike(const struct result *a, const struct result *b, char *why);
/* Has it targets of one disk alone: that, or partitions of it? */
bool alike_is_one_disk(const struct result *res);
/* The same disk, or partition or file of it; whatever was measured, and how. */
bool alike_same_disk(const struct result *a, const struct result *b);
/*
 * Numbers the disks of documents that are sorted by date: ret_disk gets one for each document, SIZE_MAX where it is of
 * none or of several at once. A disk that has changed its name, or got a new one, is still the same. Returns how many.
 */
size_t alike_disks(const struct result *const *sorted, size_t n, size_t *ret_disk);
/* The same measurement by the same way, of disks of one model and size. */
bool alike_same_kind(const struct result *a, const struct result *b);
/* Serial number, WWN or another name that stays with it; NULL: it is known by host and path, as files always are. */
const char *alike_lasting_name(const struct result *res, size_t target);
/* How people are shown which disk it is: by its most lasting name, else by host and path. buf of DISK_TEXT. */
const char *alike_disk_text(const struct result *res, char *buf);
#define DISK_TEXT 128
#define alike_disk(res) \
	alike_disk_text(res, (char[DISK_TEXT]){ "" }) /* there until the end of the block that it is used in */
/* The first notice that says that the run was disturbed from outside: its code, NULL: none. */
const char *alike_disturbed(const struct result *res);
/* How a run ended: 0 well, 1 with errors, 2 without the disk; -1: cut short by its user or by us, which says nothing of
 * the disk. */
int alike_outcome(const struct result *res);
/* The i-th setting of the first target; NULL: not known. ret_name: NULL behind the last one. buf of CELL_TEXT. */
const char *alike_setting(const struct result *res, size_t i, char *buf, const char **ret_name);

/*
 * What was not the same from one run of a disk to its next: kernel, host, program, firmware, settings, temperature (by
 * ten degrees). A table "changes", a row for each change with the number of disks it came to; none, no table. res in
 * any order; is_pair: two of any disks, as they stand.
 */
void alike_changes(struct result *out, const struct result *const *res, size_t n, bool is_pair);
/*
 * Two scans by `surface`: a table "places" with a row for each place that stays slow or unreadable: new, gone, worse,
 * better, the same. Returns how many are new or worse. Of other measurements nothing.
 */
size_t places_compare(struct result *res, const struct result *a, const struct result *b);
/* All scans among these, in any order: a table "scans", a row for each with what is new, worse, gone since the scan
 * before it of that disk; none, no table. */
void places_trend(struct result *out, const struct result *const *res, size_t n);
/* Seconds, and years, since 1970 of "2026-11-20T12:00:00.123456Z"; NaN for anything else. And the order by it,
 * of pointers, for qsort(). */
double alike_seconds(const struct result *res);
double alike_years(const struct result *res);
int alike_by_date(const void *a, const void *b);

enum figure_role {
	FIGURE_MEASURED, /* by its interval, and not at all without one */
	FIGURE_EXACT,    /* the same, or different; text is this */
	/* a count of what should not be: none against some, and beyond that what chance cannot explain */
	FIGURE_TROUBLE,
	FIGURE_OF_RUN, /* what was asked, or happened to this run: not compared */
};
enum figure_role figure_role(const struct figure *f);
/* What it means when a figure has grown: "better", "worse", "different". */
const char *figure_judge(const struct figure *f, double change);

/* The standard error that its 95 % interval was made of, as of ten values; 0: it has none. */
double figure_error(const struct figure *f);

/* t with P(|T| > t) = p of Student's law. */
double two_sided_t(double p, double df);
/* The level of each of n looks that together raise a false alarm with this chance (Sidak 1967). */
double sidak_level(double alarms, size_t n);

/* ---- pairs.c ---- */

struct pairs {
	const struct result **v; /* of A, of B, of A ... */
	size_t n;                /* pairs */
	bool is_forced;
	char why[WHY_TEXT]; /* of the last that has no like */
};
/* What each document of A is compared with, the latest of its like with the latest; notices of those without any. */
void pairs_find(struct pairs *p, struct result *res, const struct result *const *a, size_t na,
                const struct result *const *b, size_t nb);
/* A notice of what is not the same of two single documents. */
void pair_notice(struct result *res, const struct result *a, const struct result *b);

/* A table whose rows are comparable: what makes two rows the same, or near (place, NULL: nothing); and the value with
 * its interval. */
struct curve_decl {
	const char *measurement, *table, *keys[4], *place, *value, *low, *high;
};
/* The one behind d of that measurement, or the first; NULL: no more. */
const struct curve_decl *curve_next(const struct curve_decl *d, const char *measurement);
/* The row of b that is as a row of a, the nearest of them where there are places; -1: none. */
long curve_same_row(const struct curve_decl *d, const struct table *a, size_t row, const struct table *b);
/* What may lie between two rows because of their places; INFINITY: they are too far apart. */
double curve_allowance(const struct curve_decl *d, const struct table *a, size_t row, const struct table *b,
                       size_t other);
/* Did the drive's own cache answer for too many of its samples? */
bool curve_is_of_cache(const struct table *t, size_t row);

/* ---- answer.c ---- */

struct comparison {
	const struct result *const *pair; /* two that were compared, or NULL: folders */
	const char *const *files;         /* of the two, or NULL */
	size_t differ;                    /* how many figures and places */
	bool is_open;
	double noise_percent, tolerance;
	const char *findings;
};
void answer_comparison(struct result *res, const struct table *differences, const struct comparison *c);

/* ---- trend.c ---- */

struct trend_row {
	const struct result *like;                                /* one of its documents */
	const char *label, *was, *is;                             /* for people */
	const char *measurement, *disk, *figure, *unit, *verdict; /* verdict: "steady", or what figure_judge() says */
	uint64_t documents;
	double first, last, per_year_percent, low, high, p;
	double step_percent; /* NaN, and since NULL: a line is what is seen, or nothing */
	const char *since;
};

/* How far figures scatter from run to run, by all disks: a look for each of a disk. */
struct fleet_scatter {
	struct scatter_look {
		const char *measurement, *figure;
		double variance, df;
	} * v;
	size_t n;
};

struct trend {
	struct result *out; /* gets notices; NULL: none */
	double threshold, level;
	void (*found)(void *arg, const struct trend_row *row);
	void *arg;
	size_t slopes;                 /* looks: a figure each; filled in */
	struct fleet_scatter *scatter; /* or NULL: a disk's own alone */
};
/* All slopes that there are: level 0 counts them, with their scatter, else found gets each. */
size_t trend_all(struct trend *tr, const struct result *const *res, size_t n);

/* Is the change of a year known so well that it is worth showing? */
bool trend_is_known(const struct trend_row *row);
/* "mean: -9.4 % a year (-12.1 to -6.7)", or since when there is a step. */
void trend_text(char *buf, size_t len, const char *label, const struct trend_row *row);
