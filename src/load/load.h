/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to send when. One loop does all I/O: load_run() feeds, paces, reaps, drains, cancels, records faults, and is the
 * only submitter in the program. It asks a feeder what to do next and gives every completion to a sink. A feeder and a
 * sink are often two sides of one object (the ring buffer of `stream`).
 */
#pragma once

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/rng.h"
#include "engine/engine.h"

struct write_permit; /* made in device/safety.c only; here it is looked at for being there */

/* Where requests go: what the loop needs of a device. */
struct target {
	const char *name; /* for faults */
	int fd;
	uint64_t size_bytes;
	uint32_t align_bytes;              /* of offset and length */
	const struct write_permit *permit; /* NULL: IO_WRITE is refused with -EPERM, always */
	uint64_t touch_first, touch_end;   /* bytes that the plan allows: [first, end); both 0: all */
	/* Asked when a request fails or moves 0 bytes inside the device; NULL: it is there. */
	bool (*is_there)(void *arg);
	void *is_there_arg;
};

enum feed {
	/* *req is filled: op, target, offset_bytes, len_bytes, due_ns (0: now; in the future: the loop holds it until
	   then), tag */
	FEED_IO,
	FEED_WAIT, /* nothing before *ret_until_ns (CLOCK_NEVER: not before something completes) */
	FEED_END,  /* nothing ever again */
};

struct feeder {
	/*
	 * req->slot and req->buf are set by the loop before the call (a free buffer), so that writers can fill it; a
	 * feeder with buffers of its own may replace them. The loop uses slots 0 .. depth - 1 of the engine; any above
	 * are the feeder's. After FEED_END it may be asked again only in another run.
	 */
	enum feed (*next)(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns);
	/*
	 * Cheaper than next() for feeders that always have a request for now and leave buffers alone: fills up to n,
	 * returns how many; 0: ask next(). May be NULL. Saves 46 of 222 user instructions of a random read
	 * (tests/bench/README.md: 200 at most).
	 */
	uint32_t (*many)(struct feeder *f, struct io_req *const *reqs, uint32_t n);
};

struct sink {
	/*
	 * All requests, good and failed, in order of completion; is_fault: the loop has listed it as a fault (not if
	 * only FUA is unknown). The times of late ones (req->is_late) must not be used.
	 */
	void (*take)(struct sink *s, const struct io_req *req, bool is_fault);
};

/* A request that the disk answered badly. */
struct io_fault {
	uint32_t target;
	enum io_op op;
	uint64_t offset_bytes;
	uint32_t len_bytes;
	int32_t res;      /* negative errno, or the short count */
	uint64_t time_ns; /* of the clock, at completion */
};

enum load_end {
	LOAD_DONE,      /* the feeder ended */
	LOAD_LIMIT,     /* max_ns reached: nothing more was issued */
	LOAD_CANCELLED, /* a signal */
	LOAD_FAULTS,    /* more than max_faults */
	LOAD_GONE,      /* a target is not there any more, or takes no requests (see gone_target) */
};

struct load {
	const struct target *targets;
	size_t ntargets;
	struct feeder *feeder;
	struct sink *sink;
	uint32_t depth;  /* 0: the engine's */
	uint64_t max_ns; /* from the start of the run; 0: no limit */
	uint64_t max_faults;
	bool by_own_clock;         /* for session_load(): all times as session_now_ns() has them */
	bool keep_going_when_gone; /* several targets: the feeder is expected to leave the lost one out */
	const atomic_int *cancel;  /* signal number, 0: none */
	void (*on_fault)(void *arg, const struct io_fault *fault); /* before the sink sees it */
	void (*on_tick)(void *arg, uint64_t now_ns);               /* about ten times a second: progress */
	void (*on_stall)(void *arg, uint64_t now_ns,
	                 const struct io_req *oldest); /* nothing completed for 5 s; once each time */
	/*
	 * How long this program did not run: by the clock, and suspended, which the clock leaves out. Engines that wait
	 * within submit() show only the latter.
	 */
	void (*on_stopped)(void *arg, uint64_t from_ns, uint64_t to_ns, uint64_t suspended_ns);
	void *arg;
};

/* Refused, or the target is not there any more, whatever the kernel's error was: this says nothing of the place. */
static inline bool load_is_lost(int res)
{
	return res == -ENODEV || err_is_refusal(res);
}

/* A sample, or NaN: it failed, or this program did not run meanwhile. */
static inline double load_took_ns(const struct io_req *req, bool is_fault)
{
	return is_fault || req->is_late ? (double)NAN : (double)(req->done_ns - req->submit_ns);
}

struct load_stats {
	enum load_end end;
	uint32_t gone_target; /* the first lost; UINT32_MAX: none */
	uint32_t ngone;
	bool is_refused; /* the first takes no requests, and may be there */
	uint64_t start_ns, last_done_ns;
	uint64_t end_ns; /* when the last was drained */
	uint64_t late;   /* requests that were under way when this program did not run */
};

/*
 * Runs until the end in *ret says why. Always drains what is in flight before it returns. 0, or negative errno and a
 * sentence when we could not do our job (-EPERM: a write without permit; -EINVAL: outside the plan or misaligned).
 */
int load_run(const struct load *load, struct engine *eng, struct load_stats *ret, struct err *err);

/* ---- pattern.c: ready-made feeders ---- */

/* All ready-made feeders tag their requests 0, 1, 2, ... and leave due_ns 0. */

/* Sequential requests of block bytes over [first, end), the last one shortened to fit (so first and end have to be
 * aligned). */
struct seq_feeder {
	struct feeder f;
	enum io_op op;
	uint32_t target, block_bytes;
	uint64_t end, at;
	uint64_t tag;
};
void seq_feeder_init(struct seq_feeder *f, enum io_op op, uint32_t target, uint64_t first, uint64_t end,
                     uint32_t block_bytes);

#define PERMUTATION_ROUNDS 4

struct permutation { /* of 0 .. n - 1, by key */
	uint64_t n, mask, add[PERMUTATION_ROUNDS / 2], mul[PERMUTATION_ROUNDS];
	unsigned shift;
};

/*
 * Random blocks over [first, end), each at most once until all were given (a keyed permutation, no memory); then again
 * with a new key.
 */
struct random_feeder {
	struct feeder f;
	enum io_op op;
	uint32_t target, block_bytes;
	uint64_t first, at, seed;
	struct permutation order; /* order.n blocks */
	uint64_t left;            /* requests still to give; set it anew to go on */
	uint64_t given;
};
void random_feeder_init(struct random_feeder *f, enum io_op op, uint32_t target, uint64_t first, uint64_t end,
                        uint32_t block_bytes, uint64_t count, uint64_t seed);
/* Place of index i in a keyed permutation of 0 .. n-1. */
uint64_t permute(uint64_t i, uint64_t n, uint64_t key);

/* Requests from a prepared list (seek pairs, geometry's probes). */
struct list_item {
	uint64_t offset_bytes;
	uint32_t len_bytes, target;
	enum io_op op;
	uint64_t wait_ns; /* before it */
};
struct list_feeder {
	struct feeder f;
	const struct list_item *items;
	size_t n, at;
};
void list_feeder_init(struct list_feeder *f, const struct list_item *items, size_t n);

/* ---- rowlog.c: a line of text for each row, written by a thread of its own while the loop goes on ---- */

struct rowlog;
struct rowlog_form {
	const char *head; /* first line */
	size_t row_bytes;
	/* Writes the row's text; in the writing thread, which alone has the stream. */
	void (*put)(FILE *out, const void *row);
};

/* Writes to fd, which is closed in any case. 0 or negative errno: no thread. */
int rowlog_open(struct rowlog **ret, int fd, const struct rowlog_form *form);
void rowlog_add(struct rowlog *log, const void *row);
void rowlog_u64(FILE *out, uint64_t v, unsigned least_digits, char behind);
/* Writes what is left, and frees. 0 or negative errno: rows are missing. *ret_waits: how often the loop waited for the
 * writer, because its memory was full; NULL is fine. */
int rowlog_close(struct rowlog *log, uint64_t *ret_waits);

/* ---- payload.c: data that can be checked ---- */

/*
 * A block that carries its place: sequence number, target, offset, length and a checksum in a header of 64 bytes,
 * incompressible filling made from the seed. payload_check: 0, or -EILSEQ and a sentence that says what is wrong
 * (flipped bit: where; swapped: whose; lost; doubled).
 */
struct payload_id {
	uint64_t seed, sequence, offset_bytes;
	uint32_t target, len_bytes;
};
void payload_fill(void *buf, const struct payload_id *id);
/* Only the header and its checksum: for buffers that were filled before (a ring that goes round). */
void payload_stamp(void *buf, const struct payload_id *id);
int payload_check(const void *buf, const struct payload_id *expect, struct err *err);
enum payload_fault {
	PAYLOAD_GOOD,
	PAYLOAD_FLIPPED, /* a few bits of it */
	PAYLOAD_DAMAGED,
	PAYLOAD_EMPTY,     /* zeros */
	PAYLOAD_FOREIGN,   /* no block of ours */
	PAYLOAD_OTHER_RUN, /* another seed */
	PAYLOAD_ELSEWHERE, /* of another place: *ret_found says of which */
	PAYLOAD_OTHER,     /* another number, or length */
};
/* The same without a sentence. ret_found is filled where the header is whole. */
enum payload_fault payload_look(const void *buf, const struct payload_id *expect, struct payload_id *ret_found);
uint64_t payload_hash(const void *buf, size_t len); /* of any data, fast */

/*
 * Data for writing at memory speed: a block begins anywhere in a pool that is filled once, so it costs nothing, does
 * not compress, and differs from its neighbours. Seed and number fix the block.
 */
#define PAYLOAD_POOL_BYTES (8u << 20) /* a power of 2; more than compressors look back */
struct payload_pool {
	uint8_t *bytes;
	size_t len_max;
};
void payload_pool_init(struct payload_pool *p, uint64_t seed, size_t len_max);
void payload_pool_done(struct payload_pool *p);
/* len_max bytes, not aligned. The step is odd: each of as many blocks as the pool has bytes begins elsewhere. */
static inline const uint8_t *payload_pool_at(const struct payload_pool *p, uint64_t number)
{
	return p->bytes + number * (p->len_max | 1) % PAYLOAD_POOL_BYTES;
}

/* ---- host.c: the machine around the loop ---- */

/*
 * Keeps the CPUs out of idle states until the returned descriptor is closed.
 * Negative errno and a sentence when it is not permitted (/dev/cpu_dma_latency: root).
 */
int host_cpu_latency_hold(struct err *err);
/* Wakes as exactly as the timer allows (default: up to 50 us late). For paced loads. */
void host_timer_slack(void);

/* Starts a thread of ordinary priority, also under chrt(1), and without signals: they are the
 * loop's. 0, or negative errno; join it. */
int host_thread(pthread_t *ret, void *(*run)(void *arg), void *arg);

struct host_usage { /* of the whole process since its start: all threads, so punted requests are counted */
	uint64_t user_ns, system_ns;
	uint64_t minor_faults, major_faults;
	uint64_t max_rss_bytes;
};
void host_usage(struct host_usage *ret);

/* What storage has fetched for the calling thread, or for all, also those that have ended. false: not known. */
bool host_fetched(bool is_of_thread, uint64_t *ret_bytes);
