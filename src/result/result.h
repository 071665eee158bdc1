/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document: one self-describing result per run (platter-json(5)). Measurements fill it, json.c saves and loads it,
 * report/ renders it without knowing measurements. Strings given to these functions are copied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/desc.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/samedisk.h"
#include "stats/stats.h"

enum result_status {
	STATUS_COMPLETE,
	STATUS_WITH_ERRORS,
	STATUS_ENDED_EARLY, /* well, but short of its end */
	STATUS_CANCELLED,
	STATUS_DEVICE_GONE,
	STATUS_FAILED,
	STATUS_RUNNING, /* saved meanwhile: if the program was killed, the last that there is */
	STATUS_N,
};

struct cell { /* type is the column's; is_null wins */
	bool is_null;
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		char *str;
	};
};

struct column {
	char *key, *label;
	enum field_type type;
	enum unit unit;
	bool detail;
	size_t offset; /* of the struct member that feeds it; only while measuring */
};

struct table {
	char *name, *title;
	struct column *columns;
	size_t ncolumns;
	struct cell *cells; /* row-major */
	size_t nrows, room;
	const struct field *fields; /* NULL in loaded documents */
	struct result *owner;       /* gets the notice when rows are dropped */
	size_t rows_max;            /* 0: RESULT_ROWS_MAX */
};

struct figure {
	char *name, *label;
	enum field_type type;
	enum unit unit;
	struct cell value;
	struct interval ci; /* NaN: none */
	uint64_t samples;   /* 0: not a sample figure */
};

struct result_fault {
	char *target;
	char *op; /* "read", "write", "flush" */
	uint64_t offset_bytes, length_bytes;
	int64_t result;
	char *errno_name; /* NULL: a short transfer */
	double time_s;    /* since the start */
};
struct fault_total {
	char *name; /* "EIO", "short" */
	uint64_t n;
};

struct notice {
	char *code, *text; /* code for scripts ("other-io"), text: a whole sentence that says what to do */
};

enum plot_kind { PLOT_LINE, PLOT_SCATTER, PLOT_STEP, PLOT_BARS, PLOT_HEATMAP, PLOT_POLAR, PLOT_HISTOGRAM, PLOT_BANDS };
/*
 * kind: "line" and so on, see result_plot_kind(); y may list several keys, comma-separated; series: a key that splits
 * rows into lines. In code the texts are anyone's, in a document on the heap.
 */
struct plot {
	const char *name; /* unique within the document, or NULL in documents of older versions, as is see */
	const char *see;  /* a sentence: what to see in it */
	const char *kind, *title, *table, *x, *y, *series;
	const char *low, *high; /* keys of the interval of y, or NULL */
	const char *dots;       /* "table:x:y", rows that are dots behind the lines, or NULL */
	/*
	 * What is marked along x, or NULL: "table:first" for places, "table:first:last" or "table:first:+length" for
	 * stretches, "figures:name" for one place; several with commas between them.
	 */
	const char *marks;
};

struct option_value { /* options in force, as a user would type them */
	char *name, *text;
};

struct target_info { /* flat name/value pairs, typed like cells, from device_fields */
	struct column *columns;
	struct cell *cells;
	size_t n;
};

struct result_host {
	char *name, *machine_id, *kernel, *machine, *cpu;
	uint64_t cpus, memory_bytes;
};
struct result_head {
	char *measurement, *program, *started, *clock, *engine;
	char **argv;
	size_t argc;
	double elapsed_s;
	struct result_host host;
	uint64_t seed;
	struct option_value *options;
	size_t noptions;
};

struct result {
	enum result_status status;
	/* Exit status 5, and 6: the run cannot tell. Not part of the document, whose figures show it. 5 wins. */
	bool verdict_is_no, verdict_is_open;
	struct result_head head;
	struct target_info *targets;
	size_t ntargets;
	struct table **tables;
	size_t ntables;
	struct figure *figures;
	size_t nfigures;
	/* the first RESULT_FAULTS_MAX, to look at; fault_totals counts all */
	struct result_fault *faults;
	size_t nfaults;
	struct fault_total *fault_totals;
	size_t nfault_totals;
	struct notice *notices;
	size_t nnotices;
	struct plot *plots;
	size_t nplots;
	/* The first screen: the answer in a sentence; then the figures and tables (with # before the name) that answer
	 * the user's question, comma-separated. NULL: not given. */
	char *answer, *shows;
};

#define RESULT_FAULTS_MAX  1000
#define RESULT_NOTICES_MAX 100 /* with the same code; one more reports that there were more */
/*
 * Of all codes together, since they are compared with each other. Clauses and verdicts look codes up: one run can meet
 * fewer than 100.
 */
#define RESULT_NOTICES_ALL (100 * (RESULT_NOTICES_MAX + 1))
#define RESULT_ROWS_MAX \
	20000 /* per table; more is dropped with a notice. What a run goes on from sets rows_max instead */

/*
 * Out of memory ends the program in these (abort with a message), as there is nothing sensible to measure then. Text
 * that is not UTF-8 is made so: each bad byte becomes U+FFFD.
 */

/* Fills in head.program; the status is "failed" until it is set. */
struct result *result_new(const char *measurement);
void result_free(struct result *res);

/* A heap copy in UTF-8; NULL for NULL. For strings of the document that have no function of their own (head, host). */
char *result_strdup(const char *text);
/* *member = copy of text, and frees what was there: result_set(&res->head.engine, "uring"). */
void result_set(char **member, const char *text);
void result_argv(struct result *res, const char *const *argv, size_t argc);

/* Returns the table of that name, made from fields on first use; and the same without rows. */
struct table *result_table(struct result *res, const char *name, const char *title, const struct field *fields);
struct table *result_table_anew(struct result *res, const char *name, const char *title, const struct field *fields);
void result_table_clear(struct table *t);
void result_row(struct table *t, const void *row_struct);
const struct table *result_find_table(const struct result *res, const char *name);
/* Column index of key, -1: none. */
int table_column(const struct table *t, const char *key);
/* Number in a cell as double; NaN when null or text. */
double table_number(const struct table *t, size_t row, size_t col);
double table_number_of(const struct table *t, size_t row, const char *key); /* NaN also when there is no such column */
const char *table_string(const struct table *t, size_t row, size_t col);    /* NULL when null or no text */
const char *table_string_of(const struct table *t, size_t row, const char *key); /* and without such a column */
/*
 * The opposite of result_row(): a row of any table, also of a loaded one, as the struct that fields describe, column by
 * column by its key. What is null or not there is null in the struct, too. Texts stay the table's.
 */
void table_row(const struct table *t, size_t row, const struct field *fields, void *ret_struct);

/* Setting a figure again replaces it. label may be NULL. ci NULL, or from zero on for a rate: no interval; it is
 * made no narrower than the clock allows, and a time's begins at zero. NaN value: null. */
void result_figure(struct result *res, const char *name, const char *label, enum unit unit, double value,
                   const struct interval *ci, uint64_t samples);
void result_estimate(struct result *res, const char *name, const char *label, enum unit unit,
                     const struct stats_estimate *e);
void result_figure_u64(struct result *res, const char *name, const char *label, enum unit unit, uint64_t value);
void result_figure_text(struct result *res, const char *name, const char *label, const char *text); /* NULL: null */
const struct figure *result_find_figure(const struct result *res, const char *name);
double figure_number(const struct figure *f); /* NaN when NULL, null or text */
bool figure_equals(const struct figure *a,
                   const struct figure *b); /* value, interval and number of samples, as files have them */
/* Figures and tables of part go into res, in the place of those of the same name; part is freed. */
void result_take(struct result *res, struct result *part);
/*
 * join.c: moves all of part into res and frees part, which began after_s later. A figure or table that res already has
 * gets the part's name in front: "buffer_interface_bytes_per_s".
 */
void result_join(struct result *res, struct result *part, double after_s);

void result_fault(struct result *res, const char *target, const char *op, uint64_t offset_bytes, uint64_t length_bytes,
                  int64_t result, double time_s);
/* Errors of the disk. */
uint64_t result_fault_count(const struct result *res);
/* Requests that met a limit of the file system (it is full, a quota, the largest file), or that the kernel refused: no
 * fault of a disk. */
uint64_t result_limit_count(const struct result *res);
/* The same code may be given several times, up to RESULT_NOTICES_MAX; equal code and text once; of all codes
 * RESULT_NOTICES_ALL. */
void result_notice(struct result *res, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool result_has_notice(const struct result *res, const char *code);
void result_plot(struct result *res, const struct plot *plot); /* copied; unused members NULL */
/* -1: none of ours. */
int result_plot_kind(const char *name);
/* Are its table and the columns of x and y there? Others are neither saved nor loaded. */
bool result_plot_is_whole(const struct result *res, const struct plot *plot);
void result_option(struct result *res, const char *name, const char *text);
/* As it was in force; NULL: the run has none of that name, or it had no value. */
const char *result_option_text(const struct result *res, const char *name);
/* Adds a target from a struct and its fields. */
void result_target(struct result *res, const void *target_struct, const struct field *fields);
/* A target's value under this key, and its type; NULL: absent, null, or t is NULL. The others: a text that is not
 * empty, else NULL; a number, else NaN. */
const struct cell *target_cell(const struct target_info *t, const char *key, enum field_type *ret_type);
const char *target_text(const struct target_info *t, const char *key);
double target_number(const struct target_info *t, const char *key);
bool target_is_file(const struct target_info *t); /* or a directory */
/* Of the disk of a target, or below it; its texts are the document's. */
void result_names(const struct result *res, size_t target, struct disk_names *ret);
/* What people call a column, figure or table: its label, or the name that scripts have for it. */
const char *label_or_name(const char *label, const char *name);

const char *status_name(enum result_status s);
const char *unit_name(enum unit u);
enum unit unit_by_name(const char *name); /* UNIT_NONE when unknown */
enum unit unit_by_key(const char *key);   /* what the ending says: "offset_bytes" */
/* A cell as files have it: base unit, the shortest text that reads back as that number: "1.5", "5.0"; "" for null. */
const char *result_cell_text(char *buf, size_t len, enum field_type type, const struct cell *cell);
#define CELL_TEXT 32 /* enough for numbers; strings are not copied into buf */

/* ---- json.c, save.c, load.c: platter-json(5) ---- */

#define RESULT_SCHEMA  "platter-result"
#define RESULT_VERSION 1

/* Whole document as text (heap, free it). */
char *result_to_json(const struct result *res);
char *result_to_line(const struct result *res); /* the same on one line */
/* What outfile_save() wants to write a document; the same with text that was made before. */
int result_write(FILE *f, void *res);
int result_save_text(char *text, struct outfile *f, struct err *err);
/* The document as one line at the end of a file, in one write, so that several may append: JSON Lines. 0, or negative
 * errno and a sentence. */
int result_append(const struct result *res, struct outfile *f, struct err *err);
/* Any version-1 document; unknown members are kept out of the way, not an error. */
int result_load(struct result **ret_res, const char *path, struct err *err);
/*
 * load.c: of a text; and what it was, where it is not a document. Records are how a run went while it went
 * (--progress=json), beside the documents of --jsonl.
 */
enum json_kind { JSON_DAMAGED, JSON_FOREIGN, JSON_RECORD };
int result_read(struct result **ret, const char *text, size_t len, enum json_kind *ret_kind, struct err *err);
/* The largest document of platter's own is well below; a tree in memory takes up to thirty times its text. */
#define DOCUMENT_BYTES_MAX (64u << 20)
int result_from_json(struct result **ret_res, const char *text, size_t len, struct err *err);
