/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents in files: one, or one a line. */
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/input.h"
#include "result/result.h"

/* The largest document that platter itself can make is well below; a tree in memory takes up to thirty times its text.
 */
#define DOCUMENT_BYTES_MAX (64u << 20)

int result_load(struct result **ret_res, const char *path, struct err *err)
{
	cleanup_free char *text = NULL;
	size_t len = 0;
	int r = input_read(&text, &len, path, DOCUMENT_BYTES_MAX, err);

	if (r == 0)
		r = result_from_json(ret_res, text, len, err);
	if (r)
		(void)err_prefix(err, "%s", path);
	return r;
}

static bool is_lines(const char *path)
{
	size_t len = strlen(path);

	return len > 6 && !strcmp(path + len - 6, ".jsonl");
}

/* Whole JSON, of another program: nothing of ours is lost with it. */
static bool is_foreign(const char *text, size_t len)
{
	json_t *root = json_loadb(text, len, 0, NULL);
	const char *schema = json_string_value(json_object_get(root, "schema"));
	bool is_ours = schema && strcmp(schema, RESULT_SCHEMA) == 0, is_whole = root != NULL;

	json_decref(root);
	return is_whole && !is_ours;
}

/* How a run went while it went (--progress=json), beside the documents of --jsonl. */
static bool is_record(const char *text, size_t len)
{
	static const char head[] = "{\"schema\": \"platter-progress\"";

	return len >= sizeof(head) && strncmp(text, head, sizeof(head) - 1) == 0;
}

int result_load_each(const char *path, const struct result_taker *to, struct err *err)
{
	cleanup_free char *text = NULL;
	size_t len = 0, number = 0;
	struct err why = { 0 };
	int r = input_read(&text, &len, path, DOCUMENT_BYTES_MAX, &why);

	if (r) {
		(void)err_prefix(&why, "%s", path);
		return to->bad(to->arg, &why, false, err);
	}
	for (size_t at = 0, end; r == 0 && (at < len || !number); at = end + 1) {
		const char *newline = is_lines(path) && at < len ? memchr(text + at, '\n', len - at) : NULL;
		struct result *res = NULL;

		number++;
		end = newline ? (size_t)(newline - text) : len;
		if ((end == at && len) || (is_lines(path) && is_record(text + at, end - at)))
			continue;
		r = result_from_json(&res, text + at, end - at, &why);
		if (r == 0) {
			r = to->take(to->arg, res, err);
			continue;
		}
		if (is_lines(path))
			(void)err_prefix(&why, "%s, line %zu", path, number);
		else
			(void)err_prefix(&why, "%s", path);
		r = to->bad(to->arg, &why, is_foreign(text + at, end - at), err);
	}
	return r;
}
