/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording zones, from samples in the order of their places.
 *
 * Zones: change points of the piecewise constant series of log(time per byte) (PELT, stats/segments.c), noise from the
 * scatter within positions. Revolutions lost in a sample are left out of it: they say nothing of density. Density never
 * rises from one zone to the next, so of two bands where it does the one of fewer samples is an accident and is left
 * out, unless so many do that surfaces must differ. The edge between two zones lies between the last sample of one and
 * the first of the next: the middle is reported. Its uncertainty reaches over all places where the edge would fit the
 * samples hardly worse (likelihood ratio).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define SIGMA_MIN       3e-4 /* skew leaves regular errors of this size, even without noise */
#define STEP_MIN        2e-3 /* relative; smaller steps are no zones: a track of 500 sectors has one more or less */
#define JOIN_SIGMAS     6.0 /* of the difference of two bands; errors of skew hang together from one sample to the next */
#define JOIN_CYCLES     4.0 /* the same of places of whole cycles, whose errors have nothing in common */
#define READ_AHEAD_STEP 0.2 /* log; zones of one disk differ by less (a choice) */
#define OWN_DF_MIN      6.0 /* degrees of freedom that tell two bands' own noise (a choice) */
#define OWN_F                                                                                                         \
	5.0 /* by so many deviations of a ratio of variances it must be more: 1 + this * sqrt(1 / df), as with places \
	       (level.c) */
#define SEEN_SIGMAS   7.0 /* of the difference of two places: a larger one is not missed (trial: wild disks) */
#define PRECISE_TIMES 4.0 /* the error that the best quarter of samples says of itself (a choice) */
#define UP_MIN        4 /* bands faster than the one before them, and as a part of all: surfaces of different density */
#define ROBUST_TIMES  2.5   /* by which the usual scatter is larger, where it is of steps (trial: wild disks) */
#define RISES_MIN     3     /* from one place to the next, that say that surfaces differ (a choice), ... */
#define RISES_OF      64    /* ... of so many places; where fewer are of media, so much fewer, but one may be chance */
#define RISES_TIMES   1.25  /* the largest of them: what surfaces may differ by, of which those saw a part (a choice) */
#define APART_PART    0.3   /* of that: the deviation of places that lie anywhere between (1 / sqrt(12), uniform) */
#define LONG_PARTS    8     /* of all samples: in so long a part a cycle over all surfaces has ended (a choice) */
#define UP_STEP       0.006 /* relative; less is noise of the two levels (trial: wild disks) */
#define UP_PART       0.25  /* of all bands; fewer are accidents, which are dropped (trial: wild disks) */
#define EDGE_LOG                                                                                                  \
	30.0 /* twice the log of the likelihood ratio, by which an edge elsewhere would fit worse: samples of one \
	        place hang together (trial: wild disks) */
#define STRADDLE_PART 0.5  /* of the distance of two places: an edge lies nearer to one of them */
#define BEGUN_PART    0.5  /* of a step: the larger half is of what samples begin with */
#define TURN_PART     0.25 /* of a step: nearer to the level of the other side (a choice) */
#define TURN_SIGMAS   2.5  /* by which such a sample is off its own side at least (a choice) */
#define UNEVEN_TIMES                                                                                                 \
	1.5 /* the usual: samples that are uneven inside by more lost time, and lie on no other surface (trial: wild \
	       disks) */

/* Of a place of whole cycles: in the middle. */
static double sigma_of_cycles(const struct zone_levels *lv)
{
	cleanup_free double *half = xcalloc(lv->n + 1, sizeof(*half));
	size_t n = 0;

	for (size_t p = 0; p < lv->n; p++)
		if (lv->v[p].is_cycle)
			half[n++] = lv->v[p].noise_half;
	return n ? stats_median(half, n) / 1.96 : (double)NAN;
}

/* From place to place, in bytes. */
static double spacing_of(const struct zone_layout *l)
{
	return (double)(l->end_bytes - l->first_bytes) / (double)l->npositions;
}

struct segments {
	struct zone_at *v;
	size_t n, *start, nsegments;
	double sigma, join; /* noise of one; deviations that two bands must differ by */
	double anew;        /* from this byte on another device begins, and may be faster; infinity: none does */
	double apart;       /* by so much places may differ that lie in one zone, on different surfaces; 0: not known */
	bool has_cycles;    /* they are places of whole cycles, and know their own errors */
};

static size_t segment_end(const struct segments *s, size_t k)
{
	return k + 1 < s->nsegments ? s->start[k + 1] : s->n;
}

static double segment_y(const struct segments *s, size_t k)
{
	return zone_mean_y(s->v, s->start[k], segment_end(s, k));
}

/* Joins band k to the one before it; the next one to look at, as what that one differs from is another now. */
static size_t join_at(struct segments *s, size_t k)
{
	s->nsegments--;
	for (size_t i = k; i < s->nsegments; i++)
		s->start[i] = s->start[i + 1];
	return k > 1 ? k - 1 : 1;
}

/* Of the level of samples [a, b): the standard error. A place of cycles that was read less than others has a larger
 * one. */
static double segment_error(const struct segments *s, size_t a, size_t b)
{
	double sum = 0.0;

	for (size_t i = a; i < b; i++) {
		double own = s->has_cycles ? fmax(s->v[i].sigma, s->sigma) : s->sigma;

		sum += own * own;
	}
	return sqrt(sum) / (double)(b - a);
}

/* Joins neighbours that do not differ by more than the noise, or by next to nothing. */
static void join_equal(struct segments *s)
{
	for (size_t k = 1; k < s->nsegments;) {
		size_t a = s->start[k - 1], b = s->start[k], c = segment_end(s, k);
		double noise = hypot(segment_error(s, a, b), segment_error(s, b, c));

		if (fabs(segment_y(s, k - 1) - segment_y(s, k)) >= fmax(STEP_MIN, s->join * noise)) {
			k++;
			continue;
		}
		k = join_at(s, k);
	}
}

/* From the first quarter of the samples to the last: as much as those of media do? */
static bool falls(const struct segments *s)
{
	size_t quarter = s->n / 4;

	return quarter && zone_mean_y(s->v, s->n - quarter, s->n) - zone_mean_y(s->v, 0, quarter) > ZONE_FALL_LEAST;
}

/*
 * Is a long part of it, which all surfaces have their turns in, faster than one before it, and by more than surfaces
 * differ? No disk is: it is of what lies in front of one, as of a bridge through which some lengths of tracks lose more
 * revolutions than others.
 */
static bool rises_for_long(const struct segments *s)
{
	size_t part = s->n / LONG_PARTS;
	double slowest = -INFINITY;

	for (size_t i = 0; part && i + part <= s->n; i += part) {
		double y = zone_mean_y(s->v, i, i + part);

		if (s->v[i].from <= s->anew &&
		    s->v[i + part - 1].end > s->anew) /* another device's is as fast as it is */
			slowest = -INFINITY;
		else if (slowest - y > ZONE_DENSITY_MAX)
			return true;
		else
			slowest = fmax(slowest, y);
	}
	return false;
}

/*
 * Constant linear density: places behind are never faster, unless they lie on another surface. Surfaces come by turns,
 * so that rates fall again before they rise: one long rise is of how requests and tracks lie to each other, where a
 * host reads one request at a time. A rise by more than surfaces differ says that they do so there, as do rates that do
 * not fall over all of the disk, and then lesser steps up and down are of that, too.
 */
static bool goes_up(const struct segments *s, bool is_one_at_a_time)
{
	size_t up = 0, teeth = 0;
	double rise = 0.0;
	bool was_up = false;

	for (size_t k = 1; k < s->nsegments; k++) {
		double step = segment_y(s, k - 1) - segment_y(s, k);
		bool is_up = step > UP_STEP;

		up += is_up;
		teeth += is_up && !was_up;
		was_up = is_up;
		rise = is_up ? rise + step : 0.0;
		if (is_one_at_a_time && rise > ZONE_DENSITY_MAX && s->v[s->start[k] - 1].end < s->anew)
			return false;
	}
	return teeth >= UP_MIN && (double)up >= UP_PART * (double)s->nsegments && !rises_for_long(s) &&
	       (!is_one_at_a_time || falls(s));
}

/* Does another device begin between the bands before k and k? */
static bool is_anew(const struct segments *s, size_t k)
{
	return s->v[s->start[k] - 1].from < s->anew && s->v[s->start[k]].end > s->anew;
}

/* Joins neighbours that do not differ by more than surfaces do. Were there any? */
static bool join_surfaces(struct segments *s)
{
	const size_t before = s->nsegments;

	for (size_t k = 1; k < s->nsegments;) {
		if (is_anew(s, k) || fabs(segment_y(s, k) - segment_y(s, k - 1)) >= s->apart) {
			k++;
			continue;
		}
		k = join_at(s, k);
	}
	return s->nsegments < before;
}

static void drop(struct segments *s, size_t k)
{
	size_t a = s->start[k], b = segment_end(s, k);

	memmove(s->v + a, s->v + b, (s->n - b) * sizeof(*s->v));
	s->n -= b - a;
	s->nsegments--;
	for (size_t i = k; i < s->nsegments; i++)
		s->start[i] = s->start[i + 1] - (b - a);
	join_equal(s);
}

/* Where the density would rise, the smaller of the two bands is an accident. */
static void drop_rising(struct segments *s)
{
	for (size_t k = 1; k < s->nsegments;) {
		size_t before = s->start[k] - s->start[k - 1], behind = segment_end(s, k) - s->start[k];

		if (segment_y(s, k) >= segment_y(s, k - 1) || is_anew(s, k)) {
			k++;
			continue;
		}
		drop(s, before < behind ? k - 1 : k);
		k = 1;
	}
}

/* Much narrower than the distance of two places. */
static bool is_narrow(const struct segments *s, size_t k, double spacing)
{
	return s->v[segment_end(s, k) - 1].end - s->v[s->start[k]].from <= STRADDLE_PART * spacing;
}

/*
 * A band between two others, also in its rate, and much narrower than the distance of two places, is of samples that an
 * edge lies in, and not sure to be a zone: it is not told as one.
 */
static void drop_straddling(struct segments *s, double spacing)
{
	for (size_t k = 1; k + 1 < s->nsegments;) {
		double y = segment_y(s, k);

		if (!is_narrow(s, k, spacing) || y < segment_y(s, k - 1) || y > segment_y(s, k + 1)) {
			k++;
			continue;
		}
		drop(s, k);
		k = 1;
	}
}

/* Do the samples on both sides of the begin of band k lie side by side, as those of one place? */
static bool is_within_place(const struct segments *s, size_t k, double spacing)
{
	return s->v[s->start[k]].end - s->v[s->start[k] - 1].from <= STRADDLE_PART * spacing;
}

/*
 * The same at either end, where such a band is a part of one place, and the rest of the place is of the band beside it:
 * a surface that has its turn there makes it as well as a zone. Was there one?
 */
static bool drop_ends(struct segments *s, double spacing)
{
	size_t had = s->nsegments;

	if (s->nsegments > 1 && is_narrow(s, s->nsegments - 1, spacing) &&
	    is_within_place(s, s->nsegments - 1, spacing))
		drop(s, s->nsegments - 1);
	if (s->nsegments > 1 && is_narrow(s, 0, spacing) && is_within_place(s, 1, spacing))
		drop(s, 0);
	return s->nsegments < had;
}

/*
 * A band far faster than the one behind it, whose samples are as slow as that in part, is of what was read ahead, which
 * long samples meet and short ones do not: none of a zone.
 */
static void drop_read_ahead(struct segments *s)
{
	for (size_t k = 0; k + 1 < s->nsegments;) {
		double y0 = segment_y(s, k), y1 = segment_y(s, k + 1), in_part = 0.0, n;

		for (size_t i = s->start[k]; i < segment_end(s, k); i++)
			in_part += s->v[i].slowest_y > 0.5 * (y0 + y1);
		n = (double)(segment_end(s, k) - s->start[k]);
		if (y1 - y0 < READ_AHEAD_STEP || in_part < ZONE_IN_PART * n)
			k++;
		else
			drop(s, k);
	}
}

/* Are the samples v[0..n) that were dropped from s about as even inside as the others? work: room for n. */
static bool are_even(const struct zone_at *v, size_t n, const struct segments *s, double *work)
{
	size_t kept = 0, dropped = 0;
	double usual;

	for (size_t i = 0; i < s->n; i++)
		work[i] = s->v[i].uneven;
	usual = stats_median(work, s->n);
	for (size_t i = 0; i < n; i++) {
		if (kept < s->n && v[i].mid == s->v[kept].mid)
			kept++;
		else
			work[dropped++] = v[i].uneven;
	}
	return dropped && stats_median(work, dropped) <= UNEVEN_TIMES * usual;
}

/* The samples between which the edge before band k may lie: behind the first, before the second. */
static void edge_between(const struct segments *s, size_t k, double per_place, double *ret_first, double *ret_end)
{
	double y0 = segment_y(s, k - 1), y1 = segment_y(s, k), worse = 0.0;
	/* Samples of a place lie on one surface, most of them: together they say no more than one that scatters as
	 * surfaces do. */
	double sigma = fmax(s->sigma, APART_PART * s->apart * sqrt(per_place));
	size_t at = s->start[k], first = at - 1, end = at;

	for (size_t i = at; i-- > s->start[k - 1] + 1 && worse < EDGE_LOG;) {
		worse += ((s->v[i].y - y1) * (s->v[i].y - y1) - (s->v[i].y - y0) * (s->v[i].y - y0)) / sigma / sigma;
		first = worse < EDGE_LOG ? i - 1 : first;
	}
	worse = 0.0;
	for (size_t i = at; i + 1 < segment_end(s, k) && worse < EDGE_LOG; i++) {
		worse += ((s->v[i].y - y0) * (s->v[i].y - y0) - (s->v[i].y - y1) * (s->v[i].y - y1)) / sigma / sigma;
		end = worse < EDGE_LOG ? i + 1 : end;
	}
	*ret_first = s->v[first].end;
	*ret_end = s->v[end].from;
}

static void fill_bands(const struct segments *s, const struct zone_layout *l, const struct zone_levels *lv,
                       struct zone_bands *ret)
{
	ret->v = xcalloc(s->nsegments + 1, sizeof(*ret->v));
	ret->n = s->nsegments;
	ret->spacing_bytes = spacing_of(l);
	for (size_t k = 0; k < s->nsegments; k++) {
		struct zone_band *band = &ret->v[k];
		double at, first, end;

		for (size_t i = s->start[k]; i < segment_end(s, k); i++)
			band->y += s->v[i].y;
		band->samples = segment_end(s, k) - s->start[k];
		band->y /= (double)band->samples;
		band->half = lv->has_cycles ? 1.96 * segment_error(s, s->start[k], segment_end(s, k))
		                            : zone_half(lv, ZONE_SHORT, (double)band->samples);
		band->half = sqrt(band->half * band->half + 1.96 * 1.96 * (lv->excess_var + lv->loss_var));
		band->first_bytes = l->first_bytes;
		band->end_bytes = l->end_bytes;
		if (!k)
			continue;
		at = 0.5 * (s->v[s->start[k] - 1].end + s->v[s->start[k]].from);
		edge_between(s, k, (double)s->n / (double)l->npositions, &first, &end);
		band->first_bytes = (uint64_t)fmax(at, 0.0);
		band->first_bytes -= band->first_bytes % l->align_bytes;
		band->edge_half_bytes = (uint64_t)fmax(fabs(at - first), fabs(end - at));
		ret->v[k - 1].end_bytes = band->first_bytes;
	}
}

/*
 * By how much places differ within bands, as a variance, in parts of what the noise of their samples lets expect; 1 at
 * least. Samples of a place lie close together: on the same surfaces, and in one stretch of time, so that they say less
 * of a band than as many at random (design effect, Kish 1965).
 */
static double between_places(const struct segments *s)
{
	double ss = 0.0, df = 0.0;

	for (size_t k = 0; k < s->nsegments; k++) {
		double y = segment_y(s, k);

		for (size_t a = s->start[k], b; a < segment_end(s, k); a = b) {
			double off;

			for (b = a + 1; b < segment_end(s, k) && s->v[b].position == s->v[a].position; b++)
				;
			off = zone_mean_y(s->v, a, b) - y;
			ss += (double)(b - a) * off * off;
			df++;
		}
		df--;
	}
	return df > 0.0 ? fmax(ss / df / s->sigma / s->sigma, 1.0) : 1.0;
}

/*
 * Noise of one sample beside the edge before band k: the usual, or by what all[0..nall) scatter in these two bands,
 * where that is more beyond chance. What comes at the interface's pace hardly differs, and makes the usual too little;
 * and what was dropped for rising scatters as well, unless it is far less even than those that were kept: an accident.
 * work: room for s->n.
 */
static double sigma_beside(const struct segments *s, size_t k, const struct zone_at *all, size_t nall, double *work)
{
	double y0 = segment_y(s, k - 1), y1 = segment_y(s, k), ss = 0.0, df = -2.0, uneven_max;
	size_t a = s->start[k - 1], b = s->start[k], c = segment_end(s, k);

	for (size_t i = a; i < c; i++)
		work[i - a] = s->v[i].uneven;
	uneven_max = UNEVEN_TIMES * stats_median(work, c - a);
	for (size_t i = 0; i < nall; i++) {
		double off0 = all[i].y - y0, off1 = all[i].y - y1;

		if ((a && all[i].mid <= s->v[a - 1].mid) || (c < s->n && all[i].mid >= s->v[c].mid) ||
		    all[i].uneven > uneven_max)
			continue;
		df++;
		ss += all[i].mid <= s->v[b - 1].mid ? off0 * off0
		      : all[i].mid >= s->v[b].mid   ? off1 * off1
		                                    : fmin(off0 * off0, off1 * off1);
	}
	return df >= OWN_DF_MIN && ss / df > (1.0 + OWN_F / sqrt(df)) * s->sigma * s->sigma ? sqrt(ss / df) : s->sigma;
}

/* Joins neighbours that do not differ by more than what samples beside their edge scatter by. work: room for s->n. */
static void join_scattered(struct segments *s, const struct zone_at *all, size_t nall, double *work)
{
	for (size_t k = 1; k < s->nsegments;) {
		double noise =
			sigma_beside(s, k, all, nall, work) * sqrt(1.0 / (double)(s->start[k] - s->start[k - 1]) +
		                                                   1.0 / (double)(segment_end(s, k) - s->start[k]));

		if (fabs(segment_y(s, k) - segment_y(s, k - 1)) >= s->join * noise) {
			k++;
			continue;
		}
		k = join_at(s, k);
	}
}

/*
 * Joins neighbours of which only the begins of samples differ, and the rest is even. Where media are hardly faster than
 * the interface a buffer fills while a sample is read, and its begin, when there is nothing in that, shows the ends of
 * tracks. work: room for s->n.
 */
static void join_begun(struct segments *s, double *work)
{
	for (size_t k = 1; k < s->nsegments;) {
		size_t a = s->start[k - 1], b = s->start[k], c = segment_end(s, k);
		double least = BEGUN_PART * (segment_y(s, k) - segment_y(s, k - 1)), later;

		for (size_t i = a; i < c; i++)
			work[i - a] = s->v[i].later_y;
		later = stats_median(work + (b - a), c - b) - stats_median(work, b - a);
		for (size_t i = a; i < c; i++)
			work[i - a] = s->v[i].later_uneven;
		k = later < least && stats_median(work, c - a) < least ? join_at(s, k) : k + 1;
	}
}

/*
 * Do samples on both sides of the edge before band k have the level of the other side, and lie farther from it than
 * places are apart? Then what differs has its turns there, as surfaces have: an accident makes a sample slower, and
 * none faster. Asked where one request is under way at a time, as how a request lies to the tracks adds to that:
 * elsewhere a zone whose surfaces differ by as much as its step has such samples, too. work: room for s->n.
 */
static bool is_by_turns(const struct segments *s, size_t k, const struct zone_samples *samples, double spacing,
                        double *work)
{
	const size_t a = s->start[k - 1], b = s->start[k], c = segment_end(s, k);
	const double edge = s->v[b].mid;
	double y0, y1;
	bool slow = false, fast = false;

	for (size_t i = a; i < c; i++)
		work[i - a] = s->v[i].y;
	y1 = stats_median(work + (b - a), c - b);
	y0 = stats_median(work, b - a);
	for (size_t i = a; i < c; i++)
		work[i - a] = fabs(s->v[i].y - (i < b ? y0 : y1));
	if ((1.0 - TURN_PART) * (y1 - y0) < TURN_SIGMAS * 1.4826 * stats_median(work, c - a))
		return false;
	for (size_t i = 0; i < samples->n; i++) {
		double mid = 0.5 * ((double)samples->v[i].from_bytes + (double)samples->v[i].end_bytes),
		       y = log(samples->v[i].ns_per_byte);

		if (!samples->v[i].is_good || mid < s->v[a].mid || mid > s->v[c - 1].mid || fabs(mid - edge) < spacing)
			continue;
		slow |= mid < edge && fabs(y - y1) < TURN_PART * (y1 - y0);
		fast |= mid > edge && fabs(y - y0) < TURN_PART * (y1 - y0);
	}
	return slow && fast;
}

/* Joins such neighbours: by so much surfaces differ at least. work: room for s->n. */
static void join_turns(struct segments *s, const struct zone_samples *samples, double spacing, double *work)
{
	for (size_t k = 1; k < s->nsegments;) {
		double step = segment_y(s, k) - segment_y(s, k - 1);

		if (!is_by_turns(s, k, samples, spacing, work)) {
			k++;
			continue;
		}
		s->apart = fmax(s->apart, step);
		k = join_at(s, k);
	}
}

/*
 * By how much surfaces seem to differ, where places are faster than those before them now and then, beyond their
 * errors, but not so often that bands are told of surfaces: a step down may be of them as well as those up. 0: too few
 * are. More than surfaces of one disk differ by is none of this.
 */
static double surfaces_apart(const struct zone_levels *lv, const struct zone_left_out *out, double anew)
{
	const struct zone_level *before = NULL;
	double most = 0.0;
	size_t n = 0, places = 0, least;

	for (size_t p = 0; p < lv->n; p++) {
		const struct zone_level *v = &lv->v[p];
		const struct zone_sample s = { .from_bytes = v->first_bytes, .end_bytes = v->end_bytes };
		double rise;

		if (!v->n || !(v->half > 0.0) || zone_is_left_out(out, &s))
			continue;
		rise = before ? before->y - v->y : 0.0;
		if (rise > hypot(before ? before->half : 0.0, v->half) && rise < ZONE_DENSITY_MAX &&
		    !((double)before->first_bytes < anew && (double)v->end_bytes > anew)) {
			most = fmax(most, rise);
			n++;
		}
		before = v;
		places++;
	}
	least = RISES_MIN * places <= (RISES_MIN - 1) * RISES_OF ? RISES_MIN - 1 : RISES_MIN;
	return n >= least ? RISES_TIMES * most : 0.0;
}

/* By samples v[0..n) in order of place. */
static void find_among(double sigma, struct zone_at *v, size_t n, const struct zone_samples *samples,
                       const struct zone_layout *l, const struct zone_levels *lv, const struct zone_left_out *out,
                       struct zone_bands *ret)
{
	cleanup_free double *y = xcalloc(n + 1, sizeof(*y));
	cleanup_free size_t *start = xcalloc(n + 1, sizeof(*start));
	cleanup_free struct zone_at *w = xcalloc(n + 1, sizeof(*w));
	cleanup_free size_t *start_w = xcalloc(n + 1, sizeof(*start_w));
	struct segments s = { .v = v,
		              .n = n,
		              .start = start,
		              .nsegments = 1,
		              .sigma = fmax(sigma, SIGMA_MIN),
		              .join = lv->has_cycles ? JOIN_CYCLES : JOIN_SIGMAS,
		              .anew = zone_begins_anew(out->stretches),
		              .has_cycles = lv->has_cycles };

	*ret = (struct zone_bands){ 0 };
	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		y[i] = v[i].y;
	if (n >= 2)
		s.nsegments = fit_segments(y, n, s.sigma, n >= 2 * l->npositions ? 2 : 1, start, n);
	join_equal(&s);
	ret->has_sawtooth = !lv->has_cycles && goes_up(&s, l->is_one_at_a_time);
	memcpy(w, v, n * sizeof(*w));
	s.apart = lv->has_cycles || !out->slows ? 0.0 : surfaces_apart(lv, out, s.anew);
	if (ret->has_sawtooth) {
		struct segments all = s;

		memcpy(start_w, start, s.nsegments * sizeof(*start));
		s.v = w;
		s.start = start_w;
		drop_rising(&s);
		ret->has_sawtooth = are_even(v, n, &s, y);
		s = ret->has_sawtooth ? all : s;
	} else {
		s.v = w;
		drop_rising(&s);
	}
	if (!ret->has_sawtooth) {
		s.sigma *= sqrt(between_places(&s));
		join_equal(&s);
		if (!lv->has_cycles) {
			drop_read_ahead(&s);
			join_scattered(&s, v, n, y);
			join_begun(&s, y);
			if (l->is_one_at_a_time)
				join_turns(&s, samples, spacing_of(l), y);
			ret->lacks_step = join_surfaces(&s);
		}
		drop_straddling(&s, spacing_of(l));
		ret->lacks_end = drop_ends(&s, spacing_of(l));
	}
	ret->least_step =
		fmax(STEP_MIN, SEEN_SIGMAS * s.sigma * sqrt(2.0 / fmax((double)n / (double)l->npositions, 1.0)));
	ret->least_step = fmax(ret->least_step, ret->has_sawtooth ? 0.0 : s.apart);
	fill_bands(&s, l, lv, ret);
}

/*
 * Leaves those of v[0..n) that say of themselves that they are about as good as the best quarter; returns how many. A
 * revolution that was lost in two parts, or behind what was read ahead, was not found, but makes its sample far less
 * even than others.
 */
static size_t keep_precise(struct zone_at *v, size_t n)
{
	cleanup_free double *said = xcalloc(n + 1, sizeof(*said));
	double most;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		said[i] = v[i].said;
	if (!n)
		return n;
	stats_sort(said, n);
	most = PRECISE_TIMES * stats_quantile_sorted(said, n, 0.25);
	for (size_t i = 0; i < n; i++)
		if (v[i].said <= most)
			v[kept++] = v[i];
	return kept;
}

/* Places that v[0..n) are of, which are not all where a part of the disk was left out. */
static size_t places_of(const struct zone_at *v, size_t n)
{
	size_t places = 0, last = ZONE_NONE;

	for (size_t i = 0; i < n; i++) {
		places += v[i].position != ZONE_NONE && v[i].position != last;
		last = v[i].position == ZONE_NONE ? last : v[i].position;
	}
	return places;
}

static void find_with(double sigma, const struct zone_samples *samples, const struct zone_layout *l,
                      const struct zone_levels *lv, const struct zone_left_out *out, struct zone_bands *ret)
{
	size_t n, places;
	cleanup_free struct zone_at *v = zone_in_order(samples, l, lv, out, &n);
	struct zone_bands precise;

	find_among(sigma, v, n, samples, l, lv, out, ret);
	if (!ret->has_sawtooth)
		return;
	/* Surfaces differ in even samples, too. */
	places = places_of(v, n);
	n = keep_precise(v, n);
	if (n < places)
		return;
	find_among(sigma, v, n, samples, l, lv, out, &precise);
	free(precise.has_sawtooth ? precise.v : ret->v);
	if (!precise.has_sawtooth)
		*ret = precise;
}

void zone_bands_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                     const struct zone_slows *slows, const struct zone_stretches *st, struct zone_bands *ret)
{
	const struct zone_left_out out = { slows, st };
	double usual = isnan(lv->sigma[ZONE_SHORT]) ? lv->sigma[ZONE_LONG] : lv->sigma[ZONE_SHORT];

	if (lv->has_cycles) {
		find_with(sigma_of_cycles(lv), samples, l, lv, &out, ret);
		return;
	}
	/*
	 * Where surfaces differ, many positions lie over two of them, and the usual scatter is of the very steps that
	 * are looked for: there the robust one is taken. It makes too little of rare disturbances, which other disks
	 * may have.
	 */
	if (ROBUST_TIMES * lv->rob_sigma < usual) {
		find_with(lv->rob_sigma, samples, l, lv, &out, ret);
		if (ret->has_sawtooth)
			return;
		free(ret->v);
	}
	find_with(usual, samples, l, lv, &out, ret);
}
