/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slow regions: parts of the disk where samples lose revolutions more often than elsewhere (model/lossy.h).
 *
 * A disk that fails tries again and loses whole revolutions. Mostly that shows as waits inside a sample (estimate.c);
 * in requests of a revolution and more it does not, and there a sample loses what it takes longer than the fastest
 * place behind it, for no disk gets faster from its first byte to its last. A surface or a zone of less density loses
 * none.
 *
 * A region is slower than what lies beside it, and slow whenever it is read: what others read, a busy host or a
 * recalibration slows down what is read for a while, wherever it lies. Of a volume over several disks nothing is
 * reported: one waits for the other.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"
#include "model/lossy.h"

#define WAITS_USUAL \
	0.004 /* per revolution, that a healthy place may have on top of the background (trial: wild disks) ... */
#define USUAL_TIMES   1.3  /* ... times this: the background is the rate of a quiet stretch */
#define WAITS_SLOW    0.03 /* more than the usual: what is looked for; 3 % of the rate */
#define REVS_PER_WAIT 3.0  /* that count, at most: retries take one or two, more are a freeze */
#define LOST_LEAST                                                                                                     \
	5.0 /* waits, or revolutions without any, at different bytes: fewer are spare tracks in it (trial: wild disks) \
	     */
#define LEAST_SHARE   0.07 /* of its time that a region loses: less is not reported (a choice) */
#define LOST_MAX      0.95 /* more cannot be: some of the time was spent on reading */
#define QUIET_PART    0.15 /* of the stretches, that are quiet even on a disk of which half is slow */
#define STRETCH_REVS  20.0 /* at least, in a stretch: a rate of one in a hundred shows */
#define STRETCHES_MAX 20   /* so that a region of a twentieth is one */
#define BORDER_REVS   80.0 /* that give the level beside a border: to 0.2 % where a track scatters by 2 % */
#define STEP_PART     0.5  /* of the excess that the step at the borders must be, at least: the larger half */
#define STEP_ENOUGH   0.05 /* but not more than this, ... */
#define STEP_LEAST    0.25 /* ... or than this part of the excess: waits without a step are how the disk gives data */
#define STEP_TIMES    2.5  /* of the excess, that a step without an end is at most: more is one between zones */
#define SIDE_PART     -0.5 /* of the least step, on each of two sides: the slope of the disk goes against one */
#define LEVEL_SIGMAS  5.0  /* of the difference of two places; tails are heavier than the normal law's */
#define LEVEL_ENOUGH  0.5  /* log; a third of the rate is gone: slow, whatever the noise */
#define RETRY_REVS                                                                                                     \
	0.6 /* lost per request, at least, where every request loses one and no wait stands out; half of one is what a \
	       request may take */
#define WAITS_PART  0.5 /* of what it takes longer, that its waits must hold: the larger half */
#define SINGLE_REVS 6.0 /* that a usual sample must have for one to be reported alone: one more or less is a sixth */
#define ALIKE_TIMES 0.5 /* of what a region loses, that others lose as well: the larger half */
#define ALIKE_PART \
	0.2 /* of all others: chance gives a tenth of them where a region loses little (trial: drawn disks) */
#define SPARSE_SHARE                                                                                                \
	0.5 /* of the time that one of few places loses, where revolutions are lost by the zone, too: most of it (a \
	       choice) */

struct series {                             /* samples in order of place */
	const struct zone_samples *samples; /* in order of time */
	const struct zone_layout *l;
	const struct zone_sample **s;
	struct lossy_at *at, *each; /* of these; of all samples, no revolutions: it says nothing */
	struct lossy_part *part;
	size_t n, nparts;
	double rev_ns, usual; /* usual: lost in a revolution of a healthy place */
};

/* Also of bytes that were read again. */
static size_t position_of(const struct zone_samples *samples, const struct zone_sample *s)
{
	return s->kind == SAMPLE_CHECK ? samples->v[s->check_of].position : s->position;
}

/* May it be one of a region, or say that there is none? */
static bool is_of_media(const struct zone_sample *s, size_t position, const struct zone_stretches *st)
{
	return s->is_good && !s->is_burst && !s->is_disturbed && s->kind != SAMPLE_PROBE &&
	       !zone_is_at_interface(st, position);
}

static int by_place(const void *a, const void *b)
{
	const struct zone_sample *const *x = a, *const *y = b;

	return (*x)->from_bytes < (*y)->from_bytes ? -1 : (*x)->from_bytes > (*y)->from_bytes;
}

/* What is slow by its level, whatever it loses. */
static double threshold_of(const struct zone_levels *lv)
{
	cleanup_free double *se = xcalloc(lv->n + 1, sizeof(*se));
	size_t n = 0;

	for (size_t p = 0; p < lv->n; p++)
		if (lv->v[p].n && isfinite(lv->v[p].half))
			se[n++] = lv->v[p].half / 1.96;
	return fmax(ZONE_DENSITY_MAX, n ? fmin(LEVEL_SIGMAS * M_SQRT2 * stats_median(se, n), LEVEL_ENOUGH) : 0.0);
}

/* The level of the fastest place behind a byte that is known well; infinity: there is none. */
static double fastest_behind(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_stretches *st,
                             uint64_t at, double threshold)
{
	double best = INFINITY;

	for (size_t p = lv->n; lv->n >= ZONE_BESIDE && p-- > 0 && l->positions[p].cell_bytes > at;)
		if (lv->v[p].n && !zone_is_at_interface(st, p) && lv->v[p].half / 1.96 <= threshold / LEVEL_SIGMAS)
			best = fmin(best, lv->v[p].y);
	return best;
}

/* What a wait takes beyond a few revolutions is a freeze of disk or host. */
static double retried_revs(const struct zone_sample *s)
{
	return fmin(s->wait_revs, REVS_PER_WAIT * s->waits);
}

/* Lost by its waits; or, where these do not hold the larger half of it, by what it takes longer than what lies behind.
 * What a wait takes beyond a few revolutions is a freeze of disk or host. */
static struct lossy_at lost_in(const struct zone_sample *s, double behind, double threshold,
                               const struct zone_layout *l)
{
	double rev_ns = zone_rev_ns(l), clean = exp(behind) * s->moved_bytes, more = s->elapsed_ns - clean;
	double request = s->request_bytes ? s->request_bytes : l->request_bytes; /* old documents have none */
	double waited = fmin(s->wait_revs * rev_ns, LOST_MAX * s->elapsed_ns);

	/* Each piece of a request that is cut on the way may lose as many, and no wait stands out. */
	if (isfinite(behind) && !zone_is_cut(l) && log(s->ns_per_byte) - behind > threshold &&
	    waited < WAITS_PART * more && more * request >= RETRY_REVS * rev_ns * s->moved_bytes)
		return (struct lossy_at){ more / rev_ns, clean / rev_ns };
	return (struct lossy_at){ s->waits, (s->elapsed_ns - waited) / rev_ns };
}

/* Lost per revolution where that is little: of stretches of equal length those with little, for half of a disk may be
 * slow. */
static double background(const struct series *v)
{
	double rate[STRETCHES_MAX], all = 0.0, lost = 0.0, revs = 0.0, least;
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		all += v->at[i].revs;
	least = fmax(STRETCH_REVS, all / STRETCHES_MAX);
	for (size_t i = 0; i < v->n && n < STRETCHES_MAX; i++) {
		lost += v->at[i].lost;
		revs += v->at[i].revs;
		if (revs < least)
			continue;
		rate[n++] = lost / revs;
		lost = revs = 0.0;
	}
	stats_sort(rate, n);
	return n ? stats_quantile_sorted(rate, n, QUIET_PART) : 0.0;
}

struct sum {
	double ns, bytes, lost_ns;
};

static void add(const struct series *v, size_t i, struct sum *to)
{
	double lost = fmax(retried_revs(v->s[i]), v->at[i].lost);

	to->ns += (v->at[i].revs + lost) * v->rev_ns;
	to->bytes += v->s[i]->moved_bytes;
	to->lost_ns += lost * v->rev_ns;
}

/* Level of the samples of [first, end) from `from` on, upwards or downwards, that are BORDER_REVS; NaN: there are none.
 */
static double level_from(const struct series *v, size_t first, size_t end, size_t from, int way)
{
	struct sum sum = { 0 };

	for (size_t i = from; i >= first && i < end && sum.ns < BORDER_REVS * v->rev_ns; i += (size_t)way)
		add(v, i, &sum);
	return sum.bytes > 0.0 ? log(sum.ns / sum.bytes) : (double)NAN;
}

/*
 * Is it slower than what lies before and behind it, by much of its excess? Skews that meet the blocks in a bad way look
 * like waits, too, but all over a zone, which is slower than what is before it and faster than what comes behind. The
 * mean of the two steps is free of the slope of the disk.
 */
static bool stands_out(double before, double behind, double excess)
{
	double least = fmin(STEP_PART * excess, fmax(STEP_ENOUGH, STEP_LEAST * excess));

	if (!isnan(before) && !isnan(behind))
		return before + behind > 2.0 * least && fmin(before, behind) > SIDE_PART * least;
	return !isnan(behind) ? behind > least : before > STEP_PART * excess && before < STEP_TIMES * excess;
}

/*
 * Level, and what it would be without what is lost. Part of that shows in no wait: a revolution counts only when nearly
 * all of it is between two requests. The steps at the borders show that part; but not more than all of it is slower
 * than what lies on both sides, for its ends are where they are because samples there are slow.
 */
static bool fill_levels(const struct series *v, const struct lossy_part *part, struct zone_slow *ret)
{
	size_t a = part->first, b = part->last + 1;
	double above = a ? level_from(v, 0, a, a - 1, -1) : (double)NAN, below = level_from(v, b, v->n, b, 1);
	double before = level_from(v, a, b, a, 1) - above, behind = level_from(v, a, b, b - 1, -1) - below, step;
	struct sum sum = { 0 };

	for (size_t i = a; i < b; i++)
		add(v, i, &sum);
	ret->y = log(sum.ns / sum.bytes);
	step = fmin(fmin(before, behind), ret->y - 0.5 * (above + below)); /* NaN is left out */
	sum.lost_ns = fmax(sum.lost_ns, isnan(step) ? 0.0 : (1.0 - exp(-step)) * sum.ns);
	ret->expected_y = log((sum.ns - sum.lost_ns) / sum.bytes);
	return sum.lost_ns >= LEAST_SHARE * sum.ns && stands_out(before, behind, ret->y - ret->expected_y);
}

/* ---- place or time ---- */

/* Log of the odds that it is the place, by all times when it was read; fills what follows from it. */
static void ask_place(const struct series *v, struct zone_slow *slow)
{
	cleanup_free struct lossy_look *look = xcalloc(v->samples->n + 1, sizeof(*look));
	double odds;
	size_t n = 0;

	for (size_t i = 0; i < v->samples->n; i++) {
		const struct zone_sample *s = &v->samples->v[i];
		size_t p = position_of(v->samples, s);

		if (v->each[i].revs > 0.0)
			look[n++] = (struct lossy_look){ p == ZONE_NONE ? v->l->npositions : p, v->each[i].lost,
				                         v->each[i].revs, zone_slow_has(slow, s) };
	}
	odds = lossy_place(look, n, v->l->npositions + 1, v->usual, WAITS_SLOW, &slow->looks);
	slow->is_of_place = odds > LOSSY_SURE;
	slow->is_of_time = odds < -LOSSY_SURE;
}

/*
 * Part of the samples in no region that lose half as much and more. What many lose is of no place: a device that has
 * one request at a time waits for the host between them, and may lose a revolution then, as the end of a request lies
 * to the sectors behind it.
 */
static double share_alike(const struct series *v, const struct lossy_part *part)
{
	double lost = 0.0, revs = 0.0, alike = 0.0, n = 0.0;
	size_t k = 0;

	for (size_t i = part->first; i <= part->last; i++) {
		lost += v->at[i].lost;
		revs += v->at[i].revs;
	}
	for (size_t i = 0; i < v->n; i++) {
		k += k < v->nparts && i > v->part[k].last;
		if (k < v->nparts && i >= v->part[k].first)
			continue;
		n++;
		alike += v->at[i].lost * revs >= ALIKE_TIMES * lost * v->at[i].revs;
	}
	return n > 0.0 ? alike / n : 1.0;
}

/* ---- regions ---- */

static bool fill_region(const struct series *v, const struct lossy_part *part, struct zone_slow *ret)
{
	bool is_sparse = v->l->npositions < ZONE_BESIDE;
	double most = 0.0, lost = 0.0, share;

	*ret = (struct zone_slow){ .first = ZONE_NONE };
	ret->first_bytes = v->s[part->first]->from_bytes;
	for (size_t i = part->first; i <= part->last; i++) {
		const struct zone_sample *s = v->s[i];

		ret->end_bytes = s->end_bytes > ret->end_bytes ? s->end_bytes : ret->end_bytes;
		ret->readings++;
		lost += v->at[i].lost;
		if (v->at[i].lost > most) {
			most = v->at[i].lost;
			ret->worst = (size_t)(s - v->samples->v);
		}
		if (s->position == ZONE_NONE || s->kind == SAMPLE_EDGE) /* an edge has that of the region it was for */
			continue;
		ret->first = ret->first == ZONE_NONE ? s->position : ret->first;
		ret->last = s->position;
	}
	if (ret->first == ZONE_NONE || lost < LOST_LEAST || !fill_levels(v, part, ret))
		return false;
	/* Few places say nothing of what lies between: what one loses may be lost in all of its zone. */
	share = 1.0 - exp(ret->expected_y - ret->y);
	if (is_sparse && (ret->first != ret->last || (v->l->is_one_at_a_time && share < SPARSE_SHARE)))
		return false;
	ask_place(v, ret);
	ret->is_confirmed = part->log_odds > LOSSY_SURE && ret->is_of_place && share_alike(v, part) <= ALIKE_PART;
	return !ret->is_of_time;
}

/*
 * What a region of one usual sample must lose of its time to be reported: one revolution more than make it sure, for
 * how many fall into a sample is uncertain by one. 1: none is reported, for samples are too short, or of several disks.
 */
static double least_loss(const struct series *v)
{
	cleanup_free double *revs = xcalloc(v->n + 1, sizeof(*revs));
	double usual, lost;

	for (size_t i = 0; i < v->n; i++)
		revs[i] = v->at[i].revs;
	usual = v->n ? stats_median(revs, v->n) : 0.0;
	if (!(usual >= SINGLE_REVS) || v->l->has_members)
		return 1.0;
	lost = fmax(lossy_least(v->n, usual, v->usual, WAITS_SLOW), LOST_LEAST) + 1.0;
	return lost / (lost + usual);
}

void zone_slows_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                     const struct zone_stretches *st, struct zone_slows *ret)
{
	cleanup_free const struct zone_sample **s = xcalloc(samples->n + 1, sizeof(const struct zone_sample *));
	cleanup_free struct lossy_at *at = xcalloc(samples->n + 1, sizeof(*at));
	cleanup_free struct lossy_at *each = xcalloc(samples->n + 1, sizeof(*each));
	cleanup_free struct lossy_part *part = xcalloc(samples->n + 1, sizeof(*part));
	struct series v = {
		.samples = samples, .l = l, .s = s, .at = at, .each = each, .part = part, .rev_ns = zone_rev_ns(l)
	};
	double threshold;

	*ret = (struct zone_slows){ .v = xcalloc(samples->n + 1, sizeof(*ret->v)), .least_loss = NAN };
	if (!(v.rev_ns > 0.0))
		return;
	threshold = threshold_of(lv);
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *z = &samples->v[i];

		if (!is_of_media(z, position_of(samples, z), st))
			continue;
		each[i] = lost_in(z, fastest_behind(l, lv, st, z->from_bytes, threshold), threshold, l);
		if (z->kind != SAMPLE_CHECK) /* the same bytes lose the same again: no more of them do */
			s[v.n++] = z;
	}
	qsort(s, v.n, sizeof(const struct zone_sample *), by_place);
	for (size_t i = 0; i < v.n; i++)
		at[i] = each[s[i] - samples->v];
	v.usual = WAITS_USUAL + USUAL_TIMES * background(&v);
	ret->least_loss = least_loss(&v);
	if (l->has_members)
		return;
	v.nparts = lossy_find(at, v.n, v.usual, WAITS_SLOW, part);
	for (size_t i = 0; i < v.nparts; i++)
		ret->n += fill_region(&v, &part[i], &ret->v[ret->n]);
}

bool zone_is_in_slow(const struct zone_slows *slows, size_t position, bool is_confirmed)
{
	for (size_t i = 0; i < slows->n; i++) {
		const struct zone_slow *s = &slows->v[i];

		if ((s->is_confirmed || !is_confirmed) && position >= s->first && position <= s->last)
			return true;
	}
	return false;
}

bool zone_touches_slow(const struct zone_slows *slows, const struct zone_sample *s)
{
	for (size_t i = 0; i < slows->n; i++)
		if (slows->v[i].is_confirmed && zone_slow_has(&slows->v[i], s))
			return true;
	return false;
}
