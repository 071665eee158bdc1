/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `zones` calls slow, against disks whose slow regions are known: every one that loses at least what the run
 * itself says that it can tell (slow_least_loss_ratio) is found, and none is found where there is none. PLATTER_LONG=1
 * takes five times as many disks.
 */
#include "test.h"

#include "zonesrun.h"

#define LOST_OFTEN 0.08 /* of its time; where a region has many samples, so much is nearly always found */

/* Does some sample lie wholly within [first, end)? */
static bool is_sampled(const struct sim_run *run, uint64_t first, uint64_t end)
{
	const struct table *t = result_find_table(run->res, "samples");

	for (size_t r = 0; r < t->nrows; r++)
		if (number(t, r, "counted_from_bytes") >= (double)first && number(t, r, "end_bytes") <= (double)end)
			return true;
	return false;
}

static bool is_found(const struct sim_run *run, uint64_t first, uint64_t end)
{
	const struct table *t = result_find_table(run->res, "slow_regions");

	for (size_t r = 0; r < t->nrows; r++)
		if (number(t, r, "first_byte") < (double)end && number(t, r, "last_byte") >= (double)first)
			return true;
	return false;
}

/* Part of its time that the disk loses in the region: by the truth of the same disk without it. */
static double lost_in(const struct profile *p, const struct truth_region *r)
{
	cleanup_profile struct profile healthy = { 0 };
	struct geometry *g;
	double lost;

	assert_int_equal(profile_copy(&healthy, p), 0);
	healthy.media.nslows = 0;
	g = geometry_new(&healthy);
	assert_non_null(g);
	lost = 1.0 - r->rate_bytes_per_s / truth_rate(g, r->first_byte, r->end_byte);
	geometry_free(g);
	return lost;
}

struct counts {
	size_t disks, false_ones;
	size_t n, found;             /* regions of at least a sample that lose at least what the run can tell */
	size_t lesser, lesser_found; /* that lose less, but LOST_OFTEN */
	double least, most;          /* what the runs can tell */
};

/* What was called slow is at least partly a slow region, or slower in truth. */
static size_t count_false(const struct sim_run *run, const struct truth_region *regions, size_t n, uint64_t seed)
{
	const struct table *t = result_find_table(run->res, "slow_regions");
	size_t bad = 0;

	for (size_t r = 0; r < t->nrows; r++) {
		bool is_true = false;

		for (size_t i = 0; i < n; i++)
			is_true |= number(t, r, "first_byte") < (double)regions[i].end_byte &&
			           number(t, r, "last_byte") >= (double)regions[i].first_byte;
		is_true = is_true || is_slow_in_truth(geometry_of(run), t, r);
		bad += !is_true;
		if (!is_true)
			print_message("seed %d: no slow region at %.3f .. %.3f GB\n", (int)seed,
			              number(t, r, "first_byte") * 1e-9, number(t, r, "last_byte") * 1e-9);
	}
	return bad;
}

static void count_regions(const struct profile *p, uint64_t seed, struct counts *to)
{
	struct truth_region regions[8];
	struct sim_run run = zones_seeded(p, seed);
	size_t n = truth_regions(geometry_of(&run), regions, 8);
	double least = sim_figure(&run, "slow_least_loss_ratio");

	to->disks++;
	to->false_ones += count_false(&run, regions, n, seed);
	to->least = to->disks == 1 ? least : fmin(to->least, least);
	to->most = fmax(to->most, least);
	for (size_t i = 0; i < n; i++) {
		const struct truth_region *r = &regions[i];
		double lost = lost_in(p, r);
		bool found = is_found(&run, r->first_byte, r->end_byte);

		if (!is_sampled(&run, r->first_byte, r->end_byte))
			continue;
		to->n += lost >= least;
		to->found += lost >= least && found;
		to->lesser += lost < least && lost >= LOST_OFTEN;
		to->lesser_found += lost < least && lost >= LOST_OFTEN && found;
		if (lost >= LOST_OFTEN && !found)
			print_message("disk %d: slow region %.3f .. %.3f GB loses %.1f %%, not found (least %.1f %%)\n",
			              (int)seed, (double)r->first_byte * 1e-9, (double)r->end_byte * 1e-9, 100 * lost,
			              100 * least);
	}
	sim_run_end(&run);
}

/* missed: at most so many of those that a run can tell. */
static void check_counts(const struct counts *c, const char *what, size_t missed)
{
	print_message(
		"%s: %zu disks, %zu of %zu slow regions of at least %.0f .. %.0f %% found, %zu of %zu lesser ones, "
		"%zu false\n",
		what, c->disks, c->found, c->n, 100 * c->least, 100 * c->most, c->lesser_found, c->lesser,
		c->false_ones);
	assert_true(c->n > 0);
	assert_true(c->found + missed >= c->n);
	assert_int_equal(c->false_ones, 0);
	/* Those lose less than the run promises to see: some are as likely by chance. */
	if (TALLY_SHARE == 1) /* of a few disks a share says nothing */
		assert_true(10 * c->lesser_found >= 7 * c->lesser);
}

TEST(every_slow_region_that_a_run_can_tell_is_found_and_no_false_one_on_large_disks)
{
	struct counts c = { 0 };

	for (uint64_t seed = 1; seed <= runs(40); seed++) {
		const struct profile_limits limits = { .max_bytes = 100000000000u,
			                               .jitter_us = JITTER_US,
			                               .retry_per_gb = RETRY_PER_GB,
			                               .slow_regions = (uint32_t)(seed % 4 + 1),
			                               .same_density = true };
		cleanup_profile struct profile p = { 0 };

		if (random_disk(&p, seed, &limits))
			count_regions(&p, seed, &c);
	}
	check_counts(&c, "disks of up to 100 GB", 1); /* none of 64 with these seeds */
}

/* Disks of 0.3 to 2.7 GB, up to half of them slow: a sample has few revolutions there. */
TEST(every_slow_region_that_a_run_can_tell_is_found_and_no_false_one_on_small_disks)
{
	struct counts c = { 0 };

	for (uint64_t seed = 1; seed <= runs(80); seed++) {
		const struct profile_limits limits = { .max_bytes = 1000000000u * (1 + seed % 3),
			                               .jitter_us = JITTER_US,
			                               .retry_per_gb = RETRY_PER_GB,
			                               .slow_regions = (uint32_t)(seed % 4),
			                               .same_density = true };
		cleanup_profile struct profile p = { 0 };

		if (random_disk(&p, seed, &limits))
			count_regions(&p, seed, &c);
	}
	check_counts(&c, "disks of up to 2.7 GB", 1); /* one of 14 with these seeds */
}

/* Makes the bytes that one sample of this run counts lose a part of their time: a revolution again and again. */
static void slow_sample(struct profile *p, const struct sim_run *run, size_t row, double lost)
{
	const struct table *t = result_find_table(run->res, "samples");
	double from = number(t, row, "counted_from_bytes"), end = number(t, row, "end_bytes");
	double per_rev = number(t, row, "rate_bytes_per_s") * 60.0 / p->spindle.rpm;
	struct profile_slow s = { .lba = (uint64_t)from / p->logical_sector_bytes,
		                  .count = (uint64_t)(end - from) / p->logical_sector_bytes,
		                  .every = (uint32_t)(per_rev * (1.0 - lost) / lost / p->physical_sector_bytes),
		                  .revolutions = 1 };

	assert_int_equal(profile_add_slow(p, &s), 0);
	MUST(profile_finish(p, &err));
}

TEST(a_region_of_exactly_one_sample_is_told)
{
	static const char *const names[] = { "quantum-fireball-tm2110a", "ibm-deskstar-60gxp", "maxtor-diamondmax-80",
		                             "seagate-cheetah-15k7", "modern-4tb" };
	size_t n = 0, found = 0, false_ones = 0;

	for (size_t k = 0; k < runs(10); k++) {
		struct truth_region region;
		struct sim_run run;
		PROFILE(p, names[k % 5]);

		p.noise.jitter_us = JITTER_US;
		p.seed = k + 1;
		run = zones_seeded(&p, k + 1);
		slow_sample(&p, &run, 5 + 11 * k % 170, sim_figure(&run, "slow_least_loss_ratio") + 0.1);
		sim_run_end(&run);
		run = zones_seeded(&p, k + 1);
		assert_int_equal(truth_regions(geometry_of(&run), &region, 1), 1);
		n++;
		found += is_found(&run, region.first_byte, region.end_byte);
		if (!is_found(&run, region.first_byte, region.end_byte))
			print_message("%s, seed %zu: not found\n", p.name, k + 1);
		false_ones += count_false(&run, &region, 1, k + 1);
		sim_run_end(&run);
	}
	print_message("%zu of %zu regions of one sample reported, %zu false\n", found, n, false_ones);
	assert_true(found + 1 >= n); /* one in twenty loses less in its sample than the run promises, by chance */
	assert_int_equal(false_ones, 0);
}

/* Whatever is drawn: what is called slow is slow, and no zone of a disk is faster than the one before it. */
TEST(what_wild_disks_have_is_true)
{
	static const struct {
		const char *class;
		uint64_t first;
		size_t n;
	} drawn[] = {
		{ NULL, 101, 8 },
		{ "bridge", 101, 6 },
		{ "old-ide", 101, 4 },
		{ "dying", 101, 8 },
		{ "old-ide", 975030054, 1 }, /* these lose much in small requests at a place, and less in large ones */
		{ "old-ide", 975030141, 1 },
		{ "old-ide", 976010022, 1 },
		{ NULL, 976200006, 1 }, /* the last zones of a disk are slow beside the next disk's first */
	};
	size_t told = 0;

	for (size_t i = 0; i < ARRAY_LEN(drawn); i++) {
		for (size_t k = 0; k < runs(drawn[i].n); k++) {
			cleanup_run struct sim_run run = zones_on_wild(drawn[i].first + k, drawn[i].class);
			const struct table *slow = result_find_table(run.res, "slow_regions");
			const struct table *bands = result_find_table(run.res, "bands");
			const struct table *stretches = result_find_table(run.res, "stretches");
			double anew = INFINITY;

			for (size_t r = 0; r < stretches->nrows; r++)
				if (strcmp(string_of(stretches, r, "kind"), "another device or actuator") == 0)
					anew = number(stretches, r, "first_byte");
			for (size_t r = 0; r < slow->nrows; r++)
				if (!is_slow_in_truth(geometry_of(&run), slow, r))
					fail_msg("disk %" PRIu64 " (%s): %.0f to %.0f is not as slow as reported",
					         drawn[i].first + k, drawn[i].class ? drawn[i].class : "any",
					         number(slow, r, "first_byte"), number(slow, r, "last_byte"));
			for (size_t r = 1; r < bands->nrows; r++)
				assert_true(number(bands, r, "rate_bytes_per_s") <
				                    number(bands, r - 1, "rate_bytes_per_s") ||
				            (number(bands, r - 1, "first_byte") < anew &&
				             number(bands, r, "last_byte") > anew));
			told += slow->nrows;
		}
	}
	print_message("%zu slow regions\n", told);
	assert_true(told >= (TALLY_SHARE == 1 ? 4 : 1));
}

/* Bytes that were read a moment ago come out of the buffer, and their place looks like a zone of its own: on this disk
 * three times as fast as the media. */
TEST(edges_of_zones_are_read_where_nothing_was)
{
	cleanup_run struct sim_run run = { 0 };
	const struct table *t;
	size_t n = 0;

	run = zones_on_wild(100232, NULL);
	t = result_find_table(run.res, "samples");
	for (size_t r = 0; r < t->nrows; r++)
		for (size_t k = 0; k < r && strcmp(table_string(t, r, (size_t)table_column(t, "kind")), "edge") == 0;
		     k++) {
			n++;
			assert_false(number(t, k, "offset_bytes") < number(t, r, "end_bytes") &&
			             number(t, k, "end_bytes") > number(t, r, "offset_bytes"));
		}
	assert_true(n > 0);
}

/* Of the first pass, whose requests are large, none loses a whole revolution visibly: the region takes two and a half
 * times as long all the same. */
TEST(a_region_is_told_though_large_requests_hide_its_waits)
{
	cleanup_run struct sim_run run = { 0 };

	run = zones_on_wild(101123, NULL);
	assert_true(is_found(&run, 1152413925376, 1223820640256));
}

/* Nearly each request in the region loses three revolutions, one of a hundred tracks behind it one, as everywhere on
 * this disk: what is told must not reach on. */
TEST(a_region_ends_where_revolutions_are_lost_no_more_often_than_elsewhere)
{
	struct truth_region truth[8];
	cleanup_run struct sim_run run = { 0 };
	const struct table *t;
	size_t n, i = 0;

	run = zones_on_wild(43016, "dying");
	n = truth_regions(geometry_of(&run), truth, 8);
	while (i < n && truth[i].is_bad)
		i++;
	assert_true(i < n);
	t = result_find_table(run.res, "slow_regions");
	assert_int_equal(t->nrows, 1);
	assert_true(number(t, 0, "first_byte") > (double)truth[i].first_byte - 400e6);
	assert_true(number(t, 0, "last_byte") < (double)truth[i].end_byte + 400e6);
}

/*
 * Drives that lose a revolution every few hundred: most samples hold none, and the few of a figure said that there are
 * none. The law of such losses is that of the whole disk: before it was, most of the intervals of such drives missed
 * the truth. One may, by chance.
 */
TEST(revolutions_lost_now_and_then_are_in_the_figures_and_their_intervals)
{
	static const uint64_t seeds[] = { 303, 325, 326, 344 };
	size_t missed = 0;

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		cleanup_run struct sim_run run = { 0 };
		const struct table *spots;
		DRAWN(p, seeds[i], NULL);

		run = zones_on(&p, "--seed=1 sda");
		spots = result_find_table(run.res, "spots");
		assert_int_equal(spots->nrows, 3);
		for (size_t r = 0; r < 3; r++) {
			double truth = truth_rate(geometry_of(&run), (uint64_t)number(spots, r, "first_byte"),
			                          (uint64_t)number(spots, r, "last_byte") + 1);

			missed += number(spots, r, "low") > truth || number(spots, r, "high") < truth;
			assert_true(number(spots, r, "high") < 1.05 * number(spots, r, "low"));
		}
	}
	print_message("%zu of 12 intervals miss the truth\n", missed);
	assert_true(missed <= 1);
}
