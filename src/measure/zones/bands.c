/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording zones and the mean of the whole surface, from samples in the order of their places.
 *
 * Zones: change points of the piecewise constant series of log(time per byte) (PELT, stats/segments.c), noise from the scatter within
 * positions. The edge between two zones lies between the last sample of one and the first of the next; the middle is reported, with half
 * the distance as its uncertainty.
 *
 * Mean: time to read everything = integral of time per byte over the place, by trapezoids between the samples. Its error has
 * two parts: the noise of the samples with their weights, and the place of each step between two samples, about which
 * nothing is known but that it lies there: uniform, variance (step x distance)^2 / 12.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/zones/zones.h"

#define SIGMA_MIN    3e-4 /* skew leaves regular errors of this size, even without noise */
#define STEP_MIN     2e-3 /* relative; smaller steps are no zones */
#define JOIN_SIGMAS  6.0  /* of the difference of two bands; errors of skew hang together from one sample to the next */
#define SEEN_SIGMAS  7.0  /* of the difference of two places: a larger one is not missed */
#define UP_MIN       4 /* bands faster than the one before them, and as a part of all: surfaces of different density */
#define ROBUST_TIMES 2.5   /* by which the usual scatter is larger, where it is of steps */
#define UP_STEP      0.006 /* relative */
#define UP_PART      0.25

struct at { /* a sample in order of place */
	double from, end, mid, y, sigma;
};

static int by_mid(const void *a, const void *b)
{
	const struct at *x = a, *y = b;

	return x->mid < y->mid ? -1 : x->mid > y->mid;
}

/* What says nothing of recording zones; both NULL: all count. */
struct left_out {
	const struct zone_slows *slows;
	const struct zone_stretches *stretches;
};

static bool is_left_out(const struct left_out *out, const struct zone_sample *s)
{
	if (out->slows && zone_touches_slow(out->slows, s))
		return true;
	for (size_t i = 0; out->stretches && i < out->stretches->n; i++)
		if (out->stretches->v[i].kind != STRETCH_DEVICE && s->from_bytes < out->stretches->v[i].end_bytes &&
		    s->end_bytes > out->stretches->v[i].first_bytes)
			return true;
	return false;
}

/* Samples that count, by place; free it. */
static struct at *in_order(const struct zone_samples *samples, const struct zone_layout *l,
                           const struct zone_levels *lv, const struct left_out *out, size_t *ret_n)
{
	struct at *v = calloc(samples->n + 1, sizeof(*v));
	size_t n = 0;

	*ret_n = 0;
	for (size_t i = 0; v && i < samples->n; i++) {
		const struct zone_sample *s = &samples->v[i];
		enum zone_class c = s->position == ZONE_NONE ? ZONE_SHORT : l->positions[s->position].class;

		if (isnan(s->y) || is_left_out(out, s))
			continue;
		v[n].from = (double)s->from_bytes;
		v[n].end = (double)s->end_bytes;
		v[n].mid = 0.5 * (v[n].from + v[n].end);
		v[n].y = s->y;
		v[n].sigma = isnan(lv->sigma[c]) ? 0.0 : lv->sigma[c];
		n++;
	}
	if (v)
		qsort(v, n, sizeof(*v), by_mid);
	*ret_n = n;
	return v;
}

static double mean_y(const struct at *v, size_t first, size_t end)
{
	double sum = 0.0;

	for (size_t i = first; i < end; i++)
		sum += v[i].y;
	return sum / (double)(end - first);
}

/* Joins neighbours that do not differ by more than the noise, or by next to nothing. Returns the number of segments left. */
static size_t join_equal(const struct at *v, size_t n, size_t *start, size_t nsegments, double sigma)
{
	for (size_t k = 1; k < nsegments;) {
		size_t a = start[k - 1], b = start[k], c = k + 1 < nsegments ? start[k + 1] : n;
		double noise = sigma * sqrt(1.0 / (double)(b - a) + 1.0 / (double)(c - b));

		if (fabs(mean_y(v, a, b) - mean_y(v, b, c)) >= fmax(STEP_MIN, JOIN_SIGMAS * noise)) {
			k++;
			continue;
		}
		for (size_t i = k; i + 1 < nsegments; i++)
			start[i] = start[i + 1];
		nsegments--;
		k = k > 1 ? k - 1 : 1;
	}
	return nsegments;
}

/* Constant linear density: places behind are never faster, unless they lie on another surface. */
static bool goes_up(const struct zone_bands *bands)
{
	size_t up = 0;

	for (size_t k = 1; k < bands->n; k++)
		up += bands->v[k].y < bands->v[k - 1].y - UP_STEP;
	return up >= UP_MIN && (double)up >= UP_PART * (double)bands->n;
}

static int find_with(double sigma, const struct zone_samples *samples, const struct zone_layout *l,
                     const struct zone_levels *lv, const struct left_out *out, struct zone_bands *ret)
{
	size_t n, nsegments;
	cleanup_free struct at *v = in_order(samples, l, lv, out, &n);
	cleanup_free double *y = calloc(n + 1, sizeof(*y));
	cleanup_free size_t *start = calloc(n + 1, sizeof(*start));

	sigma = fmax(sigma, SIGMA_MIN);

	*ret = (struct zone_bands){ 0 };
	if (!v || !y || !start)
		return -ENOMEM;
	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		y[i] = v[i].y;
	nsegments = n < 2 ? 1 : fit_segments(y, n, sigma, n >= 2 * l->npositions ? 2 : 1, start, n);
	nsegments = join_equal(v, n, start, nsegments, sigma);
	ret->v = calloc(nsegments, sizeof(*ret->v));
	if (!ret->v)
		return -ENOMEM;
	ret->n = nsegments;
	for (size_t k = 0; k < nsegments; k++) {
		size_t a = start[k], b = k + 1 < nsegments ? start[k + 1] : n;
		struct zone_band *band = &ret->v[k];

		band->samples = b - a;
		band->y = mean_y(v, a, b);
		band->half = zone_half(lv, ZONE_SHORT, (double)(b - a));
		band->half = sqrt(band->half * band->half + 1.96 * 1.96 * lv->excess_var);
		band->first_bytes = l->first_bytes;
		band->end_bytes = l->end_bytes;
		if (!k)
			continue;
		band->first_bytes = (uint64_t)fmax(0.5 * (v[a - 1].end + v[a].from), 0.0);
		band->first_bytes -= band->first_bytes % l->align_bytes;
		band->edge_half_bytes = (uint64_t)(0.5 * fabs(v[a].from - v[a - 1].end));
		ret->v[k - 1].end_bytes = band->first_bytes;
	}
	ret->has_sawtooth = goes_up(ret);
	ret->least_step =
		fmax(STEP_MIN, SEEN_SIGMAS * sigma * sqrt(2.0 / fmax((double)n / (double)l->npositions, 1.0)));
	return 0;
}

int zone_bands_find(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
                    const struct zone_slows *slows, const struct zone_stretches *st, struct zone_bands *ret)
{
	const struct left_out out = { slows, st };
	double usual = isnan(lv->sigma[ZONE_SHORT]) ? lv->sigma[ZONE_LONG] : lv->sigma[ZONE_SHORT];
	int r;

	/*
	 * Where surfaces differ, many positions lie over two of them, and the usual scatter is of the very steps that are looked for: there the
	 * robust one is taken. It makes too little of rare disturbances, which other disks may have.
	 */
	if (ROBUST_TIMES * lv->rob_sigma < usual) {
		r = find_with(lv->rob_sigma, samples, l, lv, &out, ret);
		if (r < 0 || ret->has_sawtooth)
			return r;
		free(ret->v);
	}
	return find_with(usual, samples, l, lv, &out, ret);
}

/* Are there samples close enough to each other and to both ends to speak of the whole? */
static bool is_covered(const struct at *v, size_t n, const struct zone_layout *l)
{
	double region = (double)(l->end_bytes - l->first_bytes);
	double most = 1.6 * region / (double)(l->npositions > 1 ? l->npositions - 1 : 1);

	if (n < 2 || v[0].from - (double)l->first_bytes > most || (double)l->end_bytes - v[n - 1].end > most)
		return false;
	for (size_t i = 1; i < n; i++)
		if (v[i].mid - v[i - 1].mid > most)
			return false;
	return true;
}

bool zone_mean(const struct zone_samples *samples, const struct zone_layout *l, const struct zone_levels *lv,
               double *ret_ns_per_byte, struct interval *ret_ci)
{
	const struct left_out none = { NULL, NULL };
	size_t n;
	cleanup_free struct at *v = in_order(samples, l, lv, &none, &n);
	double region = (double)(l->end_bytes - l->first_bytes), mean = 0.0, var = 0.0, half;

	if (!v || !is_covered(v, n, l))
		return false;
	for (size_t i = 0; i < n; i++) {
		double left = i ? 0.5 * (v[i].mid - v[i - 1].mid) : v[i].mid - (double)l->first_bytes;
		double right = i + 1 < n ? 0.5 * (v[i + 1].mid - v[i].mid) : (double)l->end_bytes - v[i].mid;
		double weight = (left + right) / region, s = exp(v[i].y);

		mean += weight * s;
		var += weight * weight * s * s * v[i].sigma * v[i].sigma;
		if (i) {
			double step = s - exp(v[i - 1].y), gap = (v[i].mid - v[i - 1].mid) / region;
			double noise = s * s * (v[i].sigma * v[i].sigma + v[i - 1].sigma * v[i - 1].sigma);

			var += fmax(step * step - noise, 0.0) * gap * gap / 12.0;
		}
	}
	/* In the logarithm, as all else: a time is never negative. */
	half = 1.96 * sqrt(var / mean / mean + lv->excess_var);
	*ret_ns_per_byte = mean;
	ret_ci->low = mean * exp(-half);
	ret_ci->high = mean * exp(half);
	return true;
}
