/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rotation: the period of a lattice of events, and angles.
 *
 * Search: the frequency with the greatest mean resultant length |sum exp(2 pi i f t)| / n. That is Rayleigh's
 * statistic, the epoch folding of pulsar searches (Mardia and Jupp 2000, 6.3). It is taken on a few hundred events
 * first, then on twice as many and so on, so the grid is never both wide and fine. Events late by whole revolutions
 * stay on the lattice; others are noise of phase. Which multiple: all of T, T/2, T/3 ... explain the events. The
 * longest is taken whose lattice is missed only by events that fall as chance has it: if those that miss a lattice hit
 * a finer one more often than that, the finer one is true. Refinement: t = a + T n, n the nearest integers, Huber's
 * M-estimate (1964), standard error by the sandwich formula, which holds for skewed noise too.
 */
#include "stats/stats.h"

#include <float.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define EVENTS_MIN        20
#define EVENTS_COARSE     128
#define GRID_MAX          1000000.0
#define SPAN_GROWTH       1000 /* from one number of events to twice as many */
#define OVERSAMPLE        5.0  /* grid points per independent frequency; worst loss of length 2 % */
#define OVERSAMPLE_BESIDE 20.0 /* 0.1 % where 2 % may have hidden the highest of several peaks: */
#define BESIDE            16.0 /* independent frequencies between the peaks of events that come in rounds */
#define MULTIPLE_MAX      6    /* candidates: best * a / b up to this */
#define NOISE_MAX         0.1  /* of the period */
#define HUBER             1.345
#define PIECES_MOST       16 /* of the time that events took, and half as many: bursts shorter and longer (a choice) */

static const double two_pi = 6.283185307179586;

double phase_of(double t, double t0, double period)
{
	double turns = (t - t0) / period, part = turns - floor(turns);

	return part >= 1 ? 0 : part; /* floor of -1e-20 is -1; NaN stays */
}

double phase_distance(double a, double b)
{
	double d = a - b;

	return d - floor(d + 0.5);
}

/* Resultant of the events at frequency f; ret_phase may be NULL. */
static double coherence(const double *t, size_t n, double f, double *ret_phase)
{
	double re = 0, im = 0;

	for (size_t i = 0; i < n; i++) {
		double turns = f * t[i], angle = two_pi * (turns - floor(turns));

		re += cos(angle);
		im += sin(angle);
	}
	if (ret_phase)
		*ret_phase = atan2(im, re) / two_pi;
	return hypot(re, im) / (double)n;
}

/* Peak on the grid of `steps` frequencies from f, by turning one phasor per event (made anew every 512 steps). */
static double grid_peak(const double *t, size_t n, double f, double step, size_t steps, double *ret_best)
{
	double z[4][EVENTS_COARSE], best = 0;

	*ret_best = f;
	for (size_t k = 0; k < steps; k++) {
		double re = 0, im = 0;

		if (k % 512 == 0) {
			for (size_t i = 0; i < n; i++) {
				double at = (f + (double)k * step) * t[i];

				z[0][i] = cos(two_pi * (at - floor(at)));
				z[1][i] = sin(two_pi * (at - floor(at)));
				z[2][i] = cos(two_pi * step * t[i]);
				z[3][i] = sin(two_pi * step * t[i]);
			}
		}
		for (size_t i = 0; i < n; i++) {
			double r = z[0][i] * z[2][i] - z[1][i] * z[3][i];

			re += z[0][i];
			im += z[1][i];
			z[1][i] = z[0][i] * z[3][i] + z[1][i] * z[2][i];
			z[0][i] = r;
		}
		if (re * re + im * im > best) {
			best = re * re + im * im;
			*ret_best = f + (double)k * step;
		}
	}
	return sqrt(best) / (double)n;
}

struct peak {
	double f, r;
};

/* The peak near f, searched for within +- range in steps, then closed in on. */
static struct peak local_peak(const double *t, size_t n, double f, double range, double step)
{
	struct peak best = { f, -1 };

	for (int i = 0, steps = (int)ceil(2 * range / step); i <= steps; i++) {
		double at = f - range + i * step, r = coherence(t, n, at, NULL);

		if (r > best.r)
			best = (struct peak){ at, r };
	}
	for (int i = 0; i < 8; i++) {
		double up = coherence(t, n, best.f + step / 2, NULL), down = coherence(t, n, best.f - step / 2, NULL);

		step /= 2;
		if (up > best.r || down > best.r)
			best = (struct peak){ best.f + (up > down ? step : -step), fmax(up, down) };
	}
	return best;
}

/* The highest peak near f, which a coarse grid may have missed. */
static double best_beside(const double *t, size_t n, double f, double f_min, double f_max)
{
	double from = fmax(f_min, f - BESIDE / t[n - 1]), to = fmin(f_max, f + BESIDE / t[n - 1]),
	       step = 1 / (OVERSAMPLE_BESIDE * t[n - 1]), best;

	(void)grid_peak(t, n, from, step, (size_t)ceil((to - from) / step) + 1, &best);
	return best;
}

/*
 * The same for more events than f comes from. With few odd events the frequency may have looked like a half or a third
 * of the true one.
 */
static double follow_peak(const double *t, size_t n, double f, double old_span, double f_max)
{
	struct peak best = { f, -1 };

	for (int k = 1; k <= MULTIPLE_MAX && (k == 1 || k * f <= f_max); k++) {
		struct peak p = local_peak(t, n, k * f, k * 0.3 / old_span, 1 / (5 * t[n - 1]));

		if (p.r > best.r)
			best = p;
	}
	return best.f;
}

/*
 * The most coherent period in the range; false when chance explains its coherence. t sorted, from 0. *n may shrink:
 * events so far behind the others that whole revolutions cannot be counted up to them are left out.
 */
static bool search(const double *t, size_t *n, double low, double high, double *ret_period)
{
	double f = 0, span, r, width = 1 / low - 1 / high;
	size_t m = *n < EVENTS_COARSE ? *n : EVENTS_COARSE, steps;

	while (m > EVENTS_MIN && width * t[m - 1] * OVERSAMPLE > GRID_MAX)
		m /= 2;
	span = t[m - 1];
	if (!(span > 2 * high) || width * span * OVERSAMPLE > GRID_MAX)
		return false;
	steps = (size_t)ceil(width * span * OVERSAMPLE) + 1;
	r = grid_peak(t, m, 1 / high, width / (double)(steps - 1), steps, &f);
	/* Rayleigh: P(R > r) = exp(-m r^2) for one frequency */
	if (r * r * (double)m < log((double)steps) + 9)
		return false;
	f = follow_peak(t, m, best_beside(t, m, f, 1 / high, 1 / low), 4 * span, 1 / low);
	while (m < *n) {
		m = 2 * m < *n ? 2 * m : *n;
		while (t[m - 1] > SPAN_GROWTH * span)
			*n = --m;
		f = follow_peak(t, m, f, span, 1 / low);
		span = t[m - 1];
	}
	*ret_period = 1 / f;
	return true;
}

static double median_abs(double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = fabs(x[i]);
	return stats_median(x, n);
}

struct lattice {
	double a, b;  /* t = a + b i */
	double scale; /* of the residuals, by MAD */
	double b_se;
};

/* Events within `w` of the lattice t0 + i T / k, i any integer. */
static size_t hits(const double *t, size_t n, double t0, double period, double w)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += fabs(phase_distance(phase_of(t[i], t0, period), 0)) * period <= w;
	return found;
}

/* Is it chance that `extra` of `off` events hit what covers the share p of the time? */
static bool is_chance(size_t extra, size_t off, double p)
{
	return extra == 0 || 1 - stats_binomial_cdf(extra - 1, off, p) >= 2e-5;
}

/* Do the events that miss the lattice hit one k times finer, not below `low`, more often than chance explains? */
static bool is_too_coarse(const double *t, size_t n, double t0, double period, double low, double w)
{
	static const int primes[] = { 2, 3, 5, 7 };
	size_t on = hits(t, n, t0, period, w), off = n - on;

	for (size_t i = 0; i < ARRAY_LEN(primes); i++) {
		int k = primes[i];
		double p = (k - 1) * 2 * w / (period - 2 * w);
		size_t extra;

		if (p > 0.5 || period / k < low)
			break;
		extra = hits(t, n, t0, period / k, w) - on;
		if (!is_chance(extra, off, p))
			return true;
	}
	return false;
}

static int common_divisor(int a, int b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* Does the lattice times a / b explain all events of the lattice, less what chance gave it? */
static bool is_lattice(const double *t, size_t n, const struct lattice *l, int a, int b, double low)
{
	double w = fmin(fmax(5 * l->scale, 1e-7 * l->b), l->b / 8), period = l->b * a / b, at = l->a;
	size_t most = 0, on_best;

	for (int j = 0; j < a; j++) {
		size_t on = hits(t, n, l->a + j * l->b / b, period, w);

		if (on > most) {
			most = on;
			at = l->a + j * l->b / b;
		}
	}
	on_best = hits(t, n, l->a, l->b, w);
	return (most >= on_best || is_chance(on_best - most, n - most, 2 * w / l->b)) &&
	       !is_too_coarse(t, n, at, period, low, w);
}

/* Huber's weight of a residual; beyond 8 deviations an event does not belong to the lattice. */
static double weight_of(double residual, double scale)
{
	double r = fabs(residual) / scale;

	if (r < HUBER)
		return 1;
	return r < 8 ? HUBER / r : 0;
}

/* What is left of each event beside the weighted offset of its group; as large as it would be if that were known.
 * Weights by the last round's scale, 0: all alike. */
static double take_offsets(struct period_event *ev, size_t n, double period, double scale, double *w, double *work)
{
	double offset = 0.0;

	for (size_t from = 0, end; from < n; from = end) {
		double sum = 0.0, weight = 0.0, m;

		for (end = from; end < n && ev[end].group == ev[from].group; end++)
			work[end] = ev[end].residual = ev[end].t - period * rint(ev[end].t / period);
		m = (double)(end - from);
		offset = stats_median(work + from, end - from);
		for (size_t i = from; i < end; i++) {
			w[i] = scale > 0.0 ? weight_of(ev[i].residual - offset, scale) : 1.0;
			sum += w[i] * ev[i].residual;
			weight += w[i];
		}
		offset = weight > 0.0 ? sum / weight : offset;
		for (size_t i = from; i < end; i++)
			ev[i].residual = (ev[i].residual - offset) * sqrt(m / (m - 1.0));
	}
	return offset;
}

/* Few values give a variance that is wider by Student's distribution over the normal. */
static double wider(double variance, double free)
{
	double times = stats_t_975(free) / stats_t_975(INFINITY);

	return variance * times * times;
}

/*
 * Delays come in bursts, as when a host is busy for a second: then scores of neighbouring events depend on each other.
 * So their variance is that of sums over pieces of time (clusters, Liang and Zeger 1986), widened for few pieces. 0:
 * all lie in one piece.
 */
static double variance_in_pieces(const struct period_event *ev, size_t n, size_t pieces)
{
	double sum[PIECES_MOST] = { 0.0 }, low = INFINITY, high = -INFINITY, square = 0.0, used = 0.0;
	bool has[PIECES_MOST] = { false };

	for (size_t i = 0; i < n; i++) {
		low = fmin(low, ev[i].at);
		high = fmax(high, ev[i].at);
	}
	if (!(high > low))
		return 0.0;
	for (size_t i = 0; i < n; i++) {
		size_t k = (size_t)((ev[i].at - low) / (high - low) * (double)pieces);

		k = k < pieces ? k : pieces - 1;
		sum[k] += ev[i].score;
		has[k] = true;
	}
	for (size_t k = 0; k < pieces; k++) {
		square += sum[k] * sum[k];
		used += has[k];
	}
	if (used < 2.0)
		return 0.0;
	return wider(square * used / (used - 1.0), used - 1.0);
}

/*
 * The step of the period from the residuals, and its standard error: the sandwich, within groups. Each residual is
 * taken as if its event had not been fitted (MacKinnon and White 1985, HC3). Few events widen it by Student's
 * distribution; how few they are follows from how much the longest arms decide (Satterthwaite 1946; for the sandwich
 * Bell and McCaffrey 2002).
 */
static double within_groups(struct period_event *ev, size_t n, double period, const double *w, double *ret_se)
{
	double sii = 0.0, sie = 0.0, meat = 0.0, bread = 0.0, free = -1.0;
	double sum = 0.0, square = 0.0;

	for (size_t from = 0, end; from < n; from = end) {
		double si = 0.0, sw = 0.0;

		for (end = from; end < n && ev[end].group == ev[from].group; end++) {
			sw += w[end];
			si += w[end] * rint(ev[end].t / period);
		}
		free += (double)(end - from) - 1.0;
		for (size_t i = from; i < end; i++) {
			ev[i].arm = sw > 0.0 ? rint(ev[i].t / period) - si / sw : 0.0;
			sii += w[i] * ev[i].arm * ev[i].arm;
			sie += w[i] * ev[i].residual * ev[i].arm;
			bread += w[i] < 1.0 ? 0.0 : ev[i].arm * ev[i].arm;
		}
	}
	for (size_t i = 0; i < n; i++) {
		double weight = w[i] * ev[i].arm;

		ev[i].score = weight * ev[i].residual / (1.0 - weight * ev[i].arm / sii);
		meat += ev[i].score * ev[i].score;
		sum += weight * weight;
		square += weight * weight * weight * weight;
	}
	free *= sum * sum / (square * (double)n);
	meat = fmax(wider(meat, free),
	            fmax(variance_in_pieces(ev, n, PIECES_MOST / 2), variance_in_pieces(ev, n, PIECES_MOST)));
	*ret_se = free > 2.0 ? sqrt(meat) / bread : (double)NAN;
	return sie / sii;
}

#define ROUNDS 25

/* The lattice of least squares near ret->b, reweighted; ret->a: of the last group. work: room for 2 n. */
static void settle(struct period_event *ev, size_t n, double *work, struct lattice *ret)
{
	double step = INFINITY;

	ret->scale = 0.0;
	for (int round = 0; round < ROUNDS && fabs(step) > 1e-12 * ret->b; round++) {
		ret->a = take_offsets(ev, n, ret->b, ret->scale, work, work + n);
		for (size_t i = 0; i < n; i++)
			work[n + i] = ev[i].residual;
		ret->scale = fmax(1.4826 * median_abs(work + n, n), 1e-9 * ret->b);
		step = within_groups(ev, n, ret->b, work, &ret->b_se);
		ret->b += step;
	}
}

/* Is it still the period that it began with, and is its error known? */
static bool is_settled(const struct lattice *l, double period)
{
	return isfinite(l->b) && isfinite(l->b_se) && fabs(l->b / period - 1.0) < 1e-3;
}

void refine_period(struct period_event *ev, size_t n, struct period_fit *fit)
{
	cleanup_free double *work = xcalloc(2 * n, sizeof(*work));
	struct lattice l = { .b = fit->period };

	if (n >= EVENTS_MIN)
		settle(ev, n, work, &l);
	if (!is_settled(&l, fit->period) || n < EVENTS_MIN)
		return;
	fit->period = l.b;
	fit->se = l.b_se;
}

/* Of all events, as one group. */
static bool settle_all(const double *t, size_t n, double period, struct lattice *ret)
{
	cleanup_free struct period_event *ev = xcalloc(n, sizeof(*ev));
	cleanup_free double *work = xcalloc(2 * n, sizeof(*work));
	double phase;

	(void)coherence(t, n, 1 / period, &phase);
	for (size_t i = 0; i < n; i++)
		ev[i] = (struct period_event){ .t = t[i] - phase * period, .at = t[i] };
	*ret = (struct lattice){ .b = period };
	settle(ev, n, work, ret);
	ret->a += phase * period;
	return is_settled(ret, period);
}

/* The longest of best * a / b that explains the events. */
static double choose_multiple(const double *t, size_t n, const struct lattice *l, double low, double high)
{
	double chosen = 0;

	for (int a = 1; a <= MULTIPLE_MAX; a++) {
		for (int b = 1; b <= MULTIPLE_MAX; b++) {
			double period = l->b * a / b;

			if (common_divisor(a, b) != 1 || period <= chosen || period < low * 0.9999 ||
			    period > high * 1.0001)
				continue;
			if (is_lattice(t, n, l, a, b, low))
				chosen = period;
		}
	}
	return chosen > 0 ? chosen : l->b;
}

bool fit_period(const double *t, size_t n, double low, double high, struct period_fit *ret)
{
	cleanup_free double *own = stats_copy_finite(t, &n);
	struct period_fit fit = { .inliers = 0 };
	double start, period;
	struct lattice l;

	if (!(low > 0 && high > low && isfinite(high)) || n < EVENTS_MIN)
		return false;
	stats_sort(own, n);
	start = own[0];
	for (size_t i = 0; i < n; i++)
		own[i] -= start;
	if (!search(own, &n, low, high, &period) || !settle_all(own, n, period, &l) ||
	    !settle_all(own, n, choose_multiple(own, n, &l, low, high), &l))
		return false;
	fit.inliers = hits(own, n, l.a, l.b, 5 * l.scale);
	/* a uniform phase has a deviation of 0.37 by MAD */
	if (fit.inliers * 2 <= n || l.scale > NOISE_MAX * l.b)
		return false;
	fit.outliers = n - fit.inliers;
	fit.period = l.b;
	fit.se = l.b_se;
	fit.noise = l.scale;
	fit.coherence = coherence(own, n, 1 / l.b, NULL);
	fit.t0 = start + l.a + l.b * rint((own[n / 2] - l.a) / l.b);
	*ret = fit;
	return true;
}
