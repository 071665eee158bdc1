/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mean over random reads, from fewer of them: period, angle and seek curve explain nearly all of what a read takes, and what they explain has a mean
 * that is known. The angle tells by how much u of a revolution the sector came by after the head should have been there, F(d) by the curve; so the read
 * should take F(d) + u, but for the scatter about u = 0. Over random places u is uniform and the distances d are what the span's places give, whatever
 * F is: so the mean of what reads took beyond that, and the known mean of F(d) + u, are the mean over all reads without bias, and with a fraction of the
 * variance (a control variate: Glasserman, Monte Carlo Methods in Financial Engineering, 4.1). What misses a revolution or is late is in it.
 *
 * Nearly all that is left is whole revolutions that now and then one access loses, on noisy disks up to 5 in 100, which no angle and no curve foretells.
 * They are the disk's and the machine's, wherever the read is: so what the spans lost is told from all of them together, each drawn to the mean of all
 * as far as their differences are no more than chance (empirical Bayes: Efron and Morris 1975). The whole device speaks for itself: it has places that are
 * in no other span.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

#define TRACKS_LEAST \
	8 /* of a span: what is left beside whole tracks makes angles uneven by a thousandth then (physics) */
#define TRACKS_POOL \
	24           /* nearer, heads change more often than the arm moves, which the curve does not tell (a choice) */
#define POOL_LEAST 4 /* spans: of fewer nobody knows how they differ (a choice) */
#define LEAST_BLUR 0.002 /* of a revolution: angles are known no better */
/*
 * Reads that lose a revolution, at least, whether or not few reads show any: where a track ends within a block, by its skew (a quarter of a revolution: real
 * drives have 0.1 to 0.3), and one in 300 besides (real drives: 1 in 1000 to 1 in 100). A run that ends when it has seen few would else end when chance
 * hides them.
 */
#define LATE_SKEW  0.25
#define LATE_LEAST 0.003
#define WHOLE      0.99 /* of the device: what is longer is all of it */
#define STEPS      160  /* of the mean over the span's pairs, each way (a choice) */

static double stroke_at(const struct seek_run *s, double byte)
{
	return seek_stroke_of(s, fmin(byte / (double)s->size_bytes, 1.0));
}

double seek_stroke_between(const struct seek_run *s, double byte, double other)
{
	return fabs(stroke_at(s, byte) - stroke_at(s, other));
}

static bool is_longer(const struct seek_run *s, uint64_t first, uint64_t end, double tracks)
{
	return (double)(end - first) > tracks * seek_track_at(s, (double)first / (double)s->size_bytes);
}

bool seek_has_control(const struct seek_run *s, uint64_t first, uint64_t end)
{
	/* Of what is stored in parts, the distances are not those of the span. */
	return s->has_fit && s->rot.is_rotating && !s->rot.is_patchy && is_longer(s, first, end, TRACKS_LEAST);
}

double seek_transfer(const struct seek_run *s, double byte)
{
	return s->t.block_bytes / seek_track_at(s, fmin(byte / (double)s->size_bytes, 1.0)) * s->rot.period_ns;
}

/* How far apart the scatter of arrivals, and what the curve does not know, blur the edge. */
static double blur(const struct seek_run *s)
{
	return fmax(isfinite(s->scatter_ns) ? s->scatter_ns : 0.0, LEAST_BLUR * s->rot.period_ns) + s->smooth_rms_ns;
}

/* Of the variance of what reads take beyond what is expected. */
static double least_variance(const struct seek_run *s, uint64_t first)
{
	double late = LATE_LEAST + LATE_SKEW * seek_transfer(s, (double)first) / s->rot.period_ns;

	return s->rot.period_ns * (late * s->rot.period_ns + blur(s));
}

/* What a read from behind `before` should take, given when its sector came by. */
static double expected(const struct seek_run *s, const struct seek_read *r)
{
	double period = s->rot.period_ns, transfer = seek_transfer(s, (double)r->offset), scale = 0.5 * blur(s);
	double there = seek_arrival(s, seek_stroke_between(s, (double)r->offset, (double)r->before));
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
	return sum / (STEPS * STEPS) + s->rot.period_ns / 2.0 + seek_transfer(s, (double)first + width / 2.0);
}

size_t seek_part_of(const struct seek_run *s, const struct seek_read *read)
{
	return read->offset / s->t.block_bytes % SEEK_PARTS; /* a random block's number is any */
}

/*
 * Who says what a read should take: over the whole device, whose reads are themselves part of what the curve is from, each part of them is held against what
 * the others tell (cross-fitting: Chernozhukov et al. 2018), as a curve through a read's own time would explain it too well.
 */
static const struct seek_run *judge_of(const struct seek_run *s, bool is_whole, size_t part)
{
	return is_whole && s->without[part] ? s->without[part] : s;
}

/* Of the whole device, from random reads: there is a curve also without each part of them. */
static bool is_judged(const struct seek_run *s, bool is_whole)
{
	for (size_t i = 0; i < SEEK_PARTS; i++)
		if (is_whole && s->without[i] && !s->without[i]->has_fit)
			return false;
	return true;
}

bool seek_control(const struct seek_run *s, const struct seek_read *const *reads, size_t n, uint64_t first,
                  uint64_t end, struct seek_controlled *ret)
{
	cleanup_free double *off = calloc(n + 1, sizeof(*off)), *plain = calloc(n + 1, sizeof(*plain));
	struct interval ci;
	struct summary sum, all;
	double variance, known = 0.0;
	size_t m = 0, of[SEEK_PARTS] = { 0 };
	bool is_whole = (double)(end - first) > WHOLE * (double)s->size_bytes;

	if (!off || !plain || !seek_has_control(s, first, end) || !is_judged(s, is_whole))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!reads[i]->before)
			continue;
		plain[m] = reads[i]->ns;
		off[m++] = reads[i]->ns - expected(judge_of(s, is_whole, seek_part_of(s, reads[i])), reads[i]);
		of[seek_part_of(s, reads[i])]++;
	}
	if (m < 20 || !summary_of(off, m, &sum) || !summary_of(plain, m, &all) || sum.stddev > 0.9 * all.stddev)
		return false;
	ci = stats_batch_means_ci(off, m);
	if (!isfinite(ci.low) || !isfinite(ci.high))
		ci = sum.mean_ci;
	for (size_t i = 0; i < SEEK_PARTS; i++)
		known += (double)of[i] / (double)m * known_mean(judge_of(s, is_whole, i), first, end);
	variance = fmax(sum.stddev * sum.stddev, least_variance(s, first));
	*ret = (struct seek_controlled){ .known_ns = known,
		                         .off_ns = sum.mean,
		                         .half_ns = fmax((ci.high - ci.low) / 2.0, 1.96 * sqrt(variance / (double)m)),
		                         .variance = variance,
		                         .variance_ratio = sum.stddev * sum.stddev / (all.stddev * all.stddev),
		                         .is_far = is_longer(s, first, end, TRACKS_POOL),
		                         .n = m };
	seek_control_tell(s, ret);
	return true;
}

void seek_control_tell(const struct seek_run *s, struct seek_controlled *c)
{
	c->mean_ns = c->known_ns + c->off_ns;
	c->half_ns = hypot(c->half_ns, 0.5 * s->smooth_rms_ns);
}

/* ---- all spans together ---- */

/* What all lost, if theirs differ by `spread`; and the log likelihood of that (of what is left beside the mean: REML, Patterson and Thompson 1971). */
static double pooled(const struct seek_controlled *c, size_t n, double variance, double spread, double *ret_mean,
                     double *ret_weight)
{
	double log_sum = 0.0, sum = 0.0, weight = 0.0, square = 0.0;

	for (size_t i = 0; i < n; i++) {
		double v = spread * spread + variance / (double)c[i].n;

		sum += c[i].off_ns / v;
		weight += 1.0 / v;
		log_sum += 0.5 * log(v);
	}
	*ret_mean = sum / weight;
	*ret_weight = weight;
	for (size_t i = 0; i < n; i++)
		square += pow(c[i].off_ns - *ret_mean, 2.0) / (spread * spread + variance / (double)c[i].n);
	return -0.5 * square - log_sum - 0.5 * log(weight);
}

void seek_control_pool(const struct seek_run *s, struct seek_controlled *c, size_t n, size_t whole)
{
	/* Of the error of a middling span: from none to where there is nothing to be learnt from the others. All alike likely beforehand. */
	static const double spreads[] = { 0.0, 0.3, 0.6, 1.0, 1.7, 3.0, 6.0 };
	double spread[ARRAY_LEN(spreads)], mean[ARRAY_LEN(spreads)], weight[ARRAY_LEN(spreads)],
		likely[ARRAY_LEN(spreads)], most = -INFINITY, all = 0.0, variance = 0.0, reads = 0.0;

	for (size_t i = 0; i < n; i++) {
		variance += (double)c[i].n * c[i].variance;
		reads += (double)c[i].n;
	}
	if (n < POOL_LEAST)
		return;
	variance /= reads;
	for (size_t k = 0; k < ARRAY_LEN(spreads); k++) {
		/* The curve, which is wrong by no less, is as wrong for neighbours. */
		spread[k] = hypot(spreads[k] * sqrt(variance * (double)n / reads), 0.5 * s->smooth_rms_ns);
		likely[k] = pooled(c, n, variance, spread[k], &mean[k], &weight[k]);
		most = fmax(most, likely[k]);
	}
	for (size_t k = 0; k < ARRAY_LEN(spreads); k++)
		all += likely[k] = exp(likely[k] - most);
	for (size_t i = 0; i < n; i++) {
		double own = variance / (double)c[i].n, first = 0.0, second = 0.0;

		if (i == whole) /* what lies where no other span is, is in it alone */
			continue;
		for (size_t k = 0; k < ARRAY_LEN(spreads); k++) {
			double keep = spread[k] * spread[k] / (spread[k] * spread[k] + own), rest = 1.0 - keep;
			double off = keep * c[i].off_ns + rest * mean[k];

			first += likely[k] / all * off;
			second += likely[k] / all * (keep * own + rest * rest / weight[k] + off * off);
		}
		c[i].off_ns = first;
		c[i].half_ns = 1.96 * sqrt(fmax(second - first * first, 0.0));
		seek_control_tell(s, &c[i]);
	}
}
