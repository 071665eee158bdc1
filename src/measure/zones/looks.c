/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Second looks: samples where the passes did not suffice, and bytes that are read again to see whether what they showed
 * is of the place. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/zones.h"

#define LOOKS_MAX                                                                                                   \
	8 /* at a suspect: where a quarter of all else is slow, that many slow ones decide (lossy.h) of hundreds of \
	     places */

/* Do more looks decide? */
static bool is_open(const struct zone_slow *s)
{
	return !s->is_of_place && !s->is_of_time && s->looks < LOOKS_MAX;
}

static bool is_wanted(const struct zones_run *run, const struct zone_target *t, size_t position)
{
	const struct zone_level *v = &t->analysis->levels.v[position];
	/* Of few places what is lost unseen is most of the width, and reading on makes that smaller, too. */
	double half = run->p->places ? v->half : v->noise_half;

	if (t->layout.positions[position].used == t->layout.slots)
		return false;
	return !run->p->full && /* everything was read already */
	       (!v->n || v->wants_more || isnan(v->half) || half > log1p(session_precision(run->ses)));
}

/* The bytes of a slow sample, once more, in requests that begin elsewhere (sample.c, check_phase). */
static int check_sample(struct zones_run *run, struct zone_target *t, size_t i, struct err *err)
{
	uint64_t shift = t->layout.request_bytes / 2;
	struct zone_sample how = { .position = ZONE_NONE, .kind = SAMPLE_CHECK, .check_of = i };

	how.first_bytes = t->samples.v[i].first_bytes + shift - shift % t->layout.align_bytes;
	how.end_bytes = t->samples.v[i].end_bytes;
	return zone_sample_take(run, t, &how, NULL, err);
}

/* How often sample i was read again. */
static size_t count_checks(const struct zone_samples *samples, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < samples->n; k++)
		n += samples->v[k].kind == SAMPLE_CHECK && samples->v[k].check_of == i;
	return n;
}

/* Suspects: as much a part of the measurement as the passes, for else they would go unreported. */
static int check_suspects(struct zones_run *run, struct zone_target *t, size_t *ret_taken, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->analysis->slows.n; i++) {
		const struct zone_slow *s = &t->analysis->slows.v[i];

		size_t checks = count_checks(&t->samples, s->worst);

		/* One check of each, whatever the time; of few places the others where there is time. */
		if (!is_open(s) || checks >= LOOKS_MAX || session_is_over(run->ses) ||
		    !zones_has_time(run, t, run->p->places && checks))
			continue;
		if (zone_slow_has(s,
		                  &t->samples.v[t->samples.n - 1])) /* a look of its own begins after another place */
			r = zone_visit(run, t, (s->first + t->layout.npositions / 2) % t->layout.npositions,
			               SAMPLE_AGAIN, zone_passes(run->p), err);
		if (r == 0)
			r = check_sample(run, t, s->worst, err);
		(*ret_taken)++;
	}
	return r;
}

int zone_look_again(struct zones_run *run, struct zone_target *t, struct err *err)
{
	cleanup_free size_t *order = xcalloc(2 * t->layout.npositions + 1, sizeof(*order));

	for (uint32_t round = 0; round < t->layout.slots + 2; round++) {
		size_t n = zone_order_pass(run, t, 2, order), taken = 0;
		int r = 0;

		if (n > t->layout.npositions)
			n = t->layout.npositions;
		for (size_t i = 0; r == 0 && i < n && !session_is_over(run->ses); i++) {
			if (!is_wanted(run, t, order[i]) || !zones_has_time(run, t, true))
				continue;
			r = zone_visit(run, t, order[i], SAMPLE_AGAIN, zone_passes(run->p) + round, err);
			taken++;
			zones_show(run, t, "second looks", ZONE_PASS_PART + 0.1 * (double)i / (double)n);
		}
		if (r == 0)
			r = check_suspects(run, t, &taken, err);
		if (r < 0)
			return r;
		if (!taken)
			return 0;
		zones_renew(run, t);
		if (session_is_over(run->ses))
			return 0;
	}
	return 0;
}
