/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When is the head there? An access to a sector that comes by at the time w, w + T, w + 2 T ... after the command
 * takes the first of these that is not before the arrival. So an access of the length A (to the begin of the sector)
 * says that the arrival lay in (A - T, A]: an observation censored to an interval (Peto 1973; with aimed targets it is
 * a bioassay, Finney 1947). Arrivals scatter, a few accesses miss a revolution more, a few are nonsense.
 *
 * The likelihood of one access A: G is the law of an arrival about the median m with the scale s. Of the accesses the
 * share e is late, by k revolutions half as often as by k - 1.
 *
 *	(1 - e) [G(A) - G(A - T)] + e sum of 2^-k [G(A - k T) - G(A - (k + 1) T)] + nonsense.
 *
 * G is Student's law with four degrees of freedom: a sharp core, tails, and a closed form (Lange, Little and
 * Taylor 1989). Samples come in groups (pairs of places), each with an offset of its own, normal with the deviation t,
 * but for a few that may be anywhere. A group was read while the disk was ours alone, where e is small, or while others
 * used it, where half of the accesses are late: either is tried. m follows from its marginal posterior under a flat
 * prior, s and t integrated out over a grid: so its interval holds what is not known of them (Gelman et al., Bayesian
 * Data Analysis, 5.4).
 */
#include "stats/stats.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define GRID        61
#define STEPS       300 /* of a revolution */
#define TURNS_MOST  6.0 /* later ones are nonsense */
#define SCALES      7
#define SPREADS     5
#define NONSENSE    0.003
#define ODD_GROUPS  0.03
#define SCALE_LEAST 0.0004 /* of a revolution */
#define SCALE_MOST  0.05
#define GROUPS_MAX  64
#define SHARED      0.05 /* of the groups, before anything is known */
#define SHARED_LATE 0.5  /* of their accesses; and others may have moved the head nearer */
#define SHARED_ODD  0.1
#define T4_ROBUST   1.098 /* deviation of the normal law with the same quartiles, for the scale 1 */

/* How likely the access is of a head in time; and of one that is late. */
static double in_time(double access, double median, double scale, double period, double *ret_late)
{
	const double later = access - median, late = (later < 64.0 * period ? later : 64.0 * period) - period,
		     per = 1.0 / scale;
	const unsigned turns = late < 1.5 * period ? 1 : (unsigned)(late / period + 0.5);
	const double before = arrival_t4_cdf(late * per), first = arrival_t4_cdf((late + period) * per);

	/* At the end of a revolution the next one begins, which is half as likely. */
	*ret_late =
		before / (double)(UINT64_C(1) << turns) * (1.0 - 0.5 * arrival_t4_cdf((late - turns * period) * per));
	return first > before ? first - before : 0.0;
}

double arrival_likelihood(double access, double median, double scale, double period, double missed)
{
	double late, soon = in_time(access, median, scale, period, &late);

	return (1.0 - missed) * soon + missed * late + NONSENSE;
}

/*
 * Of n sorted accesses, at one median. Far from it an access counts as nonsense: Student's tails add less than a
 * millionth there.
 */
static double log_likelihood(const double *access, size_t n, size_t from, double median, double period, double missed)
{
	double sum = (double)n * log(NONSENSE), product = 1.0;

	for (size_t i = from; i < n && access[i] < median + TURNS_MOST * period; i++) {
		product *= arrival_likelihood(access[i], median, 0.008 * period, period, missed) / NONSENSE;
		if (product > 1e300 * NONSENSE) {
			sum += log(product);
			product = 1.0;
		}
	}
	return sum + log(product);
}

/*
 * Where the likelihood without groups is greatest: at least one access was in time there, so only the revolution before
 * each access is searched. The number of steps is that of the accesses, however far apart they lie.
 */
static double coarse(const struct arrival_sample *s, size_t n, double period, double missed)
{
	cleanup_free double *access = xcalloc(n, sizeof(*access));
	double step = period / STEPS, best = NAN, most = -INFINITY, m = -INFINITY;
	size_t from = 0;

	for (size_t i = 0; i < n; i++)
		access[i] = s[i].access;
	stats_sort(access, n);
	for (size_t i = 0; i < n; i++) {
		m = fmax(fmax(access[i] - period, 0.0), m);
		for (int k = 0; k <= STEPS + 1 && m <= access[i] + step; k++, m += step) {
			double sum;

			while (from < n && access[from] < m - period)
				from++;
			sum = log_likelihood(access, n, from, m, period, missed);
			if (sum > most) {
				most = sum;
				best = m;
			}
		}
	}
	return best;
}

struct fit {
	const struct arrival_sample *s;
	size_t n, groups, nspreads; /* one group does not show how groups differ */
	double period, missed, prior_scale;
	double centre, half; /* of the grid */
	double scale[SCALES], spread[SPREADS];
	double (*group)[GRID], (*shared)[GRID]; /* log likelihood of each group: the disk is ours, or others use it */
	double post[GRID];                      /* of m */
	double scale_post[SCALES], spread_mean;
	double peak; /* log of the greatest joint posterior */
	double joint[SCALES][SPREADS][GRID];
};

static double at(const struct fit *f, size_t k)
{
	return f->centre + f->half * (2.0 * (double)k / (GRID - 1) - 1.0);
}

/* Of all accesses, each in its group. */
static void take_accesses(struct fit *f, double scale)
{
	double ours[GRID], shared[GRID];

	memset(f->group, 0, f->groups * sizeof(f->group[0]));
	memset(f->shared, 0, f->groups * sizeof(f->shared[0]));
	for (size_t i = 0, n = 0; i < f->n; i++) {
		const struct arrival_sample *s = &f->s[i];
		bool is_last = ++n == 64 || i + 1 == f->n || s[1].group != s->group; /* NONSENSE^64 is not zero */

		for (size_t k = 0; k < GRID; k++) {
			double late, soon = in_time(s->access, at(f, k), scale, f->period, &late);

			ours[k] = (n == 1 ? 1.0 : ours[k]) * ((1.0 - f->missed) * soon + f->missed * late + NONSENSE);
			shared[k] = (n == 1 ? 1.0 : shared[k]) *
			            ((1.0 - SHARED_LATE) * soon + SHARED_LATE * late + SHARED_ODD);
			if (is_last) {
				f->group[s->group][k] += log(ours[k]);
				f->shared[s->group][k] += log(shared[k]);
			}
		}
		n = is_last ? 0 : n;
	}
}

/* The groups' likelihoods at one scale, each less its greatest; the sum of those is returned. */
static double groups_at(struct fit *f, double scale)
{
	double sum = 0.0;

	take_accesses(f, scale);
	for (size_t k = 0; f->groups == 1 && k < GRID; k++) /* of one alone nobody knows */
		f->shared[0][k] = -(double)INFINITY;
	for (size_t g = 0; g < f->groups; g++) {
		double most = -INFINITY;

		for (size_t k = 0; k < GRID; k++)
			most = fmax(most, fmax(f->group[g][k], f->shared[g][k]));
		for (size_t k = 0; k < GRID; k++)
			f->group[g][k] =
				(1.0 - SHARED) * exp(f->group[g][k] - most) + SHARED * exp(f->shared[g][k] - most);
		sum += most;
	}
	return sum;
}

/* A normal law on the grid: its weights up to a distance in steps, and their sum on both sides. */
struct kernel {
	double weight[GRID], norm;
	size_t reach;
};

static void kernel_of(const struct fit *f, double spread, struct kernel *ret)
{
	double step = 2.0 * f->half / (GRID - 1);

	ret->reach = 0;
	ret->norm = 0.0;
	for (size_t j = 0; j < GRID; j++) {
		double w = spread > 0.0 ? exp(-0.5 * pow((double)j * step / spread, 2.0)) : j == 0 ? 1.0 : 0.0;

		ret->weight[j] = w;
		if (w > 1e-4) {
			ret->reach = j;
			ret->norm += j ? 2.0 * w : w;
		}
	}
}

/* Each group's likelihood, widened by the spread of groups, all multiplied. */
static void smear(const struct fit *f, double spread, double *ret_log)
{
	struct kernel kernel;

	kernel_of(f, spread, &kernel);
	for (size_t k = 0; k < GRID; k++)
		ret_log[k] = 0.0;
	for (size_t g = 0; g < f->groups; g++) {
		const double *l = f->group[g];
		double mean = 0.0;

		for (size_t k = 0; k < GRID; k++)
			mean += l[k] / GRID;
		for (size_t k = 0; k < GRID; k++) {
			double sum = kernel.weight[0] * l[k];

			for (size_t j = 1; j <= kernel.reach; j++)
				sum += kernel.weight[j] * (l[k >= j ? k - j : 0] + l[k + j < GRID ? k + j : GRID - 1]);
			ret_log[k] += log((1.0 - ODD_GROUPS) * sum / kernel.norm + ODD_GROUPS * mean + 1e-12);
		}
	}
}

static double log_prior(const struct fit *f, double scale)
{
	double z = f->prior_scale > 0.0 ? log(scale / f->prior_scale) / 0.6931 : 0.0;

	return -0.5 * z * z;
}

/* The posterior on the grid, for all scales and spreads. */
static void posterior(struct fit *f)
{
	double total = 0.0;

	f->peak = -INFINITY;
	for (size_t i = 0; i < SCALES; i++) {
		double base = groups_at(f, f->scale[i]) + log_prior(f, f->scale[i]);

		for (size_t j = 0; j < f->nspreads; j++) {
			smear(f, f->spread[j], f->joint[i][j]);
			for (size_t k = 0; k < GRID; k++) {
				f->joint[i][j][k] += base;
				if (at(f, k) >= 0.0)
					f->peak = fmax(f->peak, f->joint[i][j][k]);
			}
		}
	}
	memset(f->post, 0, sizeof(f->post));
	memset(f->scale_post, 0, sizeof(f->scale_post));
	f->spread_mean = 0.0;
	for (size_t i = 0; i < SCALES; i++)
		for (size_t j = 0; j < f->nspreads; j++)
			for (size_t k = 0; k < GRID; k++) {
				double p = at(f, k) < 0.0 ? 0.0 : exp(f->joint[i][j][k] - f->peak);

				f->post[k] += p;
				f->scale_post[i] += p;
				f->spread_mean += p * f->spread[j];
				total += p;
			}
	f->spread_mean /= total;
}

/* Quantiles of the posteriors, linear between the points of their grids. */
static double quantile(const struct fit *f, double q)
{
	return at(f, 0) + 2.0 * f->half / (GRID - 1) * (stats_cell_of_share(f->post, GRID, q) - 0.5);
}

static double scatter_quantile(const struct fit *f, double q)
{
	return T4_ROBUST * f->scale[0] *
	       pow(f->scale[1] / f->scale[0], stats_cell_of_share(f->scale_post, SCALES, q) - 0.5);
}

bool fit_arrival(const struct arrival_sample *s, size_t n, double period, const struct arrival_prior *prior,
                 struct arrival *ret)
{
	static const double spreads[SPREADS] = { 0.0, 0.0015, 0.004, 0.01, 0.025 };
	cleanup_free struct fit *f = xcalloc(1, sizeof(*f));
	cleanup_free double(*group)[GRID] = xcalloc(2 * GROUPS_MAX, sizeof(*group));

	if (n < 4 || !(period > 0.0))
		return false;
	f->s = s;
	f->n = n;
	f->group = group;
	f->shared = group + GROUPS_MAX;
	f->period = period;
	f->missed = prior && prior->missed > 0.0 ? fmin(fmax(prior->missed, 0.001), 0.2) : 0.01;
	f->prior_scale = prior ? prior->scatter / T4_ROBUST : 0.0;
	for (size_t i = 0; i < n; i++) {
		if (s[i].group >= GROUPS_MAX || !isfinite(s[i].access))
			return false;
		f->groups = s[i].group >= f->groups ? s[i].group + 1 : f->groups;
	}
	f->nspreads = f->groups > 1 ? SPREADS : 1;
	f->centre = coarse(s, n, period, f->missed);
	f->half = 0.06 * period;
	if (!isfinite(f->centre))
		return false;
	for (size_t i = 0; i < SCALES; i++)
		f->scale[i] = period * SCALE_LEAST * pow(SCALE_MOST / SCALE_LEAST, (double)i / (SCALES - 1));
	for (size_t j = 0; j < SPREADS; j++)
		f->spread[j] = spreads[j] * period;
	for (int round = 0; round < 3; round++) {
		double low, high;

		posterior(f);
		low = quantile(f, 0.005);
		high = quantile(f, 0.995);
		if (round == 2 || (high - low > 0.35 * f->half && high - low < 1.2 * f->half))
			break;
		f->centre = (low + high) / 2.0;
		f->half = fmax((high - low) * 1.2, 0.0008 * period);
	}
	ret->median = quantile(f, 0.5);
	ret->ci = (struct interval){ quantile(f, 0.025), quantile(f, 0.975) };
	ret->scatter = scatter_quantile(f, 0.5);
	ret->scatter_ci = (struct interval){ scatter_quantile(f, 0.025), scatter_quantile(f, 0.975) };
	ret->spread = f->spread_mean;
	ret->n = n;
	return true;
}

void arrival_count_missed(const struct arrival_sample *s, size_t n, double period, const struct arrival *fit,
                          struct arrival_missed *sum)
{
	double away = fmax(6.0 * fit->scatter + 3.0 * fit->spread, 0.04 * period);

	for (size_t i = 0; i < n; i++) {
		double late = s[i].access - fit->median, turns = round(late / period);

		if (!(away < 0.4 * period) || fabs(late - turns * period) < away || late < 0.0)
			continue; /* so near to the edge that chance decides */
		sum->of++;
		sum->missed += late > period;
	}
}
