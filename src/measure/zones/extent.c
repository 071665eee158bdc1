/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Over how much of what was asked all that is said was seen. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/shell.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/zones/zones.h"

struct piece {
	uint64_t first, end;
};

static int by_place(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static size_t add_good(const struct zone_samples *samples, struct piece *pieces)
{
	size_t n = 0;

	for (size_t i = 0; i < samples->n; i++)
		if (samples->v[i].is_good && !samples->v[i].has_fault)
			pieces[n++] = (struct piece){ samples->v[i].first_bytes, samples->v[i].end_bytes };
	return n;
}

/* Bytes that at least one good sample moved, each once; NaN: out of memory. */
static double moved_once(const struct zone_target *t)
{
	cleanup_free struct piece *v = xcalloc(t->samples.n + 1, sizeof(*v));
	uint64_t bytes = 0, at = 0;
	size_t n;

	n = add_good(&t->samples, v);
	qsort(v, n, sizeof(*v), by_place);
	for (size_t i = 0; i < n; i++) {
		uint64_t from = v[i].first > at ? v[i].first : at;

		if (v[i].end <= from)
			continue;
		bytes += v[i].end - from;
		at = v[i].end;
	}
	return (double)bytes;
}

/* What reads each block of the range; a scan takes no files. */
static void report_next(const struct zones_run *run)
{
	const struct zone_layout *l = &run->targets[0].layout;
	const struct device *dev = run->targets[0].dev;
	cleanup_free char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	(void)fputs(dev->kind == DEVICE_FILE ? "platter zones --full" : "platter surface", f);
	if (dev->kind != DEVICE_FILE && (l->first_bytes || l->end_bytes + l->align_bytes <= dev->size_bytes))
		(void)fprintf(f, " --range=%" PRIu64 "-%" PRIu64, l->first_bytes, l->end_bytes);
	shell_put_word(f, dev->path);
	if (fclose(f) == 0)
		result_figure_text(run->res, "next_command", "to read each block", text);
}

void zone_extent_report(const struct zones_run *run, bool is_final)
{
	bool is_written = run->p->write && !run->p->rewrite;
	double bytes = 0.0, asked = 0.0;

	for (size_t i = 0; i < run->ntargets; i++) {
		bytes += moved_once(&run->targets[i]);
		asked += (double)(run->targets[i].layout.end_bytes - run->targets[i].layout.first_bytes);
	}
	result_figure(run->res, is_written ? "written_bytes" : "read_bytes",
	              is_written ? "written, each byte once" : "read, each byte once", UNIT_BYTES, bytes, NULL, 0);
	result_figure(run->res, is_written ? "written_ratio" : "read_ratio",
	              is_written ? "share of the range written" : "share of the range read", UNIT_RATIO, bytes / asked,
	              NULL, 0);
	if (is_final && !is_written && run->ntargets == 1 && bytes < asked)
		report_next(run);
}
