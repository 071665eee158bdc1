/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring over a week, and `stream` on simulated disks. */
#include "test.h"

#include "measure/stream/ring.h"
#include "measure/stream/stream.h"
#include "ran.h"
#include "stats/stats.h"

extern const struct measure measure_stream;

/* ---- the account (on random runs: test_stream_account.c) ---- */

static uint64_t begin_of(uint64_t rate, uint64_t block, uint64_t k)
{
	unsigned __int128 bytes = (unsigned __int128)block * k;

	return (uint64_t)((bytes * 1000000000u + rate - 1) / rate);
}

TEST(a_week_at_32_gigabytes_a_second_neither_wraps_nor_rounds)
{
	const uint64_t rate = 32000000007u, block = 1048576, week_ns = 7ull * 86400 * 1000000000u;
	uint64_t blocks = (uint64_t)((unsigned __int128)rate * week_ns / 1000000000u / block), number, exist, when;
	struct ring r;

	ring_init(&r, rate, block, 4, 5, blocks);
	r.begun = r.taken = r.issued = r.done = blocks - 3; /* as if all before had gone through */
	r.done_bytes = (blocks - 3) * block;
	assert_true(r.done_bytes > 1ull << 53);
	assert_false(ring_next(&r, 5, &number, &exist, &when));
	for (uint64_t k = blocks - 3; k < blocks; k++) {
		uint64_t t = 5 + begin_of(rate, block, k + 1);

		assert_true(ring_next(&r, t, &number, &exist, &when));
		assert_int_equal(number, k);
		assert_int_equal(exist, t);
		ring_issue(&r);
		ring_complete(&r, t + 1000, true);
	}
	assert_true(ring_is_over(&r));
	assert_int_equal(r.done_bytes, blocks * block);
	assert_int_equal(r.dropped_bytes, 0);
	ring_done(&r);
}

/* ---- on simulated disks ---- */

static struct sim_run stream_on(const char *words, const char *const *profiles, size_t n)
{
	static const char *const names[] = { "sda", "sdb", "sdc", "sdd" };
	struct sim_run run = { .sim = sim_new(), .m = &measure_stream, .words = words };

	for (size_t i = 0; i < n; i++)
		(void)sim_add_profile(run.sim, profiles[i], names[i]);
	sim_set_contents(run.sim, false);
	MUST_RUN(run);
	return run;
}

static const char *const ibm[] = { "ibm-deskstar-60gxp", "ibm-deskstar-60gxp" };

/* 10 MB/s of a disk that carries 33: from one block to a hundred, of each size. */
TEST(a_run_of_a_few_blocks_does_not_refuse_a_rate_that_the_disk_carries)
{
	static const unsigned block_kib[] = { 64, 1024, 4096 };
	unsigned answered = 0;

	for (size_t k = 0; k < ARRAY_LEN(block_kib); k++) {
		for (unsigned blocks = 1; blocks <= 100; blocks += 1 + blocks / 4) {
			const char *words = textf("--read --rate=10MB --buffer=40MiB --block=%uKiB --time=%uus sda",
			                          block_kib[k], block_kib[k] * 1024 * blocks / 10 + 1000);
			cleanup_run struct sim_run run = stream_on(words, ibm, 1);

			if (sim_figure(&run, "sustained") == 0.0 || run.res->verdict_is_no)
				fail_msg("%s: %s", words, text_of(run.res, "verdict"));
			answered += sim_figure(&run, "sustained") == 1.0;
		}
	}
	assert_true(answered > 0);
}

TEST(the_tradeoff_predicts_what_the_search_finds)
{
	cleanup_run struct sim_run predicted = stream_on("--read --tradeoff --buffer=20MiB --time=60s sda", ibm, 1);
	cleanup_run struct sim_run found = stream_on("--read --find --buffer=20MiB --time=60s sda", ibm, 1);

	assert_true(fabs(sim_figure(&predicted, "max_rate_bytes_per_s") / sim_figure(&found, "max_rate_bytes_per_s") -
	                 1.0) < 0.03);
	assert_true(sim_figure(&predicted, "sustained") == 1.0);
}

TEST(a_disk_that_vanishes_is_reported_and_the_other_goes_on)
{
	cleanup_run struct sim_run run = { 0 };
	const struct table *t;
	PROFILE(p, "ibm-deskstar-60gxp");

	p.faults.gone_at_s = 5.0;
	run = run_for(&measure_stream, &p, "--read --rate=10MB --time=20s sda sdb");
	(void)sim_add_profile(run.sim, p.name, "sdb");
	MUST_RUN(run);
	t = result_find_table(run.res, "targets");
	assert_true(sim_figure(&run, "sustained") == 0.0);
	assert_string_equal(string_of(t, 0, "state"), "lost");
	assert_true(table_number(t, 1, 1) > 10e6 * 20 * 0.7); /* the rest of the time all went to sdb */
	assert_true(result_fault_count(run.res) > 0);
}

TEST(recording_on_a_device_wants_consent)
{
	cleanup_run struct sim_run run = { .sim = sim_new(), .m = &measure_stream, .words = "--write --time=1s sda" };

	(void)sim_add_profile(run.sim, "tiny", "sda");
	assert_true(sim_run(&run) < 0);
	assert_true(run.is_refused);
	sim_run_end(&run);
	run = (struct sim_run){ .sim = sim_new(), .m = &measure_stream, .words = "--time=1s sda" };
	(void)sim_add_profile(run.sim, "tiny", "sda");
	assert_true(sim_run(&run) < 0);
	assert_non_null(strstr(run.err.text, "--read"));
}

/* ---- the clock ---- */

/* 6000 blocks in a minute by a clock that is 25 ppm off; one in five is late by up to 40 ms, the last ones and a stall
 * of 2 s among them. */
struct moved {
	uint64_t read, written, plan_read, plan_written, writes_after_flush;
	bool has_flushed;
};

static void add_up(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	struct moved *m = arg;

	m->plan_read = ses->plan->read_bytes;
	m->plan_written = ses->plan->write_bytes;
	m->has_flushed |= req->op == IO_FLUSH;
	*(req->op == IO_READ ? &m->read : &m->written) += req->len_bytes;
	m->writes_after_flush += m->has_flushed && req->op != IO_FLUSH;
}

TEST(no_run_moves_more_than_its_plan_says_the_look_at_full_speed_included)
{
	static const char *const words[] = { "--rate=8MB --time=20s sda",
		                             "--rate=30MB --time=2s --layout=roundrobin sda sdb",
		                             "--rate=30MB --size=30MB --verify sda sdb",
		                             "--rate=8MB --size=1MiB sda",
		                             "--read --rate=30MB --time=10s --depth=32 --buffer=200MiB sda sdb",
		                             "--read --size=200MB sda",
		                             "--find --size=20MB sda" };
	const char *two = "--write --destroy-data=SIM0060GXP --destroy-data=SIM0098196 ",
		   *one = "--write --destroy-data=SIM0060GXP ";
	unsigned looked = 0;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct moved m = { 0 };
		cleanup_run struct sim_run run = { .sim = sim_new(),
			                           .m = &measure_stream,
			                           .hooks = { .request = add_up, .arg = &m } };

		(void)sim_add_profile(run.sim, "ibm-deskstar-60gxp", "sda");
		(void)sim_add_profile(run.sim, "maxtor-diamondmax-80", "sdb");
		run.words = textf("%s%s",
		                  strstr(words[i], "--read") ? ""
		                  : strstr(words[i], "sdb")  ? two
		                                             : one,
		                  words[i]);
		MUST_RUN(run);
		looked += m.writes_after_flush > 0;
		if (m.read > m.plan_read || m.written > m.plan_written)
			fail_msg("%s: %" PRIu64 " of %" PRIu64 " bytes read, %" PRIu64 " of %" PRIu64 " written",
			         run.words, m.read, m.plan_read, m.written, m.plan_written);
	}
	assert_true(looked >= 3);
}

TEST(late_blocks_do_not_change_the_rate_of_the_clock)
{
	static struct pace pace;
	uint64_t seed = 1;

	for (int with_noise = 0; with_noise < 2; with_noise++) {
		pace_start(&pace);
		for (uint64_t k = 0; k < 6000; k++) {
			uint64_t due = 1000000000000u + k * 10000000u, issue = due + k * 250u, stall = 30000;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			if (with_noise && (seed >> 40) % 5 == 0)
				issue += (seed >> 33) % 40000000u;
			if (with_noise && k >= 3000 && k < 3200)
				issue += (3200 - k) * 10000000u;
			if (with_noise && k > 5990)
				issue += stall * 1000u;
			pace_add(&pace, due, issue);
		}
		assert_true(fabs((1.0 - pace_ratio(&pace)) * 1e6 - 25.0) < (with_noise ? 0.5 : 0.01));
	}
	pace_start(&pace);
	pace_add(&pace, 5, 6);
	assert_true(isnan(pace_ratio(&pace)));
}
