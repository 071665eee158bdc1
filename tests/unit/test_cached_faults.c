/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * passes, cache and mark on a disk that does not take what is written: fsync() or fdatasync() fails at its Nth call
 * (the linker puts the functions below in place of them), or a write comes back short because the disk is full. Each is
 * reported as the disk's error (exit status 4), what was measured before stays, and no file is left.
 */
#include "test.h"

#include "filesrun.h"

extern const struct measure measure_passes, measure_cache, measure_mark;

static long syncs_left = -1, writes_left = -1; /* calls that go well; -1: all */
static bool syncs_failed, is_full;
static int sync_errno;

int __real_fsync(int fd);
int __real_fdatasync(int fd);
ssize_t __real_pwrite(int fd, const void *buf, size_t len, off_t at);
ssize_t __real_pwrite64(int fd, const void *buf, size_t len, off_t at);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *buf, size_t len, off_t at);

static bool sync_fails(void)
{
	if (syncs_left < 0)
		return false;
	if (syncs_left-- > 0)
		return false;
	syncs_failed = true;
	errno = sync_errno;
	return true; /* once, as the kernel reports it once: syncs_left is -1 now */
}

int __wrap_fsync(int fd)
{
	return sync_fails() ? -1 : __real_fsync(fd);
}

int __wrap_fdatasync(int fd)
{
	return sync_fails() ? -1 : __real_fdatasync(fd);
}

/* A full disk takes a part of one write, then nothing. */
static ssize_t limited(int fd, const void *buf, size_t len, off_t at, ssize_t (*real)(int, const void *, size_t, off_t))
{
	if (writes_left < 0 || (writes_left > 0 && writes_left--))
		return real(fd, buf, len, at);
	if (!is_full && len > 1) {
		is_full = true;
		return real(fd, buf, len / 2, at);
	}
	errno = ENOSPC;
	return -1;
}

ssize_t __wrap_pwrite(int fd, const void *buf, size_t len, off_t at)
{
	return limited(fd, buf, len, at, __real_pwrite);
}

ssize_t __wrap_pwrite64(int fd, const void *buf, size_t len, off_t at)
{
	return limited(fd, buf, len, at, __real_pwrite64);
}

static const struct {
	const struct measure *m;
	const char *words, *table;
} cases[] = {
	{ &measure_passes, "--size=1M --repeat=2 --mode=cold", "steps" },
	{ &measure_cache, "--mode=cached --without=knee --size=256K-256K --block=4K-4K", "matrix" },
	{ &measure_cache, "--mode=cached --sync=end --without=knee --size=256K-256K --block=4K-4K", "matrix" },
	{ &measure_cache, "--mode=cached --sync=each --without=knee --size=64K-64K --block=4K-4K", "matrix" },
	{ &measure_mark, "--count=2000 --repeat=2 --time=50ms", "runs" },
};

static void begin(struct files_run *run, size_t k)
{
	*run = (struct files_run){ .m = cases[k].m };
	(void)snprintf(run->words, sizeof(run->words), "%s %s", cases[k].words, files_dir);
	syncs_failed = is_full = false;
}

/*
 * One fault of that kind. A disk's: the document says so, exit status 4 (cli/run.c). The file system's, which is full:
 * the run failed, the disk did not.
 */
static void expect_fault(struct files_run *run, size_t k, const char *op, int want_errno)
{
	if (run->r != (want_errno == ENOSPC ? -ENOSPC : 0))
		fail_msg("%s %s: %d, %s", cases[k].m->name, cases[k].words, run->r, run->err.text);
	if (run->res->nfaults != 1)
		fail_msg("%s %s: %zu faults", cases[k].m->name, cases[k].words, run->res->nfaults);
	assert_string_equal(run->res->faults[0].op, op);
	assert_int_equal(run->res->faults[0].result, -want_errno);
	assert_int_equal(run->res->status, want_errno == ENOSPC ? STATUS_FAILED : STATUS_WITH_ERRORS);
	assert_int_equal(result_fault_count(run->res), want_errno != ENOSPC);
	assert_int_equal(files_left(), 0);
}

TEST(every_flush_that_fails_is_an_error_of_the_disk_or_a_limit)
{
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		size_t before = 0;
		long nth = 0;

		for (;; nth += 1 + nth / 3) { /* the first, the second, ... until there are no more */
			struct files_run run;
			const struct table *t;

			begin(&run, k);
			sync_errno = nth % 2 ? ENOSPC : EIO; /* ENOSPC: room is sought late by some file systems */
			syncs_left = nth;
			files_run(&run);
			syncs_left = -1;
			if (!syncs_failed) {
				files_done(&run);
				break;
			}
			expect_fault(&run, k, "flush", sync_errno);
			t = result_find_table(run.res, cases[k].table);
			assert_true(!t || t->nrows >= before || cases[k].m == &measure_passes);
			before = t ? t->nrows : 0;
			files_done(&run);
		}
		if (nth < 2)
			fail_msg("%s %s: %ld calls", cases[k].m->name, cases[k].words, nth);
		if (cases[k].m != &measure_passes && before == 0)
			fail_msg("%s %s: nothing was kept", cases[k].m->name, cases[k].words);
	}
}

TEST(a_file_system_that_is_full_in_the_middle_is_no_error_of_the_disk)
{
	static const long first[] = { 3, 65, 65, 17, 5 };

	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		for (long more = 0; more < 2; more++) {
			cleanup_files struct files_run run = { 0 };

			begin(&run, k);
			writes_left = first[k] * (1 + more * (cases[k].m == &measure_cache ? 6 : 1));
			files_run(&run);
			writes_left = -1;
			expect_fault(&run, k, "write", ENOSPC);
			if (cases[k].m == &measure_passes) { /* what went before, and nothing that was not measured */
				assert_int_equal(files_table(&run, "steps")->nrows, 1);
				assert_true(isnan(files_figure(&run, "fsync_ns")));
				assert_true(isnan(files_figure(&run, "write_bytes_per_s")));
			}
		}
	}
}

TESTS_BETWEEN(files_dir_make, files_dir_remove)
