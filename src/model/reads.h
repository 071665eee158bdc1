/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a random read should take, straight from the times of others, and of aimed accesses: the likeliest a + b sqrt(d)
 * + c d (stats/arrival.c says how likely a time is by it). That is not a seek curve to be reported, as it knows neither
 * its own error nor a knee; but it needs no points of thirty reads each, and a hundred reads know three numbers well.
 * The mean over the device, which it takes variance off, is right by any curve.
 */
#pragma once

#include "model/curve.h"

struct reads_way {
	double stroke, ns; /* part of it that the head went; until the sector began */
};
/* The likeliest; from: a curve that is near it; NULL: none is known. */
struct curve reads_curve(const struct reads_way *v, size_t n, double period, const struct curve *from);
