/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log of requests: CSV, one line each, written by the keeper; the timing thread only fills a ring in memory. */
#pragma once

#include "base/err.h"
#include "shared.h"

struct reqlog;
struct reqlog *reqlog_open(const char *path, struct err *err); /* NULL and a sentence */
void reqlog_drain(struct reqlog *log, struct sim_shared *shared);
int reqlog_close(struct reqlog *log); /* -EIO when something could not be written */
