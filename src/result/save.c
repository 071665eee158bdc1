/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a document to a file; base/outfile.h has the rules. */
#include <errno.h>
#include <stdio.h>
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

int result_append(const struct result *res, struct outfile *f, struct err *err)
{
	cleanup_free char *text = result_to_line(res);

	return outfile_append(f, text, strlen(text), err);
}
