/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a disk getting worse: a straight line, and a step, through each figure over the dates of the documents of one
 * test. The scatter of the figures, of this disk and of others, says how sure slope and step are, but never surer than
 * their own intervals. A figure is one look. Half of its level is the line's; the other half is shared by all places
 * where a step may be, with two runs on each side. So the search for steps does not hide a slow decline. The level is
 * such that 5 % is the chance that any of all looks finds what is not there (Sidak 1967).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "report/disks.h"

#define DISKS_LEAST    3 /* of a scatter: one may be bad */
#define DATES_MIN      3
#define STEP_RUNS      2     /* before and behind it: one alone may be an odd one */
#define FINDINGS_SHOWN 3     /* in the answer; the table has all */
#define FALSE_ALARMS   0.05  /* of all slopes together */
#define KNOWN_PERCENT  200.0 /* an interval that is wider shows nothing */
/*
 * A disk alone has few runs to show its scatter by: as a guess, worth two more runs, it is six times what the runs' own
 * intervals say. By trial, where it is three or nine times that (unit test fleets): a line rings a run earlier, and
 * false alarms are not more frequent.
 */
#define ALONE_TIMES 6.0
#define ALONE_DF    2.0

static const struct field trend_fields[] = {
	FIELD_STR(struct trend_row, measurement, "measurement"),
	FIELD_STR(struct trend_row, disk, "disk"),
	FIELD_STR(struct trend_row, label, "figure"),
	FIELD_U64(struct trend_row, documents, UNIT_COUNT, "runs"),
	FIELD_STR(struct trend_row, was, "first"),
	FIELD_STR(struct trend_row, is, "last"),
	FIELD_F64(struct trend_row, per_year_percent, UNIT_PERCENT, "a year"),
	FIELD_F64(struct trend_row, low, UNIT_PERCENT, "low"),
	FIELD_F64(struct trend_row, high, UNIT_PERCENT, "high"),
	FIELD_STR(struct trend_row, verdict, "verdict"),
	FIELD_F64(struct trend_row, step_percent, UNIT_PERCENT, "step"),
	FIELD_STR(struct trend_row, since, "since"),
	FIELD_STR(struct trend_row, figure, "name", .detail = true),
	FIELD_F64(struct trend_row, first, UNIT_NONE, "first, a number", .detail = true),
	FIELD_F64(struct trend_row, last, UNIT_NONE, "last, a number", .detail = true),
	FIELD_STR(struct trend_row, unit, "unit", .detail = true),
	FIELD_END,
};

struct trend_table {
	struct table *t;
	struct fleet *disks;
	struct fleet_disk rest; /* what no disk has a row for: files */
	size_t worse;
};

/* ---- how far a figure scatters ---- */

/*
 * How far a figure scatters from run to run, by all disks of a fleet: few runs of one disk do not show it. As Smyth
 * (2004): the disks' variances scatter around one of theirs all, with prior degrees of freedom, which are few where
 * the disks differ in this. Both are found by what half of the disks may spoil: cube roots of variances are nearly
 * normal (Wilson and Hilferty 1931), their median is the centre, and Qn is how much wider they are than chance.
 */
struct prior {
	double variance, df; /* relative, from run to run; 0: not known */
};

/* Of a disk. The names are to stay. */
static void scatter_add(struct fleet_scatter *s, const char *measurement, const char *figure, double variance,
                        double df)
{
	if (!(variance > 0.0) || !(df > 0.0))
		return;
	xappend(s->v, s->n, (struct scatter_look){ measurement, figure, variance, df });
}

/* Of chi-squared by its degrees of freedom: mean and deviation of the cube root. */
static double root_mean(double df)
{
	return 1.0 - 2.0 / (9.0 * df);
}

/* What all disks together show; s may be NULL. */
static struct prior scatter_prior(const struct fleet_scatter *s, const char *measurement, const char *figure)
{
	cleanup_free double *x = xcalloc(s ? 2 * s->n + 1 : 1, sizeof(*x));
	double *df = x + (s ? s->n : 0), all = 0.0, usual, wider;
	struct prior p = { 0 };
	size_t n = 0;
	for (size_t i = 0; s && i < s->n; i++)
		if (strcmp(s->v[i].figure, figure) == 0 && strcmp(s->v[i].measurement, measurement) == 0) {
			x[n] = cbrt(s->v[i].variance) / root_mean(s->v[i].df);
			df[n++] = s->v[i].df;
			all += s->v[i].df;
		}
	if (n < DISKS_LEAST)
		return p;
	p.variance = pow(stats_median(x, n), 3.0);
	n = 0;
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].figure, figure) == 0 && strcmp(s->v[i].measurement, measurement) == 0)
			x[n++] = (cbrt(s->v[i].variance / p.variance) - root_mean(s->v[i].df)) /
			         sqrt(2.0 / (9.0 * s->v[i].df));
	wider = pow(stats_qn(x, n), 2.0) - 1.0;
	usual = stats_median(df, n);
	all *= 1.0 - 1.0 / (double)n; /* of the others */
	p.df = wider > 0.0 ? fmin(usual / wider, all) : all;
	return p;
}

/* ---- lines and steps ---- */

/* The documents of one test that came to their end, in the order of time. */
struct test {
	const struct result **v;
	double *year, *value, *error, *x; /* of those that have the figure; error 0: it has no interval; x: work */
	struct prior prior;
	bool is_disturbed; /* and its scatter is not that of others */
	size_t n;
};

/* A line, or a step, through the values. */
struct shape {
	size_t at;            /* the first value behind the step; 0: a line */
	double change, error; /* a year, or of the step */
	double df, squares;   /* of the error; what is left around the shape */
};

/* How many errors it is; a count steps without any. */
static double errors_of(const struct shape *s, const struct figure *f)
{
	if (s->error > 0.0)
		return fabs(s->change) / s->error;
	return s->change != 0.0 && (s->at == 0 || figure_role(f) == FIGURE_TROUBLE) ? (double)INFINITY : 0.0;
}

/*
 * The scatter around it is that of this disk and that of the others, each as far as it is known; and the
 * runs' own intervals do not let the change be known better, whatever few of them look like.
 */
static bool fit_shape(const struct test *test, size_t n, size_t at, struct shape *ret)
{
	double own = (double)(n - 2), mean_x = 0.0, mean = 0.0, wide = 0.0, intervals = 0.0, scatter;
	struct line line;

	for (size_t i = 0; i < n; i++) {
		test->x[i] = at ? i >= at : test->year[i];
		mean_x += test->x[i] / (double)n;
		mean += test->value[i] / (double)n;
	}
	if (!fit_line(test->x, test->value, NULL, n, &line))
		return false;
	for (size_t i = 0; i < n; i++) {
		double off = pow(test->x[i] - mean_x, 2.0);

		wide += off;
		intervals += off * pow(test->error[i], 2.0);
	}
	*ret = (struct shape){ .at = at, .change = line.b, .df = own + test->prior.df };
	ret->squares = line.rms * line.rms * (double)n;
	scatter = (ret->squares + test->prior.df * test->prior.variance * mean * mean) / ret->df;
	ret->error = sqrt(fmax(scatter, intervals / wide) / wide);
	return true;
}

/* The clearest of all steps; looks: how many there may be. */
static struct shape fit_step(const struct test *test, const struct figure *f, size_t n, size_t *ret_looks)
{
	struct shape best = { 0 }, s;

	*ret_looks = 0;
	for (size_t k = STEP_RUNS; k + STEP_RUNS <= n; k++, ++*ret_looks)
		if (fit_shape(test, n, k, &s) && (!best.at || errors_of(&s, f) > errors_of(&best, f)))
			best = s;
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

/*
 * Where a step explains the figures better than the line does, it is what is reported. looks: the places it was looked
 * for at; the chance is that of any of them.
 */
static void judge_step(const struct trend *tr, const struct figure *f, const struct test *test, const struct shape *s,
                       size_t looks, double line_squares, struct trend_row *row)
{
	double one = 2.0 * (1.0 - stats_t_cdf(errors_of(s, f), s->df)), p = 2.0 * -expm1((double)looks * log1p(-one));

	if (!looks || !(p < tr->level) || fabs(s->change) <= tr->threshold * fabs(row->first) ||
	    (strcmp(row->verdict, "steady") != 0 && s->squares > line_squares))
		return;
	row->verdict = figure_judge(f, s->change);
	row->p = p;
	row->step_percent = row->first != 0.0 ? 100.0 * s->change / fabs(row->first) : (double)NAN;
	row->since = date_of(test, f->name, s->at);
}

/* The values of those that have the figure; returns how many. */
static size_t take_values(struct test *test, const struct figure *f)
{
	size_t n = 0;

	for (size_t i = 0; i < test->n; i++) {
		const struct figure *g = result_find_figure(test->v[i], f->name);

		if (!isfinite(figure_number(g)))
			continue;
		test->error[n] = figure_error(g);
		test->year[n] = alike_years(test->v[i]);
		test->value[n++] = figure_number(g);
	}
	return n;
}

/* Counts the look; its scatter joins that of the others. */
static void count_look(struct trend *tr, const struct figure *f, const struct test *test, const struct shape *line,
                       size_t n)
{
	double mean = 0.0;

	for (size_t i = 0; i < n; i++)
		mean += test->value[i] / (double)n;
	tr->slopes++;
	if (tr->scatter && figure_role(f) == FIGURE_MEASURED && !test->is_disturbed)
		scatter_add(tr->scatter, test->v[0]->head.measurement, f->name,
		            line->squares / line->df / (mean * mean), line->df);
}

/* What is known of the scatter besides this disk's own. */
static struct prior prior_of(const struct trend *tr, const struct figure *f, const struct test *test, size_t n)
{
	struct prior p;
	double sum = 0.0;

	if (figure_role(f) != FIGURE_MEASURED || test->is_disturbed)
		return (struct prior){ 0 };
	p = scatter_prior(tr->scatter, test->v[0]->head.measurement, f->name);
	for (size_t i = 0; i < n; i++)
		sum += pow(test->error[i] / test->value[i], 2.0) / (double)n;
	return p.df > 0.0 || !(sum > 0.0) ? p : (struct prior){ ALONE_TIMES * ALONE_TIMES * sum, ALONE_DF };
}

static void trend_figure(struct trend *tr, const struct figure *f, struct test *test)
{
	const struct result *like = test->v[0];
	struct trend_row row = { .like = like,
		                 .label = label_or_name(f->label, f->name),
		                 .measurement = like->head.measurement,
		                 .disk = alike_disk(like),
		                 .figure = f->name,
		                 .unit = unit_name(f->unit),
		                 .step_percent = NAN,
		                 .verdict = "steady" };
	bool is_judged = tr->level > 0.0 && tr->found;
	struct shape line, step;
	double scale, half, parts; /* of the level */
	size_t n = take_values(test, f), looks;

	if (n < DATES_MIN || figure_role(f) == FIGURE_OF_RUN || f->type == FIELD_TYPE_STR)
		return;
	test->prior = is_judged ? prior_of(tr, f, test, n) : (struct prior){ 0 };
	if (!fit_shape(test, n, 0, &line))
		return;
	if (!is_judged) {
		count_look(tr, f, test, &line, n);
		return;
	}
	step = fit_step(test, f, n, &looks);
	row.first = test->value[0];
	row.last = test->value[n - 1];
	scale = row.first != 0.0 ? 100.0 / fabs(row.first) : (double)NAN; /* of nothing there is no part */
	parts = looks ? 2.0 : 1.0;
	half = two_sided_t(tr->level / parts, line.df) * line.error;
	row.documents = n;
	row.per_year_percent = line.change * scale;
	row.low = (line.change - half) * scale;
	row.high = (line.change + half) * scale;
	row.p = parts * 2.0 * (1.0 - stats_t_cdf(errors_of(&line, f), line.df));
	if (fabs(line.change) > half &&
	    fabs(line.change * (test->year[n - 1] - test->year[0])) > tr->threshold * fabs(row.first))
		row.verdict = figure_judge(f, line.change);
	judge_step(tr, f, test, &step, looks, line.squares, &row);
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

/*
 * Quiet runs alone where there are enough of them, else those alone that others disturbed: what others did in some of
 * the runs is not a trend of the disk.
 */
static void take_one_kind(const struct trend *tr, struct test *test)
{
	const struct result *like = test->v[0];
	size_t quiet = 0, kept = 0;

	for (size_t i = 0; i < test->n; i++)
		quiet += alike_disturbed(test->v[i]) == NULL;
	test->is_disturbed = quiet < DATES_MIN;
	if (quiet == test->n)
		return;
	if (tr->out)
		result_notice(
			tr->out, "disturbed",
			test->is_disturbed
				? "%s of %s: %zu of %zu runs were disturbed from outside: a trend may come from that."
				: "%s of %s: %zu of %zu runs were disturbed from outside and are left out.",
			like->head.measurement, alike_disk(like), test->n - quiet, test->n);
	for (size_t i = 0; i < test->n; i++)
		if (test->is_disturbed == (alike_disturbed(test->v[i]) != NULL))
			test->v[kept++] = test->v[i];
		else if (tr->out)
			result_notice(tr->out, "left-out", "%s of %s: the run of %.10s is left out: %s.",
			              like->head.measurement, alike_disk(like), test->v[i]->head.started,
			              alike_disturbed(test->v[i]) ?: "it was not disturbed, as others were");
	test->n = kept;
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
	cleanup_free const struct result **v = xcalloc(n + 1, sizeof(struct result *));
	cleanup_free double *work = xcalloc(4 * n + 1, sizeof(double));
	struct test test = { .v = v, .year = work, .value = work + n, .error = work + 2 * n, .x = work + 3 * n };

	tr->slopes = 0;
	for (size_t i = 0; i < n; i++) {
		const struct result *last;

		if (alike_outcome(res[i]) < 0 || !collect(&test, res, n, i))
			continue;
		trend_status(tr, &test);
		take_one_kind(tr, &test);
		if (test.n == 0)
			continue;
		last = test.v[test.n - 1];
		for (size_t k = 0; k < last->nfigures; k++)
			trend_figure(tr, &last->figures[k], &test);
	}
	return tr->slopes;
}

bool trend_is_known(const struct trend_row *row)
{
	return row->high - row->low <= KNOWN_PERCENT || strcmp(row->verdict, "steady") != 0;
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
	const struct figure *f = result_find_figure(row->like, row->figure);
	char was[CELL_TEXT + 32], is[CELL_TEXT + 32];
	struct trend_table *to = arg;
	struct trend_row shown = *row;
	struct fleet_disk *disk = fleet_disk_of(to->disks, row->like);
	char text[160];

	to->worse += strcmp(row->verdict, "worse") == 0;
	if (disk)
		xappend(disk->trends, disk->ntrends, *row);
	if (f) {
		shown.was = report_f64(was, sizeof(was), f->unit, row->first);
		shown.is = report_f64(is, sizeof(is), f->unit, row->last);
	}
	if (!trend_is_known(row))
		shown.per_year_percent = shown.low = shown.high = (double)NAN;
	result_row(to->t, &shown);
	if (strcmp(row->verdict, "steady") == 0)
		return;
	if (row->since || isfinite(row->per_year_percent))
		trend_text(text, sizeof(text), row->label, row);
	else if (isfinite(row->first))
		(void)snprintf(text, sizeof(text), "%.60s: %g in the first run, %g in the last", row->label, row->first,
		               row->last);
	else
		(void)snprintf(text, sizeof(text), "%s: the last run is %s", row->measurement,
		               status_name(row->like->status));
	fleet_find(to->disks, disk ? disk : &to->rest, fleet_state_of(row->verdict, row->figure), row->measurement,
	           row->figure, row->p, "%s", text);
}

/* Of one disk, or file: which it is, over how much it was seen, and the first of what is getting worse. */
static void answer_of(struct result *out, const struct fleet_disk *d, size_t worse)
{
	char text[800] = "";

	str_add(text, sizeof(text), "%s %s in %zu runs from %.10s to %.10s", alike_disk(d->v[0]),
	        worse ? "is getting worse" : "does not get worse by more than measurement noise", d->n,
	        d->v[0]->head.started, d->v[d->n - 1]->head.started);
	for (size_t i = 0; worse && i < d->nfindings && i < FINDINGS_SHOWN; i++)
		str_add(text, sizeof(text), "%s%.150s", i ? "; " : ": ", d->findings[i].text);
	str_add(text, sizeof(text), ".");
	result_set(&out->answer, text);
}

int report_trend(const struct result *const *res, size_t n, const struct compare_options *opt, struct result **ret,
                 struct err *err)
{
	cleanup_free const struct result **v = xcalloc(n, sizeof(*v));
	struct fleet *f = fleet_divide(res, n);
	struct trend tr = { .scatter = f->scatter };
	size_t slopes = trend_all(&tr, res, n);
	struct result *out;
	struct trend_table to = { .disks = f };

	if (slopes == 0) {
		fleet_free(f);
		return err_set(
			err, -ENOENT,
			"A trend needs at least three whole documents of one measurement of one disk; measure again later, or "
			"give two documents to compare them.");
	}
	out = result_new("trend");
	to.t = result_table(out, "trends", "Change over time", trend_fields);
	f->looks = slopes;
	f->alarms = FALSE_ALARMS;
	f->level = sidak_level(f->alarms, slopes);
	tr = (struct trend){ .out = out,
		             .threshold = opt->threshold,
		             .level = f->level,
		             .found = add_row,
		             .arg = &to,
		             .scatter = f->scatter };
	to.rest.v = v;
	to.rest.n = n;
	memcpy(v, res, n * sizeof(*v));
	qsort(v, n, sizeof(*v), alike_by_date);
	(void)trend_all(&tr, res, n);
	for (size_t d = 0; d < f->ndisks; d++)
		f->disks[d].quiet = FLEET_STEADY;
	fleet_sort(f);
	places_trend(out, res, n);
	alike_changes(out, res, n, false);
	result_figure_u64(out, "worse", "figures getting worse", UNIT_COUNT, to.worse);
	result_figure_text(out, "verdict", "verdict", to.worse ? "degrading" : "steady");
	answer_of(out, f->ndisks ? &f->disks[0] : &to.rest, to.worse);
	result_set(&out->shows, "worse,verdict,#trends,#scans");
	fleet_put_changed(out, f, "worse,verdict,#disks,#scans,#changes");
	out->status = STATUS_COMPLETE;
	out->verdict_is_no = to.worse > 0;
	free(to.rest.findings);
	*ret = out;
	if (opt->ret_disks)
		*opt->ret_disks = f;
	else
		fleet_free(f);
	return 0;
}
