/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is slow. Neighbouring requests are the measure: their median is the rate of the place. What sticks out in most
 * batches is the drive's own way and no sign of a weak place: changes of tracks, a revolution that it always loses
 * somewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "measure/surface/surface.h"

#define OVER_MARGIN 1.15   /* above what sticks out usually: its own scatter */
#define LEVEL_MOST  1.2    /* of the usual: neighbouring zones differ by less */
#define BASE_LEAST  7      /* batches, before what sticks out in them is known */
#define MADS        8.0    /* instead */
#define TO_SIGMA    1.4826 /* a MAD of Gauss's law to its standard deviation */

static double median_of(const double *v, size_t n)
{
	double copy[SURFACE_BASE > SURFACE_BATCH ? SURFACE_BASE : SURFACE_BATCH];

	memcpy(copy, v, n * sizeof(*v));
	return stats_median(copy, stats_keep_finite(copy, n));
}

struct surface_limit surface_judge(struct surface_base *base, const double *ns_per_byte, size_t n, double len_bytes,
                                   double least_over_ns)
{
	double level = median_of(ns_per_byte, n), off[SURFACE_BATCH], over = 0.0, mad;
	struct surface_limit ret = { .level = level };

	for (size_t i = 0; i < n; i++) {
		off[i] = fabs(ns_per_byte[i] - level);
		over = ns_per_byte[i] - level > over ? ns_per_byte[i] - level : over;
	}
	mad = median_of(off, n);
	if (isnan(level))
		return ret;
	base->level[base->at] = level;
	base->over[base->at] = over;
	base->mad[base->at] = mad;
	base->at = (base->at + 1) % SURFACE_BASE;
	base->n += base->n < SURFACE_BASE;
	if (base->n >= BASE_LEAST) { /* a whole batch that is slow does not hide itself */
		ret.level = fmin(level, median_of(base->level, base->n) * LEVEL_MOST);
		ret.over_ns = OVER_MARGIN * median_of(base->over, base->n) * len_bytes;
	} else {
		ret.over_ns = MADS * TO_SIGMA * median_of(base->mad, base->n) * len_bytes;
	}
	ret.over_ns = fmax(ret.over_ns, least_over_ns);
	return ret;
}
