/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does what lies in a folder outlast a power failure? */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/inside.h"

#define DEEPEST 8 /* overlays over loop devices over overlays */

struct search {
	const char *root;
	const struct mounts *mounts;
	int depth;
	const char *found;
};

static const char *memory_of(const char *root, const struct mounts *mounts, const char *path, int depth);

/* A disk that is memory, or a loop device over a file that lies in it. */
static void look_at_device(void *arg, dev_t rdev)
{
	struct search *s = arg;
	struct sys_block b;
	char file[PATH_MAX];

	if (sys_block_by_rdev(s->root, rdev, &b) < 0)
		return;
	if (strncmp(b.disk, "zram", 4) == 0 || strncmp(b.disk, "ram", 3) == 0)
		s->found = "a disk of memory";
	else if (sys_text(s->root, file, sizeof(file), "%s/loop/backing_file", b.disk_dir) == 0)
		s->found = memory_of(s->root, s->mounts, file, s->depth + 1);
}

static const char *memory_of(const char *root, const struct mounts *mounts, const char *path, int depth)
{
	const struct mount *m = depth < DEEPEST ? mounts_of_path(root, mounts, path) : NULL;
	struct search s = { root, mounts, depth, NULL };
	dev_t node = depth ? node_rdev(root, path) : 0; /* a loop device's file may be a disk */

	if (!m || (depth && sysroot_is_real(root) && access(path, F_OK) < 0))
		return depth ? "a place that does not show" : NULL;
	if (node) {
		look_at_device(&s, node);
		return s.found;
	}
	if (str_is_one_of(m->fs_type, "tmpfs ramfs rootfs devtmpfs hugetlbfs"))
		return "memory";
	if (strcmp(m->fs_type, "overlay") == 0)
		return m->upper[0] ? memory_of(root, mounts, m->upper, depth + 1)
		                   : "an overlay whose upper folder does not show";
	mount_devices(root, m, look_at_device, &s);
	return s.found;
}

const char *memory_of_path(const char *root, const char *path)
{
	struct mounts mounts;
	const char *found;

	if (mounts_read(root, &mounts, NULL) < 0)
		return NULL;
	found = memory_of(root, &mounts, path, 0);
	mounts_done(&mounts);
	return found;
}

const char *device_memory_of(const char *path)
{
	char real[PATH_MAX];

	return realpath(path, real) ? memory_of_path("", real) : NULL;
}
