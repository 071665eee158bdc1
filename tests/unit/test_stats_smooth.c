/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The smooth curve through points: what it says between them, and how sure it is, of made curves and of those of real
 * drives (tests/data/seek-curves). */
#include "test.h"

#include "stats/stats.h"

static const double one = 1.0;

/* Intervals of a bend that no trend took off hold it as often as they say: between the points, and of its mean. */
TEST(intervals_hold_the_curve_between_the_points)
{
	enum { CURVES = 60, POINTS = 24, PLACES = 40 };
	size_t held = 0, of = 0, means = 0;

	for (uint64_t seed = 0; seed < CURVES; seed++) {
		cleanup_free struct smooth *s = NULL;
		struct smooth_point p[POINTS];
		struct rng rng;
		double phase, bend, mean, se, truth = 0.0, at[PLACES], weight[PLACES];

		rng_init(&rng, seed, 1);
		phase = 6.3 * rng_double(&rng);
		bend = 200e3 * rng_double(&rng);
		for (size_t i = 0; i < POINTS; i++) {
			p[i].x = 0.003 * pow(1.0 / 0.003, (double)i / (POINTS - 1));
			p[i].se = 20e3;
			p[i].y = bend * sin(phase + 1.5 * log(p[i].x)) + p[i].se * rng_normal(&rng);
		}
		s = smooth_new(p, POINTS);
		assert_non_null(s);
		for (size_t i = 0; i < PLACES; i++) {
			at[i] = 0.01 + 0.98 * ((double)i + 0.5) / PLACES;
			weight[i] = 1.0 / PLACES;
			truth += weight[i] * bend * sin(phase + 1.5 * log(at[i]));
			mean = smooth_sum(s, &at[i], &one, 1, &se);
			held += fabs(mean - bend * sin(phase + 1.5 * log(at[i]))) < 1.96 * se;
			of++;
		}
		mean = smooth_sum(s, at, weight, PLACES, &se);
		means += fabs(mean - truth) < 1.96 * se;
		assert_true(se < 20e3);
	}
	print_message("between the points %zu of %zu, means %zu of %d\n", held, of, means, CURVES);
	assert_true(held * 100 >= of * 90 && held * 1000 <= of * 995);
	assert_true(means * 100 >= (size_t)CURVES * 88);
}

#define DISTANCES 192
struct drive {
	char name[32];
	double d[DISTANCES], ms[DISTANCES];
	size_t n;
};

static size_t read_drives(struct drive *ret, size_t most)
{
	FILE *f = fopen(TEST_DATA "/seek-curves", "re");
	char line[400];
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *save = NULL, *name = strtok_r(line, " \n", &save);

		if (!name || name[0] == '#')
			continue;
		if (n == 0 || strcmp(ret[n - 1].name, name) != 0) {
			assert_true(n < most);
			(void)snprintf(ret[n++].name, sizeof(ret[0].name), "%s", name);
		}
		for (char *one_of = strtok_r(NULL, " \n", &save); one_of; one_of = strtok_r(NULL, " \n", &save)) {
			struct drive *drive = &ret[n - 1];
			char *end;

			assert_true(drive->n < DISTANCES);
			drive->d[drive->n] = strtod(one_of, &end);
			drive->ms[drive->n++] = strtod(end + 1, NULL) / 1e3;
		}
	}
	(void)fclose(f);
	return n;
}

/* Root of the mean square without gross errors: those beyond ten times the median. */
static double rms(double *v, size_t n)
{
	double sorted[DISTANCES], sum = 0.0, most;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		sorted[i] = fabs(v[i]);
	most = 10.0 * stats_median(sorted, n);
	for (size_t i = 0; i < n; i++)
		if (fabs(v[i]) <= most) {
			sum += v[i] * v[i];
			kept++;
		}
	return sqrt(sum / (double)kept);
}

/* What a curve deviates from the straight lines between its neighbours' points: of independent errors those have 1.5
 * times the variance. */
static double roughness(const struct drive *p)
{
	double v[DISTANCES];
	size_t n = 0;

	for (size_t i = 1; i + 1 < p->n; i++) {
		double part = (p->d[i] - p->d[i - 1]) / (p->d[i + 1] - p->d[i - 1]);

		v[n++] = p->ms[i] - (1.0 - part) * p->ms[i - 1] - part * p->ms[i + 1];
	}
	return rms(v, n) / sqrt(1.5);
}

/* Of 48 distances every second one left out and predicted from the others; two pieces alone miss by more. */
TEST(left_out_distances_of_real_drives_are_met)
{
	cleanup_free struct drive *drives = calloc(8, sizeof(*drives));
	size_t n = read_drives(drives, 8), worse = 0;

	assert_true(n == 6);
	for (size_t k = 0; k < n; k++) {
		const struct drive *p = &drives[k];
		const double rough = roughness(p),
			     step = p->n > 2 * SMOOTH_MAX ? (double)p->n / (2.0 * SMOOTH_MAX) : 1.0;
		double off[DISTANCES], pieces[DISTANCES];
		cleanup_free struct smooth *s = NULL;
		struct smooth_point v[SMOOTH_MAX];
		struct seek_fit fit;
		size_t kept = 0, left = 0;

		for (double i = 0; i < (double)p->n && kept < SMOOTH_MAX; i += 2.0 * step)
			v[kept++] = (struct smooth_point){ p->d[(size_t)i], p->ms[(size_t)i], rough };
		s = smooth_new(v, kept);
		assert_non_null(s);
		assert_true(fit_seek(v, kept, &fit));
		for (double i = step; i < (double)p->n - 1.0; i += 2.0 * step) {
			const double d = p->d[(size_t)i];
			double se;

			off[left] = p->ms[(size_t)i] - smooth_sum(s, &d, &one, 1, &se);
			pieces[left++] = p->ms[(size_t)i] - seek_fit_at(&fit, d);
		}
		print_message("%-12s %zu left out: smooth %.4f, two pieces %.4f, roughness %.4f ms\n", p->name, left,
		              rms(off, left), rms(pieces, left), rough);
		worse += rms(pieces, left) > 1.5 * rough;
		/* Where distances are left out for room as well, as well as half of what two pieces miss. */
		assert_true(rms(off, left) < fmax(1.5 * rough, (step > 1.0) * 0.5 * rms(pieces, left)));
	}
	assert_true(worse >= 3);
}

/* What a point is off the others is known without it, as if there had never been one. */
TEST(a_point_left_out_is_as_if_there_were_none)
{
	struct smooth_point p[12], others[11];
	struct rng rng;

	rng_init(&rng, 5, 5);
	for (size_t i = 0; i < ARRAY_LEN(p); i++) {
		const double x = 0.01 * pow(100.0, (double)i / (ARRAY_LEN(p) - 1.0));

		p[i] = (struct smooth_point){ x, 1e6 + 1e7 * sqrt(x) + 2e4 * rng_normal(&rng), 2e4 };
	}
	p[7].y += 1e6;
	for (size_t i = 0; i < ARRAY_LEN(p); i++) {
		cleanup_free struct smooth *all = smooth_new(p, ARRAY_LEN(p)), *rest = NULL;
		double se, rest_se, mean;

		for (size_t k = 0; k + 1 < ARRAY_LEN(p); k++)
			others[k] = p[k < i ? k : k + 1];
		rest = smooth_new(others, ARRAY_LEN(others));
		assert_non_null(all);
		assert_non_null(rest);
		mean = smooth_left_out(all, i, &se);
		/* How far a curve goes is counted from the deviation of all points, with the wild one or without. */
		assert_true(fabs(mean - smooth_sum(rest, &p[i].x, &one, 1, &rest_se)) < 0.5 * hypot(rest_se, 2e4));
		assert_true(i != 7 || fabs(p[i].y - mean) > 4.0 * se);
		assert_true(i == 7 || fabs(p[i].y - mean) < 4.0 * se);
	}
}

TEST(hostile_points_are_refused)
{
	struct smooth_point p[5] = { { 1, 0, 1 }, { 2, 1, 1 }, { 3, 0, 1 }, { 4, 1, 1 }, { 4, 1, 1 } };
	cleanup_free struct smooth *s = smooth_new(p, 5); /* two at one place */
	double x = 2.5, se;

	assert_null(smooth_new(p, 3));
	assert_non_null(s);
	assert_true(isfinite(smooth_sum(s, &x, &one, 1, &se)) && se > 0.0);
	p[1].y = (double)NAN;
	assert_null(smooth_new(p, 5));
	p[1] = (struct smooth_point){ 2, 1, 0 };
	assert_null(smooth_new(p, 5));
}
