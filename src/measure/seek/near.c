/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What accesses over few tracks say: a row for each distance, and the time to the next cylinder. Of two places a few
 * tracks apart some lie on one surface, and the arm moves; some do not, and a change of heads takes longer than the
 * arm, or is all that happens. Which of the two takes longer is not known beforehand, nor how tracks follow each other.
 * So both times, how many of the accesses are which, and how the arm's grow with the distance are one posterior, for
 * which the curve is what is believed first. Arithmetic only: no device, no clock.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/seek/seek.h"

#define APART         3  /* tracks: nearer the places overlap, and the drive reads on from one into the other */
#define CYLINDER_MOST 22 /* tracks of a cylinder: no drive has more surfaces */
#define PAIRS_MOST    256
#define CELLS         64
#define NONSENSE      0.05 /* of the pairs, as in ahead.c */
#define SPREAD        0.12 /* of what the arm takes longer, that a pair may be off (a choice) */
#define BEGIN_OFF     0.05 /* of where the curve begins, that its law may be off there (a choice) */
#define MODEL_NS      10e3 /* no pair is better than the model, as of points */

struct near_row {
	uint64_t tracks, distance_bytes;
	double seek_ns, low, high, with_overhead_ns;
	uint64_t samples, hits;
};

const struct field seek_near_fields[] = {
	FIELD_U64(struct near_row, tracks, UNIT_COUNT, "tracks"),
	FIELD_U64(struct near_row, distance_bytes, UNIT_BYTES, "distance"),
	FIELD_F64(struct near_row, seek_ns, UNIT_NS, "seek"),
	FIELD_F64(struct near_row, low, UNIT_NS, "shortest"),
	FIELD_F64(struct near_row, high, UNIT_NS, "longest"),
	FIELD_F64(struct near_row, with_overhead_ns, UNIT_NS, "with overhead"),
	FIELD_U64(struct near_row, samples, UNIT_COUNT, "reads"),
	FIELD_U64(struct near_row, hits, UNIT_COUNT, "cache hits", .detail = true),
	FIELD_END,
};

/* What a pair of places says by itself. */
struct pair {
	uint64_t tracks;
	double ns, se;
};
struct pairs {
	struct pair v[PAIRS_MOST];
	size_t n;
};

static size_t add_pairs(const struct seek_run *s, const struct seek_point *p, struct pairs *to)
{
	const struct arrival_prior prior = { .scatter = isfinite(s->scatter_ns) ? s->scatter_ns : 0.0 };
	const size_t had = to->n;

	for (uint32_t g = 0; g < p->log.pairs && to->n < PAIRS_MOST; g++) {
		struct arrival_sample one[64];
		struct arrival a;
		size_t n = seek_samples(&p->log, g, one, ARRAY_LEN(one));

		if (n >= 5 && fit_arrival(one, n, s->rot.period_ns, &prior, &a) &&
		    interval_half(a.ci) < 0.02 * s->rot.period_ns && seek_is_after_overhead(s, &a))
			to->v[to->n++] =
				(struct pair){ p->tracks, a.median, hypot(interval_half(a.ci) / 1.96, MODEL_NS) };
	}
	return to->n - had;
}

/* The least may be nonsense. */
static double second_least(const struct pairs *p)
{
	double least = INFINITY, second = INFINITY;

	for (size_t i = 0; i < p->n; i++) {
		double high = p->v[i].ns + 2.0 * p->v[i].se;

		second = fmin(second, fmax(high, least));
		least = fmin(least, high);
	}
	return second;
}

/* ---- the next cylinder ---- */

static const double shares[] = { 0.1, 0.5, 0.9 }; /* of the pairs, that lie on one surface */
/* How tracks follow each other: so many surfaces, and as many tracks to the next cylinder, or one. */
static const struct order {
	double surfaces, tracks;
} orders[] = { { 1, 1 }, { 2, 1 }, { 4, 1 }, { 8, 1 }, { 16, 1 }, { 2, 2 }, { 4, 4 }, { 8, 8 }, { 16, 16 } };

struct next {
	const struct pairs *pairs;
	double fitted, scale; /* what is believed of it before */
	double rise;          /* of the arm's time with the root of the cylinders, of one surface */
	double range;         /* in which what is nonsense lies */
	double low, step, head_low, head_step;
	double post[CELLS];
	double arm[ARRAY_LEN(orders)][PAIRS_MOST]; /* densities at one time to the next cylinder */
	double head[CELLS][PAIRS_MOST];            /* and at the times of a change of heads */
};

static double density(double off, double scale)
{
	return arrival_t4_density(off / scale) / scale;
}

/* Over more tracks than a cylinder holds the order may be another by then: the arm crosses one to that many cylinders.
 */
static double arm_density(const struct next *f, const struct pair *p, double time, const struct order *o)
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

/* What is believed of it before: of writes, that of the reads and what they take more; else where the curve begins. */
static void believe_first(const struct seek_run *s, struct next *f)
{
	const struct arrival *reads = s->reads ? &s->reads->track : NULL;
	double half;

	if (reads && isfinite(reads->median) && isfinite(s->more_ns)) {
		f->fitted = reads->median + s->more_ns;
		half = hypot(interval_half(reads->ci), 1.96 * hypot(s->more_se, s->fit.rms));
	} else {
		f->fitted = seek_arrival(s, 3.0 * seek_track_bytes(s, 0.0) / (double)s->size_bytes);
		half = BEGIN_OFF * f->fitted + 0.1e6 + fmax(interval_half(s->fit_ci.a), 0.0) + 2.0 * s->fit.rms;
	}
	f->scale = fmin(half, s->rot.period_ns) / 2.776; /* Student's law with four degrees of freedom */
	f->rise = fmax(s->fit.b, 0.0) * sqrt(seek_track_bytes(s, 0.0) / (double)s->size_bytes);
}

static void next_cylinder(struct seek_run *s, const struct pairs *pairs)
{
	cleanup_free struct next *f = calloc(1, sizeof(*f));
	double low, high, off;

	if (!f || !s->has_fit)
		return;
	f->pairs = pairs;
	believe_first(s, f);
	low = f->fitted - 4.0 * f->scale;
	high = f->fitted + 4.0 * f->scale;
	f->head_low = INFINITY;
	for (size_t i = 0; i < pairs->n; i++) {
		low = fmin(low, pairs->v[i].ns - 4.0 * pairs->v[i].se);
		high = fmax(high, pairs->v[i].ns + 4.0 * pairs->v[i].se);
	}
	low = fmax(low, isfinite(s->overhead_ns) ? s->overhead_ci.low : 0.0);
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
	off = MODEL_NS + (isfinite(s->scatter_ns) ? s->scatter_ns / 3.0 : 0.0); /* that all may be off together */
	s->track = (struct arrival){ .median = quantile(f, 0.5),
		                     .ci = { quantile(f, 0.025) - off, quantile(f, 0.975) + off } };
}

void seek_tell_near(struct seek_run *s, struct seek_point *p, size_t n)
{
	struct table *t = s->is_writing ? result_table(s->res, "write_near", "Seek time of writes over few tracks",
	                                               seek_near_fields)
	                                : result_table(s->res, "near", "Seek time over few tracks", seek_near_fields);
	struct pairs pairs = { .n = 0 };
	size_t found[POINTS_MAX];

	for (size_t i = 0; i < n; i++)
		found[i] = p[i].log.pairs ? add_pairs(s, &p[i], &pairs) : 0;
	seek_bound_overhead(s, second_least(&pairs));
	for (size_t i = 0, from = 0; i < n; from += found[i++]) {
		double v[PAIRS_MOST];
		struct summary sum;
		struct near_row row = { .tracks = p[i].tracks };

		for (size_t k = 0; k < found[i]; k++)
			v[k] = pairs.v[from + k].ns;
		/* Where places overlap the drive may read on from one into the other: one pair alone is not believed.
		 */
		if (found[i] < (p[i].tracks < APART ? 2 : 1) || !summary_of(v, found[i], &sum))
			continue;
		row.distance_bytes = seek_distance(&p[i].log, &row.samples, &row.hits);
		row.with_overhead_ns = sum.median;
		row.seek_ns = sum.median - s->overhead_ns;
		row.low = sum.min - s->overhead_ns;
		row.high = sum.max - s->overhead_ns;
		result_row(t, &row);
	}
	while (pairs.n && pairs.v[0].tracks < APART)
		memmove(pairs.v, pairs.v + 1, --pairs.n * sizeof(pairs.v[0]));
	next_cylinder(s, &pairs);
}
