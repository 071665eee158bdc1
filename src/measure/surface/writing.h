/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --write: every block is written, and verified where it belongs. burn.c: writing; check.c: of what is read;
 * wrong.c: what is not as it was written (pure); burnreport.c: the document, and back.
 */
#pragma once

#include "measure/surface/surface.h"

static inline struct surface_cell *surface_cell_at(struct surface_run *run, uint64_t offset)
{
	double part =
		(double)(offset - run->range.first_bytes) / (double)(run->range.end_bytes - run->range.first_bytes);

	return &run->cells[(size_t)fmin(part * SURFACE_CELLS, SURFACE_CELLS - 1)];
}

/* ---- wrong.c ---- */

enum surface_wrong_kind {
	WRONG_LOST,      /* what lay there before, or nothing */
	WRONG_TORN,      /* the same, of a part of a write request; by its borders */
	WRONG_MISPLACED, /* data of another place, which lacks them */
	WRONG_WRAPPED,   /* data of another place, which has them, too: one sector with two addresses */
	WRONG_FLIPPED,   /* a few bits */
	WRONG_DAMAGED,   /* more */
	WRONG_UNWRITTEN, /* the write failed */
	WRONG_KINDS,
};
extern const char *const surface_wrong_names[WRONG_KINDS];

#define SURFACE_WRONG_MOST 100000 /* ranges that are listed; sectors beyond are counted */

struct surface_wrongs { /* in order; they do not overlap */
	struct surface_wrong {
		uint64_t first_bytes, end_bytes;
		enum surface_wrong_kind kind; /* in the list: of LOST and TORN the first, of data of others MISPLACED */
		int64_t away_bytes;           /* of these: to where they belong */
	} * v;
	size_t n;
	uint64_t unlisted_bytes;
};
/* What is known of a place already stays. */
void surface_wrongs_add(struct surface_wrongs *l, const struct surface_wrong *w);
/*
 * What each is in the end, to be freed; write requests were of block_bytes. Of a misplaced write both ends are: where
 * the data lie, and where they lack.
 */
enum surface_wrong_kind *surface_wrong_kinds(const struct surface_wrongs *l, const struct surface_range *range,
                                             uint64_t block_bytes);
void surface_wrongs_done(struct surface_wrongs *l);

/* ---- burn.c ---- */

struct surface_burn {
	uint64_t run_id;                /* in each block */
	uint64_t block_bytes;           /* of a write */
	uint64_t written_to;            /* all before it is on the medium, as the drive says */
	uint64_t write_ns, write_bytes; /* in legs, written without failure */
	uint64_t failed_ns;             /* in writes that failed */
	double least_celsius, most_celsius;
	uint64_t felt_ns; /* when it was asked last */
	struct surface_wrongs wrongs;
};

void surface_burn_open(struct surface_run *run);
void surface_burn_close(struct surface_run *run);
/* Writes for a while from where it came to, and flushes. 0, also when the run is over; or negative errno. */
int surface_burn_leg(struct surface_run *run, struct err *err);
static inline bool surface_is_written(const struct surface_run *run)
{
	return !run->burn || run->burn->written_to == run->range.end_bytes;
}

/* ---- check.c ---- */

/* The sector at this place, as it is written. */
struct payload_id surface_burn_id(const struct surface_run *run, uint64_t at);
void surface_burn_wrong(struct surface_run *run, uint64_t first, uint64_t end, enum surface_wrong_kind kind,
                        int64_t away);
/* Every ten seconds: how warm the disk is. */
void surface_burn_feel(struct surface_run *run, const struct io_req *req);
/* Something was read: is it what was written? */
void surface_burn_check(struct surface_run *run, const struct io_req *req);

/* ---- burnreport.c ---- */

extern const struct field surface_wrong_fields[];
void surface_burn_report(struct surface_run *run, const struct measure_table *table);
/* The verdict, when the run ends. */
void surface_burn_judge(struct surface_run *run);
/* Of a state. false: it is not of this. */
bool surface_burn_take(struct surface_run *run, const struct result *state, const struct measure_table *table);
