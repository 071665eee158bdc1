/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `surface` beside others who use the disk, and within limits that were asked for: idle, rate, share, warmth, hours. */
#include "test.h"

#include "surfacerun.h"

static void use_it(void *disk)
{
	sim_foreign_io(disk, &(struct device_io){ .reads = 1, .read_bytes = 4096 });
}

/* Requests of ours that begin while others, who come every 80 ms, use the disk: from 10 s to 14.8 s. */
static void count_rude(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	uint64_t *n = arg, at_ns = req->submit_ns - ses->start_ns;

	n[0] += at_ns > 10 * NS_PER_S && at_ns < 14800 * NS_PER_MS;
	n[1]++;
}

/* A scan while others use the disk every so many ms. */
static struct sim_run beside_others(const struct profile *p, const char *words, uint64_t from_ms, uint64_t to_ms,
                                    uint64_t every_ms, uint64_t *n)
{
	struct sim_run run = run_for(&measure_surface, p, words);

	run.hooks = (struct session_hooks){ .request = count_rude, .arg = n };
	for (uint64_t ms = from_ms; ms < to_ms; ms += every_ms)
		sim_at(run.sim, ms * NS_PER_MS, use_it, sim_find(run.sim, "sda"));
	MUST_RUN(run);
	return run;
}

TEST(idle_lets_others_go_first_within_one_request)
{
	uint64_t n[2] = { 0 };
	cleanup_run struct sim_run run = { 0 };
	PROFILE(p, "modern-4tb");

	plant(&p, 4000000, 8, 1);
	run = beside_others(&p, "--idle --range=-4GB sda", 10000, 14800, 80, n);
	assert_true(n[0] <= 3); /* the one under way, and those between two looks */
	assert_true(n[1] > 3800);
	assert_int_equal((int)sim_figure(&run, "yields"), 1);
	assert_int_equal((uint64_t)sim_figure(&run, "scanned_bytes"), 4000000000);
	assert_only(&run, "always", 4000000);
}

/* The search of the rotation comes first, and must not go on without manners when the time is over. */
TEST(an_idle_scan_beside_others_who_never_pause_ends_in_time)
{
	uint64_t n[2] = { 0 };
	PROFILE(p, "modern-4tb");
	cleanup_run struct sim_run run = beside_others(&p, "--idle --time=5s sda", 0, 5600, 90, n);

	assert_true(n[1] <= 6); /* the first ones, before there was anything of others to be seen */
	assert_true(run.res->head.elapsed_s < 6.0);
	assert_true(result_has_notice(run.res, "unfinished"));
}

#define USER_READS 4000

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x > *y ? 1 : *x < *y ? -1 : 0;
}

/* 99 % of somebody's random reads, beside a scan (words NULL: alone). */
static double user_p99_ms(const struct profile *p, const struct sim_user *who, const char *words)
{
	static uint64_t took_ns[USER_READS];
	cleanup_run struct sim_run run = { .sim = sim_new(), .m = &measure_surface, .words = words };
	struct sim_user user = *who;

	user.sd = sim_add_disk(run.sim, p, "sda");
	user.most = USER_READS;
	user.took_ns = took_ns;
	sim_set_contents(run.sim, false);
	sim_user_start(&user);
	if (words && sim_run(&run) < 0)
		fail_msg("%s", run.err.text);
	sim_user_wait(&user);
	qsort(took_ns, USER_READS, sizeof(took_ns[0]), by_size);
	if (words)
		print_message("%s: median %.1f ms, 99 %% %.1f ms, %.1f MB scanned\n", words,
		              (double)took_ns[USER_READS / 2] * 1e-6, (double)took_ns[USER_READS / 100 * 99] * 1e-6,
		              sim_figure(&run, "scanned_bytes") * 1e-6);
	if (words)
		assert_true(sim_figure(&run, "scanned_bytes") > 100e6); /* and it comes on */
	return (double)took_ns[USER_READS / 100 * 99] * 1e-6;
}

TEST(users_hardly_feel_an_idle_scan)
{
	static const struct {
		const char *name;
		struct sim_user user;
		double most; /* times as long as alone */
	} users[] = {
		{ "20/s, thinking", { .mean_gap_ns = 50e6, .rhythm = SIM_USER_THINKS }, 1.2 },
		{ "20/s, at random", { .mean_gap_ns = 50e6 }, 1.2 },
		{ "20/s, in bursts", { .mean_gap_ns = 50e6, .rhythm = SIM_USER_BURSTS }, 1.2 },
		{ "5/s, regularly", { .mean_gap_ns = 200e6, .rhythm = SIM_USER_REGULAR }, 1.6 },
		{ "5/s, thinking", { .mean_gap_ns = 200e6, .rhythm = SIM_USER_THINKS }, 1.8 },
	};
	static const char *const disks[] = { "modern-4tb", "samsung-hd103sj" };
	size_t n = ARRAY_LEN(users);

	for (size_t i = 0; i < 2 * n; i++) {
		const struct sim_user *who = &users[i % n].user;
		double alone, idle;
		PROFILE(p, disks[i / n]);

		alone = user_p99_ms(&p, who, NULL);
		idle = user_p99_ms(&p, who, textf("--idle --time=%.0fs sda", USER_READS * who->mean_gap_ns * 1e-9));
		print_message("%s, %s: 99 %% alone %.1f ms, %.2f times with --idle\n", p.name, users[i % n].name, alone,
		              idle / alone);
		assert_true(idle <= users[i % n].most * alone);
		if (i == 0) {
			double as_it_is = user_p99_ms(&p, who, "--time=200s sda");

			print_message("%.2f times without\n", as_it_is / alone);
			assert_true(as_it_is > 2 * alone); /* else this shows nothing */
		}
	}
}

static void count_held(void *arg, struct session *ses, const char *target, const struct io_req *req, bool is_fault)
{
	uint64_t *n = arg, at_ns = req->submit_ns - ses->start_ns;

	n[0] += at_ns > 30 * NS_PER_S && at_ns < 100 * NS_PER_S; /* a look is due every 10 s */
	n[1]++;
}

static void get_warm(void *sd)
{
	sim_device(sd)->temperature_mc = 52000;
}

static void get_less_warm(void *sd)
{
	sim_device(sd)->temperature_mc = 48500; /* not by 3 degrees */
}

static void get_cool(void *sd)
{
	sim_device(sd)->temperature_mc = 45000;
}

TEST(nothing_is_read_while_the_disk_is_too_warm)
{
	uint64_t n[2] = { 0 };
	PROFILE(p, "modern-4tb");
	cleanup_run struct sim_run run = run_for(&measure_surface, &p, "--max-temperature=50 --range=-10GB sda");
	struct sim_disk *sd = sim_find(run.sim, "sda");

	run.hooks = (struct session_hooks){ .request = count_held, .arg = n };
	assert_int_equal(sim_run(&run), -EINVAL); /* it does not say */
	sim_run_done(&run);
	get_cool(sd);
	sim_at(run.sim, 18 * NS_PER_S, get_warm, sd);
	sim_at(run.sim, 60 * NS_PER_S, get_less_warm, sd);
	sim_at(run.sim, 100 * NS_PER_S, get_cool, sd);
	assert_int_equal(sim_run(&run), 0);
	assert_int_equal(n[0], 0);
	assert_true(n[1] > 9000);
	assert_true(sim_figure(&run, "held_s") >= 70 && sim_figure(&run, "held_s") <= 100);
	assert_int_equal((uint64_t)sim_figure(&run, "scanned_bytes"), 10000000000 / 512 * 512);
	assert_int_equal(count_kind(run.res, "always", UINT64_MAX), 0);
}
