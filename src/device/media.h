/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a file a disk really holds. Some parts are read without the disk, or from fewer of its bytes: holes,
 * extents never written, compressed ones, those in the inode and those shared within the file. Their rate is not the
 * disk's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum media_kind {
	MEDIA_DATA,      /* byte for byte on the medium */
	MEDIA_HOLE,      /* nowhere */
	MEDIA_UNWRITTEN, /* allocated, reads as zeros without being read */
	MEDIA_ENCODED,   /* compressed or encrypted: other bytes than are read */
	MEDIA_INLINE,    /* in the inode or in a block with others */
	MEDIA_TWICE,     /* shares its place with bytes of the same file before it */
	MEDIA_KINDS,
};
extern const char *const media_kind_names[MEDIA_KINDS];

/* Bytes of a range of a file, by what they are; their sum is the range. */
struct media {
	bool is_known;  /* false: the file system does not say, and all is counted as data */
	bool is_memory; /* the file system keeps its files in memory */
	uint64_t bytes[MEDIA_KINDS];
	uint64_t longest_first, longest_bytes; /* the longest stretch of data */
};

/* One extent, as FIEMAP reports it: its flags are fiemap.h's. */
struct media_extent {
	uint64_t logical, physical, bytes;
	uint32_t flags;
};
/* Each extent of the open file's bytes from first to end, in their order. flags: fiemap.h's. 0, or what FIEMAP answers.
 */
typedef void media_taker(void *arg, const struct media_extent *e);
int media_extents(int fd, uint64_t first, uint64_t end, uint32_t flags, media_taker *take, void *arg);
/* From extents in the order of the file. Pure; reorders v. */
void media_count(struct media_extent *v, size_t n, uint64_t first, uint64_t end, struct media *ret);

/* Of the open file's bytes from first to end; what is still to be written is written first. */
void media_look(int fd, uint64_t first, uint64_t end, struct media *ret);

/* "12.0 GB are holes, 1.00 GB are compressed": what is not data. Returns buf; "" where all is. */
char *media_text(const struct media *m, char *buf, size_t len);
