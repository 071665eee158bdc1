/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From samples to the level of each position, with honest intervals.
 *
 * Model: log(ns per byte) of a sample = level of its position + noise. Since every position is visited in an upward, a
 * downward and a shuffled pass, a drift in time falls out of the levels; least squares within positions gives it apart.
 * The scatter that is left within positions gives the noise: pooled over all positions of a class (short samples, long
 * samples), so that three samples at a place are enough for an interval.
 *
 * A sample is set aside that is six deviations off the others at its position, and more than surfaces differ, if most
 * others there agree. The deviation is robust, from the differences of pairs: the host or the disk stood still.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/without.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define MIXED_LEAST 0.01                  /* relative: less is not an edge in a place (a choice) */
#define DRIFT_SURE  (1.0 - 1.0 / 40000.0) /* 1 in 20000 by chance, either way; and it is looked for in every run */
#define READ_PART_MAX                                                                                               \
	0.95 /* of what lies between its first and last byte: the correction for a finite population ends here, for \
	        places are not drawn like balls */
#define NOISE_DF_MIN 6.0 /* degrees of freedom that a common noise needs: t is 2.4 there */
#define NOISE_F                                                                                               \
	2.8 /* F test: 1 + this / sqrt(df) is about the 95 % point, for many degrees of freedom of the others \
	     */

void zone_levels_done(struct zone_levels *lv)
{
	free(lv->marked.v);
	free(lv->v);
	*lv = (struct zone_levels){ 0 };
}

/* The samples of each position, in order of time, one position after the other. */
struct groups {
	struct zone_sample **s;
	size_t *first; /* npositions + 1 */
};

static void groups_done(struct groups *g)
{
	free(g->s);
	free(g->first);
}

static void groups_make(const struct zone_samples *samples, size_t npositions, struct groups *g)
{
	cleanup_free size_t *at = xcalloc(npositions + 1, sizeof(*at));

	g->s = xcalloc(samples->n + 1, sizeof(struct zone_sample *));
	g->first = xcalloc(npositions + 1, sizeof(*g->first));
	for (size_t i = 0; i < samples->n; i++)
		if (zone_is_usable(&samples->v[i]))
			g->first[samples->v[i].position + 1]++;
	for (size_t p = 0; p < npositions; p++) {
		g->first[p + 1] += g->first[p];
		at[p] = g->first[p];
	}
	for (size_t i = 0; i < samples->n; i++)
		if (zone_is_usable(&samples->v[i]))
			g->s[at[samples->v[i].position]++] = &samples->v[i];
}

static double group_median(const struct groups *g, size_t p)
{
	double x[64];
	size_t n = 0;

	for (size_t i = g->first[p]; i < g->first[p + 1] && n < ARRAY_LEN(x); i++)
		x[n++] = g->s[i]->clean_y;
	return stats_median(x, n);
}

/* Deviation of one sample, from differences of pairs: what lies apart now and then does not move it. */
static double robust_sigma(const struct groups *g, const struct zone_layout *l, enum zone_class class)
{
	cleanup_free double *d = xcalloc(g->first[l->npositions] + 1, sizeof(*d));
	size_t n = 0;

	for (size_t p = 0; p < l->npositions; p++) {
		if (class != ZONE_CLASSES && l->positions[p].class != class)
			continue;
		for (size_t i = g->first[p] + 1; i < g->first[p + 1]; i++)
			d[n++] = fabs(g->s[i]->clean_y - g->s[i - 1]->clean_y) / sqrt(2.0);
	}
	return (double)n < NOISE_DF_MIN ? (double)NAN : 1.4826 * stats_median(d, n);
}

static void mark_outliers(const struct groups *g, const struct zone_layout *l, const double *sigma,
                          struct zone_levels *lv)
{
	for (size_t p = 0; p < l->npositions; p++) {
		size_t n = g->first[p + 1] - g->first[p], far = 0;
		double m = group_median(g, p), s = sigma[l->positions[p].class],
		       noise = isnan(s) ? 0.0 : ZONE_SIGMAS * s;
		double most = fmax(noise, ZONE_DENSITY_MAX) / (n == 2 ? 2.0 : 1.0);

		if (n < 2 || lv->v[p].loses_itself)
			continue;
		for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
			double off = fabs(g->s[i]->clean_y - m);

			g->s[i]->is_outlier = off > most && !WITHOUT("outliers");
			lv->v[p].is_mixed |= off <= most && off > fmax(noise, MIXED_LEAST);
			far += g->s[i]->is_outlier;
		}
		if (far * 3 <= n)
			continue;
		/* No majority: they all stand until more samples decide. */
		for (size_t i = g->first[p]; i < g->first[p + 1]; i++)
			g->s[i]->is_outlier = false;
		lv->v[p].wants_more = lv->v[p].is_mixed = true;
	}
}

/* ---- levels ---- */

struct sums {
	double n, y, t;
};

static struct sums sums_of(const struct groups *g, size_t p)
{
	struct sums s = { 0 };

	for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
		if (g->s[i]->is_outlier)
			continue;
		s.n += 1.0;
		s.y += g->s[i]->clean_y;
		s.t += g->s[i]->at_s;
	}
	if (s.n > 0.0) {
		s.y /= s.n;
		s.t /= s.n;
	}
	return s;
}

/* Does the scatter of its samples show noise: neither an edge lies in it, nor what goes wrong there alone? */
static bool is_plain(const struct zone_level *v)
{
	return !v->is_mixed && !v->loses_itself;
}

/*
 * Standard error of the slope of y on time within positions, from how stretches of time differ (White 1980, by
 * clusters): noise that lasts for a while is worth less than its number of samples. A stretch that has much weight
 * pulls the slope towards itself, and its residuals are too small by that (MacKinnon and White 1985). *ret_df: as many
 * stretches of equal weight.
 */
static double drift_se(const struct groups *g, const struct zone_layout *l, const struct zone_levels *lv, double slope,
                       double sxx, double *ret_df)
{
	double score[ZONE_TIME_BLOCKS] = { 0 }, weight[ZONE_TIME_BLOCKS] = { 0 }, first = INFINITY, last = -INFINITY;
	double scores = 0.0, weights = 0.0;

	for (size_t i = 0; i < g->first[l->npositions]; i++) {
		first = fmin(first, g->s[i]->at_s);
		last = fmax(last, g->s[i]->at_s);
	}
	for (size_t p = 0; p < l->npositions; p++) {
		struct sums s = sums_of(g, p);

		for (size_t i = g->first[p]; i < g->first[p + 1] && s.n >= 2.0 && is_plain(&lv->v[p]); i++) {
			double dt = g->s[i]->at_s - s.t;
			size_t b = zone_time_block(g->s[i]->at_s, first, last);

			if (g->s[i]->is_outlier)
				continue;
			score[b] += dt * (g->s[i]->clean_y - s.y - slope * dt);
			weight[b] += dt * dt / sxx;
		}
	}
	for (size_t b = 0; b < ZONE_TIME_BLOCKS; b++) {
		scores += pow(score[b] / fmax(1.0 - weight[b], 0.1), 2.0);
		weights += weight[b] * weight[b];
	}
	*ret_df = 1.0 / weights;
	return sqrt(scores) / sxx;
}

/* Regression of y on time within positions; positions on an edge would spoil it. */
static void fit_drift_within(const struct groups *g, const struct zone_layout *l, struct zone_levels *lv)
{
	double sxx = 0.0, sxy = 0.0, syy = 0.0, df = -1.0, se, stretches;

	lv->drift_ci = (struct interval){ NAN, NAN };
	for (size_t p = 0; p < l->npositions; p++) {
		struct sums s = sums_of(g, p);

		if (s.n < 2.0 || !is_plain(&lv->v[p]))
			continue;
		df += s.n - 1.0;
		for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
			double dt = g->s[i]->at_s - s.t;

			if (g->s[i]->is_outlier)
				continue;
			sxx += dt * dt;
			sxy += dt * (g->s[i]->clean_y - s.y);
			syy += (g->s[i]->clean_y - s.y) * (g->s[i]->clean_y - s.y);
		}
	}
	if (df < 4.0 || !(sxx > 0.0))
		return;
	lv->drift_per_s = sxy / sxx;
	se = fmax(drift_se(g, l, lv, lv->drift_per_s, sxx, &stretches),
	          sqrt(fmax(syy - sxy * sxy / sxx, 0.0) / df / sxx));
	df = fmin(df, fmax(stretches, 1.0));
	lv->drift_ci.low = lv->drift_per_s - stats_t_975(df) * se;
	lv->drift_ci.high = lv->drift_per_s + stats_t_975(df) * se;
	lv->has_drift = se > 0.0 && stats_t_cdf(fabs(lv->drift_per_s) / se, df) > DRIFT_SURE;
}

/* Time lost in the samples set aside, as part of all. */
static void count_outliers(const struct groups *g, const struct zone_layout *l, struct zone_levels *lv)
{
	double lost = 0.0, squares = 0.0, all = 0.0;

	for (size_t p = 0; p < l->npositions; p++) {
		struct sums s = sums_of(g, p);

		for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
			const struct zone_sample *z = g->s[i];
			double more = z->is_outlier ? z->elapsed_ns * (1.0 - exp(s.y - z->clean_y)) : 0.0;

			lv->samples++;
			lv->outliers += z->is_outlier;
			lost += more;
			squares += more * more;
			all += z->elapsed_ns - more;
		}
	}
	lv->lost_ratio = fmax(lost, 0.0) / fmax(all, 1.0);
	lv->lost_var = squares / fmax(all, 1.0) / fmax(all, 1.0);
}

struct scatter { /* of samples about the mean of their position */
	double ss, df;
	double said; /* variance that the samples say of themselves, times df */
};

static struct scatter scatter_at(const struct groups *g, size_t p)
{
	struct sums s = sums_of(g, p);
	struct scatter sc = { .df = fmax(s.n - 1.0, 0.0) };

	for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
		const struct zone_sample *z = g->s[i];
		double r = z->clean_y - s.y;

		if (z->is_outlier)
			continue;
		sc.ss += r * r;
		sc.said += z->se_ratio * z->se_ratio * sc.df / s.n;
	}
	return sc;
}

static void scatter_add(struct scatter *to, const struct scatter *more)
{
	to->ss += more->ss;
	to->df += more->df;
	to->said += more->said;
}

/*
 * Variance of a sample that says `said` of itself, by the scatter of others. Noise is larger where a sample has fewer
 * tracks, and what samples say goes with it; what they scatter beyond that is of places that differ, everywhere alike.
 * Less scatter than said is partly chance: what was said counts as one degree of freedom there.
 */
static double variance_by(const struct scatter *sc, double said)
{
	if (sc->ss > sc->said)
		return said + (sc->ss - sc->said) / sc->df;
	return sc->said > 0.0 ? said * (sc->ss / sc->said * sc->df + 1.0) / (sc->df + 1.0) : 0.0;
}

/* F test: does it scatter more than the others let expect? An edge between two zones, or two surfaces of different
 * density, lie in it. */
static bool is_odd(const struct scatter *own, const struct scatter *others)
{
	return own->df >= 1.0 && others->df >= NOISE_DF_MIN &&
	       own->ss / own->df > (1.0 + NOISE_F / sqrt(own->df)) * variance_by(others, own->said / own->df);
}

/* The noise of a class; where too few samples were repeated, what they say of themselves. */
static void find_class_noise(const struct groups *g, const struct zone_layout *l, enum zone_class c,
                             const struct scatter *all, struct zone_levels *lv)
{
	double said = 0.0, n = 0.0;

	for (size_t i = 0; i < g->first[l->npositions]; i++) {
		if (g->s[i]->is_outlier || l->positions[g->s[i]->position].class != c)
			continue;
		said += g->s[i]->se_ratio * g->s[i]->se_ratio;
		n++;
	}
	lv->sigma[c] = all->df >= 3.0 ? sqrt(all->ss / all->df) : sqrt(said / n); /* NaN: there are none */
	lv->df[c] = all->df >= 3.0 ? all->df : fmax(n, 3.0);
}

/* The noise of each class, and at each position: that of its class, of an odd position its own. */
static void find_noise(const struct groups *g, const struct zone_layout *l, struct zone_levels *lv)
{
	struct scatter all[ZONE_CLASSES] = { 0 };

	for (size_t p = 0; p < l->npositions; p++) {
		struct scatter own = scatter_at(g, p);

		if (is_plain(&lv->v[p]))
			scatter_add(&all[l->positions[p].class], &own);
	}
	for (int c = 0; c < ZONE_CLASSES; c++)
		find_class_noise(g, l, (enum zone_class)c, &all[c], lv);
	for (size_t p = 0; p < l->npositions; p++) {
		struct zone_level *v = &lv->v[p];
		const struct scatter *of = &all[l->positions[p].class];
		struct scatter own = scatter_at(g, p), others = *of;
		double said = own.df > 0.0 ? own.said / own.df : 0.0;

		if (is_plain(v)) {
			others.ss -= own.ss;
			others.df -= own.df;
			others.said -= own.said;
		}
		v->sigma = lv->sigma[l->positions[p].class];
		v->df = lv->df[l->positions[p].class];
		if (is_odd(&own, &others) ||
		    (own.df >= 2.0 && of->df < NOISE_DF_MIN)) { /* two samples alone say next to nothing */
			v->sigma = sqrt(variance_by(&own, said));
			v->df = own.df;
		} else if (own.df >= 1.0 && of->df >= NOISE_DF_MIN) {
			v->sigma = sqrt(variance_by(of, said));
			v->df = of->df;
		}
	}
}

/*
 * 95 % half of a level of n samples; own_var: what they say of their own errors. Scatter beyond that is of places that
 * differ, and of those only what was not read is unknown (correction for a finite population, Cochran 1977).
 */
static double half_of(const struct zone_level *v, double n, double own_var)
{
	double part = v->moved_bytes / (double)(v->end_bytes - v->first_bytes), var = v->sigma * v->sigma;

	if (var > own_var)
		var = own_var + (var - own_var) * (1.0 - fmin(part, READ_PART_MAX));
	return stats_t_975(v->df) * sqrt(var / n);
}

static void fill_levels(const struct groups *g, const struct zone_layout *l, struct zone_levels *lv)
{
	for (size_t p = 0; p < l->npositions; p++) {
		struct zone_level *v = &lv->v[p];
		double own = 0.0, sum = 0.0;

		v->first_bytes = UINT64_MAX;
		v->y = v->half = NAN;
		for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
			struct zone_sample *z = g->s[i];

			v->outliers += z->is_outlier;
			if (z->is_outlier)
				continue;
			v->n++;
			z->y = v->loses_itself ? log(z->ns_per_byte) : z->clean_y + log1p(v->loss);
			own += z->se_ratio * z->se_ratio;
			sum += exp(z->y);
			v->moved_bytes += z->moved_bytes;
			v->elapsed_ns += z->elapsed_ns;
			v->first_bytes = z->from_bytes < v->first_bytes ? z->from_bytes : v->first_bytes;
			v->end_bytes = z->end_bytes > v->end_bytes ? z->end_bytes : v->end_bytes;
		}
		if (!v->n)
			continue;
		v->y = log(sum / (double)v->n); /* of times, not of their logarithms: samples of surfaces that differ by
		                                   a tenth lie 0.3 % apart there */
		v->noise_half = half_of(v, (double)v->n, own / (double)v->n);
		v->half = hypot(v->noise_half, 1.96 * sqrt(v->loss_var));
	}
}

void zone_levels_fit(const struct zone_samples *measured, const struct zone_layout *l, struct zone_levels *ret)
{
	struct zone_levels lv = { .n = l->npositions, .marked = { .n = measured->n } };
	struct zone_sample *v = lv.marked.v = xcalloc(measured->n + 1, sizeof(*v));
	struct groups g = { 0 };
	double sigma[ZONE_CLASSES];

	for (size_t i = 0; i < measured->n; i++) {
		v[i] = measured->v[i];
		v[i].y = NAN;
		v[i].clean_y = v[i].is_good ? zone_clean_y(l, &v[i]) : (double)NAN;
	}
	lv.v = xcalloc(l->npositions, sizeof(*lv.v));
	zone_regime_find(&lv.marked, l, &lv.regime);
	groups_make(&lv.marked, l->npositions, &g);
	zone_losses_find(l, &lv);
	for (int c = 0; c < ZONE_CLASSES; c++) {
		sigma[c] = robust_sigma(&g, l, (enum zone_class)c);
		sigma[c] = isnan(sigma[c]) ? robust_sigma(&g, l, ZONE_CLASSES) : sigma[c];
	}
	mark_outliers(&g, l, sigma, &lv);
	fit_drift_within(&g, l, &lv);
	find_noise(&g, l, &lv);
	count_outliers(&g, l, &lv);
	fill_levels(&g, l, &lv);
	for (size_t i = 0; i < measured->n; i++) {
		if (v[i].kind == SAMPLE_EDGE && v[i].is_good && !v[i].is_burst)
			v[i].y = log(v[i].ns_per_byte);
		v[i].clean_y += log1p(lv.loss);
	}
	*ret = lv;
	groups_done(&g);
}
