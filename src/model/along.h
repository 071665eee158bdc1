/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings in order of place -> recording zones, with probabilities.
 *
 * A disk is a sequence of zones, each of one level, each slower than the one before. How wide zones are, by how much
 * they differ, how regular that is and how far places of one zone lie apart (surfaces) is not known: each is a
 * hypothesis with a prior, and the readings weigh them. A chain over levels on a grid (Rabiner 1989) sums over all
 * places of all edges; sequences of zones are drawn from what is left (forward filtering, backward sampling: Carter and
 * Kohn 1994). All answers are shares of these draws.
 */
#pragma once

#include "model/reading.h"

#define ALONG_SURE 0.98 /* probability of what is reported, an edge or a number of zones (a decision) */

struct along_edge {
	double at, first, end; /* bytes: where it lies, and 95 % of where it may */
	double y, half;        /* the level behind it, 95 % */
	size_t readings;       /* up to the next one */
};

struct along {
	struct along_edge *v; /* edges that are sure; v[0] is the begin of all */
	size_t n;
	double p_count;    /* that there are as many zones */
	double mean_var;   /* of the mean of all places, by how far they lie apart */
	double least_step; /* relative: a step as large between two places is seen */
};

/* free(ret->v). */
void along_zones(const struct along_at *v, size_t n, double end, struct along *ret);
