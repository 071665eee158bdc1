/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a disk loses revolutions, and whether that is of the place.
 *
 * Readings in order of place are a series of revolutions lost (Poisson) and of revolutions in which that could happen.
 * A part of it has a rate of its own, or the usual one: the ratio of the two likelihoods, less what fitting a rate
 * takes (Schwarz 1978), is its evidence. Before, a part may begin with any reading and be of any size (ignorance); the
 * best set of parts comes from one programme over all readings (Jackson and others 2005).
 *
 * What others do to a disk is of a time, not of a place: the same place at another time decides. A look at a place
 * loses at the place's rate with LOSSY_LOOK where it is of the place, and as often as all else where it is of the time.
 */
#ifndef PLATTER_MODEL_LOSSY_H
#define PLATTER_MODEL_LOSSY_H

#include <stdbool.h>
#include <stddef.h>

#define LOSSY_SURE 3.0 /* log of the odds, 20 to 1: a sentence may say it (a decision) */
#define LOSSY_LOOK 0.9 /* a place that is slow may be so in a part: ignorance */

struct lossy_at {          /* a reading */
	double lost, revs; /* revolutions lost, and those that it took besides */
};

struct lossy_part {
	size_t first, last;
	double log_odds; /* that it has a rate of its own */
};

/*
 * Parts that lose `least` a revolution more than the usual rate, at least as likely as 1 to LOSSY_SURE; of neighbours
 * one. ret has room for n. Returns how many.
 */
size_t lossy_find(const struct lossy_at *v, size_t n, double usual, double least, struct lossy_part *ret);

/* How many a reading of that many revolutions must lose to be a part that is sure, of n. */
double lossy_least(size_t n, double revs, double usual, double least);

struct lossy_look { /* a reading, in order of time */
	size_t place;
	double lost, revs;
	bool is_inside; /* of the part that is asked about */
};

/*
 * Log of the odds that the place loses, and not the times when it was read. Readings inside one after the other are one
 * look. How often a time is one in which all loses as much is seen at the other places, by those that do not always
 * lose. *ret_looks: how many there are.
 */
double lossy_place(const struct lossy_look *v, size_t n, size_t nplaces, double usual, double least, size_t *ret_looks);

#endif
