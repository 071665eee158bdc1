/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the truth share: what scatter comes to on the average, and what truth.c has for truth_random.c. */
#pragma once

#include "geometry.h"

/*
 * Mean revolutions until a sector is under the head that is `ahead` revolutions ahead (0 <= ahead < 1), when the head
 * needs move revolutions, scattered, to be on its track.
 */
double truth_arrival(const struct geometry *g, double move, const struct scatter *scatter, double ahead);
/* Mean revolutions that a weak track loses while so many sectors from a place on pass. */
double truth_weak(const struct geometry *g, const struct place *a, uint32_t run);
/* Of what comes before a move: completion and overhead. */
struct scatter truth_before_move(const struct geometry *g);
/* Mean time that freezes cost a request. */
double truth_frozen_ns(const struct profile *p);
/* Mean time from the end of the work to the answer, freezes included. */
double truth_done_ns(const struct geometry *g);
double truth_missed_ns(const struct geometry *g, double cylinders);

/* Share of the time that recalibration takes. */
double truth_recalibrating(const struct geometry *g);
/* Mean share of the limits that others leave. */
double truth_share_left(const struct profile *p);
/* Mean latency of a flat device with this median. */
double truth_flat_ns(const struct profile *p, double median_us);
/* Time from request to request at depth 1, not below what the limit of requests leaves. */
double truth_paced_ns(const struct profile *p, double service_ns);

/* ---- truth.c ---- */

bool truth_is_same_track(const struct place *a, const struct place *b);
/* Revolutions of reading the media sectors [first, end) in a stream. */
double truth_stream_revolutions(const struct geometry *g, uint64_t first, uint64_t end);
/* The media sectors that hold these bytes. */
void truth_sectors(const struct geometry *g, uint64_t first_byte, uint64_t end_byte, uint64_t *ret_first,
                   uint64_t *ret_end);
