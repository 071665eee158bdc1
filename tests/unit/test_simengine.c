/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulated disks behind the engine's contract (engine.h) and the device ops, in virtual time. */
#include "test.h"

#include "sim.h"

static struct sim *sim;
static struct sim_disk *sd;
static struct device dev;
static struct engine *eng;
static int fd;
static struct io_req reqs[256];

static void open_engine(const char *name, uint32_t depth)
{
	const struct engine_config cfg = { .depth = depth, .buf_bytes = 65536 };
	struct err err = { 0 };

	assert_int_equal(engine_open(&eng, sim_env(sim)->engines, name, &cfg, sim_env(sim)->clk, &err), 0);
}

static int setup(void **state)
{
	struct err err;

	memset(reqs, 0, sizeof(reqs));
	sim = sim_new();
	sd = sim_add_profile(sim, "tiny", "sda");
	assert_int_equal(device_sim.probe(sim, "/dev/sda", &dev, &err), 0);
	fd = device_sim.open(sim, &dev, NULL, DEVICE_OPEN_DIRECT, &err);
	assert_true(fd >= SIM_FD_FIRST);
	return 0;
}

static int teardown(void **state)
{
	engine_close(eng);
	eng = NULL;
	device_sim.close(sim, fd);
	sim_free(sim);
	return 0;
}

/* From here on reads of it bring what is there. */
static void open_for_writing(const struct device *which)
{
	static const int some_permit = 0; /* only its being there counts */
	struct err err;
	int claim = device_sim.claim(sim, which, &err);

	device_sim.close(sim, fd);
	fd = device_sim.open(sim, which, (const struct write_permit *)&some_permit, 0, &err);
	assert_true(fd >= SIM_FD_FIRST);
	device_sim.close(sim, claim);
}

static struct io_req *prepare(uint32_t i, enum io_op op, uint64_t offset, uint32_t len)
{
	reqs[i] = (struct io_req){
		.op = op, .fd = fd, .len_bytes = len, .offset_bytes = offset, .slot = i, .res = 12345
	};
	reqs[i].buf = engine_buf(eng, i);
	return &reqs[i];
}

static int32_t one(struct io_req *req)
{
	struct io_req *done = NULL;

	assert_int_equal(engine_submit(eng, &req, 1), 1);
	assert_int_equal(engine_reap(eng, &done, 1, CLOCK_NEVER), 1);
	assert_ptr_equal(done, req);
	return req->res;
}

TEST_WITH(a_read_brings_the_pattern_and_takes_virtual_time, setup, teardown)
{
	uint64_t word;

	open_engine("sim", 1);
	open_for_writing(&dev);
	assert_int_equal(one(prepare(0, IO_READ, 4096 * 100, 4096)), 4096);
	memcpy(&word, reqs[0].buf, 8);
	assert_int_equal(word, 800);
	assert_true(reqs[0].done_ns > reqs[0].submit_ns);
	assert_int_equal(reqs[0].done_ns, sim_clock(sim)->now_ns);
	assert_true(reqs[0].done_ns - reqs[0].submit_ns < 20 * NS_PER_MS);
}

TEST_WITH(a_full_engine_takes_no_more, setup, teardown)
{
	struct io_req *batch[8], *done[8];

	open_engine("sim", 4);
	for (uint32_t i = 0; i < 8; i++)
		batch[i] = prepare(i & 3, IO_READ, i * 1000000 / 512 * 512, 512);
	assert_int_equal(engine_submit(eng, batch, 8), 4);
	assert_int_equal(engine_submit(eng, batch + 4, 4), 0);
	for (uint32_t n = 0; n < 4;) {
		int r = engine_reap(eng, done, 8, CLOCK_NEVER);

		assert_true(r > 0);
		n += (uint32_t)r;
	}
	assert_int_equal(eng->in_flight, 0);
}

TEST_WITH(every_request_of_a_deep_queue_comes_back_once, setup, teardown)
{
	struct io_req *done[64], *batch[128];
	uint32_t back = 0;
	uint64_t last = 0;

	open_engine("sim", 128);
	for (uint32_t i = 0; i < 128; i++)
		batch[i] = prepare(i, IO_READ, (i * 7919ull % 700) * 512 * 1000, 4096);
	assert_int_equal(engine_submit(eng, batch, 128), 128);
	while (back < 128) {
		int n = engine_reap(eng, done, 64, CLOCK_NEVER);

		assert_true(n > 0);
		for (int i = 0; i < n; i++) {
			assert_int_equal(done[i]->res, 4096);
			assert_true(done[i]->done_ns >= last);
			last = done[i]->done_ns;
			done[i]->res = -1; /* seen twice would show */
		}
		back += (uint32_t)n;
	}
	assert_int_equal(engine_reap(eng, done, 64, 0), 0);
}

TEST_WITH(reap_waits_no_longer_than_it_is_asked_to, setup, teardown)
{
	struct io_req *done;
	struct io_req *req;
	uint64_t t;

	open_engine("sim", 4);
	t = sim_clock(sim)->now_ns;
	assert_int_equal(engine_reap(eng, &done, 1, CLOCK_NEVER), 0); /* nothing in flight */
	assert_int_equal(sim_clock(sim)->now_ns, t);
	assert_int_equal(engine_reap(eng, &done, 1, t + 5000), 0);
	assert_int_equal(sim_clock(sim)->now_ns, t + 5000);
	req = prepare(0, IO_READ, 100 << 20, 512);
	assert_int_equal(engine_submit(eng, &req, 1), 1);
	assert_int_equal(engine_reap(eng, &done, 1, 0), 0);
	assert_int_equal(engine_reap(eng, &done, 1, t + 10000), 0);
	assert_int_equal(sim_clock(sim)->now_ns, t + 10000);
	assert_int_equal(engine_reap(eng, &done, 1, CLOCK_NEVER), 1);
}

TEST_WITH(the_synchronous_one_is_done_within_submit, setup, teardown)
{
	struct io_req *req;
	struct io_req *done;
	uint64_t t = sim_clock(sim)->now_ns;

	open_engine("sim-sync", 32);
	assert_int_equal(eng->cfg.depth, 1);
	req = prepare(0, IO_READ, 100 << 20, 512);
	assert_int_equal(engine_submit(eng, &req, 1), 1);
	assert_true(sim_clock(sim)->now_ns > t);
	assert_int_equal(engine_submit(eng, &req, 1), 0);
	assert_int_equal(engine_reap(eng, &done, 1, 0), 1);
}

TEST_WITH(the_end_of_the_disk_is_short_and_beyond_it_nothing, setup, teardown)
{
	open_engine("sim", 1);
	assert_int_equal(one(prepare(0, IO_READ, dev.size_bytes - 4096, 8192)), 4096);
	assert_int_equal(one(prepare(0, IO_READ, dev.size_bytes, 4096)), 0);
	assert_int_equal(one(prepare(0, IO_READ, dev.size_bytes + (1ull << 40), 4096)), 0);
}

TEST_WITH(what_cannot_be_issued_completes_with_its_errno, setup, teardown)
{
	open_engine("sim", 1);
	assert_int_equal(one(prepare(0, IO_READ, 100, 512)), -EINVAL);
	assert_int_equal(one(prepare(0, IO_READ, 0, 100)), -EINVAL);
	assert_int_equal(one(prepare(0, IO_WRITE, 0, 512)), -EBADF); /* opened for reading only */
	prepare(0, IO_READ, 0, 512);
	reqs[0].fd = 3;
	assert_int_equal(one(&reqs[0]), -EBADF); /* a real descriptor is none of ours */
}

static void count_up(void *arg)
{
	(*(int *)arg)++;
}

TEST_WITH(a_timer_wakes_a_waiter_like_a_signal, setup, teardown)
{
	struct io_req *done;
	struct io_req *req;
	int fired = 0;

	open_engine("sim", 1);
	sim_at(sim, 1000, count_up, &fired);
	req = prepare(0, IO_READ, 100 << 20, 512);
	assert_int_equal(engine_submit(eng, &req, 1), 1);
	assert_int_equal(engine_reap(eng, &done, 1, CLOCK_NEVER), 0);
	assert_int_equal(fired, 1);
	assert_int_equal(sim_elapsed_ns(sim), 1000);
	assert_int_equal(engine_reap(eng, &done, 1, CLOCK_NEVER), 1);
	assert_int_equal(fired, 1);
}

TEST_WITH(two_disks_work_at_the_same_time, setup, teardown)
{
	struct sim_disk *other = sim_add_profile(sim, "tiny", "sdb");
	struct io_req *done[2], *batch[2];
	struct err err;
	int fd2 = device_sim.open(sim, sim_device(other), NULL, 0, &err);

	open_engine("sim", 2);
	batch[0] = prepare(0, IO_READ, 100 << 20, 4096);
	batch[1] = prepare(1, IO_READ, 100 << 20, 4096);
	batch[1]->fd = fd2;
	assert_int_equal(engine_submit(eng, batch, 2), 2);
	assert_int_equal(engine_reap(eng, done, 2, CLOCK_NEVER), 2); /* twins: at the same instant */
	assert_int_equal(done[0]->done_ns, done[1]->done_ns);
	device_sim.close(sim, fd2);
}

TEST_WITH(a_partition_lies_where_it_was_put, setup, teardown)
{
	struct sim_disk *part = sim_add_partition(sim, sd, "sda3", 1 << 20, 8192);
	struct device p;
	struct err err;
	uint64_t word;

	open_engine("sim", 1);
	assert_int_equal(device_sim.probe(sim, "sda3", &p, &err), 0);
	assert_int_equal(p.kind, DEVICE_PARTITION);
	assert_int_equal(p.id.partition, 3);
	assert_int_equal(p.partition_offset_bytes, 1 << 20);
	assert_string_equal(p.disk, "sda");
	open_for_writing(&p);
	assert_int_equal(sim_opens(part), 1);
	assert_int_equal(one(prepare(0, IO_READ, 4096, 8192)), 4096);
	memcpy(&word, reqs[0].buf, 8);
	assert_int_equal(word, (1 << 11) + 8);
}

TEST_WITH(exclusive_use_is_exclusive, setup, teardown)
{
	struct err err;
	int claim = device_sim.claim(sim, &dev, &err);

	assert_true(claim >= SIM_FD_FIRST);
	assert_int_equal(sim_write_opens(sd), 1);
	assert_int_equal(device_sim.claim(sim, &dev, &err), -EBUSY);
	device_sim.close(sim, claim);
	sim_add_finding(sd, FINDING_MOUNT, "sda1", "ext4", "/mnt");
	assert_int_equal(device_sim.claim(sim, &dev, &err), -EBUSY);
}

TEST_WITH(with_a_permit_writes_reach_the_disk, setup, teardown)
{
	const char *names[] = { dev.id.serial };
	struct consent consent = { .destroy = { names, 1 } };
	struct write_permit *permit = NULL;
	uint64_t before = disk_contents_hash(sim_model(sd));
	struct err err = { 0 };
	unsigned char back[512];

	open_engine("sim", 1);
	assert_int_equal(permit_acquire(&permit, &device_sim, sim, &dev, WRITE_DESTROY, &consent, NULL, &err), 0);
	device_sim.close(sim, fd);
	fd = device_sim.open(sim, &dev, permit, 0, &err);
	assert_true(fd >= 0);
	prepare(0, IO_WRITE, 5120, 512);
	memset(reqs[0].buf, 0x5a, 512);
	assert_int_equal(one(&reqs[0]), 512);
	assert_int_equal(disk_peek(sim_model(sd), 5120, 512, back), 0);
	assert_memory_equal(back, reqs[0].buf, 512);
	assert_true(disk_contents_hash(sim_model(sd)) != before);
	permit_release(permit);
}

TEST_WITH(the_counters_are_those_of_the_whole_disk, setup, teardown)
{
	const struct device_io more = { .reads = 7, .read_bytes = 700 * 512 };
	struct device_io io;

	open_engine("sim", 1);
	assert_int_equal(one(prepare(0, IO_READ, 1 << 20, 65536)), 65536);
	assert_int_equal(device_sim.io(sim, &dev, &io), 0);
	assert_int_equal(io.reads, 1);
	assert_int_equal(io.read_bytes, 65536);
	assert_int_equal(io.read_ns, reqs[0].done_ns - reqs[0].submit_ns);
	assert_int_equal(io.busy_ns, io.read_ns);
	sim_foreign_io(sd, &more);
	assert_int_equal(device_sim.io(sim, &dev, &io), 0);
	assert_int_equal(io.reads, 8);
}
