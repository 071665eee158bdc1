/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where `platter zones` reads, and what a sample of it is: all that the analysis (analysis.h) and the run (zones.h)
 * have in common.
 *
 * Words: a *position* is a place of the curve; it has a *cell* of `slots` windows; each *sample* reads one window (or a
 * part of it) that was not read before. Offsets count from the start of the target.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"

struct device;

struct zones_params {
	uint64_t positions, passes, depth, block_bytes, sample_bytes;
	const char *places, *range, *journal;
	bool quick, full, write, rewrite, requests;
};

/* ---- plan.c ---- */

enum zone_class {
	ZONE_SHORT,
	ZONE_LONG, /* the places of the figures: start, middle, end */
	ZONE_CLASSES,
};

#define ZONE_NONE          SIZE_MAX      /* no position */
#define ZONE_BLOCK_MIN     (64 * 1024u)  /* smaller requests cost more than they carry; any drive's buffer holds one */
#define ZONE_WINDOW_BLOCKS 32            /* at least, in a window or a bin: lead-in and a slope */
#define ZONE_SAMPLE_BYTES  (64ull << 20) /* of a place of the figures: half a second of a modern disk (a choice) */
#define ZONE_REQUEST_REVS  0.5 /* that a request takes at most, so that none hides a revolution that each loses */
/* The same with --zones: samples are short, the lead-in is counted in requests; and tracks show (estimate.c). */
#define ZONE_PLACE_REQUEST_REVS 0.25
#define ZONE_TRACK_PARTS        4    /* requests in a revolution that show its track (trial: fewer gain nothing) */
#define ZONE_SHORT_REVS         24.0 /* of a sample of the curve, at most (trial on eleven drives: more gain little) */
#define ZONE_TWICE_DEPTH        8    /* requests: twice as many as usually are in flight */
/* Places, from which on one shows what to expect at the next: of fewer each lies zones apart. */
#define ZONE_BESIDE 8
#define ZONE_REV_NS 8.4e6 /* of a revolution, where it is not known */
#define ZONE_DENSITY_MAX \
	0.17 /* log; surfaces of one disk differ by less (physics of heads; published drives up to 0.15) */

struct zone_position {
	uint64_t cell_bytes; /* where the cell begins */
	enum zone_class class;
	bool is_extra;   /* the middle, when no position of the curve lies there */
	bool is_high;    /* in the upper half: windows are taken from the cell's end, so that the last sample ends where
	                  the cell ends */
	bool is_centred; /* the middle: windows are taken from the cell's centre outwards */
	uint32_t used;   /* windows taken */
	uint32_t turn;   /* by that many the order of the first windows, those of the passes, is turned */
	uint32_t step[2]; /* --zones: from one window to the next, of the passes' and of the others; 0: not drawn yet */
	double bytes_per_s; /* of its last sample; 0: none yet */
	char label[24];     /* --zones: what the user called it; else "" */
};

struct zone_layout {
	uint64_t first_bytes, end_bytes; /* what is measured of the target */
	uint32_t align_bytes, block_bytes, depth;
	uint32_t lead_in;     /* requests that a sample begins with and that do not count */
	uint32_t looks;       /* that a slow region needs, of its bytes in requests of other sizes */
	uint32_t piece_bytes; /* the largest that the device takes in one piece, by what the host knows; 0: not known */
	uint32_t slots;
	bool is_one_at_a_time;               /* the device's queue holds one request */
	bool has_members;                    /* several disks, which wait for each other */
	bool is_whole;                       /* all is read once (--full) */
	uint32_t coarse_bytes, fine_bytes;   /* of a request, as fine.c chooses; fine 0: there is no such */
	uint64_t window_bytes, stride_bytes; /* of a cell: size of a window, distance of two */
	uint64_t cell_bytes;
	struct zone_position *positions; /* in the order of their places */
	size_t npositions;
	size_t start, middle, end;    /* positions of the figures; ZONE_NONE: not measured */
	double rev_ns;                /* of the rotation; NaN: unknown; 0: does not rotate */
	double interface_bytes_per_s; /* of what the drive's buffer holds; NaN: not known */
	size_t wanted_positions;      /* more than npositions: the target is too small for that many */
};

/* Of the rotation; what is usual where it is not known, 0 of what does not rotate. */
static inline double zone_rev_ns(const struct zone_layout *l)
{
	return l->rev_ns >= 0.0 ? l->rev_ns : ZONE_REV_NS;
}

/*
 * The host cuts requests to pieces, and the device takes one piece at a time (USB storage): between small requests it
 * waits for the host, and loses a revolution here and there; pieces of a large one follow each other at once.
 */
static inline bool zone_is_cut(const struct zone_layout *l)
{
	return l->is_one_at_a_time && l->piece_bytes && l->piece_bytes < l->coarse_bytes;
}

/* 0, or -EINVAL and a sentence. zone_layout_done() afterwards. */
int zone_layout_init(struct zone_layout *l, const struct device *dev, const struct zones_params *p, struct err *err);
void zone_layout_done(struct zone_layout *l);
/*
 * Halves the request until it takes no longer than half a revolution at this rate, so that a revolution lost shows
 * between two completions; or than four where it is cut.
 */
void zone_layout_refine(struct zone_layout *l, const struct zones_params *p, double bytes_per_s);
/* How much a sample should read when the rate is about this. Lead-in included; a multiple of the block, at most a
 * window. */
uint64_t zone_sample_bytes(const struct zone_layout *l, const struct zones_params *p, enum zone_class class,
                           double bytes_per_s);
/*
 * Takes the next window of the position, and about want_bytes of it from a random place in it; the very first sample at
 * the target's start and at its end reach the first and the last byte. false when all were taken.
 */
bool zone_take_window(struct zone_layout *l, size_t position, uint64_t want_bytes, struct rng *rng, uint64_t *ret_first,
                      uint64_t *ret_end);
/* Passes of the curve at least, samples at a place of class per pass. */
uint32_t zone_passes(const struct zones_params *p);
uint32_t zone_visits(const struct zones_params *p, enum zone_class class);
double zone_guess_rate(const struct device *dev); /* for plans, before anything was measured */

/* ---- sample.c ---- */

enum sample_kind {
	SAMPLE_CURVE,
	SAMPLE_AGAIN, /* of the curve as well: more precision, or a second look */
	SAMPLE_EDGE,  /* narrows down where something begins or ends; not at a position */
	SAMPLE_CHECK, /* the bytes of a slow sample once more, in other requests; not at a position */
	SAMPLE_PROBE, /* the first of all: spins up, shows about how fast it is; not used */
};

#define ZONE_PARTS 4 /* that a sample is cut into, to see whether it is as slow throughout */

struct zone_span { /* bytes that passed in a time */
	double bytes, ns;
};

struct zone_lost { /* waits of a revolution or more inside a sample, and the revolutions lost in them */
	uint32_t waits, revs;
};

struct zone_written {
	struct zone_span cached; /* what a cache took in before the pace became the media's */
	double flush_ns;         /* the flush after it; NaN: none */
};

struct zone_sample {
	size_t position; /* ZONE_NONE: none */
	enum sample_kind kind;
	uint32_t pass;
	uint64_t first_bytes, end_bytes; /* what was read, lead-in included */
	uint64_t from_bytes;             /* what was counted: [from, end) */
	double moved_bytes, elapsed_ns;  /* counted */
	double ns_per_byte, se_ratio;
	struct zone_span whole; /* reading: all of it, from first to last, lead-in and waits too; 0: not known */
	double part_ns_per_byte[ZONE_PARTS]; /* of its quarters, from end to end; NaN: not known */
	double at_s;                         /* middle of the sample, since the start of the run */
	struct zone_written written;
	uint32_t request_bytes; /* of each; 0: not known */
	uint64_t first_request; /* --keep-requests: its first row of that table, from 1 on; 0: none */
	struct zone_lost lost;
	bool is_good; /* there is an estimate: no fault, enough completions */
	bool has_fault;
	bool is_disturbed; /* others used the disk, or the hypervisor the processor: slow does not show anything of the
	                      disk */
	size_t check_of;   /* SAMPLE_CHECK: the sample that is read again */
	/* of the analysis, in its own copy (struct zone_levels) */
	bool is_burst;   /* before the storage changed its regime */
	bool is_outlier; /* differs from the others of its position by far more than the noise */
	double y;        /* log(ns_per_byte) without drift, with what is lost at its position; NaN: not used */
	double clean_y;  /* the same with what is usually lost instead: of the media alone */
};

#define ZONE_IN_PART                                                                                                  \
	0.75 /* of samples: where that many are fast in part only, as slow in another as what is beside them, none is \
	        a fast place (a choice) */

/* A time per byte that a rate in a document gives back to the last bit: once there and back. */
static inline double zone_as_kept(double ns_per_byte)
{
	return 1e9 / (1e9 / ns_per_byte);
}

/* Time per byte of its slowest quarter; 0: not known. */
static inline double zone_slowest_part(const struct zone_sample *s)
{
	double most = 0.0;

	for (size_t i = 0; i < ZONE_PARTS; i++)
		most = fmax(most, s->part_ns_per_byte[i]); /* NaN is left out */
	return most;
}

struct zone_samples {
	struct zone_sample *v;
	size_t n, room;
};
