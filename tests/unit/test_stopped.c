/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that did not run for a while: frozen with its container, stopped, suspended. Its disk did nothing wrong. */
#include "ran.h"

extern const struct measure measure_seek, measure_stream, measure_surface, measure_sustain, measure_transactions,
	measure_zones;

#define FREEZES   3
#define FROZEN_NS (2 * NS_PER_S)

static struct sim *frozen;

/* Nobody looks, and the disk goes on. */
static void freeze(void *arg)
{
	sim_clock(frozen)->now_ns += FROZEN_NS;
}

static struct sim_run run_on(const struct measure *m, const char *profile, const char *words, unsigned freezes,
                             uint64_t every_ns)
{
	PROFILE(p, profile);
	struct sim_run run = run_for(m, &p, words);

	frozen = run.sim;
	for (unsigned i = 0; i < freezes; i++)
		sim_at(run.sim, (i + 1) * every_ns + i * FROZEN_NS, freeze, NULL);
	MUST_RUN(run);
	return run;
}

/* Nothing of a freeze is in any figure, it is reported once, and what is said of the disk is the same. */
TEST(what_a_freeze_took_is_in_no_figure)
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
		  { "io_service_mean_ns", "response_mean_ns", "transactions_per_s" },
		  5 * NS_PER_S,
		  0.05 },
		{ &measure_transactions,
		  "--seed=3 --arrivals=20 --ios=1 --time=60s sda",
		  { "response_mean_ns", "transactions_per_s", "measured_s" },
		  5 * NS_PER_S,
		  0.05 },
		{ &measure_stream,
		  "--read --rate=10MB --time=20s --buffer=64MiB sda",
		  { "rate_bytes_per_s", "response_max_ns", "peak_bytes", "sustained" },
		  5 * NS_PER_S,
		  0.02 },
		{ &measure_sustain, "--seed=3 --rate=5MB --time=120s sda", { "last_bytes_per_s" }, 5 * NS_PER_S, 0.02 },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		cleanup_run struct sim_run plain = run_on(v[i].m, "tiny", v[i].words, 0, 0);
		cleanup_run struct sim_run run = run_on(v[i].m, "tiny", v[i].words, FREEZES, v[i].every_ns);

		assert_int_equal(notices(plain.res, "stopped", NULL), 0);
		assert_int_equal(notices(run.res, "stopped", NULL), 1);
		assert_int_equal(notices(run.res, "stalled", NULL), 0);
		for (size_t k = 0; k < 4 && v[i].figures[k]; k++) {
			double want = sim_figure(&plain, v[i].figures[k]), got = sim_figure(&run, v[i].figures[k]);

			print_message("  %s: %s %g, frozen %g\n", v[i].m->name, v[i].figures[k], want, got);
			assert_true(isfinite(want) && isfinite(got));
			assert_true(fabs(got - want) <= v[i].tolerance * fabs(want));
		}
	}
}

/* Each fiftieth read takes a minute. */
TEST(a_disk_that_stalls_again_and_again_is_one_notice_with_a_count)
{
	cleanup_run struct sim_run run = { 0 };
	unsigned n = 0;
	PROFILE(p, "tiny");

	assert_int_equal(profile_add_fail(&p, &(struct profile_fail){ .op = DISK_READ,
	                                                              .nth = 7,
	                                                              .every = 50,
	                                                              .short_bytes = UINT64_MAX,
	                                                              .delay_s = 60 }),
	                 0);
	MUST(profile_finish(&p, &err));
	run = ran_on(&measure_surface, &p, "--seed=3 sda");
	assert_int_equal(notices(run.res, "stalled", NULL), 1);
	for (size_t i = 0; i < run.res->nnotices; i++)
		if (strcmp(run.res->notices[i].code, "stalled") == 0)
			assert_int_equal(sscanf(run.res->notices[i].text,
			                        "For 5 s and longer no request completed, %u times", &n),
			                 1);
	assert_true(n > 1);
}

static void come(void *arg)
{
	sim_user_start(arg);
}

#define SPELLS 8

/* Another program reads in spells, seen by the kernel's counters or through another host: what is slow then is no
 * region of the disk. */
TEST(what_is_slow_only_while_others_read_is_no_slow_region)
{
	static struct sim_user users[SPELLS];
	static uint64_t took[SPELLS][400];
	unsigned regions = 0, read = 0, runs = TALLY_SEEDS(24);

	for (unsigned seed = 1; seed <= runs; seed++) {
		DRAWN(p, seed, "nearline");
		cleanup_run struct sim_run run = run_for(&measure_zones, &p, textf("--seed=%u sda", seed));
		struct sim_disk *sd = sim_find(run.sim, "sda");

		for (unsigned i = 0; i < SPELLS; i++) {
			users[i] = (struct sim_user){ .sd = sd,
				                      .rhythm = SIM_USER_THINKS,
				                      .mean_gap_ns = 20 * NS_PER_MS,
				                      .is_hidden = seed % 2,
				                      .most = 400 - 10 * seed,
				                      .took_ns = took[i] };
			sim_at(run.sim, (2 + 4 * i) * NS_PER_S, come, &users[i]);
		}
		assert_int_equal(sim_run(&run), 0);
		read += users[0].n > 0;
		regions += sim_figure(&run, "slow_regions") > 0;
		for (unsigned i = 0; i < SPELLS; i++)
			sim_user_wait(&users[i]);
	}
	print_message("  %u of %u runs with others, %u with slow regions\n", read, runs, regions);
	assert_int_equal(read, runs);
	assert_int_equal(regions, 0);
}

struct jump {
	struct sim_disk *sd;
	uint64_t before_bytes, by_bytes; /* modulo 2^64 */
	unsigned notices;
};

static void jump(void *arg)
{
	const struct jump *j = arg;

	sim_foreign_io(j->sd, &(struct device_io){ .read_bytes = j->by_bytes });
}

/* A counter that was reset shows nothing. */
TEST(a_counter_that_fell_is_no_read_of_others)
{
	const uint64_t gib = 1ull << 30;
	struct jump v[] = {
		{ .before_bytes = gib, .by_bytes = gib, .notices = 1 },
		{ .before_bytes = 64 * gib, .by_bytes = 0 - 64 * gib, .notices = 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		PROFILE(p, "tiny");
		cleanup_run struct sim_run run = run_for(&measure_seek, &p, "--seed=3 sda");

		v[i].sd = sim_find(run.sim, "sda");
		sim_foreign_io(v[i].sd, &(struct device_io){ .read_bytes = v[i].before_bytes });
		sim_at(run.sim, NS_PER_S, jump, &v[i]);
		assert_int_equal(sim_run(&run), 0);
		assert_int_equal(notices(run.res, "other-io", NULL), v[i].notices);
	}
}
