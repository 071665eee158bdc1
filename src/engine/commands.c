/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/scsi.h"

#define TIMEOUT_MS          60000 /* longer than any drive tries */
#define READ_10             0x28
#define WRITE_10            0x2a
#define VERIFY_10           0x2f
#define READ_16             0x88
#define WRITE_16            0x8a
#define VERIFY_16           0x8f
#define FUA                 0x08 /* in byte 1 */
#define ATA_16              0x85
#define ATA_NON_DATA        (3 << 1 | 1) /* protocol, and a command with 48 bits of LBA */
#define ATA_READ_VERIFY_EXT 0x42
#define ATA_LBA             0x40
#define ATA_MOST            65536u /* sectors */

static void put(uint8_t *at, uint64_t x, int bytes)
{
	while (bytes--) {
		at[bytes] = (uint8_t)x;
		x >>= 8;
	}
}

/* The shorter one where it reaches: all disks have it. */
static uint8_t scsi_command(uint8_t op_10, uint8_t op_16, uint64_t sector, uint32_t sectors, uint8_t ret[16])
{
	if (sector + sectors <= UINT32_MAX && sectors <= UINT16_MAX) {
		ret[0] = op_10;
		put(ret + 2, sector, 4);
		put(ret + 7, sectors, 2);
		return 10;
	}
	ret[0] = op_16;
	put(ret + 2, sector, 8);
	put(ret + 10, sectors, 4);
	return 16;
}

/* The command for this number of sectors; returns its length. */
static uint8_t verify_command(enum verify_way way, uint64_t sector, uint32_t sectors, uint8_t ret[16])
{
	memset(ret, 0, 16);
	if (way == VERIFY_ATA) { /* each register's high byte before its low one */
		ret[0] = ATA_16;
		ret[1] = ATA_NON_DATA;
		put(ret + 5, sectors, 2); /* 65536 is 0 */
		ret[7] = (uint8_t)(sector >> 24);
		ret[8] = (uint8_t)sector;
		ret[9] = (uint8_t)(sector >> 32);
		ret[10] = (uint8_t)(sector >> 8);
		ret[11] = (uint8_t)(sector >> 40);
		ret[12] = (uint8_t)(sector >> 16);
		ret[13] = ATA_LBA;
		ret[14] = ATA_READ_VERIFY_EXT;
		return 16;
	}
	return scsi_command(VERIFY_10, VERIFY_16, sector, sectors, ret);
}

static int ask_so(struct commands *v, int fd, uint64_t sector, uint32_t sectors)
{
	uint8_t command[16];
	struct scsi_command c = { .cdb = command, .timeout_ms = TIMEOUT_MS };

	c.cdb_len = verify_command(v->way, sector, sectors, command);
	return scsi_ask(v->ask, fd, &c);
}

static int ask(struct commands *v, int fd, uint64_t sector, uint32_t sectors)
{
	int r = ask_so(v, fd, sector, sectors);

	if (r == -EOPNOTSUPP && v->way == VERIFY_SCSI && sectors <= ATA_MOST) {
		v->way = VERIFY_ATA;
		r = ask_so(v, fd, sector, sectors);
		if (r < 0 && r != -ENODATA) {
			v->way = VERIFY_SCSI;
			r = -EOPNOTSUPP;
		}
	}
	return r;
}

/* Knows the file's sectors, and that these are some of them. */
static int prepare(struct commands *v, int fd, uint64_t offset_bytes, uint32_t len_bytes)
{
	int sector_bytes = 0;

	if (v->fd != fd || !v->sector_bytes) {
		if (v->ask(fd, BLKSSZGET, &sector_bytes) < 0 || sector_bytes <= 0)
			return -EOPNOTSUPP;
		v->fd = fd;
		v->sector_bytes = (uint32_t)sector_bytes;
		v->way = VERIFY_SCSI;
	}
	return offset_bytes % v->sector_bytes || len_bytes % v->sector_bytes || !len_bytes ? -EINVAL : 0;
}

int32_t verify_medium(struct commands *v, int fd, uint64_t offset_bytes, uint32_t len_bytes)
{
	int r = prepare(v, fd, offset_bytes, len_bytes)
	                ?: ask(v, fd, offset_bytes / v->sector_bytes, len_bytes / v->sector_bytes);

	return r < 0 ? r : (int32_t)len_bytes;
}

bool commands_is_disk(int fd)
{
	static const char bus[] = "/scsi";
	char path[64], to[256];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode))
		return false;
	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/device/subsystem", major(st.st_rdev),
	               minor(st.st_rdev)); /* fits; partitions, dm, md and loop have no such link */
	n = readlink(path, to, sizeof(to));
	return n >= (ssize_t)strlen(bus) && n < (ssize_t)sizeof(to) &&
	       memcmp(to + n - strlen(bus), bus, strlen(bus)) == 0;
}

/* What write(2) would have asked. */
static int may_write(const struct commands *v, int fd)
{
	int flags = fcntl(fd, F_GETFL), is_read_only = 1;

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	return v->is_disk(fd) && (v->ask(fd, BLKROGET, &is_read_only) < 0 || is_read_only) ? -EPERM : 0;
}

int32_t fua_transfer(struct commands *v, int fd, bool is_write, uint64_t offset_bytes, uint32_t len_bytes, void *buf)
{
	uint8_t command[16] = { 0 };
	struct scsi_command c = { .cdb = command,
		                  .way = is_write ? SCSI_OUT : SCSI_IN,
		                  .data = buf,
		                  .len = len_bytes,
		                  .timeout_ms = TIMEOUT_MS };
	int r = is_write ? may_write(v, fd) : 0;

	if (r == 0)
		r = v->is_disk(fd) ? prepare(v, fd, offset_bytes, len_bytes) : -EOPNOTSUPP;
	if (r < 0)
		return r;
	c.cdb_len = scsi_command(is_write ? WRITE_10 : READ_10, is_write ? WRITE_16 : READ_16,
	                         offset_bytes / v->sector_bytes, len_bytes / v->sector_bytes, command);
	command[1] = FUA;
	r = scsi_ask(v->ask, fd, &c);
	return r < 0 ? r : (int32_t)c.moved;
}
