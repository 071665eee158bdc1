/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far `passes` is, by time: bytes say little when a file is written to a disk and read from memory. For its unit test. */
#ifndef PLATTER_MEASURE_PASSES_H
#define PLATTER_MEASURE_PASSES_H

#include <stdint.h>

/* Two parts, each with a rate of its own: writing, or the first pass over a file that exists; and all passes after that. */
struct passes_pace {
	uint64_t start_ns, rest_ns; /* when each began; rest_ns 0: not yet */
	uint64_t first_bytes, rest_bytes, first_done_bytes, rest_done_bytes;
	double rest_guess_bytes_per_s; /* until the rest has begun; 0: as the first part */
};

/* Elapsed by elapsed and left, each part at the rate that it had so far: 0 .. 1. */
double passes_pace_done(const struct passes_pace *p, uint64_t now_ns);

#endif
