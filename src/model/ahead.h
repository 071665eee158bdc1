/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What reads a little ahead of the head say of the overhead: of sectors on the track that the head is over, which come
 * by when the command is given, or soon after it. Where a track begins need not be known for that, so that it goes
 * where tracks are unequal, too. Drives do one of two things:
 *
 *	they read ahead	what is on its way is answered when the command is through, or when the sector has come by: the
 *			later of both, max(o, w);
 *	they do not	the sector is waited for: w where the command is through by then, and w and a revolution where
 * it is not.
 *
 * Both are tried, each is as likely beforehand, and the reads themselves say which it is.
 */
#pragma once

#include "stats/stats.h"

#define AHEAD_BLUR_NS 20e3 /* so far is a blurred one off at most */
struct ahead_read {
	double ns, wait_ns; /* what it took; until the sector had come by */
	bool is_blurred;    /* what the interface takes of it is not known */
};
/* The logarithm of how likely it is. */
double ahead_log_likelihood(const struct ahead_read *a, double overhead, double scale, double period);
/* The middle of what is likely of the overhead up to most, and its 95 %; false: not known. */
bool ahead_overhead(const struct ahead_read *on, size_t nread, double period, double most, struct stats_estimate *ret);
