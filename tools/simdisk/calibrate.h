/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the way through block layer, loop driver and FUSE takes on this machine, measured while the server is
 * SIM_CALIBRATING. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "shared.h"

/* 0 or negative errno and a sentence. Takes a quarter of a second. */
int calibrate(struct sim_path *ret, const char *device, bool is_read_only, const struct sim_shared *shared,
              struct err *err);
