/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disks that are made of others: behind a bridge, with two arms, or two in a row. */
#include "test.h"

#include "modelrun.h"

/* ---- a bridge ---- */

TEST(a_bridge_gives_a_request_in_pieces_one_after_the_other)
{
	struct run r, plain;
	struct rng rng;

	run_new(&r, DISK "bridge_kb 120\n" ZONES);
	run_new(&plain, DISK ZONES);
	rng_init(&rng, 1, 1);
	for (int i = 0; i < 300; i++) {
		uint64_t at = rng_below(&rng, 1500000) * 512;
		uint32_t len = (uint32_t)(1 + rng_below(&rng, 2048)) * 512, done = 0;

		assert_int_equal(run_one(&r, DISK_READ, at, len, NULL)->res, len);
		for (; done < len; done += 120 << 10)
			(void)run_one(&plain, DISK_READ, at + done, len - done < 120 << 10 ? len - done : 120 << 10,
			              NULL);
		assert_int_equal(r.now, plain.now);
	}
	run_free(&r);
	run_free(&plain);
}

TEST(a_bridge_lets_one_request_pass_at_a_time)
{
	struct disk_counters c;
	MODEL(r, DISK "queue satf\nqueue_depth 32\nbridge_kb 120\n" ZONES);

	for (uint64_t i = 0; i < 20; i++)
		run_submit(&r, DISK_READ, i * 7919 % 1500 * 512000, 4096, NULL);
	assert_int_equal(disk_in_flight(r.d), 20);
	for (uint64_t i = 1; i <= 20; i++)
		assert_int_equal(run_wait(&r)->number, i);
	c = disk_counters(r.d);
	assert_int_equal(c.requests, 20);
	assert_int_equal(c.read_bytes, 20 * 4096);
	assert_true(c.busy_ns > 0 && c.busy_ns <= r.now - 1000000000);
}

TEST(a_bridge_that_drops_flushes_loses_what_was_flushed)
{
	unsigned char data[512] = { 1 }, back[512];
	MODEL(r, DISK "bridge_kb 120\nignore_flush yes\nwrite_cache_kb 1024\n" ZONES);

	(void)run_one(&r, DISK_WRITE, 512 * 9, 512, data);
	assert_int_equal(run_one(&r, DISK_FLUSH, 0, 0, NULL)->res, 0);
	assert_true(run_took(&r) < 100000);
	disk_power_loss(r.d);
	(void)run_one(&r, DISK_READ, 512 * 9, 512, back);
	assert_int_equal(back[0], 9);
}

/* ---- two arms ---- */

TEST(an_arm_has_its_half_and_both_work_at_once)
{
	struct profile_range range[2];
	uint64_t half, start;
	double one;
	MODEL(r, DISK "arms halves\ncache_kb 0\n" ZONES);

	assert_int_equal(disk_access_ranges(r.d, range), 2);
	half = range[0].count;
	assert_int_equal(half, 500 * (500 + 480) + 500 * (400 + 380));
	assert_int_equal(range[1].lba, half);
	assert_int_equal(half + range[1].count, disk_size_bytes(r.d, 0) / 512);
	(void)run_one(&r, DISK_READ, 0, 50 << 20, NULL);
	one = run_took(&r);
	start = r.now;
	run_submit(&r, DISK_READ, 0, 50 << 20, NULL);
	run_submit(&r, DISK_READ, half * 512, 50 << 20, NULL);
	(void)run_wait(&r);
	(void)run_wait(&r);
	near((double)(r.now - start) / one, 1, 0.05);
	run_free(&r);
	run_new(&r, DISK ZONES);
	assert_int_equal(disk_access_ranges(r.d, range), 1);
	assert_int_equal(range[0].count, disk_size_bytes(r.d, 0) / 512);
}

/* Each of two joined disks is as it would be alone, and they work at once. */
TEST(two_joined_disks_are_one_after_the_other)
{
	struct run joined, first, second;
	struct profile_range range[2];
	uint64_t size[2], start;
	double one;

	run_new(&joined, DISK "cache_kb 0\narms joined\njoined_density 0.5\n" ZONES);
	run_new(&first, DISK "cache_kb 0\n" ZONES);
	run_new(&second, DISK "cache_kb 0\nzone 500 250 240 230 250\nzone 500 200 190 180 210\n");
	size[0] = disk_size_bytes(first.d, 0);
	size[1] = disk_size_bytes(second.d, 0);
	assert_int_equal(disk_size_bytes(joined.d, 0), size[0] + size[1]);
	assert_int_equal(disk_access_ranges(joined.d, range), 1); /* a linear volume shows none */
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t at = i * 7919 * 4096 % (size[1] - 4096) / 4096 * 4096, part = i % 2;
		struct run *alone = part ? &second : &first;

		alone->now = joined.now;
		(void)run_one(alone, DISK_READ, at, 4096, NULL);
		(void)run_one(&joined, DISK_READ, at + (part ? size[0] : 0), 4096, NULL);
		assert_int_equal(joined.now, alone->now);
	}
	(void)run_one(&joined, DISK_READ, 0, 20 << 20, NULL);
	one = run_took(&joined);
	start = joined.now;
	run_submit(&joined, DISK_READ, 0, 20 << 20, NULL);
	run_submit(&joined, DISK_READ, size[0], 10 << 20, NULL);
	(void)run_wait(&joined);
	(void)run_wait(&joined);
	near((double)(joined.now - start) / one, 1, 0.1);
	run_free(&joined);
	run_free(&first);
	run_free(&second);
}

/* Time of reads of 4 MiB that follow each other, two of them in flight. */
static double stream_ns(struct run *r, uint64_t first, uint64_t bytes)
{
	uint64_t at = first, start = r->now;

	for (; at < first + bytes && disk_in_flight(r->d) < 2; at += 4 << 20)
		run_submit(r, DISK_READ, at, 4 << 20, NULL);
	while (disk_in_flight(r->d)) {
		(void)run_wait(r);
		if (at < first + bytes)
			run_submit(r, DISK_READ, at, 4 << 20, NULL);
		at += at < first + bytes ? 4 << 20 : 0;
	}
	return (double)(r->now - start);
}

TEST(two_arms_stream_as_the_truth_says)
{
	struct run one, halves, both;
	double got[3];

	run_new(&one, DISK ZONES);
	run_new(&halves, DISK "arms halves\n" ZONES);
	run_new(&both, DISK "arms interleaved\narm_stripe_kb 256\n" ZONES);
	got[0] = stream_ns(&one, 0, 200 << 20);
	got[1] = stream_ns(&halves, 0, 200 << 20);
	got[2] = stream_ns(&both, 0, 200 << 20);
	near(got[1] / truth_stream_ns(disk_geometry(halves.d), 0, 200 << 20), 1, 0.01);
	near(got[2] / truth_stream_ns(disk_geometry(both.d), 0, 200 << 20), 1, 0.01);
	near(got[0] / got[2], 2, 0.1);
	run_free(&one);
	run_free(&halves);
	run_free(&both);
}

TEST(zones_of_two_arms_are_without_a_gap_and_have_their_rates)
{
	static const char *const disks[] = { DISK "arms halves\n" ZONES,
		                             DISK "arms interleaved\narm_stripe_kb 256\n" ZONES,
		                             DISK "arms joined\njoined_density 0.7\n" ZONES };
	static const size_t want[] = { 4, 3, 4 }; /* the arms' edges differ by what their surfaces hold */

	for (size_t k = 0; k < 3; k++) {
		cleanup_free struct truth_zone *z = calloc(PROFILE_ZONES_MAX, sizeof(*z));
		uint64_t end = 0;
		size_t n;
		MODEL(r, disks[k]);

		n = truth_zones(disk_geometry(r.d), z, PROFILE_ZONES_MAX);
		assert_int_equal(n, want[k]);
		for (size_t i = 0; i < n; i++) {
			uint64_t middle = (z[i].first_byte + z[i].end_byte) / 2 / 4096 * 4096;

			assert_int_equal(z[i].first_byte, end);
			end = z[i].end_byte;
			if (end - z[i].first_byte > 100 << 20)
				near(truth_rate(disk_geometry(r.d), middle, middle + (40 << 20)) /
				             z[i].sustained_bytes_per_s,
				     1, 0.01);
		}
		assert_int_equal(end, disk_size_bytes(r.d, 0));
	}
}

TEST(requests_out_of_place_are_refused_and_all_are_answered)
{
	static const char *const disks[] = { DISK "bridge_kb 16\n" ZONES, DISK "arms halves\n" ZONES,
		                             DISK "arms interleaved\n" ZONES,
		                             DISK "arms joined\njoined_density 0.5\n" ZONES };

	for (size_t k = 0; k < 4; k++) {
		uint64_t size, done = 0;
		struct rng rng;
		MODEL(r, disks[k]);

		size = disk_size_bytes(r.d, 0);
		assert_int_equal(run_one(&r, DISK_READ, 100, 512, NULL)->res, -EINVAL);
		assert_int_equal(run_one(&r, DISK_READ, size, 512, NULL)->res, 0);
		assert_int_equal(run_one(&r, DISK_WRITE, size, 512, NULL)->res, -ENOSPC);
		assert_int_equal(run_one(&r, DISK_READ, size - 512, 4096, NULL)->res, 512);
		rng_init(&rng, k, 5);
		for (int i = 0; i < 400; i++) {
			run_submit(&r, (enum disk_op)rng_below(&rng, 3), rng_below(&rng, size / 512) * 512,
			           (uint32_t)rng_below(&rng, 3000) * 512, NULL);
			r.now += rng_below(&rng, 20000000);
			disk_advance(r.d, r.now);
			while (disk_pop_done(r.d, r.now, &r.done)) {
				assert_true(r.done.done_ns >= r.done.arrival_ns);
				done++;
			}
		}
		for (; disk_in_flight(r.d); done++)
			(void)run_wait(&r);
		assert_int_equal(done, 400);
	}
}
