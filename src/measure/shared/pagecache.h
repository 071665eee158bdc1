/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page cache, looked at and put into a known state, per file: how much of a range is in it (cachestat(2), else
 * mincore(2)), made cold (POSIX_FADV_DONTNEED, verified), made warm (read through, verified), and what came from the
 * device while something ran. Used by the cached measurements only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "load/load.h"

struct session;

enum pagecache_method { PAGECACHE_CACHESTAT, PAGECACHE_MINCORE, PAGECACHE_NONE };

struct pagecache_state {
	uint64_t cached_bytes;
	enum pagecache_method method;
};

/* length 0: to the end of the file. 0 or negative errno; -EOPNOTSUPP when the kernel reports nothing (method is
 * PAGECACHE_NONE then). */
int pagecache_look(int fd, uint64_t offset_bytes, uint64_t length_bytes, struct pagecache_state *ret);
/* The same by one method alone: what pagecache_look() falls back on, and what tests hold against each other. */
int pagecache_look_by(enum pagecache_method method, int fd, uint64_t offset_bytes, uint64_t length_bytes,
                      struct pagecache_state *ret);
const char *pagecache_method_name(enum pagecache_method m);

/*
 * pwrite(2), and where that came back short (a full disk takes the first part) the rest, to learn why: -1 with errno
 * when that fails. Otherwise the first count: a short write is a fault even if the rest can be written.
 */
ssize_t pagecache_write(int fd, const void *buf, size_t len, uint64_t offset_bytes);

/*
 * Writes back and drops what is cached of the file; pages being written or mapped by others stay. *ret_left: bytes
 * still cached (0: verified cold; UINT64_MAX: the kernel does not show it). Negative errno when writing back failed.
 */
int pagecache_make_cold(int fd, uint64_t *ret_left_bytes);

/* Notes in the head of the document who reports what is in memory of the file. */
void pagecache_note_witness(struct session *ses, int fd);

/* Counters to be subtracted: what the process asked for and what the storage below moved for it, and for all. */
struct pagecache_traffic {
	uint64_t fetched_bytes;                       /* for this thread */
	uint64_t disk_read_bytes, disk_written_bytes; /* the disk's own counters: of everybody */
	bool has_process, has_disk;
};

/* index: which device of the session the file lies on. */
void pagecache_traffic(const struct session *ses, size_t index, struct pagecache_traffic *ret);
/*
 * A reading of what was not wholly in memory, for which the kernel has counted nothing: it counts what comes from
 * disks, not what comes from a server or a program (FUSE, 9p). has_process is false then, unless a disk stands by as
 * the other witness. cached_before: NaN, if unknown.
 */
void pagecache_doubt(struct pagecache_traffic *t, double cached_before);
/* What there is now less what there was before, for each counter, and doubted like that. */
void pagecache_traffic_since(const struct session *ses, size_t index, const struct pagecache_traffic *before,
                             double cached_before, struct pagecache_traffic *ret);

/*
 * The three witnesses of where data came from, as parts of what a program moved, shown together: the kernel's account
 * of this thread, the disk's counters (of everybody), and what was in memory before. Above 1: more was moved than was
 * asked for (small records, read-ahead, a journal). NaN: not known; by the thread's account never known for writes
 * through the page cache, which others carry out later.
 */
struct pagecache_share {
	double device_ratio, disk_ratio;
};
struct pagecache_share pagecache_share(const struct pagecache_traffic *t, uint64_t moved_bytes, bool is_write);
/* Part of a range that is in memory, 0..1; NaN when the kernel does not show it. */
double pagecache_cached_ratio(int fd, uint64_t offset_bytes, uint64_t length_bytes);
