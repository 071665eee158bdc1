/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of machines that are made up: what anybody has written to a device, and what does not outlast a power failure. */
#include "test.h"

#include <sys/sysmacros.h>

#include "device/inside.h"
#include "dump.h"

/* on: the folder in /sys/devices/block; the number of sectors written, and of those discarded. */
static void block(const struct dump *d, const char *on, unsigned minor, unsigned written, unsigned discarded)
{
	const char *slash = strrchr(on, '/');
	char path[200], text[200], target[300];

	(void)snprintf(path, sizeof(path), "sys/devices/block/%s/dev", on);
	(void)snprintf(text, sizeof(text), "8:%u\n", minor);
	dump_set(d, path, text);
	(void)snprintf(path, sizeof(path), "sys/devices/block/%s/stat", on);
	(void)snprintf(text, sizeof(text), " 1 0 8 2 3 0 %u 4 0 5 6 7 0 %u 0 0 0\n", written, discarded);
	dump_set(d, path, text);
	(void)snprintf(target, sizeof(target), "%s/sys/devices/block/%s", d->root, on);
	(void)snprintf(path, sizeof(path), "sys/dev/block/8:%u", minor);
	dump_link(d, path, target);
	(void)snprintf(path, sizeof(path), "sys/class/block/%s", slash ? slash + 1 : on);
	dump_link(d, path, target);
	if (!slash)
		return;
	(void)snprintf(path, sizeof(path), "sys/devices/block/%s/partition", on);
	dump_set(d, path, "1\n");
}

static void set(const struct dump *d, const char *on, const char *what, const char *text)
{
	dump_set(d, textf("sys/devices/block/%s/%s", on, what), text);
}

static void hold(const struct dump *d, const char *upper, const char *lower)
{
	char path[200];

	(void)snprintf(path, sizeof(path), "slaves/%s/x", lower);
	set(d, upper, path, "");
	(void)snprintf(path, sizeof(path), "holders/%s/x", upper);
	set(d, lower, path, "");
}

/* What is counted for 8:minor: "sda 512, sda1 1024" */
static void expect(const struct dump *d, unsigned minor, const char *want)
{
	const struct device dev = { .kind = DEVICE_DISK, .rdev = makedev(8, minor) };
	struct device_written got;
	char text[600] = "";

	(void)device_system.written(CTX(d), &dev, &got);
	for (size_t i = 0; i < got.n; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %llu", i ? ", " : "",
		               got.v[i].on, (unsigned long long)got.v[i].bytes);
	assert_string_equal(text, want);
}

TEST(what_was_written_and_discarded_is_counted_and_what_went_past_a_partition)
{
	DUMP(d, NULL);

	block(&d, "sda", 0, 100, 10);
	block(&d, "sda/sda1", 1, 60, 0);
	block(&d, "sda/sda2", 2, 20, 5);
	expect(&d, 0, "sda 56320");
	expect(&d, 1, "sda1 30720, sda outside of its partitions 12800");
	expect(&d, 2, "sda2 12800, sda outside of its partitions 12800");
	set(&d, "sda", "stat", " 1 0 8 2 3 0 100 4 0 5 6\n"); /* of a kernel that counts no discards */
	expect(&d, 0, "sda 51200");
	set(&d, "sda", "stat", "\n");
	expect(&d, 0, "");
	expect(&d, 9, ""); /* it is gone */
}

TEST(below_a_mapping_is_counted_where_it_passes_all_on_and_serves_nobody_else)
{
	static const char lv[] = "LVM-0123456789abcdefghijklmnopqrstuv0123456789abcdefghijklmnopqrstuv";
	static const struct {
		const char *uuid, *want;
	} cases[] = {
		{ "CRYPT-LUKS2-1-luks", "dm-0 512, sda 1024" },
		{ "mpath-36005", "dm-0 512, sda 1024" },
		{ "part1-mpath-36005", "dm-0 512, sda 1024" },
		{ lv, "dm-0 512, sda 1024" },
		{ "CRYPT-SUBDEV-1", "dm-0 512" }, /* integrity: it writes more than it is given */
		{ "VDO-1", "dm-0 512" },
		{ "", "dm-0 512" },
	};
	struct dump d;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		dump_open(&d, NULL);
		block(&d, "sda", 0, 2, 0);
		block(&d, "dm-0", 1, 1, 0);
		set(&d, "dm-0", "dm/uuid", cases[i].uuid);
		hold(&d, "dm-0", "sda");
		expect(&d, 1, cases[i].want);
		block(&d, "dm-1", 2, 7, 0); /* it writes there as well, and that is none of ours */
		hold(&d, "dm-1", "sda");
		expect(&d, 1, "dm-0 512");
		dump_close(&d);
	}
	dump_open(&d, NULL);
	block(&d, "sda", 0, 2, 0);
	block(&d, "dm-0", 1, 1, 0);
	set(&d, "dm-0", "dm/uuid", textf("%s-tpool", lv));
	hold(&d, "dm-0", "sda");
	expect(&d, 1, "dm-0 512");
	dump_close(&d);
}

#define TABLE                                                                             \
	"20 1 8:0 / / rw - ext4 /dev/sda rw\n"                                            \
	"21 20 0:30 / /dev rw - devtmpfs udev rw\n"                                       \
	"22 20 0:31 / /run rw - tmpfs none rw\n"                                          \
	"23 20 0:32 / /huge rw - hugetlbfs none rw\n"                                     \
	"24 20 0:33 / /live rw - overlay o rw,lowerdir=/ro,upperdir=/run/up,workdir=/w\n" \
	"25 20 0:34 / /box rw - overlay o rw,lowerdir=/ro,upperdir=/srv/up,workdir=/w\n"  \
	"26 20 0:35 / /deep rw - overlay o rw,upperdir=/live/up\n"                        \
	"27 20 0:36 / /bare rw - overlay o rw,lowerdir=/ro:/other\n"                      \
	"28 20 0:37 / /round rw - overlay o rw,upperdir=/round/up\n"                      \
	"29 20 8:16 / /z rw - ext4 /dev/zram0 rw\n"                                       \
	"30 20 8:17 / /r rw - ext4 /dev/ram0 rw\n"                                        \
	"31 20 8:18 / /l rw - ext4 /dev/loop0 rw\n"                                       \
	"32 20 8:19 / /m rw - ext4 /dev/loop1 rw\n"                                       \
	"33 20 8:20 / /n rw - ext4 /dev/loop2 rw\n"                                       \
	"34 20 8:21 / /o rw - ext4 /dev/loop3 rw\n"                                       \
	"35 20 0:38 / /b rw - btrfs /dev/zram0 rw\n"                                      \
	"36 22 8:0 / /run/disk rw - ext4 /dev/sda rw\n"

TEST(what_a_power_failure_takes_is_known_through_overlays_and_loop_devices)
{
	static const struct {
		const char *path, *want; /* NULL: it lasts */
	} cases[] = {
		{ "/var/lib/platter", NULL },
		{ "/run/platter", "memory" },
		{ "/run/disk/platter", NULL },
		{ "/runner", NULL },
		{ "/dev/shm", "memory" },
		{ "/huge/x", "memory" },
		{ "/live/var", "memory" },
		{ "/box/var", NULL },
		{ "/deep/var", "memory" },
		{ "/bare/var", "an overlay whose upper folder does not show" },
		{ "/round/var", "a place that does not show" },
		{ "/z/x", "a disk of memory" },
		{ "/r/x", "a disk of memory" },
		{ "/l/x", "memory" },           /* a file in /run */
		{ "/m/x", NULL },               /* a file on the disk */
		{ "/n/x", "a disk of memory" }, /* a loop device over a disk of memory */
		{ "/o/x", NULL },               /* over the disk: that its node lies in memory says nothing */
		{ "/b/x", "a disk of memory" },
	};
	DUMP(d, NULL);

	block(&d, "sda", 0, 0, 0);
	block(&d, "zram0", 16, 0, 0);
	block(&d, "ram0", 17, 0, 0);
	block(&d, "loop0", 18, 0, 0);
	block(&d, "loop1", 19, 0, 0);
	block(&d, "loop2", 20, 0, 0);
	block(&d, "loop3", 21, 0, 0);
	set(&d, "loop0", "loop/backing_file", "/run/image\n");
	set(&d, "loop1", "loop/backing_file", "/srv/image\n");
	set(&d, "loop2", "loop/backing_file", "/dev/zram0\n");
	set(&d, "loop3", "loop/backing_file", "/dev/sda\n");
	dump_set(&d, "proc/self/mountinfo", TABLE);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *got = memory_of_path(d.root, cases[i].path);

		if (!got != !cases[i].want || (got && strcmp(got, cases[i].want) != 0))
			fail_msg("%s: %s", cases[i].path, got ? got : "lasts");
	}
}
