/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The span table of seek, long and precise, in virtual time, against the exact expectation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "simrun.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DISKS 1 /* five times slower there */
#endif
#endif
#ifndef DISKS
#define DISKS 3
#endif

extern const struct measure measure_seek;

static double cell(const struct table *t, size_t row, const char *key)
{
	int col = table_column(t, key);

	assert_true(col >= 0);
	return table_number(t, row, (size_t)col);
}

static const struct geometry *run_profile(struct sim_run *run, const char *profile, const char *words)
{
	struct sim *sim = sim_new();
	const struct geometry *g = disk_geometry(sim_model(sim_add_profile(sim, profile, "sda")));

	*run = (struct sim_run){ .sim = sim, .m = &measure_seek, .words = words };
	sim_set_contents(sim, false);
	if (sim_run(run) < 0)
		fail_msg("%s: %s", profile, run->err.text);
	return g;
}

static void done(struct sim_run *run)
{
	struct sim *sim = run->sim;

	sim_run_done(run);
	sim_free(sim);
}

static void spans_take_the_expected_time(void **state)
{
	static const char *const profiles[] = { "quantum-fireball-tm2110a", "modern-4tb", "seagate-cheetah-15k7" };

	(void)state;
	for (size_t p = 0; p < DISKS; p++) {
		struct sim_run run;
		const struct geometry *g =
			run_profile(&run, profiles[p], "--precision=0.4% --span-time=60s --no-curve --no-queue sda");
		const struct table *t = result_find_table(run.res, "spans");
		size_t compared = 0;

		assert_non_null(t);
		for (size_t i = 0; i < t->nrows; i++) {
			double first = cell(t, i, "first_byte"), mean = cell(t, i, "mean_ns");
			struct truth_random truth;

			if (isnan(mean)) /* all in the drive's cache */
				continue;
			truth_random(g, (uint64_t)first, (uint64_t)(first + cell(t, i, "span_bytes")), 4096, &truth);
			compared++;
			if (fabs(mean / truth.service_ns - 1.0) > 0.015)
				fail_msg("%s, span %zu: %.4f of the truth", profiles[p], i, mean / truth.service_ns);
		}
		assert_true(compared >= 5);
		done(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_take_the_expected_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
