/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is directly below and above one node of a stack, and which bytes are the same. Each kind of link is told by its
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
#include <unistd.h>

#include "base/cleanup.h"
#include "device/above.h"
#include "device/links.h"

#define SECTOR 512ull

static uint64_t attribute(const char *root, const struct sys_block *b, const char *name)
{
	uint64_t v = 0;

	(void)sys_u64(root, &v, "%s/%s", b->dir, name); /* 0 when it is not there */
	return v;
}

static uint64_t size_of(const char *root, const struct sys_block *b)
{
	uint64_t sectors = attribute(root, b, "size");

	return sectors ? sectors * SECTOR : UINT64_MAX;
}

static void cut(struct stack *s, const char *upper, const char *lower)
{
	(void)snprintf(s->cut, sizeof(s->cut), "%.60s stands on %.80s, which is not to be found", upper, lower);
}

/* ---- files ---- */

static bool has_layers(const char *fs_type)
{
	static const char *const types[] = { "overlay",  "ecryptfs",      "aufs",        "unionfs",
		                             "mergerfs", "fuse.mergerfs", "fuse.unionfs" };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(fs_type, types[i]) == 0)
			return true;
	return false;
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

/* btrfs spans devices, and mountinfo names only one of them. */
static int btrfs_devices(const char *root, dev_t one, int (*take)(void *arg, dev_t rdev), void *arg)
{
	struct sys_list systems, names;
	int r = 0;

	sys_list(root, &systems, "/sys/fs/btrfs");
	for (size_t i = 0; i < systems.n && r == 0; i++) {
		bool is_it = false;

		sys_list(root, &names, "/sys/fs/btrfs/%s/devices", systems.v[i]);
		for (size_t pass = 0; pass < 2; pass++) {
			for (size_t k = 0; k < names.n && r == 0; k++) {
				struct sys_block b;

				if (sys_block_by_name(root, names.v[k], &b) < 0)
					continue;
				is_it = is_it || b.rdev == one;
				if (pass == 1 && is_it)
					r = take(arg, b.rdev);
			}
		}
		sys_list_done(&names);
	}
	sys_list_done(&systems);
	return r;
}

int mount_devices(const char *root, const struct mount *m, int (*take)(void *arg, dev_t rdev), void *arg)
{
	dev_t rdev = major(m->dev) != 0 ? m->dev : node_rdev(root, m->source);
	int r = rdev ? take(arg, rdev) : 0;

	for (size_t i = 0; i < ARRAY_LEN(m->beside) && r == 0; i++) {
		dev_t beside = m->beside[i][0] ? node_rdev(root, m->beside[i]) : 0;

		if (beside)
			r = take(arg, beside);
	}
	if (r == 0 && rdev && strcmp(m->fs_type, "btrfs") == 0)
		r = btrfs_devices(root, rdev, take, arg);
	return r;
}

/* The devices that the file system of a file lies on; of an overlay that of its upper layer. */
static int file_devices(const struct stack *s, const struct file_id *f, const char *path,
                        int (*take)(void *arg, dev_t rdev), void *arg)
{
	const struct mount *on = NULL;

	for (size_t i = 0; i < s->mounts.n && !on; i++)
		if (s->mounts.v[i].dev == f->dev)
			on = &s->mounts.v[i];
	if (!on && major(f->dev) != 0)
		return take(arg, f->dev);
	if (!on)
		on = mounts_of_path(s->root, &s->mounts, path);
	for (int depth = 0; on && on->upper[0] && depth < 8; depth++)
		on = mounts_of_path(s->root, &s->mounts, on->upper);
	/* A file whose mount is gone looks as if it lay on the one below: that has a number, its own had none. */
	if (!on || (on->dev != f->dev && major(f->dev) == 0 && major(on->dev) != 0 && !f->is_layered))
		return 0;
	return mount_devices(s->root, on, take, arg);
}

/* ---- loop devices ---- */

/*
 * The kernel's own numbers of the file below; they stay right when the file was renamed or lies in another name space.
 */
static bool ask_loop(struct loop *l, dev_t *ret_dev, uint64_t *ret_inode)
{
	struct loop_info64 info;
	char node[80];
	cleanup_close int fd = -1;
	struct stat st;

	sys_node(l->b.name, node, sizeof(node));
	fd = open(node, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_rdev != l->b.rdev || ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
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

int links_find_loops(struct stack *s)
{
	struct sys_list names;

	sys_list(s->root, &names, "/sys/class/block");
	s->loops = calloc(names.n + 1, sizeof(*s->loops));
	for (size_t i = 0; s->loops && i < names.n; i++) {
		struct sys_block b;

		if (strncmp(names.v[i], "loop", 4) == 0 && sys_block_by_name(s->root, names.v[i], &b) == 0 &&
		    !b.is_partition && look_up_loop(s->root, &s->mounts, &b, &s->loops[s->nloops]) == 0)
			s->nloops++;
	}
	sys_list_done(&names);
	return s->loops ? 0 : -ENOMEM;
}

static int loop_down(struct stack *s, const struct loop *l, link_taker *take, void *arg)
{
	uint64_t size = size_of(s->root, &l->b);
	struct link k = { .file = l->file, .up_end = UINT64_MAX, .is_exact = true, .loop = l };

	k.low_first = l->first;
	k.low_end = l->end;
	if (size < k.low_end - k.low_first)
		k.low_end = k.low_first + size;
	k.up_end = k.low_end - k.low_first;
	if (l->file_rdev == 0) {
		const char *slash = strrchr(l->path, '/');

		text_copy(k.b.dir, sizeof(k.b.dir), l->path);
		text_copy(k.b.name, sizeof(k.b.name), slash ? slash + 1 : l->path);
		return take(arg, &k);
	}
	k.file = (struct file_id){ 0 };
	if (sys_block_by_rdev(s->root, l->file_rdev, &k.b) < 0) {
		cut(s, l->b.name, l->path);
		return 0;
	}
	return take(arg, &k);
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
	static const struct segment none;
	struct dm_links *d = arg;

	if (is_managed(type))
		d->is_managed = true;
	else if (!segments_of_dm(&d->segments, &none, type, params, first_sector, sectors, d->k.b.rdev))
		d->is_strange = d->is_strange || strstr(params, d->device) != NULL;
}

/* The links of a mapping to one of its devices. */
static int dm_down(const struct stack *s, const struct sys_block *upper, const struct link *whole, link_taker *take,
                   void *arg)
{
	struct dm_links d = { .k = *whole };
	int r = 0;

	(void)snprintf(d.device, sizeof(d.device), "%u:%u", major(whole->b.rdev), minor(whole->b.rdev));
	if (dm_table(s->root, upper, dm_line, &d) < 0 || d.is_strange || (d.segments.n == 0 && !d.is_managed)) {
		r = take(arg, whole);
	} else if (d.segments.n == 0) {
		d.k.is_ground = true;
		r = take(arg, &d.k);
	}
	for (size_t i = 0; !d.is_strange && i < d.segments.n && r == 0; i++) {
		const struct segment *g = &d.segments.v[i];

		d.k.is_exact = g->chunk_bytes == 0;
		d.k.low_first = g->lower_first;
		d.k.low_end = g->lower_first + g->bytes;
		d.k.up_first = g->upper_first;
		d.k.up_end = g->upper_first + g->bytes * (g->chunk_bytes ? g->columns : 1);
		r = take(arg, &d.k);
	}
	free(d.segments.v);
	return r;
}

static int member_down(struct stack *s, const struct sys_block *upper, const char *link, link_taker *take, void *arg)
{
	struct link k = { .up_end = UINT64_MAX, .low_end = UINT64_MAX, .is_held = true };

	if (sys_block_by_link(s->root, link, &k.b) < 0) {
		cut(s, upper->name, strrchr(link, '/') + 1);
		return 0;
	}
	if (sys_exists(s->root, "%s/dm", upper->dir))
		return dm_down(s, upper, &k, take, arg);
	return take(arg, &k);
}

/* All names of a folder that begin so, as members. */
static int members_down(struct stack *s, const struct sys_block *b, const char *folder, const char *begin,
                        const char *behind, link_taker *take, void *arg)
{
	struct sys_list names;
	char link[PATH_MAX + 320];
	int r = 0;

	sys_list(s->root, &names, "%s/%s", b->dir, folder);
	for (size_t i = 0; i < names.n && r == 0; i++) {
		if (strncmp(names.v[i], begin, strlen(begin)) != 0)
			continue;
		if (begin[0])
			(void)snprintf(link, sizeof(link), "%s/%s/%s/%s", b->dir, folder, names.v[i], behind);
		else /* folders in dumps, where sysfs has links */
			(void)snprintf(link, sizeof(link), "/sys/class/block/%s", names.v[i]);
		r = member_down(s, b, link, take, arg);
	}
	sys_list_done(&names);
	return r;
}

static int zram_down(struct stack *s, const struct sys_block *b, link_taker *take, void *arg)
{
	char path[256], link[64];
	dev_t rdev;

	if (sys_text(s->root, path, sizeof(path), "%s/backing_dev", b->dir) < 0 || !path[0] ||
	    strcmp(path, "none") == 0)
		return 0;
	rdev = node_rdev(s->root, path);
	if (rdev == 0) {
		cut(s, b->name, path);
		return 0;
	}
	(void)snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(rdev), minor(rdev));
	return member_down(s, b, link, take, arg);
}

/* ---- down ---- */

static int partition_down(const struct stack *s, const struct sys_block *b, link_taker *take, void *arg)
{
	struct link k = { .is_exact = true, .is_partition = true };

	if (sys_block_by_rdev(s->root, b->disk_rdev, &k.b) < 0)
		return 0;
	k.up_end = attribute(s->root, b, "size") * SECTOR;
	k.low_first = attribute(s->root, b, "start") * SECTOR;
	k.low_end = k.low_first + k.up_end;
	return take(arg, &k);
}

struct grounds {
	const struct stack *s;
	link_taker *take;
	void *arg;
};

static int take_ground(void *arg, dev_t rdev)
{
	const struct grounds *g = arg;
	struct link k = { .up_end = UINT64_MAX, .low_end = UINT64_MAX, .is_ground = true };

	return sys_block_by_rdev(g->s->root, rdev, &k.b) < 0 ? 0 : g->take(g->arg, &k);
}

static int block_down(struct stack *s, const struct sys_block *b, link_taker *take, void *arg)
{
	struct loop l;
	int r;

	if (b->is_partition)
		return partition_down(s, b, take, arg);
	if (look_up_loop(s->root, &s->mounts, b, &l) == 0)
		return loop_down(s, &l, take, arg);
	r = members_down(s, b, "slaves", "", "", take, arg);
	if (r == 0)
		r = members_down(s, b, "bcache/cache", "cache", "..", take, arg);
	return r == 0 ? zram_down(s, b, take, arg) : r;
}

int links_down(struct stack *s, const struct stack_node *n, bool wants_ground, link_taker *take, void *arg)
{
	struct grounds g = { s, take, arg };

	if (!node_is_file(n))
		return block_down(s, &n->b, take, arg);
	return wants_ground ? file_devices(s, &n->file, n->b.dir, take_ground, &g) : 0;
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
static int take_turned(void *arg, const struct link *l)
{
	struct turn *t = arg;
	struct link k = *l;

	if (l->b.rdev != t->lower->b.rdev || (l->b.rdev == 0 && !file_id_is_same(&l->file, &t->lower->file)))
		return 0;
	t->is_met = true;
	k.b = *t->upper;
	k.file = (struct file_id){ 0 };
	return t->take(t->arg, &k);
}

static int upper(struct stack *s, const struct stack_node *n, const char *link, bool *ret_is_met, link_taker *take,
                 void *arg)
{
	struct sys_block b;
	struct turn t = { .lower = n, .upper = &b, .take = take, .arg = arg };
	int r = sys_block_by_link(s->root, link, &b) < 0 ? 0 : block_down(s, &b, take_turned, &t);

	if (ret_is_met)
		*ret_is_met = t.is_met;
	return r;
}

static int holders_up(struct stack *s, const struct stack_node *n, link_taker *take, void *arg)
{
	char link[PATH_MAX + 320];
	struct sys_list names;
	int r = 0;

	sys_list(s->root, &names, "%s/holders", n->b.dir);
	for (size_t i = 0; i < names.n && r == 0; i++) {
		struct link k = { .up_end = UINT64_MAX, .low_end = UINT64_MAX, .is_held = true };
		bool is_met = false;

		(void)snprintf(link, sizeof(link), "/sys/class/block/%s", names.v[i]);
		r = upper(s, n, link, &is_met, take, arg);
		if (is_met || r < 0)
			continue;
		if (sys_block_by_link(s->root, link, &k.b) < 0) /* one without a folder of its own: its name */
			text_copy(k.b.name, sizeof(k.b.name), names.v[i]);
		r = take(arg, &k);
	}
	sys_list_done(&names);
	sys_list(s->root, &names, "%s/bcache/set", n->b.dir);
	for (size_t i = 0; i < names.n && r == 0; i++) {
		(void)snprintf(link, sizeof(link), "%s/bcache/set/%s/dev", n->b.dir, names.v[i]);
		if (strncmp(names.v[i], "bdev", 4) == 0)
			r = upper(s, n, link, NULL, take, arg);
	}
	sys_list_done(&names);
	return r;
}

/*
 * Nodes of partitions are folders inside their disk's; what is over zram's backing device is found in zram's folder
 * alone.
 */
static int names_up(struct stack *s, const struct stack_node *n, link_taker *take, void *arg)
{
	char link[PATH_MAX + 320];
	struct sys_list names;
	int r = 0;

	sys_list(s->root, &names, "%s", n->b.dir);
	for (size_t i = 0; !n->b.is_partition && i < names.n && r == 0; i++) {
		(void)snprintf(link, sizeof(link), "%s/%s", n->b.dir, names.v[i]);
		if (sys_exists(s->root, "%s/partition", link))
			r = upper(s, n, link, NULL, take, arg);
	}
	sys_list_done(&names);
	sys_list(s->root, &names, "/sys/class/block");
	for (size_t i = 0; i < names.n && r == 0; i++) {
		(void)snprintf(link, sizeof(link), "/sys/class/block/%s", names.v[i]);
		if (strncmp(names.v[i], "zram", 4) == 0)
			r = upper(s, n, link, NULL, take, arg);
	}
	sys_list_done(&names);
	return r;
}

struct seek_device {
	dev_t rdev;
	bool is_found;
};

static int seek_device(void *arg, dev_t rdev)
{
	struct seek_device *k = arg;

	k->is_found = k->is_found || rdev == k->rdev;
	return 0;
}

static int loops_up(struct stack *s, const struct stack_node *n, link_taker *take, void *arg)
{
	int r = 0;

	for (size_t i = 0; i < s->nloops && r == 0; i++) {
		const struct loop *l = &s->loops[i];
		struct turn t = { .lower = n, .upper = &l->b, .take = take, .arg = arg };
		struct seek_device on = { .rdev = n->b.rdev };

		r = loop_down(s, l, take_turned, &t);
		if (r < 0 || node_is_file(n) || l->file_rdev)
			continue;
		(void)file_devices(s, &l->file, l->path, seek_device, &on);
		if (on.is_found) {
			struct link k = {
				.b = l->b, .up_end = UINT64_MAX, .low_end = UINT64_MAX, .is_ground = true, .loop = l
			};

			r = take(arg, &k);
		}
	}
	return r;
}

int links_up(struct stack *s, const struct stack_node *n, link_taker *take, void *arg)
{
	int r = loops_up(s, n, take, arg);

	if (r == 0 && !node_is_file(n))
		r = holders_up(s, n, take, arg);
	if (r == 0 && !node_is_file(n))
		r = names_up(s, n, take, arg);
	return r;
}
