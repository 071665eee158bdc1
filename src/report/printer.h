/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the page for people is printed with. Not a door. */
#pragma once

#include "report/report.h"

#define LINES_OF_ONE 12 /* below them it is one of several documents on a screen */

struct printer {
	FILE *out;
	const struct text_style *style;
	unsigned width;
	bool has_bits;   /* rates in bits beside */
	size_t rows;     /* of a table, from its first on; 0: many, and else a choice of them */
	unsigned spaces; /* owed: printed before the next text, forgotten at the end of a line */
};

enum look { LOOK_TITLE, LOOK_QUIET, LOOK_NOTE, LOOK_BAD };

void text_look(struct printer *p, enum look look);
void text_plain(struct printer *p);
void text_spaces(struct printer *p, unsigned n);
void text_put(struct printer *p, const char *text);
void text_printf(struct printer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_end(struct printer *p); /* of a line: none ends in spaces */
/* A heap copy that a terminal shows and does not obey. "" for NULL. */
char *text_printable(struct printer *p, const char *text);
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* heap */
size_t text_lines(const char *text);
/* Columns of text that is printable. */
unsigned text_width(const char *text);

/* Bytes of the words that a line of that many takes; at least one word. */
size_t text_line(const char *text, size_t room);
/* Words of printable text filled into lines; the first begins at column `at`, the others at `indent`. Ends the line. */
void text_fill(struct printer *p, const char *text, unsigned at, unsigned indent);

int report_end(FILE *out); /* 0, or what was not written: negative errno */

/* table.c, plot.c: a table; one over which a heat map is declared as a matrix for each series, false: it is none. */
void text_table(struct printer *p, const struct table *t);
bool text_matrix(struct printer *p, const struct result *res, const struct plot *plot);
