/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only. */
#pragma once

#include "device/device.h"

/* 0, or -ENOENT: nothing counts what is written there. */
int device_written_read(void *ctx, const struct device *dev, struct device_written *ret);
