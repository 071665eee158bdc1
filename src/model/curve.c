/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/curve.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

#define OWN_CURVE     12   /* points of writes: more tell their curve by themselves (a choice) */
#define MODEL_NS      10e3 /* no point is better than the model (a choice) */
#define REFITS        60   /* for the intervals of the fit: their width is known to a tenth then */
#define FALL          0.3  /* of the rise of the curve: real ones fall by less (a choice) */
#define AVERAGE_STEPS 200  /* of an average over distances (a choice) */
#define GROSS         4.0  /* standard errors: chance does that once in 16000 */
#define TURNS_MOST    8.0  /* revolutions: no arm takes longer */
#define BRIDGE                                                                                                      \
	0.3 /* places err by a bridge between the ends, which are known: about so much of it is left in a mean over \
	       pairs */
#define SMOOTH_LOW 1e-4 /* part of the stroke: nearer, nothing changes that a part of the stroke could tell */

double curve_cell(size_t cell)
{
	return SMOOTH_LOW * pow(1.0 / SMOOTH_LOW, (double)cell / (CURVE_CELLS - 1));
}

static double trend_at(const struct curve *c, double stroke)
{
	double at = log(fmax(stroke, SMOOTH_LOW) / SMOOTH_LOW) / log(1.0 / SMOOTH_LOW) * (CURVE_CELLS - 1);
	size_t cell = (size_t)fmin(at, CURVE_CELLS - 2);
	double part = fmin(at - (double)cell, 1.0);

	return seek_fit_at(&c->fit, stroke) + (1.0 - part) * c->smooth[cell] + part * c->smooth[cell + 1];
}

double curve_at(const struct curve *c, double stroke)
{
	return stroke > 0.0 ? fmax(trend_at(c, stroke), 0.0) : 0.0;
}

/* What a wrong place does to the time, as 95 %: places err by a bridge between the ends of the stroke, which are known.
 */
static double off_ns(const struct curve *c, double stroke, double place_off)
{
	double slope = (seek_fit_at(&c->fit, stroke * 1.1) - seek_fit_at(&c->fit, stroke * 0.9)) / (0.2 * stroke);

	return stroke < 1.0 ? BRIDGE * place_off * slope * fmin(4.0 * stroke, 1.0) : 0.0;
}

struct stats_estimate curve_moved(const struct curve *c, const struct curve_point *p, double stroke, double place_off)
{
	double more = seek_fit_at(&c->fit, stroke) - seek_fit_at(&c->fit, p->stroke);

	return stats_sum(p->at, stats_about(more, off_ns(c, stroke, place_off)));
}

/* What no other point explains is no better known than it deviates from them: gross errors. */
static void tame(struct smooth_point *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct smooth_point others[CURVE_POINTS];
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

/* The same of the smooth curve. base: of the fit. */
static struct stats_estimate smooth_average(const struct curve *c, const struct smooth_point *p, size_t n,
                                            double place_off, double base, double base_se)
{
	enum { STEPS = AVERAGE_STEPS };
	double x[STEPS], w[STEPS], more, se;

	for (size_t i = 0; i < STEPS; i++) {
		x[i] = ((double)i + 0.5) / STEPS;
		w[i] = 2.0 * (1.0 - x[i]) / STEPS;
	}
	if (!smooth_sum(p, n, x, w, STEPS, &more, &se))
		return STATS_UNKNOWN;
	return stats_about(base + more, hypot(1.96 * hypot(se, base_se),
	                                      BRIDGE * place_off * (seek_fit_at(&c->fit, 1.0) - c->fit.a)));
}

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

static size_t fit_input(const struct curve_point *p, size_t n, double *ret_x, double *ret_y, double *ret_w)
{
	for (size_t i = 0; i < n; i++) {
		double half = interval_half(p[i].at.ci);

		ret_x[i] = p[i].stroke;
		ret_y[i] = p[i].at.value;
		ret_w[i] = 1.0 / (half * half + MODEL_NS * MODEL_NS);
	}
	return n;
}

/*
 * How sure the fit is, and the standard error of its average: fitted again to points that are as far off it as their
 * intervals allow (a parametric bootstrap: Efron 1979). Only fits of the same shape are compared.
 */
static double fit_intervals(struct curve *c, const struct curve_point *p, size_t npoints)
{
	double x[CURVE_POINTS], y[CURVE_POINTS], w[CURVE_POINTS], v[5][REFITS], average[REFITS];
	const size_t n = fit_input(p, npoints, x, y, w);
	struct curve_fit_ci *ci = &c->fit_ci;
	struct rng rng;
	size_t m = 0, fits = 0;

	rng_init(&rng, 1, 0x53454546); /* the same for the same accesses */
	for (size_t k = 0; k < REFITS; k++) {
		struct seek_fit f;

		for (size_t i = 0; i < n; i++)
			y[i] = seek_fit_at(&c->fit, x[i]) +
			       fmax(interval_half(p[i].at.ci) / 1.96, c->fit.rms) * rng_normal(&rng);
		if (!fit_seek(x, y, w, n, &f))
			continue;
		average[fits++] = fit_average(&f);
		if (isfinite(f.knee) != isfinite(c->fit.knee))
			continue;
		v[0][m] = f.a;
		v[1][m] = f.b;
		v[2][m] = f.c;
		v[3][m] = f.e;
		v[4][m++] = f.knee;
	}
	*ci = (struct curve_fit_ci){ scatter(c->fit.a, v[0], m), scatter(c->fit.b, v[1], m), scatter(c->fit.c, v[2], m),
		                     scatter(c->fit.e, v[3], m), scatter(c->fit.knee, v[4], m) };
	for (size_t i = 0; i < n; i++) { /* where between two distances the knee lies shows little */
		if (x[i] < c->fit.knee && (i + 1 == n || x[i + 1] >= c->fit.knee))
			ci->knee.low = fmin(ci->knee.low, x[i]);
		if (x[i] >= c->fit.knee && (i == 0 || x[i - 1] < c->fit.knee))
			ci->knee.high = fmax(ci->knee.high, x[i]);
	}
	return interval_half(scatter(fit_average(&c->fit), average, fits)) / 1.96;
}

/* From the begin to the whole stroke no arm is there before the command, or takes more than eight revolutions: no curve
 * is better than such a one. */
static bool is_likely(const struct seek_fit *f, double period)
{
	double first = seek_fit_at(f, 0.0), last = seek_fit_at(f, 1.0);

	return first > -period && first < TURNS_MOST * period && last > 0.0 && last < TURNS_MOST * period;
}

/*
 * What writes take beyond the curve of reads: the mean over their points, which differ by what each is not known and by
 * what one does more than another (DerSimonian and Laird 1986).
 */
static void beyond_reads(struct curve *c, const struct curve_point *p, size_t n, const struct curve *reads)
{
	double variance[CURVE_POINTS], more[CURVE_POINTS], sum = 0.0, sum2 = 0.0, between = 0.0, mean = 0.0, off = 0.0;

	for (size_t i = 0; i < n; i++) {
		more[i] = p[i].at.value - curve_at(reads, p[i].stroke);
		variance[i] = pow(interval_half(p[i].at.ci) / 1.96, 2.0) + MODEL_NS * MODEL_NS;
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
	c->more_ns = mean;
	c->more_se = stats_t_975((double)n - 1.0) / 1.96 / sqrt(sum);
	c->fit = reads->fit;
	c->fit.a += c->more_ns;
	c->fit.c += c->more_ns;
	c->fit.rms = sqrt(between);
}

/* Of the times with overhead: what that is wrong bends nothing. */
struct curve curve_fit(const struct curve_point *p, size_t n, double period, const struct curve *reads)
{
	struct curve c = { .fit = { .knee = NAN }, .average = STATS_UNKNOWN, .more_ns = NAN };
	double x[CURVE_POINTS], y[CURVE_POINTS], w[CURVE_POINTS];

	c.is_by_reads = reads && n < OWN_CURVE;
	if (c.is_by_reads && n >= 4)
		beyond_reads(&c, p, n, reads);
	c.is_known = n >= 4 && (c.is_by_reads ||
	                        (fit_seek(x, y, w, fit_input(p, n, x, y, w), &c.fit) && is_likely(&c.fit, period)));
	return c;
}

/* Standard error of the average of the fit, whose value is in *ret. */
static double base_of(struct curve *c, const struct curve_point *p, size_t n, const struct curve *reads, double *ret)
{
	if (!c->is_by_reads) {
		*ret = fit_average(&c->fit);
		return fit_intervals(c, p, n);
	}
	*ret = reads->average.value + c->more_ns;
	c->fit_ci = reads->fit_ci;
	c->fit_ci.a = stats_sum((struct stats_estimate){ reads->fit.a, reads->fit_ci.a },
	                        stats_about(c->more_ns, 1.96 * c->more_se))
	                      .ci;
	return hypot(interval_half(reads->average.ci) / 1.96, c->more_se);
}

/* Where near points lie, and far ones, as sure as they are. */
static bool falls(const struct curve_point *p, size_t n)
{
	double most = 0.0, far = 0.0, least = INFINITY;

	for (size_t i = 0; i < n; i++) {
		if (p[i].stroke < 0.6)
			most = fmax(most, p[i].at.ci.low);
		else
			far = fmax(far, p[i].at.ci.high);
		least = fmin(least, p[i].at.value);
	}
	return far > 0.0 && most - far > FALL * (most - least); /* 0: no far one is known */
}

void curve_smooth(struct curve *c, const struct curve_point *p, size_t n, double place_off, const struct curve *reads,
                  bool has_intervals)
{
	struct smooth_point v[CURVE_POINTS];
	double weights = 0.0, beyond = 0.0, chi2 = 0.0, one = 1.0, base = NAN, base_se = 0.0, sum = 0.0;

	if (has_intervals)
		base_se = base_of(c, p, n, reads, &base);
	for (size_t i = 0; i < n; i++) {
		double half = hypot(interval_half(p[i].at.ci), off_ns(c, p[i].stroke, place_off));

		v[i] = (struct smooth_point){ p[i].stroke, p[i].at.value - trend_at(c, p[i].stroke),
			                      fmax(half / 1.96, 1e3) };
		beyond += (v[i].y * v[i].y - v[i].se * v[i].se) / (double)n;
		chi2 += v[i].y * v[i].y / (v[i].se * v[i].se);
	}
	/* Beyond what chance does once in thousands of runs; the fit has up to five parameters of its own. */
	c->misfit_ns = chi2 > (double)n + 4.0 * sqrt(2.0 * (double)n) ? sqrt(fmax(beyond, 0.0)) : 0.0;
	tame(v, n);
	for (size_t i = 0; i < CURVE_CELLS; i++) {
		double at = curve_cell(i), more, se;

		if (smooth_sum(v, n, &at, &one, 1, &more, &se))
			c->smooth[i] += more;
	}
	for (size_t i = 0; i < n; i++) {
		double off = p[i].at.value - curve_at(c, p[i].stroke), weight = 1.0 / (v[i].se * v[i].se);

		sum += weight * off * off;
		weights += weight;
	}
	c->rms_ns = sqrt(sum / weights);
	c->falls = falls(p, n);
	c->is_known = !c->falls;
	if (c->is_known && has_intervals)
		c->average = smooth_average(c, v, n, place_off, base, base_se);
}
