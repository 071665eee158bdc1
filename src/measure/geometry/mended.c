/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A layout that cuts the bands of the one that is left otherwise, with its reading of the sequence mended: accesses may have spoken against it only because it was
 * read from the wrong track on. So the bands of the layout that is left are cut as the other one cuts them, wherever in them one of it may begin, and all accesses are
 * held against the best of these ways.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/geometry/search.h"

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

static bool find_within(struct geo_search *s, struct within *w)
{
	const struct geo_shape *shape = &s->c[0].shape;
	uint64_t first = UINT64_MAX, end = 0;
	cleanup_free uint64_t *cylinder = NULL;
	cleanup_free uint32_t *head = NULL;
	struct geo_labels labels;

	for (size_t i = 0; i < s->nmade; i++)
		for (int k = 0; k < 2; k++) {
			first = s->made_at[i][k] < first ? s->made_at[i][k] : first;
			end = s->made_at[i][k] >= end ? s->made_at[i][k] + 1 : end;
		}
	if (first >= end)
		return false;
	cylinder = calloc(end - first, sizeof(*cylinder));
	head = calloc(end - first, sizeof(*head));
	if (!cylinder || !head)
		return false;
	labels = (struct geo_labels){ .first = first, .n = end - first, .cylinder = cylinder, .head = head };
	geo_order_fit(s->o, shape, geo_read_behind(shape, end), INFINITY, &labels, s->fit);
	for (size_t i = 0; i < s->nmade; i++) {
		const struct geo_fit_zone *z = zone_of(s->fit, s->made_at[i][0]);
		bool is_within = z && z == zone_of(s->fit, s->made_at[i][1]);

		for (int k = 0; k < 2 && is_within; k++) {
			uint64_t at = s->made_at[i][k] - first;

			is_within = slot_of(shape, z, cylinder[at], head[at], &w->slot[w->n][k]);
		}
		if (is_within)
			w->left[w->n++] = s->c[0].seen[i];
	}
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

double geo_speaks_against_mended(struct geo_search *s, const struct geo_shape *rival)
{
	const struct geo_shape *left = &s->c[0].shape;
	uint64_t size = rival->heads * rival->band, step = rival->band < left->band ? rival->band : left->band;
	cleanup_free struct within *w = NULL;
	double least = INFINITY;
	struct geo_curve curve;

	if (left->band == 0 || rival->band == 0 || (left->heads * left->band) % size)
		return -INFINITY;
	w = calloc(1, sizeof(*w));
	if (!w || !find_within(s, w))
		return -INFINITY;
	curve = geo_curve_of(w->left, w->n);
	for (uint64_t shift = 0; shift < size * (rival->is_alternate ? 2 : 1); shift += step)
		for (int way = 0; way < (rival->band > 1 ? 2 : 1); way++) {
			struct geo_shape shape = *rival;

			if (geo_has_thought_enough(s->g))
				return -INFINITY;
			shape.is_serpentine = way;
			cut(w, &shape, shift);
			least = fmin(least, geo_speaks_against(w->rival, w->left, w->n, &curve));
		}
	return least;
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
