/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only: whom survey.c asks, each in the file of its name. */
#pragma once

#include "device/stack.h"

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
