/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layouts, and the shortest accesses that distinguish them. Behind order.h. Not a door. */
#pragma once

#include "measure/geometry/order.h"

/* ---- shapes.c ---- */

#define GEO_UNORDERED 0.7 /* of cost for each change of size or skew: a false layout explains as much */

struct geo_candidate {
	struct geo_shape shape;
	double cost;
	size_t rank;      /* of two that cost the same the simpler one comes first */
	bool is_one_band; /* no zone is longer than a band: the length of bands is not visible */
};

/* Those that do at about the least cost, the cheapest first, and one surface at its place, if that can be; ret:
 * GEO_READINGS. How many. */
size_t geo_shapes(struct geo *g, struct geo_order *o, struct geo_candidate *ret);
/* Figure layout. */
void geo_report_layout(struct result *res, const struct geo_shape *shape);

/* That of most tracks, the first of them; NULL: there is no zone. */
const struct geo_fit_zone *geo_longest_zone(const struct geo_fit *fit);
/* How long the longest zone is, if what lies behind it has the same sizes on the same surfaces: as long as a band. 0:
 * it has not. */
uint64_t geo_band_behind(const struct geo_fit *fit);

/* ---- access.c ---- */

extern const struct field geo_profile_fields[];

struct geo_spot { /* a track */
	uint64_t first, sectors;
	double angle;
};

struct geo_pair {
	struct geo_spot from, to; /* first and sectors are given */
	uint64_t distance;        /* tracks, for the table */
	double begins;            /* accesses begin in this part of `from` */
	double access, error;     /* revolutions; NaN: could not be found. error: a standard deviation */
	double aim;               /* while it is searched for */
	bool is_done;
	int tries;
};

/* The shortest access of each pair. from, to: the part of the whole run that this is. *ret_scatter: of single accesses,
 * revolutions. */
int geo_shortest(struct geo *g, struct geo_pair *pair, size_t n, double from, double to, double *ret_scatter,
                 struct err *err);

/* ---- law.c ---- */

/* A shortest access, as a layout has it. */
struct geo_access {
	uint64_t cylinders;
	bool is_other_head;
	bool is_again;        /* it says what another one has said, and is not evidence of its own */
	bool is_unplaced;     /* where its tracks are is not known: it may take anything */
	double access, error; /* revolutions */
};

/* Is it evidence of how long an arm takes? */
static inline bool geo_is_evidence(const struct geo_access *a)
{
	return !a->is_again && !a->is_unplaced;
}

/* Of a revolution: so far real arms are off any smooth curve. Of the published ones of seven drives at most 4 in 100
 * distances are eight times as far off. Where one falls it does so by three times that at least. */
#define GEO_MISFIT 0.002
#define GEO_LAW    18 /* the shortest move, rises behind it, and the change of heads */

struct geo_law {
	double column[GEO_LAW];
	double scale; /* of single accesses about it; infinite: no accesses */
	double cost;  /* minus the log-likelihood that it was found by */
};

/* For qsort: by kinds, which go equally far, and to another head or not. */
int geo_access_order(const struct geo_access *a, const struct geo_access *b);
/* The law that suits n accesses best, found from several begins. */
struct geo_law geo_law_of(const struct geo_access *seen, size_t n);
/* The one that is found from `start`, or another one that suits better; NULL: there is none. */
struct geo_law geo_law_from(const struct geo_access *seen, size_t n, const struct geo_law *start,
                            const struct geo_law *other);
/* Minus the log evidence of n accesses that scatter so. */
double geo_law_cost(const struct geo_access *seen, size_t n, const struct geo_law *law, double scale);
/* An access as the law has it. */
double geo_law_at(const struct geo_law *law, const struct geo_access *access);
/* How far accesses that are of one kind are from each other, as part of a cost. */
double geo_law_spread(const struct geo_access *seen, size_t n, double scatter);

/* ---- what is known so far ---- */

#define GEO_RIVALS \
	3 /* that differ from the likeliest and are looked at in one look; as many that are out are followed */
#define GEO_DRAWS 16 /* at random, of which the best is taken */

#define GEO_PAIRS       96 /* at most, in one look */
#define GEO_ASKED_MAX   2048
#define GEO_FIRST_PAIRS 64 /* of the first look: three or four times each distance that matters */
#define GEO_LOOKS_MOST  16 /* as pairs are all made by then that show something */
#define GEO_MADE_MOST   (GEO_LOOKS_MOST * GEO_FIRST_PAIRS) /* accesses in all looks */
#define GEO_SPEAKS      12.0 /* of the log evidence: so much less likely layouts are out; 1 in 160 000 */

/* What tracks are, and in which order the sequence is read: of each track its number in that order, from the begin of
 * its zone, says where `shape` has it. */
struct geo_hypothesis {
	struct geo_shape shape, read; /* read.heads: 0: tracks are counted, whatever sizes and skews say */
	struct geo_access *seen;      /* all accesses, as it has them; GEO_MADE_MOST of the search's */
	struct geo_law law;           /* that suits them */
	double prior;                 /* minus the log of how likely it is by sizes and skews, and where bands begin */
	double cost;                  /* minus the log evidence of all that was seen, but for a constant */
	size_t off;                   /* accesses that do not fit */
	bool is_shifted;              /* in some look its bands were taken to begin elsewhere than they were read */
};

/* What accesses over a number of tracks have shown. */
struct geo_said {
	uint64_t distance;
	double access;
};

struct geo_search {
	struct geo *g;
	struct geo_order *o;
	struct geo_hypothesis h[GEO_ASKED_MAX]; /* the likeliest first; none is far behind, but for a few rivals */
	size_t n, left;                         /* left: of them not out */
	size_t looks;
	double dear; /* a reading of the sequence that costs so much is none */
	struct geo_fit *fit;
	uint64_t first, tracks; /* of the stretch */
	struct geo_pair pair[GEO_PAIRS];
	uint64_t a[GEO_PAIRS], b[GEO_PAIRS]; /* tracks of the pairs, from first on; a is the later one */
	bool is_again[GEO_PAIRS];            /* of the pairs: as geo_access */
	size_t npairs, most_pairs;
	struct geo_said said[GEO_MADE_MOST]; /* in all looks */
	size_t nsaid;
	double scatter;          /* of single accesses */
	bool goes_on;            /* the arm, to the end of the disk: tracks are of one surface */
	struct geo_access *made; /* for each hypothesis those of all looks */
	size_t nmade;
};

static inline bool geo_is_counted(const struct geo_hypothesis *h)
{
	return h->read.heads == 0;
}

/* The same for all that is reported: with one surface bands are nothing. */
static inline bool geo_is_same_layout(const struct geo_shape *a, const struct geo_shape *b)
{
	return a->heads == b->heads && (a->heads == 1 || (a->band == b->band && a->is_serpentine == b->is_serpentine &&
	                                                  a->is_alternate == b->is_alternate));
}

/* Are tracks where its own reading of the sequence has them, but for the way of bands? */
static inline bool geo_is_read_so(const struct geo_hypothesis *h)
{
	struct geo_shape read = h->read;

	read.is_serpentine = h->shape.is_serpentine;
	return geo_is_same_layout(&h->shape, &read);
}

/*
 * So far the sequence is read where tracks up to `end` are of interest: a reading that ends within a band is cheaper
 * the sooner it takes the zone to end, wherever that is.
 */
static inline uint64_t geo_read_behind(const struct geo_shape *shape, uint64_t end)
{
	uint64_t to = shape->band ? end + 2 * shape->heads * shape->band : GEO_RANK_TRACKS;

	return to > end ? to : end;
}

/* A track under a hypothesis; its number in the order of its zone; UINT64_MAX: it is in a part of a band. */
struct geo_place {
	uint64_t cylinder, slot;
	uint32_t head, zone;
};

void geo_set_between(struct geo_access *seen, const struct geo_place *a, const struct geo_place *b);

/* In a part of a band another layout than that of its reading may have them elsewhere. */
static inline bool geo_is_unplaced(const struct geo_hypothesis *h, const struct geo_place *a, const struct geo_place *b)
{
	return !geo_is_read_so(h) && (a->slot == UINT64_MAX || b->slot == UINT64_MAX);
}

/* ---- meanings.c: what an order of tracks may mean ---- */

/* Where a layout has a slot, counted from the begin of its zone. */
void geo_place_of(const struct geo_shape *shape, uint64_t slot, struct geo_place *ret);

/* Minus the log of how likely it is that surfaces hold what they do, if what is read so is that; infinite: one would
 * hold different things. */
double geo_chance(const struct geo_order *o, const struct geo_fit *fit, const struct geo_shape *read,
                  const struct geo_shape *shape);
#define GEO_BAND_MOST     8192 /* tracks: no drive is known to us whose bands are longer, */
#define GEO_BAND_LEAST    4    /* or shorter, but head by head */
#define GEO_MISREAD_SHARE 0.05 /* of places in which bands were read from the wrong track on (a choice) */
/* That many slots behind the begin of a turn a zone begins, that is read otherwise, by what its tracks hold. */
uint64_t geo_begin_of(const struct geo_order *o, const struct geo_fit_zone *z, const struct geo_hypothesis *h);
void geo_add(struct geo_search *s, const struct geo_hypothesis *h);
/* What a reading is by itself; and all else that it may mean. dear: the price of that reading. */
void geo_add_reading(struct geo_search *s, const struct geo_shape *read, const struct geo_fit *fit, double dear);
void geo_add_meanings(struct geo_search *s, const struct geo_shape *read, const struct geo_fit *fit, double dear);

/* ---- pairs.c: which accesses are made, and where ---- */

#define GEO_BORDER \
	256 /* tracks about the end of a surface in a zone that is one band: many times what is spare there */

/* The stretch and the pairs of the next look. What these will say of the first rival, of the log evidence. */
double geo_choose_pairs(struct geo_search *s);
/* Makes them. */
int geo_measure_pairs(struct geo_search *s, double from, double to, struct err *err);

/* Of tracks one after the other: are they of one surface? In s->goes_on. */
int geo_look_far(struct geo_search *s, struct err *err);

/* ---- evidence.c: what they say ---- */

/* Of the tracks of the stretch; false: it does not explain the sequence up to there. */
bool geo_label_stretch(struct geo_search *s, const struct geo_hypothesis *h, struct geo_place *ret);
/* Adds those of this look to all before, and ranks the hypotheses. */
void geo_weigh(struct geo_search *s);
/* Do nearly all accesses fit it? times: by that factor fewer may be off, where these are late ones. */
bool geo_fits(const struct geo_search *s, const struct geo_hypothesis *h, size_t times);

/* ---- search.c ---- */

struct geo_layout {
	struct geo_shape shape;
	struct geo_fit *fit;    /* the zones of the best shape; NULL: none that explains the tracks */
	bool is_reported;       /* the figures are */
	bool is_messy;          /* it leaves too much unexplained */
	bool is_mended;         /* by accesses: in between, which track is on which surface is not known */
	bool is_turning_hidden; /* heads may alternate or not, for all that is known */
};

/* Figures surfaces, layout, confidence, or a notice. ret->fit is the caller's to free. */
int geo_find_layout(struct geo *g, struct geo_order *o, struct geo_layout *ret, struct err *err);

/* ---- shapes.c ---- */

/* Of a layout in which a zone is one band, and all that was walked: if it shows how long bands are, it is reported and
 * read that way; if only that zones are longer, the layout is not reported any more. */
void geo_settle_band(struct geo *g, struct geo_order *o, struct geo_layout *l);
