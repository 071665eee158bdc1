/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slots without data, and sectors that lie elsewhere: what the profile names, spare tracks, and factory and grown
 * defects strewn by the seed. Lists are sorted once; every question is a binary search, so that thousands cost no more
 * than a few.
 */
#include "geometry.h"

#include <math.h>
#include <stdlib.h>

static int skip_order(const void *a, const void *b)
{
	const struct geo_skip *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Sorts, and leaves runs that neither touch nor overlap. */
static void merge(struct geometry *g, size_t n)
{
	uint64_t before = 0;
	size_t i;

	qsort(g->skips, n, sizeof(*g->skips), skip_order);
	for (i = 0; i < n; i++) {
		struct geo_skip *last = g->nskips ? &g->skips[g->nskips - 1] : NULL, s = g->skips[i];

		if (last && s.first <= last->first + last->count) {
			if (s.first + s.count > last->first + last->count)
				last->count = s.first + s.count - last->first;
		} else {
			g->skips[g->nskips++] = s;
		}
	}
	for (i = 0; i < g->nskips; i++) {
		g->skips[i].before = before;
		before += g->skips[i].count;
	}
	g->sectors = g->slots - before;
}

/* How many runs of spare sectors the zones have. */
static uint64_t count_spares(const struct geometry *g)
{
	uint64_t n = 0;

	for (size_t i = 0; i < g->nzones; i++)
		if (g->p->zones[i].spare_tracks)
			n += g->zones[i].tracks / g->p->zones[i].spare_tracks + 1;
	return n;
}

/* The last sectors of each so many tracks of the zone, in the order of the layout, the last group may be smaller.
 * Returns how many runs. */
static size_t fill_spares(const struct geometry *g, size_t zone, struct geo_skip *ret)
{
	const struct geo_zone *z = &g->zones[zone];
	uint32_t per = g->p->zones[zone].spare_tracks, sectors = g->p->zones[zone].spare_sectors;
	uint64_t slot = z->first_slot, track, begin = slot;
	size_t n = 0;

	for (track = 1; per && sectors && track <= z->tracks; track++) {
		struct place place;

		geo_slot_place(g, slot, &place);
		slot += place.spt;
		if (track % per && track < z->tracks)
			continue;
		ret[n].count = sectors < slot - begin ? sectors : slot - begin;
		ret[n].first = slot - ret[n].count;
		n++;
		begin = slot;
	}
	return n;
}

/* The last tracks of a zone, in its order. */
static struct geo_skip spares_of(struct geometry *g, struct geo_zone *z)
{
	uint64_t at = z->first_slot + z->slots;
	uint32_t i;

	for (i = 0; i < g->p->media.spare_tracks && at > z->first_slot; i++) {
		struct place place;

		geo_slot_place(g, at - 1, &place);
		at -= place.spt;
	}
	z->first_spare = at;
	return (struct geo_skip){ .first = at, .count = z->first_slot + z->slots - at };
}

static struct geo_skip slipped(const struct geometry *g, struct rng *rng)
{
	struct geo_skip s = { .first = rng_below(rng, g->slots), .count = 1 };
	struct place place;

	if (g->p->media.slip_run >
	    1) /* the whole part of an exponential distribution is a geometric one: of the mean slip_run - 1 */
		s.count += (uint64_t)rng_exp(rng, 1 / log1p(1 / (g->p->media.slip_run - 1)));
	geo_slot_place(g, s.first, &place);
	if (s.count > place.run)
		s.count = place.run;
	return s;
}

bool defects_skip(struct geometry *g)
{
	const struct profile *p = g->p;
	size_t room = p->media.nskips + p->media.slipped + (p->media.spare_tracks ? p->nzones : 0) + count_spares(g), i,
	       n = 0;
	struct rng rng;

	if (room == 0)
		return true;
	g->skips = calloc(room, sizeof(*g->skips));
	if (!g->skips)
		return false;
	for (i = 0; i < p->media.nskips; i++) {
		const struct profile_skip *s = &p->media.skips[i];
		uint64_t slot = geo_slot_of(g, s->cylinder, s->surface, s->first);
		struct place place;

		if (slot == UINT64_MAX)
			continue; /* profile_finish has refused it */
		geo_slot_place(g, slot, &place);
		g->skips[n].first = slot;
		g->skips[n++].count = s->count < place.run ? s->count : place.run;
	}
	for (i = 0; i < g->nzones; i++)
		n += fill_spares(g, i, g->skips + n);
	for (i = 0; p->media.spare_tracks && i < p->nzones; i++)
		g->skips[n++] = spares_of(g, &g->zones[i]);
	rng_init(&rng, p->seed, 0x511b);
	for (i = 0; i < p->media.slipped; i++)
		g->skips[n++] = slipped(g, &rng);
	merge(g, n);
	return true;
}

static int remap_order(const void *a, const void *b)
{
	const struct geo_remap *x = a, *y = b;

	return (x->sector > y->sector) - (x->sector < y->sector);
}

bool defects_remap(struct geometry *g)
{
	uint64_t *used; /* of each zone's spares */
	struct rng rng;
	size_t i, n = 0;

	if (g->p->media.remapped == 0 || g->sectors == 0)
		return true;
	g->remaps = calloc(g->p->media.remapped, sizeof(*g->remaps));
	used = calloc(g->nzones, sizeof(*used));
	rng_init(&rng, g->p->seed, 0x4e3a);
	for (i = 0; g->remaps && used && i < g->p->media.remapped; i++) {
		struct geo_remap r = { .sector = rng_below(&rng, g->sectors) };
		const struct geo_zone *z = geo_zone_of_slot(g, geo_slot(g, r.sector));

		r.slot = z->first_spare + used[z - g->zones];
		if (r.slot >= z->first_slot + z->slots)
			continue; /* no spare is left there */
		used[z - g->zones]++;
		g->remaps[n++] = r;
	}
	free(used);
	if (!g->remaps)
		return false;
	qsort(g->remaps, n, sizeof(*g->remaps), remap_order);
	for (i = 0; i < n; i++) /* drawn twice: once is enough */
		if (g->nremaps == 0 || g->remaps[g->nremaps - 1].sector != g->remaps[i].sector)
			g->remaps[g->nremaps++] = g->remaps[i];
	return true;
}

size_t defects_remapped_before(const struct geometry *g, uint64_t sector)
{
	size_t low = 0, high = g->nremaps;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (g->remaps[mid].sector < sector)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
