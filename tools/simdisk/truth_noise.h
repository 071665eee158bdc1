/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What scatter comes to on the average, for truth.c. */
#ifndef SIMDISK_TRUTH_NOISE_H
#define SIMDISK_TRUTH_NOISE_H

#include "geometry.h"

/*
 * Mean revolutions until a sector is under the head that is `ahead` revolutions ahead (0 <= ahead < 1), when the head needs move revolutions,
 * scattered, to be on its track.
 */
double truth_arrival(const struct geometry *g, double move, const struct scatter *scatter, double ahead);
/* Mean revolutions that a weak track loses while so many sectors from a place on pass. */
double truth_weak(const struct geometry *g, const struct place *a, uint32_t run);
/* Of what comes before a move: completion and overhead. */
struct scatter truth_before_move(const struct geometry *g);
/* Mean time from the end of the work to the answer, freezes included. */
double truth_done_ns(const struct geometry *g);
double truth_missed_ns(const struct geometry *g, double cylinders);

#endif
