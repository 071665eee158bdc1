/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places and times, from samples made by hand: what is slow each time is of its place, what is slow as often as all
 * else is not; and drift is known no better than stretches of time and single places let it be.
 */
#include "test.h"

#include "measure/zones/zones.h"

#define PLACES  64
#define PASSES  6
#define CHECKS  8
#define SEEDS   300
#define LASTING 3000 /* runs where noise lasts, in which intervals and drift are less sure than they say */

/* Of a disk of 7200 rpm with a place in each GB. */
static struct zone_layout layout_of(struct zone_position *positions)
{
	return (struct zone_layout){ .positions = positions,
		                     .end_bytes = PLACES * 1000000000ull,
		                     .npositions = PLACES,
		                     .rev_ns = 8.4e6,
		                     .start = 0,
		                     .middle = 32,
		                     .end = 63 };
}

struct made {
	struct zone_sample v[PLACES * PASSES + 2 * CHECKS];
	struct zone_samples samples;
};

static struct zone_sample sample_of(size_t p, size_t i, bool is_slow, struct rng *rng)
{
	uint64_t at = (uint64_t)p * 1000000000u + i / PLACES * 10000000u;
	double ns = (is_slow ? 20.0 : 10.0) * exp(0.01 * rng_normal(rng));

	return (struct zone_sample){ .position = p,
		                     .pass = (uint32_t)(i / PLACES),
		                     .first_bytes = at,
		                     .from_bytes = at,
		                     .end_bytes = at + 5000000u,
		                     .moved_bytes = 5e6,
		                     .elapsed_ns = 5e6 * ns,
		                     .ns_per_byte = ns,
		                     .part_ns_per_byte = { ns, ns, ns, ns },
		                     .se_ratio = 0.01,
		                     .lost.waits = is_slow ? 5 : 0,
		                     .lost.revs = is_slow ? 5 : 0,
		                     .at_s = 0.1 * (double)i,
		                     .is_good = true };
}

/* Passes up and down by turns, a tenth of a second each sample; spells: part of the samples that are half as fast;
 * is_bad: so is place 20, always. Then bytes of places 40 and 20 by turns in other requests. */
static void make(struct made *m, uint64_t seed, double spells, bool is_bad)
{
	struct rng rng;

	rng_init(&rng, seed, 7);
	m->samples = (struct zone_samples){ m->v, PLACES * PASSES + 2 * CHECKS, PLACES * PASSES + 2 * CHECKS };
	for (size_t i = 0; i < PLACES * PASSES; i++) {
		size_t p = i / PLACES % 2 ? PLACES - 1 - i % PLACES : i % PLACES;

		m->v[i] = sample_of(p, i, rng_double(&rng) < spells || (is_bad && p == 20), &rng);
	}
	for (size_t i = PLACES * PASSES; i < m->samples.n; i++) {
		size_t p = i % 2 ? 20 : 40;

		m->v[i] = sample_of(p, p, rng_double(&rng) < spells || (is_bad && p == 20), &rng);
		m->v[i].kind = SAMPLE_CHECK;
		m->v[i].position = ZONE_NONE;
		m->v[i].check_of = p;
		m->v[i].at_s = 0.1 * (double)i;
	}
}

struct found {
	size_t confirmed, there, open; /* regions; at place 20; there, where more looks decide */
};

static void add_found(const struct made *m, struct found *to)
{
	struct zone_position positions[PLACES] = { 0 };
	struct zone_layout l = layout_of(positions);
	const struct zone_stretches none = { 0 };
	struct zone_samples samples = m->samples;
	struct zone_slows slows;
	struct zone_levels lv;

	zone_levels_fit(&samples, &l, &lv);
	zone_slows_find(&l, &lv, &none, &slows);
	for (size_t i = 0; i < slows.n; i++) {
		bool is_there = slows.v[i].first <= 20 && slows.v[i].last >= 20;

		to->confirmed += slows.v[i].is_confirmed;
		to->there += slows.v[i].is_confirmed && is_there;
		to->open += !slows.v[i].is_confirmed && is_there;
	}
	free(slows.v);
	zone_levels_done(&lv);
}

/* A spell at a place beside it looks the same, and takes more looks. */
TEST(what_is_slow_each_time_is_of_its_place)
{
	static struct made m;
	struct found f = { 0 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		make(&m, seed, 0.05, true);
		add_found(&m, &f);
	}
	print_message("%zu of %d found, %zu open, %zu elsewhere\n", f.there, SEEDS, f.open, f.confirmed - f.there);
	assert_true(f.there >= SEEDS * 9 / 10);
	assert_true(f.there + f.open >= SEEDS * 99 / 100);
	assert_true(f.confirmed - f.there <= SEEDS / 20); /* LOSSY_SURE */
}

/* Spells in which all is slow, as where others read, that take from a twentieth to half of the time. */
TEST(what_is_slow_as_often_as_all_else_is_not)
{
	static struct made m;
	struct found f = { 0 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		make(&m, seed, 0.05 + 0.45 * (double)seed / SEEDS, false);
		add_found(&m, &f);
	}
	print_message("%zu of %d\n", f.confirmed, SEEDS);
	assert_true(f.confirmed <= SEEDS / 20); /* LOSSY_SURE */
}

/* Noise that lasts for some seconds, and three places with many more samples than the others, in the run's second half.
 * The mean is 10 ns a byte. */
static const struct zone_bands no_bands = { 0 };

TEST(the_intervals_of_drift_and_mean_hold_them_where_noise_lasts)
{
	static struct zone_sample v[PLACES * 3 + 30];
	size_t held = 0, mean_held = 0, told = 0;

	for (uint64_t seed = 1; seed <= LASTING; seed++) {
		struct zone_position positions[PLACES] = { 0 };
		struct zone_layout l = layout_of(positions);
		struct zone_samples samples = { v, 0, PLACES * 3 + 30 };
		struct zone_levels lv = { 0 };
		struct rng rng;
		double lasting = 0.0, mean;
		struct interval ci;

		rng_init(&rng, seed, 3);
		for (size_t i = 0; i < PLACES * 3 + 30; i++) {
			size_t p = i >= PLACES * 3   ? 10 * (i % 3)
			           : i / PLACES == 1 ? PLACES - 1 - i % PLACES
			                             : i % PLACES;
			double ns;

			lasting = 0.7 * lasting + 0.004 * rng_normal(&rng);
			ns = 10.0 * exp(0.005 * rng_normal(&rng) + lasting);
			v[samples.n++] = (struct zone_sample){ .position = p,
				                               .pass = (uint32_t)(i / PLACES),
				                               .from_bytes = p * 1000000000u + i * 100000u,
				                               .end_bytes = p * 1000000000u + i * 100000u + 90000u,
				                               .moved_bytes = 5e6,
				                               .elapsed_ns = 5e6 * ns,
				                               .ns_per_byte = ns,
				                               .se_ratio = 0.005,
				                               .at_s = 0.1 * (double)i,
				                               .is_good = true };
		}
		zone_levels_fit(&samples, &l, &lv);
		held += lv.drift_ci.low <= 0.0 && lv.drift_ci.high >= 0.0;
		told += lv.has_drift;
		assert_true(zone_mean(&l, &lv, &no_bands, NULL, &mean, &ci));
		mean_held += ci.low <= 10.0 && ci.high >= 10.0;
		zone_levels_done(&lv);
	}
	print_message("drift held %zu, reported %zu, mean %zu of %d\n", held, told, mean_held, LASTING);
	assert_true(held >= LASTING * 85 / 100);
	assert_true(told <= LASTING / 300);
	assert_true(mean_held >= LASTING * 85 / 100);
}

/* What is usually lost, readings for edges between zones tell of as well as those at places. */
TEST(what_is_usually_lost_is_known_from_readings_for_edges_too)
{
	struct zone_position positions[PLACES] = { 0 };
	struct zone_layout l = layout_of(positions);
	struct zone_level v[2][PLACES] = { 0 };
	struct made m;
	struct zone_levels places, edges;

	make(&m, 1, 0.0, false);
	m.samples.n = PLACES * PASSES;
	places = (struct zone_levels){ .marked = m.samples, .v = v[0], .n = PLACES };
	edges = (struct zone_levels){ .marked = m.samples, .v = v[1], .n = PLACES };
	zone_losses_find(&l, &places);
	for (size_t i = m.samples.n / 2; i < m.samples.n; i++) {
		m.v[i].kind = SAMPLE_EDGE;
		m.v[i].position = ZONE_NONE;
	}
	zone_losses_find(&l, &edges);
	assert_true(places.loss_var > 0.0);
	assert_true(fabs(edges.loss_var / places.loss_var - 1.0) < 1e-9);
}

/* What comes out of the drive's buffer, as places that were never stored do, loses none of the revolutions that the
 * media lose: not taken for as slow, and known as well as it is. */
TEST(what_comes_out_of_the_buffer_loses_no_revolutions)
{
	struct zone_position positions[PLACES] = { 0 };
	struct zone_layout l = layout_of(positions);
	struct zone_level v[2][PLACES] = { 0 };
	struct made m;
	struct zone_levels all, media;

	make(&m, 1, 0.3, false);
	all = (struct zone_levels){ .marked = m.samples, .v = v[0], .n = PLACES };
	media = (struct zone_levels){ .marked = m.samples, .v = v[1], .n = PLACES };
	for (size_t i = 0; i < m.samples.n; i++) {
		if (m.v[i].position >= PLACES / 2)
			continue;
		m.v[i].ns_per_byte = 2.0;
		m.v[i].elapsed_ns = 1e7;
		m.v[i].lost.waits = m.v[i].lost.revs = 0;
	}
	l.interface_bytes_per_s = 5.2e8;
	zone_losses_find(&l, &all);
	for (size_t p = 0; p < PLACES / 2; p++)
		assert_true(all.v[p].loss == 0.0 && sqrt(all.v[p].loss_var) < 0.02);
	for (size_t i = 0; i < m.samples.n; i++)
		m.v[i].is_good = m.v[i].position >= PLACES / 2;
	zone_losses_find(&l, &media);
	assert_true(all.loss > 0.1 && all.loss == media.loss); /* what is usual is of media */
	for (size_t p = PLACES / 2; p < PLACES; p++)
		assert_true(all.v[p].loss == media.v[p].loss && all.v[p].loss_var == media.v[p].loss_var);
}
