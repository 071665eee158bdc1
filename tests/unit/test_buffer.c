/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `buffer` on simulated disks whose truth is known, in virtual time. tools/wild buffer does it on hundreds of disks as
 * they occur; here one of each policy. PLATTER_LONG=1 for more of them.
 */
#include "test.h"

#include "base/xalloc.h"
#include "ran.h"

extern const struct measure measure_buffer;

#define MECHANICS                                                                       \
	"surfaces 2\nrpm 7200\nqueue_depth 32\noverhead_ms 0.1\nhit_overhead_ms 0.04\n" \
	"seek 0.8 0.05\nhead_switch_ms 0.7\ninterface_mbs 500\nphysical_sector 4096\n"  \
	"serial BUFTEST1\nzone 20000 330\n"

static struct sim_run run_on(const struct profile *p, const char *words)
{
	return run_for(&measure_buffer, p, words);
}

static struct profile with(const char *lines)
{
	return profile_of(textf(MECHANICS "%s", lines));
}

#define SIXTEEN "cache_kb 8192\nsegments 16\n"

#define WRITE "--write --destroy-data=BUFTEST1 --range=1GB-1536870912 sda"

/* What was written lies where it was allowed, and is not more than was announced. */
static void stays_within(struct sim_run *run, const struct profile *p)
{
	cleanup_run struct sim_run dry = run_on(p, "--dry-run " WRITE);
	const struct disk_write_log *log;
	size_t n;

	assert_int_equal(sim_run(&dry), 0);
	log = disk_write_log(sim_model(sim_find(run->sim, "sda")), &n);
	for (size_t i = 0; i < n; i++) {
		assert_true(log[i].offset_bytes >= 1000000000);
		assert_true(log[i].offset_bytes + log[i].len_bytes <= 1000000000 + (512ull << 20) + 65536);
	}
	assert_true((double)counted(run).written_bytes <= sim_figure(&dry, "write_bytes"));
}

/* Reads of others take segments and divide what is read in sequence. An experiment that they disturbed does not count,
 * whether the kernel counts them or not; where they leave no gap, nothing is known. */
TEST(what_others_read_beside_makes_no_other_buffer)
{
	static const struct {
		const char *profile;
		double segment;
	} disks[] = { { "modern-4tb", 4194304 }, { "samsung-hd103sj", 1048576 } };
	static const double gaps_ms[] = { 50, 200, 1000 };

	for (size_t k = 0; k < 2 * ARRAY_LEN(disks) * ARRAY_LEN(gaps_ms); k++) {
		const size_t i = k / 2;
		const char *profile = disks[i / ARRAY_LEN(gaps_ms)].profile;
		double gap_ms = gaps_ms[i % ARRAY_LEN(gaps_ms)], segment = disks[i / ARRAY_LEN(gaps_ms)].segment;
		struct sim_run run = { .sim = sim_new(), .m = &measure_buffer, .words = "--time=100s sda" };
		struct sim_user user = {
			.mean_gap_ns = gap_ms * 1e6, .rhythm = SIM_USER_REGULAR, .is_hidden = k % 2, .most = 100000
		};
		double found[2];

		user.sd = sim_add_profile(run.sim, profile, "sda");
		sim_set_contents(run.sim, false);
		user.took_ns = xcalloc(user.most, sizeof(*user.took_ns));
		rng_init(&user.rng, 1, i);
		sim_user_start(&user);
		assert_int_equal(sim_run(&run), 0);
		found[0] = sim_figure(&run, "segments");
		found[1] = sim_figure(&run, "segment_bytes");
		if ((gap_ms >= 1000 || isfinite(found[0]) ? found[0] != 32 : 0) ||
		    (isfinite(found[1]) && fabs(found[1] / segment - 1) > 0.05))
			fail_msg("%s, a read each %g ms: %g segments of %g", profile, gap_ms, found[0], found[1]);
		if (strcmp(text_of(run.res, "reads_ahead"), "always") != 0)
			assert_string_equal(text_of(run.res, "reads_ahead"), "none");
		sim_run_end(&run);
		free(user.took_ns);
	}
}

TEST(what_is_written_lies_where_it_was_allowed)
{
	static const char *const lines[] = { SIXTEEN "write_cache_kb 4096\nwrite_start 0.5\n",
		                             SIXTEEN "write_cache_kb 24576\nwrite_start 0.3\nignore_flush yes\n",
		                             SIXTEEN "write_cache_kb 1024\nignore_fua yes\nfua_reads buffer\n",
		                             SIXTEEN "write_cache_kb 0\n" };

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		cleanup_profile struct profile p = with(lines[i]);
		cleanup_run struct sim_run run = run_on(&p, WRITE);

		assert_int_equal(sim_run(&run), 0);
		stays_within(&run, &p);
	}
}

/* A cache on the media takes writes as quickly, and a flush has nothing to wait for there. */
TEST(a_cache_on_the_media_makes_no_flush_a_lie)
{
	for (int k = 0; k < 2; k++) {
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };

		p = with(k ? "cache_kb 8192\nsegments 16\nwrite_cache_kb 4096\nmedia_cache_kb 1048576\n"
		           : "cache_kb 8192\nsegments 16\nwrite_cache_kb 0\nmedia_cache_kb 1048576\n");
		run = run_on(&p, WRITE);
		if (!k)
			(void)snprintf(sim_device(sim_find(run.sim, "sda"))->queue.write_cache, 16, "write through");
		assert_int_equal(sim_run(&run), 0);
		assert_string_not_equal(text_of(run.res, "flush"), "returns at once");
	}
}

TEST(without_consent_nothing_is_written)
{
	static const char *const words[] = { "sda", "--write sda", "--write --destroy-data=BUFTEST2 sda" };
	cleanup_profile struct profile p = with(SIXTEEN);

	for (size_t i = 0; i < 3; i++) {
		cleanup_run struct sim_run run = run_on(&p, words[i]);

		assert_int_equal(sim_run(&run) < 0, i > 0);
		assert_int_equal(run.is_refused, i > 0);
		assert_int_equal(counted(&run).writes, 0);
	}
}

/* Flat devices, and disks that keep nothing: no figure at all. Wild disks of all kinds: no number of segments that is
 * wrong. */
TEST(of_flat_devices_nothing_is_reported_and_of_others_nothing_false)
{
	static const char *const classes[] = { "ssd", "cloud", "thin", NULL };
	uint64_t n = getenv("PLATTER_LONG") ? 200 : 8;

	for (size_t i = 0; i < 4; i++)
		for (uint64_t seed = 1001; seed <= 1000 + (classes[i] ? 3 : n); seed++) {
			cleanup_run struct sim_run run = { 0 };
			double reported;
			DRAWN(p, seed, classes[i]);

			run = run_on(&p, "sda");
			assert_int_equal(sim_run(&run), 0);
			reported = sim_figure(&run, "segments");
			assert_true(isnan(reported) || (p.kind == DISK_ROTATING && reported == p.cache.segments));
			if (p.kind != DISK_ROTATING)
				assert_int_equal(run.res->nfigures, 0);
		}
}

/* It keeps what was read; large reads all fail, of a small one each 256th. */
TEST(a_rate_that_is_not_known_does_not_say_that_nothing_is_kept)
{
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = { 0 };
	struct profile_bad bad = { .count = 1, .kind = BAD_READ, .err = -EIO };

	p = with("cache_kb 8192\nsegments 16\ncapacity_lba 4000000\n");
	for (; bad.lba < 4000000; bad.lba += 2048)
		assert_int_equal(profile_add_bad(&p, &bad), 0);
	run = run_on(&p, "sda");
	assert_int_equal(sim_run(&run), 0);
	assert_false(result_has_notice(run.res, "nothing-kept"));
	assert_true(result_has_notice(run.res, "unclear"));
}

TEST(a_signal_keeps_what_was_measured_and_the_same_samples_give_the_same_again)
{
	static const char *const names[] = { "segments",        "segment_bytes", "buffer_bytes",
		                             "sizing",          "reads_ahead",   "read_ahead_bytes",
		                             "read_ahead_ends", "keeps_before",  "interface_bytes_per_s" };
	cleanup_profile struct profile p = with(SIXTEEN);

	for (int k = 0; k < 2; k++) {
		cleanup_run struct sim_run run = run_on(&p, "sda");
		cleanup_result struct result *again = result_new("buffer");

		if (k)
			run_until(&run, 5 * NS_PER_S);
		else
			MUST_RUN(run);
		MUST(measure_buffer.again(run.res, again, &err));
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			assert_true(figure_equals(result_find_figure(run.res, names[i]),
			                          result_find_figure(again, names[i])));
	}
}

/* The model's disks never do it: the samples of one of them, with a first read that had to wait. */
TEST(a_read_that_waits_for_the_cache_is_reported)
{
	cleanup_result struct result *again = result_new("buffer");
	struct err err = { 0 };
	const struct figure *f;
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = { 0 };
	struct table *t;
	size_t row = 0;

	p = with("cache_kb 8192\nsegments 16\nwrite_cache_kb 4096\n");
	run = run_on(&p, WRITE);
	assert_int_equal(sim_run(&run), 0);
	t = (struct table *)(uintptr_t)result_find_table(run.res, "probes");
	while (strcmp(string_of(t, row, "test"), "read while emptying") != 0)
		row++;
	t->cells[row * t->ncolumns + (size_t)table_column(t, "access_ns")].u64 =
		(uint64_t)(1e9 * 1024 / sim_figure(&run, "emptying_writes_per_s"));
	assert_int_equal(measure_buffer.again(run.res, again, &err), 0);
	f = result_find_figure(again, "reads_pass_writes");
	assert_string_equal(f->value.str, "wait until it is empty");
	assert_string_equal(text_of(run.res, "reads_pass_writes"), "go between");
}

/* A drive that reads ahead, on a host that takes 0.1 ms to wake up after the rest: too slow for the buffer, too quick
 * for the media. */
TEST(answers_that_are_neither_of_the_buffer_nor_of_the_media_show_no_reading_ahead)
{
	cleanup_result struct result *again = result_new("buffer");
	const struct figure *f;
	struct err err = { 0 };
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = { 0 };
	struct table *t;
	uint64_t most;

	p = with("cache_kb 8192\nsegments 16\nread_ahead no\n");
	run = run_on(&p, "sda");
	assert_int_equal(sim_run(&run), 0);
	assert_string_equal(text_of(run.res, "reads_ahead"), "never");
	t = (struct table *)(uintptr_t)result_find_table(run.res, "conditions");
	most = (uint64_t)number(t, 0, "hit_limit_ns");
	t = (struct table *)(uintptr_t)result_find_table(run.res, "probes");
	for (size_t row = 0; row < t->nrows; row++)
		if (strncmp(string_of(t, row, "test"), "ahead", 5) == 0)
			t->cells[row * t->ncolumns + (size_t)table_column(t, "access_ns")].u64 = most + 50000;
	assert_int_equal(measure_buffer.again(run.res, again, &err), 0);
	f = result_find_figure(again, "reads_ahead");
	assert_true(!f || !f->value.str);
}
