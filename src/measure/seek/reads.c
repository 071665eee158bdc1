/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What random reads over the whole device say of the seek curve. Each is an access that was aimed nowhere: it tells
 * that the head arrived in the last revolution of it (stats/arrival.c), at a distance of its own. Those of like
 * distances are moved to the middle of them along the curve as far as it is known, and make a point as aimed accesses
 * do. A hundred reads know a point to a hundredth of a revolution only, where a dozen aimed ones know it as well; but
 * they are there anyway, everywhere between the distances that were aimed at, and also on drives that have a track in
 * their cache as soon as one sector of it was read, which foils aims.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

/* Most reads take another time than any wait for the sector explains: the aimed accesses were a cache's. */
static bool is_contradicted(const struct seek_run *s, const struct seek_read *const *reads, size_t n)
{
	double period = s->rot.period_ns;
	size_t told = 0, stray = 0;

	for (size_t i = 0; i < n; i++) {
		double off;

		if (!reads[i]->before || reads[i]->is_passed)
			continue;
		off = reads[i]->ns - seek_transfer(s, (double)reads[i]->offset) -
		      seek_arrival(s, seek_stroke_between(s, (double)reads[i]->offset, (double)reads[i]->before));
		told++;
		stray += off < -SEEK_STRAY * period || off > (1.0 + SEEK_STRAY) * period;
	}
	return 2 * stray > told;
}

void seek_learn_reads(struct seek_run *s, const struct seek_read *const *reads, size_t n)
{
	/* The many aimed accesses of a full run know the curve better. */
	if (!seek_wants_curve(s) || s->rot.is_patchy || !isfinite(s->ratio) ||
	    (s->has_fit && !s->p->quick && !is_contradicted(s, reads, n)))
		return;
	s->has_fit &= s->p->quick; /* what is contradicted does not say which accesses are astray */
	s->nrandom = 0;
	for (size_t i = 0; i < n && s->nrandom < SEEK_RANDOM_MAX; i++) {
		const struct seek_read *r = reads[i];
		struct seek_random one = { .part = seek_part_of(s, r),
			                   .bytes = fabs((double)r->offset - (double)r->before) };

		if (!r->before || r->is_passed)
			continue;
		one.stroke = seek_stroke_between(s, (double)r->offset, (double)r->before);
		one.ns = r->ns - seek_transfer(s, (double)r->offset);
		if (one.ns > SEEK_TURNS_MOST * s->rot.period_ns)
			continue;
		s->random[s->nrandom++] = one;
		seek_tell_read(s, &one);
	}
	seek_conclude_curve(s, -1);
	for (int k = 0; k < SEEK_PARTS; k++) {
		struct seek_run *other = malloc(sizeof(*other) + POINTS_MAX * sizeof(struct seek_point));

		if (!other)
			return;
		*other = *s;
		other->point = (struct seek_point *)(other + 1);
		seek_conclude_curve(other, k);
		seek_judge_of_reads(other, (size_t)k);
		s->without[k] = other;
	}
}

void seek_parts_done(struct seek_run *s)
{
	for (size_t k = 0; k < SEEK_PARTS; k++)
		free(s->without[k]);
}

void seek_load_reads(struct seek_run *s, const struct table *accesses)
{
	for (size_t i = 0; i < accesses->nrows && s->nrandom < SEEK_RANDOM_MAX; i++)
		s->nrandom += seek_load_read(accesses, i, &s->random[s->nrandom]);
}
