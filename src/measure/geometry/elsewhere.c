/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads elsewhere, by which a drive's cache forgets: where they go, and how many they are. */
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/geometry.h"

#define FLUSH_MAX     1024 /* reads elsewhere: more than any cache has segments */
#define NEAR_TIMES    64   /* as far as they go down: hardly ever where one of the last is still in the cache */
#define STREAM_TRACKS 2    /* so far ahead a drive reads on instead of going there anew */
#define LESS_EVERY    6    /* leads, one of them tries whether less is enough */
#define FADE          32   /* so much less is held against it with each lead that was enough */
#define LESS_BY       5    /* part of what was too little: nearer to it nothing is tried */

/* Where reads elsewhere go: anywhere, or each so far below the one before that it waits for a part of a revolution
 * only, where reading ahead is of no use to it. How far down that may be at most depends on how long the arm takes,
 * and what a drive keeps of sectors that come by may make it useless: so all ways are tried, and the one that takes
 * least time for each read that helped is gone. */
static const double steps[] = { 0.0, 0.6, 0.7, 0.78, 0.85 }; /* of a track; the first: anywhere */
#define BY_VOLUME ARRAY_LEN(steps) /* large reads, where the cache has room for very many single ones */
_Static_assert(BY_VOLUME < GEO_STEPS, "each way has its account");

size_t geo_choose_way(const struct geo *g)
{
	size_t best = 0;

	if (g->rot.flush_bytes > g->t.block_bytes)
		return BY_VOLUME;
	if (!(g->per_track > 0.0))
		return 0;
	for (size_t i = 0; i < BY_VOLUME; i++) {
		if (g->ways.step[i].tries < GEO_TRIES)
			return i;
		if (g->ways.step[i].ns * g->ways.step[best].helped < g->ways.step[best].ns * g->ways.step[i].helped)
			best = i;
	}
	return best;
}

/* How many reads elsewhere are tried first: what was enough of late, and now and then less, down to what was not. The
 * cache of a drive has that many segments, or that many bytes, and forgets what was read longest ago. */
uint32_t geo_first_lead(struct geo *g)
{
	struct geo_way *w = &g->ways.step[geo_choose_way(g)];

	if (g->t.fua)
		return 0;
	if (!w->high)
		w->high = g->rot.flush_reads ? g->rot.flush_reads : 1;
	if (w->times++ % LESS_EVERY || w->high <= w->low + w->low / LESS_BY + 1)
		return w->high;
	return w->low + (w->high - w->low) / 2;
}

uint32_t geo_more_lead(struct geo *g, uint32_t lead)
{
	const struct geo_way *w = &g->ways.step[geo_choose_way(g)];

	if (g->t.fua)
		return 0;
	if (lead < w->high)
		return w->high;
	return lead * 2 < FLUSH_MAX ? lead * 2 : FLUSH_MAX;
}

void geo_judge_way(struct geo *g, size_t way, uint32_t lead, double ns, bool has_helped)
{
	struct geo_way *w = &g->ways.step[way];

	w->tries++;
	w->helped += has_helped;
	w->ns += ns;
	if (has_helped) {
		w->high = lead;
		w->low = w->low < lead ? w->low - w->low / FADE : lead / 2; /* chance may have made it fail */
		g->kept.n = 0;
	} else {
		w->low = lead > w->low ? lead : w->low;
		if (lead >= w->high)
			w->high = lead * 2 < FLUSH_MAX ? lead * 2 : FLUSH_MAX;
	}
}

double geo_flush_cost(const struct geo *g)
{
	size_t way = geo_choose_way(g);

	if (g->t.fua)
		return 0.0;
	if (g->ways.step[way].helped > 0.0)
		return g->ways.step[way].ns / g->ways.step[way].helped / g->rot.period_ns;
	return way == BY_VOLUME ? g->rot.forget_ns / g->rot.period_ns : g->rot.flush_reads;
}

/* Where reads begin that go down over that many bytes: near those sectors, between first and end, that the cache is to
 * forget. What is far away may be another disk, with a cache of its own, and takes long to go to. Above them, or below
 * where there is no room. */
static uint64_t begin_elsewhere(struct geo *g, uint64_t bytes, uint64_t first, uint64_t end)
{
	uint64_t block = g->t.block_bytes, above = g->t.target->size_bytes - end, room;
	bool is_above = above >= 2 * bytes;

	if (!is_above && first < 2 * bytes)
		return timed_elsewhere(&g->t, first, end);
	room = (is_above ? above : first) - bytes;
	room = rng_below(&g->t.rng, (room < NEAR_TIMES * bytes ? room : NEAR_TIMES * bytes) / block) * block;
	return is_above ? end + bytes + room : first - block - room;
}

static void aim_elsewhere(struct geo *g, size_t which, uint64_t *offsets, size_t n, uint64_t first, uint64_t end)
{
	uint64_t step = (uint64_t)(steps[which] * g->per_track) * g->t.block_bytes, at = 0;

	for (size_t i = 0; i < n; i++) {
		if (i == 0 || !step || at < step || (at - step < end && at - step + g->t.block_bytes > first))
			at = step ? begin_elsewhere(g, n * step, first, end) : timed_elsewhere(&g->t, first, end);
		else
			at -= step;
		offsets[i] = at;
	}
}

int geo_read_elsewhere(struct geo *g, size_t way, uint32_t lead, uint64_t first, uint64_t end, double *ret_ns,
                       struct err *err)
{
	cleanup_free uint64_t *offsets = xcalloc(lead, sizeof(*offsets));
	cleanup_free double *access = xcalloc(lead, sizeof(*access));
	uint64_t start_ns = session_answered_ns(g->ses);
	struct rotation rot = g->rot;
	int r;

	if (way == BY_VOLUME) {
		rot.flush_reads = lead;
		r = timed_forget(&g->t, &rot, first, end, err);
	} else {
		aim_elsewhere(g, way, offsets, lead, first, end);
		r = timed_reads(&g->t, offsets, lead, access, NULL, err);
	}
	g->cost.reads += lead;
	*ret_ns = (double)(session_answered_ns(g->ses) - start_ns);
	return r;
}

int geo_make_forget(struct geo *g, uint64_t first, uint64_t end, struct err *err)
{
	double ns;

	return g->t.fua ? 0
	                : geo_read_elsewhere(g, geo_choose_way(g), geo_first_lead(g), first * g->t.block_bytes,
	                                     end * g->t.block_bytes, &ns, err);
}

int geo_leave(struct geo *g, uint64_t sector, struct err *err)
{
	double cost = geo_flush_cost(g), ignore;
	uint64_t track = (uint64_t)fmax(1.0, g->per_track), apart = GEO_BESIDE_BYTES / g->t.block_bytes, at;

	if (cost <= GEO_DEAR || sector < g->last || sector - g->last > STREAM_TRACKS * track)
		return 0;
	apart += rng_below(&g->t.rng, (uint64_t)(NEAR_TIMES * cost) * track);
	at = (sector > apart ? sector - apart : sector + apart < g->sectors ? sector + apart : 0) * g->t.block_bytes;
	g->cost.reads++;
	return timed_reads(&g->t, &at, 1, &ignore, NULL, err);
}

/* ---- what the cache keeps ---- */

/* A drive that has read a sector has, as a rule, those that pass before the next command comes. So a sector just above
 * one that was read is answered by the cache, while one below it is not: halving a gap pays for each answer "low" with
 * what it takes to make the cache forget. Where that is dear it is cheaper to come down from above in small steps. */

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

/* So far from a read as most sectors were in the cache. */
static uint64_t reach(const struct geo_kept *k, bool is_above)
{
	for (unsigned i = GEO_REACH; i-- > 0;)
		if (k->seen[is_above][i].reads >= GEO_TWICE &&
		    2 * k->seen[is_above][i].hits > k->seen[is_above][i].reads)
			return (2ull << i) - 1;
	return 0;
}

bool geo_kept_has_below(const struct geo_kept *k)
{
	return reach(k, false) > 0;
}

/* One of the lower side is in the cache as soon as one below it was read, and costs to make it forget. Single steps
 * down end with the first of those; where they are more than that costs, wider ones and then single ones between two
 * of them. */
uint64_t geo_kept_next(const struct geo_kept *k, uint64_t in, uint64_t out, double flush)
{
	uint64_t w = out - in;

	/* What is below a sector is kept as well, or forgetting costs little: halves are as good as anything. */
	if (flush < 1.0 || reach(k, true) == 0 || geo_kept_has_below(k))
		return in + w / 2;
	return out - ((double)w <= 2.0 * flush ? 1 : (uint64_t)sqrt((double)w));
}
