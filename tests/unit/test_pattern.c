/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test.h"

#include "load/load.h"

static void assert_permutation(uint64_t n, uint64_t key)
{
	cleanup_free uint8_t *seen = calloc(n, 1);

	assert_non_null(seen);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t x = permute(i, n, key);

		assert_true(x < n);
		assert_int_equal(seen[x]++, 0);
	}
}

TEST(every_place_comes_exactly_once)
{
	static const uint64_t large[] = { 1009, 1023, 1024, 1025, 4095, 4096, 65521, 65536, 65537, 99991, 100000 };

	for (uint64_t n = 1; n <= 300; n++)
		for (uint64_t key = 0; key < 5; key++)
			assert_permutation(n, rng_mix(key));
	for (size_t i = 0; i < ARRAY_LEN(large); i++)
		assert_permutation(large[i], rng_mix(i));
}

TEST(huge_ranges_stay_in_range_and_do_not_repeat)
{
	const uint64_t n = 16ull * 1000 * 1000 * 1000 * 1000 * 1000 / 512 + 3;
	uint64_t last = n;

	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t x = permute(i, n, 5);

		assert_true(x < n);
		assert_true(x != last);
		last = x;
	}
	assert_true(permute(UINT64_MAX - 1, UINT64_MAX, 1) < UINT64_MAX);
}

/* Chi-square of `cells` equal cells: mean cells - 1, deviation sqrt(2 (cells - 1)); the bound is six deviations. */
static void assert_uniform(const uint32_t *count, size_t cells, double expect)
{
	double chi = 0, bound = (double)(cells - 1);

	for (size_t i = 0; i < cells; i++)
		chi += ((double)count[i] - expect) * ((double)count[i] - expect) / expect;
	if ((chi - bound) * (chi - bound) > 36 * 2 * (double)cells && chi > bound)
		fail_msg("chi-square %.1f of %zu cells", chi, cells);
}

TEST(over_many_keys_every_index_goes_everywhere_equally)
{
	static const uint64_t sizes[] = { 2, 3, 4, 5, 7, 8, 13, 16, 31, 64 };

	for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
		uint64_t n = sizes[s];

		for (uint64_t i = 0; i<n; i += n> 8 ? 5 : 1) {
			uint32_t count[64] = { 0 };

			for (uint64_t key = 0; key < 400 * n; key++)
				count[permute(i, n, rng_mix(key))]++;
			assert_uniform(count, n, 400);
		}
	}
}

TEST(the_first_part_of_a_permutation_covers_the_range_evenly)
{
	const uint64_t n = 1000003;

	for (uint64_t key = 0; key < 20; key++) {
		uint32_t count[100] = { 0 }, step[100] = { 0 };
		uint64_t last = permute(0, n, rng_mix(key));

		for (uint64_t i = 1; i <= 20000; i++) {
			uint64_t x = permute(i, n, rng_mix(key));

			count[x * 100 / n]++;
			step[(x + n - last) % n * 100 / n]++; /* neighbours in the order are strangers in place */
			last = x;
		}
		assert_uniform(count, 100, 200);
		assert_uniform(step, 100, 200);
	}
}

TEST(sequential_requests_touch_and_end_in_a_short_one)
{
	struct seq_feeder f;
	struct io_req req = { 0 };
	uint64_t until, at = 4096;

	seq_feeder_init(&f, IO_READ, 3, 4096, 4096 + 10 * 65536 + 512, 65536);
	for (int i = 0; i < 11; i++) {
		assert_int_equal(f.f.next(&f.f, 0, &req, &until), FEED_IO);
		assert_int_equal(req.offset_bytes, at);
		assert_int_equal(req.len_bytes, i < 10 ? 65536 : 512);
		assert_int_equal(req.target, 3);
		assert_int_equal(req.tag, i);
		at += req.len_bytes;
	}
	assert_int_equal(f.f.next(&f.f, 0, &req, &until), FEED_END);
	assert_int_equal(f.f.next(&f.f, 0, &req, &until), FEED_END);
}

TEST(empty_ranges_end_at_once)
{
	struct seq_feeder s;
	struct random_feeder r;
	struct list_feeder l;
	struct io_req req = { 0 };
	uint64_t until;

	seq_feeder_init(&s, IO_READ, 0, 4096, 4096, 4096);
	assert_int_equal(s.f.next(&s.f, 0, &req, &until), FEED_END);
	seq_feeder_init(&s, IO_READ, 0, 8192, 4096, 4096);
	assert_int_equal(s.f.next(&s.f, 0, &req, &until), FEED_END);
	random_feeder_init(&r, IO_READ, 0, 0, 4095, 4096, 10, 1);
	assert_int_equal(r.f.next(&r.f, 0, &req, &until), FEED_END);
	list_feeder_init(&l, NULL, 0);
	assert_int_equal(l.f.next(&l.f, 0, &req, &until), FEED_END);
}

TEST(random_blocks_repeat_only_after_all_were_given)
{
	struct random_feeder f;
	struct io_req req = { 0 };
	uint64_t until, first[100];
	uint32_t seen[100] = { 0 };
	bool differs = false;

	random_feeder_init(&f, IO_READ, 1, 8192, 8192 + 100 * 4096 + 100, 4096, 250, 42);
	for (uint32_t i = 0; i < 250; i++) {
		uint64_t k;

		assert_int_equal(f.f.next(&f.f, 0, &req, &until), FEED_IO);
		k = (req.offset_bytes - 8192) / 4096;
		assert_int_equal((req.offset_bytes - 8192) % 4096, 0);
		assert_in_range(k, 0, 99);
		assert_int_equal(seen[k]++, i / 100);
		assert_int_equal(req.tag, i);
		if (i < 100)
			first[i] = k;
		else if (i < 200)
			differs = differs || first[i - 100] != k;
	}
	assert_true(differs); /* a new key each time round */
	assert_int_equal(f.f.next(&f.f, 0, &req, &until), FEED_END);
}

TEST(many_at_once_are_the_same_as_one_by_one)
{
	struct random_feeder a, b;
	struct io_req one = { 0 }, reqs[64], *many[64];
	uint64_t until;
	uint32_t n, got = 0;

	for (uint32_t i = 0; i < 64; i++)
		many[i] = &reqs[i];
	random_feeder_init(&a, IO_READ, 2, 4096, 4096 + 777 * 512, 512, 2000, 9);
	random_feeder_init(&b, IO_READ, 2, 4096, 4096 + 777 * 512, 512, 2000, 9);
	while ((n = b.f.many(&b.f, many, 1 + got % 64)) > 0 || b.left) {
		if (n == 0) { /* a new order is due, which next() makes */
			assert_int_equal(b.f.next(&b.f, 0, &reqs[0], &until), FEED_IO);
			n = 1;
		}
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(a.f.next(&a.f, 0, &one, &until), FEED_IO);
			assert_int_equal(reqs[i].offset_bytes, one.offset_bytes);
			assert_int_equal(reqs[i].len_bytes, one.len_bytes);
			assert_int_equal(reqs[i].target, one.target);
			assert_int_equal(reqs[i].tag, one.tag);
		}
		got += n;
	}
	assert_int_equal(got, 2000);
	assert_int_equal(a.f.next(&a.f, 0, &one, &until), FEED_END);
	assert_int_equal(b.f.next(&b.f, 0, &one, &until), FEED_END);
}

TEST(the_same_seed_gives_the_same_places_and_another_does_not)
{
	struct random_feeder a, b, c;
	struct io_req x = { 0 }, y = { 0 }, z = { 0 };
	uint64_t until;
	int same = 0;

	random_feeder_init(&a, IO_READ, 0, 0, 1 << 30, 4096, 1000, 1);
	random_feeder_init(&b, IO_READ, 0, 0, 1 << 30, 4096, 1000, 1);
	random_feeder_init(&c, IO_READ, 0, 0, 1 << 30, 4096, 1000, 2);
	for (int i = 0; i < 1000; i++) {
		(void)a.f.next(&a.f, 0, &x, &until); /* 1000 are there */
		(void)b.f.next(&b.f, 0, &y, &until);
		(void)c.f.next(&c.f, 0, &z, &until);
		assert_int_equal(x.offset_bytes, y.offset_bytes);
		same += x.offset_bytes == z.offset_bytes;
	}
	assert_in_range(same, 0, 3);
}

TEST(lists_come_in_their_order)
{
	static const struct list_item items[] = {
		{ .offset_bytes = 4096, .len_bytes = 512, .target = 1, .op = IO_READ },
		{ .offset_bytes = 0, .len_bytes = 1024, .target = 0, .op = IO_WRITE },
	};
	struct list_feeder f;
	struct io_req req = { 0 };
	uint64_t until;

	list_feeder_init(&f, items, 2);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(f.f.next(&f.f, 0, &req, &until), FEED_IO);
		assert_int_equal(req.offset_bytes, items[i].offset_bytes);
		assert_int_equal(req.len_bytes, items[i].len_bytes);
		assert_int_equal(req.target, items[i].target);
		assert_int_equal(req.op, items[i].op);
		assert_int_equal(req.tag, i);
	}
	assert_int_equal(f.f.next(&f.f, 0, &req, &until), FEED_END);
}
