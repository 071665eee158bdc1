/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `surface --geometry`: what geometry reports of a disk's heads is true, sector by sector; a head that loses
 * revolutions all over its surface is named, and on a disk whose heads are alike none is, whatever else is wrong with
 * it. PLATTER_LONG=1: more drives, 200 sound disks and 60 wild ones.
 */
#include "test.h"

#include <jansson.h>

#include "folder.h"
#include "measure/shared/heads.h"
#include "mutate.h"
#include "ran.h"
#include "report/report.h"
#include "saved.h"

extern const struct measure measure_surface, measure_geometry;

static struct folder dir;
static const char *geometry_path, *state_path;

/* Saves its geometry; whether the document reports what the heads have. A disk is asked once for all tests. */
static bool learn(const struct profile *p, const char *words)
{
	cleanup_run struct sim_run run = { 0 };
	const char *kept = textf("%s/%s, %s", dir.path, p->name, words);
	const struct table *t;

	if (access(kept, F_OK) < 0) {
		run = ran_on(&measure_geometry, p, words);
		t = result_find_table(run.res, "heads");
		MUST(result_save(run.res, geometry_path, &err));
		if (!t || !t->nrows)
			return false;
		file_put(kept, file_text(geometry_path));
	}
	file_put(geometry_path, file_text(kept));
	return true;
}

static struct sim_run scan(const struct profile *p, const char *words)
{
	return ran_on(&measure_surface, p, textf("--without=files --geometry=%s %s sda", geometry_path, words));
}

static int bad_head(const struct result *res)
{
	double bad = figure_number(result_find_figure(res, "bad_head"));

	assert_int_equal(result_has_notice(res, "one-head"), isfinite(bad));
	return isfinite(bad) ? (int)bad : -1;
}

/* ---- what geometry reports ---- */

/* Places at random: how many are reported, and how many of these are not on the surface that most of that name are on.
 */
static void check_heads(const struct profile *p, size_t *ret_told, size_t *ret_wrong)
{
	static uint32_t seen[HEADS_MOST][PROFILE_SURFACES_MAX];
	struct sim *sim = sim_new();
	struct sim_disk *sd = sim_add_disk(sim, p, "sda");
	struct heads h;
	struct rng rng;
	struct err err;

	memset(seen, 0, sizeof(seen));
	*ret_told = *ret_wrong = 0;
	if (heads_load(&h, geometry_path, sim_device(sd), &err) < 0)
		fail_msg("%s: %s", p->name, err.text);
	rng_init(&rng, 1, 1);
	for (int i = 0; i < 20000; i++) {
		uint64_t size = p->physical_sector_bytes, sector = rng_below(&rng, sim_device(sd)->size_bytes / size);
		int head = heads_at(&h, sector * size, (sector + 1) * size);
		struct place place;

		if (head < 0)
			continue;
		geometry_place(disk_geometry(sim_model(sd)), sector, &place);
		seen[head][place.surface]++;
		++*ret_told;
	}
	for (size_t i = 0; i < h.n; i++) {
		size_t most = 0, all = 0;

		for (size_t k = 0; k < PROFILE_SURFACES_MAX; k++) {
			most = seen[i][k] > most ? seen[i][k] : most;
			all += seen[i][k];
		}
		*ret_wrong += all - most;
	}
	heads_done(&h);
	sim_free(sim);
}

TEST(geometry_reports_which_surface_each_sector_is_on)
{
	static const char *const disks[] = { "quantum-fireball-tm2110a", "samsung-hd103sj", "modern-4tb",
		                             "ibm-deskstar-60gxp" };
	size_t n = getenv("PLATTER_LONG") ? ARRAY_LEN(disks) : TALLY_DRIVES(2);

	for (size_t i = 0; i < n; i++) {
		size_t reported, wrong;
		PROFILE(p, disks[i]);

		assert_true(learn(&p, "sda"));
		check_heads(&p, &reported, &wrong);
		print_message("%s: %zu of 20000 reported, %zu wrong\n", p.name, reported, wrong);
		assert_true(reported > (strstr(file_text(geometry_path), "heads-alternate-unseen") ? 9800 : 19900));
		assert_int_equal(wrong, 0);
	}
}

/* ---- heads ---- */

static void weaken(struct profile *p, uint32_t surface, double share, double chance)
{
	p->media.weak_share = share;
	p->media.weak_p = chance;
	p->media.weak_surface = surface;
	MUST(profile_finish(p, &err));
}

TEST(a_head_that_loses_revolutions_is_named)
{
	static const struct {
		const char *disk, *words;
		double share, chance, retry_per_gb;
	} runs[] = {
		{ "quantum-fireball-tm2110a", "", 0.05, 0.3, 0 },
		{ "quantum-fireball-tm2110a", "", 0.2, 0.3, 20 },
		{ "samsung-hd103sj", "--range=-30GB", 0.02, 0.5, 0.5 },
		{ "modern-4tb", "--range=-100GB", 0.05, 0.3, 1 },
	};
	size_t n = getenv("PLATTER_LONG") ? ARRAY_LEN(runs) : TALLY_DRIVES(3);

	for (size_t i = 0; i < n; i++) {
		cleanup_run struct sim_run run = { 0 };
		const struct table *t;
		PROFILE(p, runs[i].disk);

		assert_true(learn(&p, "sda"));
		p.noise.retry_per_gb = runs[i].retry_per_gb;
		weaken(&p, 3, runs[i].share, runs[i].chance);
		run = scan(&p, runs[i].words);
		t = result_find_table(run.res, "by_head");
		assert_int_equal(bad_head(run.res), 2);
		assert_int_equal(t->nrows, p.surfaces);
		for (size_t h = 0; h < t->nrows; h++) /* the interval holds what was drawn for the others */
			if (h != 2)
				assert_true(number(t, h, "low") <= runs[i].retry_per_gb &&
				            number(t, h, "revolutions_lost") < number(t, 2, "revolutions_lost") / 3);
		print_message("%s: %.2f of what was read reported by head; %.1f revolutions per GB, beside it %.1f\n",
		              p.name, sim_figure(&run, "by_head_ratio"), number(t, 2, "revolutions_lost"),
		              number(t, 1, "revolutions_lost"));
	}
}

/* All heads lose the same; or one place does, on one surface; or there are bursts, of whatever comes from outside. */
TEST(where_heads_are_alike_none_is_blamed)
{
	size_t most = getenv("PLATTER_LONG") ? 200 : TALLY_SEEDS(15), lost = 0;
	PROFILE(learnt, "quantum-fireball-tm2110a");

	assert_true(learn(&learnt, "sda"));
	for (uint64_t seed = 4; seed < 4 + most; seed++) {
		cleanup_run struct sim_run run = { 0 };
		PROFILE(p, "quantum-fireball-tm2110a");

		p.seed = seed;
		p.noise.retry_per_gb = seed % 3 ? (double)(1 << seed % 8) : 0;
		p.noise.unrest_sigma = seed % 2 ? 2 : 0; /* lost in bursts */
		p.noise.unrest_s = 5;
		if (seed % 5 == 0) { /* all tracks of one surface, at one place */
			for (uint64_t k = 0; k < 40; k++) {
				const struct profile_slow s = {
					.lba = 1000000 + k * 928, .count = 232, .every = 50, .revolutions = 1
				};

				assert_int_equal(profile_add_slow(&p, &s), 0);
			}
		}
		if (seed % 4 == 0)
			p.media.weak_share = 0.05, p.media.weak_p = 0.5;
		MUST(profile_finish(&p, &err));
		run = scan(&p, "");
		if (bad_head(run.res) >= 0)
			fail_msg("seed %d: head %d is blamed", (int)seed, bad_head(run.res));
		lost += sim_figure(&run, "revolutions_lost_per_gb") > 0;
	}
	print_message("%zu disks, %zu of them lost revolutions\n", most, lost);
	assert_true(lost > most / 2);
}

/* ---- continued ---- */

TEST(portions_find_the_same_head)
{
	struct result *res = NULL;
	int portions = 0;
	PROFILE(p, "quantum-fireball-tm2110a");

	assert_true(learn(&p, "sda"));
	weaken(&p, 2, 0.1, 0.5);
	do {
		cleanup_run struct sim_run run = scan(&p, textf("--resume --portion=120s --state=%s", state_path));

		result_free(res);
		res = run.res;
		run.res = NULL;
		assert_true(++portions < 9);
	} while (result_has_notice(res, "unfinished"));
	assert_true(portions > 2);
	assert_int_equal(bad_head(res), 1);
	result_free(res);
	(void)unlink(state_path);
}

/* Month for month: the head that has become bad is said to be worse, and by name. */
TEST(compare_reports_that_a_head_has_become_worse)
{
	const struct compare_options opt = { 0 };
	const struct result *res[2];
	cleanup_result struct result *said = NULL;
	struct sim_run runs[2];

	for (size_t k = 0; k < 2; k++) {
		PROFILE(p, "quantum-fireball-tm2110a");

		assert_true(learn(&p, "sda"));
		p.noise.retry_per_gb = 40;
		weaken(&p, 2, k ? 0.4 : 0, 0.5);
		runs[k] = scan(&p, "");
		res[k] = runs[k].res;
	}
	assert_int_equal(bad_head(res[0]), -1);
	assert_int_equal(bad_head(res[1]), 1);
	MUST(report_compare(&res[0], 1, &res[1], 1, &opt, &said, &err));
	assert_true(said->verdict_is_no);
	assert_true(result_has_notice(said, "curve"));
	result_free(said);
	MUST(report_compare(&res[1], 1, &res[1], 1, &opt, &said, &err));
	assert_false(said->verdict_is_no);
	sim_run_end(&runs[0]);
	sim_run_end(&runs[1]);
}

/* ---- refused ---- */

static void refuse(const struct profile *p, const char *sentence)
{
	cleanup_run struct sim_run run = run_for(&measure_surface, p, textf("--geometry=%s sda", geometry_path));

	if (sim_run(&run) == 0)
		fail_msg("not refused: %s", sentence);
	if (!strstr(run.err.text, sentence))
		fail_msg("%s instead of %s", run.err.text, sentence);
}

TEST(what_is_of_another_disk_or_reports_no_layout_is_refused)
{
	cleanup_run struct sim_run run = { 0 };
	PROFILE(p, "quantum-fireball-tm2110a");
	PROFILE(other, "ibm-deskstar-60gxp");

	(void)unlink(geometry_path);
	refuse(&p, geometry_path);
	assert_false(learn(&p, "--quick sda"));
	refuse(&p, "has neither surfaces nor layout");
	assert_true(learn(&p, "sda"));
	refuse(&other, "is the geometry of another disk");
	run = ran_on(&measure_surface, &p, "--without=files --range=-1% sda");
	MUST(result_save(run.res, geometry_path, &err));
	refuse(&p, "is not a document of `platter geometry`");
}

/* Changes of one of the two files, some often; the other stays as it was. */
static void write_changed(struct rng *rng, const json_t *whole, const char *path)
{
	size_t changes = rng_below(rng, 4) ? 1 + (size_t)rng_below(rng, 3) : 1 + (size_t)rng_below(rng, 60);
	json_t *copy = json_deep_copy(whole);

	for (; changes > 0; changes--)
		strangers_change(rng, copy);
	assert_int_equal(json_dump_file(copy, path, JSON_INDENT(1)), 0);
	json_decref(copy);
}

/*
 * A scan goes on from a state, by the heads of a geometry, either of which somebody has changed: it is refused in a
 * sentence, or the scan is one.
 */
TEST(no_mutation_of_a_state_or_a_geometry_ends_a_scan)
{
	const char *many = getenv("PLATTER_MUTATIONS");
	size_t n = many ? strtoul(many, NULL, 10) : 60, taken = 0;
	const char *const paths[] = { state_path, geometry_path };
	json_t *docs[2];
	struct rng rng;
	const char *words =
		textf("--without=files --range=-80MB --resume --state=%s --geometry=%s sda", state_path, geometry_path);
	PROFILE(p, "quantum-fireball-tm2110a");

	rng_init(&rng, 51, 4);
	assert_true(learn(&p, "sda"));
	for (size_t i = 0; i < n; i++) {
		uint64_t began = strangers_cpu_ns();
		double ratio;
		struct sim_run run;
		int r;

		if (i == 0) {
			run = ran_on(&measure_surface, &p, textf("--time=2s %s", words));
			assert_true(sim_figure(&run, "scanned_ratio") < 1.0);
			sim_run_end(&run);
			for (size_t k = 0; k < 2; k++)
				assert_non_null(docs[k] = json_load_file(paths[k], 0, NULL));
		}
		for (size_t k = 0; k < 2; k++)
			if (k == i % 2)
				write_changed(&rng, docs[k], paths[k]);
			else
				assert_int_equal(json_dump_file(docs[k], paths[k], JSON_INDENT(1)), 0);
		run = run_for(&measure_surface, &p, words);
		r = sim_run(&run);
		if (r < 0 && strlen(run.err.text) < 20)
			fail_msg("mutation %zu: %d without a sentence", i, r);
		ratio = r == 0 ? sim_figure(&run, "scanned_ratio") : 1.0;
		if (!(ratio >= 0.0 && ratio <= 1.0))
			fail_msg("mutation %zu: %g of the disk scanned", i, ratio);
		taken += r == 0;
		sim_run_end(&run);
		if (strangers_cpu_ns() - began > 5000000000u)
			fail_msg("mutation %zu took more than 5 s", i);
	}
	assert_true(taken > n / 10);
	print_message(
		"fault-count: mutated-states %zu refused in a sentence, or a scan of 0 to 100 %%: %zu; nothing over 5 s\n",
		n, taken);
	json_decref(docs[0]);
	json_decref(docs[1]);
	(void)unlink(state_path);
	(void)unlink(geometry_path);
}

/* ---- wild disks ---- */

/* Where geometry reports heads of a disk with defects, moved sectors and noise: true, but for places beside tracks that
 * it took for others. */
TEST(heads_of_wild_disks_are_true)
{
	size_t disks = 0, all = 0, bad = 0;

	for (uint64_t seed = 5001; seed < 5061; seed++) {
		size_t reported, wrong;
		DRAWN(p, seed, NULL);

		if (!getenv("PLATTER_LONG") && seed != 5013 && seed != 5043)
			continue; /* geometry knows the heads of few: of these */
		if (p.kind == DISK_ROTATING && learn(&p, "sda")) {
			check_heads(&p, &reported, &wrong);
			print_message("%s: %zu of 20000 reported, %zu wrong\n", p.name, reported, wrong);
			disks++;
			all += reported;
			bad += wrong;
		}
	}
	print_message("%zu disks: %zu places reported, %zu wrong\n", disks, all, bad);
	assert_true(disks > 0 && bad * 1000 <= all);
}

static int set_up(void **state)
{
	dir = folder_new("/tmp");
	geometry_path = textf("%s/geometry.json", dir.path);
	state_path = textf("%s/state.json", dir.path);
	return 0;
}

static int tear_down(void **state)
{
	folder_done(&dir);
	return 0;
}

TESTS_BETWEEN(set_up, tear_down)
