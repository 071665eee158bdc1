/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Health of disks: what smartctl says in its words for ATA, SCSI and NVMe, before a run and after it. Played by
 * tests/data/smartctl/fake. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>

#include "dump.h"
#include "rows.h"
#include "session/session.h"

static const char ata[] =
	"{\"json_format_version\":[1,0],\"smartctl\":{\"version\":[7,3],\"exit_status\":4},"
	"\"device\":{\"name\":\"/dev/sda\",\"type\":\"sat\",\"protocol\":\"ATA\"},\"smart_status\":{\"passed\":true},"
	"\"ata_smart_attributes\":{\"revision\":10,\"table\":["
	"{\"id\":5,\"name\":\"Reallocated_Sector_Ct\",\"value\":100,\"raw\":{\"value\":%s,\"string\":\"%s\"}},"
	"{\"id\":9,\"name\":\"Power_On_Hours\",\"value\":70,\"raw\":{\"value\":187720873174938,\"string\":\"27050 (170 187 0)\"}},"
	"{\"id\":187,\"name\":\"Reported_Uncorrect\",\"value\":100,\"raw\":{\"value\":0,\"string\":\"0\"}},"
	"{\"id\":188,\"name\":\"Command_Timeout\",\"value\":100,\"raw\":{\"value\":4295032833,\"string\":\"1 1 1\"}},"
	"{\"id\":197,\"name\":\"Current_Pending_Sector\",\"value\":100,\"raw\":{\"value\":8,\"string\":\"8\"}},"
	"{\"id\":198,\"name\":\"Offline_Uncorrectable\",\"value\":100,\"raw\":{\"value\":8,\"string\":\"8\"}},"
	"{\"id\":199,\"name\":\"UDMA_CRC_Error_Count\",\"value\":200,\"raw\":{\"value\":%s,\"string\":\"%s\"}}]},"
	"\"power_on_time\":{\"hours\":27050},\"power_cycle_count\":41,\"temperature\":{\"current\":%d}}";
static const char scsi[] =
	"{\"smartctl\":{\"version\":[7,3]},\"device\":{\"protocol\":\"SCSI\"},\"smart_status\":{\"passed\":false,\"scsi\":"
	"{\"asc\":93,\"ascq\":16,\"ie_string\":\"HARDWARE IMPENDING FAILURE GENERAL HARD DRIVE FAILURE\"}},"
	"\"temperature\":{\"current\":34,\"drive_trip\":65},\"power_on_time\":{\"hours\":31337,\"minutes\":4},"
	"\"scsi_grown_defect_list\":17,\"scsi_error_counter_log\":{"
	"\"read\":{\"errors_corrected_by_eccfast\":9,\"gigabytes_processed\":\"81234.123\",\"total_uncorrected_errors\":3},"
	"\"write\":{\"total_uncorrected_errors\":1},\"verify\":{\"total_uncorrected_errors\":0}}}";
static const char nvme[] =
	"{\"smartctl\":{\"version\":[7,3]},\"device\":{\"protocol\":\"NVMe\"},\"smart_status\":{\"passed\":true,\"nvme\":{\"value\":0}},"
	"\"nvme_smart_health_information_log\":{\"critical_warning\":0,\"temperature\":41,\"percentage_used\":3,\"power_on_hours\":900,"
	"\"media_errors\":2,\"num_err_log_entries\":77},\"temperature\":{\"current\":41},\"power_on_time\":{\"hours\":900}}";
static const char standby[] =
	"{\"smartctl\":{\"version\":[7,3],\"messages\":[{\"string\":\"Device is in STANDBY mode, exit(2)\",\"severity\":\"information\"}],"
	"\"exit_status\":2},\"device\":{\"protocol\":\"ATA\"}}";
static const char refused[] =
	"{\"smartctl\":{\"version\":[7,3],\"messages\":[{\"string\":\"Smartctl open device: /dev/sda failed: Permission denied\","
	"\"severity\":\"error\"}],\"exit_status\":2}}";

static const char *ata_text(char buf[4096], const char *reallocated, const char *crc, int celsius)
{
	(void)snprintf(buf, 4096, ata, reallocated, reallocated, crc, crc, celsius);
	return buf;
}

static void with_smartctl(struct dump *d, const char *name)
{
	dump_open(d, name);
	dump_set(d, "usr/sbin/calls", "");
	assert_int_equal(symlink(TEST_DATA "/smartctl/fake", textf("%s/usr/sbin/smartctl", d->root)), 0);
}

/* What is reported of a disk, and how smartctl was called for it. */
static struct device_health health_of(const char *dump, const char *path, const char *answer, bool may_wake,
                                      const char **calls)
{
	struct device_health h;
	struct device dev;
	struct err err = { 0 };
	cleanup_dump struct dump d = { 0 };

	with_smartctl(&d, dump);
	dump_set(&d, "usr/sbin/next.json", answer);
	assert_int_equal(device_system.probe(CTX(&d), path, &dev, &err), 0);
	assert_true(device_system.health(CTX(&d), &dev, may_wake, &h));
	*calls = file_text(textf("%s/usr/sbin/calls", d.root));
	return h;
}

TEST(each_protocol_has_its_words_for_the_same_counts)
{
	char text[4096];
	const char *calls;
	struct device_health h = health_of("sata-512e", "/dev/sda", ata_text(text, "12", "7", 38), true, &calls);

	assert_string_equal(h.why_not, "");
	assert_int_equal(h.passed, 1);
	assert_int_equal(h.reallocated, 12);
	assert_int_equal(h.pending, 8);
	assert_int_equal(h.uncorrectable, 8);
	assert_int_equal(h.crc_errors, 7);
	assert_int_equal(h.media_errors, 0);
	assert_int_equal(h.power_on_hours, 27050);
	assert_true(h.celsius == 38);
	h = health_of("sas-4kn", "/dev/sdb", scsi, true, &calls);
	assert_int_equal(h.passed, 0);
	assert_int_equal(h.reallocated, 17);
	assert_int_equal(h.uncorrectable, 4);
	assert_true(h.crc_errors == UINT64_MAX && h.media_errors == UINT64_MAX && h.pending == UINT64_MAX);
	assert_int_equal(h.power_on_hours, 31337);
	h = health_of("nvme", "/dev/nvme0n1", nvme, true, &calls);
	assert_int_equal(h.media_errors, 2);
	assert_int_equal(h.power_on_hours, 900);
	assert_true(h.reallocated == UINT64_MAX && h.celsius == 41);
	assert_non_null(strstr(calls, " /dev/nvme0\n")); /* not the node that udev watches */
}

TEST(heat_alone_is_no_failure_of_a_flash_disk)
{
	for (unsigned bits = 0; bits < 32; bits++) {
		char text[sizeof(nvme) + 8];
		const char *calls;
		char *at = strstr(strcpy(text, nvme), "warning\":0") + strlen("warning\":");
		struct device_health h;

		(void)snprintf(at, sizeof(text) - (size_t)(at - text), "%u%s", bits, strstr(nvme, "warning\":0") + 10);
		h = health_of("nvme", "/dev/nvme0n1", text, true, &calls);
		assert_int_equal(h.passed, (bits & ~2u) == 0);
	}
}

TEST(raw_values_of_makers_are_read_as_smartctl_prints_them)
{
	static const char packed[] =
		"{\"ata_smart_attributes\":{\"table\":[{\"id\":5,\"raw\":{\"value\":12884901900,"
		"\"string\":\"12 (0 3)\"}},{\"id\":197,\"raw\":{\"value\":4,\"string\":\"0x04\"}}]}}";
	const char *calls;
	struct device_health h = health_of("sata-512e", "/dev/sda", packed, true, &calls);

	assert_int_equal(h.reallocated, 12);
	assert_int_equal(h.pending, 4);
	assert_int_equal(h.passed, -1);
}

TEST(a_disk_in_standby_is_not_woken)
{
	const char *calls;
	struct device_health h = health_of("sata-512e", "/dev/sda", standby, false, &calls);

	assert_true(h.is_standby);
	assert_non_null(strstr(h.why_not, "standby"));
	assert_non_null(strstr(calls, "-n standby"));
	(void)health_of("sata-512e", "/dev/sda", standby, true, &calls);
	assert_non_null(strstr(calls, "-n never"));
}

TEST(what_is_not_reported_is_said_so)
{
	static const char *const hostile[] = { "",
		                               "{",
		                               "[]",
		                               "null",
		                               "{\"ata_smart_attributes\":[]}",
		                               "{\"smartctl\":{\"messages\":[7]},\"temperature\":7}",
		                               "{\"power_on_time\":{\"hours\":-3},\"smart_status\":{\"passed\":1}}" };
	const char *calls;
	struct device_health h = health_of("sata-512e", "/dev/sda", refused, true, &calls);

	assert_non_null(strstr(h.why_not, "Permission denied"));
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		h = health_of("sata-512e", "/dev/sda", hostile[i], true, &calls);
		assert_string_not_equal(h.why_not, "");
		assert_true(h.reallocated == UINT64_MAX && h.passed == -1 && isnan(h.celsius));
	}
}

TEST(without_smartctl_nothing_is_reported_but_that)
{
	struct device_health h;
	struct err err = { 0 };
	struct device dev;
	DUMP(d, "sata-512e");

	assert_int_equal(device_system.probe(CTX(&d), "/dev/sda", &dev, &err), 0);
	assert_true(device_system.health(CTX(&d), &dev, true, &h));
	assert_non_null(strstr(h.why_not, "not installed"));
	dump_close(&d);
	dump_open(&d, "emulated"); /* a loop device has no health, whatever is installed */
	assert_int_equal(device_system.probe(CTX(&d), "/dev/loop0", &dev, &err), 0);
	assert_false(device_system.health(CTX(&d), &dev, true, &h));
}

/* ---- beside a result ---- */

static int plan_nothing(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	ret_plan->opens_itself = true;
	ret_plan->is_direct = false;
	ret_plan->read_bytes = 1;
	return 0;
}

static bool drops_privileges, is_killed; /* of the run */

static int run_nothing(struct session *ses, const void *params, struct err *err)
{
	if (is_killed)
		(void)raise(SIGKILL);
	return 0;
}

static struct result *measured(const char *before, const char *after, const char *warms_to, const char **calls)
{
	static const struct measure nothing = {
		.name = "nothing", .max_targets = 4, .plan = plan_nothing, .run = run_nothing
	};
	static const struct engine_ops *const engines[] = { NULL };
	static const char *const paths[] = { "/dev/sda1", "/dev/sda2" }; /* one disk: asked once */
	struct common_params common = { .engine = "auto", .seed = 1 };
	struct device_context ctx;
	struct env env = {
		.engines = engines,
		.clk = clock_monotonic(),
		.devices = &device_system,
		.devices_ctx = &ctx,
		.drops_privileges = drops_privileges,
	};
	struct session_config cfg = {
		.env = &env, .measure = &nothing, .common = &common, .paths = paths, .npaths = ARRAY_LEN(paths)
	};
	struct result *res = NULL;
	struct err err = { 0 };
	bool is_refused;
	cleanup_dump struct dump d = { 0 };

	with_smartctl(&d, "sata-512e");
	dump_set(&d, "usr/sbin/first.json", before);
	dump_set(&d, "usr/sbin/next.json", after);
	if (warms_to)
		dump_set(&d, "sys/class/block/sda/device/hwmon/hwmon3/temp1_input", warms_to);
	ctx.sysroot = env.sysroot = d.root;
	assert_int_equal(session_run(&cfg, &res, &is_refused, &err), 0);
	*calls = file_text(textf("%s/usr/sbin/calls", d.root));
	return res;
}

static double cell_of(const struct result *res, const char *quantity, const char *column)
{
	const struct table *t = result_find_table(res, "health");

	for (size_t i = 0; t && i < t->nrows; i++)
		if (strcmp(string_of(t, i, "quantity"), quantity) == 0)
			return table_number_of(t, i, column);
	return (double)NAN;
}

TEST(what_moved_during_a_run_is_a_notice_and_a_figure)
{
	char a[4096], b[4096];
	const char *calls;
	cleanup_result struct result *res =
		measured(ata_text(a, "12", "7", 31), ata_text(b, "20", "8", 38), NULL, &calls);

	assert_true(cell_of(res, "reallocated", "before") == 12 && cell_of(res, "reallocated", "after") == 20);
	assert_true(cell_of(res, "pending", "before") == 8 && cell_of(res, "pending", "after") == 8);
	assert_true(cell_of(res, "temperature_celsius", "before") == 31 &&
	            cell_of(res, "temperature_celsius", "after") == 38);
	assert_true(figure_number(result_find_figure(res, "health_moved")) == 2);
	assert_true(result_has_notice(res, "health-moved"));
	assert_true(result_has_notice(res, "warmer"));
	assert_non_null(strstr(calls, "-n never"));
	assert_int_equal(2, strlen(calls) /
	                            (strcspn(calls, "\n") + 1)); /* before and after, and for one of the two targets */
}

TEST(a_disk_that_keeps_is_said_to_have_kept)
{
	char a[4096], b[4096];
	const char *calls;
	cleanup_result struct result *res =
		measured(ata_text(a, "12", "7", 31), ata_text(b, "12", "7", 33), "36000", &calls);

	assert_true(figure_number(result_find_figure(res, "health_moved")) == 0);
	assert_false(result_has_notice(res, "health-moved"));
	assert_false(result_has_notice(res, "warmer"));
	assert_true(cell_of(res, "temperature_celsius", "before") == 36); /* hwmon's own word goes first */
	result_free(res);
	res = measured(ata_text(a, "12", "7", 31), "{}", NULL, &calls); /* it does not answer any more */
	assert_true(isnan(cell_of(res, "reallocated", "after")));
	assert_null(result_find_figure(res, "health_moved"));
	result_free(res);
	res = measured(refused, ata_text(a, "12", "7", 31), NULL, &calls);
	assert_null(result_find_table(res, "health"));
	assert_null(strchr(strchr(calls, '\n') + 1, '\n')); /* who cannot be asked before is not asked after */
}

TEST(a_program_that_hangs_is_ended)
{
	struct device_health h;
	struct err err = { 0 };
	struct device dev;
	cleanup_dump struct dump d = { 0 };

	if (!getenv("PLATTER_LONG"))
		skip(); /* takes its time limit */
	with_smartctl(&d, "sata-512e");
	dump_set(&d, "usr/sbin/hangs", "");
	assert_int_equal(device_system.probe(CTX(&d), "/dev/sda", &dev, &err), 0);
	assert_true(device_system.health(CTX(&d), &dev, true, &h));
	assert_non_null(strstr(h.why_not, "no answer in 10 s"));
}

/* The last one: this process has no privileges any more after it. */
TEST(a_second_process_asks_after_a_run_without_privileges_and_is_gone_with_it)
{
	char a[4096], b[4096], byte;
	const char *calls;
	cleanup_result struct result *res = NULL;
	int fds[2], status;
	pid_t pid;

	drops_privileges = true;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		is_killed = true;
		(void)measured(ata_text(a, "12", "7", 31), ata_text(b, "20", "8", 38), NULL, &calls);
		_exit(1);
	}
	(void)close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(read(fds[0], &byte, 1), 0); /* nobody holds the other end */
	(void)close(fds[0]);
	res = measured(ata_text(a, "12", "7", 31), ata_text(b, "20", "8", 38), NULL, &calls);
	assert_true(figure_number(result_find_figure(res, "health_moved")) == 2);
}
