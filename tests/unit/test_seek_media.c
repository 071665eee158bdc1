/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `seek` past a drive's cache that does not forget: by FUA where it is obeyed, and by what was never read where it is
 * not. */
#include "test.h"

#include "load.h"
#include "rows.h"
#include "seekrun.h"
#include "tally.h"

static struct sim_run seek_on(const struct profile *p, const char *words, enum sim_verify commands)
{
	struct sim *sim = sim_new();

	(void)sim_add_disk(sim, p, "sda");
	sim_set_verify(sim, commands);
	return run_on(sim, words);
}

/* More pieces than the search counts blocks, and more bytes than it reads elsewhere in any run. */
static void load_with_large_cache(struct profile *p)
{
	struct err err;

	load(p, "modern-4tb");
	p->cache.sizing = CACHE_BY_USE;
	p->cache.bytes = 2ull << 30;
	p->cache.segments = 4096;
	assert_int_equal(profile_finish(p, &err), 0);
}

static void assert_rpm(const struct sim_run *run, double rpm, double within)
{
	const struct figure *f = result_find_figure(run->res, "rotation_rpm");

	assert_non_null(f);
	assert_true(fabs(sim_figure(run, "rotation_rpm") / rpm - 1.0) < within);
	assert_true(f->ci.high - f->ci.low < 2.0 * within * rpm);
}

TEST(fua_passes_a_cache_by_that_does_not_forget)
{
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = { 0 };
	const struct table *t;

	load_with_large_cache(&p);
	run = seek_on(&p, "--quick sda", SIM_VERIFY_TRUE);
	assert_non_null(strstr(notice_of(&run, "past-cache"), "FUA"));
	assert_rpm(&run, p.spindle.rpm, 30e-6);
	assert_false(result_has_notice(run.res, "cache-holds"));
	assert_true(run.res->status == STATUS_COMPLETE || run.res->status == STATUS_ENDED_EARLY);
	t = result_find_table(run.res, "spans");
	assert_non_null(t);
	for (size_t i = 0; i < t->nrows; i++) /* what the cache has of them is read again */
		assert_true(number(t, i, "mean_ns") > 4e6);
}

TEST(without_fua_the_rotation_is_from_what_was_never_read)
{
	for (int is_answered = 0; is_answered < 2; is_answered++) {
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };

		load_with_large_cache(&p);
		p.cache.fua_reads = is_answered ? FUA_READS_BUFFER : FUA_READS_MEDIA;
		run = seek_on(&p, "--quick sda", is_answered ? SIM_VERIFY_TRUE : SIM_VERIFY_UNKNOWN);
		assert_non_null(strstr(notice_of(&run, "past-cache"), "read only once"));
		assert_rpm(&run, p.spindle.rpm, 60e-6);
		assert_false(result_has_notice(run.res, "cache-holds"));
		assert_int_equal(run.res->status, STATUS_COMPLETE); /* FUA that is not known is no fault */
	}
}

/* A track is in the cache as soon as one of its sectors was read: the ones before, too. */
TEST(a_cache_that_hides_all_is_still_told)
{
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = { 0 };

	load_with_large_cache(&p);
	p.cache.fua_reads = FUA_READS_BUFFER;
	p.cache.is_pre_read = true;
	run = seek_on(&p, "--quick --without=curve,queue sda", SIM_VERIFY_TRUE);
	assert_true(isnan(sim_figure(&run, "rotation_rpm")));
	assert_true(result_has_notice(run.res, "cache-holds"));
	assert_false(result_has_notice(run.res, "past-cache"));
}

/* Blocks elsewhere are enough there: FUA is not looked for. */
TEST(a_small_cache_forgets)
{
	struct sim_run run;
	PROFILE(p, "ibm-deskstar-60gxp");

	p.cache.segments = 16;
	run = seek_on(&p, "--quick --without=curve,queue sda", SIM_VERIFY_TRUE);
	assert_non_null(result_find_figure(run.res, "cleared_bytes"));
	sim_run_end(&run);
}

static void assert_holds(const struct sim_run *run, const char *name, double truth)
{
	const struct figure *f = result_find_figure(run->res, name);

	assert_non_null(f);
	assert_true(f->ci.low <= truth && truth <= f->ci.high);
}

static void restarts(struct profile *p)
{
	p->seek.restart_ms = 0.3;
}

static void answers_ahead_like_hits(struct profile *p)
{
	p->cache.ahead_overhead = OVERHEAD_HIT;
}

/* A head that switches more slowly than the arm moves to the next cylinder, and tracks that follow head by head. */
static void switches_slowly(struct profile *p)
{
	p->seek.head_switch_ms = 1.7 * (p->seek.settle_ms + p->seek.a_ms);
	for (size_t i = 0; i < p->nzones; i++)
		p->zones[i].head_skew = p->zones[i].band_skew = (double)NAN;
}

/* What reads ahead of the head tell is what a hit takes: no less than that, and seek times without it carry that. */
TEST(an_overhead_that_may_be_a_hits_is_in_all_intervals)
{
	cleanup_run struct sim_run run =
		run_changed("--quick --without=queue sda", "modern-4tb", answers_ahead_like_hits);
	const struct geometry *g = geometry_of(&run);

	assert_holds(&run, "overhead_ns", truth_overhead_ns(g));
	assert_holds(&run, "track_to_track_ns", truth_seek_track_ns(g));
	assert_holds(&run, "average_seek_ns", truth_seek_average_ns(g));
	assert_holds(&run, "third_stroke_ns", truth_seek_third_ns(g));
	assert_holds(&run, "full_stroke_ns", truth_seek_full_ns(g));
	assert_true(result_has_notice(run.res, "overhead-wide"));
}

/* Two draws of each drive: intervals of 95 % may miss once. */
TEST(a_slow_switch_of_heads_is_not_taken_for_the_arm)
{
	static const char *const names[] = { "modern-4tb", "ibm-deskstar-60gxp", "seagate-medalist-st39140a" };
	size_t held = 0;

	for (size_t i = 0; i < 2 * ARRAY_LEN(names); i++) {
		const char *words =
			i & 1 ? "--without=queue --slice=10ms --seed=2 sda" : "--without=queue --slice=10ms sda";
		cleanup_run struct sim_run run = run_changed(words, names[i / 2], switches_slowly);
		const struct figure *f = result_find_figure(run.res, "track_to_track_ns");
		double truth = truth_seek_track_ns(geometry_of(&run));

		print_message("%s: %.3f ms for %.3f\n", names[i / 2], figure_number(f) * 1e-6, truth * 1e-6);
		assert_true(fabs(figure_number(f) / truth - 1.0) < 0.35); /* the switch takes 1.7 times as long */
		held += f->ci.low <= truth && truth <= f->ci.high;
	}
	assert_true(held + 1 >= 2 * ARRAY_LEN(names));
}

static void restarts_not(struct profile *p)
{
	p->seek.restart_ms = 0.0;
}

/* Returns to a track take the overhead and 0.3 ms; reads that go on with the stream, the overhead alone. */
TEST(the_time_to_find_the_place_again_is_not_told_as_overhead)
{
	static const char *const names[] = { "quantum-fireball-tm2110a", "ibm-deskstar-60gxp", "seagate-cheetah-15k7" };

	for (size_t i = 0; i < TALLY_FIRST(6, 2); i++) {
		const bool does = i % 2 == 0;
		cleanup_run struct sim_run run =
			run_changed("--without=queue --slice=10ms sda", names[i / 2], does ? restarts : restarts_not);
		const struct figure *f = result_find_figure(run.res, "overhead_ns");
		double told = figure_number(f);
		double truth = truth_overhead_ns(geometry_of(&run));

		print_message("%s: %.3f ms for %.3f\n", names[i / 2], told * 1e-6, truth * 1e-6);
		assert_true(f->ci.low <= truth && truth <= f->ci.high);
		if (i < 4) { /* of the last one a hit takes as long, so it may be either */
			assert_true(fabs(told - truth) < 0.05e6);
			assert_int_equal(result_has_notice(run.res, "restart"), does);
		}
	}
}

/*
 * Drawn disks with tracks that nobody can return to, as surfaces differ or are short; with one that drops what it has
 * read, and one in parts that hold nothing. A bridge slower than its media, of which sequential rates say nothing: the
 * overhead is not the interface's, and places are where tracks say.
 */
TEST(the_overhead_is_known_where_no_track_can_be_returned_to)
{
	static const uint64_t seeds[] = { 100005, 100046, 100113, 100264 };

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		cleanup_run struct sim_run run = run_on_wild(seeds[i], "--quick --without=queue sda");
		const struct figure *f = result_find_figure(run.res, "overhead_ns");
		double truth = truth_overhead_ns(geometry_of(&run)), told = figure_number(f);

		print_message("seed %" PRIu64 ": %.3f ms for %.3f\n", seeds[i], told * 1e-6, truth * 1e-6);
		assert_true(fabs(told - truth) < 0.05e6);
		assert_true(f->ci.low <= truth && truth <= f->ci.high);
		assert_false(result_has_notice(run.res, "overhead"));
		assert_int_equal(result_find_table(run.res, "media_rates") != NULL, i == 3);
		if (i == 3)
			assert_true(fabs(sim_figure(&run, "average_seek_ns") /
			                         truth_seek_average_of_ns(geometry_of(&run),
			                                                  (uint32_t)cylinders_of(geometry_of(&run))) -
			                 1.0) < 0.02);
	}
}

/*
 * Drawn drives behind a bridge without read-ahead, so that each request loses a revolution: sequential rates are a
 * tenth of the media's then, and what a sector takes to pass is not told by them. The average was up to 8 % too short.
 */
TEST(what_lies_where_is_told_by_tracks_where_rates_are_not_the_medias)
{
	static const uint64_t seeds[] = { 910013, 910029 };

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		cleanup_run struct sim_run run = run_on_class(seeds[i], "bridge", "--without=queue --slice=10ms sda");
		const struct geometry *g = geometry_of(&run);

		assert_holds(&run, "average_seek_ns", truth_seek_average_of_ns(g, (uint32_t)cylinders_of(g)));
		assert_non_null(result_find_table(run.res, "media_rates"));
	}
}
