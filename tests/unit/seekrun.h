/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of `seek` on simulated disks. End each with sim_run_end(). */
#ifndef PLATTER_TEST_SEEKRUN_H
#define PLATTER_TEST_SEEKRUN_H

#include "ran.h"

extern const struct measure measure_seek;

static inline struct sim_run run_on(struct sim *sim, const char *words)
{
	struct sim_run run = { .sim = sim, .m = &measure_seek, .words = words };

	sim_set_contents(sim, false);
	MUST_RUN(run);
	return run;
}

/* On a profile of ours, changed; change may be NULL. */
static inline struct sim_run run_changed(const char *words, const char *profile, void (*change)(struct profile *p))
{
	PROFILE(p, profile);

	if (change)
		change(&p);
	MUST(profile_finish(&p, &err));
	return ran_on(&measure_seek, &p, words);
}

/* On the disk that is drawn with this seed, of a class. */
static inline struct sim_run run_on_class(uint64_t seed, const char *class_name, const char *words)
{
	DRAWN(p, seed, class_name);

	return ran_on(&measure_seek, &p, words);
}

static inline struct sim_run run_on_wild(uint64_t seed, const char *words)
{
	return run_on_class(seed, NULL, words);
}

/* What a notice says; "": there is none of that code. */
static inline const char *notice_of(const struct sim_run *run, const char *code)
{
	for (size_t i = 0; i < run->res->nnotices; i++)
		if (strcmp(run->res->notices[i].code, code) == 0)
			return run->res->notices[i].text;
	return "";
}

static inline const struct geometry *geometry_of(const struct sim_run *run)
{
	return disk_geometry(sim_model(sim_find(run->sim, "sda")));
}

/* Cylinders that hold the device's blocks: a profile may have more. */
static inline double cylinders_of(const struct geometry *g)
{
	struct place last;

	geometry_place(g, geometry_sectors(g) - 1, &last);
	return last.cylinder + 1;
}

#endif
