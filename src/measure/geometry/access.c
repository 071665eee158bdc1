/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shortest access from one track to another. All angles are known, so an access of any length can be aimed at by choosing the sectors: one that the head
 * can make takes just that long, one that it cannot a revolution more; the border is found by halving. Many pairs take turns, so that none is read again while
 * the drive's cache still holds it. Always from the later track to the earlier, where reading ahead does not help.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/geometry/geometry.h"

#define ROUNDS       48
#define USUAL_ROUNDS 22.0           /* of them, until all is found */
#define FINE         (1.0 / 2048.0) /* of a revolution: fine enough */
#define START_FROM   0.8 /* part of the track that accesses begin in: behind it reading ahead may be on the next track */
#define AIMS         16
#define AIM_MET      0.05 /* of a revolution: so far off is no answer that came in time */

const struct field geo_profile_fields[] = {
	FIELD_U64(struct geo_profile_row, distance_tracks, UNIT_COUNT, "tracks"),
	FIELD_F64(struct geo_profile_row, access_ns, UNIT_NS, "shortest access"),
	FIELD_F64(struct geo_profile_row, resolution_ns, UNIT_NS, "to within"),
	FIELD_U64(struct geo_profile_row, first_byte, UNIT_BYTES, "from track at"),
	FIELD_END,
};

/* Which sectors make an access of about y revolutions. */
static void aim(struct geo *g, const struct geo_pair *p, double y, uint64_t *ret_from, uint64_t *ret_to)
{
	double best = INFINITY;

	for (int i = 0; i < AIMS; i++) {
		uint64_t k = rng_below(&g->t.rng, (uint64_t)(START_FROM * (double)p->from.sectors) + 1);
		double angle = p->from.angle + (double)k / (double)p->from.sectors;
		double wanted = geo_frac(angle + y - p->to.angle) * (double)p->to.sectors;
		uint64_t x = (uint64_t)llround(wanted) % p->to.sectors;
		double off = fabs(wanted - (double)llround(wanted)) / (double)p->to.sectors;

		if (off >= best)
			continue;
		best = off;
		*ret_from = p->from.first + k;
		*ret_to = p->to.first + x;
	}
}

static double want(const struct geo_pair *p)
{
	return isfinite(p->high) ? (p->low + p->high) / 2.0 : 0.7;
}

static bool is_done(const struct geo_pair *p)
{
	double least = fmax(FINE, 0.4 / (double)p->to.sectors);

	return isfinite(p->high) && p->high - p->low < least;
}

/*
 * What an access of so many revolutions says, when y was aimed at: it ends when the sector has passed, then or a revolution later; whatever ends at another time
 * came from the cache, or late. A miss counts when it was seen twice: something may have come in between.
 */
static void learn(struct geo_pair *p, double y, double turns)
{
	if (geo_apart(turns, y) > AIM_MET) {
		p->stuck++;
		return;
	}
	if (!isfinite(p->high)) {
		p->high = turns;
		p->low = fmax(0.0, turns - 1.0);
		return;
	}
	if (turns < p->high && fabs(turns - y) <= AIM_MET) {
		p->stuck = turns > p->high - 1e-4 ? p->stuck + 1 : 0;
		p->high = turns;
		p->low = fmin(p->low, p->high);
		p->misses = 0;
		return;
	}
	p->stuck++;
	if (fabs(turns - y - 1.0) > AIM_MET)
		return;
	p->miss = p->misses ? fmin(p->miss, turns - 1.0) : turns - 1.0;
	if (++p->misses < 2)
		return;
	p->misses = 0;
	p->stuck = p->miss > p->low + 1e-4 ? 0 : p->stuck;
	p->low = fmin(p->high, fmax(p->low, p->miss));
}

static bool is_hit(const struct geo *g, double access_ns)
{
	return access_ns < g->rot.hit_most_ns;
}

static int one_round(struct geo *g, struct geo_pair *pair, size_t n, size_t *ret_open, struct err *err)
{
	cleanup_free uint64_t *offset = calloc(2 * n + 1, sizeof(*offset));
	cleanup_free double *access = calloc(2 * n + 1, sizeof(*access));
	cleanup_free size_t *which = calloc(n + 1, sizeof(*which));
	size_t m = 0;
	int r;

	if (!offset || !access || !which)
		return err_set(err, -ENOMEM, "Out of memory.");
	for (size_t i = 0; i < n; i++) {
		uint64_t from = 0, to = 0;

		if (is_done(&pair[i]) || pair[i].stuck > 6)
			continue;
		aim(g, &pair[i], want(&pair[i]), &from, &to);
		offset[2 * m] = from * g->t.block_bytes;
		offset[2 * m + 1] = to * g->t.block_bytes;
		which[m++] = i;
	}
	*ret_open = m;
	if (m == 0)
		return 0;
	r = timed_reads(&g->t, offset, 2 * m, access, NULL, err);
	g->reads += 2 * m;
	for (size_t i = 0; i < m && r == 0; i++)
		/* Neither may have come from the cache: the head would have been elsewhere. */
		if (isfinite(access[2 * i]) && isfinite(access[2 * i + 1]) && !is_hit(g, access[2 * i]) &&
		    !is_hit(g, access[2 * i + 1]))
			learn(&pair[which[i]], want(&pair[which[i]]), access[2 * i + 1] / g->rot.period_ns);
	return r;
}

static int find_angles(struct geo *g, struct geo_pair *pair, size_t n, struct err *err)
{
	cleanup_free uint64_t *sector = calloc(2 * n + 1, sizeof(*sector));
	cleanup_free double *angle = calloc(2 * n + 1, sizeof(*angle));
	int r;

	if (!sector || !angle)
		return err_set(err, -ENOMEM, "Out of memory.");
	for (size_t i = 0; i < n; i++) {
		sector[2 * i] = pair[i].from.first;
		sector[2 * i + 1] = pair[i].to.first;
	}
	r = geo_probe(g, sector, angle, 2 * n, err);
	for (size_t i = 0; i < n && r == 0; i++) {
		pair[i].from.angle = angle[2 * i];
		pair[i].to.angle = angle[2 * i + 1];
	}
	return r;
}

static void keep(struct geo *g, const struct geo_pair *pair, size_t n)
{
	struct table *t =
		result_table(g->ses->res, "profile", "Shortest access to an earlier track", geo_profile_fields);

	for (size_t i = 0; i < n; i++) {
		const struct geo_pair *p = &pair[i];
		const struct geo_profile_row row = { p->distance, p->high * g->rot.period_ns,
			                             (p->high - p->low) * g->rot.period_ns,
			                             p->to.first * g->t.block_bytes };

		if (isfinite(p->high))
			result_row(t, &row);
	}
}

int geo_shortest(struct geo *g, struct geo_pair *pair, size_t n, double from, double to, struct err *err)
{
	size_t open = n;
	int r = find_angles(g, pair, n, err);

	for (size_t i = 0; i < n; i++) {
		pair[i].low = 0.0;
		pair[i].high =
			isfinite(pair[i].from.angle) && isfinite(pair[i].to.angle) ? (double)INFINITY : (double)NAN;
		pair[i].misses = 0;
		pair[i].stuck = isnan(pair[i].high) ? 1000 : 0;
	}
	for (int k = 0; k < ROUNDS && open && r == 0 && !geo_is_over(g); k++) {
		session_progress(g->ses, "access times", from + (to - from) * fmin(1.0, k / USUAL_ROUNDS), "%zu of %zu",
		                 n - open, n);
		r = one_round(g, pair, n, &open, err);
	}
	for (size_t i = 0; i < n; i++) {
		pair[i].access = (pair[i].low + pair[i].high) / 2.0;
		pair[i].error = (pair[i].high - pair[i].low) / 2.0 + g->tol;
		if (!isfinite(pair[i].high))
			pair[i].access = NAN;
	}
	if (r == 0)
		keep(g, pair, n);
	return r;
}
