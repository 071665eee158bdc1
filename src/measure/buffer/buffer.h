/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of `buffer`, each knowing only those before it; nobody else includes this: plan.c what will be done; run.c
 * single experiments, each of which brings the drive's buffer into a state and reads once to see what it holds;
 * analyse.c how far something reaches, by the votes of many such reads; search.c which experiment is next; write.c and
 * fua.c what needs no search; report.c the document; buffer.c goes through them.
 *
 * A read that the buffer answers is quick; one of the media waits for its angle, anything up to a revolution. Hence a
 * quick answer is nearly always the buffer's, while a slow one may be a quick one that came late on its way. No single
 * read decides, but the likelihood of all of them.
 */
#pragma once

#include "measure/shared/timed.h"

/* What was asked of the buffer: the names are those of the document. */
enum buffer_test {
	BUFFER_REREAD,       /* of that many bytes, again and again: the interface */
	BUFFER_STREAMS,      /* the read that many places ago */
	BUFFER_LONGER,       /* the same, of longer reads */
	BUFFER_RUN,          /* the first block after reading that many bytes in sequence */
	BUFFER_AHEAD,        /* so far ahead of a block at random, after a wait */
	BUFFER_AHEAD_SECOND, /* the same, of the second of two blocks in sequence */
	BUFFER_BEFORE,       /* the block before one at random */
	BUFFER_LARGE,        /* the first of several streams that each fill most of a segment */
	BUFFER_VOLUME,       /* the stream that many streams of a part of a segment ago */
	BUFFER_WRITE,        /* of blocks of len_bytes, the last of that many bytes since the cache was empty */
	BUFFER_FLUSH,        /* after that many writes */
	BUFFER_READ_BUSY,    /* the so-manieth while the write cache, which was full, is being emptied */
	BUFFER_READ_IDLE,    /* the same when it is empty */
	BUFFER_FUA_READ,     /* the same block again: from one completion to the next */
	BUFFER_FUA_WRITE,    /* the same */
	BUFFER_TESTS
};
extern const char *const buffer_test_names[BUFFER_TESTS];

struct buffer_sample { /* a row of the document */
	const char *test;
	uint64_t at, access_ns;        /* at: bytes, a number or a place, as the test says */
	double distance_bytes, others; /* the same, where it is this; NaN: it is not */
	uint64_t len_bytes;            /* of what was read before, where it is not the same each time */
};
struct buffer_samples {
	struct buffer_sample *v; /* free() it */
	size_t n;
};

/* One disturbed sweep of 14 passes for undisturbed (trial): of more, too many that are kept are of that kind. */
#define BUFFER_SPOILT_MOST 0.8

/* Under which the samples were taken: a row of the document. */
struct buffer_conditions {
	uint64_t block_bytes;        /* of the reads that look whether something is held */
	double hit_ns, hit_limit_ns; /* of one that is; none takes longer but by chance */
	double period_ns,
		chance_ratio;     /* of a revolution; the share of quick ones among those that wait for their angle */
	uint64_t is_through;      /* 1: it says that it has no write cache, or that it is off */
	double media_bytes_per_s; /* where it was measured */
	double spoilt_ratio;      /* of the sweeps over several places: others, or a late host, disturbed them */
};

/* The question is timed.h's, also of a saved document. */
static inline bool buffer_is_hit(const struct buffer_conditions *c, double ns)
{
	return timed_may_be_hit(&(struct hits){ .most_ns = c->hit_limit_ns }, ns);
}
static inline bool buffer_is_media(const struct buffer_conditions *c, double ns)
{
	return timed_is_media(&(struct hits){ .most_ns = c->hit_limit_ns }, ns);
}

/* ---- plan.c ---- */

struct buffer_params { /* what the options fill */
	const char *range;
	bool write;
};

int buffer_range(const struct device *dev, const struct buffer_params *p, uint64_t *ret_first, uint64_t *ret_end,
                 struct err *err);

#define BUFFER_PART    0.3              /* of the device, from its first byte on: of two arms or disks only one */
#define BUFFER_TIME_NS (300 * NS_PER_S) /* unless --time says otherwise */
extern const struct opt buffer_opts[];
#define BUFFER_LARGE_BLOCK (64u << 10)             /* of writes, where small ones do not fill the cache */
uint64_t buffer_most_written(uint64_t size_bytes); /* in a range of this size */
int buffer_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err);

/* ---- run.c: one experiment each; what is read last is appended to the samples ---- */

struct buffer_io {
	struct session *ses;
	struct timed t;
	struct rotation rot;
	struct buffer_conditions cond;
	struct buffer_samples samples;
	uint32_t chunk_bytes; /* of reads in sequence: large enough for the host to keep up with the media */
	uint64_t end_ns;
	double about;                                             /* where reads are, part of the range */
	double quickest_ns;                                       /* of a read about a place; 0: none was seen */
	bool is_disturbed;                                        /* the experiment that is had */
	size_t tried, spoilt;                                     /* sweeps; those that were disturbed */
	uint64_t write_first, write_bytes, written_bytes, filled; /* write.c */
};

int buffer_open(struct buffer_io *io, struct session *ses, struct err *err);
void buffer_close(struct buffer_io *io);
bool buffer_is_over(const struct buffer_io *io);
/* Re-reads in two sizes. */
int buffer_reread(struct buffer_io *io, struct err *err);
/* A place that nobody has read, with that many bytes behind it and room before it. */
uint64_t buffer_fresh(struct buffer_io *io, uint64_t bytes);
/* So long nothing, or until the end, then a read of the block there. */
int buffer_rest(struct buffer_io *io, uint64_t ns, uint64_t at, struct err *err);
/* Appends to the samples what was good. */
void buffer_keep(struct buffer_io *io, enum buffer_test test, uint64_t at, double ns, uint64_t len_bytes);
/*
 * BUFFER_RUN, _AHEAD, _AHEAD_SECOND, _BEFORE: over these bytes, at a place of its own. Others: at each of the places
 * these bytes in sequence; then each one's first block, the last one first, up to `most` of them or until none is held
 * any more. BUFFER_LARGE: only the first one's last block.
 */
struct buffer_experiment {
	enum buffer_test test;
	uint64_t bytes;
	size_t places, most;
};
/* Once more where it was disturbed, as others take segments and move the head. io->is_disturbed: each time, so that
 * nothing was kept. */
bool buffer_is_hopeless(const struct buffer_io *io); /* too many sweeps are */
int buffer_try(struct buffer_io *io, const struct buffer_experiment *e, struct err *err);

/* ---- analyse.c: samples to estimates; no session, no document, no clock ---- */

struct buffer_edge {        /* up to where something is held */
	uint64_t low, high; /* held at low (0: nowhere), not at high (UINT64_MAX: everywhere where it was tried) */
	bool is_sure;       /* the odds are a thousand to one against all other places among those that were tried */
	/* likelier than that each place has a share of quick ones of its own, whatever that comes from */
	bool is_explained;
	uint64_t ask; /* if it is not: where another vote decides most */
	size_t votes;
	double log_likelihood;
};
void buffer_edge_of(const struct buffer_samples *s, const struct buffer_conditions *c, enum buffer_test test,
                    struct buffer_edge *ret);
/* Whether it is held at this one place: 1, 0, or -1: not decided. */
int buffer_is_held(const struct buffer_samples *s, const struct buffer_conditions *c, enum buffer_test test);
/* That reading ahead ends with the track, and so anywhere, to that it ends after a fixed length: the logarithm of the
 * odds. */
double buffer_track_odds(const struct buffer_samples *s, const struct buffer_conditions *c, enum buffer_test test);

struct buffer_knee {                  /* of writes of blocks of one size: where the cache is full */
	bool is_cached;               /* they begin quicker than the media can be */
	size_t behind;                /* that many writes came after it; 0: it was not met */
	double low_bytes, high_bytes; /* written until then */
	double filled_ns;             /* took that */
	double writes_per_s;          /* behind it */
	struct interval writes_ci;
	double cached_ns;  /* no write that the cache takes at once is slower but by chance */
	double empties_ns; /* takes what it holds; 0: not known */
};
void buffer_knee_of(const struct buffer_samples *s, const struct buffer_conditions *c, uint64_t block_bytes,
                    struct buffer_knee *ret);

enum buffer_sizing { SIZING_UNKNOWN, SIZING_FIXED, SIZING_BY_USE, SIZING_DISTURBED }; /* last: of most sweeps */
enum buffer_ahead { AHEAD_UNKNOWN, AHEAD_NONE, AHEAD_ALWAYS, AHEAD_AFTER_SECOND };
enum buffer_end { END_UNKNOWN, END_LENGTH, END_TRACK, END_SEGMENT };

struct buffer_found {
	struct stats_estimate interface, segments, segment, buffer, ahead_bytes;
	enum buffer_sizing sizing;
	enum buffer_ahead ahead;
	enum buffer_end end;
	int before; /* 1, 0, -1 */
	bool has_written;
	int write_cache, flush;    /* on: 1, off: 0, -1: not known; a flush waits for the media: the same */
	int fua_reads, fua_writes; /* the media: 1, the buffer or cache: 0, -1: not known */
	struct stats_estimate write_cache_bytes, emptying;
	int passes;                                 /* reads do not wait until it is empty: the same */
	struct stats_estimate read_busy, read_idle; /* ns */
	/* For the next experiments: what one stream gets, at least and at most; 0: not known. */
	uint64_t extent_low, extent_high;
	double extent;
	size_t streams;       /* held of single blocks, whatever may limit that; 0: not known */
	bool is_ahead_even;   /* its length is the same everywhere */
	bool is_media_slower; /* than the interface, so that runs in sequence go at the media's pace */
};
void buffer_analyse(const struct buffer_samples *s, const struct buffer_conditions *c, struct buffer_found *ret);

/* ---- search.c: which experiments, until enough is known ---- */

int buffer_search(struct buffer_io *io, struct err *err);

/* ---- write.c ---- */

/* Only within these bytes. */
int buffer_write(struct buffer_io *io, uint64_t first, uint64_t bytes, struct err *err);

/* Where FUA is known there, else nothing is kept. */
int buffer_fua_reads(struct buffer_io *io, struct err *err);
/* Behind buffer_write(), and after as long a rest as the cache needs. */
int buffer_fua_writes(struct buffer_io *io, struct err *err);

/* ---- report.c ---- */

extern const struct field buffer_sample_fields[], buffer_condition_fields[];
extern const struct measure_table buffer_tables[];
void buffer_report_samples(struct result *res, const struct buffer_io *io);
void buffer_report_found(struct result *res, const struct buffer_found *found);
