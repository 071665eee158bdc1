/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outside for tests, whole and in memory: simulated disks in virtual time behind a `struct env`. No disk, no root,
 * no waiting; the same every time.
 *
 *	struct sim *sim = sim_new();
 *	struct sim_disk *sd = sim_add_profile(sim, "tiny", "sda");
 *	... session_run() with .env = sim_env(sim), paths { "sda" } ...
 *	sim_free(sim);
 */
#pragma once

#include "device/device.h"
#include "engine/engine.h"
#include "model.h"
#include "session/session.h"
#include "vclock.h"

struct sim;
struct sim_disk;

/* Both abort the test with a message when something is wrong with it (no memory, no such profile). */
struct sim *sim_new(void);
void sim_free(struct sim *sim);

/* Owned by the sim; out is stdout and err is stderr until the test sets others. engines: sim, sim-sync. */
struct env *sim_env(struct sim *sim);
struct vclock *sim_clock(struct sim *sim);

/*
 * A disk of a finished profile (copied), plugged in now. name: kernel name, "sda"; its paths are "sda", "/dev/sda" and
 * "sim:sda". A path "sim:PROFILE" of a profile in tools/simdisk/profiles or of a file adds the disk when it is probed.
 */
struct sim_disk *sim_add_disk(struct sim *sim, const struct profile *p, const char *name);
struct sim_disk *sim_add_profile(struct sim *sim, const char *profile, const char *name); /* by profile name or path */
/* name: "sda1". Its place: bytes of the disk, multiples of the logical sector. */
struct sim_disk *sim_add_partition(struct sim *sim, struct sim_disk *disk, const char *name, uint64_t first_byte,
                                   uint64_t bytes);
/* A file on the disk, in one piece: a file's device, and the timing of the disk below it. */
struct sim_disk *sim_add_file(struct sim *sim, struct sim_disk *disk, const char *name, uint64_t first_byte,
                              uint64_t bytes);
struct sim_disk *sim_find(struct sim *sim, const char *path); /* NULL: no such disk, partition or file */

/* Before anything else somebody writes n blocks: all over half of the disk "sda", or in its first 11 GiB. */
enum sim_filled { SIM_EMPTY, SIM_ALL_OVER, SIM_SAME_PLACE };
void sim_fill_cache(struct sim *sim, size_t n, enum sim_filled how);
struct disk *sim_model(struct sim_disk *sd); /* the model below: contents, counters, write log, geometry */
/* What probe will say: change it before the run (is_read_only, rotational = -1, ...). */
struct device *sim_device(struct sim_disk *sd);
/* What it reports of itself, before and after a run; it reports nothing until this is called. */
struct device_health *sim_health(struct sim_disk *sd);
/* What the survey will find; -EBUSY for claim when kind is one that the kernel's O_EXCL would refuse. */
void sim_add_finding(struct sim_disk *sd, enum finding_kind kind, const char *on, const char *what, const char *where);
/* What lies from first to end on a disk, for those who ask: a file of this path. The path must stay. */
void sim_add_file_at(struct sim_disk *sd, uint64_t first, uint64_t end, const char *path);
/* What becomes of verify commands: done, answered without a look at the medium, or not known, as FUA is not then. */
enum sim_verify { SIM_VERIFY_TRUE, SIM_VERIFY_LIES, SIM_VERIFY_UNKNOWN };
void sim_set_verify(struct sim *sim, enum sim_verify how);
/* From now on every request comes back with it, a negative errno; 0: as the disks answer. */
void sim_set_error(struct sim *sim, int error);
/* Time that each file takes when it is asked what lies where; default 0. */
void sim_set_file_cost(struct sim *sim, uint64_t ns);
/* The kernel's scheduler sorts what the disk's queue has no room for, by place and upward, as mq-deadline does;
 * default: it is none. */
void sim_set_scheduler(struct sim_disk *sd, const char *name);
/* Somebody else's I/O appears in the disk's counters. */
void sim_foreign_io(struct sim_disk *sd, const struct device_io *more);
unsigned sim_opens(const struct sim_disk *sd);       /* descriptors that are open, claims included */
unsigned sim_write_opens(const struct sim_disk *sd); /* of them writable */

/* Somebody who reads 4 KiB at random places; to be there as long as the sim. */
struct sim_user {
	struct sim_disk *sd;
	double mean_gap_ns;
	enum {
		SIM_USER_RANDOM,  /* at random times */
		SIM_USER_THINKS,  /* the same, but counted from the answer before */
		SIM_USER_REGULAR, /* always after the same time */
		SIM_USER_BURSTS,  /* ten, each after a tenth of it, and then a pause that makes up for them */
	} rhythm;
	bool is_hidden;    /* from the counters: it reads through another host */
	size_t most;       /* reads */
	uint64_t *took_ns; /* of each, as many as most */
	/* Its own. */
	struct rng rng;
	size_t sent, n;
};
void sim_user_start(struct sim_user *u);
/* Until all its reads are done, with nobody else there. */
void sim_user_wait(struct sim_user *u);

/* Whether reads of what is open for writing, too, fill buffers (default: yes). Without, only time is simulated: several
 * times faster. */
void sim_set_contents(struct sim *sim, bool has_contents);
/* Time that the host spends in each submit and each reap call that returns something; default 0. */
void sim_set_host_cost(struct sim *sim, uint64_t submit_ns, uint64_t reap_ns);
/* Answers are seen only at multiples of that: a host that looks at its timer's ticks; default 0. */
void sim_set_tick(struct sim *sim, uint64_t tick_ns);
/* fn(arg) when the virtual clock has got so far, in ns since the sim was made: signals, unplugging, foreign I/O. */
void sim_at(struct sim *sim, uint64_t after_ns, void (*fn)(void *arg), void *arg);
uint64_t sim_elapsed_ns(const struct sim *sim);
uint64_t sim_requests(const struct sim *sim); /* requests that engines have taken, over all disks */

/* ---- the parts ---- */

extern const struct engine_ops engine_sim;      /* up to 256 in flight */
extern const struct engine_ops engine_sim_sync; /* one at a time, done within submit() */
extern const struct device_ops device_sim;      /* ctx: struct sim * */

/* Descriptors of simulated disks: far away from any real one, so that neither can be taken for the other. */
#define SIM_FD_FIRST 0x40000000
