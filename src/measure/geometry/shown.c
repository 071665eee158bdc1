/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sequence of tracks shows of a layout by itself, so that accesses need not, or cannot. */
#include <math.h>

#include "measure/geometry/search.h"

#define SIZES \
	3 /* of a cylinder's tracks at least: of two the smaller one may have spare sectors, every so many tracks */
#define HINTS                                                                                                        \
	6.0 /* of the log-likelihood, by which accesses are likelier with no layout: a part of the surfaces was read \
	       into tracks that were mistaken */
#define COMES      16   /* so many cylinders in a row are alike */
#define BANDS      16   /* in a row */
#define TURNS      50   /* cylinders of a zone, in which two sizes come by turns, */
#define APART      2    /* sectors from each other: by one any track may be short */
#define SPARE_PART 40   /* of a track: no spare sectors take as much of it */
#define UNSEEN     12.0 /* of cost: bands that make the sequence no cheaper to read than that do not show in it */
#define CHANGES    3    /* from zone to zone, at least */
#define CUT        4    /* part of them */

/* No other surface before it is so large. */
static bool is_new_size(const struct geo_fit_zone *z, uint32_t head)
{
	bool is_new = z->size[head] > 0;

	for (uint32_t i = 0; i < head; i++)
		is_new = is_new && z->size[i] != z->size[head];
	return is_new;
}

/* The tracks on both sides of it have other sizes: with heads that alternate the one at either end of a cylinder comes
 * twice. */
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

	if (shape->band != 1 || shape->heads < SIZES || s->c[0].against > s->plain + HINTS)
		return false;
	geo_order_fit(s->o, shape, s->o->ranked, INFINITY, NULL, s->fit);
	z = geo_longest_zone(s->fit);
	if (!z || z->cylinders < COMES)
		return false;
	for (uint32_t k = 0; k < shape->heads; k++) {
		sizes += is_new_size(z, k);
		alone += stands_alone(z, shape, k);
	}
	return sizes >= SIZES && alone;
}

bool geo_do_sizes_take_turns(struct geo_search *s)
{
	const struct geo_shape *best = &s->c[0].shape;
	size_t zones = 0;

	if (!s->n || best->band != 1 || best->heads != 2 || best->is_alternate)
		return false;
	geo_order_fit(s->o, best, s->o->ranked, INFINITY, NULL, s->fit);
	for (size_t i = 0; i < s->fit->n; i++) {
		const struct geo_fit_zone *z = &s->fit->zone[i];
		uint64_t most;

		if (z->cylinders < TURNS)
			continue;
		if (geo_size_range(z, best->heads, &most) < APART)
			return false;
		zones++;
	}
	return zones > 0;
}

double geo_sizes_speak_against(struct geo_search *s, const struct geo_shape *many)
{
	bool is_read = false;
	double most = 0.0;

	for (size_t k = 0; k < s->n; k++) {
		const struct geo_candidate *few = &s->c[k];

		if (!few->is_possible || !geo_may_come_again(many, &few->shape))
			continue;
		if (!is_read)
			geo_order_fit(s->o, many, s->o->ranked, INFINITY, NULL, s->fit);
		is_read = true;
		most = fmax(most, geo_sizes_come_again(geo_longest_zone(s->fit), many, &few->shape));
	}
	return most;
}

/* Do sizes of the best layout's surfaces come again as those of fewer ones, asked or not, by more than so much of the
 * log-likelihood? */
static bool come_again(struct geo_search *s, double speaks, bool may_be_asked)
{
	const struct geo_shape *best = &s->c[0].shape;
	const struct geo_fit_zone *z;

	geo_order_fit(s->o, best, s->o->ranked, INFINITY, NULL, s->fit);
	z = geo_longest_zone(s->fit);
	for (uint32_t heads = 2; heads * 2 <= best->heads; heads++)
		for (int way = 0; way < 2; way++) {
			const struct geo_shape few = { .heads = heads, .band = best->band, .is_alternate = way };

			if (geo_may_come_again(best, &few) &&
			    (may_be_asked || !geo_is_among(s->before, s->all, &few)) &&
			    geo_sizes_come_again(z, best, &few) > speaks)
				return true;
		}
	return false;
}

bool geo_are_few_unasked(struct geo_search *s)
{
	return come_again(s, GEO_FEW_SPEAK, false);
}

bool geo_do_sizes_come_again(struct geo_search *s)
{
	return come_again(s, 0.0, true);
}

/* In a zone as far as both know it. */
static bool holds_more(const struct geo_fit_zone *a, const struct geo_fit_zone *b, uint32_t head)
{
	return a->size[head] && b->size[head] && a->size[head] > b->size[head];
}

/* Does a zone go on with the sizes of its first band, for more than one surface? A part of a longer band does not; but
 * where heads alternate it is gone through to and fro at either end. */
static bool goes_on(const struct geo_fit_zone *z, const struct geo_shape *shape)
{
	uint64_t bands = (shape->is_alternate ? 2 : 1) * shape->heads + 1;

	return 2 * z->tracks >= (2 * bands + 1) * shape->band;
}

bool geo_are_bands_cut(const struct geo_fit *fit, const struct geo_shape *shape)
{
	size_t cut = 0, changes = 0;

	for (size_t i = 1; shape->heads > 1 && shape->band > 1 && i < fit->n; i++) {
		const struct geo_fit_zone *z = &fit->zone[i];
		bool is_up = false, is_down = false;

		if (2 * z[-1].cylinders < shape->band || 2 * z->cylinders < shape->band)
			continue;
		for (uint32_t k = 0; k < shape->heads; k++) {
			is_up = is_up || holds_more(z, z - 1, k);
			is_down = is_down || holds_more(z - 1, z, k);
		}
		changes++;
		cut += is_up && is_down && !(goes_on(z - 1, shape) && goes_on(z, shape));
	}
	return changes >= CHANGES && CUT * cut > changes;
}

static double cost_of(struct geo_search *s, const struct geo_shape *shape)
{
	geo_order_fit(s->o, shape, s->o->ranked, INFINITY, NULL, s->fit);
	return s->fit->cost;
}

bool geo_is_dear(struct geo_search *s, const struct geo_shape *shape, const struct geo_shape *cheapest)
{
	double least = cost_of(s, cheapest);

	return cost_of(s, shape) > GEO_MISREAD * least + GEO_SPEAKS;
}

size_t geo_turning_shown(struct geo_search *s)
{
	const struct geo_shape *first = &s->c[0].shape;

	for (size_t i = 1; i < s->n; i++) {
		const struct geo_shape *other = &s->c[i].shape;

		if (geo_is_turned(first, other) &&
		    (first->is_alternate ? !geo_is_dear(s, other, first) : geo_is_dear(s, first, other)))
			return i;
	}
	return 0;
}

bool geo_do_sizes_show_bands(struct geo_search *s)
{
	const struct geo_shape *best = &s->c[0].shape;
	const struct geo_shape cylinders = { .heads = (uint32_t)best->band, .band = 1 };
	const struct geo_fit_zone *z;
	double cost = cost_of(s, best);
	uint64_t most;

	z = geo_longest_zone(s->fit);
	if (!z || z->cylinders < BANDS * best->band)
		return false;
	return geo_size_range(z, best->heads, &most) > most / SPARE_PART &&
	       cost_of(s, &cylinders) > GEO_MISREAD * cost + UNSEEN;
}

bool geo_do_bands_not_show(struct geo_search *s)
{
	for (size_t i = 0; i < s->all; i++)
		if (s->before[i].shape.heads == 1)
			return cost_of(s, &s->before[i].shape) <= cost_of(s, &s->c[0].shape) + UNSEEN;
	return false;
}

bool geo_are_bands_unseen(struct geo_search *s)
{
	const struct geo_shape *best = &s->c[0].shape;

	return s->n && best->heads > 1 && best->band != 1 && best->band <= GEO_HEADS && geo_do_bands_not_show(s);
}

bool geo_may_be_bands(struct geo_search *s)
{
	const struct geo_shape best = s->c[0].shape;
	double cost;

	if (best.band != 1)
		return false;
	cost = cost_of(s, &best);
	for (uint32_t heads = 2; heads * 2 <= best.heads; heads++) {
		const struct geo_shape bands = { .heads = heads,
			                         .band = best.heads / heads,
			                         .is_alternate = best.is_alternate };

		if (best.heads % heads == 0 && !geo_is_among(s->before, s->all, &bands) &&
		    cost_of(s, &bands) <= GEO_MISREAD * cost + UNSEEN &&
		    geo_speaks_against_mended(s, &bands) < GEO_SPEAKS)
			return true;
	}
	return false;
}

/*
 * Where heads alternate the surface comes first again that was last, and with it those beside it that hold as many:
 * they say nothing, as any other number of surfaces could end, or begin, with so many that are alike. How many.
 */
static uint32_t alike_at_turn(const struct geo_fit_zone *z, const struct geo_shape *shape)
{
	uint32_t heads = shape->heads, first = 0, last = 0;

	while (first < heads && z->size[first] == z->size[0])
		first++;
	while (last < heads && z->size[heads - 1 - last] == z->size[heads - 1])
		last++;
	return !shape->is_alternate ? 0 : first > last ? first : last;
}

bool geo_comes_again(const struct geo_fit *fit, const struct geo_shape *shape)
{
	for (size_t i = 0; i < fit->n; i++) {
		uint64_t bands = shape->heads + alike_at_turn(&fit->zone[i], shape);

		if (fit->zone[i].tracks >= bands * shape->band + shape->band / 2)
			return true;
	}
	return false;
}
