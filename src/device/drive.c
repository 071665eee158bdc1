/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nothing here changes a drive. ATA: CHECK POWER MODE. READ NATIVE MAX ADDRESS EXT (ATA8-ACS 7.33, word 82 bit 10);
 * GET NATIVE MAX ADDRESS EXT (ACS-4 7.2.2, word 119 bit 8). All by ATA PASS-THROUGH(16) (SAT-4 12.2). SCSI: REQUEST
 * SENSE.
 */
#include "device/drive.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"

#define TIMEOUT_MS 10000

/* ---- ATA ---- */

enum {
	ATA_IDENTIFY = 0xec,
	ATA_CHECK_POWER = 0xe5,
	ATA_READ_NATIVE_MAX = 0x27,
	ATA_GET_NATIVE_MAX = 0x78,
};

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

/* ---- all ---- */

enum drive_way drive_way(const struct device *dev, bool has_scsi)
{
	if (dev->is_cdrom || !has_scsi || strcmp(dev->transport, "usb") == 0)
		return DRIVE_NO_WAY;
	return strcmp(dev->transport, "ata") == 0 ? DRIVE_ATA : DRIVE_SCSI;
}

const char *drive_power(const struct drive *d)
{
	return d->way == DRIVE_ATA ? ata_power(d) : d->way == DRIVE_SCSI ? scsi_power(d) : "";
}
