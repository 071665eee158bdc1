/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queues with known answers, in order of arrival at a mean rate (per second) with this mean service (s): what a
 * measurement of a server must find. NaN when it is not stable. M/D/1 to four digits up to a load of 0.99.
 */
#ifndef TEST_QUEUE_LAWS_H
#define TEST_QUEUE_LAWS_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "stats/stats.h"

static bool is_stable(double rate, double service)
{
	return rate >= 0 && service > 0 && rate * service < 1;
}

static inline double law_mg1_mean(double rate, double service, double cv2)
{
	double u = rate * service;

	if (!is_stable(rate, service) || !(cv2 >= 0))
		return NAN;
	return service * (1 + u * (1 + cv2) / (2 * (1 - u)));
}

static inline double law_mm1_mean(double rate, double service)
{
	return law_mg1_mean(rate, service, 1);
}

/* The response of M/M/1 served in order is exponential. */
static inline double law_mm1_quantile(double rate, double service, double q)
{
	if (!(q >= 0 && q < 1))
		return NAN;
	return -log1p(-q) * law_mm1_mean(rate, service);
}

static inline double law_md1_mean(double rate, double service)
{
	return law_mg1_mean(rate, service, 0);
}

#define MD1_STATES ((size_t)4000) /* enough for u = 0.999 at q = 0.9999 */

/*
 * P(at most j in the system), j = 0 .. MD1_STATES - 1, of M/D/1 with load u, by the recursion without subtractions of
 * Ramaswami (1988). Tails of the Poisson law: b[i] = P(arrivals in one service >= i).
 */
static void md1_states(double u, double *tail, double *p, double *sum)
{
	double term = exp(-u), total = term;

	tail[0] = 1;
	for (size_t i = 1; i < MD1_STATES; i++) {
		/* far out 1 - total is rounding; the first term of what is left is good there */
		term *= u / (double)i;
		tail[i] = 1 - total > 1e-6 ? 1 - total : term * (1 + u / (double)(i + 1) * (1 + u / (double)(i + 2)));
		total += term;
	}
	p[0] = sum[0] = 1 - u;
	for (size_t i = 1; i < MD1_STATES; i++) {
		double v = p[0] * tail[i];

		for (size_t j = i > 200 ? i - 200 : 1; j < i; j++) /* arrivals of more than 200 in one service: never */
			v += p[j] * tail[i + 1 - j];
		p[i] = v / (1 - tail[1]);
		sum[i] = sum[i - 1] + p[i];
	}
}

/*
 * P(wait <= t), t in services: with k - 1 <= t < k, exp(-u (k - t)) sum over j < k of Q[k - 1 - j] (u (k - t))^j /
 * j!, where Q[m] = P(at most m + 1 in the system): no alternating terms (Franx 2001).
 */
static double md1_wait_cdf(double t, double u, const double *sum)
{
	size_t k = (size_t)t + 1;
	double y = u * ((double)k - t), term = exp(-y), total = 0;

	for (size_t j = 0; j < k && j < 200; j++) {
		total += term * sum[k - j];
		term *= y / (double)(j + 1);
	}
	return total;
}

static inline double law_md1_quantile(double rate, double service, double q)
{
	cleanup_free double *work = malloc(3 * MD1_STATES * sizeof(*work));
	double u = rate * service, low = 0, high = MD1_STATES - 3, *sum;

	if (!work || !is_stable(rate, service) || !(q >= 0 && q < 1))
		return NAN;
	sum = work + 2 * MD1_STATES;
	md1_states(u, work, work + MD1_STATES, sum);
	if (q <= 1 - u) /* no wait at all */
		return service;
	if (md1_wait_cdf(high, u, sum) < q)
		return NAN; /* loads too near 1 */
	for (int i = 0; i < 100 && high - low > 1e-12 * high; i++) {
		double mid = (low + high) / 2;

		if (md1_wait_cdf(mid, u, sum) < q)
			low = mid;
		else
			high = mid;
	}
	return service * (1 + (low + high) / 2);
}

/* ---- closed: users who think (mean z) and wait for one server, both exponential: the repairman's machines ---- */

#define CLOSED_USERS_MAX 64

/* P(k at the server), k = 0 .. n. */
static inline void closed_states(unsigned n, double service, double z, double *p)
{
	double sum = p[0] = 1;

	for (unsigned k = 1; k <= n; k++)
		sum += p[k] = p[k - 1] * (n - k + 1) * service / z;
	for (unsigned k = 0; k <= n; k++)
		p[k] /= sum;
}

static inline double law_closed_per_s(unsigned n, double service, double z)
{
	double p[CLOSED_USERS_MAX + 1];

	closed_states(n, service, z, p);
	return (1 - p[0]) / service;
}

static inline double law_closed_mean(unsigned n, double service, double z)
{
	return n / law_closed_per_s(n, service, z) - z;
}

/*
 * Who arrives finds what the others alone would leave (Sevcik and Mitrani 1981), and waits for so many services and its
 * own.
 */
static inline double law_closed_quantile(unsigned n, double service, double z, double q)
{
	double p[CLOSED_USERS_MAX + 1], low = 0, high = 100 * n;

	closed_states(n - 1, service, z, p);
	for (int i = 0; i < 100; i++) {
		double t = (low + high) / 2, term = exp(-t), tail = 0, sum = 0;

		for (unsigned k = 0; k < n; k++) {
			tail += term; /* P(of k + 1 services not all are over by t) */
			term *= t / (k + 1);
			sum += p[k] * (1 - tail);
		}
		*(sum < q ? &low : &high) = t;
	}
	return service * (low + high) / 2;
}

/* The think time with which the server is as busy as that. */
static inline double law_closed_think(unsigned n, double service, double load)
{
	double low = 1e-3 * service, high = 1e6 * service;

	for (int i = 0; i < 200; i++) {
		double z = sqrt(low * high);

		*(law_closed_per_s(n, service, z) * service > load ? &low : &high) = z;
	}
	return low;
}

/* p value of gaps that should be exponential with a mean known beforehand. Replaces gap by their places in that law,
 * sorted. */
static inline double ks_exponential(double *gap, size_t n, double mean)
{
	double p = (double)NAN;

	for (size_t i = 0; i < n; i++)
		gap[i] = gap[i] > 0 ? -expm1(-gap[i] / mean) : 0;
	stats_sort(gap, n);
	(void)stats_ks_uniform_sorted(gap, n, &p);
	return p;
}

#endif
