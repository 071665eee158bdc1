/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills the columns of columns.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "device/columns.h"

const struct field device_fields[] = {
#define FIELD_OF(type, key, unit, label, from) \
	FIELD_(FIELD_TYPE_##type, DEVICE_TYPE_##type, struct device_row, key, unit, label),
	DEVICE_COLUMNS(FIELD_OF) FIELD_END,
};

const struct health_count health_counts[] = {
	{ offsetof(struct device_health, power_on_hours), "power_on_hours", "power-on hours", false },
	{ offsetof(struct device_health, reallocated), "reallocated", "reallocated sectors", true },
	{ offsetof(struct device_health, pending), "pending", "sectors that wait to be reallocated", true },
	{ offsetof(struct device_health, uncorrectable), "uncorrectable", "uncorrectable errors", true },
	{ offsetof(struct device_health, crc_errors), "crc_errors", "errors of the link (CRC)", true },
	{ offsetof(struct device_health, media_errors), "media_errors", "errors of the medium", true },
	{ offsetof(struct device_health, timeouts), "timeouts", "commands that timed out", true },
	{ offsetof(struct device_health, selftests_failed), "selftests_failed", "self-tests that failed", false },
	{ offsetof(struct device_health, used_percent), "used_percent", "percent of its endurance used", false },
	{ offsetof(struct device_health, spare_below), "spare_below", "spare below its threshold", false },
	{ offsetof(struct device_health, warnings), "warnings", "critical warnings (bits)", false },
	{ .label = NULL },
};

uint64_t health_count(const struct device_health *h, const struct health_count *c)
{
	return *(const uint64_t *)((const char *)h + c->offset);
}

void device_health_clear(struct device_health *ret, const char *why_not)
{
	*ret = (struct device_health){ .passed = -1, .celsius = (double)NAN };
	(void)snprintf(ret->why_not, sizeof(ret->why_not), "%s", why_not);
	ret->power_on_hours = ret->reallocated = ret->pending = UINT64_MAX;
	ret->uncorrectable = ret->crc_errors = ret->media_errors = ret->timeouts = UINT64_MAX;
	ret->selftests_failed = ret->used_percent = ret->spare_below = ret->warnings = UINT64_MAX;
}

bool device_itself(const struct device *dev, const struct device_health *h, char *buf)
{
	bool is_bridge = strcmp(dev->transport, "usb") == 0;
	uint64_t shown = dev->disk_size_bytes ? dev->disk_size_bytes : dev->size_bytes,
		 real = is_bridge ? h->size_bytes : h->native_bytes;
	bool is_other = real && shown && (is_bridge ? real != shown : real > shown);
	char name[2 * sizeof(h->model)] = "", size[32], part[32];

	buf[0] = '\0';
	if (is_bridge)
		(void)snprintf(name, sizeof(name), "%s%s%s", h->model, h->model[0] && h->serial[0] ? " " : "",
		               h->serial);
	(void)units_bytes_dec(size, sizeof(size), real);
	(void)units_bytes_dec(part, sizeof(part), shown);
	if (is_other)
		(void)snprintf(buf, DEVICE_ITSELF,
		               "%s%sit has %s (%" PRIu64 " bytes), and %s shows %s (%" PRIu64 " bytes)", name,
		               *name ? ": " : "", size, real, is_bridge ? "its bridge" : "hides the rest: it", part,
		               shown);
	else
		(void)snprintf(buf, DEVICE_ITSELF, "%s", name);
	return is_other;
}

int device_check_capacity(const struct device *dev, struct err *err)
{
	static const struct {
		const char *transport, *cause;
	} causes[] = {
		{ "loop", "no file is set up behind it; see losetup(8)" },
		{ "nvme",
		  "its namespace has metadata or blocks that the kernel cannot use; see nvme id-ns, and format it "
		  "without metadata" },
		{ "",
		  "it is not ready, or has blocks of a size that the kernel cannot use (520 or 528 bytes); see dmesg, "
		  "and sg_format(8) for other blocks" },
	};
	size_t i = 0;

	if ((dev->kind != DEVICE_DISK && dev->kind != DEVICE_PARTITION) || dev->size_bytes)
		return 0;
	if (dev->is_removable || dev->is_cdrom)
		return err_set(err, -ENOMEDIUM, "%s has a capacity of 0: there is no medium in it; put one in.",
		               dev->path);
	while (causes[i].transport[0] && strcmp(causes[i].transport, dev->transport) != 0)
		i++;
	if (dev->logical_block_bytes % 512) /* as READ CAPACITY has it */
		return err_set(err, -ENOMEDIUM,
		               "%s is formatted with sectors of %u bytes, which the kernel cannot use; sg_format(8) "
		               "--format --size=512 makes usual ones and destroys all data.",
		               dev->path, dev->logical_block_bytes);
	return err_set(err, -ENOMEDIUM, "%s has a capacity of 0: %s.", dev->path, causes[i].cause);
}

bool device_has_members(const struct device *dev)
{
	bool is_volume = strcmp(dev->transport, "dm") == 0 || strcmp(dev->transport, "md") == 0;

	return is_volume && strchr(dev->id.below, ',');
}

uint32_t device_direct_align(const struct device *dev)
{
	return dev->queue.dio_offset_align_bytes ? dev->queue.dio_offset_align_bytes
	       : dev->logical_block_bytes        ? dev->logical_block_bytes
	                                         : 512;
}

bool device_is_zoned(const struct device *dev)
{
	return dev->queue.zoned[0] && strcmp(dev->queue.zoned, "none") != 0;
}

const char *device_kind_name(enum device_kind kind)
{
	static const char *const names[] = {
		[DEVICE_DISK] = "disk",
		[DEVICE_PARTITION] = "partition",
		[DEVICE_FILE] = "file",
		[DEVICE_DIRECTORY] = "directory",
	};

	return names[kind];
}

static const char *known(const char *s)
{
	return s[0] ? s : NULL;
}

static uint64_t known_u64(uint64_t v)
{
	return v ? v : UINT64_MAX;
}

static const char *whose_serial(const struct device *dev)
{
	return dev->id.serial_is_bridges ? "bridge" : dev->id.serial[0] ? "disk" : NULL;
}

/* By other disks, not by another path to this one. */
static const char *shared_names(const struct device *dev)
{
	static const char *const texts[] = { NULL, "serial", "wwn", "serial, wwn" };

	return dev->id.has_twin ? NULL : texts[dev->id.serial_is_shared + 2 * dev->id.wwn_is_shared];
}

static const char *ranges_text(const struct device *dev, char *buf, size_t len)
{
	buf[0] = '\0';
	for (uint32_t i = 0; i < dev->nranges; i++)
		str_list(buf, len, " ", "%" PRIu64 "+%" PRIu64, dev->ranges[i].first_byte, dev->ranges[i].bytes);
	return *buf ? buf : NULL;
}

/* Null where there is no disk that it could be of. */
static uint64_t of_disk(const struct device *dev, uint64_t v)
{
	return dev->disk[0] ? v : UINT64_MAX;
}

void device_row(const struct device *dev, struct device_row *ret)
{
	bool is_block = dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION;

#define FILL(type, key, unit, label, from) ret->key = from;
	DEVICE_COLUMNS(FILL)
}
