/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: what tables of the device mapper say of the devices below a mapping. */
#pragma once

#include "device/spread.h"

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
