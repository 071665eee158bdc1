/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fault loop of what works in files: the Nth read, write or flush of a run fails, for N = 1, 2, 3, ... until the
 * run has fewer of them than that; in runs of more than 64 N grows by a quarter each time after the first 16
 * (PLATTER_LONG=1: it takes every one). The calls go by here on their way to the C library.
 */
#include "test.h"

#include <sys/uio.h>

#include "engine/engine.h"
#include "filesrun.h"
#include "roundtrip.h"

extern const struct measure measure_passes, measure_cache, measure_mark, measure_stream;

enum call { CALL_READ, CALL_WRITE, CALL_FLUSH, CALLS };
static const char *const call_names[CALLS] = { "read", "write", "flush" };

/* HOW_FULL: a half of it, and then ENOSPC from then on; of a flush, for which some file systems seek room late, once.
 */
enum how { HOW_EIO, HOW_FULL, HOW_SHORT, HOW_ZERO, HOW_EVER, HOWS };
static const char *const how_names[HOWS] = { "EIO", "full", "short", "0 bytes", "EIO from then on" };

/* ---- the calls ---- */

static struct {
	atomic_bool is_on;
	enum call call;
	enum how how;
	uint64_t nth; /* 0: none */
	atomic_uint_fast64_t count, failed;
	atomic_bool in_header; /* what failed was the header of a file, which is no part of what is measured */
} plan;

/* Whether this call goes wrong. *len: shortened. -1 with errno, 0: nothing moved, 1: go on. */
static int hit(enum call call, size_t *len, off_t at)
{
	bool is_ever;
	uint64_t n;

	if (!plan.is_on || call != plan.call)
		return 1;
	n = ++plan.count;
	is_ever = plan.how == HOW_EVER || (plan.how == HOW_FULL && call == CALL_WRITE);
	if (plan.nth == 0 || (is_ever ? n < plan.nth : n != plan.nth))
		return 1;
	if (plan.how == HOW_SHORT && *len < 2)
		return 1;
	plan.failed++;
	plan.in_header = call != CALL_FLUSH && at == 0 && *len == DATAFILE_HEADER_BYTES;
	switch (plan.how) {
	case HOW_SHORT:
		*len /= 2;
		return 1;
	case HOW_ZERO:
		return 0;
	case HOW_FULL:
		if (is_ever && n == plan.nth && *len > 1) {
			*len /= 2;
			return 1;
		}
		errno = ENOSPC;
		return -1;
	default:
		errno = EIO;
		return -1;
	}
}

ssize_t __real_pread64(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_pread64(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap___pread64_chk(int fd, void *buf, size_t len, off_t at, size_t room);
ssize_t __real_pwrite64(int fd, const void *buf, size_t len, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *buf, size_t len, off_t at);
ssize_t __real_preadv64v2(int fd, const struct iovec *iov, int n, off_t at, int flags);
ssize_t __wrap_preadv64v2(int fd, const struct iovec *iov, int n, off_t at, int flags);
ssize_t __real_pwritev64v2(int fd, const struct iovec *iov, int n, off_t at, int flags);
ssize_t __wrap_pwritev64v2(int fd, const struct iovec *iov, int n, off_t at, int flags);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

ssize_t __wrap_pread64(int fd, void *buf, size_t len, off_t at)
{
	int r = hit(CALL_READ, &len, at);

	return r > 0 ? __real_pread64(fd, buf, len, at) : r;
}

/* What _FORTIFY_SOURCE makes of it. */
ssize_t __wrap___pread64_chk(int fd, void *buf, size_t len, off_t at, size_t room)
{
	assert_true(len <= room);
	return __wrap_pread64(fd, buf, len, at);
}

ssize_t __wrap_pwrite64(int fd, const void *buf, size_t len, off_t at)
{
	int r = hit(CALL_WRITE, &len, at);

	return r > 0 ? __real_pwrite64(fd, buf, len, at) : r;
}

/* The engine gives one piece at a time. */
ssize_t __wrap_preadv64v2(int fd, const struct iovec *iov, int n, off_t at, int flags)
{
	struct iovec piece = iov[0];
	int r = hit(CALL_READ, &piece.iov_len, at);

	assert_int_equal(n, 1);
	return r > 0 ? __real_preadv64v2(fd, &piece, 1, at, flags) : r;
}

ssize_t __wrap_pwritev64v2(int fd, const struct iovec *iov, int n, off_t at, int flags)
{
	struct iovec piece = iov[0];
	int r = hit(CALL_WRITE, &piece.iov_len, at);

	assert_int_equal(n, 1);
	return r > 0 ? __real_pwritev64v2(fd, &piece, 1, at, flags) : r;
}

int __wrap_fsync(int fd)
{
	size_t len = 0;

	return hit(CALL_FLUSH, &len, 0) < 0 ? -1 : __real_fsync(fd);
}

int __wrap_fdatasync(int fd)
{
	size_t len = 0;

	return hit(CALL_FLUSH, &len, 0) < 0 ? -1 : __real_fdatasync(fd);
}

/* Waiting for pages that nobody can drop from memory: not here. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	return 0;
}

/* ---- the runs ---- */

struct tally {
	unsigned runs, with_errors, failed, harmless, calls;
	uint64_t most; /* calls of the good run */
	size_t rows;   /* that the run before had, whose call was an earlier one */
};

/* What failed, and whether it is the disk's: a file system that is full ends the run, and is no fault of the disk. */
static void check_fault(const struct files_run *run, struct tally *t, const char *where)
{
	const struct table *table;
	bool is_full = plan.how == HOW_FULL;
	const struct result_fault *f = run->res && run->res->nfaults ? run->res->faults : NULL;

	if (plan.how == HOW_SHORT || plan.how == HOW_ZERO || plan.in_header || run->m == &measure_stream)
		return;
	if (run->r != (is_full ? -ENOSPC : 0) || !f)
		fail_msg("%s: %d, %s", where, run->r, run->err.text);
	if (strcmp(f->op, call_names[plan.call]) != 0 || f->result != (is_full ? -ENOSPC : -EIO))
		fail_msg("%s: %s, %d", where, f->op, (int)f->result);
	if ((result_fault_count(run->res) == 0) != is_full)
		fail_msg("%s: %d faults", where, (int)result_fault_count(run->res));
	if (run->m == &measure_passes) { /* nothing that was not measured */
		assert_true(plan.call != CALL_WRITE ||
		            (isnan(files_figure(run, "write_bytes_per_s")) && isnan(files_figure(run, "fsync_ns"))));
		return;
	}
	table = result_find_table(run->res, run->m == &measure_cache ? "matrix" : "runs");
	if (plan.call == CALL_FLUSH && table) { /* what went before stays */
		assert_true(table->nrows >= t->rows);
		t->rows = table->nrows;
	}
}

/* It went wrong: the document, or when nothing could be measured the sentence, has to say so. */
static void check_told(const struct files_run *run, struct tally *t, const char *where)
{
	check_fault(run, t, where);
	if (run->r < 0) { /* before the first request: the file itself could not be made */
		if (strlen(run->err.text) < 20)
			fail_msg("%s: failed without a sentence: '%s'", where, run->err.text);
		if (run->res && run->res->status != STATUS_FAILED)
			fail_msg("%s: failed, but the status is %s", where, status_name(run->res->status));
		t->failed++;
		return;
	}
	if (plan.in_header && plan.failed == 1 && run->res->status == STATUS_COMPLETE) {
		t->harmless++; /* not known as ours, or made again with less room: all was measured */
		return;
	}
	if (run->res->status != STATUS_WITH_ERRORS && run->res->status != STATUS_DEVICE_GONE)
		fail_msg("%s: the status is %s", where, status_name(run->res->status));
	if (result_fault_count(run->res) == 0)
		fail_msg("%s: no fault listed", where);
	t->with_errors++;
}

/* Whether the run came as far as call nth. */
static bool one_run(const struct measure *m, const char *words, enum call call, enum how how, uint64_t nth,
                    unsigned kept, struct tally *t)
{
	static const struct engine_ops *const engines[] = { &engine_sync, NULL };
	cleanup_files struct files_run run = { .m = m, .words = words, .engines = engines, .spin_ns = 1 };
	char where[300];

	(void)snprintf(where, sizeof(where), "%s %s, %s %" PRIu64 ": %s", m->name, words, call_names[call], nth,
	               nth ? how_names[how] : "good");
	plan.call = call;
	plan.how = how;
	plan.nth = nth;
	plan.count = plan.failed = 0;
	plan.in_header = false;
	plan.is_on = true;
	files_run(&run);
	plan.is_on = false;
	if (run.res)
		check_round_trip(run.res, where);
	if (plan.failed)
		check_told(&run, t, where);
	else if (run.r < 0 || run.res->status != STATUS_COMPLETE)
		fail_msg("%s: %s", where, run.r < 0 ? run.err.text : status_name(run.res->status));
	if (nth == 0)
		t->most = plan.count;
	else if (plan.count > 2 * t->most + 3000)
		fail_msg("%s: %" PRIu64 " calls where %" PRIu64 " did", where, (uint64_t)plan.count, t->most);
	if (files_left() != kept)
		fail_msg("%s: a file is left behind", where);
	t->runs++;
	return plan.failed > 0;
}

static void loop(const struct measure *m, const char *words, unsigned kept)
{
	struct tally t = { 0 };

	for (enum call call = CALL_READ; call < CALLS; call++) {
		bool takes_all;

		(void)one_run(m, words, call, HOW_EIO, 0, kept, &t);
		takes_all = getenv("PLATTER_LONG") || t.most <= 64 / TALLY_SHARE;
		print_message("%s: %" PRIu64 " calls of %s\n", m->name, t.most, call_names[call]);
		for (enum how how = HOW_EIO; how < HOWS; how++) {
			if ((how == HOW_FULL && call == CALL_READ) ||
			    ((how == HOW_SHORT || how == HOW_ZERO) && call == CALL_FLUSH))
				continue;
			t.rows = 0;
			for (uint64_t nth = 1; one_run(m, words, call, how, nth, kept, &t);
			     nth += takes_all || nth < 16 / TALLY_SHARE ? 1 : 1 + nth / 4)
				t.calls++;
			assert_true(call != CALL_FLUSH || m == &measure_passes || m == &measure_stream || t.rows > 0);
		}
	}
	print_message("%s %s: %u runs, %u with errors, %u failed, %u harmless\n", m->name, words, t.runs, t.with_errors,
	              t.failed, t.harmless);
	assert_true(t.with_errors > 0);
	print_message("fault-count: faults-%s %u reported each time, a valid document, no file left\n",
	              m == &measure_stream ? "stream-files" : m->name, t.calls);
}

static void in_folder(const struct measure *m, const char *words)
{
	loop(m, textf("%s %s", words, files_dir), 0);
}

TEST_WITH(every_fault_of_passes_is_reported, files_dir_make, files_dir_remove)
{
	in_folder(&measure_passes, "--size=512K --repeat=2");
	in_folder(&measure_passes, "--size=256K --repeat=2 --mode=cold");
}

TEST_WITH(every_fault_of_passes_over_a_file_is_reported, files_dir_make, files_dir_remove)
{
	int fd = open(files_path("theirs"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 300000), 0);
	(void)close(fd);
	loop(&measure_passes, textf("--repeat=2 --mode=cold %s", files_path("theirs")), 1);
	assert_int_equal(unlink(files_path("theirs")), 0);
}

TEST_WITH(every_fault_of_cache_is_reported, files_dir_make, files_dir_remove)
{
	in_folder(&measure_cache, "--mode=cached --size=64K-64K --block=16K-32K --repeat=3 --slice=2ms");
	in_folder(&measure_cache,
	          "--mode=cached --sync=each --without=knee --size=64K-64K --block=32K-32K --repeat=3 --slice=2ms");
}

TEST_WITH(every_fault_of_mark_is_reported, files_dir_make, files_dir_remove)
{
	in_folder(&measure_mark, "--count=600 --repeat=2 --time=3ms");
	in_folder(&measure_mark, "--count=600 --repeat=1 --time=3ms --sweep=64K,128K");
}

TEST_WITH(every_fault_of_stream_to_files_is_reported, files_dir_make, files_dir_remove)
{
	in_folder(
		&measure_stream,
		"--mode=cached --engine=sync --rate=1MB --size=512K --block=64K --buffer=1M --file-size=256K --verify");
}
