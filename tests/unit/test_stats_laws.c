/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Laws against tables, queues against simulation, comparisons, and the ring against brute force. */
#include "test.h"

#include "tally.h"

TEST(no_event_in_t_hours_bounds_the_rate_by_three_over_t)
{
	assert_true(is_near(law_rule_of_three(1), 2.9957, 1e-4));
	assert_true(is_near(law_rule_of_three(24), 3.0 / 24, 2e-3));
	assert_true(isnan(law_rule_of_three(0)) && isnan(law_rule_of_three((double)NAN)));
}

TEST(operational_laws_hold_for_the_published_transactions)
{
	/* 30 users, think 5 s, response 0.91 s: 5.08 transactions/s */
	assert_true(is_near(30 / (0.91 + 5), 5.08, 1e-3));
	assert_true(is_near(law_interactive_n(5.076, 0.91, 5), 30, 1e-3));
	assert_true(is_near(law_knee_users(0.3, 0.2, 1), 6.5, 1e-12));
}

/* ---- the ring ---- */

static uint64_t brute_force_rate(const struct bucket_point *p, size_t n, uint64_t ring)
{
	unsigned __int128 best_bytes = 0, best_ns = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++) {
			unsigned __int128 bytes = (unsigned __int128)ring + p[j - 1].bytes - p[i].bytes,
					  ns = p[j].t_ns - p[i].t_ns;

			if (ns == 0)
				continue;
			if (best_ns == 0 || bytes * best_ns < best_bytes * ns) {
				best_bytes = bytes;
				best_ns = ns;
			}
		}
	}
	return best_ns ? (uint64_t)(best_bytes * 1000000000u / best_ns) : UINT64_MAX;
}

/* The fullest that a ring gets at a steady rate, by playing it: no pairs of moments are looked at. */
static uint64_t played_ring(const struct bucket_point *p, size_t n, uint64_t rate)
{
	unsigned __int128 level = 0, most = 0; /* in billionths of a byte */

	for (size_t i = 1; i < n; i++) {
		unsigned __int128 done = (unsigned __int128)(p[i].bytes - p[i - 1].bytes) * 1000000000u;

		level += (unsigned __int128)rate * (p[i].t_ns - p[i - 1].t_ns);
		most = level > most ? level : most;
		level = level > done ? level - done : 0;
	}
	return (uint64_t)((most + 999999999u) / 1000000000u);
}

/* Completions of 1 MiB blocks at about 100 MB/s with stalls; some at the same time. */
static size_t make_completions(uint64_t seed, struct bucket_point *p, size_t n)
{
	struct rng rng;

	rng_init(&rng, seed, 81);
	p[0] = (struct bucket_point){ 5000000000u + rng_below(&rng, 1000), 0 };
	for (size_t i = 1; i < n; i++) {
		uint64_t gap = rng_below(&rng, 5) == 0 ? 0 : (uint64_t)rng_exp(&rng, 10e6);

		if (rng_below(&rng, 40) == 0)
			gap += (uint64_t)rng_exp(&rng, 500e6);
		p[i] = (struct bucket_point){ p[i - 1].t_ns + gap, p[i - 1].bytes + 1048576 };
	}
	return n;
}

TEST(the_largest_rate_for_a_ring_is_that_of_all_pairs)
{
	struct bucket_point p[120];

	for (uint64_t seed = 0; seed < 300; seed++) {
		size_t n = make_completions(seed, p, 2 + seed % (ARRAY_LEN(p) - 1));

		for (uint64_t ring = 1; ring < 1ull << 34; ring *= 37)
			assert_int_equal(bucket_max_rate(p, n, ring), brute_force_rate(p, n, ring));
	}
}

TEST(a_ring_bears_its_largest_rate_and_no_more)
{
	struct bucket_point p[400];

	for (uint64_t seed = 0; seed < 50; seed++) {
		size_t n = make_completions(seed, p, ARRAY_LEN(p));
		uint64_t last = 0;

		for (uint64_t ring = 1 << 20; ring < 1ull << 30; ring *= 2) {
			uint64_t rate = bucket_max_rate(p, n, ring);

			assert_true(rate >= last);
			assert_true(played_ring(p, n, rate) <= ring);
			assert_true(played_ring(p, n, rate + 2) > ring);
			last = rate;
		}
	}
}

TEST(a_million_completions_take_a_handful_of_passes)
{
	enum { N = 1000000 };
	cleanup_free struct bucket_point *p = malloc(N * sizeof(*p));

	assert_non_null(p);
	make_completions(1, p, N);
	for (uint64_t ring = 1 << 24; ring < 1ull << 31; ring *= 4) {
		uint64_t rate = bucket_max_rate(p, N, ring);

		assert_true(played_ring(p, N, rate) <= ring && played_ring(p, N, rate + 2) > ring);
	}
}

/* Exact while all are kept; then never more than is true, and not less than a ring that is smaller by what is hidden
 * would have borne. */
TEST(a_log_of_any_length_gives_a_rate_that_the_ring_would_have_borne)
{
	enum { N = 20000, MAX = 256 };
	cleanup_free struct bucket_point *p = malloc(N * sizeof(*p));

	assert_non_null(p);
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct bucket_log log = { 0 };
		unsigned useful = 0;
		double mean;

		make_completions(seed, p, N);
		mean = (double)(p[N - 1].bytes - p[0].bytes) * 1e9 / (double)(p[N - 1].t_ns - p[0].t_ns);
		bucket_log_start(&log, MAX);
		for (size_t i = 0; i < N; i++) {
			bucket_log_add(&log, p[i].t_ns, p[i].bytes);
			if (i + 1 == MAX)
				for (uint64_t ring = 1 << 20; ring < 1ull << 31; ring *= 2)
					assert_int_equal(bucket_log_max_rate(&log, ring),
					                 bucket_max_rate(p, i + 1, ring));
			assert_true(log.n <= MAX);
			if (i % 997 == 0) { /* whatever the end is */
				const uint64_t ring = 256 << 20, hidden = (log.stride - 1) << 20;

				assert_true(bucket_log_max_rate(&log, ring) <= bucket_max_rate(p, i + 1, ring));
				assert_true(hidden * 2 >= ring || i < 2 ||
				            bucket_log_max_rate(&log, ring) >=
				                    bucket_max_rate(p, i + 1, ring - 2 * hidden));
			}
		}
		assert_int_equal(log.seen, N);
		assert_int_equal(log.stride, 128); /* 20000 / 128 <= 256 < 20000 / 64 */
		for (uint64_t ring = 1 << 20; ring < 1ull << 32; ring *= 2) {
			uint64_t rate = bucket_log_max_rate(&log, ring);

			assert_true(rate <= bucket_max_rate(p, N, ring));
			useful += (double)rate > mean / 2;
		}
		assert_true(useful > 0);
		bucket_log_start(&log, MAX); /* anew, in the same memory */
		assert_int_equal(log.seen, 0);
		bucket_log_done(&log);
	}
}

TEST(a_ring_without_completions_or_time_is_unbounded)
{
	struct bucket_point p[3] = { { 100, 0 }, { 100, 10 }, { 100, 20 } };

	assert_true(bucket_max_rate(p, 0, 100) == UINT64_MAX && bucket_max_rate(p, 1, 100) == UINT64_MAX);
	assert_true(bucket_max_rate(p, 3, 100) == UINT64_MAX);
	p[2].t_ns = 1000000100;
	/* one stall of a second, 100 bytes of ring: 100 bytes/s */
	assert_int_equal(bucket_max_rate(p, 3, 100), 100);
	assert_int_equal(bucket_max_rate(p, 3, UINT64_MAX), UINT64_MAX);
}
