/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of `mark`; nobody else includes this. */
#pragma once

#include "session/session.h"

#define MARK_REPEATS_MAX  100 /* rows of a way on the stack */
#define MARK_RECORD_BYTES 64u /* of DiskMark */

enum mark_way { WAY_STREAM, WAY_SYSCALL, WAY_MEDIA, WAYS };

struct mark_params {
	uint64_t count, repeat, max_size_bytes, memory_bytes;
	const char *sweep;
	int mode; /* 1: the media way only */
	bool keep;
};

/* One repetition. */
struct mark_row { /* of a repetition, or the means of a way's: the mark is the mean of theirs */
	const char *way;
	uint64_t repetition, repetitions, records, file_bytes;
	double write_mib_per_s, write_synced_mib_per_s, read_mib_per_s, random_mib_per_s, diskmark_mib_per_s,
		random_per_s;
	double cached_ratio, from_device_ratio, from_disk_ratio, read_from_device_ratio;
	uint64_t sync_ns, checksum_written, checksum_read;
};

struct mark_point { /* of the sweep */
	uint64_t file_bytes;
	double write, read, random, diskmark, cached_ratio, from_device_ratio;
};

/* ---- plan.c ---- */

extern const char *const mark_way_names[]; /* of the ways */
extern const struct opt mark_opts[];
int mark_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err);
/* The largest size up to `want` for which there is room; 0: none. */
uint64_t mark_room_for(const char *path, uint64_t want);
/* An element of --sweep: bare numbers are seconds, with a suffix it is a size. */
int mark_sweep_item(const char *text, size_t len, uint64_t *ret_ns, uint64_t *ret_bytes, struct err *err);

/* ---- analyse.c: no session, no document ---- */

/* The mark: 3 / (1/write + 1/read + 1/random); NaN unless all are positive. */
double mark_mean(double write, double read, double random);

/* Are record numbers random? Mean and coefficient of variation are what the seed looked at; a poor generator passes
 * these two. */
struct mark_draws {
	uint64_t draws, ks_draws;         /* ks_draws: the first ones, that the Kolmogorov-Smirnov test is about */
	double mean, cv;                  /* of the places, 0..1; uniform: 0.5 and 1/sqrt(3) = 0.5774 */
	double ks_distance, ks_p;         /* to the uniform law */
	double covered, covered_expected; /* part of the records that was drawn; uniform: 1 - (1 - 1/records)^draws */
	bool is_random;                   /* nothing speaks against it: p >= 1e-4, covered within 5 deviations */
};
/* Draws numbers below `records` by next(). false: fewer than two draws, or no memory. */
bool mark_judge(uint64_t (*next)(void *arg, uint64_t records), void *arg, uint64_t draws, uint64_t records,
                struct mark_draws *ret);

#define MARK_SPEEDS     9
#define MARK_SPEED_MARK 4 /* DiskMark itself */
/* What is averaged over the repetitions of a way. label NULL: in the table only. */
extern const struct mark_speed {
	const char *name, *label;
	size_t offset;
} mark_speeds[MARK_SPEEDS + 1];
/* Means of n rows, and for each of mark_speeds its interval. */
void mark_means(const struct mark_row *rows, size_t n, struct mark_row *ret, struct interval *ret_ci);

/* Where the cache ends, as far as it is known. */
struct mark_cache_end {
	uint64_t largest_cached, smallest_not; /* 0 and UINT64_MAX: none yet */
};
void mark_note_point(struct mark_cache_end *s, const struct mark_point *row);

/* ---- run.c ---- */

struct mark_run {
	struct session *ses;
	const struct mark_params *p;
	char path[512];
	uint64_t max_bytes, time_ns;
	struct datafile *df;
	uint8_t *buf;
	struct payload_pool pool; /* filling of the records */
	bool has_witness;         /* noted in the head */
	struct mark_draws draws;  /* of the last repetition of the way that gives the mark */
};
/* One repetition of one way, for so long, or of that many bytes (0: as the options say). -EOPNOTSUPP: no direct I/O
 * here.
 */
int mark_run_way(struct mark_run *m, enum mark_way way, uint64_t repetition, uint64_t time_ns, uint64_t bytes,
                 struct mark_row *ret);

/* ---- report.c ---- */

extern const struct field mark_run_fields[], mark_sweep_fields[];
extern const struct measure_table mark_tables[];
struct table *mark_way_table(struct result *res);
/*
 * The repetitions of a way as a row; and as figures those of the way that gives the mark (stream as in the seed, media
 * with --mode=direct) and its draws, and the marks of the others (NULL).
 */
void mark_report_way(struct result *res, const struct mark_row *rows, size_t n, const struct mark_draws *draws);
void mark_report_sweep(struct result *res, const struct mark_cache_end *s, bool is_direct);
/* One plain sentence on what was measured; plots. cached_ratio: part of the file in memory; NaN: not known. */
void mark_report_what(struct result *res, uint64_t file_bytes, double cached_ratio, bool is_media);
void mark_report_plots(struct result *res, bool has_sweep);
