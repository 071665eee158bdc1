/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `zones` says of storage that is no single healthy disk, from samples made by hand whose truth is known: parts
 * that are not stored, another device behind the first, volumes that do not rotate. And that it says nothing of the
 * kind of disks with unlike surfaces.
 */
#include "test.h"

#include "measure/zones/zones.h"

#define PLACES  64
#define PASSES  3
#define SIZE    1000e9
#define SEEDS   12
#define REV_NS  8333333.0
#define REQUEST (512u * 1024)

struct disk { /* rate in MB/s by place 0 .. 1 */
	double (*rate)(double x, struct rng *rng);
	double rev_ns, interface, noise;
	size_t places;         /* 0: all */
	size_t check_position; /* its first sample has two waits, and so has its bytes' second reading; 0: none */
	bool is_sparse_slow;   /* requests lose revolutions in all but the last place */
	double loses_until;    /* one request at a time, and it loses revolutions up to there; 0: neither */
	double probe; /* what larger requests gave before the passes, over the rate of that place; 0: none was read */
	/* before the first byte; of what comes at more than half of the interface's rate; 0: not known */
	double wait_ns, fast_wait_ns;
	uint32_t request_bytes; /* 0: not known */
};

struct said {
	size_t slow, fast, device, uneven, bands;
	double first, last; /* of the first stretch, 0 .. 1 */
};

static double gauss(struct rng *rng)
{
	double sum = 0.0;

	for (int i = 0; i < 12; i++)
		sum += rng_double(rng);
	return sum - 6.0;
}

static void add_passes(const struct disk *d, struct zone_target *t, struct rng *rng)
{
	size_t places = t->layout.npositions;
	uint32_t lost = d->is_sparse_slow ? 3 : d->loses_until < 1.0 ? 6 : 1;
	size_t lossy = d->is_sparse_slow ? places - 1 : (size_t)(d->loses_until * (double)places);

	for (size_t i = 0; i < places * PASSES; i++) {
		size_t p = i % places;
		uint64_t at = t->layout.positions[p].cell_bytes + i / places * (t->layout.cell_bytes / 8);
		double rate = d->rate((double)at / SIZE, rng) * 1e6 * exp(d->noise * gauss(rng)), moved = 20e6;
		double wait_ns = rate > 0.5e6 * d->interface ? d->fast_wait_ns : d->wait_ns;

		t->samples.v[t->samples.n++] = (struct zone_sample){
			.position = p,
			.kind = SAMPLE_CURVE,
			.pass = (uint32_t)(i / places),
			.first_bytes = at,
			.from_bytes = at,
			.end_bytes = at + (uint64_t)moved,
			.moved_bytes = moved,
			.elapsed_ns = moved / rate * 1e9,
			.ns_per_byte = 1e9 / rate,
			.se_ratio = d->noise,
			.part_ns_per_byte = { 1e9 / rate, 1e9 / rate, 1e9 / rate, 1e9 / rate },
			.at_s = (double)i * 0.2,
			.written.flush_ns = NAN,
			.request_bytes = d->request_bytes,
			.whole = { moved, d->wait_ns > 0.0 ? moved / rate * 1e9 + wait_ns : 0.0 },
			.lost = { p < lossy ? lost : 0, p < lossy ? lost : 0 },
			.is_good = true,
			.y = NAN,
		};
	}
}

/* One that was read again, and a first of all in large requests. */
static void add_others(const struct disk *d, struct zone_target *t)
{
	struct zone_sample *v = t->samples.v;

	if (d->check_position) {
		struct zone_sample *s = &v[d->check_position], *check = &v[t->samples.n++];

		s->lost.waits = s->lost.revs = 2;
		*check = *s;
		check->kind = SAMPLE_CHECK;
		check->check_of = d->check_position;
		check->position = ZONE_NONE;
	}
	if (d->probe > 0.0) {
		struct zone_sample *probe = &v[t->samples.n++];

		*probe = v[t->layout.npositions / 4];
		probe->kind = SAMPLE_PROBE;
		probe->request_bytes = 8 * REQUEST;
		probe->ns_per_byte /= d->probe;
	}
}

static struct said said_of(const struct zone_analysis *a)
{
	struct said said = { .first = -1.0, .bands = a->bands.n };

	for (size_t i = 0; i < a->slows.n; i++)
		said.slow += a->slows.v[i].is_confirmed;
	for (size_t i = 0; i < a->stretches.n; i++) {
		said.fast += a->stretches.v[i].kind == STRETCH_FAST;
		said.device += a->stretches.v[i].kind == STRETCH_DEVICE;
		said.uneven += a->stretches.v[i].kind == STRETCH_UNEVEN;
	}
	if (a->stretches.n) {
		said.first = (double)a->stretches.v[0].first_bytes / SIZE;
		said.last = (double)a->stretches.v[0].end_bytes / SIZE;
	}
	return said;
}

static struct said look_at(const struct disk *d, uint64_t seed)
{
	size_t places = d->places ? d->places : PLACES;
	struct zone_position positions[PLACES] = { 0 };
	struct zone_sample samples[PLACES * PASSES + 2];
	struct zone_layout l = { .first_bytes = 0,
		                 .end_bytes = (uint64_t)SIZE,
		                 .align_bytes = 512,
		                 .block_bytes = REQUEST,
		                 .slots = 8,
		                 .cell_bytes = 1u << 30,
		                 .positions = positions,
		                 .npositions = places,
		                 .start = 0,
		                 .middle = places / 2,
		                 .end = places - 1,
		                 .rev_ns = d->rev_ns,
		                 .interface_bytes_per_s = d->interface * 1e6,
		                 .is_one_at_a_time = d->loses_until > 0.0 };
	struct device dev = { .disk_size_bytes = (uint64_t)SIZE, .size_bytes = (uint64_t)SIZE };
	struct zone_target t = { .dev = &dev, .layout = l, .samples = { samples, 0, PLACES * PASSES + 2 } };
	struct said said;
	struct rng rng;

	rng_init(&rng, seed, 1);
	for (size_t p = 0; p < places; p++)
		positions[p].cell_bytes = (uint64_t)((SIZE - (double)l.cell_bytes) * (double)p / (double)(places - 1));
	add_passes(d, &t, &rng);
	add_others(d, &t);
	zone_analyse(&t);
	said = said_of(t.analysis);
	zone_analysis_free(t.analysis);
	return said;
}

/* ---- disks ---- */

/* Sixteen zones, from 200 down to 100 MB/s. */
static double zoned(double x, struct rng *rng)
{
	return 200.0 - 100.0 * floor(x * 16.0) / 15.0;
}

/* A sample meets one of eight surfaces, 14 % apart. */
static double surfaces(double x, struct rng *rng)
{
	return zoned(x, rng) * (1.0 - 0.02 * (double)rng_below(rng, 8));
}

static double trimmed_middle(double x, struct rng *rng)
{
	return x > 0.3 && x < 0.6 ? 520.0 : zoned(x, rng);
}

static double trimmed_front(double x, struct rng *rng)
{
	return x < 0.4 ? 520.0 : zoned(x, rng);
}

/* Its first place holds what partitions there are. */
static double trimmed_behind_the_first(double x, struct rng *rng)
{
	return x > 0.01 ? trimmed_front(x, rng) : zoned(x, rng);
}

static double trimmed_end(double x, struct rng *rng)
{
	return x > 0.55 ? 520.0 : zoned(x, rng);
}

static double two_disks(double x, struct rng *rng)
{
	return zoned(x < 0.5 ? 2.0 * x : 2.0 * x - 1.0, rng);
}

static double even(double x, struct rng *rng)
{
	return 430.0;
}

static double written_front(double x, struct rng *rng)
{
	return x < 0.35 ? 310.0 : 540.0;
}

/* An old disk behind a slow interface: its first place is stored, and of the next one sample of three. */
static double trimmed_old(double x, struct rng *rng)
{
	return x > 0.0159 && x < 0.3 ? 142.0 : 0.06 * zoned(x, rng);
}

/* A slow region ends where what is not stored begins; media go on behind that. */
static double trimmed_behind_slow(double x, struct rng *rng)
{
	return x > 0.3 && x <= 0.45 ? 25.0 : x > 0.45 && x < 0.7 ? 520.0 : zoned(x, rng);
}

static struct said all_of(const struct disk *d, const char *what)
{
	struct said sum = { 0 };

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct said s = look_at(d, seed);

		sum.slow += s.slow;
		sum.fast += s.fast;
		sum.device += s.device;
		sum.uneven += s.uneven;
		sum.bands += s.bands;
		sum.first += s.first / SEEDS;
		sum.last += s.last / SEEDS;
	}
	print_message("%s: of %d: slow %zu, not stored %zu, another device %zu, uneven %zu; bands %.1f\n", what, SEEDS,
	              sum.slow, sum.fast, sum.device, sum.uneven, (double)sum.bands / SEEDS);
	assert_int_equal(sum.slow, 0); /* none of them fails anywhere */
	return sum;
}

/* Behind a link of 210 MB/s a full buffer loses revolutions in some zones and in the last ones none. */
static double full_buffer(double x, struct rng *rng)
{
	(void)rng;
	return x < 0.9 ? 200.0 - 60.0 * floor(x * 16.0) / 15.0 : 190.0;
}

TEST(what_comes_as_fast_as_the_link_is_no_other_device)
{
	static const struct disk d = { full_buffer, REV_NS, 210.0, 0.003 };

	assert_int_equal(all_of(&d, "a full buffer").device, 0);
}

TEST(nothing_is_said_of_disks_whose_surfaces_differ)
{
	static const struct disk disks[] = {
		{ zoned, REV_NS, 550.0, 0.003 },
		{ zoned, NAN, NAN, 0.02 },
		{ surfaces, REV_NS, 550.0, 0.003 },
		{ surfaces, REV_NS, 210.0, 0.02 },
	};

	for (size_t i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
		struct said s = all_of(&disks[i], "healthy");

		assert_int_equal(s.fast + s.device + s.uneven, 0);
		assert_true(s.bands > SEEDS || disks[i].rate == surfaces); /* these may hide zones */
	}
}

TEST(what_is_not_stored_is_told_as_such_wherever_it_lies)
{
	static const struct disk disks[] = {
		{ trimmed_middle, REV_NS, 550.0, 0.005, .wait_ns = 12e6, .fast_wait_ns = 0.2e6 },
		{ trimmed_end, NAN, 550.0, 0.005, .wait_ns = 12e6, .fast_wait_ns = 0.2e6 },
		{ trimmed_front, REV_NS, 550.0, 0.005, .wait_ns = 12e6, .fast_wait_ns = 0.2e6 },
		{ trimmed_behind_the_first, REV_NS, 550.0, 0.005, .wait_ns = 12e6, .fast_wait_ns = 0.2e6 },
	};
	static const double first[] = { 0.3, 0.55, 0.0, 0.01 }, last[] = { 0.6, 1.0, 0.4, 0.4 };

	for (size_t i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
		struct said s = all_of(&disks[i], "not stored");

		assert_int_equal(s.fast, SEEDS);
		assert_int_equal(s.device + s.uneven, 0);
		assert_true(fabs(s.first - first[i]) < 2.0 / PLACES && fabs(s.last - last[i]) < 2.0 / PLACES);
	}
}

/* As fast as the interface, but after a seek and a turn of the disk: what is slow beside it is no media beside what is
 * not stored. */
TEST(what_comes_after_a_seek_is_stored)
{
	static const struct disk at_once[] = {
		{ trimmed_middle, REV_NS, 550.0, 0.005, .wait_ns = 12e6, .fast_wait_ns = 0.2e6 },
		{ trimmed_front, REV_NS, 550.0, 0.005, .wait_ns = 12e6, .fast_wait_ns = 0.2e6 },
		{ trimmed_middle, REV_NS, 900.0, 0.005, .wait_ns = 12e6,
		  .fast_wait_ns = 0.2e6 }, /* not as fast as it would be */
		{ trimmed_old, REV_NS, 150.0, 0.005, .wait_ns = 12e6, .fast_wait_ns = 0.2e6,
		  .request_bytes = 1u << 20 },
	};
	static const struct disk after_seek[] = {
		{ trimmed_middle, REV_NS, 550.0, 0.005, .wait_ns = 12e6, .fast_wait_ns = 12e6 },
		{ trimmed_front, REV_NS, 550.0, 0.005, .wait_ns = 12e6, .fast_wait_ns = 12e6 },
	};

	for (size_t i = 0; i < sizeof(at_once) / sizeof(*at_once); i++)
		assert_int_equal(all_of(&at_once[i], "at once").fast, SEEDS);
	for (size_t i = 0; i < sizeof(after_seek) / sizeof(*after_seek); i++) {
		struct said s = all_of(&after_seek[i], "after a seek");

		assert_int_equal(s.fast + s.device + s.uneven, 0);
	}
}

/* Where the media go on they are four times as fast as the slow region: none of another device for that. */
TEST(media_behind_what_is_not_stored_are_of_the_same_disk)
{
	static const struct disk d = {
		trimmed_behind_slow, REV_NS, 550.0, 0.005, .wait_ns = 12e6, .fast_wait_ns = 0.2e6
	};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct said s = look_at(&d, seed);

		assert_int_equal(s.fast, 1);
		assert_true(fabs(s.first - 0.45) < 2.0 / PLACES && fabs(s.last - 0.7) < 2.0 / PLACES);
		assert_int_equal(s.device, 0);
	}
}

TEST(another_device_behind_the_first_is_told)
{
	static const struct disk d = { two_disks, NAN, 550.0, 0.005 };
	struct said s = all_of(&d, "two disks");

	assert_int_equal(s.device, SEEDS);
	assert_int_equal(s.fast + s.uneven, 0);
	assert_true(fabs(s.first - 0.5) < 1.5 / PLACES);
}

/* Of the second one zone ends with a larger step than the others. */
static double uneven_steps(double x, struct rng *rng)
{
	double second = 2.0 * x - 1.0;

	if (x < 0.5)
		return zoned(2.0 * x, rng);
	return (second < 0.6 ? 125.0 : 107.0) - 40.0 * floor(second * 16.0) / 15.0;
}

TEST(a_large_step_between_zones_is_no_end_of_a_device)
{
	static const struct disk d = { uneven_steps, NAN, 550.0, 0.005 };
	struct said s = all_of(&d, "two disks, a large step in the second");

	assert_int_equal(s.device, SEEDS);
	assert_int_equal(s.fast + s.uneven, 0);
	assert_true(fabs(s.first - 0.5) < 1.5 / PLACES && s.last > 0.99);
}

/* The second begins behind the first sample of a place: that is as slow as the places before it, and no slow region. */
#define SEAM_PLACE 32
static double seam(double x, struct rng *rng)
{
	double cell = (double)(1u << 30) / SIZE, at = (1.0 - cell) * SEAM_PLACE / (PLACES - 1) + cell / 16;

	return x < at ? 200.0 - 100.0 * floor(x / at * 16.0) / 15.0
	              : 200.0 - 100.0 * floor((x - at) / (1.0 - at) * 16.0) / 15.0;
}

TEST(the_end_of_the_first_device_is_no_slow_region)
{
	static const struct disk d = { seam, REV_NS, 550.0, 0.005, .check_position = SEAM_PLACE };

	assert_int_equal(all_of(&d, "a seam within a place").device, SEEDS);
}

TEST(what_does_not_rotate_has_neither_zones_nor_slow_regions)
{
	static const struct disk plain = { even, 0.0, 900.0, 0.02 }, half = { written_front, 0.0, 900.0, 0.02 },
				 unknown = { even, NAN, 900.0, 0.02 };
	struct said s = all_of(&plain, "even");

	assert_int_equal(s.bands + s.uneven + s.fast + s.device, 0);
	s = all_of(&half, "written in front");
	assert_int_equal(s.bands, 0);
	assert_int_equal(s.uneven, SEEDS);
	assert_true(fabs(s.last - 0.35) < 1.5 / PLACES);
	s = all_of(&unknown, "even, and nobody says whether it rotates");
	assert_int_equal(s.bands + s.uneven + s.fast + s.device, 0);
}

/* Two of the three samples of a place are slow, and the one between them is not: a network's noise. */
#define NOISY_PLACE 20
static double slow_at_times(double x, struct rng *rng)
{
	double cell = (double)(1u << 30) / SIZE, at = (1.0 - cell) * NOISY_PLACE / (PLACES - 1);
	bool is_of_it = x > at - 0.1 * cell && x < at + 0.9 * cell;

	return is_of_it && !(x > at + 0.1 * cell && x < at + 0.2 * cell) ? 430.0 : 540.0;
}

TEST(what_is_slow_at_times_is_no_stretch)
{
	static const struct disk d = { slow_at_times, 0.0, 900.0, 0.005 };

	assert_int_equal(all_of(&d, "slow at times").uneven, 0);
}

/* One sample of twelve is slow, wherever it lies: two or three of one place are, here and there. */
static double slow_now_and_then(double x, struct rng *rng)
{
	return rng_double(rng) < 1.0 / 12.0 ? 250.0 : 540.0;
}

TEST(what_meets_a_slow_time_as_often_as_any_place_is_no_stretch)
{
	static const struct disk d = { slow_now_and_then, 0.0, 900.0, 0.005 };

	assert_true(all_of(&d, "slow now and then").uneven <= SEEDS / 100);
}

/* The middle is stored and behind a limit, the start is not: as another arm, or a cache, would make it. */
static double slow_start(double x, struct rng *rng)
{
	return x < 0.3 ? 80.0 : x < 0.7 ? 115.0 : 90.0;
}

/* Three places lie zones apart: neither what begins between two of them nor how far it reaches can be known. */
TEST(nothing_is_said_of_what_lies_between_three_places)
{
	static const struct disk disks[] = {
		{ slow_start, REV_NS, 550.0, 0.005, .places = 3 },
		{ written_front, 0.0, 900.0, 0.005, .places = 3 },
		{ zoned, REV_NS, 550.0, 0.005, .places = 3, .is_sparse_slow = true },
	};

	for (size_t i = 0; i < sizeof(disks) / sizeof(*disks); i++) {
		struct said s = all_of(&disks[i], "three places");

		assert_int_equal(s.fast + s.device + s.uneven, 0);
	}
}
