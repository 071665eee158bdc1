/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From samples to what they say: pure functions of samples, layout and what was found before, tested against disks
 * whose truth is known. estimate.c: completions to a rate; losses.c: what lost revolutions cost; level.c: samples to
 * the levels of the positions; regime.c: a step in time, bursts; bands.c: samples by place, recording zones, and the
 * mean of the surface; slow.c: slow regions; stretches.c: what is not the media of one disk.
 */
#pragma once

#include "measure/shared/link.h"
#include "measure/zones/samples.h"
#include "stats/stats.h"

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
};

/* false: too few completions. d is changed: late ones are moved. rev_ns: 0 where tracks do not show. */
bool zone_estimate(struct zone_done *d, size_t n, uint32_t depth, double rev_ns, struct zone_estimate *ret);

/* What a sample of writing writes at most before it counts; write caches of 8 to 64 MiB are usual. */
#define ZONE_LEAD_MAX (128ull << 20)

#define ZONE_WAIT_MIN \
	0.9 /* revolutions that are lost in a wait: nearly one, for the pace beside it is known to some tenths */
#define ZONE_SIGMAS \
	6.0 /* deviations, by which nothing is off by chance in a run; tails are heavier than the normal law's */
#define ZONE_LOST_MAX 0.95 /* of a sample's time, that it lost: more cannot be, for some was spent on reading */
#define ZONE_DONE_MIN 6    /* completions that an estimate needs after the lead-in */

/*
 * Completions of writing that begin faster than they end: what a cache took in before it was full, and in what time.
 * The knee is where they are furthest from the straight line between the first and the last. 0 bytes: there is none.
 */
double zone_cached_bytes(const struct zone_done *d, size_t n, double *ret_ns);
/* Rate and waits (has_waits: they show) of a sample and is_good, from its completions, which are changed. */
bool zone_sample_estimate(struct zone_sample *z, struct zone_done *done, size_t n, const struct zone_layout *l,
                          bool has_waits);
/* Waits of a revolution and more between completions, and the revolutions lost in them, which are taken out of d. */
void zone_estimate_waits(struct zone_done *d, size_t n, double rev_ns, uint32_t *ret_waits, uint32_t *ret_revs);
/* From being asked to the first byte that passes the head. Of one whose whole time is known. */
double zone_wait_ns(const struct zone_sample *s);
/* Did it begin at once, and no media took part in it, for all that its begin shows? */
bool zone_comes_at_once(const struct zone_sample *s, const struct zone_layout *l);

/* ---- losses.c ---- */

struct zone_levels;

/* Level of a sample, log(ns per byte), without the revolutions lost in it. */
double zone_clean_y(const struct zone_layout *l, const struct zone_sample *s);
/* Fills the losses of lv and of its positions. */
void zone_losses_find(const struct zone_layout *l, struct zone_levels *lv);

/* ---- level.c ---- */

/* A level is y = log(ns per byte), so that noise and drift are relative. Its rate, bytes per second, and the interval
 * of that: */
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
	double sigma, df;                /* of one sample there */
	double loss,
		loss_var;  /* time lost by revolutions lost, as part of the rest; and the variance of log(1 + loss) */
	bool loses_itself; /* far more than other places do: each sample there keeps what it lost */
	double moved_bytes, elapsed_ns;
	size_t outliers; /* samples set aside */
	bool is_mixed;   /* its samples lie on both sides of an edge between zones */
	bool wants_more; /* two samples that disagree: a third has to decide */
};

struct zone_levels {
	struct zone_samples marked; /* what was measured, and what was found of each sample */
	struct zone_level *v;       /* one per position */
	size_t n;
	double sigma[ZONE_CLASSES], df[ZONE_CLASSES]; /* of one sample, relative; from the scatter within positions */
	double drift_per_s;                           /* relative change of the time per byte */
	bool has_drift;                               /* beyond doubt */
	struct interval drift_ci;
	double lost_ratio, lost_var; /* time lost in the samples set aside, as part of all; the mean may hold it */
	double loss, loss_var;       /* time lost by revolutions lost, usually, as part of the rest; and its variance */
	size_t samples, outliers;
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

/* In which stretch of the time from first_s to last_s it lies: of noise that lasts for a while what is of one stretch
 * hangs together. */
#define ZONE_TIME_BLOCKS 12 /* (a choice) */
static inline size_t zone_time_block(double at_s, double first_s, double last_s)
{
	return (size_t)fmin((at_s - first_s) / (last_s - first_s) * ZONE_TIME_BLOCKS, ZONE_TIME_BLOCKS - 1);
}

/* zone_levels_done() afterwards. */
void zone_levels_fit(const struct zone_samples *measured, const struct zone_layout *l, struct zone_levels *ret);
void zone_levels_done(struct zone_levels *lv);

/* ---- regime.c ---- */

/* The one step in time at all places alike, if there is one; marks the samples before it (is_burst) and fills *ret
 * (zeroed before). */
void zone_regime_find(struct zone_samples *samples, const struct zone_layout *l, struct zone_regime *ret);
/* By a limit: bytes/s within a burst, and all in all, of how many samples. false: none is seen, or all are too few. */
bool zone_is_in_bursts(const struct zone_samples *samples, size_t npositions, double *ret_burst, double *ret_lasting,
                       size_t *ret_n);

/* ---- bands.c ---- */

struct zone_slows;
struct zone_stretches;

struct zone_band { /* a recording zone as far as the samples show */
	uint64_t first_bytes, end_bytes;
	uint64_t edge_half_bytes; /* the band's begin is known to +- this */
	double y, half;
	size_t samples;
};

#define ZONE_FALL_LEAST 0.93 /* from start to end of a disk with zones; published drives: 0.45 to 0.75 */

struct zone_bands {
	struct zone_band *v;
	size_t n;
	double least_step; /* relative: a larger change of the rate between two places is always seen */
	double mean_var;   /* of the mean of all places, by what surfaces differ; relative */
	bool is_least;     /* there may be more */
};

/* Recording zones by change points; slow regions and what is not of the media are left out. free(ret->v).
 */
void zone_bands_find(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_slows *slows,
                     const struct zone_stretches *st, struct zone_bands *ret);

/* Mean time per byte of [first, end) and its 95 % interval, by the curve; slows: NULL: none. false when the samples do
 * not cover it. */
bool zone_mean(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_bands *bands,
               const struct zone_slows *slows, double *ret_ns_per_byte, struct interval *ret_ci);

/* ---- slow.c ---- */

struct zone_slow {
	uint64_t first_bytes, end_bytes;
	double y, expected_y;          /* level there, and what it would be without the revolutions lost */
	size_t first, last;            /* positions */
	size_t readings;               /* samples there */
	bool is_confirmed, is_refuted; /* beyond doubt; else more looks decide */
};

struct zone_slows {
	struct zone_slow *v;
	size_t n;
	double least_loss; /* part of its time that a region of a single sample must lose to be found */
};

/*
 * Looks for slow regions, confirmed or not. What does not rotate has none: its slower and faster stretches have other
 * reasons (stretches.c). free(ret->v). st: places that answer as fast as the interface have neither waits
 * nor a level that others are measured by.
 */
void zone_slows_find(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_stretches *st,
                     struct zone_slows *ret);
/* Is the place in a slow region? */
bool zone_is_in_slow(const struct zone_slows *slows, size_t position, bool is_confirmed);
/* Are bytes of the sample in it? */
static inline bool zone_slow_has(const struct zone_slow *slow, const struct zone_sample *s)
{
	return s->from_bytes < slow->end_bytes && s->end_bytes > slow->first_bytes;
}

/* In any, or in a confirmed one? */
bool zone_touches_slow(const struct zone_slows *slows, const struct zone_sample *s, bool is_confirmed);

/* ---- stretches.c ---- */

enum zone_stretch_kind {
	STRETCH_FAST, /* at once, and faster than the media beside it: not stored (never written, trimmed), or cached */
	STRETCH_DEVICE, /* from here on to the end everything is faster, and falls again: another device, or another arm
	                 */
	STRETCH_UNEVEN, /* of what does not rotate: it differs from what lies beside it */
};

struct zone_stretch {       /* of places at one level that the media of one healthy disk do not explain */
	size_t first, last; /* positions */
	uint64_t first_bytes, end_bytes;
	enum zone_stretch_kind kind;
	double y, beside_y; /* mean level there, and of what lies beside it */
	size_t samples;
};

struct zone_stretches {
	struct zone_stretch *v;
	size_t n;
};

/* slows: empty, where they are not known yet. free(ret->v). */
void zone_stretches_find(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_slows *slows,
                         struct zone_stretches *ret);
/* Is the place one that says nothing of the media (or, of what does not rotate, differs from the rest)? */
static inline bool zone_is_in_stretch(const struct zone_stretches *st, size_t position)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->v[i].kind != STRETCH_DEVICE && position >= st->v[i].first && position <= st->v[i].last)
			return true;
	return false;
}

/* Where rates begin anew, as of another device; INFINITY: nowhere. */
static inline double zone_begins_anew(const struct zone_stretches *st)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->v[i].kind == STRETCH_DEVICE)
			return (double)st->v[i].first_bytes;
	return (double)INFINITY;
}

/*
 * Are the long samples of start, middle and end far faster than the short ones beside, in part? Then others are read
 * ahead meanwhile (arms or disks in stripes), and how fast it is hangs on how much is read: short samples say nothing
 * of the whole.
 */
bool zone_is_by_length(const struct zone_layout *l, const struct zone_levels *lv);

/* ---- all of it ---- */

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
};
