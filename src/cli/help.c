/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What --help says: of the program, of a measurement, of a command. */
#include <ctype.h>
#include <string.h>

#include "base/opt_help.h"
#include "cli/cli.h"

static void help_line(FILE *out, const char *name, const char *help)
{
	fprintf(out, "  %-15s ", name);
	opt_help_text(out, help, 18, 18);
}

void cli_help_short(FILE *out)
{
	fputs("platter measures what a disk itself does; it only reads, without --write.\n\n"
	      "  platter check /dev/sda            is it fit to keep, in five minutes\n"
	      "  platter info /dev/sda             what is it, and may it be written\n"
	      "  platter zones --quick /dev/sda    how fast is it, from the start to the end\n"
	      "  platter seek /dev/sda             how long does an access take\n"
	      "  platter stream --help             does it keep up with this rate\n"
	      "  platter report RESULT...          what was saved with --json\n\n"
	      "Commands: platter --help. Options: platter COMMAND --help. Manual: man platter\n",
	      out);
}

void cli_help_all(FILE *out)
{
	struct command c, other;

	fputs("Usage: platter COMMAND [OPTION...] TARGET...\n\nMeasure what a disk itself does, and what the page cache adds.\n",
	      out);
	for (size_t i = 0; cli_command(i, &c); i++) {
		bool is_first = true; /* of its group, which follow it */

		for (size_t k = 0; k < i && is_first && cli_command(k, &other); k++)
			is_first = strcmp(other.group, c.group) != 0;
		if (is_first)
			fprintf(out, "\n%s:\n", c.group);
		for (size_t k = i; is_first && cli_command(k, &other); k++)
			if (strcmp(other.group, c.group) == 0)
				help_line(out, other.name, other.help);
	}
	fputs("\nOptions:\n", out);
	help_line(out, "-h, --help", "show this text, or that of a command");
	help_line(out, "-V, --version", "show the version");
	fputs("\nNothing is written to a device unless --write or --rewrite says so.\n"
	      "`platter COMMAND --help` lists a command's options; platter(8) has the rest.\n",
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

static bool writes(const struct measure *m)
{
	for (const struct opt *o = m->opts; o && o->type != OPT_TYPE_END; o++)
		if (strcmp(o->name, "write") == 0 || strcmp(o->name, "rewrite") == 0)
			return true;
	return m->puts_back;
}

/* What only reads has no use for a consent. */
static void leave_consent_out(struct opt *opts)
{
	const size_t first = offsetof(struct cli_params, common.consent), end = first + sizeof(struct consent);
	struct opt *to = opts;

	for (const struct opt *o = opts; o->type != OPT_TYPE_END; o++)
		if (o->offset < first || o->offset >= end)
			*to++ = *o;
	*to = (struct opt)OPT_END;
}

void cli_help(const struct env *env, FILE *out, const struct command *c, bool is_all)
{
	const struct measure *m = c->measure;
	struct common_table table;

	help_head(out, c->name, c->operands, c->help);
	help_options(out, "Options", c->opts);
	if (!m) {
		help_options(out, "Common options", view_opts);
		fprintf(out, "\nMore: platter-%s(8).\n", c->name);
		return;
	}
	if (is_all) {
		common_table_init(&table, env, m);
		if (!writes(m))
			leave_consent_out(table.opts);
		help_options(out, "Common options", table.opts);
		opt_help(out, view_opts);
	} else {
		fprintf(out, "\n--time, --json, --html, --dry-run and more: platter %s --help=all\n", m->name);
	}
	fprintf(out, "How numbers are obtained: platter-%s(8). Common options: platter(8).\n", m->name);
}

bool cli_help_asked(const struct env *env, const struct command *c, const struct view_params *view)
{
	if (view->help)
		cli_help(env, env->out, c, strcmp(view->help, "all") == 0);
	else if (view->version)
		fputs("platter " PLATTER_VERSION "\n", env->out);
	return view->help || view->version;
}
