/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What test_engine.c cannot ask of a real kernel: io_uring on one that knows fewer of its set-up flags. And that no
 * engine, nor the loop above it, allocates memory for a request (strace in tests/block/engine.sh looks at the system
 * calls).
 */
#include "test.h"

#include <liburing.h>

#include "engine/engine.h"
#include "load/load.h"

#define BLOCK  4096u
#define BLOCKS 64u

/* ---- an older kernel ---- */

static unsigned known_flags, tried[8];
static size_t ntried;
static unsigned hidden_features;

int __real_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p);
int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p);

int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *p)
{
	int r;

	if (ntried < ARRAY_LEN(tried))
		tried[ntried++] = p->flags;
	if (p->flags & ~known_flags)
		return -EINVAL; /* as the kernel says to flags that it does not know */
	r = __real_io_uring_queue_init_params(entries, ring, p);
	ring->features &= ~hidden_features;
	return r;
}

/* ---- counting allocations ---- */

static unsigned long nallocated;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
int __real_posix_memalign(void **ret, size_t align, size_t n);
int __wrap_posix_memalign(void **ret, size_t align, size_t n);

void *__wrap_malloc(size_t n)
{
	nallocated++;
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	nallocated++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	nallocated++;
	return __real_realloc(p, n);
}

int __wrap_posix_memalign(void **ret, size_t align, size_t n)
{
	nallocated++;
	return __real_posix_memalign(ret, align, n);
}

/* ---- a file, and reading it ---- */

static int make_file(void)
{
	char path[] = "/tmp/platter-uring-XXXXXX";
	uint64_t block[BLOCK / sizeof(uint64_t)];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	(void)unlink(path); /* the descriptor keeps it */
	for (uint64_t i = 0; i < BLOCKS; i++) {
		for (size_t k = 0; k < BLOCK / sizeof(uint64_t); k++)
			block[k] = i * 1000003 + k;
		assert_int_equal(write(fd, block, BLOCK), BLOCK);
	}
	return fd;
}

struct checker {
	struct sink sink; /* first */
	uint64_t taken, good;
};

static void check(struct sink *sink, const struct io_req *req, bool is_fault)
{
	uint64_t number = req->offset_bytes / BLOCK, found[2];

	memcpy(found, req->buf, sizeof(found));
	((struct checker *)sink)->taken++;
	if (!is_fault && found[0] == number * 1000003 && found[1] == found[0] + 1)
		((struct checker *)sink)->good++;
}

/* Returns how many of so many random reads brought their block. */
static uint64_t read_blocks(struct engine *eng, int fd, uint64_t n)
{
	const struct target target = {
		.name = "file", .fd = fd, .size_bytes = BLOCKS * (uint64_t)BLOCK, .align_bytes = 512
	};
	struct checker checker = { .sink = { check } };
	struct random_feeder feeder;
	const struct load load = { .targets = &target, .ntargets = 1, .feeder = &feeder.f, .sink = &checker.sink };
	struct load_stats stats;
	struct err err = { 0 };

	random_feeder_init(&feeder, IO_READ, 0, 0, target.size_bytes, BLOCK, n, 7);
	assert_int_equal(load_run(&load, eng, &stats, &err), 0);
	assert_int_equal(checker.taken, n);
	return checker.good;
}

static struct engine *open_engine(const char *name, int fd, int *ret)
{
	const struct engine_config cfg = { .depth = 16, .buf_bytes = BLOCK, .fds = &fd, .nfds = 1 };
	struct engine *eng = NULL;
	struct err err = { 0 };

	ntried = 0;
	*ret = engine_open(&eng, engines_all, name, &cfg, clock_monotonic(), &err);
	return eng;
}

/* ---- tests ---- */

TEST(flags_that_a_kernel_does_not_know_are_left_out_and_all_is_read)
{
	/* Linux 6.1, 5.19, 5.11; what the best set-up of each has to have. */
	static const struct {
		unsigned known, has;
		size_t tries;
	} kernels[] = {
		{ ~0u, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 1 },
		{ IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP,
		  IORING_SETUP_COOP_TASKRUN, 2 },
		{ 0, 0, 3 },
	};
	cleanup_close int fd = make_file();

	for (size_t i = 0; i < ARRAY_LEN(kernels); i++) {
		struct engine *eng;
		int r;

		known_flags = kernels[i].known;
		eng = open_engine("uring", fd, &r);
		if (r == -EPERM || r == -ENOSYS)
			skip(); /* a container's filter of system calls */
		assert_int_equal(r, 0);
		if (ntried != kernels[i].tries) /* the kernel here is an old one itself */
			print_message("%zu set-ups were tried\n", ntried);
		assert_true(ntried >= kernels[i].tries);
		assert_int_equal(tried[kernels[i].tries - 1] & kernels[i].has, kernels[i].has);
		assert_int_equal(read_blocks(eng, fd, 1000), 1000);
		engine_close(eng);
	}
	known_flags = ~0u;
}

TEST(a_kernel_without_time_outs_of_waits_is_left_to_libaio)
{
	cleanup_close int fd = make_file();
	struct engine *eng;
	int r;

	hidden_features = IORING_FEAT_EXT_ARG;
	eng = open_engine("uring", fd, &r);
	assert_null(eng);
	assert_true(r == -ENOSYS || r == -EPERM);
	eng = open_engine("auto", fd, &r);
	hidden_features = 0;
	assert_int_equal(r, 0);
	assert_string_equal(eng->ops->name, "libaio");
	assert_non_null(strstr(eng->note, "io_uring refused"));
	assert_int_equal(read_blocks(eng, fd, 1000), 1000);
	engine_close(eng);
}

TEST(no_request_allocates_memory)
{
	cleanup_close int fd = make_file();

	for (size_t i = 0; engines_all[i]; i++) {
		unsigned long few, many;
		struct engine *eng;
		int r;

		eng = open_engine(engines_all[i]->name, fd, &r);
		if (r == -EPERM || r == -ENOSYS)
			continue;
		assert_int_equal(r, 0);
		nallocated = 0;
		assert_int_equal(read_blocks(eng, fd, 100), 100);
		few = nallocated;
		nallocated = 0;
		assert_int_equal(read_blocks(eng, fd, 20000), 20000);
		many = nallocated;
		print_message("%s: %lu allocations for 100 requests, %lu for 20000\n", engines_all[i]->name, few, many);
		assert_true(few > 0); /* they are counted */
		assert_int_equal(few, many);
		engine_close(eng);
	}
}
