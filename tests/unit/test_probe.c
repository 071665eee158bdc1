/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices of dumped and hand-made trees: what is said of them must be what is known of them; hostile trees must not
 * hurt. */
#include "test.h"

#include "cases.h"
#include <sys/sysmacros.h>

#include "device/columns.h"
#include "device/device.h"
#include "device/inside.h"
#include "device/steps.h"
#include "dump.h"
#include "folder.h"

static void probe_in(const struct dump *d, const char *path, struct device *ret)
{
	struct err err = { 0 };

	memset(ret, 0xee, sizeof(*ret));
	if (device_system.probe(CTX(d), path, ret, &err) != 0)
		fail_msg("%s", err.text);
}

/* One device of one dump. */
static void probe(const char *dump, const char *path, struct device *ret)
{
	DUMP(d, dump);

	probe_in(&d, path, ret);
}

#define SATA     PCI "/ata1/link1/ata_link/link1/"
#define S15      SATA "sata_spd", "1.5 Gbps"
#define PORT6    SATA "hw_sata_spd_limit", "6.0 Gbps"
#define PCIE     PCI "/current_link_speed", "2.5 GT/s PCIe"
#define S60      SATA "sata_spd", "6.0 Gbps"
#define WORDS_19 "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
#define DRIVE    PCI "/ata1/link1/dev1.0/ata_device/dev1.0/id", WORDS_19 WORDS_19 WORDS_19 WORDS_19
#define PCI      "sys/devices/pci0000:00/0000:00:17.0"
#define USB      "sys/devices/pci0000:00/0000:00:14.0/usb2/2-3"

/* What is set in a tree, and what the link is by that: the slowest, after its code. */
TEST(the_slowest_link_to_a_disk_is_known_by_what_it_carries)
{
	static const struct {
		const char *dump, *path;
		struct {
			const char *path, *text;
		} set[4];
		const char *link;
		uint64_t carries, could;
	} v[] = {
		{ "sata-512e", "/dev/sda", { { NULL, NULL } }, "", 0, 0 },
		{ "sata-512e", "/dev/sda", { { SATA "sata_spd", "<unknown>" } }, "", 0, 0 },
		{ "sata-512e", "/dev/sda", { { S60 } }, "SATA 6.0 Gbps", 600000000, 0 },
		{ "sata-512e", "/dev/sda", { { S15 }, { PORT6 } }, "SATA 1.5 Gbps", 150000000, 0 },
		{ "sata-512e",
		  "/dev/sda2",
		  { { S15 }, { PORT6 }, { DRIVE "850e" } },
		  "SATA 1.5 Gbps",
		  150000000,
		  600000000 },
		{ "sata-512e",
		  "/dev/sda",
		  { { PCIE }, { PCI "/current_link_width", "1" }, { S60 } },
		  "PCIe 2.5 GT/s x1",
		  250000000,
		  0 },
		{ "usb-serial", "/dev/sdc", { { USB "/speed", "480" } }, "USB 480 Mbit/s", 53248000, 0 },
		{ "usb-serial", "/dev/sdc", { { USB "/speed", "5000" } }, "USB 5000 Mbit/s", 500000000, 0 },
		{ "usb-serial", "/dev/sdc", { { USB "/speed", "10000" } }, "USB 10000 Mbit/s", 1212121212, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		struct device dev;
		DUMP(d, v[i].dump);

		for (size_t k = 0; k < 4 && v[i].set[k].path; k++)
			dump_set(&d, v[i].set[k].path, v[i].set[k].text);
		probe_in(&d, v[i].path, &dev);
		assert_string_equal(dev.way.link, v[i].link);
		assert_int_equal(dev.way.link_bytes_per_s / 10, v[i].carries / 10);
		assert_int_equal(dev.way.link_max_bytes_per_s, v[i].could);
	}
}

/* The columns of a row as "key=text|key=text"; a number that is not known is "". */
static void assert_row(const struct device *dev, const char *want)
{
	struct device_row row;
	char copy[700], *save = NULL;

	device_row(dev, &row);
	(void)snprintf(copy, sizeof(copy), "%s", want);
	for (char *word = strtok_r(copy, "|", &save); word; word = strtok_r(NULL, "|", &save)) {
		char *is = strchr(word, '='), number[32] = "";
		const struct field *f = device_fields;
		const void *at;

		*is++ = '\0';
		while (f->type != FIELD_TYPE_END && strcmp(f->key, word) != 0)
			f++;
		assert_int_not_equal(f->type, FIELD_TYPE_END);
		at = (const char *)&row + f->offset;
		if (f->type == FIELD_TYPE_STR) {
			const char *text = *(const char *const *)at;

			if (strcmp(text ? text : "", is) != 0)
				fail_msg("%s: %s is '%s', not '%s'", dev->path, word, text, is);
			continue;
		}
		if (*(const uint64_t *)at != UINT64_MAX)
			(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)*(const uint64_t *)at);
		if (strcmp(number, is) != 0)
			fail_msg("%s: %s is %s, not %s", dev->path, word, number, is);
	}
}

TEST(every_dump_is_read_as_its_machine_was_built)
{
	struct cases c = cases_open(TEST_DATA "/cases/devices");

	while (cases_next(&c)) {
		const char *dump = cases_field(&c), *path = cases_field(&c);
		struct device dev;

		probe(dump, path, &dev);
		assert_row(&dev, cases_field(&c));
		assert_int_equal(dev.is_cdrom, strcmp(path, "/dev/sr0") == 0);
	}
	assert_true(c.n > 25);
}

/* Nodes of folders are named with "!" in sysfs. */
TEST(numbers_and_nodes_are_the_kernels)
{
	struct device dev;
	DUMP(d, "odd");

	assert_int_equal(device_system.probe(CTX(&d), "/dev/c0d0", &dev, NULL), -ENOENT);
	probe_in(&d, "/dev/cciss!c0d0", &dev);
	assert_string_equal(dev.node, "/dev/cciss/c0d0");
	probe("sata-512e", "/dev/disk/by-id/ata-ST4000DM004-2CV104_ZFN12345-part2", &dev);
	assert_string_equal(dev.node, "/dev/sda2");
	assert_int_equal(dev.id.partition, 2);
	assert_int_equal(dev.diskseq, 3);
	assert_true(dev.rdev == makedev(8, 2) && dev.disk_rdev == makedev(8, 0));
	probe("stack", "/dev/sdf", &dev); /* two paths to one disk */
	assert_true(dev.id.serial_is_shared && dev.id.has_twin);
}

/* On a disk with so many ranges, the last of this size. */
static size_t ranges_of(struct dump *d, const char *path, size_t n, const char *last, struct device *ret)
{
	for (size_t i = 0; i < n; i++) {
		const char *queue =
			textf("sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda/queue/"
		              "independent_access_ranges/%zu/",
		              i);

		dump_set(d, textf("%ssector", queue), i ? "3907018584\n" : "0\n");
		dump_set(d, textf("%snr_sectors", queue), i + 1 < n ? "3907018584\n" : last);
	}
	probe_in(d, path, ret);
	return ret->nranges;
}

TEST(arms_of_their_own_are_ranges_of_the_disk)
{
	struct device_row row;
	struct device dev;
	DUMP(d, "sata-512e");

	assert_int_equal(ranges_of(&d, "/dev/sda", 0, NULL, &dev), 0);
	device_row(&dev, &row);
	assert_null(row.access_ranges);
	assert_int_equal(ranges_of(&d, "/dev/sda", 2, "3907018584\n", &dev), 2);
	assert_int_equal(dev.ranges[1].first_byte + dev.ranges[1].bytes, dev.size_bytes);
	device_row(&dev, &row);
	assert_string_equal(row.access_ranges, "0+2000393515008 2000393515008+2000393515008");
	assert_int_equal(ranges_of(&d, "/dev/sda2", 2, "3907018584\n", &dev), 2); /* they are the disk's */
	/* one that is not whole, or too large, or more than there may be: nothing is known */
	assert_int_equal(ranges_of(&d, "/dev/sda", 2, "0\n", &dev), 0);
	assert_int_equal(ranges_of(&d, "/dev/sda", 2, "36028797018963967\n", &dev), 0);
	assert_int_equal(ranges_of(&d, "/dev/sda", DEVICE_RANGES_MAX + 1, "3907018584\n", &dev), 0);
}

static bool is_consent(const struct device *dev, const char *name)
{
	struct consent_names names;

	consent_names(dev, &names);
	for (size_t i = 0; i < names.n; i++)
		if (strcmp(names.v[i], name) == 0)
			return true;
	return false;
}

TEST(one_world_wide_name_and_two_serial_numbers_are_two_disks)
{
	static const char *const cases[][6] = {
		{ "dock", "/dev/sda", "/dev/sdb", "WD-WX10000AAAAA", "WD-WX10000BBBBB", "naa.5000000000000001" },
		{ "nvme-eui", "/dev/nvme0n1", "/dev/nvme1n1", "2K07201234500", "2K07201234501",
		  "eui.6479a72be0000000" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct disk_names x, y;
		struct device a, b;

		probe(cases[i][0], cases[i][1], &a);
		probe(cases[i][0], cases[i][2], &b);
		device_names(&a, &x);
		device_names(&b, &y);
		assert_int_equal(same_disk(&x, &y, NULL), DISK_OTHER);
		assert_false(identity_is_twin(&a, &b));
		assert_true(a.id.wwn_is_shared && !a.id.has_twin && !a.id.serial_is_shared);
		for (size_t k = 3; k < 6; k++) {
			assert_int_equal(is_consent(&a, cases[i][k]), k == 3);
			assert_int_equal(is_consent(&b, cases[i][k]), k == 4);
		}
	}
}

TEST(names_of_mappings_are_compared_to_their_last_character)
{
	static const char name[] =
		"ceph--block--0f0e0d0c--0b0a--0908--0706--050403020100-osd--block--11111111--2222--3333--"
		"4444--55555555555";
	struct device dev;

	for (int i = 0; i < 2; i++) {
		const char *whole = textf("%s%d", name, i);

		probe("dm-long", i ? "/dev/dm-1" : "/dev/dm-0", &dev);
		assert_string_equal(dev.id.alias, whole);
		assert_true(is_consent(&dev, whole));
		assert_false(is_consent(&dev, textf("%s%d", name, !i)));
		for (int n = 0; n < (int)strlen(whole); n++)
			assert_false(is_consent(&dev, textf("%.*s", n, whole)));
	}
}

/* The longest that kernels show: 72 and more of T10, 140 of NVMe, 252 of page 80h; what is longer still is no name. */
TEST(a_name_is_kept_whole_or_not_at_all)
{
	char page[2 * 300];
	struct device dev;
	DUMP(d, "dock");

	for (size_t n = 60; n < 320; n++) {
		const char *text = textf("t10.%0*d%zu", (int)n, 7, n);

		dump_set(&d, "sys/class/block/sda/device/wwid", text);
		probe_in(&d, "/dev/sda", &dev);
		assert_string_equal(dev.id.wwn, strlen(text) < sizeof(dev.id.wwn) ? text : "");
	}
	(void)snprintf(page, sizeof(page), "008000fc");
	for (int i = 0; i < 252; i++)
		(void)snprintf(page + 8 + 2 * i, sizeof(page) - 8 - 2 * (size_t)i, "%02x", 'A' + i % 23);
	dump_hex(&d, "sys/class/block/sda/device/vpd_pg80", page);
	probe_in(&d, "/dev/sda", &dev);
	assert_int_equal(strlen(dev.id.serial), 252);
	assert_true(is_consent(&dev, dev.id.serial));
}

TEST(the_serial_number_of_a_usb_device_stands_for_its_disk_while_it_has_one)
{
	struct device dev;
	DUMP(d, "usb-serial");

	probe_in(&d, "/dev/sdc", &dev);
	assert_string_equal(dev.id.serial, "575835314139394E");
	assert_true(dev.id.serial_is_bridges && !dev.id.serial_is_shared);
	assert_true(is_consent(&dev, "575835314139394E"));
	/* a second bay of the same bridge */
#define BAY "devices/pci0000:00/0000:00:14.0/usb2/2-3/2-3:1.0/host4/target4:0:0/4:0:0:1/block/sdd"
	dump_set(&d, "sys/" BAY "/dev", "8:48\n");
	dump_set(&d, "sys/" BAY "/size", "3907029168\n");
	dump_set(&d, "sys/" BAY "/device/model", "Elements 25A2\n");
	dump_link(&d, "sys/class/block/sdd", "../../" BAY);
	dump_link(&d, "sys/dev/block/8:48", "../../" BAY);
	probe_in(&d, "/dev/sdc", &dev);
	assert_true(dev.id.serial_is_shared && !dev.id.has_twin);
	assert_false(is_consent(&dev, "575835314139394E"));
	/* a number that all sticks of a make have */
	dump_set(&d, "sys/devices/pci0000:00/0000:00:14.0/usb2/2-3/serial", "0123456789ABCDEF\n");
	dump_link(&d, "dev/disk/by-id/usb-WD_Elements_0123456789ABCDEF-0:0", "../../sdc");
	probe_in(&d, "/dev/sdc", &dev);
	assert_false(is_consent(&dev, "0123456789ABCDEF"));
	assert_false(is_consent(&dev, "usb-WD_Elements_0123456789ABCDEF-0:0"));
}

TEST(a_capacity_of_0_has_one_sentence_with_its_cause)
{
	static const char *const cases[][3] = {
		{ "capacity-zero", "/dev/nvme0n1", "metadata" },
		{ "capacity-zero", "/dev/sdd", "520 or 528" },
		{ "odd", "/dev/sdd", "no medium" },
	};
	struct device dev, *all;
	struct survey none = { 0 };
	cleanup_dump struct dump d = { 0 };
	size_t n;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 }, gate = { 0 };

		probe(cases[i][0], cases[i][1], &dev);
		assert_int_equal(device_check_capacity(&dev, &err), -ENOMEDIUM);
		assert_non_null(strstr(err.text, "has a capacity of 0: "));
		assert_non_null(strstr(err.text, cases[i][2]));
		assert_int_equal(permit_would(&dev, &none, WRITE_DESTROY, NULL, &gate), -EPERM);
		assert_non_null(strstr(gate.text, err.text));
	}
	probe("sata-512e", "/dev/sda", &dev);
	assert_int_equal(device_check_capacity(&dev, NULL), 0);
	dump_open(&d, "capacity-zero");
	assert_int_equal(device_system.list(CTX(&d), &all, &n, NULL), 0);
	assert_int_equal(n, 2);
	free(all);
}

TEST(without_sysfs_no_disk_is_not_none)
{
	struct device *all;
	struct err err = { 0 };
	size_t n;
	DUMP(d, NULL);

	assert_int_equal(device_system.list(CTX(&d), &all, &n, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/sys/class/block"));
}

TEST(partitions_come_in_the_order_of_their_places)
{
	struct device disk, *parts;
	size_t n;
	DUMP(d, "sata-512e");

	probe_in(&d, "/dev/sda", &disk);
	assert_int_equal(device_system.partitions(CTX(&d), &disk, &parts, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_string_equal(parts[0].name, "sda1");
	assert_string_equal(parts[1].name, "sda2");
	assert_string_equal(parts[2].name, "sda10");
	free(parts);
}

TEST(counters_are_bytes_and_nanoseconds)
{
	struct device_io io;
	struct device dev;
	DUMP(d, "sata-512e");

	probe_in(&d, "/dev/sda1", &dev);
	assert_int_equal(device_system.io(CTX(&d), &dev, &io), -ENOENT);
	dump_set(&d, "sys/class/block/sda/stat", "   11  1  16  40  5  2  24  60  3  70  100  0 0 0 0 0 0\n");
	assert_int_equal(device_system.io(CTX(&d), &dev, &io), 0);
	assert_int_equal(io.reads, 11);
	assert_int_equal(io.read_bytes, 16 * 512);
	assert_int_equal(io.read_ns, 40000000);
	assert_int_equal(io.writes, 5);
	assert_int_equal(io.written_bytes, 24 * 512);
	assert_int_equal(io.write_ns, 60000000);
	assert_int_equal(io.in_flight, 3);
	assert_int_equal(io.busy_ns, 70000000);
	assert_int_equal(io.queue_ns, 100000000);
}

/* ---- a device that goes ---- */

TEST(a_disk_whose_entry_or_number_changed_is_not_there)
{
	struct device dev;
	DUMP(d, "sata-512e");

	probe_in(&d, "/dev/sda", &dev);
	assert_true(device_system.is_there(CTX(&d), &dev, -1));
	dump_set(&d, "sys/class/block/sda/diskseq", "4\n"); /* another disk took the name */
	assert_false(device_system.is_there(CTX(&d), &dev, -1));
	dump_set(&d, "sys/class/block/sda/diskseq", "3\n");
	assert_true(device_system.is_there(CTX(&d), &dev, -1));
	assert_int_equal(unlink(textf("%s/sys/dev/block/8:0", d.root)), 0);
	assert_false(device_system.is_there(CTX(&d), &dev, -1));
}

TEST(the_temperature_is_what_hwmon_says)
{
	static const char *const places[] = { "sys/class/block/sda/device/hwmon/hwmon3/temp1_input",
		                              "sys/class/block/sda/device/hwmon7/temp1_input" };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct device dev;
		struct device_row row;
		DUMP(d, "sata-512e");

		probe_in(&d, "/dev/sda", &dev);
		device_row(&dev, &row);
		assert_true(isnan(row.temperature_celsius));
		dump_set(&d, places[i], "38500\n");
		probe_in(&d, "/dev/sda", &dev);
		device_row(&dev, &row);
		assert_true(row.temperature_celsius == 38.5);
	}
}

/* ---- hostile contents ---- */

static const char attributes[] =
	"dev size ro removable alignment_offset diskseq queue/logical_block_size queue/physical_block_size "
	"queue/max_sectors_kb queue/max_segment_size queue/read_ahead_kb queue/scheduler queue/rotational queue/zoned "
	"device/model device/vendor device/rev device/vpd_pg80 device/vpd_pg89 device/vpd_pgb1 device/wwid dm/name "
	"loop/backing_file stat ";

/* Text that ends, printable, no block size that arithmetic cannot trust. */
static void assert_sane(const struct device *dev)
{
#define TEXT(t)              \
	{                    \
		t, sizeof(t) \
	}
	const struct {
		const char *text;
		size_t room;
	} texts[] = { TEXT(dev->id.model),    TEXT(dev->id.serial), TEXT(dev->id.firmware),
		      TEXT(dev->id.wwn),      TEXT(dev->id.vendor), TEXT(dev->queue.scheduler),
		      TEXT(dev->queue.zoned), TEXT(dev->id.alias),  TEXT(dev->id.below) };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		size_t n = strnlen(texts[i].text, texts[i].room);

		assert_true(n < texts[i].room);
		for (size_t k = 0; k < n; k++)
			assert_in_range((unsigned char)texts[i].text[k], 0x20, 0x7e);
	}
	assert_in_range(dev->logical_block_bytes, 1, 1u << 20);
	assert_int_equal(dev->logical_block_bytes & (dev->logical_block_bytes - 1), 0);
	assert_true(dev->physical_block_bytes >= dev->logical_block_bytes);
}

TEST(whatever_an_attribute_holds_the_device_stays_sane)
{
	static char huge[1 << 20];
	static const char binary[] = "\xff\xfe\x80\x01\x02\n\x7f\x1b[31m";
	static const char *const texts[] = {
		"",       "\n",   "-1\n", "18446744073709551615\n", "99999999999999999999999999\n", "0x\n", "12abc\n",
		"[[[]\n", "3:\n", binary
	};
	const size_t n = ARRAY_LEN(texts);

	memset(huge, '9', sizeof(huge));
	for (const char *at = attributes; *at; at += strcspn(at, " ") + 1) {
		const char *path = textf("sys/class/block/sda/%.*s", (int)strcspn(at, " "), at);
		DUMP(d, "sata-512e");

		for (size_t c = 0; c <= n; c++) {
			struct survey found = { 0 };
			struct device_io io;
			struct device dev;

			dump_write(&d, path, c < n ? texts[c] : huge, c < n ? strlen(texts[c]) : sizeof(huge), "we");
			if (device_system.probe(CTX(&d), "/dev/sda", &dev, NULL) != 0) {
				assert_memory_equal(at, "dev ", 4); /* without its number it is no device */
				continue;
			}
			assert_sane(&dev);
			(void)device_system.io(CTX(&d), &dev, &io);
			if (device_system.survey(CTX(&d), &dev, &found, NULL) == 0)
				survey_done(&found);
		}
	}
}

TEST(a_missing_attribute_leaves_its_field_unknown)
{
	struct device dev;
	DUMP(d, NULL);

	dump_set(&d, "sys/devices/x/block/sdz/dev", "8:400\n");
	dump_set(&d, "sys/class/block/.keep", "");
	dump_set(&d, "sys/dev/block/.keep", "");
	assert_int_equal(symlink("../../devices/x/block/sdz", textf("%s/sys/class/block/sdz", d.root)), 0);
	probe_in(&d, "/dev/sdz", &dev);
	assert_int_equal(dev.rotational, -1);
	assert_int_equal(dev.size_bytes, 0);
	assert_int_equal(dev.logical_block_bytes, 512);
	assert_int_equal(dev.id.reported_rpm, 0);
	assert_string_equal(dev.id.model, "");
	assert_string_equal(dev.transport, "");
}

TEST(random_pages_never_hurt)
{
	struct rng rng;
	uint8_t page[1024];

	rng_init(&rng, 1, 1);
	for (unsigned round = 0; round < 20000; round++) {
		struct device dev = { .rotational = -1 };
		size_t len = (size_t)rng_below(&rng, sizeof(page) + 1);
		uint8_t *exact = malloc(len ? len : 1); /* so that a sanitizer sees a byte too far */

		for (size_t i = 0; i < len; i++)
			exact[i] = (uint8_t)rng_u64(&rng);
		if (len > 4 && round % 2) {
			static const uint8_t codes[] = { 0x80, 0x89, 0xb1 };

			exact[1] = codes[round % 3];
			exact[2] = (uint8_t)rng_below(&rng, 4);
		}
		identity_vpd_serial(&dev, exact, len);
		identity_vpd_ata(&dev, exact, len);
		identity_vpd_medium(&dev, exact, len);
		identity_ata(&dev, exact, len);
		dev.logical_block_bytes = dev.physical_block_bytes = 512;
		assert_sane(&dev);
		free(exact);
	}
}

TEST(every_field_of_a_row_has_a_key_of_its_own)
{
	struct device_row row;
	struct device dev;
	size_t n = 0;

	probe("sata-512e", "/dev/sda", &dev);
	device_row(&dev, &row);
	for (const struct field *f = device_fields; f->type != FIELD_TYPE_END; f++, n++)
		for (const struct field *g = f + 1; g->type != FIELD_TYPE_END; g++)
			assert_string_not_equal(f->key, g->key);
	assert_true(n > 20);
	assert_string_equal(row.kind, "disk");
	assert_null(row.fs_type); /* unknown is null, not "" */
}

/* ---- files, on the real root ---- */

TEST(a_folder_and_a_file_know_their_file_system)
{
	struct device_context ctx = { .sysroot = "/" };
	const char *path, *link;
	struct device dev;
	FOLDER(dir);

	path = textf("%s/file", dir.path);
	link = textf("%s/link", dir.path);
	file_put(path, "0123456789");
	assert_int_equal(symlink("file", link), 0);
	assert_int_equal(device_system.probe(&ctx, dir.path, &dev, NULL), 0);
	assert_int_equal(dev.kind, DEVICE_DIRECTORY);
	assert_true(dev.file.fs_type[0] != '\0');
	assert_true(dev.file.free_bytes > 0);
	assert_int_equal(device_system.probe(&ctx, link, &dev, NULL), 0);
	assert_int_equal(dev.kind, DEVICE_FILE);
	assert_string_equal(dev.name, "file");
	assert_string_equal(dev.node, path);
	assert_int_equal(dev.size_bytes, 10);
	assert_true(dev.file.inode != 0);
}

TEST(what_is_no_target_is_said_in_a_sentence)
{
	struct device_context ctx = { .sysroot = "/" };
	struct device dev;
	struct err err;

	assert_int_equal(device_system.probe(&ctx, "/dev/null", &dev, &err), -ENOTBLK);
	assert_non_null(strstr(err.text, "character device"));
	assert_int_equal(device_system.probe(&ctx, "/nowhere/at/all", &dev, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/at/all"));
}
