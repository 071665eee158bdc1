/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The latency histogram against sorted samples. */
#include "test.h"

#include "stats/stats.h"

TEST(every_value_lands_in_a_bucket_whose_middle_is_within_the_stated_error)
{
	cleanup_free struct hist *h = hist_new();
	struct rng rng;

	assert_non_null(h);
	rng_init(&rng, 1, 1);
	for (int i = 0; i < 3000; i++) {
		uint64_t v = rng_u64(&rng) >> (rng_below(&rng, 63) + 1), got;

		hist_clear(h);
		/* neighbours far away keep min and max from helping */
		hist_add(h, 0);
		hist_add(h, v);
		hist_add(h, UINT64_MAX >> 1);
		got = hist_quantile(h, 0.5);
		if (v < 256)
			assert_int_equal(got, v);
		else
			assert_true(fabs((double)got - (double)v) <= (double)v / 256);
	}
}

TEST(bucket_indices_never_fall_and_never_leave_the_array)
{
	uint32_t last = 0;

	for (unsigned bit = 0; bit < 64; bit++) {
		for (int d = -2; d <= 2; d++) {
			uint64_t v = (1ull << bit) + (uint64_t)(int64_t)d;

			if (bit < 2 || (bit == 63 && d < 0))
				continue;
			assert_true(hist_index(v) < HIST_BUCKETS);
			assert_true(hist_index(v) >= last);
			last = hist_index(v);
		}
	}
	assert_true(hist_index(UINT64_MAX) < HIST_BUCKETS);
	assert_int_equal(hist_index(0), 0);
}

static int compare(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a > b) - (a < b);
}

TEST(quantiles_are_the_samples_nearest_ranks)
{
	enum { N = 5000 };
	static const double qs[] = { 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1 };
	cleanup_free uint64_t *x = malloc(N * sizeof(*x));
	cleanup_free struct hist *h = hist_new();
	struct rng rng;

	assert_non_null(x);
	assert_non_null(h);
	rng_init(&rng, 2, 1);
	for (size_t i = 0; i < N; i++) {
		x[i] = (uint64_t)rng_exp(&rng, 8e6);
		hist_add(h, x[i]);
	}
	qsort(x, N, sizeof(*x), compare);
	for (size_t i = 0; i < ARRAY_LEN(qs); i++) {
		double want = (double)x[(size_t)ceil(qs[i] * N - 1e-6) - 1];

		assert_true(fabs((double)hist_quantile(h, qs[i]) - want) <= want / 256);
	}
	assert_int_equal(hist_quantile(h, 1), x[N - 1]);
	assert_int_equal(hist_quantile(h, 0), x[0]);
	assert_int_equal(hist_quantile(h, (double)NAN), x[0]);
	assert_int_equal(hist_quantile(h, 7), x[N - 1]);
}

TEST(the_mean_is_exact_and_does_not_come_from_buckets)
{
	cleanup_free struct hist *h = hist_new();

	assert_non_null(h);
	for (uint64_t v = 1000001; v <= 1000009; v += 2)
		hist_add(h, v);
	assert_true(fabs(hist_mean(h) - 1000005) < 1e-9);
	hist_clear(h);
	for (int i = 0; i < 1000; i++)
		hist_add(h, 123456789);
	assert_true(hist_mean(h) == 123456789);
}

TEST(merging_is_adding_all_values_to_one)
{
	cleanup_free struct hist *a = hist_new(), *b = hist_new(), *both = hist_new();
	struct rng rng;

	assert_true(a && b && both);
	rng_init(&rng, 3, 1);
	for (int i = 0; i < 1000; i++) {
		uint64_t v = (uint64_t)rng_exp(&rng, 1e6);

		hist_add(i % 3 ? a : b, v);
		hist_add(both, v);
	}
	hist_merge(a, b);
	assert_int_equal(a->count, both->count);
	assert_int_equal(a->min, both->min);
	assert_int_equal(a->max, both->max);
	assert_true(fabs(a->sum / both->sum - 1) < 1e-12);
	assert_memory_equal(a->bucket, both->bucket, sizeof(a->bucket));
	hist_clear(b);
	hist_merge(b, a);
	assert_int_equal(b->min, both->min);
}

TEST(an_empty_histogram_says_nothing)
{
	cleanup_free struct hist *h = hist_new();

	assert_non_null(h);
	assert_int_equal(hist_quantile(h, 0.5), 0);
	assert_true(isnan(hist_mean(h)));
	assert_true(isnan(hist_quantile_ci(h, 0.5).low));
	assert_false(hist_can_quantile(h, 0.5));
	hist_add(h, 7);
	assert_int_equal(hist_quantile(h, 0.5), 7);
	assert_true(isnan(hist_quantile_ci(h, 0.5).low));
}

TEST(a_quantile_is_carried_by_ten_values_beyond_it)
{
	static const struct {
		double q;
		uint64_t needs;
	} cases[] = { { 0.5, 20 },      { 0.9, 100 },       { 0.95, 200 }, { 0.99, 1000 },
		      { 0.999, 10000 }, { 0.9999, 100000 }, { 0.01, 1000 } };
	cleanup_free struct hist *h = hist_new();

	assert_non_null(h);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		h->count = cases[i].needs;
		assert_true(hist_can_quantile(h, cases[i].q));
		h->count--;
		assert_false(hist_can_quantile(h, cases[i].q));
	}
	h->count = 1;
	assert_true(hist_can_quantile(h, 1));
	assert_false(hist_can_quantile(h, (double)NAN));
	assert_false(hist_can_quantile(h, 1.5));
}

TEST(quantile_intervals_hold_the_truth_in_95_percent)
{
	static const double qs[] = { 0.5, 0.95, 0.99 };
	cleanup_free struct hist *h = hist_new();

	assert_non_null(h);
	for (size_t k = 0; k < ARRAY_LEN(qs); k++) {
		double truth = -log1p(-qs[k]) * 8e6;
		int covered = 0;

		for (uint64_t seed = 0; seed < 500; seed++) {
			struct interval ci;
			struct rng rng;

			rng_init(&rng, seed, 5);
			hist_clear(h);
			for (int i = 0; i < 2000; i++)
				hist_add(h, (uint64_t)rng_exp(&rng, 8e6));
			ci = hist_quantile_ci(h, qs[k]);
			covered += ci.low <= truth && truth <= ci.high;
		}
		assert_in_range(covered, 465, 495);
	}
}

TEST(values_of_one_bucket_leave_all_of_it_open)
{
	cleanup_free struct hist *h = hist_new();
	struct interval ci;

	for (uint64_t i = 0; i < 1000; i++)
		hist_add(h, 200000 + i);
	ci = hist_quantile_ci(h, 0.5);
	assert_true(ci.low <= 200400 && ci.high >= 200600);
}

static uint64_t draw(struct rng *rng, int law)
{
	switch (law) {
	case 0: /* a disk: seek and half a revolution */
		return (uint64_t)(3e6 + 20e6 * rng_double(rng));
	case 1: /* a long tail */
		return (uint64_t)(1e5 * exp(2.0 * rng_normal(rng)));
	case 2: /* memory, and now and then a disk */
		return rng_below(rng, 100) ? 300 + rng_below(rng, 50) : 8000000 + rng_below(rng, 1000000);
	case 3:
		return 4711;
	case 4:
		return rng_below(rng, 3);
	default:
		return rng_u64(rng) >> rng_below(rng, 64);
	}
}

static size_t count_between(const uint64_t *x, size_t n, double from, double to)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += (double)x[i] >= from && (double)x[i] < to;
	return count;
}

TEST(bars_hold_every_value_once_and_are_of_one_width_or_one_ratio)
{
	enum { N = 3000 };
	cleanup_free uint64_t *x = malloc(N * sizeof(*x));
	cleanup_free struct hist *h = hist_new();
	struct hist_bar bar[HIST_BARS_MAX];
	struct rng rng;

	assert_non_null(x);
	assert_non_null(h);
	assert_int_equal(hist_bars(h, bar), 0);
	rng_init(&rng, 4, 1);
	for (int round = 0; round < 60; round++) {
		size_t want = 1 + rng_below(&rng, N), n, sum = 0;

		hist_clear(h);
		for (size_t i = 0; i < want; i++)
			hist_add(h, x[i] = draw(&rng, round % 6));
		n = hist_bars(h, bar);
		assert_in_range(n, 1, HIST_BARS_MAX);
		assert_true(bar[0].from <= (h->min ? h->min : 1) && (double)bar[n - 1].to > 0.999 * (double)h->max);
		for (size_t i = 0; i < n; i++) {
			double from = (double)bar[i].from, to = (double)bar[i].to, near = 1.0 / 128;

			sum += bar[i].count;
			assert_true(bar[i].to > bar[i].from);
			/* To within what lies beside the edges. */
			if (i)
				assert_true(bar[i].from == bar[i - 1].to);
			if (i && i + 1 < n) {
				assert_true(bar[i].count + 1 >=
				            count_between(x, want, from * (1 + near), to * (1 - near)));
				assert_true(bar[i].count <=
				            count_between(x, want, from * (1 - near), to * (1 + near)) + 1);
			}
			if (i && bar[0].from >= 1000 && h->max / 8 > hist_quantile(h, 0.5))
				assert_true(fabs(log(to / from) / log((double)bar[0].to / (double)bar[0].from) - 1.0) <
				            0.02);
			else if (i && h->max / 8 <= hist_quantile(h, 0.5))
				assert_int_equal(bar[i].to - bar[i].from, bar[0].to - bar[0].from);
		}
		assert_int_equal(sum, want);
	}
}
