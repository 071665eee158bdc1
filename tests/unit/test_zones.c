/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `zones` on simulated disks, against the truth of their profiles. */
#include "test.h"

#include <stdatomic.h>

#include "measure/zones/zones.h"
#include "wild.h"
#include "zonesrun.h"

static size_t rows(const struct sim_run *run, const char *table)
{
	const struct table *t = result_find_table(run->res, table);

	return t ? t->nrows : 0;
}

/* So much as large requests alone took; most of the first pass has small ones, too, ... */
TEST(a_curve_takes_a_third_of_its_old_time)
{
	static const struct {
		const char *name;
		double most_s, half; /* of a place at most, relative: the median */
	} drives[] = { { "maxtor-diamondmax-80", 37, 0.002 },
		       { "seagate-cheetah-15k7", 13, 0.001 },
		       { "modern-4tb", 25, 0.0017 } };

	for (size_t i = 0; i < sizeof(drives) / sizeof(drives[0]); i++) {
		struct sim_run run;
		double half[64];
		PROFILE(p, drives[i].name);

		run = zones_on(&p, "sda");
		assert_int_equal(rows(&run, "curve"), 64);
		for (size_t r = 0; r < 64; r++) {
			const struct table *t = result_find_table(run.res, "curve");

			half[r] = 0.5 * (number(t, r, "high") - number(t, r, "low")) / number(t, r, "rate_bytes_per_s");
		}
		print_message("%-28s %.1f s, a place +-%.3f %%\n", drives[i].name,
		              (double)sim_elapsed_ns(run.sim) * 1e-9, 100.0 * stats_median(half, 64));
		assert_true((double)sim_elapsed_ns(run.sim) * 1e-9 < drives[i].most_s);
		assert_true(stats_median(half, 64) < drives[i].half);
		sim_run_end(&run);
	}
}

#define LONGER_NS 200e6 /* of that drive: eighteen revolutions, twice what small requests need */

/* ... but not once revolutions were lost: of how many there are only long samples tell. */
TEST(where_revolutions_are_lost_the_first_pass_has_long_samples)
{
	static const double retries_per_gb[] = { 0.0, 100.0 };
	size_t nlong[2] = { 0 };

	for (size_t i = 0; i < 2; i++) {
		struct sim_run run;
		const struct table *t;
		PROFILE(p, "maxtor-diamondmax-80");

		p.noise.retry_per_gb = retries_per_gb[i];
		run = zones_on(&p, "sda");
		t = result_find_table(run.res, "samples");
		for (size_t r = 0; r < t->nrows; r++)
			nlong[i] += number(t, r, "pass") == 0.0 && number(t, r, "elapsed_ns") > LONGER_NS &&
			            strcmp(table_string(t, r, (size_t)table_column(t, "kind")), "curve") == 0;
		sim_run_end(&run);
	}
	print_message("long ones in the first pass: %zu, where revolutions are lost %zu\n", nlong[0], nlong[1]);
	assert_true(nlong[0] < 28 && nlong[1] > 36);
}

TEST(at_most_one_of_sixty_clean_random_disks_has_a_slow_region)
{
	const struct profile_limits limits = { .max_bytes = 30000000000u,
		                               .max_zones = 8,
		                               .no_defects = true,
		                               .same_density = true,
		                               .no_serpentine = true };
	size_t found = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };

		MUST(profile_random(&p, seed, &limits, &err));
		run = zones_on(&p, "sda");
		if (rows(&run, "slow_regions"))
			print_message("seed %d: %zu slow regions\n", (int)seed, rows(&run, "slow_regions"));
		found += rows(&run, "slow_regions") > 0;
	}
	assert_true(found <= 1); /* none is the aim; a borderline step differs between compilers */
}

static void raise_signal(void *arg)
{
	atomic_store((atomic_int *)arg, 2);
}

TEST(an_interrupt_at_any_moment_leaves_a_document)
{
	PROFILE(p, "tiny");

	for (uint64_t ms = 1; ms < 20000; ms = ms * 2 + 17) {
		atomic_int cancel = 0;
		cleanup_run struct sim_run run = {
			.sim = sim_new(), .m = &measure_zones, .words = "sda", .cancel = &cancel
		};
		cleanup_result struct result *again = NULL;
		char *text;

		(void)sim_add_disk(run.sim, &p, "sda");
		sim_set_contents(run.sim, false);
		sim_at(run.sim, ms * NS_PER_MS, raise_signal, &cancel);
		assert_int_equal(sim_run(&run), 0);
		if (cancel)
			assert_int_equal(run.res->status, STATUS_CANCELLED);
		text = result_to_json(run.res);
		MUST(result_from_json(&again, text, strlen(text), &err));
		free(text);
		assert_int_equal(sim_opens(sim_find(run.sim, "sda")), 0);
	}
}

TEST(writing_wants_consent_and_putting_back_changes_nothing)
{
	cleanup_run struct sim_run run = { .sim = sim_new(), .m = &measure_zones, .words = "--write sda" };
	struct sim_disk *sd;
	uint64_t before;

	sd = sim_add_profile(run.sim, "tiny", "sda");
	before = disk_contents_hash(sim_model(sd));
	assert_true(sim_run(&run) < 0);
	assert_true(run.is_refused);
	assert_int_equal(disk_contents_hash(sim_model(sd)), before);
	assert_int_equal(sim_write_opens(sd), 0);
}

/* 8 MiB that take 15 ms to write, on a busy machine: where the two pieces of a sample cannot be told apart its rate is
 * a lower bound. */
TEST(writing_to_a_small_fast_device_says_no_rate_that_it_does_not_have)
{
	size_t good = 0, samples = 0;
	double fastest = 0.0, slowest = INFINITY;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct profile p;
		struct sim_run run;
		const struct table *t;

		load(&p, "ssd-sata");
		p.capacity_lba = 16384;
		p.seed = seed;
		p.noise.jitter_us = 3000; /* more than the pieces take */
		MUST(profile_finish(&p, &err));
		run = zones_on(&p, "--write --destroy-data=SIM00000SSD sda");
		t = result_find_table(run.res, "samples");
		for (size_t r = 0; r < t->nrows; r++) {
			double rate = number(t, r, "rate_bytes_per_s");

			samples++;
			if (isnan(rate))
				continue;
			good++;
			fastest = fmax(fastest, rate);
			slowest = fmin(slowest, rate);
		}
		if (isnan(sim_figure(&run, "start_bytes_per_s")))
			assert_true(result_has_notice(run.res, "no-figure"));
		else
			assert_true(sim_figure(&run, "start_bytes_per_s") < 1.1 * 550e6);
		assert_int_equal(sim_write_opens(sim_find(run.sim, "sda")), 0);
		sim_run_end(&run);
		profile_done(&p);
	}
	print_message("%zu of %zu samples have a rate, %.1f to %.1f MB/s\n", good, samples, slowest * 1e-6,
	              fastest * 1e-6);
	assert_true(samples > 0);
	assert_true(slowest > 0.0);
}

/* Whose requests are smaller than what a segment of most buffers holds: reading one again and again stopped the run. */
TEST(a_small_disk_with_small_segments_is_measured)
{
	const struct profile_limits limits = { .max_bytes = 2000000000,
		                               .jitter_us = JITTER_US,
		                               .retry_per_gb = RETRY_PER_GB,
		                               .slow_regions = 2,
		                               .same_density = true };
	cleanup_run struct sim_run run = { 0 };
	cleanup_profile struct profile p = { 0 };

	MUST(profile_random(&p, 130, &limits, &err));
	run = zones_seeded(&p, 130);
	assert_int_equal(result_find_table(run.res, "spots")->nrows, 3);
}

static void host_stands_still(void *sim)
{
	sim_set_host_cost(sim, 0, 200000000);
}

static void host_goes_on(void *sim)
{
	sim_set_host_cost(sim, 0, 0);
}

/* While the host stands still the disk empties its cache: the media look slow, all before cached, and the flush has
 * nothing left to do. */
TEST(a_flush_is_not_told_for_early_where_the_host_stood_still)
{
	for (uint64_t at_ms = 500; at_ms < 1250; at_ms += 5) {
		cleanup_run struct sim_run run = { .sim = sim_new(),
			                           .m = &measure_zones,
			                           .words = "--write --destroy-data=SIM0004000 --zones=start sda" };
		PROFILE(p, "modern-4tb");

		p.wcache.bytes = 32 << 20;
		MUST(profile_finish(&p, &err));
		(void)sim_add_disk(run.sim, &p, "sda");
		sim_set_contents(run.sim, false);
		sim_at(run.sim, at_ms * 1000000, host_stands_still, run.sim);
		sim_at(run.sim, at_ms * 1000000 + 1000000, host_goes_on, run.sim);
		if (sim_run(&run) < 0)
			fail_msg("%d ms: %s", (int)at_ms, run.err.text);
		assert_false(result_has_notice(run.res, "flush-returns-at-once"));
	}
}

/* Whoever puts bytes back relies on flushes: where they say what is not so, --rewrite stops, with every byte in its
 * place. */
TEST(putting_back_stops_where_a_flush_ends_early)
{
	cleanup_run struct sim_run run = { .sim = sim_new(),
		                           .m = &measure_zones,
		                           .words = "--rewrite --rewrite-data=SIM0004000 --journal=/tmp --zones sda" };
	uint64_t before;
	PROFILE(p, "modern-4tb");

	p.wcache.is_flush_ignored = true;
	MUST(profile_finish(&p, &err));
	before = disk_contents_hash(sim_model(sim_add_disk(run.sim, &p, "sda")));
	assert_int_equal(sim_run(&run), -EIO);
	assert_non_null(strstr(run.err.text, "flushed before it has"));
	assert_true(result_has_notice(run.res, "flush-returns-at-once"));
	assert_int_equal(disk_contents_hash(sim_model(sim_find(run.sim, "sda"))), before);
}

static struct sim_run disk_of(const char *text, const char *words)
{
	cleanup_profile struct profile p = { 0 };
	struct sim_run run;

	MUST(profile_parse(&p, "skewed", text, strlen(text), &err));
	run = zones_on(&p, words);
	return run;
}

#define ARM                                                                                                            \
	"rpm 7200\nsurfaces 4\nqueue_depth 8\noverhead_ms 0.1\nseek 0.8 0.05\nhead_switch_ms 0.7\ninterface_mbs 900\n" \
	"cache_kb 8192\nhead_skew 0.2\ncyl_skew 0.2\nband_skew 0.2\nzone 40000 2000\nzone 40000 1200\n"

/*
 * Once by the mapping that the kernel tells of, once as one drive: what is said of the first is said of all its
 * members.
 */
TEST(of_a_volume_over_several_disks_no_slow_place_is_reported)
{
	static const char *const texts[] = { ARM "arms interleaved\narm_stripe_kb 512\ntransport dm\n",
		                             ARM "arms interleaved\narm_stripe_kb 512\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cleanup_run struct sim_run run = disk_of(texts[i], "sda");
		const struct table *bands = result_find_table(run.res, "bands");
		cleanup_result struct result *again = result_new("zones");
		struct err err;

		assert_true(result_has_notice(run.res, "several-disks") == !i);
		/* Where one disk waits for another no slow place can be told from that, nor when the document is
		 * computed again. */
		assert_true((sim_figure(&run, "slow_least_loss_ratio") == 1.0) == !i);
		assert_int_equal(measure_zones.again(run.res, again, &err), 0);
		assert_true((figure_number(result_find_figure(again, "slow_least_loss_ratio")) == 1.0) == !i);
		assert_int_equal(rows(&run, "slow_regions"), 0);
		assert_int_equal(rows(&run, "stretches"), 0);
		assert_int_equal(rows(&run, "arms"), 0);
		assert_true(bands->nrows == 2);
	}
}

/* Two arms over halves: each as fast alone as its tracks are, both at once twice that. One arm, or stripes, have no
 * ranges of their own. */
TEST(two_arms_are_measured_alone_and_at_once)
{
	static const char *const texts[] = { ARM "arms halves\n", ARM, ARM "arms interleaved\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cleanup_run struct sim_run run = disk_of(texts[i], "sda");
		const struct table *t = result_find_table(run.res, "arms");
		double both = 0.0, alone = 0.0;

		assert_int_equal(rows(&run, "arms"), i ? 0 : 2);
		assert_true(result_has_notice(run.res, "arms") == !i);
		for (size_t r = 0; r < rows(&run, "arms"); r++) {
			uint64_t first = (uint64_t)number(t, r, "first_byte");
			double truth = truth_rate(geometry_of(&run), first, first + (4ull << 30));

			assert_true(fabs(number(t, r, "alone_bytes_per_s") / truth - 1.0) < 0.02);
			assert_true(number(t, r, "alone_low_bytes_per_s") < truth &&
			            number(t, r, "alone_high_bytes_per_s") > truth);
			alone = fmax(alone, number(t, r, "alone_bytes_per_s"));
			both += number(t, r, "together_bytes_per_s");
		}
		if (!i) {
			assert_true(fabs(sim_figure(&run, "arms_bytes_per_s") / both - 1.0) < 1e-6);
			assert_true(fabs(sim_figure(&run, "arms_gain_ratio") - 2.0) < 0.04);
			assert_true(number(t, 0, "last_byte") + 1.0 == number(t, 1, "first_byte"));
		}
	}
}

/* How many zones there are: exactly, at least, or nothing where there may be any number. */
TEST(where_time_ends_before_all_places_are_read_there_may_be_more_zones_and_none_lies_beyond)
{
	for (int tenths = 5; tenths < 60; tenths += 5) {
		char words[64];
		const struct table *bands, *curve;
		double read_to = 0.0, cell;
		cleanup_run struct sim_run run = { .sim = sim_new(), .m = &measure_zones, .words = words };

		(void)snprintf(words, sizeof(words), "--time=%dms sda", 100 * tenths);
		(void)sim_add_profile(run.sim, "modern-4tb", "sda");
		assert_int_equal(sim_run(&run), 0);
		if (sim_figure(&run, "bands") > 1.0 && !result_has_notice(run.res, "zones-at-least"))
			fail_msg("%s: %g zones", words, sim_figure(&run, "bands"));
		bands = result_find_table(run.res, "bands");
		curve = result_find_table(run.res, "curve");
		for (size_t i = 0; i < curve->nrows; i++)
			read_to = fmax(read_to, number(curve, i, "last_byte")); /* NaN: not read */
		cell = (double)sim_device(sim_find(run.sim, "sda"))->size_bytes / 60;
		for (size_t i = 0; i < bands->nrows; i++)
			assert_true(number(bands, i, "last_byte") <= read_to + cell);
	}
}
