/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All measurements there are. A measurement is a file, or a folder that one file of the same name opens. */
#pragma once

#include "session/session.h"

extern const struct measure *const measures[]; /* NULL-terminated, in the order of --help */
/* NULL: there is none of that name. */
const struct measure *measure_find(const char *name);
