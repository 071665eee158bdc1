/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines, density and seek curves against known truth. */
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
