/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents to other forms. Knows documents, not measurements; never opens a device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "result/result.h"

struct text_style {
	unsigned width; /* columns of the terminal, 0: 80 */
	bool colour, unicode;
	bool plots;     /* draw all the document's plots with characters */
	unsigned lines; /* at most, with one of the plots: the first screen; 0: all there is */
};

struct compare_options {
	double threshold;         /* relative; smaller differences do not count even when they are sure */
	struct fleet **ret_disks; /* NULL, or gets what report_changes_page() needs: fleet_free() it */
	double tolerance; /* relative; two are the same when their difference is surely smaller; 0: COMPARE_TOLERANCE */
	const char *const *files; /* of A and B, or NULL */
};
/*
 * A choice: what a person would not act on; two disks of one model differ by as much in the rates of their outer
 * tracks.
 */
#define COMPARE_TOLERANCE 0.05
struct fleet;
void fleet_free(struct fleet *f);

/* Of the first screen: what a person takes in without scrolling. */
#define SCREEN_LINES 40
#define SCREEN_LEAST 20 /* of a terminal that has fewer than that */

/* screen.c, csv.c. All return 0 or a negative errno (a failed write). */
int report_text(FILE *out, const struct result *res, const struct text_style *style);
/* Of several documents of `check` a row for each disk, the worst first, in style->lines lines. */
int report_verdicts(FILE *out, const struct result *const *res, size_t n, const struct text_style *style);
/*
 * Figures, then each table, as one CSV with a line "# table NAME" before each (RFC 4180 quoting). Of several documents
 * each row begins with whose it is.
 */
int report_csv(FILE *out, const struct result *const *res, size_t n);
/* A text of such a file, quoted where it has to be. */
void report_csv_text(FILE *out, const char *text);

/*
 * prometheus.c: the figures of all documents as OpenMetrics text, for node_exporter's textfile collector; of several of
 * one disk the latest. threshold: as of compare, for the verdict on each disk; NaN: without that.
 */
int report_prometheus(FILE *out, const struct result *const *res, size_t n, double threshold);

/* html.c: one self-contained page; results of one kind are overlaid. */
int report_html(FILE *out, const struct result *const *res, size_t n, struct err *err);
/* The same, but of two disks or more, or of more documents than fit, it begins with a row for each disk; of more than
 * fit there is nothing else. */
int report_page(FILE *out, const struct result *const *res, size_t n, const struct compare_options *opt,
                struct err *err);
/* svg.c: the plot of that name, documents of one measurement laid over each other, as an SVG file; -EINVAL: there
 * is none. */
int report_picture(FILE *out, const struct result *const *res, size_t n, const char *name);
/* Is there one? 0, or -EINVAL with the names there are. */
int report_picture_check(const struct result *const *res, size_t n, const char *name, struct err *err);
/* plot.c: a plot with characters, of n documents laid over each other, in style->lines (nothing, where these do not
 * do); and all plots of documents of one measurement. */
void report_plot_text(FILE *out, const struct result *const *res, size_t n, const struct plot *plot,
                      const struct text_style *style);
void report_plots_text(FILE *out, const struct result *const *res, size_t n, const struct text_style *style);

/*
 * compare.c and trend.c: both make a new document (measurement "compare" or "trend") that every renderer takes; its
 * verdict_is_no says that something differs (compare) or gets worse (trend). Which documents belong together: alike.c.
 */
int report_compare(const struct result *const *a, size_t na, const struct result *const *b, size_t nb,
                   const struct compare_options *opt, struct result **ret, struct err *err);
/* Is this disk degrading: figures of documents of one disk and measurement against the date. At least three dates. */
int report_trend(const struct result *const *res, size_t n, const struct compare_options *opt, struct result **ret,
                 struct err *err);

/* fleetpage.c: a comparison or trend as one page; of several disks it begins with a row for each. The documents that it
 * was made of must still be there. */
int report_changes_page(FILE *out, const struct result *found, const struct fleet *disks, struct err *err);

/*
 * history.c: into res, what has become worse since the earlier documents of the same measurement of its disk that are
 * among these: figures "earlier_runs", "worse_figures", "worse_most", "damage_since". false: there are none.
 */
bool report_history(struct result *res, const struct result *const *earlier, size_t n);

/*
 * fleet.c: a row for each disk of the documents, with what was found about it: a new document (measurement "fleet");
 * its verdict_is_no says that one is going bad. Documents of files, and of several disks at once, have no row.
 */
struct result *report_fleet(const struct result *const *res, size_t n, const struct compare_options *opt);
/*
 * Does none of the others, of the same measurement and disk, show more of it: a later one that came to its end; and of
 * one cut short that saw no harm, any that did?
 */
bool report_is_last(const struct result *const *res, size_t n, size_t at);
/* How many rows that would be. */
size_t report_fleet_disks(const struct result *const *res, size_t n);

/* What this asks of the program around it, which knows the tables of options: cli/common.c. */
enum option_kind {
	OPTION_UNKNOWN, /* in none of them */
	OPTION_ASIDE,   /* the figures are the same without it */
	OPTION_DEFAULT,
	OPTION_GIVEN,
};
enum option_kind report_option_kind(const struct result *res, const struct option_value *v);

/* ---- value.c: numbers for people ---- */

/* A cell or figure for people: "183.2 MB/s", "8.33 ms"; "-" for null. Text is made printable. Returns buf. */
char *report_value(char *buf, size_t len, enum field_type type, enum unit unit, const struct cell *cell);
/* The same of a number. */
char *report_f64(char *buf, size_t len, enum unit unit, double value);
/* The value of a figure; of a question that it answers: yes or no. */
char *report_figure(char *buf, size_t len, const struct figure *f);

/* How numbers that stand together are shown: a column, an axis. */
struct value_scale {
	double divisor;
	const char *unit; /* "MB/s"; "" when there is none */
	int decimals;
	bool is_mixed;  /* each number has its own unit ("512 B", "4.00 TB"): none in the heading */
	enum unit kind; /* what the numbers are */
};
/* Chosen by the n numbers (NaNs are passed over). x is left as it is. */
struct value_scale report_scale(enum unit unit, const double *x, size_t n);
/* For one value known to +- half_width: two digits of the half-width, and the value to the same place. */
struct value_scale report_scale_of(enum unit unit, double value, double half_width);
/* The number alone, in the scale's unit ("183.2"), or with its own when mixed; "-" when not finite. Returns buf. */
char *report_number(char *buf, size_t len, const struct value_scale *scale, double value);
/* The same with its unit: "183.2 MB/s". */
char *report_with_unit(char *buf, size_t len, const struct value_scale *scale, double value);
/* A figure in parts that stand beside each other: "7200.00", "rpm", "± 0.11"; "": there is none. */
struct report_parts {
	char number[64], unit[16], interval[64];
};
void report_parts(const struct figure *f, bool unicode, struct report_parts *ret);
/*
 * All text of documents goes through this wherever it goes: *text goes on behind its first character (or byte, where
 * that is not UTF-8), and *ret_shown is what stands for it: itself, or a question mark for what a terminal would obey.
 * Returns the bytes of that.
 */
size_t report_char(const char **text, const char **ret_shown);
/* All of it, and other text in the place of a character that escaped() has one for; NULL: of none. */
void report_put(FILE *out, const char *text, const char *(*escaped)(char c));
/* Text that a terminal shows and does not obey; cut to width columns (0: not cut). Returns its width. */
unsigned report_printable(char *buf, size_t len, const char *text, unsigned width, bool unicode);
/* The same on the heap; "" for NULL. */
char *report_shown(const char *text, unsigned columns, bool unicode);
