/* SPDX-License-Identifier: GPL-2.0-or-later */
/* geometry of disks whose spindle warms up, in virtual time, against what the profile says. */
#include "test.h"

#include "geometryrun.h"

#define CLOCK 30e-6 /* no figure is known better than the clock: 15 ppm to either side (result.c) */

struct drift {
	double part, over_s;
};

static void drifts(struct profile *p, const void *arg)
{
	const struct drift *d = arg;

	p->spindle.drift = d->part;
	p->spindle.drift_s = d->over_s;
}

/* Angles that were read some seconds apart do not fit unless the clock is set right again and again. */
TEST(a_spindle_that_warms_up_hides_no_layout)
{
	static const struct {
		uint64_t seed;
		struct drift drift;
		double surfaces;
	} drives[] = {
		{ 121007, { 1e-4, 100 }, 4 },
		{ 121007, { -1e-4, 1000 }, 4 },
		{ 121014, { 1e-4, 100 }, 5 },
		{ 121005, { -1e-5, 200 }, 3 },
	};

	for (size_t i = 0; i < TALLY_FIRST(ARRAY_LEN(drives), 1); i++) {
		cleanup_run struct sim_run run = geometry_on_wild(drives[i].seed, "sda", drifts, &drives[i].drift);
		const struct geometry *g = disk_geometry(sim_model(sim_find(run.sim, "/dev/sda")));
		double end_s, from, to, told;
		struct interval ci;

		end_s = (double)sim_elapsed_ns(run.sim) * 1e-9;
		from = 60e9 / truth_period_at_ns(g, end_s * 0.75);
		to = 60e9 / truth_period_at_ns(g, end_s);
		told = sim_figure(&run, "rotation_rpm");
		ci = result_find_figure(run.res, "rotation_rpm")->ci;
		print_message("seed %d: %g surfaces, %.4f rpm (%.4f .. %.4f), %.4f .. %.4f in the last quarter\n",
		              (int)drives[i].seed, sim_figure(&run, "surfaces"), told, ci.low, ci.high, from, to);
		assert_true(sim_figure(&run, "surfaces") == drives[i].surfaces);
		assert_true(result_has_notice(run.res, "spindle-drifts"));
		assert_true(fabs(told / to - 1.0) < 10e-6);
		assert_true(ci.low <= fmax(from, to) && ci.high >= fmin(from, to) &&
		            ci.high - ci.low < (30e-6 + CLOCK) * told);
	}
}

/* Its speed is that of the whole run, which knows it better than the first seconds do. */
TEST(a_spindle_that_turns_evenly_is_not_said_to_drift)
{
	for (uint64_t seed = 121003; seed <= (TALLY_LARGE ? 121007 : 121003); seed += 2) {
		cleanup_run struct sim_run run = geometry_on_wild(seed, "sda", drifts, &(struct drift){ 0.0, 1.0 });
		const struct geometry *g = disk_geometry(sim_model(sim_find(run.sim, "/dev/sda")));
		double rpm = 60e9 / truth_period_at_ns(g, 0.0);
		struct interval ci = result_find_figure(run.res, "rotation_rpm")->ci;

		print_message("seed %d: %.5f rpm (%.5f .. %.5f), truly %.5f\n", (int)seed,
		              sim_figure(&run, "rotation_rpm"), ci.low, ci.high, rpm);
		assert_false(result_has_notice(run.res, "spindle-drifts"));
		assert_true(ci.low <= rpm && rpm <= ci.high && ci.high - ci.low < (2e-6 + CLOCK) * rpm);
	}
}

static void has_noise_drawn_anew(struct profile *p, const void *arg)
{
	p->seed = *(const uint64_t *)arg;
}

/*
 * The first quarter of the disk is trimmed: the sectors that are read again and again lie elsewhere. (By a draw of
 * noise in which ends of tracks stand out; in others there is little to follow.)
 */
TEST(a_spindle_is_followed_where_nothing_is_stored_at_the_start)
{
	cleanup_run struct sim_run run =
		geometry_on_wild(545340, "--seed=3 sda", has_noise_drawn_anew, &(uint64_t){ 3 });
	double rpm = 60e9 / truth_period_at_ns(disk_geometry(sim_model(sim_find(run.sim, "/dev/sda"))), 0.0);
	struct interval ci = result_find_figure(run.res, "rotation_rpm")->ci;

	print_message("%.5f rpm (%.5f .. %.5f), truly %.5f\n", sim_figure(&run, "rotation_rpm"), ci.low, ci.high, rpm);
	assert_true(ci.low <= rpm && rpm <= ci.high && ci.high - ci.low < (2e-6 + CLOCK) * rpm);
}
