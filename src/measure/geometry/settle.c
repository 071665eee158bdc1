/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all that was walked says of a layout that was found from the first tracks.
 *
 * Whether heads alternate: does every second band go through them backwards? Accesses are made where the walk began,
 * and sizes show it only where surfaces differ, which may be zones that were not walked yet when the layout was found.
 * So all that was walked is read the other way as well.
 *
 * How long bands are, where a zone is one: all of the first may be shorter than a band, and the first that is longer
 * shows where its first band ends.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/layout.h"

/* Surfaces whose sizes come again behind a band: one alone may be a zone that another one follows. */
#define SEEN_LEAST 2
/* Of cost for each change of size or skew, where the first tracks were in no order: more is not a reading, even where
 * it costs less than another one. */
#define READ_MOST 0.1

const struct geo_fit_zone *geo_longest_zone(const struct geo_fit *fit)
{
	const struct geo_fit_zone *longest = NULL;

	for (size_t i = 0; i < fit->n; i++)
		if (!longest || fit->zone[i].tracks > longest->tracks)
			longest = &fit->zone[i];
	return longest;
}

/* The same sizes, as far as both are seen. */
static bool has_same_sizes(const struct geo_fit_zone *a, const struct geo_fit_zone *b)
{
	size_t seen = 0;

	for (size_t k = 0; k < GEO_HEADS; k++) {
		if (a->size[k] && b->size[k] && a->size[k] != b->size[k])
			return false;
		seen += a->size[k] && b->size[k];
	}
	return seen >= SEEN_LEAST;
}

uint64_t geo_band_behind(const struct geo_fit *fit)
{
	const struct geo_fit_zone *z = geo_longest_zone(fit);

	return z && z + 1 < fit->zone + fit->n && has_same_sizes(z, z + 1) ? z->cylinders : 0;
}

void geo_report_layout(struct result *res, const struct geo_shape *shape)
{
	const char *way = shape->is_serpentine ? "serpentine" : "forward",
		   *heads = shape->is_alternate ? ", heads alternate" : "";
	char text[160];

	if (shape->heads == 1)
		(void)snprintf(text, sizeof(text), "one surface");
	else if (shape->band == 1)
		(void)snprintf(text, sizeof(text), "head-first%s", heads);
	else if (shape->band == 0)
		(void)snprintf(text, sizeof(text), "seek-first, a zone is one band, %s%s", way, heads);
	else
		(void)snprintf(text, sizeof(text), "seek-first in bands of %" PRIu64 " tracks, %s%s", shape->band, way,
		               heads);
	result_figure_text(res, "layout", "layout", text);
}

bool geo_is_turned(const struct geo_shape *a, const struct geo_shape *b)
{
	return a->heads == b->heads && a->band == b->band && a->is_serpentine == b->is_serpentine &&
	       a->is_alternate != b->is_alternate;
}

/* Would it make no difference to sizes if every second band went through the heads backwards? */
static bool are_sizes_mirrored(const struct geo_fit *fit, uint32_t heads)
{
	for (size_t i = 0; i < fit->n; i++)
		for (uint32_t k = 0; k < heads; k++)
			if (fit->zone[i].size[k] != fit->zone[i].size[heads - 1 - k])
				return false;
	return true;
}

void geo_settle_turning(struct geo *g, struct geo_order *o, struct geo_layout *l)
{
	struct geo_shape turned = l->shape;
	cleanup_free struct geo_fit *fit = NULL;
	bool is_turned, is_cut;

	turned.is_alternate = !turned.is_alternate;
	if (turned.heads == 1 || turned.band == 0)
		return;
	fit = xcalloc(1, sizeof(*fit));
	fit->cost = l->fit->cost;
	if (!l->is_mended) /* else it says nothing what it costs to be read */
		geo_order_fit(o, &turned, UINT64_MAX, l->fit->cost + GEO_SURE, NULL, fit);
	is_cut = geo_has_thought_enough(g);
	/* What cannot be read to its end as it was found shows nothing, as long as the other way needs any number of
	 * zones. */
	is_turned = isfinite(l->fit->cost) && fit->cost < fmin(l->fit->cost - GEO_SURE, l->fit->cost / GEO_MISREAD) &&
	            !is_cut &&
	            /* of a disturbed sequence both ways may be no reading, and one by chance half as bad */
	            (!l->is_messy || fit->cost <= READ_MOST * (double)geo_order_changes(o, UINT64_MAX));
	/* Zones that are none, where a few tracks were mistaken, have sizes of their own; so what counts is what the
	 * other way costs. */
	l->is_turning_hidden =
		!is_turned && (is_cut || isfinite(fit->cost) || are_sizes_mirrored(l->fit, turned.heads));
	if (is_turned || (l->is_turning_hidden && l->shape.is_alternate && !l->is_mended && isfinite(l->fit->cost))) {
		l->shape = turned;
		geo_order_fit_whole(o, &l->shape, l->fit);
		geo_report_layout(g->ses->res, &l->shape);
	}
	if (l->is_turning_hidden)
		result_notice(g->ses->res, "heads-alternate-unseen",
		              "Whether every second band uses the heads in reverse order cannot be determined.");
}

void geo_settle_band(struct geo *g, struct geo_order *o, struct geo_layout *l)
{
	struct geo_shape longer = l->shape;
	cleanup_free struct geo_fit *fit = NULL;

	if (l->shape.heads == 1 || l->shape.band || !(longer.band = geo_band_behind(l->fit)))
		return;
	fit = xcalloc(1, sizeof(*fit));
	geo_order_fit_whole(o, &longer, fit);
	if (isfinite(fit->cost) && fit->cost <= l->fit->cost) {
		l->shape = longer;
		*l->fit = *fit;
		geo_report_layout(g->ses->res, &l->shape);
		return;
	}
	l->is_reported = false;
	result_figure_text(g->ses->res, "layout", "layout", NULL);
	result_notice(
		g->ses->res, "layout-unknown",
		"The layout cannot be determined: zones are longer than one band, and where bands end is not clear.");
}
