/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All devices through which the bytes of one device may be in use: its partitions, other partitions that overlap it, its disk, whatever is
 * stacked above (dm, md, loop, and their partitions), what a loop device is over, other loop devices over the same file, and other
 * paths to the same disk. By device number, never by name: names are for the messages.
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
#include "device/identity.h"
#include "device/survey.h"

#define MEMBERS_MAX 4096 /* a bound on hostile or circular trees */

const struct member *family_find(const struct family *f, dev_t rdev)
{
	for (size_t i = 0; rdev != 0 && i < f->n; i++)
		if (f->v[i].b.rdev == rdev)
			return &f->v[i];
	return NULL;
}

static uint64_t attribute(const char *root, const struct sys_block *b, const char *name)
{
	uint64_t v = 0;

	(void)sys_u64(root, &v, "%s/%s", b->dir, name); /* 0 when it is not there */
	return v;
}

static int add_partitions(const char *root, struct family *f, const struct sys_block *disk, enum relation rel);

static int add(const char *root, struct family *f, const struct sys_block *b, enum relation rel)
{
	if (family_find(f, b->rdev))
		return 0;
	if (f->n == MEMBERS_MAX)
		return -E2BIG;
	if (f->n == f->room) {
		struct member *more = reallocarray(f->v, f->room = f->room ? 2 * f->room : 8, sizeof(*more));

		if (!more)
			return -ENOMEM;
		f->v = more;
	}
	f->v[f->n].b = *b;
	f->v[f->n++].rel = rel;
	if (b->is_partition || rel == REL_DISK)
		return 0;
	return add_partitions(root, f, b, rel == REL_SELF ? REL_PART : rel);
}

static int add_partitions(const char *root, struct family *f, const struct sys_block *disk, enum relation rel)
{
	struct sys_list names;
	int r = 0;

	/* Nodes of partitions are folders inside their disk's. */
	sys_list(root, &names, "%s", disk->disk_dir);
	for (size_t i = 0; i < names.n && r == 0; i++) {
		struct sys_block b;

		if (sys_exists(root, "%s/%s/partition", disk->disk_dir, names.v[i]) &&
		    sys_block_by_name(root, names.v[i], &b) == 0 && b.disk_rdev == disk->rdev)
			r = add(root, f, &b, rel);
	}
	sys_list_done(&names);
	return r;
}

/* Partitions of a disk that share sectors from first to end with a partition of it, or of another that is the same disk; and the disk itself. */
static int add_overlaps(const char *root, struct family *f, const struct sys_block *in, uint64_t first, uint64_t end,
                        enum relation rel)
{
	struct sys_block disk;
	struct sys_list names;
	int r = 0;

	sys_list(root, &names, "%s", in->disk_dir);
	for (size_t i = 0; i < names.n && r == 0; i++) {
		struct sys_block b;
		uint64_t start;

		if (!sys_exists(root, "%s/%s/partition", in->disk_dir, names.v[i]) ||
		    sys_block_by_name(root, names.v[i], &b) < 0 || b.disk_rdev != in->disk_rdev)
			continue;
		start = attribute(root, &b, "start");
		if (start < end && first < start + attribute(root, &b, "size"))
			r = add(root, f, &b, rel);
	}
	sys_list_done(&names);
	if (r == 0 && sys_block_by_rdev(root, in->disk_rdev, &disk) == 0)
		r = add(root, f, &disk, REL_DISK);
	return r;
}

/* A partition as target: other partitions of the disk that share bytes with it, and the disk itself. */
static int add_around_partition(const char *root, struct family *f, const struct sys_block *self)
{
	uint64_t first = attribute(root, self, "start");

	return add_overlaps(root, f, self, first, first + attribute(root, self, "size"), REL_OVERLAP);
}

/* ---- loop devices ---- */

/* The kernel's own numbers of the file below; they stay right when the file was renamed or lies in another name space. */
static bool ask_loop(struct loop *l)
{
	struct loop_info64 info;
	char node[80];
	cleanup_close int fd = -1;
	struct stat st;

	sys_node(l->b.name, node, sizeof(node));
	fd = open(node, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_rdev != l->b.rdev || ioctl(fd, LOOP_GET_STATUS64, &info) < 0)
		return false;
	l->file_dev = (dev_t)info.lo_device; /* 32-bit encoding of the kernel: makedev()'s for these numbers */
	l->file_rdev = (dev_t)info.lo_rdevice;
	l->file_inode = info.lo_inode;
	l->first = info.lo_offset;
	l->end = info.lo_sizelimit ? info.lo_offset + info.lo_sizelimit : UINT64_MAX;
	return true;
}

static void look_up_loop(const char *root, const struct family *f, struct loop *l)
{
	const struct mount *m;
	struct stat st;

	l->end = UINT64_MAX;
	if (sysroot_is_real(root) && ask_loop(l))
		return;
	(void)sys_u64(root, &l->first, "%s/loop/offset", l->b.dir); /* else 0 */
	l->file_rdev = node_rdev(root, l->file);
	m = mounts_of_path(root, &f->mounts, l->file);
	l->file_dev = m ? mount_rdev(root, m) : 0;
	if (sysroot_is_real(root) && stat(l->file, &st) == 0) {
		l->file_dev = st.st_dev;
		l->file_inode = (uint64_t)st.st_ino;
	}
}

static int find_loops(const char *root, struct family *f)
{
	struct sys_list names;

	sys_list(root, &names, "/sys/class/block");
	f->loops = calloc(names.n + 1, sizeof(*f->loops));
	for (size_t i = 0; f->loops && i < names.n; i++) {
		struct loop *l = &f->loops[f->nloops];

		if (strncmp(names.v[i], "loop", 4) != 0 || sys_block_by_name(root, names.v[i], &l->b) < 0 ||
		    l->b.is_partition)
			continue;
		if (sys_text(root, l->file, sizeof(l->file), "%s/loop/backing_file", l->b.dir) < 0)
			continue; /* not bound */
		look_up_loop(root, f, l);
		f->nloops++;
	}
	sys_list_done(&names);
	return f->loops ? 0 : -ENOMEM;
}

/* The block device that a loop's file lies on, file systems without a device number of their own (btrfs) included. */
static dev_t loop_disk(const char *root, const struct family *f, const struct loop *l)
{
	const struct mount *m;

	if (l->file_rdev != 0)
		return l->file_rdev;
	if (major(l->file_dev) != 0)
		return l->file_dev;
	m = mounts_of_path(root, &f->mounts, l->file);
	/* A file whose mount is gone looks as if it lay on the one below: that has a number, its own had none. */
	return m && major(m->dev) == 0 ? mount_rdev(root, m) : 0;
}

/* The target is (a partition of) a loop device: what is below it, and who else is over the same file. */
static int add_below_loop(const char *root, struct family *f, const struct device *dev, const struct sys_block *self,
                          struct survey *out)
{
	const struct loop *own = NULL;
	struct sys_block below;
	uint64_t first, end;
	int r = 0;

	for (size_t i = 0; i < f->nloops; i++)
		if (f->loops[i].b.rdev == self->disk_rdev)
			own = &f->loops[i];
	if (!own)
		return 0;
	if (own->file_rdev != 0 && sys_block_by_rdev(root, own->file_rdev, &below) == 0) {
		r = add(root, f, &below, REL_BELOW);
		return r == 0 && below.is_partition ? add_around_partition(root, f, &below) : r;
	}
	f->file_dev = own->file_dev;
	f->file_inode = own->file_inode;
	first = own->first + dev->partition_offset_bytes;
	end = first + dev->size_bytes;
	for (size_t i = 0; i < f->nloops && r == 0; i++) {
		const struct loop *l = &f->loops[i];
		bool is_same = own->file_inode ? l->file_inode == own->file_inode && l->file_dev == own->file_dev
		                               : strcmp(l->file, own->file) == 0;

		if (l == own || !is_same || l->first >= end || l->end <= first)
			continue;
		r = add(root, f, &l->b, REL_TWIN);
		if (r == 0)
			r = survey_add(out, FINDING_LOOP, self->name, l->b.name, l->file);
	}
	return r;
}

/* ---- other paths ---- */

/* The disks at the bottom, for which twins are looked for; those are no twins of each other: what is above claims all of them. */
struct below {
	struct sys_block *v;
	size_t n;
	int r;
};

static void take_below(void *arg, const struct sys_block *b)
{
	struct below *all = arg;
	struct sys_block *more;

	if (all->r < 0 || all->n == MEMBERS_MAX)
		return;
	more = reallocarray(all->v, all->n + 1, sizeof(*more));
	if (!more) {
		all->r = -ENOMEM;
		return;
	}
	all->v = more;
	all->v[all->n++] = *b;
}

static bool is_below(const struct below *all, dev_t disk_rdev)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].disk_rdev == disk_rdev)
			return true;
	return false;
}

static int add_twins_of(const char *root, struct family *f, const struct below *all, const struct sys_block *b)
{
	struct sys_block disk;
	struct device self = { 0 };
	struct sys_list names;
	uint64_t first, sectors;
	int r = sys_block_by_rdev(root, b->disk_rdev, &disk);

	if (r < 0)
		return r;
	identity_sysfs(&self, root, &disk);
	sectors = attribute(root, &disk, "size");
	if ((!self.wwn[0] && !self.serial[0]) || sectors == 0)
		return 0;
	first = b->is_partition ? attribute(root, b, "start") : 0;
	sys_list(root, &names, "/sys/class/block");
	for (size_t i = 0; i < names.n && r == 0; i++) {
		struct device other = { 0 };
		struct sys_block o;

		if (sys_block_by_name(root, names.v[i], &o) < 0 || o.is_partition || is_below(all, o.rdev) ||
		    attribute(root, &o, "size") != sectors)
			continue;
		identity_sysfs(&other, root, &o);
		if (!identity_is_twin(&self, &other))
			continue;
		r = b->is_partition ? add_overlaps(root, f, &o, first, first + attribute(root, b, "size"), REL_TWIN)
		                    : add(root, f, &o, REL_TWIN);
	}
	sys_list_done(&names);
	return r;
}

/* The same disk seen twice (two cables, no multipath driver), also where the target is a mapping, an array or a loop device over one of them. */
static int add_twins(const char *root, struct family *f, const struct sys_block *self)
{
	struct below all = { 0 };
	int r;

	bottoms(root, self, take_below, &all);
	r = all.r;
	for (size_t i = 0; i < all.n && r == 0; i++)
		r = add_twins_of(root, f, &all, &all.v[i]);
	free(all.v);
	return r;
}

/* ---- what is stacked above ---- */

static int add_holders(const char *root, struct family *f, size_t i, struct survey *out)
{
	struct sys_list names;
	int r = 0;

	sys_list(root, &names, "%s/holders", f->v[i].b.dir);
	for (size_t k = 0; k < names.n && r == 0; k++) {
		char alias[64], what[128];
		struct sys_block b;
		bool is_known = sys_block_by_name(root, names.v[k], &b) == 0;

		if (!is_known || sys_text(root, alias, sizeof(alias), "%s/dm/name", b.dir) < 0)
			alias[0] = '\0';
		(void)snprintf(what, sizeof(what), "%.40s%s%s%s", names.v[k], alias[0] ? " (" : "", alias,
		               alias[0] ? ")" : "");
		r = survey_add(out, FINDING_HOLDER, f->v[i].b.name, what, "");
		if (r == 0 && is_known)
			r = add(root, f, &b, REL_ABOVE);
	}
	sys_list_done(&names);
	return r;
}

static int add_loops(const char *root, struct family *f, size_t i, struct survey *out)
{
	int r = 0;

	for (size_t k = 0; k < f->nloops && r == 0; k++) {
		const struct loop *l = &f->loops[k];

		if (family_find(f, l->b.rdev) || loop_disk(root, f, l) != f->v[i].b.rdev)
			continue;
		r = survey_add(out, FINDING_LOOP, f->v[i].b.name, l->b.name, l->file);
		if (r == 0)
			r = add(root, f, &l->b, REL_ABOVE);
	}
	return r;
}

static int add_all(const char *root, struct family *f, const struct device *dev, const struct sys_block *self,
                   struct survey *out)
{
	int r = add(root, f, self, REL_SELF);

	if (r == 0 && self->is_partition)
		r = add_around_partition(root, f, self);
	if (r == 0)
		r = add_below_loop(root, f, dev, self, out);
	if (r == 0)
		r = add_twins(root, f, self);
	for (size_t i = 0; i < f->n && r == 0; i++) { /* f->n grows while we walk */
		r = add_holders(root, f, i, out);
		if (r == 0)
			r = add_loops(root, f, i, out);
	}
	return r;
}

int family_build(const char *root, const struct device *dev, struct family *ret, struct survey *out, struct err *err)
{
	struct family f = { 0 };
	struct sys_block self;
	int r = mounts_read(root, &f.mounts, err);

	if (r < 0)
		return r;
	r = find_loops(root, &f);
	if (r == 0 && (dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION)) {
		r = sys_block_by_rdev(root, dev->rdev, &self);
		if (r == 0)
			r = add_all(root, &f, dev, &self, out);
	}
	if (r < 0) {
		family_done(&f);
		return err_set(err, r, "Cannot find out who uses %s: %s.", dev->path, strerror(-r));
	}
	*ret = f;
	return 0;
}

void family_done(struct family *f)
{
	mounts_done(&f->mounts);
	free(f->loops);
	free(f->v);
	*f = (struct family){ 0 };
}
