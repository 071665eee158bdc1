/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps to rates. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/passes/passes.h"
#include "stats/stats.h"

static double step_end_s(const struct passes_step *s)
{
	return s->start_s + (double)s->elapsed_ns * 1e-9;
}

double passes_common_rate(const struct passes_step *v, size_t n, size_t nfiles)
{
	double from = -INFINITY, to = INFINITY, bytes = 0.0;

	for (size_t file = 0; file < nfiles; file++) {
		double first = INFINITY, last = -INFINITY;

		for (size_t i = 0; i < n; i++) {
			first = v[i].file == file ? fmin(first, v[i].start_s) : first;
			last = v[i].file == file ? fmax(last, step_end_s(&v[i])) : last;
		}
		from = fmax(from, first);
		to = fmin(to, last);
	}
	if (!(to > from))
		return NAN;
	for (size_t i = 0; i < n; i++) {
		double within = fmin(step_end_s(&v[i]), to) - fmax(v[i].start_s, from);

		if (within > 0.0)
			bytes += v[i].moved_bytes * within / (step_end_s(&v[i]) - v[i].start_s);
	}
	return bytes / (to - from);
}

static int by_start(const void *a, const void *b)
{
	const struct passes_step *x = a, *y = b;

	return x->start_s != y->start_s ? (x->start_s < y->start_s ? -1 : 1)
	                                : (x->file > y->file) - (x->file < y->file);
}

/*
 * Writing, with its fsync or without, of all files: their bytes by the time in which any of them was at it; NaN, if a
 * file lacks a step. v: in the order of their begin.
 */
static double whole_rate(const struct passes_step *v, size_t n, size_t nfiles, bool is_synced)
{
	double until = -INFINITY, busy = 0.0, bytes = 0.0;
	size_t steps = 0;

	for (size_t i = 0; i < n; i++) {
		double end = step_end_s(&v[i]);

		if (v[i].kind == STEP_READ || (v[i].kind == STEP_FSYNC && !is_synced))
			continue;
		steps++;
		bytes += v[i].kind == STEP_WRITE ? v[i].moved_bytes : 0.0;
		busy += fmax(0.0, end - fmax(v[i].start_s, until));
		until = fmax(until, end);
	}
	return steps == nfiles * (is_synced ? 2 : 1) ? bytes / busy : (double)NAN;
}

void passes_analyse(struct passes_step *v, size_t n, size_t nfiles, struct passes_found *ret)
{
	cleanup_free struct passes_step *reads = xcalloc(n + 1, sizeof(*reads));
	cleanup_free double *s_per_byte = xcalloc(n + 1, sizeof(*s_per_byte));
	double moved = 0.0, seconds = 0.0, from_device = 0.0;
	bool has_each = true;
	struct summary s;

	*ret = (struct passes_found){ .nfiles = nfiles, .fsync_ns = NAN, .read_bytes_per_s = NAN };
	qsort(v, n, sizeof(*v), by_start); /* sums do not depend on which thread was first */
	ret->write_bytes_per_s = whole_rate(v, n, nfiles, false);
	ret->synced_bytes_per_s = whole_rate(v, n, nfiles, true);
	for (size_t i = 0; i < n; i++) {
		if (v[i].kind == STEP_FSYNC)
			ret->fsync_ns = fmax(ret->fsync_ns, (double)v[i].elapsed_ns);
		if (v[i].kind != STEP_READ)
			continue;
		moved += v[i].moved_bytes;
		from_device += v[i].moved_bytes * (v[i].from_device_ratio > 1.0 ? 1.0 : v[i].from_device_ratio);
		seconds += (double)v[i].elapsed_ns * 1e-9;
		s_per_byte[ret->reads] = (double)v[i].elapsed_ns * 1e-9 / v[i].moved_bytes;
		reads[ret->reads++] = v[i];
	}
	ret->from_device_ratio = moved > 0.0 ? from_device / moved : (double)NAN;
	for (size_t file = 0; file < nfiles; file++) {
		bool has = false;

		for (size_t i = 0; i < ret->reads; i++)
			has = has || reads[i].file == file;
		has_each = has_each && has;
	}
	if (nfiles > 1) {
		ret->read_bytes_per_s = passes_common_rate(reads, ret->reads, nfiles);
	} else if (summary_of(s_per_byte, ret->reads, &s)) {
		double scale = moved / seconds * s.mean;

		ret->read_bytes_per_s = moved / seconds;
		ret->read_ci = s.mean_ci.low > 0.0 ? (struct interval){ scale / s.mean_ci.high, scale / s.mean_ci.low }
		                                   : (struct interval){ NAN, NAN };
	} else {
		has_each = false;
	}
	ret->has_reads = has_each;
}
