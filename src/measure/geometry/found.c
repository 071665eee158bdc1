/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the walk (walk.c) has found: its items, and the last runs, by which it goes on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/geometry/walk.h"

int geo_walk_add(struct geo_walk *w, const struct geo_item *item, struct err *err)
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

int geo_walk_add_gap(struct geo_walk *w, struct geo_gap gap, struct err *err)
{
	if (w->ngaps == w->gaps_room) {
		size_t room = w->gaps_room ? 2 * w->gaps_room : 64;
		struct geo_gap *more = realloc(w->gaps, room * sizeof(*more));

		if (!more)
			return err_set(err, -ENOMEM, "Out of memory.");
		w->gaps = more;
		w->gaps_room = room;
	}
	w->gaps[w->ngaps++] = gap;
	return 0;
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
