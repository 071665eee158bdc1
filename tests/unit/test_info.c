/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `platter info` over dumped machines: the document that comes out. */
#include "test.h"

#include "dump.h"
#include "rows.h"
#include "session/session.h"

extern const struct measure measure_info;

struct info_params { /* as in info.c */
	bool quick;
};

static const char *told_by_smartctl; /* NULL: it is not installed */

static struct result *info(const char *dump, const char *const *paths, size_t n, bool quick)
{
	static const struct engine_ops *const engines[] = { NULL };
	struct info_params params = { .quick = quick };
	struct common_params common = { .engine = "auto", .seed = 1 };
	struct device_context ctx;
	struct env env = {
		.engines = engines, .clk = clock_monotonic(), .devices = &device_system, .devices_ctx = &ctx
	};
	struct session_config cfg = {
		.env = &env, .measure = &measure_info, .common = &common, .params = &params, .paths = paths, .npaths = n
	};
	struct result *res = NULL;
	struct err err = { 0 };
	bool is_refused;
	DUMP(d, dump);

	if (told_by_smartctl) {
		dump_set(&d, "usr/sbin/next.json", told_by_smartctl);
		assert_int_equal(symlink(TEST_DATA "/smartctl/fake", textf("%s/usr/sbin/smartctl", d.root)), 0);
	}
	ctx.sysroot = env.sysroot = d.root;
	if (session_run(&cfg, &res, &is_refused, &err) != 0)
		fail_msg("%s", err.text);
	assert_false(is_refused);
	assert_int_equal(res->status, STATUS_COMPLETE);
	return res;
}

/* The value of the first row whose column `key` is `word`; NULL when there is none. */
static const char *look_up(const struct result *res, const char *name, const char *key, const char *word,
                           const char *wanted)
{
	const struct table *t = result_find_table(res, name);

	for (size_t i = 0; t && i < t->nrows; i++) {
		const char *found = table_string(t, i, (size_t)table_column(t, key));

		if (found && strcmp(found, word) == 0)
			return table_string(t, i, (size_t)table_column(t, wanted));
	}
	return NULL;
}

static void assert_property(const struct result *res, const char *table, const char *property, const char *value)
{
	const char *found = look_up(res, table, "property", property, "value");

	if (!found || strcmp(found, value) != 0)
		fail_msg("%s is '%s', not '%s'", property, found ? found : "missing", value);
}

TEST(a_disk_is_described_for_people_and_for_scripts)
{
	cleanup_result struct result *res = info("sata-512e", (const char *[]){ "/dev/sda" }, 1, false);
	const struct figure *f = result_find_figure(res, "write");

	assert_property(res, "identity", "kind", "disk");
	assert_property(res, "identity", "model", "ST4000DM004-2CV104");
	assert_property(res, "identity", "connection", "ATA");
	assert_property(res, "sizes", "size", "4.00 TB (4000787030016 bytes)");
	assert_property(res, "sizes", "physical block", "4 KiB");
	assert_property(res, "sizes", "rotation", "5425 rpm, as reported");
	assert_property(res, "queue", "depth of the device", "32");
	assert_property(res, "caches", "write cache", "write back");
	assert_null(look_up(res, "sizes", "property", "alignment offset", "value")); /* nothing is said of nothing */
	assert_int_equal(res->ntargets, 1);
	assert_non_null(f);
	assert_non_null(strstr(f->value.str, "root file system"));
	assert_string_equal(look_up(res, "devices", "path", "/dev/sda", "may_write"), "no");
}

TEST(partitions_say_what_they_are_used_as)
{
	cleanup_result struct result *res = info("sata-512e", (const char *[]){ "/dev/sda" }, 1, false);
	const struct table *t = result_find_table(res, "partitions");

	assert_non_null(t);
	assert_int_equal(t->nrows, 3);
	assert_string_equal(look_up(res, "partitions", "name", "sda1", "used"), "/boot dir");
	assert_string_equal(look_up(res, "partitions", "name", "sda2", "used"), "/");
	assert_null(look_up(res, "partitions", "name", "sda10", "used"));
	assert_true(number(t, 1, "offset_bytes") == 1050624.0 * 512);
}

TEST(users_are_listed_mounts_first)
{
	cleanup_result struct result *res = info("stack", (const char *[]){ "/dev/sda" }, 1, false);
	const struct table *t = result_find_table(res, "users");

	assert_non_null(t);
	assert_int_equal(t->nrows, 8);
	assert_string_equal(string_of(t, 0, "kind"), "mounted");
	assert_string_equal(string_of(t, 7, "kind"), "loop");
	assert_string_equal(look_up(res, "users", "where", "/home", "on"), "dm-1");
}

TEST(several_devices_have_a_sentence_each)
{
	const char *const paths[] = { "/dev/sda10", "/dev/sda1" };
	cleanup_result struct result *res = info("sata-512e", paths, ARRAY_LEN(paths), false);

	assert_non_null(strstr(text_of(res, "write_sda10"), "-part10;"));
	assert_non_null(strstr(text_of(res, "write_sda1"), "mounted on /boot dir"));
	assert_null(result_find_figure(res, "write"));
	assert_string_equal(look_up(res, "devices", "path", "/dev/sda10", "may_write"), "with consent");
	assert_string_equal(look_up(res, "identity", "device", "/dev/sda1", "value"), "partition 1 of sda");
}

TEST(quick_looks_at_no_users_and_no_contents)
{
	cleanup_result struct result *res = info("stack", (const char *[]){ "/dev/sda" }, 1, true);

	assert_property(res, "identity", "kind", "disk");
	assert_null(result_find_table(res, "users"));
	assert_null(result_find_table(res, "devices"));
	assert_null(result_find_figure(res, "write"));
}

/* With what smartctl is played to say in the dump. */
static struct result *info_with(const char *answer, const char *const *paths, size_t n)
{
	struct result *res;

	told_by_smartctl = answer;
	res = info("sata-512e", paths, n, false);
	told_by_smartctl = NULL;
	return res;
}

TEST(without_a_target_all_disks_have_a_line)
{
	cleanup_result struct result *res = info_with("{\"smart_status\":{\"passed\":true}}", NULL, 0);

	assert_true(figure_number(result_find_figure(res, "disks")) >= 1);
	assert_int_equal(res->ntargets, result_find_table(res, "disks")->nrows);
	assert_string_equal(look_up(res, "disks", "name", "sda", "model"), "ST4000DM004-2CV104");
	assert_string_equal(look_up(res, "disks", "name", "sda", "kind"), "ATA, rotating");
	assert_string_equal(look_up(res, "disks", "name", "sda", "health"), "good");
	assert_string_equal(look_up(res, "disks", "name", "sda", "may_write"), "no");
	assert_null(look_up(res, "disks", "name", "sda1", "name")); /* partitions are none */
	result_free(res);
	res = info("emulated", NULL, 0, false);
	assert_non_null(look_up(res, "disks", "name", "nvme0n1", "name"));
	assert_string_equal(look_up(res, "disks", "name", "nvme0n1", "health"), "unknown");
	assert_null(look_up(res, "disks", "name", "loop0", "health"));
}

TEST(a_disk_says_how_it_is)
{
	cleanup_result struct result *res =
		info_with("{\"smart_status\":{\"passed\":false},\"power_on_time\":{\"hours\":7},\"temperature\":"
	                  "{\"current\":41},\"ata_smart_attributes\":{\"table\":[{\"id\":197,\"raw\":{\"value\":3}}]}}",
	                  (const char *[]){ "/dev/sda" }, 1);

	assert_property(res, "state", "health", "failing, by its own report");
	assert_property(res, "state", "power-on hours", "7");
	assert_property(res, "state", "temperature", "41 degrees Celsius");
	assert_property(res, "state", "sectors that wait to be reallocated", "3");
	assert_property(res, "identity", "by way of", "ata1, host0");
	assert_null(result_find_table(res, "health")); /* nothing was measured */
}

TEST(a_disk_that_sleeps_goes_on_sleeping)
{
	static const char asleep[] =
		"{\"smartctl\":{\"messages\":[{\"string\":\"Device is in STANDBY mode, exit(2)\"}],\"exit_status\":2}}";
	cleanup_result struct result *res = info_with(asleep, (const char *[]){ "/dev/sda" }, 1);

	assert_true(result_has_notice(res, "standby"));
	assert_property(res, "state", "power", "standby");
	assert_null(result_find_table(res, "signatures"));
	assert_null(result_find_table(res, "devices"));
	assert_property(res, "identity", "model", "ST4000DM004-2CV104");
	result_free(res);
	res = info_with(asleep, NULL, 0);
	assert_string_equal(look_up(res, "disks", "name", "sda", "health"), "asleep");
	assert_null(look_up(res, "disks", "name", "sda", "may_write"));
}

TEST(every_device_of_every_dump_can_be_described)
{
	static const char *const dumps[][13] = {
		{ "emulated", "/dev/nvme0n1", "/dev/vda", "/dev/sda", "/dev/sdb", "/dev/sdb2", "/dev/sdd",
		  "/dev/mmcblk0", "/dev/sr0", "/dev/sde", "/dev/dm-0", "/dev/md0", "/dev/loop0" },
		{ "odd", "/dev/sdc", "/dev/xvda", "/dev/mmcblk1p1", "/dev/sdd", "/dev/zram0" },
		{ "stack", "/dev/sdb", "/dev/sdd", "/dev/dm-1", "/dev/md0", "/dev/loop1", "/dev/loop2" },
		{ "nvme", "/dev/nvme0n1", "/dev/nvme0n1p1" },
		{ "sas-4kn", "/dev/sdb" },
	};

	for (size_t i = 0; i < ARRAY_LEN(dumps); i++) {
		size_t n = 0;
		cleanup_result struct result *res = NULL;

		while (n < 12 && dumps[i][n + 1])
			n++;
		res = info(dumps[i][0], dumps[i] + 1, n, false);
		assert_int_equal(res->ntargets, n);
		assert_int_equal(result_find_table(res, "devices")->nrows, n);
	}
}
