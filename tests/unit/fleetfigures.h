/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run of zones measures of a disk of the simulated fleets. */
#ifndef UNIT_FLEETFIGURES_H
#define UNIT_FLEETFIGURES_H

#include "result/result.h"

static const struct {
	const char *name;
	enum unit unit;
	double value;
} figures[] = { { "start_bytes_per_s", UNIT_BYTES_PER_S, 2e8 }, { "middle_bytes_per_s", UNIT_BYTES_PER_S, 1.6e8 },
	        { "end_bytes_per_s", UNIT_BYTES_PER_S, 1e8 },   { "mean_bytes_per_s", UNIT_BYTES_PER_S, 1.5e8 },
	        { "end_to_start_ratio", UNIT_RATIO, 0.5 },      { "access_ns", UNIT_NS, 1.2e7 } };

#endif
