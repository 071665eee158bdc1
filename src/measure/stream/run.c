/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run: the feeder asks the ring's account which block may go, picks a target, and hands out a buffer of the ring;
 * the sink gives the buffer back and keeps the accounts. Buffers are the engine's own (huge pages, registered), as many
 * as the ring has places: really there, filled once with data that do not compress, and locked. Nothing is copied.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/shared/cgroup.h"
#include "measure/stream/stream.h"

#define DEPTH_TURNING 4  /* one in the drive, one on the bus, two in hand: more only lengthens the response */
#define DEPTH_OTHER   16 /* their channels work at the same time; a choice */
#define DEAD_STREAK                                                                                                    \
	16 /* failures in a row after which a target is left out: sectors fail by tracks, whole devices fail always (a \
	      choice) */

#define STEP_BLOCKS 10.0 /* in a step of the timeline at least: a block more or less is 10 % */

/* Silence for longer is reported as a stall: half a second, and what a block takes at 4 MB/s. */
#define STALL_NS          (500 * NS_PER_MS)
#define STALL_NS_PER_BYTE 250

static uint64_t occupancy(const struct stream_run *s, uint64_t now_ns)
{
	return s->is_max ? 0 : ring_occupied_bytes(&s->ring, now_ns);
}

/* ---- which target ---- */

static bool lane_takes(const struct stream_run *s, const struct lane *l)
{
	return !l->is_full && !l->is_dead && l->outstanding < s->depth;
}

/* The lane of the next block; -1: none can take one now. */
static long pick_lane(struct stream_run *s)
{
	long best = -1;

	if (s->p->layout == LAYOUT_ROUNDROBIN) {
		for (size_t i = 0; i < s->routes.nlanes; i++) {
			struct lane *l = &s->routes.lanes[(s->routes.turn + i) % s->routes.nlanes];

			if (l->is_full || l->is_dead)
				continue; /* out of the round */
			return lane_takes(s, l) ? (long)((s->routes.turn + i) % s->routes.nlanes) : -1;
		}
		return -1;
	}
	for (size_t i = 0; i < s->routes.nlanes; i++) {
		size_t k = (s->routes.turn + i) % s->routes.nlanes;

		if (lane_takes(s, &s->routes.lanes[k]) &&
		    (best < 0 || s->routes.lanes[k].outstanding < s->routes.lanes[best].outstanding))
			best = (long)k;
	}
	return best;
}

static bool all_closed(const struct stream_run *s)
{
	for (size_t i = 0; i < s->routes.nlanes; i++)
		if (!s->routes.lanes[i].is_full && !s->routes.lanes[i].is_dead)
			return false;
	return true;
}

void stream_advance(const struct stream_run *s, struct lane *l)
{
	l->offset += s->p->block_bytes;
	if (l->offset + s->p->block_bytes <= l->start + s->routes.rooms[l->list[l->at_target]])
		return;
	l->offset = l->start;
	if (++l->at_target == l->ntargets)
		l->is_full = true;
}

static enum feed stream_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct stream_run *s = (struct stream_run *)f;
	uint64_t number = s->blocks.issued, exist_ns;
	struct lane *l;
	long k;

	exist_ns = now_ns;
	if (all_closed(s) ||
	    (s->is_max ? s->blocks.issued >= s->blocks.blocks_max || now_ns >= s->span.end_ns : ring_is_over(&s->ring)))
		return FEED_END;
	*ret_until_ns = CLOCK_NEVER;
	if (!s->is_max && !ring_next(&s->ring, now_ns, &number, &exist_ns, ret_until_ns))
		return ring_is_over(&s->ring) ? FEED_END : FEED_WAIT;
	k = s->nfree ? pick_lane(s) : -1;
	if (k <
	    0) /* a completion opens the way; but the account must go on meanwhile: blocks begin and may be dropped */
		return FEED_WAIT;
	l = &s->routes.lanes[k];
	s->routes.turn = ((size_t)k + 1) % s->routes.nlanes;
	req->op = s->p->read ? IO_READ : IO_WRITE;
	req->target = l->list[l->at_target];
	req->offset_bytes = l->offset;
	req->len_bytes = (uint32_t)s->p->block_bytes;
	req->due_ns = exist_ns;
	req->tag = number;
	req->slot = s->free_slots[--s->nfree];
	req->buf = engine_buf(s->eng, req->slot);
	if (s->p->verify) {
		const struct payload_id id = stream_placed_id(s, l, req);

		payload_stamp(req->buf, &id);
	}
	if (!l->has_begun) {
		l->first_offset = l->offset;
		l->all_at_first = s->blocks.done_bytes;
		l->has_begun = true;
	}
	if (l->last_offset < l->offset + s->p->block_bytes) /* of several files the largest */
		l->last_offset = l->offset + s->p->block_bytes;
	l->outstanding++;
	l->issued++;
	stream_advance(s, l);
	s->blocks.issued++;
	if (!s->is_max) {
		ring_issue(&s->ring);
		balance_issue(&s->balance, (size_t)k, exist_ns, now_ns);
	}
	return FEED_IO;
}

/* ---- completions ---- */

/* The last one is kept: nobody could take its part, it may recover, and --max-errors ends the run. */
static bool is_last(const struct stream_run *s, const struct lane *l)
{
	for (size_t i = 0; i < s->routes.nlanes; i++)
		if (&s->routes.lanes[i] != l && !s->routes.lanes[i].is_full && !s->routes.lanes[i].is_dead)
			return false;
	return true;
}

static void lane_fault(struct stream_run *s, struct lane *l, int res)
{
	l->faults++;
	l->streak++;
	if (res == -ENOSPC) {
		l->is_full = true;
	} else if (load_is_lost(res)) {
		l->is_dead = true;
	} else if (l->streak >= DEAD_STREAK && !l->is_dead && (res == 0 || !is_last(s, l))) {
		/* Where nothing comes at all, and not even an error, there is no disk any more. */
		result_notice(s->ses->res, "left-out", "%s was left out after %d errors in a row%s", l->name,
		              DEAD_STREAK, is_last(s, l) ? ": no other is left." : "; the others took its part.");
		l->is_dead = true;
	}
}

static void lane_account(struct stream_run *s, struct lane *l, const struct io_req *req, bool ok)
{
	if (!ok) {
		lane_fault(s, l, req->res);
		return;
	}
	l->streak = 0;
	l->blocks++;
	l->bytes += (uint64_t)req->res;
	if (!req->is_late) {
		hist_add(l->service, req->done_ns - req->submit_ns);
		hist_add(l->response, req->done_ns - (req->due_ns < req->submit_ns ? req->due_ns : req->submit_ns));
	}
	if (l->last_done_ns && req->done_ns - l->last_done_ns > l->max_gap_ns)
		l->max_gap_ns = req->done_ns - l->last_done_ns;
	if (!l->first_submit_ns)
		l->first_submit_ns = req->submit_ns;
	s->blocks.done_bytes += (uint64_t)req->res;
	l->last_done_ns = req->done_ns;
	l->all_at_last = s->blocks.done_bytes;
}

/* Silence of a target that had work: since its last completion, or this request went to it when that was later. */
static void note_stall(struct stream_run *s, const struct lane *l, const struct io_req *req, uint64_t full)
{
	uint64_t since = req->submit_ns > l->last_done_ns ? req->submit_ns : l->last_done_ns;

	if (req->is_late || req->done_ns < since + STALL_NS + s->p->block_bytes * STALL_NS_PER_BYTE)
		return;
	if (s->nstalls < STALLS_MAX)
		s->stalls[s->nstalls] = (struct stall_row){ l->name, (double)(since - s->span.start_ns) * 1e-9,
			                                    (double)(req->done_ns - since) * 1e-9, full };
	s->nstalls++;
}

static void timeline_start(struct timeline *t, uint64_t start_ns, uint64_t step_ns)
{
	t->n = 0;
	t->now = (struct timeline_step){ 0 };
	t->start_ns = start_ns;
	t->step_ns = step_ns;
	t->step_end_ns = start_ns + step_ns;
}

static void timeline_merge(struct timeline *t)
{
	for (size_t i = 0; i + 1 < t->n; i += 2) {
		const struct timeline_step *a = &t->v[i], *b = &t->v[i + 1];

		t->v[i / 2] =
			(struct timeline_step){ b->end_ns, a->amount + b->amount, a->requests + b->requests,
			                        a->service_ns + b->service_ns, a->most > b->most ? a->most : b->most };
	}
	t->n /= 2;
	t->step_ns *= 2;
}

/* Steps that ended before now get their rows. */
static void timeline_roll(struct timeline *t, uint64_t now_ns)
{
	while (now_ns >= t->step_end_ns) {
		t->now.end_ns = t->step_end_ns - t->start_ns;
		t->v[t->n++] = t->now;
		t->now = (struct timeline_step){ 0 };
		if (t->n == TIMELINE_MAX) /* an even number; the next step is the first of the new length */
			timeline_merge(t);
		t->step_end_ns += t->step_ns;
	}
}

static void stream_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct stream_run *s = (struct stream_run *)((char *)sink - offsetof(struct stream_run, sink));
	struct lane *l = &s->routes.lanes[s->routes.lane_of[req->target]];
	uint64_t full;

	timeline_roll(&s->timeline, req->done_ns);
	if (!s->is_max)
		ring_advance(&s->ring, req->done_ns ? req->done_ns - 1 : 0);
	full = occupancy(s, req->done_ns);
	if (full > s->timeline.now.most)
		s->timeline.now.most = full;
	if (!s->is_max)
		ring_complete(&s->ring, req->done_ns, !is_fault);
	s->blocks.completed++;
	if (!s->is_max)
		pace_add(&s->pace, req->due_ns, req->submit_ns);
	s->free_slots[s->nfree++] = req->slot;
	l->outstanding--;
	note_stall(s, l, req, full);
	lane_account(s, l, req, !is_fault);
	if (!s->is_max)
		balance_complete(&s->balance, s->routes.lane_of[req->target], s->p->block_bytes,
		                 l->outstanding || l->is_full || l->is_dead, req->done_ns);
	if (!is_fault) {
		if (req->offset_bytes + req->len_bytes > s->routes.ends[req->target])
			s->routes.ends[req->target] = req->offset_bytes + req->len_bytes;
		s->timeline.now.amount += (uint64_t)req->res;
		s->timeline.now.requests++;
		s->timeline.now.service_ns += req->done_ns - req->submit_ns;
	}
	if (s->p->tradeoff || s->p->find_max)
		bucket_log_add(&s->log, req->done_ns, s->blocks.done_bytes);
}

/* ---- a run ---- */

static void reset_lanes(struct stream_run *s)
{
	for (size_t i = 0; i < s->routes.nlanes; i++) {
		struct lane *l = &s->routes.lanes[i];
		struct lane fresh = { .name = l->name,
			              .list = l->list,
			              .ntargets = l->ntargets,
			              .start = l->start,
			              .offset = l->start,
			              .service = l->service,
			              .response = l->response };

		if (!fresh.service)
			fresh.service = hist_new();
		if (!fresh.response)
			fresh.response = hist_new();
		*l = fresh;
		hist_clear(l->service);
		hist_clear(l->response);
		l->is_full = l->ntargets == 0 || s->routes.rooms[l->list[0]] < s->p->block_bytes;
	}
}

/* The kernel takes every disk for one that turns, where nothing reports it; of these it cannot know. */
static bool turns(const struct device *d)
{
	return d->rotational == 1 && strcmp(d->transport, "loop") != 0 && strcmp(d->transport, "virtio") != 0;
}

/* A disk that turns gains nothing from more in flight, but answers later; others are kept busy by it, at less CPU time
 * for each. */
static uint64_t depth_in_force(const struct stream_run *s)
{
	if (s->p->depth)
		return s->p->depth;
	for (size_t i = 0; i < s->routes.nlanes; i++)
		if (turns(&s->ses->devs[i]))
			return DEPTH_TURNING;
	return DEPTH_OTHER;
}

/* All of it is filled and locked: what is not there would be taken from other programs. */
static int check_memory(const struct stream_run *s, struct err *err)
{
	uint64_t need = s->blocks.places * s->p->block_bytes, there = cgroup_available_memory();
	char text[32], most[32];

	if (need <= there)
		return 0;
	return err_set(err, -EINVAL,
	               "A ring of %s does not fit into the %s of memory that are free; give --buffer=%" PRIu64
	               "MB or less.",
	               units_bytes_dec(text, sizeof(text), need), units_bytes_dec(most, sizeof(most), there),
	               there / 1000000 * 9 / 10); /* a tenth for everybody else */
}

static int open_ring(struct stream_run *s, struct err *err)
{
	uint32_t depth = (uint32_t)(s->depth * s->routes.nlanes < s->blocks.places ? s->depth * s->routes.nlanes
	                                                                           : s->blocks.places);
	struct engine_config cfg = { .depth = depth,
		                     .slots = (uint32_t)s->blocks.places,
		                     .buf_bytes = (uint32_t)s->p->block_bytes };
	cleanup_free int *fds = NULL;
	int r;

	if (s->eng)
		return 0;
	r = clock_is_virtual(s->ses->env->clk) ? 0 : check_memory(s, err);
	if (r < 0)
		return r;
	fds = xcalloc(s->routes.ntargets, sizeof(*fds));
	for (size_t i = 0; i < s->routes.ntargets; i++) /* of directories: the files in them, open by now */
		fds[i] = s->routes.targets[i].fd;
	cfg.fds = fds;
	cfg.nfds = s->routes.ntargets;
	r = session_engine(s->ses, &cfg, &s->eng, err);
	if (r < 0)
		return r;
	s->free_slots = xcalloc(s->blocks.places, sizeof(*s->free_slots));
	for (uint64_t i = 0;
	     i < s->blocks.places && !session_is_over(s->ses) && (!clock_is_virtual(s->ses->env->clk) || s->p->verify);
	     i++) { /* virtual disks need no data */
		payload_fill(engine_buf(s->eng, (uint32_t)i),
		             &(struct payload_id){ s->seed, i, 0, 0, (uint32_t)s->p->block_bytes });
		if (mlock(engine_buf(s->eng, (uint32_t)i), s->p->block_bytes) < 0 && i == 0)
			result_notice(s->ses->res, "not-locked",
			              "The ring could not be locked in memory (%s); raise ulimit -l or run as root.",
			              err_name(errno));
	}
	return 0;
}

/* The last part of a path, and not too long: the line has 80 columns. */
static const char *short_name(const char *path, char *buf, size_t len)
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(buf, len, "%s", slash && slash[1] ? slash + 1 : path); /* cut is fine */
	return buf;
}

/*
 * What part of the whole measurement is done: of this run by its time or its blocks, whichever says more, for it ends
 * with either; and how many runs like it there are. Negative: nobody knows.
 */
static double part_done(const struct stream_run *s, uint64_t now_ns)
{
	uint64_t blocks = s->blocks.blocks_max < s->blocks.room_blocks ? s->blocks.blocks_max : s->blocks.room_blocks;
	double done = -1.0;

	if (s->span.end_ns != CLOCK_NEVER)
		done = (double)(now_ns - s->span.start_ns) / (double)(s->span.end_ns - s->span.start_ns);
	if (blocks != UINT64_MAX)
		done = fmax(done, (double)s->blocks.completed / (double)blocks);
	return done < 0.0
	               ? done
	               : (s->blocks.parts_done + fmin(done, 1.0)) / (s->blocks.parts_done + 1.0 + s->blocks.parts_left);
}

/* The live line: rate, how full the ring is, the slowest target, and by the bar's end the time left. */
static void tick(void *arg, uint64_t now_ns)
{
	struct stream_run *s = arg;
	uint64_t full = occupancy(s, now_ns), size = s->blocks.places * s->p->block_bytes;
	double seconds = fmax((double)(now_ns - s->span.start_ns) * 1e-9, 1e-9);
	char text[32], name[15], ring[24] = "";
	size_t slowest = 0;

	if (s->report_so_far && session_saves_now(s->ses))
		s->report_so_far(s, now_ns);
	if (!s->is_max) {
		(void)snprintf(ring, sizeof(ring), " ring [..........]");
		for (size_t i = 0; i < 10; i++)
			if (full * 10 > i * size)
				ring[7 + i] = '#';
	}
	for (size_t i = 1; i < s->routes.nlanes; i++)
		if (s->routes.lanes[i].bytes < s->routes.lanes[slowest].bytes)
			slowest = i;
	session_progress(s->ses, s->p->read ? "reading" : "writing", part_done(s, now_ns), "%s%s slowest %s",
	                 units_rate_bits(text, sizeof(text), (double)s->blocks.done_bytes / seconds), ring,
	                 short_name(s->routes.lanes[slowest].name, name, sizeof(name)));
}

/* How many blocks come, at most; what is played ends with the targets. */
static int count_blocks(struct stream_run *s, uint64_t rate, uint64_t time_ns, struct err *err)
{
	uint64_t block = s->p->block_bytes, there = 0;

	for (size_t i = 0; i < s->routes.ntargets; i++)
		there += s->routes.rooms[i] / block;
	s->blocks.room_blocks = there;
	s->blocks.asked_blocks = s->p->bytes ? (s->p->bytes + block - 1) / block
	                         : s->is_max || time_ns == CLOCK_NEVER
	                                 ? UINT64_MAX
	                                 : (uint64_t)((unsigned __int128)rate * time_ns / NS_PER_S / block);
	s->blocks.blocks_max = s->p->read && there < s->blocks.asked_blocks ? there : s->blocks.asked_blocks;
	if (s->blocks.blocks_max)
		return 0;
	return err_set(err, -EINVAL,
	               "Not even one block of %" PRIu64
	               " bytes comes in that time; give more --time or a smaller --block.",
	               block);
}

int stream_once(struct stream_run *s, uint64_t rate, struct err *err)
{
	uint64_t block = s->p->block_bytes, time_ns = stream_time_ns(s->ses, s->p), now;
	int r;

	if (rate == 0)
		return err_set(err, -ERANGE,
		               "At this pace nothing would ever come; a rate has to be at least 1 byte/s.");
	s->is_max = rate == RATE_MAX;
	s->blocks.places = s->p->buffer_bytes / block;
	s->depth = depth_in_force(s);
	if (rate == s->p->rate && s->is_max && !s->p->tradeoff && !s->p->find_max &&
	    s->blocks.places > s->depth * s->routes.nlanes)
		s->blocks.places =
			s->depth *
			s->routes.nlanes; /* nothing waits in the ring: what is in flight is all that it holds */
	r = count_blocks(s, rate, time_ns, err) ?: open_ring(s, err);
	if (r < 0)
		return r;
	reset_lanes(s);
	s->nfree = 0;
	for (uint64_t i = s->blocks.places; i-- > 0;)
		s->free_slots[s->nfree++] = (uint32_t)i;
	s->feeder.next = stream_next;
	s->sink.take = stream_take;
	s->blocks.issued = s->blocks.completed = s->routes.turn = 0;
	s->blocks.done_bytes = s->nstalls = 0;
	now = session_now_ns(s->ses);
	s->span = (struct span){ .start_ns = now, .end_ns = time_ns == CLOCK_NEVER ? CLOCK_NEVER : now + time_ns };
	/* a step with one block more or less is not a dip */
	timeline_start(&s->timeline, now,
	               s->is_max ? NS_PER_S
	                         : (uint64_t)fmax(ceil(STEP_BLOCKS * (double)block / (double)rate), 1.0) * NS_PER_S);
	if (!s->is_max) {
		ring_init(&s->ring, rate, block, s->blocks.places, now, s->blocks.blocks_max);
		balance_start(&s->balance, s->routes.nlanes, rate, now, ring_end_ns(&s->ring));
	}
	if (s->p->tradeoff || s->p->find_max) {
		bucket_log_start(&s->log, STREAM_POINTS_MAX);
		bucket_log_add(&s->log, now, 0);
	}
	{
		struct load load = { .targets = s->routes.targets,
			             .ntargets = s->routes.ntargets,
			             .feeder = &s->feeder,
			             .sink = &s->sink,
			             .by_own_clock = true,
			             .keep_going_when_gone = s->routes.nlanes > 1,
			             .on_tick = tick,
			             .arg = s };
		struct load_stats stats;

		pace_start(&s->pace);
		host_usage(&s->before);
		r = session_load(s->ses, &load, s->eng, &stats, err);
		host_usage(&s->after);
	}
	now = session_now_ns(s->ses);
	if (!s->is_max)
		ring_finish(&s->ring, now);
	timeline_roll(&s->timeline, now);
	s->span.end_ns = now;
	return r == 0 && !s->is_max ? stream_judge(s, err) : r;
}

void stream_once_done(struct stream_run *s)
{
	ring_done(&s->ring);
	s->ring.arrival = NULL;
}
