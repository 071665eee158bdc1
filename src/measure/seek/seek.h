/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run of `seek`, in the order in which the parts come: seek.c plans and goes through them; budget.c says how long
 * each may take; arms.c has each of several arms measured; media.c: rates, hits and, by overhead.c, overhead; curve.c
 * finds the seek times by accesses of aim.c; spans.c times random reads, with cached.c; queue.c has several in flight;
 * report.c shows. What all of it says is analysis.h.
 */
#pragma once

#include "measure/seek/analysis.h"
#include "measure/shared/timed.h"

/* Of a revolution: a read ends so near to the angle that it was aimed at (real drives: 97 % within 0.014), and tracks
 * are skewed by more (a head switch takes 0.3 ms and more). */
#define SEEK_TOLERANCE 0.012
/* Of places for one that holds data, where a third does: one in a hundred is not found; of two: one in nine. */
#define SEEK_STORED_TRIES 12

struct seek_params {
	bool quick;
	uint64_t block_bytes, reads, span_ns;
	struct strs without;
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
struct seek_budget {
	uint64_t end_ns; /* of the run; of an arm */
	double scale;    /* of the shares: up to 1, of short runs to 3 */
	enum seek_phase phase;
	uint32_t cut; /* a bit for each phase that time was short for */
};

struct seek_whole { /* mean over the whole device; NaN: not known */
	double mean_ns;
	struct interval ci;
	uint64_t reads;
};

struct seek_run {
	struct session *ses;
	struct result *res;
	const struct seek_params *p;
	struct timed t; /* until_ns: the end of the phase */
	struct seek_budget budget;
	struct rotation rot;
	struct hits sector_hits;      /* of a single sector, which is sooner through the interface than a block */
	double fraction;              /* of the reads done, for progress */
	bool has_rates, has_overhead; /* were looked for */
	bool is_curve_over;           /* seek_curve_end() was called */
	bool is_shortened;            /* a short run by its time, not by --quick */
	size_t narms; /* 0, or how many parts are measured each by itself (arms.c); also of such a part */
	struct seek_samples *samples;
	struct seek_known known;
	struct seek_whole whole;
};

/* About what a middling disk needs for these phases. */
uint64_t seek_usual_ns(const struct seek_params *p, enum seek_phase first, enum seek_phase last);
void seek_budget(struct seek_run *s, uint64_t total_ns); /* from now on */
/* From now on, until only what is kept for later phases is left: that many ns. */
uint64_t seek_begin(struct seek_run *s, enum seek_phase phase);
uint64_t seek_left_ns(const struct seek_run *s); /* of the phase */
bool seek_is_over(struct seek_run *s);           /* the run has to end, or the phase; the latter is noted */
void seek_cut(struct seek_run *s, enum seek_phase phase);
bool seek_is_cut(const struct seek_run *s, enum seek_phase phase);
void seek_report_cut(struct seek_run *s); /* what there was no time for */

/* Several arms, or disks, behind one name (arms.c). Finds them, and measures each by itself: narms says how many, 0:
 * one arm. */
extern const struct field seek_arm_fields[];
int seek_arms(struct seek_run *s, struct err *err);
uint64_t seek_first_arm_bytes(const struct result *saved); /* 0: the document has no arms */

/* Rates, hits and overhead, once: who comes first has them measured. */
int seek_media(struct seek_run *s, struct err *err);
/* That a rate is from, at most, and that the drive's cache may hold; 0: it holds nothing, or they are a large part of
 * the device. */
double seek_rate_bytes(const struct seek_run *s);
int seek_find_overhead(struct seek_run *s, struct err *err);
#define SEEK_RETURNS  "overhead"   /* what returns to one track are of, in table "accesses"; */
#define SEEK_READS_ON "reading on" /* what reads ahead of the head are of, in table "accesses" */

/*
 * When the head arrives, as far as accesses show: the logarithm of the likelihood of its median on a grid, from which
 * the next time to aim at is drawn (Thompson 1933).
 */
struct belief {
	double step, scatter;
	double log_likelihood[SEEK_CELLS]; /* of the median in cell i: i * step to (i + 1) * step */
};

void belief_anything(struct belief *b, double most, double scatter); /* up to most */
void belief_within(struct belief *b, struct interval ns);            /* elsewhere it is hardly likely */
void belief_learn(struct belief *b, double access, double period);
void belief_fades(struct belief *b); /* other places of the same distance take about as long */
double belief_draw(const struct belief *b, struct rng *rng);
/* The i-th time to aim at: before the drawn one and behind it in turn, where an access shows most of it. */
double belief_aim(const struct belief *b, struct rng *rng, size_t i);

/* Accesses between two places, aimed at times (aim.c). */
struct aim_setup {
	double first[2]; /* bytes: targets lie within a track from each */
	double track[2]; /* bytes of a track at each, about */
	double even[8];  /* first accesses aimed at these parts of a revolution after the command */
	size_t neven;
	size_t aimed;       /* then that many about the edge */
	bool backward_only; /* so near that the drive's read-ahead would follow forward: those are not counted */
};
int seek_aim(struct seek_run *s, const struct aim_setup *setup, struct belief *belief, struct aim_log *log,
             struct err *err);

/* Seek time against distance. Begin: the aimed accesses, those over few tracks, too; end: what all say. */
static inline bool seek_wants_curve(const struct seek_run *s)
{
	return s->rot.is_rotating && !strs_list_have(&s->p->without, "curve") && (!s->narms || s->t.part_bytes);
}
int seek_curve_begin(struct seek_run *s, struct err *err);
void seek_curve_end(struct seek_run *s);
void seek_conclude_near(struct seek_run *s); /* first of what is reported of a curve */
/* What random reads over the whole device say of the curve, and what each should take by the others. all: all that were
 * done, in order, of which those that are shared are found: how many of 100. */
double seek_learn_reads(struct seek_run *s, const struct seek_read *const *reads, size_t n, struct seek_read *all,
                        size_t nall);

/* Table "spans": service time of random reads against the span. */
extern const struct field seek_span_fields[];
int seek_spans(struct seek_run *s, struct err *err);
size_t seek_span_count(uint64_t size_bytes, bool is_quick); /* how many it measures, the whole device included */
/* The mean over all of a part of the device; nothing is reported. Learns from the reads as a whole device's do. */
int seek_part_mean(struct seek_run *s, struct err *err);

#define SPAN_READS 20000            /* of one span that the media answered, at most */
#define SEEK_TRIED (2 * SPAN_READS) /* and with those that the drive's cache did */
struct seek_where {
	uint64_t first, end; /* bytes: the span */
	size_t nreads;
	uint64_t budget_ns; /* for reading again */
};
/* Service times as the media have them, also of reads that the drive's cache answered (cached.c). */
struct seek_uncached {
	double *v; /* of all reads, in order */
	size_t n;
	const struct seek_read **of;       /* the read that each is of, with its time from the media */
	struct seek_read *again;           /* those that were read again */
	const struct seek_read **measured; /* those that the media answered */
	size_t nmeasured;
	double extra_se; /* of the mean, beside what the scatter of v shows */
	double unknown;  /* part of the reads that could not be read from the media */
};
/* May correct the reads. Call seek_uncached_done() in any case. */
int seek_uncached(struct seek_run *s, struct seek_read *reads, const struct seek_where *where,
                  struct seek_uncached *ret, struct err *err);
void seek_uncached_own(struct seek_uncached *u); /* without those that are shared */
void seek_uncached_done(struct seek_uncached *u);
bool seek_is_uncached(const struct seek_uncached *u); /* the times stand for all reads */

/* Table "queue": what depth brings (queue.c). */
#define SEEK_DEEPEST 32
extern const struct field seek_queue_fields[];
int seek_queue(struct seek_run *s, struct err *err);

/* Back from table "accesses": overhead, curve, and over few tracks. */
void seek_load_all(struct seek_run *s, const struct table *t);

/* Figures, notices, pictures (report.c). */
extern const struct field seek_part_fields[];
void seek_report_rotation(struct seek_run *s);
void seek_report_overhead(struct seek_run *s); /* why it is not known, or in which of two ways */
void seek_report_figures(struct seek_run *s);
void seek_report_parts(struct seek_run *s);
void seek_report_plots(const struct seek_run *s);
