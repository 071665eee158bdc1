/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers a FUSE file's requests when the modelled disk would: one thread, one disk, real time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model.h"
#include "shared.h"

struct server_tuning {
	uint64_t spin_ns;  /* the last part of a wait is spent polling */
	uint64_t priority; /* SCHED_FIFO; 0: ordinary */
};

/* Bytes over the control socket. */
enum server_word {
	SERVER_CALIBRATE = 'c', /* to the server */
	SERVER_GO = 'g',        /* to the server: the disk's time begins */
	SERVER_DRAIN = 'd',     /* to the server: answer all at once from now on */
	SERVER_IS_GONE = 'x',
	SERVER_IS_DRAINED = 'D',
};

/*
 * Serves until the file is unmounted and unused (0), the control socket closes (0), or something breaks (negative errno
 * and a sentence). Takes fuse_fd and control_fd over.
 */
int server_run(int fuse_fd, int control_fd, const struct profile *profile, const struct server_tuning *tuning,
               struct sim_shared *shared, struct err *err);
