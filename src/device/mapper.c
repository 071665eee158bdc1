/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Only what has a plain rule is followed: linear, striped and mirrored mappings and those that change no address; of md
 * RAID 0 of equal members, 1, 4, 5 and 6 in its usual layout, and 10 with near copies.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/dm-ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "device/mapper.h"

#define SECTOR      512ull /* the unit of the device mapper, whatever the disk has */
#define TABLE_BYTES (256u << 10)

#define LEFT_SYMMETRIC 2 /* md's usual layout */

static bool is_device(const char *word, dev_t dev)
{
	unsigned maj, min;

	return word && sscanf(word, "%u:%u", &maj, &min) == 2 && makedev(maj, min) == dev;
}

/* Words before the device and its first sector. */
static const struct plain {
	const char *type;
	unsigned before;
} plain_targets[] = { { "linear", 0 }, { "delay", 0 }, { "flakey", 0 }, { "dust", 0 }, { "crypt", 3 } };

/* Columns, bytes of a chunk, then a device and its first sector for each column. */
static bool add_stripes(struct segments *ret, const struct segment *whole, char *const *words, size_t n, dev_t lower)
{
	struct segment s = *whole;

	s.spread = (struct spread){ .columns = (uint32_t)strtoul(words[0], NULL, 10),
		                    .chunk_bytes = strtoull(words[1], NULL, 10) * SECTOR,
		                    .copies = 1 };
	if (!s.spread.columns || !s.spread.chunk_bytes)
		return false;
	s.lower_bytes /= s.spread.columns;
	for (size_t i = 2; i + 1 < n; i += 2, s.spread.column++) {
		s.lower_first = strtoull(words[i + 1], NULL, 10) * SECTOR;
		if (is_device(words[i], lower))
			xappend(ret->v, ret->n, s);
	}
	return true;
}

bool segments_of_dm(struct segments *ret, const char *type, const char *params, uint64_t first_sector, uint64_t sectors,
                    dev_t lower)
{
	struct segment s = { 0, sectors * SECTOR, first_sector * SECTOR, sectors * SECTOR, { 0 } };
	cleanup_free char *copy = xmust(strdup(params));
	char *words[256], *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(copy, " ", &save); w && n < ARRAY_LEN(words); w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	for (size_t i = 0; i < ARRAY_LEN(plain_targets); i++) {
		size_t at = plain_targets[i].before;

		if (strcmp(type, plain_targets[i].type) != 0)
			continue;
		if (at + 1 >= n || !is_device(words[at], lower))
			return true;
		s.lower_first = strtoull(words[at + 1], NULL, 10) * SECTOR;
		xappend(ret->v, ret->n, s);
		return true;
	}
	if (strcmp(type, "striped") == 0 && n >= 2)
		return add_stripes(ret, &s, words, n, lower);
	if (strcmp(type, "raid") != 0 || !n || strcmp(words[0], "raid1") != 0)
		return false;
	for (size_t i = 1; i < n; i++) /* LVM's mirrors: of each pair the second, not its log */
		if (is_device(words[i], lower) && (n - i) % 2 == 1) {
			xappend(ret->v, ret->n, s);
			break;
		}
	return true;
}

/* A dump has no ioctls: what they would say is in a file. */
static int dumped_table(const char *root, const char *dir, dm_line_taker *take, void *arg)
{
	cleanup_fclose FILE *f = NULL;
	cleanup_free char *line = NULL;
	char path[PATH_MAX], type[32];
	uint64_t first, sectors;
	size_t len = 0;
	int at = 0;

	if (snprintf(path, sizeof(path), "%s/dm/table", dir) >= (int)sizeof(path) || !(f = sys_open(root, path)))
		return -ENOENT;
	while (getline(&line, &len, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNu64 " %" SCNu64 " %31s %n", &first, &sectors, type, &at) == 3)
			take(arg, first, sectors, type, line + at);
	}
	return 0;
}

int dm_table(const char *root, const struct sys_block *b, dm_line_taker *take, void *arg)
{
	cleanup_close int fd = -1;
	cleanup_free char *buf = NULL;
	struct dm_ioctl *io;
	uint32_t at;

	if (!sysroot_is_real(root))
		return dumped_table(root, b->dir, take, arg);
	fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	buf = xcalloc(1, TABLE_BYTES);
	io = (struct dm_ioctl *)(void *)buf;
	io->version[0] = DM_VERSION_MAJOR;
	io->data_size = TABLE_BYTES;
	io->data_start = sizeof(*io);
	io->flags = DM_STATUS_TABLE_FLAG;
	io->dev = b->rdev; /* the kernel's huge_encode_dev() is makedev() for its numbers */
	if (ioctl(fd, DM_TABLE_STATUS, io) < 0)
		return -errno;
	if (io->flags & DM_BUFFER_FULL_FLAG)
		return -E2BIG;
	at = io->data_start;
	for (uint32_t i = 0; i < io->target_count && at + sizeof(struct dm_target_spec) < TABLE_BYTES; i++) {
		const struct dm_target_spec *t = (const struct dm_target_spec *)(const void *)(buf + at);

		take(arg, t->sector_start, t->length, t->target_type, buf + at + sizeof(*t));
		at = io->data_start + t->next;
	}
	return 0;
}

/* ---- chunks ---- */

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
