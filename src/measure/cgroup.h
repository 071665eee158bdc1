/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A memory cgroup around this process for the time of a run, so that the end of the page cache shows in seconds on a large machine. */
#ifndef PLATTER_MEASURE_CGROUP_H
#define PLATTER_MEASURE_CGROUP_H

#include <stdint.h>

#include "base/err.h"

struct cgroup;

/* Version 1 or 2, whichever has the memory controller. Negative errno and a sentence: none, or not permitted. */
int cgroup_enter(struct cgroup **ret, uint64_t memory_bytes, struct err *err);
/* Back to where the process was; the group is removed, which drops what it had in the page cache. NULL is fine. */
void cgroup_leave(struct cgroup *cg);
int cgroup_version(const struct cgroup *cg);
/* The limit of memory in force for this process, UINT64_MAX: none found. */
uint64_t cgroup_memory_limit(void);

#endif
