/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time and place apart. Places are visited several times in different orders (upward, downward, shuffled), so a drift
 * of the whole disk shows within places and the differences of places do not touch it: log value = level + slope *
 * time, estimated from differences to each place's own mean (the "within" estimator of the two-way additive model;
 * Scheffe 1959). Outliers are found first, from a start that bears them: median of pairwise slopes within places
 * (Theil 1950, Sen 1968) and medians per place; what is off by more than 5 deviations takes no further part, the rest
 * is least squares.
 */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PAIRS_ALL 16 /* a place with more visits pairs each with the one half a series later */

struct seen {
	size_t place;
	double time, y;
	bool is_outlier;
};

static int by_place_and_time(const void *pa, const void *pb)
{
	const struct seen *a = pa, *b = pb;

	if (a->place != b->place)
		return (a->place > b->place) - (a->place < b->place);
	return (a->time > b->time) - (a->time < b->time);
}

static size_t group_end(const struct seen *s, size_t n, size_t from)
{
	size_t to = from;

	while (to < n && s[to].place == s[from].place)
		to++;
	return to;
}

/*
 * Calls for each pair of visits of one place; slopes when ret_slope, else differences of detrended values. Returns
 * how many.
 */
static size_t pairs(const struct seen *s, size_t n, double slope, bool want_slopes, double *ret)
{
	size_t found = 0;

	for (size_t from = 0, to; from < n; from = to) {
		to = group_end(s, n, from);
		for (size_t i = from; i < to; i++) {
			size_t step = to - from > PAIRS_ALL ? (to - from) / 2 : 1;
			size_t stop = to - from > PAIRS_ALL ? i + step + 1 : to;

			for (size_t j = i + step; j < to && j < stop; j++) {
				double dt = s[j].time - s[i].time, dy = s[j].y - s[i].y;

				if (!want_slopes)
					ret[found++] = fabs(dy - slope * dt);
				else if (dt > 0)
					ret[found++] = dy / dt;
			}
		}
	}
	return found;
}

/* Median of y - slope * (time - mid) over from..to-1. */
static double median_level(const struct seen *s, size_t from, size_t to, double slope, double mid, double *work)
{
	for (size_t i = from; i < to; i++)
		work[i - from] = s[i].y - slope * (s[i].time - mid);
	return stats_median(work, to - from);
}

/* Start values, and who is an outlier. false: no place was visited at two times. */
static bool mark(struct seen *s, size_t n, double *work, size_t *ret_outliers)
{
	size_t count = pairs(s, n, 0, true, work);
	double slope, noise;

	if (count == 0)
		return false;
	slope = stats_median(work, count);
	noise = 1.4826 / M_SQRT2 * stats_median(work, pairs(s, n, slope, false, work));
	*ret_outliers = 0;
	for (size_t from = 0, to; from < n; from = to) {
		double level;

		to = group_end(s, n, from);
		level = median_level(s, from, to, slope, 0, work);
		for (size_t i = from; i < to; i++) {
			s[i].is_outlier = fabs(s[i].y - slope * s[i].time - level) > 5 * noise + 1e-12;
			*ret_outliers += s[i].is_outlier;
		}
	}
	return true;
}

struct sums {
	double tt, ty, yy;
	size_t n, places;
};

static void within(const struct seen *s, size_t n, struct sums *sum)
{
	*sum = (struct sums){ 0 };
	for (size_t from = 0, to; from < n; from = to) {
		double t = 0, y = 0, used = 0;

		to = group_end(s, n, from);
		for (size_t i = from; i < to; i++) {
			t += s[i].is_outlier ? 0 : s[i].time;
			y += s[i].is_outlier ? 0 : s[i].y;
			used += !s[i].is_outlier;
		}
		if (used == 0)
			continue;
		sum->places++;
		sum->n += (size_t)used;
		for (size_t i = from; i < to; i++) {
			double dt = s[i].time - t / used, dy = s[i].y - y / used;

			if (s[i].is_outlier)
				continue;
			sum->tt += dt * dt;
			sum->ty += dt * dy;
			sum->yy += dy * dy;
		}
	}
}

static void levels(const struct seen *s, size_t n, double slope, double mid, double *work, double *ret)
{
	for (size_t from = 0, to; from < n; from = to) {
		double sum = 0, used = 0;

		to = group_end(s, n, from);
		for (size_t i = from; i < to; i++) {
			sum += s[i].is_outlier ? 0 : s[i].y - slope * (s[i].time - mid);
			used += !s[i].is_outlier;
		}
		ret[s[from].place] = exp(used > 0 ? sum / used : median_level(s, from, to, slope, mid, work));
	}
}

/* Copies what is usable, sorted; returns how many. */
static size_t take(const struct visit *v, size_t n, size_t places, struct seen *s, double *ret_first, double *ret_last)
{
	size_t used = 0;

	*ret_first = INFINITY;
	*ret_last = -INFINITY;
	for (size_t i = 0; i < n; i++) {
		if (v[i].place >= places || !isfinite(v[i].time) || !(v[i].value > 0) || !isfinite(v[i].value))
			continue;
		s[used++] = (struct seen){ v[i].place, v[i].time, log(v[i].value), false };
		*ret_first = fmin(*ret_first, v[i].time);
		*ret_last = fmax(*ret_last, v[i].time);
	}
	if (used)
		qsort(s, used, sizeof(*s), by_place_and_time);
	return used;
}

bool fit_drift(const struct visit *v, size_t n, size_t places, double *ret_level, struct drift_fit *ret)
{
	cleanup_free struct seen *s = n ? malloc(n * sizeof(*s)) : NULL;
	cleanup_free double *work = n ? malloc(n * PAIRS_ALL * sizeof(*work)) : NULL;
	struct drift_fit f = { .slope_ci = { NAN, NAN } };
	double first, last, half, df;
	struct sums sum;

	if (!s || !work)
		return false;
	f.n = take(v, n, places, s, &first, &last);
	if (f.n == 0 || !mark(s, f.n, work, &f.outliers))
		return false;
	within(s, f.n, &sum);
	df = (double)sum.n - (double)sum.places - 1;
	if (!(sum.tt > 0) || df < 1)
		return false;
	f.slope = sum.ty / sum.tt;
	f.noise = sqrt(fmax(0, sum.yy - f.slope * sum.ty) / df);
	half = stats_t_975(df) * f.noise / sqrt(sum.tt);
	f.slope_ci.low = f.slope - half;
	f.slope_ci.high = f.slope + half;
	f.mid = first + (last - first) / 2;
	f.total = expm1(f.slope * (last - first));
	f.total_ci.low = expm1(f.slope_ci.low * (last - first));
	f.total_ci.high = expm1(f.slope_ci.high * (last - first));
	if (ret_level) {
		for (size_t i = 0; i < places; i++)
			ret_level[i] = NAN;
		levels(s, f.n, f.slope, f.mid, work, ret_level);
	}
	*ret = f;
	return true;
}

/* Takes the median out of `count` values `stride` apart, adds it to *to. */
static double sweep(double *y, size_t count, size_t stride, double *to, double *work)
{
	double m;

	for (size_t i = 0; i < count; i++)
		work[i] = y[i * stride];
	m = stats_median(work, count);
	if (!isfinite(m))
		return 0;
	for (size_t i = 0; i < count; i++)
		y[i * stride] -= m;
	*to += m;
	return fabs(m);
}

bool fit_median_polish(double *y, size_t rows, size_t cols, double *ret_all, double *ret_row, double *ret_col)
{
	size_t longest = rows > cols ? rows : cols;
	cleanup_free double *work = longest ? malloc(longest * sizeof(*work)) : NULL;
	double all = 0, size = 0;
	size_t values = 0;

	for (size_t i = 0; i < rows * cols; i++) {
		values += isfinite(y[i]);
		size = isfinite(y[i]) ? fmax(size, fabs(y[i])) : size;
	}
	if (!work || values == 0)
		return false;
	memset(ret_row, 0, rows * sizeof(*ret_row));
	memset(ret_col, 0, cols * sizeof(*ret_col));
	for (int round = 0; round < 50; round++) {
		double moved = 0;

		for (size_t i = 0; i < rows; i++)
			moved += sweep(y + i * cols, cols, 1, &ret_row[i], work);
		(void)sweep(ret_col, cols, 1, &all, work);
		for (size_t j = 0; j < cols; j++)
			moved += sweep(y + j, rows, cols, &ret_col[j], work);
		(void)sweep(ret_row, rows, 1, &all, work);
		if (moved <= 1e-12 * size)
			break;
	}
	*ret_all = all;
	return true;
}
