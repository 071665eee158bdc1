/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slow regions of a device that has one request at a time: is it the place that loses revolutions, or the way to the
 * host? */
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define PATH_RETRY                                                                                                  \
	0.05           /* of the waits took more than a revolution: those are retries (one in twenty that took two) \
	                */
#define LOST_PART 0.5  /* of what a region loses: the larger half */
#define PATH_PART 0.05 /* of all else, by its time, that has as many waits: beyond chance (as everywhere) */
#define PATH_FAR \
	10 /* part of what is measured, so far from the region as that: what is nearer may be of it (a choice) */
#define PATH_SINGLE 0.5   /* of a single sample's waits: by how its requests lie it is slow or not ... */
#define PATH_NOW    0.005 /* ... so that this part of all else, having as many, is no chance (choices) */

/*
 * Between requests such a device waits for the host, and may lose one revolution then: how often depends on how the end
 * of a request lies to the sectors behind it. What looks slow by waits of one revolution each is no place that fails
 * where others, which do not look slow, have as many.
 */
static bool is_of_path(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_slows *slows,
                       const struct zone_slow *slow)
{
	double far = (double)(l->end_bytes - l->first_bytes) / PATH_FAR,
	       part = slow->sample == ZONE_NONE ? 1.0 : PATH_SINGLE;
	double waits = 0.0, more = 0.0, most = 0.0, lost = 0.0, ns = 0.0, all = 0.0, alike = 0.0;

	for (size_t i = 0; i < samples->n; i++)
		if (samples->v[i].is_good && zone_slow_has(slow, &samples->v[i])) {
			double longer = (double)samples->v[i].wait_revs - samples->v[i].waits;

			waits += samples->v[i].waits;
			lost += samples->v[i].wait_revs * zone_rev_ns(l);
			more += longer;
			most = fmax(most, longer);
			ns += samples->v[i].elapsed_ns;
		}
	if (slow->sample == ZONE_NONE && 4 * (slow->last - slow->first + 1) > 3 * l->npositions)
		return true;                  /* a place is a part of the disk, and the way to it is all of it */
	if (more - most > PATH_RETRY * waits) /* one sample in which a wait took longer is chance */
		return false;
	if (slow->first == 0) /* a way that is too slow for the first zone is so from its first byte on */
		return true;
	/* Where its waits do not hold the larger part of what it loses, it has another reason. */
	if (slow->sample == ZONE_NONE && lost < LOST_PART * (1.0 - exp(slow->expected_y - slow->y)) * ns)
		return false;
	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (!s->is_good || s->kind == SAMPLE_PROBE || zone_touches_slow(slows, s) ||
		    ((double)s->from_bytes < (double)slow->end_bytes + far &&
		     (double)s->end_bytes > (double)slow->first_bytes - far))
			continue;
		all += s->elapsed_ns;
		alike += s->waits && s->waits * ns >= part * waits * s->elapsed_ns ? s->elapsed_ns : 0.0;
	}
	return alike > 0.0 && alike >= (slow->sample == ZONE_NONE ? PATH_PART : PATH_NOW) * all;
}

void zone_slows_leave_to_path(const struct zone_samples *samples, const struct zone_layout *l, struct zone_slows *slows)
{
	cleanup_free bool *is_of = xcalloc(slows->n + 1, sizeof(*is_of));

	for (size_t i = 0; l->is_one_at_a_time && i < slows->n; i++)
		is_of[i] = is_of_path(samples, l, slows, &slows->v[i]);
	for (size_t i = 0; i < slows->n; i++)
		slows->v[i].is_confirmed &= !is_of[i];
}
