/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plots as SVG: in a page, whose style sheet is theirs, too, and alone, in colours of their own. */
#pragma once

#include <stdio.h>

#include "report/markup.h"
#include "report/plotdata.h"

/* The drawing with its legend. d's series are thinned. Write errors show in ferror(out). */
void svg_plot(FILE *out, struct plot_data *d);
