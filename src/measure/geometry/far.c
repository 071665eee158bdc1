/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracks one after the other: of one surface, or of several with bands longer than what was walked? Behind a band or
 * two the arm is back where it was. An access over that far takes no longer than one over a third of it. Tracks behind
 * the walk are not known, but where about they lie is, and a sector's angle can be read.
 */
#include "measure/geometry/layout.h"

/* Accesses over distances up to three times as long. Even the second one behind a return has less than a third of the
 * way left, whether bands turn back or begin anew: one may be missing. */
#define A_THIRD 8
#define FROM    256.0               /* tracks */
#define FAR     (2 * GEO_BAND_MOST) /* longer bands are those of a zone: they return again and again */
#define SHOWS   4.0  /* deviations, by which an access is longer than over a third: from there on all must be */
#define CLEARLY 2.0  /* by these; two returns in a row that hide like that: 1 in 2000 */
#define COARSE  3.0  /* usual errors: that difference is not known */
#define BEGINS  0.03 /* of a track that may end anywhere */

/* Which: to the first whole tracks, from farther and farther away up to the end of the disk. */
static size_t choose(struct geo_search *s, bool *ret_is_to_end)
{
	const double step = pow(3.0, 1.0 / A_THIRD);
	struct geo_order *o = s->o;
	double distance = FROM;
	size_t n = 0;

	*ret_is_to_end = false;
	for (uint64_t t = 0; n < GEO_PAIRS && t < o->tracks; t++) {
		const struct geo_seg *seg = geo_order_at(o, t);
		struct geo_pair *p = &s->pair[n];

		if (!geo_is_plain(seg))
			continue;
		*p = (struct geo_pair){ .distance = (uint64_t)distance, .begins = BEGINS };
		p->to = p->from = (struct geo_spot){ .first = geo_order_first(o, t), .sectors = seg->size };
		p->from.first += p->distance * seg->size;
		*ret_is_to_end = p->from.first + seg->size >= s->g->sectors;
		if (*ret_is_to_end)
			break;
		distance *= step;
		n++;
	}
	return n;
}

int geo_look_far(struct geo_search *s, struct err *err)
{
	bool is_to_end, must = false;
	size_t n, missed = 0;
	double scatter, errors = 0.0, measured = 0.0;
	int r;

	s->goes_on = s->o->end == s->g->sectors; /* all surfaces were seen, and none begins as the first did */
	if (s->goes_on)
		return 0;
	n = choose(s, &is_to_end);
	r = geo_shortest(s->g, s->pair, n, GEO_LAYOUT_AT, GEO_CHECK_AT, &scatter, err);
	s->goes_on = r == 0 && is_to_end && n > A_THIRD;
	for (size_t i = 0; i < n; i++) {
		measured += isfinite(s->pair[i].access);
		errors += isfinite(s->pair[i].access) ? s->pair[i].error : 0.0;
	}
	for (size_t i = A_THIRD; i < n && s->goes_on; i++) {
		const struct geo_pair *p = &s->pair[i], *third = p - A_THIRD + !isfinite(p[-A_THIRD].access);
		double longer = p->access - third->access, error = hypot(p->error, third->error);

		missed = isfinite(longer) && error * measured < COARSE * errors ? 0 : missed + 1;
		must |= longer > SHOWS * error || p->distance > s->o->tracks / 2; /* shorter bands show in the walk */
		s->goes_on = (missed < 2 || p->distance > FAR) && (missed || !must || longer > CLEARLY * error);
	}
	return r;
}
