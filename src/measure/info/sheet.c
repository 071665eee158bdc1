/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a device, as sections of properties for people. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/units.h"
#include "measure/info/info.h"

/* Sections are tables; with one device its name is left out of the text. */
struct property_row {
	const char *device, *property, *value;
};
#define PROPERTY_FIELDS(hidden)                                                       \
	{                                                                             \
		FIELD_STR(struct property_row, device, "device", .detail = (hidden)), \
			FIELD_STR(struct property_row, property, "property"),         \
			FIELD_STR(struct property_row, value, "value"), FIELD_END,    \
	}
const struct field info_property_fields[] = PROPERTY_FIELDS(false);
static const struct field property_fields_of_one[] = PROPERTY_FIELDS(true);

struct sheet {
	struct session *ses;
	const struct device *dev;
	const struct measure_table *tables;
	enum which section;
};

__attribute__((format(printf, 3, 4))) static void say(struct sheet *s, const char *property, const char *fmt, ...)
{
	struct property_row row = { .device = s->dev->path, .property = property };
	const struct measure_table *at = &s->tables[s->section];
	char value[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(value, sizeof(value), fmt, ap); /* cut is fine */
	va_end(ap);
	if (!value[0])
		return;
	row.value = value;
	result_row(result_table(s->ses->res, at->name, at->title,
	                        s->ses->ndevs == 1 ? property_fields_of_one : info_property_fields),
	           &row);
}

/* "4 KiB", "512 B", "4.29 GB": as short as it is exact enough. */
static const char *amount(char *buf, size_t len, uint64_t bytes)
{
	(void)units_bytes(buf, len, bytes);
	return bytes < 1 << 20 || strpbrk(buf, "KMGTP") ? buf : units_bytes_dec(buf, len, bytes);
}

static void say_bytes(struct sheet *s, const char *property, uint64_t bytes)
{
	char t[32];

	if (bytes)
		say(s, property, "%s", amount(t, sizeof(t), bytes));
}

/* The kernel's "no limit" is the largest number that the attribute takes. */
static void say_limit(struct sheet *s, const char *property, uint64_t bytes)
{
	if (bytes >= UINT32_MAX - 4096)
		say(s, property, "no limit");
	else
		say_bytes(s, property, bytes);
}

const char *info_transport_name(const char *transport)
{
	static const char *const names[][2] = {
		{ "ata", "ATA" },
		{ "sas", "SAS" },
		{ "scsi", "SCSI" },
		{ "nvme", "NVMe" },
		{ "usb", "USB" },
		{ "mmc", "MMC" },
		{ "iscsi", "iSCSI" },
		{ "fc", "Fibre Channel" },
		{ "xen", "Xen" },
		{ "dm", "device mapper" },
		{ "md", "software RAID" },
		{ "loop", "loop" },
		{ "virtio", "virtio (virtual)" },
		{ "ram", "memory" },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(transport, names[i][0]) == 0)
			return names[i][1];
	return transport;
}

static void say_kind(struct sheet *s)
{
	const struct device *dev = s->dev;

	if (dev->kind == DEVICE_PARTITION)
		say(s, "kind", "partition %u of %s", dev->id.partition, dev->disk);
	else if (dev->is_cdrom)
		say(s, "kind", "CD or DVD drive");
	else
		say(s, "kind", "%s%s", dev->is_removable ? "removable " : "", device_kind_name(dev->kind));
	if (strcmp(dev->node, dev->path) != 0)
		say(s, "resolves to", "%s", dev->node);
}

/* Where files are that lie on no disk of this machine. */
static const char *elsewhere(const char *fs_type)
{
	if (strcmp(fs_type, "tmpfs") == 0 || strcmp(fs_type, "ramfs") == 0)
		return "none (memory)";
	if (strncmp(fs_type, "nfs", 3) == 0 || strcmp(fs_type, "cifs") == 0 || strcmp(fs_type, "9p") == 0)
		return "none here (network)";
	return "not known";
}

static void say_identity(struct sheet *s)
{
	const struct device *dev = s->dev;
	bool is_loop = strcmp(dev->transport, "loop") == 0;
	char rate[32];

	s->section = IDENTITY;
	say_kind(s);
	if (dev->kind == DEVICE_FILE || dev->kind == DEVICE_DIRECTORY)
		say(s, "lies on disk", "%s", dev->disk[0] ? dev->disk : elsewhere(dev->file.fs_type));
	say(s, "model", "%s", dev->id.model);
	say(s, "vendor", "%s", dev->id.vendor);
	say(s, "serial number", "%s%s%s", dev->id.serial, dev->id.serial_is_bridges ? " (of the bridge)" : "",
	    dev->id.serial_is_shared ? " (other disks show the same)" : "");
	say(s, "firmware", "%s", dev->id.firmware);
	say(s, "world-wide name", "%s", dev->id.wwn);
	say(s, "connection", "%s", info_transport_name(dev->transport));
	say(s, "by way of", "%s", dev->way.chain);
	if (dev->way.link_bytes_per_s)
		say(s, "link", "%s, at most %s", dev->way.link,
		    units_rate(rate, sizeof(rate), (double)dev->way.link_bytes_per_s));
	say(s, strcmp(dev->transport, "md") == 0 ? "RAID level" : "mapping", "%s", dev->id.alias);
	if (dev->is_read_only)
		say(s, "read-only", "yes");
	say(s, is_loop ? "backing file" : "made of", "%s", dev->id.below);
}

bool info_is_guess(const char *transport)
{
	return strcmp(transport, "virtio") == 0 || strcmp(transport, "usb") == 0 || strcmp(transport, "xen") == 0 ||
	       strcmp(transport, "loop") == 0;
}

static void say_rotation(struct sheet *s)
{
	const struct device *dev = s->dev;

	if (dev->id.reported_rpm)
		say(s, "rotation", "%u rpm, as reported", dev->id.reported_rpm);
	else if (dev->rotational == 0)
		say(s, "rotation", "none");
	else if (dev->rotational > 0)
		say(s, "rotation",
		    info_is_guess(dev->transport) ? "not known (the driver cannot tell)" : "yes; rate not reported");
}

/* Arms that work at once, each on a part of the disk. */
static void say_ranges(struct sheet *s)
{
	const struct device *dev = s->dev;
	char text[160] = "", size[32];

	for (uint32_t i = 0; i < dev->nranges; i++)
		str_list(text, sizeof(text), ", ", "%s", units_bytes_dec(size, sizeof(size), dev->ranges[i].bytes));
	if (dev->nranges > 1)
		say(s, "access ranges", "%u that work at once: %s", dev->nranges, text);
}

static void say_sizes(struct sheet *s)
{
	const struct device *dev = s->dev;
	char a[32], b[32];

	s->section = SIZES;
	if (dev->kind != DEVICE_DIRECTORY)
		say(s, "size", "%s (%" PRIu64 " bytes)", units_bytes_dec(a, sizeof(a), dev->size_bytes),
		    dev->size_bytes);
	if (dev->kind == DEVICE_PARTITION)
		say(s, "place", "from byte %" PRIu64 " of %s (%.1f %%)", dev->partition_offset_bytes, dev->disk,
		    dev->disk_size_bytes ? 100.0 * (double)dev->partition_offset_bytes / (double)dev->disk_size_bytes
		                         : 0.0);
	if (dev->file.fs_type[0])
		say(s, "file system", "%s, %s free", dev->file.fs_type,
		    units_bytes_dec(a, sizeof(a), dev->file.free_bytes));
	say_bytes(s, "logical block", dev->logical_block_bytes);
	say_bytes(s, "physical block", dev->physical_block_bytes);
	if (dev->queue.alignment_offset_bytes)
		say(s, "alignment offset", "%" PRId64 " bytes", dev->queue.alignment_offset_bytes);
	say_bytes(s, "smallest good request", dev->queue.io_min_bytes);
	say_bytes(s, "best request", dev->queue.io_opt_bytes);
	if (dev->queue.dio_offset_align_bytes)
		say(s, "direct I/O aligned to", "%s on disk, %s in memory",
		    amount(a, sizeof(a), dev->queue.dio_offset_align_bytes),
		    amount(b, sizeof(b), dev->queue.dio_mem_align_bytes));
	else
		say(s, "direct I/O", "not supported here: --mode=cached works");
	say_rotation(s);
	say_ranges(s);
	if (device_is_zoned(dev))
		say(s, "zones", "%s (shingled or zoned)", dev->queue.zoned);
	else if (dev->id.reported_rpm && dev->queue.discard_max_bytes)
		say(s, "shingled", "perhaps: it rotates and takes discards (TRIM); test it by platter smr");
}

static void say_queue(struct sheet *s)
{
	const struct device *dev = s->dev;

	s->section = QUEUE;
	say(s, "scheduler", "%s", dev->queue.scheduler);
	if (dev->queue.nr_requests)
		say(s, "requests queued", "%u", dev->queue.nr_requests);
	if (dev->queue.queue_depth)
		say(s, "depth of the device", "%u", dev->queue.queue_depth);
	say_limit(s, "largest request", dev->queue.max_sectors_bytes);
	say_limit(s, "largest of the hardware", dev->queue.max_hw_sectors_bytes);
	if (dev->queue.max_segments)
		say(s, "segments", "%u", dev->queue.max_segments);
	say_limit(s, "largest segment", dev->queue.max_segment_bytes);
	if (dev->queue.nomerges)
		say(s, "merging", "%s", dev->queue.nomerges == 1 ? "simple only" : "off");
	say(s, "completion on", "%s",
	    dev->queue.rq_affinity == 2   ? "the CPU that asked"
	    : dev->queue.rq_affinity == 1 ? "a CPU near the one that asked"
	                                  : "the CPU of the interrupt");
	if (dev->queue.io_poll)
		say(s, "polling", "possible");
	if (dev->queue.wbt_lat_us)
		say(s, "write-back throttling", "aims at %.1f ms", dev->queue.wbt_lat_us / 1000.0);
}

static void say_caches(struct sheet *s)
{
	const struct device *dev = s->dev;

	s->section = CACHES;
	say_bytes(s, "read-ahead of the kernel", dev->queue.read_ahead_bytes);
	say(s, "write cache", "%s", dev->queue.write_cache);
	say(s, "forced unit access", "%s", dev->queue.fua ? "yes" : "no");
	if (dev->queue.discard_max_bytes)
		say_bytes(s, "largest discard", dev->queue.discard_max_bytes);
	else
		say(s, "discard", "no");
}

const char *info_health_word(const struct device_health *h)
{
	bool is_known = !h->why_not[0] && h->passed >= 0;

	return h->is_standby ? "asleep" : !is_known ? "unknown" : h->passed ? "good" : "failing";
}

static void say_state(struct sheet *s, const struct device_health *h)
{
	double celsius = s->dev->temperature_mc ? s->dev->temperature_mc * 1e-3 : h->celsius;
	char itself[DEVICE_ITSELF] = "";

	s->section = STATE;
	say(s, "power", "%s", h->power);
	if (celsius > -273.0)
		say(s, "temperature", "%.0f degrees Celsius", celsius);
	say(s, "the drive itself", "%s", (device_itself(s->dev, h, itself), itself));
	say(s, "health", "%s%s%s", info_health_word(h), h->why_not[0] ? ": " : ", by its own report", h->why_not);
	for (const struct health_count *c = health_counts; c->label; c++)
		if (health_count(h, c) != UINT64_MAX)
			say(s, c->label, "%" PRIu64, health_count(h, c));
}

void info_properties(struct session *ses, const struct device *dev, const struct device_health *h,
                     const struct measure_table *tables)
{
	struct sheet s = { .ses = ses, .dev = dev, .tables = tables };

	say_identity(&s);
	say_sizes(&s);
	if (!dev->disk[0])
		return;
	say_queue(&s);
	say_caches(&s);
	if (h)
		say_state(&s, h);
}
