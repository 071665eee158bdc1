/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of the analysis in their order, for one target. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/zones.h"

double zone_place(const struct zone_target *t, double x_bytes)
{
	double size = (double)(t->dev->disk_size_bytes ? t->dev->disk_size_bytes : t->dev->size_bytes);

	return ((double)t->dev->partition_offset_bytes + x_bytes) / size;
}

void zone_analysis_free(struct zone_analysis *a)
{
	if (!a)
		return;
	zone_levels_done(&a->levels);
	free(a->slows.v);
	free(a->stretches.v);
	free(a->bands.v);
	free(a);
}

/* The smooth law of constant linear density, by the healthy positions. */
static void fit_curve(const struct zone_target *t, struct zone_analysis *a)
{
	cleanup_free double *x = xcalloc(a->levels.n + 1, sizeof(*x));
	cleanup_free double *rate = xcalloc(a->levels.n + 1, sizeof(*rate));
	size_t n = 0;

	for (size_t p = 0; p < a->levels.n; p++) {
		if (!a->levels.v[p].n || zone_is_in_slow(&a->slows, p, false) || zone_is_in_stretch(&a->stretches, p))
			continue;
		x[n] = zone_place(t, (double)t->layout.positions[p].cell_bytes + 0.5 * (double)t->layout.cell_bytes);
		rate[n++] = zone_rate(a->levels.v[p].y);
	}
	a->has_density = n >= 5 && x[n - 1] - x[0] > 0.2 && fit_density(x, rate, n, &a->density);
}

/*
 * Zones are reported of what rotates. Where nobody says whether it does (a virtual disk, a loop device, which call
 * themselves rotating or not as it comes), the curve has to look like it: the rates of every zoned disk fall by a
 * quarter and more from start to end.
 */
static void doubt_zones(const struct zone_target *t, struct zone_analysis *a)
{
	if (t->layout.rev_ns == 0.0)
		a->has_no_zones = true;
	else if (isnan(t->layout.rev_ns) && a->has_density && !a->slows.n && a->levels.v[0].n &&
	         a->levels.v[a->levels.n - 1].n)
		a->has_no_zones = a->density.r > ZONE_FALL_LEAST;
	/* Where another device begins rates rise again, so that they need not fall from start to end. */
	a->hides_zones =
		!a->has_no_zones && a->bands.n == 1 && (isfinite(zone_begins_anew(&a->stretches)) || a->bands.is_least);
	if (a->has_no_zones || a->hides_zones)
		a->bands.n = 0;
	if (a->has_no_zones || isfinite(zone_begins_anew(&a->stretches)))
		a->has_density = false;
}

void zone_analyse_places(struct zone_target *t)
{
	struct zone_analysis *a = xcalloc(1, sizeof(*a));
	struct zone_stretches fast = { 0 }; /* without it what is stored would be slow beside what is not */

	t->layout.has_members = device_has_members(t->dev);
	zone_levels_fit(&t->samples, &t->layout, &a->levels);
	zone_stretches_find(&t->layout, &a->levels, &a->slows, &fast);
	zone_slows_find(&t->layout, &a->levels, &fast, &a->slows);
	free(fast.v);
	zone_analysis_free(t->analysis);
	t->analysis = a;
}

void zone_analyse(struct zone_target *t)
{
	struct zone_analysis *a;

	zone_analyse_places(t);
	a = t->analysis;
	zone_stretches_find(&t->layout, &a->levels, &a->slows, &a->stretches);
	zone_bands_find(&t->layout, &a->levels, &a->slows, &a->stretches, &a->bands);
	a->has_mean = zone_mean(&t->layout, &a->levels, &a->bands, &a->slows, &a->mean_ns_per_byte, &a->mean_ci);
	a->is_by_length = zone_is_by_length(&t->layout, &a->levels);
	a->has_mean = a->has_mean && !a->is_by_length;
	fit_curve(t, a);
	doubt_zones(t, a);
}

void zone_targets_done(struct zones_run *run)
{
	for (size_t i = 0; i < run->ntargets; i++) {
		zone_layout_done(&run->targets[i].layout);
		zone_analysis_free(run->targets[i].analysis);
		free(run->targets[i].samples.v);
		free(run->targets[i].unreadable);
	}
	free(run->targets);
}
