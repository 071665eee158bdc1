/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents in files, read and written: one, or one a line. base/outfile.h has the rules of what is written. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/input.h"
#include "result/build.h"

/* The largest document of platter's own is well below; a tree in memory takes up to thirty times its text. */
#define DOCUMENT_BYTES_MAX (64u << 20)

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

static bool is_lines(const char *path)
{
	size_t len = strlen(path);

	return len > 6 && !strcmp(path + len - 6, ".jsonl");
}

int result_load_each(const char *path, const struct result_taker *to, struct err *err)
{
	cleanup_free char *text = NULL;
	size_t len = 0, number = 0;
	bool has_record = false; /* and no document since */
	struct err why = { 0 };
	int r = input_read(&text, &len, path, DOCUMENT_BYTES_MAX, &why);

	if (r) {
		(void)err_prefix(&why, "%s", path);
		return to->bad(to->arg, &why, false, err);
	}
	for (size_t at = 0, end; r == 0 && (at < len || !number); at = end + 1) {
		const char *newline = is_lines(path) && at < len ? memchr(text + at, '\n', len - at) : NULL;
		struct result *res = NULL;
		enum json_kind kind;

		number++;
		end = newline ? (size_t)(newline - text) : len;
		if (end == at && len)
			continue;
		if (result_read(&res, text + at, end - at, &kind, &why) == 0) {
			has_record = false;
			r = to->take(to->arg, res, err);
			continue;
		}
		if (kind == JSON_RECORD && is_lines(path)) {
			has_record = true;
			continue;
		}
		if (is_lines(path))
			(void)err_prefix(&why, "%s, line %zu", path, number);
		else
			(void)err_prefix(&why, "%s", path);
		has_record = false;
		r = to->bad(to->arg, &why, kind == JSON_FOREIGN, err);
	}
	if (r == 0 && has_record) {
		(void)err_set(
			&why, -EIO,
			"%s: the last line is a record of a run without its result: the run goes on, or was killed; wait for its end.",
			path);
		r = to->bad(to->arg, &why, false, err);
	}
	return r;
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
