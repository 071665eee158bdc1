/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/states.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define FULL      200  /* requests; with more a piece is not much surer, as rates drift */
#define DEVIATION 0.02 /* prior of a piece's */
#define RANGE     9.2  /* logarithm of the factor over which rates may lie: 10000 */
#define SURE      2.0  /* decades: that there is more than one state */

void states_add(struct states *s, double rate, double requests)
{
	double x = log(rate), w = requests / (requests + FULL);
	size_t n = s->n;

	if (n == STATES_PIECES)
		return;
	s->w[n + 1] = s->w[n] + w;
	s->wx[n + 1] = s->wx[n] + w * x;
	s->wxx[n + 1] = s->wxx[n] + w * x * x;
	s->n++;
}

/* Logarithm of the likelihood of the pieces [i, j) as one state, up to what all partitions have in common. */
static double score(const struct states *s, size_t i, size_t j)
{
	double n = (double)(j - i), w = s->w[j] - s->w[i], wx = s->wx[j] - s->wx[i], b = DEVIATION * DEVIATION;
	double rest = fmax(0, s->wxx[j] - s->wxx[i] - wx * wx / w), a = 1 + (n - 1) / 2;

	return log(b) - log(RANGE) + 0.5 * log(2 * M_PI / w) - n / 2 * log(2 * M_PI) + lgamma(a) -
	       a * log(b + rest / 2);
}

/* Of a change, which may lie anywhere. */
static double cost(const struct states *s)
{
	return log((double)s->n + 1);
}

double states_partition(const struct states *s, size_t most, size_t *ret_n, size_t *end)
{
	static const double no = -1e300;
	cleanup_free double *best = xcalloc(most * (s->n + 1), sizeof(*best));
	cleanup_free size_t *last = xcalloc(most * (s->n + 1), sizeof(*last));
	double top;
	size_t k, row = s->n + 1;

	for (k = 0; k < most; k++)
		for (size_t j = 0; j <= s->n; j++) {
			double *b = &best[k * row + j];

			*b = k == 0 && j >= STATES_LEAST ? score(s, 0, j) : no;
			for (size_t i = k * STATES_LEAST; k > 0 && i + STATES_LEAST <= j; i++) {
				double x = best[(k - 1) * row + i] + score(s, i, j) - cost(s);

				if (x > *b) {
					*b = x;
					last[k * row + j] = i;
				}
			}
		}
	top = best[s->n];
	*ret_n = 1;
	for (k = 1; k < most; k++)
		if (best[k * row + s->n] > fmax(top, best[s->n] + SURE * M_LN10)) {
			top = best[k * row + s->n];
			*ret_n = k + 1;
		}
	end[*ret_n - 1] = s->n;
	for (k = *ret_n - 1; k > 0; k--)
		end[k - 1] = last[k * row + end[k]];
	return (top - best[s->n]) / M_LN10;
}

double states_change_log10(const struct states *s)
{
	if (s->n < 2)
		return 0;
	return (score(s, 0, s->n - 1) + score(s, s->n - 1, s->n) - cost(s) - score(s, 0, s->n)) / M_LN10;
}
