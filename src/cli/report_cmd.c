/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `platter report` and `platter compare`: documents in, documents or pages out; no device is opened. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cli/cli.h"

/* Documents read from files and folders. */
struct shelf {
	struct result **v;
	size_t n, room;
};

static void shelf_done(struct shelf *s)
{
	for (size_t i = 0; i < s->n; i++)
		result_free(s->v[i]);
	free(s->v);
}

/* Takes the document, or frees it. */
static int shelf_put(void *arg, struct result *res)
{
	struct shelf *s = arg;

	if (s->n == s->room) {
		struct result **v = realloc(s->v, (s->room ? 2 * s->room : 16) * sizeof(struct result *));

		if (!v) {
			result_free(res);
			return -ENOMEM;
		}
		s->v = v;
		s->room = s->room ? 2 * s->room : 16;
	}
	s->v[s->n++] = res;
	return 0;
}

static int shelf_add(struct shelf *s, const char *path, struct err *err)
{
	int r = result_load_each(path, shelf_put, s, err);

	return r == -ENOMEM && !err->code ? err_set(err, r, "Out of memory.") : r;
}

static int is_json(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return (len > 5 && strcmp(e->d_name + len - 5, ".json") == 0) ||
	       (len > 6 && strcmp(e->d_name + len - 6, ".jsonl") == 0);
}

/* All *.json and *.jsonl of a folder, by name; files that are no platter documents are passed over, but not if nothing is left. */
static int shelf_add_folder(struct shelf *s, const char *path, struct err *err)
{
	struct dirent **names = NULL;
	struct err why = { 0 };
	size_t before = s->n;
	int n = scandir(path, &names, is_json, alphasort);

	if (n < 0)
		return err_set(err, -errno, "%s: the folder cannot be read (%s).", path, err_name(errno));
	for (int i = 0; i < n; i++) {
		char full[4096];
		struct stat st;

		/* A pipe would be waited for, without end. */
		if (snprintf(full, sizeof(full), "%s/%s", path, names[i]->d_name) < (int)sizeof(full) &&
		    stat(full, &st) == 0 && S_ISREG(st.st_mode))
			(void)shelf_add(s, full, &why); /* somebody else's JSON */
		free(names[i]);
	}
	free(names);
	if (s->n > before)
		return 0;
	return err_set(err, why.code ? why.code : -ENOENT, "%s: no document of platter in this folder%s%s", path,
	               why.code ? "; the last one tried: " : "; save results there with --json.", why.text);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int shelf_add_any(struct shelf *s, const char *path, struct err *err)
{
	if (is_folder(path))
		return shelf_add_folder(s, path, err);
	return shelf_add(s, path, err);
}

static int status_of_failure(int r)
{
	return r == -EINVAL ? -EIO : r; /* -EINVAL means usage to the caller; a bad document is no wrong command line */
}

/* ---- report ---- */

struct report_params {
	const char *output, *picture, *csv, *prometheus, *json;
	double threshold;
	bool again;
};

static const struct opt report_opts[] = {
	OPT_STR(struct report_params, output, "output", 'o', "FILE", NULL, "write one HTML page; - is standard output"),
	OPT_STR(struct report_params, picture, "picture", 0, "NAME", NULL,
	        "one of the pictures, as SVG, instead of the page: any other name lists them"),
	OPT_STR(struct report_params, csv, "csv", 0, "FILE", NULL,
	        "write the figures and tables as CSV; - is standard output"),
	OPT_STR(struct report_params, prometheus, "prometheus", 0, "FILE", NULL,
	        "write the figures for node_exporter (OpenMetrics); - is standard output"),
	OPT_STR(struct report_params, json, "json", 'j', "FILE", NULL,
	        "save what was found of the disks as a document; - is standard output"),
	OPT_RATIO(struct report_params, threshold, "threshold", 't', "RATIO", "2%",
	          "of many disks: differences below this do not count", .min = 0, .max = 10),
	OPT_FLAG(struct report_params, again, "again", 0, "compute the figures anew from the samples in the document"),
	OPT_END,
};

struct page_job {
	const struct shelf *shelf;
	struct compare_options options;
	const char *picture; /* or NULL: the page */
	struct err *err;
};

static int write_page(FILE *f, void *arg)
{
	const struct page_job *job = arg;
	const struct result *const *v = (const struct result *const *)job->shelf->v;

	return job->picture ? report_picture(f, v, job->shelf->n, job->picture)
	                    : report_page(f, v, job->shelf->n, &job->options, job->err);
}

static int write_all_csv(FILE *f, void *arg)
{
	const struct page_job *job = arg;
	int r = 0;

	for (size_t i = 0; r == 0 && i < job->shelf->n; i++)
		r = report_csv(f, job->shelf->v[i]);
	return r;
}

static int write_all_metrics(FILE *f, void *arg)
{
	const struct page_job *job = arg;

	return report_prometheus(f, (const struct result *const *)job->shelf->v, job->shelf->n);
}

/* Neither a device node nor one of the documents is written over, nor one output over the other. */
static int check_output(struct cli_params c, const char *const *operands, size_t n, struct err *err)
{
	int r = output_check(&c, operands, n, err);

	output_done(&c);
	return r;
}

#define DOCUMENTS_ON_SCREEN 4

/* Documents in the order given; the plots of several of one measurement over each other, after the last of them. */
static int show_texts(FILE *out, const struct shelf *shelf, const struct text_style *style)
{
	const struct result **group = calloc(shelf->n + 1, sizeof(*group));
	size_t shown = style->lines && shelf->n > DOCUMENTS_ON_SCREEN ? DOCUMENTS_ON_SCREEN : shelf->n;
	int r = group ? 0 : -ENOMEM;

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
			r = report_plots_text(out, group, n, style);
	}
	if (r == 0 && shown < shelf->n)
		(void)fprintf(out, "\nAnd %zu more documents: -v shows them, --output makes a page.\n",
		              shelf->n - shown);
	free(group);
	return r;
}

static int write_fleet(FILE *f, void *arg)
{
	const struct page_job *job = arg;
	struct result *res = report_fleet((const struct result *const *)job->shelf->v, job->shelf->n, &job->options);
	cleanup_free char *text = result_to_json(res);

	result_free(res);
	return text && fprintf(f, "%s\n", text) >= 0 ? 0 : -EIO;
}

static int show_fleet(FILE *out, const struct page_job *job, const struct text_style *style)
{
	struct result *res = report_fleet((const struct result *const *)job->shelf->v, job->shelf->n, &job->options);
	int r = report_text(out, res, style);

	result_free(res);
	return r;
}

static int run_report(const struct env *env, const struct view_params *view, const void *params,
                      const char *const *operands, size_t n, struct err *err)
{
	const struct report_params *p = params;
	struct shelf shelf = { 0 };
	struct page_job job = { &shelf, { p->threshold, NULL }, p->picture, err };
	const char *page = p->picture && !p->output ? "-" : p->output;
	struct text_style style = output_style(env->out, view);
	bool has_folder = false;
	int r = check_output(
		(struct cli_params){ .html = p->output, .csv = p->csv, .prometheus = p->prometheus, .json = p->json },
		operands, n, err);

	for (size_t i = 0; i < n; i++)
		has_folder |= is_folder(operands[i]);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = status_of_failure(shelf_add_any(&shelf, operands[i], err));
	for (size_t i = 0; r == 0 && p->again && i < shelf.n; i++)
		r = status_of_failure(cli_again(shelf.v[i], err));
	for (size_t i = 0; r == 0 && i < shelf.n; i++)
		if (p->again || !shelf.v[i]->shows)
			cli_screen(shelf.v[i]);
	if (r == 0 && p->picture)
		r = report_picture_check((const struct result *const *)shelf.v, shelf.n, p->picture, err);
	if (r == 0 && page)
		r = output_save(page, env->out, write_page, &job, err);
	if (r == 0 && p->csv)
		r = output_save(p->csv, env->out, write_all_csv, &job, err);
	if (r == 0 && p->prometheus)
		r = output_save(p->prometheus, env->out, write_all_metrics, &job, err);
	if (r == 0 && p->json)
		r = output_save(p->json, env->out, write_fleet, &job, err);
	if (r == 0 && !page && !p->csv && !p->prometheus && !p->json)
		r = has_folder && report_fleet_disks((const struct result *const *)shelf.v, shelf.n) > 1
		            ? show_fleet(env->out, &job, &style)
		            : show_texts(env->out, &shelf, &style);
	shelf_done(&shelf);
	return r < 0 ? r : EXIT_DONE;
}

/* ---- compare ---- */

struct compare_params {
	double threshold;
	bool trend;
	const char *output, *json;
};

static const struct opt compare_opts[] = {
	OPT_RATIO(struct compare_params, threshold, "threshold", 't', "RATIO", "0",
	          "differences below this do not count", .min = 0, .max = 10),
	OPT_FLAG(struct compare_params, trend, "trend", 0,
	         "is it getting worse: all documents over time (the default with one operand)"),
	OPT_STR(struct compare_params, output, "output", 'o', "FILE", NULL,
	        "write one HTML page; - is standard output"),
	OPT_STR(struct compare_params, json, "json", 'j', "FILE", NULL,
	        "save the comparison as a document; - is standard output"),
	OPT_END,
};

struct changes_job {
	const struct result *told;
	const struct fleet *disks;
	struct err *err;
};

static int write_changes_page(FILE *f, void *arg)
{
	const struct changes_job *job = arg;

	return report_changes_page(f, job->told, job->disks, job->err);
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static int show(const struct env *env, const struct view_params *view, const struct compare_params *p,
                struct changes_job *job)
{
	struct text_style style = output_style(env->out, view);
	int r = 0;

	if (p->output)
		r = output_save(p->output, env->out, write_changes_page, job, job->err);
	if (r == 0 && p->json && !is_stdout(p->json))
		r = result_save(job->told, p->json, job->err);
	if (r == 0 && is_stdout(p->json)) {
		cleanup_free char *text = result_to_json(job->told);

		(void)fprintf(env->out, "%s\n", text ? text : "null");
	}
	return r < 0 || is_stdout(p->json) || is_stdout(p->output) ? r : report_text(env->out, job->told, &style);
}

static int run_compare(const struct env *env, const struct view_params *view, const void *params,
                       const char *const *operands, size_t n, struct err *err)
{
	const struct compare_params *p = params;
	struct fleet *disks = NULL;
	const struct compare_options opt = { p->threshold, &disks };
	bool is_trend = p->trend || n != 2;
	struct shelf a = { 0 }, b = { 0 };
	struct result *res = NULL;
	int r = check_output((struct cli_params){ .html = p->output, .json = p->json }, operands, n, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = status_of_failure(shelf_add_any(i == 0 || is_trend ? &a : &b, operands[i], err));
	if (r == 0 && is_trend)
		r = report_trend((const struct result *const *)a.v, a.n, &opt, &res, err);
	else if (r == 0)
		r = report_compare((const struct result *const *)a.v, a.n, (const struct result *const *)b.v, b.n, &opt,
		                   &res, err);
	if (r == 0)
		r = show(env, view, p, &(struct changes_job){ res, disks, err });
	if (r == 0)
		r = exit_of_verdict(res);
	fleet_free(disks);
	result_free(res);
	shelf_done(&a);
	shelf_done(&b);
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
