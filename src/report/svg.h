/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plots as SVG, in a page whose style sheet is theirs, too. */
#pragma once

#include <stdio.h>

#include "report/plotdata.h"

#define SVG_HUES 8

/* The drawing with its legend. d's series are thinned. Write errors show in ferror(out). */
void svg_plot(FILE *out, struct plot_data *d);
