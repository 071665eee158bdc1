/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The write cache at work: what it takes, when flushes are over, and how it is emptied. Which sectors are dirty is
 * cache.c's.
 *
 * All that is written to the media goes through writecache_destage() or, without the cache, start() in disk.c; where a
 * disk writes elsewhere first (mediacache.c), it does so there.
 */
#include "disk.h"

#include <errno.h>

uint64_t writecache_lbas(const struct disk *d)
{
	return d->p.wcache.is_on ? d->p.wcache.bytes / d->p.logical_sector_bytes : 0;
}

bool writecache_has_room(const struct disk *d, const struct node *n)
{
	/* Of the whole cache also when it was switched off meanwhile: those that wait were taken before. */
	return d->wcache.dirty_lbas + d->wcache.in_destage_lbas + n->lbas <=
	       d->p.wcache.bytes / d->p.logical_sector_bytes;
}

void writecache_write(struct disk *d, struct node *n, double t)
{
	double end = disk_bus(d, fmax(t, stall_skip(d, n->eligible)), (uint64_t)n->res);

	if (d->wcache.ndirty == 0)
		d->wcache.dirty_since = t;
	if (cache_add(d, n->lba, n->lbas, end) < 0) {
		disk_finish(d, n, end, -ENOMEM, HOW_NONE);
		return;
	}
	if ((double)d->wcache.dirty_lbas >= d->p.wcache.start * (double)writecache_lbas(d))
		d->wcache.is_emptying = true;
	disk_finish(d, n, end, n->res, HOW_CACHED);
}

void writecache_flush(struct disk *d, struct node *n, double t)
{
	if (d->p.kind == DISK_SSD) {
		if (!d->p.wcache.is_flush_ignored)
			flat_flush(d);
		disk_finish(d, n, stall_skip(d, t) + noise_flat_ns(d, d->p.ssd.flush_latency_us), 0, HOW_NONE);
	} else if (d->p.wcache.is_flush_ignored || (d->wcache.ndirty == 0 && !d->wcache.is_destaging)) {
		disk_finish(d, n, stall_skip(d, t) + noise_hit_ns(d), 0, HOW_NONE);
	} else {
		n->flush_seq = d->wcache.seq;
		d->wcache.is_emptying = true;
		disk_list_add(&d->queue.wait_flush, n);
	}
}

void writecache_destage(struct disk *d, double t, uint64_t lba, uint64_t lbas, const struct place *place)
{
	uint64_t ratio = d->g->ratio, first = lba / ratio, end = (lba + lbas + ratio - 1) / ratio;
	bool is_partial = lba % ratio != 0 || ((lba + lbas) % ratio != 0 && lba + lbas != d->g->lbas);
	struct media_op op;

	cache_remove(d, lba, lbas);
	(void)contents_destage(&d->contents, lba, lbas); /* an error of the store: the write was answered long ago */
	(d->mcache ? mediacache_write : media_write)(d, t, place, first, end, is_partial, &op);
	d->count.media_written_bytes += (end - first) * d->p.physical_sector_bytes;
	d->head.free_at = op.end;
	d->wcache.destage_lba = lba + lbas;
	d->wcache.in_destage_lbas = lbas;
	d->wcache.is_destaging = true;
}

void disk_destaged(struct disk *d, double t)
{
	uint64_t oldest;

	d->wcache.is_destaging = false;
	d->wcache.in_destage_lbas = 0;
	if (d->wcache.ndirty == 0)
		d->wcache.is_emptying = false;
	while (d->queue.wait_room.head && writecache_has_room(d, d->queue.wait_room.head))
		writecache_write(d, disk_list_take(&d->queue.wait_room, &d->queue.wait_room.head), t);
	if (d->queue.wait_room.head)
		d->wcache.is_emptying = true;
	if (!d->queue.wait_flush.head)
		return;
	oldest = cache_oldest(d);
	while (d->queue.wait_flush.head && d->queue.wait_flush.head->flush_seq < oldest)
		disk_finish(d, disk_list_take(&d->queue.wait_flush, &d->queue.wait_flush.head), t, 0, HOW_NONE);
	if (d->queue.wait_flush.head)
		d->wcache.is_emptying = true;
}
