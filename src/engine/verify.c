/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/verify.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>

#include "base/scsi.h"

#define TIMEOUT_MS          60000 /* longer than any drive tries */
#define VERIFY_10           0x2f
#define VERIFY_16           0x8f
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

uint8_t verify_command(enum verify_way way, uint64_t sector, uint32_t sectors, uint8_t ret[16])
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
	if (sector + sectors <= UINT32_MAX && sectors <= UINT16_MAX) { /* what every disk knows */
		ret[0] = VERIFY_10;
		put(ret + 2, sector, 4);
		put(ret + 7, sectors, 2);
		return 10;
	}
	ret[0] = VERIFY_16;
	put(ret + 2, sector, 8);
	put(ret + 10, sectors, 4);
	return 16;
}

static int ask_so(struct verifier *v, int fd, uint64_t sector, uint32_t sectors)
{
	uint8_t command[16];
	struct scsi_command c = { .cdb = command, .timeout_ms = TIMEOUT_MS };

	c.cdb_len = verify_command(v->way, sector, sectors, command);
	return scsi_ask(v->ask, fd, &c);
}

static int ask(struct verifier *v, int fd, uint64_t sector, uint32_t sectors)
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

int32_t verify_medium(struct verifier *v, int fd, uint64_t offset_bytes, uint32_t len_bytes)
{
	int sector_bytes = 0, r;

	if (v->fd != fd || !v->sector_bytes) {
		if (v->ask(fd, BLKSSZGET, &sector_bytes) < 0 || sector_bytes <= 0)
			return -EOPNOTSUPP;
		v->fd = fd;
		v->sector_bytes = (uint32_t)sector_bytes;
		v->way = VERIFY_SCSI;
	}
	if (offset_bytes % v->sector_bytes || len_bytes % v->sector_bytes || !len_bytes)
		return -EINVAL;
	r = ask(v, fd, offset_bytes / v->sector_bytes, len_bytes / v->sector_bytes);
	return r < 0 ? r : (int32_t)len_bytes;
}
