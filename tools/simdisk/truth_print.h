/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The truth as one JSON object, for those who hold something against it. */
#pragma once

#include <jansson.h>

#include "model.h"

/* What takes seconds on a large disk; left out, its members are null or not there. */
#define TRUTH_STREAMED 1u /* rates of the disk and of its zones */
#define TRUTH_RANDOM   2u

/* As `platter-simdisk truth --json` prints it. */
json_t *truth_json(const struct geometry *g, unsigned parts);
