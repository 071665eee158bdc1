/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A device as typed columns. The keys of the first ones are a contract: platter-json(5). */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"
#include "device/device.h"

#define ROW struct device_row

const struct field device_fields[] = {
	FIELD_STR(ROW, path, "path"),
	FIELD_STR(ROW, kind, "kind"),
	FIELD_STR(ROW, disk, "disk"),
	FIELD_STR(ROW, name, "name"),
	FIELD_U64(ROW, size_bytes, UNIT_BYTES, "size"),
	FIELD_U64(ROW, logical_block_bytes, UNIT_BYTES, "logical block"),
	FIELD_U64(ROW, physical_block_bytes, UNIT_BYTES, "physical block"),
	FIELD_U64(ROW, rotational, UNIT_COUNT, "rotational"),
	FIELD_U64(ROW, reported_rpm, UNIT_RPM, "reported rotation rate"),
	FIELD_STR(ROW, model, "model"),
	FIELD_STR(ROW, vendor, "vendor"),
	FIELD_STR(ROW, serial, "serial number"),
	FIELD_STR(ROW, serial_of, "the number is the"),
	FIELD_STR(ROW, firmware, "firmware"),
	FIELD_STR(ROW, wwn, "world-wide name"),
	FIELD_STR(ROW, shared_names, "shared with other disks"),
	FIELD_STR(ROW, transport, "transport"),
	FIELD_STR(ROW, scheduler, "scheduler"),
	FIELD_U64(ROW, read_ahead_bytes, UNIT_BYTES, "read-ahead"),
	FIELD_STR(ROW, write_cache, "write cache"),
	FIELD_U64(ROW, partition_offset_bytes, UNIT_BYTES, "place on the disk"),
	FIELD_U64(ROW, disk_size_bytes, UNIT_BYTES, "size of the disk"),
	FIELD_I64(ROW, alignment_offset_bytes, UNIT_BYTES, "alignment offset"),
	FIELD_U64(ROW, io_min_bytes, UNIT_BYTES, "smallest good request"),
	FIELD_U64(ROW, io_opt_bytes, UNIT_BYTES, "best request"),
	FIELD_U64(ROW, dio_mem_align_bytes, UNIT_BYTES, "direct: memory alignment"),
	FIELD_U64(ROW, dio_offset_align_bytes, UNIT_BYTES, "direct: offset alignment"),
	FIELD_STR(ROW, zoned, "zoned"),
	FIELD_STR(ROW, alias, "alias"),
	FIELD_STR(ROW, below, "made of"),
	FIELD_STR(ROW, fs_type, "file system"),
	FIELD_U64(ROW, free_bytes, UNIT_BYTES, "free"),
	FIELD_U64(ROW, nr_requests, UNIT_COUNT, "requests queued"),
	FIELD_U64(ROW, queue_depth, UNIT_COUNT, "device queue depth"),
	FIELD_U64(ROW, max_sectors_bytes, UNIT_BYTES, "largest request"),
	FIELD_U64(ROW, max_hw_sectors_bytes, UNIT_BYTES, "largest request of the hardware"),
	FIELD_U64(ROW, max_segments, UNIT_COUNT, "segments"),
	FIELD_U64(ROW, max_segment_bytes, UNIT_BYTES, "largest segment"),
	FIELD_U64(ROW, rq_affinity, UNIT_COUNT, "completion affinity"),
	FIELD_U64(ROW, nomerges, UNIT_COUNT, "merging off"),
	FIELD_U64(ROW, wbt_lat_ns, UNIT_NS, "write-back throttling"),
	FIELD_U64(ROW, io_poll, UNIT_COUNT, "polling"),
	FIELD_U64(ROW, fua, UNIT_COUNT, "forced unit access"),
	FIELD_U64(ROW, discard_max_bytes, UNIT_BYTES, "largest discard"),
	FIELD_U64(ROW, read_only, UNIT_COUNT, "read-only"),
	FIELD_U64(ROW, removable, UNIT_COUNT, "removable"),
	FIELD_STR(ROW, access_ranges, "access ranges"),
	FIELD_STR(ROW, chain, "connected by"),
	FIELD_STR(ROW, link, "link"),
	FIELD_U64(ROW, link_bytes_per_s, UNIT_BYTES_PER_S, "the link carries"),
	FIELD_U64(ROW, link_max_bytes_per_s, UNIT_BYTES_PER_S, "the link could carry"),
	FIELD_F64(ROW, temperature_celsius, UNIT_NONE, "temperature (C)"),
	FIELD_END,
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
	bool is_block = dev->kind == DEVICE_DISK || dev->kind == DEVICE_PARTITION, has_disk = dev->disk[0] != '\0';

	*ret = (struct device_row){
		.path = dev->path,
		.temperature_celsius = dev->temperature_mc ? (double)dev->temperature_mc / 1000.0 : (double)NAN,
		.kind = device_kind_name(dev->kind),
		.disk = known(dev->disk),
		.name = known(dev->name),
		.size_bytes = dev->kind == DEVICE_DIRECTORY ? UINT64_MAX : dev->size_bytes,
		.logical_block_bytes = dev->logical_block_bytes,
		.physical_block_bytes = dev->physical_block_bytes,
		.rotational = dev->rotational < 0 ? UINT64_MAX : (uint64_t)dev->rotational,
		.reported_rpm = known_u64(dev->id.reported_rpm),
		.model = known(dev->id.model),
		.vendor = known(dev->id.vendor),
		.serial = known(dev->id.serial),
		.serial_of = dev->id.serial_is_bridges ? "bridge"
		             : dev->id.serial[0]       ? "disk"
		                                       : NULL,
		.firmware = known(dev->id.firmware),
		.wwn = known(dev->id.wwn),
		.shared_names = shared_names(dev),
		.transport = known(dev->transport),
		.chain = known(dev->way.chain),
		.link = known(dev->way.link),
		.link_bytes_per_s = known_u64(dev->way.link_bytes_per_s),
		.link_max_bytes_per_s = known_u64(dev->way.link_max_bytes_per_s),
		.scheduler = known(dev->queue.scheduler),
		.read_ahead_bytes = of_disk(dev, dev->queue.read_ahead_bytes),
		.write_cache = known(dev->queue.write_cache),
		.partition_offset_bytes = is_block || has_disk ? dev->partition_offset_bytes : UINT64_MAX,
		.disk_size_bytes = known_u64(dev->disk_size_bytes),
		.alignment_offset_bytes = dev->queue.alignment_offset_bytes,
		.io_min_bytes = known_u64(dev->queue.io_min_bytes),
		.io_opt_bytes = known_u64(dev->queue.io_opt_bytes),
		.dio_mem_align_bytes = known_u64(dev->queue.dio_mem_align_bytes),
		.dio_offset_align_bytes = known_u64(dev->queue.dio_offset_align_bytes),
		.zoned = known(dev->queue.zoned),
		.alias = known(dev->id.alias),
		.below = known(dev->id.below),
		.fs_type = known(dev->file.fs_type),
		.free_bytes = is_block ? UINT64_MAX : dev->file.free_bytes,
		.nr_requests = known_u64(dev->queue.nr_requests),
		.queue_depth = known_u64(dev->queue.queue_depth),
		.max_sectors_bytes = known_u64(dev->queue.max_sectors_bytes),
		.max_hw_sectors_bytes = known_u64(dev->queue.max_hw_sectors_bytes),
		.max_segments = known_u64(dev->queue.max_segments),
		.max_segment_bytes = known_u64(dev->queue.max_segment_bytes),
		.rq_affinity = of_disk(dev, dev->queue.rq_affinity),
		.nomerges = of_disk(dev, dev->queue.nomerges),
		.wbt_lat_ns = of_disk(dev, (uint64_t)dev->queue.wbt_lat_us * 1000),
		.io_poll = of_disk(dev, dev->queue.io_poll),
		.fua = of_disk(dev, dev->queue.fua),
		.discard_max_bytes = of_disk(dev, dev->queue.discard_max_bytes),
		.read_only = dev->is_read_only,
		.removable = dev->is_removable,
	};
	ret->access_ranges = ranges_text(dev, ret->ranges_text, sizeof(ret->ranges_text));
}
