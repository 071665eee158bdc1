/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which command is meant, and what the program says when none is. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define NAMES_MAX 64

/* All names that can follow `platter`; the texts stay. */
static size_t all_names(const char **names)
{
	struct command c;
	size_t n = 0;

	for (; cli_command(n, &c) && n + 1 < NAMES_MAX; n++)
		names[n] = c.name;
	names[n] = "help";
	return n + 1;
}

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
	if (strchr(word, '/'))
		return err_set(err, -EINVAL,
		               "%.60s is not a command; try `platter info %.60s` or `platter zones %.60s`.", word, word,
		               word);
	return err_set(err, -EINVAL, "There is no command %.60s; `platter --help` lists them.", word);
}

/* `platter help`, `platter help CMD` */
static int run_help(const struct env *env, int argc, char **argv, struct err *err)
{
	struct command c;

	if (argc > 2 && cli_find_command(argv[2], &c))
		cli_help(env, env->out, &c, false);
	else if (argc > 2 && strcmp(argv[2], "help") != 0 && argv[2][0] != '-')
		return unknown_command(argv[2], err);
	else
		cli_help_all(env->out);
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

	if (cli_help_asked(env, c, view))
		return EXIT_DONE;
	r = check_operands(c, n, err);
	return r < 0 ? r : c->run(env, view, params, operands, n, err);
}

/* argv[0] is the command's name. */
static int run_command(const struct env *env, const struct command *c, int argc, char **argv, struct err *err)
{
	cleanup_free void *params = xcalloc(1, c->params_size + 1);
	struct view_params view = { 0 };
	const struct opt_set sets[] = { { c->opts, params }, { view_opts, &view } };
	int first = argc, r;

	r = opt_parse(sets, ARRAY_LEN(sets), argc, argv, &first, err);
	if (r == 0) {
		r = run_parsed(env, c, &view, params, (const char *const *)(argv + first), (size_t)(argc - first), err);
		opt_done(sets, ARRAY_LEN(sets));
	}
	return r;
}

static int dispatch(const struct env *env, int argc, char **argv, const char **ret_name, struct err *err)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	struct command c;

	if (!word) {
		cli_help_short(env->out);
		return EXIT_DONE;
	}
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
	if (!cli_find_command(word, &c))
		return unknown_command(word, err);
	if (c.measure)
		return run_measure(env, c.measure, argc, argv);
	*ret_name = c.name;
	return run_command(env, &c, argc - 1, argv + 1, err);
}

int cli_main(const struct env *env, int argc, char **argv)
{
	const char *name = NULL;
	struct err err = { 0 };
	int status = dispatch(env, argc, argv, &name, &err);

	/* What has no sentence of its own could not be printed: the stream knows why. */
	if (status < 0 && !err.text[0] && output_flush(env->out, &err) == 0)
		(void)err_set(&err, status, "It could not be finished (%s); free memory and try again.",
		              err_name(status));
	if (status < 0 || err.text[0]) /* the answer is there, and something to say of it */
		cli_complain(env, name, &err);
	if (status < 0) {
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
