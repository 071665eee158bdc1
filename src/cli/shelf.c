/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Documents from files and folders, in the order of their names. */
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/input.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "cli/shelf.h"

#define DEPTH_MOST 16 /* folders in folders: more is a mistake, or a loop of mounts */

void shelf_done(struct shelf *s)
{
	for (size_t i = 0; i < s->n; i++)
		result_free(s->v[i]);
	free(s->v);
	for (size_t i = 0; i < s->bad && i < BAD_SHOWN; i++)
		free(s->why[i]);
}

/* A file that was named is an error; in a folder, or as a line of many, it is passed over, but not in silence. */
static int shelf_bad(struct shelf *s, const struct err *why, bool is_foreign, struct err *err)
{
	if (!s->is_many || why->code == -ENOMEM)
		return err_set(err, why->code, "%s", why->text);
	s->foreign += is_foreign && !s->is_named;
	if (is_foreign && !s->is_named)
		return 0;
	if (s->bad < BAD_SHOWN) {
		s->why[s->bad] = xmust(strdup(why->text));
		utf8_tame(s->why[s->bad], '?'); /* each is a line of its own, whatever a file is called */
	}
	s->bad++;
	return 0;
}

static bool has_ending(const char *path, const char *ending)
{
	size_t n = strlen(path), len = strlen(ending);

	return n > len && strcmp(path + n - len, ending) == 0;
}

/* All of a file: a document, or of a *.jsonl one a line. */
static int shelf_read(struct shelf *s, const char *path, struct err *err)
{
	bool is_lines = has_ending(path, ".jsonl"), has_record = false; /* and no document since */
	cleanup_free char *text = NULL;
	size_t len = 0, number = 0;
	struct err why = { 0 };
	int r = input_read(&text, &len, path, DOCUMENT_BYTES_MAX, &why);

	if (r) {
		(void)err_prefix(&why, "%s", path);
		return shelf_bad(s, &why, false, err);
	}
	for (size_t at = 0, end; r == 0 && (at < len || !number); at = end + 1) {
		const char *newline = is_lines && at < len ? memchr(text + at, '\n', len - at) : NULL;
		struct result *res = NULL;
		enum json_kind kind;

		number++;
		end = newline ? (size_t)(newline - text) : len;
		if (end == at && len)
			continue;
		if (result_read(&res, text + at, end - at, &kind, &why) == 0) {
			has_record = false;
			xappend(s->v, s->n, res);
			continue;
		}
		has_record = kind == JSON_RECORD && is_lines;
		if (has_record)
			continue;
		(void)(is_lines ? err_prefix(&why, "%s, line %zu", path, number) : err_prefix(&why, "%s", path));
		r = shelf_bad(s, &why, kind == JSON_FOREIGN, err);
	}
	if (r == 0 && has_record) {
		(void)err_set(
			&why, -EIO,
			"%s: the last line is a record of a run without its result: the run goes on, or was killed; wait for its end.",
			path);
		r = shelf_bad(s, &why, false, err);
	}
	return r;
}

static int shelf_add(struct shelf *s, const char *path, bool is_named, struct err *err)
{
	size_t before = s->n, bad = s->bad;
	int r;

	s->is_named = is_named;
	s->is_many = !is_named || has_ending(path, ".jsonl");
	r = shelf_read(s, path, err);
	if (r == 0 && is_named && s->n == before && s->bad > bad) /* not one of its lines */
		return err_set(err, -EIO, "%s", s->why[bad < BAD_SHOWN ? bad : 0]);
	return r;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* One thing that lies in a folder. */
static int shelf_add_found(struct shelf *s, const FTSENT *e, struct err *err)
{
	bool is_named = has_ending(e->fts_path, ".json") || has_ending(e->fts_path, ".jsonl");
	struct err why = { 0 };

	switch (e->fts_info) {
	case FTS_DNR:
	case FTS_ERR:
		(void)err_set(&why, -e->fts_errno, "%s: it cannot be read (%s)", e->fts_path, strerror(e->fts_errno));
		s->is_named = false;
		s->is_many = e->fts_level > 0;
		return shelf_bad(s, &why, false, err);
	case FTS_F:
	case FTS_SL:
	case FTS_SLNONE:
	case FTS_NS:
	case FTS_DEFAULT: /* a pipe or device of that name is a bad document */
		s->files += is_named;
		return is_named ? shelf_add(s, e->fts_path, false, err) : 0;
	default:
		return 0;
	}
}

/* All *.json and *.jsonl of a folder and of those in it, by name. Hidden folders are somebody else's. */
static int shelf_add_folder(struct shelf *s, const char *path, struct err *err)
{
	cleanup_free char *own = xmust(strdup(path));
	char *tops[] = { own, NULL };
	FTS *tree = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	size_t before = s->n, bad = s->bad, files = s->files;
	int r = tree ? 0 : err_set(err, -ENOMEM, "%s: the folder cannot be read (%s).", path, err_name(errno));

	for (FTSENT *e; r == 0 && (e = fts_read(tree));) {
		if (e->fts_info == FTS_D && e->fts_level > 0 && (e->fts_name[0] == '.' || e->fts_level > DEPTH_MOST))
			(void)fts_set(tree, e, FTS_SKIP);
		r = shelf_add_found(s, e, err);
	}
	if (tree)
		(void)fts_close(tree);
	if (r < 0 || s->n > before)
		return r;
	if (s->bad > bad)
		return err_set(err, -EIO, "%s: none of the %zu files in this folder is a document; the first: %s", path,
		               s->files - files, s->why[bad < BAD_SHOWN ? bad : 0]);
	return err_set(err, -ENOENT, "%s: no document of platter in this folder; save results there with --json.",
	               path);
}

bool shelf_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int shelf_add_any(struct shelf *s, const char *path, struct err *err)
{
	if (shelf_is_folder(path))
		return shelf_add_folder(s, path, err);
	return shelf_add(s, path, true, err);
}
