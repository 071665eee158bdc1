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
	d->cached_sectors += (end - start) - (s->end - s->start);
	s->start = start;
	s->end = end;
}

bool cache_has(struct disk *d, uint64_t first, uint64_t end, uint32_t *ret_segment)
{
	uint32_t i;

	for (i = 0; i < d->nsegments; i++) {
		if (d->segments[i].start <= first && end <= d->segments[i].end) {
			d->segments[i].used = ++d->uses;
			*ret_segment = i;
			return true;
		}
	}
	return false;
}

uint32_t cache_new_segment(struct disk *d, uint64_t first)
{
	uint32_t i, oldest = 0;

	for (i = 1; i < d->nsegments; i++)
		if (d->segments[i].used < d->segments[oldest].used)
			oldest = i;
	segment_set(d, &d->segments[oldest], first, first);
	d->segments[oldest].used = ++d->uses;
	return oldest;
}

/* Until all have room that are in it; the stream's own is not touched. */
void cache_make_room(struct disk *d)
{
	while (d->p.cache.sizing == CACHE_BY_USE && d->cached_sectors > d->cache_sectors) {
		uint32_t i, oldest = UINT32_MAX;

		for (i = 0; i < d->nsegments; i++)
			if (d->segments[i].end > d->segments[i].start && i != d->stream.segment &&
			    (oldest == UINT32_MAX || d->segments[i].used < d->segments[oldest].used))
				oldest = i;
		if (oldest == UINT32_MAX)
			return;
		segment_set(d, &d->segments[oldest], 0, 0);
	}
}

void cache_drop(struct disk *d, uint32_t segment, uint64_t end)
{
	struct segment *s = &d->segments[segment];

	if (s->start < end)
		segment_set(d, s, end < s->end ? end : s->end, s->end);
}

void cache_forget(struct disk *d, uint64_t first, uint64_t end)
{
	uint32_t i;

	for (i = 0; i < d->nsegments; i++) {
		struct segment *s = &d->segments[i];

		if (s->end <= first || end <= s->start)
			continue;
		if (d->stream.is_on && d->stream.segment == i)
			d->stream.is_on = false;
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
	size_t low = 0, high = d->ndirty;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (d->dirty[mid].lba + d->dirty[mid].lbas <= lba)
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

	while (lba < end && i < d->ndirty && d->dirty[i].lba <= lba) {
		lba = d->dirty[i].lba + d->dirty[i].lbas;
		i++;
	}
	return lba >= end;
}

static int reserve(struct disk *d, size_t n)
{
	while (d->dirty_room < d->ndirty + n) {
		size_t room = d->dirty_room ? d->dirty_room * 2 : 64;
		struct extent *bigger = realloc(d->dirty, room * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		d->dirty = bigger;
		d->dirty_room = room;
	}
	return 0;
}

/* There must be room. */
static void extent_insert(struct disk *d, size_t i, struct extent e)
{
	memmove(d->dirty + i + 1, d->dirty + i, (d->ndirty - i) * sizeof(*d->dirty));
	d->dirty[i] = e;
	d->ndirty++;
	d->dirty_lbas += e.lbas;
}

/* Cuts [lba, end) out of the extents; returns the smallest seq that was cut. There must be room for one more. */
static uint64_t extents_cut(struct disk *d, uint64_t lba, uint64_t end)
{
	uint64_t seq = UINT64_MAX;
	size_t i = extent_after(d, lba), gone = 0, k;

	for (k = i; k < d->ndirty && d->dirty[k].lba < end; k++)
		if (d->dirty[k].seq < seq)
			seq = d->dirty[k].seq;
	if (i < d->ndirty && d->dirty[i].lba < lba) {
		struct extent *e = &d->dirty[i];
		uint64_t e_end = e->lba + e->lbas;

		d->dirty_lbas -= (e_end < end ? e_end : end) - lba;
		e->lbas = lba - e->lba;
		if (e_end > end) {
			struct extent rest = { .lba = end, .lbas = e_end - end, .seq = e->seq, .ready = e->ready };

			d->dirty_lbas -= rest.lbas; /* extent_insert counts it again */
			extent_insert(d, i + 1, rest);
			return seq;
		}
		i++;
	}
	for (k = i; k < d->ndirty && d->dirty[k].lba + d->dirty[k].lbas <= end; k++) {
		d->dirty_lbas -= d->dirty[k].lbas;
		gone++;
	}
	memmove(d->dirty + i, d->dirty + i + gone, (d->ndirty - i - gone) * sizeof(*d->dirty));
	d->ndirty -= gone;
	if (i < d->ndirty && d->dirty[i].lba < end) {
		uint64_t cut = end - d->dirty[i].lba;

		d->dirty[i].lba += cut;
		d->dirty[i].lbas -= cut;
		d->dirty_lbas -= cut;
	}
	return seq;
}

/*
 * New data over older dirty data take over the older one's place in the order of flushes: a flush that promised the
 * older must not be over before the place is safe.
 */
int cache_add(struct disk *d, uint64_t lba, uint64_t lbas, double ready)
{
	struct extent e = { .lba = lba, .lbas = lbas, .seq = ++d->write_seq, .ready = ready };
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
	if (d->ndirty && reserve(d, 1) == 0)
		(void)extents_cut(d, lba, lba + lbas);
}

uint64_t cache_oldest(const struct disk *d)
{
	uint64_t seq = UINT64_MAX;
	size_t i;

	for (i = 0; i < d->ndirty; i++)
		if (d->dirty[i].seq < seq)
			seq = d->dirty[i].seq;
	return seq;
}

/* Upwards from where the last one ended, then from the beginning again: the order of an elevator. */
bool cache_next(const struct disk *d, uint64_t *ret_lba, uint64_t *ret_lbas, double *ret_ready, struct place *ret_place)
{
	size_t i = extent_after(d, d->destage_lba);
	uint64_t lba, end, track_end;
	double ready;

	if (d->ndirty == 0)
		return false;
	if (i == d->ndirty)
		i = 0;
	lba = d->dirty[i].lba;
	ready = d->dirty[i].ready;
	geometry_place(d->g, lba / d->g->ratio, ret_place);
	track_end = (lba / d->g->ratio + ret_place->run) * d->g->ratio;
	end = lba;
	for (; i < d->ndirty && d->dirty[i].lba == end && end < track_end; i++) {
		/* What is still on its way from the host is left for the next turn. */
		if (d->dirty[i].ready > ready && d->dirty[i].ready > d->mech_free)
			break;
		if (d->dirty[i].ready > ready)
			ready = d->dirty[i].ready;
		end += d->dirty[i].lbas;
	}
	if (end > track_end)
		end = track_end;
	*ret_lba = lba;
	*ret_lbas = end - lba;
	*ret_ready = ready;
	return true;
}
