/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A measurement on simulated disks as the command line would run it, without text and files: what unit tests of
 * measurements start with. */
#pragma once

#include "sim.h"

struct sim_run {
	struct sim *sim;
	const struct measure *m;
	const char *words;          /* what follows the command's name: "--count=100 sda" */
	const atomic_int *cancel;   /* may be NULL */
	struct session_hooks hooks; /* may be zero */
	/* What came of it; the result may be there after a failure as well. */
	struct result *res;
	bool is_refused;
	struct err err;
};

/* 0, or a negative errno and err: of the options, or of the session. Without --seed the seed is 1. Call sim_run_done()
 * in any case. */
int sim_run(struct sim_run *run);
void sim_run_done(struct sim_run *run);
/* The same, and the disks go, too: for runs that have them to themselves. */
void sim_run_end(struct sim_run *run);
/*
 * The result of a run on one disk of this profile, sda, which keeps no contents: "--quick" in words, say. The caller's;
 * NULL: it failed, and err has why.
 */
struct result *sim_result(const struct measure *m, const char *profile, const char *words, size_t seed,
                          struct err *err);
/* A figure of the result as a number; NaN: there is none. */
double sim_figure(const struct sim_run *run, const char *name);
