/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What idea this measurement holds: the method, its source (a paper, a clause of a standard), and how large its error
 * is. For now: the service time of single reads at places drawn at random, each place at most once.
 */
#include <errno.h>
#include <stdlib.h>

#include "measure/skeleton/skeleton.h"

/* Goes through the parts: once here, in turn until enough is known where one visit leads to the next. */
static int skeleton_run(struct session *ses, const void *params, struct err *err)
{
	struct skeleton_samples samples = { NULL, 0 };
	struct skeleton_found found;
	int r = skeleton_read(ses, params, &samples, err);

	skeleton_report_samples(ses->res, &samples); /* what was measured is kept, also when it broke off */
	if (skeleton_analyse(&samples, &found) == 0)
		skeleton_report_figures(ses->res, &found);
	session_checkpoint(ses);
	free(samples.v);
	return r;
}

/* `platter report --again`: the figures from the samples of a saved document, by the same analysis. */
static int skeleton_again(const struct result *saved, struct result *ret, struct err *err)
{
	const struct table *t = result_find_table(saved, skeleton_tables[0].name);
	struct skeleton_samples samples = { NULL, 0 };
	struct skeleton_found found;
	int r;

	if (!t || !t->nrows)
		return err_set(err, -ENODATA, "The document has no reads.");
	samples.v = calloc(t->nrows, sizeof(*samples.v));
	for (; samples.v && samples.n < t->nrows; samples.n++)
		table_row(t, samples.n, skeleton_sample_fields, &samples.v[samples.n]);
	r = samples.v ? skeleton_analyse(&samples, &found) : -ENOMEM;
	if (r == 0)
		skeleton_report_figures(ret, &found);
	free(samples.v);
	return r < 0 ? err_set(err, r, "Out of memory.") : 0;
}

/* What a person came for: the figures of the first screen, and the sentence that they make. */
static const struct screen_decl skeleton_screen = {
	.shows = "mean_ns",
	.says = (const struct clause[]){ { "{mean_ns} for a read at a random place" }, { NULL } },
};

const struct measure measure_skeleton = {
	.name = "skeleton",
	.help = "time of single reads at random places",
	.group = GROUP_DISK,
	.targets = "DEVICE",
	.opts = skeleton_opts,
	.params_size = sizeof(struct skeleton_params),
	.precision = 0.01,
	.plan = skeleton_plan,
	.run = skeleton_run,
	.again = skeleton_again,
	.screen = &skeleton_screen,
	.tables = skeleton_tables,
};
