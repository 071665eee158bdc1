/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is B different from A? Two figures with 95 % intervals of half-widths ha and hb differ when |b - a| exceeds k sqrt(ha^2 + hb^2), where k makes 5 % the
 * chance that ANY of the n figures of a pair of documents is called different although nothing changed (Sidak 1967); so the exit status can be
 * trusted by scripts. Figures without an interval are compared only when they are counts or text, which are exact.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
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

/* z with P(|N(0,1)| > z) = p, by bisection: called a few times, needs no speed. */
static double two_sided_z(double p)
{
	double low = 0.0, high = 40.0;

	for (int i = 0; i < 100; i++) {
		double mid = (low + high) / 2;

		if (erfc(mid / sqrt(2.0)) > p)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/* How much wider than 95 % each of n comparisons must be. */
static double sidak_factor(size_t n)
{
	return two_sided_z(1.0 - pow(0.95, 1.0 / (double)(n ? n : 1))) / two_sided_z(0.05);
}

static const char *target_value(const struct result *res, const char *key)
{
	for (size_t i = 0; res->ntargets && i < res->targets[0].n; i++)
		if (strcmp(res->targets[0].columns[i].key, key) == 0 &&
		    res->targets[0].columns[i].type == FIELD_TYPE_STR && !res->targets[0].cells[i].is_null &&
		    res->targets[0].cells[i].str[0])
			return res->targets[0].cells[i].str;
	return NULL;
}

static const char *disk_of(const struct result *res)
{
	static const char *const keys[] = { "serial", "model", "path" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (target_value(res, keys[i]))
			return target_value(res, keys[i]);
	return "";
}

static bool is_same_test(const struct result *a, const struct result *b)
{
	return strcmp(a->head.measurement, b->head.measurement) == 0 && strcmp(disk_of(a), disk_of(b)) == 0;
}

/* +1: more is better; -1: less is better; 0: neither. */
static int direction(enum unit unit)
{
	switch (unit) {
	case UNIT_BYTES_PER_S:
	case UNIT_MIB_PER_S:
	case UNIT_PER_S:
		return 1;
	case UNIT_NS:
		return -1;
	default:
		return 0;
	}
}

static const char *judge(enum unit unit, double change)
{
	int sign = direction(unit) * (change > 0.0 ? 1 : -1);

	return sign > 0 ? "better" : sign < 0 ? "worse" : "different";
}

static double half_width(const struct figure *f)
{
	return isfinite(f->ci.low) && isfinite(f->ci.high) ? (f->ci.high - f->ci.low) / 2.0 : (double)NAN;
}

static bool is_comparable(const struct figure *a, const struct figure *b)
{
	return a && b && !a->value.is_null && !b->value.is_null &&
	       (a->type == FIELD_TYPE_STR) == (b->type == FIELD_TYPE_STR);
}

/* Text figures, and counts: equal or not. true: it was one of these. */
static bool compare_exact(const struct figure *a, const struct figure *b, struct difference *row)
{
	if (a->type == FIELD_TYPE_STR) {
		row->a = row->b = NAN;
		row->verdict = strcmp(a->value.str, b->value.str) == 0 ? "same" : "different";
		return true;
	}
	if (a->unit != UNIT_COUNT)
		return false;
	if (strncmp(a->name, "disturbed", strlen("disturbed")) ==
	    0) { /* what came in between: no property of the disk */
		row->verdict = "of the run";
		return true;
	}
	row->verdict = row->a == row->b ? "same" : "different";
	return true;
}

static bool compare_figure(const struct figure *a, const struct figure *b, double k, double threshold,
                           struct difference *row)
{
	double ha = half_width(a), hb = half_width(b), base;

	row->figure = a->name;
	row->unit = unit_name(a->unit);
	row->a = figure_number(a);
	row->b = figure_number(b);
	base = fabs(row->a) > 0.0 ? fabs(row->a) : 1.0;
	row->change_percent = row->a == row->b ? 0.0 : row->a != 0.0 ? 100.0 * (row->b - row->a) / base : (double)NAN;
	row->needed_percent = NAN;
	if (compare_exact(a, b, row))
		return strcmp(row->verdict, "different") == 0;
	if (!isfinite(ha) || !isfinite(hb)) {
		row->verdict = "no interval";
		return false;
	}
	row->needed_percent = 100.0 * fmax(k * sqrt(ha * ha + hb * hb) / base, threshold);
	if (fabs(row->b - row->a) * 100.0 / base <= row->needed_percent) {
		row->verdict = "same";
		return false;
	}
	row->verdict = judge(a->unit, row->b - row->a);
	return true;
}

static size_t compare_figures(struct table *t, const struct result *a, const struct result *b, double threshold)
{
	size_t n = 0, differ = 0;
	double k;

	for (size_t i = 0; i < a->nfigures; i++)
		n += is_comparable(&a->figures[i], result_find_figure(b, a->figures[i].name)) &&
		     isfinite(half_width(&a->figures[i]));
	k = sidak_factor(n);
	for (size_t i = 0; i < a->nfigures; i++) {
		struct difference row = { .measurement = a->head.measurement, .disk = disk_of(a) };
		const struct figure *other = result_find_figure(b, a->figures[i].name);

		if (!is_comparable(&a->figures[i], other))
			continue;
		differ += compare_figure(&a->figures[i], other, k, threshold, &row);
		result_row(t, &row);
	}
	return differ;
}

/* ---- tables whose rows have a value with low and high: the zone curve place by place ---- */

struct curve {
	const struct table *t;
	int key, value, low, high;
};

static bool curve_of(const struct table *t, struct curve *ret)
{
	*ret = (struct curve){ t, 0, -1, table_column(t, "low"), table_column(t, "high") };
	if (ret->low < 1 || ret->high < 0 || t->ncolumns == 0 || t->columns[0].type == FIELD_TYPE_STR)
		return false;
	ret->value = ret->low - 1; /* by convention the interval follows its value */
	return ret->value > 0;
}

/* Row of c nearest to the key, at most `within` away; -1: none. */
static long nearest_row(const struct curve *c, double key, double within)
{
	long best = -1;

	for (size_t r = 0; r < c->t->nrows; r++) {
		double d = fabs(table_number(c->t, r, (size_t)c->key) - key);

		if (d <= within) {
			within = d;
			best = (long)r;
		}
	}
	return best;
}

static double key_span(const struct curve *c)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t r = 0; r < c->t->nrows; r++) {
		low = fmin(low, table_number(c->t, r, (size_t)c->key));
		high = fmax(high, table_number(c->t, r, (size_t)c->key));
	}
	return c->t->nrows > 1 ? (high - low) / (double)(c->t->nrows - 1) : 0.0;
}

static size_t compare_curve(struct result *res, const struct result *a, const struct table *ta, const struct table *tb,
                            double threshold)
{
	struct curve ca, cb;
	double k, worst = 0.0, worst_at = 0.0, within;
	size_t differ = 0, n = 0;

	if (!tb || !curve_of(ta, &ca) || !curve_of(tb, &cb))
		return 0;
	k = sidak_factor(ta->nrows);
	within = key_span(&ca) / 2.0;
	for (size_t r = 0; r < ta->nrows; r++) {
		double key = table_number(ta, r, (size_t)ca.key), va = table_number(ta, r, (size_t)ca.value), vb, ha,
		       hb, change;
		long other = nearest_row(&cb, key, within);

		if (other < 0)
			continue;
		vb = table_number(tb, (size_t)other, (size_t)cb.value);
		ha = (table_number(ta, r, (size_t)ca.high) - table_number(ta, r, (size_t)ca.low)) / 2.0;
		hb = (table_number(tb, (size_t)other, (size_t)cb.high) -
		      table_number(tb, (size_t)other, (size_t)cb.low)) /
		     2.0;
		if (!(va > 0.0) || !isfinite(vb) || !isfinite(ha) || !isfinite(hb))
			continue;
		n++;
		change = (vb - va) / va;
		if (fabs(change) <= fmax(k * sqrt(ha * ha + hb * hb) / va, threshold))
			continue;
		differ++;
		if (fabs(change) > fabs(worst)) {
			worst = change;
			worst_at = key;
		}
	}
	if (differ)
		result_notice(res, "curve",
		              "%s of %s: the table %s differs at %zu of %zu places, most at %s = %.0f: %+.1f %%.",
		              a->head.measurement, disk_of(a), ta->name, differ, n, ta->columns[ca.key].key, worst_at,
		              100.0 * worst);
	return differ;
}

/* Lists of trouble: more rows in B than in A are news. */
static size_t compare_lists(struct result *res, const struct result *a, const struct result *b)
{
	static const char *const lists[] = { "slow_regions", "unreadable" };
	size_t differ = 0;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const struct table *ta = result_find_table(a, lists[i]), *tb = result_find_table(b, lists[i]);
		size_t na = ta ? ta->nrows : 0, nb = tb ? tb->nrows : 0;

		if (na == nb)
			continue;
		result_notice(res, "regions", "%s of %s: %zu %s where there were %zu.", a->head.measurement, disk_of(a),
		              nb, lists[i], na);
		differ++;
	}
	return differ;
}

/* Where results went is no difference of two measurements. */
static bool is_output(const char *option)
{
	static const char *const outputs[] = { "json", "csv", "html", "log", "requests", "progress" };

	for (size_t i = 0; i < ARRAY_LEN(outputs); i++)
		if (strcmp(option, outputs[i]) == 0)
			return true;
	return false;
}

static size_t compare_pair(struct result *res, struct table *t, const struct result *a, const struct result *b,
                           double threshold)
{
	size_t differ = compare_figures(t, a, b, threshold);

	for (size_t i = 0; i < a->ntables; i++)
		differ += compare_curve(res, a, a->tables[i], result_find_table(b, a->tables[i]->name), threshold);
	differ += compare_lists(res, a, b);
	for (size_t i = 0; i < a->head.noptions; i++) {
		const struct option_value *x = &a->head.options[i];

		for (size_t k = 0; k < b->head.noptions && !is_output(x->name); k++)
			if (strcmp(x->name, b->head.options[k].name) == 0 && x->text && b->head.options[k].text &&
			    strcmp(x->text, b->head.options[k].text) != 0)
				result_notice(res, "options", "%s of %s: --%s was %s in A and is %s in B.",
				              a->head.measurement, disk_of(a), x->name, x->text,
				              b->head.options[k].text);
	}
	if (a->status != STATUS_COMPLETE || b->status != STATUS_COMPLETE)
		result_notice(res, "status", "%s of %s: A is %s, B is %s.", a->head.measurement, disk_of(a),
		              status_name(a->status), status_name(b->status));
	return differ;
}

/* Among the documents of the same test the latest: a directory may hold many. */
static const struct result *latest_match(const struct result *const *v, size_t n, const struct result *like)
{
	const struct result *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (is_same_test(v[i], like) && (!best || strcmp(v[i]->head.started ? v[i]->head.started : "",
		                                                 best->head.started ? best->head.started : "") > 0))
			best = v[i];
	return best;
}

int report_compare(const struct result *const *a, size_t na, const struct result *const *b, size_t nb,
                   const struct compare_options *opt, struct result **ret, struct err *err)
{
	struct result *res = result_new("compare");
	struct table *t = result_table(res, "differences", "Figures", difference_fields);
	size_t pairs = 0, differ = 0;
	/* Two single documents of one measurement are compared whatever disks they come from: "is this disk as good as that one". */
	bool is_forced = na == 1 && nb == 1 && strcmp(a[0]->head.measurement, b[0]->head.measurement) == 0;

	for (size_t i = 0; i < na; i++) {
		const struct result *other = is_forced ? b[0] : latest_match(b, nb, a[i]);

		if (!other || latest_match(a, na, a[i]) != a[i])
			continue;
		if (strcmp(disk_of(a[i]), disk_of(other)) != 0)
			result_notice(res, "other-disk", "A is of disk %s, B of disk %s.", disk_of(a[i]),
			              disk_of(other));
		pairs++;
		differ += compare_pair(res, t, a[i], other, opt->threshold);
	}
	if (pairs == 0) {
		result_free(res);
		return err_set(
			err, -ENOENT,
			"No document of A has its like in B: the same measurement of the same disk; give two single "
			"documents of one measurement to compare different disks.");
	}
	result_figure_u64(res, "pairs", "documents compared", UNIT_COUNT, pairs);
	result_figure_u64(res, "different", "differences", UNIT_COUNT, differ);
	res->status = STATUS_COMPLETE;
	res->verdict_is_no = differ > 0;
	*ret = res;
	return 0;
}

/* ---- trend ---- */

struct trend_row {
	const char *measurement, *disk, *figure, *unit, *verdict;
	uint64_t documents;
	double first, last, per_year_percent, low, high;
};

static const struct field trend_fields[] = {
	FIELD_STR(struct trend_row, measurement, "measurement"),
	FIELD_STR(struct trend_row, disk, "disk"),
	FIELD_STR(struct trend_row, figure, "figure"),
	FIELD_U64(struct trend_row, documents, UNIT_COUNT, "runs"),
	FIELD_F64(struct trend_row, first, UNIT_NONE, "first"),
	FIELD_F64(struct trend_row, last, UNIT_NONE, "last"),
	FIELD_STR(struct trend_row, unit, "unit"),
	FIELD_F64(struct trend_row, per_year_percent, UNIT_PERCENT, "a year"),
	FIELD_F64(struct trend_row, low, UNIT_PERCENT, "low"),
	FIELD_F64(struct trend_row, high, UNIT_PERCENT, "high"),
	FIELD_STR(struct trend_row, verdict, "verdict"),
	FIELD_END,
};

/* Years since 1970 of "2026-11-20T12:00:00.123456Z"; NaN when it is no such thing. */
static double years_of(const struct result *res)
{
	struct tm tm = { 0 };

	if (!res->head.started || !strptime(res->head.started, "%Y-%m-%dT%H:%M:%S", &tm))
		return NAN;
	return (double)timegm(&tm) / (365.25 * 86400.0);
}

struct trend_points {
	double *year, *value;
	size_t n;
};

static void trend_figure(struct table *t, const struct figure *f, const struct result *like,
                         const struct trend_points *p, double threshold, size_t *worse)
{
	struct trend_row row = { .measurement = like->head.measurement,
		                 .disk = disk_of(like),
		                 .figure = f->name,
		                 .unit = unit_name(f->unit),
		                 .documents = p->n };
	struct line line;
	double scale, half;
	size_t first = 0, last = 0;

	if (p->n < 3 || !fit_line(p->year, p->value, NULL, p->n, &line))
		return;
	for (size_t i = 1; i < p->n; i++) {
		first = p->year[i] < p->year[first] ? i : first;
		last = p->year[i] > p->year[last] ? i : last;
	}
	scale = 100.0 / fmax(fabs(p->value[first]), 1e-300);
	half = stats_t_975((double)(p->n - 2)) * line.b_se;
	row.first = p->value[first];
	row.last = p->value[last];
	row.per_year_percent = line.b * scale;
	row.low = (line.b - half) * scale;
	row.high = (line.b + half) * scale;
	row.verdict = "steady";
	if (row.low * row.high > 0.0 && fabs(line.b * (p->year[last] - p->year[first])) * scale > 100.0 * threshold)
		row.verdict = judge(f->unit, line.b);
	*worse += strcmp(row.verdict, "worse") == 0;
	result_row(t, &row);
}

static void trend_of(struct table *t, const struct result *const *res, size_t n, const struct result *like,
                     double threshold, size_t *worse)
{
	cleanup_free double *year = calloc(n, sizeof(double));
	cleanup_free double *value = calloc(n, sizeof(double));

	if (!year || !value)
		abort(); /* as in result.c */
	for (size_t k = 0; k < like->nfigures; k++) {
		struct trend_points p = { year, value, 0 };

		for (size_t i = 0; i < n; i++) {
			double y = years_of(res[i]),
			       v = figure_number(result_find_figure(res[i], like->figures[k].name));

			if (!is_same_test(res[i], like) || !isfinite(y) || !isfinite(v))
				continue;
			year[p.n] = y;
			value[p.n++] = v;
		}
		trend_figure(t, &like->figures[k], like, &p, threshold, worse);
	}
}

int report_trend(const struct result *const *res, size_t n, const struct compare_options *opt, struct result **ret,
                 struct err *err)
{
	struct result *out = result_new("trend");
	struct table *t = result_table(out, "trends", "Change over time", trend_fields);
	size_t worse = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_first = true;

		for (size_t k = 0; k < i; k++)
			is_first = is_first && !is_same_test(res[k], res[i]);
		if (is_first)
			trend_of(t, res, n, res[i], opt->threshold, &worse);
	}
	if (t->nrows == 0) {
		result_free(out);
		return err_set(
			err, -ENOENT,
			"A trend needs at least three documents of the same measurement of the same disk, which are not there; measure "
			"again later, or give two documents to compare them.");
	}
	result_figure_u64(out, "worse", "figures getting worse", UNIT_COUNT, worse);
	result_figure_text(out, "verdict", "verdict", worse ? "degrading" : "steady");
	out->status = STATUS_COMPLETE;
	out->verdict_is_no = worse > 0;
	*ret = out;
	return 0;
}
