/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only. */
#pragma once

#include "device/device.h"

int survey_device(void *ctx, const struct device *dev, struct survey *ret, struct err *err);
/* Does the path (or the folder it would be made in) lie on the device? */
bool survey_holds(void *ctx, const struct device *dev, const char *path);
bool survey_is_stacked(void *ctx, const struct device *dev, const char *path);

/* ---- shares.c ---- */

int shares_find(void *ctx, const struct device *devs, size_t n, struct device_share *ret, struct err *err);
