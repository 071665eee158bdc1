/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hidden --complete, asked by contrib/completion: the shells hold no list, so nothing can drift. The words of
 * --destroy-data and --overwrite-signature are never offered: consent is typed by hand.
 */
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cli/cli.h"

struct completion {
	FILE *out;
	const char *word; /* what is typed so far */
};

/* One candidate, if it starts like the word. */
__attribute__((format(printf, 3, 4))) static void offer(const struct completion *c, const char *help, const char *fmt,
                                                        ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* names are short */
	va_end(ap);
	if (strncmp(text, c->word, strlen(c->word)) == 0)
		fprintf(c->out, "%s\t%s\n", text, help ? help : "");
}

/* By the name of an argument or operand: "FILE", "DIRECTORY", "DEVICE...", "RESULT...". The shell knows the names. */
static void offer_by_kind(const struct completion *c, const char *kind)
{
	char first[32];

	(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(kind, ".| ["), kind);
	fputs(str_is_one_of(first, "DIRECTORY DIR FOLDER") ? ":dirs\n" : ":files\n", c->out);
}

/* Values of an option; prefix: "--name=" or "". */
static void offer_values(const struct completion *c, const struct opt *o, const char *prefix)
{
	if (o->choices) {
		for (size_t i = 0; o->choices[i]; i++)
			offer(c, NULL, "%s%s", prefix, o->choices[i]);
		return;
	}
	if (o->type == OPT_TYPE_STR && o->arg && str_is_one_of(o->arg, "FILE DIRECTORY DIR RESULT")) {
		offer_by_kind(c, o->arg);
		return;
	}
	if (o->def && !*c->word)
		offer(c, "the default", "%s%s", prefix, o->def);
}

static const struct opt *find(const struct opt *const *tables, size_t n, const char *word, size_t len)
{
	for (size_t i = 0; i < n; i++)
		for (const struct opt *o = tables[i]; o && o->type != OPT_TYPE_END; o++)
			if (strlen(o->name) == len && !strncmp(o->name, word, len))
				return o;
	return NULL;
}

static void offer_options(const struct completion *c, const struct opt *const *tables, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (const struct opt *o = tables[i]; o && o->type != OPT_TYPE_END; o++)
			offer(c, o->help, "--%s%s", o->name, o->type != OPT_TYPE_FLAG && !o->implied ? "=" : "");
}

static void offer_commands(const struct completion *c)
{
	struct command one;

	for (size_t i = 0; cli_command(i, &one); i++)
		offer(c, one.help, "%s", one.name);
	offer(c, "show the help of a command", "help");
	if (c->word[0] == '-') {
		offer(c, "show the commands", "--help");
		offer(c, "show the version", "--version");
	}
}

int cli_complete(const struct env *env, FILE *out, int argc, char **argv)
{
	const char *word = argc > 0 ? argv[argc - 1] : "", *before = argc > 2 ? argv[argc - 2] : "";
	const struct completion c = { out, word };
	struct command of = { 0 };
	bool is_known = argc > 1 && cli_find_command(argv[0], &of);
	struct common_table common;
	const struct opt *tables[] = { of.opts, view_opts, of.measure ? common.opts : NULL };
	const char *equals = strchr(word, '=');
	char prefix[64] = "";
	const struct opt *o;

	common_table_init(&common, env, of.measure);
	if (argc <= 1 || (argc == 2 && !strcmp(argv[0], "help"))) {
		offer_commands(&c);
		return 0;
	}
	if (!is_known)
		return 0;
	if (!strncmp(word, "--", 2) && equals) {
		o = find(tables, ARRAY_LEN(tables), word + 2, (size_t)(equals - word - 2));
		(void)snprintf(prefix, sizeof(prefix), "%.*s=", (int)(equals - word),
		               word); /* cut: then nothing fits */
		if (o)
			offer_values(&c, o, prefix);
		return 0;
	}
	o = !strncmp(before, "--", 2) ? find(tables, ARRAY_LEN(tables), before + 2, strlen(before + 2)) : NULL;
	if (o && o->type != OPT_TYPE_FLAG && !o->implied)
		offer_values(&c, o, "");
	else if (word[0] == '-')
		offer_options(&c, tables, ARRAY_LEN(tables));
	else
		offer_by_kind(&c, of.operands);
	return 0;
}
