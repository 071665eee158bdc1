/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sleep of drives: the commands as the standards have them, to a drive that is played. */
#include "test.h"

#include <scsi/sg.h>
#include <sys/ioctl.h>

#include "device/inside.h"

static struct {
	uint8_t power;     /* CHECK POWER MODE */
	uint8_t sense[18]; /* REQUEST SENSE */
} fake;

static void answer_ata(struct sg_io_hdr *h, const uint8_t *c)
{
	static const uint8_t status[] = { 0x72, 1, [3] = 0x1d, [7] = 14, [8] = 9, [9] = 12, [21] = 0 };

	assert_int_equal(c[14], 0xe5);
	assert_int_equal(c[2] & 0x20, 0x20);
	h->status = 2;
	h->sb_len_wr = sizeof(status);
	memcpy(h->sbp, status, sizeof(status));
	h->sbp[13] = fake.power;
}

static void answer_scsi(struct sg_io_hdr *h, const uint8_t *c)
{
	uint8_t *data = h->dxferp;

	assert_int_equal(c[0], 0x03);
	memcpy(data, fake.sense, sizeof(fake.sense));
	h->resid = (int)(h->dxfer_len - sizeof(fake.sense));
}

static int answer(int fd, unsigned long request, void *arg)
{
	assert_int_equal(fd, 7);
	assert_int_equal(request, SG_IO);
	if (((struct sg_io_hdr *)arg)->cmdp[0] == 0x85)
		answer_ata(arg, ((struct sg_io_hdr *)arg)->cmdp);
	else
		answer_scsi(arg, ((struct sg_io_hdr *)arg)->cmdp);
	return 0;
}

TEST(drives_say_whether_they_sleep)
{
	static const struct {
		uint8_t count;
		const char *power;
	} ata[] = { { 0xff, "active" }, { 0x80, "idle" }, { 0x82, "idle" }, { 0x00, "standby" }, { 0x41, "active" } };
	static const struct {
		uint8_t code, more;
		const char *power;
	} scsi[] = { { 0, 0, "active" },
		     { 0x5e, 1, "idle" },
		     { 0x5e, 2, "standby" },
		     { 0x5e, 9, "standby" },
		     { 4, 2, "stopped" } };

	for (size_t i = 0; i < ARRAY_LEN(ata); i++) {
		const struct drive d = { .ask = answer, .way = DRIVE_ATA, .fd = 7 };

		fake.power = ata[i].count;
		assert_string_equal(drive_power(&d), ata[i].power);
	}
	for (size_t i = 0; i < ARRAY_LEN(scsi); i++) {
		const struct drive d = { .ask = answer, .way = DRIVE_SCSI, .fd = 7 };

		memset(fake.sense, 0, sizeof(fake.sense));
		fake.sense[0] = 0x70;
		fake.sense[12] = scsi[i].code;
		fake.sense[13] = scsi[i].more;
		assert_string_equal(drive_power(&d), scsi[i].power);
	}
}
