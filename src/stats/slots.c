/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A series of any length in bounded memory, for batch means (interval.c): it is kept in slots of one width, and whenever they are used up, neighbours are
 * joined and the width doubled.
 */
#include <math.h>
#include <string.h>

#include "stats/stats.h"

void slots_start(struct slots *s, uint64_t width)
{
	memset(s, 0, sizeof(*s));
	s->width = width;
}

void slots_add(struct slots *s, uint64_t at, double value)
{
	while (at / s->width >= SLOTS_MAX) {
		for (size_t i = 0; i < SLOTS_MAX / 2; i++) {
			s->sum[i] = s->sum[2 * i] + s->sum[2 * i + 1];
			s->count[i] = s->count[2 * i] + s->count[2 * i + 1];
		}
		memset(s->sum + SLOTS_MAX / 2, 0, sizeof(s->sum) / 2);
		memset(s->count + SLOTS_MAX / 2, 0, sizeof(s->count) / 2);
		s->width *= 2;
	}
	s->sum[at / s->width] += value;
	s->count[at / s->width]++;
}

/* The interval of the slots' mean, put around the value that was told; what a last slot that is not full has to say is left out. */
static struct interval around(const double *x, size_t n, double value)
{
	struct interval ci = stats_batch_means_ci(x, n);
	double half = n >= SLOTS_MIN ? interval_half(ci) : (double)NAN;

	return (struct interval){ value - half, value + half };
}

struct interval slots_rate_ci(const struct slots *s, uint64_t end, double rate)
{
	double x[SLOTS_MAX] = { 0 };
	size_t n = 0;

	for (; n < SLOTS_MAX && (n + 1) * s->width <= end; n++)
		x[n] = s->sum[n] / (double)s->width;
	return around(x, n, rate);
}

struct interval slots_mean_ci(const struct slots *s, double mean)
{
	double x[SLOTS_MAX] = { 0 };
	size_t n = 0;

	for (; n < SLOTS_MAX && s->count[n] == s->width; n++)
		x[n] = s->sum[n] / (double)s->count[n];
	return around(x, n, mean);
}
