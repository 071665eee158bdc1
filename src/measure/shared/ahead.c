/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does the drive's cache have what was read ahead, though not the sector that was asked for? Then a read again shows no
 * cache, and reads beside it are answered by one. */
#include <math.h>

#include "base/cleanup.h"
#include "measure/shared/timed.h"

#define PLACES     12  /* where that is tried */
#define AHEAD_MOST 0.1 /* of a revolution: from the media one in ten takes no more, and half of PLACES hardly ever */

/* No hit takes longer, if those that were short are hits; NaN: they are none. v: at places, in any order. */
static double most_of_hits(double *v, size_t n, double period_ns)
{
	struct summary hits;
	size_t m = 0;

	stats_sort(v, n);
	while (m < n && v[m] < AHEAD_MOST * period_ns)
		m++;
	if (2 * m < n || !summary_of(v, m, &hits))
		return NAN;
	return fmin(hits_about(hits.median, hits.mad).most_ns, AHEAD_MOST * period_ns);
}

int rotation_find_ahead(struct timed *t, struct rotation *rot, bool *ret_is_ahead, struct err *err)
{
	uint64_t blocks = timed_size(t) / t->block_bytes;
	double v[PLACES];
	size_t n = 0;
	int r = 0;

	*ret_is_ahead = false;
	if (isfinite(rot->hits.most_ns) || blocks < 2)
		return 0;
	for (size_t i = 0; i < PLACES && r == 0 && !session_is_over(t->ses); i++) {
		uint64_t at = rng_below(&t->rng, blocks - 1), elsewhere = rng_below(&t->rng, blocks);
		const uint64_t offset[] = { at * t->block_bytes, elsewhere * t->block_bytes,
			                    (at + 1) * t->block_bytes };
		double access[ARRAY_LEN(offset)] = { NAN, NAN, NAN };

		r = timed_reads(t, offset, ARRAY_LEN(offset), access, NULL, err);
		if (isfinite(access[2]))
			v[n++] = access[2];
	}
	if (r < 0 || session_is_over(t->ses))
		return r;
	rot->hits.most_ns = most_of_hits(v, n, rot->period_ns);
	if (!isfinite(rot->hits.most_ns))
		return 0;
	*ret_is_ahead = true;
	return timed_look_for_fua(t, rot, timed_random(t, 0, timed_size(t)), true, err);
}
