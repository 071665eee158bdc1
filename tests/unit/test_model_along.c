/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recording zones from readings whose truth is known: drawn from the model's own priors, so that its probabilities can
 * be held against how often it is right (simulation-based calibration, Talts et al. 2018). */
#include "test.h"

#include "model/along.h"

#define PLACES   48
#define READINGS 2
#define SPACING  1e9
#define SAMPLE   2e7
#define END      ((PLACES - 1) * SPACING + READINGS * SAMPLE) /* samples reach it, as in a run */
#define ZONES    64

struct disk {
	double begin[ZONES], y[ZONES]; /* of its zones */
	size_t n;
	double sigma, apart;
};

/* Erlang's law. */
static double erlang(struct rng *rng, unsigned shape, double mean)
{
	double sum = 0.0;

	for (unsigned i = 0; i < shape; i++)
		sum += rng_exp(rng, mean / shape);
	return sum;
}

static struct disk any_disk(struct rng *rng)
{
	static const double zones[] = { 1, 3, 6, 9, 13 }, apart[] = { 0, 1e-3, 4e-3, 0.016 };
	double mean = zones[rng_below(rng, ARRAY_LEN(zones))], rate = 1.0;
	unsigned shape = 1 + 3 * (unsigned)rng_below(rng, 4);
	struct disk d = { .sigma = 1e-3 * exp(rng_normal(rng)), .apart = apart[rng_below(rng, ARRAY_LEN(apart))] };

	for (double at = 0.0; at < END && d.n < ZONES && rate > 0.3; d.n++) {
		d.begin[d.n] = at;
		d.y[d.n] = 2.0 - log(rate);
		at += erlang(rng, 4, END / mean);
		rate -= erlang(rng, shape, 0.5 / mean);
	}
	return d;
}

static size_t zone_at(const struct disk *d, double at)
{
	size_t k = d->n - 1;

	while (k && d->begin[k] > at)
		k--;
	return k;
}

/* Its readings. */
static void read_disk(const struct disk *d, struct rng *rng, struct along_at v[PLACES * READINGS])
{
	for (size_t p = 0; p < PLACES; p++) {
		double off = d->apart * rng_normal(rng);

		for (size_t r = 0; r < READINGS; r++) {
			double from = (double)p * SPACING + (double)r * SAMPLE;

			v[p * READINGS + r] =
				(struct along_at){ .from = from,
				                   .end = from + SAMPLE,
				                   .y = d->y[zone_at(d, from)] + off + d->sigma * rng_normal(rng),
				                   .sigma = d->sigma,
				                   .place = p };
		}
	}
}

static struct along zones_in(const struct along_at v[PLACES * READINGS])
{
	struct along a;

	along_zones(v, PLACES * READINGS, END, &a);
	return a;
}

/* One whose readings are drawn by that seed; free its v. */
static struct along zones_of(const struct disk *d, uint64_t seed, struct along_at v[PLACES * READINGS])
{
	struct rng rng;

	rng_init(&rng, seed, 1);
	read_disk(d, &rng, v);
	return zones_in(v);
}

/* Does an edge of the disk lie where this one may? */
static bool is_held(const struct disk *d, const struct along_edge *e)
{
	for (size_t z = 1; z < d->n; z++)
		if (d->begin[z] >= e->first - SAMPLE && d->begin[z] <= e->end + SAMPLE)
			return true;
	return false;
}

static size_t edges_held(const struct disk *d, const struct along *a)
{
	size_t n = 0;

	for (size_t k = 1; k < a->n; k++)
		n += is_held(d, &a->v[k]);
	return n;
}

/* Zones that a place lies in: of others nothing shows. */
static size_t seen_zones(const struct disk *d)
{
	size_t n = 0, last = SIZE_MAX;

	for (size_t p = 0; p < PLACES; p++) {
		n += zone_at(d, (double)p * SPACING) != last;
		last = zone_at(d, (double)p * SPACING);
	}
	return n;
}

struct tally {
	double disks, expected, right, sure, sure_right, edges, held, levels, level_held, seen;
};

static void add_disk(struct rng *rng, struct tally *t)
{
	struct along_at v[PLACES * READINGS];
	struct disk d = any_disk(rng);
	struct along a;

	read_disk(&d, rng, v);
	a = zones_in(v);
	t->disks++;
	t->expected += a.p_count;
	t->right += a.n == d.n;
	t->sure += a.p_count >= 0.98;
	t->sure_right += a.p_count >= 0.98 && a.n == d.n;
	t->seen += (double)seen_zones(&d) - 1.0;
	t->edges += (double)a.n - 1.0;
	t->held += (double)edges_held(&d, &a);
	for (size_t k = 0; k < a.n; k++) {
		double mid = 0.5 * (a.v[k].at + (k + 1 < a.n ? a.v[k + 1].at : PLACES * SPACING));

		t->levels++;
		t->level_held += fabs(d.y[zone_at(&d, mid)] - a.v[k].y) <= a.v[k].half + 1e-4;
	}
	free(a.v);
}

TEST(probabilities_are_how_often_it_is_right)
{
	const size_t disks = 60;
	struct tally t = { 0 };
	struct rng rng;

	rng_init(&rng, 53, 1);
	for (size_t i = 0; i < disks; i++)
		add_disk(&rng, &t);
	print_message(
		"%.0f disks: count right %.0f, expected %.1f; sure %.0f, of these right %.0f; edges %.0f of %.0f, "
		"held %.0f; levels held %.0f of %.0f\n",
		t.disks, t.right, t.expected, t.sure, t.sure_right, t.edges, t.seen, t.held, t.level_held, t.levels);
	/* three deviations of as many draws */
	assert_true(fabs(t.right - t.expected) <= 3.0 * sqrt(t.disks / 4.0));
	assert_true(t.sure_right >= 0.97 * t.sure - 1.0);
	assert_true(t.sure >= 0.15 * t.disks);
	assert_true(t.held >= 0.97 * t.edges);
	assert_true(t.edges >= 0.7 * t.seen);
	assert_true(t.level_held >= 0.9 * t.levels);
}

static struct disk three_zones(void)
{
	return (struct disk){
		.begin = { 0, 15.5 * SPACING, 31.5 * SPACING }, .y = { 2.0, 2.05, 2.1 }, .n = 3, .sigma = 2e-3
	};
}

TEST(a_shifted_disk_gives_shifted_answers)
{
	struct along_at v[PLACES * READINGS];
	struct disk d = three_zones();
	struct along a = zones_of(&d, 1, v), b;

	for (size_t i = 0; i < PLACES * READINGS; i++) {
		v[i].y += 1.0;
		v[i].from += 7.0 * SPACING;
		v[i].end += 7.0 * SPACING;
	}
	along_zones(v, PLACES * READINGS, END + 7.0 * SPACING, &b);
	assert_int_equal(a.n, 3);
	assert_int_equal(b.n, 3);
	for (size_t k = 0; k < 3; k++) {
		assert_true(fabs(a.v[k].at + 7.0 * SPACING - b.v[k].at) < 1.0);
		assert_true(fabs(a.v[k].y + 1.0 - b.v[k].y) < 1e-4);
	}
	free(a.v);
	free(b.v);
}

TEST(twice_the_noise_gives_wider_intervals)
{
	struct along_at v[PLACES * READINGS];
	struct disk d = three_zones();
	struct along a = zones_of(&d, 2, v), b;

	d.sigma *= 2.0;
	b = zones_of(&d, 2, v);
	assert_int_equal(b.n, 3);
	for (size_t k = 0; k < 3; k++)
		assert_true(b.v[k].half > 1.2 * a.v[k].half);
	assert_true(b.least_step > 1.5 * a.least_step);
	free(a.v);
	free(b.v);
}

/* One whose readings lie on both sides of an edge is between the levels. */
TEST(a_place_that_an_edge_lies_in_is_no_zone)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct along_at v[PLACES * READINGS];
		struct disk d = three_zones();
		struct along a = zones_of(&d, seed, v);

		free(a.v);
		for (size_t r = 0; r < READINGS; r++)
			v[15 * READINGS + r].y += 0.4 * (d.y[1] - d.y[0]);
		a = zones_in(v);
		assert_int_equal(a.n, 3);
		free(a.v);
	}
}

TEST(where_rates_are_level_there_is_one_zone)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct along_at v[PLACES * READINGS];
		struct disk d = { .y = { 3.0 }, .n = 1, .sigma = 1e-3, .apart = (double)seed * 1e-3 };
		struct along a = zones_of(&d, seed, v);

		assert_int_equal(a.n, 1);
		free(a.v);
	}
}

/* Surfaces that come by turns, each for several places, of one zone or of several: a place on the surface of the one
 * before says nothing new of its zone. */
TEST(surfaces_that_last_for_several_places_are_seldom_zones)
{
	size_t edges = 0, false_ones = 0, exact = 0;
	struct rng rng;

	rng_init(&rng, 4, 1);
	for (size_t i = 0; i < 100; i++) {
		struct along_at v[PLACES * READINGS];
		struct disk d = any_disk(&rng);
		double off[4], lasts = 2.0 + (double)rng_below(&rng, 4);
		struct along a;

		d.apart = 0.0;
		read_disk(&d, &rng, v);
		for (size_t h = 0; h < 4; h++)
			off[h] = 0.1 * rng_double(&rng);
		for (size_t k = 0; k < PLACES * READINGS; k++)
			v[k].y += off[(size_t)((double)v[k].place / lasts) % 4];
		a = zones_in(v);
		edges += a.n - 1;
		false_ones += a.n - 1 - edges_held(&d, &a);
		exact += a.p_count >= 0.98 && a.n > 1;
		assert_true(a.p_count < 0.98 || a.n == d.n || a.n == 1);
		free(a.v);
	}
	print_message("%zu of %zu edges at none, %zu counted\n", false_ones, edges, exact);
	assert_true(edges > 0);
	assert_true(6 * false_ones <= edges); /* two of seven where each place counts as one */
}

/* Two surfaces as far apart as two zones, on either of which a reading may lie, alone or with another. */
TEST(a_reading_on_a_faster_surface_is_no_reading_of_a_faster_zone)
{
	size_t edges = 0, held = 0;
	struct rng rng;

	rng_init(&rng, 6, 1);
	for (size_t i = 0; i < 40; i++) {
		struct along_at v[PLACES * READINGS];
		struct disk d = { .n = 6, .sigma = 2e-3 };
		struct along a;

		for (size_t z = 0; z < d.n; z++) {
			d.begin[z] = z ? d.begin[z - 1] + (4.0 + 8.0 * rng_double(&rng)) * SPACING : 0.0;
			d.y[z] = 2.0 + 0.035 * (double)z;
		}
		read_disk(&d, &rng, v);
		for (size_t k = 0; k < PLACES * READINGS; k++) {
			v[k].y -= rng_double(&rng) < 1.0 / 3.0 ? 0.035 : 0.0;
			v[k].place = k / READINGS % 3 ? v[k].place : SIZE_MAX;
		}
		a = zones_in(v);
		edges += a.n - 1;
		held += edges_held(&d, &a);
		free(a.v);
	}
	print_message("%zu edges of 200, held %zu\n", edges, held);
	/* Of two readings, that differ in one order or the other: 129 of 183 where each counts as the zone's. */
	assert_true(edges >= 100 && (double)held >= 0.8 * (double)edges);
}

TEST(behind_the_end_of_a_device_rates_begin_anew)
{
	struct along_at v[PLACES * READINGS];
	struct disk d = { .begin = { 0, 15.5 * SPACING, 23.5 * SPACING, 39.5 * SPACING },
		          .y = { 2.0, 2.05, 2.0, 2.05 },
		          .n = 4,
		          .sigma = 2e-3 };
	struct along a = zones_of(&d, 5, v);

	free(a.v);
	v[24 * READINGS].is_anew = true;
	a = zones_in(v);
	assert_int_equal(a.n, 4);
	for (size_t k = 1; k < 4; k++)
		assert_true(fabs(a.v[k].at - d.begin[k]) < 0.5 * SPACING);
	free(a.v);
}
