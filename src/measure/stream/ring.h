/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of a ring buffer between a clock and disks: pure arithmetic, no memory of data, no I/O. Exact at any
 * instant: 128-bit integers.
 *
 * A producer's clock makes `rate` bytes per second from t0 on; block k begins at begin(k) = ceil(k B / R) and exists
 * from exist(k) = begin(k + 1) on. The ring has whole blocks as places. When a block begins and no place is free, that
 * block is dropped, whole (drop newest). A place is taken from the block's first byte until its write has completed.
 *
 * Two ledgers: the finite ring with its drops, and the endless one: due - done, where dropped bytes stay owed; the ring
 * that would have been needed. Playing back is the same account with empty places in the part of full ones: what was
 * consumed waits to be read again, and a drop is an underrun.
 *
 * Completions must come in order of time (the loop's order). A completion at the very instant when a block begins frees
 * its place for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_EVENTS_MAX 1000 /* with their times; all are counted */

struct ring_event {
	uint64_t start_ns, end_ns; /* since t0: begin of the first dropped block and of the next one taken */
	uint64_t dropped_bytes;
};

struct ring {
	uint64_t rate_bytes_per_s, block_bytes, places;
	uint64_t t0_ns, last_ns;         /* last_ns: up to where the account is complete */
	uint64_t blocks_max;             /* blocks that the producer makes; UINT64_MAX: no end */
	uint64_t begun;                  /* blocks that have begun, dropped ones included */
	uint64_t taken;                  /* of them not dropped */
	uint64_t issued, done;           /* of the taken: handed out, completed */
	uint64_t done_bytes, lost_bytes; /* completed well; taken but failed */
	uint64_t dropped_bytes;
	unsigned __int128 peak_bytes, endless_peak_bytes;
	struct ring_event events[RING_EVENTS_MAX];
	uint64_t nevents; /* all that were; the first RING_EVENTS_MAX are kept */
	bool is_dropping;
	/* Index of the arrivals that were taken, for those between done and begun: at most `places` of them. */
	uint64_t *arrival; /* places entries, by number of the taken block modulo places */
};

/* rate > 0, block > 0, places > 0. false: out of memory. */
void ring_init(struct ring *r, uint64_t rate_bytes_per_s, uint64_t block_bytes, uint64_t places, uint64_t t0_ns,
               uint64_t blocks_max);
void ring_done(struct ring *r);

/* Brings the account up to now: blocks that have begun are taken or dropped. */
void ring_advance(struct ring *r, uint64_t now_ns);
/*
 * The next block that may be written now: true, its number among the taken in *ret_number and the time from which it
 * existed in *ret_exist_ns. false: none; *ret_when_ns is the time of the next (UINT64_MAX: not before a completion, or
 * never: ring_is_over). Call ring_issue() to hand it out.
 */
bool ring_next(struct ring *r, uint64_t now_ns, uint64_t *ret_number, uint64_t *ret_exist_ns, uint64_t *ret_when_ns);
void ring_issue(struct ring *r);
/* A block has completed at done_ns; ok: it is written, else its bytes are lost. */
void ring_complete(struct ring *r, uint64_t done_ns, bool ok);
/* Full places' bytes at now (the block that is arriving counts with what has come). */
uint64_t ring_occupied_bytes(const struct ring *r, uint64_t now_ns);
/* When the last block will be there; UINT64_MAX: there is no last one. */
uint64_t ring_end_ns(const struct ring *r);
/* Everything that will ever be taken has been handed out. */
bool ring_is_over(const struct ring *r);
/* Ends the account at now: peaks and an open event are closed. */
void ring_finish(struct ring *r, uint64_t now_ns);
