/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between printer.c, table.c, pivot.c, text.c, screen.c and page.c, which make the page for people together, each with
 * those before it. Not a door. */
#ifndef PLATTER_REPORT_TEXT_H
#define PLATTER_REPORT_TEXT_H

#include "report/report.h"

#define LINES_OF_ONE 12 /* below them it is one of several documents on a screen */

struct printer {
	FILE *out;
	const struct text_style *style;
	unsigned width;
	bool is_streaming;
	size_t rows;     /* of a table, from its first on; 0: many, and else a choice of them */
	unsigned spaces; /* owed: printed before the next text, forgotten at the end of a line */
};

enum look { LOOK_TITLE, LOOK_QUIET, LOOK_NOTE, LOOK_BAD };

/* ---- printer.c ---- */

void text_look(struct printer *p, enum look look);
void text_plain(struct printer *p);
void text_spaces(struct printer *p, unsigned n);
void text_put(struct printer *p, const char *text);
void text_printf(struct printer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_end(struct printer *p); /* of a line: none ends in spaces */
/* A heap copy that a terminal shows and does not obey; NULL only when out of memory. "" for NULL. */
char *text_printable(struct printer *p, const char *text);
size_t text_lines(const char *text);
/* Columns of text that is printable. */
unsigned text_width(const char *text);

/* ---- text.c: the parts of the page ---- */

/* Words of printable text filled into lines; the first begins at column `at`, the others at `indent`. Ends the line. */
void text_fill(struct printer *p, const char *text, unsigned at, unsigned indent);
int text_head(struct printer *p, const struct result *res);
/* When, for how long, with which engine and seed. */
int text_circumstances(struct printer *p, const struct result *res);
/* The sentence of how it ended, if it did not well. */
void text_status(struct printer *p, const struct result *res);
int text_figures(struct printer *p, const struct figure *const *v, size_t n);
int text_table_of(struct printer *p, const struct result *res, const struct table *t);
bool text_is_for_files(const struct table *t); /* nothing but details: for files and pictures */
int text_faults(struct printer *p, const struct result *res);
void text_note(struct printer *p, const char *text); /* printable text */

/* ---- screen.c ---- */

/* The document in style->lines lines: the answer, a picture, the figures and tables that it shows, faults and notices;
 * and how much more there is. */
int text_screen(struct printer *p, const struct result *res);

/* ---- verdictpage.c ---- */

/* The page of `check`. */
int text_verdict(struct printer *p, const struct result *res);
/* What any other document shows of a disk, by the same rules: nothing, or the verdict and its reasons. */
int text_verdict_of(struct printer *p, const struct result *res);
/* Of several disks: a row for each, the worst first. */
int text_verdicts(struct printer *p, const struct result *const *res, size_t n);

/* ---- table.c, pivot.c ---- */

/* 0 or -ENOMEM. */
int text_table(struct printer *p, const struct table *t);
/* The table as the matrix that the plot makes of it; *ret_is_done false: it is none, nothing was printed. */
int text_matrix(struct printer *p, const struct table *t, const struct plot *plot, bool *ret_is_done);

#endif
