/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --rewrite: what is weak, and can be read, is written again with the same bytes. A sector whose magnetisation has
 * faded is quick afterwards; one of a damaged surface stays slow, or the drive takes another one for it. Each is read
 * alone beside another before and after, so that the gain is measured and not hoped for; the bytes are in the journal
 * until they were read back.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/shared/rewrite.h"
#include "measure/surface/surface.h"

#define READINGS 9 /* before and after; by chance a median of that many is half a revolution off in 1 of 100 cases */

enum outcome { REFRESH_NOT, REFRESH_EDGE, REFRESH_UNREADABLE, REFRESH_QUICK, REFRESH_SLOW, REFRESH_SAME };

struct refresh {
	struct surface_suspect s;
	double before_ns[READINGS], after_ns[READINGS]; /* longer than one beside it */
	enum outcome outcome;
};

struct refresh_row {
	uint64_t offset_bytes, length_bytes, lba;
	const char *kind;
	double before_ns, after_ns;
	const char *outcome;
};

const struct field surface_refresh_fields[] = {
	FIELD_U64(struct refresh_row, offset_bytes, UNIT_BYTES, "offset"),
	FIELD_U64(struct refresh_row, length_bytes, UNIT_BYTES, "length"),
	FIELD_U64(struct refresh_row, lba, UNIT_COUNT, "LBA"),
	FIELD_STR(struct refresh_row, kind, "kind"),
	FIELD_F64(struct refresh_row, before_ns, UNIT_NS, "longer than beside it, before"),
	FIELD_F64(struct refresh_row, after_ns, UNIT_NS, "after"),
	FIELD_STR(struct refresh_row, outcome, "now"),
	FIELD_END,
};

static size_t gather(const struct surface_run *run, struct refresh *ret, size_t *ret_others)
{
	uint64_t size = run->ses->devs[0].size_bytes;
	bool is_file = run->ses->devs[0].kind == DEVICE_FILE;
	size_t n = 0;

	*ret_others = 0;
	for (size_t i = 0; i < run->lists.nplaces; i++) {
		const struct surface_suspect *s = &run->lists.places[i];

		if ((s->kind != SURFACE_ALWAYS && s->kind != SURFACE_HEALED) ||
		    s->end_bytes - s->first_bytes > run->eng->cfg.buf_bytes / 2)
			continue;
		if (n == SURFACE_REWRITE_MOST) {
			++*ret_others;
			continue;
		}
		ret[n] = (struct refresh){ .s = *s };
		ret[n].s.good_end = s->first_bytes;
		ret[n].s.bad_end = s->end_bytes;
		if (!is_file && (s->first_bytes < REWRITE_EDGE_BYTES || s->end_bytes + REWRITE_EDGE_BYTES > size))
			ret[n].outcome = REFRESH_EDGE;
		n++;
	}
	return n;
}

/* Round by round, so that each reading is of the medium. */
static int measure(struct surface_run *run, struct refresh *v, size_t n, bool is_after, struct err *err)
{
	struct surface_alone alone;
	int r = 0;

	for (size_t k = 0; k < READINGS; k++)
		for (size_t i = 0; i < n; i++)
			*(is_after ? &v[i].after_ns[k] : &v[i].before_ns[k]) = NAN;
	for (size_t k = 0; k < READINGS && r == 0 && !session_is_over(run->ses); k++) {
		r = surface_forget(run, 0, err);
		for (size_t i = 0; i < n && r == 0 && !session_is_over(run->ses); i++) {
			v[i].s.step = (uint32_t)k;
			r = surface_read_alone(run, &v[i].s, &alone, err);
			*(is_after ? &v[i].after_ns[k] : &v[i].before_ns[k]) = alone.longer_ns;
		}
	}
	return r;
}

static double median_ns(const double v[READINGS])
{
	double copy[READINGS];

	memcpy(copy, v, sizeof(copy));
	return stats_median(copy, stats_keep_finite(copy, READINGS));
}

static int write_all(struct surface_run *run, struct rewrite_journal *j, struct refresh *v, size_t n, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0 && !session_is_over(run->ses); i++) {
		uint32_t len = (uint32_t)(v[i].s.end_bytes - v[i].s.first_bytes);
		struct rewrite_recovery done;

		if (v[i].outcome == REFRESH_EDGE)
			continue;
		session_progress(run->ses, "rewriting", (double)i / (double)n, NULL);
		r = rewrite_same(j, v[i].s.first_bytes, len, &done, err);
		v[i].outcome = done.unreadable ? REFRESH_UNREADABLE : REFRESH_SAME;
	}
	return r;
}

static void judge(const struct surface_run *run, struct refresh *f)
{
	double limit_ns = run->rot.is_rotating ? run->rot.period_ns / 2 : SURFACE_LEAST_OVER_NS;
	double before_ns = median_ns(f->before_ns), after_ns = median_ns(f->after_ns);

	if (f->outcome != REFRESH_SAME || isnan(after_ns))
		return;
	if (after_ns > limit_ns)
		f->outcome = REFRESH_SLOW;
	else if (before_ns > limit_ns)
		f->outcome = REFRESH_QUICK;
}

static void report(struct surface_run *run, const struct measure_table *mt, const struct refresh *v, size_t n)
{
	static const char *const outcomes[] = { "not-written", "left-out",   "unreadable",
		                                "quick",       "still-slow", "written" };
	struct table *t = result_table_anew(run->ses->res, mt->name, mt->title, mt->fields);
	uint64_t written = 0, quick = 0, slow = 0;

	for (size_t i = 0; i < n; i++) {
		const struct surface_suspect *s = &v[i].s;

		written += v[i].outcome >= REFRESH_QUICK;
		quick += v[i].outcome == REFRESH_QUICK;
		slow += v[i].outcome == REFRESH_SLOW;
		result_row(t, &(struct refresh_row){ .offset_bytes = s->first_bytes,
		                                     .length_bytes = s->end_bytes - s->first_bytes,
		                                     .lba = s->first_bytes / run->ses->devs[0].logical_block_bytes,
		                                     .kind = surface_kind_names[s->kind],
		                                     .before_ns = median_ns(v[i].before_ns),
		                                     .after_ns = median_ns(v[i].after_ns),
		                                     .outcome = outcomes[v[i].outcome] });
	}
	result_figure_u64(run->ses->res, "rewritten_places", "places written again, and read back the same", UNIT_COUNT,
	                  written);
	result_figure_u64(run->ses->res, "cured_places", "places quick since", UNIT_COUNT, quick);
	result_figure_u64(run->ses->res, "still_slow_places", "places slow as before", UNIT_COUNT, slow);
}

int surface_refresh(struct surface_run *run, struct rewrite_journal *j, const struct measure_table *table,
                    struct err *err)
{
	cleanup_free struct refresh *v = xcalloc(SURFACE_REWRITE_MOST, sizeof(*v));
	size_t n, others;
	int r;

	n = gather(run, v, &others);
	if (others)
		result_notice(
			run->ses->res, "not-all-rewritten",
			"%zu weak places more than the %d of one run are left as they are; run it once more for them.",
			others, SURFACE_REWRITE_MOST);
	session_progress(run->ses, "weak places before", -1.0, "%zu places", n);
	r = measure(run, v, n, false, err) ?: write_all(run, j, v, n, err);
	session_progress(run->ses, "weak places after", -1.0, "%zu places", n);
	if (r == 0)
		r = measure(run, v, n, true, err);
	for (size_t i = 0; i < n; i++)
		judge(run, &v[i]);
	report(run, table, v, n);
	return r;
}
