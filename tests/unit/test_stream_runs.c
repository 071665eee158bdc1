/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `stream` on simulated disks when something happens to them, over long times, and what it foretells. */
#include "test.h"

#include "bars_check.h"
#include "folder.h"
#include "ran.h"
#include "saved.h"

extern const struct measure measure_stream, measure_zones;

static double cell(const struct sim_run *run, const char *table, size_t row, const char *key)
{
	const struct table *t = result_find_table(run->res, table);

	assert_non_null(t);
	assert_true(row < t->nrows);
	return number(t, row, key);
}

static const char *state_of(const struct sim_run *run, size_t row)
{
	return string_of(result_find_table(run->res, "targets"), row, "state");
}

static void stream(struct sim_run *run)
{
	run->m = &measure_stream;
	MUST_RUN(*run);
}

/* On disks of these profiles, sda and sdb; NULL: there is one. */
static struct sim_run streamed(const char *sda, const char *sdb, bool has_contents, const char *words)
{
	struct sim_run run = { .sim = sim_new(), .words = words };

	(void)sim_add_profile(run.sim, sda, "sda");
	if (sdb)
		(void)sim_add_profile(run.sim, sdb, "sdb");
	sim_set_contents(run.sim, has_contents);
	stream(&run);
	return run;
}

static void add_bad(struct profile *p, uint64_t lba, uint64_t count)
{
	const struct profile_bad bad = { lba, count, BAD_READ | BAD_WRITE, 1.0, -EIO };

	assert_int_equal(profile_add_bad(p, &bad), 0);
}

#define IBM "ibm-deskstar-60gxp"

/* On sda as it was changed, and one of those as they are, sdb, neither of which keeps contents. */
static void stream_beside(struct sim_run *run, struct profile *p)
{
	MUST(profile_finish(p, &err));
	run->sim = sim_new();
	(void)sim_add_disk(run->sim, p, "sda");
	(void)sim_add_profile(run->sim, IBM, "sdb");
	sim_set_contents(run->sim, false);
	stream(run);
}

/* ---- --verify ---- */

#define BLOCK 65536u

enum harm { HARM_NONE, HARM_FLIP, HARM_SWAP, HARM_LOSE, HARM_LOSE_TO_ZERO, HARM_DOUBLE };

struct harmer {
	struct disk *disk;
	enum harm harm;
	unsigned times;
};

/* Between recording and reading back: the document is saved when the run begins, and with its figures after it. */
static bool is_recorded(struct harmer *h, const struct session *ses)
{
	return result_find_figure(ses->res, "rate_bytes_per_s") && h->times++ == 0;
}

static void do_harm(void *arg, struct session *ses)
{
	static uint8_t a[BLOCK], b[BLOCK];
	struct harmer *h = arg;
	uint64_t first = 37 * BLOCK, second = 101 * BLOCK;

	if (!is_recorded(h, ses))
		return;
	assert_int_equal(disk_peek(h->disk, first, BLOCK, a), 0);
	assert_int_equal(disk_peek(h->disk, second, BLOCK, b), 0);
	if (h->harm == HARM_FLIP)
		a[4711] ^= 0x20;
	if (h->harm == HARM_LOSE) /* what an unwritten place of this disk holds */
		for (uint32_t at = 0; at < BLOCK; at += 512)
			disk_pattern((first + at) / 512, 512, a + at);
	if (h->harm == HARM_LOSE_TO_ZERO)
		memset(a, 0, sizeof(a));
	assert_int_equal(disk_poke(h->disk, first, BLOCK, h->harm == HARM_SWAP ? b : a), 0);
	if (h->harm == HARM_SWAP || h->harm == HARM_DOUBLE)
		assert_int_equal(disk_poke(h->disk, second, BLOCK, a), 0);
}

static void check_harm(enum harm harm, double errors, uint64_t at, const char *says)
{
	struct sim *sim = sim_new();
	struct harmer h = { sim_model(sim_add_profile(sim, "tiny", "sda")), harm, 0 };
	cleanup_run struct sim_run run = {
		.sim = sim,
		.words = "--write --destroy-data=TINY0001 --verify --size=20MiB --block=64KiB --buffer=1MiB sda",
		.hooks = { .checkpoint = do_harm, .arg = &h }
	};

	stream(&run);
	assert_true(h.times >= 1);
	assert_true(sim_figure(&run, "verified_blocks") == 320.0);
	assert_true(sim_figure(&run, "verify_errors") == errors);
	assert_int_equal(notices(run.res, "verify", NULL), (unsigned)errors);
	assert_int_equal(run.res->verdict_is_no, errors > 0.0);
	if (errors > 0.0)
		assert_int_equal(notices(run.res, "verify", textf("sda at %" PRIu64 ":", at)), 1);
	if (says)
		assert_true(notices(run.res, "verify", says) >= 1);
}

TEST(verify_finds_one_flipped_bit_a_swapped_pair_a_lost_and_a_doubled_block_and_says_where)
{
	check_harm(HARM_NONE, 0, 0, NULL);
	check_harm(HARM_FLIP, 1, 37 * BLOCK, "the first at byte 4711, bit 5");
	check_harm(HARM_SWAP, 2, 37 * BLOCK, "It says offset 6619136");  /* 101 blocks */
	check_harm(HARM_SWAP, 2, 101 * BLOCK, "It says offset 2424832"); /* 37 */
	check_harm(HARM_LOSE, 1, 37 * BLOCK, "lost");
	check_harm(HARM_LOSE_TO_ZERO, 1, 37 * BLOCK, "lost");
	check_harm(HARM_DOUBLE, 1, 101 * BLOCK, "written twice");
}

/* What the place held after another run of the same seed. */
static uint8_t of_before[BLOCK];

static void put_back_what_was_before(void *arg, struct session *ses)
{
	struct harmer *h = arg;

	if (is_recorded(h, ses))
		assert_int_equal(disk_poke(h->disk, 37 * BLOCK, BLOCK, of_before), 0);
}

TEST(a_block_of_an_earlier_run_with_the_same_seed_does_not_pass_for_one_of_this)
{
	struct sim *sim = sim_new();
	struct harmer h = { .disk = sim_model(sim_add_profile(sim, "tiny", "sda")) };
	const char *words =
		"--write --destroy-data=TINY0001 --verify --size=20MiB --block=64KiB --buffer=1MiB --seed=7 sda";
	struct sim_run first = { .sim = sim, .words = words }, second = { .sim = sim, .words = words };

	stream(&first);
	assert_true(sim_figure(&first, "verify_errors") == 0.0);
	sim_run_done(&first);
	assert_int_equal(disk_peek(h.disk, 37 * BLOCK, BLOCK, of_before), 0);
	second.hooks = (struct session_hooks){ .checkpoint = put_back_what_was_before, .arg = &h };
	stream(&second);
	assert_true(h.times >= 1);
	assert_true(sim_figure(&second, "verify_errors") == 1.0);
	assert_true(notices(second.res, "verify", "of another run") == 1);
	sim_run_done(&second);
	sim_free(sim);
}

/* ---- a run that is killed ---- */

struct saves {
	unsigned n;
	double bytes[8], overflows[8];
	const char *verdict[8];
};

/* What a document has that is saved while blocks are on their way. */
static void look_at_save(void *arg, struct session *ses)
{
	struct saves *v = arg;
	const struct figure *rate = result_find_figure(ses->res, "rate_bytes_per_s");
	const struct table *targets = result_find_table(ses->res, "targets");

	if (!rate || ses->res->status != STATUS_RUNNING || v->n == 8)
		return;
	assert_non_null(targets);
	v->bytes[v->n] = number(targets, 0, "bytes");
	v->overflows[v->n] = figure_number(result_find_figure(ses->res, "overflows"));
	v->verdict[v->n++] = textf("%s", text_of(ses->res, "verdict"));
	assert_true(result_find_table(ses->res, "timeline")->nrows > 20);
	assert_true(figure_number(result_find_figure(ses->res, "peak_bytes")) > 0.0);
	assert_true(figure_number(result_find_figure(ses->res, "response_max_ns")) > 0.0);
	assert_true(!ses->res->verdict_is_no && !ses->res->verdict_is_open);
}

TEST(every_save_of_a_run_under_way_has_what_came_so_far)
{
	struct saves v = { 0 };
	PROFILE(p, IBM);
	cleanup_run struct sim_run run =
		run_for(&measure_stream, &p, "--read --rate=20MB --buffer=20MB --time=180s sda");

	run.hooks = (struct session_hooks){ .checkpoint = look_at_save, .arg = &v };
	MUST_RUN(run);
	assert_int_equal(v.n, 4); /* after 50, 100, 150 s, and at the end */
	for (unsigned i = 0; i < 3; i++) {
		static const char *const held[] = { "50.0 s", "1 m 40 s", "2 m 30 s" };

		assert_true(fabs(v.bytes[i] / (1e9 * (i + 1)) - 1.0) < 0.01);
		assert_true(v.overflows[i] == 0.0);
		assert_string_equal(v.verdict[i], textf("20 MB/s has held for %s so far", held[i]));
	}
	assert_null(strstr(text_of(run.res, "verdict"), "so far"));
}

/* ---- trouble ---- */

TEST(what_cannot_be_read_or_written_is_reported_and_the_rest_goes_on)
{
	static const char *const ways[] = {
		"--read --rate=20MB --time=10s sda sdb",
		"--write --destroy-data=sda --destroy-data=sdb --rate=20MB --time=10s sda sdb"
	};

	for (int way = 0; way < 2; way++) {
		cleanup_run struct sim_run run = { .words = ways[way] };
		PROFILE(p, IBM);

		/* 3 sectors, 20 MB from the start: two of the blocks of 1 MiB are hit. */
		add_bad(&p, 38911, 2);
		add_bad(&p, 45000, 1);
		stream_beside(&run, &p);
		assert_int_equal(run.res->status, STATUS_WITH_ERRORS);
		assert_int_equal(result_fault_count(run.res), 3);
		assert_true(run.res->verdict_is_no);
		assert_true(sim_figure(&run, "dropped_bytes") == 0.0);
		assert_true(cell(&run, "targets", 0, "faults") == 3.0);
		assert_string_equal(state_of(&run, 0), "errors");
		assert_string_equal(state_of(&run, 1), "good");
		assert_true(cell(&run, "targets", 0, "bytes") > 80e6); /* went on behind them */
	}
}

/* 40 MB cannot be read, in the 4th to 7th second of 12: far more than 16 blocks in a row. */
TEST(the_last_target_is_not_left_out_for_its_errors_but_one_of_several_is)
{
	static const char *const words[] = { "--read --rate=10MB --time=12s sda",
		                             "--read --rate=10MB --time=12s sda sdb",
		                             "--read --rate=10MB --time=12s --max-errors=20 sda" };

	for (int way = 0; way < 3; way++) {
		cleanup_run struct sim_run run = { .words = words[way] };
		PROFILE(p, IBM);

		add_bad(&p, 30000000 / 512, 40000000 / 512);
		stream_beside(&run, &p);
		assert_int_equal(run.res->status, STATUS_WITH_ERRORS);
		assert_int_equal(run.res->verdict_is_no, way < 2); /* ended early: no verdict */
		if (way == 0) {                                    /* goes on behind them, to the end of its time */
			assert_string_equal(state_of(&run, 0), "errors");
			assert_in_range(result_fault_count(run.res), 38, 40);
			assert_true(cell(&run, "targets", 0, "bytes") > 75e6);
			/* A third never came, so two thirds of the rate did. */
			assert_in_range(sim_figure(&run, "rate_bytes_per_s"), 6500000, 6850000);
			assert_true(run.res->head.elapsed_s > 11.8);
			assert_int_equal(notices(run.res, "left-out", NULL), 0);
		} else if (way == 1) {
			assert_string_equal(state_of(&run, 0), "lost");
			assert_string_equal(state_of(&run, 1), "good");
			assert_int_equal(notices(run.res, "left-out", "sda was left out after 16 errors in a row"), 1);
			assert_true(run.res->head.elapsed_s > 11.8);
		} else {
			assert_int_equal(notices(run.res, "too-many-errors", NULL), 1);
			assert_true(run.res->head.elapsed_s < 9.0);
		}
	}
}

TEST(a_target_that_is_full_leaves_its_part_to_the_others)
{
	struct sim *sim = sim_new();
	struct sim_disk *a = sim_add_profile(sim, IBM, "sda"), *b = sim_add_profile(sim, IBM, "sdb");
	struct sim_run run = {
		.sim = sim, .words = "--write --destroy-data=sda1 --destroy-data=sdb1 --rate=20MB --time=20s sda1 sdb1"
	};

	(void)sim_add_partition(sim, a, "sda1", 0, 52428800);
	(void)sim_add_partition(sim, b, "sdb1", 0, 1073741824);
	sim_set_contents(sim, false);
	stream(&run);
	assert_string_equal(state_of(&run, 0), "full");
	assert_string_equal(state_of(&run, 1), "good");
	assert_true(sim_figure(&run, "sustained") == 1.0);
	assert_true(cell(&run, "targets", 0, "bytes") == 52428800.0);
	sim_run_done(&run);
	/* And when all are full, it held until then, which is not what was asked for. */
	run.words = "--write --destroy-data=sda1 --rate=20MB --time=20s sda1";
	stream(&run);
	assert_true(sim_figure(&run, "sustained") == 0.0);
	assert_true(run.res->verdict_is_no);
	assert_non_null(strstr(text_of(run.res, "verdict"), " s, not longer"));
	assert_string_equal(text_of(run.res, "ended_by"), "the targets were full before the 20.0 s of --time");
	assert_int_equal(run.res->status, STATUS_ENDED_EARLY);
	sim_run_end(&run);
}

/* ---- several disks ---- */

TEST(the_window_in_which_all_were_active_has_no_ragged_ends)
{
	struct sim *sim = sim_new();
	struct sim_disk *a = sim_add_profile(sim, IBM, "sda"), *b = sim_add_profile(sim, "maxtor-diamondmax-80", "sdb");
	cleanup_run struct sim_run run = { .sim = sim, .words = "--read --time=60s sda1 sdb1" };
	double ra = truth_rate(disk_geometry(sim_model(a)), 0, 209715200),
	       rb = truth_rate(disk_geometry(sim_model(b)), 0, 629145600);

	(void)sim_add_partition(sim, a, "sda1", 0, 209715200);
	(void)sim_add_partition(sim, b, "sdb1", 0, 629145600);
	sim_set_contents(sim, false);
	stream(&run);
	assert_true(fabs(sim_figure(&run, "deskewed_bytes_per_s") / (ra + rb) - 1.0) < 0.02);
	assert_true(fabs(sim_figure(&run, "first_done_s") / (209715200.0 / ra) - 1.0) < 0.02);
	assert_true(fabs(sim_figure(&run, "last_done_s") / (629145600.0 / rb) - 1.0) < 0.02);
	/* While the one over all is spoiled by the time when only one was left. */
	assert_true(sim_figure(&run, "rate_bytes_per_s") < 0.75 * (ra + rb));
}

/* ---- --project ---- */

/* The truth: filled in small steps by the model's own zones. */
static double follow_truth(const struct geometry *const *g, size_t n, double rate, bool in_turn)
{
	double x[2] = { 0 }, time_s = 0.0, step_s = 0.5;

	for (;; time_s += step_s) {
		double can[2], sum = 0.0, least = INFINITY, left = rate;

		for (size_t i = 0; i < n; i++) {
			can[i] = truth_rate_at(g[i], (uint64_t)x[i]);
			sum += can[i];
			least = fmin(least, can[i]);
		}
		if (in_turn ? least < rate / (double)n : sum < rate)
			return time_s;
		/* of two, the slower takes its part or what it can, the other the rest */
		for (size_t i = 0; i < n; i++) {
			double share = rate / (double)n;

			if (!in_turn && can[i] < share)
				share = can[i];
			else if (!in_turn && n == 2 && can[1 - i] < share)
				share = rate - can[1 - i];
			x[i] += share * step_s;
			left -= share;
		}
		assert_true(fabs(left) < 1.0);
	}
}

static void save_zones(struct sim *sim, const char *disk, const char *path)
{
	struct sim_run zones = { .sim = sim, .m = &measure_zones, .words = disk };

	MUST_RUN(zones);
	assert_int_equal(result_save(zones.res, path, NULL), 0);
	sim_run_done(&zones);
}

TEST(a_projection_says_when_the_disks_will_be_too_slow)
{
	static const struct {
		const char *words;
		size_t ndisks;
		double rate, off;
		bool in_turn, measures;
	} cases[] = {
		{ "--rate=25MB", 1, 25e6, 0.03, true, false },
		{ "--rate=25MB", 1, 25e6, 0.05, true, true }, /* on the spot */
		/* The first to be slower than half; in balance the Maxtor, twice the size, makes up for the IBM. */
		{ "--rate=45MB --layout=roundrobin", 2, 45e6, 0.03, true, false },
		{ "--rate=45MB", 2, 45e6, 0.03, false, false },
		{ "--rate=10MB", 1, 10e6, NAN, true, false }, /* to their end */
	};
	struct sim *sim = sim_new();
	struct sim_disk *a = sim_add_profile(sim, IBM, "sda"), *b = sim_add_profile(sim, "maxtor-diamondmax-80", "sdb");
	const struct geometry *g[] = { disk_geometry(sim_model(a)), disk_geometry(sim_model(b)) };
	const char *path[2];
	FOLDER(dir);

	sim_set_contents(sim, false);
	for (size_t i = 0; i < 2; i++) {
		path[i] = textf("%s/%zu.json", dir.path, i);
		save_zones(sim, i ? "sdb" : "sda", path[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool is_two = cases[i].ndisks > 1;
		struct sim_run run = { .sim = sim,
			               .words = textf("--read --time=1s %s --project=%s %s%s sda %s", cases[i].words,
			                              cases[i].measures ? "measure" : path[0],
			                              is_two ? "--project=" : "", is_two ? path[1] : "",
			                              is_two ? "sdb" : "") };
		double truth;

		stream(&run);
		if (isnan(cases[i].off)) {
			assert_true(isnan(sim_figure(&run, "projected_s")));
			assert_int_equal(notices(run.res, "project", "to their end"), 1);
		} else {
			truth = follow_truth(g, cases[i].ndisks, cases[i].rate, cases[i].in_turn);
			assert_true(fabs(sim_figure(&run, "projected_s") / truth - 1.0) < cases[i].off);
			assert_int_equal(notices(run.res, "project", "sd"), 1);
		}
		sim_run_done(&run);
	}
	assert_true(follow_truth(g, 2, 45e6, false) > 1.05 * follow_truth(g, 2, 45e6, true));
	sim_free(sim);
}

/* ---- long ---- */

TEST(each_target_has_its_distribution)
{
	cleanup_run struct sim_run run = streamed(IBM, "samsung-hd103sj", false,
	                                          "--read --rate=20MB --block=64KiB --buffer=4MB --time=20s sda sdb");
	double blocks = 0.0;

	for (size_t i = 0; i < 2; i++) {
		const struct table *t = result_find_table(run.res, "targets");
		double n = cell(&run, "targets", i, "bytes") / 65536.0;

		(void)assert_bars(run.res, table_string(t, i, 0), n, NAN);
		blocks += n;
	}
	assert_true(blocks > 6000.0);
	assert_true(sim_figure(&run, "response_p50_ns") > 0.0);
	assert_true(sim_figure(&run, "response_max_ns") ==
	            fmax(cell(&run, "targets", 0, "response_max_ns"), cell(&run, "targets", 1, "response_max_ns")));
}

/* At 1800 steps they are joined in pairs: none may be reported by the wrong length. */
TEST(every_step_of_a_steady_rate_has_that_rate_beyond_1800_of_them)
{
	cleanup_run struct sim_run run =
		streamed("tiny", NULL, false, "--read --rate=100KB --block=10KiB --buffer=1MiB --time=3700s sda");
	const struct table *t = result_find_table(run.res, "timeline");

	assert_in_range(t->nrows, 900, 1800);
	for (size_t i = 0; i + 1 < t->nrows; i++)
		if (!(fabs(cell(&run, "timeline", i, "rate_bytes_per_s") / 100e3 - 1.0) < 0.2))
			fail_msg("%g B/s at %g s", cell(&run, "timeline", i, "rate_bytes_per_s"),
			         cell(&run, "timeline", i, "time_s"));
}

/* On a disk of which so many sectors cannot be read, each of them far from the next. */
static struct sim_run found_with_bad(unsigned bads)
{
	struct sim_run run = { .words = "--read --find --buffer=20MiB --time=60s sda" };
	PROFILE(p, IBM);

	for (unsigned i = 0; i < bads; i++)
		add_bad(&p, 20000ull * i, 8);
	stream_beside(&run, &p);
	return run;
}

TEST(one_unreadable_block_does_not_halve_the_highest_rate)
{
	cleanup_run struct sim_run good = found_with_bad(0), bad = found_with_bad(1);

	assert_true(sim_figure(&good, "max_rate_bytes_per_s") > 30e6);
	assert_true(fabs(sim_figure(&bad, "max_rate_bytes_per_s") / sim_figure(&good, "max_rate_bytes_per_s") - 1.0) <
	            0.03);
	assert_true(result_fault_count(bad.res) > 0);
}

TEST(a_rate_that_was_never_held_is_not_reported)
{
	cleanup_run struct sim_run run = found_with_bad(250); /* more than go by in a try */

	for (size_t i = 0; i < result_find_table(run.res, "tries")->nrows; i++)
		assert_true(cell(&run, "tries", i, "rate_bytes_per_s") > 0.0);
	assert_true(isnan(sim_figure(&run, "max_rate_bytes_per_s")));
	assert_true(run.res->verdict_is_no);
}
