/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A device without mechanics: an SSD, a cloud's volume. Requests are cut at stripes over channels that work in
 * parallel. */
#include "disk.h"

#include <errno.h>

void flat_admit(struct disk *d, struct node *n, double t)
{
	bool is_write = n->req.op == DISK_WRITE;
	double median_us = is_write ? d->p.ssd.write_latency_us : d->p.ssd.read_latency_us, end = t;
	uint64_t at = n->lba * d->p.logical_sector_bytes, stop = at + (uint64_t)n->res;

	if (is_write && d->p.wcache.bytes && cache_add(d, n->lba, n->lbas, t) < 0) {
		disk_finish(d, n, t, -ENOMEM, HOW_NONE);
		return;
	}
	while (at < stop) {
		double *free_at = &d->flash.channel_free[at / d->p.ssd.stripe_bytes % d->p.ssd.channels];
		uint64_t left = d->p.ssd.stripe_bytes - at % d->p.ssd.stripe_bytes,
			 k = stop - at < left ? stop - at : left;

		*free_at = stall_skip(d, fmax(*free_at, t)) + noise_flat_ns(d, median_us) +
		           (double)k * 1e9 / d->p.ssd.channel_bytes_per_s;
		end = fmax(end, *free_at);
		at += k;
	}
	end = fmax(end, flash_pass(d, t, (uint64_t)n->res, is_write));
	disk_finish(d, n, fmax(end, disk_bus(d, t, (uint64_t)n->res)), n->res,
	            is_write && d->p.wcache.bytes ? HOW_CACHED : HOW_MEDIA);
	while (d->wcache.dirty_lbas * d->p.logical_sector_bytes >
	       d->p.wcache.bytes) { /* contents only: takes no time */
		(void)contents_destage(&d->contents, d->wcache.dirty[0].lba, d->wcache.dirty[0].lbas);
		cache_remove(d, d->wcache.dirty[0].lba, d->wcache.dirty[0].lbas);
	}
}

void flat_flush(struct disk *d)
{
	while (d->wcache.ndirty) {
		(void)contents_destage(&d->contents, d->wcache.dirty[d->wcache.ndirty - 1].lba,
		                       d->wcache.dirty[d->wcache.ndirty - 1].lbas);
		d->wcache.dirty_lbas -= d->wcache.dirty[--d->wcache.ndirty].lbas;
	}
}
