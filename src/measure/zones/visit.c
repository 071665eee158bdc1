/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A visit of a place: one sample there; and the order in which a pass visits them. */
#include <math.h>

#include "measure/zones/zones.h"

#define FAULT_TRIES 2 /* more windows after a fault, in the same visit (a choice) */
#define OWN_TIMES                                                                                           \
	2.0 /* a place's rate: zones of one disk differ by less (the end of one is 0.4 to 0.6 of its start) \
	     */

/* Of all samples so far; infinite: there is none. */
static double slowest(const struct zone_target *t)
{
	double least = INFINITY;

	for (size_t i = 0; i < t->samples.n; i++)
		if (t->samples.v[i].is_good)
			least = fmin(least, 1e9 / t->samples.v[i].ns_per_byte);
	return least;
}

/*
 * What a place will be read at, at most: few places lie zones apart, and one of them may not be stored at all, so what
 * was read last says little of this one, and of one that is new no more than the slowest does. (Written, a cache takes
 * in what is short.)
 */
static double expected_rate(const struct zones_run *run, const struct zone_target *t, size_t position)
{
	double own = t->layout.positions[position].bytes_per_s;

	if (!run->p->places || (own <= 0.0 && (run->p->write || run->p->rewrite)))
		return t->bytes_per_s;
	return fmin(t->bytes_per_s, own > 0.0 ? OWN_TIMES * own : slowest(t));
}

static int sample_window(struct zones_run *run, struct zone_target *t, size_t position, enum sample_kind kind,
                         uint32_t pass, const struct zone_sample **ret, struct err *err)
{
	enum zone_class class = t->layout.positions[position].class;
	struct zone_sample how = { .position = position, .kind = kind, .pass = pass };
	uint64_t bytes = zone_sample_bytes(&t->layout, run->p, class, expected_rate(run, t, position));

	*ret = NULL;
	if (!zone_take_window(&t->layout, position, bytes, &t->rng, &how.first_bytes, &how.end_bytes))
		return 0;
	return zone_sample_take(run, t, &how, ret, err);
}

/* One sample at a position; after a fault, or when this program did not run meanwhile, beside it. */
int zone_visit(struct zones_run *run, struct zone_target *t, size_t position, enum sample_kind kind, uint32_t pass,
               struct err *err)
{
	for (int try = 0; try <= FAULT_TRIES; try++) {
		const struct zone_sample *s;
		int r = sample_window(run, t, position, kind, pass, &s, err);

		if (r < 0 || !s || !(s->has_fault || (!s->is_good && s->is_disturbed)) || session_is_over(run->ses))
			return r;
	}
	return 0;
}

/*
 * Positions in the order of a pass: upward, downward, then shuffled; of few places, which are far from each other,
 * upward and downward by turns. Those of the figures come once more at the end, the middle first: right after a sample
 * at the same place the drive would have read ahead into the next one.
 */
size_t zone_order_pass(const struct zones_run *run, struct zone_target *t, uint32_t pass, size_t *order)
{
	bool is_down = run->p->places ? pass % 2 : pass == 1;
	size_t n = 0;

	for (size_t i = 0; i < t->layout.npositions; i++)
		order[n++] = is_down ? t->layout.npositions - 1 - i : i;
	if (pass > 1 && !run->p->places)
		rng_shuffle(&t->rng, order, n);
	for (size_t i = 0; i < t->layout.npositions; i++) {
		size_t k = (t->layout.npositions / 2 + i) % t->layout.npositions;

		if (zone_visits(run->p, t->layout.positions[k].class) > 1)
			order[n++] = k;
	}
	return n;
}
