/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What drives and bridges report of themselves, and hide: identity, native maximum, the drive behind a bridge, sectors
 * that no Linux reads. */
#include "test.h"

#include <scsi/sg.h>

#include "device/inside.h"
#include "device/steps.h"

#define NATIVE_MAX 0xa1b2c3d4e5f6

/* What an ATA drive answers; in its IDENTIFY words 82, 83 and 119 say which of the two commands it has. */
static struct {
	uint8_t id[512], error;
	int asked; /* the command, 0: none but IDENTIFY */
} * drive;         /* of the test that runs */

static int answer(int fd, unsigned long request, void *arg)
{
	static const uint8_t to[] = { 15, 17, 19, 14, 16, 18 }; /* ATA Status Return descriptor (SAT-4 12.2.2.6) */
	struct sg_io_hdr *h = arg;

	assert_int_equal(fd, 7);
	assert_int_equal(request, SG_IO);
	assert_int_equal(h->cmdp[0], 0x85);
	if (h->cmdp[14] == 0xec) {
		memcpy(h->dxferp, drive->id, 512);
		return 0;
	}
	drive->asked = h->cmdp[14];
	assert_int_equal(h->dxfer_direction, SG_DXFER_NONE);
	assert_int_equal(h->cmdp[1], 3 << 1 | 1); /* no data, 48 bits */
	assert_int_equal(h->cmdp[2], 0x20);       /* with registers */
	assert_int_equal(h->cmdp[4], 0);          /* GET, not SET */
	memset(h->sbp, 0, 22);
	h->status = 2;
	h->sb_len_wr = 22;
	h->sbp[0] = 0x72;
	h->sbp[1] = 1;
	h->sbp[3] = 0x1d;
	h->sbp[7] = 14;
	h->sbp[8] = 9;
	h->sbp[9] = 12;
	for (size_t i = 0; i < sizeof(to); i++)
		h->sbp[to[i]] = (uint8_t)(NATIVE_MAX >> 8 * i);
	h->sbp[21] = drive->error;
	return 0;
}

TEST(the_native_maximum_is_asked_by_the_command_that_the_drive_has)
{
	static const struct {
		uint8_t word82, word83, word119, error;
		int command;
		uint64_t sectors;
	} cases[] = {
		{ 0, 0x44, 0, 0, 0, 0 },
		{ 4, 0x40, 0, 0, 0, 0 },
		{ 4, 0x44, 0, 0, 0x27, NATIVE_MAX + 1 },
		{ 4, 0x44, 0x40, 0, 0x27, NATIVE_MAX + 1 },
		{ 4, 0x44, 0x41, 0, 0x78, NATIVE_MAX + 1 },
		{ 0, 0x44, 0x41, 0, 0x78, NATIVE_MAX + 1 },
		{ 4, 0x44, 1, 0, 0x27, NATIVE_MAX + 1 },
		{ 4, 0x44, 0x41, 1, 0x78, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct drive ata = { .ask = answer, .way = DRIVE_ATA, .fd = 7 },
				   scsi = { .ask = answer, .way = DRIVE_SCSI, .fd = 7 };

		drive = calloc(1, sizeof(*drive));
		assert_non_null(drive);
		drive->id[165] = cases[i].word82;
		drive->id[167] = cases[i].word83;
		drive->id[239] = cases[i].word119;
		drive->error = cases[i].error;
		assert_true(drive_native_sectors(&ata) == cases[i].sectors);
		assert_int_equal(drive->asked, cases[i].command);
		assert_int_equal(drive_native_sectors(&scsi), 0);
		free(drive);
	}
}

TEST(a_drive_behind_a_bridge_and_what_is_hidden_are_named)
{
	static const struct {
		const char *transport;
		uint64_t shown, size, native;
		const char *text; /* in it; "": nothing */
		bool is_other;
	} cases[] = {
		{ "ata", 1000, 1000, 1000, "", false },
		{ "ata", 1000, 1000, 0, "", false },
		{ "ata", 2000000000, 2000000000, 3000000000, "it has 3.00 GB (3000000000 bytes)", true },
		{ "usb", 1000, 1000, 0, "WDC WX1", false },
		{ "usb", 2000000000, 3000000000, 0,
		  "WDC WX1: it has 3.00 GB (3000000000 bytes), and its bridge shows 2.00 GB", true },
		{ "usb", 3000000000, 2000000000, 0, "its bridge shows 3.00 GB", true },
		{ "nvme", 1000, 2000, 0, "", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct device dev = { .disk_size_bytes = cases[i].shown };
		struct device_health h = {
			.model = "WDC", .serial = "WX1", .size_bytes = cases[i].size, .native_bytes = cases[i].native
		};
		char text[DEVICE_ITSELF];

		(void)strcpy(dev.transport, cases[i].transport);
		assert_int_equal(device_itself(&dev, &h, text), cases[i].is_other);
		assert_true(cases[i].text[0] ? strstr(text, cases[i].text) != NULL : !text[0]);
	}
}

TEST(sectors_that_the_kernel_cannot_use_are_named)
{
	for (uint32_t bytes = 512; bytes <= 4224; bytes += 8) {
		struct device dev = {
			.path = "/dev/sdx", .kind = DEVICE_DISK, .logical_block_bytes = 512, .transport = "sas"
		};
		const uint8_t said[8] = { 0, 1, 2, 3, 0, 0, (uint8_t)(bytes >> 8), (uint8_t)bytes };
		struct err err = { 0 };

		identity_capacity(&dev, said, 7);
		assert_int_equal(dev.logical_block_bytes, 512);
		identity_capacity(&dev, said, sizeof(said));
		assert_int_equal(device_check_capacity(&dev, &err), -ENOMEDIUM);
		assert_int_equal(strstr(err.text, textf("sectors of %u bytes", bytes)) != NULL, bytes % 512 != 0);
	}
}

/* ---- identity ---- */

TEST(a_drive_that_manages_its_zones_itself_says_so_in_a_page_that_the_kernel_passes_over)
{
	const uint8_t said[4] = { 0, 1, 2, 3 }; /* SBC-4: not said, host-aware, drive-managed, reserved */

	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		uint8_t page[64] = { 0, 0xb1, 0, 60, 0x16, 0xda, 0, 0, (uint8_t)(said[i] << 4) };
		struct device dev = { .queue.zoned = "none" }, aware = { .queue.zoned = "host-aware" };

		identity_vpd_medium(&dev, page, sizeof(page));
		identity_vpd_medium(&aware, page, sizeof(page));
		assert_string_equal(dev.queue.zoned, said[i] == 2 ? "drive-managed" : "none");
		assert_string_equal(aware.queue.zoned, "host-aware"); /* the kernel knows better */
		assert_int_equal(dev.id.reported_rpm, 5850);
	}
}

TEST(identify_data_with_a_wrong_check_sum_are_not_believed)
{
	struct device dev = { 0 };
	uint8_t id[512] = { 0 }, sum = 0;

	memcpy(id + 54, "IDKSK ", 6); /* "DISK K" in swapped pairs */
	id[434] = 0x1c;
	id[435] = 0x20; /* 201Ch = 8220 */
	id[510] = 0xa5;
	for (size_t i = 0; i < 511; i++)
		sum = (uint8_t)(sum + id[i]);
	id[511] = (uint8_t)(0 - sum);
	identity_ata(&dev, id, sizeof(id));
	assert_string_equal(dev.id.model, "DISK K");
	assert_int_equal(dev.id.reported_rpm, 8220);
	memset(&dev, 0, sizeof(dev));
	id[434] ^= 1;
	identity_ata(&dev, id, sizeof(id));
	assert_string_equal(dev.id.model, "");
	assert_int_equal(dev.id.reported_rpm, 0);
}
