/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop device over a file, made with the driver's own ioctls. Other programs use loop devices at the same time, so no
 * number is ever assumed: the driver names a free one, and when somebody else is faster the next is tried.
 *
 * The device clears itself when the last opener goes (LO_FLAGS_AUTOCLEAR), and its partitions with it
 * (LO_FLAGS_PARTSCAN): whatever ends the process that holds it open, even SIGKILL, nothing stays behind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define BLOCKDEV_PARTITIONS_MAX 15

struct blockdev_span {
	uint64_t offset_bytes, len_bytes;
};

struct blockdev_params {
	uint32_t sector_bytes; /* logical block: 512 or 4096 */
	bool is_read_only, is_rotational;
	uint32_t max_sectors_kb; /* requests are cut at this */
	const char *label;       /* what the driver keeps as the file's name (63 bytes) */
};

struct blockdev_attr {
	const char *name;
	uint64_t value;
};

struct blockdev {
	int fd; /* held open: the device lives as long as this */
	unsigned number;
	char path[32];     /* /dev/loop3 */
	char backing[320]; /* the file's path as the driver shows it */
	unsigned npartitions;
	struct blockdev_attr old[4]; /* queue attributes to be put back: they stay with the number, not with the file */
	unsigned nold;
};

/* Sets a free loop device up over file_fd. 0, or negative errno and a sentence. */
int blockdev_attach(struct blockdev *ret, int file_fd, const struct blockdev_params *params, struct err *err);
/* Partition number 1, 2, ... */
int blockdev_add_partition(struct blockdev *dev, const struct blockdev_span *span, struct err *err);
/* As when a drive is pulled: the size becomes 0. */
void blockdev_pull(struct blockdev *dev);
/* Mounted, a swap, or held by another device: somebody has it or a partition of it for himself. */
bool blockdev_is_claimed(const char *path, unsigned npartitions);
/* Takes partitions away, clears, closes. Waits up to wait_ms for it. false: others still have it open; it goes when
 * they close it. */
bool blockdev_detach(struct blockdev *dev, unsigned wait_ms);
