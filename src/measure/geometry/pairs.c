/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which accesses are made, and where. At first over all distances of which some layout has something to say, in the
 * longest zone; then in the zone, or at the end of the band, where the likeliest layout and its rivals differ most, and
 * those that do so most. For one surface also over few tracks and many, from anywhere.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/layout.h"

#define STRETCH    12000 /* tracks that accesses are tried in, at most */
#define SAME       0.01  /* of their errors: independent ones of twenty accesses are hardly ever so near */
#define SAMPLED    3000  /* pairs that those are chosen from which distinguish two layouts */
#define OF_A_KIND  8     /* of them at most, that say the same */
#define MORE_PAIRS 40    /* of others */

/* ---- where ---- */

/* s->fit: the first tracks as that hypothesis reads them; no zones where it is only counted, or they are far dearer
 * than by another one. */
static void read_first(struct geo_search *s, const struct geo_hypothesis *h)
{
	s->fit->n = 0;
	s->fit->cost = INFINITY;
	if (!geo_is_counted(h) || h->shape.heads == 1)
		geo_order_fit(s->o, h->shape.heads == 1 ? &h->shape : &h->read, GEO_RANK_TRACKS,
		              geo_is_counted(h) ? s->dear : (double)INFINITY, NULL, s->fit);
}

struct stretch {
	uint64_t first, tracks;
};

/* The longest zone but one that is as the stretch before: it may have been read wrongly, just so that a false layout
 * fits there. No tracks: there is none. */
static struct stretch longest(struct geo_search *s, bool is_other)
{
	uint64_t tracks = GEO_FEW * s->h[0].shape.heads * s->h[0].shape.band;
	const struct geo_fit_zone *most = NULL;

	/* The farther from the begin of a zone, the more of it may have been read wrongly. */
	tracks = tracks < GEO_SOME_TRACKS ? GEO_SOME_TRACKS : tracks > STRETCH ? STRETCH : tracks;
	for (size_t i = 0; i < s->fit->n; i++) {
		const struct geo_fit_zone *z = &s->fit->zone[i];
		bool is_same = z->track < s->first + s->tracks && z->track + z->tracks > s->first;

		if ((!most || z->tracks > most->tracks) && !(is_other && is_same))
			most = z;
	}
	if (most && most->tracks < tracks)
		tracks = most->tracks;
	return most ? (struct stretch){ most->track, tracks } : (struct stretch){ 0, 0 };
}

/* Where bands are long the tracks of one surface are as those of a disk that has no other, but for the end of them:
 * what is about there in the longest zone. No tracks: that was not seen. */
static struct stretch border(struct geo_search *s, const struct geo_shape *shape)
{
	uint64_t about = shape->band ? STRETCH / 2 : GEO_BORDER, band, end;
	const struct geo_fit_zone *most;

	if (shape->heads == 1 || (shape->band && shape->band < STRETCH / 2))
		return (struct stretch){ 0, 0 };
	geo_order_fit(s->o, shape, geo_read_behind(shape, 0), INFINITY, NULL, s->fit);
	most = geo_longest_zone(s->fit);
	band = most && shape->band && shape->band < most->cylinders ? shape->band : most ? most->cylinders : 0;
	if (band < GEO_BORDER || most->tracks < band + GEO_BORDER)
		return (struct stretch){ 0, 0 };
	end = most->track + (band + about < most->tracks ? band + about : most->tracks);
	about = band > about ? band - about : 0;
	return (struct stretch){ most->track + about, end - most->track - about };
}

/* ---- which ---- */

static bool is_plain(struct geo_search *s, uint64_t track)
{
	return geo_is_plain(geo_order_at(s->o, s->first + track));
}

static bool add_pair(struct geo_search *s, uint64_t from, uint64_t distance)
{
	if (s->npairs == s->most_pairs || distance == 0 || from + distance >= s->tracks || !is_plain(s, from) ||
	    !is_plain(s, from + distance))
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

/* Over such a distance, from one of the first tracks: not always from the first, as zones may seem to begin some
 * tracks before they do, and a track that lies elsewhere would be in all of these accesses. Once since pair n. */
static void add_near_begin(struct geo_search *s, size_t n, uint64_t distance)
{
	for (size_t i = n; i < s->npairs; i++)
		if (s->a[i] - s->b[i] == distance)
			return;
	for (int k = 0; k < GEO_DRAWS && distance && distance < s->tracks; k++) {
		uint64_t room = s->tracks - distance;

		if (add_pair(s, rng_below(&s->g->t.rng, room < (GEO_HEADS + 2) ? room : (GEO_HEADS + 2)), distance))
			return;
	}
}

/* Near ones from anywhere: with tracks over each other one of these distances is the first that no change of heads
 * hides. */
static void add_near_pairs(struct geo_search *s)
{
	struct rng *rng = &s->g->t.rng;

	for (uint64_t d = 1; d <= (GEO_HEADS + 2) && s->tracks > 2 * d + 1; d++)
		for (int k = 0; k < GEO_DRAWS && !add_pair(s, rng_below(rng, s->tracks - d - 1), d); k++)
			;
}

/* Over distances of which layouts have something to say: in turn of each candidate, so that each has a say. */
static void add_all_kinds(struct geo_search *s)
{
	uint64_t d[16];
	struct rng *rng = &s->g->t.rng;
	size_t near = s->npairs;

	for (size_t k = 0; k < ARRAY_LEN(d) && (double)s->npairs < GEO_MOST * (double)s->most_pairs; k++)
		for (size_t i = 0; i < s->left && (double)s->npairs < GEO_MOST * (double)s->most_pairs; i++)
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

/*
 * One surface: an access over more tracks takes no less, wherever it begins, and whatever is between. With bands,
 * however long, some that go over about as many tracks end beside where they began, and others as far away as a band is
 * long. As many at distances up to 10 as up to 100, or 1000; over the edge of a zone only those so far that spare
 * tracks there make no difference.
 */
static void add_wide_pairs(struct geo_search *s, const struct geo_fit *fit)
{
	struct rng *rng = &s->g->t.rng;
	uint64_t most;

	s->first = 0;
	s->tracks = s->o->tracks < 2ull * GEO_RANK_TRACKS ? s->o->tracks : 2ull * GEO_RANK_TRACKS;
	most = s->tracks / 2 < GEO_BAND_MOST ? s->tracks / 2 : GEO_BAND_MOST;
	for (size_t i = 1; i < fit->n && s->npairs < s->most_pairs / 4; i += fit->n / 6 + 1)
		if (fit->zone[i].track > GEO_BORDER)
			(void)add_pair(s, fit->zone[i].track - 1 - rng_below(rng, GEO_BORDER), GEO_BORDER);
	for (size_t i = 0; i < 4ul * GEO_PAIRS && s->tracks > 8; i++) {
		uint64_t distance = (uint64_t)exp(log((double)most) * rng_double(rng)),
			 track = rng_below(rng, s->tracks - distance);
		bool is_over = false;

		for (size_t k = 1; k < fit->n; k++)
			is_over |= fit->zone[k].track > track && fit->zone[k].track <= track + distance;
		if (!is_over || distance >= GEO_BORDER)
			(void)add_pair(s, track, distance);
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

/* By the kinds of layout *first, then by the other's. */
static int by_kinds(const void *x, const void *y, void *first)
{
	const struct sampled *a = x, *b = y;
	int k = *(const int *)first, r = geo_access_order(&a->of[k], &b->of[k]);

	return r ? r : geo_access_order(&a->of[1 - k], &b->of[1 - k]);
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

/* Pairs anywhere in the stretch, at distances of which one of the two has something to say, and both know where their
 * tracks are. */
static size_t sample(struct geo_search *s, const struct geo_hypothesis *const c[2], struct sampled *ret)
{
	cleanup_free struct geo_place *place = xcalloc(2 * s->tracks, sizeof(*place));
	struct rng *rng = &s->g->t.rng;
	uint64_t d[2][16];
	size_t m[2], n = 0;

	for (size_t k = 0; k < 2; k++) {
		if (!geo_label_stretch(s, c[k], place + k * s->tracks))
			return 0;
		m[k] = reporting(s, &c[k]->shape, d[k]);
	}
	for (size_t i = 0; i < SAMPLED; i++) {
		struct sampled v = { .distance = 1 + rng_below(rng, (GEO_HEADS + 2)) };

		if (i % 2)
			v.distance = d[i / 2 % 2][rng_below(rng, m[i / 2 % 2])];
		if (v.distance == 0 || v.distance >= s->tracks)
			continue;
		v.track = rng_below(rng, s->tracks - v.distance);
		for (size_t k = 0; k < 2; k++) {
			const struct geo_place *a = &place[k * s->tracks + v.track], *b = a + v.distance;

			v.of[k].is_unplaced = geo_is_unplaced(c[k], a, b);
			geo_set_between(&v.of[k], a, b);
			v.access[k] = geo_law_at(&c[k]->law, &v.of[k]);
		}
		if (geo_is_evidence(&v.of[0]) && geo_is_evidence(&v.of[1]))
			ret[n++] = v;
	}
	return n;
}

/* Those that distinguish these two, those first that do so most; ret: SAMPLED. How many. */
static size_t find_rivalling(struct geo_search *s, const struct geo_hypothesis *a, const struct geo_hypothesis *b,
                             struct sampled *v)
{
	const struct geo_hypothesis *const c[2] = { a, b };
	size_t n = sample(s, c, v), same = 0;

	for (int k = 1; k >= 0; k--) {
		qsort_r(v, n, sizeof(*v), by_kinds, &k);
		find_reporting(v, n, k);
	}
	for (size_t i = 1; i < n; i++) { /* those of the same kinds in both are together */
		same = by_kinds(&v[i - 1], &v[i], &(int){ 0 }) == 0 ? same + 1 : 0;
		if (same >= OF_A_KIND)
			v[i].shows = 0.0;
	}
	qsort(v, n, sizeof(*v), by_what_it_shows);
	return n;
}

/* What that many of them will show, of the log evidence. */
static double says(const struct geo_search *s, const struct sampled *v, size_t n, size_t most)
{
	double sum = 0.0;

	for (size_t i = 0; i < n && i < most; i++)
		sum += 0.5 * v[i].shows * v[i].shows / (s->scatter * s->scatter);
	return sum;
}

/* The next layouts behind the likeliest: of each number of surfaces the first, and at last one with as many. */
static size_t find_rivals(const struct geo_search *s, const struct geo_hypothesis *ret[GEO_RIVALS])
{
	bool is_there[GEO_HEADS + 1] = { false };
	size_t n = 0;

	is_there[s->h[0].shape.heads] = true;
	for (size_t i = 1; i < s->n && n + 1 < GEO_RIVALS; i++) {
		if (is_there[s->h[i].shape.heads])
			continue;
		is_there[s->h[i].shape.heads] = true;
		ret[n++] = &s->h[i];
	}
	for (size_t i = 1; i < s->n; i++)
		if (s->h[i].shape.heads == s->h[0].shape.heads && !geo_is_same_layout(&s->h[0].shape, &s->h[i].shape)) {
			ret[n++] = &s->h[i];
			break;
		}
	return n;
}

/* What pairs of the stretch will show against those, of the log evidence: of each no more than puts it out. */
static double says_here(struct geo_search *s, const struct geo_hypothesis *const *rival, size_t n, struct sampled *v)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += fmin(GEO_SPEAKS,
		            says(s, v, find_rivalling(s, &s->h[0], rival[i], v), (size_t)(GEO_MOST * MORE_PAIRS) / n));
	return sum;
}

/* The stretch in which the likeliest layout and its rivals differ most, of the zones that one of them reads and of ends
 * of long bands: the one before where that shows far more than others. What pairs will show there. */
static double choose_stretch(struct geo_search *s, const struct geo_hypothesis *const *rival, size_t n)
{
	cleanup_free struct sampled *v = xcalloc(SAMPLED, sizeof(*v));
	struct stretch all[3 * (GEO_RIVALS + 1)], best = { s->first, s->tracks }, last = best;
	double most = 0.0;
	size_t m = 0;

	for (size_t i = 0; i <= n; i++) {
		const struct geo_hypothesis *h = i ? rival[i - 1] : &s->h[0];

		read_first(s, h);
		all[m++] = longest(s, true);
		all[m++] = longest(s, false);
		all[m++] = border(s, &h->shape);
	}
	for (size_t i = 0; i < m; i++) {
		double here;

		if (all[i].tracks == 0)
			continue;
		s->first = all[i].first;
		s->tracks = all[i].tracks;
		here = says_here(s, rival, n, v);
		if (all[i].first == last.first && all[i].tracks == last.tracks)
			here /= GEO_TWICE;
		if (here <= most)
			continue;
		most = here;
		best = all[i];
	}
	s->first = best.first;
	s->tracks = best.tracks;
	return most;
}

double geo_choose_pairs(struct geo_search *s)
{
	cleanup_free struct sampled *v = xcalloc(SAMPLED, sizeof(*v));
	const struct geo_hypothesis *rival[GEO_RIVALS];
	size_t n = find_rivals(s, rival);
	double most = INFINITY;

	s->npairs = 0;
	s->most_pairs = s->looks ? MORE_PAIRS : GEO_FIRST_PAIRS;
	read_first(s, &s->h[0]);
	if (s->looks == 0) {
		struct stretch z = longest(s, false);

		s->first = z.first;
		s->tracks = z.tracks ? z.tracks : s->o->tracks < STRETCH ? s->o->tracks : STRETCH;
	} else if (s->h[0].shape.heads == 1 && s->looks % 2) {
		add_wide_pairs(s, s->fit);
	} else {
		most = choose_stretch(s, rival, n);
	}
	for (size_t i = 0; i < n && isfinite(most) && s->npairs < s->most_pairs; i++) {
		size_t end = (size_t)(GEO_MOST * (double)(i + 1) * (double)s->most_pairs / (double)n);
		size_t found = find_rivalling(s, &s->h[0], rival[i], v);

		for (size_t k = 0; k < found && v[k].shows > 0.0 && s->npairs < end; k++)
			(void)add_pair(s, v[k].track, v[k].distance);
	}
	add_near_pairs(s);
	add_all_kinds(s);
	return s->h[0].shape.heads == 1 ? (double)INFINITY : most; /* the wide ones of the next look may show more */
}

/* ---- how long they take ---- */

static struct geo_spot spot(struct geo_search *s, uint64_t track)
{
	const struct geo_seg *seg = geo_order_at(s->o, s->first + track);

	return (struct geo_spot){ .first = geo_order_first(s->o, s->first + track), .sectors = seg->size };
}

/* Tracks of few sectors lie at few angles, so accesses over as many tracks are all off by the same. A hundred of them
 * say no more than one does. */
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
		s->pair[i].begins = GEO_MOST; /* behind it reading ahead may be on the next track */
	}
	r = geo_shortest(s->g, s->pair, s->npairs, from, to, &s->scatter, err);
	find_repeated(s);
	return r;
}

/* ---- of one surface, or of several with bands longer than what was walked? ---- */

/* Behind a band or two the arm is back where it was. An access over that far takes no longer than one over a third of
 * it. Tracks behind the walk are not known, but where about they lie is, and a sector's angle can be read. */

/* Accesses over distances up to three times as long. Even the second one behind a return has less than a third of the
 * way left, whether bands turn back or begin anew: one may be missing. */
#define A_THIRD    8
#define CLEARLY    2.0  /* by these; two returns in a row that hide like that: 1 in 2000 */
#define COARSE     3.0  /* usual errors: that difference is not known */
#define FAR_BEGINS 0.03 /* of a track that may end anywhere */

/* Which: to the first whole tracks, from farther and farther away up to the end of the disk. */
static size_t choose_far(struct geo_search *s, bool *ret_is_to_end)
{
	const double step = pow(3.0, 1.0 / A_THIRD);
	struct geo_order *o = s->o;
	double distance = GEO_BORDER;
	size_t n = 0;

	*ret_is_to_end = false;
	for (uint64_t t = 0; n < GEO_PAIRS && t < o->tracks; t++) {
		const struct geo_seg *seg = geo_order_at(o, t);
		struct geo_pair *p = &s->pair[n];

		if (!geo_is_plain(seg))
			continue;
		*p = (struct geo_pair){ .distance = (uint64_t)distance, .begins = FAR_BEGINS };
		p->to = p->from = (struct geo_spot){ .first = geo_order_first(o, t), .sectors = seg->size };
		p->from.first += p->distance * seg->size;
		*ret_is_to_end = p->from.first + seg->size >= s->g->sectors;
		if (*ret_is_to_end)
			break;
		distance *= step;
		n++;
	}
	return n;
}

int geo_look_far(struct geo_search *s, struct err *err)
{
	bool is_to_end, must = false;
	size_t n, missed = 0;
	double scatter, errors = 0.0, measured = 0.0;
	int r;

	s->goes_on = s->o->end == s->g->sectors; /* all surfaces were seen, and none begins as the first did */
	if (s->goes_on)
		return 0;
	n = choose_far(s, &is_to_end);
	r = geo_shortest(s->g, s->pair, n, GEO_LAYOUT_AT, GEO_CHECK_AT, &scatter, err);
	s->goes_on = r == 0 && is_to_end && n > A_THIRD;
	for (size_t i = 0; i < n; i++) {
		measured += isfinite(s->pair[i].access);
		errors += isfinite(s->pair[i].access) ? s->pair[i].error : 0.0;
	}
	for (size_t i = A_THIRD; i < n && s->goes_on; i++) {
		const struct geo_pair *p = &s->pair[i], *third = p - A_THIRD + !isfinite(p[-A_THIRD].access);
		double longer = p->access - third->access, error = hypot(p->error, third->error);

		missed = isfinite(longer) && error * measured < COARSE * errors ? 0 : missed + 1;
		must |= longer > GEO_BEYOND * error ||
		        p->distance > s->o->tracks / 2; /* shorter bands show in the walk */
		s->goes_on = (missed < 2 || p->distance > 2 * GEO_BAND_MOST) &&
		             (missed || !must || longer > CLEARLY * error);
	}
	return r;
}
