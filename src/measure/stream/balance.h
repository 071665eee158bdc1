/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does the ring's balance hold? Pure arithmetic on what came and what was done: no I/O, no document.
 *
 * The fill is what is due less what is done. A target that waits for data could have done more, hence the netput:
 *
 *	netput = fill - sum over targets of (bytes per busy second) x (seconds without work).
 *
 * It is what the fill would be without a floor (Skorokhod's reflection; Harrison, Brownian Motion and Stochastic Flow
 * Systems, 1985). Its drift is the rate that comes less the rate that the targets can take. A fill is an
 * integrated process: its values hang together over all of a run, its steps hardly. So a drift is the mean of the
 * steps from slot to slot, with the interval of batch means. Work is done in blocks, though: the fill is a sawtooth of
 * one block for each target, of which a slot sees a part. What that can turn a drift by is in the interval, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/stats.h"

#define BALANCE_SLOTS \
	256 /* joined in pairs when used up: 32 in the last eighth of a run, of which batches can be made */
#define BALANCE_HORIZON_S \
	3600.0 /* what has shown no growth that fills the ring within that is sustained "for at least so long" */

struct balance_lane {
	uint64_t wait_ns;                            /* without work though data were there: it was another's turn */
	uint64_t done_bytes, idle_ns, idle_since_ns; /* idle_since_ns UINT64_MAX: it has work, or is out */
	double done[BALANCE_SLOTS], idle_s[BALANCE_SLOTS]; /* at the end of each slot */
};

struct balance {
	double rate;
	uint64_t start_ns, until_ns, at_ns, slot_ns; /* until_ns: when the last data come */
	double done_bytes, area;                     /* area: bytes x s under the fill, of the slot under way */
	double block_bytes;                          /* the largest that was done at once */
	double fill[BALANCE_SLOTS];                  /* mean of each slot */
	size_t n, nlanes;
	struct balance_lane *lanes;
};

/* false: out of memory. All lanes are without work at first. */
void balance_start(struct balance *b, size_t nlanes, uint64_t rate_bytes_per_s, uint64_t start_ns, uint64_t until_ns);
void balance_free(struct balance *b);
/* A lane got a block that existed at exist_ns. */
void balance_issue(struct balance *b, size_t lane, uint64_t exist_ns, uint64_t now_ns);
/* A block is done. has_more: others are on their way, or the lane gets none any more. */
void balance_complete(struct balance *b, size_t lane, uint64_t bytes, bool has_more, uint64_t now_ns);
void balance_finish(struct balance *b, uint64_t now_ns);

enum balance_answer {
	BALANCE_FOR_EVER, /* they can take more than comes */
	BALANCE_AT_LEAST, /* no growth is seen that could fill the ring before at_least_s */
	BALANCE_FILLS,    /* the fill grows; the ring is full at full_s */
	BALANCE_OPEN,     /* a run of need_s can tell */
};

/* What else is known. */
struct balance_more {
	double ring_bytes;
	bool in_turn; /* the slowest lane binds all */
	/* a cache takes the data first: that a lane has no work, and that nothing grows, says nothing */
	bool is_hidden;
	/* what is read may come from where the drive has read ahead: that a lane has no work says nothing */
	bool is_ahead;
	double can_bytes_per_s; /* at full speed at least; NaN: nobody has looked */
	double ends_s;          /* when there is no more to be read; INFINITY: it goes on */
};

struct balance_judgement {
	enum balance_answer answer;
	struct stats_estimate growth, full_s; /* bytes/s of the fill; since the start */
	double at_least_s, need_s;
	size_t slowest;                              /* lane */
	double slowest_bytes_per_s, all_bytes_per_s; /* while they have work */
};

void balance_judge(const struct balance *b, const struct balance_more *more, struct balance_judgement *ret);
