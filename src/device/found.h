/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who uses a device, and what lies where on it; device.h has it as well. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Part of a disk with an arm of its own, in bytes of the whole disk. */
struct device_range {
	uint64_t first_byte, bytes;
};
#define DEVICE_RANGES_MAX 16

/* ---- who uses it, what is on it ---- */

enum finding_kind {
	FINDING_MOUNT, /* where: mount point */
	FINDING_SWAP,
	FINDING_HOLDER,    /* dm, md, LVM, bcache: the holder's name */
	FINDING_LOOP,      /* a loop device is over it (or over a file on it) */
	FINDING_EXPORT,    /* other hosts get it from here: LIO, nvmet; where: its folder in configfs */
	FINDING_SIGNATURE, /* what: "ext4", "gpt", "LVM2_member" (libblkid's name) */
	FINDING_EXCLUSIVE, /* O_EXCL said EBUSY: the kernel knows a user that we did not find */
	FINDING_READ_ONLY,
	FINDING_OUTPUT, /* one of our own output files lies on it */
	FINDING_ZONED,  /* host-managed: arbitrary writes do not work */
	FINDING_DATA,   /* warning only: N of 64 sampled blocks are not zero */
	FINDING_OPEN,   /* another process has it open for writing: what: program and pid */
	FINDING_LOCKED, /* another program has the lock that programs agree upon (flock on the disk) */
	/* other hosts can write to it; what: "iscsi", "reservation", the word for --despite; where: how */
	FINDING_SHARED,
	FINDING_UNSEEN, /* who uses it could not be seen; what: "processes", "namespace", "targets"; where: why */
	FINDING_STACK,  /* what it stands on could not be followed to its end; where: why */
	FINDING_ALIEN,  /* a file that platter did not make */
};
struct finding {
	enum finding_kind kind;
	char on[64];     /* kernel name of the device or partition that it is about; files: last part of the path */
	char what[128];  /* type, holder, number */
	char where[256]; /* mount point, offset, file */
};
struct survey {
	struct finding *v;
	size_t n;
};
void survey_add(struct survey *s, enum finding_kind kind, const char *on, const char *what, const char *where);
void survey_done(struct survey *s);
const char *finding_kind_name(enum finding_kind kind); /* "mounted", "swap", ... */
/* One sentence: what was found, where, and what to do. Returns buf. */
char *finding_text(const struct finding *f, char *buf, size_t len);

/* What stands for "libblkid could not read it" among signatures. */
#define SIGNATURE_UNREADABLE "unreadable"

bool survey_has(const struct survey *s, enum finding_kind kind);
bool survey_is_in_use(const struct survey *s); /* mounted, swap or held: that is why the kernel gives no claim */
void survey_drop(struct survey *s, enum finding_kind kind);

/* ---- what lies at a place ---- */

enum content_kind {
	CONTENT_FILE,
	CONTENT_DIRECTORY,
	CONTENT_METADATA, /* of a file system, also a file's own */
	CONTENT_FREE,     /* of a file system */
	/* in use, by no file that was found: one without a name, or metadata that the file system does not report */
	CONTENT_UNNAMED,
	CONTENT_PARITY,  /* of an array */
	CONTENT_OUTSIDE, /* of all partitions, mappings and arrays in use: their tables, and what they leave over */
	CONTENT_SWAP,
	CONTENT_UNMOUNTED, /* fs_type says what it is */
	CONTENT_UNKNOWN,
	CONTENT_KINDS,
};
extern const char *const content_kind_names[CONTENT_KINDS];

struct content {
	uint64_t first_bytes, end_bytes; /* of the device that was asked about */
	enum content_kind kind;
	char on[160];        /* the devices that lead there, "sda2 > vg-home" */
	char fs_type[32];    /* "": none known */
	char *path;          /* NULL: none */
	uint64_t file_bytes; /* of a file: its byte that lies at first_bytes; UINT64_MAX: not known */
};
struct contents {
	struct content *v;
	size_t n;
};
void content_list_done(struct contents *c);

struct content_question {
	const struct device_range *places; /* of the device */
	size_t n;
	bool (*is_over)(void *arg); /* asked on the way: file systems with many files take their time */
	void *arg;
};
