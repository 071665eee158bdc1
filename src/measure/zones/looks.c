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

#define CHECK_REQUESTS (ZONE_DONE_MIN + 2) /* in what is read again: a pace and its waits show (a choice) */

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

/* The bytes of sample i once more, in requests of that size. */
static int check_sample(struct zones_run *run, struct zone_target *t, size_t i, uint32_t bytes, struct err *err)
{
	struct zone_sample how = { .position = ZONE_NONE,
		                   .kind = SAMPLE_CHECK,
		                   .check_of = i,
		                   .first_bytes = t->samples.v[i].first_bytes,
		                   .end_bytes = t->samples.v[i].end_bytes,
		                   .request_bytes = bytes };

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

/* Of those inside that were read again least often the first that lost, or the first: the drive may still hold the
 * last. ret_checks: of all. */
static size_t pick_inside(const struct zone_target *t, const struct zone_slow *slow, size_t *ret_checks)
{
	const struct zone_samples *samples = &t->analysis->levels.marked;
	size_t best = ZONE_NONE, least = SIZE_MAX;

	*ret_checks = 0;
	for (size_t k = 0; k < samples->n; k++) {
		const struct zone_sample *s = &samples->v[k];
		size_t checks = count_checks(&t->samples, k);

		if (!zone_is_usable(s) || s->is_disturbed || !zone_slow_has(slow, s))
			continue;
		*ret_checks += checks;
		if (checks > least || (checks == least && (!s->lost.waits || samples->v[best].lost.waits)))
			continue;
		least = checks;
		best = k;
	}
	return best;
}

/* The nearest one that lies in no suspect and was not read again. */
static size_t pick_beside(const struct zone_target *t, size_t i)
{
	const struct zone_samples *samples = &t->analysis->levels.marked;
	size_t best = ZONE_NONE;
	double least = INFINITY;

	for (size_t k = 0; k < samples->n; k++) {
		const struct zone_sample *s = &samples->v[k];
		double far = fabs((double)s->from_bytes - (double)samples->v[i].from_bytes);

		if (!zone_is_usable(s) || far >= least || zone_touches_slow(&t->analysis->slows, s, false) ||
		    count_checks(&t->samples, k))
			continue;
		least = far;
		best = k;
	}
	return best;
}

/* A suspect, and before it what lies beside it, which shows the time: in requests of half the size, and in the largest
 * that leave enough of them, by turns. What the way to the disk loses between requests of one size is another share in
 * others, and the media lose as much. */
static int check_slow(struct zones_run *run, struct zone_target *t, size_t inside, size_t checks, struct err *err)
{
	const struct zone_sample *s = &t->samples.v[inside];
	size_t other = pick_beside(t, inside);
	uint64_t most = (s->end_bytes - s->first_bytes) / CHECK_REQUESTS;
	uint32_t bytes = s->request_bytes / 2;
	int r = 0;

	if (checks % 2)
		bytes = most < run->eng->cfg.buf_bytes ? (uint32_t)most : run->eng->cfg.buf_bytes;
	bytes -= bytes % t->layout.align_bytes;
	bytes = bytes ? bytes : t->layout.align_bytes;
	if (other != ZONE_NONE)
		r = check_sample(run, t, other, bytes, err);
	return r < 0 || session_is_over(run->ses) ? r : check_sample(run, t, inside, bytes, err);
}

/* Suspects: as much a part of the measurement as the passes, for else they would go unreported. Bytes that were read
 * again in this round may still be in the drive's buffer. */
static int check_suspects(struct zones_run *run, struct zone_target *t, size_t round, size_t *ret_taken,
                          struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->analysis->slows.n; i++) {
		const struct zone_slow *s = &t->analysis->slows.v[i];
		size_t checks, inside = pick_inside(t, s, &checks);

		/* Some checks of each, whatever the time. */
		if (s->is_confirmed || inside == ZONE_NONE || checks >= LOOKS_MAX ||
		    count_checks(&t->samples, inside) > round || session_is_over(run->ses) ||
		    !zones_has_time(run, t, checks >= t->layout.looks))
			continue;
		r = check_slow(run, t, inside, checks, err);
		(*ret_taken)++;
	}
	return r;
}

int zone_look_again(struct zones_run *run, struct zone_target *t, struct err *err)
{
	cleanup_free size_t *order = xcalloc(2 * t->layout.npositions + 1, sizeof(*order));
	size_t all = 0, taken = 1;
	int r = 0;

	for (uint32_t round = 0; r == 0 && taken && round < t->layout.slots + 2; round++) {
		size_t n = zone_order_pass(run, t, 2, order), checked = 1;

		taken = 0;
		while (r == 0 && checked) {
			checked = 0;
			r = check_suspects(run, t, round, &checked, err);
			taken += checked;
			if (checked)
				zone_analyse_places(t);
		}

		if (n > t->layout.npositions)
			n = t->layout.npositions;
		for (size_t i = 0; r == 0 && i < n && !session_is_over(run->ses); i++) {
			if (!is_wanted(run, t, order[i]) || !zones_has_time(run, t, true))
				continue;
			r = zone_visit(run, t, order[i], SAMPLE_AGAIN, zone_passes(run->p) + round, err);
			taken++;
			zones_show(run, t, "second looks", ZONE_PASS_PART + 0.1 * (double)i / (double)n);
		}
		if (taken)
			zone_analyse_places(t);
		all += taken;
	}
	if (all)
		zones_renew(run, t);
	return r;
}
