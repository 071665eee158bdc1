/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which simulated disks there are: one file per disk in the run folder, locked (flock) by its keeper as long as it
 * lives. A file without a lock is what a killed keeper left, and everybody who meets it removes it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define RUNDIR_DEFAULT  "/run/platter-simdisk"
#define RUNDIR_NAME_MAX 63

struct rundir_entry {
	char name[RUNDIR_NAME_MAX + 1];
	int64_t keeper, server; /* process ids */
	int64_t memfd;          /* the keeper's descriptor of struct sim_shared */
	char device[32];        /* /dev/loop3; "" while it starts */
	uint64_t partitions, size_bytes;
	char profile[256]; /* as it was given */
};

/* Creates and locks the file of a new disk. A descriptor to be kept, or -EEXIST and a sentence when such a disk is
 * there. */
int rundir_claim(const char *dir, const char *name, struct err *err);
int rundir_publish(int fd, const struct rundir_entry *entry);
void rundir_release(const char *dir, const char *name, int fd); /* removes, unlocks */

/* A living disk, or -ENOENT and a sentence. */
int rundir_find(const char *dir, const char *name, struct rundir_entry *ret, struct err *err);
/* All living ones, sorted by name: heap, *ret_n entries. No folder: none. */
int rundir_list(const char *dir, struct rundir_entry **ret, size_t *ret_n, struct err *err);
bool rundir_is_name(const char *name); /* letters, digits, "._-", not starting with '.' */
