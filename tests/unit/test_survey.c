/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who uses a device, in a dump of a machine where everything is stacked on everything (tests/data/sysfs/stack.dump). */
#include "test.h"

#include "cases.h"
#include "device/device.h"
#include "device/inside.h"
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

static void survey_in(const struct dump *d, const char *path, struct device *dev, struct survey *found)
{
	struct err err = { 0 };

	*found = (struct survey){ 0 };
	if (device_system.probe(CTX(d), path, dev, &err) != 0 || device_system.survey(CTX(d), dev, found, &err) != 0)
		fail_msg("%s: %s", path, err.text);
}

static enum finding_kind kind_of(const char *name)
{
	int kind = FINDING_MOUNT;

	while (kind < FINDING_ALIEN && strcmp(finding_kind_name((enum finding_kind)kind), name) != 0)
		kind++;
	return (enum finding_kind)kind;
}

static const char *or_any(const char *word)
{
	return strcmp(word, "?") == 0 ? NULL : word;
}

/* None is listed twice, so where there are more than these, one of them is not true. */
static void assert_all(const char *title, const struct survey *found, size_t n)
{
	if (found->n != n)
		fail_msg("%s: %zu findings, not %zu", title, found->n, n);
}

TEST(a_device_answers_for_all_that_is_stacked_on_it_and_nothing_else)
{
	struct cases c = cases_open(TEST_DATA "/cases/stacked");
	struct survey found = { 0 };
	char title[sizeof(c.title)] = "";
	size_t n = 0;

	while (cases_next(&c)) {
		struct expect e = { 0 };
		const char *kind = cases_field(&c);
		bool is_there = false;

		if (strcmp(title, c.title) != 0) {
			struct device dev;
			char *path = strchr(strcpy(title, c.title), ' ');

			assert_all(title, &found, n);
			survey_done(&found);
			*path = '\0';
			DUMP(d, title);
			survey_in(&d, path + 1, &dev, &found);
			*path = ' ';
			n = 0;
		}
		if (strcmp(kind, "nothing") == 0)
			continue;
		e.kind = kind_of(kind);
		e.on = cases_field(&c);
		e.what = or_any(cases_field(&c));
		e.where = or_any(cases_field(&c));
		for (size_t k = 0; k < found.n; k++)
			is_there = is_there || is_it(&found.v[k], &e);
		if (!is_there)
			fail_msg("%s: not found: %s on %s", title, kind, e.on);
		n++;
	}
	assert_all(title, &found, n);
	survey_done(&found);
	assert_true(c.n > 30);
}

/* ---- a dump with more in it ---- */

#define SDF     "sys/devices/pci0000:00/0000:00:17.0/ata6/host6/target6:0:0/6:0:0:0/block/sdf"
#define SDG     "sys/devices/pci0000:00/0000:00:17.0/ata7/host7/target7:0:0/7:0:0:0/block/sdg"
#define VIRTUAL "sys/devices/virtual/block/"

static void dump_block(const struct dump *d, const char *dir, const char *number, const char *size)
{
	char path[300], target[400];

	(void)snprintf(path, sizeof(path), "%s/dev", dir);
	dump_set(d, path, number);
	(void)snprintf(path, sizeof(path), "%s/size", dir);
	dump_set(d, path, size);
	(void)snprintf(target, sizeof(target), "%s/%s", d->root, dir);
	(void)snprintf(path, sizeof(path), "%s/sys/dev/block/%s", d->root, number);
	assert_int_equal(symlink(target, path), 0);
	(void)snprintf(path, sizeof(path), "%s/sys/class/block/%s", d->root, strrchr(dir, '/') + 1);
	assert_int_equal(symlink(target, path), 0);
}

static void dump_part(const struct dump *d, const char *dir, const char *number, const char *start, const char *size)
{
	char path[300];

	dump_block(d, dir, number, size);
	(void)snprintf(path, sizeof(path), "%s/start", dir);
	dump_set(d, path, start);
	(void)snprintf(path, sizeof(path), "%s/partition", dir);
	dump_set(d, path, dir + strlen(dir) - 1);
}

static void dump_folder(const struct dump *d, const char *path)
{
	dump_folders(textf("%s/%s/x", d->root, path));
}

static bool finds(const struct dump *d, const char *path, enum finding_kind kind, const char *on, const char *what)
{
	struct expect e = { kind, on, what, NULL };
	struct survey found;
	struct device dev;
	bool is_there = false;

	survey_in(d, path, &dev, &found);
	for (size_t i = 0; i < found.n; i++)
		is_there = is_there || is_it(&found.v[i], &e);
	survey_done(&found);
	return is_there;
}

/* sdf and sdg are one disk; sdg2 is mounted. */
TEST(a_partition_seen_through_another_path_counts)
{
	DUMP(d, "stack");

	dump_part(&d, SDF "/sdf1", "8:81", "2048", "100000");
	dump_part(&d, SDF "/sdf2", "8:82", "102048", "100000");
	dump_part(&d, SDG "/sdg1", "8:97", "2048", "100000");
	dump_part(&d, SDG "/sdg2", "8:98", "102048", "100000");
	dump_set(&d, "proc/self/mountinfo", "33 25 8:98 / /there rw - ext4 /dev/sdg2 rw\n");
	assert_true(finds(&d, "/dev/sdf2", FINDING_MOUNT, "sdg2", "ext4"));
	assert_false(finds(&d, "/dev/sdf1", FINDING_MOUNT, "sdg2", "ext4"));
	assert_true(finds(&d, "/dev/sdf", FINDING_MOUNT, "sdg2", "ext4"));
	/* the table of partitions was read anew on one path only */
	dump_set(&d, SDG "/sdg2/start", "60000");
	assert_true(finds(&d, "/dev/sdf1", FINDING_MOUNT, "sdg2", "ext4"));
	/* the whole disk is in use there */
	dump_set(&d, "proc/self/mountinfo", "33 25 8:96 / /there rw - ext4 /dev/sdg rw\n");
	assert_true(finds(&d, "/dev/sdf1", FINDING_MOUNT, "sdg", "ext4"));
}

TEST(each_sign_that_two_disks_are_one_is_enough)
{
	static const char page83[] = "00830014"
				     "01010004"
				     "41424344"
				     "01030008"
				     "5000c50011112222";
	char wwid[400];
	DUMP(d, "stack");

	/* page 83h instead of the kernel's wwid: the name of the unit */
	(void)snprintf(wwid, sizeof(wwid), "%s/" SDG "/device/wwid", d.root);
	assert_int_equal(unlink(wwid), 0);
	dump_hex(&d, SDG "/device/vpd_pg83", page83);
	dump_set(&d, SDG "/device/vpd_pg80", "");
	assert_true(finds(&d, "/dev/sdf", FINDING_MOUNT, "sdg", "ext4"));
	/* equal serial numbers and models where one has no world-wide name */
	dump_hex(&d, SDG "/device/vpd_pg83", "00830000");
	dump_hex(&d, SDG "/device/vpd_pg80", "0080000553414d4531");
	assert_false(finds(&d, "/dev/sdf", FINDING_MOUNT, "sdg", "ext4")); /* another model */
	dump_set(&d, SDG "/device/model", "DISK 6");
	assert_true(finds(&d, "/dev/sdf", FINDING_MOUNT, "sdg", "ext4"));
	/* different world-wide names: two disks, whatever their serial numbers are */
	dump_set(&d, SDG "/device/wwid", "naa.5000c50099998888");
	assert_false(finds(&d, "/dev/sdf", FINDING_MOUNT, "sdg", "ext4"));
}

static int common(const struct dump *d, const char *a, const char *b)
{
	struct device_share share;
	struct device devs[2];
	struct err err = { 0 };

	if (device_system.probe(CTX(d), a, &devs[0], &err) != 0 ||
	    device_system.probe(CTX(d), b, &devs[1], &err) != 0 ||
	    device_system.share(CTX(d), devs, 2, &share, &err) != 0)
		fail_msg("%s", err.text);
	if (share.kind != SHARE_NOTHING)
		assert_true(share.a == 0 && share.b == 1);
	return (int)share.kind;
}

TEST(targets_with_bytes_or_a_disk_in_common_are_found)
{
	static const struct {
		const char *dump, *a, *b;
		int kind;
	} pairs[] = {
		{ "stack", "/dev/sda", "/dev/sda", SHARE_BYTES },
		{ "stack", "/dev/sda", "/dev/sda2", SHARE_BYTES },  /* a partition */
		{ "stack", "/dev/sdf", "/dev/sdg", SHARE_BYTES },   /* two paths */
		{ "stack", "/dev/dm-0", "/dev/sda2", SHARE_BYTES }, /* a mapping and what it lies on */
		{ "stack", "/dev/dm-0", "/dev/sda", SHARE_BYTES },
		{ "stack", "/dev/md0", "/dev/sdb", SHARE_BYTES }, /* an array and a member */
		{ "stack", "/dev/sda", "/dev/sdb", SHARE_NOTHING },
		{ "stack", "/dev/sdb", "/dev/sdc", SHARE_NOTHING }, /* members of one array are two disks */
		{ "stack", "/dev/sdd", "/dev/sde", SHARE_NOTHING },
		{ "sata-512e", "/dev/sda1", "/dev/sda2", SHARE_DISK },
		{ "sata-512e", "/dev/sda2", "/dev/sda10", SHARE_DISK },
		{ "dock", "/dev/sda", "/dev/sdb", SHARE_NOTHING }, /* one world-wide name, two disks */
		{ "nvme-eui", "/dev/nvme0n1", "/dev/nvme1n1", SHARE_NOTHING },
		{ "dm-long", "/dev/dm-0", "/dev/dm-1", SHARE_DISK },
	};

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		int one, two;
		DUMP(d, pairs[i].dump);

		one = common(&d, pairs[i].a, pairs[i].b);
		two = common(&d, pairs[i].b, pairs[i].a);
		if (one != pairs[i].kind || two != one)
			fail_msg("%s and %s: %d, and the other way %d", pairs[i].a, pairs[i].b, one, two);
	}
}

/* A mapping and a loop device over sdf, while sdg, the same disk, is mounted; a mapping over both is multipath and no
 * quarrel. */
TEST(what_lies_over_one_path_meets_who_uses_the_other)
{
	DUMP(d, "stack");

	dump_block(&d, VIRTUAL "dm-7", "254:7", "1000000");
	dump_folder(&d, VIRTUAL "dm-7/slaves/sdf");
	dump_folder(&d, SDF "/holders/dm-7");
	dump_block(&d, VIRTUAL "loop7", "7:7", "1000000");
	dump_set(&d, VIRTUAL "loop7/loop/backing_file", "/dev/dm-7");
	dump_set(&d, VIRTUAL "loop7/loop/offset", "0");
	assert_true(finds(&d, "/dev/dm-7", FINDING_MOUNT, "sdg", "ext4"));
	assert_true(finds(&d, "/dev/loop7", FINDING_MOUNT, "sdg", "ext4"));
	dump_set(&d, "proc/self/mountinfo", "33 25 0:5 / / rw - tmpfs none rw\n");
	assert_false(finds(&d, "/dev/dm-7", FINDING_HOLDER, "sdg", NULL));
	dump_folder(&d, VIRTUAL "dm-7/slaves/sdg");
	dump_folder(&d, SDG "/holders/dm-7");
	assert_false(finds(&d, "/dev/dm-7", FINDING_HOLDER, "sdg", NULL));
	assert_true(finds(&d, "/dev/sdf", FINDING_HOLDER, "sdf", NULL));
}

TEST(disks_that_are_lent_to_other_hosts_are_found_in_configfs)
{
	DUMP(d, "stack");

	dump_set(&d, "sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/device_path", "/dev/sdf\n");
	dump_set(&d, "sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/enable", "1\n");
	assert_true(finds(&d, "/dev/sdf", FINDING_EXPORT, "sdf", "nvmet"));
	assert_true(finds(&d, "/dev/sdg", FINDING_EXPORT, "sdf", "nvmet")); /* by the other path */
	dump_set(&d, "sys/kernel/config/nvmet/subsystems/nqn.x/namespaces/1/enable", "0\n");
	assert_false(finds(&d, "/dev/sdf", FINDING_EXPORT, "sdf", "nvmet"));
	dump_set(&d, "sys/kernel/config/target/core/fileio_0/a/info",
	         "Status: ACTIVATED  Max Queue Depth: 0  SectorSize: 512\n        TCM FILEIO ID: 0        File: "
	         "/dev/sdb  Size: 512000000  Mode: O_DSYNC\n");
	assert_true(finds(&d, "/dev/sdb", FINDING_EXPORT, "sdb", "LIO"));
	dump_set(&d, "sys/kernel/config/target/core/pscsi_0/a/udev_path", "/dev/sdd\n");
	assert_true(finds(&d, "/dev/sdd", FINDING_EXPORT, "sdd", "LIO"));
	assert_false(finds(&d, "/dev/sde", FINDING_EXPORT, "sde", NULL));
	/* a target is loaded, and its configuration does not show */
	dump_folder(&d, "sys/module/nvmet");
	assert_false(finds(&d, "/dev/sde", FINDING_UNSEEN, "sde", "targets"));
	dump_close(&d);
	dump_open(&d, "stack");
	dump_folder(&d, "sys/module/target_core_mod");
	assert_true(finds(&d, "/dev/sde", FINDING_UNSEEN, "sde", "targets"));
}

TEST(storage_that_other_hosts_reach_is_known_by_its_connection)
{
	static const struct {
		const char *dir, *path, *word;
		enum reach reach;
	} cases[] = {
		{ "sys/devices/platform/host9/session1/target9:0:0/9:0:0:0/block/sdx", "/dev/sdx", "iscsi",
		  REACH_SHARED },
		{ "sys/devices/pci0000:00/0000:00:05.0/host8/rport-8:0-0/target8:0:0/8:0:0:0/block/sdy", "/dev/sdy",
		  "fc", REACH_SHARED },
		{ "sys/devices/virtual/block/nbd3", "/dev/nbd3", "nbd", REACH_SHARED },
		{ "sys/devices/rbd/0/block/rbd0", "/dev/rbd0", "rbd", REACH_SHARED },
		{ "sys/devices/virtual/block/etherd!e1.0", "/dev/etherd!e1.0", "aoe", REACH_SHARED },
		{ "sys/devices/pci0000:00/0000:00:06.0/host5/port-5:0/end_device-5:0/target5:0:0/5:0:0:0/block/sdz",
		  "/dev/sdz", NULL, REACH_UNKNOWN },
		{ "sys/devices/pci0000:00/0000:00:04.0/virtio1/block/vdx", "/dev/vdx", NULL, REACH_UNKNOWN },
		{ "sys/devices/pci0000:00/0000:00:17.0/ata9/host4/target4:0:0/4:0:0:0/block/sdw", "/dev/sdw", NULL,
		  REACH_LOCAL },
		{ "sys/devices/virtual/block/ram3", "/dev/ram3", NULL, REACH_LOCAL },
	};
	struct dump d;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *const over[] = { cases[i].path, "/dev/dm-7", "/dev/loop7" };

		dump_open(&d, "stack");
		dump_block(&d, cases[i].dir, "77:7", "1000000");
		dump_block(&d, VIRTUAL "dm-7", "254:7", "1000000");
		dump_folder(&d, textf(VIRTUAL "dm-7/slaves/%s", strrchr(cases[i].dir, '/') + 1));
		dump_block(&d, VIRTUAL "loop7", "7:7", "1000000");
		dump_set(&d, VIRTUAL "loop7/loop/backing_file", "/dev/dm-7");
		for (size_t k = 0; k < ARRAY_LEN(over); k++) {
			struct survey found;
			struct device dev;

			survey_in(&d, over[k], &dev, &found);
			survey_done(&found);
			if (dev.way.reach != cases[i].reach)
				fail_msg("%s over %s: %d", over[k], cases[i].path, (int)dev.way.reach);
			assert_int_equal(finds(&d, over[k], FINDING_SHARED, dev.name, cases[i].word),
			                 cases[i].reach == REACH_SHARED);
		}
		dump_close(&d);
	}
}

TEST(nvme_is_local_or_not_as_its_controllers_say)
{
	static const char dir[] = "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
	struct survey found;
	struct device dev;
	DUMP(d, "stack");

	dump_block(&d, dir, "259:0", "1000000");
	dump_set(&d, "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/device/nvme0/transport", "pcie\n");
	survey_in(&d, "/dev/nvme0n1", &dev, &found);
	assert_int_equal(dev.way.reach, REACH_LOCAL);
	survey_done(&found);
	dump_set(&d, "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/device/nvme1/transport", "tcp\n");
	assert_true(finds(&d, "/dev/nvme0n1", FINDING_SHARED, "nvme0n1", "nvme-tcp"));
}

TEST(a_loop_over_a_file_of_a_network_file_system_is_shared)
{
	DUMP(d, "stack");

	dump_block(&d, VIRTUAL "loop7", "7:7", "1000000");
	dump_set(&d, VIRTUAL "loop7/loop/backing_file", "/net/disk.img");
	dump_set(&d, "proc/self/mountinfo", "33 25 0:50 / /net rw - nfs4 server:/x rw\n");
	assert_true(finds(&d, "/dev/loop7", FINDING_SHARED, "loop7", "nfs4"));
	dump_set(&d, "proc/self/mountinfo", "33 25 8:50 / /net rw - ext4 /dev/sdd2 rw\n");
	assert_false(finds(&d, "/dev/loop7", FINDING_SHARED, "loop7", NULL));
}

TEST(reservation_keys_are_counted_and_nonsense_is_none)
{
	static const struct {
		uint8_t page[16];
		size_t len;
		int keys;
	} cases[] = {
		{ { 0, 0, 0, 1, 0, 0, 0, 0 }, 8, 0 },     { { 0, 0, 0, 9, 0, 0, 0, 16 }, 16, 2 },
		{ { 0, 0, 0, 9, 0, 0, 16, 0 }, 16, 512 }, /* more than was asked for */
		{ { 0, 0, 0, 9, 0, 0, 0, 15 }, 16, -1 },  { { 0, 0, 0, 9, 0xff, 0xff, 0xff, 0xf8 }, 16, -1 },
		{ { 0, 0, 0, 9, 0, 0, 0 }, 7, -1 },       { { 0 }, 0, -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(reserve_keys(cases[i].page, cases[i].len), cases[i].keys);
}

/* As udev links them, and as sysfs has them: what a device is named by that lasts. */
TEST(names_that_last_are_found)
{
	struct survey found;
	struct device dev;
	char link[400];
	DUMP(d, "stack");

	dump_folder(&d, "dev/disk/by-id");
	dump_folder(&d, "dev/disk/by-partuuid");
	(void)snprintf(link, sizeof(link), "%s/dev/disk/by-id/md-uuid-12:34", d.root);
	assert_int_equal(symlink("../../md0", link), 0);
	(void)snprintf(link, sizeof(link), "%s/dev/disk/by-id/md-name-a:0", d.root);
	assert_int_equal(symlink("../../md0", link), 0);
	(void)snprintf(link, sizeof(link), "%s/dev/disk/by-partuuid/11-22", d.root);
	assert_int_equal(symlink("../../sda1", link), 0);
	dump_set(&d, VIRTUAL "dm-1/dm/uuid", "LVM-abc\n");
	survey_in(&d, "/dev/md0", &dev, &found);
	assert_string_equal(dev.id.by_id, "md-name-a:0 md-uuid-12:34");
	assert_string_equal(dev.id.uuid, "md-uuid-12:34");
	survey_done(&found);
	survey_in(&d, "/dev/sda1", &dev, &found);
	assert_string_equal(dev.id.part_uuid, "11-22");
	assert_string_equal(dev.id.by_id, "");
	survey_done(&found);
	survey_in(&d, "/dev/dm-1", &dev, &found);
	assert_string_equal(dev.id.uuid, "LVM-abc");
	survey_done(&found);
}

/* Consent, signature and all: what lies under a mapping or an array is not written, neither destroyed nor put back. */
TEST(what_a_mapping_or_an_array_holds_is_refused_whatever_is_consented)
{
	static const struct {
		const char *dump, *path, *name, *says, *advice;
	} held[] = {
		{ "emulated", "/dev/sdb2", "sdb2", "sdb2 is part of dm-0 (vg-home)", "dmsetup remove" },
		{ "stack", "/dev/sda2", "sda2", "sda2 is part of dm-0 (crypt-two)", "cryptsetup close" },
		{ "stack", "/dev/sda", "sda", "sda2 is part of dm-0 (crypt-two)", "vgchange -an" },
		{ "stack", "/dev/sdb", "sdb", "sdb is part of md0", "mdadm --stop" },
	};

	for (size_t i = 0; i < ARRAY_LEN(held); i++) {
		const char *destroy[] = { held[i].name, NULL };
		const struct consent consent = { .destroy = { .v = destroy, .n = 1 } };
		struct survey found;
		struct device dev;
		struct err err = { 0 };
		DUMP(d, held[i].dump);

		survey_in(&d, held[i].path, &dev, &found);
		for (int kind = WRITE_SAME; kind <= WRITE_DESTROY; kind++) {
			assert_int_equal(permit_would(&dev, &found, (enum write_kind)kind, &consent, &err), -EBUSY);
			if (!strstr(err.text, held[i].says) || !strstr(err.text, held[i].advice))
				fail_msg("%s: %s", held[i].path, err.text);
		}
		survey_done(&found);
	}
}

TEST(without_the_table_of_mounts_nothing_is_decided)
{
	struct survey found = { 0 };
	struct device dev;
	struct err err;
	DUMP(d, "sata-512e");

	assert_int_equal(device_system.probe(CTX(&d), "/dev/sda", &dev, NULL), 0);
	assert_int_equal(unlink(textf("%s/proc/self/mountinfo", d.root)), 0);
	assert_int_equal(device_system.survey(CTX(&d), &dev, &found, &err), -ENOENT);
	assert_non_null(strstr(err.text, "mountinfo"));
	assert_int_equal(found.n, 0);
}

TEST(strange_tables_are_survived)
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
	cleanup_dump struct dump d = { 0 };

	memset(huge, 'a', sizeof(huge) - 1);
	dump_open(&d, "sata-512e");
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		struct survey found;
		struct device dev;

		dump_set(&d, "proc/self/mountinfo", tables[i]);
		dump_set(&d, "proc/swaps", tables[i]);
		survey_in(&d, "/dev/sda", &dev, &found);
		survey_done(&found);
	}
}

TEST(every_kind_has_a_name_and_a_sentence)
{
	char text[512];

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

TEST(the_same_finding_is_listed_once)
{
	struct survey s = { 0 };

	survey_add(&s, FINDING_MOUNT, "sda", "ext4", "/");
	survey_add(&s, FINDING_MOUNT, "sda", "ext4", "/");
	survey_add(&s, FINDING_MOUNT, "sda", "ext4", "/home");
	assert_int_equal(s.n, 2);
	survey_done(&s);
	assert_int_equal(s.n, 0);
}
