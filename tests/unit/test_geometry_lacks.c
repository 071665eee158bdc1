/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `geometry` on disks of which many tracks lack something, or whose skews noise hides. */
#include "test.h"

#include "geometryrun.h"

/* Tracks that lack a few sectors cut rows of equal ones into pieces, by which no length of bands was guessed; the first
 * of each surface had its size learned; and what was cut in two shifted all behind it. Of the first disk hardly enough
 * is seen: whether it is reported hangs on how many reads came before. Of the second some tracks are read wrongly in
 * its noise, and whether accesses meet more than one in 25 of them is chance. */
TEST(surfaces_are_found_where_tracks_lack_something)
{
	static const struct {
		uint64_t seed;
		const char *words;
		double surfaces;
		bool is_at_times;
	} disk[] = { { 925000015, "--seed=925000015 sda", 3.0, true },
		     { 925000018, "--seed=925000018 sda", 17.0, true },
		     { 925000040, "--seed=925000040 sda", 11.0, false } };

	for (size_t i = 0; i < ARRAY_LEN(disk); i++) {
		cleanup_run struct sim_run run = geometry_on_wild(disk[i].seed, disk[i].words, NULL, NULL);
		double told = sim_figure(&run, "surfaces");

		print_message("%" PRIu64 ": %g\n", disk[i].seed, told);
		assert_true(told == disk[i].surfaces || (disk[i].is_at_times && isnan(told)));
	}
}

/* Two surfaces that hold as much were one row of tracks, which has one skew, as the other one was hidden. */
TEST(a_skew_that_noise_hides_does_not_speak_against_a_layout)
{
	cleanup_run struct sim_run run = geometry_on_wild(929000025, "--seed=929000025 sda", NULL, NULL);

	assert_true(sim_figure(&run, "surfaces") == 3.0);
	assert_string_equal(result_find_figure(run.res, "layout")->value.str,
	                    "seek-first in bands of 12 tracks, serpentine");
}

/* Bands show, and fit any number of surfaces: more layouts than are kept, among which one surface was not. */
TEST(one_surface_is_asked_about_where_bands_show)
{
	cleanup_run struct sim_run run = geometry_on_wild(931000053, "--seed=931000053 sda", NULL, NULL);

	assert_true(sim_figure(&run, "surfaces") == 1.0);
}
