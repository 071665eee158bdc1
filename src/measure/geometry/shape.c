/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A layout, and what its reading of the sequence shows. */
#include <inttypes.h>
#include <stdio.h>

#include "measure/geometry/layout.h"

#define SEEN_LEAST \
	2 /* surfaces whose sizes come again behind a band: one alone may be a zone that another one follows */

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

void geo_tell_layout(struct result *res, const struct geo_shape *shape)
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

void geo_say_turning_is_hidden(struct result *res)
{
	result_notice(res, "heads-alternate-unseen",
	              "Whether every second band uses the heads in reverse order cannot be determined.");
}

bool geo_is_turned(const struct geo_shape *a, const struct geo_shape *b)
{
	return a->heads == b->heads && a->band == b->band && a->is_serpentine == b->is_serpentine &&
	       a->is_alternate != b->is_alternate;
}
