/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the 95 % intervals of `zones` hold the truth: many runs with noise, on the profiles and on random
 * disks. The truth of a place is that of the bytes that its row names. PLATTER_LONG=1 makes five times as many runs.
 */
#include "test.h"

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

static void add_run(struct tallies *t, const struct sim_run *run)
{
	struct tally *const to[] = { &t->start, &t->middle, &t->end };
	const struct table *curve = result_find_table(run->res, "curve"), *spots = result_find_table(run->res, "spots");
	const struct figure *mean = result_find_figure(run->res, "mean_bytes_per_s");

	for (size_t r = 0; r < curve->nrows; r++)
		tally_row(&t->places, run, curve, r);
	assert_int_equal(spots->nrows, 3);
	for (size_t r = 0; r < 3; r++) {
		tally_row(to[r], run, spots, r);
		tally_row(&t->figures, run, spots, r);
	}
	tally_add_ratio(&t->mean, figure_number(mean), mean->ci, truth_harmonic_mean(geometry_of(run)));
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

	for (size_t k = 0; k < runs(100); k++) {
		struct sim_run run;
		PROFILE(p, names[k % n]);

		p.noise.jitter_us = JITTER_US;
		p.noise.retry_per_gb = RETRY_PER_GB;
		p.seed = k + 1;
		MUST(profile_finish(&p, &err));
		run = zones_seeded(&p, k + 1);
		add_run(&all, &run);
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
	const struct profile_limits limits = { .max_bytes = 100000000000u,
		                               .jitter_us = JITTER_US,
		                               .retry_per_gb = RETRY_PER_GB };
	struct tallies all = { 0 };
	size_t nfalse = 0;

	for (uint64_t seed = 1; seed <= runs(80); seed++) {
		cleanup_profile struct profile p = { 0 };
		struct sim_run run;

		if (random_disk(&p, seed, &limits)) {
			run = zones_seeded(&p, seed);
			add_run(&all, &run);
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
