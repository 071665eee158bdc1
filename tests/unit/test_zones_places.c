/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where `zones` says something is, against the profile: unreadable sectors with their errno, and the edges of recording
 * zones. */
#include "test.h"

#include "zonesrun.h"

/* ---- unreadable sectors ---- */

/* The rows of "unreadable" are the truth's regions to the byte, in order, each with EIO. Returns how many. */
static size_t check_unreadable(const struct sim_run *run, const char *name)
{
	const struct table *t = result_find_table(run->res, "unreadable");
	int col = table_column(t, "errno_name");
	struct truth_region regions[64];
	size_t n = truth_regions(geometry_of(run), regions, 64), nbad = 0;

	for (size_t i = 0; i < n; i++) {
		size_t row = 0;

		if (!regions[i].is_bad)
			continue;
		nbad++;
		while (row < t->nrows && number(t, row, "first_byte") != (double)regions[i].first_byte)
			row++;
		if (row == t->nrows) {
			fail_msg("%s: unreadable %.0f .. %.0f is not listed", name, (double)regions[i].first_byte,
			         (double)regions[i].end_byte - 1);
		}
		assert_true(number(t, row, "last_byte") == (double)regions[i].end_byte - 1);
		assert_string_equal(table_string(t, row, (size_t)col), "EIO");
	}
	assert_int_equal(t->nrows, nbad);
	return nbad;
}

struct near { /* how near the truth rows of the curve are */
	size_t n, off;
	double worst;
};

static void add_curve(struct near *to, const struct sim_run *run)
{
	const struct table *t = result_find_table(run->res, "curve");

	for (size_t r = 0; r < t->nrows; r++) {
		double truth, off;

		if (isnan(number(t, r, "first_byte")))
			continue; /* nothing could be read there */
		truth = truth_rate(geometry_of(run), (uint64_t)number(t, r, "first_byte"),
		                   (uint64_t)number(t, r, "last_byte") + 1);
		off = fabs(number(t, r, "rate_bytes_per_s") / truth - 1.0);
		to->n++;
		to->off += off > 0.003;
		to->worst = fmax(to->worst, off);
	}
}

TEST(reading_all_lists_every_unreadable_sector_and_the_curve_around_is_intact)
{
	const struct profile_limits limits = { .bad_regions = 6, .same_density = true };
	struct near curve = { 0 };
	size_t bad = 0;

	for (uint64_t seed = 1; seed <= runs(20); seed++) {
		cleanup_profile struct profile p = { 0 };
		struct sim_run run;

		if (random_disk(&p, seed, &limits)) {
			run = zones_on(&p, "--full sda");
			assert_int_equal(run.res->status, STATUS_WITH_ERRORS);
			bad += check_unreadable(&run, p.name);
			add_curve(&curve, &run);
			sim_run_end(&run);
		}
	}
	print_message(
		"%zu unreadable regions, all listed; curve: %zu of %zu rows off by more than 0.3 %%, at most %.3f %%\n",
		bad, curve.off, curve.n, 100 * curve.worst);
	assert_true(bad >= 5 * runs(20));
	assert_true(100 * curve.off <= curve.n); /* single readings */
	assert_true(curve.worst < 0.006);
}

/* ---- recording zones ---- */

struct edges {
	size_t n, found; /* all */
	size_t resolvable,
		resolved; /* of which the rates on both sides differ by more than the tool says that it needs */
	size_t said, false_ones;
	double least; /* what it says */
};

static double rate_of(const struct sim_run *run, const struct table *curve, size_t row)
{
	if (row >= curve->nrows)
		return NAN;
	return truth_rate(geometry_of(run), (uint64_t)number(curve, row, "first_byte"),
	                  (uint64_t)number(curve, row, "last_byte") + 1);
}

/* The step at an edge as far as samples can tell: true rates of the nearest places wholly before and wholly behind it.
 */
static double step_at(const struct sim_run *run, double edge)
{
	const struct table *t = result_find_table(run->res, "curve");
	size_t before = t->nrows, behind = t->nrows;

	for (size_t r = 0; r < t->nrows; r++) {
		if (number(t, r, "last_byte") < edge)
			before = r;
		else if (number(t, r, "first_byte") >= edge && behind == t->nrows)
			behind = r;
	}
	return fabs(rate_of(run, t, before) / rate_of(run, t, behind) - 1.0); /* NaN: no place there */
}

static void add_edges(struct edges *to, const struct sim_run *run)
{
	const struct table *bands = result_find_table(run->res, "bands");
	struct truth_zone z[PROFILE_ZONES_MAX];
	size_t n = truth_zones(geometry_of(run), z, PROFILE_ZONES_MAX);
	size_t places = result_find_table(run->res, "curve")->nrows;
	double spacing = (double)geometry_bytes(geometry_of(run)) / (double)(places > 1 ? places - 1 : 1);

	to->least = figure_number(result_find_figure(run->res, "least_step_ratio"));
	for (size_t i = 1; i < n; i++) {
		bool is_found = to_band(bands, (double)z[i].first_byte) <= spacing;

		to->n++;
		to->found += is_found;
		if (!(step_at(run, (double)z[i].first_byte) > to->least))
			continue;
		to->resolvable++;
		to->resolved += is_found;
	}
	for (size_t r = 1; r < bands->nrows; r++) {
		to->said++;
		to->false_ones += to_zone(z, n, number(bands, r, "first_byte")) > spacing;
	}
}

static void print_edges(const struct edges *e, const char *what)
{
	print_message(
		"%s: %zu of %zu edges found; %zu of %zu with a step above %.2f %%; %zu of %zu bands begin at none\n",
		what, e->found, e->n, e->resolved, e->resolvable, 100 * e->least, e->false_ones, e->said);
}

static void edges_of(const char *name, struct edges *ret)
{
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = { 0 };

	*ret = (struct edges){ 0 };
	load(&p, name);
	run = zones_on(&p, "sda");
	add_edges(ret, &run);
	print_edges(ret, name);
}

TEST(every_recording_zone_of_drives_with_equal_surfaces_is_found_within_one_spacing)
{
	static const char *const names[] = { "quantum-fireball-tm2110a",
		                             "ibm-deskstar-60gxp",
		                             "maxtor-diamondmax-80",
		                             "seagate-medalist-st39140a",
		                             "seagate-cheetah-15k7",
		                             "modern-4tb",
		                             "tiny" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct edges edges;

		edges_of(names[i], &edges);
		assert_true(edges.n > 0);
		assert_int_equal(edges.found, edges.n);
		assert_int_equal(edges.false_ones, 0);
		assert_true(edges.least < 0.016); /* less than its steps of 2 % and more */
	}
}

TEST(where_surfaces_differ_bands_begin_where_zones_do)
{
	static const char *const names[] = { "samsung-hd103sj", "toshiba-x300" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct edges edges;

		edges_of(names[i], &edges);
		assert_int_equal(edges.false_ones, 0);
		assert_int_equal(edges.resolved, edges.resolvable);
	}
}

/* Equal surfaces without noise, then unequal ones with it. */
TEST(every_edge_of_random_disks_with_a_step_that_can_be_seen_is_found_within_one_spacing)
{
	for (int is_noisy = 0; is_noisy < 2; is_noisy++) {
		const struct profile_limits limits = { .max_bytes = 100000000000u,
			                               .same_density = !is_noisy,
			                               .jitter_us = is_noisy ? 60 : 0,
			                               .retry_per_gb = is_noisy ? 0.3 : 0 };
		struct edges edges = { 0 };

		for (uint64_t seed = 1; seed <= runs(30); seed++) {
			cleanup_profile struct profile p = { 0 };
			struct sim_run run;

			if (random_disk(&p, seed, &limits)) {
				run = zones_on(&p, "sda");
				add_edges(&edges, &run);
				sim_run_end(&run);
			}
		}
		print_edges(&edges, is_noisy ? "random disks, with noise" : "random disks, equal surfaces");
		assert_true(edges.n > runs(30));
		assert_true(is_noisy || 2 * edges.resolvable > edges.n);
		assert_true(edges.resolvable - edges.resolved <= 1 + edges.resolvable / 1000); /* by chance */
	}
}

/* Requests of the last pass of a run on a profile that loses so many revolutions per GB. */
static double last_request(const char *name, double retry_per_gb, double *ret_used_s)
{
	struct sim_run run;
	double request;
	PROFILE(p, name);

	p.noise.retry_per_gb = retry_per_gb;
	MUST(profile_finish(&p, &err));
	run = zones_on(&p, "sda");
	request = number(result_find_table(run.res, "layouts"), 0, "request_bytes");
	*ret_used_s = figure_number(result_find_figure(run.res, "used_s"));
	sim_run_end(&run);
	return request;
}

TEST(small_requests_make_the_curve_short_where_no_revolutions_get_lost)
{
	static const char *const names[] = { "ibm-deskstar-60gxp", "maxtor-diamondmax-80", "modern-4tb",
		                             "seagate-cheetah-15k7" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double quiet_s, lossy_s, quiet = last_request(names[i], 0.0, &quiet_s);

		double lossy = last_request(names[i], 200.0, &lossy_s);

		print_message("%s: requests of %.0f bytes, %.1f s; with revolutions lost %.0f, %.1f s\n", names[i],
		              quiet, quiet_s, lossy, lossy_s);
		assert_true(quiet < lossy);
		assert_true(quiet_s < 0.7 * lossy_s);
	}
}

#define WILD_SEED 320001
#define WILD      30
#define FAST      50e6 /* bytes/s: from there on */

/* None of these drifts; but the rates along each place change, and surfaces differ. */
TEST(three_places_of_wild_disks_take_three_seconds_and_no_drift_is_told_of_them)
{
	size_t fast = 0, soon = 0;

	for (uint64_t seed = WILD_SEED; seed < WILD_SEED + WILD; seed++) {
		cleanup_run struct sim_run run = { 0 };
		DRAWN(p, seed, NULL);

		run = zones_on(&p, "--zones=start,middle,end sda");
		assert_false(result_has_notice(run.res, "drift"));
		if (sim_figure(&run, "lowest_bytes_per_s") >= FAST) {
			fast++;
			soon += sim_figure(&run, "used_s") <= 3.1;
		}
	}
	print_message("%zu of %zu within three seconds\n", soon, fast);
	assert_true(10 * soon >= 9 * fast);
}

#define OLD_REVS 10.0 /* a rate to begin with takes less, and a megabyte of an old disk more */

/* Nor is the first sample read as long as a quick disk's, nor does the arm go from end to end: places come upward and
 * downward by turns. */
TEST(three_places_of_an_old_disk_begin_soon_and_take_no_long_seeks)
{
	struct profile p;
	struct sim_run run;
	const struct table *samples;
	double before = 0.0;

	load(&p, "maxtor-diamondmax-80");
	run = zones_on(&p, "--zones=start,middle,end sda");
	samples = result_find_table(run.res, "samples");
	assert_true(number(samples, 0, "whole_ns") <
	            OLD_REVS * number(result_find_table(run.res, "layouts"), 0, "rev_ns"));
	for (size_t r = 1; r < samples->nrows; r++) {
		if (strcmp(table_string(samples, r, (size_t)table_column(samples, "kind")), "curve") != 0)
			continue;
		assert_true(fabs(number(samples, r, "position") - before) <= 1.0);
		before = number(samples, r, "position");
	}
	sim_run_end(&run);
	profile_done(&p);
}

#define SLEEP_S 120.0 /* more than a curve may take */

/* So many samples of a disk that begins asleep, or awake; and whether it was said to have slept. */
static size_t samples_of(bool is_asleep, bool *ret_told)
{
	struct sim_run run;
	size_t n;
	PROFILE(p, "modern-4tb");

	p.own.begins_asleep = is_asleep;
	p.own.standby_s = SLEEP_S;
	p.noise.retry_per_gb = RETRY_PER_GB;
	p.noise.jitter_us = JITTER_US;
	run = zones_on(&p, "--seed=1 sda");
	n = result_find_table(run.res, "samples")->nrows;
	*ret_told = result_has_notice(run.res, "spin-up");
	sim_run_end(&run);
	return n;
}

TEST(a_disk_that_slept_is_measured_as_long_as_one_that_did_not)
{
	bool was_awake, was_asleep;
	size_t awake = samples_of(false, &was_awake), asleep = samples_of(true, &was_asleep);

	print_message("%zu samples awake, %zu asleep\n", awake, asleep);
	assert_false(was_awake);
	assert_true(was_asleep);
	assert_int_equal(asleep, awake);
}
