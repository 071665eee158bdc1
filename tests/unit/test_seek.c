/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The seek curve and the figures of `seek` on simulated disks, against the curves of their profiles. PLATTER_LONG=1:
 * six seeds instead of one. */
#include "test.h"

#include "rows.h"
#include "seekrun.h"
#include "wild.h"

static const char *const rotating[] = {
	"quantum-fireball-tm2110a",
	"ibm-deskstar-60gxp",
	"maxtor-diamondmax-80",
	"modern-4tb",
	"samsung-hd103sj",
	"toshiba-x300",
	"seagate-cheetah-15k7",
	"seagate-medalist-st39140a",
	"tiny",
	"failing",
};
#define ROTATING (sizeof(rotating) / sizeof(rotating[0]))

static struct sim_run seek_on(const char *words, const char *profile)
{
	struct sim *sim = sim_new();

	(void)sim_add_profile(sim, profile, "sda");
	return run_on(sim, words);
}

/* Worst distance of the curve from the profile's, ns. */
static double worst_of_curve(const struct sim_run *run, size_t least_rows)
{
	const struct table *t = result_find_table(run->res, "curve");
	const struct geometry *g = geometry_of(run);
	double worst = 0.0;

	assert_non_null(t);
	assert_true(t->nrows >= least_rows);
	for (size_t row = 0; row < t->nrows; row++) {
		double off = number(t, row, "seek_ns") -
		             truth_seek_ns(g, number(t, row, "stroke_ratio") * (cylinders_of(g) - 1.0));

		worst = fabs(off) > fabs(worst) ? off : worst;
	}
	return worst;
}

static void assert_figure(const struct sim_run *run, const char *name, double truth, double ratio)
{
	double got = sim_figure(run, name);

	if (!(fabs(got - truth) <= fmax(ratio * truth, 0.1e6)))
		fail_msg("%s: %.3f ms, truth %.3f", name, got * 1e-6, truth * 1e-6);
}

static void assert_figures(const struct sim_run *run, const char *disk, double ratio)
{
	const struct geometry *g = geometry_of(run);

	const struct figure *track = result_find_figure(run->res, "track_to_track_ns");
	bool is_quick = strstr(run->words, "--quick") != NULL; /* from nine points: its interval has to hold */

	if (!is_quick || !(track->ci.low <= truth_seek_track_ns(g) && truth_seek_track_ns(g) <= track->ci.high))
		assert_figure(run, "track_to_track_ns", truth_seek_track_ns(g), ratio);
	assert_figure(run, "third_stroke_ns", truth_seek_third_ns(g), ratio);
	assert_figure(run, "average_seek_ns", truth_seek_average_ns(g), ratio);
	assert_figure(run, "full_stroke_ns", truth_seek_full_ns(g), ratio);
	assert_true(fabs(sim_figure(run, "overhead_ns") - geometry_profile(g)->ctl.overhead_ms * 1e6) < 0.05e6);
	assert_true(fabs(sim_figure(run, "rotation_rpm") * truth_period_ns(g) / 60e9 - 1.0) < 10e-6);
	print_message("%-28s t2t %+.3f third %+.3f average %+.3f full %+.3f ms", disk,
	              (sim_figure(run, "track_to_track_ns") - truth_seek_track_ns(g)) * 1e-6,
	              (sim_figure(run, "third_stroke_ns") - truth_seek_third_ns(g)) * 1e-6,
	              (sim_figure(run, "average_seek_ns") - truth_seek_average_ns(g)) * 1e-6,
	              (sim_figure(run, "full_stroke_ns") - truth_seek_full_ns(g)) * 1e-6);
}

/* Figures with an interval, and those of them that hold the truth. */
struct cover {
	size_t n, held;
};

static void check_interval(const struct sim_run *run, const char *name, double truth, struct cover *cover)
{
	const struct figure *f = result_find_figure(run->res, name);

	if (!f || !isfinite(figure_number(f)))
		return;
	assert_true(f->ci.low <= figure_number(f) && figure_number(f) <= f->ci.high);
	cover->n++;
	cover->held += f->ci.low <= truth && truth <= f->ci.high;
	if (!(f->ci.low <= truth && truth <= f->ci.high))
		print_message("  %s: %g, %g to %g, truth %g\n", name, figure_number(f), f->ci.low, f->ci.high, truth);
}

/* The profile's curve is the one that is fitted, but for the unit: parts of the stroke that holds data for cylinders.
 */
static void check_intervals(const struct sim_run *run, struct cover *cover)
{
	const struct geometry *g = geometry_of(run);
	const struct profile *p = geometry_profile(g);
	double n = cylinders_of(g), stroke = n - 1.0, average = 0.0;

	for (double d = 1; d < n; d++)
		average += 2.0 * (n - d) / (n * n) * truth_seek_ns(g, d);
	check_interval(run, "fit_a_ns", (p->seek.settle_ms + p->seek.a_ms) * 1e6, cover);
	check_interval(run, "fit_b_ns", p->seek.b_ms * sqrt(stroke) * 1e6, cover);
	check_interval(run, "fit_c_ns", (p->seek.settle_ms + p->seek.c_ms) * 1e6, cover);
	check_interval(run, "fit_e_ns", p->seek.e_ms * stroke * 1e6, cover);
	check_interval(run, "fit_knee_ratio", p->seek.knee / stroke, cover);
	check_interval(run, "overhead_ns", p->ctl.overhead_ms * 1e6, cover);
	check_interval(run, "track_to_track_ns", truth_seek_track_ns(g), cover);
	check_interval(run, "third_stroke_ns", truth_seek_ns(g, stroke / 3.0), cover);
	check_interval(run, "average_seek_ns", average, cover);
	check_interval(run, "full_stroke_ns", truth_seek_ns(g, stroke), cover);
}

TEST(every_distance_is_within_fifteen_hundredths_of_a_ms)
{
	unsigned seeds = getenv("PLATTER_LONG") ? 6 : 1;
	struct cover cover = { 0 };

	for (size_t i = 0; i < TALLY_FIRST(ROTATING, 4); i++)
		for (unsigned seed = 1; seed <= seeds; seed++) {
			char words[100];
			cleanup_run struct sim_run run = { 0 };
			double worst;

			(void)snprintf(words, sizeof(words), "--seed=%u --count=40 --slice=1ms --without=queue sda",
			               seed);
			run = seek_on(words, rotating[i]);
			worst = worst_of_curve(&run, 24);
			assert_figures(&run, rotating[i], 0.02);
			print_message(", worst %+.3f ms\n", worst * 1e-6);
			check_intervals(&run, &cover);
			assert_true(fabs(worst) < 0.15e6);
			assert_false(result_has_notice(run.res, "overhead"));
		}
	print_message("%zu of %zu intervals hold the profile's figure\n", cover.held, cover.n);
	assert_true(cover.held * 100 >= cover.n * 92);
}

/* Over few tracks nothing is shorter than the shorter of a change of heads and the next cylinder. */
TEST(over_few_tracks_the_head_switch_is_the_floor)
{
	for (size_t i = 0; i < TALLY_FIRST(ROTATING, 1); i++) {
		cleanup_run struct sim_run run = seek_on("--count=40 --slice=1ms --without=queue sda", rotating[i]);
		const struct table *t = result_find_table(run.res, "near");
		const struct geometry *g = geometry_of(&run);
		double floor_ns = fmin(geometry_profile(g)->seek.head_switch_ms * 1e6, truth_seek_track_ns(g)),
		       most_ns = fmax(geometry_profile(g)->seek.head_switch_ms * 1e6, geometry_seek_ns(g, 20));

		assert_true(t->nrows >= 8);
		for (size_t row = 0; row < t->nrows; row++) {
			if (!(number(t, row, "seek_ns") > floor_ns - 0.1e6))
				fail_msg("%s: %.0f tracks in %.3f ms, least %.3f", rotating[i],
				         number(t, row, "tracks"), number(t, row, "seek_ns") * 1e-6, floor_ns * 1e-6);
			if (number(t, row, "tracks") <= 12.0)
				assert_true(number(t, row, "seek_ns") < most_ns + 0.15e6);
		}
	}
}

static void noise(struct profile *p)
{
	p->noise.jitter_us = 30.0;
	p->noise.outlier_p = 0.01;
	p->noise.outlier_ms = 5.0;
	p->noise.retry_per_gb = 10.0;
}

TEST(noise_and_outliers_do_not_bend_the_curve)
{
	static const char *const names[] = { "quantum-fireball-tm2110a", "ibm-deskstar-60gxp", "modern-4tb" };

	for (size_t i = 0; i < TALLY_FIRST(3, 1); i++) {
		cleanup_run struct sim_run run =
			run_changed("--count=40 --slice=1ms --without=queue sda", names[i], noise);
		double worst = worst_of_curve(&run, 24);

		print_message("%-28s with noise: worst %+.3f ms\n", names[i], worst * 1e-6);
		assert_true(fabs(worst) < 0.15e6);
		for (size_t k = 0; k < run.res->nnotices; k++)
			print_message("%s\n", run.res->notices[k].text);
	}
}

/* What came by a few times only is no rotation, nor none; and a seek time is known to itself. */
TEST(what_a_moment_shows_is_no_figure)
{
	static const char *const times[] = { "1ms", "50ms", "300ms", "4s" };

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		const struct figure *track;
		char words[64];
		cleanup_run struct sim_run run = { 0 };

		(void)snprintf(words, sizeof(words), "--time=%s sda", times[i]);
		run = seek_on(words, "modern-4tb");
		track = result_find_figure(run.res, "track_to_track_ns");
		assert_true(!track || !isfinite(figure_number(track)) ||
		            interval_half(track->ci) <= figure_number(track));
		assert_false(result_has_notice(run.res, "not-rotating"));
	}
}

/* ---- kinds of devices ---- */

/* Answers that are seen at the ticks of a timer of 100 or 250 Hz: no disk turns with 6000 or 15000 rpm for that. */
TEST(the_ticks_of_a_timer_are_no_rotation)
{
	static const uint64_t tick_ns[] = { 10 * NS_PER_MS, 4 * NS_PER_MS };
	static const char *const names[] = { "modern-4tb", "ibm-deskstar-60gxp", "quantum-fireball-tm2110a" };

	for (size_t i = 0; i < 6; i++) {
		struct sim *sim = sim_new();
		cleanup_run struct sim_run run = { 0 };

		(void)sim_add_profile(sim, names[i / 2], "sda");
		sim_set_tick(sim, tick_ns[i % 2]);
		run = run_on(sim, "--quick --without=queue sda");
		assert_true(isnan(sim_figure(&run, "rotation_rpm")));
		assert_true(result_has_notice(run.res, "rotation-unclear"));
	}
}
