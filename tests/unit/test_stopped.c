/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that did not run for a while: frozen with its container, stopped, suspended. Its disk did nothing wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "rows.h"
#include "simrun.h"

extern const struct measure measure_seek, measure_stream, measure_surface, measure_transactions, measure_zones;

#define FREEZES   3
#define FROZEN_NS (2 * NS_PER_S)

static struct sim *frozen;

/* Nobody looks, and the disk goes on. */
static void freeze(void *arg)
{
	(void)arg;
	sim_clock(frozen)->now_ns += FROZEN_NS;
}

static struct sim_run run_on(const struct measure *m, const char *profile, const char *words, unsigned freezes,
                             uint64_t every_ns)
{
	struct sim_run run = { .sim = sim_new(), .m = m, .words = words };

	frozen = run.sim;
	(void)sim_add_profile(run.sim, profile, "sda");
	sim_set_contents(run.sim, false);
	for (unsigned i = 0; i < freezes; i++)
		sim_at(run.sim, (i + 1) * every_ns + i * FROZEN_NS, freeze, NULL);
	if (sim_run(&run) < 0)
		fail_msg("%s: %s", words, run.err.text);
	return run;
}

static unsigned notices(const struct sim_run *run, const char *code)
{
	unsigned n = 0;

	for (size_t i = 0; i < run->res->nnotices; i++)
		n += strcmp(run->res->notices[i].code, code) == 0;
	return n;
}

/* Nothing of a freeze is in any figure, it is reported once, and what is said of the disk is the same. */
static void what_a_freeze_took_is_in_no_figure(void **state)
{
	static const struct {
		const struct measure *m;
		const char *words, *figures[4];
		uint64_t every_ns;
		double tolerance;
	} v[] = {
		{ &measure_seek,
		  "--seed=3 sda",
		  { "average_seek_ns", "full_stroke_ns", "rotation_rpm" },
		  NS_PER_S,
		  0.03 },
		{ &measure_zones, "--seed=3 sda", { "start_bytes_per_s", "end_bytes_per_s" }, NS_PER_S, 0.01 },
		{ &measure_surface,
		  "--seed=3 sda",
		  { "unreadable_requests", "scanned_ratio", "rate_bytes_per_s" },
		  NS_PER_S,
		  0.02 },
		{ &measure_transactions,
		  "--seed=3 --users=4 --think=50ms --time=60s sda",
		  { "io_service_mean_ns", "response_mean_ns" },
		  5 * NS_PER_S,
		  0.05 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct sim_run plain = run_on(v[i].m, "tiny", v[i].words, 0, 0);
		struct sim_run run = run_on(v[i].m, "tiny", v[i].words, FREEZES, v[i].every_ns);

		assert_int_equal(notices(&plain, "stopped"), 0);
		assert_int_equal(notices(&run, "stopped"), 1);
		assert_int_equal(notices(&run, "stalled"), 0);
		for (size_t k = 0; k < 4 && v[i].figures[k]; k++) {
			double want = sim_figure(&plain, v[i].figures[k]), got = sim_figure(&run, v[i].figures[k]);

			print_message("  %s: %s %g, frozen %g\n", v[i].m->name, v[i].figures[k], want, got);
			assert_true(isfinite(want) && isfinite(got));
			assert_true(fabs(got - want) <= v[i].tolerance * fabs(want));
		}
		sim_run_end(&plain);
		sim_run_end(&run);
	}
}

/* The ring overflowed because nobody emptied it. */
static void a_stream_that_was_frozen_cannot_tell(void **state)
{
	struct sim_run run = run_on(&measure_stream, "modern-4tb", "--read --rate=100MB --time=60s --buffer=64MiB sda",
	                            1, 20 * NS_PER_S);

	(void)state;
	assert_int_equal(notices(&run, "stopped"), 1);
	assert_true(sim_figure(&run, "overflows") > 0);
	assert_false(run.res->verdict_is_no);
	assert_true(run.res->verdict_is_open);
	assert_true(isnan(sim_figure(&run, "sustained")));
	sim_run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_freeze_took_is_in_no_figure),
		cmocka_unit_test(a_stream_that_was_frozen_cannot_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
