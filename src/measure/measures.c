/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of measurements, in the order of `platter --help`. */
#include "measure/measures.h"

#include <string.h>

extern const struct measure measure_check;
extern const struct measure measure_info;
extern const struct measure measure_recover;
extern const struct measure measure_zones;
extern const struct measure measure_seek;
extern const struct measure measure_geometry;
extern const struct measure measure_surface;
extern const struct measure measure_stream;
extern const struct measure measure_passes;
extern const struct measure measure_cache;
extern const struct measure measure_mark;
extern const struct measure measure_transactions;

/* One a line: tools/new-measure adds to them. */
/* clang-format off */
extern const struct measure measure_smr;
extern const struct measure measure_buffer;
extern const struct measure measure_sustain;
const struct measure *const measures[] = {
	&measure_check,
	&measure_info,
	&measure_recover,
	&measure_zones,
	&measure_seek,
	&measure_geometry,
	&measure_surface,
	&measure_stream,
	&measure_passes,
	&measure_cache,
	&measure_mark,
	&measure_transactions,
	&measure_smr,
	&measure_buffer,
	&measure_sustain,
	NULL,
};
/* clang-format on */

const struct measure *measure_find(const char *name)
{
	for (size_t i = 0; measures[i]; i++)
		if (!strcmp(measures[i]->name, name))
			return measures[i];
	return NULL;
}
