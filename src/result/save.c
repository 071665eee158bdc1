/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a document to a file; base/outfile.h has the rules. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "result/result.h"

static int write_text(FILE *f, void *arg)
{
	errno = 0;
	return fputs(arg, f) < 0 || fflush(f) != 0 ? -(errno ? errno : EIO) : 0;
}

int result_save_text(char *text, struct outfile *f, struct err *err)
{
	return outfile_save(f, write_text, text, err);
}

int result_write(FILE *f, void *res)
{
	cleanup_free char *text = result_to_json(res);

	return write_text(f, text);
}

/* Without the white space between the parts: one line, as no text holds a newline that is not escaped. */
static size_t make_one_line(char *text)
{
	char *to = text;
	bool is_text = false;

	for (const char *from = text; *from; from++) {
		if (is_text && *from == '\\' && from[1])
			*to++ = *from++;
		else if (*from == '"')
			is_text = !is_text;
		if (is_text || !strchr(" \n\t", *from))
			*to++ = *from;
	}
	*to = '\0';
	return (size_t)(to - text);
}

int result_append(const struct result *res, struct outfile *f, struct err *err)
{
	cleanup_free char *text = result_to_json(res);
	size_t len = make_one_line(text);

	text[len++] = '\n'; /* in place of the NUL, or of what was left out */
	return outfile_append(f, text, len, err);
}
