/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places and times, from samples made by hand: what is slow each time is of its place, what is slow as often as all
 * else is not; and drift is known no better than stretches of time and single places let it be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "measure/zones/zones.h"

#define PLACES  64
#define PASSES  6
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
	struct zone_sample v[PLACES * PASSES];
	struct zone_samples samples;
};

/* Passes up and down by turns, a tenth of a second each sample; spells: part of the samples that are half as fast;
 * is_bad: so is place 20, always. */
static void make(struct made *m, uint64_t seed, double spells, bool is_bad)
{
	struct rng rng;

	rng_init(&rng, seed, 7);
	m->samples = (struct zone_samples){ m->v, PLACES * PASSES, PLACES * PASSES };
	for (size_t i = 0; i < m->samples.n; i++) {
		size_t p = i / PLACES % 2 ? PLACES - 1 - i % PLACES : i % PLACES;
		bool is_slow = rng_double(&rng) < spells || (is_bad && p == 20);
		uint64_t at = (uint64_t)p * 1000000000u + i / PLACES * 10000000u;
		double ns = (is_slow ? 20.0 : 10.0) * exp(0.01 * rng_normal(&rng));

		m->v[i] = (struct zone_sample){ .position = p,
			                        .pass = (uint32_t)(i / PLACES),
			                        .first_bytes = at,
			                        .from_bytes = at,
			                        .end_bytes = at + 5000000u,
			                        .moved_bytes = 5e6,
			                        .elapsed_ns = 5e6 * ns,
			                        .ns_per_byte = ns,
			                        .se_ratio = 0.01,
			                        .waits = is_slow ? 5 : 0,
			                        .wait_revs = is_slow ? 5 : 0,
			                        .at_s = 0.1 * (double)i,
			                        .is_good = true };
	}
}

/* By all looks at place 20 that were slow, as slow.c finds them. */
static struct zone_slow region_of(const struct made *m)
{
	struct zone_slow slow = {
		.first = 20, .last = 20, .first_bytes = UINT64_MAX, .y = log(20.0), .expected_y = log(10.0)
	};

	for (size_t i = 0; i < m->samples.n; i++) {
		if (m->v[i].position != 20 || m->v[i].waits == 0)
			continue;
		slow.first_bytes = m->v[i].from_bytes < slow.first_bytes ? m->v[i].from_bytes : slow.first_bytes;
		slow.end_bytes = m->v[i].end_bytes > slow.end_bytes ? m->v[i].end_bytes : slow.end_bytes;
	}
	return slow;
}

static void what_is_slow_each_time_is_of_its_place(void **state)
{
	static struct made m;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct zone_slow slow;

		make(&m, seed, 0.05, true);
		slow = region_of(&m);
		assert_true(zone_chance_of_time(&m.samples, PLACES, &slow) < 0.05);
	}
}

static void what_is_slow_as_often_as_all_else_is_not(void **state)
{
	static struct made m;
	size_t taken = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct zone_slow slow;

		make(&m, seed, 0.3, false);
		slow = region_of(&m);
		taken += slow.end_bytes > 0 && zone_chance_of_time(&m.samples, PLACES, &slow) < 0.05;
	}
	assert_true(taken <= SEEDS / 60); /* 0.05 for any of 64 places */
}

static void a_single_sample_is_read_again_until_chance_is_excluded(void **state)
{
	static struct made m;
	struct zone_slow slow = { .first = 20, .last = 20, .y = log(20.0), .expected_y = log(10.0), .again_slow = 1 };

	(void)state;
	make(&m, 1, 0.0, false);
	assert_true(zone_chance_of_single(&m.samples, PLACES, &slow, 1) < 0.05);
	make(&m, 1, 0.3, false);
	assert_true(zone_chance_of_single(&m.samples, PLACES, &slow, 1) > 0.05);
	slow.again_slow = 4;
	assert_true(zone_chance_of_single(&m.samples, PLACES, &slow, 1) < 0.05);
	assert_true(zone_chance_of_single(&m.samples, PLACES, &slow, 20) > 0.05);
}

/* The samples in order of place; how many. */
static size_t in_order(const struct made *m, const struct zone_sample **ret)
{
	size_t n = 0;

	for (size_t p = 0; p < PLACES; p++)
		for (size_t i = 0; i < m->samples.n; i++)
			if (m->v[i].position == p)
				ret[n++] = &m->v[i];
	return n;
}

/* Of Poisson's law it is 1; where what is slow comes in spells it is more than twice that, and another slow place
 * changes nothing. */
static void waits_that_come_in_spells_scatter_more_than_chance(void **state)
{
	static struct made m;
	const struct zone_sample *s[PLACES * PASSES];
	double sum[2] = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		for (size_t k = 0; k < 2; k++) {
			size_t n;

			make(&m, seed, k ? 0.1 : 0.0, true);
			n = in_order(&m, s);
			sum[k] += zone_chance_dispersion(s, n, 40 * PASSES, 41 * PASSES - 1) / SEEDS;
		}
	print_message("dispersion %.2f and %.2f\n", sum[0], sum[1]);
	assert_true(sum[0] < 1.1);
	assert_true(sum[1] > 2.0);
}

/* One place in eight has spells, as a zone has in which requests come too late by a little; all others have one wait in
 * each sample, which scatters less than chance. */
static void waits_in_spells_near_by_are_not_hidden_by_steady_ones_elsewhere(void **state)
{
	static struct made m;
	const struct zone_sample *s[PLACES * PASSES];
	double there = 0, elsewhere = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		size_t n;

		make(&m, seed, 0.2, false);
		for (size_t i = 0; i < m.samples.n; i++)
			if (m.v[i].position >= PLACES / 8)
				m.v[i].waits = 1;
		n = in_order(&m, s);
		there += zone_chance_dispersion(s, n, 3 * PASSES, 4 * PASSES - 1) / SEEDS;
		elsewhere += zone_chance_dispersion(s, n, 40 * PASSES, 41 * PASSES - 1) / SEEDS;
	}
	print_message("dispersion %.2f and %.2f\n", there, elsewhere);
	assert_true(there > 1.5);
	assert_true(elsewhere < 1.1);
}

/* Noise that lasts for some seconds, and three places with many more samples than the others, in the run's second half.
 * The mean is 10 ns a byte. */
static void the_intervals_of_drift_and_mean_hold_them_where_noise_lasts(void **state)
{
	static struct zone_sample v[PLACES * 3 + 30];
	size_t held = 0, mean_held = 0, told = 0;

	(void)state;
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
		told += lv.drift_per_s != 0.0;
		assert_true(zone_mean(&samples, &l, &lv, false, NULL, &mean, &ci));
		mean_held += ci.low <= 10.0 && ci.high >= 10.0;
		zone_levels_done(&lv);
	}
	print_message("drift held %zu, taken out %zu, mean %zu of %d\n", held, told, mean_held, LASTING);
	assert_true(held >= LASTING * 85 / 100);
	assert_true(told <= LASTING / 300);
	assert_true(mean_held >= LASTING * 85 / 100);
}

/* Of eight parts the first is good, and the last two; so the region begins and ends within its samples. */
static void what_is_good_at_the_ends_of_a_slow_region_is_none_of_it(void **state)
{
	struct zone_sample v[2];
	const struct zone_samples samples = { v, 2, 2 };
	const struct zone_slow slow = { .first_bytes = 4096,
		                        .end_bytes = 3 * 4096,
		                        .y = log(2.0),
		                        .expected_y = log(1.0),
		                        .sample = ZONE_NONE,
		                        .is_confirmed = true };
	struct zone_slow inside;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		v[i] = (struct zone_sample){
			.from_bytes = 4096 * (i + 1), .end_bytes = 4096 * (i + 2), .moved_bytes = 4096, .is_good = true
		};
		for (size_t k = 0; k < ZONE_PARTS; k++) {
			v[i].part_ns_per_byte[k] = 4 * i + k == 0 || 4 * i + k > 5 ? 1.0 : 3.0;
			v[i].elapsed_ns += v[i].part_ns_per_byte[k] * 1024.0;
		}
	}
	inside = zone_slow_inside(&samples, &slow);
	assert_int_equal(inside.first_bytes, 4096 + 1024);
	assert_int_equal(inside.end_bytes, 3 * 4096 - 2048);
	/* 18 / 8 ns per byte with them, 3 without */
	assert_true(fabs(exp(inside.y - slow.y) - 3.0 / (18.0 / 8.0)) < 1e-9);
}

/* Of six samples one in the midst of a slow place is as fast as all others: the place gives what all of them take
 * together, and not what the slow ones take. */
static void what_is_good_in_the_midst_of_a_slow_region_is_of_its_rate(void **state)
{
	static struct made m;
	const struct zone_stretches none = { 0 };
	struct zone_position positions[PLACES] = { 0 };
	struct zone_layout l = layout_of(positions);
	struct zone_levels lv = { 0 };
	struct zone_slows slows = { 0 };

	(void)state;
	make(&m, 1, 0.0, true);
	l.interface_bytes_per_s = INFINITY;
	l.request_bytes = 1e6;
	for (size_t i = 0; i < m.samples.n; i++) {
		struct zone_sample *s = &m.v[i];

		s->waits = s->wait_revs = 0; /* by its level alone */
		if (s->position == 20 && s->pass == 2) {
			s->ns_per_byte = 10.0;
			s->elapsed_ns = s->ns_per_byte * s->moved_bytes;
		}
		for (size_t k = 0; k < ZONE_PARTS; k++)
			s->part_ns_per_byte[k] = s->ns_per_byte;
	}
	zone_levels_fit(&m.samples, &l, &lv);
	zone_slows_find(&m.samples, &l, &lv, &none, &slows);
	assert_int_equal(slows.n, 1);
	print_message("%.2f ns a byte\n", exp(slows.v[0].y));
	assert_true(fabs(exp(slows.v[0].y) - 110.0 / 6.0) < 0.3);
	free(slows.v);
	zone_levels_done(&lv);
}

/* A stall of sixty revolutions in a sample of forty, whose bytes lose one when they are read again; and a place that is
 * slow each time. */
static void a_stall_is_of_the_place_only_if_it_comes_back(void **state)
{
	struct zone_sample v[2] = {
		{ .ns_per_byte = 25.0, .is_good = true },
		{ .ns_per_byte = 10.3, .is_good = true, .kind = SAMPLE_CHECK, .check_of = 0 },
	};
	const struct zone_samples samples = { v, 2, 2 };

	(void)state;
	assert_int_equal(zone_recheck(&samples, 0, log(10.0), 0.01), RECHECK_OF_TIME);
	v[1].ns_per_byte = 20.0;
	assert_int_equal(zone_recheck(&samples, 0, log(10.0), 0.01), RECHECK_OF_PLACE);
}

/*
 * Two places in which a slow region begins: what is read there in the passes lies before it, what second looks read
 * lies in it. A limit with a credit, spent at the same time, slows down all that second looks read, at twelve places:
 * at two it cannot be told from that.
 */
static void a_step_in_time_is_seen_at_places_that_were_not_chosen_for_it(void **state)
{
	static struct zone_sample v[PLACES * 3 + 16];

	(void)state;
	for (size_t looks_at = 2; looks_at <= 12; looks_at += 10) {
		struct zone_position positions[PLACES] = { 0 };
		struct zone_layout l = layout_of(positions);
		struct zone_samples samples = { v, 0, PLACES * 3 + 16 };
		struct zone_levels lv = { 0 };
		struct rng rng;

		rng_init(&rng, 1, 5);
		for (size_t i = 0; i < PLACES * 3 + 12; i++) {
			bool is_look = i >= PLACES * 3;
			size_t p = is_look ? 4 * (i % looks_at + 1) : i % PLACES;
			double ns = (is_look ? 50.0 : 10.0) * exp(0.005 * rng_normal(&rng));

			v[samples.n++] = (struct zone_sample){ .position = p,
				                               .kind = is_look ? SAMPLE_AGAIN : SAMPLE_CURVE,
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
		assert_int_equal(lv.regime.is_found, looks_at > 2);
		zone_levels_done(&lv);
	}
}

/* What is usually lost, readings for edges between zones tell of as well as those at places. */
static void what_is_usually_lost_is_known_from_readings_for_edges_too(void **state)
{
	struct zone_position positions[PLACES] = { 0 };
	struct zone_layout l = layout_of(positions);
	struct zone_level v[2][PLACES] = { 0 };
	struct zone_levels places = { .v = v[0], .n = PLACES }, edges = { .v = v[1], .n = PLACES };
	struct made m;

	(void)state;
	make(&m, 1, 0.0, false);
	zone_losses_find(&m.samples, NULL, &l, &places);
	for (size_t i = m.samples.n / 2; i < m.samples.n; i++) {
		m.v[i].kind = SAMPLE_EDGE;
		m.v[i].position = ZONE_NONE;
	}
	zone_losses_find(&m.samples, NULL, &l, &edges);
	assert_true(places.loss_var > 0.0);
	assert_true(fabs(edges.loss_var / places.loss_var - 1.0) < 1e-9);
}

/* What comes out of the drive's buffer, as places that were never stored do, loses none of the revolutions that the
 * media lose: not taken for as slow, and known as well as it is. */
static void what_comes_out_of_the_buffer_loses_no_revolutions(void **state)
{
	struct zone_position positions[PLACES] = { 0 };
	struct zone_layout l = layout_of(positions);
	struct zone_level v[2][PLACES] = { 0 };
	struct zone_levels all = { .v = v[0], .n = PLACES }, media = { .v = v[1], .n = PLACES };
	struct made m;

	(void)state;
	make(&m, 1, 0.3, false);
	for (size_t i = 0; i < m.samples.n; i++) {
		if (m.v[i].position >= PLACES / 2)
			continue;
		m.v[i].ns_per_byte = 2.0;
		m.v[i].elapsed_ns = 1e7;
		m.v[i].waits = m.v[i].wait_revs = 0;
	}
	l.interface_bytes_per_s = 5.2e8;
	zone_losses_find(&m.samples, NULL, &l, &all);
	for (size_t p = 0; p < PLACES / 2; p++)
		assert_true(all.v[p].loss == 0.0 && sqrt(all.v[p].loss_var) < 0.02);
	for (size_t i = 0; i < m.samples.n; i++)
		m.v[i].is_good = m.v[i].position >= PLACES / 2;
	zone_losses_find(&m.samples, NULL, &l, &media);
	assert_true(all.loss > 0.1 && all.loss == media.loss); /* what is usual is of media */
	for (size_t p = PLACES / 2; p < PLACES; p++)
		assert_true(all.v[p].loss == media.v[p].loss && all.v[p].loss_var == media.v[p].loss_var);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_out_of_the_buffer_loses_no_revolutions),
		cmocka_unit_test(what_is_slow_each_time_is_of_its_place),
		cmocka_unit_test(what_is_slow_as_often_as_all_else_is_not),
		cmocka_unit_test(a_single_sample_is_read_again_until_chance_is_excluded),
		cmocka_unit_test(waits_that_come_in_spells_scatter_more_than_chance),
		cmocka_unit_test(waits_in_spells_near_by_are_not_hidden_by_steady_ones_elsewhere),
		cmocka_unit_test(what_is_good_at_the_ends_of_a_slow_region_is_none_of_it),
		cmocka_unit_test(what_is_good_in_the_midst_of_a_slow_region_is_of_its_rate),
		cmocka_unit_test(the_intervals_of_drift_and_mean_hold_them_where_noise_lasts),
		cmocka_unit_test(a_stall_is_of_the_place_only_if_it_comes_back),
		cmocka_unit_test(a_step_in_time_is_seen_at_places_that_were_not_chosen_for_it),
		cmocka_unit_test(what_is_usually_lost_is_known_from_readings_for_edges_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
