/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast the drive gives what it holds in its buffer: the same bytes read again and again, in two sizes, whose
 * difference is free of what each request costs. Nothing comes faster than that, neither from the media nor from places
 * where nothing is stored. Some drives give up what they have sent: of those what they read ahead is read, a while
 * after what lies before it.
 */
#include <math.h>

#include "measure/shared/timed.h"
#include "measure/zones/zones.h"

#define LARGE_BYTES (256u * 1024) /* fits into a segment of most buffers since 1995 */
#define AHEAD_BYTES (128u * 1024) /* that drives read ahead which do not read that much */
#define SMALL_PART  4 /* the small request is 1 / this of the large one: far enough apart for a difference */
#define TRIES       5 /* of each size; the first brings the bytes in, the best of the others counts */
#define TRIES_BRIEF 3 /* of few places what is read ahead, which takes some revolutions each time (a choice) */
#define LEADS       2 /* reads that make a drive read ahead, since some do so in sequences only */
#define AHEAD_REVS                                                                                                \
	2.5 /* after a read, until what lies behind it is in the buffer (a choice): no whole ones, or what is not \
	       comes by at once */
#define HIT_PART   0.3 /* of a revolution: what takes longer was no hit; half of one is what a miss takes in the mean */
#define AGAIN_PART 0.9 /* the same of bytes that were just read, which the media bring by a whole one later */

/* The best time of all tries but the first; INFINITY: none. is_ahead: each time further on, for nothing may come from
 * an earlier one: *at moves. */
static int best_of(struct zones_run *run, const struct zone_target *t, uint64_t *at, uint32_t bytes, bool is_ahead,
                   double *ret_ns, struct err *err)
{
	struct clock *clk = run->ses->env->clk;
	struct timed io = { .ses = run->ses, .eng = run->eng, .target = &run->ses->targets[t->index] }, lead = io;
	size_t tries = is_ahead && run->p->places ? TRIES_BRIEF : TRIES;
	int r = 0;

	io.block_bytes = bytes;
	lead.block_bytes = t->layout.align_bytes;
	*ret_ns = INFINITY;
	for (size_t i = 0; r == 0 && i < tries; i++) {
		uint64_t leads[LEADS] = { *at, *at + lead.block_bytes };
		double ns[LEADS];

		if (is_ahead) {
			*at += LEADS * lead.block_bytes;
			r = timed_reads(&lead, leads, LEADS, ns, NULL, err);
			clk->sleep_until_ns(clk, clock_now_ns(clk) + (uint64_t)(AHEAD_REVS * zone_rev_ns(&t->layout)));
		}
		if (r == 0)
			r = timed_reads(&io, at, 1, ns, NULL, err);
		*at += is_ahead ? bytes : 0;
		if (r == 0 && i)
			*ret_ns = fmin(*ret_ns, ns[0]); /* NaN is left out */
	}
	return r;
}

/* is_ahead: by what the drive reads ahead; else by the same bytes again. *ret_is_hit: the smaller requests were in the
 * buffer. */
static int read_buffer(struct zones_run *run, struct zone_target *t, uint64_t at, uint32_t large, bool is_ahead,
                       bool *ret_is_hit, struct err *err)
{
	uint32_t small = large / SMALL_PART - large / SMALL_PART % t->layout.align_bytes;
	double part = is_ahead ? HIT_PART : AGAIN_PART, small_ns, large_ns = INFINITY;
	double limit_ns = (t->layout.rev_ns > 0.0 ? part : HIT_PART) * fmax(zone_rev_ns(&t->layout), 0.0);
	uint64_t all_bytes = is_ahead ? 2ull * TRIES * (LEADS * t->layout.align_bytes + large) : large;
	int r;

	t->byte_ns = t->request_ns = NAN;
	*ret_is_hit = true;
	if (small == 0 || at + all_bytes > t->layout.end_bytes)
		return 0;
	r = best_of(run, t, &at, small, is_ahead, &small_ns, err);
	*ret_is_hit = small_ns <= limit_ns;
	if (r == 0 && *ret_is_hit) /* what does not hold the small ones holds no larger ones */
		r = best_of(run, t, &at, large, is_ahead, &large_ns, err);
	if (r == 0 && large_ns <= limit_ns && large_ns > small_ns) {
		t->byte_ns = (large_ns - small_ns) / (large - small);
		t->request_ns = fmax(large_ns - large * t->byte_ns, 0.0);
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
	bool is_hit, is_ahead;
	int r = read_buffer(run, t, at_bytes, large, false, &is_hit, err);

	is_ahead = r == 0 && !is_hit && t->layout.rev_ns != 0.0;
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
