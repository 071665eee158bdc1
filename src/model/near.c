/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/near.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define CYLINDER_MOST 22 /* tracks of a cylinder: no drive has more surfaces */
#define CELLS         64
#define NONSENSE      0.05 /* of the pairs, as in ahead.c */
#define SPREAD        0.12 /* of what the arm takes longer, that a pair may be off (a choice) */

static const double shares[] = { 0.1, 0.5, 0.9 }; /* of the pairs, that lie on one surface */
/* How tracks follow each other: that many surfaces, and as many tracks to the next cylinder, or one. Steps by which the
 * arm's time over three tracks differs by less than a pair is known; below 1 the arm's time rises by less than the
 * curve says of far ones. */
static const struct order {
	double surfaces, tracks;
} orders[] = { { 0.5, 1 }, { 1, 1 },  { 1.5, 1 }, { 2, 1 }, { 3, 1 }, { 4, 1 }, { 6, 1 },
	       { 8, 1 },   { 12, 1 }, { 16, 1 },  { 2, 2 }, { 4, 4 }, { 8, 8 }, { 16, 16 } };

struct next {
	const struct near_pairs *pairs;
	double fitted, scale; /* what is believed of it before */
	double rise;          /* of the arm's time with the root of the cylinders, of one surface */
	double range;         /* in which what is nonsense lies */
	double low, step, head_low, head_step;
	double post[CELLS];
	double arm[ARRAY_LEN(orders)][NEAR_PAIRS]; /* densities at one time to the next cylinder */
	double head[CELLS][NEAR_PAIRS];            /* and at the times of a change of heads */
};

static double density(double off, double scale)
{
	return arrival_t4_density(off / scale) / scale;
}

/* Over more tracks than a cylinder holds the order may be another by then: the arm crosses one to that many cylinders.
 */
static double arm_density(const struct next *f, const struct near_pair *p, double time, const struct order *o)
{
	const double off = p->ns - time, se = hypot(p->se, f->step / 3.0);
	double more = f->rise * sqrt(o->surfaces) * (fmax(sqrt((double)p->tracks / o->tracks), 1.0) - 1.0);
	double by_order = density(off - more, hypot(se, SPREAD * more));

	if (p->tracks <= CYLINDER_MOST)
		return by_order;
	more = fmax(f->rise * sqrt(CYLINDER_MOST) * (sqrt((double)p->tracks) - 1.0), se);
	return (by_order + (arrival_t4_cdf(off / se) - arrival_t4_cdf((off - more) / se)) / more) / 2.0;
}

static void arm_densities(struct next *f, double time)
{
	for (size_t b = 0; b < ARRAY_LEN(orders); b++)
		for (size_t i = 0; i < f->pairs->n; i++)
			f->arm[b][i] = arm_density(f, &f->pairs->v[i], time, &orders[b]);
}

static double head_at(const struct next *f, size_t cell)
{
	return f->head_low + ((double)cell + 0.5) * f->head_step;
}

static void head_densities(struct next *f)
{
	for (size_t k = 0; k < CELLS; k++)
		for (size_t i = 0; i < f->pairs->n; i++)
			f->head[k][i] = density(f->pairs->v[i].ns - head_at(f, k),
			                        hypot(f->pairs->v[i].se, f->head_step / 3.0));
}

/* Of all pairs, as a logarithm. */
static double log_likely(const struct next *f, double time, size_t cell, double share, const double *arm)
{
	const bool is_quick = head_at(f, cell) < time;
	double sum = 0.0, product = 1.0;

	for (size_t i = 0; i < f->pairs->n; i++) {
		double other = is_quick && f->pairs->v[i].tracks > CYLINDER_MOST ? 0.0 : f->head[cell][i];

		product *= NONSENSE + (1.0 - NONSENSE) * f->range * (share * arm[i] + (1.0 - share) * other);
		if (i % 16 == 15) {
			sum += log(product);
			product = 1.0;
		}
	}
	return sum + log(product);
}

static void posterior(struct next *f)
{
	double log_post[CELLS], most = -INFINITY, all = 0.0;

	for (size_t j = 0; j < CELLS; j++) {
		double time = f->low + ((double)j + 0.5) * f->step, z = (time - f->fitted) / f->scale, sum = 0.0,
		       peak = -INFINITY;

		arm_densities(f, time);
		for (size_t n = 0; n < CELLS * ARRAY_LEN(orders) * ARRAY_LEN(shares); n++) {
			double one = log_likely(f, time, n % CELLS, shares[n / CELLS % ARRAY_LEN(shares)],
			                        f->arm[n / CELLS / ARRAY_LEN(shares)]);

			if (one > peak) {
				sum *= exp(peak - one);
				peak = one;
			}
			sum += exp(one - peak);
		}
		log_post[j] = peak + log(sum) - 2.5 * log(1.0 + z * z / 4.0);
		most = fmax(most, log_post[j]);
	}
	for (size_t j = 0; j < CELLS; j++)
		all += f->post[j] = exp(log_post[j] - most);
	for (size_t j = 0; j < CELLS; j++)
		f->post[j] /= all;
}

static double quantile(const struct next *f, double q)
{
	double sum = 0.0;
	size_t j = 0;

	while (j + 1 < CELLS && sum + f->post[j] < q)
		sum += f->post[j++];
	return f->low + f->step * ((double)j + (q - sum) / f->post[j]);
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
	for (int round = 0; round < 3; round++) {
		f->low = low;
		f->step = (high - low) / CELLS;
		posterior(f);
		low = fmax(quantile(f, 0.001) - 2.0 * f->step, f->head_low);
		high = quantile(f, 0.999) + 2.0 * f->step;
	}
	return (struct stats_estimate){ quantile(f, 0.5), { quantile(f, 0.025), quantile(f, 0.975) } };
}
