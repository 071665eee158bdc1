/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include <ctype.h>

#include "cli/cli.h"
#include "measure/measures.h"

/* "DiskMark" and "CPU" keep their capitals. */
static bool is_proper_name(const char *help)
{
	for (const char *c = help + 1; *c && *c != ' '; c++)
		if (isupper((unsigned char)*c))
			return true;
	return false;
}

/* Lower case, no full stop. */
static bool is_help(const char *help)
{
	return help && *help && (!isupper((unsigned char)help[0]) || is_proper_name(help)) &&
	       help[strlen(help) - 1] != '.';
}

static const char *trouble_of(const struct opt *o)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	return strlen(o->name) < 2 || !islower(o->name[0]) || strspn(o->name, letters) != strlen(o->name) ? "its name"
	       : o->letter && !isalnum((unsigned char)o->letter)                                          ? "its letter"
	       : !is_help(o->help)                                                                        ? "its help"
	       : o->type != OPT_TYPE_FLAG && o->type != OPT_TYPE_CHOICE && !o->arg ? "its argument has no name"
	       : o->type == OPT_TYPE_FLAG && (o->def || o->implied)                ? "a flag with a value"
	       : o->type == OPT_TYPE_CHOICE && !(o->choices && o->choices[0])      ? "nothing to choose from"
	       : o->max < o->min && o->max != 0.0                                  ? "its bounds"
	                                                                           : NULL;
}

/* Its defaults and implied values are values that it takes, and no name or letter is there twice. */
static void assert_sound(const char *name, const struct opt *table)
{
	cleanup_free void *params = calloc(1, 1 << 20);
	const struct opt_set set = { table, params };

	for (const struct opt *o = table; o && o->type != OPT_TYPE_END; o++) {
		char word[80], *argv[] = { word, word, NULL };
		struct err err = { 0 };
		int first;

		(void)snprintf(word, sizeof(word), "--%s", o->name);
		if (trouble_of(o))
			fail_msg("%s --%s: %s", name, o->name, trouble_of(o));
		if (opt_parse(&set, 1, o->implied ? 2 : 1, argv, &first, &err) < 0)
			fail_msg("%s: %s", name, err.text);
		opt_done(&set, 1);
	}
}

/* Sets are parsed together, so they may not share names or letters. */
static void assert_apart(const char *name, const struct opt *a, const struct opt *b)
{
	for (const struct opt *o = a; o && o->type != OPT_TYPE_END; o++)
		for (const struct opt *q = b; q && q->type != OPT_TYPE_END; q++)
			if (!strcmp(o->name, q->name) || (o->letter && o->letter == q->letter))
				fail_msg("%s: --%s is a common option, or has the letter of one", name, o->name);
}

TEST(tables_of_all_commands_are_sound)
{
	struct command c;

	assert_sound("common", common_opts);
	assert_sound("view", view_opts);
	assert_apart("common", common_opts, view_opts);
	for (size_t i = 0; cli_command(i, &c); i++) {
		assert_sound(c.name, c.opts);
		if (c.measure)
			assert_apart(c.name, c.opts, common_opts);
		assert_apart(c.name, c.opts, view_opts);
	}
}

TEST(help_is_lower_case_without_full_stop)
{
	for (size_t i = 0; measures[i]; i++) {
		assert_non_null(measures[i]->group);
		assert_true(is_help(measures[i]->help));
	}
}

TEST(headings_are_those_of_the_door)
{
	static const char *const groups[] = { GROUP_DEVICE, GROUP_DISK, GROUP_PROGRAM, GROUP_RESULT };

	for (size_t i = 0; measures[i]; i++) {
		bool is_known = false;

		for (size_t k = 0; k < ARRAY_LEN(groups); k++)
			is_known |= strcmp(measures[i]->group, groups[k]) == 0;
		if (!is_known)
			fail_msg("%s: \"%s\" is not a GROUP_ of measure.h", measures[i]->name, measures[i]->group);
	}
}

TEST(names_of_commands_differ)
{
	struct command c, found;

	for (size_t i = 0; cli_command(i, &c); i++) {
		assert_true(cli_find_command(c.name, &found) && found.measure == c.measure && found.run == c.run);
		assert_ptr_equal(measure_find(c.name), c.measure);
	}
}
