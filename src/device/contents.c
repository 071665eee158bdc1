/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies at places of a disk: up through partitions, mappings and arrays to devices that nothing lies over any more,
 * and there the mounted file system is asked, once for all places.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "device/above.h"
#include "device/contents.h"
#include "device/found.h"
#include "device/ground.h"
#include "device/users.h"

#define LEVELS_MOST 16 /* of devices over each other: a bound on hostile input */

struct search {
	const char *root;
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
	struct sys_block b;
	char on[160];
	struct piece p;
	unsigned depth;
};
struct levels { /* still to be looked at */
	struct level *v;
	size_t n;
};

static void go_up(char on[160], const char *above)
{
	size_t n = strlen(on);

	text_copy(on + n, 160 - n, n ? " > " : "");
	n = strlen(on);
	text_copy(on + n, 160 - n, above);
}

static void leftover(struct search *s, const struct level *at, uint64_t first, uint64_t end, enum content_kind kind,
                     const char *strange)
{
	struct ground g = { 0 };

	text_copy(g.on, sizeof(g.on), at->on);
	if (strange[0])
		go_up(g.on, strange);
	content_list_add(s->found, &g, &at->p, first, end, strange[0] ? CONTENT_UNKNOWN : kind, NULL, UINT64_MAX);
}

/* What of the piece lies below this one, in parts that are whole there, too. */
static void rise(struct search *s, struct levels *todo, const struct level *at, const struct segment *seg)
{
	uint64_t first = at->p.first > seg->lower_first ? at->p.first : seg->lower_first,
		 end = seg->lower_first + seg->bytes, upper, bytes;
	struct level up = { .depth = at->depth + 1 };

	end = end < at->p.end ? end : at->p.end;
	if (first >= end || sys_block_by_name(s->root, seg->name, &up.b) < 0)
		return;
	text_copy(up.on, sizeof(up.on), at->on);
	go_up(up.on, seg->label);
	for (; first < end; first += bytes) {
		bool is_data = segment_up(seg, first, &upper, &bytes);

		bytes = bytes < end - first ? bytes : end - first;
		if (!bytes)
			return;
		up.p = (struct piece){ upper, upper + bytes, at->p.origin + (first - at->p.first), false };
		if (is_data)
			xappend(todo->v, todo->n, up);
		else
			leftover(s, &up, upper, upper + bytes, CONTENT_PARITY, "");
	}
}

static void look(struct search *s, struct levels *todo, const struct level *at)
{
	struct segments over = { 0 };
	char strange[200];
	uint64_t x = at->p.first;

	segments_above(s->root, &at->b, &over, strange, sizeof(strange));
	if (at->depth >= LEVELS_MOST || (!over.n && !strange[0])) {
		free(over.v);
		settle(s, &at->b, at->on, &at->p);
		return;
	}
	for (size_t i = 0; i < over.n; i++)
		rise(s, todo, at, &over.v[i]);
	while (x < at->p.end) { /* what lies below nothing */
		uint64_t covered = x, next = at->p.end;

		for (size_t i = 0; i < over.n; i++) {
			uint64_t first = over.v[i].lower_first, end = first + over.v[i].bytes;

			if (first <= x && x < end && end > covered)
				covered = end;
			else if (first > x && first < next)
				next = first;
		}
		if (covered == x)
			leftover(s, at, x, next, CONTENT_OUTSIDE, strange);
		x = covered == x ? next : covered;
	}
	free(over.v);
}

/* ---- the ground ---- */

/* The mount of a device that shows most of it. */
static const struct mount *mount_of(const char *root, const struct mounts *mounts, const struct ground *g)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < mounts->n; i++)
		if (mount_rdev(root, &mounts->v[i]) == g->rdev &&
		    (!best || strlen(mounts->v[i].root) < strlen(best->root)))
			best = &mounts->v[i];
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

static void ask(struct search *s, const struct content_question *q, const struct mounts *mounts, struct ground *g)
{
	const struct mount *m = mount_of(s->root, mounts, g);
	enum content_kind rest = CONTENT_UNKNOWN;

	if (m) {
		text_copy(g->fs_type, sizeof(g->fs_type), m->fs_type);
		text_copy(g->where, sizeof(g->where), m->where);
		if (strcmp(m->fs_type, "btrfs") != 0) /* whose extents are not in bytes of a device */
			extents_find(q, g, s->found);
	} else {
		rest = unmounted(s->root, g);
	}
	for (size_t i = 0; i < g->n; i++)
		if (!g->v[i].is_known)
			content_list_add(s->found, g, &g->v[i], g->v[i].first, g->v[i].end, rest, NULL, UINT64_MAX);
}

int content_find(void *ctx, const struct device *dev, const struct content_question *q, struct contents *ret,
                 struct err *err)
{
	const char *root = sysroot_of(ctx);
	struct contents found = { 0 };
	struct search s = { .root = root, .found = &found };
	struct levels todo = { 0 };
	struct mounts mounts = { 0 };
	struct level first = { .depth = 0 };
	int r = mounts_read(root, &mounts, err) ?: sys_block_by_rdev(root, dev->rdev, &first.b);

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
		ask(&s, q, &mounts, &s.v[i]);
		free(s.v[i].v);
	}
	free(s.v);
	mounts_done(&mounts);
	if (r < 0)
		return err_set(err, r, "Cannot find out what lies on %s: %s.", dev->path, strerror(-r));
	*ret = found;
	return 0;
}
