/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sheet.c: properties of a device; info.c: the measurement, what is on a device and who uses it. */
#pragma once

#include "session/session.h"

enum which { DISKS, DEVICES, IDENTITY, SIZES, QUEUE, CACHES, STATE, PARTITIONS, SIGNATURES, USERS };

extern const struct field info_property_fields[]; /* of five of the tables */

/* h: what the disk reports of its state; NULL: it was not asked. tables: by enum which. */
void info_properties(struct session *ses, const struct device *dev, const struct device_health *h,
                     const struct measure_table *tables);
const char *info_health_word(const struct device_health *h);
const char *info_transport_name(const char *transport);
/* These drivers say "rotating" of whatever is behind them. */
bool info_is_guess(const char *transport);
