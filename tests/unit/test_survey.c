/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who uses a device, in a dump of a machine where everything is stacked on everything (tests/data/sysfs/stack.dump). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/cleanup.h"
#include "device/device.h"
#include "dump.h"

struct expect {
	enum finding_kind kind;
	const char *on, *what, *where; /* NULL: any */
};

static bool is_it(const struct finding *f, const struct expect *e)
{
	return f->kind == e->kind && strcmp(f->on, e->on) == 0 && (!e->what || strcmp(f->what, e->what) == 0) &&
	       (!e->where || strcmp(f->where, e->where) == 0);
}

static void look(const char *dump, const char *path, struct survey *ret)
{
	struct device_context ctx;
	struct device dev;
	struct err err = { 0 };
	struct dump d;

	dump_open(&d, dump);
	ctx.sysroot = d.root;
	*ret = (struct survey){ 0 };
	if (device_system.probe(&ctx, path, &dev, &err) != 0 || device_system.survey(&ctx, &dev, ret, &err) != 0)
		fail_msg("%s", err.text);
	dump_close(&d);
}

/* Exactly these findings, in any order. */
static void assert_findings(const char *dump, const char *path, const struct expect *e, size_t n)
{
	struct survey found;

	look(dump, path, &found);
	for (size_t i = 0; i < n; i++) {
		bool is_there = false;

		for (size_t k = 0; k < found.n && !is_there; k++)
			is_there = is_it(&found.v[k], &e[i]);
		if (!is_there)
			fail_msg("%s: not found: %s on %s", path, finding_kind_name(e[i].kind), e[i].on);
	}
	for (size_t k = 0; k < found.n; k++) {
		bool is_expected = false;

		for (size_t i = 0; i < n && !is_expected; i++)
			is_expected = is_it(&found.v[k], &e[i]);
		if (!is_expected)
			fail_msg("%s: found but not true: %s on %s, %s, %s", path, finding_kind_name(found.v[k].kind),
			         found.v[k].on, found.v[k].what, found.v[k].where);
	}
	assert_int_equal(found.n, n);
	survey_done(&found);
}
#define FINDINGS(dump, path, ...)                                           \
	assert_findings(dump, path, (const struct expect[]){ __VA_ARGS__ }, \
	                sizeof((const struct expect[]){ __VA_ARGS__ }) / sizeof(struct expect))

static void a_disk_answers_for_all_that_is_stacked_on_it(void **state)
{
	(void)state;
	FINDINGS("stack", "/dev/sda", { FINDING_MOUNT, "sda1", "ext4", "/data" },
	         { FINDING_MOUNT, "sda1", "ext4", "/data2" },           /* a bind mount */
	         { FINDING_LOOP, "sda1", "loop0", "/data/disk image" }, /* a file on its file system */
	         { FINDING_HOLDER, "sda2", "dm-0 (crypt-two)", NULL },
	         { FINDING_HOLDER, "dm-0", "dm-1 (vg-home)", NULL }, { FINDING_MOUNT, "dm-1", "xfs", "/home" },
	         { FINDING_SWAP, "dm-1", "swap file", "/home/swap file" },
	         { FINDING_SWAP, "sda3", "swap partition", "/dev/sda3" });
}

static void a_partition_answers_for_itself_only(void **state)
{
	(void)state;
	FINDINGS("stack", "/dev/sda1", { FINDING_MOUNT, "sda1", "ext4", "/data" },
	         { FINDING_MOUNT, "sda1", "ext4", "/data2" }, { FINDING_LOOP, "sda1", "loop0", "/data/disk image" });
	assert_findings("sata-512e", "/dev/sda10", NULL, 0);
}

static void a_partition_answers_for_one_that_overlaps_it(void **state)
{
	(void)state;
	FINDINGS("stack", "/dev/sda4", { FINDING_SWAP, "sda3", "swap partition", "/dev/sda3" });
}

static void members_of_arrays_and_mappings_are_held(void **state)
{
	(void)state;
	FINDINGS("stack", "/dev/sdb", { FINDING_HOLDER, "sdb", "md0", NULL });
	FINDINGS("stack", "/dev/dm-0", { FINDING_HOLDER, "dm-0", "dm-1 (vg-home)", NULL },
	         { FINDING_MOUNT, "dm-1", "xfs", "/home" }, { FINDING_SWAP, "dm-1", "swap file", "/home/swap file" });
	assert_findings("stack", "/dev/md0", NULL, 0);
}

static void every_device_of_a_btrfs_is_mounted(void **state)
{
	(void)state;
	FINDINGS("stack", "/dev/sdd", { FINDING_MOUNT, "sdd", "btrfs", "/pool" });
	FINDINGS("stack", "/dev/sde", { FINDING_MOUNT, "sde", "btrfs of several devices", NULL });
}

static void another_path_to_the_same_disk_counts(void **state)
{
	(void)state;
	FINDINGS("stack", "/dev/sdf", { FINDING_MOUNT, "sdg", "ext4", "/via-other-path" });
}

static void loop_devices_are_looked_through_both_ways(void **state)
{
	(void)state;
	FINDINGS("stack", "/dev/sdh", { FINDING_LOOP, "sdh", "loop1", "/dev/sdh" },
	         { FINDING_MOUNT, "loop1", "ext4", "/over loop" });
	FINDINGS("stack", "/dev/loop1", { FINDING_MOUNT, "loop1", "ext4", "/over loop" });
	assert_findings("stack", "/dev/loop0", NULL, 0); /* the file system that its file lies on is no obstacle */
}

static void the_root_file_system_is_found_by_number_whatever_its_source_is_called(void **state)
{
	(void)state;
	FINDINGS("sata-512e", "/dev/sda", { FINDING_MOUNT, "sda2", "ext4", "/" },
	         { FINDING_MOUNT, "sda1", "vfat", "/boot dir" });
}

static void zones_and_write_protection_are_findings(void **state)
{
	(void)state;
	FINDINGS("emulated", "/dev/sde", { FINDING_ZONED, "sde", "host-managed", NULL });
	FINDINGS("emulated", "/dev/sr0", { FINDING_READ_ONLY, "sr0", NULL, NULL });
}

static void a_real_array_member_and_mapping_are_seen(void **state)
{
	(void)state;
	FINDINGS("emulated", "/dev/sda", { FINDING_HOLDER, "sda", "md0", NULL });
	FINDINGS("emulated", "/dev/sdb2", { FINDING_HOLDER, "sdb2", "dm-0 (vg-home)", NULL });
}

/* Consent, signature and all: what lies under a mapping or an array is not written, neither destroyed nor put back. */
static void what_a_mapping_or_an_array_holds_is_refused_whatever_is_consented(void **state)
{
	static const struct {
		const char *dump, *path, *name, *says, *advice;
	} held[] = {
		{ "emulated", "/dev/sdb2", "sdb2", "sdb2 is part of dm-0 (vg-home)", "dmsetup remove" },
		{ "stack", "/dev/sda2", "sda2", "sda2 is part of dm-0 (crypt-two)", "cryptsetup close" },
		{ "stack", "/dev/sda", "sda", "sda2 is part of dm-0 (crypt-two)", "vgchange -an" },
		{ "stack", "/dev/sdb", "sdb", "sdb is part of md0", "mdadm --stop" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(held); i++) {
		const char *destroy[] = { held[i].name, NULL };
		const struct consent consent = { .destroy = { .v = destroy, .n = 1 } };
		struct device_context ctx;
		struct survey found = { 0 };
		struct device dev;
		struct err err = { 0 };
		struct dump d;

		dump_open(&d, held[i].dump);
		ctx.sysroot = d.root;
		assert_int_equal(device_system.probe(&ctx, held[i].path, &dev, &err), 0);
		assert_int_equal(device_system.survey(&ctx, &dev, &found, &err), 0);
		for (int kind = WRITE_SAME; kind <= WRITE_DESTROY; kind++) {
			assert_int_equal(permit_would(&dev, &found, (enum write_kind)kind, &consent, &err), -EBUSY);
			if (!strstr(err.text, held[i].says) || !strstr(err.text, held[i].advice))
				fail_msg("%s: %s", held[i].path, err.text);
		}
		survey_done(&found);
		dump_close(&d);
	}
}

static void without_the_table_of_mounts_nothing_is_decided(void **state)
{
	struct device_context ctx;
	struct survey found = { 0 };
	struct device dev;
	struct err err;
	struct dump d;
	char path[256];

	(void)state;
	dump_open(&d, "sata-512e");
	ctx.sysroot = d.root;
	assert_int_equal(device_system.probe(&ctx, "/dev/sda", &dev, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/proc/self/mountinfo", d.root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(device_system.survey(&ctx, &dev, &found, &err), -ENOENT);
	assert_non_null(strstr(err.text, "mountinfo"));
	assert_int_equal(found.n, 0);
	dump_close(&d);
}

static void strange_tables_are_survived(void **state)
{
	static char huge[200000];
	const char *const tables[] = {
		"",
		"\n\n\n",
		"- - - -\n",
		"25 1 8:0\n",
		"25 1 8:0 / /x rw -\n",
		"x y z w v u - a b c\n",
		"25 1 99999999999:0 / / rw - ext4 /dev/sda rw\n",
		"25 1 8:0 / \\0 rw - ext4 \\999 rw\n",
		huge,
	};
	struct dump d;

	(void)state;
	memset(huge, 'a', sizeof(huge) - 1);
	dump_open(&d, "sata-512e");
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		struct device_context ctx = { .sysroot = d.root };
		struct survey found = { 0 };
		struct device dev;

		dump_set(&d, "proc/self/mountinfo", tables[i]);
		dump_set(&d, "proc/swaps", tables[i]);
		assert_int_equal(device_system.probe(&ctx, "/dev/sda", &dev, NULL), 0);
		assert_int_equal(device_system.survey(&ctx, &dev, &found, NULL), 0);
		survey_done(&found);
	}
	dump_close(&d);
}

static void every_kind_has_a_name_and_a_sentence(void **state)
{
	char text[512];

	(void)state;
	for (int kind = FINDING_MOUNT; kind <= FINDING_ALIEN; kind++) {
		struct finding f = {
			.kind = (enum finding_kind)kind, .on = "sdq7", .what = "WHAT", .where = "/some/where"
		};

		assert_non_null(finding_kind_name(f.kind));
		assert_string_equal(finding_text(&f, text, sizeof(text)), text);
		assert_true(strlen(text) > 20);
		assert_int_equal(text[strlen(text) - 1], '.');
		assert_null(strchr(text, '{'));
		if (kind != FINDING_ALIEN)
			assert_non_null(strstr(text, "sdq7"));
		finding_text(&f, text, 8); /* cut, but ended */
		assert_int_equal(strlen(text), 7);
	}
}

static void the_same_finding_is_listed_once(void **state)
{
	struct survey s = { 0 };

	(void)state;
	assert_int_equal(survey_add(&s, FINDING_MOUNT, "sda", "ext4", "/"), 0);
	assert_int_equal(survey_add(&s, FINDING_MOUNT, "sda", "ext4", "/"), 0);
	assert_int_equal(survey_add(&s, FINDING_MOUNT, "sda", "ext4", "/home"), 0);
	assert_int_equal(s.n, 2);
	survey_done(&s);
	assert_int_equal(s.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disk_answers_for_all_that_is_stacked_on_it),
		cmocka_unit_test(a_partition_answers_for_itself_only),
		cmocka_unit_test(a_partition_answers_for_one_that_overlaps_it),
		cmocka_unit_test(members_of_arrays_and_mappings_are_held),
		cmocka_unit_test(every_device_of_a_btrfs_is_mounted),
		cmocka_unit_test(another_path_to_the_same_disk_counts),
		cmocka_unit_test(loop_devices_are_looked_through_both_ways),
		cmocka_unit_test(the_root_file_system_is_found_by_number_whatever_its_source_is_called),
		cmocka_unit_test(zones_and_write_protection_are_findings),
		cmocka_unit_test(a_real_array_member_and_mapping_are_seen),
		cmocka_unit_test(what_a_mapping_or_an_array_holds_is_refused_whatever_is_consented),
		cmocka_unit_test(without_the_table_of_mounts_nothing_is_decided),
		cmocka_unit_test(strange_tables_are_survived),
		cmocka_unit_test(every_kind_has_a_name_and_a_sentence),
		cmocka_unit_test(the_same_finding_is_listed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
