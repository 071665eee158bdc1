/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From accesses to what they say, each part a function of those before it: accesses.c: the accesses as rows of the
 * document, and back; places.c: what lies where; ahead.c: the overhead; points.c: points of the curve, from aimed
 * accesses and random reads; near.c: the next cylinder;
 * control.c: the mean over random reads. No device, no clock; the curve itself is model/curve.h.
 */
#pragma once

#include <math.h>

#include "model/curve.h"
#include "model/near.h"
#include "result/result.h"
#include "stats/stats.h"

/* ---- accesses.c ---- */

enum aim_how {
	AIM_FIRST,
	AIM_EVENLY,
	AIM_EDGE,
	AIM_RANDOM,
	AIM_BLURRED
}; /* any place; evenly over the revolution; about the arrival; of a random read; evenly, but what the interface takes
      of it is not known */
enum aim_end {
	AIM_THERE,
	AIM_ELSEWHERE,
	AIM_CACHE
}; /* at the angle that was aimed at; at another; the cache answered */
struct aim_access {
	double ns, bytes; /* to the begin of the sector; from the one before */
	uint32_t pair;
	enum aim_how how;
	enum aim_end end;
	double wait_ns; /* of reads ahead of the head: until the sector had come by; 0: of others */
};
/* The likelihood takes it. */
static inline bool aim_shows(const struct aim_access *a)
{
	return a->how != AIM_FIRST && a->end == AIM_THERE;
}
struct aim_log { /* of the pairs of one distance */
	struct aim_access access[1024];
	size_t n;
	uint32_t pairs;
};
/* One distance: the accesses, and what they say. */
struct seek_point {
	double stroke;   /* part of it; 0: given by tracks */
	uint64_t tracks; /* 0: given by stroke */
	struct aim_log log;
	struct arrival fit;
	bool is_known;
};
/* What is asked in many places. */
#define SEEK_READS_LEAST 60    /* of fewer reads chance would decide (a choice) */
#define SEEK_MISSED      0.03  /* of the reads lose a revolution, more or less (real drives: 0.001 to 0.07) */
#define SEEK_SHARPEST    0.002 /* of a revolution: no arrival is known better (the host's noise at 7200 rpm) */
#define SEEK_FLOOR_NS    10e3  /* no time is known better: so much the interface and each law leave out */
#define SEEK_SHOWS       5     /* accesses that show a place: in time by chance at one angle once in ten million */
#define SEEK_APART       3     /* tracks: nearer the places overlap, and the drive reads on into the other */
#define SEEK_CELLS       1024  /* of what is believed of a time */
/* A random read over the whole device: by how far the head went, what it took until the sector began. */
#define SEEK_RANDOM_MAX 1024
struct seek_random {
	double stroke, ns, bytes;
};
/* What the curve follows from. */
struct seek_samples {
	struct seek_point aimed[CURVE_POINTS], near[CURVE_POINTS]; /* near: over few tracks */
	size_t naimed, nnear;
	struct seek_random random[SEEK_RANDOM_MAX];
	size_t nrandom;
};

extern const struct field seek_access_fields[]; /* table "accesses" */
void seek_report_accesses(struct result *res, const char *of, const struct seek_point *p);
void seek_report_read(struct result *res, const struct seek_random *read);
/* Back from it, the distances in the order of the table; how many. */
size_t seek_load_accesses(const struct table *t, const char *of, struct seek_point *ret);
size_t seek_load_reads(const struct table *t, struct seek_random *ret);
/* What the likelihood takes of one pair (-1: of all). */
size_t seek_log_samples(const struct aim_log *log, int64_t pair, struct arrival_sample *ret, size_t most);
bool seek_even_mean(const struct aim_log *log, struct summary *ret); /* of those aimed evenly; false: none */
uint64_t seek_distance(const struct aim_log *log, uint64_t *ret_reads, uint64_t *ret_hits); /* its mean */

/* ---- places.c ---- */

struct seek_places {
	uint64_t size_bytes;
	double period_ns;         /* of the rotation */
	double rate_start, ratio; /* sequential rate at the start, end-to-start ratio; NaN: not known */
	double off;               /* parts of the stroke that a place may be off */
	double track_ratio;       /* track over what passes in a revolution of sequential reading: 1 + skew */
};
struct seek_rate { /* what a track's length makes the rate, at a place (0..1) */
	double place_ratio, rate_bytes_per_s;
};
extern const struct field seek_rate_fields[]; /* tables "rates" and "media_rates" */
/* From the document's tables; before: what is known already. */
struct seek_places seek_places_of(const struct seek_places *before, const struct result *res);
/* Where no rates are measured: as usual; and nothing takes time to pass. */
struct seek_places seek_places_blind(const struct seek_places *before);
static inline bool seek_is_blind(const struct seek_places *p)
{
	return isinf(p->rate_start);
}
/* Tracks were measured, too: into the document where rates are not the media's. */
struct seek_places seek_places_by_tracks(const struct seek_places *before, struct result *res,
                                         const struct seek_rate *v, size_t n);
/* Place on the stroke (0 outer, 1 inner) of a place in bytes (0..1 of the size) under constant linear density, and
 * back. */
double seek_stroke_of(const struct seek_places *p, double x);
double seek_place_of(const struct seek_places *p, double stroke);
double seek_stroke_between(const struct seek_places *p, double byte, double other); /* part of the stroke */
/* Bytes that pass in one revolution at a place (0..1): a track without its skew. */
double seek_track_bytes(const struct seek_places *p, double x);
double seek_track_at(const struct seek_places *p, double x); /* and of a track whole */

/* ---- what is known so far ---- */

struct seek_hits {         /* of reads that the drive's cache answers (media.c) */
	double without_ns; /* of a sector, without its transfer; NaN: not known */
	double bus_ns;     /* of the interface for a sector; NaN: not known */
};
struct seek_overhead { /* of a command, without movement, wait and transfer; NaN: not known */
	double ns;
	struct interval ci;
	double restart_ns; /* more that a read takes which does not go on with what the drive is reading; 0: none was
	                      seen */
};
#define SEEK_NO_OVERHEAD ((struct seek_overhead){ .ns = NAN, .ci = { NAN, NAN } })
struct seek_scatter { /* of arrivals, the middle of all distances; NaN: not known */
	double ns;
	struct interval ci;
	struct arrival_missed missed;
};
struct seek_known {
	uint32_t block_bytes, step_bytes; /* of a read; of a sector */
	bool is_patchy;                   /* parts of the device answer without the media */
	bool is_quick;
	struct seek_places places;
	struct seek_hits hits;
	struct seek_overhead overhead;
	struct seek_scatter scatter;
	struct curve curve;
	struct seek_fit fit;                      /* of two pieces, beside it */
	struct stats_estimate track, third, full; /* arrivals after the command, overhead and seek */
	struct curve by_reads; /* as random reads over the whole device have it; unknown where the other knows better */
	double later_ns;       /* than by the curve, a block over the whole device was there */
};

/* Of that many bytes of a track of that many, from the sector's begin on: to pass by, or through a slower interface. */
double seek_answer(const struct seek_known *k, double bytes, double track);
double seek_transfer(const struct seek_known *k, double byte); /* the same of a block there */

/* ---- ahead.c ---- */

#define SEEK_BLUR_NS 20e3 /* so far is a blurred one off at most */
/* The logarithm of how likely a read ahead of the head is. */
double seek_ahead_log_likelihood(const struct aim_access *a, double overhead, double scale, double period);
/* From returns to one track, and reads ahead of the head there. */
struct seek_overhead seek_overhead_of(const struct seek_known *k, const struct seek_point *returns,
                                      const struct seek_point *on);
/* No head is there before the command is through: the upper end, by the shortest arrival, least or of the aimed. */
double seek_bound_overhead(const struct seek_known *k, const struct seek_samples *m, double least);
/* What is left of an arrival. All seek times share what the overhead, which is taken off them, is wrong. */
struct stats_estimate seek_less_overhead(const struct seek_known *k, struct stats_estimate arrival);
/* No head is there before the command is through: where answers of the drive's cache, come late, pass for the media's.
 */
bool seek_is_after_overhead(const struct seek_known *k, const struct arrival *a);
#define SEEK_OVERHEAD_MOST 0.4   /* of a revolution: longer overheads are not looked for (a choice) */
#define SEEK_SCATTER       0.003 /* how far one scatters, before any shows (real drives: 0.003 to 0.01) */

/* ---- points.c ---- */

/* most: half of the interval of what counts as known, in revolutions. */
void seek_point_fit(const struct seek_known *k, struct seek_point *p, const struct arrival_prior *prior, double most);
#define SEEK_KNOWN 0.05
/* Of a revolution: so far even a curve does not lie that goes on straight from random reads (a choice). */
#define SEEK_STRAY 0.35
struct seek_scatter seek_fit_aimed(const struct seek_known *k, struct seek_samples *m);
/* The likeliest by the aimed accesses and the random reads. */
struct curve seek_curve_by_reads(const struct seek_known *k, const struct seek_samples *m);
/* Most reads take another time than any wait for the sector explains: the aimed accesses were a cache's. */
bool seek_is_contradicted(const struct seek_known *k, const struct seek_samples *m);
void seek_conclude_curve(struct seek_known *k, const struct seek_samples *m);
extern const struct field seek_curve_fields[], seek_smooth_fields[];
void seek_report_curve(struct result *res, const struct seek_known *k, const struct seek_samples *m); /* into tables */

/* ---- near.c ---- */

struct seek_pairs {
	struct near_pairs of;
	size_t found[CURVE_POINTS]; /* of each distance */
	double shortest_ns;         /* but for one, which may be nonsense */
};
struct seek_pairs seek_pairs_of(const struct seek_known *k, const struct seek_point *p, size_t n);
struct stats_estimate seek_next_cylinder(const struct seek_known *k, const struct seek_pairs *pairs);
extern const struct field seek_near_fields[];
void seek_report_near(struct result *res, const struct seek_known *k, const struct seek_pairs *pairs,
                      const struct seek_point *p, size_t n);

/* ---- control.c ---- */

/* A random read. before: end of the read before, which is where the head is if the media answered that; 0: not known.
 */
struct seek_read {
	uint64_t before, offset;
	double ns;
	bool is_hit, is_behind_hit;
	bool is_passed; /* it lay behind the head by less than a command takes: ns is what the media would have taken */
	bool is_shared; /* others used the disk then: it and those about it took what no wait for a sector explains */
};
/* The mean over all reads of a span, with what the curve shows taken off their variance. */
struct seek_controlled {
	struct stats_estimate mean;
	double variance_ratio; /* what remains of the variance */
	double unexplained;    /* and of the scatter, few that are far off aside; also where it does not help */
	double later_ns;       /* than by the curve a block is there */
	size_t n;
};
/* Mean of the curve over uniform pairs of bytes of a span, which is what random reads do. */
double seek_mean_arrival(const struct seek_known *k, const struct curve *c, uint64_t first, uint64_t end);
bool seek_has_control(const struct seek_known *k, uint64_t first, uint64_t end);
/* Finds those of a span's reads, in the order of time, that were had while others used the disk; how many of 100. Of
 * more than 50 none is marked. */
double seek_find_shared(const struct seek_known *k, struct seek_read *reads, size_t n, uint64_t first, uint64_t end);
/* false: the curve is not known or does not help, or the span is too small. */
bool seek_control(const struct seek_known *k, const struct seek_read *const *reads, size_t n, uint64_t first,
                  uint64_t end, struct seek_controlled *ret);
