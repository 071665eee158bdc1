/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands: which one is meant, what each is for, and what the program says when none is. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/measures.h"

const struct exit_code_info exit_codes[] = {
	{ EXIT_DONE, "done", "done" },
	{ EXIT_FAILED, "failed", "failed: the message says why" },
	{ EXIT_USAGE, "usage", "the command line was wrong" },
	{ EXIT_REFUSED, "refused", "refused for safety" },
	{ EXIT_DISK_ERRORS, "disk-errors", "done, but the disk returned errors; the figures stand" },
	{ EXIT_VERDICT_NO, "verdict-no", "the verdict is no, or a difference was found" },
	{ EXIT_SIGNAL, "signal", "plus n: ended by signal n; what was measured is saved" },
	{ 0, NULL, NULL },
};

const struct command *const commands[] = {
	&report_command,
	&compare_command,
	NULL,
};

#define NAMES_MAX 64

/* All names that can follow `platter`. */
static size_t all_names(const char **names)
{
	size_t n = 0;

	for (size_t i = 0; measures[i] && n < NAMES_MAX; i++)
		names[n++] = measures[i]->name;
	for (size_t i = 0; commands[i] && n < NAMES_MAX; i++)
		names[n++] = commands[i]->name;
	if (n < NAMES_MAX)
		names[n++] = "help";
	return n;
}

const struct measure *cli_find_measure(const char *name)
{
	for (size_t i = 0; measures[i]; i++)
		if (!strcmp(measures[i]->name, name))
			return measures[i];
	return NULL;
}

const struct command *cli_find_command(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

/* ---- help ---- */

static bool is_first_of_group(size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(measures[k]->group, measures[i]->group))
			return false;
	return true;
}

static void help_line(FILE *out, const char *name, const char *help)
{
	fprintf(out, "  %-15s ", name);
	opt_help_text(out, help, 18, 18);
}

static void help_all(FILE *out)
{
	const char *group = NULL;

	fputs("Usage: platter COMMAND [OPTION...] TARGET...\n\nMeasure what a disk itself does, and what the page cache adds.\n",
	      out);
	for (size_t i = 0; measures[i]; i++) {
		if (!is_first_of_group(i))
			continue;
		fprintf(out, "\n%s:\n", measures[i]->group);
		for (size_t k = i; measures[k]; k++)
			if (!strcmp(measures[k]->group, measures[i]->group))
				help_line(out, measures[k]->name, measures[k]->help);
	}
	for (size_t i = 0; commands[i]; i++) {
		if (!group || strcmp(group, commands[i]->group) != 0)
			fprintf(out, "\n%s:\n", commands[i]->group);
		group = commands[i]->group;
		help_line(out, commands[i]->name, commands[i]->help);
	}
	fputs("\nOptions:\n", out);
	help_line(out, "-h, --help", "show this text, or that of a command");
	help_line(out, "-V, --version", "show the version");
	fputs("\nNothing is written to a device unless --write or --rewrite says so.\n"
	      "`platter COMMAND --help` lists a command's options; platter(8) tells the rest.\n",
	      out);
}

static void help_head(FILE *out, const char *name, const char *operands, const char *help)
{
	fprintf(out, "Usage: platter %s [OPTION...]%s%s\n\n%c%s.\n", name, operands && *operands ? " " : "",
	        operands ? operands : "", toupper((unsigned char)help[0]), help + 1);
}

static void help_options(FILE *out, const char *heading, const struct opt *opts)
{
	if (!opts || opts->type == OPT_TYPE_END)
		return;
	fprintf(out, "\n%s:\n", heading);
	opt_help(out, opts);
}

void cli_help_measure(const struct env *env, FILE *out, const struct measure *m)
{
	struct common_table table;

	common_table_init(&table, env, m);
	help_head(out, m->name, m->targets, m->help);
	help_options(out, "Options", m->opts);
	help_options(out, "Common options", table.opts);
	opt_help(out, view_opts);
	fprintf(out, "\nHow numbers are obtained: platter-%s(8). Common options: platter(8).\n", m->name);
}

void cli_help_command(FILE *out, const struct command *c)
{
	help_head(out, c->name, c->operands, c->help);
	help_options(out, "Options", c->opts);
	help_options(out, "Common options", view_opts);
	fprintf(out, "\nMore: platter-%s(8).\n", c->name);
}

/* ---- commands ---- */

static int unknown_command(const char *word, struct err *err)
{
	static const char *const before_commands[] = { "help", "version" };
	const char *names[NAMES_MAX], *near;

	if (word[0] == '-') {
		near = opt_nearest(word + strspn(word, "-"), before_commands, ARRAY_LEN(before_commands));
		if (near)
			return err_set(err, -EINVAL, "There is no option %.60s; did you mean --%s?", word, near);
		return err_set(err, -EINVAL,
		               "There is no option %.60s before a command; `platter --help` lists the commands.", word);
	}
	near = opt_nearest(word, names, all_names(names));
	if (near)
		return err_set(err, -EINVAL, "There is no command %.60s; did you mean %s?", word, near);
	return err_set(err, -EINVAL, "There is no command %.60s; `platter --help` lists them.", word);
}

/* `platter help`, `platter help CMD` */
static int run_help(const struct env *env, int argc, char **argv, struct err *err)
{
	const struct measure *m = argc > 2 ? cli_find_measure(argv[2]) : NULL;
	const struct command *c = argc > 2 ? cli_find_command(argv[2]) : NULL;

	if (m)
		cli_help_measure(env, env->out, m);
	else if (c)
		cli_help_command(env->out, c);
	else if (argc > 2 && strcmp(argv[2], "help") != 0 && argv[2][0] != '-')
		return unknown_command(argv[2], err);
	else
		help_all(env->out);
	return EXIT_DONE;
}

static int check_operands(const struct command *c, size_t n, struct err *err)
{
	if (n < c->min_operands || n > c->max_operands)
		return err_set(err, -EINVAL, "%s operands; try `platter %s %s`.",
		               n < c->min_operands ? "Too few" : "Too many", c->name, c->operands);
	return 0;
}

static int run_parsed(const struct env *env, const struct command *c, const struct view_params *view,
                      const void *params, const char *const *operands, size_t n, struct err *err)
{
	int r;

	if (view->help)
		cli_help_command(env->out, c);
	else if (view->version)
		fputs("platter " PLATTER_VERSION "\n", env->out);
	if (view->help || view->version)
		return EXIT_DONE;
	r = check_operands(c, n, err);
	return r < 0 ? r : c->run(env, view, params, operands, n, err);
}

/* argv[0] is the command's name. */
static int run_command(const struct env *env, const struct command *c, int argc, char **argv, struct err *err)
{
	void *params = calloc(1, c->params_size + 1);
	struct view_params view = { 0 };
	const struct opt_set sets[] = { { c->opts, params }, { view_opts, &view } };
	int first = argc, r;

	if (!params)
		return err_set(err, -ENOMEM, "Out of memory.");
	r = opt_parse(sets, ARRAY_LEN(sets), argc, argv, &first, err);
	if (r == 0) {
		r = run_parsed(env, c, &view, params, (const char *const *)(argv + first), (size_t)(argc - first), err);
		opt_done(sets, ARRAY_LEN(sets));
	}
	free(params);
	return r;
}

static int dispatch(const struct env *env, int argc, char **argv, const char **ret_name, struct err *err)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct measure *m;
	const struct command *c;

	if (!word)
		return err_set(err, -EINVAL,
		               "Say what to measure: platter COMMAND TARGET; `platter --help` lists the commands.");
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
		return run_help(env, argc, argv, err);
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		fputs("platter " PLATTER_VERSION "\n", env->out);
		return EXIT_DONE;
	}
	if (!strcmp(word, "--describe"))
		return cli_describe(env, env->out);
	if (!strcmp(word, "--complete"))
		return cli_complete(env, env->out, argc - 2, argv + 2);
	m = cli_find_measure(word);
	if (m)
		return run_measure(env, m, argc, argv);
	c = cli_find_command(word);
	if (!c)
		return unknown_command(word, err);
	*ret_name = c->name;
	return run_command(env, c, argc - 1, argv + 1, err);
}

int cli_main(const struct env *env, int argc, char **argv)
{
	const char *name = NULL;
	struct err err = { 0 };
	int status = dispatch(env, argc, argv, &name, &err);

	if (status < 0) {
		cli_complain(env, name, &err);
		if (status == -EINVAL)
			status = EXIT_USAGE;
		else
			status = status == -EPERM ? EXIT_REFUSED
			                          : EXIT_FAILED; /* -EPERM: an output that output_check() refused */
	}
	if (output_flush(env->out, &err) < 0 && status == EXIT_DONE) {
		if (err.code == -EPIPE)
			return EXIT_SIGNAL + SIGPIPE;
		cli_complain(env, name, &err);
		status = EXIT_FAILED;
	}
	return status;
}
