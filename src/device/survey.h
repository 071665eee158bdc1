/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only. */
#ifndef PLATTER_DEVICE_SURVEY_H
#define PLATTER_DEVICE_SURVEY_H

#include "device/device.h"
#include "device/stack.h"

/* What stands for "libblkid could not read it" among signatures. */
#define SIGNATURE_UNREADABLE "unreadable"

bool survey_has(const struct survey *s, enum finding_kind kind);
void survey_drop(struct survey *s, enum finding_kind kind);

/* ---- reach.c: other hosts ---- */

/* Hosts that have registered keys on a disk below. */
int find_reservations(const char *root, const struct sys_block *b, const char *on, struct survey *out);
/* How many keys an answer to PERSISTENT RESERVE IN, READ KEYS holds; -1: it is none. */
int reserve_keys(const uint8_t *page, size_t len);

/* ---- unseen.c ---- */

/* Targets that lend one of the stack to other hosts. */
int find_exports(const struct stack *stack, const char *self, struct survey *out);
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
