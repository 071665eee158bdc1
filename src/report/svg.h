/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plots as SVG: in a page, whose style sheet is theirs, too, and alone, in colours of their own. */
#ifndef PLATTER_REPORT_SVG_H
#define PLATTER_REPORT_SVG_H

#include <stdio.h>

#include "report/plotdata.h"

/* The drawing with its legend. d's series are thinned. Write errors show in ferror(out). */
void svg_plot(FILE *out, struct plot_data *d);

/*
 * A file of its own, light, for programs that know no variables: title, see (or NULL), what was measured, legend,
 * drawing. The picture can be turned into a PNG by any of them.
 */
void svg_alone(FILE *out, struct plot_data *d, const char *what, const char *see);

#define SVG_HUES   8
#define SVG_WIDTH  640.0
#define SVG_HEIGHT 340.0
#define SVG_LEFT   70.0
#define SVG_RIGHT  18.0
#define SVG_TOP    34.0
#define SVG_BOTTOM 58.0

/* Between pale and strong, as an attribute, where a style sheet cannot mix. */
void svg_heat(FILE *out, double part);

/* "--bg:#fff;...", for a style sheet; and the rules for what is in a drawing, with these variables or with the light
 * colours in their place. */
void svg_colours(FILE *out, bool is_dark);
void svg_style(FILE *out, bool is_fixed);

/* Text with &, <, >, quotes and control characters made harmless, for content and attributes. */
void markup_text(FILE *out, const char *text);

/* ---- map.c ---- */

#define MAP_HEAT_STEPS 4
/* What step i of the colours stands for. Returns buf. */
char *map_heat_text(const struct plot_data *d, int i, char *buf, size_t len);
const char *map_heat_label(const struct plot_data *d);
/* What light and dark stand for; opens the element that the maps are in. */
void map_legend(FILE *out, const struct plot_data *d);
void map_draw(FILE *out, const struct plot_data *d, const struct series *s);

#endif
