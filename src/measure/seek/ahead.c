/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The overhead, from returns to one track and from reads a little ahead of the head, which bear other errors.
 * Arithmetic only: no device, no clock. */
#include <math.h>

#include "base/cleanup.h"
#include "measure/seek/analysis.h"

#define NONSENSE 0.05 /* of the reads: lost revolutions, late answers, hits, tracks that ended */

/* ---- reads ahead of the head ---- */

/*
 * What reads a little ahead of the head say of the overhead: of sectors on the track that the head is over, which come
 * by when the command is given, or soon after it. Where a track begins need not be known for that, so that it goes
 * where tracks are unequal, too. Drives do one of two things:
 *
 *	they read ahead	what is on its way is answered when the command is through, or when the sector has come
 *			by: the later of both, max(o, w);
 *	they do not	the sector is waited for: w where the command is through by then, and w and a revolution
 *			where it is not.
 *
 * Both are tried, each is as likely beforehand, and the reads themselves say which it is.
 */
static const double scales[] = { 10e3, 17e3, 30e3, 50e3, 90e3 }; /* of completions: any is as likely beforehand */

/* How likely the time of a read is beside one that may be anything up to the revolution; ret[0]: of a drive that reads
 * ahead, ret[1]: of one that does not. */
static void likely(const struct aim_access *a, double overhead, double scale, double period, double *ret)
{
	double unit = period / scale, over = (a->wait_ns - overhead) / scale;

	ret[0] = unit * arrival_t4_density((a->ns - fmax(overhead, a->wait_ns)) / scale);
	ret[1] = unit * arrival_t4_cdf(over) * arrival_t4_density((a->ns - a->wait_ns) / scale) +
	         unit * arrival_t4_cdf(-over) * arrival_t4_density((a->ns - a->wait_ns - period) / scale);
}

double seek_ahead_log_likelihood(const struct aim_access *a, double overhead, double scale, double period)
{
	double v[2];

	likely(a, overhead, scale, period, v);
	return log((1.0 - NONSENSE) * (v[0] + v[1]) / 2.0 + NONSENSE);
}

/* Of all reads together, as logarithms: either way, each scale. */
static double log_likely(const struct aim_access *on, size_t nread, double overhead, double period)
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

/* Are more than two thirds of the reads what an overhead makes of them, one way or the other? */
static bool explains(const struct aim_access *on, size_t nread, double overhead, double period)
{
	size_t n[2] = { 0, 0 };

	for (size_t i = 0; i < nread; i++) {
		double v[2];

		likely(&on[i], overhead, scales[ARRAY_LEN(scales) - 1], period, v);
		n[0] += v[0] > NONSENSE;
		n[1] += v[1] > NONSENSE;
	}
	return 3 * (n[0] > n[1] ? n[0] : n[1]) > 2 * nread;
}

/* The middle of what is likely of the overhead up to most, and its 95 %; false: not known. */
static bool ahead_overhead(const struct aim_access *on, size_t nread, double period, double most,
                           struct stats_estimate *ret)
{
	const double step = most / SEEK_CELLS;
	double v[SEEK_CELLS], peak = -INFINITY, middle, off = SEEK_FLOOR_NS;

	for (size_t i = 0; i < nread; i++)
		if (on[i].how == AIM_BLURRED)
			off = SEEK_BLUR_NS;
	for (size_t k = 0; k < SEEK_CELLS; k++) {
		v[k] = log_likely(on, nread, ((double)k + 0.5) * step, period);
		peak = fmax(peak, v[k]);
	}
	for (size_t k = 0; k < SEEK_CELLS; k++)
		v[k] = exp(v[k] - peak);
	middle = step * stats_cell_of_share(v, SEEK_CELLS, 0.5);
	if (!explains(on, nread, middle, period))
		return false;
	*ret = (struct stats_estimate){ middle,
		                        { fmax(step * stats_cell_of_share(v, SEEK_CELLS, 0.025) - off, 0.0),
		                          step * stats_cell_of_share(v, SEEK_CELLS, 0.975) + off } };
	return true;
}

/* ---- both ways ---- */

/* A drive may take up what it reads ahead like what its cache answers: these take as long then. */
static bool are_like_hits(const struct seek_known *k, struct interval on)
{
	return k->hits.without_ns > 0.0 && on.low <= k->hits.without_ns && on.high >= k->hits.without_ns;
}

/*
 * Two ways that bear other errors. Where reads that go on need less for certain, returns hold a time to find the place
 * again, or reads that go on are answered in a shorter way: the overhead is what the shorter ones take unless that is
 * what hits take, and the interval holds both. Else it is the mean of both by their weights, and what they differ is in
 * the interval.
 */
static struct seek_overhead hold_against(const struct seek_known *k, struct stats_estimate returns,
                                         const struct aim_log *on)
{
	struct seek_overhead o = { .ns = returns.value, .ci = returns.ci };
	struct stats_estimate ahead, mean;
	double own, other;

	if (!ahead_overhead(on->access, on->n, k->places.period_ns, returns.ci.high + SEEK_BLUR_NS, &ahead))
		return o;
	if (ahead.ci.high < returns.ci.low) {
		o.ci.low = ahead.ci.low;
		if (are_like_hits(k, ahead.ci))
			return o;
		o.restart_ns = returns.value - ahead.value;
		o.ns = ahead.value;
		return o;
	}
	own = pow(interval_half(returns.ci), -2.0);
	other = pow(interval_half(ahead.ci), -2.0);
	mean = stats_sum(stats_times(returns, own / (own + other)), stats_times(ahead, other / (own + other)));
	mean = stats_sum(mean, stats_about(0.0, returns.value - ahead.value));
	return (struct seek_overhead){ .ns = mean.value, .ci = { fmax(mean.ci.low, 0.0), mean.ci.high } };
}

/* Where no track is known well enough to come back to, as tracks are unequal. */
static bool by_reads_ahead(const struct seek_known *k, const struct aim_log *on, struct seek_overhead *ret)
{
	const double most = SEEK_OVERHEAD_MOST * k->places.period_ns;
	struct stats_estimate o;

	if (on->pairs < 2 || !ahead_overhead(on->access, on->n, k->places.period_ns, most, &o) ||
	    interval_half(o.ci) > SEEK_KNOWN * k->places.period_ns)
		return false;
	*ret = (struct seek_overhead){ .ns = o.value, .ci = o.ci };
	if (!(k->hits.without_ns > 0.0) || are_like_hits(k, o.ci))
		ret->ci.high = most; /* until the curve is known */
	return true;
}

double seek_bound_overhead(const struct seek_known *k, const struct seek_samples *m, double least)
{
	for (size_t i = 0; i < m->naimed; i++)
		if (m->aimed[i].is_known)
			least = fmin(least, m->aimed[i].fit.ci.high);
	return k->overhead.ci.high > least ? fmax(least, k->overhead.ns) : k->overhead.ci.high;
}

struct stats_estimate seek_less_overhead(const struct seek_known *k, struct stats_estimate arrival)
{
	return stats_difference(arrival, (struct stats_estimate){ k->overhead.ns, k->overhead.ci });
}

bool seek_is_after_overhead(const struct seek_known *k, const struct arrival *a)
{
	return !isfinite(k->overhead.ns) || a->median > k->overhead.ns;
}

struct seek_overhead seek_overhead_of(const struct seek_known *k, const struct seek_point *p,
                                      const struct seek_point *on)
{
	const struct arrival_prior prior = { .scatter = SEEK_SCATTER * k->places.period_ns };
	const double period = k->places.period_ns;
	struct seek_overhead ret;
	struct arrival_sample sample[ARRAY_LEN(p->log.access)];
	size_t n = 0, places = 0;
	struct arrival a;

	for (uint32_t g = 0; g < p->log.pairs; g++) {
		size_t more = seek_log_samples(&p->log, g, sample + n, ARRAY_LEN(sample) - n);

		if (more < SEEK_SHOWS)
			continue;
		for (size_t i = n; i < n + more; i++)
			sample[i].group = (uint32_t)places;
		places++;
		n += more;
	}
	/* One place may be odd: only a short run has no time for two. */
	if (places >= (k->is_quick ? 1 : 2) && fit_arrival(sample, n, period, &prior, &a) &&
	    interval_half(a.ci) < SEEK_KNOWN * period)
		return hold_against(k,
		                    (struct stats_estimate){ fmax(a.median, 0.0), { fmax(a.ci.low, 0.0), a.ci.high } },
		                    &on->log);
	return by_reads_ahead(k, &on->log, &ret) ? ret : SEEK_NO_OVERHEAD;
}
