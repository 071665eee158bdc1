/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lies at a place: from bytes of a disk up through partitions, mappings and arrays whose tables are made up here.
 */
#include "test.h"

#include <sys/sysmacros.h>

#include "device/inside.h"
#include "device/mapper.h"
#include "dump.h"

/* ---- arrays: a chunk's number is written on each member, as the array lays it out, and read back through the rule
 * ---- */

#define CHUNK 65536u

static void check_array(enum parity parity, uint32_t disks, uint32_t copies, const int *layout, size_t rows)
{
	for (size_t row = 0; row < rows; row++)
		for (uint32_t d = 0; d < disks; d++) {
			const struct spread s = {
				.chunk_bytes = CHUNK, .columns = disks, .column = d, .copies = copies, .parity = parity
			};
			uint64_t upper = 0, bytes = 0;
			bool is_data = spread_up(&s, row * CHUNK + 512, &upper, &bytes);

			assert_int_equal(is_data, layout[row * disks + d] >= 0);
			assert_int_equal(bytes, CHUNK - 512);
			if (is_data)
				assert_int_equal(upper, (uint64_t)layout[row * disks + d] * CHUNK + 512);
		}
}

TEST(arrays_are_read_as_they_are_laid_out)
{
	/* -1: parity. Left-symmetric: it goes from the last disk to the first, and the data begin behind it. */
	static const int raid0[] = { 0, 1, 2, 3, 4, 5 };
	static const int raid4[] = { 0, 1, -1, 2, 3, -1 };
	static const int raid5[] = { 0, 1, 2, -1, 4, 5, -1, 3, 8, -1, 6, 7, -1, 9, 10, 11, 12, 13, 14, -1 };
	static const int raid6[] = { -1, 0, 1, -1, 2, 3, -1, -1, 5, -1, -1, 4, -1, -1, 6, 7, -1, 8, 9, -1 };
	static const int raid10[] = { 0, 0, 1, 1, 2, 2, 3, 3 };
	static const int odd[] = { 0, 0, 1, 1, 2, 2, 3, 3, 4 };

	check_array(PARITY_NONE, 3, 1, raid0, 2);
	check_array(PARITY_LAST, 3, 1, raid4, 2);
	check_array(PARITY_LEFT, 4, 1, raid5, 5);
	check_array(PARITY_LEFT_TWO, 4, 1, raid6, 5);
	check_array(PARITY_NONE, 4, 2, raid10, 2);
	check_array(PARITY_NONE, 3, 2, odd, 3);
}

/* ---- the device mapper ---- */

TEST(lines_of_the_device_mapper_are_understood)
{
	static const struct {
		const char *type, *params;
		bool is_followed;
		size_t n;
		uint64_t lower_sector, columns;
	} lines[] = {
		{ "linear", "8:1 2048", true, 1, 2048, 1 },
		{ "linear", "8:2 2048", true, 0, 0, 1 },
		{ "striped", "3 128 8:2 0 8:1 4096 8:3 0", true, 1, 4096, 3 },
		{ "crypt", "aes-xts-plain64 :64:logon:key 0 8:1 32768 1 allow_discards", true, 1, 32768, 1 },
		{ "dust", "8:1 0 512", true, 1, 0, 1 },
		{ "delay", "8:1 16 5", true, 1, 16, 1 },
		{ "raid", "raid1 3 0 region_size 1024 2 8:5 8:1 8:6 8:7", true, 1, 0, 1 },
		{ "raid", "raid1 3 0 region_size 1024 2 8:1 8:2 8:6 8:7", true, 0, 0, 1 }, /* its log */
		{ "raid", "raid5_ls 3 64 region_size 1024 3 8:5 8:1 8:6 8:7 8:8 8:9", false, 0, 0, 1 },
		{ "thin", "253:2 1", false, 0, 0, 1 },
		{ "striped", "0 0", false, 0, 0, 1 },
		{ "linear", "", true, 0, 0, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct segments s = { 0 };

		assert_int_equal(segments_of_dm(&s, lines[i].type, lines[i].params, 100, 6144, makedev(8, 1)),
		                 lines[i].is_followed);
		assert_int_equal(s.n, lines[i].n);
		if (s.n) {
			assert_int_equal(s.v[0].lower_first, lines[i].lower_sector * 512);
			assert_int_equal(s.v[0].upper_first, 100 * 512);
			assert_int_equal(s.v[0].upper_bytes, 6144 * 512);
			assert_int_equal(s.v[0].lower_bytes, 6144 * 512 / lines[i].columns);
		}
		free(s.v);
	}
}

/* ---- a machine: sda with two partitions, of which sda2 is half of md0, which has a partition as well ---- */

static void block(const struct dump *d, const char *dir, const char *dev, const char *start, const char *size)
{
	char path[256], target[256];

	(void)snprintf(path, sizeof(path), "%s/dev", dir);
	dump_set(d, path, dev);
	(void)snprintf(path, sizeof(path), "%s/size", dir);
	dump_set(d, path, size);
	if (start) {
		(void)snprintf(path, sizeof(path), "%s/start", dir);
		dump_set(d, path, start);
		(void)snprintf(path, sizeof(path), "%s/partition", dir);
		dump_set(d, path, "1\n");
	}
	(void)snprintf(target, sizeof(target), "../../%s", dir + strlen("sys/"));
	(void)snprintf(path, sizeof(path), "sys/class/block%s", strrchr(dir, '/'));
	dump_set(d, "sys/class/block/.keep", "");
	(void)snprintf(path, sizeof(path), "%s/sys/class/block%s", d->root, strrchr(dir, '/'));
	assert_int_equal(symlink(target, path), 0);
	dump_set(d, "sys/dev/block/.keep", "");
	(void)snprintf(path, sizeof(path), "%s/sys/dev/block/%.*s", d->root, (int)strcspn(dev, "\n"), dev);
	assert_int_equal(symlink(target, path), 0);
}

static const struct content *at(const struct contents *c, uint64_t byte)
{
	for (size_t i = 0; i < c->n; i++)
		if (byte >= c->v[i].first_bytes && byte < c->v[i].end_bytes)
			return &c->v[i];
	fail_msg("nobody holds byte %llu", (unsigned long long)byte);
	return NULL;
}

TEST(a_place_is_followed_up_to_what_nothing_lies_over)
{
	struct device dev = { .rdev = makedev(8, 0), .name = "sda", .path = "/dev/sda" };
	const struct device_range places[] = {
		{ 0, 512 },
		{ 2048 * 512 + 4096, 4096 },
		{ 400000ull * 512, 512 },                      /* behind sda1 */
		{ (500000 + 2048) * 512ull + 65536, 1 << 20 }, /* md0, 16 chunks */
		{ 500000 * 512ull, 512 },                      /* md's super block */
		{ 950100 * 512ull, 3000 * 512 }
	}; /* a mapping: as it is, then its stripes, then no more */
	const struct content_question q = { .places = places, .n = 6 };
	struct contents c = { 0 };
	struct err err;
	DUMP(d, NULL);

	block(&d, "sys/devices/x/block/sda", "8:0\n", NULL, "1000000\n");
	block(&d, "sys/devices/x/block/sda/sda1", "8:1\n", "2048\n", "300000\n");
	block(&d, "sys/devices/x/block/sda/sda2", "8:2\n", "500000\n", "400000\n");
	block(&d, "sys/devices/virtual/block/md0", "9:0\n", NULL, "700000\n");
	block(&d, "sys/devices/virtual/block/md0/md0p1", "259:0\n", "256\n", "600000\n");
	dump_set(&d, "sys/devices/x/block/sda/sda2/holders/md0", "");
	dump_set(&d, "sys/devices/virtual/block/md0/md/level", "raid0\n");
	dump_set(&d, "sys/devices/virtual/block/md0/md/chunk_size", "65536\n");
	dump_set(&d, "sys/devices/virtual/block/md0/md/raid_disks", "2\n");
	dump_set(&d, "sys/devices/virtual/block/md0/md/dev-sda2/slot", "1\n");
	dump_set(&d, "sys/devices/virtual/block/md0/md/dev-sda2/offset", "2048\n");
	dump_set(&d, "sys/devices/virtual/block/md0/md/dev-sda2/size", "180000\n");
	block(&d, "sys/devices/x/block/sda/sda3", "8:3\n", "950000\n", "40000\n");
	block(&d, "sys/devices/virtual/block/dm-0", "253:0\n", NULL, "5000\n");
	dump_set(&d, "sys/devices/x/block/sda/sda3/holders/dm-0", "");
	dump_set(&d, "sys/devices/virtual/block/dm-0/slaves/sda3", "");
	dump_set(&d, "sys/devices/virtual/block/dm-0/dm/name", "vg-home\n");
	dump_set(&d, "sys/devices/virtual/block/dm-0/dm/table",
	         "0 1000 linear 8:3 100\n1000 2000 striped 2 128 8:3 1100 8:9 0\n");
	dump_set(&d, "proc/self/mountinfo", "");
	dump_set(&d, "proc/swaps",
	         "Filename Type Size Used Priority\n/dev/sda1 partition 100 0 -2\n/dev/dm-0 partition 100 0 -2\n");
	if (device_system.contents(CTX(&d), &dev, &q, &c, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(at(&c, 0)->kind, CONTENT_OUTSIDE);
	assert_string_equal(at(&c, 0)->on, "sda");
	assert_int_equal(at(&c, 2048 * 512 + 4096)->kind, CONTENT_SWAP);
	assert_string_equal(at(&c, 2048 * 512 + 4096)->on, "sda > sda1");
	assert_int_equal(at(&c, 400000ull * 512)->kind, CONTENT_OUTSIDE);
	assert_int_equal(at(&c, 500000ull * 512)->kind, CONTENT_OUTSIDE);
	assert_string_equal(at(&c, 500000ull * 512)->on, "sda > sda2");
	for (uint64_t x = 0; x < 1 << 20; x += 512)
		assert_string_equal(at(&c, places[3].first_byte + x)->on, "sda > sda2 > md0 > md0p1");
	for (uint64_t sector = 950100; sector < 953100; sector++) {
		const struct content *here = at(&c, sector * 512);

		assert_int_equal(here->kind, sector < 952100 ? CONTENT_SWAP : CONTENT_OUTSIDE);
		assert_string_equal(here->on, sector < 952100 ? "sda > sda3 > vg-home" : "sda > sda3");
	}
	content_list_done(&c);
	/* A mirror; and what is laid out in a way that is not followed. */
	dump_set(&d, "sys/devices/virtual/block/md0/md/level", "raid1\n");
	assert_int_equal(device_system.contents(CTX(&d), &dev, &q, &c, &err), 0);
	assert_string_equal(at(&c, places[3].first_byte + 65536)->on, "sda > sda2 > md0 > md0p1");
	content_list_done(&c);
	dump_set(&d, "sys/devices/virtual/block/md0/md/level", "raid5\n");
	dump_set(&d, "sys/devices/virtual/block/md0/md/layout", "0\n");
	assert_int_equal(device_system.contents(CTX(&d), &dev, &q, &c, &err), 0);
	assert_int_equal(at(&c, places[3].first_byte)->kind, CONTENT_UNKNOWN);
	assert_string_equal(at(&c, places[3].first_byte)->on, "sda > sda2 > md0");
	content_list_done(&c);
}
