/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device as typed columns, each said once: type, key in the document, unit, label, and where it comes from. The keys
 * of the first ones are a contract: platter-json(5). "" and unknown become null; strings point into the device.
 */
#pragma once

#include "base/desc.h"
#include "device/device.h"

#define DEVICE_COLUMNS(X)                                                                                              \
	X(STR, path, UNIT_TEXT, "path", dev->path)                                                                     \
	X(STR, kind, UNIT_TEXT, "kind", device_kind_name(dev->kind))                                                   \
	X(STR, disk, UNIT_TEXT, "disk", known(dev->disk))                                                              \
	X(STR, name, UNIT_TEXT, "name", known(dev->name))                                                              \
	X(U64, size_bytes, UNIT_BYTES, "size", dev->kind == DEVICE_DIRECTORY ? UINT64_MAX : dev->size_bytes)           \
	X(U64, logical_block_bytes, UNIT_BYTES, "logical block", dev->logical_block_bytes)                             \
	X(U64, physical_block_bytes, UNIT_BYTES, "physical block", dev->physical_block_bytes)                          \
	X(U64, rotational, UNIT_COUNT, "rotational", dev->rotational < 0 ? UINT64_MAX : (uint64_t)dev->rotational)     \
	X(U64, reported_rpm, UNIT_RPM, "reported rotation rate", known_u64(dev->id.reported_rpm))                      \
	X(STR, model, UNIT_TEXT, "model", known(dev->id.model))                                                        \
	X(STR, vendor, UNIT_TEXT, "vendor", known(dev->id.vendor))                                                     \
	X(STR, serial, UNIT_TEXT, "serial number", known(dev->id.serial))                                              \
	X(STR, serial_of, UNIT_TEXT, "the number is the", whose_serial(dev))                                           \
	X(STR, firmware, UNIT_TEXT, "firmware", known(dev->id.firmware))                                               \
	X(STR, wwn, UNIT_TEXT, "world-wide name", known(dev->id.wwn))                                                  \
	X(STR, shared_names, UNIT_TEXT, "shared with other disks", shared_names(dev))                                  \
	X(STR, transport, UNIT_TEXT, "transport", known(dev->transport))                                               \
	X(STR, scheduler, UNIT_TEXT, "scheduler", known(dev->queue.scheduler))                                         \
	X(U64, read_ahead_bytes, UNIT_BYTES, "read-ahead", of_disk(dev, dev->queue.read_ahead_bytes))                  \
	X(STR, write_cache, UNIT_TEXT, "write cache", known(dev->queue.write_cache))                                   \
	X(U64, partition_offset_bytes, UNIT_BYTES, "place on the disk",                                                \
	  is_block || dev->disk[0] ? dev->partition_offset_bytes : UINT64_MAX)                                         \
	X(U64, disk_size_bytes, UNIT_BYTES, "size of the disk", known_u64(dev->disk_size_bytes))                       \
	X(I64, alignment_offset_bytes, UNIT_BYTES, "alignment offset", dev->queue.alignment_offset_bytes)              \
	X(U64, io_min_bytes, UNIT_BYTES, "smallest good request", known_u64(dev->queue.io_min_bytes))                  \
	X(U64, io_opt_bytes, UNIT_BYTES, "best request", known_u64(dev->queue.io_opt_bytes))                           \
	X(U64, dio_mem_align_bytes, UNIT_BYTES, "direct: memory alignment", known_u64(dev->queue.dio_mem_align_bytes)) \
	X(U64, dio_offset_align_bytes, UNIT_BYTES, "direct: offset alignment",                                         \
	  known_u64(dev->queue.dio_offset_align_bytes))                                                                \
	X(STR, zoned, UNIT_TEXT, "zoned", known(dev->queue.zoned))                                                     \
	X(STR, alias, UNIT_TEXT, "alias", known(dev->id.alias))                                                        \
	X(STR, below, UNIT_TEXT, "made of", known(dev->id.below))                                                      \
	X(STR, fs_type, UNIT_TEXT, "file system", known(dev->file.fs_type))                                            \
	X(U64, free_bytes, UNIT_BYTES, "free", is_block ? UINT64_MAX : dev->file.free_bytes)                           \
	X(U64, nr_requests, UNIT_COUNT, "requests queued", known_u64(dev->queue.nr_requests))                          \
	X(U64, queue_depth, UNIT_COUNT, "device queue depth", known_u64(dev->queue.queue_depth))                       \
	X(U64, max_sectors_bytes, UNIT_BYTES, "largest request", known_u64(dev->queue.max_sectors_bytes))              \
	X(U64, max_hw_sectors_bytes, UNIT_BYTES, "largest request of the hardware",                                    \
	  known_u64(dev->queue.max_hw_sectors_bytes))                                                                  \
	X(U64, max_segments, UNIT_COUNT, "segments", known_u64(dev->queue.max_segments))                               \
	X(U64, max_segment_bytes, UNIT_BYTES, "largest segment", known_u64(dev->queue.max_segment_bytes))              \
	X(U64, rq_affinity, UNIT_COUNT, "completion affinity", of_disk(dev, dev->queue.rq_affinity))                   \
	X(U64, nomerges, UNIT_COUNT, "merging off", of_disk(dev, dev->queue.nomerges))                                 \
	X(U64, wbt_lat_ns, UNIT_NS, "write-back throttling", of_disk(dev, (uint64_t)dev->queue.wbt_lat_us * 1000))     \
	X(U64, io_poll, UNIT_COUNT, "polling", of_disk(dev, dev->queue.io_poll))                                       \
	X(U64, fua, UNIT_COUNT, "forced unit access", of_disk(dev, dev->queue.fua))                                    \
	X(U64, discard_max_bytes, UNIT_BYTES, "largest discard", of_disk(dev, dev->queue.discard_max_bytes))           \
	X(U64, read_only, UNIT_COUNT, "read-only", dev->is_read_only)                                                  \
	X(U64, removable, UNIT_COUNT, "removable", dev->is_removable)                                                  \
	X(STR, access_ranges, UNIT_TEXT, "access ranges",                                                              \
	  ranges_text(dev, ret->ranges_text, sizeof(ret->ranges_text)))                                                \
	X(STR, chain, UNIT_TEXT, "connected by", known(dev->way.chain))                                                \
	X(STR, link, UNIT_TEXT, "link", known(dev->way.link))                                                          \
	X(U64, link_bytes_per_s, UNIT_BYTES_PER_S, "the link carries", known_u64(dev->way.link_bytes_per_s))           \
	X(U64, link_max_bytes_per_s, UNIT_BYTES_PER_S, "the link could carry",                                         \
	  known_u64(dev->way.link_max_bytes_per_s))                                                                    \
	X(F64, temperature_celsius, UNIT_NONE, "temperature (C)",                                                      \
	  dev->temperature_mc ? (double)dev->temperature_mc / 1000.0 : (double)NAN)

#define DEVICE_TYPE_STR                             const char *
#define DEVICE_TYPE_U64                             uint64_t
#define DEVICE_TYPE_I64                             int64_t
#define DEVICE_TYPE_F64                             double
#define DEVICE_MEMBER(type, key, unit, label, from) DEVICE_TYPE_##type key;

struct device_row {
	DEVICE_COLUMNS(DEVICE_MEMBER)
	char ranges_text[DEVICE_RANGES_MAX * 42]; /* access_ranges is in it: a row is not to be copied */
};
extern const struct field device_fields[]; /* of struct device_row */
void device_row(const struct device *dev, struct device_row *ret);
