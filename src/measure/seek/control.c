/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mean over random reads, from fewer of them: period, angle and seek curve explain nearly all of what a read takes,
 * and what they explain has a mean that is known. The angle tells by how much u of a revolution the sector came by
 * after the head should have been there, F(d) by the curve; so the read should take F(d) + u, but for the scatter about
 * u = 0. Over random places u is uniform and the distances d are what the span's places give, whatever F is: so the
 * mean of what reads took beyond that, and the known mean of F(d) + u, are the mean over all reads without bias, and
 * with a fraction of the variance (a control variate: Glasserman, Monte Carlo Methods in Financial Engineering, 4.1).
 * What misses a revolution or is late is in it.
 *
 * Nearly all that is left is whole revolutions that now and then one access loses, on noisy disks up to 5 in 100, which
 * no angle and no curve foretells. They are the disk's and the machine's, wherever the read is: so what the spans lost
 * is told from all of them together, each drawn to the mean of all as far as their differences are no more than chance
 * (empirical Bayes: Efron and Morris 1975). The whole device speaks for itself: it has places that are in no other
 * span.
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
 * Reads that lose a revolution, at least, whether or not few reads show any: where a track ends within a block, by its
 * skew (a quarter of a revolution: real drives have 0.1 to 0.3), and one in 300 besides (real drives: 1 in 1000 to 1 in
 * 100). A run that ends when it has seen few would else end when chance hides them.
 */
#define LATE_SKEW  0.25
#define LATE_LEAST 0.003
#define FLIPS_MOST                                                                                                \
	3.0 /* lost revolutions that few reads may hide: with so many on the average chance shows none once in 20 \
	       (Poisson) */
#define WHOLE 0.99 /* of the device: what is longer is all of it */
#define STEPS 160  /* of the mean over the span's pairs, each way (a choice) */

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

static bool is_all(const struct seek_run *s, uint64_t first, uint64_t end)
{
	return (double)(end - first) > WHOLE * (double)s->size_bytes;
}

bool seek_has_control(const struct seek_run *s, uint64_t first, uint64_t end)
{
	/* Of what is stored in parts, the distances are not those of the span. */
	bool has_curve = s->has_fit || (s->without[0] && is_all(s, first, end));

	return has_curve && s->rot.is_rotating && !s->rot.is_patchy && is_longer(s, first, end, TRACKS_LEAST);
}

double seek_answer(const struct seek_run *s, double bytes, double track)
{
	double media = bytes / track * s->rot.period_ns, bus = s->sector_bus_ns * bytes / s->t.step_bytes;

	return isfinite(bus) && bus > media ? bus : media;
}

double seek_transfer(const struct seek_run *s, double byte)
{
	return seek_answer(s, s->t.block_bytes, seek_track_at(s, fmin(byte / (double)s->size_bytes, 1.0)));
}

/* How far apart the scatter of arrivals, and what the curve does not know, blur the edge. */
static double blur(const struct seek_run *s)
{
	return fmax(isfinite(s->scatter_ns) ? s->scatter_ns : 0.0, LEAST_BLUR * s->rot.period_ns) + s->smooth_rms_ns;
}

/*
 * Of the variance of what n reads take beyond what is expected. A blurred edge has reads pass for late by a revolution,
 * or for in time, as well; but no more of them than chance hides, for those are in what the reads show. (Of a span,
 * whose reads are few, all spans' tell.)
 */
static double least_variance(const struct seek_run *s, uint64_t first, size_t n, bool is_whole)
{
	double period = s->rot.period_ns, late = LATE_LEAST + LATE_SKEW * seek_transfer(s, (double)first) / period;
	double least = late + blur(s) / period;

	if (is_whole)
		least = fmin(least, fmax(late, FLIPS_MOST / (double)n));
	return least * period * period;
}

/* What a read from behind `before` should take, given when its sector came by. later: than the curve, which is of
 * single sectors, says. */
static double expected(const struct seek_run *s, const struct seek_read *r, double later)
{
	double period = s->rot.period_ns, transfer = seek_transfer(s, (double)r->offset), scale = 0.5 * blur(s);
	double there = seek_arrival(s, seek_stroke_between(s, (double)r->offset, (double)r->before)) + later;
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
 * Who says what a read should take: over the whole device, whose reads are themselves part of what the curve is from,
 * each part of them is held against what the others tell (cross-fitting: Chernozhukov et al. 2018), as a curve through
 * a read's own time would explain it too well.
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

#define LATER_CELLS 48
#define LATER_LEAST (-0.04) /* of a revolution: to where the curve may be wrong */
#define LATER_MOST  0.2     /* to where a slow interface brings a block of an old drive */
#define LATER_READS 60      /* of fewer nothing is learnt */
#define LATER_WORSE 2.0     /* of the log likelihood: as likely as the likeliest (95 % of one number) */

/*
 * How much later than a single sector a block is there, beside what it takes to pass: what the interface takes. A drive
 * that begins to read wherever the head comes down in a block has its end not at the block's angle then, and angles
 * just behind the edge never come: the wait would be told too short by what is missing there. So the edge is looked for
 * where the reads themselves begin: the latest place that is as likely as any. Of the reads but one part.
 */
static double later_of(const struct seek_run *s, const struct seek_read *const *reads, size_t n, size_t without,
                       bool is_whole)
{
	double sum[LATER_CELLS] = { 0.0 }, most = -INFINITY, period = s->rot.period_ns, step, least,
	       scatter = 0.5 * blur(s);
	const struct seek_run *judge = judge_of(s, is_whole, without);
	size_t told = 0, last = 0;

	least = LATER_LEAST * period;
	step = (LATER_MOST - LATER_LEAST) * period / LATER_CELLS;
	for (size_t i = 0; i < n; i++) {
		double there;

		if (!reads[i]->before || seek_part_of(s, reads[i]) == without)
			continue;
		there = reads[i]->ns - seek_transfer(s, (double)reads[i]->offset) -
		        seek_arrival(judge, seek_stroke_between(s, (double)reads[i]->offset, (double)reads[i]->before));
		for (size_t k = 0; k < LATER_CELLS; k++)
			sum[k] += log(arrival_likelihood(there, least + (double)k * step, scatter, period, 0.03));
		told++;
	}
	for (size_t k = 0; k < LATER_CELLS; k++)
		most = fmax(most, sum[k]);
	for (size_t k = 0; k < LATER_CELLS; k++)
		if (sum[k] >= most - LATER_WORSE)
			last = k;
	return told >= LATER_READS ? least + (double)last * step : 0.0;
}

/* By period, angle and curve. */
static bool control_by_curve(const struct seek_run *s, const struct seek_read *const *reads, size_t n, uint64_t first,
                             uint64_t end, struct seek_controlled *ret)
{
	cleanup_free double *off = calloc(n + 1, sizeof(*off)), *plain = calloc(n + 1, sizeof(*plain));
	struct interval ci;
	struct summary sum, all;
	double variance, known = 0.0, later[SEEK_PARTS], all_later = 0.0;
	size_t m = 0, of[SEEK_PARTS] = { 0 };
	bool is_whole = is_all(s, first, end);

	if (!off || !plain || !seek_has_control(s, first, end) || !is_judged(s, is_whole))
		return false;
	for (size_t i = 0; i < SEEK_PARTS; i++)
		later[i] = is_whole ? later_of(s, reads, n, i, true) : s->later_ns;
	for (size_t i = 0; i < n; i++) {
		if (!reads[i]->before)
			continue;
		plain[m] = reads[i]->ns;
		off[m++] = reads[i]->ns - expected(judge_of(s, is_whole, seek_part_of(s, reads[i])), reads[i],
		                                   later[seek_part_of(s, reads[i])]);
		of[seek_part_of(s, reads[i])]++;
	}
	if (m < 20 || !summary_of(off, m, &sum) || !summary_of(plain, m, &all) || sum.stddev > 0.9 * all.stddev)
		return false;
	ci = stats_batch_means_ci(off, m);
	if (!isfinite(ci.low) || !isfinite(ci.high))
		ci = sum.mean_ci;
	for (size_t i = 0; i < SEEK_PARTS; i++) {
		all_later += (double)of[i] / (double)m * later[i];
		known += (double)of[i] / (double)m * (known_mean(judge_of(s, is_whole, i), first, end) + later[i]);
	}
	variance = fmax(sum.stddev * sum.stddev, least_variance(s, first, m, is_whole));
	*ret = (struct seek_controlled){ .known_ns = known,
		                         .off_ns = sum.mean,
		                         .half_ns = fmax(interval_half(ci), 1.96 * sqrt(variance / (double)m)),
		                         .variance = variance,
		                         .variance_ratio = sum.stddev * sum.stddev / (all.stddev * all.stddev),
		                         .is_far = is_longer(s, first, end, TRACKS_POOL),
		                         .is_whole = is_whole,
		                         .later_ns = all_later,
		                         .n = m };
	seek_control_tell(s, ret);
	return true;
}

/* ---- by distances alone ---- */

#define REGRESSED_LEAST 40  /* reads: of fewer the slopes follow chance (a choice; the interval knows of theirs) */
#define REGRESSED_HELPS 0.9 /* of the deviation: else nothing is won (a choice) */

/* What reads take, against root and length of their ways, in parts of the span: about both means, the products; then
 * the slopes. */
struct regression {
	double mean[3];            /* root, length, time */
	double rr, rd, dd, rt, dt; /* sums of products, less the means */
	double root, length;       /* slopes */
};

static void regress(const double *root, const double *length, const double *time, size_t n, struct regression *ret)
{
	struct regression g = { .rr = 0.0 };
	double det;

	for (size_t i = 0; i < n; i++) {
		g.mean[0] += root[i] / (double)n;
		g.mean[1] += length[i] / (double)n;
		g.mean[2] += time[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double r = root[i] - g.mean[0], d = length[i] - g.mean[1], t = time[i] - g.mean[2];

		g.rr += r * r;
		g.rd += r * d;
		g.dd += d * d;
		g.rt += r * t;
		g.dt += d * t;
	}
	det = g.rr * g.dd - g.rd * g.rd;
	g.root = (g.rt * g.dd - g.dt * g.rd) / det;
	g.length = (g.dt * g.rr - g.rt * g.rd) / det;
	*ret = g;
}

/*
 * Where neither period nor curve is known: longer ways take longer, about as a + b sqrt(d) + c d. Slopes are those of
 * the reads themselves (regression estimator: Cochran, Sampling Techniques, 7), and over uniform pairs of a span the
 * means of sqrt(d) and d are 8/15 and 1/3. The wait for the sector remains.
 */
static bool control_by_distance(const struct seek_run *s, const struct seek_read *const *reads, size_t n,
                                uint64_t first, uint64_t end, struct seek_controlled *ret)
{
	cleanup_free double *v = calloc(4 * n + 1, sizeof(*v));
	double *root, *length, *time, *off, known, away[2], det, leverage, variance;
	struct regression g;
	struct summary sum, all;
	struct interval ci;
	size_t m = 0;

	if (!v || s->rot.is_patchy) /* distances are those of what is stored */
		return false;
	root = v;
	length = v + n;
	time = v + 2 * n;
	off = v + 3 * n;
	for (size_t i = 0; i < n; i++) {
		if (!reads[i]->before)
			continue;
		length[m] = fabs((double)reads[i]->offset - (double)reads[i]->before) / (double)(end - first);
		root[m] = sqrt(length[m]);
		time[m++] = reads[i]->ns;
	}
	if (m < REGRESSED_LEAST)
		return false;
	regress(root, length, time, m, &g);
	det = g.rr * g.dd - g.rd * g.rd;
	for (size_t i = 0; i < m; i++)
		off[i] = time[i] - g.root * root[i] - g.length * length[i];
	if (!(det > 0.0) || !summary_of(off, m, &sum) || !summary_of(time, m, &all) ||
	    !(sum.stddev < REGRESSED_HELPS * all.stddev)) /* of one length all: nothing to be explained */
		return false;
	known = g.root * 8.0 / 15.0 + g.length / 3.0;
	away[0] = 8.0 / 15.0 - g.mean[0];
	away[1] = 1.0 / 3.0 - g.mean[1];
	leverage = (away[0] * away[0] * g.dd - 2.0 * away[0] * away[1] * g.rd + away[1] * away[1] * g.rr) / det;
	variance = sum.stddev * sum.stddev * (double)(m - 1) / (double)(m - 3);
	ci = stats_batch_means_ci(off, m);
	ret->half_ns = isfinite(ci.low) && isfinite(ci.high) ? interval_half(ci) : 0.0;
	*ret = (struct seek_controlled){ .known_ns = known,
		                         .off_ns = sum.mean,
		                         .mean_ns = known + sum.mean,
		                         .half_ns = hypot(fmax(ret->half_ns, 1.96 * sqrt(variance / (double)m)),
		                                          1.96 * sqrt(variance * leverage)),
		                         .variance = variance,
		                         .variance_ratio = variance / (all.stddev * all.stddev),
		                         .is_by_distance = true,
		                         .n = m };
	return true;
}

bool seek_control(const struct seek_run *s, const struct seek_read *const *reads, size_t n, uint64_t first,
                  uint64_t end, struct seek_controlled *ret)
{
	struct seek_controlled other;
	bool is_known = control_by_curve(s, reads, n, first, end, ret);

	/* A curve from few reads may explain less than the reads themselves do. (What spans lose is told together, by
	 * the curve.) */
	if (is_known && !ret->is_whole)
		return true;
	if (!control_by_distance(s, reads, n, first, end, &other) || (is_known && ret->half_ns <= other.half_ns))
		return is_known;
	*ret = other;
	return true;
}

void seek_control_tell(const struct seek_run *s, struct seek_controlled *c)
{
	c->mean_ns = c->known_ns + c->off_ns;
	/* Over the whole device a wrong curve is no error of the mean: what the curve says is wrong of the reads, too,
	 * and of its mean alike. */
	if (!c->is_whole)
		c->half_ns = hypot(c->half_ns, 0.5 * s->smooth_rms_ns);
}

/* ---- all spans together ---- */

/* What all lost, if theirs differ by `spread`; and the log likelihood of that (of what is left beside the mean: REML,
 * Patterson and Thompson 1971). */
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
	/* Of the error of a middling span: from none to where there is nothing to be learnt from the others. All alike
	 * likely beforehand. */
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
