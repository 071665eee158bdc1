/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repetitions to means with their intervals; where the cache ends; are the random records random? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/mark/mark.h"
#include "stats/stats.h"

#define KS_MAX       100000u /* draws: a distance of 0.7 % to the uniform law shows; 0.8 MB */
#define KS_P_MIN     1e-4    /* of good draws one run in 10000 is called into question */
#define SIGMA_MAX    5.0     /* likewise, one in 2 million */
#define CACHED_RATIO 0.99    /* of a file that is wholly in memory: single pages go at any time */

double mark_mean(double write, double read, double random)
{
	const double v[] = { write, read, random };

	return stats_harmonic_mean(v, 3);
}

/*
 * Distinct records among n draws of N: mean N (1 - (1 - 1/N)^n); variance about N e^-a (1 - (1 + a) e^-a), a = n / N
 * (occupancy; Johnson and Kotz 1977).
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
	cleanup_free double *place = xcalloc(nks, sizeof(double));
	cleanup_free uint8_t *seen = xcalloc(1, (size_t)(records / 8 + 1));
	double mean = 0.0, m2 = 0.0;
	uint64_t distinct = 0;

	if (draws < 2 || records == 0)
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

const struct mark_speed mark_speeds[] = {
#define SPEED(m, l)                                 \
	{                                           \
#m, l, offsetof(struct mark_row, m) \
	}
	SPEED(write_mib_per_s, "writing, with close"),
	SPEED(write_synced_mib_per_s, "writing, with fsync"),
	SPEED(read_mib_per_s, "reading"),
	SPEED(random_mib_per_s, "random reading"),
	SPEED(diskmark_mib_per_s, "DiskMark, mean of the runs' marks"),
	SPEED(random_per_s, NULL),
	SPEED(cached_ratio, NULL),
	SPEED(from_device_ratio, NULL),
	SPEED(from_disk_ratio, NULL),
#undef SPEED
	{ NULL, NULL, 0 },
};

void mark_means(const struct mark_row *rows, size_t n, struct mark_row *ret, struct interval *ret_ci)
{
	*ret = (struct mark_row){ .way = rows[0].way, .repetitions = n };
	for (size_t f = 0; mark_speeds[f].name; f++) {
		double v[MARK_REPEATS_MAX];
		struct summary s;

		for (size_t i = 0; i < n; i++)
			memcpy(&v[i], (const char *)&rows[i] + mark_speeds[f].offset, sizeof(double));
		if (!summary_of(v, n, &s))
			s = (struct summary){ .mean = NAN };
		memcpy((char *)ret + mark_speeds[f].offset, &s.mean, sizeof(double));
		ret_ci[f] = s.n > 1 ? s.mean_ci : (struct interval){ NAN, NAN };
	}
}

void mark_note_point(struct mark_cache_end *s, const struct mark_point *row)
{
	if (row->cached_ratio >= CACHED_RATIO && row->file_bytes > s->largest_cached)
		s->largest_cached = row->file_bytes;
	if (row->cached_ratio < CACHED_RATIO && row->file_bytes < s->smallest_not)
		s->smallest_not = row->file_bytes;
}
