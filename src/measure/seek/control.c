/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mean over random reads, from fewer of them: period, angle and seek curve explain nearly all of what a read takes,
 * and what they explain has a mean that is known. The angle shows by how much u of a revolution the sector came by
 * after the head should have been there, F(d) by the curve; so the read should take F(d) + u, but for the scatter about
 * u = 0. Over random places u is uniform and the span gives the distances d, whatever F is. So the mean of F(d) + u is
 * known. With the mean of what reads took beyond it, it is the mean over all reads, without bias and with a fraction of
 * the variance (a control variate: Glasserman, Monte Carlo Methods in Financial Engineering, 4.1). What misses a
 * revolution or is late is in it.
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/seek/analysis.h"

#define TRACKS_LEAST 8   /* of a span: angles are even to a thousandth then (physics) */
#define STEPS        160 /* of the mean over the span's pairs, each way (a choice) */

static double stroke_at(const struct seek_known *k, double byte)
{
	return seek_stroke_of(&k->places, fmin(byte / (double)k->places.size_bytes, 1.0));
}

static bool is_longer(const struct seek_known *k, uint64_t first, uint64_t end, double tracks)
{
	return (double)(end - first) > tracks * seek_track_at(&k->places, (double)first / (double)k->places.size_bytes);
}

static bool is_all(const struct seek_known *k, uint64_t first, uint64_t end)
{
	return end - first + k->block_bytes > k->places.size_bytes;
}

/* Who says what a read should take. */
static const struct curve *judge_of(const struct seek_known *k, uint64_t first, uint64_t end)
{
	return is_all(k, first, end) && k->by_reads.is_known ? &k->by_reads : &k->curve;
}

bool seek_has_control(const struct seek_known *k, uint64_t first, uint64_t end)
{
	/* Of what is stored in parts, the distances are not those of the span. */
	return judge_of(k, first, end)->is_known && !k->is_patchy &&
	       (is_all(k, first, end) || is_longer(k, first, end, TRACKS_LEAST));
}

double seek_answer(const struct seek_known *k, double bytes, double track)
{
	double media = bytes / track * k->places.period_ns, bus = k->hits.bus_ns * bytes / k->step_bytes;

	return isfinite(bus) && bus > media ? bus : media;
}

double seek_transfer(const struct seek_known *k, double byte)
{
	return seek_answer(k, k->block_bytes,
	                   seek_track_at(&k->places, fmin(byte / (double)k->places.size_bytes, 1.0)));
}

/* How far apart the scatter of arrivals, and what the curve does not know, blur the edge. */
static double blur(const struct seek_known *k, const struct curve *c)
{
	return fmax(isfinite(k->scatter.ns) ? k->scatter.ns : 0.0, SEEK_SHARPEST * k->places.period_ns) + c->rms_ns;
}

/* What a read from behind `before` should take, given when its sector came by. later: than the curve, which is of
 * single sectors, says. */
static double expected(const struct seek_known *k, const struct curve *c, const struct seek_read *r, double later)
{
	double period = k->places.period_ns, transfer = seek_transfer(k, (double)r->offset), scale = 0.5 * blur(k, c);
	double there = curve_at(c, seek_stroke_between(&k->places, (double)r->offset, (double)r->before)) + later;
	double turn = (r->ns - transfer - there) / period, u = (turn - floor(turn)) * period;
	/* Too late for it just behind the edge, in time just before the next: the logistic law. */
	double late = (1.0 - tanh(u / scale / 2.0)) / 2.0, early = (1.0 - tanh((period - u) / scale / 2.0)) / 2.0;

	return there + u + period * (late - early) + transfer;
}

double seek_mean_arrival(const struct seek_known *k, const struct curve *c, uint64_t first, uint64_t end)
{
	double sum = 0.0, width = (double)(end - first), place[STEPS], other[STEPS];

	for (size_t i = 0; i < STEPS; i++) {
		place[i] = stroke_at(k, (double)first + ((double)i + 0.5) / STEPS * width);
		other[i] = stroke_at(k, (double)first + ((double)i + 0.25) / STEPS * width);
	}
	for (size_t i = 0; i < STEPS; i++)
		for (size_t j = 0; j < STEPS; j++)
			sum += curve_at(c, fabs(place[i] - other[j]));
	return sum / (STEPS * STEPS);
}

static double known_mean(const struct seek_known *k, const struct curve *c, uint64_t first, uint64_t end)
{
	double sum = 0.0;

	for (size_t i = 0; i < STEPS; i++)
		sum += seek_transfer(k, (double)first + ((double)i + 0.5) / STEPS * (double)(end - first));
	return seek_mean_arrival(k, c, first, end) + k->places.period_ns / 2.0 + sum / STEPS;
}

#define LATER_CELLS 48
#define LATER_MOST  0.2 /* to where a slow interface brings a block of an old drive */

/*
 * How much later than a single sector a block is there, beside what it takes to pass: what the interface takes. Some
 * drives begin to read wherever the head comes down in a block. Such a read does not end at the block's angle, and
 * angles just behind the edge never come: the wait would be reported too short by as much. So the edge is looked for
 * where the reads themselves begin: the latest place that is as likely as any.
 */
static double later_of(const struct seek_known *k, const struct curve *judge, const struct seek_read *const *reads,
                       size_t n)
{
	const double period = k->places.period_ns, least = -SEEK_KNOWN * period,
		     step = (LATER_MOST + SEEK_KNOWN) * period / LATER_CELLS, scatter = 0.5 * blur(k, &k->curve);
	double sum[LATER_CELLS] = { 0.0 }, most = -INFINITY;
	size_t reported = 0, last = 0;

	for (size_t i = 0; i < n; i++) {
		double there;

		if (!reads[i]->before)
			continue;
		there = reads[i]->ns - seek_transfer(k, (double)reads[i]->offset) -
		        curve_at(judge,
		                 seek_stroke_between(&k->places, (double)reads[i]->offset, (double)reads[i]->before));
		for (size_t j = 0; j < LATER_CELLS; j++)
			sum[j] +=
				log(arrival_likelihood(there, least + (double)j * step, scatter, period, SEEK_MISSED));
		reported++;
	}
	for (size_t j = 0; j < LATER_CELLS; j++)
		most = fmax(most, sum[j]);
	for (size_t j = 0; j < LATER_CELLS; j++)
		if (sum[j] >= most - STATS_95 * STATS_95 / 2.0) /* 95 % of one number */
			last = j;
	return reported >= SEEK_READS_LEAST ? least + (double)last * step : 0.0;
}

bool seek_control(const struct seek_known *k, const struct seek_read *const *reads, size_t n, uint64_t first,
                  uint64_t end, struct seek_controlled *ret)
{
	cleanup_free double *off = xcalloc(n + 1, sizeof(*off)), *plain = xcalloc(n + 1, sizeof(*plain));
	const bool is_whole = is_all(k, first, end);
	const struct curve *judge = judge_of(k, first, end);
	struct summary sum, all;
	double later, half, hidden;
	size_t m = 0;

	if (!seek_has_control(k, first, end))
		return false;
	later = is_whole ? later_of(k, judge, reads, n) : k->later_ns;
	for (size_t i = 0; i < n; i++) {
		if (!reads[i]->before)
			continue;
		plain[m] = reads[i]->ns;
		off[m++] = reads[i]->ns - expected(k, judge, reads[i], later);
	}
	if (m < 20 || !summary_of(off, m, &sum) || !summary_of(plain, m, &all))
		return false;
	ret->unexplained = sum.mad / all.mad;
	if (sum.stddev > 0.9 * all.stddev)
		return false;
	/*
	 * Lost revolutions are few, and who stops when the interval is narrow stops when he has seen too few: what
	 * their number says of their share (Wilson 1927) reaches further up, by half of 1.96^2 of them, and is wider by
	 * a quarter of that in the variance.
	 */
	hidden = STATS_95 * STATS_95 / 2.0 * k->places.period_ns / (double)m;
	half = fmax(interval_half(stats_batch_means_ci(off, m)),
	            hypot(STATS_95 * sum.stddev / sqrt((double)m), hidden));
	/* Over the whole device a wrong curve is not an error of the mean: what the curve says is wrong of the reads,
	 * too, and of its mean alike. */
	if (!is_whole)
		half = hypot(half, 0.5 * k->curve.rms_ns);
	ret->mean.value = known_mean(k, judge, first, end) + later + sum.mean;
	ret->mean.ci = (struct interval){ ret->mean.value + hidden - half, ret->mean.value + hidden + half };
	ret->variance_ratio = sum.stddev * sum.stddev / (all.stddev * all.stddev);
	ret->later_ns = later;
	ret->n = m;
	return true;
}

#define ODD_SHARED 0.5   /* while others read as well: they move the head, and are waited for */
#define COMES      0.002 /* after a read somebody comes, and goes: spells of seconds in runs of minutes (a choice) */
#define GOES       0.02
#define SPELL      10 /* reads: a shorter one is chance */

/* Did it take what no wait for its sector explains? -1: cannot tell. */
static int is_odd(const struct seek_known *k, const struct seek_read *r, const struct curve *c)
{
	const double period = k->places.period_ns, margin = SEEK_KNOWN + 2.0 * blur(k, c) / period;
	double turn;

	if (!r->before || r->is_hit || r->is_behind_hit || r->is_passed)
		return -1;
	turn = (r->ns - seek_transfer(k, (double)r->offset) - k->later_ns -
	        curve_at(c, seek_stroke_between(&k->places, (double)r->offset, (double)r->before))) /
	       period;
	return turn < -margin || turn > 1.0 + margin;
}

/* By a chain of two states, its own and shared: forward, then backward (Rabiner 1989). */
double seek_find_shared(const struct seek_known *k, struct seek_read *reads, size_t n, uint64_t first, uint64_t end)
{
	cleanup_free double *shared = xcalloc(n + 1, sizeof(*shared)), *ratio = xcalloc(n + 1, sizeof(*ratio));
	const struct curve *judge = judge_of(k, first, end);
	double behind = 1.0, at = COMES / (COMES + GOES);
	size_t found = 0;

	if (!seek_has_control(k, first, end))
		return 0.0;
	for (size_t i = 0; i < n; i++) {
		const int odd = is_odd(k, &reads[i], judge);

		ratio[i] = odd < 0 ? 1.0 : odd ? ODD_SHARED / SEEK_MISSED : (1.0 - ODD_SHARED) / (1.0 - SEEK_MISSED);
		at = at * (1.0 - GOES) + (1.0 - at) * COMES;
		at = shared[i] = at * ratio[i] / (at * ratio[i] + 1.0 - at);
	}
	/* behind: how much likelier all later reads are if it was shared. */
	for (size_t i = n; i-- > 0;) {
		const double odds = shared[i] / (1.0 - shared[i]) * behind, next = ratio[i] * behind;

		reads[i].is_shared = odds > 1.0;
		found += reads[i].is_shared;
		behind = ((1.0 - GOES) * next + GOES) / (COMES * next + 1.0 - COMES);
	}
	for (size_t i = 0; i < n && (found < SPELL || 2 * found > n); i++)
		reads[i].is_shared = false;
	return found < SPELL ? 0.0 : 100.0 * (double)found / (double)n;
}
