/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the accesses of all distances say: points with intervals, the two-piece fit through them, and the figures.
 * Arithmetic only: no device, no clock.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/seek/seek.h"

#define ROUNDS                                                                                                       \
	3 /* of what random reads say by a curve, and the curve from that, by themselves and with aimed ones: little \
	     changes then */
#define HITS_MOST                                                                                                    \
	4 /* times as many as reads that the media answered: of these, a good part would be hits that came late (one \
	     in 50 does) */
#define OWN_CURVE     12   /* points of writes: more tell their curve by themselves (a choice) */
#define MODEL_NS      10e3 /* no point is better than the model (a choice) */
#define REFITS        60   /* for the intervals of the fit: their width is known to a tenth then */
#define SPLIT         0.3  /* of the rise of the curve: real ones fall by less (a choice) */
#define AVERAGE_STEPS 200  /* of an average over distances (a choice) */
#define GROSS         4.0  /* standard errors: chance does that once in 16000 */
#define BRIDGE                                                                                                      \
	0.3 /* places err by a bridge between the ends, which are known: about so much of it is left in a mean over \
	       pairs */

struct curve_row {
	uint64_t distance_bytes;
	double seek_ns, access_mean_ns;
	double stroke_ratio, low, high, with_overhead_ns, scatter_ns, mean_seek_ns, fit_ns;
	uint64_t samples, hits;
};

const struct field seek_curve_fields[] = {
	FIELD_U64(struct curve_row, distance_bytes, UNIT_BYTES, "distance"),
	FIELD_F64(struct curve_row, seek_ns, UNIT_NS, "seek"),
	FIELD_F64(struct curve_row, access_mean_ns, UNIT_NS, "mean access"),
	FIELD_F64(struct curve_row, stroke_ratio, UNIT_RATIO, "of the stroke"),
	FIELD_F64(struct curve_row, low, UNIT_NS, "seek, low", .detail = true),
	FIELD_F64(struct curve_row, high, UNIT_NS, "seek, high", .detail = true),
	FIELD_F64(struct curve_row, with_overhead_ns, UNIT_NS, "with overhead"),
	FIELD_F64(struct curve_row, scatter_ns, UNIT_NS, "scatter"),
	FIELD_F64(struct curve_row, mean_seek_ns, UNIT_NS, "from mean"),
	FIELD_F64(struct curve_row, fit_ns, UNIT_NS, "fitted"),
	FIELD_U64(struct curve_row, samples, UNIT_COUNT, "reads"),
	FIELD_U64(struct curve_row, hits, UNIT_COUNT, "cache hits", .detail = true),
	FIELD_END,
};

struct stats_estimate seek_less_overhead(const struct seek_run *s, double arrival, struct interval ci)
{
	return stats_difference((struct stats_estimate){ arrival, ci },
	                        (struct stats_estimate){ s->overhead_ns, s->overhead_ci });
}

bool seek_is_after_overhead(const struct seek_run *s, const struct arrival *a)
{
	return !isfinite(s->overhead_ns) || a->median > s->overhead_ns;
}

void seek_point_fit(const struct seek_run *s, struct seek_point *p, const struct arrival_prior *prior, double most)
{
	struct arrival_sample sample[ARRAY_LEN(p->log.access)];
	size_t n = seek_samples(&p->log, -1, sample, ARRAY_LEN(sample));
	uint64_t reads, hits;

	(void)seek_distance(&p->log, &reads, &hits);
	p->is_known = p->log.pairs > 0 && hits <= HITS_MOST * reads &&
	              fit_arrival(sample, n, s->rot.period_ns, prior, &p->fit) &&
	              interval_half(p->fit.ci) < most * s->rot.period_ns && seek_is_after_overhead(s, &p->fit);
}

static void count_missed(struct seek_run *s, const struct seek_point *p, size_t n)
{
	s->missed = (struct arrival_missed){ 0 };
	for (size_t i = 0; i < n; i++) {
		struct arrival_sample sample[ARRAY_LEN(p->log.access)];

		if (p[i].is_known)
			arrival_count_missed(sample, seek_samples(&p[i].log, -1, sample, ARRAY_LEN(sample)),
			                     s->rot.period_ns, &p[i].fit, &s->missed);
	}
}

/* The scatter and the missed revolutions that all distances tell are what is expected of each. */
void seek_fit_aimed(struct seek_run *s)
{
	struct seek_point *p = s->aimed;
	const size_t n = s->naimed;
	struct arrival_prior prior = { 0 };
	double scatter[POINTS_MAX], low[POINTS_MAX], high[POINTS_MAX];
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		seek_point_fit(s, &p[i], NULL, SEEK_KNOWN);
		if (p[i].is_known)
			scatter[m++] = p[i].fit.scatter;
	}
	prior.scatter = m ? stats_median(scatter, m) : 0.0;
	count_missed(s, p, n);
	prior.missed = s->missed.of ? (double)s->missed.missed / (double)s->missed.of : 0.0;
	for (size_t i = 0; i < n; i++)
		seek_point_fit(s, &p[i], &prior, SEEK_KNOWN);
	count_missed(s, p, n);
	m = 0;
	for (size_t i = 0; i < n; i++) {
		if (!p[i].is_known)
			continue;
		low[m] = p[i].fit.scatter_ci.low;
		high[m] = p[i].fit.scatter_ci.high;
		scatter[m++] = p[i].fit.scatter;
	}
	s->scatter_ns = m ? stats_median(scatter, m) : (double)NAN;
	if (m) /* distances differ: the middle of their intervals is that of a middling distance */
		s->scatter_ci = (struct interval){ stats_median(low, m), stats_median(high, m) };
}

static int compare_point(const void *a, const void *b)
{
	const struct seek_point *p = a, *q = b;

	return (p->stroke > q->stroke) - (p->stroke < q->stroke);
}

/* ---- the smooth curve ---- */

#define SMOOTH_LOW 1e-4 /* part of the stroke: nearer, nothing changes that a part of the stroke could tell */

double seek_smooth_at(size_t cell)
{
	return SMOOTH_LOW * pow(1.0 / SMOOTH_LOW, (double)cell / (SEEK_SMOOTH_CELLS - 1));
}

/* Writes of which few points are known: they tell no curve of their own, but the arm that moves is that of the reads.
 */
static bool is_by_reads(const struct seek_run *s)
{
	return s->reads && s->npoints < OWN_CURVE;
}

/* What the points are held against: the two pieces; of writes, the curve of reads and what they take more. */
static double trend_at(const struct seek_run *s, double stroke)
{
	return is_by_reads(s) ? seek_arrival(s->reads, stroke) + s->more_ns : seek_fit_at(&s->fit, stroke);
}

double seek_arrival(const struct seek_run *s, double stroke)
{
	double at = log(fmax(stroke, SMOOTH_LOW) / SMOOTH_LOW) / log(1.0 / SMOOTH_LOW) * (SEEK_SMOOTH_CELLS - 1);
	size_t cell = (size_t)fmin(at, SEEK_SMOOTH_CELLS - 2);
	double part = fmin(at - (double)cell, 1.0);

	if (!(stroke > 0.0))
		return 0.0;
	return fmax(trend_at(s, stroke) + (1.0 - part) * s->smooth[cell] + part * s->smooth[cell + 1], 0.0);
}

/* What a wrong place does to the time, as 95 %: places err by a bridge between the ends of the stroke, which are known.
 */
static double place_off_ns(const struct seek_run *s, double stroke)
{
	double slope = (seek_fit_at(&s->fit, stroke * 1.1) - seek_fit_at(&s->fit, stroke * 0.9)) / (0.2 * stroke);

	return stroke < 1.0 ? BRIDGE * s->place_off * slope * fmin(4.0 * stroke, 1.0) : 0.0;
}

/* What no other point explains is no better known than it deviates from them: gross errors. */
static void tame(struct smooth_point *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct smooth_point others[POINTS_MAX];
		double one = 1.0, mean, se, off;

		memcpy(others, p, i * sizeof(*p));
		memcpy(others + i, p + i + 1, (n - i - 1) * sizeof(*p));
		if (!smooth_sum(others, n - 1, &p[i].x, &one, 1, &mean, &se))
			continue;
		off = fabs(p[i].y - mean);
		if (off > GROSS * hypot(se, p[i].se))
			p[i].se = off;
	}
}

/* What a point says of the part of the stroke that was wanted. */
static struct arrival wanted(const struct seek_run *s, const struct seek_point *p, double stroke)
{
	struct arrival a = p->fit;
	double more = seek_fit_at(&s->fit, stroke) - seek_fit_at(&s->fit, p->stroke), off = place_off_ns(s, stroke);

	a.ci = stats_sum((struct stats_estimate){ a.median, a.ci }, stats_about(more, off)).ci;
	a.median += more;
	return a;
}

struct smooth_row {
	double stroke_ratio, with_overhead_ns, latest_ns, seek_ns;
};

const struct field seek_smooth_fields[] = {
	FIELD_F64(struct smooth_row, stroke_ratio, UNIT_RATIO, "distance, of the stroke", .detail = true),
	FIELD_F64(struct smooth_row, with_overhead_ns, UNIT_NS, "the head is there", .detail = true),
	FIELD_F64(struct smooth_row, latest_ns, UNIT_NS, "a revolution later", .detail = true),
	FIELD_F64(struct smooth_row, seek_ns, UNIT_NS, "seek", .detail = true),
	FIELD_END,
};

static void tell_smooth(struct seek_run *s, const struct seek_point *p)
{
	struct table *t = result_table(s->res, "smooth", "Smooth curve through the points", seek_smooth_fields);

	for (size_t i = 0; i < SEEK_SMOOTH_CELLS; i++) {
		struct smooth_row row = { .stroke_ratio = seek_smooth_at(i) };

		if (row.stroke_ratio < p[0].stroke)
			continue;
		row.with_overhead_ns = seek_arrival(s, row.stroke_ratio);
		row.latest_ns = row.with_overhead_ns + s->rot.period_ns;
		row.seek_ns = row.with_overhead_ns - s->overhead_ns;
		result_row(t, &row);
	}
}

/* Over uniform pairs of cylinders: a distance d has the density 2 (1 - d). */
static double fit_average(const struct seek_fit *f)
{
	double sum = 0.0;

	for (size_t i = 0; i < AVERAGE_STEPS; i++) {
		double x = ((double)i + 0.5) / AVERAGE_STEPS;

		sum += 2.0 * (1.0 - x) / AVERAGE_STEPS * seek_fit_at(f, x);
	}
	return sum;
}

/* The same of the smooth curve. */
static struct arrival smooth_average(const struct seek_run *s, const struct smooth_point *p, size_t n)
{
	enum { STEPS = AVERAGE_STEPS };
	double x[STEPS], w[STEPS], more, se, half, value;
	struct arrival a = { .median = NAN };

	for (size_t i = 0; i < STEPS; i++) {
		x[i] = ((double)i + 0.5) / STEPS;
		w[i] = 2.0 * (1.0 - x[i]) / STEPS;
	}
	if (!smooth_sum(p, n, x, w, STEPS, &more, &se))
		return a;
	value = more + (is_by_reads(s) ? s->reads->average.median + s->more_ns : fit_average(&s->fit));
	half = hypot(1.96 * hypot(se, s->average_se), BRIDGE * s->place_off * (seek_fit_at(&s->fit, 1.0) - s->fit.a));
	a = (struct arrival){ .median = value, .ci = { value - half, value + half } };
	return a;
}

static void smooth_points(struct seek_run *s, const struct seek_point *p, size_t n)
{
	struct smooth_point v[POINTS_MAX];
	double weights = 0.0, beyond = 0.0, chi2 = 0.0, one = 1.0, se, most = 0.0, far = 0.0, least = INFINITY;

	for (size_t i = 0; i < n; i++) {
		v[i] = (struct smooth_point){
			p[i].stroke, p[i].fit.median - trend_at(s, p[i].stroke),
			fmax(hypot(interval_half(p[i].fit.ci), place_off_ns(s, p[i].stroke)) / 1.96, 1e3)
		};
		beyond += (v[i].y * v[i].y - v[i].se * v[i].se) / (double)n;
		chi2 += v[i].y * v[i].y / (v[i].se * v[i].se);
	}
	/* Beyond what chance does once in thousands of runs; the fit has up to five parameters of its own. */
	s->misfit_ns = chi2 > (double)n + 4.0 * sqrt(2.0 * (double)n) ? sqrt(fmax(beyond, 0.0)) : 0.0;
	tame(v, n);
	for (size_t i = 0; i < SEEK_SMOOTH_CELLS; i++) {
		double at = seek_smooth_at(i);

		if (!smooth_sum(v, n, &at, &one, 1, &s->smooth[i], &se))
			s->smooth[i] = 0.0;
	}
	s->smooth_rms_ns = 0.0;
	for (size_t i = 0; i < n; i++) {
		double off = p[i].fit.median - seek_arrival(s, p[i].stroke), weight = 1.0 / (v[i].se * v[i].se);

		s->smooth_rms_ns += weight * off * off;
		weights += weight;
		if (p[i].stroke < 0.6)
			most = fmax(most, p[i].fit.ci.low);
		else
			far = fmax(far, p[i].fit.ci.high);
		least = fmin(least, p[i].fit.median);
	}
	s->smooth_rms_ns = sqrt(s->smooth_rms_ns / weights);
	s->is_split = far > 0.0 && most - far > SPLIT * (most - least); /* 0: no far one is known */
	s->average = s->third = s->full = (struct arrival){ .median = NAN };
	if (s->is_split)
		return;
	s->average = smooth_average(s, v, n);
	for (size_t i = 0; i < n; i++)
		if (p[i].is_full)
			s->full = wanted(s, &p[i], 1.0);
		else if (p[i].stroke == 1.0 / 3.0)
			s->third = wanted(s, &p[i], p[i].stroke);
}

/* ---- the fit ---- */

/* 95 % about a value, from others that it might have been: their scatter about it, so that what they are off counts as
 * well. */
static struct interval scatter(double value, const double *v, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - value) * (v[i] - value);
	sum = n ? 1.96 * sqrt(sum / (double)n) : (double)NAN;
	return (struct interval){ value - sum, value + sum };
}

static size_t fit_input(const struct seek_run *s, double *ret_x, double *ret_y, double *ret_w)
{
	for (size_t i = 0; i < s->npoints; i++) {
		double half = interval_half(s->point[i].fit.ci);

		ret_x[i] = s->point[i].stroke;
		ret_y[i] = s->point[i].fit.median;
		ret_w[i] = 1.0 / (half * half + MODEL_NS * MODEL_NS);
	}
	return s->npoints;
}

/*
 * How sure the fit is: fitted again to points that are as far off it as their intervals allow (a parametric bootstrap:
 * Efron 1979). Only fits of the same shape are compared.
 */
static void fit_intervals(struct seek_run *s)
{
	const struct seek_point *p = s->point;
	double x[POINTS_MAX], y[POINTS_MAX], w[POINTS_MAX], v[5][REFITS], average[REFITS];
	const size_t n = fit_input(s, x, y, w);
	struct seek_fit_ci *ci = &s->fit_ci;
	struct rng rng;
	size_t m = 0, fits = 0;

	if (is_by_reads(s)) {
		s->average_se = hypot(interval_half(s->reads->average.ci) / 1.96, s->more_se);
		*ci = s->reads->fit_ci;
		ci->a = stats_sum((struct stats_estimate){ s->reads->fit.a, ci->a },
		                  stats_about(s->more_ns, 1.96 * s->more_se))
		                .ci;
		return;
	}
	rng_init(&rng, 1, 0x53454546); /* the same for the same accesses */
	for (size_t k = 0; k < REFITS; k++) {
		struct seek_fit f;

		for (size_t i = 0; i < n; i++)
			y[i] = seek_fit_at(&s->fit, x[i]) +
			       fmax(interval_half(p[i].fit.ci) / 1.96, s->fit.rms) * rng_normal(&rng);
		if (!fit_seek(x, y, w, n, &f))
			continue;
		average[fits++] = fit_average(&f);
		if (isfinite(f.knee) != isfinite(s->fit.knee))
			continue;
		v[0][m] = f.a;
		v[1][m] = f.b;
		v[2][m] = f.c;
		v[3][m] = f.e;
		v[4][m++] = f.knee;
	}
	s->average_se = interval_half(scatter(fit_average(&s->fit), average, fits)) / 1.96;
	*ci = (struct seek_fit_ci){ scatter(s->fit.a, v[0], m), scatter(s->fit.b, v[1], m), scatter(s->fit.c, v[2], m),
		                    scatter(s->fit.e, v[3], m), scatter(s->fit.knee, v[4], m) };
	for (size_t i = 0; i < n; i++) { /* where between two distances the knee lies shows little */
		if (x[i] < s->fit.knee && (i + 1 == n || x[i + 1] >= s->fit.knee))
			ci->knee.low = fmin(ci->knee.low, x[i]);
		if (x[i] >= s->fit.knee && (i == 0 || x[i - 1] < s->fit.knee))
			ci->knee.high = fmax(ci->knee.high, x[i]);
	}
}

/* From the begin to the whole stroke no arm is there before the command, or takes more than eight revolutions: no curve
 * is better than such a one. */
static bool is_likely(const struct seek_fit *f, double period)
{
	double first = seek_fit_at(f, 0.0), last = seek_fit_at(f, 1.0);

	return first > -period && first < SEEK_TURNS_MOST * period && last > 0.0 && last < SEEK_TURNS_MOST * period;
}

/*
 * What writes take beyond the curve of reads: the mean over their points, which differ by what each is not known and by
 * what one does more than another (DerSimonian and Laird 1986).
 */
static void beyond_reads(struct seek_run *s)
{
	double variance[POINTS_MAX], more[POINTS_MAX], sum = 0.0, sum2 = 0.0, between = 0.0, mean = 0.0, off = 0.0;
	const size_t n = s->npoints;

	for (size_t i = 0; i < n; i++) {
		more[i] = s->point[i].fit.median - seek_arrival(s->reads, s->point[i].stroke);
		variance[i] = pow(interval_half(s->point[i].fit.ci) / 1.96, 2.0) + MODEL_NS * MODEL_NS;
	}
	for (int round = 0; round < 2; round++) {
		sum = sum2 = mean = off = 0.0;
		for (size_t i = 0; i < n; i++) {
			double weight = 1.0 / (variance[i] + between);

			sum += weight;
			sum2 += weight * weight;
			mean += weight * more[i];
		}
		mean /= sum;
		for (size_t i = 0; i < n; i++)
			off += (more[i] - mean) * (more[i] - mean) / (variance[i] + between);
		if (round == 0)
			between = fmax(off - ((double)n - 1.0), 0.0) / (sum - sum2 / sum);
	}
	s->more_ns = mean;
	s->more_se = stats_t_975((double)n - 1.0) / 1.96 / sqrt(sum);
	s->fit = s->reads->fit;
	s->fit.a += s->more_ns;
	s->fit.c += s->more_ns;
	s->fit.rms = sqrt(between);
}

/* Of the times with overhead: what that is wrong bends nothing. */
static void fit_points(struct seek_run *s)
{
	double x[POINTS_MAX], y[POINTS_MAX], w[POINTS_MAX];

	if (is_by_reads(s)) {
		s->has_fit = s->npoints >= 4;
		if (s->has_fit)
			beyond_reads(s);
		return;
	}
	s->has_fit = s->npoints >= 4 && fit_seek(x, y, w, fit_input(s, x, y, w), &s->fit) &&
	             is_likely(&s->fit, s->rot.period_ns);
}

/*
 * Do the two estimates differ by more than chance and missed revolutions explain? What makes them differ is a wait that
 * is not one turn at most: requests that take turns to repeat, a busy host, another user.
 */
static void compare_estimates(struct seek_run *s, const struct seek_point *p, size_t n)
{
	double diff[POINTS_MAX], floor_ns = fmax(0.04 * s->rot.period_ns, 1e5), period = s->rot.period_ns;
	double lost = s->missed.of ? (double)s->missed.missed / (double)s->missed.of * period : 0.0;
	size_t m = 0;
	struct summary sum;
	char a[32];

	for (size_t i = 0; i < n; i++)
		if (p[i].is_known && seek_even_mean(&p[i].log, &sum) && sum.n >= 6)
			diff[m++] = sum.mean - period / 2.0 - lost - p[i].fit.median;
	if (m < 6 || !summary_of(diff, m, &sum))
		return;
	if (fabs(sum.mean) < floor_ns || fabs(sum.mean) < 2.6 * sum.stddev / sqrt((double)m))
		return;
	(void)units_time(a, sizeof(a), (uint64_t)fabs(sum.mean));
	result_notice(
		s->res, "estimators-disagree",
		"The mean of the access times less half a revolution is %s %s than the time of arrival: waits are not spread over one revolution. Means are then longer than seek, half a revolution and overhead; look what else the drive or the host was busy with.",
		a, sum.mean > 0.0 ? "longer" : "shorter");
}

static void tell_row(struct seek_run *s, struct table *t, const struct seek_point *p)
{
	struct stats_estimate seek = seek_less_overhead(s, p->fit.median, p->fit.ci);
	struct summary even;
	double mean = seek_even_mean(&p->log, &even) ? even.mean : (double)NAN;
	struct curve_row row = {
		.seek_ns = seek.value,
		.access_mean_ns = mean,
		.stroke_ratio = p->stroke,
		.low = fmax(seek.ci.low, fmin(seek.value, 0.0)),
		.high = seek.ci.high,
		.with_overhead_ns = p->fit.median,
		.scatter_ns = p->fit.scatter,
		.mean_seek_ns = mean - s->rot.period_ns / 2.0 - s->overhead_ns,
		.fit_ns = s->has_fit ? seek_fit_at(&s->fit, p->stroke) - s->overhead_ns : (double)NAN,
	};

	row.distance_bytes = seek_distance(&p->log, &row.samples, &row.hits);
	result_row(t, &row);
}

/* The pairs over the whole stroke lie a few tracks inwards, each on fresh ones: on small disks that is less of the
 * stroke. */
static void note_full(const struct seek_run *s, struct seek_point *p)
{
	uint64_t reads, hits, distance = seek_distance(&p->log, &reads, &hits);
	double off = (double)(s->size_bytes - (distance < s->size_bytes ? distance : s->size_bytes)) /
	             (double)s->size_bytes / 2.0;

	p->is_full = p->stroke == 1.0;
	if (p->is_full)
		p->stroke = seek_stroke_of(s, 1.0 - off) - seek_stroke_of(s, off);
}

/* ---- of random reads: reads.c ---- */

#define READS_LEAST 60  /* of fewer the curve would follow chance (a choice) */
#define TREND_OFF   0.3 /* of what reads are moved by, the curve may be off by itself, as 95 % (a choice) */
#define KNOWN_HALF  0.1 /* of a revolution, half of the interval: a point is known then, if not well */
#define BIN_READS   30 /* of a point: its gap between the last in time and the first too late is 1/30 of a revolution */
#define BINS_LEAST  4  /* of fewer points no curve is told */
#define BINS_MOST   12 /* then each has more reads instead (a choice) */

/* The likeliest a + b sqrt(d), on a grid that a real curve lies within a twentieth of a revolution of. */
static void coarse_curve(const struct seek_random *v, size_t n, double period, struct seek_fit *ret)
{
	const double step = 0.06 * period;
	double most = -INFINITY;

	*ret = (struct seek_fit){ .knee = NAN };
	n = n < 300 ? n : 300; /* are enough for that */
	for (int i = 0; i < 30; i++)
		for (int k = 0; k < 60; k++) {
			double sum = 0.0, a = i * step, b = k * 1.5 * step;

			for (size_t j = 0; j < n; j++)
				sum += log(arrival_likelihood(v[j].ns, a + b * sqrt(v[j].stroke), step, period, 0.02));
			if (sum > most) {
				most = sum;
				ret->a = a;
				ret->b = b;
			}
		}
}

static int compare_stroke(const void *a, const void *b)
{
	const struct seek_random *p = a, *q = b;

	return (p->stroke > q->stroke) - (p->stroke < q->stroke);
}

/* The reads of like distances, as if all had gone the same. */
static void one_bin(const struct seek_run *s, const struct seek_fit *trend, const struct seek_random *v, size_t n,
                    struct seek_point *ret)
{
	const struct arrival_prior prior = { .missed = 0.0 };
	double moved = 0.0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < n; i++)
		ret->stroke += v[i].stroke / (double)n;
	for (size_t i = 0; i < n && i < ARRAY_LEN(ret->log.access); i++) {
		double by = seek_fit_at(trend, ret->stroke) - seek_fit_at(trend, v[i].stroke);

		ret->log.access[ret->log.n++] =
			(struct aim_access){ v[i].ns + by, v[i].bytes, 0, AIM_RANDOM, AIM_THERE };
		moved += by * by;
	}
	ret->log.pairs = 1;
	seek_point_fit(s, ret, &prior, KNOWN_HALF);
	moved = TREND_OFF * sqrt(moved / (double)n);
	ret->fit.ci = stats_sum((struct stats_estimate){ ret->fit.median, ret->fit.ci }, stats_about(0.0, moved)).ci;
}

static size_t read_points(const struct seek_run *s, int without, struct seek_point *ret, size_t most)
{
	cleanup_free struct seek_random *v = malloc(SEEK_RANDOM_MAX * sizeof(*v));
	struct seek_fit trend = s->fit;
	size_t n = 0, bins, found = 0;

	for (size_t i = 0; v && i < s->nrandom; i++)
		if (without < 0 || s->random[i].part != (size_t)without)
			v[n++] = s->random[i];
	if (n < READS_LEAST)
		return 0;
	if (!s->has_fit)
		coarse_curve(v, n, s->rot.period_ns, &trend);
	qsort(v, n, sizeof(*v), compare_stroke);
	bins = n / BIN_READS < BINS_LEAST ? BINS_LEAST : n / BIN_READS > BINS_MOST ? BINS_MOST : n / BIN_READS;
	for (size_t i = 0; i < bins && found < most; i++) {
		size_t from = i * n / bins, to = (i + 1) * n / bins;

		one_bin(s, &trend, v + from, to - from, &ret[found]);
		found += ret[found].is_known;
	}
	return found;
}

/*
 * What random reads say, by the curve so far, and the aimed accesses of distances that are known. Of these what the
 * curve is far from, where that is from random reads, is of something else: of a bridge's cache, which knows a place
 * that was read before.
 */
static void gather(struct seek_run *s, int without, bool has_aimed)
{
	struct seek_point *p = s->point;
	size_t n = read_points(s, without, p, POINTS_MAX);
	const bool is_judged = s->has_fit && n;

	for (size_t i = 0; has_aimed && i < s->naimed && n < POINTS_MAX; i++) {
		const struct seek_point *a = &s->aimed[i];

		if (!a->is_known || (is_judged && fabs(a->fit.median - seek_fit_at(&s->fit, a->stroke)) >
		                                          SEEK_STRAY * s->rot.period_ns))
			continue;
		p[n] = *a;
		note_full(s, &p[n++]);
	}
	qsort(p, n, sizeof(p[0]), compare_point);
	s->npoints = n;
}

void seek_conclude_curve(struct seek_run *s, int without)
{
	s->has_fit = s->has_no_curve = false;
	for (int round = s->nrandom ? 0 : ROUNDS; round <= ROUNDS; round++) {
		gather(s, without, round >= ROUNDS - 1);
		fit_points(s);
	}
	if (s->has_fit && without < 0)
		fit_intervals(s);
	if (s->has_fit)
		smooth_points(s, s->point, s->npoints);
	if (s->has_fit && s->is_split && s->is_one_arm) { /* it does so by what is no arrival */
		s->has_fit = s->is_split = false;
		s->has_no_curve = true;
	}
}

void seek_tell_curve(struct seek_run *s)
{
	struct table *t =
		s->is_writing
			? result_table(s->res, "write_curve", "Seek time of writes against distance", seek_curve_fields)
			: result_table(s->res, "curve", "Seek time against distance", seek_curve_fields);

	if (!s->is_writing)
		compare_estimates(s, s->aimed, s->naimed);
	if (s->has_fit && !s->is_split && !s->is_writing)
		tell_smooth(s, s->point);
	for (size_t i = 0; i < s->npoints; i++)
		tell_row(s, t, &s->point[i]);
}
