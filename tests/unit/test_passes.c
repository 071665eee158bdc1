/* SPDX-License-Identifier: GPL-2.0-or-later */
/* passes on small files: what is in them, that every wrong word is found with its place, jobs, and the layouts of 1997.
 */
#include "test.h"

#include <sys/resource.h>

#include "filesrun.h"
#include "measure/passes/passes.h"

extern const struct measure measure_passes, measure_mark;

#define ran(...)             files_ran(&measure_passes, NULL, textf(__VA_ARGS__))
#define ran_while(look, ...) files_ran(&measure_passes, look, textf(__VA_ARGS__))
#define to_run(...)                                               \
	{                                                         \
		.m = &measure_passes, .words = textf(__VA_ARGS__) \
	}
#define BLOCK 65536u

static void make_kept(const char *name, const char *size)
{
	cleanup_files struct files_run run = ran("--repeat=1 --keep --size=%s %s", size, files_path(name));

	assert_int_equal(run.res->status, STATUS_COMPLETE);
}

static void flip(const char *name, uint64_t at)
{
	int fd = open(files_path(name), O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	(void)close(fd);
}

TEST_WITH(the_file_holds_other_words_in_each_block, files_dir_make, files_dir_remove)
{
	cleanup_free uint8_t *words = calloc(1, 262144);
	struct payload_pool pool;
	int fd;

	assert_non_null(words);
	payload_pool_init(&pool, PASSES_SEED, PASSES_BLOCK_BYTES);
	make_kept("words", "200002"); /* three blocks and a bit; the last two bytes are no word */
	fd = open(files_path("words"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, words, 262144, DATAFILE_DATA_OFFSET), 200000);
	for (size_t i = 0; i < 200000; i += BLOCK)
		assert_memory_equal(words + i, payload_pool_at(&pool, i / BLOCK),
		                    200000 - i < BLOCK ? 200000 - i : BLOCK);
	assert_memory_not_equal(words, words + BLOCK, BLOCK);
	payload_pool_done(&pool);
	(void)close(fd);
	assert_int_equal(unlink(files_path("words")), 0);
}

TEST_WITH(a_flipped_word_is_found_with_its_place_wherever_it_is, files_dir_make, files_dir_remove)
{
	static const uint64_t places[] = { 0, 1, 4095, BLOCK - 1, BLOCK, 100001, 2 * BLOCK + 3, 199996, 199999 };

	make_kept("words", "200000");
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		cleanup_files struct files_run run = { 0 };
		uint64_t at = DATAFILE_DATA_OFFSET + places[i];

		flip("words", at);
		run = ran("--repeat=2 %s", files_path("words"));
		if (!files_has_notice(&run, "verify", textf("the word at byte %" PRIu64 " is ", at / 4 * 4)))
			fail_msg("nothing was said of byte %" PRIu64, at);
		assert_int_equal(files_figure(&run, "verify_errors"), 2); /* in either pass */
		assert_int_equal(files_figure(&run, "wrong_words"), 2);
		assert_true(run.res->verdict_is_no);
		flip("words", at); /* whole again */
	}
	assert_int_equal(unlink(files_path("words")), 0);
}

TEST_WITH(every_wrong_word_of_a_block_counts, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = { 0 };

	make_kept("words", "192K");
	for (uint64_t i = 0; i < 100; i++)
		flip("words", DATAFILE_DATA_OFFSET + BLOCK + 400 * i);
	run = ran("--repeat=1 %s", files_path("words"));
	assert_int_equal(files_figure(&run, "verify_errors"), 1);
	assert_int_equal(files_figure(&run, "wrong_words"), 100);
	assert_int_equal(unlink(files_path("words")), 0);
}

TEST_WITH(a_good_file_has_no_wrong_words, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran("--size=300000 --repeat=3 %s", files_dir);
	const struct table *t;

	assert_int_equal(files_figure(&run, "verify_errors"), 0);
	assert_false(run.res->verdict_is_no);
	t = files_table(&run, "steps");
	assert_int_equal(t->nrows, 5);
	assert_string_equal(string_of(t, 0, "step"), "write");
	assert_string_equal(string_of(t, 1, "step"), "fsync");
	assert_string_equal(string_of(t, 4, "step"), "read 3");
	for (size_t i = 0; i < t->nrows; i++) {
		assert_int_equal(number(t, i, "moved_bytes"), i == 1 ? 0 : 300000);
		/* a look at the clock is a millisecond: each step has its begin and its end */
		assert_int_equal(number(t, i, "elapsed_ns"), NS_PER_MS);
	}
	assert_near(files_figure(&run, "write_bytes_per_s"), 300000 / 1e-3, 1.0);
	assert_near(files_figure(&run, "write_synced_bytes_per_s"), 300000 / 2e-3, 1.0); /* write and fsync */
	assert_near(files_figure(&run, "fsync_ns"), 1e6, 0.1);
	assert_near(files_figure(&run, "read_bytes_per_s"), 300000 / 1e-3, 1.0);
	assert_int_equal(files_left(), 0);
}

static double cpu_seconds(void)
{
	struct rusage u;

	assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* Both are reported of the same CPU time, and the steps have what the program used, but for its start and end. */
TEST_WITH(the_cpu_time_is_that_of_the_steps, files_dir_make, files_dir_remove)
{
	double sum = 0.0, before = cpu_seconds();
	cleanup_files struct files_run run = ran("--size=4M --repeat=20 %s", files_dir);
	const struct table *t;

	before = cpu_seconds() - before;
	t = files_table(&run, "steps");
	for (size_t i = 0; i < t->nrows; i++) {
		double used = number(t, i, "cpu_percent") / 100.0 * number(t, i, "elapsed_ns") * 1e-9,
		       mb = number(t, i, "moved_bytes") * 1e-6;

		assert_true(used >= 0.0);
		if (mb > 0.0)
			assert_near(number(t, i, "cpu_s_per_mb") * mb, used, 1e-9);
		sum += used;
	}
	assert_true(sum > 0.0 && sum <= before + 0.02); /* the kernel's accounts differ by some ticks */
	assert_true(sum >= 0.2 * before - 0.02);
}

TEST_WITH(files_of_other_commands_are_read_and_not_judged, files_dir_make, files_dir_remove)
{
	struct files_run run = files_ran(
		&measure_mark, NULL, textf("--repeat=1 --count=100 --time=5ms --sweep=96K --keep %s", files_path("f")));

	files_done(&run);
	run = ran("--repeat=2 %s", files_path("f"));
	assert_true(isnan(files_figure(&run, "verify_errors")));
	assert_false(run.res->verdict_is_no);
	assert_int_equal(files_table(&run, "steps")->nrows, 2);
	files_done(&run);
	assert_int_equal(unlink(files_path("f")), 0);
}

TEST_WITH(any_file_is_read_and_stays_as_it_is, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = { 0 };
	struct stat st;

	file_put(files_path("letter"), textf("%0*d", 130000, 0));
	run = ran("--repeat=2 %s", files_path("letter"));
	assert_int_equal(number(files_table(&run, "steps"), 0, "moved_bytes"), 130000);
	files_done(&run);
	run = (struct files_run)to_run("--repeat=2 --size=64K %s", files_path("letter")); /* to be written: refused */
	files_run(&run);
	assert_int_equal(run.r, -EEXIST);
	assert_int_equal(stat(files_path("letter"), &st), 0);
	assert_int_equal(st.st_size, 130000);
	assert_int_equal(unlink(files_path("letter")), 0);
}

static void shorten(struct files_run *run)
{
	if (run->looks < 4) /* the first pass was read */
		return;
	assert_int_equal(truncate(files_path("words"), DATAFILE_DATA_OFFSET + 2 * BLOCK), 0);
	run->is_done = true;
}

TEST_WITH(a_file_that_becomes_shorter_is_a_fault_and_not_an_error, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = { 0 };

	make_kept("words", "256K");
	run = ran_while(shorten, "--repeat=4 %s", files_path("words"));
	assert_true(run.is_done);
	assert_int_equal(run.res->status, STATUS_WITH_ERRORS);
	assert_true(run.res->nfaults >= 1);
	assert_int_equal(run.res->faults[0].offset_bytes, DATAFILE_DATA_OFFSET + 2 * BLOCK);
	assert_int_equal(unlink(files_path("words")), 0);
}

static void stop(struct files_run *run)
{
	if (run->looks < 9)
		return;
	run->cancel = 15;
	run->is_done = true;
}

TEST_WITH(a_signal_keeps_the_steps_so_far_and_removes_the_file, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran_while(stop, "--size=1M --repeat=1000 %s", files_dir);

	assert_int_equal(run.res->status, STATUS_CANCELLED);
	assert_in_range(files_table(&run, "steps")->nrows, 3, 10);
	assert_int_equal(files_left(), 0);
}

TEST_WITH(several_files_have_steps_of_their_own, files_dir_make, files_dir_remove)
{
	/* the same folder three times: the names differ by themselves */
	cleanup_files struct files_run run = ran("--size=128K --repeat=2 %s %s %s", files_dir, files_dir, files_dir);
	const struct table *t = files_table(&run, "steps");

	assert_int_equal(t->nrows, 12);
	for (size_t i = 0; i < t->nrows; i++) {
		size_t same = 0;

		for (size_t k = 0; k < t->nrows; k++)
			same += strcmp(string_of(t, i, "file"), string_of(t, k, "file")) == 0;
		assert_int_equal(same, 4);
	}
	assert_int_equal(files_left(), 0);
}

/* ---- what was there, and when to end ---- */

TEST_WITH(a_file_of_ours_is_written_anew, files_dir_make, files_dir_remove)
{
	struct stat st;

	make_kept("again", "3M");
	make_kept("again", "1M");
	assert_int_equal(stat(files_path("again"), &st), 0);
	assert_int_equal(st.st_size, DATAFILE_DATA_OFFSET + (1 << 20));
	assert_int_equal(unlink(files_path("again")), 0);
}

TEST_WITH(the_time_budget_ends_reading_and_says_so, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run =
		ran("--size=1M --repeat=10000 --time=200ms %s", files_dir); /* a look at the clock is 1 ms */
	const struct table *t = files_table(&run, "steps");

	assert_in_range(t->nrows, 10, 200);
	assert_true(files_has_notice(&run, "time", "--time ended"));
	assert_int_equal(run.res->status, STATUS_ENDED_EARLY);
}

TEST_WITH(a_first_pass_that_the_time_budget_ends_has_a_rate, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = { 0 };
	const struct table *t;

	make_kept("large", "64M");
	run = ran("--repeat=3 --time=12ms %s", files_path("large"));
	t = files_table(&run, "steps");
	assert_int_equal(t->nrows, 1);
	assert_in_range(number(t, 0, "moved_bytes"), 4 << 20, 60 << 20);
	assert_near(files_figure(&run, "read_bytes_per_s"), number(t, 0, "rate_bytes_per_s"), 1.0);
	assert_true(files_has_notice(&run, "time", "--time ended"));
	assert_int_equal(unlink(files_path("large")), 0);
}

TEST(the_part_from_the_device_is_one_of_bytes_and_known_of_all_passes_or_of_none)
{
	struct passes_step v[] = {
		{ .kind = STEP_WRITE, .elapsed_ns = NS_PER_S, .moved_bytes = 300.0, .from_device_ratio = NAN },
		{ .kind = STEP_READ, .elapsed_ns = NS_PER_S, .moved_bytes = 100.0, .from_device_ratio = 1.2 },
		{ .kind = STEP_READ, .elapsed_ns = NS_PER_S, .moved_bytes = 300.0, .from_device_ratio = 0.0 },
	};
	struct passes_found found;

	passes_analyse(v, 3, 1, &found);
	assert_true(found.from_device_ratio == 0.25);     /* the kernel read ahead for others */
	assert_near(found.read_bytes_per_s, 200.0, 1e-9); /* 400 bytes in two seconds */
	v[2].elapsed_ns = 3 * NS_PER_S;
	v[1].from_device_ratio = NAN;
	passes_analyse(v, 3, 1, &found);
	assert_near(found.read_bytes_per_s, 100.0, 1e-9);
	assert_true(isnan(found.from_device_ratio));
}

#define READ(file, from, to, bytes)                                      \
	{                                                                \
		file, STEP_READ, from, ((to) - (from)) * NS_PER_S, bytes \
	}

TEST(the_rate_of_all_files_is_that_of_the_time_when_all_were_read)
{
	/* File 0 has the disk for itself until 2 s, and is done at 10 s; file 1 goes on alone. */
	const struct passes_step v[] = { READ(0, 0, 1, 400),  READ(0, 1, 2, 400),  READ(0, 2, 6, 400),
		                         READ(0, 6, 10, 400), READ(1, 2, 10, 800), READ(1, 10, 11, 800) };
	const struct passes_step apart[] = { READ(0, 0, 1, 400), READ(1, 1, 2, 400) };

	assert_near(passes_common_rate(v, ARRAY_LEN(v), 2), 200.0, 1e-9); /* 2 to 10 s: 800 and 800 */
	assert_true(isnan(passes_common_rate(apart, 2, 2)));
	assert_true(isnan(passes_common_rate(v, 4, 2))); /* one of them was never read */
}

TEST(files_that_are_written_one_after_the_other_are_no_faster_together)
{
	enum { FILES = 3 };
	struct passes_step v[2 * FILES];
	struct passes_found found;

	for (size_t i = 0; i < FILES;
	     i++) { /* each 100 bytes in a second, and a second to sync while the next is written */
		v[2 * i] = (struct passes_step){ .file = i,
			                         .kind = STEP_WRITE,
			                         .start_s = (double)i,
			                         .elapsed_ns = NS_PER_S,
			                         .moved_bytes = 100.0 };
		v[2 * i + 1] = (struct passes_step){
			.file = i, .kind = STEP_FSYNC, .start_s = (double)i + 1.0, .elapsed_ns = NS_PER_S
		};
	}
	passes_analyse(v, 2 * FILES, FILES, &found);
	assert_near(found.write_bytes_per_s, 300.0 / 3.0, 1e-9);
	assert_near(found.synced_bytes_per_s, 300.0 / 4.0, 1e-9);
	passes_analyse(v, 2 * FILES - 1, FILES, &found); /* the last was not synced */
	assert_true(isnan(found.synced_bytes_per_s));
	assert_near(found.write_bytes_per_s, 100.0, 1e-9);
}

/* The figure of the document is that of its steps. */
TEST_WITH(of_several_files_the_figure_is_bytes_over_the_common_time, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = { 0 };
	struct passes_step v[64];
	const struct table *t;
	double want, got;
	size_t n = 0;

	make_kept("small", "4M");
	make_kept("large", "64M");
	run = ran("--repeat=8 %s %s", files_path("small"), files_path("large"));
	t = files_table(&run, "steps");
	for (; n < t->nrows; n++)
		v[n] = (struct passes_step){ .file = strstr(string_of(t, n, "file"), "large") ? 1 : 0,
			                     .start_s = number(t, n, "start_s"),
			                     .elapsed_ns = (uint64_t)number(t, n, "elapsed_ns"),
			                     .moved_bytes = number(t, n, "moved_bytes") };
	assert_int_equal(n, 16);
	want = passes_common_rate(v, n, 2);
	if (isnan(want)) { /* the small one was read before the other thread began */
		assert_true(files_has_notice(&run, "not-together", "no time"));
	} else {
		got = files_figure(&run, "read_bytes_per_s");
		assert_near(got, want, want * 1e-6);
	}
	assert_int_equal(unlink(files_path("small")), 0);
	assert_int_equal(unlink(files_path("large")), 0);
}
