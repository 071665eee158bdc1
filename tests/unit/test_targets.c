/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several targets of one run: which of them count twice, which are of one disk, and which are several results. */
#include "test.h"

#include "report/alike.h"
#include "report/report.h"
#include "simrun.h"

extern const struct measure measure_passes, measure_stream, measure_zones;

/* Two disks, of which the first has three partitions: sda3 overlaps sda2. */
static struct sim *machine(void)
{
	struct sim *sim = sim_new();
	struct sim_disk *a = sim_add_profile(sim, "ibm-deskstar-60gxp", "sda");

	(void)sim_add_profile(sim, "maxtor-diamondmax-80", "sdb");
	(void)sim_add_partition(sim, a, "sda1", 0, 1ull << 30);
	(void)sim_add_partition(sim, a, "sda2", 1ull << 30, 1ull << 30);
	(void)sim_add_partition(sim, a, "sda3", 3ull << 29, 1ull << 30);
	sim_set_contents(sim, false);
	return sim;
}

TEST(what_has_bytes_in_common_is_refused_for_reading_too)
{
	static const struct {
		const struct measure *m;
		const char *words, *names;
	} cases[] = {
		{ &measure_stream, "--read --rate=10MB --time=5s sda sda", "sda and sda " },
		{ &measure_stream, "--read --rate=10MB --time=5s sda sdb sda", "sda and sda " },
		{ &measure_stream, "--read --rate=10MB --time=5s sda2 sda", "sda2 and sda " },
		{ &measure_stream, "--read --rate=10MB --time=5s sda1 sda2 sda3", "sda2 and sda3 " },
		{ &measure_zones, "--zones=start sda1 sda1", "sda1 and sda1 " },
		{ &measure_zones, "--zones=start sda sda2", "sda and sda2 " },
		{ &measure_passes, "sda1 sda1", "sda1 and sda1 " },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_run struct sim_run run = { .sim = machine(), .m = cases[i].m, .words = cases[i].words };

		assert_int_equal(sim_run(&run), -EINVAL);
		if (!strstr(run.err.text, cases[i].names) || !strstr(run.err.text, "name each place once"))
			fail_msg("%s: %s", cases[i].words, run.err.text);
	}
}

TEST(partitions_of_one_disk_stream_and_it_is_said)
{
	static const struct {
		const char *words;
		bool is_said;
	} cases[] = {
		{ "--read --rate=10MB --time=5s sda1 sda2", true },
		{ "--read --rate=10MB --time=5s sda1 sdb", false },
		{ "--read --rate=10MB --time=5s sda sdb", false },
		{ "--read --rate=10MB --time=5s sda1", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_run struct sim_run run = { .sim = machine(), .m = &measure_stream, .words = cases[i].words };

		if (sim_run(&run) != 0)
			fail_msg("%s: %s", cases[i].words, run.err.text);
		if (result_has_notice(run.res, "one-disk") != cases[i].is_said)
			fail_msg("%s", cases[i].words);
	}
}

/* One result of one disk, which a fleet takes; of two disks it would be of neither. */
TEST(zones_takes_partitions_of_one_disk_and_of_two_says_how)
{
	cleanup_run struct sim_run run = { .sim = machine(),
		                           .m = &measure_zones,
		                           .words = "--zones=start,end sda1 sda2" };
	const struct result *doc;

	if (sim_run(&run) != 0)
		fail_msg("%s", run.err.text);
	assert_false(result_has_notice(run.res, "one-disk")); /* one after the other */
	assert_true(sim_figure(&run, "start_bytes_per_s") > 0.0 && sim_figure(&run, "end_bytes_per_s") > 0.0);
	doc = run.res;
	assert_true(alike_is_one_disk(doc) && alike_same_disk(doc, doc));
	assert_int_equal(report_fleet_disks(&doc, 1), 1);
	sim_run_end(&run);
	run = (struct sim_run){ .sim = machine(), .m = &measure_zones, .words = "--zones=start,end sda sdb" };
	assert_int_equal(sim_run(&run), -EINVAL);
	assert_non_null(strstr(run.err.text, "different disks"));
	assert_non_null(strstr(run.err.text, "once for each"));
}

/* Three controllers: sda and sdb at one, sdc a partition's disk at the next; of sdd nothing is known. */
TEST(those_that_share_a_controller_or_a_disk_take_turns)
{
	static const char *const paths[] = { "sdb", "sda1", "sdc", "sdd", "sda2" };
	static const size_t lanes[] = { 0, 0, 2, 3, 0 };
	struct sim *sim = machine();
	size_t got[5];
	struct err err = { 0 };

	(void)sim_add_profile(sim, "tiny", "sdc");
	(void)sim_add_profile(sim, "tiny", "sdd");
	(void)strcpy(sim_device(sim_find(sim, "sda1"))->way.chain, "ahci 0000:00:17.0, ata1");
	(void)strcpy(sim_device(sim_find(sim, "sdb"))->way.chain, "ahci 0000:00:17.0, ata11");
	(void)strcpy(sim_device(sim_find(sim, "sdc"))->way.chain, "ahci 0000:00:17.1, ata111");
	assert_int_equal(session_lanes(sim_env(sim), paths, 5, got, &err), 0);
	assert_memory_equal(got, lanes, sizeof(lanes));
	assert_int_equal(session_lanes(sim_env(sim), (const char *const[]){ "sda1", "sda" }, 2, got, &err), -EINVAL);
	assert_non_null(strstr(err.text, "sda1 and sda "));
	sim_free(sim);
}
