/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `compare` on runs of simulated disks, in virtual time: two runs of the same thing differ in about 5 % of pairs at
 * most, and a disk that has changed is seen. PLATTER_LONG=1: more pairs.
 */
#include "test.h"

#include "filesrun.h"
#include "report/alike.h"
#include "report/report.h"
#include "simrun.h"

extern const struct measure measure_transactions, measure_seek, measure_geometry, measure_zones, measure_mark;

static size_t pairs_of(size_t brief, size_t most)
{
	return getenv("PLATTER_LONG") ? most : TALLY_SEEDS(brief);
}

static struct result *run_with_seed(const struct measure *m, const char *profile, const char *words, size_t seed)
{
	struct err err = { 0 };
	struct result *res = sim_result(m, profile, words, seed, &err);

	if (!res)
		fail_msg("%s", err.text);
	return res;
}

/* Whether they differ; prints by what. *ret_open: or it cannot be known. */
static bool differ(const struct result *a, const struct result *b, bool *ret_open)
{
	struct compare_options opt = { 0 };
	cleanup_result struct result *res = NULL;
	bool no;

	MUST(report_compare(&a, 1, &b, 1, &opt, &res, &err));
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
	return no;
}

/* 5 % and three deviations of so many pairs, of each with the next: one odd run is in two of them. */
static void assert_about_5_percent(const char *what, size_t wrong, size_t pairs)
{
	double most = 0.05 * (double)pairs + 3.0 * sqrt(2.0 * 0.05 * 0.95 * (double)pairs);

	print_message("%s: %zu of %zu pairs of equal runs are called different\n", what, wrong, pairs);
	assert_true((double)wrong <= most);
}

static const struct same_case {
	const struct measure *m;
	const char *profile, *words;
	size_t brief, most;
} same_cases[] = {
	{ &measure_transactions, "tiny", "--users=4 --time=60s", 25, 1000 },
	{ &measure_transactions, "tiny", "--users=30 --ios=1 --think=500ms --time=60s", 25, 1000 },
	{ &measure_transactions, "tiny", "--arrivals=40 --ios=1 --time=60s", 25, 1000 },
	{ &measure_transactions, "tiny", "--arrivals=140 --ios=1 --time=200s", 20, 1000 }, /* near what it can do */
	{ &measure_seek, "tiny", "--time=60s", 10, 1000 },
	{ &measure_seek, "tiny", "--without=queue", 3, 300 },
	{ &measure_geometry, "tiny", "--quick", 25, 1000 },
	{ &measure_geometry, "tiny", "", 3, 300 },
	{ &measure_zones, "tiny", "", 20, 500 },
};

TEST(two_runs_of_the_same_are_called_different_in_about_5_percent)
{
	for (size_t c = 0; c < ARRAY_LEN(same_cases); c++) {
		const struct same_case *of = &same_cases[c];
		size_t pairs = pairs_of(of->brief, of->most), wrong = 0, open = 0;
		struct result *a = run_with_seed(of->m, of->profile, of->words, 1);

		for (size_t i = 0; i < pairs; i++) {
			struct result *b = run_with_seed(of->m, of->profile, of->words, i + 2);
			bool is_open;

			wrong += differ(a, b, &is_open);
			open += is_open;
			result_free(a);
			a = b;
		}
		result_free(a);
		assert_about_5_percent(textf("%s %s %s", of->m->name, of->words, of->profile), wrong, pairs);
		print_message("%zu cannot be known\n", open);
	}
}

/* One of a fleet: zones whose edges fall between the places where a quick run looks. */
static struct result *zones_of_disk(size_t number, size_t seed)
{
	cleanup_run struct sim_run run = { .sim = sim_new(), .m = &measure_zones };
	char text[500], words[80];
	cleanup_profile struct profile p = { 0 };
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
	MUST_RUN(run);
	res = run.res;
	run.res = NULL;
	return res;
}

/* However many disks and looks there are: any of them counts. */
TEST(folders_of_forty_equal_disks_differ_in_about_5_percent)
{
	enum { DISKS = 40 };
	size_t pairs = pairs_of(4, 200), wrong = 0; /* were each disk taken for itself, 9 of 10 would */

	struct result *v[2][DISKS];

	for (size_t i = 0; i <= pairs; i++) {
		struct compare_options opt = { 0 };
		struct result *res = NULL;

		for (size_t d = 0; d < DISKS; d++)
			v[i % 2][d] = zones_of_disk(d, 1000 * i + d + 1);
		if (i == 0)
			continue;
		MUST(report_compare((const struct result *const *)v[1 - i % 2], DISKS,
		                    (const struct result *const *)v[i % 2], DISKS, &opt, &res, &err));
		assert_int_equal((int)figure_number(result_find_figure(res, "pairs")), DISKS);
		wrong += res->verdict_is_no;
		if (res->verdict_is_no)
			print_message("  %s\n", res->answer);
		result_free(res);
		for (size_t d = 0; d < DISKS; d++)
			result_free(v[1 - i % 2][d]);
	}
	for (size_t d = 0; d < DISKS; d++)
		result_free(v[pairs % 2][d]);
	assert_about_5_percent("folders of forty disks", wrong, pairs);
}

/* Another disk, or more of them at work: the same looks must find what is so. */
TEST(a_disk_that_has_changed_is_seen)
{
	struct result *tiny[2] = { run_with_seed(&measure_transactions, "tiny", "--users=4 --time=60s", 1),
		                   run_with_seed(&measure_seek, "tiny", "--time=60s", 1) };
	struct result *other[2] = { run_with_seed(&measure_transactions, "samsung-hd103sj", "--users=4 --time=60s", 1),
		                    run_with_seed(&measure_seek, "samsung-hd103sj", "--time=60s", 1) };

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

TEST_WITH(marks_of_the_same_are_called_different_in_about_5_percent, files_dir_make, files_dir_remove)
{
	size_t pairs = pairs_of(40, 400), wrong = 0;

	rng_init(&noise, 5, 5);
	struct files_run run[2] = { 0 };

	for (size_t i = 0; i <= pairs; i++) {
		struct files_run *now = &run[i % 2];

		files_done(now);
		*now = files_ran(&measure_mark, noisy_look,
		                 textf("--count=2000 --time=20ms --repeat=4 --seed=%zu %s", i + 1, files_dir));
		wrong += i && differ(run[1 - i % 2].res, now->res, NULL);
	}
	files_done(&run[0]);
	files_done(&run[1]);
	assert_about_5_percent("mark", wrong, pairs);
}
