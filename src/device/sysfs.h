/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading sysfs and procfs below a root, so that a dump of another machine's tree replays. Used inside device/ only.
 * Whatever the kernel (or a hostile dump) holds there: text comes out short, clean and terminated.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/str.h"
#include "device/device.h"

/* The root as a prefix: "" for "/". */
const char *sysroot_of(const struct device_context *ctx);
bool sysroot_is_real(const char *root);

/*
 * First line, without blanks at the ends, unprintable bytes as '?'; whole, as a part of a name is another name. 0, or
 * negative errno with buf "".
 */
int sys_text(const char *root, char *buf, size_t len, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* A whole number as the kernel prints it (decimal or 0x); false and *ret untouched when there is none. */
bool sys_u64(const char *root, uint64_t *ret, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Raw bytes: how many, or negative errno. */
ssize_t sys_bytes(const char *root, void *buf, size_t len, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
bool sys_exists(const char *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The last part of where a link leads to; "" and false: it is none. */
bool sys_link(const char *root, char *buf, size_t len, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/*
 * Counters of /sys/block/x/stat (Documentation/admin-guide/iostats.rst of the kernel): how many of them there are.
 * Sectors of 512 bytes, times in ms.
 */
enum {
	STAT_READS,
	STAT_READ_SECTORS = 2,
	STAT_READ_MS,
	STAT_WRITES,
	STAT_WRITTEN_SECTORS = 6,
	STAT_WRITE_MS,
	STAT_IN_FLIGHT,
	STAT_BUSY_MS,
	STAT_QUEUE_MS,
	STAT_DISCARDED_SECTORS = 13,
	STAT_COUNTERS = 17
};
size_t sys_stat(const char *root, const char *dir, uint64_t ret[STAT_COUNTERS]);
FILE *sys_open(const char *root, const char *path); /* for reading line by line; NULL when there is none */

/*
 * Names in a folder, sorted, without dot files; n = 0 when there is none:
 *	for (cleanup_list struct sys_list l = sys_list(root, "%s/holders", dir); sys_next(&l);)
 *		... l.name ...
 */
struct sys_list {
	char **v;
	size_t n, at;
	const char *name;
};
struct sys_list sys_list(const char *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool sys_next(struct sys_list *l);
void sys_list_done(struct sys_list *l);
#define cleanup_list __attribute__((cleanup(sys_list_done)))

/* A block device in sysfs. */
struct sys_block {
	char dir[PATH_MAX]; /* below the root: "/sys/devices/.../block/sda/sda1" */
	char name[64];
	dev_t rdev;
	bool is_partition;
	char disk_dir[PATH_MAX]; /* of the whole disk; the same when it is one */
	char disk[64];
	dev_t disk_rdev;
};
/* link: below the root. The folder that it leads to has to be below the root, too. */
int sys_block_by_link(const char *root, const char *link, struct sys_block *ret);
int sys_block_by_rdev(const char *root, dev_t rdev, struct sys_block *ret);
int sys_block_by_name(const char *root, const char *name, struct sys_block *ret);
/* Node of a kernel name: "/dev/cciss/c0d0" for "cciss!c0d0". */
void sys_node(const char *name, char *buf, size_t len);
/* Opens a node for reading, with more flags, if it is this block device: -ENODEV: another. */
int sys_node_open(const char *node, dev_t rdev, int flags);

/* Copies and cuts; dst always ends. */
void text_copy(char *dst, size_t len, const char *src);
/* The folder that a path lies in. */
void text_folder(char *dst, size_t len, const char *path);
/* Copies n raw bytes (until a NUL), cleaned as sys_text does. false, and dst "": they do not fit. */
bool text_clean(char *dst, size_t len, const void *src, size_t n);
/* The kernel's octal escapes in mountinfo and swaps, in place. */
void text_unescape(char *s);
