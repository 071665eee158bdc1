/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only. health.c: commands to the drive itself, whether it sleeps, and what is hidden of it. */
#pragma once

#include "base/scsi.h"
#include "device/device.h"

enum drive_way { DRIVE_NO_WAY, DRIVE_ATA, DRIVE_SCSI };

struct drive {
	scsi_ioctl *ask;
	enum drive_way way;
	int fd; /* read-only is enough for root */
};

/* has_scsi: the kernel drives it as a SCSI disk. USB bridges are not asked. */
enum drive_way drive_way(const struct device *dev, bool has_scsi);
/*
 * What the drive could show (ATA): above its size lies a host protected area, or an accessible maximum that was set
 * lower. Reading only; 0: it does not show it.
 */
uint64_t drive_native_sectors(const struct drive *d);
/* "active", "idle", "standby", "stopped", or "" when it does not say: as struct device_health has it. Wakes nothing. */
const char *drive_power(const struct drive *d);
