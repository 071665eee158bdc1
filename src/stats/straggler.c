/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slow one among many that do the same. Latency alone blames who was given more, so it is regressed on the rate and
 * the residual judged (Lu et al., Perseus, FAST 2023), here by the others' line for each host, on a log scale, and
 * never beyond the rates that the others had: a slow disk at a full queue has both, a low rate and a long latency, and
 * its own line would explain one by the other. The others' scatter is shrunk to what like disks are expected to differ
 * by, as there are often few of them (Smyth 2004, moderated t); the p value is for the worst of all hosts (Bonferroni).
 */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define BATCHES  10   /* of a host's time: their medians follow each other loosely enough for a standard error */
#define PRIOR_SD 0.05 /* like disks differ by 5 %: a choice, from tolerances of media rates */
#define PRIOR_DF 8.0  /* and how much that is believed against what is seen */
#define MAD_SD   1.4826

struct batch {
	double rate, latency; /* logarithms; NaN: none */
};

static bool is_good(const struct host_pace *p)
{
	return p->rate > 0 && isfinite(p->rate) && p->latency > 0 && isfinite(p->latency);
}

/* Medians of tenths of the time of each host. */
static bool make_batches(const struct host_pace *paces, size_t n, size_t nhosts, struct batch *ret)
{
	double *rate = malloc((n + 1) * sizeof(*rate)), *latency = malloc((n + 1) * sizeof(*latency));

	for (size_t h = 0; rate && latency && h < nhosts; h++) {
		size_t all = 0, seen = 0, in = 0;

		for (size_t i = 0; i < n; i++)
			all += paces[i].host == h && is_good(&paces[i]);
		for (size_t i = 0, b = 0; i <= n && b < BATCHES; i++) {
			if (i < n && (paces[i].host != h || !is_good(&paces[i])))
				continue;
			if (i == n || seen * BATCHES >= (b + 1) * all) {
				ret[h * BATCHES + b++] =
					(struct batch){ stats_median(rate, in), stats_median(latency, in) };
				in = 0;
			}
			if (i == n)
				break;
			rate[in] = log(paces[i].rate);
			latency[in++] = log(paces[i].latency);
			seen++;
		}
	}
	free(rate);
	free(latency);
	return rate && latency;
}

struct trend_line {
	double level, slope, at, low, high; /* level + slope (x - at), for x from low to high */
};

/*
 * Of all hosts but one. Where the rates are all the same there is nothing to learn of a slope; and one that falls is no
 * load, but the arithmetic of a full queue, where a latency by itself makes the rate (Little).
 */
static struct trend_line line_without(const struct batch *b, size_t nhosts, size_t without)
{
	struct trend_line l = { .low = INFINITY, .high = -INFINITY };
	double n = 0, x = 0, y = 0, xx = 0, xy = 0;

	for (size_t i = 0; i < nhosts * BATCHES; i++) {
		if (i / BATCHES == without || !isfinite(b[i].rate))
			continue;
		n++;
		x += b[i].rate;
		y += b[i].latency;
		l.low = fmin(l.low, b[i].rate);
		l.high = fmax(l.high, b[i].rate);
	}
	l.at = x / n;
	l.level = y / n;
	for (size_t i = 0; i < nhosts * BATCHES; i++) {
		if (i / BATCHES == without || !isfinite(b[i].rate))
			continue;
		xx += (b[i].rate - l.at) * (b[i].rate - l.at);
		xy += (b[i].rate - l.at) * (b[i].latency - l.level);
	}
	l.slope = l.high - l.low > PRIOR_SD ? fmax(xy / xx, 0) : 0;
	return l;
}

/* Mean residual of a host, and its standard error; false: it has none. */
static bool residual(const struct batch *b, const struct trend_line *l, double *ret_mean, double *ret_error)
{
	double n = 0, sum = 0, squares = 0;

	for (size_t i = 0; i < BATCHES; i++) {
		double x = fmin(fmax(b[i].rate, l->low), l->high), d = b[i].latency - l->level - l->slope * (x - l->at);

		if (!isfinite(b[i].rate))
			continue;
		n++;
		sum += d;
		squares += d * d;
	}
	if (n < 2)
		return false;
	*ret_mean = sum / n;
	*ret_error = sqrt(fmax(squares - sum * sum / n, 0) / (n - 1) / n);
	return true;
}

static void judge(const struct batch *b, size_t nhosts, size_t host, double *others, struct straggler *ret)
{
	struct trend_line l = line_without(b, nhosts, host);
	double mean, error, center, own, df, variance;
	size_t n = 0;

	for (size_t h = 0; h < nhosts; h++)
		if (h != host && residual(b + h * BATCHES, &l, &mean, &error))
			others[n++] = mean;
	if (n == 0 || !residual(b + host * BATCHES, &l, &own, &error))
		return;
	center = stats_median(others, n);
	for (size_t i = 0; i < n; i++)
		others[i] = MAD_SD * fabs(others[i] - center);
	df = (double)(n - 1);
	variance = stats_median(others, n);
	variance = (PRIOR_DF * PRIOR_SD * PRIOR_SD + df * variance * variance) / (PRIOR_DF + df) * (1 + 1 / (double)n) +
	           error * error;
	ret->ratio = exp(own - center);
	ret->p = fmin((double)nhosts *
	                      (1 - stats_t_cdf((own - center - log(STRAGGLER_RATIO)) / sqrt(variance), PRIOR_DF + df)),
	              1.0);
}

bool straggler_find(const struct host_pace *paces, size_t n, size_t nhosts, struct straggler *ret)
{
	struct batch *b = malloc((nhosts * BATCHES + 1) * sizeof(*b));
	double *others = malloc((nhosts + 1) * sizeof(*others));
	bool is_well;

	for (size_t i = 0; b && i < nhosts * BATCHES; i++)
		b[i] = (struct batch){ NAN, NAN };
	is_well = b && others && make_batches(paces, n, nhosts, b);
	for (size_t h = 0; h < nhosts; h++) {
		ret[h] = (struct straggler){ NAN, NAN };
		if (is_well && nhosts > 1)
			judge(b, nhosts, h, others, &ret[h]);
	}
	free(b);
	free(others);
	return is_well;
}
