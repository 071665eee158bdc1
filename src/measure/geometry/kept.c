/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the drive's cache keeps of single reads, as far as answers have shown it, and which sector of a gap is read next
 * so that few of those are met.
 *
 * A drive that has read a sector has, as a rule, those that pass before the next command comes. So a sector just above
 * one that was read is answered by the cache for a long time, while one below it is not: halving a gap pays for each
 * answer "low" with the reads elsewhere that it takes to make the cache forget. Where that is dear it is cheaper to
 * come down from above in small steps, as one who has few eggs finds the floor from which they break: the steps that
 * cost least in the mean are computed for each width of the gap (Bellman 1957).
 */
#include <math.h>
#include <string.h>

#include "measure/geometry/geometry.h"

#define LEAVE 1.0 /* read elsewhere, before the next above */
#define SHOWN 2   /* reads at such a distance: fewer say nothing */

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
 * The cheapest sector of a gap of w to be read next, up to the end-th from above, and what it costs in all: behind it
 * is either what rest[] tells of the gap below, or what kept[] tells of the one above, into which the drive has read
 * ahead.
 */
static uint64_t cheapest(const double *rest, const double *kept, uint64_t w, uint64_t end, double *cost)
{
	uint64_t step = 0;

	for (uint64_t m = 1; m < end; m++) {
		double now = 1.0 + ((double)(w - m) * rest[w - m] + (double)m * (kept[m] + LEAVE)) / (double)w;

		if (now < *cost) {
			*cost = now;
			step = m;
		}
	}
	return step;
}

/*
 * The least that it costs, in reads, to find where in a gap of w sectors the edge is: open[w] where the cache has none
 * of it, kept[w] where it has the `ahead` lowest ones; and the sector, counted from the upper end, that is to be read
 * next.
 */
static void plan(struct geo_kept *k, uint64_t ahead, double flush)
{
	double open[GEO_GAP + 1], kept[GEO_GAP + 1];

	k->ahead = ahead;
	k->flush = flush;
	open[0] = kept[0] = open[1] = kept[1] = 0.0;
	for (uint64_t w = 2; w <= GEO_GAP; w++) {
		uint64_t step, kept_step;

		open[w] = INFINITY;
		step = cheapest(open, kept, w, w, &open[w]);
		kept[w] = flush + open[w]; /* forgotten first, unless it is cheaper to read what the cache has not */
		kept_step = cheapest(kept, kept, w, w > ahead ? w - ahead : 0, &kept[w]);
		k->open_step[w] = (uint16_t)step;
		k->kept_step[w] = (uint16_t)(kept_step ? kept_step : step);
	}
}

uint64_t geo_kept_next(struct geo_kept *k, uint64_t in, uint64_t out, double flush)
{
	uint64_t w = out - in, ahead = reach(k, true), above;
	bool is_kept;

	/* What is below a sector is kept as well, or forgetting costs little: halves are as good as anything. */
	if (w > GEO_GAP || ahead == 0 || flush < 1.0 || geo_kept_has_below(k))
		return in + w / 2;
	flush = exp2(round(log2(flush)));
	if (ahead != k->ahead || flush != k->flush)
		plan(k, ahead, flush);
	above = apart(k, out - 1, true);
	is_kept = above < w - 1 + ahead; /* from below the gap's lowest, or out of it */
	return out - (is_kept ? k->kept_step[w] : k->open_step[w]);
}
