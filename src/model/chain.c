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
#define LEVELS_MAX 250 /* rates fall by a half at most: a level for each of the least steps */
#define CELLS_MAX  600000.0
#define GRID_PART  0.5    /* of a reading's noise, from one level to the next */
#define WHOLE      1e20f  /* all probabilities together: as numbers of few digits go from 1e-38 to 1e38 ... */
#define LEAST      1e-15f /* ... the least of them, for smaller products slow a processor by a hundred */
#define LEAST_OWN  1e-30f /* ... and of what a group's own readings say */
#define LEAST_TURN 1e-9   /* probability of a turn, below which it is none */
#define TWO_LEAST  1e-3   /* probability of two edges between neighbours, from which on they are looked for */
#define NEVER      1e-9f  /* of a step so large */
#define FAR        6.0    /* deviations, from which on a reading is a stray */

/* What most of the time goes into, made for processors with wide registers as well: the same sums in the same order, in
 * half the time. (Sanitizers have not begun when clones are chosen.) */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

const double zones_of[ZONES] = { 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 35, 42 };
const double apart_of[APARTS] = { 0, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 0.016, 0.032, 0.064 };
const double lasts_of[LASTS] = { 0, 0.5, 0.75, 0.9 };
static const size_t shape_of[SHAPES] = { 1, 4, 12, 40 };

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

/* in -> out, once or four times, one after the other: a first-order filter, whose answer is exponential. */
static inline void smooth(const lanes *in, size_t n, float keep, size_t times, lanes *out)
{
	const float part = 1.0f - keep, scale = times == 4 ? part * part * part * part : part;
	lanes a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };

	for (size_t l = 0; l < n; l++) {
		a = keep * a + in[l];
		if (times == 4) {
			b = keep * b + a;
			c = keep * c + b;
			d = keep * d + c;
		}
		out[l] = scale * (times == 4 ? d : a);
	}
}

/* in -> out: each moved down by a step of a gamma law. Where sizes differ by surface in each zone steps go up as well,
 * by a normal law of the same width: they are taken for none. */
CLONES static void step_down(const struct chain *c, const lanes *in, const struct hypothesis *h, lanes *out)
{
	size_t shape = shape_of[h->shape];
	double a = c->fall / zones_of[h->zones] / (double)shape / c->dx;
	float none = (float)(0.5 * erfc(sqrt(0.5 * (double)shape)));

	for (size_t k = 0; k < shape; k += 4)
		smooth(k ? out : in, c->nlevels, (float)(a / (1.0 + a)), shape == 1 ? 1 : 4, out);
	for (size_t l = 0; l < c->nlevels; l++)
		out[l] = (1.0f - none) * out[l] + none * in[l];
}

/* Which phase follows which, across this number of edges. */
static void turns_make(struct group *g, double mean)
{
	double p[EDGES * PHASES] = { exp(-mean) };

	for (size_t a = 1; a < EDGES * PHASES; a++)
		p[a] = p[a - 1] * mean / (double)a;
	for (size_t e = 0; e < EDGES; e++)
		for (size_t from = 0; from < PHASES; from++)
			for (size_t to = 0; to < PHASES; to++)
				g->turn[e][from][to] = to + e * PHASES >= from && p[to + e * PHASES - from] > LEAST_TURN
				                               ? (float)p[to + e * PHASES - from]
				                               : 0.0f;
	g->edges = p[PHASES + 1] < TWO_LEAST ? 1 : 2;
	if (g->edges < 2)
		memset(g->turn[2], 0, sizeof(g->turn[2]));
}

static void law_make(struct chain *c, const struct hypothesis *h)
{
	double zones = c->is_both_ways ? UP_ZONES : zones_of[h->zones];
	lanes *none = c->work, *one = none + c->nlevels, *two = one + c->nlevels;

	for (size_t k = 0; k < c->ngroups; k++) /* in a wide gap there are as many as are looked for */
		turns_make(&c->g[k], fmin(c->g[k].gap / c->width * zones, EDGES - 1) * PHASES);
	memset(none, 0, c->nlevels * sizeof(*none));
	none[0] = (lanes){ WHOLE };
	step_down(c, none, h, one);
	step_down(c, one, h, two);
	for (size_t l = 0; l < c->nlevels; l++) {
		c->kernel[1][l] = one[l][0] / WHOLE;
		c->kernel[2][l] = two[l][0] / WHOLE;
	}
	for (size_t e = 1; e < EDGES; e++)
		for (c->reach[e] = c->nlevels - 1; c->reach[e] && c->kernel[e][c->reach[e]] < NEVER;)
			c->reach[e]--;
}

/* ---- forward ---- */

/*
 * How readings of one place differ beyond noise, for on each surface a zone has another level: any of them is as likely
 * that of the zone. What is slower behind may be of an edge, what is faster is half of it. off: by distance, levels.
 */
static void find_off(const struct chain *c, double *off)
{
	double all = 1.0, sum = 0.0;

	for (size_t k = 0; k < c->ngroups; k++) {
		const struct group *g = &c->g[k];
		double others = (double)(g->end - g->first) - 1.0;

		all += others > 0.0 ? others + 1.0 : 0.0;
		for (size_t j = g->first + 1; j < g->end; j++)
			for (size_t i = g->first; i < j; i++) {
				double x = c->x[i] - c->x[j];
				size_t levels = (size_t)fmax(x / c->dx + 0.5, 0.0);

				if (x <= FAR * fmax(c->sd[i], c->sd[j]) || levels >= c->nlevels)
					continue;
				off[levels] += 2.0 / others;
				sum += 4.0 / others;
			}
	}
	off[0] = fmax(all - sum, 1.0);
	for (size_t l = 0; l < c->nlevels; l++)
		off[l] /= fmax(all, sum + 1.0);
}

/* Density of a group's readings by the level that they have in common, but for its scale. each: room for one reading's.
 */
static void read_group(struct chain *c, size_t k, const double *off, double *each, double *ret)
{
	double most = -INFINITY;
	const struct group *g = &c->g[k];
	lanes *own = c->own + k / PHASES * c->nlevels;

	memset(ret, 0, c->nlevels * sizeof(*ret));
	for (size_t i = g->first; i < g->end; i++) {
		double sd = hypot(c->sd[i], c->dx / sqrt(12.0)), scale = (1.0 - STRAY) / sd / sqrt(2.0 * M_PI);

		memset(each, 0, c->nlevels * sizeof(*each));
		for (size_t at = 0; at < c->nlevels; at++) { /* of the reading, where its zone is at l */
			double z = (c->x[i] - c->x0 - (double)at * c->dx) / sd, noise;

			if (fabs(z) > FAR)
				continue;
			noise = scale * exp(-0.5 * z * z);
			for (size_t l = 0; l < c->nlevels; l++)
				each[l] += off[at > l ? at - l : l - at] * noise;
		}
		for (size_t l = 0; l < c->nlevels; l++)
			ret[l] += log(STRAY / STRAY_WIDE + each[l]);
	}
	for (size_t l = 0; l < c->nlevels; l++)
		most = fmax(most, ret[l]);
	for (size_t l = 0; l < c->nlevels; l++)
		own[l][k % PHASES] = fmaxf((float)exp(ret[l] - most), LEAST_OWN);
	c->log_scale[k] = most;
}

/* Each level moved both ways, by an exponential law of this mean. */
CLONES static void move_both_ways(const struct chain *c, const lanes *in, double mean, lanes *out)
{
	float keep = (float)(mean / (mean + c->dx)), part = 0.5f * (1.0f - keep);
	const size_t n = c->nlevels;
	lanes sum = { 0 };

	for (size_t l = 0; l < n; l++) {
		sum = keep * sum + part * in[l];
		out[l] = sum;
	}
	sum = (lanes){ 0 };
	for (size_t l = n; l-- > 0;) {
		sum = keep * sum + part * in[l];
		out[l] += sum;
	}
}

/* The likelihood of each zone level by a group, which lies apart from it by the sum of two exponential laws, or
 * anywhere. A lane is a group here. */
static void emit_all(struct chain *c, size_t apart)
{
	double mean = apart_of[apart] / 2.0;

	if (c->apart == apart)
		return;
	c->apart = apart;
	for (size_t k = 0; k < c->ngroups; k += PHASES) {
		lanes *own = c->own + k / PHASES * c->nlevels, *emit = c->emit + k / PHASES * c->nlevels, sum = { 0 };

		for (size_t l = 0; l < c->nlevels; l++)
			sum += own[l];
		move_both_ways(c, own, mean, c->work);
		move_both_ways(c, c->work, mean, emit);
		for (size_t l = 0; l < c->nlevels; l++)
			emit[l] = (float)(1.0 - STRAY) * emit[l] + (float)(STRAY * c->dx / STRAY_WIDE) * sum;
	}
}

/* The likelihood of each group by the level of the one before, wherever that lies. */
static void same_all(struct chain *c)
{
	for (size_t k = 1; k < c->ngroups; k++) {
		const lanes *own = c->own + k / PHASES * c->nlevels, *last = c->own + (k - 1) / PHASES * c->nlevels;
		double both = 0.0, all = 0.0, sum = 0.0;

		for (size_t l = 0; l < c->nlevels; l++) {
			double x = (double)own[l][k % PHASES], before = (double)last[l][(k - 1) % PHASES];

			both += x * before;
			all += before;
			sum += x;
		}
		c->same[k] = (1.0 - STRAY) * both / all + STRAY * c->dx / STRAY_WIDE * sum;
	}
}

void chain_make(const struct along_at *v, size_t n, double end, struct chain *c)
{
	cleanup_free double *work = xcalloc(n + LEVELS_MAX, sizeof(*work));
	cleanup_free double *off = NULL, *each = NULL;
	size_t cells, quarters;

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
	quarters = (c->ngroups + PHASES - 1) / PHASES * c->nlevels;
	c->work = xcalloc(3 * c->nlevels, sizeof(*c->work));
	c->own = xcalloc(quarters, sizeof(*c->own));
	c->emit = xcalloc(quarters, sizeof(*c->emit));
	c->alpha = xcalloc(cells, sizeof(*c->alpha));
	c->moved = xcalloc(cells, sizeof(*c->moved));
	c->log_scale = xcalloc(c->ngroups, sizeof(*c->log_scale));
	c->same = xcalloc(c->ngroups, sizeof(*c->same));
	for (size_t e = 1; e < EDGES; e++)
		c->kernel[e] = xcalloc(c->nlevels, sizeof(*c->kernel[e]));
	off = xcalloc(c->nlevels, sizeof(*off));
	each = xcalloc(c->nlevels, sizeof(*each));
	find_off(c, off);
	for (size_t k = 0; k < c->ngroups; k++)
		read_group(c, k, off, each, work);
	same_all(c);
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
	free(c->same);
	for (size_t e = 0; e < EDGES; e++)
		free(c->kernel[e]);
}

static lanes *alpha_of(const struct chain *c, size_t k)
{
	return c->alpha + k * c->nlevels;
}

/* in -> out: the levels of the previous group, each phase moved to each. */
static void turn_phases(const lanes *turn, const lanes *in, size_t n, lanes *out)
{
	const lanes a = turn[0], b = turn[1], c = turn[2], d = turn[3];

	_Static_assert(PHASES == 4, "as many terms");
	for (size_t l = 0; l < n; l++)
		out[l] = in[l][0] * a + in[l][1] * b + in[l][2] * c + in[l][3] * d;
}

/* Prior of a group's levels and phases, by what lies before it, and the part that an edge lies before. */
CLONES static void predict(const struct chain *c, const struct hypothesis *h, size_t k, lanes *alpha, lanes *moved)
{
	const struct group *g = &c->g[k];
	const size_t n = c->nlevels;
	const lanes *before = alpha - n;
	lanes *work = c->work;

	if (!k || g->is_anew) {
		for (size_t l = 0; l < n; l++) {
			alpha[l] = (lanes){ WHOLE / (float)n };
			moved[l] = k ? alpha[l] : (lanes){ 0 };
		}
		return;
	}
	turn_phases(g->turn[1], before, n, work);
	if (!c->is_both_ways && g->edges > 1) {
		turn_phases(g->turn[2], before, n, alpha);
		step_down(c, alpha, h, moved);
		for (size_t l = 0; l < n; l++)
			work[l] += moved[l];
	}
	if (c->is_both_ways)
		move_both_ways(c, work, UP_STEP, moved);
	else
		step_down(c, work, h, moved);
	turn_phases(g->turn[0], before, n, alpha);
	for (size_t l = 0; l < n; l++)
		alpha[l] += moved[l];
}

/* Fills alpha and moved. */
CLONES double chain_filter(struct chain *c, struct hypothesis *h)
{
	const size_t n = c->nlevels;
	double sum = 0.0;

	law_make(c, h);
	emit_all(c, h->apart);
	for (size_t k = 0; k < c->ngroups; k++) {
		const lanes *emit = c->emit + k / PHASES * n;
		lanes *alpha = alpha_of(c, k), *moved = c->moved + k * n, all = { 0 };
		float scale, same = (float)c->same[k], stays = k && !c->g[k].is_anew ? (float)lasts_of[h->lasts] : 0.0f;

		predict(c, h, k, alpha, moved);
		for (size_t l = 0; l < n; l++) {
			float by_level = emit[l][k % PHASES];

			/* Behind an edge it lies anywhere in its zone, whatever the one before did. */
			alpha[l] = alpha[l] * ((1.0f - stays) * by_level + stays * same) +
			           moved[l] * stays * (by_level - same);
			moved[l] *= by_level;
			all += alpha[l];
		}
		scale = WHOLE / (all[0] + all[1] + all[2] + all[3]);
		for (size_t l = 0; l < n; l++) {
			alpha[l] = alpha[l] * scale + LEAST;
			moved[l] = moved[l] * scale + LEAST;
		}
		sum += c->log_scale[k] + log((double)(WHOLE / scale));
	}
	return h->log_evidence = sum;
}

/* ---- backward ---- */

/* One of [first, end) by its weight a[l]; of those with some. */
static size_t draw_of(const float *a, size_t first, size_t end, struct rng *rng)
{
	double all = 0.0, at;
	size_t last = first;

	for (size_t l = first; l < end; l++)
		all += (double)a[l];
	at = rng_double(rng) * all;
	for (size_t l = first; l < end; l++) {
		if (a[l] <= 0.0f)
			continue;
		last = l;
		at -= (double)a[l];
		if (at < 0.0)
			break;
	}
	return last;
}

/* How many edges lie before group k, given that one does, and *ret_l: the level before them. */
static size_t draw_edges(const struct chain *c, size_t k, size_t phase, size_t l, struct rng *rng, size_t *ret_l)
{
	const lanes *before = alpha_of(c, k - 1);
	float *from[EDGES] = { NULL, (float *)c->work, (float *)(c->work + c->nlevels) };
	double weight[EDGES] = { 0 };
	size_t first[EDGES] = { 0 }, edges;

	for (size_t e = 1; e <= c->g[k].edges; e++) {
		lanes part = { 0 };

		for (size_t i = 0; i < PHASES; i++)
			part[i] = c->g[k].turn[e][i][phase];
		first[e] = l > c->reach[e] ? l - c->reach[e] : 0;
		for (size_t i = first[e]; i <= l; i++) {
			lanes x = part * before[i];

			from[e][i] = (x[0] + x[1] + x[2] + x[3]) * c->kernel[e][l - i];
			weight[e] += (double)from[e][i];
		}
	}
	edges = rng_double(rng) * (weight[1] + weight[2]) < weight[1] ? 1 : 2;
	*ret_l = draw_of(from[edges], first[edges], l + 1, rng);
	return edges;
}

/* The phase of group k - 1 at level l, across this number of edges. */
static size_t draw_phase(const struct chain *c, size_t k, size_t phase, size_t edges, size_t l, struct rng *rng)
{
	float w[PHASES];

	for (size_t from = 0; from < PHASES; from++)
		w[from] = c->g[k].turn[edges][from][phase] * alpha_of(c, k - 1)[l][from];
	return draw_of(w, 0, PHASES, rng);
}

/* Level and phase of a group by what lies before it alone. */
static size_t draw_last(const struct chain *c, size_t k, struct rng *rng, size_t *ret_phase)
{
	size_t at = draw_of((const float *)alpha_of(c, k), 0, PHASES * c->nlevels, rng);

	*ret_phase = at % PHASES;
	return at / PHASES;
}

void chain_draw(const struct chain *c, struct rng *rng, struct chain_draw *d)
{
	size_t phase, l = draw_last(c, c->ngroups - 1, rng, &phase);

	d->n = 0;
	d->zones = 1;
	for (size_t k = c->ngroups; k-- > 0;) {
		size_t edges = 0;

		d->x[k] = (float)(c->x0 + ((double)l + rng_double(rng) - 0.5) * c->dx);
		if (!k)
			break;
		if (c->g[k].is_anew) {
			l = draw_last(c, k - 1, rng, &phase);
			d->edge[d->n++] = (uint32_t)k;
			d->zones++;
			continue;
		}
		if (rng_double(rng) * (double)alpha_of(c, k)[l][phase] < (double)c->moved[k * c->nlevels + l][phase]) {
			edges = draw_edges(c, k, phase, l, rng, &l);
			d->edge[d->n++] = (uint32_t)k;
			d->zones += edges;
		}
		phase = draw_phase(c, k, phase, edges, l, rng);
	}
}
