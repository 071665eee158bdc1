/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One measurement from its command line to its exit status: parse, check outputs, run, save, show. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "cli/cli.h"

struct run {
	const struct env *env;
	const struct measure *m;
	struct common_table table;
	struct cli_params p;
	struct view_params view;
	void *own; /* the measurement's params */
	const char *const *operands;
	size_t noperands;
	struct option_value *options; /* in force, for the document */
	size_t noptions;
	struct progress *progress;
	struct log *log;
	int log_error; /* of the last line: a full disk must not end a measurement */
	struct saver *saver;
	bool is_trouble_told; /* of the saver's */
	struct series series;
	struct requests *requests;
	struct err save_err; /* the first file that could not be saved */
};

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

/* ---- what the run calls ---- */

/* Told once, at once: the user may be able to make room before the end. */
static void tell_trouble(struct run *run)
{
	struct err err;

	if (!saver_news(run->saver, &err) || (err.code != 0) == run->is_trouble_told)
		return;
	run->is_trouble_told = err.code != 0;
	if (!err.code)
		return;
	progress_clear(run->progress);
	cli_complain(run->env, run->m->name, &err);
}

static void on_checkpoint(void *arg, struct session *ses)
{
	struct run *run = arg;

	if (!run->saver)
		return;
	tell_trouble(run);
	cli_screen(ses->res);
	saver_put(run->saver, ses->res);
}

static bool has_series(const struct run *run)
{
	return run->p.jsonl && run->p.progress == PROGRESS_JSON;
}

static bool wants_requests(const struct run *run)
{
	return run->requests || has_series(run);
}

static void on_progress(void *arg, struct session *ses, const char *phase, double done, const char *figure)
{
	struct run *run = arg;

	if (has_series(run))
		series_update(&run->series, run->saver, ses, phase, done, figure);
	progress_update(run->progress, phase, done, figure);
}

static void on_map(void *arg, struct session *ses, const uint8_t *cells, size_t n)
{
	struct run *run = arg;

	(void)ses;
	progress_map(run->progress, cells, n);
}

static void log_it(struct run *run, const char *text)
{
	int r = log_line(run->log, run->m->name, text);

	if (r < 0 && !run->log_error && !run->p.quiet) {
		progress_clear(run->progress);
		fprintf(run->env->err, "platter %s: warning: --log: writing %s failed (%s); make room.\n", run->m->name,
		        run->p.log, err_name(r));
	}
	run->log_error = r;
}

static void on_warn(void *arg, struct session *ses, const char *text)
{
	struct run *run = arg;

	(void)ses;
	log_it(run, text);
	if (run->p.quiet)
		return;
	progress_clear(run->progress);
	cli_say(run->env, run->m->name, "warning: ", text, "");
	(void)fflush(run->env->err); /* before the first byte is written */
}

static void on_log(void *arg, struct session *ses, const char *line)
{
	(void)ses;
	log_it(arg, line);
}

static void on_request(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	struct run *run = arg;

	if (has_series(run))
		series_count(&run->series, target, req, is_fault);
	if (run->requests)
		requests_take(run->requests, target, req, ses->start_ns);
}

/* ---- before ---- */

static int parse(struct run *run, int argc, char **argv, struct err *err)
{
	const struct opt_set sets[] = {
		{ run->m->opts, run->own },
		{ run->table.opts, &run->p },
		{ view_opts, &run->view },
	};
	int first = argc, r;

	r = opt_parse(sets, ARRAY_LEN(sets), argc, argv, &first, err);
	if (r < 0)
		return r;
	run->operands = (const char *const *)(argv + first);
	run->noperands = (size_t)(argc - first);
	return 0;
}

static void free_parsed(struct run *run)
{
	const struct opt_set sets[] = { { run->m->opts, run->own }, { run->table.opts, &run->p } };

	opt_done(sets, ARRAY_LEN(sets));
	outfiles_done(&run->p.common.files);
	free(run->p.common.consent.outputs.v);
	for (size_t i = 0; i < run->noptions; i++) {
		free(run->options[i].name);
		free(run->options[i].text);
	}
	free(run->options);
}

static void note_options(struct run *run, const struct opt *opts, const void *params)
{
	for (const struct opt *o = opts; o && o->type != OPT_TYPE_END; o++) {
		struct option_value *more = realloc(run->options, (run->noptions + 1) * sizeof(*more));

		if (!more)
			return;
		run->options = more;
		run->options[run->noptions++] =
			(struct option_value){ .name = strdup(o->name), .text = opt_value_text(o, params) };
	}
}

static int check_count(const struct run *run, struct err *err)
{
	const struct measure *m = run->m;
	const char *targets = m->targets ? m->targets : "";

	if (run->noperands < m->min_targets)
		return err_set(err, -EINVAL, "Nothing is named to be measured; try `platter %s %s`.", m->name, targets);
	if (run->noperands > m->max_targets)
		return err_set(err, -EINVAL, "%s is one target too many; `platter %s %s` takes no more.",
		               run->operands[m->max_targets], m->name, targets);
	for (size_t i = 0; i < run->noperands; i++)
		if (!*run->operands[i])
			return err_set(err, -EINVAL, "A target is empty; give %s.", targets);
	return 0;
}

/* Of all: the gate of writing wants to know them. */
static int note_outputs(struct run *run, struct err *err)
{
	struct strs *names = &run->p.common.consent.outputs;
	const struct outfile *f = run->p.common.files.first;
	size_t n = 0;

	for (const struct outfile *k = f; k; k = outfile_next(k))
		n++;
	names->v = calloc(n + 1, sizeof(*names->v));
	if (!names->v)
		return err_set(err, -ENOMEM, "Out of memory.");
	for (; f; f = outfile_next(f))
		names->v[names->n++] = outfile_path(f);
	return 0;
}

static int open_outputs(struct run *run, struct err *err)
{
	const struct output_set sets[] = { { run->table.opts, &run->p }, { run->m->opts, run->own } };
	struct outfiles *files = &run->p.common.files;
	const struct output_request q = { .sets = sets,
		                          .nsets = ARRAY_LEN(sets),
		                          .operands = run->operands,
		                          .noperands = run->noperands,
		                          .operands_are = "what is to be measured",
		                          .is_forced = run->p.common.is_forced,
		                          .files = files };
	int r = output_open(&q, err), fd;

	if (r == 0)
		r = note_outputs(run, err);
	if (r == 0 && run->p.log) {
		fd = outfile_grow(outfiles_find(files, run->p.log), err);
		run->log = fd < 0 ? NULL : log_new(fd);
		r = fd < 0 ? fd : 0;
	}
	if (r == 0 && run->p.requests)
		run->requests = requests_new(outfiles_find(files, run->p.requests));
	if (r == 0)
		run->saver = saver_new(run->p.json ? outfiles_find(files, run->p.json) : NULL,
		                       run->p.jsonl ? outfiles_find(files, run->p.jsonl) : NULL);
	return r;
}

static int prepare(struct run *run, struct err *err)
{
	int r = check_count(run, err);

	common_settle(&run->p);
	if (r == 0)
		r = open_outputs(run, err);
	if (r < 0)
		return r;
	note_options(run, run->m->opts, run->own);
	note_options(run, run->table.opts, &run->p);
	run->progress = progress_new(run->env->err, run->env->clk, (enum progress_mode)run->p.progress, run->m->name);
	return 0;
}

/* ---- after ---- */

static int write_csv(FILE *f, void *arg)
{
	const struct result *res = arg;

	return report_csv(f, &res, 1);
}

struct html_job {
	const struct result *res;
	struct err *err;
};

static int write_html(FILE *f, void *arg)
{
	struct html_job *job = arg;

	return report_html(f, &job->res, 1, job->err);
}

static int write_prometheus(FILE *f, void *arg)
{
	const struct result *res = arg;

	return report_prometheus(f, &res, 1, (double)NAN);
}

static void note_failure(struct run *run, int r, const struct err *err)
{
	if (r == 0)
		return;
	if (!run->save_err.code)
		run->save_err = *err;
	if (err->code != -EPIPE)
		cli_complain(run->env, run->m->name, err);
}

/* Files first: they are what must not be lost; then the text. */
static void save_and_show(struct run *run, struct result *res)
{
	const struct cli_params *c = &run->p;
	struct text_style style = output_style(run->env->out, &run->view);
	bool is_stdout_taken =
		is_stdout(c->json) || is_stdout(c->csv) || is_stdout(c->html) || is_stdout(c->prometheus);
	bool is_stdout_bad = false; /* and told already */
	struct err err = { 0 };
	struct html_job job = { res, &err };
	const struct {
		const char *path;
		int (*write)(FILE *f, void *arg);
		void *arg;
	} files[] = { { c->json, result_write, res },
		      { c->csv, write_csv, res },
		      { c->html, write_html, &job },
		      { c->prometheus, write_prometheus, res } };
	int r;

	saver_rest(run->saver);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (!files[i].path)
			continue;
		r = output_save(&c->common.files, files[i].path, run->env->out, files[i].write, files[i].arg, &err);
		note_failure(run, r, &err);
		is_stdout_bad |= r < 0 && is_stdout(files[i].path);
	}
	if (c->jsonl)
		note_failure(run, result_append(res, outfiles_find(&c->common.files, c->jsonl), &err), &err);
	r = is_stdout_taken || c->quiet ? 0 : report_text(run->env->out, res, &style);
	if (r < 0)
		note_failure(run, err_set(&err, r, "Writing to standard output failed (%s).", err_name(r)), &err);
	else if (output_flush(run->env->out, &err) < 0 && !is_stdout_bad)
		note_failure(run, err.code, &err);
}

static int exit_of_status(const struct result *res, const struct run *run)
{
	int number = atomic_load(&cli_signal);

	if (run->save_err.code && res->status != STATUS_CANCELLED)
		return run->save_err.code == -EPIPE ? EXIT_SIGNAL + SIGPIPE : EXIT_FAILED;
	switch (res->status) {
	case STATUS_COMPLETE:
	case STATUS_ENDED_EARLY:
		return exit_of_verdict(res);
	case STATUS_WITH_ERRORS:
	case STATUS_DEVICE_GONE:
		return run->m->judges && res->status == STATUS_WITH_ERRORS ? exit_of_verdict(res) : EXIT_DISK_ERRORS;
	case STATUS_CANCELLED:
		return number ? EXIT_SIGNAL + number : EXIT_FAILED;
	case STATUS_FAILED:
	case STATUS_RUNNING:
	case STATUS_N:
		break;
	}
	return EXIT_FAILED;
}

/* Nothing was measured: a wrong command line, a refusal, or a target that cannot be had. */
static int exit_of_error(int r, bool is_refused)
{
	if (is_refused)
		return EXIT_REFUSED;
	return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static void close_requests(struct run *run, struct result *res)
{
	uint64_t n = requests_count(run->requests);
	bool was_wanted = run->requests && !run->p.common.dry_run;
	struct err err = { 0 };

	if (requests_close(run->requests, &err) < 0)
		note_failure(run, err.code, &err);
	run->requests = NULL;
	if (was_wanted && res && n == 0)
		result_notice(
			res, "no-requests",
			"There is nothing for --requests: %s gives its requests to the kernel itself, or gave none.",
			run->m->name);
}

static void note_idle_options(const struct run *run, struct result *res)
{
	if (res && run->p.common.precision > 0.0 && run->m->precision <= 0.0)
		result_notice(res, "no-precision",
		              "There is nothing for --precision: %s measures as much as its other options say.",
		              run->m->name);
}

static bool is_saved_by_run(enum outfile_kind kind)
{
	return kind == OUTFILE_STATE || kind == OUTFILE_MAPFILE || kind == OUTFILE_BLOCKS;
}

/* What the run itself has saved, and the last time could not. */
static void note_unsaved(struct run *run)
{
	struct err err = { 0 };

	for (const struct outfile *f = run->p.common.files.first; f; f = outfile_next(f))
		if (outfile_trouble(f) < 0 && is_saved_by_run(outfile_kind(f)))
			note_failure(run,
			             err_set(&err, outfile_trouble(f), "--%s: %s could not be saved (%s); make room.",
			                     outfile_option(f), outfile_path(f), err_name(outfile_trouble(f))),
			             &err);
}

/* Before the end, for the exit status. */
static void close_log(struct run *run)
{
	int r = log_close(run->log);
	struct err err = { 0 };

	run->log = NULL;
	if (r < 0)
		note_failure(run,
		             err_set(&err, r,
		                     "--log: writing %s failed (%s), so lines are missing there; make room or give "
		                     "another path.",
		                     run->p.log, err_name(r)),
		             &err);
}

static void log_start(struct run *run)
{
	char text[512] = "start";

	for (size_t i = 0; i < run->noperands; i++) {
		size_t used = strlen(text);

		(void)snprintf(text + used, sizeof(text) - used, " %s", run->operands[i]); /* cut is fine */
	}
	log_it(run, text);
}

static int execute(struct run *run, int argc, const char *const *argv)
{
	const struct session_config cfg = {
		.env = run->env,
		.measure = run->m,
		.common = &run->p.common,
		.params = run->own,
		.paths = run->operands,
		.npaths = run->noperands,
		.argv = argv,
		.argc = (size_t)argc,
		.options = run->options,
		.noptions = run->noptions,
		.cancel = &cli_signal,
		.hooks = { .checkpoint = on_checkpoint,
		           .progress = on_progress,
		           .map = run->progress ? on_map : NULL,
		           .warn = on_warn,
		           .log = on_log,
		           .request = wants_requests(run) ? on_request : NULL,
		           .arg = run },
	};
	struct result *res = NULL;
	struct err err = { 0 };
	bool is_refused = false, has_something;
	int r, status;

	signals_catch();
	log_start(run);
	r = session_run(&cfg, &res, &is_refused, &err);
	progress_clear(run->progress);
	close_requests(run, r == 0 ? res : NULL);
	note_idle_options(run, res);
	/* A run that broke half-way is worth saving; a refusal must not replace an older document. */
	has_something = res && (r == 0 || res->head.elapsed_s > 0.0);
	if (r < 0) {
		cli_complain(run->env, run->m->name, &err);
		log_it(run, err.text);
	}
	if (has_something) {
		if (!run->p.common.dry_run)
			cli_screen(res);
		save_and_show(run, res);
	}
	note_unsaved(run);
	log_it(run, r == 0 && res ? status_name(res->status) : "failed");
	close_log(run);
	if (r == 0 && res)
		status = exit_of_status(res, run);
	else
		status = has_something ? EXIT_FAILED : exit_of_error(r, is_refused);
	result_free(res);
	return status;
}

static int show_or_run(struct run *run, int argc, const char *const *as_typed, struct err *err)
{
	int r;

	if (run->view.help)
		cli_help_measure(run->env, run->env->out, run->m, strcmp(run->view.help, "all") == 0);
	else if (run->view.version)
		fputs("platter " PLATTER_VERSION "\n", run->env->out);
	if (run->view.help || run->view.version)
		return EXIT_DONE;
	r = prepare(run, err);
	return r == 0 ? execute(run, argc, as_typed) : r;
}

static void run_done(struct run *run)
{
	progress_free(run->progress);
	saver_free(run->saver);
	(void)log_close(run->log);                 /* open only when the run did not begin */
	(void)requests_close(run->requests, NULL); /* open only when the run did not begin: nothing was written */
	free_parsed(run);
	free(run->own);
}

int run_measure(const struct env *env, const struct measure *m, int argc, char **argv)
{
	struct run run = { .env = env, .m = m };
	const char **as_typed = calloc((size_t)argc + 1, sizeof(*as_typed)); /* getopt_long moves operands */
	struct err err = { -ENOMEM, "Out of memory." };
	int status = -ENOMEM;

	run.own = calloc(1, m->params_size + 1);
	common_table_init(&run.table, env, m);
	if (run.own && as_typed) {
		memcpy(as_typed, argv, (size_t)argc * sizeof(*as_typed));
		status = parse(&run, argc - 1, argv + 1, &err);
		if (status == 0)
			status = show_or_run(&run, argc, as_typed, &err);
		run_done(&run);
	} else {
		free(run.own);
	}
	free(as_typed);
	if (status >= 0)
		return status;
	cli_complain(env, m->name, &err);
	return exit_of_error(status, status == -EPERM);
}
