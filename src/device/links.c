/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is directly below and above one node of a stack, and which bytes are the same. Each kind of link is known by its
 * upper end; whoever asks what is above gets the same links, of all that may be there. Of mappings with a plain table
 * the bytes are known, of arrays and other mappings only that they are somewhere on the member.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "device/links.h"

#define SECTOR 512ull

static uint64_t attribute(const char *root, const struct sys_block *b, const char *name)
{
	uint64_t v = 0;

	(void)sys_u64(root, &v, "%s/%s", b->dir, name); /* 0 when it is not there */
	return v;
}

static void cut(struct stack *s, const char *upper, const char *lower)
{
	(void)snprintf(s->cut, sizeof(s->cut), "%.60s stands on %.80s, which is not to be found", upper, lower);
}

/* ---- files ---- */

static bool has_layers(const char *fs_type)
{
	return str_is_one_of(fs_type, "overlay ecryptfs aufs unionfs mergerfs fuse.mergerfs fuse.unionfs");
}

/*
 * An overlay's inode numbers are those of its layers, with the layer's number in the upper bits where there are several
 * (overlayfs.rst, "Inode properties").
 */
bool file_id_is_same(const struct file_id *a, const struct file_id *b)
{
	if (a->inode == 0 || b->inode == 0)
		return false;
	if (a->dev == b->dev)
		return a->inode == b->inode;
	return (a->is_layered || b->is_layered) && (uint32_t)a->inode == (uint32_t)b->inode;
}

struct file_id file_id_of(const char *root, const struct mounts *m, const char *path, dev_t dev, uint64_t inode)
{
	struct file_id f = { .dev = dev, .inode = inode };
	const struct mount *on = NULL;
	char real[PATH_MAX];
	struct stat st;

	for (size_t i = 0; major(dev) == 0 && i < m->n; i++)
		if (m->v[i].dev == dev)
			on = &m->v[i];
	if (major(dev) == 0 && (!on || has_layers(on->fs_type)))
		on = mounts_of_path(root, m, path);
	/* By the link of another process' descriptor, of a mount that we have not: it may be anything. */
	f.is_layered = on && (has_layers(on->fs_type) || strcmp(on->fs_type, "proc") == 0);
	if (!f.is_layered || !on->upper[0] || !sysroot_is_real(root))
		return f;
	/* Opened for writing it is in the upper layer. */
	if (strncmp(path, on->where, strlen(on->where)) == 0 &&
	    snprintf(real, sizeof(real), "%s%s/%s", on->upper, strcmp(on->root, "/") == 0 ? "" : on->root,
	             path + strlen(on->where)) < (int)sizeof(real) &&
	    stat(real, &st) == 0 && S_ISREG(st.st_mode) && (uint32_t)st.st_ino == (uint32_t)inode)
		f = (struct file_id){ .dev = st.st_dev, .inode = (uint64_t)st.st_ino };
	return f;
}

void btrfs_members(const char *root, const char *uuid, rdev_taker *take, void *arg)
{
	for (cleanup_list struct sys_list l = sys_list(root, "/sys/fs/btrfs/%s/devices", uuid); sys_next(&l);) {
		struct sys_block b;

		if (sys_block_by_name(root, l.name, &b) == 0)
			take(arg, b.rdev);
	}
}

struct seek_device {
	dev_t rdev;
	bool is_found;
};

static void seek_device(void *arg, dev_t rdev)
{
	struct seek_device *k = arg;

	k->is_found = k->is_found || rdev == k->rdev;
}

/* btrfs spans devices, and mountinfo names only one of them. */
static void btrfs_devices(const char *root, dev_t one, rdev_taker *take, void *arg)
{
	for (cleanup_list struct sys_list all = sys_list(root, "/sys/fs/btrfs"); sys_next(&all);) {
		struct seek_device k = { .rdev = one };

		btrfs_members(root, all.name, seek_device, &k);
		if (k.is_found)
			btrfs_members(root, all.name, take, arg);
	}
}

void mount_devices(const char *root, const struct mount *m, rdev_taker *take, void *arg)
{
	dev_t rdev = major(m->dev) != 0 ? m->dev : node_rdev(root, m->source);

	if (rdev)
		take(arg, rdev);
	for (size_t i = 0; i < ARRAY_LEN(m->beside); i++) {
		dev_t beside = m->beside[i][0] ? node_rdev(root, m->beside[i]) : 0;

		if (beside)
			take(arg, beside);
	}
	if (rdev && strcmp(m->fs_type, "btrfs") == 0)
		btrfs_devices(root, rdev, take, arg);
}

/* The devices that the file system of a file lies on; of an overlay that of its upper layer. */
static void file_devices(const struct stack *s, const struct file_id *f, const char *path, rdev_taker *take, void *arg)
{
	const struct mount *on = NULL;

	for (size_t i = 0; i < s->mounts.n && !on; i++)
		if (s->mounts.v[i].dev == f->dev)
			on = &s->mounts.v[i];
	if (!on && major(f->dev) != 0) {
		take(arg, f->dev);
		return;
	}
	if (!on)
		on = mounts_of_path(s->root, &s->mounts, path);
	for (int depth = 0; on && on->upper[0] && depth < 8; depth++)
		on = mounts_of_path(s->root, &s->mounts, on->upper);
	/* A file whose mount is gone looks as if it lay on the one below: that has a number, its own had none. */
	if (on && (on->dev == f->dev || major(f->dev) != 0 || major(on->dev) == 0 || f->is_layered))
		mount_devices(s->root, on, take, arg);
}

/* ---- loop devices ---- */

/* The kernel's numbers of the file below stay right when it was renamed or lies in another name space. */
static bool ask_loop(struct loop *l, dev_t *ret_dev, uint64_t *ret_inode)
{
	struct loop_info64 info;
	char node[80];
	cleanup_close int fd = -1;

	sys_node(l->b.name, node, sizeof(node));
	fd = sys_node_open(node, l->b.rdev, 0);
	if (fd < 0 || ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
		return false;
	*ret_dev = (dev_t)info.lo_device; /* 32-bit encoding of the kernel: makedev()'s for these numbers */
	*ret_inode = info.lo_inode;
	l->file_rdev = (dev_t)info.lo_rdevice;
	l->first = info.lo_offset;
	l->end = info.lo_sizelimit ? info.lo_offset + info.lo_sizelimit : UINT64_MAX;
	return true;
}

/* By its name, which may be of a file that is gone, or of one elsewhere. */
static void guess_loop(const char *root, const struct mounts *m, struct loop *l, dev_t *ret_dev, uint64_t *ret_inode)
{
	const struct mount *on = mounts_of_path(root, m, l->path);
	unsigned maj, min;
	unsigned long long inode;
	char text[64];
	uint64_t bytes = 0;
	struct stat st;

	(void)sys_u64(root, &l->first, "%s/loop/offset", l->b.dir); /* else 0 */
	(void)sys_u64(root, &bytes, "%s/loop/sizelimit", l->b.dir);
	l->end = bytes ? l->first + bytes : UINT64_MAX;
	l->file_rdev = node_rdev(root, l->path);
	*ret_dev = on ? on->dev : 0;
	*ret_inode = 0;
	if (sysroot_is_real(root) && stat(l->path, &st) == 0) {
		*ret_dev = st.st_dev;
		*ret_inode = (uint64_t)st.st_ino;
	} else if (!sysroot_is_real(root)) { /* a dump has no ioctls: what they would say is in a file, or stands in for
		                                the name */
		l->is_sure = true;
		if (sys_text(root, text, sizeof(text), "%s/loop/file_id", l->b.dir) == 0 &&
		    sscanf(text, "%u:%u %llu", &maj, &min, &inode) == 3) {
			*ret_dev = makedev(maj, min);
			*ret_inode = inode;
			return;
		}
		for (const char *p = l->path; *p; p++)
			*ret_inode = *ret_inode * 31 + (unsigned char)*p;
	}
}

/* -ENXIO: not bound. */
static int look_up_loop(const char *root, const struct mounts *m, const struct sys_block *b, struct loop *ret)
{
	struct loop l = { .b = *b };
	uint64_t inode = 0;
	dev_t dev = 0;

	if (sys_text(root, l.path, sizeof(l.path), "%s/loop/backing_file", b->dir) < 0)
		return -ENXIO;
	l.is_sure = sysroot_is_real(root) && ask_loop(&l, &dev, &inode);
	if (!l.is_sure)
		guess_loop(root, m, &l, &dev, &inode);
	l.file = file_id_of(root, m, l.path, dev, inode);
	*ret = l;
	return 0;
}

void links_find_loops(struct stack *s)
{
	cleanup_list struct sys_list names = sys_list(s->root, "/sys/class/block");

	s->loops = xcalloc(names.n, sizeof(*s->loops));
	while (sys_next(&names)) {
		struct sys_block b;

		if (strncmp(names.name, "loop", 4) == 0 && sys_block_by_name(s->root, names.name, &b) == 0 &&
		    !b.is_partition && look_up_loop(s->root, &s->mounts, &b, &s->loops[s->nloops]) == 0)
			s->nloops++;
	}
}

static void loop_down(struct stack *s, const struct loop *l, link_taker *take, void *arg)
{
	uint64_t sectors = attribute(s->root, &l->b, "size"), size = sectors ? sectors * SECTOR : UINT64_MAX;
	struct link k = { .low_first = l->first, .low_end = l->end, .is_exact = true, .loop = l };

	if (size < k.low_end - k.low_first)
		k.low_end = k.low_first + size;
	k.up_end = k.low_end - k.low_first;
	if (l->file_rdev == 0) {
		const char *slash = strrchr(l->path, '/');

		k.file = l->file;
		text_copy(k.b.dir, sizeof(k.b.dir), l->path);
		text_copy(k.b.name, sizeof(k.b.name), slash ? slash + 1 : l->path);
	} else if (sys_block_by_rdev(s->root, l->file_rdev, &k.b) < 0) {
		cut(s, l->b.name, l->path);
		return;
	}
	take(arg, &k);
}

/* ---- mappings, arrays, caches ---- */

/* What the lower keeps apart by itself, as a file system does with files. */
static bool is_managed(const char *dm_type)
{
	return strcmp(dm_type, "thin") == 0 || strcmp(dm_type, "snapshot") == 0;
}

struct dm_links {
	struct link k;
	struct segments segments;
	bool is_strange, is_managed;
	char device[32]; /* of the lower, as tables name it */
};

static void dm_line(void *arg, uint64_t first_sector, uint64_t sectors, const char *type, const char *params)
{
	struct dm_links *d = arg;

	if (is_managed(type))
		d->is_managed = true;
	else if (!segments_of_dm(&d->segments, type, params, first_sector, sectors, d->k.b.rdev))
		d->is_strange = d->is_strange || strstr(params, d->device) != NULL;
}

/* The links of a mapping to one of its devices. */
static void dm_down(const struct stack *s, const struct sys_block *upper, const struct link *whole, link_taker *take,
                    void *arg)
{
	struct dm_links d = { .k = *whole };

	(void)snprintf(d.device, sizeof(d.device), "%u:%u", major(whole->b.rdev), minor(whole->b.rdev));
	if (dm_table(s->root, upper, dm_line, &d) < 0 || d.is_strange || (d.segments.n == 0 && !d.is_managed)) {
		take(arg, whole);
	} else if (d.segments.n == 0) {
		d.k.is_ground = true;
		take(arg, &d.k);
	}
	for (size_t i = 0; !d.is_strange && i < d.segments.n; i++) {
		const struct segment *g = &d.segments.v[i];

		d.k.is_exact = g->lower_bytes == g->upper_bytes;
		d.k.spread = g->spread;
		d.k.low_first = g->lower_first;
		d.k.low_end = g->lower_first + g->lower_bytes;
		d.k.up_first = g->upper_first;
		d.k.up_end = g->upper_first + g->upper_bytes;
		take(arg, &d.k);
	}
	free(d.segments.v);
}

static void member_down(struct stack *s, const struct sys_block *upper, const char *link, link_taker *take, void *arg)
{
	struct link k = { .up_end = UINT64_MAX, .low_end = UINT64_MAX, .is_held = true };

	if (sys_block_by_link(s->root, link, &k.b) < 0)
		cut(s, upper->name, strrchr(link, '/') + 1);
	else if (sys_exists(s->root, "%s/dm", upper->dir))
		dm_down(s, upper, &k, take, arg);
	else
		take(arg, &k);
}

static void zram_down(struct stack *s, const struct sys_block *b, link_taker *take, void *arg)
{
	char path[256], link[64];
	dev_t rdev;

	if (sys_text(s->root, path, sizeof(path), "%s/backing_dev", b->dir) < 0 || !path[0] ||
	    strcmp(path, "none") == 0)
		return;
	rdev = node_rdev(s->root, path);
	(void)snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(rdev), minor(rdev));
	if (rdev == 0)
		cut(s, b->name, path);
	else
		member_down(s, b, link, take, arg);
}

/* ---- down ---- */

static void partition_down(const struct stack *s, const struct sys_block *b, link_taker *take, void *arg)
{
	struct link k = { .is_exact = true, .is_partition = true };

	if (sys_block_by_rdev(s->root, b->disk_rdev, &k.b) < 0)
		return;
	k.up_end = attribute(s->root, b, "size") * SECTOR;
	k.low_first = attribute(s->root, b, "start") * SECTOR;
	k.low_end = k.low_first + k.up_end;
	take(arg, &k);
}

struct grounds {
	const struct stack *s;
	link_taker *take;
	void *arg;
};

static void take_ground(void *arg, dev_t rdev)
{
	const struct grounds *g = arg;
	struct link k = { .up_end = UINT64_MAX, .low_end = UINT64_MAX, .is_ground = true };

	if (sys_block_by_rdev(g->s->root, rdev, &k.b) == 0)
		g->take(g->arg, &k);
}

static void block_down(struct stack *s, const struct sys_block *b, link_taker *take, void *arg)
{
	char link[PATH_MAX + 320];
	struct loop loop;

	if (b->is_partition) {
		partition_down(s, b, take, arg);
		return;
	}
	if (look_up_loop(s->root, &s->mounts, b, &loop) == 0) {
		loop_down(s, &loop, take, arg);
		return;
	}
	for (cleanup_list struct sys_list l = sys_list(s->root, "%s/slaves", b->dir); sys_next(&l);) {
		/* folders in dumps, where sysfs has links */
		(void)snprintf(link, sizeof(link), "/sys/class/block/%s", l.name);
		member_down(s, b, link, take, arg);
	}
	for (cleanup_list struct sys_list l = sys_list(s->root, "%s/bcache/cache", b->dir); sys_next(&l);) {
		(void)snprintf(link, sizeof(link), "%s/bcache/cache/%s/..", b->dir, l.name);
		if (strncmp(l.name, "cache", 5) == 0)
			member_down(s, b, link, take, arg);
	}
	zram_down(s, b, take, arg);
}

void links_down(struct stack *s, const struct stack_node *n, bool wants_ground, link_taker *take, void *arg)
{
	struct grounds g = { s, take, arg };

	if (!node_is_file(n))
		block_down(s, &n->b, take, arg);
	else if (wants_ground)
		file_devices(s, &n->file, n->b.dir, take_ground, &g);
}

/* ---- up: the links down of what may be above ---- */

struct turn {
	const struct stack_node *lower;
	const struct sys_block *upper;
	link_taker *take;
	void *arg;
	bool is_met;
};

/* A link whose other end is the lower: turned round, if that is the node. */
static void take_turned(void *arg, const struct link *l)
{
	struct turn *t = arg;
	struct link k = *l;

	if (l->b.rdev != t->lower->b.rdev || (l->b.rdev == 0 && !file_id_is_same(&l->file, &t->lower->file)))
		return;
	t->is_met = true;
	k.b = *t->upper;
	k.file = (struct file_id){ 0 };
	t->take(t->arg, &k);
}

/* False: it is not what stands on the node. */
static bool upper(struct stack *s, const struct stack_node *n, const char *link, link_taker *take, void *arg)
{
	struct sys_block b;
	struct turn t = { .lower = n, .upper = &b, .take = take, .arg = arg };

	if (sys_block_by_link(s->root, link, &b) == 0)
		block_down(s, &b, take_turned, &t);
	return t.is_met;
}

static void holders_up(struct stack *s, const struct stack_node *n, link_taker *take, void *arg)
{
	char link[PATH_MAX + 320];

	for (cleanup_list struct sys_list l = sys_list(s->root, "%s/holders", n->b.dir); sys_next(&l);) {
		struct link k = { .up_end = UINT64_MAX, .low_end = UINT64_MAX, .is_held = true };

		(void)snprintf(link, sizeof(link), "/sys/class/block/%s", l.name);
		if (upper(s, n, link, take, arg))
			continue;
		if (sys_block_by_link(s->root, link, &k.b) < 0) /* one without a folder of its own: its name */
			text_copy(k.b.name, sizeof(k.b.name), l.name);
		take(arg, &k);
	}
	for (cleanup_list struct sys_list l = sys_list(s->root, "%s/bcache/set", n->b.dir); sys_next(&l);) {
		(void)snprintf(link, sizeof(link), "%s/bcache/set/%s/dev", n->b.dir, l.name);
		if (strncmp(l.name, "bdev", 4) == 0)
			(void)upper(s, n, link, take, arg);
	}
}

/*
 * Nodes of partitions are folders inside their disk's; what is over zram's backing device is found in zram's folder
 * alone.
 */
static void names_up(struct stack *s, const struct stack_node *n, link_taker *take, void *arg)
{
	char link[PATH_MAX + 320];

	for (cleanup_list struct sys_list l = sys_list(s->root, "%s", n->b.dir); !n->b.is_partition && sys_next(&l);) {
		(void)snprintf(link, sizeof(link), "%s/%s", n->b.dir, l.name);
		if (sys_exists(s->root, "%s/partition", link))
			(void)upper(s, n, link, take, arg);
	}
	for (cleanup_list struct sys_list l = sys_list(s->root, "/sys/class/block"); sys_next(&l);) {
		(void)snprintf(link, sizeof(link), "/sys/class/block/%s", l.name);
		if (strncmp(l.name, "zram", 4) == 0)
			(void)upper(s, n, link, take, arg);
	}
}

static void loops_up(struct stack *s, const struct stack_node *n, link_taker *take, void *arg)
{
	for (size_t i = 0; i < s->nloops; i++) {
		const struct loop *l = &s->loops[i];
		struct turn t = { .lower = n, .upper = &l->b, .take = take, .arg = arg };
		struct seek_device on = { .rdev = n->b.rdev };
		struct link k = {
			.b = l->b, .up_end = UINT64_MAX, .low_end = UINT64_MAX, .is_ground = true, .loop = l
		};

		loop_down(s, l, take_turned, &t);
		if (node_is_file(n) || l->file_rdev)
			continue;
		file_devices(s, &l->file, l->path, seek_device, &on);
		if (on.is_found)
			take(arg, &k);
	}
}

void links_up(struct stack *s, const struct stack_node *n, link_taker *take, void *arg)
{
	loops_up(s, n, take, arg);
	if (node_is_file(n))
		return;
	holders_up(s, n, take, arg);
	names_up(s, n, take, arg);
}
