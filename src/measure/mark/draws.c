/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/mark/mark.h"
#include "stats/stats.h"

#define KS_MAX    100000u
#define KS_P_MIN  1e-4
#define SIGMA_MAX 5.0

double mark_mean(double write, double read, double random)
{
	const double v[] = { write, read, random };

	return stats_harmonic_mean(v, 3);
}

/*
 * Distinct records among n draws of N: mean N (1 - (1 - 1/N)^n); variance about N e^-a (1 - (1 + a) e^-a), a = n / N (occupancy; Johnson and
 * Kotz 1977).
 */
static bool is_covered_as_expected(const struct mark_draws *d, uint64_t records)
{
	double n = (double)records, a = (double)d->draws / n;
	double deviation = sqrt(fmax(n * exp(-a) * (1.0 - (1.0 + a) * exp(-a)), 0.0));

	return fabs(d->covered - d->covered_expected) * n <= SIGMA_MAX * deviation + 1.0;
}

bool mark_judge(uint64_t (*next)(void *arg, uint64_t records), void *arg, uint64_t draws, uint64_t records,
                struct mark_draws *ret)
{
	size_t nks = draws < KS_MAX ? (size_t)draws : KS_MAX;
	cleanup_free double *place = calloc(nks ? nks : 1, sizeof(double));
	cleanup_free uint8_t *seen = calloc(1, (size_t)(records / 8 + 1));
	double mean = 0.0, m2 = 0.0;
	uint64_t distinct = 0;

	if (!place || !seen || draws < 2 || records == 0)
		return false;
	for (uint64_t i = 0; i < draws; i++) {
		uint64_t k = next(arg, records);
		double x = ((double)k + 0.5) / (double)records, delta = x - mean;

		mean += delta / (double)(i + 1);
		m2 += delta * (x - mean);
		if (i < nks)
			place[i] = x;
		distinct += !(seen[k / 8] >> (k % 8) & 1);
		seen[k / 8] |= (uint8_t)(1u << (k % 8));
	}
	*ret = (struct mark_draws){
		.draws = draws,
		.ks_draws = nks,
		.mean = mean,
		.cv = sqrt(m2 / (double)(draws - 1)) / mean,
		.covered = (double)distinct / (double)records,
		.covered_expected = -expm1((double)draws * log1p(-1.0 / (double)records)),
	};
	stats_sort(place, nks);
	ret->ks_distance = stats_ks_uniform_sorted(place, nks, &ret->ks_p);
	ret->is_random = ret->ks_p >= KS_P_MIN && is_covered_as_expected(ret, records);
	return true;
}
