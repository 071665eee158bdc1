/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: from bytes of a device to bytes of the partitions, mappings and arrays over it. */
#pragma once

#include "device/sysfs.h"

/* A part of a device that lies below a part of another one. Chunks go round: column of columns, that many copies of
 * each, that many of a row for parity. */
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
 * holds parity, of that many bytes.
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
/* All that lies over a device. What is not followed is in *ret_strange, "": nothing. */
void segments_above(const char *root, const struct sys_block *b, struct segments *ret, char *ret_strange, size_t len);
