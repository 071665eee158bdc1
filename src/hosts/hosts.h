/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several hosts in one run (--hosts), from bottom to top: transport.h how messages go, mpi.c a module that does it over
 * MPI, module.c finds and loads one; offset.c what a host's clock shows beside ours; meet.c who is there, may all
 * begin, when, and what has become of each; merge.c the documents of all as one. No host waits for another that does
 * not live: each tells each second that it does, on a thread of its own, which is the only one that sends anything
 * while the others measure.
 */
#ifndef PLATTER_HOSTS_HOSTS_H
#define PLATTER_HOSTS_HOSTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "hosts/transport.h"
#include "result/result.h"

/* ---- module.c ---- */

/*
 * Starts MPI. name: "openmpi", "mpich", or "auto": what the launcher's environment says. folder: where the modules are.
 * Without a launcher, or without the module: -ENOTSUP or -ENOENT and a sentence.
 */
int hosts_load(struct transport **ret, const char *name, const char *folder, struct err *err);
/* What the launcher says before MPI is started; 0 without one. */
unsigned hosts_launched_rank(void);

/* ---- offset.c ---- */

/* Sent and back by our clock, there by the other's. */
struct clock_sample {
	uint64_t sent_ns, there_ns, back_ns;
};
/* The other clock is ours + offset, and no further from that than error, whatever the ways there and back took. */
struct clock_offset {
	double offset_ns, error_ns;
	uint64_t at_ns; /* by our clock */
};
/* false: no samples. */
bool clock_offset_of(const struct clock_sample *samples, size_t n, struct clock_offset *ret);
/* What our clock showed when the other one showed there_ns; before and after around the run, after NULL: not known.
 * error: of this. */
double clock_ours(const struct clock_offset *before, const struct clock_offset *after, uint64_t there_ns,
                  double *ret_error_ns);

/* ---- meet.c ---- */

#define HOST_NAME_BYTES 72

struct hosts_config {
	struct transport *transport; /* taken over */
	struct clock *clk;           /* that the measurement lives by */
	uint64_t wait_ns;            /* a host that was silent for so long is lost */
	const atomic_int *cancel;    /* NULL is fine */
	uint64_t seed;               /* of rank 0 it becomes that of all */
	char name[HOST_NAME_BYTES];
};
struct hosts;
int hosts_new(struct hosts **ret, const struct hosts_config *cfg, struct err *err);
/* All that hosts_new() got in; for rank 0 after the last of it has been shown. Lets the others go. */
void hosts_free(struct hosts *h);
unsigned hosts_rank(const struct hosts *h);
unsigned hosts_count(const struct hosts *h);
bool hosts_is_alone(const struct hosts *h); /* rank 0 was lost */
uint64_t hosts_seed(const struct hosts *h); /* of all, once they have met */
/* The file of this rank where "rack.json" is that of all: "rack.3.json". Heap; NULL and "-" have none. */
char *hosts_own_file(const char *path, unsigned rank);

/*
 * All are there and mean the same: words, the command line, is to be that of rank 0; r and err: what each has to say
 * already. 0, or the first failure, with the name of its host, at all of them.
 */
int hosts_meet(struct hosts *h, const char *words, int r, struct err *err);
/* May all begin? The same way, once each target is open and before anything is written; *refused: a write gate said no.
 */
int hosts_agree(struct hosts *h, int r, bool *refused, struct err *err);
/* Waits until the instant at which all begin; of the clock. A host that never comes so far is not waited for. */
void hosts_start(struct hosts *h);

struct hosts_part {
	unsigned rank;
	char name[HOST_NAME_BYTES + 12]; /* unlike all others: with the rank where several run on one host */
	struct result *doc;              /* NULL: the host was lost */
	bool has_start;
	double start_ns; /* by rank 0's clock */
	double clock_error_ns, clock_drift_ppm;
};
/*
 * What each measured: at rank 0 *ret_parts, an array of one for each host (hosts_parts_free), of the others NULL.
 * has_start_ns: when the measurement began, 0: it did not. 0, or -ESHUTDOWN and a sentence: rank 0 was lost.
 */
int hosts_gather(struct hosts *h, const struct result *doc, uint64_t start_ns, struct hosts_part **ret_parts,
                 struct err *err);
void hosts_parts_free(struct hosts_part *parts, size_t n);
/* Of the first host that has one; NULL: none has. */
const struct result *hosts_first_doc(const struct hosts_part *parts, size_t n);

/* ---- merge.c ---- */

/*
 * One document of all: head and options of the first that has one, targets, faults and notices of all with the host's
 * name, a row for each in table "hosts". What the measurement has to say of it is its own (together, of struct
 * measure).
 */
struct result *hosts_merge(const struct hosts_part *parts, size_t n,
                           void (*together)(const struct hosts_part *parts, size_t n, struct result *res));
/* The rows of all hosts' tables of this name, with a column "host" before them. on_axis: a column in s that is to count
 * from the first start, or NULL. */
void hosts_join(const struct hosts_part *parts, size_t n, struct result *res, const char *name, const char *on_axis);
/*
 * For measurements that each host does for itself, as their .together: a row of figures for each host in table
 * "shares", all tables joined, lines with one for each host.
 */
void hosts_apart(const struct hosts_part *parts, size_t n, struct result *res);
/*
 * Runs of one measurement one after the other, on this host: head and targets of the first, all faults and notices, all
 * tables joined with the run's name in a column `key` before them. n >= 1; each has a doc.
 */
struct result *hosts_in_turn(const struct hosts_part *parts, size_t n, const char *key);
/* When this host began, in s after the first one that did; NaN: not known. */
double hosts_began_s(const struct hosts_part *parts, size_t n, size_t host);

#endif
