/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seek time against distance.
 *
 * An access takes overhead, seek, a wait for the angle, and the transfer. For pairs of places at one distance the least time is found by aiming
 * (aim.c); less the overhead (overhead.c) it is the seek time. The mean less half a revolution is the check on it.
 *
 * Distances are parts of the stroke, in cylinders. Under constant linear density the place of a byte on the stroke follows from the sequential rates
 * at the start and the end: tracks become shorter inwards as the rate falls, so stroke(x) = (1 - sqrt(1 - x (1 - r^2))) / (1 - r), r the ratio of the rates.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/seek/seek.h"

#define DISTANCES_MAX 40
#define PAIRS_MAX     16
#define RATE_PLACES   9
#define REFITS        40 /* for the intervals of the fit */
#define NEAR_TRACKS   12 /* table "near": as far as that */

struct curve_row {
	uint64_t distance_bytes;
	double seek_ns, access_mean_ns;
	double stroke_ratio, low, high, mean_seek_ns, fit_ns;
	uint64_t samples, hits;
};

const struct field seek_curve_fields[] = {
	FIELD_U64(struct curve_row, distance_bytes, UNIT_BYTES, "distance"),
	FIELD_F64(struct curve_row, seek_ns, UNIT_NS, "seek"),
	FIELD_F64(struct curve_row, access_mean_ns, UNIT_NS, "mean access"),
	FIELD_F64(struct curve_row, stroke_ratio, UNIT_RATIO, "of the stroke"),
	FIELD_F64(struct curve_row, low, UNIT_NS, "seek, low", .detail = true),
	FIELD_F64(struct curve_row, high, UNIT_NS, "seek, high", .detail = true),
	FIELD_F64(struct curve_row, mean_seek_ns, UNIT_NS, "from mean"),
	FIELD_F64(struct curve_row, fit_ns, UNIT_NS, "fitted"),
	FIELD_U64(struct curve_row, samples, UNIT_COUNT, "reads"),
	FIELD_U64(struct curve_row, hits, UNIT_COUNT, "cache hits", .detail = true),
	FIELD_END,
};

struct near_row {
	uint64_t tracks, distance_bytes;
	double seek_ns, low, high;
	uint64_t samples, hits;
};

const struct field seek_near_fields[] = {
	FIELD_U64(struct near_row, tracks, UNIT_COUNT, "tracks"),
	FIELD_U64(struct near_row, distance_bytes, UNIT_BYTES, "distance"),
	FIELD_F64(struct near_row, seek_ns, UNIT_NS, "seek"),
	FIELD_F64(struct near_row, low, UNIT_NS, "shortest"),
	FIELD_F64(struct near_row, high, UNIT_NS, "longest"),
	FIELD_U64(struct near_row, samples, UNIT_COUNT, "reads"),
	FIELD_U64(struct near_row, hits, UNIT_COUNT, "cache hits", .detail = true),
	FIELD_END,
};

/* What came of one distance. */
struct distance {
	double edge[PAIRS_MAX], mean[PAIRS_MAX]; /* of each pair of places, less the overhead */
	double bytes, gap;
	size_t n, samples, hits;
};

/* ---- the shape of the disk ---- */

/* For about so long, or 1 MiB. */
static int rate_at(struct seek_run *s, double x, double guess, double *ret_rate, struct err *err)
{
	double bytes = isfinite(guess) ? guess * (s->p->quick ? 0.2 : 0.5) : 0.0;
	uint64_t want = bytes > 1048576.0 ? (uint64_t)bytes : 1048576u;

	want -= want % (1u << 20);
	return timed_rate(&s->t, (uint64_t)(x * (double)s->t.target->size_bytes), want, ret_rate, err);
}

int seek_rates(struct seek_run *s, struct err *err)
{
	double x[RATE_PLACES], rate[RATE_PLACES], guess = NAN;
	struct density_fit fit;
	size_t n = 0, places = s->p->quick ? 5 : RATE_PLACES;
	int r = 0;

	for (size_t i = 0; r == 0 && i < places && !session_is_over(s->ses); i++) {
		double at = (double)i / (double)(places - 1), v = NAN;

		r = rate_at(s, at, guess, &v, err);
		if (r == 0 && isfinite(v)) {
			x[n] = at;
			rate[n++] = guess = v;
		}
	}
	s->has_rates = true;
	s->rate_start = s->ratio = NAN;
	s->track_ratio = 1.0;
	if (r == 0 && n >= 3 && fit_density(x, rate, n, &fit)) {
		s->rate_start = fit.r0;
		s->ratio = fmin(fmax(fit.r, 0.1), 1.0);
	}
	return r;
}

double seek_stroke_of(const struct seek_run *s, double x)
{
	return s->ratio > 0.999 ? x : (1.0 - sqrt(1.0 - x * (1.0 - s->ratio * s->ratio))) / (1.0 - s->ratio);
}

double seek_place_of(const struct seek_run *s, double stroke)
{
	double y = 1.0 - stroke * (1.0 - s->ratio);

	return s->ratio > 0.999 ? stroke : (1.0 - y * y) / (1.0 - s->ratio * s->ratio);
}

double seek_track_bytes(const struct seek_run *s, double x)
{
	return s->rate_start * sqrt(1.0 - x * (1.0 - s->ratio * s->ratio)) * s->rot.period_ns * 1e-9;
}

double seek_time(const struct seek_run *s, double stroke)
{
	return stroke > 0.0 ? fmax(seek_fit_at(&s->fit, stroke), 0.0) : 0.0;
}

/* ---- the curve ---- */

/* Bytes of a track without its skew. */
static double track_at(const struct seek_run *s, double place)
{
	return seek_track_bytes(s, place) * s->track_ratio;
}

/* Two places, the nearer one to the start first; adds what came of them. */
static int one_pair(struct seek_run *s, double first, double second, bool backward_only, struct distance *d,
                    struct err *err)
{
	double size = (double)s->t.target->size_bytes;
	struct aim_setup setup = { .backward_only = backward_only, .enough = 0.004 };
	struct aim_edge edge;
	int r;

	setup.first[0] = first;
	setup.first[1] = second;
	for (int i = 0; i < 2; i++) {
		setup.track[i] = track_at(s, fmin(setup.first[i] / size, 1.0));
		setup.first[i] = fmax(fmin(setup.first[i], size - setup.track[i]), 0.0);
	}
	setup.spread = s->p->quick ? 4 : 8;
	setup.aimed = (s->p->quick ? 9 : 12) * (backward_only ? 2 : 1);
	r = seek_aim(s, &setup, &edge, err);
	d->hits += edge.hits;
	d->samples += edge.samples;
	if (r < 0 || !edge.is_sure || edge.gap_ns > 0.025 * s->rot.period_ns)
		return r;
	d->edge[d->n] = edge.edge_ns - s->overhead_ns;
	d->mean[d->n] = edge.mean_ns - s->rot.period_ns / 2.0 - s->overhead_ns;
	d->bytes += edge.bytes;
	d->gap += edge.gap_ns;
	d->n++;
	return 0;
}

/* Without the pair that is the farthest off on either side, where there are enough: an odd one decides nothing. */
static double middle(const double *v, size_t n, struct interval *ret_ci)
{
	struct location l;
	struct summary sum;

	*ret_ci = (struct interval){ NAN, NAN };
	if (!stats_location(v, n, n >= 8 ? 0.25 : n >= 3 ? 0.34 : 0.0, &l) || !summary_of(v, n, &sum))
		return NAN;
	if (n >= 2) /* few pairs: the t interval about the middle */
		*ret_ci = (struct interval){ l.value - (sum.mean_ci.high - sum.mean),
			                     l.value + (sum.mean_ci.high - sum.mean) };
	return l.value;
}

static void fill_row(const struct seek_run *s, const struct distance *d, double stroke, struct curve_row *row)
{
	struct interval ci, mean_ci;
	double resolved = d->gap / (double)d->n / sqrt((double)d->n);

	*row = (struct curve_row){
		.distance_bytes = (uint64_t)(d->bytes / (double)d->n),
		.seek_ns = middle(d->edge, d->n, &ci),
		.stroke_ratio = stroke,
		.mean_seek_ns = middle(d->mean, d->n, &mean_ci),
		.fit_ns = NAN,
		.samples = d->samples,
		.hits = d->hits,
	};
	row->access_mean_ns = row->mean_seek_ns + s->rot.period_ns / 2.0 + s->overhead_ns;
	row->low = fmin(ci.low, row->seek_ns - resolved);
	row->high = fmax(ci.high, row->seek_ns + resolved);
}

/* The first pair of a distance may lie anywhere, the others as far as possible from each other. */
static int one_distance(struct seek_run *s, double stroke, struct distance *d, struct err *err)
{
	double size = (double)s->t.target->size_bytes, at = rng_double(&s->t.rng);
	size_t pairs = !s->p->quick ? 8 : stroke == 1.0 || stroke == 1.0 / 3.0 ? 4 : 2;
	int r = 0;

	*d = (struct distance){ .n = 0 };
	for (size_t i = 0; r == 0 && i < 2 * pairs && !session_is_over(s->ses); i++) {
		double base = at * (1.0 - stroke);

		double more = stroke == 1.0 ? 3.0 * (double)i * track_at(s, 0.0)
		                            : 0.0; /* inwards from the ends: fresh tracks */

		r = one_pair(s, seek_place_of(s, base) * size + more, seek_place_of(s, base + stroke) * size - more,
		             false, d, err);
		if (d->n >= pairs && (pairs > 2 || d->n > 2 || fabs(d->edge[0] - d->edge[1]) < 0.02 * s->rot.period_ns))
			break;
		at += 0.6180339887;
		at -= floor(at);
	}
	return r;
}

/* Distances: evenly in the logarithm; a third and the whole stroke exactly. Nearer than that cylinders are too few for a place to tell them. */
static size_t distances(const struct seek_run *s, double *ret)
{
	size_t n = s->p->quick ? 7 : 24, k = 0;
	double low = fmin(fmax(32.0 * track_at(s, 0.0) / (double)s->t.target->size_bytes, 0.003), 0.02);

	for (size_t i = 0; i < n; i++)
		ret[k++] = low * pow(0.97 / low, (double)i / (double)(n - 1));
	ret[k++] = 1.0 / 3.0;
	ret[k++] = 1.0;
	return k;
}

/* All seek times share what the overhead, which is taken off them, is wrong. */
static struct interval with_overhead(const struct seek_run *s, double value, double low, double high)
{
	double off = (s->overhead_ci.high - s->overhead_ci.low) / 2.0;

	if (!isfinite(off))
		return (struct interval){ low, high };
	return (struct interval){ value - hypot(value - low, off), value + hypot(high - value, off) };
}

static void note_figure(struct seek_run *s, const struct curve_row *row)
{
	struct interval ci = with_overhead(s, row->seek_ns, row->low, row->high);

	if (row->stroke_ratio == 1.0) {
		s->full_ns = row->seek_ns;
		s->full_ci = ci;
	} else if (row->stroke_ratio == 1.0 / 3.0) {
		s->third_ns = row->seek_ns;
		s->third_ci = ci;
	}
}

static int compare_row(const void *a, const void *b)
{
	const struct curve_row *p = a, *q = b;

	return (p->stroke_ratio > q->stroke_ratio) - (p->stroke_ratio < q->stroke_ratio);
}

double seek_mean_over_pairs(const struct seek_fit *fit)
{
	double sum = 0.0;
	int steps = 2000;

	for (int i = 0; i < steps; i++) {
		double d = ((double)i + 0.5) / steps;

		sum += 2.0 * (1.0 - d) * fmax(seek_fit_at(fit, d), 0.0) / steps;
	}
	return sum;
}

/* 95 % about a value, from others that it might have been: their scatter about it, so that what they are off counts as well. */
static struct interval scatter(double value, const double *v, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - value) * (v[i] - value);
	sum = n ? 1.96 * sqrt(sum / (double)n) : (double)NAN;
	return (struct interval){ value - sum, value + sum };
}

/*
 * How sure the fit is: fitted again to points that are as far off it as their intervals allow, all of them together shifted by what the overhead may be
 * wrong (a parametric bootstrap: Efron 1979). Only fits of the same shape are compared.
 */
static void fit_intervals(struct seek_run *s, const struct curve_row *rows, const double *x, const double *w, size_t n)
{
	double y[DISTANCES_MAX], v[6][REFITS], shift = (s->overhead_ci.high - s->overhead_ci.low) / 2.0 / 1.96;
	double mean = seek_mean_over_pairs(&s->fit);
	struct seek_fit_ci *ci = &s->fit_ci;
	struct rng rng = s->t.rng; /* a copy: what is read afterwards does not depend on this */
	size_t m = 0;

	for (size_t k = 0; k < REFITS; k++) {
		double off = isfinite(shift) ? shift * rng_normal(&rng) : 0.0;
		struct seek_fit f;

		for (size_t i = 0; i < n; i++) {
			double half = (rows[i].high - rows[i].low) / 2.0;

			y[i] = seek_fit_at(&s->fit, x[i]) + off +
			       fmax(isfinite(half) ? half / 1.96 : 0.0, s->fit.rms) * rng_normal(&rng);
		}
		if (!fit_seek(x, y, w, n, &f) || isfinite(f.knee) != isfinite(s->fit.knee))
			continue;
		v[0][m] = f.a;
		v[1][m] = f.b;
		v[2][m] = f.c;
		v[3][m] = f.e;
		v[4][m] = f.knee;
		v[5][m++] = seek_mean_over_pairs(&f);
	}
	*ci = (struct seek_fit_ci){ scatter(s->fit.a, v[0], m),    scatter(s->fit.b, v[1], m),
		                    scatter(s->fit.c, v[2], m),    scatter(s->fit.e, v[3], m),
		                    scatter(s->fit.knee, v[4], m), scatter(mean, v[5], m) };
	for (size_t i = 0; i < n; i++) { /* where between two distances the knee lies shows little */
		if (x[i] < s->fit.knee && (i + 1 == n || x[i + 1] >= s->fit.knee))
			ci->knee.low = fmin(ci->knee.low, x[i]);
		if (x[i] >= s->fit.knee && (i == 0 || x[i - 1] < s->fit.knee))
			ci->knee.high = fmax(ci->knee.high, x[i]);
	}
	ci->average.low = fmin(ci->average.low, mean - s->fit.rms);
	ci->average.high = fmax(ci->average.high, mean + s->fit.rms);
}

static void fit_rows(struct seek_run *s, struct curve_row *rows, size_t n)
{
	double x[DISTANCES_MAX], y[DISTANCES_MAX], w[DISTANCES_MAX];

	for (size_t i = 0; i < n; i++) {
		double half = (rows[i].high - rows[i].low) / 2.0;

		x[i] = rows[i].stroke_ratio;
		y[i] = rows[i].seek_ns;
		w[i] = isfinite(half) && half > 0.0 ? 1.0 / (half * half + 1e8)
		                                    : 1e-10; /* 10 us: no point is better than the model */
	}
	s->has_fit = fit_seek(x, y, w, n, &s->fit);
	for (size_t i = 0; i < n && s->has_fit; i++)
		rows[i].fit_ns = seek_fit_at(&s->fit, x[i]);
	if (s->has_fit)
		fit_intervals(s, rows, x, w, n);
}

/*
 * Do the two estimates differ by more than chance? All pairs of all distances together, and each distance by itself with the scatter of all. What makes them
 * differ is a wait that is not one turn at most: requests that take turns to repeat, a busy host, another user.
 */
static void compare_estimates(struct seek_run *s, const struct distance *d, const struct curve_row *rows, size_t n)
{
	double diff[DISTANCES_MAX * PAIRS_MAX], floor_ns = fmax(0.025 * s->rot.period_ns, 1e5);
	size_t m = 0, odd = 0;
	struct summary sum;
	char a[32];

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < d[i].n; k++)
			if (isfinite(d[i].mean[k]))
				diff[m++] = d[i].mean[k] - d[i].edge[k];
	if (m < 8 || !summary_of(diff, m, &sum))
		return;
	for (size_t i = 0; i < n; i++)
		odd += fabs(rows[i].mean_seek_ns - rows[i].seek_ns) >
		       fmax(5.0 * sum.stddev / sqrt((double)d[i].n), 0.08 * s->rot.period_ns);
	if (!odd && (fabs(sum.mean) < floor_ns || fabs(sum.mean) < 3.3 * sum.stddev / sqrt((double)m)))
		return;
	(void)units_time(a, sizeof(a), (uint64_t)fabs(sum.mean));
	result_notice(
		s->ses->res, "estimators-disagree",
		"The mean of the access times less half a revolution is %s %s than their lower edge, and at %zu of %zu distances far from it: waits are not spread over one revolution. Trust no seek time to better than that, and look what else the drive or the host was busy with.",
		a, sum.mean > 0.0 ? "longer" : "shorter", odd, n);
}

int seek_curve(struct seek_run *s, struct err *err)
{
	struct table *t = result_table(s->ses->res, "curve", "Seek time against distance", seek_curve_fields);
	cleanup_free struct distance *d = calloc(DISTANCES_MAX, sizeof(*d));
	struct curve_row rows[DISTANCES_MAX];
	double stroke[DISTANCES_MAX], share;
	size_t n = distances(s, stroke), have = 0;
	int r = d ? 0 : err_set(err, -ENOMEM, "Out of memory.");

	share = 0.3 / (double)n;
	for (size_t i = 0; r == 0 && i < n && !session_is_over(s->ses) && session_time_left_ns(s->ses); i++) {
		/* Near and far in turn: a drift in time does not bend the curve. */
		size_t k = s->p->quick ? (i * 5) % n : (i * 7) % n;
		char text[32];

		r = one_distance(s, stroke[k], &d[have], err);
		if (r < 0 || d[have].n == 0)
			continue;
		fill_row(s, &d[have], stroke[k], &rows[have]);
		note_figure(s, &rows[have]);
		s->fraction += share;
		session_progress(
			s->ses, "curve", s->fraction, "%.1f %% of the stroke: %s", 100.0 * rows[have].stroke_ratio,
			units_time(text, sizeof(text), rows[have].seek_ns > 0.0 ? (uint64_t)rows[have].seek_ns : 0));
		have++;
	}
	if (r == 0)
		compare_estimates(s, d, rows, have);
	qsort(rows, have, sizeof(rows[0]), compare_row);
	if (have >= 4)
		fit_rows(s, rows, have);
	for (size_t i = 0; i < have; i++)
		result_row(t, &rows[i]);
	session_checkpoint(s->ses);
	return r;
}

/* ---- over few tracks ---- */

/* The next cylinder: the least of the distances at which the arm moves; a time far below the curve's begin is the change to another head. */
static void note_track(struct seek_run *s, const struct distance *d)
{
	double v[PAIRS_MAX], least = s->has_fit ? seek_time(s, 1e-9) - 0.15e6 : 0.0, m;
	struct summary sum;
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		if (d->edge[i] >= least)
			v[n++] = d->edge[i];
	if (n == 0 || !summary_of(v, n, &sum))
		return;
	m = sum.median;
	if (isfinite(s->track_ns) && m >= s->track_ns)
		return;
	s->track_ns = m;
	s->track_ci = with_overhead(s, m, sum.min - d->gap / (double)d->n, sum.max + d->gap / (double)d->n);
}

int seek_near(struct seek_run *s, struct err *err)
{
	static const uint64_t few[] = { 4, 5, 8 };
	const bool quick = s->p->quick;
	struct table *t = result_table(s->ses->res, "near", "Seek time over few tracks", seek_near_fields);
	double size = (double)s->t.target->size_bytes, track, first;
	size_t n = quick ? ARRAY_LEN(few) : NEAR_TRACKS - 1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n && !session_is_over(s->ses); i++) {
		uint64_t k = quick ? few[i] : i + 2;
		struct distance d = { .n = 0 };
		struct near_row row = { .tracks = k };
		struct summary sum;

		for (int j = 0; r == 0 && j < (quick ? 2 : 6) && !session_is_over(s->ses); j++) {
			first = (0.01 + 0.1 * rng_double(&s->t.rng)) * size;
			track = track_at(s, first / size);
			r = one_pair(s, first, first + (double)k * track, k < 3, &d, err);
		}
		if (r < 0 || d.n == 0 || !summary_of(d.edge, d.n, &sum))
			continue;
		row.distance_bytes = (uint64_t)(d.bytes / (double)d.n);
		row.seek_ns = sum.median;
		row.low = sum.min;
		row.high = sum.max;
		row.samples = d.samples;
		row.hits = d.hits;
		result_row(t, &row);
		if (k > 2) /* nearer, the places overlap, and the drive reads on from one into the other */
			note_track(s, &d);
	}
	return r;
}
