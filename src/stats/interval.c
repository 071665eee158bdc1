/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals for what disks give: skewed, autocorrelated, with outliers; and when to stop measuring. */
#include "stats/stats.h"

#include <math.h>

#include "base/cleanup.h"

#define BATCHES_MAX 40
#define BATCHES_MIN 10

static const struct interval unknown = { NAN, NAN };

struct batches {
	size_t n;
	double mean[BATCHES_MAX];
	double all, var; /* of the means */
	double r1;       /* their first autocorrelation, bias of short series taken off */
};

/* Means of b batches as equal as can be; they use every value. */
static void batch(const double *x, size_t n, size_t b, struct batches *ret)
{
	double c0 = 0, c1 = 0, sum = 0;

	ret->n = b;
	for (size_t k = 0, i = 0; k < b; k++) {
		size_t end = (size_t)((unsigned __int128)(k + 1) * n / b), from = i;
		double part = 0;

		for (; i < end; i++)
			part += x[i];
		ret->mean[k] = part / (double)(end - from);
		sum += part;
	}
	ret->all = sum / (double)n;
	for (size_t k = 0; k < b; k++) {
		double d = ret->mean[k] - ret->all;

		c0 += d * d;
		if (k)
			c1 += d * (ret->mean[k - 1] - ret->all);
	}
	ret->var = c0 / (double)(b - 1);
	ret->r1 = c0 > 0 ? c1 / c0 : 0;
	/* Kendall 1954: E[r1] = r - (1 + 3 r) / n */
	ret->r1 += (1 + 3 * ret->r1) / (double)b;
}

/*
 * Batch means (Conway 1963; how many: Schmeiser 1982, 10 to 30 are enough). Batches are joined while neighbours
 * correlate visibly (von Neumann's ratio, as Fishman 1978); what correlation is left with 10 widens the variance by
 * (1 + r) / (1 - r) as in Tafazzoli and Wilson 2011 (Skart). x has finite values only.
 */
static struct interval batch_means(const double *x, size_t n)
{
	struct batches b;
	double half, r;
	size_t count = n < BATCHES_MAX ? n : BATCHES_MAX;

	if (n < 2)
		return unknown;
	batch(x, n, count, &b);
	while (b.r1 > 1.6 / sqrt((double)b.n) && b.n > BATCHES_MIN) {
		count = b.n * 3 / 4;
		batch(x, n, count > BATCHES_MIN ? count : BATCHES_MIN, &b);
	}
	r = b.r1 < 0 ? 0 : b.r1 > 0.9 ? 0.9 : b.r1;
	half = stats_t_975((double)(b.n - 1)) * sqrt(b.var / (double)b.n * (1 + r) / (1 - r));
	return (struct interval){ b.all - half, b.all + half };
}

struct interval stats_batch_means_ci(const double *x, size_t n)
{
	cleanup_free double *copy = stats_copy_finite(x, &n);

	return batch_means(copy, n);
}

/*
 * Largest rank r with P(Bin(n, q) < r) <= 2.5 %: the quantile lies below the r-th value with no more than that. 0:
 * none.
 */
static uint64_t lower_rank(uint64_t n, double q)
{
	uint64_t low = 0, high = n; /* rank `low` holds (0 trivially), `high` + 1 does not */

	while (low < high) {
		uint64_t mid = low + (high - low + 1) / 2;

		if (stats_binomial_cdf(mid - 1, n, q) <= 0.025)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

bool stats_quantile_ranks(uint64_t n, double q, uint64_t *ret_low, uint64_t *ret_high)
{
	uint64_t low, high;

	if (n == 0 || !(q > 0 && q < 1))
		return false;
	low = lower_rank(n, q);
	high = lower_rank(n, 1 - q); /* counted from the upper end, by symmetry */
	if (low == 0 || high == 0)
		return false;
	*ret_low = low;
	*ret_high = n + 1 - high;
	return true;
}

struct interval stats_quantile_ci_sorted(const double *x, size_t n, double q)
{
	uint64_t low, high;

	while (n && !isfinite(x[n - 1])) /* NaNs are sorted last */
		n--;
	if (!stats_quantile_ranks(n, q, &low, &high))
		return unknown;
	return (struct interval){ x[low - 1], x[high - 1] };
}

void stop_init(struct stop *s, double precision, size_t min_n)
{
	*s = (struct stop){ .precision = precision, .next_n = min_n };
}

bool stop_check(struct stop *s, const double *x, size_t n)
{
	cleanup_free double *own = NULL;
	struct interval ci;
	bool is_narrow;

	if (s->is_reached || n < s->next_n)
		return s->is_reached;
	s->next_n = n + n / 4 + 1;
	own = stats_copy_finite(x, &n);
	ci = batch_means(own, n);
	is_narrow = interval_half(ci) <= s->precision * fabs(ci.low + ci.high) / 2; /* false where it is not known */
	s->is_reached = s->was_narrow && is_narrow;
	s->was_narrow = is_narrow;
	return s->is_reached;
}

/* Each side is the root of the sum of the squares (R. Barlow, 2004: asymmetric errors, to first order). */
struct stats_estimate stats_sum(struct stats_estimate a, struct stats_estimate b)
{
	double value = a.value + b.value;

	return (struct stats_estimate){ value,
		                        { value - hypot(a.value - a.ci.low, b.value - b.ci.low),
		                          value + hypot(a.ci.high - a.value, b.ci.high - b.value) } };
}

struct stats_estimate stats_times(struct stats_estimate a, double factor)
{
	struct interval ci = { a.ci.low * factor, a.ci.high * factor };

	return (struct stats_estimate){ a.value * factor, factor < 0.0 ? (struct interval){ ci.high, ci.low } : ci };
}

struct stats_estimate stats_difference(struct stats_estimate a, struct stats_estimate b)
{
	return stats_sum(a, stats_times(b, -1.0));
}

static struct stats_estimate log_of(struct stats_estimate a)
{
	return (struct stats_estimate){ log(a.value), { log(fmax(a.ci.low, 0.0)), log(a.ci.high) } };
}

struct stats_estimate stats_ratio(struct stats_estimate a, struct stats_estimate b)
{
	struct stats_estimate d = stats_difference(log_of(a), log_of(b));

	return (struct stats_estimate){ exp(d.value), { exp(d.ci.low), exp(d.ci.high) } };
}

struct interval stats_share_ci(uint64_t k, uint64_t n)
{
	const double z = STATS_95, m = (double)n, p = (double)k / m, d = 1.0 + z * z / m;
	double mid = p + z * z / (2.0 * m), half = z * sqrt(p * (1.0 - p) / m + z * z / (4.0 * m * m));

	if (n == 0)
		return (struct interval){ NAN, NAN };
	/* Exactly p at the ends: rounding would exclude it. */
	return (struct interval){ fmin(fmax((mid - half) / d, 0.0), p), fmax(fmin((mid + half) / d, 1.0), p) };
}
