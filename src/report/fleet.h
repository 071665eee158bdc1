/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of many disks go bad. Only src/report includes this. */
#pragma once

#include "report/disks.h"

/* All of it judged. threshold: as of compare. */
struct fleet *fleet_of(const struct result *const *res, size_t n, double threshold);
/* "3 of 40 disks need attention: A, B and C." buf of FLEET_SENTENCE. */
char *fleet_sentence(const struct fleet *f, char *buf);
