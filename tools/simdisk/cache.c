/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bookkeeping of the two caches: which sectors are in the read segments, which are dirty and have to go to the media.
 * No time here. */
#include "disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- read segments ---- */

void segment_set(struct disk *d, struct segment *s, uint64_t start, uint64_t end)
{
	d->cache.held_sectors += (end - start) - (s->end - s->start);
	s->start = start;
	s->end = end;
}

bool cache_has(struct disk *d, uint64_t first, uint64_t end, uint32_t *ret_segment)
{
	uint32_t i;

	for (i = 0; i < d->cache.nsegments; i++) {
		if (d->cache.segments[i].start <= first && end <= d->cache.segments[i].end) {
			d->cache.segments[i].used = ++d->cache.uses;
			*ret_segment = i;
			return true;
		}
	}
	return false;
}

uint32_t cache_new_segment(struct disk *d, uint64_t first)
{
	uint32_t i, oldest = 0;

	for (i = 1; i < d->cache.nsegments; i++)
		if (d->cache.segments[i].used < d->cache.segments[oldest].used)
			oldest = i;
	segment_set(d, &d->cache.segments[oldest], first, first);
	d->cache.segments[oldest].used = ++d->cache.uses;
	return oldest;
}

/* Until all have room that are in it; the stream's own is not touched. */
void cache_make_room(struct disk *d)
{
	while (d->p.cache.sizing == CACHE_BY_USE && d->cache.held_sectors > d->cache.sectors) {
		uint32_t i, oldest = UINT32_MAX;

		for (i = 0; i < d->cache.nsegments; i++)
			if (d->cache.segments[i].end > d->cache.segments[i].start && i != d->head.stream.segment &&
			    (oldest == UINT32_MAX || d->cache.segments[i].used < d->cache.segments[oldest].used))
				oldest = i;
		if (oldest == UINT32_MAX)
			return;
		segment_set(d, &d->cache.segments[oldest], 0, 0);
	}
}

void cache_drop(struct disk *d, uint32_t segment, uint64_t end)
{
	struct segment *s = &d->cache.segments[segment];

	if (s->start < end)
		segment_set(d, s, end < s->end ? end : s->end, s->end);
}

void cache_forget(struct disk *d, uint64_t first, uint64_t end)
{
	uint32_t i;

	for (i = 0; i < d->cache.nsegments; i++) {
		struct segment *s = &d->cache.segments[i];

		if (s->end <= first || end <= s->start)
			continue;
		if (d->head.stream.is_on && d->head.stream.segment == i)
			d->head.stream.is_on = false;
		/* The larger part stays. */
		if (first > s->start && first - s->start >= (end < s->end ? s->end - end : 0))
			segment_set(d, s, s->start, first);
		else if (end < s->end)
			segment_set(d, s, end, s->end);
		else
			segment_set(d, s, 0, 0);
	}
}

/* ---- dirty extents: sorted, without overlap ---- */

/* Index of the first extent that ends after lba. */
static size_t extent_after(const struct disk *d, uint64_t lba)
{
	size_t low = 0, high = d->wcache.ndirty;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (d->wcache.dirty[mid].lba + d->wcache.dirty[mid].lbas <= lba)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool cache_is_dirty(const struct disk *d, uint64_t lba, uint64_t lbas)
{
	size_t i = extent_after(d, lba);
	uint64_t end = lba + lbas;

	while (lba < end && i < d->wcache.ndirty && d->wcache.dirty[i].lba <= lba) {
		lba = d->wcache.dirty[i].lba + d->wcache.dirty[i].lbas;
		i++;
	}
	return lba >= end;
}

static int reserve(struct disk *d, size_t n)
{
	while (d->wcache.dirty_room < d->wcache.ndirty + n) {
		size_t room = d->wcache.dirty_room ? d->wcache.dirty_room * 2 : 64;
		struct extent *bigger = realloc(d->wcache.dirty, room * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		d->wcache.dirty = bigger;
		d->wcache.dirty_room = room;
	}
	return 0;
}

/* There must be room. */
static void extent_insert(struct disk *d, size_t i, struct extent e)
{
	memmove(d->wcache.dirty + i + 1, d->wcache.dirty + i, (d->wcache.ndirty - i) * sizeof(*d->wcache.dirty));
	d->wcache.dirty[i] = e;
	d->wcache.ndirty++;
	d->wcache.dirty_lbas += e.lbas;
}

/* Cuts [lba, end) out of the extents; returns the smallest seq that was cut. There must be room for one more. */
static uint64_t extents_cut(struct disk *d, uint64_t lba, uint64_t end)
{
	uint64_t seq = UINT64_MAX;
	size_t i = extent_after(d, lba), gone = 0, k;

	for (k = i; k < d->wcache.ndirty && d->wcache.dirty[k].lba < end; k++)
		if (d->wcache.dirty[k].seq < seq)
			seq = d->wcache.dirty[k].seq;
	if (i < d->wcache.ndirty && d->wcache.dirty[i].lba < lba) {
		struct extent *e = &d->wcache.dirty[i];
		uint64_t e_end = e->lba + e->lbas;

		d->wcache.dirty_lbas -= (e_end < end ? e_end : end) - lba;
		e->lbas = lba - e->lba;
		if (e_end > end) {
			struct extent rest = { .lba = end, .lbas = e_end - end, .seq = e->seq, .ready = e->ready };

			d->wcache.dirty_lbas -= rest.lbas; /* extent_insert counts it again */
			extent_insert(d, i + 1, rest);
			return seq;
		}
		i++;
	}
	for (k = i; k < d->wcache.ndirty && d->wcache.dirty[k].lba + d->wcache.dirty[k].lbas <= end; k++) {
		d->wcache.dirty_lbas -= d->wcache.dirty[k].lbas;
		gone++;
	}
	memmove(d->wcache.dirty + i, d->wcache.dirty + i + gone,
	        (d->wcache.ndirty - i - gone) * sizeof(*d->wcache.dirty));
	d->wcache.ndirty -= gone;
	if (i < d->wcache.ndirty && d->wcache.dirty[i].lba < end) {
		uint64_t cut = end - d->wcache.dirty[i].lba;

		d->wcache.dirty[i].lba += cut;
		d->wcache.dirty[i].lbas -= cut;
		d->wcache.dirty_lbas -= cut;
	}
	return seq;
}

/*
 * New data over older dirty data take over the older one's place in the order of flushes: a flush that promised the
 * older must not be over before the place is safe.
 */
int cache_add(struct disk *d, uint64_t lba, uint64_t lbas, double ready)
{
	struct extent e = { .lba = lba, .lbas = lbas, .seq = ++d->wcache.seq, .ready = ready };
	uint64_t seq;

	if (reserve(d, 2) < 0)
		return -ENOMEM;
	seq = extents_cut(d, lba, lba + lbas);
	if (seq < e.seq)
		e.seq = seq;
	extent_insert(d, extent_after(d, lba), e);
	return 0;
}

void cache_remove(struct disk *d, uint64_t lba, uint64_t lbas)
{
	if (d->wcache.ndirty && reserve(d, 1) == 0)
		(void)extents_cut(d, lba, lba + lbas);
}

uint64_t cache_oldest(const struct disk *d)
{
	uint64_t seq = UINT64_MAX;
	size_t i;

	for (i = 0; i < d->wcache.ndirty; i++)
		if (d->wcache.dirty[i].seq < seq)
			seq = d->wcache.dirty[i].seq;
	return seq;
}

/* Upwards from where the last one ended, then from the beginning again: the order of an elevator. */
bool cache_next(const struct disk *d, uint64_t *ret_lba, uint64_t *ret_lbas, double *ret_ready, struct place *ret_place)
{
	size_t i = extent_after(d, d->wcache.destage_lba);
	uint64_t lba, end, track_end;
	double ready;

	if (d->wcache.ndirty == 0)
		return false;
	if (i == d->wcache.ndirty)
		i = 0;
	lba = d->wcache.dirty[i].lba;
	ready = d->wcache.dirty[i].ready;
	geometry_place(d->g, lba / d->g->ratio, ret_place);
	track_end = (lba / d->g->ratio + ret_place->run) * d->g->ratio;
	end = lba;
	for (; i < d->wcache.ndirty && d->wcache.dirty[i].lba == end && end < track_end; i++) {
		/* What is still on its way from the host is left for the next turn. */
		if (d->wcache.dirty[i].ready > ready && d->wcache.dirty[i].ready > d->head.free_at)
			break;
		if (d->wcache.dirty[i].ready > ready)
			ready = d->wcache.dirty[i].ready;
		end += d->wcache.dirty[i].lbas;
	}
	if (end > track_end)
		end = track_end;
	*ret_lba = lba;
	*ret_lbas = end - lba;
	*ret_ready = ready;
	return true;
}
