/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/part.h"
#include "base/xalloc.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt.h"
#include "session/internal.h"

#define WORDS_MAX 16

struct part_run {
	const struct session_part *part;
	struct session *whole;
};

/* ---- hooks: what the part says holds for the whole ---- */

static void on_checkpoint(void *arg, struct session *ses)
{
	const struct part_run *run = arg;

	if (run->part->save && run->whole->hooks.checkpoint)
		run->part->save(run->part->arg, run->whole, ses->res);
}

static void on_progress(void *arg, struct session *ses, const char *phase, double done, const char *figure)
{
	const struct part_run *run = arg;
	const struct session_part *part = run->part;
	double at = part->from + fmin(done, 1.0) * (part->to - part->from);
	char text[128];

	/* Progress never goes back when a part ends early. */
	if (done >= 0.0)
		ses->state->done = fmax(ses->state->done, fmin(at, 1.0));
	at = done < 0.0 ? done : ses->state->done;
	(void)snprintf(text, sizeof(text), "%s: %s", ses->measure->name, phase);
	if (run->whole->hooks.progress)
		run->whole->hooks.progress(run->whole->hooks.arg, run->whole, text, at, figure);
}

static void on_warn(void *arg, struct session *ses, const char *text)
{
	const struct part_run *run = arg;

	(void)ses;
	if (run->whole->hooks.warn)
		run->whole->hooks.warn(run->whole->hooks.arg, run->whole, text);
}

static void on_log(void *arg, struct session *ses, const char *line)
{
	const struct part_run *run = arg;

	session_log(run->whole, "%s: %s", ses->measure->name, line);
}

static void on_request(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	const struct part_run *run = arg;

	(void)ses;
	run->whole->hooks.request(run->whole->hooks.arg, run->whole, target, req, is_fault);
}

/* ---- the run ---- */

static int parse(const struct session_part *part, void *params, char **ret_text, struct err *err)
{
	const struct opt_set set = { part->measure->opts, params };
	char *argv[WORDS_MAX + 3] = { (char *)(uintptr_t)part->measure->name }, *save = NULL;
	int argc = 1, first;

	*ret_text = xmust(strdup(part->words ? part->words : "")); /* params point into it */
	for (char *w = strtok_r(*ret_text, " ", &save); w && argc <= WORDS_MAX; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	if (part->whole)
		argv[argc++] = (char *)(uintptr_t)part->whole;
	return opt_parse(&set, 1, argc, argv, &first, err);
}

static int plan_and_run(struct session *ses, const struct plan *whole, const void *params, struct plan *plan,
                        struct err *err)
{
	bool was_early = ses->state->is_early;
	int r = session_takes(ses->measure, &ses->devs[0], err);

	r = r < 0 ? r : ses->measure->plan(ses, params, plan, err);
	if (r == 0 && (plan->writes != WRITE_NONE || plan->write_bytes) && plan->writes != whole->writes)
		r = err_set(err, -EPERM, "%s would write, and was begun to read.", ses->measure->name);
	if (r < 0)
		return r;
	ses->state->is_early = false;
	r = ses->measure->run(ses, params, err);
	ses->res->status = session_status(ses, r);
	ses->res->head.elapsed_s = (double)(clock_now_ns(ses->env->clk) - ses->start_ns) * 1e-9;
	ses->state->is_early = was_early;
	return r;
}

int session_part(struct session *ses, const struct session_part *part, struct result **ret, struct err *err)
{
	cleanup_free void *params = xcalloc(1, part->measure->params_size + 1);
	struct part_run run = { .part = part, .whole = ses };
	const struct opt_set set = { part->measure->opts, params };
	struct common_params common = *ses->common;
	struct session child = *ses;
	struct plan plan = { 0 };
	char *text = NULL;
	int r;

	*ret = NULL;
	common.time_ns = part->time_ns;
	common.precision = 0.0;
	child.common = &common;
	child.measure = part->measure;
	child.plan = &plan;
	child.start_ns = clock_now_ns(ses->env->clk);
	child.res = *ret = result_new(part->measure->name);
	session_describe(&child); /* a state that it saves has them */
	child.hooks = (struct session_hooks){ .checkpoint = on_checkpoint,
		                              .progress = on_progress,
		                              .warn = on_warn,
		                              .log = on_log,
		                              .request = ses->hooks.request ? on_request : NULL,
		                              .arg = &run };
	child.seed = rng_mix(ses->seed + part->index);
	r = parse(part, params, &text, err);
	if (r == 0) {
		r = plan_and_run(&child, ses->plan, params, &plan, err);
		opt_done(&set, 1);
	}
	free(text);
	return r;
}
