/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracks about a place, from the angles of reads that go backwards by a third of a track: how long they are, by
 * those on one track, and where they begin, if equal tracks explain which of them lie on one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TRACKS_SURVEY    44    /* reads, over about 16 tracks: one hop in three crosses a begin (a choice) */
#define TRACKS_TOLERANCE 0.012 /* of a revolution: tracks are skewed by more (a head switch takes 0.3 ms and more) */
struct tracks_survey {
	double offset[TRACKS_SURVEY], phase[TRACKS_SURVEY]; /* downwards, or in pairs upwards */
	size_t n;
	bool is_break[TRACKS_SURVEY]; /* a track begins between this and the one before */
	bool is_known[TRACKS_SURVEY];
};

/* NaN: not known. guess: tracks are no longer by much. */
double tracks_length(const struct tracks_survey *v, double guess);
/* The middle of the grids that explain most, and how far they reach to either side; *track becomes sharper. */
bool tracks_grid(struct tracks_survey *v, double *track, double *ret_first, double *ret_slack);
