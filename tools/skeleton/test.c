/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The measurement on a simulated disk in virtual time: the truth is known, and every run is the same. */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "simrun.h"

extern const struct measure measure_skeleton;

static struct sim *sim;

static int setup(void **state)
{
	(void)state;
	sim = sim_new();
	(void)sim_add_profile(sim, "tiny", "sda");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_free(sim);
	return 0;
}

static struct sim_run run_of(const char *words)
{
	return (struct sim_run){ .sim = sim, .m = &measure_skeleton, .words = words };
}

TEST_WITH(the_mean_is_that_of_the_rows, setup, teardown)
{
	struct sim_run run = run_of("--count=200 sda");
	const struct table *t;
	const struct figure *f;
	double sum = 0.0;

	assert_int_equal(sim_run(&run), 0);
	assert_int_equal(run.res->status, STATUS_COMPLETE);
	t = result_find_table(run.res, "reads");
	f = result_find_figure(run.res, "mean_ns");
	assert_non_null(t);
	assert_int_equal(t->nrows, 200);
	for (size_t i = 0; i < t->nrows; i++)
		sum += table_number(t, i, (size_t)table_column(t, "service_ns"));
	assert_true(fabs(figure_number(f) * 200 / sum - 1) < 1e-9);
	assert_true(f->ci.low < figure_number(f) && figure_number(f) < f->ci.high);
	sim_run_done(&run);
}

TEST_WITH(what_does_not_fit_is_refused_with_a_sentence, setup, teardown)
{
	const char *const words[] = { "--block=1000 sda", "--count=1 sda", "", "sda sda", "nowhere" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct sim_run run = run_of(words[i]);

		assert_true(sim_run(&run) < 0);
		assert_true(strlen(run.err.text) > 10);
		sim_run_done(&run);
	}
}

static void send_signal(void *number)
{
	atomic_store((atomic_int *)number, SIGINT);
}

TEST_WITH(a_signal_keeps_what_was_measured, setup, teardown)
{
	atomic_int number = 0;
	struct sim_run run = run_of("--count=1000 sda");
	const struct table *t;

	run.cancel = &number;
	sim_at(sim, NS_PER_S, send_signal, &number);
	assert_int_equal(sim_run(&run), 0);
	assert_int_equal(run.res->status, STATUS_CANCELLED);
	t = result_find_table(run.res, "reads");
	assert_true(t->nrows > 10 && t->nrows < 1000);
	sim_run_done(&run);
}

TEST_WITH(the_same_samples_give_the_same_figures_again, setup, teardown)
{
	struct sim_run run = run_of("--count=100 sda");
	struct result *again = result_new("skeleton");
	struct err err = { 0 };

	assert_int_equal(sim_run(&run), 0);
	assert_int_equal(measure_skeleton.again(run.res, again, &err), 0);
	assert_true(figure_equals(result_find_figure(run.res, "mean_ns"), result_find_figure(again, "mean_ns")));
	result_free(again);
	sim_run_done(&run);
}
