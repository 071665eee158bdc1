/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Votes to edges. Something is held up to a place and not beyond it; each read at some place x is quick or slow.
 * Between any two neighbours of those that were tried the edge may lie, and each such gap has a likelihood: of the
 * quick ones before it and the slow ones behind it. The gap that is reported has to be a thousand times as likely as
 * all others together (noisy bisection: Burnashev and Zigangirov 1974).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "measure/buffer/buffer.h"
#include "measure/shared/link.h"

#define QUICK_HITS 0.85   /* of what is held, quick at least (a choice): 2 to 10 % are late on a busy machine */
#define LATE       2.0    /* times as long as a hit takes at most, that the host may ask too late (a choice) */
#define KEEPS_UP   1.8    /* times as fast as the media must the interface be to catch up (a choice) */
#define SURE       6.9078 /* ln 1000 */

static double vote(const struct buffer_conditions *c, bool is_quick, double p_held)
{
	double quick = p_held * QUICK_HITS + (1.0 - p_held) * c->chance_ratio;

	return log(is_quick ? quick : 1.0 - quick);
}

static bool is_of(const struct buffer_sample *s, enum buffer_test test)
{
	return strcmp(s->test, buffer_test_names[test]) == 0;
}

struct tried {
	uint64_t at;
	double as_held, as_not; /* log likelihoods of its votes */
	double n_quick, n_slow;
};

static size_t votes_of(const struct buffer_samples *s, const struct buffer_conditions *c, enum buffer_test test,
                       struct tried *ret, size_t *ret_votes)
{
	size_t n = 0, places = 0;

	for (size_t i = 0; i < s->n; i++)
		if (is_of(&s->v[i], test)) {
			bool is_quick = buffer_is_hit(c, (double)s->v[i].access_ns);

			ret[n++] = (struct tried){ s->v[i].at, vote(c, is_quick, 1.0), vote(c, is_quick, 0.0), is_quick,
				                   !is_quick };
		}
	*ret_votes = n;
	if (n)
		qsort(ret, n, sizeof(*ret), order_u64);
	for (size_t i = 0; i < n; i++)
		if (places && ret[places - 1].at == ret[i].at) {
			ret[places - 1].as_held += ret[i].as_held;
			ret[places - 1].as_not += ret[i].as_not;
			ret[places - 1].n_quick += ret[i].n_quick;
			ret[places - 1].n_slow += ret[i].n_slow;
		} else {
			ret[places++] = ret[i];
		}
	return places;
}

void buffer_edge_of(const struct buffer_samples *s, const struct buffer_conditions *c, enum buffer_test test,
                    struct buffer_edge *ret)
{
	cleanup_free struct tried *v = xcalloc(s->n + 1, sizeof(*v));
	cleanup_free double *l = xcalloc(s->n + 2, sizeof(*l)); /* of gap k: the first k places are held */
	size_t n, best = 0, second = SIZE_MAX;
	double others = 0.0,
	       own = 0.0; /* own: of places that differ for other reasons, each share as likely beforehand */

	*ret = (struct buffer_edge){ .high = UINT64_MAX };
	n = votes_of(s, c, test, v, &ret->votes);
	for (size_t i = 0; i < n; i++) {
		l[0] += v[i].as_not;
		own += lgamma(v[i].n_quick + 1) + lgamma(v[i].n_slow + 1) - lgamma(v[i].n_quick + v[i].n_slow + 2);
	}
	for (size_t k = 1; k <= n; k++) {
		l[k] = l[k - 1] + v[k - 1].as_held - v[k - 1].as_not;
		best = l[k] > l[best] ? k : best;
	}
	for (size_t k = 0; k <= n; k++) {
		if (k == best)
			continue;
		others += exp(l[k] - l[best]);
		if (second > n || l[k] > l[second])
			second = k;
	}
	ret->low = best ? v[best - 1].at : 0;
	ret->high = best < n ? v[best].at : UINT64_MAX;
	ret->log_likelihood = l[best];
	ret->is_sure = n && others < 1.0 / 1000;
	ret->is_explained = l[best] > own;
	if (n)
		ret->ask = second > best ? v[best].at : v[best ? best - 1 : 0].at;
}

int buffer_is_held(const struct buffer_samples *s, const struct buffer_conditions *c, enum buffer_test test)
{
	double l = 0.0;

	for (size_t i = 0; i < s->n; i++)
		if (is_of(&s->v[i], test)) {
			bool is_quick = buffer_is_hit(c, (double)s->v[i].access_ns);

			l += vote(c, is_quick, 1.0) - vote(c, is_quick, 0.0);
		}
	return l > SURE ? 1 : l < -SURE ? 0 : -1;
}

/* A track's data, skews and what the rate may be off included, are 0.85 to 1.45 of what passes in a revolution at that
 * rate. */
#define TRACK_LEAST 0.85
#define TRACK_SIZES 8
#define TRACK_STEP  1.08

double buffer_track_odds(const struct buffer_samples *s, const struct buffer_conditions *c, enum buffer_test test)
{
	cleanup_free struct tried *v = xcalloc(s->n + 1, sizeof(*v));
	double best = -INFINITY, track = TRACK_LEAST * c->media_bytes_per_s * c->period_ns * 1e-9;
	struct buffer_edge e;
	size_t n, votes;

	buffer_edge_of(s, c, test, &e);
	if (!e.votes)
		return 0.0;
	n = votes_of(s, c, test, v, &votes);
	for (int k = 0; k < TRACK_SIZES; k++, track *= TRACK_STEP) {
		double l = 0.0;

		/* Up to each of the places tried: what does not reach it is as it is when nothing is held. */
		for (size_t i = 0; i < n; i++)
			l += v[i].as_not;
		for (size_t i = 0; i < n; i++) {
			double held = fmax(0.0, 1.0 - (double)(v[i].at + c->block_bytes) / track);

			best = fmax(best, l);
			l += v[i].n_quick * vote(c, true, held) + v[i].n_slow * vote(c, false, held) - v[i].as_not;
		}
		best = fmax(best, l);
	}
	return best - e.log_likelihood;
}

/* ---- estimates ---- */

static struct stats_estimate between(double low, double high)
{
	return (struct stats_estimate){ (low + high) / 2.0, { low, high } };
}

/* The difference of the medians of two sizes is free of what each request costs. */
static struct stats_estimate interface_of(const struct buffer_samples *s)
{
	cleanup_free double *v[2] = { xcalloc(s->n + 1, sizeof(double)), NULL }, *w = xcalloc(s->n + 1, sizeof(double));
	size_t n[2] = { 0, 0 };
	uint64_t large = 0, small = 0;
	struct interval ci[2];
	struct stats_estimate e = STATS_UNKNOWN;
	double median[2];

	for (size_t i = 0; i < s->n; i++)
		if (is_of(&s->v[i], BUFFER_REREAD) && s->v[i].at > large)
			large = s->v[i].at;
	small = large / 4;
	v[1] = w;
	if (!large)
		return e;
	for (size_t i = 0; i < s->n; i++)
		if (is_of(&s->v[i], BUFFER_REREAD)) {
			size_t k = s->v[i].at == large;

			v[k][n[k]++] = (double)s->v[i].access_ns;
		}
	for (size_t k = 0; k < 2; k++) {
		stats_sort(v[k], n[k]);
		ci[k] = stats_quantile_ci_sorted(v[k], n[k], 0.5);
		median[k] = stats_quantile_sorted(v[k], n[k], 0.5);
	}
	if (ci[1].low > ci[0].high && median[1] > median[0]) {
		double bytes = 1e9 * (double)(large - small);

		e.value = bytes / (median[1] - median[0]);
		e.ci = (struct interval){ bytes / (ci[1].high - ci[0].low + 1.0),
			                  bytes / fmax(1.0, ci[1].low - ci[0].high - 1.0) };
	}
	return e;
}

#define WAKING 0.125 /* of a revolution (a choice): half of 20 random waits are shorter in 2 of 10000 */

/*
 * Answers that are too slow for the buffer wait for their angle, at random ones after a rest; together they are far too
 * quick for that where a host took its time to wake up after it.
 */
static bool is_of_neither(const struct buffer_samples *s, const struct buffer_conditions *c, enum buffer_test test)
{
	cleanup_free double *slow = xcalloc(s->n + 1, sizeof(*slow));
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (is_of(&s->v[i], test) && !buffer_is_hit(c, (double)s->v[i].access_ns))
			slow[n++] = (double)s->v[i].access_ns;
	return n && stats_median(slow, n) < c->hit_limit_ns + WAKING * c->period_ns;
}

static void analyse_ahead(const struct buffer_samples *s, const struct buffer_conditions *c, struct buffer_found *f)
{
	struct buffer_edge one, two, *e = &one;
	double odds;

	buffer_edge_of(s, c, BUFFER_AHEAD, &one);
	buffer_edge_of(s, c, BUFFER_AHEAD_SECOND, &two);
	f->ahead = one.low ? AHEAD_ALWAYS : AHEAD_UNKNOWN;
	if (one.is_sure && !one.low) {
		e = &two;
		f->ahead = two.low ? AHEAD_AFTER_SECOND : two.is_sure ? AHEAD_NONE : AHEAD_UNKNOWN;
	}
	if (!one.low && is_of_neither(s, c, BUFFER_AHEAD))
		f->ahead = AHEAD_UNKNOWN;
	if (f->ahead == AHEAD_UNKNOWN || !e->votes || !e->low)
		return;
	odds = buffer_track_odds(s, c, f->ahead == AHEAD_AFTER_SECOND ? BUFFER_AHEAD_SECOND : BUFFER_AHEAD);
	if (odds > SURE) {
		f->end = END_TRACK;
	} else if (e->is_sure && e->is_explained && e->high != UINT64_MAX &&
	           e->high - e->low <= c->block_bytes + e->low / 64) {
		f->is_ahead_even = odds < -SURE;
		/* behind the block itself; what is held ends with a whole one as a rule */
		f->ahead_bytes = (struct stats_estimate){ (double)e->low, { (double)e->low, (double)e->high } };
	}
}

/* What one stream gets of the buffer. */
static void analyse_extent(const struct buffer_samples *s, const struct buffer_conditions *c, struct buffer_found *f)
{
	struct buffer_edge run;
	double beyond =
		c->media_bytes_per_s * c->hit_limit_ns * 1e-9; /* the head goes on until the next command is there */
	double low, high;
	bool is_exact = false;

	buffer_edge_of(s, c, BUFFER_RUN, &run);
	f->is_media_slower = link_is_far(c->media_bytes_per_s, f->interface.value);
	if (!f->is_media_slower || !run.is_sure || !run.low || run.high == UINT64_MAX)
		return;
	low = (double)run.low;
	high = (double)run.high + (f->ahead == AHEAD_NONE ? 0.0 : beyond);
	if (isfinite(f->ahead_bytes.value) && f->ahead_bytes.ci.high + (double)c->block_bytes >= low) {
		is_exact = true; /* reads ahead until that is full */
		f->end = f->is_ahead_even ? END_SEGMENT : END_UNKNOWN;
		low = f->ahead_bytes.ci.low + (double)c->block_bytes;
		high = f->ahead_bytes.ci.high + (double)c->block_bytes;
	} else if (isfinite(f->ahead_bytes.value) && f->is_ahead_even &&
	           f->ahead_bytes.ci.high + (double)c->block_bytes + c->media_bytes_per_s * c->hit_limit_ns * 1e-9 <
	                   low)
		f->end = END_LENGTH;
	if (!is_exact && !(f->interface.value > KEEPS_UP * c->media_bytes_per_s))
		return;
	f->extent = is_exact ? low : (low + high) / 2.0;
	if (!is_exact && f->ahead != AHEAD_NONE)
		high += LATE * beyond;
	f->extent_low = (uint64_t)low;
	f->extent_high = (uint64_t)high;
}

static void analyse_sizing(const struct buffer_samples *s, const struct buffer_conditions *c, struct buffer_found *f)
{
	struct buffer_edge longer, volume;
	double n = (double)f->streams, low = (double)f->extent_low, high = (double)f->extent_high;
	uint64_t len = 0;
	int held = buffer_is_held(s, c, BUFFER_LARGE);

	if (f->streams >= 3 && held >= 0 && f->extent_low)
		f->sizing = held ? SIZING_FIXED : SIZING_BY_USE;
	buffer_edge_of(s, c, BUFFER_LONGER, &longer);
	if (f->sizing == SIZING_FIXED || (longer.is_sure && longer.low == f->streams &&
	                                  longer.high == longer.low + 1)) /* it is not a volume that limits them */
		f->segments = between(n, n);
	if (f->extent_low && f->sizing != SIZING_BY_USE)
		f->segment = (struct stats_estimate){ f->extent, { low, high } };
	if (f->sizing == SIZING_FIXED)
		f->buffer = (struct stats_estimate){ n * f->extent, { n * low, n * high } };
	if (f->sizing != SIZING_BY_USE)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (is_of(&s->v[i], BUFFER_VOLUME))
			len = s->v[i].len_bytes;
	buffer_edge_of(s, c, BUFFER_VOLUME, &volume);
	if (len && f->before == 0 && volume.is_sure && volume.low && volume.high == volume.low + 1 &&
	    volume.low < f->streams) {
		/* Read ahead, while the next command is looked at. */
		double beyond = c->media_bytes_per_s * c->period_ns * 0.25e-9;

		f->buffer = between((double)volume.low * (double)len, (double)volume.high * ((double)len + beyond));
	}
}

/* ---- writes ---- */

#define FIRST_WRITES 32
#define CACHED_TURN  0.25 /* of a revolution: to the media at most one in four is quicker */
#define QUICK_BEHIND 0.3  /* writes behind the knee that are quick, as some are emptied together (a choice) */
#define WIDEST       0.3  /* of the size of a cache, that its interval may be */
#define LEAST_BEHIND 24
#define SLOWEST      8.0  /* revolutions for a write anywhere, with what is read there before (a choice) */
#define FLUSH_PART   0.25 /* of the time that that many writes take behind the knee: quicker they are on no media */
#define FLUSH_CLEAR  0.5  /* of a revolution: if that time is shorter, it shows nothing */

void buffer_knee_of(const struct buffer_samples *s, const struct buffer_conditions *c, uint64_t block_bytes,
                    struct buffer_knee *ret)
{
	cleanup_free double *v = xcalloc(s->n + 1, sizeof(*v)), *l = xcalloc(s->n + 2, sizeof(*l));
	double first[FIRST_WRITES], limit, ns = 0.0;
	size_t n = 0, best = 0, low, high;

	*ret = (struct buffer_knee){ .is_cached = false };
	for (size_t i = 0; i < s->n; i++)
		if (is_of(&s->v[i], BUFFER_WRITE) && s->v[i].len_bytes == block_bytes)
			v[n++] = (double)s->v[i].access_ns;
	if (n < FIRST_WRITES)
		return;
	/* Even if the cache is full after the fourth of them. */
	memcpy(first, v, sizeof(first));
	stats_sort(first, FIRST_WRITES);
	ret->is_cached = first[FIRST_WRITES / 8] < CACHED_TURN * c->period_ns;
	limit = ret->cached_ns = first[FIRST_WRITES / 8] * 1.5 + c->hit_limit_ns - c->hit_ns;
	for (size_t i = 0; i < n; i++) /* l[k]: the knee is behind the first k */
		l[i + 1] = l[i] + (v[i] <= limit ? log(QUICK_HITS / QUICK_BEHIND)
		                                 : log((1.0 - QUICK_HITS) / (1.0 - QUICK_BEHIND)));
	for (size_t k = 1; k <= n; k++)
		best = l[k] > l[best] ? k : best;
	for (low = best; low > 0 && l[low - 1] > l[best] - SURE;)
		low--;
	for (high = best; high < n && l[high + 1] > l[best] - SURE;)
		high++;
	if (!ret->is_cached || high >= n || best == 0)
		return;
	ret->behind = n - high;
	ret->low_bytes = (double)low * (double)block_bytes;
	ret->high_bytes = (double)(high + 1) * (double)block_bytes;
	for (size_t i = 0; i < best; i++)
		ret->filled_ns += v[i];
	for (size_t i = high; i < n; i++)
		ns += v[i];
	ret->writes_per_s = (double)ret->behind * 1e9 / ns;
	ret->writes_ci = stats_batch_means_ci(v + high, ret->behind);
	ret->writes_ci = (struct interval){ 1e9 / ret->writes_ci.high, 1e9 / ret->writes_ci.low };
	ret->empties_ns = 1e9 * (double)low / ret->writes_per_s;
}

#define READS_LEAST 16
#define CLEAR_TIMES 8.0 /* longest reads at rest in the time of emptying: else it shows nothing (a choice) */

/* A read that waits for the cache takes as long as that needs to be empty; one that passes takes its place among the
 * writes. */
static void analyse_reads(const struct buffer_samples *s, const struct buffer_knee *knee, uint64_t block_bytes,
                          struct buffer_found *f)
{
	const enum buffer_test tests[2] = { BUFFER_READ_BUSY, BUFFER_READ_IDLE };
	struct stats_estimate *const ret[2] = { &f->read_busy, &f->read_idle };
	double empties_ns = knee->empties_ns;
	cleanup_free double *v = xcalloc(s->n + 1, sizeof(*v));
	double first = NAN, most = 0.0;
	size_t n = 0, quick = 0;

	for (size_t k = 0; k < 2; k++) {
		n = 0;
		for (size_t i = 0; i < s->n; i++)
			if (is_of(&s->v[i], tests[k]) && s->v[i].len_bytes == block_bytes)
				v[n++] = (double)s->v[i].access_ns;
		if (n < READS_LEAST)
			return;
		for (size_t i = 0; k == 0 && i < n; i++)
			quick += v[i] < empties_ns / 4.0;
		first = k == 0 ? v[0] : first;
		stats_sort(v, n);
		most = v[n - 1];
		*ret[k] = (struct stats_estimate){ stats_quantile_sorted(v, n, 0.5),
			                           stats_quantile_ci_sorted(v, n, 0.5) };
	}
	if (!(empties_ns > CLEAR_TIMES * most))
		return;
	if (quick * 4 >= n * 3 && first < empties_ns / 2.0)
		f->passes = 1;
	else if (first >= empties_ns / 2.0 && first < empties_ns * 2.0)
		f->passes = 0;
}

#define FUA_CLEAR 0.45 /* of a revolution: quicker ones may go to a cache on the media (a choice) */
#define FUA_LEAST 8
#define FUA_AGREE 0.75 /* of them */
#define FUA_TURNS 4    /* at most, for one block */
#define FUA_OFF   0.05 /* of a revolution, early or late: three of four by chance once in 1e5 (choices) */

/* Whole revolutions from one to the next: 1; none: 0; or neither: -1. */
static int turns_of(const struct buffer_samples *s, const struct buffer_conditions *c, enum buffer_test test,
                    double quick_ns)
{
	size_t n = 0, quick = 0, whole = 0;

	for (size_t i = 0; i < s->n; i++) {
		double turns = (double)s->v[i].access_ns / c->period_ns;

		if (!is_of(&s->v[i], test))
			continue;
		n++;
		quick += (double)s->v[i].access_ns < quick_ns;
		whole += turns > 0.5 && turns < FUA_TURNS + 0.5 && fabs(turns - round(turns)) < FUA_OFF;
	}
	if (n < FUA_LEAST)
		return -1;
	return (double)whole >= FUA_AGREE * (double)n ? 1 : (double)quick >= FUA_AGREE * (double)n ? 0 : -1;
}

/* What was emptied while it was filled is not its size: nothing, or as much as in that time behind the knee. */
/*
 * Do flushes wait? Quicker than the writes behind the knee, but not so quick that nothing was written, are those into a
 * cache on the media.
 */
static int flushes_wait(const struct buffer_samples *s, const struct buffer_conditions *c,
                        const struct buffer_knee knee[2])
{
	size_t n = 0, at_once = 0, waits = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct buffer_sample *v = &s->v[i];
		double least;

		if (!is_of(v, BUFFER_FLUSH))
			continue;
		least = FLUSH_PART * 1e9 * (double)v->at / knee[v->len_bytes == c->block_bytes].writes_per_s;
		n += least > FLUSH_CLEAR * c->period_ns;
		waits += (double)v->access_ns >= least;
		at_once += (double)v->access_ns < fmin(least, CACHED_TURN * c->period_ns);
	}
	return n < 4 ? -1 : at_once * 4 >= n * 3 ? 0 : waits * 4 >= n * 3 ? 1 : -1;
}

static void analyse_write_cache(const struct buffer_samples *s, const struct buffer_conditions *c,
                                struct buffer_found *f)
{
	const uint64_t blocks[2] = { BUFFER_LARGE_BLOCK, c->block_bytes };
	struct buffer_knee knee[2];
	size_t n = 0;
	double quick_ns = 0.0;

	f->write_cache = f->flush = f->passes = f->fua_writes = -1;
	f->write_cache_bytes = f->emptying = f->read_busy = f->read_idle = STATS_UNKNOWN;
	for (size_t k = 0; k < 2; k++) {
		double emptied, low;

		buffer_knee_of(s, c, blocks[k], &knee[k]);
		if (knee[k].is_cached)
			f->write_cache = 1;
		if (knee[k].behind < LEAST_BEHIND)
			continue;
		emptied = knee[k].writes_per_s * knee[k].filled_ns * 1e-9 * (double)blocks[k];
		low = knee[k].low_bytes - emptied;
		f->emptying = (struct stats_estimate){ knee[k].writes_per_s, knee[k].writes_ci };
		if (c->period_ns * knee[k].writes_per_s * SLOWEST < 1e9) { /* a cache on the media is full */
			f->write_cache_bytes = STATS_UNKNOWN;
			continue;
		}
		if (low > 0.0 && knee[k].high_bytes - low < WIDEST * low)
			f->write_cache_bytes = between(low, knee[k].high_bytes);
		if (FUA_CLEAR * c->period_ns * knee[k].writes_per_s < 1e9)
			quick_ns = fmin(knee[k].cached_ns, FLUSH_PART * 1e9 / knee[k].writes_per_s);
		analyse_reads(s, &knee[k], blocks[k], f);
	}
	for (size_t i = 0; i < s->n; i++)
		if (is_of(&s->v[i], BUFFER_WRITE))
			n++;
	f->has_written = n > 0;
	if (n >= FIRST_WRITES && f->write_cache < 0)
		f->write_cache = 0;
	/* What is as quick without one goes to a cache on the media, where a flush has nothing to wait for. */
	if (c->is_through && f->write_cache == 1) {
		f->write_cache = f->passes = -1;
		f->write_cache_bytes = STATS_UNKNOWN;
	}
	if (f->write_cache !=
	    1) /* without one they wait, with FUA or not: what is quick may be in a cache on the media */
		return;
	f->flush = flushes_wait(s, c, knee);
	f->fua_writes = turns_of(s, c, BUFFER_FUA_WRITE, quick_ns);
}

void buffer_analyse(const struct buffer_samples *s, const struct buffer_conditions *c, struct buffer_found *ret)
{
	struct buffer_edge streams;

	*ret = (struct buffer_found){ .interface = interface_of(s),
		                      .segments = STATS_UNKNOWN,
		                      .segment = STATS_UNKNOWN,
		                      .buffer = STATS_UNKNOWN,
		                      .ahead_bytes = STATS_UNKNOWN,
		                      .before = buffer_is_held(s, c, BUFFER_BEFORE) };
	buffer_edge_of(s, c, BUFFER_STREAMS, &streams);
	if (streams.is_sure && streams.low && streams.high == streams.low + 1)
		ret->streams = (size_t)streams.low;
	analyse_ahead(s, c, ret);
	analyse_extent(s, c, ret);
	analyse_sizing(s, c, ret);
	if (c->spoilt_ratio > BUFFER_SPOILT_MOST) {
		ret->segments = ret->segment = ret->buffer = ret->ahead_bytes = STATS_UNKNOWN;
		ret->sizing = SIZING_DISTURBED;
		ret->end = END_UNKNOWN;
	}
	ret->fua_reads = turns_of(s, c, BUFFER_FUA_READ, CACHED_TURN * c->period_ns);
	analyse_write_cache(s, c, ret);
}
