/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is B different from A? Two figures with 95 % intervals differ when they are further apart than chance puts them: what lies between them is held against
 * the sides of the intervals that look at each other (Zou and Donner 2008), each brought back to a standard error by the Student's t that it was made with,
 * with the degrees of freedom of Welch (1947). The level of each look is such that 5 % is the chance that ANY of the n looks of a comparison calls
 * different what is not (Sidak 1967); so the exit status can be trusted by scripts. What may be compared at all: alike.c.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/alike.h"
#include "report/report.h"

struct difference {
	const char *measurement, *disk, *figure, *unit, *verdict;
	double a, b, change_percent, needed_percent;
};

static const struct field difference_fields[] = {
	FIELD_STR(struct difference, measurement, "measurement"),
	FIELD_STR(struct difference, disk, "disk"),
	FIELD_STR(struct difference, figure, "figure"),
	FIELD_F64(struct difference, a, UNIT_NONE, "A"),
	FIELD_F64(struct difference, b, UNIT_NONE, "B"),
	FIELD_STR(struct difference, unit, "unit"),
	FIELD_F64(struct difference, change_percent, UNIT_PERCENT, "change"),
	FIELD_F64(struct difference, needed_percent, UNIT_PERCENT, "sure from"),
	FIELD_STR(struct difference, verdict, "verdict"),
	FIELD_END,
};

/* Everything is gone through twice: first the looks are counted, then they are judged with the level that so many allow. */
struct judge {
	struct result *res;
	struct table *t;
	double threshold, level;
	size_t looks, differ;
	bool is_counting;
};

/* A value with its interval; df: how many degrees of freedom the interval had, as far as is known. */
struct estimate {
	double value, low, high, df;
};

/* Few samples: what they are. Of many it is not known how they were joined to batches, of which there are ten at least. */
static double degrees(double samples)
{
	return samples >= 2.0 && samples < 10.0 ? samples - 1.0 : 9.0;
}

static struct estimate of_figure(const struct figure *f)
{
	return (struct estimate){ figure_number(f), f->ci.low, f->ci.high, degrees((double)f->samples) };
}

/* How far apart they must be to differ, at this level; 0 for exact numbers; NaN: it cannot be told. */
static double needed(const struct estimate *a, const struct estimate *b, double level)
{
	double ha = b->value >= a->value ? a->high - a->value : a->value - a->low;
	double hb = b->value >= a->value ? b->value - b->low : b->high - b->value;
	double va = pow(ha / stats_t_975(a->df), 2.0), vb = pow(hb / stats_t_975(b->df), 2.0), df;

	if (!isfinite(va) || !isfinite(vb))
		return NAN;
	if (!(va + vb > 0.0))
		return 0.0;
	df = pow(va + vb, 2.0) / (va * va / a->df + vb * vb / b->df);
	return two_sided_t(level, df) * sqrt(va + vb);
}

/* Two counts that are not 0: is so uneven a share of their sum chance? */
static bool is_more_than_chance(double a, double b, double level)
{
	uint64_t n = (uint64_t)(a + b), less = (uint64_t)fmin(a, b);

	return 2.0 * stats_binomial_cdf(less, n, 0.5) < level;
}

/* The verdict when there is none to be had, else NULL. */
static const char *same_or_not(struct judge *j, const struct figure *a, const struct figure *b, struct difference *row)
{
	struct estimate x = of_figure(a), y = of_figure(b);
	double base = fabs(x.value) > 0.0 ? fabs(x.value) : 1.0, apart = fabs(y.value - x.value), least;

	switch (figure_role(a)) {
	case FIGURE_OF_RUN:
		return "of the run";
	case FIGURE_EXACT:
		if (a->type == FIELD_TYPE_STR)
			return strcmp(a->value.str, b->value.str) == 0 ? "same" : "different";
		return apart > 0.0 ? figure_judge(a, y.value - x.value) : "same";
	case FIGURE_TROUBLE:
		if (apart == 0.0)
			return "same";
		if (x.value == 0.0 || y.value == 0.0)
			return figure_judge(a, y.value - x.value);
		j->looks++;
		return is_more_than_chance(x.value, y.value, j->level) ? figure_judge(a, y.value - x.value) : "same";
	case FIGURE_MEASURED:
		break;
	}
	least = needed(&x, &y, j->level);
	if (!isfinite(least))
		return "no interval";
	j->looks++;
	row->needed_percent = 100.0 * fmax(least / base, j->threshold);
	/* Numbers that should be equal have been added up in another order. */
	return apart <= fmax(fmax(least, j->threshold * base), 1e-9 * base) ? "same"
	                                                                    : figure_judge(a, y.value - x.value);
}

static bool is_difference(const char *verdict)
{
	return strcmp(verdict, "better") == 0 || strcmp(verdict, "worse") == 0 || strcmp(verdict, "different") == 0;
}

static bool is_comparable(const struct figure *a, const struct figure *b)
{
	return a && b && !a->value.is_null && !b->value.is_null &&
	       (a->type == FIELD_TYPE_STR) == (b->type == FIELD_TYPE_STR);
}

static void add_row(struct judge *j, const struct difference *row)
{
	if (j->is_counting)
		return;
	j->differ += is_difference(row->verdict);
	result_row(j->t, row);
}

static void compare_figures(struct judge *j, const struct result *a, const struct result *b)
{
	for (size_t i = 0; i < a->nfigures; i++) {
		const struct figure *fa = &a->figures[i], *fb = result_find_figure(b, fa->name);
		struct difference row = { .measurement = a->head.measurement,
			                  .disk = alike_disk(a),
			                  .figure = fa->name,
			                  .unit = unit_name(fa->unit),
			                  .needed_percent = NAN };

		if (!is_comparable(fa, fb))
			continue;
		row.a = fa->type == FIELD_TYPE_STR ? (double)NAN : figure_number(fa);
		row.b = fa->type == FIELD_TYPE_STR ? (double)NAN : figure_number(fb);
		row.change_percent = row.a == row.b ? 0.0
		                     : row.a != 0.0 ? 100.0 * (row.b - row.a) / fabs(row.a)
		                                    : (double)NAN;
		row.verdict = same_or_not(j, fa, fb, &row);
		add_row(j, &row);
	}
}

/* A disk that begins to return errors, or goes, is a difference whatever its figures are. */
static void compare_status(struct judge *j, const struct result *a, const struct result *b)
{
	int was = alike_outcome(a), is = alike_outcome(b);

	if (was < 0 || is < 0) {
		result_notice(j->res, "status", "%s of %s: A is %s, B is %s: not all of it is there.",
		              a->head.measurement, alike_disk(a), status_name(a->status), status_name(b->status));
		return;
	}
	if (was != is)
		add_row(j, &(struct difference){ .measurement = a->head.measurement,
		                                 .disk = alike_disk(a),
		                                 .figure = "status",
		                                 .unit = unit_name(UNIT_TEXT),
		                                 .a = NAN,
		                                 .b = NAN,
		                                 .change_percent = NAN,
		                                 .needed_percent = NAN,
		                                 .verdict = is > was ? "worse" : "better" });
	if (was != is)
		result_notice(j->res, "status", "%s of %s: A is %s, B is %s.", a->head.measurement, alike_disk(a),
		              status_name(a->status), status_name(b->status));
}

/* ---- tables: place by place ---- */

/* Tables whose rows are comparable: what makes two rows the same, or near (place, NULL: nothing); and the value with its interval. */
static const struct curve_decl {
	const char *measurement, *table, *keys[4], *place, *value, *low, *high;
} curve_decls[] = {
	{ "zones", "curve", { "target" }, "offset_bytes", "rate_bytes_per_s", "low", "high" },
	{ "seek", "spans", { "anchor", "span_bytes" }, NULL, "mean_ns", "low", "high" },
	{ "seek", "curve", { "distance_bytes" }, NULL, "seek_ns", "low", "high" },
	{ "seek", "queue", { "depth" }, NULL, "iops", "low", "high" },
	{ "cache",
	  "matrix",
	  { "mode", "operation", "file_bytes", "record_bytes" },
	  NULL,
	  "rate_bytes_per_s",
	  "low_bytes_per_s",
	  "high_bytes_per_s" },
};

static bool is_same_cell(const struct table *a, size_t ra, const struct table *b, size_t rb, const char *key)
{
	int ca = table_column(a, key), cb = table_column(b, key);
	const char *x, *y;

	if (ca < 0 || cb < 0) /* an older document has no column of that name */
		return ca < 0 && cb < 0;
	if (a->columns[ca].type != FIELD_TYPE_STR)
		return table_number(a, ra, (size_t)ca) == table_number(b, rb, (size_t)cb);
	x = table_string(a, ra, (size_t)ca);
	y = table_string(b, rb, (size_t)cb);
	return x && y ? strcmp(x, y) == 0 : x == y;
}

static double cell_of(const struct table *t, size_t row, const char *key)
{
	int c = table_column(t, key);

	return c < 0 ? (double)NAN : table_number(t, row, (size_t)c);
}

static struct estimate of_row(const struct curve_decl *d, const struct table *t, size_t row)
{
	double samples = fmax(cell_of(t, row, "samples"), cell_of(t, row, "repetitions"));

	return (struct estimate){ cell_of(t, row, d->value), cell_of(t, row, d->low), cell_of(t, row, d->high),
		                  degrees(samples) };
}

/* The row of b that is as row `row` of a, the nearest of them where there are places. -1: none. */
static long same_row(const struct curve_decl *d, const struct table *a, size_t row, const struct table *b)
{
	double place = d->place ? cell_of(a, row, d->place) : 0.0, best = INFINITY;
	long found = -1;

	for (size_t r = 0; r < b->nrows; r++) {
		double off = d->place ? fabs(cell_of(b, r, d->place) - place) : 0.0;
		bool is_same = off < best;

		for (size_t k = 0; is_same && k < ARRAY_LEN(d->keys) && d->keys[k]; k++)
			is_same = is_same_cell(a, row, b, r, d->keys[k]);
		if (!is_same)
			continue;
		best = off;
		found = (long)r;
	}
	return found;
}

/*
 * Two runs look at places that are nearly the same, and the curve goes on between them: as much as it changes from there to the next rows is no
 * difference. INFINITY: they are further apart than a quarter of the way to the next row.
 */
static double slope_allowance(const struct curve_decl *d, const struct table *a, size_t row, const struct table *b,
                              size_t other)
{
	double off = d->place ? fabs(cell_of(b, other, d->place) - cell_of(a, row, d->place)) : 0.0, most = 0.0;

	if (off == 0.0)
		return 0.0;
	for (int side = -1; side <= 1; side += 2) {
		double gap, step;

		if ((side < 0 && row == 0) || (side > 0 && row + 1 >= a->nrows))
			continue;
		gap = fabs(cell_of(a, row + side, d->place) - cell_of(a, row, d->place));
		step = fabs(cell_of(a, row + side, d->value) - cell_of(a, row, d->value));
		if (!(off <= gap / 4.0))
			return INFINITY;
		most = fmax(most, step * off / gap);
	}
	return most;
}

/* The change of a row of A, as a part of it, when it is one; 0: none; NaN: it cannot be told. */
static double row_change(const struct judge *j, const struct curve_decl *d, const struct table *ta, size_t r,
                         const struct table *tb)
{
	long other = same_row(d, ta, r, tb);
	struct estimate x = of_row(d, ta, r), y;
	double least;

	if (other < 0)
		return NAN;
	y = of_row(d, tb, (size_t)other);
	least = needed(&x, &y, j->level) + slope_allowance(d, ta, r, tb, (size_t)other);
	if (!(x.value > 0.0) || !isfinite(y.value) || !isfinite(least))
		return NAN;
	if (fabs(y.value - x.value) <= fmax(fmax(least, j->threshold * x.value), 1e-9 * x.value))
		return 0.0;
	return (y.value - x.value) / x.value;
}

static void compare_curve(struct judge *j, const struct curve_decl *d, const struct result *a, const struct result *b)
{
	const struct table *ta = result_find_table(a, d->table), *tb = result_find_table(b, d->table);
	size_t differ = 0, n = 0, worst_row = 0;
	double worst = 0.0;

	for (size_t r = 0; ta && tb && r < ta->nrows; r++) {
		double change = row_change(j, d, ta, r, tb);

		n += isfinite(change);
		differ += isfinite(change) && change != 0.0;
		if (fabs(change) > fabs(worst)) {
			worst = change;
			worst_row = r;
		}
	}
	j->looks += n;
	if (j->is_counting || !differ)
		return;
	j->differ += differ;
	result_notice(j->res, "curve",
	              "%s of %s: the table %s differs at %zu of %zu places, most in row %zu: %+.1f %%.",
	              a->head.measurement, alike_disk(a), d->table, differ, n, worst_row + 1, 100.0 * worst);
}

static void compare_pair(struct judge *j, const struct result *a, const struct result *b)
{
	const struct result *both[] = { a, b };

	compare_figures(j, a, b);
	for (size_t i = 0; i < ARRAY_LEN(curve_decls); i++)
		if (strcmp(curve_decls[i].measurement, a->head.measurement) == 0)
			compare_curve(j, &curve_decls[i], a, b);
	if (j->is_counting)
		return;
	compare_status(j, a, b);
	j->differ += places_compare(j->res, a, b);
	alike_tell_settings(j->res, a, b);
	for (size_t i = 0; i < ARRAY_LEN(both); i++)
		if (alike_disturbed(both[i]))
			result_notice(j->res, "disturbed",
			              "%s of %s: %s was disturbed from outside (%s): a difference may come from that.",
			              a->head.measurement, alike_disk(a), i ? "B" : "A", alike_disturbed(both[i]));
}

/* ---- which with which ---- */

static bool is_later(const struct result *a, const struct result *b)
{
	return strcmp(a->head.started ? a->head.started : "", b->head.started ? b->head.started : "") > 0;
}

/* Among the documents of the same test the latest that came to its end: a directory may hold many. */
static const struct result *latest_match(const struct result *const *v, size_t n, const struct result *like, char *why)
{
	const struct result *best = NULL;
	char reason[WHY_TEXT];

	for (size_t i = 0; i < n; i++) {
		enum alike how = alike(like, v[i], reason);

		if (how == ALIKE && alike_outcome(v[i]) >= 0 && (!best || is_later(v[i], best)))
			best = v[i];
		if (why && how == OTHER_OPTIONS)
			(void)snprintf(why, WHY_TEXT, "%s", reason);
		if (why && how == ALIKE && alike_outcome(v[i]) < 0 && !why[0])
			(void)snprintf(why, WHY_TEXT, "it is %s", status_name(v[i]->status));
	}
	return best;
}

/* Two single documents of one measurement are compared whatever they are of: "is this disk as good as that one". What is not the same is told. */
static void tell_why_not(struct result *res, const struct result *a, const struct result *b)
{
	char why[WHY_TEXT];

	switch (alike(a, b, why)) {
	case OTHER_DISK:
		result_notice(res, "other-disk", "A is of disk %s, B of disk %s: %s.", alike_disk(a), alike_disk(b),
		              why);
		break;
	case OTHER_OPTIONS:
		result_notice(res, "options", "%s of %s: %s: what differs may come from that.", a->head.measurement,
		              alike_disk(a), why);
		break;
	case ALIKE:
	case OTHER_MEASUREMENT:
		break;
	}
}

struct pairs {
	const struct result *const *a, *const *b;
	size_t na, nb;
	bool is_forced;
	char why[WHY_TEXT]; /* of the last that has no like */
};

static size_t all_pairs(struct pairs *p, struct judge *j)
{
	size_t pairs = 0;

	for (size_t i = 0; i < p->na; i++) {
		const struct result *a = p->a[i], *other;
		char why[WHY_TEXT] = "";

		if (!p->is_forced && latest_match(p->a, p->na, a, NULL) != a)
			continue;
		other = p->is_forced ? p->b[0] : latest_match(p->b, p->nb, a, why);
		if (!other && j->is_counting) {
			result_notice(j->res, "no-like", "%s of %s has no like in B%s%s, so it is not compared.",
			              a->head.measurement, alike_disk(a), why[0] ? ": " : "", why);
			(void)snprintf(p->why, WHY_TEXT, "%s", why);
		}
		if (!other)
			continue;
		pairs++;
		if (p->is_forced && !j->is_counting)
			tell_why_not(j->res, a, other);
		compare_pair(j, a, other);
	}
	return pairs;
}

static int rank(const char *verdict)
{
	return !strcmp(verdict, "worse") ? 0 : is_difference(verdict) ? 1 : 2;
}

/* What is worse stands first, then other differences: the first screen may have the first rows only. */
static void put_worst_first(struct table *t)
{
	size_t column = (size_t)table_column(t, "verdict"), bytes = t->ncolumns * sizeof(*t->cells), n = 0;
	struct cell *sorted = calloc(t->nrows + 1, bytes);

	if (!sorted)
		return;
	for (int k = 0; k <= 2; k++)
		for (size_t i = 0; i < t->nrows; i++)
			if (rank(table_string(t, i, column)) == k)
				memcpy(&sorted[n++ * t->ncolumns], &t->cells[i * t->ncolumns], bytes);
	if (n)
		memcpy(t->cells, sorted, n * bytes);
	free(sorted);
}

/* "worse: a, b; better: c" */
static void tell_answer(struct result *res, const struct table *t, size_t differ)
{
	static const char *const verdicts[] = { "worse", "better", "different" };
	size_t verdict = (size_t)table_column(t, "verdict"), name = (size_t)table_column(t, "figure");
	char text[400] = "B is not different from A, beyond what chance explains";
	size_t used = strlen(text);

	if (differ)
		used = (size_t)snprintf(text, sizeof(text), "B differs from A");
	for (size_t k = 0; k < ARRAY_LEN(verdicts); k++) {
		size_t n = 0;

		for (size_t i = 0; i < t->nrows && used + 100 < sizeof(text); i++)
			if (!strcmp(table_string(t, i, verdict), verdicts[k]) && ++n <= 3)
				used += (size_t)snprintf(text + used, sizeof(text) - used,
				                         n == 1 ? "; %s: %.60s" : ", %.0s%.60s", verdicts[k],
				                         table_string(t, i, name));
		if (n > 3)
			used += (size_t)snprintf(text + used, sizeof(text) - used, " and %zu more", n - 3);
	}
	(void)snprintf(text + used, sizeof(text) - used, ".");
	result_set(&res->answer, text);
	result_set(&res->shows, "pairs,different,#places,#differences");
}

int report_compare(const struct result *const *a, size_t na, const struct result *const *b, size_t nb,
                   const struct compare_options *opt, struct result **ret, struct err *err)
{
	struct result *res = result_new("compare");
	struct judge j = { .res = res,
		           .t = result_table(res, "differences", "Figures", difference_fields),
		           .threshold = opt->threshold,
		           .level = 0.05,
		           .is_counting = true };
	struct pairs p = { .a = a, .b = b, .na = na, .nb = nb };
	size_t pairs;

	p.is_forced = na == 1 && nb == 1 && strcmp(a[0]->head.measurement, b[0]->head.measurement) == 0;
	pairs = all_pairs(&p, &j);
	if (pairs == 0) {
		result_free(res);
		return err_set(
			err, -ENOENT,
			"No document of A has its like in B: the same measurement of the same disk, done the same way, to "
			"its end%s%s; give two single documents of one measurement to compare others.",
			p.why[0] ? "; " : "", p.why);
	}
	j.level = sidak_level(j.looks);
	j.is_counting = false;
	(void)all_pairs(&p, &j);
	result_figure_u64(res, "pairs", "documents compared", UNIT_COUNT, pairs);
	result_figure_u64(res, "different", "differences", UNIT_COUNT, j.differ);
	put_worst_first(j.t);
	tell_answer(res, j.t, j.differ);
	res->status = STATUS_COMPLETE;
	res->verdict_is_no = j.differ > 0;
	*ret = res;
	return 0;
}
