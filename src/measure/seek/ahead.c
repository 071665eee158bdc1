/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What reads a little ahead of the head say of the overhead: of sectors on the track that the head is over, which come
 *by when the command is given, or soon after it. Where a track begins need not be known for that, so that it goes where
 *tracks are unequal, too. Drives do one of two things:
 *
 *	they read ahead	 what is on its way is answered when the command is through, or when the sector has come by: the
 *later of both, max(o, w); they do not	 the sector is waited for: w where the command is through by then, and w and a
 *revolution where it is not.
 *
 * Both are tried, each is as likely beforehand, and the reads themselves say which it is. With returns to one track
 * they tell the overhead. Arithmetic only: no device, no clock.
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/seek/seek.h"

#define CELLS    800
#define NONSENSE 0.05 /* of the reads: lost revolutions, late answers, hits, tracks that ended */
#define FLOOR_NS 10e3 /* it is known by no better: what the interface takes is known so well */
#define FEWEST   6    /* of fewer nothing is told (a choice) */
#define BEYOND   20e3 /* ns: up to so much more than returns say is what reads ahead of the head are asked for */
#define AHEAD_ALONE                                                                                                    \
	12 /* reads ahead of the head, of two places at least: fewer do not tell the overhead by themselves (a choice) \
	    */
#define RETURNS_LEAST                                                                                                \
	0.25 /* of a place's returns, or so many: one in 40 comes by at the angle aimed at by chance where it is not \
	        one track */
#define RETURNS_MANY 5 /* in time by chance at one angle: once in ten million */

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
static double log_likely(const struct aim_log *on, double overhead, double period)
{
	double sum[2 * ARRAY_LEN(scales)] = { 0.0 }, most = -INFINITY, all = 0.0;

	for (size_t k = 0; k < ARRAY_LEN(scales); k++)
		for (size_t i = 0; i < on->n; i++) {
			double v[2];

			likely(&on->access[i], overhead, scales[k], period, v);
			sum[2 * k] += log((1.0 - NONSENSE) * v[0] + NONSENSE);
			sum[2 * k + 1] += log((1.0 - NONSENSE) * v[1] + NONSENSE);
		}
	for (size_t k = 0; k < ARRAY_LEN(sum); k++)
		most = fmax(most, sum[k]);
	for (size_t k = 0; k < ARRAY_LEN(sum); k++)
		all += exp(sum[k] - most);
	return most + log(all);
}

/* Are two thirds of the reads what an overhead makes of them, one way or the other? */
static bool explains(const struct aim_log *on, double overhead, double period)
{
	size_t n[2] = { 0, 0 };

	for (size_t i = 0; i < on->n; i++) {
		double v[2];

		likely(&on->access[i], overhead, scales[ARRAY_LEN(scales) - 1], period, v);
		n[0] += v[0] > NONSENSE;
		n[1] += v[1] > NONSENSE;
	}
	return 3 * (n[0] > n[1] ? n[0] : n[1]) >= 2 * on->n;
}

/* The middle of what is likely of the overhead up to most, and its 95 %; false: not known. */
static bool ahead_overhead(const struct aim_log *on, double period, double most, double *ret, struct interval *ret_ci)
{
	static const double parts[] = { 0.025, 0.5, 0.975 };
	double v[CELLS], peak = -INFINITY, all = 0.0, sum = 0.0, at[3] = { NAN, NAN, NAN }, off = FLOOR_NS;

	for (size_t i = 0; i < on->n; i++)
		if (on->access[i].how == AIM_BLURRED)
			off = SEEK_AHEAD_BLUR_NS;
	if (on->n < FEWEST)
		return false;
	for (size_t k = 0; k < CELLS; k++) {
		v[k] = log_likely(on, ((double)k + 0.5) / CELLS * most, period);
		peak = fmax(peak, v[k]);
	}
	for (size_t k = 0; k < CELLS; k++)
		all += v[k] = exp(v[k] - peak);
	for (size_t k = 0; k < CELLS; k++) {
		for (size_t j = 0; j < ARRAY_LEN(parts); j++)
			if (sum <= parts[j] * all)
				at[j] = ((double)k + 0.5) / CELLS * most;
		sum += v[k];
	}
	if (!explains(on, at[1], period))
		return false;
	*ret = at[1];
	*ret_ci = (struct interval){ fmax(at[0] - off, 0.0), at[2] + off };
	return true;
}

/* ---- with returns ---- */

static size_t tried(const struct aim_log *log, uint32_t pair)
{
	size_t n = 0;

	for (size_t i = 0; i < log->n; i++)
		n += log->access[i].pair == pair;
	return n;
}

#define UNSEPARATED(whose) \
	whose " overhead could not be separated from the seek: no equal tracks were found on which the head stays. Times with overhead are given, and no seek time by itself."

void seek_no_overhead(struct seek_run *s)
{
	s->overhead_ns = NAN;
	s->overhead_ci = (struct interval){ NAN, NAN };
	if (seek_is_cut(s, SEEK_OVERHEAD))
		result_notice(
			s->res, seek_of(s, "overhead", "write-overhead"),
			"There was no time to find the %scommand overhead: times with overhead are given, and no seek time by itself. A longer run looks for it.",
			seek_of(s, "", "writes' "));
	else if (s->is_writing)
		result_notice(s->res, "write-overhead", UNSEPARATED("The writes'"));
	else
		result_notice(s->res, "overhead", UNSEPARATED("The command"));
}

/* A drive may take up what it reads ahead like what its cache answers: these take as long then. */
static bool are_like_hits(const struct seek_run *s, struct interval on)
{
	return s->cached_ns > 0.0 && on.low <= s->cached_ns && on.high >= s->cached_ns;
}

/*
 * Two ways that bear other errors. Where reads that go on need less for certain, returns hold a time to find the place
 * again, or reads that go on are answered in a shorter way: the overhead is what the shorter ones take unless that is
 * what hits take, and the interval holds both. Else it is the mean of both by their weights, and what they differ is in
 * the interval.
 */
static void hold_against(struct seek_run *s, const struct aim_log *on)
{
	const struct stats_estimate returns = { s->overhead_ns, s->overhead_ci };
	struct stats_estimate ahead, mean;
	char text[32];
	double own, other;

	if (!ahead_overhead(on, s->rot.period_ns, returns.ci.high + BEYOND, &ahead.value, &ahead.ci))
		return;
	if (ahead.ci.high < returns.ci.low) {
		s->overhead_ci.low = ahead.ci.low;
		if (are_like_hits(s, ahead.ci))
			return;
		s->restart_ns = returns.value - ahead.value;
		s->overhead_ns = ahead.value;
		result_notice(
			s->res, "restart",
			"A read that goes on with what the drive is reading takes %s less than one that comes back to the same track: the drive needs so long to find its place again, or has a shorter way for what it reads ahead. The overhead is that of the former; intervals reach to that of the latter.",
			units_time(text, sizeof(text), (uint64_t)s->restart_ns));
		return;
	}
	own = pow(interval_half(returns.ci), -2.0);
	other = pow(interval_half(ahead.ci), -2.0);
	mean = stats_sum(stats_times(returns, own / (own + other)), stats_times(ahead, other / (own + other)));
	mean = stats_sum(mean, stats_about(0.0, returns.value - ahead.value));
	s->overhead_ns = mean.value;
	s->overhead_ci = (struct interval){ fmax(mean.ci.low, 0.0), mean.ci.high };
}

/* Where no track is known well enough to come back to, as tracks are unequal. */
static bool by_reads_ahead(struct seek_run *s, const struct aim_log *on)
{
	double overhead;
	struct interval ci;

	if (on->pairs < 2 || on->n < AHEAD_ALONE ||
	    !ahead_overhead(on, s->rot.period_ns, SEEK_OVERHEAD_MOST * s->rot.period_ns, &overhead, &ci) ||
	    ci.high - ci.low > 0.1 * s->rot.period_ns)
		return false;
	s->overhead_ns = overhead;
	s->overhead_ci = ci;
	if (!(s->cached_ns > 0.0) || are_like_hits(s, ci))
		s->overhead_ci.high = SEEK_OVERHEAD_MOST * s->rot.period_ns; /* until the curve is known */
	return true;
}

/* No head is there before the command is through. */
void seek_bound_overhead(struct seek_run *s, double least)
{
	for (size_t i = 0; i < s->naimed; i++)
		if (s->aimed[i].is_known)
			least = fmin(least, s->aimed[i].fit.ci.high);
	if (s->overhead_ci.high > least)
		s->overhead_ci.high = fmax(least, s->overhead_ns);
}

void seek_conclude_overhead(struct seek_run *s, const struct seek_point *p, const struct seek_point *on)
{
	const struct arrival_prior prior = { .scatter = 0.003 * s->rot.period_ns };
	struct arrival_sample sample[ARRAY_LEN(p->log.access)];
	size_t n = 0, places = 0;
	struct arrival a;

	if (s->cached_ns > 0.0)
		result_figure(s->res, "sector_hit_ns", "a sector from the drive's cache, without its transfer", UNIT_NS,
		              s->cached_ns, NULL, 0);
	for (uint32_t g = 0; g < p->log.pairs; g++) {
		size_t more = seek_samples(&p->log, g, sample + n, ARRAY_LEN(sample) - n);

		if (more < RETURNS_MANY && (double)more < RETURNS_LEAST * (double)tried(&p->log, g))
			continue;
		for (size_t i = n; i < n + more; i++)
			sample[i].group = (uint32_t)places;
		places++;
		n += more;
	}
	/* Of writes nobody knows how much of it is the time to find the place again that reads were seen to need. */
	if (places >= 2 && !(s->is_writing && s->restart_ns > 0.0) &&
	    fit_arrival(sample, n, s->rot.period_ns, &prior, &a) && a.ci.high - a.ci.low < 0.1 * s->rot.period_ns) {
		s->overhead_ns = fmax(a.median, 0.0);
		s->overhead_ci = (struct interval){ fmax(a.ci.low, 0.0), a.ci.high };
		hold_against(s, &on->log);
		return;
	}
	if (!s->is_writing && by_reads_ahead(s, &on->log))
		return;
	seek_no_overhead(s);
}
