/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is a rate in sequence the medium's, or what the link lets through? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "result/result.h"

/*
 * The rate of a stream is so near that of the link, or from the drive's buffer, that it may be the limit; or so far
 * that it is not. Neither: one is not known. The latter rate is free of what each request costs, a stream's is not, and
 * a drive whose buffer is full loses revolutions: bridges that take one request at a time gave 0.83 to 0.89 of it in
 * requests of 64 KiB to 1 MiB (trial).
 */
#define LINK_NEAR 0.83
static inline bool link_is_near(double rate_bytes_per_s, double link_bytes_per_s)
{
	return rate_bytes_per_s >= LINK_NEAR * link_bytes_per_s;
}
static inline bool link_is_far(double rate_bytes_per_s, double link_bytes_per_s)
{
	return rate_bytes_per_s < LINK_NEAR * link_bytes_per_s;
}
/*
 * The notice of that, of a disk that turns. link: as the drive's buffer was read; NaN: what the kernel reports of it,
 * if it does. request: of the stream.
 */
void link_say(struct result *res, const struct device *dev, double link_bytes_per_s, double rate_bytes_per_s,
              uint64_t request_bytes);
/* The same by what large requests gave in the same zone, where that is another rate: each request costs time there. */
void link_say_by_size(struct result *res, const struct device *dev, double large_bytes_per_s, double rate_bytes_per_s,
                      uint64_t request_bytes);
