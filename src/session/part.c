/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt.h"
#include "base/xalloc.h"
#include "session/internal.h"

#define WORDS_MAX 16

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

int session_run_part(struct session *ses, const struct session_part *part, struct result **ret, struct err *err)
{
	cleanup_free void *params = xcalloc(1, part->measure->params_size + 1);
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
	child.part = part;
	child.whole = ses;
	child.hooks.map = NULL; /* a part of the disk is not the disk */
	child.seed = rng_mix(ses->seed + part->index);
	r = parse(part, params, &text, err);
	if (r == 0) {
		r = plan_and_run(&child, ses->plan, params, &plan, err);
		opt_done(&set, 1);
	}
	free(text);
	return r;
}
