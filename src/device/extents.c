/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file of a mounted file system has its bytes at a place. GETFSMAP (xfs, ext4; ioctl_getfsmap(2)) reports what is
 * free and what is metadata, and on an xfs that keeps reverse mappings the inode. What it does not report is looked for
 * in the extents of all files (FIEMAP). One walk over the tree answers for all places.
 */
#include <fcntl.h>
#include <fts.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fsmap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "device/ground.h"

#define RECORDS 128
#define EXTENTS 128

/* Bytes of a piece that belong to an inode, or (0) to whoever has an extent there. */
struct want {
	const struct piece *p;
	uint64_t first, end, inode, file_bytes;
	bool is_fork; /* not its data, but its own metadata */
	bool is_found;
};
struct wants {
	struct want *v;
	size_t n;
};

/* ---- GETFSMAP ---- */

static uint32_t kernel_dev(dev_t dev)
{
	return (minor(dev) & 0xff) | (major(dev) << 8) | ((minor(dev) & ~0xffu) << 12);
}

static void take_record(struct ground *g, struct contents *c, struct wants *w, const struct piece *p,
                        const struct fsmap *rec)
{
	uint64_t first = rec->fmr_physical, end = first + rec->fmr_length;
	bool is_special = (rec->fmr_flags & FMR_OF_SPECIAL_OWNER) != 0;

	if (first < p->first)
		first = p->first;
	if (end > p->end)
		end = p->end;
	if (first >= end)
		return;
	if (is_special && rec->fmr_owner != FMR_OWN_UNKNOWN)
		content_list_add(c, g, p, first, end, rec->fmr_owner == FMR_OWN_FREE ? CONTENT_FREE : CONTENT_METADATA,
		                 NULL, UINT64_MAX);
	else
		xappend(w->v, w->n,
		        (struct want){ .p = p,
		                       .first = first,
		                       .end = end,
		                       .inode = is_special ? 0 : rec->fmr_owner,
		                       .is_fork = (rec->fmr_flags & (FMR_OF_ATTR_FORK | FMR_OF_EXTENT_MAP)) != 0,
		                       .file_bytes = rec->fmr_offset + (first - rec->fmr_physical) });
}

/* False: this file system does not know the question. */
static bool ask_fsmap(int fd, struct ground *g, struct contents *c, struct wants *w, const struct piece *p)
{
	cleanup_free struct fsmap_head *head = xcalloc(1, fsmap_sizeof(RECORDS));

	head->fmh_count = RECORDS;
	head->fmh_keys[0].fmr_device = kernel_dev(g->rdev);
	head->fmh_keys[0].fmr_physical = p->first;
	memset(&head->fmh_keys[1], 0xff, sizeof(head->fmh_keys[1]));
	memset(head->fmh_keys[1].fmr_reserved, 0, sizeof(head->fmh_keys[1].fmr_reserved));
	head->fmh_keys[1].fmr_device = kernel_dev(g->rdev);
	head->fmh_keys[1].fmr_physical = p->end - 1;
	head->fmh_keys[1].fmr_length = 0;
	for (;;) {
		if (ioctl(fd, FS_IOC_GETFSMAP, head) < 0)
			return false;
		for (uint32_t i = 0; i < head->fmh_entries; i++)
			take_record(g, c, w, p, &head->fmh_recs[i]);
		if (!head->fmh_entries || (head->fmh_recs[head->fmh_entries - 1].fmr_flags & FMR_OF_LAST))
			return true;
		fsmap_advance(head);
	}
}

/* ---- the walk ---- */

/* Parts of extents may be several files' (reflinks): each is listed. */
static void take_extent(struct ground *g, struct contents *c, struct wants *w, const struct fiemap_extent *e,
                        const char *path, enum content_kind kind)
{
	uint64_t end = e->fe_physical + e->fe_length;

	if (e->fe_flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE))
		return;
	for (size_t i = 0; i < w->n; i++) {
		struct want *x = &w->v[i];
		uint64_t first = x->first > e->fe_physical ? x->first : e->fe_physical;

		if (x->inode || first >= end || first >= x->end)
			continue;
		x->is_found = true;
		content_list_add(c, g, x->p, first, end < x->end ? end : x->end, kind, path,
		                 e->fe_logical + (first - e->fe_physical));
	}
}

static void ask_extents(struct ground *g, struct contents *c, struct wants *w, const char *path, enum content_kind kind)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOATIME);
	cleanup_free struct fiemap *map = xcalloc(1, sizeof(*map) + EXTENTS * sizeof(map->fm_extents[0]));
	bool is_last = fd < 0;

	for (uint64_t at = 0; !is_last;) {
		map->fm_start = at;
		map->fm_length = FIEMAP_MAX_OFFSET - at;
		map->fm_extent_count = EXTENTS;
		if (ioctl(fd, FS_IOC_FIEMAP, map) < 0 || !map->fm_mapped_extents)
			break;
		for (uint32_t i = 0; i < map->fm_mapped_extents; i++) {
			const struct fiemap_extent *e = &map->fm_extents[i];

			take_extent(g, c, w, e, path, kind);
			is_last = is_last || (e->fe_flags & FIEMAP_EXTENT_LAST) || e->fe_logical + e->fe_length <= at;
			at = e->fe_logical + e->fe_length;
		}
	}
}

static void take_inode(struct ground *g, struct contents *c, struct wants *w, const FTSENT *e, enum content_kind kind)
{
	for (size_t i = 0; i < w->n; i++) {
		struct want *x = &w->v[i];

		if (!x->inode || x->inode != e->fts_statp->st_ino || x->is_found)
			continue;
		x->is_found = true; /* of several names the first */
		content_list_add(c, g, x->p, x->first, x->end, x->is_fork ? CONTENT_METADATA : kind, e->fts_path,
		                 x->is_fork ? UINT64_MAX : x->file_bytes);
	}
}

static void walk(const struct content_question *q, struct ground *g, struct contents *c, struct wants *w)
{
	char *const tops[] = { g->where, NULL };
	FTS *tree = w->n ? fts_open(tops, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL) : NULL;
	bool is_extents = false;
	FTSENT *e;

	for (size_t i = 0; i < w->n; i++)
		is_extents = is_extents || !w->v[i].inode;
	while (tree && !(q->is_over && q->is_over(q->arg)) && (e = fts_read(tree)) != NULL) {
		enum content_kind kind = e->fts_info == FTS_D ? CONTENT_DIRECTORY : CONTENT_FILE;

		if (e->fts_info != FTS_D && e->fts_info != FTS_F && e->fts_info != FTS_SL)
			continue;
		take_inode(g, c, w, e, kind);
		if (is_extents && e->fts_info != FTS_SL)
			ask_extents(g, c, w, e->fts_path, kind);
	}
	if (tree)
		(void)fts_close(tree);
}

/* What no extent covered: between those of several files there may be what nobody is named for. */
static void report_rest(struct ground *g, struct contents *c, const struct want *x, enum content_kind kind)
{
	uint64_t origin = x->p->origin - x->p->first; /* modulo 2^64 */
	size_t n = c->n;

	for (uint64_t at = x->first, to; at < x->end; at = to) {
		bool is_reported = false;

		to = x->end;
		for (size_t i = 0; i < n; i++) {
			uint64_t first = c->v[i].first_bytes - origin, end = c->v[i].end_bytes - origin;

			if (first <= at && at < end) {
				to = is_reported && to > end ? to : end;
				is_reported = true;
			} else if (!is_reported && first > at && first < to) {
				to = first;
			}
		}
		if (!is_reported)
			content_list_add(c, g, x->p, at, to, kind, NULL, UINT64_MAX);
	}
}

void extents_find(const struct content_question *q, struct ground *g, struct contents *c)
{
	cleanup_close int fd = open(g->where, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	enum content_kind rest;
	struct wants w = { 0 };

	for (size_t i = 0; fd >= 0 && i < g->n; i++) {
		struct piece *p = &g->v[i];

		p->is_known = ask_fsmap(fd, g, c, &w, p);
		if (!p->is_known)
			xappend(w.v, w.n, (struct want){ .p = p, .first = p->first, .end = p->end });
	}
	walk(q, g, c, &w);
	rest = q->is_over && q->is_over(q->arg) ? CONTENT_UNKNOWN : CONTENT_UNNAMED; /* not all files were asked */
	for (size_t i = 0; i < w.n; i++) {
		struct want *x = &w.v[i];

		if (!x->inode || !x->is_found)
			report_rest(g, c, x, x->p->is_known ? rest : CONTENT_UNKNOWN);
	}
	for (size_t i = 0; i < g->n; i++)
		g->v[i].is_known = fd >= 0;
	free(w.v);
}
