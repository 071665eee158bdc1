/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of cache: plan, run and the search for the end of the cache (knee), report; cache.c goes through them. */
#pragma once

#include "measure/shared/cgroup.h"
#include "measure/shared/pagecache.h"
#include "session/session.h"

#define CACHE_PRIME_BYTES (1u << 20) /* block of the passes that make a state */
#define CACHE_HIT_RATIO \
	0.98 /* of records that were in memory: the kernel takes single pages back at any time (a choice) */

#define CACHE_REPEATS_MAX 50 /* rates kept of a cell */

enum mode { MODE_BOTH, MODE_CACHED, MODE_DIRECT };
enum sync { SYNC_NONE, SYNC_END, SYNC_EACH };
enum operation { OP_WRITE, OP_REWRITE, OP_READ, OP_REREAD, OP_RANDOM_READ, OP_COLD_RANDOM_READ, OP_RANDOM_WRITE, OPS };

struct cache_params {
	struct sizes size, block;
	uint64_t repeat, cell_ns, memory_bytes;
	int mode, sync;
	const char *operations;
	struct strs without;
};

struct cache_operation {
	const char *name;
	bool writes, is_random, is_cold, is_warm;
	bool has_twin; /* past the cache it is the same as another operation */
};

struct cell_row {
	uint64_t file_bytes, record_bytes;
	const char *mode, *operation;
	double rate_bytes_per_s, hit_ratio, low_bytes_per_s, high_bytes_per_s, best_bytes_per_s;
	double from_device_ratio, from_disk_ratio, cached_before_ratio, cached_after_ratio;
	uint64_t repetitions;
};

struct knee_row {
	uint64_t file_bytes;
	double rate_bytes_per_s, hit_ratio, counted_hit_ratio, cachestat_ratio, from_disk_ratio;
};

struct cache_run {
	struct session *ses;
	struct cgroup *cg; /* NULL without --memory */
	const struct cache_params *p;
	char path[512];
	struct datafile *df;      /* NULL: somebody's file, only read */
	uint64_t first;           /* byte where the data begin */
	int cached_fd, direct_fd; /* -1: not open; direct: where the file system refuses */
	uint32_t direct_align;
	uint8_t *buf;             /* max(record, CACHE_PRIME_BYTES) */
	struct payload_pool pool; /* what is written */
	uint64_t file_bytes, page_bytes, draws;
	unsigned operations;   /* a bit for each that is wanted */
	uint64_t filled_bytes; /* so much of the file was written, when no operation does that */
	size_t cells_done, cells;
	uint64_t end_ns;     /* of the default time; 0: none */
	uint64_t room_bytes; /* what the cgroup left to file pages, at the last reading for the knee; 0: not known */
};

/* What the timed loop needs, and nothing that it could do without. */
struct cache_loop {
	int fd;
	bool writes, is_random, repeats, syncs;
	uint64_t record, n, done; /* n: records of the file */
	uint64_t key;             /* of the order, each record once; 0: drawn with replacement, by rng */
	struct rng rng;
};

/* Nobody said how far to go: on much memory that would take hours, so it ends after this time and says what it left
 * out. */
#define CACHE_DEFAULT_NS (300 * NS_PER_S)

bool cache_has_default_end(const struct session *ses, const struct cache_params *p); /* plan.c */

static inline bool cache_is_late(const struct cache_run *c)
{
	return c->end_ns && clock_now_ns(c->ses->env->clk) >= c->end_ns;
}

static inline bool cache_is_over(const struct cache_run *c)
{
	return session_is_over(c->ses) || cache_is_late(c);
}

/* ---- plan.c ---- */

extern const char *const cache_mode_names[];
extern const struct opt cache_opts[];
extern const struct cache_operation cache_ops[];
uint64_t cache_largest_size(const struct cache_params *p);
size_t cache_count_doublings(uint64_t low, uint64_t high);
/* A bit for each operation of --operations. is_read_only: those that write are not to be named. */
int cache_wanted_operations(const struct cache_params *p, bool is_read_only, unsigned *ret, struct err *err);
/* So much of a file that exists is read. */
uint64_t cache_existing_size(const struct cache_params *p, const struct device *d);
int cache_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err);

/* ---- run.c: the file, its states, the timed loop ---- */

uint64_t cache_now_ns(const struct cache_run *c);
/* Puts a fault on record, of n as the system call returned it. Its negative errno. */
int cache_failed(struct cache_run *c, const char *op, uint64_t offset, uint64_t length, ssize_t n);
/* Lets the kernel know what comes: at random it reads nothing ahead. false: it takes no such advice. */
bool cache_advise(const struct cache_run *c, bool is_random);
/* A pass over the whole file in large blocks. 0 or negative errno, as all below. */
int cache_pass(struct cache_run *c, int fd, bool writes);
/* Part of the file that is in memory now. */
double cache_in_memory(const struct cache_run *c);
int cache_make_cold(struct cache_run *c);
/* The state that an operation starts from. */
int cache_prepare(struct cache_run *c, enum operation op, bool is_direct);
/* Until the file was covered (warm: 5 ms at least), or the cell's time is over, or a signal came. *ret_ns: how long. */
int cache_run_loop(struct cache_run *c, struct cache_loop *l, uint64_t limit_ns, bool syncs_at_end, uint64_t *ret_ns);
/* The part of the records that came from memory; NaN: not known. */
double cache_hits(const struct cache_run *c, const struct cache_loop *l, const struct pagecache_traffic *t);

/* ---- report.c ---- */

extern const struct field cache_cell_fields[], cache_knee_fields[];
void cache_report_extremes(struct result *res, const struct table *t);
void cache_report_findings(struct result *res, const struct table *t, uint64_t page_bytes);
void cache_report_plots(struct session *ses);
/* The figure, from the rows of the search. false: they do not bracket it. */
bool cache_report_knee(struct result *res, const struct table *t);

/* ---- knee.c: where the cache ends, between files of low and high bytes ---- */

int cache_find_knee(struct cache_run *c, uint64_t low, uint64_t high);
