/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of struct device, each filled by the files that it names, and what a disk reports of itself. device.h has
 * it as well.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Can another host write to it? UNKNOWN: where the connection does not show it (SAS, hypervisors). */
enum reach { REACH_LOCAL, REACH_UNKNOWN, REACH_SHARED };

/* What it shows of itself, and what it is known by; identity.c. */
struct device_id {
	/*
	 * Whole or not at all: a cut name is another disk's. Page 80h has up to 252 bytes, a T10 name 4 + 255, an NVMe
	 * name 140.
	 */
	char model[64], serial[256], firmware[32], wwn[288], vendor[32];
	bool serial_is_bridges;               /* it stands in the USB device's folder alone */
	bool serial_is_shared, wwn_is_shared; /* another disk shows the same: it cannot stand for consent */
	bool has_twin;                        /* and that is this one, by another path */
	uint32_t reported_rpm;                /* VPD B1h / IDENTIFY word 217; 0: not said */
	uint32_t partition;                   /* number, 0: not a partition */
	char alias[128];                      /* dm: its name ("vg-home"); md: its level */
	char below[512];                      /* dm, md: members; loop: backing file */
	char uuid[160];     /* dm, md: of the mapping or the array; loop: file and inode; files: path and inode */
	char part_uuid[64]; /* of the partition, as udev links it */
	char by_id[2048];   /* its names in /dev/disk/by-id, blanks between them */
};

/* How the kernel gives it requests, as sysfs prints it; probe.c. */
struct device_queue {
	char scheduler[32];
	char write_cache[32]; /* "write back", "write through" */
	char zoned[16];       /* "none", "host-managed", "host-aware", "drive-managed" */
	uint64_t read_ahead_bytes;
	uint64_t discard_max_bytes; /* 0: no discard */
	uint32_t nr_requests, max_sectors_bytes, max_hw_sectors_bytes, max_segments, max_segment_bytes, queue_depth;
	uint32_t rq_affinity, nomerges, wbt_lat_us, io_poll, fua, io_min_bytes, io_opt_bytes;
	int64_t alignment_offset_bytes;
	uint32_t dio_mem_align_bytes, dio_offset_align_bytes; /* what O_DIRECT wants; 0: it is not supported */
};

/* What lies between it and the processor, and who else reaches it; link.c and reach.c. */
struct device_way {
	char chain[160]; /* "ahci 0000:00:17.0, ata1" */
	char link[64];   /* the slowest wire on that way, "SATA 6.0 Gbps"; "": not said */
	uint64_t link_bytes_per_s, link_max_bytes_per_s; /* what it carries, and could; 0: not said */
	enum reach reach;                                /* who may write to it besides this host */
	char shared_by[32];                              /* REACH_SHARED: "iscsi", "fc", "nbd", ... */
};

/* Of files and directories. */
struct device_file {
	uint64_t inode;
	dev_t file_dev;      /* st_dev, to which the inode belongs */
	char fs_type[32];    /* the file system they lie on */
	uint64_t free_bytes; /* what an ordinary user may still write */
};

/* ---- of itself ---- */

#define DEVICE_SUSPECTS_MAX 16

/* What a disk says of itself, by smartctl: counts since it was made, UINT64_MAX: not reported. */
struct device_health {
	char why_not[160]; /* a half sentence why nothing is reported; "": it is */
	int passed;        /* the disk's own verdict; -1: none */
	bool is_standby;   /* so it was not asked, as that would have woken it */
	char power[16];    /* "active", "idle", "standby", "stopped"; "": not said, or not asked */
	double celsius;    /* NaN: not said */
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
