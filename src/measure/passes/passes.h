/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of `passes`; nobody else includes this. */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "measure/shared/pagecache.h"
#include "session/session.h"

#define PASSES_BLOCK_BYTES 65536u /* of the program of 1997: 16384 words */
#define PASSES_SEED        1997u  /* of the words: a later run knows a file of ours by them */
#define PASSES_FILES_MAX   64     /* a thread each */

enum passes_mode { PASSES_CACHED, PASSES_COLD, PASSES_DIRECT };

struct passes_params {
	uint64_t size_bytes, passes;
	int mode;
	bool keep;
};

struct passes_row {
	const char *step, *end_time;
	uint64_t elapsed_ns;
	double rate_bytes_per_s, cpu_percent, cpu_s_per_mb, from_device_ratio, from_disk_ratio, cached_before_ratio;
	const char *file;
	double start_s;
	uint64_t moved_bytes;
};

/* ---- plan.c ---- */

extern const struct opt passes_opts[];
int passes_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err);

/* ---- analyse.c: no session, no document ---- */

struct passes_step { /* of one of several files; done in full */
	size_t file;
	enum passes_kind { STEP_WRITE, STEP_FSYNC, STEP_READ } kind;
	double start_s;
	uint64_t elapsed_ns;
	double moved_bytes, from_device_ratio; /* NaN: the kernel does not count it */
};
/*
 * Bytes per second of all nfiles files together, while all of them were being read: from the latest first start to the
 * earliest last end, of passes that lie partly in it their part. NaN: there was no such time.
 */
double passes_common_rate(const struct passes_step *v, size_t n, size_t nfiles);

struct passes_found {
	size_t nfiles, reads;
	bool has_reads;                                         /* of each file */
	double write_bytes_per_s, synced_bytes_per_s, fsync_ns; /* NaN: not of all files */
	double read_bytes_per_s;
	double from_device_ratio; /* of all that was read; NaN: not known of some pass */
	struct interval read_ci;  /* of one file */
};
/* What all steps say; puts them in the order of their begin. 0 or -ENOMEM. */
void passes_analyse(struct passes_step *v, size_t n, size_t nfiles, struct passes_found *ret);

/* ---- run.c ---- */

/* One file: a thread. */
struct passes_work {
	struct session *ses;
	const struct passes_params *p;
	size_t index; /* of the device */
	pthread_t thread;
	struct passes_shared *shared;
	struct datafile *df; /* NULL: an existing file */
	char path[512];
	int fd;
	bool is_ours;         /* the words are known: we wrote them, or the file begins with them */
	uint64_t first, size; /* of the data */
	uint8_t *buf;
	struct passes_step *steps; /* done in full */
	size_t nsteps, nreads;
	uint64_t checked_bytes, unread_bytes, verify_errors, wrong_words;
	bool is_ended; /* by its faults */
	int r;
	struct err err;
};

struct passes_shared {
	pthread_mutex_t lock;           /* of the document and the session */
	struct payload_pool pool;       /* the words of each block */
	uint64_t all_bytes, done_bytes; /* to be written and read; done: atomic */
};

/* Opens or makes the file. 0 or negative errno and a sentence; passes_work_done() in any case. */
int passes_work_init(struct passes_work *w, struct err *err);
void *passes_work_run(void *work);
void passes_work_done(struct passes_work *w);

/* ---- report.c ---- */

extern const struct field passes_fields[];
extern const struct measure_table passes_tables[];
/* A row, a log line, a checkpoint; under the lock. */
void passes_report_step(struct passes_work *w, const struct passes_row *row);
void passes_report_figures(struct result *res, const struct passes_found *f, bool has_written);
void passes_report_words(struct result *res, const struct passes_work *works, size_t n);
void passes_report_plots(struct session *ses);
