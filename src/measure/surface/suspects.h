/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is slow and what failed, without a run: judge.c, failed.c, and the states of a suspect. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* ---- judge.c ---- */

#define SURFACE_BATCH           64    /* requests: a few tracks of neighbours; one slow one does not move the median */
#define SURFACE_BASE            31    /* batches that say what is usual */
#define SURFACE_LEAST_OVER_NS   2.2e6 /* half a revolution of the quickest drives */
#define SURFACE_REVOLUTION_PART 0.9   /* of a revolution: what is reported only beyond it leaves weak sectors out */

struct surface_base { /* of the last batches: ns per byte */
	double level[SURFACE_BASE], over[SURFACE_BASE], mad[SURFACE_BASE];
	size_t n, at;
};

struct surface_limit {
	double level;   /* expected time of a byte here */
	double over_ns; /* a request that takes so much longer is slow */
};

/*
 * The requests of a batch by their times per byte (NaN: not known), each of about len_bytes: what to expect of them, by
 * themselves and the batches before. The batch is then one of these. Less than least_over_ns is never slow.
 */
struct surface_limit surface_judge(struct surface_base *base, const double *ns_per_byte, size_t n, double len_bytes,
                                   double least_over_ns);

/* ---- suspects ---- */

enum surface_kind { /* what became of it */
	            SURFACE_PENDING,
	            SURFACE_ALWAYS, /* slow whenever it is read, also alone */
	            /* slow when it is passed, not by itself: the drive goes elsewhere, or skips; no bad place */
	            SURFACE_PASSING,
	            SURFACE_ONCE,       /* never again, or not by itself */
	            SURFACE_UNREADABLE, /* failed again */
	            SURFACE_HEALED,     /* failed once, and was read since */
	            SURFACE_UNCHECKED,  /* left open: the limit of rechecks was reached */
	            SURFACE_SKIPPED,    /* not read: failures before it took too long */
	            SURFACE_KINDS,
};
extern const char *const surface_kind_names[SURFACE_KINDS];

struct surface_suspect {
	uint64_t first_bytes, end_bytes; /* the request; later what is known to be hit */
	uint64_t time_ns, scan_bytes;    /* of the request when it was scanned */
	double ns_per_byte;              /* expected; NaN: not known */
	uint64_t again_ns;               /* the longest of the second readings */
	uint32_t again, again_bad;       /* second readings, and those that were slow or failed */
	int error;                       /* negative errno or 1 (short) of the scan or of a reading again; 0: slow */
	bool is_silent; /* no word about it when it is well: what is left of a request behind a bad place */
	enum surface_kind kind;
	bool is_slow;               /* all of it, beyond doubt: it is being halved */
	uint32_t rows;              /* read in a row, each of what stuck out in that before */
	uint32_t step, restarts;    /* readings of what is asked now; halved anew */
	uint32_t rests;             /* bad places before it in the same request */
	uint32_t hits;              /* readings that the drive's cache answered: no word about the medium */
	uint64_t good_end, bad_end; /* what is being asked, or looked for, lies between these */
	double odds[2]; /* how much more likely than not that is weak itself, a logarithm; beside what lies behind it,
	                   and before it */
};

/* ---- ranges.c ---- */

/* How each element of such a list begins. */
struct surface_bytes {
	uint64_t first_bytes, end_bytes;
};
/* Of n elements of that many bytes: the first that ends behind this place. */
size_t surface_first_behind(const void *v, size_t n, size_t size, uint64_t at_bytes);
/* The list with a copy of the element before that at. */
void *surface_insert(void *v, size_t *n, size_t size, size_t at, const void *element);
void surface_drop(void *v, size_t *n, size_t size, size_t at);

/* ---- failed.c ---- */

struct surface_failures {
	struct surface_failed {
		uint64_t first_bytes, end_bytes, time_ns; /* time: of the longest request that failed there */
		uint32_t readings;                        /* that failed there */
		int error;                                /* negative errno or 1 (short) */
		/* each sector failed by itself; else a longer request failed, and not all of it need be bad */
		bool is_sector;
		/* of a request of which something was read, or is known to be bad: no word about it when it is well */
		bool is_rest;
		bool is_left; /* the drive's cache answers: no more readings */
	} * v;
	size_t n;
};

/* A request failed (is_new: not all of it was read before), or was read. */
void surface_failures_add(struct surface_failures *l, const struct surface_failed *f, bool is_new);
/* What failed by itself is read only by itself: a longer read may be of what the drive has kept. */
void surface_failures_read(struct surface_failures *l, uint64_t first, uint64_t end, bool is_sector);
bool surface_has_failed(const struct surface_failures *l, uint64_t first, uint64_t end);
/* The first before this place that is still to be narrowed down to sectors, or NULL. */
struct surface_failed *surface_next_unproven(const struct surface_failures *l, uint64_t end);
/* Of this range. */
uint64_t surface_failures_bytes(const struct surface_failures *l, uint64_t first, uint64_t end);
void surface_failures_done(struct surface_failures *l);

/* ---- --sample ---- */

#define SURFACE_FIRST_PLACES 32

struct surface_sample {
	struct stretch {
		uint64_t first_bytes, end_bytes;
		bool is_random; /* else the start, the end, or where the disk itself reports trouble */
		unsigned readings;
		uint64_t slow; /* a bit for each request of the first reading: in all readings */
	} * v;
	size_t n, next;  /* next: all before it were scanned; those from there on are this pass's, by place */
	size_t seen;     /* readings of places */
	uint64_t end_ns; /* of scanning: the rest is for second readings */
	unsigned passes;
	/*
	 * What sticks out in most places of the first pass is the drive's own way (judge.c looks at neighbours, which
	 * may all lie in one weak region): less is never slow. Infinity: not known yet.
	 */
	double own_ns, worst_ns, worsts_ns[SURFACE_FIRST_PLACES];
	size_t nworsts;
	struct surface_failures unread;   /* of the range */
	uint64_t leg_end_bytes, leg_slow; /* of the leg in work: its end, and its requests that were slow, as bits */
};

/* What was never read: for later, or not asked for. */
struct surface_later {
	struct surface_failures skipped;
	uint64_t at;                   /* where to go on with these */
	struct surface_sample *sample; /* --sample, else NULL */
	uint64_t failed_ns;            /* in requests of the scan that failed, these left out */
};

/* ---- what a scan sums up ---- */

#define SURFACE_CLASSES 7                                /* of times; the last: more than all */
extern const uint64_t surface_class_ns[SURFACE_CLASSES]; /* upper ends */

struct surface_cell { /* a row of the table "map"; what follows from others only when it is shown */
	uint64_t first_byte, last_byte;
	uint64_t scanned_bytes, failed_bytes, busy_ns, worst_ns,
		excess_ns; /* scanned: also those that failed; busy: without */
	uint64_t errors, classes[SURFACE_CLASSES];
	double rate_bytes_per_s, revolutions_lost;
	uint64_t row_bytes, column_bytes, shown_ns;
	uint64_t written_bytes, write_ns, write_errors; /* --write */
	double write_rate_bytes_per_s, most_celsius;
};

struct surface_blind {          /* where weak places may hide */
	double over_sum_ns;     /* what is slow, of all batches of this run */
	double buffer_ns;       /* a block of the scan that is in the drive's buffer; 0: not known; <0: not asked yet */
	uint64_t bound_batches; /* as quick as from the buffer */
	uint64_t batches;
	uint64_t deaf_bytes; /* of requests in which a revolution lost would not have stood out */
};

/* ---- room for others ---- */

struct surface_gentle {
	uint64_t bytes, own; /* at the last look: of the disk's counters, of ours */
	uint64_t quiet_ns;   /* when it will have been quiet for long enough */
	uint64_t yields, paused_ns, paused_until_ns;
	uint64_t burst_bytes, burst_ns; /* since the last pause */
	uint64_t looked_ns, hold_ns, held_since_ns,
		held_for_ns; /* the last look, until when to hold; since when, and in all */
	bool is_hot, has_base;
};

/* ---- what a run has, beside that ---- */

#define SURFACE_ACTIVE \
	256 /* slow suspects that are looked at together; more are counted as unchecked, which is reported */
enum surface_budget { AGAIN_OF_ERRORS, AGAIN_OF_SLOW, AGAIN_OF_SKIPPED, AGAIN_KINDS };

struct surface_begun {
	uint64_t start_ns;
	bool is_known;   /* the rotation, as far as the time for its search went */
	bool is_scanned; /* when this run began: second readings are left */
};

struct surface_lists {
	struct surface_suspect active[SURFACE_ACTIVE]; /* slow ones */
	size_t nactive, nplaces;
	struct surface_suspect *places;
	uint64_t nkinds[SURFACE_KINDS]; /* of all that came to an end, also of those that are not listed */
	uint64_t nlisted[SURFACE_KINDS], unlisted[SURFACE_KINDS]; /* not: when reported last */
};

struct surface_rounds {
	uint64_t spent_ns[AGAIN_KINDS]; /* in second readings */
	uint64_t last_ns, end_ns;       /* of the last rounds */
	uint32_t flush_reads;           /* elsewhere, until what was read has left the drive's cache */
	bool has_hits;                  /* in this round: they were not enough */
};

struct surface_done {
	uint64_t slow, failed; /* requests, when scanned */
	uint64_t scan_ns;      /* in legs */
	uint64_t scan_bytes;   /* read in them */
	double bytes_per_s;    /* now */
	uint64_t worst_ns;     /* so far, of this run */
	uint64_t own_bytes;    /* read */
	uint64_t portions;     /* runs that it took so far */
};

struct surface_leg {
	uint64_t saved_ns;
	int error; /* of saving, or no memory, within a leg */
	struct err why;
};
