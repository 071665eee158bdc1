/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was written and is wrong, as figures and a table; and back. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/whole.h"
#include "measure/surface/writing.h"

#define NAMED 4 /* in a sentence */

struct wrong_row {
	uint64_t offset_bytes, length_bytes, lba;
	const char *kind;
	uint64_t belongs_lba;
};

const struct field surface_wrong_fields[] = {
	FIELD_U64(struct wrong_row, offset_bytes, UNIT_BYTES, "offset"),
	FIELD_U64(struct wrong_row, length_bytes, UNIT_BYTES, "length"),
	FIELD_U64(struct wrong_row, lba, UNIT_COUNT, "LBA"),
	FIELD_STR(struct wrong_row, kind, "kind"),
	FIELD_U64(struct wrong_row, belongs_lba, UNIT_COUNT, "data of LBA"),
	FIELD_END,
};

static uint64_t length_of(const struct surface_wrong *w)
{
	return w->end_bytes - w->first_bytes;
}

/* Where addresses begin anew: nothing but that explains data that two addresses give. 0: nowhere. */
static uint64_t true_size(const struct surface_wrongs *l, const enum surface_wrong_kind *kinds)
{
	uint64_t least = 0;

	for (size_t i = 0; i < l->n; i++) {
		uint64_t away = (uint64_t)llabs(l->v[i].away_bytes);

		if (kinds[i] == WRONG_WRAPPED && (!least || away < least))
			least = away;
	}
	return least;
}

static void report_named(struct surface_run *run, const enum surface_wrong_kind *kinds)
{
	const struct surface_wrongs *l = &run->burn->wrongs;
	uint32_t sector = run->ses->devs[0].logical_block_bytes;
	char text[NAMED * 80] = "";

	for (size_t i = 0; i < l->n && i < NAMED; i++) {
		uint64_t first = l->v[i].first_bytes / sector, last = l->v[i].end_bytes / sector - 1;

		str_list(text, sizeof(text), ", ", "%s at LBA %" PRIu64, surface_wrong_names[kinds[i]], first);
		if (last > first)
			str_add(text, sizeof(text), "-%" PRIu64, last);
	}
	if (l->n > NAMED)
		str_add(text, sizeof(text), " and %zu more", l->n - NAMED);
	if (*text)
		result_figure_text(run->ses->res, "wrong_lbas", "LBAs not as written", text);
}

static void report_table(struct surface_run *run, const struct measure_table *table,
                         const enum surface_wrong_kind *kinds)
{
	const struct surface_wrongs *l = &run->burn->wrongs;
	uint32_t sector = run->ses->devs[0].logical_block_bytes;
	struct table *t = result_table_anew(run->ses->res, table->name, table->title, table->fields);

	t->rows_max = SIZE_MAX; /* a run that goes on has from it what is known */
	for (size_t i = 0; i < l->n; i++) {
		const struct surface_wrong *w = &l->v[i];
		uint64_t own = (w->first_bytes + (uint64_t)w->away_bytes) / sector;

		result_row(t, &(struct wrong_row){ w->first_bytes, length_of(w), w->first_bytes / sector,
		                                   surface_wrong_names[kinds[i]],
		                                   w->kind == WRONG_MISPLACED ? own : UINT64_MAX });
	}
}

void surface_burn_report(struct surface_run *run, const struct measure_table *table)
{
	struct result *res = run->ses->res;
	const struct surface_burn *b = run->burn;
	uint64_t wrong = b ? b->wrongs.unlisted_bytes : 0, failed = 0, read = 0, size;
	cleanup_free enum surface_wrong_kind *kinds = NULL;
	char id[20];

	if (!b)
		return;
	kinds = surface_wrong_kinds(&b->wrongs, &run->range, b->block_bytes);
	for (size_t i = 0; i < b->wrongs.n; i++) {
		wrong += length_of(&b->wrongs.v[i]);
		failed += kinds[i] == WRONG_UNWRITTEN ? length_of(&b->wrongs.v[i]) : 0;
	}
	for (size_t i = 0; i < SURFACE_CELLS; i++)
		read += run->cells[i].scanned_bytes - run->cells[i].failed_bytes;
	(void)snprintf(id, sizeof(id), "%016" PRIx64, b->run_id);
	result_figure_text(res, "run_id", "mark of the run in each block", id);
	result_figure_u64(res, "written_to_bytes", "written up to", UNIT_BYTES, b->written_to);
	result_figure_u64(res, "written_bytes", "written", UNIT_BYTES, b->write_bytes);
	result_figure_u64(res, "unwritten_bytes", "bytes not written yet", UNIT_BYTES,
	                  run->range.end_bytes - b->written_to);
	result_figure(res, "write_s", "writing took", UNIT_S, (double)b->write_ns * 1e-9, NULL, 0);
	result_figure(res, "write_rate_bytes_per_s", "rate of writing", UNIT_BYTES_PER_S,
	              b->write_bytes ? (double)b->write_bytes * 1e9 / (double)b->write_ns : (double)NAN, NULL, 0);
	result_figure_u64(res, "verified_bytes", "read back and verified", UNIT_BYTES, read);
	result_figure_u64(res, "wrong_bytes", "bytes not as written", UNIT_BYTES, wrong);
	result_figure_u64(res, "failed_write_bytes", "bytes not written, since their writes failed", UNIT_BYTES,
	                  failed);
	if (b->most_celsius >= b->least_celsius) {
		result_figure(res, "least_celsius", "coolest, in degrees Celsius", UNIT_NONE, b->least_celsius, NULL,
		              0);
		result_figure(res, "most_celsius", "warmest, in degrees Celsius", UNIT_NONE, b->most_celsius, NULL, 0);
	}
	size = true_size(&b->wrongs, kinds);
	if (size)
		result_figure_u64(res, "true_bytes", "addresses begin anew after", UNIT_BYTES, size);
	report_named(run, kinds);
	report_table(run, table, kinds);
}

void surface_burn_judge(struct surface_run *run)
{
	static const char *const faults[] = { "wrong_bytes", "unreadable_bytes", "always_places", "healed_places" };
	struct result *res = run->ses->res;

	for (size_t i = 0; run->burn && i < sizeof(faults) / sizeof(faults[0]); i++)
		res->verdict_is_no |= figure_number(result_find_figure(res, faults[i])) > 0.0;
	if (run->burn && figure_number(result_find_figure(res, "unscanned_bytes")) > 0.0)
		res->verdict_is_open = true;
}

static bool take_row(struct surface_run *run, const struct wrong_row *row)
{
	const struct surface_range *g = &run->range;
	bool is_other = row->belongs_lba != UINT64_MAX;
	uint64_t own = row->belongs_lba * run->ses->devs[0].logical_block_bytes;
	struct surface_wrong w = { .first_bytes = row->offset_bytes,
		                   .end_bytes = row->offset_bytes + row->length_bytes,
		                   .away_bytes = is_other ? (int64_t)(own - row->offset_bytes) : 0 };
	size_t k = 0;

	while (k + 1 < WRONG_KINDS && (!row->kind || strcmp(row->kind, surface_wrong_names[k]) != 0))
		k++;
	if (k == WRONG_TORN || k == WRONG_MISPLACED || k == WRONG_WRAPPED)
		k = is_other ? WRONG_MISPLACED : WRONG_LOST;
	w.kind = (enum surface_wrong_kind)k;
	if (w.first_bytes < g->first_bytes || w.first_bytes >= g->end_bytes ||
	    row->length_bytes > g->end_bytes - w.first_bytes)
		return false;
	surface_wrongs_add(&run->burn->wrongs, &w);
	return true;
}

bool surface_burn_take(struct surface_run *run, const struct result *state, const struct measure_table *table)
{
	const struct figure *id = result_find_figure(state, "run_id");
	const struct table *t = result_find_table(state, table->name);
	struct surface_burn *b = run->burn;
	uint64_t to = whole(figure_number(result_find_figure(state, "written_to_bytes")));
	char *end = NULL;

	if (!id || id->type != FIELD_TYPE_STR || id->value.is_null || to < run->range.first_bytes ||
	    to > run->range.end_bytes || (to < run->range.end_bytes && run->position > run->range.first_bytes))
		return false;
	b->run_id = strtoull(id->value.str, &end, 16);
	if (!end || *end)
		return false;
	b->written_to = to;
	b->write_bytes = whole(figure_number(result_find_figure(state, "written_bytes")));
	b->write_ns = whole(1e9 * figure_number(result_find_figure(state, "write_s")));
	for (size_t i = 0; t && i < t->nrows; i++) {
		struct wrong_row row;

		table_row(t, i, surface_wrong_fields, &row);
		if (!take_row(run, &row))
			return false;
	}
	return true;
}
