/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --full: everything is read once, without a stop, and cut into bins of equal size: a bin's time is that from the
 * completion of the bytes before it to the completion of its own. No lead-in but the first bin's, no two readings of
 * the same place: what the intervals know of noise is the scatter of the completions inside the bins.
 */
#include <math.h>
#include <stdlib.h>

#include "base/units.h"
#include "base/xalloc.h"
#include "measure/zones/zones.h"

#define BINS_MAX      4096            /* rows of a curve that a page can show (a choice) */
#define CHECKPOINT_NS (60 * NS_PER_S) /* what a power failure may cost (a choice) */

struct sweeper {
	struct feeder feeder;
	struct sink sink;
	struct zones_run *run;
	struct zone_target *t;
	uint64_t at, end, bin_bytes;
	size_t bin;          /* in work */
	double bin_start_ns; /* completion of all before it; NaN: not known (first bin, after a fault) */
	double moved;        /* completed bytes */
	uint64_t start_ns, checkpoint_ns;
	bool has_fault, is_stopped; /* in this bin */
	uint32_t in_flight;
	bool is_draining; /* after a fault, until nothing is in flight */
};

static enum feed sweeper_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct sweeper *s = (struct sweeper *)((char *)f - offsetof(struct sweeper, feeder));
	uint64_t left = s->end - s->at;

	if (!s->start_ns)
		s->start_ns = now_ns;
	/* A fault upsets the order in which a queue is served, which may then never come right by itself: begin anew.
	 */
	if (s->is_draining && s->in_flight) {
		*ret_until_ns = CLOCK_NEVER;
		return FEED_WAIT;
	}
	if (s->is_draining) {
		s->is_draining = false;
		s->has_fault = true; /* of this bin as well: it has a lead-in now */
	}
	if (!left || session_time_left_ns(s->run->ses) == 0)
		return FEED_END;
	req->op = IO_READ;
	req->target = (uint32_t)s->t->index;
	req->offset_bytes = s->at;
	req->len_bytes = left < s->t->layout.block_bytes ? (uint32_t)left : s->t->layout.block_bytes;
	s->at += req->len_bytes;
	s->in_flight++;
	return FEED_IO;
}

/* The bin in work is complete: makes a sample of it. */
static void close_bin(struct sweeper *s, double now_ns)
{
	struct zones_run *run = s->run;
	struct zone_target *t = s->t;
	struct zone_estimate e = { .se_ratio = NAN, .part_ns_per_byte = { NAN, NAN, NAN, NAN } };
	struct zone_sample z = { .position = s->bin, .kind = SAMPLE_CURVE, .written.flush_ns = NAN, .y = NAN };
	double first_ns = s->bin_start_ns;

	z.first_bytes = t->layout.first_bytes + s->bin * s->bin_bytes;
	z.end_bytes = z.first_bytes + s->bin_bytes < s->end ? z.first_bytes + s->bin_bytes : s->end;
	z.from_bytes = z.first_bytes;
	z.at_s = (now_ns + (double)s->start_ns - (double)run->ses->start_ns) * 1e-9;
	z.has_fault = s->has_fault;
	z.is_disturbed = s->is_stopped;
	z.moved_bytes = (double)(z.end_bytes - z.first_bytes);
	(void)zone_estimate(run->done, run->ndone, s->bin ? 0 : (uint32_t)run->p->depth, zone_rev_ns(&t->layout), &e);
	zone_estimate_waits(run->done, run->ndone, zone_rev_ns(&t->layout), &z.lost.waits, &z.lost.revs);
	if (isnan(first_ns) && e.elapsed_ns > 0.0) { /* the lead-in of the first bin */
		z.from_bytes = z.end_bytes - (uint64_t)e.moved_bytes;
		z.moved_bytes = e.moved_bytes;
		first_ns = now_ns - e.elapsed_ns;
	}
	if (!s->has_fault && !s->is_stopped && !isnan(first_ns) && now_ns > first_ns) {
		z.is_good = true;
		z.elapsed_ns = round(now_ns - first_ns);
		z.ns_per_byte = zone_as_kept(z.elapsed_ns / z.moved_bytes);
		z.se_ratio = isnan(e.se_ratio) ? 0.0 : e.se_ratio;
		for (size_t i = 0; i < ZONE_PARTS; i++)
			z.part_ns_per_byte[i] = zone_as_kept(e.part_ns_per_byte[i]);
		t->bytes_per_s = 1e9 / z.ns_per_byte;
	}
	zone_samples_add(&t->samples, &z);
	s->bin++;
	s->bin_start_ns = now_ns;
	s->has_fault = s->is_draining;
	s->is_stopped = false;
	run->ndone = 0;
}

static void report_now(struct sweeper *s, uint64_t now_ns, double done)
{
	char rate[32];

	session_progress(s->run->ses, "everything", done, "%s", units_rate(rate, sizeof(rate), s->t->bytes_per_s));
	if (now_ns < s->checkpoint_ns)
		return;
	s->checkpoint_ns = now_ns + CHECKPOINT_NS;
	zones_renew(s->run, s->t);
}

static void sweeper_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct sweeper *s = (struct sweeper *)((char *)sink - offsetof(struct sweeper, sink));
	struct zones_run *run = s->run;
	double now_ns = (double)(req->done_ns - s->start_ns), edge;

	s->in_flight--;
	if (is_fault) {
		s->has_fault = s->is_draining = true;
		zone_fault_note(s->t, req->offset_bytes, req->len_bytes, req->res);
	}
	s->is_stopped |= req->is_late;
	/* Failed ones count as passed: the bins must stay where they are. */
	s->moved += req->len_bytes;
	if (run->ndone < run->done_room)
		run->done[run->ndone++] = (struct zone_done){ now_ns, s->moved };
	edge = (double)(s->bin + 1) * (double)s->bin_bytes;
	if (s->moved < edge && s->moved < (double)(s->end - s->t->layout.first_bytes))
		return;
	close_bin(s, now_ns);
	report_now(s, req->done_ns, s->moved / (double)(s->end - s->t->layout.first_bytes));
}

/* Bins take the place of the positions. */
static void make_bins(struct zones_run *run, struct zone_target *t, uint64_t *ret_bin_bytes)
{
	struct zone_layout *l = &t->layout;
	uint64_t blocks = (l->end_bytes - l->first_bytes) / l->block_bytes,
		 per_bin = (blocks + BINS_MAX - 1) / BINS_MAX;
	size_t n;

	if (per_bin < ZONE_WINDOW_BLOCKS)
		per_bin = ZONE_WINDOW_BLOCKS;
	n = (size_t)((l->end_bytes - l->first_bytes + per_bin * l->block_bytes - 1) / (per_bin * l->block_bytes));
	free(l->positions);
	l->positions = xcalloc(n, sizeof(*l->positions));
	free(run->done);
	run->done_room = per_bin + 2 * l->depth;
	run->done = xcalloc(run->done_room, sizeof(*run->done));
	*ret_bin_bytes = per_bin * l->block_bytes;
	l->npositions = l->wanted_positions = n;
	l->cell_bytes = *ret_bin_bytes;
	l->slots = 1;
	l->is_whole = true;
	l->window_bytes = l->stride_bytes = *ret_bin_bytes < ZONE_SAMPLE_BYTES
	                                            ? *ret_bin_bytes
	                                            : ZONE_SAMPLE_BYTES - ZONE_SAMPLE_BYTES % l->block_bytes;
	for (size_t i = 0; i < n; i++)
		l->positions[i].cell_bytes = l->first_bytes + i * *ret_bin_bytes;
	if (l->positions[n - 1].cell_bytes + l->window_bytes > l->end_bytes)
		l->positions[n - 1].used = l->slots; /* the last bin is short: not read again */
	l->start = 0;
	l->middle = n / 2;
	l->end = n - 1;
}

int zones_full_run(struct zones_run *run, struct zone_target *t, struct err *err)
{
	struct sweeper s = { .feeder = { .next = sweeper_next },
		             .sink = { sweeper_take },
		             .run = run,
		             .t = t,
		             .at = t->layout.first_bytes,
		             .end = t->layout.end_bytes,
		             .bin_start_ns = NAN };
	struct load load = { .targets = run->ses->targets,
		             .ntargets = run->ses->ndevs,
		             .feeder = &s.feeder,
		             .sink = &s.sink,
		             .depth = (uint32_t)run->p->depth };
	struct load_stats stats;
	int r;

	make_bins(run, t, &s.bin_bytes);
	run->ndone = 0;
	t->bytes_per_s = zone_guess_rate(t->dev);
	t->layout.interface_bytes_per_s = NAN;
	s.checkpoint_ns = clock_now_ns(run->ses->env->clk) + CHECKPOINT_NS;
	r = session_load(run->ses, &load, run->eng, &stats, err);
	if (r < 0)
		return r;
	if (s.at < s.end && !session_is_over(run->ses))
		t->is_out_of_time = true;
	zones_renew(run, t);
	return 0;
}
