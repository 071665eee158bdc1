/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Change points: optimal partition of a series into constant pieces by dynamic programming with pruning (PELT:
 * Killick, Fearnhead and Eckley 2012), cost = squared residuals / sigma^2 + a penalty per piece. The penalty is twice
 * the usual BIC's and something more for short series, whose sigma is uncertain: set by simulation so that less than
 * 1 % of series without change get one (tests/unit/README-stats). Before that, runs shorter than min_len are replaced
 * by the running median: a median filter moves no edge.
 */
#include "stats/stats.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define SCREEN_FROM 2048
#define SCREEN_Z    2.5

/* Deviation of one value: MAD of neighbours' differences over sqrt(2); changes are few among them. */
static double noise_of(const double *y, size_t n, double *work)
{
	double size, sigma;

	for (size_t i = 0; i + 1 < n; i++)
		work[i] = fabs(y[i + 1] - y[i]);
	sigma = n > 1 ? 1.4826 / M_SQRT2 * stats_median(work, n - 1) : 0;
	/* exact series (a model without noise) still need a scale: a millionth of the values does not count as change
	 */
	memcpy(work, y, n * sizeof(*y));
	size = fabs(stats_median(work, n));
	return fmax(sigma, fmax(1e-6 * size, 1e-300));
}

static double local_median(const double *y, size_t n, size_t at, size_t reach, double *work)
{
	size_t from = at > reach ? at - reach : 0, to = at + reach + 1 < n ? at + reach + 1 : n;

	/* the same width at the ends of the series */
	if (to - from < 2 * reach + 1) {
		if (from == 0)
			to = 2 * reach + 1 < n ? 2 * reach + 1 : n;
		else
			from = n > 2 * reach + 1 ? n - 2 * reach - 1 : 0;
	}
	memcpy(work, y + from, (to - from) * sizeof(*y));
	return stats_median(work, to - from);
}

/* Copies y with what deviates by more than 5 sigma over fewer than min_len values replaced. */
static void clean(const double *y, size_t n, double sigma, size_t min_len, double *ret, double *work)
{
	double fallback;

	memcpy(work, y, n * sizeof(*y));
	fallback = stats_median(work, n);
	fallback = isfinite(fallback) ? fallback : 0;
	for (size_t i = 0; i < n; i++) {
		double m = local_median(y, n, i, min_len - 1, work);

		ret[i] = !(fabs(y[i] - m) <= 5 * sigma) ? m : y[i];
		if (!isfinite(ret[i]))
			ret[i] = i ? ret[i - 1] : fallback;
	}
}

struct partition {
	double *sum, *sum_sq; /* of the first i values */
	double *cost;         /* of the best partition of the first i values */
	size_t *last;         /* where its last piece starts */
	size_t *open;         /* starts that may still become best */
	size_t *drop_at;      /* of each start: from this end on it no longer may; 0: not known yet */
	bool *may_start;      /* places where a change is worth trying */
};

/*
 * In long series only places count where the means of the w values to either side differ by SCREEN_Z or more, w any
 * power of two, and there only the best of each w / 4 (as SaRa does: Niu and Zhang 2012): a change that is worth the
 * penalty shows there. Edges are put right afterwards (settle_edges).
 */
static void screen_width(const struct partition *p, size_t n, size_t w)
{
	size_t block = w / 4 + 1;

	for (size_t from = w; from + w <= n; from += block) {
		double most = SCREEN_Z * sqrt(2 * (double)w);
		size_t best = 0;

		for (size_t i = from; i < from + block && i + w <= n; i++) {
			double step = fabs(p->sum[i + w] - 2 * p->sum[i] + p->sum[i - w]);

			if (step >= most) {
				most = step;
				best = i;
			}
		}
		if (best)
			p->may_start[best] = true;
	}
}

static void screen(const struct partition *p, size_t n, size_t min_len)
{
	memset(p->may_start, n <= SCREEN_FROM, n + 1);
	for (size_t w = min_len; n > SCREEN_FROM && w <= n / 2; w *= 2)
		screen_width(p, n, w);
	p->may_start[n] = true;
}

static double piece_cost(const struct partition *p, size_t from, size_t to)
{
	double s = p->sum[to] - p->sum[from], c = p->sum_sq[to] - p->sum_sq[from] - s * s / (double)(to - from);

	return c > 0 ? c : 0;
}

static void best_partition(struct partition *p, size_t n, size_t min_len, double penalty)
{
	size_t nopen = 1;

	memset(p->drop_at, 0, (n + 1) * sizeof(*p->drop_at));
	p->open[0] = 0;
	p->cost[0] = -penalty;
	for (size_t to = min_len; to <= n; to++) {
		size_t kept = 0;

		if (to + 1 > 2 * min_len && p->may_start[to - min_len])
			p->open[nopen++] = to - min_len;
		if (!p->may_start[to])
			continue;
		p->cost[to] = INFINITY;
		for (size_t k = 0; k < nopen; k++) {
			double c = p->cost[p->open[k]] + piece_cost(p, p->open[k], to) + penalty;

			if (c < p->cost[to]) {
				p->cost[to] = c;
				p->last[to] = p->open[k];
			}
		}
		/* a start that loses by a whole penalty now cannot win any more once a piece may start here */
		for (size_t k = 0; k < nopen; k++) {
			size_t from = p->open[k];

			if (p->drop_at[from] == 0 && p->cost[from] + piece_cost(p, from, to) > p->cost[to])
				p->drop_at[from] = to + min_len;
			if (p->drop_at[from] == 0 || to < p->drop_at[from])
				p->open[kept++] = from;
		}
		nopen = kept;
	}
}

/* Moves each edge to where its two pieces fit best; start[count] is n. */
static void settle_edges(const struct partition *p, size_t *start, size_t count, size_t min_len)
{
	for (size_t k = 1; k < count; k++) {
		double best = INFINITY;
		size_t from = start[k - 1], to = start[k + 1];

		for (size_t e = from + min_len; e + min_len <= to; e++) {
			double c = piece_cost(p, from, e) + piece_cost(p, e, to);

			if (c < best) {
				best = c;
				start[k] = e;
			}
		}
	}
}

/*
 * Per piece. The known-sigma part is what 0.5 % of series of n normal values without change would have needed
 * (simulated, n = 6 .. 512), kept above the 2 log n that consistency asks for (Yao 1988); the rest makes up for the
 * spread of an estimated sigma.
 */
static double penalty_for(size_t n, bool is_estimated)
{
	double x = (double)n, known = fmax(8 + 1.5 * log(x), 2 * log(x));

	return is_estimated ? known * (1 + 28 / x + 80 / (x * x)) : known;
}

/*
 * Fills sum and sum_sq from the cleaned series in units of sigma, about its median so that squares keep their digits.
 */
static void accumulate(struct partition *p, double *flat, size_t n, double sigma, double *work)
{
	double shift;

	memcpy(work, flat, n * sizeof(*flat));
	shift = stats_median(work, n);
	p->sum[0] = p->sum_sq[0] = 0;
	for (size_t i = 0; i < n; i++) {
		double v = (flat[i] - shift) / sigma;

		p->sum[i + 1] = p->sum[i] + v;
		p->sum_sq[i + 1] = p->sum_sq[i] + v * v;
	}
}

size_t fit_segments(const double *y, size_t n, double sigma, size_t min_len, size_t *ret_start, size_t max)
{
	cleanup_free double *own = xcalloc(5 * n + 5, sizeof(*own));
	cleanup_free size_t *at = xcalloc(3 * (n + 1), sizeof(*at));
	cleanup_free bool *may_start = xcalloc(n + 1, 1);
	struct partition p = { .sum = own, .last = at, .may_start = may_start };
	bool is_estimated = !(sigma > 0);
	double *flat, *work;
	size_t count = 0, k, *start;

	if (n == 0 || max == 0)
		return 0;
	ret_start[0] = 0;
	min_len = min_len ? min_len : 1;
	/* fewer than 8 do not show noise apart from change */
	if (n < 2 * min_len || (is_estimated && n < 8))
		return 1;
	p.sum_sq = own + n + 1;
	p.cost = p.sum_sq + n + 1;
	flat = p.cost + n + 1;
	work = flat + n + 1;
	p.open = at + n + 1;
	p.drop_at = p.open + n + 1;
	if (is_estimated)
		sigma = noise_of(y, n, work);
	clean(y, n, sigma, min_len, flat, work);
	accumulate(&p, flat, n, sigma, work);
	screen(&p, n, min_len);
	best_partition(&p, n, min_len, penalty_for(n, is_estimated));
	for (size_t to = n; to > 0; to = p.last[to])
		count++;
	start = p.open; /* not needed any more */
	start[count] = n;
	k = count;
	for (size_t to = n; to > 0; to = p.last[to])
		start[--k] = p.last[to];
	if (n > SCREEN_FROM) {
		settle_edges(&p, start, count, min_len);
		settle_edges(&p, start, count, min_len);
	}
	count = count < max ? count : max;
	memcpy(ret_start, start, count * sizeof(*start));
	return count;
}
