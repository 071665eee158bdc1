/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lies between host and media: policies of reading ahead, segments, the write cache and its switch. Exact, in
 * virtual time. */
#include "test.h"

#include "modelrun.h"

#define PERIOD_NS (60e9 / 7200)
#define SECTOR_NS (PERIOD_NS / 500)

/* Segments of 256 KiB: 512 sectors, a little more than a track. */
#define CACHED                                                                                                     \
	"rpm 7200\nsurfaces 2\ncache_kb 1024\nsegments 4\nqueue_depth 32\noverhead_ms 0.1\nhit_overhead_ms 0.02\n" \
	"seek 0.8 0.05\nhead_switch_ms 0.7\ninterface_mbs 1000\n"

static bool is_hit(struct run *r, uint64_t sector)
{
	return run_one(r, DISK_READ, sector * 512, 512, NULL)->how == HOW_HIT;
}

/* ---- reading ahead ---- */

/* How many sectors of reading ahead are there when a request for elsewhere comes 1 ms after, and its overhead is 3 ms.
 */
static uint64_t ahead_until(const char *stop)
{
	uint64_t n = 108;
	cleanup_model struct run r = { 0 };

	run_new(&r, textf("%soverhead_ms 3\nread_ahead_stop %s\n" RUN_ZONE, CACHED, stop));
	(void)run_one(&r, DISK_READ, 100 * 512, 8 * 512, NULL);
	r.now += 1000000;
	(void)run_one(&r, DISK_READ, 800000 * 512, 512, NULL);
	while (is_hit(&r, n))
		n++;
	return n - 108;
}

TEST(another_request_ends_it_when_it_comes_or_when_it_moves_the_arm)
{
	assert_int_equal(ahead_until("command"), (uint64_t)(1e6 / SECTOR_NS));
	assert_int_equal(ahead_until("seek"), (uint64_t)(4e6 / SECTOR_NS));
}

TEST(a_command_that_goes_on_with_the_stream_does_not_end_it)
{
	MODEL(r, CACHED "read_ahead_stop command\n" RUN_ZONE);

	for (uint64_t i = 0; i < 2000; i++)
		(void)run_one(&r, DISK_READ, i * 4096, 4096, NULL);
	assert_int_equal(disk_counters(r.d).misses, 1);
}

/* ---- zero latency ---- */

TEST(a_whole_track_takes_a_revolution_from_wherever_the_head_comes_down)
{
	MODEL(r, RUN_BASE "zero_latency yes\n" RUN_ZONE);

	for (uint64_t i = 0; i < 200; i++) {
		double rest;

		r.now += i * 777777;
		(void)run_one(&r, DISK_READ, (i & 1) * 400 * 1000 * 512, 500 * 512, NULL);
		rest = run_took(&r) - 1e5 - r.done.seek_ns;
		assert_true(rest > PERIOD_NS - 2 && rest < PERIOD_NS + SECTOR_NS + 2);
	}
}

TEST(data_read_from_the_middle_are_the_same_data)
{
	cleanup_free unsigned char *buf = malloc(1500 * 512);
	MODEL(r, CACHED "zero_latency yes\npre_read yes\nskip 0 0 200 3\n" RUN_ZONE "slow 700 4 2 1\n");

	for (uint64_t i = 0; i < 300; i++) {
		uint64_t first = i * 7919 % 3000, n = 1 + i * 31 % 1500, word;

		r.now += i * 12345;
		assert_int_equal(run_one(&r, DISK_READ, first * 512, (uint32_t)n * 512, buf)->res, n * 512);
		for (uint64_t s = 0; s < n; s++) {
			memcpy(&word, buf + s * 512, 8);
			assert_int_equal(word, first + s);
		}
	}
}

/* ---- segments ---- */

TEST(there_may_be_thousands_of_segments)
{
	MODEL(r, "rpm 7200\ncache_kb 524288\nsegments 4096\nread_ahead_kb 4\nzone 10000 500\n");

	for (uint64_t i = 0; i < 4096; i++)
		(void)run_one(&r, DISK_READ, i * 1000 * 512, 4096, NULL);
	for (uint64_t i = 0; i < 4096; i++)
		assert_true(is_hit(&r, i * 1000));
	(void)run_one(&r, DISK_READ, 4096 * 1000 * 512, 4096, NULL);
	assert_false(is_hit(&r, 0)); /* it gave way */
	assert_true(is_hit(&r, 2000));
}

TEST(segments_sized_by_use_hold_what_many_small_reads_would_have_flushed)
{
	static const char *const disks[] = { "cache_sizing fixed\n", "cache_sizing by-use\n" };

	for (int by_use = 0; by_use < 2; by_use++) {
		char text[512];
		cleanup_model struct run r = { 0 };
		struct disk_counters before, after;

		(void)snprintf(
			text, sizeof(text),
			"rpm 7200\nqueue_depth 1\ncache_kb 8192\nsegments %d\nread_ahead_kb 8\n%szone 10000 500\n",
			by_use ? 1024 : 16, disks[by_use]);
		run_new(&r, text);
		(void)run_one(&r, DISK_READ, 0, 1 << 19, NULL);
		for (uint64_t i = 1; i <= 256; i++)
			(void)run_one(&r, DISK_READ, i * 10000 * 512, 4096, NULL);
		before = disk_counters(r.d);
		for (uint64_t i = 0; i < 1024; i++)
			(void)is_hit(&r, i);
		after = disk_counters(r.d);
		assert_int_equal(after.misses == before.misses, by_use);
		/* 256 times 12 KiB are 3 MiB: two streams of 4 MiB leave no room for all. */
		for (uint64_t i = 0; i < 20; i++)
			(void)run_one(&r, DISK_READ, (4000000 + i / 10 * 500000 + i * 1024) * 512, 1 << 19, NULL);
		for (uint64_t i = 1, n = 0; by_use && i <= 256; i++) {
			n += is_hit(&r, i * 10000);
			assert_true(i < 256 || n < 256);
		}
	}
}

/* ---- the write cache ---- */

#define WRITING                                                                                                        \
	RUN_BASE "queue_depth 32\nwrite_cache_kb 1024\nwrite_start 0.5\nwrite_delay_ms 100000\nhit_overhead_ms 0.02\n" \
		 "write_settle_ms 0.3\n"

TEST(a_cache_is_emptied_while_reads_go_on_when_turns_are_fair)
{
	for (int fair = 0; fair < 2; fair++) {
		struct disk_counters c;
		MODEL(r, fair ? WRITING "write_turns fair\n" RUN_ZONE : WRITING RUN_ZONE);

		for (uint64_t i = 0; i < 200; i++) /* beyond write_start */
			(void)run_one(&r, DISK_WRITE, i * 7919 % 1000 * 51200, 4096, NULL);
		for (uint64_t i = 0; i < 8; i++)
			run_submit(&r, DISK_READ, i * 104729 % 900000 * 512, 512, NULL);
		for (uint64_t i = 8; i < 60; i++) {
			(void)run_wait(&r);
			run_submit(&r, DISK_READ, i * 104729 % 900000 * 512, 512, NULL);
		}
		c = disk_counters(r.d);
		if (fair)
			assert_true(c.media_written_bytes > 40 * 4096);
		else
			assert_true(c.media_written_bytes < 5 * 4096);
	}
}

TEST(a_cache_is_emptied_in_the_order_of_an_elevator)
{
	double random_ns, sorted_ns;
	MODEL(r, WRITING "seek 0.8 0.3\n" RUN_ZONE);

	for (uint64_t i = 0; i < 100; i++)
		(void)run_one(&r, DISK_WRITE, i * 387 % 1000 * 512000, 4096, NULL);
	(void)run_one(&r, DISK_FLUSH, 0, 0, NULL);
	sorted_ns = run_took(&r);
	run_free(&r);
	run_new(&r, WRITING "seek 0.8 0.3\nwrite_cache off\n" RUN_ZONE);
	random_ns = 0;
	for (uint64_t i = 0; i < 100; i++) {
		(void)run_one(&r, DISK_WRITE, i * 387 % 1000 * 512000, 4096, NULL);
		random_ns += run_took(&r);
	}
	assert_true(sorted_ns < 0.7 * random_ns);
}
