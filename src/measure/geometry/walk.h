/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends of tracks, and the walk from one to the next. Behind geometry.h. Not a door. */
#pragma once

#include "measure/geometry/geometry.h"

/* ---- edges.c ---- */

/* A place where the angle jumps: the end of a track, or missing sectors. */
struct geo_edge {
	uint64_t first;       /* sector after the jump */
	double jump;          /* in [0, 1): beyond the spacing of the sectors behind it; NaN: not known */
	double before, after; /* spacing of sectors on both sides, revolutions; NaN: not known */
	bool is_unsure;       /* it was not there again when it was looked at once more */
};

#define GEO_ROUND 1.5 /* revolutions: no track goes on for so long, an end in between was not seen */

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

/* A track as it was found. */
struct geo_track {
	uint64_t first, sectors; /* with data */
	uint64_t per_track;      /* with the missing ones */
	uint64_t missing;
	double skew;      /* in front of it, revolutions; NaN: not known */
	bool is_sure;     /* per_track is; else it is what was found */
	bool is_doubtful; /* one of its ends may be elsewhere */
};
/* Edges to the tracks between them: pieces with missing sectors between them are joined. Returns how many. */
size_t geo_tracks(const struct geo *g, const struct geo_edge *edge, size_t n, struct geo_track *ret);

/* ---- places.c ---- */

/* What sectors that nobody can address are of a revolution, in a track with that many beside: the walk has that in its
 * skews. */
static inline double geo_spare_turn(const struct geo *g, uint64_t size)
{
	return size ? (double)g->spare / (double)(size + g->spare) : 0.0;
}

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

/* A stretch of the disk: a few runs, that many times over. */
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

struct geo_walk {
	struct geo *g;
	uint64_t at;      /* the first sector of a track */
	double angle;     /* of it */
	double outermost; /* sectors of a track at the begin of the disk */
	double per_track; /* about */
	double next_size; /* the same for the track at `at`, once that is known */
	bool is_stuck;
	bool is_whole; /* it has come to the end */
	struct geo_run runs[3 * GEO_RUNS];
	size_t nruns;
	struct geo_item *items;
	size_t nitems, room;
	size_t confirmed; /* items in a row whose ends were seen twice */
	/* What was found behind an end that was none, while the walk goes again from there; in order. */
	struct geo_item *later;
	size_t nlater;
	uint64_t again_at;
	unsigned again; /* how often the item there was walked again */
};

/* Its items that are known: a walk that stopped has seen the end of its last track but once. */
static inline size_t geo_known_items(const struct geo_walk *w)
{
	return w->nitems - (!w->is_whole && w->nitems && w->items[w->nitems - 1].tracks == 1);
}

#define GEO_LONG_RUN 8 /* tracks of a run that says something by itself */

/* ---- leap.c ---- */

#define GEO_ADVANCE_SURE 0.05 /* of a revolution: farther off is not what was expected: behind a leap, of an access */

/* What is tried as a whole. */
struct geo_leap {
	uint64_t sectors, tracks;
	double advance, error; /* of the angle, by jumps; what is unknown of it, falling as the way grows that it is
	                          known from: */
	uint64_t total;        /* that many times that was seen already */
	double jump;           /* at its end */
	double after;          /* spacing behind it */
	/* A cycle's runs, of which the ends are looked at as well: sizes in another order have the same sum. */
	const struct geo_item *inside;
	bool is_known; /* it was found so at least once */
};

/* Angle of the sector behind an edge, and the jump there; see leap.c. */
int geo_edge_angles(struct geo *g, uint64_t edge, double after, double jump, double before, double *ret_angle,
                    double *ret_jump, struct err *err);
/* Of one size and jump? */
bool geo_same_run(const struct geo *g, const struct geo_run *a, const struct geo_run *b);
/* That many of these at once; *ret_ok: it ended where it should, and the walk is there now. */
int geo_try_leap(struct geo_walk *w, struct geo_leap *l, uint64_t k, bool *ret_ok, struct err *err);
/* As often as it goes; how often that is. */
int geo_gallop(struct geo_walk *w, struct geo_leap *l, uint64_t *ret_n, struct err *err);

/* ---- steps.c ---- */

#define GEO_LIKE_SKEW 0.005 /* of a revolution: so far skews of a kind differ as tracks hold more or less */
#define GEO_NOISY     0.002 /* of a revolution: what is distinguished better than that shows other skews at once */

/* From w->at to the end of the disk, or of the time. */
int geo_walk_on(struct geo_walk *w, struct err *err);
void geo_walk_free(struct geo_walk *w); /* and what it found; NULL is fine */
