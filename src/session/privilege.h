/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside measure/ only. */
#pragma once

#include "base/err.h"

/*
 * Gives up every capability that a running measurement has no use for, for good. 0, also when there was nothing to give
 * up; or a negative errno and a sentence.
 */
int privileges_drop(struct err *err);
