/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rotation periods and angles against known truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tally.h"

#define SEEDS    500
#define RPM_LOW  3000.0
#define RPM_HIGH 16000.0
#define US       1e-6

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
	char name[100];

	assert_non_null(t);
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		double period = NAN, se = NAN;
		struct interval ci;

		(void)make_events(sc, seed, t);
		(void)fit_period(t, sc->events, 60 / RPM_HIGH, 60 / RPM_LOW, &period, &se);
		ci.low = period - 1.96 * se;
		ci.high = period + 1.96 * se;
		tally_add(&tally, period, ci, truth);
	}
	(void)snprintf(name, sizeof(name), "fit_period %s", what);
	tally_print(&tally, name, truth * 1e-6, "ppm");
	assert_int_equal(tally.failed, 0);
	assert_true(tally.worst < bound_ppm * 1e-6 * truth);
	assert_true(fabs(tally_bias(&tally)) < 0.1 * bound_ppm * 1e-6 * truth);
	assert_true(tally_coverage(&tally) >= 0.93 && tally_coverage(&tally) <= 0.98);
}

static void a_period_is_found_to_10_ppm_at_unusual_speeds(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_scene(&cases[i].sc, cases[i].what, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_period_is_found_to_10_ppm_at_unusual_speeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
