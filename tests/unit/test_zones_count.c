/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many recording zones `zones` says that a disk has: exactly, at least, or nothing where there may be any number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "measure/zones/zones.h"
#include "zonesrun.h"

#define INTERFACE 300e6
#define BAND      1000000000ull
#define LEAST     0.01

/* Of these rates in MB/s, each a gigabyte wide. */
static struct zone_bands bands_of(struct zone_band *v, const double *mb, size_t n)
{
	for (size_t k = 0; k < n; k++)
		v[k] = (struct zone_band){ .first_bytes = k * BAND,
			                   .end_bytes = (k + 1) * BAND,
			                   .y = log(1e9 / (mb[k] * 1e6)) };
	return (struct zone_bands){ .v = v, .n = n, .least_step = LEAST };
}

static bool may_hide(const double *mb, size_t n)
{
	struct zone_band v[8];
	struct zone_bands b = bands_of(v, mb, n);

	return zone_bands_may_hide(&b);
}

static void a_step_of_two_may_hide_a_zone(void **state)
{
	static const double even[] = { 100, 94, 87, 81, 74, 68, 61 }, lacks_one[] = { 100, 94, 87, 74, 68, 61 },
			    rises[] = { 100, 94, 87, 98, 92, 86 }, close[] = { 100, 94, 87, 86.5, 80 },
			    few[] = { 100, 94, 87 };

	(void)state;
	assert_false(may_hide(even, ARRAY_LEN(even)));
	assert_true(may_hide(lacks_one, ARRAY_LEN(lacks_one)));
	assert_true(may_hide(rises, ARRAY_LEN(rises)));
	assert_true(may_hide(close, ARRAY_LEN(close))); /* one step is less than what is always seen */
	assert_true(may_hide(few, ARRAY_LEN(few)));     /* two steps do not say what is usual */
}

/* A place that lies between two bands, on the level of neither. */
static void an_edge_with_a_place_in_it_may_hide_a_zone(void **state)
{
	static const double mb[] = { 100, 94, 87, 81, 74, 68 };
	struct zone_band v[8];
	struct zone_bands b = bands_of(v, mb, ARRAY_LEN(mb));

	(void)state;
	b.spacing_bytes = BAND / 4;
	for (size_t k = 1; k < b.n; k++)
		v[k].edge_half_bytes = BAND / 8; /* from one place to the next */
	assert_false(zone_bands_may_hide(&b));
	v[3].edge_half_bytes = BAND / 4;
	assert_true(zone_bands_may_hide(&b));
}

/* Four places in each of the bands, on its level. */
static struct zone_levels places_of(struct zone_level *place, size_t n, const struct zone_band *v)
{
	for (size_t p = 0; p < n; p++)
		place[p] = (struct zone_level){ .n = 3,
			                        .first_bytes = p * BAND / 4 + BAND / 16,
			                        .end_bytes = p * BAND / 4 + BAND / 8,
			                        .y = v[p / 4].y,
			                        .half = 0.02 };
	return (struct zone_levels){ .v = place, .n = n };
}

/* A zone of one place between two bands, taken to the second of them as its samples scatter: it leans to the first. One
 * that leans away, or by no more than chance, says nothing (692357). */
static void a_place_that_leans_to_the_next_band_may_be_a_zone(void **state)
{
	static const double mb[] = { 10.9, 9.7, 9.1, 8.0, 7.4, 5.84 };
	struct zone_band v[8];
	struct zone_bands b = bands_of(v, mb, ARRAY_LEN(mb));
	struct zone_level place[24];
	struct zone_levels lv = places_of(place, ARRAY_LEN(place), v);

	(void)state;
	for (size_t k = 0; k < b.n; k++)
		v[k].half = 0.007;
	assert_false(zone_places_hide(&b, &lv));
	place[20].y = v[5].y + 0.055; /* slower than its band, the last one */
	assert_false(zone_places_hide(&b, &lv));
	place[20].y = v[5].y - 0.03; /* by chance */
	assert_false(zone_places_hide(&b, &lv));
	place[20].y = v[5].y - 0.055;
	assert_true(zone_places_hide(&b, &lv));
	place[20].first_bytes -= BAND / 8; /* read across the edge */
	assert_false(zone_places_hide(&b, &lv));
	place[20].y = v[5].y;
	place[7].y = v[1].y + 0.05; /* the last of its band, towards the next */
	assert_true(zone_places_hide(&b, &lv));
}

/*
 * Places of a band that surfaces scatter by so much that its first and its last ones may be a whole step apart: two
 * zones in one band (804264). Of a scatter that is less, or where what lies beside is further away, they are not.
 */
static void a_band_whose_places_scatter_by_a_step_may_be_two(void **state)
{
	static const double mb[] = { 10.9, 9.7, 8.6, 7.5, 6.5, 5.5 };
	struct zone_band v[8];
	struct zone_bands b = bands_of(v, mb, ARRAY_LEN(mb));
	struct zone_level place[24];
	struct zone_levels lv = places_of(place, ARRAY_LEN(place), v);

	(void)state;
	for (size_t p = 8; p < 12; p++)
		place[p] = (struct zone_level){ .n = 8,
			                        .first_bytes = place[p].first_bytes,
			                        .end_bytes = place[p].end_bytes,
			                        .y = v[2].y + (p < 10 ? -0.02 : 0.02),
			                        .half = 0.04 };
	assert_false(zone_places_hide(&b, &lv)); /* 4 %, known to 4 %: less than a step of 12 */
	for (size_t p = 8; p < 12; p++)
		place[p].half = 0.09;
	assert_true(zone_places_hide(&b, &lv)); /* known to 9 % */
	v[2].y = place[10].y = place[11].y = place[8].y = place[9].y = log(1e9 / 7.9e6);
	v[3].y = log(1e9 / 6.2e6);
	assert_false(zone_places_hide(&(struct zone_bands){ .v = v + 2, .n = 2 },
	                              &(struct zone_levels){ .v = place, .n = 12 }));
}

/* Zones of which no place lies in are not seen, if there is one that is narrower than places are apart; and what was
 * seen of one place, at the end, may be one. */
static void what_is_narrower_than_places_are_apart_may_hide_others(void **state)
{
	static const double mb[] = { 100, 94, 87, 81, 74, 68 };
	struct zone_band v[8];
	struct zone_bands b = bands_of(v, mb, ARRAY_LEN(mb));

	(void)state;
	b.spacing_bytes = 0.9 * BAND;
	assert_false(zone_bands_may_hide(&b));
	v[2].edge_half_bytes = v[3].edge_half_bytes = BAND / 16;
	assert_true(zone_bands_may_hide(&b)); /* so may this one be, as its edges are not known better */
	v[2].edge_half_bytes = v[3].edge_half_bytes = BAND / 32;
	assert_false(zone_bands_may_hide(&b));
	v[2].end_bytes = v[3].first_bytes = v[2].first_bytes + BAND / 2;
	assert_true(zone_bands_may_hide(&b));
}

/* Of two zones that differ by less than is seen, as surfaces are made. */
static void a_band_as_wide_as_two_others_may_be_two(void **state)
{
	static const double mb[] = { 100, 94, 87, 81, 74, 68 };

	(void)state;
	for (size_t wide = 0; wide < ARRAY_LEN(mb); wide++) {
		struct zone_band v[8];
		struct zone_bands b = bands_of(v, mb, ARRAY_LEN(mb));

		assert_false(zone_bands_may_hide(&b)); /* as wide as the others */
		v[wide].end_bytes += 2 * BAND;
		for (size_t k = wide + 1; k < b.n; k++) {
			v[k].first_bytes += 2 * BAND;
			v[k].end_bytes += 2 * BAND;
		}
		assert_true(zone_bands_may_hide(&b));
	}
}

static void one_zone_is_told_where_rates_do_not_fall_and_the_interface_is_faster(void **state)
{
	static const double mb[] = { 100 };
	struct zone_level level[16] = { { 0 } };
	struct zone_levels lv = { .v = level, .n = ARRAY_LEN(level) };
	struct zone_band v[8];
	struct zone_bands b = bands_of(v, mb, 1);

	(void)state;
	for (size_t p = 0; p < lv.n; p++)
		level[p] = (struct zone_level){ .n = 3, .y = v[0].y };
	assert_true(zone_bands_is_single(&b, &lv, INTERFACE));
	assert_false(zone_bands_is_single(&b, &lv, 101e6));
	assert_false(zone_bands_is_single(&b, &lv, (double)NAN));
	for (size_t p = 0; p < lv.n; p++)
		level[p].y += 0.02 * (double)p;
	assert_false(zone_bands_is_single(&b, &lv, INTERFACE));
	for (size_t p = 0; p < lv.n; p++)
		level[p].y = v[0].y + (p < 3 ? 1.0 : 0.04 * (double)p); /* a slow region where it would be fastest */
	assert_false(zone_bands_is_single(&b, &lv, INTERFACE));
	b.least_step = 1.0; /* a scatter that hides all steps of a zoned disk shows none of them */
	assert_false(zone_bands_is_single(&b, &lv, INTERFACE));
}

/* A bridge that is slower than its disk. */
static void where_no_step_is_seen_no_zone_is_told(void **state)
{
	static const uint64_t seeds[] = { 652055 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		struct sim_run run;

		run = zones_on_wild(seeds[i], NULL);
		assert_true(result_has_notice(run.res, "zones-hidden"));
		assert_int_equal(result_find_table(run.res, "bands")->nrows, 0);
		assert_true(isnan(figure_number(result_find_figure(run.res, "bands"))));
		sim_run_end(&run);
	}
}

/* One of the readings for edges met a place that fails, and lost nine tenths of its time: as noise it would hide all
 * zones. */
static void a_bad_place_beside_an_edge_hides_no_zones(void **state)
{
	struct sim_run run;

	(void)state;
	run = zones_on_wild(653122, NULL);
	assert_true(result_find_table(run.res, "bands")->nrows >= 20);
	sim_run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_of_two_may_hide_a_zone),
		cmocka_unit_test(an_edge_with_a_place_in_it_may_hide_a_zone),
		cmocka_unit_test(a_place_that_leans_to_the_next_band_may_be_a_zone),
		cmocka_unit_test(a_band_whose_places_scatter_by_a_step_may_be_two),
		cmocka_unit_test(what_is_narrower_than_places_are_apart_may_hide_others),
		cmocka_unit_test(a_band_as_wide_as_two_others_may_be_two),
		cmocka_unit_test(one_zone_is_told_where_rates_do_not_fall_and_the_interface_is_faster),
		cmocka_unit_test(where_no_step_is_seen_no_zone_is_told),
		cmocka_unit_test(a_bad_place_beside_an_edge_hides_no_zones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
