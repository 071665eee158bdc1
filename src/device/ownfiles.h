/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that platter makes itself; device.h has it as well. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct device;
struct write_permit;

/*
 * Every such file begins with a header of DATAFILE_HEADER_BYTES, by which it is known again; data begin at
 * DATAFILE_DATA_OFFSET, so that they may be written without end and the file stays recognisable. What lies between is a
 * hole. The offset is a multiple of any record and of the page cache's largest folio: right behind a header of 4 KiB,
 * records of 16 KiB straddle folios and take a third longer to write (Linux 6.18, ext4). What exists already is never
 * overwritten unless it has the header and DATAFILE_REUSE is given. Symbolic links are not followed. A file is removed
 * by datafile_close() unless DATAFILE_KEEP; a program that has to die on the spot calls datafile_remove_all().
 */
#define DATAFILE_HEADER_BYTES 4096
#define DATAFILE_DATA_OFFSET  (2 << 20)

enum datafile_flags {
	DATAFILE_ANONYMOUS = 1, /* never has a name (O_TMPFILE): gone whatever happens; path is its folder */
	DATAFILE_KEEP = 2,      /* stays when closed */
	DATAFILE_REUSE = 4,     /* an existing file of ours is taken with its contents; others are refused */
	DATAFILE_ALLOCATE = 8,  /* blocks for the data are reserved now */
};

struct datafile;

/* data_bytes: what will be written from DATAFILE_DATA_OFFSET on; -ENOSPC unless it fits and the reserve stays free.
 * -EEXIST: not ours. */
int datafile_create(struct datafile **ret, const char *path, uint64_t data_bytes, unsigned flags, struct err *err);
/* Closes; removes the file unless it is to be kept. NULL is fine. */
void datafile_close(struct datafile *df);
/* A further descriptor, O_RDWR, direct or cached; close() it. -EOPNOTSUPP: the file system takes no direct I/O. */
int datafile_open(const struct datafile *df, bool is_direct, struct err *err);
/* Back to the header alone, blocks given back: the next write extends the file again. */
int datafile_reset(struct datafile *df, struct err *err);
/* Ends behind that many bytes of data, the rest of what was reserved given back; of none, it goes when it is closed. */
int datafile_cut(struct datafile *df, uint64_t data_bytes);
const struct write_permit *datafile_permit(const struct datafile *df);

/* Is that a file with our header (and no symbolic link)? */
bool datafile_is_ours(const char *path);
/* Where the data of a target begin: DATAFILE_DATA_OFFSET in a file of ours, 0 in all others and in block devices. */
uint64_t datafile_first_byte(const struct device *dev);
/*
 * Where they end. In a file of ours that a killed run left, before what was reserved and never written (it reads as
 * zeros, which no data of ours do: 4 KiB of them are looked for); in all others where the target does.
 */
uint64_t datafile_end_byte(const struct device *dev);
/* "DIR/platter-TAG-PID-N.data": names that do not collide with those of other copies of the program. -ENAMETOOLONG. */
int datafile_name(char *buf, size_t len, const char *dir, const char *tag, unsigned n);
/* -ENOSPC: 5 % of the file system, or 1 GiB, would not stay free. Of a file that is there: -EEXIST where not ours. */
int datafile_check_space(const char *path, uint64_t bytes, struct err *err);
int datafile_check(const struct device *dev, uint64_t bytes, struct err *err);
/*
 * Removes all named files of this process that are not to be kept. Async-signal-safe: for handlers of signals that end
 * the program without unwinding. Their list is the one mutable global of this layer.
 */
void datafile_remove_all(void);
