/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The span table and the queue of seek, long and precise, in virtual time, against the exact expectation.
 * PLATTER_LONG=1: longer, for all disks. */
#include "test.h"

#include "bars_check.h"
#include "seekrun.h"

#define IS_SLOW (TALLY_SHARE > 1) /* five times slower there */

static const char *const disks[] = {
	"quantum-fireball-tm2110a",
	"modern-4tb",
	"seagate-cheetah-15k7",
	"ibm-deskstar-60gxp",
	"maxtor-diamondmax-80",
	"toshiba-x300",
	"samsung-hd103sj",
	"seagate-medalist-st39140a",
	"tiny",
	"failing",
	"ssd-sata",
};
#define SPAN_BOUND 0.015
#define DISKS      ARRAY_LEN(disks)

static bool is_long(void)
{
	return getenv("PLATTER_LONG") != NULL;
}

static struct sim_run seek_on(const struct profile *p, const char *words)
{
	return ran_on(&measure_seek, p, words);
}

/*
 * How many spans were compared, all of which have a mean, with the expectation: within the bound; or, in runs too short
 * for that, what chance explains (four standard errors, as some 300 are compared). The worst of them in *ret_worst.
 */
static size_t compare_spans(const struct sim_run *run, const struct geometry *g, const char *disk, bool is_short,
                            double *ret_worst)
{
	const struct table *t = result_find_table(run->res, "spans");

	assert_non_null(t);
	assert_false(result_has_notice(run->res, "span-in-cache"));
	*ret_worst = 0.0;
	for (size_t i = 0; i < t->nrows; i++) {
		double first = number(t, i, "first_byte"), bytes = number(t, i, "span_bytes"),
		       mean = number(t, i, "mean_ns"), half = (number(t, i, "high") - number(t, i, "low")) / 2.0, off,
		       chance;
		struct truth_random truth;

		truth_random(g, (uint64_t)first, (uint64_t)(first + bytes), 4096, &truth);
		off = mean / truth.service_ns - 1.0;
		chance = is_short ? 4.0 / 1.96 * half / truth.service_ns : 0.0;
		*ret_worst = fabs(off) > fabs(*ret_worst) ? off : *ret_worst;
		if (!(fabs(off) <= fmax(SPAN_BOUND, chance)))
			fail_msg("%s, span %.0f at %.0f: %+.2f %%", disk, bytes, first, 100.0 * off);
	}
	return t->nrows;
}

/* Long ones for all disks with PLATTER_LONG; else for one whose cache has most of the small spans, and whose skew
 * exceeds the head switch. */
TEST(spans_take_the_expected_time)
{
	size_t n = IS_SLOW ? 2 : DISKS;

	for (size_t i = 0; i < n; i++) {
		bool is_short = !is_long() && (IS_SLOW || strcmp(disks[i], "samsung-hd103sj") != 0);
		double worst;
		size_t compared;
		PROFILE(p, disks[i]);
		cleanup_run struct sim_run run =
			seek_on(&p, is_short    ? "--precision=1% --slice=10s --without=curve,queue sda"
		                    : is_long() ? "--precision=0.3% --slice=3000s --without=curve,queue sda"
		                                : "--precision=0.5% --slice=1000s --without=curve,queue sda");

		compared = compare_spans(&run, geometry_of(&run), disks[i], is_short, &worst);
		print_message("%-28s %zu spans, worst %+.2f %%\n", disks[i], compared, 100.0 * worst);
		assert_true(compared >= 22);
	}
}

/* Of the whole device: each read that tells the media's time is in a bar, and the figures are where the bars say. */
TEST(the_distribution_is_of_all_reads_over_the_whole_device)
{
	for (size_t i = 0; i < (IS_SLOW ? 2 : DISKS); i++) {
		PROFILE(p, disks[i]);
		cleanup_run struct sim_run run = seek_on(&p, "--count=1000 --slice=1s --without=curve,queue sda");
		const struct table *t = result_find_table(run.res, "spans");
		size_t bars = assert_bars(run.res, NULL, number(t, 0, "samples"), number(t, 0, "p50_ns"));
		print_message("%-28s %zu bars of %.0f reads\n", disks[i], bars, number(t, 0, "samples"));
		for (size_t k = 0; k < 3; k++) {
			static const char *const names[] = { "random_access_p50_ns", "random_access_p95_ns",
				                             "random_access_p99_ns" };
			static const char *const keys[] = { "p50_ns", "p95_ns", "p99_ns" };
			double got = figure_number(result_find_figure(run.res, names[k])), want = number(t, 0, keys[k]);

			assert_true(fabs(got / want - 1.0) < 0.01);
		}
	}
}

/* Nothing is read again then. */
TEST(without_a_cache_no_span_is_left_out)
{
	for (size_t i = 0; i < (IS_SLOW ? 1 : 3); i++) {
		cleanup_run struct sim_run run = { 0 };
		double worst;
		PROFILE(p, disks[i]);

		p.cache.bytes = p.wcache.bytes = 0;
		MUST(profile_finish(&p, &err));
		run = seek_on(&p, "--precision=0.4% --slice=30s --without=curve,queue sda");
		assert_true(compare_spans(&run, geometry_of(&run), disks[i], true, &worst) >= 22);
		print_message("%-28s worst %+.2f %%\n", disks[i], 100.0 * worst);
	}
}

/* Longbottom 1997, 1 to 200 MB: what the profile was made from, its expectation within 5 % (40 MB: 4.7 %), and the
 * measured one beside that. */
TEST(the_fireball_gives_the_published_table_within_five_hundredths)
{
	static const double published_ms[] = { 11.0, 11.4, 12.4, 13.1, 14.3, 15.6, 16.5 };
	cleanup_run struct sim_run run = ran(&measure_seek, "quantum-fireball-tm2110a",
	                                     "--precision=0.4% --slice=60s --without=curve,queue sda");
	const struct geometry *g = geometry_of(&run);
	const struct table *t = result_find_table(run.res, "spans");
	size_t found = 0;

	for (size_t i = 0; i < t->nrows && found < 7; i++) {
		static const double mb[] = { 1, 2, 5, 10, 40, 100, 200 };
		struct truth_random truth;

		if (number(t, i, "first_byte") > 0.0 || number(t, i, "span_bytes") != mb[found] * 1e6)
			continue;
		truth_random(g, 0, (uint64_t)(mb[found] * 1e6), 4096, &truth);
		assert_true(fabs(truth.service_ns * 1e-6 / published_ms[found] - 1.0) < 0.05);
		assert_true(fabs(number(t, i, "mean_ns") / truth.service_ns - 1.0) < 0.015);
		found++;
	}
	assert_int_equal(found, 7);
}

/* ---- what the drive's cache answers ---- */

TEST(cached_reads_are_counted_as_the_drive_did)
{
	cleanup_run struct sim_run run =
		ran(&measure_seek, "seagate-medalist-st39140a", "--slice=3s --without=curve,queue sda");
	const struct disk_counters c = counted(&run);
	const struct table *t = result_find_table(run.res, "spans");
	double hits = 0.0;

	for (size_t i = 0; i < t->nrows; i++)
		hits += number(t, i, "hits");
	/* The search for the rotation makes some hits on purpose: nine, and as many as it takes to outdo the segments.
	 */
	assert_true(hits > 50.0);
	assert_true((double)c.hits - hits >= 9.0 && (double)c.hits - hits < 40.0);
	for (size_t i = 0; i < t->nrows; i++) /* a hit takes 0.15 ms: one would show in the least */
		assert_true(isnan(number(t, i, "mean_ns")) || number(t, i, "p50_ns") > 2e6);
}

/* ---- queue ---- */

/* IOPS of the model itself: a queue kept full with random reads, driven by its own events. */
static double direct_iops(const struct profile *p, uint32_t depth, size_t reads)
{
	struct disk *d = disk_new(p, 0);
	uint64_t now = 0, blocks = geometry_bytes(disk_geometry(d)) / 4096, first_ns = 0;
	struct disk_done fin;
	struct rng rng;
	size_t got = 0;

	rng_init(&rng, 12345, depth);
	for (uint32_t i = 0; i < depth; i++) {
		struct disk_req req = { .op = DISK_READ,
			                .len_bytes = 4096,
			                .offset_bytes = rng_below(&rng, blocks) * 4096 };

		assert_int_equal(disk_submit(d, now, &req), 0);
	}
	while (got < reads) {
		uint64_t event = disk_next_event_ns(d), answer = disk_next_done_ns(d);

		now = event < answer ? event : answer;
		disk_advance(d, now);
		while (disk_pop_done(d, now, &fin)) {
			struct disk_req req = { .op = DISK_READ,
				                .len_bytes = 4096,
				                .offset_bytes = rng_below(&rng, blocks) * 4096 };

			if (++got == depth)
				first_ns = fin.done_ns;
			assert_int_equal(disk_submit(d, fin.done_ns, &req), 0);
		}
	}
	disk_free(d);
	return (double)(got - depth) * 1e9 / (double)(now - first_ns);
}

TEST(a_queue_brings_what_the_model_says)
{
	static const char *const names[] = { "modern-4tb", "seagate-cheetah-15k7", "ibm-deskstar-60gxp" };

	for (size_t i = 0; i < TALLY_FIRST(ARRAY_LEN(names), 1); i++) {
		PROFILE(p, names[i]);
		cleanup_run struct sim_run run = seek_on(&p, "--count=40 --slice=40s --without=curve sda");
		const struct table *t = result_find_table(run.res, "queue");

		assert_int_equal(t->nrows, 6);
		assert_true(result_find_figure(run.res, "queue_gain_ratio")->ci.low < number(t, 5, "gain_ratio"));
		assert_true(result_find_figure(run.res, "queue_gain_ratio")->ci.high > number(t, 5, "gain_ratio"));
		for (size_t k = 0; k < t->nrows; k++) {
			uint32_t depth = (uint32_t)number(t, k, "depth");
			double truth = direct_iops(&p, depth, 8000), got = number(t, k, "iops"),
			       half = (number(t, k, "high") - number(t, k, "low")) / 2.0;

			assert_int_equal(depth, 1u << k);
			if (fabs(got - truth) > fmax(0.05 * truth, 1.5 * half))
				fail_msg("%s, depth %u: %.1f, the model %.1f", names[i], depth, got, truth);
		}
	}
}
