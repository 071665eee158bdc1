/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a cache ends: time per byte against size on two plateaus. h of the bytes hit, so time = h / hit_rate + (1 -
 * h) / miss_rate. Two ways for h to fall beyond the capacity C: ratio: h = C / size, as random reads do; sharp: h
 * falls within `width` octaves (0: at once), as a sequence does that is read again through LRU. For each C (and
 * width) the rest is linear least squares of relative errors; C by profile, its interval by the profile's ratio:
 * where the sum of squares is less than t^2 residual variances above the least (Bates and Watts 1988, 6.1).
 */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define GRID     600
#define FLOOR    2e-3 /* relative noise assumed at least: exact data still leave the gap between sizes */
#define DROP_MIN 0.8

static const double widths[] = { 0, 0.25, 0.5, 1, 1.5, 2, 3 }; /* octaves */

enum { MODEL_RATIO = ARRAY_LEN(widths), MODELS };

struct cell_data {
	double size, time;
};

static double hits_of(size_t model, double size, double capacity)
{
	double octaves;

	if (size <= capacity)
		return 1;
	if (model == MODEL_RATIO)
		return capacity / size;
	octaves = log2(size / capacity);
	return octaves < widths[model] ? 1 - octaves / widths[model] : 0;
}

struct plateaus {
	double hit, miss; /* time per byte */
	double rss;
};

/* Relative least squares for the two times; false when one of them rests on nothing or they come out impossible. */
static bool solve(const struct cell_data *c, size_t n, size_t model, double capacity, struct plateaus *ret)
{
	double hh = 0, hm = 0, mm = 0, h1 = 0, m1 = 0, det;
	struct plateaus p = { .rss = 0 };
	size_t inside = 0, outside = 0;

	for (size_t i = 0; i < n; i++) {
		double h = hits_of(model, c[i].size, capacity), a = h / c[i].time, b = (1 - h) / c[i].time;

		hh += a * a;
		hm += a * b;
		mm += b * b;
		h1 += a;
		m1 += b;
		inside += h == 1;
		outside += h <= 0.75;
	}
	det = hh * mm - hm * hm;
	if (inside < 2 || outside < 2 || !(det > 1e-9 * hh * mm))
		return false;
	p.hit = (h1 * mm - m1 * hm) / det;
	p.miss = (m1 * hh - h1 * hm) / det;
	if (!(p.hit > 0 && p.miss > 0))
		return false;
	for (size_t i = 0; i < n; i++) {
		double h = hits_of(model, c[i].size, capacity);
		double e = (h * p.hit + (1 - h) * p.miss) / c[i].time - 1;

		p.rss += e * e;
	}
	*ret = p;
	return true;
}

struct profile {
	double low, ratio; /* capacity of the grid: low * ratio^i */
	double rss[GRID];
	struct plateaus best;
	size_t model;
	double least, limit;
};

static double capacity_at(const struct profile *p, double i)
{
	return p->low * pow(p->ratio, i);
}

/* Least sum of squares of the model; its profile goes to rss. */
static double scan(const struct cell_data *c, size_t n, size_t model, struct profile *p)
{
	double least = INFINITY;

	for (size_t i = 0; i < GRID; i++) {
		struct plateaus at;

		p->rss[i] = INFINITY;
		if (!solve(c, n, model, capacity_at(p, (double)i), &at))
			continue;
		p->rss[i] = at.rss;
		if (at.rss < least) {
			least = at.rss;
			p->best = at;
		}
	}
	return least;
}

/* The model with the least Schwarz criterion; a ramp costs one parameter more than ratio or step. */
static bool choose(const struct cell_data *c, size_t n, struct profile *p)
{
	double best = INFINITY, x = (double)n, floor = x * FLOOR * FLOOR;

	for (size_t m = 0; m < MODELS; m++) {
		double parameters = m == 0 || m == MODEL_RATIO ? 3 : 4;
		double rss = scan(c, n, m, p), score = x * log(fmax(rss, floor)) + parameters * log(x);

		if (isfinite(rss) && score < best) {
			best = score;
			p->model = m;
		}
	}
	if (isinf(best))
		return false;
	p->least = scan(c, n, p->model, p);
	return true;
}

/* Middle of where the profile is flat at its least, and the interval where it stays below the limit. */
static void read_profile(const struct profile *p, struct knee_fit *f, double n)
{
	size_t flat_from = GRID, flat_to = 0, from = GRID, to = 0;
	double slack = n * FLOOR * FLOOR * 1e-3;

	for (size_t i = 0; i < GRID; i++) {
		if (p->rss[i] <= p->least + slack) {
			flat_from = flat_from < i ? flat_from : i;
			flat_to = i;
		}
		if (p->rss[i] <= p->limit) {
			from = from < i ? from : i;
			to = i;
		}
	}
	f->capacity = capacity_at(p, (double)(flat_from + flat_to) / 2);
	f->capacity_ci.low = capacity_at(p, (double)from - 0.5);
	f->capacity_ci.high = capacity_at(p, (double)to + 0.5);
}

bool fit_knee(const double *size, const double *rate, size_t n, struct knee_fit *ret)
{
	cleanup_free struct cell_data *c = n ? malloc(n * sizeof(*c)) : NULL;
	cleanup_free struct profile *p = malloc(sizeof(*p));
	struct knee_fit f;
	double least = INFINITY, most = 0, df, t, high;
	size_t used = 0;

	if (!c || !p)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!(size[i] > 0 && rate[i] > 0 && isfinite(size[i]) && isfinite(rate[i])))
			continue;
		c[used++] = (struct cell_data){ size[i], 1 / rate[i] };
		least = fmin(least, size[i]);
		most = fmax(most, size[i]);
	}
	if (used < 5 || !(most > least))
		return false;
	p->low = least * 0.999;
	p->ratio = pow(most / p->low, 1.0 / GRID);
	if (!choose(c, used, p))
		return false;
	/* again, fine, where it lies */
	for (int round = 0; round < 2; round++) {
		df = fmax(1, (double)used - (p->model == 0 || p->model == MODEL_RATIO ? 3 : 4));
		t = stats_t_975(df);
		p->limit = p->least + t * t * fmax(p->least / df, FLOOR * FLOOR);
		read_profile(p, &f, (double)used);
		if (round == 1)
			break;
		high = fmin(most, f.capacity_ci.high * p->ratio);
		p->low = fmax(least, f.capacity_ci.low / p->ratio);
		p->ratio = pow(high / p->low, 1.0 / GRID);
		p->least = scan(c, used, p->model, p);
	}
	f.hit_rate = 1 / p->best.hit;
	f.miss_rate = 1 / p->best.miss;
	f.is_sharp = p->model != MODEL_RATIO;
	f.rms_ratio = sqrt(p->best.rss / (double)used);
	if (!(f.miss_rate < DROP_MIN * f.hit_rate))
		return false;
	*ret = f;
	return true;
}
