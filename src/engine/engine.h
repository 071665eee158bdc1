/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engines move bytes and take the times; disks and measurements are unknown to them. An engine is one file with one
 * `struct engine_ops`; tests/unit/test_engine.c puts every engine through the same contract, the simulated one too.
 *
 * The contract:
 * - submit() takes up to n requests in order and returns how many it took (0 .. n: "full" is 0, not an error), or a
 *   negative errno when the engine itself is broken. A request that cannot be issued still completes, with res =
 * -errno. submit() may not wait for completions (sync: it does the request on the spot; it completes at the next
 * reap()). It may only queue: whatever is queued goes out with one system call at the next reap(), which every
 * submitter calls soon after.
 * - reap() hands out finished requests, at most max, oldest completion first as far as it can be known. Waits until at
 * least one is there or until_ns is reached (0: never waits; CLOCK_NEVER: for ever). Returns the number, 0 on time-out
 * and on a signal
 *   (-EINTR is never returned), or a negative errno. With nothing in flight it waits for until_ns only if that is
 * finite.
 * - done_ns is taken by the engine when it sees the completion; submit_ns by the engine just before the system call
 * that issues it: one clock reading for all that go out in one call, one for all that are seen together.
 * - res is what the kernel said: bytes moved or negative errno. Nobody retries, nobody completes short transfers.
 * - Buffers belong to the engine: memory the kernel may write to is freed in close() only, after all is drained.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

enum io_op {
	IO_READ,
	IO_WRITE,
	IO_FLUSH, /* fsync of the file, cache flush of the device */
	/* For engines with engine_ops.has_commands, on whole SCSI and ATA disks; elsewhere they return -EOPNOTSUPP. */
	IO_COMMANDS,
	IO_VERIFY = IO_COMMANDS, /* the disk reads, and nothing is transferred */
	IO_READ_FUA,             /* from the medium, whatever the drive's buffer holds */
	IO_WRITE_FUA,            /* to the medium, before it is done */
};
/* "read", "write", "flush", "verify", "read with FUA", "write with FUA": in documents and sentences alike */
const char *io_op_name(enum io_op op);
static inline bool io_writes(enum io_op op)
{
	return op == IO_WRITE || op == IO_WRITE_FUA;
}

struct io_req {
	enum io_op op;
	int fd;
	uint32_t len_bytes;
	int32_t res; /* bytes moved or negative errno: the only place a result lives */
	uint64_t offset_bytes;
	void *buf;       /* engine_buf(eng, slot), or memory of the caller that outlives the engine */
	uint32_t slot;   /* of the buffer; engines with registered buffers look at it; SLOT_NONE: a foreign one */
	uint32_t target; /* index into the load's targets; engines never look */
	uint64_t due_ns; /* when it should have been issued, or when its data existed; the load's */
	uint64_t submit_ns, done_ns;
	bool is_late; /* this program did not run meanwhile (load.h): its times are not the disk's; the loop's */
	uint64_t tag; /* the feeder's own */
	void *owner;  /* the loop's; engines and feeders never look */
};

#define SLOT_NONE UINT32_MAX

struct engine;

struct engine_ops {
	const char *name, *help;
	uint32_t max_depth;    /* 1: each request is done within submit() */
	bool issues_in_submit; /* and waits there, for room in the kernel's queue or for the answer */
	bool has_commands;     /* takes IO_VERIFY, IO_READ_FUA and IO_WRITE_FUA */
	int (*open)(struct engine *eng, struct err *err);
	int (*submit)(struct engine *eng, struct io_req *const *reqs, uint32_t nreqs);
	int (*reap)(struct engine *eng, struct io_req **done, uint32_t max, uint64_t until_ns);
	void (*close)(struct engine *eng); /* waits for nothing: engine_close() has drained, or given up */
};

struct engine_config {
	uint32_t depth;     /* requests in flight at most; cut to ops->max_depth */
	uint32_t slots;     /* buffers, at least depth; 0: depth */
	uint32_t buf_bytes; /* of each buffer; 0: none */
	/* a system call for each request: neighbours issued in one call would be merged into one by the block layer */
	bool one_by_one;
	const int *fds; /* files that will be used, for engines to register: open until engine_close(); NULL: not known.
	                 * The array is looked at while opening only */
	size_t nfds;
};

struct engine {
	const struct engine_ops *ops;
	struct clock *clk;
	struct engine_config cfg; /* in force: depth cut, slots filled in */
	uint8_t *bufs;            /* slots * buf_stride_bytes, 2 MiB aligned, huge pages where possible */
	size_t buf_stride_bytes;
	uint32_t in_flight; /* kept by engine.c */
	bool is_leaky;      /* drain failed: buffers are leaked on purpose */
	char note[160];     /* what was found out while opening: "io_uring not permitted; fixed buffers refused", ... */
	void *priv;
};

/*
 * Opens the engine called `name` ("auto": the first that opens) out of the NULL-terminated list. 0 and *ret_eng, or
 * negative errno and a sentence (-EPERM: refused by the kernel; -EINVAL: no such name, with the names there are).
 */
int engine_open(struct engine **ret_eng, const struct engine_ops *const *list, const char *name,
                const struct engine_config *cfg, struct clock *clk, struct err *err);
/* Drains for at most 10 s, closes, frees (or leaks what the kernel still owns). NULL is fine. */
void engine_close(struct engine *eng);

/* Both keep in_flight; otherwise as in the contract above. */
int engine_submit(struct engine *eng, struct io_req *const *reqs, uint32_t nreqs);
int engine_reap(struct engine *eng, struct io_req **done, uint32_t max, uint64_t until_ns);

/* io_uring worker threads that the process has now: more than before a run means that requests were punted. */
unsigned engine_worker_threads(void);

static inline void *engine_buf(const struct engine *eng, uint32_t slot)
{
	return eng->bufs + (size_t)slot * eng->buf_stride_bytes;
}

extern const struct engine_ops engine_uring, engine_libaio, engine_sync;
extern const struct engine_ops *const engines_all[]; /* the best one first; NULL ends them */
