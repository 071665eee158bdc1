/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front end of all engines: picks one, owns the buffers, counts what is in flight, drains.
 *
 * Buffers are one anonymous mapping, 2 MiB aligned and on huge pages when it is large: 1 MiB of scattered 4 KiB pages
 * is more segments than most queues take. The kernel then splits the request, io_uring's attempt without waiting fails,
 * and a kernel thread issues it again. That is three times slower, and a cgroup's throttle charges it twice.
 */
#include "engine/engine.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/str.h"
#include "base/xalloc.h"

#define HUGE_BYTES     (2ull << 20)
#define HUGE_FROM      (512ull << 10) /* smaller pools gain nothing from a huge page, and would cost one */
#define PAGE_BYTES     4096ull
#define DRAIN_LIMIT_NS (10 * NS_PER_S)

const char *io_op_name(enum io_op op)
{
	static const char *const names[] = {
		[IO_READ] = "read",
		[IO_WRITE] = "write",
		[IO_FLUSH] = "flush",
		[IO_VERIFY] = "verify",
		[IO_READ_FUA] = "read with FUA",
		[IO_WRITE_FUA] = "write with FUA",
	};

	return names[op];
}

static size_t round_up(size_t x, size_t to)
{
	return (x + to - 1) / to * to;
}

static size_t pool_bytes(const struct engine *eng)
{
	size_t bytes = (size_t)eng->cfg.slots * eng->buf_stride_bytes;

	return bytes >= HUGE_FROM ? round_up(bytes, HUGE_BYTES) : bytes;
}

static void pool_close(struct engine *eng)
{
	if (eng->bufs)
		(void)munmap(eng->bufs, pool_bytes(eng)); /* cannot fail on a mapping of ours */
	eng->bufs = NULL;
}

/*
 * Maps the buffers and touches every page, so that no fault falls into a measurement. It becomes accessible only once
 * huge pages were asked for: under mlockall(MCL_FUTURE) an accessible mapping gets small pages at once.
 */
static int pool_open(struct engine *eng, struct err *err)
{
	size_t bytes, room, head;
	uint8_t *map;

	eng->buf_stride_bytes = round_up(eng->cfg.buf_bytes, PAGE_BYTES);
	bytes = pool_bytes(eng);
	if (!bytes)
		return 0;
	room = bytes + HUGE_BYTES;
	map = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return err_set(
			err, -ENOMEM,
			"No memory for %u buffers of %u bytes (%s); use fewer requests in flight or smaller blocks.",
			eng->cfg.slots, eng->cfg.buf_bytes, err_name(errno));
	head = round_up((uintptr_t)map, HUGE_BYTES) - (uintptr_t)map;
	if (head)
		(void)munmap(map, head); /* trimming the ends cannot fail in a way that matters */
	if (room - head - bytes)
		(void)munmap(map + head + bytes, room - head - bytes); /* as above */
	eng->bufs = map + head;
	if (bytes >= HUGE_FROM)
		(void)madvise(eng->bufs, bytes, MADV_HUGEPAGE); /* without huge pages it still works, slower */
	if (mprotect(eng->bufs, bytes, PROT_READ | PROT_WRITE) < 0) {
		int r = -errno;

		pool_close(eng);
		return err_set(err, r,
		               "No memory for %u buffers of %u bytes (%s); use smaller blocks or raise ulimit -l.",
		               eng->cfg.slots, eng->cfg.buf_bytes, err_name(r));
	}
	for (size_t at = 0; at < bytes; at += PAGE_BYTES)
		((volatile uint8_t *)eng->bufs)[at] = 0;
	return 0;
}

/*
 * Would io_uring hand each request for this file to a kernel thread, because the device cannot be asked without waiting
 * (no NOWAIT: zram, FUSE, some dm)? Does no I/O: reads beyond the end. "auto" passes over io_uring then.
 */
static bool punts(int fd)
{
	struct stat st;
	off_t beyond = (off_t)1 << 62;
	uint8_t *buf;
	struct iovec iov;
	ssize_t n;
	int error;

	/* A file or device that supports the flag finds that this lies beyond the end; others refuse the flag first. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		beyond = (off_t)round_up((size_t)st.st_size, PAGE_BYTES) + (off_t)PAGE_BYTES;
	if (posix_memalign((void **)&buf, PAGE_BYTES, PAGE_BYTES) != 0)
		return false;
	iov = (struct iovec){ .iov_base = buf, .iov_len = PAGE_BYTES };
	n = preadv2(fd, &iov, 1, beyond, RWF_NOWAIT);
	error = errno;
	free(buf);
	return n < 0 && error == EOPNOTSUPP;
}

unsigned engine_worker_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	unsigned n = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		char path[sizeof(entry->d_name) + 32], comm[32] = "";
		int fd;

		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name); /* fits */
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (read(fd, comm, sizeof(comm) - 1) > 0 && strncmp(comm, "iou-wrk", 7) == 0)
			n++;
		(void)close(fd); /* read-only */
	}
	(void)closedir(dir); /* read-only */
	return n;
}

static int open_one(struct engine *eng, const struct engine_ops *ops, const struct engine_config *cfg, struct err *err)
{
	int r;

	eng->ops = ops;
	eng->cfg = *cfg;
	if (eng->cfg.depth == 0)
		eng->cfg.depth = 1;
	if (eng->cfg.depth > ops->max_depth)
		eng->cfg.depth = ops->max_depth;
	if (eng->cfg.slots < eng->cfg.depth)
		eng->cfg.slots = eng->cfg.depth;
	r = pool_open(eng, err);
	if (r < 0)
		return r;
	r = ops->open(eng, err);
	if (r < 0)
		pool_close(eng);
	return r;
}

static bool any_punts(const struct engine_config *cfg)
{
	for (size_t i = 0; cfg->fds && i < cfg->nfds; i++)
		if (punts(cfg->fds[i]))
			return true;
	return false;
}

const struct engine_ops *const engines_all[] = { &engine_uring, &engine_libaio, &engine_sync, NULL };

static bool is_punting(const struct engine_ops *ops, const struct engine_config *cfg)
{
	return ops == &engine_uring && any_punts(cfg);
}

/* Why an engine is passed over although it may work; NULL: no reason. */
static const char *pass_over(const struct engine_ops *ops, const struct engine_config *cfg)
{
	if (is_punting(ops, cfg))
		return "io_uring passed over: this device makes it hand every request to a kernel thread";
	if (ops == &engine_libaio && cfg->depth <= 1)
		return ""; /* nothing gained at depth 1: the synchronous engine costs least */
	return NULL;
}

static int open_best(struct engine *eng, const struct engine_ops *const *list, const struct engine_config *cfg,
                     struct err *err)
{
	int r = -ENOSYS;

	for (; *list; list++) {
		const char *why = list[1] ? pass_over(*list, cfg) : NULL;
		struct err refused = { 0 };

		if (why) {
			if (*why)
				str_list(eng->note, sizeof(eng->note), "; ", "%s", why);
			continue;
		}
		r = open_one(eng, *list, cfg, &refused);
		if (r == 0)
			return 0;
		str_list(eng->note, sizeof(eng->note), "; ", "%s", refused.text);
	}
	return err_set(err, r, "No engine could be opened: %s.", eng->note);
}

static int open_named(struct engine *eng, const struct engine_ops *const *list, const char *name,
                      const struct engine_config *cfg, struct err *err)
{
	char names[128] = "auto";

	for (; *list; list++) {
		if (strcmp((*list)->name, name) == 0) {
			int r = open_one(eng, *list, cfg, err);

			if (r == 0 && is_punting(*list, cfg))
				str_list(
					eng->note, sizeof(eng->note), "; ",
					"io_uring hands every request for this device to a kernel thread: auto would take another engine");
			return r;
		}
		str_add(names, sizeof(names), ", %s", (*list)->name);
	}
	return err_set(err, -EINVAL, "There is no engine \"%s\"; there are: %s.", name, names);
}

int engine_open(struct engine **ret_eng, const struct engine_ops *const *list, const char *name,
                const struct engine_config *cfg, struct clock *clk, struct err *err)
{
	struct engine *eng = xcalloc(1, sizeof(*eng));
	int r;

	eng->clk = clk;
	eng->cfg = *cfg;
	if (!name || strcmp(name, "auto") == 0)
		r = open_best(eng, list, cfg, err);
	else
		r = open_named(eng, list, name, cfg, err);
	if (r < 0) {
		free(eng);
		return r;
	}
	eng->cfg.fds = NULL; /* the caller's array, for opening only */
	eng->cfg.nfds = 0;
	*ret_eng = eng;
	return 0;
}

static void drain(struct engine *eng)
{
	uint64_t limit = clock_now_ns(eng->clk) + DRAIN_LIMIT_NS;
	struct io_req *done[32];

	while (eng->in_flight > 0 && !eng->is_leaky) {
		if (engine_reap(eng, done, 32, limit) < 0 || clock_now_ns(eng->clk) >= limit)
			eng->is_leaky = eng->in_flight > 0;
	}
}

void engine_close(struct engine *eng)
{
	if (!eng)
		return;
	drain(eng);
	eng->ops->close(eng);
	if (eng->is_leaky)
		return; /* the kernel may still write there */
	pool_close(eng);
	free(eng);
}

int engine_submit(struct engine *eng, struct io_req *const *reqs, uint32_t nreqs)
{
	uint32_t room = eng->cfg.depth - eng->in_flight;
	int n;

	if (eng->is_leaky)
		return -EIO;
	if (nreqs > room)
		nreqs = room;
	if (nreqs == 0)
		return 0;
	n = eng->ops->submit(eng, reqs, nreqs);
	if (n > 0)
		eng->in_flight += (uint32_t)n;
	return n;
}

int engine_reap(struct engine *eng, struct io_req **done, uint32_t max, uint64_t until_ns)
{
	int n;

	if (eng->in_flight == 0) {
		if (until_ns != CLOCK_NEVER && until_ns > clock_now_ns(eng->clk))
			eng->clk->sleep_until_ns(eng->clk, until_ns);
		return 0;
	}
	n = eng->ops->reap(eng, done, max, until_ns);
	if (n > 0) {
		assert((uint32_t)n <= eng->in_flight);
		eng->in_flight -= (uint32_t)n;
	}
	return n;
}
