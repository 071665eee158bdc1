/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `surface` on disks whose weak and unreadable sectors are planted: each is reported with its LBA, and nothing else is.
 * PLATTER_LONG=1: 100 wild disks instead of 15.
 */
#include "test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "folder.h"
#include "report/report.h"
#include "surfacerun.h"

/* ---- weak sectors ---- */

/* Also where several lie in one request, and on drives that read ahead after two requests in a row only. */
TEST(every_weak_sector_is_found_with_its_lba_and_no_other)
{
	static const struct {
		const char *profile, *words;
		uint64_t first, step;
		bool is_sequential;
	} disks[] = {
		{ "modern-4tb", "--range=-30GB sda", 9999992, 8000008, false },
		{ "modern-4tb", "--range=15GB-17GB sda", 30000000, 400, false },
		{ "quantum-fireball-tm2110a", "sda", 300001, 777777, false },
		{ "ibm-deskstar-60gxp", "--range=-10GB sda", 1000003, 3333333, false },
		{ "ibm-deskstar-60gxp", "--range=-10GB sda", 1000003, 3333333, true },
		{ "seagate-cheetah-15k7", "--range=-20GB sda", 5000005, 6000007, false },
		{ "samsung-hd103sj", "--range=-20GB sda", 5000005, 6000007, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(disks); i++) {
		cleanup_run struct sim_run run = { 0 };
		size_t found = 0, n = 5;
		PROFILE(p, disks[i].profile);

		if (disks[i].is_sequential) {
			p.cache.ahead_when = AHEAD_SEQUENTIAL;
			p.ctl.queue_depth = 1;
		}
		for (size_t k = 0; k < n; k++)
			plant(&p, disks[i].first + k * disks[i].step, p.physical_sector_bytes / p.logical_sector_bytes,
			      1 + (double)(k % 2));
		run = run_on(&p, disks[i].words);
		for (size_t k = 0; k < n; k++)
			found += count_kind(run.res, "always", disks[i].first + k * disks[i].step);
		print_message("%s: %zu of %zu, %zu reported; %.1f s of %.1f s for second readings\n", p.name, found, n,
		              count_kind(run.res, "always", UINT64_MAX), sim_figure(&run, "again_s"),
		              (double)sim_elapsed_ns(run.sim) * 1e-9);
		assert_int_equal(found, n);
		assert_int_equal(count_kind(run.res, "always", UINT64_MAX), n);
		assert_int_equal(run.res->status, STATUS_COMPLETE);
	}
}

TEST(what_was_slow_once_is_no_weak_place)
{
	cleanup_run struct sim_run run = { 0 };
	PROFILE(p, "modern-4tb");

	for (uint64_t nth = 2000; nth < 3000; nth += 100) {
		const struct profile_fail f = {
			.op = DISK_READ, .nth = nth, .short_bytes = UINT64_MAX, .delay_s = 0.1
		};

		assert_int_equal(profile_add_fail(&p, &f), 0);
	}
	run = run_on(&p, "--range=-4GB sda");
	assert_true(sim_figure(&run, "once_places") >= 5);
	assert_int_equal(count_kind(run.res, "always", UINT64_MAX), 0);
}

/* Without rotation on one that calls itself rotating a lost revolution would not be known. */
TEST(a_disk_that_says_that_it_rotates_and_does_not_hides_weak_places)
{
	for (int rotational = 0; rotational < 2; rotational++) {
		PROFILE(flash, "ssd-sata");
		cleanup_run struct sim_run ssd = run_for(&measure_surface, &flash, "--range=-1GB sda");

		sim_device(sim_find(ssd.sim, "sda"))->rotational = rotational;
		MUST_RUN(ssd);
		assert_int_equal(result_has_notice(ssd.res, "insensitive"), rotational);
	}
}

/* ---- unreadable sectors ---- */

TEST(unreadable_sectors_are_reported_from_the_first_to_the_last)
{
	static const struct {
		uint64_t lba, count;
	} bads[] = { { 0, 8 }, { 25000000, 8 }, { 25000032, 72 }, { 27000000, 8 } };
	cleanup_run struct sim_run run = { 0 };
	const struct table *t;
	PROFILE(p, "modern-4tb");

	for (size_t i = 0; i < 4; i++)
		plant_bad(&p, bads[i].lba, bads[i].count);
	run = run_on(&p, "--range=-15GB sda");
	assert_int_equal(run.res->status, STATUS_WITH_ERRORS);
	t = result_find_table(run.res, "slow");
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(count_kind(run.res, "unreadable", bads[i].lba), 1);
	for (size_t r = 0; r < t->nrows; r++)
		for (size_t i = 0; i < 4; i++)
			if ((uint64_t)number(t, r, "lba") == bads[i].lba)
				assert_int_equal((uint64_t)number(t, r, "length_bytes"), bads[i].count * 512);
	assert_int_equal(count_kind(run.res, "unreadable", UINT64_MAX), 4);
	assert_int_equal((uint64_t)sim_figure(&run, "scanned_bytes"), 15000000000 / 512 * 512);
}

/* ---- healthy disks ---- */

TEST(of_healthy_wild_disks_nothing_is_called_weak)
{
	uint64_t most = getenv("PLATTER_LONG") ? 100 : TALLY_SEEDS(15), n = 0, passing = 0, once = 0;

	for (uint64_t seed = 1; n < most; seed++) {
		cleanup_run struct sim_run run = { 0 };
		DRAWN(p, seed, NULL);

		if (strstr(p.name, "dying") || p.media.weak_share > 0) /* weak tracks are weak */
			continue;
		n++;
		run = run_on(&p, "--range=-1% sda");
		if (count_kind(run.res, "always", UINT64_MAX) || count_kind(run.res, "unreadable", UINT64_MAX))
			fail_msg("%s: %zu weak, %zu unreadable", p.name, count_kind(run.res, "always", UINT64_MAX),
			         count_kind(run.res, "unreadable", UINT64_MAX));
		passing += (uint64_t)sim_figure(&run, "passing_places");
		once += (uint64_t)sim_figure(&run, "once_places");
	}
	print_message("%d disks: 0 weak, %d slow in passing, %d once\n", (int)n, (int)passing, (int)once);
}

/* ---- a scan that is continued ---- */

#define BLOCK      (1u << 20)
#define BLOCKS     28611 /* the last one is shorter */
#define SCAN_BYTES 30000000000u
#define WORDS      "--block=1M --range=-30GB --resume --state="

struct watcher { /* in memory that parent and child share */
	uint64_t kill_at, requests, scanned_to;
	bool is_read[BLOCKS];
};

/* Requests of whole blocks: the scan's own, and second readings. */
static void watch(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	struct watcher *w = arg;

	if (w->kill_at && ++w->requests == w->kill_at)
		(void)raise(SIGKILL);
	if (req->len_bytes < BLOCK && req->offset_bytes + req->len_bytes != SCAN_BYTES / 512 * 512)
		return;
	w->is_read[req->offset_bytes / BLOCK] |= req->offset_bytes % BLOCK == 0;
	if (w->scanned_to < req->offset_bytes + req->len_bytes)
		w->scanned_to = req->offset_bytes + req->len_bytes;
}

static int scan_with_state(const struct profile *p, const char *path, struct watcher *w, struct result **ret)
{
	cleanup_run struct sim_run run = run_for(&measure_surface, p, textf(WORDS "%s sda", path));
	int r;

	run.hooks = (struct session_hooks){ .request = watch, .arg = w };
	r = sim_run(&run);
	if (r < 0)
		print_message("%s\n", run.err.text);
	*ret = run.res;
	run.res = NULL;
	return r;
}

TEST(after_sigkill_nothing_is_left_out_or_counted_twice)
{
	struct watcher *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rng rng;
	FOLDER(dir);
	const char *path = textf("%s/state", dir.path);
	PROFILE(p, "modern-4tb");

	assert_true(w != MAP_FAILED);
	rng_init(&rng, 23, 1);
	for (int k = 0; k < 24; k++) {
		uint64_t killed_at, counted = 0, to = 0, again = 0;
		struct result *res = NULL;
		int status;
		pid_t pid;

		memset(w, 0, sizeof(*w));
		w->kill_at = 500 + rng_below(&rng, 28000);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			(void)scan_with_state(&p, path, w, &res);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		killed_at = w->scanned_to;
		if (access(path, F_OK) == 0) {
			MUST(result_load(&res, path, &err));
			to = (uint64_t)figure_number(result_find_figure(res, "scanned_to_bytes"));
			counted = (uint64_t)figure_number(result_find_figure(res, "scanned_bytes"));
			result_free(res);
		}
		assert_int_equal(to, counted);
		assert_true(to <= killed_at && (double)(killed_at - to) < 60 * 230e6);
		memset(w, 0, sizeof(*w));
		assert_int_equal(scan_with_state(&p, path, w, &res), 0);
		for (uint64_t i = 0; i < BLOCKS; i++) {
			if (i >= to / BLOCK)
				assert_true(w->is_read[i]);
			else
				again += w->is_read[i];
		}
		assert_true(again < 20); /* second readings */
		assert_int_equal(w->scanned_to, SCAN_BYTES / 512 * 512);
		assert_int_equal((uint64_t)figure_number(result_find_figure(res, "scanned_bytes")), w->scanned_to);
		result_free(res);
		(void)unlink(path);
	}
	(void)munmap(w, sizeof(*w));
}

/* Weak places that were found, and suspects, when a portion ended; and portions shorter than the search of the
 * rotation. */
TEST(portions_however_short_find_what_one_run_finds)
{
	static const uint64_t lbas[] = { 4000000, 20000000, 29000000 };
	static const struct {
		uint64_t gb, portion_s, most_s, weak, least;
	} cases[] = { { 20, 31, 75, 3, 4 }, { 5, 4, 15, 0, 4 }, { 5, 4, 75, 1, 4 } };

	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		uint64_t portions = 0, bytes = cases[k].gb * 1000000000 / 512 * 512;
		struct result *res = NULL;
		FOLDER(dir);
		PROFILE(p, "modern-4tb");
		const char *words = textf("--range=-%dGB --resume --portion=%ds --state=%s/state sda", (int)cases[k].gb,
		                          (int)cases[k].portion_s, dir.path);

		for (size_t i = 0; i < cases[k].weak; i++)
			plant(&p, lbas[i], 8, 2);
		do {
			cleanup_run struct sim_run run = run_on(&p, words);

			result_free(res);
			res = run.res;
			run.res = NULL;
			assert_true((double)sim_elapsed_ns(run.sim) < (double)cases[k].most_s * 1e9);
			assert_true(++portions < 40);
		} while (result_has_notice(res, "unfinished"));
		print_message("%d portions\n", (int)portions);
		assert_true(portions >= cases[k].least);
		for (size_t i = 0; i < cases[k].weak; i++)
			assert_int_equal(count_kind(res, "always", lbas[i]), 1);
		assert_int_equal(count_kind(res, "always", UINT64_MAX), cases[k].weak);
		assert_int_equal(figure_number(result_find_figure(res, "portions")), portions);
		assert_int_equal(figure_number(result_find_figure(res, "scanned_bytes")), bytes);
		result_free(res);
	}
}

/* ---- lists ---- */

TEST(the_mapfile_has_what_cannot_be_read)
{
	cleanup_run struct sim_run run = { 0 };
	const char *text;
	FOLDER(dir);
	PROFILE(p, "tiny");

	plant_bad(&p, 20006, 4);
	run = run_on(&p, textf("--range=8MiB-16MiB --mapfile=%s/map sda", dir.path));
	text = file_text(textf("%s/map", dir.path));
	assert_non_null(strstr(text, "\n0x00000000  0x00800000  ?\n0x00800000  0x001C4C00  +\n"));
	assert_non_null(strstr(text, "\n0x009C4C00  0x00000800  -\n0x009C5400  0x0063AC00  +\n0x01000000  0x"));
}

/* ---- what lies there ---- */

TEST(the_files_at_bad_places_are_named)
{
	static const char *const words[] = { "--range=-5GB sda", "--range=-5GB --without=files sda",
		                             "--range=-5GB sda" };
	PROFILE(p, "modern-4tb");

	plant(&p, 4000000, 8, 1);
	plant_bad(&p, 5000000, 8);
	for (size_t i = 0; i < 3; i++) {
		cleanup_run struct sim_run run = run_for(&measure_surface, &p, words[i]);
		struct sim_disk *sd = sim_find(run.sim, "sda");
		const struct table *t;

		sim_set_file_cost(run.sim, i == 2 ? 375 * NS_PER_S : NS_PER_S);
		sim_add_file_at(sd, 0, 1 << 30, "/before");
		sim_add_file_at(sd, 4000000ull * 512 - 8192, 4000000ull * 512 + (1 << 20), "/home/weak");
		sim_add_file_at(sd, 5000000ull * 512, 5000000ull * 512 + 512, "/home/a");
		sim_add_file_at(sd, 5000000ull * 512 + 512, 5000000ull * 512 + 4096, "/home/b");
		assert_int_equal(sim_run(&run), 0);
		t = result_find_table(run.res, "contents");
		assert_int_equal(result_has_notice(run.res, "files-cut"), i == 2);
		if (i == 1) {
			assert_null(t);
		} else if (i == 2) { /* 25 s each: the second is the last one that is begun with time left */
			assert_int_equal((int)sim_figure(&run, "files_hit"), 1);
		} else {
			assert_int_equal(t->nrows, 3);
			assert_string_equal(string_of(t, 0, "path"), "/home/weak");
			assert_int_equal((int)number(t, 0, "file_offset_bytes"), 8192);
			assert_int_equal((int)number(t, 0, "length_bytes"), 4096);
			assert_string_equal(string_of(t, 1, "path"), "/home/a");
			assert_string_equal(string_of(t, 2, "lies"), "file");
			assert_int_equal((int)sim_figure(&run, "files_hit"), 3);
		}
	}
}

/* ---- two scans ---- */

static const char *verdict_at(const struct result *res, uint64_t offset)
{
	const struct table *t = result_find_table(res, "places");

	for (size_t i = 0; i < t->nrows; i++)
		if ((uint64_t)number(t, i, "offset_bytes") == offset)
			return string_of(t, i, "verdict");
	return "";
}

/* One after the other: which of four places are weak (1), or cannot be read (2). */
static const uint64_t places[] = { 1000000, 2000000, 3000000, 4000000 };
static void scan_each(const int is[][4], size_t n, struct sim_run *runs)
{
	for (size_t k = 0; k < n; k++) {
		PROFILE(p, "modern-4tb");

		for (size_t i = 0; i < 4; i++)
			if (is[k][i] == 1)
				plant(&p, places[i], 8, 2);
			else if (is[k][i] == 2)
				plant_bad(&p, places[i], 8);
		runs[k] = run_on(&p, "--range=-3GB sda");
		result_set(&runs[k].res->head.started, textf("2026-%02d-01T00:00:00.000000Z", (int)k + 1));
	}
}

TEST(two_scans_are_compared_by_place)
{
	static const int is[2][4] = { { 1, 1, 1, 0 }, { 1, 2, 0, 1 } };
	static const char *const verdicts[] = { "same", "worse", "gone", "new" };
	const struct compare_options opt = { 0 };
	cleanup_result struct result *said = NULL;
	struct sim_run runs[2];
	const struct result *res[2];

	scan_each(is, 2, runs);
	for (size_t k = 0; k < 2; k++)
		res[k] = runs[k].res;
	MUST(report_compare(&res[0], 1, &res[1], 1, &opt, &said, &err));
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(verdict_at(said, places[i] * 512), verdicts[i]);
	assert_true(said->verdict_is_no);
	result_free(said);
	MUST(report_compare(&res[0], 1, &res[0], 1, &opt, &said, &err));
	assert_string_equal(verdict_at(said, places[2] * 512), "same");
	assert_false(said->verdict_is_no);
	for (size_t k = 0; k < 2; k++)
		sim_run_end(&runs[k]);
}

TEST(many_scans_are_reported_one_after_the_other)
{
	/* Four months. What the second says of the first, and so on: new, the same, gone. */
	static const int weak[4][4] = { { 1, 1, 0, 0 }, { 1, 1, 1, 0 }, { 0, 1, 1, 1 }, { 0, 1, 1, 1 } };
	static const int want[4][4] = { { 2, -1, -1, -1 }, { 3, 1, 2, 0 }, { 3, 1, 2, 1 }, { 3, 0, 3, 0 } };
	static const char *const columns[] = { "places", "added", "same", "gone" };
	const struct compare_options opt = { 0 };
	const struct result *res[4];
	cleanup_result struct result *said = NULL;
	struct sim_run runs[4];
	const struct table *t;

	scan_each(weak, 4, runs);
	for (size_t k = 0; k < 4; k++)
		res[(k + 2) % 4] = runs[k].res; /* in any order */
	MUST(report_trend(res, 4, &opt, &said, &err));
	t = result_find_table(said, "scans");
	assert_int_equal(t->nrows, 4);
	for (size_t k = 0; k < 4; k++)
		for (size_t c = 0; c < 4; c++)
			if (want[k][c] < 0)
				assert_true(isnan(number(t, k, columns[c])));
			else
				assert_int_equal((int)number(t, k, columns[c]), want[k][c]);
	for (size_t k = 0; k < 4; k++)
		sim_run_end(&runs[k]);
}

/* ---- writing the same again ---- */

#define WEAK_HEALS 40000
#define WEAK_STAYS 70000

/* A small disk with a weak sector that writing cures, one that it does not cure, and nothing else. */
static struct sim_disk *weak_disk(struct sim *sim, uint64_t gone_at)
{
	PROFILE(p, "tiny");

	p.faults.gone_at_request = gone_at;
	for (int i = 0; i < 2; i++)
		assert_int_equal(profile_add_slow(&p, &(struct profile_slow){ .lba = i ? WEAK_STAYS : WEAK_HEALS,
		                                                              .count = 1,
		                                                              .every = 1,
		                                                              .revolutions = 2,
		                                                              .heals = i == 0 }),
		                 0);
	MUST(profile_finish(&p, &err));
	return sim_add_disk(sim, &p, "sda");
}

static const char *rewritten(const struct result *res, uint64_t lba, double *ret_before_ns, double *ret_after_ns)
{
	const struct table *t = result_find_table(res, "rewritten");

	for (size_t i = 0; t && i < t->nrows; i++)
		if ((uint64_t)number(t, i, "lba") == lba) {
			*ret_before_ns = number(t, i, "before_ns");
			*ret_after_ns = number(t, i, "after_ns");
			return string_of(t, i, "outcome");
		}
	return "";
}

TEST(rewriting_cures_what_can_be_cured_and_changes_no_byte)
{
	char words[300];
	FOLDER(dir);
	cleanup_run struct sim_run run = { .sim = sim_new(), .m = &measure_surface, .words = words };
	struct sim_disk *sd = weak_disk(run.sim, 0);
	double before = 0, after = 0, turn_ns = 60e9 / 7200;
	struct disk_counters c;
	uint64_t hash = disk_contents_hash(sim_model(sd)), requests;

	(void)snprintf(words, sizeof(words), "--rewrite --block=64K --journal=%s sda", dir.path);
	assert_true(sim_run(&run) < 0); /* without the name of the disk nothing is written */
	assert_true(run.is_refused);
	sim_run_done(&run);
	(void)snprintf(words, sizeof(words), "--rewrite --rewrite-data=TINY0001 --block=64K --journal=%s sda",
	               dir.path);
	MUST_RUN(run);
	assert_int_equal(count_kind(run.res, "always", WEAK_HEALS), 1);
	assert_int_equal(count_kind(run.res, "always", WEAK_STAYS), 1);
	assert_string_equal(rewritten(run.res, WEAK_HEALS, &before, &after), "quick");
	print_message("cured: %.2f ms before, %.2f after", before * 1e-6, after * 1e-6);
	assert_true(before > turn_ns && after < turn_ns / 2);
	assert_string_equal(rewritten(run.res, WEAK_STAYS, &before, &after), "still-slow");
	print_message("; not cured: %.2f, %.2f\n", before * 1e-6, after * 1e-6);
	assert_true(before > turn_ns && after > turn_ns);
	assert_true((int)sim_figure(&run, "rewritten_places") >= 2); /* what was slow sometimes, too */
	assert_int_equal((int)sim_figure(&run, "cured_places"), 1);
	assert_int_equal((int)sim_figure(&run, "still_slow_places"), 1);
	c = disk_counters(sim_model(sd));
	assert_int_equal(c.writes, (int)sim_figure(&run, "rewritten_places"));
	assert_true(c.written_bytes >= 2 * 512);
	assert_int_equal(disk_contents_hash(sim_model(sd)), hash);
	assert_int_equal(rmdir(dir.path), 0); /* no journal is left */
	requests = c.requests;
	sim_run_end(&run);

	/* The disk is gone, and what it had not stored with it, at many requests. */
	assert_int_equal(mkdir(dir.path, 0700), 0);
	for (uint64_t nth = requests / 3; nth < requests; nth += requests / 60) {
		cleanup_run struct sim_run lost = { .sim = sim_new(), .m = &measure_surface, .words = words };

		sd = weak_disk(lost.sim, nth);
		(void)sim_run(&lost);
		disk_power_loss(sim_model(sd));
		assert_int_equal(disk_contents_hash(sim_model(sd)), hash);
	}
	run = (struct sim_run){ .sim = sim_new(), .m = &measure_surface, .words = words };
	sd = weak_disk(run.sim, 0); /* with whatever journal they left */
	MUST_RUN(run);
	assert_int_equal((int)sim_figure(&run, "cured_places"), 1);
	assert_int_equal(disk_contents_hash(sim_model(sd)), hash);
	assert_int_equal(rmdir(dir.path), 0);
	assert_int_equal(mkdir(dir.path, 0700), 0);
}
