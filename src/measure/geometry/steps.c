/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk over the whole disk, from end of track to end of track, without visiting all of them.
 *
 * Tracks of one size that are followed by one and the same jump are a run; after one of them is known, the end of the
 * track 1, 2, 4 ... further on is looked at: two reads show whether there is such a jump at that very sector, and
 * whether the angle has advanced by that many jumps. If not, half as far is tried, down to one track: so the end of a
 * run is exact. Runs repeat (surface by surface, band by band): when the last run is one that was seen some runs ago,
 * those runs together are tried as a unit in the same way. Missing sectors shift all that follows and so stop a leap;
 * the track with them is surveyed like any that does not fit (edges.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/geometry/walk.h"

#define STUCK_TRIES 20  /* surveys of one place: late answers come and go, a place without ends stays */
#define SEVERAL     2.6 /* the same: more than two, which the sequence (sequence.c) takes apart */

/* ---- what was found: items, and the last runs, by which the walk goes on ---- */

/* As the last of the items; its runs are copied. */
static void add_item(struct geo_walk *w, const struct geo_item *item)
{
	if (w->nitems == w->room) {
		w->room = w->room ? 2 * w->room : 64;
		w->items = xgrow(w->items, w->room, sizeof(*w->items));
	}
	w->items[w->nitems] = *item;
	w->items[w->nitems].run = xcalloc(item->nruns, sizeof(*item->run));
	memcpy(w->items[w->nitems++].run, item->run, item->nruns * sizeof(*item->run));
}

void geo_walk_free(struct geo_walk *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nitems; i++)
		free(w->items[i].run);
	for (size_t i = 0; i < w->nlater; i++)
		free(w->later[i].run);
	free(w->items);
	free(w->later);
	free(w);
}

/* Into what the walk goes on by: the last runs. */
static void remember(struct geo_walk *w, const struct geo_run *run)
{
	struct geo_run *last = w->nruns ? &w->runs[w->nruns - 1] : NULL;

	if (last && geo_same_run(w->g, last, run)) {
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

/* Tracks [first, at) as an item of their own, and into memory. */
static void found_run(struct geo_walk *w, uint64_t first, const struct geo_run *run, bool is_unsure, uint64_t missing)
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

	remember(w, run);
	add_item(w, &item);
}

/* As many turns as there is room for. */
static void remember_item(struct geo_walk *w, const struct geo_item *item)
{
	for (uint64_t k = 0; k < item->times && k <= ARRAY_LEN(w->runs) / item->nruns; k++)
		for (uint32_t j = 0; j < item->nruns; j++)
			remember(w, &item->run[j]);
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
	if (r < 0 || !isfinite(angle) || !isfinite(jump) || geo_apart(jump, 0.0) < geo_near(w->g) ||
	    geo_apart(angle - jump, w->angle) >= geo_near(w->g))
		return r;
	*ret_ok = true;
	*ret_jump = jump;
	w->at = edge;
	w->angle = angle;
	return 0;
}

/* A run from its first track on, which is passed already. */
static int rest_of_run(struct geo_walk *w, uint64_t first, double angle, uint64_t size, double jump, bool is_sure,
                       struct err *err)
{
	struct geo_leap l = { .sectors = size,
		              .tracks = 1,
		              .advance = jump,
		              .error = geo_near(w->g),
		              .total = 1,
		              .jump = jump,
		              .after = 1.0 / (double)size };
	struct geo_run run = { .per_track = size, .jump = jump, .tracks = 1 };
	uint64_t n;
	int r = geo_gallop(w, &l, &n, err);

	run.tracks += n;
	run.turn = geo_frac(w->angle - angle);
	if (n)
		run.jump = geo_frac(l.advance);
	if (r == 0)
		found_run(w, first, &run, !is_sure && n == 0, 0);
	return r;
}

/* The size that most of the tracks before have, the smallest of those; 0: there are none. */
static double usual_size(const struct geo_walk *w)
{
	size_t from = w->nruns > HEADS_MOST ? w->nruns - HEADS_MOST : 0;
	uint64_t most = 0, size = 0;

	for (size_t i = from; i < w->nruns; i++) {
		uint64_t n = 0;

		for (size_t k = from; k < w->nruns; k++)
			n += w->runs[k].per_track == w->runs[i].per_track ? w->runs[k].tracks : 0;
		if (n < most || (n == most && w->runs[i].per_track > size))
			continue;
		most = n;
		size = w->runs[i].per_track;
	}
	return (double)size;
}

/* Several tracks, as ends between them were hidden: they may show the next time, so nothing is expected of them. */
static bool is_several(const struct geo_run *run, double one)
{
	return run->tracks == 1 && (double)run->per_track > SEVERAL * one;
}

/* No track holds more, about. */
static double one_track(const struct geo_walk *w)
{
	return fmin(usual_size(w), w->outermost);
}

/* What came after the last time that the last run was seen. */
static const struct geo_run *expected(const struct geo_walk *w)
{
	double one = one_track(w);

	for (size_t i = w->nruns; i-- > 1;) {
		const struct geo_run *last = &w->runs[w->nruns - 1];

		if (!is_several(&w->runs[i], one) && geo_same_run(w->g, &w->runs[i - 1], last) &&
		    w->runs[i - 1].tracks == last->tracks)
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
			              .error = geo_near(w->g),
			              .total = 1,
			              .jump = run.jump };

		l.after = 1.0 / (double)run.per_track;
		if (run.tracks > 1) {
			r = geo_try_leap(w, &l, 1, ret_ok, err);
			run.turn = geo_frac(w->angle - angle);
			if (r == 0 && *ret_ok)
				found_run(w, first, &run, false, 0);
			if (r < 0 || *ret_ok)
				return r;
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
	found_run(w, track->first, &run, !track->is_sure,
	          track->per_track > track->sectors ? track->per_track - track->sectors : 0);
	return 0;
}

/* A piece too short to show its track's size: of the size that was expected here, or else as the one before. */
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
	struct geo_edge edge[GEO_JUMPS];
	struct geo_track track[GEO_JUMPS];
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
		               GEO_JUMPS - 1, &n, err);
		if (r < 0 || geo_is_over(g))
			return r;
		while (n && edge[1].first <= first) /* an edge at the very place is known */
			memmove(edge + 1, edge + 2, --n * sizeof(edge[0]));
		if (n == 0)
			continue;
		edge[0].after = edge[1].before;
		m = geo_tracks(g, edge, n + 1, track);
		/* One that holds so much more is two: an answer that came late hid the end between them. */
		if (k == 0 && (double)track[0].per_track > GEO_ROUND * per_track) {
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
		if (m >= 2)
			return pass_surveyed(w, &track[0],
			                     geo_frac(track[1].skew + 1.0 / (double)track[1].per_track -
			                              1.0 / (double)track[0].per_track),
			                     err);
		return pass_surveyed(w, &track[0], edge[n].jump, err);
	}
	w->is_stuck = true;
	return 0;
}

/* ---- cycles of runs ---- */

static bool is_cycle(const struct geo_walk *w, size_t c)
{
	size_t depth = w->nruns - c < 3 ? w->nruns - c : 3;
	double one;

	if (c >= w->nruns)
		return false;
	for (size_t i = 1; i <= depth && i <= c; i++) {
		const struct geo_run *a = &w->runs[w->nruns - i], *b = &w->runs[w->nruns - i - c];

		/* The first run that is remembered may have begun before. */
		if (!geo_same_run(w->g, a, b) || (a->tracks != b->tracks && w->nruns - i - c > 0))
			return false;
	}
	one = one_track(w);
	for (size_t i = 1; i <= c; i++)
		if (is_several(&w->runs[w->nruns - i], one))
			return false;
	return true;
}

static int try_cycle(struct geo_walk *w, size_t c, bool *ret_ok, struct err *err)
{
	struct geo_leap l = { .error = geo_near(w->g), .total = 1 };
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
	r = geo_gallop(w, &l, &n, err);
	*ret_ok = n > 0;
	if (r < 0 || n == 0)
		return r;
	item.end = w->at;
	item.times = n;
	item.tracks = n * l.tracks;
	remember_item(w, &item);
	add_item(w, &item);
	return 0;
}

static int try_cycles(struct geo_walk *w, bool *ret_ok, struct err *err)
{
	int r = 0;

	*ret_ok = false;
	for (size_t c = 2; r == 0 && c <= GEO_RUNS && c < w->nruns && !*ret_ok && !geo_is_over(w->g); c++)
		if (is_cycle(w, c))
			r = try_cycle(w, c, ret_ok, err);
	return r;
}

/*
 * ---- the second look ----
 *
 * Are the ends of items where they were found? An item whose end is none is walked again. What was found behind it is
 * kept: where the walk meets a begin of it again, all behind it is taken over as far as its ends were seen twice. A
 * false end does not refute those far behind. Long runs only: single tracks, and cycles of runs, of which only few ends
 * were looked at, may follow what was mistaken.
 */

/* Item n is forgotten, and what is behind it is for later. */
static void go_back(struct geo_walk *w, size_t n)
{
	size_t first = n > ARRAY_LEN(w->runs) ? n - ARRAY_LEN(w->runs) : 0, behind = w->nitems - n - 1;

	w->at = w->items[n].first;
	w->per_track = w->next_size = (double)w->items[n].run[0].per_track;
	w->later = xgrow(w->later, w->nlater + behind + 1, sizeof(*w->later));
	memmove(w->later + behind, w->later, w->nlater * sizeof(*w->later));
	memcpy(w->later, w->items + n + 1, behind * sizeof(*w->later));
	w->nlater += behind;
	free(w->items[n].run);
	w->nitems = n;
	w->nruns = 0;
	for (size_t i = first; i < n; i++)
		remember_item(w, &w->items[i]);
	geo_forget(w->g);
}

/* May the walk go on from the begin of that item again? Else it stays, and is reported as unsure. */
static bool may_go_back(struct geo_walk *w, size_t n)
{
	uint64_t first = w->items[n].first;

	w->again = first == w->again_at ? w->again + 1 : 1;
	w->again_at = first;
	return w->again <= GEO_TRIES;
}

/* Takes over what was found later from w->at on, as far as its ends were seen twice; and forgets what the walk has
 * passed. */
static int take_later(struct geo_walk *w, struct err *err)
{
	uint64_t at = w->at;
	size_t n = 0;

	while (n < w->nlater && w->later[n].first <= w->at) {
		struct geo_item *item = &w->later[n];

		if (item->first == w->at) {
			if (!item->is_confirmed || item->nruns > 1 || item->tracks < GEO_LONG_RUN)
				break;
			add_item(w, item);
			remember_item(w, item);
			w->at = item->end;
		}
		free(item->run);
		n++;
	}
	w->nlater -= n;
	if (n && w->nlater)
		memmove(w->later, w->later + n, w->nlater * sizeof(*w->later));
	if (w->at == at)
		return 0;
	w->next_size = (double)w->runs[w->nruns - 1].per_track;
	return geo_probe_sure(w->g, &w->at, &w->angle, 1, err);
}

/* Spacing of the sectors in front of an item's end. A piece that is clearly shorter than the track before may be a
 * part of a track, cut by an answer that strayed: then its own size says nothing about it. */
static double spacing_before(const struct geo_walk *w, size_t i)
{
	const struct geo_item *item = &w->items[i], *before = i ? item - 1 : NULL;
	double size = (double)item->run[item->nruns - 1].per_track;
	double usual = before ? (double)before->run[before->nruns - 1].per_track : 0.0;

	return 1.0 / (item->tracks == 1 && size < GEO_MOST * usual ? usual : size);
}

/* A second look at the ends of as many items as fit into one batch, as reading a sector again takes reads elsewhere
 * before. Behind one whose end is none the walk goes on from its begin again, and what was found behind it is for
 * later. */
static int confirm(struct geo_walk *w, struct err *err)
{
	uint64_t end[GEO_JUMPS], was = w->at;
	double spacing[GEO_JUMPS], jump[GEO_JUMPS];
	size_t which[GEO_JUMPS], n = 0;
	int r;

	for (size_t i = w->confirmed; i < w->nitems && n < GEO_JUMPS; i++) {
		if (w->items[i].is_confirmed)
			continue;
		end[n] = w->items[i].end;
		spacing[n] = spacing_before(w, i);
		which[n++] = i;
	}
	r = geo_read_jumps(w->g, end, spacing, n, jump, err);
	if (r < 0 || geo_is_over(w->g))
		return r;
	for (size_t i = 0; i < n; i++) {
		struct geo_item *item = &w->items[which[i]];

		item->is_unseen = isnan(jump[i]); /* unreadable */
		item->is_confirmed = !(geo_apart(jump[i], 0.0) < geo_near(w->g));
	}
	for (size_t i = 0; i < n; i++) {
		struct geo_item *item = &w->items[which[i]];

		if (item->is_confirmed)
			continue;
		if (may_go_back(w, which[i])) {
			go_back(w, which[i]);
			break;
		}
		item->is_unsure = item->is_confirmed = true;
	}
	while (w->confirmed < w->nitems && w->items[w->confirmed].is_confirmed)
		w->confirmed++;
	return w->at != was ? geo_probe_sure(w->g, &w->at, &w->angle, 1, err) : 0;
}

/* ---- the walk ---- */

/* What is known of the next track; a piece of the one before says nothing of it, and a survey finds no ends by it. */
static double expected_size(const struct geo_walk *w)
{
	double usual = usual_size(w);

	return w->next_size < GEO_MOST * usual ? usual : w->next_size;
}

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
	if (r == 0)
		r = take_later(w, err);
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
		r = confirm(w, err);
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
		r = is_end || w->nitems >= w->confirmed + GEO_JUMPS ? confirm(w, err) : one_step(w, err);
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
