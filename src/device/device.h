/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is this disk, who uses it, and may I write on it.
 *
 * probe.c reads identity and limits from sysfs (below a sysroot, so that dumps replay), ioctls and statx. survey.c
 * looks who uses a device and what is on it, decision.c says what follows. safety.c is the only file that makes a
 * `struct write_permit`, and without a permit the file is opened O_RDONLY and the loop refuses IO_WRITE. The outside
 * comes in through `struct device_ops`, so that tests pass simulated disks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/desc.h"
#include "base/err.h"
#include "base/samedisk.h"
#include "device/found.h"
#include "device/ownfiles.h"
#include "device/parts.h"

enum device_kind { DEVICE_DISK, DEVICE_PARTITION, DEVICE_FILE, DEVICE_DIRECTORY };

struct device {
	/* How it was asked for, and what it is. Strings are inline: a device is a plain value. */
	char path[256]; /* as given */
	char node[256]; /* resolved: /dev/sda1 */
	char name[64];  /* kernel name: sda1; files: last part of the path */
	char disk[64];  /* kernel name of the whole disk it lies on; "" when unknown (network file system) */
	enum device_kind kind;
	dev_t rdev;       /* of the block device; of the disk below a file: its file system's st_dev */
	dev_t disk_rdev;  /* of the whole disk */
	uint64_t diskseq; /* /sys/block/x/diskseq, 0: unknown */
	uint64_t size_bytes;
	uint64_t partition_offset_bytes; /* place on the whole disk */
	uint64_t disk_size_bytes;
	uint32_t logical_block_bytes, physical_block_bytes;
	int rotational;     /* as the kernel says: 1, 0, -1 unknown */
	char transport[16]; /* "ata", "scsi", "nvme", "usb", "virtio", "loop", "" */
	/* As queue/independent_access_ranges says of the whole disk, in order; none is usual with one arm. */
	struct device_range ranges[DEVICE_RANGES_MAX];
	uint32_t nranges;
	uint32_t temperature_mc; /* thousandths of a degree Celsius, as hwmon says; 0: not said */
	bool is_read_only, is_removable, is_cdrom;
	struct device_id id;
	struct device_queue queue;
	struct device_way way;
	struct device_file file;
};

const char *device_kind_name(enum device_kind kind); /* "disk", "partition", "file", "directory" */
/* What it is known again by; its texts are dev's. The disk below a file or partition, but a file's own uuid. */
void device_names(const struct device *dev, struct disk_names *ret);
/* 0, or -ENOMEDIUM and the sentence of all commands: a block device has a capacity of 0, and why that may be. */
int device_check_capacity(const struct device *dev, struct err *err);
bool device_has_members(const struct device *dev);                       /* a mapping or an array over several */
bool device_shares_link(const struct device *a, const struct device *b); /* a controller, port or hub */
/* What direct requests have to be multiples of; where they are not supported, a sector. */
uint32_t device_direct_align(const struct device *dev);
bool device_is_zoned(const struct device *dev); /* as it says, or the kernel's: shingled, most often */

/* I/O counters of /sys/block/x/stat (or of the partition). */
struct device_io {
	uint64_t reads, read_bytes, read_ns, writes, written_bytes, write_ns, in_flight, busy_ns, queue_ns;
};

/* What anybody has written to it and, as far as nobody else uses that, to what it lies on, since they came up. */
#define DEVICE_WRITTEN_MAX  16
#define DEVICE_WRITTEN_NAME 96
struct device_written {
	struct {
		char on[DEVICE_WRITTEN_NAME];
		uint64_t bytes; /* discarded ones as well */
	} v[DEVICE_WRITTEN_MAX];
	size_t n;
};

/* ---- the outside ---- */

struct write_permit;

/* Descriptors that keep others away. */
struct claims {
	int *fds;
	size_t n;
};
void claims_done(struct claims *c);

enum device_open_flags {
	DEVICE_OPEN_DIRECT = 1, /* O_DIRECT, else through the page cache */
};

struct device_share {
	enum { SHARE_NOTHING, SHARE_DISK, SHARE_BYTES } kind;
	size_t a, b; /* which */
};

struct device_ops {
	/* Fills *ret_dev. 0 or negative errno and a sentence. */
	int (*probe)(void *ctx, const char *path, struct device *ret_dev, struct err *err);
	/* A descriptor, or negative errno and a sentence. Read-only unless there is a permit for this very device.
	 * Checks that st_rdev is still dev's. */
	int (*open)(void *ctx, const struct device *dev, const struct write_permit *permit, unsigned flags,
	            struct err *err);
	void (*close)(void *ctx, int fd);
	/* Is it still the same device and is it there: size not 0, sysfs entry, diskseq. */
	bool (*is_there)(void *ctx, const struct device *dev, int fd);
	/* Counters of the whole disk; -ENOENT when there are none. */
	int (*io)(void *ctx, const struct device *dev, struct device_io *ret);
	/* -ENOENT: nothing counts it. NULL: nothing counts anything. */
	int (*written)(void *ctx, const struct device *dev, struct device_written *ret);
	/* Of the whole disk now, in thousandths of a degree Celsius; 0: not said. NULL: nothing is. */
	uint32_t (*temperature)(void *ctx, const struct device *dev);
	/*
	 * Of the whole disk. One in standby is woken only if it may be. false: it is not a disk that keeps such counts,
	 * and *ret says nothing. NULL: none is.
	 */
	bool (*health)(void *ctx, const struct device *dev, bool may_wake, struct device_health *ret);
	/* All disks that hold data, without partitions, in the kernel's order: an array to free(). NULL: it is not
	 * known which there are. */
	int (*list)(void *ctx, struct device **ret, size_t *ret_n, struct err *err);
	/* All findings about the disk, its partitions and (for a partition) its disk. */
	int (*survey)(void *ctx, const struct device *dev, struct survey *ret, struct err *err);
	/* The lock that udev and sfdisk agree upon: a descriptor to close(), -EAGAIN: another program has it. NULL:
	 * there are none. */
	int (*lock)(void *ctx, const struct device *dev, struct err *err);
	/* Opens for exclusive use (O_RDWR | O_EXCL): the descriptor is held until the end. -EBUSY when in use. Files:
	 * O_RDWR. */
	int (*claim)(void *ctx, const struct device *dev, struct err *err);
	/*
	 * Likewise everything else that shares bytes with it, for claims_done(). What is refused is a finding, of the
	 * device that is in use. NULL: nothing does.
	 */
	int (*claim_others)(void *ctx, const struct device *dev, struct claims *ret, struct survey *out,
	                    struct err *err);
	/*
	 * Have targets bytes in common, or a disk? Of several such pairs one, bytes before disks. NULL: never. 0, or
	 * negative errno.
	 */
	int (*share)(void *ctx, const struct device *devs, size_t n, struct device_share *ret, struct err *err);
	/* Drops the page cache of the device. */
	int (*drop_cache)(void *ctx, int fd);
	/*
	 * Does this path (or the folder that it would be made in) lie on the device, or is it that? is_itself: is it
	 * the device (or file), or one that it stands on, or one that stands on it, by whatever name? NULL: never.
	 */
	bool (*holds)(void *ctx, const struct device *dev, const char *path, bool is_itself);
	/* Partitions of a disk in the order of their places: an array to free(). NULL: there are none. */
	int (*partitions)(void *ctx, const struct device *dev, struct device **ret, size_t *ret_n, struct err *err);
	/* What lies at places of a disk or partition, in no order; an array for content_list_done(). 0, or negative
	 * errno. NULL: nobody knows. */
	int (*contents)(void *ctx, const struct device *dev, const struct content_question *q, struct contents *ret,
	                struct err *err);
};

struct device_context {      /* ctx of device_system */
	const char *sysroot; /* "/" but in tests */
};
extern const struct device_ops device_system;

/* What a folder lies in that a power failure empties, "memory"; NULL: nothing of that kind. */
const char *device_memory_of(const char *path);

/* ---- permission to write ---- */

enum write_kind {
	WRITE_NONE,
	WRITE_SAME,    /* --rewrite: puts back what it read; exclusive use, the name besides */
	WRITE_DESTROY, /* --write: consent by name */
};

struct consent {
	struct strs destroy; /* --destroy-data=NAME, once per device; see consent_names() */
	struct strs rewrite; /* --rewrite-data=NAME */
	struct strs despite; /* --despite=WORD: what of FINDING_SHARED and FINDING_UNSEEN is insisted upon */
	struct strs overwrite_signature; /* --overwrite-signature=TYPE */
	struct strs outputs;             /* our own output files: must not lie on the device */
};

/* What a permit is worth is known to safety.c and device ops only. */
struct write_permit;
/* Is the open descriptor the device or file that the permit is for? */
bool permit_covers(const struct write_permit *p, int fd);

/*
 * Claims, surveys, decides. 0 and *ret_permit (held until permit_release, with its exclusive descriptor); or -EBUSY,
 * -EPERM, -EROFS and one sentence per finding, most serious first (several: a line each). *ret_survey (may be NULL)
 * gets the findings in any case, for warnings; survey_done() it. The claim comes first, so that nothing can be mounted
 * between the look and the permit.
 */
int permit_acquire(struct write_permit **ret_permit, const struct device_ops *ops, void *ctx, const struct device *dev,
                   enum write_kind kind, const struct consent *consent, struct survey *ret_survey, struct err *err);
void permit_release(struct write_permit *p);
/* Adds a FINDING_OUTPUT for each of our own output files that lies on the device. */
void survey_outputs(const struct device_ops *ops, void *ctx, const struct device *dev, const struct strs *outputs,
                    struct survey *survey);

/* ---- decision.c: what follows from what was found ---- */

/* The decision alone: 0, or a negative errno and the reason. consent NULL: none was given. */
int permit_would(const struct device *dev, const struct survey *survey, enum write_kind kind,
                 const struct consent *consent, struct err *err);
/* One line: may platter write here, with which options, and if not, why. Returns whether it may. */
bool permit_verdict(const struct device *dev, const struct survey *survey, char *buf, size_t len);
/*
 * What --destroy-data and --rewrite-data may say for this device, best first: serial number, world-wide name, name of
 * the mapping, names in /dev/disk/by-id; of a partition with "-partN". Its kernel name only when it has none of these
 * (loop, ram, null_blk).
 */
struct consent_names {
	char v[12][320];
	size_t n;
	bool is_kernel_name;
};
void consent_names(const struct device *dev, struct consent_names *ret);
/* Does --destroy-data name it? */
bool consent_destroys(const struct consent *consent, const struct device *dev);
