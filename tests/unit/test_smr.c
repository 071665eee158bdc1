/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `smr` on disks whose truth is known: no verdict is wrong, and cache and bands are as large as they are. tools/wild
 * smr does it on hundreds of disks as they occur. Here small caches, so that they are full in seconds: PLATTER_LONG=1
 * for more of them.
 */
#include "test.h"

#include "measure/smr/smr.h"
#include "ran.h"
#include "wild.h"

extern const struct measure measure_smr, measure_stream;

enum kind { PLAIN, CACHED, SHINGLED };

/* 40 GB, four surfaces; what a media cache is like follows. */
#define MECHANICS                                                                        \
	"surfaces 4\ncache_kb 32768\nqueue_depth 32\noverhead_ms 0.1\nseek 0.8 0.05\n"   \
	"head_switch_ms 0.7\nserial SMRTEST1\ninterface_mbs 500\nphysical_sector 4096\n" \
	"write_cache_kb 8192\nwrite_start 0.2\nwrite_delay_ms 100\n"

struct drawn {
	enum kind kind;
	double rpm, band, entries; /* bytes */
	char text[900];
};

static void draw(struct drawn *d, uint64_t seed)
{
	struct rng rng;
	char cache[200] = "";

	rng_init(&rng, seed, 0x5352);
	d->kind = (enum kind)(seed % 3);
	d->rpm = rng_below(&rng, 2) ? 5400 : 7200;
	d->band = (double)(15 + rng_below(&rng, 26)) * 1048576;
	d->entries = (double)(5000 + rng_below(&rng, 8000));
	if (d->kind != PLAIN)
		(void)snprintf(cache, sizeof(cache), "media_cache_kb 1048576 %.0f %g\nmedia_cache_idle_ms %d\n",
		               d->entries, rng_below(&rng, 2) ? 0.5 : 0, 300 + (int)rng_below(&rng, 4000));
	if (d->kind == SHINGLED)
		(void)snprintf(cache + strlen(cache), sizeof(cache) - strlen(cache), "shingle_band_kb %.0f\n",
		               d->band / 1024);
	(void)snprintf(d->text, sizeof(d->text), MECHANICS "rpm %g\n%szone 4000 %d\nzone 4000 %d\n", d->rpm, cache, 330,
	               250);
}

static struct sim_run run_on(const struct profile *p, const char *words)
{
	return run_for(&measure_smr, p, words);
}

/* On a drawn one, which the caller is done with afterwards. */
static struct sim_run run_drawn(struct drawn *d, struct profile *p, uint64_t seed, const char *words)
{
	draw(d, seed);
	*p = profile_of(d->text);
	return run_on(p, words);
}

static void near(const struct sim_run *run, const char *name, double truth, double part)
{
	const struct figure *f = result_find_figure(run->res, name);

	if (!(fabs(figure_number(f) / truth - 1) <= part && f->ci.low <= truth && truth <= f->ci.high))
		fail_msg("%s is %.6g (%.6g .. %.6g), in truth %.6g", name, figure_number(f), f->ci.low, f->ci.high,
		         truth);
}

#define WRITE "--write --destroy-data=SMRTEST1 sda"

TEST(no_verdict_is_wrong_and_cache_and_bands_are_as_large_as_they_are)
{
	uint64_t n = getenv("PLATTER_LONG") ? 60 : 9;

	for (uint64_t seed = 0; seed < n; seed++) {
		struct drawn d;
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = run_drawn(&d, &p, seed, WRITE);

		assert_int_equal(sim_run(&run), 0);
		if (strcmp(text_of(run.res, "shingled"), d.kind == SHINGLED ? "yes" : "no") != 0)
			fail_msg("seed %d: %s reported\n%s", (int)seed, text_of(run.res, "shingled"), d.text);
		assert_int_equal(run.res->verdict_is_no, d.kind != SHINGLED);
		assert_true(sim_elapsed_ns(run.sim) < 300 * NS_PER_S);
		if (d.kind != PLAIN) {
			near(&run, "cache_entries", d.entries, 0.1);
			near(&run, "cache_bytes", 4096 * d.entries, 0.1);
		}
		if (d.kind == SHINGLED)
			near(&run, "band_bytes", d.band, 0.1);
		else
			assert_true(isnan(sim_figure(&run, "band_bytes")));
		assert_true((d.kind == PLAIN) == isnan(sim_figure(&run, "fast_writes_per_s")));
	}
}

/* A host that stands still at times, and a way to the disk that takes for each request what an arm takes: no kind of
 * disk is taken for another. */
TEST(a_host_that_stalls_makes_no_verdict_wrong)
{
	uint64_t n = getenv("PLATTER_LONG") ? 300 : 18;
	size_t told = 0;

	for (uint64_t seed = 0; seed < n; seed++) {
		struct drawn d;
		cleanup_profile struct profile p = { 0 };
		struct rng rng;
		cleanup_run struct sim_run run = { 0 };
		double stall_s, path_s;

		rng_init(&rng, seed, 0x5374);
		draw(&d, seed);
		p = profile_of(d.text);
		stall_s = 0.02 * pow(100, rng_double(&rng));
		path_s = stall_s * 0.001 * pow(100, rng_double(&rng));
		for (int i = 0; i < 6; i++) {
			struct profile_fail late = { .op = DISK_ANY,
				                     .nth = 1 + rng_below(&rng, 3000),
				                     .every = i % 2 ? 100 + rng_below(&rng, 3000)
				                                    : 1 + rng_below(&rng, 30),
				                     .short_bytes = UINT64_MAX };

			late.delay_s = (i % 2 ? stall_s : path_s) * pow(3, 2 * rng_double(&rng) - 1);
			assert_int_equal(profile_add_fail(&p, &late), 0);
		}
		MUST(profile_finish(&p, &err));
		run = run_on(&p, "--time=120s " WRITE);
		assert_int_equal(sim_run(&run), 0);
		if (strcmp(text_of(run.res, "shingled"), d.kind == SHINGLED ? "no" : "yes") == 0)
			fail_msg("seed %d: %s reported\n%s", (int)seed, text_of(run.res, "shingled"), d.text);
		told += strcmp(text_of(run.res, "shingled"), "undecided") != 0;
	}
	print_message("%zu of %d reported\n", told, (int)n);
	assert_true(told * 4 >= n);
}

static void late_by(struct profile *p, uint64_t every, int error, double s)
{
	assert_int_equal(profile_add_fail(p, &(struct profile_fail){ .op = error ? DISK_READ : DISK_ANY,
	                                                             .nth = 1,
	                                                             .every = every,
	                                                             .err = error,
	                                                             .short_bytes = UINT64_MAX,
	                                                             .delay_s = s }),
	                 0);
	MUST(profile_finish(p, &err));
}

/* Neither a read that fails nor one for which there was no time is a quick one, and looking at the way takes no time
 * that was not given. */
TEST(the_way_is_reported_by_what_was_answered_and_within_the_time)
{
	for (int is_late = 0; is_late < 2; is_late++) {
		struct drawn d;
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };

		draw(&d, 0);
		p = profile_of(d.text);
		if (!is_late)
			late_by(&p, 3, -EIO, 0);
		late_by(&p, 1, 0, is_late ? 1 : 0.02);
		run = run_on(&p, "--time=60s " WRITE);
		assert_int_equal(sim_run(&run), 0);
		assert_string_equal(text_of(run.res, "shingled"), "undecided");
		assert_true(is_late ? isnan(sim_figure(&run, "path_ns")) : sim_figure(&run, "path_ns") >= 0.02e9);
		assert_true(sim_elapsed_ns(run.sim) < 65 * NS_PER_S);
	}
}

/* Where the fullest band goes first, no write shows what a band of its own costs; and a drive may not clean as long as
 * it has room. */
TEST(what_cleans_otherwise_is_not_reported_wrong)
{
	static const char *const ways[] = { "media_cache_first fullest\n", "media_cache_idle_ms 10000000\n" };

	for (size_t i = 0; i < 2; i++) {
		struct drawn d;
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = { 0 };

		draw(&d, 2);
		(void)snprintf(d.text + strlen(d.text), sizeof(d.text) - strlen(d.text), "%s", ways[i]);
		p = profile_of(d.text);
		run = run_on(&p, "--time=100s " WRITE);
		assert_int_equal(sim_run(&run), 0);
		assert_string_equal(text_of(run.res, "shingled"), i ? "yes" : "undecided");
	}
}

TEST(a_disk_that_turns_and_takes_trim_may_be_shingled_and_nothing_else_shows)
{
	for (int i = 0; i < 2; i++) {
		struct drawn d;
		cleanup_profile struct profile p = { 0 };
		cleanup_run struct sim_run run = run_drawn(&d, &p, 2, "sda");
		struct device *dev = sim_device(sim_find(run.sim, "sda"));

		dev->queue.discard_max_bytes = i ? 1 << 30 : 0;
		dev->id.reported_rpm = 5400;
		assert_int_equal(sim_run(&run), 0);
		assert_string_equal(text_of(run.res, "shingled"), "undecided");
		assert_true(sim_figure(&run, "signs_log10_ratio") == 2 * i);
	}
}

TEST(without_consent_nothing_is_written_and_nothing_decided)
{
	struct drawn d;
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = run_drawn(&d, &p, 2, "sda");

	assert_int_equal(sim_run(&run), 0);
	assert_string_equal(text_of(run.res, "shingled"), "undecided");
	assert_false(run.res->verdict_is_no);
	assert_true(run.res->verdict_is_open);
	assert_true(result_has_notice(run.res, "nothing-written"));
	assert_int_equal(counted(&run).writes, 0);
	sim_run_end(&run);
	run = run_on(&p, "--write --destroy-data=SMRTEST2 sda");
	assert_true(sim_run(&run) < 0);
	assert_true(run.is_refused);
}

TEST(what_says_so_itself_is_believed)
{
	struct drawn d;
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = run_drawn(&d, &p, 2, WRITE);

	(void)snprintf(sim_device(sim_find(run.sim, "sda"))->queue.zoned, 16, "drive-managed");
	assert_int_equal(sim_run(&run), 0);
	assert_string_equal(text_of(run.res, "shingled"), "yes");
	assert_int_equal(counted(&run).writes, 0);
	assert_false(result_has_notice(run.res, "shingled"));
}

TEST(nothing_else_is_written_and_not_more_than_announced)
{
	const struct disk_write_log *log;
	size_t n;
	struct drawn d;
	cleanup_profile struct profile p = { 0 };
	struct sim_run dry, run = run_drawn(&d, &p, 2, "--range=3GB-5147483648 " WRITE);

	assert_int_equal(sim_run(&run), 0);
	log = disk_write_log(sim_model(sim_find(run.sim, "sda")), &n);
	assert_true(n > 1000);
	for (size_t i = 0; i < n; i++) {
		assert_true(log[i].offset_bytes >= 3000000000);
		assert_true(log[i].offset_bytes + log[i].len_bytes <= 3000000000 + (2ull << 30) + SMR_BLOCK);
	}
	dry = run_on(&p, "--dry-run --range=3GB-5147483648 " WRITE);
	assert_int_equal(sim_run(&dry), 0);
	assert_true((double)counted(&run).written_bytes <= sim_figure(&dry, "write_bytes"));
	sim_run_end(&run);
	sim_run_end(&dry);
}

/* What others measure of writing there may be the cache's; of reading it is not. */
TEST(who_writes_to_a_shingled_disk_is_reported)
{
	const char *const words[] = { "--write --destroy-data=SMRTEST1 --size=1M sda", "--read --size=1M sda" };
	struct drawn d;
	cleanup_profile struct profile p = { 0 };

	draw(&d, 2);
	p = profile_of(d.text);
	for (size_t says = 0; says < 2; says++)
		for (size_t i = 0; i < 2; i++) {
			cleanup_run struct sim_run run = run_on(&p, words[i]);

			run.m = &measure_stream;
			if (says)
				(void)snprintf(sim_device(sim_find(run.sim, "sda"))->queue.zoned, 16, "drive-managed");
			assert_int_equal(sim_run(&run), 0);
			assert_int_equal(result_has_notice(run.res, "shingled"), says && i == 0);
		}
}

TEST(a_signal_keeps_what_was_measured_and_decides_nothing)
{
	struct drawn d;
	cleanup_profile struct profile p = { 0 };
	cleanup_run struct sim_run run = run_drawn(&d, &p, 2, WRITE);

	run_until(&run, 20 * NS_PER_S);
	assert_string_equal(text_of(run.res, "shingled"), "undecided");
	assert_true(result_find_table(run.res, "writes")->nrows > 2);
}
