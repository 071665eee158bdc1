/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk over the whole disk, from end of track to end of track, without visiting all of them.
 *
 * Tracks of one size that are followed by one and the same jump are a run; after one of them is known, the end of the track 1, 2, 4 ... further on is
 * looked at: two reads tell whether there is such a jump at that very sector, and whether the angle has advanced by so many jumps. If not, half as far is
 * tried, down to one track: so the end of a run is exact. Runs repeat (surface by surface, band by band): when the last run is one that was seen some runs ago, those
 * runs together are tried as a unit in the same way. Missing sectors shift all that follows and so stop a leap; the track with them is
 * surveyed like any that does not fit (edges.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/geometry/geometry.h"

#define UNIT_RUNS    72   /* runs of a cycle at most */
#define STUCK_TRIES  20   /* surveys of one place: late answers come and go, a place without ends stays */
#define EDGES        24   /* of a survey of two or three tracks */
#define ADVANCE_SURE 0.05 /* of a revolution: as far as a leap's angle may be uncertain */
#define OPEN \
	0.4 /* of what a leap's angle may be off: less is what noise does, more may also be another skew on the way */
#define ALIKE_TRACKS \
	8 /* fewer tracks of one size hold as many sectors as one less or more only where that is an eighth larger or smaller */
#define FEW_LEAPS 3     /* tracks: a run of so few is found as soon by leaping on from its begin */
#define NOISY     0.002 /* of a revolution: what is told apart better than that shows other skews at once */
#define CLOSE     4     /* further sectors of a track for a closer look: */
#define CLOSER    0.5 /* by so much their median is off less; at least, as the deviation of a median of five is 0.56 */

/* What is tried as a whole. */
struct leap {
	uint64_t sectors, tracks;
	double advance,
		error; /* of the angle, by jumps; what is unknown of it, falling as the way grows that it is known from: */
	uint64_t total; /* so many times that was seen already */
	double jump;    /* at its end */
	double after;   /* spacing behind it */
	uint64_t from;  /* where `total` began, an end of the same kind; as walk.at: there is none that is known */
	double from_angle;
	/* A cycle's runs, of which the ends are looked at as well: sizes in another order have the same sum. */
	const struct geo_item *inside;
	bool is_known; /* it was found so at least once */
};

#define INSIDE_FIRST 8 /* ends of runs that are looked at before a cycle is believed */

#define CONFIRM \
	60 /* ends of items are looked at a second time together, as reading a sector again takes reads elsewhere before */
#define PIECE     0.75 /* of the track before: no surface or zone holds so much less */
#define TWO       1.6  /* of the track before: no surface or zone holds so much more */
#define AGAIN     3    /* times that an item is walked again whose end was none the second time */
#define AGAIN_ALL 200  /* of the whole walk: where so many ends are none, going back does not end it */

/*
 * A jump is the angle from the last sector of a track to the first of the next, less one spacing of the *ended* track's sectors: so it is also by what the
 * angle of first sectors advances from track to track, and can be measured before the next track's size is known.
 */
static double near(const struct geo *g)
{
	return geo_near(g);
}

/*
 * Were both answers in time? Other sectors of the two tracks tell, which the drive has not in its cache. If not, the two are read until two readings
 * agree.
 */
static int check_late(struct geo *g, const uint64_t *sector, double *angle, double after, struct err *err)
{
	uint64_t apart = after > 0.0 ? (uint64_t)(0.2 / after) : 0;
	const uint64_t other[2] = { sector[0] + apart, sector[1] - apart };
	double got[2], turn = (double)apart * after;
	bool doubt[2];
	int r;

	if (apart && sector[1] >= apart && other[0] < g->sectors) {
		r = geo_probe_doubt(g, other, got, doubt, 2, false, err);
		if (r < 0 || (geo_apart(got[0] - angle[0], turn) < near(g) + 0.01 &&
		              geo_apart(angle[1] - got[1], turn) < near(g) + 0.01))
			return r;
	}
	return geo_probe_sure(g, sector, angle, 2, err);
}

/*
 * Angles of the sectors on both sides of an edge; what fits neither `jump` (NaN: not known, and only what came in a short time is looked at) nor the inside of a
 * track is checked: an answer may have been late, or the drive's cache have given it. before: the angle that the sector in front should have. Where it is
 * read first, has another one, and the cache has the one behind it, the two are of one track.
 */
static int edge_angles(struct geo *g, uint64_t edge, double after, double jump, double before, double *ret_angle,
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
	g->way[way].pairs++;
	if (way && isnan(got[1]) && isfinite(got[0]) && isfinite(before) && geo_apart(got[0], before) >= near(g)) {
		*ret_jump = 0.0;
		return 0;
	}
	g->way[way].hits += isnan(got[1]);
	for (int i = 0; i < 2; i++) {
		angle[i] = got[i ^ way];
		doubt[i] = short_one[i ^ way];
	}
	if (isnan(got[0]) || isnan(got[1]))
		r = geo_probe_doubt(g, sector, angle, doubt, 2, false, err);
	*ret_jump = geo_frac(angle[0] - angle[1] - after);
	is_open = isnan(jump) ? doubt[0] || doubt[1] : geo_apart(*ret_jump, jump) >= near(g);
	if (r == 0 && is_open && geo_apart(*ret_jump, 0.0) >= near(g) + 0.7 * after) {
		r = check_late(g, sector, angle, after, err);
		*ret_jump = geo_frac(angle[0] - angle[1] - after);
	}
	*ret_angle = angle[0];
	return r;
}

/* Is there such an end of a run, so many tracks on in the cycle's way? */
static int check_end(struct geo_walk *w, const struct geo_item *item, uint64_t from, uint32_t run, bool *ret_ok,
                     struct err *err)
{
	double angle, jump, after = 1.0 / (double)item->run[run].per_track;
	int r;

	for (uint32_t i = 0; i <= run; i++)
		from += item->run[i].tracks * item->run[i].per_track;
	r = edge_angles(w->g, from, after, item->run[run].jump, NAN, &angle, &jump, err);
	w->g->tracks_seen++;
	*ret_ok = r == 0 && geo_apart(jump, item->run[run].jump) < near(w->g);
	return r;
}

static bool same_run(const struct geo *g, const struct geo_run *a, const struct geo_run *b)
{
	return a->per_track == b->per_track && geo_apart(a->jump, b->jump) < near(g);
}

/*
 * Ends inside of a new cycle, those to be looked at first: of the rarest kinds of runs all, if there are not too many, as a cycle in another order has them
 * elsewhere, although its sum is the same; of the others some all over the cycle. How many.
 */
static uint32_t choose_ends(const struct geo *g, const struct geo_item *cycle, uint32_t *ret)
{
	uint32_t inner = cycle->nruns - 1, most = inner < INSIDE_FIRST ? inner : INSIDE_FIRST, n = 0;
	uint32_t often[GEO_RUNS] = { 0 };

	for (uint32_t i = 0; i < inner; i++)
		for (uint32_t k = 0; k < inner; k++)
			often[i] += same_run(g, &cycle->run[i], &cycle->run[k]);
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
static int check_inside(struct geo_walk *w, const struct leap *l, uint64_t k, bool *ret_ok, struct err *err)
{
	uint32_t end[INSIDE_FIRST], n = 1;
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

static double off_leap(const struct geo_walk *w, const struct leap *l, uint64_t k, double angle)
{
	return phase_distance(angle - w->angle, (double)k * l->advance);
}

/* What the advance so far and two angles leave open. */
static double leap_error(const struct geo_walk *w, const struct leap *l, uint64_t k)
{
	return hypot(near(w->g), (double)k * l->error);
}

/* A jump as it should be, but not where it should be: one answer strays now and then. Another sector of that track tells. */
static int look_again(struct geo_walk *w, const struct leap *l, uint64_t edge, double *angle, struct err *err)
{
	uint64_t apart = l->after > 0.0 ? (uint64_t)(0.3 / l->after) : 0, sector = edge + apart;
	double got;
	bool doubt;
	int r;

	if (!apart || sector >= w->g->sectors)
		return 0;
	r = geo_probe_doubt(w->g, &sector, &got, &doubt, 1, false, err);
	if (r == 0 && isfinite(got))
		*angle = geo_frac(got - (double)apart * l->after);
	return r;
}

/* The angle of a track that begins there by the median of several of its sectors; NaN: not enough of them came from the media. */
static int look_closely(struct geo *g, uint64_t first, double after, double *angle, struct err *err)
{
	uint64_t apart = (uint64_t)(0.2 / after), sector[CLOSE];
	double got[CLOSE], off[CLOSE + 1] = { 0.0 };
	bool doubt[CLOSE];
	size_t n = 1;
	int r;

	if (!apart || first + CLOSE * apart >= g->sectors) {
		*angle = NAN;
		return 0;
	}
	for (uint64_t i = 0; i < CLOSE; i++)
		sector[i] = first + (CLOSE - i) * apart;
	r = geo_probe_doubt(g, sector, got, doubt, CLOSE, false, err);
	for (size_t i = 0; i < CLOSE && r == 0; i++)
		if (isfinite(got[i]))
			off[n++] = phase_distance(got[i] - (double)(sector[i] - first) * after, *angle);
	*angle = n < CLOSE ? (double)NAN : geo_frac(*angle + stats_median(off, n));
	return r;
}

/*
 * The angle is off by what noise does at times, and also one skew of another kind among many: all three angles that this follows from are looked at more
 * closely. *ret_closer: by so much less they are off then; 1: no more was to be seen.
 */
static int look_again_closely(struct geo_walk *w, struct leap *l, uint64_t edge, double *angle, double *ret_closer,
                              struct err *err)
{
	const struct geo_item *in = l->inside;
	double after = in ? 1.0 / (double)in->run[0].per_track : l->after;
	double at[3] = { l->from_angle, w->angle, *angle };
	const uint64_t first[3] = { l->from, w->at, edge };
	int r = 0;

	*ret_closer = 1.0;
	for (size_t i = 0; i < 3 && r == 0; i++) {
		r = look_closely(w->g, first[i], after, &at[i], err);
		if (r < 0 || isnan(at[i]))
			return r;
	}
	l->advance += phase_distance(at[1] - w->angle, at[0] - l->from_angle) / (double)l->total;
	l->from_angle = at[0];
	w->angle = at[1];
	*angle = at[2];
	*ret_closer = CLOSER;
	return 0;
}

/*
 * Does a whole track lie in front of the edge? So many tracks of one size may hold just as many sectors as others of another size do, and skews add up to nearly
 * the same angle.
 */
static int check_last(struct geo_walk *w, const struct leap *l, uint64_t edge, double angle, bool *ret_ok,
                      struct err *err)
{
	uint64_t begin = edge - (uint64_t)llround(1.0 / l->after);
	double jump, before = angle - 2.0 * l->jump - l->after, ignore;
	int r = edge_angles(w->g, begin, l->after, l->jump, before, &ignore, &jump, err);

	w->g->tracks_seen++;
	*ret_ok = r == 0 && geo_apart(jump, l->jump) < near(w->g);
	return r;
}

static int try_leap(struct geo_walk *w, struct leap *l, uint64_t k, bool *ret_ok, struct err *err)
{
	struct geo *g = w->g;
	uint64_t edge = w->at + k * l->sectors;
	double angle, jump, closer = 1.0;
	int r;

	*ret_ok = false;
	if (k > (g->sectors - w->at) / l->sectors || edge >= g->sectors || (double)k * l->error > ADVANCE_SURE)
		return 0;
	r = edge_angles(g, edge, l->after, l->jump, w->angle + (double)k * l->advance - l->jump - l->after, &angle,
	                &jump, err);
	*ret_ok = r == 0 && geo_apart(jump, l->jump) < near(g);
	if (*ret_ok && !(fabs(off_leap(w, l, k, angle)) < leap_error(w, l, k)))
		r = look_again(w, l, edge, &angle, err);
	*ret_ok = *ret_ok && r == 0 && fabs(off_leap(w, l, k, angle)) < leap_error(w, l, k);
	if (*ret_ok && near(g) > NOISY && l->from < w->at &&
	    fabs(off_leap(w, l, k, angle)) > OPEN * leap_error(w, l, k)) {
		r = look_again_closely(w, l, edge, &angle, &closer, err);
		*ret_ok = r == 0 && fabs(off_leap(w, l, k, angle)) <
		                            closer * hypot(near(g), (double)k * near(g) / (double)l->total);
	}
	g->tracks_seen++;
	if (*ret_ok && l->inside && l->inside->nruns > 1)
		r = check_inside(w, l, k, ret_ok, err);
	else if (*ret_ok && k * l->tracks >= ALIKE_TRACKS)
		r = check_last(w, l, edge, angle, ret_ok, err);
	if (!*ret_ok)
		return r;
	l->is_known = true;
	l->total += k;
	l->advance += off_leap(w, l, k, angle) / (double)l->total;
	l->error = closer * near(g) / (double)l->total;
	if (!l->inside && l->tracks == 1)
		l->jump = geo_frac(l->advance);
	w->at = edge;
	w->angle = angle;
	return 0;
}

/* As often as it goes, doubling and then halving; how often that is. */
static int gallop(struct geo_walk *w, struct leap *l, uint64_t *ret_n, struct err *err)
{
	uint64_t k = 1;
	bool ok = true;
	int r = 0;

	*ret_n = 0;
	for (; r == 0 && ok && !geo_is_over(w->g); k = ok ? k * 2 : k) {
		r = try_leap(w, l, k, &ok, err);
		*ret_n += ok ? k : 0;
	}
	for (k /= 2; r == 0 && k && !geo_is_over(w->g); k /= 2) {
		r = try_leap(w, l, k, &ok, err);
		*ret_n += ok ? k : 0;
	}
	return r;
}

/* ---- what was found ---- */

static int add_item(struct geo_walk *w, const struct geo_item *item, struct err *err)
{
	struct geo_run *run;

	if (w->nitems == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct geo_item *more = realloc(w->items, room * sizeof(*more));

		if (!more)
			return err_set(err, -ENOMEM, "Out of memory.");
		w->items = more;
		w->room = room;
	}
	run = calloc(item->nruns, sizeof(*run));
	if (!run)
		return err_set(err, -ENOMEM, "Out of memory.");
	memcpy(run, item->run, item->nruns * sizeof(*run));
	w->items[w->nitems] = *item;
	w->items[w->nitems++].run = run;
	return 0;
}

void geo_walk_free(struct geo_walk *w)
{
	for (size_t i = 0; w && i < w->nitems; i++)
		free(w->items[i].run);
	if (w) {
		free(w->items);
		free(w->gaps);
	}
	free(w);
}

static void remember(struct geo_walk *w, const struct geo_run *run)
{
	struct geo_run *last = w->nruns ? &w->runs[w->nruns - 1] : NULL;

	if (last && same_run(w->g, last, run)) {
		last->tracks += run->tracks;
		last->turn = geo_frac(last->turn + run->turn);
		return;
	}
	if (w->nruns == ARRAY_LEN(w->runs)) {
		memmove(w->runs, w->runs + 1, (ARRAY_LEN(w->runs) - 1) * sizeof(w->runs[0]));
		w->nruns--;
	}
	w->runs[w->nruns++] = *run;
}

/*
 * Two pieces that make one track: with sectors missing in between that could not be counted. Together they have no more sectors than it, and behind
 * them the angle is where it is behind any other track of that size.
 */
static bool join_pieces(struct geo_walk *w, const struct geo_run *run, uint64_t missing)
{
	struct geo_item *last = w->nitems ? &w->items[w->nitems - 1] : NULL;
	struct geo_run *piece = w->nruns ? &w->runs[w->nruns - 1] : NULL;
	double turn;

	if (!last || !piece || !missing || !last->missing || last->tracks != 1 || run->tracks != 1 ||
	    piece->tracks != 1 || !same_run(w->g, piece, last->run) || piece->per_track != run->per_track ||
	    w->at - last->first > run->per_track)
		return false;
	turn = geo_frac(piece->turn + run->turn);
	for (size_t i = 0; i + 1 < w->nruns; i++) {
		if (w->runs[i].per_track != run->per_track || geo_apart(w->runs[i].jump, turn) >= near(w->g))
			continue;
		piece->jump = piece->turn = turn;
		*last->run = *piece;
		last->end = w->at;
		last->missing = run->per_track - (w->at - last->first);
		last->is_unsure = false;
		if (w->confirmed == w->nitems) /* its end is another one now */
			w->confirmed--;
		return true;
	}
	return false;
}

/* Tracks [first, at) as an item of their own, and into memory. */
static int found_run(struct geo_walk *w, uint64_t first, const struct geo_run *run, bool is_unsure, uint64_t missing,
                     struct err *err)
{
	struct geo_run one = *run;
	struct geo_item item = { .first = first,
		                 .end = w->at,
		                 .tracks = run->tracks,
		                 .missing = missing,
		                 .is_unsure = is_unsure,
		                 .nruns = 1,
		                 .run = &one,
		                 .times = 1 };

	if (join_pieces(w, run, missing))
		return 0;
	remember(w, run);
	return add_item(w, &item, err);
}

/* ---- runs ---- */

/* Is there a whole track of that size here? Then it is passed, and *ret_jump is what follows it. */
static int try_track(struct geo_walk *w, uint64_t size, double *ret_jump, bool *ret_ok, struct err *err)
{
	uint64_t edge = w->at + size;
	double angle, jump;
	int r;

	*ret_ok = false;
	if (edge >= w->g->sectors || size < 2)
		return 0;
	r = edge_angles(w->g, edge, 1.0 / (double)size, NAN, w->angle - 1.0 / (double)size, &angle, &jump, err);
	w->g->tracks_seen++;
	/* A turn of evenly spaced sectors and then something else. */
	if (r < 0 || !isfinite(angle) || !isfinite(jump) || geo_apart(jump, 0.0) < near(w->g) ||
	    geo_apart(angle - jump, w->angle) >= near(w->g))
		return r;
	*ret_ok = true;
	*ret_jump = jump;
	w->at = edge;
	w->angle = angle;
	return 0;
}

/* Is the jump behind a single track that of the run before? Where noise leaves that open the angles on both sides of it are looked at more closely. */
static int settle_jump(struct geo_walk *w, uint64_t first, double angle, struct geo_run *run, struct err *err)
{
	const struct geo_run *last = w->nruns ? &w->runs[w->nruns - 1] : NULL;
	double at[2] = { angle, w->angle }, apart = last ? geo_apart(last->jump, run->jump) : 0.0;
	const uint64_t where[2] = { first, w->at };
	int r = 0;

	if (!last || near(w->g) <= NOISY || last->per_track != run->per_track ||
	    fabs(apart - near(w->g)) > OPEN * near(w->g))
		return 0;
	for (size_t i = 0; i < 2 && r == 0; i++)
		r = look_closely(w->g, where[i], 1.0 / (double)run->per_track, &at[i], err);
	if (r == 0 && isfinite(at[0]) && isfinite(at[1])) {
		run->jump = run->turn = geo_frac(at[1] - at[0]);
		w->angle = at[1];
	}
	return r;
}

/* Is the run as long as the one before? With the same jump, its tracks may be of another size: another surface, or the same band in the next zone. */
static int leap_as_before(struct geo_walk *w, struct leap *l, uint64_t *ret_n, struct err *err)
{
	const struct geo_run *last = w->nruns ? &w->runs[w->nruns - 1] : NULL;
	struct leap as_before = *l;
	bool ok = false;
	int r;

	*ret_n = 0;
	if (!last || last->tracks <= FEW_LEAPS || geo_apart(last->jump, l->jump) >= near(w->g))
		return 0;
	as_before.advance = as_before.jump = last->jump;
	as_before.error = near(w->g) / (double)last->tracks;
	r = try_leap(w, &as_before, last->tracks - 1, &ok, err);
	if (r < 0 || !ok)
		return r;
	*l = as_before;
	*ret_n = last->tracks - 1;
	return 0;
}

/* A run from its first track on, which is passed already. */
static int rest_of_run(struct geo_walk *w, uint64_t first, double angle, uint64_t size, double jump, bool is_sure,
                       struct err *err)
{
	struct leap l = { .sectors = size,
		          .tracks = 1,
		          .advance = jump,
		          .error = near(w->g),
		          .total = 1,
		          .jump = jump,
		          .after = 1.0 / (double)size,
		          .from = first,
		          .from_angle = angle };
	struct geo_run run = { .per_track = size, .jump = jump, .tracks = 1 };
	uint64_t n, more;
	int r = leap_as_before(w, &l, &n, err);

	if (r == 0) {
		r = gallop(w, &l, &more, err);
		n += more;
	}
	run.tracks += n;
	run.turn = geo_frac(w->angle - l.from_angle);
	if (n)
		run.jump = geo_frac(l.advance);
	else if (r == 0)
		r = settle_jump(w, first, angle, &run, err);
	return r < 0 ? r : found_run(w, first, &run, !is_sure && n == 0, 0, err);
}

/* What came after the last time that the last run was seen. */
static const struct geo_run *expected(const struct geo_walk *w)
{
	for (size_t i = w->nruns; i-- > 1;) {
		const struct geo_run *last = &w->runs[w->nruns - 1];

		if (i < w->nruns && same_run(w->g, &w->runs[i - 1], last) && w->runs[i - 1].tracks == last->tracks &&
		    i != w->nruns)
			return &w->runs[i];
	}
	return NULL;
}

/* The whole run that is expected, at once; else its first track; else a track as before. */
static int guess_run(struct geo_walk *w, bool *ret_ok, struct err *err)
{
	const struct geo_run *e = expected(w), *last = w->nruns ? &w->runs[w->nruns - 1] : NULL;
	uint64_t sizes[2] = { e ? e->per_track : 0, last ? last->per_track : 0 }, first = w->at;
	double jump, angle = w->angle;
	int r = 0;

	*ret_ok = false;
	if (e) {
		struct geo_run run = *e;
		struct leap l = { .sectors = run.per_track * run.tracks,
			          .tracks = run.tracks,
			          .advance = run.turn,
			          .error = near(w->g),
			          .total = 1,
			          .jump = run.jump,
			          .from = w->at };

		l.after = 1.0 / (double)run.per_track;
		if (run.tracks > 1) {
			r = try_leap(w, &l, 1, ret_ok, err);
			run.turn = geo_frac(w->angle - angle);
			if (r < 0 || *ret_ok)
				return r < 0 ? r : found_run(w, first, &run, false, 0, err);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(sizes) && r == 0 && !*ret_ok; i++) {
		if (!sizes[i] || (i && sizes[i] == sizes[0]))
			continue;
		r = try_track(w, sizes[i], &jump, ret_ok, err);
		if (r == 0 && *ret_ok)
			return rest_of_run(w, first, angle, sizes[i], jump, true, err);
	}
	return r;
}

/* ---- a track that does not fit ---- */

/* Edges inside of a track are gaps, each of a whole number of sectors. */
static int keep_gaps(struct geo_walk *w, const struct geo_track *track, const struct geo_edge *edge, size_t n,
                     struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (edge[i].first <= track->first || edge[i].first >= track->first + track->sectors)
			continue;
		if (w->ngaps == w->gaps_room) {
			size_t room = w->gaps_room ? 2 * w->gaps_room : 64;
			struct geo_gap *more = realloc(w->gaps, room * sizeof(*more));

			if (!more)
				return err_set(err, -ENOMEM, "Out of memory.");
			w->gaps = more;
			w->gaps_room = room;
		}
		w->gaps[w->ngaps++] =
			(struct geo_gap){ edge[i].first, (uint64_t)round(edge[i].jump * (double)track->per_track) };
	}
	return 0;
}

static int pass_surveyed(struct geo_walk *w, const struct geo_track *track, double jump, struct err *err)
{
	struct geo_run run = { .per_track = track->per_track, .jump = jump, .tracks = 1 };
	bool whole = track->sectors == track->per_track;
	double after = 1.0 / (double)track->per_track, angle, again, before = w->angle;
	int r;

	w->at = track->first + track->sectors;
	r = edge_angles(w->g, w->at, after, jump, NAN, &angle, &again, err);
	w->angle = angle;
	if (r < 0)
		return r;
	jump = again;
	run.turn = geo_frac(angle - before);
	if (!whole)
		run.jump = run.turn; /* whatever is missing: a whole turn further on the angle is the same */
	if (whole)
		return rest_of_run(w, track->first, before, track->per_track, jump, track->is_sure, err);
	return found_run(w, track->first, &run, !track->is_sure,
	                 track->per_track > track->sectors ? track->per_track - track->sectors : 0, err);
}

static double edge_jump(const struct geo_track *track, const struct geo_track *next)
{
	return geo_frac(next->skew + 1.0 / (double)next->per_track - 1.0 / (double)track->per_track);
}

/* A piece too short to tell its track's size: of the size that was expected here, or else as the one before. */
static void take_for_stump(const struct geo_walk *w, struct geo_track *track)
{
	const struct geo_run *e = expected(w), *last = w->nruns ? &w->runs[w->nruns - 1] : NULL;

	e = e ? e : last;
	if (!e || e->per_track < track->sectors)
		return;
	track->per_track = e->per_track;
	track->missing = e->per_track - track->sectors;
	track->is_sure = false;
}

static int survey_here(struct geo_walk *w, struct err *err)
{
	struct geo *g = w->g;
	struct geo_edge edge[EDGES];
	struct geo_track track[EDGES];
	double per_track = w->per_track;
	uint64_t first = w->at;
	size_t n, m;
	int r;

	for (int k = 0; k < 3; k++) {
		uint64_t span = (uint64_t)(per_track * (2.6 + k));

		if (g->sectors - first <= (uint64_t)(per_track * 0.3))
			break;
		edge[0] = (struct geo_edge){ .first = first, .jump = NAN, .after = NAN, .before = NAN };
		r = geo_survey(g, first, span < g->sectors - first ? span : g->sectors - first - 1, per_track, edge + 1,
		               EDGES - 1, &n, err);
		if (r < 0 || geo_is_over(g))
			return r;
		while (n && edge[1].first <= first) /* an edge at the very place is known */
			memmove(edge + 1, edge + 2, --n * sizeof(edge[0]));
		if (n == 0)
			continue;
		edge[0].after = edge[1].before;
		m = geo_tracks(g, edge, n + 1, track);
		/* One that holds so much more is two: an answer that came late hid the end between them. */
		if (k == 0 && (double)track[0].per_track > TWO * per_track) {
			geo_forget(g);
			continue;
		}
		/* The last one may go on behind what was surveyed (missing sectors), so one more is wanted. */
		if (m < 2 && k < 2 && n < 2)
			continue;
		g->tracks_seen++;
		w->next_size = (double)(m >= 2 ? track[1].per_track : track[0].per_track);
		if ((double)track[0].per_track * 3.0 < per_track)
			take_for_stump(w, &track[0]);
		r = keep_gaps(w, &track[0], edge + 1, n, err);
		if (r < 0)
			return r;
		if (m >= 2)
			return pass_surveyed(w, &track[0], edge_jump(&track[0], &track[1]), err);
		return pass_surveyed(w, &track[0], edge[n].jump, err);
	}
	w->is_stuck = true;
	return 0;
}

/* ---- cycles of runs ---- */

static bool is_cycle(const struct geo_walk *w, size_t c)
{
	size_t depth = w->nruns - c < 3 ? w->nruns - c : 3;

	if (c >= w->nruns)
		return false;
	for (size_t i = 1; i <= depth && i <= c; i++) {
		const struct geo_run *a = &w->runs[w->nruns - i], *b = &w->runs[w->nruns - i - c];

		/* The first run that is remembered may have begun before. */
		if (!same_run(w->g, a, b) || (a->tracks != b->tracks && w->nruns - i - c > 0))
			return false;
	}
	return true;
}

static int try_cycle(struct geo_walk *w, size_t c, bool *ret_ok, struct err *err)
{
	struct leap l = { .error = near(w->g), .total = 1 };
	struct geo_run cycle[GEO_RUNS]; /* w->runs moves on */
	struct geo_item item = { .first = w->at, .nruns = (uint32_t)c, .run = cycle };
	uint64_t n;
	int r;

	memcpy(cycle, w->runs + w->nruns - c, c * sizeof(cycle[0]));
	for (size_t i = 0; i < c; i++) {
		l.sectors += item.run[i].tracks * item.run[i].per_track;
		l.tracks += item.run[i].tracks;
		l.advance += item.run[i].turn;
	}
	l.jump = item.run[c - 1].jump;
	l.inside = &item;
	l.after = 1.0 / (double)item.run[c - 1].per_track;
	l.from = w->at > l.sectors ? w->at - l.sectors : w->at;
	l.from_angle = geo_frac(w->angle - l.advance);
	r = gallop(w, &l, &n, err);
	*ret_ok = n > 0;
	if (r < 0 || n == 0)
		return r;
	item.end = w->at;
	item.times = n;
	item.tracks = n * l.tracks;
	for (uint64_t k = 0; k < n && k < 2 * ARRAY_LEN(w->runs) / c + 2; k++)
		for (size_t i = 0; i < c; i++)
			remember(w, &item.run[i]);
	return add_item(w, &item, err);
}

static int try_cycles(struct geo_walk *w, bool *ret_ok, struct err *err)
{
	int r = 0;

	*ret_ok = false;
	for (size_t c = 2; r == 0 && c <= UNIT_RUNS && c < w->nruns && !*ret_ok && !geo_is_over(w->g); c++)
		if (is_cycle(w, c))
			r = try_cycle(w, c, ret_ok, err);
	return r;
}

/* ---- a second look ---- */

/* From item n on all is forgotten. */
static void go_back(struct geo_walk *w, size_t n)
{
	size_t first = n > ARRAY_LEN(w->runs) ? n - ARRAY_LEN(w->runs) : 0;

	w->at = w->items[n].first;
	w->per_track = w->next_size = (double)w->items[n].run[0].per_track;
	for (size_t i = n; i < w->nitems; i++)
		free(w->items[i].run);
	w->nitems = n;
	while (w->ngaps && w->gaps[w->ngaps - 1].first > w->at)
		w->ngaps--;
	w->nruns = 0;
	for (size_t i = first; i < n; i++)
		for (uint64_t k = 0; k < w->items[i].times && k < 3; k++)
			for (uint32_t j = 0; j < w->items[i].nruns; j++)
				remember(w, &w->items[i].run[j]);
	geo_forget(w->g);
}

/* May the walk go on from the begin of that item again? Else it stays, and is told as unsure. */
static bool may_go_back(struct geo_walk *w, size_t n)
{
	uint64_t first = w->items[n].first;

	w->again = first == w->again_at ? w->again + 1 : 1;
	w->again_at = first;
	return w->again <= AGAIN && ++w->again_all <= AGAIN_ALL;
}

/*
 * Spacing of the sectors in front of an item's end. A piece that is clearly shorter than the track before may be a part of a track, cut by an answer that
 * strayed: then its own size says nothing about it.
 */
static double spacing_before(const struct geo_walk *w, size_t i)
{
	const struct geo_item *item = &w->items[i], *before = i ? item - 1 : NULL;
	double size = (double)item->run[item->nruns - 1].per_track;
	double usual = before ? (double)before->run[before->nruns - 1].per_track : 0.0;

	return 1.0 / (item->tracks == 1 && size < PIECE * usual ? usual : size);
}

/* Are the ends of the items that were added last where they were found? What follows one that is not is walked again. */
static int confirm(struct geo_walk *w, struct err *err)
{
	uint64_t sector[2 * CONFIRM], was = w->at;
	double angle[2 * CONFIRM];
	size_t first = w->confirmed, n = w->nitems - first < CONFIRM ? w->nitems - first : CONFIRM;
	int r;

	for (size_t i = 0; i < n; i++) {
		sector[2 * i] = w->items[first + i].end;
		sector[2 * i + 1] = w->items[first + i].end - 1;
	}
	r = geo_probe_sure(w->g, sector, angle, 2 * n, err);
	if (r < 0 || geo_is_over(w->g))
		return r;
	for (size_t i = 0; i < n; i++, w->confirmed++) {
		struct geo_item *item = &w->items[first + i];
		double jump = geo_frac(angle[2 * i] - angle[2 * i + 1] - spacing_before(w, first + i));

		item->is_unseen = isnan(jump); /* unreadable */
		if (!(geo_apart(jump, 0.0) < near(w->g)))
			continue;
		if (may_go_back(w, first + i)) {
			go_back(w, first + i);
			break;
		}
		item->is_unsure = true;
	}
	if (w->at != was)
		r = geo_probe_sure(w->g, &w->at, &w->angle, 1, err);
	return r;
}

/* ---- the walk ---- */

static int one_step(struct geo_walk *w, struct err *err)
{
	bool ok;
	int r = try_cycles(w, &ok, err);

	if (r == 0 && !ok)
		r = guess_run(w, &ok, err);
	if (w->nruns)
		w->next_size = (double)w->runs[w->nruns - 1].per_track;
	if (r == 0 && !ok)
		r = survey_here(w, err);
	w->per_track = w->next_size;
	return r;
}

int geo_walk(struct geo_walk *w, struct err *err)
{
	struct geo *g = w->g;
	double jump;
	int r = 0, again = 0;

	if (w->at == 0) {
		const uint64_t sector = 0;

		r = geo_probe(g, &sector, &w->angle, 1, err);
	} else {
		r = edge_angles(g, w->at, 0.0, NAN, NAN, &w->angle, &jump, err);
	}
	while (r == 0 && !geo_is_over(g) && !w->is_stuck) {
		bool is_end = (double)(g->sectors - w->at) <= 1.3 * w->per_track;
		char at[32], all[32];

		g->per_track = w->per_track;
		w->is_whole = is_end && w->confirmed == w->nitems;
		if (w->is_whole)
			break;
		r = is_end || w->nitems >= w->confirmed + CONFIRM ? confirm(w, err) : one_step(w, err);
		if (w->is_stuck && again++ < STUCK_TRIES) { /* an answer that came late may have been believed */
			geo_forget(g);
			g->is_up_vain = true; /* or the cache have given what was read upwards */
			w->is_stuck = false;
			if (r == 0 && w->confirmed < w->nitems)
				r = confirm(w, err);
		}
		session_progress(
			g->ses, "tracks",
			geo_done(g, GEO_WALK_AT + (GEO_LAYOUT_AT - GEO_WALK_AT) * (double)w->at / (double)g->sectors),
			"%.1f rpm, %.0f sectors a track, %s of %s", 60e9 / g->rot.period_ns, w->per_track,
			units_bytes_dec(at, sizeof(at), w->at * g->t.block_bytes),
			units_bytes_dec(all, sizeof(all), g->t.target->size_bytes));
	}
	return r;
}
