/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many recording zones a disk has: exactly, at least, or untold.
 *
 * Bands are zones whose steps were seen. A zone narrower than the distance of two places is not seen, nor a step that
 * the scatter hides; what betrays both is that one step takes the place of two. Makers take away about as many sectors
 * from each zone to the next, so that rates fall by about as much: a fall nearer to two of the usual than to one may
 * hold a zone more, and so may a band that is as wide as two of the usual, whose step is lost in the scatter. (Where
 * they do not do so nothing false is said: at least.) A place between two bands that is on neither level is of a zone
 * between them, or of one of which the edge differs from surface to surface; so is one at the end of a band that leans
 * to the next. And where places scatter by so much that those of a band may differ by a whole step two zones may be in
 * it. Where one band is narrower than the distance of two places, or may be, so may others be that no place lies in.
 * And where the interface is no faster than the media zones are as one.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define FALLS_MIN   3     /* of bands, that say what is usual (a choice) */
#define FALL_MOST   1.5   /* of the usual: nearer to one than to two */
#define EDGE_MOST   1.5   /* of the distance of two places: an edge that is not known better has one within */
#define LEANS_TIMES 1.5   /* the two halves: one of some thousand does by chance */
#define LEANS_PART  0.125 /* of the step between the bands: less is of the zone itself (a choice) */
#define INSIDE_PART 1.0   /* of the lesser step at a band's sides, that one inside may be (a choice) */
#define WIDE_MOST \
	2.0 /* of the usual: such a band may be two, with a step between them that is less than is seen (a choice) */

static double fall_of(const struct zone_bands *b, size_t k)
{
	return zone_rate(b->v[k - 1].y) - zone_rate(b->v[k].y);
}

/* Are the media as fast as the interface, or is how fast that is not known? */
static bool may_be_limited(const struct zone_band *b, double interface_bytes_per_s)
{
	return !(zone_rate(b->y) < INTERFACE_REACHED * interface_bytes_per_s);
}

static bool is_any_wide(const struct zone_bands *b)
{
	cleanup_free double *wide = xcalloc(b->n, sizeof(*wide));
	double most = 0.0;

	for (size_t k = 0; k < b->n; k++) {
		wide[k] = (double)(b->v[k].end_bytes - b->v[k].first_bytes);
		most = fmax(most, wide[k]);
	}
	return most > WIDE_MOST * stats_median(wide, b->n);
}

/* Bytes between its edges, wherever these are. */
static double width_for_sure(const struct zone_bands *b, size_t k)
{
	double width = (double)(b->v[k].end_bytes - b->v[k].first_bytes) - (double)b->v[k].edge_half_bytes;

	return k + 1 < b->n ? width - (double)b->v[k + 1].edge_half_bytes : width;
}

bool zone_bands_may_hide(const struct zone_bands *b)
{
	cleanup_free double *fall = xcalloc(b->n + 1, sizeof(*fall));
	double most = 0.0;

	if (b->has_sawtooth || b->n < 2)
		return false;
	if (b->n <= FALLS_MIN)
		return true;
	for (size_t k = 0; k < b->n; k++)
		if (width_for_sure(b, k) < b->spacing_bytes)
			return true;
	for (size_t k = 1; k < b->n; k++) {
		fall[k - 1] = fall_of(b, k);
		most = fmax(most, fall[k - 1]);
		if (fall[k - 1] <= 0.0 || b->v[k].y - b->v[k - 1].y < b->least_step)
			return true;
		if (2.0 * (double)b->v[k].edge_half_bytes > EDGE_MOST * b->spacing_bytes)
			return true;
	}
	return most > FALL_MOST * stats_median(fall, b->n - 1) || is_any_wide(b);
}

/* Does a place lie so far towards the level of the band beside its own, by more than its interval and the band's, that
 * it may be of a zone between the two? */
static bool leans(const struct zone_level *v, const struct zone_band *own, const struct zone_band *beside)
{
	double way = beside->y - own->y, off = (v->y - own->y) * (way > 0.0 ? 1.0 : -1.0);

	return off > LEANS_TIMES * (v->half + own->half) && off > LEANS_PART * fabs(way);
}

/* Mean of so many levels from v on, by their intervals; *ret_half: of its own. */
static double mean_of(const struct zone_level *const *v, size_t n, double *ret_half)
{
	double sum = 0.0, weights = 0.0;

	for (size_t i = 0; i < n; i++) {
		sum += v[i]->y / (v[i]->half * v[i]->half);
		weights += 1.0 / (v[i]->half * v[i]->half);
	}
	*ret_half = 1.0 / sqrt(weights);
	return sum / weights;
}

/* May there be a step between the band's first places and its last ones, as far as these scatter, that is as large as
 * the lesser one at its sides? */
static bool hides_step(const struct zone_bands *b, size_t k, const struct zone_level *const *v, size_t n)
{
	double before = k ? fabs(b->v[k].y - b->v[k - 1].y) : (double)INFINITY;
	double behind = k + 1 < b->n ? fabs(b->v[k + 1].y - b->v[k].y) : (double)INFINITY;
	double half[2], step;

	if (n < 2)
		return false;
	step = mean_of(v, n / 2, &half[0]) - mean_of(v + n - n / 2, n / 2, &half[1]);
	return fabs(step) + hypot(half[0], half[1]) > INSIDE_PART * fmin(before, behind);
}

bool zone_places_hide(const struct zone_bands *b, const struct zone_levels *lv)
{
	cleanup_free const struct zone_level **in = xcalloc(lv->n + 1, sizeof(const struct zone_level *));

	for (size_t k = 0; k < b->n && !b->has_sawtooth; k++) {
		const struct zone_band *own = &b->v[k];
		uint64_t from = own->first_bytes + own->edge_half_bytes;
		uint64_t to = own->end_bytes - (k + 1 < b->n ? own[1].edge_half_bytes : 0);
		size_t n = 0;

		for (size_t p = 0; p < lv->n; p++) {
			const struct zone_level *v = &lv->v[p];

			if (v->n && v->half > 0.0 && !isnan(v->y) && v->first_bytes >= from && v->end_bytes <= to)
				in[n++] = v; /* an edge within leads between two levels itself */
		}
		if (n && ((k && leans(in[0], own, own - 1)) || (k + 1 < b->n && leans(in[n - 1], own, own + 1))))
			return true;
		if (hides_step(b, k, in, n))
			return true;
	}
	return false;
}

bool zone_count_is_least(const struct zone_analysis *a)
{
	return zone_bands_may_hide(&a->bands) || zone_places_hide(&a->bands, &a->levels);
}

/* Mean level of a quarter of the places, from `from` on, upwards or downwards. */
static double quarter_from(const struct zone_levels *lv, size_t from, int way)
{
	double sum = 0.0, n = 0.0;

	for (size_t i = 0, p = from; i < (lv->n + 3) / 4; i++, p += (size_t)way) {
		if (!lv->v[p].n || isnan(lv->v[p].y))
			continue;
		sum += lv->v[p].y;
		n++;
	}
	return sum / n; /* NaN: none was read */
}

bool zone_bands_is_single(const struct zone_bands *b, const struct zone_levels *lv, double interface_bytes_per_s)
{
	return b->n == 1 && lv->n && !may_be_limited(&b->v[0], interface_bytes_per_s) &&
	       fabs(quarter_from(lv, lv->n - 1, -1) - quarter_from(lv, 0, 1)) <= fmin(b->least_step, ZONE_FALL_LEAST);
}
