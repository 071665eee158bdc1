/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `seek` on simulated disks, against the exact expectation of their profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "simrun.h"

extern const struct measure measure_seek;

static struct sim_run seek_on(const char *words, const char *profile)
{
	struct sim_run run = { .sim = sim_new(), .m = &measure_seek, .words = words };

	(void)sim_add_profile(run.sim, profile, "sda");
	sim_set_contents(run.sim, false);
	if (sim_run(&run) < 0)
		fail_msg("%s: %s", profile, run.err.text);
	return run;
}

static void end(struct sim_run *run)
{
	sim_run_done(run);
	sim_free(run->sim);
}

static double figure(const struct sim_run *run, const char *name)
{
	return figure_number(result_find_figure(run->res, name));
}

static double number(const struct table *t, size_t row, const char *key)
{
	return table_number(t, row, (size_t)table_column(t, key));
}

static const struct geometry *geometry_of(struct sim_run *run)
{
	return disk_geometry(sim_model(sim_find(run->sim, "sda")));
}

static void every_span_is_within_three_hundredths_of_the_exact_expectation(void **state)
{
	static const char *const names[] = { "quantum-fireball-tm2110a", "seagate-medalist-st39140a" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sim_run run = seek_on("--precision=0.5% --span-time=30s --no-curve --no-queue sda", names[i]);
		const struct table *t = result_find_table(run.res, "spans");
		double worst = 0.0;

		for (size_t row = 0; row < t->nrows; row++) {
			double first = number(t, row, "first_byte"), bytes = number(t, row, "span_bytes"),
			       mean = number(t, row, "mean_ns"), off;
			struct truth_random truth;

			/* Small spans are partly in the drive's cache: what was read from the media is then no fair sample. */
			if (bytes < 4e6 || number(t, row, "hits") > 0.02 * number(t, row, "samples"))
				continue;
			truth_random(geometry_of(&run), (uint64_t)first, (uint64_t)(first + bytes), 4096, &truth);
			off = mean / truth.service_ns - 1.0;
			worst = fabs(off) > fabs(worst) ? off : worst;
			assert_true(fabs(off) < 0.03);
		}
		print_message("%-28s worst span %+.2f %%\n", names[i], 100.0 * worst);
		end(&run);
	}
}

static void the_seek_curve_follows_the_profile_s(void **state)
{
	static const char *const names[] = { "quantum-fireball-tm2110a", "ibm-deskstar-60gxp", "modern-4tb",
		                             "seagate-cheetah-15k7", "seagate-medalist-st39140a" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sim_run run = seek_on("--reads=40 --span-time=1ms --no-queue sda", names[i]);
		const struct table *t = result_find_table(run.res, "curve");
		const struct geometry *g = geometry_of(&run);
		double ss = 0.0, rms, full = figure(&run, "full_stroke_ns") - truth_seek_full_ns(g);

		assert_non_null(t);
		assert_true(t->nrows >= 20);
		for (size_t row = 0; row < t->nrows; row++) {
			double off = number(t, row, "seek_ns") -
			             truth_seek_ns(g, number(t, row, "stroke_ratio") * geometry_cylinders(g));

			ss += off * off;
		}
		rms = sqrt(ss / (double)t->nrows);
		print_message("%-28s rms %.3f ms, full stroke %+.3f ms\n", names[i], rms * 1e-6, full * 1e-6);
		assert_true(rms < 0.35e6);
		assert_true(fabs(full) < fmax(0.025 * truth_seek_full_ns(g), 0.15e6));
		assert_true(fabs(figure(&run, "average_seek_ns") / truth_seek_average_ns(g) - 1.0) < 0.03);
		end(&run);
	}
}

static void the_rotation_is_found_within_ten_millionths(void **state)
{
	static const char *const names[] = { "quantum-fireball-tm2110a", "maxtor-diamondmax-80", "samsung-hd103sj",
		                             "toshiba-x300", "seagate-cheetah-15k7" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sim_run run = seek_on("--quick --reads=40 --span-time=1ms --no-curve --no-queue sda", names[i]);

		assert_true(fabs(figure(&run, "rotation_rpm") * truth_period_ns(geometry_of(&run)) / 60e9 - 1.0) <
		            10e-6);
		end(&run);
	}
}

static void a_device_without_rotation_is_told_so_and_has_spans_and_a_queue(void **state)
{
	struct sim_run run = seek_on("--quick sda", "ssd-sata");

	(void)state;
	assert_true(isnan(figure(&run, "rotation_rpm")));
	assert_true(result_has_notice(run.res, "not-rotating"));
	assert_true(result_find_table(run.res, "spans")->nrows > 3);
	assert_true(result_find_table(run.res, "queue")->nrows == 3);
	assert_true(figure(&run, "queue_gain_ratio") > 1.5);
	end(&run);
}

static void a_shortest_positioning_queue_brings_more_the_deeper_it_is(void **state)
{
	struct sim_run run = seek_on("--reads=40 --span-time=4s --no-curve sda", "modern-4tb");
	const struct table *t = result_find_table(run.res, "queue");

	(void)state;
	assert_int_equal(t->nrows, 6);
	for (size_t i = 1; i < t->nrows; i++)
		assert_true(number(t, i, "iops") > 0.97 * number(t, i - 1, "iops"));
	assert_true(number(t, 5, "gain_ratio") > 1.5);
	end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_span_is_within_three_hundredths_of_the_exact_expectation),
		cmocka_unit_test(the_seek_curve_follows_the_profile_s),
		cmocka_unit_test(the_rotation_is_found_within_ten_millionths),
		cmocka_unit_test(a_device_without_rotation_is_told_so_and_has_spans_and_a_queue),
		cmocka_unit_test(a_shortest_positioning_queue_brings_more_the_deeper_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
