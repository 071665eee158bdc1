/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user, or in open runs a transaction under way. Inside `transactions` only. */
#pragma once

#include "measure/transactions/transactions.h"

struct tx_job {
	struct tx_job *next;
	size_t index;
	uint32_t class;
	bool is_thinking, is_piece_done, has_fault, is_late, has_had_first, is_untouched;
	struct rng rng;
	uint64_t wake_ns, think_ns, intended_ns, left_count;
	uint64_t ios, ios_left, cpu_ns;
	double load, piece_ns;
	struct tx_burst burst;
};

/* By wake_ns. */
void tx_heap_push(struct tx_run *r, struct tx_job *j);
struct tx_job *tx_heap_pop(struct tx_run *r);
/* A queue by its end. */
void tx_append(struct tx_job ***end, struct tx_job *j);
struct tx_job *tx_take_first(struct tx_job **first, struct tx_job ***end);
