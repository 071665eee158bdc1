/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From samples to the level of each position, apart from drift in time, with honest intervals.
 *
 * Model: log(ns per byte) of a sample = level of its position + drift x (time - middle) + noise. Since every position
 * is visited in an upward, a downward and a shuffled pass, time and place are nearly orthogonal; least squares within
 * positions gives the drift, the scatter that is left within positions gives the noise: pooled over all positions of a
 * class (short samples, long samples), so that three samples at a place are enough for an interval.
 *
 * Outliers: a sample that stands out from the others at its position by six deviations (robust, from the differences of
 * pairs) is set aside if most others there agree. It is not forgotten: the time it lost, as part of all time, is added
 * to every level (with its variance, that of a compound Poisson process), for a disk that loses a revolution now and
 * then is slower by that everywhere. Samples on the two sides of an edge between recording zones differ, too; those lie
 * between the levels of the neighbours, and are no outliers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/zones/analysis.h"

#define OUTLIER_SIGMAS 6.0  /* of a robust deviation from few pairs, which is off by half itself */
#define OUTLIER_MIN    0.01 /* relative; less is not worth to be called one */
#define UNEVEN_TIMES \
	1.7            /* the usual unevenness: what a lost revolution does to a sample of sixty (trial: wild disks) */
#define WAITS_PART 0.5 /* of the time that a sample took longer, that its waits must hold: the larger half */
#define AGAIN_PART 0.5 /* of what a sample is slower, that its bytes are slower when read again: the larger half */
#define DRIFT_SURE (1.0 - 1.0 / 40000.0) /* 1 in 20000 by chance, either way; and it is looked for in every run */
#define READ_PART_MAX                                                                                               \
	0.95 /* of what lies between its first and last byte: the correction for a finite population ends here, for \
	        places are not drawn like balls */
#define PAIRS_MIN        6   /* for a median of differences */
#define NOISE_NEIGHBOURS 8   /* positions on each side that noise is taken from: an eighth of the disk (a choice) */
#define NOISE_DF_MIN     6.0 /* degrees of freedom that a common noise needs: t is 2.4 there */
#define SAID_DF                                                                                               \
	1.0 /* that the errors samples say of themselves are worth: they know nothing of other tracks (trial: \
	       coverage) */
#define NOISE_F                                                                                               \
	2.8 /* F test: 1 + this / sqrt(df) is about the 95 % point, for many degrees of freedom of the others \
	     */

void zone_levels_done(struct zone_levels *lv)
{
	free(lv->v);
	lv->v = NULL;
	lv->n = 0;
}

/* Without lost revolutions: those are added for all (losses.c). */
static double raw_y(const struct zone_sample *s)
{
	return s->clean_y;
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

static void groups_make(struct zone_samples *samples, size_t npositions, struct groups *g)
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
		x[n++] = raw_y(g->s[i]);
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
			d[n++] = fabs(raw_y(g->s[i]) - raw_y(g->s[i - 1])) / sqrt(2.0);
	}
	return n < PAIRS_MIN ? (double)NAN : 1.4826 * stats_median(d, n);
}

/* Is y explained by an edge between zones: between the levels left and right of the position? */
static bool is_between(const struct groups *g, size_t npositions, size_t p, double y, double tolerance)
{
	double low = group_median(g, p), high = low;

	for (int side = -1; side <= 1; side += 2) {
		size_t q = p;
		double m;

		do
			q = q + (size_t)side;
		while (q < npositions && g->first[q] == g->first[q + 1]);
		if (q >= npositions)
			continue;
		m = group_median(g, q);
		low = fmin(low, m);
		high = fmax(high, m);
	}
	return high - low > tolerance / 2 && y > low - tolerance / 2 && y < high + tolerance / 2;
}

/* Deviation of a sample's completions from a straight line, up to a factor that all samples have in common. */
static double unevenness(const struct zone_sample *s)
{
	return s->se_ratio * s->elapsed_ns * sqrt(s->moved_bytes);
}

/*
 * Is the sample off by more than the tolerance, and for a reason that lies in time? A lost revolution or a stall shows
 * inside the sample, as unevenness, and as waits that hold the time that it took longer; a sample that is only a little
 * off belongs to the place: it lies on a surface of another density, or partly so.
 */
static bool is_disturbed(const struct groups *g, size_t p, const struct zone_sample *s, double off, double tolerance,
                         double rev_ns)
{
	double x[64];
	size_t n = 0;

	if (fabs(off) <= tolerance)
		return false;
	if (fabs(off) > ZONE_DENSITY_MAX)
		return true;
	if (off > 0.0 && s->wait_revs * rev_ns < WAITS_PART * s->elapsed_ns * (1.0 - exp(-off)))
		return false;
	for (size_t i = g->first[p]; i < g->first[p + 1] && n < ARRAY_LEN(x); i++)
		x[n++] = unevenness(g->s[i]);
	return unevenness(s) > UNEVEN_TIMES * stats_median(x, n);
}

/* Is a sample slower than y by more than the tolerance, and mostly for what lies there, or for what happened then? The
 * bytes read again tell. */
enum recheck { RECHECK_NONE, RECHECK_OF_PLACE, RECHECK_OF_TIME };

static enum recheck recheck(const struct zone_samples *samples, size_t i, double y, double tolerance)
{
	enum recheck said = RECHECK_NONE;
	/* A revolution that is lost again is no stall of sixty. */
	double most = fmax(tolerance, AGAIN_PART * (log(samples->v[i].ns_per_byte) - y));

	for (size_t k = 0; k < samples->n; k++) {
		const struct zone_sample *s = &samples->v[k];
		double off;

		if (s->kind != SAMPLE_CHECK || s->check_of != i || !s->is_good || s->is_disturbed)
			continue;
		off = log(s->ns_per_byte) - y;
		said = off > most ? RECHECK_OF_PLACE : off > -tolerance ? RECHECK_OF_TIME : said; /* faster: cached */
	}
	return said;
}

static void mark_outliers(const struct groups *g, const struct zone_layout *l, const struct zone_samples *samples,
                          const double *sigma, struct zone_levels *lv)
{
	double rev_ns = zone_rev_ns(l);

	for (size_t p = 0; p < l->npositions; p++) {
		size_t n = g->first[p + 1] - g->first[p], far = 0;
		double m = group_median(g, p), s = sigma[l->positions[p].class];
		double tolerance = fmax(OUTLIER_SIGMAS * (isnan(s) ? 0.0 : s), OUTLIER_MIN);

		if (n < 2 || lv->v[p].loses_itself)
			continue;
		for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
			double off = raw_y(g->s[i]) - m, most = n == 2 ? tolerance / 2 : tolerance;
			bool is_edge = fabs(off) > most && is_between(g, l->npositions, p, raw_y(g->s[i]), tolerance);

			lv->v[p].is_mixed |= is_edge;
			g->s[i]->is_outlier = !is_edge && is_disturbed(g, p, g->s[i], off, most, rev_ns);
			if (g->s[i]->is_outlier && off > 0.0 && l->positions[p].class == ZONE_LONG) {
				enum recheck said = recheck(samples, (size_t)(g->s[i] - samples->v), m, most);

				g->s[i]->is_outlier = said != RECHECK_OF_PLACE;
				lv->v[p].unchecked += said == RECHECK_NONE;
			}
			far += g->s[i]->is_outlier;
		}
		if (far * 3 <= n)
			continue;
		/* No majority: they all stand until more samples decide. */
		for (size_t i = g->first[p]; i < g->first[p + 1]; i++)
			g->s[i]->is_outlier = false;
		lv->v[p].wants_more = true;
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
		s.y += raw_y(g->s[i]);
		s.t += g->s[i]->at_s;
	}
	if (s.n > 0.0) {
		s.y /= s.n;
		s.t /= s.n;
	}
	return s;
}

/* Does the scatter of its samples tell of noise: neither an edge lies in it, nor what goes wrong there alone? */
static bool is_plain(const struct zone_level *v)
{
	return !v->is_mixed && !v->loses_itself;
}

struct cluster { /* of samples; or the sum over clusters of the squares of both */
	double score, weight;
};

static void add_cluster(struct cluster *sum, const struct cluster *c)
{
	double score = c->score / fmax(1.0 - c->weight, 0.1);

	sum->score += score * score;
	sum->weight += c->weight * c->weight;
}

/*
 * Standard error of the slope as the positions themselves differ in it (White 1980, by clusters): where some lie over
 * surfaces that differ by a tenth they decide it, and the scatter of all says too little. Or as stretches of time
 * differ, for noise that lasts for a while says less than it has samples. A cluster that has much weight pulls the
 * slope towards itself, and its residuals are too small by that (MacKinnon and White 1985). *ret_df: as many clusters
 * of equal weight.
 */
static double drift_se_by_clusters(const struct groups *g, const struct zone_layout *l, const struct zone_levels *lv,
                                   double slope, double sxx, double *ret_df)
{
	struct cluster block[ZONE_TIME_BLOCKS] = { 0 }, places = { 0 }, blocks = { 0 };
	double first = INFINITY, last = -INFINITY;

	for (size_t i = 0; i < g->first[l->npositions]; i++) {
		first = fmin(first, g->s[i]->at_s);
		last = fmax(last, g->s[i]->at_s);
	}
	for (size_t p = 0; p < l->npositions; p++) {
		struct sums s = sums_of(g, p);
		struct cluster own = { 0 };

		if (s.n < 2.0 || !is_plain(&lv->v[p]))
			continue;
		for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
			double dt = g->s[i]->at_s - s.t;
			struct cluster *b = &block[zone_time_block(g->s[i]->at_s, first, last)];
			double score = dt * (raw_y(g->s[i]) - s.y - slope * dt);

			if (g->s[i]->is_outlier)
				continue;
			own.score += score;
			own.weight += dt * dt / sxx;
			b->score += score;
			b->weight += dt * dt / sxx;
		}
		add_cluster(&places, &own);
	}
	for (size_t b = 0; b < ZONE_TIME_BLOCKS; b++)
		add_cluster(&blocks, &block[b]);
	if (blocks.score > places.score)
		places = blocks;
	*ret_df = 1.0 / places.weight;
	return sqrt(places.score) / sxx;
}

/* Regression of y on time within positions; positions on an edge would spoil it. */
static void fit_drift_within(const struct groups *g, const struct zone_layout *l, struct zone_levels *lv)
{
	double sxx = 0.0, sxy = 0.0, ss = 0.0, df = -1.0, t = 0.0, n = 0.0, se, places;

	for (size_t p = 0; p < l->npositions; p++) {
		struct sums s = sums_of(g, p);

		n += s.n;
		t += s.n * s.t;
		if (s.n < 2.0 || !is_plain(&lv->v[p]))
			continue;
		df += s.n - 1.0;
		for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
			double dy = raw_y(g->s[i]) - s.y, dt = g->s[i]->at_s - s.t;

			if (g->s[i]->is_outlier)
				continue;
			sxx += dt * dt;
			sxy += dt * dy;
			ss += dy * dy;
		}
	}
	lv->mid_s = n > 0.0 ? t / n : 0.0;
	lv->drift_per_s = lv->drift_fit_per_s = 0.0;
	lv->drift_ci = (struct interval){ NAN, NAN };
	if (df < 4.0 || !(sxx > 0.0))
		return;
	se = sqrt(fmax(ss - sxy * sxy / sxx, 0.0) / df / sxx);
	lv->drift_fit_per_s = sxy / sxx;
	se = fmax(se, drift_se_by_clusters(g, l, lv, lv->drift_fit_per_s, sxx, &places));
	df = fmin(df, fmax(places, 1.0));
	lv->drift_ci.low = lv->drift_fit_per_s - stats_t_975(df) * se;
	lv->drift_ci.high = lv->drift_fit_per_s + stats_t_975(df) * se;
	/* Taken out only where it is beyond doubt: places that differ at random look like a little drift. */
	if (se > 0.0 && stats_t_cdf(fabs(lv->drift_fit_per_s) / se, df) > DRIFT_SURE)
		lv->drift_per_s = lv->drift_fit_per_s;
}

/* Scatter of the classes; where too few samples were repeated, what the samples say of themselves. */
static void find_sigma(const struct groups *g, const struct zone_layout *l, struct zone_levels *lv)
{
	double own[ZONE_CLASSES] = { 0 }, nown[ZONE_CLASSES] = { 0 }, ss[ZONE_CLASSES] = { 0 };

	for (size_t p = 0; p < l->npositions; p++) {
		enum zone_class c = l->positions[p].class;
		struct sums s = sums_of(g, p);

		for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
			const struct zone_sample *z = g->s[i];
			double r = raw_y(z) - s.y - lv->drift_per_s * (z->at_s - s.t);

			if (z->is_outlier)
				continue;
			own[c] += z->se_ratio * z->se_ratio;
			nown[c] += 1.0;
			ss[c] += is_plain(&lv->v[p]) ? r * r : 0.0;
		}
		if (s.n > 1.0 && is_plain(&lv->v[p]))
			lv->df[c] += s.n - 1.0;
	}
	for (int c = 0; c < ZONE_CLASSES; c++) {
		if (lv->df[c] >= 3.0) {
			lv->sigma[c] = sqrt(ss[c] / lv->df[c]);
		} else {
			lv->sigma[c] = nown[c] > 0.0 ? sqrt(own[c] / nown[c]) : (double)NAN;
			lv->df[c] = fmax(nown[c], 3.0);
		}
	}
}

/*
 * Time lost in the samples set aside, as part of all time. Fast ones count against slow ones: where both are found the
 * disk is not losing time, its places differ.
 */
static void find_excess(const struct groups *g, const struct zone_layout *l, struct zone_levels *lv)
{
	double lost = 0.0, lost2 = 0.0, all = 0.0;

	for (size_t p = 0; p < l->npositions; p++) {
		struct sums s = sums_of(g, p);

		for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
			const struct zone_sample *z = g->s[i];
			double more = z->is_outlier ? z->elapsed_ns * (1.0 - exp(s.y - raw_y(z))) : 0.0;

			lv->samples++;
			lv->outliers += z->is_outlier;
			all += z->elapsed_ns - more;
			lost += more;
			lost2 += more * more;
		}
	}
	lv->lost_ratio = all > 0.0 ? fmax(lost, 0.0) / all : 0.0;
	lv->excess = all > 0.0 ? fmax(lost, 0.0) / all : 0.0;
	lv->excess_var = all > 0.0 ? lost2 / all / all : 0.0;
}

struct scatter { /* of samples about the mean of their position */
	double ss, df;
	double said; /* variance that the samples say of themselves, times df */
};

static struct scatter scatter_at(const struct groups *g, size_t p, double drift_per_s)
{
	struct sums s = sums_of(g, p);
	struct scatter sc = { .df = fmax(s.n - 1.0, 0.0) };

	for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
		const struct zone_sample *z = g->s[i];
		double r = raw_y(z) - s.y - drift_per_s * (z->at_s - s.t);

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
 * Less scatter than said is partly chance: what was said counts as SAID_DF degrees of freedom there.
 */
static double variance_by(const struct scatter *sc, double said)
{
	if (sc->ss > sc->said)
		return said + (sc->ss - sc->said) / sc->df;
	return sc->said > 0.0 ? said * (sc->ss / sc->said * sc->df + SAID_DF) / (sc->df + SAID_DF) : 0.0;
}

/* Scatter at the other positions that may speak for this one: not on an edge, near by, or places of the figures as this
 * one. */
static struct scatter scatter_beside(const struct groups *g, const struct zone_layout *l, const struct zone_levels *lv,
                                     size_t p)
{
	enum zone_class c = l->positions[p].class;
	struct scatter all = { 0 };

	for (size_t q = 0; q < l->npositions; q++) {
		struct scatter other;

		if (q == p || l->positions[q].class != c || !is_plain(&lv->v[q]) ||
		    (c == ZONE_SHORT && (q > p ? q - p : p - q) > NOISE_NEIGHBOURS))
			continue;
		other = scatter_at(g, q, lv->drift_per_s);
		scatter_add(&all, &other);
	}
	return all;
}

/* F test: does it scatter more than the others let expect? An edge between two zones, or two surfaces of different
 * density, lie in it. */
static bool is_odd(const struct scatter *own, const struct scatter *others)
{
	return own->df >= 1.0 && others->df >= NOISE_DF_MIN &&
	       own->ss / own->df > (1.0 + NOISE_F / sqrt(own->df)) * variance_by(others, own->said / own->df);
}

/*
 * The noise at each position. It is not the same everywhere: the number of tracks in a sample changes along the disk,
 * and so does what chance does to the skews in it. So it comes from the position and its neighbours; from an odd
 * position alone.
 */
static void find_noise(const struct groups *g, const struct zone_layout *l, struct zone_levels *lv)
{
	for (size_t p = 0; p < l->npositions; p++) {
		struct zone_level *v = &lv->v[p];
		struct scatter own = scatter_at(g, p, lv->drift_per_s), all = scatter_beside(g, l, lv, p);
		double said = own.df > 0.0 ? own.said / own.df : 0.0;

		v->sigma = lv->sigma[l->positions[p].class];
		v->df = lv->df[l->positions[p].class];
		if (is_odd(&own, &all)) {
			v->sigma = sqrt(variance_by(&own, said));
			v->df = own.df;
		} else if (own.df >= 1.0 && all.df + own.df >= NOISE_DF_MIN) {
			scatter_add(&all, &own);
			v->sigma = sqrt(variance_by(&all, said));
			v->df = all.df;
		} else if (own.df >= 2.0) { /* two samples alone say next to nothing */
			v->sigma = sqrt(variance_by(&own, said));
			v->df = own.df;
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
	double drift_se = interval_half(lv->drift_ci);

	if (isnan(drift_se) || lv->drift_per_s == 0.0)
		drift_se = 0.0;
	for (size_t p = 0; p < l->npositions; p++) {
		struct zone_level *v = &lv->v[p];
		struct sums s = sums_of(g, p);
		double along, own = 0.0, sum = 0.0, all = 0.0, log_excess = log1p(lv->excess) + log1p(v->loss);

		v->n = (size_t)s.n;
		v->first_bytes = UINT64_MAX;
		v->y = v->half = NAN;
		for (size_t i = g->first[p]; i < g->first[p + 1]; i++) {
			struct zone_sample *z = g->s[i];

			double y = raw_y(z) - lv->drift_per_s * (z->at_s - lv->mid_s);

			all += exp(y + (z->is_outlier ? 0.0 : log_excess));
			v->outliers += z->is_outlier;
			if (z->is_outlier)
				continue;
			z->y = y + log_excess;
			if (v->loses_itself)
				z->y += log(z->ns_per_byte) - raw_y(z) - log1p(v->loss);
			own += z->se_ratio * z->se_ratio;
			sum += exp(z->y);
			v->moved_bytes += z->moved_bytes;
			v->elapsed_ns += z->elapsed_ns;
			v->first_bytes = z->from_bytes < v->first_bytes ? z->from_bytes : v->first_bytes;
			v->end_bytes = z->end_bytes > v->end_bytes ? z->end_bytes : v->end_bytes;
		}
		if (!v->n)
			continue;
		v->y = log(sum / s.n); /* of times, not of their logarithms: samples of surfaces that differ by a tenth
		                          lie 0.3 % apart there */
		v->half = half_of(v, s.n, own / s.n);
		along = drift_se * (s.t - lv->mid_s);
		v->noise_half = sqrt(v->half * v->half + along * along);
		v->half = sqrt(v->noise_half * v->noise_half + 1.96 * 1.96 * (lv->excess_var + v->loss_var));
		if (v->unchecked) /* whether they are of the place only reading the same bytes again would tell */
			v->half += fabs(log(all / (s.n + (double)v->outliers)) - v->y);
	}
}

void zone_levels_fit(struct zone_samples *samples, const struct zone_layout *l, struct zone_levels *ret)
{
	struct zone_levels lv = { .n = l->npositions };
	struct groups g = { 0 };
	double sigma[ZONE_CLASSES];

	for (size_t i = 0; i < samples->n; i++) {
		samples->v[i].is_burst = samples->v[i].is_outlier = false;
		samples->v[i].y = NAN;
		samples->v[i].clean_y = samples->v[i].is_good ? zone_clean_y(l, &samples->v[i]) : (double)NAN;
	}
	lv.v = xcalloc(l->npositions, sizeof(*lv.v));
	zone_regime_find(samples, l, &lv.regime);
	groups_make(samples, l->npositions, &g);
	zone_losses_find(samples, NULL, l, &lv);
	lv.rob_sigma = robust_sigma(&g, l, ZONE_CLASSES);
	for (int c = 0; c < ZONE_CLASSES; c++) {
		sigma[c] = robust_sigma(&g, l, (enum zone_class)c);
		sigma[c] = isnan(sigma[c]) ? lv.rob_sigma : sigma[c];
	}
	mark_outliers(&g, l, samples, sigma, &lv);
	fit_drift_within(&g, l, &lv);
	find_sigma(&g, l, &lv);
	find_noise(&g, l, &lv);
	find_excess(&g, l, &lv);
	fill_levels(&g, l, &lv);
	for (size_t i = 0; i < samples->n; i++) {
		struct zone_sample *z = &samples->v[i];
		double drift = lv.drift_per_s * (z->at_s - lv.mid_s);

		if (z->kind == SAMPLE_EDGE && z->is_good && !z->is_burst)
			z->y = log(z->ns_per_byte) - drift;
		z->clean_y += log1p(lv.loss) + log1p(lv.excess) - drift;
	}
	*ret = lv;
	groups_done(&g);
}
