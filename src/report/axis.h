/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of a plot, and its axes: range, unit and ticks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

#define AXIS_TICKS 16

struct axis {
	enum unit unit;
	bool is_log;
	double low, high; /* in base units; low < high; on a log axis low > 0 */
	double scale;     /* shown = value / scale */
	char label[128];  /* "position (GB)" */
	double tick[AXIS_TICKS];
	size_t nticks;
	int decimals;              /* of tick labels */
	struct value_scale levels; /* of a map: of its rows or columns */
};

/* Range, scale and ticks for values in [low, high]; name and unit are there. from_zero: a bar or rate axis that starts
 * at 0; has_units: its ticks or cells have units of their own. */
void axis_init(struct axis *a, bool is_log, double low, double high, bool from_zero, bool has_units);
/* Place of a value on the axis, 0..1; clipped. */
double axis_place(const struct axis *a, double value);
/* "183.2", "40" for tick i; buf of 32. */
char *axis_tick_text(const struct axis *a, size_t i, char *buf, size_t len);

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
