/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processor time of users: a thread for each processor does real work, first come first served, until its own CPU clock
 * has moved by what was asked. The loop that does the I/O never works itself. Inside `transactions` only; real time
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

struct tx_burst {
	struct tx_burst *next;
	uint64_t cpu_ns;       /* wanted */
	uint8_t *memory;       /* touched at random while working; NULL: none */
	uint64_t memory_bytes; /* of it */
	bool touches_all;      /* first touches each page of it */
	/* filled in when done: thread CPU time used, and when it ended */
	uint64_t used_ns, end_ns;
};

struct tx_cpu;

/* Processors that this process may use. */
unsigned tx_cpu_count(void);
/* 0 or negative errno and a sentence. */
int tx_cpu_open(struct tx_cpu **ret, unsigned processors, struct clock *clk, struct err *err);
/* What is under way is given up. NULL is fine. */
void tx_cpu_close(struct tx_cpu *c);
void tx_cpu_submit(struct tx_cpu *c, struct tx_burst *b);
/* A burst that is done, in the order in which they ended; NULL: none. */
struct tx_burst *tx_cpu_take(struct tx_cpu *c);
/* Waits until one is done, or until then. */
void tx_cpu_wait(struct tx_cpu *c, uint64_t until_ns);
/* When it pays to look again: the earliest expected end, not sooner than the loop can afford. CLOCK_NEVER: nothing to
 * do. */
uint64_t tx_cpu_expect_ns(struct tx_cpu *c, uint64_t now_ns);
/* CPU time used by all bursts so far, those given up and those under way included. */
uint64_t tx_cpu_used_ns(struct tx_cpu *c);
