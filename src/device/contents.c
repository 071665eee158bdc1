/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies at places of a disk: up through partitions, mappings and mirrors to devices that nothing lies over any
 * more, and there the mounted file system is asked, once for all places. GETFSMAP (xfs, ext4; ioctl_getfsmap(2))
 * reports what is free and what is metadata, and on an xfs that keeps reverse mappings the inode. What it does not
 * report is looked for in the extents of all files (FIEMAP). One walk over the tree answers for all places.
 */
#include <fcntl.h>
#include <fts.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fsmap.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "device/inside.h"
#include "device/media.h"

#define LEVELS_MOST 16 /* of devices over each other: a bound on hostile input */
#define RECORDS     128

struct piece { /* bytes of a device, and what the first is on the device that was asked about */
	uint64_t first, end, origin;
	bool is_known; /* all of it is in the list */
};
/* A mounted file system and pieces of its device. */
struct ground {
	char name[64], on[160], fs_type[32], where[256];
	dev_t rdev;
	struct piece *v;
	size_t n;
};

/* ---- the list ---- */

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

/* What lies from first to end of the piece; file_bytes belong to first. */
static void add(struct contents *c, const struct ground *g, const struct piece *p, uint64_t first, uint64_t end,
                enum content_kind kind, const char *path, uint64_t file_bytes)
{
	struct content new = { .kind = kind };

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
	new.first_bytes = p->origin + (first - p->first);
	new.end_bytes = p->origin + (end - p->first);
	new.path = path ? xmust(strdup(path)) : NULL;
	new.file_bytes = file_bytes;
	text_copy(new.on, sizeof(new.on), g->on);
	text_copy(new.fs_type, sizeof(new.fs_type), g->fs_type);
	xappend(c->v, c->n, new);
}

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
		add(c, g, p, first, end, rec->fmr_owner == FMR_OWN_FREE ? CONTENT_FREE : CONTENT_METADATA, NULL,
		    UINT64_MAX);
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

struct files { /* of which one is asked about */
	struct ground *g;
	struct contents *c;
	struct wants w;
	const char *path;
	enum content_kind kind;
};

/* Parts of extents may be several files' (reflinks): each is listed. */
static void take_extent(void *arg, const struct media_extent *e)
{
	struct files *f = arg;
	uint64_t end = e->physical + e->bytes;

	if (e->flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE))
		return;
	for (size_t i = 0; i < f->w.n; i++) {
		struct want *x = &f->w.v[i];
		uint64_t first = MAX(x->first, e->physical);

		if (x->inode || first >= end || first >= x->end)
			continue;
		x->is_found = true;
		add(f->c, f->g, x->p, first, MIN(end, x->end), f->kind, f->path, e->logical + (first - e->physical));
	}
}

static void ask_extents(struct files *f)
{
	cleanup_close int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOATIME);

	if (fd >= 0)
		(void)media_extents(fd, 0, FIEMAP_MAX_OFFSET, 0, take_extent, f); /* what it does not say is unknown */
}

static void take_inode(struct files *f, uint64_t inode)
{
	for (size_t i = 0; i < f->w.n; i++) {
		struct want *x = &f->w.v[i];

		if (!x->inode || x->inode != inode || x->is_found)
			continue;
		x->is_found = true; /* of several names the first */
		add(f->c, f->g, x->p, x->first, x->end, x->is_fork ? CONTENT_METADATA : f->kind, f->path,
		    x->is_fork ? UINT64_MAX : x->file_bytes);
	}
}

static void walk(const struct content_question *q, struct files *f)
{
	char *const tops[] = { f->g->where, NULL };
	FTS *tree = f->w.n ? fts_open(tops, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL) : NULL;
	bool is_extents = false;
	FTSENT *e;

	for (size_t i = 0; i < f->w.n; i++)
		is_extents = is_extents || !f->w.v[i].inode;
	while (tree && !(q->is_over && q->is_over(q->arg)) && (e = fts_read(tree)) != NULL) {
		if (e->fts_info != FTS_D && e->fts_info != FTS_F && e->fts_info != FTS_SL)
			continue;
		f->kind = e->fts_info == FTS_D ? CONTENT_DIRECTORY : CONTENT_FILE;
		f->path = e->fts_path;
		take_inode(f, e->fts_statp->st_ino);
		if (is_extents && e->fts_info != FTS_SL)
			ask_extents(f);
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
			add(c, g, x->p, at, to, kind, NULL, UINT64_MAX);
	}
}

static void ask_file_system(const struct content_question *q, struct ground *g, struct contents *c)
{
	cleanup_close int fd = open(g->where, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	struct files f = { .g = g, .c = c };
	enum content_kind rest;

	for (size_t i = 0; fd >= 0 && i < g->n; i++) {
		struct piece *p = &g->v[i];

		p->is_known = ask_fsmap(fd, g, c, &f.w, p);
		if (!p->is_known)
			xappend(f.w.v, f.w.n, (struct want){ .p = p, .first = p->first, .end = p->end });
	}
	walk(q, &f);
	rest = q->is_over && q->is_over(q->arg) ? CONTENT_UNKNOWN : CONTENT_UNNAMED; /* not all files were asked */
	for (size_t i = 0; i < f.w.n; i++) {
		struct want *x = &f.w.v[i];

		if (!x->inode || !x->is_found)
			report_rest(g, c, x, x->p->is_known ? rest : CONTENT_UNKNOWN);
	}
	for (size_t i = 0; i < g->n; i++)
		g->v[i].is_known = fd >= 0;
	free(f.w.v);
}

/* ---- up to where nothing lies over it ---- */

struct search {
	struct stack s;   /* its root and its mounts */
	struct ground *v; /* devices that nothing lies over */
	size_t n;
	struct contents *found;
};

static void settle(struct search *s, const struct sys_block *b, const char *on, const struct piece *p)
{
	struct ground *g = NULL;

	for (size_t i = 0; i < s->n && !g; i++)
		if (s->v[i].rdev == b->rdev)
			g = &s->v[i];
	if (!g) {
		xappend(s->v, s->n, (struct ground){ .rdev = b->rdev });
		g = &s->v[s->n - 1];
		text_copy(g->name, sizeof(g->name), b->name);
		text_copy(g->on, sizeof(g->on), on);
	}
	xappend(g->v, g->n, *p);
}

/* A piece of a device, and what of it lies below the others. */
struct level {
	struct stack_node node;
	char on[160];
	struct piece p;
	unsigned depth;
};
struct levels { /* still to be looked at */
	struct level *v;
	size_t n;
};
struct over {
	const struct search *s;
	const char *member;
	struct link *v;
	size_t n;
};

/* What lies over it; arrays of md from where the data of a member begin. */
static void take_over(void *arg, const struct link *l)
{
	struct over *o = arg;
	struct link k = *l;
	struct spread spread;
	uint64_t first, bytes;

	if (!k.is_exact && spread_of_md(o->s->s.root, k.b.dir, o->member, &spread, &first, &bytes)) {
		k.spread = spread;
		k.is_exact = !spread.chunk_bytes;
		k.low_first = first;
		k.low_end = first + bytes;
	}
	xappend(o->v, o->n, k);
}

/* What of the piece lies below this one. */
static void rise(struct search *s, struct levels *todo, const struct level *at, const struct link *l)
{
	uint64_t first = MAX(at->p.first, l->low_first), end = MIN(at->p.end, l->low_end);
	struct level up = { .node.b = l->b, .depth = at->depth + 1 };
	struct ground g = { 0 };
	char alias[128];

	if (first >= end)
		return;
	if (sys_text(s->s.root, alias, sizeof(alias), "%s/dm/name", l->b.dir) < 0)
		text_copy(alias, sizeof(alias), l->b.name);
	text_copy(g.on, sizeof(g.on), at->on);
	str_list(g.on, sizeof(g.on), " > ", "%s", alias);
	if (!l->is_exact && !l->spread.chunk_bytes) {
		add(s->found, &g, &at->p, first, end, CONTENT_UNKNOWN, NULL, UINT64_MAX);
		return;
	}
	text_copy(up.on, sizeof(up.on), g.on);
	for (uint64_t bytes; first < end; first += bytes) {
		bool is_data = spread_up(&l->spread, first - l->low_first, &up.p.first, &bytes);

		bytes = MIN(bytes, end - first);
		up.p.first += l->up_first;
		up.p.end = up.p.first + bytes;
		up.p.origin = at->p.origin + (first - at->p.first);
		if (is_data)
			xappend(todo->v, todo->n, up);
		else
			add(s->found, &g, &at->p, first, first + bytes, CONTENT_PARITY, NULL, UINT64_MAX);
	}
}

static void look(struct search *s, struct levels *todo, const struct level *at)
{
	struct over over = { .s = s, .member = at->node.b.name };
	struct ground here = { 0 };
	uint64_t x = at->p.first;

	links_up(&s->s, &at->node, take_over, &over);
	if (at->depth >= LEVELS_MOST || !over.n) {
		free(over.v);
		settle(s, &at->node.b, at->on, &at->p);
		return;
	}
	for (size_t i = 0; i < over.n; i++)
		rise(s, todo, at, &over.v[i]);
	text_copy(here.on, sizeof(here.on), at->on);
	while (x < at->p.end) { /* what lies below nothing */
		uint64_t covered = x, next = at->p.end;

		for (size_t i = 0; i < over.n; i++) {
			uint64_t first = over.v[i].low_first, end = over.v[i].low_end;

			if (first <= x && x < end && end > covered)
				covered = end;
			else if (first > x && first < next)
				next = first;
		}
		if (covered == x)
			add(s->found, &here, &at->p, x, next, CONTENT_OUTSIDE, NULL, UINT64_MAX);
		x = covered == x ? next : covered;
	}
	free(over.v);
}

/* ---- the ground ---- */

/* The mount of a device that shows most of it. */
static const struct mount *mount_of(const struct stack *s, const struct ground *g)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < s->mounts.n; i++)
		if (mount_rdev(s->root, &s->mounts.v[i]) == g->rdev &&
		    (!best || strlen(s->mounts.v[i].root) < strlen(best->root)))
			best = &s->mounts.v[i];
	return best;
}

static bool is_swap(const char *root, dev_t rdev)
{
	cleanup_fclose FILE *f = sys_open(root, "/proc/swaps");
	char line[512], path[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%255s", path) == 1 && node_rdev(root, path) == rdev)
			return true;
	return false;
}

/* Not mounted where it shows: what is on it? btrfs has several devices, and addresses of its own. */
static enum content_kind unmounted(const char *root, struct ground *g)
{
	struct survey s = { 0 };
	char node[128];

	if (is_swap(root, g->rdev))
		return CONTENT_SWAP;
	sys_node(g->name, node, sizeof(node));
	if (sysroot_is_real(root))
		signature_scan(node, g->rdev, g->name, &s);
	for (size_t i = 0; i < s.n && !g->fs_type[0]; i++)
		if (strcmp(s.v[i].what, SIGNATURE_UNREADABLE) != 0)
			text_copy(g->fs_type, sizeof(g->fs_type), s.v[i].what);
	survey_done(&s);
	return g->fs_type[0] && strcmp(g->fs_type, "btrfs") != 0 ? CONTENT_UNMOUNTED : CONTENT_UNKNOWN;
}

static void ask(struct search *s, const struct content_question *q, struct ground *g)
{
	const struct mount *m = mount_of(&s->s, g);
	enum content_kind rest = CONTENT_UNKNOWN;

	if (m) {
		text_copy(g->fs_type, sizeof(g->fs_type), m->fs_type);
		text_copy(g->where, sizeof(g->where), m->where);
		if (strcmp(m->fs_type, "btrfs") != 0) /* whose extents are not in bytes of a device */
			ask_file_system(q, g, s->found);
	} else {
		rest = unmounted(s->s.root, g);
	}
	for (size_t i = 0; i < g->n; i++)
		if (!g->v[i].is_known)
			add(s->found, g, &g->v[i], g->v[i].first, g->v[i].end, rest, NULL, UINT64_MAX);
}

int content_find(void *ctx, const struct device *dev, const struct content_question *q, struct contents *ret,
                 struct err *err)
{
	struct contents found = { 0 };
	struct search s = { .s.root = sysroot_of(ctx), .found = &found };
	struct levels todo = { 0 };
	struct level first = { .depth = 0 };
	int r = mounts_read(s.s.root, &s.s.mounts, err) ?: sys_block_by_rdev(s.s.root, dev->rdev, &first.node.b);

	text_copy(first.on, sizeof(first.on), dev->name);
	for (size_t i = 0; i < q->n && r == 0; i++) {
		first.p = (struct piece){ q->places[i].first_byte, q->places[i].first_byte + q->places[i].bytes,
			                  q->places[i].first_byte, false };
		xappend(todo.v, todo.n, first);
		while (todo.n) {
			struct level at = todo.v[--todo.n];

			look(&s, &todo, &at);
		}
	}
	free(todo.v);
	for (size_t i = 0; i < s.n; i++) {
		ask(&s, q, &s.v[i]);
		free(s.v[i].v);
	}
	free(s.v);
	stack_done(&s.s);
	if (r < 0)
		return err_set(err, r, "Cannot find out what lies on %s: %s.", dev->path, strerror(-r));
	*ret = found;
	return 0;
}
