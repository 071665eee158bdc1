/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does what lies in a folder outlast a power failure, and that of a disk? */
#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "device/memory.h"
#include "device/stack.h"
#include "device/survey.h"
#include "device/sysfs.h"

#define DEEPEST 8 /* overlays over loop devices over overlays */

static const char *memory_of(const char *path, int depth);

/* A disk that is memory, or a loop device over a file that lies in it. */
static const char *memory_of_device(dev_t rdev, int depth)
{
	struct sys_block b;
	char file[PATH_MAX];

	if (major(rdev) == 0 || sys_block_by_rdev("", rdev, &b) < 0)
		return NULL;
	if (strncmp(b.disk, "zram", 4) == 0 || strncmp(b.disk, "ram", 3) == 0)
		return "a disk of memory";
	if (sys_text("", file, sizeof(file), "%s/loop/backing_file", b.disk_dir) == 0)
		return memory_of(file, depth + 1);
	return NULL;
}

/* The upper folder of the overlay that the path lies on; false: it does not show. */
static bool upper_of(dev_t dev, char *buf, size_t len)
{
	FILE *f = sys_open("", "/proc/self/mountinfo");
	cleanup_free char *line = NULL;
	size_t room = 0;
	bool is_found = false;

	while (f && !is_found && getline(&line, &room, f) > 0) {
		unsigned maj, min;
		char *at = strstr(line, "upperdir=");

		if (!at || sscanf(line, "%*u %*u %u:%u", &maj, &min) != 2 || makedev(maj, min) != dev)
			continue;
		text_copy(buf, len, at + strlen("upperdir="));
		buf[strcspn(buf, ", \n")] = '\0';
		text_unescape(buf);
		is_found = true;
	}
	if (f)
		(void)fclose(f); /* was only read */
	return is_found;
}

static const char *memory_of(const char *path, int depth)
{
	char upper[PATH_MAX];
	struct statfs fs;
	struct stat st;

	if (depth == DEEPEST || statfs(path, &fs) < 0 || stat(path, &st) < 0)
		return depth ? "a place that does not show" : NULL;
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC)
		return "memory";
	if (fs.f_type == OVERLAYFS_SUPER_MAGIC)
		return upper_of(st.st_dev, upper, sizeof(upper)) ? memory_of(upper, depth + 1)
		                                                 : "an overlay whose upper folder does not show";
	return memory_of_device(S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev, depth);
}

const char *device_memory_of(const char *path)
{
	return memory_of(path, 0);
}

/* ---- on which disks ---- */

struct ground {
	const char *root;
	const struct stack *target;
	bool is_shared;
};

static bool has_bottom(const struct stack *s, dev_t rdev)
{
	for (size_t i = 0; i < s->n; i++)
		if ((s->v[i].rel == REL_SELF || s->v[i].is_down || s->v[i].rel == REL_GROUND ||
		     s->v[i].rel == REL_DISK) &&
		    s->v[i].b.rdev == rdev)
			return true;
	return false;
}

static int compare_ground(void *arg, dev_t rdev)
{
	struct ground *g = arg;
	struct sys_block b;
	struct stack below;

	if (sys_block_by_rdev(g->root, rdev, &b) < 0)
		return 0;
	if (stack_below(g->root, &b, &below) < 0) {
		g->is_shared = true; /* what cannot be told is taken for the worst */
		return 0;
	}
	g->is_shared = g->is_shared || has_bottom(g->target, b.disk_rdev);
	for (size_t i = 0; i < below.n; i++)
		g->is_shared = g->is_shared || (below.v[i].b.rdev && has_bottom(g->target, below.v[i].b.rdev)) ||
		               (below.v[i].b.disk_rdev && has_bottom(g->target, below.v[i].b.disk_rdev));
	stack_done(&below);
	return 0;
}

bool device_shares_disk(const char *root, const struct device *dev, const char *path)
{
	const struct mount *m;
	char real[PATH_MAX];
	struct stack target;
	struct ground g = { .root = root, .target = &target };
	struct stat st;

	if (!realpath(path, real) || stat(real, &st) < 0)
		return false; /* it cannot be written either, and that will be said in its place */
	if (stack_build(root, dev, &target, NULL, NULL) < 0)
		return true;
	if (major(st.st_dev) != 0)
		(void)compare_ground(&g, st.st_dev);
	m = mounts_of_path(root, &target.mounts, real);
	if (m)
		(void)mount_devices(root, m, compare_ground, &g);
	stack_done(&target);
	return g.is_shared;
}
