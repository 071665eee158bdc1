/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only; device_memory_of() is in device.h. */
#ifndef PLATTER_DEVICE_MEMORY_H
#define PLATTER_DEVICE_MEMORY_H

#include "device/device.h"

/* Does the path lie on a disk that holds bytes of dev, be it in another partition? */
bool device_shares_disk(const char *root, const struct device *dev, const char *path);

#endif
