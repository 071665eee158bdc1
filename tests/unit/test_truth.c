/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The truth of truth.c against the model at work, which share the profile and the geometry only; and against what was
 * published. */
#include "test.h"

#include "modelrun.h"

static void give(struct run *r, uint64_t *at, uint64_t end, uint32_t block)
{
	if (*at >= end)
		return;
	run_submit(r, DISK_READ, *at, (uint32_t)(end - *at < block ? end - *at : block), NULL);
	*at += block;
}

/* Reads [first, end) in blocks, two at a time; time of the media from the first byte's begin to the end. */
static double stream_ns(struct run *r, uint64_t first, uint64_t end, uint32_t block)
{
	uint64_t at = first, done = first, begin = 0;

	give(r, &at, end, block);
	while (disk_next_done_ns(r->d) == DISK_NEVER) { /* until the first is begun: the disk might prefer the second */
		r->now = disk_next_event_ns(r->d);
		disk_advance(r->d, r->now);
	}
	give(r, &at, end, block);
	while (done < end) {
		(void)run_wait(r);
		assert_true(r->done.res > 0);
		if (done == first)
			begin = r->done.arrival_ns +
			        (uint64_t)(1e6 * r->p.ctl.overhead_ms + r->done.seek_ns + r->done.latency_ns + 0.5);
		done += (uint64_t)r->done.res;
		give(r, &at, end, block);
	}
	return (double)(r->done.ideal_ns - begin);
}

static void check_zones(struct run *r, uint64_t span)
{
	struct truth_zone z[PROFILE_ZONES_MAX];
	size_t n = truth_zones(disk_geometry(r->d), z, PROFILE_ZONES_MAX);

	assert_true(n > 0);
	assert_int_equal(z[0].first_byte, 0);
	assert_int_equal(z[n - 1].end_byte, disk_size_bytes(r->d, 0));
	for (size_t i = 0; i < n; i++) {
		uint64_t middle = (z[i].first_byte + z[i].end_byte) / 2 / 4096 * 4096,
			 end = middle + span < z[i].end_byte ? middle + span : z[i].end_byte;
		double got, want = truth_stream_ns(disk_geometry(r->d), middle, end);

		assert_true(i == 0 || z[i].first_byte == z[i - 1].end_byte);
		r->now += 100000000;
		got = stream_ns(r, middle, end, 1 << 20);
		if (fabs(got / want - 1) > 0.001)
			fail_msg("%s zone %zu: %.0f ns, truth %.0f", r->p.name, i, got, want);
	}
}

static const char *const names[] = { "quantum-fireball-tm2110a",
	                             "ibm-deskstar-60gxp",
	                             "maxtor-diamondmax-80",
	                             "modern-4tb",
	                             "samsung-hd103sj",
	                             "toshiba-x300",
	                             "nearline-20tb",
	                             "seagate-cheetah-15k7",
	                             "seagate-medalist-st39140a",
	                             "tiny" };

TEST(every_zone_of_every_profile_streams_at_its_true_rate)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup_model struct run r = { 0 };

		run_load(&r, names[i]);
		check_zones(&r, 64 << 20);
	}
}

/* Behind an interface that is none: the traced hosts' was slower than the media. */
TEST(a_traced_drive_with_its_spares_and_slips_streams_at_its_true_rate)
{
	static const char *const traced[] = { "cheetah4lp", "hp-c2247a", "maxtor300g" };

	for (size_t i = 0; i < ARRAY_LEN(traced); i++) {
		cleanup_model struct run r = { 0 };

		run_load(&r, traced[i]);
		disk_free(r.d);
		r.p.path.interface_bytes_per_s = 1e9;
		r.p.ctl.queue_depth = 32;
		r.p.ctl.read_watermark = 0;
		r.d = disk_new(&r.p, r.now);
		assert_non_null(r.d);
		check_zones(&r, 16 << 20);
	}
}

TEST(the_rate_of_a_zone_is_that_of_its_middle)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct truth_zone z[PROFILE_ZONES_MAX];
		cleanup_model struct run r = { 0 };
		size_t n;

		run_load(&r, names[i]);
		n = truth_zones(disk_geometry(r.d), z, PROFILE_ZONES_MAX);
		for (size_t k = 0; k < n; k++) {
			uint64_t len = z[k].end_byte - z[k].first_byte;
			double part =
				truth_rate(disk_geometry(r.d), z[k].first_byte + len / 8, z[k].end_byte - len / 8);

			assert_true(fabs(part / z[k].sustained_bytes_per_s - 1) < 0.002);
			assert_true(z[k].sustained_bytes_per_s <= z[k].media_bytes_per_s);
		}
	}
}

/* ---- random disks ---- */

TEST(any_random_disk_streams_in_its_true_time_with_all_its_defects)
{
	const struct profile_limits limits = { .max_bytes = 200000000, .slow_regions = 2 };

	for (uint64_t seed = 1; seed <= 60; seed++) {
		cleanup_model struct run r = { 0 };
		uint64_t size;
		double got, want;

		MUST(profile_random(&r.p, seed, &limits, &err));
		r.p.path.interface_bytes_per_s = 1e10;
		if (r.p.cache.bytes == 0) { /* without read-ahead a stream of requests is none */
			r.p.cache.bytes = 4 << 20;
			r.p.cache.segments = 1;
		}
		r.d = disk_new(&r.p, 0);
		size = disk_size_bytes(r.d, 0);
		want = truth_stream_ns(disk_geometry(r.d), 0, size);
		got = stream_ns(&r, 0, size, 1 << 20);
		if (fabs(got / want - 1) > 1e-5)
			fail_msg("seed %d: %.0f ns, truth %.0f", (int)seed, got, want);
	}
}

TEST(random_disks_are_valid_and_places_lead_back_to_their_sectors)
{
	for (uint64_t seed = 0; seed < 500; seed++) {
		const struct profile_limits limits = { .slow_regions = (uint32_t)(seed % 3),
			                               .bad_regions = (uint32_t)(seed % 4) };
		struct err err = { 0 };
		struct geometry *g;
		cleanup_profile struct profile p = { 0 };
		struct place a, b;
		struct rng rng;
		uint64_t n;

		if (profile_random(&p, seed, &limits, &err) < 0)
			fail_msg("seed %d: %s", (int)seed, err.text);
		assert_int_equal(profile_finish(&p, &err), 0); /* as it is */
		g = geometry_new(&p);
		n = geometry_sectors(g);
		assert_true(n > 1000);
		rng_init(&rng, seed, 9);
		for (int i = 0; i < 300; i++) {
			uint64_t s = i == 0 ? 0 : i == 1 ? n - 1 : rng_below(&rng, n);

			geometry_place(g, s, &a);
			assert_true(a.sector < a.spt && a.run >= 1 && a.sector + a.run <= a.spt);
			assert_true(a.surface < p.surfaces && a.cylinder < geometry_cylinders(g));
			assert_true(a.angle >= 0 && a.angle < 1);
			assert_int_equal(geometry_sector(g, a.cylinder, a.surface, a.sector), s);
			if (s + a.run >= n)
				continue;
			geometry_place(g, s + a.run - 1, &b);
			assert_true(b.cylinder == a.cylinder && b.surface == a.surface &&
			            b.sector == a.sector + a.run - 1);
			geometry_place(g, s + a.run, &b); /* then there is a skip or another track */
			assert_true(b.track != a.track || b.sector > a.sector + a.run);
		}
		geometry_free(g);
	}
}

TEST(every_sector_of_a_small_disk_has_its_own_place_in_order)
{
	for (uint64_t seed = 0; seed < 30; seed++) {
		const struct profile_limits limits = { .max_bytes = 20000000 };
		uint64_t n, at = 0, last_track = 0;
		struct geometry *g;
		cleanup_profile struct profile p = { 0 };
		struct place a;

		assert_int_equal(profile_random(&p, seed, &limits, NULL), 0);
		g = geometry_new(&p);
		n = geometry_sectors(g);
		for (; at < n; at += a.run) {
			geometry_place(g, at, &a);
			assert_true(a.track >= last_track && a.track < geometry_tracks(g));
			last_track = a.track;
			for (uint32_t k = 0; k < a.run; k++) /* a sector before the skip does not belong to the run */
				assert_int_equal(geometry_sector(g, a.cylinder, a.surface, a.sector + k),
				                 at + k < n ? at + k : UINT64_MAX);
		}
		assert_int_equal(at, n);
		geometry_free(g);
	}
}

/* ---- random access ---- */

static void check_random(struct run *r, uint64_t first, uint64_t span, uint64_t seed)
{
	const uint32_t total = 20000;
	struct truth_random truth;
	struct rng rng;
	double sum = 0, sum_sq = 0, mean, se;
	uint64_t at = 0;

	truth_random(disk_geometry(r->d), first, first + span, 4096, &truth);
	rng_init(&rng, seed, 3);
	for (uint32_t i = 0; i < total; i++) {
		double took;

		at = (at + 1 + rng_below(&rng, span / 4096 - 1)) % (span / 4096); /* another one than before */
		run_one(r, DISK_READ, first + at * 4096, 4096, NULL);
		took = run_took(r);
		sum += took;
		sum_sq += took * took;
	}
	mean = sum / total;
	se = sqrt((sum_sq / total - mean * mean) / total);
	if (fabs(mean - truth.service_ns) > 3.5 * se)
		fail_msg("%s, span %llu: %.0f ns, truth %.0f, standard error %.0f", r->p.name, (unsigned long long)span,
		         mean, truth.service_ns, se);
}

TEST(random_service_times_have_the_exact_expectation)
{
	static const uint64_t spans[] = { 1000000, 2000000, 5000000, 10000000, 200000000, 1000000000, 0 };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (size_t k = 0; k < ARRAY_LEN(spans); k++) {
			cleanup_model struct run r = { 0 };
			uint64_t size, span;

			run_load(&r, names[i]);
			disk_free(r.d);
			r.p.cache.bytes = 0; /* the expectation is one without hits */
			r.d = disk_new(&r.p, 0);
			size = disk_size_bytes(r.d, 0);
			span = spans[k] && spans[k] < size ? spans[k] : size / 4096 * 4096;
			check_random(&r, (size - span) / 2 / 4096 * 4096, span, i * 10 + k);
		}
	}
}

TEST(lost_revolutions_are_in_the_truth)
{
	cleanup_model struct run r = { 0 };
	double plain, want;

	run_load(&r, "tiny");
	plain = truth_stream_ns(disk_geometry(r.d), 0, disk_size_bytes(r.d, 0));
	disk_free(r.d);
	r.p.noise.retry_per_gb = 5000; /* about 2000, each at random */
	r.d = disk_new(&r.p, 0);
	want = truth_stream_ns(disk_geometry(r.d), 0, disk_size_bytes(r.d, 0));
	assert_true(fabs(want - plain - 0.393216 * 5000 * 60e9 / 7200) < 1);
	assert_true(fabs(stream_ns(&r, 0, disk_size_bytes(r.d, 0), 1 << 20) / want - 1) < 0.03);
}

/* ---- what was published ---- */

TEST(the_fireball_reproduces_diskrands_table)
{
	static const struct {
		uint64_t mb;
		double ms;
	} table[] = { { 1, 11.0 }, { 2, 11.4 }, { 5, 12.4 }, { 10, 13.1 }, { 40, 14.3 }, { 100, 15.6 }, { 200, 16.5 } };
	cleanup_model struct run r = { 0 };

	run_load(&r, "quantum-fireball-tm2110a");
	for (int middle = 0; middle < 2; middle++) {
		uint64_t first = middle ? disk_size_bytes(r.d, 0) / 2 / 4096 * 4096 : 0;

		for (size_t i = 0; i < ARRAY_LEN(table); i++) {
			struct truth_random t;

			truth_random(disk_geometry(r.d), first, first + table[i].mb * 1000000, 4096, &t);
			if (fabs(t.service_ns / 1e6 / table[i].ms - 1) > 0.05)
				fail_msg("%d MB: %.2f ms", (int)table[i].mb, t.service_ns / 1e6);
		}
	}
}

TEST(the_drives_of_wr_stream_as_measured_there)
{
	cleanup_model struct run r = { 0 };

	run_load(&r, "ibm-deskstar-60gxp");
	assert_true(fabs(truth_rate_at(disk_geometry(r.d), 0) * 8 / 268.3e6 - 1) < 0.002);
	assert_true(fabs(truth_rate_at(disk_geometry(r.d), 41000000000) * 8 / 142.6e6 - 1) < 0.002);
	run_free(&r);
	run_load(&r, "maxtor-diamondmax-80");
	assert_true(fabs(truth_rate_at(disk_geometry(r.d), 0) * 8 / 233.6e6 - 1) < 0.002);
	assert_true(fabs(truth_rate_at(disk_geometry(r.d), 81900000000) * 8 / 131.0e6 - 1) < 0.002);
}

TEST(the_drives_of_wong_turn_and_seek_as_published)
{
	static const struct {
		const char *name;
		double rpm, full_ms, skew;
		uint32_t surfaces, outer, inner;
	} drives[] = {
		{ "samsung-hd103sj", 7247.1, 17.3, 0.2, 4, 2937, 1546 },
		{ "toshiba-x300", 7199.6, 14.6, 0.0625, 10, 500, 229 },
		{ "seagate-cheetah-15k7", 15047.7, 7.3, 23.8 / 360, 6, 1800, 1028 },
		{ "seagate-medalist-st39140a", 7209, 18.3, 85.0 / 360, 8, 297, 169 },
	};

	for (size_t i = 0; i < 4; i++) {
		struct truth_zone z[PROFILE_ZONES_MAX];
		uint32_t outer = 0, inner = UINT32_MAX;
		cleanup_model struct run r = { 0 };
		size_t n;

		run_load(&r, drives[i].name);
		n = truth_zones(disk_geometry(r.d), z, PROFILE_ZONES_MAX);
		for (size_t k = 0; k < n; k++) {
			for (uint32_t s = 0; s < r.p.surfaces; s++) {
				outer = z[k].spt[s] > outer ? z[k].spt[s] : outer;
				inner = z[k].spt[s] < inner ? z[k].spt[s] : inner;
			}
		}
		assert_int_equal(outer, drives[i].outer);
		assert_int_equal(inner, drives[i].inner);
		assert_int_equal(r.p.surfaces, drives[i].surfaces);
		assert_true(fabs(60e9 / truth_period_ns(disk_geometry(r.d)) / drives[i].rpm - 1) < 1e-9);
		assert_true(fabs(truth_seek_full_ns(disk_geometry(r.d)) / 1e6 - drives[i].full_ms) < 0.05);
		assert_true(fabs(r.p.zones[0].cyl_skew - drives[i].skew) < 1e-6);
		/* A track every (1 + skew) revolutions: the skew covers the switch. */
		assert_true(fabs(z[0].media_bytes_per_s / z[0].sustained_bytes_per_s - (1 + drives[i].skew)) < 0.005);
	}
}

/* ---- small things ---- */

TEST(regions_and_seeks_are_listed_in_bytes)
{
	struct truth_region reg[8];
	size_t n;
	MODEL(r, RUN_BASE RUN_ZONE "bad 10 5 r 1\nbad 15 5 rw 1\nbad 100 1 w 1\nslow 1000 500 100 1\n");

	n = truth_regions(disk_geometry(r.d), reg, 8);
	assert_int_equal(n, 2); /* what can be read is no bad region of a read */
	assert_int_equal(reg[0].first_byte, 5120);
	assert_int_equal(reg[0].end_byte, 10240);
	assert_true(reg[0].is_bad && !reg[1].is_bad);
	assert_true(fabs(512 * 500e9 / reg[1].rate_bytes_per_s -
	                 truth_stream_ns(disk_geometry(r.d), 512000, 512000 + 256000)) < 1);
	assert_true(reg[1].rate_bytes_per_s < 0.3 * truth_rate(disk_geometry(r.d), 1 << 20, 1 << 21));
	assert_true(fabs(truth_seek_between_ns(disk_geometry(r.d), 0, 512ull * 1000 * 100) - 1e6 * (0.8 + 0.5)) < 1);
	assert_true(fabs(truth_seek_ns(disk_geometry(r.d), 100) - 1.3e6) < 1);
	assert_true(truth_seek_track_ns(disk_geometry(r.d)) < truth_seek_average_ns(disk_geometry(r.d)));
	assert_true(truth_seek_average_ns(disk_geometry(r.d)) < truth_seek_full_ns(disk_geometry(r.d)));
}

TEST(the_whole_surface_takes_the_sum_of_its_zones)
{
	struct truth_zone z[PROFILE_ZONES_MAX];
	double ns = 0;
	cleanup_model struct run r = { 0 };
	size_t n;

	run_load(&r, "modern-4tb");
	n = truth_zones(disk_geometry(r.d), z, PROFILE_ZONES_MAX);
	for (size_t i = 0; i < n; i++)
		ns += (double)(z[i].end_byte - z[i].first_byte) / z[i].sustained_bytes_per_s;
	assert_true(fabs((double)disk_size_bytes(r.d, 0) / ns / truth_harmonic_mean(disk_geometry(r.d)) - 1) < 1e-9);
	assert_true(fabs(truth_rate(disk_geometry(r.d), 0, disk_size_bytes(r.d, 0)) /
	                         truth_harmonic_mean(disk_geometry(r.d)) -
	                 1) < 1e-5);
}
