/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What accesses over few tracks say: a row for each distance, and the time to the next cylinder (model/near.h). */
#include <math.h>

#include "base/cleanup.h"
#include "measure/seek/analysis.h"

#define FAR     0.02 /* of the stroke: the curve has points there, and no knee below (a choice) */
#define SHARP   0.01 /* of a revolution, standard error: a pair that is shown by itself (a choice) */
#define DEGREES 4.0  /* of freedom of the law (Student) by which the prior scatters */

struct near_row {
	uint64_t tracks, distance_bytes;
	double seek_ns, low, high, with_overhead_ns;
	uint64_t samples, hits;
};

const struct field seek_near_fields[] = {
	FIELD_U64(struct near_row, tracks, UNIT_COUNT, "tracks"),
	FIELD_U64(struct near_row, distance_bytes, UNIT_BYTES, "distance"),
	FIELD_F64(struct near_row, seek_ns, UNIT_NS, "seek"),
	FIELD_F64(struct near_row, low, UNIT_NS, "shortest"),
	FIELD_F64(struct near_row, high, UNIT_NS, "longest"),
	FIELD_F64(struct near_row, with_overhead_ns, UNIT_NS, "with overhead"),
	FIELD_U64(struct near_row, samples, UNIT_COUNT, "reads"),
	FIELD_U64(struct near_row, hits, UNIT_COUNT, "cache hits", .detail = true),
	FIELD_END,
};

static size_t add_pairs(const struct seek_known *k, const struct seek_point *p, struct seek_pairs *to)
{
	const struct arrival_prior prior = { .scatter = isfinite(k->scatter.ns) ? k->scatter.ns : 0.0 };
	const size_t had = to->of.n;

	for (uint32_t g = 0; g < p->log.pairs && to->of.n < ARRAY_LEN(to->of.v); g++) {
		struct arrival_sample one[64];
		struct arrival a;
		size_t n = seek_log_samples(&p->log, g, one, ARRAY_LEN(one));

		if (n >= 5 && fit_arrival(one, n, k->places.period_ns, &prior, &a) &&
		    interval_half(a.ci) < SEEK_KNOWN * k->places.period_ns && seek_is_after_overhead(k, &a))
			to->of.v[to->of.n++] =
				(struct near_pair){ p->tracks, a.median,
				                    hypot(interval_half(a.ci) / STATS_95, SEEK_FLOOR_NS) };
	}
	return to->of.n - had;
}

struct seek_pairs seek_pairs_of(const struct seek_known *k, const struct seek_point *p, size_t n)
{
	struct seek_pairs pairs = { .shortest_ns = INFINITY };
	double least = INFINITY;

	for (size_t i = 0; i < n; i++)
		pairs.found[i] = p[i].log.pairs ? add_pairs(k, &p[i], &pairs) : 0;
	for (size_t i = 0; i < pairs.of.n; i++) {
		double high = pairs.of.v[i].ns + 2.0 * pairs.of.v[i].se;

		pairs.shortest_ns = fmin(pairs.shortest_ns, fmax(high, least));
		least = fmin(least, high);
	}
	return pairs;
}

/* What is believed of it before: what the curve says of so near. */
static struct near_prior believed(const struct seek_known *k)
{
	const double track = seek_track_bytes(&k->places, 0.0) / (double)k->places.size_bytes;
	const struct curve *c = &k->curve;
	const struct stats_estimate first = curve_about(c, SEEK_APART * track);

	return (struct near_prior){ .fitted = first.value,
		                    .scale = fmin(interval_half(first.ci) + c->rms_ns, k->places.period_ns) /
		                             stats_t_975(DEGREES),
		                    .far = curve_at(c, FAR),
		                    .far_tracks = FAR / track,
		                    .least = fmax(isfinite(k->overhead.ns) ? k->overhead.ci.low : 0.0, 0.0) };
}

struct stats_estimate seek_next_cylinder(const struct seek_known *k, const struct seek_pairs *all)
{
	const struct near_prior prior = believed(k);
	struct near_pairs pairs = { .n = 0 };
	struct stats_estimate next;
	double off;

	for (size_t i = 0; i < all->of.n; i++)
		if (pairs.n || all->of.v[i].tracks >= SEEK_APART)
			pairs.v[pairs.n++] = all->of.v[i];
	if (!k->curve.is_known || !pairs.n)
		return STATS_UNKNOWN;
	next = near_next_cylinder(&pairs, &prior);
	/* Where all pairs say what the curve does not, one of the two is of something else, as what a cache answers. */
	if (fabs(next.value - prior.fitted) > stats_t_975(DEGREES) * prior.scale) {
		next.ci.low = fmin(next.ci.low, prior.fitted);
		next.ci.high = fmax(next.ci.high, prior.fitted);
	}
	off = SEEK_FLOOR_NS + (isfinite(k->scatter.ns) ? k->scatter.ns / 3.0 : 0.0); /* that all may be off together */
	return (struct stats_estimate){ next.value, { next.ci.low - off, next.ci.high + off } };
}

void seek_report_near(struct result *res, const struct seek_known *k, const struct seek_pairs *pairs,
                      const struct seek_point *p, size_t n)
{
	struct table *t = result_table(res, "near", "Seek time over few tracks", seek_near_fields);
	const size_t *found = pairs->found;

	for (size_t i = 0, from = 0; i < n; from += found[i++]) {
		double v[ARRAY_LEN(pairs->of.v)];
		struct summary sum;
		struct near_row row = { .tracks = p[i].tracks };
		size_t sharp = 0;

		for (size_t j = 0; j < found[i]; j++)
			if (pairs->of.v[from + j].se < SHARP * k->places.period_ns)
				v[sharp++] = pairs->of.v[from + j].ns;
		/* Where places overlap the drive may read on from one into the other: one pair alone is not believed.
		 */
		if (sharp < (p[i].tracks < SEEK_APART ? 2 : 1) || !summary_of(v, sharp, &sum))
			continue;
		row.distance_bytes = seek_distance(&p[i].log, &row.samples, &row.hits);
		row.with_overhead_ns = sum.median;
		row.seek_ns = sum.median - k->overhead.ns;
		row.low = sum.min - k->overhead.ns;
		row.high = sum.max - k->overhead.ns;
		result_row(t, &row);
	}
}
