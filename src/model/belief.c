/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/belief.h"

#include <math.h>

#include "stats/stats.h"

#define NEAR_EDGE 0.7 /* scales (of the logistic law) */
#define HARDLY    5.0 /* in the logarithm: a few accesses that say otherwise are believed (a choice) */
#define FORGETS                                                                                                       \
	0.5 /* what the places before show of the next ones: their log likelihood times this (a choice: half as sure) \
	     */

void belief_anything(struct belief *b, double most, size_t n, double scatter)
{
	*b = (struct belief){ .n = n, .step = most / (double)n, .scatter = scatter };
}

void belief_within(struct belief *b, struct interval ns)
{
	for (size_t i = 0; i < b->n; i++) {
		double median = ((double)i + 0.5) * b->step;

		if (median < ns.low || median > ns.high)
			b->log_likelihood[i] -= HARDLY;
	}
}

void belief_learn(struct belief *b, double access, double period)
{
	const double missed = 0.02, never = log(arrival_likelihood(0.0, period, b->scatter, period, missed));

	for (size_t i = 0; i < b->n; i++) {
		double median = ((double)i + 0.5) * b->step;

		b->log_likelihood[i] += median > access + 30.0 * b->scatter
		                                ? never
		                                : log(arrival_likelihood(access, median, b->scatter, period, missed));
	}
}

/* Other places of the same distance take about as long. */
void belief_fades(struct belief *b)
{
	double most = -INFINITY;

	for (size_t i = 0; i < b->n; i++)
		most = fmax(most, b->log_likelihood[i]);
	for (size_t i = 0; i < b->n; i++)
		b->log_likelihood[i] = fmax((b->log_likelihood[i] - most) * FORGETS, -9.0);
}

double belief_draw(const struct belief *b, struct rng *rng)
{
	double most = -INFINITY, sum = 0.0, at;

	for (size_t i = 0; i < b->n; i++)
		most = fmax(most, b->log_likelihood[i]);
	for (size_t i = 0; i < b->n; i++)
		sum += exp(b->log_likelihood[i] - most);
	at = rng_double(rng) * sum;
	for (size_t i = 0; i < b->n; i++) {
		at -= exp(b->log_likelihood[i] - most);
		if (at <= 0.0)
			return ((double)i + rng_double(rng)) * b->step;
	}
	return 0.0;
}

double belief_aim(const struct belief *b, struct rng *rng, size_t i)
{
	return belief_draw(b, rng) + (i & 1 ? NEAR_EDGE : -NEAR_EDGE) * b->scatter;
}
