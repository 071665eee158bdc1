/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can follow `platter`, and what its exit status can be. */
#include <string.h>

#include "cli/cli.h"

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

const struct command *const commands[] = {
	&report_command,
	&compare_command,
	NULL,
};

const struct command *cli_find_command(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}
