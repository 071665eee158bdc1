/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many recording zones `zones` says that a disk has: exactly, at least, or nothing where there may be any number.
 */
#include "test.h"

#include "measure/zones/zones.h"
#include "zonesrun.h"

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
