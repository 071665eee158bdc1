/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What geometry tells of wild disks of which it once told nothing, each for its own reason. */
#include "test.h"

#include "geometryrun.h"
#include "measure/geometry/layout.h"

static void start_and_end_are(uint64_t seed, double start, double end)
{
	cleanup_run struct sim_run run = geometry_on_wild(seed, "--quick sda", NULL, NULL);

	assert_true(sim_figure(&run, "start_sectors_per_track") == start);
	assert_true(sim_figure(&run, "end_sectors_per_track") == end);
}

/* 16 deviations of an answer between a track and the next, and 15 were asked for. */
TEST(ends_of_tracks_need_not_stand_out_of_noise_more_than_they_do)
{
	start_and_end_are(106027, 467.0, 230.0);
}

/* A sector that is read again takes a revolution, so no cache was seen; its neighbours come from the cache. */
TEST(a_cache_may_have_what_was_read_ahead_and_not_what_was_asked_for)
{
	start_and_end_are(106021, 450.0, 238.0);
}

/* Arms that have every other 256 sectors: the angle jumps behind each of these, which by their spacing are half a
 * track. */
TEST(a_stripe_is_no_track)
{
	cleanup_run struct sim_run run = geometry_on_wild(106023, "--quick sda", NULL, NULL);
	double start = sim_figure(&run, "start_sectors_per_track"), end = sim_figure(&run, "end_sectors_per_track");

	assert_true(isnan(start) || start == 446.0);
	assert_true(isnan(end) || end > 200.0);
}

static void trimmed(struct profile *p, const void *seed)
{
	struct err err;

	profile_done(p);
	assert_int_equal(profile_wild(p, *(const uint64_t *)seed, "trimmed", &err), 0);
}

/* Little of the disk is stored: five sectors were read again and again, the first answer of one was a third of a
 * revolution late. */
TEST(a_late_first_answer_makes_no_finer_lattice)
{
	const uint64_t seed = 141420;
	cleanup_run struct sim_run run = geometry_on_wild(seed, "--quick --seed=141420 sda", trimmed, &seed);
	double rpm = sim_figure(&run, "rotation_rpm");

	print_message("%.3f rpm\n", rpm);
	assert_true(isnan(rpm) || fabs(rpm / 5891.7619 - 1.0) < 20e-6);
}

#define DRAWS 3

/* Behind the last track of a surface, one of another size was looked at closely as if it were of the same: then none of
 * these draws of its noise shows the surfaces. */
TEST_LARGE(the_next_surface_may_hold_more)
{
	size_t told = 0;

	for (int seed = 1; seed <= DRAWS; seed++) {
		cleanup_run struct sim_run run = { 0 };
		char words[48];
		double surfaces;

		(void)snprintf(words, sizeof(words), "--seed=%d --time=600s sda", seed);
		run = geometry_on_wild(105014, words, NULL, NULL);
		surfaces = sim_figure(&run, "surfaces");
		print_message("noise %d: %g surfaces\n", seed, surfaces);
		assert_true(isnan(surfaces) || surfaces == 3.0);
		told += isfinite(surfaces);
	}
	assert_true(told > 0);
}

/* Head-first with six surfaces, and a change of heads takes nearly as long as a step of the arm: a few wrong accesses
 * of the first look spoke for two surfaces in bands of three. */
TEST(a_few_wrong_accesses_decide_no_layout)
{
	cleanup_run struct sim_run run = geometry_on_wild(152011, "--seed=152011 --time=600s sda", NULL, NULL);
	double surfaces = sim_figure(&run, "surfaces");

	print_message("%g surfaces\n", surfaces);
	assert_true(isnan(surfaces) || surfaces == 6.0);
}

static void surfaces_are(uint64_t seed, double surfaces, bool must_be_told)
{
	cleanup_run struct sim_run run = { 0 };
	char words[48];
	double told;

	(void)snprintf(words, sizeof(words), "--seed=%d --time=600s sda", (int)seed);
	run = geometry_on_wild(seed, words, NULL, NULL);
	told = sim_figure(&run, "surfaces");
	print_message("%d: %g surfaces\n", (int)seed, told);
	assert_true(told == surfaces || (!must_be_told && isnan(told)));
}

#define MADE 960 /* accesses of ten looks */

/* An arm that takes a little longer each cylinder, and is off that at each distance; then the same accesses as if
 * tracks lay over each other. How many. */
static size_t arm_over(struct geo_access *ret, bool over_each_other, struct rng *rng)
{
	double off[8];

	for (size_t i = 0; i < ARRAY_LEN(off); i++)
		off[i] = 0.008 * (rng_double(rng) - 0.5);
	for (size_t i = 0; i < MADE; i++) {
		uint64_t from = rng_below(rng, 1000), to = from + 1 + rng_below(rng, 6);
		uint64_t cylinders = over_each_other ? to / 2 - from / 2 : to - from;
		double noise = rng_double(rng) + rng_double(rng) + rng_double(rng) - 1.5;

		ret[i] = (struct geo_access){ .cylinders = to - from, .error = 0.002 };
		ret[i].access = cylinders ? 0.09 + 0.0016 * log2((double)cylinders) + off[cylinders] : 0.087;
		ret[i].access += 0.006 * noise;
		ret[MADE + i] = ret[i];
		ret[MADE + i].cylinders = to / 2 - from / 2;
		ret[MADE + i].is_other_head = from % 2 != to % 2;
	}
	return MADE;
}

/* By how much less likely all are if tracks lie over each other in pairs than if side by side. */
static double speaks_for_one(const struct geo_access *seen, size_t n)
{
	struct geo_law one = geo_law_of(seen, n), two = geo_law_of(seen + MADE, n);
	double scale = fmin(one.scale, two.scale);

	return geo_law_cost(seen + MADE, n, &two, scale) - geo_law_cost(seen, n, &one, scale);
}

/*
 * An arm may be off any smooth curve by more than a cylinder more costs, at each distance by what it will. With a curve
 * for each look, and likelihoods that multiply, that spoke for the false layout in 4 of 100 draws.
 */
TEST(what_an_arm_is_off_a_curve_speaks_for_no_layout)
{
	static struct geo_access seen[2 * MADE];
	size_t right = 0, wrong = 0;
	struct rng rng;

	rng_init(&rng, 1, 1);
	for (int k = 0; k < 100; k++) {
		size_t n = arm_over(seen, k % 2, &rng);
		double speaks = (k % 2 ? -1.0 : 1.0) * speaks_for_one(seen, n);

		right += speaks > 12.0;
		wrong += speaks < -12.0;
	}
	print_message("of 100: %zu right, %zu wrong\n", right, wrong);
	assert_int_equal(wrong, 0);
	assert_true(right > 60);
}

#define ARM_LOOKS 200

/*
 * An arm that takes longer for a step to another head than for many cylinders, and a share of the accesses to tracks
 * that do not lie where they are thought to: the curve that suits is not always found from where it is looked for
 * first. It is found from that of the same arm when tracks are known.
 */
TEST(a_curve_that_is_not_found_from_anywhere_is_found_from_another_one)
{
	static struct geo_access known[ARM_LOOKS], seen[ARM_LOOKS];
	size_t missed = 0;
	struct rng rng;

	rng_init(&rng, 1, 1);
	for (int k = 0; k < 60; k++) {
		double change = 0.1 + 0.4 * rng_double(&rng), rise = 0.02 * rng_double(&rng), base = 0.1;
		double part = 0.1 + 0.2 * rng_double(&rng);
		struct geo_law right, found;
		double cost;

		for (size_t i = 0; i < ARM_LOOKS; i++) {
			struct geo_access a = { .cylinders = rng_below(&rng, 12), .error = 0.002 };
			double noise = rng_double(&rng) + rng_double(&rng) + rng_double(&rng) - 1.5;

			a.is_other_head = a.cylinders == 0 || rng_below(&rng, 2);
			a.access = base + (a.is_other_head ? change : 0.0) + rise * log2((double)a.cylinders + 1.0) +
			           0.004 * noise;
			known[i] = seen[i] = a;
			if (rng_double(&rng) < part) {
				seen[i].cylinders = rng_below(&rng, 12);
				seen[i].is_other_head = !a.is_other_head;
			}
		}
		right = geo_law_of(known, ARM_LOOKS);
		found = geo_law_of(seen, ARM_LOOKS);
		cost = found.cost;
		found = geo_law_from(seen, ARM_LOOKS, &right, &found);
		assert_true(found.cost <= cost);
		missed += found.cost + 12.0 < cost;
	}
	print_message("not found at first: %zu of 60\n", missed);
	assert_true(missed > 0);
}

/* Two surfaces whose only zone is one band are as one, but for where the first of them ends, where pairs are chosen
 * then. */
TEST_LARGE(where_a_surface_ends_in_its_zone_is_looked_at)
{
	surfaces_are(152030, 1.0, true);
}

/* The bands cut in three, or in two, read wrongly: whether that is so is seen by cutting them as the accesses suit
 * best. */
TEST(a_rival_that_was_misread_is_held_against_accesses_mended)
{
	surfaces_are(152016, 2.0, true);
	if (TALLY_LARGE)
		surfaces_are(152055, 6.0, false);
}

/* Three surfaces in bands of 402, read from the second band on: the accesses speak for nine in bands of 134, and for
 * three where their bands begin elsewhere. Four in bands of 780, and eight in such bands. */
TEST_LARGE(a_true_layout_read_from_elsewhere_leaves_no_false_one)
{
	surfaces_are(105030, 3.0, false);
	surfaces_are(516061, 4.0, false);
}

/* Five surfaces, of whose curve the one found first was 166 dearer in the log-likelihood than the best one, so that
 * they were out; and two, whose first tracks belong elsewhere. */
TEST_LARGE(what_was_looked_for_from_one_begin_alone_is_no_verdict)
{
	surfaces_are(680034, 5.0, true);
	surfaces_are(680430, 2.0, true);
}

/*
 * An end that is none, seen at the second look behind 57 others, took all that was found since, and the time to find it
 * again (680005, of 19 surfaces that alternate; 680032, of 21). And where making the cache forget takes two seconds
 * each time, 17 surfaces came by only when what the next one holds was told from tracks ahead (680002).
 */
TEST_LARGE(where_reading_again_is_dear_little_is_walked_twice)
{
	surfaces_are(680005, 19.0, true);
	surfaces_are(680032, 21.0, true);
	surfaces_are(680002, 17.0, true);
}

/* Five bands of 765 tracks and three tracks of the next one were seen of eight: what did not come again is not all. */
TEST_LARGE(bands_that_did_not_come_again_are_not_all)
{
	cleanup_run struct sim_run run = geometry_on_wild(514010, "--seed=514010 --time=600s sda", NULL, NULL);

	assert_true(isnan(sim_figure(&run, "arm_surfaces")) || sim_figure(&run, "arm_surfaces") == 8.0);
}

/* Bands of 11 tracks on two surfaces, read from the wrong track on: accesses show where they begin, and else 22
 * surfaces would be all that fits. */
TEST(bands_that_were_misread_leave_no_false_layout)
{
	cleanup_run struct sim_run run = geometry_on_wild(790697, "--seed=790697 sda", NULL, NULL);

	assert_true(sim_figure(&run, "surfaces") == 2.0);
}

/* Two surfaces that differ, and an arm of which the noise hides that it takes longer over more tracks: what is by turns
 * larger and smaller is on two surfaces. */
TEST(two_surfaces_are_told_where_only_sizes_show_them)
{
	surfaces_are(790190, 2.0, true);
}

/* The walk went astray on eight surfaces, and three explain what is in no order at no less cost; accesses agree with
 * them, but no better than with tracks side by side. */
TEST(what_accesses_agree_with_no_better_than_with_no_layout_is_not_likely)
{
	surfaces_are(698449, 8.0, false);
}

/* Two surfaces in bands of 33, which noise hides; no second place was asked, and by the first the arm hardly takes
 * longer over more tracks. */
TEST(what_one_place_hardly_says_is_not_likely)
{
	if (!getenv("PLATTER_LONG"))
		skip(); /* a run of 12 s of a processor; the one before is of its kind */
	surfaces_are(699763, 2.0, false);
}

/* Three surfaces in bands of 81, all alike, with as much skew to the next band as to the next surface: sizes and skews
 * are those of any number, and by chance two were cheaper. They were told, and sure. */
TEST(other_numbers_of_surfaces_are_asked_where_nothing_shows_them)
{
	if (!getenv("PLATTER_LONG"))
		skip(); /* a run of 6 s of a processor; nothing has to be told */
	surfaces_are(790360, 3.0, false);
}

/* Two surfaces in bands of 11, and ten in bands of 386, were out by accesses as their bands were read from a wrong
 * track on, and 22 and 20 were left, which nothing was told of. */
TEST(a_layout_that_was_out_as_it_was_misread_comes_back)
{
	surfaces_are(790541, 10.0, true);
	surfaces_are(790375, 7.0, false); /* itself, and nothing was left */
}

/* Five surfaces in bands of 739, all alike, so that the sequence does not show them; 740 was guessed, and accesses over
 * a few bands suit that as well. The surfaces are told, and the layout was, sure. */
TEST(the_length_of_bands_that_nothing_shows_is_not_told)
{
	cleanup_run struct sim_run run = geometry_on_wild(791919, "--seed=791919 --time=600s sda", NULL, NULL);
	const struct figure *layout = result_find_figure(run.res, "layout");

	assert_true(sim_figure(&run, "surfaces") == 5.0);
	assert_true(!layout->value.str || strstr(layout->value.str, "739"));
}

/* A busy host while the start was looked at, so that no end stood out; the run ended after 18 of 600 seconds. It is
 * quieter later. */
TEST(the_start_is_looked_at_again_where_it_was_disturbed)
{
	surfaces_are(699953, 4.0, true);
}

/* Two arms, each with half of the addresses and a cache of 153 segments: of 256 reads anywhere each arm gets half, and
 * still has what was read before. */
TEST(two_arms_forget_after_twice_as_many_reads)
{
	cleanup_run struct sim_run run = geometry_on_wild(697809, "--seed=697809 --time=600s sda", NULL, NULL);

	print_message("%.6f rpm, %g surfaces of the first arm\n", sim_figure(&run, "rotation_rpm"),
	              sim_figure(&run, "arm_surfaces"));
	assert_false(result_has_notice(run.res, "rotation-cached"));
	assert_true(fabs(sim_figure(&run, "rotation_rpm") / 7221.951092949791 - 1.0) < 1e-6);
	assert_true(sim_figure(&run, "arm_surfaces") == 6.0);
}

/* Two arms in stripes, in noise: of 38 tracks in a place five had ends that were there again, and these were those of
 * stripes. */
TEST(the_few_ends_that_come_again_tell_no_tracks)
{
	cleanup_run struct sim_run end = geometry_on_wild(540041, "--quick --seed=540041 sda", NULL, NULL),
				   middle = geometry_on_wild(545017, "--quick --seed=545017 sda", NULL, NULL);

	assert_true(isnan(sim_figure(&end, "end_sectors_per_track")));
	assert_true(isnan(sim_figure(&middle, "middle_sectors_per_track")));
}

/* If it is told. That one, or a rarer one that was taken for it as noise made them alike, is what is true. */
static size_t hold_skew(const struct sim_run *run, const char *key, double truth)
{
	struct interval ci = result_find_figure(run->res, key)->ci;

	if (isnan(sim_figure(run, key)))
		return 0;
	print_message("%s: %.4f (%.4f .. %.4f), truly %.4f\n", key, sim_figure(run, key), ci.low, ci.high, truth);
	assert_true(ci.low <= truth && truth <= ci.high);
	return 1;
}

/* Of 540115 the usual skew is that of a single track, and of 546060 the one to the next surface, 0.033, was taken for
 * that to the next cylinder, 0.061. */
TEST_LARGE(skews_are_within_what_noise_makes_of_them)
{
	static const uint64_t seeds[] = { 540115, 546060 };
	static const char *const words[] = { "--seed=540115 --time=600s sda", "--seed=546060 sda" };
	size_t told = 0;

	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		cleanup_run struct sim_run run = geometry_on_wild(seeds[i], words[i], NULL, NULL);
		cleanup_profile struct profile p = { 0 };
		struct err err;

		assert_int_equal(profile_wild(&p, seeds[i], NULL, &err), 0);
		told += hold_skew(&run, "cylinder_skew_ratio", p.zones[0].cyl_skew);
		told += hold_skew(&run, "head_skew_ratio", p.zones[0].head_skew);
	}
	assert_true(told >= 2);
}

#define HEADS 20

/* A zone keeps the last 13 tracks of its last cylinder for itself. That is one thing that is odd, not 13. */
TEST(a_zone_of_cylinders_may_lack_its_last_tracks)
{
	struct geo_seg seg[] = { { .size = 110, .tracks = 6, .jump = 0.15 },
		                 { .first = 660, .size = 110, .track = 6, .tracks = 1, .jump = 0.33 },
		                 { .first = 770, .size = 107, .track = 7, .tracks = 20, .jump = 0.15 } };
	struct geo_order o = { .seg = seg, .n = ARRAY_LEN(seg), .tracks = 27, .tol = 0.034 };
	const struct geo_shape shape = { .heads = HEADS, .band = 1 };
	struct geo_parser p = { .o = &o, .shape = &shape };
	struct geo_band band = { .cylinders = 1, .skip = 7, .skip_to = HEADS - 1, .most = INFINITY };
	struct geo_state st = { .jump = { NAN, NAN, NAN }, .other = { NAN, NAN, NAN }, .rest = NAN };
	uint64_t t = 0;

	assert_true(geo_match(&p, &band, &st, &t));
	assert_int_equal(t, 7);
	assert_int_equal(st.left_out, 13);
	print_message("13 tracks without data cost %.1f\n", st.cost);
	assert_true(st.cost < 6.0);
}

/* Two heads that alternate by cylinders, read a track off: bands of two cylinders, which come two by two as well, were
 * told. */
TEST_LARGE(bands_of_two_cylinders_may_be_heads_that_alternate)
{
	cleanup_run struct sim_run run = geometry_on_wild(670274, "--seed=670274 --time=600s sda", NULL, NULL);
	const struct figure *layout = result_find_figure(run.res, "layout");

	assert_true(!layout || !layout->value.str || !strstr(layout->value.str, "bands of 2"));
}
