/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache on small files: which cells there are, the states they begin with, what is kept of a broken run, iozone's
 * layout. */
#include "test.h"

#include "filesrun.h"
#include "measure/shared/pagecache.h"

extern const struct measure measure_cache;

static struct files_run ran_while(void (*at_look)(struct files_run *run), const char *words)
{
	return files_ran(&measure_cache, at_look, textf("%s %s", words, files_dir));
}

static struct files_run ran(const char *words)
{
	return ran_while(NULL, words);
}

static bool is_op(const struct table *t, size_t row, const char *op)
{
	return strcmp(string_of(t, row, "operation"), op) == 0;
}

TEST_WITH(every_cell_is_there_once_and_in_order, files_dir_make, files_dir_remove)
{
	static const char *const ops[] = { "write",       "rewrite",          "read",        "reread",
		                           "random_read", "cold_random_read", "random_write" };
	cleanup_files struct files_run run =
		ran("--mode=cached --without=knee --size=64K-128K --block=1K-64K --repeat=4");
	const struct table *t = files_table(&run, "matrix");
	size_t row = 0;

	for (uint64_t file = 65536; file <= 131072; file *= 2)
		for (uint64_t record = 1024; record <= 65536; record *= 2)
			for (size_t op = 0; op < ARRAY_LEN(ops); op++, row++) {
				assert_int_equal(number(t, row, "file_bytes"), file);
				assert_int_equal(number(t, row, "record_bytes"), record);
				assert_string_equal(string_of(t, row, "operation"), ops[op]);
				assert_string_equal(string_of(t, row, "mode"), "cached");
				assert_int_equal(number(t, row, "repetitions"), 4);
				assert_true(number(t, row, "rate_bytes_per_s") > 0.0);
			}
	assert_int_equal(t->nrows, row);
	assert_int_equal(files_left(), 0);
}

/* Each look at the clock is 2 s later than the one before. */
static void step_on(struct files_run *run)
{
	run->now_ns += 2 * NS_PER_S;
}

TEST_WITH(without_a_size_it_ends_after_5_minutes_and_says_what_it_left_out, files_disk_make, files_dir_remove)
{
	struct files_run run = { .m = &measure_cache,
		                 .words = textf("--mode=cached --size=64K- --block=64K- %s", files_dir),
		                 .at_look = step_on };

	files_run(&run);
	if (run.r == -ENOSPC) {
		files_done(&run);
		skip(); /* no room for twice the memory here */
	}
	assert_int_equal(run.r, 0);
	assert_true(files_has_notice(&run, "time", "and more were measured in part or not at all"));
	assert_in_range((uint64_t)run.res->head.elapsed_s, 300, 330);
	assert_int_equal(run.res->status, STATUS_ENDED_EARLY);
	assert_true(files_table(&run, "matrix")->nrows > 0);
	files_done(&run);
}

/* A look at the clock is a millisecond; 64 KiB go between two looks. */
TEST_WITH(the_rate_is_bytes_over_time, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run =
		ran("--mode=cached --without=knee --size=64K-64K --block=64K-64K --slice=1s");
	const struct table *t = files_table(&run, "matrix");

	for (size_t i = 0; i < t->nrows; i++)
		if (is_op(t, i, "write") || is_op(t, i, "read")) /* 64 KiB: start, one look, end */
			assert_near(number(t, i, "rate_bytes_per_s"), 65536 / 2e-3, 1.0);
		else if (is_op(t, i, "reread")) /* goes round until 5 ms have passed */
			assert_near(number(t, i, "rate_bytes_per_s"), 5 * 65536 / 6e-3, 1.0);
}

TEST_WITH(cells_begin_cold_or_warm_as_they_say, files_disk_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran("--mode=cached --without=knee --size=128K-256K --block=512-16K");
	const struct table *t = files_table(&run, "matrix");
	unsigned cold = 0, warm = 0;

	for (size_t i = 0; i < t->nrows && !files_are_memory(); i++) {
		double before = number(t, i, "cached_before_ratio"), hits = number(t, i, "hit_ratio"),
		       device = number(t, i, "from_device_ratio");

		if (is_op(t, i, "read")) {
			cold++;
			assert_near(before, 0.0, 0.0);
			assert_near(hits, 0.0, 1e-9);
			assert_true(device >= 1.0); /* read-ahead may fetch beyond a repetition's end */
		} else if (is_op(t, i, "cold_random_read")) {
			assert_near(before, 0.0, 0.0);
		} else if (is_op(t, i, "reread") || is_op(t, i, "random_read")) {
			warm++;
			assert_near(before, 1.0, 0.0);
			assert_near(hits, 1.0, 0.0);
			assert_near(device, 0.0, 0.0);
		} else if (is_op(t, i, "rewrite") || is_op(t, i, "random_write")) {
			assert_near(before, 1.0, 0.0); /* else a part of a page would have to be fetched first */
			assert_true(isnan(hits));
		}
	}
	if (!files_are_memory()) {
		assert_int_equal(cold, 12);
		assert_int_equal(warm, 24);
	}
	assert_false(result_has_notice(run.res, "not-cold"));
}

TEST_WITH(past_the_cache_twins_are_left_out_and_small_records_too, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run =
		ran("--mode=both --without=knee --size=64K-64K --block=256-8K --slice=1ms");
	const struct table *t = files_table(&run, "matrix");
	double align = 0.0;

	for (size_t i = 0; i < t->nrows; i++) {
		if (strcmp(string_of(t, i, "mode"), "direct") != 0)
			continue;
		assert_false(is_op(t, i, "reread"));
		assert_false(is_op(t, i, "cold_random_read"));
		if (align == 0.0)
			align = number(t, i, "record_bytes");
	}
	assert_true(align == 0.0 || align >= 512.0); /* 0: no direct I/O here, and a notice */
	assert_true(align > 0.0 || result_has_notice(run.res, "no-direct"));
}

static void jitter(struct files_run *run)
{
	static uint64_t x = 1;

	x = x * 6364136223846793005ull + 1442695040888963407ull;
	run->now_ns += (x >> 33) % NS_PER_MS;
}

/* The time of each step is noise: readings from memory go on, all others are done as often as was asked for. */
TEST_WITH(readings_from_memory_go_on_until_they_are_precise, files_dir_make, files_dir_remove)
{
	static const struct {
		const char *words;
		double least, most;
	} runs[] = { { "--precision=0.1% --slice=10s", 48, 50 },
		     { "--precision=50%", 3, 3 },
		     { "--precision=10% --slice=10s", 3, 48 } };

	for (size_t k = 0; k < ARRAY_LEN(runs); k++) {
		cleanup_files struct files_run run = ran_while(
			jitter, textf("%s --mode=cached --without=knee --size=64K-64K --block=4K-4K", runs[k].words));
		const struct table *t = files_table(&run, "matrix");

		for (size_t i = 0; i < t->nrows; i++) {
			double n = number(t, i, "repetitions"), low = number(t, i, "low_bytes_per_s"),
			       high = number(t, i, "high_bytes_per_s"), rate = number(t, i, "rate_bytes_per_s");
			bool is_warm = is_op(t, i, "reread") || is_op(t, i, "random_read");

			assert_true(low <= rate && rate <= high);
			assert_true(is_warm ? n >= runs[k].least && n <= runs[k].most : n == 3);
			if (is_warm && n < 50) /* or it would not have ended */
				assert_true((high - low) / 2 <= rate * (k == 1 ? 0.5 : 0.1));
		}
	}
}

static void stop(struct files_run *run)
{
	if (run->looks < 500)
		return;
	run->cancel = 2;
	run->is_done = true;
}

TEST_WITH(a_broken_run_keeps_its_part_of_the_matrix, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran_while(stop, "--mode=cached --size=64K-1M --block=1K-64K");
	const struct table *t;

	assert_true(run.is_done);
	assert_int_equal(run.res->status, STATUS_CANCELLED);
	t = files_table(&run, "matrix");
	assert_in_range(t->nrows, 3, 200);
	for (size_t i = 0; i < t->nrows; i++) /* only whole cells */
		assert_true(number(t, i, "repetitions") >= 3);
	assert_int_equal(files_left(), 0);
}

TEST_WITH(the_time_budget_ends_between_cells_and_says_so, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran("--mode=cached --without=knee --size=64K-1M --time=300ms");

	assert_int_equal(run.res->status, STATUS_ENDED_EARLY);
	assert_in_range(files_table(&run, "matrix")->nrows, 3, 100);
}

TEST_WITH(costs_and_gains_are_those_of_the_cells, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran("--mode=cached --without=knee --size=64K-128K --block=1K-16K");
	const struct table *t = files_table(&run, "matrix");
	double hit = NAN, miss = NAN, ahead = NAN;

	for (size_t i = 0; i < t->nrows; i++) {
		double rate = number(t, i, "rate_bytes_per_s");

		if (number(t, i, "file_bytes") != 131072 || number(t, i, "record_bytes") != 4096)
			continue;
		hit = is_op(t, i, "random_read") ? rate : hit;
		miss = is_op(t, i, "cold_random_read") ? rate : miss;
		ahead = is_op(t, i, "read") ? rate : ahead;
	}
	if (sysconf(_SC_PAGESIZE) == 4096 && isfinite(files_figure(&run, "hit_ns"))) {
		assert_int_equal(files_figure(&run, "finding_record_bytes"), 4096);
		assert_near(files_figure(&run, "hit_ns"), 4096 / hit * 1e9, 1.0);
		assert_near(files_figure(&run, "miss_ns"), 4096 / miss * 1e9, 1.0);
		assert_near(files_figure(&run, "read_ahead_gain_ratio"), ahead / miss, 1e-9);
	}
}

TEST_WITH(a_knee_that_is_not_reached_is_not_made_up, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = ran("--mode=cached --size=1M-4M --block=64K-64K");
	const struct table *t;

	assert_true(isnan(files_figure(&run, "knee_bytes")));
	assert_true(files_has_notice(&run, "no-knee", "still read from memory"));
	t = files_table(&run, "knee");
	assert_int_equal(t->nrows, 3);
	for (size_t i = 0; i < t->nrows; i++) {
		assert_near(number(t, i, "hit_ratio"), 1.0, 0.0);
		assert_near(number(t, i, "cachestat_ratio"), 1.0, 0.0);
	}
}

TEST_WITH(a_file_system_without_room_names_the_options_that_help, files_dir_make, files_dir_remove)
{
	cleanup_files struct files_run run = { .m = &measure_cache, .words = textf("--size=-1000T %s", files_dir) };

	files_run(&run);
	assert_int_equal(run.r, -ENOSPC);
	assert_non_null(strstr(run.err.text, "--size"));
	assert_int_equal(files_left(), 0);
}

/* ---- a file that is there ---- */

static void fill_file(const char *name, size_t bytes)
{
	FILE *f = fopen(files_path(name), "we");

	assert_non_null(f);
	for (size_t i = 0; i < bytes; i++)
		assert_true(fputc((int)(i * 7 % 251), f) != EOF);
	assert_int_equal(fclose(f), 0);
}

TEST_WITH(a_file_that_exists_is_read_whole_and_stays_as_it_is, files_disk_make, files_dir_remove)
{
	static const char *const ops[] = { "read", "reread", "random_read", "cold_random_read" };
	cleanup_files struct files_run run = { 0 };
	struct stat before, after;
	const struct table *t;

	fill_file("theirs", 70000);
	assert_int_equal(stat(files_path("theirs"), &before), 0);
	run = files_ran(&measure_cache, NULL, textf("--mode=cached --block=4K-8K %s", files_path("theirs")));
	t = files_table(&run, "matrix");
	assert_int_equal(t->nrows, 8);
	for (size_t i = 0; i < t->nrows; i++) {
		assert_string_equal(string_of(t, i, "operation"), ops[i % 4]);
		assert_int_equal(number(t, i, "file_bytes"), i < 4 ? 69632 : 65536); /* whole records */
		if (is_op(t, i, "read") || is_op(t, i, "cold_random_read"))
			assert_near(number(t, i, "cached_before_ratio"), 0.0, 0.0);
		else
			assert_near(number(t, i, "hit_ratio"), 1.0, 0.0);
	}
	assert_null(result_find_table(run.res, "knee"));
	assert_int_equal(stat(files_path("theirs"), &after), 0);
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	assert_int_equal(after.st_size, 70000);
	assert_int_equal(unlink(files_path("theirs")), 0);
}

/* Two programs that read the same pages can be compared: who only reads again drops nothing. */
TEST_WITH(reading_again_alone_leaves_the_pages_where_they_are, files_disk_make, files_dir_remove)
{
	cleanup_files struct files_run run = { 0 };
	const struct table *t;
	int fd;

	fill_file("theirs", 1 << 20);
	run = files_ran(&measure_cache, NULL,
	                textf("--mode=cached --operations=reread --size=256K --block=64K-64K %s",
	                      files_path("theirs")));
	t = files_table(&run, "matrix");
	assert_int_equal(t->nrows, 1);
	assert_int_equal(number(t, 0, "file_bytes"), 256 << 10); /* --size: so much of it */
	assert_near(number(t, 0, "cached_before_ratio"), 1.0, 0.0);
	assert_near(number(t, 0, "from_device_ratio"), 0.0, 0.0);
	fd = open(files_path("theirs"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_near(pagecache_cached_ratio(fd, 0, 1 << 20), 1.0, 0.0); /* what was not read, too */
	(void)close(fd);
	assert_int_equal(unlink(files_path("theirs")), 0);
}

/* The state that a cell begins with does not depend on which others are measured. */
TEST_WITH(operations_are_measured_as_if_all_were, files_disk_make, files_dir_remove)
{
	cleanup_files struct files_run run =
		ran("--mode=cached --without=knee --operations=random_write,read --size=128K-256K --block=8K-16K");
	const struct table *t = files_table(&run, "matrix");

	assert_int_equal(t->nrows, 8);
	for (size_t i = 0; i < t->nrows; i++) {
		assert_string_equal(string_of(t, i, "operation"), i % 2 ? "random_write" : "read");
		assert_near(number(t, i, "cached_before_ratio"), i % 2 ? 1.0 : 0.0, 0.0);
		if (i % 2 == 0)
			assert_near(number(t, i, "hit_ratio"), 0.0, 1e-9);
	}
	assert_int_equal(files_left(), 0);
}
