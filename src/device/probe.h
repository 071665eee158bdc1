/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only. */
#ifndef PLATTER_DEVICE_PROBE_H
#define PLATTER_DEVICE_PROBE_H

#include <sys/stat.h>

#include "device/device.h"
#include "device/sysfs.h"

/* root as sysroot_of() gives it. */
int probe_path(const char *root, const char *path, struct device *ret, struct err *err);
/* A block device that sysfs knows; path: as the user gave it, NULL: its node. */
int probe_block(const char *root, const struct sys_block *b, const char *path, struct device *ret, struct err *err);

/* Thousandths of a degree Celsius by hwmon; 0: not said. dir: of the whole disk in sysfs. */
uint32_t probe_temperature(const char *root, const char *dir);

#define HEALTH_ASLEEP "the disk is in standby, and asking would wake it"
/* health.c: smartctl is a program below the root. dir: of the whole disk in sysfs. */
bool health_read(const char *root, const char *dir, const struct device *dev, bool may_wake, struct device_health *ret);

/* ---- chain.c ---- */
void chain_find(struct device *dev, const char *root, const struct sys_block *b);

/* ---- link.c ---- */
void link_find(struct device *dev, const char *root, const struct sys_block *b);

/* ---- mounts.c ---- */

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

#endif
