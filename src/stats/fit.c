/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Straight lines, and the curve of constant linear density, which is a straight line in the square of the rate. */
#include "stats/stats.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

static bool is_usable(double x, double y, double w)
{
	return isfinite(x) && isfinite(y) && isfinite(w) && w > 0;
}

/* Textbook weighted least squares, centred first so that large x cost no digits. Weights are relative. */
bool fit_line(const double *x, const double *y, const double *w, size_t n, struct line *ret)
{
	double sw = 0, mx = 0, my = 0, sxx = 0, sxy = 0, rss = 0, s2;
	struct line l;
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		double wi = w ? w[i] : 1;

		if (!is_usable(x[i], y[i], wi))
			continue;
		used++;
		sw += wi;
		mx += wi * x[i];
		my += wi * y[i];
	}
	if (used < 2 || !isfinite(sw))
		return false;
	mx /= sw;
	my /= sw;
	for (size_t i = 0; i < n; i++) {
		double wi = w ? w[i] : 1;

		if (!is_usable(x[i], y[i], wi))
			continue;
		sxx += wi * (x[i] - mx) * (x[i] - mx);
		sxy += wi * (x[i] - mx) * (y[i] - my);
	}
	/* all x equal but for rounding */
	if (!(sxx > sw * (mx * mx * 1e-28)) || !isfinite(sxx) || !isfinite(sxy))
		return false;
	l.b = sxy / sxx;
	l.a = my - l.b * mx;
	for (size_t i = 0; i < n; i++) {
		double wi = w ? w[i] : 1, r;

		if (!is_usable(x[i], y[i], wi))
			continue;
		r = y[i] - my - l.b * (x[i] - mx);
		rss += wi * r * r;
	}
	l.rms = sqrt(rss / sw);
	s2 = used > 2 ? rss / (double)(used - 2) : (double)NAN;
	l.b_se = sqrt(s2 / sxx);
	l.a_se = sqrt(s2 * (1 / sw + mx * mx / sxx));
	*ret = l;
	return true;
}

double density_rate(const struct density_fit *f, double x)
{
	double part = 1 - x * (1 - f->r * f->r);

	return f->r0 * sqrt(part > 0 ? part : 0);
}

/*
 * rate^2 = A + B x with A = r0^2, B = -r0^2 (1 - r^2). A relative error e of the rate is 2 e rate^2 of the square, so
 * weights 1 / model^4 make residuals relative; Tukey's biweight (tuning 4.685, Beaton and Tukey 1974) with the scale
 * by MAD takes the weight from slow regions. Reweighted until still.
 */
bool fit_density(const double *x, const double *rate, size_t n, struct density_fit *ret)
{
	cleanup_free double *xs = xcalloc(4 * n, sizeof(*xs));
	double *sq = xs + n, *w = sq + n, *rel = w + n, scale, sum = 0;
	struct density_fit f;
	struct line l;
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_usable(x[i], rate[i], rate[i]))
			continue;
		xs[used] = x[i];
		sq[used] = rate[i] * rate[i];
		w[used++] = 1;
	}
	for (int round = 0; round < 30; round++) {
		if (!fit_line(xs, sq, w, used, &l) || !(l.a > 0))
			return false;
		f.r0 = sqrt(l.a);
		f.r = sqrt(fmax(0, 1 + l.b / l.a));
		for (size_t i = 0; i < used; i++)
			rel[i] = fabs(sqrt(sq[i]) / fmax(density_rate(&f, xs[i]), 1e-9 * f.r0) - 1);
		stats_sort(rel, used);
		scale = fmax(1.4826 * stats_quantile_sorted(rel, used, 0.5), 1e-9);
		for (size_t i = 0; i < used; i++) {
			double model = fmax(density_rate(&f, xs[i]), 1e-3 * f.r0);
			double u = (sqrt(sq[i]) / model - 1) / (4.685 * scale), v = 1 - u * u;

			/* the first rounds find the curve with Huber's gentler weights */
			v = round < 5 ? fmin(1, 0.3 / fmax(fabs(u), 1e-12)) : fabs(u) < 1 ? v * v : 0;
			w[i] = v / (model * model * model * model) * (f.r0 * f.r0 * f.r0 * f.r0);
		}
	}
	for (size_t i = 0; i < used; i++) {
		double e = sqrt(sq[i]) / fmax(density_rate(&f, xs[i]), 1e-9 * f.r0) - 1;

		sum += e * e;
	}
	f.rms_ratio = sqrt(sum / (double)used);
	*ret = f;
	return true;
}
