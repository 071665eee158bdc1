/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only what has a plain rule is followed: linear, striped and mirrored mappings and those that change no address. */
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
