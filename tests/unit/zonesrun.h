/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of `zones` on simulated disks, and what they say against the truth. For tests that have included cmocka.h. */
#ifndef PLATTER_TEST_ZONESRUN_H
#define PLATTER_TEST_ZONESRUN_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "load.h"
#include "model.h"
#include "rows.h"
#include "seeds.h"
#include "simrun.h"
#include "wild.h"

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
	struct sim_run run = { .sim = sim_new(), .m = &measure_zones, .words = words };

	(void)sim_add_disk(run.sim, p, "sda");
	sim_set_contents(run.sim, false);
	if (sim_run(&run) < 0)
		fail_msg("%s: %s", p->name, run.err.text);
	return run;
}

static inline struct sim_run zones_seeded(const struct profile *p, uint64_t seed)
{
	struct sim_run run;
	char words[64];

	(void)snprintf(words, sizeof(words), "--seed=%d sda", (int)seed);
	run = zones_on(p, words);
	run.words = NULL;
	assert_false(result_has_notice(run.res, "bursts")); /* nothing limits these disks, however they fail */
	return run;
}

/* The same on a wild disk; class: NULL: any. */
static inline struct sim_run zones_on_wild(uint64_t seed, const char *class)
{
	struct sim_run run;
	struct profile p;
	struct err err;

	assert_int_equal(profile_wild(&p, seed, class, &err), 0);
	run = zones_seeded(&p, seed);
	profile_done(&p);
	return run;
}

static inline const struct geometry *geometry_of(const struct sim_run *run)
{
	return disk_geometry(sim_model(sim_find(run->sim, "sda")));
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
