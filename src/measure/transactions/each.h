/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --each: a CSV row for every transaction. Inside `transactions` only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct rowlog;

struct tx_row { /* for rowlog_add() */
	uint64_t user, end_ns, think_ns, response_ns, requests;
	double load;            /* what the randomised work was multiplied by */
	const char *class_name; /* stays until the log is closed */
	bool has_fault;
};

/* fd is its own from now on. 0 or negative errno and a sentence. */
int tx_each_open(struct rowlog **ret, int fd, struct err *err);
