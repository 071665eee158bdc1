/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing that outlasts the write cache. A cache takes data as fast as the interface brings them, and the media begin
 * when it likes (half full, or a quarter of a second later); only once it is full do completions come at the pace of
 * the media. So samples of writing write some bytes first that do not count. How many is found out before: a place is
 * read, then written in growing lengths, until two things hold. The pace at the end is not faster than reading, which
 * no medium exceeds; and the time of the flush afterwards agrees with it.
 *
 * The flush shows more: what lies in the cache when it is asked for takes its time to reach the media. A disk that
 * answers far sooner has not done it. Once proves nothing: a host that stood still while the last bytes came makes the
 * media look slow, and all before it cached. It is reported where further tries, each with an empty cache, say so of
 * one and the same cache.
 */
#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/units.h"
#include "measure/zones/zones.h"

#define FASTER 1.15 /* than reading the same bytes: no medium takes writes faster; the rest is noise of two samples */
#define LEAD_MARGIN \
	1.25 /* the faster the media, the later a cache is full: from the probe's place to the start of the disk */
#define FIRST_BYTES  (16ull << 20) /* the caches of most drives are full after that, or twice that */
#define EARLY_PART   0.25 /* of the time that emptying the cache takes: an honest flush takes about all of it */
#define EARLY_REVS   2.0  /* and less than this says nothing: seek and latency are in it */
#define EARLY_TRIES  2    /* more, each of which must say so */
#define EMPTY_MARGIN 2.0  /* of the time that emptying takes at the media's pace ... */
#define EMPTY_MAX_NS 10e9 /* ... but no longer: nobody waits for that (a choice) */
#define SAME_RATIO   1.5  /* at most, between what a cache took in each time */
#define FLUSH_PART \
	0.05 /* of the sample's time: a flush that takes longer found much in a cache, which was not full yet */

/* Does the pace at the sample's end last? */
static bool is_lasting(const struct zone_target *t, const struct zone_sample *s)
{
	double all_ns = s->elapsed_ns + s->written.cached.bytes * s->ns_per_byte;

	if (!s->is_good || 1e9 / s->ns_per_byte > FASTER * t->read_bytes_per_s)
		return false;
	return s->written.cached.bytes > 0.0
	               ? s->written.cached.bytes < s->moved_bytes
	               : s->written.flush_ns < fmax(EARLY_REVS * zone_rev_ns(&t->layout), FLUSH_PART * all_ns);
}

/* The cache was full when the flush came: cached_bytes less what the media took meanwhile, which is at most what they
 * can. */
static bool is_early(const struct zone_target *t, const struct zone_sample *s)
{
	double emptying_ns = (s->written.cached.bytes - s->written.cached.ns / s->ns_per_byte) * s->ns_per_byte;

	return emptying_ns > EARLY_REVS * zone_rev_ns(&t->layout) && s->written.flush_ns < EARLY_PART * emptying_ns;
}

/*
 * Does the flush end early each further time? *how: twice as long as the one that said so first, as an empty cache
 * takes more than one that earlier samples have left full. Before each, the time for what was not flushed.
 */
static bool is_early_again(struct zones_run *run, struct zone_target *t, const struct zone_sample *how,
                           const struct zone_sample *first, int *ret_r, struct err *err)
{
	struct clock *clk = run->ses->env->clk;
	const struct zone_sample *s = first;
	double least = INFINITY, most = 0.0;

	for (int i = 0; i < EARLY_TRIES; i++) {
		double empty_ns = fmin(EMPTY_MARGIN * s->written.cached.bytes * s->ns_per_byte, EMPTY_MAX_NS);

		clk->sleep_until_ns(clk, clock_now_ns(clk) + (uint64_t)empty_ns);
		*ret_r = zone_sample_take(run, t, how, &s, err);
		if (*ret_r < 0 || session_is_over(run->ses) || !is_lasting(t, s) || !is_early(t, s))
			return false;
		least = fmin(least, s->written.cached.bytes);
		most = fmax(most, s->written.cached.bytes);
	}
	return most < SAME_RATIO * least;
}

/* Whoever puts bytes back relies on flushes. */
static int report(const struct zones_run *run, const struct zone_target *t, const struct zone_sample *s,
                  struct err *err)
{
	char bytes[32], took[32];

	result_notice(
		run->res, "flush-returns-at-once",
		"%s reported a flush complete after %s, when its cache had taken %s faster than the media write. The cache "
		"outlasts a power failure (a controller's, with a battery), or loses what it reported safe. Rates are of "
		"what outlasts the cache.",
		t->dev->path, units_time(took, sizeof(took), (uint64_t)s->written.flush_ns),
		units_bytes_dec(bytes, sizeof(bytes), (uint64_t)s->written.cached.bytes));
	if (!run->p->rewrite)
		return 0;
	return err_set(
		err, -EIO,
		"%s says that it has flushed before it has, so --rewrite cannot promise that every byte outlasts a power "
		"failure. All are in place again; measure by reading, or with --write where the data may go.",
		t->dev->path);
}

static void place(struct zone_sample *how, const struct zone_layout *l, uint64_t at_bytes, uint64_t bytes)
{
	how->first_bytes = at_bytes + bytes > l->end_bytes ? l->end_bytes - bytes : at_bytes;
	how->end_bytes = how->first_bytes + bytes;
}

/* Samples begin with what outlasts the cache, as this one found; and does the drive flush? most: bytes of a probe. */
static int leave_out(struct zones_run *run, struct zone_target *t, struct zone_sample *how, struct zone_sample found,
                     uint64_t most, struct err *err)
{
	uint64_t twice = 2 * (how->end_bytes - how->first_bytes);
	bool is_flush_early = is_early(t, &found);
	int r = 0;

	t->lead_bytes = (uint64_t)(found.written.cached.bytes * LEAD_MARGIN * (is_flush_early ? 2.0 : 1.0));
	t->lead_bytes = t->lead_bytes < ZONE_LEAD_MAX ? t->lead_bytes : ZONE_LEAD_MAX;
	t->lead_bytes -= t->lead_bytes % t->layout.block_bytes;
	place(how, &t->layout, how->first_bytes, twice < most ? twice : most);
	if (!is_flush_early || !is_early_again(run, t, how, &found, &r, err))
		return r;
	return report(run, t, &found, err);
}

int zone_outlast(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, struct err *err)
{
	const struct zone_layout *l = &t->layout;
	uint64_t most = 2 * ZONE_LEAD_MAX, room = (l->end_bytes - l->first_bytes) / 4;
	int r;

	if (run->p->rewrite && most > run->chunk_bytes)
		most = run->chunk_bytes;
	most = most < room ? most : room;
	most -= most % l->block_bytes;
	r = zone_sample_read(run, t, at_bytes, at_bytes + l->window_bytes, err);
	t->is_outlasted = true; /* samples are written in one piece from here on */
	for (uint64_t bytes = FIRST_BYTES; r == 0 && isfinite(t->read_bytes_per_s); bytes *= 2) {
		struct zone_sample how = { .position = ZONE_NONE, .kind = SAMPLE_PROBE };
		const struct zone_sample *s;

		if (session_is_over(run->ses))
			return 0;
		bytes = bytes < most ? bytes : most;
		place(&how, l, at_bytes, bytes);
		r = zone_sample_take(run, t, &how, &s, err);
		if (r < 0 || s->has_fault)
			break;
		if (is_lasting(t, s))
			return leave_out(run, t, &how, *s, most, err);
		if (bytes == most)
			break;
	}
	t->is_outlasted = false;
	return r;
}
