/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents to other forms. Knows documents, not measurements; never opens a device. */
#ifndef PLATTER_REPORT_REPORT_H
#define PLATTER_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "result/result.h"

struct text_style {
	unsigned width; /* columns of the terminal, 0: 80 */
	bool colour, unicode;
	bool plots; /* draw the document's plots with characters */
};

/* table.c. All return 0 or a negative errno (a failed write). */
int report_text(FILE *out, const struct result *res, const struct text_style *style);
/* Figures, then each table, as one CSV with a line "# table NAME" before each (RFC 4180 quoting). */
int report_csv(FILE *out, const struct result *res);

/* html.c: one self-contained page; results of one kind are overlaid. */
int report_html(FILE *out, const struct result *const *res, size_t n, struct err *err);
/* plot.c: one plot of the document with characters. */
int report_plot_text(FILE *out, const struct result *res, const struct plot *plot, const struct text_style *style);

/* A cell or figure for people: "183.2 MB/s", "8.33 ms"; "-" for null. Returns buf. */
char *report_value(char *buf, size_t len, enum field_type type, enum unit unit, const struct cell *cell);

#endif
