/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arithmetic of DiskMark, apart from the disk. */
#ifndef PLATTER_MEASURE_MARK_H
#define PLATTER_MEASURE_MARK_H

#include <stdbool.h>
#include <stdint.h>

/* The mark: 3 / (1/write + 1/read + 1/random); NaN unless all are positive. */
double mark_mean(double write, double read, double random);

/* Are record numbers random? Mean and coefficient of variation are what the seed looked at; a poor generator passes these two. */
struct mark_draws {
	uint64_t draws, ks_draws;         /* ks_draws: the first ones, that the Kolmogorov-Smirnov test is about */
	double mean, cv;                  /* of the places, 0..1; uniform: 0.5 and 1/sqrt(3) = 0.5774 */
	double ks_distance, ks_p;         /* to the uniform law */
	double covered, covered_expected; /* part of the records that was drawn; uniform: 1 - (1 - 1/records)^draws */
	bool is_random;                   /* nothing speaks against it: p >= 1e-4, covered within 5 deviations */
};
/* Draws numbers below `records` by next(). false: fewer than two draws, or no memory. */
bool mark_judge(uint64_t (*next)(void *arg, uint64_t records), void *arg, uint64_t draws, uint64_t records,
                struct mark_draws *ret);

struct result;
/* Figures of the draws; one plain sentence on what was measured; plots. cached_ratio: part of the file in memory; NaN: not known. */
void mark_tell_draws(struct result *res, const struct mark_draws *d);
void mark_tell_what(struct result *res, uint64_t file_bytes, double cached_ratio, bool is_media);
void mark_tell_plots(struct result *res, bool has_sweep);

#endif
