/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies over a device: its partitions, and the holders that sysfs names: mappings, whose tables the device mapper
 * reports (LVM's volumes are such), and arrays of md, which sysfs reports. Only what has a plain rule is followed:
 * linear and striped mappings and those that change no address, RAID 0 of equal members, 1, 4, 5 and 6 in md's usual
 * layout, and 10 with near copies.
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
#include "device/above.h"

#define SECTOR         512ull /* the unit of sysfs and of the device mapper, whatever the disk has */
#define TABLE_BYTES    (256u << 10)
#define LEFT_SYMMETRIC 2 /* md's usual layout */

static bool add(struct segments *ret, const struct segment *s)
{
	xappend(ret->v, ret->n, *s);
	return true;
}

bool segment_up(const struct segment *s, uint64_t lower, uint64_t *ret_upper, uint64_t *ret_bytes)
{
	uint64_t x = lower - s->lower_first, row, n = s->columns, chunk;
	uint32_t nparity = s->parity == PARITY_NONE ? 0 : s->parity == PARITY_LEFT_TWO ? 2 : 1;

	*ret_bytes = s->bytes - x;
	if (!s->chunk_bytes) {
		*ret_upper = s->upper_first + x;
		return true;
	}
	row = x / s->chunk_bytes;
	chunk = (row * n + s->column) / s->copies;
	if (*ret_bytes > s->chunk_bytes - x % s->chunk_bytes)
		*ret_bytes = s->chunk_bytes - x % s->chunk_bytes;
	if (nparity) {
		uint64_t parity_at = s->parity == PARITY_LAST ? n - 1 : n - 1 - row % n;
		uint64_t behind =
			(s->column + n - parity_at) % n; /* the parity, of RAID 6 the other one, then the data */

		if (behind < nparity)
			return false;
		chunk = row * (n - nparity) + behind - nparity;
	}
	*ret_upper = s->upper_first + chunk * s->chunk_bytes + x % s->chunk_bytes;
	return true;
}

/* ---- the device mapper ---- */

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

	s.columns = (uint32_t)strtoul(words[0], NULL, 10);
	s.chunk_bytes = strtoull(words[1], NULL, 10) * SECTOR;
	s.copies = 1;
	if (!s.columns || !s.chunk_bytes)
		return false;
	s.bytes /= s.columns;
	for (size_t i = 2; i + 1 < n; i += 2, s.column++) {
		s.lower_first = strtoull(words[i + 1], NULL, 10) * SECTOR;
		if (is_device(words[i], lower))
			(void)add(ret, &s);
	}
	return true;
}

bool segments_of_dm(struct segments *ret, const struct segment *upper, const char *type, const char *params,
                    uint64_t first_sector, uint64_t sectors, dev_t lower)
{
	struct segment s = *upper;
	cleanup_free char *copy = xmust(strdup(params));
	char *words[256], *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(copy, " ", &save); w && n < ARRAY_LEN(words); w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	s.upper_first = first_sector * SECTOR;
	s.bytes = sectors * SECTOR;
	for (size_t i = 0; i < ARRAY_LEN(plain_targets); i++) {
		size_t at = plain_targets[i].before;

		if (strcmp(type, plain_targets[i].type) != 0)
			continue;
		if (at + 1 >= n || !is_device(words[at], lower))
			return true;
		s.lower_first = strtoull(words[at + 1], NULL, 10) * SECTOR;
		return add(ret, &s);
	}
	if (strcmp(type, "striped") == 0 && n >= 2)
		return add_stripes(ret, &s, words, n, lower);
	if (strcmp(type, "raid") == 0 && n && strcmp(words[0], "raid1") == 0) { /* LVM's mirrors */
		for (size_t i = 1; i < n; i++)
			if (is_device(words[i], lower) && (n - i) % 2 == 1) /* of each pair the second: not its log */
				return add(ret, &s);
		return true;
	}
	return false;
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

struct dm_above {
	struct segments *ret;
	const struct segment *upper;
	const char *alias;
	dev_t lower;
	char *strange;
	size_t len;
};

static void dm_line_above(void *arg, uint64_t first_sector, uint64_t sectors, const char *type, const char *params)
{
	const struct dm_above *a = arg;

	if (!segments_of_dm(a->ret, a->upper, type, params, first_sector, sectors, a->lower))
		(void)snprintf(a->strange, a->len, "%s (%s)", a->alias, type);
}

/* ---- md ---- */

static bool md_above(const char *root, struct segments *ret, const struct segment *upper, const char *dir,
                     const char *member)
{
	struct segment s = *upper;
	uint64_t offset, size, slot, chunk = 0, disks = 0, layout = 0;
	char level[32];

	if (sys_text(root, level, sizeof(level), "%s/md/level", dir) < 0 ||
	    !sys_u64(root, &offset, "%s/md/dev-%s/offset", dir, member) ||
	    !sys_u64(root, &size, "%s/md/dev-%s/size", dir, member) ||
	    !sys_u64(root, &slot, "%s/md/dev-%s/slot", dir, member))
		return false;
	(void)sys_u64(root, &chunk, "%s/md/chunk_size", dir);
	(void)sys_u64(root, &disks, "%s/md/raid_disks", dir);
	(void)sys_u64(root, &layout, "%s/md/layout", dir);
	s.lower_first = offset * SECTOR;
	s.bytes = size * 1024; /* KiB here */
	s.copies = 1;
	if (strcmp(level, "raid1") == 0)
		return add(ret, &s);
	s.chunk_bytes = chunk;
	s.columns = (uint32_t)disks;
	s.column = (uint32_t)slot;
	if (!chunk || slot >= disks)
		return false;
	if (strcmp(level, "raid4") == 0)
		s.parity = PARITY_LAST;
	else if (strcmp(level, "raid5") == 0 && layout == LEFT_SYMMETRIC)
		s.parity = PARITY_LEFT;
	else if (strcmp(level, "raid6") == 0 && layout == LEFT_SYMMETRIC)
		s.parity = PARITY_LEFT_TWO;
	else if (strcmp(level, "raid10") == 0 && layout >> 8 == 1 && (layout & 255) > 0)
		s.copies = (uint32_t)(layout & 255);
	else if (strcmp(level, "raid0") != 0)
		return false;
	for (uint64_t i = 0, other; strcmp(level, "raid0") == 0 && i < disks; i++) /* unequal ones go on in zones */
		if (sys_u64(root, &other, "%s/md/rd%" PRIu64 "/size", dir, i) &&
		    other / (chunk / 1024) != size / (chunk / 1024))
			return false;
	return add(ret, &s);
}

/* ---- all ---- */

static void partitions_above(const char *root, const struct sys_block *b, struct segments *ret)
{
	for (cleanup_list struct sys_list l = sys_list(root, "%s", b->dir); sys_next(&l);) {
		struct segment s = { 0 };
		uint64_t start, sectors;

		if (!sys_exists(root, "%s/%s/partition", b->dir, l.name) ||
		    !sys_u64(root, &start, "%s/%s/start", b->dir, l.name) ||
		    !sys_u64(root, &sectors, "%s/%s/size", b->dir, l.name))
			continue;
		text_copy(s.name, sizeof(s.name), l.name);
		text_copy(s.label, sizeof(s.label), l.name);
		s.lower_first = start * SECTOR;
		s.bytes = sectors * SECTOR;
		(void)add(ret, &s);
	}
}

void segments_above(const char *root, const struct sys_block *b, struct segments *ret, char *ret_strange, size_t len)
{
	ret_strange[0] = '\0';
	if (!b->is_partition)
		partitions_above(root, b, ret);
	for (cleanup_list struct sys_list l = sys_list(root, "%s/holders", b->dir); sys_next(&l);) {
		struct segment s = { 0 };
		char alias[128], text[200] = "";
		struct sys_block holder;

		if (sys_block_by_name(root, l.name, &holder) < 0)
			continue;
		text_copy(s.name, sizeof(s.name), l.name);
		text_copy(s.label, sizeof(s.label), l.name);
		if (sys_text(root, alias, sizeof(alias), "%s/dm/name", holder.dir) == 0) {
			struct dm_above a = { ret, &s, s.label, b->rdev, text, sizeof(text) };

			text_copy(s.label, sizeof(s.label), alias);
			if (dm_table(root, &holder, dm_line_above, &a) < 0)
				text_copy(text, sizeof(text), alias);
		} else if (!md_above(root, ret, &s, holder.dir, b->name)) {
			text_copy(text, sizeof(text), l.name);
		}
		if (text[0])
			text_copy(ret_strange, len, text);
	}
}
