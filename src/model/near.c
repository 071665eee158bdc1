/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/near.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define CELLS    32
#define NONSENSE 0.05 /* of the pairs, as in ahead.c */
#define SPREAD   0.06 /* of what the arm takes longer, that a pair may be off (a choice) */
#define HARDLY   18.0 /* in the logarithm: an order that is so much less likely is not looked at again (a choice) */
#define PARTS    6

/* How tracks follow each other: surfaces, and tracks of a band of each; 0: cylinder by cylinder. */
static const double surfaces[] = { 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 21 }, bands[] = { 0, 12, 40, 150, 600 };
/* Of the distance, by which the arm's time grows: the root, where it accelerates evenly (Ruemmler and Wilkes 1994), as
 * likely as two others; less, down to where its jerk is what limits it; more, as it gets near its speed. */
static const struct {
	double power, prior;
} powers[] = { { 0.33, 1.0 }, { 0.42, 1.0 }, { 0.5, 2.0 }, { 0.6, 1.0 } };
#define ORDERS (ARRAY_LEN(surfaces) * ARRAY_LEN(bands) * ARRAY_LEN(powers))

/* Where the second place of a pair may lie, seen from the first. */
struct part {
	double share, way; /* way: the arm's time goes of that from the next cylinder to the far one; negative: it need
	                      not move */
	bool is_other;     /* surface */
};

struct next {
	const struct near_pairs *pairs;
	const struct near_prior *prior;
	double range; /* in which what is nonsense lies */
	double low, step;
	double head_at[CELLS], head_log[CELLS]; /* times of a change of heads, where pairs lie; how likely beforehand */
	struct part part[NEAR_PAIRS][PARTS];    /* of each pair, by the order that is looked at */
	size_t nparts[NEAR_PAIRS];
	double post[CELLS];
	double head[NEAR_PAIRS][CELLS]; /* densities at the times of a change of heads */
	double order[ORDERS];           /* log posterior of each, but for a constant */
};

static double density(double off, double scale)
{
	return arrival_t4_density(off / scale) / scale;
}

/* How the arm's time grows by an order. */
struct growth {
	double power, all; /* all: the way to where it is known */
};

static double way_to(const struct growth *g, double cylinders)
{
	return cylinders < 0.5 ? -1.0 : (pow(fmax(cylinders, 1.0), g->power) - 1.0) / g->all;
}

static size_t by_cylinders(double heads, const struct growth *g, double tracks, struct part *ret)
{
	double whole = floor(tracks / heads), beyond = tracks / heads - whole;

	if (beyond < 1e-6) {
		ret[0] = (struct part){ 1.0, way_to(g, whole), false };
		return 1;
	}
	ret[0] = (struct part){ 1.0 - beyond, way_to(g, whole), true };
	ret[1] = (struct part){ 0.9 * beyond, way_to(g, whole + 1.0), true };
	ret[2] = (struct part){ 0.1 * beyond, way_to(g, whole + 1.0), false }; /* heads may alternate */
	return 3;
}

static size_t by_bands(double heads, double band, const struct growth *g, double tracks, struct part *ret)
{
	const double reach = fmin(tracks, band), middle = fmax(tracks / heads, reach / 2.0),
		     stays = tracks < band           ? 1.0 - tracks / band
	                     : tracks > heads * band ? 1.0 / heads
	                                             : 0.0;
	size_t n = 0;

	ret[n++] = (struct part){ stays, way_to(g, tracks < band ? tracks : middle), false };
	for (double k = -0.375; k < 0.5; k += 0.25)
		ret[n++] = (struct part){ (1.0 - stays) / 4.0, way_to(g, middle + k * reach), heads > 1.0 };
	return n;
}

static void take_order(struct next *f, size_t order)
{
	const double heads = surfaces[order / ARRAY_LEN(powers) / ARRAY_LEN(bands)],
		     band = bands[order / ARRAY_LEN(powers) % ARRAY_LEN(bands)];
	const double power = powers[order % ARRAY_LEN(powers)].power;
	const struct growth g = { power, pow(fmax(f->prior->far_tracks / heads, 2.0), power) - 1.0 };

	for (size_t i = 0; i < f->pairs->n; i++) {
		const double tracks = (double)f->pairs->v[i].tracks;

		f->nparts[i] = band > 0.0 ? by_bands(heads, band, &g, tracks, f->part[i])
		                          : by_cylinders(heads, &g, tracks, f->part[i]);
	}
}

/* A change of heads takes any time, but what shows it lies where pairs do. */
static void head_densities(struct next *f)
{
	double v[NEAR_PAIRS];

	for (size_t i = 0; i < f->pairs->n; i++)
		v[i] = f->pairs->v[i].ns;
	stats_sort(v, f->pairs->n);
	for (size_t k = 0; k < CELLS; k++)
		f->head_at[k] =
			k ? stats_quantile_sorted(v, f->pairs->n, ((double)k - 0.5) / (CELLS - 1.0)) : f->prior->least;
	for (size_t k = 0; k < CELLS; k++)
		f->head_log[k] = log(fmax(f->head_at[k + 1 < CELLS ? k + 1 : k] - f->head_at[k ? k - 1 : k], 1.0));
	for (size_t k = 0; k < CELLS; k++)
		for (size_t i = 0; i < f->pairs->n; i++)
			f->head[i][k] = density(f->pairs->v[i].ns - f->head_at[k], f->pairs->v[i].se);
}

/* One pair, at all times of a change of heads: a part on another surface is there with the later of head and arm. */
static void pair_likely(const struct next *f, size_t i, double time, double *product)
{
	const struct near_pair *p = &f->pairs->v[i];
	const double variance = p->se * p->se + f->step * f->step / 9.0;
	double by_arm = 0.0, by_head = 0.0, turns[CELLS + 1] = { 0.0 }, ends[CELLS + 1] = { 0.0 };

	for (size_t j = 0; j < f->nparts[i]; j++) {
		const struct part *part = &f->part[i][j];
		const double more = fmax(part->way, 0.0) * fmax(f->prior->far - time, 0.0),
			     arm = part->way < 0.0 ? 0.0 : time + more, off = SPREAD * more,
			     likely = part->share * density(p->ns - arm, sqrt(variance + off * off));
		size_t cell = 0; /* the first change of heads that takes longer than the arm */

		by_arm += likely;
		if (!part->is_other)
			continue;
		while (cell < CELLS && f->head_at[cell] < arm)
			cell++;
		ends[cell] += likely;
		turns[cell] += part->share;
	}
	for (size_t k = 0; k < CELLS; k++) {
		by_arm -= ends[k];
		by_head += turns[k];
		product[k] *= NONSENSE + (1.0 - NONSENSE) * f->range * (by_arm + by_head * f->head[i][k]);
	}
}

/* Of all pairs, the time of a change of heads any: as a logarithm. */
static double log_likely(const struct next *f, double time)
{
	double sum[CELLS], product[CELLS];

	for (size_t k = 0; k < CELLS; k++) {
		sum[k] = f->head_log[k];
		product[k] = 1.0;
	}
	for (size_t i = 0; i < f->pairs->n; i++) {
		pair_likely(f, i, time, product);
		for (size_t k = 0; k < CELLS && (i % 16 == 15 || i + 1 == f->pairs->n); k++) {
			sum[k] += log(product[k]);
			product[k] = 1.0;
		}
	}
	return stats_log_sum(sum, CELLS);
}

static void posterior(struct next *f)
{
	double likely[CELLS][ORDERS], before[ORDERS], most = -INFINITY;

	for (size_t o = 0; o < ORDERS; o++) {
		before[o] = f->order[o];
		f->order[o] = -INFINITY;
		if (before[o] > -HARDLY)
			take_order(f, o);
		for (size_t j = 0; j < CELLS; j++) {
			const double time = f->low + ((double)j + 0.5) * f->step,
				     z = (time - f->prior->fitted) / f->prior->scale;

			likely[j][o] = before[o] > -HARDLY ? log_likely(f, time) - 2.5 * log(1.0 + z * z / 4.0)
			                                   : -(double)INFINITY;
			f->order[o] = fmax(f->order[o], likely[j][o]);
		}
		most = fmax(most, f->order[o]);
	}
	for (size_t j = 0; j < CELLS; j++) {
		f->post[j] = 0.0;
		for (size_t o = 0; o < ORDERS; o++)
			f->post[j] += exp(likely[j][o] - most) * powers[o % ARRAY_LEN(powers)].prior;
	}
	for (size_t o = 0; o < ORDERS; o++)
		f->order[o] -= most;
}

static double quantile(const struct next *f, double q)
{
	return f->low + f->step * stats_cell_of_share(f->post, CELLS, q);
}

struct stats_estimate near_next_cylinder(const struct near_pairs *pairs, const struct near_prior *prior)
{
	cleanup_free struct next *f = xcalloc(1, sizeof(*f));
	double low = prior->fitted - 4.0 * prior->scale, high = prior->fitted + 4.0 * prior->scale;

	f->pairs = pairs;
	f->prior = prior;
	for (size_t i = 0; i < pairs->n; i++) {
		low = fmin(low, pairs->v[i].ns - 4.0 * pairs->v[i].se);
		high = fmax(high, pairs->v[i].ns + 4.0 * pairs->v[i].se);
	}
	low = fmax(low, prior->least);
	f->range = high - low;
	head_densities(f);
	for (size_t o = ARRAY_LEN(powers); o < ARRAY_LEN(bands) * ARRAY_LEN(powers); o++)
		f->order[o] = -(double)INFINITY; /* one surface has no bands */
	for (int round = 0; round < 3; round++) {
		f->low = low;
		f->step = (high - low) / CELLS;
		posterior(f);
		low = fmax(quantile(f, 0.001) - 2.0 * f->step, prior->least);
		high = quantile(f, 0.999) + 2.0 * f->step;
	}
	return (struct stats_estimate){ quantile(f, 0.5), { quantile(f, 0.025), quantile(f, 0.975) } };
}
