/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a series that lose more than the rest, and whether place or time makes them: lossy.h. */
#include "model/lossy.h"

#include <math.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define STRAYS 2 /* readings one after the other that nothing here fits, as out of a buffer: 1 in 50 each (chain.h) */

#define ALIKE      2.0  /* times as much as the other that a part loses, at most, to be one with it (a choice) */
#define DISKS      10.0 /* of which one has such a part: 1 to 10 % are replaced in a year (Schroeder and Gibson 2007) */
#define RATIO_MOST 100.0 /* log: what is more says no more */

struct sums { /* of all readings before */
	double lost, revs;
};

static double evidence(const struct sums *a, const struct sums *b, double usual, double least)
{
	double lost = b->lost - a->lost, revs = b->revs - a->revs, rate = fmax(lost / revs, usual + least);

	return lost * log(rate / usual) - (rate - usual) * revs - 0.5 * log1p(lost);
}

/* Of its time, that a part loses. */
static double share_of(const struct sums *sum, const struct lossy_part *p)
{
	double lost = sum[p->last + 1].lost - sum[p->first].lost;

	return lost / (lost + sum[p->last + 1].revs - sum[p->first].revs);
}

/* Is what lies between two parts a stray? They lose about as much, and each is longer. */
static bool is_stray(const struct sums *sum, const struct lossy_part *a, const struct lossy_part *b)
{
	size_t between = b->first - a->last - 1;
	double one = share_of(sum, a), two = share_of(sum, b);

	return between <= STRAYS && between <= a->last - a->first && between <= b->last - b->first &&
	       fmax(one, two) < ALIKE * fmin(one, two);
}

/* Log of how many parts as long as this there may be: one begins anywhere, and lengths of any size are alike
 * (Jeffreys).
 */
static double choices(size_t n, size_t length)
{
	return log(DISKS) + log((double)n) + log((double)length) + log(log((double)n) + 1.0);
}

size_t lossy_find(const struct lossy_at *v, size_t n, double usual, double least, struct lossy_part *ret)
{
	cleanup_free struct sums *sum = xcalloc(n + 1, sizeof(*sum));
	cleanup_free double *best = xcalloc(n + 1, sizeof(*best)); /* of the first k that lose */
	cleanup_free size_t *from = xcalloc(n + 1, sizeof(*from)); /* where the part begins that ends with it */
	cleanup_free size_t *at = xcalloc(n + 1, sizeof(*at));     /* those that lose */
	size_t m = 0, parts = 0;

	for (size_t i = 0; i < n; i++) {
		sum[i + 1] = (struct sums){ sum[i].lost + v[i].lost, sum[i].revs + v[i].revs };
		if (v[i].lost > 0.0)
			at[m++] = i;
	}
	for (size_t k = 0; k < m; k++) { /* a part begins and ends with one that loses */
		best[k + 1] = best[k];
		from[k + 1] = m;
		for (size_t i = 0; i <= k; i++) {
			double own = evidence(&sum[at[i]], &sum[at[k] + 1], usual, least) -
			             choices(n, at[k] - at[i] + 1) + LOSSY_SURE;

			if (own > 0.0 && best[i] + own > best[k + 1]) {
				best[k + 1] = best[i] + own;
				from[k + 1] = i;
			}
		}
	}
	for (size_t k = m; k > 0;) {
		struct lossy_part *p = &ret[parts];

		if (from[k] == m) {
			k--;
			continue;
		}
		*p = (struct lossy_part){ at[from[k]], at[k - 1], best[k] - best[from[k]] - LOSSY_SURE };
		k = from[k];
		if (parts && is_stray(sum, p, &p[-1])) {
			p[-1].first = p->first;
			p[-1].log_odds = fmax(p[-1].log_odds, p->log_odds);
		} else {
			parts++;
		}
	}
	for (size_t i = 0; i < parts / 2; i++) {
		struct lossy_part p = ret[i];

		ret[i] = ret[parts - 1 - i];
		ret[parts - 1 - i] = p;
	}
	return parts;
}

double lossy_least(size_t n, double revs, double usual, double least)
{
	double lost = 1.0;

	while (evidence(&(struct sums){ 0 }, &(struct sums){ lost, revs }, usual, least) < choices(n, 1) + LOSSY_SURE)
		lost++;
	return lost;
}

/* Share of the readings elsewhere that lose half of the rate and more, at places that do not always: so another part
 * that loses does not count. */
static double share_of_times(const struct lossy_look *v, size_t n, size_t nplaces, double rate)
{
	cleanup_free double *least = xcalloc(nplaces + 1, sizeof(*least));
	double lossy = 0.5, all = 1.0;

	for (size_t p = 0; p < nplaces; p++)
		least[p] = INFINITY;
	for (size_t i = 0; i < n; i++)
		if (!v[i].is_inside)
			least[v[i].place] = fmin(least[v[i].place], v[i].lost / v[i].revs);
	for (size_t i = 0; i < n; i++) {
		if (v[i].is_inside)
			continue;
		all++;
		lossy += v[i].lost >= 0.5 * rate * v[i].revs && least[v[i].place] < 0.5 * rate;
	}
	return fmin(lossy / all, LOSSY_LOOK);
}

double lossy_place(const struct lossy_look *v, size_t n, size_t nplaces, double usual, double least, size_t *ret_looks)
{
	double lost = 0.0, revs = 0.0, rate, share, odds;
	struct sums look = { 0 };

	for (size_t i = 0; i < n; i++) {
		lost += v[i].is_inside ? v[i].lost : 0.0;
		revs += v[i].is_inside ? v[i].revs : 0.0;
	}
	rate = fmax(lost / revs, usual + least);
	share = share_of_times(v, n, nplaces, rate);
	odds = -log((double)n); /* it may begin with any */
	*ret_looks = 0;
	for (size_t i = 0; i <= n; i++) {
		double ratio;

		if (i < n && v[i].is_inside) {
			look.lost += v[i].lost;
			look.revs += v[i].revs;
			continue;
		}
		if (!(look.revs > 0.0))
			continue;
		ratio = exp(fmin(look.lost * log(rate / usual) - (rate - usual) * look.revs, RATIO_MOST));
		odds += log((LOSSY_LOOK * ratio + 1.0 - LOSSY_LOOK) / (share * ratio + 1.0 - share));
		(*ret_looks)++;
		look = (struct sums){ 0 };
	}
	return odds;
}
