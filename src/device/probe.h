/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only. */
#pragma once

#include <sys/stat.h>

#include "device/device.h"
#include "device/sysfs.h"

/* root as sysroot_of() gives it. */
int probe_path(void *ctx, const char *path, struct device *ret, struct err *err);
/* A block device that sysfs knows; path: as the user gave it, NULL: its node. */
int probe_block(const char *root, const struct sys_block *b, const char *path, struct device *ret, struct err *err);

/* Thousandths of a degree Celsius by hwmon; 0: not said. dir: of the whole disk in sysfs. */
uint32_t probe_temperature(const char *root, const char *dir);

#define HEALTH_ASLEEP "the disk is in standby, and asking would wake it"
/* health.c: smartctl is a program below the root. dir: of the whole disk in sysfs. */
bool health_read(const char *root, const char *dir, const struct device *dev, bool may_wake, struct device_health *ret);
