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

#define FEW_WAITS 20 /* of a region: more are no accident of a law, but differ for a reason (a choice) */
#define WAITS_SCALE \
	2.0 /* times the places: so many stretches there are, short and long, that do not hang together (a choice) */
#define LOST_PART \
	0.5 /* of the time that a region loses, that its waits must hold to be what it is told by: the larger half */
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
