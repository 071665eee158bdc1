/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only; device_memory_of() is in device.h. */
#pragma once

#include "device/device.h"

/* What of memory the path lies in, as a root's tables show it: what a power failure takes. NULL: none that shows. */
const char *memory_of_path(const char *root, const char *path);
