/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `geometry` past a drive's cache by FUA where that is obeyed, and as ever where it is not. */
#include "test.h"

#include "geometryrun.h"

#define SMALL 152006 /* a disk of which a run sees all */
#define LATE  153008 /* parts of it are stored nowhere */

static const char *const words[] = { [FUA_READS_MEDIA] = "come from the media",
	                             [FUA_READS_BUFFER] = "come from the buffer",
	                             [FUA_READS_REFUSED] = "are refused" };

static void answers_fua(struct profile *p, const void *arg)
{
	p->cache.fua_reads = *(const enum fua_reads *)arg;
}

/* What was read stays for long. */
static void keeps_many(struct profile *p, const void *arg)
{
	p->cache.segments = 32;
	answers_fua(p, arg);
}

static const char *const numbers[] = { "surfaces", "start_sectors_per_track", "middle_sectors_per_track",
	                               "end_sectors_per_track" };

/* Ends that are in doubt are not the same each time. */
static bool are_tracks_alike(const struct sim_run *a, const struct sim_run *b)
{
	const struct interval x = result_find_figure(a->res, "tracks")->ci,
			      y = result_find_figure(b->res, "tracks")->ci;

	return x.low <= y.high && y.low <= x.high;
}

/* The same drive with each kind of answer; ns: the time that it took more, by kind. */
static void all_say_the_same(const char *line, uint64_t *ns)
{
	struct sim_run run[FUA_READS_REFUSED + 1];

	for (enum fua_reads how = FUA_READS_MEDIA; how <= FUA_READS_REFUSED; how++) {
		run[how] = geometry_on_wild(SMALL, line, keeps_many, &how);
		ns[how] += sim_elapsed_ns(run[how].sim);
		print_message("%s: %.0f s\n", words[how], (double)sim_elapsed_ns(run[how].sim) * 1e-9);
		assert_int_equal(run[how].res->status, STATUS_COMPLETE); /* what is refused is no fault */
		assert_string_equal(text_of(run[how].res, "fua_reads"), words[how]);
		assert_string_equal(text_of(run[how].res, "layout"), text_of(run[0].res, "layout"));
		for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
			assert_true(sim_figure(&run[how], numbers[i]) == sim_figure(&run[0], numbers[i]));
		assert_true(are_tracks_alike(&run[how], &run[0]));
	}
	assert_string_not_equal(text_of(run[0].res, "layout"), "none");
	for (size_t i = 0; i < ARRAY_LEN(run); i++)
		sim_run_end(&run[i]);
}

/* Of three draws together, as single runs of one drive take a twentieth more or less. */
TEST(fua_saves_time_where_it_is_obeyed_and_says_the_same)
{
	uint64_t ns[FUA_READS_REFUSED + 1] = { 0 };

	all_say_the_same("--seed=1 sda", ns);
	if (!TALLY_LARGE)
		return;
	all_say_the_same("--seed=2 sda", ns);
	all_say_the_same("--seed=3 sda", ns);
	assert_true(4 * ns[FUA_READS_MEDIA] < 3 * ns[FUA_READS_BUFFER]);
	/* To have asked costs nothing that counts. */
	assert_true(ns[FUA_READS_BUFFER] < ns[FUA_READS_REFUSED] / 20 * 21);
	assert_true(ns[FUA_READS_REFUSED] < ns[FUA_READS_BUFFER] / 20 * 21);
}

static void is_late(struct profile *p, const void *arg)
{
	static const enum fua_reads obeyed = FUA_READS_MEDIA;

	answers_fua(p, &obeyed);
	p->path.busy_on_s = 1;
	p->path.busy_p = 0.2;
	p->path.busy_ms = 5;
}

/* Of a place where nothing is stored one answer is late, and looks like the media's; the others come at once, with FUA
 * too. */
TEST(a_late_answer_is_no_proof_that_fua_is_ignored)
{
	for (int seed = 1; seed <= TALLY_SEEDS(20); seed++) {
		char line[32];
		cleanup_run struct sim_run run = { 0 };

		(void)snprintf(line, sizeof(line), "--time=60s --seed=%d sda", seed);
		run = geometry_on_wild(LATE, line, is_late, NULL);
		assert_string_not_equal(text_of(run.res, "fua_reads"), words[FUA_READS_BUFFER]);
		assert_string_not_equal(text_of(run.res, "fua_reads"), words[FUA_READS_REFUSED]);
	}
}

/* ---- it ends in the middle of a run ---- */

struct ending {
	enum fua_reads how;
	struct disk *disk;
	bool is_over;
};

static void look_at_the_clock(void *arg, struct session *ses, const char *name, const struct io_req *req, bool is_fault)
{
	struct ending *e = arg;

	if (req->done_ns > 60 * NS_PER_S && !e->is_over) {
		disk_set_fua_reads(e->disk, e->how);
		e->is_over = true;
	}
}

TEST(where_fua_is_obeyed_no_more_the_cache_is_made_to_forget)
{
	for (enum fua_reads how = FUA_READS_BUFFER; how <= FUA_READS_REFUSED; how++) {
		struct ending e = { .how = how };
		cleanup_run struct sim_run run = { .sim = sim_new(), .m = &measure_geometry, .words = "sda" };
		DRAWN(p, SMALL, NULL);

		e.disk = sim_model(sim_add_disk(run.sim, &p, "sda"));
		sim_set_contents(run.sim, false);
		run.hooks.request = look_at_the_clock;
		run.hooks.arg = &e;
		assert_int_equal(sim_run(&run), 0);
		assert_true(e.is_over);
		assert_string_equal(text_of(run.res, "fua_reads"), words[how]);
		assert_int_equal(run.res->status, STATUS_COMPLETE);
		assert_true(sim_figure(&run, "surfaces") == 2 && isfinite(sim_figure(&run, "tracks")));
	}
}
