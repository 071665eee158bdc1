/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which hypotheses are weighed, and what sequences of zones drawn from them agree on: along.h. */
#include "model/along.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/without.h"
#include "base/xalloc.h"
#include "model/chain.h"
#include "stats/stats.h"

#define DRAWS      200
#define STEP_LEAST 2e-3 /* of a track of 500 sectors one more or less: a smaller step is not looked for */
#define ROUGH                                                                                                     \
	-5.0 /* log of the odds of rates that rise as well as fall, from which on surfaces may last from place to \
	         place (trial: drives whose surfaces differ) */

/* ---- which hypotheses ---- */

struct weighed {
	struct hypothesis v[APARTS * LASTS + ZONES * SHAPES + 3 * LASTS];
	size_t n;
};

static void weigh(struct chain *c, struct weighed *w, size_t zones, size_t shape, size_t apart, size_t lasts)
{
	struct hypothesis *h = &w->v[w->n];

	for (size_t i = 0; i < w->n; i++)
		if (w->v[i].zones == zones && w->v[i].shape == shape && w->v[i].apart == apart &&
		    w->v[i].lasts == lasts)
			return;
	*h = (struct hypothesis){ .zones = zones, .shape = shape, .apart = apart, .lasts = lasts };
	(void)chain_filter(c, h);
	w->n++;
}

static struct hypothesis best_of(const struct weighed *w)
{
	struct hypothesis best = w->v[0];

	for (size_t i = 1; i < w->n; i++)
		best = w->v[i].log_evidence > best.log_evidence ? w->v[i] : best;
	return best;
}

/* Log of the sum of their evidences. */
static double sum_of(const struct weighed *w)
{
	double most = best_of(w).log_evidence, sum = 0.0;

	for (size_t i = 0; i < w->n; i++)
		sum += exp(w->v[i].log_evidence - most);
	return most + log(sum);
}

/* One direction after the other, from the best hypothesis; those left out have almost no weight. */
static void weigh_all(struct chain *c, struct weighed *w, size_t lasts)
{
	struct hypothesis best;

	for (size_t a = 0; a < APARTS; a++)
		for (size_t t = 0; t < (a ? lasts : 1); t++)
			weigh(c, w, ZONES / 2, 0, a, t);
	best = best_of(w);
	for (size_t z = 0; z < ZONES; z += 2) /* those beside the best follow */
		weigh(c, w, z, SHAPES / 2, best.apart, best.lasts);
	best = best_of(w);
	for (size_t z = best.zones - (best.zones > 0); z < ZONES && z <= best.zones + 1; z++)
		for (size_t s = 0; s < SHAPES; s++)
			weigh(c, w, z, s, best.apart, best.lasts);
	best = best_of(w);
	for (size_t a = best.apart - (best.apart > 0); a < APARTS && a <= best.apart + 1; a++)
		for (size_t t = 0; t < (a ? lasts : 1); t++)
			weigh(c, w, best.zones, best.shape, a, t);
}

/* Log of the odds that levels go up as well as down. */
static double both_ways(struct chain *c, double log_down)
{
	struct weighed w = { .n = 0 };

	c->is_both_ways = true;
	for (size_t a = 0; a < APARTS; a += 2)
		weigh(c, &w, 0, 0, a, 0);
	c->is_both_ways = false;
	return sum_of(&w) - log((double)w.n) - log_down;
}

/* ---- what the draws have in common ---- */

struct draws {
	struct chain_draw v[DRAWS];
	size_t n;
};

static void draws_free(struct draws *d)
{
	for (size_t i = 0; d && i < DRAWS; i++) {
		free(d->v[i].edge);
		free(d->v[i].x);
	}
	free(d);
}

/* Draws each hypothesis by its weight. */
static void draw_all(struct chain *c, const struct weighed *w, struct draws *d, double *ret_apart)
{
	double all = sum_of(w), due = 0.5;
	struct rng rng;

	rng_init(&rng, 1, 0xa109);
	for (size_t i = 0; i < w->n; i++) {
		struct hypothesis h = w->v[i];
		double share = exp(h.log_evidence - all);

		/* What lasts says less: of places that hang together (Bartlett) these are as few. */
		*ret_apart += share * apart_of[h.apart] * sqrt((1.0 + lasts_of[h.lasts]) / (1.0 - lasts_of[h.lasts]));
		due += share * DRAWS;
		if (d->n < DRAWS && due >= (double)d->n + 1.0)
			(void)chain_filter(c, &h);
		for (; d->n < DRAWS && due >= (double)d->n + 1.0; d->n++) {
			struct chain_draw *one = &d->v[d->n];

			one->edge = xcalloc(c->ngroups, sizeof(*one->edge));
			one->x = xcalloc(c->ngroups, sizeof(*one->x));
			chain_draw(c, &rng, one);
		}
	}
}

/* An edge between two places lies behind the middle of one and before that of the other: of each most is in its zone.
 */
static double middle_of(const struct chain *c, size_t k)
{
	return 0.5 * (c->v[c->g[k].first].from + c->v[c->g[k].end - 1].end);
}

/* The narrowest stretch of gaps, in bytes, in which ALONG_SURE of the draws have an edge. */
static bool narrowest(const struct chain *c, const double *edges, double ndraws, size_t *ret_first, size_t *ret_last)
{
	double best = INFINITY, sum = 0.0;

	for (size_t a = 1, b = 1; b < c->ngroups; b++) {
		sum += edges[b];
		for (; sum >= ALONG_SURE * ndraws; sum -= edges[a++]) {
			double wide = middle_of(c, b) - middle_of(c, a - 1);

			if (edges[a] > 0.0 && wide < best) {
				best = wide;
				*ret_first = a;
				*ret_last = b;
			}
		}
	}
	return isfinite(best);
}

/* Takes one edge in [first, last] out of each draw that has one: all the same edge. Gives its place. Is it sure? */
static bool take_edge(const struct chain *c, struct draws *d, size_t first, size_t last, double *edges,
                      struct along_edge *ret)
{
	cleanup_free double *at = xcalloc(d->n + 1, sizeof(*at));
	size_t n = 0, low, high, mid;

	for (size_t i = 0; i < d->n; i++) {
		for (size_t k = 0; k < d->v[i].n; k++) {
			if (d->v[i].edge[k] < first || d->v[i].edge[k] > last)
				continue;
			at[n++] = (double)d->v[i].edge[k];
			edges[d->v[i].edge[k]]--;
			d->v[i].edge[k] = d->v[i].edge[--d->v[i].n];
			break;
		}
	}
	if (!n)
		return false;
	stats_sort(at, n);
	low = (size_t)at[(size_t)(0.025 * (double)n)];
	high = (size_t)at[(size_t)(0.975 * (double)(n - 1) + 0.5)];
	mid = (size_t)at[n / 2];
	*ret = (struct along_edge){ .at = 0.5 * (middle_of(c, mid - 1) + middle_of(c, mid)),
		                    .first = middle_of(c, low - 1),
		                    .end = middle_of(c, high) };
	return (double)n >= ALONG_SURE * (double)d->n;
}

static int by_at(const void *a, const void *b)
{
	const struct along_edge *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* The level from an edge to the next at end: that of the middle place, over all draws. */
static void fill_level(const struct chain *c, const struct draws *d, double end, struct along_edge *ret)
{
	double sum = 0.0, squares = 0.0, n = (double)d->n;
	size_t first = 0, places = 0;

	for (size_t k = 0; k < c->ngroups; k++) {
		const struct along_at *at = &c->v[c->g[k].first];

		if (at->end <= ret->at || at->from >= end)
			continue;
		first = places ? first : k;
		places++;
		ret->readings += c->g[k].end - c->g[k].first;
	}
	for (size_t i = 0; i < d->n; i++) {
		double y = -log(1.0 - (double)d->v[i].x[first + places / 2]);

		sum += y;
		squares += y * y;
	}
	ret->y = c->base + sum / n;
	ret->half = 1.96 * sqrt(fmax(squares / n - sum / n * (sum / n), 0.0));
}

static void edges_find(const struct chain *c, struct draws *d, double end, struct along *ret)
{
	cleanup_free double *edges = xcalloc(c->ngroups + 1, sizeof(*edges));
	double same = 0.0;
	size_t a = 0, b = 0;

	ret->v = xcalloc(c->ngroups + 1, sizeof(*ret->v));
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; k < d->v[i].n; k++)
			edges[d->v[i].edge[k]]++;
	ret->v[ret->n++] = (struct along_edge){ .at = c->v[0].from, .first = c->v[0].from, .end = c->v[0].from };
	while (ret->n <= c->ngroups && narrowest(c, edges, (double)d->n, &a, &b))
		if (take_edge(c, d, a, b, edges, &ret->v[ret->n]))
			ret->n++;
	qsort(ret->v, ret->n, sizeof(*ret->v), by_at);
	for (size_t i = 0; i < ret->n; i++)
		fill_level(c, d, i + 1 < ret->n ? ret->v[i + 1].at : end, &ret->v[i]);
	for (size_t i = 0; i < d->n; i++)
		same += d->v[i].zones == ret->n;
	ret->p_count = same / (double)d->n;
}

/* The smallest step between two places that one place's noise cannot hide (two deviations more than sure). */
static double least_step(const struct chain *c, double apart, double zones)
{
	double odds = ALONG_SURE / (1.0 - ALONG_SURE) * (double)c->ngroups / zones;
	cleanup_free double *work = xcalloc(c->ngroups, sizeof(*work));

	for (size_t k = 0; k < c->ngroups; k++) {
		double sum = 0.0;

		for (size_t i = c->g[k].first; i < c->g[k].end; i++)
			sum += (1.0 - c->x[i]) * (1.0 - c->x[i]) / (c->sd[i] * c->sd[i]);
		work[k] = sqrt(1.0 / sum + apart * apart);
	}
	return fmax(STEP_LEAST, M_SQRT2 * stats_median(work, c->ngroups) * (sqrt(2.0 * log(fmax(odds, 1.0))) + 2.0));
}

void along_zones(const struct along_at *v, size_t n, double end, struct along *ret)
{
	struct chain c;
	struct weighed w = { .n = 0 };
	struct draws *d;
	double apart = 0.0;

	*ret = (struct along){ 0 };
	if (!n)
		return;
	chain_make(v, n, end, &c);
	weigh_all(&c, &w, 1);
	if (!WITHOUT("lasting-surfaces") &&
	    both_ways(&c, sum_of(&w) - log((double)(ZONES * SHAPES * APARTS))) > ROUGH) {
		w.n = 0;
		weigh_all(&c, &w, LASTS);
	}
	d = xcalloc(1, sizeof(*d));
	draw_all(&c, &w, d, &apart);
	edges_find(&c, d, end, ret);
	ret->mean_var = apart * apart / (double)c.ngroups;
	ret->least_step = least_step(&c, apart, zones_of[best_of(&w).zones]);
	draws_free(d);
	chain_done(&c);
}
