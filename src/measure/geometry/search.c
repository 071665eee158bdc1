/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Surfaces and the order in which they are used. Layouts that explain the sequence of tracks at about the least cost
 * (shapes.c) are hypotheses; the shortest accesses between some tracks distinguish them: a layout says which tracks lie
 * over each other (all are equally near), and how many cylinders are between others (law.c). Accesses are made where
 * the likeliest ones differ (pairs.c), in several places, until the evidence of all of them leaves one (evidence.c), or
 * the time is over. What is reported is what all have in common that are left.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/layout.h"
#include "measure/shared/arms.h"

#define SURE   8.0 /* of the log evidence: 1 in 3000 */
#define LIKELY 6.0 /* 1 in 400 */
/* That there is one surface: 1 in 50, as others would need a coincidence in each zone. */
#define LIKELY_ONE 4.0
/* Of cost: e times less likely, as one defect, or one end mistaken, is odd in several ways. */
#define ODD_LIKELIER 20.0
/* Of the cost of the cheapest reading: so much more is as odd. What explains hardly anything shows hardly anything. */
#define LEAST_PART 4.0

static const char both[] = "The number of surfaces and the layout";

/* ---- what is reported ---- */

static void report_surfaces(struct geo_search *s, bool are_several_arms, bool is_likely)
{
	struct result *res = s->g->ses->res;
	uint32_t heads = s->h[0].shape.heads;
	struct interval ci = { heads, heads };
	const char *key = are_several_arms ? "arm_surfaces" : "surfaces";

	for (size_t i = 1; i < s->left; i++) {
		ci.low = fmin(ci.low, s->h[i].shape.heads);
		ci.high = fmax(ci.high, s->h[i].shape.heads);
	}
	result_figure(res, key, are_several_arms ? "surfaces of the first actuator" : "surfaces", UNIT_COUNT, heads,
	              is_likely && ci.low == ci.high ? NULL : &ci, s->nmade);
	if (are_several_arms)
		result_notice(
			res, "not-one-arm",
			"Several actuators or disks share the addresses of this one. Surfaces and layout are those of the first; the others may have more or fewer.");
}

static void report_confidence(struct geo_search *s, bool is_likely)
{
	char text[80];

	(void)snprintf(text, sizeof(text), "%s: fits %zu of %zu access times", is_likely ? "likely" : "certain",
	               s->nmade - s->h[0].off, s->nmade);
	result_figure_text(s->g->ses->res, "confidence", "certainty", text);
	if (is_likely)
		result_notice(
			s->g->ses->res, "layout-likely", "The layout is likely, not certain: %s.",
			s->left > 1 ? "others fit if a change of heads takes exactly as long as a step of the actuator"
				    : "sizes and skews of the tracks are too irregular to confirm it");
}

static void say_unknown(struct geo_search *s, const char *what, const char *why)
{
	result_notice(s->g->ses->res, "layout-unknown", "%s cannot be determined: %s.", what, why);
}

/* ---- what may be reported ---- */

/* Does a zone go on with a second band, at least half of the first surface's part of it that says something? That band
 * may end with the zone. What is in front of the first band that begins in it says nothing, where it was read
 * otherwise. Where heads alternate the surface comes first again that was last, which says nothing. Where a zone is one
 * band: are there others that are about as long? */
static bool comes_again(const struct geo_search *s, const struct geo_hypothesis *h)
{
	const struct geo_shape *shape = &h->shape;
	const struct geo_fit *fit = s->fit;
	const struct geo_fit_zone *longest = geo_longest_zone(fit);
	size_t as_long = 0;

	for (size_t i = 0; i < fit->n; i++)
		as_long += 2 * fit->zone[i].tracks >= longest->tracks;
	for (size_t i = 0; shape->band && i < fit->n; i++) {
		const struct geo_fit_zone *z = &fit->zone[i];
		uint64_t band = shape->heads * shape->band, begin = geo_begin_of(s->o, z, h) % band;
		uint64_t second = z->cylinders - shape->band;

		if (!(geo_is_read_so(h) || geo_is_counted(h)) || z->cylinders < shape->band + GEO_LONG_RUN ||
		    second > shape->band)
			second = shape->band;
		if (z->tracks >= (begin ? band - begin : 0) + band + (shape->is_alternate ? second : 0) + second / 2)
			return true;
	}
	return !shape->band && as_long >= GEO_FEW;
}

/* Also where accesses have shown that a reading counts tracks wrongly, what the layout explains is seen in its order.
 */
static void read_as_likeliest(struct geo_search *s)
{
	const struct geo_hypothesis *h = &s->h[0];

	geo_order_fit(s->o, geo_is_counted(h) || h->shape.heads == 1 ? &h->shape : &h->read, GEO_RANK_TRACKS, INFINITY,
	              NULL, s->fit);
}

/* Does one surface explain sizes and skews about as well, so that they do not show where bands end? Which lengths were
 * tried is chance then. s->fit: as the likeliest has it. */
static bool are_bands_unseen(const struct geo_search *s)
{
	static const struct geo_shape one = { .heads = 1, .band = 1 };
	const struct geo_shape *best = &s->h[0].shape;
	cleanup_free struct geo_fit *fit = xcalloc(1, sizeof(*fit));

	if (best->heads == 1 || best->band == 1)
		return false;
	geo_order_fit(s->o, &one, GEO_RANK_TRACKS, s->fit->cost + GEO_SPEAKS, NULL, fit);
	return isfinite(fit->cost) || geo_has_thought_enough(s->g);
}

/* One after the other, are tracks those of several surfaces by their sizes? Those of one hold less and less inwards. */
static bool do_sizes_grow(const struct geo_order *o)
{
	double changes = 0.0, more = 0.0;
	uint64_t last = 0;

	for (size_t i = 0; i < o->n; i++) {
		const struct geo_seg *seg = &o->seg[i];

		if (!geo_is_plain(seg) || seg->tracks < GEO_LONG_RUN)
			continue;
		changes += last && seg->size != last;
		more += last && seg->size > last;
		last = seg->size;
	}
	return more > 0.0 && LIKELY_ONE - log(GEO_MISREAD_SHARE) * more > M_LN2 * changes;
}

/* The same but for whether every second band goes through the heads backwards. */
static bool is_turned(const struct geo_shape *a, const struct geo_shape *b)
{
	const struct geo_shape other = { a->heads, a->band, !a->is_alternate, a->is_serpentine };

	return geo_is_same_layout(&other, b) && a->heads > 1;
}

/* What all have in common that are left, that far: minus the log of the odds against it. turning: that heads alternate,
 * or do not; layout: all else. Where there may be one surface, bands longer than half of what was walked are left to
 * accesses to the end of the disk (pairs.c). */
struct common {
	double surfaces, layout, turning;
};

static struct common common_of(const struct geo_search *s)
{
	double of[GEO_HEADS + 1], best, others = 0.0, layout = INFINITY, turning = INFINITY;

	for (uint32_t k = 0; k <= GEO_HEADS; k++)
		of[k] = INFINITY;
	for (size_t i = 0; i < s->n; i++) {
		double *least = &of[s->h[i].shape.heads];

		if (s->h[0].shape.heads == 1 && 2 * s->h[i].shape.band > s->o->tracks)
			continue;
		*least = fmin(*least, s->h[i].cost);
		if (is_turned(&s->h[0].shape, &s->h[i].shape))
			turning = fmin(turning, s->h[i].cost);
		else if (!geo_is_same_layout(&s->h[0].shape, &s->h[i].shape))
			layout = fmin(layout, s->h[i].cost);
	}
	best = of[s->h[0].shape.heads];
	for (uint32_t k = 1; k <= GEO_HEADS; k++)
		others += k == s->h[0].shape.heads ? 0.0 : exp(best - of[k]);
	return (struct common){ others > 0.0 ? -log(others) : (double)INFINITY, layout - s->h[0].cost,
		                turning - s->h[0].cost };
}

/* So much less likely others must be. Where the likeliest layout explains so little of the sequence that a false one
 * does as much, bands are never sure, as stripes of several arms are such, too. Nor is one surface. Of heads in turn
 * each access shows the layout, wherever it was made. s->fit: as the likeliest has it. */
static double sure_of(struct geo_search *s)
{
	read_as_likeliest(s);
	if (s->fit->cost <= ODD_LIKELIER + GEO_UNORDERED * (double)geo_order_changes(s->o, GEO_RANK_TRACKS))
		return SURE;
	/* What is true may be none of the hypotheses. */
	return s->h[0].shape.band == 1 && s->h[0].shape.heads > 1 ? 4.0 * SURE : (double)INFINITY;
}

/* ret->fit: all that was walked, as the best layout reads it. */
static void decide(struct geo_search *s, bool are_several_arms, struct geo_layout *ret)
{
	const struct geo_hypothesis *best = &s->h[0];
	const struct geo_shape *shape = &best->shape;
	bool is_one = shape->heads == 1;
	struct common c = common_of(s);
	double sure = sure_of(s), least = sure > SURE ? sure : is_one ? LIKELY_ONE : LIKELY;
	bool unseen = are_bands_unseen(s), likely = sure > SURE || c.surfaces <= SURE;

	if (!geo_fits(s, best, 1)) {
		say_unknown(s, both, "no known layout fits the access times");
	} else if (is_one && !s->goes_on) {
		say_unknown(s, both, "sizes and accesses do not show whether tracks in a row are of one surface");
	} else if (!is_one && shape->band != 1 && !comes_again(s, best)) {
		say_unknown(s, both, "no band of tracks was seen to come again");
	} else if (c.surfaces <= least || (likely && !geo_fits(s, best, 2))) {
		say_unknown(s, both, "several layouts fit sizes, skews and access times");
	} else if ((c.layout <= LIKELY && !is_one) || unseen) {
		report_surfaces(s, are_several_arms, likely);
		say_unknown(s, "The layout", "several with as many surfaces fit sizes, skews and access times");
	} else {
		report_surfaces(s, are_several_arms, likely);
		if (ret->is_turning_hidden)
			result_notice(
				s->g->ses->res, "heads-alternate-unseen",
				"Whether every second band uses the heads in reverse order cannot be determined.");
		geo_report_layout(s->g->ses->res, &ret->shape);
		report_confidence(s, likely || c.layout <= SURE);
		ret->is_reported = !likely && c.layout > SURE;
	}
}

/* ---- the search ---- */

/* Whether heads alternate is not visible where all surfaces hold as much. */
static void add_ways(struct geo_search *s, struct geo_hypothesis h)
{
	for (int way = 0; way < (h.shape.heads > 1 ? 2 : 1); way++) {
		h.shape.is_alternate = way;
		geo_add(s, &h);
	}
}

/* Two surfaces that hold as much, in bands whose ends no skew shows: of any length, one as likely as another, up to
 * that at which accesses to the end of the disk begin (pairs.c). */
static void add_two(struct geo_search *s, struct geo_hypothesis h)
{
	h.prior += log(GEO_BORDER - GEO_BAND_LEAST + 1);
	for (h.shape.band = GEO_BAND_LEAST; h.shape.band <= GEO_BORDER; h.shape.band++)
		for (int way = 0; way < 2; way++) {
			h.shape.is_serpentine = way;
			geo_add(s, &h);
		}
}

/* One surface, or several over each other, whatever is between: by the order that one surface has, if it explains the
 * sequence, or else as tracks are counted. one: in bands, where these show. */
static void add_plain(struct geo_search *s, struct geo_shape one, double least, double odd)
{
	struct geo_hypothesis h = { .shape = { .heads = 1, .band = 1 } };
	double dear, likeliest = s->n ? (double)INFINITY : 0.0;

	for (size_t i = 0; i < s->n; i++)
		likeliest = fmin(likeliest, s->h[i].prior);
	geo_order_fit(s->o, &one, GEO_RANK_TRACKS, s->dear, NULL, s->fit);
	if (isfinite(s->fit->cost))
		h.read = one;
	least = fmin(least, s->fit->cost);
	dear = geo_has_thought_enough(s->g) ? 0.0 : fmin(GEO_SPEAKS + likeliest, (s->fit->cost - least) / odd);
	for (h.shape.heads = 1; h.shape.heads <= GEO_HEADS; h.shape.heads++) {
		h.prior = dear;
		if (h.shape.heads > 1 && isfinite(s->fit->cost))
			h.prior += geo_chance(s->o, s->fit, &one, &h.shape);
		add_ways(s, h);
		if (h.read.heads && h.shape.heads == 2)
			add_two(s, h);
		if (h.read.heads && h.shape.heads > 1) {
			h.read = (struct geo_shape){ .heads = 0 };
			h.prior = dear - log(GEO_MISREAD_SHARE);
			add_ways(s, h);
			h.read = one;
		}
	}
}

/* Layouts that explain the sequence, what its order may mean else, and tracks in the order in which they are. */
static void find_hypotheses(struct geo_search *s)
{
	struct geo_candidate c[GEO_READINGS];
	struct geo_shape one = { .heads = 1, .band = 1 };
	size_t n = geo_shapes(s->g, s->o, c);
	double least = n ? c[0].cost : (double)INFINITY, odd = ODD_LIKELIER + (n ? least / LEAST_PART : 0.0);

	s->made = xcalloc((size_t)GEO_ASKED_MAX * GEO_MADE_MOST, sizeof(*s->made));
	s->dear = n ? least + GEO_SPEAKS * odd : (double)INFINITY;
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < n; i++) {
			double dear = fmin(GEO_SPEAKS, (c[i].cost - least) / odd);

			if (c[i].shape.heads == 1 || (others && c[i].shape.band == 0))
				continue;
			geo_order_fit(s->o, &c[i].shape, GEO_RANK_TRACKS, INFINITY, NULL, s->fit);
			(others ? geo_add_meanings : geo_add_reading)(s, &c[i].shape, s->fit, dear);
		}
	for (size_t i = n; i-- > 0;)
		one = c[i].shape.heads == 1 ? c[i].shape : one;
	add_plain(s, one, least, odd);
	s->left = s->n;
}

/* One look: accesses in one place, and what they say. */
static int look(struct geo_search *s, struct err *err)
{
	double says = geo_choose_pairs(s);
	struct common c = common_of(s);
	int r;

	/* All looks that may be would not decide: of a disk whose layouts nothing distinguishes. */
	if (s->looks >= GEO_TWICE && fmin(c.layout, c.surfaces) + says * (double)(GEO_LOOKS_MOST - s->looks) < LIKELY) {
		s->looks = GEO_LOOKS_MOST;
		return 0;
	}
	r = geo_measure_pairs(s, s->looks ? GEO_CHECK_AT : GEO_LAYOUT_AT, GEO_CHECK_AT, err);
	if (r == 0 && !geo_is_over(s->g))
		geo_weigh(s);
	return r;
}

static bool is_decided(struct geo_search *s)
{
	struct common c = s->n ? common_of(s) : (struct common){ 0.0, 0.0 };

	return s->looks >= GEO_TWICE && s->n && geo_fits(s, &s->h[0], 1) && fmin(c.layout, c.surfaces) > sure_of(s);
}

/* Is it by accesses only that its tracks are where they are, and its own reading of the sequence has them elsewhere? */
static bool is_mended(struct geo_search *s, const struct geo_hypothesis *h)
{
	double cost;

	if (h->is_shifted || h->shape.heads == 1 || geo_is_read_so(h))
		return h->is_shifted;
	geo_order_fit(s->o, &h->read, GEO_RANK_TRACKS, INFINITY, NULL, s->fit);
	cost = s->fit->cost;
	geo_order_fit(s->o, &h->shape, GEO_RANK_TRACKS, INFINITY, NULL, s->fit);
	return geo_is_counted(h) || !(s->fit->cost <= cost);
}

static int search(struct geo_search *s, struct geo_layout *ret, struct err *err)
{
	struct arm_ranges arms = { .n = 0 };
	double took = 0.0; /* the last look, of the budget */
	int r = 0;

	find_hypotheses(s);
	geo_may_think_on(s->g);
	while (s->n && !geo_is_over(s->g) && s->looks < GEO_LOOKS_MOST && !is_decided(s) &&
	       !geo_has_thought_enough(s->g) && geo_done(s->g, 0.0) < fmin(GEO_CHECK_AT, GEO_LAST_AT - took)) {
		double began = geo_done(s->g, 0.0);

		r = look(s, err);
		if (r < 0)
			return r;
		took = geo_done(s->g, 0.0) - began;
	}
	if (s->n == 0 || s->looks == 0 || geo_is_over(s->g)) {
		say_unknown(s, both,
		            geo_is_over(s->g) ? "the run ended before" : "no known layout explains sizes and skews");
		return 0;
	}
	geo_may_think_on(s->g);
	ret->shape = s->h[0].shape;
	if (ret->shape.heads == 1) /* bands are nothing then, and zones may end anywhere */
		ret->shape.band = 1;
	ret->is_turning_hidden = common_of(s).turning <= SURE;
	ret->shape.is_alternate &= !ret->is_turning_hidden;
	ret->fit = xcalloc(1, sizeof(*ret->fit));
	session_progress(s->g->ses, "zones", geo_done(s->g, GEO_CHECK_AT), NULL);
	if (ret->shape.heads == 1 || !geo_is_counted(&s->h[0]))
		geo_order_fit_whole(s->o, &ret->shape, ret->fit);
	ret->is_mended = is_mended(s, &s->h[0]);
	/* Beyond zones and tracks without data, and 1 for each zone: zones are unclear. */
	ret->is_messy = ret->fit->cost > ODD_LIKELIER + 3.0 * (double)ret->fit->n + ret->fit->left_cost;
	if (s->g->ses->devs[0].kind == DEVICE_DISK)
		r = arms_find(&s->g->t, &s->g->rot, &arms, err);
	if (r == 0 && ret->shape.heads == 1 && !do_sizes_grow(s->o))
		r = geo_look_far(s, err);
	if (r < 0)
		return r;
	if (geo_is_over(s->g))
		say_unknown(s, both, "the run ended before");
	else
		decide(s, arms.n > 1, ret);
	return 0;
}

int geo_find_layout(struct geo *g, struct geo_order *o, struct geo_layout *ret, struct err *err)
{
	cleanup_free struct geo_search *s = xcalloc(1, sizeof(*s));
	cleanup_free struct geo_fit *fit = xcalloc(1, sizeof(*fit));
	int r;

	*ret = (struct geo_layout){ .fit = NULL };
	s->g = g;
	s->o = o;
	s->fit = fit;
	r = search(s, ret, err);
	free(s->made);
	return r;
}
