/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sequence of tracks, and how a layout reads it. Behind walk.h. Not a door. */
#pragma once

#include "measure/geometry/walk.h"

/* ---- sequence.c ---- */

#define GEO_READINGS \
	64 /* of the sequence that are kept at a time, of one shape or of all: the dear ones go when it is full */
#define GEO_HEADS     HEADS_MOST
#define GEO_ZONES_MAX 256 /* drives have up to some 80; more are what a wrong layout makes of the sequence */

#define GEO_SOME_TRACKS 1500  /* that show something of a layout: several turns of most */
#define GEO_RANK_TRACKS 40000 /* the first that many are enough for ranking */

/* Equal tracks in a row, each followed by the same jump. */
struct geo_seg {
	uint64_t first, size, track, tracks; /* track: number of the first one */
	double jump;
	double before; /* the skew in front of the first one, by what its begin is turned; only of the first nof tracks
	                */
	bool has_gap;  /* one with missing sectors */
	bool is_odd;   /* one of which only a part may be there: its size says little */
};

/* Whole tracks that lack nothing: their sectors are where those of such a track are. */
static inline bool geo_is_plain(const struct geo_seg *seg)
{
	return !seg->is_odd && !seg->has_gap;
}

/* What is tried. */
struct geo_shape {
	uint32_t heads;
	uint64_t band; /* cylinders; 1: head-first; 0: as many as the zone has */
	bool is_alternate, is_serpentine;
};

struct geo_order {
	struct geo *g; /* when its run is over, nothing is tried any more */
	struct geo_seg *seg;
	size_t n, room, hint;
	uint32_t *of; /* segments of the first nof tracks, which are read again and again; NULL: none */
	uint64_t nof;
	uint64_t tracks;
	uint64_t end; /* sectors */
	double tol;
};

/* All tracks in order; o is zero before. */
void geo_order_fill(struct geo_order *o, const struct geo_walk *w);
void geo_order_free(struct geo_order *o); /* what it holds, and then it is zero */
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

/* How often sizes or skews change within the first that many tracks. */
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

/* Jumps up to that many times what two may differ by may be hidden by noise. */
#define GEO_HIDDEN 2.0
/* Costs are in units of one odd skew. */
#define GEO_COST_TWO \
	2.0           /* what changes two: a track without data, a zone; or a surface of the first one unlike others */
#define GEO_AHEAD 8.0 /* a way to read the sequence that is behind by so much is given up */
#define GEO_SURE  6.0 /* the margin of an edge that is certain */

/* ---- what a layout reads ---- */

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
	size_t nholes, most;   /* most: there is room for that many; 0: they are not wanted */
};

enum geo_change { GEO_TO_CYLINDER, GEO_TO_HEAD, GEO_TO_BAND, GEO_CHANGES };

struct geo_state {
	double jump[GEO_CHANGES], other[GEO_CHANGES]; /* the usual one; one that was seen last and is not usual */
	double cost;
	uint64_t left_out;
	double left_cost; /* what those cost that were left out, which is not a sign of a wrong reading */
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
	uint64_t matched;  /* slots so far */
};

struct geo_band {
	uint64_t cylinders;
	uint64_t size[GEO_HEADS]; /* of the zone's surfaces; 0: learned here */
	bool is_back;
	size_t skip, skip_to; /* these slots have no data; SIZE_MAX: none */
	bool is_full;         /* no other has none, whatever a skew looks like */
	uint64_t extra;       /* that track is none, but a piece of the one before it; 0: there is no such */
	bool is_doubtful;     /* ret: the skew of one does look like that */
	bool is_bare;         /* surfaces hold what the first track of each does */
	bool is_filled;       /* ret: one was taken to hold more */
	double most;          /* of cost: more, and it does not fit */
};

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

/* ---- band.c ---- */

/* A band from track *t on, which is then behind it; false: the sizes do not fit. */
bool geo_match(struct geo_parser *p, struct geo_band *b, struct geo_state *st, uint64_t *t);
/* Behind a cylinder b: how many more, up to track `to`, are of tracks in a row that are all alike; *t is behind them
 * then, and st as if each had been matched. */
uint64_t geo_pass_alike(const struct geo_parser *p, const struct geo_band *b, struct geo_state *st, uint64_t *t,
                        uint64_t to);
/* One surface, cylinder by cylinder: a track without data is passed together with the next one. */
bool geo_is_single_slot(const struct geo_parser *p, const struct geo_band *b);

#define GEO_ENDS 12 /* ends of equal tracks that are looked at for the length of a partial band */

/* Where equal tracks end for good: the first from i on behind which another size or kind of skew begins, one odd track
 * aside. The last of all is one. Returns o->n where there is none. *ret_end: the track behind. */
size_t geo_next_end(const struct geo_order *o, size_t i, bool by_skew, uint64_t *ret_end);
/* How many tracks lie between two changes of size, and of size or skew, odd tracks aside; the first that many. */
size_t geo_order_lengths(const struct geo_order *o, uint64_t *ret, size_t max);
/* Lengths that a partial band may have: some surfaces of it end where equal tracks end. step: to the next cylinder. How
 * many. */
size_t geo_partial_lengths(struct geo_parser *p, uint64_t t, double step, uint64_t *ret, size_t max);
/* What makes sizes of the first zone's surfaces unlikely; those that are not known yet are 0. */
double geo_odd_first_sizes(const struct geo_parser *p, const uint64_t *size);
/* What makes sizes unlikely behind those of the zone before. */
double geo_odd_sizes(const struct geo_parser *p, const uint64_t *before, const uint64_t *after);
/* Is where this zone begins clear from sizes, if one does there? It is not the first. */
bool geo_is_clear_begin(const struct geo_parser *p, const struct geo_fit_zone *z);

/* ---- reading.c ---- */

/*
 * The first that many tracks as zones of that shape; none, at an infinite cost, when limit is passed, or the run is
 * over. labels may be NULL.
 */
void geo_order_fit(struct geo_order *o, const struct geo_shape *shape, uint64_t tracks, double limit,
                   struct geo_labels *labels, struct geo_fit *fit);
/* All tracks, and the margins of the zones. */
void geo_order_fit_whole(struct geo_order *o, const struct geo_shape *shape, struct geo_fit *fit);
