/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every engine through the one contract of engine.h: the real ones on a file with O_DIRECT where the file system has
 * it, and on tmpfs without; those of tests/sim on a file of a simulated disk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/engine.h"
#include "sim.h"

#define BLOCK  4096u
#define BLOCKS 256u
#define TAIL   1024u /* the file ends within a block */

/* What the group runs on. */
static const char *engine_name, *dir; /* dir NULL: a simulated disk */
static bool is_direct;

static struct sim *sim;
static struct engine *eng;
static int fd = -1;
static struct io_req reqs[256];

static void fill_block(uint64_t *block, uint64_t number)
{
	for (uint64_t i = 0; i < BLOCK / 8; i++)
		block[i] = number * 1000003 + i;
}

static bool is_block(const void *buf, uint64_t number, size_t len)
{
	uint64_t block[BLOCK / 8];

	fill_block(block, number);
	return memcmp(buf, block, len) == 0;
}

static int claim_sim(const char *name)
{
	struct device dev;
	int r;

	assert_int_equal(device_sim.probe(sim, name, &dev, NULL), 0);
	r = device_sim.claim(sim, &dev, NULL);
	assert_true(r >= 0);
	return r;
}

static int make_sim_file(void)
{
	struct sim_disk *disk;
	uint64_t block[BLOCK / 8];

	sim = sim_new();
	disk = sim_add_profile(sim, "tiny", "sda");
	(void)sim_add_file(sim, disk, "file", 1 << 20, BLOCKS * BLOCK + TAIL); /* found by its name below */
	for (uint64_t i = 0; i <= BLOCKS; i++) {
		fill_block(block, i);
		assert_int_equal(disk_poke(sim_model(disk), (1 << 20) + i * BLOCK, i < BLOCKS ? BLOCK : TAIL, block),
		                 0);
	}
	return claim_sim("file");
}

static int make_file(void)
{
	char path[256];
	uint64_t block[BLOCK / 8];
	int f;

	if (!dir)
		return make_sim_file();
	(void)snprintf(path, sizeof(path), "%s/platter-engine-XXXXXX", dir);
	f = mkstemp(path);
	if (f < 0)
		return -1;
	for (uint64_t i = 0; i <= BLOCKS; i++) {
		fill_block(block, i);
		assert_int_equal(write(f, block, i < BLOCKS ? BLOCK : TAIL), i < BLOCKS ? BLOCK : TAIL);
	}
	(void)close(f); /* checked by reading */
	f = open(path, O_RDWR | O_CLOEXEC | (is_direct ? O_DIRECT : 0));
	(void)unlink(path); /* the descriptor keeps it */
	return f;
}

static void drop_file(void)
{
	if (sim)
		device_sim.close(sim, fd);
	else
		(void)close(fd); /* unlinked */
	sim_free(sim);
	sim = NULL;
}

static struct clock *the_clock(void)
{
	return sim ? sim_env(sim)->clk : clock_monotonic();
}

static int open_depth(uint32_t depth, uint32_t slots)
{
	const struct engine_config cfg = { .depth = depth, .slots = slots, .buf_bytes = BLOCK, .fds = &fd, .nfds = 1 };
	struct err err = { 0 };
	int r = engine_open(&eng, sim ? sim_env(sim)->engines : engines_all, engine_name, &cfg, the_clock(), &err);

	if (r == -EPERM || r == -ENOSYS) {
		print_message("%s\n", err.text);
		skip();
	}
	assert_int_equal(r, 0);
	return r;
}

static int setup(void **state)
{
	memset(reqs, 0, sizeof(reqs));
	fd = make_file();
	return fd < 0;
}

static int teardown(void **state)
{
	engine_close(eng);
	eng = NULL;
	drop_file();
	return 0;
}

static struct io_req *prepare(uint32_t i, enum io_op op, uint64_t offset, uint32_t len)
{
	reqs[i] = (struct io_req){
		.op = op,
		.fd = fd,
		.len_bytes = len,
		.offset_bytes = offset,
		.slot = i,
		.buf = engine_buf(eng, i),
		.res = 12345678,
	};
	return &reqs[i];
}

/* One request through the engine, alone. */
static int32_t one(struct io_req *req)
{
	struct io_req *done[4] = { 0 };
	int n = 0;

	assert_int_equal(engine_submit(eng, &req, 1), 1);
	assert_int_equal(eng->in_flight, 1);
	for (int tries = 0; n == 0 && tries < 100; tries++)
		n = engine_reap(eng, done, 4, CLOCK_NEVER);
	assert_int_equal(n, 1);
	assert_ptr_equal(done[0], req);
	assert_int_equal(eng->in_flight, 0);
	return req->res;
}

/* `count` reads of blocks in a scattered order, as many in flight as it takes; every one comes back once, with its
 * block. */
static void read_scattered(uint32_t count, uint32_t per_submit, uint32_t per_reap)
{
	struct io_req *batch[256], *done[256];
	uint32_t given = 0, back = 0, most = 0;
	uint8_t seen[256] = { 0 };

	while (back < count) {
		uint32_t room = eng->cfg.depth - eng->in_flight, n = 0;
		int r;

		while (n < per_submit && given + n < count && n < room) {
			batch[n] = prepare(given + n, IO_READ, (given + n) * 37 % BLOCKS * (uint64_t)BLOCK, BLOCK);
			n++;
		}
		r = engine_submit(eng, batch, n);
		assert_in_range(r, 0, n);
		given += (uint32_t)r;
		if (eng->in_flight > most)
			most = eng->in_flight;
		r = engine_reap(eng, done, per_reap, CLOCK_NEVER);
		assert_in_range(r, 0, per_reap);
		for (int i = 0; i < r; i++) {
			uint32_t k = (uint32_t)(done[i] - reqs);

			assert_int_equal(seen[k]++, 0);
			assert_int_equal(done[i]->res, BLOCK);
			assert_true(is_block(done[i]->buf, k * 37 % BLOCKS, BLOCK));
		}
		back += (uint32_t)r;
	}
	assert_int_equal(eng->in_flight, 0);
	if (eng->ops->max_depth > 1 && per_submit >= eng->cfg.depth)
		assert_int_equal(most, eng->cfg.depth);
}

static void sixty_four_in_flight_all_come_back_once(void **state)
{
	open_depth(64, 256);
	read_scattered(256, 64, 64);
}

static void odd_batches_and_small_reaps_lose_nothing(void **state)
{
	static const uint32_t ways[][3] = { { 1, 1, 1 }, { 5, 3, 1 }, { 33, 7, 2 }, { 100, 100, 3 }, { 256, 33, 256 } };

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		(void)teardown(state); /* always 0 */
		assert_int_equal(setup(state), 0);
		open_depth(ways[i][0], 256);
		read_scattered(256, ways[i][1], ways[i][2]);
	}
}

static void a_full_queue_takes_no_more_and_says_so(void **state)
{
	struct io_req *batch[12], *done[12];
	uint32_t taken = 0;

	open_depth(8, 12);
	for (uint32_t i = 0; i < 12; i++)
		batch[i] = prepare(i, IO_READ, i * BLOCK, BLOCK);
	for (int tries = 0; tries < 12; tries++) {
		int r = engine_submit(eng, batch + taken, 12 - taken);

		assert_true(r >= 0);
		taken += (uint32_t)r;
	}
	assert_int_equal(taken, eng->cfg.depth);
	assert_int_equal(eng->in_flight, eng->cfg.depth);
	while (eng->in_flight) {
		int n = engine_reap(eng, done, 12, CLOCK_NEVER);

		assert_true(n >= 0);
		for (int i = 0; i < n; i++)
			assert_int_equal(done[i]->res, BLOCK);
	}
	assert_in_range(engine_submit(eng, batch + taken, 1), 1, 1); /* there is room again */
}

static void what_was_written_is_read_back(void **state)
{
	uint64_t block[BLOCK / 8];

	open_depth(4, 4);
	fill_block(block, 777);
	memcpy(engine_buf(eng, 1), block, BLOCK);
	assert_int_equal(one(prepare(1, IO_WRITE, 10 * BLOCK, BLOCK)), BLOCK);
	assert_int_equal(one(prepare(0, IO_FLUSH, 0, 0)), 0);
	assert_int_equal(one(prepare(2, IO_READ, 10 * BLOCK, BLOCK)), BLOCK);
	assert_true(is_block(engine_buf(eng, 2), 777, BLOCK));
	assert_int_equal(one(prepare(2, IO_READ, 11 * BLOCK, BLOCK)), BLOCK);
	assert_true(is_block(engine_buf(eng, 2), 11, BLOCK));
}

/* Files are no disks that take commands: reported, and nothing is written. */
/* Of a whole disk; files know none, simulated ones neither. */
static void fua_moves_the_same_bytes_or_none(void **state)
{
	const uint64_t first = 1 << 20; /* of the simulated file on its disk */

	open_depth(4, 4);
	if (!eng->ops->has_commands)
		skip();
	fill_block(engine_buf(eng, 1), 888);
	assert_int_equal(one(prepare(1, IO_WRITE_FUA, 12 * BLOCK, BLOCK)), -EOPNOTSUPP);
	assert_int_equal(one(prepare(2, IO_READ, 12 * BLOCK, BLOCK)), BLOCK);
	assert_true(is_block(engine_buf(eng, 2), 12, BLOCK));
	assert_int_equal(one(prepare(3, IO_READ_FUA, 13 * BLOCK, BLOCK)), -EOPNOTSUPP);
	prepare(0, IO_WRITE_FUA, 0, BLOCK)->fd = 9999;
	assert_int_equal(one(&reqs[0]), -EBADF);
	assert_int_equal(one(prepare(0, IO_WRITE_FUA, UINT64_MAX - BLOCK + 1, BLOCK)), -EINVAL);
	if (!sim)
		return;
	device_sim.close(sim, fd); /* a disk is not had while what lies on it is */
	fd = claim_sim("sda");
	assert_int_equal(one(prepare(1, IO_WRITE_FUA, first + 12 * BLOCK, BLOCK)), BLOCK);
	assert_int_equal(one(prepare(3, IO_READ_FUA, first + 13 * BLOCK, BLOCK)), BLOCK);
	assert_true(is_block(engine_buf(eng, 3), 13, BLOCK));
	device_sim.close(sim, fd);
	fd = claim_sim("file");
	assert_int_equal(one(prepare(2, IO_READ, 12 * BLOCK, BLOCK)), BLOCK);
	assert_true(is_block(engine_buf(eng, 2), 888, BLOCK));
}

static void reads_end_with_the_file(void **state)
{
	open_depth(4, 4);
	assert_int_equal(one(prepare(0, IO_READ, BLOCKS * BLOCK, BLOCK)), TAIL);
	assert_true(is_block(engine_buf(eng, 0), BLOCKS, TAIL));
	assert_int_equal(one(prepare(0, IO_READ, (BLOCKS + 1) * BLOCK, BLOCK)), 0);
	assert_int_equal(one(prepare(0, IO_READ, (BLOCKS + 1000) * (uint64_t)BLOCK, BLOCK)), 0);
}

static void bad_places_come_back_as_errors_of_their_request(void **state)
{
	open_depth(4, 4);
	assert_int_equal(one(prepare(0, IO_READ, UINT64_MAX - BLOCK + 1, BLOCK)), -EINVAL);
	if (is_direct)
		assert_int_equal(one(prepare(0, IO_READ, 100, BLOCK)), -EINVAL);
	assert_int_equal(one(prepare(0, IO_READ, 0, BLOCK)), BLOCK); /* it goes on */
}

static void a_bad_descriptor_fails_its_own_request_only(void **state)
{
	struct io_req *batch[5], *done[5];
	uint32_t given = 0, back = 0;

	open_depth(8, 8);
	for (uint32_t i = 0; i < 5; i++)
		batch[i] = prepare(i, IO_READ, i * BLOCK, BLOCK);
	batch[0]->fd = batch[3]->fd = 9999;
	while (back < 5) {
		int n = engine_submit(eng, batch + given, 5 - given);

		assert_true(n >= 0);
		given += (uint32_t)n;
		n = engine_reap(eng, done, 5, CLOCK_NEVER);
		assert_true(n >= 0);
		back += (uint32_t)n;
	}
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(reqs[i].res, i == 0 || i == 3 ? -EBADF : (int32_t)BLOCK);
	prepare(0, IO_FLUSH, 0, 0)->fd = 9999;
	assert_int_equal(one(&reqs[0]), -EBADF);
	prepare(0, IO_WRITE, 0, BLOCK)->fd = 9999;
	assert_int_equal(one(&reqs[0]), -EBADF);
}

static void memory_of_the_caller_works_as_well(void **state)
{
	cleanup_free void *mine = NULL;

	open_depth(4, 4);
	assert_int_equal(posix_memalign(&mine, BLOCK, BLOCK), 0);
	prepare(0, IO_READ, 5 * BLOCK, BLOCK);
	reqs[0].slot = SLOT_NONE;
	reqs[0].buf = mine;
	assert_int_equal(one(&reqs[0]), BLOCK);
	assert_true(is_block(mine, 5, BLOCK));
	prepare(0, IO_WRITE, 6 * BLOCK, BLOCK);
	reqs[0].slot = SLOT_NONE;
	reqs[0].buf = mine;
	assert_int_equal(one(&reqs[0]), BLOCK);
	assert_int_equal(one(prepare(1, IO_READ, 6 * BLOCK, BLOCK)), BLOCK);
	assert_true(is_block(engine_buf(eng, 1), 5, BLOCK));
}

static void stamps_lie_around_the_request_and_in_order(void **state)
{
	open_depth(4, 4);
	for (int i = 0; i < 100; i++) {
		uint64_t before = clock_now_ns(eng->clk);

		assert_int_equal(one(prepare(0, IO_READ, 0, BLOCK)), BLOCK);
		assert_in_range(reqs[0].submit_ns, before, reqs[0].done_ns);
		assert_true(reqs[0].done_ns <= clock_now_ns(eng->clk));
	}
}

static void a_wait_for_nothing_ends_at_its_time(void **state)
{
	struct io_req *done[1];
	uint64_t start;

	open_depth(4, 4);
	start = clock_now_ns(eng->clk);
	assert_int_equal(engine_reap(eng, done, 1, 0), 0);
	assert_int_equal(engine_reap(eng, done, 1, CLOCK_NEVER), 0);
	assert_int_equal(engine_reap(eng, done, 1, start + 5 * NS_PER_MS), 0);
	assert_true(clock_now_ns(eng->clk) >= start + 5 * NS_PER_MS);
}

static void asking_without_waiting_gets_it_in_the_end(void **state)
{
	struct io_req *req, *done[1];
	uint64_t limit;
	int n = 0;

	open_depth(4, 4);
	req = prepare(0, IO_READ, BLOCK, BLOCK);
	assert_int_equal(engine_submit(eng, &req, 1), 1);
	limit = clock_now_ns(eng->clk) + 10 * NS_PER_S;
	while (n == 0 && clock_now_ns(eng->clk) < limit) {
		eng->clk->sleep_until_ns(eng->clk, clock_now_ns(eng->clk) + 100 * NS_PER_US);
		n = engine_reap(eng, done, 1, 0);
	}
	assert_int_equal(n, 1);
	assert_int_equal(req->res, BLOCK);
}

static void closing_drains_what_is_in_flight(void **state)
{
	struct io_req *batch[8];
	struct io_req mine[8];
	int n;

	open_depth(8, 8);
	for (uint32_t i = 0; i < 8; i++) {
		mine[i] = *prepare(i, IO_READ, i * BLOCK, BLOCK);
		batch[i] = &mine[i];
	}
	n = engine_submit(eng, batch, 8);
	assert_true(n >= 1);
	engine_close(eng);
	eng = NULL;
	for (int i = 0; i < n; i++)
		assert_int_equal(mine[i].res, BLOCK);
}

static void buffers_are_aligned_apart_and_there(void **state)
{
	open_depth(4, 300);
	assert_int_equal((uintptr_t)eng->bufs % (2 << 20), 0);
	assert_int_equal(eng->cfg.slots, 300);
	for (uint32_t i = 0; i < 300; i++)
		memset(engine_buf(eng, i), (int)i, BLOCK);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(((uint8_t *)engine_buf(eng, i))[BLOCK - 1], (uint8_t)i);
	engine_close(eng);
	open_depth(1000000, 0);
	assert_int_equal(eng->cfg.depth, eng->ops->max_depth);
	assert_int_equal(eng->cfg.slots, eng->cfg.depth);
}

/* ---- the front end ---- */

static void an_unknown_name_is_answered_with_the_names_there_are(void **state)
{
	const struct engine_config cfg = { .depth = 1 };
	struct err err = { 0 };

	assert_int_equal(engine_open(&eng, engines_all, "psync", &cfg, clock_monotonic(), &err), -EINVAL);
	assert_non_null(strstr(err.text, "auto, uring, libaio, sync"));
}

static int refused_open(struct engine *e, struct err *err)
{
	return err_set(err, -EPERM, "first refused (EPERM)");
}

static void auto_takes_the_next_best_and_says_why(void **state)
{
	static const struct engine_ops first = { .name = "first", .max_depth = 8, .open = refused_open };
	static const struct engine_ops *const list[] = { &first, &engine_sync, NULL }, *const none[] = { &first, NULL };
	const struct engine_config cfg = { .depth = 8, .buf_bytes = BLOCK };
	struct err err = { 0 };

	assert_int_equal(engine_open(&eng, list, "auto", &cfg, clock_monotonic(), &err), 0);
	assert_ptr_equal(eng->ops, &engine_sync);
	assert_string_equal(eng->note, "first refused (EPERM)");
	assert_int_equal(eng->cfg.depth, 1);
	engine_close(eng);
	eng = NULL;
	assert_int_equal(engine_open(&eng, none, "auto", &cfg, clock_monotonic(), &err), -EPERM);
	assert_non_null(strstr(err.text, "first refused"));
	assert_int_equal(engine_open(&eng, list, "first", &cfg, clock_monotonic(), &err), -EPERM);
	assert_null(eng);
}

/* ---- waiting, shown on io_uring, which can read pipes ---- */

static void on_alarm(int sig)
{
}

static void a_time_out_and_a_signal_return_nothing_and_the_request_stays(void **state)
{
	const struct sigaction quiet = { .sa_handler = on_alarm };
	/* Again and again: one signal alone could come before the wait begins, on a busy machine. */
	const struct itimerval soon = { { .tv_usec = 20000 }, { .tv_usec = 20000 } }, never = { 0 };
	struct io_req *req, *done[1];
	uint64_t start;
	int pipes[2];

	engine_name = "uring";
	open_depth(4, 4);
	assert_int_equal(pipe(pipes), 0);
	req = prepare(0, IO_READ, 0, 100);
	req->slot = SLOT_NONE; /* registered buffers are for files */
	req->fd = pipes[0];
	assert_int_equal(engine_submit(eng, &req, 1), 1);
	start = clock_now_ns(eng->clk);
	assert_int_equal(engine_reap(eng, done, 1, 0), 0);
	assert_int_equal(engine_reap(eng, done, 1, start + 20 * NS_PER_MS), 0);
	assert_true(clock_now_ns(eng->clk) >= start + 20 * NS_PER_MS);
	assert_int_equal(sigaction(SIGALRM, &quiet, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(engine_reap(eng, done, 1, CLOCK_NEVER), 0); /* the signal */
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(eng->in_flight, 1);
	assert_int_equal(write(pipes[1], "abc", 3), 3);
	assert_int_equal(engine_reap(eng, done, 1, CLOCK_NEVER), 1);
	assert_int_equal(req->res, 3);
	assert_memory_equal(req->buf, "abc", 3);
	(void)close(pipes[0]); /* done with */
	(void)close(pipes[1]); /* as above */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static int run_contract(const char *name, const char *where, bool direct)
{
	const struct CMUnitTest tests[] = {
		TEST(sixty_four_in_flight_all_come_back_once),
		TEST(odd_batches_and_small_reaps_lose_nothing),
		TEST(a_full_queue_takes_no_more_and_says_so),
		TEST(what_was_written_is_read_back),
		TEST(fua_moves_the_same_bytes_or_none),
		TEST(reads_end_with_the_file),
		TEST(bad_places_come_back_as_errors_of_their_request),
		TEST(a_bad_descriptor_fails_its_own_request_only),
		TEST(memory_of_the_caller_works_as_well),
		TEST(stamps_lie_around_the_request_and_in_order),
		TEST(a_wait_for_nothing_ends_at_its_time),
		TEST(asking_without_waiting_gets_it_in_the_end),
		TEST(closing_drains_what_is_in_flight),
		TEST(buffers_are_aligned_apart_and_there),
	};
	char title[64];

	engine_name = name;
	dir = where;
	is_direct = direct;
	(void)snprintf(title, sizeof(title), "%s on %s%s", name, where ? where : "a simulated disk",
	               direct ? ", direct" : "");
	fd = make_file();
	if (fd < 0) {
		print_message("%s: cannot be tried here (%s)\n", title, strerror(errno));
		return 0;
	}
	drop_file();
	return _cmocka_run_group_tests(title, tests, ARRAY_LEN(tests), NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest front_end[] = {
		cmocka_unit_test_teardown(an_unknown_name_is_answered_with_the_names_there_are, teardown),
		cmocka_unit_test_teardown(auto_takes_the_next_best_and_says_why, teardown),
		TEST(a_time_out_and_a_signal_return_nothing_and_the_request_stays),
	};
	int failed = 0;

	for (size_t i = 0; i == 0 || engines_all[i - 1]; i++) {
		const char *name = i ? engines_all[i - 1]->name : "auto";

		failed += run_contract(name, ".", true); /* the build directory */
		failed += run_contract(name, "/dev/shm", false);
	}
	failed += run_contract("sim", NULL, true);
	failed += run_contract("sim-sync", NULL, true);
	dir = ".";
	is_direct = false;
	return failed + cmocka_run_group_tests(front_end, NULL, NULL);
}
