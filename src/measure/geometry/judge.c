/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a layout agree with shortest accesses? It says of each how many cylinders it goes and whether to another head.
 * An arm takes longer over more cylinders, as a rule: the curves of real drives fall here and there, so that a deep
 * fall is unlikely and not impossible. A change of heads takes its own time and hides a move that is shorter. The curve
 * is otherwise free: it rises between a few distances as it will. So the fit has as many freedoms for a false layout as
 * for the true one, and what differs is how far the accesses are from it.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/geometry/search.h"

#define KNOTS        \
	(GEO_CURVE - \
	 1) /* distances between which the curve is straight over the logarithm: 1, 2, 3, 4, 6, 8, 12, ... */
#define COLUMNS GEO_CURVE /* the shortest move, and rises from knot to knot; the last column is the change of heads */
#define HEAD    KNOTS
#define ROUNDS  12     /* of reweighting */
#define SWEEPS  40     /* over the columns, in each round */
#define STARTS  5      /* times that a change of heads may take, to begin with */
#define FLOOR   0.0005 /* of a revolution: nothing is known better than that */
#define MISFIT  0.002  /* so far real arms are off any smooth curve */
#define ROUGH                                                                                                      \
	0.004 /* the same, for what agrees: of the published curves of seven drives at most 4 in 100 distances are \
	         four times as far off */
#define DEEP    0.006 /* so far a curve falls at least where it does: less is misfit */
#define BEYOND  4.0   /* deviations: an access that is farther off does not agree */
#define HEAVY   3.0   /* degrees of freedom of Student's t: a few accesses may be anywhere */
#define AGREE   0.9   /* of the accesses */
#define NEARLY  0.75  /* the same while some of them may be held against the wrong tracks */
#define LONGEST 1.7   /* of the access to the next cylinder: no change of heads takes longer */
#define RISEN   8     /* cylinders: over so many an arm takes longer than over one */
#define AGAIN   6     /* rounds of reweighting from a curve that was found */
#define FALL                                                                                                           \
	200.0 /* of the log-likelihood for each revolution that the curve falls by: points of published curves are off \
	         by 0.005 or so */

/* How far all accesses of one kind may be off the curve together, in revolutions; what suits a layout best is taken. */
static const double misfits[] = { 0.0, 0.0007, MISFIT };

/* Accesses that go equally far, and to another head or not, as far as a layout says. Of one look each access is on its
 * own. */
struct row {
	const struct geo_access *seen; /* the first of them */
	double share[KNOTS];
	size_t nshares;             /* the others are 0 */
	double access, weight, off; /* of all of them: mean, weight together, off the curve */
};

struct fit {
	struct row *row;
	size_t n;
	double column[COLUMNS];
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
static double move(const double *column, const struct row *r)
{
	double y = 0.0;

	for (size_t i = 0; i < r->nshares; i++)
		y += column[i] * r->share[i];
	return y;
}

/* Is it the change of heads that takes the time? */
static bool is_change(const double *column, const struct row *r)
{
	return r->seen->is_other_head && (r->seen->cylinders == 0 || move(column, r) < column[HEAD]);
}

static double on_curve(const double *column, const struct row *r)
{
	return is_change(column, r) ? column[HEAD] : move(column, r);
}

static void row_begin(struct row *r, const struct geo_access *seen)
{
	*r = (struct row){ .seen = seen, .access = seen->access };
	while (r->nshares < KNOTS && (r->share[r->nshares] = share((int)r->nshares, seen->cylinders)) > 0.0)
		r->nshares++;
}

static int compare(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* How unlikely the falls of a curve are. */
static double falls_cost(const double *column)
{
	double fall = 0.0;

	for (int i = 1; i < KNOTS; i++)
		fall += fmax(0.0, -column[i]);
	return FALL * fall;
}

/* Those of the columns that no row has stay as they are, and count for nothing. */
struct normal {
	size_t n, column[COLUMNS]; /* that rows have */
	double gram[COLUMNS][COLUMNS], right[COLUMNS];
};

static void add_row(struct normal *m, const struct fit *f, const struct row *r)
{
	bool change = is_change(f->column, r);
	double one = 1.0;
	const double *row = change ? &one : r->share;
	size_t at = change ? HEAD : 0, n = change ? 1 : r->nshares;

	for (size_t i = 0; i < n; i++) {
		double weighted = r->weight * row[i];

		m->right[at + i] += weighted * r->access;
		for (size_t j = 0; j < n; j++)
			m->gram[at + i][at + j] += weighted * row[j];
	}
}

static void keep_columns(struct normal *m)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (m->gram[i][i] > 0.0)
			m->column[m->n++] = i;
	for (size_t i = 0; i < m->n; i++) {
		m->right[i] = m->right[m->column[i]];
		for (size_t j = 0; j < m->n; j++)
			m->gram[i][j] = m->gram[m->column[i]][m->column[j]];
	}
}

/* Each column once; false: it changed nothing, and would not the next time. */
static bool sweep(const struct normal *m, double *column)
{
	bool has_moved = false;

	for (size_t i = 0; i < m->n; i++) {
		const double *gram = m->gram[i];
		double left = m->right[i], moved;

		for (size_t j = 0; j < i; j++)
			left -= gram[j] * column[j];
		for (size_t j = i + 1; j < m->n; j++)
			left -= gram[j] * column[j];
		moved = fmax(0.0, left / gram[i]);
		if (m->column[i] > 0 && m->column[i] < HEAD && (left + FALL) / gram[i] < -DEEP)
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
	double column[COLUMNS];

	for (size_t k = 0; k < f->n; k++)
		add_row(&m, f, &f->row[k]);
	keep_columns(&m);
	for (size_t i = 0; i < m.n; i++)
		column[i] = f->column[m.column[i]];
	for (int s = 0; s < SWEEPS && sweep(&m, column); s++)
		;
	for (size_t i = 0; i < m.n; i++)
		f->column[m.column[i]] = column[i];
}

static void residuals(struct fit *f)
{
	double size[GEO_PAIRS];

	for (size_t k = 0; k < f->n; k++) {
		f->row[k].off = f->row[k].access - on_curve(f->column, &f->row[k]);
		size[k] = fabs(f->row[k].off);
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
			struct row *at = &f->row[k];
			double s = f->scale * f->scale + at->seen->error * at->seen->error;

			at->weight = 1.0 / (s + at->off * at->off / HEAVY);
		}
		solve(f);
		residuals(f);
	}
}

double geo_verdict_cost(const struct geo_verdict *v, double scale)
{
	double cost = v->falls;

	for (size_t k = 0; k < v->judged; k++)
		cost += v->is_again[k] ? 0.0 : penalty(v->off[k], v->error[k], scale);
	return cost;
}

bool geo_is_off(const struct geo_verdict *v, size_t k, double scatter)
{
	return !(fabs(v->off[k]) < BEYOND * hypot(v->error[k], fmax(ROUGH, scatter)));
}

static void take(struct geo_verdict *v, struct fit *f, double scatter)
{
	bool is_change_long = f->column[HEAD] > LONGEST * f->column[0];

	/* Where none of the accesses shows how long a change of heads takes, the fit has it explain whichever is off.
	 */
	if (is_change_long) {
		f->column[HEAD] = LONGEST * f->column[0];
		residuals(f);
	}
	v->judged = f->n;
	v->scale = f->scale;
	v->falls = falls_cost(f->column);
	v->rise = 0.0;
	for (int i = 1; i < KNOTS && knot(i) <= 8.0; i++)
		v->rise += f->column[i];
	v->agreeing = 0;
	for (size_t k = 0; k < f->n; k++) {
		v->off[k] = f->row[k].off;
		v->error[k] = f->row[k].seen->error;
		v->is_again[k] = f->row[k].seen->is_again;
		v->agreeing += !geo_is_off(v, k, scatter);
	}
	v->does_agree = f->n >= GEO_JUDGED_LEAST && (double)v->agreeing >= AGREE * (double)f->n;
	v->is_possible = v->does_agree && !is_change_long;
	v->is_nearly = f->n >= GEO_JUDGED_LEAST && (double)v->agreeing >= NEARLY * (double)f->n && !is_change_long;
}

struct geo_verdict geo_judge(const struct geo_access *seen, size_t n, double scatter)
{
	struct row row[GEO_PAIRS];
	struct fit f = { .row = row, .n = n };
	struct geo_verdict best = { .judged = 0 };
	double sorted[GEO_PAIRS], least = INFINITY, base;

	assert(n <= GEO_PAIRS);
	if (n == 0)
		return best;
	for (size_t k = 0; k < n; k++) {
		sorted[k] = seen[k].access;
		row_begin(&row[k], &seen[k]);
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

static int compare_lengths(const void *x, const void *y)
{
	const struct geo_access *a = x, *b = y;
	uint64_t of_a = a->cylinders, of_b = b->cylinders;

	return of_a != of_b ? (of_a > of_b) - (of_a < of_b) : (a->access > b->access) - (a->access < b->access);
}

double geo_spread(const struct geo_access *seen, size_t n, double scatter)
{
	struct geo_access sorted[GEO_PAIRS];
	double cost = 0.0, scale = fmax(MISFIT, scatter);

	memcpy(sorted, seen, n * sizeof(*seen));
	qsort(sorted, n, sizeof(*sorted), compare_lengths);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && sorted[end].cylinders == sorted[i].cylinders;)
			end++;
		for (size_t k = i; k < end; k++) {
			double off = sorted[k].access - sorted[i + (end - i) / 2].access;

			cost += sorted[k].is_again ? 0.0 : penalty(off, 0.0, scale);
		}
	}
	return cost;
}

/* ---- all looks together ---- */

/* Accesses of one kind, which are next to each other in the order of `at`. */
struct kind {
	size_t first, n;
	double off; /* of all of them from the curve */
};

struct joint {
	const struct geo_access **at; /* in the order of kinds, those that are evidence of their own */
	size_t n;
	double *off, *size; /* of each, beyond that of its kind */
	struct kind *kind;
	struct fit fit; /* a row for each kind */
};

static int compare_kinds(const void *x, const void *y)
{
	const struct geo_access *a = *(const struct geo_access *const *)x, *b = *(const struct geo_access *const *)y;

	if (a->cylinders != b->cylinders)
		return a->cylinders < b->cylinders ? -1 : 1;
	return (int)a->is_other_head - (int)b->is_other_head;
}

static void joint_free(struct joint *j)
{
	free(j->at);
	free(j->off);
	free(j->size);
	free(j->kind);
	free(j->fit.row);
}

static bool joint_begin(struct joint *j, const struct geo_access *seen, size_t n)
{
	*j = (struct joint){ .at = malloc((n + 1) * sizeof(*j->at)),
		             .off = malloc((n + 1) * sizeof(*j->off)),
		             .size = malloc((n + 1) * sizeof(*j->size)),
		             .kind = malloc((n + 1) * sizeof(*j->kind)),
		             .fit = { .row = malloc((n + 1) * sizeof(*j->fit.row)) } };
	if (!j->at || !j->off || !j->size || !j->kind || !j->fit.row) {
		joint_free(j);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		if (!seen[i].is_again)
			j->at[j->n++] = &seen[i];
	qsort(j->at, j->n, sizeof(*j->at), compare_kinds);
	for (size_t i = 0; i < j->n; i++) {
		if (i == 0 || compare_kinds(&j->at[i - 1], &j->at[i]) != 0) {
			row_begin(&j->fit.row[j->fit.n], j->at[i]);
			j->kind[j->fit.n++] = (struct kind){ .first = i };
		}
		j->kind[j->fit.n - 1].n++;
	}
	return true;
}

static double weight_of(const struct joint *j, size_t k, double scale)
{
	double s = scale * scale + j->at[k]->error * j->at[k]->error;

	return (HEAVY + 1.0) / HEAVY / (s + j->off[k] * j->off[k] / HEAVY);
}

/* How far each access is off the curve, and how far its kind is, which is a priori as far as misfit. */
static void joint_residuals(struct joint *j, double scale, double misfit)
{
	for (size_t c = 0; c < j->fit.n; c++) {
		struct kind *kind = &j->kind[c];
		double curve = on_curve(j->fit.column, &j->fit.row[c]), weight = 0.0, sum = 0.0;

		for (size_t k = kind->first; k < kind->first + kind->n; k++) {
			double w = weight_of(j, k, scale);

			weight += w;
			sum += w * (j->at[k]->access - curve);
		}
		kind->off = misfit > 0.0 ? sum / (weight + 1.0 / (misfit * misfit)) : 0.0;
		for (size_t k = kind->first; k < kind->first + kind->n; k++) {
			j->off[k] = j->at[k]->access - curve - kind->off;
			j->size[k] = fabs(j->off[k]);
		}
	}
}

static double middle_of(struct joint *j)
{
	qsort(j->size, j->n, sizeof(*j->size), compare);
	return fmax(FLOOR, 1.4826 * j->size[j->n / 2]);
}

/* *scale is followed if it is to be found. */
static void joint_rounds(struct joint *j, int rounds, double misfit, bool finds_scale, double *scale)
{
	for (size_t k = 0; k < j->n; k++)
		j->off[k] = 0.0;
	for (size_t c = 0; c < j->fit.n; c++)
		j->kind[c].off = 0.0;
	joint_residuals(j, *scale, misfit);
	for (int r = 0; r < rounds; r++) {
		for (size_t c = 0; c < j->fit.n; c++) {
			struct row *row = &j->fit.row[c];
			const struct kind *kind = &j->kind[c];
			double sum = 0.0;

			row->weight = 0.0;
			for (size_t k = kind->first; k < kind->first + kind->n; k++) {
				double w = weight_of(j, k, *scale);

				row->weight += w;
				sum += w * (j->at[k]->access - kind->off);
			}
			row->access = sum / row->weight;
		}
		solve(&j->fit);
		joint_residuals(j, *scale, misfit);
		if (finds_scale)
			*scale = middle_of(j);
	}
}

/*
 * How unlikely all of them are: so far each is off its kind, and each kind off the curve. What a kind may be off is
 * integrated over, so that a layout of many kinds is not better for having more that suits.
 */
static double joint_cost(const struct joint *j, double scale, double misfit)
{
	double cost = falls_cost(j->fit.column);

	for (size_t c = 0; c < j->fit.n; c++) {
		const struct kind *kind = &j->kind[c];
		double weight = 0.0;

		for (size_t k = kind->first; k < kind->first + kind->n; k++) {
			cost += penalty(j->off[k], j->at[k]->error, scale);
			weight += weight_of(j, k, scale);
		}
		if (misfit > 0.0)
			cost += 0.5 * (kind->off / misfit * (kind->off / misfit) + log1p(weight * misfit * misfit));
	}
	return cost;
}

/* Takes the curve that is found from the columns of j's fit, if it suits better than what there is. */
static void take_better(struct joint *j, struct geo_curve *best)
{
	double scale = MISFIT, cost;

	joint_rounds(j, ROUNDS, MISFIT, true, &scale);
	cost = joint_cost(j, MISFIT, MISFIT);
	if (!(cost < best->cost))
		return;
	memcpy(best->column, j->fit.column, sizeof(best->column));
	best->scale = scale;
	best->cost = cost;
	best->rise = 0.0;
	for (int i = 1; i < KNOTS && knot(i) <= 8.0; i++)
		best->rise += best->column[i];
}

struct geo_curve geo_curve_of(const struct geo_access *seen, size_t n)
{
	struct geo_curve best = { .scale = INFINITY, .cost = INFINITY };
	struct joint j;

	if (!joint_begin(&j, seen, n))
		return best;
	for (int i = 0; i < STARTS && j.n; i++) {
		double base, change;

		for (size_t k = 0; k < j.n; k++)
			j.size[k] = j.at[k]->access;
		qsort(j.size, j.n, sizeof(*j.size), compare);
		base = j.size[j.n / 10];
		change = i ? j.size[(size_t)i * (j.n - 1) / STARTS] : 0.0;
		memset(j.fit.column, 0, sizeof(j.fit.column));
		j.fit.column[0] = base;
		j.fit.column[HEAD] = change;
		take_better(&j, &best);
	}
	joint_free(&j);
	return best;
}

void geo_curve_from(const struct geo_access *seen, size_t n, const struct geo_curve *start, struct geo_curve *curve)
{
	struct joint j;

	if (!isfinite(start->scale) || !joint_begin(&j, seen, n))
		return;
	memcpy(j.fit.column, start->column, sizeof(j.fit.column));
	if (j.n)
		take_better(&j, curve);
	joint_free(&j);
}

double geo_curve_cost(const struct geo_access *seen, size_t n, const struct geo_curve *curve, double scale)
{
	double least = INFINITY;
	struct joint j;

	if (!joint_begin(&j, seen, n))
		return INFINITY;
	for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++) {
		memcpy(j.fit.column, curve->column, sizeof(j.fit.column));
		joint_rounds(&j, AGAIN, misfits[i], false, &scale);
		least = fmin(least, joint_cost(&j, scale, misfits[i]));
	}
	joint_free(&j);
	return least;
}

double geo_speaks_against(const struct geo_access *rival, const struct geo_access *left, size_t n,
                          const struct geo_curve *curve)
{
	struct geo_curve other = geo_curve_of(rival, n);
	double scale;

	geo_curve_from(rival, n, curve, &other);
	scale = fmin(curve->scale, other.scale);

	return geo_curve_cost(rival, n, &other, scale) - geo_curve_cost(left, n, curve, scale);
}

double geo_rise_speaks(const struct geo_access *seen, size_t n, const struct geo_curve *curve)
{
	cleanup_free struct geo_access *flat = calloc(n + 1, sizeof(*flat));
	struct geo_curve other;

	for (size_t i = 0; i < n && flat; i++) {
		flat[i] = seen[i];
		if (flat[i].cylinders)
			flat[i].cylinders = flat[i].cylinders > RISEN ? flat[i].cylinders - RISEN + 1 : 1;
	}
	if (!flat)
		return 0.0;
	other = geo_curve_of(flat, n);
	return geo_curve_cost(flat, n, &other, curve->scale) - geo_curve_cost(seen, n, curve, curve->scale);
}

double geo_curve_at(const struct geo_curve *curve, uint64_t cylinders, bool is_other_head)
{
	const struct geo_access access = { .cylinders = cylinders, .is_other_head = is_other_head };
	struct row row;

	row_begin(&row, &access);
	return on_curve(curve->column, &row);
}
