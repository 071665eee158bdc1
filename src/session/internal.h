/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between session.c, the frame, steps.c, what a measurement calls within it, and the files of what is done around a
 * run. Not a door. */
#pragma once

#include "session/session.h"

struct own_io { /* what this program moved, per target */
	uint64_t reads, read_bytes, writes, written_bytes;
};

struct session_state {
	/* why nothing more is measured; 0: it goes on */
	enum { LOST_GONE = 1, LOST_REFUSES, LOST_ERRORS } lost;
	bool is_early;
	bool is_begun; /* since the first progress or checkpoint; an error before that may be a refusal */
	uint64_t faults;
	double done;                  /* progress of a whole that is made of parts */
	uint64_t unlooked_ns;         /* of loads since the last look for io_uring's threads */
	struct own_io *own;           /* one per device */
	struct device_health *health; /* before, one per device */
	struct table *kept;           /* requests (replay.h); NULL: none are */
	uint64_t kept_ns;             /* when the document was saved last */
	struct outfiles files;
	uint64_t answered_ns; /* when the last request of session_load() completed */
	struct stops {        /* when this program did not run, as load_run() saw it; and when no request completed */
		uint64_t n, first_ns, by_clock_ns, suspended_ns, late_requests, stalls;
		char first_stall[300];
	} stops;
	struct there { /* argument of target.is_there */
		struct session *ses;
		size_t index;
	} * there;
};

/* session.c: how a run ended that returned r, the whole or a part of it. */
enum result_status session_status(const struct session *ses, int r);

/* session.c: host and targets, into the document. */
void session_describe(struct session *ses);

/* targets.c: have the targets bytes in common (-EINVAL), or one disk (a notice)? */
int lanes_check(struct session *ses, struct err *err);

/* 0, or negative errno and a sentence: what a measurement does not take, whatever its options are. */
int session_takes(const struct measure *m, const struct device *dev, struct err *err);

/* replay.c: into state->kept. */
void replay_keep(const struct session *ses, const struct io_req *req);

/* ---- watch.c ---- */

struct watch;

/* On a virtual clock nothing of the host is looked at, only the devices' counters. */
struct watch *watch_start(const struct session *ses);
/* Compares with the start and writes notices; frees. */
void watch_end(struct watch *w, const struct session *ses);
/* Settings of the devices that change the answer. */
void watch_settings(const struct session *ses);

/* ---- health.c ---- */

/*
 * While all privileges are there. Where the run gives them up, and a disk reported something, a second process keeps
 * them to ask once more: its socket, to give to health_after(), or -1.
 */
int health_before(struct session *ses);
/* What there was, is, and has moved, into the document. Closes fd, which ends the other process. */
void health_after(struct session *ses, int fd);

/* ---- machine.c: the computer that a run is made on, for the head of the document ---- */

/* "/proc/stat" below the sysroot, for reading; NULL when there is none. */
FILE *machine_open(const char *sysroot, const char *path);
/* Fills res->head.host. sysroot: "/"; what cannot be read stays NULL or 0. */
void machine_describe(struct result *res, const char *sysroot);
