/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of what lies where. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "device/ground.h"

const char *const content_kind_names[CONTENT_KINDS] = { "file",   "directory", "metadata", "free",        "unnamed",
	                                                "parity", "outside",   "swap",     "not-mounted", "unknown" };

void content_list_done(struct contents *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i].path);
	free(c->v);
	*c = (struct contents){ 0 };
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Goes on where the last one ended? */
static bool is_more_of(const struct content *last, const struct ground *g, uint64_t origin, enum content_kind kind,
                       const char *path, uint64_t file_bytes)
{
	uint64_t expected =
		last->file_bytes == UINT64_MAX ? UINT64_MAX : last->file_bytes + (last->end_bytes - last->first_bytes);

	return last->kind == kind && last->end_bytes == origin && is_same_text(last->path, path) &&
	       strcmp(last->on, g->on) == 0 && expected == file_bytes;
}

void content_list_add(struct contents *c, const struct ground *g, const struct piece *p, uint64_t first, uint64_t end,
                      enum content_kind kind, const char *path, uint64_t file_bytes)
{
	struct content *new;

	if (first < p->first) {
		file_bytes += file_bytes == UINT64_MAX ? 0 : p->first - first;
		first = p->first;
	}
	end = end > p->end ? p->end : end;
	if (first >= end)
		return;
	if (c->n && is_more_of(&c->v[c->n - 1], g, p->origin + (first - p->first), kind, path, file_bytes)) {
		c->v[c->n - 1].end_bytes += end - first;
		return;
	}
	c->v = xgrow(c->v, c->n + 1, sizeof(*c->v));
	new = &c->v[c->n++];
	*new = (struct content){ .first_bytes = p->origin + (first - p->first),
		                 .end_bytes = p->origin + (end - p->first),
		                 .kind = kind,
		                 .path = path ? xmust(strdup(path)) : NULL,
		                 .file_bytes = file_bytes };
	text_copy(new->on, sizeof(new->on), g->on);
	text_copy(new->fs_type, sizeof(new->fs_type), g->fs_type);
}
