/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `skeleton` says. A struct is a row, its fields are the columns. */
#include <math.h>

#include "measure/skeleton/skeleton.h"

const struct field skeleton_sample_fields[] = {
	FIELD_U64(struct skeleton_sample, offset_bytes, UNIT_BYTES, "offset"),
	FIELD_U64(struct skeleton_sample, service_ns, UNIT_NS, "time"),
	FIELD_END,
};

const struct measure_table skeleton_tables[] = {
	{ "reads", "Time of each read", skeleton_sample_fields },
	{ NULL, NULL, NULL },
};

void skeleton_report_samples(struct result *res, const struct skeleton_samples *samples)
{
	struct table *t =
		result_table(res, skeleton_tables[0].name, skeleton_tables[0].title, skeleton_tables[0].fields);

	for (size_t i = 0; i < samples->n; i++)
		result_row(t, &samples->v[i]);
	result_plot(res, &(struct plot){ .name = "reads",
	                                 .see = "Each dot is a read; a high one had to wait.",
	                                 .kind = "scatter",
	                                 .title = "Time of each read",
	                                 .table = "reads",
	                                 .x = "offset_bytes",
	                                 .y = "service_ns" });
}

/* A figure is null when nothing came back; with an interval when there is one. */
void skeleton_report_figures(struct result *res, const struct skeleton_found *found)
{
	result_figure(res, "mean_ns", "mean service time", UNIT_NS, found->has_mean ? found->mean_ns : (double)NAN,
	              found->has_mean ? &found->mean_ci : NULL, found->n);
}
