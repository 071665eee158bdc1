/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a disk loses revolutions, and whether that is of the place.
 *
 * Readings lose revolutions (Poisson). At what rates they do wherever they lie is a law of the whole disk, which they
 * show themselves (a mixture over rates, Laird 1978): what the media lose, what a bridge or a
 * queue of one request costs now and then, and the times when others read are all in it. A part of the disk has a rate
 * of its own where most of its readings lose at that rate, while by the law few would. Before, a part may begin with
 * any reading, be of any size (ignorance), and lose at any rate; the best set of parts comes from one programme over
 * all readings (Jackson and others 2005).
 *
 * What was read at one time hangs together: readings inside a part one after the other in time are one look, so that
 * only other times decide whether it is the place that loses. And so does what was read in one way: where requests of
 * one size end on the tracks decides what a drive loses between them, all over a part and each time again. So each way
 * has a law of its own, about which that of the disk says as much as of what was not seen (Ferguson 1973). The way in
 * which a part loses most made it one, and says nothing else of it: the others must.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* As if that much more had been seen: what was not seen is not impossible (Kerman 2011). */
#define LOSSY_UNSEEN (1.0 / 3.0)
#define LOSSY_SURE   3.0 /* log of the odds, 20 to 1: a sentence may say it (a decision) */

struct lossy_at {          /* a reading */
	double lost, revs; /* revolutions lost, and those that it took besides; 0: it says nothing */
};

struct lossy_part {
	size_t first, last;           /* the likeliest */
	size_t sure_first, sure_last; /* readings that are of it as surely as a sentence; or its worst */
	double log_odds;              /* that it has a rate of its own */
};

/*
 * Parts that lose `least` a revolution more than is usual, at least as likely as 1 to LOSSY_SURE; *ret_single: what a
 * reading of the usual size must lose to be one. ret has
 * room for n. Returns how many.
 */
size_t lossy_find(const struct lossy_at *v, size_t n, double least, double usual_revs, struct lossy_part *ret,
                  double *ret_single);

struct lossy_look { /* a reading, in order of time */
	struct lossy_at at;
	bool is_inside;  /* of the part that is asked about */
	bool is_another; /* of another part, which says nothing of what is usual */
	size_t way;      /* how it was read, as in requests of which size ... */
	size_t bytes;    /* ... and which, for in one way these lose the same again */
};

struct lossy_odds {      /* logs */
	double evidence; /* that the place loses, by all looks at it; ... */
	double place;    /* ... with all the places where it might have been as likely before */
	double way;      /* that it loses in whichever way it is read; 0: it was read in one */
};

struct lossy_odds lossy_place(const struct lossy_look *v, size_t n, double least);
