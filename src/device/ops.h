/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: what device_system is made of, and what its parts share; each in the file that is named. */
#pragma once

#include <sys/stat.h>

#include "device/sysfs.h"

/* ---- probe.c ---- */

/* A path as the user gave it. */
int probe_path(void *ctx, const char *path, struct device *ret, struct err *err);
/* A block device that sysfs knows; path: as the user gave it, NULL: its node. */
int probe_block(const char *root, const struct sys_block *b, const char *path, struct device *ret, struct err *err);
/* Thousandths of a degree Celsius by hwmon; 0: not said. dir: of the whole disk in sysfs. */
uint32_t probe_temperature(const char *root, const char *dir);

/* ---- health.c: smartctl is a program below the root. dir: of the whole disk in sysfs ---- */

#define HEALTH_ASLEEP "the disk is in standby, and asking would wake it"
bool health_read(const char *root, const char *dir, const struct device *dev, bool may_wake, struct device_health *ret);

/* ---- survey.c ---- */

int survey_device(void *ctx, const struct device *dev, struct survey *ret, struct err *err);
/* Does the path (or the folder it would be made in) lie on the device? */
bool survey_holds(void *ctx, const struct device *dev, const char *path);
bool survey_is_stacked(void *ctx, const struct device *dev, const char *path);
int shares_find(void *ctx, const struct device *devs, size_t n, struct device_share *ret, struct err *err);

/* ---- others ---- */

/* contents.c: what lies at places of a disk. */
int content_find(void *ctx, const struct device *dev, const struct content_question *q, struct contents *ret,
                 struct err *err);
/* memory.c: what of memory the path lies in, as a root's tables show it. NULL: none that shows. */
const char *memory_of_path(const char *root, const char *path);
