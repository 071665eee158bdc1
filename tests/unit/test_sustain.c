/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sustain` on simulated devices whose truth is known. tools/wild sustain does it on hundreds that are drawn. */
#include "test.h"

#include "measure/sustain/sustain.h"
#include "ran.h"

extern const struct measure measure_sustain;

/* 8 channels of 25 MB/s each, if nothing limits them: slow, so that few requests are long runs. */
#define DEVICE                                                                                                       \
	"kind ssd\nserial SUSTAIN1\ncapacity_lba 400000000\nchannels 8\nread_latency_us 100\nwrite_latency_us 100\n" \
	"channel_mbs 25\nstripe_bytes 16384\nqueue_depth 64\noverhead_ms 0\njitter_us 20\n"
#define WRITE "--write --destroy-data=SUSTAIN1 sda"

static struct sim_run run_on(const char *text, const char *words)
{
	cleanup_profile struct profile p = profile_of(text);

	return ran_on(&measure_sustain, &p, words);
}

static void near(const struct sim_run *run, const char *what, const char *name, double truth, double part)
{
	double x = sim_figure(run, name);

	if (isnan(truth) ? !isnan(x) : !(fabs(x / truth - 1) <= part))
		fail_msg("%s: %s is %.6g, in truth %.6g", what, name, x, truth);
}

/* 60 MB/s for 1024 MB, and then 20. */
#define CELLS DEVICE "fast_cells 1000000 60 20 4 500\n"

/* A disk with a cache in memory and one on its platters, full within a quarter of a second of 20 minutes: two states of
 * their own, which together hold what both caches do. */
TEST(a_cache_that_is_full_at_once_is_a_state_of_its_own)
{
	cleanup_run struct sim_run run = run_on(
		"surfaces 4\ncache_kb 32768\nqueue_depth 32\noverhead_ms 0.1\nseek 0.8 0.05\nhead_switch_ms 0.7\n"
		"serial SUSTAIN1\ninterface_mbs 500\nphysical_sector 4096\nwrite_cache_kb 8192\nwrite_start 0.2\n"
		"write_delay_ms 100\nrpm 5400\nmedia_cache_kb 1048576 6000\nmedia_cache_idle_ms 700\n"
		"zone 4000 330\nzone 4000 250\n",
		"--random " WRITE);

	near(&run, "both caches", "burst_bytes_per_s", 500e6, 0.02);
	assert_true(sim_figure(&run, "second_bytes_per_s") > 20e6);
	near(&run, "both caches", "burst_requests", 6000 + 2048 - sim_figure(&run, "second_bytes") / 4096, 0.02);
}

/* That many bins with as many requests each. */
static void go_on(struct sustain_series *s, size_t bins, uint64_t requests, uint64_t block_bytes)
{
	for (size_t i = 0; i < bins; i++, s->n++)
		s->v[s->n] = (struct sustain_bin){ .requests = requests,
			                           .bytes = requests * block_bytes,
			                           .time_s = (double)s->n * s->width_s };
	s->time_s = (double)s->n * s->width_s;
}

/* Nothing is answered for 70 ms, which is a state without a request; then it is fast, and then slow. */
TEST(a_stall_before_the_first_answer_is_of_the_burst)
{
	struct sustain_series s;
	struct sustain_states f;

	sustain_series_init(&s, false);
	go_on(&s, 9, 0, 1 << 20);
	go_on(&s, 141, 16, 1 << 20);
	go_on(&s, 3850, 2, 1 << 20);
	assert_true(sustain_states(&s, &f));
	assert_int_equal(f.block_bytes, 1 << 20);
	assert_true(f.burst == 0 && f.v[0].from_s == 0 && f.v[0].to_s > 140 * s.width_s);
	assert_true(fabs(f.amount.value / (141.0 * 16 * (1 << 20)) - 1) < 0.02);
	sustain_series_done(&s);
}

/* With requests of another size it does not become as warm; behind each rest it was slow at one temperature. */
TEST(one_temperature_behind_every_rest_is_heat_whatever_other_requests_show)
{
	for (int is_one = 0; is_one < 2; is_one++) {
		struct sustain_rests r = { .again_bytes_per_s = NAN };
		struct sustain_series s;
		struct sustain_states f;
		struct sustain_found found;

		sustain_series_init(&s, false);
		go_on(&s, 400, 16, 1 << 20);
		go_on(&s, 1600, 8, 1 << 20);
		assert_true(sustain_states(&s, &f) && f.burst == 0);
		f.begin_celsius = 30;
		f.v[0].celsius = 84;
		for (; r.n < 5; r.n++)
			r.v[r.n] = (struct sustain_rest){ .rest_ns = (2 + r.n) * NS_PER_S,
				                          .block_bytes = 1 << 20,
				                          .asked_bytes_per_s = NAN,
				                          .fast_bytes = 1e8 * (double)(r.n + 1),
				                          .uncertain_bytes = 1e6,
				                          .begin_celsius = 80 - 5 * (double)r.n,
				                          .celsius = is_one ? 84 : 84 - 4 * (double)r.n };
		sustain_find_cause(&f, &r, &found);
		assert_int_equal(found.cause, is_one ? SUSTAIN_HEAT : SUSTAIN_UNKNOWN);
		sustain_series_done(&s);
	}
}

TEST(a_signal_during_a_rest_keeps_what_was_measured)
{
	cleanup_profile struct profile p = profile_of(CELLS);
	cleanup_run struct sim_run run = run_for(&measure_sustain, &p, WRITE);

	run_until(&run, 800 * NS_PER_S);
	assert_true(sim_elapsed_ns(run.sim) < 802 * NS_PER_S);
	near(&run, "stopped", "burst_bytes", 1024e6, 0.02);
	assert_true(result_find_table(run.res, "rates")->nrows > 1000);
}
