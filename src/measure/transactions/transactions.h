/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Users and their transactions, from bottom to top: plan.c (options), file.c (the file that the users use), run.c (the
 * users themselves; beside it jobs.c, their queues), steady.c (what of it holds in the long run), report.c (results),
 * transactions.c (the steps).
 */
#pragma once

#include "measure/transactions/cpu.h"
#include "session/session.h"

#define TX_CLASSES_MAX     16
#define TX_TIME_DEFAULT_NS (60 * NS_PER_S) /* a choice */
#define TX_PASS_NS         (5 * NS_PER_S)  /* each pass over the file of --size, and at least 200 reads */
#define TX_OUTSTANDING_MAX (1u << 20)      /* memory has an end: beyond it arrivals run away from the device */
#define TX_PROCESSORS_MAX  1024            /* a thread each */
#define TX_MEMORY_SLOTS    1024            /* open runs: that many transactions have memory of their own */

enum tx_mode { TX_DIRECT, TX_CACHED };
enum tx_think { TX_THINK_EXPONENTIAL, TX_THINK_UNIFORM, TX_THINK_FIXED };

/* What is drawn anew (1997: Read, Xread, Yread, Zread). */
enum tx_randomise { TX_RANDOMISE_SEED = 1, TX_RANDOMISE_WORK = 2 };

struct tx_params {
	uint64_t users, count, ios, think_ns, cpu_ns, memory_bytes, depth, processors, size_bytes;
	double arrivals_per_s, write_ratio; /* of the requests that write; 0: none */
	int randomise, mode;
	bool find_users, keep;
	struct strs classes;
	const char *block, *limit, *each, *range;
};

struct tx_class {
	char name[32];
	uint64_t users, count, ios, think_ns, cpu_ns, memory_bytes;
	int think_law; /* enum tx_think */
};

struct tx_totals { /* of transactions that ended within the window */
	/* Without an error: only these are throughput and response. A disk that fails at once must not look fast. */
	struct waits waits;         /* of all the responses; of one class alone that of all is in the class */
	struct hist *response;      /* of the steady part, when the run is over */
	uint64_t done, ios, faults; /* faults: transactions with an error */
	double think_s, cpu_s;
	struct { /* with and without: what the laws are about */
		uint64_t done, ios;
		double response_s, think_s, cpu_s;
	} any;
};

/* ---- mix.c ---- */

#define TX_SIZES_MAX 8
struct tx_sizes { /* of requests */
	size_t n;
	uint32_t bytes[TX_SIZES_MAX], least, most;
	double until[TX_SIZES_MAX]; /* the sum of the shares up to this one */
};
/* "4K", or shares that make 100 %: "4K:70%,64K:30%". */
int tx_parse_sizes(const char *text, struct tx_sizes *ret, struct err *err);

struct tx_place {              /* that is used */
	struct datafile *file; /* one that platter made */
	uint64_t first_byte, bytes, seed;
};

struct tx_mix {
	struct tx_sizes sizes;
	double share;         /* of the requests that write */
	struct hist *service; /* what requests took */
	struct hist *of[2 * TX_SIZES_MAX];
	uint64_t written, asked_bytes;
};
void tx_mix_start(struct tx_mix *m, const struct tx_sizes *sizes, double share);
void tx_mix_done(struct tx_mix *m);
/* The next request: how large, where and what. */
void tx_mix_draw(struct tx_mix *m, struct rng *rng, const struct tx_place *place, struct io_req *req);
void tx_mix_take(struct tx_mix *m, const struct io_req *req);
extern const struct field tx_kind_fields[];
/* A row for each kind of request. */
void tx_mix_report(const struct tx_mix *m, struct table *t);

struct tx_sums { /* for N = X (R + Z) */
	uint64_t done;
	double response_s, think_s;
};

/* What the kernel counts beside the run. */
struct tx_stand {
	struct device_io io;
	struct host_usage usage;
	uint64_t storage_read_bytes; /* by this process */
	bool has_io, has_storage;
};

/* What holds in the long run: steady.c */
struct tx_steady {
	uint64_t from_ns, to_ns; /* of the run; before it is warm-up */
	uint64_t left_out;       /* transactions */
	double independent;      /* as how many independent ones those of the steady part count */
	bool is_growing;         /* more come than end: nothing else holds but the rate, of what ended in time */
	struct stats_estimate growth_per_s, per_s, mean, p50, p95, p99;
};

#define TX_UNSTEADY                                                                                               \
	{                                                                                                         \
		.independent = NAN, .growth_per_s = STATS_UNKNOWN, .per_s = STATS_UNKNOWN, .mean = STATS_UNKNOWN, \
		.p50 = STATS_UNKNOWN, .p95 = STATS_UNKNOWN, .p99 = STATS_UNKNOWN                                  \
	}

struct tx_job; /* a user, or in open runs a transaction under way */

struct tx_jobs {
	struct tx_job **v; /* all that were ever made */
	size_t n, live;
	struct tx_job **heap;              /* by wake_ns */
	size_t nheap, heap_room;           /* the room stays: jobs come and go with each request */
	struct tx_job *ready, **ready_end; /* want a request */
	struct tx_job *idle;               /* may be used again */
};

struct tx_work { /* of processors */
	unsigned processors;
	struct tx_cpu *cpu;                      /* real time; NULL: nobody wants a processor */
	uint64_t bursts;                         /* with it */
	uint64_t free_ns[TX_PROCESSORS_MAX + 1]; /* virtual time */
	double busy_s;
	uint8_t *memory[TX_CLASSES_MAX];
	uint64_t slots[TX_CLASSES_MAX];
};

struct tx_law { /* while all users are at work and have had their first */
	uint64_t until_ns, from_ns;
	struct tx_sums sums, before;
	uint64_t firsts; /* users that have had their first */
};

struct tx_open {                                                 /* arrivals */
	uint64_t next_ns, last_ns, n, unfinished, ended_in_time; /* n: with the next one, until CLOCK_NEVER */
	uint32_t next_class;
	double at_ns;
	struct rng rng;
	struct slots under_way; /* what came and what ended, in time */
	bool is_swamped;
};

struct tx_pace { /* of the generator */
	uint32_t in_flight;
	uint64_t was_full_ns; /* when a request came back while all were out */
	struct hist *late;
};

struct tx_run {
	struct feeder feeder; /* first */
	struct sink sink;
	struct session *ses;
	const struct tx_params *p;
	struct tx_class classes[TX_CLASSES_MAX];
	size_t nclasses;
	struct engine *eng;
	struct tx_place place;
	bool is_open, is_virtual;
	struct tx_jobs jobs;
	struct tx_work work;
	struct tx_law law;
	struct tx_open open;
	struct tx_pace pace;
	uint64_t start_ns, end_ns, stop_ns; /* stop: when the first user had its count, or the time was up */
	struct tx_totals of[TX_CLASSES_MAX], all;
	struct tx_steady steady;
	struct tx_mix mix;
	struct rowlog *each;
	void (*report_so_far)(struct tx_run *r, uint64_t now_ns); /* whenever the document is saved; NULL: nothing */
	struct tx_stand stand[2];                                 /* before and after */
};

/* ---- transactions.c ---- */

struct tx_row { /* of --each, for rowlog_add() */
	uint64_t user, end_ns, think_ns, response_ns, requests;
	double load;            /* what the randomised work was multiplied by */
	const char *class_name; /* stays until the log is closed */
	bool has_fault;
};
/* fd is its own from now on. 0 or negative errno and a sentence. */
int tx_each_open(struct rowlog **ret, int fd, struct err *err);

/* ---- plan.c ---- */

extern const struct opt tx_opts[];
int tx_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err);
/*
 * Without --class one class from the plain options; else the classes alone, which take from the plain options what they
 * do not say.
 */
int tx_parse_classes(const struct tx_params *p, struct tx_class *ret, size_t *ret_n, struct err *err);
struct tx_limit {
	double quantile; /* < 0: the mean */
	uint64_t limit_ns;
};
int tx_parse_limit(const char *text, struct tx_limit *ret, struct err *err);
/* The largest request: a record of the file that --size makes. */
uint32_t tx_record_bytes(const struct tx_params *p);
/* Of one run; 0: until all users have had their count. */
uint64_t tx_time_ns(const struct session *ses, const struct tx_params *p);
/* Does platter make or write a file itself, instead of the session opening it? */
bool tx_file_is_wanted(const struct session *ses, const struct tx_params *p);
/* Only the file and its passes; nobody was asked to run transactions on it. */
bool tx_file_is_all(const struct session *ses, const struct tx_params *p);

/* ---- run.c ---- */

/* users 0: as the classes say. Runs once; totals are of this run. 0 or negative errno and a sentence. */
int tx_once(struct tx_run *r, uint64_t users, struct err *err);
void tx_run_done(struct tx_run *r);
/* ---- jobs.c ---- */

/* Think time with the asked mean: exponential, uniform on 0 .. 2 x mean, or fixed. */
uint64_t tx_draw_think(struct rng *rng, int law, uint64_t mean_ns);
/* The next arrival of a Poisson stream; *at_ns is kept unrounded so that the mean does not drift. */
uint64_t tx_next_arrival(struct rng *rng, double per_s, int law, double *at_ns);

/* ---- steady.c ---- */

/* After the run: its steady part, or that there is none; the responses of each class and of all are of it. */
void tx_settle(struct tx_run *r);
/* The same of a run that goes on, without the law of its users. */
void tx_settle_so_far(struct tx_run *r, uint64_t now_ns);
/* When the last arrives, by --count or --time. */
uint64_t tx_until_ns(const struct tx_run *r);
/* Seconds of the whole run. */
double tx_seconds(const struct tx_run *r);

/* ---- file.c ---- */

/* Opens or makes the file as the session's target; with --size writes it and reads it three times. */
int tx_file_open(struct datafile **ret, struct session *ses, const struct tx_params *p, struct err *err);
/* Removes it unless it is to be kept. NULL is fine. */
void tx_file_close(struct datafile *f, struct session *ses);
extern const struct field tx_file_fields[];

/* ---- report.c ---- */

/* Tables and figures of the last run. */
void tx_report(const struct tx_run *r);
/* The same of a run under way, as far as they are known by then. */
void tx_report_so_far(struct tx_run *r, uint64_t now_ns);
/* A step of --find. */
void tx_report_try(const struct tx_run *r, uint64_t users, uint64_t response_ns, bool fits);
void tx_plots(struct session *ses);
extern const struct measure_table tx_tables[];
