/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A series of any length in bounded memory, for batch means (interval.c): it is kept in slots of one width, and
 * whenever they are used up, neighbours are joined and the width doubled.
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
		for (size_t i = 0; i < SLOTS_MAX / 2; i++)
			s->sum[i] = s->sum[2 * i] + s->sum[2 * i + 1];
		memset(s->sum + SLOTS_MAX / 2, 0, sizeof(s->sum) / 2);
		s->width *= 2;
	}
	s->sum[at / s->width] += value;
}

struct interval slots_rate_ci(const struct slots *s, uint64_t end, double rate)
{
	double x[SLOTS_MAX] = { 0 }, half;
	size_t n = 0;

	for (; n < SLOTS_MAX && (n + 1) * s->width <= end; n++)
		x[n] = s->sum[n] / (double)s->width;
	half = n >= SLOTS_MIN ? interval_half(stats_batch_means_ci(x, n)) : (double)NAN;
	return (struct interval){ rate - half, rate + half };
}
