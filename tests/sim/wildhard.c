/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Media caches on which a verdict takes long: bands of 128 to 256 MiB, maps of hundreds of thousands of entries. By its
 * seed two of three are full at the start, of blocks all over the disk or of those where smr writes.
 */
#include <math.h>

#include "base/rng.h"
#include "wildboard.h"

void wild_hard_cache(struct profile *p, uint64_t seed)
{
	struct rng own;

	rng_init(&own, seed, 0x4a4d);
	if (p->mcache.band_bytes && rng_below(&own, 3))
		p->mcache.band_bytes = (128 + rng_below(&own, 129)) << 20;
	if (p->mcache.entries && rng_below(&own, 2))
		p->mcache.entries = (uint32_t)(100000 * pow(4, rng_double(&own)));
	if (p->mcache.entries && p->mcache.bytes < (uint64_t)p->mcache.entries << 13)
		p->mcache.bytes = (uint64_t)p->mcache.entries << 13;
}
