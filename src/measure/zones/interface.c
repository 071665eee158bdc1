/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast the drive gives what it holds in its buffer: the same bytes read again and again, in two sizes, whose
 * difference is free of what each request costs. Nothing comes faster than that, neither from the media nor from places
 * where nothing is stored. Some drives give up what they have sent: of those what they read ahead is read, a while
 * after what lies before it.
 */
#include <math.h>
#include <stddef.h>

#include "measure/zones/zones.h"

#define LARGE_BYTES (256u * 1024) /* fits into a segment of most buffers since 1995 */
#define AHEAD_BYTES (128u * 1024) /* that drives read ahead which do not read that much */
#define SMALL_PART  4 /* the small request is 1 / this of the large one: far enough apart for a difference */
#define TRIES       5 /* of each size; the first brings the bytes in, the best of the others counts */
#define TRIES_BRIEF 3 /* of few places what is read ahead, which takes some revolutions each time (a choice) */
#define LEADS       2 /* reads that make a drive read ahead */
#define AHEAD_REVS                                                                                                \
	2.5 /* after a read, until what lies behind it is in the buffer (a choice): no whole ones, or what is not \
	       comes by at once */
#define HIT_PART 0.3   /* of a revolution: what takes longer was no hit; half of one is what a miss takes in the mean */
#define HIT_NS   2.5e6 /* the same, where the revolution is not known: of 7200 rpm */

struct rereads {
	struct feeder feeder;
	struct sink sink;
	uint64_t at;
	uint32_t target, bytes[2], tries, issued;
	double best_ns[2], limit_ns; /* limit: what takes longer was no hit */
	bool is_brief;               /* ends where the small ones were none */
	uint64_t pause_ns, done_ns;  /* ahead: before each request that counts; of the last request */
	uint32_t lead_bytes;         /* ahead: of the reads before each that counts; 0: the same bytes again */
	uint32_t led;                /* of those so many are done */
	bool has_fault, in_flight;
};

/*
 * What the drive read ahead: a little is read, in two requests, since some read ahead in sequences only, and what lies
 * behind it a while later. Each time further on, for nothing may come from an earlier one.
 */
static void aim_ahead(struct rereads *s, struct io_req *req)
{
	req->offset_bytes = s->at + s->led * s->lead_bytes;
	if (s->led < LEADS) {
		req->len_bytes = s->lead_bytes;
		s->led++;
		return;
	}
	req->due_ns = s->done_ns + s->pause_ns;
	s->at += LEADS * s->lead_bytes + s->bytes[1];
	s->led = 0;
}

static enum feed next_reread(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct rereads *s = (struct rereads *)((char *)f - offsetof(struct rereads, feeder));

	(void)now_ns;
	if (s->in_flight) {
		*ret_until_ns = CLOCK_NEVER;
		return FEED_WAIT;
	}
	if (s->has_fault || s->issued == 2 * s->tries)
		return FEED_END;
	/* What does not hold the small ones holds no larger ones. */
	if (s->is_brief && s->issued == s->tries && !s->led && s->best_ns[0] > s->limit_ns)
		return FEED_END;
	req->op = IO_READ;
	req->target = s->target;
	req->offset_bytes = s->at;
	req->len_bytes = s->bytes[s->issued >= s->tries];
	req->due_ns = 0;
	s->in_flight = true;
	if (s->lead_bytes)
		aim_ahead(s, req);
	s->issued += !s->led;
	return FEED_IO;
}

static void take_reread(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct rereads *s = (struct rereads *)((char *)sink - offsetof(struct rereads, sink));
	double ns = (double)(req->done_ns - req->submit_ns);
	uint32_t is_large = s->issued > s->tries;

	s->in_flight = false;
	s->has_fault |= is_fault || req->is_late;
	s->done_ns = req->done_ns;
	if (!s->led && (s->issued - 1) % s->tries != 0)
		s->best_ns[is_large] = fmin(s->best_ns[is_large], ns);
}

/* is_ahead: by what the drive reads ahead; else by the same bytes again. *ret_is_hit: the smaller requests were in the
 * buffer. */
static int read_buffer(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, uint32_t large, bool is_ahead,
                       bool *ret_is_hit, struct err *err)
{
	struct rereads s = { .feeder = { .next = next_reread },
		             .sink = { take_reread },
		             .at = at_bytes,
		             .target = (uint32_t)t->index,
		             .bytes = { large / SMALL_PART - large / SMALL_PART % t->layout.align_bytes, large },
		             .tries = is_ahead && run->p->places ? TRIES_BRIEF : TRIES,
		             .best_ns = { INFINITY, INFINITY },
		             .limit_ns = t->layout.rev_ns > 0.0 ? HIT_PART * t->layout.rev_ns : HIT_NS,
		             .is_brief = run->p->places, /* those have three seconds for all */
		             .pause_ns = (uint64_t)(AHEAD_REVS * zone_rev_ns(&t->layout)),
		             .lead_bytes = is_ahead ? t->layout.align_bytes : 0 };
	uint64_t all_bytes = is_ahead ? 2ull * TRIES * (LEADS * s.lead_bytes + large) : large;
	struct load load = { .targets = run->ses->targets,
		             .ntargets = run->ses->ndevs,
		             .feeder = &s.feeder,
		             .sink = &s.sink,
		             .depth = (uint32_t)run->p->depth };
	struct load_stats stats;
	int r;

	t->byte_ns = t->request_ns = NAN;
	*ret_is_hit = true;
	if (s.bytes[0] == 0 || at_bytes + all_bytes > t->layout.end_bytes)
		return 0;
	r = session_load(run->ses, &load, run->eng, &stats, err);
	*ret_is_hit = s.best_ns[0] <= s.limit_ns;
	if (r == 0 && !s.has_fault && s.best_ns[1] <= s.limit_ns && s.best_ns[1] > s.best_ns[0]) {
		t->byte_ns = (s.best_ns[1] - s.best_ns[0]) / (large - s.bytes[0]);
		t->request_ns = fmax(s.best_ns[1] - large * t->byte_ns, 0.0);
	}
	return r;
}

int zone_interface_reread(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, uint32_t large,
                          struct err *err)
{
	uint32_t most = run->eng->cfg.buf_bytes; /* on a small device less than what a segment holds */
	bool is_hit;

	return read_buffer(run, t, at_bytes, large < most ? large : most, false, &is_hit, err);
}

int zone_interface_measure(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, struct err *err)
{
	uint32_t large = t->layout.block_bytes < LARGE_BYTES ? t->layout.block_bytes : LARGE_BYTES;
	bool is_hit;
	int r = read_buffer(run, t, at_bytes, large, false, &is_hit, err);

	bool is_ahead = r == 0 && !is_hit && t->layout.rev_ns != 0.0;

	if (is_ahead) {
		large = run->p->places && large > AHEAD_BYTES ? AHEAD_BYTES : large;
		r = read_buffer(run, t, at_bytes, large, true, &is_hit, err);
	}
	if (is_ahead && r == 0 && isnan(t->byte_ns) && large > AHEAD_BYTES)
		r = read_buffer(run, t, at_bytes, AHEAD_BYTES, true, &is_hit, err);
	/* A buffer that holds the small ones alone; of less, what a request costs scatters by as much as it takes. */
	if (!is_ahead && r == 0 && isnan(t->byte_ns) && large == LARGE_BYTES) {
		large /= SMALL_PART;
		r = read_buffer(run, t, at_bytes, large - large % t->layout.align_bytes, false, &is_hit, err);
	}
	t->layout.interface_bytes_per_s = 1e9 / t->byte_ns;
	if (is_ahead) /* not for small requests, which zones were resolved by less well on such drives (trial: wild
	                 disks) */
		t->byte_ns = t->request_ns = NAN;
	return r;
}
