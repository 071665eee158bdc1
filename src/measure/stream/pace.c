/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * At which rate did blocks go out, measured by their due times? Due times are absolute (begin(k) = ceil(k B / R) after
 * the start), so a late block delays no later one. The answer is the slope of issue time over due time. A busy machine
 * makes single blocks late by milliseconds, never early; from the first block to the last one, one such is 30 ppm of a
 * minute. So: medians of the lateness in up to 64 groups of neighbours, then the median of the slopes between all pairs
 * of groups (Theil 1950, Sen 1968): up to 29 % of the groups may be anything.
 */
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "measure/stream/stream.h"
#include "stats/stats.h"

#define GROUPS 64 /* their 2016 slopes are quickly sorted, and each is a mean of up to 64 points */

void pace_start(struct pace *p)
{
	p->n = 0;
	p->stride = 1;
	p->seen = 0;
}

/* Every block at first; when there are too many every second, and so on. */
void pace_add(struct pace *p, uint64_t due_ns, uint64_t issue_ns)
{
	if (p->seen++ % p->stride)
		return;
	if (p->n == PACE_POINTS) {
		for (size_t i = 0; i < PACE_POINTS / 2; i++)
			p->points[i] = p->points[2 * i];
		p->n = PACE_POINTS / 2;
		p->stride *= 2;
		if ((p->seen - 1) % p->stride)
			return;
	}
	p->points[p->n++] = (struct pace_point){ due_ns, issue_ns };
}

double pace_ratio(struct pace *p)
{
	double due[GROUPS], late[GROUPS], slopes[GROUPS * (GROUPS - 1) / 2], one[PACE_POINTS / GROUPS + 1];
	size_t groups = p->n < GROUPS ? p->n : GROUPS, n = 0;

	qsort(p->points, p->n, sizeof(*p->points), order_u64);
	for (size_t g = 0; g < groups; g++) {
		size_t from = g * p->n / groups, to = (g + 1) * p->n / groups;
		double sum = 0.0;

		for (size_t i = from; i < to; i++) {
			sum += (double)(p->points[i].due_ns - p->points[0].due_ns);
			one[i - from] = (double)(int64_t)(p->points[i].issue_ns - p->points[i].due_ns);
		}
		due[g] = sum / (double)(to - from);
		late[g] = stats_median(one, to - from);
	}
	for (size_t a = 0; a < groups; a++)
		for (size_t b = a + 1; b < groups; b++)
			if (due[b] > due[a])
				slopes[n++] = (late[b] - late[a]) / (due[b] - due[a]);
	return n ? 1.0 / (1.0 + stats_median(slopes, n)) : (double)NAN;
}
