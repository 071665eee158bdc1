/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines, density, seek curves, change points, drift and knees against known truth. */
#include "test.h"

#include "tally.h"

#define SEEDS 500

static struct interval about(double middle, double half)
{
	struct interval ci = { middle - half, middle + half };

	return ci;
}

/* ---- line ---- */

TEST(a_line_is_found_with_honest_errors)
{
	struct tally a = { 0 }, b = { 0 };
	double x[30], y[30], w[30], t = stats_t_975(28);

	for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
		struct rng rng;
		struct line l;

		rng_init(&rng, seed, 1);
		for (size_t i = 0; i < ARRAY_LEN(x); i++) {
			double sigma = 0.5 + rng_double(&rng);

			x[i] = 1e6 + 10 * rng_double(&rng);
			w[i] = 1 / (sigma * sigma);
			y[i] = 7 - 3 * (x[i] - 1e6) + sigma * rng_normal(&rng);
		}
		assert_true(fit_line(x, y, w, ARRAY_LEN(x), &l));
		tally_add(&b, l.b, about(l.b, t * l.b_se), -3);
		tally_add(&a, l.a, about(l.a, t * l.a_se), 7 + 3e6);
	}
	tally_print(&a, "fit_line intercept, weighted", 1, "");
	tally_print(&b, "fit_line slope, weighted", 1, "");
	assert_true(tally_covers(&a));
	assert_true(tally_covers(&b));
	assert_true(fabs(tally_bias(&b)) < 0.02);
}

TEST(degenerate_lines_are_refused)
{
	const double same[] = { 5, 5, 5 }, x[] = { 1, 2, (double)NAN }, y[] = { 3, 5, 1 }, none[] = { 0, 0, 0 };
	struct line l = { .a = 99 };

	assert_false(fit_line(same, y, NULL, 3, &l));
	assert_false(fit_line(x, y, none, 3, &l));
	assert_false(fit_line(x, y, NULL, 1, &l));
	assert_false(fit_line(NULL, NULL, NULL, 0, &l));
	assert_true(l.a == 99);
	assert_true(fit_line(x, y, NULL, 3, &l)); /* the NaN is left out */
	assert_true(is_near(l.a, 1, 1e-12) && is_near(l.b, 2, 1e-12) && l.rms < 1e-12 && isnan(l.b_se));
}

/* ---- density ---- */

TEST(constant_density_is_found_through_slow_regions)
{
	struct tally r0 = { 0 }, r = { 0 };
	double x[64], rate[64];

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const struct density_fit truth = { .r0 = 180e6, .r = 0.52 };
		struct density_fit f;
		struct rng rng;

		rng_init(&rng, seed, 2);
		for (size_t i = 0; i < ARRAY_LEN(x); i++) {
			x[i] = (double)i / (ARRAY_LEN(x) - 1);
			rate[i] = density_rate(&truth, x[i]) * (1 + 0.01 * rng_normal(&rng));
			if (rng_below(&rng, 20) == 0)
				rate[i] *= rng_double(&rng);
		}
		assert_true(fit_density(x, rate, ARRAY_LEN(x), &f));
		tally_add(&r0, f.r0 / truth.r0, about(NAN, NAN), 1);
		tally_add(&r, f.r, about(NAN, NAN), truth.r);
	}
	tally_print(&r0, "fit_density r0 / truth, 64 positions, 5 % slow", 1, "");
	tally_print(&r, "fit_density end-to-start ratio", 1, "");
	assert_true(fabs(tally_bias(&r0)) < 1e-3 && tally_rms(&r0) < 0.005);
	assert_true(fabs(tally_bias(&r)) < 1e-3 && tally_rms(&r) < 0.005);
}

TEST(exact_density_curves_are_met_exactly)
{
	static const double ratios[] = { 1, 0.5, 0.1, 0, 1.2 };
	double x[20], rate[20], bad[] = { 0, -1, (double)NAN };
	struct density_fit f;

	for (size_t k = 0; k < ARRAY_LEN(ratios); k++) {
		const struct density_fit truth = { .r0 = 40e6, .r = ratios[k] };

		for (size_t i = 0; i < ARRAY_LEN(x); i++) {
			x[i] = (double)i / 20;
			rate[i] = density_rate(&truth, x[i]);
		}
		assert_true(fit_density(x, rate, ARRAY_LEN(x), &f));
		assert_true(is_near(f.r0, truth.r0, 1e-6) && fabs(f.r - truth.r) < 1e-3 && f.rms_ratio < 1e-6);
	}
	assert_false(fit_density(x, bad, 3, &f));
	assert_false(fit_density(x, rate, 1, &f));
	assert_false(fit_density(NULL, NULL, 0, &f));
}

/* ---- seek ---- */

static double two_pieces(double d, double a, double b, double e, double knee)
{
	return a + b * sqrt(fmin(d, knee)) + e * fmax(d - knee, 0.0);
}

TEST(a_seek_curve_is_found_with_its_knee_and_honest_intervals)
{
	enum { RUNS = 300 };
	const double a = 0.9, b = 12.0, e = 6.0, knee = 0.2, c = a + b * sqrt(knee) - e * knee;
	const double truths[] = { a, b, c, e, knee };
	struct tally t[ARRAY_LEN(truths)] = { { 0 } };
	struct smooth_point p[40];

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		struct seek_fit f;
		struct rng rng;

		rng_init(&rng, seed, 3);
		for (size_t i = 0; i < ARRAY_LEN(p); i++) {
			p[i].se = 0.02 + 0.04 * rng_double(&rng);
			p[i].x = 0.003 * pow(1.0 / 0.003, (double)i / (ARRAY_LEN(p) - 1));
			p[i].y = two_pieces(p[i].x, a, b, e, knee) + p[i].se * rng_normal(&rng);
		}
		assert_true(fit_seek(p, ARRAY_LEN(p), &f));
		assert_true(isfinite(f.knee.value) && f.misfit == 0.0);
		tally_add(&t[0], f.a.value, f.a.ci, a);
		tally_add(&t[1], f.b.value, f.b.ci, b);
		tally_add(&t[2], f.c.value, f.c.ci, c);
		tally_add(&t[3], f.e.value, f.e.ci, e);
		tally_add(&t[4], f.knee.value, f.knee.ci, knee);
	}
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		tally_print(&t[i], "fit_seek: a, b, c, e, knee, 40 distances", 1, "");
		assert_true(tally_covers(&t[i]));
	}
}

/* Two of the nearest are nearly one: what they differ by is chance, and no slope. */
TEST(a_seek_curve_does_not_begin_beyond_what_was_seen)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		static const double d[9] = { 0.01, 0.01 + 1e-6, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1 };
		struct smooth_point p[ARRAY_LEN(d)];
		double most = 0;
		struct seek_fit f;
		struct rng rng;

		rng_init(&rng, seed, 11);
		for (size_t i = 0; i < ARRAY_LEN(d); i++) {
			p[i] = (struct smooth_point){ d[i], 1 + 5 * sqrt(d[i]) + 0.3 * rng_normal(&rng), 0.3 };
			most = fmax(most, p[i].y);
		}
		assert_true(fit_seek(p, ARRAY_LEN(d), &f));
		assert_true(fabs(seek_fit_at(&f, 0)) <= most);
	}
}

TEST(exact_seek_curves_are_met_exactly_with_a_knee_or_none)
{
	static const double knees[] = { INFINITY, 0.25, 0.031 };

	for (size_t k = 0; k < ARRAY_LEN(knees); k++) {
		struct smooth_point p[60];
		struct seek_fit f;

		for (size_t i = 0; i < ARRAY_LEN(p); i++) {
			p[i] = (struct smooth_point){ 0.001 + pow((double)i / ARRAY_LEN(p), 2), 0, 1e-3 };
			p[i].y = isinf(knees[k]) ? 1 + 9 * sqrt(p[i].x) : two_pieces(p[i].x, 1, 9, 4, knees[k]);
		}
		assert_true(fit_seek(p, ARRAY_LEN(p), &f));
		for (size_t i = 0; i < ARRAY_LEN(p); i++)
			assert_true(fabs(seek_fit_at(&f, p[i].x) - p[i].y) < 1e-3);
		assert_true(isinf(knees[k]) == isinf(f.knee.value));
	}
}

TEST(few_or_hostile_distances_give_what_they_can)
{
	const struct smooth_point few[] = { { 1, 1.01, 0.01 }, { 100, 1.1, 0.01 }, { 10000, 2, 0.01 } },
				  same[] = { { 7, 1, 1 }, { 7, 2, 1 }, { 7, 3, 1 } };
	struct seek_fit f = { .misfit = 99 };

	assert_false(fit_seek(few, 0, &f));
	assert_false(fit_seek(few, 2, &f));
	assert_false(fit_seek(same, 3, &f));
	assert_true(f.misfit == 99);
	assert_true(fit_seek(few, 3, &f));
	assert_true(isinf(f.knee.value) && is_near(f.b.value, 0.01, 1e-6) && is_near(f.a.value, 1, 1e-6));
}

/* ---- segments ---- */

TEST(stairs_are_found_with_edges_within_one_sample)
{
	/* zones of unequal length, steps of 4 deviations and more, some slow places */
	static const size_t starts[] = { 0, 9, 17, 30, 45, 52, 64 };
	static const double levels[] = { 180, 172, 160, 150, 128, 120 };
	double y[64];
	size_t found[64], wrong_count = 0, off = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct rng rng;
		size_t n, slow = 0;

		rng_init(&rng, seed, 4);
		for (size_t k = 0; k + 1 < ARRAY_LEN(starts); k++)
			for (size_t i = starts[k]; i < starts[k + 1]; i++)
				y[i] = levels[k] + 1.5 * rng_normal(&rng);
		while (slow < 2) {
			y[5 + 50 * slow + rng_below(&rng, 8)] *= 0.6;
			slow++;
		}
		n = fit_segments(y, ARRAY_LEN(y), 0, 3, found, ARRAY_LEN(found));
		if (n != ARRAY_LEN(starts) - 1) {
			wrong_count++;
			continue;
		}
		for (size_t k = 0; k < n; k++)
			off += found[k] > starts[k] + 1 || found[k] + 1 < starts[k];
	}
	printf("fit_segments stairs of 6 zones, 64 values: wrong number of zones %.3f, edges off by more than one %.4f\n",
	       (double)wrong_count / SEEDS, (double)off / SEEDS / 6);
	assert_true(wrong_count <= SEEDS / 50);
	assert_true(off <= SEEDS * 6 / 200);
}

TEST(series_without_change_get_none)
{
	static const size_t sizes[] = { 8, 16, 32, 64, 128, 256 };
	double y[256];
	size_t found[16];

	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		size_t estimated = 0, known = 0, slow = 0, runs = sizes[k] > 100 ? 500 : 1000;

		for (uint64_t seed = 0; seed < runs; seed++) {
			struct rng rng;

			rng_init(&rng, seed, 5 + k);
			for (size_t i = 0; i < sizes[k]; i++)
				y[i] = 100 + rng_normal(&rng);
			estimated += fit_segments(y, sizes[k], 0, 2, found, ARRAY_LEN(found)) > 1;
			known += fit_segments(y, sizes[k], 1, 2, found, ARRAY_LEN(found)) > 1;
			y[sizes[k] / 3] = 40;
			if (sizes[k] > 20)
				y[sizes[k] / 3 + 9] = 80;
			slow += fit_segments(y, sizes[k], 0, 2, found, ARRAY_LEN(found)) > 1;
		}
		printf("fit_segments no change, n %3zu: false %.4f, with known sigma %.4f, with slow places %.4f\n",
		       sizes[k], (double)estimated / (double)runs, (double)known / (double)runs,
		       (double)slow / (double)runs);
		assert_true(estimated * 100 <= runs && known * 100 <= runs);
		assert_true(slow * 50 <= runs);
	}
}

static double rest_of(const double *y, size_t from, size_t to)
{
	double mean = 0, rest = 0;

	for (size_t i = from; i < to; i++)
		mean += y[i] / (double)(to - from);
	for (size_t i = from; i < to; i++)
		rest += (y[i] - mean) * (y[i] - mean);
	return rest;
}

TEST(no_edge_fits_better_anywhere_else)
{
	enum { N = 150, MIN_LEN = 3 };
	double y[N];
	size_t start[N + 1];

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct rng rng;
		double level = 100;
		size_t n;

		rng_init(&rng, seed, 11);
		for (size_t i = 0; i < N; i++) {
			if (rng_below(&rng, 12) == 0)
				level += 8 * rng_normal(&rng);
			y[i] = level + fmax(-2.4, fmin(2.4, rng_normal(&rng))); /* no outliers to replace */
		}
		n = fit_segments(y, N, 4, MIN_LEN, start, N);
		start[n] = N;
		for (size_t k = 1; k < n; k++) {
			double here = rest_of(y, start[k - 1], start[k]) + rest_of(y, start[k], start[k + 1]);

			assert_true(start[k] >= start[k - 1] + MIN_LEN && start[k] + MIN_LEN <= start[k + 1]);
			for (size_t e = start[k - 1] + MIN_LEN; e + MIN_LEN <= start[k + 1]; e++)
				assert_true(here <= rest_of(y, start[k - 1], e) + rest_of(y, e, start[k + 1]) + 1e-6);
		}
	}
}

TEST(a_hundred_thousand_values_are_cut_in_a_moment)
{
	enum { N = 100000 };
	cleanup_free double *y = malloc(N * sizeof(*y));
	static const size_t edges[] = { 0, 20000, 20050, 47000, 90000 };
	size_t found[64], n;
	struct rng rng;

	assert_non_null(y);
	rng_init(&rng, 12, 12);
	for (size_t i = 0; i < N; i++) {
		size_t k = 0;

		while (k + 1 < ARRAY_LEN(edges) && i >= edges[k + 1])
			k++;
		y[i] = 200 - 2 * (double)k + rng_normal(&rng);
	}
	n = fit_segments(y, N, 0, 8, found, ARRAY_LEN(found));
	assert_int_equal(n, ARRAY_LEN(edges));
	for (size_t k = 0; k < n; k++)
		assert_true(fabs((double)found[k] - (double)edges[k]) <= 4);
	for (size_t i = 0; i < N; i++)
		y[i] = 100 + rng_normal(&rng);
	assert_int_equal(fit_segments(y, N, 0, 8, found, ARRAY_LEN(found)), 1);
}

TEST(exact_stairs_are_found_exactly)
{
	double y[40];
	size_t found[40];

	for (size_t i = 0; i < ARRAY_LEN(y); i++)
		y[i] = i < 13 ? 200e6 : i < 27 ? 170e6 : 120e6;
	assert_int_equal(fit_segments(y, ARRAY_LEN(y), 0, 2, found, 40), 3);
	assert_true(found[0] == 0 && found[1] == 13 && found[2] == 27);
	assert_int_equal(fit_segments(y, ARRAY_LEN(y), 0, 2, found, 2), 2); /* no more than asked for */
	assert_int_equal(fit_segments(y, 13, 0, 1, found, 40), 1);
}

TEST(hostile_series_are_one_segment)
{
	double y[30], zero[30] = { 0 };
	size_t found[8];

	for (size_t i = 0; i < ARRAY_LEN(y); i++)
		y[i] = i % 7 == 3 ? (double)NAN : 5;
	assert_int_equal(fit_segments(y, ARRAY_LEN(y), 0, 3, found, 8), 1);
	assert_int_equal(fit_segments(zero, ARRAY_LEN(zero), 0, 3, found, 8), 1);
	assert_int_equal(fit_segments(zero, 1, 0, 3, found, 8), 1);
	assert_int_equal(fit_segments(zero, 0, 0, 3, found, 8), 0);
	for (size_t i = 0; i < ARRAY_LEN(y); i++)
		y[i] = (double)NAN;
	assert_int_equal(fit_segments(y, ARRAY_LEN(y), 0, 1, found, 8), 1);
	y[3] = (double)INFINITY;
	assert_int_equal(fit_segments(y, ARRAY_LEN(y), 0, 0, found, 8), 1);
}

/* ---- drift ---- */

/* ---- knee ---- */
