/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in memory of a file, against planted patterns, by both methods; and what happens on a kernel that lacks
 * cachestat(2). Files in /tmp: where that is memory itself, what drops pages cannot be tested and is left out.
 */
#include "test.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "filesrun.h"
#include "measure/shared/pagecache.h"

extern const struct measure measure_passes, measure_cache;

#define PAGES     512u
#define CACHESTAT 451

/* ---- a kernel without cachestat(2): syscall() comes by here ---- */

static bool is_old_kernel;
static unsigned cachestat_calls;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

/* How many arguments a call has is not known here: six are passed on, as the C library does; those beyond are whatever
 * is there. */
__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...)
{
	va_list ap;
	long a[6];

	va_start(ap, number);
	for (size_t i = 0; i < ARRAY_LEN(a); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == CACHESTAT) {
		cachestat_calls++;
		if (is_old_kernel) {
			errno = ENOSYS;
			return -1;
		}
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int new_kernel(void **state)
{
	is_old_kernel = false;
	cachestat_calls = 0;
	return files_disk_make(state);
}

/* ---- a file ---- */

static uint64_t page(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A file of PAGES pages, all on the disk and none in memory (but in a file system of memory). */
static int open_cold(void)
{
	int fd = open(files_path("f"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	uint8_t *zero = calloc(PAGES, page());
	uint64_t left = 1;

	assert_true(fd >= 0);
	assert_non_null(zero);
	memset(zero, 7, PAGES * page());
	assert_int_equal(pwrite(fd, zero, PAGES * page(), 0), (ssize_t)(PAGES * page()));
	free(zero);
	assert_int_equal(pagecache_make_cold(fd, &left), 0);
	if (!files_are_memory())
		assert_int_equal(left, 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0); /* no read-ahead */
	return fd;
}

static void close_file(int fd)
{
	(void)close(fd);
	assert_int_equal(unlink(files_path("f")), 0);
}

static void fetch(int fd, uint64_t first, uint64_t n)
{
	uint8_t byte;

	for (uint64_t i = first; i < first + n; i++)
		assert_int_equal(pread(fd, &byte, 1, (off_t)(i * page())), 1);
}

static uint64_t pages_by(enum pagecache_method method, int fd, uint64_t first, uint64_t n)
{
	struct pagecache_state st;

	assert_int_equal(pagecache_look_by(method, fd, first * page(), n * page(), &st), 0);
	assert_int_equal(st.method, method);
	assert_int_equal(st.cached_bytes % page(), 0);
	return st.cached_bytes / page();
}

static bool has_cachestat(int fd)
{
	struct pagecache_state st;

	return pagecache_look_by(PAGECACHE_CACHESTAT, fd, 0, 0, &st) == 0;
}

/* ---- patterns ---- */

static void assert_pages(int fd, uint64_t first, uint64_t n, uint64_t want)
{
	if (has_cachestat(fd))
		assert_int_equal(pages_by(PAGECACHE_CACHESTAT, fd, first, n), want);
	assert_int_equal(pages_by(PAGECACHE_MINCORE, fd, first, n), want);
}

TEST_WITH(both_methods_count_planted_pages_exactly, new_kernel, files_dir_remove)
{
	int fd = open_cold();

	if (files_are_memory()) {
		close_file(fd);
		return;
	}
	assert_pages(fd, 0, PAGES, 0);
	fetch(fd, 100, 1);
	fetch(fd, 200, 50);
	fetch(fd, PAGES - 1, 1);
	assert_pages(fd, 0, PAGES, 52);
	assert_pages(fd, 0, 100, 0);
	assert_pages(fd, 100, 1, 1);
	assert_pages(fd, 210, 20, 20);
	assert_pages(fd, 240, 100, 10);
	assert_near(pagecache_cached_ratio(fd, 0, PAGES * page()), 52.0 / PAGES, 1e-12);
	assert_true(isnan(pagecache_cached_ratio(fd, 0, 0)));
	close_file(fd);
}

TEST_WITH(scattered_pages_are_counted_too, new_kernel, files_dir_remove)
{
	int fd = open_cold();
	uint64_t n = 0;

	for (uint64_t i = 3; i < PAGES && !files_are_memory(); i += 5, n++)
		fetch(fd, i, 1);
	if (n)
		assert_pages(fd, 0, PAGES, n);
	close_file(fd);
}

TEST_WITH(the_whole_file_is_meant_by_length_0, new_kernel, files_dir_remove)
{
	struct pagecache_state a, b;
	int fd = open_cold();

	fetch(fd, 7, 3);
	assert_int_equal(pagecache_look(fd, 0, 0, &a), 0);
	assert_int_equal(pagecache_look(fd, 0, PAGES * page(), &b), 0);
	assert_int_equal(a.cached_bytes, b.cached_bytes);
	close_file(fd);
}

TEST_WITH(dirty_pages_are_known_and_written_back_by_making_cold, new_kernel, files_dir_remove)
{
	struct pagecache_state st;
	int fd = open_cold();
	uint64_t left = 1;

	if (!files_are_memory() && has_cachestat(fd)) {
		assert_int_equal(pwrite(fd, "x", 1, (off_t)(9 * page())), 1);
		assert_int_equal(pagecache_make_cold(fd, &left), 0);
		assert_int_equal(left, 0);
		assert_int_equal(pagecache_look(fd, 0, 0, &st), 0);
		assert_int_equal(st.cached_bytes, 0);
	}
	close_file(fd);
}

/* Pages that somebody has mapped are not dropped: then the state is not what was wanted, and that is said. */
TEST_WITH(what_stays_in_memory_is_reported, new_kernel, files_dir_remove)
{
	int fd = open_cold();
	uint64_t left = 0;
	volatile uint8_t *map = mmap(NULL, PAGES * page(), PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);

	assert_true(map != MAP_FAILED);
	assert_int_equal(map[5 * page()], 7);
	assert_int_equal(pagecache_make_cold(fd, &left), 0);
	assert_true(left > 0);
	(void)munmap((void *)(uintptr_t)map, PAGES * page());
	close_file(fd);
}

/* ---- without cachestat(2) ---- */

TEST_WITH(a_kernel_without_cachestat_is_asked_by_mincore, new_kernel, files_dir_remove)
{
	int fd = open_cold();
	struct pagecache_state st;

	fetch(fd, 40, 8);
	is_old_kernel = true;
	assert_int_equal(pagecache_look_by(PAGECACHE_CACHESTAT, fd, 0, 0, &st), -ENOSYS);
	assert_int_equal(pagecache_look(fd, 0, 0, &st), 0);
	assert_int_equal(st.method, PAGECACHE_MINCORE);
	assert_string_equal(pagecache_method_name(st.method), "mincore");
	if (!files_are_memory())
		assert_int_equal(st.cached_bytes, 8 * page());
	assert_int_equal(pagecache_look_by(PAGECACHE_NONE, fd, 0, 0, &st), -EOPNOTSUPP);
	assert_int_equal(st.method, PAGECACHE_NONE);
	close_file(fd);
}

static const char *witness(const struct result *res)
{
	return result_option_text(res, "cache-witness") ?: "";
}

TEST_WITH(whole_runs_fall_back_and_say_so, new_kernel, files_dir_remove)
{
	cleanup_files struct files_run run = { 0 };
	const struct table *t;

	is_old_kernel = true;
	run = files_ran(&measure_passes, NULL, textf("--size=1M --repeat=2 --mode=cold %s", files_dir));
	assert_true(cachestat_calls > 0); /* it was asked first */
	assert_string_equal(witness(run.res), "mincore");
	t = files_table(&run, "steps");
	if (!files_are_memory()) {
		assert_near(number(t, 1, "cached_before_ratio"), 1.0, 1e-9); /* written, not yet dropped */
		assert_near(number(t, 2, "cached_before_ratio"), 0.0, 1e-9);
		assert_near(number(t, 2, "from_device_ratio"), 1.0, 0.02);
	}
}

/* ---- who moved it ---- */

TEST_WITH(the_thread_is_charged_what_it_fetched, new_kernel, files_dir_remove)
{
	struct pagecache_traffic before, after;
	struct pagecache_share share;
	int fd = open_cold();

	pagecache_traffic(NULL, 0, &before);
	fetch(fd, 0, 100);
	fetch(fd, 0, 100);
	pagecache_traffic_since(NULL, 0, &before, (double)NAN, &after);
	assert_false(after.has_disk);
	if (after.has_process && !files_are_memory()) {
		assert_int_equal(after.fetched_bytes, 100 * page());
		share = pagecache_share(&after, 200 * page(), false);
		assert_near(share.device_ratio, 0.5, 1e-9);
	}
	close_file(fd);
}

TEST(what_is_not_known_is_not_a_number)
{
	struct pagecache_traffic t = { .fetched_bytes = 50, .disk_read_bytes = 200, .disk_written_bytes = 10 };

	assert_true(isnan(pagecache_share(&t, 100, false).device_ratio)); /* has_process is false */
	assert_true(isnan(pagecache_share(&t, 100, false).disk_ratio));
	t.has_process = t.has_disk = true;
	assert_near(pagecache_share(&t, 100, false).device_ratio, 0.5, 1e-12);
	assert_near(pagecache_share(&t, 100, false).disk_ratio, 2.0, 1e-12); /* others read, too: not cut */
	assert_true(isnan(pagecache_share(&t, 100, true).device_ratio));     /* written later, by others */
	assert_near(pagecache_share(&t, 100, true).disk_ratio, 0.1, 1e-12);
	assert_true(isnan(pagecache_share(&t, 0, true).disk_ratio));
}

TEST(an_account_of_nothing_is_believed_only_where_it_can_be)
{
	static const struct {
		uint64_t fetched;
		bool has_disk;
		double cached_before;
		bool is_believed;
	} cases[] = {
		{ 0, false, 1.0, true },    /* all was in memory */
		{ 0, false, 0.0, false },   /* cold, from a server */
		{ 0, false, 0.999, false }, /* some pages were missing */
		{ 4096, false, 0.0, true }, /* the kernel does count */
		{ 0, true, 0.0, true },     /* another job has fetched it from the disk */
		{ 0, false, NAN, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pagecache_traffic t = { .has_process = true,
			                       .has_disk = cases[i].has_disk,
			                       .fetched_bytes = cases[i].fetched };

		pagecache_doubt(&t, cases[i].cached_before);
		if (t.has_process != cases[i].is_believed)
			fail_msg("case %zu", i);
		assert_int_equal(isnan(pagecache_share(&t, 8192, false).device_ratio), !cases[i].is_believed);
	}
}
