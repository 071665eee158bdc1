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

#define SVG_HUES 8

/* "--bg:#fff;...", for a style sheet; and the rules for what is in a drawing, with these variables or with the light
 * colours in their place. */
void svg_colours(FILE *out, bool is_dark);
void svg_style(FILE *out, bool is_fixed);

/* Text with &, <, >, quotes and control characters made harmless, for content and attributes. */
void markup_text(FILE *out, const char *text);

#endif
