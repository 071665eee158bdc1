/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the door of disk.c does for a disk that is made of others. */
#pragma once

#include "disk.h"

bool front_is_wanted(const struct profile *p);
struct front *front_new(const struct disk *d); /* NULL: out of memory */
void front_free(struct front *f);
size_t front_parts(const struct front *f, struct disk *const **ret);
int front_submit(struct disk *d, uint64_t now_ns, const struct disk_req *req);
void front_advance(struct disk *d, uint64_t now_ns);
uint64_t front_next_event_ns(const struct disk *d);
uint64_t front_next_done_ns(const struct disk *d);
bool front_pop_done(struct disk *d, uint64_t until_ns, struct disk_done *ret);
