/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `geometry` where tracks come one after the other: of one surface, or of several in bands longer than what it walks.
 */
#include "test.h"

#include "geometryrun.h"

/* All zones: bands of that many tracks, there and back. */
static void set_bands(struct profile *p, const void *arg)
{
	for (size_t i = 0; i < p->nzones; i++) {
		p->zones[i].band_tracks = *(const uint32_t *)arg;
		p->zones[i].tracks_alternate = true;
		p->zones[i].heads_alternate = false;
	}
}

TEST(one_surface_of_which_only_some_tracks_were_walked_is_reported)
{
	cleanup_run struct sim_run run = geometry_on_wild(924000049, "--seed=924000049 sda", NULL, NULL);

	assert_true(sim_figure(&run, "surfaces") == 1.0);
	assert_string_equal(result_find_figure(run.res, "layout")->value.str, "track after track");
}

TEST(bands_longer_than_what_was_walked_are_not_one_surface)
{
	static const uint32_t band = 8000;
	cleanup_run struct sim_run run = geometry_on_wild(924000047, "--seed=1 sda", set_bands, &band);

	assert_true(isnan(sim_figure(&run, "surfaces")) || sim_figure(&run, "surfaces") == 2.0);
}
