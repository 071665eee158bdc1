/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A layout that cuts the bands of the one that is left otherwise, with its reading of the sequence mended: accesses may
 * have spoken against it only because it was read from the wrong track on. So the bands of the layout that is left are
 * cut as the other one cuts them, wherever in them one of it may begin, and all accesses are held against the best of
 * these ways. And a head-first layout whose cylinders were read from the wrong track on is read anew where accesses say
 * from which one.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/geometry/search.h"

#define TURNED (2.0 * GEO_SPEAKS) /* as for one look (layout.c): so much less likely they are as it was read */

/* The accesses that lie within whole bands of one zone. */
struct within {
	uint64_t slot[GEO_MADE_MOST][2]; /* in the order of the zone's bands */
	struct geo_access left[GEO_MADE_MOST], rival[GEO_MADE_MOST];
	size_t n;
};

static const struct geo_fit_zone *zone_of(const struct geo_fit *fit, uint64_t track)
{
	for (size_t i = 0; i < fit->n; i++)
		if (track >= fit->zone[i].track && track - fit->zone[i].track < fit->zone[i].tracks)
			return &fit->zone[i];
	return NULL;
}

/* Where a track is in the zone's order; false: in a part of a band. */
static bool slot_of(const struct geo_shape *shape, const struct geo_fit_zone *z, uint64_t cylinder, uint32_t head,
                    uint64_t *ret)
{
	uint64_t whole, band, at, k;

	if (!z || cylinder < z->cylinder)
		return false;
	whole = z->cylinders / shape->band * shape->band;
	band = (cylinder - z->cylinder) / shape->band;
	at = (cylinder - z->cylinder) % shape->band;
	k = shape->is_alternate && band % 2 ? shape->heads - 1 - head : head;
	if (shape->is_serpentine && k % 2)
		at = shape->band - 1 - at;
	*ret = (band * shape->heads + k) * shape->band + at;
	return cylinder - z->cylinder < whole;
}

bool geo_label_made(struct geo_search *s, const struct geo_shape *shape, struct geo_made_labels *ret)
{
	uint64_t end = 0;
	struct geo_labels labels;

	*ret = (struct geo_made_labels){ .first = UINT64_MAX };
	for (size_t i = 0; i < s->nmade; i++)
		for (int k = 0; k < 2; k++) {
			ret->first = s->made_at[i][k] < ret->first ? s->made_at[i][k] : ret->first;
			end = s->made_at[i][k] >= end ? s->made_at[i][k] + 1 : end;
		}
	if (ret->first >= end)
		return false;
	ret->n = end - ret->first;
	ret->cylinder = calloc(ret->n, sizeof(*ret->cylinder));
	ret->head = calloc(ret->n, sizeof(*ret->head));
	if (!ret->cylinder || !ret->head)
		return false;
	labels = (struct geo_labels){ .first = ret->first, .n = ret->n, .cylinder = ret->cylinder, .head = ret->head };
	geo_order_fit(s->o, shape, geo_read_behind(shape, end), INFINITY, &labels, s->fit);
	return isfinite(s->fit->cost);
}

void geo_made_labels_free(struct geo_made_labels *l)
{
	free(l->cylinder);
	free(l->head);
}

static bool find_within(struct geo_search *s, struct within *w)
{
	const struct geo_shape *shape = &s->c[0].shape;
	struct geo_made_labels l;
	bool is_read = geo_label_made(s, shape, &l);

	for (size_t i = 0; i < s->nmade && is_read; i++) {
		const struct geo_fit_zone *z = zone_of(s->fit, s->made_at[i][0]);
		bool is_within = z && z == zone_of(s->fit, s->made_at[i][1]);

		for (int k = 0; k < 2 && is_within; k++) {
			uint64_t at = s->made_at[i][k] - l.first;

			is_within = slot_of(shape, z, l.cylinder[at], l.head[at], &w->slot[w->n][k]);
		}
		if (is_within)
			w->left[w->n++] = s->c[0].seen[i];
	}
	geo_made_labels_free(&l);
	return w->n > 0;
}

/* The rival's bands begin so many slots before those of the layout that is left. */
static void cut(struct within *w, const struct geo_shape *rival, uint64_t shift)
{
	uint64_t size = rival->heads * rival->band;

	for (size_t i = 0; i < w->n; i++) {
		uint64_t cylinder[2], head[2];

		for (int k = 0; k < 2; k++) {
			uint64_t slot = w->slot[i][k] + shift, at = slot % rival->band;
			uint64_t band = slot / size, head_at = slot % size / rival->band;

			if (rival->is_serpentine && head_at % 2)
				at = rival->band - 1 - at;
			head[k] = rival->is_alternate && band % 2 ? rival->heads - 1 - head_at : head_at;
			cylinder[k] = band * rival->band + at;
		}
		w->rival[i] = w->left[i];
		w->rival[i].is_other_head = head[0] != head[1];
		w->rival[i].cylinders =
			cylinder[0] > cylinder[1] ? cylinder[0] - cylinder[1] : cylinder[1] - cylinder[0];
	}
}

/* Can the bands of the one be cut as the other's are? */
static bool has_comparable_bands(const struct geo_shape *left, const struct geo_shape *rival)
{
	return left->band && rival->band &&
	       (left->band == rival->band || left->heads * left->band % (rival->heads * rival->band) == 0);
}

/* The rival's bands, as they suit the accesses best. */
struct best_cut {
	double against; /* how much less likely they are than as the best layout has them */
	uint64_t shift;
	bool is_serpentine;
};

/* against is minus infinity where that could not be found out. w, curve: the accesses as the best layout has them, and
 * what suits them. */
static struct best_cut find_cut(struct geo_search *s, struct within *w, const struct geo_curve *curve,
                                const struct geo_shape *rival)
{
	const struct geo_shape *left = &s->c[0].shape;
	uint64_t size = rival->heads * rival->band, step = rival->band < left->band ? rival->band : left->band;
	struct best_cut ret = { .against = INFINITY }, unknown = { .against = -INFINITY };

	if (!has_comparable_bands(left, rival))
		return unknown;
	for (uint64_t shift = 0; shift < size * (rival->is_alternate ? 2 : 1); shift += step)
		for (int way = 0; way < (rival->band > 1 ? 2 : 1); way++) {
			struct geo_shape shape = *rival;
			double against;

			if (geo_has_thought_enough(s->g))
				return unknown;
			shape.is_serpentine = way;
			cut(w, &shape, shift);
			against = geo_speaks_against(w->rival, w->left, w->n, curve);
			if (against < ret.against)
				ret = (struct best_cut){ against, shift, way };
		}
	return ret;
}

double geo_speaks_against_mended(struct geo_search *s, const struct geo_shape *rival)
{
	cleanup_free struct within *w = NULL;
	struct geo_curve curve;

	if (!has_comparable_bands(&s->c[0].shape, rival))
		return -INFINITY;
	w = calloc(1, sizeof(*w));
	if (!w || !find_within(s, w))
		return -INFINITY;
	curve = geo_curve_of(w->left, w->n);
	return find_cut(s, w, &curve, rival).against;
}

double geo_speaks_against_bands(struct geo_search *s)
{
	const struct geo_shape *left = &s->c[0].shape;
	cleanup_free struct within *w = calloc(1, sizeof(*w));
	double least = INFINITY;
	struct geo_curve curve;

	if (left->band != 1 || left->heads == 1 || !w || !find_within(s, w))
		return INFINITY;
	curve = geo_curve_of(w->left, w->n);
	for (uint32_t heads = 2; heads <= GEO_HEADS && !geo_has_thought_enough(s->g); heads++)
		for (int way = 0; way < 2; way++) {
			const struct geo_shape bands = { .heads = heads, .band = left->heads, .is_serpentine = way };

			cut(w, &bands, 0);
			least = fmin(least, geo_speaks_against(w->rival, w->left, w->n, &curve));
		}
	return least;
}

/* ---- rivals that may be misread ---- */

/*
 * Do some surfaces hold more than in the zone before, and others not? All do where another arm or disk begins, else
 * none; so bands were cut where they are not: accesses are held against tracks that are on other surfaces then, and
 * speak against a layout that may be true.
 */
static bool is_misread(const struct geo_fit *fit, uint32_t heads)
{
	for (size_t i = 1; i < fit->n; i++) {
		uint32_t up = 0;

		for (uint32_t k = 0; k < heads; k++)
			up += fit->zone[i].size[k] > fit->zone[i - 1].size[k];
		if (up && up < heads)
			return true;
	}
	return false;
}

/* Are the bands of that one a whole number of the rival's, cut otherwise? With zones of one band each both have such.
 */
static bool has_bands_of(const struct geo_shape *left, const struct geo_shape *rival)
{
	if (left->band == 0 || rival->band == 0)
		return left->band == rival->band;
	return left->heads * left->band % (rival->heads * rival->band) == 0;
}

/* Heads that alternate from cylinder to cylinder come two by two, as in bands of two cylinders that begin a track
 * later. */
static bool is_turned_cylinder_by_cylinder(const struct geo_shape *shape, const struct geo_shape *left)
{
	return shape->band == 1 && shape->is_alternate && left->band > 1;
}

/* Where the first and the last of the rival's bands begin, of those that accesses were made in; how many of the two
 * there are. */
static size_t find_begins(struct geo_search *s, const struct geo_shape *rival, uint64_t shift, uint64_t ret[2])
{
	const struct geo_shape *left = &s->c[0].shape;
	uint64_t turn = rival->heads * rival->band * (rival->is_alternate ? 2 : 1), before = UINT64_MAX;
	struct geo_made_labels l;
	bool is_read = geo_label_made(s, left, &l);
	size_t n = 0;

	for (uint64_t i = 0; is_read && i < l.n; i++) {
		const struct geo_fit_zone *z = zone_of(s->fit, l.first + i);
		uint64_t slot = 0;

		if (!slot_of(left, z, l.cylinder[i], l.head[i], &slot)) {
			before = UINT64_MAX;
			continue;
		}
		slot += shift;
		if (before < UINT64_MAX && slot / turn > before / turn) {
			ret[n ? 1 : 0] = l.first + i;
			n = n < 2 ? n + 1 : n;
		}
		before = slot;
	}
	geo_made_labels_free(&l);
	return n;
}

/* Its bands begin there; as long as there is room for one more. */
static void pin(struct geo_order *o, const struct geo_shape *shape, uint64_t track)
{
	if (o->npins < GEO_PINS)
		o->pin[o->npins++] =
			(struct geo_pin){ .track = track, .first = geo_order_first(o, track), .shape = *shape };
}

bool geo_pin_rival(struct geo_search *s, size_t *ret)
{
	cleanup_free struct within *w = calloc(1, sizeof(*w));
	struct best_cut best = { .against = -TURNED };
	size_t pins = s->o->npins, rival = s->all, n;
	struct geo_curve curve;
	uint64_t begin[2];

	if (s->c[0].shape.band == 0 || !w || !find_within(s, w))
		return false;
	curve = geo_curve_of(w->left, w->n);
	for (size_t i = 0; i < s->all; i++) {
		const struct geo_shape *shape = &s->before[i].shape;
		struct best_cut of;

		if (shape->is_serpentine || shape->heads == 1 || geo_is_among(s->c, s->n, shape) ||
		    geo_has_pin(s->o, shape))
			continue;
		of = find_cut(s, w, &curve, shape);
		if (!isfinite(of.against) || of.against >= best.against)
			continue;
		best = of;
		rival = i;
	}
	if (rival == s->all)
		return false;
	n = find_begins(s, &s->before[rival].shape, best.shift, begin);
	for (size_t k = 0; k < n; k++)
		pin(s->o, &s->before[rival].shape, begin[k]);
	*ret = rival;
	while (*ret < s->all && (!geo_is_same_sequence(&s->before[*ret].shape, &s->before[rival].shape) ||
	                         s->before[*ret].shape.is_serpentine != best.is_serpentine))
		++*ret;
	if (*ret == s->all)
		s->o->npins = pins;
	return s->o->npins > pins;
}

bool geo_may_rival_be_misread(struct geo_search *s, const struct geo_shape *left)
{
	bool are_heads_unseen;
	double cost;

	geo_order_fit(s->o, left, s->o->ranked, INFINITY, NULL, s->fit);
	cost = s->fit->cost;
	are_heads_unseen = geo_are_heads_unseen(s->o, geo_longest_zone(s->fit), left);
	for (size_t i = 0; i < s->all; i++) {
		const struct geo_shape *shape = &s->before[i].shape;
		/* Neither sizes nor skews tell them apart, so that what the rival costs is chance. */
		bool unseen = are_heads_unseen && shape->band == left->band;

		/* The way of the arm makes no difference to the sequence, and is mended as well. */
		if (shape->is_serpentine || shape->heads == 1 || !(unseen || has_bands_of(left, shape)) ||
		    (shape->heads == left->heads && !is_turned_cylinder_by_cylinder(shape, left)))
			continue;
		if (geo_has_thought_enough(s->g))
			return true;
		geo_order_fit(s->o, shape, s->o->ranked, INFINITY, NULL, s->fit);
		if (!unseen && s->fit->cost > fmax(cost + GEO_SPEAKS, GEO_MISREAD * cost))
			continue;
		if (left->band ? geo_speaks_against_mended(s, shape) < GEO_SPEAKS : is_misread(s->fit, shape->heads))
			return true;
	}
	return false;
}

/* ---- cylinders that begin elsewhere ---- */

bool geo_has_pin(const struct geo_order *o, const struct geo_shape *shape)
{
	for (size_t i = 0; i < o->npins; i++)
		if (geo_is_same_sequence(&o->pin[i].shape, shape))
			return true;
	return false;
}

/*
 * Of the accesses that agree with it only so, the first and the last one say where a cylinder begins: what lies between
 * is read as it must be to come from the one to the other, and what lies beyond may have been read rightly.
 */
static bool pin_ends(struct geo_search *s, const struct geo_shape *shape, const struct within *w,
                     const uint64_t (*track)[2], uint64_t shift)
{
	struct geo_verdict before = geo_judge(w->left, w->n, s->scatter), now = geo_judge(w->rival, w->n, s->scatter);
	uint64_t first = UINT64_MAX, last = 0, at[2] = { 0 };
	size_t pins = s->o->npins;

	if (!now.is_possible)
		return false;
	for (size_t i = 0; i < w->n; i++) {
		uint64_t t = s->first + track[i][0], back = (w->slot[i][0] + shift) % shape->heads;

		if (!geo_is_off(&before, i, s->scatter) || geo_is_off(&now, i, s->scatter) || t < back)
			continue;
		at[0] = t < first ? t - back : at[0];
		first = t < first ? t : first;
		at[1] = t > last ? t - back : at[1];
		last = t > last ? t : last;
	}
	for (int k = 0; k < 2 && at[k]; k++)
		pin(s->o, shape, at[k]);
	return s->o->npins > pins;
}

bool geo_pin_cylinders(struct geo_search *s, const struct geo_shape *shape, const uint64_t *cylinder,
                       const uint32_t *head, const struct geo_access *seen)
{
	cleanup_free struct within *w = calloc(1, sizeof(*w));
	uint64_t track[GEO_PAIRS][2], best = 0;
	double least = INFINITY, as_read;

	if (!w || shape->band != 1 || shape->heads == 1 || s->o->npins == GEO_PINS)
		return false;
	for (size_t i = 0, k = 0; i < s->npairs; i++) {
		const struct geo_fit_zone *z = zone_of(s->fit, s->first + s->a[i]);

		if (!isfinite(s->pair[i].access))
			continue;
		w->left[w->n] = seen[k++];
		track[w->n][0] = s->a[i];
		track[w->n][1] = s->b[i];
		w->n += z && z == zone_of(s->fit, s->first + s->b[i]) &&
		        slot_of(shape, z, cylinder[s->a[i]], head[s->a[i]], &w->slot[w->n][0]) &&
		        slot_of(shape, z, cylinder[s->b[i]], head[s->b[i]], &w->slot[w->n][1]);
	}
	if (w->n < GEO_JUDGED_LEAST)
		return false;
	as_read = geo_spread(w->left, w->n, s->scatter);
	for (uint64_t shift = 1; shift < shape->heads * (shape->is_alternate ? 2ul : 1ul); shift++) {
		double cost;

		cut(w, shape, shift);
		cost = geo_spread(w->rival, w->n, s->scatter);
		if (cost >= least)
			continue;
		least = cost;
		best = shift;
	}
	if (least + TURNED > as_read)
		return false;
	cut(w, shape, best);
	return pin_ends(s, shape, w, (const uint64_t(*)[2])track, best);
}
