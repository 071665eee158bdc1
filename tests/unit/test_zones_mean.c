/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mean of the whole surface and its zones, from samples made by hand: what was lost counts once, what no sample met
 * is not left out of the mean's interval, and samples of one place are no more than one word on zones.
 */
#include "test.h"

#include "measure/zones/zones.h"

#define PLACES     64
#define PASSES     3
#define SPACING    1000000000u
#define REV_NS     8.4e6
#define NS         10.0
#define MOVED      5e6
#define SEEDS      300
#define BAND_SEEDS 40

struct made {
	struct zone_sample v[PLACES * PASSES];
	struct zone_samples samples;
	struct zone_position positions[PLACES];
	struct zone_layout l;
};

/* Passes over all places, 0.5 % of noise. */
static void make(struct made *m, struct rng *rng)
{
	*m = (struct made){ .l = { .end_bytes = (uint64_t)PLACES * SPACING,
		                   .npositions = PLACES,
		                   .align_bytes = 512,
		                   .rev_ns = REV_NS,
		                   .start = 0,
		                   .middle = PLACES / 2,
		                   .end = PLACES - 1 } };
	m->l.positions = m->positions;
	m->samples = (struct zone_samples){ m->v, PLACES * PASSES, PLACES * PASSES };
	for (size_t i = 0; i < m->samples.n; i++) {
		uint64_t at = i % PLACES * SPACING + SPACING / 2 + i / PLACES * (uint64_t)MOVED;
		double ns = NS * exp(0.005 * rng_normal(rng));

		m->v[i] = (struct zone_sample){ .position = i % PLACES,
			                        .pass = (uint32_t)(i / PLACES),
			                        .from_bytes = at,
			                        .end_bytes = at + (uint64_t)MOVED,
			                        .moved_bytes = MOVED,
			                        .elapsed_ns = MOVED * ns,
			                        .ns_per_byte = ns,
			                        .se_ratio = 0.005,
			                        .at_s = 0.1 * (double)i,
			                        .is_good = true };
	}
}

static const struct zone_bands no_bands = { 0 };

TEST(a_stall_counts_once_in_the_mean)
{
	static struct made m;
	struct zone_levels lv = { 0 };
	double all = 0.0, mean;
	struct interval ci;
	struct rng rng;

	rng_init(&rng, 1, 3);
	make(&m, &rng);
	for (size_t i = 5; i < m.samples.n; i += 31) {
		m.v[i].lost.waits = 1;
		m.v[i].lost.revs = 20;
		m.v[i].elapsed_ns += 20.0 * REV_NS;
		m.v[i].ns_per_byte = m.v[i].elapsed_ns / m.v[i].moved_bytes;
	}
	for (size_t i = 0; i < m.samples.n; i++)
		all += m.v[i].elapsed_ns / m.v[i].moved_bytes / (double)m.samples.n;
	zone_levels_fit(&m.samples, &m.l, &lv);
	assert_true(zone_mean(&m.l, &lv, &no_bands, NULL, &mean, &ci));
	print_message("%.3f ns per byte of %.3f, without stalls %.3f\n", mean, all, NS);
	assert_true(all > 1.1 * NS);
	assert_true(fabs(mean / all - 1.0) < 0.01);
	zone_levels_done(&lv);
}

/* Four regions five times as slow, narrower than the distance of two places: the time per byte that they add to the
 * mean. Those that are met slow down samples. */
static double plant(struct made *m, struct rng *rng, struct zone_slow *met, size_t *ret_met)
{
	double more = 0.0;

	*ret_met = 0;
	for (size_t k = 0; k < 4; k++) {
		uint64_t bytes = (uint64_t)(rng_double(rng) * SPACING);
		uint64_t first = (k * PLACES / 4 + 2) * SPACING + (uint64_t)(10.0 * rng_double(rng) * SPACING);
		struct zone_slow slow = {
			.first_bytes = UINT64_MAX, .y = log(5.0 * NS), .expected_y = log(NS), .is_confirmed = true
		};

		for (size_t i = 0; i < m->samples.n; i++) {
			struct zone_sample *s = &m->v[i];

			if (s->from_bytes < first || s->end_bytes > first + bytes)
				continue;
			s->ns_per_byte *= 5.0;
			s->elapsed_ns *= 5.0;
			slow.first = slow.last = s->position;
			slow.first_bytes = slow.end_bytes ? slow.first_bytes : s->from_bytes;
			slow.end_bytes = s->end_bytes;
		}
		if (slow.end_bytes)
			met[(*ret_met)++] = slow;
		more += 4.0 * NS * (double)bytes / (double)m->l.end_bytes;
	}
	return more;
}

TEST(the_interval_of_the_mean_knows_that_slow_regions_are_met_by_chance)
{
	static struct made m;
	size_t held = 0, all = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct zone_slow met[4];
		struct zone_slows slows = { .v = met };
		struct zone_levels lv = { 0 };
		struct interval ci;
		double truth, mean;
		struct rng rng;

		rng_init(&rng, seed, 3);
		make(&m, &rng);
		truth = NS + plant(&m, &rng, met, &slows.n);
		if (!slows.n)
			continue;
		zone_levels_fit(&m.samples, &m.l, &lv);
		assert_true(zone_mean(&m.l, &lv, &no_bands, &slows, &mean, &ci));
		all++;
		held += ci.low <= truth && ci.high >= truth;
		zone_levels_done(&lv);
	}
	print_message("mean held on %zu of %zu\n", held, all);
	assert_true(held >= all * 93 / 100);
}

/* The bands of samples as they are. free(ret->v). */
static void fit_bands(struct made *m, const struct zone_slows *slows, const struct zone_stretches *st,
                      struct zone_bands *ret)
{
	struct zone_levels lv = { 0 };

	zone_levels_fit(&m->samples, &m->l, &lv);
	zone_bands_find(&m->l, &lv, slows, st, ret);
	zone_levels_done(&lv);
}

/* Two zones 4 % apart; places differ by 0.2 %, as they do where they lie on some of the surfaces only. */
TEST(places_that_differ_are_seldom_zones)
{
	static struct made m;
	size_t found = 0, false_ones = 0;

	for (uint64_t seed = 1; seed <= BAND_SEEDS; seed++) {
		const struct zone_slows slows = { 0 };
		const struct zone_stretches st = { 0 };
		struct zone_bands bands;
		double off[PLACES];
		struct rng rng;

		rng_init(&rng, seed, 3);
		make(&m, &rng);
		for (size_t p = 0; p < PLACES; p++)
			off[p] = (p < PLACES / 2 ? 0.0 : 0.04) + 0.002 * rng_normal(&rng);
		for (size_t i = 0; i < m.samples.n; i++)
			m.v[i].ns_per_byte = NS * exp(off[i % PLACES] + 0.001 * rng_normal(&rng));
		fit_bands(&m, &slows, &st, &bands);
		for (size_t k = 1; k < bands.n; k++) {
			bool is_it = fabs((double)bands.v[k].first_bytes - PLACES / 2 * (double)SPACING) < SPACING;

			found += is_it;
			false_ones += !is_it;
		}
		free(bands.v);
	}
	print_message("the zone was found on %zu of %d, %zu others\n", found, BAND_SEEDS, false_ones);
	assert_true(found >= BAND_SEEDS * 95 / 100);
	assert_true(false_ones <= BAND_SEEDS / 20);
}

/* The bands of samples that differ by place as `off` says, by so much of their logarithm, and hardly otherwise.
 * free(ret->v). */
static void find_bands(struct made *m, const double *off, const struct zone_slows *slows,
                       const struct zone_stretches *st, struct zone_bands *ret)
{
	struct rng rng;

	rng_init(&rng, 1, 4);
	for (size_t i = 0; i < m->samples.n; i++)
		m->v[i].ns_per_byte = NS * exp(off[m->v[i].position] + 0.0005 * rng_normal(&rng));
	fit_bands(m, slows, st, ret);
}

#define SLOW_FIRST 20 /* places of a slow region, in which a zone begins */
#define SLOW_LAST  23

/* The last good sample before it is slower in part. */
TEST(a_zone_does_not_begin_with_a_slow_region)
{
	struct zone_slow slow = { .first = SLOW_FIRST,
		                  .last = SLOW_LAST,
		                  .first_bytes = SLOW_FIRST * (uint64_t)SPACING,
		                  .end_bytes = (SLOW_LAST + 1) * (uint64_t)SPACING,
		                  .is_confirmed = true };
	static struct made m;
	const struct zone_slows slows = { .v = &slow, .n = 1 };
	const struct zone_stretches st = { 0 };
	struct zone_sample *edge;
	struct zone_bands bands;
	double off[PLACES];
	struct rng rng;

	rng_init(&rng, 1, 3);
	make(&m, &rng);
	for (size_t p = 0; p < PLACES; p++)
		off[p] = p < SLOW_FIRST ? 0.0 : p <= SLOW_LAST ? 0.7 : 0.1;
	edge = &m.v[SLOW_LAST];
	edge->kind = SAMPLE_EDGE;
	edge->position = SLOW_LAST + 1;
	edge->end_bytes = slow.first_bytes - (uint64_t)MOVED;
	edge->from_bytes = edge->end_bytes - (uint64_t)MOVED;
	find_bands(&m, off, &slows, &st, &bands);
	assert_int_equal(bands.n, 2);
	assert_true(bands.v[1].first_bytes > slow.first_bytes);
	assert_true(bands.v[1].edge_half_bytes > (slow.end_bytes - slow.first_bytes) / 2);
	free(bands.v);
}

/* Three passes over 16 places: 200 MB/s until the credit is spent in the second, 50 MB/s from then on. */
TEST(storage_that_spends_a_credit_is_told_with_both_rates_and_the_credit)
{
	enum { CELLS = 16, ROUNDS = 3, FAST = 24 };
	struct zone_position positions[CELLS] = { 0 };
	struct zone_layout l = { .positions = positions,
		                 .npositions = CELLS,
		                 .slots = 8,
		                 .window_bytes = 64 << 20,
		                 .stride_bytes = 72 << 20,
		                 .end_bytes = 64000000000u,
		                 .start = 0,
		                 .middle = CELLS / 2,
		                 .end = CELLS - 1 };
	struct zone_sample v[CELLS * ROUNDS] = { 0 };
	struct zone_samples samples = { v, CELLS * ROUNDS, CELLS * ROUNDS };
	struct zone_levels levels;
	double at_s = 0.0, bytes = 50e6;

	for (size_t i = 0; i < samples.n; i++) {
		double noise = 1.0 + 0.002 * ((double)(i * 7 % 5) - 2.0);
		double ns_per_byte = (i < FAST ? 5.0 : 20.0) * noise;
		size_t place = i / CELLS % 2 ? CELLS - 1 - i % CELLS : i % CELLS;
		uint64_t first = place * 4000000000u + i / CELLS * (72u << 20);

		v[i] = (struct zone_sample){ .position = place,
			                     .kind = SAMPLE_CURVE,
			                     .pass = (uint32_t)(i / CELLS),
			                     .first_bytes = first,
			                     .from_bytes = first,
			                     .end_bytes = first + (uint64_t)bytes,
			                     .moved_bytes = bytes,
			                     .elapsed_ns = ns_per_byte * bytes,
			                     .ns_per_byte = ns_per_byte,
			                     .se_ratio = 0.002,
			                     .at_s = at_s,
			                     .is_good = true };
		at_s += ns_per_byte * bytes * 1e-9;
	}
	zone_levels_fit(&samples, &l, &levels);
	assert_true(levels.regime.is_found);
	assert_true(fabs(levels.regime.before_bytes_per_s / 200e6 - 1.0) < 0.01);
	assert_true(fabs(levels.regime.after_bytes_per_s / 50e6 - 1.0) < 0.01);
	assert_true(fabs(levels.regime.before_bytes / (FAST * bytes) - 1.0) < 0.01);
	/* The levels are of what it does without credit. */
	for (size_t p = 0; p < CELLS; p++)
		if (levels.v[p].n)
			assert_true(fabs(zone_rate(levels.v[p].y) / 50e6 - 1.0) < 0.02);
	zone_levels_done(&levels);
}
