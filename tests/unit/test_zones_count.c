/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many recording zones `zones` says that a disk has: exactly, at least, or nothing where there may be any number.
 */
#include "test.h"

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

TEST(one_zone_is_told_where_rates_do_not_fall_and_the_interface_is_faster)
{
	static const double mb[] = { 100 };
	struct zone_level level[16] = { { 0 } };
	struct zone_levels lv = { .v = level, .n = ARRAY_LEN(level) };
	struct zone_band v[8];
	struct zone_bands b = bands_of(v, mb, 1);

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

TEST(where_time_ends_before_all_places_are_read_there_may_be_more_zones_and_none_lies_beyond)
{
	for (int tenths = 5; tenths < 60; tenths += 5) {
		char words[64];
		const struct table *bands, *curve;
		double read_to = 0.0, cell;
		cleanup_run struct sim_run run = { .sim = sim_new(), .m = &measure_zones, .words = words };

		(void)snprintf(words, sizeof(words), "--time=%dms sda", 100 * tenths);
		(void)sim_add_profile(run.sim, "modern-4tb", "sda");
		assert_int_equal(sim_run(&run), 0);
		if (sim_figure(&run, "bands") > 1.0 && !result_has_notice(run.res, "zones-at-least"))
			fail_msg("%s: %g zones", words, sim_figure(&run, "bands"));
		bands = result_find_table(run.res, "bands");
		curve = result_find_table(run.res, "curve");
		for (size_t i = 0; i < curve->nrows; i++)
			read_to = fmax(read_to, number(curve, i, "last_byte")); /* NaN: not read */
		cell = (double)sim_device(sim_find(run.sim, "sda"))->size_bytes / 60;
		for (size_t i = 0; i < bands->nrows; i++)
			assert_true(number(bands, i, "last_byte") <= read_to + cell);
	}
}

/* A bridge that is slower than its disk. */
TEST(where_no_step_is_seen_no_zone_is_told)
{
	static const uint64_t seeds[] = { 652055 };

	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		cleanup_run struct sim_run run = { 0 };

		run = zones_on_wild(seeds[i], NULL);
		assert_true(result_has_notice(run.res, "zones-hidden"));
		assert_int_equal(result_find_table(run.res, "bands")->nrows, 0);
		assert_true(isnan(figure_number(result_find_figure(run.res, "bands"))));
	}
}

/* One of the readings for edges met a place that fails, and lost nine tenths of its time: as noise it would hide all
 * zones. */
TEST(a_bad_place_beside_an_edge_hides_no_zones)
{
	cleanup_run struct sim_run run = { 0 };

	run = zones_on_wild(653122, NULL);
	assert_true(result_find_table(run.res, "bands")->nrows >= 20);
}
