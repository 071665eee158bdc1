/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors for people: what is wrong, and what to do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "cli/cli.h"

/* What to do next, for sentences that do not say it themselves: the layers below know what went wrong, seldom what the
 * user can do. */
static const char *next_step(int code)
{
	static const struct {
		int code;
		const char *text;
	} steps[] = {
		{ ENOENT, "check the name" },
		{ ENODEV, "check the name and the cable" },
		{ ENXIO, "check the name and the cable" },
		{ ENOMEDIUM, "put one in" },
		{ ENOTDIR, "give a folder that is there" },
		{ EISDIR, "give the name of a file" },
		{ EEXIST, "give another name, or remove what is there" },
		{ ENAMETOOLONG, "give a shorter one" },
		{ ELOOP, "give the thing itself, not a link to it" },
		{ EROFS, "give another place" },
		{ EBUSY, "end what uses it, or wait for that" },
		{ ENOMEM, "end other programs, or ask for less" },
		{ ENOSPC, "make room, or give another place" },
		{ EDQUOT, "make room, or give another place" },
		{ EFBIG, "ask for less, or raise the limit of file sizes" },
		{ EMFILE, "raise the limit of open files (ulimit -n)" },
		{ ENOTSUP, "give another device or file system" },
		{ EIO, "see the kernel's log (dmesg)" },
		{ ENODATA, "see the kernel's log (dmesg)" },
		{ ETIMEDOUT, "see the kernel's log (dmesg)" },
		{ EAGAIN, "end other programs, or raise the limit of processes (ulimit -u)" },
		{ EINVAL, "see --help" },
	};

	if (code == -EACCES || code == -EPERM)
		return err_forbidden();
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (steps[i].code == -code)
			return steps[i].text;
	return "see platter(8)";
}

/* A name of a file, an option or a disk may hold what a terminal obeys: not here. Lines stay, findings have several. */
void cli_say(const struct env *env, const char *name, const char *what, const char *text, const char *step)
{
	cleanup_free char *copy = xmust(strdup(text));
	size_t room = strlen(text) + 8;
	cleanup_free char *shown = xcalloc(1, room);
	char *rest = copy, *line;

	(void)fflush(env->out); /* in order, when both go to one place; checked at the end */
	fprintf(env->err, "platter%s%s: %s", name ? " " : "", name ? name : "", what);
	while ((line = strsep(&rest, "\n"))) {
		(void)report_printable(shown, room, line, 0, true);
		fprintf(env->err, "%s%s", shown, rest ? "\n" : "");
	}
	fprintf(env->err, "%s\n", step);
}

void cli_complain(const struct env *env, const char *name, const struct err *err)
{
	size_t len = strlen(err->text);
	char text[sizeof(err->text)], step[120] = "";

	memcpy(text, err->text, len + 1);
	/* "What is wrong; what to do." A question ("did you mean") and several lines (findings of a refusal) say it. */
	if (len && !strpbrk(text, ";?`\n")) {
		text[len - (text[len - 1] == '.')] = '\0';
		(void)snprintf(step, sizeof(step), "; %s.", next_step(err->code));
	}
	cli_say(env, name, "", text, step);
}
