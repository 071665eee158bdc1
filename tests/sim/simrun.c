/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simrun.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"

#define WORDS_MAX 64

/* Splits at spaces; no quotes. */
static int split(char *text, char **argv)
{
	char *save = NULL;
	int n = 0;

	for (char *word = strtok_r(text, " ", &save); word && n < WORDS_MAX; word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	argv[n] = NULL;
	return n;
}

static int run_parsed(struct sim_run *run, const struct common_params *common, const void *params, char **operands,
                      size_t n)
{
	const struct session_config cfg = {
		.env = sim_env(run->sim),
		.measure = run->m,
		.common = common,
		.params = params,
		.paths = (const char *const *)operands,
		.npaths = n,
		.cancel = run->cancel,
		.hooks = run->hooks,
	};

	return session_run(&cfg, &run->res, &run->is_refused, &run->err);
}

int sim_run(struct sim_run *run)
{
	cleanup_free char *text = NULL;
	cleanup_free void *params = calloc(1, run->m->params_size + 1);
	struct common_table table;
	struct cli_params common = { 0 };
	const struct opt_set sets[] = { { run->m->opts, params }, { table.opts, &common } };
	char *argv[WORDS_MAX + 2];
	int argc, first, r;

	if (!params || asprintf(&text, "%s %s", run->m->name, run->words) < 0)
		return -ENOMEM;
	argc = split(text, argv);
	common_table_init(&table, sim_env(run->sim), run->m);
	r = opt_parse(sets, ARRAY_LEN(sets), argc, argv, &first, &run->err);
	if (r < 0)
		return r;
	common_settle(&common);
	r = run_parsed(run, &common.common, params, argv + first, (size_t)(argc - first));
	opt_done(sets, ARRAY_LEN(sets));
	return r;
}

void sim_run_done(struct sim_run *run)
{
	result_free(run->res);
	run->res = NULL;
}

void sim_run_end(struct sim_run *run)
{
	sim_run_done(run);
	sim_free(run->sim);
}

struct result *sim_result(const struct measure *m, const char *profile, const char *words, size_t seed, struct err *err)
{
	char all[256];
	struct sim_run run = { .sim = sim_new(), .m = m, .words = all };
	struct result *res = NULL;

	(void)snprintf(all, sizeof(all), "--seed=%zu %s sda", seed, words);
	(void)sim_add_profile(run.sim, profile, "sda");
	sim_set_contents(run.sim, false);
	if (sim_run(&run) == 0) {
		res = run.res;
		run.res = NULL;
	}
	*err = run.err;
	sim_run_end(&run);
	return res;
}

double sim_figure(const struct sim_run *run, const char *name)
{
	return figure_number(result_find_figure(run->res, name));
}
