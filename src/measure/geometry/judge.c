/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a layout agree with shortest accesses? It says of each how many cylinders it goes and whether to another head. An arm takes longer over more
 * cylinders, never less; a change of heads takes its own time and hides a move that is shorter. The curve is otherwise free: it rises between a few distances
 * as it will. So the fit has as many freedoms for a false layout as for the true one, and what differs is how far the accesses are from it.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/geometry/geometry.h"

#define KNOTS   28 /* distances between which the curve is straight over the logarithm: 1, 2, 3, 4, 6, 8, 12, ... */
#define COLUMNS (KNOTS + 1) /* the shortest move, and rises from knot to knot; the last column is the change of heads */
#define HEAD    KNOTS
#define ROUNDS  12     /* of reweighting */
#define SWEEPS  40     /* over the columns, in each round */
#define STARTS  5      /* times that a change of heads may take, to begin with */
#define FLOOR   0.0005 /* of a revolution: nothing is known better than that */
#define MISFIT  0.002  /* so far real arms are off any smooth curve */
#define BEYOND  4.0    /* deviations: an access that is farther off does not agree */
#define HEAVY   3.0    /* degrees of freedom of Student's t: a few accesses may be anywhere */
#define AGREE   0.9    /* of the accesses */
#define LONGEST 1.7    /* of the access to the next cylinder: no change of heads takes longer */
#define FEWEST  8      /* accesses: fewer fit nearly any curve */

struct fit {
	const struct geo_access *seen;
	size_t n;
	double share[GEO_PAIRS][KNOTS]; /* of each access */
	double column[COLUMNS];
	double weight[GEO_PAIRS], off[GEO_PAIRS];
	double scale;
};

/* Distance of a knot: 1, 2, 3, 4, 6, 8, 12, 16 ... */
static double knot(int i)
{
	return i < 2 ? 1.0 + i : i % 2 ? ldexp(1.0, (i + 1) / 2) : 1.5 * ldexp(1.0, i / 2);
}

/* How much of the rise in front of knot i (0: all of the first column) a move over so many cylinders has. */
static double share(int i, uint64_t cylinders)
{
	double d = (double)cylinders;

	if (i == 0)
		return 1.0;
	return fmin(1.0, fmax(0.0, log(d / knot(i - 1)) / log(knot(i) / knot(i - 1))));
}

/* The time of the k-th move, if no change of heads hides it. */
static double move(const struct fit *f, size_t k)
{
	double y = 0.0;

	for (int i = 0; i < KNOTS; i++)
		y += f->column[i] * f->share[k][i];
	return y;
}

/* Is it the change of heads that takes the time? */
static bool is_change(const struct fit *f, size_t k)
{
	return f->seen[k].is_other_head && (f->seen[k].cylinders == 0 || move(f, k) < f->column[HEAD]);
}

static void row_of(const struct fit *f, size_t k, double *ret)
{
	bool change = is_change(f, k);

	for (int i = 0; i < KNOTS; i++)
		ret[i] = change ? 0.0 : f->share[k][i];
	ret[HEAD] = change;
}

static int compare(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* Weighted least squares in which no column is negative: one column after the other. */
static void solve(struct fit *f)
{
	double gram[COLUMNS][COLUMNS] = { 0 }, right[COLUMNS] = { 0 }, row[COLUMNS];

	for (size_t k = 0; k < f->n; k++) {
		row_of(f, k, row);
		for (int i = 0; i < COLUMNS; i++) {
			if (row[i] == 0.0)
				continue;
			right[i] += f->weight[k] * row[i] * f->seen[k].access;
			for (int j = 0; j < COLUMNS; j++)
				gram[i][j] += f->weight[k] * row[i] * row[j];
		}
	}
	for (int s = 0; s < SWEEPS; s++)
		for (int i = 0; i < COLUMNS; i++) {
			double left = right[i];

			if (!(gram[i][i] > 0.0))
				continue;
			for (int j = 0; j < COLUMNS; j++)
				left -= j == i ? 0.0 : gram[i][j] * f->column[j];
			f->column[i] = fmax(0.0, left / gram[i][i]);
		}
}

static void residuals(struct fit *f)
{
	double size[GEO_PAIRS];

	for (size_t k = 0; k < f->n; k++) {
		f->off[k] = f->seen[k].access - (is_change(f, k) ? f->column[HEAD] : move(f, k));
		size[k] = fabs(f->off[k]);
	}
	qsort(size, f->n, sizeof(size[0]), compare);
	f->scale = fmax(FLOOR, 1.4826 * size[f->n / 2]);
}

static double penalty(double off, double error, double scale)
{
	double s = scale * scale + error * error;

	return (HEAVY + 1.0) / 2.0 * log1p(off * off / s / HEAVY);
}

/* From a time that a change of heads may take. */
static void fit_from(struct fit *f, double change, double base)
{
	memset(f->column, 0, sizeof(f->column));
	f->column[0] = base;
	f->column[HEAD] = change;
	residuals(f);
	for (int r = 0; r < ROUNDS; r++) {
		for (size_t k = 0; k < f->n; k++) {
			double s = f->scale * f->scale + f->seen[k].error * f->seen[k].error;

			f->weight[k] = 1.0 / (s + f->off[k] * f->off[k] / HEAVY);
		}
		solve(f);
		residuals(f);
	}
}

double geo_verdict_cost(const struct geo_verdict *v, double scale)
{
	double cost = 0.0;

	for (size_t k = 0; k < v->judged; k++)
		cost += v->is_again[k] ? 0.0 : penalty(v->off[k], v->error[k], scale);
	return cost;
}

static void take(struct geo_verdict *v, const struct fit *f, double scatter)
{
	double may = fmax(MISFIT, scatter);

	v->judged = f->n;
	v->scale = f->scale;
	v->rise = 0.0;
	for (int i = 1; i < KNOTS && knot(i) <= 8.0; i++)
		v->rise += f->column[i];
	v->agreeing = 0;
	for (size_t k = 0; k < f->n; k++) {
		v->off[k] = f->off[k];
		v->error[k] = f->seen[k].error;
		v->is_again[k] = f->seen[k].is_again;
		v->agreeing += fabs(f->off[k]) < BEYOND * hypot(v->error[k], may);
	}
	v->is_possible = f->n >= FEWEST && (double)v->agreeing >= AGREE * (double)f->n &&
	                 f->column[HEAD] <= LONGEST * f->column[0];
}

struct geo_verdict geo_judge(const struct geo_access *seen, size_t n, double scatter)
{
	struct fit f = { .seen = seen, .n = n };
	struct geo_verdict best = { .judged = 0 };
	double sorted[GEO_PAIRS], least = INFINITY, base;

	assert(n <= GEO_PAIRS);
	if (n == 0)
		return best;
	for (size_t k = 0; k < n; k++) {
		sorted[k] = seen[k].access;
		for (int i = 0; i < KNOTS; i++)
			f.share[k][i] = share(i, seen[k].cylinders);
	}
	qsort(sorted, n, sizeof(sorted[0]), compare);
	base = sorted[n / 10];
	for (int i = 0; i < STARTS; i++) {
		double cost, change = i ? sorted[(size_t)i * (n - 1) / STARTS] : 0.0;
		struct geo_verdict v;

		fit_from(&f, change, base);
		take(&v, &f, scatter);
		cost = geo_verdict_cost(&v, fmax(MISFIT, scatter));
		if (!(cost < least))
			continue;
		least = cost;
		best = v;
	}
	return best;
}
