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

#include "base/units.h"
#include "base/xalloc.h"
#include "measure/surface/writing.h"

#define LEG_NS     (50 * NS_PER_S) /* as often as the state is saved */
#define RUN_STREAM 0x6275726eull   /* keeps run ids apart from seeds of other things */
#define FIRST_PASS 1

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
