/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of `platter surface` share. plan.c: options, and what is read; judge.c: which requests took longer
 * than the place and the drive's own scatter let expect (pure); scan.c: every block once, in legs; skip.c: what is left
 * for later; verify.c: proof that verify commands reach the medium; failed.c: what could not be read; places.c: that
 * and what is slow, in lists; reading.c, again.c: that once more, later and otherwise cut, down to the sector; heads.c:
 * the same by head; report.c: the document, and the state of a scan; refresh.c: weak places written again; contents.c:
 * what lies there; writing.h: --write; sample.h: parts of the disk; surface.c: the run.
 *
 * Words: a request's *time* is how long the disk was busy with it alone: from the completion before it, or from its own
 * submission if that was later, to its completion. A *batch* is a number of requests in a row that are judged together.
 * A *suspect* is a request that was slow or failed.
 */
#pragma once

#include <math.h>

#include "measure/shared/timed.h"
#include "measure/surface/suspects.h"
#include "session/session.h"

struct surface_params {
	uint64_t block_bytes, depth;
	uint64_t portion_ns;
	const char *range, *state, *mapfile, *journal, *geometry, *hours;
	uint64_t rate;
	double share, max_celsius;
	bool resume, idle, verify, rewrite, recheck_all, write, sample;
	struct strs without;
};

/* ---- plan.c ---- */

extern const struct opt surface_opts[];

struct surface_range {
	uint64_t first_bytes, end_bytes;
	uint32_t hours_from, hours_to;    /* --hours, seconds of the day; equal: all of it */
	uint32_t block_bytes, unit_bytes; /* unit: what a bad place is narrowed down to, a physical sector */
};
/* 0, or -EINVAL and a sentence. */
int surface_range(const struct device *dev, const struct surface_params *p, struct surface_range *ret, struct err *err);
int surface_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err);

/* ---- the run ---- */

#define SURFACE_CELLS        1024 /* a picture's worth */
#define SURFACE_LISTED       4096 /* places of each kind that are listed; the others are counted, and reported so */
#define SURFACE_AGAIN_SHARE  0.15 /* of the time of the scan: for second readings of what failed or was slow */
#define SURFACE_SAMPLE_BLOCK (256u << 10) /* a batch of these is a place of 16 MiB; larger ones cost places */
#define SURFACE_REWRITE_MOST 256          /* places in one run: the others are reported */

struct surface_run {
	struct session *ses;
	const struct surface_params *p;
	struct surface_range range;
	/* verifier: --verify-command, for all but what clears the drive's cache; else NULL */
	struct engine *eng, *verifier;
	struct rewrite_journal *journal; /* --rewrite, else NULL */
	struct timed timed;
	struct timed_manners manners;
	struct rotation rot;
	bool is_tuned; /* the block is what it will be */
	struct surface_begun begun;
	uint64_t position; /* all before it is scanned and judged */
	struct surface_base base;
	struct surface_blind blind;
	struct surface_cell cells[SURFACE_CELLS];
	struct surface_heads *heads; /* --geometry, else NULL */
	struct surface_burn *burn;   /* --write, else NULL */
	struct surface_failures failures;
	struct surface_later later;
	struct surface_lists lists;
	struct surface_rounds again;
	struct surface_done done;
	struct surface_gentle gentle;
	struct surface_leg leg;
};

/* plan.c, of the run: --time and --portion. */
bool surface_is_out_of_time(const struct surface_run *run);
bool surface_is_over(const struct surface_run *run); /* for that, or by a signal, errors or a lost disk */

static inline uint64_t surface_now(const struct surface_run *run)
{
	return clock_now_ns(run->ses->env->clk);
}

/* 0; negative errno; or 1: short. */
static inline int surface_error(const struct io_req *req, bool is_fault)
{
	return !is_fault ? 0 : req->res < 0 ? req->res : 1;
}

/* Revolutions lost per GB; NaN: nothing was read, or what a revolution takes is not known. */
static inline double surface_lost_per_gb(uint64_t excess_ns, uint64_t bytes, double turn_ns)
{
	return bytes ? (double)excess_ns / turn_ns / ((double)bytes * 1e-9) : (double)NAN;
}

/* ---- places.c ---- */

/* Was that too quick for the medium? Then it shows nothing of it. */
bool surface_is_cached(const struct surface_run *run, double took_ns, uint64_t len);
/* Every request of the run, as it was answered. */
void surface_answered(struct surface_run *run, const struct io_req *req, bool is_fault);
/* Lists it, if there is room among its kind. */
void surface_list_place(struct surface_run *run, const struct surface_suspect *s);
/* To be reported of what was scanned, by place: what failed, what was slow, and what is still to be read again. */
struct surface_suspect *surface_all_places(const struct surface_run *run, size_t *ret_n);
/* Of what second readings of these may take, this part is left. */
double surface_again_left(const struct surface_run *run, enum surface_budget of);
/* Is something still to be scanned or read again? */
bool surface_is_unfinished(const struct surface_run *run);
bool surface_wants_errors(const struct surface_run *run);  /* of these, what failed */
bool surface_wants_skipped(const struct surface_run *run); /* what was skipped */

/* ---- skip.c ---- */

/* Requests fail up to here, which took so long beside what is counted: where to go on. */
uint64_t surface_skip_to(const struct surface_run *run, uint64_t at, uint64_t failed_ns, bool is_write);
/* The scan goes on there; what lies before it is left for later. */
void surface_skip(struct surface_run *run, uint64_t to);
/* What is scanned next: [first, end), of what was skipped when all else was scanned. */
void surface_next_part(struct surface_run *run, uint64_t *ret_first, uint64_t *ret_end);

/* ---- gentle.c ---- */

/*
 * 0, or until when nothing is to be begun: for others (--idle), outside of --hours, while the disk is too warm, and,
 * between batches, for what was moved (--rate, --share).
 */
uint64_t surface_wait_until(struct surface_run *run, uint64_t now_ns, bool is_between, uint32_t in_flight);
void surface_give_way(struct surface_run *run); /* waits that long */
/* The same for reads one by one: struct timed asks before each. */
struct timed_manners surface_manners(struct surface_run *run);
void surface_moved(struct surface_run *run, const struct io_req *req); /* towards that */

/* ---- verify.c ---- */

/* An engine for verify commands, after it is proven that they reach the medium. 0, or negative errno and a sentence. */
int surface_verifier_open(struct surface_run *run, struct err *err);

/* ---- scan.c ---- */

/* From run->position on until suspects want to be read again, or to the end. 0, also when the run is over; or negative
 * errno. */
int surface_scan_leg(struct surface_run *run, struct err *err);

/* ---- reading.c ---- */

#define SURFACE_FLUSH_LEAST 2 /* reads elsewhere */

/* [first, end): did the medium answer? Then it is in run->failures if it failed. 0, or negative errno. */
int surface_read_once(struct surface_run *run, uint64_t first, uint64_t end, bool *ret_is_known, struct err *err);
/* Half of what is looked for: a revolution, or where none was found what the request took too long. */
double surface_limit_ns(const struct surface_run *run, const struct surface_suspect *s);
/* Reads elsewhere, until what was read has left the drive's cache; others: reads that come in between as well. 0, or
 * negative errno. */
int surface_forget(struct surface_run *run, size_t others, struct err *err);
struct surface_alone {
	double longer_ns; /* than beside it; NaN: not known */
	uint64_t took_ns;
	bool is_hit; /* not known as the drive's cache answered */
};
/*
 * [s->good_end, s->bad_end) by itself, and as much beside it, each from another place at the same distance; s->step
 * varies it.
 */
int surface_read_alone(struct surface_run *run, const struct surface_suspect *s, struct surface_alone *ret,
                       struct err *err);
#define SURFACE_ROW 16 /* pieces: enough to see what is usual, and few for a queue to run ahead of the medium in */
struct surface_row {   /* the first piece that took half a revolution longer than expected; end 0: none */
	uint64_t first_bytes, end_bytes;
	size_t nslow;
	bool is_hit, is_deaf; /* deaf: most did; of single sectors that is the drive's way */
};
/* [s->good_end, s->bad_end) in a row, cut in pieces, behind one more. */
int surface_read_row(struct surface_run *run, const struct surface_suspect *s, struct surface_row *ret,
                     struct err *err);
/* Does s->step read it beside a place before it, or behind it? By turns. */
static inline bool surface_is_turn_before(const struct surface_suspect *s)
{
	return (s->step + s->hits) % 2;
}

/* run->blind.buffer_ns. 0, or negative errno. */
int surface_learn_buffer(struct surface_run *run, uint32_t depth, struct err *err);
/* The rotation period, and how the drive's cache forgets: before all else. */
int surface_learn_rotation(struct surface_run *run, struct err *err);

/* ---- again.c ---- */

/* Reads again what failed, then active suspects, until all came to an end, or the run is over. 0, or negative errno. */
int surface_again(struct surface_run *run, struct err *err);
/* A slow one; copies it. Without room or time for second readings it is left unchecked. */
void surface_suspect_add(struct surface_run *run, const struct surface_suspect *how);
/* Time to read suspects again? */
bool surface_wants_again(const struct surface_run *run);
/* So much of a revolution longer is looked at for that. */
double surface_doubt_part(const struct surface_run *run);

/* ---- refresh.c ---- */

extern const struct field surface_refresh_fields[];
/* --rewrite, when the scan came to its end. 0, or negative errno and a sentence. */
struct rewrite_journal;
int surface_refresh(struct surface_run *run, struct rewrite_journal *j, const struct measure_table *table,
                    struct err *err);

/* ---- heads.c: --geometry ---- */

extern const struct field surface_head_fields[], surface_head_place_fields[];
/* 0, or negative errno and a sentence. */
int surface_heads_open(struct surface_run *run, struct err *err);
void surface_heads_close(struct surface_run *run);
/* So long at most should a request be, that many lie on one surface. */
double surface_heads_block(const struct surface_run *run);
/* A request that was not delayed by ourselves. */
void surface_heads_count(struct surface_run *run, uint64_t offset, uint64_t len, uint64_t time_ns, double expected_ns,
                         bool is_error);
void surface_heads_report(struct surface_run *run);
void surface_heads_say(const struct surface_run *run); /* the notice; once, of what was reported last */
void surface_heads_take(struct surface_run *run, const struct result *state);

/* ---- contents.c ---- */

extern const struct field surface_content_fields[];
/* Lists in this table which files lie at slow and unreadable places: once, when the scan or the portion is over. */
void surface_contents(struct surface_run *run, const struct measure_table *table);

/* ---- report.c ---- */

enum surface_table {
	SURFACE_TABLE_CLASSES,
	SURFACE_TABLE_SLOW,
	SURFACE_TABLE_MAP,
	SURFACE_TABLE_CONTENTS,
	SURFACE_TABLE_REFRESH,
	SURFACE_TABLE_WRONG,
};
extern const struct measure_table surface_tables[];
void surface_report(struct surface_run *run);
/* Can a scan up to there have come to a state's tables? Then what they say goes into the run. */
bool surface_are_tables_of(const struct surface_run *run, const struct result *state, uint64_t to_bytes);
void surface_take_tables(struct surface_run *run, const struct result *state);
void surface_take_counts(struct surface_run *run, const struct result *state);

/* ---- mapfile.c ---- */

int surface_map_save(struct surface_run *run, struct err *err);

/* ---- ending.c ---- */

/* Why the run ended before the scan's end, and what goes on from there; figures of the first screen, and notices. */
void surface_report_ending(struct surface_run *run);

/* ---- state.c ---- */

/* Saves the state when it is time, or is_due, when the caller has just reported all. Between two batches. 0, or
 * negative errno and a sentence. */
int surface_state_save(struct surface_run *run, bool is_due, struct err *err);
/* What --state and --resume ask for. 0, or negative errno and a sentence. */
int surface_state_load(struct surface_run *run, struct err *err);

/* ---- sample.c: --sample ---- */

/* Time left, and places that were not scanned? */
bool surface_sample_goes_on(const struct surface_run *run);
/* Places until suspects want to be read again, or the pass ends. 0, or negative errno. */
int surface_sample_leg(struct surface_run *run, struct err *err);
void surface_sample_free(struct surface_sample *s); /* NULL is fine */
/* What the places say of the disk; after surface_report(). */
void surface_sample_report(struct surface_run *run);
