/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What accesses, skews and sizes say of layouts, and what not. */
#include "test.h"

#include "geometryrun.h"
#include "measure/geometry/layout.h"

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
