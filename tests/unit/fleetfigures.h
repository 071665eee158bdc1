/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The disks of the simulated fleets, and what a run of zones measures of them. */
#ifndef UNIT_FLEETFIGURES_H
#define UNIT_FLEETFIGURES_H

#include "result/result.h"

struct target {
	const char *path, *kind, *disk, *model, *serial, *shared_names;
	uint64_t size_bytes, disk_size_bytes;
};
static const struct field target_fields[] = {
	FIELD_STR(struct target, path, "path"),
	FIELD_STR(struct target, kind, "kind"),
	FIELD_STR(struct target, disk, "disk"),
	FIELD_STR(struct target, model, "model"),
	FIELD_STR(struct target, serial, "serial"),
	FIELD_STR(struct target, shared_names, "shared"),
	FIELD_U64(struct target, size_bytes, UNIT_BYTES, "size"),
	FIELD_U64(struct target, disk_size_bytes, UNIT_BYTES, "disk size"),
	FIELD_END,
};

static const struct {
	const char *name;
	enum unit unit;
	double value;
} figures[] = { { "start_bytes_per_s", UNIT_BYTES_PER_S, 2e8 }, { "middle_bytes_per_s", UNIT_BYTES_PER_S, 1.6e8 },
	        { "end_bytes_per_s", UNIT_BYTES_PER_S, 1e8 },   { "mean_bytes_per_s", UNIT_BYTES_PER_S, 1.5e8 },
	        { "end_to_start_ratio", UNIT_RATIO, 0.5 },      { "access_ns", UNIT_NS, 1.2e7 } };

#endif
