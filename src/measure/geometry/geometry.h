/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the measurement geometry: its parts share one run. Not a door. */
#ifndef PLATTER_MEASURE_GEOMETRY_H
#define PLATTER_MEASURE_GEOMETRY_H

#include <math.h>

#include "measure/shared/heads.h"
#include "measure/shared/timed.h"

extern const struct measure measure_geometry; /* runs itself again */

struct geometry_params {
	bool quick, tracks, requests;
};

#define GEO_KNOWN 4096 /* angles remembered: a survey and what is confirmed of it take some hundreds */

#define GEO_STEPS 6

#define GEO_RECENT 512  /* reads that the drive may still have */
#define GEO_REACH  14   /* distances of up to 2^14 sectors are told apart, by powers of two */
#define GEO_GAP    1024 /* sectors of a gap for which steps are computed; a wider one is halved first */

/* What the drive's cache keeps of single reads; see kept.c. */
struct geo_kept {
	uint64_t recent[GEO_RECENT];
	size_t n; /* all of them, since the cache has forgotten */
	struct {
		uint32_t reads, hits;
	} seen[2][GEO_REACH]; /* below and above a read, so far away */
	uint64_t ahead;       /* what the steps were computed for */
	double flush;
	uint16_t open_step[GEO_GAP + 1], kept_step[GEO_GAP + 1];
};

/* ---- spindle.c: its clock ---- */

#define GEO_ANCHORS 12  /* sectors that are read again and again */
#define GEO_POINTS  256 /* times at which the clock was held against them */

struct geo_spindle {
	uint64_t at_ns; /* the clock: so many revolutions then, and on from there; 0: it has not begun, which the first
	                   read does */
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

/* A sector is a physical one; angles are parts of a revolution, of the moment when the sector has passed. */
struct geo {
	struct session *ses;
	const struct geometry_params *p;
	struct timed t;
	struct rotation rot;
	uint64_t sectors; /* of the target */
	double tol;       /* angles closer than this are the same */
	unsigned looks;   /* at each sector: what is told of it is the middle of so many */
	struct geo_spindle spindle;
	double per_track; /* sectors of a track, about, where the run is */
	uint64_t begin;   /* of a track, where a survey begins at one */
	struct geo_way {
		uint32_t tries;
		double ns, helped;  /* time that it took; how often the cache had forgotten behind it */
		uint32_t high, low; /* reads elsewhere that were enough of late, and that were not */
		uint32_t times;
	} step[GEO_STEPS];  /* ways to read elsewhere */
	unsigned up_agreed; /* grids that were read upwards with the same angles as downwards */
	bool is_up_vain;    /* one was not */
	struct {
		uint32_t pairs, hits;
	} way[2]; /* pairs of neighbours that were read downwards and upwards, and how often the cache had the second */
	struct geo_kept kept;
	uint64_t last;      /* sector that was read */
	bool is_fua_ahead;  /* whether FUA is obeyed was seen in what the drive had read ahead */
	uint32_t fua_looks; /* since: so often it was doubted */
	uint64_t reads, flushing, failed;
	uint64_t tracks_seen;
	uint64_t walk_ns, walk_seen; /* time of the walk, ends of tracks that it looked at */
	bool is_cut;          /* the walk ended for want of time, as what comes behind it has a share kept for it */
	uint64_t budget_ns;   /* of the whole run: --time, or GEO_BUDGET */
	uint64_t until_ns;    /* what is being looked for may take until then, counted from the start of the run */
	uint64_t spare;       /* sectors of each track that nobody can address, which the spacing of the others shows */
	bool is_spare_unsure; /* not the same in all places, or not sure */
	struct table *angles;
	/* Angles that are known for certain, by sector: reading one again would need a way round the drive's cache. */
	struct {
		uint64_t sector;
		double angle;
	} known[GEO_KNOWN];
};

/* A place where the angle jumps: the end of a track, or missing sectors. */
struct geo_edge {
	uint64_t first;       /* sector after the jump */
	double jump;          /* in [0, 1): beyond the spacing of the sectors behind it; NaN: not known */
	double before, after; /* spacing of sectors on both sides, revolutions; NaN: not known */
	bool is_unsure;       /* it was not there again when it was looked at once more */
};

/* ---- budget.c ---- */

/* Device time that a run may take unless --time says otherwise: a coffee, and enough for the whole of a disk in good
 * order. */
#define GEO_BUDGET_NS (600 * NS_PER_S)

/* What comes next may take until this part of the budget is spent; the rest is for what comes behind it. */
void geo_may_take(struct geo *g, double part);
/* Is the run over, or the time of what is being looked for? The second one is for what computes and reads nothing. */
bool geo_is_over(const struct geo *g);
bool geo_has_thought_enough(const struct geo *g);
/* Is all of the budget spent? */
bool geo_is_late(const struct geo *g);
/* A share of the budget for what begins now: when it ends, and whether it has ended, or the run's time has. */
uint64_t geo_share_end_ns(const struct geo *g, double part);
bool geo_is_share_over(const struct geo *g, uint64_t end_ns);
/* How far the run is: by what is done, or by the time that it may take, whichever is farther. */
double geo_done(const struct geo *g, double done);

/* ---- probe.c ---- */

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
/*
 * How often each sector is looked at, where differences stray by so much of a revolution: 1, or an odd number.
 * are_dear: making the cache forget before each look takes long.
 */
unsigned geo_looks(double near, bool are_dear);
double geo_noise_left(unsigned looks); /* that part of it */
void geo_set_looks(struct geo *g, unsigned looks);
bool geo_look_more(struct geo *g); /* two more of them; false: it would be no use, or too many */
#define GEO_UP_GRIDS 2             /* that have to agree */
/*
 * Are several sectors read upwards? Where the drive keeps what comes by before a sector that is asked for, reading one
 * has most of what lies below in the cache, and those above come by at their time.
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
/* All that is known: one of the angles may be of a late answer. */
void geo_forget(struct geo *g);
#define GEO_DEAR      12.0  /* reads: so much making the cache forget costs where it is avoided */
#define GEO_VERY_DEAR 100.0 /* where a run has time to do it some hundred times, as with caches of many megabytes */
/*
 * Before a sector is read that lies a little above the one before: a drive that reads on until it is there has all
 * between in its cache afterwards, so something elsewhere is read first, if making the cache forget is dear.
 */
int geo_leave(struct geo *g, uint64_t sector, struct err *err);
/* What making the drive's cache forget costs, in reads of the media. */
double geo_flush_cost(const struct geo *g);

/* ---- angles.c ---- */

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
double geo_near(const struct geo *g);

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
	double change;           /* of the speed, against the begin */
	uint64_t from_ns;
};

/* Has the speed changed since the rotation was found, beyond doubt? The speed of the last quarter of the run. */
bool geo_spindle_drift(const struct geo *g, struct geo_drift *ret);
/* The speed over the run; false: it is not known better than from the search of the rotation. */
bool geo_spindle_speed(const struct geo *g, struct geo_drift *ret);
/* The period as it is told, and its error: relative, 95 %. */
double geo_spindle_period(const struct geo *g, double *ret_error);

/* ---- kept.c ---- */

/* A sector was read, and the cache had it or not. */
void geo_kept_read(struct geo_kept *k, uint64_t sector, bool is_hit);
/* The cache has forgotten all that was read. */
void geo_kept_forget(struct geo_kept *k);
/* Does the drive keep what comes by before the sector that is asked for, so that what lies below a read is in the
 * cache? */
bool geo_kept_has_below(const struct geo_kept *k);
/* Where an edge lies behind `in` and at most at `out`: which sector between them is to be read next. flush: reads that
 * it takes to make the cache forget. */
uint64_t geo_kept_next(struct geo_kept *k, uint64_t in, uint64_t out, double flush);

/* ---- ahead.c ---- */

/*
 * A drive may keep what it has read ahead, but not what it was asked for, so that a sector read again and again shows
 * no cache. Where none was found: a sector is read, one elsewhere, and the one behind the first, which comes at once if
 * it is in the cache; g->rot.hit_most_ns is set then.
 */
int geo_find_ahead(struct geo *g, struct err *err);

/* ---- edges.c ---- */

/* Sectors per track near a sector, roughly; guess: not more than the true one, and not below a quarter of it. NaN:
 * could not tell. */
int geo_spacing(struct geo *g, uint64_t near, double guess, double *ret_per_track, struct err *err);
/* All edges in [from, from + span): the exact sectors. per_track: as geo_spacing says. */
int geo_survey(struct geo *g, uint64_t from, uint64_t span, double per_track, struct geo_edge *ret, size_t max,
               size_t *ret_n, struct err *err);

/*
 * Angles of the sectors first[] and of those before them, each read twice: by how much more than the spacing they are
 * apart. NaN: not both could be read. None of first[] is 0; at most GEO_JUMPS.
 */
#define GEO_JUMPS (GEO_BATCH / 2)
int geo_read_jumps(struct geo *g, const uint64_t *first, const double *spacing, size_t n, double *ret, struct err *err);
/* Looks at both sides of each edge once more; how many are no edges. Those are unsure from then on. */
int geo_confirm(struct geo *g, struct geo_edge *edge, size_t n, size_t *ret_wrong, struct err *err);

/* A track as it was found. */
struct geo_track {
	uint64_t first, sectors; /* with data */
	uint64_t per_track;      /* with the missing ones */
	uint64_t missing;
	double skew;      /* in front of it, revolutions; NaN: not known */
	bool is_sure;     /* per_track is; else it is what was found */
	bool is_doubtful; /* one of its ends may be elsewhere */
};
/* Edges to the tracks between them: missing sectors are told from ends of tracks, and joined. Returns how many. */
size_t geo_tracks(const struct geo *g, const struct geo_edge *edge, size_t n, struct geo_track *ret);

/* ---- spare.c ---- */

struct geo_spare {
	double more, error; /* sectors that nobody can address, and a standard error; infinite: not looked at, as noise
	                       does not hide them */
	uint64_t sectors, most; /* the nearest whole number; there may be so many */
	bool is_sure;
};

/* What these are of a revolution, in a track with so many sectors beside: the walk has that in its skews. */
static inline double geo_spare_turn(const struct geo *g, uint64_t size)
{
	return size ? (double)g->spare / (double)(size + g->spare) : 0.0;
}

/* Of the tracks of that size, which show no missing sectors. */
int geo_spare(struct geo *g, const struct geo_track *track, size_t n, uint64_t size, struct geo_spare *ret,
              struct err *err);

/* ---- places.c ---- */

extern const struct field geo_track_fields[];

/* Sectors per track there, of which nothing is known yet: from the rate beside it, and then as geo_spacing() does. NaN:
 * not known. */
int geo_place_spacing(struct geo *g, uint64_t sector, double *ret_per_track, struct err *err);
/* Figures of sectors per track at the start, in the middle and at the end, the usual skew, and the table of the tracks
 * that were looked at. */
int geo_look_at_places(struct geo *g, struct err *err);

/* ---- what the walk finds ---- */

/* Tracks of one size, each followed by the same jump. */
struct geo_run {
	uint64_t per_track, tracks;
	double jump;
	double turn; /* from its first track's angle to the angle of the track behind its last, in [0, 1) */
};

#define GEO_RUNS 72 /* of a cycle: two turns of GEO_HEADS surfaces and the changes between */

/* A stretch of the disk: a few runs, so many times over. */
struct geo_item {
	uint64_t first, end; /* sectors */
	uint64_t tracks, times, missing;
	bool is_unsure;    /* the sizes are of what was found, a part of a track perhaps */
	bool is_unseen;    /* its end could not be read again */
	bool is_confirmed; /* its end was seen twice, or will not be looked at again */
	uint32_t nruns;
	struct geo_run
		*run; /* of the walk's items: heap memory. A disk with many missing sectors has items without number */
};

/* Missing sectors inside of a track. */
struct geo_gap {
	uint64_t first, sectors; /* the one behind them; how many */
};

struct geo_walk {
	struct geo *g;
	uint64_t at;      /* the first sector of a track */
	double angle;     /* of it */
	double per_track; /* about */
	double next_size; /* the same for the track at `at`, once that is known */
	bool is_stuck;
	bool is_whole; /* it has come to the end */
	struct geo_run runs[3 * GEO_RUNS];
	size_t nruns;
	struct geo_item *items;
	size_t nitems, room;
	struct geo_gap *gaps; /* in order */
	size_t ngaps, gaps_room;
	size_t confirmed; /* items in a row whose ends were seen twice */
	/* What was found behind an end that was none, while the walk goes again from there; in order. */
	struct geo_item *later;
	struct geo_gap *later_gaps;
	size_t nlater, nlater_gaps;
	unsigned guesses, guess_fails; /* of sizes, from tracks ahead: that were right, and not */
	uint64_t again_at;
	unsigned again, again_all; /* how often the item there was walked again; all of them */
};

/* ---- found.c ---- */

void geo_walk_free(struct geo_walk *w); /* and what it found; NULL is fine */

/* ---- walk.c ---- */

#define GEO_NOISY 0.002 /* of a revolution: what is told apart better than that shows other skews at once */

/* From w->at to the end of the disk, or of the time. */
int geo_walk_on(struct geo_walk *w, struct err *err);

/* ---- sequence.c ---- */

#define GEO_HEADS     HEADS_MOST
#define GEO_ZONES_MAX 256 /* drives have up to some 80; more are what a wrong layout makes of the sequence */

/* Equal tracks in a row, each followed by the same jump. */
struct geo_seg {
	uint64_t first, size, track, tracks; /* track: number of the first one */
	double jump;
	double before; /* the skew in front of the first one, by what its begin is turned; only of the first nof tracks
	                */
	bool has_gap;  /* one with missing sectors */
	bool is_odd;   /* one of which only a part may be there: its size says little */
};

/* What is tried. */
struct geo_shape {
	uint32_t heads;
	uint64_t band; /* cylinders; 1: head-first; 0: as many as the zone has */
	bool is_alternate, is_serpentine;
};

/* Is the sequence the same for both? The way of the arm makes no difference to it. */
static inline bool geo_is_same_sequence(const struct geo_shape *a, const struct geo_shape *b)
{
	return a->heads == b->heads && a->band == b->band && a->is_alternate == b->is_alternate;
}

/* Accesses say that a band of this layout begins there, or head-first a cylinder, whatever the sequence says. */
struct geo_pin {
	uint64_t track, first; /* its first sector */
	struct geo_shape shape;
};

#define GEO_PINS 64

struct geo_order {
	const struct geo *g; /* when its run is over, nothing is tried any more */
	struct geo_seg *seg;
	size_t n, room, hint;
	uint32_t *of; /* segments of the first nof tracks, which are read again and again; NULL: none */
	uint64_t nof;
	uint64_t tracks;
	uint64_t ranked; /* the first so many are what layouts are ranked by */
	double tol;
	struct geo_pin pin[GEO_PINS];
	size_t npins;
};

/* All tracks in order; o is zero before, and is freed by the caller, also after an error. */
int geo_order_fill(struct geo_order *o, const struct geo_walk *w, struct err *err);
/* The same anew, as the walk has gone on; pins stay where they are. */
int geo_order_fill_again(struct geo_order *o, const struct geo_walk *w, struct err *err);
void geo_order_free(struct geo_order *o); /* what it holds, and then it is zero */
/* Its last step (slipped.c): tracks that lack a few sectors, where noise hid that, become tracks of the size that they
 * are of. -ENOMEM, or 0. */
int geo_order_fill_up(struct geo_order *o);
/* The equal tracks that this one is among, wherever they are. */
const struct geo_seg *geo_order_find(struct geo_order *o, uint64_t track);

/* The same, which nearly always are known, or those of last time. */
static inline const struct geo_seg *geo_order_at(struct geo_order *o, uint64_t track)
{
	const struct geo_seg *seg = &o->seg[o->hint];

	if (track < o->nof)
		return &o->seg[o->of[track]];
	return o->hint < o->n && track - seg->track < seg->tracks ? seg : geo_order_find(o, track);
}

static inline uint64_t geo_order_first(struct geo_order *o, uint64_t track)
{
	const struct geo_seg *seg = geo_order_at(o, track);

	return seg->first + (track - seg->track) * seg->size;
}

/* The skew between two of them, one behind the other: a jump is that of the ends of first sectors. */
static inline double geo_order_between(const struct geo_seg *seg, const struct geo_seg *next)
{
	return seg->jump + 1.0 / (double)seg->size - 1.0 / (double)next->size;
}

/* How often sizes or skews change within the first so many tracks. */
static inline size_t geo_order_changes(const struct geo_order *o, uint64_t tracks)
{
	size_t n = 0;

	while (n < o->n && o->seg[n].track < tracks)
		n++;
	return n;
}

/* Are these two skews the same? */
static inline bool geo_order_same(const struct geo_order *o, double a, double b)
{
	return geo_apart(a, b) < o->tol;
}

/* ---- band.c ---- */

/* Is there a pin for this shape? */
bool geo_has_pin(const struct geo_order *o, const struct geo_shape *shape);

/* A track without data. */
struct geo_hole {
	uint64_t track; /* the next one with data */
	size_t zone;    /* that it is in */
	uint32_t head;
};

/* Where tracks [first, first + n) lie if the shape is true. */
struct geo_labels {
	uint64_t first, n;
	uint64_t *cylinder; /* NULL: not wanted */
	uint32_t *head;
	struct geo_hole *hole; /* those in front of them, in order */
	size_t nholes, most;   /* most: there is room for so many; 0: they are not wanted */
};

enum geo_change { GEO_TO_CYLINDER, GEO_TO_HEAD, GEO_TO_BAND, GEO_CHANGES };

struct geo_state {
	double jump[GEO_CHANGES], other[GEO_CHANGES]; /* the usual one; one that was seen last and is not usual */
	double cost;
	uint64_t left_out;
	double left_cost; /* what those cost that were left out, which is no sign of a wrong reading */
	double rest; /* of the skew in front of the next track, when tracks without data were last; NaN: all of it */
	double often[GEO_CHANGES]; /* what most of the zone's changes have (Boyer and Moore 1981) */
	int64_t votes[GEO_CHANGES];
};

struct geo_parser {
	struct geo_order *o;
	const struct geo_shape *shape;
	struct geo_labels *labels;
	size_t zone;       /* while there are labels */
	uint64_t cylinder; /* of the band */
};

struct geo_band {
	uint64_t cylinders;
	uint64_t size[GEO_HEADS]; /* of the zone's surfaces; 0: learned here */
	bool is_back;
	size_t skip, skip_to;       /* these slots have no data; SIZE_MAX: none */
	bool is_full;               /* no other has none, whatever a skew looks like */
	bool is_doubtful;           /* ret: the skew of one does look like that */
	double most;                /* of cost: more, and it does not fit */
	uint64_t hurt, hurt_tracks; /* the first, second ... surface has so many tracks, some more or fewer than it
	                               should; 0: none */
	uint64_t misfit, begun[2];  /* the surface that did not fit; where the one before it and itself begin */
};

/* A band from track *t on, which is then behind it; false: the sizes do not fit. */
bool geo_match(struct geo_parser *p, struct geo_band *b, struct geo_state *st, uint64_t *t);
/* Behind a cylinder b: how many more, up to track `to`, are of tracks in a row that are all alike; *t is behind them
 * then, and st as if each had been matched. */
uint64_t geo_pass_alike(const struct geo_parser *p, const struct geo_band *b, struct geo_state *st, uint64_t *t,
                        uint64_t to);
/* The size of the longest row of equal tracks there; 0: there is none. */
uint64_t geo_usual_size(struct geo_order *o, uint64_t from, uint64_t end);
/* One surface, cylinder by cylinder: a track without data is passed together with the next one. */
bool geo_is_single_slot(const struct geo_parser *p, const struct geo_band *b);

/* ---- order.c ---- */

/* How many tracks lie between two changes of size or skew, odd tracks aside; the first so many. */
size_t geo_order_lengths(struct geo_order *o, uint64_t *ret, size_t max);

struct geo_fit_zone {
	uint64_t first, track, tracks, cylinder, cylinders, bands; /* bands: whole ones */
	uint64_t size[GEO_HEADS];
	double head_skew, cylinder_skew, band_skew; /* NaN: none */
	double margin; /* so much dearer is the cheapest reading of the sequence in which no zone begins here */
};

/* On any of its surfaces. */
static inline bool geo_has_size(const struct geo_fit_zone *z, uint64_t size)
{
	for (size_t k = 0; k < GEO_HEADS; k++)
		if (z->size[k] == size)
			return true;
	return false;
}

struct geo_fit {
	struct geo_fit_zone zone[GEO_ZONES_MAX];
	size_t n;
	double cost;
	uint64_t left_out;
	double left_cost; /* of these in cost */
};

/*
 * The first so many tracks as zones of that shape; none, at an infinite cost, when limit is passed, or the run is over.
 * labels may be NULL.
 */
void geo_order_fit(struct geo_order *o, const struct geo_shape *shape, uint64_t tracks, double limit,
                   struct geo_labels *labels, struct geo_fit *fit);
/* All tracks, and the margins of the zones. */
void geo_order_fit_whole(struct geo_order *o, const struct geo_shape *shape, struct geo_fit *fit);

/* ---- zones.c ---- */

struct geo_zone {
	size_t first_item, end_item;
	size_t best; /* the item with the longest stretch without trouble */
	uint64_t size[GEO_RUNS];
	size_t nsizes;   /* of its tracks, in the order of the surfaces; 1: all are equal */
	bool is_unclear; /* it may belong to a neighbour */
};

#define GEO_MISREAD                                                                                                   \
	2.0 /* times the cost of the layout that is right, that what a wrong reading, or mistakes, add to it may make \
	       (seen: 1.6) */
#define GEO_SURE 6.0 /* of cost: the margin of an edge that is certain */
#define GEO_FEW  3   /* fewer tracks of a surface than that may be an accident */

struct geo_zone_row {
	uint64_t first_byte, last_byte, sectors_per_track;
	double skew_ratio;
	uint64_t surface, tracks, missing;
	const char *certainty;
};

extern const struct field geo_zone_fields[];
/* Heap array; how many. */
size_t geo_zones(struct geo_walk *w, struct geo_zone **ret);
struct geo_layout;
/* Is where this zone of the layout begins or ends, or the layout itself, not certain? */
bool geo_fit_is_unclear(const struct geo_walk *w, const struct geo_layout *layout, size_t i);
/* Rows from a layout; how many zones are unclear. */
size_t geo_fit_rows(struct geo_walk *w, const struct geo_layout *layout, uint64_t end);
/* The same from what the walk found. end: the sector behind the last zone. */
size_t geo_zone_rows(struct geo_walk *w, const struct geo_zone *zone, size_t n, uint64_t end,
                     const struct geo_layout *layout);

/* ---- shapes.c ---- */

#define GEO_RANK_TRACKS 40000 /* the first so many are enough for ranking */
#define GEO_SHAPES_MAX                                                                                               \
	320 /* that are kept at a time, half of them until each has its ways of the arm; the dear ones go when it is \
	       full */

/* Layouts that explain the sequence at about the least cost, the cheapest first; ret: GEO_SHAPES_MAX. Where it is
 * broken o->ranked is less then. -ENOMEM, or 0. */
int geo_shapes(struct geo *g, struct geo_order *o, struct geo_shape *ret, size_t *ret_n);
/* Figure layout. */
void geo_tell_layout(struct result *res, const struct geo_shape *shape);
/* A notice: whether heads alternate was not seen, so that it is told as if they did not. */
void geo_say_turning_is_hidden(struct result *res);
/* The same but for whether every second band goes through the heads backwards. */
bool geo_is_turned(const struct geo_shape *a, const struct geo_shape *b);

/* ---- access.c ---- */

struct geo_profile_row {
	uint64_t distance_tracks;
	double access_ns, resolution_ns;
	uint64_t first_byte;
};

extern const struct field geo_profile_fields[];

/*
 * Parts of the whole run, of about so much of its time: the walk; layouts, and accesses that speak for or against them;
 * accesses in a second place. The larger the disk the more the walk takes.
 */
#define GEO_WALK_AT   0.15
#define GEO_LAYOUT_AT 0.65
#define GEO_CHECK_AT  0.88

struct geo_spot { /* a track */
	uint64_t first, sectors;
	double angle;
};

struct geo_pair {
	struct geo_spot from, to; /* first and sectors are given */
	uint64_t distance;        /* tracks, for the table */
	double access, error;     /* revolutions; NaN: could not be found. error: a standard deviation */
	double aim;               /* while it is searched for */
	bool is_done;
	int stuck;
};

/* The shortest access of each pair. from, to: the part of the whole run that this is. *ret_scatter: of single accesses,
 * revolutions. */
int geo_shortest(struct geo *g, struct geo_pair *pair, size_t n, double from, double to, double *ret_scatter,
                 struct err *err);

/* ---- threshold.c ---- */

#define GEO_LOOKS     28  /* accesses of a pair: halving comes to the scatter in 10, the rest is for late ones */
#define GEO_TURNS_MAX 4.0 /* revolutions: no shortest access is longer */

/* Accesses of one pair that were aimed: how many revolutions each took. */
struct geo_looks {
	double turns[GEO_LOOKS];
	size_t n;
};

/* Accesses that are longer are made; evidence: how well that explains the looks (a log-likelihood). */
struct geo_border {
	double at, error, evidence;
};

/* scatter: of the time that a single access takes. */
struct geo_border geo_border(const struct geo_looks *looks, double scatter);
/* The deviation of single accesses that explains the looks of all pairs best. */
double geo_scatter(const struct geo_looks *looks, size_t n);

/* ---- arms.c ---- */

/* Do several arms, or disks, share the addresses? The kernel says so, or accesses show it. Only of whole disks. */
int geo_arms(struct geo *g, bool *ret_are_several, struct err *err);

/* ---- layout.c ---- */

struct geo_layout {
	struct geo_shape shape;
	struct geo_fit *fit;    /* the zones of the best shape; NULL: none that explains the tracks */
	bool is_told;           /* the figures are */
	bool is_messy;          /* it leaves too much unexplained */
	bool is_mended;         /* by accesses: in between, which track is on which surface is not known */
	bool is_turning_said;   /* that heads alternate, or not, by accesses */
	bool is_turning_hidden; /* they may or may not, for all that is known */
	/* Where a zone begins under each layout that explains the sizes and skews: first sectors, in order. */
	uint64_t edge[GEO_ZONES_MAX];
	size_t nedges;
};

/* Figures surfaces, layout, confidence, or a notice. ret->fit is the caller's to free. */
int geo_layout(struct geo *g, struct geo_order *o, struct geo_layout *ret, struct err *err);

/* ---- lengths.c; the rest of it is in search.h ---- */

/* That of most cylinders, the first of them; NULL: there is no zone. */
const struct geo_fit_zone *geo_longest_zone(const struct geo_fit *fit);
/* How long the longest zone is, if what lies behind it has the same sizes on the same surfaces: as long as a band. 0:
 * it has not. */
uint64_t geo_band_behind(const struct geo_fit *fit);

/* ---- settle.c ---- */

/*
 * Of a layout that is told, and its zones: if all that was walked says for certain that heads alternate, or do not, it
 * is told and read that way; where it makes no difference, a notice says so, and a surface is one of two. (Drives of
 * which all surfaces are alike are rare since the density of each is set apart.)
 */
int geo_settle_turning(struct geo *g, struct geo_order *o, struct geo_layout *l, struct err *err);

/* Of a layout in which a zone is one band, and all that was walked: if it says how long bands are, it is told and read
 * that way; if only that zones are longer, the layout is not told any more. */
int geo_settle_band(struct geo *g, struct geo_order *o, struct geo_layout *l, struct err *err);

/* ---- heads.c ---- */

#define GEO_NOWHERE UINT32_MAX /* no surface that is told */

/* What lies where, as far as a layout is told and zones are sure. */
struct geo_map {
	struct geo_walk *w;
	struct geo_order *o;
	const struct geo_layout *layout;
	uint32_t *head;  /* of each track, or GEO_NOWHERE */
	bool *is_sure;   /* of each zone of the layout */
	bool is_as_told; /* the zones that head[] is by are those that are told */
	struct geo_hole *hole;
	size_t nholes;
	bool are_surfaces; /* the disk's; else those of the first of several arms */
};

/* Tables heads, surfaces and defects. */
int geo_map_rows(struct geo_walk *w, struct geo_order *o, const struct geo_layout *layout, struct err *err);

/* ---- pieces.c ---- */

#define GEO_PIECES_MOST 16

/*
 * The sector `first`, then pieces up to end[i] behind each other. ret_done_ns: n + 1, the first sector's first.
 * *ret_is_read: all were, and the first sector from the media.
 */
int geo_read_pieces(struct geo *g, uint64_t first, const uint64_t *end, size_t n, uint64_t *ret_done_ns,
                    bool *ret_is_read, struct err *err);

/* ---- rates.c: whole tracks of each surface ---- */

#define GEO_RATES_PART 0.012 /* of the budget: some seconds, */
#define GEO_SLOW_PART  0.02  /* and for what was late to be looked at again, as far as there is time */
#define GEO_RATES_AT   0.97  /* so the walk ends before; what is left is for the answers on the way */

struct geo_rate_row {
	uint64_t surface, first_byte, tracks, late;
	double read_bytes_per_s, low_bytes_per_s, high_bytes_per_s;
};

extern const struct field geo_rate_fields[];

/* Table rates, and notices of surfaces that are worse than the others; then what slow.c tells of. */
int geo_read_rates(const struct geo_map *m, struct err *err);
/* ---- slow.c ---- */

struct geo_slow_row {
	uint64_t first_byte, length_bytes, surface, times;
	const char *what;
};

extern const struct field geo_slow_fields[];

/* A track that took revolutions more: lost between these sectors. */
struct geo_late {
	uint64_t track, sectors, from, end;
	uint32_t head, times; /* times: it was read again */
};

/* Table slow. */
int geo_look_at_late(struct geo *g, struct geo_late *late, size_t n, struct err *err);

/* ---- defects.c ---- */

extern const struct field geo_surface_fields[], geo_defect_fields[];

#define GEO_DEFECTS_PART 0.012 /* of the budget: for a second look at the ends of tracks that lack something, */
#define GEO_DEFECTS_AT   0.985 /* so the walk ends before, also where rates are not read */

/* Does the angle jump by what was seen there before, or by as much more as the track lacks, which may be at its begin
 * or its end? */
bool geo_jumps_as_seen(double jump, double seen, double lack, double near);
/*
 * Does the angle say that a track is passed over? It jumps as it was seen to, by more or less than between two tracks
 * of the zone, and behind the next one as between any two: a track that lies askew for itself jumps back.
 */
bool geo_passes_track(const struct geo_fit_zone *z, double jump, double seen, double behind, double near);
/* What is missing, sure where a second look found both ends of the track (or, of one that is missing, the jump), and
 * the surfaces with how much of it each has. */
int geo_defect_rows(const struct geo_map *m, struct err *err);

#endif
