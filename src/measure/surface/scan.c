/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every block once, in order, several requests in flight. A leg ends between two batches, so that a position says
 * exactly what was scanned.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/surface/writing.h"

#define TURN_NS          8.3e6       /* where the rotation is not known */
#define BLOCK_LEAST      (64u << 10) /* smaller ones cost rate on any drive */
#define BLOCK_SHORT      (16u << 10) /* by head, and where places are few: tracks of old disks are short */
#define LATE_AFTER_PAUSE 16          /* requests, until what the drive has read ahead meanwhile is used up */
#define ALIKE            1.08        /* times what it takes from the buffer: the medium costs the drive a little more */

struct batch {
	uint64_t first; /* index of its first request in the leg */
	size_t n, done; /* requests, and those that completed */
	struct request {
		uint64_t time_ns;
		uint32_t len_bytes;
		int error;
		bool is_lead; /* its time has more in it than the medium's: the arm's way, or our own delay */
	} v[SURFACE_BATCH];
};

struct scan {
	struct feeder feeder;
	struct sink sink;
	struct surface_run *run;
	uint64_t origin;  /* of the leg */
	uint64_t at, end; /* next request */
	uint64_t start_ns, last_done_ns, last_batch_ns;
	uint32_t in_flight;
	bool is_draining; /* after a fault, until one is read again: one by one */
	bool is_later;    /* of what was skipped */
	uint64_t skip_to; /* 0: the leg ended without a skip */
	bool is_ending;   /* with this batch */
	uint32_t depth;
	uint32_t late;           /* that many completions are seen late */
	struct batch batches[2]; /* in work */
	uint64_t judged;         /* batches */
	double ns_per_byte[SURFACE_BATCH];
	struct request before; /* the one judged last, */
	double before_ns;      /* and what it took longer, if it was not slow by itself */
};

static uint64_t index_of(const struct scan *s, uint64_t offset)
{
	return (offset - s->origin) / s->run->range.block_bytes;
}

static enum feed scan_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct scan *s = (struct scan *)((char *)f - offsetof(struct scan, feeder));
	uint64_t left = s->end - s->at, index = index_of(s, s->at);

	if (s->is_draining && s->in_flight) {
		*ret_until_ns = CLOCK_NEVER;
		return FEED_WAIT;
	}
	*ret_until_ns = surface_wait_until(s->run, now_ns, index % SURFACE_BATCH == 0, s->in_flight);
	if (*ret_until_ns && !surface_is_over(s->run)) {
		s->late = LATE_AFTER_PAUSE;
		return FEED_WAIT;
	}
	if (index % SURFACE_BATCH == 0) {
		struct batch *b = &s->batches[index / SURFACE_BATCH % 2];

		if (index / SURFACE_BATCH >= s->judged + 2) { /* one of it has still to come */
			*ret_until_ns = CLOCK_NEVER;
			return FEED_WAIT;
		}
		s->is_ending |= (!s->run->is_tuned && index) || surface_is_out_of_time(s->run) || s->run->leg.error ||
		                surface_wants_again(s->run);
		if (!left || s->is_ending)
			return FEED_END;
		memset(b, 0, sizeof(*b));
		b->first = index;
	}
	if (!left)
		return FEED_END;
	req->op = s->run->verifier ? IO_VERIFY : IO_READ;
	req->target = 0;
	req->offset_bytes = s->at;
	req->len_bytes = left < s->run->range.block_bytes ? (uint32_t)left : s->run->range.block_bytes;
	s->batches[index / SURFACE_BATCH % 2].n++;
	s->at += req->len_bytes;
	req->tag = s->in_flight == 0 && (s->depth > 1 || req->offset_bytes == s->origin);
	s->in_flight++;
	return FEED_IO;
}

/* Of these bytes of a sample, that many are read for the first time. */
static uint64_t fresh_of(struct surface_run *run, uint64_t first, uint64_t len)
{
	struct surface_failures *unread = &run->later.sample->unread;
	uint64_t fresh = surface_failures_bytes(unread, first, first + len);

	surface_failures_read(unread, first, first + len, true);
	return fresh;
}

static void count(struct surface_run *run, uint64_t offset, const struct request *q, double expected_ns, bool is_slow)
{
	bool is_later = offset < run->position;
	struct surface_cell *c = surface_cell_at(run, offset);
	/* What a sample reads again counts once, and so does the time of that. */
	uint64_t fresh = run->later.sample ? fresh_of(run, offset, q->len_bytes) : q->len_bytes;
	size_t k = 0;

	c->scanned_bytes += fresh;
	if (q->error) {
		c->errors++;
		c->failed_bytes += fresh;
		run->done.failed++;
		*(is_later ? &run->again.spent_ns[AGAIN_OF_SKIPPED] : &run->later.failed_ns) += q->time_ns;
		surface_heads_count(run, offset, q->len_bytes, 0, expected_ns, true);
		return;
	}
	while (k < SURFACE_CLASSES - 1 && q->time_ns >= surface_class_ns[k])
		k++;
	c->classes[k]++;
	c->busy_ns += (uint64_t)((double)q->time_ns * ((double)fresh / q->len_bytes));
	if (q->is_lead)
		return;
	surface_heads_count(run, offset, q->len_bytes, q->time_ns, expected_ns, false);
	c->worst_ns = q->time_ns > c->worst_ns ? q->time_ns : c->worst_ns;
	run->done.worst_ns = q->time_ns > run->done.worst_ns ? q->time_ns : run->done.worst_ns;
	if (is_slow)
		c->excess_ns += (uint64_t)((double)q->time_ns - expected_ns);
}

/* is_part: of a revolution that another request has a part of, as one was seen late. */
static void suspect(struct surface_run *run, const struct request *q, uint64_t offset, double ns_per_byte, bool is_part)
{
	surface_suspect_add(run, &(struct surface_suspect){ .first_bytes = offset,
	                                                    .end_bytes = offset + q->len_bytes,
	                                                    .time_ns = q->time_ns,
	                                                    .scan_bytes = q->len_bytes,
	                                                    .ns_per_byte = ns_per_byte,
	                                                    .is_silent = q->is_lead || is_part });
}

/* All before this place was judged; of it, so much was read. */
static void passed(struct scan *s, uint64_t offset, uint64_t bytes, uint64_t now_ns)
{
	struct surface_run *run = s->run;

	if (!s->is_later)
		run->position = offset;
	else
		surface_failures_read(&run->later.skipped, run->later.at, offset, true);
	run->later.at = s->is_later ? offset : 0;
	run->done.scan_bytes += bytes;
	if (now_ns > s->last_batch_ns)
		run->done.bytes_per_s = (double)bytes * 1e9 / (double)(now_ns - s->last_batch_ns);
	s->last_batch_ns = now_ns;
}

/* A sample distinguishes weak places from others by reading them again, all of them. */
static void note_slow(struct surface_sample *sample, const struct request *q, size_t i, double longer_ns, bool is_slow)
{
	if (q->error || q->is_lead)
		return;
	sample->worst_ns = fmax(sample->worst_ns, longer_ns);
	if (is_slow)
		sample->leg_slow |= 1ull << i % SURFACE_BATCH;
}

/* What is doubtful is looked at again while there is time; of a sample only what is not the drive's own way. */
static double at_most_doubtful(const struct surface_run *run, double over_ns)
{
	double own_ns = run->later.sample ? run->later.sample->own_ns : 0.0;

	return run->rot.is_rotating ? fmin(over_ns, fmax(surface_doubt_part(run) * run->rot.period_ns, own_ns))
	                            : over_ns;
}

static void judge_batch(struct scan *s, struct batch *b, uint64_t now_ns)
{
	struct surface_run *run = s->run;
	uint64_t offset = s->origin + b->first * run->range.block_bytes, bytes = 0;
	struct surface_limit limit;
	bool is_bound;

	for (size_t i = 0; i < b->n; i++)
		s->ns_per_byte[i] = b->v[i].error || b->v[i].is_lead
		                            ? (double)NAN
		                            : (double)b->v[i].time_ns / (double)b->v[i].len_bytes;
	limit = surface_judge(&run->base, s->ns_per_byte, b->n, run->range.block_bytes,
	                      run->rot.is_rotating ? run->rot.period_ns / 2 : SURFACE_LEAST_OVER_NS);
	limit.over_ns = at_most_doubtful(run, limit.over_ns);
	run->blind.over_sum_ns += limit.over_ns;
	run->blind.batches += limit.over_ns > 0.0;
	is_bound = limit.level * run->range.block_bytes < ALIKE * run->blind.buffer_ns;
	run->blind.bound_batches += is_bound;
	for (size_t i = 0; i < b->n; i++) {
		const struct request *q = &b->v[i];
		double expected_ns = limit.level * q->len_bytes;
		double longer_ns = (double)q->time_ns - expected_ns;
		bool is_slow = longer_ns > limit.over_ns,
		     is_both = !is_slow && longer_ns > 0.0 && longer_ns + s->before_ns > limit.over_ns;

		count(run, offset, q, expected_ns, is_slow);
		if (run->rot.is_rotating && !is_slow && !is_both &&
		    limit.over_ns - longer_ns > SURFACE_REVOLUTION_PART * run->rot.period_ns)
			run->blind.deaf_bytes += q->len_bytes;
		if (run->later.sample) {
			/* Between a connection and a medium as fast, a buffer that runs empty is not a sign. */
			note_slow(run->later.sample, q, i, longer_ns, is_slow && !is_bound);
			is_slow = is_both = false;
		}
		if (is_both)
			suspect(run, &s->before, offset - s->before.len_bytes, limit.level, true);
		if ((is_slow || is_both) && !q->error)
			suspect(run, q, offset, limit.level, is_both);
		s->before = *q;
		s->before_ns = is_slow || is_both || q->error ? 0.0 : fmax(longer_ns, 0.0);
		offset += q->len_bytes;
		bytes += q->error ? 0 : q->len_bytes;
	}
	passed(s, offset, bytes, now_ns);
}

static uint8_t look_of(const struct surface_cell *c)
{
	uint8_t k = SURFACE_CLASSES;

	if (c->errors)
		return SESSION_MAP_WORST;
	while (k > 0 && !c->classes[k - 1])
		k--;
	return k;
}

/* Of all of it: of a sample by its time; what is written first is half. */
static double done_of(const struct surface_run *run)
{
	const struct surface_range *g = &run->range;
	const struct surface_sample *s = run->later.sample;
	double done = (double)(run->position - g->first_bytes) / (double)(g->end_bytes - g->first_bytes);

	if (s)
		return (double)(surface_now(run) - run->begun.start_ns) / (double)(s->end_ns - run->begun.start_ns);
	return run->burn ? 0.5 + done / 2 : done;
}

static void show(const struct surface_run *run)
{
	uint8_t cells[SURFACE_CELLS];
	char rate[32];

	if (run->ses->hooks.map) {
		for (size_t i = 0; i < SURFACE_CELLS; i++)
			cells[i] = look_of(&run->cells[i]);
		session_map(run->ses, cells, SURFACE_CELLS);
	}
	session_progress(run->ses, "scan", done_of(run), "%s, worst %.0f ms, %" PRIu64 " failed",
	                 units_rate(rate, sizeof(rate), run->done.bytes_per_s), (double)run->done.worst_ns * 1e-6,
	                 run->done.failed);
}

static bool is_complete(const struct scan *s, const struct batch *b)
{
	return b->n && b->done == b->n && (b->n == SURFACE_BATCH || s->at == s->end);
}

/* What completed meanwhile is seen late: its time is the file's. */
static void save(struct scan *s)
{
	uint64_t before_ns = s->run->leg.saved_ns;

	if (!s->run->leg.error)
		s->run->leg.error = surface_state_save(s->run, false, &s->run->leg.why);
	if (s->run->leg.saved_ns != before_ns)
		s->late = s->in_flight;
}

/* What failed may end the leg, with nothing in flight. */
static void end_after_failure(struct scan *s)
{
	uint64_t failed_ns = 0; /* not judged yet */

	for (size_t k = 0; k < ARRAY_LEN(s->batches); k++)
		for (size_t i = 0; i < s->batches[k].n; i++)
			failed_ns += s->batches[k].v[i].error ? s->batches[k].v[i].time_ns : 0;
	s->skip_to = s->is_later ? s->at + (s->end - s->at) / 2 : surface_skip_to(s->run, s->at, failed_ns, false);
	if (s->is_later || s->skip_to > s->at || surface_is_out_of_time(s->run))
		s->end = s->at;
}

static void scan_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct scan *s = (struct scan *)((char *)sink - offsetof(struct scan, sink));
	uint64_t index = index_of(s, req->offset_bytes);
	struct batch *b = &s->batches[index / SURFACE_BATCH % 2];
	uint64_t from = req->submit_ns > s->last_done_ns ? req->submit_ns : s->last_done_ns;

	s->in_flight--;
	s->run->manners.took(s->run, req, is_fault);
	b->v[index % SURFACE_BATCH] = (struct request){ .time_ns = req->done_ns > from ? req->done_ns - from : 0,
		                                        .len_bytes = req->len_bytes,
		                                        .error = surface_error(req, is_fault),
		                                        .is_lead = req->tag || s->late || req->is_late };
	s->late -= s->late > 0;
	s->last_done_ns = req->done_ns;
	s->is_draining = is_fault || (s->is_draining && s->in_flight);
	b->done++;
	if (s->is_draining && s->in_flight == 0)
		end_after_failure(s);
	for (b = &s->batches[s->judged % 2]; is_complete(s, b); b = &s->batches[s->judged % 2]) {
		judge_batch(s, b, req->done_ns);
		b->n = 0;
		s->judged++;
		show(s->run);
		save(s);
	}
}

/* Has a sample of this block too few places? Four times what leaves 5 % open (95 %): doubtful ones are read thrice. */
static bool has_few_places(const struct surface_run *run, double block)
{
	const struct surface_sample *s = run->later.sample;

	return s &&
	       (double)(s->end_ns - surface_now(run)) * 1e-9 * run->done.bytes_per_s < 4 * 59 * SURFACE_BATCH * block;
}

/* A request of at most a revolution passes few tracks: what it loses stands out. */
static void tune(struct surface_run *run)
{
	double turn_ns = run->rot.is_rotating ? run->rot.period_ns : TURN_NS;
	uint32_t block = run->range.block_bytes;

	run->is_tuned = true;
	while (block / 2 >= (run->heads || has_few_places(run, block) ? BLOCK_SHORT : BLOCK_LEAST) &&
	       block / 2 % run->range.unit_bytes == 0 &&
	       (double)block > fmin(run->done.bytes_per_s * 1e-9 * turn_ns, surface_heads_block(run)))
		block /= 2;
	if (block != run->range.block_bytes)
		memset(&run->base, 0, sizeof(run->base));
	run->range.block_bytes = block;
}

int surface_scan_leg(struct surface_run *run, struct err *err)
{
	struct scan s = { .feeder = { .next = scan_next },
		          .sink = { scan_take },
		          .run = run,
		          .start_ns = surface_now(run),
		          .depth = run->p->idle || run->verifier ? 1 : run->eng->cfg.depth };
	struct load load = {
		.targets = run->ses->targets, .ntargets = 1, .feeder = &s.feeder, .sink = &s.sink, .depth = s.depth
	};
	struct load_stats stats;
	uint64_t own_ns;
	int r;

	surface_next_part(run, &s.at, &s.end);
	if (run->later.sample) {
		s.at = run->position;
		s.end = run->later.sample->leg_end_bytes;
	}
	s.origin = s.at;
	s.is_later = s.at < run->position;
	run->later.at = s.at;
	if (run->is_tuned && run->blind.buffer_ns < 0.0) {
		r = surface_learn_buffer(run, s.depth, err);
		if (r < 0)
			return r;
		s.start_ns = surface_now(run);
	}
	s.last_batch_ns = s.start_ns;
	own_ns = session_now_ns(run->ses);
	r = session_load(run->ses, &load, run->verifier ? run->verifier : run->eng, &stats, err);
	run->done.scan_ns += session_now_ns(run->ses) - own_ns;
	if (s.is_later && s.skip_to)
		run->later.at = s.skip_to - s.skip_to % run->range.unit_bytes;
	else if (s.skip_to > run->position && !session_is_over(run->ses))
		surface_skip(run, s.skip_to);
	if (!run->is_tuned && run->done.bytes_per_s > 0.0 && !session_is_over(run->ses))
		tune(run);
	run->is_tuned |= run->later.sample != NULL; /* where the start cannot be read, other places can */
	if (r == 0 && run->leg.error)
		r = err_set(err, run->leg.error, "%s", run->leg.why.text);
	return r;
}
