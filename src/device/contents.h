/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside device/ only: what lies at places of a disk. above.c: from bytes of a device to bytes of the partitions,
 * mappings and arrays over it; extents.c: from bytes of a mounted file system to its files; btrfs.c: the same of btrfs,
 * which has addresses of its own; contents.c: one after the other.
 */
#ifndef PLATTER_DEVICE_CONTENTS_H
#define PLATTER_DEVICE_CONTENTS_H

#include "device/probe.h"
#include "device/sysfs.h"

/* ---- above.c ---- */

/* A part of a device that lies below a part of another one. Chunks go round: column of columns, so many copies of each,
 * so many of a row for parity. */
struct segment {
	char name[64];   /* the upper device's kernel name */
	char label[128]; /* as people know it: "sda2", "vg-home" */
	uint64_t lower_first, bytes, upper_first;
	uint64_t chunk_bytes; /* 0: one stays beside the other */
	uint32_t columns, column, copies;
	enum parity { PARITY_NONE, PARITY_LAST, PARITY_LEFT, PARITY_LEFT_TWO } parity;
};
struct segments {
	struct segment *v;
	size_t n;
};
/*
 * The upper byte of a lower one within the segment, and how many bytes from there on are neighbours on both. False: it
 * holds parity, of so many bytes.
 */
bool segment_up(const struct segment *s, uint64_t lower, uint64_t *ret_upper, uint64_t *ret_bytes);
/*
 * A line of a device mapper's table: the segments of it that lie on the device maj:min are added, named and labelled as
 * *upper is. False: a kind of target that is not followed.
 */
bool segments_of_dm(struct segments *ret, const struct segment *upper, const char *type, const char *params,
                    uint64_t first_sector, uint64_t sectors, dev_t lower);
/* The lines of a mapping's table. 0, or negative errno: it could not be read. */
typedef void dm_line_taker(void *arg, uint64_t first_sector, uint64_t sectors, const char *type, const char *params);
int dm_table(const char *root, const struct sys_block *b, dm_line_taker *take, void *arg);
/* All that lies over a device. What is not followed is in *ret_strange, "": nothing. 0, or -ENOMEM. */
int segments_above(const char *root, const struct sys_block *b, struct segments *ret, char *ret_strange, size_t len);

/* ---- contents.c ---- */

int content_find(const char *root, const struct device *dev, const struct content_question *q, struct contents *ret,
                 struct err *err);

/* ---- ground.c: what the others work on ---- */

struct piece { /* bytes of a device, and what the first is on the device that was asked about */
	uint64_t first, end, origin;
	bool is_known;
};
/* A mounted file system and pieces of its device. */
struct ground {
	char name[64], on[160], fs_type[32], where[256];
	dev_t rdev;
	struct piece *v;
	size_t n;
};
/* Adds what lies from first to end of the piece; template: kind, path (copied), file_bytes that belong to first. */
int content_list_add(struct contents *c, const struct ground *g, const struct piece *p, uint64_t first, uint64_t end,
                     enum content_kind kind, const char *path, uint64_t file_bytes);

/* ---- extents.c, btrfs.c: marks the pieces that it can tell about as known. 0, or -ENOMEM ---- */

/* g->where is where it is mounted. */
int extents_find(const struct content_question *q, struct ground *g, struct contents *c);
/* Looks for the mount itself, as a btrfs may have several devices; g->fs_type is set when there is one. */
int btrfs_find(const struct content_question *q, const struct mounts *mounts, struct ground *g, struct contents *c);

struct btrfs_chunk_place { /* of a chunk's stripes, the one in question */
	uint64_t logical, stripe_bytes, type;
	uint32_t stripes, sub_stripes, index;
};
/* Logical byte of a byte within the stripe; how many follow it. False: not told (RAID 5 and 6). */
bool btrfs_logical(const struct btrfs_chunk_place *c, uint64_t within, uint64_t *ret_logical, uint64_t *ret_bytes);

#endif
