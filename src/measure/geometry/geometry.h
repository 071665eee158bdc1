/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the measurement geometry: its parts share one run. Not a door. */
#pragma once

#include <math.h>

#include "measure/shared/heads.h"
#include "measure/shared/timed.h"

extern const struct measure measure_geometry; /* runs itself again */

struct geometry_params {
	bool quick, tracks, requests;
};

#define GEO_KNOWN 4096 /* angles remembered: a survey and what is confirmed of it take some hundreds */

/* As many that agree are beyond chance: where one alone may be chance, and where two may be, as of single tracks. */
#define GEO_TWICE 2
#define GEO_FEW   3
/* Of the same, until it agrees: what is wrong half of the time is so each time 1 in 30 times. */
#define GEO_TRIES 5
/* Deviations: what is farther off does not fit. Of a normal law 1 in 16 000 is; tails are longer. */
#define GEO_BEYOND 4.0

/* Of a revolution: drives have hardly less skew. Where differences stray by more than half of it, skews do not stand
 * out. */
#define GEO_SKEW 0.06
/* What is most of something: so much of it. No surface or zone holds less of what the one before does: a piece. */
#define GEO_MOST 0.75

#define GEO_STEPS 6

#define GEO_RECENT 512 /* reads that the drive may still have */
#define GEO_REACH  14  /* distances of up to 2^14 sectors are distinguished, by powers of two */

/* What the drive's cache keeps of single reads; see elsewhere.c. */
struct geo_kept {
	uint64_t recent[GEO_RECENT];
	size_t n; /* all of them, since the cache has forgotten */
	struct {
		uint32_t reads, hits;
	} seen[2][GEO_REACH]; /* below and above a read, so far away */
};

/* ---- spindle.c: its clock ---- */

#define GEO_ANCHORS 12  /* sectors that are read again and again */
#define GEO_POINTS  256 /* times at which the clock was held against them */

struct geo_spindle {
	uint64_t at_ns; /* the clock: that many revolutions then, and on from there; 0: it has not begun, which the
	                   first read does */
	double turns, period_ns;
	uint64_t due_ns, every_ns; /* when the anchors are read again; 0: they are not */
	struct geo_anchor {
		uint64_t sector;
		double angle;  /* NaN: not yet read */
		uint32_t seen; /* so often since it began */
		bool is_kept;  /* the cache had it the last time */
		bool is_moved; /* away from the start */
	} anchor[GEO_ANCHORS];
	struct geo_point {
		uint64_t at_ns;
		double turns;
	} point[GEO_POINTS];
	size_t npoints;
	struct rng rng;
};

/* ---- what reading costs ---- */

/* A way to read elsewhere. */
struct geo_way {
	uint32_t tries;
	double ns, helped;  /* time that it took; how often the cache had forgotten behind it */
	uint32_t high, low; /* reads elsewhere that were enough of late, and that were not */
	uint32_t times;
};

struct geo_ways {
	struct geo_way step[GEO_STEPS];
	unsigned up_agreed; /* grids that were read upwards with the same angles as downwards */
	bool is_up_vain;    /* one was not */
	struct {
		uint32_t pairs, hits;
	} way[2]; /* pairs of neighbours that were read downwards and upwards, and how often the cache had the second */
};

struct geo_cost {
	uint64_t reads;
	uint64_t tracks_seen;
	uint64_t thoughts, thinks_to; /* steps of what computes, see budget.c; the end of them, 0: none */
	bool is_cut; /* the walk ended for lack of time, as what comes behind it has a share kept for it */
};

struct geo_known {
	uint64_t sector;
	double angle;
};

/* A sector is a physical one; angles are parts of a revolution, of the moment when the sector has passed. */
struct geo {
	struct session *ses;
	const struct geometry_params *p;
	struct timed t;
	struct rotation rot;
	uint64_t sectors; /* of the target */
	double tol;       /* angles closer than this are the same: five deviations of one */
	unsigned looks;   /* at each sector: its angle is the middle of that many */
	struct geo_spindle spindle;
	double per_track; /* sectors of a track, about, where the run is */
	struct geo_ways ways;
	struct geo_kept kept;
	uint64_t last;      /* sector that was read */
	bool is_fua_ahead;  /* whether FUA is obeyed was seen in what the drive had read ahead */
	uint32_t fua_looks; /* since: so often it was doubted */
	struct geo_cost cost;
	uint64_t budget_ns;   /* of the whole run: --time, or GEO_BUDGET */
	uint64_t until_ns;    /* what is being looked for may take until then, counted from the start of the run */
	uint64_t spare;       /* sectors of each track that nobody can address, which the spacing of the others shows */
	bool is_spare_unsure; /* not the same in all places, or not sure */
	struct table *angles;
	/* Angles that are known for certain, by sector: reading one again would need a way round the drive's cache. */
	struct geo_known known[GEO_KNOWN];
};

/* ---- budget.c ---- */

/* Device time that a run may take unless --time says otherwise; half of it where bands come again soon. */
#define GEO_BUDGET_NS (600 * NS_PER_S)

/* What comes next may take until this part of the budget is spent; the rest is for what comes behind it. */
void geo_may_take(struct geo *g, double part);
/* Is the run over, or the time of what is being looked for? The second one is for what computes and reads nothing. */
bool geo_is_over(const struct geo *g);
bool geo_has_thought_enough(const struct geo *g);
/* The same, for what takes that many steps: tracks that are matched, accesses that a law is fitted to. */
bool geo_think(struct geo *g, uint64_t steps);
#define GEO_THOUGHT 20000 /* steps at once, 0.3 ms */
/* What comes next may take a third of the thoughts that are left, which no clock says, so that it ends the same each
 * time; and all of them. */
void geo_may_think_on(struct geo *g);
void geo_may_think_all(struct geo *g);
/* How far the run is: by what is done, or by the time that it may take, whichever is farther. */
double geo_done(const struct geo *g, double done);

/*
 * Parts of the whole run, of about so much of its time: the walk; layouts, and accesses that are evidence for or
 * against them; accesses in a second place. The larger the disk the more the walk takes.
 */
#define GEO_WALK_AT   0.15
#define GEO_LAYOUT_AT 0.65
#define GEO_CHECK_AT  0.88
#define GEO_LAST_AT   0.97 /* what was measured until then is judged */

/* ---- elsewhere.c ---- */

/* The way to read elsewhere that is best, or was not tried often enough. */
size_t geo_choose_way(const struct geo *g);
/* That many reads elsewhere are enough, as a rule; and more than were in vain. */
uint32_t geo_first_lead(struct geo *g);
uint32_t geo_more_lead(struct geo *g, uint32_t lead);
/* That many of that way, in that time, have helped, or have not. */
void geo_judge_way(struct geo *g, size_t way, uint32_t lead, double ns, bool has_helped);
/* That many reads outside of bytes [first, end); how long they took. */
int geo_read_elsewhere(struct geo *g, size_t way, uint32_t lead, uint64_t first, uint64_t end, double *ret_ns,
                       struct err *err);

/*
 * Before a sector is read that lies a little above the one before: a drive that reads on until it is there has all
 * between in its cache afterwards, so something elsewhere is read first, if making the cache forget is dear.
 */
int geo_leave(struct geo *g, uint64_t sector, struct err *err);

/* ---- probe.c ---- */

extern const struct field geo_angle_fields[];
int geo_down(const void *a, const void *b); /* for qsort: uint64_t, downwards */

/* Angles of the sectors, read in this order; NaN where a sector could not be read (from the media). */
int geo_probe(struct geo *g, const uint64_t *sectors, double *ret_angles, size_t n, struct err *err);
/*
 * The same, at most GEO_BATCH of them; ret_doubt[i]: the read was so short that the drive may have had the sector
 * already, and the angle may be that of the answer, not the sector's. again: those whose doubt is set are read anew,
 * after reads elsewhere.
 */
#define GEO_BATCH 128 /* reads in one go: two for each edge of a survey */
int geo_probe_doubt(struct geo *g, const uint64_t *sectors, double *ret_angles, bool *ret_doubt, size_t n, bool again,
                    struct err *err);
/* One look at each, whatever the noise wants: it is not remembered where others would follow. */
int geo_probe_once(struct geo *g, const uint64_t *sectors, double *ret_angles, bool *ret_doubt, size_t n, bool again,
                   struct err *err);
/*
 * How often each sector is looked at, where differences stray by so much of a revolution: 1, or an odd number.
 * flush: what making the cache forget before each look costs, as geo_flush_cost() says.
 */
unsigned geo_looks(double near, double flush);
double geo_noise_left(unsigned looks); /* that part of it */
#define GEO_MEDIAN_LOSS sqrt(M_PI_2)   /* of a normal law a median strays more than a mean, by that */
void geo_set_looks(struct geo *g, unsigned looks);
bool geo_look_more(struct geo *g); /* two more of them; false: it would be no use, or too many */
/*
 * Are several sectors read upwards? Some drives keep what comes by before the sector that is asked for. Then reading
 * one puts most of what lies below into the cache, while those above come by at their time.
 */
bool geo_goes_up(const struct geo *g);
/* How often the cache has the second of two neighbours that are read one after the other, downwards or upwards. */
double geo_hit_share(const struct geo *g, bool is_up);
/* All of them anew, in this order, after reads elsewhere; what the cache answers stays NaN. At most GEO_BATCH. */
int geo_probe_afresh(struct geo *g, const uint64_t *sectors, double *ret_angles, size_t n, struct err *err);
/* As geo_probe_doubt does, but what the cache answers stays NaN. */
int geo_probe_new(struct geo *g, const uint64_t *sectors, double *ret_angles, bool *ret_doubt, size_t n,
                  struct err *err);
/*
 * Angles that were read twice: of each sector the earlier of two readings that agree, as answers come late, never
 * early. NaN: none did, or the sector could not be read. At most GEO_BATCH.
 */
int geo_probe_sure(struct geo *g, const uint64_t *sectors, double *ret_angles, size_t n, struct err *err);
/* Reads elsewhere, so that the drive's cache has nothing any more of what lies between these sectors. */
int geo_make_forget(struct geo *g, uint64_t first, uint64_t end, struct err *err);
#define GEO_BESIDE_BYTES (64u << 20) /* so far away nothing is in the cache by what was read ahead */
/* All that is known: one of the angles may be of a late answer. */
void geo_forget(struct geo *g);
#define GEO_DEAR      12.0  /* reads: so much making the cache forget costs where it is avoided */
#define GEO_VERY_DEAR 100.0 /* where a run has time to do it some hundred times, as with caches of many megabytes */
/* What making the drive's cache forget costs, in reads of the media. */
double geo_flush_cost(const struct geo *g);

/* ---- angles ---- */

/* The difference of two angles in [0, 1). Here, as the fit of a layout does little else. */
static inline double geo_frac(double x)
{
	return x - floor(x);
}

/* As far from each other as that, the short way: [0, 0.5]. */
static inline double geo_apart(double a, double b)
{
	double d = fabs(a - b);

	if (d >= 1.0) /* hardly ever */
		d = geo_frac(d);
	return d > 0.5 ? 1.0 - d : d;
}

/* Two differences of two angles that are less apart are taken for the same: so far single ones stray, the tails of what
 * noise is like aside. */
static inline double geo_near(const struct geo *g)
{
	return 1.5 * g->tol;
}

/* ---- spindle.c ---- */

/* From now on the clock is kept; until then it goes by the period alone, as places that are looked at for seconds only
 * need no more. */
void geo_spindle_start(struct geo *g);
/* Reads the anchors if it is time to, and sets the clock right. */
int geo_spindle_follow(struct geo *g, struct err *err);
/* Revolutions up to a completion. */
double geo_turns(const struct geo *g, uint64_t done_ns);

struct geo_drift {
	double period_ns, error; /* relative, 95 %, with what it has changed by on the way */
	double change;           /* of the speed, against the begin; 0: none that is certain */
};

/* The speed of the run's last quarter if it has changed since the rotation was found, beyond doubt; else over all of
 * it. false: it is not known better than from that search. */
bool geo_spindle_speed(const struct geo *g, struct geo_drift *ret);

/* A sector was read, and the cache had it or not. */
void geo_kept_read(struct geo_kept *k, uint64_t sector, bool is_hit);
/* Does the drive keep what comes by before the sector that is asked for, so that what lies below a read is in the
 * cache? */
bool geo_kept_has_below(const struct geo_kept *k);
/* Where an edge lies behind `in` and at most at `out`: which sector between them is to be read next. flush: reads that
 * it takes to make the cache forget. */
uint64_t geo_kept_next(const struct geo_kept *k, uint64_t in, uint64_t out, double flush);
