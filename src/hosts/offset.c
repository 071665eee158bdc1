/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offsets of clocks from round trips. The other clock was read between sent and back, so that its offset lies between
 * there - back and there - sent, however unequal the two ways are; what all round trips allow together is told, with
 * half of its width as the error (Marzullo, Owicki 1983: the intersection of intervals). It is never wider than that of
 * the shortest round trip.
 */
#include <math.h>

#include "hosts/hosts.h"

bool clock_offset_of(const struct clock_sample *samples, size_t n, struct clock_offset *ret)
{
	double low = -INFINITY, high = INFINITY, best_low = 0, best_high = INFINITY;

	for (size_t i = 0; i < n; i++) {
		const struct clock_sample *s = &samples[i];
		double least = (double)(int64_t)(s->there_ns - s->back_ns),
		       most = (double)(int64_t)(s->there_ns - s->sent_ns);

		low = fmax(low, least);
		high = fmin(high, most);
		if (i == 0 || most - least < best_high - best_low) {
			best_low = least;
			best_high = most;
		}
	}
	if (n == 0)
		return false;
	if (low > high) { /* the clocks drifted by more than the ways differ: the shortest way is all there is */
		low = best_low;
		high = best_high;
	}
	*ret = (struct clock_offset){ (low + high) / 2, (high - low) / 2, samples[n - 1].back_ns };
	return true;
}

double clock_ours(const struct clock_offset *before, const struct clock_offset *after, uint64_t there_ns,
                  double *ret_error_ns)
{
	double ours = (double)there_ns - before->offset_ns, part;

	*ret_error_ns = before->error_ns;
	if (!after || after->at_ns <= before->at_ns)
		return ours;
	part = fmin(fmax((ours - (double)before->at_ns) / (double)(after->at_ns - before->at_ns), 0.0), 1.0);
	*ret_error_ns = (1 - part) * before->error_ns + part * after->error_ns;
	return (double)there_ns - (before->offset_ns + part * (after->offset_ns - before->offset_ns));
}
