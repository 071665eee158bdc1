/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a disk getting worse: a straight line through each figure over the dates of the documents of one test. The scatter of the figures themselves says how
 * sure the slope is; the level of each is such that 5 % is the chance that any of all the slopes is called one although there is none (Sidak 1967).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "report/alike.h"
#include "report/report.h"

#define DATES_MIN 3

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

/* Gone through twice, as in compare.c. */
struct trend {
	struct result *out;
	struct table *t;
	double threshold, level;
	size_t slopes, worse;
	bool is_counting;
};

/* The documents of one test that came to their end, in the order of time. */
struct test {
	const struct result **v;
	double *year, *value; /* of those that have the figure */
	size_t n;
};

/* Years since 1970 of "2026-11-20T12:00:00.123456Z"; NaN when it is no such thing. */
static double years_of(const struct result *res)
{
	struct tm tm = { 0 };

	if (!res->head.started || !strptime(res->head.started, "%Y-%m-%dT%H:%M:%S", &tm))
		return NAN;
	return (double)timegm(&tm) / (365.25 * 86400.0);
}

static void trend_figure(struct trend *tr, const struct figure *f, const struct test *test)
{
	const struct result *like = test->v[0];
	struct trend_row row = { .measurement = like->head.measurement,
		                 .disk = alike_disk(like),
		                 .figure = f->name,
		                 .unit = unit_name(f->unit) };
	struct line line;
	double scale, half;
	size_t n = 0;

	for (size_t i = 0; i < test->n; i++) {
		double v = figure_number(result_find_figure(test->v[i], f->name));

		if (!isfinite(v))
			continue;
		test->year[n] = years_of(test->v[i]);
		test->value[n++] = v;
	}
	if (n < DATES_MIN || figure_role(f) == FIGURE_OF_RUN || f->type == FIELD_TYPE_STR ||
	    !fit_line(test->year, test->value, NULL, n, &line))
		return;
	tr->slopes++;
	if (tr->is_counting)
		return;
	scale = 100.0 / fmax(fabs(test->value[0]), 1e-300);
	half = two_sided_t(tr->level, (double)(n - 2)) * line.b_se;
	row.documents = n;
	row.first = test->value[0];
	row.last = test->value[n - 1];
	row.per_year_percent = line.b * scale;
	row.low = (line.b - half) * scale;
	row.high = (line.b + half) * scale;
	row.verdict = "steady";
	if (row.low * row.high > 0.0 &&
	    fabs(line.b * (test->year[n - 1] - test->year[0])) * scale > 100.0 * tr->threshold)
		row.verdict = figure_judge(f, line.b);
	tr->worse += strcmp(row.verdict, "worse") == 0;
	result_row(tr->t, &row);
}

/* The last one with errors, or without the disk, where the first was not: no line needs to be drawn through that. */
static void trend_status(struct trend *tr, const struct test *test)
{
	const struct result *first = test->v[0], *last = test->v[test->n - 1];

	if (tr->is_counting || alike_outcome(last) <= alike_outcome(first))
		return;
	tr->worse++;
	result_notice(tr->out, "status", "%s of %s: the first run was %s, the last one is %s.", first->head.measurement,
	              alike_disk(first), status_name(first->status), status_name(last->status));
}

static int by_date(const void *a, const void *b)
{
	double x = years_of(*(const struct result *const *)a), y = years_of(*(const struct result *const *)b);

	return (x > y) - (x < y);
}

/* Quiet runs alone where there are enough of them: what others did to the disk is no trend of it. */
static void leave_out_disturbed(struct trend *tr, struct test *test)
{
	size_t quiet = 0, kept = 0;
	const struct result *like = test->v[0];

	for (size_t i = 0; i < test->n; i++)
		quiet += alike_disturbed(test->v[i]) == NULL;
	if (quiet == test->n)
		return;
	if (!tr->is_counting)
		result_notice(
			tr->out, "disturbed",
			quiet >= DATES_MIN
				? "%s of %s: %zu of %zu runs were disturbed from outside and are left out."
				: "%s of %s: %zu of %zu runs were disturbed from outside: a trend may come from that.",
			like->head.measurement, alike_disk(like), test->n - quiet, test->n);
	for (size_t i = 0; quiet >= DATES_MIN && i < test->n; i++)
		if (!alike_disturbed(test->v[i]))
			test->v[kept++] = test->v[i];
	test->n = quiet >= DATES_MIN ? kept : test->n;
}

/* All documents of the test of res[at]; false: it is not the first of them, or there are too few. */
static bool collect(struct test *test, const struct result *const *res, size_t n, size_t at)
{
	char why[WHY_TEXT];

	test->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (alike_outcome(res[i]) < 0 || !isfinite(years_of(res[i])) || alike(res[at], res[i], why) != ALIKE)
			continue;
		if (i < at)
			return false;
		test->v[test->n++] = res[i];
	}
	qsort(test->v, test->n, sizeof(struct result *), by_date);
	return test->n >= DATES_MIN;
}

static void all_tests(struct trend *tr, const struct result *const *res, size_t n, struct test *test)
{
	for (size_t i = 0; i < n; i++) {
		const struct result *last;

		if (alike_outcome(res[i]) < 0 || !collect(test, res, n, i))
			continue;
		trend_status(tr, test);
		leave_out_disturbed(tr, test);
		last = test->v[test->n - 1];
		for (size_t k = 0; k < last->nfigures; k++)
			trend_figure(tr, &last->figures[k], test);
	}
}

int report_trend(const struct result *const *res, size_t n, const struct compare_options *opt, struct result **ret,
                 struct err *err)
{
	struct result *out = result_new("trend");
	cleanup_free const struct result **v = calloc(n + 1, sizeof(struct result *));
	cleanup_free double *year = calloc(n + 1, sizeof(double));
	cleanup_free double *value = calloc(n + 1, sizeof(double));
	struct test test = { .v = v, .year = year, .value = value };
	struct trend tr = { .out = out,
		            .t = result_table(out, "trends", "Change over time", trend_fields),
		            .threshold = opt->threshold,
		            .is_counting = true };

	if (!v || !year || !value)
		abort(); /* as in result.c */
	all_tests(&tr, res, n, &test);
	if (tr.slopes == 0) {
		result_free(out);
		return err_set(
			err, -ENOENT,
			"A trend needs at least three documents of the same measurement of the same disk, done the same way, to their end, "
			"which are not there; measure again later, or give two documents to compare them.");
	}
	tr.level = sidak_level(tr.slopes);
	tr.slopes = 0;
	tr.is_counting = false;
	all_tests(&tr, res, n, &test);
	result_figure_u64(out, "worse", "figures getting worse", UNIT_COUNT, tr.worse);
	result_figure_text(out, "verdict", "verdict", tr.worse ? "degrading" : "steady");
	out->status = STATUS_COMPLETE;
	out->verdict_is_no = tr.worse > 0;
	*ret = out;
	return 0;
}
