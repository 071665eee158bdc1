/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of `geometry` on disks that are drawn. For tests that have included cmocka.h. End each with sim_run_end(). */
#ifndef PLATTER_TEST_GEOMETRYRUN_H
#define PLATTER_TEST_GEOMETRYRUN_H

#include "simrun.h"
#include "wild.h"

extern const struct measure measure_geometry;

/* words must live as long as the run. */
static inline struct sim_run geometry_on(const struct profile *p, const char *words)
{
	struct sim_run run = { .sim = sim_new(), .m = &measure_geometry, .words = words };

	(void)sim_add_disk(run.sim, p, "sda");
	sim_set_contents(run.sim, false);
	if (sim_run(&run) < 0)
		fail_msg("%s", run.err.text);
	return run;
}

static inline void geometry_profile_of(const char *name, struct profile *ret)
{
	struct sim *sim = sim_new();

	assert_int_equal(profile_copy(ret, disk_profile(sim_model(sim_add_profile(sim, name, "sdx")))), 0);
	sim_free(sim);
}

/* The same; change may be NULL. */
static inline struct sim_run geometry_on_wild(uint64_t seed, const char *words,
                                              void (*change)(struct profile *p, const void *arg), const void *arg)
{
	struct sim_run run;
	struct profile p;
	struct err err;

	assert_int_equal(profile_wild(&p, seed, NULL, &err), 0);
	if (change)
		change(&p, arg);
	assert_int_equal(profile_finish(&p, &err), 0);
	run = geometry_on(&p, words);
	profile_done(&p);
	return run;
}

#endif
