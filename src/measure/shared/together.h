/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the documents of several hosts say together, for measurements that have a timeline: the window common to all, histograms, gaps, the slow one. */
#ifndef PLATTER_MEASURE_TOGETHER_H
#define PLATTER_MEASURE_TOGETHER_H

#include "hosts/hosts.h"
#include "result/result.h"
#include "stats/stats.h"

/* A histogram as it is, into table "histogram" of a host's document; and the sum of these of all hosts, or of one (host < n). NULL: no memory. */
extern const struct field together_hist_fields[];
#define HISTOGRAM_TABLE                                        \
	{                                                      \
		"histogram", "Histogram", together_hist_fields \
	}
void together_tell_hist(struct result *res, const char *of, const struct hist *h);
struct hist *together_hist(const struct hosts_part *parts, size_t n, size_t host, const char *of);

/* A table "timeline" with column time_s, the ends of steps that follow each other from the start. */
struct together_line {
	const char *rate, *latency; /* keys of what was done in each step, per second, and of what one took */
};

/* The time in which all hosts that began were at work, in s after the first start; false: there is none. */
bool together_window(const struct hosts_part *parts, size_t n, double *ret_from_s, double *ret_to_s);
/* Mean of a rate column within it; NaN: not known. */
double together_rate(const struct hosts_part *parts, size_t n, size_t host, const char *key, double from_s,
                     double to_s);
/* Adds up a figure over all documents; NaN: one of them does not have it. */
double together_sum(const struct hosts_part *parts, size_t n, const char *figure);
double together_most(const struct hosts_part *parts, size_t n, const char *figure);

/*
 * Judges the hosts by their timelines in the window; ret: one for each. Names those that are slow as figures, and as a notice. Nobody is named where
 * hosts have different disks.
 */
void together_stragglers(const struct hosts_part *parts, size_t n, const struct together_line *line, double from_s,
                         double to_s, struct straggler *ret, struct result *res);

/* Table "gaps": the rows of these tables (start_s, length_s) on one axis, with how many hosts had one at the time; and figures of them. */
extern const struct field together_gap_fields[];
#define GAPS_TABLE                                  \
	{                                           \
		"gaps", "Gaps", together_gap_fields \
	}
void together_gaps(const struct hosts_part *parts, size_t n, const char *const *tables, double window_s,
                   struct result *res);

#endif
