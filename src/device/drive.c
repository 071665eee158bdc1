/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nothing here changes a drive. ATA: write cache and look-ahead in IDENTIFY words 82 and 85 (ACS-4 7.13.6). CHECK POWER
 * MODE. READ NATIVE MAX ADDRESS EXT (ATA8-ACS 7.33, word 82 bit 10); GET NATIVE MAX ADDRESS EXT (ACS-4 7.2.2, word 119
 * bit 8). All by ATA PASS-THROUGH(16) (SAT-4 12.2). SCSI: caching mode page 08h (SBC-4 6.5.6), REQUEST SENSE. NVMe:
 * feature 06h, volatile write cache.
 */
#include "device/drive.h"

#include <errno.h>
#include <linux/nvme_ioctl.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"

#define TIMEOUT_MS 10000

const struct drive_switch_name drive_switch_names[] = {
	{ DRIVE_WRITE_CACHE, "write cache" },
	{ DRIVE_LOOK_AHEAD, "look-ahead" },
	{ DRIVE_READ_CACHE, "read cache" },
	{ .name = NULL },
};

/* ---- ATA ---- */

enum {
	ATA_IDENTIFY = 0xec,
	ATA_CHECK_POWER = 0xe5,
	ATA_READ_NATIVE_MAX = 0x27,
	ATA_GET_NATIVE_MAX = 0x78,
};

static const struct {
	unsigned which;
	uint8_t bit; /* of words 82 and 85 */
} features[] = { { DRIVE_WRITE_CACHE, 1 << 5 }, { DRIVE_LOOK_AHEAD, 1 << 6 } };

/* Data is read, or, with NULL, the sense shows what the registers hold. */
static int ata(const struct drive *d, uint8_t command, uint8_t *data, struct scsi_command *ret)
{
	const uint8_t cdb[16] = { 0x85, data ? 4 << 1 : 3 << 1, /* PIO data-in, or none */
		                  data ? 0x0e : 0x20, [6] = data != NULL, [14] = command };

	*ret = (struct scsi_command){ .cdb = cdb,
		                      .cdb_len = sizeof(cdb),
		                      .way = data ? SCSI_IN : SCSI_NOTHING,
		                      .data = data,
		                      .len = data ? 512 : 0,
		                      .timeout_ms = TIMEOUT_MS };
	return scsi_ask(d->ask, d->fd, ret);
}

static int ata_look(const struct drive *d, struct drive_state *ret)
{
	struct scsi_command c;
	uint8_t id[512] = { 0 };
	int r = ata(d, ATA_IDENTIFY, id, &c);

	if (r < 0)
		return r;
	if (c.moved < sizeof(id) || (id[167] & 0xc0) != 0x40 ||
	    (id[175] & 0xc0) != 0x40) /* words 83 and 87: they hold */
		return -EOPNOTSUPP;
	for (size_t i = 0; i < ARRAY_LEN(features); i++) {
		ret->reported |= (id[164] & features[i].bit) ? features[i].which : 0;
		ret->on |= (id[164] & id[170] & features[i].bit) ? features[i].which : 0;
	}
	return 0;
}

static const char *ata_power(const struct drive *d)
{
	struct scsi_command c;
	uint8_t count;

	if (ata(d, ATA_CHECK_POWER, NULL, &c) < 0 || c.sense_len < 8)
		return "";
	if ((c.sense[0] & 0x7f) == 0x72 && c.sense_len >= 22 && c.sense[8] == 0x09)
		count = c.sense[13];
	else if ((c.sense[0] & 0x7f) == 0x70)
		count = c.sense[6]; /* fixed format: error, status, device, count */
	else
		return "";
	return count == 0xff || (count & 0xf0) == 0x40 ? "active"
	       : count >= 0x80 && count <= 0x83        ? "idle"
	       : count <= 1                            ? "standby"
	                                               : "";
}

static uint64_t ata_native(const struct drive *d)
{
	uint8_t id[512] = { 0 }, cdb[16] = { 0x85, 3 << 1 | 1, 0x20, [13] = 0x40 };
	struct scsi_command c;
	const uint8_t *s = c.sense;

	if (ata(d, ATA_IDENTIFY, id, &c) < 0 || (id[167] & 0xc4) != 0x44) /* word 83: addresses of 48 bits */
		return 0;
	if ((id[239] & 0xc0) == 0x40 && id[239] & 1)
		cdb[14] = ATA_GET_NATIVE_MAX;
	else if (id[165] & 4)
		cdb[14] = ATA_READ_NATIVE_MAX;
	else
		return 0;
	c = (struct scsi_command){ .cdb = cdb, .cdb_len = 16, .way = SCSI_NOTHING, .timeout_ms = TIMEOUT_MS };
	if (scsi_ask(d->ask, d->fd, &c) < 0 || c.sense_len < 22 || (s[0] & 0x7f) != 0x72 || s[8] != 0x09 ||
	    s[21] & 1) /* only this format has all of the address; an error */
		return 0;
	return 1 + ((uint64_t)s[18] << 40 | (uint64_t)s[16] << 32 | (uint64_t)s[14] << 24 | (uint64_t)s[19] << 16 |
	            (uint64_t)s[17] << 8 | s[15]);
}

uint64_t drive_native_sectors(const struct drive *d)
{
	return d->way == DRIVE_ATA ? ata_native(d) : 0;
}

/* ---- SCSI ---- */

enum { CACHING_PAGE = 0x08, MODE_HEADER = 8, MODE_BYTES = 64 };

static const struct {
	unsigned which;
	uint8_t at, bit;
	bool is_off; /* the bit says that it is off */
} page_bits[] = {
	{ DRIVE_WRITE_CACHE, 2, 0x04, false },
	{ DRIVE_READ_CACHE, 2, 0x01, true },
	{ DRIVE_LOOK_AHEAD, 12, 0x20, true },
};

/* The page, without what stands before it; its length, or negative errno. */
static int mode_sense(const struct drive *d, uint8_t page[MODE_BYTES])
{
	static const uint8_t cdb[10] = { 0x5a, 0x08, CACHING_PAGE, [8] = MODE_HEADER + MODE_BYTES };
	uint8_t answer[MODE_HEADER + MODE_BYTES];
	int moved = scsi_fetch(d->ask, d->fd, cdb, answer, sizeof(answer));
	size_t at = MODE_HEADER + ((size_t)answer[6] << 8 | answer[7]), len;

	if (moved < 0)
		return moved;
	if (at + 4 > (size_t)moved || (answer[at] & 0x7f) != CACHING_PAGE)
		return -EOPNOTSUPP;
	len = 2u + answer[at + 1];
	if (at + len > (size_t)moved)
		return -EOPNOTSUPP;
	memcpy(page, answer + at, len);
	return (int)len;
}

static int scsi_look(const struct drive *d, struct drive_state *ret)
{
	uint8_t page[MODE_BYTES];
	int len = mode_sense(d, page);

	for (size_t i = 0; i < ARRAY_LEN(page_bits); i++) {
		if (len <= page_bits[i].at)
			continue;
		ret->reported |= page_bits[i].which;
		ret->on |= ((page[page_bits[i].at] & page_bits[i].bit) != 0) != page_bits[i].is_off ? page_bits[i].which
		                                                                                    : 0;
	}
	return len < 0 ? len : 0;
}

static const char *scsi_power(const struct drive *d)
{
	static const uint8_t cdb[6] = { 0x03, [4] = 32 };
	uint8_t answer[32], code, more;

	if (scsi_fetch(d->ask, d->fd, cdb, answer, sizeof(answer)) < 14)
		return "";
	code = (answer[0] & 0x7f) >= 0x72 ? answer[2] : answer[12];
	more = (answer[0] & 0x7f) >= 0x72 ? answer[3] : answer[13];
	if (code == 0x5e) /* low power condition: 02h, 04h standby_z, 09h, 0Ah standby_y; the rest is idle */
		return more == 2 || more == 4 || more == 9 || more == 10 ? "standby" : "idle";
	return code == 4 ? "stopped" : "active";
}

/* ---- NVMe ---- */

enum { NVME_IDENTIFY = 0x06, NVME_GET_FEATURES = 0x0a, NVME_WRITE_CACHE = 0x06 };

static int nvme(const struct drive *d, struct nvme_passthru_cmd *c)
{
	int r;

	c->timeout_ms = TIMEOUT_MS;
	r = d->ask(d->fd, NVME_IOCTL_ADMIN_CMD, c);
	if (r < 0)
		return errno == ENOTTY || errno == EINVAL ? -EOPNOTSUPP : -errno;
	return r == 0 ? 0 : -EOPNOTSUPP; /* a status of NVMe */
}

static int nvme_look(const struct drive *d, struct drive_state *ret)
{
	uint8_t id[4096] = { 0 };
	struct nvme_passthru_cmd c = {
		.opcode = NVME_IDENTIFY, .addr = (uintptr_t)id, .data_len = sizeof(id), .cdw10 = 1
	};
	int r = nvme(d, &c);

	if (r < 0)
		return r;
	if (!(id[525] & 1)) /* VWC: there is one */
		return -EOPNOTSUPP;
	c = (struct nvme_passthru_cmd){ .opcode = NVME_GET_FEATURES, .cdw10 = NVME_WRITE_CACHE };
	r = nvme(d, &c);
	if (r == 0)
		*ret = (struct drive_state){ .reported = DRIVE_WRITE_CACHE,
			                     .on = c.result & 1 ? DRIVE_WRITE_CACHE : 0 };
	return r;
}

/* ---- all ---- */

enum drive_way drive_way(const struct device *dev, bool has_scsi)
{
	if (strcmp(dev->transport, "nvme") == 0)
		return DRIVE_NVME;
	if (dev->is_cdrom || !has_scsi || strcmp(dev->transport, "usb") == 0)
		return DRIVE_NO_WAY;
	return strcmp(dev->transport, "ata") == 0 ? DRIVE_ATA : DRIVE_SCSI;
}

int drive_look(const struct drive *d, struct drive_state *ret)
{
	struct drive_state s = { 0 };
	int r = d->way == DRIVE_ATA    ? ata_look(d, &s)
	        : d->way == DRIVE_SCSI ? scsi_look(d, &s)
	        : d->way == DRIVE_NVME ? nvme_look(d, &s)
	                               : -EOPNOTSUPP;

	if (r == 0)
		*ret = s;
	return r;
}

const char *drive_power(const struct drive *d)
{
	return d->way == DRIVE_ATA ? ata_power(d) : d->way == DRIVE_SCSI ? scsi_power(d) : "";
}
