/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The margin before deadlines: what share of the sleepers it has in time, for sleepers that are late by known
 * distributions. */
#include "test.h"

#include "base/clock.h"

#define LEARN 20000
#define COUNT 200000

static double uniform(void)
{
	return (rand() + 0.5) / (RAND_MAX + 1.0);
}

/* Sleepers late by `least` and an exponential part of that mean, one in `stall_every` (0: none) by 10 ms: the share
 * that wakes after the margin. */
static double share_late(struct clock *clk, double least_us, double mean_us, int stall_every)
{
	uint64_t late = 0;

	for (int i = 0; i < LEARN + COUNT; i++) {
		uint64_t ns = (uint64_t)((least_us - mean_us * log(uniform())) * 1000);

		if (stall_every && i % stall_every == 0)
			ns = 10 * NS_PER_MS;
		late += i >= LEARN && ns > clk->spin_ns;
		clock_woke(clk, NS_PER_S, NS_PER_S + ns);
	}
	return (double)late / COUNT;
}

TEST(the_margin_has_all_but_one_sleeper_in_16_in_time)
{
	static const double least_us[] = { 10, 50, 100 }, mean_us[] = { 5, 10, 20 };

	srand(1);
	for (int i = 0; i < 3; i++) {
		struct clock clk = { .spin_ns = 60 * NS_PER_US };
		double share = share_late(&clk, least_us[i], mean_us[i], 0);

		assert_true(share > 0.05 && share < 0.08);
		share = share_late(&clk, least_us[i], mean_us[i], 1000); /* stalls do not run away with it */
		assert_true(share > 0.05 && share < 0.08);
	}
}

TEST(the_margin_stays_within_its_bounds)
{
	struct clock clk = { .spin_ns = 60 * NS_PER_US };

	(void)share_late(&clk, 1000, 1, 0);
	assert_int_equal(clk.spin_ns, CLOCK_SPIN_MAX_NS);
	(void)share_late(&clk, 0, 0.1, 0);
	assert_int_equal(clk.spin_ns, CLOCK_SPIN_MIN_NS);
}

TEST(a_virtual_clock_and_an_early_waker_teach_nothing)
{
	struct clock clk = { .spin_ns = 0 };

	clock_woke(&clk, 5, NS_PER_S);
	assert_int_equal(clk.spin_ns, 0);
	clk.spin_ns = 50 * NS_PER_US;
	clock_woke(&clk, NS_PER_S, 5);
	assert_int_equal(clk.spin_ns, 50 * NS_PER_US);
}
