/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files are hit: asked once, when the scan or the portion is over. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "measure/surface/surface.h"

struct content_row {
	uint64_t offset_bytes, length_bytes;
	const char *lies, *on, *file_system, *path;
	uint64_t file_offset_bytes;
};

const struct field surface_content_fields[] = {
	FIELD_U64(struct content_row, offset_bytes, UNIT_BYTES, "offset"),
	FIELD_U64(struct content_row, length_bytes, UNIT_BYTES, "length"),
	FIELD_STR(struct content_row, lies, "what"),
	FIELD_STR(struct content_row, on, "on"),
	FIELD_STR(struct content_row, file_system, "file system"),
	FIELD_STR(struct content_row, path, "path"),
	FIELD_U64(struct content_row, file_offset_bytes, UNIT_BYTES, "in the file", .detail = true),
	FIELD_END,
};

static size_t gather(const struct surface_suspect *v, size_t n, struct device_range *ret)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].kind != SURFACE_HEALED)
			ret[k++] = (struct device_range){ v[i].first_bytes, v[i].end_bytes - v[i].first_bytes };
	return k;
}

/* Files have parts that are listed row by row; each counts once. */
static uint64_t count_files(const struct contents *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		bool is_new = c->v[i].kind == CONTENT_FILE;

		for (size_t k = 0; k < i && is_new; k++)
			is_new = c->v[k].kind != CONTENT_FILE || strcmp(c->v[k].path, c->v[i].path) != 0;
		n += is_new;
	}
	return n;
}

/* Until when files are looked for. */
struct patience {
	const struct session *ses;
	uint64_t until_ns;
	bool is_gone;
};

static bool is_over(void *arg)
{
	struct patience *p = arg;

	p->is_gone = p->is_gone || clock_now_ns(p->ses->env->clk) >= p->until_ns;
	return p->is_gone || session_is_over(p->ses);
}

static void report(struct surface_run *run, const struct measure_table *mt, struct contents *c)
{
	struct table *t = result_table_anew(run->ses->res, mt->name, mt->title, mt->fields);

	qsort(c->v, c->n, sizeof(c->v[0]), order_u64);
	for (size_t i = 0; i < c->n; i++)
		result_row(t, &(struct content_row){
				      .offset_bytes = c->v[i].first_bytes,
				      .length_bytes = c->v[i].end_bytes - c->v[i].first_bytes,
				      .lies = content_kind_names[c->v[i].kind],
				      .on = c->v[i].on,
				      .file_system = c->v[i].fs_type[0] ? c->v[i].fs_type : NULL,
				      .path = c->v[i].path,
				      .file_offset_bytes = c->v[i].file_bytes,
			      });
	result_figure_u64(run->ses->res, "files_hit", "files hit", UNIT_COUNT, count_files(c));
}

#define FILES_MIN 15 /* a choice: half a million files on a slow disk */
#define FILES_NS  (FILES_MIN * 60 * NS_PER_S)

void surface_contents(struct surface_run *run, const struct measure_table *table)
{
	const struct env *env = run->ses->env;
	const struct device *dev = &run->ses->devs[0];
	size_t n = 0;
	cleanup_free struct surface_suspect *all = surface_all_places(run, &n);
	cleanup_free struct device_range *places = xcalloc(n + 1, sizeof(*places));
	struct patience patience = { .ses = run->ses, .until_ns = surface_now(run) + FILES_NS };
	struct content_question q = { .places = places, .is_over = is_over, .arg = &patience };
	struct contents found = { 0 };
	struct err why;

	q.n = gather(all, n, places);
	if (run->p->without.n || run->p->write || !q.n || session_is_over(run->ses) || !env->devices->contents ||
	    (dev->kind != DEVICE_DISK && dev->kind != DEVICE_PARTITION))
		return;
	session_progress(run->ses, "files at bad places", -1.0, NULL);
	if (env->devices->contents(env->devices_ctx, dev, &q, &found, &why) < 0)
		result_notice(run->ses->res, "no-files", "%s The scan stands.", why.text);
	else
		report(run, table, &found);
	if (patience.is_gone)
		result_notice(run->ses->res, "files-cut",
		              "The search for files at bad places of %s ended after %d minutes: some may be missing.",
		              dev->path, FILES_MIN);
	content_list_done(&found);
}
