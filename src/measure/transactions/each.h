/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CSV row for every transaction without disturbing them: the loop copies 56 bytes into a block of memory; a thread makes text of full
 * blocks and writes it. Inside `transactions` only.
 */
#ifndef PLATTER_MEASURE_TRANSACTIONS_EACH_H
#define PLATTER_MEASURE_TRANSACTIONS_EACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tx_row {
	uint64_t user, end_ns, think_ns, response_ns, requests;
	double load; /* what the randomised work was multiplied by */
	uint32_t class;
	bool has_fault;
};

struct tx_each;

struct tx_each_cost {
	uint64_t rows, cpu_ns; /* of the writing thread */
	uint64_t waits;        /* times that the loop had to wait for the writer: its memory was full */
};

/* class_name(arg, i) is asked when rows are written. 0 or negative errno and a sentence; what exists is not overwritten. */
int tx_each_open(struct tx_each **ret, const char *path, const char *(*class_name)(const void *arg, uint32_t class),
                 const void *arg, struct err *err);
void tx_each_add(struct tx_each *e, const struct tx_row *row);
/* Writes what is left. 0 or negative errno: rows are missing. NULL is fine. */
int tx_each_close(struct tx_each *e, struct tx_each_cost *ret);

#endif
