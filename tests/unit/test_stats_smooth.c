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
		for (size_t i = 0; i < PLACES; i++) {
			at[i] = 0.01 + 0.98 * ((double)i + 0.5) / PLACES;
			weight[i] = 1.0 / PLACES;
			truth += weight[i] * bend * sin(phase + 1.5 * log(at[i]));
			assert_true(smooth_sum(p, POINTS, &at[i], &one, 1, &mean, &se));
			held += fabs(mean - bend * sin(phase + 1.5 * log(at[i]))) < 1.96 * se;
			of++;
		}
		assert_true(smooth_sum(p, POINTS, at, weight, PLACES, &mean, &se));
		means += fabs(mean - truth) < 1.96 * se;
		assert_true(se < 20e3);
	}
	print_message("between the points %zu of %zu, means %zu of %d\n", held, of, means, CURVES);
	assert_true(held * 100 >= of * 90 && held * 1000 <= of * 995);
	assert_true(means * 100 >= (size_t)CURVES * 88);
}

struct drive {
	char name[32];
	double d[SMOOTH_MAX], ms[SMOOTH_MAX];
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

			assert_true(drive->n < SMOOTH_MAX);
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
	double sorted[SMOOTH_MAX], sum = 0.0, most;
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
	double v[SMOOTH_MAX];
	size_t n = 0;

	for (size_t i = 1; i + 1 < p->n; i++) {
		double part = (p->d[i] - p->d[i - 1]) / (p->d[i + 1] - p->d[i - 1]);

		v[n++] = p->ms[i] - (1.0 - part) * p->ms[i - 1] - part * p->ms[i + 1];
	}
	return rms(v, n) / sqrt(1.5);
}

/* Every second distance left out and predicted from the others; the two-piece fit alone misses by more. */
TEST(left_out_distances_of_real_drives_are_met)
{
	cleanup_free struct drive *drives = calloc(8, sizeof(*drives));
	size_t n = read_drives(drives, 8), worse = 0;

	assert_true(n == 6);
	for (size_t k = 0; k < n; k++) {
		const struct drive *p = &drives[k];
		double d[SMOOTH_MAX], ms[SMOOTH_MAX], off[SMOOTH_MAX], trend[SMOOTH_MAX], rough = roughness(p);
		struct smooth_point v[SMOOTH_MAX];
		struct seek_fit fit;
		size_t kept = 0, left = 0;

		for (size_t i = 0; i < p->n; i += 2) {
			d[kept] = p->d[i];
			ms[kept++] = p->ms[i];
		}
		assert_true(fit_seek(d, ms, NULL, kept, &fit));
		for (size_t i = 0; i < kept; i++)
			v[i] = (struct smooth_point){ d[i], ms[i] - seek_fit_at(&fit, d[i]), rough };
		for (size_t i = 1; i + 1 < p->n; i += 2) {
			double more, se;

			assert_true(smooth_sum(v, kept, &p->d[i], &one, 1, &more, &se));
			trend[left] = p->ms[i] - seek_fit_at(&fit, p->d[i]);
			off[left] = trend[left] - more;
			left++;
		}
		print_message("%-12s %zu left out: smooth %.4f, two pieces %.4f, roughness %.4f ms\n", p->name, left,
		              rms(off, left), rms(trend, left), rough);
		worse += rms(trend, left) > 1.5 * rough;
		assert_true(rms(off, left) < 1.5 * rough);
	}
	assert_true(worse >= 3);
}

TEST(hostile_points_are_refused)
{
	struct smooth_point p[5] = { { 1, 0, 1 }, { 2, 1, 1 }, { 3, 0, 1 }, { 4, 1, 1 }, { 4, 1, 1 } };
	double x = 2.5, mean, se;

	assert_false(smooth_sum(p, 3, &x, &one, 1, &mean, &se));
	assert_true(smooth_sum(p, 5, &x, &one, 1, &mean, &se)); /* two at one place */
	assert_true(isfinite(mean) && se > 0.0);
	p[1].y = (double)NAN;
	assert_false(smooth_sum(p, 5, &x, &one, 1, &mean, &se));
	p[1] = (struct smooth_point){ 2, 1, 0 };
	assert_false(smooth_sum(p, 5, &x, &one, 1, &mean, &se));
}
