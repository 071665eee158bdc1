/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the matrix (cache.c) and the search for the end of the cache (knee.c) share. */
#ifndef PLATTER_MEASURE_CACHE_H
#define PLATTER_MEASURE_CACHE_H

#include "measure/shared/cgroup.h"
#include "measure/shared/pagecache.h"
#include "session/session.h"

#define CACHE_PRIME_BYTES (1u << 20) /* block of the passes that make a state */
#define CACHE_HIT_RATIO   0.98

struct cache_params; /* options: cache.c */

struct cache_run {
	struct session *ses;
	struct cgroup *cg; /* NULL without --memory */
	const struct cache_params *p;
	char path[512];
	struct datafile *df;      /* NULL: somebody's file, only read */
	uint64_t first;           /* byte where the data begin */
	int cached_fd, direct_fd; /* -1: not open; direct: where the file system refuses */
	uint32_t direct_align;
	uint8_t *buf; /* max(record, CACHE_PRIME_BYTES) */
	uint64_t file_bytes, page_bytes, draws;
	unsigned operations;   /* a bit for each that is wanted */
	uint64_t filled_bytes; /* so much of the file was written, when no operation does that */
	size_t cells_done, cells;
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

static inline bool cache_is_over(const struct cache_run *c)
{
	return session_is_over(c->ses);
}

/* Puts a fault on record, of n as the system call returned it. Its negative errno. */
int cache_failed(struct cache_run *c, const char *op, uint64_t offset, uint64_t length, ssize_t n);
/* A pass over the whole file in large blocks. 0 or negative errno, as all below. */
int cache_pass(struct cache_run *c, int fd, bool writes);
/* The state that a second reading starts from: what one sequential reading leaves behind. */
int cache_make_warm(struct cache_run *c);
/* Until the file was covered (warm: 5 ms at least), or the cell's time is over, or a signal came. *ret_ns: how long. */
int cache_run_loop(struct cache_run *c, struct cache_loop *l, uint64_t limit_ns, bool syncs_at_end, uint64_t *ret_ns);
/* The part of the records that came from memory; NaN: not known. */
double cache_hits(const struct cache_run *c, const struct cache_loop *l, const struct pagecache_traffic *t);

/* The table and the figures of where the cache ends, between files of low and high bytes. */
extern const struct field cache_knee_fields[];
/* The figure, from the rows of the search. false: they do not bracket it. */
bool cache_tell_knee(struct result *res, const struct table *t);
int cache_find_knee(struct cache_run *c, uint64_t low, uint64_t high);

#endif
