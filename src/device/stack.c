/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk through a stack, in three parts. Down from the target: all that holds its bytes, and how many of theirs that
 * may be. From the disks at the bottom to other paths to them. Then up from all of these: whatever else has some of
 * those bytes, and what stands on that. Of several ways to a node the bytes are joined to one range, gaps and all: too
 * much is a refusal too many, never one too few.
 */
#include "device/stack.h"
#include "device/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define NODES_MAX   4096 /* a bound on hostile trees */
#define GROWTHS_MAX 16   /* of a range: a circle that shifts would go on without end; then all of the node counts */

struct walk {
	struct stack *s;
	struct survey *out; /* NULL: findings are not wanted */
	struct stack_node at;
	size_t index;
	bool wants_ground;
};

static size_t find_node(const struct stack *s, dev_t rdev, const struct file_id *file)
{
	size_t i = 0;

	while (i < s->n &&
	       (rdev != 0 ? s->v[i].b.rdev != rdev : !node_is_file(&s->v[i]) || !file_id_is_same(&s->v[i].file, file)))
		i++;
	return i;
}

static const struct stack_node *shares(const struct stack *s, size_t i)
{
	return i < s->n && s->v[i].rel != REL_GROUND ? &s->v[i] : NULL;
}

const struct stack_node *stack_find(const struct stack *s, dev_t rdev)
{
	return rdev == 0 ? NULL : shares(s, find_node(s, rdev, NULL));
}

const struct stack_node *stack_find_file(const struct stack *s, const struct file_id *file)
{
	return shares(s, find_node(s, 0, file));
}

/* ---- nodes ---- */

static void widen(struct stack_node *n, uint64_t first, uint64_t end)
{
	bool is_endless = n->growths == GROWTHS_MAX;

	if (first >= n->first && end <= n->end)
		return;
	n->first = is_endless ? 0 : n->first < first ? n->first : first;
	n->end = is_endless ? UINT64_MAX : n->end > end ? n->end : end;
	n->growths += !is_endless;
	n->is_new = true;
}

/* The node of the other end of a link, with these bytes of it; NODES_MAX: there is no room, so no trust in the rest. */
static size_t add(struct stack *s, const struct link *l, enum relation rel, uint64_t first, uint64_t end)
{
	size_t i = find_node(s, l->b.rdev, &l->file);
	struct stack_node *n;

	if (i == s->n) {
		s->is_too_large = s->n == NODES_MAX;
		if (s->is_too_large)
			return NODES_MAX;
		s->v = xmore(s->v, s->n, sizeof(*s->v));
		n = &s->v[s->n++];
		*n = (struct stack_node){
			.b = l->b, .file = l->file, .rel = rel, .first = first, .end = end, .is_new = true
		};
	} else {
		n = &s->v[i];
		if (n->rel == REL_GROUND && rel != REL_GROUND) {
			n->rel = rel;
			n->first = first;
			n->end = end;
			n->is_new = true;
		} else if (rel != REL_GROUND) {
			widen(n, first, end);
		}
	}
	n->is_down = n->is_down || rel == REL_DISK || rel == REL_BELOW;
	n->is_held = n->is_held || (n->is_down && l->is_held);
	return i;
}

/* From bytes of one end of a link to those of the other. False: it has none of them. */
static bool carry(const struct link *l, bool is_down, uint64_t first, uint64_t end, uint64_t *ret_first,
                  uint64_t *ret_end)
{
	uint64_t from = is_down ? l->up_first : l->low_first, to = is_down ? l->up_end : l->low_end;
	uint64_t other = is_down ? l->low_first : l->up_first, last = is_down ? l->low_end : l->up_end;

	first = first < from ? from : first;
	end = end > to ? to : end;
	if (first >= end)
		return false;
	*ret_first = l->is_exact ? other + (first - from) : other;
	*ret_end = l->is_exact && last != UINT64_MAX ? other + (end - from) : last;
	return true;
}

/* ---- down ---- */

static bool stands_on(const struct stack *s, size_t upper, size_t lower, unsigned depth)
{
	bool is_so = upper == lower || depth > NODES_MAX;

	for (size_t i = 0; i < s->nedges && !is_so; i++)
		is_so = s->edges[i].upper == upper && stands_on(s, s->edges[i].lower, lower, depth + 1);
	return is_so;
}

static void add_edge(struct stack *s, size_t upper, size_t lower)
{
	for (size_t i = 0; i < s->nedges; i++)
		if (s->edges[i].upper == upper && s->edges[i].lower == lower)
			return;
	if (stands_on(s, lower, upper, 0)) {
		(void)snprintf(s->cut, sizeof(s->cut), "%.60s stands on itself, by way of %.60s", s->v[upper].b.name,
		               s->v[lower].b.name);
		return;
	}
	xappend(s->edges, s->nedges, (struct stack_edge){ upper, lower });
	if (s->v[lower].b.rdev != 0 && s->v[lower].rel != REL_GROUND)
		s->v[upper].is_bottom = false;
}

static void take_lower(void *arg, const struct link *l)
{
	struct walk *w = arg;
	enum relation rel = w->at.rel == REL_GROUND || l->is_ground    ? REL_GROUND
	                    : l->is_partition && w->at.rel == REL_SELF ? REL_DISK
	                                                               : REL_BELOW;
	uint64_t first, end;
	size_t i;

	if (!carry(l, true, w->at.first, w->at.end, &first, &end))
		return;
	i = add(w->s, l, rel, first, end);
	if (i < NODES_MAX)
		add_edge(w->s, w->index, i);
}

/* Calls for each node that is new, until there is none. */
static void for_new(struct walk *w, void (*step)(struct walk *w))
{
	struct stack *s = w->s;
	bool is_any = true;

	while (is_any && !s->is_too_large) {
		is_any = false;
		for (size_t i = 0; i < s->n; i++) {
			if (!s->v[i].is_new)
				continue;
			s->v[i].is_new = false;
			is_any = true;
			w->at = s->v[i]; /* it may move while we go on */
			w->index = i;
			step(w);
		}
	}
}

static void go_down(struct walk *w)
{
	w->s->v[w->index].is_bottom = !node_is_file(&w->at);
	links_down(w->s, &w->at, w->wants_ground, take_lower, w);
}

/* ---- other paths ---- */

static void add_twins_of(struct stack *s, size_t at)
{
	struct device self = { 0 };
	uint64_t sectors = 0, more = 0;

	identity_sysfs(&self, s->root, &s->v[at].b);
	if ((!self.id.wwn[0] && !self.id.serial[0]) || !sys_u64(s->root, &sectors, "%s/size", s->v[at].b.dir) ||
	    sectors == 0)
		return;
	for (cleanup_list struct sys_list names = sys_list(s->root, "/sys/class/block"); sys_next(&names);) {
		struct device other = { 0 };
		struct link l = { 0 };
		size_t k;

		/* Those that are below the target together are not ambiguous: what is above claims all of them. */
		if (sys_block_by_name(s->root, names.name, &l.b) < 0 || l.b.is_partition ||
		    ((k = find_node(s, l.b.rdev, NULL)) < s->n && s->v[k].is_down) ||
		    !sys_u64(s->root, &more, "%s/size", l.b.dir) || more != sectors)
			continue;
		identity_sysfs(&other, s->root, &l.b);
		if (identity_is_twin(&self, &other))
			(void)add(s, &l, REL_TWIN, s->v[at].first, s->v[at].end);
	}
}

/*
 * The same disk seen twice (two cables, no multipath driver), also where the target is a mapping, an array or a loop
 * device over one of them.
 */
static void add_twins(struct stack *s)
{
	for (size_t i = 0, n = s->n; i < n; i++)
		if (s->v[i].is_bottom && s->v[i].is_down)
			add_twins_of(s, i);
}

/* ---- up ---- */

static void note_upper(const struct walk *w, const struct link *l)
{
	const struct stack_node *n = &w->at;
	char alias[128] = "", what[200];

	if (!w->out || l->is_partition)
		return;
	if (l->loop) {
		survey_add(w->out, FINDING_LOOP, node_is_file(n) ? w->s->v[0].b.name : n->b.name, l->b.name,
		           l->loop->path);
		return;
	}
	if (l->b.dir[0])
		(void)sys_text(w->s->root, alias, sizeof(alias), "%s/dm/name", l->b.dir); /* else "" */
	(void)snprintf(what, sizeof(what), "%.40s%s%s%s", l->b.name, alias[0] ? " (" : "", alias, alias[0] ? ")" : "");
	survey_add(w->out, FINDING_HOLDER, n->b.name, what, "");
}

static void take_upper(void *arg, const struct link *l)
{
	struct walk *w = arg;
	struct stack *s = w->s;
	const struct stack_node *n = &w->at;
	enum relation rel = !l->is_partition     ? REL_ABOVE
	                    : n->rel == REL_SELF ? REL_PART
	                    : n->rel == REL_DISK ? REL_OVERLAP
	                    : n->rel == REL_TWIN ? REL_TWIN
	                                         : REL_ABOVE;
	uint64_t first = 0, end = UINT64_MAX;
	size_t i = l->b.rdev ? find_node(s, l->b.rdev, NULL) : s->n;

	if (l->is_ground ? n->is_down && n->rel != REL_SELF : !carry(l, false, n->first, n->end, &first, &end)) {
		s->v[w->index].is_shared = s->v[w->index].is_shared || l->is_partition;
		s->v[w->index].is_held = s->v[w->index].is_held || l->is_held;
		return;
	}
	if (i < s->n && s->v[i].is_down)
		return; /* that is our own way down */
	note_upper(w, l);
	if (l->b.rdev)
		(void)add(s, l, rel, first, end);
}

static void go_up(struct walk *w)
{
	if (w->at.rel == REL_GROUND)
		return;
	w->s->v[w->index].is_shared = false;
	links_up(w->s, &w->at, take_upper, w);
}

/* ---- all of it ---- */

static int build(struct stack *s, const struct link *target, uint64_t bytes, struct survey *out, bool goes_up)
{
	cleanup_free struct walk *w = xcalloc(1, sizeof(*w));

	(void)add(s, target, REL_SELF, 0, bytes);
	s->v[0].is_down = true;
	w->s = s;
	w->out = out;
	w->wants_ground = goes_up;
	for_new(w, go_down);
	if (goes_up) {
		add_twins(s);
		for (size_t i = 0; i < s->n; i++)
			s->v[i].is_new = true;
		for_new(w, go_up);
	}
	return s->is_too_large ? -E2BIG : 0;
}

int stack_below(const char *root, const struct sys_block *b, struct stack *ret)
{
	struct stack s = { .root = root };
	struct link target = { .b = *b };
	int r = mounts_read(root, &s.mounts, NULL);

	if (r < 0)
		s.mounts = (struct mounts){ 0 }; /* files are known by their names then */
	r = build(&s, &target, UINT64_MAX, NULL, false);
	if (r < 0)
		stack_done(&s);
	else
		*ret = s;
	return r;
}

int stack_build(const char *root, const struct device *dev, struct stack *ret, struct survey *out, struct err *err)
{
	bool is_block = dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION;
	struct stack s = { .root = root };
	struct link target = { .file = { dev->file.file_dev, dev->file.inode, false } };
	int r = mounts_read(root, &s.mounts, err);

	if (r < 0)
		return r;
	links_find_loops(&s);
	if (is_block)
		r = sys_block_by_rdev(root, dev->rdev, &target.b);
	if (!is_block) {
		target.file = file_id_of(root, &s.mounts, dev->node, dev->file.file_dev, dev->file.inode);
		text_copy(target.b.dir, sizeof(target.b.dir), dev->node);
		text_copy(target.b.name, sizeof(target.b.name), dev->name);
	}
	if (is_block)
		target.file = (struct file_id){ 0 };
	if (r == 0)
		r = build(&s, &target, is_block && dev->size_bytes ? dev->size_bytes : UINT64_MAX, out, true);
	if (r == 0 && out && s.cut[0])
		survey_add(out, FINDING_STACK, dev->name, "", s.cut);
	if (r < 0) {
		stack_done(&s);
		return err_set(err, r, "Cannot find out who uses %s: %s.", dev->path, strerror(-r));
	}
	*ret = s;
	return 0;
}

void stack_done(struct stack *s)
{
	mounts_done(&s->mounts);
	free(s->loops);
	free(s->edges);
	free(s->v);
	*s = (struct stack){ 0 };
}

/*
 * ---- claims: exclusive use of all that shares bytes with a target. The kernel knows users that nothing else shows
 * (mounts of other name spaces, journals, zfs), but it knows them by the device that they use: a loop device does not
 * claim what it is over. ----
 */

static bool wants_disk(const struct stack *s, const struct stack_node *n)
{
	bool has_parts = false;

	if (n->is_held)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		const struct stack_node *p = &s->v[i];

		if (p->rel == REL_GROUND || !p->b.is_partition || p->b.disk_rdev != n->b.rdev)
			continue;
		if (p->is_down)
			return false;
		has_parts = true;
	}
	return !has_parts || !n->is_shared;
}

/*
 * A claim of a disk is one of all its partitions, and one of a partition keeps others from the disk (bd_may_claim() in
 * the kernel's block/bdev.c). So the disk is left where only partitions of it are concerned, whose neighbours may be in
 * use; and partitions are where the disk is claimed. Where a part of a disk between its partitions is concerned the
 * disk is claimed, and a partition in use refuses that: the kernel does not report which it is.
 */
bool stack_wants_claim(const struct stack *s, const struct stack_node *n)
{
	const struct stack_node *disk;

	if (node_is_file(n) || n->rel == REL_GROUND || n->rel == REL_SELF || n->is_held)
		return false;
	if (!n->b.is_partition)
		return wants_disk(s, n);
	disk = stack_find(s, n->b.disk_rdev);
	return !disk || (disk->rel != REL_SELF && !disk->is_held && !wants_disk(s, disk));
}

void claims_done(struct claims *c)
{
	for (size_t i = 0; i < c->n; i++)
		(void)close(c->fds[i]); /* for reading only */
	free(c->fds);
	*c = (struct claims){ 0 };
}

/* Read-only: a claim needs no more, and udev looks again at what was open for writing. */
void claims_take(const struct stack *s, struct claims *ret, struct survey *out)
{
	char path[128], why[200];

	*ret = (struct claims){ .fds = xcalloc(s->n, sizeof(*ret->fds)) };
	for (size_t i = 0; i < s->n; i++) {
		const struct stack_node *n = &s->v[i];
		int fd;

		if (!stack_wants_claim(s, n))
			continue;
		sys_node(n->b.name, path, sizeof(path));
		fd = sys_node_open(path, n->b.rdev, O_EXCL | O_NOFOLLOW);
		if (fd >= 0) {
			ret->fds[ret->n++] = fd;
		} else if (fd == -EBUSY) {
			survey_add(out, FINDING_EXCLUSIVE, n->b.name, "", "");
		} else {
			(void)snprintf(why, sizeof(why), "%.60s, which shares bytes with it, cannot be opened (%s)",
			               n->b.name, strerror(-fd));
			survey_add(out, FINDING_STACK, s->v[0].b.name, "", why);
		}
	}
}
