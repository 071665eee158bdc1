/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which surface (which head reads it) the bytes of a disk are on: geometry has it in its document, and others find it
 * there. */
#pragma once

#include "device/device.h"
#include "result/result.h"

#define HEADS_MOST 32 /* no drive was ever built with more */

/* Bytes on one surface; the same comes that many times over, each every_bytes further on. What is in no row is not
 * known for certain. */
struct heads_row {
	uint64_t first_byte, length_bytes, surface, times, every_bytes;
};

extern const struct field heads_fields[];
#define HEADS_TABLE                                                 \
	{                                                           \
		"heads", "Which surface bytes are on", heads_fields \
	}

struct heads {
	struct heads_row *row; /* in order */
	size_t nrows;
	uint32_t n; /* surfaces */
};

/* From the document of a disk: -EINVAL and a sentence when it is none of geometry, of another disk, or does not show
 * it.
 */
int heads_load(struct heads *ret, const char *path, const struct device *dev, struct err *err);
void heads_done(struct heads *h);
/* The surface that all of [first, end) is on; -1: on several, or not known. */
int heads_at(const struct heads *h, uint64_t first, uint64_t end);
