/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside device/ only. From bytes of a mounted file system to its files: extents.c. */
#pragma once

#include "device/sysfs.h"

struct piece { /* bytes of a device, and what the first is on the device that was asked about */
	uint64_t first, end, origin;
	bool is_known;
};
/* A mounted file system and pieces of its device. */
struct ground {
	char name[64], on[160], fs_type[32], where[256];
	dev_t rdev;
	struct piece *v;
	size_t n;
};
/* Adds what lies from first to end of the piece; template: kind, path (copied), file_bytes that belong to first. */
void content_list_add(struct contents *c, const struct ground *g, const struct piece *p, uint64_t first, uint64_t end,
                      enum content_kind kind, const char *path, uint64_t file_bytes);
/* g->where is where it is mounted. Marks the pieces of which it knows all as known. */
void extents_find(const struct content_question *q, struct ground *g, struct contents *c);
