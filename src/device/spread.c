/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAID 0 of equal members, 1, 4, 5 and 6 in md's usual layout, and 10 with near copies. */
#include <inttypes.h>
#include <string.h>

#include "device/spread.h"

#define LEFT_SYMMETRIC 2 /* md's usual layout */

bool spread_up(const struct spread *s, uint64_t lower, uint64_t *ret_upper, uint64_t *ret_bytes)
{
	uint32_t nparity = s->parity == PARITY_NONE ? 0 : s->parity == PARITY_LEFT_TWO ? 2 : 1;
	uint64_t row, n = s->columns, chunk;

	*ret_bytes = UINT64_MAX;
	*ret_upper = lower;
	if (!s->chunk_bytes)
		return true;
	*ret_bytes = s->chunk_bytes - lower % s->chunk_bytes;
	row = lower / s->chunk_bytes;
	chunk = (row * n + s->column) / s->copies;
	if (nparity) {
		uint64_t parity_at = s->parity == PARITY_LAST ? n - 1 : n - 1 - row % n;
		uint64_t behind =
			(s->column + n - parity_at) % n; /* the parity, of RAID 6 the other one, then the data */

		if (behind < nparity)
			return false;
		chunk = row * (n - nparity) + behind - nparity;
	}
	*ret_upper = chunk * s->chunk_bytes + lower % s->chunk_bytes;
	return true;
}

/* Members of unequal size go on in zones of fewer columns. */
static bool are_equal(const char *root, const char *dir, const struct spread *s, uint64_t size_kib)
{
	uint64_t chunk_kib = s->chunk_bytes / 1024;

	for (uint64_t i = 0, other; i < s->columns; i++)
		if (sys_u64(root, &other, "%s/md/rd%" PRIu64 "/size", dir, i) &&
		    other / chunk_kib != size_kib / chunk_kib)
			return false;
	return true;
}

bool spread_of_md(const char *root, const char *dir, const char *member, struct spread *ret, uint64_t *ret_first,
                  uint64_t *ret_bytes)
{
	uint64_t first, size, slot, chunk = 0, disks = 0, layout = 0;
	char level[32];

	if (sys_text(root, level, sizeof(level), "%s/md/level", dir) < 0 ||
	    !sys_u64(root, &first, "%s/md/dev-%s/offset", dir, member) ||
	    !sys_u64(root, &size, "%s/md/dev-%s/size", dir, member))
		return false;
	*ret_first = first * 512;
	*ret_bytes = size * 1024; /* KiB here */
	*ret = (struct spread){ 0 };
	if (strcmp(level, "raid1") == 0)
		return true;
	(void)sys_u64(root, &chunk, "%s/md/chunk_size", dir);
	(void)sys_u64(root, &disks, "%s/md/raid_disks", dir);
	(void)sys_u64(root, &layout, "%s/md/layout", dir);
	if (chunk < 1024 || !sys_u64(root, &slot, "%s/md/dev-%s/slot", dir, member) || slot >= disks)
		return false;
	*ret = (struct spread){ chunk, (uint32_t)disks, (uint32_t)slot, 1, PARITY_NONE };
	if (strcmp(level, "raid0") == 0)
		return are_equal(root, dir, ret, size);
	if (strcmp(level, "raid10") == 0) {
		ret->copies = (uint32_t)(layout & 255);
		return layout >> 8 == 1 && ret->copies > 0;
	}
	ret->parity = strcmp(level, "raid4") == 0   ? PARITY_LAST
	              : strcmp(level, "raid5") == 0 ? PARITY_LEFT
	              : strcmp(level, "raid6") == 0 ? PARITY_LEFT_TWO
	                                            : PARITY_NONE;
	return ret->parity == PARITY_LAST || (ret->parity != PARITY_NONE && layout == LEFT_SYMMETRIC);
}
