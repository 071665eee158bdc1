/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only. */
#ifndef PLATTER_DEVICE_FINDING_H
#define PLATTER_DEVICE_FINDING_H

#include "device/device.h"

/* What stands for "libblkid could not read it" among signatures. */
#define SIGNATURE_UNREADABLE "unreadable"

bool survey_has(const struct survey *s, enum finding_kind kind);
bool survey_is_in_use(const struct survey *s); /* mounted, swap or held: that is why the kernel gives no claim */
void survey_drop(struct survey *s, enum finding_kind kind);

#endif
