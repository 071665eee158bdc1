/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `compare` on runs of simulated disks, in virtual time: two runs of the same thing differ in about 5 % of pairs at
 * most, and a disk that has changed is seen. PLATTER_LONG=1: more pairs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "filesrun.h"
#include "report/alike.h"
#include "report/report.h"
#include "seeds.h"
#include "simrun.h"

extern const struct measure measure_transactions, measure_seek, measure_geometry, measure_zones, measure_mark;

static size_t pairs_of(size_t brief, size_t most)
{
	return getenv("PLATTER_LONG") ? most : TALLY_SEEDS(brief);
}

static struct result *run_with_seed(const struct measure *m, const char *profile, const char *words, size_t seed)
{
	char all[256];
	struct sim_run run = { .sim = sim_new(), .m = m, .words = all };
	struct result *res;

	(void)snprintf(all, sizeof(all), "--seed=%zu %s sda", seed, words);
	(void)sim_add_profile(run.sim, profile, "sda");
	sim_set_contents(run.sim, false);
	if (sim_run(&run) < 0)
		fail_msg("%s", run.err.text);
	res = run.res;
	run.res = NULL;
	sim_run_end(&run);
	return res;
}

/* Whether they differ; prints by what. *ret_open: or it cannot be told. */
static bool differ(const struct result *a, const struct result *b, bool *ret_open)
{
	struct compare_options opt = { 0 };
	struct result *res = NULL;
	struct err err = { 0 };
	bool no;

	if (report_compare(&a, 1, &b, 1, &opt, &res, &err) < 0)
		fail_msg("%s", err.text);
	no = res->verdict_is_no;
	if (ret_open)
		*ret_open = res->verdict_is_open;
	for (size_t r = 0; no && getenv("PLATTER_TELL") && r < res->tables[0]->nrows; r++) {
		const char *verdict = table_string(res->tables[0], r, 8);

		if (strcmp(verdict, "same") != 0 && strcmp(verdict, "no interval") != 0 &&
		    strcmp(verdict, "of the run") != 0)
			print_message("  %s %g %g\n", table_string(res->tables[0], r, 2),
			              table_number(res->tables[0], r, 3), table_number(res->tables[0], r, 4));
	}
	for (size_t i = 0; no && getenv("PLATTER_TELL") && i < res->nnotices; i++)
		print_message("  %s\n", res->notices[i].text);
	result_free(res);
	return no;
}

/* 5 % and three deviations of so many pairs. */
static void assert_about_5_percent(const char *what, size_t wrong, size_t pairs)
{
	double most = 0.05 * (double)pairs + 3.0 * sqrt(0.05 * 0.95 * (double)pairs);

	print_message("%s: %zu of %zu pairs of equal runs are called different\n", what, wrong, pairs);
	assert_true((double)wrong <= most);
}

static const struct same_case {
	const struct measure *m;
	const char *profile, *words;
	size_t brief, most;
} same_cases[] = {
	{ &measure_transactions, "tiny", "--users=4 --time=60s", 50, 1000 },
	{ &measure_transactions, "tiny", "--users=30 --ios=1 --think=500ms --time=60s", 50, 1000 },
	{ &measure_transactions, "tiny", "--arrivals=40 --ios=1 --time=60s", 50, 1000 },
	{ &measure_seek, "tiny", "--time=60s", 10, 1000 },
	{ &measure_seek, "tiny", "--without=queue", 5, 300 },
	{ &measure_geometry, "tiny", "--quick", 50, 1000 },
	{ &measure_geometry, "tiny", "", 5, 300 },
	{ &measure_zones, "tiny", "", 50, 500 },
};

static void two_runs_of_the_same_are_called_different_in_about_5_percent(void **state)
{
	(void)state;
	for (size_t c = 0; c < sizeof(same_cases) / sizeof(same_cases[0]); c++) {
		const struct same_case *of = &same_cases[c];
		size_t pairs = pairs_of(of->brief, of->most), wrong = 0, open = 0;
		char what[128];

		for (size_t i = 0; i < pairs; i++) {
			struct result *a = run_with_seed(of->m, of->profile, of->words, 2 * i + 1);
			struct result *b = run_with_seed(of->m, of->profile, of->words, 2 * i + 2);
			bool is_open;

			wrong += differ(a, b, &is_open);
			open += is_open;
			result_free(a);
			result_free(b);
		}
		(void)snprintf(what, sizeof(what), "%s %s %s", of->m->name, of->words, of->profile);
		assert_about_5_percent(what, wrong, pairs);
		print_message("%s: of %zu it cannot be told\n", what, open);
	}
}

/* One of a fleet: zones whose edges fall between the places where a quick run looks. */
static struct result *zones_of_disk(size_t number, size_t seed)
{
	struct sim_run run = { .sim = sim_new(), .m = &measure_zones };
	char text[500], words[80];
	struct profile p;
	struct result *res;

	(void)snprintf(
		text, sizeof(text),
		"model SIMULATED 400\nserial SIM%04zu\ntransport ata\nsurfaces 4\nseed %zu\nrpm 7200\nseek 0.8 0.06 300 1.4 0.0015\n"
		"head_switch_ms 0.8\ncapacity_lba 740000\nseek_scatter 1 0.05\njitter_us 10\noutlier 0.0003 4\nretry_per_gb 2\n"
		"zone 150 400 398 403 401\nzone 150 350 352 347 349\nzone 150 300 303 298 301\nzone 150 250 251 253 249\n",
		number, seed);
	if (profile_parse(&p, "fleet", text, strlen(text), &run.err) < 0)
		fail_msg("%s", run.err.text);
	(void)snprintf(words, sizeof(words), "--seed=%zu --quick --count=16 sda", seed);
	run.words = words;
	(void)sim_add_disk(run.sim, &p, "sda");
	sim_set_contents(run.sim, false);
	if (sim_run(&run) < 0)
		fail_msg("%s", run.err.text);
	res = run.res;
	run.res = NULL;
	sim_run_end(&run);
	profile_done(&p);
	return res;
}

/* However many disks and looks there are: any of them counts. */
static void folders_of_forty_equal_disks_differ_in_about_5_percent(void **state)
{
	enum { DISKS = 40 };
	size_t pairs = pairs_of(4, 200), wrong = 0; /* were each disk taken for itself, 9 of 10 would */

	(void)state;
	for (size_t i = 0; i < pairs; i++) {
		struct result *v[2][DISKS], *res = NULL;
		struct compare_options opt = { 0 };
		struct err err = { 0 };

		for (size_t d = 0; d < 2 * (size_t)DISKS; d++)
			v[d / DISKS][d % DISKS] = zones_of_disk(d % DISKS, 1000 * i + d + 1);
		if (report_compare((const struct result *const *)v[0], DISKS, (const struct result *const *)v[1], DISKS,
		                   &opt, &res, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal((int)figure_number(result_find_figure(res, "pairs")), DISKS);
		wrong += res->verdict_is_no;
		if (res->verdict_is_no)
			print_message("  %s\n", res->answer);
		result_free(res);
		for (size_t d = 0; d < 2 * (size_t)DISKS; d++)
			result_free(v[d / DISKS][d % DISKS]);
	}
	assert_about_5_percent("folders of forty disks", wrong, pairs);
}

/* Another disk, or more of them at work: the same looks must find what is so. */
static void a_disk_that_has_changed_is_seen(void **state)
{
	struct result *tiny[2] = { run_with_seed(&measure_transactions, "tiny", "--users=4 --time=60s", 1),
		                   run_with_seed(&measure_seek, "tiny", "--time=60s", 1) };
	struct result *other[2] = { run_with_seed(&measure_transactions, "samsung-hd103sj", "--users=4 --time=60s", 1),
		                    run_with_seed(&measure_seek, "samsung-hd103sj", "--time=60s", 1) };

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_true(differ(tiny[i], other[i], NULL));
		result_free(tiny[i]);
		result_free(other[i]);
	}
}

/* A look at the clock takes a time of its own, as on a machine that has other things to do. */
static struct rng noise;

static void noisy_look(struct files_run *run)
{
	run->now_ns += (uint64_t)(rng_exp(&noise, 2e5));
}

static void marks_of_the_same_are_called_different_in_about_5_percent(void **state)
{
	size_t pairs = pairs_of(40, 400), wrong = 0;

	(void)state;
	rng_init(&noise, 5, 5);
	for (size_t i = 0; i < pairs; i++) {
		struct files_run run[2] = { 0 };

		for (int k = 0; k < 2; k++) {
			run[k] = (struct files_run){ .m = &measure_mark, .at_look = noisy_look };
			(void)snprintf(run[k].words, sizeof(run[k].words),
			               "--count=2000 --time=20ms --repeat=4 --seed=%zu %s", 2 * i + (size_t)k + 1,
			               files_dir);
			files_run_well(&run[k]);
		}
		wrong += differ(run[0].res, run[1].res, NULL);
		files_done(&run[0]);
		files_done(&run[1]);
	}
	assert_about_5_percent("mark", wrong, pairs);
}

/* The interval must hold what many runs say together. */
static void rate_and_mean_response_are_covered_by_their_intervals(void **state)
{
	static const char *const ways[] = { "--users=4 --time=40s", "--users=30 --ios=1 --think=500ms --time=40s",
		                            "--arrivals=40 --ios=1 --time=40s", "--users=4 --count=120" };
	static const char *const names[] = { "transactions_per_s", "response_mean_ns" };
	size_t n = pairs_of(80, 2000);

	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
		struct result **res = calloc(n, sizeof(*res));

		assert_non_null(res);
		for (size_t i = 0; i < n; i++)
			res[i] = run_with_seed(&measure_transactions, "tiny", ways[w], i + 1000);
		for (size_t f = 0; f < ARRAY_LEN(names); f++) {
			double truth = 0.0;
			size_t covered = 0;

			for (size_t i = 0; i < n; i++)
				truth += figure_number(result_find_figure(res[i], names[f])) / (double)n;
			for (size_t i = 0; i < n; i++) {
				const struct figure *fig = result_find_figure(res[i], names[f]);

				assert_true(isfinite(fig->ci.low) && fig->ci.low < fig->ci.high);
				covered += fig->ci.low <= truth && truth <= fig->ci.high;
			}
			print_message("%s %s: %zu of %zu\n", ways[w], names[f], covered, n);
			assert_true((double)covered >= 0.93 * (double)n - 3.0 * sqrt(0.05 * 0.95 * (double)n));
		}
		for (size_t i = 0; i < n; i++)
			result_free(res[i]);
		free(res);
	}
}

/* ---- which belong together ---- */

struct owner {
	const char *machine, *path, *kind, *serial, *serial_of, *shared_names, *fs_type, *transport, *alias;
};

static const struct field owner_fields[] = {
	FIELD_STR(struct owner, path, "path"),
	FIELD_STR(struct owner, kind, "kind"),
	FIELD_STR(struct owner, serial, "serial"),
	FIELD_STR(struct owner, serial_of, "serial of"),
	FIELD_STR(struct owner, shared_names, "shared"),
	FIELD_STR(struct owner, fs_type, "file system"),
	FIELD_STR(struct owner, transport, "transport"),
	FIELD_STR(struct owner, alias, "alias"),
	FIELD_END,
};

static struct result *zones_of(const struct owner *o, const char *started)
{
	struct result *res = result_new("zones");
	struct interval ci = { 99.0, 101.0 };

	result_set(&res->head.started, started);
	result_set(&res->head.host.machine_id, o->machine);
	result_set(&res->head.host.name, o->machine);
	result_target(res, o, owner_fields);
	res->status = STATUS_COMPLETE;
	result_figure(res, "mean_bytes_per_s", "mean", UNIT_BYTES_PER_S, 100.0, &ci, 64);
	return res;
}

/* By fleets, trends, comparisons alike: they ask alike_same_disk(), as alike() does. */
static void documents_of_two_hosts_are_of_one_disk_where_a_lasting_name_says_so(void **state)
{
	static const struct {
		struct owner a, b;
		bool is_one;
	} cases[] = {
		{ { "h1", "/dev/vda", "disk" }, { "h2", "/dev/vda", "disk" }, false },
		{ { "h1", "/dev/vda", "disk" }, { "h1", "/dev/vda", "disk" }, true },
		{ { "h1", "/dev/vda", "disk" }, { "h1", "/dev/vdb", "disk" }, false },
		{ { "h1", "/data", "directory", .fs_type = "ext4" },
		  { "h2", "/data", "directory", .fs_type = "ext4" },
		  false },
		{ { "h1", "/data", "directory", .fs_type = "ext4" },
		  { "h1", "/data", "directory", .fs_type = "ext4" },
		  true },
		{ { "h1", "/data", "directory", .fs_type = "ext4" },
		  { "h1", "/data", "directory", .fs_type = "xfs" },
		  false },
		{ { "h1", "/data/f", "file" }, { "h2", "/data/f", "file" }, false },
		{ { "h1", "/dev/sda", "disk", "WD-WCC7K5" }, { "h2", "/dev/sdq", "disk", "WD-WCC7K5" }, true },
		{ { "h1", "/dev/sda", "disk", "WD-WCC7K5", "bridge" },
		  { "h2", "/dev/sdq", "disk", "WD-WCC7K5", "bridge" },
		  true },
		{ { "h1", "/dev/sda", "disk", "WD-WCC7K5", .shared_names = "serial" },
		  { "h2", "/dev/sda", "disk", "WD-WCC7K5", .shared_names = "serial" },
		  false },
		{ { "h1", "/dev/sda", "disk", "0123456789ABCDEF" },
		  { "h2", "/dev/sda", "disk", "0123456789ABCDEF" },
		  false },
		{ { "h1", "/dev/sda", "disk", "0123456789ABCDEF" },
		  { "h1", "/dev/sda", "disk", "0123456789ABCDEF" },
		  true },
		{ { "h1", "/dev/sda", "disk", "0123456789ABCDEF" },
		  { "h1", "/dev/sdb", "disk", "0123456789ABCDEF" },
		  false },
		{ { "h1", "/dev/dm-0", "disk", .transport = "dm", .alias = "vg-a" },
		  { "h1", "/dev/dm-4", "disk", .transport = "dm", .alias = "vg-a" },
		  true },
		{ { "h1", "/dev/dm-0", "disk", .transport = "dm", .alias = "vg-a" },
		  { "h1", "/dev/dm-0", "disk", .transport = "dm", .alias = "vg-b" },
		  false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result *a = zones_of(&cases[i].a, "2025-01-01T00:00:00.000000Z");
		struct result *b = zones_of(&cases[i].b, "2025-02-01T00:00:00.000000Z");
		const struct result *both[] = { a, b };

		if (alike_same_disk(a, b) != cases[i].is_one || alike_same_disk(b, a) != cases[i].is_one)
			fail_msg("case %zu", i);
		/* and each line of a fleet says whose it is */
		if (!cases[i].is_one && strcmp(cases[i].a.kind, "disk") == 0) {
			assert_int_equal(report_fleet_disks(both, 2), 2);
			if (!cases[i].a.shared_names)
				assert_string_not_equal(alike_disk(a), alike_disk(b));
		}
		result_free(a);
		result_free(b);
	}
}

struct spot {
	const char *path, *kind, *disk, *serial, *wwn, *model, *firmware;
	uint64_t size_bytes, partition_offset_bytes;
};

static const struct field spot_fields[] = {
	FIELD_STR(struct spot, path, "path"),
	FIELD_STR(struct spot, kind, "kind"),
	FIELD_STR(struct spot, disk, "disk"),
	FIELD_STR(struct spot, serial, "serial"),
	FIELD_STR(struct spot, wwn, "wwn"),
	FIELD_STR(struct spot, model, "model"),
	FIELD_STR(struct spot, firmware, "firmware"),
	FIELD_U64(struct spot, size_bytes, UNIT_BYTES, "size"),
	FIELD_U64(struct spot, partition_offset_bytes, UNIT_BYTES, "place on the disk"),
	FIELD_END,
};

static const struct spot sda = { "/dev/sda", "disk", "sda", "S1", "0x5000", "M", "1.0", 1000000, 0 };

static struct result *zones_at(const struct spot *at, const char *started, double rate)
{
	struct result *res = result_new("zones");
	struct interval ci = { 0.99 * rate, 1.01 * rate };

	result_set(&res->head.started, started);
	result_target(res, at, spot_fields);
	res->status = STATUS_COMPLETE;
	result_figure(res, "mean_bytes_per_s", "mean", UNIT_BYTES_PER_S, rate, &ci, 64);
	return res;
}

/* As in folders, where not all is of one kind: how many pairs are found; -1: they are not alike at all. *ret_no:
 * something differs. */
static int pairs_in_folders(const struct result *a, const struct result *b, bool *ret_no, const char *code)
{
	struct result *other = result_new("seek"), *res = NULL;
	const struct result *va[] = { a, other }, *vb[] = { b, other };
	struct compare_options opt = { 0 };
	struct err err = { 0 };
	int n = -1;

	other->status = STATUS_COMPLETE;
	result_target(other, &sda, spot_fields);
	if (report_compare(va, 2, vb, 2, &opt, &res, &err) == 0)
		n = (int)figure_number(result_find_figure(res, "pairs")) - 1; /* seek with itself */
	*ret_no = res && res->verdict_is_no;
	if (code)
		assert_true(res && result_has_notice(res, code));
	result_free(res);
	result_free(other);
	return n;
}

static void only_documents_of_the_same_place_belong_together(void **state)
{
	const struct {
		struct spot a, b;
		int pairs;
	} cases[] = {
		{ sda, sda, 1 },
		{ sda, { "/dev/sdb", "disk", "sdb", "S1", "0x5000", "M", "1.0", 1000000, 0 }, 1 }, /* another socket */
		{ sda, { "/dev/sda", "disk", "sda", "S1", "0x5000", "M", "1.1", 1000000, 0 }, 1 }, /* new firmware */
		{ sda, { "/dev/sda", "disk", "sda", "S2", "0x5001", "M", "1.0", 1000000, 0 }, 0 },
		{ sda, { "/dev/sda1", "partition", "sda", "S1", "0x5000", "M", "1.0", 500000, 1000 }, 0 },
		{ { "/dev/sda1", "partition", "sda", "S1", "0x5000", "M", "1.0", 400, 0 },
		  { "/dev/sda2", "partition", "sda", "S1", "0x5000", "M", "1.0", 400, 400 },
		  0 },
		{ { "/mnt/a", "file", "sda", "S1", "0x5000", "M", "1.0", 500, UINT64_MAX },
		  { "/mnt/b", "file", "sda", "S1", "0x5000", "M", "1.0", 500, UINT64_MAX },
		  0 },
		{ { "/mnt/a", "file", "sda", "S1", "0x5000", "M", "1.0", 500, UINT64_MAX },
		  { "/mnt/a", "file", "sda", "S1", "0x5000", "M", "1.0", 600, UINT64_MAX },
		  1 }, /* files grow */
		/* equal disks without a serial number are told apart by their names */
		{ { "/dev/sda", "disk", "sda", NULL, NULL, "M", NULL, 1000, 0 },
		  { "/dev/sdb", "disk", "sdb", NULL, NULL, "M", NULL, 1000, 0 },
		  0 },
		{ { "/dev/sda", "disk", "sda", NULL, NULL, "M", NULL, 1000, 0 },
		  { "/dev/sda", "disk", "sda", NULL, NULL, "M", NULL, 1000, 0 },
		  1 },
		/* namespaces of one drive; a drive that has another number after a restart */
		{ { "/dev/nvme0n1", "disk", "nvme0n1", "N", NULL, "M", "1", 1000, 0 },
		  { "/dev/nvme0n2", "disk", "nvme0n2", "N", NULL, "M", "1", 1000, 0 },
		  0 },
		{ { "/dev/nvme0n1", "disk", "nvme0n1", "N", NULL, "M", "1", 1000, 0 },
		  { "/dev/nvme1n1", "disk", "nvme1n1", "N", NULL, "M", "1", 1000, 0 },
		  1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result *a = zones_at(&cases[i].a, "2025-01-01T00:00:00.000000Z", 1e8);
		struct result *b = zones_at(&cases[i].b, "2026-01-01T00:00:00.000000Z", 1e8);
		bool no;
		int pairs = pairs_in_folders(a, b, &no, cases[i].pairs ? NULL : "no-like");

		if (pairs != cases[i].pairs)
			fail_msg("case %zu: %d pairs", i, pairs);
		assert_false(no);
		result_free(a);
		result_free(b);
	}
}

static void only_documents_made_the_same_way_belong_together(void **state)
{
	static const struct {
		const char *option, *a, *b;
		int pairs;
	} cases[] = {
		{ "write", "no", "yes", 0 },
		{ "rewrite", "no", "yes", 0 },
		{ "depth", "4", "16", 0 },
		{ "block", "0", "64KiB", 0 },
		{ "an-option-of-tomorrow", "1", "2", 0 },
		{ "json", "a.json", "b.json", 1 },
		{ "seed", "1", "2", 1 },
		{ "precision", "1%", "2%", 1 },
		{ "time", "1m", "2m", 1 },
		{ "quiet", "no", "yes", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result *a = zones_at(&sda, "2025-01-01T00:00:00.000000Z", 1e8);
		struct result *b = zones_at(&sda, "2026-01-01T00:00:00.000000Z", 1e8);
		bool no;

		result_option(a, cases[i].option, cases[i].a);
		result_option(b, cases[i].option, cases[i].b);
		if (pairs_in_folders(a, b, &no, cases[i].pairs ? NULL : "no-like") != cases[i].pairs)
			fail_msg("--%s", cases[i].option);
		result_free(a);
		result_free(b);
	}
}

static void a_run_that_was_cut_short_is_no_like_and_errors_are_a_difference(void **state)
{
	static const struct {
		enum result_status a, b;
		int pairs;
		bool no;
	} cases[] = {
		{ STATUS_COMPLETE, STATUS_COMPLETE, 1, false },   { STATUS_COMPLETE, STATUS_WITH_ERRORS, 1, true },
		{ STATUS_COMPLETE, STATUS_DEVICE_GONE, 1, true }, { STATUS_WITH_ERRORS, STATUS_WITH_ERRORS, 1, false },
		{ STATUS_COMPLETE, STATUS_CANCELLED, 0, false },  { STATUS_COMPLETE, STATUS_FAILED, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result *a = zones_at(&sda, "2025-01-01T00:00:00.000000Z", 1e8);
		struct result *b = zones_at(&sda, "2026-01-01T00:00:00.000000Z", 1e8);
		bool no;

		a->status = cases[i].a;
		b->status = cases[i].b;
		if (pairs_in_folders(a, b, &no, NULL) != cases[i].pairs || no != cases[i].no)
			fail_msg("%s and %s", status_name(cases[i].a), status_name(cases[i].b));
		result_free(a);
		result_free(b);
	}
}

static void what_disturbed_a_run_or_was_set_otherwise_is_told(void **state)
{
	struct spot newer = sda;
	struct result *a = zones_at(&sda, "2025-01-01T00:00:00.000000Z", 1e8), *b;
	bool no;

	(void)state;
	newer.firmware = "2.0";
	b = zones_at(&newer, "2026-01-01T00:00:00.000000Z", 1e8);
	result_notice(b, "other-io", "Others were there.");
	assert_int_equal(pairs_in_folders(a, b, &no, "disturbed"), 1);
	assert_int_equal(pairs_in_folders(a, b, &no, "settings"), 1);
	assert_false(no);
	result_free(a);
	result_free(b);
}

/* Counts: of what the run did never, of trouble beyond chance, with an interval by it. */
static void counts_are_compared_by_what_they_are(void **state)
{
	static const struct {
		const char *name;
		double a, b, half;
		bool no;
	} cases[] = {
		{ "transactions", 785, 779, NAN, false }, { "page_faults", 2, 900, NAN, false },
		{ "checksum", 1, 2, NAN, false },         { "reads", 453, 460, NAN, false },
		{ "tracks", 100000, 100400, 500, false }, { "tracks", 100000, 101000, 500, true },
		{ "surfaces", 4, 4, 0, false },           { "surfaces", 4, 6, 0, true },
		{ "slow_regions", 0, 1, NAN, true },      { "slow_regions", 7, 8, NAN, false },
		{ "slow_regions", 7, 40, NAN, true },     { "verify_errors", 0, 3, NAN, true },
		{ "sustained", 1, 0, NAN, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct result *res[2];

		for (int k = 0; k < 2; k++) {
			double v = k ? cases[i].b : cases[i].a;
			struct interval ci = { v - cases[i].half, v + cases[i].half };

			res[k] = zones_at(&sda, "2025-01-01T00:00:00.000000Z", 1e8);
			result_figure(res[k], cases[i].name, NULL, UNIT_COUNT, v, &ci, 0);
		}
		if (differ(res[0], res[1], NULL) != cases[i].no)
			fail_msg("%s %g and %g", cases[i].name, cases[i].a, cases[i].b);
		result_free(res[0]);
		result_free(res[1]);
	}
}

/* ---- trend ---- */

#define MONTHS 12

struct history {
	struct result *doc[MONTHS];
	int is_degrading; /* -1: there is no trend to be told */
	bool is_told;
};

static void trend_of_history(struct history *h, const char *code)
{
	struct compare_options opt = { 0 };
	struct result *res = NULL;
	struct err err = { 0 };
	int r = report_trend((const struct result *const *)h->doc, MONTHS, &opt, &res, &err);

	h->is_degrading = r < 0 ? -1 : res->verdict_is_no;
	h->is_told = r == 0 && code && result_has_notice(res, code);
	result_free(res);
	for (int i = 0; i < MONTHS; i++)
		result_free(h->doc[i]);
}

static void month(char *started, int i)
{
	(void)snprintf(started, 40, "2025-%02d-01T00:00:00.000000Z", i + 1);
}

static void a_trend_is_of_quiet_whole_runs_of_one_test(void **state)
{
	struct history h;
	struct rng rng;
	char started[40];

	(void)state;
	rng_init(&rng, 1, 1);
	for (int way = 0; way < 6; way++) {
		for (int i = 0; i < MONTHS; i++) {
			bool is_bad = i >= 6;
			double rate = 1e8 * (1.0 + 0.001 * rng_normal(&rng));

			month(started, i);
			/* the later half is half as fast: because of another option, others' I/O, a signal, writing, or
			 * truly */
			h.doc[i] = zones_at(&sda, started, is_bad && way < 5 ? rate / (1.0 + 0.1 * i) : rate);
			if (way == 0)
				result_option(h.doc[i], "depth", is_bad ? "1" : "4");
			if (way == 1 && is_bad)
				result_notice(h.doc[i], "other-io", "Others were there.");
			if (way == 2 && is_bad)
				h.doc[i]->status = STATUS_CANCELLED;
			if (way == 3)
				result_option(h.doc[i], "write", is_bad ? "yes" : "no");
			if (way == 5 && i == MONTHS - 1)
				h.doc[i]->status = STATUS_DEVICE_GONE;
		}
		trend_of_history(&h, way == 1 ? "disturbed" : way == 5 ? "status" : NULL);
		switch (way) {
		case 0: /* six of each, and the second six are getting slower by themselves */
		case 3:
		case 4:
			assert_int_equal(h.is_degrading, 1);
			break;
		case 1:
			assert_int_equal(h.is_degrading, 0);
			assert_true(h.is_told);
			break;
		case 2:
			assert_int_equal(h.is_degrading, 0);
			break;
		default: /* the disk has vanished */
			assert_int_equal(h.is_degrading, 1);
			assert_true(h.is_told);
			break;
		}
	}
}

static void a_step_between_two_ways_of_measuring_is_no_trend(void **state)
{
	struct history h;
	struct rng rng;
	char started[40];

	(void)state;
	rng_init(&rng, 2, 2);
	for (int i = 0; i < MONTHS; i++) {
		month(started, i);
		h.doc[i] = zones_at(&sda, started, (i < 6 ? 1e8 : 5e7) * (1.0 + 0.001 * rng_normal(&rng)));
		result_option(h.doc[i], "write", i < 6 ? "no" : "yes");
	}
	trend_of_history(&h, NULL);
	assert_int_equal(h.is_degrading, 0);
}

static void steady_disks_are_called_degrading_in_about_5_percent(void **state)
{
	size_t runs = pairs_of(300, 3000), wrong = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 3, 3);
	for (size_t k = 0; k < runs; k++) {
		struct history h;
		char started[40];

		for (int i = 0; i < MONTHS; i++) {
			month(started, i);
			h.doc[i] = zones_at(&sda, started, 1e8 + 1e6 * rng_normal(&rng));
			for (int f = 0; f < 10; f++) {
				char name[20];

				(void)snprintf(name, sizeof(name), "f%d_bytes_per_s", f);
				result_figure(h.doc[i], name, NULL, UNIT_BYTES_PER_S, 1e8 + 1e6 * rng_normal(&rng),
				              NULL, 0);
			}
		}
		trend_of_history(&h, NULL);
		wrong += h.is_degrading == 1;
	}
	assert_about_5_percent("trend", wrong, runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_of_two_hosts_are_of_one_disk_where_a_lasting_name_says_so),
		cmocka_unit_test(only_documents_of_the_same_place_belong_together),
		cmocka_unit_test(only_documents_made_the_same_way_belong_together),
		cmocka_unit_test(a_run_that_was_cut_short_is_no_like_and_errors_are_a_difference),
		cmocka_unit_test(what_disturbed_a_run_or_was_set_otherwise_is_told),
		cmocka_unit_test(counts_are_compared_by_what_they_are),
		cmocka_unit_test(a_trend_is_of_quiet_whole_runs_of_one_test),
		cmocka_unit_test(a_step_between_two_ways_of_measuring_is_no_trend),
		cmocka_unit_test(steady_disks_are_called_degrading_in_about_5_percent),
		cmocka_unit_test(a_disk_that_has_changed_is_seen),
		cmocka_unit_test(rate_and_mean_response_are_covered_by_their_intervals),
		cmocka_unit_test_setup_teardown(marks_of_the_same_are_called_different_in_about_5_percent,
		                                files_dir_make, files_dir_remove),
		cmocka_unit_test(folders_of_forty_equal_disks_differ_in_about_5_percent),
		cmocka_unit_test(two_runs_of_the_same_are_called_different_in_about_5_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
