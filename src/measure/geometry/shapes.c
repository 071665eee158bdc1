/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which layouts can be true by the sequence of tracks: all shapes that its runs suggest are held against the first
 * tracks (order.c), and those that explain them at about the least cost against more. Accesses decide between these
 * (layout.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/geometry/search.h"

#define HEADS_TRIED  GEO_HEADS
#define LENGTHS      8                    /* most frequent runs of equal tracks that bands are guessed from */
#define PAST_DEFECTS 2                    /* and as many that come again but for defects, */
#define RUN_LEAST    8                    /* tracks in the mean: shorter runs are of no bands */
#define COMES_AGAIN  3                    /* at least so often (a choice) */
#define BANDS_MAX    128                  /* all these and their parts, equal ones once */
#define RANKED_MAX   (GEO_SHAPES_MAX / 2) /* each of them may be two ways of the arm */
#define FEW_TRACKS   1500                 /* for a first look, and: */
#define SECOND_LOOK \
	(3 * RANKED_MAX) /* the best so many of the first look; where nothing shows any, all would be left */
#define FEW_RUNS \
	48         /* of equal tracks: a band of many surfaces and whether it comes again, however long its runs are; */
#define RUN_PART 4 /* shorter ones than such a part of the usual run are what defects cut off */
#define MARGIN   6.0 /* of cost: layouts so much dearer than the best are out */
#define DEARER \
	1.2 /* what else is odd of a sequence costs false layouts at times less than the true one; see add_twins() */
#define TWIN_DEARER \
	16.0 /* of two layouts whose undisturbed sequence is the same; seen: 2.1, and 14 with many skipped tracks */
#define BY_CHANCE                                                                                                      \
	12.0 /* of the log-likelihood, at most: heads of one make may be more alike than by chance, but not in such an \
	        order */
#define FEW_SPEAK    6.0 /* of the log-likelihood: fewer surfaces that come again are not left out for less */
#define BROKEN_TIMES 2.0 /* by which a true layout is cheaper than others as far as it can be read (a choice) */
#define BROKEN_LEAST 2   /* times the first look, at least, that it is */
#define TWIN_ZONES   2   /* of them one has at most so many times as many zones, and: */
#define TWIN_MORE    4

struct candidate {
	struct geo_shape shape;
	double cost;
	size_t zones;
	size_t rank;      /* of two that cost the same the simpler one comes first */
	bool is_one_band; /* no zone is longer than a band: the length of bands is not visible */
};

struct ranking {
	struct geo *g;
	struct geo_order *o;
	struct candidate c[GEO_SHAPES_MAX]; /* half of them before ways are added */
	size_t n;
	struct geo_fit *fit;
};

/* The most frequent ones of length[0..n), at most `most`, if there are several of it, as ret. How many; length[] is put
 * in order. */
static size_t most_frequent(uint64_t *length, size_t n, uint64_t *ret, size_t most, size_t least)
{
	size_t found = 0;

	qsort(length, n, sizeof(length[0]), geo_down);
	while (found < most && n) {
		size_t often = 0, at = 0;

		for (size_t i = 0, k; i < n; i = k) {
			for (k = i; k < n && length[k] == length[i];)
				k++;
			if (k - i > often) {
				often = k - i;
				at = i;
			}
		}
		if (often < least)
			break;
		ret[found++] = length[at];
		memmove(length + at, length + at + often, (n - at - often) * sizeof(length[0]));
		n -= often;
	}
	return found;
}

/* Where tracks that lack something cut all runs of equal ones: lengths that come again of what one surface would have
 * as zones, which goes on past those. */
static size_t lengths_past_defects(struct ranking *s, uint64_t *ret, size_t most)
{
	const struct geo_shape one = { .heads = 1, .band = 1 };
	uint64_t length[GEO_ZONES_MAX], tracks = s->o->tracks < s->o->ranked ? s->o->tracks : s->o->ranked;

	if (geo_order_changes(s->o, tracks) * RUN_LEAST > tracks)
		return 0;
	geo_order_fit(s->o, &one, s->o->ranked, INFINITY, NULL, s->fit);
	for (size_t i = 0; i < s->fit->n; i++)
		length[i] = s->fit->zone[i].tracks;
	return most_frequent(length, s->fit->n, ret, most, COMES_AGAIN);
}

/* Lengths of bands that runs of equal tracks suggest. */
static size_t guess_bands(struct ranking *s, uint64_t *ret)
{
	uint64_t length[2 * 512], best[LENGTHS + PAST_DEFECTS];
	size_t n = geo_order_lengths(s->o, length, ARRAY_LEN(length) / 2), nbest, m = 0;

	for (size_t i = n; i-- > 0;) /* the last track of a band is followed by something else */
		length[n++] = length[i] + 1;
	nbest = most_frequent(length, n, best, LENGTHS, 1);
	nbest += lengths_past_defects(s, best + nbest, PAST_DEFECTS);
	for (size_t i = 0; i < nbest; i++)
		for (uint64_t k = 1; k <= HEADS_TRIED && m < BANDS_MAX; k++) {
			bool is_known = best[i] % k != 0 || best[i] / k < 2;

			for (size_t j = 0; j < m && !is_known; j++)
				is_known = ret[j] == best[i] / k;
			if (!is_known)
				ret[m++] = best[i] / k;
		}
	return m;
}

static double limit(const struct ranking *s)
{
	double best = INFINITY;

	for (size_t i = 0; i < s->n; i++)
		best = fmin(best, s->c[i].cost);
	return best * DEARER + MARGIN;
}

static void forget_dear_ones(struct ranking *s)
{
	double most = limit(s);
	size_t m = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->c[i].cost <= most)
			s->c[m++] = s->c[i];
	s->n = m;
}

/* Is no zone longer than a band? */
static bool is_one_band(const struct geo_fit *fit, uint64_t band)
{
	for (size_t i = 0; i < fit->n; i++)
		if (fit->zone[i].cylinders > band)
			return false;
	return true;
}

static void add_candidate(struct ranking *s, const struct candidate *c)
{
	if (s->n == RANKED_MAX)
		forget_dear_ones(s);
	if (s->n < RANKED_MAX)
		s->c[s->n++] = *c;
}

/* The cost of a shape over so many tracks. */
static void rank(struct ranking *s, struct candidate *c, uint64_t tracks)
{
	geo_order_fit(s->o, &c->shape, tracks, limit(s), NULL, s->fit);
	c->cost = s->fit->cost;
	c->zones = s->fit->n;
	c->is_one_band = c->shape.band > 1 && is_one_band(s->fit, c->shape.band);
}

static int compare_cost(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->cost == b->cost)
		return (a->rank > b->rank) - (a->rank < b->rank);
	return (a->cost > b->cost) - (a->cost < b->cost);
}

/* Head-first with all numbers of heads first, then bands, the likely lengths before others. */
static void list_shapes(struct ranking *s, struct candidate *all, size_t *n)
{
	uint64_t band[BANDS_MAX + 2] = { 1, 0 };
	size_t nbands = guess_bands(s, band + 2) + 2;

	for (size_t i = 0; i < nbands; i++)
		for (uint32_t heads = 1; heads <= HEADS_TRIED; heads++)
			for (int way = 0; way < (heads > 1 ? 2 : 1); way++)
				if (heads > 1 || band[i]) {
					all[*n] = (struct candidate){
						.shape = { .heads = heads, .band = band[i], .is_alternate = way }
					};
					all[*n].rank = *n;
					++*n;
				}
}

/* Heads that alternate where that makes no difference. */
static bool is_idle(const struct ranking *s, const struct candidate *c)
{
	for (size_t i = 0; c->shape.is_alternate && i < s->n; i++)
		if (s->c[i].shape.heads == c->shape.heads && s->c[i].shape.band == c->shape.band &&
		    s->c[i].cost <= c->cost)
			return true;
	return false;
}

static bool has_shape(const struct ranking *s, const struct geo_shape *shape)
{
	for (size_t i = 0; i < s->n; i++)
		if (geo_is_same_sequence(&s->c[i].shape, shape))
			return true;
	return false;
}

/* So many times as many heads in bands so much shorter, or 1/times; heads 1: there is none. */
static struct geo_shape cut(const struct geo_shape *shape, uint32_t times, bool is_longer)
{
	struct geo_shape twin = *shape;

	twin.heads = is_longer ? shape->heads / times : shape->heads * times;
	twin.band = is_longer ? shape->band * times : shape->band / times;
	if (shape->band < 2 || twin.band < 2 || twin.heads > HEADS_TRIED ||
	    shape->band * shape->heads != twin.band * twin.heads)
		twin.heads = 1;
	return twin;
}

/*
 * Layouts of which the undisturbed sequence is the same, or nearly: half as many heads in alternate order, as many
 * heads, head-first, as a band has tracks, and the same band cut otherwise. What disturbs the sequence costs one of two
 * many times as much as the other, so that only accesses tell them apart.
 */
static void add_twins(struct ranking *s, uint64_t tracks)
{
	double most = limit(s) / DEARER * TWIN_DEARER;

	for (size_t i = 0, n = s->n; i < n; i++) {
		const struct geo_shape *c = &s->c[i].shape;
		const struct geo_shape twin[] = {
			{ .heads = c->heads % 2 || c->is_alternate ? 1 : c->heads / 2,
			  .band = c->band,
			  .is_alternate = true },
			{ .heads = c->band <= HEADS_TRIED ? (uint32_t)c->band : 1, .band = 1 },
			cut(c, 2, true),
			cut(c, 2, false),
			cut(c, 3, true),
			cut(c, 3, false),
		};

		for (size_t k = 0; k < ARRAY_LEN(twin) && s->n < RANKED_MAX && !geo_has_thought_enough(s->g); k++) {
			struct candidate add = { .shape = twin[k], .rank = s->c[i].rank };

			if (twin[k].heads < 2 || has_shape(s, &twin[k]))
				continue;
			geo_order_fit(s->o, &add.shape, tracks, most, NULL, s->fit);
			add.cost = s->fit->cost;
			if (isfinite(add.cost) && !is_idle(s, &add) &&
			    s->fit->n <= TWIN_ZONES * s->c[i].zones + TWIN_MORE)
				s->c[s->n++] = add;
		}
	}
}

/* ---- the same order, cut otherwise ---- */

/* Of a slot in the order of a shape's bands. */
struct slot {
	uint32_t head;
	enum geo_change before;
};

static struct slot slot_at(const struct geo_shape *shape, uint64_t slot)
{
	uint64_t size = shape->heads * shape->band, at = slot % size, k = at / shape->band;
	bool is_back = shape->is_alternate && slot / size % 2;

	return (struct slot){ .head = (uint32_t)(is_back ? shape->heads - 1 - k : k),
		              .before = at % shape->band   ? GEO_TO_CYLINDER
		                        : k                ? GEO_TO_HEAD
		                        : shape->band == 1 ? GEO_TO_CYLINDER
		                                           : GEO_TO_BAND };
}

/* Until all is as at the begin. */
static uint64_t turn_of(const struct geo_shape *shape)
{
	return shape->heads * shape->band * (shape->is_alternate ? 2 : 1);
}

/*
 * Are the sizes of a zone's surfaces, and the skews between its tracks, just those of fewer surfaces, or of more, whose
 * order comes again in a part of this one's? Heads that alternate, for one, go 0 1 2, 2 1 0, 0 1 2 as the first half of
 * nine do.
 */
static bool has_same_order(const struct geo_order *o, const struct geo_fit_zone *z, const struct geo_shape *shape,
                           const struct geo_shape *twin)
{
	const double skew[GEO_CHANGES] = {
		[GEO_TO_CYLINDER] = z->cylinder_skew, [GEO_TO_HEAD] = z->head_skew, [GEO_TO_BAND] = z->band_skew
	};
	double of[GEO_CHANGES] = { NAN, NAN, NAN };
	uint64_t size[GEO_HEADS] = { 0 }, turn = turn_of(shape);

	if (turn % turn_of(twin))
		return false;
	for (uint64_t i = 0; i < turn; i++) {
		struct slot a = slot_at(shape, i), b = slot_at(twin, i);

		if (!size[b.head])
			size[b.head] = z->size[a.head];
		if (isnan(of[b.before]))
			of[b.before] = skew[a.before];
		if (size[b.head] != z->size[a.head] ||
		    (isfinite(skew[a.before]) && !geo_order_same(o, of[b.before], skew[a.before])))
			return false;
	}
	return true;
}

/* From the least of a zone's sizes to the largest one. */
static uint64_t size_range(const struct geo_fit_zone *z, uint32_t heads, uint64_t *ret_most)
{
	uint64_t least = UINT64_MAX;

	*ret_most = 0;
	for (uint32_t k = 0; k < heads; k++) {
		least = z->size[k] < least ? z->size[k] : least;
		*ret_most = z->size[k] > *ret_most ? z->size[k] : *ret_most;
	}
	return *ret_most - least;
}

/* Do neither sizes nor skews of that zone, as a layout of several bands has it, show which of its changes are to
 * another band, so that there may be any number of surfaces? */
static bool are_heads_unseen(const struct geo_order *o, const struct geo_fit_zone *z, const struct geo_shape *shape)
{
	uint64_t most;

	return z && shape->heads > 1 && shape->band > 1 && size_range(z, shape->heads, &most) == 0 &&
	       (isnan(z->band_skew) || geo_order_same(o, z->head_skew, z->band_skew));
}

/* Any other number of surfaces has the same order there, in bands as long. */
static void add_other_heads(struct ranking *s, const struct candidate *c, const struct geo_fit_zone *zone)
{
	if (!are_heads_unseen(s->o, zone, &c->shape))
		return;
	for (uint32_t heads = 2; heads <= HEADS_TRIED; heads++) {
		struct candidate add = *c;

		add.shape.heads = heads;
		add.shape.is_alternate = false;
		if (s->n < RANKED_MAX && !has_shape(s, &add.shape))
			s->c[s->n++] = add;
	}
}

/* Those of a candidate whose bands, as it has them, are `zone`. */
static void add_same_orders_of(struct ranking *s, const struct candidate *c, const struct geo_fit_zone *zone)
{
	uint64_t turn = turn_of(&c->shape);

	for (uint32_t heads = 2; heads <= HEADS_TRIED; heads++)
		for (uint64_t parts = 1; parts * heads <= turn; parts++) {
			struct candidate add = *c;

			if (turn % (parts * heads))
				continue;
			add.shape = (struct geo_shape){ .heads = heads, .band = turn / heads / parts };
			for (int way = 0; way < 2; way++) {
				add.shape.is_alternate = way;
				if (s->n < RANKED_MAX && !has_shape(s, &add.shape) && !is_idle(s, &add) &&
				    has_same_order(s->o, zone, &c->shape, &add.shape))
					s->c[s->n++] = add;
			}
		}
}

/* ---- fewer surfaces that come again ---- */

/* Of a layout's surface, which one has its size if that order comes again in it: one of the first few. */
static uint32_t first_like(const struct geo_shape *few, uint32_t head)
{
	uint32_t turn = head / few->heads, at = head % few->heads;

	return few->is_alternate && turn % 2 ? few->heads - 1 - at : at;
}

/* So many surfaces on all is as at the begin. */
static uint32_t heads_of_turn(const struct geo_shape *few)
{
	return few->is_alternate ? 2 * few->heads : few->heads;
}

/* Could sizes of surfaces that come again in one layout be the surfaces of another one, of fewer, coming by again? */
static bool may_come_again(const struct geo_shape *many, const struct geo_shape *few)
{
	/* What goes to and fro is backwards as forwards. */
	return (!many->is_alternate || few->is_alternate) && many->band == few->band && few->heads > 1 &&
	       many->heads > few->heads && many->heads % heads_of_turn(few) == 0;
}

/* If the first of many is that one of the turn of the few. */
static bool come_again_from(const struct geo_fit_zone *z, const struct geo_shape *many, const struct geo_shape *few,
                            uint32_t shift)
{
	uint64_t size[GEO_HEADS] = { 0 };

	for (uint32_t k = 0; k < many->heads; k++) {
		uint32_t head = first_like(few, k + shift);

		size[head] = size[head] ? size[head] : z->size[k];
		if (!z->size[k] || z->size[k] != size[head])
			return false;
	}
	return true;
}

double geo_sizes_come_again(const struct geo_fit_zone *z, const struct geo_shape *many, const struct geo_shape *few)
{
	uint64_t most;

	if (!may_come_again(many, few))
		return 0.0;
	for (uint32_t shift = 0; z && shift < heads_of_turn(few); shift++)
		if (come_again_from(z, many, few, shift))
			return fmin(BY_CHANCE,
			            (many->heads - few->heads) * log((double)(size_range(z, many->heads, &most) + 1)));
	return 0.0;
}

/*
 * Fewer surfaces whose sizes come again in those of a candidate: skews need not be alike, as in a cycle that was looked
 * at once and leaped over time and again they are all off where one was. What is dearer than a layout that was misread
 * may be would be out for good when accesses speak against it.
 */
static void add_few_of(struct ranking *s, const struct candidate *c, const struct geo_fit_zone *zone, uint64_t tracks)
{
	double most = fmax(c->cost + GEO_SURE, GEO_MISREAD * c->cost);

	for (uint32_t heads = 2; heads * 2 <= c->shape.heads; heads++)
		for (int way = 0; way < 2; way++) {
			struct candidate add = *c;

			add.shape.heads = heads;
			add.shape.is_alternate = way;
			if (s->n == RANKED_MAX || has_shape(s, &add.shape) ||
			    !(geo_sizes_come_again(zone, &c->shape, &add.shape) > FEW_SPEAK))
				continue;
			geo_order_fit(s->o, &add.shape, tracks, most, NULL, s->fit);
			add.cost = s->fit->cost;
			if (isfinite(add.cost))
				s->c[s->n++] = add;
		}
}

/* What disturbs the sequence makes one of them much dearer from there on, so it is the first few bands that are looked
 * at. */
#define PAIR_BANDS  16
#define PAIR_DEARER 2.0

/* Two heads in bands twice as long, if they alternate, and half as long and alternating, if not: from the middle of a
 * band on the sequence is the same. heads 1: there are more. */
static struct geo_shape turned_pair(const struct geo_shape *shape)
{
	if (shape->heads != 2 || shape->band == 0 || (!shape->is_alternate && shape->band % 2))
		return (struct geo_shape){ .heads = 1 };
	return (struct geo_shape){ .heads = 2,
		                   .band = shape->is_alternate ? 2 * shape->band : shape->band / 2,
		                   .is_alternate = !shape->is_alternate };
}

static void add_turned_pair(struct ranking *s, const struct candidate *c)
{
	struct candidate add = *c;
	uint64_t few = PAIR_BANDS * c->shape.heads * c->shape.band;
	double most;

	add.shape = turned_pair(&c->shape);
	if (add.shape.heads == 1 || s->n == RANKED_MAX || has_shape(s, &add.shape))
		return;
	geo_order_fit(s->o, &c->shape, few, INFINITY, NULL, s->fit);
	most = PAIR_DEARER * (s->fit->cost + MARGIN);
	geo_order_fit(s->o, &add.shape, few, most, NULL, s->fit);
	if (isfinite(s->fit->cost))
		s->c[s->n++] = add;
}

/*
 * Where accesses are made the order is the same, so only they tell these apart, whatever they cost elsewhere, where
 * something disturbs the sequence, or the walk has gone astray. n: candidates that do explain it.
 */
static void add_same_orders(struct ranking *s, size_t n, uint64_t tracks)
{
	for (size_t i = 0; i < n && !geo_has_thought_enough(s->g); i++) {
		const struct candidate c = s->c[i];
		const struct geo_fit_zone *zone;
		struct geo_fit_zone longest;

		if (c.shape.heads == 1 || c.shape.band == 0)
			continue;
		add_turned_pair(s, &c);
		geo_order_fit(s->o, &c.shape, tracks, INFINITY, NULL, s->fit);
		zone = geo_longest_zone(s->fit);
		if (!zone)
			continue;
		longest = *zone;
		add_same_orders_of(s, &c, &longest);
		add_other_heads(s, &c, &longest);
		add_few_of(s, &c, &longest, tracks);
	}
}

/* Half of all tracks are in runs of so many and more. */
static uint64_t usual_run(const struct geo_order *o)
{
	cleanup_free uint64_t *tracks = calloc(o->n + 1, sizeof(*tracks));
	uint64_t n = 0;
	size_t i = o->n;

	if (!tracks)
		return 1;
	for (size_t k = 0; k < o->n; k++)
		tracks[k] = o->seg[k].tracks;
	qsort(tracks, o->n, sizeof(*tracks), geo_down);
	while (i > 1 && 2 * (n + tracks[i - 1]) < o->tracks)
		n += tracks[--i];
	return i ? tracks[i - 1] : 1;
}

/*
 * Tracks of a first look. A layout is charged for its whole first band, so where that is longer than the look the true
 * one is charged for more of the sequence than others are.
 */
static uint64_t few_tracks(const struct geo_order *o, uint64_t most)
{
	uint64_t usual = usual_run(o), runs = 0;

	for (size_t i = 0; i < o->n; i++) {
		uint64_t few = o->seg[i].track > FEW_TRACKS ? o->seg[i].track : FEW_TRACKS;

		if (RUN_PART * o->seg[i].tracks >= usual && runs++ == FEW_RUNS)
			return few < most ? few : most;
	}
	return most;
}

/* Ways of the arm make no difference to the sequence. */
static void add_ways(struct ranking *s)
{
	for (size_t i = 0, n = s->n; i < n; i++)
		if (s->c[i].shape.band != 1 && s->c[i].shape.heads > 1) {
			s->c[s->n] = s->c[i];
			s->c[s->n++].shape.is_serpentine = true;
		}
}

/* Those of all[0..n) that do well over so many tracks, the best first, and s->c; how many. is_last: what is told must
 * be more than that. */
static size_t look(struct ranking *s, struct candidate *all, size_t n, uint64_t tracks, bool is_last)
{
	size_t m = 0;

	s->n = 0;
	for (size_t i = 0; i < n && !geo_has_thought_enough(s->g); i++) {
		session_progress(s->g->ses, "layouts", geo_done(s->g, GEO_LAYOUT_AT), "%zu of %zu, %zu left", i, n,
		                 s->n);
		rank(s, &all[i], tracks);
		if (!(all[i].cost <= limit(s)) || (is_last && (all[i].is_one_band || is_idle(s, &all[i]))))
			continue;
		all[m++] = all[i];
		add_candidate(s, &all[i]);
	}
	qsort(all, m, sizeof(*all), compare_cost);
	return m;
}

static double cost_over(const struct ranking *s, const struct geo_shape *shape, uint64_t tracks, double most)
{
	geo_order_fit(s->o, shape, tracks, most, NULL, s->fit);
	return s->fit->cost;
}

/*
 * How many tracks can be read. Tracks that could not be, or that the walk mistook, break the sequence: what is true
 * cannot be read on from there, whatever it may cost, while something else explains any tracks at about the same cost
 * each. So far does one of those that are out, all[0..n), explain it at a fraction of the cost of all that are left.
 */
static uint64_t readable(struct ranking *s, const struct candidate *all, size_t n, uint64_t few, uint64_t tracks)
{
	for (uint64_t part = tracks / 2; part >= few * BROKEN_LEAST; part /= 2) {
		double least = INFINITY, most;

		for (size_t i = 0; i < s->n; i++)
			least = fmin(least, cost_over(s, &s->c[i].shape, part, least));
		most = least / BROKEN_TIMES - MARGIN;
		for (size_t i = 0; i < n && !geo_has_thought_enough(s->g); i++)
			if (cost_over(s, &all[i].shape, part, most) < most &&
			    isinf(cost_over(s, &all[i].shape, tracks, INFINITY)))
				return part;
	}
	return tracks;
}

/* All shapes over the first tracks, and those that do well there, the best first, over more. */
static int find_candidates(struct ranking *s)
{
	cleanup_free struct candidate *all = calloc((BANDS_MAX + 2) * 2 * HEADS_TRIED, sizeof(*all));
	cleanup_free struct candidate *first = NULL;
	uint64_t tracks = s->o->tracks < s->o->ranked ? s->o->tracks : s->o->ranked, few, part;
	size_t n = 0, explain;

	if (!all)
		return -ENOMEM;
	list_shapes(s, all, &n);
	few = few_tracks(s->o, tracks);
	n = look(s, all, n, few, few == tracks);
	if (few < tracks) {
		n = n < SECOND_LOOK ? n : SECOND_LOOK;
		first = malloc((n + 1) * sizeof(*first));
		if (!first)
			return -ENOMEM;
		memcpy(first, all, n * sizeof(*all));
		(void)look(s, all, n, tracks, true);
		part = readable(s, first, n, few, tracks);
		if (part < tracks) {
			s->o->ranked = tracks = part;
			(void)look(s, first, n, tracks, true);
		}
	}
	forget_dear_ones(s);
	explain = s->n;
	add_twins(s, tracks);
	add_same_orders(s, explain, tracks);
	qsort(s->c, s->n, sizeof(s->c[0]), compare_cost);
	add_ways(s);
	return 0;
}

int geo_shapes(struct geo *g, struct geo_order *o, struct geo_shape *ret, double *ret_cost, size_t *ret_n)
{
	struct ranking *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	if (s) {
		s->g = g;
		s->o = o;
		s->fit = calloc(1, sizeof(*s->fit));
	}
	if (s && s->fit)
		r = find_candidates(s);
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		ret[i] = s->c[i].shape;
		ret_cost[i] = s->c[i].cost;
	}
	if (r == 0)
		*ret_n = s->n;
	if (s)
		free(s->fit);
	free(s);
	return r;
}
