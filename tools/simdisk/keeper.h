/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of one simulated disk: two processes. The server answers requests and does nothing else; the keeper sets the
 * device up, writes the log, watches, and takes everything down again, whichever way it ends. Should the keeper be
 * killed, the server ends by itself and the kernel clears the device (blockdev.h) and the mount (fusedev.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "blockdev.h"
#include "model.h"
#include "server.h"

struct keeper_path { /* auto: measured when the device is set up */
	bool is_in_auto, is_out_auto, is_copy_auto;
	struct sim_path known;
};

struct keeper_params {
	const char *run_dir, *name;
	const char *profile_path;
	const struct profile *profile;
	struct blockdev_params block;
	const struct blockdev_span *partitions;
	size_t npartitions;
	struct server_tuning tuning;
	struct keeper_path path;
	const char *log_path; /* NULL: none */
	int64_t parent_pid;   /* ends with this process, which started it; 0: outlives it */
	int64_t watch_pid;    /* ends with this process; 0: none */
	uint64_t max_life_ns; /* 0: no limit */
	bool is_background;   /* a session of its own; silent once it runs */
};

struct keeper { /* as its parent sees it */
	pid_t pid;
	char device[32];
};

/* Forks a keeper, waits until its device is there. 0, or negative errno and a sentence. */
int keeper_start(struct keeper *ret, const struct keeper_params *params, struct err *err);
/*
 * Ends the keeper of process `pid` and waits for it: after a few seconds its server is killed, and then itself, so that
 * this returns. The keeper need not be our child. 0, or negative errno and a sentence.
 */
int keeper_stop(pid_t pid, pid_t server, struct err *err);
