/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the ring's balance cannot show what the targets carry, they are asked: a write cache answers for the
 * disk, and a device that works on many blocks at once is never without work. The places that were written last
 * are written once more, as fast as they take it, between two flushes: by what is in the ring, with --verify by
 * what belongs there. What is read goes on. Bytes over that time are a lower bound, by the second flush's own
 * time or their interval.
 */
#include <math.h>
#include <string.h>

#include "measure/stream/stream.h"

struct piece {
	uint32_t target, out;
	uint64_t first, at, end, start_ns, done_ns, done_bytes, skipped_bytes; /* skipped: done at start_ns */
	unsigned flushes;                                                      /* begun: one before, one behind */
	struct slots slots;                                                    /* its bytes by time, since start_ns */
};

struct reserve {
	struct feeder feeder; /* first */
	struct sink sink;
	struct stream_run *s;
	struct piece v[STREAM_LANES_MAX];
	uint64_t start_ns;
	bool has_fault;
};

#define SLOT_NS 1000 /* no block takes less; slots are joined as the look goes on, and 64 to 128 of them remain */

/*
 * The end of what a lane wrote in the file in which it stands. What was read last is in the drive's own cache: there it
 * goes on.
 */
static struct piece last_piece(const struct stream_run *s, const struct lane *l, uint64_t bytes)
{
	bool is_next = l->at_target == l->ntargets || (l->offset == l->start && l->at_target > 0);
	uint32_t target = l->list[is_next ? l->at_target - 1 : l->at_target];
	uint64_t block = s->p->block_bytes, room_end = l->start + s->routes.rooms[target] / block * block;
	uint64_t end = is_next ? room_end : l->offset, first = end - l->start > bytes ? end - bytes : l->start;

	if (s->p->read) {
		first = end;
		end = room_end - first > bytes ? first + bytes : room_end;
	}
	return (struct piece){ .target = target, .first = first, .at = first, .end = end };
}

/* What the next block goes by: in turn all have had as many, in balance as many are on their way. */
static uint64_t load_of(const struct stream_run *s, const struct piece *p)
{
	return s->p->layout == LAYOUT_ROUNDROBIN ? p->at - p->first : p->out;
}

static enum feed reserve_next(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct reserve *v = (struct reserve *)f;
	struct stream_run *s = v->s;
	struct piece *best = NULL, *flush = NULL;
	bool is_busy = false;

	for (size_t i = 0; i < s->routes.nlanes; i++) {
		struct piece *p = &v->v[i];

		is_busy = is_busy || p->out;
		if (!p->out && p->flushes < 2 && (!p->flushes || p->at == p->end))
			flush = p;
		else if (p->start_ns && p->at < p->end && (!best || load_of(s, p) < load_of(s, best)))
			best = p;
	}
	if (best && best->out >= s->depth) /* the least busy one, or whose turn it is */
		best = NULL;
	*ret_until_ns = CLOCK_NEVER;
	if (v->has_fault || (!best && !flush) || (!flush && !s->nfree))
		return is_busy ? FEED_WAIT : FEED_END;
	req->due_ns = now_ns;
	req->tag = UINT64_MAX; /* no block of the stream */
	if (flush) {
		req->op = IO_FLUSH;
		req->target = flush->target;
		req->slot = SLOT_NONE;
		flush->flushes++;
		flush->out++;
		return FEED_IO;
	}
	req->op = s->p->read ? IO_READ : IO_WRITE;
	req->target = best->target;
	req->offset_bytes = best->at;
	req->len_bytes = (uint32_t)s->p->block_bytes;
	req->slot = s->free_slots[--s->nfree];
	req->buf = engine_buf(s->eng, req->slot);
	if (s->p->verify) {
		const struct payload_id id = stream_placed_id(s, &s->routes.lanes[s->routes.lane_of[req->target]], req);

		payload_stamp(req->buf, &id);
	}
	best->at += s->p->block_bytes;
	best->out++;
	return FEED_IO;
}

static void reserve_take(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct reserve *v = (struct reserve *)((char *)sink - offsetof(struct reserve, sink));
	struct piece *p = &v->v[v->s->routes.lane_of[req->target]];

	if (req->op != IO_FLUSH)
		v->s->free_slots[v->s->nfree++] = req->slot;
	else if (p->flushes == 1)
		p->start_ns = req->done_ns;
	p->out--;
	p->done_ns = req->done_ns;
	p->done_bytes += req->len_bytes;
	/* The drive has read ahead: of what is read the later half counts. */
	if (v->s->p->read && !p->skipped_bytes && p->done_bytes >= (p->end - p->first) / 2) {
		p->skipped_bytes = p->done_bytes;
		p->start_ns = req->done_ns;
		slots_start(&p->slots, SLOT_NS);
	} else if (p->start_ns) {
		slots_add(&p->slots, req->done_ns - p->start_ns, (double)req->len_bytes);
	}
	v->has_fault = v->has_fault || is_fault;
}

int stream_reserve(struct stream_run *s, bool is_hidden, double *ret_bytes_per_s, struct err *err)
{
	struct reserve v = {
		.feeder = { reserve_next }, .sink = { reserve_take }, .s = s, .start_ns = clock_now_ns(s->ses->env->clk)
	};
	struct load load = {
		.targets = s->routes.targets, .ntargets = s->routes.ntargets, .feeder = &v.feeder, .sink = &v.sink
	};
	uint64_t block = s->p->block_bytes;
	uint64_t bytes = (s->ring.rate_bytes_per_s / s->routes.nlanes * STREAM_RESERVE_S / block + 1) * block;
	double sum = 0.0, square = 0.0, least = INFINITY;
	struct load_stats stats;
	int r;

	*ret_bytes_per_s = NAN;
	for (size_t i = 0; i < s->routes.nlanes; i++) {
		if (!s->routes.lanes[i].issued || s->routes.lanes[i].is_dead)
			return 0;
		v.v[i] = last_piece(s, &s->routes.lanes[i], bytes);
		if (s->p->read && v.v[i].end - v.v[i].first < bytes)
			return 0; /* too little is left to read */
		v.v[i].flushes = s->p->read ? 2 : 0;
		v.v[i].start_ns = s->p->read ? v.start_ns : 0;
		slots_start(&v.v[i].slots, SLOT_NS);
	}
	r = session_load(s->ses, &load, s->eng, &stats, err);
	if (r < 0 || v.has_fault || session_is_over(s->ses))
		return r;
	for (size_t i = 0; i < s->routes.nlanes; i++) {
		const struct piece *p = &v.v[i];
		uint64_t took_ns = p->done_ns - p->start_ns;
		double rate = (double)(p->done_bytes - p->skipped_bytes) / ((double)took_ns * 1e-9), half = 0.0;

		if (!is_hidden) /* through a cache it comes in two speeds, and the flush's own time is on the safe side
		                 */
			half = interval_half(slots_rate_ci(&p->slots, took_ns, rate));
		sum += rate;
		square += half * half;
		least = fmin(least, rate - half);
	}
	*ret_bytes_per_s = s->p->layout == LAYOUT_ROUNDROBIN ? least * (double)s->routes.nlanes : sum - sqrt(square);
	return 0;
}
