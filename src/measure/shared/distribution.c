/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bars are of one width, or of one ratio where the longest is far from the median; renderers take the axis from
 * that. What lies between the edges of two of the histogram's own buckets is shared out in proportion.
 */
#include "measure/shared/distribution.h"

#include <math.h>
#include <stdio.h>

struct bar_row {
	uint64_t from_ns, to_ns, count;
	double share_percent, within_percent;
	const char *of;
};

const struct field distribution_fields[] = {
	FIELD_U64(struct bar_row, from_ns, UNIT_NS, "time", .detail = true),
	FIELD_U64(struct bar_row, to_ns, UNIT_NS, "within", .detail = true),
	FIELD_U64(struct bar_row, count, UNIT_COUNT, "count", .detail = true),
	FIELD_F64(struct bar_row, share_percent, UNIT_PERCENT, "share", .detail = true),
	FIELD_F64(struct bar_row, within_percent, UNIT_PERCENT, "done", .detail = true),
	FIELD_STR(struct bar_row, of, "of", .detail = true),
	FIELD_END,
};

static struct table *table_of(struct result *res)
{
	return result_table(res, "distribution", "Distribution of times", distribution_fields);
}

void distribution_clear(struct result *res)
{
	result_table_clear(table_of(res));
}

void distribution_add(struct result *res, const char *of, const struct hist *h)
{
	struct hist_bar bar[HIST_BARS_MAX];
	size_t n = hist_bars(h, bar);
	uint64_t within = 0;

	for (size_t i = 0; i < n; i++) {
		struct bar_row row = { .from_ns = bar[i].from, .to_ns = bar[i].to, .count = bar[i].count, .of = of };

		within += bar[i].count;
		row.share_percent = 100.0 * (double)bar[i].count / (double)h->count;
		row.within_percent = 100.0 * (double)within / (double)h->count;
		result_row(table_of(res), &row);
	}
}

void distribution_figures(struct result *res, const struct distribution_quantile *qs, size_t n, const struct hist *h,
                          bool is_independent)
{
	for (size_t i = 0; i < n; i++) {
		struct interval ci = hist_quantile_ci(h, qs[i].q);
		bool is_reported = hist_can_quantile(h, qs[i].q);

		result_figure(res, qs[i].name, qs[i].label, UNIT_NS,
		              is_reported ? (double)hist_quantile(h, qs[i].q) : (double)NAN,
		              is_reported && is_independent ? &ci : NULL, h->count);
	}
}

void distribution_plots(struct result *res, const char *things, const char *marks)
{
	char took[96], within[96];

	(void)snprintf(took, sizeof(took), "How long %s took", things);
	(void)snprintf(within, sizeof(within), "Share of %s that took no longer", things);
	result_plot(
		res,
		&(struct plot){
			.name = "distribution",
			.see = "A peak is the usual time; a second peak or a tail to the right is what had to wait.",
			.kind = "histogram",
			.title = took,
			.table = "distribution",
			.x = "from_ns,to_ns",
			.y = "share_percent",
			.series = "of",
			.marks = marks });
	result_plot(
		res,
		&(struct plot){
			.name = "within",
			.see = "99 of 100 took at most the time at 99 %; the steeper the line, the steadier the times.",
			.kind = "line",
			.title = within,
			.table = "distribution",
			.x = "to_ns",
			.y = "within_percent",
			.series = "of",
			.marks = marks });
}
