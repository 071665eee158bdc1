/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only. */
#ifndef PLATTER_DEVICE_SURVEY_H
#define PLATTER_DEVICE_SURVEY_H

#include "device/device.h"
#include "device/probe.h"
#include "device/sysfs.h"

/* What stands for "libblkid could not read it" among signatures. */
#define SIGNATURE_UNREADABLE "unreadable"

bool survey_has(const struct survey *s, enum finding_kind kind);
void survey_drop(struct survey *s, enum finding_kind kind);

/* ---- family.c: all devices through which the bytes of one may be in use ---- */

enum relation {
	REL_SELF,
	REL_PART,    /* a partition of it */
	REL_OVERLAP, /* another partition that shares bytes with it */
	REL_DISK,    /* the disk of the partition: only its own users count, not those of the other partitions */
	REL_BELOW,   /* what a loop device is over */
	REL_TWIN,    /* the same bytes by another way: a loop over the same file, another path to the same disk */
	REL_ABOVE,   /* dm, md, loop and their partitions over any of these */
};
struct member {
	struct sys_block b;
	enum relation rel;
};
struct loop { /* a bound loop device */
	struct sys_block b;
	char file[256];
	dev_t file_dev, file_rdev; /* file system that the file lies on; number of the block device it is, or 0 */
	uint64_t file_inode;       /* 0: not known */
	uint64_t first, end;       /* bytes of the file; end UINT64_MAX: all */
};
struct family {
	struct member *v;
	size_t n, room;
	struct loop *loops;
	size_t nloops;
	struct mounts mounts;
	dev_t file_dev; /* what is at the bottom of a loop device, or the file itself; inode 0: none */
	uint64_t file_inode;
};
/* Also puts holders and loops into the survey, as they are what the family is found by. */
int family_build(const char *root, const struct device *dev, struct family *ret, struct survey *out, struct err *err);
void family_done(struct family *f);
const struct member *family_find(const struct family *f, dev_t rdev); /* NULL: not one of it */

/* ---- reach.c: other hosts ---- */

/* Each disk at the bottom of what b is part of: members of mappings and arrays, what loop devices are over; itself when it is over nothing. */
void bottoms(const char *root, const struct sys_block *b, void (*take)(void *arg, const struct sys_block *b),
             void *arg);
/* Hosts that have registered keys on a disk below. */
int find_reservations(const char *root, const struct sys_block *b, const char *on, struct survey *out);
/* How many keys an answer to PERSISTENT RESERVE IN, READ KEYS holds; -1: it is none. */
int reserve_keys(const uint8_t *page, size_t len);

/* ---- unseen.c ---- */

/* Targets that lend one of the family to other hosts. */
int find_exports(const char *root, const struct family *family, const char *self, struct survey *out);
/* nunread of nall processes do not show what they have open. */
int find_unseen_processes(const char *self, size_t nunread, size_t nall, struct survey *out);

/* ---- signature.c ---- */

/* All that libblkid finds on the node. 0, or -ENOMEM; what cannot be read is a finding. */
int signature_scan(const char *node, dev_t rdev, const char *name, struct survey *out);
/* 64 blocks spread over the device, with a fixed seed. */
int sample_blocks(const struct device *dev, struct survey *out);

/* ---- survey.c ---- */

int survey_device(const char *root, const struct device *dev, struct survey *ret, struct err *err);
/* Does the path (or the folder it would be made in) lie on the device? */
bool survey_holds(const char *root, const struct device *dev, const char *path);

#endif
