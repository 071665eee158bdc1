/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The law of what a disk loses, parts that lose more, and whether place or time makes them: lossy.h. */
#include "model/lossy.h"

#include <math.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/without.h"
#include "base/xalloc.h"

#define RATES      14   /* from 1 in 1000 revolutions to 8 in one, each twice the one before */
#define RATE_LEAST 1e-3 /* of the first: healthy media lose less */
#define ROUNDS     3    /* of leaving sure parts out of the law (a choice: the third changes nothing) */
#define STEPS      100  /* towards the likeliest law (a choice: more change no answer) */
#define INSIDE                                                                                                        \
	0.9         /* readings of a part that lose at its rate: a place that is slow may be so in a part (ignorance) \
	             */
#define MORE    0.2 /* readings that lose some times as much as others: ignorance */
#define SUSPECT (-3.0 * LOSSY_SURE) /* log of the odds of what is worth a second look (a choice) */
#define DISKS   10.0 /* of which one has such a part: 1 to 10 % are replaced in a year (Schroeder and Gibson 2007) */

#define ANY SIZE_MAX /* way */

/* Of readings wherever they lie: how many of them lose at each rate. */
struct law {
	double weight[RATES], n;
};

static double rate_at(size_t k)
{
	return RATE_LEAST * (double)(1u << k);
}

/* Likelihoods of a reading by each rate, as parts of the likeliest. */
static void likely(const struct lossy_at *v, double *ret)
{
	double best = fmin(fmax(v->lost / v->revs, RATE_LEAST), rate_at(RATES - 1));

	for (size_t k = 0; k < RATES; k++)
		ret[k] = exp(v->lost * log(rate_at(k) / best) - (rate_at(k) - best) * v->revs);
}

static double by_law(const struct law *law, const double *by_rate)
{
	double sum = 0.0;

	for (size_t k = 0; k < RATES; k++)
		sum += law->weight[k] * by_rate[k];
	return sum;
}

/* A reading more. */
static void learn(struct law *law, const struct lossy_at *v)
{
	double by_rate[RATES], all;

	if (!(v->revs > 0.0))
		return;
	likely(v, by_rate);
	all = by_law(law, by_rate);
	for (size_t k = 0; k < RATES; k++)
		law->weight[k] *= (law->n + by_rate[k] / all) / (law->n + 1.0);
	law->n += 1.0;
}

/* The likeliest by readings that are not left out (Laird 1978). Some may lose two or four times as much as any of them,
 * for what the way to the disk costs differs from zone to zone. */
static struct law law_of(const struct lossy_at *v, size_t n, const bool *is_left_out)
{
	cleanup_free double *by_rate = xcalloc(n + 1, RATES * sizeof(*by_rate));
	struct law law = { .n = LOSSY_UNSEEN };
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (!is_left_out[i] && v[i].revs > 0.0)
			likely(&v[i], &by_rate[RATES * m++]);
	for (size_t k = 0; k < RATES; k++)
		law.weight[k] = 1.0 / RATES;
	law.n += (double)m;
	for (int step = 0; step < STEPS; step++) {
		struct law next = law;

		for (size_t k = 0; k < RATES; k++)
			next.weight[k] = LOSSY_UNSEEN / RATES / law.n;
		for (size_t i = 0; i < m; i++) {
			const double *at = &by_rate[RATES * i];
			double all = by_law(&law, at) * law.n;

			for (size_t k = 0; k < RATES; k++)
				next.weight[k] += law.weight[k] * at[k] / all;
		}
		law = next;
	}
	for (size_t k = RATES; k-- > 2 && !WITHOUT("more-rates");)
		law.weight[k] = (1.0 - MORE) * law.weight[k] + 0.5 * MORE * (law.weight[k - 1] + law.weight[k - 2]);
	return law;
}

static double usual_of(const struct law *law)
{
	double sum = law->weight[0];
	size_t k = 0;

	while (sum < 0.5 && k + 1 < RATES)
		sum += law->weight[++k];
	return rate_at(k);
}

/* Likelihood of a reading by a part of rate k: places of it differ by some times. */
static double by_part(const double *by_rate, size_t k)
{
	return 0.25 * by_rate[k - (k > 0)] + 0.5 * by_rate[k] + 0.25 * by_rate[k + (k + 1 < RATES)];
}

/*
 * Log of the odds by a reading, that it is of a part, for each rate. is_in_law: it is one of those that made the law,
 * and must not count against itself.
 */
static void evidence(const struct law *law, const struct lossy_at *v, bool is_in_law, double *ret)
{
	double by_rate[RATES], all, left = 0.0;

	for (size_t k = 0; k < RATES; k++)
		ret[k] = 0.0;
	if (!(v->revs > 0.0))
		return;
	likely(v, by_rate);
	all = by_law(law, by_rate);
	for (size_t k = 0; k < RATES; k++) {
		double own = is_in_law ? law->weight[k] * by_rate[k] / all : 0.0;

		left += fmax(law->weight[k] * law->n - own, LOSSY_UNSEEN / RATES) * by_rate[k];
	}
	left /= law->n - is_in_law;
	for (size_t k = 0; k < RATES; k++)
		ret[k] = log(INSIDE * by_part(by_rate, k) / left + 1.0 - INSIDE);
}

/* The first rate that is so much more than the usual one. */
static size_t first_rate(const struct law *law, double least)
{
	size_t k = 0;

	while (k + 1 < RATES && rate_at(k) < usual_of(law) + least)
		k++;
	return k;
}

/* Log of how many parts as long as this there may be: one begins anywhere, and lengths of any size are alike
 * (Jeffreys), as rates are. */
static double choices(double n, size_t length, size_t first_rate)
{
	return log(DISKS) + log(n) + log((double)length) + log(log(n + 1.0) + 1.0) + log((double)(RATES - first_rate));
}

struct search {
	size_t n, first_rate;
	double *sum; /* by reading and rate: the evidence of all before it */
	size_t *at;  /* readings that lose, m: a part begins and ends with one */
	size_t m;
};

static double sum_at(const struct search *s, size_t i, size_t k)
{
	return s->sum[i * RATES + k];
}

/* Log of the odds of the likeliest part of readings [a, b]. */
static double odds_of(const struct search *s, size_t a, size_t b, size_t *ret_rate)
{
	double most = -INFINITY;

	for (size_t k = s->first_rate; k < RATES; k++) {
		double own = sum_at(s, b + 1, k) - sum_at(s, a, k);

		if (own <= most)
			continue;
		most = own;
		*ret_rate = k;
	}
	return most - choices((double)s->n, b - a + 1, s->first_rate);
}

/* What is of a part as surely as a sentence, wherever it begins and ends; or else its worst reading. */
static void find_sure(const struct search *s, size_t k, struct lossy_part *p)
{
	const size_t a = p->first, b = p->last;
	const double sure = 1.0 / (1.0 + exp(-LOSSY_SURE));
	double begins = 0.0, ends = 0.0, begun = 0.0, ended = 0.0;
	size_t worst = a;

	for (size_t i = a; i <= b; i++) {
		begins += exp(sum_at(s, a, k) - sum_at(s, i, k));
		ends += exp(sum_at(s, i + 1, k) - sum_at(s, b + 1, k));
		if (sum_at(s, i + 1, k) - sum_at(s, i, k) > sum_at(s, worst + 1, k) - sum_at(s, worst, k))
			worst = i;
	}
	for (size_t i = a; begun < sure * begins; p->sure_first = i++)
		begun += exp(sum_at(s, a, k) - sum_at(s, i, k));
	for (size_t i = b; ended < sure * ends; p->sure_last = i--)
		ended += exp(sum_at(s, i + 1, k) - sum_at(s, b + 1, k));
	if (p->sure_first > p->sure_last)
		p->sure_first = p->sure_last = worst;
}

/* The likeliest set of parts; in order. */
static size_t best_parts(const struct search *s, struct lossy_part *ret)
{
	cleanup_free double *best = xcalloc(s->m + 1, sizeof(*best)); /* of the first that lose */
	cleanup_free size_t *from = xcalloc(s->m + 1, sizeof(*from)); /* where the part begins that ends with it */
	size_t parts = 0, rate = 0;

	for (size_t k = 0; k < s->m; k++) {
		best[k + 1] = best[k];
		from[k + 1] = s->m;
		for (size_t i = 0; i <= k; i++) {
			double own = odds_of(s, s->at[i], s->at[k], &rate) - SUSPECT;

			if (own > 0.0 && best[i] + own > best[k + 1]) {
				best[k + 1] = best[i] + own;
				from[k + 1] = i;
			}
		}
	}
	for (size_t k = s->m; k > 0; k = from[k] == s->m ? k - 1 : from[k])
		parts += from[k] != s->m;
	for (size_t k = s->m, i = parts; k > 0;) {
		struct lossy_part *p;

		if (from[k] == s->m) {
			k--;
			continue;
		}
		p = &ret[--i];
		*p = (struct lossy_part){ .first = s->at[from[k]], .last = s->at[k - 1] };
		p->log_odds = odds_of(s, p->first, p->last, &rate);
		find_sure(s, rate, p);
		k = from[k];
	}
	return parts;
}

/* What a reading of that many revolutions must lose to be a part. */
static double least_single(const struct law *law, size_t n, double revs, double least)
{
	size_t first = first_rate(law, least);

	for (double lost = 1.0; lost < rate_at(RATES - 1) * revs; lost++) {
		double by_rate[RATES];

		evidence(law, &(struct lossy_at){ lost, revs }, false, by_rate);
		for (size_t k = first; k < RATES; k++)
			if (by_rate[k] - choices((double)n, 1, first) > SUSPECT)
				return lost;
	}
	return INFINITY;
}

size_t lossy_find(const struct lossy_at *v, size_t n, double least, double usual_revs, struct lossy_part *ret,
                  double *ret_single)
{
	cleanup_free bool *is_sure = xcalloc(n + 1, sizeof(*is_sure));
	cleanup_free double *sum = xcalloc(n + 1, RATES * sizeof(*sum));
	cleanup_free size_t *at = xcalloc(n + 1, sizeof(*at));
	struct search s = { .n = n, .sum = sum, .at = at };
	struct law law = { .n = 0.0 };
	size_t parts = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].lost > 0.0 && v[i].revs > 0.0)
			at[s.m++] = i;
	for (int round = 0; round < ROUNDS; round++) {
		law = law_of(v, n, is_sure);
		s.first_rate = first_rate(&law, least);
		for (size_t i = 0; i < n; i++) {
			evidence(&law, &v[i], !is_sure[i], &sum[(i + 1) * RATES]);
			for (size_t k = 0; k < RATES; k++)
				sum[(i + 1) * RATES + k] += sum[i * RATES + k];
			is_sure[i] = false;
		}
		parts = best_parts(&s, ret);
		for (size_t i = 0; i < parts; i++)
			for (size_t j = ret[i].first; j <= ret[i].last && ret[i].log_odds > 0.0; j++)
				is_sure[j] = true;
	}
	*ret_single = least_single(&law, n, usual_revs, least);
	return parts;
}

/* Is reading i inside, and was it read in this way? */
static bool is_asked(const struct lossy_look *v, size_t n, size_t i, size_t way)
{
	return i < n && v[i].is_inside && (way == ANY || v[i].way == way);
}

/* The look that begins with reading i: what was read one after the other, or, in one way, the same bytes. No
 * revolutions: it began before. */
static struct lossy_at look_from(const struct lossy_look *v, size_t n, size_t i, size_t way)
{
	struct lossy_at look = { 0 };

	for (size_t k = way == ANY ? i : 0; k < n; k++) {
		bool is_part = way == ANY ? is_asked(v, n, k, way) : is_asked(v, n, k, way) && v[k].bytes == v[i].bytes;

		if (way == ANY && !is_part)
			break;
		if (is_part && k < i)
			return (struct lossy_at){ 0 };
		look.lost += is_part ? v[k].at.lost : 0.0;
		look.revs += is_part ? v[k].at.revs : 0.0;
	}
	return look;
}

/* Evidence by the looks that are asked, for each rate. */
static void by_looks(const struct lossy_look *v, size_t n, size_t way, struct law law, double *ret)
{
	double by_rate[RATES];

	for (size_t k = 0; k < RATES; k++)
		ret[k] = 0.0;
	for (size_t i = 0; i < n; i++) {
		struct lossy_at look;

		if (!is_asked(v, n, i, way) || (way == ANY && i && is_asked(v, n, i - 1, way)))
			continue;
		look = look_from(v, n, i, way);
		evidence(&law, &look, false, by_rate);
		for (size_t k = 0; k < RATES; k++)
			ret[k] += by_rate[k];
		learn(&law, &look); /* were it not of the place, the next would be as likely */
	}
}

/* Log of the mean over all rates from the first on, of what they make likelier by this. */
static double at_any_rate(const double *by_rate, size_t first)
{
	double sum = 0.0;

	for (size_t k = first; k < RATES; k++)
		sum += exp(by_rate[k]) / (double)(RATES - first);
	return log(sum);
}

/* By all ways in which the part was read, but for the one that says most: that it loses at one rate in all of them. */
static double by_ways(const struct lossy_look *v, size_t n, const struct law *usual, double least)
{
	double all[RATES] = { 0.0 }, most = -INFINITY;

	for (size_t i = 0, j; i < n; i++) {
		struct law law = *usual;
		double own[RATES];

		if (!v[i].is_inside)
			continue;
		for (j = 0; j < i && !is_asked(v, n, j, v[i].way);)
			j++;
		if (j < i) /* that way was asked */
			continue;
		law.n = LOSSY_UNSEEN;
		for (j = 0; j < n; j++)
			if (v[j].way == v[i].way && !v[j].is_inside && !v[j].is_another)
				learn(&law, &v[j].at);
		by_looks(v, n, v[i].way, law, own);
		for (size_t k = 0; k < RATES; k++)
			all[k] += own[k];
		most = fmax(most, at_any_rate(own, first_rate(usual, least)));
	}
	return isfinite(most) ? at_any_rate(all, first_rate(usual, least)) - most : 0.0;
}

struct lossy_odds lossy_place(const struct lossy_look *v, size_t n, double least)
{
	cleanup_free bool *is_left_out = xcalloc(n + 1, sizeof(*is_left_out));
	cleanup_free struct lossy_at *at = xcalloc(n + 1, sizeof(*at));
	double all[RATES], most = -INFINITY;
	size_t inside = 0, first;
	struct law law;

	for (size_t i = 0; i < n; i++) {
		at[i] = v[i].at;
		is_left_out[i] = v[i].is_inside || v[i].is_another;
		inside += v[i].is_inside;
	}
	law = law_of(at, n, is_left_out);
	first = first_rate(&law, least);
	by_looks(v, n, ANY, law, all);
	for (size_t k = first; inside && k < RATES; k++)
		most = fmax(most, all[k]);
	return (struct lossy_odds){ most, most - choices((double)n, inside ? inside : 1, first),
		                    by_ways(v, n, &law, least) };
}
