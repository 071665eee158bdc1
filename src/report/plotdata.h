/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a plot shows, taken out of documents: the same for SVG and for the terminal. A plot of the document names a
 * table and columns; here they become numbers in series, axes with sensible ticks, and names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/axis.h"

/*
 * The plot of res[0] with the same plot of the others laid over it. NULL when the table or a column is missing or there
 * is nothing to be drawn; *ret is heap, plot_data_free() it. Its texts are such as a terminal shows and does not obey.
 */
struct plot_data *plot_data_new(const struct result *const *res, size_t n, const struct plot *plot, bool is_unicode);
void plot_data_free(struct plot_data *d);
/* Has an earlier document, or this one before, a plot of the same columns? Then plot_data_new() of that has shown this
 * one, too. */
bool plot_is_repeated(const struct result *const *res, size_t which, size_t i);
/* Is there anything to be drawn of plot i of that document, that was not drawn before? */
bool plot_has_points(const struct result *const *res, size_t which, size_t i);
/* At most about max points of a series, keeping the extremes of what is left out (so that a dip of one point stays
 * visible). */
void plot_thin(struct series *s, size_t max);

/* Is one of the marks in this cell of a map of places? */
bool plot_is_marked(const struct plot_data *d, const struct point *p);

/* What distinguishes documents: model and serial, and the date when they agree in both. buf of 160. */
char *document_label(const struct result *const *res, size_t n, size_t which, char *buf, size_t len);

/* ---- what stands for what ---- */

#define MAP_HEAT_STEPS 4
/* What step i of the colours stands for. Returns buf. */
char *map_heat_text(const struct plot_data *d, int i, char *buf, size_t len);
/* What a row or a column of the map stands for. Returns buf. */
char *map_level_text(const struct axis *a, double v, char *buf, size_t len);
const char *map_heat_label(const struct plot_data *d);

/* Of a legend: one of several series; a mark; behind them, of a map, what its colours are, and each of these. */
struct plot_key {
	const char *name;
	bool is_series, is_mark;
	size_t at;   /* which of these */
	double heat; /* NaN: no colour of a map */
	char text[64];
};
/* The i-th; false: there are no more. */
bool plot_key(const struct plot_data *d, size_t i, struct plot_key *ret);
/* All pairs of levels, row by row from the top; what was not measured has no number. Returns how many are in a row. */
size_t map_fill(struct series *s);
