/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: how mappings and arrays lay bytes out on the devices below them. */
#pragma once

#include "device/sysfs.h"

/* Chunks go round: column of columns, that many copies of each, that many of a row for parity. */
struct spread {
	uint64_t chunk_bytes; /* 0: one byte stays beside the other */
	uint32_t columns, column, copies;
	enum parity { PARITY_NONE, PARITY_LAST, PARITY_LEFT, PARITY_LEFT_TWO } parity;
};

/*
 * The upper byte of a lower one, both from where data begin, and how many bytes from there on are neighbours on both.
 * False: it holds parity, of that many bytes.
 */
bool spread_up(const struct spread *s, uint64_t lower, uint64_t *ret_upper, uint64_t *ret_bytes);
/*
 * Of a member (by its kernel name) of the array of md in this folder of sysfs: where its data begin, and how many.
 * False: another kind of device, or a layout that is not followed.
 */
bool spread_of_md(const char *root, const char *dir, const char *member, struct spread *ret, uint64_t *ret_first,
                  uint64_t *ret_bytes);

/* Bytes of a lower device that are part of an upper one; as many of both: byte by byte, else by chunks. */
struct segment {
	uint64_t lower_first, lower_bytes, upper_first, upper_bytes;
	struct spread spread;
};
struct segments {
	struct segment *v;
	size_t n;
};
/* A line of a table: adds what of it lies on the device lower. False: a kind of target that is not followed. */
bool segments_of_dm(struct segments *ret, const char *type, const char *params, uint64_t first_sector, uint64_t sectors,
                    dev_t lower);
/* The lines of a mapping's table. 0, or negative errno: it could not be read. */
typedef void dm_line_taker(void *arg, uint64_t first_sector, uint64_t sectors, const char *type, const char *params);
int dm_table(const char *root, const struct sys_block *b, dm_line_taker *take, void *arg);
