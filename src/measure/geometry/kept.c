/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the drive's cache keeps of single reads, as far as answers have shown it, and which sector of a gap is read next
 * so that few of those are met.
 *
 * A drive that has read a sector has, as a rule, those that pass before the next command comes. So a sector just above
 * one that was read is answered by the cache for a long time, while one below it is not: halving a gap pays for each
 * answer "low" with the reads elsewhere that it takes to make the cache forget. Where that is dear it is cheaper to
 * come down from above in small steps, as one who has few eggs finds the floor from which they break.
 */
#include <math.h>
#include <string.h>

#include "measure/geometry/geometry.h"

#define SHOWN 2 /* reads at such a distance: fewer say nothing */

static unsigned log2_of(uint64_t n)
{
	unsigned k = 0;

	while (n >>= 1)
		k++;
	return k;
}

/* How far below a sector, or above it, the nearest of those lies that the drive may still have; UINT64_MAX: there is
 * none. */
static uint64_t apart(const struct geo_kept *k, uint64_t sector, bool is_below)
{
	size_t n = k->n < GEO_RECENT ? k->n : GEO_RECENT;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = k->recent[i], d = is_below ? sector - at : at - sector;

		if ((is_below ? at <= sector : at >= sector) && d < least)
			least = d;
	}
	return least;
}

void geo_kept_read(struct geo_kept *k, uint64_t sector, bool is_hit)
{
	uint64_t above = apart(k, sector, true), d = above >> GEO_REACH ? apart(k, sector, false) : above;
	bool is_above = !(above >> GEO_REACH);

	if (d && !(d >> GEO_REACH)) {
		k->seen[is_above][log2_of(d)].reads++;
		k->seen[is_above][log2_of(d)].hits += is_hit;
	}
	if (!is_hit)
		k->recent[k->n++ % GEO_RECENT] = sector;
}

void geo_kept_forget(struct geo_kept *k)
{
	k->n = 0;
}

/* So far from a read as most sectors were in the cache. */
static uint64_t reach(const struct geo_kept *k, bool is_above)
{
	for (unsigned i = GEO_REACH; i-- > 0;)
		if (k->seen[is_above][i].reads >= SHOWN && 2 * k->seen[is_above][i].hits > k->seen[is_above][i].reads)
			return (2ull << i) - 1;
	return 0;
}

bool geo_kept_has_below(const struct geo_kept *k)
{
	return reach(k, false) > 0;
}

/*
 * One of the lower side is in the cache as soon as one below it was read, and costs to make it forget. Single steps
 * down end with the first of those; where they are more than that costs, wider ones and then single ones between two of
 * them.
 */
uint64_t geo_kept_next(const struct geo_kept *k, uint64_t in, uint64_t out, double flush)
{
	uint64_t w = out - in;

	/* What is below a sector is kept as well, or forgetting costs little: halves are as good as anything. */
	if (flush < 1.0 || reach(k, true) == 0 || geo_kept_has_below(k))
		return in + w / 2;
	return out - ((double)w <= 2.0 * flush ? 1 : (uint64_t)sqrt((double)w));
}
