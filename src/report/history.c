/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run beside earlier ones of the same disk: what has become worse than in the last, or over all of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/alike.h"
#include "report/report.h"
#include "verdict/verdict.h"

/* The figures that it calls worse, of those that are measured. */
static size_t take_worse(const struct result *found, const char *table, const char *change, const struct result *res,
                         char *most, size_t len)
{
	const struct table *t = result_find_table(found, table);
	size_t n = 0;

	for (size_t i = 0; t && i < t->nrows; i++) {
		const char *verdict = table_string_of(t, i, "verdict"), *name = table_string_of(t, i, "figure");
		const struct figure *f = name ? result_find_figure(res, name) : NULL;
		double by = table_number_of(t, i, change), step = t ? table_number_of(t, i, "step_percent") : 0.0;

		if (!verdict || strcmp(verdict, "worse") != 0 || !f || figure_role(f) != FIGURE_MEASURED)
			continue;
		if (n++ == 0)
			(void)snprintf(most, len, "%.60s %+.0f %%%s", label_or_name(f->label, f->name),
			               isnan(step) ? by : step,
			               isnan(step) && strcmp(table, "trends") == 0 ? " a year" : "");
	}
	return n;
}

bool report_history(struct result *res, const struct result *const *earlier, size_t n)
{
	cleanup_free const struct result **v = xcalloc(n + 1, sizeof(*v));
	const struct compare_options opt = { .threshold = COMPARE_TOLERANCE };
	const struct result *now = res;
	struct result *found = NULL;
	char most[120] = "";
	size_t kept = 0, worse = 0;

	for (size_t i = 0; i < n; i++)
		if (strcmp(earlier[i]->head.measurement, res->head.measurement) == 0 &&
		    alike_same_disk(earlier[i], res) && alike_outcome(earlier[i]) >= 0 && earlier[i]->head.started &&
		    alike_by_date(&earlier[i], &now) < 0)
			v[kept++] = earlier[i];
	if (!kept)
		return false;
	qsort(v, kept, sizeof(*v), alike_by_date);
	verdict_since(res, v[kept - 1]);
	v[kept] = res;
	if (report_compare(v + kept - 1, 1, v + kept, 1, &opt, &found, NULL) == 0)
		worse = take_worse(found, "differences", "change_percent", res, most, sizeof(most));
	result_free(found);
	found = NULL;
	if (!worse && kept > 1 && report_trend(v, kept + 1, &opt, &found, NULL) == 0)
		worse = take_worse(found, "trends", "per_year_percent", res, most, sizeof(most));
	result_free(found);
	result_figure_u64(res, "worse_figures", "figures worse than in earlier runs", UNIT_COUNT, worse);
	result_figure_text(res, "worse_most", "the first of them", worse ? most : NULL);
	result_figure_u64(res, "earlier_runs", "earlier runs of the disk", UNIT_COUNT, kept);
	return true;
}
