/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Surfaces of unlike density that the disk goes through by turns. A sample sees one of them or two, and places scatter
 * by what those differ; all of them come by in a cycle, which repeats itself: windows on a grid (SAMPLE_LOOK, spread.c)
 * show a sawtooth, and the lag by which it fits itself again is the cycle. Windows spread evenly over one cycle of a
 * place (SAMPLE_SPREAD) then speak of all surfaces in the parts that they have there; what they miss, being few, the
 * grids show, too. It pays where samples of a place scatter so that many of them would be wanted there: only then is a
 * cycle looked for.
 *
 * Cylinders, not bytes, repeat: a cycle takes the same time everywhere. That it does is seen at two places far from
 * each other, or no cycle is told.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/zones.h"

#define SAMPLES_MANY 9.0 /* at a place, for the precision asked for: windows over a cycle take less time (a choice) */
#define NOISY        4.0 /* times what samples say of their own errors: less is noise */
#define PLACES_MIN   16  /* fewer tell no scatter */
#define LOSSES_MANY \
	0.1 /* part of the windows that lose revolutions: what is lost then is another at each place (a choice) */
#define LAG_STEP 0.1
#define LAG_MIN  4 /* windows in a cycle */
#define MATCH                                                                                                          \
	0.06 /* mean square difference over that of unlike windows: a cycle is found (trial: surfaces drawn at random) \
	      */
#define MATCH_BETWEEN    0.02
#define MATCH_EXPECTED   0.06
#define MATCH_NOISE      1.5
#define MOST             0.75 /* of the places (a choice) */
#define STEPS_MIN        4.0
#define CHANGES_MIN      12.0 /* steps that must have been seen to come back: fewer may by chance */
#define UNLIKE           0.3  /* the same, that smaller lags must have reached: what hardly changes fits itself, too */
#define CYCLES_OFF       0.06 /* the time of the cycle at two places, relative */
#define OVERLAP_EXPECTED 0.3  /* the same of one whose time is known from another place */
#define STEP_SIGMAS      3.0
#define OVERLAP          1.0  /* of a cycle, that must have been seen twice */
#define SIGMA_MIN        5e-4 /* of a window: what is left of skew, if nothing else */
#define BEGINS           64
#define FASTER                                                                                                \
	0.2 /* relative, than the middle of the windows of a place: no surface is, a buffer may be (a choice) \
	     */
#define TRIM        0.9 /* of the differences; the others may be of edges that the grid cuts otherwise, or disturbed */
#define QUARTILE    0.3186      /* of a normal deviation's absolute values */
#define UNSEEN_REVS (1.0 / 3.0) /* as in losses.c */
#define SIGNAL      2.0         /* deviation of the windows over their noise: less shows no cycle */

/* ---- is there reason to look? ---- */

/* y of the first good samples of two passes at each position, NaN: none. */
static void first_two(const struct zone_target *t, double *y, double *said, size_t *ret_said)
{
	size_t n = t->layout.npositions;

	for (size_t i = 0; i < 2 * n; i++)
		y[i] = NAN;
	*ret_said = 0;
	for (size_t i = 0; i < t->samples.n; i++) {
		const struct zone_sample *s = &t->samples.v[i];

		if (s->kind != SAMPLE_CURVE || !s->is_good || s->position >= n || s->is_burst)
			continue;
		said[(*ret_said)++] = s->se_ratio;
		for (size_t k = 0; k < 2; k++)
			if (isnan(y[2 * s->position + k])) {
				y[2 * s->position + k] = s->clean_y;
				break;
			}
	}
}

bool zone_heads_may_differ(const struct zone_target *t, double precision)
{
	size_t n = t->layout.npositions, pairs = 0, nsaid;
	cleanup_free double *y = xcalloc(2 * n + 1, sizeof(*y)), *d = xcalloc(n + 1, sizeof(*d)),
			    *said = xcalloc(t->samples.n + 1, sizeof(*said));
	double apart;

	if (n < PLACES_MIN)
		return false;
	first_two(t, y, said, &nsaid);
	for (size_t p = 0; p < n; p++)
		if (!isnan(y[2 * p]) && !isnan(y[2 * p + 1]))
			d[pairs++] = fabs(y[2 * p + 1] - y[2 * p]);
	if (pairs < PLACES_MIN)
		return false;
	apart = 1.4826 * stats_median(d, pairs) / M_SQRT2;
	return apart > NOISY * stats_median(said, nsaid) && 1.96 * apart / log1p(precision) > sqrt(SAMPLES_MANY);
}

/* ---- the cycle ---- */

static double variance(const double *z, size_t n)
{
	double mean = 0.0, var = 0.0, m = 0.0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(z[i])) {
			mean += z[i];
			m++;
		}
	mean /= m;
	for (size_t i = 0; i < n; i++)
		var += isnan(z[i]) ? 0.0 : (z[i] - mean) * (z[i] - mean);
	return m >= 2.0 ? var / (m - 1.0) : 0.0;
}

double zone_look_change(const double *z, size_t n, double apart)
{
	double diff = 0.0, pairs = 0.0, var = fmax(variance(z, n), apart * apart);

	for (size_t i = 1; i < n; i++)
		if (!isnan(z[i]) && !isnan(z[i - 1])) {
			diff += (z[i] - z[i - 1]) * (z[i] - z[i - 1]);
			pairs++;
		}
	return pairs >= 1.0 && var > 0.0 ? diff / pairs / (2.0 * var) : (double)NAN;
}

double zone_places_apart(const struct zone_levels *lv)
{
	cleanup_free double *off = xcalloc(lv->n + 1, sizeof(*off));
	size_t n = 0;

	for (size_t p = 1; p + 1 < lv->n; p++)
		if (lv->v[p - 1].n && lv->v[p].n && lv->v[p + 1].n)
			off[n++] = fabs(lv->v[p].y - 0.5 * (lv->v[p - 1].y + lv->v[p + 1].y));
	return n ? 1.4826 * stats_median(off, n) / sqrt(1.5) : 0.0;
}

/* Of one window: from the smaller differences of neighbours, which lie on one surface. */
static double window_sigma(const double *z, size_t n, double *work)
{
	size_t m = 0;

	for (size_t i = 1; i < n; i++)
		if (!isnan(z[i]) && !isnan(z[i - 1]))
			work[m++] = fabs(z[i] - z[i - 1]);
	stats_sort(work, m);
	return m ? stats_quantile_sorted(work, m, 0.25) / QUARTILE / M_SQRT2 : (double)NAN;
}

/*
 * How unlike the windows are to those a lag behind, or to anything between two of these, where an edge may lie: 0, the
 * same; about 1, unlike.
 */
static double unlike(const double *z, size_t n, size_t lag, double var, double *work)
{
	double sum = 0.0;
	size_t m = 0;

	for (size_t i = 0; i + lag + 1 < n; i++) {
		double low = fmin(z[i + lag], z[i + lag + 1]), high = fmax(z[i + lag], z[i + lag + 1]);
		double off = fmax(fmax(low - z[i], z[i] - high), 0.0);

		if (!isnan(z[i]) && !isnan(z[i + lag]) && !isnan(z[i + lag + 1]))
			work[m++] = off * off;
	}
	stats_sort(work, m);
	m = (size_t)(TRIM * (double)m);
	for (size_t i = 0; i < m; i++)
		sum += work[i];
	return m >= 2 ? sum / (double)m / (2.0 * var) : (double)NAN;
}

/* The steps in the first n windows. A window that an edge lies in makes two of one. */
static void measure_steps(const double *z, size_t n, struct zone_cycle *ret)
{
	bool was_step = false;

	ret->steps = ret->changes = 0.0;
	for (size_t i = 1; i < n; i++) {
		double step = z[i] - z[i - 1]; /* NaN is none */
		bool is_step = fabs(step) > STEP_SIGMAS * M_SQRT2 * ret->sigma;

		ret->steps += is_step ? step * step : 0.0;
		ret->changes += is_step && !was_step;
		was_step = is_step && !was_step;
	}
}

/* The lag within a window of it where differences are least, neighbours weighted. */
static double refine(const double *z, size_t n, double lag, double var, double *work, double *ret_unlike)
{
	double best = INFINITY, at = lag;

	for (double try = lag - 1.0; try <= lag + 1.0; try += LAG_STEP) {
		size_t whole = (size_t)try, m = 0;
		double part = try - (double)whole, sum = 0.0;

		for (size_t i = 0; i + whole + 1 < n; i++) {
			double off = (1.0 - part) * z[i + whole] + part * z[i + whole + 1] - z[i];

			if (!isnan(off))
				work[m++] = off * off;
		}
		stats_sort(work, m);
		m = (size_t)(TRIM * (double)m);
		for (size_t i = 0; i < m; i++)
			sum += work[i] / (double)m / (2.0 * var);
		if (m && sum < best) {
			best = sum;
			at = try;
		}
	}
	*ret_unlike = best;
	return at;
}

size_t zone_look_steps(const double *z, size_t n, double sigma)
{
	cleanup_free double *work = xcalloc(n + 1, sizeof(*work));
	struct zone_cycle c = { 0 };

	c.sigma = fmax(fmin(window_sigma(z, n, work), sigma), SIGMA_MIN);
	measure_steps(z, n, &c);
	return (size_t)c.changes;
}

/*
 * What n windows over the cycle are off by, as windows on the grid show it: a number of them at equal distances, from
 * each of many begins, against the mean of all (systematic sampling; Cochran 1977, chapter 8). It needs no count of the
 * surfaces, which few windows would miss.
 */
static void measure_missed(const double *z, size_t n, struct zone_cycle *ret)
{
	for (size_t k = 1; k <= ZONE_SPREAD_MOST; k++) {
		double sum = 0.0, sum2 = 0.0, m = 0.0, distance = ret->lag / (double)k;

		for (size_t b = 0; b < BEGINS; b++) {
			double mean = 0.0, seen = 0.0;

			for (size_t i = 0; i < k; i++) {
				size_t at = (size_t)(((double)b / BEGINS + (double)i) * distance);

				if (at < n && !isnan(z[at])) {
					mean += z[at];
					seen++;
				}
			}
			if (!(seen > 0.0))
				continue;
			mean /= seen;
			sum += mean;
			sum2 += mean * mean;
			m++;
		}
		ret->missed_var[k] = m > 1.0 ? fmax(sum2 - sum * sum / m, 0.0) / (m - 1.0) : (double)INFINITY;
	}
}

bool zone_cycle_find(const double *z, size_t n, double sigma, double expected, struct zone_cycle *ret)
{
	double overlap = expected > 0.0 ? OVERLAP_EXPECTED : OVERLAP;
	cleanup_free double *work = xcalloc(n + 1, sizeof(*work));
	double var, best, at = 0.0, seen;
	bool is_unlike = false;

	if (n < 2)
		return false;
	ret->sigma = fmax(fmin(window_sigma(z, n, work), sigma), SIGMA_MIN);
	var = variance(z, n);
	best = MATCH + MATCH_NOISE * ret->sigma * ret->sigma / var;
	if (!(var > SIGNAL * SIGNAL * ret->sigma * ret->sigma))
		return false;
	for (size_t lag = 1; ((double)lag + 1.0) * (1.0 + overlap) <= (double)n; lag++) {
		double d = unlike(z, n, lag, var, work);

		if (at > 0.0 && d > 2.0 * best + MATCH)
			break; /* behind the first that fits */
		is_unlike |= d > UNLIKE;
		if (is_unlike && lag >= LAG_MIN && d < best &&
		    (!(expected > 0.0) || fabs((double)lag + 0.5 - expected) <= 1.0 + CYCLES_OFF * expected)) {
			best = d;
			at = (double)lag + 0.5;
		}
	}
	if (!(at > 0.0))
		return false;
	ret->lag = refine(z, n, at, var, work, &best);
	measure_steps(z, n, ret);
	seen = ret->changes * (1.0 - ret->lag / (double)n);
	if (best > (expected > 0.0 ? MATCH_EXPECTED : MATCH_BETWEEN) + MATCH_NOISE * ret->sigma * ret->sigma / var ||
	    (!(expected > 0.0) && seen < CHANGES_MIN))
		return false;
	measure_steps(z, (size_t)fmin(at, (double)n), ret);
	measure_missed(z, n, ret);
	return true;
}

/* ---- places ---- */

struct window {
	double at, x; /* byte, time per byte */
	double moved, elapsed_ns;
};

static int by_x(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->x < y->x ? -1 : x->x > y->x;
}

/* Leaves out what a buffer answered; returns how many are left. */
static size_t drop_buffered(struct window *w, size_t n)
{
	size_t first = 0;

	qsort(w, n, sizeof(*w), by_x);
	while (first < n && w[first].x < (1.0 - FASTER) * w[n / 2].x)
		first++;
	memmove(w, w + first, (n - first) * sizeof(*w));
	return n - first;
}

static int by_at(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Mean over one cycle of windows at their places, each standing for half of the gaps beside it, and its variance,
 * relative. */
static double mean_of(const struct window *w, size_t n, double cycle, double sigma, double pieces, double *ret_var)
{
	double mean = 0.0, noise = 0.0, steps = 0.0, var = 0.0, between = 0.0;

	for (size_t i = 0; i < n; i++) {
		const struct window *next = &w[(i + 1) % n], *last = &w[(i + n - 1) % n];
		double behind = next->at - w[i].at + (i + 1 == n ? cycle : 0.0);
		double before = w[i].at - last->at + (i ? 0.0 : cycle), weight = 0.5 * (behind + before) / cycle;
		double step = next->x - w[i].x;

		mean += weight * w[i].x;
		noise += weight * weight * sigma * sigma * w[i].x * w[i].x;
		steps += fmax(step * step - 2.0 * sigma * sigma * w[i].x * w[i].x, 0.0) * behind * behind / cycle /
		         cycle / 12.0;
	}
	for (size_t i = 0; i < n; i++)
		between += (w[i].x - mean) * (w[i].x - mean);
	var = noise + steps;
	/* Fewer windows than pieces: what lies between two of them is anything. */
	if ((double)n < pieces)
		var = fmax(var, between / (double)(n - 1) / (double)n);
	*ret_var = var / mean / mean;
	return mean;
}

/* By n windows, of what a place's cycle is off: as the looks show it, at the worse of the two. */
static double missed_var(const struct zone_target *t, size_t n)
{
	size_t k = n < ZONE_SPREAD_MOST ? n : ZONE_SPREAD_MOST;

	return fmax(t->cycle[0].missed_var[k], t->cycle[1].missed_var[k]);
}

static void fill_level(const struct zone_target *t, const struct zone_position *pos, const struct window *w, size_t n,
                       struct zone_level *v)
{
	const struct zone_cycle *cycle = &t->cycle[0];
	double var, mean = mean_of(w, n, (double)pos->cycle_bytes, cycle->sigma, cycle->changes, &var);

	var = fmax(var, missed_var(t, n));
	v->y = log(mean) + log1p(v->loss);
	v->n = n;
	v->first_bytes = pos->cycle_first_bytes;
	v->end_bytes = pos->cycle_first_bytes + pos->cycle_bytes;
	/* Of few steps their variance is not well known. */
	v->noise_half = stats_t_975(fmax(cycle->changes, STEPS_MIN)) * sqrt(var);
	v->half = hypot(v->noise_half, 1.96 * sqrt(v->loss_var));
	v->df = fmax(cycle->changes, STEPS_MIN);
	v->sigma = cycle->sigma;
	v->is_mixed = false;
	v->is_cycle = true;
}

/* How often the grid was made anew there. */
static uint32_t last_try(const struct zone_target *t, size_t position)
{
	uint32_t try = 0;

	for (size_t i = 0; i < t->spread.n; i++)
		if (t->spread.v[i].kind == SAMPLE_LOOK && t->spread.v[i].position == position)
			try = t->spread.v[i].pass;
	return try;
}

/* z of the last look at a position, into room for all of t->spread; returns how many. */
static size_t look_at(const struct zone_target *t, size_t position, double *z, double *ret_spacing)
{
	uint32_t pass = last_try(t, position);
	size_t n = 0, first = 0;

	for (size_t i = 0; i < t->spread.n; i++) {
		const struct zone_sample *s = &t->spread.v[i];

		if (s->kind != SAMPLE_LOOK || s->position != position || s->pass != pass)
			continue;
		if (n == 1)
			*ret_spacing = (double)(s->first_bytes - t->spread.v[first].first_bytes);
		first = n ? first : i;
		z[n++] = s->is_good ? zone_clean_y(&t->layout, s) : (double)NAN;
	}
	return n;
}

/* Of a position: behind this one come others, or windows over a cycle. */
static bool is_last_look(const struct zone_target *t, size_t i)
{
	const struct zone_sample *s = &t->spread.v[i], *next = i + 1 < t->spread.n ? s + 1 : NULL;

	return !next || next->kind != SAMPLE_LOOK || next->position != s->position;
}

double zone_look_sigma(const struct zone_target *t, size_t position)
{
	cleanup_free double *z = xcalloc(t->spread.n + 1, sizeof(*z)), *work = xcalloc(t->spread.n + 1, sizeof(*work));
	double sigma = INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < t->spread.n; i++) {
		const struct zone_sample *s = &t->spread.v[i], *next = i + 1 < t->spread.n ? s + 1 : NULL;

		if (s->kind != SAMPLE_LOOK)
			continue;
		z[n++] = s->is_good ? zone_clean_y(&t->layout, s) : (double)NAN;
		if (next && next->kind == SAMPLE_LOOK && next->position == s->position && next->pass == s->pass)
			continue;
		if (n >= ZONE_LOOK_CHUNK)
			sigma = fmin(sigma, window_sigma(z, n, work));
		n = 0;
		if (s->position == position && is_last_look(t, i))
			break;
	}
	return sigma;
}

bool zone_looks_lose(const struct zone_target *t)
{
	size_t n = 0, lose = 0;

	for (size_t i = 0; i < t->spread.n; i++)
		if (t->spread.v[i].kind == SAMPLE_LOOK) {
			n++;
			lose += t->spread.v[i].wait_revs > 0;
		}
	return n >= ZONE_LOOK_CHUNK && (double)lose > LOSSES_MANY * (double)n;
}

bool zone_heads_look(const struct zone_target *t, size_t position, double expected, struct zone_cycle *ret)
{
	cleanup_free double *z = xcalloc(t->spread.n + 1, sizeof(*z));
	size_t n = z ? look_at(t, position, z, &ret->spacing) : 0;
	double sum = 0.0, m = 0.0;

	if (n < 2 || !zone_cycle_find(z, n, zone_look_sigma(t, position), expected, ret))
		return false;
	for (size_t i = 0; i < n && (double)i < ret->lag; i++)
		if (!isnan(z[i])) {
			sum += exp(z[i]);
			m++;
		}
	ret->cycle_ns = ret->lag * ret->spacing * sum / m;
	return true;
}

/* The windows over the cycle of a place, in order; returns how many. */
static size_t windows_at(const struct zone_target *t, size_t position, struct window *w, double *ret_moved,
                         double *ret_elapsed_ns)
{
	size_t n = 0;

	*ret_moved = *ret_elapsed_ns = 0.0;
	for (size_t i = 0; i < t->spread.n && t->layout.positions[position].cycle_bytes; i++) {
		const struct zone_sample *s = &t->spread.v[i];

		/* What is lost counts everywhere alike; of a window so short the rest says little. */
		if (s->kind != SAMPLE_SPREAD || s->position != position || !s->is_good || s->wait_revs)
			continue;
		w[n].at = 0.5 * ((double)s->from_bytes + (double)s->end_bytes);
		w[n].x = exp(zone_clean_y(&t->layout, s));
		w[n].moved = s->moved_bytes;
		w[n++].elapsed_ns = s->elapsed_ns;
	}
	n = drop_buffered(w, n);
	for (size_t i = 0; i < n; i++) {
		*ret_moved += w[i].moved;
		*ret_elapsed_ns += w[i].elapsed_ns;
	}
	qsort(w, n, sizeof(*w), by_at);
	return n;
}

/* Have most places windows over a cycle? What is told is either of cycles or of samples that lie together. */
static bool are_most_spread(const struct zone_target *t, struct window *w)
{
	size_t spread = 0;
	double moved, elapsed;

	for (size_t p = 0; p < t->layout.npositions; p++)
		spread += windows_at(t, p, w, &moved, &elapsed) >= ZONE_SPREAD_MIN;
	return (double)spread >= MOST * (double)t->layout.npositions;
}

/* The cycle at both looks, once; false: there is none, or no windows are spread over it. */
static bool has_cycle(struct zone_target *t)
{
	size_t found = 0;

	if (!t->spread.n || t->spread.v[t->spread.n - 1].kind != SAMPLE_SPREAD)
		return false;
	for (size_t i = 0; i < t->spread.n && found < 2 && !t->has_cycle; i++)
		if (t->spread.v[i].kind == SAMPLE_LOOK && is_last_look(t, i)) {
			if (!zone_heads_look(t, t->spread.v[i].position, found ? t->cycle[0].lag : 0.0,
			                     &t->cycle[found]))
				return false;
			found++;
		}
	t->has_cycle |= found == 2;
	return t->has_cycle;
}

void zone_heads_levels(struct zone_target *t, struct zone_levels *lv)
{
	cleanup_free struct window *w = xcalloc(t->spread.n + 1, sizeof(*w));

	if (!has_cycle(t) || !are_most_spread(t, w))
		return;
	/* Now windows tell as well, and of more tracks. */
	zone_losses_find(&t->samples, &t->spread, &t->layout, lv);
	lv->has_cycles = true;
	lv->cycle_bytes = t->cycle[0].lag * t->cycle[0].spacing;
	for (size_t p = 0; p < t->layout.npositions; p++) {
		double moved, elapsed;
		size_t n = windows_at(t, p, w, &moved, &elapsed);

		if (n < ZONE_SPREAD_MIN || lv->v[p].loses_itself)
			continue;
		fill_level(t, &t->layout.positions[p], w, n, &lv->v[p]);
		lv->v[p].moved_bytes = moved;
		lv->v[p].elapsed_ns = elapsed;
	}
}

/* ---- the surfaces one by one ---- */

static size_t pieces_at(const struct zone_target *t, size_t position, const struct zone_cycle *c, struct zone_band *ret,
                        size_t max)
{
	cleanup_free double *z = xcalloc(t->spread.n + 1, sizeof(*z));
	cleanup_free size_t *start = xcalloc(t->spread.n + 1, sizeof(*start));
	const struct zone_levels *lv = &t->analysis->levels;
	double spacing = 0.0, first = NAN;
	size_t n, count, pieces = 0;

	n = (size_t)fmin((double)look_at(t, position, z, &spacing), ceil(c->lag) + 1.0);
	for (size_t i = 0; i < t->spread.n && isnan(first); i++)
		if (t->spread.v[i].kind == SAMPLE_LOOK && t->spread.v[i].position == position &&
		    t->spread.v[i].pass == last_try(t, position))
			first = (double)t->spread.v[i].first_bytes;
	for (size_t i = 1; i < n; i++)
		z[i] = isnan(z[i]) ? z[i - 1] : z[i];
	count = isnan(z[0]) ? 0 : fit_segments(z, n, c->sigma, 1, start, n);
	for (size_t k = 0; k < count && pieces < max; k++) {
		size_t end = k + 1 < count ? start[k + 1] : n;
		struct zone_band *piece = &ret[pieces];
		double sum = 0.0;

		/* A single window lies on an edge. */
		if (end - start[k] < 2)
			continue;
		for (size_t i = start[k]; i < end; i++)
			sum += z[i];
		*piece = (struct zone_band){ .first_bytes = (uint64_t)(first + (double)start[k] * spacing),
			                     .end_bytes = (uint64_t)(first + (double)end * spacing),
			                     .samples = end - start[k] };
		piece->y = sum / (double)piece->samples + log1p(lv->loss);
		piece->half = 1.96 * sqrt(c->sigma * c->sigma / (double)piece->samples + lv->loss_var);
		pieces++;
	}
	return pieces;
}

size_t zone_heads_pieces(const struct zone_target *t, struct zone_band *ret, size_t max)
{
	size_t n = 0, found = 0;

	for (size_t i = 0; i < t->spread.n && found < 2; i++)
		if (t->spread.v[i].kind == SAMPLE_LOOK && is_last_look(t, i))
			n += pieces_at(t, t->spread.v[i].position, &t->cycle[found++], ret + n, max - n);
	return n;
}
