/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Summaries, distributions and intervals: table values, hand-made cases, coverage over many seeds. */
#include "test.h"

#include <float.h>

#include "queue_laws.h"
#include "tally.h"

#define SEEDS 500

TEST(students_t_agrees_with_the_tables)
{
	/* Abramowitz and Stegun, table 26.10; R's qt for the last ones */
	static const struct {
		double df, t;
	} table[] = {
		{ 1, 12.7062047361747 }, { 2, 4.30265272974946 },  { 3, 3.18244630528371 },  { 4, 2.77644510519779 },
		{ 5, 2.57058183661474 }, { 7, 2.36462425159278 },  { 10, 2.22813885198627 }, { 15, 2.13144954555978 },
		{ 20, 2.0859634472658 }, { 30, 2.04227245630124 }, { 60, 2.00029782201426 }, { 120, 1.97993040508244 },
		{ 1e9, 1.959963985 },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_true(is_near(stats_t_975(table[i].df), table[i].t, 1e-9));
	for (double df = 0.5; df < 300; df *= 1.13)
		assert_true(is_near(stats_t_cdf(stats_t_975(df), df), 0.975, 1e-12));
	assert_true(isnan(stats_t_975(0)));
	assert_true(isnan(stats_t_975(-1)));
	assert_true(isnan(stats_t_975((double)NAN)));
	assert_true(is_near(stats_t_975((double)INFINITY), 1.959963984540054, 1e-15));
}

/* Against all distances of two, sorted. */
TEST(qn_is_the_same_without_keeping_all_distances)
{
	static const double few[] = { 0, 0, 0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872 };
	double x[60], apart[ARRAY_LEN(x) * ARRAY_LEN(x) / 2];
	struct rng rng;

	rng_init(&rng, 4, 4);
	for (size_t n = 2; n <= ARRAY_LEN(x); n++) {
		size_t h = n / 2 + 1, pairs = 0;
		double factor = n < ARRAY_LEN(few) ? few[n] : (double)n / ((double)n + (n % 2 ? 1.4 : 3.8));

		for (size_t i = 0; i < n; i++)
			x[i] = n % 3 ? rng_normal(&rng) : (double)rng_below(&rng, 4);
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < i; k++)
				apart[pairs++] = fabs(x[i] - x[k]);
		stats_sort(apart, pairs);
		assert_true(stats_qn(x, n) == 2.2219 * factor * apart[h * (h - 1) / 2 - 1]);
	}
	x[7] = (double)NAN;
	assert_true(isfinite(stats_qn(x, 20)) && isnan(stats_qn(x + 7, 2)));
}

TEST(distribution_functions_agree_with_closed_forms)
{
	assert_true(is_near(stats_normal_cdf(1.959963984540054), 0.975, 1e-15));
	assert_true(is_near(stats_normal_cdf(-6), 9.865876450376946e-10, 1e-12));
	for (double x = 0.05; x < 1; x += 0.1) {
		assert_true(is_near(stats_beta_cdf(x, 1, 1), x, 1e-13));
		assert_true(is_near(stats_beta_cdf(x, 3, 1), x * x * x, 1e-12));
		assert_true(is_near(stats_beta_cdf(x, 0.5, 0.5), 2 / M_PI * asin(sqrt(x)), 1e-12));
	}
}

TEST(the_binomial_law_is_the_sum_of_its_terms)
{
	for (uint64_t n = 1; n <= 40; n += 3) {
		for (double p = 0.05; p < 1; p += 0.15) {
			double sum = 0, term = pow(1 - p, (double)n);

			for (uint64_t k = 0; k < n; k++) {
				sum += term;
				assert_true(is_near(stats_binomial_cdf(k, n, p), sum, 1e-10));
				term *= (double)(n - k) / (double)(k + 1) * p / (1 - p);
			}
			assert_true(stats_binomial_cdf(n, n, p) == 1);
		}
	}
	/* a million tosses: normal to four digits */
	assert_true(fabs(stats_binomial_cdf(500000, 1000000, 0.5) - 0.5004) < 1e-4);
	assert_true(stats_binomial_cdf(0, 10, 0) == 1);
	assert_true(isnan(stats_binomial_cdf(1, 10, 2)));
}

TEST(a_summary_is_what_it_says)
{
	const double x[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
	struct summary s;

	assert_true(summary_of(x, ARRAY_LEN(x), &s));
	assert_int_equal(s.n, 8);
	assert_true(s.mean == 3.875 && s.min == 1 && s.max == 9 && s.median == 3.5 && s.mad == 2);
	assert_true(is_near(s.stddev, 2.748376143938713, 1e-12));
	assert_true(is_near(s.mean_ci.high - s.mean, 2.3646242515927 * 2.748376143938713 / sqrt(8), 1e-10));
	assert_true(is_near(s.mean - s.mean_ci.low, s.mean_ci.high - s.mean, 1e-10));
}

TEST(a_large_mean_costs_no_digits)
{
	double x[1000];
	struct summary s;

	for (size_t i = 0; i < ARRAY_LEN(x); i++)
		x[i] = 1e15 + (double)(i % 2);
	assert_true(summary_of(x, ARRAY_LEN(x), &s));
	assert_true(is_near(s.stddev, 0.5 * sqrt(1000.0 / 999), 1e-6));
}

TEST(what_is_not_finite_is_left_out_of_a_summary)
{
	const double x[] = { (double)NAN, 1, (double)INFINITY, 2, -(double)INFINITY, 3 },
		     bad[] = { (double)NAN, (double)INFINITY };
	struct summary s = { .n = 99 };

	assert_false(summary_of(bad, 2, &s));
	assert_false(summary_of(x, 0, &s));
	assert_false(summary_of(NULL, 0, &s));
	assert_int_equal(s.n, 99);
	assert_true(summary_of(x, ARRAY_LEN(x), &s));
	assert_int_equal(s.n, 3);
	assert_true(s.mean == 2 && s.median == 2 && s.min == 1 && s.max == 3);
	assert_true(summary_of(x + 1, 1, &s));
	assert_true(s.mean == 1 && isnan(s.stddev) && isnan(s.mean_ci.low));
}

TEST(the_median_by_selection_is_the_median_by_sorting)
{
	double x[200], y[200];
	struct rng rng;

	rng_init(&rng, 5, 5);
	for (int round = 0; round < 500; round++) {
		size_t n = 1 + rng_below(&rng, ARRAY_LEN(x));
		uint64_t values = 1 + rng_below(&rng, 300);

		for (size_t i = 0; i < n; i++)
			x[i] = y[i] = (double)rng_below(&rng, values);
		stats_sort(y, n);
		assert_true(stats_median(x, n) == stats_quantile_sorted(y, n, 0.5));
		stats_sort(x, n); /* nothing was lost */
		assert_memory_equal(x, y, n * sizeof(*x));
	}
	assert_true(isnan(stats_median(x, 0)));
	x[0] = (double)NAN;
	x[1] = 7;
	assert_true(stats_median(x, 2) == 7);
	assert_true(isnan(stats_median(x + 1, 1)) || stats_median(x, 1) == 7);
}

TEST(quantiles_interpolate)
{
	const double x[] = { 10, 20, 40 };

	assert_true(stats_quantile_sorted(x, 3, 0) == 10);
	assert_true(stats_quantile_sorted(x, 3, 0.25) == 15);
	assert_true(stats_quantile_sorted(x, 3, 0.5) == 20);
	assert_true(stats_quantile_sorted(x, 3, 1) == 40);
	assert_true(stats_quantile_sorted(x, 3, 2) == 40);
	assert_true(isnan(stats_quantile_sorted(x, 0, 0.5)));
	assert_true(isnan(stats_quantile_sorted(x, 3, (double)NAN)));
}

TEST(the_harmonic_mean_gives_the_published_diskmarks)
{
	static const double triples[][4] = {
		{ 21.1767, 84.8112, 5.69863, 12.7935 },
		{ 18.992, 88.1581, 8.42493, 16.4211 },
		{ 26.1328, 104.531, 10.8981, 21.4913 },
	};
	const double zero[] = { 1, 0 };

	for (size_t i = 0; i < ARRAY_LEN(triples); i++)
		assert_true(is_near(stats_harmonic_mean(triples[i], 3), triples[i][3], 5e-6));
	assert_true(isnan(stats_harmonic_mean(zero, 2)));
	assert_true(isnan(stats_harmonic_mean(zero, 0)));
}

TEST(kolmogorov_smirnov_agrees_with_tables_and_rejects_five_percent)
{
	double x[100], p, last = 1;
	int rejected = 0;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct rng rng;

		rng_init(&rng, seed, 21);
		for (size_t i = 0; i < ARRAY_LEN(x); i++)
			x[i] = rng_double(&rng);
		stats_sort(x, ARRAY_LEN(x));
		(void)stats_ks_uniform_sorted(x, ARRAY_LEN(x), &p);
		rejected += p < 0.05;
	}
	assert_in_range(rejected, 75, 125);
	/* critical value of n = 20 at 5 %: 0.29408 (Miller 1956); middle of cells but for a shift of it */
	for (size_t i = 0; i < 20; i++)
		x[i] = fmin(1, ((double)i + 1) / 20 + 0.29408 - 0.05);
	assert_true(fabs(stats_ks_uniform_sorted(x, 20, &p) - 0.29408) < 1e-9);
	assert_true(fabs(p - 0.05) < 0.002);
	/* p falls with the distance, also where the series change over */
	for (double d = 0.01; d < 0.9; d += 0.005) {
		x[0] = 1 - d;
		for (size_t i = 0; i < 40; i++)
			x[i] = fmin(1, d + (double)i / 40);
		(void)stats_ks_uniform_sorted(x, 40, &p);
		assert_true(p >= 0 && p <= last + 1e-12);
		last = p;
	}
	assert_true(isnan(stats_ks_uniform_sorted(x, 0, &p)) && isnan(p));
}

TEST(order_statistic_intervals_of_quantiles_cover)
{
	static const struct {
		size_t n;
		double q;
	} cases[] = { { 9, 0.5 }, { 20, 0.5 }, { 101, 0.5 }, { 100, 0.95 }, { 1000, 0.99 }, { 400, 0.1 } };
	static double x[1000];

	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		double truth = -log1p(-cases[c].q);
		struct tally t = { 0 };

		for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
			struct rng rng;

			rng_init(&rng, seed, 31 + c);
			for (size_t i = 0; i < cases[c].n; i++)
				x[i] = rng_exp(&rng, 1);
			stats_sort(x, cases[c].n);
			tally_add(&t, stats_quantile_sorted(x, cases[c].n, cases[c].q),
			          stats_quantile_ci_sorted(x, cases[c].n, cases[c].q), truth);
		}
		tally_print(&t, textf("stats_quantile_ci n %zu q %g", cases[c].n, cases[c].q), 1, "");
		assert_true(tally_is_covered(&t)); /* of few values by more */
	}
	assert_true(isnan(stats_quantile_ci_sorted(x, 5, 0.5).low)); /* 2 * 2^-5 > 5 % */
	assert_false(isnan(stats_quantile_ci_sorted(x, 6, 0.5).low));
	assert_true(isnan(stats_quantile_ci_sorted(x, 300, 0.99).low)); /* 0.99^300 > 2.5 % */
	assert_true(isnan(stats_quantile_ci_sorted(x, 0, 0.5).low));
	assert_true(isnan(stats_quantile_ci_sorted(x, 10, 1).low));
	assert_true(isnan(stats_quantile_ci_sorted(x, 10, (double)NAN).low));
}

/* A series about `level` with deviation `spread`: normal, exponential or autocorrelated. */
enum noise { NOISE_NORMAL, NOISE_SKEWED, NOISE_CORRELATED, NOISE_SPIKES };
static const char *const noise_names[] = { "normal", "skewed (exponential)", "autocorrelated (0.7)",
	                                   "normal, 3 % spikes" };

static void make_series(enum noise noise, double level, double spread, uint64_t seed, double *x, size_t n)
{
	struct rng rng;
	double v = 0;

	rng_init(&rng, seed, 41 + noise);
	v = rng_normal(&rng);
	for (size_t i = 0; i < n; i++) {
		switch (noise) {
		case NOISE_SKEWED:
			v = rng_exp(&rng, 1) - 1;
			break;
		case NOISE_CORRELATED:
			v = 0.7 * v + sqrt(1 - 0.49) * rng_normal(&rng);
			break;
		case NOISE_SPIKES:
			v = rng_normal(&rng) + (rng_below(&rng, 100) < 3 ? 30 * rng_double(&rng) : 0);
			break;
		default:
			v = rng_normal(&rng);
		}
		x[i] = level + spread * v;
	}
}

TEST(batch_means_cover_with_and_without_autocorrelation)
{
	static const size_t sizes[] = { 50, 200, 2000 };
	static double x[2000];

	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		for (enum noise noise = NOISE_NORMAL; noise <= NOISE_CORRELATED; noise++) {
			struct tally t = { 0 };

			for (uint64_t seed = 0; seed < SEEDS; seed++) {
				struct interval ci;

				make_series(noise, 100, 10, seed, x, sizes[k]);
				ci = stats_batch_means_ci(x, sizes[k]);
				tally_add(&t, (ci.low + ci.high) / 2, ci, 100);
			}
			tally_print(&t, textf("stats_batch_means_ci n %zu %s", sizes[k], noise_names[noise]), 1, "");
			/* 50 values of which neighbours correlate 0.7 are worth 9: nobody covers well then */
			assert_true(sizes[k] > 50 ? tally_covers(&t) : tally_coverage(&t) >= 0.9);
		}
	}
}

TEST(stopping_at_a_precision_leaves_intervals_honest)
{
	enum { N = 18000 };
	static const struct {
		enum noise noise;
		double spread, precision;
		size_t longest; /* more is never needed */
	} cases[] = {
		{ NOISE_NORMAL, 5, 0.01, 1000 },      { NOISE_NORMAL, 30, 0.02, 9000 },
		{ NOISE_SKEWED, 30, 0.03, 4000 },     { NOISE_SKEWED, 100, 0.05, 14000 },
		{ NOISE_CORRELATED, 10, 0.02, 5000 }, { NOISE_CORRELATED, 10, 0.01, N },
		{ NOISE_NORMAL, 1, 0.03, 200 },
	};
	cleanup_free double *x = malloc(N * sizeof(*x));

	assert_non_null(x);
	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		struct tally t = { 0 };
		double needed = 0;

		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct interval ci;
			struct stop stop;
			size_t n = 0;

			make_series(cases[c].noise, 100, cases[c].spread, seed, x, cases[c].longest);
			stop_init(&stop, cases[c].precision, 40);
			while (n < cases[c].longest && !stop_check(&stop, x, n))
				n++;
			assert_true(stop.is_reached);
			assert_true(stop_check(&stop, x, n));
			ci = stats_batch_means_ci(x, n);
			assert_true(interval_half(ci) <= cases[c].precision * (ci.low + ci.high) / 2.0);
			tally_add(&t, (ci.low + ci.high) / 2.0, ci, 100);
			needed += (double)n / SEEDS;
		}
		tally_print(&t,
		            textf("stop %g %% spread %g %s n %.0f", 100 * cases[c].precision, cases[c].spread,
		                  noise_names[cases[c].noise], needed),
		            1, "");
		assert_true(tally_covers(&t));
	}
}

TEST(hostile_series_give_no_interval_instead_of_a_wrong_one)
{
	double bad[] = { (double)NAN, (double)INFINITY, (double)NAN }, same[50];
	struct stop stop;
	struct rng rng;

	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		same[i] = 5;
	rng_init(&rng, 1, 1);
	assert_true(isnan(stats_batch_means_ci(bad, 3).low));
	assert_true(isnan(stats_batch_means_ci(NULL, 0).low));
	assert_true(isnan(stats_batch_means_ci(same, 1).low));
	assert_true(stats_batch_means_ci(same, 50).low == 5 && stats_batch_means_ci(same, 50).high == 5);
	stop_init(&stop, 0.01, 40);
	assert_false(stop_check(&stop, same, 39));
	assert_false(stop_check(&stop, same, 40)); /* one narrow look is not enough */
	assert_false(stop_check(&stop, same, 50));
	assert_true(stop.next_n == 51);
}

/* 5 of 10: 0.2366 to 0.7634 (Wilson 1927, in every textbook since); none of 20: up to z^2 / (n + z^2). */
TEST(a_share_has_wilsons_interval)
{
	struct interval half = stats_share_ci(5, 10), none = stats_share_ci(0, 20), all = stats_share_ci(20, 20);

	assert_true(fabs(half.low - 0.2366) < 1e-4 && fabs(half.high - 0.7634) < 1e-4);
	assert_true(none.low == 0.0 && fabs(none.high - 3.8416 / 23.8416) < 1e-12);
	assert_true(all.high == 1.0 && fabs(all.low - (1.0 - none.high)) < 1e-12);
	assert_true(isnan(stats_share_ci(0, 0).low) && isnan(stats_share_ci(0, 0).high));
}

/* tests/data/random-reads: how many there are of a run. */
static size_t read_run(const char *run, double *ret, size_t most)
{
	FILE *f = fopen(TEST_DATA "/random-reads", "re");
	char line[400];
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *save = NULL, *name = strtok_r(line, " \n", &save), *word;

		while (name && strcmp(name, run) == 0 && n < most && (word = strtok_r(NULL, " \n", &save)))
			ret[n++] = strtod(word, NULL);
	}
	(void)fclose(f);
	return n;
}

/* The estimator of a span's mean without a curve: what it says of one run of a real drive, another one has to bear out.
 */
TEST(reads_of_a_real_drive_give_the_mean_of_its_next_run)
{
	enum { READS = 1000, PART = 50 };
	double one[READS], two[READS];
	struct summary first, second;
	struct interval ci;
	size_t held = 0;

	assert_int_equal(read_run("run-1", one, READS), READS);
	assert_int_equal(read_run("run-2", two, READS), READS);
	assert_true(summary_of(one, READS, &first) && summary_of(two, READS, &second));
	ci = stats_batch_means_ci(one, READS);
	print_message("%.2f .. %.2f ms, the other run %.2f\n", ci.low, ci.high, second.mean);
	assert_true(ci.low <= second.mean && second.mean <= ci.high);
	assert_true(ci.high - ci.low < 0.05 * first.mean);
	for (size_t i = 0; i < READS; i += PART) {
		ci = stats_batch_means_ci(one + i, PART);
		held += ci.low <= second.mean && second.mean <= ci.high;
	}
	print_message("%zu of 20 parts of fifty reads hold it\n", held);
	assert_in_range(held, 17, 20);
}

/* Where the truth lies beside the estimate that has these two sides: on either as often, by half of a normal law. */
static double truth_beside(struct rng *rng, double below, double above)
{
	double z = rng_normal(rng) / 1.96;

	return z < 0 ? z * below : z * above;
}

TEST(intervals_of_unequal_sides_hold_for_sum_difference_and_ratio)
{
	static const double above[] = { 0.2, 1, 5, 20 }; /* times what lies below */
	static const double size[] = { 0.3, 1, 3 };

	for (size_t i = 0; i < ARRAY_LEN(above) * ARRAY_LEN(above) * ARRAY_LEN(size); i++) {
		double a_up = above[i % ARRAY_LEN(above)], b_up = above[i / ARRAY_LEN(above) % ARRAY_LEN(above)];
		double unit = size[i / ARRAY_LEN(above) / ARRAY_LEN(above)];
		struct stats_estimate a = { 1000, { 1000 - 1, 1000 + a_up } },
				      b = { 700, { 700 - unit, 700 + unit * b_up } };
		struct stats_estimate sum = stats_sum(a, b), off = stats_difference(a, b), ratio = stats_ratio(a, b);
		size_t held[3] = { 0 }, n = 4000;
		struct rng rng;

		rng_init(&rng, 7, i);
		for (size_t k = 0; k < n; k++) {
			double x = a.value + truth_beside(&rng, 1, a_up),
			       y = b.value + truth_beside(&rng, unit, unit * b_up);

			held[0] += x + y >= sum.ci.low && x + y <= sum.ci.high;
			held[1] += x - y >= off.ci.low && x - y <= off.ci.high;
			held[2] += x / y >= ratio.ci.low && x / y <= ratio.ci.high;
		}
		for (size_t k = 0; k < 3; k++)
			assert_true((double)held[k] >= 0.915 * (double)n);
	}
}

TEST(what_is_taken_off_puts_its_upper_side_below)
{
	struct stats_estimate a = { 10, { 9, 11 } }, one_sided = { 1, { 1, 4 } }, none = STATS_UNKNOWN, off;

	off = stats_difference(a, one_sided);
	assert_true(off.value == 9 && is_near(off.ci.low, 9 - sqrt(10), 1e-12) && is_near(off.ci.high, 10, 1e-12));
	off = stats_times(one_sided, -2);
	assert_true(off.value == -2 && off.ci.low == -8 && off.ci.high == -2);
	assert_true(isnan(stats_sum(a, none).value) && isnan(stats_difference(a, none).ci.low));
}
