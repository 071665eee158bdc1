/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk over the whole disk, from end of track to end of track, without visiting all of them.
 *
 * Tracks of one size that are followed by one and the same jump are a run; after one of them is known, the end of the
 * track 1, 2, 4 ... further on is looked at: two reads tell whether there is such a jump at that very sector, and
 * whether the angle has advanced by so many jumps. If not, half as far is tried, down to one track: so the end of a run
 * is exact. Runs repeat (surface by surface, band by band): when the last run is one that was seen some runs ago, those
 * runs together are tried as a unit in the same way. Missing sectors shift all that follows and so stop a leap; the
 * track with them is surveyed like any that does not fit (edges.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/geometry/walk.h"

#define UNIT_RUNS   72 /* runs of a cycle at most */
#define STUCK_TRIES 20 /* surveys of one place: late answers come and go, a place without ends stays */
#define EDGES       24 /* of a survey of two or three tracks */
#define FEW_LEAPS   3  /* tracks: a run of so few is found as soon by leaping on from its begin */

#define LATELY      4    /* runs before */
#define AHEAD       6    /* sectors that are looked at in front of a survey */
#define AHEAD_LEAST 3    /* that have to tell the same */
#define NEAREST     1.6  /* tracks ahead: behind the end of the first one, which is looked at next */
#define FARTHEST    40.0 /* that tell sizes of more than a thousand sectors apart */
#define FAR_PART    0.8  /* of the run before */
#define OTHER       0.12 /* by such a part surfaces and zones differ */
#define GUESSES     4    /* that may fail, and as many more for each that does not */
#define USUAL_RUNS  24   /* the last so many runs of equal tracks */
#define TWO         1.6  /* of the track before: no surface or zone holds so much more */

static double near(const struct geo *g)
{
	return geo_near(g);
}

/* ---- what was found ---- */

/*
 * Two pieces that make one track: with sectors missing in between that could not be counted. Together they have no more
 * sectors than it, and behind them the angle is where it is behind any other track of that size.
 */
static bool join_pieces(struct geo_walk *w, const struct geo_run *run, uint64_t missing)
{
	struct geo_item *last = w->nitems ? &w->items[w->nitems - 1] : NULL;
	struct geo_run *piece = w->nruns ? &w->runs[w->nruns - 1] : NULL;
	double turn;

	if (!last || !piece || !missing || !last->missing || last->tracks != 1 || run->tracks != 1 ||
	    piece->tracks != 1 || !geo_same_run(w->g, piece, last->run) || piece->per_track != run->per_track ||
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
		last->is_confirmed = false; /* its end is another one now */
		if (w->confirmed == w->nitems)
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
	geo_walk_remember(w, run);
	return geo_walk_add(w, &item, err);
}

/* ---- runs ---- */

/* Is there a whole track of that size here? Then it is passed, and *ret_jump is what follows it. */
static int try_track(struct geo_walk *w, uint64_t size, double *ret_jump, bool *ret_ok, struct err *err)
{
	uint64_t edge = w->at + size;
	double angle = NAN, jump = NAN;
	int r;

	*ret_ok = false;
	if (edge >= w->g->sectors || size < 2)
		return 0;
	r = geo_leave(w->g, edge, err);
	if (r == 0)
		r = geo_edge_angles(w->g, edge, 1.0 / (double)size, NAN, w->angle - 1.0 / (double)size, &angle, &jump,
		                    err);
	w->g->cost.tracks_seen++;
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

/* Is the jump behind a single track that of the run before? Where noise leaves that open the angles on both sides of it
 * are looked at more closely. */
static int settle_jump(struct geo_walk *w, uint64_t first, double angle, struct geo_run *run, struct err *err)
{
	const struct geo_run *last = w->nruns ? &w->runs[w->nruns - 1] : NULL;
	double at[2] = { angle, w->angle }, apart = last ? geo_apart(last->jump, run->jump) : 0.0;
	const uint64_t where[2] = { first, w->at };
	int r = 0;

	if (!last || near(w->g) <= GEO_NOISY || last->per_track != run->per_track ||
	    fabs(apart - near(w->g)) > GEO_OPEN * near(w->g))
		return 0;
	for (size_t i = 0; i < 2 && r == 0; i++)
		r = geo_look_closely(w->g, where[i], 1.0 / (double)run->per_track, &at[i], err);
	if (r == 0 && isfinite(at[0]) && isfinite(at[1])) {
		run->jump = run->turn = geo_frac(at[1] - at[0]);
		w->angle = at[1];
	}
	return r;
}

/* The longest of the last few runs: what follows may be as long, on another surface, or in another zone. NULL: none is
 * long. */
static const struct geo_run *long_run(const struct geo_walk *w)
{
	const struct geo_run *best = NULL;

	for (size_t i = w->nruns > LATELY ? w->nruns - LATELY : 0; i < w->nruns; i++)
		if (w->runs[i].tracks >= GEO_LONG_RUN && (!best || w->runs[i].tracks >= best->tracks))
			best = &w->runs[i];
	return best;
}

/* Is the run as long as the one before? With the same jump, its tracks may be of another size: another surface, or the
 * same band in the next zone. */
static int leap_as_before(struct geo_walk *w, struct geo_leap *l, uint64_t *ret_n, struct err *err)
{
	const struct geo_run *last = w->nruns ? &w->runs[w->nruns - 1] : NULL;
	struct geo_leap as_before = *l;
	bool ok = false;
	int r;

	*ret_n = 0;
	if (!last || last->tracks <= FEW_LEAPS || geo_apart(last->jump, l->jump) >= near(w->g))
		return 0;
	as_before.advance = as_before.jump = last->jump;
	as_before.error = near(w->g) / (double)last->tracks;
	r = geo_try_leap(w, &as_before, last->tracks - 1, &ok, err);
	if (r < 0 || !ok)
		return r;
	*l = as_before;
	*ret_n = last->tracks - 1;
	return 0;
}

/* Where noise hides how far one jump advances the angle, it is known from a long run with such jumps; its tracks may be
 * of another size, as on another surface. */
static void advance_as_before(const struct geo_walk *w, struct geo_leap *l)
{
	const struct geo_run *run = l->error > GEO_ADVANCE_SURE ? long_run(w) : NULL;

	if (!run || geo_apart(run->jump, l->jump) >= near(w->g))
		return;
	l->advance = l->jump = run->jump;
	l->error = near(w->g) / (double)run->tracks;
}

/* A run from its first track on, which is passed already. */
static int rest_of_run(struct geo_walk *w, uint64_t first, double angle, uint64_t size, double jump, bool is_sure,
                       struct err *err)
{
	struct geo_leap l = { .sectors = size,
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

	if (n == 0)
		advance_as_before(w, &l);
	if (r == 0) {
		r = geo_gallop(w, &l, &more, err);
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

		if (i < w->nruns && geo_same_run(w->g, &w->runs[i - 1], last) &&
		    w->runs[i - 1].tracks == last->tracks && i != w->nruns)
			return &w->runs[i];
	}
	return NULL;
}

/* The whole run that is expected, at once; else its first track; else a track as before. */
static int guess_run(struct geo_walk *w, bool *ret_ok, struct err *err)
{
	const struct geo_run *e = expected(w), *last = w->nruns ? &w->runs[w->nruns - 1] : NULL;
	uint64_t sizes[2] = { e ? e->per_track : 0, last ? last->per_track : 0 }, first = w->at;
	double jump = NAN, angle = w->angle;
	int r = 0;

	*ret_ok = false;
	if (e) {
		struct geo_run run = *e;
		struct geo_leap l = { .sectors = run.per_track * run.tracks,
			              .tracks = run.tracks,
			              .advance = run.turn,
			              .error = near(w->g),
			              .total = 1,
			              .jump = run.jump,
			              .from = w->at };

		l.after = 1.0 / (double)run.per_track;
		if (run.tracks > 1) {
			r = geo_try_leap(w, &l, 1, ret_ok, err);
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

/* ---- a run of another size ---- */

/* Do surveys cost much? */
static bool are_surveys_dear(const struct geo *g)
{
	return geo_flush_cost(g) > GEO_DEAR || g->looks > 1;
}

/* Angles of sectors that lie ahead, which are as many tracks of one size further on as that size makes of them. */
struct ahead {
	uint64_t sector[AHEAD]; /* from w->at on */
	double angle[AHEAD];
	size_t n;
};

/* By how much a size leaves them off, in units of what they may be off: the sum of the squares; infinite: one is off by
 * more than that. */
static double off_ahead(const struct geo_walk *w, const struct ahead *a, const struct geo_run *run, uint64_t size)
{
	double sum = 0.0;

	for (size_t i = 0; i < a->n; i++) {
		double tracks = (double)(a->sector[i] / size), rest = (double)(a->sector[i] % size) / (double)size;
		double off = geo_apart(a->angle[i], w->angle + tracks * run->jump + rest) /
		             hypot(near(w->g), tracks * near(w->g) / (double)run->tracks);

		if (!(off < 1.0))
			return INFINITY;
		sum += off * off;
	}
	return sum;
}

/* The size near that of the run that suits best; 0: none does. */
static uint64_t size_ahead(const struct geo_walk *w, const struct ahead *a, const struct geo_run *run)
{
	uint64_t reach = (uint64_t)(OTHER * (double)run->per_track), best = 0;
	double least = INFINITY;

	for (uint64_t size = run->per_track - reach; size <= run->per_track + reach; size++) {
		double off = off_ahead(w, a, run, size);

		if (off >= least)
			continue;
		least = off;
		best = size;
	}
	return best;
}

/*
 * A run with the jump of a long one before, its tracks of another size, as on the next surface: a few sectors some
 * tracks ahead tell it, each of another track, so that none brings another into the cache, and the end of the first
 * track is where it has to be then. Where surveys cost much; they are what is left if that fails.
 */
static int guess_size(struct geo_walk *w, bool *ret_ok, struct err *err)
{
	const struct geo_run *run =
		are_surveys_dear(w->g) && w->guess_fails <= GUESSES * (1 + w->guesses) ? long_run(w) : NULL;
	uint64_t sector[AHEAD], first = w->at, size;
	double angle[AHEAD], jump, from = w->angle, far;
	struct ahead a = { .n = 0 };
	bool doubt[AHEAD];
	size_t n = 0;
	int r;

	*ret_ok = false;
	if (!run)
		return 0;
	far = fmin(FARTHEST, FAR_PART * (double)run->tracks);
	for (size_t i = 0; i < AHEAD; i++) { /* from the farthest on */
		double tracks = NEAREST * pow(far / NEAREST, 1.0 - (double)i / (AHEAD - 1));
		uint64_t at = w->at + (uint64_t)(tracks * (double)run->per_track);

		if (at < w->g->sectors)
			sector[n++] = at;
	}
	r = geo_probe_new(w->g, sector, angle, doubt, n, err);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (!isfinite(angle[i]))
			continue;
		a.sector[a.n] = sector[i] - w->at;
		a.angle[a.n++] = angle[i];
	}
	if (r < 0 || a.n < AHEAD_LEAST)
		return r;
	size = size_ahead(w, &a, run);
	if (size)
		r = try_track(w, size, &jump, ret_ok, err);
	w->guesses += *ret_ok;
	w->guess_fails += !*ret_ok;
	return r == 0 && *ret_ok ? rest_of_run(w, first, from, size, jump, true, err) : r;
}

/* ---- a track that does not fit ---- */

/* Edges inside of a track are gaps, each of a whole number of sectors. */
static int keep_gaps(struct geo_walk *w, const struct geo_track *track, const struct geo_edge *edge, size_t n,
                     struct err *err)
{
	int r;

	for (size_t i = 0; i < n; i++) {
		if (edge[i].first <= track->first || edge[i].first >= track->first + track->sectors)
			continue;
		r = geo_walk_add_gap(
			w, (struct geo_gap){ edge[i].first, (uint64_t)round(edge[i].jump * (double)track->per_track) },
			err);
		if (r < 0)
			return r;
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
	r = geo_edge_angles(w->g, w->at, after, jump, NAN, &angle, &again, err);
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

	g->begin = first;
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
		g->cost.tracks_seen++;
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
		if (!geo_same_run(w->g, a, b) || (a->tracks != b->tracks && w->nruns - i - c > 0))
			return false;
	}
	return true;
}

static int try_cycle(struct geo_walk *w, size_t c, bool *ret_ok, struct err *err)
{
	struct geo_leap l = { .error = near(w->g), .total = 1 };
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
	r = geo_gallop(w, &l, &n, err);
	*ret_ok = n > 0;
	if (r < 0 || n == 0)
		return r;
	item.end = w->at;
	item.times = n;
	item.tracks = n * l.tracks;
	for (uint64_t k = 0; k < n && k < 2 * ARRAY_LEN(w->runs) / c + 2; k++)
		for (size_t i = 0; i < c; i++)
			geo_walk_remember(w, &item.run[i]);
	return geo_walk_add(w, &item, err);
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

/* ---- the walk ---- */

/* The size that most of the tracks before have; 0: there are none. */
static double usual_size(const struct geo_walk *w)
{
	size_t from = w->nruns > USUAL_RUNS ? w->nruns - USUAL_RUNS : 0;
	uint64_t most = 0, size = 0;

	for (size_t i = from; i < w->nruns; i++) {
		uint64_t n = 0;

		for (size_t k = from; k < w->nruns; k++)
			n += w->runs[k].per_track == w->runs[i].per_track ? w->runs[k].tracks : 0;
		if (n <= most)
			continue;
		most = n;
		size = w->runs[i].per_track;
	}
	return (double)size;
}

/* What is known of the next track; a piece of the one before says nothing of it, and a survey finds no ends by it. */
static double expected_size(const struct geo_walk *w)
{
	double usual = usual_size(w);

	return w->next_size < GEO_PIECE * usual ? usual : w->next_size;
}

static int one_step(struct geo_walk *w, struct err *err)
{
	bool ok;
	int r = try_cycles(w, &ok, err);

	if (r == 0 && !ok)
		r = guess_run(w, &ok, err);
	if (r == 0 && !ok)
		r = guess_size(w, &ok, err);
	if (w->nruns)
		w->next_size = (double)w->runs[w->nruns - 1].per_track;
	if (r == 0 && !ok)
		r = survey_here(w, err);
	if (r == 0)
		r = geo_walk_take_later(w, err);
	w->per_track = expected_size(w);
	return r;
}

/* No end was found: an answer that came late may have been believed, or the cache have given what was read upwards, and
 * what tracks hold been mistaken by that. */
static int begin_anew(struct geo_walk *w, struct err *err)
{
	double per_track = NAN;
	int r = 0;

	geo_forget(w->g);
	w->g->ways.is_up_vain = true;
	w->is_stuck = false;
	if (w->confirmed < w->nitems)
		r = geo_walk_confirm(w, err);
	if (r == 0)
		r = geo_place_spacing(w->g, w->at, &per_track, err);
	if (isfinite(per_track))
		w->per_track = w->next_size = per_track;
	return r;
}

int geo_walk_on(struct geo_walk *w, struct err *err)
{
	struct geo *g = w->g;
	double jump;
	uint64_t farthest = w->at;
	int r = 0, again = 0;

	if (w->at == 0) {
		const uint64_t sector = 0;

		r = geo_probe(g, &sector, &w->angle, 1, err);
	} else {
		r = geo_edge_angles(g, w->at, 0.0, NAN, NAN, &w->angle, &jump, err);
	}
	while (r == 0 && !geo_is_over(g) && !w->is_stuck) {
		bool is_end = (double)(g->sectors - w->at) <= 1.3 * w->per_track;
		char at[32], all[32];

		g->per_track = w->per_track;
		w->is_whole = is_end && w->confirmed == w->nitems;
		if (w->is_whole)
			break;
		r = is_end || w->nitems >= w->confirmed + GEO_CONFIRM ? geo_walk_confirm(w, err) : one_step(w, err);
		if (w->at > farthest)
			again = 0;
		farthest = w->at > farthest ? w->at : farthest;
		if (r == 0 && w->is_stuck && again++ < STUCK_TRIES)
			r = begin_anew(w, err);
		session_progress(
			g->ses, "tracks",
			geo_done(g, GEO_WALK_AT + (GEO_LAYOUT_AT - GEO_WALK_AT) * (double)w->at / (double)g->sectors),
			"%.1f rpm, %.0f sectors a track, %s of %s", 60e9 / g->rot.period_ns, w->per_track,
			units_bytes_dec(at, sizeof(at), w->at * g->t.block_bytes),
			units_bytes_dec(all, sizeof(all), g->t.target->size_bytes));
	}
	return r;
}
