/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws against their laws, and `transactions` on simulated disks against queueing theory and the operational laws. */
#include "test.h"

#include "bars_check.h"
#include "measure/transactions/transactions.h"
#include "queue_laws.h"
#include "ran.h"

extern const struct measure measure_transactions;

#define DRAWS 100000

static struct sim_run run_on(const char *profile, const char *words)
{
	return ran(&measure_transactions, profile, words);
}

/* ---- a run that is killed ---- */

struct saves {
	unsigned n;
	double transactions[8], per_s[8], mean_ns[8], measured_s[8];
};

static void look_at_save(void *arg, struct session *ses)
{
	struct saves *v = arg;
	const struct figure *f = result_find_figure(ses->res, "transactions");

	if (!f || ses->res->status != STATUS_RUNNING || v->n == 8)
		return;
	v->transactions[v->n] = figure_number(f);
	v->per_s[v->n] = figure_number(result_find_figure(ses->res, "transactions_per_s"));
	v->mean_ns[v->n] = figure_number(result_find_figure(ses->res, "response_mean_ns"));
	v->measured_s[v->n++] = figure_number(result_find_figure(ses->res, "measured_s"));
	assert_true(figure_number(result_find_figure(ses->res, "response_max_ns")) > 0.0);
	assert_int_equal(ses->res->nnotices, 0);
	assert_true(!ses->res->verdict_is_no && !ses->res->verdict_is_open);
}

TEST(every_save_of_a_run_under_way_has_what_came_so_far)
{
	static const char *const words[] = { "--users=4 --think=100ms --time=180s sda",
		                             "--ios=1 --arrivals=30 --time=180s sda" };

	for (unsigned i = 0; i < 2; i++) {
		struct saves v = { 0 };
		PROFILE(p, "ibm-deskstar-60gxp");
		struct sim_run watched = run_for(&measure_transactions, &p, words[i]), alone = run_on(p.name, words[i]);

		watched.hooks = (struct session_hooks){ .checkpoint = look_at_save, .arg = &v };
		MUST_RUN(watched);
		assert_int_equal(v.n, 3);
		for (unsigned k = 0; k < v.n; k++) {
			assert_true(fabs(v.transactions[k] / v.per_s[k] / (50.0 * (k + 1)) - 1.0) < 0.1);
			assert_true(fabs(v.measured_s[k] / (50.0 * (k + 1)) - 1.0) < 0.3);
			assert_true(fabs(v.per_s[k] / sim_figure(&alone, "transactions_per_s") - 1.0) < 0.1);
			assert_true(fabs(v.mean_ns[k] / sim_figure(&alone, "response_mean_ns") - 1.0) < 0.2);
		}
		/* Looking changes nothing. */
		assert_true(sim_figure(&watched, "transactions") == sim_figure(&alone, "transactions"));
		assert_true(sim_figure(&watched, "response_mean_ns") == sim_figure(&alone, "response_mean_ns"));
		assert_true(sim_figure(&watched, "transactions_per_s") == sim_figure(&alone, "transactions_per_s"));
		sim_run_end(&watched);
		sim_run_end(&alone);
	}
}

static bool is_near(double got, double want, double share)
{
	if (fabs(got / want - 1.0) <= share)
		return true;
	print_message("%g instead of %g: off by %.2f %%\n", got, want, 100.0 * (got / want - 1.0));
	return false;
}

static double *draw(int law, double *ret_mean)
{
	double *x = calloc(DRAWS, sizeof(*x)), sum = 0.0;
	struct rng rng;

	assert_non_null(x);
	rng_init(&rng, 1, 2);
	for (size_t i = 0; i < DRAWS; i++)
		sum += x[i] = (double)tx_draw_think(&rng, law, 5 * NS_PER_S) * 1e-9;
	*ret_mean = sum / DRAWS;
	stats_sort(x, DRAWS);
	return x;
}

TEST(think_times_have_the_asked_mean_and_shape)
{
	double mean, *x = draw(TX_THINK_EXPONENTIAL, &mean);

	assert_true(is_near(mean, 5.0, 0.01));
	assert_true(is_near(stats_quantile_sorted(x, DRAWS, 0.95), 3.0 * 5.0, 0.02));
	free(x);
	x = draw(TX_THINK_UNIFORM, &mean);
	assert_true(is_near(mean, 5.0, 0.01));
	assert_true(x[DRAWS - 1] <= 10.0);
	assert_true(is_near(stats_quantile_sorted(x, DRAWS, 0.95), 9.5, 0.01));
	free(x);
}

/* The spread of a mean of n exponential gaps is 1 / sqrt(n): 0.1 % is three of them with nine million. */
TEST(arrivals_are_poisson_at_every_rate)
{
	static const double rates[] = { 50, 500, 5000, 50000, 500000 };
	cleanup_free double *gap = calloc(DRAWS, sizeof(*gap));

	assert_non_null(gap);
	for (size_t k = 0; k < TALLY_FIRST(ARRAY_LEN(rates), 1); k++) {
		const uint64_t n = 9000000;
		double at_ns = 0.0;
		uint64_t before = 0, last = 0;
		struct rng rng;

		rng_init(&rng, 7, k);
		for (uint64_t i = 0; i < n; i++) {
			last = tx_next_arrival(&rng, rates[k], TX_THINK_EXPONENTIAL, &at_ns);
			if (i < DRAWS)
				gap[i] = (double)(last - before);
			before = last;
		}
		assert_true(is_near((double)n / ((double)last * 1e-9), rates[k], 0.001));
		assert_true(ks_exponential(gap, DRAWS, 1e9 / rates[k]) > 0.001);
	}
}

/* ---- the long run ---- */

#define SERVICE_S 0.00601024 /* of a server of one queue: 6 ms, and 4 KiB at 400 MB/s */

static struct profile server(void)
{
	struct profile p = profile_named("ssd-sata");

	p.ssd.channels = 1;
	p.ssd.read_latency_us = 6000;
	p.ssd.channel_bytes_per_s = 400e6;
	p.ctl.overhead_ms = p.ctl.hit_overhead_ms = 0;
	MUST(profile_finish(&p, &err));
	return p;
}

/* The number goes where the % is. */
static struct sim_run run_on_server(const char *fmt, double number, unsigned seed)
{
	static char words[200];
	cleanup_profile struct profile p = server();

	(void)snprintf(words, sizeof(words), "%.*s%.12g%s --seed=%u sda", (int)strcspn(fmt, "%"), fmt, number,
	               strchr(fmt, '%') + 1, seed);
	return ran_on(&measure_transactions, &p, words);
}

struct truth_of_queue {
	const char *figure;
	double value;
};

#define PROGRAM_RUNS TALLY_FIRST(40, 2) /* PLATTER_QUEUES=9001-9200: these seeds */

static unsigned choose_runs(unsigned *ret_first)
{
	const char *which = getenv("PLATTER_QUEUES");
	unsigned last = PROGRAM_RUNS;

	*ret_first = 1;
	if (which)
		assert_int_equal(sscanf(which, "%u-%u", ret_first, &last), 2);
	return last - *ret_first + 1;
}

/* Of what is not constant: how many of the runs' intervals hold it. */
static void check_coverage(const char *fmt, double rate, const struct truth_of_queue *truth, size_t n)
{
	unsigned held[8] = { 0 }, known[8] = { 0 }, first, runs = choose_runs(&first);

	for (unsigned seed = first; seed < first + runs; seed++) {
		cleanup_run struct sim_run run = run_on_server(fmt, rate, seed);

		assert_false(result_has_notice(run.res, "no-steady-state"));
		for (size_t i = 0; i < n; i++) {
			const struct figure *f = result_find_figure(run.res, truth[i].figure);

			known[i] += isfinite(f->ci.low); /* else the run was too short, and says so */
			/* Of a constant to the nanosecond. */
			held[i] +=
				f->ci.low <= truth[i].value * (1 + 1e-6) && truth[i].value * (1 - 1e-6) <= f->ci.high;
		}
	}
	for (size_t i = 0; i < n; i++) {
		print_message("%s, %g: %s held in %u of %u\n", fmt, rate, truth[i].figure, held[i], known[i]);
		assert_true(stats_binomial_cdf(held[i], known[i], 0.92) > 0.001 && 10 * known[i] >= 9 * runs);
	}
}

TEST(intervals_of_open_runs_hold_what_the_law_says)
{
	static const struct {
		double load;
		const char *words;
	} loads[] = { { 0.3, "--arrivals=% --ios=1 --time=600s" },
		      { 0.6, "--arrivals=% --ios=1 --time=600s" },
		      { 0.9, "--arrivals=% --ios=1 --time=2000s" } };

	for (size_t i = 0; i < ARRAY_LEN(loads); i++) {
		double rate = loads[i].load / SERVICE_S;
		const struct truth_of_queue truth[] = {
			{ "transactions_per_s", rate },
			{ "response_mean_ns", 1e9 * law_md1_mean(rate, SERVICE_S) },
			{ "response_p50_ns", 1e9 * law_md1_quantile(rate, SERVICE_S, 0.5) },
			{ "response_p95_ns", 1e9 * law_md1_quantile(rate, SERVICE_S, 0.95) },
			{ "response_p99_ns", 1e9 * law_md1_quantile(rate, SERVICE_S, 0.99) },
		};

		check_coverage(loads[i].words, rate, truth, ARRAY_LEN(truth));
	}
}

/* One processor, and work that is drawn anew. */
TEST(intervals_of_open_runs_of_random_work_hold_what_the_law_says)
{
	for (double load = 0.3; load < 1; load += 0.3) {
		const double service = 0.01, rate = load / service;
		const struct truth_of_queue truth[] = {
			{ "transactions_per_s", rate },
			{ "response_mean_ns", 1e9 * law_mm1_mean(rate, service) },
			{ "response_p50_ns", 1e9 * law_mm1_quantile(rate, service, 0.5) },
			{ "response_p95_ns", 1e9 * law_mm1_quantile(rate, service, 0.95) },
			{ "response_p99_ns", 1e9 * law_mm1_quantile(rate, service, 0.99) },
		};

		check_coverage(load > 0.8 ? "--arrivals=% --ios=0 --cpu=10ms --randomise=work --time=3000s"
		                          : "--arrivals=% --ios=0 --cpu=10ms --randomise=work --time=600s",
		               rate, truth, ARRAY_LEN(truth));
	}
}

TEST(intervals_of_closed_runs_hold_what_the_law_says)
{
	for (double load = 0.3; load < 1; load += 0.3) {
		const double service = 0.01, think = law_closed_think(10, service, load);
		const struct truth_of_queue truth[] = {
			{ "transactions_per_s", law_closed_per_s(10, service, think) },
			{ "response_mean_ns", 1e9 * law_closed_mean(10, service, think) },
			{ "response_p50_ns", 1e9 * law_closed_quantile(10, service, think, 0.5) },
			{ "response_p95_ns", 1e9 * law_closed_quantile(10, service, think, 0.95) },
			{ "response_p99_ns", 1e9 * law_closed_quantile(10, service, think, 0.99) },
		};

		check_coverage("--users=10 --think=%ns --ios=0 --cpu=10ms --randomise=work --time=500s",
		               round(1e9 * think), truth, ARRAY_LEN(truth));
	}
}

/* 166 a second is what it can do: the mean response would be one of --time, or of --count. */
TEST(more_arrivals_than_it_can_do_are_no_steady_state)
{
	static const char *const words[] = { "--arrivals=% --ios=1 --time=60s", "--arrivals=% --ios=1 --count=12000" };

	for (unsigned i = 0; i < TALLY_SEEDS(20); i++) {
		cleanup_run struct sim_run run = run_on_server(words[i % 2], 200, i / 2 + 1);
		double arrived = sim_figure(&run, "arrived_per_s"), ended = sim_figure(&run, "transactions_per_s");
		const struct figure *f = result_find_figure(run.res, "queue_growth_per_s");

		assert_true(result_has_notice(run.res, "no-steady-state") && run.res->verdict_is_no);
		assert_true(is_near(arrived, 200, 0.05) && is_near(ended, 1 / SERVICE_S, 0.01));
		assert_true(is_near(figure_number(f), arrived - ended, 0.02) && f->ci.low > 10 && f->ci.high < 60);
		assert_true(isnan(sim_figure(&run, "response_mean_ns")) && isnan(sim_figure(&run, "response_p50_ns")) &&
		            isnan(sim_figure(&run, "response_p99_ns")));
	}
}

/* A slow start, as of a cold cache, is left out of what is reported, and it is reported how long. */
TEST(a_slow_start_is_left_out)
{
	cleanup_run struct sim_run run = { 0 };
	PROFILE(p, "ssd-sata");

	for (unsigned i = 0; i < 60; i++) /* every other 50 ms of the first 6 s */
		assert_int_equal(profile_add_stall(&p, &(struct profile_stall){ .at_s = 0.1 * i, .length_s = 0.05 }),
		                 0);
	MUST(profile_finish(&p, &err));
	run = ran_on(&measure_transactions, &p, "--users=4 --ios=1 --time=40s sda");
	assert_true(sim_figure(&run, "warm_up_s") >= 5 && sim_figure(&run, "warm_up_s") < 15);
	assert_true(is_near(sim_figure(&run, "measured_s") + sim_figure(&run, "warm_up_s"), 40, 1e-6));
	assert_true(sim_figure(&run, "measured") < sim_figure(&run, "transactions"));
	assert_true(is_near(sim_figure(&run, "transactions_per_s"),
	                    sim_figure(&run, "measured") / sim_figure(&run, "measured_s"), 1e-6));
	assert_true(sim_figure(&run, "response_max_ns") < 50e6);
}

/* U = X D for the disk, with the service that its profile says; the kernel's counters and ours agree. */
TEST(the_disk_is_as_busy_as_the_law_says)
{
	static const struct {
		const char *words;
		double users;
	} loads[] = { { "--users=1 --ios=4 --think=50ms --time=2000s sda", 1 },
		      { "--users=5 --ios=2 --think=200ms --class=law=uniform --time=2000s sda", 5 } };

	for (size_t i = 0; i < ARRAY_LEN(loads); i++) {
		cleanup_run struct sim_run run = run_on("quantum-fireball-tm2110a", loads[i].words);
		const struct geometry *g = disk_geometry(sim_model(sim_find(run.sim, "sda")));
		double requests = table_number(result_find_table(run.res, "classes"), 0, 12), by_truth;
		struct truth_random truth;

		assert_true(requests == 4.0 || requests == 2.0);
		truth_random(g, 0, sim_device(sim_find(run.sim, "sda"))->size_bytes, 4096, &truth);
		by_truth = sim_figure(&run, "transactions_per_s") * requests * truth.service_ns * 1e-9;
		assert_true(is_near(sim_figure(&run, "device_busy_ratio"), by_truth, 0.02));
		assert_true(is_near(sim_figure(&run, "device_busy_ratio"), sim_figure(&run, "law_device_ratio"), 0.02));
		assert_true(is_near(sim_figure(&run, "law_users"), loads[i].users, 0.01));
		if (loads[i].users == 1)
			assert_true(is_near(sim_figure(&run, "io_service_mean_ns"), truth.service_ns, 0.02));
	}
}

TEST(classes_are_distinguished)
{
	cleanup_run struct sim_run run =
		run_on("ssd-sata", "--class=name=light,users=30,think=5s,cpu=20ms,count=100 "
	                           "--class=name=heavy,users=2,ios=60,think=4s,cpu=60ms,count=100 sda");
	const struct table *t = result_find_table(run.res, "classes");
	size_t each = (size_t)table_column(t, "cpu_each_s"), n = (size_t)table_column(t, "transactions");

	assert_int_equal(t->nrows, 3);
	assert_true(table_number(t, 0, n) == 3000.0 && table_number(t, 1, n) == 200.0 &&
	            table_number(t, 2, n) == 3200.0);
	(void)assert_bars(run.res, "light", 3000.0, number(t, 0, "p50_ns"));
	(void)assert_bars(run.res, "heavy", 200.0, number(t, 1, "p50_ns"));
	assert_true(is_near(table_number(t, 0, each), 0.02, 1e-6));
	assert_true(is_near(table_number(t, 1, each), 0.06, 1e-6));
}

TEST(the_number_of_users_that_fit_is_found)
{
	cleanup_run struct sim_run run =
		run_on("ssd-sata", "--find --limit=mean<200ms --ios=1 --cpu=10ms --think=1s --time=600s sda");
	double found = sim_figure(&run, "max_users"), bad = sim_figure(&run, "users_too_many");

	/* Bottleneck of 10 ms: N = (R + Z) / D = 120 at R = 200 ms, a little less as the queue is random. */
	assert_true(found > 105 && found <= 121);
	assert_true(bad > found && bad <= found + 1 + found / 50);
	/* the device beside each try, and the figures are of the most that fit */
	assert_true(table_column(result_find_table(run.res, "tries"), "device_busy_ratio") >= 0);
	(void)assert_bars(run.res, NULL, sim_figure(&run, "transactions"), sim_figure(&run, "response_p50_ns"));
	assert_int_equal(run.res->nplots, 2); /* once, not for each try */
	assert_true(sim_figure(&run, "users") == found && sim_figure(&run, "response_mean_ns") < 200e6);
	assert_true(sim_figure(&run, "device_busy_ratio") > 0.0);
}

/* A disk that refuses at once would otherwise be a fast one. The laws are of all that went through it. */
TEST(what_failed_is_neither_throughput_nor_response)
{
	for (int way = 0; way < 3; way++) {
		cleanup_run struct sim_run run = { 0 };
		double good, failed;
		PROFILE(p, "tiny");

		assert_int_equal(
			profile_add_bad(&p,
		                        &(struct profile_bad){ .lba = way == 0 ? 0 : p.capacity_lba / 2,
		                                               .count = way == 0 ? p.capacity_lba
		                                                                 : p.capacity_lba - p.capacity_lba / 2,
		                                               .kind = BAD_READ,
		                                               .err = -EIO }),
			0);
		run = ran_on(&measure_transactions, &p,
		             way == 2 ? "--arrivals=40 --ios=1 --time=60s --max-errors=1000000 sda"
		                      : "--users=4 --ios=1 --time=60s --max-errors=1000000 sda");
		assert_int_equal(run.res->status, STATUS_WITH_ERRORS);
		good = sim_figure(&run, "transactions");
		failed = sim_figure(&run, "transactions_failed");
		assert_true(fabs(failed - (double)result_fault_count(run.res)) <= 4.0); /* of users at the end */
		assert_true(failed > 500);
		assert_true(is_near(sim_figure(&run, "transactions_per_s") + 1.0, good / 60.0 + 1.0, 0.01));
		if (way == 0) {
			assert_true(good == 0.0);
			assert_true(isnan(sim_figure(&run, "response_mean_ns")) &&
			            isnan(sim_figure(&run, "response_max_ns")));
		} else {
			assert_true(is_near(good / (good + failed), 0.5, 0.1));
		}
		if (way < 2)
			assert_true(is_near(sim_figure(&run, "law_users"), 4, 0.01));
		else
			assert_true(is_near(sim_figure(&run, "law_inside"), sim_figure(&run, "device_queue"), 0.03));
		assert_true(is_near(sim_figure(&run, "law_device_ratio"), sim_figure(&run, "device_busy_ratio"), 0.03));
	}
}

TEST(an_interrupt_keeps_what_was_measured)
{
	PROFILE(p, "ssd-sata");
	cleanup_run struct sim_run run =
		run_for(&measure_transactions, &p, "--users=4 --think=10ms --ios=2 --time=1000s sda");

	run_until(&run, 20 * NS_PER_S);
	assert_true(sim_figure(&run, "transactions") > 5000);
	assert_true(is_near(sim_figure(&run, "law_users"), 4, 0.01));
}
