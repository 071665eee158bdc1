/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was done in each step of time: rows that do not grow with the length of a run. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define TIMELINE_MAX 1800 /* steps: half an hour of seconds; beyond that pairs are merged */

struct timeline_step {
	uint64_t end_ns; /* after the start */
	uint64_t amount, requests, service_ns, most;
};
struct timeline {
	struct timeline_step v[TIMELINE_MAX];
	size_t n;
	struct timeline_step now; /* the step under way: added to by its owner */
	uint64_t start_ns, step_ns, step_end_ns;
};

/* Steps of a second. */
void timeline_start(struct timeline *t, uint64_t start_ns);
/* Before anything is in it: steps of at least so much. */
void timeline_widen(struct timeline *t, uint64_t step_ns);
/* Steps that ended before now get their rows. */
void timeline_roll(struct timeline *t, uint64_t now_ns);
/* Of all steps. */
double timeline_step_s(const struct timeline *t);
