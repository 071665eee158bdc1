/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seek times of writes: a head that writes must have come to rest, where one that reads may begin a little before. So
 * data sheets give both, 0.3 to 1 ms apart. The same accesses as for reads, aimed in the same way over the same
 * distances, but each writes a sector: the overhead of a write is found by itself, as it may be another. Only where
 * writes wait for the media: a write cache takes them all in the time of a command, and that is told instead.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/seek/seek.h"

#define SETTLES_LEAST   4  /* distances (a choice) */
#define LOOKS           24 /* writes at random that tell whether a cache takes them */
#define QUICK_WRITES_NS (10 * NS_PER_S)
#define FULL_WRITES_NS  (60 * NS_PER_S)
#define CACHED                                                                                                      \
	0.4 /* of what the media would take on the average: a mean of so many from the media lies within a fifth of \
	       that (a choice) */

/* Writes at random places take far less than a seek and half a revolution. */
static int is_cached(struct seek_run *w, double media_ns, bool *ret_is, struct err *err)
{
	uint64_t offsets[LOOKS];
	double access[LOOKS];
	struct summary sum;
	int r;

	for (size_t i = 0; i < LOOKS; i++)
		offsets[i] = timed_align(&w->t, rng_double(&w->t.rng) * (double)w->size_bytes);
	r = timed_reads(&w->t, offsets, LOOKS, access, NULL, err);
	*ret_is = r == 0 && summary_of(access, LOOKS, &sum) && sum.mean < CACHED * media_ns;
	return r;
}

/* The part of a run that writes, from that which has read. points: room for 3 * POINTS_MAX. */
static struct seek_run *begin(const struct seek_run *s, struct seek_point *points)
{
	struct seek_run *w = malloc(sizeof(*w));

	if (!w)
		return NULL;
	*w = *s;
	w->is_writing = true;
	w->reads = s->has_fit ? s : NULL;
	w->more_ns = NAN;
	w->fraction = SEEK_READS_SHARE;
	w->share = 1.0;
	w->t.op = IO_WRITE;
	w->rot.hit_ns = NAN; /* no read, no hit */
	w->sector_hit_ns = w->cached_ns = 0.0;
	w->overhead_ns = NAN;
	w->overhead_ci = (struct interval){ NAN, NAN };
	w->track = w->third = w->full = w->average = (struct arrival){ .median = NAN };
	w->has_overhead = w->has_fit = false;
	w->nrandom = 0;
	memset(w->without, 0, sizeof(w->without));
	w->aimed = points;
	w->near = points + POINTS_MAX;
	w->point = points + 2 * POINTS_MAX;
	w->naimed = w->nnear = w->npoints = 0;
	return w;
}

/* Of what a write takes longer as a whole: without what the two overheads differ by. */
static struct stats_estimate without_overheads(const struct seek_run *s, const struct seek_run *w,
                                               struct stats_estimate more)
{
	return stats_sum(seek_less_overhead(w, more.value, more.ci),
	                 (struct stats_estimate){ s->overhead_ns, s->overhead_ci });
}

/* Of few writes: by how much they lie above the curve of the reads, which may be off as a whole by about as much as its
 * average. */
static bool settle_beyond(const struct seek_run *s, const struct seek_run *w, struct stats_estimate *ret)
{
	struct stats_estimate average = stats_difference((struct stats_estimate){ s->average.median, s->average.ci },
	                                                 stats_about(s->average.median, 0.0));

	*ret = without_overheads(s, w, stats_difference(stats_about(w->more_ns, 1.96 * w->more_se), average));
	return isfinite(ret->value) && isfinite(ret->ci.low) && isfinite(ret->ci.high);
}

/* What a seek takes longer where it ends in a write: the mean over the distances of which both are known, each its own.
 * false: not known. */
static bool find_settle(const struct seek_run *s, const struct seek_run *w, struct stats_estimate *ret, size_t *ret_n)
{
	double more[POINTS_MAX];
	struct summary sum;
	size_t n = 0;

	*ret_n = w->npoints;
	if (isfinite(w->more_ns))
		return settle_beyond(s, w, ret);
	for (size_t i = 0; i < s->naimed; i++)
		for (size_t k = 0; k < w->naimed; k++)
			if (s->aimed[i].stroke == w->aimed[k].stroke && s->aimed[i].is_known && w->aimed[k].is_known)
				more[n++] = w->aimed[k].fit.median - s->aimed[i].fit.median;
	if (n < SETTLES_LEAST || !isfinite(s->overhead_ns - w->overhead_ns) || !summary_of(more, n, &sum))
		return false;
	*ret = without_overheads(s, w,
	                         stats_about(sum.mean, stats_t_975((double)n - 1.0) * sum.stddev / sqrt((double)n)));
	*ret_n = n;
	return true;
}

/*
 * No head may write sooner than it may read. Where it seems so, the returns that told the overhead were none on one
 * track, but to another head, and that is in the overhead.
 */
static bool is_settled(const struct seek_run *s, struct seek_run *w, struct stats_estimate *ret, size_t *ret_n)
{
	if (!find_settle(s, w, ret, ret_n))
		return false;
	if (ret->ci.high >= 0.0)
		return true;
	seek_no_overhead(w);
	return false;
}

static void tell(struct seek_run *s, struct seek_run *w)
{
	struct stats_estimate settle;
	size_t n;
	bool is_known = is_settled(s, w, &settle, &n);

	seek_tell_near(w, w->near, w->nnear);
	seek_tell_curve(w);
	seek_tell_figures(w);
	if (is_known && w->has_fit)
		result_figure(s->res, "write_settle_ns", "seek of a write beyond that of a read", UNIT_NS, settle.value,
		              &settle.ci, n);
	if (!w->has_fit)
		result_notice(
			s->res, "writes-not-aimed",
			"Seek times of writes not reported: writes did not end when their sectors passed the head. The drive may write elsewhere first, as shingled ones do, or reorder.");
}

static void note_cache(struct seek_run *s)
{
	if (s->ses->common->write_cache == SWITCH_OFF || strcmp(s->ses->devs[0].write_cache, "write through") == 0)
		result_notice(
			s->res, "write-cache",
			"Writes take less than the media would need although the write cache is off: the drive keeps them elsewhere first, in a cache on its platters or in flash. Their seek times cannot be seen.");
	else
		result_notice(
			s->res, "write-cache",
			"The drive's write cache takes writes before they are on the media, so their seek times cannot be seen: add --write-cache=off, which turns it off for the run.");
}

/* They have a time of their own, or what is left of that which was asked for. */
static uint64_t writing_ns(const struct seek_run *s)
{
	return s->ses->common->time_ns ? session_time_left_ns(s->ses) : s->p->quick ? QUICK_WRITES_NS : FULL_WRITES_NS;
}

int seek_writes(struct seek_run *s, struct err *err)
{
	cleanup_free struct seek_point *points = calloc((size_t)3 * POINTS_MAX, sizeof(*points));
	cleanup_free struct seek_run *w = points ? begin(s, points) : NULL;
	const uint32_t block = s->t.block_bytes;
	bool is = false;
	int r;

	if (!w)
		return err_set(err, -ENOMEM, "Out of memory.");
	if (!s->has_fit || s->is_split || s->rot.is_patchy || !isfinite(s->average.median)) {
		result_notice(
			s->res, "no-write-curve",
			"Writes were left out: without a seek curve of reads over all of the device there is nothing to aim them by.");
		return 0;
	}
	seek_budget(w, writing_ns(s));
	w->t.block_bytes = w->t.step_bytes;
	r = is_cached(w, s->average.median + s->rot.period_ns / 2.0, &is, err);
	w->t.block_bytes = block;
	if (is)
		note_cache(s);
	if (r == 0 && !is && !session_is_over(s->ses))
		(void)seek_begin(w, SEEK_OVERHEAD);
	if (r == 0 && !is && !session_is_over(s->ses))
		r = seek_overhead(w, err);
	if (r == 0 && !is && !session_is_over(s->ses))
		r = seek_curve_begin(w, err);
	s->t.rng = w->t.rng;
	seek_tell_cut(w);
	if (w->naimed)
		tell(s, w);
	session_checkpoint(s->ses);
	return r;
}

bool seek_load_all(struct seek_run *s, const struct table *t)
{
	size_t returns = seek_load_accesses(t, seek_of(s, "overhead", "write overhead"), s->aimed);
	size_t on = s->is_writing ? 0 : seek_load_accesses(t, SEEK_READS_ON, s->near);

	if (returns || on) {
		seek_conclude_overhead(s, s->aimed, s->near);
		memset(s->near, 0, POINTS_MAX * sizeof(*s->near));
	}
	memset(s->aimed, 0, POINTS_MAX * sizeof(*s->aimed));
	s->naimed = seek_load_accesses(t, seek_of(s, "curve", "write curve"), s->aimed);
	s->nnear = seek_load_accesses(t, seek_of(s, "near", "write near"), s->near);
	seek_fit_aimed(s);
	return s->naimed > 0;
}

int seek_writes_again(struct seek_run *s, const struct table *accesses, struct err *err)
{
	cleanup_free struct seek_point *points = calloc((size_t)3 * POINTS_MAX, sizeof(*points));
	cleanup_free struct seek_run *w = points ? begin(s, points) : NULL;

	if (!w)
		return err_set(err, -ENOMEM, "Out of memory.");
	if (!seek_load_all(w, accesses))
		return 0;
	seek_conclude_curve(w, -1);
	tell(s, w);
	return 0;
}
