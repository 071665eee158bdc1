/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mean over random reads, from fewer of them: period, angle and seek curve explain nearly all of what a read takes, and what they explain has a mean
 * that is known. The angle tells by how much u of a revolution the sector came by after the head should have been there, F(d) by the curve; so the read
 * should take F(d) + u, but for the scatter about u = 0. Over random places u is uniform and the distances d are what the span's places give, whatever
 * F is: so the mean of what reads took beyond that, and the known mean of F(d) + u, are the mean over all reads without bias, and with a fraction of the
 * variance (a control variate: Glasserman, Monte Carlo Methods in Financial Engineering, 4.1). What misses a revolution or is late is in it.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

#define TRACKS_LEAST 24    /* of a span: in fewer the angle depends on the distance (physics; how many is a choice) */
#define LEAST_BLUR   0.002 /* of a revolution: angles are known no better */
#define STEPS        160   /* of the mean over the span's pairs, each way (a choice) */

static double stroke_at(const struct seek_run *s, double byte)
{
	return seek_stroke_of(s, fmin(byte / (double)s->size_bytes, 1.0));
}

bool seek_has_control(const struct seek_run *s, uint64_t first, uint64_t end)
{
	/* Of what is stored in parts, the distances are not those of the span. */
	return s->has_fit && s->rot.is_rotating && !s->rot.is_patchy &&
	       (double)(end - first) > TRACKS_LEAST * seek_track_at(s, (double)first / (double)s->size_bytes);
}

static double transfer_at(const struct seek_run *s, double byte)
{
	return s->t.block_bytes / seek_track_at(s, fmin(byte / (double)s->size_bytes, 1.0)) * s->rot.period_ns;
}

/* How far apart the scatter of arrivals, and what the curve does not know, blur the edge. */
static double blur(const struct seek_run *s)
{
	return fmax(isfinite(s->scatter_ns) ? s->scatter_ns : 0.0, LEAST_BLUR * s->rot.period_ns) + s->smooth_rms_ns;
}

/* What a read from behind `before` should take, given when its sector came by. */
static double expected(const struct seek_run *s, const struct seek_read *r)
{
	double period = s->rot.period_ns, transfer = transfer_at(s, (double)r->offset), scale = 0.5 * blur(s);
	double there = seek_arrival(s, fabs(stroke_at(s, (double)r->offset) - stroke_at(s, (double)r->before)));
	double turn = (r->ns - transfer - there) / period, u = (turn - floor(turn)) * period;
	/* Too late for it just behind the edge, in time just before the next: the logistic law. */
	double late = 1.0 / (1.0 + exp(fmin(u / scale, 700.0))),
	       early = 1.0 / (1.0 + exp(fmin((period - u) / scale, 700.0)));

	return there + u + period * (late - early) + transfer;
}

static double known_mean(const struct seek_run *s, uint64_t first, uint64_t end)
{
	double sum = 0.0, width = (double)(end - first), place[STEPS], other[STEPS];

	for (size_t i = 0; i < STEPS; i++) {
		place[i] = stroke_at(s, (double)first + ((double)i + 0.5) / STEPS * width);
		other[i] = stroke_at(s, (double)first + ((double)i + 0.25) / STEPS * width);
	}
	for (size_t i = 0; i < STEPS; i++)
		for (size_t k = 0; k < STEPS; k++)
			sum += seek_arrival(s, fabs(place[i] - other[k]));
	return sum / (STEPS * STEPS) + s->rot.period_ns / 2.0 + transfer_at(s, (double)first + width / 2.0);
}

bool seek_control_mean(const struct seek_run *s, const struct seek_read *const *reads, size_t n, uint64_t first,
                       uint64_t end, struct seek_controlled *ret)
{
	cleanup_free double *off = calloc(n + 1, sizeof(*off)), *plain = calloc(n + 1, sizeof(*plain));
	struct interval ci;
	struct summary sum, all;
	size_t m = 0;
	double least;

	if (!off || !plain || !seek_has_control(s, first, end))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!reads[i]->before)
			continue;
		plain[m] = reads[i]->ns;
		off[m++] = reads[i]->ns - expected(s, reads[i]);
	}
	if (m < 20 || !summary_of(off, m, &sum) || !summary_of(plain, m, &all) || sum.stddev > 0.9 * all.stddev)
		return false;
	ci = stats_batch_means_ci(off, m);
	if (!isfinite(ci.low) || !isfinite(ci.high))
		ci = sum.mean_ci;
	ret->mean_ns = known_mean(s, first, end) + sum.mean;
	/* That none of few reads was on the wrong side of the edge does not say that none would be. */
	least = 1.96 * sqrt(s->rot.period_ns * blur(s) / (double)m);
	ret->half_ns = hypot(fmax((ci.high - ci.low) / 2.0, least), 0.5 * s->smooth_rms_ns);
	ret->variance_ratio = sum.stddev * sum.stddev / (all.stddev * all.stddev);
	return true;
}
