/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Summaries of a sample. Two passes for the variance, so that a large mean costs no digits. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

static int compare(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a > b) - (a < b);
}

void stats_sort(double *x, size_t n)
{
	if (n > 1)
		qsort(x, n, sizeof(*x), compare);
}

size_t stats_keep_finite(double *x, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		double v = x[i];

		if (!isfinite(v))
			continue;
		x[i] = x[kept];
		x[kept++] = v;
	}
	return kept;
}

double *stats_copy_finite(const double *x, size_t *n)
{
	double *copy = xcalloc(*n, sizeof(*copy));
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (isfinite(x[i]))
			copy[kept++] = x[i];
	*n = kept;
	return copy;
}

/* Of sorted values: how many pairs lie at most so far apart. */
static size_t pairs_within(const double *x, size_t n, double most)
{
	size_t pairs = 0;

	for (size_t i = 0, from = 0; i < n; i++) {
		while (x[i] - x[from] > most)
			from++;
		pairs += i - from;
	}
	return pairs;
}

/*
 * Qn (Rousseeuw and Croux 1993): about the first quarter of all distances of two, with their factors for few values
 * (Croux and Rousseeuw 1992). The distance is found by halving, as all of them are too many to keep.
 */
double stats_qn(const double *x, size_t n)
{
	static const double few[] = { 0, 0, 0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872 };
	cleanup_free double *own = stats_copy_finite(x, &n);
	const size_t h = n / 2 + 1;
	double low = -1.0, high, factor;

	if (n < 2)
		return NAN;
	stats_sort(own, n);
	high = own[n - 1] - own[0];
	for (double mid = high / 2.0; mid > low && mid < high; mid = low < 0.0 ? high / 2.0 : low + (high - low) / 2.0)
		*(pairs_within(own, n, mid) < h * (h - 1) / 2 ? &low : &high) = mid;
	factor = n < ARRAY_LEN(few) ? few[n] : (double)n / ((double)n + (n % 2 ? 1.4 : 3.8));
	return 2.2219 * factor * high;
}

double stats_quantile_sorted(const double *x, size_t n, double q)
{
	double place, part;
	size_t i;

	if (n == 0 || isnan(q))
		return NAN;
	place = (q < 0 ? 0 : q > 1 ? 1 : q) * (double)(n - 1);
	i = (size_t)place;
	part = place - (double)i;
	if (part == 0 || i + 1 >= n)
		return x[i];
	return x[i] + part * (x[i + 1] - x[i]);
}

double stats_cell_of_share(const double *weight, size_t n, double share)
{
	double all = 0.0, sum = 0.0;
	size_t i = 0;

	for (size_t k = 0; k < n; k++)
		all += weight[k];
	while (i + 1 < n && sum + weight[i] < share * all)
		sum += weight[i++];
	return (double)i + fmin((share * all - sum) / weight[i], 1.0);
}

double stats_log_sum(const double *log_of, size_t n)
{
	double most = -INFINITY, sum = 0.0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, log_of[i]);
	for (size_t i = 0; i < n; i++)
		sum += exp(log_of[i] - most);
	return most + log(sum);
}

double stats_median(double *x, size_t n)
{
	n = stats_keep_finite(x, n);
	stats_sort(x, n);
	return stats_quantile_sorted(x, n, 0.5);
}

double stats_harmonic_mean(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(x[i] > 0))
			return NAN;
		sum += 1 / x[i];
	}
	return n ? (double)n / sum : (double)NAN;
}

bool summary_of(const double *x, size_t n, struct summary *ret)
{
	cleanup_free double *copy = stats_copy_finite(x, &n);
	struct summary s = { .mean_ci = { NAN, NAN }, .stddev = NAN };
	double sum = 0, sum_sq = 0, half;

	if (n == 0)
		return false;
	stats_sort(copy, n);
	s.n = n;
	s.min = copy[0];
	s.max = copy[n - 1];
	s.median = stats_quantile_sorted(copy, n, 0.5);
	for (size_t i = 0; i < n; i++)
		sum += copy[i] - s.median;
	s.mean = s.median + sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		sum_sq += (copy[i] - s.mean) * (copy[i] - s.mean);
		copy[i] = fabs(copy[i] - s.median);
	}
	stats_sort(copy, n);
	s.mad = stats_quantile_sorted(copy, n, 0.5);
	if (n >= 2) {
		s.stddev = sqrt(sum_sq / (double)(n - 1));
		half = stats_t_975((double)(n - 1)) * s.stddev / sqrt((double)n);
		s.mean_ci.low = s.mean - half;
		s.mean_ci.high = s.mean + half;
	}
	*ret = s;
	return true;
}

double summary_median_error(const struct summary *s)
{
	return sqrt(M_PI / 2) * 1.4826 * s->mad / sqrt((double)s->n);
}
