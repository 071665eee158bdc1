/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both ends use one clock, so the way there and the way back are measured apart: the server notes when it received a
 * request and when it answered, and this side when it asked and when it had the answer. Direct reads and writes of two
 * sizes, one at a time, give the fixed part and the part per byte. Medians, so that a busy moment at the start does not
 * spoil the rest.
 */
#include "calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define SMALL_BYTES 4096u
#define BIG_BYTES   (1u << 20)
#define SMALL_TRIES 24
#define BIG_TRIES   8
#define BUF_BYTES   ((size_t)2 << 20) /* aligned to this: one huge page, so that big requests go in one piece */
/* More is not the way, but a machine that had no time for us. */
#define PATH_MAX_NS     120000u
#define PER_BYTE_MAX_NS 0.4

struct way {
	uint64_t there_ns, back_ns;
};

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

/* The medians of n transfers. */
static int measure(struct way *ret, int fd, char *buf, size_t len, bool is_write, unsigned n,
                   const struct sim_shared *shared)
{
	uint64_t there[SMALL_TRIES] = { 0 }, back[SMALL_TRIES] = { 0 };

	for (unsigned i = 0; i < n; i++) {
		uint64_t start = clock_now_ns(clock_monotonic()), end;
		ssize_t moved = is_write ? pwrite(fd, buf, len, 0) : pread(fd, buf, len, 0);

		end = clock_now_ns(clock_monotonic());
		if (moved != (ssize_t)len)
			return moved < 0 ? -errno : -EIO;
		/* The answer is noted after it was given: it may be there before the note. */
		for (unsigned k = 0; atomic_load(&shared->calibration_reply_ns) < start && k < 10000; k++)
			(void)usleep(10);
		there[i] = atomic_load(&shared->calibration_received_ns) - start;
		back[i] = end - atomic_load(&shared->calibration_reply_ns);
	}
	ret->there_ns = median(there, n);
	ret->back_ns = median(back, n);
	return 0;
}

static double per_byte(uint64_t big_ns, uint64_t small_ns)
{
	double ns = big_ns > small_ns ? (double)(big_ns - small_ns) / (BIG_BYTES - SMALL_BYTES) : 0;

	return ns < PER_BYTE_MAX_NS ? ns : PER_BYTE_MAX_NS;
}

static uint64_t cut(uint64_t ns)
{
	return ns < PATH_MAX_NS ? ns : PATH_MAX_NS;
}

static int measure_all(struct sim_path *ret, int fd, char *buf, bool is_read_only, const struct sim_shared *shared)
{
	struct way read_small = { 0 }, read_big = { 0 }, write_big = { 0 }, write_small = { 0 };
	int r = measure(&read_small, fd, buf, SMALL_BYTES, false, SMALL_TRIES, shared);

	if (r == 0)
		r = measure(&read_big, fd, buf, BIG_BYTES, false, BIG_TRIES, shared);
	if (r == 0 && !is_read_only)
		r = measure(&write_small, fd, buf, SMALL_BYTES, true, BIG_TRIES, shared);
	if (r == 0 && !is_read_only)
		r = measure(&write_big, fd, buf, BIG_BYTES, true, BIG_TRIES, shared);
	if (r < 0)
		return r;
	ret->in_ns = cut(read_small.there_ns);
	ret->out_ns = cut(read_small.back_ns);
	ret->out_ns_per_byte = per_byte(read_big.back_ns, read_small.back_ns);
	ret->in_ns_per_byte = is_read_only ? 0 : per_byte(write_big.there_ns, write_small.there_ns);
	return 0;
}

int calibrate(struct sim_path *ret, const char *device, bool is_read_only, const struct sim_shared *shared,
              struct err *err)
{
	cleanup_close int fd = open(device, (is_read_only ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC);
	char *room = mmap(NULL, 2 * BUF_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r = -ENOMEM;

	if (fd < 0)
		return err_set(err, -errno, "Cannot open %s: %s.", device, strerror(errno));
	if (room != MAP_FAILED) {
		char *buf = room + (BUF_BYTES - (uintptr_t)room % BUF_BYTES);

		(void)madvise(buf, BUF_BYTES, MADV_HUGEPAGE);
		memset(buf, 0, BUF_BYTES);
		r = measure_all(ret, fd, buf, is_read_only, shared);
		(void)munmap(room, 2 * BUF_BYTES);
	}
	return r < 0 ? err_set(err, r, "Cannot measure the way to %s: %s.", device, strerror(-r)) : 0;
}
