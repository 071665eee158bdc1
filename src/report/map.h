/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands for what in a plot, and heat maps. */
#pragma once

#include <stdio.h>

#include "report/plotdata.h"

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
/* The names of both axes. */
void map_axis_names(FILE *out, const struct plot_data *d);
/* All pairs of levels, row by row from the top; what was not measured has no number. Returns how many are in a row. */
size_t map_fill(struct series *s);
void map_draw(FILE *out, const struct plot_data *d, struct series *s);
