/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A memory cgroup around this process for the time of a run, so that the end of the page cache shows in seconds on a
 * large machine. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cgroup;

/*
 * What has to be done to live within a limit, in order, as files and texts: made apart from doing it, so that both
 * versions can be tested where only one is mounted.
 */
#define CGROUP_STEPS 6
struct cgroup_plan {
	int version;          /* 1 or 2 */
	char group[PATH_MAX]; /* our own folder, to be made after `before` steps */
	char home[PATH_MAX];  /* the folder that the process is in now */
	char mount[PATH_MAX]; /* the one that ours is in */
	struct cgroup_step {
		char path[PATH_MAX], text[32];
		bool may_fail; /* nice to have */
	} steps[CGROUP_STEPS];
	unsigned nsteps, before;
};

/* root: "/" but in tests. Negative errno and a sentence when no memory controller is mounted. */
int cgroup_plan(struct cgroup_plan *ret, const char *root, uint64_t memory_bytes, struct err *err);

/* Version 1 or 2, whichever has the memory controller. Negative errno and a sentence: none, or not permitted. */
int cgroup_enter(struct cgroup **ret, const char *root, uint64_t memory_bytes, struct err *err);
/* Back to where the process was; the group is removed, which drops what it had in the page cache. NULL is fine. */
void cgroup_leave(struct cgroup *cg);
int cgroup_version(const struct cgroup *cg);
/*
 * How much of the limit is left to file pages at this moment: all but what the process and the kernel need besides (its
 * buffers, inodes, the trees that find the pages), which is charged to the group as well. 0: not known.
 */
uint64_t cgroup_room(const struct cgroup *cg);
uint64_t cgroup_file_room(const struct cgroup_plan *plan); /* the same, of any group */
/* The smallest limit of memory that is in force for this process, its groups and all above; UINT64_MAX: none found. */
uint64_t cgroup_memory_limit(const char *root);
/*
 * Memory that a process may still take: of the machine what is available, or that limit if it is less. UINT64_MAX: not
 * known.
 */
uint64_t cgroup_available_memory(void);
