/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long requests took, as a table that does not grow with their number, and the two pictures of it. */
#pragma once

#include "result/result.h"

extern const struct field distribution_fields[];
/* For a measurement's list of tables. */
#define DISTRIBUTION_TABLE                                                   \
	{                                                                    \
		"distribution", "Distribution of times", distribution_fields \
	}

void distribution_clear(struct result *res);
/* The bars of h (hist_bars); of: whose, or NULL when there is one only. */
void distribution_add(struct result *res, const char *of, const struct hist *h);
struct distribution_quantile {
	double q;
	const char *name, *label; /* of the figure */
};
/* Quantiles as figures, null where the sample cannot carry them; is_independent: with intervals by order statistics. */
void distribution_figures(struct result *res, const struct distribution_quantile *qs, size_t n, const struct hist *h,
                          bool is_independent);
/*
 * "How long THINGS took", and the share of them that was done within a time. marks: figures to mark in both,
 * "figures:NAME,figures:NAME".
 */
void distribution_plots(struct result *res, const char *things, const char *marks);
