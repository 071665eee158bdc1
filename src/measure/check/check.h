/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of `platter check` share. parts.c: measurements, with their share of the time; check.c: the run. */
#pragma once

#include "session/session.h"

struct check_part {
	const char *name, *words;         /* of the measurement; its options */
	double share;                     /* of the time, at most; 0: what the others leave */
	bool is_for_rotating, is_writing; /* the latter: with --write alone, without a limit of time */
};
extern const struct check_part check_parts[]; /* in their order; name NULL ends them */

#define CHECK_TIME_NS (300 * NS_PER_S)

/* Is it one for this disk? */
bool check_wants(const struct check_part *p, const struct device *dev, bool writes);
/* What it may take of so much for all, where so much is left. */
uint64_t check_budget(const struct check_part *p, const struct device *dev, uint64_t all_ns, uint64_t left_ns);
