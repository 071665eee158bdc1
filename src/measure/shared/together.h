/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the documents of several hosts say together, for measurements that have a timeline: the window common to all,
 * histograms, gaps, the slow one. */
#ifndef PLATTER_MEASURE_TOGETHER_H
#define PLATTER_MEASURE_TOGETHER_H

#include "hosts/hosts.h"
#include "result/result.h"
#include "stats/stats.h"

/*
 * A histogram as it is, into table "histogram" of a host's document; and the sum of these of all hosts, or of one (host
 * < n), of all that there are where of is NULL. NULL: no memory.
 */
extern const struct field together_hist_fields[];
#define HISTOGRAM_TABLE                                        \
	{                                                      \
		"histogram", "Histogram", together_hist_fields \
	}
void together_tell_hist(struct result *res, const char *of, const struct hist *h);
struct hist *together_hist(const struct hosts_part *parts, size_t n, size_t host, const char *of);
/* The same of all hosts, beside the bars of each host, or of all where there are many. */
struct hist *together_distribution(const struct hosts_part *parts, size_t n, struct result *res);
/* Of one host, of its whole run: quantiles that can be told, in ns, else UINT64_MAX. */
uint64_t together_quantile(const struct hist *h, double q);

/* A table "timeline" with column time_s, the ends of steps that follow each other from the start. */
struct together_line {
	const char *rate, *latency; /* keys of what was done in each step, per second, and of what one took */
};

/* The time in which all hosts that began were at work, in s after the first start. */
struct together_window {
	bool is_known;
	double from_s, to_s;
};
/*
 * Finds it, and judges the hosts by their timelines in it: heap, one for each; NULL: no memory. Names those that are
 * slow as figures, and as a notice. Nobody is named where hosts have different disks.
 */
struct straggler *together_look(const struct hosts_part *parts, size_t n, const struct together_line *line,
                                struct together_window *ret, struct result *res);
/* Mean of a rate column within it; NaN: not known. */
double together_rate(const struct hosts_part *parts, size_t n, size_t host, const char *key,
                     const struct together_window *w);
/* A count of one document; UINT64_MAX: it has none. */
uint64_t together_count(const struct result *doc, const char *figure);
/* Adds up a figure over all documents; NaN: one of them does not have it. */
double together_sum(const struct hosts_part *parts, size_t n, const char *figure);
double together_most(const struct hosts_part *parts, size_t n, const char *figure);

/* Table "gaps": the rows of these tables (start_s, length_s) on one axis, with how many hosts had one at the time; and
 * figures of them. */
extern const struct field together_gap_fields[];
#define GAPS_TABLE                                  \
	{                                           \
		"gaps", "Gaps", together_gap_fields \
	}
void together_gaps(const struct hosts_part *parts, size_t n, const char *const *tables, double window_s,
                   struct result *res);

/* Plot "rate" of this column of "timeline", a line for each host. */
void together_plot_rate(struct result *res, const char *title, const char *y, const char *marks);

#endif
