/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/verify.h"

#include <errno.h>
#include <linux/fs.h>
#include <scsi/sg.h>
#include <stdbool.h>
#include <string.h>

#define TIMEOUT_MS          60000 /* longer than any drive tries */
#define TRIES               3 /* "unit attention" says that something happened before, and the command was not done */
#define VERIFY_10           0x2f
#define VERIFY_16           0x8f
#define ATA_16              0x85
#define ATA_NON_DATA        (3 << 1 | 1) /* protocol, and a command with 48 bits of LBA */
#define ATA_READ_VERIFY_EXT 0x42
#define ATA_LBA             0x40
#define ATA_MOST            65536u /* sectors */
#define DID_NO_CONNECT      1
#define CHECK_CONDITION     2

enum sense { /* SPC-4, keys */
	     SENSE_NONE,
	     SENSE_RECOVERED,
	     SENSE_NOT_READY,
	     SENSE_MEDIUM,
	     SENSE_HARDWARE,
	     SENSE_ILLEGAL,
	     SENSE_ATTENTION,
};

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

/* The errors of the block layer for these answers; 1: once more. */
static int judge(const struct sg_io_hdr *h, const uint8_t *sense)
{
	bool is_descriptor = (sense[0] & 0x7e) == 0x72;

	if (h->host_status)
		return h->host_status == DID_NO_CONNECT ? -ENODEV : -EIO;
	if ((h->status & 0x3e) == 0)
		return 0;
	if ((h->status & 0x3e) != CHECK_CONDITION || h->sb_len_wr < 3)
		return -EIO;
	switch (sense[is_descriptor ? 1 : 2] & 0xf) {
	case SENSE_NONE:
	case SENSE_RECOVERED:
		return 0;
	case SENSE_MEDIUM:
		return -ENODATA;
	case SENSE_HARDWARE:
		return -EREMOTEIO;
	case SENSE_ILLEGAL:
		return -EOPNOTSUPP;
	case SENSE_ATTENTION:
		return 1;
	default:
		return -EIO;
	}
}

static int ask_once(struct verifier *v, int fd, uint64_t sector, uint32_t sectors)
{
	uint8_t command[16], sense[64] = { 0 };
	struct sg_io_hdr h = { .interface_id = 'S',
		               .dxfer_direction = SG_DXFER_NONE,
		               .cmdp = command,
		               .sbp = sense,
		               .mx_sb_len = sizeof(sense),
		               .timeout = TIMEOUT_MS };

	h.cmd_len = verify_command(v->way, sector, sectors, command);
	if (v->ask(fd, SG_IO, &h) < 0) /* no SCSI disk, or not permitted */
		return errno == ENOTTY || errno == EINVAL || errno == ENOSYS ? -EOPNOTSUPP : -errno;
	return judge(&h, sense);
}

static int ask(struct verifier *v, int fd, uint64_t sector, uint32_t sectors)
{
	int r = 1;

	for (int i = 0; i < TRIES && r == 1; i++)
		r = ask_once(v, fd, sector, sectors);
	if (r == -EOPNOTSUPP && v->way == VERIFY_SCSI && sectors <= ATA_MOST) {
		v->way = VERIFY_ATA;
		r = ask_once(v, fd, sector, sectors);
		if (r < 0 && r != -ENODATA) {
			v->way = VERIFY_SCSI;
			r = -EOPNOTSUPP;
		}
	}
	return r == 1 ? -EIO : r;
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
