/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of `smr`, each knowing only those before it; nobody else includes this. plan.c: options, and the order of
 * places. run.c: the writes, timed, and every byte put back. analyse.c: how well each kind of disk explains them.
 * report.c: the document. smr.c goes through them. `sustain` finds what a rest brings back.
 *
 * A disk whose tracks shingle can write a band only as a whole. So it keeps small pieces in a cache on the media until
 * the cache, or its map, is full. From then on it has to clean a band for each piece that it takes in: read, merge and
 * write it (Aghayev and Desnoyers, Skylight, FAST 2015). Conventional drives may have such a cache, too, and are then
 * as fast before and as slow afterwards; what they never do is to need the time of a band for a single block.
 */
#pragma once

#include "measure/shared/lasting.h"
#include "measure/shared/link.h"
#include "measure/shared/rewrite.h"

struct smr_params { /* what the options fill */
	const char *range, *journal;
	bool write, rewrite;
};

/* ---- plan.c: options and the device to what will be done, or a sentence why not ---- */

/*
 * Blocks of 4 KiB, none beside another, in the order in which they are written; caches are cleaned from what is oldest
 * on, so that it comes back in this order.
 */
enum smr_part {
	SMR_CUSHION, /* close together, but at random, which takes long: the first to be cleaned, all at once, for the
	                writes that are under way when the cache turns out to be full */
	SMR_SINGLES, /* far from each other, so that no two lie in one band: each costs what a band costs */
	SMR_COMB,    /* in even steps, upward: how many go at once shows how large a band is */
	SMR_BULK,    /* at random, to fill the map */
	SMR_PARTS
};

#define SMR_BLOCK   4096
#define SMR_TIME_NS (12 * 3600 * NS_PER_S) /* unless --time says otherwise: as long as it takes */
struct smr_layout {
	uint64_t first_bytes, size_bytes; /* of the target: what may be written */
	struct smr_run_of {
		uint64_t first_bytes, step_bytes, n;
	} part[SMR_PARTS];
	uint64_t batch; /* writes between two flushes while the map is being filled */
};

extern const struct opt smr_opts[];
int smr_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err);
/* false: so few bytes are none to measure in. */
bool smr_layout_init(struct smr_layout *l, uint64_t first_bytes, uint64_t size_bytes);
uint64_t smr_layout_writes(const struct smr_layout *l); /* of all parts */
/* Writes behind a cliff that was the cushion's, before which no other wait comes: its room, less that of the batch. */
static inline size_t smr_cushion_left(const struct smr_layout *l)
{
	return l->part[SMR_CUSHION].n - l->batch;
}
/* Where the block lies that is written as number i; and to which part it belongs. */
uint64_t smr_place(const struct smr_layout *l, uint64_t i, uint64_t seed);
enum smr_part smr_part_of(const struct smr_layout *l, uint64_t i);
/* What may be written of this device or folder; size 0: there is no room. */
int smr_span(const struct device *dev, const struct smr_params *p, uint64_t *ret_first, uint64_t *ret_size,
             struct err *err);

/* The same in places that share no byte, in the order in which they are written: for the journal of --rewrite. */
#define SMR_PIECE (1u << 20) /* in which the comb is written in sequence */
/* All of them; free() it. */
size_t smr_places(const struct smr_layout *l, uint64_t seed, struct rewrite_place **ret);

/* ---- run.c: writes out, times kept; nothing is judged here ---- */

/* Writes and the flush behind them: a row of the document. */
struct smr_sample {
	double time_s, writes_per_s; /* when it ended, since the start; with the flush */
	uint64_t first, writes;      /* number of the first of them; how many */
	uint64_t write_ns, flush_ns;
	uint64_t flushes;
};
/* A flush behind each. */
static inline bool smr_is_single(const struct smr_sample *s)
{
	return s->writes == 1 || s->writes == s->flushes;
}
struct smr_samples {
	struct smr_sample *v; /* free() it */
	size_t n;
};

struct smr_input;
struct smr_io {
	struct lasting l;
	const struct smr_layout *layout;
	double turn_ns;   /* by reads; 0: not known */
	uint64_t time_ns; /* for writing and the look at the way behind it */
	bool is_noted;    /* all that will be written is in the journal */
};
/* --rewrite: reads and notes all that will be written; io->is_noted: it was not stopped meanwhile. */
int smr_back_begin(struct smr_io *io, const char *dir, struct err *err);
/* Compares what was written, however the run, which came to r, ended; returns that, unless bytes are not the same. */
int smr_back_end(struct smr_io *io, int r, struct err *err);
/* Does it turn, as far as reads below end show? 1, 0, or -1: they do not. */
int smr_turns(struct smr_io *io, uint64_t end, int *ret_turns, struct err *err);
/* Writes that stretch in sequence. */
int smr_stream(struct smr_io *io, uint64_t first, uint64_t end, struct err *err);
/*
 * What a read takes at places at random, if they are as slow as an arm; NaN: too few are. What comes through from the
 * drive's buffer. And the rate in sequence of reads: a drive without a cache for writes misses its turn at each of
 * those.
 */
int smr_access(struct smr_io *io, struct smr_input *in, struct err *err);
/* in->path_ns: the mean of reads of what the drive's buffer holds or reads ahead, stalls and all, unless it was longer
 * when last looked at; NaN: it does not show it. */
int smr_path(struct smr_io *io, struct smr_input *in, struct err *err);
/* The next n writes of one part, from the place of that number on (smr_place()), then a flush; appended to s. */
int smr_write(struct smr_io *io, uint64_t from, uint64_t n, struct smr_samples *s, struct err *err);

/* ---- analyse.c: samples to estimates with intervals; no session, no document, no clock ---- */

struct smr_input { /* what a saved document has, too */
	const struct smr_sample *v;
	size_t n;
	const struct smr_layout *layout;
	double access_ns, stream_bytes_per_s, interface_bytes_per_s; /* NaN: not known */
	double path_ns;  /* what a request takes that needs no arm, on average; NaN: not known */
	double rpm;      /* as it says, or 0 */
	bool is_through; /* the device says that it has no write cache, or that it is off */
};

enum smr_verdict { SMR_UNDECIDED, SMR_NO, SMR_YES };

struct smr_found {
	enum smr_verdict verdict;
	double log10_ratio; /* shingled to an actuator */
	bool is_slow_from_start;
	bool has_changed;           /* batches: not as fast any more as before */
	bool is_full, has_singles;  /* is_full: writes wait; has_singles: their turn has come */
	bool has_others;            /* it is cleaned of what others wrote: what is written now comes behind */
	bool is_likely, is_by_mean; /* the likelihood of the singles, or of means, says yes */
	bool is_path_slow;          /* that writes are slow says nothing of the disk */
	uint64_t behind, at; /* writes one by one behind the cliff, or after a slow start; the singles among them */
	size_t gaps;         /* of the comb, that show the size of a band */
	struct stats_estimate fast, slow, entries, band, band_ns;
};
void smr_analyse(const struct smr_input *in, struct smr_found *ret);
enum smr_step {
	SMR_STOP, /* more writes would make neither the verdict surer nor a figure */
	SMR_BATCH,
	SMR_SINGLE,
	SMR_SWEEP /* the cache is cleaned of what others wrote, which a write in sequence frees */
};
enum smr_step smr_next(const struct smr_layout *l, const struct smr_found *found, bool may_sweep);

/* ---- report.c: samples and estimates to rows, figures, notices, plots ---- */

extern const struct field smr_sample_fields[];
extern const struct measure_table smr_tables[];
/* And the pictures of them. */
void smr_report_samples(struct result *res, const struct smr_input *in);
/* reason: a clause, as what follows "because". 0. */
int smr_report_verdict(struct result *res, enum smr_verdict verdict, const char *reason);
/* The figures of a saved document from its rows. */
int smr_again(const struct result *saved, struct result *ret, struct err *err);
void smr_report_undecided(struct result *res, const char *device, bool has_written);
void smr_report_found(struct result *res, const struct smr_input *in, const struct smr_found *found);
