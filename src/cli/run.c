/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One measurement from its command line to its exit status: parse, check outputs, and on to execute.c. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/opt_help.h"
#include "base/xalloc.h"
#include "cli/execute.h"

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
	for (const struct opt *o = opts; o && o->type != OPT_TYPE_END; o++)
		xappend(run->options, run->noptions,
		        (struct option_value){ .name = xmust(strdup(o->name)), .text = opt_value_text(o, params) });
}

static int check_count(const struct run *run, struct err *err)
{
	const struct measure *m = run->m;
	const char *targets = m->targets ? m->targets : "", *last = run->argc > 3 ? run->argv[run->argc - 1] : "-",
		   *before = run->argc > 3 ? run->argv[run->argc - 2] : "";
	size_t most = m->max_targets ? m->max_targets : 1;
	bool lacks_one = run->noperands == 0 && !m->needs_no_target;

	if (lacks_one && *before == '-' && *last != '-' && !strchr(before, '='))
		return err_set(err, -EINVAL, "No target is named: %s took %s as its value; write %s=VALUE %s.", before,
		               last, before, last);
	if (lacks_one)
		return err_set(err, -EINVAL, "No target is named; try `platter %s %s`.", m->name, targets);
	if (run->noperands > most)
		return err_set(err, -EINVAL, "%s is one target too many; `platter %s %s` takes no more.",
		               run->operands[most], m->name, targets);
	for (size_t i = 0; i < run->noperands; i++)
		if (!*run->operands[i])
			return err_set(err, -EINVAL, "A target is empty; give %s.", targets);
	return 0;
}

/* Of all: the gate of writing wants to know them. */
static void note_outputs(struct run *run)
{
	struct strs *names = &run->p.common.consent.outputs;

	for (const struct outfile *f = run->p.common.files.first; f; f = f->next)
		xappend(names->v, names->n, f->path);
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
		note_outputs(run);
	if (r == 0 && run->p.log) {
		fd = outfile_grow(outfiles_find(files, run->p.log), err);
		run->log = fd < 0 ? NULL : log_new(fd);
		r = fd < 0 ? fd : 0;
	}
	if (r == 0 && run->p.requests)
		run->requests = requests_new(outfiles_find(files, run->p.requests));
	if (r == 0 && !several_is_asked(run))
		run->saver = saver_new(run->p.json ? outfiles_find(files, run->p.json) : NULL,
		                       run->p.jsonl ? outfiles_find(files, run->p.jsonl) : NULL);
	return r;
}

static int prepare(struct run *run, struct err *err)
{
	int r = check_count(run, err);

	common_settle(&run->p);
	if (r == 0 && several_is_asked(run))
		r = several_names(run, err);
	if (r == 0)
		r = open_outputs(run, err);
	if (r < 0)
		return r;
	note_options(run, run->m->opts, run->own);
	note_options(run, run->table.opts, &run->p);
	run->progress = progress_new(run->env->err, run->env->clk, (enum progress_mode)run->p.progress, run->m->name);
	return 0;
}

static int show_or_run(struct run *run, struct err *err)
{
	struct command c;
	int r;

	if (cli_find_command(run->m->name, &c) && cli_help_asked(run->env, &c, &run->view))
		return EXIT_DONE;
	r = prepare(run, err);
	if (r < 0)
		return r;
	signals_catch();
	return several_is_asked(run) ? several_execute(run, err) : run_execute(run, NULL);
}

static void run_done(struct run *run)
{
	progress_free(run->progress);
	saver_free(run->saver);
	(void)log_close(run->log);                 /* open only when the run did not begin */
	(void)requests_close(run->requests, NULL); /* open only when the run did not begin: nothing was written */
	free_parsed(run);
	for (size_t i = 0; run->each && run->each[i]; i++)
		free(run->each[i]);
	free(run->each);
	free(run->own);
}

int run_measure(const struct env *env, const struct measure *m, int argc, char **argv)
{
	struct run run = { .env = env, .m = m };
	cleanup_free const char **as_typed = xcalloc((size_t)argc, sizeof(*as_typed)); /* getopt_long moves operands */
	struct err err = { 0 };
	int status;

	memcpy(as_typed, argv, (size_t)argc * sizeof(*as_typed));
	run.own = xcalloc(1, m->params_size + 1);
	run.argv = as_typed;
	run.argc = (size_t)argc;
	common_table_init(&run.table, env, m);
	status = parse(&run, argc - 1, argv + 1, &err);
	if (status == 0)
		status = show_or_run(&run, &err);
	run_done(&run);
	if (status >= 0)
		return status;
	cli_complain(env, m->name, &err);
	return run_exit_of_error(status, status == -EPERM);
}
