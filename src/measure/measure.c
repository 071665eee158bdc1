/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of measurements, in the order of `platter --help`. */
#include "measure/measure.h"

extern const struct measure measure_info, measure_seek, measure_passes, measure_cache, measure_mark;

const struct measure *const measures[] = {
	&measure_info,
	&measure_seek,
	&measure_passes,
	&measure_cache,
	&measure_mark,
	NULL,
};
