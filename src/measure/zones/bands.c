/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording zones, and how many, from samples in the order of their places (model/along.h). Revolutions lost in a
 * sample are left out of it: they say nothing of density.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"
#include "model/along.h"

#define FRONT_WIDE 3.0 /* times the mean width: a zone is so wide once in 400 (Erlang's law of chain.h) ... */
#define FRONT_MOST 0.9 /* ... of two zones one is so much of the disk as seldom */

/* Readings for the model; one that straddles where rates begin anew is none. Returns how many. */
static size_t readings_of(const struct zone_at *v, size_t n, double anew, struct along_at *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_behind = v[i].from >= anew;

		if (!is_behind && v[i].end > anew)
			continue;
		ret[count] = (struct along_at){ v[i].from,     v[i].end,
			                        v[i].y,        v[i].sigma,
			                        v[i].position, is_behind && count && ret[count - 1].from < anew };
		count++;
	}
	return count;
}

/* From the first place that was read to behind the last one: of what lies beyond them a cut run knows nothing. */
static void read_part(const struct zone_layout *l, const struct zone_levels *lv, uint64_t *ret_first, uint64_t *ret_end)
{
	size_t first = 0, end = lv->n;

	while (first < end && !lv->v[first].n)
		first++;
	while (end > first && !lv->v[end - 1].n)
		end--;
	*ret_first = first ? l->positions[first].cell_bytes : l->first_bytes;
	*ret_end = end < lv->n ? l->positions[end].cell_bytes : l->end_bytes;
}

/* ret[0] begins, and the last one ends, where reading did. */
static void fill_band(const struct along *a, size_t k, const struct zone_layout *l, const struct zone_levels *lv,
                      struct zone_band *ret)
{
	const struct along_edge *e = &a->v[k];

	ret->y = e->y;
	ret->half = hypot(e->half, 1.96 * sqrt(lv->loss_var));
	ret->samples = e->readings;
	if (!k)
		return;
	ret->first_bytes = (uint64_t)fmax(e->at, 0.0);
	ret->first_bytes -= ret->first_bytes % l->align_bytes;
	ret->edge_half_bytes = (uint64_t)fmax(e->at - e->first, e->end - e->at);
	ret[-1].end_bytes = ret->first_bytes;
}

static bool has_gap(const struct zone_levels *lv)
{
	for (size_t p = 0; p < lv->n; p++)
		if (!lv->v[p].n)
			return true;
	return false;
}

/* May the first band be several zones, that are faster than the interface? Of a single one that has to be known. */
static bool may_hide(const struct zone_bands *b, const struct zone_layout *l)
{
	double rate = zone_rate(b->v[0].y);
	double all = (double)(l->end_bytes - l->first_bytes), first = (double)(b->v[0].end_bytes - b->v[0].first_bytes);

	if (b->n == 1)
		return !link_is_far(rate, l->interface_bytes_per_s);
	return link_is_near(rate, l->interface_bytes_per_s) ||
	       first > fmin(FRONT_WIDE / (double)b->n, FRONT_MOST) * all;
}

void zone_bands_find(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_slows *slows,
                     const struct zone_stretches *st, struct zone_bands *ret)
{
	size_t n;
	cleanup_free struct zone_at *v = zone_in_order(l, lv, slows, st, &n);
	cleanup_free struct along_at *at = xcalloc(n + 1, sizeof(*at));
	struct along a;

	along_zones(at, readings_of(v, n, zone_begins_anew(st), at), (double)l->end_bytes, &a);
	*ret = (struct zone_bands){
		.v = xcalloc(a.n + 1, sizeof(*ret->v)),
		.n = a.n,
		.least_step = a.least_step,
		.mean_var = a.mean_var,
	};
	for (size_t k = 0; k < a.n; k++)
		fill_band(&a, k, l, lv, &ret->v[k]);
	if (a.n)
		read_part(l, lv, &ret->v[0].first_bytes, &ret->v[a.n - 1].end_bytes);
	ret->is_least = a.n && (a.p_count < ALONG_SURE || has_gap(lv) || may_hide(ret, l));
	free(a.v);
}
