/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which layouts can be true by the sequence of tracks: all shapes that its runs suggest are held against the first
 * tracks (reading.c), and those that explain them at about the least cost against more. Accesses decide between these
 * (search.c).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/layout.h"

#define LENGTHS   8                     /* most frequent runs of equal tracks that bands are guessed from */
#define BANDS_MAX (LENGTHS * GEO_HEADS) /* all these and their parts */
/* Of equal tracks: a band of many surfaces and whether it comes again, however long its runs are; */
#define FEW_RUNS 48
/* What else is odd of a sequence costs false layouts at times less than the true one. */
#define DEARER 1.2

struct ranking {
	struct geo *g;
	struct geo_order *o;
	struct geo_candidate *c; /* GEO_READINGS */
	size_t n;
	double one; /* what one surface costs: what costs as much explains nothing that it does not */
	struct geo_fit *fit;
};

/* The most frequent ones of length[0..n), at most `most`, as ret. How many; length[] is put in order. */
static size_t most_frequent(uint64_t *length, size_t n, uint64_t *ret, size_t most)
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
		ret[found++] = length[at];
		memmove(length + at, length + at + often, (n - at - often) * sizeof(length[0]));
		n -= often;
	}
	return found;
}

/* Lengths of bands that runs of equal tracks suggest. */
static size_t guess_bands(struct ranking *s, uint64_t *ret)
{
	uint64_t length[2 * 512], best[LENGTHS];
	size_t n = geo_order_lengths(s->o, length, ARRAY_LEN(length) / 2), nbest, m = 0;

	for (size_t i = n; i-- > 0;) /* the last track of a band is followed by something else */
		length[n++] = length[i] + 1;
	nbest = most_frequent(length, n, best, LENGTHS);
	for (size_t i = 0; i < nbest; i++)
		for (uint64_t k = 1; k <= GEO_HEADS; k++) {
			bool is_known = best[i] % k != 0 || best[i] / k < 2 || best[i] > GEO_BAND_MOST;

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
	return fmin(s->one, best * DEARER + GEO_SURE);
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

/* Is not a zone longer than a band? */
static bool is_one_band(const struct geo_fit *fit, uint64_t band)
{
	for (size_t i = 0; i < fit->n; i++)
		if (fit->zone[i].cylinders > band)
			return false;
	return true;
}

static void add_candidate(struct ranking *s, const struct geo_candidate *c)
{
	if (s->n == GEO_READINGS)
		forget_dear_ones(s);
	if (s->n < GEO_READINGS)
		s->c[s->n++] = *c;
}

/* The cost of a shape over that many tracks, up to a limit; of one that is charged for a whole band of more, that part
 * of it. */
static void rank(struct ranking *s, struct geo_candidate *c, uint64_t tracks, double most)
{
	uint64_t turn = c->shape.heads * c->shape.band, read = turn < s->o->tracks ? turn : s->o->tracks;
	double more = read > tracks ? (double)read / (double)tracks : 1.0;

	geo_order_fit(s->o, &c->shape, tracks, most * more, NULL, s->fit);
	c->cost = s->fit->cost / more;
	c->is_one_band = c->shape.band > 1 && is_one_band(s->fit, c->shape.band);
}

static int compare_cost(const void *x, const void *y)
{
	const struct geo_candidate *a = x, *b = y;

	if (a->cost == b->cost)
		return (a->rank > b->rank) - (a->rank < b->rank);
	return (a->cost > b->cost) - (a->cost < b->cost);
}

/* Head-first with all numbers of heads first, then bands, the likely lengths before others. */
static void list_shapes(struct ranking *s, struct geo_candidate *all, size_t *n)
{
	uint64_t band[BANDS_MAX + 2] = { 1, 0 };
	size_t nbands = guess_bands(s, band + 2) + 2;

	for (size_t i = 0; i < nbands; i++)
		for (uint32_t heads = 1; heads <= GEO_HEADS; heads++)
			for (int way = 0; way < (heads > 1 && band[i] ? 2 : 1); way++)
				if (heads > 1 || band[i]) {
					all[*n] = (struct geo_candidate){
						.shape = { .heads = heads, .band = band[i], .is_alternate = way }
					};
					all[*n].rank = *n;
					++*n;
				}
}

/* Tracks of a first look. */
static uint64_t few_tracks(struct geo_order *o, uint64_t most)
{
	uint64_t few = GEO_SOME_TRACKS, runs = 0;

	for (size_t i = 0; runs < FEW_RUNS && (i = geo_next_end(o, i, true, &few)) < o->n; i++)
		runs++;
	few = runs < FEW_RUNS ? most : few < GEO_SOME_TRACKS ? GEO_SOME_TRACKS : few;
	return few < most ? few : most;
}

/* The same; what behind the first tracks has lost the order explains nothing there, at the price `lost`. */
static void rank_on(struct ranking *s, struct geo_candidate *c, uint64_t tracks, double lost)
{
	struct geo_candidate on = *c;

	rank(s, &on, tracks, limit(s));
	c->cost += lost;
	if (!(c->cost < on.cost))
		*c = on;
}

/* Those of all[0..n) that do well over that many tracks, the best first, and s->c; how many. is_last: what is reported
 * must be more than that. */
static size_t look(struct ranking *s, struct geo_candidate *all, size_t n, uint64_t tracks, double lost, bool is_last)
{
	size_t m = 0;

	s->n = 0;
	s->one = INFINITY;
	for (size_t i = 0; i < n && !geo_has_thought_enough(s->g); i++) {
		bool is_one = all[i].shape.heads == 1 && all[i].shape.band == 1;

		session_progress(s->g->ses, "layouts", geo_done(s->g, GEO_LAYOUT_AT), "%zu of %zu, %zu left", i, n,
		                 s->n);
		rank_on(s, &all[i], tracks, lost);
		if (!isfinite(all[i].cost) || !(all[i].cost <= limit(s)) || (!is_one && all[i].cost == s->one) ||
		    (is_last && all[i].is_one_band))
			continue;
		s->one = is_one ? all[i].cost : s->one;
		all[m++] = all[i];
		add_candidate(s, &all[i]);
	}
	qsort(all, m, sizeof(*all), compare_cost);
	return m;
}

/* All shapes over the first tracks, and those that do well there, the best first, over more. */
static void find_candidates(struct ranking *s)
{
	cleanup_free struct geo_candidate *all = xcalloc((BANDS_MAX + 2) * 2 * GEO_HEADS, sizeof(*all));
	uint64_t tracks = s->o->tracks < GEO_RANK_TRACKS ? s->o->tracks : GEO_RANK_TRACKS, few;
	size_t n = 0, changes;

	list_shapes(s, all, &n);
	few = few_tracks(s->o, tracks);
	changes = geo_order_changes(s->o, tracks) - geo_order_changes(s->o, few);
	geo_may_think_on(s->g);
	n = look(s, all, n, few, INFINITY, few == tracks);
	geo_may_think_on(s->g);
	if (few < tracks)
		(void)look(s, all, n < 6 * GEO_READINGS ? n : 6 * GEO_READINGS, tracks, GEO_UNORDERED * (double)changes,
		           true);
	forget_dear_ones(s);
	qsort(s->c, s->n, sizeof(s->c[0]), compare_cost);
}

size_t geo_shapes(struct geo *g, struct geo_order *o, struct geo_candidate *ret)
{
	cleanup_free struct geo_fit *fit = xcalloc(1, sizeof(*fit));
	struct ranking s = { .g = g, .o = o, .c = ret, .fit = fit };

	find_candidates(&s);
	return s.n;
}

void geo_report_layout(struct result *res, const struct geo_shape *shape)
{
	const char *way = shape->is_serpentine ? "serpentine" : "forward",
		   *heads = shape->is_alternate ? ", heads alternate" : "";
	char text[160];

	if (shape->heads == 1)
		(void)snprintf(text, sizeof(text), "track after track");
	else if (shape->band == 1)
		(void)snprintf(text, sizeof(text), "head-first%s", heads);
	else if (shape->band == 0)
		(void)snprintf(text, sizeof(text), "seek-first, a zone is one band, %s%s", way, heads);
	else
		(void)snprintf(text, sizeof(text), "seek-first in bands of %" PRIu64 " tracks, %s%s", shape->band, way,
		               heads);
	result_figure_text(res, "layout", "layout", text);
}

/* ---- a zone that is one band may be shorter than a band: the first that is longer shows where its first band ends
 * ---- */

const struct geo_fit_zone *geo_longest_zone(const struct geo_fit *fit)
{
	const struct geo_fit_zone *longest = NULL;

	for (size_t i = 0; i < fit->n; i++)
		if (!longest || fit->zone[i].tracks > longest->tracks)
			longest = &fit->zone[i];
	return longest;
}

/* The same sizes, as far as both are seen: of one surface alone it may be a zone that another one follows. */
static bool has_same_sizes(const struct geo_fit_zone *a, const struct geo_fit_zone *b)
{
	size_t seen = 0;

	for (size_t k = 0; k < GEO_HEADS; k++) {
		if (a->size[k] && b->size[k] && a->size[k] != b->size[k])
			return false;
		seen += a->size[k] && b->size[k];
	}
	return seen > 1;
}

uint64_t geo_band_behind(const struct geo_fit *fit)
{
	const struct geo_fit_zone *z = geo_longest_zone(fit);

	return z && z + 1 < fit->zone + fit->n && has_same_sizes(z, z + 1) ? z->cylinders : 0;
}

void geo_settle_band(struct geo *g, struct geo_order *o, struct geo_layout *l)
{
	struct geo_shape longer = l->shape;
	cleanup_free struct geo_fit *fit = NULL;

	if (l->shape.heads == 1 || l->shape.band)
		return;
	longer.band = geo_band_behind(l->fit);
	if (longer.band == 0 && o->end == g->sectors)
		return;
	fit = xcalloc(1, sizeof(*fit));
	if (longer.band)
		geo_order_fit_whole(o, &longer, fit);
	if (fit->n && fit->cost <= l->fit->cost) {
		l->shape = longer;
		*l->fit = *fit;
		geo_report_layout(g->ses->res, &l->shape);
		return;
	}
	l->is_reported = longer.band == 0; /* the zones that were read are as they are */
	result_figure_text(g->ses->res, "layout", "layout", NULL);
	result_notice(g->ses->res, "layout-unknown", "The layout cannot be determined: %s.",
	              longer.band ? "zones are longer than one band, and where bands end is not clear"
	                          : "no zone that was read is longer than one band, but others may be");
}
