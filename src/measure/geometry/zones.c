/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zones as a layout reads them; without one as the walk found them, none of which is sure: what seems to be a zone may
 * be another surface. */
#include <math.h>
#include <string.h>

#include "measure/geometry/rows.h"

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

/* What the walk found in a row, of no layout: items whose sizes are those of the first of them, or of a cycle behind
 * it.
 */
struct stretch {
	size_t first, end; /* items */
	uint64_t size[GEO_RUNS];
	size_t nsizes;
};

static bool has_size(const struct stretch *z, uint64_t size)
{
	for (size_t k = 0; k < z->nsizes; k++)
		if (z->size[k] == size)
			return true;
	return false;
}

static struct stretch sizes_of(const struct geo_item *item)
{
	struct stretch z = { .nsizes = 0 };

	for (uint32_t i = 0; i < item->nruns; i++)
		if (!has_size(&z, item->run[i].per_track))
			z.size[z.nsizes++] = item->run[i].per_track;
	return z;
}

static bool holds(const struct stretch *z, const struct stretch *other)
{
	for (size_t k = 0; k < other->nsizes; k++)
		if (!has_size(z, other->size[k]))
			return false;
	return true;
}

static struct stretch next_stretch(const struct geo_walk *w, size_t first)
{
	struct stretch z = sizes_of(&w->items[first]);
	size_t i = first + 1;

	for (; i < w->nitems; i++) {
		struct stretch next = sizes_of(&w->items[i]);

		if (holds(&next, &z))
			z = next;
		else if (!holds(&z, &next))
			break;
	}
	z.first = first;
	z.end = i;
	return z;
}

/* ---- rows ---- */

/* Its tracks of that size, and the commonest jump among them, as a skew: jumps count with the spacing of the track
 * before. */
static struct geo_zone_row row_of(const struct geo_walk *w, const struct stretch *z, uint64_t size)
{
	struct geo_zone_row row = { .skew_ratio = NAN };
	uint64_t most = 0;

	for (size_t i = z->first; i < z->end; i++) {
		row.missing += w->items[i].missing;
		for (uint32_t k = 0; k < w->items[i].nruns; k++) {
			const struct geo_run *run = &w->items[i].run[k];
			uint64_t tracks = run->tracks * w->items[i].times;

			if (run->per_track != size)
				continue;
			row.tracks += tracks;
			if (tracks <= most)
				continue;
			most = tracks;
			row.skew_ratio = run->jump;
		}
	}
	return row;
}

size_t geo_walk_rows(struct geo_walk *w, uint64_t end)
{
	struct geo *g = w->g;
	struct table *t = result_table(g->ses->res, "zones", "Recording zones", geo_zone_fields);
	size_t n = 0;

	for (size_t i = 0; i < w->nitems; n++) {
		struct stretch z = next_stretch(w, i);
		uint64_t last = z.end < w->nitems ? w->items[z.end - 1].end : end;

		for (size_t k = 0; k < z.nsizes; k++) {
			struct geo_zone_row row = row_of(w, &z, z.size[k]);

			row.first_byte = w->items[i].first * g->t.block_bytes;
			row.last_byte = last * g->t.block_bytes - 1;
			row.sectors_per_track = z.size[k] + g->spare;
			row.skew_ratio = geo_frac(row.skew_ratio - geo_spare_turn(g, z.size[k]));
			row.surface = z.nsizes > 1 ? k : UINT64_MAX;
			row.certainty = "unclear";
			result_row(t, &row);
		}
		i = z.end;
	}
	return n;
}

/* Is the begin of a zone doubtful? A track beside it that holds more sectors than fit is two, and the zone may begin
 * with the second; and where sectors cannot be read the end of the track before was seen but once. */
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
			if (geo_apart(usual[i] + usual[k], jump) < GEO_LIKE_SKEW)
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

/* Is the last track that is known none of the last zone? Another begins there perhaps, of which too little was seen to
 * be one. */
static bool is_end_of_another(const struct geo_walk *w, const struct geo_fit_zone *z)
{
	size_t known = geo_known_items(w);
	const struct geo_item *last = known ? &w->items[known - 1] : NULL;

	for (uint32_t k = 0; last && k < last->nruns; k++)
		if (geo_has_size(z, last->run[k].per_track))
			return false;
	return true;
}

bool geo_fit_is_unclear(const struct geo_walk *w, const struct geo_layout *layout, size_t i)
{
	bool is_last = i + 1 == layout->fit->n;

	/* Where no end of a track could be found, the walk may have gone wrong in the last zone already. */
	return w->g->is_spare_unsure || !layout->is_reported || layout->is_messy || layout->is_mended ||
	       (is_last && (w->is_stuck || is_end_of_another(w, &layout->fit->zone[i]))) ||
	       is_fit_zone_doubtful(w, layout->fit, i) || (i && is_fit_zone_doubtful(w, layout->fit, i - 1)) ||
	       (!is_last && is_fit_zone_doubtful(w, layout->fit, i + 1));
}

/* Of surface k, or of all where they do not differ. */
static struct geo_zone_row fit_row(const struct geo *g, const struct geo_fit_zone *z, uint32_t k, bool differ)
{
	double skew = isnan(z->cylinder_skew) ? z->head_skew : z->cylinder_skew;

	return (struct geo_zone_row){ .first_byte = z->first * g->t.block_bytes,
		                      .sectors_per_track = z->size[k] ? z->size[k] + g->spare : UINT64_MAX,
		                      .skew_ratio = geo_frac(skew - geo_spare_turn(g, z->size[k])),
		                      .surface = differ ? k : UINT64_MAX,
		                      .tracks = differ ? z->cylinders : z->tracks,
		                      .missing = UINT64_MAX };
}

size_t geo_fit_rows(struct geo_walk *w, const struct geo_layout *layout, uint64_t end)
{
	struct table *t = result_table(w->g->ses->res, "zones", "Recording zones", geo_zone_fields);
	const struct geo_fit *fit = layout->fit;
	size_t unclear = 0;

	for (size_t i = 0; i < fit->n; i++) {
		const struct geo_fit_zone *z = &fit->zone[i];
		bool is_unclear = geo_fit_is_unclear(w, layout, i), differ = false;
		uint64_t last = i + 1 < fit->n ? z[1].first : end;

		for (uint32_t k = 1; k < layout->shape.heads; k++)
			differ = differ || z->size[k] != z->size[0];
		for (uint32_t k = 0; k < (differ ? layout->shape.heads : 1); k++) {
			struct geo_zone_row row = fit_row(w->g, z, k, differ);

			row.last_byte = last * w->g->t.block_bytes - 1;
			if (k == 0) /* of all surfaces */
				row.missing = missing_in(w, z->first, last);
			row.certainty = is_unclear ? "unclear" : "sure";
			result_row(t, &row);
		}
		unclear += is_unclear;
	}
	return unclear;
}
