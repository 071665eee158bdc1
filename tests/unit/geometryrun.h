/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of `geometry` on disks that are drawn. End each with sim_run_end(). */
#ifndef PLATTER_TEST_GEOMETRYRUN_H
#define PLATTER_TEST_GEOMETRYRUN_H

#include "ran.h"

extern const struct measure measure_geometry;

static inline struct sim_run geometry_on(const struct profile *p, const char *words)
{
	return ran_on(&measure_geometry, p, words);
}

/* On the disk that is drawn with this seed; change may be NULL. */
static inline struct sim_run geometry_on_wild(uint64_t seed, const char *words,
                                              void (*change)(struct profile *p, const void *arg), const void *arg)
{
	DRAWN(p, seed, NULL);

	if (change)
		change(&p, arg);
	MUST(profile_finish(&p, &err));
	return geometry_on(&p, words);
}

#endif
