/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `platter report` and `platter compare`: documents in, documents or pages out; no device is opened. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "cli/shelf.h"

/* Into a document that was made of all: it says what it is without. */
static void report_passed_over(struct result *res, const struct shelf *s)
{
	cleanup_free char *answer = NULL;

	if (s->foreign)
		result_notice(res, "foreign", "%zu JSON file%s of other programs %s not read.", s->foreign,
		              s->foreign == 1 ? "" : "s", s->foreign == 1 ? "was" : "were");
	if (s->bad == 0)
		return;
	result_figure_u64(res, "passed_over", "documents that cannot be read", UNIT_COUNT, s->bad);
	for (size_t i = 0; i < s->bad && i < BAD_SHOWN; i++)
		result_notice(res, "passed-over", "%s", s->why[i]);
	if (asprintf(&answer, "%s %zu document%s cannot be read and %s left out.", res->answer ? res->answer : "",
	             s->bad, s->bad == 1 ? "" : "s", s->bad == 1 ? "is" : "are") < 0)
		answer = NULL;
	else
		result_set(&res->answer, answer);
}

/*
 * What was passed over, at the end of it all, makes the exit status EXIT_FAILED, unless the answer is negative whatever
 * is missing.
 */
static int shelf_end(const struct shelf *s, int status, struct err *err)
{
	struct err why = { 0 };
	size_t used, shown = 0;

	if (s->bad == 0 || status < 0)
		return status;
	(void)err_set(&why, -EIO, "%zu document%s cannot be read and %s left out; mend or remove %s:", s->bad,
	              s->bad == 1 ? "" : "s", s->bad == 1 ? "is" : "are", s->bad == 1 ? "it" : "them");
	used = strlen(why.text);
	while (shown < s->bad && shown < BAD_SHOWN && used + strlen(s->why[shown]) + 20 < sizeof(why.text))
		used += (size_t)snprintf(why.text + used, sizeof(why.text) - used, "\n  %s", s->why[shown++]);
	if (shown < s->bad)
		(void)snprintf(why.text + used, sizeof(why.text) - used, "\n  and %zu more", s->bad - shown);
	*err = why;
	return status == EXIT_VERDICT_NO ? status : why.code;
}

static int status_of_failure(int r)
{
	return r == -EINVAL ? -EIO
	                    : r; /* -EINVAL means usage to the caller; a bad document is not a wrong command line */
}

/* ---- report ---- */

struct report_params {
	const char *html, *picture, *csv, *prometheus, *json;
	double threshold;
	bool again, is_forced;
};

static const struct opt report_opts[] = {
	OPT_STR(struct report_params, html, "html", 'o', "FILE", NULL, "write one HTML page; - is standard output",
	        .writes = OUTFILE_PAGE),
	OPT_STR(struct report_params, picture, "picture", 0, "NAME", NULL,
	        "one of the pictures, as SVG, instead of the page: any other name lists them"),
	OPT_STR(struct report_params, csv, "csv", 0, "FILE", NULL,
	        "write the figures and tables as CSV; - is standard output", .writes = OUTFILE_CSV),
	OPT_STR(struct report_params, prometheus, "prometheus", 0, "FILE", NULL,
	        "write the figures for node_exporter (OpenMetrics); - is standard output", .writes = OUTFILE_METRICS),
	OPT_STR(struct report_params, json, "json", 'j', "FILE", NULL,
	        "save what was found of the disks as a document; - is standard output", .writes = OUTFILE_DOCUMENT),
	OPT_RATIO(struct report_params, threshold, "threshold", 't', "RATIO", "2%",
	          "of many disks: differences below this do not count", .min = 0, .max = 10),
	OPT_FLAG(struct report_params, again, "again", 0, "compute the figures anew from the samples in the document"),
	OPT_FLAG(struct report_params, is_forced, "force", 0, "write over files that platter did not write"),
	OPT_END,
};

struct page_job {
	struct documents docs; /* first */
	const struct shelf *shelf;
	const char *picture;
};

static int write_page(FILE *f, void *arg)
{
	const struct page_job *job = arg;

	return job->picture ? report_picture(f, job->docs.v, job->docs.n, job->picture) : documents_page(f, arg);
}

static int open_outputs(const struct opt *opts, const void *params, bool is_forced, const char *const *operands,
                        size_t n, struct outfiles *ret, struct err *err)
{
	const struct output_set set = { opts, params };

	return output_open(&(struct output_request){ .sets = &set,
	                                             .nsets = 1,
	                                             .operands = operands,
	                                             .noperands = n,
	                                             .reads_folders = true,
	                                             .operands_are = "one of the documents that are read",
	                                             .is_forced = is_forced,
	                                             .files = ret },
	                   err);
}

#define DOCUMENTS_ON_SCREEN 4

/* Documents in the order given; the plots of several of one measurement over each other, after the last of them. */
static int show_texts(FILE *out, const struct shelf *shelf, const struct text_style *style)
{
	cleanup_free const struct result **group = xcalloc(shelf->n, sizeof(*group));
	size_t shown = style->lines && shelf->n > DOCUMENTS_ON_SCREEN ? DOCUMENTS_ON_SCREEN : shelf->n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < shown; i++) {
		struct text_style one = *style;
		bool is_last = true;
		size_t n = 0;

		for (size_t k = 0; k < shelf->n; k++)
			if (strcmp(shelf->v[k]->head.measurement, shelf->v[i]->head.measurement) == 0) {
				group[n++] = shelf->v[k];
				is_last = k <= i;
			}
		one.plots = style->plots && n == 1;
		one.lines = shown > 1 && style->lines ? (style->lines - 2) / (unsigned)shown - 1 : style->lines;
		if (i)
			(void)fputc('\n', out);
		r = report_text(out, shelf->v[i], &one);
		if (r == 0 && style->plots && n > 1 && is_last)
			report_plots_text(out, group, n, style);
	}
	if (r == 0 && shown < shelf->n)
		(void)fprintf(out, "\nAnd %zu more documents: -v shows them, --html makes a page.\n", shelf->n - shown);
	return r;
}

/* What `check` asks, its documents answer: the last of each disk, whatever lies beside it. ret_checks: how many. */
static int exit_of_checks(const struct result *const *v, size_t n, size_t *ret_checks)
{
	bool is_no = false, is_open = false;

	*ret_checks = 0;
	for (size_t i = 0; i < n; i++) {
		double level = figure_number(result_find_figure(v[i], "verdict_level"));

		if (strcmp(v[i]->head.measurement, "check") != 0)
			continue;
		++*ret_checks;
		if (!report_is_last(v, n, i))
			continue;
		is_no = is_no || level > 1.0;
		is_open = is_open || !(level == 0.0 || level > 1.0);
	}
	return is_no ? EXIT_VERDICT_NO : is_open ? EXIT_VERDICT_OPEN : EXIT_DONE;
}

static struct result *fleet_document(const struct page_job *job)
{
	struct result *res = report_fleet(job->docs.v, job->docs.n, &job->docs.options);

	report_passed_over(res, job->shelf);
	return res;
}

static int write_fleet(FILE *f, void *arg)
{
	struct result *res = fleet_document(arg);
	int r = result_write(f, res);

	result_free(res);
	return r;
}

static int show_fleet(FILE *out, const struct page_job *job, const struct text_style *style)
{
	struct result *res = fleet_document(job);
	int r = report_text(out, res, style);

	result_free(res);
	return r;
}

static int show(const struct env *env, const struct page_job *job, bool has_folder, const struct text_style *style,
                int *ret_status)
{
	const struct shelf *shelf = job->shelf;
	const struct result *const *v = (const struct result *const *)shelf->v;
	size_t ndisks = shelf->n > 1 ? report_fleet_disks(v, shelf->n) : 1, checks;

	*ret_status = exit_of_checks(v, shelf->n, &checks);
	if (ndisks > 1 && ndisks == checks && checks == shelf->n)
		return report_verdicts(env->out, v, shelf->n, style);
	return has_folder && ndisks > 1 ? show_fleet(env->out, job, style) : show_texts(env->out, shelf, style);
}

static int run_report(const struct env *env, const struct view_params *view, const void *params,
                      const char *const *operands, size_t n, struct err *err)
{
	const struct report_params *p = params;
	struct shelf shelf = { 0 };
	struct page_job job = {
		{ .options = { .threshold = p->threshold }, .metrics_threshold = p->threshold, .err = err },
		&shelf,
		p->picture
	};
	const char *page = p->picture && !p->html ? "-" : p->html;
	const struct {
		const char *path;
		int (*write)(FILE *f, void *arg);
	} outputs[] = { { page, write_page },
		        { p->csv, documents_csv },
		        { p->prometheus, documents_metrics },
		        { p->json, write_fleet } };
	struct text_style style = output_style(env->out, view);
	bool has_folder = false, is_saved = false;
	int status = EXIT_DONE;
	struct outfiles files = { 0 };
	int r = open_outputs(report_opts, p, p->is_forced, operands, n, &files, err);

	for (size_t i = 0; i < n; i++)
		has_folder |= shelf_is_folder(operands[i]);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = status_of_failure(shelf_add_any(&shelf, operands[i], err));
	for (size_t i = 0; r == 0 && p->again && i < shelf.n; i++)
		r = status_of_failure(cli_again(shelf.v[i], err));
	for (size_t i = 0; r == 0 && i < shelf.n; i++)
		if (p->again || !shelf.v[i]->shows)
			cli_screen(shelf.v[i]);
	job.docs.v = (const struct result *const *)shelf.v;
	job.docs.n = shelf.n;
	if (r == 0 && p->picture)
		r = report_picture_check(job.docs.v, shelf.n, p->picture, err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(outputs); i++)
		if (outputs[i].path) {
			r = output_save(&files, outputs[i].path, env->out, outputs[i].write, &job, err);
			is_saved = true;
		}
	if (r == 0 && !is_saved)
		r = show(env, &job, has_folder, &style, &status);
	r = shelf_end(&shelf, r < 0 ? r : status, err);
	outfiles_done(&files);
	shelf_done(&shelf);
	return r;
}

/* ---- compare ---- */

struct compare_params {
	double threshold, tolerance;
	bool trend;
	const char *html, *json;
	bool is_forced;
};

static const struct opt compare_opts[] = {
	OPT_RATIO(struct compare_params, threshold, "threshold", 't', "RATIO", "0",
	          "differences below this do not count", .min = 0, .max = 10),
	OPT_RATIO(struct compare_params, tolerance, "tolerance", 0, "RATIO", "5%",
	          "two are the same when their difference is surely smaller", .min = 1e-9, .max = 10),
	OPT_FLAG(struct compare_params, trend, "trend", 0,
	         "is it getting worse: all documents over time (the default with one operand)"),
	OPT_STR(struct compare_params, html, "html", 'o', "FILE", NULL, "write one HTML page; - is standard output",
	        .writes = OUTFILE_PAGE),
	OPT_STR(struct compare_params, json, "json", 'j', "FILE", NULL,
	        "save the comparison as a document; - is standard output", .writes = OUTFILE_DOCUMENT),
	OPT_FLAG(struct compare_params, is_forced, "force", 0, "write over files that platter did not write"),
	OPT_END,
};

struct changes_job {
	struct result *reported;
	const struct fleet *disks;
	struct err *err;
};

static int write_changes_page(FILE *f, void *arg)
{
	const struct changes_job *job = arg;

	return report_changes_page(f, job->reported, job->disks, job->err);
}

static int show_changes(const struct env *env, const struct view_params *view, const struct compare_params *p,
                        const struct outfiles *files, struct changes_job *job)
{
	struct text_style style = output_style(env->out, view);
	int r = 0;

	if (p->html)
		r = output_save(files, p->html, env->out, write_changes_page, job, job->err);
	if (r == 0 && p->json)
		r = output_save(files, p->json, env->out, result_write, job->reported, job->err);
	return r < 0 || output_is_stdout(p->json) || output_is_stdout(p->html)
	               ? r
	               : report_text(env->out, job->reported, &style);
}

static int run_compare(const struct env *env, const struct view_params *view, const void *params,
                       const char *const *operands, size_t n, struct err *err)
{
	const struct compare_params *p = params;
	struct fleet *disks = NULL;
	const struct compare_options opt = { p->threshold, &disks, p->tolerance, operands };
	bool is_trend = p->trend || n != 2;
	struct shelf all = { 0 };
	struct result *res = NULL;
	struct outfiles files = { 0 };
	size_t na = 0;
	int r = open_outputs(compare_opts, p, p->is_forced, operands, n, &files, err);

	for (size_t i = 0; r == 0 && i < n; i++) {
		r = status_of_failure(shelf_add_any(&all, operands[i], err));
		na = i == 0 ? all.n : na; /* of two, behind this are those of B */
	}
	if (r == 0 && is_trend)
		r = report_trend((const struct result *const *)all.v, all.n, &opt, &res, err);
	else if (r == 0)
		r = report_compare((const struct result *const *)all.v, na, (const struct result *const *)all.v + na,
		                   all.n - na, &opt, &res, err);
	if (r == 0) {
		report_passed_over(res, &all);
		r = show_changes(env, view, p, &files, &(struct changes_job){ res, disks, err });
	}
	if (r == 0)
		r = exit_of_verdict(res);
	r = shelf_end(&all, r, err);
	outfiles_done(&files);
	fleet_free(disks);
	result_free(res);
	shelf_done(&all);
	return r;
}

const struct command report_command = {
	.name = "report",
	.help = "show saved results, or make one page of them",
	.group = GROUP_RESULT,
	.operands = "RESULT|FOLDER...",
	.min_operands = 1,
	.max_operands = 64,
	.opts = report_opts,
	.params_size = sizeof(struct report_params),
	.run = run_report,
};

const struct command compare_command = {
	.name = "compare",
	.help = "is B different from A, or a disk getting worse",
	.group = GROUP_RESULT,
	.operands = "RESULT|FOLDER...",
	.min_operands = 1,
	.max_operands = 512,
	.opts = compare_opts,
	.params_size = sizeof(struct compare_params),
	.run = run_compare,
};
