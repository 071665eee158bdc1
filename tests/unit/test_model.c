/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The disk model at work: mechanics, caches, queue, contents, trouble. Exact, in virtual time. */
#include "test.h"

#include "modelrun.h"

#define PERIOD_NS (60e9 / 7200)

/* ---- mechanics ---- */

TEST(reading_one_sector_again_takes_exactly_one_revolution)
{
	uint64_t first;
	MODEL(r, RUN_BASE RUN_ZONE);

	first = run_one(&r, DISK_READ, 512 * 777, 512, NULL)->done_ns;
	for (int i = 1; i <= 10000; i++) {
		uint64_t done = run_one(&r, DISK_READ, 512 * 777, 512, NULL)->done_ns;

		assert_true(fabs((double)(done - first) - i * PERIOD_NS) <= 1.0);
	}
}

TEST(the_next_sector_comes_too_late_after_the_overhead_and_a_far_one_does_not)
{
	uint64_t first;
	MODEL(r, RUN_BASE RUN_ZONE);

	first = run_one(&r, DISK_READ, 0, 512, NULL)->done_ns;
	(void)run_one(&r, DISK_READ, 512, 512, NULL);
	assert_true(fabs((double)(r.now - first) - PERIOD_NS * 501 / 500) <= 1.0);
	first = r.now; /* 0.1 ms are 6 sectors of 16.7 us: 10 sectors on is in time */
	(void)run_one(&r, DISK_READ, 512 * 11, 512, NULL);
	assert_true(fabs((double)(r.now - first) - PERIOD_NS * 10 / 500) <= 1.0);
}

TEST(a_seek_takes_what_the_curve_says_and_the_rest_is_rotation)
{
	MODEL(r, RUN_BASE RUN_ZONE);

	(void)run_one(&r, DISK_READ, 0, 512, NULL);
	(void)run_one(&r, DISK_READ, 400ull * 1000 * 512, 512, NULL); /* cylinder 400 */
	assert_true(fabs(r.done.seek_ns - 1e6 * (0.8 + 0.05 * 20)) < 1);
	assert_true(r.done.latency_ns >= 0 && r.done.latency_ns < PERIOD_NS);
	assert_true(fabs(run_took(&r) - (1e5 + r.done.seek_ns + r.done.latency_ns + PERIOD_NS / 500)) <= 2);
}

TEST(a_skew_that_is_too_small_costs_a_whole_revolution)
{
	double small, large;
	MODEL(r, RUN_BASE "head_skew 0.1\ncyl_skew 0.2\n" RUN_ZONE);

	(void)run_one(&r, DISK_READ, 0, 500 * 512 * 2, NULL);
	large = r.done.transfer_ns;
	run_free(&r);
	run_new(&r, RUN_BASE "head_skew 0.05\ncyl_skew 0.2\n" RUN_ZONE); /* 0.42 ms for a switch of 0.7 */
	(void)run_one(&r, DISK_READ, 0, 500 * 512 * 2, NULL);
	small = r.done.transfer_ns;
	assert_true(fabs(large - 2.1 * PERIOD_NS) < 2);
	assert_true(fabs(small - 3.05 * PERIOD_NS) < 2);
}

TEST(the_wobble_shifts_the_angle_and_no_more)
{
	uint64_t first;
	double most = 0;
	MODEL(r, RUN_BASE "wobble 0.01 0.5\n" RUN_ZONE);

	first = run_one(&r, DISK_READ, 0, 512, NULL)->done_ns;
	for (int i = 1; i <= 600; i++) {
		double off = (double)(run_one(&r, DISK_READ, 0, 512, NULL)->done_ns - first) - i * PERIOD_NS;

		most = fmax(most, fabs(off));
	}
	assert_true(most > 0.009 * PERIOD_NS && most < 0.021 * PERIOD_NS);
}

/* ---- read-ahead and hits ---- */

#define CACHED                                                                                                     \
	"rpm 7200\nsurfaces 2\ncache_kb 1024\nsegments 4\nqueue_depth 32\noverhead_ms 0.1\nhit_overhead_ms 0.02\n" \
	"seek 0.8 0.05\nhead_switch_ms 0.7\ninterface_mbs 100\n"

TEST(no_byte_is_waited_for_twice_when_small_reads_follow_each_other)
{
	uint64_t start;
	MODEL(r, CACHED RUN_ZONE);

	(void)run_one(&r, DISK_READ, 0, 4096, NULL);
	start = r.now;
	for (uint64_t i = 1; i < 2000; i++)
		(void)run_one(&r, DISK_READ, i * 4096, 4096, NULL);
	assert_int_equal(disk_counters(r.d).misses, 1);
	assert_true((double)(r.now - start) < 1.02 * truth_stream_ns(disk_geometry(r.d), 4096, 2000 * 4096));
}

/* ---- queue ---- */

struct outcome {
	double mean_ns, max_ns;
	uint32_t n;
};

static void read_deep(const char *queue, uint32_t depth, uint32_t total, struct outcome *ret)
{
	cleanup_model struct run r = { 0 };
	struct rng rng;
	uint32_t given = 0, back = 0;
	cleanup_free uint8_t *seen = calloc(total, 1);
	uint64_t start;

	run_new(&r, textf("%squeue_depth 32\nqueue %s\nmax_age_ms 300\n" RUN_ZONE, RUN_BASE, queue));
	rng_init(&rng, 5, 5);
	start = r.now;
	*ret = (struct outcome){ 0 };
	while (back < total) {
		uintptr_t index;

		for (; given < total && given - back < depth; given++) {
			const struct disk_req q = { .op = DISK_READ,
				                    .len_bytes = 512,
				                    .offset_bytes = rng_below(&rng, 1000000) * 512,
				                    .owner = (void *)(uintptr_t)given };

			assert_int_equal(disk_submit(r.d, r.now, &q), 0);
		}
		(void)run_wait(&r);
		index = (uintptr_t)r.done.req.owner;
		assert_int_equal(seen[index], 0);
		seen[index] = 1;
		assert_int_equal(r.done.res, 512);
		ret->max_ns = fmax(ret->max_ns, run_took(&r));
		back++;
	}
	ret->n = back;
	ret->mean_ns = (double)(r.now - start) / total;
	assert_int_equal(disk_in_flight(r.d), 0);
}

TEST(shortest_access_first_loses_nothing_and_beats_first_come)
{
	struct outcome fifo, satf, single;

	read_deep("fifo", 1, 5000, &single);
	read_deep("fifo", 32, 5000, &fifo);
	read_deep("satf", 32, 5000, &satf);
	assert_true(fifo.mean_ns < single.mean_ns);        /* the overhead is hidden */
	assert_true(satf.mean_ns < 0.6 * fifo.mean_ns);    /* about 0.45 at this depth */
	assert_true(satf.max_ns < 300e6 + 40 * PERIOD_NS); /* nobody starves */
}

TEST(a_queue_deeper_than_the_disks_waits_outside)
{
	struct outcome at32, at500;

	read_deep("satf", 32, 3000, &at32);
	read_deep("satf", 500, 3000, &at500);
	assert_int_equal(at500.n, 3000);
	assert_true(fabs(at500.mean_ns / at32.mean_ns - 1) < 0.05);
}

TEST(a_disk_without_queue_answers_in_order)
{
	MODEL(r, RUN_BASE RUN_ZONE);

	for (uint64_t i = 0; i < 20; i++)
		run_submit(&r, DISK_READ, (i * 7919 % 1000) * 51200, 512, NULL);
	for (uint64_t i = 1; i <= 20; i++)
		assert_int_equal(run_wait(&r)->number, i);
}

/* Not so once: it took whichever block's angle came first, went on from there, and left the others until they were too
 * old. */
TEST(a_burst_of_blocks_in_a_row_is_read_in_a_row)
{
	for (uint64_t place = 0; place < 40; place++) {
		MODEL(r, CACHED "queue satf\n" RUN_ZONE);

		(void)run_one(&r, DISK_READ, 512 * 1000 * 900, 4096, NULL);
		r.now += 50000000 + place * 777777;
		for (uint64_t i = 0; i < 8; i++)
			run_submit(&r, DISK_READ, place * 7919 * 512 + (i << 18), 1 << 18, NULL);
		for (uint64_t i = 0; i < 8; i++)
			assert_int_equal(run_wait(&r)->number, 2 + i);
	}
}

/* ---- writes ---- */

#define WRITING  \
	RUN_BASE \
	"queue_depth 32\nwrite_cache_kb 1024\nwrite_start 0.5\nwrite_delay_ms 100\nhit_overhead_ms 0.02\nwrite_settle_ms 0.3\n"

TEST(a_write_that_the_cache_takes_is_done_at_once_and_reads_see_it)
{
	unsigned char data[4096], back[4096];
	cleanup_model struct run r = { 0 };

	memset(data, 0xa5, sizeof(data));
	run_new(&r, WRITING RUN_ZONE);
	assert_int_equal(run_one(&r, DISK_WRITE, 8192, 4096, data)->how, HOW_CACHED);
	assert_true(run_took(&r) < 100000);
	assert_int_equal(run_one(&r, DISK_READ, 8192, 4096, back)->how, HOW_HIT);
	assert_memory_equal(data, back, 4096);
	r.now += 1000000000; /* long on the media now */
	assert_int_equal(run_one(&r, DISK_READ, 8192, 4096, back)->how, HOW_MEDIA);
	assert_memory_equal(data, back, 4096);
}

TEST(what_was_not_flushed_is_lost_with_the_power_and_what_was_is_not)
{
	unsigned char data[512], back[512];
	MODEL(r, WRITING RUN_ZONE);

	memset(data, 1, sizeof(data));
	(void)run_one(&r, DISK_WRITE, 0, 512, data);
	(void)run_one(&r, DISK_FLUSH, 0, 0, NULL);
	assert_int_equal(r.done.res, 0);
	assert_true(run_took(&r) > 100000); /* the media were needed */
	memset(data, 2, sizeof(data));
	(void)run_one(&r, DISK_WRITE, 0, 512, data);
	assert_int_equal(disk_peek(r.d, 0, 512, back), 0);
	assert_int_equal(back[100], 2);
	disk_power_loss(r.d);
	assert_int_equal(disk_peek(r.d, 0, 512, back), 0);
	assert_int_equal(back[100], 1);
}

TEST(a_disk_that_ignores_flushes_loses_even_those)
{
	unsigned char data[512] = { 1 }, back[512];
	MODEL(r, WRITING "ignore_flush yes\npower_loss_at_request 3\n" RUN_ZONE);

	(void)run_one(&r, DISK_WRITE, 512 * 9, 512, data);
	(void)run_one(&r, DISK_FLUSH, 0, 0, NULL);
	(void)run_one(&r, DISK_READ, 512 * 9, 512, back);
	assert_int_equal(back[0], 9); /* the pattern: its LBA */
}

TEST(streaming_writes_go_at_the_rate_of_the_media)
{
	uint64_t sum = 0, start = 0;
	double truth;
	MODEL(r, WRITING RUN_ZONE);

	truth = truth_rate(disk_geometry(r.d), 32 << 20, 96 << 20);
	for (uint64_t i = 0; i < 4; i++)
		run_submit(&r, DISK_WRITE, i << 18, 1 << 18, NULL);
	for (uint64_t i = 4; sum < (96ull << 20); i++) {
		(void)run_wait(&r);
		if (sum <= (32ull << 20))
			start = r.now;
		sum += 1 << 18;
		run_submit(&r, DISK_WRITE, i << 18, 1 << 18, NULL);
	}
	assert_true(fabs((64 << 20) * 1e9 / (double)(r.now - start) / truth - 1) < 0.02);
}

TEST(a_flush_waits_for_what_was_written_before_it)
{
	MODEL(r, WRITING RUN_ZONE);

	for (uint64_t i = 0; i < 100; i++)
		(void)run_one(&r, DISK_WRITE, (i * 7919 % 1000) * 512 * 100, 4096, NULL);
	(void)run_one(&r, DISK_FLUSH, 0, 0, NULL);
	assert_int_equal(disk_counters(r.d).media_written_bytes, 100 * 4096);
	assert_true(run_took(&r) > 100 * 0.1 * PERIOD_NS);
	(void)run_one(&r, DISK_FLUSH, 0, 0, NULL);
	assert_true(run_took(&r) < 50000);
}

TEST(a_small_write_in_a_large_sector_costs_a_revolution)
{
	double whole, part;
	MODEL(r, "rpm 7200\nphysical_sector 4096\nqueue_depth 1\nzone 1000 200\n");

	whole = (run_one(&r, DISK_WRITE, 40960, 4096, NULL), r.done.transfer_ns);
	part = (run_one(&r, DISK_WRITE, 40960, 512, NULL), r.done.transfer_ns);
	assert_true(fabs(part - whole - PERIOD_NS) < 2);
}

/* ---- contents ---- */

TEST(every_sector_says_its_number_until_it_is_written)
{
	cleanup_free unsigned char *buf = malloc(1 << 20);
	uint64_t word, hash;
	MODEL(r, RUN_BASE RUN_ZONE);

	assert_int_equal(run_one(&r, DISK_READ, 512 * 1000, 1 << 20, buf)->res, 1 << 20);
	for (uint64_t i = 0; i < 2048; i++) {
		memcpy(&word, buf + i * 512, 8);
		assert_int_equal(word, 1000 + i);
	}
	hash = disk_contents_hash(r.d);
	(void)run_one(&r, DISK_WRITE, 512 * 1000, 1 << 20, buf); /* the same bytes: nothing changed */
	assert_int_equal(disk_contents_hash(r.d), hash);
	buf[5000] ^= 1;
	(void)run_one(&r, DISK_WRITE, 512 * 1000, 1 << 20, buf);
	assert_true(disk_contents_hash(r.d) != hash);
	buf[5000] ^= 1;
	(void)run_one(&r, DISK_WRITE, 512 * 1000, 1 << 20, buf);
	assert_int_equal(disk_contents_hash(r.d), hash);
}

TEST(the_hash_is_of_place_and_bytes_and_not_of_their_history)
{
	unsigned char a[512], b[512];
	struct run x, y;

	memset(a, 1, 512);
	memset(b, 2, 512);
	run_new(&x, WRITING RUN_ZONE);
	run_new(&y, RUN_BASE RUN_ZONE);
	(void)run_one(&x, DISK_WRITE, 0, 512, a);
	(void)run_one(&x, DISK_WRITE, 512, 512, b);
	(void)run_one(&y, DISK_WRITE, 512, 512, b);
	assert_true(disk_contents_hash(x.d) != disk_contents_hash(y.d));
	(void)run_one(&y, DISK_WRITE, 0, 512, b);
	(void)run_one(&y, DISK_WRITE, 0, 512, a);
	assert_int_equal(disk_contents_hash(x.d), disk_contents_hash(y.d)); /* one in the cache, one on the media */
	run_free(&x);
	run_free(&y);
}

TEST(dropped_writes_are_answered_and_not_stored)
{
	unsigned char data[512] = { 0 }, back[512];
	size_t n;
	MODEL(r, RUN_BASE "drop_writes_from 2\n" RUN_ZONE);

	assert_int_equal(run_one(&r, DISK_WRITE, 512, 512, data)->res, 512);
	assert_int_equal(run_one(&r, DISK_WRITE, 1024, 512, data)->res, 512);
	assert_int_equal(disk_peek(r.d, 512, 512, back), 0);
	assert_int_equal(back[0], 0);
	assert_int_equal(disk_peek(r.d, 1024, 512, back), 0);
	assert_int_equal(back[0], 2);
	assert_int_equal(disk_write_log(r.d, &n)[1].offset_bytes, 1024);
	assert_int_equal(n, 2);
}

/* ---- trouble ---- */

TEST(slow_sectors_take_their_revolutions_more)
{
	cleanup_model struct run r = { 0 };
	double slow;

	run_new(&r, RUN_BASE RUN_ZONE "slow 100 200 50 2\n"); /* 100, 150, 200, 250 */
	(void)run_one(&r, DISK_READ, 0, 512 * 400, NULL);
	slow = r.done.transfer_ns;
	assert_true(fabs(slow - (400.0 / 500 + 8) * PERIOD_NS) < 2);
	(void)run_one(&r, DISK_READ, 512 * 101, 512 * 49, NULL);
	assert_true(fabs(r.done.transfer_ns - 49.0 / 500 * PERIOD_NS) < 2);
}

TEST(when_it_is_gone_it_is_gone_for_those_in_flight_too)
{
	MODEL(r, RUN_BASE RUN_ZONE "gone_at_s 1\n");

	r.now += 999000000;
	assert_int_equal(disk_size_bytes(r.d, r.now), 1000ull * 1000 * 512);
	run_submit(&r, DISK_READ, 512 * 999999, 512, NULL); /* needs more than a ms */
	assert_int_equal(run_wait(&r)->res, -ENODEV);
	assert_int_equal(r.now, 2000000000);
	assert_true(disk_is_gone(r.d, r.now));
	assert_int_equal(disk_size_bytes(r.d, r.now), 0);
	assert_int_equal(run_one(&r, DISK_READ, 0, 512, NULL)->res, -ENODEV);
	run_free(&r);
	run_new(&r, RUN_BASE "queue_depth 8\n" RUN_ZONE "gone_at_request 3\ngone_as zero\n");
	run_submit(&r, DISK_READ, 0, 512, NULL);
	run_submit(&r, DISK_READ, 51200, 512, NULL);
	run_submit(&r, DISK_READ, 102400, 512, NULL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(run_wait(&r)->res, 0);
}

TEST(what_waits_when_the_disk_goes_ends_at_that_moment)
{
	MODEL(r, WRITING "gone_at_s 0.05\n" RUN_ZONE);

	for (uint64_t i = 0; i < 50; i++)
		run_submit(&r, i % 3 ? DISK_READ : DISK_WRITE, (i * 7919 % 1000) * 51200, 1 << 18, NULL);
	run_submit(&r, DISK_FLUSH, 0, 0, NULL);
	while (disk_in_flight(r.d)) {
		(void)run_wait(&r);
		assert_true(r.done.done_ns <= 1050000000 && r.now <= 1050000000);
		assert_int_equal(r.done.res, r.done.done_ns < 1050000000 ? 1 << 18 : -ENODEV);
	}
}

/* ---- SSD ---- */

TEST(an_ssd_has_no_rotation_and_works_in_parallel)
{
	cleanup_model struct run r = { 0 };
	uint64_t start;
	double one;

	run_load(&r, "ssd-sata");
	(void)run_one(&r, DISK_READ, 0, 4096, NULL);
	one = run_took(&r);
	for (uint64_t i = 1; i < 1000; i++) {
		(void)run_one(&r, DISK_READ, i * 7919 * 4096, 4096, NULL);
		assert_true(fabs(run_took(&r) - one) < 2);
	}
	start = r.now;
	for (uint64_t i = 0; i < 8; i++)
		run_submit(&r, DISK_READ, i * 16384, 4096, NULL);
	for (int i = 0; i < 8; i++)
		(void)run_wait(&r);
	assert_true((double)(r.now - start) < 1.5 * one);
}

/* ---- a soup ---- */

/* Random requests of all kinds to random disks: every one is answered once, time never goes back, contents are those of
 * a plain array. */
TEST(whatever_is_asked_of_whatever_disk_is_answered_once)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		const struct profile_limits limits = { .max_bytes = 100000000,
			                               .max_surfaces = 4,
			                               .jitter_us = seed % 3 ? 0 : 50 };
		struct rng rng;
		cleanup_model struct run r = { .now = seed };
		uint64_t done = 0, span, last = 0;
		unsigned char *shadow, *buf;
		uint32_t sector;

		rng_init(&rng, seed, 77);
		MUST(profile_random(&r.p, seed, &limits, &err));
		r.d = disk_new(&r.p, r.now);
		sector = r.p.logical_sector_bytes;
		span = 512ull * sector;
		shadow = malloc(span);
		buf = malloc(64ull * sector);
		assert_int_equal(disk_peek(r.d, 0, span, shadow), 0);
		for (int i = 0; i < 300; i++) { /* one at a time: then the contents are certain */
			uint64_t at = rng_below(&rng, 448), n = 1 + rng_below(&rng, 64);
			unsigned op = (unsigned)rng_below(&rng, 8);

			if (op == 0) {
				assert_int_equal(run_one(&r, DISK_FLUSH, 0, 0, NULL)->res, 0);
			} else if (op < 4) {
				memset(buf, (int)rng_below(&rng, 256), n * sector);
				memcpy(shadow + at * sector, buf, n * sector);
				assert_int_equal(run_one(&r, DISK_WRITE, at * sector, (uint32_t)(n * sector), buf)->res,
				                 n * sector);
			} else {
				assert_int_equal(run_one(&r, DISK_READ, at * sector, (uint32_t)(n * sector), buf)->res,
				                 n * sector);
				assert_memory_equal(buf, shadow + at * sector, n * sector);
			}
			r.now += rng_below(&rng, 4) ? 0 : rng_below(&rng, 200000000);
		}
		for (int i = 0; i < 500; i++) {
			const struct disk_req q = {
				.op = (enum disk_op)rng_below(&rng, 3),
				.offset_bytes = rng_below(&rng, disk_size_bytes(r.d, 0) / sector + 10) * sector,
				.fua = rng_below(&rng, 10) == 0,
				.len_bytes = (uint32_t)rng_below(&rng, 300) * sector
			};

			assert_int_equal(disk_submit(r.d, r.now, &q), 0);
			r.now += rng_below(&rng, 3000000);
			disk_advance(r.d, r.now);
			while (rng_below(&rng, 2) && disk_pop_done(r.d, r.now, &r.done)) {
				assert_true(r.done.done_ns >= r.done.arrival_ns);
				done++;
			}
		}
		while (disk_in_flight(r.d)) {
			(void)run_wait(&r);
			assert_true(r.done.done_ns >= last);
			last = r.done.done_ns;
			done++;
		}
		assert_int_equal(done, 500);
		free(shadow);
		free(buf);
	}
}
