/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaps of the walk (steps.c): is there an end of a track of the same kind that many tracks further on, and has the
 * angle advanced by that many jumps?
 *
 * A jump is the angle from the last sector of a track to the first of the next, less one spacing of the *ended* track's
 * sectors: so it is also by what the angle of first sectors advances from track to track, and can be measured before
 * the next track's size is known.
 */
#include <math.h>

#include "measure/geometry/walk.h"

/* Were both answers in time? Other sectors of the two tracks show it, which the drive has not in its cache. If not, the
 * two are read until two readings agree. */
static int check_late(struct geo *g, const uint64_t *sector, double *angle, double after, struct err *err)
{
	uint64_t apart = after > 0.0 ? (uint64_t)(0.2 / after) : 0;
	const uint64_t other[2] = { sector[0] + apart, sector[1] - apart };
	double got[2], turn = (double)apart * after;
	bool doubt[2];
	int r;

	if (apart && sector[1] >= apart && other[0] < g->sectors) {
		r = geo_probe_doubt(g, other, got, doubt, 2, false, err);
		if (r < 0 || (geo_apart(got[0] - angle[0], turn) < geo_near(g) + 0.01 &&
		              geo_apart(angle[1] - got[1], turn) < geo_near(g) + 0.01))
			return r;
	}
	return geo_probe_sure(g, sector, angle, 2, err);
}

/* Angles of the sectors on both sides of an edge; what fits neither `jump` (NaN: not known, and only what came in a
 * short time is looked at) nor the inside of a track is checked: an answer may have been late, or the drive's cache
 * have given it. before: the angle that the sector in front should have. Where it is read first, has another one, and
 * the cache has the one behind it, the two are of one track. */
int geo_edge_angles(struct geo *g, uint64_t edge, double after, double jump, double before, double *ret_angle,
                    double *ret_jump, struct err *err)
{
	const uint64_t sector[2] = { edge, edge - 1 };
	int way = geo_hit_share(g, true) < geo_hit_share(g, false), r;
	const uint64_t turned[2] = { sector[way], sector[!way] };
	double angle[2], got[2];
	bool doubt[2], short_one[2], is_open;

	*ret_angle = *ret_jump = NAN;
	r = geo_probe_new(g, turned, got, short_one, 2, err);
	if (r < 0)
		return r;
	g->ways.way[way].pairs++;
	if (way && isnan(got[1]) && isfinite(got[0]) && isfinite(before) && geo_apart(got[0], before) >= geo_near(g)) {
		*ret_jump = 0.0;
		return 0;
	}
	g->ways.way[way].hits += isnan(got[1]);
	for (int i = 0; i < 2; i++) {
		angle[i] = got[i ^ way];
		doubt[i] = short_one[i ^ way];
	}
	if (isnan(got[0]) || isnan(got[1]))
		r = geo_probe_doubt(g, sector, angle, doubt, 2, false, err);
	*ret_jump = geo_frac(angle[0] - angle[1] - after);
	is_open = isnan(jump) ? doubt[0] || doubt[1] : geo_apart(*ret_jump, jump) >= geo_near(g);
	if (r == 0 && is_open && geo_apart(*ret_jump, 0.0) >= geo_near(g) + 0.7 * after) {
		r = check_late(g, sector, angle, after, err);
		*ret_jump = geo_frac(angle[0] - angle[1] - after);
	}
	*ret_angle = angle[0];
	return r;
}

/* Is there an end of a track, behind which a track of 1/after sectors goes on after such a jump? before: the angle in
 * front of it, as far as it is known; NAN: it is not. */
static int check_jump(struct geo_walk *w, uint64_t edge, double after, double wanted, double before, bool *ret_ok,
                      struct err *err)
{
	double angle, jump;
	int r = geo_edge_angles(w->g, edge, after, wanted, before, &angle, &jump, err);

	w->g->cost.tracks_seen++;
	*ret_ok = r == 0 && geo_apart(jump, wanted) < geo_near(w->g);
	return r;
}

/* Is there such an end of a run, that many tracks on in the cycle's way? And the track in front of it whole: as many
 * may hold as much that are of two other sizes. */
static int check_end(struct geo_walk *w, const struct geo_item *item, uint64_t from, uint32_t run, bool *ret_ok,
                     struct err *err)
{
	const struct geo_run *of = &item->run[run];
	const double after = 1.0 / (double)of->per_track;
	int r;

	for (uint32_t i = 0; i <= run; i++)
		from += item->run[i].tracks * item->run[i].per_track;
	r = check_jump(w, from, after, of->jump, NAN, ret_ok, err);
	if (r == 0 && *ret_ok && of->tracks >= GEO_LONG_RUN)
		r = check_jump(w, from - of->per_track, after, of->jump, NAN, ret_ok, err);
	return r;
}

bool geo_same_run(const struct geo *g, const struct geo_run *a, const struct geo_run *b)
{
	return a->per_track == b->per_track && geo_apart(a->jump, b->jump) < geo_near(g);
}

/* Ends inside of a new cycle, those to be looked at first: of the rarest kinds of runs all, if there are not too many,
 * as a cycle in another order has them elsewhere, although its sum is the same; of the others some all over the cycle.
 * How many. */
static uint32_t choose_ends(const struct geo *g, const struct geo_item *cycle, uint32_t *ret)
{
	uint32_t inner = cycle->nruns - 1, most = inner < GEO_LONG_RUN ? inner : GEO_LONG_RUN, n = 0;
	uint32_t often[GEO_RUNS] = { 0 };

	for (uint32_t i = 0; i < inner; i++)
		for (uint32_t k = 0; k < inner; k++)
			often[i] += geo_same_run(g, &cycle->run[i], &cycle->run[k]);
	for (uint32_t times = 1; n < most && times <= inner; times++) {
		uint32_t all = 0, seen = 0, some;

		for (uint32_t i = 0; i < inner; i++)
			all += often[i] == times;
		some = all < most - n ? all : most - n;
		for (uint32_t i = 0; i < inner; i++) {
			if (often[i] != times)
				continue;
			if (seen * some / all != (seen + 1) * some / all)
				ret[n++] = i;
			seen++;
		}
	}
	return n;
}

/* Inside of k cycles from w->at on: many places of the one that is new, one place at random of those that are known. */
static int check_inside(struct geo_walk *w, const struct geo_leap *l, uint64_t k, bool *ret_ok, struct err *err)
{
	uint32_t end[GEO_LONG_RUN], n = 1;
	uint64_t which = 0;
	int r = 0;

	if (l->is_known) {
		end[0] = (uint32_t)rng_below(&w->g->t.rng, l->inside->nruns - 1);
		which = rng_below(&w->g->t.rng, k);
	} else {
		n = choose_ends(w->g, l->inside, end);
	}
	*ret_ok = true;
	for (uint32_t i = 0; i < n && r == 0 && *ret_ok; i++)
		r = check_end(w, l->inside, w->at + which * l->sectors, end[i], ret_ok, err);
	return r;
}

/* Does the last track of the cycle that ends at the edge begin where it should? Its end alone may be one of another
 * zone, of which the first track ends where that many sectors are over: then the one in front of it is of another
 * size. */
static int check_whole(struct geo_walk *w, const struct geo_item *cycle, uint64_t edge, bool *ret_ok, struct err *err)
{
	const struct geo_run *last = &cycle->run[cycle->nruns - 1], *ahead = last->tracks > 1 ? last : last - 1;

	return check_jump(w, edge - last->per_track, 1.0 / (double)last->per_track, ahead->jump, NAN, ret_ok, err);
}

static double off_leap(const struct geo_walk *w, const struct geo_leap *l, uint64_t k, double angle)
{
	return phase_distance(angle - w->angle, (double)k * l->advance);
}

/* Does a whole track lie in front of the edge? That many tracks of one size may hold just as many sectors as others of
 * another size do, and skews add up to nearly the same angle. */
static int check_last(struct geo_walk *w, const struct geo_leap *l, uint64_t edge, double angle, bool *ret_ok,
                      struct err *err)
{
	uint64_t begin = edge - (uint64_t)llround(1.0 / l->after);

	return check_jump(w, begin, l->after, l->jump, angle - 2.0 * l->jump - l->after, ret_ok, err);
}

int geo_try_leap(struct geo_walk *w, struct geo_leap *l, uint64_t k, bool *ret_ok, struct err *err)
{
	struct geo *g = w->g;
	uint64_t edge = w->at + k * l->sectors;
	double angle, jump;
	int r;

	*ret_ok = false;
	if (k > (g->sectors - w->at) / l->sectors || edge >= g->sectors || (double)k * l->error > GEO_ADVANCE_SURE)
		return 0;
	r = l->is_known ? 0 : geo_leave(g, edge, err);
	if (r == 0)
		r = geo_edge_angles(g, edge, l->after, l->jump, w->angle + (double)k * l->advance - l->jump - l->after,
		                    &angle, &jump, err);
	*ret_ok = r == 0 && geo_apart(jump, l->jump) < geo_near(g);
	*ret_ok = *ret_ok && fabs(off_leap(w, l, k, angle)) < hypot(geo_near(g), (double)k * l->error);
	g->cost.tracks_seen++;
	if (*ret_ok && l->inside && l->inside->nruns > 1) {
		r = check_inside(w, l, k, ret_ok, err);
		if (*ret_ok)
			r = check_whole(w, l->inside, edge, ret_ok, err);
	} else if (*ret_ok && k * l->tracks >= GEO_LONG_RUN) {
		r = check_last(w, l, edge, angle, ret_ok, err);
	}
	if (!*ret_ok)
		return r;
	l->is_known = true;
	l->total += k;
	l->advance += off_leap(w, l, k, angle) / (double)l->total;
	l->error = geo_near(g) / (double)l->total;
	if (!l->inside && l->tracks == 1)
		l->jump = geo_frac(l->advance);
	w->at = edge;
	w->angle = angle;
	return 0;
}

/*
 * Where making the cache forget is dear: angles at ends that a gallop may come by, all in one go, as the cache forgets
 * once for all of them. They are known then. That many leaps from here on, and then as many more each time, up to
 * `most`; step 0: twice as many. No more of them than reading costs as much as forgetting does.
 */
static int look_ahead(struct geo_walk *w, const struct geo_leap *l, uint64_t first, uint64_t step, uint64_t most,
                      struct err *err)
{
	struct geo *g = w->g;
	uint64_t sector[GEO_BATCH], last = (uint64_t)llround(1.0 / l->after);
	double ignore[GEO_BATCH], flush = geo_flush_cost(g);
	size_t n = 0;

	/* Where the cache has not the second of a pair, one by one is cheaper. */
	if (flush <= GEO_DEAR || (g->looks == 1 && fmin(geo_hit_share(g, true), geo_hit_share(g, false)) < 0.5))
		return 0;
	for (uint64_t k = first; k <= most && n + 4 <= GEO_BATCH && (double)n < flush;
	     k = step ? k + step : 2 * k + 1) {
		uint64_t edge = w->at + k * l->sectors;

		if (k > (g->sectors - w->at) / l->sectors || edge >= g->sectors)
			break;
		sector[n++] = edge;
		sector[n++] = edge - 1;
		if (step || l->inside || k * l->tracks < GEO_LONG_RUN)
			continue;
		sector[n++] = edge - last;
		sector[n++] = edge - last - 1;
	}
	return n > 2 ? geo_probe(g, sector, ignore, n, err) : 0;
}

/* The same for halving, in front of which k leaps failed: as many halves as there is room for. *known: those that were
 * looked at. */
static int look_between(struct geo_walk *w, const struct geo_leap *l, uint64_t k, uint64_t *known, struct err *err)
{
	uint64_t step = k, all = 2 * k - 1;

	if (k >= *known)
		return 0;
	while (step > 1 && (double)(2 * all / step) < geo_flush_cost(w->g))
		step /= 2;
	*known = step;
	return look_ahead(w, l, step, step, all, err);
}

int geo_gallop(struct geo_walk *w, struct geo_leap *l, uint64_t *ret_n, struct err *err)
{
	uint64_t k = 1, known;
	bool ok = true;
	int r = look_ahead(w, l, 1, 0, UINT64_MAX, err);

	*ret_n = 0;
	for (; r == 0 && ok && !geo_is_over(w->g); k = ok ? k * 2 : k) {
		r = geo_try_leap(w, l, k, &ok, err);
		*ret_n += ok ? k : 0;
	}
	known = k;
	for (k /= 2; r == 0 && k && !geo_is_over(w->g); k /= 2) {
		r = look_between(w, l, k, &known, err);
		if (r == 0)
			r = geo_try_leap(w, l, k, &ok, err);
		*ret_n += r == 0 && ok ? k : 0;
	}
	return r;
}
