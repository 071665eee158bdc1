/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/execute.h"

bool several_is_asked(const struct run *run);
/* Before outputs are opened: a name for each target in place of --json. */
int several_names(struct run *run, struct err *err);
int several_execute(struct run *run, struct err *err);
