/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a random read should take, straight from the times of others, and of aimed accesses: the likeliest a + b sqrt(d)
 * + c d (stats/arrival.c says how likely a time is by it). That is no seek curve to be told, as it knows neither its
 * own error nor a knee; but it needs no points of thirty reads each, and a hundred reads know three numbers well. The
 * mean over the device, which it takes variance off, is right by any curve (control.c).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

#define NODES       3
#define MISSED      0.03 /* of the reads, more or less (real drives: 0.001 to 0.07) */
#define COARSE_STEP 0.06 /* of a revolution */
#define COARSE_MOST 100  /* reads are enough for that */
#define LAST_STEPS  0.1  /* of the scatter: a step from which nothing is won any more */
#define AIMED_MOST  24   /* accesses of one distance: it does not outweigh all others (a choice) */
#define DATA_MAX    (SEEK_RANDOM_MAX + AIMED_MOST * POINTS_MAX)

static const double node_root[NODES] = { 0.14, 0.5,
	                                 1.0 }; /* roots of distances, where the times are what is looked for */

struct judge {
	const struct seek_random *v;
	size_t n;
	double period, time[NODES];
};

/* Through the three times, a parabola of the root of the distance. */
static double time_at(const double *time, double stroke)
{
	double x = sqrt(stroke), sum = 0.0;

	for (size_t i = 0; i < NODES; i++) {
		double part = 1.0;

		for (size_t k = 0; k < NODES; k++)
			if (k != i)
				part *= (x - node_root[k]) / (node_root[i] - node_root[k]);
		sum += part * time[i];
	}
	return sum;
}

static double likely(const struct judge *j, const double *time, double scatter, size_t most)
{
	double sum = 0.0;

	for (size_t i = 0; i < j->n && i < most; i++)
		sum += log(arrival_likelihood(j->v[i].ns, time_at(time, j->v[i].stroke), scatter, j->period, MISSED));
	return sum;
}

/* Of all a + b sqrt(d) on a grid. */
static void begin(struct judge *j)
{
	const double step = COARSE_STEP * j->period;
	double most = -INFINITY;

	for (int i = 0; i < 30; i++)
		for (int k = 0; k < 60; k++) {
			double time[NODES], now;

			for (size_t m = 0; m < NODES; m++)
				time[m] = i * step + 1.5 * k * step * node_root[m];
			now = likely(j, time, step, COARSE_MOST);
			if (now > most) {
				most = now;
				for (size_t m = 0; m < NODES; m++)
					j->time[m] = time[m];
			}
		}
}

/* From there always to what is likelier, by ever smaller steps. */
static double climb(struct judge *j, double scatter)
{
	double most = likely(j, j->time, scatter, j->n);

	for (double step = scatter; step > LAST_STEPS * scatter; step /= 2.0)
		for (bool better = true; better;) {
			better = false;
			for (size_t k = 0; k < 2 * NODES; k++) {
				double kept = j->time[k / 2], now;

				j->time[k / 2] += k & 1 ? step : -step;
				now = likely(j, j->time, scatter, j->n);
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
static double likeliest(struct judge *j, double *ret_scatter)
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
	return most;
}

/* Behind the reads, what aimed accesses say: of distances that are known, and not far from what reads say, as what a
 * bridge's cache answers is. */
static void add_aimed(const struct seek_run *s, struct judge *j, struct seek_random *v)
{
	for (size_t i = 0; i < s->naimed; i++) {
		const struct seek_point *p = &s->aimed[i];
		size_t n = 0;

		if (!p->is_known || fabs(p->fit.median - time_at(j->time, p->stroke)) > SEEK_STRAY * j->period)
			continue;
		for (size_t k = 0; k < p->log.n && n < AIMED_MOST; k++)
			if (aim_tells(&p->log.access[k])) {
				v[j->n++] = (struct seek_random){ .stroke = p->stroke, .ns = p->log.access[k].ns };
				n++;
			}
	}
}

void seek_judge_of_reads(struct seek_run *s, size_t without)
{
	cleanup_free struct seek_random *v = malloc(DATA_MAX * sizeof(*v));
	struct judge j = { .v = v, .period = s->rot.period_ns };
	double most, told = 0.0, scatter = 0.0;

	for (size_t i = 0; v && i < s->nrandom; i++)
		if (s->random[i].part != without)
			v[j.n++] = s->random[i];
	if (j.n < SEEK_JUDGED_LEAST)
		return;
	begin(&j);
	(void)likeliest(&j, &scatter);
	add_aimed(s, &j, v);
	most = likeliest(&j, &scatter);
	for (size_t i = 0; s->has_fit && i < j.n; i++)
		told += log(arrival_likelihood(v[i].ns, seek_arrival(s, v[i].stroke), scatter, j.period, MISSED));
	if (s->has_fit && told >= most)
		return;
	s->fit = (struct seek_fit){ .knee = NAN };
	for (size_t i = 0; i < SEEK_SMOOTH_CELLS; i++)
		s->smooth[i] = time_at(j.time, seek_smooth_at(i));
	s->smooth_rms_ns = scatter;
	s->has_fit = true;
}
