/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of `seek`: seek.c plans and sums up, budget.c says how long each phase may take, arms.c finds several arms and
 * has each measured, spans.c times random reads, curve.c finds the seek times by aimed accesses, reads.c by random
 * ones, overhead.c what a command takes without any, control.c takes off the mean what is known of each read, which
 * judge.c says where the curve does not, queue.c has several in flight, writes.c times seeks of writes.
 */
#ifndef PLATTER_MEASURE_SEEK_H
#define PLATTER_MEASURE_SEEK_H

#include "measure/shared/timed.h"

struct seek_params {
	bool quick, write;
	uint64_t block_bytes, reads, span_ns;
	struct strs without;
};

#define SEEK_SMOOTH_CELLS 64
/* How many reads were answered until when. */
struct seek_regime {
	struct bucket_point point[1024];
	size_t n, stride, seen;
	uint64_t reads, first[32]; /* first: the places of the first ones, and what they took */
	double first_ns[32];
	size_t nfirst;
};

/* A random read over the whole device: by how far the head went, what it took until the sector began, in which part of
 * the reads it counts. */
#define SEEK_RANDOM_MAX 1024
#define SEEK_PARTS      4
struct seek_random {
	double stroke, ns, bytes;
	size_t part;
};

/* The time of a run, and of what is under way (budget.c); in the order in which they come. */
enum seek_phase {
	SEEK_ROTATION,
	SEEK_ARMS,
	SEEK_RATES,
	SEEK_OVERHEAD,
	SEEK_CURVE,
	SEEK_NEAR,
	SEEK_WHOLE,
	SEEK_SPANS,
	SEEK_QUEUE
};
#define SEEK_FULL_S  120.0
#define SEEK_QUICK_S 15.0
#define SEEK_SHORT_S \
	40.0 /* given less, the many distances and spans of a full run would each get too little (a choice) */
struct seek_budget {
	uint64_t end_ns; /* of the run; of an arm; of what writes */
	double scale;    /* of the shares: up to 1, of short runs to 3 */
	enum seek_phase phase;
	uint32_t cut; /* a bit for each phase that time was short for */
};

struct seek_run {
	struct session *ses; /* NULL where a saved document is told again: only what reads and waits needs it */
	struct result *res;
	uint64_t size_bytes;
	const struct seek_params *p;
	struct timed t; /* until_ns: the end of the phase */
	struct seek_budget budget;
	struct rotation rot;
	double fraction; /* of the reads done, for progress */
	double share;    /* of the whole run that they are */

	/* Found on the way; NaN: not known. */
	double overhead_ns; /* of a command, without movement, wait and transfer */
	struct interval overhead_ci;
	double restart_ns; /* more that a read takes which does not go on with what the drive is reading; 0: none was
	                      seen */
	bool has_rates, has_overhead; /* were looked for */
	double rate_start, ratio;     /* sequential rate at the start, end-to-start ratio */
	double place_off;             /* parts of the stroke that a place may be off */
	double sector_hit_ns;  /* of a read of a single sector that the drive's cache answers; 0: it answers none */
	double cached_ns;      /* the same without the transfer; NaN: not known */
	double sector_bus_ns;  /* of the interface for a sector; NaN: not known */
	double track_ratio;    /* track over what passes in a revolution of sequential reading: 1 + skew */
	double aim_scatter_ns; /* what is believed of the scatter of arrivals, for aiming */
	/* Arrivals after the command: overhead and seek. Medians are NaN where not known. */
	struct arrival track, third, full;
	struct arrival_missed missed;
	double scatter_ns; /* of arrivals, the middle of all distances; NaN: not known */
	struct interval scatter_ci;
	struct seek_fit fit; /* overhead and seek against part of the stroke */
	bool has_fit;
	struct seek_fit_ci {
		struct interval a, b, c, e, knee;
	} fit_ci;
	double misfit_ns;                 /* of the two pieces, beside what the points are not known */
	double smooth_rms_ns;             /* of the points about the smooth curve */
	double smooth[SEEK_SMOOTH_CELLS]; /* what the smooth curve adds to the fit, at seek_smooth_at() */
	struct arrival average;
	double average_se; /* of the fit's average over uniform pairs, by other fits to the points */
	/* What the curve follows from: aimed accesses, and random reads. And the distances with what is known of them,
	 * in order. */
	struct seek_point *aimed, *near, *point; /* room for POINTS_MAX each; near: over few tracks */
	size_t naimed, nnear, npoints;
	struct seek_random random[SEEK_RANDOM_MAX];
	size_t nrandom;
	struct seek_run *without[SEEK_PARTS]; /* NULL, or the run as the random reads of the other parts have it */
	bool is_curve_over;                   /* seek_curve_end() was called */
	bool is_split;                        /* far seeks take less than near ones: not one arm */
	bool has_no_curve;                    /* points say what one arm, which it is, cannot do */
	bool is_one_arm;                      /* for certain, from end to end of the device */
	size_t narms;      /* 0, or how many parts are measured each by itself (arms.c); also of such a part */
	bool is_shortened; /* a short run by its time, not by --quick */
	bool is_writing;   /* this is the part of a run that writes (writes.c) */
	const struct seek_run *reads; /* of that part: whose curve it goes by; NULL: by none */
	double more_ns, more_se;      /* what its arrivals take beyond that curve */
	double whole_mean_ns;         /* measured over the whole device */
	struct interval whole_ci;
	uint64_t whole_reads;
	double later_ns;           /* than by the curve, a block over the whole device was there */
	struct seek_regime regime; /* of the spans of a device without rotation */
	/* Largest span with blocks read again; with some answered by the drive's cache; with too many of them. */
	uint64_t revisited_bytes, cached_bytes, in_cache_bytes;
};

void seek_budget(struct seek_run *s, uint64_t total_ns); /* from now on */
/* From now on, until only what is kept for later phases is left: so many ns. */
uint64_t seek_begin(struct seek_run *s, enum seek_phase phase);
uint64_t seek_left_ns(const struct seek_run *s); /* of the phase */
bool seek_is_over(struct seek_run *s);           /* the run has to end, or the phase; the latter is noted */
bool seek_is_cut(const struct seek_run *s, enum seek_phase phase);
void seek_tell_cut(struct seek_run *s); /* what there was no time for */

/* Table "spans": service time of random reads against the span. */
extern const struct field seek_span_fields[];
int seek_spans(struct seek_run *s, struct err *err);
size_t seek_span_count(uint64_t size_bytes, bool is_quick); /* how many it measures, the whole device included */

/* The mean over all of a part of the device, into whole_mean_ns and whole_ci; nothing is told. Learns from the reads as
 * a whole device's do. */
int seek_part_mean(struct seek_run *s, struct err *err);

#define SPAN_READS 20000            /* of one span that the media answered, at most */
#define SEEK_TRIED (2 * SPAN_READS) /* and with those that the drive's cache did */

/* One of them. before: end of the read before, which is where the head is if the media answered that; 0: not known. */
struct seek_read {
	uint64_t before, offset;
	double ns;
	bool is_hit, is_behind_hit;
	bool is_passed; /* it lay behind the head by less than a command takes: ns is what the media would have taken */
};
struct seek_where {
	uint64_t first, end; /* bytes: the span */
	size_t nreads;
	uint64_t budget_ns; /* for reading again */
};

/* Service times as the media have them, also of reads that the drive's cache answered (cached.c). */
struct seek_uncached {
	double *v; /* of all reads, in order */
	size_t n;
	const struct seek_read **of; /* the read that each is of, with its time from the media */
	struct seek_read *again;     /* those that were read again */
	double *measured;            /* those that the media answered */
	size_t nmeasured;
	double extra_se; /* of the mean, beside what the scatter of v tells */
	double unknown;  /* part of the reads that could not be read from the media */
};
/* May correct the reads. Call seek_uncached_done() in any case. */
int seek_uncached(struct seek_run *s, struct seek_read *reads, const struct seek_where *where,
                  struct seek_uncached *ret, struct err *err);
void seek_uncached_done(struct seek_uncached *u);
bool seek_is_uncached(const struct seek_uncached *u); /* the times stand for all reads */

/* The mean over all reads of a span, with what the curve tells taken off their variance (control.c). */
struct seek_controlled {
	double known_ns, off_ns; /* what the curve says of all pairs; what reads took beyond that, on the average */
	double mean_ns, half_ns; /* half of the 95 % interval */
	double variance, variance_ratio; /* what remains of the variance */
	double later_ns;                 /* than by the curve a block is there */
	bool is_far;                     /* over so many tracks that what it loses is what others lose */
	bool is_whole;                   /* the whole device */
	bool is_by_distance;             /* without period and curve */
	size_t n;
};
double seek_answer(const struct seek_run *s, double bytes,
                   double track); /* of so many bytes of a track of so many, from the sector's begin on: to pass by, or
                                     through a slower interface */
double seek_transfer(const struct seek_run *s, double byte);                     /* the same of a block there */
double seek_stroke_between(const struct seek_run *s, double byte, double other); /* part of the stroke */
size_t seek_part_of(const struct seek_run *s, const struct seek_read *read);
bool seek_has_control(const struct seek_run *s, uint64_t first, uint64_t end);
/* false: the curve is not known or does not help, or the span is too small, and distances alone tell little. */
bool seek_control(const struct seek_run *s, const struct seek_read *const *reads, size_t n, uint64_t first,
                  uint64_t end, struct seek_controlled *ret);
void seek_control_tell(const struct seek_run *s, struct seek_controlled *c); /* mean and interval from the parts */
/* Of all spans of a run together: what each lost, as far as it differs from the others. whole: the index of the whole
 * device, which is left as it is. */
void seek_control_pool(const struct seek_run *s, struct seek_controlled *c, size_t n, size_t whole);

/* Says when reads became fewer a second, if they did. */
void seek_tell_regime(struct seek_run *s, const struct bucket_point *p, size_t n, const char *when);

/* Table "queue": what depth brings (queue.c). */
extern const struct field seek_queue_fields[];
int seek_queue(struct seek_run *s, struct err *err);

/* The curve again, of writes. After all that reads, as the drive may be busy for a while with what it keeps in order.
 */
int seek_writes(struct seek_run *s, struct err *err);
#define SEEK_READS_SHARE \
	0.65 /* of a run that writes, too: what comes before takes about two minutes, and a minute follows */
/* Back from table "accesses", of a run or the part of it that writes: overhead, curve, and over few tracks; false: none
 * of the curve. */
bool seek_load_all(struct seek_run *s, const struct table *t);
int seek_writes_again(struct seek_run *s, const struct table *accesses, struct err *err); /* from the document */
/* What a part of the run is called. */
static inline const char *seek_of(const struct seek_run *s, const char *reads, const char *writes)
{
	return s->is_writing ? writes : reads;
}

/* Several arms, or disks, behind one name (arms.c). Finds them, and measures each by itself: narms says how many, 0:
 * one arm. */
extern const struct field seek_arm_fields[];
int seek_arms(struct seek_run *s, struct err *err);
uint64_t seek_first_arm_bytes(const struct result *saved); /* 0: the document has no arms */

/* Rates, and with them what lies where (place.c); the overhead. */
extern const struct field seek_rate_fields[];
int seek_rates(struct seek_run *s, struct err *err);
/* That a rate is from, at most, and that the drive's cache may hold; 0: it holds nothing, or they are no little part of
 * the device. */
double seek_rate_bytes(const struct seek_run *s);
bool seek_learn_places(struct seek_run *s, const struct result *res); /* from their tables */
/* What a track's length makes the rate, at a place (0..1). */
struct seek_rate {
	double place, rate_bytes_per_s;
};
void seek_learn_tracks(struct seek_run *s, const struct seek_rate *v, size_t n);
bool seek_is_interface_rate(const struct seek_run *s); /* the sequential rate is no higher than its interface lets it */
int seek_media(struct seek_run *s, struct err *err);   /* both, once: who comes first has them measured */
int seek_overhead(struct seek_run *s, struct err *err);

/* Table "curve": seek time against distance. Rates and overhead first. Begin: the aimed accesses, those over few
 * tracks, too; end: what all say. */
extern const struct field seek_curve_fields[], seek_near_fields[], seek_smooth_fields[];
static inline bool seek_wants_curve(const struct seek_run *s)
{
	return s->rot.is_rotating && !strs_list_have(&s->p->without, "curve") && (!s->narms || s->t.part_bytes);
}
int seek_curve_begin(struct seek_run *s, struct err *err);
void seek_curve_end(struct seek_run *s);

/* Accesses between two places, aimed at times (aim.c). */
#define BELIEF_CELLS 1024
struct aim_belief { /* when the head arrives, as far as accesses tell */
	double step, scatter;
	double log_likelihood[BELIEF_CELLS]; /* of the median in cell i: i * step to (i + 1) * step */
};
struct aim_setup {
	double first[2]; /* bytes: targets lie within a track from each */
	double track[2]; /* bytes of a track at each, about */
	double even[8];  /* first accesses aimed at these parts of a revolution after the command */
	size_t neven;
	size_t aimed;       /* then so many about the edge */
	bool backward_only; /* so near that the drive's read-ahead would follow forward: those are not counted */
};
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
static inline bool aim_tells(const struct aim_access *a)
{
	return a->how != AIM_FIRST && a->end == AIM_THERE;
}
struct aim_log { /* of the pairs of one distance */
	struct aim_access access[1024];
	size_t n;
	uint32_t pairs;
};
void aim_believe_anything(struct aim_belief *b, double period, double scatter);
void aim_believe_within(struct aim_belief *b, struct interval ns); /* elsewhere it is hardly likely */
int seek_aim(struct seek_run *s, const struct aim_setup *setup, struct aim_belief *belief, struct aim_log *log,
             struct err *err);

/* One distance: the accesses, and what they say (points.c). */
#define POINTS_MAX 48
struct seek_point {
	double stroke;   /* part of it; 0: given by tracks */
	uint64_t tracks; /* 0: given by stroke */
	struct aim_log log;
	struct arrival fit;
	bool is_known, is_full; /* full: the whole stroke was wanted */
};
/* Table "accesses", and back from it: the distances in the order of the table; how many (accesses.c). */
extern const struct field seek_access_fields[];
void seek_tell_accesses(struct seek_run *s, const char *of, const struct seek_point *p);
void seek_tell_read(struct seek_run *s, const struct seek_random *read);
bool seek_load_read(const struct table *t, size_t row, struct seek_random *ret); /* false: not of a random read */
size_t seek_load_accesses(const struct table *t, const char *of, struct seek_point *ret);
/* What the likelihood takes of one pair (-1: of all). */
size_t seek_samples(const struct aim_log *log, int64_t pair, struct arrival_sample *ret, size_t most);
bool seek_even_mean(const struct aim_log *log, struct summary *ret); /* of those aimed evenly; false: none */
uint64_t seek_distance(const struct aim_log *log, uint64_t *ret_reads, uint64_t *ret_hits); /* its mean */

/* From returns to one track, and reads ahead of the head there (none: of writes). */
#define SEEK_READS_ON "reading on" /* what the latter are of */
void seek_conclude_overhead(struct seek_run *s, const struct seek_point *returns, const struct seek_point *on);
void seek_no_overhead(struct seek_run *s);                  /* it is not known, which is told */
void seek_bound_overhead(struct seek_run *s, double least); /* by the shortest arrival of all: least, or of the aimed */
#define SEEK_AHEAD_BLUR_NS 20e3                             /* so far is a blurred one off at most */
#define SEEK_OVERHEAD_MOST 0.4 /* of a revolution: longer overheads are not looked for (a choice) */
/* Of a read ahead of the head (ahead.c): the logarithm of how likely it is. */
double seek_ahead_log_likelihood(const struct aim_access *a, double overhead, double scale, double period);
/* most: half of the interval of what counts as known, in revolutions. */
void seek_point_fit(const struct seek_run *s, struct seek_point *p, const struct arrival_prior *prior, double most);
#define SEEK_KNOWN 0.05
/* Of a revolution: so far even a curve does not lie that goes on straight from random reads (a choice). */
#define SEEK_STRAY 0.35
#define SEEK_TURNS_MOST                                                                              \
	8.0 /* revolutions: what takes longer was late for another reason than the arm (as in aim.c) \
	     */
void seek_fit_aimed(struct seek_run *s);
/* The curve, from the aimed accesses and the random reads (without: all but those of that part, -1: all). */
void seek_conclude_curve(struct seek_run *s, int without);
void seek_tell_curve(struct seek_run *s); /* into the tables */
/* No head is there before the command is through: where answers of the drive's cache, come late, pass for the media's.
 */
bool seek_is_after_overhead(const struct seek_run *s, const struct arrival *a);
/* What is left of an arrival. All seek times share what the overhead, which is taken off them, is wrong. */
struct stats_estimate seek_less_overhead(const struct seek_run *s, double arrival, struct interval ci);

/* What random reads say of the curve (reads.c). Takes them, concludes, also without each part. */
void seek_learn_reads(struct seek_run *s, const struct seek_read *const *reads, size_t n);
void seek_parts_done(struct seek_run *s);
/* Of the reads but one part, where that explains them better than the curve: what a read should take (judge.c). */
#define SEEK_JUDGED_LEAST 40 /* of fewer the likeliest is any (a choice) */
void seek_judge_of_reads(struct seek_run *s, size_t without);
void seek_load_reads(struct seek_run *s, const struct table *accesses);

/* Over few tracks (near.c): into their table, the next cylinder into s->track, and what bounds the overhead. First of
 * what is told of a curve. */
void seek_tell_near(struct seek_run *s, struct seek_point *p, size_t n);

/* Figures, notices, pictures (tell.c). */
extern const struct field seek_part_fields[];
void seek_tell_rotation(struct seek_run *s);
void seek_tell_figures(struct seek_run *s);
void seek_tell_parts(struct seek_run *s);
void seek_tell_plots(const struct seek_run *s);

/* Place on the stroke (0 outer, 1 inner) of a place in bytes (0..1 of the size) under constant linear density, and
 * back. */
double seek_stroke_of(const struct seek_run *s, double x);
double seek_place_of(const struct seek_run *s, double stroke);
/* Bytes that pass in one revolution at a place (0..1): a track without its skew. */
double seek_track_bytes(const struct seek_run *s, double x);
double seek_track_at(const struct seek_run *s, double x); /* and of a track whole */
/* Time to arrive (overhead and seek) by the smooth curve through the points, at a part of the stroke; 0 for 0. */
double seek_arrival(const struct seek_run *s, double stroke);
double seek_smooth_at(size_t cell); /* part of the stroke */
/* Is that the time of a read that the drive's cache answered? */
bool seek_is_hit(const struct seek_run *s, double access_ns);
/* The same of a single sector, which is sooner through the interface than a block. */
bool seek_is_sector_hit(const struct seek_run *s, double access_ns);

#endif
