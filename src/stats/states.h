/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * States of a rate that was measured piece by piece. How many there are, and where they change, is asked of the
 * marginal likelihood of the pieces' logarithms: each state has a mean and a deviation of its own, both integrated over
 * their priors (normal-inverse-gamma), so that another state has to be worth what it costs.
 */
#pragma once

#include <stddef.h>

#define STATES_PIECES 512
#define STATES_LEAST  3 /* pieces: one slow piece is not a state */
struct states {
	size_t n;                                                                   /* pieces */
	double w[STATES_PIECES + 1], wx[STATES_PIECES + 1], wxx[STATES_PIECES + 1]; /* sums of those before */
};
/* A rate that that many requests showed; what comes behind STATES_PIECES is left out. */
void states_add(struct states *s, double rate, double requests);
/* The best partition into at most that many; *ret_n states and the pieces where they end. Decades by which it is more
 * likely than one state. */
double states_partition(const struct states *s, size_t most, size_t *ret_n, size_t *end);
/* Decades by which the last piece is more likely to begin a new state, asked as soon as it is there. */
double states_change_log10(const struct states *s);
