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

#define LOOKS_LEAST 2  /* one place alone may have been read wrongly, just so that a false layout fits there */
#define LOOKS_MOST  16 /* as pairs are all made by then that show something */
/* In the first look, as all have something to say: three or four times each distance that matters. */
#define FIRST_PAIRS 64
#define MORE_PAIRS  40 /* in others: some for each of the likeliest */
#define TURN_LOOKS  4  /* by which accesses have shown whether heads alternate if they show it at all */
/* Of the budget: a look that would end later leaves no time for what comes behind. */
#define LOOKS_END     0.93
#define FIND_THOUGHTS 0.5  /* of all: layouts are found, */
#define LOOK_THOUGHTS 0.75 /* accesses weighed, */
#define TELL_THOUGHTS 0.9  /* and the layout read once more; the rest is for all that was walked */
#define BAND_MOST     8192 /* tracks: no drive is known to us whose bands are longer */
#define LIKELY        8.0  /* of the log evidence: 1 in 3000 */
/* That there is one surface: 1 in 50, as others would need a coincidence in each zone; where tracks are in no order no
 * zone is known. */
#define LIKELY_ONE 4.0
#define GROWS      3.0 /* 1 in 20: so often a run of equal tracks has a size that was mistaken (a choice) */
#define RISEN      8   /* tracks: over that many an arm takes longer than over one */
/* Of cost: e times less likely, as one defect, or one end mistaken, is odd in several ways. */
#define ODD_LIKELIER 20.0
/* Of cost beyond that of zones and tracks without data, and 1 for each zone: more, and zones are unclear. */
#define ODD_MOST  20.0
#define UNORDERED 0.7  /* of cost for each change of size or skew: a false layout explains as much */
#define UNSEEN    12.0 /* of cost: bands that make the sequence no cheaper to read than that do not show in it */

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

/* Does a zone go on with a second band, at least half of the first surface's part of it that says something? Where
 * heads alternate the surface comes first again that was last, which says nothing with all beside it that hold as
 * much. */
static bool comes_again(const struct geo_fit *fit, const struct geo_shape *shape)
{
	for (size_t i = 0; i < fit->n; i++) {
		const struct geo_fit_zone *z = &fit->zone[i];
		uint32_t heads = shape->heads, first = 0, last = 0;

		while (first < heads && z->size[first] == z->size[0])
			first++;
		while (last < heads && z->size[heads - 1 - last] == z->size[heads - 1])
			last++;
		last = first > last ? first : last;
		if (z->tracks >= (heads + (shape->is_alternate ? last : 0)) * shape->band + shape->band / 2)
			return true;
	}
	return false;
}

/* Does one surface explain sizes and skews about as well, so that they do not show where bands end? Which lengths were
 * tried is chance then. */
static bool are_bands_unseen(struct geo_search *s)
{
	static const struct geo_shape one = { .heads = 1, .band = 1 };
	const struct geo_shape *best = &s->h[0].shape;

	if (best->heads == 1 || best->band == 1)
		return false;
	geo_read_first(s, &s->h[0]);
	geo_order_fit(s->o, &one, GEO_RANK_TRACKS, s->fit->cost + UNSEEN, NULL, s->fit);
	return isfinite(s->fit->cost) || geo_has_thought_enough(s->g);
}

/*
 * How much less likely accesses are if the arm takes as long over eight tracks as over one: as where tracks lie over
 * each other in some order that nobody has thought of. One surface is reported by what is against that.
 */
static double rise_speaks(const struct geo_search *s, const struct geo_hypothesis *one)
{
	cleanup_free struct geo_access *flat = xcalloc(s->nmade + 1, sizeof(*flat));
	struct geo_law law;

	for (size_t i = 0; i < s->nmade; i++) {
		flat[i] = one->seen[i];
		flat[i].cylinders = flat[i].cylinders > RISEN ? flat[i].cylinders - RISEN + 1 : 1;
	}
	law = geo_law_of(flat, s->nmade);
	return geo_law_cost(flat, s->nmade, &law, one->law.scale) -
	       geo_law_cost(one->seen, s->nmade, &one->law, one->law.scale);
}

/* What all have in common that are left, that far: the log evidence against others. */
struct common {
	double surfaces, layout; /* infinite: nothing is evidence for another one */
};

static struct common common_of(const struct geo_search *s)
{
	struct common c = { INFINITY, INFINITY };

	for (size_t i = 1; i < s->n; i++) {
		double behind = fabs(s->h[i].cost - s->h[0].cost);

		if (s->h[i].shape.heads != s->h[0].shape.heads)
			c.surfaces = fmin(c.surfaces, behind);
		if (!geo_is_same_layout(&s->h[0].shape, &s->h[i].shape) &&
		    !(s->looks >= TURN_LOOKS && geo_is_turned(&s->h[0].shape, &s->h[i].shape)))
			c.layout = fmin(c.layout, behind);
	}
	if (s->h[0].shape.heads == 1)
		c.surfaces = fmin(c.surfaces, rise_speaks(s, &s->h[0]));
	return c;
}

static void put_first(struct geo_search *s, size_t i)
{
	const struct geo_hypothesis best = s->h[0];

	s->h[0] = s->h[i];
	s->h[i] = best;
}

/* Of the same layout, as the sequence has it and as tracks are counted, it is the first that is reported. */
static void prefer_read(struct geo_search *s)
{
	for (size_t i = 1; i < s->left && s->h[0].is_counted; i++)
		if (!s->h[i].is_counted && geo_is_same_layout(&s->h[0].shape, &s->h[i].shape))
			put_first(s, i);
}

/* Where nothing shows whether heads alternate, it is reported as if they did not. */
static void prefer_plain_order(struct geo_search *s)
{
	for (size_t i = 1; i < s->left && s->h[0].shape.is_alternate; i++)
		if (geo_is_turned(&s->h[0].shape, &s->h[i].shape) && s->h[i].dear <= s->h[0].dear + 1.0)
			put_first(s, i);
}

/* Have accesses spoken against the layout that differs only in whether heads alternate? */
static bool is_turning_said(const struct geo_search *s)
{
	for (size_t i = 1; i < s->left; i++)
		if (geo_is_turned(&s->h[0].shape, &s->h[i].shape))
			return false;
	return s->h[0].was_turned;
}

/* ret->fit: all that was walked, as the best layout reads it. */
static void decide(struct geo_search *s, bool are_several_arms, struct geo_layout *ret)
{
	const struct geo_hypothesis *best = &s->h[0];
	const struct geo_shape *shape = &best->shape;
	bool is_one = shape->heads == 1;
	struct common c = common_of(s);
	bool unordered, likely, unseen = are_bands_unseen(s);
	double least;

	geo_read_first(s, best);
	unordered = s->fit->cost > ODD_LIKELIER + UNORDERED * (double)geo_order_changes(s->o, GEO_RANK_TRACKS);
	likely = unordered || c.surfaces <= GEO_SPEAKS;
	least = !is_one ? LIKELY : unordered ? GEO_SPEAKS : LIKELY_ONE;
	if (!geo_fits(s, best) || (best->is_counted && shape->heads > 1)) {
		say_unknown(s, both, "sizes and skews repeat, but no known layout fits the access times");
	} else if (shape->heads > 1 && shape->band > 1 && !comes_again(s->fit, shape)) {
		say_unknown(s, both, "no band of tracks was seen to come again");
	} else if (unordered && shape->heads > 1 && shape->band == 0) {
		say_unknown(s, both, "sizes and skews are irregular, and any order looks like zones of one band");
	} else if (unseen && shape->band <= GEO_HEADS) {
		say_unknown(s, both, "neither sizes nor skews show where a band ends");
	} else if (c.surfaces <= least || (likely && !geo_fits_closely(s, best))) {
		say_unknown(s, both, "several layouts fit sizes, skews and access times");
	} else if ((c.layout <= LIKELY && !is_one) || unseen) {
		report_surfaces(s, are_several_arms, likely);
		say_unknown(s, "The layout", "several with as many surfaces fit sizes, skews and access times");
	} else {
		report_surfaces(s, are_several_arms, likely);
		geo_report_layout(s->g->ses->res, shape);
		report_confidence(s, likely || c.layout <= GEO_SPEAKS);
		ret->is_reported = !likely && c.layout > GEO_SPEAKS;
		ret->is_turning_said = ret->is_reported && is_turning_said(s);
	}
}

/* ---- the search ---- */

static void add(struct geo_search *s, const struct geo_shape *shape, double cost, double chance, bool is_counted)
{
	s->h[s->n] = (struct geo_hypothesis){ .shape = *shape,
		                              .seen = s->made + s->n * GEO_MADE_MOST,
		                              .dear = cost,
		                              .turned = chance,
		                              .is_counted = is_counted };
	for (size_t i = 0; i < s->n; i++)
		if (geo_is_turned(shape, &s->h[i].shape) && shape->heads > 1)
			s->h[i].was_turned = s->h[s->n].was_turned = true;
	s->n++;
}

/* How much less likely one surface is as runs of equal tracks hold more than those before: its zones hold less and less
 * inwards. */
static double grows(const struct geo_order *o)
{
	uint64_t last = UINT64_MAX;
	double sum = 0.0;

	for (size_t i = 0; i < o->n && o->seg[i].track < GEO_RANK_TRACKS; i++) {
		const struct geo_seg *seg = &o->seg[i];

		if (seg->is_odd || seg->has_gap || seg->tracks < GEO_LONG_RUN)
			continue;
		sum += seg->size > last ? GROWS : 0.0;
		last = seg->size;
	}
	return sum;
}

/*
 * Layouts that explain the sequence; and tracks side by side, or over each other as they are counted, whatever it says:
 * of one surface it says so little that others may be left out for having been disturbed.
 */
static void find_hypotheses(struct geo_search *s)
{
	static const struct geo_shape one = { .heads = 1, .band = 1 };
	struct geo_shape shape[GEO_SHAPES_MAX];
	double cost[GEO_SHAPES_MAX], chance[GEO_SHAPES_MAX], least = INFINITY;
	size_t n = geo_shapes(s->g, s->o, shape, cost, chance);

	s->made = xcalloc((size_t)GEO_ASKED_MAX * GEO_MADE_MOST, sizeof(*s->made));
	for (size_t i = 0; i < n; i++) {
		uint64_t band = shape[i].band;

		if (band == 0) { /* zones are one band, but not where by its own reading they are longer */
			geo_order_fit(s->o, &shape[i], GEO_RANK_TRACKS, INFINITY, NULL, s->fit);
			band = s->fit->n && geo_band_behind(s->fit) == 0 ? geo_longest_zone(s->fit)->cylinders
			                                                 : UINT64_MAX;
		}
		if (shape[i].heads > 1 && band <= BAND_MOST)
			add(s, &shape[i], cost[i], chance[i], false);
		least = fmin(least, cost[i]);
	}
	s->dear = least + GEO_SPEAKS * ODD_LIKELIER;
	geo_order_fit(s->o, &one, GEO_RANK_TRACKS, s->dear, NULL, s->fit);
	if (geo_has_thought_enough(s->g)) /* then it is not known what one surface costs */
		s->fit->cost = least;
	for (uint32_t heads = 1; n && heads <= GEO_HEADS; heads++)
		add(s, &(struct geo_shape){ .heads = heads, .band = 1 }, s->fit->cost, 0.0, true);
	for (size_t i = 0; i < s->n; i++)
		s->h[i].dear = fmin(GEO_SPEAKS, (s->h[i].dear - least) / ODD_LIKELIER) +
		               (s->h[i].shape.heads == 1 ? grows(s->o) : 0.0);
	s->left = s->n;
}

/* One look: accesses in one place, and what they say. */
static int look(struct geo_search *s, struct err *err)
{
	bool is_one = s->looks && s->h[0].shape.heads == 1;
	double says = INFINITY;
	int r;

	s->npairs = 0;
	s->most_pairs = s->looks ? MORE_PAIRS : FIRST_PAIRS;
	geo_read_first(s, &s->h[0]);
	if (s->looks == 0)
		geo_choose_stretch(s, s->fit);
	else if (s->looks == 1)
		geo_choose_other_stretch(s, s->fit);
	else if (is_one && s->looks % 2)
		geo_choose_wide_pairs(s, s->fit);
	else
		geo_choose_rival_stretch(s, s->looks);
	if (s->looks)
		says = geo_choose_decisive_pairs(s);
	/* All looks that may be would not decide: of a disk whose layouts nothing distinguishes. */
	if (!is_one && s->looks >= TURN_LOOKS &&
	    common_of(s).layout + says * (double)(LOOKS_MOST - s->looks) < LIKELY) {
		s->looks = LOOKS_MOST;
		return 0;
	}
	geo_choose_pairs(s, s->looks > 1 || geo_kept_has_below(&s->g->kept));
	r = geo_measure_pairs(s, s->looks ? GEO_CHECK_AT : GEO_LAYOUT_AT, GEO_CHECK_AT, err);
	if (r == 0 && !geo_is_over(s->g))
		geo_weigh(s);
	return r;
}

static bool is_decided(const struct geo_search *s)
{
	struct common c = s->n ? common_of(s) : (struct common){ 0.0, 0.0 };

	return s->looks >= LOOKS_LEAST && s->n && geo_fits(s, &s->h[0]) && fmin(c.layout, c.surfaces) > GEO_SPEAKS;
}

static int search(struct geo_search *s, struct geo_layout *ret, struct err *err)
{
	struct arm_ranges arms = { .n = 0 };
	double took = 0.0; /* the last look, of the budget */
	int r;

	geo_may_think(s->g, FIND_THOUGHTS);
	find_hypotheses(s);
	geo_may_think(s->g, LOOK_THOUGHTS);
	while (s->n && !geo_is_over(s->g) && s->looks < LOOKS_MOST && !is_decided(s) && !geo_has_thought_enough(s->g) &&
	       geo_done(s->g, 0.0) < fmin(GEO_CHECK_AT, LOOKS_END - took)) {
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
	geo_may_think(s->g, TELL_THOUGHTS);
	prefer_read(s);
	prefer_plain_order(s);
	ret->shape = s->h[0].shape;
	if (ret->shape.heads == 1) /* bands are nothing then, and zones may end anywhere */
		ret->shape.band = 1;
	ret->fit = xcalloc(1, sizeof(*ret->fit));
	session_progress(s->g->ses, "zones", geo_done(s->g, GEO_CHECK_AT), NULL);
	if (ret->shape.heads == 1 || !s->h[0].is_counted)
		geo_order_fit_whole(s->o, &ret->shape, ret->fit);
	ret->is_mended = s->h[0].is_shifted;
	ret->is_messy = ret->fit->cost > ODD_MOST + 3.0 * (double)ret->fit->n + ret->fit->left_cost;
	if (s->g->ses->devs[0].kind == DEVICE_DISK)
		r = arms_find(&s->g->t, &s->g->rot, &arms, err);
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
	struct geo_search *s = xcalloc(1, sizeof(*s));
	cleanup_free struct geo_fit *fit = xcalloc(1, sizeof(*fit));
	int r;

	*ret = (struct geo_layout){ .fit = NULL };
	s->g = g;
	s->o = o;
	s->fit = fit;
	r = search(s, ret, err);
	free(s->made);
	free(s);
	return r;
}
