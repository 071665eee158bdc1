/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forward filtering and backward sampling: chain.h. */
#include "model/chain.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "stats/stats.h"

/* Accuracy. */
#define LEVELS_MAX 500
#define CELLS_MAX  600000.0
#define GRID_PART  0.5   /* of a reading's noise, from one level to the next */
#define LEAST      1e-60 /* of a probability: numbers that are less yet take a processor a hundred times as long */
#define NEVER      1e-9  /* of a step so large */
#define FAR        6.0   /* deviations, from which on a reading is a stray */

const double zones_of[ZONES] = { 1, 2, 3, 4, 6, 9, 13, 19, 28, 41 };
const double apart_of[APARTS] = { 0, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 0.016, 0.032, 0.064 };
static const size_t shape_of[SHAPES] = { 1, 4, 12 };

/* ---- the grid ---- */

static void grid_make(struct chain *c, double *work)
{
	double low, high, sigma;

	memcpy(work, c->x, c->n * sizeof(*work));
	stats_sort(work, c->n);
	low = work[0];
	high = work[c->n - 1];
	c->fall = fmax(stats_quantile_sorted(work, c->n, 0.97) - stats_quantile_sorted(work, c->n, 0.03), 0.01);
	low = fmax(low, stats_quantile_sorted(work, c->n, 0.03) - 0.3 * c->fall);
	high = fmin(high, stats_quantile_sorted(work, c->n, 0.97) + 0.3 * c->fall);
	memcpy(work, c->sd, c->n * sizeof(*work));
	sigma = stats_median(work, c->n);
	c->nlevels = (size_t)fmin(LEVELS_MAX, CELLS_MAX / (double)c->ngroups);
	c->dx = fmax((high - low + 4.0 * sigma) / (double)(c->nlevels - 1), GRID_PART * sigma);
	c->x0 = low - 2.0 * sigma;
	c->nlevels = (size_t)ceil((high - low + 4.0 * sigma) / c->dx) + 1;
}

static double middle(const struct along_at *v)
{
	return 0.5 * (v->from + v->end);
}

/* Readings of one place are a group. */
static void groups_make(struct chain *c)
{
	for (size_t i = 0; i < c->n; i++) {
		bool is_same = i && c->v[i].place != SIZE_MAX && c->v[i].place == c->v[i - 1].place;

		if (!is_same || c->v[i].is_anew)
			c->g[c->ngroups++] = (struct group){ .first = i, .is_anew = c->v[i].is_anew };
		c->g[c->ngroups - 1].end = i + 1;
		if (c->g[c->ngroups - 1].first == i && i)
			c->g[c->ngroups - 1].gap = middle(&c->v[i]) - middle(&c->v[i - 1]);
	}
}

/* ---- the law of steps ---- */

/* in -> out: each moved down by a step of a gamma law, shape first-order filters one after the other. */
static void step_down(const struct chain *c, const double *in, double mean, size_t shape, double *out)
{
	double a = mean / (double)shape / c->dx, keep = a / (1.0 + a);
	size_t least = (size_t)ceil(STEP_LEAST / c->dx);

	for (size_t l = 0; l < c->nlevels; l++)
		out[l] = l >= least ? in[l - least] : 0.0;
	for (size_t k = 0; k < shape; k++) {
		double sum = 0.0;

		for (size_t l = 0; l < c->nlevels; l++)
			out[l] = sum = keep * sum + (1.0 - keep) * out[l];
	}
}

static double step_mean(const struct chain *c, const struct hypothesis *h)
{
	return fmax(c->fall / zones_of[h->zones] - STEP_LEAST, 0.5 * STEP_LEAST);
}

static void law_make(struct chain *c, const struct hypothesis *h)
{
	double zones = c->is_both_ways ? UP_ZONES : zones_of[h->zones];

	for (size_t k = 0; k < c->ngroups; k++) {
		double mean = c->g[k].gap / c->width * zones * PHASES, p = exp(-mean);

		for (size_t a = 0; a < EDGES * PHASES; a++, p *= mean / (double)a)
			c->advance[k][a] = p;
	}
	memset(c->kernel[2], 0, c->nlevels * sizeof(double));
	c->kernel[2][0] = 1.0;
	step_down(c, c->kernel[2], step_mean(c, h), shape_of[h->shape], c->kernel[1]);
	step_down(c, c->kernel[1], step_mean(c, h), shape_of[h->shape], c->kernel[2]);
	for (size_t e = 1; e < EDGES; e++)
		for (c->reach[e] = c->nlevels - 1; c->reach[e] && c->kernel[e][c->reach[e]] < NEVER;)
			c->reach[e]--;
}

/* ---- forward ---- */

/* Density of a group's readings by the level that they have in common; *ret_log: of its scale. */
static void read_group(const struct chain *c, const struct group *g, double *ret, double *ret_log)
{
	double most = -INFINITY, log_stray = log(STRAY / STRAY_WIDE);

	memset(ret, 0, c->nlevels * sizeof(*ret));
	for (size_t i = g->first; i < g->end; i++) {
		double sd = hypot(c->sd[i], c->dx / sqrt(12.0)), scale = (1.0 - STRAY) / sd / sqrt(2.0 * M_PI);

		for (size_t l = 0; l < c->nlevels; l++) {
			double z = (c->x[i] - c->x0 - (double)l * c->dx) / sd;

			ret[l] += fabs(z) > FAR ? log_stray : log(STRAY / STRAY_WIDE + scale * exp(-0.5 * z * z));
		}
	}
	for (size_t l = 0; l < c->nlevels; l++)
		most = fmax(most, ret[l]);
	for (size_t l = 0; l < c->nlevels; l++)
		ret[l] = exp(ret[l] - most);
	*ret_log = most;
}

/* Each level moved both ways, by an exponential law of this mean. */
static void move_both_ways(const struct chain *c, const double *in, double mean, double *out)
{
	double a = mean / c->dx, keep = a / (1.0 + a), sum = 0.0;

	for (size_t l = 0; l < c->nlevels; l++)
		out[l] = 0.5 * (sum = keep * sum + (1.0 - keep) * in[l]);
	sum = 0.0;
	for (size_t l = c->nlevels; l-- > 0;)
		out[l] += 0.5 * (sum = keep * sum + (1.0 - keep) * in[l]);
}

/* What groups say of the level of their zone, from which they lie apart: by the sum of two exponential laws, or
 * anywhere. */
static void emit_all(struct chain *c, size_t apart)
{
	double mean = apart_of[apart] / 2.0;

	if (c->apart == apart)
		return;
	c->apart = apart;
	for (size_t k = 0; k < c->ngroups; k++) {
		double *e = c->emit + k * c->nlevels, *work = c->moved, sum = 0.0;
		const double *own = c->own + k * c->nlevels;

		move_both_ways(c, own, mean, work);
		move_both_ways(c, work, mean, e);
		for (size_t l = 0; l < c->nlevels; l++)
			sum += own[l];
		for (size_t l = 0; l < c->nlevels; l++)
			e[l] = (1.0 - STRAY) * e[l] + STRAY * sum * c->dx / STRAY_WIDE;
	}
}

void chain_make(const struct along_at *v, size_t n, double end, struct chain *c)
{
	cleanup_free double *work = xcalloc(n, sizeof(*work));
	size_t cells;

	*c = (struct chain){ .v = v, .n = n, .width = end - v[0].from, .apart = APARTS };
	c->x = xcalloc(n, sizeof(*c->x));
	c->sd = xcalloc(n, sizeof(*c->sd));
	c->g = xcalloc(n, sizeof(*c->g));
	for (size_t i = 0; i < n; i++)
		work[i] = v[i].y;
	c->base = stats_median(work, n);
	for (size_t i = 0; i < n; i++) {
		double rate = exp(c->base - v[i].y);

		c->x[i] = 1.0 - rate;
		c->sd[i] = rate * fmax(v[i].sigma, SIGMA_MIN);
	}
	groups_make(c);
	grid_make(c, work);
	cells = c->ngroups * c->nlevels;
	c->work = xcalloc(2 * c->nlevels + c->ngroups, sizeof(*c->work));
	c->own = xcalloc(cells, sizeof(*c->own));
	c->emit = xcalloc(cells, sizeof(*c->emit));
	c->alpha = xcalloc(cells * PHASES, sizeof(*c->alpha));
	c->moved = xcalloc(cells * PHASES, sizeof(*c->moved));
	c->log_scale = xcalloc(c->ngroups, sizeof(*c->log_scale));
	c->advance = xcalloc(c->ngroups, sizeof(*c->advance));
	for (size_t e = 1; e < EDGES; e++)
		c->kernel[e] = xcalloc(c->nlevels, sizeof(*c->kernel[e]));
	for (size_t k = 0; k < c->ngroups; k++)
		read_group(c, &c->g[k], c->own + k * c->nlevels, &c->log_scale[k]);
}

void chain_done(struct chain *c)
{
	free(c->x);
	free(c->sd);
	free(c->g);
	free(c->work);
	free(c->own);
	free(c->emit);
	free(c->alpha);
	free(c->moved);
	free(c->log_scale);
	free(c->advance);
	for (size_t e = 0; e < EDGES; e++)
		free(c->kernel[e]);
}

static double *alpha_of(const struct chain *c, size_t k, size_t phase)
{
	return c->alpha + (k * PHASES + phase) * c->nlevels;
}

/* What of levels [first, end) of the group before k comes to a phase, with so many edges between. */
static void arriving(const struct chain *c, size_t k, size_t phase, size_t edges, size_t first, size_t end,
                     double *restrict ret)
{
	const double *before = alpha_of(c, k - 1, 0);
	double p[PHASES];

	for (size_t from = 0; from < PHASES; from++)
		p[from] = phase + edges * PHASES >= from ? c->advance[k][phase + edges * PHASES - from] : 0.0;
	_Static_assert(PHASES == 4, "as many terms");
	for (size_t l = first; l < end; l++)
		ret[l] = p[0] * before[l] + p[1] * before[l + c->nlevels] + p[2] * before[l + 2 * c->nlevels] +
		         p[3] * before[l + 3 * c->nlevels];
}

/* Prior of a group's level and phase, by what lies before it. work: room for a level each. */
static void predict(const struct chain *c, const struct hypothesis *h, size_t k, size_t phase, double *work)
{
	double *alpha = alpha_of(c, k, phase), *moved = c->moved + (alpha - c->alpha);

	if (!k || c->g[k].is_anew) {
		for (size_t l = 0; l < c->nlevels; l++) {
			alpha[l] = phase ? 0.0 : 1.0 / (double)c->nlevels;
			moved[l] = k ? alpha[l] : 0.0;
		}
		return;
	}
	if (c->is_both_ways) {
		arriving(c, k, phase, 1, 0, c->nlevels, alpha);
		move_both_ways(c, alpha, UP_STEP, moved);
	} else {
		arriving(c, k, phase, 2, 0, c->nlevels, alpha);
		step_down(c, alpha, step_mean(c, h), shape_of[h->shape], work);
		arriving(c, k, phase, 1, 0, c->nlevels, alpha);
		for (size_t l = 0; l < c->nlevels; l++)
			work[l] += alpha[l];
		step_down(c, work, step_mean(c, h), shape_of[h->shape], moved);
	}
	arriving(c, k, phase, 0, 0, c->nlevels, alpha);
	for (size_t l = 0; l < c->nlevels; l++)
		alpha[l] += moved[l];
}

/* Fills alpha and moved. */
double chain_filter(struct chain *c, struct hypothesis *h)
{
	double sum = 0.0;

	law_make(c, h);
	emit_all(c, h->apart);
	for (size_t k = 0; k < c->ngroups; k++) {
		double all = 0.0, *alpha = alpha_of(c, k, 0), *moved = c->moved + (alpha - c->alpha);

		for (size_t phase = 0; phase < PHASES; phase++)
			predict(c, h, k, phase, c->work);
		for (size_t i = 0; i < PHASES * c->nlevels; i++)
			all += alpha[i] *= c->emit[k * c->nlevels + i % c->nlevels];
		for (size_t i = 0; i < PHASES * c->nlevels; i++) {
			moved[i] *= c->emit[k * c->nlevels + i % c->nlevels] / all;
			alpha[i] = alpha[i] / all + LEAST;
		}
		sum += log(all) + c->log_scale[k];
	}
	return h->log_evidence = sum;
}

/* ---- backward ---- */

/* One of [first, end) by its weight a[l]; of those with some. */
static size_t draw_of(const double *a, size_t first, size_t end, struct rng *rng)
{
	double all = 0.0, at;
	size_t last = first;

	for (size_t l = first; l < end; l++)
		all += a[l];
	at = rng_double(rng) * all;
	for (size_t l = first; l < end; l++) {
		if (a[l] <= 0.0)
			continue;
		last = l;
		at -= a[l];
		if (at < 0.0)
			break;
	}
	return last;
}

/* How many edges lie before group k, if one does, and *ret_l: from which level they come to l. */
static size_t draw_edges(const struct chain *c, size_t k, size_t phase, size_t l, struct rng *rng, size_t *ret_l)
{
	double *from[EDGES] = { NULL, c->work, c->work + c->nlevels }, weight[EDGES] = { 0 };
	size_t first[EDGES], edges;

	for (size_t e = 1; e < EDGES; e++) {
		first[e] = l > c->reach[e] ? l - c->reach[e] : 0;
		arriving(c, k, phase, e, first[e], l + 1, from[e]);
		for (size_t i = first[e]; i <= l; i++)
			weight[e] += from[e][i] *= c->kernel[e][l - i];
	}
	edges = rng_double(rng) * (weight[1] + weight[2]) < weight[1] ? 1 : 2;
	*ret_l = draw_of(from[edges], first[edges], l + 1, rng);
	return edges;
}

/* The phase that group k - 1 has at level l, with so many edges between. */
static size_t draw_phase(const struct chain *c, size_t k, size_t phase, size_t edges, size_t l, struct rng *rng)
{
	double w[PHASES] = { 0 };

	for (size_t from = 0; from < PHASES; from++)
		if (phase + edges * PHASES >= from)
			w[from] = c->advance[k][phase + edges * PHASES - from] * alpha_of(c, k - 1, from)[l];
	return draw_of(w, 0, PHASES, rng);
}

void chain_draw(const struct chain *c, struct rng *rng, struct chain_draw *d)
{
	size_t l = draw_of(alpha_of(c, c->ngroups - 1, 0), 0, PHASES * c->nlevels, rng);
	size_t phase = l / c->nlevels;

	l %= c->nlevels;
	d->n = 0;
	d->zones = 1;
	for (size_t k = c->ngroups; k-- > 0;) {
		const double *alpha = alpha_of(c, k, phase), *moved = c->moved + (alpha - c->alpha);
		size_t edges = 0;

		d->x[k] = c->x0 + ((double)l + rng_double(rng) - 0.5) * c->dx;
		if (!k)
			break;
		if (c->g[k].is_anew) {
			l = draw_of(alpha_of(c, k - 1, 0), 0, PHASES * c->nlevels, rng);
			phase = l / c->nlevels;
			l %= c->nlevels;
			d->edge[d->n++] = k;
			d->zones++;
			continue;
		}
		if (rng_double(rng) * alpha[l] < moved[l]) {
			edges = draw_edges(c, k, phase, l, rng, &l);
			d->edge[d->n++] = k;
			d->zones += edges;
		}
		phase = draw_phase(c, k, phase, edges, l, rng);
	}
}
