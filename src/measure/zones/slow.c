/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slow regions: parts of the disk where samples lose revolutions more often than elsewhere (model/lossy.h).
 *
 * A disk that fails tries again and loses whole revolutions. Mostly that shows as waits inside a sample (estimate.c);
 * where each request loses as many it does not, but whole ones are in the time that each takes. A surface or a zone of
 * less density loses none.
 *
 * A region is slower than what lies beside it, and slow whenever it is read: what others read, a busy host or a
 * recalibration slows down what is read for a while, wherever it lies. Of a volume over several disks nothing is
 * reported: one waits for the other.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/without.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"
#include "model/lossy.h"

#define WAITS_SLOW  0.03 /* more than the usual: what is looked for; 3 % of the rate */
#define LOST_LEAST  5.0  /* waits, or revolutions without any, at different bytes: fewer are spare tracks (trial) */
#define LEAST_SHARE 0.07 /* of its time that a region loses: less is not reported (a choice) */
#define BORDER_REVS 80.0 /* that give the level beside a border: to 0.2 % where a track scatters by 2 % */
#define STEP_PART   0.5  /* of what it loses, that it is slower than what lies beside it: the larger half */
#define SINGLE_REVS 6.0  /* that a usual sample must have for one to be reported alone: one more or less is a sixth */
#define ROUNDS      2    /* of asking: what is sure says nothing of times when others are read (a choice) */

struct series {                             /* samples in order of place */
	const struct zone_samples *samples; /* in order of time */
	const struct zone_layout *l;
	const struct zone_sample **s;
	struct lossy_at *at, *each; /* of these; of all samples, no revolutions: it says nothing */
	struct lossy_part *part;
	size_t n, nparts;
	double rev_ns;
};

/* Also of bytes that were read again. */
static size_t position_of(const struct zone_samples *samples, const struct zone_sample *s)
{
	return s->kind == SAMPLE_CHECK ? samples->v[s->check_of].position : s->position;
}

/* May it be one of a region, or say that there is none? */
static bool is_of_media(const struct zone_sample *s, size_t position, const struct zone_stretches *st)
{
	return s->is_good && !s->is_burst && (!s->is_disturbed || WITHOUT("disturbed")) && s->kind != SAMPLE_PROBE &&
	       !zone_is_in_stretch(st, position);
}

/* Of the same bytes what was read first comes first. */
static int by_place(const void *a, const void *b)
{
	const struct zone_sample *const *x = a, *const *y = b;

	if ((*x)->from_bytes != (*y)->from_bytes)
		return (*x)->from_bytes < (*y)->from_bytes ? -1 : 1;
	return (*x)->at_s < (*y)->at_s ? -1 : (*x)->at_s > (*y)->at_s;
}

/*
 * Lost by its waits. Where each request loses as many none stands out: lost is then what the sample takes beyond the
 * fastest one of the same device behind it. No disk gets faster from its begin to its end, but another device may
 * begin, so that for each request it has to be more than one takes.
 */
static struct lossy_at lost_in(const struct zone_sample *s, double behind, const struct zone_layout *l)
{
	double rev_ns = zone_rev_ns(l), visible = fmin(s->lost.revs * rev_ns, ZONE_LOST_MAX * s->elapsed_ns);
	double request = s->request_bytes ? s->request_bytes : l->block_bytes; /* old documents have none */
	double least = exp(ZONE_DENSITY_MAX) * behind * s->moved_bytes;

	if ((s->elapsed_ns - visible - least) / s->moved_bytes * request >= ZONE_REQUEST_REVS * rev_ns)
		return (struct lossy_at){ (s->elapsed_ns - least) / rev_ns, least / rev_ns };
	return (struct lossy_at){ s->lost.waits, (s->elapsed_ns - visible) / rev_ns };
}

/*
 * Of bytes that were read again: beyond what they take without what was lost at first, since what each request loses
 * shows in no wait; in smaller requests, which take longer, no more than by waits. A quarter that is faster than the
 * media came out of the drive's buffer, and says nothing of them.
 */
static struct lossy_at lost_again(const struct zone_sample *s, const struct zone_sample *of, const struct lossy_at *at,
                                  struct lossy_at by_waits, double rev_ns)
{
	double healthy = at->revs * rev_ns / of->moved_bytes, turns = s->moved_bytes / ZONE_PARTS / rev_ns;
	struct lossy_at ret = { 0 };
	size_t seen = 0;

	for (size_t i = 0; i < ZONE_PARTS; i++) {
		if (!(s->part_ns_per_byte[i] >= healthy * exp(-ZONE_DENSITY_MAX)))
			continue;
		ret.revs += healthy * turns;
		ret.lost += (s->part_ns_per_byte[i] - healthy) * turns;
		seen++;
	}
	ret.lost = fmax(ret.lost, 0.0);
	if (s->request_bytes <= of->request_bytes) {
		ret.lost = fmin(ret.lost, by_waits.lost);
		return seen == ZONE_PARTS ? by_waits : ret;
	}
	if (of->elapsed_ns > at->revs * rev_ns) /* in waits of as many revolutions as at first */
		ret.lost *= at->lost * rev_ns / (of->elapsed_ns - at->revs * rev_ns);
	return ret;
}

/* Level of the samples of [first, end) from `from` on, upwards or downwards, that are BORDER_REVS, with a revolution
 * for each wait: longer ones are a freeze. NaN: there are none. */
static double level_from(const struct series *v, size_t first, size_t end, size_t from, int way)
{
	double revs = 0.0, bytes = 0.0;

	for (size_t i = from; i >= first && i < end && revs < BORDER_REVS; i += (size_t)way) {
		revs += v->at[i].revs + v->at[i].lost;
		bytes += v->s[i]->moved_bytes;
	}
	return bytes > 0.0 ? log(revs * v->rev_ns / bytes) : (double)NAN;
}

/*
 * Level, and what it would be without what is lost. Part of that shows in no wait: a revolution counts only when nearly
 * all of it is between two requests. What lies beside shows that part, on both sides free of the slope of the disk; and
 * a place that loses revolutions, but is hardly slower than what lies beside it, is not a slow one.
 */
static bool fill_levels(const struct series *v, const struct lossy_part *part, size_t a, size_t b,
                        struct zone_slow *ret)
{
	double above = part->first ? level_from(v, 0, part->first, part->first - 1, -1) : (double)NAN;
	double below = level_from(v, part->last + 1, v->n, part->last + 1, 1);
	double beside = isnan(above) ? below : isnan(below) ? above : 0.5 * (above + below);
	double ns = 0.0, lost = 0.0, bytes = 0.0;

	for (size_t i = a; i < b; i++) {
		ns += v->s[i]->elapsed_ns;
		lost += v->s[i]->elapsed_ns - v->at[i].revs * v->rev_ns;
		bytes += v->s[i]->moved_bytes;
	}
	ret->y = log(ns / bytes);
	if (!WITHOUT("hidden-loss"))
		lost = fmax(lost, (1.0 - exp(0.5 * (above + below) - ret->y)) * ns); /* NaN is left out */
	ret->expected_y = log((ns - lost) / bytes);
	return lost >= LEAST_SHARE * ns &&
	       (WITHOUT("beside") || !(ret->y - beside < STEP_PART * (ret->y - ret->expected_y)));
}

/* Is it the place, by all times when it was read and in requests of each size? Fills what follows from it. */
static void ask_place(const struct series *v, const struct zone_slows *all, struct zone_slow *slow)
{
	cleanup_free struct lossy_look *look = xcalloc(v->samples->n + 1, sizeof(*look));
	struct lossy_odds odds;
	size_t n = 0, checks = 0;

	for (size_t i = 0; i < v->samples->n; i++) {
		const struct zone_sample *s = &v->samples->v[i];
		bool is_check = s->kind == SAMPLE_CHECK, is_inside = zone_slow_has(slow, s);
		double piece = v->l->piece_bytes ? fmin(s->request_bytes, v->l->piece_bytes) : s->request_bytes;

		if (!(v->each[i].revs > 0.0))
			continue;
		look[n++] = (struct lossy_look){ v->each[i], is_inside, zone_touches_slow(all, s, !is_check),
			                         (size_t)ilogb(fmax(piece, 1.0)), is_check ? s->check_of : i };
		checks += is_check && is_inside;
	}
	odds = lossy_place(look, n, WAITS_SLOW);
	slow->is_refuted = odds.evidence < 0.0 || odds.way < -LOSSY_SURE;
	slow->is_confirmed = odds.place > LOSSY_SURE && checks >= v->l->looks &&
	                     (odds.way > LOSSY_SURE || !v->l->looks) && !slow->is_refuted;
}

/* ---- regions ---- */

/*
 * How many quarters of a sample lie before the edge of a region. That is behind them, or in the gap before the sample,
 * where each byte may be the first. is_last: after it, counted from the sample's end.
 */
static size_t parts_outside(const struct series *v, size_t i, const struct zone_slow *slow, bool is_last)
{
	const struct zone_sample *s = v->s[i];
	double healthy = exp(slow->expected_y), turns = s->moved_bytes / ZONE_PARTS / v->rev_ns, odds = 0.0;
	double rate = exp(slow->y - slow->expected_y) - 1.0;
	double before = (double)s->from_bytes - (double)(i ? v->s[i - 1]->end_bytes : v->l->first_bytes);
	double behind = (double)(i + 1 < v->n ? v->s[i + 1]->from_bytes : v->l->end_bytes) - (double)s->end_bytes;
	double best = log(fmax((is_last ? behind : before) / s->moved_bytes * ZONE_PARTS, 1.0));
	size_t ret = 0;

	for (size_t n = 1; n < ZONE_PARTS; n++) {
		double lost = s->part_ns_per_byte[is_last ? ZONE_PARTS - n : n - 1] - healthy;

		odds += ((rate - WAITS_SLOW) * healthy - fmax(lost, 0.0) * log(rate / WAITS_SLOW)) * turns;
		if (odds > best) {
			best = odds;
			ret = n;
		}
	}
	return ret;
}

/* Level of samples [a, b) without as many quarters at both ends. Those that the edges lie in are left out as well where
 * others are left: it is not known what lies between samples. */
static double level_within(const struct series *v, size_t a, size_t b, size_t before, size_t behind)
{
	double ns = 0.0, bytes = 0.0;

	for (size_t mixed = b - a > 1 ? 2 : 1; mixed-- > 0 && !(bytes > 0.0);) {
		for (size_t i = a; i < b; i++) {
			size_t first = i == a && before ? before + mixed : 0;
			size_t left = i + 1 == b && behind ? behind + mixed : 0;

			for (size_t k = first; k + left < ZONE_PARTS; k++) {
				ns += v->s[i]->part_ns_per_byte[k] * v->s[i]->moved_bytes / ZONE_PARTS;
				bytes += v->s[i]->moved_bytes / ZONE_PARTS;
			}
		}
	}
	return log(ns / bytes);
}

/* Leaves out what its first sample and its last read outside. */
static void trim(const struct series *v, size_t a, size_t b, struct zone_slow *slow)
{
	const struct zone_sample *first = v->s[a], *last = v->s[b - 1];
	size_t before = 0, behind = 0;

	for (int round = 0; round < ROUNDS; round++) { /* for what lies outside makes it faster */
		before = parts_outside(v, a, slow, false);
		behind = parts_outside(v, b - 1, slow, true);
		if ((before || behind) && isfinite(level_within(v, a, b, before, behind)))
			slow->y = level_within(v, a, b, before, behind);
	}
	slow->first_bytes += before * (first->end_bytes - first->from_bytes) / ZONE_PARTS;
	slow->end_bytes -= behind * (last->end_bytes - last->from_bytes) / ZONE_PARTS;
}

/* Of samples [a, b), of the part. false: it is none. */
static bool fill_region(const struct series *v, const struct lossy_part *part, size_t a, size_t b,
                        struct zone_slow *ret)
{
	struct zone_slow slow = { .first = ZONE_NONE, .is_confirmed = ret->is_confirmed };
	double lost = 0.0;

	slow.first_bytes = v->s[a]->from_bytes;
	for (size_t i = a; i < b; i++) {
		const struct zone_sample *s = v->s[i];

		slow.end_bytes = s->end_bytes > slow.end_bytes ? s->end_bytes : slow.end_bytes;
		slow.readings++;
		lost += v->at[i].lost;
		if (s->position == ZONE_NONE || s->kind == SAMPLE_EDGE) /* an edge has that of the region it was for */
			continue;
		slow.first = slow.first == ZONE_NONE ? s->position : slow.first;
		slow.last = s->position;
	}
	if (slow.first == ZONE_NONE || lost < LOST_LEAST || !fill_levels(v, part, a, b, &slow))
		return false;
	trim(v, a, b, &slow);
	if (v->l->npositions < ZONE_BESIDE && slow.first != slow.last) /* few say nothing of what lies between */
		return false;
	*ret = slow;
	return true;
}

/* Asks of all parts whether they are regions: in rounds, for what is one says nothing of times when others were read.
 */
static void find_regions(const struct series *v, struct zone_slows *ret)
{
	cleanup_free const struct lossy_part **of = xcalloc(v->nparts + 1, sizeof(const struct lossy_part *));
	size_t n = 0;

	for (size_t i = 0; i < v->nparts; i++) {
		of[ret->n] = &v->part[i];
		ret->v[ret->n].is_confirmed = of[ret->n]->log_odds > LOSSY_SURE;
		ret->n += fill_region(v, of[ret->n], of[ret->n]->first, of[ret->n]->last + 1, &ret->v[ret->n]);
	}
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < ret->n; i++)
			ask_place(v, ret, &ret->v[i]);
	for (size_t i = 0; i < ret->n; i++) {
		struct zone_slow *slow = &ret->v[i];

		if (slow->is_refuted)
			continue;
		if (slow->is_confirmed) /* where too little of it is sure, the likeliest */
			(void)fill_region(v, of[i], of[i]->sure_first, of[i]->sure_last + 1, slow);
		ret->v[n++] = *slow;
	}
	ret->n = n;
}

/*
 * What a region of one usual sample must lose of its time to be reported: one revolution more than make it a suspect,
 * for how many fall into a sample is uncertain by one. 1: none is reported, for samples are too short, or of several
 * disks.
 */
static double least_loss(const struct series *v, double usual, double single)
{
	double lost = fmax(single, LOST_LEAST) + 1.0;

	return usual >= SINGLE_REVS && !v->l->has_members ? lost / (lost + usual) : 1.0;
}

void zone_slows_find(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_stretches *st,
                     struct zone_slows *ret)
{
	const struct zone_samples *samples = &lv->marked;
	cleanup_free const struct zone_sample **s = xcalloc(samples->n + 1, sizeof(const struct zone_sample *));
	cleanup_free struct lossy_at *at = xcalloc(samples->n + 1, sizeof(*at));
	cleanup_free struct lossy_at *each = xcalloc(samples->n + 1, sizeof(*each));
	cleanup_free struct lossy_part *part = xcalloc(samples->n + 1, sizeof(*part));
	struct series v = {
		.samples = samples, .l = l, .s = s, .at = at, .each = each, .part = part, .rev_ns = zone_rev_ns(l)
	};
	cleanup_free double *revs = xcalloc(samples->n + 1, sizeof(*revs));
	double usual, single, behind = INFINITY, anew = zone_begins_anew(st);
	size_t n = 0;

	*ret = (struct zone_slows){ .v = xcalloc(samples->n + 1, sizeof(*ret->v)), .least_loss = NAN };
	if (!(v.rev_ns > 0.0))
		return;
	for (size_t i = 0; i < samples->n; i++)
		if (is_of_media(&samples->v[i], position_of(samples, &samples->v[i]), st))
			s[n++] = &samples->v[i];
	qsort(s, n, sizeof(const struct zone_sample *), by_place);
	for (size_t i = n; i-- > 0;) {
		if (i + 1 < n && (double)s[i]->end_bytes <= anew && (double)s[i + 1]->end_bytes > anew)
			behind = INFINITY;
		each[s[i] - samples->v] = lost_in(s[i], behind, l);
		if (zone_is_usable(s[i]))
			behind = fmin(behind, s[i]->ns_per_byte);
	}
	for (size_t i = 0; i < n; i++) {
		if (s[i]->kind == SAMPLE_CHECK) { /* the same bytes lose the same again: no more of them do */
			struct lossy_at *again = &each[s[i] - samples->v];

			*again = lost_again(s[i], &samples->v[s[i]->check_of], &each[s[i]->check_of], *again, v.rev_ns);
			continue;
		}
		s[v.n] = s[i];
		at[v.n] = each[s[i] - samples->v];
		revs[v.n] = at[v.n].revs;
		v.n++;
	}
	usual = v.n ? stats_median(revs, v.n) : 0.0;
	v.nparts = lossy_find(at, v.n, WAITS_SLOW, usual, part, &single);
	ret->least_loss = least_loss(&v, usual, single);
	if (l->has_members)
		return;
	find_regions(&v, ret);
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

bool zone_touches_slow(const struct zone_slows *slows, const struct zone_sample *s, bool is_confirmed)
{
	for (size_t i = 0; i < slows->n; i++)
		if ((slows->v[i].is_confirmed || !is_confirmed) && zone_slow_has(&slows->v[i], s))
			return true;
	return false;
}
