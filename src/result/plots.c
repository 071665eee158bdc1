/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pictures of a document: which table and columns each shows. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "result/build.h"

void result_plot(struct result *res, const struct plot *plot)
{
	struct plot copy = *plot;

	for (const struct member *m = plot_members; m->name; m++) {
		const char **text = member_of(m, &copy);

		*text = result_strdup(*text);
	}
	xappend(res->plots, res->nplots, copy);
}

int result_plot_kind(const char *name)
{
	static const char *const names[] = {
		[PLOT_LINE] = "line",           [PLOT_SCATTER] = "scatter", [PLOT_STEP] = "step",
		[PLOT_BARS] = "bars",           [PLOT_HEATMAP] = "heatmap", [PLOT_POLAR] = "polar",
		[PLOT_HISTOGRAM] = "histogram", [PLOT_BANDS] = "bands",
	};

	for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
		if (!strcmp(name, names[i]))
			return (int)i;
	return -1;
}

/* The first of a list of keys. */
static bool has_first_column(const struct table *t, const char *list)
{
	size_t len = list ? strcspn(list, ",") : 0;

	for (size_t i = 0; i < t->ncolumns; i++)
		if (len && strlen(t->columns[i].key) == len && !memcmp(t->columns[i].key, list, len))
			return true;
	return false;
}

bool result_plot_is_whole(const struct result *res, const struct plot *plot)
{
	const struct table *t = plot->kind && plot->table ? result_find_table(res, plot->table) : NULL;

	return t && has_first_column(t, plot->x) && has_first_column(t, plot->y);
}
