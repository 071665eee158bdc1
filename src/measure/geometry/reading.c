/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of tracks: does a layout (that many surfaces, bands of that many cylinders) explain the sequence of track
 * sizes and skews that the walk has found, and where are the zones then?
 *
 * A layout says for each track which surface it is on and what lies between it and the one before: a step to the next
 * cylinder, another head, the next band. In one zone all tracks of a surface have one size, and all changes of a kind
 * one skew. The sequence is read band by band (a cylinder is a band of one); where the sizes do not go on, the zone has
 * ended: before this band, or with a part of a band, in which all surfaces have equally many tracks. What does not fit
 * costs: a skew that differs from the one before of its kind 1, a track without data (the two skews around it add up)
 * 2, a zone 2. A wrong layout sees changes everywhere; so the cheapest layouts are those that can be true.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/order.h"

/* A way to read the sequence up to track t. Beside those that are kept there are half as many that a whole band brought
 * farther than others, which costs more, however good they are. */
struct way {
	uint64_t t, cylinder;
	struct geo_state st;
	bool is_new;              /* a zone begins here, behind `zone` */
	bool is_whole;            /* a whole band was passed at last */
	uint64_t in_zone;         /* bands */
	struct geo_fit_zone zone; /* that it is in, as far as it has come; no tracks: none yet */
	size_t node;              /* the zone before; 0: none */
	size_t odd;               /* the last band of which some slots have no data; 0: none */
};

struct node {
	size_t parent;
	struct geo_fit_zone zone;
};

/* A band of which some slots were taken for ones without data, or a track for a piece of one. */
struct odd_band {
	size_t parent;
	uint64_t t;
	struct geo_state st; /* in front of it */
	size_t skip, skip_to;
	bool is_full; /* but for those */
	uint64_t extra;
};

/* Somebody has come so far for that. */
struct mark {
	uint64_t t;
	double cost;
};

struct trail {
	struct mark *mark;
	size_t n, room;
};

struct reading {
	struct geo_parser p;
	double limit;   /* ways that cost more are given up */
	uint64_t avoid; /* no zone begins at this track; 0: any may */
	struct way way[GEO_READINGS + GEO_READINGS / 2];
	size_t n;
	struct node *node;
	size_t nnodes, room;
	struct odd_band *odd;
	size_t nodd, odd_room;
	struct trail *trail;       /* is written; NULL: none */
	const struct trail *rival; /* ways that are too far behind these are given up as well; NULL: none */
	size_t rival_at;
	bool is_cut; /* it may not go on, and what it says is of no use */
	double most; /* of cost, for a band that goes on from where one is: more, and it is given up at once */
	uint64_t to; /* it is read to here */
};

/* Room for one more. */
static void *more_room(void *array, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return array;
	*room = *room ? 2 * *room : 64;
	return xgrow(array, *room, size);
}

/* The way's zone is over, and all ways that go on from it have it in common. */
static void keep_zone(struct reading *q, struct way *w)
{
	q->node = more_room(q->node, q->nnodes, &q->room, sizeof(*q->node));
	q->node[q->nnodes] = (struct node){ .parent = w->node, .zone = w->zone };
	w->node = q->nnodes++;
}

static void keep_odd(struct reading *q, struct way *w, const struct way *from, const struct geo_band *b)
{
	q->odd = more_room(q->odd, q->nodd, &q->odd_room, sizeof(*q->odd));
	q->odd[q->nodd] = (struct odd_band){ w->odd, from->t, from->st, b->skip, b->skip_to, b->is_full, b->extra };
	w->odd = q->nodd++;
}

static void leave_mark(struct trail *t, uint64_t track, double cost)
{
	t->mark = more_room(t->mark, t->n, &t->room, sizeof(*t->mark));
	t->mark[t->n++] = (struct mark){ track, cost };
}

/* Keeps a way unless another one is as far for less. */
static void add_way(struct reading *q, const struct way *w)
{
	struct way *worst = NULL;
	size_t alike = 0;

	for (size_t i = 0; i < q->n; i++) {
		if (q->way[i].t == w->t && q->way[i].is_new == w->is_new) {
			if (w->st.cost < q->way[i].st.cost)
				q->way[i] = *w;
			return;
		}
		if (q->way[i].t >= w->t && q->way[i].st.cost + GEO_AHEAD < w->st.cost)
			return;
		if (q->way[i].is_whole != w->is_whole)
			continue;
		alike++;
		if (!worst || q->way[i].st.cost > worst->st.cost)
			worst = &q->way[i];
	}
	if (q->n < ARRAY_LEN(q->way) && alike < (w->is_whole ? GEO_READINGS / 2 : GEO_READINGS))
		q->way[q->n++] = *w;
	else if (worst && w->st.cost < worst->st.cost)
		*worst = *w;
}

static void begin_zone(struct way *w)
{
	memset(w->st.votes, 0, sizeof(w->st.votes));
	w->is_new = true;
	w->in_zone = 0;
}

/* This band goes on from here, if it fits. ret: the way behind it. */
static bool take_band(struct reading *q, const struct way *from, struct geo_band *b, struct way *ret)
{
	struct geo_fit_zone *z = &ret->zone;
	uint64_t alike = 0;

	*ret = *from;
	if (!ret->is_new)
		memcpy(b->size, z->size, sizeof(b->size));
	if ((ret->is_new && ret->t && ret->t == q->avoid) || !geo_match(&q->p, b, &ret->st, &ret->t))
		return false;
	if (q->p.shape->band == 1 && b->cylinders == 1)
		alike = geo_pass_alike(&q->p, b, &ret->st, &ret->t, q->to);
	if (ret->is_new) {
		double odd = geo_odd_sizes(&q->p, z->size, b->size);

		/* Less than a band in front of all shows no sizes, unless all surfaces hold less behind it. */
		if (odd > 0.0 && q->p.shape->band > 1 && z->track == 0 && !z->bands)
			odd = fmax(odd, geo_odd_first_sizes(&q->p, b->size));
		ret->st.cost += GEO_COST_TWO + odd;
		*z = (struct geo_fit_zone){ .track = from->t,
			                    .first = geo_order_first(q->p.o, from->t),
			                    .cylinder = from->cylinder };
	} else if (from->in_zone == 1 && !from->node) { /* what the disk's first band lacked is known now */
		ret->st.cost += geo_odd_first_sizes(&q->p, b->size) - geo_odd_first_sizes(&q->p, z->size);
	}
	memcpy(z->size, b->size, sizeof(z->size));
	z->cylinders += b->cylinders + alike;
	z->bands += (b->cylinders == q->p.shape->band) + alike;
	z->tracks = ret->t - z->track;
	z->head_skew = ret->st.often[GEO_TO_HEAD];
	z->cylinder_skew = ret->st.often[GEO_TO_CYLINDER];
	z->band_skew = ret->st.often[GEO_TO_BAND];
	ret->cylinder +=
		b->cylinders + alike + (geo_is_single_slot(&q->p, b) ? ret->st.left_out - from->st.left_out : 0);
	ret->in_zone += 1 + alike;
	ret->is_new = false;
	ret->is_whole = b->cylinders > 1 && b->cylinders == q->p.shape->band;
	if (b->cylinders != q->p.shape->band ||
	    ((b->cylinders > 1 || b->skip < b->skip_to) && b->skip_to + 1 == b->cylinders * q->p.shape->heads))
		begin_zone(ret);
	if (ret->st.left_out > from->st.left_out || b->extra)
		keep_odd(q, ret, from, b);
	return true;
}

/* A band of that many cylinders behind that way, all of whose slots have data. */
static struct geo_band next_band(const struct reading *q, const struct way *from, uint64_t cylinders)
{
	return (struct geo_band){ .cylinders = cylinders,
		                  .skip = SIZE_MAX,
		                  .skip_to = SIZE_MAX,
		                  .is_back = q->p.shape->is_alternate && from->in_zone % 2,
		                  .is_full = true,
		                  .most = q->most };
}

static bool is_cut(struct reading *q)
{
	if (q->p.matched >= GEO_THOUGHT) {
		q->is_cut |= geo_think(q->p.o->g, q->p.matched);
		q->p.matched = 0;
	}
	return q->is_cut;
}

/* A band of that many cylinders goes on from here, if it fits, with slots skip to skip_to without data; the last of
 * them: the zone ends so. Where skews look like those of further tracks without data, these may be answers that were
 * late as well; and where the first track of a surface holds less than others, it may lack nothing. */
static bool go(struct reading *q, const struct way *from, uint64_t cylinders, size_t skip, size_t skip_to,
               double *ret_cost)
{
	unsigned full = q->p.shape->heads > 1 ? 1 : 0, bare = 2, more = 0; /* on one surface nothing is shifted */
	bool found = false;

	for (unsigned k = 0; k <= (full | bare) && !is_cut(q); k++) {
		struct geo_band b = next_band(q, from, cylinders);
		struct way w;

		if (k & ~more)
			continue;
		b.skip = skip;
		b.skip_to = skip_to;
		b.is_full = k & full;
		b.is_bare = k & bare;
		if (take_band(q, from, &b, &w)) {
			*ret_cost = found ? fmin(*ret_cost, w.st.cost) : w.st.cost;
			found = true;
			add_way(q, &w);
		}
		more |= (b.is_doubtful ? full : 0) | (b.is_filled ? bare : 0);
	}
	return found;
}

/* The zone ends with this band, and its last slots have no data, on one surface or on several: zones keep spare tracks
 * there, as many as drives have surfaces at most. */
static void go_without_tail(struct reading *q, const struct way *from)
{
	struct geo_order *o = q->p.o;
	uint64_t heads = q->p.shape->heads, band = q->p.shape->band;
	size_t i = (size_t)(geo_order_at(o, from->t) - o->seg);
	uint64_t end;
	double ignore;

	for (size_t seen = 0; seen < GEO_ENDS + heads && (i = geo_next_end(o, i, true, &end)) < o->n; seen++, i++) {
		uint64_t length = (end - from->t + heads - 1) / heads, tail = length * heads - (end - from->t);

		for (; tail <= GEO_HEADS && length <= band; length++, tail += heads)
			if (tail && length > 1)
				(void)go(q, from, length, length * heads - tail, length * heads - 1, &ignore);
	}
}

/* Are this track and the one before it two pieces, which a false end cut apart? Together they hold no more than the
 * track on one side of them. */
static bool is_second_piece(const struct geo_order *o, size_t i)
{
	const struct geo_seg *seg = &o->seg[i];

	return i > 1 && i + 1 < o->n && seg->tracks == 1 && seg[-1].tracks == 1 &&
	       seg[1].first - seg[-1].first <= (seg[-2].size > seg[1].size ? seg[-2].size : seg[1].size);
}

/* The same band, with one track less: of two that may be pieces. */
static void go_with_extra(struct reading *q, const struct way *from)
{
	const struct geo_order *o = q->p.o;
	uint64_t band = q->p.shape->band, end = from->t + q->p.shape->heads * band;
	size_t i = (size_t)(geo_order_at(q->p.o, from->t) - o->seg), seen = 0;

	for (; i + 1 < o->n && o->seg[i].track <= end && seen < GEO_ENDS; i++) {
		struct geo_band b = next_band(q, from, band);
		struct way w;

		if (!is_second_piece(o, i))
			continue;
		seen++;
		b.extra = o->seg[i].track;
		if (b.extra >= from->t && take_band(q, from, &b, &w))
			add_way(q, &w);
	}
}

static void end_zone(struct reading *q, const struct way *from)
{
	struct way w = *from;

	begin_zone(&w);
	add_way(q, &w);
}

/* Bands that go on from there are behind those that have come as far if they cost more. */
static double most_behind(const struct reading *q, const struct way *from)
{
	uint64_t farthest = from->t + q->p.shape->heads * q->p.shape->band;
	double most = q->limit;

	for (size_t i = 0; i < q->n && q->p.shape->band; i++)
		if (q->way[i].t >= farthest)
			most = fmin(most, q->way[i].st.cost + GEO_AHEAD);
	return most;
}

/* All that may come next. */
static void go_on(struct reading *q, const struct way *w)
{
	uint64_t length[256], band = q->p.shape->band;
	double cost = INFINITY, ignore;
	bool is_whole;

	q->most = q->limit;
	is_whole = band && go(q, w, band, SIZE_MAX, SIZE_MAX, &cost);
	/* Drives keep the first tracks of all for themselves, and a partition begins anywhere. */
	for (size_t head = 1; band == 1 && w->t == 0 && head < q->p.shape->heads; head++)
		(void)go(q, w, 1, 0, head - 1, &ignore);
	is_whole = is_whole && cost <= w->st.cost + (w->is_new ? GEO_COST_TWO : 0.0);
	if (is_whole && (band == 1 || !w->is_new || w->t == 0))
		return;
	/* Nothing fits, or at a price: there may be something cheaper. */
	q->most = most_behind(q, w);
	if (band)
		go_with_extra(q, w);
	if (band == 1) {
		for (size_t skip = 0; skip < q->p.shape->heads && !w->is_new; skip++)
			(void)go(q, w, 1, skip, skip, &ignore);
	} else {
		size_t n = geo_partial_lengths(&q->p, w->t, w->st.jump[GEO_TO_CYLINDER], length, ARRAY_LEN(length));

		for (size_t i = 0; i < n; i++)
			(void)go(q, w, length[i], SIZE_MAX, SIZE_MAX, &ignore);
		if (band > 1 && !w->is_new && isinf(cost))
			go_without_tail(q, w);
	}
	if (!w->is_new && !is_whole)
		end_zone(q, w);
}

/* The way that has come least far. */
static size_t least_far(const struct reading *q)
{
	size_t least = 0;

	for (size_t i = 1; i < q->n; i++)
		if (q->way[i].t < q->way[least].t)
			least = i;
	return least;
}

static struct way take_way(struct reading *q, size_t i)
{
	struct way w = q->way[i];

	q->way[i] = q->way[--q->n];
	return w;
}

static bool is_hopeless(struct reading *q, const struct way *w)
{
	const struct trail *rival = q->rival;

	while (rival && rival->mark[q->rival_at].t < w->t)
		q->rival_at++;
	if (rival && w->st.cost > rival->mark[q->rival_at].cost + GEO_AHEAD + GEO_SURE)
		return true;
	for (size_t i = 0; i < q->n; i++)
		if (q->way[i].t >= w->t && q->way[i].st.cost + GEO_AHEAD < w->st.cost)
			return true;
	return w->st.cost > q->limit;
}

/* Until all ways have come as far as that; none is left when the run is over. */
static void read_to(struct reading *q, uint64_t track)
{
	q->to = track;
	while (q->n) {
		size_t least = least_far(q);
		struct way w;

		if (q->way[least].t >= track)
			return;
		q->p.matched += GEO_READINGS; /* which it is held against, beside the slots */
		if (is_cut(q)) {
			q->n = 0;
			return;
		}
		w = take_way(q, least);
		if (is_hopeless(q, &w))
			continue;
		if (q->trail)
			leave_mark(q->trail, w.t, w.st.cost);
		if (w.is_new && w.zone.tracks)
			keep_zone(q, &w);
		go_on(q, &w);
	}
}

/* The cheapest of the ways, which have all come far enough; false: there is none. */
static bool best_way(struct reading *q, struct way *ret)
{
	while (q->n) {
		*ret = take_way(q, least_far(q));
		if (is_hopeless(q, ret))
			continue;
		for (size_t i = 0; i < q->n; i++)
			if (q->way[i].st.cost < ret->st.cost)
				*ret = q->way[i];
		return true;
	}
	return false;
}

/* The zones of the way, from its last one back. */
static void write_fit(const struct reading *q, const struct way *w, struct geo_fit *fit)
{
	size_t n = 1;

	for (size_t i = w->node; i; i = q->node[i].parent)
		n++;
	if (n > ARRAY_LEN(fit->zone))
		return;
	fit->n = n;
	fit->cost = w->st.cost;
	fit->left_out = w->st.left_out;
	fit->left_cost = w->st.left_cost;
	fit->zone[--n] = w->zone;
	for (size_t i = w->node; i; i = q->node[i].parent)
		fit->zone[--n] = q->node[i].zone;
}

/* Turns the chain of odd bands round: the first of them, each one's parent the next. */
static size_t first_odd(struct reading *q, size_t last)
{
	size_t next = 0;

	while (last) {
		size_t before = q->odd[last].parent;

		q->odd[last].parent = next;
		next = last;
		last = before;
	}
	return next;
}

/* The same bands again, now that they are known, to show where each track is; at an infinite cost if that was cut
 * short. */
static void write_labels(struct reading *q, const struct way *w, struct geo_labels *labels, struct geo_fit *fit)
{
	struct geo_state st = w->st;
	size_t k = first_odd(q, w->odd); /* in the order of their tracks, as the bands are gone through */

	q->p.labels = labels;
	for (size_t i = 0; i < fit->n; i++) {
		const struct geo_fit_zone *z = &fit->zone[i];
		uint64_t t = z->track, left = z->cylinders, in_zone = 0;

		q->p.cylinder = z->cylinder;
		q->p.zone = i;
		while (left && t < z->track + z->tracks && !is_cut(q)) {
			struct geo_band b = { .most = INFINITY,
				              .skip = SIZE_MAX,
				              .is_back = q->p.shape->is_alternate && in_zone++ % 2,
				              .is_full = true };
			uint64_t band = q->p.shape->band;

			st.rest = NAN;
			while (k && q->odd[k].t < t)
				k = q->odd[k].parent;
			if (k && q->odd[k].t == t) {
				b.skip = q->odd[k].skip;
				b.skip_to = q->odd[k].skip_to;
				b.is_full = q->odd[k].is_full;
				b.extra = q->odd[k].extra;
				st = q->odd[k].st;
			}
			b.cylinders = band && band < left ? band : left;
			memcpy(b.size, z->size, sizeof(b.size));
			(void)geo_match(&q->p, &b, &st, &t);
			q->p.cylinder += b.cylinders;
			left -= b.cylinders;
		}
	}
	q->p.labels = NULL;
	if (q->is_cut) {
		fit->n = 0;
		fit->cost = INFINITY;
	}
}

static const struct way start = {
	.st = { .jump = { NAN, NAN, NAN }, .other = { NAN, NAN, NAN }, .rest = NAN, .often = { NAN, NAN, NAN } },
	.is_new = true
};

static struct reading *reading_new(struct geo_order *o, const struct geo_shape *shape, double limit)
{
	struct reading *q = xcalloc(1, sizeof(*q));

	q->p = (struct geo_parser){ .o = o, .shape = shape };
	q->limit = limit;
	q->nnodes = q->nodd = 1; /* 0: none */
	add_way(q, &start);
	return q;
}

static void reading_free(struct reading *q)
{
	(void)geo_think(q->p.o->g, q->p.matched);
	free(q->node);
	free(q->odd);
	free(q);
}

/* trail: NULL, or where to leave it. */
static void fit_zones(struct geo_order *o, const struct geo_shape *shape, uint64_t tracks, double limit,
                      struct geo_labels *labels, struct trail *trail, struct geo_fit *fit)
{
	struct reading *q = reading_new(o, shape, limit);
	struct way w;

	fit->n = 0;
	fit->cost = INFINITY;
	q->trail = trail;
	read_to(q, tracks < o->tracks ? tracks : o->tracks);
	if (best_way(q, &w))
		write_fit(q, &w, fit);
	if (labels && isfinite(fit->cost))
		write_labels(q, &w, labels, fit);
	reading_free(q);
}

void geo_order_fit(struct geo_order *o, const struct geo_shape *shape, uint64_t tracks, double limit,
                   struct geo_labels *labels, struct geo_fit *fit)
{
	fit_zones(o, shape, tracks, limit, labels, NULL, fit);
}

/* ---- how certain zones are ---- */

/* What it costs to go on as q does, but without a zone that begins there; 0: it was cut short. */
static double cost_without(const struct reading *q, uint64_t avoid)
{
	struct reading *other = xcalloc(1, sizeof(*other));
	struct way w;
	double cost = INFINITY;

	*other = *q;
	other->avoid = avoid;
	other->p.matched = 0;
	other->node = NULL; /* the zones themselves are of no interest */
	other->nnodes = other->room = 0;
	other->odd = NULL;
	other->nodd = other->odd_room = 0;
	read_to(other, q->p.o->tracks);
	if (best_way(other, &w))
		cost = w.st.cost;
	cost = other->is_cut ? 0.0 : cost;
	reading_free(other);
	return cost;
}

/* How much dearer the sequence is read when no zone begins where one does. Up to there all is read as before. Behind
 * it, a way is dropped once it is too far behind those that may begin a zone there: by more than a way ever makes good
 * and an edge needs to be certain. */
static void find_margins(struct geo_order *o, const struct geo_shape *shape, struct trail *trail, struct geo_fit *fit)
{
	struct reading *q = reading_new(o, shape, fit->cost + GEO_SURE);

	for (size_t i = trail->n - 1; i-- > 0;) /* so far for that, or farther */
		trail->mark[i].cost = fmin(trail->mark[i].cost, trail->mark[i + 1].cost);
	q->rival = trail;
	for (size_t i = 1; i < fit->n && !q->is_cut; i++) {
		read_to(q, fit->zone[i].track);
		if (!q->is_cut && geo_is_clear_begin(&q->p, &fit->zone[i]))
			fit->zone[i].margin = cost_without(q, fit->zone[i].track) - fit->cost;
	}
	reading_free(q);
}

void geo_order_fit_whole(struct geo_order *o, const struct geo_shape *shape, struct geo_fit *fit)
{
	struct trail trail = { .mark = NULL };

	fit_zones(o, shape, UINT64_MAX, INFINITY, NULL, &trail, fit);
	if (isfinite(fit->cost)) {
		leave_mark(&trail, UINT64_MAX, fit->cost);
		find_margins(o, shape, &trail, fit);
	}
	free(trail.mark);
}
