/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plots as SVG: in a page, whose style sheet is theirs, too, and alone, in colours of their own. */
#pragma once

#include <stdio.h>

#include "report/markup.h"
#include "report/plotdata.h"

/* The drawing with its legend. d's series are thinned. Write errors show in ferror(out). */
void svg_plot(FILE *out, struct plot_data *d);

/*
 * A file of its own, light, for programs that know no variables: title, see (or NULL), what was measured, legend,
 * drawing. The picture can be turned into a PNG by any of them.
 */
void svg_alone(FILE *out, struct plot_data *d, const char *what, const char *see);
