/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside device/ only: what the parts of probing, surveying, asking the drive and writing have of each other, each in
 * the file that is named.
 */
#pragma once

#include <sys/stat.h>

#include "base/scsi.h"
#include "device/stack.h"

/* ---- probe.c ---- */

/* A path as the user gave it. */
int probe_path(void *ctx, const char *path, struct device *ret, struct err *err);
/* A block device that sysfs knows; path: as the user gave it, NULL: its node. */
int probe_block(const char *root, const struct sys_block *b, const char *path, struct device *ret, struct err *err);
/* Thousandths of a degree Celsius by hwmon; 0: not said. dir: of the whole disk in sysfs. */
uint32_t probe_temperature(const char *root, const char *dir);

/* ---- reach.c: other hosts ---- */

/* Hosts that have registered keys on a disk below. */
void find_reservations(const struct stack *stack, const char *self, struct survey *out);
/* How many keys an answer to PERSISTENT RESERVE IN, READ KEYS holds; -1: it is none. */
int reserve_keys(const uint8_t *page, size_t len);

/* Targets that lend one of the stack to other hosts. */
void find_exports(const struct stack *stack, const char *self, struct survey *out);

/* ---- processes.c ---- */

/* Programs that can write to the stack, and whether all could be seen. */
void find_processes(const struct stack *stack, const char *self, struct survey *out);
struct sight {
	const struct mounts *mounts;
	bool is_proc, is_sys; /* they are the kernel's */
	bool sees_all;        /* CAP_SYS_PTRACE, in the first name space of users */
	size_t nall, nhidden; /* processes; those of which something does not show */
};
/* Why not all processes were seen; NULL: they were. buf: for what has to be composed. */
const char *sight_veil(const struct sight *s, char *buf, size_t len);
/* A line of the fdinfo of io_uring that names a registered file: its path. */
bool ring_file(const char *line, char *buf, size_t len);
/* A line of /proc/PID/maps: a shared mapping of a file, and its name in map_files. */
bool map_is_shared(const char *line, char range[48], bool *ret_is_ring);

/* ---- signature.c ---- */

/* All that libblkid finds on the node; what cannot be read is a finding. */
void signature_scan(const char *node, dev_t rdev, const char *name, struct survey *out);
/* What could not be read of it, and why. */
void signature_unread(const char *name, const char *why, struct survey *out);
/* 64 blocks spread over the device, with a fixed seed; fewer, where they take seconds. */
void sample_blocks(const struct device *dev, struct survey *out);

/* ---- health.c: smartctl is a program below the root. dir: of the whole disk in sysfs ---- */

#define HEALTH_ASLEEP "the disk is in standby, and asking would wake it"
bool health_read(const char *root, const char *dir, const struct device *dev, bool may_wake, struct device_health *ret);

enum drive_way { DRIVE_NO_WAY, DRIVE_ATA, DRIVE_SCSI };

struct drive {
	scsi_ioctl *ask;
	enum drive_way way;
	int fd; /* read-only is enough for root */
};

/* has_scsi: the kernel drives it as a SCSI disk. USB bridges are not asked. */
enum drive_way drive_way(const struct device *dev, bool has_scsi);
/*
 * What the drive could show (ATA): above its size lies a host protected area, or an accessible maximum that was set
 * lower. Reading only; 0: it does not show it.
 */
uint64_t drive_native_sectors(const struct drive *d);
/* "active", "idle", "standby", "stopped", or "" when it does not say: as struct device_health has it. Wakes nothing. */
const char *drive_power(const struct drive *d);

/* ---- survey.c ---- */

int survey_device(void *ctx, const struct device *dev, struct survey *ret, struct err *err);
bool survey_holds(void *ctx, const struct device *dev, const char *path, bool is_itself);
int shares_find(void *ctx, const struct device *devs, size_t n, struct device_share *ret, struct err *err);

/* contents.c: what lies at places of a disk. */
int content_find(void *ctx, const struct device *dev, const struct content_question *q, struct contents *ret,
                 struct err *err);
/* memory.c: what of memory the path lies in, as a root's tables show it. NULL: none that shows. */
const char *memory_of_path(const char *root, const char *path);

/* ---- header.c, which knows our own files; safety.c, which makes permits ---- */

int datafile_write_header(int fd, uint64_t data_bytes);
/* Does the open file begin with platter's header? */
bool datafile_has_header(int fd);
/* A permit for an open file of ours: looks for the header itself. fd stays the caller's. */
int permit_for_datafile(struct write_permit **ret, int fd, const char *path, struct err *err);
