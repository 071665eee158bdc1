/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A zone that is one band may be shorter than a band: the first that is longer shows where its first band ends. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/layout.h"

/* Surfaces whose sizes come again behind a band: one alone may be a zone that another one follows. */
#define SEEN_LEAST 2

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
		(void)snprintf(text, sizeof(text), "track after track");
	else if (shape->band == 1)
		(void)snprintf(text, sizeof(text), "head-first%s", heads);
	else if (shape->band == 0)
		(void)snprintf(text, sizeof(text), "seek-first, a zone is one band, %s%s", way, heads);
	else
		(void)snprintf(text, sizeof(text), "seek-first in bands of %" PRIu64 " tracks, %s%s", shape->band, way,
		               heads);
	result_figure_text(res, "layout", "layout", text);
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
