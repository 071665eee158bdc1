/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Surfaces and the order in which they are used. Many layouts are held against the sequence of tracks (order.c); those
 * that explain it at about the least cost are held against the shortest accesses between some tracks: a layout says
 * which tracks lie over each other (all are equally near), and how many cylinders are between others; equal distances
 * take equal times, larger ones no less, and the curve bends the way that arms move: each cylinder more costs less than
 * the one before, but not all at once much less. What remains in the end is told only if it is one layout.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/geometry/search.h"

#define MESSY_MOST 0.4 /* of cost for each change of size or skew: more, and nothing is told */
#define EXPLAINS   0.7 /* the same where accesses have their say in two places: it must explain some */
#define ODD_MOST                                                                                                     \
	20.0 /* of cost beyond that of zones and tracks without data, and 1 for each zone: more, and nothing is told \
	      */
#define ODD_BAND \
	15.0 /* the same where a zone is one band, which explains nearly any order, and half of that for each zone */
#define ZONE_LEAST 8 /* of a zone, on the average, or one band: half of that is too little */
#define BAND_ZONES 3 /* that a disturbed sequence of such zones has at least */
#define AT_FIRST                                                                                                      \
	2.0          /* times that, while there was but one look: a few accesses that are wrong in it must not decide \
	              */
#define CLOSELY 0.98 /* of accesses agree with one surface in a disturbed sequence, */
#define HINT    6.0  /* and with more surfaces not by so much better */
#define LIKELY                                                                                                         \
	4.0 /* of the log-likelihood, by which an arm moves from track to track: 1 in 50, as of what is not told to be \
	       sure */
#define LOOKS_END_AT                                                                                                  \
	0.93 /* of the budget: a look that would end later, as making a large cache forget takes long, leaves no time \
	        for another place */
#define LONGER     3   /* tracks: bands so much longer or shorter are held against accesses as well (a choice) */
#define TURN_LOOKS 4   /* looks, by which accesses have told whether heads alternate if they tell it at all */
#define TURNS_MOST 4   /* readings of the sequence, each with what accesses said of the one before */
#define RISE       2.0 /* deviations: by so much the arm takes longer over eight cylinders than over one */

/* ---- does a layout agree with them? ---- */

/* ret: the accesses of this look, as the layout has them, when it is read with what is known by now. How many. */
static size_t judge_read(struct geo_search *s, struct geo_candidate *c, struct geo_access *ret, bool *ret_is_turned)
{
	cleanup_free uint64_t *cylinder = calloc(s->tracks, sizeof(*cylinder));
	cleanup_free uint32_t *head = calloc(s->tracks, sizeof(*head));
	struct geo_labels labels = { .first = s->first, .n = s->tracks, .cylinder = cylinder, .head = head };
	size_t n = 0;

	c->verdict = (struct geo_verdict){ .judged = 0 };
	c->is_possible = false;
	if (!cylinder || !head)
		return 0;
	geo_order_fit(s->o, &c->shape, geo_read_behind(&c->shape, s->first + s->tracks), INFINITY, &labels, s->fit);
	for (size_t i = 0; i < s->npairs; i++) {
		uint64_t from = cylinder[s->a[i]], to = cylinder[s->b[i]];

		if (!isfinite(s->pair[i].access))
			continue;
		ret[n++] = (struct geo_access){ .cylinders = from > to ? from - to : to - from,
			                        .is_other_head = head[s->a[i]] != head[s->b[i]],
			                        .is_again = s->is_again[i],
			                        .access = s->pair[i].access,
			                        .error = s->pair[i].error };
	}
	c->verdict = geo_judge(ret, n, s->scatter);
	if (ret_is_turned)
		*ret_is_turned = !c->verdict.is_possible && geo_pin_cylinders(s, &c->shape, cylinder, head, ret);
	c->judged = c->verdict.judged;
	c->agreeing = c->verdict.agreeing;
	c->is_possible = c->verdict.is_possible;
	return n;
}

/* Nearly all of the accesses, and none too many beside: of what is sorted by nothing but their distance none is off but
 * what came late. */
static bool agree_closely(const struct geo_candidate *c)
{
	return (double)c->verdict.agreeing >= CLOSELY * (double)c->verdict.judged;
}

/* The same; where accesses say that cylinders begin elsewhere than it was read, it is read anew, and has to agree
 * closely then, as it was given one more freedom. */
static size_t judge(struct geo_search *s, struct geo_candidate *c, struct geo_access *ret)
{
	size_t pins = s->o->npins, n;
	bool is_turned = false;

	n = judge_read(s, c, ret, &is_turned);
	for (int i = 1; i < TURNS_MOST && is_turned; i++)
		n = judge_read(s, c, ret, &is_turned);
	if (s->o->npins == pins || agree_closely(c))
		return n;
	s->o->npins = pins; /* that did not help */
	return judge_read(s, c, ret, NULL);
}

/*
 * A curve that suits well is not found from anywhere, and a layout would be out for want of it: each is looked for from
 * the one that was found before and from that of the best layout, too, as there is but one arm.
 */
static void find_curves(struct geo_search *s)
{
	size_t best = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct geo_candidate *c = &s->c[i];
		struct geo_curve before = c->curve;

		c->curve = geo_curve_of(c->seen, s->nmade);
		if (s->looks)
			geo_curve_from(c->seen, s->nmade, &before, &c->curve);
		if (c->curve.cost < s->c[best].curve.cost)
			best = i;
	}
	for (size_t i = 0; i < s->n; i++)
		if (i != best)
			geo_curve_from(s->c[i].seen, s->nmade, &s->c[best].curve, &s->c[i].curve);
}

/* How unlikely all accesses so far are under each candidate, when they scatter as under the best. */
static double weigh_all(struct geo_search *s)
{
	struct geo_access *plain = s->made + (size_t)GEO_SHAPES_MAX * GEO_MADE_MOST;
	struct geo_curve curve;
	double scale;
	size_t n = geo_side_by_side(s, plain + s->nmade, s->made_at + s->nmade);

	for (size_t i = 0; i < s->n; i++)
		(void)judge(s, &s->c[i], s->c[i].seen + s->nmade);
	s->nmade += n;
	curve = geo_curve_of(plain, s->nmade);
	find_curves(s);
	scale = curve.scale;
	for (size_t i = 0; i < s->n; i++)
		if (s->c[i].is_possible)
			scale = fmin(scale, s->c[i].curve.scale);
	for (size_t i = 0; i < s->n; i++)
		s->c[i].against = geo_curve_cost(s->c[i].seen, s->nmade, &s->c[i].curve, scale);
	s->plain = geo_curve_cost(plain, s->nmade, &curve, scale);
	return scale;
}

/* ---- is it shown, and may others be? ---- */

/*
 * Bands of so few tracks could be the cylinders of a head-first disk of as many surfaces, and surfaces its cylinders:
 * both explain two kinds of accesses, quick ones within and slow ones between. Only an arm that takes longer over more
 * tracks of a band shows that it moves there.
 */
static bool may_be_cylinders(const struct geo_shape *shape)
{
	return shape->heads > 1 && shape->band > 1 && shape->band <= GEO_HEADS;
}

/* Do the lengths of zones speak against any number of surfaces but one? */
static bool are_lengths_of_one(const struct geo_search *s)
{
	double least = INFINITY;

	for (uint32_t heads = 2; heads <= GEO_HEADS; heads++)
		least = fmin(least, s->lengths[heads]);
	return least > GEO_SPEAKS;
}

/* Nothing else is left, and the arm moves from track to track, if only many accesses together say so; or zones have any
 * number of tracks. */
static bool is_one_shown(const struct geo_search *s, const struct geo_candidate *one)
{
	return are_lengths_of_one(s) || geo_rise_speaks(one->seen, s->nmade, &one->curve) > GEO_SPEAKS;
}

/* Do sizes, or the accesses, speak for the best layout, and not only against the others that were read? */
static void see_what_is_shown(struct geo_search *s, double scale, bool several)
{
	const struct geo_candidate *best = &s->c[0];
	const struct geo_shape cylinders = { .heads = (uint32_t)best->shape.band, .band = 1 };
	bool rises = best->curve.rise > RISE * scale, beats_plain = s->plain > best->against + GEO_SPEAKS;

	s->are_sizes_its_own = geo_are_sizes_of_heads(s, &best->shape);
	if (s->are_sizes_its_own)
		s->is_shown = true;
	else if (may_be_cylinders(&best->shape))
		s->is_shown = (beats_plain &&
		               (rises || (!several && geo_speaks_against_mended(s, &cylinders) > GEO_SPEAKS))) ||
		              geo_do_sizes_show_bands(s);
	else
		s->is_shown = s->is_shown ||
		              (best->shape.heads > 1 ? beats_plain : rises || (!several && is_one_shown(s, best)));
}

/*
 * Is another layout left than the best one? That heads alternate need not be seen where all surfaces are alike and a
 * change of heads takes as long as a step of the arm: when accesses have been asked that often, it leaves nothing else
 * open.
 */
static bool are_several(const struct geo_search *s)
{
	bool several = false;

	for (size_t i = 1; i < s->n; i++)
		several = several || (!geo_is_same_layout(&s->c[0].shape, &s->c[i].shape) &&
		                      !(s->looks >= TURN_LOOKS && geo_is_turned(&s->c[0].shape, &s->c[i].shape)));
	return several;
}

/* All layouts that are left have as many surfaces. */
static bool are_surfaces_known(const struct geo_search *s)
{
	bool known = s->n > 0;

	for (size_t i = 1; i < s->n; i++)
		known = known && s->c[i].shape.heads == s->c[0].shape.heads;
	return known;
}

static void put_first(struct geo_search *s, size_t i)
{
	struct geo_candidate c = s->c[i];

	s->c[i] = s->c[0];
	s->c[0] = c;
}

/* Where one surface is possible: how many tracks zones have then. */
static void weigh_lengths(struct geo_search *s)
{
	const struct geo_candidate *one = NULL;
	bool are_others = false;

	for (size_t i = 0; i < s->n; i++) {
		if (s->c[i].shape.heads == 1 && s->c[i].is_possible)
			one = &s->c[i];
		are_others = are_others || (s->c[i].shape.heads > 1 && s->c[i].is_possible);
	}
	if (!one)
		memset(s->lengths, 0, sizeof(s->lengths));
	if (!one || !are_others || s->has_lengths)
		return;
	s->has_lengths = true;
	geo_order_fit_whole(s->o, &one->shape, s->fit);
	for (uint32_t heads = 2; isfinite(s->fit->cost) && heads <= GEO_HEADS; heads++)
		s->lengths[heads] = geo_lengths_speak_against(s->fit, heads);
}

/* Several that have as many surfaces are left: the one that explains the sequence best comes first. */
static void prefer_cheapest(struct geo_search *s)
{
	double least = INFINITY;
	size_t best = 0;

	for (size_t i = 0; i < s->n; i++) {
		geo_order_fit(s->o, &s->c[i].shape, s->o->ranked, INFINITY, NULL, s->fit);
		if (s->fit->cost >= least)
			continue;
		least = s->fit->cost;
		best = i;
	}
	put_first(s, best);
	s->does_agree = s->c[0].verdict.is_possible;
}

/* Of the first n, also of those that accesses speak against. */
static size_t likeliest(const struct geo_search *s, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		best = s->c[i].against < s->c[best].against ? i : best;
	return best;
}

/* What the accesses speak for comes first, what they speak against is out; where all are, the likeliest of them is
 * where the best one was. Are several layouts left? */
static bool judge_all(struct geo_search *s)
{
	double scale = weigh_all(s), least = INFINITY, speaks = GEO_SPEAKS * (s->looks ? 1.0 : AT_FIRST);
	bool several, is_first = s->looks++ == 0;
	size_t m = 0, n = s->n, best = 0;

	if (!is_first)
		weigh_lengths(s);
	for (size_t i = 0; i < s->n; i++) {
		s->c[i].is_possible = s->c[i].is_possible || (is_first && s->c[i].verdict.is_nearly);
		s->c[i].against += s->lengths[s->c[i].shape.heads];
		if (s->c[i].is_possible && !is_first)
			s->c[i].against += geo_sizes_speak_against(s, &s->c[i].shape);
		if (!s->c[i].is_possible || s->c[i].against >= least)
			continue;
		least = s->c[i].against;
		best = i;
	}
	for (size_t i = 0; i < s->n; i++) {
		struct geo_candidate c = s->c[i];

		if (!c.is_possible || c.against > least + speaks) {
			s->next = c.agreeing > s->next ? c.agreeing : s->next;
			continue;
		}
		s->c[m] = c;
		if (c.against == least)
			best = m;
		m++;
	}
	s->n = m;
	if (m ? best : s->nmade)
		put_first(s, m ? best : likeliest(s, n));
	s->does_agree = m && s->c[0].verdict.is_possible;
	several = are_several(s);
	if (m && isfinite(least))
		see_what_is_shown(s, scale, several);
	return several;
}

/* Are zones shorter than a half of a band, or a few cylinders? With so many of them any order can be explained. */
static bool are_zones_too_short(const struct geo_fit *fit, const struct geo_shape *shape)
{
	uint64_t usual = shape->band > ZONE_LEAST ? shape->band : ZONE_LEAST, cylinders = 0;

	for (size_t i = 0; i < fit->n; i++)
		cylinders += fit->zone[i].cylinders;
	return fit->n >= BAND_ZONES && 2 * cylinders < fit->n * usual;
}

enum order {
	IN_ORDER,
	DISTURBED, /* by defects, noise or mistakes, but most of it is explained: to be told only if accesses in a
	              second place say so */
	UNORDERED, /* no more of it is explained than a false layout would: it is accesses that speak for one, and no
	              more than likely */
	MESSY,
	ONCE /* no band came again, so there may be more surfaces than were seen */
};

/* Zones that hold more than the one before. */
static size_t rises(const struct geo_fit *fit)
{
	size_t up = 0;

	for (size_t i = 1; i < fit->n; i++)
		up += fit->zone[i].size[0] > fit->zone[i - 1].size[0];
	return up;
}

/* Zones hold less and less inwards, but for defects and where another arm begins. */
static bool rises_often(const struct geo_fit *fit)
{
	return rises(fit) * 4 > fit->n;
}

/* One surface, by the first tracks and accesses between them; do all that were seen look like several? */
static bool has_zones_of_several(const struct geo_fit *one)
{
	return rises_often(one) || geo_lengths_speak_for_several(one) > HINT;
}

/*
 * Right layouts explain nearly all but zones, tracks without data and defects, and zones hold less and less inwards.
 * Where a zone is one band nearly any order can be explained, but not by zones that hold less each time. changes: of
 * size or skew in those tracks.
 */
static enum order order_of(const struct geo_fit *fit, const struct geo_shape *shape, size_t changes)
{
	bool is_band = shape->heads > 1 && shape->band == 0;
	double odd = fit->cost - 2.0 * (double)fit->n - fit->left_cost, n = (double)fit->n;

	if (shape->heads > 1 && shape->band > 1 && !geo_comes_again(fit, shape))
		return ONCE;
	if (geo_are_bands_cut(fit, shape)) /* there may be more surfaces */
		return MESSY;
	if (are_zones_too_short(fit, shape))
		return UNORDERED;
	if (odd <= (is_band ? ODD_BAND + 0.5 * n : ODD_MOST + n) && !rises_often(fit))
		return IN_ORDER;
	if (!is_band) /* which tracks lie over each other, or that none do, is what accesses tell best */
		return fit->cost > ODD_MOST + EXPLAINS * (double)changes ? UNORDERED : DISTURBED;
	return fit->cost > ODD_MOST + MESSY_MOST * (double)changes || rises(fit) || fit->n < BAND_ZONES ? MESSY
	                                                                                                : DISTURBED;
}

/*
 * One surface, as far as the sequence says, but of that much is in no order, so that other layouts may have been read
 * from wrong tracks on. Accesses that go from one head to another over less than a cylinder show in any case which
 * distances are whole cylinders; and the bands may be cut as any other layout does.
 */
static bool may_have_surfaces(struct geo_search *s)
{
	const struct geo_access *plain = s->made + (size_t)GEO_SHAPES_MAX * GEO_MADE_MOST;
	cleanup_free struct geo_access *of = malloc(s->nmade * sizeof(*of));
	const struct geo_candidate *best = &s->c[0];
	double cost;

	if (!of || !agree_closely(best))
		return true;
	cost = geo_curve_cost(plain, s->nmade, &best->curve, best->curve.scale);
	for (uint32_t heads = 2; heads <= GEO_HEADS; heads++) {
		struct geo_shape rival = { .heads = heads, .band = best->shape.band / heads };
		struct geo_curve curve;

		memcpy(of, plain, s->nmade * sizeof(*of));
		for (size_t i = 0; i < s->nmade; i++)
			of[i].is_other_head = of[i].cylinders % heads;
		curve = geo_curve_of(of, s->nmade);
		if (geo_curve_cost(of, s->nmade, &curve, best->curve.scale) + HINT < cost)
			return true;
		if (best->shape.band % heads == 0 && geo_speaks_against_mended(s, &rival) < GEO_SPEAKS)
			return true;
	}
	return false;
}

/* Have accesses spoken against the layout that differs from the best one in whether heads alternate? Where the sequence
 * is the same it need not have been asked. */
static bool is_turning_said(struct geo_search *s)
{
	struct geo_shape turned = s->c[0].shape;
	bool was_asked = false, is_left = false;

	turned.is_alternate = !turned.is_alternate;
	for (size_t i = 0; i < s->all; i++)
		was_asked = was_asked || geo_is_turned(&s->c[0].shape, &s->before[i].shape);
	for (size_t i = 1; i < s->n; i++)
		is_left = is_left || geo_is_turned(&s->c[0].shape, &s->c[i].shape);
	if (is_left || turned.heads == 1)
		return false;
	/* Head-first the two may differ by nothing but where one of them was misread. */
	return (was_asked && turned.band != 1) || geo_speaks_against_mended(s, &turned) > GEO_SPEAKS;
}

/* What became of the second place. */
enum elsewhere { NO_OTHER_PLACE, SEEN_TOO_LITTLE, FITS_THERE, FITS_NOT };

/*
 * Others are left beside one surface, but each only if its changes of heads take just as long as steps of the arm do,
 * wherever one comes, as none of bands that drives have shows.
 */
static bool is_one_likely(const struct geo_search *s, const struct geo_fit *fit, enum elsewhere elsewhere)
{
	double least = elsewhere == FITS_THERE ? LIKELY : GEO_SPEAKS; /* one place has to say it alone */
	const struct geo_fit_zone *longest = geo_longest_zone(fit);
	const struct geo_candidate *one = &s->c[0];

	if (!s->n || one->shape.heads != 1 || !s->does_agree || !agree_closely(one) ||
	    !(geo_rise_speaks(one->seen, s->nmade, &one->curve) > least))
		return false;
	for (size_t i = 1; i < s->n; i++) {
		uint64_t band = s->c[i].shape.band ? s->c[i].shape.band : longest ? longest->tracks : 0;

		if (s->c[i].against < one->against || (band > GEO_HEADS && band <= GEO_BAND_MOST))
			return false;
	}
	return true;
}

/* Of a sequence in no order: by accesses in two places, which are much less likely with all tracks side by side. */
static bool is_likely_by_accesses(struct geo_search *s)
{
	return s->n && s->is_shown && s->does_agree && s->plain > s->c[0].against + GEO_SPEAKS;
}

/* All accesses so far, as that layout has them, read anew; false: it does not explain the sequence. ret: room for all
 * of them. */
static bool read_made(struct geo_search *s, const struct geo_shape *shape, struct geo_access *ret)
{
	struct geo_made_labels l;
	bool is_read = geo_label_made(s, shape, &l);

	for (size_t i = 0; i < s->nmade && is_read; i++) {
		uint64_t a = s->made_at[i][0] - l.first, b = s->made_at[i][1] - l.first;

		ret[i] = s->c[0].seen[i];
		ret[i].cylinders =
			l.cylinder[a] > l.cylinder[b] ? l.cylinder[a] - l.cylinder[b] : l.cylinder[b] - l.cylinder[a];
		ret[i].is_other_head = l.head[a] != l.head[b];
	}
	geo_made_labels_free(&l);
	return is_read;
}

/*
 * May bands that do not show in the sequence be some tracks longer or shorter, whichever way heads go, for all that
 * accesses say? Which lengths were tried is chance then.
 */
static bool may_be_as_long(struct geo_search *s)
{
	const struct geo_shape best = s->c[0].shape;
	cleanup_free struct geo_access *seen = NULL;
	double cost;

	if (best.heads == 1 || best.band <= GEO_HEADS || !geo_do_bands_not_show(s))
		return false;
	seen = calloc(s->nmade + 1, sizeof(*seen));
	cost = geo_curve_cost(s->c[0].seen, s->nmade, &s->c[0].curve, s->c[0].curve.scale);
	for (uint64_t band = best.band - LONGER; seen && band <= best.band + LONGER; band++)
		for (int way = 0; way < 2 && band != best.band; way++) {
			struct geo_shape shape = best;
			struct geo_curve curve;

			shape.band = band;
			shape.is_alternate = way;
			if (!read_made(s, &shape, seen))
				continue;
			curve = geo_curve_of(seen, s->nmade);
			geo_curve_from(seen, s->nmade, &s->c[0].curve, &curve);
			if (geo_curve_cost(seen, s->nmade, &curve, s->c[0].curve.scale) < cost + GEO_SPEAKS)
				return true;
		}
	return !seen;
}

static bool decide(struct geo_search *s, const struct geo_fit *fit, enum order order, enum elsewhere elsewhere)
{
	bool several = are_several(s) || (s->n && may_be_as_long(s)), messy = order >= UNORDERED,
	     unseen = geo_are_bands_unseen(s), holds;

	if (order == DISTURBED && s->n)
		messy = elsewhere == NO_OTHER_PLACE;
	holds = s->n && s->is_shown && s->does_agree && !messy && !unseen && elsewhere != FITS_NOT &&
	        elsewhere != SEEN_TOO_LITTLE;
	if (holds && !several) {
		geo_tell_sure(s);
		return true;
	}
	if (holds && are_surfaces_known(s)) {
		geo_tell_surfaces(s, s->c[0].shape.heads);
		result_notice(s->g->ses->res, "layout-unknown",
		              "The layout cannot be determined: several that have %" PRIu32
		              " surfaces explain sizes, skews and access times.",
		              s->c[0].shape.heads);
		return false;
	}
	if (several && !unseen && (order == IN_ORDER ? elsewhere != FITS_NOT : !messy && elsewhere == FITS_THERE) &&
	    is_one_likely(s, fit, elsewhere)) {
		geo_tell_one_likely(s);
		return false;
	}
	if (order == UNORDERED && !several && !unseen && elsewhere == FITS_THERE && is_likely_by_accesses(s)) {
		geo_tell_likely_by_accesses(s, is_turning_said(s));
		return false;
	}
	if (s->n && !s->is_shown && s->does_agree && !several && !messy && !unseen && elsewhere == FITS_THERE &&
	    geo_do_sizes_take_turns(s)) {
		geo_tell_likely_by_sizes(s);
		return false;
	}
	result_notice(s->g->ses->res, "layout-unknown",
	              "The number of surfaces and the layout cannot be determined: %s.",
	              several         ? "several layouts explain sizes, skews and access times"
	              : !s->n         ? "sizes and skews repeat, but the access times fit no layout that is known here"
	              : order == ONCE ? "no band of tracks was seen to come again"
	              : messy         ? "too much in sizes and skews is in no order"
	              : unseen        ? "neither sizes nor skews show where a band ends, so that any may be"
	              : elsewhere == FITS_NOT
	                      ? "the layout that fits the access times in one zone does not fit them in another"
	              : elsewhere == SEEN_TOO_LITTLE
	                      ? "too few access times could be measured in another zone than the first"
	                      : "access times of tracks above and beside each other differ too little");
	return false;
}

/* Edges on which all layouts agree that explain the sequence, and that are certain under the one that is left; none
 * when none is left. */
static void find_common_edges(struct geo_search *s, struct geo_layout *layout)
{
	for (size_t i = 0; s->n && i < layout->fit->n; i++)
		if (i == 0 || layout->fit->zone[i].margin >= GEO_SURE)
			layout->edge[layout->nedges++] = layout->fit->zone[i].first;
	/* The first is that of all, which says nothing by itself. */
	for (size_t i = 0; i < s->all && layout->nedges > 1 && !geo_has_thought_enough(s->g); i++) {
		size_t m = 0;

		session_progress(s->g->ses, "zones", 1.0, NULL);
		if (s->before[i].shape.is_serpentine) /* that makes no difference to the sequence */
			continue;
		geo_order_fit(s->o, &s->before[i].shape, UINT64_MAX, INFINITY, NULL, s->fit);
		for (size_t k = 0, at = 0; k < layout->nedges; k++) {
			while (at < s->fit->n && s->fit->zone[at].first < layout->edge[k])
				at++;
			if (at < s->fit->n && s->fit->zone[at].first == layout->edge[k])
				layout->edge[m++] = layout->edge[k];
		}
		layout->nedges = m;
	}
	if (geo_has_thought_enough(s->g)) /* not all layouts were asked */
		layout->nedges = 0;
}

/*
 * What is left is held against accesses in another place, as the first may have been read wrongly, and just so that
 * this layout fits there. One surface is held against accesses over all that was seen: where the first place was a part
 * of a band, another surface lies somewhere else.
 */
static int check_elsewhere(struct geo_search *s, const struct geo_fit *fit, bool closely, enum elsewhere *ret,
                           struct err *err)
{
	struct geo_candidate c = s->c[0];
	struct geo_access seen[GEO_PAIRS];
	size_t all = s->n;
	int r;

	if (c.shape.heads == 1 ? fit->n < 2 : !geo_choose_other_stretch(s, fit))
		return 0;
	s->n = 1; /* pairs that tell about this one */
	s->npairs = 0;
	s->most_pairs = GEO_PAIRS / 2;
	if (c.shape.heads == 1) {
		geo_choose_edge_pairs(s, fit);
		s->most_pairs = GEO_PAIRS;
		geo_choose_wide_pairs(s);
	} else {
		geo_choose_pairs(s, false);
	}
	s->n = all;
	r = geo_measure_pairs(s, GEO_CHECK_AT, 1.0, err);
	if (r < 0 || geo_is_over(s->g))
		return r;
	(void)judge(s, &c, seen);
	/* Accesses to other heads may all go far there, so that none shows how long a change takes. */
	c.is_possible = c.verdict.does_agree && (!closely || agree_closely(&c));
	*ret = c.is_possible ? FITS_THERE : c.judged < GEO_JUDGED_LEAST ? SEEN_TOO_LITTLE : FITS_NOT;
	s->c[0].agreeing += c.agreeing;
	s->c[0].judged += c.judged;
	return 0;
}

/* A layout in which zones are one band, and by its own reading they are not. */
static bool is_more_than_band(struct geo_search *s, const struct geo_shape *shape)
{
	geo_order_fit(s->o, shape, s->o->ranked, INFINITY, NULL, s->fit);
	return geo_band_behind(s->fit) > 0;
}

static bool has_plain_one(const struct geo_shape *shape, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (shape[i].heads == 1 && shape[i].band == 1)
			return true;
	return false;
}

static int find_candidates(struct geo_search *s)
{
	struct geo_shape shape[GEO_SHAPES_MAX];
	size_t n = 0;
	unsigned has_one = 0;
	int r = geo_shapes(s->g, s->o, shape, &n);

	s->made = calloc((GEO_SHAPES_MAX + 1ul) * GEO_MADE_MOST, sizeof(*s->made));
	if (!s->made)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (shape[i].heads == 1 && has_one++) /* with one surface bands are nothing */
			continue;
		if (shape[i].band == 0 && is_more_than_band(s, &shape[i]))
			continue;
		if (shape[i].heads == 1)
			shape[i].band = has_plain_one(shape, n) ? 1 : shape[i].band;
		s->c[s->n] = (struct geo_candidate){ .shape = shape[i], .seen = s->made + s->n * GEO_MADE_MOST };
		s->n++;
	}
	return r;
}

/* Could one be true instead of the best layout that was not asked, or read wrongly? */
static bool may_be_another(struct geo_search *s)
{
	return geo_may_rival_be_misread(s, &s->c[0].shape) || (!s->are_sizes_its_own && geo_may_be_bands(s));
}

/* A layout that was out, as its bands were taken to begin elsewhere, takes the place of the best one if it is far
 * likelier by all accesses. */
static bool take_back(struct geo_search *s)
{
	size_t pins = s->o->npins, of;
	struct geo_access last[GEO_PAIRS];
	struct geo_candidate c;
	double scale;

	if (!geo_pin_rival(s, &of))
		return false;
	c = s->before[of];
	if (read_made(s, &c.shape, c.seen))
		(void)judge(s, &c, last);
	if (c.is_possible) {
		c.curve = geo_curve_of(c.seen, s->nmade);
		scale = fmin(c.curve.scale, s->c[0].curve.scale);
		c.against = geo_curve_cost(c.seen, s->nmade, &c.curve, scale);
		if (c.against + GEO_SPEAKS < geo_curve_cost(s->c[0].seen, s->nmade, &s->c[0].curve, scale)) {
			s->c[0] = c;
			s->n = 1;
			s->does_agree = c.verdict.is_possible;
			s->is_shown = false; /* what was, was the other one */
			see_what_is_shown(s, scale, false);
			return true;
		}
	}
	s->o->npins = pins;
	return false;
}

static int search(struct geo_search *s, struct geo_layout *ret, struct err *err)
{
	struct geo_shape cheapest, read;
	enum elsewhere elsewhere = NO_OTHER_PLACE;
	enum order order;
	bool several = true, is_rival_open = false, closely;
	double took = 0.0; /* the last look, of the budget */
	size_t pins;
	int r = 0;

	r = find_candidates(s);
	if (r < 0)
		return err_set(err, r, "Out of memory.");
	if (s->n == 0 || geo_is_over(s->g))
		return 0;
	geo_order_fit(s->o, &s->c[0].shape, s->o->ranked, INFINITY, NULL, s->fit);
	geo_choose_stretch(s, s->fit);
	cheapest = s->c[0].shape;
	s->all = s->n;
	memcpy(s->before, s->c, s->n * sizeof(s->c[0]));
	for (int round = 0;
	     round < GEO_LOOKS_MOST && s->n && (several || !s->is_shown || !s->does_agree || is_rival_open) &&
	     geo_done(s->g, 0.0) < fmin(GEO_CHECK_AT, LOOKS_END_AT - took);
	     round++) {
		double began = geo_done(s->g, 0.0);

		s->npairs = 0;
		if (round)
			geo_choose_rival_stretch(s, round);
		if (round && several)
			geo_choose_telling_pairs(s);
		geo_choose_pairs(s, round > 1 || geo_kept_has_below(&s->g->kept));
		r = geo_measure_pairs(s, round ? GEO_CHECK_AT : GEO_LAYOUT_AT, GEO_CHECK_AT, err);
		took = geo_done(s->g, 0.0) - began;
		if (r < 0 || geo_is_over(s->g))
			return r;
		several = judge_all(s);
		is_rival_open = s->n && !several && s->is_shown && s->c[0].shape.heads > 1 && may_be_another(s);
		if ((!s->n || is_rival_open || (several && s->looks > 1 && are_surfaces_known(s))) && take_back(s)) {
			several = false;
			is_rival_open = s->c[0].shape.heads > 1 && may_be_another(s);
		}
		if (geo_is_over(s->g))
			return 0;
	}
	if (several && are_surfaces_known(s)) {
		prefer_cheapest(s);
		is_rival_open = may_be_another(s);
	}
	/* Another one, whether or not it was read, is likelier. */
	if (s->n && s->is_shown && !s->are_sizes_its_own && s->does_agree && geo_speaks_against_bands(s) < -GEO_SPEAKS)
		s->is_shown = false;
	put_first(s, geo_turning_shown(s));
	read = ret->shape = s->n ? s->c[0].shape : cheapest;
	if (ret->shape.heads == 1) /* bands are nothing then, and zones may end anywhere */
		ret->shape.band = 1;
	ret->fit = calloc(1, sizeof(*ret->fit));
	if (!ret->fit)
		return err_set(err, -ENOMEM, "Out of memory.");
	session_progress(s->g->ses, "zones", geo_done(s->g, GEO_CHECK_AT), NULL);
	geo_order_fit_whole(s->o, &ret->shape, ret->fit);
	geo_order_fit(s->o, &read, s->o->ranked, INFINITY, NULL, s->fit);
	order = order_of(s->fit, &read, geo_order_changes(s->o, s->o->ranked));
	ret->is_messy = order != IN_ORDER;
	if (s->n && order < MESSY &&
	    (is_rival_open || geo_are_few_unasked(s) || (read.heads == 1 && has_zones_of_several(ret->fit))))
		order = MESSY;
	closely = s->n &&
	          (order == UNORDERED || (order == DISTURBED && (read.heads == 1 || geo_is_dear(s, &read, &cheapest) ||
	                                                         geo_do_sizes_come_again(s))));
	if (closely && (read.heads == 1 ? may_have_surfaces(s) : !agree_closely(&s->c[0])))
		order = MESSY;
	pins = s->o->npins;
	if (s->n && order < MESSY)
		r = check_elsewhere(s, isfinite(ret->fit->cost) ? ret->fit : s->fit, closely, &elsewhere, err);
	if (r == 0 && elsewhere == FITS_THERE && read.heads == 1 &&
	    !(geo_crossings_speak_against_band(s, isfinite(ret->fit->cost) ? ret->fit : s->fit) > GEO_SPEAKS))
		s->is_shown = false;
	if (r == 0 && s->n)
		r = geo_arms(s->g, &s->are_several_arms, err);
	if (r < 0 || geo_is_over(s->g))
		return r;
	if (s->o->npins > pins) /* by what was seen there */
		geo_order_fit_whole(s->o, &ret->shape, ret->fit);
	ret->is_mended = geo_has_pin(s->o, &ret->shape);
	s->is_decided = true;
	ret->is_told = decide(s, isfinite(ret->fit->cost) ? ret->fit : s->fit, order, elsewhere);
	ret->is_turning_said = ret->is_told && is_turning_said(s);
	if (!ret->is_told && !ret->is_messy)
		find_common_edges(s, ret);
	return 0;
}

int geo_layout(struct geo *g, struct geo_order *o, struct geo_layout *ret, struct err *err)
{
	struct geo_search *s = calloc(1, sizeof(*s));
	cleanup_free struct geo_fit *fit = calloc(1, sizeof(*fit));
	int r;

	*ret = (struct geo_layout){ .fit = NULL };
	if (!s || !fit) {
		free(s);
		return err_set(err, -ENOMEM, "Out of memory.");
	}
	s->g = g;
	s->o = o;
	s->most_pairs = GEO_PAIRS;
	s->fit = fit;
	r = search(s, ret, err);
	if (r == 0 && !s->is_decided)
		result_notice(g->ses->res, "layout-unknown",
		              "The number of surfaces and the layout cannot be determined: %s.",
		              geo_is_over(g) ? "the run ended before"
		                             : "no layout that is known here explains sizes and skews");
	free(s->made);
	free(s);
	return r;
}
