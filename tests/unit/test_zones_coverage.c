/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the 95 % intervals of `zones` hold the truth: many runs with noise, on the profiles and on random
 * disks. The truth of a place is that of the bytes that its row names. PLATTER_LONG=1 makes five times as many runs.
 */
#include "test.h"

#include "tally.h"
#include "zonesrun.h"

struct tallies {
	struct tally start, middle, end, figures, mean, places; /* figures: start, middle and end */
};

static void print_tallies(const struct tallies *t, const char *what)
{
	print_message("%s\n", what);
	tally_print(&t->start, "  start", 0.01, "%");
	tally_print(&t->middle, "  middle", 0.01, "%");
	tally_print(&t->end, "  end", 0.01, "%");
	tally_print(&t->figures, "  start, middle and end", 0.01, "%");
	tally_print(&t->mean, "  mean", 0.01, "%");
	tally_print(&t->places, "  places of the curve", 0.01, "%");
}

static void add(struct tally *t, double truth, double estimate, struct interval ci)
{
	tally_add(t, estimate / truth - 1.0, (struct interval){ ci.low / truth - 1.0, ci.high / truth - 1.0 }, 0.0);
}

/* Rows of curve and spots alike: the bytes, and what was measured of them. also: NULL: to no other. */
static void add_row(struct tally *to, struct tally *also, const struct geometry *g, const struct table *t, size_t row)
{
	uint64_t first = (uint64_t)number(t, row, "first_byte"), last = (uint64_t)number(t, row, "last_byte");
	double truth = truth_rate(g, first, last + 1), rate = number(t, row, "rate_bytes_per_s");
	struct interval ci = { number(t, row, "low"), number(t, row, "high") };

	add(to, truth, rate, ci);
	if (also)
		add(also, truth, rate, ci);
}

static void add_run(struct tallies *t, const struct sim_run *run, const struct geometry *g)
{
	struct tally *const to[] = { &t->start, &t->middle, &t->end };
	const struct table *curve = result_find_table(run->res, "curve"), *spots = result_find_table(run->res, "spots");
	const struct figure *mean = result_find_figure(run->res, "mean_bytes_per_s");

	for (size_t r = 0; r < curve->nrows; r++)
		add_row(&t->places, NULL, g, curve, r);
	assert_int_equal(spots->nrows, 3);
	for (size_t r = 0; r < 3; r++)
		add_row(to[r], &t->figures, g, spots, r);
	add(&t->mean, truth_harmonic_mean(g), figure_number(mean), mean->ci);
}

/*
 * 93 %, but for one standard error of a share of so many, to `most`. On the nine drives that is more than 98: two of
 * them have surfaces that differ by more than their places do, and their intervals allow for it; nearly all that fails
 * comes from the other seven.
 */
static bool is_covered_but_for_chance(const struct tally *t, double most)
{
	double n = (double)t->width_n, c = tally_coverage(t);

	return tally_covers(t) || (c >= 0.93 - sqrt(0.93 * 0.07 / n) && c <= most + sqrt(0.98 * 0.02 / n));
}

TEST(the_intervals_hold_the_truth_on_the_profiles)
{
	static const char *const names[] = {
		"quantum-fireball-tm2110a",
		"ibm-deskstar-60gxp",
		"maxtor-diamondmax-80",
		"seagate-medalist-st39140a",
		"seagate-cheetah-15k7",
		"modern-4tb",
		"samsung-hd103sj",
		"toshiba-x300",
		"nearline-20tb",
		"tiny",
	};
	const size_t n = sizeof(names) / sizeof(names[0]);
	struct tallies all = { 0 };

	for (size_t k = 0; k < runs(150); k++) {
		struct err err = { 0 };
		struct sim_run run;
		PROFILE(p, names[k % n]);

		p.noise.jitter_us = JITTER_US;
		p.noise.retry_per_gb = RETRY_PER_GB;
		p.seed = k + 1;
		assert_int_equal(profile_finish(&p, &err), 0);
		run = zones_seeded(&p, k + 1);
		add_run(&all, &run, geometry_of(&run));
		sim_run_end(&run);
	}
	print_tallies(&all, "profiles, with noise");
	/* On so few drives the errors are of few kinds; the sampling error of so many runs is allowed for. */
	assert_true(is_covered_but_for_chance(&all.start, 0.99));
	assert_true(is_covered_but_for_chance(&all.middle, 0.99));
	assert_true(is_covered_but_for_chance(&all.end, 0.99));
	assert_true(is_covered_but_for_chance(&all.figures, 0.985));
	assert_true(is_covered_but_for_chance(&all.mean, 0.99));
	assert_true(is_covered_but_for_chance(&all.places, 0.985));
}

/* false: a disk that cannot stream: without cache and queue each request waits for the next revolution. */
static bool random_disk(struct profile *p, uint64_t seed, uint32_t slow_regions, bool same_density)
{
	const struct profile_limits limits = { .max_bytes = 100000000000u,
		                               .jitter_us = JITTER_US,
		                               .retry_per_gb = RETRY_PER_GB,
		                               .slow_regions = slow_regions,
		                               .same_density = same_density };
	struct err err = { 0 };

	assert_int_equal(profile_random(p, seed, &limits, &err), 0);
	return p->cache.bytes || p->ctl.queue_depth > 1;
}

static size_t count_false(const struct sim_run *run, uint64_t seed)
{
	const struct table *t = result_find_table(run->res, "slow_regions");
	size_t bad = 0;

	for (size_t r = 0; r < t->nrows; r++) {
		if (is_slow_in_truth(geometry_of(run), t, r))
			continue;
		print_message("disk %d: there is no slow region at %.0f\n", (int)seed, number(t, r, "first_byte"));
		bad++;
	}
	return bad;
}

TEST(the_intervals_hold_the_truth_on_random_disks_and_none_of_them_has_a_slow_region)
{
	struct tallies all = { 0 };
	size_t nfalse = 0;

	for (uint64_t seed = 1; seed <= runs(100); seed++) {
		cleanup_profile struct profile p = { 0 };
		struct sim_run run;

		if (random_disk(&p, seed, 0, false)) {
			run = zones_seeded(&p, seed);
			add_run(&all, &run, geometry_of(&run));
			nfalse += count_false(&run, seed);
			sim_run_end(&run);
		}
	}
	print_tallies(&all, "random disks, with noise");
	assert_int_equal(nfalse, 0);
	assert_true(tally_covers(&all.start));
	assert_true(tally_covers(&all.middle));
	assert_true(tally_covers(&all.end));
	assert_true(tally_covers(&all.figures));
	assert_true(tally_covers(&all.mean));
	assert_true(tally_covers(&all.places));
}
