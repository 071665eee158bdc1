/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What samples in the order of their places say.
 *
 * Recording zones, and how many (model/along.h). Revolutions lost in a sample are left out of it: they say nothing of
 * density.
 *
 * The mean of the whole surface: time to read everything = integral of time per byte over the place, by trapezoids
 * between the samples. Its error has two parts: the noise of the samples with their weights, and the place of each step
 * between two samples, about which nothing is known but that it lies there: uniform, variance (step x distance)^2 / 12.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/without.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"
#include "model/along.h"
#include "model/lossy.h"

#define LOST_PART \
	0.5 /* of a sample's time, lost in revolutions: more is its level (losses.c), and says nothing of density */

#define FRONT_WIDE 2.0 /* of (n + 1/2) zones: the first is so wide once in 24, by Erlang's law of chain.h */

struct at { /* a sample in order of place */
	double from, end, mid, y, sigma;
	size_t position; /* ZONE_NONE: none, or on an edge */
};

static int by_mid(const void *a, const void *b)
{
	const struct at *x = a, *y = b;

	return x->mid < y->mid ? -1 : x->mid > y->mid;
}

static bool is_left_out(const struct zone_slows *slows, const struct zone_stretches *st, const struct zone_sample *s)
{
	if (slows && zone_touches_slow(slows, s, true))
		return true;
	for (size_t i = 0; st && i < st->n; i++)
		if (st->v[i].kind != STRETCH_DEVICE && s->from_bytes < st->v[i].end_bytes &&
		    s->end_bytes > st->v[i].first_bytes)
			return true;
	return false;
}

/*
 * Between places no other sample says which one is an accident. What narrowed down where a slow region begins and ends
 * lies in it in part. A single one that an edge between zones was looked for by may meet a bad track.
 */
static bool is_odd_edge(const struct zone_sample *s, const struct zone_layout *l)
{
	return s->kind == SAMPLE_EDGE &&
	       (s->position != ZONE_NONE || s->lost.revs * zone_rev_ns(l) >= LOST_PART * s->elapsed_ns);
}

/* Samples by place, without slow regions and what is not the medium (both NULL: all); free it. */
static struct at *in_order(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_slows *slows,
                           const struct zone_stretches *st, size_t *ret_n)
{
	struct at *v = xcalloc(lv->marked.n + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < lv->marked.n; i++) {
		const struct zone_sample *s = &lv->marked.v[i];
		enum zone_class c = s->position == ZONE_NONE ? ZONE_SHORT : l->positions[s->position].class;

		if (isnan(s->y) || is_left_out(slows, st, s) || (slows && is_odd_edge(s, l)))
			continue;
		v[n].from = (double)s->from_bytes;
		v[n].end = (double)s->end_bytes;
		v[n].mid = 0.5 * (v[n].from + v[n].end);
		v[n].y = slows ? s->clean_y : s->y;
		v[n].sigma = isnan(lv->sigma[c]) ? 0.0 : lv->sigma[c];
		v[n].position = s->position;
		n++;
	}
	qsort(v, n, sizeof(*v), by_mid);
	*ret_n = n;
	return v;
}

/* Readings for the model; one that straddles where rates begin anew is none. Returns how many. */
static size_t readings_of(const struct at *v, size_t n, double anew, struct along_at *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_behind = v[i].from >= anew;

		if (!is_behind && v[i].end > anew)
			continue;
		ret[count] = (struct along_at){ v[i].from,     v[i].end,
			                        v[i].y,        v[i].sigma,
			                        v[i].position, is_behind && count && ret[count - 1].from < anew };
		count++;
	}
	return count;
}

/* From the first place that was read to behind the last one: of what lies beyond them a cut run knows nothing. */
static void read_part(const struct zone_layout *l, const struct zone_levels *lv, uint64_t *ret_first, uint64_t *ret_end)
{
	size_t first = 0, end = lv->n;

	while (first < end && !lv->v[first].n)
		first++;
	while (end > first && !lv->v[end - 1].n)
		end--;
	*ret_first = first ? l->positions[first].cell_bytes : l->first_bytes;
	*ret_end = end < lv->n ? l->positions[end].cell_bytes : l->end_bytes;
}

/* ret[0] begins, and the last one ends, where reading did. */
static void fill_band(const struct along *a, size_t k, const struct zone_layout *l, const struct zone_levels *lv,
                      struct zone_band *ret)
{
	const struct along_edge *e = &a->v[k];

	ret->y = e->y;
	ret->half = hypot(e->half, 1.96 * sqrt(lv->loss_var));
	ret->samples = e->readings;
	if (!k)
		return;
	ret->first_bytes = (uint64_t)fmax(e->at, 0.0);
	ret->first_bytes -= ret->first_bytes % l->align_bytes;
	ret->edge_half_bytes = (uint64_t)fmax(e->at - e->first, e->end - e->at);
	ret[-1].end_bytes = ret->first_bytes;
}

static bool has_gap(const struct zone_levels *lv)
{
	for (size_t p = 0; p < lv->n; p++)
		if (!lv->v[p].n)
			return true;
	return false;
}

/* May the first band be several zones, faster than the interface, or a single one whose scatter hides a fall? */
static bool may_hide(const struct zone_bands *b, const struct zone_layout *l)
{
	double rate = zone_rate(b->v[0].y);
	double all = (double)(l->end_bytes - l->first_bytes), first = (double)(b->v[0].end_bytes - b->v[0].first_bytes);

	if (b->n == 1)
		return !link_is_far(rate, l->interface_bytes_per_s) || b->least_step > 1.0 - ZONE_FALL_LEAST;
	return link_is_near(rate, l->interface_bytes_per_s) || first > FRONT_WIDE / ((double)b->n + 0.5) * all;
}

void zone_bands_find(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_slows *slows,
                     const struct zone_stretches *st, struct zone_bands *ret)
{
	size_t n;
	cleanup_free struct at *v = in_order(l, lv, slows, st, &n);
	cleanup_free struct along_at *at = xcalloc(n + 1, sizeof(*at));
	struct along a;

	along_zones(at, readings_of(v, n, zone_begins_anew(st), at), (double)l->end_bytes, &a);
	*ret = (struct zone_bands){
		.v = xcalloc(a.n + 1, sizeof(*ret->v)),
		.n = a.n,
		.least_step = a.least_step,
		.mean_var = a.mean_var,
	};
	for (size_t k = 0; k < a.n; k++)
		fill_band(&a, k, l, lv, &ret->v[k]);
	if (a.n)
		read_part(l, lv, &ret->v[0].first_bytes, &ret->v[a.n - 1].end_bytes);
	ret->is_least = a.n && (a.p_count < ALONG_SURE || has_gap(lv) || may_hide(ret, l));
	free(a.v);
}

/* Do samples lie close enough to each other and to both ends to speak of the whole? Across few places nobody would see
 * what is not stored between them, or that another device begins. */
static bool is_covered(const struct at *v, size_t n, const struct zone_layout *l)
{
	size_t places = l->npositions > ZONE_BESIDE ? l->npositions : ZONE_BESIDE;
	double most = 1.6 * (double)(l->end_bytes - l->first_bytes) / (double)(places - 1);

	if (n < 2 || v[0].from - (double)l->first_bytes > most || (double)l->end_bytes - v[n - 1].end > most)
		return false;
	for (size_t i = 1; i < n; i++)
		if (v[i].from - v[i - 1].end > most)
			return false;
	return true;
}

/*
 * By how much noise that lasts for a while is larger in the mean than the same noise at random: samples' differences
 * from their places, summed over stretches of time. 1 at least; places that were read once say nothing.
 */
static double lasting_noise(const struct zone_levels *lv)
{
	double block[ZONE_TIME_BLOCKS] = { 0 }, first = INFINITY, last = -INFINITY, squares = 0.0, blocks = 0.0;
	const struct zone_samples *all = &lv->marked;

	for (size_t i = 0; i < all->n; i++) {
		first = isnan(all->v[i].y) ? first : fmin(first, all->v[i].at_s);
		last = isnan(all->v[i].y) ? last : fmax(last, all->v[i].at_s);
	}
	for (size_t i = 0; i < all->n && last > first; i++) {
		const struct zone_sample *s = &all->v[i];
		double n = zone_is_usable(s) && !s->is_outlier ? (double)lv->v[s->position].n : 0.0;

		if (n >= 2.0) {
			double off = (s->y - lv->v[s->position].y) * sqrt(n / (n - 1.0));

			squares += off * off;
			block[zone_time_block(s->at_s, first, last)] += off;
		}
	}
	for (size_t k = 0; k < ZONE_TIME_BLOCKS; k++)
		blocks += block[k] * block[k];
	return squares > 0.0 && !WITHOUT("lasting-noise") ? fmax(blocks / squares, 1.0) : 1.0;
}

/*
 * Variance of the mean by slow regions that no sample met. One narrower than the distance of two places is met by
 * chance, with the probability of its part of that distance: for each that was met as much as fills the rest of it is
 * expected elsewhere (Horvitz and Thompson 1952), and not known. *ret_more: of a disk that fails somewhere there may be
 * others as slow though none was met, as if a third of one had been (Kerman 2011): that only adds.
 */
static double variance_of_unmet(const struct zone_samples *samples, const struct zone_layout *l,
                                const struct zone_slows *slows, double *ret_more)
{
	double region = (double)(l->end_bytes - l->first_bytes), var = 0.0, excess = 0.0, n = 0.0;
	double spacing = region / (double)(l->npositions > 1 ? l->npositions - 1 : 1);
	bool is_sick = false;

	for (size_t i = 0; i < samples->n; i++)
		is_sick |= samples->v[i].has_fault;
	for (size_t i = 0; slows && i < slows->n; i++) {
		const struct zone_slow *slow = &slows->v[i];
		double more = exp(slow->y) - exp(slow->expected_y);
		double rest = fmax(spacing - (double)(slow->end_bytes - slow->first_bytes), 0.0) / region;

		if (!slow->is_confirmed)
			continue;
		var += rest * rest * more * more;
		excess += more;
		n++;
	}
	/* Where none is known, a request that is tried again takes a revolution more. */
	excess = (n > 0.0 ? excess / n : is_sick ? zone_rev_ns(l) / l->block_bytes : 0.0) * spacing / region;
	*ret_more = LOSSY_UNSEEN * excess * excess;
	return var;
}

bool zone_mean(const struct zone_layout *l, const struct zone_levels *lv, const struct zone_bands *bands,
               const struct zone_slows *slows, double *ret_ns_per_byte, struct interval *ret_ci)
{
	size_t n;
	cleanup_free struct at *v = in_order(l, lv, NULL, NULL, &n);
	double region = (double)(l->end_bytes - l->first_bytes), mean = 0.0, var = 0.0, noise_var = 0.0, half, unmet;

	if (!v || !is_covered(v, n, l))
		return false;
	for (size_t i = 0; i < n; i++) {
		double left = i ? 0.5 * (v[i].mid - v[i - 1].mid) : v[i].mid - (double)l->first_bytes;
		double right = i + 1 < n ? 0.5 * (v[i + 1].mid - v[i].mid) : (double)l->end_bytes - v[i].mid;
		double weight = (left + right) / region, s = exp(v[i].y);

		mean += weight * s;
		noise_var += weight * weight * s * s * v[i].sigma * v[i].sigma;
		if (i) {
			double step = s - exp(v[i - 1].y), gap = (v[i].mid - v[i - 1].mid) / region;
			double noise = s * s * (v[i].sigma * v[i].sigma + v[i - 1].sigma * v[i - 1].sigma);

			var += fmax(step * step - noise, 0.0) * gap * gap / 12.0;
		}
	}
	var += noise_var * lasting_noise(lv);
	var += variance_of_unmet(&lv->marked, l, WITHOUT("unmet") ? NULL : slows, &unmet);
	/* The samples of a place lie close together, mostly on the same surfaces, and scatter less than places do. */
	var = fmax(var / mean / mean, bands->mean_var);
	/* In the logarithm, as all else: a time is never negative. */
	half = 1.96 * sqrt(var + lv->lost_var + lv->loss_var);
	*ret_ns_per_byte = mean;
	ret_ci->low = mean * exp(-half);
	ret_ci->high = mean * exp(hypot(half, 1.96 * sqrt(unmet) / mean));
	return true;
}
