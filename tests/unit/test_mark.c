/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DiskMark: the published marks, the judgement of draws, and whole runs on files in /tmp by a clock of the test. */
#include "test.h"

#include <glob.h>

#include "filesrun.h"
#include "measure/mark/mark.h"

extern const struct measure measure_mark;

TEST(the_published_speeds_give_the_published_marks)
{
	/* Dujmovic, DiskMark, the desktop computer's three runs */
	static const double published[][4] = { { 21.1767, 84.8112, 5.69863, 12.7935 },
		                               { 18.992, 88.1581, 8.42493, 16.4211 },
		                               { 26.1328, 104.531, 10.8981, 21.4913 } };

	for (size_t i = 0; i < ARRAY_LEN(published); i++) /* the speeds were printed with six digits */
		assert_near(mark_mean(published[i][0], published[i][1], published[i][2]), published[i][3],
		            1e-5 * published[i][3]);
	assert_near(mark_mean(7.0, 7.0, 7.0), 7.0, 1e-12);
	assert_true(mark_mean(1.0, 1e9, 1e9) < 3.0); /* the slowest decides */
	assert_true(isnan(mark_mean(0.0, 1.0, 1.0)));
	assert_true(isnan(mark_mean(1.0, NAN, 1.0)));
}

/* ---- are random records random? ---- */

static uint64_t good(void *arg, uint64_t records)
{
	return rng_below(arg, records);
}

TEST(uniform_draws_pass_for_many_seeds)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct mark_draws d;
		struct rng rng;

		rng_init(&rng, seed, 1);
		assert_true(mark_judge(good, &rng, 30000, seed % 2 ? 10000 : 1000000, &d));
		assert_true(d.is_random);
		assert_near(d.mean, 0.5, 0.01);
		assert_near(d.cv, 1.0 / sqrt(3.0), 0.015);
		assert_near(d.covered, d.covered_expected, 0.01);
		assert_true(d.ks_distance < 0.02);
	}
}

/* The seed's own draws: (N - 2) * rand() / RAND_MAX with the compiler's RAND_MAX of 32767. */
static uint64_t of_the_seed(void *arg, uint64_t records)
{
	return (uint64_t)((double)(records - 2) * (double)rng_below(arg, 32768) / 32767.0);
}

TEST(a_generator_of_32768_values_shows_by_coverage_alone)
{
	struct mark_draws d;
	struct rng rng;

	rng_init(&rng, 1, 1);
	assert_true(mark_judge(of_the_seed, &rng, 300000, 1000000, &d));
	assert_near(d.mean, 0.5, 0.003);           /* 50 % */
	assert_near(d.cv, 1.0 / sqrt(3.0), 0.003); /* 57.74 %: the seed's two figures see nothing */
	assert_true(d.ks_p > 1e-4);
	assert_true(d.covered < 0.033);
	assert_true(d.covered_expected > 0.25);
	assert_false(d.is_random);
}

static uint64_t two_places(void *arg, uint64_t records)
{
	double at = rng_below(arg, 2) ? 0.5 + 1.0 / sqrt(12.0) : 0.5 - 1.0 / sqrt(12.0);

	return (uint64_t)(at * (double)records);
}

TEST(two_places_have_the_right_mean_and_variation_and_fail)
{
	struct mark_draws d;
	struct rng rng;

	rng_init(&rng, 1, 1);
	assert_true(mark_judge(two_places, &rng, 100000, 1000000, &d));
	assert_near(d.mean, 0.5, 0.005);
	assert_near(d.cv, 1.0 / sqrt(3.0), 0.008);
	assert_true(d.ks_distance > 0.2);
	assert_true(d.ks_p < 1e-4);
	assert_false(d.is_random);
}

static uint64_t in_order(void *arg, uint64_t records)
{
	return (*(uint64_t *)arg)++ % records;
}

TEST(records_in_order_are_not_random)
{
	struct mark_draws d;
	uint64_t at = 0;

	assert_true(mark_judge(in_order, &at, 10000, 10000, &d));
	assert_near(d.covered, 1.0, 1e-12); /* uniform draws would cover 63 % */
	assert_false(d.is_random);
	assert_false(mark_judge(in_order, &at, 1, 10000, &d)); /* of one draw nothing can be said */
}

/* ---- whole runs ---- */

#define ran(...)             files_ran(&measure_mark, NULL, textf(__VA_ARGS__))
#define ran_while(look, ...) files_ran(&measure_mark, look, textf(__VA_ARGS__))
#define to_run(...)                                             \
	{                                                       \
		.m = &measure_mark, .words = textf(__VA_ARGS__) \
	}

/* Of the kept file: records in order, sum of their balances. */
static uint64_t sum_of_file(const char *path, uint64_t *ret_records)
{
	FILE *f = fopen(path, "re");
	uint64_t record[8], sum = 0;

	assert_non_null(f);
	assert_int_equal(fseek(f, DATAFILE_DATA_OFFSET, SEEK_SET), 0);
	for (*ret_records = 0; fread(record, sizeof(record), 1, f) == 1; ++*ret_records) {
		assert_int_equal(record[0], *ret_records * 0x9e3779b97f4a7c15ull);
		assert_in_range(record[1] & 15, 0, 9);
		sum += record[1] & 15;
	}
	(void)fclose(f);
	return sum;
}

TEST_WITH(the_check_sum_is_that_of_the_records_in_the_file, files_dir_make, files_dir_remove)
{
	/* 12345 records of 64 bytes: the last buffer of the stream is not full */
	cleanup_files struct files_run run = ran("--count=12345 --repeat=1 --time=50ms --keep %s", files_path("kept"));
	const struct table *t = files_table(&run, "runs");
	uint64_t records, sum;

	assert_true(t->nrows >= 2); /* stream, syscall, and media where the file system can */
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(number(t, i, "records"), 12345);
		assert_true(number(t, i, "checksum_read") == number(t, i, "checksum_written"));
		assert_true(number(t, i, "checksum_read") == files_figure(&run, "checksum"));
	}
	assert_false(run.res->verdict_is_no);
	files_done(&run);

	/* the sweep's file is the last: written as a stream */
	run = ran("--count=12345 --repeat=1 --time=50ms --keep --sweep=790.08KB %s", files_path("kept"));
	sum = sum_of_file(files_path("kept"), &records);
	assert_int_equal(records, 12345);
	assert_int_equal(sum, (uint64_t)files_figure(&run, "checksum"));
	assert_int_equal(unlink(files_path("kept")), 0);
}

TEST_WITH(the_mark_in_the_document_is_the_harmonic_mean_of_its_speeds, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran("--count=2000 --repeat=3 --time=30ms %s", files_dir);
	const struct table *t = files_table(&run, "runs");

	for (size_t i = 0; i < t->nrows; i++) {
		double w = number(t, i, "write_mib_per_s"), r = number(t, i, "read_mib_per_s"),
		       x = number(t, i, "random_mib_per_s");

		assert_near(number(t, i, "diskmark_mib_per_s"), 3.0 / (1.0 / w + 1.0 / r + 1.0 / x), 1e-9);
		assert_true(number(t, i, "write_synced_mib_per_s") < w); /* with fsync it takes longer */
	}
	t = files_table(&run, "ways");
	assert_true(t->nrows >= 2);
	assert_string_equal(string_of(t, 0, "way"), "stream");
	assert_string_equal(string_of(t, 1, "way"), "syscall");
	assert_near(number(t, 0, "diskmark_mib_per_s"), files_figure(&run, "diskmark_mib_per_s"), 1e-9);
	assert_near(number(t, 1, "diskmark_mib_per_s"), files_figure(&run, "diskmark_syscall_mib_per_s"), 1e-9);
	/* Not the harmonic mean of the three figures above it, and it says so. */
	assert_string_equal(result_find_figure(run.res, "diskmark_mib_per_s")->label,
	                    "DiskMark, mean of the runs' marks");
	assert_int_equal(number(t, 0, "repetitions"), 3);
	assert_true(files_has_notice(&run, "what", "this is a memory score") ||
	            files_has_notice(&run, "what", "does not report"));
	assert_int_equal(files_left(), 0);
}

/* One look at the clock is 1 ms here: writing N records by count looks twice (start and end). */
TEST_WITH(time_is_counted_as_the_seed_did, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran("--count=16384 --repeat=1 --time=100ms %s", files_dir); /* 1 MiB */
	const struct table *t = files_table(&run, "runs");

	assert_near(number(t, 0, "write_mib_per_s"), 1000.0, 1e-6);              /* 1 MiB in 1 ms */
	assert_near(number(t, 0, "write_synced_mib_per_s"), 1000.0 / 2.0, 1e-6); /* and a look more */
	assert_near(number(t, 0, "read_mib_per_s"), 1000.0, 1e-6);
	/* random: 64 records between looks until 100 ms: 100 looks, and one more at the end */
	assert_near(number(t, 0, "random_per_s"), 64.0 * 99.0 / 0.101, 64.0 / 0.1);
}

static void find_file(char *buf, size_t len)
{
	glob_t found;

	assert_int_equal(glob(files_path("*.data"), 0, NULL, &found), 0);
	(void)snprintf(buf, len, "%s", found.gl_pathv[0]);
	globfree(&found);
}

/* As soon as all is written one balance changes, before it is read. */
static void spoil(struct files_run *run)
{
	char path[256];
	struct stat st;
	uint8_t byte;
	int fd;

	if (files_left() == 0)
		return;
	find_file(path, sizeof(path));
	if (stat(path, &st) < 0 || st.st_size != DATAFILE_DATA_OFFSET + 1000 * 64)
		return;
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, DATAFILE_DATA_OFFSET + 500 * 64 + 8), 1);
	byte = (uint8_t)(byte ^ 1);
	assert_int_equal(pwrite(fd, &byte, 1, DATAFILE_DATA_OFFSET + 500 * 64 + 8), 1);
	(void)close(fd);
	run->is_done = true;
}

TEST_WITH(a_changed_record_shows_in_the_check_sum, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran_while(spoil, "--count=1000 --repeat=2 --time=10ms %s", files_dir);
	const struct table *t;

	assert_true(run.is_done);
	t = files_table(&run, "runs");
	assert_true(fabs(number(t, 0, "checksum_read") - number(t, 0, "checksum_written")) == 1.0);
	assert_true(number(t, 1, "checksum_read") == number(t, 1, "checksum_written"));
	assert_true(files_has_notice(&run, "checksum", "was"));
	assert_true(run.res->verdict_is_no);
}

static void stop_later(struct files_run *run)
{
	if (run->looks < 400)
		return;
	run->cancel = 2;
	run->is_done = true;
}

TEST_WITH(a_signal_keeps_what_was_measured_and_removes_the_file, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run =
		ran_while(stop_later, "--count=1000 --repeat=100 --time=50ms %s", files_dir);

	assert_int_equal(run.res->status, STATUS_CANCELLED);
	assert_in_range(files_table(&run, "runs")->nrows, 1, 50);
	assert_in_range(files_table(&run, "ways")->nrows, 1, 1);
	assert_int_equal(files_left(), 0);
}

TEST_WITH(a_file_that_may_not_grow_further_says_so, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran("--repeat=1 --time=1s --size=1M %s", files_dir);

	assert_true(files_has_notice(&run, "capped", "--size"));
	assert_true(number(files_table(&run, "runs"), 0, "file_bytes") <= 1048576.0);
}

TEST_WITH(files_of_others_are_refused_and_stay, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = to_run("--count=1000 %s", files_path("letter"));

	file_put(files_path("letter"), "precious");
	files_run(&run);
	assert_int_equal(run.r, -EEXIST);
	assert_non_null(strstr(run.err.text, "letter"));
	assert_string_equal(file_text(files_path("letter")), "precious");
	assert_int_equal(unlink(files_path("letter")), 0);
}

TEST_WITH(a_sweep_has_a_row_for_each_size, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run =
		ran("--count=500 --repeat=1 --time=5ms --sweep=64K,256K,128K %s", files_dir);
	const struct table *t = files_table(&run, "sweep");

	assert_int_equal(t->nrows, 3); /* all in memory: nothing to narrow down */
	assert_int_equal(number(t, 0, "file_bytes"), 65536);
	assert_int_equal(number(t, 1, "file_bytes"), 262144);
	assert_int_equal(number(t, 2, "file_bytes"), 131072);
	assert_int_equal(files_figure(&run, "largest_cached_bytes"), 262144);
	assert_null(result_find_figure(run.res, "cache_ends_bytes"));
}

TEST_WITH(a_mark_of_the_sweep_is_the_harmonic_mean_of_its_speeds, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran("--count=500 --repeat=1 --time=5ms --sweep=64K %s", files_dir);
	const struct table *t = files_table(&run, "sweep");

	assert_near(number(t, 0, "diskmark"),
	            mark_mean(number(t, 0, "write"), number(t, 0, "read"), number(t, 0, "random")), 1e-9);
}

TEST_WITH(a_sweep_without_room_is_refused_before_anything_is_written, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run =
		to_run("--count=500 --repeat=1 --time=5ms --sweep=64K,4000T,1 %s", files_dir);

	files_run(&run);
	assert_int_equal(run.r, -ENOSPC);
	assert_non_null(strstr(run.err.text, "--sweep"));
	assert_null(result_find_table(run.res, "runs"));
	assert_int_equal(files_left(), 0);
}

/* ---- close() ---- */

static struct files_run *closing; /* whose clock goes on by a second for each close() of a data file that was written */
static int close_errno;           /* what that close() returns; 0: it goes well */

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	struct stat st;
	bool is_data = closing && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > DATAFILE_DATA_OFFSET;
	int r = __real_close(fd);

	if (!is_data)
		return r;
	closing->now_ns += NS_PER_S;
	if (!close_errno)
		return r;
	errno = close_errno;
	return -1;
}

TEST_WITH(writing_lasts_until_close_has_returned, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = to_run("--count=16384 --repeat=1 --time=100ms %s", files_dir); /* 1 MiB */

	closing = &run;
	files_run(&run);
	closing = NULL;
	assert_int_equal(run.r, 0);
	assert_near(number(files_table(&run, "runs"), 0, "write_mib_per_s"), 1.0 / 1.001, 1e-6);
}

/* As network file systems do, which have asked the server by then. */
TEST_WITH(what_close_says_of_a_quota_is_no_error_of_the_disk, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = to_run("--count=1000 --repeat=1 --time=10ms %s", files_dir);

	closing = &run;
	close_errno = EDQUOT;
	files_run(&run);
	closing = NULL;
	close_errno = 0;
	assert_int_equal(run.r, -ENOSPC);
	assert_int_equal(result_fault_count(run.res), 0);
	assert_int_equal(run.res->nfaults, 1);
	assert_string_equal(run.res->faults[0].op, "flush");
	assert_int_equal(run.res->faults[0].result, -EDQUOT);
	assert_int_equal(files_left(), 0);
}
