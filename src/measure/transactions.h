/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users and their transactions: shared by transactions.c (options, results) and transactions_run.c (the users themselves). */
#ifndef PLATTER_MEASURE_TRANSACTIONS_H
#define PLATTER_MEASURE_TRANSACTIONS_H

#include <stdio.h>

#include "measure/measure.h"

#define TX_CLASSES_MAX     16
#define TX_TIME_DEFAULT_NS (60 * NS_PER_S)
#define TX_OUTSTANDING_MAX (1u << 20)

enum tx_think { TX_THINK_EXPONENTIAL, TX_THINK_UNIFORM, TX_THINK_FIXED };

struct tx_params {
	uint64_t users, count, ios, think_ns, cpu_ns, memory_bytes, record_bytes, depth;
	uint64_t span_bytes;
	double arrivals_per_s;
	int think_law, randomise;
	bool write, cached, find_users;
	struct strs classes;
	const char *limit, *each;
};

struct tx_class {
	char name[32];
	uint64_t users, count, ios, think_ns, cpu_ns, memory_bytes;
};

struct tx_totals { /* of transactions that ended within the window */
	struct hist *response;
	uint64_t done, ios, faults;
	double think_s, cpu_s;
};

struct tx_job; /* a user, or in open runs a transaction under way */

struct tx_run {
	struct feeder feeder; /* first */
	struct sink sink;
	struct session *ses;
	const struct tx_params *p;
	struct tx_class classes[TX_CLASSES_MAX];
	size_t nclasses;
	struct engine *eng;
	const struct target *target;
	uint64_t records;
	bool is_open, is_virtual, randomise_work, is_out_of_memory;
	uint32_t depth, in_flight;

	struct tx_job **jobs; /* all that were ever made */
	size_t njobs, jobs_room, live;
	struct tx_job **heap; /* by wake_ns */
	size_t nheap, heap_room;
	struct tx_job *ready, **ready_end; /* want a request */
	struct tx_job *burst, **burst_end; /* want the processor */
	struct tx_job *idle;               /* may be used again */
	struct tx_job **by_slot;
	uint8_t *memory;
	uint64_t memory_bytes;

	uint64_t start_ns, end_ns, stop_ns; /* window; when the first user had its count, or the time was up */
	uint64_t full_until_ns, full_done;  /* while all users are at work: for the law */
	double full_response_s, full_think_s;
	uint64_t next_arrival_ns, arrivals, unfinished;
	double arrival_at_ns;
	struct rng arrival_rng;
	uint64_t cpu_free_ns; /* virtual processor */
	double cpu_busy_s;
	struct tx_totals of[TX_CLASSES_MAX], all;
	struct hist *late, *service;
	FILE *each;
	uint64_t each_rows, each_cost_ns;
};

/* Of one run; 0: until all users have had their count. */
uint64_t tx_time_ns(const struct session *ses, const struct tx_params *p);
/* users 0: as the classes say. Runs once; totals are of this run. 0 or negative errno and a sentence. */
int tx_once(struct tx_run *r, uint64_t users, struct err *err);
void tx_run_done(struct tx_run *r);

/* Think time with the asked mean: exponential, uniform on 0 .. 2 x mean, or fixed. */
uint64_t tx_draw_think(struct rng *rng, int law, uint64_t mean_ns);
/* The next arrival of a Poisson stream; *at_ns is kept unrounded so that the mean does not drift. */
uint64_t tx_next_arrival(struct rng *rng, double per_s, double *at_ns);

#endif
