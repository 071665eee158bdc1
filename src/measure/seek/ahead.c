/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The overhead, from returns to one track and from reads a little ahead of the head (model/ahead.h), which bear other
 * errors. Arithmetic only: no device, no clock. */
#include <math.h>

#include "base/cleanup.h"
#include "measure/seek/analysis.h"
#include "model/ahead.h"

#define BEYOND        20e3 /* ns: up to so much more than returns say is what reads ahead of the head are asked for */
#define AHEAD_ALONE   12   /* reads ahead of the head, of two places, show the overhead alone (a choice) */
#define RETURNS_LEAST 0.25 /* of a place's returns, or that many: one in 40 comes by there by chance */
#define WIDE          0.1  /* of a revolution: wider intervals show nothing (a choice) */
#define RETURNS_MANY  5    /* in time by chance at one angle: once in ten million */

/* All of a log. */
static bool overhead_ahead(const struct aim_log *on, double period, double most, struct stats_estimate *ret)
{
	struct ahead_read v[ARRAY_LEN(on->access)];

	for (size_t i = 0; i < on->n; i++)
		v[i] = (struct ahead_read){ on->access[i].ns, on->access[i].wait_ns, on->access[i].how == AIM_BLURRED };
	return ahead_overhead(v, on->n, period, most, ret);
}

static size_t tried(const struct aim_log *log, uint32_t pair)
{
	size_t n = 0;

	for (size_t i = 0; i < log->n; i++)
		n += log->access[i].pair == pair;
	return n;
}

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

	if (!overhead_ahead(on, k->places.period_ns, returns.ci.high + BEYOND, &ahead))
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

	if (on->pairs < 2 || on->n < AHEAD_ALONE || !overhead_ahead(on, k->places.period_ns, most, &o) ||
	    o.ci.high - o.ci.low > WIDE * k->places.period_ns)
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

		if (more < RETURNS_MANY && (double)more < RETURNS_LEAST * (double)tried(&p->log, g))
			continue;
		for (size_t i = n; i < n + more; i++)
			sample[i].group = (uint32_t)places;
		places++;
		n += more;
	}
	if (places >= 2 && fit_arrival(sample, n, period, &prior, &a) && a.ci.high - a.ci.low < WIDE * period)
		return hold_against(k,
		                    (struct stats_estimate){ fmax(a.median, 0.0), { fmax(a.ci.low, 0.0), a.ci.high } },
		                    &on->log);
	return by_reads_ahead(k, &on->log, &ret) ? ret : SEEK_NO_OVERHEAD;
}
