/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sequence of tracks that the walk has found, as equal tracks in a row; what it is held against is in reading.c. */
#include <math.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "measure/geometry/order.h"

#define NEAR_ITEMS (GEO_FEW * GEO_RUNS) /* on both sides: so that each surface comes by that often */
#define SHORT_BY   40                   /* part of a track: that many sectors may be missing of it */
#define LACKS_PART \
	5 /* of a track: so much one may lack that is counted as one; pieces that hold more are not two (a choice) */

/* Two tracks in a row of others like them, of which one begins as much too late as the next one seems to be too early:
 * an answer was late. They are as the others. */
static void mend_late_one(struct geo_order *o, const struct geo_seg *seg)
{
	struct geo_seg *row = o->n < 3 ? NULL : &o->seg[o->n - 3];

	for (int k = 0; k < 3; k++)
		if (!row || !geo_is_plain(&row[k]) || row[k].size != seg->size || (k && row[k].tracks > 1))
			return;
	if (!geo_is_plain(seg) || !geo_order_same(o, row->jump, seg->jump) ||
	    !geo_order_same(o, geo_frac(row[1].jump + row[2].jump), geo_frac(2.0 * seg->jump)))
		return;
	row->tracks += 2;
	o->n -= 2;
}

static void push(struct geo_order *o, const struct geo_seg *seg)
{
	struct geo_seg *last;

	mend_late_one(o, seg);
	last = o->n ? &o->seg[o->n - 1] : NULL;
	if (last && geo_is_plain(last) && geo_is_plain(seg) && last->size == seg->size &&
	    geo_order_same(o, last->jump, seg->jump)) {
		last->tracks += seg->tracks;
		o->tracks += seg->tracks;
		return;
	}
	if (o->n == o->room) {
		o->room = o->room ? 2 * o->room : 256;
		o->seg = xgrow(o->seg, o->room, sizeof(*o->seg));
	}
	o->seg[o->n] = *seg;
	o->seg[o->n++].track = o->tracks;
	o->tracks += seg->tracks;
}

/* How many tracks of that size there are near an item. */
static uint64_t near_of_size(const struct geo_walk *w, size_t at, uint64_t size)
{
	size_t from = at > NEAR_ITEMS ? at - NEAR_ITEMS : 0;
	uint64_t n = 0;

	for (size_t i = from; i < w->nitems && i < at + NEAR_ITEMS && n < GEO_FEW; i++)
		for (uint32_t k = 0; k < w->items[i].nruns; k++)
			n += w->items[i].run[k].per_track == size ? w->items[i].run[k].tracks * w->items[i].times : 0;
	return n;
}

/* How many tracks of about that size one is that holds as much as several: ends between them were hidden by answers
 * that came late. 1: it is one. */
static uint64_t tracks_in(const struct geo_seg *seg, uint64_t usual, uint64_t short_by)
{
	uint64_t m = usual && seg->tracks == 1 ? (seg->size + usual / 2) / usual : 1;

	return m > 1 && seg->size + short_by * m >= m * usual && seg->size <= m * usual + short_by ? m : 1;
}

/* The last track of a surface and the first of the next one: the end between them was hidden. 0: there is none before,
 * or behind. */
static bool is_last_and_next(const struct geo_seg *seg, uint64_t before, uint64_t next)
{
	uint64_t both = before + next;

	return before && next && seg->tracks == 1 && seg->size <= both && seg->size + both / SHORT_BY >= both;
}

/* How many tracks one is that holds too much to be one, and less than several by what one of them may lack: both its
 * neighbours are whole ones. 1: it may be one, or a piece beside it belongs to it. */
static uint64_t tracks_short_in(const struct geo_seg *seg, uint64_t before, uint64_t next)
{
	uint64_t most = before > next ? before : next, least = before > next ? next : before;
	uint64_t m = most ? (seg->size + most / LACKS_PART) / most : 1;

	return m > 1 && seg->tracks == 1 && most - least <= most / LACKS_PART && seg->size <= m * most ? m : 1;
}

/* By what a track, or a piece of one that holds that many of `whole` sectors, turns up to the begin of the next. What
 * is known to have a gap goes by its whole turn; the jump behind a piece is beyond the spacing that sectors of a track
 * of its size have. */
static double advance(const struct geo_seg *seg, uint64_t held, uint64_t whole)
{
	if (seg->has_gap)
		return seg->jump;
	return seg->jump + 1.0 / (double)seg->size + (double)(held - 1) / (double)whole;
}

/* Does a track of that size nearby turn by so much up to the next? */
static bool is_turn_of(const struct geo_order *o, size_t before, uint64_t size, double turn)
{
	for (size_t i = before; i-- > 0 && before - i <= 2 * GEO_HEADS;)
		if (o->seg[i].size == size && geo_is_plain(&o->seg[i]) && geo_order_same(o, turn, o->seg[i].jump))
			return true;
	return false;
}

/* Is each of those, and the one behind them, a part of a track perhaps? */
static bool are_pieces(const struct geo_seg *first, const struct geo_seg *end, const struct geo_seg *last)
{
	for (const struct geo_seg *s = first; s < end; s++)
		if (!s->is_odd)
			return false;
	return last->is_odd;
}

/* Of the last track in front of those that was whole. */
static uint64_t usual_size(const struct geo_order *o, size_t before)
{
	for (size_t i = before; i-- > 0 && before - i <= 2 * GEO_HEADS;)
		if (geo_is_plain(&o->seg[i]))
			return o->seg[i].size;
	return 0;
}

/* That size; or, where pieces hold more, the size of the next surface. It is as it was when tracks just like those in
 * front came by last. */
static uint64_t size_for(const struct geo_order *o, size_t before, uint64_t all)
{
	uint64_t usual = usual_size(o, before);
	const struct geo_seg *last = before ? &o->seg[before - 1] : NULL;

	if (all <= usual || !last || !geo_is_plain(last))
		return usual;
	for (size_t i = before - 1; i-- > 0 && before - i <= GEO_HEADS + 1;) {
		const struct geo_seg *s = &o->seg[i];

		if (s->size == last->size && s->tracks == last->tracks && !s->is_odd && geo_is_plain(&s[1]))
			return s[1].size >= all && s[1].size - usual <= usual / LACKS_PART ? s[1].size : usual;
	}
	return usual;
}

/* Pieces that make one track, with gaps between them that could not be counted: together they have no more sectors
 * than the track before, so that none of them can be one, and what follows is turned against their begin as behind it.
 * A turn that is of none, as an answer among them was late, is not known then, if they hold nearly a whole track. */
static bool join_pieces(struct geo_order *o, const struct geo_seg *seg, uint64_t held)
{
	for (size_t m = 1; m <= GEO_FEW && m < o->n; m++) {
		struct geo_seg *first = &o->seg[o->n - m];
		uint64_t all = seg->first + held - first->first, whole = size_for(o, o->n - m, all);
		double turn = all <= whole ? advance(seg, held, whole) : (double)NAN;

		if (seg->tracks > 1 || first->tracks > 1 || all > whole)
			return false;
		for (const struct geo_seg *s = first; s < o->seg + o->n; s++) {
			const struct geo_seg *next = s + 1 < o->seg + o->n ? s + 1 : seg;

			turn += advance(s, next->first - s->first, whole);
		}
		turn = geo_frac(turn);
		if (all * 2 < whole)
			continue;
		if (!is_turn_of(o, o->n - m, whole, turn)) {
			if (!are_pieces(first, o->seg + o->n, seg) || all + whole / LACKS_PART < whole)
				continue;
			turn = NAN;
		}
		first->size = whole;
		first->jump = turn;
		first->is_odd = true; /* on another surface than the one before it may hold more */
		o->n -= m - 1;
		o->tracks -= m - 1;
		return true;
	}
	return false;
}

/* Is it no track of its own size? Behind one of those what follows is turned against its begin as against its end.
 * turn: from its begin to the next one's; NaN: not known, as of tracks that are equal to others. */
static bool is_no_whole_turn(const struct geo_order *o, const struct geo_seg *seg, double turn)
{
	return seg->tracks == 1 && geo_is_plain(seg) && isfinite(turn) && !geo_order_same(o, turn, seg->jump);
}

/* A whole track of which the last sectors hold no data, as drives keep spare ones at the end of a group of tracks:
 * shorter than the ones around it, and what follows is turned against its begin as behind one of them. */
static bool lacks_its_end(const struct geo_order *o, struct geo_seg *seg, uint64_t next, double turn)
{
	uint64_t whole = usual_size(o, o->n);

	if (seg->size >= next || next > whole || !is_no_whole_turn(o, seg, turn) || !is_turn_of(o, o->n, whole, turn))
		return false;
	seg->size = whole;
	seg->jump = turn;
	seg->is_odd = true;
	return true;
}

/* Such a track with the whole one behind it: what it lacks and the skew there are nearly a revolution together, so
 * that noise hid the end between them. *ret_jump: from the one to the other, as behind tracks nearby. */
static bool has_hidden_stump(const struct geo_order *o, const struct geo_seg *seg, uint64_t next, double turn,
                             double *ret_jump)
{
	uint64_t whole = usual_size(o, o->n);
	double part;

	if (whole != next || seg->size <= whole || seg->size >= 2 * whole || !is_no_whole_turn(o, seg, turn))
		return false;
	part = (double)(seg->size - whole) / (double)whole;
	for (size_t i = o->n; i-- > 0 && o->n - i <= 2 * GEO_HEADS;) {
		const struct geo_seg *s = &o->seg[i];

		if (s->size != whole || !geo_is_plain(s) || geo_apart(part, s->jump) >= GEO_HIDDEN * o->tol)
			continue;
		*ret_jump = s->jump;
		return true;
	}
	return false;
}

/* held: sectors with data; next: size of what follows; turn: as above. The skews between tracks whose ends were hidden
 * are not known. */
static void push_tracks(struct geo_order *o, struct geo_seg seg, uint64_t held, uint64_t next, double turn)
{
	struct geo_seg one = seg;
	uint64_t usual = next, m, all = seg.tracks;

	one.tracks = 1;
	if (all > 1 &&
	    tracks_in(&one, o->n ? o->seg[o->n - 1].size : next, 0) > 1) { /* a row of those that are several */
		for (; all > 0; all--, one.first += one.size)
			push_tracks(o, one, one.size, next, NAN);
		return;
	}
	one = seg;
	m = tracks_in(&seg, next, 0);
	if (m == 1 && o->n) {
		usual = o->seg[o->n - 1].size;
		m = tracks_in(&seg, usual, usual / SHORT_BY);
	}
	if (m == 1 && is_last_and_next(&seg, usual, next))
		m = 2;
	if (m == 1)
		m = tracks_short_in(&seg, usual, next);
	if (join_pieces(o, &seg, held))
		return;
	if (lacks_its_end(o, &seg, next, turn)) {
		push(o, &seg);
		return;
	}
	if (has_hidden_stump(o, &seg, next, turn, &one.jump)) {
		one.size = next;
		one.is_odd = true;
		seg.first += seg.size - next;
		seg.size = next;
		push(o, &one);
	}
	for (; m > 1; m--) {
		one.size = usual;
		one.jump = NAN;
		one.is_odd = true;
		push(o, &one);
		seg.first = one.first += usual;
		seg.size -= usual;
		seg.is_odd = true;
	}
	push(o, &seg);
}

/* Size of the first run behind the k-th of an item; 0: there is none. */
static uint64_t next_size(const struct geo_walk *w, size_t i, uint64_t k)
{
	const struct geo_item *item = &w->items[i];

	if (k + 1 < item->times * item->nruns)
		return item->run[(k + 1) % item->nruns].per_track;
	return i + 1 < w->nitems ? w->items[i + 1].run[0].per_track : 0;
}

/* ---- all in order ---- */

/* Says of the tracks that layouts are tried on which segments they are in, and what is in front of those. */
static void number(struct geo_order *o)
{
	uint64_t n = o->tracks < 2 * GEO_RANK_TRACKS ? o->tracks : 2 * GEO_RANK_TRACKS;

	o->of = xcalloc(n + 1, sizeof(*o->of));
	o->nof = n;
	for (size_t i = 0; i < o->n; i++) {
		o->seg[i].before = i ? geo_order_between(&o->seg[i - 1], &o->seg[i]) : (double)NAN;
		for (uint64_t t = o->seg[i].track; t < n && t < o->seg[i].track + o->seg[i].tracks; t++)
			o->of[t] = (uint32_t)i;
	}
}

void geo_order_fill(struct geo_order *o, const struct geo_walk *w)
{
	size_t known = geo_known_items(w);

	o->end = w->is_whole ? w->g->sectors : known < w->nitems ? w->items[known].first : w->at;
	o->g = w->g;
	o->tol = geo_near(w->g);
	for (size_t i = 0; i < known; i++) {
		const struct geo_item *item = &w->items[i];
		uint64_t at = item->first;
		/* Where noise hides the spacing each track of its own is unsure, but a size that comes again and again
		 * is one of a surface. */
		bool is_odd = item->is_unsure && (item->missing || item->end - item->first > item->run[0].per_track ||
		                                  near_of_size(w, i, item->run[0].per_track) < GEO_FEW);

		for (uint64_t k = 0; k < item->times * item->nruns; k++) {
			const struct geo_run *run = &item->run[k % item->nruns];
			struct geo_seg seg = { .first = at,
				               .size = run->per_track,
				               .tracks = run->tracks,
				               .jump = run->jump,
				               .has_gap = item->missing > 0,
				               .is_odd = is_odd };

			push_tracks(o, seg, item->missing ? item->end - item->first : seg.size, next_size(w, i, k),
			            run->tracks == 1 ? run->turn : (double)NAN);
			at += run->tracks * run->per_track;
		}
	}
	number(o);
}

void geo_order_free(struct geo_order *o)
{
	free(o->seg);
	free(o->of);
	*o = (struct geo_order){ .seg = NULL };
}

const struct geo_seg *geo_order_find(struct geo_order *o, uint64_t track)
{
	size_t low = 0, high = o->n, hint = o->hint;

	for (size_t k = 0, i = hint; k < 6 && i < o->n;
	     i = ++k < 3 ? hint + k : hint + 2 - k) /* nearly always one of these */
		if (o->seg[i].track <= track && track < o->seg[i].track + o->seg[i].tracks) {
			o->hint = i;
			return &o->seg[i];
		}
	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (o->seg[mid].track <= track)
			low = mid;
		else
			high = mid;
	}
	o->hint = low;
	return &o->seg[low];
}
