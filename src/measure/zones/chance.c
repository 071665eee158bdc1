/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a place slow, or was the time when it was read? A busy host, a bridge or a recalibration slow down all that is
 * read for a while, and passes read neighbours one after the other, so that a few such spells look like a region. What
 * tells them apart is that every place is read several times, at times of their own: what is of the place is there each
 * time. How often samples are slow for a while is seen at all other places, by the fastest sample of each: so another
 * slow region does not count. That a region's looks are slow that often by chance is binomial; places that may be hit
 * are as many as fit.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define PRIOR_WAITS                                                                                               \
	5.0          /* of Poisson's law, that the dispersion is shrunk by: few waits say little of it (a choice) \
	              */
#define FEW_WAITS 20 /* of a region: more are no accident of a law, but differ for a reason (a choice) */
#define WAITS_SCALE \
	2.0 /* times the places: so many stretches there are, short and long, that do not hang together (a choice) */
#define LOST_PART \
	0.5 /* of the time that a region loses, that its waits must hold to be what it is told by: the larger half */
#define NEAR       8   /* positions on either side, that are of the same zone, or nearly (a choice) */
#define SPELL_PART 0.4 /* of a region's excess that makes a sample a slow one (a choice, as SLOW_PART of slow.c) */

static bool is_inside(const struct zone_slow *slow, const struct zone_sample *s)
{
	return s->position >= slow->first && s->position <= slow->last;
}

/* Part of the samples elsewhere that are slower by `more` than the fastest one of their place, which counts for no
 * sample. */
static double share_elsewhere(const struct zone_samples *samples, size_t npositions, const struct zone_slow *slow,
                              double more)
{
	cleanup_free double *best = xcalloc(npositions + 1, sizeof(*best));
	double slower = 0.5, n = 1.0;

	for (size_t p = 0; p < npositions; p++)
		best[p] = INFINITY;
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (!zone_is_usable(s) || is_inside(slow, s))
			continue;
		n += isfinite(best[s->position]);
		best[s->position] = fmin(best[s->position], log(s->ns_per_byte));
	}
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];

		slower += zone_is_usable(s) && !is_inside(slow, s) && log(s->ns_per_byte) > best[s->position] + more;
	}
	return slower / n;
}

double zone_chance_of_time(const struct zone_samples *samples, size_t npositions, const struct zone_slow *slow)
{
	double more = SPELL_PART * (slow->y - slow->expected_y);
	double share = share_elsewhere(samples, npositions, slow, more);
	size_t looks = 0, slow_looks = 0;
	double places = (double)npositions / (double)(slow->last - slow->first + 1);
	long balance = 0;
	bool is_in = false;

	for (size_t i = 0; i < samples->n; i++) { /* in order of time; samples one after the other are one look */
		const struct zone_sample *s = &samples->v[i];

		if (!zone_is_usable(s))
			continue;
		if (is_inside(slow, s) && s->from_bytes >= slow->first_bytes && s->end_bytes <= slow->end_bytes) {
			looks += !is_in;
			balance += log(s->ns_per_byte) > slow->expected_y + more ? 1 : -1;
			is_in = true;
		} else {
			slow_looks += is_in && balance > 0;
			balance = 0;
			is_in = false;
		}
	}
	slow_looks += is_in && balance > 0;
	return !slow_looks ? 1.0 : fmin(places * (1.0 - stats_binomial_cdf(slow_looks - 1, looks, share)), 1.0);
}

double zone_chance_of_single(const struct zone_samples *samples, size_t npositions, const struct zone_slow *slow,
                             size_t suspects)
{
	double share = share_elsewhere(samples, npositions, slow, SPELL_PART * (slow->y - slow->expected_y));
	size_t n = slow->again_slow + slow->again_good;

	if (!slow->again_slow)
		return 1.0;
	return fmin((double)suspects * (1.0 - stats_binomial_cdf(slow->again_slow - 1, n, share)), 1.0);
}

static bool overlaps(const struct zone_slow *slow, const struct zone_sample *s)
{
	return s->from_bytes < slow->end_bytes && s->end_bytes > slow->first_bytes;
}

/* Is it told by waits, and are they so few that chance may have put them together? Of what loses whole requests none
 * shows. */
static bool is_of_few(const struct zone_slow *slow, double waits, double lost_ns, double ns)
{
	return waits > 0.0 && waits < FEW_WAITS && lost_ns >= LOST_PART * (1.0 - exp(slow->expected_y - slow->y)) * ns;
}

double zone_chance_of_few(const struct zone_samples *samples, const struct zone_layout *l,
                          const struct zone_slows *slows, const struct zone_slow *slow)
{
	double waits = 0.0, ns = 0.0, lost_ns = 0.0, others = 1.0, others_ns = 0.0, expected, more = 0.0;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];
		bool is_other = true;

		if (!s->is_good || s->is_burst || s->kind == SAMPLE_PROBE || s->kind == SAMPLE_CHECK)
			continue;
		if (overlaps(slow, s)) {
			waits += s->waits;
			ns += s->elapsed_ns;
			lost_ns += s->wait_revs * zone_rev_ns(l);
			continue;
		}
		for (size_t k = 0; k < slows->n && is_other; k++)
			is_other = !slows->v[k].is_confirmed || !overlaps(&slows->v[k], s);
		others += is_other ? s->waits : 0.0;
		others_ns += is_other ? s->elapsed_ns : 0.0;
	}
	if (!is_of_few(slow, waits, lost_ns, ns) || !(others_ns > 0.0))
		return 0.0;
	expected = others * ns / others_ns;
	for (double k = waits; k < waits + FEW_WAITS; k++) /* of Poisson's law; what is beyond is next to nothing */
		more += exp(k * log(expected) - expected - lgamma(k + 1.0));
	if (expected >= waits)
		return 1.0;
	return fmin((double)l->npositions * WAITS_SCALE * more, 1.0);
}

struct visit { /* a sample, and what it had more than its place lets expect */
	double at_s, more, var;
};

static int by_time(const void *a, const void *b)
{
	const struct visit *x = a, *y = b;

	return x->at_s < y->at_s ? -1 : x->at_s > y->at_s;
}

/* Waits of samples s[0..n), all of one position, as excess over their common rate. Returns how many visits these are.
 */
static size_t fill_visits(const struct zone_sample *const *s, size_t n, struct visit *v)
{
	double waits = 0.0, ns = 0.0;

	for (size_t i = 0; i < n; i++) {
		waits += s[i]->waits;
		ns += s[i]->elapsed_ns;
	}
	for (size_t i = 0; i < n && n > 1; i++) {
		double share = s[i]->elapsed_ns / ns;

		v[i] = (struct visit){ s[i]->at_s, s[i]->waits - share * waits, share * (1.0 - share) * waits };
	}
	return n > 1 ? n : 0;
}

/* Of how many of the visits in the region one look at it consists: those that were made one right after the other. */
static size_t visits_of_look(const struct zone_sample *const *s, size_t n, size_t first, size_t last, struct visit *v)
{
	size_t looks = 0;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct visit){ .at_s = s[i]->at_s, .more = i >= first && i <= last };
	qsort(v, n, sizeof(*v), by_time);
	for (size_t i = 0; i < n; i++)
		looks += v[i].more > 0.0 && (!i || !(v[i - 1].more > 0.0));
	return looks ? (last - first + 1 + looks / 2) / looks : 0;
}

struct range { /* positions, both included */
	size_t first, last;
};

/* The positions of s[first..last], and NEAR more on each side; the empty range if none has one. */
static struct range near_to(const struct zone_sample *const *s, size_t first, size_t last)
{
	struct range r = { SIZE_MAX, 0 };

	for (size_t i = first; i <= last; i++) {
		if (s[i]->position == ZONE_NONE)
			continue;
		r.first = s[i]->position < r.first ? s[i]->position : r.first;
		r.last = s[i]->position > r.last ? s[i]->position : r.last;
	}
	return r.first > r.last ? r : (struct range){ r.first > NEAR ? r.first - NEAR : 0, r.last + NEAR };
}

/* Of the samples at these positions, without those that have one of s[first..last]; `together` visits are one look. v:
 * room for n. */
static double dispersion_at(const struct zone_sample *const *s, size_t n, size_t first, size_t last, struct range at,
                            size_t together, struct visit *v)
{
	double squares = PRIOR_WAITS, vars = PRIOR_WAITS;
	size_t visits = 0;

	for (size_t a = 0, b; a < n; a = b) {
		size_t position = s[a]->position;

		for (b = a + 1; b < n && s[b]->position == position; b++)
			;
		if (position != ZONE_NONE && position >= at.first && position <= at.last && (b <= first || a > last))
			visits += fill_visits(s + a, b - a, v + visits);
	}
	qsort(v, visits, sizeof(*v), by_time);
	for (size_t i = 0; i + together <= visits; i += together) {
		double more = 0.0;

		for (size_t k = i; k < i + together; k++) {
			more += v[k].more;
			vars += v[k].var;
		}
		squares += more * more;
	}
	return fmax(squares / vars, 1.0);
}

double zone_chance_dispersion(const struct zone_sample *const *s, size_t n, size_t first, size_t last)
{
	cleanup_free struct visit *v = xcalloc(n + 1, sizeof(*v));
	size_t together;

	together = visits_of_look(s, n, first, last, v);
	return fmax(dispersion_at(s, n, first, last, (struct range){ 0, SIZE_MAX }, together, v),
	            dispersion_at(s, n, first, last, near_to(s, first, last), together, v));
}
