/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places that cost a revolution each time: what was late once is read again, when the drive's cache has forgotten it,
 * and cut into smaller pieces, until it is known to a few sectors; by the third time neither chance nor the host is
 * behind it. A sector that the drive has moved elsewhere is among those, and tells by its angle, which is not the one
 * of its place between its neighbours; one that is hard to read is where it should be.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/geometry/tell.h"

#define CUTS                                                                                                        \
	6 /* pieces of what is looked at again: the drive reads on while the host asks for one after the other, and \
	     must not get a revolution ahead */
#define SHOWS             0.5 /* of a revolution: a piece that takes so much longer than the others has lost one */
#define MOST              64  /* places */
#define PASSES            5   /* 6^5 sectors */
#define FINE              3   /* sectors: few enough for the angle of each */
#define ELSEWHERE         3.0 /* of what two equal angles may differ by */
#define ELSEWHERE_SECTORS 3.0

const struct field geo_slow_fields[] = {
	FIELD_U64(struct geo_slow_row, first_byte, UNIT_BYTES, "first byte"),
	FIELD_U64(struct geo_slow_row, length_bytes, UNIT_BYTES, "length"),
	FIELD_U64(struct geo_slow_row, surface, UNIT_COUNT, "surface"),
	FIELD_U64(struct geo_slow_row, times, UNIT_COUNT, "times seen", .detail = true),
	FIELD_STR(struct geo_slow_row, what, "what"),
	FIELD_END,
};

/* Reads elsewhere until the cache has forgotten these; the time that a few seconds leave for it is looked at by who
 * calls. */
static int forget(struct geo *g, const struct geo_late *late, struct err *err)
{
	double angle;

	return geo_probe_afresh(g, &late->track, &angle, 1, err);
}

/* One more time, in pieces: where the longest wait was is what is left. late->from == late->end: it did not come again.
 */
static int narrow(struct geo *g, struct geo_late *l, struct err *err)
{
	uint64_t end[CUTS], done[CUTS + 1] = { 0 }, width = l->end - l->from;
	size_t n = width < CUTS ? (size_t)width : CUTS, best = 0;
	double most = 0.0, usual = 1.0 / (double)l->sectors;
	bool is_read;
	int r;

	for (size_t i = 0; i < n; i++)
		end[i] = l->from + width * (i + 1) / n;
	r = geo_read_pieces(g, l->from - 1, end, n, done, &is_read, err);
	if (r < 0 || !is_read)
		return r;
	l->times++;
	for (size_t i = 0; i < n; i++) {
		double passed = (double)(end[i] - (i ? end[i - 1] : l->from)) * usual;
		double took = geo_turns(g, done[i + 1]) - geo_turns(g, done[i]) - passed;

		best = took > most ? i : best;
		most = fmax(most, took);
	}
	if (most > SHOWS) {
		l->from = best ? end[best - 1] : l->from;
		l->end = end[best];
	} else {
		l->end = l->from;
	}
	return 0;
}

/* Does a sector between the two ends lie at an angle that is not its place's? UINT64_MAX: none. */
static int find_moved(struct geo *g, const struct geo_late *l, uint64_t *ret, struct err *err)
{
	uint64_t sector[FINE + 4];
	double angle[FINE + 4], spacing = 1.0 / (double)(l->sectors + g->spare), near = geo_near(g);
	size_t n = (size_t)(l->end - l->from), all = n + 4;
	int r;

	*ret = UINT64_MAX;
	if (l->from < l->track + 2 || l->end + 2 > l->track + l->sectors)
		return 0;
	for (size_t i = 0; i < all; i++) /* from above, as the drive reads on */
		sector[i] = l->end + 1 - i;
	r = geo_probe_sure(g, sector, angle, all, err);
	for (size_t i = 1; i < all && r == 0; i++) {
		bool is_inside = i >= 2 && i < n + 2;
		double off = geo_apart(angle[0] - angle[i], (double)i * spacing);

		if (!is_inside && !(off < near)) /* the neighbours are where they should be, or nothing is known */
			return 0;
	}
	for (size_t i = 2; i < n + 2 && r == 0; i++)
		if (geo_apart(angle[0] - angle[i], (double)i * spacing) >
		    fmax(ELSEWHERE * near, ELSEWHERE_SECTORS * spacing))
			*ret = sector[i];
	return r;
}

static int tell(struct geo *g, const struct geo_late *l, struct table *t, struct err *err)
{
	uint64_t moved = UINT64_MAX;
	int r = l->end - l->from <= FINE ? find_moved(g, l, &moved, err) : 0;

	if (r < 0)
		return r;
	result_row(t, &(struct geo_slow_row){
			      .first_byte = (moved == UINT64_MAX ? l->from : moved) * g->t.block_bytes,
			      .length_bytes = (moved == UINT64_MAX ? l->end - l->from : 1) * g->t.block_bytes,
			      .surface = l->head,
			      .times = l->times,
			      .what = moved == UINT64_MAX ? "slow each time" : "sector lies elsewhere" });
	return 0;
}

int geo_look_at_late(struct geo *g, struct geo_late *late, size_t n, struct err *err)
{
	uint64_t until_ns = geo_share_end_ns(g, GEO_SLOW_PART);
	struct table *t = result_table(g->ses->res, "slow", "Places that cost a revolution each time", geo_slow_fields);
	size_t left = n < MOST ? n : MOST;
	int r = 0;

	n = left;
	for (int k = 0; k < PASSES && left && r == 0 && !geo_is_share_over(g, until_ns); k++) {
		r = forget(g, &late[0], err);
		left = 0;
		for (size_t i = 0; i < n && r == 0 && !geo_is_share_over(g, until_ns); i++) {
			if (late[i].end - late[i].from > FINE)
				r = narrow(g, &late[i], err);
			left += late[i].end - late[i].from > FINE;
		}
	}
	for (size_t i = 0; i < n && r == 0; i++)
		if (late[i].end > late[i].from && late[i].times >= 2)
			r = tell(g, &late[i], t, err);
	return r;
}
