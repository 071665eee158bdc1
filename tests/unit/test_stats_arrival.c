/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the head is there: fit_arrival against accesses made up with a known median, scatter, misses and nonsense.
 * PLATTER_LONG=1: ten times as many. */
#include "test.h"

#include "tally.h"

#define PERIOD  8.333e6
#define GROUPS  8
#define SAMPLES 64

struct kind {
	const char *name;
	double scatter, spread, missed, nonsense, tail, tail_ns;
};

static const struct kind kinds[] = {
	{ "ideal", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 },
	{ "scatter", 0.05e6, 0.0, 0.0, 0.0, 0.0, 0.0 },
	{ "scatter, pairs differ", 0.05e6, 0.04e6, 0.0, 0.0, 0.0, 0.0 },
	{ "misses and tails", 0.05e6, 0.02e6, 0.03, 0.0, 0.03, 0.15e6 },
	{ "nonsense, too", 0.07e6, 0.03e6, 0.02, 0.02, 0.03, 0.2e6 },
};

/* Aimed within two tenths of a millisecond of the edge, a quarter of them anywhere. */
static void make(const struct kind *k, double median, struct rng *rng, struct arrival_sample *ret)
{
	double offset[GROUPS];

	for (size_t g = 0; g < GROUPS; g++)
		offset[g] = k->spread * rng_normal(rng);
	for (size_t i = 0; i < SAMPLES; i++) {
		uint32_t g = (uint32_t)(i % GROUPS);
		double arrival = median + offset[g] + k->scatter * rng_normal(rng), access;

		if (rng_double(rng) < k->tail)
			arrival += rng_exp(rng, k->tail_ns);
		access = i % 4 == 0 ? rng_double(rng) * PERIOD : median + (rng_double(rng) - 0.5) * 0.4e6;
		access -= floor(access / PERIOD) * PERIOD;
		while (access < arrival || rng_double(rng) < k->missed)
			access += PERIOD;
		if (rng_double(rng) < k->nonsense)
			access = rng_double(rng) * 4.0 * PERIOD;
		ret[i] = (struct arrival_sample){ access, g };
	}
}

TEST(nineteen_of_twenty_intervals_hold_the_median)
{
	size_t runs = getenv("PLATTER_LONG") ? 1000 : 60;

	for (size_t j = 0; j < ARRAY_LEN(kinds); j++) {
		struct tally t = { 0 };

		for (size_t i = 0; i < runs; i++) {
			struct arrival_sample s[SAMPLES];
			struct arrival a;
			struct rng rng;
			double median;

			rng_init(&rng, i + 1, j);
			median = 0.3e6 + 20e6 * rng_double(&rng);
			make(&kinds[j], median, &rng, s);
			assert_true(fit_arrival(s, SAMPLES, PERIOD, NULL, &a));
			assert_true(a.ci.low <= a.median && a.median <= a.ci.high);
			tally_add(&t, a.median, a.ci, median);
		}
		print_message("%-24s rms %.4f ms, bias %+.4f, worst %.3f, covered %.1f %%, half width %.4f ms\n",
		              kinds[j].name, tally_rms(&t) * 1e-6, tally_bias(&t) * 1e-6, t.worst * 1e-6,
		              100.0 * tally_coverage(&t), t.width / (double)t.width_n * 1e-6);
		assert_true(tally_rms(&t) < 0.04e6);
		assert_true(tally_coverage(&t) > 0.88);
	}
}

TEST(the_scatter_is_known_within_a_half)
{
	struct tally t = { 0 };

	for (size_t i = 0; i < 40; i++) {
		struct arrival_sample s[SAMPLES];
		struct arrival a;
		struct rng rng;

		rng_init(&rng, i + 1, 99);
		make(&kinds[1], 10e6, &rng, s);
		assert_true(fit_arrival(s, SAMPLES, PERIOD, NULL, &a));
		tally_add(&t, a.scatter, a.scatter_ci, kinds[1].scatter);
	}
	print_message("scatter: bias %+.4f ms, covered %.0f %%\n", tally_bias(&t) * 1e-6, 100.0 * tally_coverage(&t));
	assert_true(fabs(tally_bias(&t)) < 0.5 * kinds[1].scatter);
	assert_true(tally_coverage(&t) > 0.85);
}

TEST(missed_revolutions_are_counted_where_chance_does_not_decide)
{
	const struct kind kind = { "", 0.03e6, 0.0, 0.1, 0.0, 0.0, 0.0 };
	struct arrival_missed sum = { 0 };

	for (size_t i = 0; i < 40; i++) {
		struct arrival_sample s[SAMPLES];
		struct arrival a;
		struct rng rng;

		rng_init(&rng, i + 1, 98);
		make(&kind, 10e6, &rng, s);
		assert_true(fit_arrival(s, SAMPLES, PERIOD, NULL, &a));
		arrival_count_missed(s, SAMPLES, PERIOD, &a, &sum);
	}
	print_message("missed: %zu of %zu\n", sum.missed, sum.of);
	assert_true(sum.of > 300);
	assert_true(fabs((double)sum.missed / (double)sum.of - 0.1) < 0.05);
}

TEST(what_cannot_be_reported_is_refused)
{
	struct arrival_sample s[8] = { { 1e6, 0 }, { 2e6, 0 }, { 3e6, 0 } };
	struct arrival a;

	assert_false(fit_arrival(s, 3, PERIOD, NULL, &a));
	assert_false(fit_arrival(s, 0, PERIOD, NULL, &a));
	s[3] = (struct arrival_sample){ NAN, 0 };
	assert_false(fit_arrival(s, 4, PERIOD, NULL, &a));
	s[3] = (struct arrival_sample){ 1e6, 64 };
	assert_false(fit_arrival(s, 4, PERIOD, NULL, &a));
}

/* A device that stood still, or a file that says so: the work is as large as before, and the answer as good. */
TEST(an_access_of_an_hour_costs_no_more_than_others)
{
	static const double odd[] = { 30e9, 1e12, 3.6e15, 1e300 };

	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		struct arrival_sample s[SAMPLES];
		struct arrival a, whole;
		struct rng rng;

		rng_init(&rng, 7, 97);
		make(&kinds[1], 10e6, &rng, s);
		assert_true(fit_arrival(s, SAMPLES, PERIOD, NULL, &whole));
		s[3].access = odd[i];
		s[SAMPLES / 2].access = odd[i] / 3.0;
		assert_true(fit_arrival(s, SAMPLES, PERIOD, NULL, &a)); /* in steps of the period it would be years */
		assert_true(fabs(a.median - whole.median) < 0.02e6);
	}
}
