/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranges that are not as they were written, in order. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "measure/surface/writing.h"

const char *const surface_wrong_names[WRONG_KINDS] = { "lost",     "torn",    "misplaced",  "wrapped",
	                                               "bit-flip", "damaged", "not-written" };

/* The first that ends behind this place. */
static size_t first_behind(const struct surface_wrongs *l, uint64_t at)
{
	return surface_first_behind(l->v, l->n, sizeof(*l->v), at);
}

static bool goes_on(const struct surface_wrong *a, const struct surface_wrong *b)
{
	return a->end_bytes == b->first_bytes && a->kind == b->kind && a->away_bytes == b->away_bytes;
}

static void insert(struct surface_wrongs *l, size_t at, const struct surface_wrong *w)
{
	if (l->n == SURFACE_WRONG_MOST)
		l->unlisted_bytes += w->end_bytes - w->first_bytes;
	else
		l->v = surface_insert(l->v, &l->n, sizeof(*l->v), at, w);
}

void surface_wrongs_add(struct surface_wrongs *l, const struct surface_wrong *w)
{
	struct surface_wrong rest = *w;

	while (rest.first_bytes < w->end_bytes) {
		size_t i = first_behind(l, rest.first_bytes);
		uint64_t next = i < l->n && l->v[i].first_bytes < w->end_bytes ? l->v[i].first_bytes : w->end_bytes;

		if (next <= rest.first_bytes) { /* known */
			rest.first_bytes = l->v[i].end_bytes;
			continue;
		}
		rest.end_bytes = next;
		if (i && goes_on(&l->v[i - 1], &rest)) {
			l->v[i - 1].end_bytes = next;
			i--;
		} else {
			insert(l, i, &rest);
		}
		if (i + 1 < l->n && goes_on(&l->v[i], &l->v[i + 1])) {
			l->v[i].end_bytes = l->v[i + 1].end_bytes;
			surface_drop(l->v, &l->n, sizeof(*l->v), i + 1);
		}
		rest.first_bytes = next;
	}
}

static bool is_torn(const struct surface_wrong *w, const struct surface_range *range, uint64_t block_bytes)
{
	return (w->first_bytes - range->first_bytes) % block_bytes ||
	       ((w->end_bytes - range->first_bytes) % block_bytes && w->end_bytes != range->end_bytes);
}

enum surface_wrong_kind *surface_wrong_kinds(const struct surface_wrongs *l, const struct surface_range *range,
                                             uint64_t block_bytes)
{
	enum surface_wrong_kind *kinds = xcalloc(l->n + 1, sizeof(*kinds));

	for (size_t i = 0; i < l->n; i++) {
		const struct surface_wrong *w = &l->v[i];

		kinds[i] = w->kind == WRONG_LOST && is_torn(w, range, block_bytes) ? WRONG_TORN : w->kind;
	}
	for (size_t i = 0; i < l->n; i++) {
		uint64_t own = l->v[i].first_bytes + (uint64_t)l->v[i].away_bytes;
		size_t k = first_behind(l, own);
		bool is_missing = k < l->n && l->v[k].first_bytes <= own && l->v[k].kind == WRONG_LOST;

		if (l->v[i].kind == WRONG_MISPLACED && is_missing)
			kinds[k] = WRONG_MISPLACED;
		else if (l->v[i].kind == WRONG_MISPLACED)
			kinds[i] = WRONG_WRAPPED;
	}
	return kinds;
}

void surface_wrongs_done(struct surface_wrongs *l)
{
	free(l->v);
	*l = (struct surface_wrongs){ 0 };
}
