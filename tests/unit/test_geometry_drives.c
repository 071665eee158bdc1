/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `geometry` on models of real drives, with the noise that real drives have: what each of them does with its tracks
 * that others do not. */
#include "test.h"

#include "geometryrun.h"
#include "measure/geometry/rows.h"

#define DRAWS TALLY_FIRST(2, 1)
#define WHOLE " --time=600s" /* else a run ends when surfaces are known */

/* As the model has it, with noise. bad: sectors that cannot be read; NULL: all can. End it with sim_run_end(). */
static struct sim_run run_in_noise(const char *name, int seed, const struct profile_bad *bad, const char *words)
{
	PROFILE(p, name);

	if (bad)
		assert_int_equal(profile_add_bad(&p, bad), 0);
	MUST(profile_add_noise(&p, WILD_NOISE_REAL, (uint64_t)seed, &err));
	return geometry_on(&p, words);
}

/* Of draws 1 to n of its noise: on how many the surfaces are told, all of them truly; the layout begins so, and the
 * interval of tracks, if they are counted, holds so many. */
static size_t told_of(const char *name, const char *time, size_t n, double surfaces, const char *layout, double tracks)
{
	size_t told = 0;

	for (int seed = 1; seed <= (int)n; seed++) {
		const struct figure *f;
		cleanup_run struct sim_run run = { 0 };
		char words[48];

		(void)snprintf(words, sizeof(words), "--seed=%d%s sda", seed, time);
		run = run_in_noise(name, seed, NULL, words);
		print_message("%s, noise %d: %g surfaces, %g tracks\n", name, seed, sim_figure(&run, "surfaces"),
		              sim_figure(&run, "tracks"));
		f = result_find_figure(run.res, "tracks");
		assert_true(isnan(figure_number(f)) || (f->ci.low <= tracks && tracks <= f->ci.high));
		f = result_find_figure(run.res, "surfaces");
		if (isfinite(figure_number(f))) {
			assert_true(figure_number(f) == surfaces);
			f = result_find_figure(run.res, "layout");
			assert_memory_equal(f->value.str, layout, strlen(layout));
			told++;
		}
	}
	return told;
}

/* The last track of each 6 or 12 cylinders is half a track, or less, and often its end is hidden together with what
 * follows. */
TEST(spare_sectors_behind_groups_of_tracks_hide_no_layout)
{
	assert_true(told_of("barracuda", WHOLE, DRAWS, 5, "head-first", 24883) == DRAWS);
}

/* The same; and from 8 cylinders to 16 the curve of this one falls by a fifth of a revolution. */
TEST_LARGE(a_seek_curve_that_falls_hides_no_layout)
{
	assert_true(told_of("cheetah4lp", "", 2, 8, "head-first", 52595) >= 1);
}

/* One skew is hardly told from the other: accesses decide it in four of five draws, and never wrongly. */
TEST_LARGE(skews_that_are_nearly_alike_hide_no_layout)
{
	assert_true(told_of("atlas-iii", WHOLE, 5, 10, "head-first", 79983) >= 3);
}

/* All is alike but for what a change of heads takes: accesses say that these are no bands of two, when enough were
 * looked at. */
TEST(surfaces_that_only_accesses_show_are_told)
{
	assert_true(told_of("tiny", WHOLE, DRAWS, 4, "head-first", 2400) == DRAWS);
}

TEST_LARGE(tracks_that_the_drive_keeps_at_its_begin_hide_no_layout)
{
	assert_true(told_of("hp-c2247a", WHOLE, 2, 13, "head-first", 25749) == 2);
}

/* Three tracks in a row of a surface hold no data, beside a change of heads that is as it is everywhere: in every
 * second draw accesses decide it. */
TEST_LARGE(tracks_that_a_surface_lacks_hide_no_layout)
{
	assert_true(told_of("maxtor300g", WHOLE, 4, 8, "seek-first in bands of 32 tracks, serpentine", NAN) >= 2);
}

/* Of a quarter of the disk no sector can be read: the walk comes to an end in front of them. */
TEST_LARGE(where_no_end_of_a_track_is_found_the_last_zone_is_unclear)
{
	const struct profile_bad bad = {
		.lba = 20000000, .count = 40000000, .kind = BAD_READ, .revolutions = 3, .err = -EIO
	};
	cleanup_run struct sim_run run =
		run_in_noise("seagate-cheetah-15k7", 2, &bad, "--seed=2 --max-errors=100000 sda");
	const struct table *zones = result_find_table(run.res, "zones");

	assert_true(result_has_notice(run.res, "not-to-the-end"));
	assert_false(result_has_notice(run.res, "out-of-time"));
	assert_true(zones && zones->nrows > 0);
	assert_string_equal(table_string(zones, zones->nrows - 1, (size_t)table_column(zones, "certainty")), "unclear");
}

TEST(a_sector_is_looked_at_as_often_as_its_noise_wants)
{
	const double cheap = 0.0, dear = GEO_DEAR + 1.0, very_dear = GEO_VERY_DEAR + 1.0;

	assert_int_equal(geo_looks(0.019, cheap), 1);
	assert_int_equal(geo_looks(0.021, cheap), 3);
	assert_int_equal(geo_looks(0.039, dear), 1); /* ends of tracks stand out */
	assert_int_equal(geo_looks(1.0, cheap), 9);
	for (double near = 0.041; near < 0.07; near += 0.001) {
		unsigned looks = geo_looks(near, dear);

		assert_true(looks >= 3 && looks % 2 == 1 && near * geo_noise_left(looks) < 0.031);
		/* Fewer where each takes as long as a thousand other reads. */
		assert_true(geo_looks(near, very_dear) <= 3);
	}
	assert_int_equal(geo_looks(0.059, very_dear), 1);
}

/* All zones: bands of that many tracks, there and back. */
static void set_bands(struct profile *p, const void *arg)
{
	for (size_t i = 0; i < p->nzones; i++) {
		p->zones[i].band_tracks = *(const uint32_t *)arg;
		p->zones[i].tracks_alternate = true;
		p->zones[i].heads_alternate = false;
	}
}

TEST(bands_longer_than_what_was_walked_are_not_one_surface)
{
	static const uint32_t band = 8000;
	cleanup_run struct sim_run run = geometry_on_wild(924000047, "--seed=1 sda", set_bands, &band);

	assert_true(isnan(sim_figure(&run, "surfaces")) || sim_figure(&run, "surfaces") == 2.0);
}
