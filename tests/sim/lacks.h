/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row of geometry's table `defects` against the disk. */
#pragma once

#include "model.h"

/* Why it is false; NULL: it is true. first_byte, missing, surface (NaN: not reported) and kind as they stand in the
 * row. */
const char *lacks_wrong(const struct geometry *g, double first_byte, double missing, double surface, const char *kind);

/* Tracks that lack sectors, and tracks without data between others of their zone, in [0, end). */
struct lacks {
	uint64_t tracks, empty;
};
struct lacks lacks_count(const struct geometry *g, uint64_t end_byte);
