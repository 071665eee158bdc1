/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One regular file served over /dev/fuse, spoken directly: the mount point itself is the file, so there is one inode,
 * no folder and no lookup, and nobody's path walk ever waits for the server. All of the protocol's chores are done in
 * here; the caller sees reads, writes and flushes and answers them when it likes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define FUSEDEV_IO_MAX (1u << 20) /* bytes of a request at most: fs.fuse.max_pages_limit is 256 pages as shipped */

enum fusedev_op { FUSEDEV_READ, FUSEDEV_WRITE, FUSEDEV_FLUSH };

struct fusedev_buf; /* memory of one request, recycled */

struct fusedev_io {
	enum fusedev_op op;
	uint64_t unique; /* the kernel's name of the request */
	uint64_t offset_bytes;
	uint32_t len_bytes;
	void *data; /* len_bytes: what is to be written, or room for what is read */
	struct fusedev_buf *buf;
};

struct fusedev;

/* An open /dev/fuse, or negative errno and a sentence. */
int fusedev_open(struct err *err);
/*
 * Mounts the file of that connection where nobody else sees it: the calling process moves to a mount namespace of its
 * own with nothing in it but this file, which ends with the process. `path` (absolute) is how the loop driver will show
 * the file, `scratch` a folder to stand on meanwhile. Returns an O_PATH descriptor of the file, good in any namespace,
 * or negative errno and a sentence.
 */
int fusedev_mount_private(int fd, const char *path, const char *scratch, struct err *err);

/* Takes over fd. NULL: out of memory. */
struct fusedev *fusedev_new(int fd, uint64_t size_bytes, uint32_t block_bytes);
void fusedev_free(struct fusedev *dev);
int fusedev_fd(const struct fusedev *dev); /* readable: fusedev_next has something to do */

/*
 * Never waits. 1: *ret is an I/O to be answered once; 0: nothing there; -ENODEV: the file was unmounted and nobody uses
 * it any more; other negative errno: the connection is lost.
 */
int fusedev_next(struct fusedev *dev, struct fusedev_io *ret);
/* res: bytes moved (reads: of io->data) or negative errno. Gives the buffer back. A request that the kernel gave up
 * meanwhile is no error. */
void fusedev_answer(struct fusedev *dev, const struct fusedev_io *io, int32_t res);
