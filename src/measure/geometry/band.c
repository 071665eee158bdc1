/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One band of a layout held against the tracks from somewhere on (a cylinder is a band of one): do their sizes go on as
 * those of its surfaces, and their skews as those between its slots? What does not fit costs, or ends it.
 */
#include <math.h>

#include "measure/geometry/order.h"

#define COST_STUMP \
	0.5 /* a track of which only a part is there; and of the one that a zone begins with nothing is known */
#define LACKS_MOST 10  /* part of a track: so much the first of a surface may lack of those behind it */
#define LONE_MORE  100 /* part of a track: so much more it may hold, as the end of the one before was mistaken */
#define COST_TAIL                                                                                                    \
	0.1 /* each but the first of several slots without data, which costs as any track without data that does not \
	       show */
#define COST_ODD                                                                                                      \
	(GEO_COST_TWO + 1.0) /* a late answer that looks like a track without data, which is rarer; or a surface that \
	       holds more than in the zone before, or differs otherwise from the others */
#define DENSITY_STEP 0.01    /* surfaces differ in density by about as much in the next zone */

/* The skew in front of a track: by what its begin is turned against the begin of the one before. (Jumps are of the ends
 * of first sectors.) */
static double skew_before(struct geo_order *o, uint64_t track)
{
	const struct geo_seg *seg;

	if (track == 0)
		return NAN;
	if (track < o->nof) {
		seg = &o->seg[o->of[track]];
		return track > seg->track ? seg->jump : seg->before;
	}
	seg = geo_order_at(o, track - 1);
	return track - seg->track < seg->tracks ? seg->jump : geo_order_between(seg, geo_order_at(o, track));
}

static enum geo_change first_change(const struct geo_parser *p)
{
	return p->shape->band == 1 ? GEO_TO_CYLINDER : GEO_TO_BAND;
}

/* What comes before slot (head k, cylinder j) of a band. */
static enum geo_change change_before(const struct geo_parser *p, const struct geo_band *b, uint64_t k, uint64_t j)
{
	if (j == b->cylinders) {
		j = 0;
		k++;
	}
	return j ? GEO_TO_CYLINDER : k == 0 || k == p->shape->heads ? first_change(p) : GEO_TO_HEAD;
}

static void vote(const struct geo_parser *p, struct geo_state *st, enum geo_change c, double jump, uint64_t n)
{
	int64_t votes = (int64_t)n;

	if (isfinite(st->often[c]) && geo_order_same(p->o, st->often[c], jump)) {
		st->votes[c] += votes;
	} else if ((st->votes[c] -= votes) < 0) {
		st->votes[c] = -st->votes[c];
		st->often[c] = jump;
	}
}

/* Within a row that the walk passed as a whole, may noise have hidden that this skew is another one than the row's? */
static bool is_hidden(const struct geo_parser *p, uint64_t track, double jump, double usual, enum geo_change c)
{
	if (track == geo_order_at(p->o, track)->track || geo_order_same(p->o, jump, usual))
		return false;
	return isnan(usual) ? p->shape->band != 1 && c != GEO_TO_CYLINDER
	                    : geo_apart(jump, usual) < GEO_HIDDEN * p->o->tol;
}

/* Checks the skew in front of a slot, which track `at` is tried in; true: the slot has no data, and what is left of the
 * jump is in *jump. */
static bool is_left_out(const struct geo_parser *p, struct geo_band *b, struct geo_state *st, uint64_t k, uint64_t j,
                        uint64_t at, double *jump)
{
	enum geo_change c = change_before(p, b, k, j), next = change_before(p, b, k, j + 1);

	if (isnan(*jump) || is_hidden(p, at, *jump, st->jump[c], c)) /* not known */
		return false;
	vote(p, st, c, *jump, 1);
	if (isnan(st->jump[c])) {
		st->jump[c] = *jump;
		return false;
	}
	if (geo_order_same(p->o, *jump, st->jump[c])) {
		st->other[c] = NAN;
		return false;
	}
	if (isfinite(st->jump[next]) && geo_order_same(p->o, *jump, st->jump[c] + st->jump[next])) {
		b->is_doubtful = true;
		if (b->is_full) {
			st->cost += COST_ODD;
			return false;
		}
		*jump -= st->jump[c];
		st->cost += GEO_COST_TWO;
		st->left_cost += GEO_COST_TWO;
		st->left_out++;
		return true;
	}
	st->cost += 1.0;
	if (geo_order_same(p->o, *jump, st->other[c]))
		st->jump[c] = *jump;
	st->other[c] = *jump;
	return false;
}

/* How far behind a track the n-th next one of its surface lies, in a cylinder by cylinder order, or in a band. k: its
 * head, counted in the order in which they come. Where heads alternate the last one of a cylinder is the first of the
 * next. */
static uint64_t next_of_surface(const struct geo_parser *p, const struct geo_band *b, uint64_t k, uint64_t n)
{
	uint64_t heads = p->shape->heads;

	if (b->cylinders > 1)
		return n;
	return p->shape->is_alternate && n % 2 ? (n + 1) * heads - 2 * k - 1 : n * heads;
}

/* How many tracks there are in a row on this surface that are equal to this one, with it. */
static uint64_t equal_beside(const struct geo_parser *p, const struct geo_band *b, uint64_t t, uint64_t j)
{
	const struct geo_seg *seg = geo_order_at(p->o, t);
	uint64_t before = t - seg->track, behind = seg->track + seg->tracks - 1 - t, left = b->cylinders - 1 - j;

	if (b->cylinders == 1)
		return 1 + (before + behind) / p->shape->heads;
	return 1 + (before < j ? before : j) + (behind < left ? behind : left);
}

/* Is only the end between two tracks mistaken? Together they hold what two of that size do. */
static bool is_end_between(const struct geo_parser *p, uint64_t t, uint64_t size)
{
	return (t && t + 1 < p->o->tracks && geo_order_first(p->o, t - 1) + 2 * size == geo_order_first(p->o, t + 1)) ||
	       (t + 2 < p->o->tracks && geo_order_first(p->o, t) + 2 * size == geo_order_first(p->o, t + 2));
}

/* Has one of the tracks before it on its surface that size, with no more between them than lone ones? */
static bool is_behind(const struct geo_parser *p, uint64_t t, uint64_t size, uint64_t j)
{
	for (uint64_t n = 1; n < GEO_FEW && n <= j && n <= t; n++)
		if (geo_order_at(p->o, t - n)->size == size)
			return true;
	return false;
}

/* A track of another size, alone on its surface: with missing sectors that could not be seen, or one end mistaken by a
 * few sectors. One of the next tracks of that surface has its size, for where none has a zone may have begun; behind
 * the last ones of a band those before count. */
static bool is_lone(const struct geo_parser *p, const struct geo_band *b, uint64_t t, uint64_t size, uint64_t k,
                    uint64_t j)
{
	const struct geo_seg *seg = geo_order_at(p->o, t);
	uint64_t ahead = GEO_LONG_RUN;

	if (seg->is_odd)
		return true;
	if (seg->size > size + size / LONE_MORE || equal_beside(p, b, t, j) >= GEO_FEW)
		return is_end_between(p, t, size);
	if (b->cylinders > 1 && b->cylinders - j < GEO_FEW)
		return is_behind(p, t, size, j) || is_end_between(p, t, size);
	if (b->cylinders > 1 && b->cylinders - 1 - j < ahead)
		ahead = b->cylinders - 1 - j;
	for (uint64_t n = 1; n <= ahead; n++) {
		uint64_t next = t + next_of_surface(p, b, k, n);

		if (next < p->o->tracks && geo_order_at(p->o, next)->size == size)
			return true;
	}
	return is_end_between(p, t, size);
}

static uint32_t head_of(const struct geo_parser *p, const struct geo_band *b, uint64_t k)
{
	return (uint32_t)(b->is_back ? p->shape->heads - 1 - k : k);
}

/* Slot of head k, in front of track t: it has no data. */
static void label_hole(struct geo_parser *p, const struct geo_band *b, uint64_t t, uint64_t k)
{
	struct geo_labels *l = p->labels;

	if (l && l->nholes < l->most && t >= l->first && t < l->first + l->n)
		l->hole[l->nholes++] = (struct geo_hole){ t, p->zone, head_of(p, b, k) };
}

static void label(struct geo_parser *p, const struct geo_band *b, uint64_t t, uint64_t k, uint64_t j)
{
	struct geo_labels *l = p->labels;
	uint64_t way = p->shape->is_serpentine && k % 2 ? b->cylinders - 1 - j : j;

	if (!l || t < l->first || t >= l->first + l->n)
		return;
	if (l->cylinder)
		l->cylinder[t - l->first] = p->cylinder + way;
	l->head[t - l->first] = head_of(p, b, k);
}

/* Is this one of a row of equal tracks, behind its first, with the usual skew to the next cylinder? Such are passed at
 * once, but for labels, which each of them gets. */
static bool is_in_row(const struct geo_parser *p, const struct geo_state *st, const struct geo_seg *seg, uint64_t at)
{
	return at > seg->track && !seg->is_odd && !p->labels &&
	       geo_order_same(p->o, seg->jump, st->jump[GEO_TO_CYLINDER]);
}

/* How many of the slots from (k, j) on to the end of this surface are tracks just like the one before: all in one go.
 */
static uint64_t alike(const struct geo_parser *p, const struct geo_band *b, struct geo_state *st, uint64_t at,
                      uint64_t size, uint64_t slot, uint64_t j)
{
	const struct geo_seg *seg = geo_order_at(p->o, at);
	uint64_t n = seg->track + seg->tracks - at, left = b->cylinders - j;

	if (j == 0 || seg->size != size || !is_in_row(p, st, seg, at))
		return 0;
	if (slot <= b->skip_to && b->skip < SIZE_MAX && slot + left > b->skip)
		left = slot < b->skip ? b->skip - slot : 0;
	return n < left ? n : left;
}

/* Of a surface that begins here: its first track may hold less than others, by what it lacks. The most that two of the
 * next ones hold, unless the very next one holds just as much. */
static uint64_t learned_size(const struct geo_parser *p, const struct geo_band *b, uint64_t t, uint64_t k, uint64_t j)
{
	uint64_t first = geo_order_at(p->o, t)->size, most = first, once = 0;

	for (uint64_t n = 1; n <= GEO_LONG_RUN && (b->cylinders == 1 || j + n < b->cylinders); n++) {
		uint64_t next = t + next_of_surface(p, b, k, n), size;

		if (next >= p->o->tracks)
			break;
		size = geo_order_at(p->o, next)->size;
		if (n == 1 && size == first)
			return first;
		if (size <= most || size - first >= size / LACKS_MOST)
			continue;
		if (size == once)
			most = size;
		else if (size > once)
			once = size;
	}
	return most;
}

/* One slot with data; false: its size does not fit. */
static bool take_track(struct geo_parser *p, struct geo_band *b, struct geo_state *st, uint64_t at, uint64_t *size,
                       uint64_t k, uint64_t j)
{
	const struct geo_seg *seg = geo_order_at(p->o, at);

	if (*size == 0 && !seg->is_odd) {
		*size = b->is_bare ? seg->size : learned_size(p, b, at, k, j);
		b->is_filled |= *size > seg->size;
	} else if (*size == 0) {
		st->cost += 1.0 + COST_STUMP;
	}
	if (*size && seg->size != *size) {
		if (!is_lone(p, b, at, *size, k, j))
			return false;
		st->cost += seg->is_odd ? COST_STUMP : 1.0;
	}
	label(p, b, at, k, j);
	return true;
}

bool geo_is_single_slot(const struct geo_parser *p, const struct geo_band *b)
{
	return p->shape->heads == 1 && b->cylinders == 1;
}

/* Where a band is being matched: the next track, the slot that it is tried in, and what is left of the skew in front.
 */
struct place {
	uint64_t at, slot, head, cylinder;
	double jump;
	bool is_rest;
};

/* A slot that is said to have no data. is_tail: one that a zone lacks at its end, or the disk at its begin. */
static void skip_slot(struct geo_parser *p, const struct geo_band *b, struct geo_state *st, const struct place *c,
                      bool is_tail)
{
	bool is_further = c->slot > b->skip && is_tail;

	st->cost += is_further ? COST_TAIL : GEO_COST_TWO + 1.0;
	st->left_cost += is_further ? COST_TAIL : GEO_COST_TWO;
	st->left_out++;
	if (b->cylinders == 1 || b->skip_to + 1 == b->cylinders * p->shape->heads)
		label_hole(p, b, c->at, c->head); /* else it is at either end of its surface */
}

/* All but the last of the tracks that are just like the one before at once: what follows that one may be another jump.
 */
static void pass_row(struct geo_parser *p, struct geo_band *b, struct geo_state *st, struct place *c, uint64_t size)
{
	uint64_t n = alike(p, b, st, c->at, size, c->slot, c->cylinder);

	if (n < 2)
		return;
	vote(p, st, GEO_TO_CYLINDER, st->jump[GEO_TO_CYLINDER], n - 1);
	c->at += n - 1;
	c->cylinder += n - 1;
	c->slot += n - 1;
	c->jump = skew_before(p->o, c->at);
}

/* One slot, unless its skew says that it has no data; false: what is there does not fit. */
static bool take_slot(struct geo_parser *p, struct geo_band *b, struct geo_state *st, struct place *c, uint64_t *size)
{
	bool is_single = geo_is_single_slot(p, b);

	if (b->extra && c->at == b->extra && c->at + 1 < p->o->tracks) {
		st->cost += COST_ODD;
		label(p, b, c->at++, c->head, c->cylinder);
		c->jump = NAN;
	}
	c->is_rest = isfinite(c->jump) && is_left_out(p, b, st, c->head, c->cylinder, c->at, &c->jump);
	if (st->cost > b->most)
		return false;
	if (c->is_rest)
		label_hole(p, b, c->at, c->head);
	if (c->is_rest && !is_single)
		return true;
	p->cylinder += c->is_rest;
	c->is_rest = false;
	if (!take_track(p, b, st, c->at, size, c->head, c->cylinder))
		return false;
	c->at++;
	c->jump = c->at < p->o->tracks ? skew_before(p->o, c->at) : (double)NAN;
	return true;
}

bool geo_match(struct geo_parser *p, struct geo_band *b, struct geo_state *st, uint64_t *t)
{
	struct place c = { .at = *t,
		           .jump = isfinite(st->rest) ? st->rest : skew_before(p->o, *t),
		           .is_rest = isfinite(st->rest) };
	bool is_tail = b->cylinders > 1 || b->skip_to + 1 == p->shape->heads || *t == 0;

	for (c.head = 0; c.head < p->shape->heads; c.head++) {
		uint64_t *size = &b->size[b->is_back ? p->shape->heads - 1 - c.head : c.head];

		for (c.cylinder = 0; c.cylinder < b->cylinders && c.at < p->o->tracks; c.cylinder++, c.slot++) {
			p->matched++;
			if (c.slot >= b->skip && c.slot <= b->skip_to) {
				skip_slot(p, b, st, &c, is_tail);
				continue;
			}
			pass_row(p, b, st, &c, *size);
			if (!take_slot(p, b, st, &c, size))
				return false;
		}
	}
	if (c.at == *t)
		return false;
	st->rest = c.is_rest ? c.jump : (double)NAN;
	*t = c.at;
	return true;
}

uint64_t geo_pass_alike(const struct geo_parser *p, const struct geo_band *b, struct geo_state *st, uint64_t *t,
                        uint64_t to)
{
	const struct geo_seg *seg = geo_order_at(p->o, *t);
	uint64_t heads = p->shape->heads, end = seg->track + seg->tracks - 1, n;

	if (*t >= end || *t >= to || isfinite(st->rest) || !is_in_row(p, st, seg, *t) ||
	    (heads > 1 && !geo_order_same(p->o, seg->jump, st->jump[GEO_TO_HEAD])))
		return 0;
	for (uint64_t k = 0; k < heads; k++)
		if (b->size[k] != seg->size)
			return 0;
	n = (end - *t) / heads < (to - *t) / heads ? (end - *t) / heads : (to - *t) / heads;
	if (n == 0)
		return 0;
	vote(p, st, GEO_TO_CYLINDER, seg->jump, n);
	st->other[GEO_TO_CYLINDER] = NAN;
	if (heads > 1) {
		vote(p, st, GEO_TO_HEAD, seg->jump, n * (heads - 1));
		st->other[GEO_TO_HEAD] = NAN;
	}
	*t += n * heads;
	return n;
}

/* ---- where bands may end, and what sizes of surfaces make a zone unlikely ---- */

/* A track or two that hold less than those on both sides, which are alike: they lack something, and say nothing of
 * where bands end. */
static bool is_aside(const struct geo_order *o, size_t i)
{
	const struct geo_seg *seg = &o->seg[i];
	size_t before = i, behind = i;

	if (seg->is_odd || seg->tracks >= GEO_FEW || i == 0)
		return seg->is_odd;
	while (--before > 0 && o->seg[before].is_odd)
		;
	while (++behind < o->n && o->seg[behind].is_odd)
		;
	return behind < o->n && o->seg[before].size == o->seg[behind].size && seg->size < o->seg[behind].size;
}

static bool is_real_end(const struct geo_order *o, size_t i, bool by_skew)
{
	const struct geo_seg *seg = &o->seg[i], *next = i + 1 < o->n ? &o->seg[i + 1] : NULL;
	size_t k = i + 1;

	if (!next)
		return true;
	while (k + 1 < o->n && is_aside(o, k))
		k++;
	return !is_aside(o, i) &&
	       (o->seg[k].size != seg->size || (by_skew && !geo_order_same(o, o->seg[k].jump, seg->jump)));
}

size_t geo_next_end(const struct geo_order *o, size_t i, bool by_skew, uint64_t *ret_end)
{
	while (i < o->n && !is_real_end(o, i, by_skew))
		i++;
	*ret_end = i < o->n ? o->seg[i].track + o->seg[i].tracks : o->tracks;
	return i;
}

size_t geo_order_lengths(const struct geo_order *o, uint64_t *ret, size_t max)
{
	size_t n = 0;

	for (size_t by_skew = 0; by_skew < 2; by_skew++) { /* these may scatter within a band */
		uint64_t last = 0, end;

		for (size_t i = 0; n < max * (by_skew + 1) / 2 && (i = geo_next_end(o, i, by_skew, &end)) < o->n;
		     i++, last = end)
			ret[n++] = end - last;
	}
	return n;
}

size_t geo_partial_lengths(struct geo_parser *p, uint64_t t, double step, uint64_t *ret, size_t max)
{
	uint64_t heads = p->shape->heads, left_out = 1; /* one may not show as such */
	size_t n = 0, i = (size_t)(geo_order_at(p->o, t) - p->o->seg), from = i;
	uint64_t end;

	for (size_t seen = 0; seen < GEO_ENDS && (i = geo_next_end(p->o, i, true, &end)) < p->o->n;
	     seen++, from = ++i) {
		p->matched += i + 1 - from + heads;
		for (; from <= i; from++)
			left_out += isfinite(step) && p->o->seg[from].tracks == 1 &&
			            geo_order_same(p->o, p->o->seg[from].jump, 2.0 * step);
		end -= t;
		for (uint64_t k = 1; k <= heads; k++)
			for (uint64_t more = 0; more <= left_out; more++) { /* that many tracks are without data */
				uint64_t m = (end + more) / k;
				bool is_known = (end + more) % k || m == 0 || (p->shape->band && m >= p->shape->band);

				for (size_t j = 0; j < n && !is_known; j++)
					is_known = ret[j] == m;
				if (!is_known && n < max)
					ret[n++] = m;
			}
	}
	return n;
}

double geo_odd_first_sizes(const struct geo_parser *p, const uint64_t *size)
{
	uint64_t first = 0, last = 0;
	double cost = 0.0;

	for (uint64_t k = 0; k < p->shape->heads; k++) {
		if (!size[k])
			continue;
		cost += first && size[k] != last && size[k] != first ? GEO_COST_TWO : 0.0;
		first = first ? first : size[k];
		last = size[k];
	}
	return cost;
}

/* What makes these sizes unlikely behind those: the same ones, larger ones, other differences between surfaces. Where
 * the zones of surfaces end at different places some hold as many as before, and the others fewer. */
double geo_odd_sizes(const struct geo_parser *p, const uint64_t *before, const uint64_t *after)
{
	double cost = 0.0, step = 1.0;
	bool differ = false, stay = false;

	if (!before[0])
		return geo_odd_first_sizes(p, after);
	for (uint64_t k = 0; k < p->shape->heads; k++)
		if (before[k] && after[k])
			step = fmin(step, (double)after[k] / (double)before[k]);
	for (uint64_t k = 0; k < p->shape->heads; k++) {
		double off = (double)after[k] / ((double)before[k] * step) - 1.0;

		if (!before[k] || !after[k])
			continue;
		differ = differ || before[k] != after[k];
		stay = stay || before[k] == after[k];
		if (off <= fmax(DENSITY_STEP, 1.5 / (double)after[k]) && after[k] <= before[k])
			continue;
		cost += before[k] == after[k] ? 0.0 : COST_ODD;
	}
	/* Some may go on as before, as their zones end elsewhere. */
	return differ ? cost + (stay ? 1.0 : 0.0) : GEO_AHEAD;
}

/*
 * Do all surfaces hold fewer sectors from there on, in like proportion, and are the tracks on both sides as those of
 * their zones are? A track that is not may belong to either; and where some surfaces hold more the bands of one zone
 * may have been cut up wrongly. Within a row of tracks just like each other nothing begins that is seen: where the next
 * zone's first surface goes on as the last one ended, and the skew between them was lost, that may lack some tracks.
 */
bool geo_is_clear_begin(const struct geo_parser *p, const struct geo_fit_zone *z)
{
	const struct geo_seg *before = geo_order_at(p->o, z->track - 1), *seg = geo_order_at(p->o, z->track);

	return seg != before && geo_odd_sizes(p, z[-1].size, z->size) == 0.0 && !seg->is_odd && !before->is_odd &&
	       geo_has_size(z, seg->size) && geo_has_size(z - 1, before->size);
}
