/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disks as they are: what scatters, is missed, drifts or is fixed in a track; and that the truth has all of it in it.
 */
#include "test.h"

#include "modelrun.h"
#include "stats/stats.h"

#define PERIOD_NS (60e9 / 7200)
#define CYL       (1000ull * 512) /* bytes of a cylinder of RUN_ZONE: two tracks of 500 sectors */

/* ---- samples ---- */

#define MOST 40000

struct sample {
	size_t n;
	double v[MOST];
};

static void sample_add(struct sample *s, double x)
{
	assert_true(s->n < MOST);
	s->v[s->n++] = x;
}

/* What they are, and none is left. */
static struct summary summed(struct sample *s)
{
	struct summary ret;

	assert_true(summary_of(s->v, s->n, &ret));
	s->n = 0;
	return ret;
}

/* Reads that go to and fro over so many cylinders; what `of` takes from each. */
static void sample_seeks(struct run *r, uint64_t cylinders, int n, struct sample *seeks, struct sample *rest)
{
	for (int i = 0; i < n; i++) {
		uint64_t sector = (uint64_t)(i * 7 % 500) * 512;

		(void)run_one(r, DISK_READ, (i & 1 ? cylinders : 0) * CYL + sector, 512, NULL);
		if (i == 0)
			continue;
		if (seeks)
			sample_add(seeks, r->done.seek_ns);
		if (rest)
			sample_add(rest, run_took(r) - r->done.seek_ns - r->done.latency_ns - r->done.transfer_ns);
	}
}

/* ---- seeks ---- */

TEST(a_seek_curve_of_points_is_straight_between_them_and_level_outside)
{
	static const struct {
		uint64_t cylinders;
		double ms;
	} want[] = {
		{ 1, 1 }, { 2, 1 }, { 10, 3 }, { 15, 2.75 }, { 20, 2.5 }, { 60, 4.5 }, { 100, 6.5 }, { 999, 6.5 }
	};
	cleanup_model struct run r = { 0 };

	/* Not sorted, and not rising everywhere, as measured ones are. settle_ms is in the points. */
	run_new(&r, RUN_BASE
	        "settle_ms 5\nseek_point 10 3\nseek_point 2 1\nseek_point 100 6.5\nseek_point 20 2.5\n" RUN_ZONE);
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		(void)run_one(&r, DISK_READ, 0, 512, NULL);
		(void)run_one(&r, DISK_READ, want[i].cylinders * CYL, 512, NULL);
		near(r.done.seek_ns, want[i].ms * 1e6, 1);
		near(truth_seek_ns(disk_geometry(r.d), (double)want[i].cylinders), want[i].ms * 1e6, 1);
	}
}

TEST(a_seeks_scatter_has_its_core_and_its_tail_and_the_truth_is_its_median)
{
	static struct sample s;
	struct summary all;
	double truth;
	MODEL(r, RUN_BASE "seek_scatter 1 0.02\nseek_scatter 100 0.06 0.05 0.2\n" RUN_ZONE);

	sample_seeks(&r, 50, 40000, &s, NULL);
	truth = truth_seek_ns(disk_geometry(r.d), 50);
	near(truth, (0.8 + 0.05 * sqrt(50)) * 1e6, 1e-3); /* symmetric: not shifted */
	all = summed(&s);
	near(all.mean, truth, 5 * 2e4 / 200);
	near(all.stddev, 2e4, 0.02 * 2e4);
	sample_seeks(&r, 400, 40000, &s, NULL);
	truth = truth_seek_ns(disk_geometry(r.d), 400);
	assert_true(truth > 1.8e6 + 1000); /* the tail has shifted it */
	stats_sort(s.v, s.n);
	assert_true(stats_quantile_sorted(s.v, s.n, 0.99) > 1.8e6 + 3e5); /* a Gauss core alone: 1.4e5 */
	all = summed(&s);
	near(all.median, truth, 5 * 1.25 * 6e4 / 200);
	near(all.mean, truth_seek_mean_ns(disk_geometry(r.d), 400), 5 * 8e4 / 200);
	near(truth_seek_mean_ns(disk_geometry(r.d), 400), 1.8e6 + 0.05 * 2e5, 1);
}

TEST(points_of_a_seek_curve_have_their_own_scatter)
{
	static struct sample s;
	struct summary all;
	MODEL(r, RUN_BASE "seek_scatter 1 0.5\nseek_point 10 3 0.01\nseek_point 30 4 0.03\n" RUN_ZONE);

	sample_seeks(&r, 20, 20000, &s, NULL);
	all = summed(&s);
	near(all.stddev, 2e4, 0.03 * 2e4);
	near(all.mean, 3.5e6, 5 * 2e4 / 141);
}

TEST(a_head_switch_scatters_and_never_takes_less_than_no_time)
{
	static struct sample s;
	struct summary all;
	MODEL(r, RUN_BASE "head_switch_scatter 0.4\n" RUN_ZONE);

	for (int i = 0; i < 40000; i++) {
		(void)run_one(&r, DISK_READ, i & 1 ? 512 * 600 : 0, 512, NULL);
		if (i)
			sample_add(&s, r.done.seek_ns);
	}
	all = summed(&s);
	near(all.mean, 7e5, 5 * 4e5 / 200); /* cut at both ends */
	assert_true(all.min >= 0 && all.max <= 1.4e6 + 1);
	near(truth_head_switch_ns(disk_geometry(r.d)), 7e5, 1);
}

/* ---- electronics ---- */

TEST(overhead_and_completion_scatter_and_the_truth_is_the_median_of_both)
{
	static struct sample s;
	cleanup_model struct run r = { 0 };
	struct summary all;
	double truth;

	run_new(&r,
	        RUN_BASE "overhead_ms 0.3\noverhead_scatter 0.02 0.1 0.3\ncompletion_scatter 0.01 0.05 0.1\n" RUN_ZONE);
	near(r.p.ctl.done_ms, 0.04, 1e-12); /* so that the core is symmetric */
	sample_seeks(&r, 50, 40000, NULL, &s);
	truth = truth_overhead_ns(disk_geometry(r.d));
	all = summed(&s);
	near(all.median, truth, 5 * 1.25 * 2.4e4 / 200);
	near(all.mean, 3e5 + 0.1 * 3e5 + 4e4 + 0.05 * 1e5, 5 * 1.3e5 / 200);
}

TEST(hits_have_a_scatter_of_their_own)
{
	static struct sample s;
	cleanup_model struct run r = { 0 };
	struct summary all;

	run_new(&r,
	        "rpm 7200\nqueue_depth 1\nhit_overhead_ms 0.1\nhit_overhead_scatter 0.01\ninterface_mbs 100\n" RUN_ZONE);
	(void)run_one(&r, DISK_READ, 0, 4096, NULL);
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(run_one(&r, DISK_READ, 0, 4096, NULL)->how, HOW_HIT);
		sample_add(&s, run_took(&r));
	}
	all = summed(&s);
	near(all.mean, 1e5 + 40960, 5 * 1e4 / 100);
	near(all.stddev, 1e4, 0.05 * 1e4);
}

TEST(a_disk_freezes_now_and_then_and_all_wait)
{
	size_t frozen = 0;
	MODEL(r, RUN_BASE "freeze 0.01 50 500\n" RUN_ZONE);

	for (uint64_t i = 0; i < 20000; i++) {
		(void)run_one(&r, DISK_READ, i * 7919 % 100000 * 512, 512, NULL);
		frozen += run_took(&r) > 50e6;
		assert_true(run_took(&r) < 530e6);
	}
	near((double)frozen, 200, 5 * sqrt(200));
}

/* Answers are late in bursts, and in the mean as often and as much as the truth says. */
TEST(a_busy_host_answers_late_in_bursts)
{
	struct truth_random truth, plain;
	double late[100] = { 0 }, all = 0, sq = 0, sum = 0;
	struct run r, idle;

	run_new(&idle, RUN_BASE RUN_ZONE);
	truth_random(disk_geometry(idle.d), 0, 100000 * 512, 512, &plain);
	run_free(&idle);
	run_new(&r, RUN_BASE "busy_host 1 4 0.25 1\n" RUN_ZONE);
	truth_random(disk_geometry(r.d), 0, 100000 * 512, 512, &truth);
	near(truth.service_ns - plain.service_ns, 0.2 * 0.25 * 1e6, 1);
	for (uint64_t i = 0; i < 100000; i++) {
		(void)run_one(&r, DISK_READ, rng_mix(i) % 100000 * 512, 512, NULL);
		late[i / 1000] += r.done.done_ns > r.done.ideal_ns;
		sum += (double)(r.done.done_ns - r.done.ideal_ns);
	}
	for (size_t i = 0; i < 100; i++) {
		all += late[i];
		sq += late[i] * late[i];
	}
	near(sum / 100000, 0.2 * 0.25 * 1e6,
	     0.15 * 0.2 * 0.25 * 1e6); /* late ones take time, so that fewer come in a burst */
	assert_true(sq / 100 - all / 100 * all / 100 > 3 * all / 100); /* Poisson has 1 */
	run_free(&r);
}

/* ---- revolutions ---- */

/* Lost revolutions in so many windows of so many requests of 1 MiB each: their mean, and their deviation as a part of
 * it. */
static double deviation_of_lost(const double *lost, size_t n, size_t window, double *ret_mean)
{
	double sum = 0, sq = 0, k = (double)(n / window);

	for (size_t i = 0; i + window <= n; i += window) {
		double x = 0;

		for (size_t j = 0; j < window; j++)
			x += lost[i + j];
		sum += x;
		sq += x * x;
	}
	*ret_mean = sum / k / (double)window;
	return sqrt(fmax(0, sq / k - sum / k * sum / k)) / (sum / k);
}

TEST(rates_that_are_restless_do_not_come_to_rest_with_length)
{
	static const char *const texts[] = { RUN_BASE "retry_per_gb 300\n" RUN_ZONE,
		                             RUN_BASE "retry_per_gb 300\nretry_unrest 0.8 0.05\n" RUN_ZONE };
	const size_t n = 40000;
	double *lost = calloc(n, sizeof(*lost)), falls[2], mean[2], whole;

	for (size_t k = 0; k < 2; k++) {
		MODEL(r, texts[k]);

		for (size_t i = 0; i < n; i++) { /* the same bytes: without losses they take the same time */
			(void)run_one(&r, DISK_READ, 0, 1 << 20, NULL);
			lost[i] = r.done.transfer_ns;
		}
		whole = lost[0];
		for (size_t i = 0; i < n; i++)
			whole = fmin(whole, lost[i]);
		for (size_t i = 0; i < n; i++)
			lost[i] = (lost[i] - whole) / PERIOD_NS;
		falls[k] = deviation_of_lost(lost, n, 256, &mean[k]) / deviation_of_lost(lost, n, 16, &mean[k]);
	}
	near(mean[0], 300 * 1.048576e-3, 0.02 * 0.3146);
	near(mean[1], 300 * 1.048576e-3,
	     0.25 * 0.3146); /* slow noise: its mean wanders, and is the truth's in the end */
	near(falls[0], 0.25, 0.07);
	assert_true(falls[1] > 0.45);
	free(lost);
}

TEST(revolutions_are_missed_by_distance_and_some_of_them_several_times)
{
	double one = 0, two = 0, far = 0;
	MODEL(r, RUN_BASE "missed_revolutions 0.02 0.06 100 0.25\n" RUN_ZONE);

	for (int i = 0; i < 60000; i++) {
		(void)run_one(&r, DISK_READ, (i & 1 ? 50 : 0) * CYL + (uint64_t)(i * 7 % 500) * 512, 512, NULL);
		one += r.done.latency_ns >= PERIOD_NS;
		two += r.done.latency_ns >= 2 * PERIOD_NS;
	}
	near(one / 60000, 0.02, 5 * sqrt(0.02 / 60000));
	near(two / 60000, 0.005, 5 * sqrt(0.005 / 60000));
	for (int i = 0; i < 30000; i++) {
		(void)run_one(&r, DISK_READ, (i & 1 ? 400 : 0) * CYL + (uint64_t)(i * 7 % 500) * 512, 512, NULL);
		far += r.done.latency_ns >= PERIOD_NS;
	}
	near(far / 30000, 0.06, 5 * sqrt(0.06 / 30000));
}

TEST(a_spindle_that_warms_up_turns_as_the_truth_says)
{
	MODEL(r, RUN_BASE "rpm_drift -0.004 100\nreported_rpm 7200\nrpm 7180\n" RUN_ZONE);

	for (int k = 0; k < 40; k++) {
		double at;
		uint64_t first;

		r.now += 5000000000;
		first = run_one(&r, DISK_READ, 0, 512, NULL)->done_ns;
		(void)run_one(&r, DISK_READ, 0, 512, NULL);
		at = ((double)(first + r.now) / 2 - 1e9) / 1e9;
		near((double)(r.now - first), truth_period_at_ns(disk_geometry(r.d), at), 2);
	}
	near(truth_period_ns(disk_geometry(r.d)), 60e9 / 7180, 1e-6);
	assert_true(truth_period_at_ns(disk_geometry(r.d), 0) > 1.0039 * 60e9 / 7180);
}

/* ---- streaming ---- */

/* Time of the media for one read of so many bytes from the first on. */
static double stream_ns(struct run *r, uint64_t first, uint32_t bytes)
{
	(void)run_one(r, DISK_READ, first, bytes, NULL);
	assert_int_equal(r->done.res, bytes);
	return r->done.transfer_ns;
}

TEST(skews_that_scatter_are_fixed_and_the_truth_knows_each)
{
	cleanup_model struct run r = { 0 };
	double sum = 0, sum2 = 0;
	size_t far = 0;

	run_new(&r, RUN_BASE "head_skew 0.2\ncyl_skew 0.3\nskew_scatter 12 0.055 0.3\n" RUN_ZONE);
	for (uint64_t i = 0; i < 40; i++) {
		double got = stream_ns(&r, i * 20 * CYL, 20 * CYL);

		near(got, truth_stream_ns(disk_geometry(r.d), i * 20 * CYL, (i + 1) * 20 * CYL), 20);
		near(stream_ns(&r, i * 20 * CYL, 20 * CYL), got, 20); /* the same each time */
	}
	for (uint64_t track = 0; track < 2000; track++) {
		struct place p;
		double off;

		geometry_place(disk_geometry(r.d), track * 500, &p);
		off = p.angle - ((double)((track + 1) / 2) * 0.2 + (double)(track / 2) * 0.3);
		off -= round(off);
		if (fabs(off) > 0.02) {
			far++;
			continue;
		}
		sum += off;
		sum2 += off * off;
	}
	near((double)far, 0.055 * 2000 * 28 / 30, 5 * sqrt(110));
	near(sqrt(sum2 / 2000) * PERIOD_NS, 12e3, 1.5e3); /* with the few that are off by less than 0.02 */
	near(sum / 2000 * PERIOD_NS, 0, 5 * 12e3 / 44);
}

TEST(weak_tracks_lose_a_revolution_each_time_or_now_and_then)
{
	double got = 0, want = 0, plain;
	MODEL(r, RUN_BASE "head_skew 0.2\ncyl_skew 0.3\nweak_tracks 0.05 1\n" RUN_ZONE);

	plain = 0;
	for (uint64_t i = 0; i < 50; i++) {
		got = stream_ns(&r, i * 20 * CYL, 20 * CYL);
		near(got, truth_stream_ns(disk_geometry(r.d), i * 20 * CYL, (i + 1) * 20 * CYL), 20);
		plain += got / PERIOD_NS - (40 + 20 * 0.2 + 19 * 0.3);
	}
	near(plain, 0.05 * 2000, 5 * 10);
	assert_true(truth_rate_at(disk_geometry(r.d), 0) < 0.97 * 512 * 1000 / (2.5 * PERIOD_NS) * 1e9);
	run_free(&r);
	run_new(&r, RUN_BASE "head_skew 0.2\ncyl_skew 0.3\nweak_tracks 0.05 0.3\n" RUN_ZONE);
	got = 0;
	for (uint64_t i = 0; i < 50 * 20; i++) {
		got += stream_ns(&r, i % 50 * 20 * CYL, 20 * CYL);
		want += truth_stream_ns(disk_geometry(r.d), i % 50 * 20 * CYL, (i % 50 + 1) * 20 * CYL);
	}
	near((got - want) / PERIOD_NS, 0, 5 * sqrt(20 * 100 * 0.21));
	run_free(&r);
	run_new(&r, RUN_BASE "head_skew 0.2\ncyl_skew 0.3\nweak_tracks 1 1\nweak_surface 2\n" RUN_ZONE);
	for (uint64_t i = 0; i < 4; i++) { /* every second track */
		got = stream_ns(&r, i * 20 * CYL, 20 * CYL);
		near(got, truth_stream_ns(disk_geometry(r.d), i * 20 * CYL, (i + 1) * 20 * CYL), 20);
		near(got / PERIOD_NS - (40 + 20 * 0.2 + 19 * 0.3), 20, 1);
	}
}

/* A skew that covers the switch by one deviation only: one switch in six misses a revolution. */
TEST(switches_that_scatter_beyond_their_skew_cost_what_the_truth_says)
{
	static const char *const disks[] = { "head_switch_scatter 0.1\n", "head_switch_scatter 0.1 0.1 3\n",
		                             "head_switch_scatter 0 0.2 5\n",
		                             "head_switch_scatter 0.05\nskew_scatter 30\n" };

	for (size_t k = 0; k < ARRAY_LEN(disks); k++) {
		cleanup_model struct run r = { 0 };
		double got = 0, want = 0;

		run_new(&r, textf("%shead_skew 0.096\ncyl_skew 0.3\n%s" RUN_ZONE, RUN_BASE, disks[k]));
		for (uint64_t i = 0; i < 1000; i++) {
			got += stream_ns(&r, i % 50 * 20 * CYL, 20 * CYL);
			want += truth_stream_ns(disk_geometry(r.d), i % 50 * 20 * CYL, (i % 50 + 1) * 20 * CYL);
		}
		assert_true(want > 1000 * (40 + 20 * 0.096 + 19 * 0.3) * PERIOD_NS * 1.005);
		near(got / want, 1, 5 * sqrt(20000.0) * 0.6 * PERIOD_NS / want);
	}
}

TEST(reading_ahead_scatters_like_reading_whenever_it_is_looked_at)
{
	cleanup_model struct run r = { 0 };
	double want;
	uint64_t start, at = 0;

	run_new(&r,
	        "rpm 7200\nsurfaces 2\nqueue_depth 1\noverhead_ms 0.1\nhit_overhead_ms 0.02\ncache_kb 4096\nsegments 2\n"
	        "seek 0.8 0.05\nhead_switch_ms 0.7\nhead_skew 0.096\ncyl_skew 0.3\nhead_switch_scatter 0.1\n" RUN_ZONE);
	(void)run_one(&r, DISK_READ, 0, 512 * 8, NULL);
	start = r.now;
	for (at = 8; at < 900000; at += 8)
		(void)run_one(&r, DISK_READ, at * 512, 8 * 512, NULL);
	want = truth_stream_ns(disk_geometry(r.d), 8 * 512, at * 512);
	near((double)(r.now - start) / want, 1, 5 * sqrt(900.0) * 0.4 * PERIOD_NS / want);
}

/* ---- all at once ---- */

TEST(the_same_seed_scatters_the_same_and_another_does_not)
{
	struct run a, b, c;
	size_t same = 0;

	run_new(&a, RUN_BASE UNRULY RUN_ZONE);
	run_new(&b, RUN_BASE UNRULY RUN_ZONE);
	run_new(&c, RUN_BASE UNRULY "seed 2\n" RUN_ZONE);
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t at = i * 7919 % 100000 * 512;

		(void)run_one(&a, DISK_READ, at, 4096, NULL);
		(void)run_one(&b, DISK_READ, at, 4096, NULL);
		(void)run_one(&c, DISK_READ, at, 4096, NULL);
		assert_int_equal(a.done.done_ns, b.done.done_ns);
		same += a.done.done_ns == c.done.done_ns;
	}
	assert_true(same < 5);
	run_free(&a);
	run_free(&b);
	run_free(&c);
}
