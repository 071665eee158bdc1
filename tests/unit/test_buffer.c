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

static void parse(struct profile *p, const char *lines)
{
	const char *text = textf(MECHANICS "%s", lines);

	MUST(profile_parse(p, "drawn", text, strlen(text), &err));
}

static void holds(const struct sim_run *run, const char *name, double truth, double part, const char *what)
{
	const struct figure *f = result_find_figure(run->res, name);
	double x = figure_number(f);

	if (isnan(truth) ? isfinite(x) : !(fabs(x / truth - 1) <= part && f->ci.low <= truth && truth <= f->ci.high))
		fail_msg("%s is %.9g (%.9g .. %.9g), in truth %.9g: %s", name, x, f ? f->ci.low : (double)NAN,
		         f ? f->ci.high : (double)NAN, truth, what);
}

static const struct policy {
	const char *lines;
	double segments, segment, ahead; /* NaN: must not be reported */
	const char *sizing, *reads_ahead, *ends, *before;
} policies[] = {
	{ "cache_kb 8192\nsegments 16\n", 16, 524288, 520192, "fixed", "always", "when its segment is full", "no" },
	{ "cache_kb 4096\nsegments 5\npre_read yes\nread_ahead_stop command\n", 5, 835584, 831488, "fixed", "always",
	  "when its segment is full", "yes" },
	{ "cache_kb 8192\nsegments 16\nread_ahead_kb 128\n", 16, 524288, 131072, "fixed", "always",
	  "after a fixed length", "no" },
	{ "cache_kb 32768\nsegments 12\nread_ahead_reach track\n", 12, 2793472, NAN, "fixed", "always",
	  "at the end of a track", "no" },
	{ "cache_kb 8192\nsegments 16\nread_ahead no\n", 16, 524288, NAN, "fixed", "never", "none", "no" },
	{ "cache_kb 8192\nsegments 8\nread_ahead_when sequential\n", 8, 1048576, 1044480, "fixed",
	  "after reads in sequence", "when its segment is full", "no" },
	{ "cache_kb 16384\nsegments 40\ncache_sizing by-use\n", 40, NAN, 8384512, "by use", "always",
	  "when its segment is full", "no" },
	{ "cache_kb 512\nsegments 1\n", 1, 524288, 520192, "none", "always", "when its segment is full", "no" },
};

TEST(segments_and_sizes_are_exact_and_policies_as_they_are)
{
	for (size_t i = 0; i < ARRAY_LEN(policies); i++)
		for (int noise = WILD_NOISE_NONE; noise <= WILD_NOISE_REAL;
		     noise += WILD_NOISE_REAL - WILD_NOISE_NONE) {
			const struct policy *q = &policies[i];
			bool is_run =
				strcmp(q->ends, "none") == 0 || strstr(q->ends, "track") || strstr(q->ends, "fixed");
			cleanup_profile struct profile p = { 0 };
			cleanup_run struct sim_run run = { 0 };

			parse(&p, q->lines);
			MUST(profile_add_noise(&p, (enum wild_noise)noise, i + 1, &err));
			run = run_on(&p, "sda");
			assert_int_equal(sim_run(&run), 0);
			assert_int_equal(run.res->status, STATUS_COMPLETE);
			holds(&run, "segments", q->segments, 0, q->lines);
			holds(&run, "segment_bytes", q->segment, is_run ? 0.05 : 0, q->lines);
			holds(&run, "buffer_bytes",
			      strcmp(q->sizing, "fixed") == 0  ? q->segments * q->segment
			      : strcmp(q->sizing, "none") == 0 ? (double)NAN
			                                       : 16384 * 1024,
			      0.1, q->lines);
			holds(&run, "read_ahead_bytes", q->ahead, 0, q->lines);
			holds(&run, "interface_bytes_per_s", 500e6, 0.1, q->lines);
			assert_string_equal(text_of(run.res, "sizing"), q->sizing);
			assert_string_equal(text_of(run.res, "reads_ahead"), q->reads_ahead);
			assert_string_equal(text_of(run.res, "read_ahead_ends"), q->ends);
			assert_string_equal(text_of(run.res, "keeps_before"), q->before);
		}
}

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

TEST(the_write_cache_is_as_large_as_it_is_and_a_lying_flush_is_reported)
{
	static const struct {
		const char *lines;
		double bytes;
		const char *write_cache, *flush;
	} cases[] = {
		{ "write_cache_kb 4096\nwrite_start 0.5\n", 4194304, "on", "waits for the media" },
		{ "write_cache_kb 4096\nwrite_start 0.3\nignore_flush yes\n", 4194304, "on", "returns at once" },
		{ "write_cache_kb 32768\nwrite_start 0.5\nwrite_turns fair\n", 33554432, "on", "waits for the media" },
		{ "write_cache_kb 24576\nwrite_start 0.3\nignore_flush yes\n", 25165824, "on", "returns at once" },
		{ "write_cache_kb 256\n", 262144, "on", "waits for the media" },
		{ "write_cache_kb 0\n", (double)NAN, "off", "none" },
		{ "write_cache_kb 4096\nwrite_cache off\n", (double)NAN, "off", "none" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int noise = WILD_NOISE_NONE; noise <= WILD_NOISE_REAL;
		     noise += WILD_NOISE_REAL - WILD_NOISE_NONE) {
			cleanup_profile struct profile p = { 0 };
			cleanup_run struct sim_run run = { 0 };
			char lines[300];

			(void)snprintf(lines, sizeof(lines), "cache_kb 8192\nsegments 16\n%s", cases[i].lines);
			parse(&p, lines);
			MUST(profile_add_noise(&p, (enum wild_noise)noise, i + 1, &err));
			run = run_on(&p, WRITE);
			assert_int_equal(sim_run(&run), 0);
			holds(&run, "write_cache_bytes", cases[i].bytes, 0.05, lines);
			holds(&run, "segments", 16, 0, lines);
			assert_string_equal(text_of(run.res, "write_cache"), cases[i].write_cache);
			assert_string_equal(text_of(run.res, "flush"), cases[i].flush);
			/* No disk of the model waits: a false one would be reported here. */
			assert_string_equal(text_of(run.res, "reads_pass_writes"),
			                    cases[i].bytes >= 4194304 ? "go between"
			                    : isnan(cases[i].bytes)   ? "none"
			                                              : text_of(run.res, "reads_pass_writes"));
			assert_string_not_equal(text_of(run.res, "reads_pass_writes"), "wait until it is empty");
			assert_int_equal(isnan(sim_figure(&run, "read_while_emptying_ns")), isnan(cases[i].bytes));
			assert_int_equal(result_has_notice(run.res, "flush-returns-at-once"),
			                 strcmp(cases[i].flush, "returns at once") == 0);
			stays_within(&run, &p);
		}
}

TEST(whether_fua_is_obeyed_is_reported_and_one_that_is_dropped)
{
	static const struct {
		const char *lines, *reads, *writes;
		enum sim_verify commands;
	} cases[] = {
		{ "", "come from the media", "wait for the media", SIM_VERIFY_TRUE },
		{ "fua_reads buffer\n", "come from the buffer", "wait for the media", SIM_VERIFY_TRUE },
		{ "ignore_fua yes\nignore_flush yes\n", "come from the media", "return at once", SIM_VERIFY_TRUE },
		{ "ignore_fua yes\nfua_reads buffer\n", "come from the buffer", "return at once", SIM_VERIFY_TRUE },
		{ "write_cache off\nignore_fua yes\n", "come from the media", "none", SIM_VERIFY_TRUE },
		{ "ignore_fua yes\nfua_reads buffer\n", "none", "none", SIM_VERIFY_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int noise = WILD_NOISE_NONE; noise <= WILD_NOISE_REAL;
		     noise += WILD_NOISE_REAL - WILD_NOISE_NONE) {
			cleanup_profile struct profile p = { 0 };
			cleanup_run struct sim_run run = { 0 };
			char lines[300];

			(void)snprintf(lines, sizeof(lines), "cache_kb 8192\nsegments 16\nwrite_cache_kb 1024\n%s",
			               cases[i].lines);
			parse(&p, lines);
			MUST(profile_add_noise(&p, (enum wild_noise)noise, i + 1, &err));
			run = run_on(&p, WRITE);
			sim_set_verify(run.sim, cases[i].commands);
			assert_int_equal(sim_run(&run), 0);
			assert_int_equal(run.res->status, STATUS_COMPLETE); /* what knows no FUA has no fault */
			assert_string_equal(text_of(run.res, "fua_reads"), cases[i].reads);
			assert_string_equal(text_of(run.res, "fua_writes"), cases[i].writes);
			assert_int_equal(result_has_notice(run.res, "fua-ignored"),
			                 strcmp(cases[i].writes, "return at once") == 0);
			stays_within(&run, &p);
		}
}

/* A cache on the media takes writes as quickly, and a flush has nothing to wait for there. */
TEST(a_cache_on_the_media_makes_no_flush_a_lie)
{
	for (int k = 0; k < 2; k++) {
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };

		parse(&p, k ? "cache_kb 8192\nsegments 16\nwrite_cache_kb 4096\nmedia_cache_kb 1048576\n"
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
	cleanup_profile struct profile p = { 0 };

	parse(&p, policies[0].lines);
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
			cleanup_profile struct profile p = { 0 };
			cleanup_run struct sim_run run = { 0 };
			double reported;

			MUST(profile_wild(&p, seed, classes[i], &err));
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

	parse(&p, "cache_kb 8192\nsegments 16\ncapacity_lba 4000000\n");
	for (; bad.lba < 4000000; bad.lba += 2048)
		assert_int_equal(profile_add_bad(&p, &bad), 0);
	run = run_on(&p, "sda");
	assert_int_equal(sim_run(&run), 0);
	assert_false(result_has_notice(run.res, "nothing-kept"));
	assert_true(result_has_notice(run.res, "unclear"));
}

/* A buffer of 256 MiB before a disk of 100 MB: what is asked for lies in the part that is read. */
TEST(no_read_reaches_beyond_the_part_of_a_small_disk)
{
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = { 0 };
	const struct table *t;

	parse(&p, "cache_kb 262144\nsegments 1\ncapacity_lba 200000\n");
	run = run_on(&p, "sda");
	assert_int_equal(sim_run(&run), 0);
	assert_int_equal(run.res->status, STATUS_COMPLETE);
	t = result_find_table(run.res, "probes");
	assert_true(t && t->nrows > 20);
	for (size_t i = 0; i < t->nrows; i++)
		assert_true(number(t, i, "at") < 0.3 * 200000 * 512);
}

TEST(a_signal_keeps_what_was_measured_and_the_same_samples_give_the_same_again)
{
	static const char *const names[] = { "segments",        "segment_bytes", "buffer_bytes",
		                             "sizing",          "reads_ahead",   "read_ahead_bytes",
		                             "read_ahead_ends", "keeps_before",  "interface_bytes_per_s" };
	cleanup_profile struct profile p = { 0 };

	parse(&p, policies[0].lines);
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

	parse(&p, "cache_kb 8192\nsegments 16\nwrite_cache_kb 4096\n");
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

	parse(&p, "cache_kb 8192\nsegments 16\nread_ahead no\n");
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
