/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which accesses are made to distinguish layouts, and where: in a zone as one layout or another reads it, at the ends
 * of long bands, in another zone; at distances of which a layout has something to say, and those of which two say most
 * different things. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/layout.h"

#define STRETCH     12000 /* tracks that accesses are tried in */
#define OF_BEST     2     /* of four looks this one is where the best layout has its zone */
#define BORDER      256   /* tracks on both sides of where a surface ends in a zone that is one band */
#define NEAR_TRACKS 34    /* one more than the most surfaces, and a little */
#define AIMS        8     /* tries to find whole tracks that are so far apart */
#define SAME        0.01  /* of their errors: independent ones of twenty accesses are hardly ever so near */
#define SAMPLED     3000  /* pairs that those are chosen from which distinguish two layouts */
#define OF_A_KIND   8     /* of them at most, that say the same */
#define WIDEST      8192  /* tracks: distances farther on add little */
#define RIVALS      3     /* at a time */
#define FEW_EDGES   3     /* zones: their edges are gone over more often */
#define LAST_AT     0.97  /* of the budget: what was measured until then is judged */

void geo_read_first(struct geo_search *s, const struct geo_hypothesis *h)
{
	s->fit->n = 0;
	s->fit->cost = INFINITY;
	if (!h->is_counted || h->shape.heads == 1)
		geo_order_fit(s->o, &h->shape, GEO_RANK_TRACKS, h->is_counted ? s->dear : (double)INFINITY, NULL,
		              s->fit);
}

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

/* A part of a track, or one with gaps: its sectors are not where those of a whole one are. */
static bool is_broken(struct geo_search *s, uint64_t track)
{
	const struct geo_seg *seg = geo_order_at(s->o, s->first + track);

	return seg->is_odd || seg->has_gap;
}

static bool add_pair(struct geo_search *s, uint64_t from, uint64_t distance)
{
	if (s->npairs == s->most_pairs || distance == 0 || from + distance >= s->tracks || is_broken(s, from) ||
	    is_broken(s, from + distance))
		return false;
	for (size_t i = 0; i < s->npairs; i++)
		if (s->b[i] == from && s->a[i] == from + distance)
			return false;
	s->b[s->npairs] = from;
	s->a[s->npairs++] = from + distance;
	return true;
}

/* Distances at which this layout has something to say. */
static size_t reporting(const struct geo_search *s, const struct geo_shape *shape, uint64_t *ret)
{
	uint64_t h = shape->heads, n = shape->band ? shape->band : (s->tracks + h / 2) / h;
	const uint64_t first[] = { 1,     2,     3,         h - 1,     h,     h + 1, 2 * h - 1,
		                   2 * h, 3 * h, 3 * h - 1, 4 * h - 1, 4 * h, 5 * h, 6 * h },
		       bands[] = { 1,     2,         n - 1, n,         n + 1, 2 * n - 1, 2 * n, 2 * n - 2,
		                   3 * n, 4 * n - 1, 4,     n * h - 1, n * h, 2 * n + 1, 3,     n / 2 };
	size_t m = n == 1 ? ARRAY_LEN(first) : ARRAY_LEN(bands);

	memcpy(ret, n == 1 ? first : bands, m * sizeof(*ret));
	return m;
}

/*
 * Over such a distance, from one of the first tracks: not always from the first, as zones may seem to begin some tracks
 * before they do, and a track that lies elsewhere would be in all of these accesses. Once since pair n.
 */
static void add_near_begin(struct geo_search *s, size_t n, uint64_t distance)
{
	for (size_t i = n; i < s->npairs; i++)
		if (s->a[i] - s->b[i] == distance)
			return;
	for (int k = 0; k < AIMS && distance && distance < s->tracks; k++) {
		uint64_t room = s->tracks - distance;

		if (add_pair(s, rng_below(&s->g->t.rng, room < NEAR_TRACKS ? room : NEAR_TRACKS), distance))
			return;
	}
}

void geo_choose_pairs(struct geo_search *s, bool from_anywhere)
{
	uint64_t d[16];
	size_t near;
	struct rng *rng = &s->g->t.rng;

	/* Near ones from anywhere: with tracks over each other one of these distances is the first that no change of
	 * heads hides. */
	for (uint64_t d0 = 1; d0 <= NEAR_TRACKS && s->tracks > 2 * d0 + 1; d0++)
		for (int k = 0; k < AIMS && !add_pair(s, rng_below(rng, s->tracks - d0 - 1), d0); k++)
			;
	/* In turn from each candidate, so that each has a say. */
	near = s->npairs;
	for (size_t k = 0; k < ARRAY_LEN(d) && !from_anywhere && s->npairs < s->most_pairs * 3 / 4; k++)
		for (size_t i = 0; i < s->left && s->npairs < s->most_pairs * 3 / 4; i++)
			if (k < reporting(s, &s->h[i].shape, d))
				add_near_begin(s, near, d[k]);
	for (size_t i = 0; s->tracks > 8 && s->npairs < s->most_pairs && i < 4ul * GEO_PAIRS; i++) {
		const struct geo_hypothesis *c = &s->h[rng_below(rng, s->left)];
		size_t m = reporting(s, &c->shape, d);
		uint64_t distance = d[rng_below(rng, m)];

		if (distance + 1 < s->tracks)
			(void)add_pair(s, rng_below(rng, s->tracks - distance - 1), distance);
	}
}

static struct geo_spot spot(struct geo_search *s, uint64_t track)
{
	const struct geo_seg *seg = geo_order_at(s->o, s->first + track);

	return (struct geo_spot){ .first = geo_order_first(s->o, s->first + track), .sectors = seg->size };
}

/*
 * Tracks of few sectors lie at few angles, so accesses over as many tracks are all off by the same, and a hundred of
 * them say no more than one does.
 */
static void find_repeated(struct geo_search *s)
{
	for (size_t i = 0; i < s->npairs; i++) {
		const struct geo_pair *pair = &s->pair[i];

		s->is_again[i] = false;
		for (size_t k = 0; k < s->nsaid && !s->is_again[i]; k++)
			s->is_again[i] = s->said[k].distance == pair->distance &&
			                 fabs(s->said[k].access - pair->access) < SAME * pair->error;
		if (!s->is_again[i] && isfinite(pair->access) && s->nsaid < GEO_MADE_MOST)
			s->said[s->nsaid++] = (struct geo_said){ pair->distance, pair->access };
	}
}

int geo_measure_pairs(struct geo_search *s, double from, double to, struct err *err)
{
	int r;

	for (size_t i = 0; i < s->npairs; i++) {
		s->pair[i].from = spot(s, s->a[i]);
		s->pair[i].to = spot(s, s->b[i]);
		s->pair[i].distance = s->a[i] - s->b[i];
	}
	geo_may_take(s->g, LAST_AT);
	r = geo_shortest(s->g, s->pair, s->npairs, from, to, &s->scatter, err);
	geo_may_take(s->g, 1.0);
	find_repeated(s);
	return r;
}

/*
 * One surface: the arm goes on from zone to zone as within one. Were they surfaces, it would go back, or stay where it
 * is. From before an edge to behind it, more often where there are few, and as far within zones.
 */
static void choose_edge_pairs(struct geo_search *s, const struct geo_fit *fit)
{
	static const uint64_t distance[] = { 1, 2, 5, 12, 40, 150 };
	size_t step = fit->n / 6 + 1;

	for (size_t i = 1; i < fit->n; i += step)
		for (size_t k = 0; k < ARRAY_LEN(distance); k++) {
			uint64_t half = (distance[k] + 1) / 2, at = fit->zone[i].track, zone = fit->zone[i].tracks;
			uint64_t more = fit->n > FEW_EDGES ? 0 : 2;

			for (uint64_t d = distance[k]; d <= distance[k] + more; d++)
				if (at >= (d + 1) / 2 && (d + 1) / 2 < zone)
					(void)add_pair(s, at - (d + 1) / 2, d);
			if (i % 2 && distance[k] < zone / 2)
				(void)add_pair(s, at + zone / 2 - half, distance[k]);
		}
}

/*
 * One surface: an access over more tracks takes no less, wherever it begins, and whatever is between. With bands,
 * however long, some that go over about as many tracks end beside where they began, and others as far away as a band is
 * long. As many at distances up to 10 as up to 100, or 1000.
 */
void geo_choose_wide_pairs(struct geo_search *s, const struct geo_fit *fit)
{
	struct rng *rng = &s->g->t.rng;

	s->first = 0;
	s->tracks = s->o->tracks;
	choose_edge_pairs(s, fit);
	for (size_t i = 0; i < 4ul * GEO_PAIRS && s->tracks > 8; i++) {
		double most = log((double)(s->tracks / 2 < WIDEST ? s->tracks / 2 : WIDEST));
		uint64_t distance = (uint64_t)exp(most * rng_double(rng));

		(void)add_pair(s, rng_below(rng, s->tracks - distance), distance);
	}
}

/* ---- pairs that distinguish two layouts ---- */

/* A pair as two layouts have it. */
struct sampled {
	uint64_t track, distance;
	struct geo_access of[2];
	double access[2];
	double shows; /* revolutions, by which it differs from others that are of its kind in one of the layouts, if the
	                 other one is true */
};

static int by_first_kind(const void *x, const void *y)
{
	const struct sampled *a = x, *b = y;
	int r = geo_access_order(&a->of[0], &b->of[0]);

	return r ? r : geo_access_order(&a->of[1], &b->of[1]);
}

static int by_second_kind(const void *x, const void *y)
{
	const struct sampled *a = x, *b = y;
	int r = geo_access_order(&a->of[1], &b->of[1]);

	return r ? r : geo_access_order(&a->of[0], &b->of[0]);
}

static int by_what_it_shows(const void *x, const void *y)
{
	const struct sampled *a = x, *b = y;

	return (a->shows < b->shows) - (a->shows > b->shows);
}

/* If layout 1 - k is true, how far are accesses that k calls alike from each other? Those are sorted by k's kinds. */
static void find_reporting(struct sampled *v, size_t n, int k)
{
	for (size_t i = 0, end; i < n; i = end) {
		double mean = 0.0;

		for (end = i; end < n && geo_access_order(&v[i].of[k], &v[end].of[k]) == 0; end++)
			mean += v[end].access[1 - k];
		mean /= (double)(end - i);
		for (size_t m = i; m < end; m++)
			v[m].shows = fmax(v[m].shows, fabs(v[m].access[1 - k] - mean));
	}
}

/* Pairs anywhere in the stretch, at distances of which one of the two has something to say. */
static size_t sample(struct geo_search *s, const struct geo_hypothesis *const c[2], struct sampled *ret)
{
	cleanup_free uint64_t *cylinder = xcalloc(2 * s->tracks, sizeof(*cylinder));
	cleanup_free uint32_t *head = xcalloc(2 * s->tracks, sizeof(*head));
	struct rng *rng = &s->g->t.rng;
	uint64_t d[2][16];
	size_t m[2], n = 0;

	for (size_t k = 0; k < 2; k++) {
		if (!geo_label_stretch(s, c[k], cylinder + k * s->tracks, head + k * s->tracks))
			return 0;
		m[k] = reporting(s, &c[k]->shape, d[k]);
	}
	for (size_t i = 0; i < SAMPLED; i++) {
		struct sampled v = { .distance = 1 + rng_below(rng, NEAR_TRACKS) };

		if (i % 2)
			v.distance = d[i / 2 % 2][rng_below(rng, m[i / 2 % 2])];
		if (v.distance == 0 || v.distance >= s->tracks)
			continue;
		v.track = rng_below(rng, s->tracks - v.distance);
		for (size_t k = 0; k < 2; k++) {
			uint64_t a = k * s->tracks + v.track, b = a + v.distance;

			v.of[k] =
				(struct geo_access){ .cylinders = cylinder[a] > cylinder[b] ? cylinder[a] - cylinder[b]
				                                                            : cylinder[b] - cylinder[a],
				                     .is_other_head = head[a] != head[b] };
			v.access[k] = geo_law_at(&c[k]->law, &v.of[k]);
		}
		ret[n++] = v;
	}
	return n;
}

/* Up to that many pairs that distinguish these two, those first that do so most. What they will show. */
static double add_reporting_pairs(struct geo_search *s, const struct geo_hypothesis *a, const struct geo_hypothesis *b,
                                  size_t most)
{
	cleanup_free struct sampled *v = xcalloc(SAMPLED, sizeof(*v));
	const struct geo_hypothesis *const c[2] = { a, b };
	size_t n = sample(s, c, v), same = 0;
	double says = 0.0;

	if (n == 0)
		return INFINITY;
	qsort(v, n, sizeof(*v), by_second_kind);
	find_reporting(v, n, 1);
	qsort(v, n, sizeof(*v), by_first_kind);
	find_reporting(v, n, 0);
	for (size_t i = 1; i < n; i++) { /* those of the same kinds in both are together */
		same = by_first_kind(&v[i - 1], &v[i]) == 0 ? same + 1 : 0;
		if (same >= OF_A_KIND)
			v[i].shows = 0.0;
	}
	qsort(v, n, sizeof(*v), by_what_it_shows);
	for (size_t i = 0; i < n && v[i].shows > 0.0 && s->npairs < most; i++)
		if (add_pair(s, v[i].track, v[i].distance))
			says += 0.5 * v[i].shows * v[i].shows / (s->scatter * s->scatter);
	return says;
}

double geo_choose_decisive_pairs(struct geo_search *s)
{
	const struct geo_hypothesis *rival[RIVALS];
	double says = INFINITY;
	size_t n = 0;

	for (size_t i = 1; i < s->n && n < RIVALS; i++)
		if (!geo_is_same_layout(&s->h[0].shape, &s->h[i].shape))
			rival[n++] = &s->h[i];
	for (size_t i = 0; i < n; i++) {
		double of = add_reporting_pairs(s, &s->h[0], rival[i], (i + 1) * s->most_pairs / 2 / n);

		says = i ? says : of;
	}
	return says;
}
