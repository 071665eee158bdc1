/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `surface`: what could not be read is in no list that forgets, the borders of what is scanned, scans that end early,
 * and states that lie.
 */
#include "test.h"

#include <jansson.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "folder.h"
#include "measure/surface/surface.h"
#include "surfacerun.h"

/* ---- what could not be read ---- */

#define SECTOR  512u
#define SECTORS 300u

/*
 * Requests at random over a disk with bad sectors: until a request was read again, something of it is listed if it
 * failed; no bad sector falls out.
 */
TEST(of_all_that_failed_nothing_falls_out_of_the_list)
{
	struct rng rng;

	rng_init(&rng, 51, 0);
	for (int k = 0; k < 400; k++) {
		struct surface_failures l = { 0 };
		bool is_bad[SECTORS] = { 0 }, was_tried[SECTORS] = { 0 };

		for (size_t i = rng_below(&rng, 30); i > 0; i--)
			is_bad[rng_below(&rng, SECTORS)] = true;
		for (int n = 0; n < 200; n++) {
			uint64_t first = rng_below(&rng, SECTORS), len = n % 3 ? 1 : 1 + rng_below(&rng, 64);
			uint64_t end = first + len < SECTORS ? first + len : SECTORS;
			const struct surface_failed f = { first * SECTOR, end * SECTOR, 1, 1, -EIO, end - first == 1 };
			bool has_failed = false, is_new = false;

			for (uint64_t s = first; s < end; s++) {
				has_failed |= is_bad[s];
				is_new |= !was_tried[s];
				was_tried[s] = true;
			}
			if (has_failed)
				surface_failures_add(&l, &f, is_new);
			else
				surface_failures_read(&l, f.first_bytes, f.end_bytes, f.is_sector);
			for (uint64_t s = 0; s < SECTORS; s++)
				if (is_bad[s] && was_tried[s])
					assert_true(surface_has_failed(&l, s * SECTOR, (s + 1) * SECTOR));
			for (size_t i = 0; i < l.n; i++) {
				assert_true(l.v[i].first_bytes < l.v[i].end_bytes);
				assert_true(!i || l.v[i - 1].end_bytes <= l.v[i].first_bytes);
				for (uint64_t s = l.v[i].first_bytes / SECTOR;
				     l.v[i].is_sector && s < l.v[i].end_bytes / SECTOR; s++)
					assert_true(is_bad[s]);
			}
		}
		for (uint64_t i = 0; i < 2 * SECTORS; i++) { /* each by itself, twice: then all is known */
			uint64_t s = i / 2;
			const struct surface_failed f = { s * SECTOR, (s + 1) * SECTOR, 1, 1, -EIO, true };

			if (is_bad[s])
				surface_failures_add(&l, &f, !was_tried[s]);
			else
				surface_failures_read(&l, f.first_bytes, f.end_bytes, f.is_sector);
		}
		assert_null(surface_next_unproven(&l, UINT64_MAX));
		for (uint64_t s = 0; s < SECTORS; s++)
			assert_int_equal(surface_has_failed(&l, s * SECTOR, (s + 1) * SECTOR), is_bad[s]);
		surface_failures_done(&l);
	}
}

/* More slow places than are listed, long before the two that cannot be read. */
TEST(however_many_places_are_slow_none_that_cannot_be_read_is_left_out)
{
	static const uint64_t bads[] = { 55000000, 58000000 }; /* at 28 and 29.7 GB */
	const char *path, *map;
	cleanup_run struct sim_run run = { 0 };
	FOLDER(dir);
	PROFILE(p, "modern-4tb");

	for (uint64_t k = 0; k < 100; k++) { /* a quarter of the disk: more, and it would be the drive's own way */
		const struct profile_slow slow = {
			.lba = 1000000 + k * 524288, .count = 131072, .every = 256, .revolutions = 1
		};

		assert_int_equal(profile_add_slow(&p, &slow), 0);
	}
	for (size_t i = 0; i < 2; i++)
		plant_bad(&p, bads[i], 8);
	path = textf("%s/map", dir.path);
	run = run_on(&p, textf("--range=-30GB --without=files --mapfile=%s sda", path));
	print_message("slow %.0f, listed %zu\n", sim_figure(&run, "slow_requests"),
	              result_find_table(run.res, "slow")->nrows);
	assert_true(sim_figure(&run, "slow_requests") > SURFACE_LISTED);
	assert_int_equal((int)sim_figure(&run, "unreadable_places"), 2);
	assert_int_equal((int)sim_figure(&run, "unreadable_bytes"), 2 * 4096);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(count_kind(run.res, "unreadable", bads[i]), 1);
	assert_int_equal(result_has_notice(run.res, "places-cut"),
	                 sim_figure(&run, "unchecked_places") > SURFACE_LISTED);
	assert_int_equal((int)sim_figure(&run, "scanned_ratio"), 1);
	map = file_text(path);
	for (size_t i = 0; i < 2; i++) {
		assert_non_null(strstr(map, textf("\n0x%08" PRIX64 "  0x00001000  -\n", bads[i] * 512)));
	}
}

/* Answers of a host that is late by far lead each row of pieces to another sector, which alone is well: the limit holds
 * all the same, and what it leaves open is reported. It was 255 s, where 153 are allowed. */
TEST(rechecks_beside_a_late_host_end_at_their_limit)
{
	unsigned limited = 0;

	for (unsigned seed = 1; seed <= 4; seed++) {
		cleanup_run struct sim_run run = { 0 };
		double again_s, most_s;
		PROFILE(p, "tiny");

		p.noise.jitter_us = 60;
		p.noise.outlier_p = 0.3;
		p.noise.outlier_ms = 100;
		run = run_on(&p, textf("--block=1M --range=128MiB-192MiB --without=files --seed=%u sda", seed));
		again_s = sim_figure(&run, "again_slow_s");
		most_s = 150.0 + 0.15 * sim_figure(&run, "scan_s");
		print_message("seed %u: %.1f s of %.1f, %.0f unchecked\n", seed, again_s, most_s,
		              sim_figure(&run, "unchecked_places"));
		assert_true(again_s < most_s + 10.0); /* a round that began before */
		assert_int_equal(count_kind(run.res, "always", UINT64_MAX), 0);
		assert_int_equal(result_has_notice(run.res, "unchecked"), sim_figure(&run, "unchecked_places") > 0);
		limited += sim_figure(&run, "unchecked_places") > 0;
	}
	assert_true(limited > 0);
}

/* ---- borders ---- */

TEST(bad_sectors_at_every_border_are_found_and_nothing_beyond_is_read)
{
	static const struct {
		uint64_t from, to; /* LBA; to 0: the end, 767999 */
	} ranges[] = { { 0, 0 }, { 0, 4096 }, { 700001, 0 }, { 300, 10007 }, { 767999, 0 }, { 5, 6 } };
	static const uint64_t counts[] = { 1, 2, 9 };

	for (size_t i = 0; i < ARRAY_LEN(ranges) * ARRAY_LEN(counts) * 2; i++) {
		uint64_t from = ranges[i / 6].from, to = ranges[i / 6].to ? ranges[i / 6].to : 768000;
		uint64_t count = counts[i / 2 % 3], first = i % 2 ? to - count : from;
		uint64_t n = to - from < count ? to - from : count;
		cleanup_run struct sim_run run = { 0 };
		PROFILE(p, "tiny");

		if (to - from < count)
			first = from;
		plant_bad(&p, first, n);
		run = run_on(&p, textf("--without=files --range=%d-%d sda", (int)from * 512, (int)to * 512));
		if (count_kind(run.res, "unreadable", first) != 1 ||
		    count_kind(run.res, "unreadable", UINT64_MAX) != 1 ||
		    (uint64_t)sim_figure(&run, "unreadable_bytes") != n * 512)
			fail_msg("%s: %d sectors at %d", run.words, (int)n, (int)first);
		assert_int_equal((int)sim_figure(&run, "healed_places"), 0);
		assert_int_equal(run.res->status, STATUS_WITH_ERRORS);
	}
}

/* What failed was not read, and is in no rate. */
TEST(what_failed_is_no_rate)
{
	cleanup_run struct sim_run run = { 0 };
	const struct table *map;
	double most; /* of three requests of a cell the drive may have read ahead of one while it retried the fourth */
	PROFILE(p, "modern-4tb");

	for (uint64_t lba = 1000000; lba < 5000000; lba += 4096)
		plant_bad(&p, lba, 8);
	run = run_on(&p, "--range=-4GB --without=files --time=20m sda");
	most = 1.05 * truth_rate(disk_geometry(sim_model(sim_find(run.sim, "sda"))), 0, 1000000000);
	map = result_find_table(run.res, "map");
	for (size_t r = 0; r < map->nrows; r++)
		assert_false(number(map, r, "rate_bytes_per_s") > 1.2 * most);
	assert_true(sim_figure(&run, "failed_bytes") > 900.0 * 512 * 1024);
	assert_true(sim_figure(&run, "rate_bytes_per_s") < most);
}

/* ---- scans that end early ---- */

/* The failing disk has stretches that lose revolutions, and unreadable places, of which a short sample meets none. */
TEST(a_sample_that_met_weak_places_does_not_say_that_there_is_none)
{
	unsigned met = 0;

	for (unsigned seed = 1; seed <= 8; seed++) {
		cleanup_run struct sim_run run =
			ran(&measure_surface, "failing", textf("--sample --time=30s --seed=%u sda", seed));

		cli_screen(run.res);
		if (!(sim_figure(&run, "weak_places") > 0.0))
			continue;
		met++;
		assert_non_null(strstr(run.res->answer, "lost revolutions"));
		assert_null(strstr(run.res->answer, "no bad or slow place"));
	}
	assert_true(met > 0);
}

/* Each 4 KiB of the disk that a request of the run read. */
static void note_reads(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	bool *was_read = arg;

	(void)ses;
	(void)target;
	for (uint64_t at = req->offset_bytes; !is_fault && at < req->offset_bytes + req->len_bytes; at += 4096)
		was_read[at / 4096] = true;
}

/* However often a place is read: a sample in time for all of the disk reads all of it, and one of less says so. */
TEST(a_sample_counts_no_byte_twice)
{
	static const char *const times[] = { "20s", "40s", "60s", "90s", "180s" };

	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		for (unsigned seed = 1; seed <= 3; seed++) {
			size_t size = 393216000 / 4096, n = 0;
			cleanup_free bool *was_read = calloc(size, 1);
			double scanned, ratio, unscanned;
			PROFILE(p, "tiny");
			cleanup_run struct sim_run run = run_for(
				&measure_surface, &p, textf("--sample --time=%s --seed=%u sda", times[i], seed));

			run.hooks = (struct session_hooks){ .request = note_reads, .arg = was_read };
			MUST_RUN(run);
			for (size_t k = 0; k < size; k++)
				n += was_read[k];
			scanned = sim_figure(&run, "scanned_bytes");
			ratio = sim_figure(&run, "scanned_ratio");
			unscanned = sim_figure(&run, "unscanned_bytes");
			print_message("%s: %.4f of %.4f\n", run.words, ratio, (double)n / (double)size);
			assert_true(scanned <= 4096.0 * (double)n);
			assert_true(scanned + unscanned == 393216000.0 && fabs(ratio * 393216000.0 - scanned) < 1);
			assert_true(sim_figure(&run, "rate_bytes_per_s") < 23e6);
			assert_true(i < 3 || unscanned == 0);
			assert_true(unscanned > 0 || isnan(sim_figure(&run, "bad_places_most_ratio")));
		}
}

struct paced {
	double rate, ahead_bytes; /* the most by which it was ahead of the rate at any moment */
	uint64_t bytes;
};

static void note_moved(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	struct paced *p = arg;

	p->bytes += req->len_bytes;
	p->ahead_bytes =
		fmax(p->ahead_bytes, (double)p->bytes - p->rate * (double)(req->done_ns - ses->start_ns) * 1e-9);
}

/* What is judged together is read at full rate: a batch of the scan, or a row before it. */
TEST(no_run_is_ever_ahead_of_its_rate_by_much_more_than_a_batch)
{
	static const struct {
		const char *words;
		double rate;
	} runs[] = { { "--rate=1MB --time=10s sda", 1e6 },
		     { "--rate=1MB --time=60s sda", 1e6 },
		     { "--rate=4MB --sample --time=60s sda", 4e6 },
		     { "--rate=5MB --write --destroy-data=TINY0001 --time=60s sda", 5e6 } };

	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		struct paced paced = { .rate = runs[i].rate };
		PROFILE(p, "tiny");
		cleanup_run struct sim_run run = run_for(&measure_surface, &p, runs[i].words);

		run.hooks = (struct session_hooks){ .request = note_moved, .arg = &paced };
		MUST_RUN(run);
		print_message("%s: %.1f MB ahead at most\n", runs[i].words, paced.ahead_bytes * 1e-6);
		assert_true(paced.ahead_bytes <= 1.3 * SURFACE_BATCH * SURFACE_SAMPLE_BLOCK);
	}
}

TEST(no_number_of_errors_ends_a_scan_unless_it_was_asked_for)
{
	for (int is_asked = 0; is_asked < 2; is_asked++) {
		cleanup_run struct sim_run run = { 0 };
		PROFILE(p, "tiny");

		for (uint64_t lba = 1000; lba < 700000; lba += 500)
			plant_bad(&p, lba, 1);
		run = run_on(&p, is_asked ? "--block=64K --max-errors=50 sda" : "--block=64K --recheck-all sda");
		cli_screen(run.res);
		assert_int_equal(sim_figure(&run, "scanned_ratio") < 1.0, is_asked);
		assert_int_equal(strstr(run.res->answer, "as many errors as --max-errors allows") != NULL, is_asked);
		if (!is_asked) {
			assert_true(sim_figure(&run, "unreadable_requests") > 1000);
			assert_int_equal((int)sim_figure(&run, "unreadable_places"), 1398);
		}
	}
}

/*
 * Drives try for long before a read fails: what fails is skipped at first, by a rule of time, also where runs end in
 * between; nothing is lost of it, and asked for all, all of it is read, and is known to the sector.
 */
TEST(a_dead_stretch_is_skipped_first_and_known_to_the_sector_when_asked)
{
	const uint64_t lba = 39062496, count = 98304, span = 30000000000;
	double skipped = NAN, hours = 0.0;
	FOLDER(dir);
	PROFILE(p, "modern-4tb");

	assert_int_equal(profile_add_bad(&p, &(struct profile_bad){ .lba = lba,
	                                                            .count = count,
	                                                            .kind = BAD_READ,
	                                                            .revolutions = 3000,
	                                                            .err = -EIO }),
	                 0);
	MUST(profile_finish(&p, &err));
	for (int i = 0; i < 20 && !(skipped == 0.0); i++) {
		bool is_all = !isnan(skipped) && skipped > 0.0 && hours < 0.0;
		cleanup_run struct sim_run run = { 0 };

		run = run_on(&p, textf("--range=-30GB --without=files --resume --state=%s/state %s sda", dir.path,
		                       is_all ? "--recheck-all" : "--time=500"));
		assert_true(sim_figure(&run, "scanned_bytes") + sim_figure(&run, "skipped_bytes") ==
		            sim_figure(&run, "scanned_to_bytes"));
		hours += is_all ? 0.0 : (double)sim_elapsed_ns(run.sim) / 3.6e12;
		if (is_all || !result_has_notice(run.res, "unfinished")) {
			skipped = sim_figure(&run, "skipped_bytes");
			assert_true(is_all ? skipped == 0.0 : skipped > 0.0 && skipped < 4.0 * (double)count * 512);
			assert_true(is_all || hours < 0.6); /* 48 blocks of 25 s, halved to sectors: days */
			hours = -1.0;
		}
		if (is_all) {
			assert_true(sim_figure(&run, "scanned_bytes") == (double)span);
			assert_true(sim_figure(&run, "unreadable_bytes") == (double)count * 512);
			assert_int_equal(count_kind(run.res, "unreadable", lba), 1);
		}
	}
	assert_true(skipped == 0.0);
}

/* ---- states that lie ---- */

static void set(json_t *doc, const char *figure, double value)
{
	assert_int_equal(json_object_set_new(json_object_get(doc, "figures"), figure, json_real(value)), 0);
}

static void add_row(json_t *doc, double offset, double length, double error)
{
	json_t *slow = json_object_get(json_object_get(doc, "tables"), "slow"), *row = json_array(), *column;
	size_t i;

	json_array_foreach(json_object_get(slow, "columns"), i, column)
	{
		const char *key = json_string_value(json_object_get(column, "key"));

		assert_int_equal(json_array_append_new(row, !strcmp(key, "kind")           ? json_string("pending")
		                                            : !strcmp(key, "offset_bytes") ? json_real(offset)
		                                            : !strcmp(key, "length_bytes") ? json_real(length)
		                                            : !strcmp(key, "error")        ? json_real(error)
		                                                                           : json_integer(1)),
		                 0);
	}
	assert_int_equal(json_array_append_new(json_object_get(slow, "rows"), row), 0);
}

static void lie(json_t *doc, int which)
{
	json_t *map = json_object_get(json_object_get(json_object_get(doc, "tables"), "map"), "rows");
	json_t *targets = json_object_get(doc, "targets");

	switch (which) {
	case 1: /* beyond the end */
		set(doc, "scanned_to_bytes", 8e12);
		return;
	case 2: /* at the end, with cells that are not */
		set(doc, "scanned_to_bytes", 2e9);
		return;
	case 3:
		set(doc, "scanned_to_bytes", 2e9);
		set(doc, "scanned_bytes", 2e9);
		return;
	case 4:
		add_row(doc, 9e12, 4096, -5);
		return;
	case 5:
		add_row(doc, 4096, 8e12, -5);
		return;
	case 6: /* overlap */
		add_row(doc, 4096, 8192, -5);
		add_row(doc, 8192, 8192, -5);
		return;
	case 7:
		add_row(doc, 4096, 0, -5);
		return;
	case 8:
		assert_int_equal(json_array_clear(map), 0);
		return;
	case 9:
		assert_int_equal(json_object_set_new(json_array_get(targets, 0), "size_bytes", json_integer(1 << 30)),
		                 0);
		return;
	case 10:
		set(doc, "first_bytes", 4096);
		return;
	case 11: /* the other disk in the dock */
		assert_int_equal(json_object_set_new(json_array_get(targets, 0), "serial", json_string("WD-X1")), 0);
		return;
	default: /* a longer request than any: is not read again */
		add_row(doc, 4096, 1u << 28, 0);
	}
}

TEST(a_state_that_no_scan_can_have_come_to_is_refused)
{
	FOLDER(dir);
	const char *path = textf("%s/state", dir.path);
	const char *words = textf("--range=-2GB --without=files --resume --state=%s sda", path);

	for (int which = 0; which < 13; which++) {
		struct sim_run run;
		json_t *doc;
		PROFILE(p, "modern-4tb");

		run = run_on(&p, textf("--time=8s %s", words));
		assert_true(sim_figure(&run, "scanned_bytes") > 0 && sim_figure(&run, "scanned_ratio") < 1);
		sim_run_end(&run);
		doc = json_load_file(path, 0, NULL);
		assert_non_null(doc);
		if (which)
			lie(doc, which);
		assert_int_equal(json_dump_file(doc, path, JSON_INDENT(1)), 0);
		json_decref(doc);
		run = run_for(&measure_surface, &p, words);
		if (sim_run(&run) != (which % 12 ? -EINVAL : 0))
			fail_msg("lie %d: %s", which, run.err.text);
		if (which % 12 == 0)
			assert_int_equal((int)sim_figure(&run, "scanned_ratio"), 1);
		sim_run_end(&run);
		(void)unlink(path);
	}
}

TEST(a_state_that_is_no_regular_file_is_refused_at_once)
{
	FOLDER(dir);
	PROFILE(p, "modern-4tb");
	const char *path = textf("%s/state", dir.path);
	cleanup_run struct sim_run run =
		run_for(&measure_surface, &p, textf("--range=-2GB --resume --state=%s sda", path));

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sim_run(&run), -EINVAL);
	sim_run_done(&run);
	(void)unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(sim_run(&run), -EINVAL);
}
