/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of `zones` on simulated disks, and what they say against the truth. */
#ifndef PLATTER_TEST_ZONESRUN_H
#define PLATTER_TEST_ZONESRUN_H

#include "ran.h"
#include "tally.h"

extern const struct measure measure_zones;

/* Noise of the disks. */
#define JITTER_US    60
#define RETRY_PER_GB 0.3

#define SLOW_TRUTH_PART 0.5 /* of the loss that was told, by which the disk must be slower in truth */

/* How many disks, of so many in the ordinary run. */
static inline size_t runs(size_t n)
{
	return getenv("PLATTER_LONG") ? 5 * n : TALLY_SEEDS(n);
}

/* End it with sim_run_end(). */
static inline struct sim_run zones_on(const struct profile *p, const char *words)
{
	return ran_on(&measure_zones, p, words);
}

static inline struct sim_run zones_seeded(const struct profile *p, uint64_t seed)
{
	struct sim_run run = zones_on(p, textf("--seed=%d sda", (int)seed));

	assert_false(result_has_notice(run.res, "bursts")); /* nothing limits these disks, however they fail */
	return run;
}

/* The same on a wild disk; class: NULL: any. */
static inline struct sim_run zones_on_wild(uint64_t seed, const char *class)
{
	DRAWN(p, seed, class);

	return zones_seeded(&p, seed);
}

static inline const struct geometry *geometry_of(const struct sim_run *run)
{
	return disk_geometry(sim_model(sim_find(run->sim, "sda")));
}

/* A disk at random; false: it cannot stream, for without cache and queue each request waits for the next revolution. */
static inline bool random_disk(struct profile *p, uint64_t seed, const struct profile_limits *limits)
{
	MUST(profile_random(p, seed, limits, &err));
	return p->cache.bytes || p->ctl.queue_depth > 1;
}

/* A row of the curve or of the spots alike: the bytes, and what was measured of them. */
static inline void tally_row(struct tally *to, const struct sim_run *run, const struct table *t, size_t row)
{
	double truth = truth_rate(geometry_of(run), (uint64_t)number(t, row, "first_byte"),
	                          (uint64_t)number(t, row, "last_byte") + 1);

	tally_add_ratio(to, number(t, row, "rate_bytes_per_s"),
	                (struct interval){ number(t, row, "low"), number(t, row, "high") }, truth);
}

/* Distance to the nearest edge between zones. */
static inline double to_zone(const struct truth_zone *z, size_t n, double byte)
{
	double nearest = INFINITY;

	for (size_t i = 1; i < n; i++)
		nearest = fmin(nearest, fabs(byte - (double)z[i].first_byte));
	return nearest;
}

static inline double to_band(const struct table *bands, double byte)
{
	double nearest = INFINITY;

	for (size_t r = 1; r < bands->nrows; r++)
		nearest = fmin(nearest, fabs(byte - number(bands, r, "first_byte")));
	return nearest;
}

/*
 * A stretch may be slow without a single retry: where a zone ends, its last group of cylinders is cut short, and a disk
 * that loses a revolution with each change of the head in a group loses them more often there. So the disk's own exact
 * time for these bytes decides, beside what the zones at both ends of the stretch sustain, slow sectors left out.
 */
static inline bool is_slow_in_truth(const struct geometry *g, const struct table *slow_regions, size_t row)
{
	uint64_t first = (uint64_t)number(slow_regions, row, "first_byte");
	uint64_t end = (uint64_t)number(slow_regions, row, "last_byte") + 1;
	double told = 1.0 - number(slow_regions, row, "rate_to_expected_ratio");
	double usual = fmin(truth_rate_at(g, first), truth_rate_at(g, end - 1));

	return 1.0 - truth_rate(g, first, end) / usual >= SLOW_TRUTH_PART * told;
}

#endif
