/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Over how much of what was asked all that is said was seen. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
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

/* Bytes that at least one good sample moved, each once. */
static double moved_once(const struct zone_target *t)
{
	cleanup_free struct piece *v = xcalloc(t->samples.n + 1, sizeof(*v));
	uint64_t bytes = 0, at = 0;
	size_t n = 0;

	for (size_t i = 0; i < t->samples.n; i++) {
		const struct zone_sample *z = &t->samples.v[i];

		if (z->is_good && !z->has_fault)
			v[n++] = (struct piece){ z->first_bytes, z->end_bytes };
	}
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
	str_put_shell_word(f, dev->path);
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

/* ---- the least time ---- */

/*
 * The least time that intervals of these widths take by physics, for each place: one seek and half a revolution, and
 * the revolutions that the variance between tracks demands. The first two the samples of the upward pass show
 * themselves: all of a sample's time, less its bytes at its rate. Those are the ones that were counted, less what
 * Student's t wanted for the variance was not known: of a mean's width that is its square.
 */

static double usual_wait(const struct zone_samples *samples)
{
	cleanup_free double *wait = xcalloc(samples->n + 1, sizeof(*wait));
	size_t n = 0;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (s->kind == SAMPLE_CURVE && s->pass == 0 && s->is_good && s->whole.ns > 0.0)
			wait[n++] = zone_wait_ns(s);
	}
	return n ? stats_median(wait, n) : (double)NAN;
}

double zone_least_ns(const struct zone_target *t)
{
	const struct zone_levels *lv = &t->analysis->levels;
	double wait = usual_wait(&t->samples), sum = 0.0;

	for (size_t p = 0; p < lv->n; p++) {
		const struct zone_level *v = &lv->v[p];
		double part = v->n && v->df > 0.0 ? 1.96 / stats_t_975(v->df) : 1.0;

		sum += v->n ? wait + v->elapsed_ns * part * part : 0.0;
	}
	return sum > 0.0 ? sum : (double)NAN;
}

double zone_used_ns(const struct zone_target *t)
{
	double first_s = INFINITY, last_s = 0.0;

	for (size_t i = 0; i < t->samples.n; i++) {
		const struct zone_sample *s = &t->samples.v[i];
		double half = 0.5e-9 * fmax(s->whole.ns, s->elapsed_ns);

		first_s = fmin(first_s, s->at_s - half);
		last_s = fmax(last_s, s->at_s + half);
	}
	return last_s > first_s ? 1e9 * (last_s - first_s) : (double)NAN;
}
