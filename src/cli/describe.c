/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hidden --describe: commands, options, columns and exit codes as JSON, for tools/check-man, the tests and front
 * ends. */
#include <jansson.h>

#include "base/opt_help.h"
#include "cli/cli.h"

static const char *const type_names[] = {
	[OPT_TYPE_FLAG] = "flag",   [OPT_TYPE_U64] = "number", [OPT_TYPE_F64] = "number",    [OPT_TYPE_RATIO] = "ratio",
	[OPT_TYPE_SIZES] = "sizes", [OPT_TYPE_BYTES] = "size", [OPT_TYPE_TIME] = "time",     [OPT_TYPE_RATE] = "rate",
	[OPT_TYPE_STR] = "text",    [OPT_TYPE_STRS] = "texts", [OPT_TYPE_CHOICE] = "choice",
};

/* jansson's "new" functions take the reference also when they fail, and set on NULL fails: one check at the end is
 * enough. */
static void set(json_t *o, const char *key, json_t *value)
{
	(void)json_object_set_new(o, key, value); /* out of memory: the member is missing, and check-man says so */
}

static json_t *text_or_null(const char *s)
{
	return s ? json_string(s) : json_null();
}

static json_t *describe_option(const struct opt *o)
{
	json_t *j = json_object(), *choices = json_array();
	const char letter[2] = { o->letter, '\0' };

	set(j, "name", json_string(o->name));
	set(j, "letter", o->letter ? json_string(letter) : json_null());
	set(j, "type", json_string(type_names[o->type]));
	set(j, "arg", text_or_null(opt_arg_name(o)));
	set(j, "default", text_or_null(o->def));
	set(j, "implied", text_or_null(o->implied));
	set(j, "help", json_string(o->help));
	if (o->min != 0.0 || o->max != 0.0) {
		set(j, "min", json_real(o->min));
		set(j, "max", o->max != 0.0 ? json_real(o->max) : json_null());
	}
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		(void)json_array_append_new(choices, json_string(o->choices[i])); /* as in set() */
	set(j, "choices", o->choices ? json_incref(choices) : json_null());
	json_decref(choices);
	return j;
}

static json_t *describe_options(const struct opt *opts)
{
	json_t *a = json_array();

	for (; opts && opts->type != OPT_TYPE_END; opts++)
		(void)json_array_append_new(a, describe_option(opts)); /* as in set() */
	return a;
}

static json_t *describe_table(const struct measure_table *t)
{
	json_t *j = json_object(), *columns = json_array();

	for (const struct field *f = t->fields; f && f->type != FIELD_TYPE_END; f++)
		(void)json_array_append_new(columns,
		                            json_pack("{s:s, s:s?, s:s, s:b}", "key", f->key, "label", f->label, "type",
		                                      unit_name(f->unit), "detail", f->detail)); /* as in set() */
	set(j, "name", json_string(t->name));
	set(j, "title", text_or_null(t->title));
	set(j, "columns", columns);
	return j;
}

static json_t *describe_one(const struct command *c)
{
	json_t *j = json_object(), *list = json_array();

	for (const struct measure_table *t = c->measure ? c->measure->tables : NULL; t && t->name; t++)
		(void)json_array_append_new(list, describe_table(t)); /* as in set() */
	set(j, "name", json_string(c->name));
	set(j, "kind", json_string(c->measure ? "measurement" : "document"));
	set(j, "help", json_string(c->help));
	set(j, "group", json_string(c->group));
	set(j, "operands", text_or_null(c->operands));
	set(j, "options", describe_options(c->opts));
	set(j, "tables", list);
	return j;
}

int cli_describe(const struct env *env, FILE *out)
{
	json_t *j = json_object(), *list = json_array(), *codes = json_array();
	struct common_table common;
	struct command c;

	common_table_init(&common, env, NULL);
	for (size_t i = 0; cli_command(i, &c); i++)
		(void)json_array_append_new(list, describe_one(&c)); /* as in set() */
	for (const struct exit_code_info *e = exit_codes; e->name; e++)
		(void)json_array_append_new(codes, json_pack("{s:i, s:s, s:s}", "code", e->code, "name", e->name,
		                                             "help", e->help)); /* as in set() */
	set(j, "program", json_string("platter"));
	set(j, "version", json_string(PLATTER_VERSION));
	set(j, "commands", list);
	set(j, "common_options", describe_options(common.opts));
	set(j, "view_options", describe_options(view_opts));
	set(j, "exit_codes", codes);
	(void)json_dumpf(j, out, JSON_INDENT(1)); /* output_flush() reports a failed write */
	fputc('\n', out);
	json_decref(j);
	return 0;
}
