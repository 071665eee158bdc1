/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a folder outlast a power failure? */
#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
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
