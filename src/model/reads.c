/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/reads.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"

#define NODES       3
#define MISSED      0.03 /* of the reads, more or less (real drives: 0.001 to 0.07) */
#define COARSE_STEP 0.06 /* of a revolution */
#define COARSE_MOST 300  /* reads are enough for that */
#define LAST_STEPS  0.1  /* of the scatter: a step from which nothing is won any more */

static const double node_root[NODES] = { 0.14, 0.5,
	                                 1.0 }; /* roots of distances, where the times are what is looked for */

struct judge {
	const struct reads_way *v;
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

static double likely(const struct judge *j, const double *time, double scatter)
{
	double sum = 0.0;

	for (size_t i = 0; i < j->n; i++)
		sum += log(arrival_likelihood(j->v[i].ns, time_at(time, j->v[i].stroke), scatter, j->period, MISSED));
	return sum;
}

/* The likeliest a + b sqrt(d), on a grid that a real curve lies within a twentieth of a revolution of: its times. */
static void coarse(const struct reads_way *v, size_t n, double period, double *ret)
{
	const double step = COARSE_STEP * period;
	double most = -INFINITY;

	n = n < COARSE_MOST ? n : COARSE_MOST;
	for (int i = 0; i < 30; i++)
		for (int k = 0; k < 60; k++) {
			const double a = i * step, b = k * 1.5 * step;
			double sum = 0.0;

			for (size_t j = 0; j < n; j++)
				sum += log(
					arrival_likelihood(v[j].ns, a + b * sqrt(v[j].stroke), step, period, MISSED));
			if (sum <= most)
				continue;
			most = sum;
			for (size_t m = 0; m < NODES; m++)
				ret[m] = a + b * node_root[m];
		}
}

/* From there always to what is likelier, by ever smaller steps. */
static double climb(struct judge *j, double scatter)
{
	double most = likely(j, j->time, scatter);

	for (double step = scatter; step > LAST_STEPS * scatter; step /= 2.0)
		for (bool better = true; better;) {
			better = false;
			for (size_t k = 0; k < 2 * NODES; k++) {
				double kept = j->time[k / 2], now;

				j->time[k / 2] += k & 1 ? step : -step;
				now = likely(j, j->time, scatter);
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

struct curve reads_curve(const struct reads_way *v, size_t n, double period, const struct curve *from)
{
	struct curve c = { .is_known = true };
	struct judge j = { .v = v, .n = n, .period = period };

	if (!from)
		coarse(v, n, period, j.time);
	for (size_t m = 0; from && m < NODES; m++)
		j.time[m] = curve_at(from, node_root[m] * node_root[m]);
	likeliest(&j, &c.rms_ns);
	for (size_t i = 0; i < CURVE_CELLS; i++)
		c.time[i] = time_at(j.time, curve_cell(i));
	return c;
}
