/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of `stream`: from bottom to top: plan.c options and plan; ring.c the account; balance.c whether it holds;
 * pace.c how well its clock was kept; files.c targets, rolling files, the page cache; reserve.c what they carry at full
 * speed where a run ended; verdict.c what follows for the rate, in words; run.c one run of the ring over the targets;
 * report.c tables and figures; search.c --tradeoff and --find; project.c --project;
 * stream.c what a run is made of.
 */
#pragma once

#include "measure/stream/balance.h"
#include "measure/stream/ring.h"
#include "session/session.h"

struct stream_params {
	uint64_t rate, buffer_bytes, block_bytes, bytes, file_bytes, depth;
	int layout, mode;
	const char *range;
	bool write, read, verify, tradeoff, find_max, keep;
	struct strs project;
	const char *rate_typed; /* as it was asked for: in bits, or in bytes */
};

enum stream_layout { LAYOUT_BALANCE, LAYOUT_ROUNDROBIN };
enum stream_mode { STREAM_DIRECT, STREAM_CACHED };

#define STREAM_LANES_MAX      64                /* targets at once; arrays of a run */
#define STREAM_FILES_MAX      4096              /* open at the same time; arrays of a run */
#define STREAM_FILES_PER_LANE 1000              /* numbers in names: lane * 1000 + file */
#define STREAM_RUNS_EXPECTED  8                 /* of --find: one at full speed, about six tries, the proof */
#define STREAM_RUNS_MAX       25                /* 16 tries without any that held, 7 halvings to 1 % */
#define STALLS_MAX            1000              /* rows of the table (a choice) */
#define STREAM_POINTS_MAX     ((size_t)1 << 22) /* 64 MiB when there are that many completions */

/* One target of the user: a device, a file, or a directory with several files. */
struct lane {
	const char *name;
	uint32_t *list;             /* its files among the targets of the load, in order */
	size_t ntargets, at_target; /* how many; the one in work */
	uint64_t start, offset;     /* first byte of the data in each, where the next block goes */
	uint32_t outstanding;
	bool is_full, is_dead, has_begun;
	uint64_t issued;                        /* blocks handed out */
	uint64_t blocks, bytes, faults, streak; /* streak: failures in a row */
	uint64_t first_offset, last_offset;     /* bytes touched, of a device */
	uint64_t first_submit_ns, last_done_ns, max_gap_ns;
	uint64_t all_at_first, all_at_last; /* bytes of all lanes when it began, when it last completed */
	struct hist *service, *response;
};

/* A target that had work and finished none of it for so long. */
struct stall_row {
	const char *target;
	double start_s, length_s;
	uint64_t occupancy_bytes; /* of the ring when it went on */
};

/* What was done in each step of time: rows that do not grow with the length of a run. */
#define TIMELINE_MAX 1800 /* steps: half an hour of seconds; beyond that pairs are merged */

struct timeline_step {
	uint64_t end_ns; /* after the start */
	uint64_t amount, requests, service_ns, most;
};
struct timeline {
	struct timeline_step v[TIMELINE_MAX];
	size_t n;
	struct timeline_step now; /* the step under way: added to by its owner */
	uint64_t start_ns, step_ns, step_end_ns;
};

/* When blocks were due and went out, evenly thinned; see pace.c. */
#define PACE_POINTS 4096 /* 64 KiB; thinned evenly, and a slope wants no more */
struct pace_point {
	uint64_t due_ns, issue_ns;
};
struct pace {
	struct pace_point points[PACE_POINTS];
	size_t n;
	uint64_t stride, seen;
};

/* Of a run, as session_now_ns() has it. */
struct span {
	uint64_t start_ns, end_ns;
};

/* Where blocks go. */
struct stream_routes {
	struct target *targets; /* of the load: one per device or file */
	size_t ntargets;
	struct lane *lanes;
	size_t nlanes;
	uint32_t *lane_of;       /* by target */
	uint64_t *rooms;         /* by target: bytes for data */
	uint64_t *ends;          /* by target: where what was written ends, 0: nothing was */
	struct datafile **files; /* by target: made here, or NULL */
	size_t turn;             /* round robin */
};

/* How many of them, of a run. */
struct stream_blocks {
	uint64_t places, blocks_max, issued, completed, done_bytes;
	uint64_t room_blocks;          /* that the targets can take or give in a run */
	uint64_t asked_blocks;         /* by --size, or --time at a rate; UINT64_MAX: as many as come in --time */
	double parts_done, parts_left; /* runs of this length before and after this one, for progress */
};

struct stream_run {
	struct feeder feeder; /* first: next() gets a pointer to it */
	struct sink sink;
	struct session *ses;
	const struct stream_params *p;
	struct engine *eng;
	uint64_t depth; /* in force, for each lane */
	struct stream_routes routes;
	struct stream_blocks blocks;

	bool is_max;       /* no producer's clock: as fast as the disks take it */
	bool is_under_way; /* what is reported now is of what came so far */
	void (*report_so_far)(struct stream_run *s,
	                      uint64_t now_ns); /* whenever the document is saved; NULL: nothing */
	struct ring ring;
	struct span span;
	struct pace pace;
	struct balance balance;
	struct balance_judgement judgement; /* of the run that was last, when it was paced */
	struct host_usage before, after;    /* around the streaming alone */
	uint32_t *free_slots;
	size_t nfree;
	uint64_t seed;

	struct timeline timeline;
	struct stall_row stalls[STALLS_MAX];
	uint64_t nstalls; /* all that were; the first STALLS_MAX are kept */

	struct bucket_log log; /* completions, for --tradeoff and --find */
};

/* ---- plan.c ---- */

extern const struct opt stream_opts[];
int stream_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err);
bool stream_has_directory(const struct session *ses);
/* The part of a target that --range leaves, of whole blocks from its beginning. 0, or negative errno. */
int stream_range(const struct stream_params *p, const struct device *d, uint64_t *ret_first, uint64_t *ret_end,
                 struct err *err);
/* Length of a run; CLOCK_NEVER: as long as --size takes. */
uint64_t stream_time_ns(const struct session *ses, const struct stream_params *p);

/* ---- files.c ---- */

/* Opens what the targets are (directories: makes the files). 0 or negative errno and a sentence. */
int stream_open(struct stream_run *s, struct err *err);
void stream_close(struct stream_run *s);
/* What the block at a place carries: its number there. No memory of it is needed when it is read back. */
struct payload_id stream_placed_id(const struct stream_run *s, const struct lane *l, const struct io_req *req);
/* --mode=cached: nothing of the targets is in the page cache from before, as far as the kernel does it. */
void stream_make_cold(struct stream_run *s);
/* --mode=cached: what writing it back takes. */
void stream_settle_cache(struct stream_run *s);

/* ---- reserve.c ---- */

/*
 * What the targets carry at least, bytes/s, where the run that was last ended: the places written last once more, at
 * full speed and between two flushes; what is read goes on. is_hidden: a cache takes them first. NaN: not known.
 */
int stream_reserve(struct stream_run *s, bool is_hidden, double *ret_bytes_per_s, struct err *err);
#define STREAM_RESERVE_S \
	4 /* of the rate: beyond what a drive has read ahead, and beyond its cache (1 GB of a drive of 250 MB/s) */

/* ---- verdict.c ---- */

/* Judges a paced run that has just ended. */
int stream_judge(struct stream_run *s, struct err *err);
enum stream_answer { STREAM_NO, STREAM_OPEN, STREAM_YES }; /* sustained, for ever or at least for long */
enum stream_answer stream_answer(const struct stream_run *s);
extern const char *const stream_answers[];
/* The verdict in figures and words. */
void stream_report_verdict(struct stream_run *s, uint64_t rate);
void stream_report_full_speed(const struct stream_run *s, double rate);
/* Where the targets ended before what was asked for: so, and the status. */
void stream_report_short(const struct stream_run *s);

/* ---- run.c ---- */

/* One run at `rate` (RATE_MAX: as fast as it goes) for --time or --size, from the start of every target. */
int stream_once(struct stream_run *s, uint64_t rate, struct err *err);
void stream_once_done(struct stream_run *s);
/* To where the lane's next block lies: one after the other, from file to file, each place once in a run. */
void stream_advance(const struct stream_run *s, struct lane *l);

/* ---- verify.c ---- */

/* Reads everything back and checks it; blocks not as written are counted and reported. The lanes begin anew. */
int stream_verify(struct stream_run *s, uint64_t *ret_blocks, uint64_t *ret_bad, struct err *err);

/* ---- pace.c ---- */

void pace_start(struct pace *p);
void pace_add(struct pace *p, uint64_t due_ns, uint64_t issue_ns);
/* Achieved over requested rate; NaN with fewer than two blocks. Sorts the points. */
double pace_ratio(struct pace *p);

/* ---- report.c ---- */

extern const struct measure_table stream_tables[];
extern const struct field stream_tradeoff_fields[], stream_try_fields[];

struct tradeoff_row {
	uint64_t ring_bytes;
	double rate_bytes_per_s;
};

struct try_row {
	double rate_bytes_per_s, peak_ratio;
	uint64_t overflows;
	const char *held; /* of stream_answers */
};

/* Figures, tables and verdict of the run that was last. */
void stream_figures(struct stream_run *s, uint64_t rate);
/* The same of a run under way, as far as they are known by then. */
void stream_figures_so_far(struct stream_run *s, uint64_t now_ns);
void stream_plots(struct session *ses);

/* ---- search.c, project.c ---- */

int stream_tradeoff(struct stream_run *s, struct err *err);
int stream_find_max(struct stream_run *s, struct err *err);
int stream_project(struct stream_run *s, struct err *err);
