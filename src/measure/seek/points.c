/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Points of the curve with intervals: of aimed accesses, a point for each distance; of random reads, those of like
 * distances moved to the middle of them along the curve as far as it is known. A hundred reads know a point as well as
 * a dozen aimed ones; but they are there anyway, also where a cache foils aims. Then the curve through the points
 * (model/curve.h), and its tables.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "measure/seek/analysis.h"

#define ROUNDS      2    /* of reads by a curve, and the curve from them: little changes then */
#define HITS_MOST   4    /* times the reads of the media: one in 50 hits comes late */
#define TREND_OFF   0.3  /* of what reads are moved by, the curve may be off by itself, as 95 % (a choice) */
#define BIN_READS   30   /* of a point: between the last in time and the first too late is 1/30 of a revolution */
#define BINS_LEAST  4    /* of fewer points no curve is reported */
#define MODEL_NS    30e3 /* no point is better than the model of two pieces, which need not meet (a choice) */
#define AIMED_MOST  24   /* accesses of one distance: it does not outweigh all reads (a choice) */
#define BINS_MOST   12   /* then each has more reads instead (a choice) */
#define NODES       3
#define COARSE_STEP 0.06 /* of a revolution */
#define COARSE_MOST 300  /* reads are enough for that */
#define LAST_STEPS  0.1  /* of the scatter: a step from which nothing is won any more */

void seek_point_fit(const struct seek_known *k, struct seek_point *p, const struct arrival_prior *prior, double most)
{
	struct arrival_sample sample[ARRAY_LEN(p->log.access)];
	size_t n = seek_log_samples(&p->log, -1, sample, ARRAY_LEN(sample));
	uint64_t reads, hits;

	(void)seek_distance(&p->log, &reads, &hits);
	p->is_known = p->log.pairs > 0 && hits <= HITS_MOST * reads &&
	              fit_arrival(sample, n, k->places.period_ns, prior, &p->fit) &&
	              interval_half(p->fit.ci) < most * k->places.period_ns && seek_is_after_overhead(k, &p->fit);
}

static struct arrival_missed count_missed(double period, const struct seek_point *p, size_t n)
{
	struct arrival_missed missed = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct arrival_sample sample[ARRAY_LEN(p->log.access)];

		if (p[i].is_known)
			arrival_count_missed(sample, seek_log_samples(&p[i].log, -1, sample, ARRAY_LEN(sample)), period,
			                     &p[i].fit, &missed);
	}
	return missed;
}

/* The scatter and the missed revolutions that all distances show are what is expected of each. */
struct seek_scatter seek_fit_aimed(const struct seek_known *k, struct seek_samples *m)
{
	struct seek_point *p = m->aimed;
	struct seek_scatter ret = { .ns = NAN, .ci = { NAN, NAN } };
	double scatter[CURVE_POINTS], low[CURVE_POINTS], high[CURVE_POINTS];

	for (int round = 0; round < 2; round++) {
		const struct arrival_prior prior = {
			.scatter = isfinite(ret.ns) ? ret.ns : 0.0,
			.missed = ret.missed.of ? (double)ret.missed.missed / (double)ret.missed.of : 0.0
		};
		size_t n = 0;

		for (size_t i = 0; i < m->naimed; i++) {
			seek_point_fit(k, &p[i], round ? &prior : NULL, SEEK_KNOWN);
			if (!p[i].is_known)
				continue;
			low[n] = p[i].fit.scatter_ci.low;
			high[n] = p[i].fit.scatter_ci.high;
			scatter[n++] = p[i].fit.scatter;
		}
		ret.missed = count_missed(k->places.period_ns, p, m->naimed);
		ret.ns = n ? stats_median(scatter, n) : (double)NAN;
		if (n) /* distances differ: the middle of their intervals is that of a middling distance */
			ret.ci = (struct interval){ stats_median(low, n), stats_median(high, n) };
	}
	return ret;
}

/* ---- the likeliest curve of reads ---- */

/*
 * What a random read should take, straight from the times of others, and of aimed accesses: the likeliest a + b sqrt(d)
 * + c d (stats/arrival.c says how likely a time is by it). That is not a seek curve to be reported, as it knows neither
 * its own error nor a knee; but it needs no points of thirty reads each, and a hundred reads know three numbers well.
 * The mean over the device, which it takes variance off, is right by any curve.
 */
struct reads_way {
	double root, ns; /* of the part of the stroke that the head went; until the sector began */
};

static const double node_root[NODES] = { 0.14, 0.5,
	                                 1.0 }; /* roots of distances, where the times are what is looked for */

struct judge {
	const struct reads_way *v;
	size_t n;
	double period, time[NODES];
};

/* Through the three times, a parabola of the root of the distance. */
static double time_at(const double *time, double root)
{
	const double *node = node_root, rise = (time[1] - time[0]) / (node[1] - node[0]),
		     next = (time[2] - time[1]) / (node[2] - node[1]);

	return time[0] + (root - node[0]) * (rise + (root - node[1]) * (next - rise) / (node[2] - node[0]));
}

/* Of the first n reads, by the times. */
static double likely(const struct judge *j, size_t n, double scatter)
{
	double sum = 0.0, product = 1.0;

	for (size_t i = 0; i < n; i++) {
		product *=
			arrival_likelihood(j->v[i].ns, time_at(j->time, j->v[i].root), scatter, j->period, SEEK_MISSED);
		if (i % 64 == 63) { /* nonsense to the 64th power is not zero */
			sum += log(product);
			product = 1.0;
		}
	}
	return sum + log(product);
}

/* The likeliest a + b sqrt(d), on a grid that a real curve lies within a twentieth of a revolution of: its times. */
static void coarse(struct judge *j)
{
	const double step = COARSE_STEP * j->period;
	double most = -INFINITY, best[NODES] = { 0.0 };

	for (int i = 0; i < 30; i++)
		for (int k = 0; k < 60; k++) {
			double sum;

			for (size_t m = 0; m < NODES; m++)
				j->time[m] = i * step + k * 1.5 * step * node_root[m];
			sum = likely(j, j->n < COARSE_MOST ? j->n : COARSE_MOST, step);
			if (sum <= most)
				continue;
			most = sum;
			memcpy(best, j->time, sizeof(best));
		}
	memcpy(j->time, best, sizeof(best));
}

/* From there always to what is likelier, by ever smaller steps. */
static double climb(struct judge *j, double scatter)
{
	double most = likely(j, j->n, scatter);

	for (double step = scatter; step > LAST_STEPS * scatter; step /= 2.0)
		for (bool better = true; better;) {
			better = false;
			for (size_t k = 0; k < 2 * NODES; k++) {
				double kept = j->time[k / 2], now;

				j->time[k / 2] += k & 1 ? step : -step;
				now = likely(j, j->n, scatter);
				if (now > most) {
					most = now;
					better = true;
				} else {
					j->time[k / 2] = kept;
				}
			}
		}
	return most;
}

/* The likeliest, by scatters as sharp as the times allow; which is the best of those. */
static void likeliest(struct judge *j, double *ret_scatter)
{
	static const double scatters[] = { 0.06, 0.03, 0.015, 0.008 }; /* of a revolution */
	double most = -INFINITY, time[NODES] = { 0.0 };

	for (size_t k = 0; k < ARRAY_LEN(scatters); k++) {
		double now = climb(j, scatters[k] * j->period);

		if (now <= most)
			continue;
		most = now;
		*ret_scatter = scatters[k] * j->period;
		memcpy(time, j->time, sizeof(time));
	}
	memcpy(j->time, time, sizeof(time));
}

/* The likeliest; from: a curve that is near it; NULL: none is known. */
static struct curve reads_curve(const struct reads_way *v, size_t n, double period, const struct curve *from)
{
	struct curve c = { .is_known = true };
	struct judge j = { .v = v, .n = n, .period = period };

	if (!from)
		coarse(&j);
	for (size_t m = 0; from && m < NODES; m++)
		j.time[m] = curve_at(from, node_root[m] * node_root[m]);
	likeliest(&j, &c.rms_ns);
	for (size_t i = 0; i < CURVE_CELLS; i++)
		c.time[i] = time_at(j.time, sqrt(curve_cell(i)));
	return c;
}

/* ---- points ---- */

struct points {
	struct reported { /* a point, and what it is from */
		double stroke;
		struct arrival fit;
		const struct seek_point *aimed; /* NULL: random reads */
		double bytes;                   /* their mean distance */
	} v[CURVE_POINTS];
	struct curve_point at[CURVE_POINTS]; /* the same, for the curve */
	size_t n;
};

/* The reads of like distances, as if all had gone the same. false: not known. */
static bool one_bin(const struct seek_known *k, const struct curve *trend, const struct seek_random *v, size_t n,
                    struct reported *ret)
{
	const struct arrival_prior prior = { .missed = 0.0 };
	cleanup_free struct seek_point *p = xcalloc(1, sizeof(*p));
	double moved = 0.0;

	*ret = (struct reported){ .stroke = 0.0 };
	for (size_t i = 0; i < n; i++)
		ret->stroke += v[i].stroke / (double)n;
	for (size_t i = 0; i < n && i < ARRAY_LEN(p->log.access); i++) {
		double by = curve_at(trend, ret->stroke) - curve_at(trend, v[i].stroke);

		p->log.access[p->log.n++] = (struct aim_access){ v[i].ns + by, v[i].bytes, 0, AIM_RANDOM, AIM_THERE };
		ret->bytes += v[i].bytes / (double)n;
		moved += by * by;
	}
	p->log.pairs = 1;
	seek_point_fit(k, p, &prior, 2.0 * SEEK_KNOWN);
	moved = TREND_OFF * sqrt(moved / (double)n);
	ret->fit = p->fit;
	ret->fit.ci = stats_sum((struct stats_estimate){ p->fit.median, p->fit.ci }, stats_about(0.0, moved)).ci;
	return p->is_known;
}

static size_t ways_of(const struct seek_samples *m, struct reads_way *ret)
{
	for (size_t i = 0; i < m->nrandom; i++)
		ret[i] = (struct reads_way){ sqrt(m->random[i].stroke), m->random[i].ns };
	return m->nrandom;
}

static void add_reads(const struct seek_known *k, const struct seek_samples *m, const struct curve *c,
                      struct points *to)
{
	struct seek_random v[SEEK_RANDOM_MAX];
	size_t n = m->nrandom, bins;

	if (n < SEEK_READS_LEAST)
		return;
	memcpy(v, m->random, n * sizeof(*v));
	qsort(v, n, sizeof(*v), order_f64);
	bins = n / BIN_READS < BINS_LEAST ? BINS_LEAST : n / BIN_READS > BINS_MOST ? BINS_MOST : n / BIN_READS;
	for (size_t i = 0; i < bins; i++) {
		size_t from = i * n / bins, end = (i + 1) * n / bins;

		to->n += one_bin(k, c, v + from, end - from, &to->v[to->n]);
	}
}

/* The pairs over the whole stroke lie a few tracks inwards, each on fresh ones: on small disks that is less of the
 * stroke. */
static struct reported reported_of(const struct seek_places *places, const struct seek_point *p)
{
	const double size = (double)places->size_bytes;
	uint64_t reads, hits;
	double distance = (double)seek_distance(&p->log, &reads, &hits), off = fmax(size - distance, 0.0) / size / 2.0;
	struct reported t = { .stroke = p->stroke, .fit = p->fit, .aimed = p };

	if (p->stroke == 1.0)
		t.stroke = seek_stroke_of(places, 1.0 - off) - seek_stroke_of(places, off);
	return t;
}

/*
 * What random reads say, by the curve so far, and the aimed accesses of distances that are known. Of these what that is
 * far from, where it is from random reads, is of something else: of a bridge's cache, which knows a place that was read
 * before.
 */
static struct points gather(const struct seek_known *k, const struct seek_samples *m, const struct curve *c)
{
	struct points p = { .n = 0 };

	add_reads(k, m, c, &p);
	for (size_t i = 0, read = p.n; i < m->naimed && p.n < CURVE_POINTS; i++) {
		const struct seek_point *a = &m->aimed[i];

		if (a->is_known &&
		    !(read && fabs(a->fit.median - curve_at(c, a->stroke)) > SEEK_STRAY * k->places.period_ns))
			p.v[p.n++] = reported_of(&k->places, a);
	}
	qsort(p.v, p.n, sizeof(p.v[0]), order_f64);
	for (size_t i = 0; i < p.n; i++)
		p.at[i] = (struct curve_point){ p.v[i].stroke, { p.v[i].fit.median, p.v[i].fit.ci } };
	return p;
}

/* ---- the curve ---- */

/* By the likeliest of the reads at first, whose points make a better one. */
static struct curve curve_and_points(const struct seek_known *k, const struct seek_samples *m, struct points *ret)
{
	struct reads_way v[SEEK_RANDOM_MAX];
	const size_t n = ways_of(m, v);
	const bool is_by_reads = n >= SEEK_READS_LEAST;
	struct curve c = is_by_reads ? reads_curve(v, n, k->places.period_ns, NULL) : CURVE_UNKNOWN;

	for (int round = 0; round == 0 || (is_by_reads && c.is_known && round < ROUNDS); round++) {
		*ret = gather(k, m, &c);
		c = curve_of(ret->at, ret->n, k->places.period_ns, k->places.off);
	}
	return c;
}

/* What aimed accesses say: of distances that are known, and not far from what reads say, as what a bridge's cache
 * answers is. */
static size_t add_aimed(const struct seek_samples *m, const struct curve *c, double period, struct reads_way *v)
{
	size_t all = 0;

	for (size_t i = 0; i < m->naimed; i++) {
		const struct seek_point *p = &m->aimed[i];
		size_t n = 0;

		if (!p->is_known || fabs(p->fit.median - curve_at(c, p->stroke)) > SEEK_STRAY * period)
			continue;
		for (size_t j = 0; j < p->log.n && n < AIMED_MOST; j++)
			if (aim_shows(&p->log.access[j])) {
				v[all++] = (struct reads_way){ sqrt(p->stroke), p->log.access[j].ns };
				n++;
			}
	}
	return all;
}

struct curve seek_curve_by_reads(const struct seek_known *k, const struct seek_samples *m)
{
	const double period = k->places.period_ns;
	struct reads_way v[SEEK_RANDOM_MAX + AIMED_MOST * CURVE_POINTS];
	struct curve c;
	size_t n = ways_of(m, v);

	if (n < SEEK_READS_LEAST) /* the curve is not from these either */
		return k->curve;
	c = reads_curve(v, n, period, NULL);
	n += add_aimed(m, &c, period, v + n);
	return reads_curve(v, n, period, &c);
}

bool seek_is_contradicted(const struct seek_known *k, const struct seek_samples *m)
{
	double period = k->places.period_ns;
	size_t stray = 0;

	for (size_t i = 0; i < m->nrandom; i++) {
		double off = m->random[i].ns - curve_at(&k->curve, m->random[i].stroke);

		stray += off < -SEEK_STRAY * period || off > (1.0 + SEEK_STRAY) * period;
	}
	return 2 * stray > m->nrandom;
}

/* Where no access was aimed over that part of the stroke. Beyond the last point nobody knows how the curve goes on: it
 * may be off by all that it rises there. */
static struct stats_estimate curve_of_all(const struct seek_known *k, const struct points *p, double stroke)
{
	struct curve_point at = { stroke, curve_about(&k->curve, stroke) };

	if (!k->curve.is_known)
		return STATS_UNKNOWN;
	if (p->at[p->n - 1].stroke < stroke)
		at.at = stats_sum(at.at, stats_about(0.0, at.at.value - curve_at(&k->curve, p->at[p->n - 1].stroke)));
	return curve_moved(&k->curve, &at, stroke, k->places.off);
}

void seek_conclude_curve(struct seek_known *k, const struct seek_samples *m)
{
	struct smooth_point v[CURVE_POINTS];
	struct points p;

	k->curve = curve_and_points(k, m, &p);
	k->third = curve_of_all(k, &p, 1.0 / 3.0);
	k->full = curve_of_all(k, &p, 1.0);
	for (size_t i = 0; i < p.n; i++) {
		const double stroke = p.v[i].aimed && k->curve.is_known ? p.v[i].aimed->stroke : 0.0;

		if (stroke == 1.0 || stroke == 1.0 / 3.0)
			*(stroke == 1.0 ? &k->full : &k->third) =
				curve_moved(&k->curve, &p.at[i], stroke, k->places.off);
		v[i] = (struct smooth_point){ p.at[i].stroke, p.at[i].at.value,
			                      hypot(interval_half(p.at[i].at.ci) / STATS_95, MODEL_NS) };
	}
	if (!k->curve.is_known || !fit_seek(v, p.n, &k->fit))
		k->fit = (struct seek_fit){ .knee = STATS_UNKNOWN };
}

/* ---- tables ---- */

struct curve_row {
	uint64_t distance_bytes;
	double seek_ns, access_mean_ns;
	double stroke_ratio, low, high, with_overhead_ns, scatter_ns, fit_ns;
	uint64_t samples, hits;
};

const struct field seek_curve_fields[] = {
	FIELD_U64(struct curve_row, distance_bytes, UNIT_BYTES, "distance"),
	FIELD_F64(struct curve_row, seek_ns, UNIT_NS, "seek"),
	FIELD_F64(struct curve_row, access_mean_ns, UNIT_NS, "mean access"),
	FIELD_F64(struct curve_row, stroke_ratio, UNIT_RATIO, "distance, share of the stroke"),
	FIELD_F64(struct curve_row, low, UNIT_NS, "seek, low", .detail = true),
	FIELD_F64(struct curve_row, high, UNIT_NS, "seek, high", .detail = true),
	FIELD_F64(struct curve_row, with_overhead_ns, UNIT_NS, "with overhead"),
	FIELD_F64(struct curve_row, scatter_ns, UNIT_NS, "scatter"),
	FIELD_F64(struct curve_row, fit_ns, UNIT_NS, "fitted"),
	FIELD_U64(struct curve_row, samples, UNIT_COUNT, "reads"),
	FIELD_U64(struct curve_row, hits, UNIT_COUNT, "cache hits", .detail = true),
	FIELD_END,
};

struct smooth_row {
	double stroke_ratio, with_overhead_ns, latest_ns, seek_ns;
};

const struct field seek_smooth_fields[] = {
	FIELD_F64(struct smooth_row, stroke_ratio, UNIT_RATIO, "distance, share of the stroke", .detail = true),
	FIELD_F64(struct smooth_row, with_overhead_ns, UNIT_NS, "the head is there", .detail = true),
	FIELD_F64(struct smooth_row, latest_ns, UNIT_NS, "a revolution later", .detail = true),
	FIELD_F64(struct smooth_row, seek_ns, UNIT_NS, "seek", .detail = true),
	FIELD_END,
};

static void report_smooth(struct result *res, const struct seek_known *k, double from)
{
	struct table *t = result_table(res, "smooth", "Smooth curve through the points", seek_smooth_fields);

	for (size_t i = 0; i < CURVE_CELLS; i++) {
		struct smooth_row row = { .stroke_ratio = curve_cell(i) };

		if (row.stroke_ratio < from)
			continue;
		row.with_overhead_ns = curve_at(&k->curve, row.stroke_ratio);
		row.latest_ns = row.with_overhead_ns + k->places.period_ns;
		row.seek_ns = row.with_overhead_ns - k->overhead.ns;
		result_row(t, &row);
	}
}

static void report_row(struct table *t, const struct seek_known *k, const struct reported *p, size_t random_reads)
{
	struct stats_estimate seek = seek_less_overhead(k, (struct stats_estimate){ p->fit.median, p->fit.ci });
	struct summary even;
	struct curve_row row = {
		.seek_ns = seek.value,
		.access_mean_ns = p->aimed && seek_even_mean(&p->aimed->log, &even) ? even.mean : (double)NAN,
		.stroke_ratio = p->stroke,
		.low = fmax(seek.ci.low, fmin(seek.value, 0.0)),
		.high = seek.ci.high,
		.with_overhead_ns = p->fit.median,
		.scatter_ns = p->fit.scatter,
		.fit_ns = k->curve.is_known ? seek_fit_at(&k->fit, p->stroke) - k->overhead.ns : (double)NAN,
		.distance_bytes = (uint64_t)p->bytes,
		.samples = random_reads,
	};

	if (p->aimed)
		row.distance_bytes = seek_distance(&p->aimed->log, &row.samples, &row.hits);
	result_row(t, &row);
}

void seek_report_curve(struct result *res, const struct seek_known *k, const struct seek_samples *m)
{
	struct table *t = result_table(res, "curve", "Seek time against distance", seek_curve_fields);
	struct points p;

	(void)curve_and_points(k, m, &p);
	if (k->curve.is_known)
		report_smooth(res, k, p.v[0].stroke);
	for (size_t i = 0; i < p.n; i++)
		report_row(t, k, &p.v[i], p.v[i].fit.n);
}
