/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where accesses are made: a zone as one layout or another reads it, the ends of long bands, another zone. */
#include "measure/geometry/layout.h"

#define STRETCH 12000 /* tracks that accesses are tried in */
#define OF_BEST 2     /* of four looks this one is where the best layout has its zone */
#define BORDER  256   /* tracks on both sides of where a surface ends in a zone that is one band */

void geo_read_first(struct geo_search *s, const struct geo_hypothesis *h)
{
	s->fit->n = 0;
	s->fit->cost = INFINITY;
	if (!h->is_counted || h->shape.heads == 1)
		geo_order_fit(s->o, &h->shape, GEO_RANK_TRACKS, h->is_counted ? s->dear : (double)INFINITY, NULL,
		              s->fit);
}

/* Where accesses are tried: the zone with the most tracks, or any tracks where there is none. */
void geo_choose_stretch(struct geo_search *s, const struct geo_fit *fit)
{
	for (size_t i = 0; i < fit->n; i++)
		if (fit->zone[i].tracks > s->tracks) {
			s->first = fit->zone[i].track;
			s->tracks = fit->zone[i].tracks;
		}
	s->tracks = s->tracks ? s->tracks : s->o->tracks;
	s->tracks = s->tracks < STRETCH ? s->tracks : STRETCH;
}

static bool is_clear_zone(const struct geo_fit *fit, size_t i)
{
	return (i == 0 || fit->zone[i].margin >= GEO_SURE) && (i + 1 == fit->n || fit->zone[i + 1].margin >= GEO_SURE);
}

/* The longest other zone, one that begins and ends for certain if there is any, or else what lies behind in the same
 * zone, or its second half. */
void geo_choose_other_stretch(struct geo_search *s, const struct geo_fit *fit)
{
	uint64_t from = s->first, to = s->first + s->tracks, least = 2ull * s->h[0].shape.heads, most = least;

	for (int must_be_clear = 1; must_be_clear >= 0 && s->first == from; must_be_clear--)
		for (size_t i = 0; i < fit->n; i++) {
			const struct geo_fit_zone *z = &fit->zone[i];

			if (z->tracks <= most || (must_be_clear && !is_clear_zone(fit, i)) ||
			    (z->track < to && z->track + z->tracks > from))
				continue;
			most = s->tracks = z->tracks;
			s->first = z->track;
		}
	for (size_t i = 0; i < fit->n && s->first == from; i++) {
		const struct geo_fit_zone *z = &fit->zone[i];
		uint64_t end = z->track + z->tracks, half = end / 2 + from / 2;

		if (from < z->track || to > end)
			continue;
		s->first = end - to > least ? to : end - half > least ? half : from;
		s->tracks = end - s->first;
	}
	if (s->first == from &&
	    to - from > 2 * least) { /* zones that this layout has read elsewhere all begin within */
		s->first = to / 2 + from / 2;
		s->tracks = to - s->first;
	}
	s->tracks = s->tracks < STRETCH ? s->tracks : STRETCH;
}

/*
 * Where bands are long the tracks of one surface are as those of a disk that has no other, but for the end of them:
 * what is about there in the longest zone; false: that was not seen.
 */
static bool choose_border(struct geo_search *s, const struct geo_shape *shape)
{
	const struct geo_fit_zone *most = NULL;
	uint64_t about = shape->band ? STRETCH / 2 : BORDER, band;

	if (shape->heads == 1 || (shape->band && shape->band < STRETCH / 2))
		return false;
	geo_order_fit(s->o, shape, geo_read_behind(shape, 0), INFINITY, NULL, s->fit);
	for (size_t i = 0; i < s->fit->n; i++)
		if (!most || s->fit->zone[i].tracks > most->tracks)
			most = &s->fit->zone[i];
	band = most && shape->band && shape->band < most->cylinders ? shape->band : most ? most->cylinders : 0;
	if (band < BORDER || most->tracks < band + BORDER)
		return false;
	s->first = most->track + (band > about ? band - about : 0);
	s->tracks = 2 * about;
	if (s->tracks > most->track + most->tracks - s->first)
		s->tracks = most->track + most->tracks - s->first;
	return true;
}

/* A zone as another layout reads them, or as the best one does, where it has more to say. Turn by turn. Where it reads
 * none, the stretch before. */
void geo_choose_rival_stretch(struct geo_search *s, size_t look)
{
	size_t rival = 0;

	for (size_t i = 0; i < s->left && look % 2; i++)
		if (!s->h[i].is_counted && choose_border(s, &s->h[i].shape))
			return;
	for (size_t i = 1; i < s->n && look % 4 != OF_BEST && (!rival || look % 2 == 0); i++)
		if (!geo_is_same_layout(&s->h[0].shape, &s->h[i].shape))
			rival = i;
	geo_read_first(s, &s->h[rival]);
	if (s->fit->n == 0)
		return;
	s->tracks = 0;
	geo_choose_stretch(s, s->fit);
}
