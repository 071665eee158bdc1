/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the completions of one sequential sample to a rate.
 *
 * While a disk streams, the completion of byte b comes at t(b) = t0 + S(b): S is the time the media need, a straight
 * line with a step (the skew) at every track's end. Bytes between the first and the last completion over the time
 * between them is off by up to one skew, whatever the sample's length in tracks; the regression of time on bytes is off
 * by that over the number of tracks, since the steps repeat. It is also unbiased for a lost revolution at a random
 * place. What it regresses is time on bytes, not the other way round, so that means of samples are means of time:
 * harmonic in the rate.
 *
 * Lead-in: the first `depth` completions (seek, settle, waiting for the angle), and more while completions come too
 * fast: that is what the drive's cache held, plus the wait for the angle after it.
 *
 * Late completions: a host that was busy sees some completions too late; the disk went on. A completion i cannot have
 * happened later than a later one, j, less the time that the bytes between them take. So those that stand out are moved
 * back to where j proves them to have been. A disk that itself loses time (a retry) shifts all that follows, nothing
 * proves otherwise, and it counts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define QUICK_RATIO                                                                                                \
	0.7 /* a group of completions in less than this part of the usual time came out of a cache; skew and zones \
	       change it by less than a fifth */
#define END_PART     3    /* 1 / this of a sample is the lead-in at most, and a lag */
#define SKEW_MOST    0.5  /* of a revolution, that a track's end takes at most */
#define AT_ONCE_REVS 0.25 /* before the first byte: the media make one wait for half of one in the mean, and a seek */

static double group_ns(const struct zone_done *d, size_t end, size_t group)
{
	return (d[end].t_ns - d[end - group].t_ns) / (d[end].bytes - d[end - group].bytes);
}

/* Index of the completion from which on the disk streams. */
static size_t lead_in_end(const struct zone_done *d, size_t n, uint32_t depth)
{
	size_t group = depth < 4 ? 4 : depth, first = depth, end = n / END_PART;
	cleanup_free double *g = NULL;
	double usual;

	if (n < 3 * group)
		return n > depth + ZONE_DONE_MIN ? first : n > ZONE_DONE_MIN ? n - ZONE_DONE_MIN : 0;
	g = xcalloc(n, sizeof(*g));
	for (size_t i = n / 2; i < n; i++)
		g[i - n / 2] = group_ns(d, i, group);
	usual = stats_median(g, n - n / 2);
	for (size_t i = group; i < end; i++)
		if (group_ns(d, i, group) < QUICK_RATIO * usual && i + 1 > first)
			first = i + 1;
	return first;
}

/*
 * Weight of completion i of d[0..n) in the slope: as that of a regression, or, where completions show the tracks, going
 * to 0 at both ends, u sqrt(1 - u^2). Of the steps at the ends of tracks what is left then is less by far: of a whole
 * regression the part track at each end decides.
 */
static double weight_of(const struct zone_done *d, size_t n, size_t i, double per_rev)
{
	double half = 0.5 * (d[n - 1].bytes - d[0].bytes) * (1.0 + 1.0 / (double)n);
	double u = (d[i].bytes - 0.5 * (d[n - 1].bytes + d[0].bytes)) / half;

	return per_rev >= ZONE_TRACK_PARTS ? u * sqrt(fmax(1.0 - u * u, 0.0)) : u;
}

/* Fit of time on bytes over d[0..n): slope, and what each completion is off (residual, ns). */
static bool fit_time(const struct zone_done *d, size_t n, double per_rev, double *ret_slope, double *residual)
{
	double mb = 0.0, mt = 0.0, mw = 0.0, sxx = 0.0, sxy = 0.0;

	for (size_t i = 0; i < n; i++) {
		mb += d[i].bytes / (double)n;
		mt += d[i].t_ns / (double)n;
		mw += weight_of(d, n, i, per_rev) / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double w = weight_of(d, n, i, per_rev) - mw;

		sxx += w * (d[i].bytes - mb);
		sxy += w * (d[i].t_ns - mt);
	}
	if (!(sxx > 0.0) || !(sxy > 0.0))
		return false;
	*ret_slope = sxy / sxx;
	for (size_t i = 0; i < n; i++)
		residual[i] = d[i].t_ns - mt - *ret_slope * (d[i].bytes - mb);
	return true;
}

static double deviation(const double *residual, double *work, size_t n)
{
	for (size_t i = 0; i < n; i++)
		work[i] = fabs(residual[i]);
	return 1.4826 * stats_median(work, n);
}

/* Moves completions that later ones prove to be late; returns how many. */
static size_t unlate(struct zone_done *d, size_t n, double slope, double tolerance)
{
	size_t moved = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		double limit = INFINITY;

		for (size_t j = i + 1; j < n && j <= i + ZONE_TWICE_DEPTH; j++)
			limit = fmin(limit, d[j].t_ns - (d[j].bytes - d[i].bytes) * slope);
		if (d[i].t_ns > limit + tolerance) {
			d[i].t_ns = limit;
			moved++;
		}
	}
	return moved;
}

/* Variance of the sum of x; neighbours hang together (AR(1)). */
static double variance_of_neighbours(const double *x, size_t n)
{
	double ss = 0.0, lag = 0.0, rho;

	for (size_t i = 0; i < n; i++) {
		ss += x[i] * x[i];
		lag += i ? x[i] * x[i - 1] : 0.0;
	}
	rho = ss > 0.0 ? fmin(fmax(lag / ss, 0.0), 0.9) : 0.0;
	return ss * (double)n / (double)(n - 2) * (1.0 + rho) / (1.0 - rho);
}

/*
 * The same of what comes back in each track (Newey and West 1987): with a lag of one revolution the weights are nought
 * at its frequency and the multiples of that.
 */
static double variance_of_tracks(const double *x, size_t n, double per_rev)
{
	size_t lags = (size_t)fmin(round(per_rev), (double)n / END_PART);
	double var = 0.0, white = 0.0;

	for (size_t lag = 0; lag <= lags; lag++) {
		double sum = 0.0;

		for (size_t i = lag; i < n; i++)
			sum += x[i] * x[i - lag];
		white = lag ? white : sum;
		var += (lag ? 2.0 : 1.0) * (1.0 - (double)lag / ((double)lags + 1.0)) * sum;
	}
	return fmax(var, white / ((double)lags + 1.0));
}

/* Relative standard error of the slope. Changes the residuals. */
static double slope_se_ratio(const struct zone_done *d, double *residual, size_t n, double slope, double per_rev)
{
	double sxw = 0.0, sww = 0.0, mb = 0.5 * (d[n - 1].bytes + d[0].bytes);

	for (size_t i = 0; i < n; i++) {
		double w = weight_of(d, n, i, per_rev);

		sxw += w * (d[i].bytes - mb);
		sww += w * w;
	}
	if (!(per_rev >= ZONE_TRACK_PARTS))
		return sqrt(variance_of_neighbours(residual, n) / (double)n * sww) / sxw / slope;
	for (size_t i = 0; i < n; i++)
		residual[i] *= weight_of(d, n, i, per_rev);
	return sqrt(variance_of_tracks(residual, n, per_rev)) / sxw / slope;
}

static double span_ns(const struct zone_done *d, size_t a, size_t b)
{
	return (d[b].t_ns - d[a].t_ns) / (d[b].bytes - d[a].bytes);
}

/* Paces of a sample's requests, ns per byte. */
struct paces {
	double usual; /* of the quicker quarter */
	double least; /* of the quickest that came from the media: one with a track's end less than usual */
};

static struct paces paces_of(const struct zone_done *d, size_t n, double rev_ns, double *work)
{
	struct paces ret;
	double bytes = (d[n - 1].bytes - d[0].bytes) / (double)(n - 1);
	size_t k = 0;

	for (size_t i = 1; i < n; i++)
		work[i - 1] = (d[i].t_ns - d[i - 1].t_ns) / (d[i].bytes - d[i - 1].bytes);
	stats_sort(work, n - 1);
	ret.usual = stats_quantile_sorted(work, n - 1, 0.25);
	while (work[k] < fmax(QUICK_RATIO * ret.usual, ret.usual - SKEW_MOST * rev_ns / bytes))
		k++; /* the usual is none of these */
	ret.least = fmin(work[k], ret.usual);
	return ret;
}

/*
 * Time that passes between completion i - 1 and i beyond what the bytes take at the usual pace, as far as later
 * completions do not catch up with it: by coming sooner than media give them.
 */
static double lasting_wait(const struct zone_done *d, size_t n, size_t i, const struct paces *pace)
{
	double more = d[i].t_ns - d[i - 1].t_ns - pace->usual * (d[i].bytes - d[i - 1].bytes), least = more;

	for (size_t j = i + 1; j < n && j <= i + ZONE_TWICE_DEPTH; j++) {
		more += d[j].t_ns - d[j - 1].t_ns - pace->least * (d[j].bytes - d[j - 1].bytes);
		least = fmin(least, more);
	}
	return least;
}

/*
 * Waits of most of a revolution and more between two completions, beyond the sample's own pace (its quicker quarter):
 * the drive tried again, or went to a spare sector. A surface or a zone of less density has a slower pace, but no such
 * waits; after a host that was late they are made up for.
 */
void zone_estimate_waits(struct zone_done *d, size_t n, double rev_ns, uint32_t *ret_waits, uint32_t *ret_revs)
{
	cleanup_free double *work = xcalloc(n + 1, sizeof(*work));
	struct paces pace;
	double taken = 0.0;

	*ret_waits = *ret_revs = 0;
	if (n < 2 || !(rev_ns > 0.0))
		return;
	pace = paces_of(d, n, rev_ns, work);
	for (size_t i = 1; i < n; i++) {
		double more = lasting_wait(d, n, i, &pace) / rev_ns;

		d[i - 1].t_ns -= taken;
		if (more < ZONE_WAIT_MIN)
			continue;
		(*ret_waits)++;
		*ret_revs += (uint32_t)fmax(round(more), 1.0);
		taken = *ret_revs * rev_ns;
	}
	d[n - 1].t_ns -= taken;
}

double zone_cached_bytes(const struct zone_done *d, size_t n, double *ret_ns)
{
	double most = 0.0, pace = n ? span_ns(d, 0, n - 1) : 0.0;
	size_t knee = 0;

	for (size_t i = 1; i + 1 < n; i++) {
		double under = pace * (d[i].bytes - d[0].bytes) - (d[i].t_ns - d[0].t_ns);

		if (under > most) {
			most = under;
			knee = i;
		}
	}
	*ret_ns = knee ? d[knee].t_ns : 0.0;
	if (!knee || span_ns(d, 0, knee) > QUICK_RATIO * span_ns(d, knee, n - 1))
		return *ret_ns = 0.0;
	return d[knee].bytes;
}

bool zone_estimate(struct zone_done *d, size_t n, uint32_t depth, double rev_ns, struct zone_estimate *ret)
{
	cleanup_free double *residual = NULL, *work = NULL;
	size_t first = lead_in_end(d, n, depth), m = n - first;
	double slope = 0.0, per_rev;

	if (n < ZONE_DONE_MIN || m < ZONE_DONE_MIN)
		return false;
	per_rev = rev_ns / (d[n - 1].t_ns - d[first].t_ns) * (double)(m - 1);
	residual = xcalloc(m, sizeof(*residual));
	work = xcalloc(m, sizeof(*work));
	if (!fit_time(d + first, m, per_rev, &slope, residual))
		return false;
	for (int round = 0; round < 3; round++) {
		size_t moved = unlate(d + first, m, slope, ZONE_SIGMAS * deviation(residual, work, m));

		if (!moved || !fit_time(d + first, m, per_rev, &slope, residual))
			break;
	}
	ret->ns_per_byte = slope;
	ret->se_ratio = slope_se_ratio(d + first, residual, m, slope, per_rev);
	for (size_t i = 0; i < ZONE_PARTS; i++)
		ret->part_ns_per_byte[i] = span_ns(d + first, i * (m - 1) / ZONE_PARTS, (i + 1) * (m - 1) / ZONE_PARTS);
	ret->first = first;
	ret->moved_bytes = d[n - 1].bytes - d[first].bytes;
	ret->elapsed_ns = d[n - 1].t_ns - d[first].t_ns;
	return true;
}

bool zone_sample_estimate(struct zone_sample *z, struct zone_done *done, size_t n, const struct zone_layout *l,
                          bool has_waits)
{
	cleanup_free struct zone_done *d = xcalloc(n + 1, sizeof(*d));
	struct zone_estimate e, clean;
	double rev_ns = zone_rev_ns(l), lost;

	z->is_good = false;
	memcpy(d, done, n * sizeof(*d));
	if (!zone_estimate(d, n, l->lead_in, rev_ns, &e))
		return false;
	z->lost.waits = z->lost.revs = 0;
	if (has_waits)
		zone_estimate_waits(done + e.first, n - e.first, rev_ns, &z->lost.waits, &z->lost.revs);
	/* The slope without them, and their time spread over the sample: wherever in it they were lost they weigh the
	 * same. */
	lost = z->lost.revs * rev_ns / e.moved_bytes;
	memcpy(d, done, n * sizeof(*d));
	if (z->lost.revs && zone_estimate(d + e.first, n - e.first, 0, rev_ns, &clean)) {
		e.ns_per_byte = clean.ns_per_byte + lost;
		e.se_ratio = clean.se_ratio * clean.ns_per_byte / e.ns_per_byte;
	}
	z->ns_per_byte = zone_as_kept(e.ns_per_byte);
	z->se_ratio = e.se_ratio;
	for (size_t i = 0; i < ZONE_PARTS; i++)
		z->part_ns_per_byte[i] = zone_as_kept(e.part_ns_per_byte[i]);
	z->moved_bytes = e.moved_bytes;
	z->elapsed_ns = round(e.elapsed_ns);
	return z->is_good = true;
}

double zone_wait_ns(const struct zone_sample *s)
{
	return fmax(s->whole.ns - s->whole.bytes * s->ns_per_byte, 0.0);
}

bool zone_comes_at_once(const struct zone_sample *s, const struct zone_layout *l)
{
	return s->whole.ns > 0.0 && zone_wait_ns(s) < AT_ONCE_REVS * zone_rev_ns(l) &&
	       (s->request_bytes * s->ns_per_byte < ZONE_REQUEST_REVS * zone_rev_ns(l) ||
	        link_is_near(1e9 / s->ns_per_byte, l->interface_bytes_per_s));
}
