/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every estimator on short series of special values: for the sanitizers, and for what it says afterwards. */
#include "test.h"

#include "tally.h"

#define N_MAX  48
#define ROUNDS TALLY_SEEDS(20000)

static const double specials[] = {
	0,
	-0.0,
	1,
	-1,
	1e-320,
	1e300,
	-1e300,
	5,
	5,
	5,
	0.5,
	2,
	1e9,
	3,
	7,
	(double)NAN,
	(double)INFINITY,
	-(double)INFINITY,
	1e-9,
	0.008,
};

/* Special values with something ordinary between them, sometimes rising. */
static void fill(struct rng *rng, double *x, size_t n)
{
	uint64_t share = 1 + rng_below(rng, 6);
	bool is_rising = rng_below(rng, 2);

	for (size_t i = 0; i < n; i++) {
		x[i] = (is_rising ? (double)i : 10) + rng_double(rng);
		if (rng_below(rng, share) == 0)
			x[i] = specials[rng_below(rng, ARRAY_LEN(specials))];
	}
}

/* Not known, or in order. */
static bool is_sane(struct interval ci)
{
	return isnan(ci.low) || isnan(ci.high) || ci.low <= ci.high;
}

TEST(samples_may_hold_anything)
{
	double x[N_MAX], y[N_MAX];
	struct rng rng;

	rng_init(&rng, 1, 1);
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = rng_below(&rng, N_MAX + 1), finite;
		struct summary s;

		fill(&rng, x, n);
		memcpy(y, x, n * sizeof(*x));
		finite = stats_keep_finite(y, n);
		if (summary_of(x, n, &s)) {
			assert_int_equal(s.n, finite);
			assert_true(s.min <= s.median && s.median <= s.max && is_sane(s.mean_ci));
		} else {
			assert_int_equal(finite, 0);
		}
		assert_true(is_sane(stats_batch_means_ci(x, n)));
		stats_sort(x, n);
		assert_true(is_sane(stats_quantile_ci_sorted(x, n, 0.5)));
		(void)stats_ks_uniform_sorted(x, finite, NULL);
	}
}

TEST(fits_may_be_given_anything)
{
	double x[N_MAX], y[N_MAX], w[N_MAX];
	struct smooth_point point[N_MAX];
	struct rng rng;

	rng_init(&rng, 2, 2);
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = rng_below(&rng, N_MAX + 1);
		struct density_fit density;
		struct seek_fit seek;
		struct line line;

		fill(&rng, x, n);
		fill(&rng, y, n);
		fill(&rng, w, n);
		if (fit_line(x, y, w, n, &line))
			assert_true(line.rms >= 0 || isnan(line.rms));
		if (fit_density(x, y, n, &density))
			assert_true(density.r0 > 0 && density.r >= 0);
		if (round % 4 == 0) { /* without order or sense */
			for (size_t i = 0; i < n; i++)
				point[i] = (struct smooth_point){ x[i], y[i], w[i] };
			if (fit_seek(point, n, &seek))
				(void)seek_fit_at(&seek, 1);
			free(smooth_new(point, n));
		}
	}
}

TEST(rotation_may_be_looked_for_in_anything)
{
	double x[N_MAX];
	struct rng rng;

	rng_init(&rng, 3, 3);
	for (int round = 0; round < ROUNDS / 10; round++) {
		size_t n = rng_below(&rng, N_MAX + 1);
		struct period_event ev[N_MAX];
		struct period_fit period = { .period = 1.0, .se = 0.1 };

		fill(&rng, x, n);
		if (fit_period(x, n, 0.3, 3, &period))
			assert_true(period.period > 0.29 && period.period < 3.01 && period.se >= 0);
		/* two of a group, some at one time */
		for (size_t i = 0; i < n / 2 * 2; i++)
			ev[i] = (struct period_event){ .t = isfinite(x[i]) ? x[i] : 0.0,
				                       .at = round % 2 ? 5.0 : (double)i,
				                       .group = i / 2 };
		refine_period(ev, n / 2 * 2, &period);
		assert_true(isfinite(period.period) && period.se >= 0);
	}
}

TEST(figures_may_be_anything)
{
	struct rng rng;
	double x[6];

	rng_init(&rng, 5, 5);
	for (int round = 0; round < ROUNDS; round++) {
		fill(&rng, x, ARRAY_LEN(x));
		if (round % 100 == 0) {
			(void)stats_t_975(x[0]);
			(void)stats_t_cdf(x[0], x[1]);
			(void)stats_beta_cdf(x[0], x[1], x[2]);
		}
	}
}
