/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Seek times from access times: bias and coverage of the lower edge, alone and over many distances. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "tally.h"

#define MS        1.0
#define REV       (60e3 / 7200) /* ms */
#define DISTANCES 8
#define N_MAX     200
#define BIAS_MAX  (TALLY_SHARE > 1 ? 0.04 : 0.02) /* ms */

struct scene {
	size_t n;
	double sigma;    /* ms */
	double outliers; /* share: cache hits, and retries that come late */
};

static double truth_of(size_t k)
{
	return 0.8 + 0.9 * sqrt((double)k);
}

static void make_accesses(const struct scene *sc, double seek, struct rng *rng, double *x)
{
	for (size_t i = 0; i < sc->n; i++) {
		x[i] = seek + REV * rng_double(rng) + sc->sigma * rng_normal(rng);
		if (rng_double(rng) < sc->outliers)
			x[i] = rng_double(rng) < 0.3 ? 0.15 : x[i] + rng_exp(rng, REV);
	}
}

/* Fits DISTANCES together in each of `seeds` runs. */
static void run_scene(const struct scene *sc, uint64_t seeds, struct tally *edge, struct tally *mean)
{
	static double x[DISTANCES][N_MAX];
	struct edge_sample set[DISTANCES];
	struct edge_fit fit[DISTANCES];
	char name[100];

	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct rng rng;

		rng_init(&rng, seed, sc->n);
		for (size_t k = 0; k < DISTANCES; k++) {
			make_accesses(sc, truth_of(k), &rng, x[k]);
			set[k] = (struct edge_sample){ x[k], sc->n };
		}
		assert_int_equal(fit_lower_edges(set, DISTANCES, REV, fit), DISTANCES);
		for (size_t k = 0; k < DISTANCES; k++) {
			tally_add(edge, fit[k].edge, fit[k].edge_ci, truth_of(k));
			tally_add(mean, fit[k].mean_edge, fit[k].mean_ci, truth_of(k));
		}
	}
	(void)snprintf(name, sizeof(name), "fit_lower_edges n %zu sigma %g ms outliers %g", sc->n, sc->sigma,
	               sc->outliers);
	tally_print(edge, name, MS, "ms");
	tally_print(mean, "  mean - T/2 of the same", MS, "ms");
}

static void sixty_reads_give_a_seek_time_without_bias_and_an_honest_interval(void **state)
{
	static const struct scene scenes[] = {
		{ 60, 0.05, 0 }, { 60, 0.1, 0 }, { 60, 0.2, 0 }, { 60, 0.05, 0.02 }, { 200, 0.1, 0.02 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		struct tally edge = { 0 }, mean = { 0 };

		run_scene(&scenes[i], TALLY_SEEDS(scenes[i].n > 100 ? 25 : 65), &edge, &mean);
		assert_true(fabs(tally_bias(&edge)) < BIAS_MAX);
		assert_true(tally_covers(&edge));
		/* the reason for all this: at least twice as sharp as the mean */
		assert_true(2 * tally_rms(&edge) < tally_rms(&mean));
	}
}

static void noise_far_below_the_spacing_makes_intervals_wide_but_never_wrong(void **state)
{
	static const struct scene sc = { 60, 0.002, 0 };
	struct tally edge = { 0 }, mean = { 0 };

	(void)state;
	run_scene(&sc, TALLY_SEEDS(50), &edge, &mean);
	assert_true(fabs(tally_bias(&edge)) < BIAS_MAX);
	assert_true(tally_is_covered(&edge));
	assert_true(edge.width / (double)edge.width_n < 0.2);
}

static void one_distance_alone_covers_with_known_and_with_unknown_noise(void **state)
{
	static const double sigmas[] = { 0.02, 0.1, 0.3 };
	double x[60];

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(sigmas); k++) {
		const struct scene sc = { ARRAY_LEN(x), sigmas[k], 0 };
		struct tally known = { 0 }, unknown = { 0 };
		struct edge_fit fit;
		char name[100];

		for (uint64_t seed = 0; seed < TALLY_SEEDS(300); seed++) {
			struct rng rng;

			rng_init(&rng, seed, 7);
			make_accesses(&sc, 3.7, &rng, x);
			assert_true(fit_lower_edge(x, ARRAY_LEN(x), REV, sigmas[k], &fit));
			tally_add(&known, fit.edge, fit.edge_ci, 3.7);
			assert_true(fit_lower_edge(x, ARRAY_LEN(x), REV, 0, &fit));
			tally_add(&unknown, fit.edge, fit.edge_ci, 3.7);
		}
		(void)snprintf(name, sizeof(name), "fit_lower_edge n 60 sigma %g known", sigmas[k]);
		tally_print(&known, name, MS, "ms");
		(void)snprintf(name, sizeof(name), "fit_lower_edge n 60 sigma %g unknown", sigmas[k]);
		tally_print(&unknown, name, MS, "ms");
		assert_true(tally_covers(&known));
		assert_true(tally_is_covered(&unknown));
		assert_true(fabs(tally_bias(&known)) < BIAS_MAX && fabs(tally_bias(&unknown)) < BIAS_MAX);
	}
}

/* A drive whose requests come in step with the rotation: waits are not uniform, and the mean is wrong by half of the rest. */
static void the_two_estimates_disagree_when_waits_are_not_uniform_and_only_then(void **state)
{
	double x[200];
	struct edge_fit fit;
	struct rng rng;
	int agreed = 0;

	(void)state;
	for (uint64_t seed = 0; seed < TALLY_SEEDS(200); seed++) {
		const struct scene sc = { 100, 0.05, 0.01 };

		rng_init(&rng, seed, 8);
		make_accesses(&sc, 2, &rng, x);
		assert_true(fit_lower_edge(x, sc.n, REV, 0.05, &fit));
		agreed += fit.agree;
	}
	assert_true(agreed >= TALLY_SEEDS(192));
	rng_init(&rng, 1, 9);
	for (size_t i = 0; i < ARRAY_LEN(x); i++)
		x[i] = 2 + REV * pow(rng_double(&rng), 2) + 0.05 * rng_normal(&rng);
	assert_true(fit_lower_edge(x, ARRAY_LEN(x), REV, 0.05, &fit));
	assert_false(fit.agree);
	assert_true(fabs(fit.edge - 2) < 0.15);
}

static void outliers_are_counted(void **state)
{
	const struct scene sc = { 100, 0.05, 0 };
	struct edge_fit fit;
	double x[100];
	struct rng rng;

	(void)state;
	rng_init(&rng, 3, 3);
	make_accesses(&sc, 5, &rng, x);
	x[10] = x[20] = 0.1;
	x[30] = 300;
	x[40] = (double)NAN;
	assert_true(fit_lower_edge(x, ARRAY_LEN(x), REV, 0, &fit));
	assert_int_equal(fit.n, 99);
	assert_int_equal(fit.outliers, 3);
	assert_true(fabs(fit.edge - 5) < 0.3 && fabs(fit.mean_edge - 5) < 1);
}

static void hostile_samples_are_refused_or_survived(void **state)
{
	double same[20], nothing[6] = { (double)NAN, (double)INFINITY, 1, 2, 3, (double)NAN };
	const struct edge_sample sets[] = { { same, 20 }, { nothing, 6 }, { NULL, 0 } };
	struct edge_fit fit[3], untouched = { .n = 77 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		same[i] = 4;
	assert_false(fit_lower_edge(NULL, 0, REV, 0, &untouched));
	assert_false(fit_lower_edge(nothing, 6, REV, 0, &untouched));
	assert_false(fit_lower_edge(same, 20, 0, 0, &untouched));
	assert_false(fit_lower_edge(same, 20, (double)NAN, 0, &untouched));
	assert_int_equal(untouched.n, 77);
	/* a constant: anywhere in the revolution before it */
	assert_true(fit_lower_edge(same, 20, REV, 0, fit));
	assert_true(fit->edge_ci.low >= 4 - REV - 1 && fit->edge_ci.high <= 5);
	assert_int_equal(fit_lower_edges(sets, 3, REV, fit), 1);
	assert_int_equal(fit[0].n, 20);
	assert_int_equal(fit[1].n, 0);
	assert_true(isnan(fit[2].edge));
	assert_int_equal(fit_lower_edges(NULL, 0, REV, fit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sixty_reads_give_a_seek_time_without_bias_and_an_honest_interval),
		cmocka_unit_test(noise_far_below_the_spacing_makes_intervals_wide_but_never_wrong),
		cmocka_unit_test(one_distance_alone_covers_with_known_and_with_unknown_noise),
		cmocka_unit_test(the_two_estimates_disagree_when_waits_are_not_uniform_and_only_then),
		cmocka_unit_test(outliers_are_counted),
		cmocka_unit_test(hostile_samples_are_refused_or_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
