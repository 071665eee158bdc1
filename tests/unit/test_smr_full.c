/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `smr` goes on for as long as it takes: bands of all sizes, and caches that others have filled. */
#include "test.h"

#include "ran.h"

extern const struct measure measure_smr;

#define DISK                                                                                       \
	"surfaces 4\ncache_kb 32768\nqueue_depth 32\noverhead_ms 0.1\nseek 0.8 0.05\nrpm 5400\n"   \
	"head_switch_ms 0.7\nserial SMRTEST1\ninterface_mbs 500\nphysical_sector 4096\n"           \
	"write_cache_kb 8192\nwrite_start 0.2\nwrite_delay_ms 100\nmedia_cache_idle_ms 10000000\n" \
	"zone 8000 330\nzone 4000 250\n"

/* However large a band is, and whether the cache was full before: it goes on until it can tell. */
TEST(it_goes_on_until_it_can_tell)
{
	static const struct {
		int band_mib, entries;
		enum sim_filled filled;
		const char *verdict, *more;
	} v[] = {
		{ 128, 6000, SIM_EMPTY, "yes", "" },
		{ 30, 6000, SIM_ALL_OVER, "yes", "" },
		{ 204, 124288, SIM_EMPTY, "yes", "" },
		{ 239, 146422, SIM_EMPTY, "yes", "" },
		{ 241, 179882, SIM_EMPTY, "yes", "" },
		{ 256, 8000, SIM_EMPTY, "yes", "" },
		{ 160, 30000, SIM_EMPTY, "yes", "" },
		{ 147, 33585, SIM_ALL_OVER, "yes", "" },
		{ 49, 31060, SIM_SAME_PLACE, "yes", "" },
		{ 49, 6824, SIM_SAME_PLACE, "yes",
		  "media_cache_first coldest\nmedia_cache_idle_ms 2590\nrpm 7200\nwrite_cache_kb 16384\n" },
		{ 146, 15234, SIM_SAME_PLACE, "yes", "media_cache_first coldest\n" },
		{ 0, 40000, SIM_ALL_OVER, "no", "media_cache_first coldest\n" },
		{ 0, 40000, SIM_SAME_PLACE, "no", "" },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };
		const struct figure *f;

		p = profile_of(textf(DISK "media_cache_kb 1048576 %d\nshingle_band_kb %d\n%s", v[i].entries,
		                     v[i].band_mib * 1024, v[i].more));
		run = run_for(&measure_smr, &p, "--write --destroy-data=SMRTEST1 sda");
		sim_fill_cache(run.sim, (size_t)v[i].entries, v[i].filled);
		assert_int_equal(sim_run(&run), 0);
		f = result_find_figure(run.res, "shingled");
		if (!f || strcmp(f->value.str, v[i].verdict) != 0)
			fail_msg("bands of %d MiB, %d entries%s: %s", v[i].band_mib, v[i].entries,
			         v[i].filled ? ", full" : "", f ? f->value.str : "nothing");
		assert_false(run.res->verdict_is_open);
	}
}
