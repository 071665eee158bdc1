/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seek time from access times of one distance. Each is seek + wait for the sector + noise, and the wait is uniform on
 * one revolution, so that the access times fill [s, s + T) with both ends softened by the noise of the arm:
 *
 * f(x | s, sigma) = (Phi((x - s) / sigma) - Phi((x - s - T) / sigma)) / T
 *
 * mixed with a few outliers spread over some revolutions. T is known to parts per million, so the upper end tells as
 * much about s as the lower, and s is known to about T / n, not to T / sqrt(12 n) as by the mean. Likelihood ratios
 * have no chi-square law at such ends; but s is a location, and integrating the likelihood over s with a flat prior
 * gives Pitman's estimate (1939), unbiased and of least variance among those that move with the data, and intervals
 * that cover what they say. sigma and the share of outliers are integrated over too (flat in the logarithm).
 *
 * The other estimate, mean - T / 2, is what others use; it is given beside, and the two are compared as Hausman
 * (1978) does: the variance of their difference is that of the mean less that of the efficient one.
 */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SAMPLES_MIN    5
#define SIGMAS         20
#define SIGMA_LOW      1e-3 /* of the width */
#define SIGMA_HIGH     0.1
#define REACH          6.0 /* sigmas beyond which an end is sharp */
#define OUTLIER_WIDTHS 4.0
#define GRID_MAX       121

static const double shares[] = { 0.003, 0.02, 0.1 }; /* of outliers */

/* The grid closes in on where the likelihood is; the last look is fine. */
static const struct look {
	size_t points, stride; /* every stride-th sigma */
} looks[] = { { 41, 2 }, { 61, 1 } }, last_look = { GRID_MAX, 1 };

/* Normal distribution function in a table: what it is off by (1e-6) is nothing beside the share of outliers. */
#define PHI_STEPS 2048
struct phi {
	double at[PHI_STEPS + 1];
};

struct sample {
	const double *x; /* sorted, divided by the width */
	size_t n;
	const struct phi *phi;
};

static void phi_init(struct phi *phi)
{
	for (size_t i = 0; i <= PHI_STEPS; i++)
		phi->at[i] = stats_normal_cdf(REACH * (2.0 * (double)i / PHI_STEPS - 1));
}

static double phi_at(const struct phi *phi, double z)
{
	double place = (z / REACH + 1) * (PHI_STEPS / 2.0);
	size_t i;

	if (!(place > 0))
		return 0;
	if (place >= PHI_STEPS)
		return 1;
	i = (size_t)place;
	return phi->at[i] + (place - (double)i) * (phi->at[i + 1] - phi->at[i]);
}

static size_t below(const struct sample *sm, double v)
{
	size_t low = 0, high = sm->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (sm->x[mid] < v)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Adds to log_like[] what the points from..to-1 say, which lie near an end. */
static void near_ends(const struct sample *sm, size_t from, size_t to, double s, double sigma, double *log_like)
{
	double product[ARRAY_LEN(shares)] = { 1, 1, 1 };

	for (size_t i = from; i < to; i++) {
		double u = (sm->x[i] - s) / sigma, f = phi_at(sm->phi, u) - phi_at(sm->phi, u - 1 / sigma);

		for (size_t k = 0; k < ARRAY_LEN(shares); k++) {
			product[k] *= (1 - shares[k]) * f + shares[k] / OUTLIER_WIDTHS;
			if (product[k] < 1e-250) {
				log_like[k] += log(product[k]);
				product[k] = 1;
			}
		}
	}
	for (size_t k = 0; k < ARRAY_LEN(shares); k++)
		log_like[k] += log(product[k]);
}

/* Log likelihood of s at sigma for each share of outliers; widths are the unit. */
static void likelihood(const struct sample *sm, double s, double sigma, double *log_like)
{
	double reach = fmin(REACH * sigma, 0.5);
	size_t a = below(sm, s - reach), b = below(sm, s + reach);
	size_t c = below(sm, s + 1 - reach), d = below(sm, s + 1 + reach);

	for (size_t k = 0; k < ARRAY_LEN(shares); k++) {
		double out = shares[k] / OUTLIER_WIDTHS;

		log_like[k] = (double)(a + sm->n - d) * log(out) + (double)(c - b) * log(1 - shares[k] + out);
	}
	near_ends(sm, a, b, s, sigma, log_like);
	near_ends(sm, c, d, s, sigma, log_like);
}

struct posterior {
	double from, step;
	size_t points;
	double prior[SIGMAS]; /* log weight of each sigma; below -30: not looked at */
	double log_like[GRID_MAX];
	double log_sigma[GRID_MAX]; /* mean of log sigma at each s */
	double by_sigma
		[SIGMAS]; /* likelihood of each sigma without its prior, s and share integrated out, over exp(most) */
	double most;
};

static double sigma_of(size_t j)
{
	return SIGMA_LOW * pow(SIGMA_HIGH / SIGMA_LOW, (double)j / (SIGMAS - 1));
}

/* Integrates sigma and share out at s, the i-th place of the grid. */
static void integrate_at(const struct sample *sm, struct posterior *p, size_t i, size_t stride)
{
	double all[SIGMAS][ARRAY_LEN(shares)] = { { 0 } }, most = -INFINITY, sum = 0, moment = 0;

	for (size_t j = 0; j < SIGMAS; j += stride) {
		if (p->prior[j] < -30)
			continue;
		likelihood(sm, p->from + (double)i * p->step, sigma_of(j), all[j]);
		for (size_t k = 0; k < ARRAY_LEN(shares); k++)
			most = fmax(most, all[j][k] + p->prior[j]);
	}
	/* sums per sigma are kept relative to the greatest so far */
	if (most > p->most) {
		for (size_t j = 0; j < SIGMAS; j++)
			p->by_sigma[j] *= exp(p->most - most);
		p->most = most;
	}
	for (size_t j = 0; j < SIGMAS; j += stride) {
		if (p->prior[j] < -30)
			continue;
		for (size_t k = 0; k < ARRAY_LEN(shares); k++) {
			double w = exp(all[j][k] + p->prior[j] - most);

			sum += w;
			moment += w * log(sigma_of(j));
			p->by_sigma[j] += exp(all[j][k] - p->most);
		}
	}
	p->log_like[i] = most + log(sum);
	p->log_sigma[i] = moment / sum;
}

static void integrate(const struct sample *sm, struct posterior *p, const struct look *look)
{
	double range = p->step * (double)(p->points - 1), most = -INFINITY;

	p->points = look->points;
	p->step = range / (double)(p->points - 1);
	p->most = -INFINITY;
	memset(p->by_sigma, 0, sizeof(p->by_sigma));
	for (size_t i = 0; i < p->points; i++) {
		integrate_at(sm, p, i, look->stride);
		most = fmax(most, p->log_like[i]);
	}
	for (size_t j = 0; j < SIGMAS; j++)
		p->by_sigma[j] = log(p->by_sigma[j]) + p->most + log(p->step);
	p->most = most;
}

/* Takes sigmas out that carry nothing, but for the neighbours of those that do. */
static void prune(struct posterior *p, size_t stride)
{
	double most = -INFINITY;
	size_t first = SIGMAS, last = 0;

	for (size_t j = 0; j < SIGMAS; j += stride)
		most = fmax(most, p->by_sigma[j] + p->prior[j]);
	for (size_t j = 0; j < SIGMAS; j += stride) {
		if (p->by_sigma[j] + p->prior[j] < most - 16)
			continue;
		first = first < j ? first : j;
		last = j;
	}
	for (size_t j = 0; j < SIGMAS; j++)
		if (j + stride < first || j > last + stride)
			p->prior[j] = -INFINITY;
}

/* Narrows the grid to where the likelihood is; a side that is cut off there is widened. */
static void focus(struct posterior *p)
{
	size_t first = 0, last = p->points - 1;
	double range = p->step * (double)last, low, high;

	while (first < p->points - 1 && p->log_like[first] < p->most - 16)
		first++;
	while (last > first && p->log_like[last] < p->most - 16)
		last--;
	low = p->from + ((double)first - 1) * p->step - (first == 0 ? range / 2 : 0);
	high = p->from + ((double)last + 1) * p->step + (last == p->points - 1 ? range / 2 : 0);
	p->from = low;
	p->step = (high - low) / (double)(p->points - 1);
}

/* The place where the window of one width holds most: middle of all such places that are next to each other. */
static double fullest_window(const struct sample *sm)
{
	size_t best = 0;
	double at = sm->x[0];

	for (size_t i = 0, j = 0; i < sm->n; i++) {
		j = j > i ? j : i + 1; /* values so large that one more is the same */
		while (j < sm->n && sm->x[j] < sm->x[i] + 1)
			j++;
		if (j - i > best) {
			best = j - i;
			/* may start anywhere from where x[j-1] just fits to x[i] */
			at = (fmax(sm->x[j - 1] - 1, i ? sm->x[i - 1] : -(double)INFINITY) + sm->x[i]) / 2;
		}
	}
	return at;
}

struct moments {
	double mean, variance, log_sigma;
	struct interval ci;
};

static void moments_of(const struct posterior *p, struct moments *m)
{
	double w[GRID_MAX] = { 0 }, total = 0, seen = 0, last = 0;

	m->mean = m->variance = m->log_sigma = 0;
	for (size_t i = 0; i < p->points; i++) {
		w[i] = exp(p->log_like[i] - p->most);
		total += w[i];
		m->mean += w[i] * (double)i;
		m->log_sigma += w[i] * p->log_sigma[i];
	}
	m->mean /= total;
	m->log_sigma /= total;
	m->ci.low = NAN;
	for (size_t i = 0; i < p->points; i++) {
		double now = seen + w[i] / total;

		m->variance += w[i] / total * ((double)i - m->mean) * ((double)i - m->mean);
		/* the mass of a grid point lies evenly about it */
		if (seen < 0.025 && now >= 0.025)
			m->ci.low = (double)i - 0.5 + (0.025 - seen) / (now - seen);
		if (seen < 0.975 && now >= 0.975)
			last = (double)i - 0.5 + (0.975 - seen) / (now - seen);
		seen = now;
	}
	m->mean = p->from + m->mean * p->step;
	m->variance *= p->step * p->step;
	m->ci.low = p->from + m->ci.low * p->step;
	m->ci.high = p->from + last * p->step;
}

/* Mean less half a width of what is no outlier, t interval; returns its squared standard error. */
static double by_mean(const struct sample *sm, const struct moments *m, struct edge_fit *f)
{
	double slack = 5 * exp(m->log_sigma) + 2 * sqrt(m->variance);
	size_t from = below(sm, m->mean - slack), to = below(sm, m->mean + 1 + slack);
	struct summary s;

	f->outliers = sm->n - (to - from);
	if (!summary_of(sm->x + from, to - from, &s))
		return NAN;
	f->mean_edge = s.mean - 0.5;
	f->mean_ci.low = s.mean_ci.low - 0.5;
	f->mean_ci.high = s.mean_ci.high - 0.5;
	return s.stddev * s.stddev / (double)s.n;
}

static bool prepare(const double *access, size_t n, double width, struct sample *sm, double *x)
{
	if (n == 0)
		return false;
	memcpy(x, access, n * sizeof(*x));
	sm->x = x;
	sm->n = stats_keep_finite(x, n);
	stats_sort(x, sm->n);
	for (size_t i = 0; i < sm->n; i++)
		x[i] /= width;
	return sm->n >= SAMPLES_MIN;
}

/*
 * sigma unknown: weight sigma^power, between the logarithmic prior (0) and the flat one (1). By simulation 3/4 covers
 * for the widest range of sigma when one distance is all there is, 1/2 when some distances tell.
 */
static void vague_prior(double *prior, double power)
{
	for (size_t j = 0; j < SIGMAS; j++)
		prior[j] = power * log(sigma_of(j));
}

/* All weight on the two neighbours of a known sigma, as near as each is in the logarithm. */
static void sharp_prior(double *prior, double sigma)
{
	double at = log(sigma / SIGMA_LOW) / log(SIGMA_HIGH / SIGMA_LOW) * (SIGMAS - 1);

	at = at < 0 ? 0 : at > SIGMAS - 1 ? SIGMAS - 1 : at;
	for (size_t j = 0; j < SIGMAS; j++) {
		double away = fabs((double)j - at);

		prior[j] = away < 1 ? log1p(-away) : -(double)INFINITY;
	}
}

/* Finds where the likelihood of s is, and what the sample says of sigma; leaves the grid there. */
static void locate(const struct sample *sm, struct posterior *p)
{
	double reach = fmin(0.5, 8 / (double)sm->n + 0.02);

	p->from = fullest_window(sm) - reach;
	p->points = 2;
	p->step = 2 * reach;
	for (size_t k = 0; k < ARRAY_LEN(looks); k++) {
		integrate(sm, p, &looks[k]);
		prune(p, looks[k].stride);
		focus(p);
	}
}

static void conclude(const struct sample *sm, const struct posterior *p, double width, struct edge_fit *ret)
{
	struct edge_fit f = { .n = sm->n, .mean_edge = NAN, .mean_ci = { NAN, NAN } };
	struct moments m;
	double mean_variance;

	moments_of(p, &m);
	mean_variance = by_mean(sm, &m, &f);
	f.edge = m.mean * width;
	f.edge_ci.low = m.ci.low * width;
	f.edge_ci.high = m.ci.high * width;
	f.sigma = exp(m.log_sigma) * width;
	f.agree = fabs(f.mean_edge - m.mean) <=
	          2.5758 * sqrt(fmax(mean_variance - m.variance, 0.05 * mean_variance)); /* 99 % */
	f.mean_edge *= width;
	f.mean_ci.low *= width;
	f.mean_ci.high *= width;
	*ret = f;
}

bool fit_lower_edge(const double *access, size_t n, double width, double sigma, struct edge_fit *ret)
{
	cleanup_free double *x = n ? malloc(n * sizeof(*x)) : NULL;
	cleanup_free struct posterior *p = malloc(sizeof(*p));
	cleanup_free struct phi *phi = malloc(sizeof(*phi));
	struct sample sm = { .phi = phi };

	if (!x || !p || !phi || !(width > 0 && isfinite(width)) || !prepare(access, n, width, &sm, x))
		return false;
	phi_init(phi);
	vague_prior(p->prior, 0.75);
	locate(&sm, p);
	if (sigma > 0)
		sharp_prior(p->prior, sigma / width);
	integrate(&sm, p, &last_look);
	conclude(&sm, p, width, ret);
	return true;
}

/* What one distance says by itself. */
struct opinion {
	double from, range; /* where its edge is */
	double by_sigma[SIGMAS];
};

static void form_opinion(const struct sample *sm, struct posterior *p, struct opinion *ret)
{
	double most = -INFINITY;

	vague_prior(p->prior, 0.5);
	locate(sm, p);
	ret->from = p->from;
	ret->range = p->step * (double)(p->points - 1);
	for (size_t j = 0; j < SIGMAS; j++)
		most = fmax(most, p->by_sigma[j]);
	/* no distance rules a sigma out for all others by more than this, should their noise differ after all */
	for (size_t j = 0; j < SIGMAS; j++)
		ret->by_sigma[j] = fmax(p->by_sigma[j], most - 20);
}

/* The prior of one distance: what all the others say. */
static void common_prior(double *prior, const double *total, const struct opinion *own)
{
	double most = -INFINITY;

	vague_prior(prior, 0.5);
	for (size_t j = 0; j < SIGMAS; j++) {
		prior[j] += total[j] - own->by_sigma[j];
		most = fmax(most, prior[j]);
	}
	for (size_t j = 0; j < SIGMAS; j++)
		prior[j] -= most;
}

/*
 * One noise for all sets: each tells what it thinks of each sigma with its own edge integrated out, and gets back
 * what the others think as its prior. That is the exact marginal of the joint posterior.
 */
size_t fit_lower_edges(const struct edge_sample *set, size_t count, double width, struct edge_fit *ret)
{
	cleanup_free struct opinion *opinion = count ? calloc(count, sizeof(*opinion)) : NULL;
	cleanup_free struct posterior *p = malloc(sizeof(*p));
	cleanup_free struct phi *phi = malloc(sizeof(*phi));
	cleanup_free double *x = NULL;
	double total[SIGMAS] = { 0 };
	size_t longest = 1, done = 0;
	struct sample sm = { .phi = phi };

	for (size_t i = 0; i < count; i++)
		longest = set[i].n > longest ? set[i].n : longest;
	x = malloc(longest * sizeof(*x));
	if (!opinion || !p || !phi || !x || !(width > 0 && isfinite(width)))
		return 0;
	phi_init(phi);
	for (size_t i = 0; i < count; i++) {
		if (!prepare(set[i].access, set[i].n, width, &sm, x))
			continue;
		form_opinion(&sm, p, &opinion[i]);
		for (size_t j = 0; j < SIGMAS; j++)
			total[j] += opinion[i].by_sigma[j];
	}
	for (size_t i = 0; i < count; i++) {
		ret[i] = (struct edge_fit){
			.edge = NAN, .edge_ci = { NAN, NAN }, .mean_edge = NAN, .mean_ci = { NAN, NAN }
		};
		if (!prepare(set[i].access, set[i].n, width, &sm, x))
			continue;
		common_prior(p->prior, total, &opinion[i]);
		p->from = opinion[i].from;
		p->points = 2;
		p->step = opinion[i].range;
		integrate(&sm, p, &last_look);
		conclude(&sm, p, width, &ret[i]);
		done++;
	}
	return done;
}
