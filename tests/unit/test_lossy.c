/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a series that lose more revolutions than the rest, and whether place or time makes them. */
#include "test.h"

#include "model/lossy.h"

#define N     300
#define SEEDS TALLY_SEEDS(300)
#define USUAL 0.005
#define LEAST 0.03

/* Readings of 20 revolutions; those in [first, end) lose at `rate`, the rest as usual. */
static void draw(uint64_t seed, size_t first, size_t end, double rate, struct lossy_at *ret)
{
	struct rng rng;

	rng_init(&rng, seed, 8);
	for (size_t i = 0; i < N; i++) {
		double each = i >= first && i < end ? rate : USUAL, lost = 0.0;

		for (double at = rng_exp(&rng, 1.0 / each); at < 20.0; at += rng_exp(&rng, 1.0 / each))
			lost++;
		ret[i] = (struct lossy_at){ lost, 20.0 };
	}
}

/* Those of such odds. */
static size_t find(const struct lossy_at *v, double least_odds, struct lossy_part *ret)
{
	double single;
	size_t n = lossy_find(v, N, LEAST, 20.0, ret, &single), sure = 0;

	for (size_t i = 0; i < n; i++) {
		assert_true(ret[i].first <= ret[i].last && ret[i].last < N && (!i || ret[i].first > ret[i - 1].last));
		assert_true(ret[i].first <= ret[i].sure_first && ret[i].sure_first <= ret[i].sure_last &&
		            ret[i].sure_last <= ret[i].last);
		if (ret[i].log_odds > least_odds)
			ret[sure++] = ret[i];
	}
	return sure;
}

TEST(chance_makes_no_part)
{
	struct lossy_part part[N];
	struct lossy_at v[N];
	size_t n = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		draw(seed, 0, 0, 0.0, v);
		n += find(v, LOSSY_SURE, part);
	}
	assert_true(n <= SEEDS / 20);
}

/* Wherever it lies: moved by some readings its ends move by as many. */
TEST(a_part_that_loses_more_is_found_where_it_is)
{
	static const struct {
		size_t readings;
		double rate, odds; /* so few readings are worth a second look */
	} drawn[] = { { 1, 0.6, -INFINITY },
		      { 2, 0.4, -INFINITY },
		      { 5, 0.25, -LOSSY_SURE },
		      { 40, 0.08, LOSSY_SURE },
		      { 100, 2.0, LOSSY_SURE } };
	struct lossy_part part[N];
	struct lossy_at v[N];

	for (size_t k = 0; k < ARRAY_LEN(drawn); k++) {
		size_t found = 0;
		double off = 0.0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			size_t first = seed % (N - drawn[k].readings), end = first + drawn[k].readings;

			draw(seed, first, end, drawn[k].rate, v);
			for (size_t n = find(v, drawn[k].odds, part), i = 0; i < n; i++) {
				if (part[i].last < first || part[i].first >= end)
					continue;
				found++;
				off += fabs((double)part[i].first - (double)first) +
				       fabs((double)part[i].last + 1.0 - (double)end);
				break;
			}
		}
		print_message("%zu readings: %zu of %d\n", drawn[k].readings, found, SEEDS);
		assert_true(found >= SEEDS * 95 / 100);
		assert_true(off <= (2.0 + 0.2 * (double)drawn[k].readings) * SEEDS);
	}
}

/* A reading that comes from a buffer, or was lucky; none is a region of its own for it. */
TEST(one_reading_that_loses_nothing_does_not_make_two_parts)
{
	struct lossy_part part[N];
	struct lossy_at v[N];

	draw(1, 100, 120, 3.0, v);
	v[110].lost = 0.0;
	assert_int_equal(find(v, LOSSY_SURE, part), 1);
	for (size_t i = 108; i < 113; i++)
		v[i].lost = 0.0;
	assert_int_equal(find(v, LOSSY_SURE, part), 2);
}

/* One in ten loses on the way, wherever it lies: none of them is a part for it, and what such a disk has is found. */
TEST(what_is_lost_everywhere_makes_no_part)
{
	struct lossy_part part[N];
	struct lossy_at v[N];
	size_t false_ones = 0, found = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		size_t first = 10 + seed % (N - 40), n;
		struct rng rng;

		draw(seed, first, first + 12, 0.5, v);
		rng_init(&rng, seed, 9);
		for (size_t i = 0; i < N; i++)
			v[i].lost += rng_double(&rng) < 0.1 ? 10.0 : 0.0;
		n = find(v, LOSSY_SURE, part);
		for (size_t i = 0; i < n; i++) {
			bool is_there = part[i].first < first + 12 && part[i].last >= first;

			found += is_there;
			false_ones += !is_there;
		}
	}
	assert_true(false_ones <= SEEDS / 20);
	assert_true(found >= SEEDS * 9 / 10);
}

/* The ends of a part are no surer than what lies there: a reading that lost once, beside it, is not of it. */
TEST(a_reading_that_may_be_of_either_is_not_of_the_part)
{
	struct lossy_part part[N];
	struct lossy_at v[N];

	for (size_t i = 0; i < N; i++)
		v[i] = (struct lossy_at){ i % 50 == 0, 12.0 };
	for (size_t i = 101; i < 107; i++)
		v[i].lost = 7.0;
	assert_int_equal(find(v, LOSSY_SURE, part), 1);
	assert_int_equal(part[0].sure_first, 101);
	assert_int_equal(part[0].sure_last, 106);
}

/* Passes over places; others slow down all in spells that take this share of the time. A look at `bad` always loses;
 * and so do its bytes when they are read again. */
static struct lossy_odds odds_at(uint64_t seed, double spells, size_t place, bool is_bad, size_t passes, double check)
{
	struct lossy_look v[64 * 12 + 8];
	struct rng rng;
	size_t n = 0;

	rng_init(&rng, seed, 4);
	for (size_t pass = 0; pass < passes; pass++) {
		bool is_spell = false;

		for (size_t i = 0; i < 64; i++) {
			size_t p = pass % 2 ? 63 - i : i;

			if (rng_double(&rng) < 0.2) /* a spell lasts for five readings */
				is_spell = rng_double(&rng) < spells;
			v[n++] = (struct lossy_look){ .at = { is_spell || (is_bad && p == place) ? 5.0 : 0.0, 20.0 },
				                      .is_inside = p == place };
		}
	}
	for (size_t i = 0; i < 4; i++) {
		v[n++] = (struct lossy_look){ .at = { 0.0, 20.0 } };
		v[n++] = (struct lossy_look){ .at = { check, 20.0 }, .is_inside = true };
	}
	return lossy_place(v, n, LEAST);
}

TEST(a_place_is_sure_soon_where_nothing_else_is_slow)
{
	assert_true(odds_at(1, 0.0, 20, true, 3, 5.0).place > LOSSY_SURE);
	assert_true(odds_at(1, 0.0, 20, true, 4, 5.0).place > odds_at(1, 0.0, 20, true, 3, 5.0).place);
	assert_true(odds_at(1, 0.0, 20, false, 3, 0.0).evidence < 0.0);
}

/* However often they come, and wherever it is asked; while what is of the place gets sure by more looks, where spells
 * leave a reading more often than not. */
TEST(spells_make_no_place_slow)
{
	size_t taken = 0, asked = 0, found = 0, runs = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		double spells = 0.5 * (double)seed / SEEDS;

		for (size_t p = 1; p < 63; p += 2, asked++)
			taken += odds_at(seed, spells, p, false, 3, 0.0).place > LOSSY_SURE;
		found += spells < 0.1 && odds_at(seed, spells, 20, true, 12, 5.0).place > LOSSY_SURE;
		runs += spells < 0.1;
	}
	print_message("%zu of %zu places in spells, %zu of %zu in truth\n", taken, asked, found, runs);
	assert_true(taken <= asked / 64 / 20);
	assert_true(found >= runs * 95 / 100);
}

/* A place that lost in each of three passes, read again in two other ways, between readings beside it. It loses as
 * often in these ways, too, or in neither; and what lies beside it loses there, or does not. */
static double way_at(double inside, double beside, size_t looks)
{
	struct lossy_look v[64 * 3 + 32];
	size_t n = 0;

	for (size_t i = 0; i < (size_t)64 * 3; i++)
		v[n++] = (struct lossy_look){ .at = { i % 64 == 20 ? 5.0 : 0.0, 20.0 },
			                      .is_inside = i % 64 == 20,
			                      .bytes = i };
	for (size_t i = 0; i < looks; i++) {
		v[n++] = (struct lossy_look){ .at = { beside, 20.0 }, .way = 1 + i % 2 };
		v[n] = (struct lossy_look){ .at = { inside, 20.0 }, .is_inside = true, .way = 1 + i % 2, .bytes = n };
		n++;
	}
	return lossy_place(v, n, LEAST).way;
}

TEST(what_loses_is_the_place_where_it_does_in_each_way_and_what_lies_beside_it_does_not)
{
	assert_true(way_at(5.0, 0.0, 0) == 0.0);
	assert_true(way_at(5.0, 0.0, 2) > LOSSY_SURE);
	assert_true(way_at(5.0, 0.0, 8) > way_at(5.0, 0.0, 2));
	assert_true(way_at(5.0, 5.0, 8) < LOSSY_SURE);
	assert_true(way_at(0.0, 0.0, 2) < 0.0);
	assert_true(way_at(0.0, 5.0, 4) < -LOSSY_SURE);
}
