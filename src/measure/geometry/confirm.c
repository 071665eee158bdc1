/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the walk has found: its items, and the last runs, by which it goes on.
 *
 * Its second look (steps.c): are the ends of its items where they were found? An item whose end is none is walked
 * again. What was found behind it is kept: where the walk meets a begin of it again, all behind it is taken over as far
 * as its ends were seen twice. A false end does not refute those far behind. Long runs only: single tracks, and cycles
 * of runs, of which only few ends were looked at, may follow what was mistaken.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/walk.h"

#define AGAIN     3   /* times that an item is walked again whose end was none the second time */
#define AGAIN_ALL 200 /* of the whole walk: where that many ends are none, going back does not end it */
#define TURNS     3   /* of a cycle, of which no more need be remembered */

void geo_walk_add(struct geo_walk *w, const struct geo_item *item)
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

void geo_walk_remember(struct geo_walk *w, const struct geo_run *run)
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

/* ---- back, and on ---- */

static void remember_item(struct geo_walk *w, const struct geo_item *item)
{
	for (uint64_t k = 0; k < item->times && k < TURNS; k++)
		for (uint32_t j = 0; j < item->nruns; j++)
			geo_walk_remember(w, &item->run[j]);
}

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
	return w->again <= AGAIN && ++w->again_all <= AGAIN_ALL;
}

int geo_walk_take_later(struct geo_walk *w, struct err *err)
{
	uint64_t at = w->at;
	size_t n = 0;

	while (n < w->nlater && w->later[n].first <= w->at) {
		struct geo_item *item = &w->later[n];

		if (item->first == w->at) {
			if (!item->is_confirmed || item->nruns > 1 || item->tracks < GEO_LONG_RUN)
				break;
			geo_walk_add(w, item);
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

/* ---- the second look ---- */

/* Spacing of the sectors in front of an item's end. A piece that is clearly shorter than the track before may be a
 * part of a track, cut by an answer that strayed: then its own size says nothing about it. */
static double spacing_before(const struct geo_walk *w, size_t i)
{
	const struct geo_item *item = &w->items[i], *before = i ? item - 1 : NULL;
	double size = (double)item->run[item->nruns - 1].per_track;
	double usual = before ? (double)before->run[before->nruns - 1].per_track : 0.0;

	return 1.0 / (item->tracks == 1 && size < GEO_PIECE * usual ? usual : size);
}

int geo_walk_confirm(struct geo_walk *w, struct err *err)
{
	uint64_t sector[2 * GEO_CONFIRM], was = w->at;
	double angle[2 * GEO_CONFIRM];
	size_t which[GEO_CONFIRM], n = 0;
	int r;

	for (size_t i = w->confirmed; i < w->nitems && n < GEO_CONFIRM; i++) {
		if (w->items[i].is_confirmed)
			continue;
		sector[2 * n] = w->items[i].end;
		sector[2 * n + 1] = w->items[i].end - 1;
		which[n++] = i;
	}
	r = geo_probe_sure(w->g, sector, angle, 2 * n, err);
	if (r < 0 || geo_is_over(w->g))
		return r;
	for (size_t i = 0; i < n; i++) {
		struct geo_item *item = &w->items[which[i]];
		double jump = geo_frac(angle[2 * i] - angle[2 * i + 1] - spacing_before(w, which[i]));

		item->is_unseen = isnan(jump); /* unreadable */
		item->is_confirmed = !(geo_apart(jump, 0.0) < geo_near(w->g));
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
	if (r == 0 && w->at != was)
		r = geo_probe_sure(w->g, &w->at, &w->angle, 1, err);
	return r;
}
