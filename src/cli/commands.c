/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can follow `platter`, and what its exit status can be. */
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "measure/measures.h"

const struct exit_code_info exit_codes[] = {
	{ EXIT_DONE, "done", "done" },
	{ EXIT_FAILED, "failed", "failed: the message says why" },
	{ EXIT_USAGE, "usage", "the command line was wrong" },
	{ EXIT_REFUSED, "refused", "refused for safety" },
	{ EXIT_DISK_ERRORS, "disk-errors", "done, but the disk returned errors; the figures stand" },
	{ EXIT_VERDICT_NO, "verdict-no", "the verdict is negative, or a difference was found" },
	{ EXIT_VERDICT_OPEN, "verdict-open", "the run cannot tell: the verdict is neither yes nor no" },
	{ EXIT_SIGNAL, "signal", "plus n: ended by signal n; what was measured is saved" },
	{ 0, NULL, NULL },
};

static const struct command *const of_documents[] = { &report_command, &compare_command };

bool cli_command(size_t i, struct command *ret)
{
	size_t n = 0;

	while (measures[n])
		n++;
	if (i < n)
		*ret = (struct command){ .name = measures[i]->name,
			                 .help = measures[i]->help,
			                 .group = measures[i]->group,
			                 .operands = measures[i]->targets,
			                 .opts = measures[i]->opts,
			                 .measure = measures[i] };
	else if (i - n < ARRAY_LEN(of_documents))
		*ret = *of_documents[i - n];
	return i < n + ARRAY_LEN(of_documents);
}

bool cli_find_command(const char *name, struct command *ret)
{
	for (size_t i = 0; cli_command(i, ret); i++)
		if (strcmp(ret->name, name) == 0)
			return true;
	return false;
}
