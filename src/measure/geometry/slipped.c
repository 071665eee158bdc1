/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracks that lack a few sectors, of a drive that passes defects over. Where noise hides of how many sectors such a
 * track would be they come as tracks of fewer sectors, and, if there are thousands of them, no band seems to be as long
 * as another one. Between tracks of one size those that have a little less are of that size, too, unless they come
 * again and again after as many tracks each time, as tracks of another surface do.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/order.h"

#define LACKS    16 /* part of a track that may be lacking */
#define IN_A_ROW 12 /* equal ones in a row may be so by chance */
#define GROUP    12 /* segments of them, one behind the other */
/* Tracks until a surface comes again: heads that alternate go through all twice, and so many in a row. */
#define LAG_MOST  (2 * IN_A_ROW * GEO_HEADS)
#define OFTEN_LAG 0.5  /* part of those of one size that come again so: a surface's */
#define SHOWS     4    /* tracks in a row of another size, which are a surface's */
#define MANY      40   /* segments, where few are alike by chance: a drive that passes over so much */
#define CHANCE    8    /* so many of one kind may be several in a row now and then, fewer are a short surface: */
#define FEW_ROW   3    /* tracks */
#define HIDES     0.05 /* of a turn: what an angle may be off, times the sectors of a track, as in edges.c */

/* Equal tracks in a row that may lack some sectors. */
struct lone {
	uint64_t track, size;
	uint64_t whole; /* of what size it is then */
	size_t seg;
};

static bool is_plain(const struct geo_seg *seg)
{
	return !seg->is_odd && !seg->has_gap;
}

/* May a track of that size be one of so many sectors, some of which it lacks? */
static bool may_be(uint64_t size, uint64_t whole)
{
	return size < whole && whole - size <= whole / LACKS;
}

/* The segment behind those that may lack something: of the same size as the one in front of them, or more tracks of
 * another surface. 0: there is none. */
static size_t end_of_short(const struct geo_order *o, size_t i)
{
	for (size_t k = i + 1; k < o->n && k <= i + GROUP; k++)
		if (is_plain(&o->seg[k]) && (o->seg[k].size == o->seg[i].size || o->seg[k].tracks >= SHOWS))
			return k;
	return 0;
}

/* What a track of that size is between those of two others; its own: not known of which. 0: none that lacks something.
 */
static uint64_t whole_of(uint64_t size, uint64_t before, uint64_t behind)
{
	if (may_be(size, before) && may_be(size, behind))
		return before == behind ? before : size;
	return may_be(size, before) ? before : may_be(size, behind) ? behind : 0;
}

/* Heap array, and how many. */
static struct lone *find_lone(const struct geo_order *o, size_t *ret_n)
{
	struct lone *lone = xcalloc(o->n + 1, sizeof(*lone));
	size_t n = 0, end;

	for (size_t i = 0; i < o->n; i = end ? end : i + 1) {
		end = is_plain(&o->seg[i]) ? end_of_short(o, i) : 0;
		for (size_t k = i + 1; k < end; k++) {
			const struct geo_seg *seg = &o->seg[k];
			bool may_lack = is_plain(seg) && o->g->tol * (double)seg->size >= HIDES;
			uint64_t whole = may_lack ? whole_of(seg->size, o->seg[i].size, o->seg[end].size) : 0;

			if (whole)
				lone[n++] = (struct lone){
					.track = seg->track, .size = seg->size, .whole = whole, .seg = k
				};
		}
	}
	*ret_n = n;
	return lone;
}

static int by_size(const void *a, const void *b)
{
	const struct lone *x = a, *y = b;

	if (x->whole != y->whole)
		return x->whole < y->whole ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return (x->track > y->track) - (x->track < y->track);
}

static bool are_alike(const struct lone *a, const struct lone *b)
{
	return a->whole == b->whole && a->size == b->size;
}

/* How many tracks later the same comes again most often. */
static uint64_t usual_lag(const struct lone *lone, size_t n)
{
	size_t often[LAG_MOST + 1] = { 0 };
	uint64_t best = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n && are_alike(&lone[i], &lone[k]); k++) {
			if (lone[k].track - lone[i].track > LAG_MOST)
				break;
			often[lone[k].track - lone[i].track]++;
		}
	for (uint64_t lag = 1; lag <= LAG_MOST; lag++)
		best = often[lag] > often[best] ? lag : best;
	return best;
}

/* How many of those that are alike come again after so many tracks. */
static size_t come_again(const struct lone *lone, size_t n, uint64_t lag)
{
	size_t again = 0;

	for (size_t i = 0, k = 0; i < n; i++) {
		while (k < n && lone[k].track < lone[i].track + lag)
			k++;
		again += k < n && lone[k].track == lone[i].track + lag;
	}
	return again;
}

/* Tracks of these segments are of `whole` sectors, each by itself; 0: the segment is as it was found. */
static void fill_up(struct geo_order *o, const uint64_t *whole)
{
	size_t more = 0, k;
	struct geo_seg *seg;

	for (size_t i = 0; i < o->n; i++)
		more += whole[i] ? o->seg[i].tracks - 1 : 0;
	o->seg = seg = xgrow(o->seg, o->n + more, sizeof(*seg));
	o->room = k = o->n + more;
	for (size_t i = o->n; i-- > 0;) {
		struct geo_seg all = seg[i];

		if (!whole[i]) {
			seg[--k] = all;
			continue;
		}
		for (uint64_t t = all.tracks; t-- > 0;) {
			seg[--k] = all;
			seg[k].first += t * all.size;
			seg[k].track += t;
			seg[k].tracks = 1;
			seg[k].size = whole[i];
			seg[k].is_odd = true;
		}
	}
	o->n += more;
}

/* Those that are alike, from `at` on. */
static size_t count_alike(const struct lone *lone, size_t n, size_t at)
{
	size_t same = 1;

	while (at + same < n && are_alike(&lone[at], &lone[at + same]))
		same++;
	return same;
}

void geo_order_fill_up(struct geo_order *o)
{
	size_t n, all = 0;
	cleanup_free struct lone *lone = find_lone(o, &n);
	cleanup_free uint64_t *whole = xcalloc(o->n + 1, sizeof(*whole));
	uint64_t lag;

	qsort(lone, n, sizeof(*lone), by_size);
	lag = usual_lag(lone, n);
	for (size_t i = 0, same; i < n; i += same) {
		bool is_surface;

		same = count_alike(lone, n, i);
		is_surface =
			lag && same > 1 && (double)come_again(&lone[i], same, lag) >= OFTEN_LAG * (double)(same - 1);
		for (size_t k = i; k < i + same; k++)
			is_surface = is_surface || (same < CHANCE && o->seg[lone[k].seg].tracks > FEW_ROW);
		for (size_t k = i; k < i + same && !is_surface; k++)
			whole[lone[k].seg] = lone[k].whole;
		all += is_surface ? 0 : same;
	}
	if (all >= MANY)
		fill_up(o, whole);
}
