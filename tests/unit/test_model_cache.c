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

/* Reads 8 sectors at 100, waits long, and asks for one more. */
static bool is_hit_after(const char *policy, uint64_t sector)
{
	char text[1024];
	cleanup_model struct run r = { 0 };
	bool ret;

	(void)snprintf(text, sizeof(text), "%s%s" RUN_ZONE, CACHED, policy);
	run_new(&r, text);
	(void)run_one(&r, DISK_READ, 100 * 512, 8 * 512, NULL);
	r.now += 100000000;
	ret = is_hit(&r, sector);
	return ret;
}

/* ---- reading ahead ---- */

TEST(reading_ahead_goes_as_far_as_it_is_told_to)
{
	assert_true(is_hit_after("", 100 + 511));
	assert_false(is_hit_after("", 100 + 512));
	assert_true(is_hit_after("read_ahead_reach track\n", 499));
	assert_false(is_hit_after("read_ahead_reach track\n", 500));
	assert_true(
		is_hit_after("read_ahead_reach track\nskip 0 0 200 10\n", 489)); /* the track goes on behind a defect */
	assert_false(is_hit_after("read_ahead_reach track\nskip 0 0 200 10\n", 490));
	assert_true(is_hit_after("read_ahead_kb 32\n", 107 + 64));
	assert_false(is_hit_after("read_ahead_kb 32\n", 108 + 64));
	assert_true(is_hit_after("read_ahead_kb 1000\n", 100 + 511)); /* the segment is full before */
	assert_false(is_hit_after("read_ahead no\nread_ahead_kb 32\n", 108));
	assert_true(is_hit_after("read_ahead no\nread_ahead_kb 32\n", 107));
}

/* How many sectors of reading ahead are there when a request for elsewhere comes 1 ms after, and its overhead is 3 ms.
 */
static uint64_t ahead_until(const char *stop)
{
	char text[1024];
	uint64_t n = 108;
	cleanup_model struct run r = { 0 };

	(void)snprintf(text, sizeof(text), "%soverhead_ms 3\nread_ahead_stop %s\n" RUN_ZONE, CACHED, stop);
	run_new(&r, text);
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

/* Reading ahead has a weak sector when it was read at last, and nothing behind it before. */
TEST(a_slow_sector_is_in_no_buffer_before_its_revolutions_are_over)
{
	static const double turns[] = { 0.9, 1.9, 2.9 };

	for (size_t i = 0; i < 3; i++) {
		MODEL(r, CACHED "slow 150 1 1 2\n" RUN_ZONE);

		(void)run_one(&r, DISK_READ, 100 * 512, 8 * 512, NULL);
		r.now += (uint64_t)(turns[i] * PERIOD_NS);
		assert_int_equal(is_hit(&r, 150), i == 2);
	}
}

TEST(a_command_that_goes_on_with_the_stream_does_not_end_it)
{
	struct disk_counters c;
	MODEL(r, CACHED "read_ahead_stop command\n" RUN_ZONE);

	for (uint64_t i = 0; i < 2000; i++)
		(void)run_one(&r, DISK_READ, i * 4096, 4096, NULL);
	disk_counters(r.d, &c);
	assert_int_equal(c.misses, 1);
}

TEST(what_was_asked_for_keeps_its_share)
{
	assert_true(is_hit_after("", 100));
	assert_false(is_hit_after("keep_behind 0\n", 100)); /* reading ahead took all */
	assert_true(is_hit_after("keep_behind 0\n", 108 + 511));
	assert_true(is_hit_after("keep_behind 0\nread_ahead_kb 32\n", 100)); /* nothing needed its place */
}

TEST(what_passes_before_the_first_sector_is_kept_when_it_is_told_to)
{
	uint64_t n = 0;
	MODEL(r, CACHED "pre_read yes\nread_ahead no\n" RUN_ZONE);

	(void)run_one(&r, DISK_READ, 400 * 512, 512,
	              NULL); /* the head was at angle 0 at 0, overhead 0.1 ms: 6 sectors passed */
	r.now += 100000000;
	while (is_hit(&r, 400 - n - 1))
		n++;
	assert_int_equal(n, 256); /* up to half of a segment */
	run_free(&r);
	run_new(&r, CACHED "pre_read yes\nread_ahead no\n" RUN_ZONE);
	(void)run_one(&r, DISK_READ, 100 * 512, 512, NULL);
	r.now += 100000000;
	for (n = 0; is_hit(&r, 100 - n - 1); n++)
		;
	assert_int_equal(n, (uint64_t)(100 - 1e5 / SECTOR_NS));
	assert_false(is_hit_after("", 99));
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
		disk_counters(r.d, &before);
		for (uint64_t i = 0; i < 1024; i++)
			(void)is_hit(&r, i);
		disk_counters(r.d, &after);
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

TEST(a_segment_by_use_grows_up_to_half_of_the_cache)
{
	MODEL(r, "rpm 7200\nqueue_depth 1\ncache_kb 1024\nsegments 64\ncache_sizing by-use\nzone 10000 500\n");

	(void)run_one(&r, DISK_READ, 0, 4096, NULL);
	r.now += 1000000000;
	assert_true(is_hit(&r, 1023));
	run_free(&r);
	run_new(&r, "rpm 7200\nqueue_depth 1\ncache_kb 1024\nsegments 64\ncache_sizing by-use\nzone 10000 500\n");
	(void)run_one(&r, DISK_READ, 0, 4096, NULL);
	r.now += 1000000000;
	assert_false(is_hit(&r, 1024));
}

/* ---- the write cache ---- */

#define WRITING                                                                                                        \
	RUN_BASE "queue_depth 32\nwrite_cache_kb 1024\nwrite_start 0.5\nwrite_delay_ms 100000\nhit_overhead_ms 0.02\n" \
		 "write_settle_ms 0.3\n"

TEST(a_write_cache_answers_at_once_unless_it_is_off)
{
	for (int off = 0; off < 2; off++) {
		MODEL(r, off ? WRITING "write_cache off\n" RUN_ZONE : WRITING RUN_ZONE);

		assert_int_equal(run_one(&r, DISK_WRITE, 4096, 4096, NULL)->how, off ? HOW_MEDIA : HOW_CACHED);
	}
}

TEST(fua_reaches_the_media_unless_it_is_ignored)
{
	for (int ignored = 0; ignored < 2; ignored++) {
		const struct disk_req q = { .op = DISK_WRITE, .fua = true, .offset_bytes = 8192, .len_bytes = 4096 };
		MODEL(r, ignored ? WRITING "ignore_fua yes\n" RUN_ZONE : WRITING RUN_ZONE);

		assert_int_equal(disk_submit(r.d, r.now, &q), 0);
		assert_int_equal(run_wait(&r)->how, ignored ? HOW_CACHED : HOW_MEDIA);
	}
}

/* Right behind the answer: once around, or at once. */
TEST(reads_with_fua_wait_for_the_media_unless_the_buffer_answers_them)
{
	const struct disk_req q = { .op = DISK_READ, .fua = true, .offset_bytes = 8192, .len_bytes = 4096 };

	for (int answered = 0; answered < 2; answered++) {
		MODEL(r, answered ? CACHED "fua_reads buffer\n" RUN_ZONE : CACHED RUN_ZONE);

		(void)run_one(&r, DISK_READ, q.offset_bytes, q.len_bytes, NULL);
		assert_true(is_hit(&r, 16));
		for (int i = 0; i < 3; i++) {
			const struct disk_done *done;

			assert_int_equal(disk_submit(r.d, r.now, &q), 0);
			done = run_wait(&r);
			assert_int_equal(done->how, answered ? HOW_HIT : HOW_MEDIA);
		}
		assert_true(is_hit(&r, 16)); /* for others it is still kept */
	}
}

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
		disk_counters(r.d, &c);
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
