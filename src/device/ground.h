/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside device/ only. From bytes of a mounted file system to its files: extents.c; of btrfs, which has addresses of
 * its own: btrfs.c.
 */
#ifndef PLATTER_DEVICE_GROUND_H
#define PLATTER_DEVICE_GROUND_H

#include "device/mounts.h"

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
