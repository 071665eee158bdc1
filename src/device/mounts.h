/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: mounted file systems, and nodes of devices. */
#pragma once

#include "device/sysfs.h"

struct mount {
	int id;
	dev_t dev; /* as stat shows it; major 0: no block device of its own */
	char fs_type[32], source[256], where[256];
	char root[256];             /* the folder of the file system that is seen there */
	char upper[256];            /* overlay: the folder that takes the writes */
	bool is_hiding, is_partial; /* proc: hidepid, subset=pid */
	char beside[2][128];        /* XFS: the devices of its log and of its realtime files */
};
struct mounts {
	struct mount *v;
	size_t n;
};
/* Of this process, and of process 1 when that lives in another name space. */
int mounts_read(const char *root, struct mounts *ret, struct err *err);
void mounts_done(struct mounts *m);
/* The mount that a path lies on: by mount id, else by the longest mount point. NULL when unknown. */
const struct mount *mounts_of_path(const char *root, const struct mounts *m, const char *path);
/* The block device that a mounted file system lies on (the first, of several); 0: none known. */
dev_t mount_rdev(const char *root, const struct mount *m);
/* Number of the block device that a path names; 0 when it is none. */
dev_t node_rdev(const char *root, const char *path);
