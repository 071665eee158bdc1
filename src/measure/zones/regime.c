/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regimes: storage behind a token bucket is fast until its credit is spent. That is a step in time, at all places
 * alike; it is looked for before the levels (largest reduction of the scatter within positions, Quandt 1960), and what
 * came before it is left out of them.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define REGIME_STEP_MIN  0.05 /* relative; credits change rates by far more, disks by less */
#define REGIME_SHARE_MIN 0.6  /* of the scatter within positions that a step must explain: more than half */
#define REGIME_F_MIN     30.0 /* of the best of all splits: far above what chance gives */

struct part { /* of the samples of one position: before the step and after it */
	double n[2], sum[2];
};

static double part_weight(const struct part *p)
{
	return p->n[0] > 0.0 && p->n[1] > 0.0 ? p->n[0] * p->n[1] / (p->n[0] + p->n[1]) : 0.0;
}

static double part_step(const struct part *p)
{
	return part_weight(p) > 0.0 ? p->sum[1] / p->n[1] - p->sum[0] / p->n[0] : 0.0;
}

/* Scatter within positions: the sum of squares, and what a straight drift takes away from it. */
static double scatter(const struct zone_sample *const *s, size_t n, size_t npositions, double *ret_drift_part,
                      double *ret_df)
{
	cleanup_free double *m = xcalloc(3 * npositions, sizeof(*m));
	double ss = 0.0, sxx = 0.0, sxy = 0.0, df = (double)n;

	*ret_drift_part = 0.0;
	*ret_df = 0.0;
	for (size_t i = 0; i < n; i++) {
		double *p = &m[3 * s[i]->position];

		df -= p[0] == 0.0;
		p[0] += 1.0;
		p[1] += s[i]->clean_y;
		p[2] += s[i]->at_s;
	}
	for (size_t i = 0; i < n; i++) {
		const double *p = &m[3 * s[i]->position];
		double dy = s[i]->clean_y - p[1] / p[0], dt = s[i]->at_s - p[2] / p[0];

		ss += dy * dy;
		sxx += dt * dt;
		sxy += dt * dy;
	}
	if (sxx > 0.0)
		*ret_drift_part = sxy * sxy / sxx;
	*ret_df = df;
	return ss;
}

/* The split in time that takes most of the scatter away; returns how much. */
static double best_split(const struct zone_sample *const *s, size_t n, size_t npositions, size_t *ret_split,
                         double *ret_step)
{
	cleanup_free struct part *parts = xcalloc(npositions, sizeof(*parts));
	double num = 0.0, weight = 0.0, best = 0.0;

	for (size_t i = 0; i < n; i++) {
		parts[s[i]->position].n[1] += 1.0;
		parts[s[i]->position].sum[1] += s[i]->clean_y;
	}
	for (size_t i = 0; i + 1 < n; i++) {
		struct part *p = &parts[s[i]->position];
		double y = s[i]->clean_y;

		num -= part_weight(p) * part_step(p);
		weight -= part_weight(p);
		p->n[0] += 1.0;
		p->sum[0] += y;
		p->n[1] -= 1.0;
		p->sum[1] -= y;
		num += part_weight(p) * part_step(p);
		weight += part_weight(p);
		if (weight > 1.5 && num * num / weight > best) {
			best = num * num / weight;
			*ret_split = i + 1;
			*ret_step = num / weight;
		}
	}
	return best;
}

static int by_time(const void *a, const void *b)
{
	const struct zone_sample *const *x = a, *const *y = b;

	return (*x)->at_s < (*y)->at_s ? -1 : (*x)->at_s > (*y)->at_s;
}

/* Mean rate of samples and its interval, over places: of time per byte. */
static double mean_rate(struct zone_sample *const *s, size_t n, struct interval *ret_ci)
{
	cleanup_free double *x = xcalloc(n, sizeof(*x));
	struct summary sum;

	*ret_ci = (struct interval){ NAN, NAN };
	for (size_t i = 0; i < n; i++)
		x[i] = s[i]->ns_per_byte;
	if (!summary_of(x, n, &sum))
		return NAN;
	*ret_ci = (struct interval){ 1e9 / sum.mean_ci.high, 1e9 / sum.mean_ci.low };
	return 1e9 / sum.mean;
}

void zone_regime_find(struct zone_samples *samples, const struct zone_layout *l, struct zone_regime *ret)
{
	cleanup_free struct zone_sample **s = xcalloc(samples->n + 1, sizeof(*s));
	const struct zone_sample *const *c;
	double all, drift, df, gain, step = 0.0;
	size_t n = 0, split = 0;

	for (size_t i = 0; i < samples->n; i++)
		if (zone_is_usable(&samples->v[i]) &&
		    samples->v[i].kind == SAMPLE_CURVE) /* looks are where it is slow */
			s[n++] = &samples->v[i];
	if (n < 8)
		return;
	qsort(s, n, sizeof(*s), by_time);
	c = (const struct zone_sample *const *)s;
	all = scatter(c, n, l->npositions, &drift, &df);
	if (df < 0.5 * ((double)n - df))
		return; /* --full: hardly any place was visited twice, and those for being slow */
	gain = best_split(c, n, l->npositions, &split, &step);
	if (fabs(step) < REGIME_STEP_MIN || df < 4.0 || gain < REGIME_SHARE_MIN * all ||
	    all - gain > 0.5 * (all - drift) || gain < REGIME_F_MIN * (all - gain) / (df - 1.0))
		return;
	ret->is_found = true;
	ret->at_s = 0.5 * (s[split - 1]->at_s + s[split]->at_s);
	ret->step = step;
	ret->before_n = split;
	ret->after_n = n - split;
	ret->before_bytes_per_s = mean_rate(s, split, &ret->before_ci);
	ret->after_bytes_per_s = mean_rate(s + split, n - split, &ret->after_ci);
	for (size_t i = 0; i < samples->n; i++) {
		struct zone_sample *z = &samples->v[i];

		if (z->at_s >= ret->at_s)
			continue;
		z->is_burst = true;
		ret->before_bytes += (double)(z->end_bytes - z->first_bytes);
	}
}

/*
 * A limit that lets data through by the burst (a cgroup's: ten times a second): samples are as short as its pauses, lie
 * within a burst or meet a pause, and their rates say little. What betrays it: the samples, whole, take far longer than
 * at their median rate, for pauses that are met at most places. A rotating disk that fails all over has such pauses as
 * well (7 % of simulated ones that did), so the median has to be above any rotating disk's. What lasts is all bytes
 * over all the time.
 */
#define PAUSE_NS      50e6  /* several revolutions: no retry of a healthy disk */
#define BURST_TIMES   2.0   /* what a period of a tenth of a second makes of a limit at half of the rate */
#define BURST_LEAST   700e6 /* two arms at once reach 550 */
#define PAUSED_PLACES 0.4   /* of all: a limit meets most places, a disturbance a few */

/* A sample waited by more than its own quickest quarter explains: storage that is as slow throughout there (a stored
 * part of a thin volume) does not pause. */
static bool has_pause(const struct zone_sample *s)
{
	double quickest = INFINITY;

	for (size_t i = 0; i < ZONE_PARTS; i++)
		quickest = fmin(quickest, s->part_ns_per_byte[i]); /* of NaN the other */
	return s->whole.ns - s->whole.bytes * quickest > PAUSE_NS; /* false of INFINITY */
}

bool zone_is_in_bursts(const struct zone_samples *samples, size_t npositions, double *ret_burst, double *ret_lasting,
                       size_t *ret_n)
{
	cleanup_free double *rate = xcalloc(samples->n + 1, sizeof(*rate));
	cleanup_free bool *is_paused = xcalloc(npositions + 1, sizeof(*is_paused));
	double bytes = 0.0, ns = 0.0, median, lasting;
	size_t n = 0, paused = 0;

	for (size_t i = 0; i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];

		if (!s->is_good || !(s->whole.ns > 0.0))
			continue;
		rate[n++] = 1e9 / s->ns_per_byte;
		bytes += s->whole.bytes;
		ns += s->whole.ns;
		if (s->position < npositions && !is_paused[s->position] && has_pause(s))
			paused += is_paused[s->position] = true;
	}
	median = stats_median(rate, n); /* NaN of none */
	lasting = bytes / ns * 1e9;
	if (n < 8 || (double)paused < PAUSED_PLACES * (double)npositions || !(median > BURST_TIMES * lasting) ||
	    !(median > BURST_LEAST))
		return false;
	*ret_burst = median;
	*ret_lasting = lasting;
	*ret_n = n;
	return true;
}
