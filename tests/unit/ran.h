/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests of runs on simulated disks need, beside a profile and a run: what is planted, and a run that is over. */
#ifndef PLATTER_TEST_RAN_H
#define PLATTER_TEST_RAN_H

#include "test.h"

#include <signal.h>
#include <stdatomic.h>

#include "load.h"
#include "rows.h"
#include "simrun.h"
#include "wild.h"

/* A disk drawn at random; NULL: of any class. */
static inline struct profile profile_drawn(uint64_t seed, const char *class_name)
{
	struct profile p;

	MUST(profile_wild(&p, seed, class_name, &err));
	return p;
}
#define DRAWN(p, seed, class_name) cleanup_profile struct profile p = profile_drawn(seed, class_name)

/* One as it is described. */
static inline struct profile profile_of(const char *text)
{
	struct profile p;

	MUST(profile_parse(&p, "drawn", text, strlen(text), &err));
	return p;
}

/* Sectors that cannot be read, after two revolutions of trying. */
static inline void plant_bad(struct profile *p, uint64_t lba, uint64_t count)
{
	const struct profile_bad bad = { .lba = lba, .count = count, .kind = BAD_READ, .revolutions = 2, .err = -EIO };

	assert_int_equal(profile_add_bad(p, &bad), 0);
	MUST(profile_finish(p, &err));
}

/* A run that will be on this disk, sda, which keeps no contents. */
static inline struct sim_run run_for(const struct measure *m, const struct profile *p, const char *words)
{
	struct sim_run run = { .sim = sim_new(), .m = m, .words = words };

	(void)sim_add_disk(run.sim, p, "sda");
	sim_set_contents(run.sim, false);
	return run;
}

/* The same, done. */
static inline struct sim_run ran_on(const struct measure *m, const struct profile *p, const char *words)
{
	struct sim_run run = run_for(m, p, words);

	MUST_RUN(run);
	return run;
}

/* What its disk has counted. */
static inline struct disk_counters counted(const struct sim_run *run)
{
	return disk_counters(sim_model(sim_find(run->sim, "sda")));
}

static inline struct sim_run ran(const struct measure *m, const char *profile, const char *words)
{
	PROFILE(p, profile);

	return ran_on(m, &p, words);
}

static inline void ran_signal(void *number)
{
	atomic_store((atomic_int *)number, SIGINT);
}

/* This run, ended by a signal at that time of its disk. */
static inline void run_until(struct sim_run *run, uint64_t at_ns)
{
	static atomic_int number;

	atomic_store(&number, 0);
	run->cancel = &number;
	sim_at(run->sim, at_ns, ran_signal, &number);
	MUST_RUN(*run);
	assert_int_equal(run->res->status, STATUS_CANCELLED);
}

#endif
