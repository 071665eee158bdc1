/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/curve.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define FALL          0.3 /* of the rise of the curve: real ones fall by less (a choice) */
#define AVERAGE_STEPS 100 /* of an average over distances (a choice) */
#define GROSS         4.0 /* standard errors: chance does that once in 16000 */
#define BRIDGE                                                                                                      \
	0.3 /* places err by a bridge between the ends, which are known: about so much of it is left in a mean over \
	       pairs */
#define LOW 1e-5 /* part of the stroke: nearer no cylinder lies */

double curve_cell(size_t cell)
{
	return LOW * pow(1.0 / LOW, (double)cell / (CURVE_CELLS - 1));
}

/* Of what is kept of each cell, between them. */
static double between_cells(const double *v, double stroke)
{
	double at = log(fmax(stroke, LOW) / LOW) / log(1.0 / LOW) * (CURVE_CELLS - 1);
	size_t cell = (size_t)fmin(at, CURVE_CELLS - 2);
	double part = fmin(at - (double)cell, 1.0);

	return (1.0 - part) * v[cell] + part * v[cell + 1];
}

double curve_at(const struct curve *c, double stroke)
{
	return stroke > 0.0 ? fmax(between_cells(c->time, stroke), 0.0) : 0.0;
}

/* What a wrong place does to the time, as 95 %: places err by a bridge between the ends of the stroke, which are known.
 * The curve rises about as the root of the distance. */
static double off_ns(double rise, double stroke, double place_off)
{
	return stroke < 1.0 ? BRIDGE * place_off * rise / 2.0 / sqrt(stroke) * fmin(4.0 * stroke, 1.0) : 0.0;
}

static double rise_of(const struct curve *c)
{
	return fmax(c->time[CURVE_CELLS - 1] - c->time[0], 0.0);
}

struct stats_estimate curve_about(const struct curve *c, double stroke)
{
	return stats_about(curve_at(c, stroke), STATS_95 * between_cells(c->se, stroke));
}

struct stats_estimate curve_moved(const struct curve *c, const struct curve_point *p, double stroke, double place_off)
{
	return stats_sum(p->at, stats_about(curve_at(c, stroke) - curve_at(c, p->stroke),
	                                    off_ns(rise_of(c), stroke, place_off)));
}

/* What no other point explains is not better known than it deviates from them: gross errors. false: there are none. */
static bool tame(const struct smooth *s, struct smooth_point *p, size_t n)
{
	bool are_any = false;

	for (size_t i = 0; i < n; i++) {
		double se, off = fabs(p[i].y - smooth_left_out(s, i, &se));

		if (off <= GROSS * se)
			continue;
		p[i].se = off;
		are_any = true;
	}
	return are_any;
}

/* Over uniform pairs of cylinders: a distance d has the density 2 (1 - d). */
static struct stats_estimate average_of(const struct smooth *s)
{
	double x[AVERAGE_STEPS], w[AVERAGE_STEPS], se, mean;

	for (size_t i = 0; i < AVERAGE_STEPS; i++) {
		x[i] = ((double)i + 0.5) / AVERAGE_STEPS;
		w[i] = 2.0 * (1.0 - x[i]) / AVERAGE_STEPS;
	}
	mean = smooth_sum(s, x, w, AVERAGE_STEPS, &se);
	return stats_about(mean, STATS_95 * se);
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

/* From the begin to the whole stroke no arm is there long before the command, or takes more than eight revolutions. */
static bool is_likely(const struct curve *c, double period)
{
	double first = c->time[0], last = c->time[CURVE_CELLS - 1];

	return first > -period && first < CURVE_TURNS_MOST * period && last > 0.0 && last < CURVE_TURNS_MOST * period;
}

struct curve curve_of(const struct curve_point *p, size_t n, double period, double place_off)
{
	struct curve c = CURVE_UNKNOWN;
	struct smooth_point v[CURVE_POINTS] = { { 0 } };
	cleanup_free struct smooth *s = NULL;
	double weights = 0.0, sum = 0.0, one = 1.0;

	for (size_t i = 0; i < n; i++) {
		const double rise = p[n - 1].at.value - p[0].at.value,
			     off = off_ns(fmax(rise, 0.0), p[i].stroke, place_off);

		v[i] = (struct smooth_point){ p[i].stroke, p[i].at.value,
			                      fmax(hypot(interval_half(p[i].at.ci), off) / STATS_95, 1e3) };
	}
	s = smooth_new(v, n);
	if (!s)
		return c;
	if (n > 4 && tame(s, v, n)) {
		free(s);
		s = smooth_new(v, n);
	}
	for (size_t i = 0; i < CURVE_CELLS; i++) {
		const double at = curve_cell(i);

		c.time[i] = smooth_sum(s, &at, &one, 1, &c.se[i]);
	}
	c.average = stats_sum(average_of(s), stats_about(0.0, BRIDGE * place_off * rise_of(&c)));
	for (size_t i = 0; i < n; i++) {
		double off = p[i].at.value - curve_at(&c, p[i].stroke), weight = 1.0 / (v[i].se * v[i].se);

		sum += weight * off * off;
		weights += weight;
	}
	c.rms_ns = sqrt(sum / weights);
	c.falls = falls(p, n);
	c.is_known = !c.falls && is_likely(&c, period);
	return c;
}
