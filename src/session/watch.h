/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches for what spoils a measurement from outside: other I/O on the same disks (own I/O subtracted), stolen CPU
 * time, CPU frequency limits and thermal throttling, error counters of the device, queue settings that change the
 * answer.
 */
#pragma once

#include "session/session.h"

struct watch;

/* On a virtual clock nothing of the host is looked at, only the devices' counters. */
struct watch *watch_start(const struct session *ses);
/* Compares with the start and writes notices; frees. */
void watch_end(struct watch *w, const struct session *ses);
/* Settings of the devices that change the answer. */
void watch_settings(const struct session *ses);
