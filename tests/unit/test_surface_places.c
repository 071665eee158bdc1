/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `surface` where what lies between host and medium moves or hides weak places: bridges, caches, other orders, busy
 * hosts, trimmed neighbours. */
#include "test.h"

#include "measure/surface/surface.h"
#include "surfacerun.h"

/* How many of n weak sectors are found, planted one by one on the disk of this seed; nothing else may be called weak.
 */
static size_t found_alone(uint64_t seed, const char *words, uint64_t first, uint64_t step, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		cleanup_run struct sim_run run = { 0 };
		size_t one;
		DRAWN(p, seed, NULL);

		plant(&p, first + i * step, p.physical_sector_bytes / p.logical_sector_bytes, 1);
		run = run_on(&p, words);
		one = count_kind(run.res, "always", first + i * step);
		assert_int_equal(count_kind(run.res, "always", UINT64_MAX), one);
		sum += one;
	}
	print_message("seed %d: %d of %d\n", (int)seed, (int)sum, (int)n);
	return sum;
}

/* A sector that failed by itself, twice, stays so until it is read by itself, and not by what the drive's cache has. */
TEST(what_the_cache_answers_is_not_read)
{
	static const struct {
		double took_ns;
		uint64_t len_bytes;
		bool rotates, is_cached; /* a hit takes 0.2 ms at most; of the medium a MiB takes 5 ms */
	} reads[] = {
		{ 0.1e6, 4096, true, true },   { 0.5e6, 4096, true, false }, { 2e6, 1 << 20, true, true },
		{ 3e6, 1 << 20, true, false }, { 1.5e6, 4096, false, true }, { 4e6, 4096, false, false },
	};
	struct surface_failures l = { 0 };
	struct surface_failed f = { 8192, 12288, 1, 1, -EIO, true };

	for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
		struct device dev = { .rotational = 1 };
		struct session ses = { .devs = &dev };
		struct surface_run *run = calloc(1, sizeof(*run));

		run->ses = &ses;
		run->rot = (struct rotation){ .is_rotating = reads[i].rotates,
			                      .hits.most_ns = reads[i].rotates ? 0.2e6 : (double)NAN };
		run->base = (struct surface_base){ .level = { 5e6 / (1 << 20) }, .n = 1, .at = 1 };
		if (surface_is_cached(run, reads[i].took_ns, reads[i].len_bytes) != reads[i].is_cached)
			fail_msg("read %zu", i);
		free(run);
	}
	surface_failures_add(&l, &f, true);
	assert_non_null(surface_next_unproven(&l, UINT64_MAX)); /* once */
	surface_failures_add(&l, &f, false);
	assert_null(surface_next_unproven(&l, UINT64_MAX));
	surface_failures_read(&l, 0, 1 << 20, false);
	assert_true(surface_has_failed(&l, 8192, 12288));
	surface_failures_read(&l, 8192, 12288, true);
	assert_false(surface_has_failed(&l, 0, UINT64_MAX));
	surface_failures_done(&l);
}

/* Answers that are seen late make one reading of three quick, or deny what was halved by time: then it is halved alone.
 */
TEST(where_time_does_not_show_the_sector_it_is_found_alone)
{
	assert_true(found_alone(3011, "--range=37.94GB-38.2GB --recheck-all --without=files sda", 74120003, 14011,
	                        30) >= 17);
}

/* An answer that is seen late by half of a revolution takes that from the next one. */
TEST(a_revolution_of_which_two_requests_have_a_part_is_seen)
{
	cleanup_run struct sim_run run = { 0 };
	size_t n = 0;
	PROFILE(p, "modern-4tb");

	for (uint64_t k = 0; k < 40; k++)
		plant(&p, 1000000 + 300008 * k, 8, 1);
	for (uint64_t nth = 1500; nth < 12000; nth += 4) {
		const struct profile_fail late = {
			.op = DISK_READ, .nth = nth, .short_bytes = UINT64_MAX, .delay_s = 0.0042
		};

		assert_int_equal(profile_add_fail(&p, &late), 0);
	}
	run = run_on(&p, "--range=-7GB sda");
	for (uint64_t k = 0; k < 40; k++)
		n += count_kind(run.res, "always", 1000000 + 300008 * k);
	print_message("%d of 40\n", (int)n);
	assert_true(n >= 20); /* second readings are seen late as well */
	assert_int_equal(count_kind(run.res, "always", UINT64_MAX), n);
}

/* Beside what is trimmed, and answered sooner, any sector takes longer; on its other side it does not. */
TEST(a_place_is_read_beside_both_sides_of_it)
{
	cleanup_run struct sim_run run = { 0 };
	DRAWN(p, 3029, NULL);

	p.media.trimmed_us = 1500; /* no hit of the cache, by time */
	for (uint64_t k = 0; k < 40; k++) {
		const struct profile_range hole = { .lba = 72000000 + 240000 * k, .count = 180000 };

		assert_int_equal(profile_add_trim(&p, &hole), 0);
	}
	MUST(profile_finish(&p, &err));
	run = run_on(&p, "--range=36.8GB-41.6GB --without=files sda");
	assert_true(sim_figure(&run, "passing_places") > 10);
	assert_int_equal(count_kind(run.res, "passing", UINT64_MAX), 0);
	assert_int_equal(count_kind(run.res, "always", UINT64_MAX), 0);
}

/* ---- verify commands ---- */

struct ops { /* requests, and bytes that were read */
	uint64_t verifies, read_bytes;
};

static void count_ops(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	struct ops *n = arg;

	n->verifies += req->op == IO_VERIFY;
	n->read_bytes += req->op == IO_READ ? req->len_bytes : 0;
}

static int verify_on(const struct profile *p, enum sim_verify how, struct sim_run *run, struct ops *n)
{
	*run = run_for(&measure_surface, p, "--verify-command --range=-5GB sda");
	run->hooks = (struct session_hooks){ .request = count_ops, .arg = n };
	*n = (struct ops){ 0 };
	sim_set_verify(run->sim, how);
	return sim_run(run);
}

/* Also behind a connection that is slower than the medium, where it is the quicker way, and reading would not see a
 * revolution lost. */
TEST(verify_commands_find_what_reading_finds)
{
	PROFILE(p, "modern-4tb");

	plant(&p, 4000000, 8, 1);
	plant_bad(&p, 9000000, 8);
	for (int i = 0; i < 2; i++) {
		cleanup_run struct sim_run run = { 0 };
		struct ops n;

		p.path.interface_bytes_per_s = i ? 80e6 : 600e6;
		assert_int_equal(verify_on(&p, SIM_VERIFY_TRUE, &run, &n), 0);
		print_message("at %.0f MB/s: %d verified, %.1f MB read; %.1f MB/s, ratio %.2f\n",
		              p.path.interface_bytes_per_s * 1e-6, (int)n.verifies, (double)n.read_bytes * 1e-6,
		              sim_figure(&run, "rate_bytes_per_s") * 1e-6, sim_figure(&run, "verify_rate_ratio"));
		assert_only(&run, "always", 4000000);
		assert_only(&run, "unreadable", 9000000);
		assert_int_equal((uint64_t)sim_figure(&run, "scanned_bytes"), 5000000000 / 512 * 512);
		assert_true(n.verifies > 4500 && n.read_bytes < 600000000);
		assert_true(sim_figure(&run, "verify_rate_ratio") > (i ? 1.5 : 0.9));
		assert_true(sim_figure(&run, "rate_bytes_per_s") > (i ? 150e6 : 100e6));
	}
}

TEST(verify_commands_that_do_not_reach_the_medium_are_refused)
{
	static const struct {
		const char *profile, *why;
		enum sim_verify how;
	} cases[] = { { "modern-4tb", "without a look", SIM_VERIFY_LIES },
		      { "modern-4tb", "knows no verify", SIM_VERIFY_UNKNOWN },
		      { "ssd-sata", "No rotation", SIM_VERIFY_TRUE } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_run struct sim_run run = { 0 };
		struct ops n;
		PROFILE(p, cases[i].profile);

		assert_int_equal(verify_on(&p, cases[i].how, &run, &n), -EOPNOTSUPP);
		assert_non_null(strstr(run.err.text, cases[i].why));
		assert_true(n.verifies >= 1 && n.verifies <= 24); /* they were sent */
	}
}
