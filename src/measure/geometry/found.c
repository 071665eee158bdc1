/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the walk (steps.c) has found: its items, and the last runs, by which it goes on. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/walk.h"

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

void geo_walk_add_gap(struct geo_walk *w, struct geo_gap gap)
{
	if (w->ngaps == w->gaps_room) {
		w->gaps_room = w->gaps_room ? 2 * w->gaps_room : 64;
		w->gaps = xgrow(w->gaps, w->gaps_room, sizeof(*w->gaps));
	}
	w->gaps[w->ngaps++] = gap;
}

void geo_walk_free(struct geo_walk *w)
{
	for (size_t i = 0; w && i < w->nitems; i++)
		free(w->items[i].run);
	for (size_t i = 0; w && i < w->nlater; i++)
		free(w->later[i].run);
	if (w) {
		free(w->items);
		free(w->gaps);
		free(w->later);
		free(w->later_gaps);
	}
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
