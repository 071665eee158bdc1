/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is this disk, who uses it, and may I write on it.
 *
 * probe.c reads identity and limits from sysfs (below a sysroot, so that dumps replay), ioctls and statx. survey.c looks who
 * uses a device and what is on it. safety.c decides: it is the only file that makes a `struct write_permit`, and without a permit
 * the file is opened O_RDONLY and the loop refuses IO_WRITE.
 * The outside comes in through `struct device_ops`, so that tests pass simulated disks.
 */
#ifndef PLATTER_DEVICE_DEVICE_H
#define PLATTER_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/desc.h"
#include "base/err.h"

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
	uint64_t inode;   /* of files */
	uint64_t diskseq; /* /sys/block/x/diskseq, 0: unknown */

	uint64_t size_bytes;
	uint64_t partition_offset_bytes; /* place on the whole disk */
	uint64_t disk_size_bytes;
	uint32_t logical_block_bytes, physical_block_bytes;
	int64_t alignment_offset_bytes;
	uint32_t dio_mem_align_bytes, dio_offset_align_bytes; /* what O_DIRECT wants; 0: direct I/O is not supported */
	uint32_t io_min_bytes, io_opt_bytes;

	int rotational;        /* as the kernel says: 1, 0, -1 unknown */
	uint32_t reported_rpm; /* VPD B1h / IDENTIFY word 217; 0: not said */
	char model[64], serial[64], firmware[32], wwn[64], vendor[32];
	char transport[16]; /* "ata", "scsi", "nvme", "usb", "virtio", "loop", "" */
	char scheduler[32];
	char write_cache[32]; /* "write back", "write through" */
	char zoned[16];       /* "none", "host-managed", "host-aware" */
	uint64_t read_ahead_bytes;
	uint32_t nr_requests, max_sectors_bytes, max_hw_sectors_bytes, max_segments, max_segment_bytes, queue_depth;
	uint32_t rq_affinity, nomerges, wbt_lat_us, io_poll, fua, discard_max_bytes_ratio; /* as sysfs prints them */
	bool is_read_only, is_removable;
	char fs_type[32]; /* of files and directories: the file system they lie on */
};

/* Columns of a device for `info` and for the document's targets. */
extern const struct field device_fields[];

/* I/O counters of /sys/block/x/stat (or of the partition). */
struct device_io {
	uint64_t reads, read_bytes, read_ns, writes, written_bytes, write_ns, in_flight, busy_ns, queue_ns;
};

/* ---- who uses it, what is on it ---- */

enum finding_kind {
	FINDING_MOUNT, /* where: mount point */
	FINDING_SWAP,
	FINDING_HOLDER,    /* dm, md, LVM, bcache: the holder's name */
	FINDING_LOOP,      /* a loop device is over it (or over a file on it) */
	FINDING_SIGNATURE, /* what: "ext4", "gpt", "LVM2_member" (libblkid's name) */
	FINDING_EXCLUSIVE, /* O_EXCL said EBUSY: the kernel knows a user that we did not find */
	FINDING_READ_ONLY,
	FINDING_OUTPUT, /* one of our own output files lies on it */
	FINDING_ZONED,  /* host-managed: arbitrary writes do not work */
	FINDING_DATA,   /* warning only: N of 64 sampled blocks are not zero */
};
struct finding {
	enum finding_kind kind;
	char on[64];     /* kernel name of the device or partition that it is about */
	char what[128];  /* type, holder, number */
	char where[256]; /* mount point, offset, file */
};
struct survey {
	struct finding *v;
	size_t n;
};
int survey_add(struct survey *s, enum finding_kind kind, const char *on, const char *what, const char *where);
void survey_done(struct survey *s);
const char *finding_kind_name(enum finding_kind kind); /* "mounted", "swap", ... */
/* One sentence: what was found, where, and what to do. Returns buf. */
char *finding_text(const struct finding *f, char *buf, size_t len);

/* ---- the outside ---- */

struct write_permit;

enum device_open_flags {
	DEVICE_OPEN_DIRECT = 1, /* O_DIRECT, else through the page cache */
	DEVICE_OPEN_CREATE = 2, /* files only: O_CREAT | O_EXCL | O_NOFOLLOW */
};

struct device_ops {
	/* Fills *ret_dev. 0 or negative errno and a sentence. */
	int (*probe)(void *ctx, const char *path, struct device *ret_dev, struct err *err);
	/* A descriptor, or negative errno and a sentence. Read-only unless there is a permit for this very device. Checks that st_rdev is still dev's. */
	int (*open)(void *ctx, const struct device *dev, const struct write_permit *permit, unsigned flags,
	            struct err *err);
	void (*close)(void *ctx, int fd);
	/* Is it still the same device and is it there: size not 0, sysfs entry, diskseq. */
	bool (*is_there)(void *ctx, const struct device *dev, int fd);
	/* Counters of the whole disk; -ENOENT when there are none. */
	int (*io)(void *ctx, const struct device *dev, struct device_io *ret);
	/* All findings about the disk, its partitions and (for a partition) its disk. excl_fd: -1, or what an O_EXCL open gave. */
	int (*survey)(void *ctx, const struct device *dev, struct survey *ret, struct err *err);
	/* Opens for exclusive use (O_RDWR | O_EXCL): the descriptor is held until the end. -EBUSY when in use. Files: O_RDWR. */
	int (*claim)(void *ctx, const struct device *dev, struct err *err);
	/* Drops the page cache of the device. */
	int (*drop_cache)(void *ctx, int fd);
};

struct device_context {      /* ctx of device_system */
	const char *sysroot; /* "/" but in tests */
};
extern const struct device_ops device_system;

/* ---- permission to write ---- */

enum write_kind {
	WRITE_NONE,
	WRITE_SAME,    /* --rewrite: puts back what it read; exclusive use, no consent to destroy */
	WRITE_DESTROY, /* --write: consent by name */
};

struct consent {
	struct strs destroy;             /* --destroy-data=NAME, kernel name or serial, once per device */
	struct strs overwrite_signature; /* --overwrite-signature=TYPE */
	struct strs outputs;             /* our own output files: must not lie on the device */
};

/* What a permit is worth is known to safety.c and device ops only. */
struct write_permit;
dev_t permit_rdev(const struct write_permit *p);
enum write_kind permit_kind(const struct write_permit *p);

/*
 * Surveys, claims, decides. 0 and *ret_permit (held until permit_release, with its exclusive descriptor); or -EBUSY, -EPERM, -EROFS and one sentence per
 * finding, most serious first. *ret_survey (may be NULL) gets the findings in any case, for warnings; survey_done() it.
 */
int permit_acquire(struct write_permit **ret_permit, const struct device_ops *ops, void *ctx, const struct device *dev,
                   enum write_kind kind, const struct consent *consent, struct survey *ret_survey, struct err *err);
void permit_release(struct write_permit *p);
/* The decision alone, as `info` prints it: 0, or a negative errno and the reason. */
int permit_would(const struct device *dev, const struct survey *survey, enum write_kind kind,
                 const struct consent *consent, struct err *err);

/*
 * Files that platter makes itself: created exclusively, first block stamped with platter's header, removed at the end. A permit of a fresh
 * file needs no consent; one of an existing file wants the header. (datafile.c)
 */

#endif
