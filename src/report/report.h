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

/*
 * compare.c: both make a new document (measurement "compare" or "trend") that every renderer takes; its verdict_is_no says that something differs
 * (compare) or gets worse (trend). Documents are matched by measurement and disk (serial, else model, else path).
 */
struct compare_options {
	double threshold; /* relative; smaller differences do not count even when they are sure */
};
int report_compare(const struct result *const *a, size_t na, const struct result *const *b, size_t nb,
                   const struct compare_options *opt, struct result **ret, struct err *err);
/* Is this disk degrading: every figure of documents of one disk and measurement against the date. At least three dates. */
int report_trend(const struct result *const *res, size_t n, const struct compare_options *opt, struct result **ret,
                 struct err *err);

/* A cell or figure for people: "183.2 MB/s", "8.33 ms"; "-" for null. Returns buf. */
char *report_value(char *buf, size_t len, enum field_type type, enum unit unit, const struct cell *cell);

#endif
