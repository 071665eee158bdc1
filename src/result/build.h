/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by result.c and load.c, which both build documents. Not a door. */
#ifndef PLATTER_RESULT_BUILD_H
#define PLATTER_RESULT_BUILD_H

#include "base/xalloc.h"
#include "result/result.h"

/* Makes room for one more element in v of n. Arrays double, so n alone shows when one is full. */
void *build_grow(void *v, size_t n, size_t size);
/* Sets or replaces a figure; takes over the text of f.value, copies name and label. */
void build_figure(struct result *res, const char *name, const char *label, struct figure f);

/* Frees what the plot holds. */
void build_plot_done(struct plot *p);
/* The same, and reports that it is left out. */
void build_drop_plot(struct result *res, struct plot *plot);

#endif
