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

#define SIGMA_MIN    3e-4 /* skew leaves regular errors of this size, even without noise */
#define STEP_MIN     2e-3 /* relative; smaller steps are no zones: a track of 500 sectors has one more or less */
#define JOIN_SIGMAS  6.0  /* of the difference of two bands; errors of skew hang together from one sample to the next */
#define JOIN_CYCLES  4.0  /* the same of places of whole cycles, whose errors have nothing in common */
#define SEEN_SIGMAS  7.0  /* of the difference of two places: a larger one is not missed (trial: wild disks) */
#define UP_MIN       4 /* bands faster than the one before them, and as a part of all: surfaces of different density */
#define ROBUST_TIMES 2.5   /* by which the usual scatter is larger, where it is of steps (trial: wild disks) */
#define UP_STEP      0.006 /* relative; less is noise of the two levels (trial: wild disks) */
#define UP_PART      0.25  /* of all bands; fewer are accidents, which are dropped (trial: wild disks) */
#define EDGE_LOG                                                                                                  \
	30.0 /* twice the log of the likelihood ratio, by which an edge elsewhere would fit worse: samples of one \
	        place hang together (trial: wild disks) */
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
	return teeth >= UP_MIN && (double)up >= UP_PART * (double)s->nsegments && (!is_one_at_a_time || falls(s));
}

/* Does another device begin between the bands before k and k? */
static bool is_anew(const struct segments *s, size_t k)
{
	return s->v[s->start[k] - 1].from < s->anew && s->v[s->start[k]].end > s->anew;
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
static void edge_between(const struct segments *s, size_t k, double *ret_first, double *ret_end)
{
	double y0 = segment_y(s, k - 1), y1 = segment_y(s, k), worse = 0.0;
	size_t at = s->start[k], first = at - 1, end = at;

	for (size_t i = at; i-- > s->start[k - 1] + 1 && worse < EDGE_LOG;) {
		worse += ((s->v[i].y - y1) * (s->v[i].y - y1) - (s->v[i].y - y0) * (s->v[i].y - y0)) / s->sigma /
		         s->sigma;
		first = worse < EDGE_LOG ? i - 1 : first;
	}
	worse = 0.0;
	for (size_t i = at; i + 1 < segment_end(s, k) && worse < EDGE_LOG; i++) {
		worse += ((s->v[i].y - y0) * (s->v[i].y - y0) - (s->v[i].y - y1) * (s->v[i].y - y1)) / s->sigma /
		         s->sigma;
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
		edge_between(s, k, &first, &end);
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

static void find_with(double sigma, const struct zone_samples *samples, const struct zone_layout *l,
                      const struct zone_levels *lv, const struct zone_left_out *out, struct zone_bands *ret)
{
	size_t n;
	cleanup_free struct zone_at *v = zone_in_order(samples, l, lv, out, &n);
	cleanup_free double *y = xcalloc(n + 1, sizeof(*y));
	cleanup_free size_t *start = xcalloc(n + 1, sizeof(*start));
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
	if (ret->has_sawtooth) {
		cleanup_free struct zone_at *w = xcalloc(n, sizeof(*w));
		cleanup_free size_t *start_w = xcalloc(n, sizeof(*start_w));
		struct segments without = s;

		without.v = memcpy(w, v, n * sizeof(*w));
		without.start = memcpy(start_w, start, s.nsegments * sizeof(*start));
		drop_rising(&without);
		ret->has_sawtooth = are_even(v, n, &without, y);
	}
	if (!ret->has_sawtooth) {
		drop_rising(&s);
		s.sigma *= sqrt(between_places(&s));
		join_equal(&s);
	}
	ret->least_step =
		fmax(STEP_MIN, SEEN_SIGMAS * s.sigma * sqrt(2.0 / fmax((double)n / (double)l->npositions, 1.0)));
	fill_bands(&s, l, lv, ret);
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
