/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a file a disk holds: extents drawn at random against a map of bytes, and real files. */
#include "test.h"

#include <linux/fiemap.h>

#include "device/media.h"
#include "load/load.h"

#define FILE_BYTES  600u
#define PLACE_BYTES 900u

static const uint32_t flags_of[MEDIA_KINDS] = {
	[MEDIA_UNWRITTEN] = FIEMAP_EXTENT_UNWRITTEN,
	[MEDIA_ENCODED] = FIEMAP_EXTENT_ENCODED,
	[MEDIA_INLINE] = FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_NOT_ALIGNED,
};

static size_t draw(struct rng *rng, struct media_extent *v, uint8_t *kinds)
{
	static const enum media_kind some[] = { MEDIA_DATA,      MEDIA_DATA,    MEDIA_DATA,
		                                MEDIA_UNWRITTEN, MEDIA_ENCODED, MEDIA_INLINE };
	size_t n = 0;

	memset(kinds, MEDIA_HOLE, FILE_BYTES);
	for (uint64_t at = rng_below(rng, 40); at < FILE_BYTES; at += rng_below(rng, 3) * rng_below(rng, 30)) {
		enum media_kind kind = some[rng_below(rng, 6)];
		struct media_extent e = { at, rng_below(rng, PLACE_BYTES), 1 + rng_below(rng, 60), flags_of[kind] };

		v[n++] = e;
		at += e.bytes;
		for (uint64_t i = e.logical; i < at && i < FILE_BYTES; i++)
			kinds[i] = (uint8_t)kind;
	}
	return n;
}

/* Bytes of data on places that data before or behind them have, but for one of each place. */
static uint64_t count_shared(const struct media_extent *v, size_t n, uint64_t first, uint64_t end)
{
	uint8_t times[PLACE_BYTES + 64] = { 0 };
	uint64_t shared = 0;

	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; !v[i].flags && k < v[i].bytes; k++)
			if (v[i].logical + k >= first && v[i].logical + k < end)
				shared += times[v[i].physical + k]++ > 0;
	return shared;
}

TEST(every_byte_of_a_range_is_counted_as_what_it_is)
{
	struct rng rng;

	rng_init(&rng, 5, 0);
	for (int draws = 0; draws < 2000; draws++) {
		struct media_extent v[FILE_BYTES];
		uint8_t kinds[FILE_BYTES];
		size_t n = draw(&rng, v, kinds);
		uint64_t first = rng_below(&rng, FILE_BYTES), end = first + rng_below(&rng, FILE_BYTES - first + 1);
		uint64_t want[MEDIA_KINDS] = { 0 }, longest = 0, run = 0, shared = count_shared(v, n, first, end);
		struct media m;

		for (uint64_t i = first; i < end; i++) {
			want[kinds[i]]++;
			run = kinds[i] == MEDIA_DATA ? run + 1 : 0;
			longest = run > longest ? run : longest;
		}
		want[MEDIA_TWICE] = shared;
		want[MEDIA_DATA] -= shared;
		media_count(v, n, first, end, &m);
		for (size_t k = 0; k < MEDIA_KINDS; k++)
			assert_int_equal(m.bytes[k], want[k]);
		assert_int_equal(m.longest_bytes, longest);
		for (uint64_t i = 0; i < longest; i++)
			assert_int_equal(kinds[m.longest_first + i], MEDIA_DATA);
	}
}

static int fresh(void)
{
	char path[] = "media-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	(void)unlink(path);
	return fd;
}

TEST(holes_and_unwritten_bytes_of_a_real_file_are_no_data)
{
	enum { MIB = 1 << 20 };
	static uint8_t buf[MIB];
	struct media m;
	char text[200];
	int fd = fresh();

	memset(buf, 7, sizeof(buf));
	assert_int_equal(pwrite(fd, buf, MIB, MIB), MIB);
	assert_int_equal(ftruncate(fd, 4 * MIB), 0);
	media_look(fd, 0, 4 * MIB, &m);
	if (!m.is_known) {
		(void)close(fd);
		skip();
	}
	assert_int_equal(m.bytes[MEDIA_HOLE], 3 * MIB);
	assert_int_equal(m.bytes[MEDIA_DATA], MIB);
	assert_int_equal(m.longest_first, MIB);
	assert_int_equal(m.longest_bytes, MIB);
	assert_string_equal(media_text(&m, text, sizeof(text)), "3.15 MB are holes");
	media_look(fd, MIB, 2 * MIB, &m);
	assert_string_equal(media_text(&m, text, sizeof(text)), "");
	if (!m.is_memory && fallocate(fd, 0, 2 * MIB, 2 * MIB) == 0) {
		media_look(fd, 0, 4 * MIB, &m);
		assert_int_equal(m.bytes[MEDIA_HOLE], MIB);
		assert_int_equal(m.bytes[MEDIA_UNWRITTEN], 2 * MIB);
	}
	(void)close(fd);
}

static int by_content(const void *a, const void *b)
{
	return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, 64);
}

/* Pages of blocks in a row: as many as a file of 256 MiB has, by their first 64 bytes. */
TEST(no_two_pages_of_a_pool_are_alike)
{
	enum { BLOCK = 65536, PAGES = 65536 };
	const uint8_t **page = malloc(PAGES * sizeof(*page));
	struct payload_pool pool;

	payload_pool_init(&pool, 9, BLOCK);
	for (size_t i = 0; i < PAGES; i++)
		page[i] = payload_pool_at(&pool, i / 16) + i % 16 * 4096;
	qsort(page, PAGES, sizeof(*page), by_content);
	for (size_t i = 1; i < PAGES; i++)
		assert_int_not_equal(memcmp(page[i - 1], page[i], 64), 0);
	payload_pool_done(&pool);
	free(page);
}
