/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/shell.h"

#include <string.h>

void shell_put_word(FILE *f, const char *word)
{
	bool is_plain = *word && !strpbrk(word, " \t\n'\"\\$`*?[]()<>|&;#~!{}");

	(void)fputs(is_plain ? " " : " '", f);
	for (const char *c = word; *c; c++)
		(void)(*c == '\'' ? fputs("'\\''", f) : fputc(*c, f));
	if (!is_plain)
		(void)fputc('\'', f);
}
