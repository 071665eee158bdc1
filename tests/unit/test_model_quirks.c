/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Defects by the thousand, ranges without data, what a disk does on its own, limits that others share, flat devices. */
#include "test.h"

#include "modelrun.h"
#include "stats/stats.h"

#define PERIOD_NS (60e9 / 7200)
#define CYL       (1000ull * 512)

/* Time of the media for all of [first, end) in one piece after the other, from the first sector's begin. */
static double stream_ns(struct run *r, uint64_t first, uint64_t bytes)
{
	(void)run_one(r, DISK_READ, first, (uint32_t)bytes, NULL);
	assert_int_equal(r->done.res, bytes);
	return r->done.transfer_ns;
}

/* ---- defects ---- */

TEST(streaming_over_thousands_of_defects_takes_what_the_truth_says)
{
	double all = 0;
	MODEL(r, RUN_BASE DEFECTS "zone 500 500\nzone 500 400\n");

	for (uint64_t i = 0; i < 20; i++) {
		double got = stream_ns(&r, i * 40 * CYL, 40 * CYL);

		near(got, truth_stream_ns(disk_geometry(r.d), i * 40 * CYL, (i + 1) * 40 * CYL), 200);
		all += got;
	}
	assert_true(all > 1.05 * 20 * 40 * 2.5 * PERIOD_NS); /* without them */
}

TEST(surfaces_may_be_many_and_have_zones_with_edges_of_their_own)
{
	char text[8192];
	size_t len = (size_t)snprintf(text, sizeof(text), "%ssurfaces 32\n", RUN_BASE);
	cleanup_free struct truth_zone *z = calloc(PROFILE_ZONES_MAX, sizeof(*z));
	cleanup_model struct run r = { 0 };

	for (int i = 0; i < 40; i++) { /* one surface changes at each edge */
		len += (size_t)snprintf(text + len, sizeof(text) - len, "zone 5");
		for (int s = 0; s < 32; s++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, " %d",
			                        500 - 7 * s - 40 * ((i + s) / 20));
		len += (size_t)snprintf(text + len, sizeof(text) - len, "\n");
	}
	run_new(&r, text);
	assert_int_equal(truth_zones(disk_geometry(r.d), z, PROFILE_ZONES_MAX), 40);
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t first = i * 9000000 / 512 * 512;

		near(stream_ns(&r, first, 512 * 10000) /
		             truth_stream_ns(disk_geometry(r.d), first, first + 512 * 10000),
		     1, 1e-6);
	}
}

/* ---- what holds no data ---- */

TEST(what_is_trimmed_answers_zeros_at_once_until_it_is_written)
{
	unsigned char buf[8192];
	MODEL(r, RUN_BASE "hit_overhead_ms 0.03\ntrimmed 1000 1000\ntrimmed 5000 10\n" RUN_ZONE);

	assert_int_equal(run_one(&r, DISK_READ, 1000 * 512, 8192, buf)->how, HOW_HIT);
	near(run_took(&r), 3e4 + 8192, 2);
	for (size_t i = 0; i < 8192; i++)
		assert_int_equal(buf[i], 0);
	assert_int_equal(run_one(&r, DISK_READ, 1999 * 512, 1024, buf)->how, HOW_MEDIA); /* half of it */
	assert_int_equal(buf[0] | buf[1] | buf[511], 0);
	assert_int_equal(buf[512] | buf[513] << 8, 2000);
	memset(buf, 7, sizeof(buf));
	(void)run_one(&r, DISK_WRITE, 1500 * 512, 512, buf);
	assert_int_equal(run_one(&r, DISK_READ, 1499 * 512, 1536, buf)->how, HOW_MEDIA);
	assert_int_equal(buf[511], 0);
	assert_int_equal(buf[512], 7);
	assert_int_equal(buf[1024], 0);
	assert_int_equal(run_one(&r, DISK_READ, 1000 * 512, 500 * 512, NULL)->how, HOW_HIT);
	assert_int_equal(run_one(&r, DISK_READ, 1501 * 512, 499 * 512, NULL)->how, HOW_HIT);
	(void)run_one(&r, DISK_WRITE, 990 * 512, 1020 * 512, NULL);
	assert_int_equal(run_one(&r, DISK_READ, 1600 * 512, 512, NULL)->how, HOW_MEDIA);
	assert_int_equal(run_one(&r, DISK_READ, 5009 * 512, 512, NULL)->how, HOW_HIT);
	assert_int_equal(disk_peek(r.d, 5000 * 512, 512, buf), 0);
	assert_int_equal(buf[0] | buf[1], 0);
}

/* Writes of any length at any place, against a plain array. */
TEST(what_is_left_of_the_trimmed_is_what_was_not_written)
{
	struct rng rng;
	uint8_t is_trimmed[2000] = { 0 };
	MODEL(r, RUN_BASE "trimmed 100 300\ntrimmed 500 1000\ntrimmed 1600 1\n" RUN_ZONE);

	for (int i = 0; i < 2000; i++)
		is_trimmed[i] = (i >= 100 && i < 400) || (i >= 500 && i < 1500) || i == 1600;
	rng_init(&rng, 1, 1);
	for (int k = 0; k < 60; k++) {
		uint64_t at = rng_below(&rng, 1900), n = 1 + rng_below(&rng, 30);

		(void)run_one(&r, DISK_WRITE, at * 512, (uint32_t)n * 512, NULL);
		memset(is_trimmed + at, 0, n);
		for (uint64_t i = 0; i < 2000; i += 7)
			assert_int_equal(run_one(&r, DISK_READ, i * 512, 512, NULL)->how == HOW_HIT, is_trimmed[i]);
	}
}

TEST(a_rate_over_trimmed_parts_is_the_interfaces_there)
{
	struct truth_random truth;
	double media, all;
	MODEL(r, RUN_BASE "trimmed 100000 100000\n" RUN_ZONE);

	media = truth_rate(disk_geometry(r.d), 0, 100000 * 512);
	all = truth_stream_ns(disk_geometry(r.d), 0, 300000 * 512ull);
	near(truth_rate(disk_geometry(r.d), 100000 * 512, 200000 * 512), 1e9, 1);
	near(all,
	     truth_stream_ns(disk_geometry(r.d), 0, 100000 * 512) +
	             truth_stream_ns(disk_geometry(r.d), 200000 * 512, 300000 * 512ull) + 100000 * 512.0,
	     1);
	assert_true(media < 0.1e9);
	truth_random(disk_geometry(r.d), 0, 300000 * 512ull, 4096, &truth);
	assert_true(isnan(truth.service_ns)); /* not reported rather than wrong */
}

/* ---- on its own ---- */

TEST(recalibration_takes_its_share_of_the_time)
{
	struct truth_random with, without;
	struct run r, plain;
	uint64_t start, n = 40000;
	struct rng rng;
	double late = 0;

	run_new(&r, RUN_BASE "recalibrate 2 100\n" RUN_ZONE);
	run_new(&plain, RUN_BASE RUN_ZONE);
	truth_random(disk_geometry(r.d), 0, 1000 * CYL, 4096, &with);
	truth_random(disk_geometry(plain.d), 0, 1000 * CYL, 4096, &without);
	rng_init(&rng, 2, 2);
	start = r.now;
	for (uint64_t i = 0; i < n; i++) {
		(void)run_one(&r, DISK_READ, rng_below(&rng, 125000) * 4096, 4096, NULL);
		late += run_took(&r) > 60e6;
	}
	near(late, (double)(r.now - start) / 2e9, 8); /* once in each 2 s */
	near((double)(r.now - start) / (double)n, with.service_ns, 0.01 * with.service_ns);
	assert_true(with.service_ns > 1.04 * without.service_ns);
	run_free(&r);
	run_free(&plain);
}

/* ---- path and flat devices ---- */

TEST(requests_pass_at_the_limits_rate_once_the_credit_is_spent)
{
	uint64_t start;
	MODEL(r, "kind ssd\ncapacity_lba 1000000\nread_latency_us 100\nlimit_iops 500 200\n");

	start = r.now;
	for (uint64_t i = 0; i < 200; i++)
		(void)run_one(&r, DISK_READ, i * 4096, 4096, NULL);
	assert_true(r.now - start < 40000000);
	for (uint64_t i = 0; i < 1000; i++)
		(void)run_one(&r, DISK_READ, i * 4096, 4096, NULL);
	near((double)(r.now - start), 2e9, 1e7);
}

TEST(a_neighbour_takes_its_share_now_and_then)
{
	cleanup_model struct run r = { 0 };
	uint64_t start, most = 0, least = UINT64_MAX;

	run_new(&r,
	        "kind ssd\ncapacity_lba 1000000\nread_latency_us 10\nlimit_mbs 100\ncredit_kb 1024\ninterface_mbs 10000\nchannel_mbs 10000\nneighbour 0.6 3 7\n");
	near(truth_rate(disk_geometry(r.d), 0, 100000000), 100e6 * (1 - 0.6 * 0.3), 1);
	start = r.now;
	for (uint64_t i = 0; i < 20000; i++) {
		(void)run_one(&r, DISK_READ, i % 400 << 20, 1 << 20, NULL);
		most = r.done.done_ns - r.done.arrival_ns > most ? r.done.done_ns - r.done.arrival_ns : most;
		if (i && r.done.done_ns - r.done.arrival_ns < least)
			least = r.done.done_ns - r.done.arrival_ns;
	}
	near(20000.0 * (1 << 20) / (double)(r.now - start), 100e6 * 0.82 / 1e9, 0.01 * 0.082);
	near((double)most / (double)least, 2.3, 0.3); /* 1/0.4, with the rest of the time in both */
}

TEST(a_flat_devices_latencies_are_lognormal)
{
	struct truth_random truth;
	const int n = 40001;
	double *t = calloc((size_t)n, sizeof(*t)), mean = 0;
	MODEL(r, "kind ssd\ncapacity_lba 10000000\nread_latency_us 800\nlatency_sigma 0.4\nchannel_mbs 1000\n");

	for (int i = 0; i < n; i++) {
		(void)run_one(&r, DISK_READ, (uint64_t)(i * 7919 % 10000) * 16384, 4096, NULL);
		t[i] = run_took(&r) - 4096;
		mean += t[i] / n;
	}
	stats_sort(t, (size_t)n);
	near(t[n / 2], 8e5, 5 * 1.25 * 0.4 * 8e5 / sqrt(n));
	near(log(t[n * 84 / 100] / t[n / 2]), 0.4 * 0.9945, 0.02);
	truth_random(disk_geometry(r.d), 0, 4000000000, 4096, &truth);
	near(mean + 4096, truth.service_ns, 5 * 0.45 * 8e5 / sqrt(n));
	free(t);
}

TEST(an_unwritten_part_is_faster_and_the_truth_mixes_them)
{
	struct truth_random truth;
	double sum = 0;
	MODEL(r, "kind ssd\ncapacity_lba 1000000\nread_latency_us 500\ntrimmed 500000 500000\ntrimmed_us 40\n");

	truth_random(disk_geometry(r.d), 0, 512000000, 4096, &truth);
	for (uint64_t i = 0; i < 10000; i++) {
		(void)run_one(&r, DISK_READ, i * 7919 % 125000 * 4096, 4096, NULL);
		assert_int_equal(run_took(&r) < 100000, i * 7919 % 125000 >= 62500);
		sum += run_took(&r) / 10000;
	}
	near(sum, truth.service_ns, 0.02 * truth.service_ns);
}
