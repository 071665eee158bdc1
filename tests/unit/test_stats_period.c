/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rotation periods and angles against known truth. */
#include "test.h"

#include "tally.h"

#define SEEDS    500
#define RPM_LOW  3000.0
#define RPM_HIGH 16000.0
#define US       1e-6

static bool period_of(const double *t, size_t n, double low, double high, double *ret_period, double *ret_se)
{
	struct period_fit fit = { .period = (double)NAN, .se = (double)NAN };
	bool is_found = fit_period(t, n, low, high, &fit);

	*ret_period = fit.period;
	*ret_se = fit.se;
	return is_found;
}

enum spacing { SPACING_ANY, SPACING_EVERY, SPACING_MOSTLY_TWO, SPACING_COUNT };

struct scene {
	double rpm;
	size_t events;
	enum spacing spacing;
	double noise, tail, late; /* s, s, share of events late by any time */
};

static uint64_t turns_to_next(const struct scene *sc, struct rng *rng)
{
	uint64_t slip = rng_below(rng, 25) == 0 ? 1 + rng_below(rng, 3) : 0; /* late by whole revolutions */

	switch (sc->spacing) {
	case SPACING_EVERY:
		return 1 + slip;
	case SPACING_MOSTLY_TWO:
		return 2 + slip;
	default:
		return 1 + rng_below(rng, 3) + slip;
	}
}

/* Completion times of one sector read again and again. Returns the period. */
static double make_events(const struct scene *sc, uint64_t seed, double *t)
{
	struct rng rng;
	double period = 60 / sc->rpm, start;
	uint64_t turn = 0;

	rng_init(&rng, seed, 1);
	start = 1000 * rng_double(&rng); /* clocks do not start at 0 */
	for (size_t i = 0; i < sc->events; i++) {
		turn += turns_to_next(sc, &rng);
		t[i] = start + (double)turn * period + sc->noise * rng_normal(&rng);
		if (sc->tail > 0 && rng_below(&rng, 4) == 0)
			t[i] += rng_exp(&rng, sc->tail);
		if (rng_double(&rng) < sc->late)
			t[i] += period * rng_double(&rng);
	}
	return period;
}

static void check_scene(const struct scene *sc, const char *what, double bound_ppm)
{
	cleanup_free double *t = malloc(sc->events * sizeof(*t));
	struct tally tally = { 0 };
	double truth = 60 / sc->rpm;

	assert_non_null(t);
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		double period = NAN, se = NAN;
		struct interval ci;

		(void)make_events(sc, seed, t);
		(void)period_of(t, sc->events, 60 / RPM_HIGH, 60 / RPM_LOW, &period, &se);
		ci.low = period - 1.96 * se;
		ci.high = period + 1.96 * se;
		tally_add(&tally, period, ci, truth);
	}
	tally_print(&tally, textf("fit_period %s", what), truth * 1e-6, "ppm");
	assert_int_equal(tally.failed, 0);
	assert_true(tally.worst < bound_ppm * 1e-6 * truth);
	assert_true(fabs(tally_bias(&tally)) < 0.1 * bound_ppm * 1e-6 * truth);
	assert_true(tally_covers(&tally));
}

TEST(a_period_is_found_to_10_ppm_at_unusual_speeds)
{
	static const struct {
		struct scene sc;
		const char *what;
	} cases[] = {
		{ { 3548, 200, SPACING_ANY, 20 * US, 0, 0.05 }, "3548 rpm, 200 events, 5 % anywhere" },
		{ { 5371, 300, SPACING_ANY, 20 * US, 100 * US, 0.05 }, "5371 rpm, 300 events, tails, 5 % anywhere" },
		{ { 7247.1, 300, SPACING_ANY, 20 * US, 100 * US, 0.05 },
		  "7247.1 rpm, 300 events, tails, 5 % anywhere" },
		{ { 15047.7, 500, SPACING_ANY, 20 * US, 50 * US, 0.05 },
		  "15047.7 rpm, 500 events, tails, 5 % anywhere" },
		{ { 7200, 400, SPACING_EVERY, 20 * US, 50 * US, 0.05 }, "7200 rpm, every revolution, slips" },
		{ { 15000, 400, SPACING_MOSTLY_TWO, 20 * US, 50 * US, 0.05 },
		  "15000 rpm, every other revolution, slips" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_scene(&cases[i].sc, cases[i].what, 10);
}

TEST(sixty_events_of_any_speed_are_never_taken_for_another_multiple)
{
	size_t refused = 0;

	for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
		struct rng rng;
		struct scene sc = { 0, 60, SPACING_ANY, seed % 2 ? 80 * US : 10 * US, 0, seed % 4 < 2 ? 0.03 : 0.15 };
		double t[60], truth, period, se;

		rng_init(&rng, seed, 4);
		sc.rpm = RPM_LOW * 1.03 + (RPM_HIGH * 0.99 - RPM_LOW * 1.03) * rng_double(&rng);
		sc.tail = 3 * sc.noise;
		truth = make_events(&sc, seed, t);
		if (period_of(t, ARRAY_LEN(t), 60 / RPM_HIGH, 60 / RPM_LOW, &period, &se))
			assert_true(fabs(period / truth - 1) < 2e-3);
		else
			refused++;
	}
	assert_true(refused <= SEEDS / 100);
}

TEST(noise_without_a_period_is_refused)
{
	struct period_fit fit = { .period = 99, .se = 99 };
	double t[300];

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct rng rng;

		rng_init(&rng, seed, 2);
		for (size_t i = 0; i < ARRAY_LEN(t); i++)
			t[i] = 3 * rng_double(&rng);
		assert_false(fit_period(t, ARRAY_LEN(t), 60 / RPM_HIGH, 60 / RPM_LOW, &fit));
	}
	assert_true(fit.period == 99 && fit.se == 99);
}

TEST(the_full_fit_separates_noise_outliers_and_a_time_on_the_lattice)
{
	const struct scene sc = { 5400, 400, SPACING_ANY, 20 * US, 0, 0.05 };
	struct period_fit f;
	double t[400], truth;
	size_t near = 0;

	truth = make_events(&sc, 5, t);
	assert_true(fit_period(t, ARRAY_LEN(t), 60 / RPM_HIGH, 60 / RPM_LOW, &f));
	assert_true(fabs(f.period / truth - 1) < 5e-6);
	assert_true(f.noise > 15 * US && f.noise < 25 * US);
	assert_in_range(f.outliers, 8, 35);
	assert_int_equal(f.inliers + f.outliers, 400);
	assert_true(f.coherence > 0.9 && f.coherence <= 1);
	assert_true(f.t0 >= t[0] && f.t0 <= t[399] + truth);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		near += fabs(phase_distance(phase_of(t[i], f.t0, f.period), 0)) * truth < 100 * US;
	assert_in_range(near, 400 - 35, 400 - 8);
}

TEST(a_period_is_found_without_noise_and_in_any_order)
{
	double t[200], period, se;

	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		t[i] = 1e9 + 8333333.25 * (double)((i * 67) % ARRAY_LEN(t)); /* ns */
	assert_true(period_of(t, ARRAY_LEN(t), 3.7e6, 20e6, &period, &se));
	assert_true(fabs(period / 8333333.25 - 1) < 1e-9);
}

TEST(a_long_baseline_is_no_harder_than_a_short_one)
{
	enum { N = 4000 };
	cleanup_free double *t = malloc(N * sizeof(*t));
	struct rng rng;
	double turn = 0, period, se;

	assert_non_null(t);
	rng_init(&rng, 9, 9);
	for (size_t i = 0; i < N; i++) {
		turn += 1 + (double)rng_below(&rng, 20);
		if (i == 1000)
			turn += 30000; /* four minutes of something else */
		t[i] = turn * 60 / 7247.1 + 20 * US * rng_normal(&rng);
	}
	assert_true(period_of(t, N, 60 / RPM_HIGH, 60 / RPM_LOW, &period, &se));
	assert_true(fabs(period * 7247.1 / 60 - 1) < 5 * se / period);
	assert_true(se / period < 1e-8 * 10);
}

TEST(hostile_events_are_refused)
{
	double t[50], period, se;

	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		t[i] = 7;
	assert_false(period_of(t, ARRAY_LEN(t), 0.004, 0.02, &period, &se)); /* no time passed */
	assert_false(period_of(NULL, 0, 0.004, 0.02, &period, &se));
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		t[i] = (double)i * 0.008;
	assert_false(period_of(t, 19, 0.004, 0.02, &period, &se));
	assert_false(period_of(t, ARRAY_LEN(t), 0, 0.02, &period, &se));
	assert_false(period_of(t, ARRAY_LEN(t), 0.02, 0.004, &period, &se));
	assert_false(period_of(t, ARRAY_LEN(t), (double)NAN, 0.02, &period, &se));
	assert_false(period_of(t, ARRAY_LEN(t), 0.004, (double)INFINITY, &period, &se));
	t[3] = (double)NAN;
	t[4] = (double)INFINITY;
	assert_true(period_of(t, ARRAY_LEN(t), 0.006, 0.01, &period, &se));
	assert_true(fabs(period / 0.008 - 1) < 1e-6);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		t[i] = (double)NAN;
	assert_false(period_of(t, ARRAY_LEN(t), 0.004, 0.02, &period, &se));
}

TEST(angles_go_round)
{
	assert_true(phase_of(10.25, 10, 1) == 0.25 && phase_of(9.75, 10, 1) == 0.75 && phase_of(10, 10, 1) == 0);
	assert_true(phase_of(10 - 1e-18, 10, 1) == 0);
	assert_true(phase_of(-1e-20, 0, 1) < 1);
	assert_true(fabs(phase_distance(0.1, 0.9) - 0.2) < 1e-12 && fabs(phase_distance(0.9, 0.1) + 0.2) < 1e-12);
	assert_true(phase_distance(0.75, 0.25) == -0.5 && phase_distance(0.25, 0.75) == -0.5);
	assert_true(isnan(phase_of((double)NAN, 0, 1)));
}

/* Twelve sectors in turn, five times; each time is counted from the sector's first answer, and answers stray, some far.
 */
static size_t make_groups(uint64_t seed, double period, double noise, struct period_event *ev, double *when)
{
	size_t n = 0, m = 0;
	struct rng rng;

	rng_init(&rng, seed, 7);
	for (size_t g = 0; g < 12; g++) {
		double first = noise * rng_normal(&rng) + (rng_below(&rng, 10) == 0 ? 10 * noise : 0.0);
		uint64_t turn = 0;

		ev[n++] = (struct period_event){ .at = (double)g * period, .group = g };
		for (size_t i = 0; i < 5; i++) {
			turn += 20 + rng_below(&rng, 7);
			when[m] = (double)turn * period + noise * rng_normal(&rng) - first;
			if (rng_below(&rng, 20) == 0)
				when[m] += period * 0.3 * rng_double(&rng);
			ev[n++] = (struct period_event){ .t = when[m], .at = (double)(turn + g) * period, .group = g };
			m++;
		}
	}
	return n;
}

/* A drive whose cache takes seconds to be emptied: all sectors are read once, and once more much later, so periods that
 * have a revolution more in that time fit nearly as well. */
TEST(events_that_come_in_two_rounds_are_not_taken_for_a_neighbour_of_the_period)
{
	const double period = 8.359e6;
	size_t wrong = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		double when[48];
		struct period_fit fit;
		struct rng rng;

		rng_init(&rng, seed, 8);
		for (size_t i = 0; i < ARRAY_LEN(when); i++) {
			double about = i % 2 ? 7.25e9 + 0.4e9 * rng_double(&rng) : 15.0e9 + 0.5e9 * rng_double(&rng);

			when[i] = rint(about / period) * period + 30e3 * rng_normal(&rng);
		}
		wrong += !fit_period(when, ARRAY_LEN(when), 2.8e6, 18.5e6, &fit) ||
		         fabs(fit.period / period - 1.0) > 20e-6;
	}
	print_message("wrong: %zu\n", wrong);
	assert_int_equal(wrong, 0);
}

/* Sixty sectors, three times, by one clock; for a fourteenth to a third of the time, once, the host is busy, and of its
 * answers half are late. */
static size_t make_busy_groups(uint64_t seed, double period, struct period_event *ev)
{
	double from, to, first[60] = { 0.0 }, turn = 0.0;
	const size_t sectors = ARRAY_LEN(first);
	struct rng rng;

	rng_init(&rng, seed, 9);
	from = 300.0 * rng_double(&rng);
	to = from + 20.0 + 80.0 * rng_double(&rng);
	for (size_t i = 0; i < 3 * sectors; i++) {
		double late = 35e3 * rng_normal(&rng);

		turn += 1.0 + (double)rng_below(&rng, 2);
		if (turn > from && turn < to && rng_below(&rng, 2))
			late += rng_exp(&rng, 160e3);
		if (i < sectors)
			first[i] = turn * period + late;
		ev[i % sectors * 3 + i / sectors] = (struct period_event){
			.t = turn * period + late - first[i % sectors], .at = turn * period, .group = i % sectors
		};
	}
	return 3 * sectors;
}

TEST(answers_that_are_late_in_bursts_make_the_interval_of_the_period_wide)
{
	const double period = 11.131e6;
	size_t held = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct period_event ev[180];
		struct period_fit fit = { .period = period * (1.0 + 1e-5), .se = 0.0 };
		size_t n = make_busy_groups(seed, period, ev);

		refine_period(ev, n, &fit);
		held += fabs(fit.period - period) < 1.96 * fit.se;
	}
	print_message("of %u: %zu within the interval\n", SEEDS, held);
	assert_true(held * 100 > SEEDS * 85);
}

TEST(the_period_of_many_sectors_is_closer_when_each_has_its_phase_and_its_interval_is_honest)
{
	const double period = 8.333e6;
	size_t held = 0, held_before = 0, closer = 0, n = 0;
	double width = 0.0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct period_event ev[72];
		struct period_fit fit;
		double when[60], before;
		size_t all = make_groups(seed, period, 40e3, ev, when);

		if (!fit_period(when, ARRAY_LEN(when), 2.8e6, 18.5e6, &fit) || fabs(fit.period / period - 1.0) > 0.01)
			continue;
		n++;
		before = fabs(fit.period - period);
		held_before += before < 1.96 * fit.se;
		refine_period(ev, all, &fit);
		held += fabs(fit.period - period) < 1.96 * fit.se;
		closer += fabs(fit.period - period) < before;
		width += 1.96 * fit.se / period;
	}
	print_message("of %zu: %zu within the interval, %zu before; %zu closer; half width %.1f ppm\n", n, held,
	              held_before, closer, 1e6 * width / (double)n);
	assert_true(n * 10 > SEEDS * 9);
	assert_in_range(held * 1000 / n, 915, 985);
	assert_true(closer * 2 > n);
}
