/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of `passes` is arithmetic, for its unit test: how far it is, by time (bytes say little when a file is written to a disk and read from memory). */
#ifndef PLATTER_MEASURE_PASSES_H
#define PLATTER_MEASURE_PASSES_H

#include <stddef.h>
#include <stdint.h>

/* Two parts, each with a rate of its own: writing, or the first pass over a file that exists; and all passes after that. */
struct passes_pace {
	uint64_t start_ns, rest_ns; /* when each began; rest_ns 0: not yet */
	uint64_t first_bytes, rest_bytes, first_done_bytes, rest_done_bytes;
	double rest_guess_bytes_per_s; /* until the rest has begun; 0: as the first part */
};

/* Elapsed by elapsed and left, each part at the rate that it had so far: 0 .. 1. */
double passes_pace_done(const struct passes_pace *p, uint64_t now_ns);

/* A pass over one of several files. */
struct passes_span {
	size_t file;
	double start_s, end_s, bytes;
};
/*
 * Bytes per second of all nfiles files together, while all of them were being read: from the latest first start to the earliest last end, of passes that
 * lie partly in it their part. NaN: there was no such time.
 */
double passes_common_rate(const struct passes_span *v, size_t n, size_t nfiles);

#endif
