/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `zones` on drives behind USB storage: the host cuts what is larger than 120 KiB, and one piece is under way at a
 * time. Between two requests a drive may lose a revolution, and a request that is a little larger than a piece ends in
 * one that is very small.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "measure/zones/zones.h"
#include "wild.h"
#include "zonesrun.h"

#define PIECE_BYTES (120u << 10)

#define SEEDS       30
#define FASTER      1.03 /* than in requests that are cut; of the places' intervals few are wider */
#define FASTER_MIN  8    /* of the drives: so many of these thirty lose revolutions to small pieces */
#define SLOWER_MOST 0.005

/* The mean of a drawn drive behind such a bridge, and how large a request was. */
static double mean_of(uint64_t seed, uint64_t reported_bytes, double *ret_request)
{
	struct err err = { 0 };
	struct profile p;
	struct sim_run run;
	double mean;

	assert_int_equal(profile_wild(&p, seed, "bridge", &err), 0);
	p.bridge_bytes = PIECE_BYTES;
	p.reported_request_bytes = reported_bytes;
	assert_int_equal(profile_finish(&p, &err), 0);
	run = zones_seeded(&p, seed);
	mean = figure_number(result_find_figure(run.res, "mean_bytes_per_s"));
	*ret_request = number(result_find_table(run.res, "layouts"), 0, "request_bytes");
	sim_run_end(&run);
	profile_done(&p);
	return mean;
}

static void requests_are_whole_pieces_and_lose_fewer_revolutions_at_their_ends(void **state)
{
	size_t nfaster = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= TALLY_SEEDS(SEEDS); seed++) {
		double cut_request, request, cut = mean_of(seed, 0, &cut_request),
					     known = mean_of(seed, PIECE_BYTES, &request);

		print_message("drive %d: %.3f MB/s in requests of %.0f KiB, %.3f in %.0f\n", (int)seed, cut / 1e6,
		              cut_request / 1024, known / 1e6, request / 1024);
		assert_true(fmod(request, PIECE_BYTES) == 0.0 || request <= PIECE_BYTES);
		assert_true(known > (1.0 - SLOWER_MOST) * cut);
		nfaster += known > FASTER * cut;
	}
	assert_true(nfaster >= TALLY_SEEDS(FASTER_MIN));
}

/* A bridge through which tracks of some lengths lose more revolutions than others, of a disk with one surface: rates
 * rise for long and fall again, which surfaces do not make. */
static void what_rises_for_long_is_not_of_surfaces(void **state)
{
	struct sim_run run;

	(void)state;
	run = zones_on_wild(661298, NULL);
	assert_false(result_has_notice(run.res, "surfaces"));
	sim_run_end(&run);
}

/* Where the last band is small and was read several times, what is unread about its edge lies behind the disk's end. */
static void an_edge_near_the_end_is_not_looked_for_behind_it(void **state)
{
	struct sim_run run;

	(void)state;
	run = zones_on_wild(140496, NULL); /* which fails where a read is not of the plan */
	assert_true(isfinite(sim_figure(&run, "mean_bytes_per_s")));
	sim_run_end(&run);
}

#define REV_NS     8e6
#define REQUESTS   480
#define REQUEST_NS 4e6 /* without a track's end in it, ... */
#define SKEW_NS    1e6 /* ... and what one takes */
#define QUICK      6   /* one request in so many has none */
#define LOSES      24  /* one in so many loses a revolution, and none of the quick ones */
#define LOSE_AT    10
#define LATE_NS    8.5e6 /* by which the host sees one late, but none behind it */

static void fill_done(struct zone_done *d, bool loses)
{
	double t = 0.0;

	for (size_t i = 0; i < REQUESTS; i++) {
		t += i % QUICK ? REQUEST_NS + SKEW_NS : REQUEST_NS;
		t += loses && i % LOSES == LOSE_AT ? REV_NS : 0.0;
		d[i] = (struct zone_done){ t, (double)(i + 1) * PIECE_BYTES };
	}
	for (size_t i = LOSE_AT; !loses && i + 1 < REQUESTS; i += LOSES) {
		d[i].t_ns += LATE_NS;
		d[i + 1].t_ns = fmax(d[i + 1].t_ns, d[i].t_ns + 1e3);
	}
}

/* Requests with a track's end less are rare, and a revolution that was lost before them is lost all the same; what the
 * host sees late is not. */
static void quick_requests_do_not_make_up_for_a_lost_revolution(void **state)
{
	struct zone_done d[REQUESTS];
	uint32_t waits, revs;

	(void)state;
	fill_done(d, true);
	zone_estimate_waits(d, REQUESTS, REV_NS, &waits, &revs);
	assert_int_equal(waits, REQUESTS / LOSES);
	assert_int_equal(revs, REQUESTS / LOSES);
	fill_done(d, false);
	zone_estimate_waits(d, REQUESTS, REV_NS, &waits, &revs);
	assert_int_equal(waits, 0);
}

struct drive {
	uint64_t seed;
	const char *class; /* NULL: any */
};

/* So many of the drives are measured, and nothing is counted on any. */
static void none_on(const struct drive *drives, size_t n, size_t (*count)(const struct sim_run *run))
{
	for (size_t i = 0; i < n; i++) {
		struct sim_run run;

		run = zones_on_wild(drives[i].seed, drives[i].class);
		assert_int_equal(count(&run), 0);
		sim_run_end(&run);
	}
}

static size_t slow_regions(const struct sim_run *run)
{
	return result_find_table(run->res, "slow_regions")->nrows;
}

/* Bands that begin farther from any zone than places lie apart, and than they say themselves. */
static size_t false_bands(const struct sim_run *run)
{
	const struct table *bands = result_find_table(run->res, "bands");
	const struct geometry *g = geometry_of(run);
	struct truth_zone z[PROFILE_ZONES_MAX];
	size_t n = truth_zones(g, z, PROFILE_ZONES_MAX), ret = 0;
	double spacing = (double)geometry_bytes(g) / (double)(result_find_table(run->res, "curve")->nrows - 1);

	for (size_t r = 1; r < bands->nrows; r++) {
		double nearest = INFINITY;

		for (size_t i = 1; i < n; i++)
			nearest = fmin(nearest, fabs((double)z[i].first_byte - number(bands, r, "first_byte")));
		ret += nearest > spacing + number(bands, r, "edge_half_bytes");
	}
	return ret;
}

/* Where all but the last zones come at the interface's pace hardly a sample differs from the others; those behind do,
 * by whole revolutions. */
static void bands_behind_what_the_interface_limits_are_held_against_their_own_scatter(void **state)
{
	static const struct drive drives[] = { { 140496, NULL }, { 160052, "bridge" } };

	(void)state;
	none_on(drives, TALLY_DRIVES(ARRAY_LEN(drives)), false_bands);
}

/*
 * Some places are faster than those before them, as surfaces differ: a step down from one to the next may be of
 * surfaces as well, and where a zone ends is known no better.
 */
static void a_step_between_surfaces_is_no_recording_zone(void **state)
{
	static const struct drive drives[] = { { 100232, NULL }, { 431041, "trimmed" } };

	(void)state;
	none_on(drives, TALLY_DRIVES(ARRAY_LEN(drives)), false_bands);
}

static size_t told_surfaces(const struct sim_run *run)
{
	return result_has_notice(run->res, "surfaces");
}

/*
 * All surfaces are alike on these; a revolution that was lost in two parts is not taken off, but leaves its sample far
 * less even than others. On the last one rates rise by a fifth, and go up and down in steps of a hundredth: what is
 * lost at the ends of its pieces.
 */
static void what_the_way_to_the_disk_loses_is_no_surface_that_differs(void **state)
{
	static const struct drive drives[] = {
		{ 140328, NULL }, { 210033, "old-ide" }, { 210042, "bridge" }, { 330155, NULL }
	};

	(void)state;
	none_on(drives, TALLY_DRIVES(ARRAY_LEN(drives)), told_surfaces);
}

/* Two thirds of the disk are not stored: the places that are left have even samples enough, though they are fewer than
 * all places. */
static void of_a_part_of_the_disk_surfaces_show_in_even_samples_too(void **state)
{
	static const struct drive drives[] = { { 652122, NULL } };

	(void)state;
	none_on(drives, ARRAY_LEN(drives), told_surfaces);
}

/* Spare sectors and recalibrations: of some ten waits in the whole run, each of several revolutions, a few lie close
 * together. */
static void a_few_waits_close_together_are_chance(void **state)
{
	static const struct drive drives[] = {
		{ 122078, NULL }, { 210042, "old-scsi" }, { 160066, "old-scsi" }, { 200236, NULL }
	};

	(void)state;
	none_on(drives, TALLY_DRIVES(ARRAY_LEN(drives)), slow_regions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_rises_for_long_is_not_of_surfaces),
		cmocka_unit_test(requests_are_whole_pieces_and_lose_fewer_revolutions_at_their_ends),
		cmocka_unit_test(an_edge_near_the_end_is_not_looked_for_behind_it),
		cmocka_unit_test(quick_requests_do_not_make_up_for_a_lost_revolution),
		cmocka_unit_test(bands_behind_what_the_interface_limits_are_held_against_their_own_scatter),
		cmocka_unit_test(a_step_between_surfaces_is_no_recording_zone),
		cmocka_unit_test(what_the_way_to_the_disk_loses_is_no_surface_that_differs),
		cmocka_unit_test(of_a_part_of_the_disk_surfaces_show_in_even_samples_too),
		cmocka_unit_test(a_few_waits_close_together_are_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
