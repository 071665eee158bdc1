/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shortest access from one track to another. All angles are known, so an access of any length can be aimed at by
 * choosing the sectors: one that the head can make takes just that long, one that it cannot a revolution more. Many
 * pairs take turns, so that none is read again while the drive's cache still holds it. Always from the later track to
 * the earlier, where reading ahead does not help.
 *
 * Where the head takes a little longer or shorter each time there is no sharp border, but one by which half of the
 * accesses are made; some are late by a revolution for no reason at all. All accesses of a pair count, each by how
 * likely it is for a border at y: the posterior of y, by which the next aim is chosen, too (probabilistic bisection,
 * Horstein 1963). How far accesses scatter is the same for all pairs, and is learned from all of them.
 */
#include <math.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/layout.h"

#define LOOKS        28   /* accesses of a pair: halving comes to the scatter in 10, the rest is for late ones */
#define TURNS_MAX    4.0  /* revolutions: no shortest access is longer */
#define LAPSES       0.03 /* of the accesses come a revolution late: what real hosts and drives lose at most */
#define POINTS       48   /* of a grid over what is possible, made finer until that shows the scatter */
#define ASKED        24   /* pairs at most that show how far accesses scatter */
#define FIRST_AIM    0.7  /* revolutions */
#define FINE_SCATTER 0.6  /* of what single accesses scatter: finer takes many looks */

struct profile_row {
	uint64_t distance_tracks;
	double access_ns, resolution_ns;
	uint64_t first_byte;
};

/* Accesses of one pair that were aimed: how many revolutions each took. */
struct looks {
	double turns[LOOKS];
	size_t n;
};

/* Accesses that are longer are made; evidence: how well that explains the looks (a log-likelihood). */
struct border {
	double at, error, evidence;
};

/* Deviations that are tried, in revolutions. */
static const double scatters[] = { 0.0003, 0.001, 0.002, 0.004, 0.007, 0.012, 0.02 };

static void fill(const struct looks *k, double scatter, double low, double step, double *ret_log, double *ret_most)
{
	*ret_most = -INFINITY;
	for (int i = 0; i < POINTS; i++) {
		double y = low + ((double)i + 0.5) * step;

		ret_log[i] = 0.0;
		for (size_t j = 0; j < k->n; j++)
			ret_log[i] += log(arrival_likelihood(k->turns[j], y, fmax(scatter, step), 1.0, LAPSES));
		*ret_most = fmax(*ret_most, ret_log[i]);
	}
}

/* scatter: of the time that a single access takes. */
static struct border find_border(const struct looks *k, double scatter)
{
	double log_of[POINTS], most, low = 0.0, high = TURNS_MAX, step = 0.0, sum = 0.0, mean = 0.0, square = 0.0;

	for (;;) {
		int first = 0, last = POINTS - 1;

		step = (high - low) / POINTS;
		fill(k, scatter, low, step, log_of, &most);
		while (first < last && log_of[first] < most - GEO_SPEAKS)
			first++;
		while (last > first && log_of[last] < most - GEO_SPEAKS)
			last--;
		if (step < scatter / 3.0 || 2 * (last - first) > POINTS)
			break;
		high = fmin(TURNS_MAX, low + (double)(last + 2) * step);
		low = fmax(0.0, low + (double)(first - 1) * step);
	}
	for (int i = 0; i < POINTS; i++) {
		double y = low + ((double)i + 0.5) * step, w = exp(log_of[i] - most);

		sum += w;
		mean += w * y;
		square += w * y * y;
	}
	mean /= sum;
	return (struct border){ .at = mean,
		                .error = sqrt(fmax(0.0, square / sum - mean * mean) + step * step / 12.0),
		                .evidence = most + log(sum * step) };
}

/* The deviation of single accesses that explains the looks of all pairs best. */
static double find_scatter(const struct looks *k, size_t n)
{
	double best = scatters[0], most = -INFINITY;

	for (size_t s = 0; s < sizeof(scatters) / sizeof(scatters[0]); s++) {
		double all = 0.0;

		for (size_t i = 0; i < n; i += n / ASKED + 1)
			if (k[i].n > GEO_FEW)
				all += find_border(&k[i], scatters[s]).evidence;
		if (all > most) {
			most = all;
			best = scatters[s];
		}
	}
	return best;
}

const struct field geo_profile_fields[] = {
	FIELD_U64(struct profile_row, distance_tracks, UNIT_COUNT, "tracks"),
	FIELD_F64(struct profile_row, access_ns, UNIT_NS, "shortest access"),
	FIELD_F64(struct profile_row, resolution_ns, UNIT_NS, "to within"),
	FIELD_U64(struct profile_row, first_byte, UNIT_BYTES, "from track at"),
	FIELD_END,
};

/* Which sectors make an access of about y revolutions. */
static void aim(struct geo *g, const struct geo_pair *p, double y, uint64_t *ret_from, uint64_t *ret_to)
{
	double best = INFINITY;

	for (int i = 0; i < GEO_DRAWS; i++) {
		uint64_t k = rng_below(&g->t.rng, (uint64_t)(p->begins * (double)p->from.sectors) + 1);
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
static void learn(const struct geo_pair *p, struct looks *k, double turns)
{
	if (geo_apart(turns, p->aim) <= GEO_ADVANCE_SURE && turns <= TURNS_MAX)
		k->turns[k->n++] = turns;
}

/* Pairs of a round that are open, and those of them that the cache answered. */
struct round {
	size_t open, hits;
};

static int one_round(struct geo *g, struct geo_pair *pair, struct looks *looks, size_t n, struct round *ret,
                     struct err *err)
{
	cleanup_free uint64_t *offset = xcalloc(2 * n + 1, sizeof(*offset));
	cleanup_free double *access = xcalloc(2 * n + 1, sizeof(*access));
	cleanup_free size_t *which = xcalloc(n + 1, sizeof(*which));
	size_t m = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		uint64_t from = 0, to = 0;

		if (pair[i].is_done)
			continue;
		aim(g, &pair[i], pair[i].aim, &from, &to);
		offset[2 * m] = from * g->t.block_bytes;
		offset[2 * m + 1] = to * g->t.block_bytes;
		pair[i].tries++;
		which[m++] = i;
	}
	*ret = (struct round){ .open = m };
	if (m == 0)
		return 0;
	r = timed_media_reads(&g->t, offset, 2 * m, access, NULL, err);
	g->cost.reads += 2 * m;
	for (size_t i = 0; i < m && r == 0; i++) {
		/* Neither may have come from the cache: the head would have been elsewhere. */
		if (timed_may_be_hit(&g->rot.hits, access[2 * i]) || timed_may_be_hit(&g->rot.hits, access[2 * i + 1]))
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
		const struct profile_row row = { p->distance, p->access * g->rot.period_ns,
			                         2.0 * p->error * g->rot.period_ns, p->to.first * g->t.block_bytes };

		if (isfinite(p->access))
			result_row(t, &row);
	}
}

/* Where to aim next, and whether that is worth while. */
static void decide(struct geo_pair *pair, const struct looks *looks, size_t n, double scatter)
{
	for (size_t i = 0; i < n; i++) {
		struct geo_pair *p = &pair[i];
		double fine = fmax(0.3 / (double)p->to.sectors, FINE_SCATTER * scatter);
		struct border b;

		if (p->is_done)
			continue;
		b = find_border(&looks[i], scatter);
		p->aim = looks[i].n ? b.at : FIRST_AIM;
		p->is_done = p->tries == LOOKS || (looks[i].n > GEO_FEW && b.error < fine);
	}
}

/* All of them in the end, by how far accesses scatter, which is returned. */
static double judge(struct geo_pair *pair, const struct looks *looks, size_t n)
{
	double scatter = find_scatter(looks, n);

	for (size_t i = 0; i < n; i++) {
		struct border b = { .at = NAN, .error = NAN };

		if (looks[i].n > GEO_FEW)
			b = find_border(&looks[i], scatter);
		pair[i].access = b.at;
		pair[i].error = b.error;
	}
	return scatter;
}

int geo_shortest(struct geo *g, struct geo_pair *pair, size_t n, double from, double to, double *ret_scatter,
                 struct err *err)
{
	cleanup_free struct looks *looks = xcalloc(n + 1, sizeof(*looks));
	struct round round = { .open = n };
	double scatter = scatters[0];
	int r;

	geo_may_take(g, GEO_LAST_AT);
	r = find_angles(g, pair, n, err);
	for (size_t i = 0; i < n && r == 0; i++) {
		pair[i].is_done = !(isfinite(pair[i].from.angle) && isfinite(pair[i].to.angle));
		pair[i].aim = FIRST_AIM;
		pair[i].tries = 0;
	}
	for (int k = 0; round.open && r == 0 && !geo_is_over(g); k++) {
		session_progress(g->ses, "access times", geo_done(g, from + (to - from) * fmin(1.0, 2.0 * k / LOOKS)),
		                 "%zu of %zu", n - round.open, n);
		if (2 * round.hits > round.open)
			r = forget_pairs(g, pair, n, err);
		if (r == 0)
			r = one_round(g, pair, looks, n, &round, err);
		if ((k & (k - 1)) == 0) /* as many looks again as the last time */
			scatter = find_scatter(looks, n);
		decide(pair, looks, n, scatter);
	}
	if (r == 0)
		*ret_scatter = judge(pair, looks, n);
	if (r == 0)
		keep(g, pair, n);
	geo_may_take(g, 1.0);
	return r;
}
