/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a disk getting worse: a straight line, and a step, through each figure over the dates of the documents of one
 * test. The scatter of the figures themselves says how sure slope and step are, but never surer than their own
 * intervals. A figure is one look. Half of its level is the line's; the other half is of all places together where a
 * step may be, with two runs behind it at least, so that the search for steps does not hide a slow decline. The level
 * is such that 5 % is the chance that any of all looks finds what is not there (Sidak 1967): forty disks that are asked
 * each month raise less than one false alarm in a year.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/fleet.h"

#define DATES_MIN    3
#define STEP_BEHIND  2    /* runs: one alone may be an odd one */
#define FALSE_ALARMS 0.05 /* of all slopes together */

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
	FIELD_F64(struct trend_row, step_percent, UNIT_PERCENT, "step"),
	FIELD_STR(struct trend_row, since, "since"),
	FIELD_END,
};

struct trend_table {
	struct table *t;
	struct fleet *disks;
	size_t worse;
};

/* The documents of one test that came to their end, in the order of time. */
struct test {
	const struct result **v;
	double *year, *value, *error; /* of those that have the figure; error 0: it has no interval */
	size_t n;
};

/* What the slope's error is at least: the points' own intervals do not let it be known better, whatever few points look
 * like. */
static double least_slope_error(const struct test *test, size_t n)
{
	double mean = 0.0, wide = 0.0, sum = 0.0;

	for (size_t i = 0; i < n; i++)
		mean += test->year[i] / (double)n;
	for (size_t i = 0; i < n; i++) {
		double off = test->year[i] - mean;

		wide += off * off;
		sum += off * off * test->error[i] * test->error[i];
	}
	return wide > 0.0 ? sqrt(sum) / wide : 0.0;
}

struct step {
	size_t at; /* the first value behind it */
	double change, t, squares;
};

/* Before and behind place k: how many standard errors they are apart. is_exact: values without scatter are known. */
static struct step step_at(const struct test *test, size_t n, size_t k, bool is_exact)
{
	double mean[2] = { 0.0, 0.0 }, own = 0.0, wide, many[2] = { (double)k, (double)(n - k) };
	struct step s = { .at = k };

	for (size_t i = 0; i < n; i++) {
		mean[i >= k] += test->value[i] / many[i >= k];
		own += pow(test->error[i] / many[i >= k], 2.0);
	}
	for (size_t i = 0; i < n; i++)
		s.squares += pow(test->value[i] - mean[i >= k], 2.0);
	wide = fmax(s.squares / ((double)n - 2.0) * (1.0 / many[0] + 1.0 / many[1]), own);
	s.change = mean[1] - mean[0];
	s.t = wide > 0.0 ? fabs(s.change) / sqrt(wide) : is_exact && s.change != 0.0 ? 1e9 : 0.0;
	return s;
}

/* The clearest of all steps; looks: how many there may be. */
static struct step fit_step(const struct test *test, size_t n, bool is_exact, size_t *ret_looks)
{
	struct step best = { 0 };

	*ret_looks = 0;
	for (size_t k = DATES_MIN; k + STEP_BEHIND <= n; k++, ++*ret_looks) {
		struct step s = step_at(test, n, k, is_exact);

		best = s.t > best.t ? s : best;
	}
	return best;
}

/* The date of value `at` of those that have the figure. */
static const char *date_of(const struct test *test, const char *figure, size_t at)
{
	for (size_t i = 0; i < test->n; i++)
		if (isfinite(figure_number(result_find_figure(test->v[i], figure))) && at-- == 0)
			return test->v[i]->head.started;
	return NULL;
}

/* What is left of the squares around the line. */
static double squares_of(const struct line *line, const struct test *test, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += pow(test->value[i] - line->a - line->b * test->year[i], 2.0);
	return sum;
}

/*
 * Where a step explains the figures better than the line does, it is what is reported. looks: the places it was looked
 * for at; the chance is that of any of them.
 */
static void judge_step(const struct trend *tr, const struct figure *f, const struct test *test, const struct step *s,
                       size_t looks, double line_squares, struct trend_row *row)
{
	double df = (double)row->documents - 2.0;
	double p = 2.0 * -expm1((double)looks * log1p(-2.0 * (1.0 - stats_t_cdf(s->t, df))));

	if (!(p < tr->level) || fabs(s->change) <= tr->threshold * fabs(test->value[0]) ||
	    (strcmp(row->verdict, "steady") != 0 && s->squares > line_squares))
		return;
	row->verdict = figure_judge(f, s->change);
	row->p = p;
	row->step_percent = test->value[0] != 0.0 ? 100.0 * s->change / fabs(test->value[0]) : (double)NAN;
	row->since = date_of(test, f->name, s->at);
}

static void trend_figure(struct trend *tr, const struct figure *f, const struct test *test)
{
	const struct result *like = test->v[0];
	struct trend_row row = { .like = like,
		                 .label = label_or_name(f->label, f->name),
		                 .measurement = like->head.measurement,
		                 .disk = alike_disk(like),
		                 .figure = f->name,
		                 .unit = unit_name(f->unit) };
	struct line line;
	struct step step;
	double scale, half, parts; /* of the level */
	size_t n = 0, looks;

	for (size_t i = 0; i < test->n; i++) {
		const struct figure *g = result_find_figure(test->v[i], f->name);
		double v = figure_number(g);

		if (!isfinite(v))
			continue;
		test->error[n] = figure_error(g);
		test->year[n] = alike_years(test->v[i]);
		test->value[n++] = v;
	}
	if (n < DATES_MIN || figure_role(f) == FIGURE_OF_RUN || f->type == FIELD_TYPE_STR ||
	    !fit_line(test->year, test->value, NULL, n, &line))
		return;
	step = fit_step(test, n, figure_role(f) == FIGURE_TROUBLE, &looks);
	tr->slopes++;
	if (!(tr->level > 0.0) || !tr->found)
		return;
	scale = test->value[0] != 0.0 ? 100.0 / fabs(test->value[0]) : (double)NAN; /* of nothing there is no part */
	line.b_se = fmax(line.b_se, least_slope_error(test, n));
	parts = looks ? 2.0 : 1.0;
	half = two_sided_t(tr->level / parts, (double)(n - 2)) * line.b_se;
	row.documents = n;
	row.step_percent = NAN;
	row.first = test->value[0];
	row.last = test->value[n - 1];
	row.per_year_percent = line.b * scale;
	row.low = (line.b - half) * scale;
	row.high = (line.b + half) * scale;
	row.p = parts * 2.0 * (1.0 - stats_t_cdf(fabs(line.b / line.b_se), (double)(n - 2)));
	row.verdict = "steady";
	if (fabs(line.b) > half &&
	    fabs(line.b * (test->year[n - 1] - test->year[0])) > tr->threshold * fabs(test->value[0]))
		row.verdict = figure_judge(f, line.b);
	judge_step(tr, f, test, &step, looks, squares_of(&line, test, n), &row);
	tr->found(tr->arg, &row);
}

/* The last one with errors, or without the disk, where the first was not: no line needs to be drawn through that. */
static void trend_status(struct trend *tr, const struct test *test)
{
	const struct result *first = test->v[0], *last = test->v[test->n - 1];

	if (!tr->out || !tr->found || alike_outcome(last) <= alike_outcome(first))
		return;
	tr->found(tr->arg, &(struct trend_row){ .like = last,
	                                        .label = "status",
	                                        .measurement = last->head.measurement,
	                                        .disk = alike_disk(last),
	                                        .figure = "status",
	                                        .unit = unit_name(UNIT_TEXT),
	                                        .verdict = "worse",
	                                        .documents = test->n,
	                                        .first = NAN,
	                                        .last = NAN,
	                                        .per_year_percent = NAN,
	                                        .step_percent = NAN,
	                                        .low = NAN,
	                                        .high = NAN,
	                                        .p = NAN });
	result_notice(tr->out, "status", "%s of %s: the first run was %s, the last one is %s.", first->head.measurement,
	              alike_disk(first), status_name(first->status), status_name(last->status));
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
	if (tr->out)
		result_notice(
			tr->out, "disturbed",
			quiet >= DATES_MIN
				? "%s of %s: %zu of %zu runs were disturbed from outside and are left out."
				: "%s of %s: %zu of %zu runs were disturbed from outside: a trend may come from that.",
			like->head.measurement, alike_disk(like), test->n - quiet, test->n);
	for (size_t i = 0; quiet >= DATES_MIN && i < test->n; i++)
		if (!alike_disturbed(test->v[i]))
			test->v[kept++] = test->v[i];
		else if (tr->out)
			result_notice(tr->out, "left-out", "%s of %s: the run of %.10s is left out: %s.",
			              like->head.measurement, alike_disk(like), test->v[i]->head.started,
			              alike_disturbed(test->v[i]));
	test->n = quiet >= DATES_MIN ? kept : test->n;
}

/* All documents of the test of res[at]; false: it is not the first of them, or there are too few. */
static bool collect(struct test *test, const struct result *const *res, size_t n, size_t at)
{
	char why[WHY_TEXT];

	test->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (alike_outcome(res[i]) < 0 || !isfinite(alike_years(res[i])) || alike(res[at], res[i], why) != ALIKE)
			continue;
		if (i < at)
			return false;
		test->v[test->n++] = res[i];
	}
	qsort(test->v, test->n, sizeof(struct result *), alike_by_date);
	return test->n >= DATES_MIN;
}

size_t trend_all(struct trend *tr, const struct result *const *res, size_t n)
{
	cleanup_free const struct result **v = calloc(n + 1, sizeof(struct result *));
	cleanup_free double *year = calloc(n + 1, sizeof(double));
	cleanup_free double *value = calloc(n + 1, sizeof(double));
	cleanup_free double *error = calloc(n + 1, sizeof(double));
	struct test test = { .v = v, .year = year, .value = value, .error = error };

	if (!v || !year || !value || !error)
		abort(); /* as in result.c */
	tr->slopes = 0;
	for (size_t i = 0; i < n; i++) {
		const struct result *last;

		if (alike_outcome(res[i]) < 0 || !collect(&test, res, n, i))
			continue;
		trend_status(tr, &test);
		leave_out_disturbed(tr, &test);
		last = test.v[test.n - 1];
		for (size_t k = 0; k < last->nfigures; k++)
			trend_figure(tr, &last->figures[k], &test);
	}
	return tr->slopes;
}

void trend_text(char *buf, size_t len, const char *label, const struct trend_row *row)
{
	if (row->since)
		(void)snprintf(buf, len, "%.60s: a step of %+.1f %%, first seen in the run of %.10s", label,
		               row->step_percent, row->since);
	else
		(void)snprintf(buf, len, "%.60s: %+.1f %% a year (%+.1f to %+.1f)", label, row->per_year_percent,
		               row->low, row->high);
}

static void add_row(void *arg, const struct trend_row *row)
{
	struct trend_table *to = arg;

	struct fleet_disk *disk = fleet_disk_of(to->disks, row->like);
	struct fleet_finding one = { .state = fleet_state_of(row->verdict, row->figure),
		                     .measurement = row->like->head.measurement,
		                     .figure = row->figure,
		                     .chance = fleet_chance(to->disks, row->p) };

	to->worse += strcmp(row->verdict, "worse") == 0;
	result_row(to->t, row);
	if (!disk || strcmp(row->verdict, "steady") == 0)
		return;
	if (row->since || isfinite(row->per_year_percent))
		trend_text(one.text, sizeof(one.text), row->label, row);
	else if (isfinite(row->first))
		(void)snprintf(one.text, sizeof(one.text), "%.60s: %g in the first run, %g in the last", row->label,
		               row->first, row->last);
	else
		(void)snprintf(one.text, sizeof(one.text), "%s: the last run is %s", one.measurement,
		               status_name(row->like->status));
	fleet_add(disk, &one);
}

int report_trend(const struct result *const *res, size_t n, const struct compare_options *opt, struct result **ret,
                 struct err *err)
{
	struct trend tr = { .threshold = opt->threshold };
	size_t slopes = trend_all(&tr, res, n);
	struct result *out;
	struct trend_table to = { 0 };

	if (slopes == 0)
		return err_set(
			err, -ENOENT,
			"A trend needs at least three documents of the same measurement of the same disk, done the same way, to their end, "
			"which are not there; measure again later, or give two documents to compare them.");
	out = result_new("trend");
	to.t = result_table(out, "trends", "Change over time", trend_fields);
	to.disks = fleet_divide(res, n);
	to.disks->looks = slopes;
	to.disks->alarms = FALSE_ALARMS;
	to.disks->level = sidak_level(to.disks->alarms, slopes);
	tr = (struct trend){
		.out = out, .threshold = opt->threshold, .level = to.disks->level, .found = add_row, .arg = &to
	};
	(void)trend_all(&tr, res, n);
	for (size_t d = 0; d < to.disks->ndisks; d++)
		to.disks->disks[d].quiet = FLEET_STEADY;
	fleet_sort(to.disks);
	places_trend(out, res, n);
	alike_changes(out, res, n);
	result_figure_u64(out, "worse", "figures getting worse", UNIT_COUNT, to.worse);
	result_figure_text(out, "verdict", "verdict", to.worse ? "degrading" : "steady");
	result_set(&out->answer, to.worse ? "The disk is getting worse: the figures below."
	                                  : "Nothing is getting worse by more than measurement noise.");
	result_set(&out->shows, "worse,verdict,#trends,#scans");
	fleet_tell_changed(out, to.disks, "worse,verdict,#disks,#scans,#changes");
	out->status = STATUS_COMPLETE;
	out->verdict_is_no = to.worse > 0;
	*ret = out;
	if (opt->ret_disks)
		*opt->ret_disks = to.disks;
	else
		fleet_free(to.disks);
	return 0;
}
