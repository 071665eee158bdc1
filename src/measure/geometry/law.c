/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How likely shortest accesses are as a layout has them: it says of each over how many cylinders it goes, and whether
 * to another head. An arm takes longer over more cylinders, as a rule: curves of real drives fall here and there, so
 * that a deep fall is unlikely and not impossible. A change of heads takes its own time and hides a shorter move. The
 * curve is free otherwise, so that a false layout has as many freedoms as the true one, and what differs is how far the
 * accesses are from it. The time of a change of heads, and how far a kind of access may be off the curve, are
 * integrated over. So a layout gains nothing by having more of them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "measure/geometry/layout.h"

#define KNOTS  (GEO_LAW - 1) /* distances between which the curve is straight over the logarithm */
#define HEAD   KNOTS         /* the last column is the change of heads, the first the shortest move, others rises */
#define ROUNDS 12            /* of reweighting; from a curve that was found half of them */
#define SWEEPS 40            /* over the columns, in each round */
#define STARTS 5             /* times that a change of heads may take, to begin with */
#define FLOOR  0.0005        /* of a revolution: nothing is known better than that */
#define FALL   200.0         /* of the log-likelihood for each revolution: points of those are off by 0.005 or so */
#define HEAVY  3.0           /* degrees of freedom of Student's t: a few accesses may be anywhere */
/* Of a revolution: so much the time of a change of heads differs from drive to drive, and any access of which nothing
 * is known. */
#define CHANGES 0.1

/* Accesses that go equally far, and to another head or not; they are next to each other in the order of `at`. */
struct kind {
	double share[KNOTS];
	size_t nshares; /* the others are 0 */
	size_t first, n;
	double access, weight; /* of all of them: mean, weight together */
	double off;            /* of all of them from the curve */
	bool may_change, is_still;
};

struct fit {
	const struct geo_access **at; /* in the order of kinds, those that are evidence of their own */
	size_t n, nkinds;
	double *off, *size; /* of each, beyond that of its kind */
	struct kind *kind;
	double column[GEO_LAW];
};

static double knot(int i)
{
	static const double first[] = { 1.0, 2.0, 3.0, 4.0, 6.0, 8.0 };

	return i < 6 ? first[i] : ldexp(1.0, i - 2);
}

/* How much of the rise in front of knot i (0: all of the first column) a move over that many cylinders has. */
static double share(int i, uint64_t cylinders)
{
	return i ? fmin(1.0, fmax(0.0, log((double)cylinders / knot(i - 1)) / log(knot(i) / knot(i - 1)))) : 1.0;
}

static double move(const double *column, const struct kind *c)
{
	double y = 0.0;

	for (size_t i = 0; i < c->nshares; i++)
		y += column[i] * c->share[i];
	return y;
}

/* Is it the change of heads that takes the time? */
static bool is_change(const double *column, const struct kind *c)
{
	return c->may_change && (c->is_still || move(column, c) < column[HEAD]);
}

static double on_curve(const double *column, const struct kind *c)
{
	return is_change(column, c) ? column[HEAD] : move(column, c);
}

static void find_shares(struct kind *c, const struct geo_access *seen)
{
	c->may_change = seen->is_other_head;
	c->is_still = seen->cylinders == 0;
	c->nshares = 0;
	while (c->nshares < KNOTS && (c->share[c->nshares] = share((int)c->nshares, seen->cylinders)) > 0.0)
		c->nshares++;
}

int geo_access_order(const struct geo_access *a, const struct geo_access *b)
{
	if (a->cylinders != b->cylinders)
		return a->cylinders < b->cylinders ? -1 : 1;
	return (int)a->is_other_head - (int)b->is_other_head;
}

static int by_kind(const void *x, const void *y)
{
	return geo_access_order(*(const struct geo_access *const *)x, *(const struct geo_access *const *)y);
}

static void fit_free(struct fit *f)
{
	free(f->at);
	free(f->off);
	free(f->kind);
}

static void fit_begin(struct fit *f, const struct geo_access *seen, size_t n)
{
	*f = (struct fit){ .at = xcalloc(n + 1, sizeof(*f->at)),
		           .off = xcalloc(2 * (n + 1), sizeof(*f->off)),
		           .kind = xcalloc(n + 1, sizeof(*f->kind)) };
	f->size = f->off + n + 1;
	for (size_t i = 0; i < n; i++)
		if (geo_is_evidence(&seen[i]))
			f->at[f->n++] = &seen[i];
	qsort(f->at, f->n, sizeof(*f->at), by_kind);
	for (size_t i = 0; i < f->n; i++) {
		if (i == 0 || by_kind(&f->at[i - 1], &f->at[i]) != 0)
			f->kind[f->nkinds++].first = i;
		f->kind[f->nkinds - 1].n++;
	}
}

static void law_begin(struct fit *f, const struct geo_access *seen, size_t n)
{
	fit_begin(f, seen, n);
	for (size_t i = 0; i < f->nkinds; i++)
		find_shares(&f->kind[i], f->at[f->kind[i].first]);
}

/* ---- the curve ---- */

/* Those of the columns that no kind has stay as they are, and count for nothing. */
struct normal {
	size_t n, column[GEO_LAW]; /* that kinds have */
	double gram[GEO_LAW][GEO_LAW], right[GEO_LAW];
};

static void add_kind(struct normal *m, const double *column, const struct kind *c)
{
	bool change = is_change(column, c);
	double one = 1.0;
	const double *row = change ? &one : c->share;
	size_t at = change ? HEAD : 0, n = change ? 1 : c->nshares;

	for (size_t i = 0; i < n; i++) {
		double weighted = c->weight * row[i];

		m->right[at + i] += weighted * c->access;
		for (size_t j = 0; j < n; j++)
			m->gram[at + i][at + j] += weighted * row[j];
	}
}

/* Each column once; false: it changed nothing, and would not the next time. */
static bool sweep(const struct normal *m, double *column)
{
	bool has_moved = false;

	for (size_t k = 0; k < m->n; k++) {
		size_t i = m->column[k];
		const double *gram = m->gram[i];
		double left = m->right[i], moved;

		for (size_t l = 0; l < m->n; l++)
			left -= l == k ? 0.0 : gram[m->column[l]] * column[m->column[l]];
		moved = fmax(0.0, left / gram[i]);
		if (i > 0 && i < HEAD && (left + FALL) / gram[i] < -3.0 * GEO_MISFIT)
			moved = (left + FALL) / gram[i];
		has_moved |= moved != column[i];
		column[i] = moved;
	}
	return has_moved;
}

/* Weighted least squares in which falls cost and no other column is negative: one column after the other. */
static void solve(struct fit *f)
{
	struct normal m = { 0 };

	for (size_t k = 0; k < f->nkinds; k++)
		add_kind(&m, f->column, &f->kind[k]);
	for (size_t i = 0; i < GEO_LAW; i++)
		if (m.gram[i][i] > 0.0)
			m.column[m.n++] = i;
	for (int s = 0; s < SWEEPS && sweep(&m, f->column); s++)
		;
}

static double weight_of(const struct fit *f, size_t k, double scale)
{
	double s = scale * scale + f->at[k]->error * f->at[k]->error;

	return (HEAVY + 1.0) / HEAVY / (s + f->off[k] * f->off[k] / HEAVY);
}

/* How far each access is off the curve, and how far its kind is, which is a priori as far as misfit. */
static void residuals(struct fit *f, double scale, double misfit)
{
	for (size_t i = 0; i < f->nkinds; i++) {
		struct kind *c = &f->kind[i];
		double curve = on_curve(f->column, c), weight = 0.0, sum = 0.0;

		for (size_t k = c->first; k < c->first + c->n; k++) {
			double w = weight_of(f, k, scale);

			weight += w;
			sum += w * (f->at[k]->access - curve);
		}
		c->off = misfit > 0.0 ? sum / (weight + 1.0 / (misfit * misfit)) : 0.0;
		for (size_t k = c->first; k < c->first + c->n; k++) {
			f->off[k] = f->at[k]->access - curve - c->off;
			f->size[k] = fabs(f->off[k]);
		}
	}
}

/* *scale is followed if it is to be found. */
static void reweight(struct fit *f, int rounds, double misfit, bool finds_scale, double *scale)
{
	memset(f->off, 0, f->n * sizeof(*f->off));
	residuals(f, *scale, misfit);
	for (int r = 0; r < rounds; r++) {
		for (size_t i = 0; i < f->nkinds; i++) {
			struct kind *c = &f->kind[i];
			double sum = 0.0;

			c->weight = 0.0;
			for (size_t k = c->first; k < c->first + c->n; k++) {
				double w = weight_of(f, k, *scale);

				c->weight += w;
				sum += w * (f->at[k]->access - c->off);
			}
			c->access = sum / c->weight;
		}
		solve(f);
		residuals(f, *scale, misfit);
		if (!finds_scale)
			continue;
		stats_sort(f->size, f->n);
		*scale = fmax(FLOOR, 1.4826 * f->size[f->n / 2]);
	}
}

/* Minus the log-likelihood of an access so far off, whose variance is s: one of a track that was taken for another may
 * take anything. */
static double off_cost(double off, double s)
{
	double fits = pow(1.0 + off * off / s / HEAVY, -(HEAVY + 1.0) / 2.0);
	double anything = 1.0 / sqrt(1.0 + CHANGES * CHANGES / s);

	return -log((1.0 - GEO_MISREAD_SHARE) * fits + GEO_MISREAD_SHARE * anything);
}

static double cost_of(const struct fit *f, double scale, double misfit)
{
	double cost = 0.0, changes = 0.0;

	for (int i = 1; i < KNOTS; i++)
		cost += FALL * fmax(0.0, -f->column[i]);
	for (size_t i = 0; i < f->nkinds; i++) {
		const struct kind *c = &f->kind[i];
		double weight = 0.0;

		for (size_t k = c->first; k < c->first + c->n; k++) {
			double s = scale * scale + f->at[k]->error * f->at[k]->error;

			cost += off_cost(f->off[k], s);
			weight += weight_of(f, k, scale);
		}
		if (misfit > 0.0)
			cost += 0.5 * (c->off / misfit * (c->off / misfit) + log1p(weight * misfit * misfit));
		if (is_change(f->column, c))
			changes += weight / (1.0 + weight * misfit * misfit);
	}
	return cost + 0.5 * log1p(changes * CHANGES * CHANGES);
}

/* ---- the law ---- */

static void take_better(struct fit *f, struct geo_law *best)
{
	double scale = GEO_MISFIT, cost;

	reweight(f, ROUNDS, GEO_MISFIT, true, &scale);
	cost = cost_of(f, GEO_MISFIT, GEO_MISFIT);
	if (!(cost < best->cost))
		return;
	memcpy(best->column, f->column, sizeof(best->column));
	best->scale = scale;
	best->cost = cost;
}

struct geo_law geo_law_of(const struct geo_access *seen, size_t n)
{
	struct geo_law best = { .scale = INFINITY, .cost = INFINITY };
	struct fit f;

	law_begin(&f, seen, n);
	for (size_t i = 0; i < STARTS && f.n; i++) {
		for (size_t k = 0; k < f.n; k++)
			f.size[k] = f.at[k]->access;
		stats_sort(f.size, f.n);
		memset(f.column, 0, sizeof(f.column));
		f.column[0] = f.size[f.n / 10];
		f.column[HEAD] = i ? f.size[i * (f.n - 1) / STARTS] : 0.0;
		take_better(&f, &best);
	}
	fit_free(&f);
	return best;
}

struct geo_law geo_law_from(const struct geo_access *seen, size_t n, const struct geo_law *start,
                            const struct geo_law *other)
{
	struct geo_law best = other ? *other : (struct geo_law){ .scale = INFINITY, .cost = INFINITY };
	struct fit f;

	if (!isfinite(start->scale))
		return best;
	law_begin(&f, seen, n);
	memcpy(f.column, start->column, sizeof(f.column));
	if (f.n)
		take_better(&f, &best);
	fit_free(&f);
	return best;
}

double geo_law_cost(const struct geo_access *seen, size_t n, const struct geo_law *law, double scale)
{
	static const double misfits[] = { 0.0, 0.0007, GEO_MISFIT }; /* what suits a layout best is taken */
	double least = INFINITY, broad = 0.0;
	struct fit f;

	if (!isfinite(law->scale))
		return INFINITY;
	for (size_t i = 0; i < n; i++)
		if (seen[i].is_unplaced && !seen[i].is_again)
			broad += 0.5 * log1p(CHANGES * CHANGES / (scale * scale + seen[i].error * seen[i].error));
	law_begin(&f, seen, n);
	for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++) {
		memcpy(f.column, law->column, sizeof(f.column));
		reweight(&f, ROUNDS / 2, misfits[i], false, &scale);
		least = fmin(least, cost_of(&f, scale, misfits[i]));
	}
	fit_free(&f);
	return least + broad;
}

double geo_law_at(const struct geo_law *law, const struct geo_access *access)
{
	struct kind c;

	find_shares(&c, access);
	return on_curve(law->column, &c);
}

double geo_law_spread(const struct geo_access *seen, size_t n, double scatter)
{
	double cost = 0.0, s = fmax(GEO_MISFIT, scatter) * fmax(GEO_MISFIT, scatter);
	struct fit f;

	fit_begin(&f, seen, n);
	for (size_t i = 0; i < f.nkinds; i++) {
		const struct kind *c = &f.kind[i];
		double off;

		for (size_t k = 0; k < c->n; k++)
			f.size[k] = f.at[c->first + k]->access;
		stats_sort(f.size, c->n);
		for (size_t k = 0; k < c->n; k++) {
			off = f.size[k] - f.size[c->n / 2];
			cost += (HEAVY + 1.0) / 2.0 * log1p(off * off / s / HEAVY);
		}
	}
	fit_free(&f);
	return cost;
}
