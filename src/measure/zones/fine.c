/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which requests a sample is read in, by what the drive gives from its buffer.
 *
 * The same bytes are read again and again, in two sizes, whose difference is free of what each request costs. Nothing
 * comes faster than that, neither from the media nor from places where nothing is stored. Some drives give up what they
 * have sent: of those what they read ahead is read, a while after what lies before it.
 *
 * Small requests show where tracks end: eight of them and more in a revolution leave so little of the skews in the
 * slope of a sample that a third of its length does (estimate.c). But a drive that loses time with each request, or a
 * bridge that does, is slower so, and where revolutions get lost only many of them show how many. So in the first pass
 * every third place has large ones in shorter samples, and those of the figures, and all that come after revolutions
 * were lost; the other passes have small ones unless many were; all samples of small ones are dropped where places are
 * slower in them than in large ones, or where the second pass lost many and the first did not.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
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

#define PLACE_MIN_BYTES (16 * 1024u) /* a quarter of the tracks of 1995 */
#define FINE_MIN_BYTES  (32 * 1024u) /* tracks hold 0.3 MB and more since 2000 */
#define TRACK_PARTS     8            /* requests per revolution (trial on four drives: five leave twice as much) */
#define COARSE_EVERY    3            /* places of the first pass, that show whether small ones are slower (a choice) */
#define BUSY_PART       0.75         /* of the media's time that they may take one after the other (a choice) */
#define LOSSY_PART \
	0.5 /* of the precision asked for, that the interval of what is lost may take after a pass (a choice) */
#define SLOWER_MIN    0.001 /* relative; as much as intervals are wide at best */
#define SLOWER_SIGMAS 3.0

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

/* The same bytes at `at` again and again, in requests of that size and a part of it. */
static int reread(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, uint32_t large, struct err *err)
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

/* Bytes of a request, from which on its own time leaves the media theirs; NaN: not known. */
static double least_request(const struct zone_target *t)
{
	double spare_ns = BUSY_PART * 1e9 / t->bytes_per_s - t->byte_ns;

	return spare_ns > 0.0 ? t->request_ns / spare_ns : (double)NAN;
}

/*
 * Of few places samples are short, and those of an old disk hold few requests of the usual least size, of which the
 * first do not count. What a host takes at once, and with it a request, may be any number of sectors. Where requests
 * stay long, fewer of them wait at the drive: as many as are under way at once are left out.
 */
static void shorten_lead_in(struct zone_target *t)
{
	struct zone_layout *l = &t->layout;
	double least = fmax(PLACE_MIN_BYTES, least_request(t)), rev_bytes = t->bytes_per_s * 1e-9 * zone_rev_ns(l);

	if (l->is_one_at_a_time || l->rev_ns == 0.0)
		return;
	while (!isnan(least_request(t)) && l->block_bytes > rev_bytes * ZONE_PLACE_REQUEST_REVS) {
		uint32_t half = l->block_bytes / 2;

		half -= half % l->align_bytes;
		if (half < least)
			break;
		l->block_bytes = half;
	}
	l->coarse_bytes = l->block_bytes;
	if (l->block_bytes >= ZONE_REQUEST_REVS * rev_bytes && l->depth > 2)
		l->lead_in = l->depth = 2;
}

int zone_fine_find(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, struct err *err)
{
	const struct zones_params *p = run->p;
	struct zone_layout *l = &t->layout;
	double rev_bytes = t->bytes_per_s * 1e-9 * l->rev_ns, least;
	uint32_t fine = l->block_bytes;
	int r = 0;

	if (p->places && !p->block_bytes)
		shorten_lead_in(t);
	if (p->block_bytes || zone_is_cut(l) || p->sample_bytes || p->places || p->quick ||
	    !(rev_bytes >= FINE_MIN_BYTES * (ZONE_TRACK_PARTS + 1)))
		return 0;
	if (isnan(t->byte_ns)) /* a segment of its buffer may hold less */
		r = reread(run, t, at_bytes, ZONE_BLOCK_MIN, err);
	least = least_request(t);
	if (r < 0 || !(least >= 0.0))
		return r;
	while (fine / 2 >= FINE_MIN_BYTES && fine / 2 >= least && fine % (2 * l->align_bytes) == 0 &&
	       fine > rev_bytes / TRACK_PARTS)
		fine /= 2;
	/* One more than shows tracks, as the start of a disk gives fewer. */
	if (fine < l->block_bytes && fine <= rev_bytes / (ZONE_TRACK_PARTS + 1))
		l->fine_bytes = fine;
	return 0;
}

/* Have revolutions been lost so far, in the first pass? How many is to be known then, which takes longer samples. */
static bool has_lost(const struct zone_target *t)
{
	double revs = 0.0;

	for (size_t i = 0; i < t->samples.n; i++)
		revs += t->samples.v[i].kind == SAMPLE_CURVE && t->samples.v[i].is_good ? t->samples.v[i].lost.revs
		                                                                        : 0.0;
	return revs > 1.0;
}

void zone_fine_begin(struct zone_target *t, size_t position)
{
	struct zone_layout *l = &t->layout;
	bool is_coarse = l->positions[position].class == ZONE_LONG || position % COARSE_EVERY == 0 || has_lost(t);

	if (l->fine_bytes)
		l->block_bytes = is_coarse ? l->coarse_bytes : l->fine_bytes;
}

static bool is_fine(const struct zone_target *t, const struct zone_sample *s)
{
	return s->request_bytes < t->layout.coarse_bytes;
}

struct both { /* samples of one place, in small requests and in large ones */
	double y[2], n[2];
};

/* How much slower places are in small requests than in large ones: the median, less what chance does to it. */
static double slower_by(const struct zone_target *t)
{
	size_t n = t->layout.npositions, pairs = 0;
	cleanup_free struct both *at = xcalloc(n, sizeof(*at));
	cleanup_free double *y = xcalloc(2 * n, sizeof(*y));
	double median;

	for (size_t i = 0; i < t->samples.n; i++) {
		const struct zone_sample *s = &t->samples.v[i];

		if (s->kind != SAMPLE_CURVE || !s->is_good)
			continue;
		at[s->position].y[is_fine(t, s)] += zone_clean_y(&t->layout, s);
		at[s->position].n[is_fine(t, s)]++;
	}
	for (size_t i = 0; i < n; i++)
		if (at[i].n[0] > 0.0 && at[i].n[1] > 0.0)
			y[pairs++] = at[i].y[1] / at[i].n[1] - at[i].y[0] / at[i].n[0];
	if (!pairs)
		return 0.0;
	median = stats_median(y, pairs);
	for (size_t i = 0; i < pairs; i++)
		y[n + i] = fabs(y[i] - median);
	/* 1.4826 makes a deviation of the median of absolute ones, 1.2533 one of a median */
	return median - SLOWER_SIGMAS * 1.4826 * 1.2533 * stats_median(y + n, pairs) / sqrt((double)pairs);
}

void zone_fine_choose(const struct zones_run *run, struct zone_target *t, uint32_t pass)
{
	struct zone_layout *l = &t->layout;
	double lost = 1.96 * sqrt(t->analysis->levels.loss_var);
	bool is_lossy = lost > LOSSY_PART * log1p(session_precision(run->ses)), is_worse;

	if (pass > 1)
		return;
	/*
	 * What was not lossy after the first pass, and is after one of small requests alone, is so by those. Where it
	 * was lossy before, and the second pass was of large requests, small ones may still have been slower.
	 */
	is_worse = pass == 1 && ((l->fine_bytes && is_lossy) || slower_by(t) >= SLOWER_MIN);
	if (is_worse || is_lossy)
		l->fine_bytes = 0;
	l->block_bytes = l->fine_bytes ? l->fine_bytes : l->coarse_bytes;
	t->is_taken_back |= is_worse;
	for (size_t i = 0; is_worse && i < t->samples.n; i++)
		if (t->samples.v[i].kind == SAMPLE_CURVE && is_fine(t, &t->samples.v[i]))
			t->samples.v[i].kind = SAMPLE_PROBE; /* not used */
}
