/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include <ctype.h>

#include "cli/cli.h"
#include "measure/measures.h"

static void assert_lint(const char *name, const struct opt *table)
{
	struct err err = { 0 };

	if (opt_lint(table, &err) < 0)
		fail_msg("%s: %s", name, err.text);
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
	assert_lint("common", common_opts);
	assert_lint("view", view_opts);
	assert_apart("common", common_opts, view_opts);
	for (size_t i = 0; measures[i]; i++) {
		assert_lint(measures[i]->name, measures[i]->opts);
		assert_apart(measures[i]->name, measures[i]->opts, common_opts);
		assert_apart(measures[i]->name, measures[i]->opts, view_opts);
	}
	for (size_t i = 0; commands[i]; i++) {
		assert_lint(commands[i]->name, commands[i]->opts);
		assert_apart(commands[i]->name, commands[i]->opts, view_opts);
	}
}

/* "DiskMark" and "CPU" keep their capitals. */
static bool is_proper_name(const char *help)
{
	for (const char *c = help + 1; *c && *c != ' '; c++)
		if (isupper((unsigned char)*c))
			return true;
	return false;
}

TEST(help_is_lower_case_without_full_stop)
{
	for (size_t i = 0; measures[i]; i++) {
		const char *help = measures[i]->help;

		assert_non_null(measures[i]->group);
		assert_true(!isupper((unsigned char)help[0]) || is_proper_name(help));
		assert_true(help[strlen(help) - 1] != '.');
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
			fail_msg("%s: \"%s\" is no GROUP_ of measure.h", measures[i]->name, measures[i]->group);
	}
}

TEST(names_of_commands_differ)
{
	for (size_t i = 0; measures[i]; i++) {
		assert_ptr_equal(measure_find(measures[i]->name), measures[i]);
		assert_null(cli_find_command(measures[i]->name));
	}
	for (size_t i = 0; commands[i]; i++)
		assert_ptr_equal(cli_find_command(commands[i]->name), commands[i]);
}
