/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `seek` where several arms or disks are behind one name: each is found and measured by itself, against its own part of
 * the model; and one arm is one. */
#include "test.h"

#include "geometry.h"
#include "measure/seek/analysis.h"
#include "measure/shared/arms.h"
#include "ran.h"

#define SEEDS TALLY_FIRST(4, 1)

extern const struct measure measure_seek;

static struct profile with_arms(const char *name, enum arms arms, double density, uint64_t seed)
{
	struct profile p;

	load(&p, name);
	p.arms.kind = arms;
	p.capacity_lba = arms == ARMS_ONE ? p.capacity_lba : 0; /* all that there is */
	p.arms.joined_density = density;
	p.seed = seed;
	MUST(profile_finish(&p, &err));
	return p;
}

static const struct geometry *geometry_of(const struct sim_run *run)
{
	return disk_geometry(sim_model(sim_find(run->sim, "sda")));
}

struct tally {
	size_t held, told;
};

static void count(struct tally *t, double low, double high, double truth)
{
	if (!isfinite(low) || !isfinite(high))
		return;
	t->told++;
	t->held += low <= truth && high >= truth;
}

/* Where the second one begins, to a thousandth; averages and full strokes of both. */
static void judge(const struct sim_run *run, struct tally *average, struct tally *full)
{
	const struct table *t = result_find_table(run->res, "arms");
	const struct geometry *g = geometry_of(run);

	if (!t || t->nrows != 2)
		for (size_t i = 0; i < run->res->nnotices; i++)
			print_message("%s: %s\n", run->res->notices[i].code, run->res->notices[i].text);
	assert_non_null(t);
	assert_int_equal(t->nrows, 2);
	assert_true(fabs(number(t, 0, "last_byte") - (double)geometry_bytes(g->arm[0])) <
	            1e-3 * (double)geometry_bytes(g));
	assert_true(fabs(number(t, 1, "first_byte") - (double)geometry_bytes(g->arm[0])) <
	            1e-3 * (double)geometry_bytes(g));
	for (size_t i = 0; i < 2; i++) {
		count(average, number(t, i, "average_low_ns"), number(t, i, "average_high_ns"),
		      truth_seek_average_ns(g->arm[i]));
		count(full, number(t, i, "full_low_ns"), number(t, i, "full_high_ns"), truth_seek_full_ns(g->arm[i]));
		if (isfinite(number(t, i, "average_ns")))
			assert_true(fabs(number(t, i, "average_ns") / truth_seek_average_ns(g->arm[i]) - 1.0) < 0.05);
		assert_true(number(t, i, "random_ns") > number(t, i, "average_with_overhead_ns"));
	}
}

TEST(two_arms_and_two_disks_in_a_row_are_measured_each_by_itself)
{
	static const struct {
		const char *name;
		enum arms arms;
		double density;
	} cases[] = { { "modern-4tb", ARMS_HALVES, 1.0 },
		      { "modern-4tb", ARMS_JOINED, 1.0 },
		      { "seagate-cheetah-15k7", ARMS_JOINED, 0.6 } };
	struct tally average = { 0 }, full = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			cleanup_profile struct profile p =
				with_arms(cases[i].name, cases[i].arms, cases[i].density, seed);
			cleanup_run struct sim_run run =
				ran_on(&measure_seek, &p, "--quick --time=40s --without=queue sda");

			judge(&run, &average, &full);
			assert_true(result_has_notice(run.res, "not-one-arm"));
		}
	print_message("averages: %zu of %zu held; full strokes: %zu of %zu\n", average.held, average.told, full.held,
	              full.told);
	assert_true(average.told >= 4 * SEEDS && average.held * 100 >= 88 * average.told);
	assert_true(full.told >= 4 * SEEDS && full.held * 100 >= 88 * full.told);
}

TEST(what_is_told_again_of_the_first_arm_is_the_same)
{
	static const char *const figures[] = { "average_seek_ns", "full_stroke_ns", "overhead_ns" };
	cleanup_profile struct profile p = with_arms("modern-4tb", ARMS_JOINED, 1.0, 3);
	cleanup_run struct sim_run run = ran_on(&measure_seek, &p, "--quick --time=40s --without=queue sda");
	cleanup_result struct result *again = result_new("seek");
	struct err err;

	result_option(run.res, "quick", "yes"); /* as the command does */
	assert_int_equal(measure_seek.again(run.res, again, &err), 0);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		assert_true(fabs(figure_number(result_find_figure(again, figures[i])) / sim_figure(&run, figures[i]) -
		                 1.0) < 1e-9);
}

/* A file may number pairs as it likes: what is told again ends all the same. */
TEST(no_pair_is_numbered_beyond_the_accesses)
{
	static const uint32_t numbers[] = { 0, 1023, 1024, UINT32_MAX };
	cleanup_free struct seek_point *p = calloc(2, sizeof(*p));
	cleanup_result struct result *res = result_new("seek");

	p->stroke = 0.5;
	p->log.n = ARRAY_LEN(numbers);
	for (size_t i = 0; i < p->log.n; i++)
		p->log.access[i] = (struct aim_access){ 5e6, 1e9, numbers[i], AIM_EDGE, AIM_THERE, 0.0 };
	seek_report_accesses(res, "curve", p);
	assert_int_equal(seek_load_accesses(result_find_table(res, "accesses"), "curve", p + 1), 1);
	assert_int_equal(p[1].log.n, 2);
	assert_int_equal(p[1].log.pairs, 1024);
}

static struct arm_ranges found;

static int plan_arms(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	(void)ses;
	(void)params;
	(void)err;
	plan->is_direct = plan->is_latency = true;
	return 0;
}

static int run_arms(struct session *ses, const void *params, struct err *err)
{
	const struct engine_config cfg = { .depth = 1, .buf_bytes = 4096, .fds = &ses->targets[0].fd, .nfds = 1 };
	const struct rotation rot = { .is_rotating = true,
		                      .period_ns = 60e9 / 7200,
		                      .hits = { .ns = 3e5, .most_ns = 1e6 } };
	struct timed t = { .ses = ses, .target = &ses->targets[0], .block_bytes = 4096, .step_bytes = 4096 };
	int r = session_engine(ses, &cfg, &t.eng, err);

	(void)params;
	session_rng(ses, 1, &t.rng);
	if (r == 0)
		r = arms_find(&t, &rot, &found, err);
	engine_close(t.eng);
	return r;
}

/* Where nearly all of the end is stored nowhere its answers leave the head at the begin, and the next read there says
 * nothing of a way: no range is looked for then. */
TEST(an_answer_without_the_media_moves_no_head)
{
	static const struct measure arms = { .name = "arms", .takes = TAKES_DISKS, .plan = plan_arms, .run = run_arms };

	for (uint64_t seed = 1; seed <= 4; seed++) {
		cleanup_profile struct profile p = with_arms("modern-4tb", ARMS_ONE, 1.0, seed);
		const uint64_t end = p.capacity_lba / 210;
		const struct profile_range trim = { p.capacity_lba - end, end };
		struct sim_run run = { .m = &arms, .words = "sda" };

		assert_int_equal(profile_add_trim(&p, &trim), 0);
		MUST(profile_finish(&p, &err));
		run.sim = sim_new();
		(void)sim_add_disk(run.sim, &p, "sda");
		sim_set_contents(run.sim, false);
		if (sim_run(&run) < 0)
			fail_msg("%s", run.err.text);
		assert_int_equal(found.n, 0);
		assert_in_range(disk_counters(sim_model(sim_find(run.sim, "sda"))).reads, 10, 40);
		sim_run_end(&run);
	}
}
