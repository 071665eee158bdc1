/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: what lies at places of a disk. */
#pragma once

#include "device/device.h"

int content_find(void *ctx, const struct device *dev, const struct content_question *q, struct contents *ret,
                 struct err *err);
