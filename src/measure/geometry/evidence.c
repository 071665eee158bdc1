/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said for and against each layout: by accesses, by sizes and skews. The logarithms of
 * all likelihoods add up, over all looks, and what is left in the end follows from their sum.
 * Where its bands begin is part of a hypothesis: the sequence may have been read from the wrong track on.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/layout.h"

#define FITS                                                                                                         \
	25 /* so one of that many accesses may be off, or half of them, where what is off may be a sign that another \
	      layout is true */
#define THOUGHT_EACH 200 /* steps of a law for each access, */

bool geo_fits(const struct geo_search *s, const struct geo_hypothesis *h, size_t times)
{
	return s->nmade && times * FITS * h->off <= s->nmade;
}

/* ---- where tracks are under a hypothesis ---- */

/* Where a track is in the order of its zone; UINT64_MAX: in a part of a band. */
static uint64_t slot_of(const struct geo_shape *shape, const struct geo_fit_zone *z, uint64_t cylinder, uint32_t head)
{
	uint64_t size = shape->band ? shape->band : z->cylinders, band, at, k;

	if (cylinder < z->cylinder || cylinder - z->cylinder >= z->cylinders / size * size)
		return UINT64_MAX;
	band = (cylinder - z->cylinder) / size;
	at = (cylinder - z->cylinder) % size;
	k = shape->is_alternate && band % 2 ? shape->heads - 1 - head : head;
	if (shape->is_serpentine && k % 2)
		at = size - 1 - at;
	return (band * shape->heads + k) * size + at;
}

/* Where tracks of the stretch are in the order of a reading, with the places that it has them at itself. */
static bool read_stretch(struct geo_search *s, const struct geo_shape *read, struct geo_place *ret)
{
	cleanup_free uint64_t *cylinder = xcalloc(s->tracks, sizeof(*cylinder));
	cleanup_free uint32_t *head = xcalloc(s->tracks, sizeof(*head));
	struct geo_labels labels = { .first = s->first, .n = s->tracks, .cylinder = cylinder, .head = head };
	uint32_t zone = 0;

	for (uint64_t t = 0; t < s->tracks && read->heads == 0; t++)
		ret[t] = (struct geo_place){ .slot = s->first + t };
	if (read->heads == 0)
		return true;
	geo_order_fit(s->o, read, geo_read_behind(read, s->first + s->tracks), INFINITY, &labels, s->fit);
	for (uint64_t t = 0; t < s->tracks && isfinite(s->fit->cost); t++) {
		const struct geo_fit_zone *z;

		while (zone + 1 < s->fit->n && s->fit->zone[zone + 1].track <= s->first + t)
			zone++;
		z = &s->fit->zone[zone];
		ret[t] = (struct geo_place){ .cylinder = cylinder[t],
			                     .head = head[t],
			                     .zone = zone,
			                     .slot = slot_of(read, z, cylinder[t], head[t]) };
	}
	return isfinite(s->fit->cost);
}

/* The same surfaces and bands, also parts of bands, but every second surface backwards. */
static void turn_round(const struct geo_shape *read, const struct geo_fit_zone *z, struct geo_place *p)
{
	uint64_t size = read->band ? read->band : z->cylinders, at = p->cylinder - z->cylinder, band = at / size;
	uint64_t left = z->cylinders - band * size, length = left < size ? left : size;
	uint32_t k = read->is_alternate && band % 2 ? read->heads - 1 - p->head : p->head;

	if (at < z->cylinders && k % 2)
		p->cylinder = z->cylinder + band * size + length - 1 - at % size;
}

/* As that layout has what a reading has put in order. */
static void place_stretch(const struct geo_search *s, const struct geo_hypothesis *h, const struct geo_place *read,
                          struct geo_place *ret)
{
	bool is_read_so = geo_is_read_so(h), is_round = h->shape.is_serpentine;
	uint64_t begin = 0, zone = UINT64_MAX;

	memcpy(ret, read, s->tracks * sizeof(*ret));
	for (uint64_t t = 0; t < s->tracks && (!is_read_so || is_round); t++) {
		const struct geo_fit_zone *z = &s->fit->zone[read[t].zone];

		if (is_read_so) {
			turn_round(&h->read, z, &ret[t]);
			continue;
		}
		if (read[t].slot == UINT64_MAX)
			continue;
		if (h->read.heads && zone != read[t].zone)
			begin = geo_begin_of(s->o, z, h);
		zone = read[t].zone;
		ret[t].slot += begin;
		geo_place_of(&h->shape, ret[t].slot, &ret[t]);
		ret[t].cylinder += h->read.heads ? z->cylinder * h->read.heads / h->shape.heads : 0;
	}
}

bool geo_label_stretch(struct geo_search *s, const struct geo_hypothesis *h, struct geo_place *ret)
{
	cleanup_free struct geo_place *read = xcalloc(s->tracks, sizeof(*read));

	if (!read_stretch(s, &h->read, read))
		return false;
	place_stretch(s, h, read, ret);
	return true;
}

void geo_set_between(struct geo_access *seen, const struct geo_place *a, const struct geo_place *b)
{
	seen->cylinders = a->cylinder > b->cylinder ? a->cylinder - b->cylinder : b->cylinder - a->cylinder;
	seen->is_other_head = a->head != b->head;
}

/* Accesses of one look, and where their tracks are. */
struct look {
	struct geo_access *seen;
	struct geo_place place[GEO_PAIRS][2];
	size_t n;
};

static bool is_in_order(const struct geo_place place[2])
{
	return place[0].slot < UINT64_MAX && place[1].slot < UINT64_MAX && place[0].zone == place[1].zone;
}

/* The same with bands that begin that many slots sooner. */
static void shift_bands(const struct look *k, const struct geo_shape *shape, uint64_t by, struct geo_access *ret)
{
	memcpy(ret, k->seen, k->n * sizeof(*ret));
	for (size_t i = 0; i < k->n; i++) {
		struct geo_place place[2];

		if (!is_in_order(k->place[i]))
			continue;
		for (int j = 0; j < 2; j++)
			geo_place_of(shape, k->place[i][j].slot + by, &place[j]);
		geo_set_between(&ret[i], &place[0], &place[1]);
	}
}

/* Minus the log-likelihood of all accesses up to the n-th of this look, under the law that suits them best. */
static double law_cost(struct geo_search *s, const struct geo_hypothesis *h, size_t n)
{
	(void)geo_think(s->g, GEO_THOUGHT + (s->nmade + n) * THOUGHT_EACH);
	return geo_law_of(h->seen, s->nmade + n).cost;
}

/* Bands may begin elsewhere than they were read from. Of all begins the one is tried by which accesses of a kind are
 * least apart; it is believed if the law of the arm gains by far, and paid for, as there are many begins. */
static void begin_elsewhere(struct geo_search *s, struct geo_hypothesis *h, const struct look *k)
{
	const struct geo_shape *shape = &h->shape;
	uint64_t turn = shape->heads * shape->band * (shape->is_alternate ? 2 : 1), best = 0;
	uint64_t step = turn <= GEO_SOME_TRACKS ? 1 : shape->band; /* of longer ones those with another surface */
	double price = log((double)(turn / step) / GEO_MISREAD_SHARE), as_read;
	double least = geo_law_spread(k->seen, k->n, s->scatter) - price;
	struct geo_access shifted[GEO_PAIRS], read[GEO_PAIRS];

	for (uint64_t by = step; least > 0.0 && by < turn; by += step) {
		double cost;

		shift_bands(k, shape, by, shifted);
		cost = geo_law_spread(shifted, k->n, s->scatter);
		if (cost >= least)
			continue;
		least = cost;
		best = by;
	}
	if (best == 0)
		return;
	as_read = law_cost(s, h, k->n);
	memcpy(read, k->seen, k->n * sizeof(*read));
	shift_bands(k, shape, best, shifted);
	memcpy(k->seen, shifted, k->n * sizeof(*shifted));
	if (as_read - law_cost(s, h, k->n) > 2.0 * GEO_SPEAKS) { /* a few wrong accesses do as much as less */
		h->prior += price;
		h->is_shifted = true;
	} else {
		memcpy(k->seen, read, k->n * sizeof(*read));
	}
}

/* The accesses of this look as a layout has them. */
static void add_seen(struct geo_search *s, struct geo_hypothesis *h, const struct geo_place *place)
{
	struct look k = { .seen = h->seen + s->nmade };

	for (size_t i = 0; i < s->npairs; i++) {
		const struct geo_place at[2] = { place[s->a[i]], place[s->b[i]] };

		if (!isfinite(s->pair[i].access))
			continue;
		k.seen[k.n] = (struct geo_access){ .is_again = s->is_again[i],
			                           .access = s->pair[i].access,
			                           .error = s->pair[i].error };
		geo_set_between(&k.seen[k.n], &at[0], &at[1]);
		k.seen[k.n].is_unplaced = geo_is_unplaced(h, &at[0], &at[1]);
		memcpy(k.place[k.n++], at, sizeof(at));
	}
	if (h->shape.heads > 1 && h->shape.band)
		begin_elsewhere(s, h, &k);
}

/* The same for all, each reading of the sequence once; those that do not explain it up to there go. */
static void add_look(struct geo_search *s)
{
	cleanup_free struct geo_place *read = xcalloc(s->tracks, sizeof(*read)),
				      *place = xcalloc(s->tracks, sizeof(*place));
	bool is_done[GEO_ASKED_MAX] = { false }, is_read[GEO_ASKED_MAX] = { false };
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (is_done[i])
			continue;
		is_read[i] = read_stretch(s, &s->h[i].read, read);
		for (size_t k = i; k < s->n; k++) {
			if (!geo_is_same_layout(&s->h[k].read, &s->h[i].read))
				continue;
			is_done[k] = true;
			is_read[k] = is_read[i];
			if (!is_read[k])
				continue;
			place_stretch(s, &s->h[k], read, place);
			add_seen(s, &s->h[k], place);
		}
	}
	if (geo_has_thought_enough(s->g)) /* what could not be read says nothing; all is as before this look */
		return;
	for (size_t i = 0; i < s->n; i++)
		if (is_read[i])
			s->h[n++] = s->h[i];
	s->n = n;
}

/* ---- all together ---- */

static size_t count_off(const struct geo_search *s, const struct geo_hypothesis *h)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nmade; i++)
		n += geo_is_evidence(&h->seen[i]) &&
		     !(fabs(h->seen[i].access - geo_law_at(&h->law, &h->seen[i])) <
		       GEO_BEYOND * hypot(h->seen[i].error, fmax(2.0 * GEO_MISFIT, s->scatter)));
	return n;
}

static int by_cost(const void *x, const void *y)
{
	const struct geo_hypothesis *a = x, *b = y;

	return (a->cost > b->cost) - (a->cost < b->cost);
}

/* A curve that suits well is not found from anywhere: each is looked for from the one that was found before, and from
 * that of the best layout, too, as there is but one arm. */
static void find_laws(struct geo_search *s)
{
	double scale = INFINITY;
	size_t best = 0;

	for (size_t i = 0; i < s->n && !geo_think(s->g, GEO_THOUGHT + s->nmade * THOUGHT_EACH); i++) {
		struct geo_hypothesis *h = &s->h[i];

		if (s->looks < GEO_TWICE) /* behind these a law is near the one that was found before */
			h->law = geo_law_of(h->seen, s->nmade);
		else
			h->law = geo_law_from(h->seen, s->nmade, &h->law, NULL);
		if (h->law.cost < s->h[best].law.cost)
			best = i;
	}
	for (size_t i = 0; i < s->n && !geo_think(s->g, GEO_THOUGHT + s->nmade * THOUGHT_EACH); i++) {
		if (i != best)
			s->h[i].law = geo_law_from(s->h[i].seen, s->nmade, &s->h[best].law, &s->h[i].law);
		s->h[i].off = count_off(s, &s->h[i]);
		if (geo_fits(s, &s->h[i], 1))
			scale = fmin(scale, s->h[i].law.scale);
	}
	scale = isfinite(scale) ? scale : s->h[best].law.scale;
	for (size_t i = 0; i < s->n; i++)
		s->h[i].cost = s->h[i].prior + geo_law_cost(s->h[i].seen, s->nmade, &s->h[i].law, scale);
}

void geo_weigh(struct geo_search *s)
{
	/* A few accesses that are wrong in the first look must not decide. */
	double most = (s->looks ? 1.0 : 2.0) * GEO_SPEAKS;

	add_look(s);
	if (geo_has_thought_enough(s->g))
		return;
	for (size_t i = 0; i < s->npairs; i++)
		s->nmade += isfinite(s->pair[i].access);
	find_laws(s);
	qsort(s->h, s->n, sizeof(s->h[0]), by_cost);
	s->looks++;
	for (s->left = 0; s->left < s->n && s->h[s->left].cost <= s->h[0].cost + most;)
		s->left++;
	if (s->n > s->left + GEO_RIVALS)
		s->n = s->left + GEO_RIVALS;
}
