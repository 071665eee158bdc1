/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sequence of tracks shows of a layout by itself, so that accesses need not, or cannot. */
#include <math.h>

#include "measure/geometry/search.h"

#define SIZES \
	3 /* of a cylinder's tracks at least: of two the smaller one may have spare sectors, every so many tracks */
#define COMES  16   /* so many cylinders in a row are alike */
#define UNSEEN 12.0 /* of cost: bands that make the sequence no cheaper to read than that do not show in it */

static const struct geo_fit_zone *longest_zone(const struct geo_fit *fit)
{
	const struct geo_fit_zone *longest = NULL;

	for (size_t i = 0; i < fit->n; i++)
		if (!longest || fit->zone[i].cylinders > longest->cylinders)
			longest = &fit->zone[i];
	return longest;
}

/* No other surface before it is so large. */
static bool is_new_size(const struct geo_fit_zone *z, uint32_t head)
{
	bool is_new = z->size[head] > 0;

	for (uint32_t i = 0; i < head; i++)
		is_new = is_new && z->size[i] != z->size[head];
	return is_new;
}

/* The tracks on both sides of it have other sizes: with heads that alternate the one at either end of a cylinder comes twice. */
static bool stands_alone(const struct geo_fit_zone *z, const struct geo_shape *shape, uint32_t head)
{
	uint32_t before = head ? head - 1 : shape->heads - 1, behind = head + 1 < shape->heads ? head + 1 : 0;

	if (shape->is_alternate && (head == 0 || behind == 0))
		return false;
	return z->size[head] != z->size[before] && z->size[head] != z->size[behind];
}

bool geo_are_sizes_of_heads(struct geo_search *s, const struct geo_shape *shape)
{
	const struct geo_fit_zone *z;
	size_t sizes = 0, alone = 0;

	if (shape->band != 1 || shape->heads < SIZES)
		return false;
	geo_order_fit(s->o, shape, GEO_RANK_TRACKS, INFINITY, NULL, s->fit);
	z = longest_zone(s->fit);
	if (!z || z->cylinders < COMES)
		return false;
	for (uint32_t k = 0; k < shape->heads; k++) {
		sizes += is_new_size(z, k);
		alone += stands_alone(z, shape, k);
	}
	return sizes >= SIZES && alone;
}

static double cost_of(struct geo_search *s, const struct geo_shape *shape)
{
	geo_order_fit(s->o, shape, GEO_RANK_TRACKS, INFINITY, NULL, s->fit);
	return s->fit->cost;
}

bool geo_are_bands_unseen(struct geo_search *s)
{
	const struct geo_shape *best = &s->c[0].shape;

	if (!s->n || best->heads == 1 || best->band < 2 || best->band > GEO_HEADS)
		return false;
	for (size_t i = 0; i < s->all; i++)
		if (s->before[i].shape.heads == 1)
			return cost_of(s, &s->before[i].shape) <= cost_of(s, best) + UNSEEN;
	return false;
}
