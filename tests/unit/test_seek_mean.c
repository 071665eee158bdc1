/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mean over the whole device, as `seek` tells it from few reads, in virtual time, against the exact expectation. */
#include "test.h"

#include "rows.h"
#include "seekrun.h"
#include "wild.h"

static const struct figure *mean_of(const struct sim_run *run)
{
	const struct figure *f = result_find_figure(run->res, "random_access_mean_ns");

	assert_non_null(f);
	return f;
}

static double truth_of(const struct sim_run *run)
{
	const struct geometry *g = disk_geometry(sim_model(sim_find(run->sim, "sda")));
	struct truth_random truth;

	truth_random(g, 0, geometry_bytes(g), 4096, &truth);
	return truth.service_ns;
}

/* Half of the interval, as if the mean were that of the times alone. */
static double plain_half(const struct sim_run *run)
{
	const struct table *t = result_find_table(run->res, "spans");

	return 1.96 * number(t, 0, "stddev_ns") / sqrt(number(t, 0, "samples"));
}

/* Without period and curve: what the wait for the sector leaves. */
TEST(distances_alone_tell_a_part_of_what_reads_take)
{
	static const char *const names[] = { "ibm-deskstar-60gxp", "modern-4tb", "samsung-hd103sj",
		                             "seagate-cheetah-15k7" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cleanup_run struct sim_run run = run_changed("--quick --without=curve,queue sda", names[i], NULL);
		const struct figure *f = mean_of(&run);
		double half = (f->ci.high - f->ci.low) / 2.0, truth = truth_of(&run), off = figure_number(f) - truth;

		print_message("%s: %.2f %% off, half of the interval %.2f %%, plain %.2f %%\n", names[i],
		              100.0 * off / truth, 100.0 * half / truth, 100.0 * plain_half(&run) / truth);
		assert_true(half < 0.85 * plain_half(&run));
		assert_true(fabs(off) < 2.0 * half); /* four standard errors */
	}
}

/*
 * A drawn disk of the 1990s: it begins to read in the middle of a block, a twentieth of a revolution, and the interface
 * takes as long again then. What is missing between is no shorter wait: the mean was told 1.6 % too short. 1 % of it is
 * left, as the curve of such a drive is too short itself.
 */
TEST(the_mean_of_a_drive_that_begins_anywhere_in_a_block_is_not_too_short)
{
	cleanup_run struct sim_run run = run_on_wild(100061, "--without=queue sda");
	const struct figure *f = mean_of(&run);
	double half = (f->ci.high - f->ci.low) / 2.0, truth = truth_of(&run);

	print_message("%.2f %% off, half of the interval %.2f %%\n", 100.0 * (figure_number(f) / truth - 1.0),
	              100.0 * half / truth);
	assert_true(half < 0.006 * truth);
	assert_true(fabs(figure_number(f) - truth) < 0.012 * truth);
}

/* All that a quick one tells, and as sharp: a full one's distances and spans would have too little each. */
TEST(a_run_of_twenty_seconds_is_no_worse_than_a_quick_one)
{
	static const char *const names[] = { "ibm-deskstar-60gxp", "modern-4tb", "samsung-hd103sj",
		                             "maxtor-diamondmax-80" };
	static const char *const figures[] = { "random_access_mean_ns", "average_seek_ns", "overhead_ns",
		                               "queue_gain_ratio" };

	double half[2] = { 0.0, 0.0 }; /* of all drives: with one, chance is as large as what the longer run gains */

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cleanup_run struct sim_run quick = run_changed("--quick sda", names[i], NULL),
					   longer = run_changed("--time=20s sda", names[i], NULL);

		for (size_t k = 0; k < sizeof(figures) / sizeof(figures[0]); k++)
			if (isfinite(sim_figure(&quick, figures[k])) && !isfinite(sim_figure(&longer, figures[k])))
				fail_msg("%s: %s", names[i], figures[k]);
		half[0] += mean_of(&quick)->ci.high - mean_of(&quick)->ci.low;
		half[1] += mean_of(&longer)->ci.high - mean_of(&longer)->ci.low;
		print_message("%s and before: %.3f and %.3f ms\n", names[i], half[0] * 1e-6, half[1] * 1e-6);
		assert_true(sim_elapsed_ns(longer.sim) <= 20 * NS_PER_S);
	}
	assert_true(half[1] < half[0]);
}

static void come(void *arg)
{
	sim_user_start(arg);
}

/*
 * Another program reads in spells through another host, which no counter shows. What is reported is the disk's own, or
 * said to be none: the mean had been a tenth too long, the 95 % a quarter, and an average seek half as long again.
 */
TEST(what_others_read_in_spells_is_in_no_figure_of_the_disk)
{
	static const char *const names[] = { "random_access_mean_ns", "random_access_p50_ns", "random_access_p95_ns",
		                             "average_seek_with_overhead_ns", "full_stroke_with_overhead_ns" };
	struct sim_user users[8];
	uint64_t took[8][400];
	size_t alone = 0;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		cleanup_run struct sim_run own = run_on_class(seed, "nearline", "sda"),
					   run = { .sim = sim_new(), .m = &measure_seek, .words = "sda" };
		struct profile p = { 0 };
		struct sim_disk *sd;
		struct err err;

		assert_int_equal(profile_wild(&p, seed, "nearline", &err), 0);
		sd = sim_add_disk(run.sim, &p, "sda");
		profile_done(&p);
		sim_set_contents(run.sim, false);
		for (size_t i = 0; i < ARRAY_LEN(users); i++) {
			users[i] = (struct sim_user){ .sd = sd,
				                      .rhythm = SIM_USER_THINKS,
				                      .mean_gap_ns = 20 * NS_PER_MS,
				                      .is_hidden = true,
				                      .most = 40 + seed % 5 * 80,
				                      .took_ns = took[i] };
			rng_init(&users[i].rng, seed, i);
			sim_at(run.sim, (1 + 8 * i) * NS_PER_S, come, &users[i]);
		}
		assert_int_equal(sim_run(&run), 0);
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			const struct figure *f = result_find_figure(run.res, names[i]),
					    *truth = result_find_figure(own.res, names[i]);

			if (isfinite(figure_number(f)) && isfinite(figure_number(truth)) &&
			    (f->ci.low > 1.02 * truth->ci.high || f->ci.high < 0.98 * truth->ci.low))
				fail_msg("seed %" PRIu64 ": %s %g for %g", seed, names[i], figure_number(f),
				         figure_number(truth));
		}
		assert_true(result_has_notice(run.res, "shared"));
		alone += !result_has_notice(own.res, "shared");
		for (size_t i = 0; i < ARRAY_LEN(users); i++)
			sim_user_wait(&users[i]);
	}
	assert_true(alone >= 5); /* one of these drives loses revolutions in spells itself */
}

/* A head that switches more slowly than the arm moves to the next cylinder, and tracks that follow head by head. */
static void switches_slowly(struct profile *p)
{
	p->seek.head_switch_ms = 1.7 * (p->seek.settle_ms + p->seek.a_ms);
	for (size_t i = 0; i < p->nzones; i++)
		p->zones[i].head_skew = p->zones[i].band_skew = (double)NAN;
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
