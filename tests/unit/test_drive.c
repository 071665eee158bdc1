/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Switches and sleep of drives: the commands as the standards have them, to a drive that is played. */
#include "test.h"

#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <sys/ioctl.h>

#include "device/drive.h"

static struct {
	uint8_t id[512];   /* ATA */
	uint8_t page[20];  /* SCSI */
	uint8_t power;     /* CHECK POWER MODE */
	uint8_t sense[18]; /* REQUEST SENSE */
	bool nvme_cache;
} fake;

static void answer_ata(struct sg_io_hdr *h, const uint8_t *c)
{
	static const uint8_t status[] = { 0x72, 1, [3] = 0x1d, [7] = 14, [8] = 9, [9] = 12, [21] = 0 };

	if (c[14] == 0xec) {
		assert_int_equal(c[1], 4 << 1);
		assert_int_equal(c[2], 0x0e);
		assert_int_equal(h->dxfer_direction, SG_DXFER_FROM_DEV);
		memcpy(h->dxferp, fake.id, 512);
		return;
	}
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

	if (c[0] == 0x5a) {
		assert_int_equal(c[2], 8);
		memset(data, 0, 8);
		data[1] = 6 + sizeof(fake.page);
		memcpy(data + 8, fake.page, sizeof(fake.page));
		h->resid = (int)(h->dxfer_len - 8 - sizeof(fake.page));
	} else {
		assert_int_equal(c[0], 0x03);
		memcpy(data, fake.sense, sizeof(fake.sense));
		h->resid = (int)(h->dxfer_len - sizeof(fake.sense));
	}
}

static int answer(int fd, unsigned long request, void *arg)
{
	assert_int_equal(fd, 7);
	if (request == NVME_IOCTL_ADMIN_CMD) {
		struct nvme_passthru_cmd *c = arg;

		if (c->opcode == 0x06)
			((uint8_t *)(uintptr_t)c->addr)[525] = 1;
		else
			assert_int_equal(c->opcode << 8 | c->cdw10, 0x0a06); /* GET FEATURES */
		c->result = fake.nvme_cache;
		return 0;
	}
	assert_int_equal(request, SG_IO);
	if (((struct sg_io_hdr *)arg)->cmdp[0] == 0x85)
		answer_ata(arg, ((struct sg_io_hdr *)arg)->cmdp);
	else
		answer_scsi(arg, ((struct sg_io_hdr *)arg)->cmdp);
	return 0;
}

/* As drives come, but for these switches. */
static void reset(unsigned off)
{
	static const uint8_t page[20] = { 0x88, 18, 0x10, 0, 0xff, 0xff, [12] = 0x80 };

	memset(&fake, 0, sizeof(fake));
	memcpy(fake.page, page, sizeof(page));
	fake.power = 0xff;
	fake.id[164] = 0x61;
	fake.id[167] = fake.id[175] = 0x40;
	fake.id[170] = (uint8_t)(1 | (off & DRIVE_WRITE_CACHE ? 0 : 0x20) | (off & DRIVE_LOOK_AHEAD ? 0 : 0x40));
	fake.page[2] |= (uint8_t)((off & DRIVE_WRITE_CACHE ? 0 : 4) | (off & DRIVE_READ_CACHE ? 1 : 0));
	fake.page[12] |= off & DRIVE_LOOK_AHEAD ? 0x20 : 0;
	fake.nvme_cache = !(off & DRIVE_WRITE_CACHE);
}

static struct drive_state look(enum drive_way way)
{
	const struct drive d = { .ask = answer, .way = way, .fd = 7 };
	struct drive_state s;

	assert_int_equal(drive_look(&d, &s), 0);
	return s;
}

TEST(each_way_reports_the_switches_that_it_has_as_they_stand)
{
	static const unsigned has[] = { [DRIVE_ATA] = DRIVE_WRITE_CACHE | DRIVE_LOOK_AHEAD,
		                        [DRIVE_SCSI] = DRIVE_WRITE_CACHE | DRIVE_LOOK_AHEAD | DRIVE_READ_CACHE,
		                        [DRIVE_NVME] = DRIVE_WRITE_CACHE };

	for (int way = DRIVE_ATA; way <= DRIVE_NVME; way++)
		for (unsigned off = 0; off < 8; off++) {
			reset(off);
			assert_int_equal(look((enum drive_way)way).reported, has[way]);
			assert_int_equal(look((enum drive_way)way).on, has[way] & ~off);
		}
}

TEST(what_a_drive_does_not_say_is_not_reported)
{
	const struct drive ata = { .ask = answer, .way = DRIVE_ATA, .fd = 7 },
			   scsi = { .ask = answer, .way = DRIVE_SCSI, .fd = 7 };
	struct drive_state s;

	reset(0);
	fake.id[164] = 0x21; /* QEMU: no word of look-ahead */
	assert_int_equal(look(DRIVE_ATA).reported, DRIVE_WRITE_CACHE);
	fake.id[167] = 0; /* words that do not hold */
	assert_int_equal(drive_look(&ata, &s), -EOPNOTSUPP);
	fake.page[1] = 10; /* the page of SCSI-2 ends before that bit */
	assert_int_equal(look(DRIVE_SCSI).reported, DRIVE_WRITE_CACHE | DRIVE_READ_CACHE);
	fake.page[1] = 200;
	assert_int_equal(drive_look(&scsi, &s), -EOPNOTSUPP);
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

	reset(0);
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
