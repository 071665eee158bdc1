/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zones from what the walk found. A cycle of runs that came again and again is a zone for certain: its sizes in turn
 * are those of the surfaces. Runs before and after it belong to it as long as they go on with the same sizes in the
 * same order. What is left over between two zones, with one size all through, is a zone as well; with several sizes it
 * is told as it is, with a note.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/geometry/tell.h"

#define OTHERS       2     /* tracks at the end: a single one may lack sectors */
#define SIZES_DIFFER 0.005 /* of a revolution: so far skews differ because tracks hold more or less */

const struct field geo_zone_fields[] = {
	FIELD_U64(struct geo_zone_row, first_byte, UNIT_BYTES, "first byte"),
	FIELD_U64(struct geo_zone_row, last_byte, UNIT_BYTES, "last byte"),
	FIELD_U64(struct geo_zone_row, sectors_per_track, UNIT_COUNT, "sectors per track"),
	FIELD_F64(struct geo_zone_row, skew_ratio, UNIT_RATIO, "skew"),
	FIELD_U64(struct geo_zone_row, surface, UNIT_COUNT, "surface"),
	FIELD_U64(struct geo_zone_row, tracks, UNIT_COUNT, "tracks"),
	FIELD_STR(struct geo_zone_row, certainty, "certainty"),
	FIELD_U64(struct geo_zone_row, missing, UNIT_COUNT, "missing", .detail = true),
	FIELD_END,
};

static const struct geo_run *last_run(const struct geo_item *item)
{
	return &item->run[item->nruns - 1];
}

/* The sizes of a cycle in turn, neighbours that are equal once. */
static void sizes_of(const struct geo_item *item, struct geo_zone *z)
{
	z->nsizes = 0;
	for (uint32_t i = 0; i < item->nruns; i++)
		if (z->nsizes == 0 || z->size[z->nsizes - 1] != item->run[i].per_track)
			z->size[z->nsizes++] = item->run[i].per_track;
	if (z->nsizes > 1 && z->size[0] == z->size[z->nsizes - 1])
		z->nsizes--;
}

/* Where a size comes next in the cycle, not earlier than at and at most one further; false: it does not. dir: 1 or -1.
 */
static bool goes_on(const struct geo_zone *z, size_t *at, uint64_t size, int dir)
{
	size_t next = (*at + z->nsizes + (size_t)dir) % z->nsizes;

	if (z->size[*at] == size)
		return true;
	if (z->size[next] != size)
		return false;
	*at = next;
	return true;
}

static bool item_goes_on(const struct geo_zone *z, size_t *at, const struct geo_item *item, int dir)
{
	for (uint32_t i = 0; i < item->nruns; i++)
		if (!goes_on(z, at, item->run[dir > 0 ? i : item->nruns - 1 - i].per_track, dir))
			return false;
	return true;
}

/* Zones of cycles, and what follows and precedes them. */
static size_t cycle_zones(const struct geo_walk *w, struct geo_zone *zone, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < w->nitems && n < max; i++) {
		struct geo_zone *z = &zone[n];
		size_t at;

		if (w->items[i].nruns < 2)
			continue;
		*z = (struct geo_zone){ .first_item = i, .best = i };
		sizes_of(&w->items[i], z);
		at = 0;
		while (z->size[at] != last_run(&w->items[i])->per_track)
			at++;
		at = z->nsizes - 1; /* the last run's, when the cycle ends with the last size; else set right below */
		if (z->size[at] != last_run(&w->items[i])->per_track)
			at = 0; /* it was taken off because it is the first one, too */
		for (i++; i < w->nitems && item_goes_on(z, &at, &w->items[i], 1); i++)
			if (w->items[i].nruns >= 2 && w->items[i].tracks > w->items[z->best].tracks)
				z->best = i;
		z->end_item = i--;
		at = 0;
		while (z->first_item > (n ? zone[n - 1].end_item : 0) &&
		       item_goes_on(z, &at, &w->items[z->first_item - 1], -1))
			z->first_item--;
		n++;
	}
	return n;
}

/* Fills the gap [from, to) of items; returns how many zones that makes. */
static size_t plain_zones(struct geo_walk *w, size_t from, size_t to, struct geo_zone *zone, size_t max)
{
	size_t n = 0;

	for (size_t i = from; i < to && n < max; i++) {
		uint64_t size = w->items[i].run[0].per_track;
		struct geo_zone *z = &zone[n++];
		uint64_t tracks = 0;

		*z = (struct geo_zone){ .first_item = i, .best = i, .nsizes = 1, .size = { size } };
		for (; i < to && w->items[i].run[0].per_track == size; i++) {
			tracks += w->items[i].tracks;
			if (w->items[i].tracks > w->items[z->best].tracks)
				z->best = i;
		}
		z->end_item = i--;
		/* Zones hold less and less inwards; what holds more is another surface of a zone that ended too soon to
		 * show its cycle. */
		z->is_unclear = tracks < GEO_FEW || (n > 1 && size > zone[n - 2].size[0]);
	}
	return n;
}

size_t geo_zones(struct geo_walk *w, struct geo_zone **ret)
{
	size_t max = w->nitems + 1, n, m = 0, at = 0;
	struct geo_zone *cycle = calloc(max, sizeof(*cycle)), *zone = calloc(2 * max, sizeof(*zone));

	if (!cycle || !zone) {
		free(cycle);
		free(zone);
		*ret = NULL;
		return 0;
	}
	n = cycle_zones(w, cycle, max);
	for (size_t i = 0; i <= n; i++) {
		size_t to = i < n ? cycle[i].first_item : w->nitems;

		m += plain_zones(w, at, to, zone + m, 2 * max - m);
		if (i == n)
			break;
		zone[m++] = cycle[i];
		at = cycle[i].end_item;
	}
	free(cycle);
	*ret = zone;
	return m;
}

/* ---- rows ---- */

/* The commonest jump in front of tracks of a size, as a skew: jumps count with the spacing of the track before. */
static double skew_of(const struct geo_walk *w, const struct geo_zone *z, uint64_t size)
{
	uint64_t most = 0;
	double skew = NAN;

	for (size_t i = z->first_item; i < z->end_item; i++)
		for (uint32_t k = 0; k < w->items[i].nruns; k++) {
			const struct geo_run *run = &w->items[i].run[k];

			if (run->per_track != size || run->tracks * w->items[i].times <= most || run->tracks < 1)
				continue;
			most = run->tracks * w->items[i].times;
			skew = run->jump;
		}
	return skew;
}

static uint64_t tracks_of(const struct geo_walk *w, const struct geo_zone *z, uint64_t size, uint64_t *ret_missing)
{
	uint64_t n = 0;

	*ret_missing = 0;
	for (size_t i = z->first_item; i < z->end_item; i++) {
		*ret_missing += w->items[i].missing;
		for (uint32_t k = 0; k < w->items[i].nruns; k++)
			if (w->items[i].run[k].per_track == size)
				n += w->items[i].run[k].tracks * w->items[i].times;
	}
	return n;
}

/*
 * Is the begin of a zone doubtful? A track beside it that holds more sectors than fit is two, and the zone may begin
 * with the second; and where sectors cannot be read the end of the track before was seen but once.
 */
static bool is_doubtful(const struct geo_walk *w, uint64_t first)
{
	for (size_t i = 0; i < w->nitems; i++) {
		const struct geo_item *item = &w->items[i];
		bool is_two = item->tracks == 1 && item->end - item->first > item->run[0].per_track;

		if ((item->end == first && (item->is_unseen || is_two)) || (item->first == first && is_two))
			return true;
	}
	return false;
}

static const char *certainty(bool is_unclear)
{
	return is_unclear ? "unclear" : "sure";
}

/* Its begin, or all of it. Then its neighbours are not certain either. */
static bool is_zone_doubtful(const struct geo_walk *w, const struct geo_zone *zone, size_t n, size_t i,
                             const struct geo_layout *layout)
{
	uint64_t first = w->items[zone[i].first_item].first;

	/* No layout is told, so that what seems to be a zone may be another surface. */
	return layout->is_messy || zone[i].is_unclear || n > 1 || is_doubtful(w, first);
}

/* Where no end of a track could be found, the walk may have gone wrong in this zone already. */
static bool is_lost_in(const struct geo_walk *w, size_t i, size_t n)
{
	return i + 1 == n && w->is_stuck;
}

size_t geo_zone_rows(struct geo_walk *w, const struct geo_zone *zone, size_t n, uint64_t end,
                     const struct geo_layout *layout)
{
	struct geo *g = w->g;
	struct table *t = result_table(g->ses->res, "zones", "Recording zones", geo_zone_fields);
	size_t unclear = 0;

	for (size_t i = 0; i < n; i++) {
		const struct geo_zone *z = &zone[i];
		uint64_t first = w->items[z->first_item].first, last = i + 1 < n ? w->items[z->end_item - 1].end : end;
		bool is_unclear = g->is_spare_unsure || is_lost_in(w, i, n) ||
		                  is_zone_doubtful(w, zone, n, i, layout) ||
		                  (i && is_zone_doubtful(w, zone, n, i - 1, layout)) ||
		                  (i + 1 < n && is_zone_doubtful(w, zone, n, i + 1, layout));

		for (size_t k = 0; k < z->nsizes; k++) {
			struct geo_zone_row row = {
				.first_byte = first * g->t.block_bytes,
				.last_byte = last * g->t.block_bytes - 1,
				.sectors_per_track = z->size[k] + g->spare,
				.skew_ratio = skew_of(w, z, z->size[k]) - geo_spare_turn(g, z->size[k]),
				.surface = z->nsizes > 1 ? k : UINT64_MAX,
				.certainty = certainty(is_unclear),
			};

			row.tracks = tracks_of(w, z, z->size[k], &row.missing);
			result_row(t, &row);
		}
		unclear += is_unclear;
	}
	return unclear;
}

static uint64_t missing_in(const struct geo_walk *w, uint64_t first, uint64_t end)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->nitems; i++)
		if (w->items[i].first >= first && w->items[i].first < end)
			n += w->items[i].missing;
	return n;
}

/* Is that one of the skews of these two zones, or two with a track in between that has no data? Sizes may differ from
 * track to track, and with them jumps. */
static bool is_usual_skew(const struct geo_fit_zone *z, double jump)
{
	const double usual[] = { 0.0,          z[-1].cylinder_skew, z[-1].head_skew, z[-1].band_skew, z->cylinder_skew,
		                 z->head_skew, z->band_skew };

	for (size_t i = 1; i < sizeof(usual) / sizeof(usual[0]); i++)
		for (size_t k = 0; k <= i; k++)
			if (geo_apart(usual[i] + usual[k], jump) < SIZES_DIFFER)
				return true;
	return false;
}

/* Is the skew before or behind the first track of a zone one that nothing explains? Then its size may have been
 * mistaken. */
static bool is_odd_edge(const struct geo_walk *w, const struct geo_fit_zone *z)
{
	for (size_t i = 0; i < w->nitems; i++) {
		const struct geo_item *item = &w->items[i];

		if (item->end == z->first)
			return !is_usual_skew(z, last_run(item)->jump) ||
			       (i + 1 < w->nitems && !is_usual_skew(z, item[1].run[0].jump));
	}
	return false;
}

static bool is_fit_zone_doubtful(const struct geo_walk *w, const struct geo_fit *fit, size_t i)
{
	const struct geo_fit_zone *z = &fit->zone[i];

	/* With the sizes of the one before there is no other sign of it than that the order is broken. */
	if (i && (memcmp(z->size, fit->zone[i - 1].size, sizeof(z->size)) == 0 || is_odd_edge(w, z)))
		return true;
	return z->cylinders < GEO_FEW || is_doubtful(w, z->first) || (i && z->margin < GEO_SURE);
}

/* Are the last tracks that were walked none of the last zone? Another begins there perhaps, of which too little was
 * seen to be one. */
static bool is_end_of_another(const struct geo_walk *w, const struct geo_fit_zone *z)
{
	uint64_t tracks = 0;

	for (size_t i = w->nitems; i-- > 0 && w->items[i].first > z->first; tracks += w->items[i].tracks)
		for (uint32_t k = 0; k < w->items[i].nruns; k++)
			if (geo_has_size(z, w->items[i].run[k].per_track))
				return tracks >= OTHERS;
	return tracks >= OTHERS;
}

bool geo_fit_is_unclear(const struct geo_walk *w, const struct geo_layout *layout, size_t i)
{
	return w->g->is_spare_unsure || !layout->is_told || layout->is_messy || layout->is_mended ||
	       is_lost_in(w, i, layout->fit->n) ||
	       (i + 1 == layout->fit->n && is_end_of_another(w, &layout->fit->zone[i])) ||
	       is_fit_zone_doubtful(w, layout->fit, i) || (i && is_fit_zone_doubtful(w, layout->fit, i - 1)) ||
	       (i + 1 < layout->fit->n && is_fit_zone_doubtful(w, layout->fit, i + 1));
}

/* A zone up to `last`: a row, or one for each surface where they differ. */
static void fit_zone_rows(struct geo_walk *w, struct table *t, const struct geo_fit_zone *z, uint32_t heads,
                          uint64_t last, bool is_unclear)
{
	struct geo *g = w->g;
	double skew = isnan(z->cylinder_skew) ? z->head_skew : z->cylinder_skew;
	bool differ = false;

	for (uint32_t k = 1; k < heads; k++)
		differ = differ || z->size[k] != z->size[0];
	for (uint32_t k = 0; k < (differ ? heads : 1); k++) {
		const struct geo_zone_row row = {
			.first_byte = z->first * g->t.block_bytes,
			.last_byte = last * g->t.block_bytes - 1,
			.sectors_per_track = z->size[k] ? z->size[k] + g->spare : UINT64_MAX,
			.skew_ratio = geo_frac(skew - geo_spare_turn(g, z->size[k])),
			.surface = differ ? k : UINT64_MAX,
			.tracks = differ ? z->cylinders : z->tracks,
			.missing = k ? UINT64_MAX : missing_in(w, z->first, last), /* of all surfaces */
			.certainty = certainty(is_unclear),
		};

		result_row(t, &row);
	}
}

size_t geo_fit_rows(struct geo_walk *w, const struct geo_layout *layout, uint64_t end)
{
	struct table *t = result_table(w->g->ses->res, "zones", "Recording zones", geo_zone_fields);
	const struct geo_fit *fit = layout->fit;
	size_t unclear = 0;

	for (size_t i = 0; i < fit->n; i++) {
		bool is_unclear = geo_fit_is_unclear(w, layout, i);

		fit_zone_rows(w, t, &fit->zone[i], layout->shape.heads, i + 1 < fit->n ? fit->zone[i + 1].first : end,
		              is_unclear);
		unclear += is_unclear;
	}
	return unclear;
}
