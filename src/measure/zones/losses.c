/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Revolutions lost here and there: what they cost everywhere.
 *
 * A healthy disk loses a revolution now and then: a settle that took too long, a track whose skew does not suffice, a
 * recalibration. A few samples at a place mostly hold none, or one that weighs far too much. So a sample's level is
 * that of its time without them (estimate.c finds them), and their rate, time lost over time read, comes from all
 * places: a compound Poisson process, whose variance is the sum of the squares of what was lost.
 *
 * A place that loses far more than the others is none of them: it is evidence for itself alone, and not for them. What
 * comes out of the drive's buffer, as places that were never stored do, loses nothing to the media: it is summed up
 * apart.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"
#include "model/lossy.h"

#define STALL_REVS 3.0  /* per wait: more are a stall; a second try takes one, a third two */
#define RARE       0.05 /* revolutions lost in a place, expected: so few that 19 of 20 have none (Poisson) */
#define ODD_LOG \
	8.0 /* log of the likelihood ratio (Poisson) of a place's own rate, as of four deviations: it is left out */
#define ROUNDS 3 /* of leaving out: the rate falls each time (a choice: the third changes nothing) */

static double lost_ns(const struct zone_layout *l, const struct zone_sample *s)
{
	return fmin(s->lost.revs * zone_rev_ns(l), ZONE_LOST_MAX * s->elapsed_ns);
}

double zone_clean_y(const struct zone_layout *l, const struct zone_sample *s)
{
	/* Not less than a quarter: a fit of old documents weighs what is lost in the middle of a sample by up to 3/2.
	 */
	return log(fmax(s->ns_per_byte - lost_ns(l, s) / s->moved_bytes, 0.25 * s->ns_per_byte));
}

struct place {
	double waits, lost, lost2, clean; /* clean: time without what was lost */
	double stalled, stalled2;         /* of waits that are stalls */
	double moved, first, end;
	bool is_from_buffer, is_odd;
};

static void add(struct place *p, const struct zone_layout *l, const struct zone_sample *s)
{
	double lost = lost_ns(l, s);

	p->clean += s->elapsed_ns - lost;
	p->moved += s->moved_bytes;
	p->first = fmin(p->first, (double)s->from_bytes);
	p->end = fmax(p->end, (double)s->end_bytes);
	p->waits += s->lost.waits;
	if (s->lost.revs > STALL_REVS * s->lost.waits) {
		p->stalled += lost;
		p->stalled2 += lost * lost / s->lost.waits;
	} else if (s->lost.waits) {
		p->lost += lost;
		p->lost2 += lost * lost / s->lost.waits;
	}
}

static struct place sum_of(const struct place *v, size_t n, bool is_from_buffer)
{
	struct place all = { .is_from_buffer = is_from_buffer };

	for (size_t i = 0; i < n; i++) {
		if (v[i].is_from_buffer != is_from_buffer || v[i].is_odd)
			continue;
		all.waits += v[i].waits;
		all.lost += v[i].lost;
		all.lost2 += v[i].lost2;
		all.clean += v[i].clean;
		all.stalled += v[i].stalled;
		all.stalled2 += v[i].stalled2;
	}
	return all;
}

/* Variance of the places' rates, relative to their mean, beyond that of chance. */
static double between(const struct place *v, size_t n, const struct place *all)
{
	double more = 0.0, squares = 0.0;

	for (size_t i = 0; i < n; i++) {
		double expected = v[i].clean * all->waits / all->clean;

		if (v[i].is_from_buffer != all->is_from_buffer || v[i].is_odd)
			continue;
		more += (v[i].waits - expected) * (v[i].waits - expected) - expected;
		squares += expected * expected;
	}
	return squares > 0.0 ? fmax(more / squares, 0.0) : 0.0;
}

/*
 * How much of a place's own losses its level holds, and the variance that is left, as a part of that of its own. Where
 * losses hang on places the level should hold `part`, what was read of it; where they hang on time, nothing: a half, or
 * less where less was read, leaves the least that holds for both; more where places differ. is_whole: all is read once
 * (--full), and what that took is the answer.
 */
static double own_part(const struct place *v, bool is_whole, double expected, double tau2, double *ret_left)
{
	double part = fmin(v->moved / (v->end - v->first), 0.5), differ = tau2 * expected / (tau2 * expected + 1.0);

	*ret_left = v->is_odd || is_whole ? 1.0 : fmax(part * (1.0 - part), differ);
	return v->is_odd || is_whole ? 1.0 : fmax(part, differ);
}

/*
 * Is it unlikely that a single revolution is lost in all of the place, from its first byte to its last? Then what it
 * varies by there is no matter of 95 %.
 */
static bool is_rare(const struct place *v, const struct place *all)
{
	double cell_ns = v->clean / v->moved * (v->end - v->first);

	return (all->waits + LOSSY_UNSEEN) * cell_ns < RARE * all->clean;
}

static void fill(const struct place *v, const struct place *all, bool is_whole, double tau2, struct zone_level *ret)
{
	double left, own = own_part(v, is_whole, v->clean * all->waits / all->clean, tau2, &left), rest = 1.0 - own;

	const struct place *stalls = own < 1.0 ? all : v;

	ret->loses_itself = v->is_odd;
	ret->loss = own * v->lost / v->clean + rest * all->lost / all->clean + stalls->stalled / stalls->clean;
	ret->loss_var = v->is_odd ? v->lost2 / v->clean / v->clean
	                          : (is_rare(v, all) ? 0.0 : left * all->lost2 / all->clean / v->clean) +
	                                    rest * rest * all->lost2 / all->clean / all->clean;
	ret->loss_var += stalls->stalled2 / stalls->clean / stalls->clean;
	ret->loss_var /= (1.0 + ret->loss) * (1.0 + ret->loss);
}

static bool is_odd(const struct place *v, const struct place *all)
{
	double expected =
		v->clean * (all->waits + 1.0) / all->clean; /* one more: that none was seen elsewhere is chance, too */

	return v->waits > expected && v->waits * log(v->waits / expected) - (v->waits - expected) > ODD_LOG;
}

/* Which place a sample is of; readings for edges between zones are of one more, behind the last: they show what is
 * usually lost as well. */
static size_t place_of(const struct zone_sample *s, const struct zone_layout *l)
{
	bool is_usable = s->is_good && !s->is_burst && !s->is_disturbed;

	if (!is_usable)
		return ZONE_NONE;
	if (s->kind == SAMPLE_EDGE && s->position == ZONE_NONE)
		return l->npositions;
	return s->kind == SAMPLE_CURVE || s->kind == SAMPLE_AGAIN ? s->position : ZONE_NONE;
}

/* v: one per position and one more. Of those that come out of the drive's buffer, or of the others. */
static void find(struct place *v, bool is_from_buffer, const struct zone_layout *l, struct zone_levels *lv)
{
	size_t n = l->npositions + 1;
	struct place all = sum_of(v, n, is_from_buffer);
	double tau2;

	for (int round = 0; round < ROUNDS && all.clean > 0.0; round++) {
		for (size_t p = 0; p < n; p++)
			v[p].is_odd = v[p].is_from_buffer == is_from_buffer && is_odd(&v[p], &all);
		all = sum_of(v, n, is_from_buffer);
	}
	if (!(all.clean > 0.0))
		return;
	tau2 = between(v, n, &all);
	all.lost2 += LOSSY_UNSEEN * zone_rev_ns(l) * zone_rev_ns(l);
	lv->loss = (all.lost + all.stalled) / all.clean;
	lv->loss_var = (all.lost2 + all.stalled2) / all.clean / all.clean;
	for (size_t p = 0; p < l->npositions; p++)
		if (v[p].clean > 0.0 && v[p].is_from_buffer == is_from_buffer)
			fill(&v[p], &all, l->is_whole, tau2, &lv->v[p]);
}

void zone_losses_find(const struct zone_layout *l, struct zone_levels *lv)
{
	size_t n = l->npositions + 1;
	cleanup_free struct place *v = xcalloc(n, sizeof(*v));

	for (size_t p = 0; p < n; p++)
		v[p].first = INFINITY;
	for (size_t i = 0; i < lv->marked.n; i++) {
		const struct zone_sample *s = &lv->marked.v[i];

		if (place_of(s, l) != ZONE_NONE)
			add(&v[place_of(s, l)], l, s);
	}
	for (size_t p = 0; p < n; p++)
		v[p].is_from_buffer =
			v[p].clean > 0.0 && link_is_near(v[p].moved * 1e9 / v[p].clean, l->interface_bytes_per_s);
	lv->loss = lv->loss_var = 0.0;
	find(v, true, l, lv);
	find(v, false, l, lv); /* later: what is not known of is of media, where there are any */
	for (size_t p = 0; p < l->npositions; p++) {
		if (v[p].clean > 0.0)
			continue;
		lv->v[p].loss = lv->loss;
		lv->v[p].loss_var = lv->loss_var;
	}
}
