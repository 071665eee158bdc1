/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: how stripes and arrays lay chunks out on the devices below them. */
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
