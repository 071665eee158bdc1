/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that keeps the privileges which the run gives up, for what has to be done with them when it is over. It
 * learns of that by its socket: also when the run was killed. Inside session/ only.
 */
#ifndef PLATTER_SESSION_KEEPER_H
#define PLATTER_SESSION_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keeper;

/* In the other process, once: is_orphan: nobody waits for the answer. */
typedef void keeper_work(void *arg, bool is_orphan, void *answer);
/* NULL: no process could be made. */
struct keeper *keeper_start(keeper_work *work, void *arg, size_t answer_bytes);
/* Lets it work and ends it; false: no whole answer came in time. Frees; NULL is fine. */
bool keeper_finish(struct keeper *k, void *answer, uint64_t wait_ns);

#endif
