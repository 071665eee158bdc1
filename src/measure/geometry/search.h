/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the search for the layout: shapes.c, judge.c, layout.c, answer.c, stretch.c, pairs.c, mended.c, lengths.c,
 * shown.c. Not a door. */
#ifndef PLATTER_MEASURE_GEOMETRY_SEARCH_H
#define PLATTER_MEASURE_GEOMETRY_SEARCH_H

#include "measure/geometry/geometry.h"

/* ---- shapes.c: what layouts are asked; the rest of it is in geometry.h ---- */

#define GEO_FEW_SPEAK 6.0 /* of the log-likelihood: fewer surfaces that come again are not left out for less */
/* Could sizes of surfaces that come again in one layout be the surfaces of another one, of fewer, coming by again? */
bool geo_may_come_again(const struct geo_shape *many, const struct geo_shape *few);
/* How much less likely by chance they are in that zone of many, wherever its cylinders were read to begin, of the
 * log-likelihood; 0: they do not come again. NULL: there is no zone. */
double geo_sizes_come_again(const struct geo_fit_zone *z, const struct geo_shape *many, const struct geo_shape *few);
/* Do neither sizes nor skews of that zone, as a layout of several bands has it, show which of its changes are to
 * another band, so that there may be any number of surfaces? */
bool geo_are_heads_unseen(const struct geo_order *o, const struct geo_fit_zone *z, const struct geo_shape *shape);
/* From the least of a zone's sizes to the largest one. */
uint64_t geo_size_range(const struct geo_fit_zone *z, uint32_t heads, uint64_t *ret_most);

/* ---- judge.c ---- */

#define GEO_PAIRS 96 /* each distance that tells, some times over, of three or four layouts */

#define GEO_JUDGED_LEAST 8 /* accesses: fewer fit nearly any curve */

/* A shortest access, and what a layout says of it. */
struct geo_access {
	uint64_t cylinders;
	bool is_other_head;
	bool is_again;        /* it says what another one has said, and is no evidence of its own */
	double access, error; /* revolutions */
};

struct geo_verdict {
	bool does_agree;  /* nearly all agree with the layout, if a change of heads takes no longer than it may */
	bool is_possible; /* and none of them has to be one that takes longer */
	bool is_nearly;   /* so many that a part of them may be held against tracks that were read wrongly */
	size_t agreeing, judged;
	double scale;                            /* of what is left, revolutions */
	double falls;                            /* how unlikely it is that the curve falls where it does */
	double rise;                             /* of the curve, from 1 cylinder to 8 */
	double off[GEO_PAIRS], error[GEO_PAIRS]; /* of each access */
	bool is_again[GEO_PAIRS];
};

/* n: GEO_PAIRS at most. scatter: of single accesses, as far as it was found out. */
struct geo_verdict geo_judge(const struct geo_access *seen, size_t n, double scatter);
/* Does that one not agree? */
bool geo_is_off(const struct geo_verdict *v, size_t k, double scatter);
/* How unlikely the accesses are under the layout, when they scatter so: minus the logarithm of the likelihood, but for
 * a constant. */
double geo_verdict_cost(const struct geo_verdict *v, double scale);

/* How unlikely it is how far accesses that go over as many cylinders are from each other; a change of heads alone is
 * over none. n: GEO_PAIRS at most. */
double geo_spread(const struct geo_access *seen, size_t n, double scatter);

#define GEO_CURVE 29 /* what a curve consists of: the shortest move, rises behind it, and the change of heads */

/* What suits the accesses of all looks together. */
struct geo_curve {
	double column[GEO_CURVE];
	double scale, rise; /* of what is left, and as of a verdict */
	double cost;        /* how unlikely the accesses are that it was found by, if they scatter as real arms do */
};

/* The curve that suits n accesses, found from several begins; there may be a better one. scale and cost are infinite
 * where memory is short. */
struct geo_curve geo_curve_of(const struct geo_access *seen, size_t n);
/* *curve of these accesses gives way to the one that is found from `start`, of others or as another layout has them, if
 * that suits better. */
void geo_curve_from(const struct geo_access *seen, size_t n, const struct geo_curve *start, struct geo_curve *curve);
/* How unlikely they are then, as geo_verdict_cost; infinite: out of memory. */
double geo_curve_cost(const struct geo_access *seen, size_t n, const struct geo_curve *curve, double scale);
/* How much less likely n accesses are as the rival has them than as the layout that is left has them, whose curve is
 * known. */
double geo_speaks_against(const struct geo_access *rival, const struct geo_access *left, size_t n,
                          const struct geo_curve *curve);
/* How much less likely they are if the arm takes as long over eight cylinders as over one. */
double geo_rise_speaks(const struct geo_access *seen, size_t n, const struct geo_curve *curve);
/* An access as the curve has it. */
double geo_curve_at(const struct geo_curve *curve, uint64_t cylinders, bool is_other_head);

/* ---- layout.c ---- */

#define GEO_LOOKS_MOST 16 /* so often accesses are measured, while several layouts are possible, or none is shown */
#define GEO_MADE_MOST  (GEO_LOOKS_MOST * GEO_PAIRS)
#define GEO_SPEAKS     12.0 /* of the log-likelihood: so much less likely layouts are out */
#define GEO_SAID_MOST  1600 /* accesses of a few looks, that differ */

struct geo_candidate {
	struct geo_shape shape;
	struct geo_access *seen; /* all accesses, as it has them; GEO_MADE_MOST of the search's */
	struct geo_curve curve;  /* that suits them */
	bool is_possible;        /* accesses do not speak against it */
	double against;          /* how unlikely all of them are under it */
	size_t agreeing;         /* accesses that fit, in the last look */
	size_t judged;           /* of so many */
	struct geo_verdict verdict;
};

/* What accesses over so many tracks have said. */
struct geo_said {
	uint64_t distance;
	double access;
};

struct geo_search {
	struct geo *g;
	struct geo_order *o;
	struct geo_candidate c[GEO_SHAPES_MAX];
	size_t n;
	struct geo_fit *fit;
	uint64_t first, tracks; /* of the stretch */
	struct geo_pair pair[GEO_PAIRS];
	uint64_t a[GEO_PAIRS], b[GEO_PAIRS]; /* tracks of the pairs, from first on; a is the later one */
	bool is_again[GEO_PAIRS];            /* of the pairs: as geo_access */
	size_t npairs, most_pairs;
	struct geo_said said[GEO_SAID_MOST]; /* in all looks */
	size_t nsaid;
	struct geo_candidate before[GEO_SHAPES_MAX]; /* all of them, before accesses spoke */
	size_t all;
	size_t looks;            /* so often accesses have spoken */
	size_t next;             /* accesses that agree with the best one that is out */
	double scatter;          /* of single accesses */
	struct geo_access *made; /* those of all looks: for each candidate, then as if all tracks lay side by side */
	uint64_t made_at[GEO_MADE_MOST][2]; /* their tracks */
	size_t nmade;
	/* How much the lengths of zones speak against so many surfaces, where one is possible. */
	double lengths[GEO_HEADS + 1];
	bool has_lengths;
	double plain;           /* how unlikely they are if all tracks lie side by side, as candidate.against */
	bool is_shown;          /* the accesses speak for the best one, or: */
	bool are_sizes_its_own; /* those of its tracks do */
	bool does_agree;        /* so do nearly all of the last look */
	bool is_decided;
	bool are_several_arms; /* what is found is of the first one */
};

/* The same for all that is told: with one surface bands are nothing. */
static inline bool geo_is_same_layout(const struct geo_shape *a, const struct geo_shape *b)
{
	return a->heads == b->heads && (a->heads == 1 || (a->band == b->band && a->is_serpentine == b->is_serpentine &&
	                                                  a->is_alternate == b->is_alternate));
}

/* Is one of these candidates a layout of that sequence? */
static inline bool geo_is_among(const struct geo_candidate *c, size_t n, const struct geo_shape *shape)
{
	for (size_t i = 0; i < n; i++)
		if (geo_is_same_sequence(&c[i].shape, shape))
			return true;
	return false;
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

/* ---- answer.c: what is told of the best one ---- */

/* most: surfaces that it may have as well; 0: any number. */
void geo_tell_surfaces(struct geo_search *s, uint32_t most);
/* No other can be true. */
void geo_tell_sure(struct geo_search *s);
/* One surface; those others that are left are unlikely. */
void geo_tell_one_likely(struct geo_search *s);
/* Of a sequence in no order. is_turning_said: whether heads alternate. */
void geo_tell_likely_by_accesses(struct geo_search *s, bool is_turning_said);
/* Accesses do not tell tracks over each other from tracks side by side, but sizes do. */
void geo_tell_likely_by_sizes(struct geo_search *s);

/* ---- stretch.c: where they are made ---- */

/* At first: the zone with the most tracks, or a part of it. */
void geo_choose_stretch(struct geo_search *s, const struct geo_fit *fit);
/* Where another layout has more to say than the best one. Turn by turn. */
void geo_choose_rival_stretch(struct geo_search *s, int round);
/* The longest other zone, or what there is in its place; false: there is none. */
bool geo_choose_other_stretch(struct geo_search *s, const struct geo_fit *fit);

/* ---- pairs.c: which accesses are made; they are added to those that are chosen already ---- */

void geo_choose_pairs(struct geo_search *s, bool from_anywhere);
/* For one surface: from zone to zone. */
void geo_choose_edge_pairs(struct geo_search *s, const struct geo_fit *fit);
/* Over few tracks and over many, anywhere in what was seen. */
void geo_choose_wide_pairs(struct geo_search *s);
/* Those that tell the best layout from the ones that are nearest to it. */
void geo_choose_telling_pairs(struct geo_search *s);
/* Makes them. */
int geo_measure_pairs(struct geo_search *s, double from, double to, struct err *err);

/* Those of the last look, as they would be if all tracks lay side by side, and their tracks, the later one first. Room
 * for all pairs; returns how many. */
size_t geo_side_by_side(const struct geo_search *s, struct geo_access *ret, uint64_t (*ret_at)[2]);

/* ---- mended.c ---- */

/* Where all tracks that accesses were made from and to are, and those between, as a layout has them. */
struct geo_made_labels {
	uint64_t first, n;
	uint64_t *cylinder;
	uint32_t *head;
};

/* s->fit is the reading then. False: that layout does not explain them, or there are none; to be freed in any case. */
bool geo_label_made(struct geo_search *s, const struct geo_shape *shape, struct geo_made_labels *ret);
void geo_made_labels_free(struct geo_made_labels *l);

/*
 * How much less likely all accesses are than under the best layout, whose bands hold a whole number of the rival's, if
 * its bands are cut as the rival does; minus infinity: that could not be found out.
 */
double geo_speaks_against_mended(struct geo_search *s, const struct geo_shape *rival);
/*
 * The best layout is head-first: the same for bands of as many tracks as it has surfaces, whose surfaces may be its
 * cylinders. The sequence need not suggest them, where all skews are alike.
 */
double geo_speaks_against_bands(struct geo_search *s);
/*
 * Is a layout out that cuts the same bands otherwise, and explains the sequence about as well, only as it was read from
 * the wrong track on? All accesses are held against it as it would be read from any other.
 */
bool geo_may_rival_be_misread(struct geo_search *s, const struct geo_shape *left);
/*
 * Of the layouts that were asked, the one under which all accesses are likeliest if its bands begin elsewhere than they
 * were read, and far likelier than under the best one (none left: itself, too): where they begin is noted with the
 * sequence, and which it is, of s->before. False: there is none.
 */
bool geo_pin_rival(struct geo_search *s, size_t *ret);
/*
 * A head-first layout with which the accesses of this look do not agree, whose reading says where the tracks of the
 * stretch are: would they if cylinders began so many tracks farther on? If they would, and are far less likely
 * otherwise, where one begins is noted with the sequence.
 */
bool geo_pin_cylinders(struct geo_search *s, const struct geo_shape *shape, const uint64_t *cylinder,
                       const uint32_t *head, const struct geo_access *seen);

/* ---- lengths.c ---- */

#define GEO_BAND_MOST 8192 /* tracks: no drive is known to us whose bands are longer */

/*
 * How much less likely the lengths of zones are with so many surfaces than with one; 0 where they do not speak against
 * them. one: all zones as one surface reads them.
 */
double geo_lengths_speak_against(const struct geo_fit *one, uint32_t heads);
/* How much likelier they are with some number of surfaces than with one: all are whole cylinders then. */
double geo_lengths_speak_for_several(const struct geo_fit *one);
/*
 * Zones that are all as long as the first could be the surfaces of one band, behind which nothing was seen: how much
 * less likely all accesses are then, with those made last, than on one surface; infinity: they are not as long.
 */
double geo_crossings_speak_against_band(const struct geo_search *s, const struct geo_fit *one);

/* ---- shown.c ---- */

/* Are tracks side by side of sizes that only surfaces explain whose tracks lie over each other? They come again
 * cylinder for cylinder, and in no bands, as some stand alone; and accesses do not speak against the best layout. */
bool geo_are_sizes_of_heads(struct geo_search *s, const struct geo_shape *shape);
/* The best layout is of two surfaces, head-first, and in all zones that are long enough each holds another number of
 * sectors: as no track of one surface does, but where each second one keeps spare ones. */
bool geo_do_sizes_take_turns(struct geo_search *s);
/*
 * How much less likely the sizes of one that needs more surfaces are than those of the fewest of the possible ones, of
 * which they may come again. By chance, any two surfaces have one of the sizes that there are among all of them; 0:
 * they do not come again so.
 */
double geo_sizes_speak_against(struct geo_search *s, const struct geo_shape *many);
/* Are the best layout's surfaces fewer ones that come again, and that layout is not among those that were asked, as
 * mistakes made it too dear? */
bool geo_are_few_unasked(struct geo_search *s);
/* Do sizes of its surfaces come again as those of fewer ones? Then other numbers of these explain the sequence as well,
 * and only accesses tell which is true. */
bool geo_do_sizes_come_again(struct geo_search *s);
/* Does another layout explain sizes and skews far better, so that all that speaks for this one are the accesses? */
bool geo_is_dear(struct geo_search *s, const struct geo_shape *shape, const struct geo_shape *cheapest);
/*
 * Of those that are left, which one comes first: the best one, or the same but for whether heads alternate. Accesses do
 * not tell these apart, so that heads alternate is not told where it makes no difference; but where sizes and skews are
 * in no order one way, it is the other.
 */
size_t geo_turning_shown(struct geo_search *s);
/* The best layout has bands of a few tracks, whose surfaces differ: were they the cylinders of another one, zones would
 * hold more and less by turns. */
bool geo_do_sizes_show_bands(struct geo_search *s);
/*
 * Do often some surfaces hold more than in the zone before, and others less, from one zone of bands to the next? Bands
 * of more surfaces look like that if they are cut into as many as this one has, each part a zone of its own, which does
 * not come again; a few such zones are what mistakes make.
 */
bool geo_are_bands_cut(const struct geo_fit *fit, const struct geo_shape *shape);
/* Does one surface explain sizes and skews about as well as the best layout, so that they do not show its bands? */
bool geo_do_bands_not_show(struct geo_search *s);
/*
 * The best layout has bands of a few tracks that neither sizes nor skews show, as one surface explains these as well.
 * Which lengths of bands were tried is chance then, and several that are false suit accesses over a few tracks nearly
 * as well: that none of the others is left says nothing, as the true one need not have been among them.
 */
bool geo_are_bands_unseen(struct geo_search *s);
/* Does a zone go on with a second band, at least half of the first surface's part of it that says something? */
bool geo_comes_again(const struct geo_fit *fit, const struct geo_shape *shape);
/*
 * The best layout is head-first, and its surfaces could be fewer ones in bands of as many tracks together: neither the
 * sequence, where all skews and sizes are alike, nor the accesses say that they are not, and those bands were not
 * asked.
 */
bool geo_may_be_bands(struct geo_search *s);

#endif
