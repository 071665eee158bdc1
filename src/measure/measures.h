/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All measurements there are. A measurement is a file, or a folder that one file of the same name opens. */
#ifndef PLATTER_MEASURE_MEASURES_H
#define PLATTER_MEASURE_MEASURES_H

#include "session/session.h"

extern const struct measure *const measures[]; /* NULL-terminated, in the order of --help */
/* NULL: there is none of that name. */
const struct measure *measure_find(const char *name);

#endif
