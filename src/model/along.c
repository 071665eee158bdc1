/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which hypotheses are weighed, and what sequences of zones drawn from them agree on: along.h. */
#include "model/along.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "model/chain.h"
#include "stats/stats.h"

#define DRAWS  200
#define ROUNDS 2 /* of looking beside the best (a choice) */

/* ---- which hypotheses ---- */

struct weighed {
	struct hypothesis v[APARTS * LASTS + ZONES * SHAPES];
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

/* Neighbours of the best hypothesis: its zones with all shapes, then its surfaces. */
static void weigh_beside(struct chain *c, struct weighed *w)
{
	struct hypothesis best = best_of(w);

	for (size_t z = best.zones - (best.zones > 0); z < ZONES && z <= best.zones + 1; z++)
		for (size_t s = 0; s < SHAPES; s++)
			weigh(c, w, z, s, best.apart, best.lasts);
	best = best_of(w);
	for (size_t a = best.apart - (best.apart > 0); a < APARTS && a <= best.apart + 1; a++)
		for (size_t t = best.lasts - (best.lasts > 0); t < (a ? LASTS : 1) && t <= best.lasts + 1; t++)
			weigh(c, w, best.zones, best.shape, a, t);
}

/* One direction after the other, from the best hypothesis, surfaces first in every other step; those left out have
 * almost no weight. */
static void weigh_all(struct chain *c, struct weighed *w)
{
	struct hypothesis best;

	for (size_t a = 0; a < APARTS; a += 2)
		for (size_t t = 0; t < (a ? LASTS : 1); t += 2)
			weigh(c, w, ZONES / 2, 0, a, t);
	best = best_of(w);
	for (size_t z = 0; z < ZONES; z++)
		weigh(c, w, z, SHAPES / 2, best.apart, best.lasts);
	for (int round = 0; round < ROUNDS; round++)
		weigh_beside(c, w);
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

/* Variance of the mean of the disk by how far readings lie apart, which hang together as long as a surface lasts. */
static double mean_var(const struct chain *c, const struct hypothesis *h)
{
	double sum = 0.0, before = 0.0, last = 0.0;

	for (size_t k = 0; k < c->n; k++) {
		double weight = 0.5 * (c->g[k].gap + (k + 1 < c->n ? c->g[k + 1].gap : 0.0)) / c->width;

		before = chain_stays(c, h->lasts, k) * (before + last);
		sum += weight * (weight + 2.0 * before);
		last = weight;
	}
	return apart_of[h->apart] * apart_of[h->apart] * sum;
}

/* Draws each hypothesis by its weight. */
static void draw_all(struct chain *c, const struct weighed *w, struct draws *d, struct along *ret)
{
	double all = sum_of(w), due = 0.5;
	struct rng rng;

	rng_init(&rng, 1, 0xa109);
	for (size_t i = 0; i < w->n; i++) {
		struct hypothesis h = w->v[i];
		double share = exp(h.log_evidence - all);

		ret->apart += share * apart_of[h.apart];
		ret->mean_var += share * mean_var(c, &h);
		due += share * DRAWS;
		if (d->n < DRAWS && due >= (double)d->n + 1.0)
			(void)chain_filter(c, &h);
		for (; d->n < DRAWS && due >= (double)d->n + 1.0; d->n++) {
			struct chain_draw *one = &d->v[d->n];

			one->edge = xcalloc(c->n, sizeof(*one->edge));
			one->x = xcalloc(c->n, sizeof(*one->x));
			chain_draw(c, &rng, one);
		}
	}
}

static double gap_first(const struct chain *c, size_t k)
{
	return c->v[k - 1].end;
}

static double gap_end(const struct chain *c, size_t k)
{
	return c->v[k].from;
}

/* The narrowest stretch of gaps, in bytes, in which ALONG_SURE of the draws have an edge. */
static bool narrowest(const struct chain *c, const double *edges, double ndraws, size_t *ret_first, size_t *ret_last)
{
	double best = INFINITY, sum = 0.0;

	for (size_t a = 1, b = 1; b < c->n; b++) {
		sum += edges[b];
		for (; sum >= ALONG_SURE * ndraws; sum -= edges[a++]) {
			double wide = gap_end(c, b) - gap_first(c, a);

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
	/* Neighbours may overlap. */
	*ret = (struct along_edge){ .at = 0.5 * (gap_first(c, mid) + gap_end(c, mid)),
		                    .first = fmin(gap_first(c, low), gap_end(c, mid)),
		                    .end = fmax(gap_end(c, high), gap_first(c, mid)),
		                    .p = (double)n / (double)d->n };
	return ret->p >= ALONG_SURE;
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

	for (size_t k = 0; k < c->n; k++) {
		const struct along_at *at = &c->v[k];

		if (at->end <= ret->at || at->from >= end)
			continue;
		first = places ? first : k;
		places++;
		ret->readings++;
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
	cleanup_free double *edges = xcalloc(c->n + 1, sizeof(*edges));
	double same = 0.0;
	size_t a = 0, b = 0;

	ret->v = xcalloc(c->n + 1, sizeof(*ret->v));
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; k < d->v[i].n; k++)
			edges[d->v[i].edge[k]]++;
	ret->v[ret->n++] =
		(struct along_edge){ .at = c->v[0].from, .first = c->v[0].from, .end = c->v[0].from, .p = 1.0 };
	while (ret->n <= c->n && narrowest(c, edges, (double)d->n, &a, &b))
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
	double places = 1.0, odds;
	cleanup_free double *work = xcalloc(c->n, sizeof(*work));

	for (size_t k = 0; k < c->n; k++) {
		places += k && (c->v[k].place == SIZE_MAX || c->v[k].place != c->v[k - 1].place);
		work[k] = c->sd[k] * c->sd[k] / ((1.0 - c->x[k]) * (1.0 - c->x[k]));
	}
	odds = ALONG_SURE / (1.0 - ALONG_SURE) * places / zones;
	return fmax(STEP_LEAST, sqrt(2.0 * (stats_median(work, c->n) * places / (double)c->n + apart * apart)) *
	                                (sqrt(2.0 * log(fmax(odds, 1.0))) + 2.0));
}

void along_zones(const struct along_at *v, size_t n, double end, struct along *ret)
{
	struct chain c;
	struct weighed w = { .n = 0 };
	struct draws *d;

	*ret = (struct along){ 0 };
	if (!n)
		return;
	chain_make(v, n, end, &c);
	weigh_all(&c, &w);
	d = xcalloc(1, sizeof(*d));
	draw_all(&c, &w, d, ret);
	edges_find(&c, d, end, ret);
	ret->least_step = least_step(&c, ret->apart, zones_of[best_of(&w).zones]);
	draws_free(d);
	chain_done(&c);
}
