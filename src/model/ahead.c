/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/ahead.h"

#include <math.h>

#include "base/cleanup.h"

#define CELLS    800
#define NONSENSE 0.05 /* of the reads: lost revolutions, late answers, hits, tracks that ended */
#define FLOOR_NS 10e3 /* it is known by no better: what the interface takes is known so well */
#define FEWEST   6    /* of fewer nothing is reported (a choice) */

static const double scales[] = { 10e3, 17e3, 30e3, 50e3, 90e3 }; /* of completions: any is as likely beforehand */

/* How likely the time of a read is beside one that may be anything up to the revolution; ret[0]: of a drive that reads
 * ahead, ret[1]: of one that does not. */
static void likely(const struct ahead_read *a, double overhead, double scale, double period, double *ret)
{
	double unit = period / scale, over = (a->wait_ns - overhead) / scale;

	ret[0] = unit * arrival_t4_density((a->ns - fmax(overhead, a->wait_ns)) / scale);
	ret[1] = unit * arrival_t4_cdf(over) * arrival_t4_density((a->ns - a->wait_ns) / scale) +
	         unit * arrival_t4_cdf(-over) * arrival_t4_density((a->ns - a->wait_ns - period) / scale);
}

double ahead_log_likelihood(const struct ahead_read *a, double overhead, double scale, double period)
{
	double v[2];

	likely(a, overhead, scale, period, v);
	return log((1.0 - NONSENSE) * (v[0] + v[1]) / 2.0 + NONSENSE);
}

/* Of all reads together, as logarithms: either way, each scale. */
static double log_likely(const struct ahead_read *on, size_t nread, double overhead, double period)
{
	double sum[2 * ARRAY_LEN(scales)] = { 0.0 };

	for (size_t k = 0; k < ARRAY_LEN(scales); k++)
		for (size_t i = 0; i < nread; i++) {
			double v[2];

			likely(&on[i], overhead, scales[k], period, v);
			sum[2 * k] += log((1.0 - NONSENSE) * v[0] + NONSENSE);
			sum[2 * k + 1] += log((1.0 - NONSENSE) * v[1] + NONSENSE);
		}
	return stats_log_sum(sum, ARRAY_LEN(sum));
}

/* Are two thirds of the reads what an overhead makes of them, one way or the other? */
static bool explains(const struct ahead_read *on, size_t nread, double overhead, double period)
{
	size_t n[2] = { 0, 0 };

	for (size_t i = 0; i < nread; i++) {
		double v[2];

		likely(&on[i], overhead, scales[ARRAY_LEN(scales) - 1], period, v);
		n[0] += v[0] > NONSENSE;
		n[1] += v[1] > NONSENSE;
	}
	return 3 * (n[0] > n[1] ? n[0] : n[1]) >= 2 * nread;
}

bool ahead_overhead(const struct ahead_read *on, size_t nread, double period, double most, struct stats_estimate *ret)
{
	const double step = most / CELLS;
	double v[CELLS], peak = -INFINITY, middle, off = FLOOR_NS;

	for (size_t i = 0; i < nread; i++)
		if (on[i].is_blurred)
			off = AHEAD_BLUR_NS;
	if (nread < FEWEST)
		return false;
	for (size_t k = 0; k < CELLS; k++) {
		v[k] = log_likely(on, nread, ((double)k + 0.5) * step, period);
		peak = fmax(peak, v[k]);
	}
	for (size_t k = 0; k < CELLS; k++)
		v[k] = exp(v[k] - peak);
	middle = step * stats_cell_of_share(v, CELLS, 0.5);
	if (!explains(on, nread, middle, period))
		return false;
	*ret = (struct stats_estimate){ middle,
		                        { fmax(step * stats_cell_of_share(v, CELLS, 0.025) - off, 0.0),
		                          step * stats_cell_of_share(v, CELLS, 0.975) + off } };
	return true;
}
