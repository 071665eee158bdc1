/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing, in legs: what a leg wrote is flushed before the state says so, so that a power loss leaves out nothing. Each
 * sector is a block of load/payload.c, which knows its place and its run; the filling stays in the engine's buffers and
 * only headers are new.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "base/whole.h"
#include "base/xalloc.h"
#include "measure/surface/writing.h"

#define LEG_NS     (50 * NS_PER_S) /* as often as the state is saved */
#define RUN_STREAM 0x6275726eull   /* keeps run ids apart from seeds of other things */

struct writer {
	struct feeder feeder;
	struct sink sink;
	struct surface_run *run;
	uint64_t at, until_ns;
	uint64_t last_done_ns, shown_ns;
	uint32_t in_flight;
	bool is_gone;
};

void surface_burn_open(struct surface_run *run)
{
	run->burn = xcalloc(1, sizeof(*run->burn));
	run->burn->run_id = rng_mix(run->ses->seed ^ rng_mix(session_fresh_seed(run->ses->env->clk) ^ RUN_STREAM));
	run->burn->block_bytes = run->range.block_bytes;
	run->burn->written_to = run->range.first_bytes;
	run->burn->least_celsius = INFINITY;
	run->burn->most_celsius = -INFINITY;
}

void surface_burn_close(struct surface_run *run)
{
	if (run->burn)
		surface_wrongs_done(&run->burn->wrongs);
	free(run->burn);
	run->burn = NULL;
}

/* ---- writing ---- */

static void fill_buffers(const struct surface_run *run)
{
	const uint32_t sector = run->ses->devs[0].logical_block_bytes;

	for (uint32_t slot = 0; slot < run->eng->cfg.slots; slot++)
		for (uint64_t i = 0; i < run->burn->block_bytes; i += sector) {
			struct payload_id id = surface_burn_id(run, slot * run->burn->block_bytes + i);

			payload_fill((uint8_t *)engine_buf(run->eng, slot) + i, &id);
		}
}

/* As reads: a head that cannot write does not make days of it. What is left out is known to be so. */
static bool skip_failing(struct writer *w)
{
	uint64_t failed_ns = w->run->burn->failed_ns;
	uint64_t to = failed_ns ? surface_skip_to(w->run, w->at, failed_ns, true) : w->at;

	if (to == w->at)
		return false;
	surface_burn_wrong(w->run, w->at, to, WRONG_UNWRITTEN, 0);
	w->at = to;
	return true;
}

static enum feed write_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct writer *w = (struct writer *)((char *)f - offsetof(struct writer, feeder));
	struct surface_run *run = w->run;
	uint64_t left = run->range.end_bytes - w->at;

	*ret_until_ns = surface_wait_until(run, now_ns, true, w->in_flight);
	if (!left || now_ns >= w->until_ns || w->is_gone || run->leg.error || surface_is_over(run))
		return FEED_END;
	if (*ret_until_ns)
		return FEED_WAIT;
	if (skip_failing(w))
		return write_next(f, now_ns, req, ret_until_ns);
	req->op = IO_WRITE;
	req->target = 0;
	req->offset_bytes = w->at;
	req->len_bytes = left < run->burn->block_bytes ? (uint32_t)left : (uint32_t)run->burn->block_bytes;
	for (uint32_t i = 0; i < req->len_bytes; i += run->ses->devs[0].logical_block_bytes) {
		const struct payload_id id = surface_burn_id(run, w->at + i);

		payload_stamp((uint8_t *)req->buf + i, &id);
	}
	w->at += req->len_bytes;
	w->in_flight++;
	return FEED_IO;
}

static void show(struct writer *w, uint64_t now_ns, uint64_t took_ns, uint32_t len)
{
	const struct surface_range *g = &w->run->range;
	uint8_t cells[SURFACE_CELLS];
	char rate[32];

	if (now_ns - w->shown_ns < NS_PER_S / 10)
		return;
	w->shown_ns = now_ns;
	if (w->run->ses->hooks.map) {
		for (size_t i = 0; i < SURFACE_CELLS; i++)
			cells[i] =
				w->run->cells[i].write_errors ? SESSION_MAP_WORST : w->run->cells[i].written_bytes > 0;
		session_map(w->run->ses, cells, SURFACE_CELLS);
	}
	session_progress(w->run->ses, "writing",
	                 (double)(w->at - g->first_bytes) / (double)(g->end_bytes - g->first_bytes) / 2, "%s",
	                 units_rate(rate, sizeof(rate), (double)len * 1e9 / (double)took_ns));
}

static void write_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct writer *w = (struct writer *)((char *)sink - offsetof(struct writer, sink));
	struct surface_run *run = w->run;
	struct surface_cell *c = surface_cell_at(run, req->offset_bytes);
	uint64_t from = req->submit_ns > w->last_done_ns ? req->submit_ns : w->last_done_ns;
	uint64_t took_ns = req->done_ns > from ? req->done_ns - from : 0;

	w->in_flight--;
	w->last_done_ns = req->done_ns;
	run->done.own_bytes += req->len_bytes;
	surface_moved(run, req);
	run->gentle.has_base &= !is_fault;
	if (load_is_lost(req->res)) {
		w->is_gone = true;
		return;
	}
	if (is_fault) {
		c->write_errors++;
		run->burn->failed_ns += took_ns;
		surface_burn_wrong(run, req->offset_bytes, req->offset_bytes + req->len_bytes, WRONG_UNWRITTEN, 0);
		return;
	}
	surface_burn_feel(run, req);
	c->written_bytes += req->len_bytes;
	c->write_ns += req->is_late ? 0 : took_ns;
	run->burn->write_bytes += req->len_bytes;
	show(w, req->done_ns, took_ns + 1, req->len_bytes);
}

struct flush {
	struct sink sink; /* first */
	bool is_done;
};

static void flush_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	/* No cache to flush is as good. */
	((struct flush *)sink)->is_done = !is_fault || req->res == -EOPNOTSUPP || req->res == -EINVAL;
}

static int flush(struct surface_run *run, bool *ret_is_done, struct err *err)
{
	struct list_item item = { .op = IO_FLUSH };
	struct flush f = { .sink = { flush_take } };
	struct load load = { .targets = run->ses->targets, .ntargets = 1, .sink = &f.sink, .depth = 1 };
	const atomic_int *cancel = run->ses->cancel;
	struct list_feeder feeder;
	struct load_stats stats;
	int r;

	list_feeder_init(&feeder, &item, 1);
	load.feeder = &feeder.f;
	run->ses->cancel = NULL; /* or all since the flush before would be written once more */
	r = session_load(run->ses, &load, run->eng, &stats, err);
	run->ses->cancel = cancel;
	*ret_is_done = f.is_done;
	return r;
}

int surface_burn_leg(struct surface_run *run, struct err *err)
{
	uint64_t start_ns = surface_now(run), own_ns = session_now_ns(run->ses);
	struct writer w = { .feeder = { .next = write_next },
		            .sink = { write_take },
		            .run = run,
		            .at = run->burn->written_to,
		            .until_ns = start_ns + LEG_NS };
	struct load load = { .targets = run->ses->targets,
		             .ntargets = 1,
		             .feeder = &w.feeder,
		             .sink = &w.sink,
		             .depth = run->p->idle ? 1 : run->eng->cfg.depth };
	struct load_stats stats;
	bool is_flushed = false;
	int r;

	fill_buffers(run);
	r = session_load(run->ses, &load, run->eng, &stats, err) ?: flush(run, &is_flushed, err);
	if (r == 0 && is_flushed && !w.is_gone && !w.in_flight)
		run->burn->written_to = w.at;
	run->burn->write_ns += session_now_ns(run->ses) - own_ns;
	if (r == 0 && run->leg.error)
		r = err_set(err, run->leg.error, "%s", run->leg.why.text);
	return r;
}

/* ---- what was written and is wrong, as figures and a table; and back ---- */

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
