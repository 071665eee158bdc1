/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside device/ only. What a device (or a file) stands on and what stands on it, as one graph walked to its ends both
 * ways. Nodes are partitions and disks, mappings, arrays, caches, loop devices and their files, zram, other paths to
 * the same disk, and file systems. A device is its number, a file its file system and inode: names are for the
 * messages.
 *
 * links.c knows what is directly below and above one node, and which of its bytes are which of the other's; stack.c
 * walks.
 *
 * 	struct stack s;
 * 	r = stack_build(root, dev, &s, NULL, err);
 * 	for (size_t i = 0; i < s.n; i++)
 * 		... s.v[i].rel, node_is_file(&s.v[i]), s.v[i].b.rdev, s.v[i].file ...
 * 	stack_done(&s);
 */
#pragma once

#include "device/links.h"

/*
 * All of it. Holders and loop devices on the way are findings, as the graph is found by them; out NULL: they are not
 * wanted.
 */
int stack_build(const char *root, const struct device *dev, struct stack *ret, struct survey *out, struct err *err);
/* Only what holds the bytes of b: devices and files, no file systems. 0, or negative errno. */
int stack_below(const char *root, const struct sys_block *b, struct stack *ret);
void stack_done(struct stack *s);

/* A node that shares bytes with the target (never REL_GROUND); NULL: it is none. */
const struct stack_node *stack_find(const struct stack *s, dev_t rdev);
const struct stack_node *stack_find_file(const struct stack *s, const struct file_id *file);
/* To be claimed (O_EXCL) besides the target itself: the kernel then lets nobody else have bytes of it. */
bool stack_wants_claim(const struct stack *s, const struct stack_node *n);
/* Claims all those. What could not be had is a finding. */
void claims_take(const struct stack *s, struct claims *ret, struct survey *out);
