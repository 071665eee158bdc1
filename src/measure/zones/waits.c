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
#define BORDER_REVS 80.0 /* that tell the level beside a border: to 0.2 % where a track scatters by 2 % */
#define BORDER_MIN  20.0 /* fewer than these tell none, nor does one sample alone of less than all of those */
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
#define SCORE_MIN     7.0  /* log of the likelihood ratio that makes a suspect, which is read again ... */
#define SCORE_SURE    11.0 /* ... and that confirms it: 1 in 60000 */
#define SCORE_SPLIT   4.0  /* what a part says against it that ends it: 1 in 50 */
#define RETRIES_MIN   3    /* samples that tell what is usual of them (a choice) */
#define REVS_PER_WAIT 3.0  /* that count, at most: retries take one or two, more are a freeze */
#define FREEZE_TIMES  2.0  /* the longest wait that counts: longer ones are none of it (a choice) */
#define NEARER        0.5  /* of a region's excess: what is slower is nearer to its level than to what is usual there */
#define SCORE_REST    5.0  /* left without the sample that says most: a freeze or a scan hits a single one (1 in 150) */
#define LEAST_SHARE   0.07 /* of its time that a region loses: less is not told (a choice) */
#define SPARSE_SHARE \
	0.5 /* the same of few places, where revolutions are lost by the zone, too: most of the time (a choice) */
#define LOST_MAX      0.95 /* more cannot be: some of the time was spent on reading */
#define QUIET_PART    0.15 /* of the stretches, that are quiet even on a disk of which half is slow */
#define STRETCH_REVS  20.0 /* at least, in a stretch: a rate of one in a hundred shows */
#define STRETCHES_MAX 20   /* so that a region of a twentieth is one */

struct series { /* samples in order of place */
	const struct zone_sample **s;
	size_t n;
	double rev_ns, usual;               /* waits per revolution of a healthy place */
	double threshold;                   /* of levels: what is slow without any wait */
	bool is_one_at_a_time;              /* the device's queue holds one request */
	bool is_sparse;                     /* places lie zones apart: what was not read between them is in no region */
	const struct zone_samples *samples; /* in order of time */
	size_t npositions;
};

/* May it be one of a region, or say that there is none? An edge that was looked for may be that of what is not stored.
 */
static bool is_of_media(const struct zone_sample *s, const struct zone_layout *l, const struct zone_stretches *st)
{
	return s->is_good && !s->is_burst && !s->is_disturbed && s->kind != SAMPLE_PROBE && s->kind != SAMPLE_CHECK &&
	       !zone_is_at_interface(st, s->position) && !(s->kind == SAMPLE_EDGE && zone_comes_at_once(s, l));
}

static int by_place(const void *a, const void *b)
{
	const struct zone_sample *const *x = a, *const *y = b;

	return (*x)->from_bytes < (*y)->from_bytes ? -1 : (*x)->from_bytes > (*y)->from_bytes;
}

/* Waits per revolution where there are few: of stretches of equal length those that have few, for half of a disk may be
 * slow. */
static double background(const struct series *v)
{
	double rate[STRETCHES_MAX], all = 0.0, waits = 0.0, ns = 0.0, least;
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		all += v->s[i]->elapsed_ns;
	least = fmax(STRETCH_REVS * v->rev_ns, all / STRETCHES_MAX);
	for (size_t i = 0; i < v->n && n < STRETCHES_MAX; i++) {
		waits += v->s[i]->waits;
		ns += v->s[i]->elapsed_ns;
		if (ns < least)
			continue;
		rate[n++] = waits * v->rev_ns / ns;
		waits = ns = 0.0;
	}
	stats_sort(rate, n);
	return n ? stats_quantile_sorted(rate, n, QUIET_PART) : 0.0;
}

/* Revolutions that its waits took, each at most so many; freezes of disk or host are not of the place. */
static double retried_revs(const struct zone_sample *s, double most)
{
	return fmin(s->wait_revs, most * s->waits);
}

/* Log of the likelihood ratio of so many waits per revolution against the usual. What costs several revolutions counts
 * for more, one long freeze not. */
static double score(const struct series *v, size_t i, double slow)
{
	return 0.5 * (v->s[i]->waits + retried_revs(v->s[i], REVS_PER_WAIT)) * log(slow / v->usual) -
	       (slow - v->usual) * v->s[i]->elapsed_ns / v->rev_ns;
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

static double counted_ns(const struct series *v, const struct zone_sample *s, double most)
{
	return s->elapsed_ns - fmin((s->wait_revs - retried_revs(s, most)) * v->rev_ns, LOST_MAX * s->elapsed_ns);
}

/* Revolutions that a wait of [first, last] takes at most, and no freeze: what is so long in most samples is of the
 * place. */
static double most_per_wait(const struct series *v, size_t first, size_t last)
{
	cleanup_free double *each = xcalloc(last - first + 1, sizeof(*each));
	size_t n = 0;

	for (size_t i = first; i <= last; i++)
		if (v->s[i]->waits)
			each[n++] = (double)v->s[i]->wait_revs / v->s[i]->waits;
	return n >= RETRIES_MIN ? fmax(stats_median(each, n), REVS_PER_WAIT) : REVS_PER_WAIT;
}

/* Level of the samples from `from` on, upwards or downwards, that are BORDER_REVS; NaN: too few, or none. */
static double level_from(const struct series *v, size_t from, int way)
{
	double ns = 0.0, bytes = 0.0;
	size_t i = from;

	for (; i < v->n && ns < BORDER_REVS * v->rev_ns; i += (size_t)way) {
		ns += counted_ns(v, v->s[i], REVS_PER_WAIT);
		bytes += v->s[i]->moved_bytes;
	}
	return ns >= BORDER_REVS * v->rev_ns || (ns >= BORDER_MIN * v->rev_ns && i - from != (size_t)way)
	               ? log(ns / bytes)
	               : (double)NAN;
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
		*ret_ns += counted_ns(v, v->s[i], most);
		*ret_bytes += v->s[i]->moved_bytes;
		lost += retried_revs(v->s[i], most) * v->rev_ns;
	}
	step = fmin(step, log(*ret_ns / *ret_bytes) - sides); /* NaN is left out */
	*ret_lost = fmax(fmin(lost, LOST_MAX * *ret_ns), isnan(step) ? 0.0 : (1.0 - exp(-step)) * *ret_ns);
}

/* Time per byte of what is as near to the region's level as to what it would be without the revolutions lost. */
static double nearer_pace(const struct series *v, size_t first, size_t last)
{
	struct steps steps = steps_at(v, first, last);
	double ns, bytes, lost;

	sum_up(v, first, last, &steps, &ns, &bytes, &lost);
	return ns / bytes * pow(1.0 - lost / ns, NEARER);
}

/* Is a sample at an end none of it: nearer to what all would be without the revolutions lost, or slow for a freeze? */
static bool is_beside(const struct zone_sample *s, double half)
{
	return s->elapsed_ns < half * s->moved_bytes || s->wait_revs > FREEZE_TIMES * REVS_PER_WAIT * s->waits;
}

/* Without what lies at its ends and is none of it, though it has lost a revolution by chance, or many at once. Was
 * there any? */
static bool trim(const struct series *v, size_t *first, size_t *last)
{
	double half = nearer_pace(v, *first, *last);
	size_t n = *last - *first;

	while (*first < *last && is_beside(v->s[*first], half))
		++*first;
	while (*last > *first && is_beside(v->s[*last], half))
		--*last;
	return *last - *first < n;
}

static double least_step(double excess)
{
	return fmin(STEP_PART * excess, fmax(STEP_ENOUGH, STEP_LEAST * excess));
}

/*
 * Is it slower than what lies before and behind it? Skews that meet the blocks in a bad way look like waits, too, but
 * all over a zone, which is slower than what is before it and faster than what comes behind. The mean of the two steps
 * is free of the slope of the disk. At its end the step must be about as large as the waits explain: there it may be
 * one between zones.
 */
static bool stands_out(const struct steps *s, double excess)
{
	double least = least_step(excess);

	if (!isnan(s->before) && !isnan(s->behind))
		return s->before + s->behind > 2.0 * least && fmin(s->before, s->behind) > SIDE_PART * least;
	if (!isnan(s->behind))
		return s->behind > least;
	return s->before > STEP_PART * excess && s->before < STEP_TIMES * excess;
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
		(sum >= SCORE_SURE || fmin(steps.before, steps.behind) > v->threshold) && sum - most >= SCORE_REST;
	return stands_out(&steps, ret->y - ret->expected_y);
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
	if (fill_region(v, a, b, slow, &slows->v[slows->n]))
		slows->n++;
	find_in(v, b + 1, end, least, slows);
}

void zone_waits_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_stretches *st,
                     struct zone_slows *slows)
{
	cleanup_free const struct zone_sample **s = xcalloc(samples->n + 1, sizeof(const struct zone_sample *));
	struct series v = { .s = s, .rev_ns = zone_rev_ns(l), .samples = samples, .npositions = l->npositions };

	if (!(v.rev_ns > 0.0))
		return;
	for (size_t i = 0; i < samples->n; i++)
		if (is_of_media(&samples->v[i], l, st))
			s[v.n++] = &samples->v[i];
	qsort(s, v.n, sizeof(const struct zone_sample *), by_place);
	v.usual = WAITS_USUAL + USUAL_TIMES * background(&v);
	if (l->has_members)
		return;
	v.threshold = slows->threshold;
	v.is_one_at_a_time = l->is_one_at_a_time;
	v.is_sparse = l->npositions < ZONE_BESIDE;
	find_in(&v, 0, v.n, v.usual + WAITS_SLOW, slows);
}
