/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds no data: trimmed ranges of a disk, the unwritten part of a thin volume. Zeros, at the speed of the
 * electronics, until it is written. Ranges are sorted and do not overlap.
 */
#include "disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first range that ends after lba. */
static size_t range_after(const struct disk *d, uint64_t lba)
{
	size_t low = 0, high = d->media.ntrims;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (d->media.trims[mid].lba + d->media.trims[mid].count <= lba)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool trim_covers(const struct disk *d, uint64_t lba, uint64_t lbas)
{
	size_t i = range_after(d, lba);

	return lbas && i < d->media.ntrims && d->media.trims[i].lba <= lba &&
	       lba + lbas <= d->media.trims[i].lba + d->media.trims[i].count;
}

void trim_zero(const struct disk *d, uint64_t lba, uint64_t lbas, void *buf)
{
	uint64_t size = d->p.logical_sector_bytes, end = lba + lbas;
	size_t i;

	for (i = range_after(d, lba); i < d->media.ntrims && d->media.trims[i].lba < end; i++) {
		uint64_t from = d->media.trims[i].lba > lba ? d->media.trims[i].lba : lba,
			 to = d->media.trims[i].lba + d->media.trims[i].count;

		to = to < end ? to : end;
		memset((char *)buf + (from - lba) * size, 0, (to - from) * size);
	}
}

int trim_written(struct disk *d, uint64_t lba, uint64_t lbas)
{
	uint64_t end = lba + lbas;
	size_t i = range_after(d, lba);

	while (i < d->media.ntrims && d->media.trims[i].lba < end) {
		struct profile_range *r = &d->media.trims[i], rest = { .lba = end, .count = r->lba + r->count - end };
		bool has_rest = r->lba + r->count > end;

		if (r->lba >= lba) { /* the front goes, or all */
			if (has_rest)
				*r = rest;
			else
				memmove(r, r + 1, (--d->media.ntrims - i) * sizeof(*r));
			if (has_rest)
				return 0;
			continue;
		}
		r->count = lba - r->lba;
		i++;
		if (has_rest) {
			struct profile_range *bigger = realloc(d->media.trims, (d->media.ntrims + 1) * sizeof(*bigger));

			if (!bigger)
				return -ENOMEM;
			d->media.trims = bigger;
			memmove(bigger + i + 1, bigger + i, (d->media.ntrims++ - i) * sizeof(*bigger));
			bigger[i] = rest;
			return 0;
		}
	}
	return 0;
}
