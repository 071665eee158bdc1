/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model against a drive's own trace: the requests of the trace go through the model in virtual time, one at a time,
 * with the pauses of the trace between them, and the two distributions of response times are held against each other.
 */
#pragma once

#include "model.h"

#define REPLAY_REQUESTS_MAX 10000000

enum replay_think { THINK_BEFORE, THINK_AFTER }; /* where the pause of a line lies: before or after its request */

struct replay_request {
	enum disk_op op;
	uint64_t lba;
	uint32_t sectors; /* of 512 bytes, as the LBA */
	double response_us, think_us;
	double model_us; /* replay_run's: the model's response time */
	enum disk_how how;
};

struct replay_trace {
	struct replay_request *requests;
	size_t n;
};

/*
 * Lines "R|W WORD LBN BLOCKS RESPONSE THINK": blocks of 512 bytes, times in microseconds; WORD is any word, # begins a
 * comment. 0, or a negative errno and a sentence that names the line.
 */
int replay_parse(struct replay_trace *ret, const char *name, FILE *in, struct err *err);
void replay_trace_done(struct replay_trace *t);
/* Sends all requests through a new disk and fills in model_us and how. -EINVAL: a request that the disk does not have
 * or cannot serve. */
int replay_run(struct replay_trace *t, const struct profile *p, enum replay_think think, struct err *err);

static const double replay_quantiles[] = { 0.05, 0.25, 0.5, 0.75, 0.95, 0.99 };
#define REPLAY_QUANTILES (sizeof(replay_quantiles) / sizeof(replay_quantiles[0]))

struct replay_figures {
	size_t n;
	double drive_mean_us, model_mean_us;
	double drive_us[REPLAY_QUANTILES], model_us[REPLAY_QUANTILES];
	/* rms of the horizontal distance between the two cumulative distributions (Ruemmler and Wilkes 1994) */
	double demerit_us;
	double demerit;        /* as a share of the drive's mean */
	double same_median_us; /* request by request: the median of the absolute difference */
};

/* Over the requests first .. end - 1 (from 0) of this kind; DISK_ANY: all. 0, -ENOMEM; n = 0 when there are none. */
int replay_compare(const struct replay_trace *t, size_t first, size_t end, enum disk_op op, struct replay_figures *ret);
