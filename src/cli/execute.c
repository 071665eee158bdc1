/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run, when all that it needs is open: run, save, show, exit status. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/execute.h"
#include "cli/shelf.h"
#include "verdict/verdict.h"

/* ---- records of a long run ---- */

/*
 * A record each 10 s of how the run goes, at the end of the file of --jsonl: a day's recording can be watched, and its
 * course is there after a crash. The saver's thread writes it.
 */
#define RECORD_NS (10 * NS_PER_S)

static void series_count(struct series *s, const char *target, const struct io_req *req, bool is_fault)
{
	s->sum.faults += is_fault;
	if (req->res <= 0)
		return;
	*(io_writes(req->op) ? &s->sum.written_bytes : &s->sum.read_bytes) += (uint64_t)req->res;
	(void)snprintf(s->target, sizeof(s->target), "%s", target); /* cut is fine */
	s->offset_bytes = req->offset_bytes + (uint64_t)req->res;
}

static void series_update(struct series *s, struct saver *saver, const struct session *ses, const char *phase,
                          double done, const char *figure)
{
	uint64_t now_ns = clock_now_ns(ses->env->clk);
	double since_s;
	cleanup_free char *phase_utf8 = NULL, *figure_utf8 = NULL;
	char *line;
	json_t *o;

	if (s->at_ns == 0)
		s->at_ns = ses->start_ns;
	if (now_ns < s->at_ns + RECORD_NS)
		return;
	since_s = (double)(now_ns - s->at_ns) * 1e-9;
	phase_utf8 = result_strdup(phase);
	figure_utf8 = result_strdup(figure);
	o = json_pack("{s:s, s:i, s:s, s:s?, s:f, s:s?, s:o, s:s?}", "schema", "platter-progress", "version", 1,
	              "measurement", ses->measure->name, "started", ses->res->head.started, "elapsed_s",
	              (double)(now_ns - ses->start_ns) * 1e-9, "phase", phase_utf8, "done",
	              done >= 0.0 ? json_real(fmin(done, 1.0)) : json_null(), "figure", figure_utf8);
	if (!o)
		return;
	(void)json_object_set_new(o, "read_bytes", json_integer((json_int_t)s->sum.read_bytes));
	(void)json_object_set_new(o, "written_bytes", json_integer((json_int_t)s->sum.written_bytes));
	(void)json_object_set_new(o, "read_bytes_per_s",
	                          json_real((double)(s->sum.read_bytes - s->last.read_bytes) / since_s));
	(void)json_object_set_new(o, "written_bytes_per_s",
	                          json_real((double)(s->sum.written_bytes - s->last.written_bytes) / since_s));
	(void)json_object_set_new(o, "faults", json_integer((json_int_t)s->sum.faults));
	(void)json_object_set_new(o, "target", *s->target ? json_string(s->target) : json_null());
	(void)json_object_set_new(o, "offset_bytes", json_integer((json_int_t)s->offset_bytes));
	line = json_dumps(o, JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	json_decref(o);
	s->at_ns = now_ns;
	s->last = s->sum;
	saver_append(saver, line);
}

/* ---- what the run calls ---- */

/* Once, at once: the user may be able to make room before the end. */
static void report_trouble(struct run *run)
{
	struct err err;

	if (!saver_news(run->saver, &err) || (err.code != 0) == run->is_trouble_reported)
		return;
	run->is_trouble_reported = err.code != 0;
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
	report_trouble(run);
	cli_screen(ses->res);
	saver_put(run->saver, ses->res);
}

static bool has_series(const struct run *run)
{
	return run->p.jsonl && run->p.progress == PROGRESS_JSON;
}

static void on_progress(void *arg, struct session *ses, const char *phase, double done, const char *figure)
{
	struct run *run = arg;

	if (has_series(run))
		series_update(&run->series, run->saver, ses, phase, done, figure);
	progress_update(run->progress, phase, done, figure);
	if (run->is_one_of_several && ferror(run->env->err) && atomic_load(&cli_signal) == 0)
		(void)raise(SIGTERM); /* who started this one is gone */
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

/* ---- what a verdict has to do with earlier documents of the same disk ---- */

/* What lies in the folder that the option --history names, if there is one of them. */
static void history_load(struct shelf *s, const struct option_value *options, size_t n)
{
	struct err why = { 0 }; /* what cannot be read is not an earlier document */

	for (size_t i = 0; i < n; i++)
		if (options[i].name && strcmp(options[i].name, "history") == 0 && options[i].text &&
		    access(options[i].text, R_OK) == 0)
			(void)shelf_add_any(s, options[i].text, &why);
}

/* Into the document of a run, and its verdict with it. */
static void history_report(const struct shelf *s, struct result *res)
{
	if (s->n && report_history(res, (const struct result *const *)s->v, s->n))
		verdict_conclude(res);
}

/* ---- after ---- */

static int write_documents(FILE *f, void *arg)
{
	const struct documents *d = arg;
	int r = 0;

	for (size_t i = 0; r == 0 && i < d->n; i++)
		r = result_write(f, (void *)(uintptr_t)d->v[i]);
	return r;
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

static int show(struct run *run, const struct result *const *docs, size_t n)
{
	struct text_style style = output_style(run->env->out, &run->view);
	int r = 0;

	if (n > 1 && !run->p.common.dry_run)
		return report_verdicts(run->env->out, docs, n, &style);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = report_text(run->env->out, docs[i], &style);
	return r;
}

/* Files first: they are what must not be lost; then the text. */
void run_save_and_show(struct run *run, const struct result *const *docs, size_t n)
{
	const struct cli_params *c = &run->p;
	bool is_stdout_taken = output_is_stdout(c->json) || output_is_stdout(c->csv) || output_is_stdout(c->html) ||
	                       output_is_stdout(c->prometheus);
	bool is_stdout_bad = false; /* and reported already */
	struct err err = { 0 };
	struct documents all = { docs, n, .metrics_threshold = NAN, .err = &err };
	const struct {
		const char *path;
		int (*write)(FILE *f, void *arg);
	} files[] = { { c->json, write_documents },
		      { c->csv, documents_csv },
		      { c->html, documents_page },
		      { c->prometheus, documents_metrics } };
	int r;

	saver_rest(run->saver);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (!files[i].path)
			continue;
		r = output_save(&c->common.files, files[i].path, run->env->out, files[i].write, &all, &err);
		note_failure(run, r, &err);
		is_stdout_bad |= r < 0 && output_is_stdout(files[i].path);
	}
	if (c->jsonl)
		note_failure(run, result_append(docs[0], outfiles_find(&c->common.files, c->jsonl), &err), &err);
	r = is_stdout_taken || c->quiet || run->is_one_of_several ? 0 : show(run, docs, n);
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

int run_exit_of_error(int r, bool is_refused)
{
	if (is_refused || r == -EEXIST) /* a file of somebody else's would be in the way */
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

/* What the run itself has saved, and the last time could not. */
static void note_unsaved(struct run *run)
{
	struct err err = { 0 };

	for (const struct outfile *f = run->p.common.files.first; f; f = f->next)
		if (f->trouble < 0 && (f->kind == OUTFILE_STATE || f->kind == OUTFILE_MAPFILE))
			note_failure(run,
			             err_set(&err, f->trouble, "--%s: %s could not be saved (%s); make room.",
			                     f->option, f->path, err_name(f->trouble)),
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

	for (size_t i = 0; i < run->noperands; i++)
		str_add(text, sizeof(text), " %s", run->operands[i]);
	log_it(run, text);
}

/* Of one run. ret_res: NULL, or gets its document, where there is one to be saved. */
int run_execute(struct run *run, struct result **ret_res)
{
	const struct session_config cfg = {
		.env = run->env,
		.measure = run->m,
		.common = &run->p.common,
		.params = run->own,
		.paths = run->operands,
		.npaths = run->noperands,
		.argv = run->argv,
		.argc = run->argc,
		.options = run->options,
		.noptions = run->noptions,
		.cancel = &cli_signal,
		.hooks = { .checkpoint = on_checkpoint,
		           .progress = on_progress,
		           .map = run->progress ? on_map : NULL,
		           .warn = on_warn,
		           .log = on_log,
		           .request = run->requests || has_series(run) ? on_request : NULL,
		           .arg = run },
	};
	struct result *res = NULL;
	struct shelf earlier = { 0 };
	struct err err = { 0 };
	bool is_refused = false, has_something;
	int r, status;

	log_start(run);
	history_load(&earlier, run->options, run->noptions); /* with the privileges that the run gives up */
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
		if (!run->p.common.dry_run) {
			history_report(&earlier, res);
			cli_screen(res);
		}
		run_save_and_show(run, (const struct result *const *)&res, 1);
	}
	shelf_done(&earlier);
	note_unsaved(run);
	log_it(run, r == 0 && res ? status_name(res->status) : "failed");
	close_log(run);
	if (r == 0 && res)
		status = exit_of_status(res, run);
	else
		status = has_something ? EXIT_FAILED : run_exit_of_error(r, is_refused);
	if (ret_res && has_something)
		*ret_res = res;
	else
		result_free(res);
	return status;
}
