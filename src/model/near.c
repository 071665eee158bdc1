/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/near.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define CELLS    32
#define NONSENSE 0.05 /* of the pairs, as in ahead.c */
#define SPREAD   0.06 /* of what the arm takes longer, that a pair may be off (a choice) */
#define ROUGH    3.0  /* times that in the first round, which knows one bend only */
#define HARDLY   18.0 /* in the logarithm: an order that is so much less likely is not looked at again (a choice) */
#define PARTS    6

/* How tracks follow each other: surfaces, and tracks of a band of each; 0: cylinder by cylinder. */
static const double surfaces[] = { 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 21 }, bands[] = { 0, 12, 40, 150, 600 };
/* What the arm takes longer, of what the curve says of farther moves: it bends there. */
static const double bends[] = { 0.8, 0.87, 0.94, 1.01, 1.08 };
#define ORDERS (ARRAY_LEN(surfaces) * ARRAY_LEN(bands) * ARRAY_LEN(bends))

/* Where the second place of a pair may lie, seen from the first. */
struct part {
	double share, more; /* more: the arm takes than to the next cylinder; negative: it need not move */
	bool is_other;      /* surface */
};

struct next {
	const struct near_pairs *pairs;
	double fitted, scale; /* what is believed of it before */
	double rise;          /* of the arm's time with the root of the cylinders, of one surface */
	double range;         /* in which what is nonsense lies */
	double spread;        /* of what the arm takes longer, that a pair may be off */
	double low, step, head_low, head_step;
	struct part part[NEAR_PAIRS][PARTS]; /* of each pair, by the order that is looked at */
	size_t nparts[NEAR_PAIRS];
	double post[CELLS];
	double head[NEAR_PAIRS][CELLS]; /* densities at the times of a change of heads */
	double order[ORDERS];           /* log posterior of each, but for a constant */
};

static double density(double off, double scale)
{
	return arrival_t4_density(off / scale) / scale;
}

static double more_at(double rise, double cylinders)
{
	return cylinders < 0.5 ? -1.0 : rise * (sqrt(fmax(cylinders, 1.0)) - 1.0);
}

static size_t by_cylinders(double heads, double rise, double tracks, struct part *ret)
{
	double whole = floor(tracks / heads), beyond = tracks / heads - whole;

	if (beyond < 1e-6) {
		ret[0] = (struct part){ 1.0, more_at(rise, whole), false };
		return 1;
	}
	ret[0] = (struct part){ 1.0 - beyond, more_at(rise, whole), true };
	ret[1] = (struct part){ 0.9 * beyond, more_at(rise, whole + 1.0), true };
	ret[2] = (struct part){ 0.1 * beyond, more_at(rise, whole + 1.0), false }; /* heads may alternate */
	return 3;
}

static size_t by_bands(double heads, double band, double rise, double tracks, struct part *ret)
{
	const double reach = fmin(tracks, band), middle = fmax(tracks / heads, reach / 2.0),
		     stays = tracks < band           ? 1.0 - tracks / band
	                     : tracks > heads * band ? 1.0 / heads
	                                             : 0.0;
	size_t n = 0;

	ret[n++] = (struct part){ stays, more_at(rise, tracks < band ? tracks : middle), false };
	for (double k = -0.375; k < 0.5; k += 0.25)
		ret[n++] = (struct part){ (1.0 - stays) / 4.0, more_at(rise, middle + k * reach), heads > 1.0 };
	return n;
}

static void take_order(struct next *f, size_t order)
{
	const double heads = surfaces[order / ARRAY_LEN(bends) / ARRAY_LEN(bands)],
		     band = bands[order / ARRAY_LEN(bends) % ARRAY_LEN(bands)],
		     rise = f->rise * bends[order % ARRAY_LEN(bends)] * sqrt(heads);

	for (size_t i = 0; i < f->pairs->n; i++) {
		const double tracks = (double)f->pairs->v[i].tracks;

		f->nparts[i] = band > 0.0 ? by_bands(heads, band, rise, tracks, f->part[i])
		                          : by_cylinders(heads, rise, tracks, f->part[i]);
	}
}

static double head_at(const struct next *f, size_t cell)
{
	return f->head_low + ((double)cell + 0.5) * f->head_step;
}

static void head_densities(struct next *f)
{
	for (size_t k = 0; k < CELLS; k++)
		for (size_t i = 0; i < f->pairs->n; i++)
			f->head[i][k] = density(f->pairs->v[i].ns - head_at(f, k),
			                        hypot(f->pairs->v[i].se, f->head_step / 3.0));
}

/* One pair, at all times of a change of heads: a part on another surface is there with the later of head and arm. */
static void pair_likely(const struct next *f, size_t i, double time, double *product)
{
	const struct near_pair *p = &f->pairs->v[i];
	const double variance = p->se * p->se + f->step * f->step / 9.0;
	double by_arm = 0.0, by_head = 0.0, turns[CELLS + 1] = { 0.0 }, ends[CELLS + 1] = { 0.0 };

	for (size_t j = 0; j < f->nparts[i]; j++) {
		const struct part *part = &f->part[i][j];
		const double more = part->more > 0.0 ? part->more : 0.0, arm = part->more < 0.0 ? 0.0 : time + more,
			     off = f->spread * more,
			     likely = part->share * density(p->ns - arm, sqrt(variance + off * off)),
			     from = (arm - f->head_low) / f->head_step + 0.5;
		const size_t cell = from <= 0.0 ? 0 : from >= CELLS ? CELLS : (size_t)from;

		by_arm += likely;
		if (!part->is_other)
			continue;
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
	double sum[CELLS] = { 0.0 }, product[CELLS];

	for (size_t k = 0; k < CELLS; k++)
		product[k] = 1.0;
	for (size_t i = 0; i < f->pairs->n; i++) {
		pair_likely(f, i, time, product);
		for (size_t k = 0; k < CELLS && (i % 16 == 15 || i + 1 == f->pairs->n); k++) {
			sum[k] += log(product[k]);
			product[k] = 1.0;
		}
	}
	return stats_log_sum(sum, CELLS);
}

/* The same order with the usual one of the bends. */
static size_t usual_bend(size_t order)
{
	return order - order % ARRAY_LEN(bends) + ARRAY_LEN(bends) / 2;
}

/* Which orders are looked at first: one surface has no bands. */
static bool is_first(size_t order)
{
	const size_t of = order / ARRAY_LEN(bends);

	return usual_bend(order) == order && (of == 0 || of >= ARRAY_LEN(bands));
}

static void posterior(struct next *f)
{
	double likely[CELLS][ORDERS], before[ORDERS], most = -INFINITY;

	for (size_t o = 0; o < ORDERS; o++) {
		before[o] = f->order[o];
		f->order[o] = -INFINITY;
		take_order(f, o);
		for (size_t j = 0; j < CELLS; j++) {
			const double time = f->low + ((double)j + 0.5) * f->step, z = (time - f->fitted) / f->scale;

			likely[j][o] = before[o] > -HARDLY ? log_likely(f, time) - 2.5 * log(1.0 + z * z / 4.0)
			                                   : -(double)INFINITY;
			f->order[o] = fmax(f->order[o], likely[j][o]);
		}
		most = fmax(most, f->order[o]);
	}
	for (size_t j = 0; j < CELLS; j++) {
		f->post[j] = 0.0;
		for (size_t o = 0; o < ORDERS; o++)
			f->post[j] += exp(likely[j][o] - most) * (usual_bend(o) == o ? 2.0 : 1.0);
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
	f->fitted = prior->fitted;
	f->scale = prior->scale;
	f->rise = prior->rise;
	for (size_t i = 0; i < pairs->n; i++) {
		low = fmin(low, pairs->v[i].ns - 4.0 * pairs->v[i].se);
		high = fmax(high, pairs->v[i].ns + 4.0 * pairs->v[i].se);
	}
	low = fmax(low, prior->least);
	f->head_low = low;
	f->head_step = (high - low) / CELLS;
	f->range = high - low;
	head_densities(f);
	for (size_t o = 0; o < ORDERS; o++)
		f->order[o] = is_first(o) ? 0.0 : -(double)INFINITY;
	for (int round = 0; round < 3; round++) {
		for (size_t o = 0; o < ORDERS && round == 1; o++)
			f->order[o] = f->order[usual_bend(o)];
		f->spread = round ? SPREAD : ROUGH * SPREAD;
		f->low = low;
		f->step = (high - low) / CELLS;
		posterior(f);
		low = fmax(quantile(f, 0.001) - 2.0 * f->step, f->head_low);
		high = quantile(f, 0.999) + 2.0 * f->step;
	}
	return (struct stats_estimate){ quantile(f, 0.5), { quantile(f, 0.025), quantile(f, 0.975) } };
}
