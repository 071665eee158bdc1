/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What anybody has written to a device, by the kernel's counters (Documentation/block/stat.rst): of itself, and of what
 * it lies on as far as that serves nobody else. What goes through another one above it would count as a stranger's
 * there.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "device/ops.h"
#include "device/sysfs.h"

#define DEEPEST      8  /* of a stack */
#define STABLE_TRIES 16 /* of reading a disk's counters between which nothing was written */
#define LVM_PLAIN                                                                                                  \
	68 /* "LVM-" and two identifiers of 32: longer ones are parts of a pool or a mirror, which write more than \
	      they are given */

/* Written and discarded, in bytes: both replace what was there. */
static bool read_stat(const char *root, const char *dir, uint64_t *ret)
{
	uint64_t v[STAT_COUNTERS];

	if (sys_stat(root, dir, v) <= STAT_WRITTEN_SECTORS)
		return false;
	*ret = (v[STAT_WRITTEN_SECTORS] + v[STAT_DISCARDED_SECTORS]) * 512;
	return true;
}

static void add(struct device_written *w, const char *on, uint64_t bytes)
{
	if (w->n == DEVICE_WRITTEN_MAX)
		return;
	text_copy(w->v[w->n].on, sizeof(w->v[w->n].on), on);
	w->v[w->n++].bytes = bytes;
}

static uint64_t sum_partitions(const char *root, const struct sys_block *disk)
{
	uint64_t sum = 0, bytes;

	for (cleanup_list struct sys_list l = sys_list(root, "%s", disk->disk_dir); sys_next(&l);) {
		char dir[PATH_MAX];

		if (snprintf(dir, sizeof(dir), "%s/%s", disk->disk_dir, l.name) < (int)sizeof(dir) &&
		    sys_exists(root, "%s/partition", dir) && read_stat(root, dir, &bytes))
			sum += bytes;
	}
	return sum;
}

/* What reaches a partition by the disk's own node is in the disk's counters, and in none of a partition's. */
static void add_around(const char *root, struct device_written *w, const struct sys_block *part)
{
	char name[DEVICE_WRITTEN_NAME];
	uint64_t before, after, parts;

	for (int i = 0; i < STABLE_TRIES && read_stat(root, part->disk_dir, &before); i++) {
		parts = sum_partitions(root, part);
		if (!read_stat(root, part->disk_dir, &after) || before != after || parts > after)
			continue;
		(void)snprintf(name, sizeof(name), "%.60s outside of its partitions", part->disk);
		add(w, name, after - parts);
		return;
	}
}

static bool is_alone(const char *root, const struct sys_block *below)
{
	cleanup_list struct sys_list l = sys_list(root, "%s/holders", below->dir);

	return l.n == 1;
}

/* Does it hand down what it is given, and no more? */
static bool passes_on(const char *root, const struct sys_block *b)
{
	char uuid[256];

	if (sys_text(root, uuid, sizeof(uuid), "%s/dm/uuid", b->disk_dir) < 0)
		return false;
	return strncmp(uuid, "mpath-", 6) == 0 || strncmp(uuid, "part", 4) == 0 ||
	       (strncmp(uuid, "CRYPT-", 6) == 0 && strncmp(uuid, "CRYPT-SUBDEV", 12) != 0) ||
	       (strncmp(uuid, "LVM-", 4) == 0 && strlen(uuid) == LVM_PLAIN);
}

static void add_block(const char *root, struct device_written *w, const struct sys_block *b, int depth)
{
	struct sys_block below;
	char file[PATH_MAX];
	uint64_t bytes;
	struct stat st;

	if (depth == DEEPEST || !read_stat(root, b->dir, &bytes))
		return;
	add(w, b->name, bytes);
	if (b->is_partition)
		add_around(root, w, b);
	if (sys_text(root, file, sizeof(file), "%s/loop/backing_file", b->disk_dir) == 0 && sysroot_is_real(root) &&
	    stat(file, &st) == 0 && S_ISBLK(st.st_mode) && sys_block_by_rdev(root, st.st_rdev, &below) == 0)
		add_block(root, w, &below, depth + 1);
	if (!passes_on(root, b))
		return;
	for (cleanup_list struct sys_list l = sys_list(root, "%s/slaves", b->disk_dir); sys_next(&l);)
		if (sys_block_by_name(root, l.name, &below) == 0 && is_alone(root, &below))
			add_block(root, w, &below, depth + 1);
}

int device_written_read(void *ctx, const struct device *dev, struct device_written *ret)
{
	const char *root = sysroot_of(ctx);
	struct sys_block b;

	*ret = (struct device_written){ 0 };
	if (dev->kind == DEVICE_FILE || dev->kind == DEVICE_DIRECTORY || sys_block_by_rdev(root, dev->rdev, &b) < 0)
		return -ENOENT;
	add_block(root, ret, &b, 0);
	return ret->n ? 0 : -ENOENT;
}
