/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slow regions by what makes disks slow where they fail: the drive tries again and loses whole revolutions, which shows
 * as waits inside the samples (estimate.c). A surface or a zone of less density is slower as well, but has none.
 *
 * Healthy places have few waits: a spare track, a disturbance. All samples in the order of their places are a series of
 * waits and of revolutions in which they could happen; a region is a stretch where they are so dense that the
 * likelihood ratio of two Poisson rates, summed up (Page 1954), says so beyond doubt. So it does not matter how long a
 * single sample is: many short ones say the same as a long one.
 *
 * Of a volume over several disks nothing is said: one waits for the other, and how long says nothing of a place.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define WAITS_USUAL \
	0.004 /* per revolution, that a healthy place may have on top of the background (trial: wild disks) ... */
#define USUAL_TIMES 1.3  /* ... times this: the background is the rate of a quiet stretch */
#define WAITS_SLOW  0.03 /* more than the usual: what is looked for; 3 % of the rate */
#define WAITS_COMMON                                                                                                  \
	0.15 /* per revolution, everywhere: the way to the disk loses them (a bridge), in clusters, and Poisson's law \
	        does not hold */
#define BORDER_REVS 80.0 /* that tell the level beside a border: to 0.2 % where a track scatters by 2 % */
#define BORDER_MIN  20.0 /* fewer than these tell none, nor does one sample alone of less than all of those */
#define SLOPE_PARTS 6 /* of BORDER_REVS each, before a border, that tell how much slower the disk gets along it ... */
#define SLOPE_LEAST 3 /* ... and at least (choices) */
#define SHARP_REVS  300.0 /* that tell the waits on both sides of a border ... */
#define SHARP_TIMES 1.5   /* and so many times more it must have inside (trial: wild disks) ... */
#define SHARP_SCORE                                                                                                    \
	6.0 /* ... by this log of the likelihood ratio, of both borders together, which are where they show best (1 in \
	       400: trial, wild disks) ... */
#define SHARP_PART                                                                                                 \
	0.5 /* ... and so much of all that it has: else they grow from nothing, and there is no border (the lesser \
	       half) */
#define STEP_PART   0.5  /* of the excess that the step at the borders must be, at least: the larger half */
#define STEP_ENOUGH 0.05 /* but not more than this, ... */
#define STEP_LEAST                                                                                        \
	0.25 /* or than this part of the excess: waits without a step are the disk's own way to give data \
	      */
#define STEP_TIMES \
	2.5 /* of the excess, that the step at a begin without an end is at most: more is a step between zones */
#define SIDE_PART                                                                                           \
	-0.5 /* of the least step, that each of two sides must show: the slope of the disk goes against one \
	      */
#define BEGIN_PART                                                                                                     \
	0.25 /* of the excess, that what lies before must be faster by, where the way to the host loses revolutions (a \
	        choice) */
#define SCORE_MIN     7.0  /* log of the likelihood ratio that makes a suspect, which is read again ... */
#define SCORE_SURE    11.0 /* ... and that confirms it: 1 in 60000 */
#define SCORE_SPLIT   4.0  /* what a part says against it that ends it: 1 in 50 */
#define REVS_PER_WAIT 3.0  /* that count, at most: retries take one or two, more are a freeze */
#define FREEZE_TIMES \
	2.0 /* the region's usual wait, or the longest that counts: longer ones are none of its (a choice) */
#define LOSS_PART   0.5 /* of a region's loss, that its waits must hold to be what it is: the larger half */
#define RETRIES_MIN 3   /* samples that tell what is usual of them (a choice) */
#define SCORE_REST  5.0 /* left without the sample that says most: a freeze or a scan hits a single one (1 in 150) */
#define NEARER      0.5 /* of a region's excess: what is slower is nearer to its level than to what is usual there */
#define FAR_TIMES                                                                                                 \
	3.0 /* slower than a place behind it: no zones of one disk differ so (the end of one is 0.4 to 0.6 of its \
	       start) */
#define LEAST_SHARE 0.07 /* of its time that a region loses: less is not told (a choice) */
#define SPARSE_SHARE \
	0.5 /* the same of few places, where revolutions are lost by the zone, too: most of the time (a choice) */
#define LOST_MAX 0.95 /* more cannot be: some of the time was spent on reading */
#define DENSER   1.3  /* times the waits of a stretch: what a region in it must have (a choice) */
#define OTHERS_PART                                                                                              \
	0.1 /* of the waits that must lie in passes other than the busiest: or it was a disturbance (trial: wild \
	       disks) */
#define PASS_PART     0.5  /* of a region's waits, that each pass must have rather than the usual (the lesser half) */
#define QUIET_PART    0.15 /* of the stretches, that are quiet even on a disk of which half is slow */
#define STRETCH_REVS  20.0 /* at least, in a stretch: a rate of one in a hundred shows */
#define STRETCHES_MAX 20   /* so that a region of a twentieth is one */
#define AGAIN_PART \
	0.5 /* of the waits of a sample, that its bytes must have when they are read again: the larger half */
#define KEPT_PART  0.8 /* of the time that so many bytes take: less is of no media (surfaces differ by 0.85) */
#define PASSES_MAX 64  /* more of them share a place in the table */

struct series { /* samples in order of place */
	const struct zone_sample **s;
	size_t n;
	double rev_ns, usual;               /* waits per revolution of a healthy place */
	double threshold;                   /* of levels: what is slow without any wait */
	bool is_one_at_a_time;              /* the device's queue holds one request */
	bool is_sparse;                     /* places lie zones apart: what was not read between them is in no region */
	const struct zone_samples *samples; /* in order of time */
	size_t npositions;
	bool *is_far; /* each: far slower than a place behind it. Where nearly each request loses a revolution none of
	                 them stands out */
};

/* What is left of a sample's time without its waits, at most: each was counted in whole revolutions, and may have been
 * half of one less. */
static double left_ns(const struct zone_sample *s, double rev_ns)
{
	return s->elapsed_ns - (fmin(s->wait_revs, REVS_PER_WAIT * s->waits) - 0.5 * s->waits) * rev_ns;
}

/* May it be one of a region, or say that there is none? An edge that was looked for may be that of what is not stored.
 */
static bool is_of_media(const struct zone_sample *s, const struct zone_layout *l, const struct zone_stretches *st)
{
	return s->is_good && !s->is_burst && !s->is_disturbed && s->kind != SAMPLE_PROBE && s->kind != SAMPLE_CHECK &&
	       !zone_is_at_interface(st, s->position) && !(s->kind == SAMPLE_EDGE && zone_comes_at_once(s, l));
}

enum again { AGAIN_UNKNOWN, AGAIN_NONE, AGAIN_SAME };

/*
 * What reading the bytes of a sample again said: where nothing was lost then, it was of the time. What comes faster
 * than the sample did without its waits, or than any, was kept by the drive, and says nothing.
 */
static enum again again_of(const struct zone_sample *s, const struct zone_sample *check, double rev_ns, double fastest)
{
	double pace = fmax((s->elapsed_ns - s->wait_revs * rev_ns) / s->moved_bytes, fastest);
	/* Of requests that begin elsewhere other waits may stand out, and as much be lost. */
	double half = (s->elapsed_ns - 0.5 * s->wait_revs * rev_ns) / s->moved_bytes;

	if (!s->waits || !check->is_good || check->is_disturbed ||
	    check->elapsed_ns < KEPT_PART * pace * check->moved_bytes)
		return AGAIN_UNKNOWN;
	return check->waits * s->elapsed_ns < AGAIN_PART * s->waits * check->elapsed_ns &&
	                       check->elapsed_ns < half * check->moved_bytes
	               ? AGAIN_NONE
	               : AGAIN_SAME;
}

void zone_waits_again(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_stretches *st,
                      bool *ret_is_of_time)
{
	cleanup_free enum again *again = xcalloc(samples->n + 1, sizeof(*again));
	double fastest = INFINITY;

	for (size_t i = 0; i < samples->n; i++)
		if (is_of_media(&samples->v[i], l, st))
			fastest = fmin(fastest, samples->v[i].elapsed_ns / samples->v[i].moved_bytes);
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *check = &samples->v[i];
		enum again said;

		if (check->kind != SAMPLE_CHECK || check->check_of >= samples->n)
			continue;
		said = again_of(&samples->v[check->check_of], check, zone_rev_ns(l), fastest);
		if (said > again[check->check_of])
			again[check->check_of] = said;
	}
	for (size_t i = 0; i < samples->n; i++)
		ret_is_of_time[i] = again[i] == AGAIN_NONE;
}

static int by_place(const void *a, const void *b)
{
	const struct zone_sample *const *x = a, *const *y = b;

	return (*x)->from_bytes < (*y)->from_bytes ? -1 : (*x)->from_bytes > (*y)->from_bytes;
}

/*
 * Leaves out samples whose waits cost nothing. Where several disks or arms give by turns what was read ahead one
 * completion waits for another, and the next come at once: no revolution is in that. Then what is left of a sample's
 * time is too short for its bytes: faster than anything before it that has no wait, and no disk gets faster. Where
 * nothing before it is as fast as what comes behind its front may be slow, and zones differ by much.
 */
static void leave_out_free(struct series *v)
{
	cleanup_free double *least = xcalloc(v->n + 1, sizeof(*least)); /* of each and what comes behind it */
	double before = INFINITY, behind = INFINITY;
	size_t n = 0;

	for (size_t i = v->n; i-- > 0;)
		least[i] = behind = fmin(behind, v->s[i]->elapsed_ns / v->s[i]->moved_bytes);
	for (size_t i = 0; i < v->n; i++) {
		const struct zone_sample *s = v->s[i];
		double front = before < least[i] ? before : least[i] / FAR_TIMES;

		if (!s->waits)
			before = fmin(before, s->elapsed_ns / s->moved_bytes);
		if (s->waits && left_ns(s, v->rev_ns) < KEPT_PART * front * s->moved_bytes)
			continue;
		v->s[n++] = s;
	}
	v->n = n;
}

/* Fills is_far. Two samples have to say so: one alone may have come out of a buffer, as after a stall, and all before
 * it would be far slower. */
static void mark_far(struct series *v)
{
	double fastest = INFINITY, second = INFINITY;

	for (size_t i = v->n; i-- > 0;) {
		double pace = v->s[i]->elapsed_ns / v->s[i]->moved_bytes;

		v->is_far[i] = pace > FAR_TIMES * second;
		second = fmin(second, fmax(pace, fastest));
		fastest = fmin(fastest, pace);
	}
}

/*
 * Waits per revolution where there are few: of stretches of equal length those that have few, for half of a disk may be
 * slow; what is far slower than a place behind it is not quiet for having none. *ret_least: of the best.
 */
static double background(const struct series *v, double *ret_least)
{
	double rate[STRETCHES_MAX], all = 0.0, waits = 0.0, ns = 0.0, least;
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		all += v->is_far[i] ? 0.0 : v->s[i]->elapsed_ns;
	least = fmax(STRETCH_REVS * v->rev_ns, all / STRETCHES_MAX);
	for (size_t i = 0; i < v->n && n < STRETCHES_MAX; i++) {
		if (v->is_far[i])
			continue;
		waits += v->s[i]->waits;
		ns += v->s[i]->elapsed_ns;
		if (ns < least)
			continue;
		rate[n++] = waits * v->rev_ns / ns;
		waits = ns = 0.0;
	}
	stats_sort(rate, n);
	*ret_least = n ? rate[0] : 0.0;
	return n ? stats_quantile_sorted(rate, n, QUIET_PART) : 0.0;
}

/* Log of the likelihood ratio of so many waits per revolution against the usual. What costs several revolutions counts
 * for more, one long freeze not. */
static double score(const struct series *v, size_t i, double slow)
{
	double sum = 0.5 * (v->s[i]->waits + fmin(v->s[i]->wait_revs, REVS_PER_WAIT * v->s[i]->waits)) *
	                     log(slow / v->usual) -
	             (slow - v->usual) * v->s[i]->elapsed_ns / v->rev_ns;

	return v->is_far[i] ? fmax(sum, 0.0) : sum;
}

/* The stretch of [first, end) with the largest sum of scores, without a part in it that says the contrary; returns the
 * sum. */
static double best_stretch(const struct series *v, double slow, double split, size_t first, size_t end,
                           size_t *ret_first, size_t *ret_last)
{
	double sum = 0.0, peak = 0.0, best = 0.0;
	size_t from = first;

	for (size_t i = first; i < end; i++) {
		if (sum <= 0.0 || sum < peak - split) {
			sum = peak = 0.0;
			from = i;
		}
		sum += score(v, i, slow);
		peak = fmax(peak, sum);
		if (sum > best) {
			best = sum;
			*ret_first = from;
			*ret_last = i;
		}
	}
	return best;
}

/* Waits per revolution of [first, last]. */
static double rate_of(const struct series *v, size_t first, size_t last)
{
	double waits = 0.0, ns = 0.0;

	for (size_t i = first; i <= last; i++) {
		waits += v->s[i]->waits;
		ns += v->s[i]->elapsed_ns;
	}
	return waits * v->rev_ns / ns;
}

/* Time of a sample without what a wait took beyond so many revolutions: freezes of disk or host are not of the place.
 */
static double time_within(const struct series *v, const struct zone_sample *s, double most)
{
	return s->elapsed_ns - fmin(fmax(s->wait_revs - most * s->waits, 0.0) * v->rev_ns, LOST_MAX * s->elapsed_ns);
}

/* The same beyond retries. */
static double counted_ns(const struct series *v, const struct zone_sample *s)
{
	return time_within(v, s, REVS_PER_WAIT);
}

/* Do several passes say so? */
static bool is_lasting(const struct series *v, size_t first, size_t last)
{
	double pass[PASSES_MAX] = { 0 }, all = 0.0, most = 0.0;

	for (size_t i = first; i <= last; i++) {
		double *p = &pass[v->s[i]->pass % PASSES_MAX];

		*p += v->s[i]->waits;
		all += v->s[i]->waits;
		most = fmax(most, *p);
	}
	return all - most >= OTHERS_PART * all;
}

struct border {       /* samples on one side of a border, until they are BORDER_REVS */
	double y, at; /* their level, NaN: too few, or none; where they lie, in bytes */
	size_t next;  /* the first that is none of them */
};

/* From `from` on, upwards or downwards. */
static struct border border_from(const struct series *v, size_t from, int way)
{
	double ns = 0.0, bytes = 0.0, at = 0.0;
	size_t i = from;
	bool is_known;

	for (; i < v->n && ns < BORDER_REVS * v->rev_ns; i += (size_t)way) {
		ns += counted_ns(v, v->s[i]);
		bytes += v->s[i]->moved_bytes;
		at += v->s[i]->moved_bytes * (double)v->s[i]->from_bytes;
	}
	is_known = ns >= BORDER_REVS * v->rev_ns || (ns >= BORDER_MIN * v->rev_ns && i - from != (size_t)way);
	return (struct border){ is_known ? log(ns / bytes) : (double)NAN, at / bytes, i };
}

static double level_from(const struct series *v, size_t from, int way)
{
	return border_from(v, from, way).y;
}

struct amount {
	double waits, revs;
};

/* Of the samples from `from` on, upwards or downwards, of [first, last] at most. */
static struct amount waits_from(const struct series *v, size_t from, int way, size_t first, size_t last)
{
	struct amount sum = { 0 };

	for (size_t i = from; i >= first && i <= last && i < v->n && sum.revs < SHARP_REVS; i += (size_t)way) {
		sum.revs += v->s[i]->elapsed_ns / v->rev_ns;
		sum.waits += v->s[i]->waits;
	}
	return sum;
}

/*
 * Log of the likelihood ratio that there are more inside a border than outside, against as many; negative where there
 * is none: hardly more inside, or less than half of the rate of all that is inside, as where they grow from nothing.
 */
static double sharpness(struct amount in, struct amount out, double rate)
{
	double all = (in.waits + out.waits) / (in.revs + out.revs), score = 0.0;

	if (!(in.waits > 0.0) || in.waits / in.revs < SHARP_PART * rate)
		return -INFINITY;
	if (!(out.revs > 0.0))
		return 0.0;
	if (in.waits / in.revs < SHARP_TIMES * out.waits / out.revs)
		return -INFINITY;
	score += in.waits * log(in.waits / in.revs / all);
	return score + (out.waits > 0.0 ? out.waits * log(out.waits / out.revs / all) : 0.0);
}

/* The same of one border of [first, last]: its begin (way 1) or its end (-1). */
static double sharpness_at(const struct series *v, size_t first, size_t last, int way)
{
	double rate = rate_of(v, first, last);

	if (way > 0)
		return sharpness(waits_from(v, first, 1, first, last), waits_from(v, first - 1, -1, 0, first - 1),
		                 rate);
	return sharpness(waits_from(v, last, -1, first, last), waits_from(v, last + 1, 1, last + 1, v->n), rate);
}

struct steps { /* of the level at a stretch's borders: upwards before it, downwards behind it; NaN: not known */
	double before, behind;
};

static struct steps steps_at(const struct series *v, size_t first, size_t last)
{
	return (struct steps){ level_from(v, first, 1) - level_from(v, first - 1, -1),
		               level_from(v, last, -1) - level_from(v, last + 1, 1) };
}

/*
 * How much of the step at the begin of a stretch is the slope of the disk, as what lies before it falls; 0: too little
 * does to tell. Beside a stretch with both borders the slopes of the two steps cancel out.
 */
static double slope_at(const struct series *v, size_t first)
{
	struct border in = border_from(v, first, 1), before = border_from(v, first - 1, -1), b = before;
	size_t parts = 1;

	while (parts < SLOPE_PARTS && b.next < v->n) {
		struct border farther = border_from(v, b.next, -1);

		if (isnan(farther.y))
			break;
		b = farther;
		parts++;
	}
	if (parts < SLOPE_LEAST || !(before.at > b.at))
		return 0.0;
	return fmax((before.y - b.y) / (before.at - b.at) * (in.at - before.at), 0.0);
}

/* Does it tell what is usual in it? */
static bool is_wide(const struct series *v, size_t first, size_t last)
{
	double ns = 0.0;

	for (size_t i = first; i <= last; i++)
		ns += v->s[i]->elapsed_ns;
	return ns >= 2.0 * SHARP_REVS * v->rev_ns;
}

/*
 * Does a stretch have borders, where its waits begin and end? What a drive loses at the ends of tracks or of requests
 * comes and goes with the zones, or grows towards an end of the disk, and where such a stretch is cut off is chance.
 * That is of wide ones, and of those with nothing behind them; what is short may lie beside another region.
 */
static bool has_borders(const struct series *v, size_t first, size_t last, const struct steps *steps)
{
	if (!is_wide(v, first, last) && !isnan(steps->behind))
		return true;
	return sharpness_at(v, first, last, 1) + sharpness_at(v, first, last, -1) >= SHARP_SCORE;
}

/*
 * Revolutions that a wait of [first, last] takes at most, and no freeze: what is so long in most samples is of the
 * place. Drives try again for several of them, and one that turns faster than it says takes more of what a revolution
 * is taken for.
 */
static double most_per_wait(const struct series *v, size_t first, size_t last)
{
	cleanup_free double *each = xcalloc(last - first + 1, sizeof(*each));
	size_t n = 0;

	for (size_t i = first; i <= last; i++)
		if (v->s[i]->waits)
			each[n++] = (double)v->s[i]->wait_revs / v->s[i]->waits;
	return n >= RETRIES_MIN ? fmax(stats_median(each, n), REVS_PER_WAIT) : REVS_PER_WAIT;
}

/*
 * Time and bytes of [first, last], and what was lost of the time. Part of what is lost shows in no wait: a revolution
 * counts only when nearly all of it is between two requests. The steps tell that part; but not more than all of it is
 * slower than what lies on both sides, for its ends are where they are because samples there are slow.
 */
static void sum_up(const struct series *v, size_t first, size_t last, const struct steps *steps, double *ret_ns,
                   double *ret_bytes, double *ret_lost)
{
	double step = fmin(steps->before, steps->behind), lost = 0.0, most = most_per_wait(v, first, last);
	double sides = 0.5 * (level_from(v, first - 1, -1) + level_from(v, last + 1, 1));

	*ret_ns = *ret_bytes = 0.0;
	for (size_t i = first; i <= last; i++) {
		*ret_ns += time_within(v, v->s[i], most);
		*ret_bytes += v->s[i]->moved_bytes;
		lost += fmin(v->s[i]->wait_revs, most * v->s[i]->waits) * v->rev_ns;
	}
	step = fmin(step, log(*ret_ns / *ret_bytes) - sides); /* NaN is left out */
	*ret_lost = fmax(fmin(lost, LOST_MAX * *ret_ns), isnan(step) ? 0.0 : (1.0 - exp(-step)) * *ret_ns);
}

/*
 * Do its samples lose beyond doubt more than those of healthy places may? Where some lose much and others nothing they
 * met a bad track or two, and what all of it loses they do not say. By what each differs from the share of all (a ratio
 * of two sums, Cochran 1977). Few samples, and what loses more than waits show, is judged otherwise.
 */
static bool is_loss_sure(const struct series *v, size_t first, size_t last, double lost)
{
	double most = most_per_wait(v, first, last), ns = 0.0, waits_ns = 0.0, squares = 0.0;
	double n = (double)(last - first + 1);

	for (size_t i = first; i <= last; i++) {
		ns += time_within(v, v->s[i], most);
		waits_ns += fmin(v->s[i]->wait_revs, most * v->s[i]->waits) * v->rev_ns;
	}
	if (n < RETRIES_MIN || waits_ns < LOSS_PART * lost)
		return true;
	for (size_t i = first; i <= last; i++) {
		double own = fmin(v->s[i]->wait_revs, most * v->s[i]->waits) * v->rev_ns;
		double off = own - waits_ns / ns * time_within(v, v->s[i], most);

		squares += off * off;
	}
	return waits_ns - stats_t_975(n - 1.0) * sqrt(n / (n - 1.0) * squares) > v->usual * ns;
}

/* Time per byte of what is as near to the region's level as to what it would be without the revolutions lost. */
static double nearer_pace(const struct series *v, size_t first, size_t last)
{
	struct steps steps = steps_at(v, first, last);
	double ns, bytes, lost;

	sum_up(v, first, last, &steps, &ns, &bytes, &lost);
	return ns / bytes * pow(1.0 - lost / ns, NEARER);
}

/* Is a sample at an end none of it: nearer to what all would be without the revolutions lost (half) than to its level,
 * or slow for a freeze? */
static bool is_beside(const struct zone_sample *s, double half, double most_per_wait)
{
	return s->elapsed_ns < half * s->moved_bytes || s->wait_revs > FREEZE_TIMES * most_per_wait * s->waits;
}

/*
 * How many samples of [first, last], from its begin (way 1) or its end (-1) on, are of a place of which the rest,
 * outside, says the contrary, and do not say by themselves that they are of the region? That one ends within a place is
 * less likely than that it ends in what lies between two and was not read.
 */
static size_t doubtful(const struct series *v, size_t first, size_t last, int way)
{
	const size_t from = way > 0 ? first : last, position = v->s[from]->position;
	double slow = rate_of(v, first, last), in = 0.0, out = 0.0;
	size_t n = 0;

	for (size_t i = from; i >= first && i <= last && v->s[i]->position == position; i += (size_t)way, n++)
		in += score(v, i, slow);
	for (size_t i = from - (size_t)way; i < v->n && v->s[i]->position == position; i -= (size_t)way)
		out += score(v, i, slow);
	return position != ZONE_NONE && n <= last - first && in < SCORE_SPLIT && out < -SCORE_SPLIT ? n : 0;
}

/* Without what lies at its ends and is none of it, though it has lost a revolution by chance, or many at once. Was
 * there any? */
static bool trim(const struct series *v, size_t *first, size_t *last)
{
	double half = nearer_pace(v, *first, *last), most = most_per_wait(v, *first, *last);
	size_t n = *last - *first;

	*first += doubtful(v, *first, *last, 1);
	*last -= doubtful(v, *first, *last, -1);
	while (*first < *last && is_beside(v->s[*first], half, most))
		++*first;
	while (*last > *first && is_beside(v->s[*last], half, most))
		--*last;
	return *last - *first < n;
}

/* What a sample says for a region of so many waits; one that is as slow as the region (pace: in the middle) without a
 * wait says nothing: of large requests none stands out. */
static double said_by(const struct series *v, size_t i, double slow, double pace)
{
	double said = score(v, i, slow);

	return v->s[i]->elapsed_ns < pace * v->s[i]->moved_bytes ? said : fmax(said, 0.0);
}

/*
 * Do large requests say the contrary, in it and at the places where it begins and ends? What comes of small requests is
 * not in others.
 */
static bool is_of_small(const struct series *v, size_t first, size_t last, uint32_t small, double half)
{
	double slow = fmax(rate_of(v, first, last), v->usual), sum = 0.0;
	size_t a = first, b = last;

	while (a > 0 && v->s[a - 1]->position == v->s[first]->position)
		a--;
	while (b + 1 < v->n && v->s[b + 1]->position == v->s[last]->position)
		b++;
	for (size_t i = a; i <= b; i++)
		if (v->s[i]->request_bytes > small && v->s[i]->kind != SAMPLE_EDGE)
			sum += said_by(v, i, slow, half);
	return sum < -SCORE_SPLIT;
}

/* Does a whole pass say the contrary, or all large requests of one? What is of the place is there in each. */
static bool is_contradicted(const struct series *v, size_t first, size_t last)
{
	double pass[2][PASSES_MAX] = { 0 }, least = 0.0, slow = fmax(PASS_PART * rate_of(v, first, last), v->usual);
	double half = nearer_pace(v, first, last);
	uint32_t small = UINT32_MAX;

	for (size_t i = first; i <= last; i++)
		small = v->s[i]->request_bytes < small ? v->s[i]->request_bytes : small;
	for (size_t i = first; i <= last; i++)
		if (v->s[i]->kind != SAMPLE_EDGE)
			pass[v->s[i]->request_bytes > small][v->s[i]->pass % PASSES_MAX] += said_by(v, i, slow, half);
	for (size_t i = 0; i < PASSES_MAX; i++)
		least = fmin(least, fmin(pass[0][i], pass[1][i]));
	return least < -SCORE_SPLIT || (v->is_one_at_a_time && is_of_small(v, first, last, small, half));
}

static double least_step(double excess)
{
	return fmin(STEP_PART * excess, fmax(STEP_ENOUGH, STEP_LEAST * excess));
}

/*
 * Does each side of it show, where both are known? Where it is no slower than what lies there, as the slope of the disk
 * goes against it, there must be fewer waits: a step between zones on the other side is none of it. (A device that has
 * one request at a time is asked for its begin instead.)
 */
static bool has_sides(const struct series *v, size_t first, size_t last, const struct steps *s, double excess)
{
	const double least = least_step(excess);

	return v->is_one_at_a_time || isnan(s->before) || isnan(s->behind) ||
	       ((s->before > least || isfinite(sharpness_at(v, first, last, 1))) &&
	        (s->behind > least || isfinite(sharpness_at(v, first, last, -1))));
}

/*
 * Is it slower than what lies before and behind it? Skews that meet the blocks in a bad way look like waits, too, but
 * all over a zone, which is slower than what is before it and faster than what comes behind. The mean of the two steps
 * is free of the slope of the disk. At its end the step must be about as large as the waits explain, and more than the
 * slope: there it may be one between zones.
 */
static bool stands_out(const struct steps *s, double slope, double excess)
{
	double least = least_step(excess);

	if (!isnan(s->before) && !isnan(s->behind))
		return s->before + s->behind > 2.0 * least && fmin(s->before, s->behind) > SIDE_PART * least;
	if (!isnan(s->behind))
		return s->behind > least;
	return s->before - slope > STEP_PART * excess && s->before < STEP_TIMES * excess;
}

/*
 * A device that has one request at a time loses revolutions in some zones more than in others, so that it grows from
 * nothing: a region has a begin, where it gets slower, and the slope of the disk only adds to that. (At its end the
 * slope takes away.) What lies before it and is as slow may be of it, with waits that do not show.
 */
static bool begins(const struct series *v, size_t first, size_t last, double excess)
{
	double half = nearer_pace(v, first, last), before;

	if (!v->is_one_at_a_time || isnan(level_from(v, first - 1, -1)))
		return true;
	while (first > 0 && v->s[first - 1]->elapsed_ns >= half * v->s[first - 1]->moved_bytes)
		first--;
	before = level_from(v, first, 1) - level_from(v, first - 1, -1);
	return before >= BEGIN_PART * excess; /* NaN: all that lies before is as slow */
}

/* slow: the waits per revolution that the score is against */
static bool fill_region(const struct series *v, size_t first, size_t last, double slow, struct zone_slow *ret)
{
	double bytes, ns, lost, sum = 0.0, most = 0.0;
	struct steps steps = steps_at(v, first, last);

	*ret = (struct zone_slow){ .first = ZONE_NONE, .sample = ZONE_NONE, .by_waits = true };
	ret->first_bytes = v->s[first]->from_bytes;
	for (size_t i = first; i <= last; i++) {
		const struct zone_sample *s = v->s[i];

		sum += score(v, i, slow);
		most = fmax(most, score(v, i, slow));
		ret->end_bytes = s->end_bytes > ret->end_bytes ? s->end_bytes : ret->end_bytes;
		ret->readings++;
		if (s->position == ZONE_NONE || s->kind == SAMPLE_EDGE) /* an edge has that of the region it was for */
			continue;
		ret->first = ret->first == ZONE_NONE ? s->position : ret->first;
		ret->last = s->position;
	}
	sum_up(v, first, last, &steps, &ns, &bytes, &lost);
	if (ret->first == ZONE_NONE || lost < LEAST_SHARE * ns || (v->is_sparse && ret->first != ret->last))
		return false;
	/* Few places say nothing of what lies between: what one loses may be lost in all of its zone. */
	if (v->is_sparse && v->is_one_at_a_time && lost < SPARSE_SHARE * ns)
		return false;
	ret->y = log(ns / bytes);
	ret->expected_y = log((ns - lost) / bytes);
	ret->chance = zone_chance_of_time(v->samples, v->npositions, ret);
	ret->is_confirmed =
		is_loss_sure(v, first, last, lost) &&
		(sum >= SCORE_SURE || fmin(steps.before, steps.behind) > v->threshold) && sum - most >= SCORE_REST &&
		is_lasting(v, first, last) &&
		(ret->chance < ZONE_CHANCE_MAX || sum >= SCORE_SURE * zone_chance_dispersion(v->s, v->n, first, last));
	return has_borders(v, first, last, &steps) &&
	       stands_out(&steps, slope_at(v, first), ret->y - ret->expected_y) &&
	       has_sides(v, first, last, &steps, ret->y - ret->expected_y) &&
	       begins(v, first, last, ret->y - ret->expected_y);
}

/* Stretches of [first, end) with more than `least` waits per revolution, in their order. */
static void find_in(const struct series *v, size_t first, size_t end, double least, struct zone_slows *slows)
{
	double slow = least;
	size_t a = 0, b = 0;

	if (end <= first)
		return;
	if (best_stretch(v, slow, SCORE_SPLIT, first, end, &a, &b) < SCORE_MIN)
		return;
	/* What was looked for is less than what was found: with that in mind the stretch falls apart where there is
	 * nothing between. */
	for (int round = 0; round < 3; round++) {
		double half = 0.5 * rate_of(v, a, b);

		if (half < slow)
			break;
		slow = half;
		best_stretch(v, slow, SCORE_SPLIT, a, b + 1, &a, &b);
	}
	/* All that was found says what its ends have to have: less is chance. What is left says it anew, without what
	 * was none of it. */
	do
		best_stretch(v, fmax(slow, rate_of(v, a, b)), INFINITY, a, b + 1, &a, &b);
	while (trim(v, &a, &b));
	find_in(v, first, a, least, slows);
	if (is_contradicted(v, a, b))
		; /* all of it is of requests, not of places */
	else if (fill_region(v, a, b, slow, &slows->v[slows->n]))
		slows->n++;
	else if (b > a) { /* the region may be a part of it */
		struct series in = *v;

		if (is_wide(v, a, b))
			in.usual = fmax(v->usual, rate_of(v, a, b));
		find_in(&in, a, b + 1, DENSER * fmax(slow, rate_of(v, a, b)), slows);
	}
	find_in(v, b + 1, end, least, slows);
}

void zone_waits_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_stretches *st,
                     const bool *is_of_time, struct zone_slows *slows)
{
	cleanup_free const struct zone_sample **s = xcalloc(samples->n + 1, sizeof(const struct zone_sample *));
	cleanup_free bool *is_far = xcalloc(samples->n + 1, sizeof(*is_far));
	struct series v = {
		.s = s, .rev_ns = zone_rev_ns(l), .samples = samples, .npositions = l->npositions, .is_far = is_far
	};
	double least;

	if (!(v.rev_ns > 0.0))
		return;
	for (size_t i = 0; i < samples->n; i++)
		if (is_of_media(&samples->v[i], l, st) && !is_of_time[i])
			s[v.n++] = &samples->v[i];
	qsort(s, v.n, sizeof(const struct zone_sample *), by_place);
	leave_out_free(&v);
	mark_far(&v);
	slows->quiet_waits = background(&v, &least);
	v.usual = WAITS_USUAL + USUAL_TIMES * slows->quiet_waits;
	if (least > WAITS_COMMON || l->has_members)
		return;
	v.threshold = slows->threshold;
	v.is_one_at_a_time = l->is_one_at_a_time;
	v.is_sparse = l->npositions < ZONE_BESIDE;
	find_in(&v, 0, v.n, v.usual + WAITS_SLOW, slows);
}
