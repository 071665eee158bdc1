/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long arm and heads take, and how that scatters, as arithmetic on a profile: for the model at work, which draws,
 * and for the truth, which computes what the draws come to.
 */
#pragma once

#include "model.h"

#define SCATTER_TAIL_MAX 0.45 /* the greatest share of a tail: the median stays in the core */

static inline bool scatter_is_on(const struct scatter *s)
{
	return s->sd_ms > 0 || s->tail_p > 0;
}

/* Of something that takes nominal_ms: what to add, never below -nominal_ms. */
double scatter_draw(const struct scatter *s, double nominal_ms, struct rng *rng);
/* Probability that what is added exceeds x (the core's lower bound left out). */
double scatter_above(const struct scatter *s, double x_ms);
double scatter_mean(const struct scatter *s);
double scatter_median(const struct scatter *s);
/* Of the sum of two that are independent: exact where one of the tails is missing. */
struct scatter scatter_sum(const struct scatter *a, const struct scatter *b);

/* Of a seek over so many cylinders, settle included; 0 for 0. */
double mechanics_seek_ms(const struct profile *p, double cylinders);
struct scatter mechanics_seek_scatter(const struct profile *p, double cylinders);
/* To the next cylinder, and four deviations: what a skew should cover. */
double mechanics_slow_step_ms(const struct profile *p);
/* Expectation of revolutions missed by an access after a seek over so many cylinders. */
double mechanics_missed(const struct profile *p, double cylinders);

/* What is fixed in a track, as a hash of the profile's seed: by how much its angle is off, in revolutions; and where it
 * is weak: a share of the track, negative when it is not. */
double mechanics_track_off(const struct profile *p, uint64_t track);
double mechanics_track_weak(const struct profile *p, const struct place *place);
