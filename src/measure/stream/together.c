/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `stream` of many hosts: rates over the time that all have in common, rings that all have to hold, gaps that they
 * share, the one that is slow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/shared/distribution.h"
#include "measure/shared/together.h"
#include "measure/stream/stream.h"

static uint64_t bytes_of(const struct result *doc)
{
	const struct table *t = result_find_table(doc, "targets");
	int col = t ? table_column(t, "bytes") : -1;
	uint64_t sum = 0;

	for (size_t i = 0; col >= 0 && i < t->nrows; i++)
		sum += t->cells[i * t->ncolumns + (size_t)col].u64;
	return sum;
}

/* A row for each host that came to an end; returns the rate of all. */
static double tell_shares(const struct hosts_part *parts, size_t n, const struct together_window *w,
                          const struct straggler *slow, struct result *res)
{
	struct table *t = result_table(res, "shares", "Host by host", stream_share_fields);
	double all = 0;
	uint64_t moved = 0;

	for (size_t i = 0; i < n; i++) {
		const struct result *doc = parts[i].doc;
		cleanup_free struct hist *h = doc ? together_hist(parts, n, i, "response") : NULL;
		struct stream_share row = { .host = parts[i].name, .slowness = slow[i].ratio, .chance = slow[i].p };

		if (!doc || !h)
			continue;
		row.bytes = bytes_of(doc);
		row.rate_bytes_per_s = together_rate(parts, n, i, "rate_bytes_per_s", w);
		row.peak_ratio = figure_number(result_find_figure(doc, "peak_ratio"));
		row.response_p50_ns = h->count ? hist_quantile(h, 0.5) : UINT64_MAX;
		row.response_p99_ns = together_quantile(h, 0.99);
		row.response_max_ns = h->count ? h->max : UINT64_MAX;
		row.overflows = together_count(doc, "overflows");
		row.sustained = together_count(doc, "sustained");
		if (parts[i].has_start)
			all += row.rate_bytes_per_s;
		moved += row.bytes;
		result_row(t, &row);
	}
	result_figure_u64(res, "moved_bytes", "moved by all", UNIT_BYTES, moved);
	return all;
}

/* All have to hold, and to be there. */
static void tell_rings(const struct hosts_part *parts, size_t n, struct result *res)
{
	double requested = together_sum(parts, n, "requested_bytes_per_s"),
	       lost = figure_number(result_find_figure(res, "hosts_lost"));
	double sustained = 0, open = 0, living = 0, first_s = INFINITY;
	char names[400] = "", text[600], rate[32];

	if (isnan(requested))
		return; /* as fast as it goes */
	for (size_t i = 0; i < n; i++) {
		double at_s = parts[i].doc ? figure_number(result_find_figure(parts[i].doc, "first_overflow_s"))
		                           : (double)NAN;

		if (!parts[i].doc)
			continue;
		living++;
		first_s = fmin(first_s, at_s + hosts_began_s(parts, n, i));
		if (together_count(parts[i].doc, "sustained") == 1)
			sustained++;
		else if (isnan(figure_number(result_find_figure(parts[i].doc, "sustained"))))
			open++;
		else if (strlen(names) + HOST_NAME_BYTES < sizeof(names))
			(void)snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", *names ? ", " : "",
			               parts[i].name);
	}
	result_figure(res, "requested_bytes_per_s", "rate asked for, all together", UNIT_BYTES_PER_S, requested, NULL,
	              0);
	/* Nobody knows of a host that was lost or cannot tell; that one did not hold is known anyhow. */
	result_figure(res, "sustained", "sustained by all", UNIT_COUNT,
	              sustained + open < living ? 0.0
	              : lost > 0 || open > 0    ? (double)NAN
	                                        : 1.0,
	              NULL, 0);
	result_figure(res, "hosts_sustained", "hosts that held", UNIT_COUNT, sustained, NULL, 0);
	result_figure(res, "peak_ratio", "peak as part of the ring, the worst", UNIT_RATIO,
	              together_most(parts, n, "peak_ratio"), NULL, 0);
	result_figure_u64(res, "overflows", "overflows", UNIT_COUNT, (uint64_t)together_sum(parts, n, "overflows"));
	result_figure_u64(res, "dropped_bytes", "dropped", UNIT_BYTES,
	                  (uint64_t)together_sum(parts, n, "dropped_bytes"));
	result_figure(res, "first_overflow_s", "first of them at", UNIT_S, first_s, NULL, 0);
	(void)units_printf(rate, sizeof(rate), "%.7g MB/s", requested * 1e-6);
	res->verdict_is_no = sustained + open < living;
	if (res->verdict_is_no)
		(void)snprintf(text, sizeof(text),
		               "%s was not sustained by all: %.0f of %zu hosts held their part, not %s", rate,
		               sustained, n, names);
	else if (open > 0)
		(void)snprintf(text, sizeof(text),
		               "this run cannot tell whether %s is sustained: %.0f of %zu hosts need more --time", rate,
		               open, n);
	else if (lost > 0)
		(void)snprintf(text, sizeof(text),
		               "%s was not there from all: %.0f hosts sustained their part, and %.0f were lost", rate,
		               living, lost);
	else
		(void)snprintf(text, sizeof(text), "%s was sustained by all %zu hosts", rate, n);
	result_figure_text(res, "verdict", "verdict", text);
}

static void tell_plots(struct result *res)
{
	together_plot_rate(res, "Rate over time", "rate_bytes_per_s", "gaps:start_s");
	result_plot(res,
	            &(struct plot_decl){ .name = "ring",
	                                 .see = "How much the ring of each host held at most in each stretch of time.",
	                                 .kind = "step",
	                                 .title = "Most in the rings",
	                                 .table = "timeline",
	                                 .x = "time_s",
	                                 .y = "occupancy_bytes",
	                                 .series = "host",
	                                 .marks = "gaps:start_s" });
	distribution_plots(res, "blocks", "figures:response_p50_ns,figures:response_p99_ns");
}

void stream_together(const struct hosts_part *parts, size_t n, struct result *res)
{
	static const struct together_line line = { "rate_bytes_per_s", "service_mean_ns" };
	static const char *const gaps[] = { "overflows", "stalls", NULL };
	struct together_window w;
	cleanup_free struct straggler *slow = together_look(parts, n, &line, &w, res);
	cleanup_free struct hist *all = NULL;
	double rate;

	if (!slow)
		return;
	rate = tell_shares(parts, n, &w, slow, res);
	result_figure(res, "rate_bytes_per_s", "rate of all while all were at work", UNIT_BYTES_PER_S,
	              w.is_known ? rate : (double)NAN, NULL, 0);
	tell_rings(parts, n, res);
	all = together_distribution(parts, n, res);
	if (all)
		stream_tell_responses(res, all);
	if (w.is_known)
		together_gaps(parts, n, gaps, w.to_s - w.from_s, res);
	hosts_join(parts, n, res, "targets", NULL);
	hosts_join(parts, n, res, "timeline", "time_s");
	hosts_join(parts, n, res, "overflows", "start_s");
	hosts_join(parts, n, res, "stalls", "start_s");
	tell_plots(res);
}
