/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which sector of a gap geometry reads next, against a cache that keeps what passes behind a read. */
#include "test.h"

#include "measure/geometry/geometry.h"

#define WIDTH 90

/* A drive that has so many sectors above each that it has read, until it is made to forget, which costs as many reads.
 */
struct drive {
	uint64_t ahead, flush;
	uint64_t read[4096];
	size_t n;
};

static bool has(const struct drive *d, uint64_t sector)
{
	for (size_t i = 0; i < d->n; i++)
		if (sector >= d->read[i] && sector - d->read[i] <= d->ahead)
			return true;
	return false;
}

/* Reads until the edge is found; what that costs. */
static uint64_t find_edge(struct drive *d, struct geo_kept *k, uint64_t in, uint64_t edge, uint64_t width,
                          bool is_halved)
{
	uint64_t out = in + width, cost = 0;

	d->n = 0;
	k->n = 0;
	while (out - in > 1) {
		uint64_t at = is_halved ? in + (out - in) / 2 : geo_kept_next(k, in, out, (double)d->flush);

		assert_true(at > in && at < out);
		cost++;
		if (has(d, at)) {
			geo_kept_read(k, at, true);
			k->n = 0;
			d->n = 0;
			cost += d->flush;
		}
		geo_kept_read(k, at, false);
		d->read[d->n++] = at;
		if (at < edge)
			in = at;
		else
			out = at;
	}
	assert_int_equal(out, edge);
	return cost;
}

static uint64_t find_all(uint64_t ahead, uint64_t flush, bool is_halved)
{
	struct drive d = { .ahead = ahead, .flush = flush };
	struct geo_kept *k = calloc(1, sizeof(*k));
	uint64_t cost = 0;

	assert_non_null(k);
	for (uint64_t i = 1; i <= WIDTH; i++)
		cost += find_edge(&d, k, 100000 * i, 100000 * i + i, WIDTH, is_halved);
	free(k);
	return cost;
}

TEST(dear_answers_of_the_cache_are_few)
{
	assert_true(2 * find_all(15, 200, false) < find_all(15, 200, true));
	assert_true(3 * find_all(31, 1000, false) < find_all(31, 1000, true));
}

TEST(where_nothing_is_kept_a_gap_is_halved)
{
	assert_int_equal(find_all(0, 200, false), find_all(0, 200, true));
	assert_int_equal(find_all(15, 0, false), find_all(15, 0, true));
}

/* What passed before a read is kept only where reads below another are answered by the cache. */
TEST(whether_what_lies_below_is_kept_shows)
{
	struct geo_kept *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	for (uint64_t i = 1; i <= 8; i++) {
		geo_kept_read(k, 100000 * i, false);
		geo_kept_read(k, 100000 * i + 5, true);
		geo_kept_read(k, 100000 * i - 40, false);
	}
	assert_false(geo_kept_has_below(k));
	for (uint64_t i = 11; i <= 30; i++) {
		geo_kept_read(k, 100000 * i, false);
		geo_kept_read(k, 100000 * i - 40, true);
	}
	assert_true(geo_kept_has_below(k));
	free(k);
}
