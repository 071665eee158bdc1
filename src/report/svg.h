/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plots as inline SVG. Colours and type come from the page's style sheet (html.c) by class. */
#ifndef PLATTER_REPORT_SVG_H
#define PLATTER_REPORT_SVG_H

#include <stdio.h>

#include "report/plotdata.h"

/* The drawing with its legend. d's series are thinned. Write errors show in ferror(out). */
void svg_plot(FILE *out, struct plot_data *d);

/* Text with &, <, >, quotes and control characters made harmless, for content and attributes. */
void markup_text(FILE *out, const char *text);

#endif
