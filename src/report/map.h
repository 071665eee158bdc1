/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heat maps: what they show, and as a picture. */
#ifndef PLATTER_REPORT_MAP_H
#define PLATTER_REPORT_MAP_H

#include <stdio.h>

#include "report/plotdata.h"

#define MAP_HEAT_STEPS 4
/* What step i of the colours stands for. Returns buf. */
char *map_heat_text(const struct plot_data *d, int i, char *buf, size_t len);
/* What a row or a column of the map stands for. Returns buf. */
char *map_level_text(const struct axis *a, double v, char *buf, size_t len);
const char *map_heat_label(const struct plot_data *d);
/* What light and dark stand for; opens the element that the maps are in. */
void map_legend(FILE *out, const struct plot_data *d);
/* The names of both axes. */
void map_axis_names(FILE *out, const struct plot_data *d);
/* All pairs of levels, row by row from the top; what was not measured has no number. Returns how many are in a row. */
size_t map_fill(struct series *s);
void map_draw(FILE *out, const struct plot_data *d, struct series *s);

#endif
