/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of a plot, and its axes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "report/axis.h"

/* x always grows to the right; x_end is used by bands and histograms, z by heat maps. NaN: absent. */
struct point {
	double x, y, low, high, x_end, z;
};

struct series {
	char *name;
	struct point *v;
	size_t n;
	size_t document; /* index of the document it came from */
	bool is_dots;    /* behind the lines of a plot: points that are not joined */
};

/* Places or stretches along x that a reader should see: slow regions, overflows, the end of the cache. */
struct marks {
	char *name;
	double (*v)[2]; /* first and last; the same for a place */
	size_t n;
	bool is_unread; /* stretches that the run did not reach */
};

struct plot_data {
	enum plot_kind kind;
	char *title;
	struct series *series;
	size_t nseries;
	struct marks *marks; /* with something in them */
	size_t nmarks;
	struct axis x, y, z;
	char **names; /* bars: what stands at x = 0, 1, 2 ... */
	size_t nnames;
	bool is_unicode;  /* what shows its texts */
	bool is_by_place; /* x is the disk, from its first byte to its last */
	double cell;      /* of a map of places, row by row: bytes of a cell; NaN: of anything else */
};

/* All three, of the numbers that are there; of places the axis is the disk. */
void plot_make_axes(struct plot_data *d, const struct result *const *res, size_t n);
/* Where the bar at point i ends. */
double plot_bar_end(const struct plot_data *d, const struct series *s, size_t i);
