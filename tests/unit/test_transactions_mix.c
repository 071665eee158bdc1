/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes that are mixed, and arrivals at equal times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/cleanup.h"
#include "simrun.h"

extern const struct measure measure_transactions;

static struct result *measured(const char *words)
{
	struct sim_run run = { .sim = sim_new(), .m = &measure_transactions, .words = words };

	(void)sim_add_profile(run.sim, "modern-4tb", "sda");
	sim_set_contents(run.sim, false);
	if (sim_run(&run) < 0)
		fail_msg("%s: %s", words, run.err.text);
	sim_free(run.sim);
	return run.res;
}

static double samples_of(const struct result *res, const char *name)
{
	const struct figure *f = result_find_figure(res, name);

	assert_non_null(f);
	return (double)f->samples;
}

/* Within four deviations of a binomial share, and each with a time of its own. */
static void a_share_of_the_requests_writes(void **state)
{
	static const double shares[] = { 0.05, 0.3, 0.8 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		char words[160];
		struct result *res;
		double reads, writes, n;

		(void)snprintf(words, sizeof(words),
		               "--write=%g%% --destroy-data=SIM0004000 --users=2 --time=60s --seed=%zu sda",
		               100.0 * shares[i], i + 1);
		res = measured(words);
		reads = samples_of(res, "io_read_mean_ns");
		writes = samples_of(res, "io_write_mean_ns");
		n = reads + writes;
		assert_true(n > 1000.0);
		assert_true(fabs(writes - n * shares[i]) < 4.0 * sqrt(n * shares[i] * (1.0 - shares[i])));
		assert_true(figure_number(result_find_figure(res, "io_read_mean_ns")) !=
		            figure_number(result_find_figure(res, "io_write_mean_ns")));
		assert_true(n == samples_of(res, "io_service_mean_ns"));
		result_free(res);
	}
}

static void all_or_none_of_the_requests_write_without_a_mix(void **state)
{
	static const char *const words[] = { "--time=10s sda", "--write --destroy-data=SIM0004000 --time=10s sda",
		                             "--write=100% --destroy-data=SIM0004000 --time=10s sda" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct result *res = measured(words[i]);

		assert_null(result_find_figure(res, "io_read_mean_ns"));
		assert_null(result_find_figure(res, "io_write_mean_ns"));
		result_free(res);
	}
}

/* A mix needs consent like any write. */
static void a_mix_without_consent_is_refused(void **state)
{
	struct sim_run run = { .sim = sim_new(), .m = &measure_transactions, .words = "--write=1% sda" };

	(void)state;
	(void)sim_add_profile(run.sim, "tiny", "sda");
	assert_true(sim_run(&run) < 0);
	assert_true(run.is_refused);
	result_free(run.res);
	sim_free(run.sim);
}

/* 10 a second for 60 s: none more, none less, and no queue where a request takes 13 ms. */
static void equal_times_between_arrivals_are_equal(void **state)
{
	struct result *res = measured("--arrivals=10 --ios=1 --class=law=fixed --time=60s sda");

	(void)state;
	assert_true(figure_number(result_find_figure(res, "transactions")) == 600.0);
	assert_true(figure_number(result_find_figure(res, "response_max_ns")) < 40e6);
	result_free(res);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_of_the_requests_writes),
		cmocka_unit_test(all_or_none_of_the_requests_write_without_a_mix),
		cmocka_unit_test(a_mix_without_consent_is_refused),
		cmocka_unit_test(equal_times_between_arrivals_are_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
