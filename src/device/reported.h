/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a disk reports of itself; device.h has it as well. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_SUSPECTS_MAX 16

/* What a disk says of itself, by smartctl: counts since it was made, UINT64_MAX: not reported. */
struct device_health {
	char why_not[160]; /* a half sentence why nothing is reported; "": it is */
	int passed;       /* the disk's own verdict; -1: none */
	bool is_standby;  /* so it was not asked, as that would have woken it */
	char power[16];   /* "active", "idle", "standby", "stopped"; "": not said, or not asked */
	double celsius;   /* NaN: not said */
	uint64_t power_on_hours, reallocated, pending, uncorrectable, crc_errors, media_errors;
	uint64_t timeouts, selftests_failed;          /* SMART 188: its 16-bit words together; of the self-test log */
	uint64_t used_percent, spare_below, warnings; /* NVMe: wear, spare below its threshold, critical_warning */
	uint64_t suspects[DEVICE_SUSPECTS_MAX];       /* bytes of the disk that it reports trouble at */
	uint32_t nsuspects;
	char model[64], serial[64]; /* of the drive itself, whatever a bridge before it shows; "": not reported */
	uint64_t size_bytes, native_bytes; /* of the drive itself; what it could show (ATA); 0: not reported */
};
void device_health_clear(struct device_health *ret, const char *why_not);
struct device;
/*
 * The drive behind a bridge by its own name, and of any drive how much of it is hidden; "": nothing of that is known.
 * buf of DEVICE_ITSELF. Are its size and the size that it shows different?
 */
#define DEVICE_ITSELF 400
bool device_itself(const struct device *dev, const struct device_health *h, char *buf);
extern const struct health_count {
	size_t offset; /* in struct device_health */
	const char *name, *label;
	bool is_damage;
} health_counts[]; /* label NULL ends them */
uint64_t health_count(const struct device_health *h, const struct health_count *c);
