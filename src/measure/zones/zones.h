/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of `platter zones` share. zones.c: options and the run; probe.c: the first sample; plan.c: where to read and how much;
 * sample.c: one sample; fine.c: the size of its requests; estimate.c: completions to a rate; losses.c: what lost revolutions cost; level.c: samples to the levels of the positions; order.c: samples by place; bands.c:
 * recording zones; mean.c: the mean of the surface; count.c: how many; heads.c: surfaces that differ, their cycle; spread.c: windows over it; slow.c: slow regions; path.c: those that the way to the host makes; bound.c: the least time by physics; arms.c: several arms at once; visit.c: one sample of a place; looks.c: second looks; report.c: tables and figures; kept.c: samples in the document;
 * again.c: their analysis anew. The estimators are pure
 * functions, tested against disks whose truth is known.
 *
 * Words: a *position* is a place of the curve; it has a *cell* of `slots` windows; each *sample* reads one window (or a part of it)
 * that was not read before. Offsets count from the start of the target.
 */
#ifndef PLATTER_MEASURE_ZONES_H
#define PLATTER_MEASURE_ZONES_H

#include <math.h>

#include "base/rng.h"
#include "session/session.h"

struct zones_params {
	uint64_t positions, passes, depth, block_bytes, sample_bytes;
	const char *places, *range, *journal;
	double rpm, skew_ratio;
	bool quick, full, write, rewrite, include_edges, allow_zoned, recover;
};

/* ---- plan.c ---- */

enum zone_class {
	ZONE_SHORT,
	ZONE_LONG, /* the places of the figures: start, middle, end */
	ZONE_CLASSES,
};

#define ZONE_NONE   SIZE_MAX /* no position */
#define ZONE_BESIDE 8 /* places, from which on one tells what to expect at the next: of fewer each lies zones apart */
#define ZONE_REV_NS 8.4e6 /* of a revolution, where it is not known */
#define ZONE_DENSITY_MAX \
	0.17 /* log; surfaces of one disk differ by less (physics of heads; published drives up to 0.15) */
#define ZONE_LOSES \
	0.01 /* waits per revolution, of a way to the host that loses some; a healthy place has less than half of that (waits.c) */

/*
 * Parts of the rate from the drive's buffer, from which on the interface may be the limit. That rate is free of what each request costs (interface.c), a
 * stream's is not (a bridge that takes one request at a time gave 0.85 of it in requests of 64 KiB: trial), so none is 1. They differ by what is at stake:
 */
#define INTERFACE_REACHED \
	0.80 /* a front was never stored: requests of any size; the step down behind it is the stronger sign */
#define INTERFACE_NEAR \
	0.85 /* requests stay large: judged by one window only, and small ones would make it slower still */
#define INTERFACE_HIDES \
	0.90 /* sectors per track are not told: a band's mean is exact, and its requests are large by then */

struct zone_position {
	uint64_t cell_bytes; /* where the cell begins */
	enum zone_class class;
	bool is_extra; /* the middle, when no position of the curve lies there */
	bool is_high; /* in the upper half: windows are taken from the cell's end, so that the last sample ends where the cell ends */
	bool is_centred;  /* the middle: windows are taken from the cell's centre outwards */
	uint32_t used;    /* windows taken */
	uint32_t turn;    /* by so many the order of the first windows, those of the passes, is turned */
	uint32_t step[2]; /* --zones: from one window to the next, of the passes' and of the others; 0: not drawn yet */
	uint64_t cycle_first_bytes,
		cycle_bytes;   /* where surfaces differ: one cycle over them, which windows are spread over; 0: none */
	double cycle_turn;     /* of a window's distance, that the first of them lies behind its begin */
	uint32_t cycle_rounds; /* of windows that were read */
	double bytes_per_s;    /* of its last sample; 0: none yet */
	char label[24];        /* --zones: what the user called it; else "" */
};

struct zone_layout {
	uint64_t first_bytes, end_bytes; /* what is measured of the target */
	uint32_t align_bytes, block_bytes, depth;
	uint32_t lead_in;       /* requests that a sample begins with and that do not count */
	uint32_t request_bytes; /* of one request: a block, or a part of it (zone_layout_refine) */
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
	size_t wanted_positions;      /* more than npositions: the target is too small for so many */
};

/* Of the rotation; what is usual where it is not known, 0 of what does not rotate. */
static inline double zone_rev_ns(const struct zone_layout *l)
{
	return l->rev_ns >= 0.0 ? l->rev_ns : ZONE_REV_NS;
}

/*
 * The host cuts requests to pieces, and the device takes one piece at a time (USB storage): between small requests it waits for the host, and loses a
 * revolution here and there; pieces of a large one follow each other at once.
 */
static inline bool zone_is_cut(const struct zone_layout *l)
{
	return l->is_one_at_a_time && l->piece_bytes && l->piece_bytes < l->coarse_bytes;
}

/* 0, or -EINVAL and a sentence. zone_layout_done() afterwards. */
int zone_layout_init(struct zone_layout *l, const struct device *dev, const struct zones_params *p, struct err *err);
void zone_layout_done(struct zone_layout *l);
/*
 * Halves the request until it takes no longer than half a revolution at this rate, so that a revolution lost shows between two completions; or than four
 * where it is cut.
 */
void zone_layout_refine(struct zone_layout *l, const struct zones_params *p, double bytes_per_s);
/* How much a sample should read when the rate is about this. Lead-in included; a multiple of the block, at most a window. */
uint64_t zone_sample_bytes(const struct zone_layout *l, const struct zones_params *p, enum zone_class class,
                           double bytes_per_s);
/*
 * Takes the next window of the position, and about want_bytes of it from a random place in it; the very first sample at the target's start and at
 * its end reach the first and the last byte. false when all were taken.
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
	SAMPLE_AGAIN,  /* of the curve as well: more precision, or a second look */
	SAMPLE_EDGE,   /* narrows down where something begins or ends; not at a position */
	SAMPLE_CHECK,  /* the bytes of a slow sample once more, in other requests; not at a position */
	SAMPLE_PROBE,  /* the first of all: spins up, tells about how fast it is; not used */
	SAMPLE_LOOK,   /* a window of a grid that shows the surfaces' cycle */
	SAMPLE_SPREAD, /* a window of those that are spread over one cycle of a place */
};

#define ZONE_PARTS 4 /* that a sample is cut into, to see whether it is as slow throughout */

struct zone_sample {
	size_t position; /* ZONE_NONE: none */
	enum sample_kind kind;
	uint32_t pass;
	uint64_t first_bytes, end_bytes; /* what was read, lead-in included */
	uint64_t from_bytes;             /* what was counted: [from, end) */
	double moved_bytes, elapsed_ns;  /* counted */
	double ns_per_byte, se_ratio;
	double whole_bytes, whole_ns; /* reading: all of it, from first to last, lead-in and waits too; 0: not known */
	double part_ns_per_byte[ZONE_PARTS]; /* of its quarters, from end to end; NaN: not known */
	double at_s;                         /* middle of the sample, since the start of the run */
	double flush_ns;                     /* writing: the flush after it; NaN: none */
	double cached_bytes, cached_ns;      /* writing: what a cache took in before the pace became the media's */
	uint32_t late;                       /* completions that were seen late */
	uint32_t request_bytes;              /* of each; 0: not known */
	uint32_t waits, wait_revs;           /* of a revolution or more inside the sample; revolutions lost in them */
	bool is_good;                        /* there is an estimate: no fault, enough completions */
	bool has_fault;
	bool is_disturbed; /* the hypervisor took processor time meanwhile: slow is no word about the disk */
	size_t check_of;   /* SAMPLE_CHECK: the sample that is read again */
	/* said by the analysis */
	bool is_burst;   /* before the storage changed its regime */
	bool is_outlier; /* differs from the others of its position by far more than the noise */
	double y;        /* log(ns_per_byte) without drift, with what is lost at its position; NaN: not used */
	double clean_y;  /* the same with what is usually lost instead: of the media alone */
};

#define ZONE_IN_PART \
	0.75 /* of samples: where so many are fast in part only, as slow in another as what is beside them, none is a fast place (a choice) */

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

#define ZONE_SPREAD_MOST 48 /* windows over a cycle of a place */

/* Surfaces that come by turns: what windows on a grid show of it (heads.c). */
struct zone_cycle {
	double lag, spacing; /* windows in a cycle, bytes from one to the next */
	double cycle_ns;     /* how long all of it takes */
	double sigma;        /* of a window, relative: noise */
	double steps;        /* sum of the squares of the steps in a cycle, relative */
	double changes;      /* so many steps there are in it */
	double missed_var[ZONE_SPREAD_MOST +
	                  1]; /* by the number of windows over a cycle: variance of their mean, relative */
};

struct zone_analysis;

struct zone_target {
	size_t index; /* in the session */
	const struct device *dev;
	struct zone_layout layout;
	struct zone_samples samples;
	struct zone_samples spread; /* SAMPLE_LOOK and SAMPLE_SPREAD */
	bool is_taken_back;         /* samples in small requests were, as those are slower, or lose more */
	bool has_cycle;             /* surfaces differ, and this is their cycle at two places: */
	struct zone_cycle cycle[2];
	double cycle_at[2];
	struct zone_unreadable { /* narrowed down to the smallest pieces that fail */
		uint64_t first_bytes, end_bytes;
		int error; /* negative errno; 0: a short transfer */
		bool is_located;
	} * unreadable;
	size_t nunreadable;
	double bytes_per_s;      /* about; of the last sample */
	double byte_ns;          /* of what the buffer holds, each byte of a request; NaN: not known */
	double request_ns;       /* the same, each request beside its bytes */
	double read_bytes_per_s; /* writing: of the same bytes, by reading; NaN: not known */
	/* writing (outlast.c) */
	uint64_t lead_bytes;             /* what each sample writes before it counts */
	bool is_outlasted;               /* samples are in one piece, and of the media alone */
	struct rewrite_journal *journal; /* --rewrite */
	struct zone_analysis *analysis;  /* of the samples so far; NULL: none yet */
	struct rng rng;
	uint64_t start_ns, limit_ns; /* when its turn began, and how long it may take */
	bool is_out_of_time;
};

struct zones_run {
	struct session *ses; /* NULL: computed again from a document */
	struct result *res;
	const struct zones_params *p;
	struct engine *eng;
	struct zone_done *done; /* completions of the sample that is being taken */
	size_t ndone, done_room;
	uint8_t *chunk; /* --rewrite: what was read and will be put back; ends after the engine */
	size_t chunk_bytes;
	struct zone_target *targets;
	size_t ntargets;
};

/*
 * Takes one sample over [first, end) as the mode says (read, write, rewrite) and appends it to t->samples. *ret (may be NULL) points to it until the next
 * one. 0 also when the disk answered badly or the run is over: the sample says it.
 */
int zone_sample_take(struct zones_run *run, struct zone_target *t, const struct zone_sample *how,
                     const struct zone_sample **ret, struct err *err);

/* Reads [first, end) for t->read_bytes_per_s; not one of the samples. 0, also when nothing could be found out. */
int zone_sample_read(struct zones_run *run, struct zone_target *t, uint64_t first_bytes, uint64_t end_bytes,
                     struct err *err);

/* ---- outlast.c ---- */

/*
 * Finds out at at_bytes how much must be written until the pace is the media's, and fills lead_bytes and is_outlasted of t. Writes
 * there, or puts back, as the run does. 0, also when nothing outlasts the cache; negative errno.
 */
int zone_outlast(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, struct err *err);

/* ---- probe.c ---- */

/* The first sample of all, and what follows from it: the size of requests, what a write cache takes. 0, also when nothing could be found out; negative errno. */
int zone_probe(struct zones_run *run, struct zone_target *t, struct err *err);

/* ---- interface.c ---- */

/*
 * Reads the same bytes at `at` again and again, large and a part of that at a time, and fills byte_ns and request_ns of t; NaN where nothing could be found out.
 * 0; negative errno.
 */
int zone_interface_reread(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, uint32_t large,
                          struct err *err);
/* The same in the largest requests that usual buffers hold, and fills t->layout.interface_bytes_per_s as well. */
int zone_interface_measure(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, struct err *err);

/* ---- fine.c ---- */

/* After the probe, which was at at_bytes: may smaller requests do? 0; negative errno. */
int zone_fine_find(struct zones_run *run, struct zone_target *t, uint64_t at_bytes, struct err *err);
/* In the first pass, before a sample: its requests. */
void zone_fine_begin(struct zone_target *t, size_t position);
/* After a pass, which has been analysed: the requests of the next. Were samples taken back, so that the analysis is to be done anew? */
bool zone_fine_choose(const struct zones_run *run, struct zone_target *t, uint32_t pass);

/* ---- plan.c, again ---- */

/* One more place, which is none of the curve; those behind it are numbered anew. 0 or -ENOMEM. The analysis is to be done anew. */
int zone_layout_insert(struct zone_target *t, uint64_t at_bytes, size_t *ret);

/* ---- heads.c ---- */

#define ZONE_SPREAD_MIN 6  /* windows of a cycle that speak for it */
#define ZONE_LOOK_CHUNK 16 /* windows of a grid, between two looks at what they show */

struct zone_levels;

/*
 * By the first passes: do samples of one place differ by more than they say of their own errors, and by so much that windows over a cycle reach the precision
 * asked for sooner than samples?
 */
bool zone_heads_may_differ(const struct zone_target *t, double precision);
/*
 * How far places lie apart: usual deviation, by each place's difference from the middle of its neighbours (3/2 of the variance of one).
 */
double zone_places_apart(const struct zone_levels *lv);
/*
 * Of windows on a grid: the part of neighbours that are unlike (von Neumann's ratio, by the variance of all, or of places that lie `apart`); NaN: not
 * known.
 */
double zone_look_change(const double *z, size_t n, double apart);
/* Noise of one window, by all grids until the last of this position: the least, for where the grid is coarse neighbours lie on unlike surfaces. */
double zone_look_sigma(const struct zone_target *t, size_t position);
/* Do many windows lose revolutions? What is lost then is another at each place, and windows see too little of it. */
bool zone_looks_lose(const struct zone_target *t);
/* How many steps there are in them, by the noise of neighbours, or sigma where that is less. */
size_t zone_look_steps(const double *z, size_t n, double sigma);
/* z: log(ns per byte) of windows on a grid, NaN: none. Fills *ret but for its bytes and times, when a cycle is found. sigma: noise that is known, infinity: none; expected: lag of
 * that of another place, which less needs to be seen of; 0: none. */
bool zone_cycle_find(const double *z, size_t n, double sigma, double expected, struct zone_cycle *ret);
/* The same of the last look at a position. */
bool zone_heads_look(const struct zone_target *t, size_t position, double expected, struct zone_cycle *ret);
/* The levels of places whose windows are spread over a cycle. 0 or -ENOMEM. */
int zone_heads_levels(struct zone_target *t, struct zone_levels *lv);

/* ---- spread.c ---- */

/* After two passes or more: is it worth to look for a cycle? Once only. */
bool zone_spread_may(const struct zones_run *run, const struct zone_target *t);
/* Looks for the cycle: t->has_cycle. 0; negative errno. */
int zone_spread_find(struct zones_run *run, struct zone_target *t, struct err *err);
/* The first place from `at` on, that many bytes behind all that was read: the drive's buffer may hold that, and some more. */
uint64_t zone_unread(const struct zone_target *t, uint64_t at, uint64_t bytes);
/* Instead of the passes that are left: windows over a cycle of each place, once more where that does not suffice. 0; negative errno. */
int zone_spread_run(struct zones_run *run, struct zone_target *t, struct err *err);
/* One more place in the middle between two zones, in the time that there is. 0; negative errno. */
int zone_spread_narrow(struct zones_run *run, struct zone_target *t, struct err *err);
/* Notices of zones and surfaces. */
void zone_bands_say(const struct zones_run *run, const struct zone_target *t);

/* ---- estimate.c ---- */

struct zone_done { /* a completion: when, and how many bytes had completed by then, itself included */
	double t_ns, bytes;
};

struct zone_estimate {
	double ns_per_byte;
	double se_ratio;                     /* relative standard error as seen from inside the sample */
	double part_ns_per_byte[ZONE_PARTS]; /* of its quarters, from end to end */
	size_t first;                        /* the lead-in ends with this completion */
	double moved_bytes, elapsed_ns;      /* counted: after the lead-in */
	size_t late;                         /* completions that were seen too late, and were put right */
};

#define ZONE_LEAD_MAX \
	(128ull       \
	 << 20) /* what a sample of writing writes at most before it counts; write caches of 8 to 64 MiB are usual */

#define ZONE_DONE_MIN 6 /* completions that an estimate needs after the lead-in */

/* false when there are too few completions. d is changed (late completions are moved to where they belong). rev_ns: 0 where tracks do not show. */
bool zone_estimate(struct zone_done *d, size_t n, uint32_t depth, double rev_ns, struct zone_estimate *ret);
/*
 * Completions of writing that begin faster than they end: what a cache took in before it was full, and in what time. The knee is
 * where they are furthest from the straight line between the first and the last. 0 bytes: there is none.
 */
double zone_cached_bytes(const struct zone_done *d, size_t n, double *ret_ns);
/* Waits of a revolution and more between completions, and the revolutions lost in them, which are taken out of d. */
void zone_estimate_waits(struct zone_done *d, size_t n, double rev_ns, uint32_t *ret_waits, uint32_t *ret_revs);
/* From being asked to the first byte that passes the head; the rest of a sample is at its rate. Of one whose whole time is known. */
double zone_wait_ns(const struct zone_sample *s);
/* Did it begin after a seek and a turn? Or at once, and no media took part in it, for all that its begin tells? Both false: not known. */
bool zone_comes_late(const struct zone_sample *s, const struct zone_layout *l);
bool zone_comes_at_once(const struct zone_sample *s, const struct zone_layout *l);

/* ---- losses.c ---- */

struct zone_levels;

/* Level of a sample, log(ns per byte), without the revolutions lost in it. */
double zone_clean_y(const struct zone_layout *l, const struct zone_sample *s);
/* Fills the losses of lv and of its positions; spread: windows over cycles, NULL: none. 0 or -ENOMEM. */
int zone_losses_find(const struct zone_samples *samples, const struct zone_samples *spread, const struct zone_layout *l,
                     struct zone_levels *lv);

/* ---- level.c ---- */

/* A level is y = log(ns per byte), so that noise and drift are relative. Its rate, bytes per second, and the interval of that: */
static inline double zone_rate(double y)
{
	return 1e9 * exp(-y);
}

static inline struct interval zone_rate_ci(double y, double half)
{
	return (struct interval){ 1e9 * exp(-y - half), 1e9 * exp(-y + half) };
}

/* The level of a position. */
struct zone_level {
	size_t n;                        /* samples that it rests on; 0: none */
	uint64_t first_bytes, end_bytes; /* the bytes it speaks of: from the first counted one to the last */
	double y, half;                  /* 95 %: y - half .. y + half; NaN: not known */
	double noise_half;               /* the same by the samples that stand: what more of them would make smaller */
	size_t unchecked;                /* outliers at a place of the figures whose bytes were not read again */
	double sigma, df;                /* of one sample there */
	double loss,
		loss_var;  /* time lost by revolutions lost, as part of the rest; and the variance of log(1 + loss) */
	bool loses_itself; /* far more than other places do: each sample there keeps what it lost */
	double moved_bytes, elapsed_ns;
	size_t outliers; /* samples set aside */
	bool is_mixed;   /* its samples lie on both sides of an edge between zones */
	bool is_uneven;  /* they differ by more than the noise of the other places, and by a pattern in space */
	bool wants_more; /* two samples that disagree: a third has to decide */
	bool is_cycle;   /* of windows over one cycle of the surfaces */
};

struct zone_levels {
	struct zone_level *v; /* one per position */
	size_t n;
	double sigma[ZONE_CLASSES], df[ZONE_CLASSES]; /* of one sample, relative; from the scatter within positions */
	double drift_per_s; /* relative change of the time per byte, as taken out of the levels; 0: none beyond doubt */
	double drift_fit_per_s; /* the same as it was fitted */
	struct interval drift_ci;
	double mid_s;          /* the time that the levels are for */
	double lost_ratio;     /* time lost in the samples set aside, as part of all */
	double loss, loss_var; /* time lost by revolutions lost, usually, as part of the rest; and its variance */
	double excess,
		excess_var; /* what is expected to be lost everywhere, and its variance: lost revolutions and stalls cost time, too */
	size_t samples, outliers;
	bool has_cycles;    /* places are of whole cycles over the surfaces */
	double cycle_bytes; /* one of them, where it was looked at first */
	double spread;      /* relative difference of two samples of one position: the median */
	double rob_sigma;   /* robust deviation of one short sample */
	struct zone_regime {
		bool is_found;
		double at_s, step; /* log of the time per byte: after less before */
		double before_bytes_per_s, after_bytes_per_s;
		double before_bytes; /* moved until then */
		struct interval before_ci, after_ci;
		size_t before_n, after_n;
	} regime;
};

/* One that levels are fitted to: good, at a position, not from before a regime's step. */
static inline bool zone_is_usable(const struct zone_sample *s)
{
	return s->is_good && !s->is_burst && s->position != ZONE_NONE &&
	       (s->kind == SAMPLE_CURVE || s->kind == SAMPLE_AGAIN);
}

/* In which stretch of the time from first_s to last_s it lies: of noise that lasts for a while what is of one stretch hangs together. */
#define ZONE_TIME_BLOCKS 12 /* (a choice) */
static inline size_t zone_time_block(double at_s, double first_s, double last_s)
{
	return (size_t)fmin((at_s - first_s) / (last_s - first_s) * ZONE_TIME_BLOCKS, ZONE_TIME_BLOCKS - 1);
}

/* Marks samples (is_burst, is_outlier, y) and fills *ret; 0 or -ENOMEM. zone_levels_done() afterwards. */
int zone_levels_fit(struct zone_samples *samples, const struct zone_layout *l, struct zone_levels *ret);
void zone_levels_done(struct zone_levels *lv);
/* 97.5 % point times standard error of a mean of n samples of the class. */
double zone_half(const struct zone_levels *lv, enum zone_class class, double n);

/* ---- regime.c ---- */

/* The one step in time at all places alike, if there is one; marks the samples before it (is_burst) and fills *ret (zeroed before). */
void zone_regime_find(struct zone_samples *samples, const struct zone_layout *l, struct zone_regime *ret);

/* ---- order.c ---- */

struct zone_slows;
struct zone_stretches;

struct zone_at { /* a sample in order of place */
	double from, end, mid, y, sigma;
	double at_s;
	double slowest_y; /* of its quarters */
	double later_y,
		later_uneven; /* of all but the first of them: the middle one, and by how much they differ; NaN: not known */
	double said;          /* relative error that it says of itself */
	double uneven;   /* deviation of its completions from a straight line, up to a factor that all have in common */
	size_t position; /* ZONE_NONE: none, or on an edge */
};

#define ZONE_FALL_LEAST \
	0.07 /* log, from the first quarter to the last: rates of zoned disks fall by a quarter and more from start to end */

/* What says nothing of recording zones; both NULL: all count. */
struct zone_left_out {
	const struct zone_slows *slows;
	const struct zone_stretches *stretches;
};

bool zone_is_left_out(const struct zone_left_out *out, const struct zone_sample *s);
/* Samples that count, by place; free it. */
struct zone_at *zone_in_order(const struct zone_samples *samples, const struct zone_layout *l,
                              const struct zone_levels *lv, const struct zone_left_out *out, size_t *ret_n);
/* Mean level of v[first, end). */
double zone_mean_y(const struct zone_at *v, size_t first, size_t end);

/* ---- bands.c ---- */

struct zone_band { /* a recording zone as far as the samples tell */
	uint64_t first_bytes, end_bytes;
	uint64_t edge_half_bytes; /* the band's begin is known to +- this */
	double y, half;
	size_t samples;
};

struct zone_bands {
	struct zone_band *v;
	size_t n;
	double least_step;    /* relative: a larger change of the rate between two places is always seen */
	double spacing_bytes; /* from place to place; 0: not known */
	bool has_sawtooth; /* rates go up and down: surfaces of different density; a band may be of a zone or of surfaces */
	bool lacks_step; /* one that was seen may be between surfaces, or between zones */
	bool lacks_end;  /* what was seen of one place, at an end, may be a zone of its own or none */
};

/* Recording zones by change points; slow regions and what is not of the media are left out. 0 or -ENOMEM. free(ret->v). */
int zone_bands_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                    const struct zone_slows *slows, const struct zone_stretches *st, struct zone_bands *ret);

/* Stretches of one rate in the cycles that were looked at, in order of place: of single surfaces, or of neighbours that are alike. Returns how many. */
size_t zone_heads_pieces(const struct zone_target *t, struct zone_band *ret, size_t max);

/* ---- mean.c ---- */

/* Mean time per byte of [first, end) and its 95 % interval, by the curve; slows: NULL: none. false when the samples do not cover it. */
bool zone_mean(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
               bool has_sawtooth, const struct zone_slows *slows, double *ret_ns_per_byte, struct interval *ret_ci);

/* ---- count.c ---- */

/* May there be more zones than bands? Those of surfaces are not counted. */
bool zone_bands_may_hide(const struct zone_bands *b);
/* Is a place at the end of a band not on its level, but nearer to that of the band beside it? */
bool zone_places_hide(const struct zone_bands *b, const struct zone_levels *lv);
struct zone_analysis;
/* Are there as many zones as bands at least, and may be more, by either of these? */
bool zone_count_is_least(const struct zone_analysis *a);
/* Is the one band that was found a zone? Its rates do not fall, and the interface is faster. */
bool zone_bands_is_single(const struct zone_bands *b, const struct zone_levels *lv, double interface_bytes_per_s);

/* ---- slow.c ---- */

struct zone_slow {
	uint64_t first_bytes, end_bytes;
	double y, expected_y;                    /* level there, and what the neighbourhood lets expect */
	size_t first, last;                      /* positions; ZONE_NONE: between positions (a single sample) */
	size_t sample;                           /* of a single sample: which */
	size_t readings, again_slow, again_good; /* samples there; of those that were to confirm: slow, not slow */
	bool is_confirmed;
	double chance; /* that it shows because of the times when it was read, and not of the place; 1 at most */
	bool by_waits; /* its samples lose whole revolutions; else by its level alone ... */
	bool wants_again; /* ... and by few, or such as requests may make: the bytes of its samples have to be read again */
	bool is_of_path; /* it loses what is lost elsewhere as well, on the way to the host */
};

struct zone_slows {
	struct zone_slow *v;
	size_t n;
	double threshold;   /* of levels, in the logarithm: what is called slow */
	double least_loss;  /* part of its time that a region of a single sample must lose to be found */
	double quiet_waits; /* per revolution, in a quiet stretch of the disk (waits.c) */
};

/*
 * Looks for slow regions, confirmed or not. What does not rotate has none: its slower and faster stretches have other reasons (stretches.c). 0 or
 * -ENOMEM. free(ret->v). st: places that answer as fast as the interface have neither waits nor a level that others are measured by.
 */
int zone_slows_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                    const struct zone_stretches *st, struct zone_slows *ret);
/* Of each sample: were its bytes read again, and lost nothing then? Then it was its time, or where its requests begin. 0 or -ENOMEM. */
int zone_waits_again(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_stretches *st,
                     bool *ret_is_of_time);
/* Adds the stretches where samples lose revolutions; room for one more per sample. 0 or -ENOMEM. */
int zone_waits_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_stretches *st,
                    const bool *is_of_time, struct zone_slows *slows);
/* Is the place in a slow region? Of those that are more than a single sample (the level of the place is theirs), that are confirmed, or both. */
enum zone_slow_which { ZONE_SLOW_REGION = 1, ZONE_SLOW_CONFIRMED = 2 };
bool zone_is_in_slow(const struct zone_slows *slows, size_t position, unsigned which);
/* Are bytes of the sample in it? */
static inline bool zone_slow_has(const struct zone_slow *slow, const struct zone_sample *s)
{
	return s->from_bytes < slow->end_bytes && s->end_bytes > slow->first_bytes;
}

/* In a confirmed one? */
bool zone_touches_slow(const struct zone_slows *slows, const struct zone_sample *s);
/* Is a sample slower than y by more than the tolerance, and mostly for what lies there, or for what happened then? The bytes read again tell. */
enum zone_recheck { RECHECK_NONE, RECHECK_OF_PLACE, RECHECK_OF_TIME };
enum zone_recheck zone_recheck(const struct zone_samples *samples, size_t i, double y, double tolerance);
/* As it is told: without what is good at the ends of its first and last sample, which lie partly beside it. */
struct zone_slow zone_slow_inside(const struct zone_samples *samples, const struct zone_slow *slow);
/* Is the sample slow, measured by the region's expectation? */
bool zone_is_slow(const struct zone_slows *slows, const struct zone_slow *slow, const struct zone_sample *s);

/* ---- path.c ---- */

/*
 * Of a device that has one request at a time: what may be lost on the way to the host is no slow place. Nor are waits that cost nothing: where several arms give by turns what
 * they read ahead one completion waits for another, and the next come at once, so that samples with many take no longer than those with few.
 */
void zone_slows_leave_to_path(const struct zone_samples *samples, const struct zone_layout *l,
                              struct zone_slows *slows);

/* ---- chance.c ---- */

#define ZONE_CHANCE_MAX \
	0.05 /* that spells of time look like it, anywhere on the device: what is likelier is not told */

/* Probability that somewhere a region like this shows by chance, if what is slow was slow for a while and not for its place; 1 at most. */
double zone_chance_of_time(const struct zone_samples *samples, size_t npositions, const struct zone_slow *slow);
/*
 * By how much waits scatter more in time than Poisson's law lets expect, at all places but those of [first, last], each against the others of its place; 1 at
 * least. Near by, if it is more there: how often the next request comes too late is of the zone. s: n samples in order of place.
 */
double zone_chance_dispersion(const struct zone_sample *const *s, size_t n, size_t first, size_t last);
/* Probability that somewhere so many waits lie so close together, where few make a region: by what all other places have. 0 where they are many, or not what makes it slow. */
double zone_chance_of_few(const struct zone_samples *samples, const struct zone_layout *l,
                          const struct zone_slows *slows, const struct zone_slow *slow);
/* Probability as above of a single slow sample, by how often its bytes were slow again; suspects: so many of them there are. */
double zone_chance_of_single(const struct zone_samples *samples, size_t npositions, const struct zone_slow *slow,
                             size_t suspects);

/* ---- stretches.c ---- */

enum zone_stretch_kind {
	STRETCH_FAST, /* faster than the media beside it: not stored (never written, trimmed), or cached */
	STRETCH_DEVICE, /* from here on to the end everything is faster, and falls again: another device, or another arm */
	STRETCH_UNEVEN, /* of what does not rotate: it differs from what lies beside it */
};

struct zone_stretch {       /* of places at one level that the media of one healthy disk do not explain */
	size_t first, last; /* positions */
	uint64_t first_bytes, end_bytes;
	enum zone_stretch_kind kind;
	double y, beside_y;   /* mean level there, and of what lies beside it */
	bool is_at_interface; /* as fast as what the drive holds in its buffer: no media */
	size_t samples;
};

struct zone_stretches {
	struct zone_stretch *v;
	size_t n;
	double interface_bytes_per_s; /* NaN: not known */
	uint64_t
		relief_bytes; /* from here on the way to the host loses no revolutions any more, and rates begin anew; 0: nowhere */
};

/* slows: empty, where they are not known yet. 0 or -ENOMEM. free(ret->v). */
int zone_stretches_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                        const struct zone_slows *slows, struct zone_stretches *ret);
/* Is the place one that says nothing of the media (or, of what does not rotate, differs from the rest)? */
bool zone_is_in_stretch(const struct zone_stretches *st, size_t position);
/* Where rates begin anew, as of another device, or behind a way to the host that loses no revolutions any more; INFINITY: nowhere. */
double zone_begins_anew(const struct zone_stretches *st);
/* Is it in one that no media take part in? */
static inline bool zone_is_at_interface(const struct zone_stretches *st, size_t position)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->v[i].is_at_interface && position >= st->v[i].first && position <= st->v[i].last)
			return true;
	return false;
}

/*
 * Are the long samples of start, middle and end far faster than the short ones beside, in part? Then others are read ahead meanwhile (arms or disks in stripes), and
 * how fast it is hangs on how much is read: short samples say nothing of the whole.
 */
bool zone_is_by_length(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv);

/* ---- arms.c ---- */

struct zone_arm_row {
	uint64_t arm, first_byte, last_byte;
	double alone_bytes_per_s, alone_low_bytes_per_s, alone_high_bytes_per_s, together_bytes_per_s,
		together_low_bytes_per_s, together_high_bytes_per_s;
	uint64_t samples;
	const char *target;
};

extern const struct field zone_arm_fields[];
/* Where there are several arms, or disks in a row: reads each of their ranges alone and all at once, and tells it. 0; negative errno. */
int zone_arms_measure(struct zones_run *run, struct zone_target *t, struct err *err);

/* ---- bound.c ---- */

/* The least time that intervals as wide as those of the levels take by physics, and the time from the first sample to the end of the last; NaN: not known. */
double zone_least_ns(const struct zone_target *t);
double zone_used_ns(const struct zone_target *t);

/* ---- analyse.c ---- */

/* What the samples of one target say, all of it. */
struct zone_analysis {
	struct zone_levels levels;
	struct zone_slows slows;
	struct zone_stretches stretches;
	struct zone_bands bands;
	bool has_mean, has_density;
	bool is_by_length; /* the longer it is read the faster it is: no mean */
	bool hides_zones;  /* no step was seen, but there may be some */
	bool has_no_zones; /* it does not rotate, or its rates do not fall as those of a zoned disk do */
	double mean_ns_per_byte;
	struct interval mean_ci; /* ns per byte */
	struct density_fit density;
	size_t lowest; /* position of the lowest rate; ZONE_NONE */
};

/* Analyses what there is, anew; 0 or -ENOMEM. */
int zone_analyse(struct zone_target *t);
void zone_analysis_free(struct zone_analysis *a);
void zone_targets_done(struct zones_run *run);
/* Where byte x of the target lies on the whole disk, 0 .. 1. */
double zone_place(const struct zone_target *t, double x_bytes);

/* ---- kept.c: layout and samples as they are in the document; all that the analysis needs of them ---- */

extern const struct field zone_layout_fields[], zone_cell_fields[], zone_sample_fields[];
/* NULL where there is one target only, so that the text stays narrow. */
const char *zone_target_name(const struct zones_run *run, const struct zone_target *t);
void zone_keep(const struct zones_run *run, const struct zone_target *t, struct table *layouts, struct table *cells,
               struct table *samples);
extern const struct field zone_surface_fields[];
/* The surfaces one by one, where they were looked at. */
void zone_surfaces_tell(const struct zones_run *run, const struct zone_target *t, struct table *table);
/* The target of row i of layouts, and its device as far as the analysis asks; 0, -ENOMEM, or -ENODATA: they are not whole. zone_targets_done(). */
int zone_load(const struct result *saved, size_t i, struct zone_target *t, struct device *dev);
/* A time per byte that a rate in a document gives back to the last bit: once there and back. */
static inline double zone_as_kept(double ns_per_byte)
{
	return 1e9 / (1e9 / ns_per_byte);
}

/* ---- report.c ---- */

extern const struct measure_table zones_tables[];
/* Fills tables, figures and plots anew from the analyses of all targets. */
void zones_report(struct zones_run *run, bool is_final);

/* ---- turn.c ---- */

/* Is there time left for this target: of the budget that was given, its share; else of its own, for more than the passes (is_extra)? */
bool zones_has_time(const struct zones_run *run, struct zone_target *t, bool is_extra);
void zones_show(struct zones_run *run, const struct zone_target *t, const char *phase, double part);
/* Analyses and tells anew. 0; negative errno. */
int zones_renew(struct zones_run *run, struct zone_target *t, struct err *err);

#define ZONE_PASS_PART 0.85 /* of the progress; the rest is second looks */

/* ---- visit.c ---- */

/* One sample at a position; after a fault, beside it. */
int zone_visit(struct zones_run *run, struct zone_target *t, size_t position, enum sample_kind kind, uint32_t pass,
               struct err *err);
/* Positions in the order of a pass; room for two of each. Returns how many. */
size_t zone_order_pass(const struct zones_run *run, struct zone_target *t, uint32_t pass, size_t *order);

/* ---- looks.c ---- */

/* Behind the passes: until each place is known as well as it should be, and what looks slow was read again. 0; negative errno. */
int zone_look_again(struct zones_run *run, struct zone_target *t, struct err *err);
/* Before windows over a cycle: where two passes do not agree, or say that a place is no usual one, some more samples. 0; negative errno. */
int zone_look_at_odd(struct zones_run *run, struct zone_target *t, struct err *err);

/* ---- again.c ---- */

/* platter report --again: struct measure.again */
int zones_again(const struct result *saved, struct result *ret, struct err *err);

/* ---- journal.c ---- */

/* Opens the journals of all targets and finishes what an earlier run left; makes the chunk. 0 or negative errno and a sentence. */
int zones_journal_open(struct zones_run *run, struct err *err);
void zones_journal_close(struct zones_run *run); /* after the engine */

/* ---- faults.c ---- */

/* Notes a request that failed while a sample was taken. */
int zone_fault_note(struct zone_target *t, uint64_t first_bytes, uint64_t len_bytes, int res);
/* Narrows the failed requests down to the sectors that cannot be read, as long as there is time. */
int zones_faults_locate(struct zones_run *run, struct zone_target *t, struct err *err);

/* ---- full.c ---- */

/* --full: one pass over everything. */
int zones_full_run(struct zones_run *run, struct zone_target *t, struct err *err);

#endif
