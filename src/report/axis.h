/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Axes of plots: range, unit and ticks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

#define AXIS_TICKS 16

struct axis {
	enum unit unit;
	bool is_log;
	double low, high;   /* in base units; low < high; on a log axis low > 0 */
	double scale;       /* shown = value / scale */
	const char *suffix; /* "MB/s", "ms", "" */
	char label[128];    /* "position (GB)" */
	double tick[AXIS_TICKS];
	size_t nticks;
	int decimals;              /* of tick labels */
	struct value_scale levels; /* of a map: of its rows or columns */
};

/* Place of a value on the axis, 0..1; clipped. */
double axis_place(const struct axis *a, double value);
/* "183.2", "40" for tick i; buf of 32. */
char *axis_tick_text(const struct axis *a, size_t i, char *buf, size_t len);
/* Chooses low, high, ticks, scale, label for values in [low, high]; from_zero: a bar or rate axis that starts at 0. */
void axis_init(struct axis *a, const char *label, enum unit unit, bool is_log, double low, double high, bool from_zero);
