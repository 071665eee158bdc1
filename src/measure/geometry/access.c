/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shortest access from one track to another. All angles are known, so an access of any length can be aimed at by
 * choosing the sectors: one that the head can make takes just that long, one that it cannot a revolution more;
 * threshold.c finds the border. Many pairs take turns, so that none is read again while the drive's cache still holds
 * it. Always from the later track to the earlier, where reading ahead does not help.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/layout.h"

#define ROUNDS        40             /* more than any pair takes: an end for pairs that never settle */
#define USUAL_ROUNDS  16.0           /* of them, until all is found */
#define SCATTER_EVERY 3              /* rounds */
#define FIRST_AIM     0.7            /* revolutions */
#define FINE_SCATTER  0.6            /* of what single accesses scatter: finer takes many looks */
#define STUCK_MOST    10             /* accesses of a pair that ended where none can, until it is given up */
#define FINE          (1.0 / 2048.0) /* of a revolution: fine enough */
#define START_FROM                                                                                                 \
	0.8          /* part of the track that accesses begin in: behind it reading ahead may be on the next track \
	              */
#define AIMS    16   /* starts that are tried: the best of them is some hundredths of a sector off */
#define AIM_MET 0.05 /* of a revolution: so far off is no answer that came in time */

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

/*
 * What an access says when y was aimed at: it ends when the sector has passed, then or whole revolutions later;
 * whatever ends at another time came from the cache, or late.
 */
static void learn(struct geo_pair *p, struct geo_looks *k, double turns)
{
	if (geo_apart(turns, p->aim) > AIM_MET || turns > GEO_TURNS_MAX) {
		p->stuck++;
		return;
	}
	if (k->n < GEO_LOOKS)
		k->turns[k->n++] = turns;
}

/* Pairs of a round that are open, and those of them that the cache answered. */
struct round {
	size_t open, hits;
};

static int one_round(struct geo *g, struct geo_pair *pair, struct geo_looks *looks, size_t n, struct round *ret,
                     struct err *err)
{
	cleanup_free uint64_t *offset = xcalloc(2 * n + 1, sizeof(*offset));
	cleanup_free double *access = xcalloc(2 * n + 1, sizeof(*access));
	cleanup_free size_t *which = xcalloc(n + 1, sizeof(*which));
	size_t m = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		uint64_t from = 0, to = 0;

		if (pair[i].is_done || pair[i].stuck > STUCK_MOST)
			continue;
		aim(g, &pair[i], pair[i].aim, &from, &to);
		offset[2 * m] = from * g->t.block_bytes;
		offset[2 * m + 1] = to * g->t.block_bytes;
		which[m++] = i;
	}
	*ret = (struct round){ .open = m };
	if (m == 0)
		return 0;
	r = timed_media_reads(&g->t, offset, 2 * m, access, NULL, err);
	g->cost.reads += 2 * m;
	for (size_t i = 0; i < m && r == 0; i++) {
		/* Neither may have come from the cache: the head would have been elsewhere. */
		if (timed_may_be_hit(&g->rot, access[2 * i]) || timed_may_be_hit(&g->rot, access[2 * i + 1]))
			ret->hits++;
		else if (isfinite(access[2 * i]) && isfinite(access[2 * i + 1]))
			learn(&pair[which[i]], &looks[which[i]], access[2 * i + 1] / g->rot.period_ns);
	}
	return r;
}

/* The cache has all of the pairs after a round or two if it is large: then none would ever be measured. */
static int forget_pairs(struct geo *g, const struct geo_pair *pair, size_t n, struct err *err)
{
	uint64_t first = UINT64_MAX, end = 0;

	for (size_t i = 0; i < n; i++) {
		first = pair[i].to.first < first ? pair[i].to.first : first;
		end = pair[i].from.first + pair[i].from.sectors > end ? pair[i].from.first + pair[i].from.sectors : end;
	}
	return geo_make_forget(g, first, end, err);
}

static int find_angles(struct geo *g, struct geo_pair *pair, size_t n, struct err *err)
{
	cleanup_free uint64_t *sector = xcalloc(2 * n + 1, sizeof(*sector));
	cleanup_free double *angle = xcalloc(2 * n + 1, sizeof(*angle));
	int r;

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
		const struct geo_profile_row row = { p->distance, p->access * g->rot.period_ns,
			                             2.0 * p->error * g->rot.period_ns,
			                             p->to.first * g->t.block_bytes };

		if (isfinite(p->access))
			result_row(t, &row);
	}
}

/* Where to aim next, and whether that is worth while. */
static void decide(struct geo_pair *pair, const struct geo_looks *looks, size_t n, double scatter)
{
	for (size_t i = 0; i < n; i++) {
		struct geo_pair *p = &pair[i];
		double fine = fmax(fmax(FINE / 2.0, 0.3 / (double)p->to.sectors), FINE_SCATTER * scatter);
		struct geo_border b;

		if (p->is_done)
			continue;
		b = geo_border(&looks[i], scatter);
		p->access = b.at;
		p->error = b.error;
		p->aim = looks[i].n ? b.at : FIRST_AIM;
		p->is_done = looks[i].n == GEO_LOOKS || (looks[i].n > 3 && b.error < fine);
	}
}

int geo_shortest(struct geo *g, struct geo_pair *pair, size_t n, double from, double to, double *ret_scatter,
                 struct err *err)
{
	cleanup_free struct geo_looks *looks = xcalloc(n + 1, sizeof(*looks));
	struct round round = { .open = n };
	int r = find_angles(g, pair, n, err);

	for (size_t i = 0; i < n && r == 0; i++) {
		pair[i].is_done = !(isfinite(pair[i].from.angle) && isfinite(pair[i].to.angle));
		pair[i].access = pair[i].error = NAN;
		pair[i].aim = FIRST_AIM;
		pair[i].stuck = 0;
	}
	*ret_scatter = NAN;
	for (int k = 0; k < ROUNDS && round.open && r == 0 && !geo_is_over(g); k++) {
		session_progress(g->ses, "access times", geo_done(g, from + (to - from) * fmin(1.0, k / USUAL_ROUNDS)),
		                 "%zu of %zu", n - round.open, n);
		if (2 * round.hits > round.open)
			r = forget_pairs(g, pair, n, err);
		if (r == 0)
			r = one_round(g, pair, looks, n, &round, err);
		if (k == 0 || k % SCATTER_EVERY == 0)
			*ret_scatter = geo_scatter(looks, n);
		decide(pair, looks, n, *ret_scatter);
	}
	for (size_t i = 0; i < n && r == 0; i++)
		if (looks[i].n < 4)
			pair[i].access = NAN;
	if (r == 0)
		keep(g, pair, n);
	return r;
}
