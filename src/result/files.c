/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents in files, read and written. base/outfile.h has the rules of what is written. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/input.h"
#include "result/result.h"

int result_load(struct result **ret_res, const char *path, struct err *err)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	int r = input_read(&text, &len, path, DOCUMENT_BYTES_MAX, err) ?: result_from_json(ret_res, text, len, err);

	if (r)
		(void)err_prefix(err, "%s", path);
	return r;
}

int result_from_json(struct result **ret_res, const char *text, size_t len, struct err *err)
{
	enum json_kind kind;

	return result_read(ret_res, text, len, &kind, err);
}

/* ---- writing ---- */

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
