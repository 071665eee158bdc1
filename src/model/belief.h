/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the head arrives, as far as accesses show: the logarithm of the likelihood of its median on a grid, from which
 * the next time to aim at is drawn (Thompson 1933).
 */
#pragma once

#include "base/rng.h"
#include "stats/stats.h"

#define BELIEF_CELLS 1024
struct belief {
	size_t n;
	double step, scatter;
	double log_likelihood[BELIEF_CELLS]; /* of the median in cell i: i * step to (i + 1) * step */
};

void belief_anything(struct belief *b, double most, size_t n, double scatter); /* up to most, in n cells */
void belief_within(struct belief *b, struct interval ns);                      /* elsewhere it is hardly likely */
void belief_learn(struct belief *b, double access, double period);
void belief_fades(struct belief *b); /* other places of the same distance take about as long */
double belief_draw(const struct belief *b, struct rng *rng);
/* The i-th time to aim at: before the drawn one and behind it in turn, where an access shows most of it. */
double belief_aim(const struct belief *b, struct rng *rng, size_t i);
