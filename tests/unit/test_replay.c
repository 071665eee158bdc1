/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A drive's trace against its model: a trace that the model has made itself fits, a wrong model does not, and the
 * figures are those done by hand. */
#include "test.h"

#include "replay.h"

#define REQUESTS 4000

static void load(struct profile *p)
{
	MUST(profile_load(p, SIMDISK_PROFILES "/tiny.disk", &err));
	p->ctl.queue_depth = 1;
	p->wcache.bytes = 1 << 20;
	p->wcache.delay_ms = 3;
}

static void parse(struct replay_trace *ret, const char *text)
{
	cleanup_fclose FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(in);
	MUST(replay_parse(ret, "t", in, &err));
}

static void refused(const char *text, const char *words)
{
	cleanup_fclose FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct replay_trace t = { 0 };
	struct err err = { 0 };

	assert_non_null(in);
	assert_true(replay_parse(&t, "t", in, &err) < 0);
	if (!strstr(err.text, words))
		fail_msg("'%s' gives '%s', not '%s'", text, err.text, words);
}

/* What a host saw that sent this to the disk: written by another loop than replay's, as text, in whole microseconds. */
static char *drive_trace(const struct profile *p, enum replay_think think)
{
	struct disk *d = disk_new(p, 0);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	uint64_t now = 0, lba = 0, last = geometry_lbas(disk_geometry(d)) - 64;
	struct rng rng;

	rng_init(&rng, 7, 1);
	for (int i = 0; i < REQUESTS; i++) {
		uint64_t think_us = 100 + rng_below(&rng, 60000);
		uint32_t sectors = (uint32_t)(4 + rng_below(&rng, 4) * 4);
		bool is_write = rng_below(&rng, 3) == 0;
		struct disk_req q = { .op = is_write ? DISK_WRITE : DISK_READ, .len_bytes = sectors * 512 };
		struct disk_done done;

		lba = rng_below(&rng, 3) ? rng_below(&rng, last) : (lba + 64) % last;
		q.offset_bytes = lba * 512;
		if (think == THINK_BEFORE)
			now += think_us * 1000;
		assert_int_equal(disk_submit(d, now, &q), 0);
		while (!disk_pop_done(d, UINT64_MAX, &done))
			disk_advance(d, disk_next_event_ns(d));
		(void)fprintf(out, "%c Hit %" PRIu64 " %" PRIu32 " %.3f %" PRIu64 "\n", is_write ? 'W' : 'R', lba,
		              sectors, (double)(done.done_ns - now) / 1e3, think_us);
		now = done.done_ns + (think == THINK_AFTER ? think_us * 1000 : 0);
	}
	(void)fclose(out);
	disk_free(d);
	return text;
}

static void compare(struct profile *p, const char *text, enum replay_think think, enum disk_op op,
                    struct replay_figures *ret)
{
	struct replay_trace t;
	struct err err = { 0 };

	assert_int_equal(profile_finish(p, &err), 0);
	parse(&t, text);
	assert_int_equal(t.n, REQUESTS);
	if (replay_run(&t, p, think, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(replay_compare(&t, 0, t.n, op, ret), 0);
	replay_trace_done(&t);
}

TEST(the_model_fits_a_trace_of_its_own_and_no_other_model_does)
{
	static const enum replay_think thinks[] = { THINK_BEFORE, THINK_AFTER };

	for (size_t i = 0; i < ARRAY_LEN(thinks); i++) {
		struct replay_figures f;
		cleanup_profile struct profile p = { 0 };
		cleanup_free char *text = NULL;

		load(&p);
		assert_int_equal(profile_finish(&p, NULL), 0);
		text = drive_trace(&p, thinks[i]);
		compare(&p, text, thinks[i], DISK_ANY, &f);
		assert_int_equal(f.n, REQUESTS);
		assert_true(f.demerit_us < 0.002 && f.same_median_us < 0.002);
		assert_true(f.drive_mean_us > 1000 && fabs(f.drive_mean_us - f.model_mean_us) < 0.002);

		/* The pauses on the wrong side: nearly the same distribution, but the platter is elsewhere at each
		 * request. */
		compare(&p, text, thinks[1 - i], DISK_READ, &f);
		assert_true(f.same_median_us > 500);

		p.seek.a_ms += 1; /* knee and all: each read a ms later */
		p.seek.c_ms += 1;
		compare(&p, text, thinks[i], DISK_ANY, &f);
		assert_true(f.demerit_us > 300 && f.demerit > 0.04);
		p.seek.a_ms -= 1;
		p.seek.c_ms -= 1;

		p.wcache.bytes = 0;
		compare(&p, text, thinks[i], DISK_ANY, &f);
		assert_true(f.demerit_us > 1000);
	}
}

TEST(the_demerit_is_the_rms_distance_of_the_two_distributions)
{
	struct replay_trace t;
	struct replay_figures f;

	parse(&t,
	      "# op word lbn blocks response think\nR Hit 1 2 100 5\n\nR Miss 2 2 300.0 5.5\n W Hit 3 2 200 0\r\nW x 4 2 999 0\n");
	assert_int_equal(t.n, 4);
	assert_true(t.requests[1].response_us == 300 && t.requests[1].think_us == 5.5 &&
	            t.requests[2].op == DISK_WRITE);
	t.requests[0].model_us = 340; /* sorted: 100 200 300 against 110 200 340 */
	t.requests[1].model_us = 110;
	t.requests[2].model_us = 200;
	t.requests[3].model_us = 5000;
	assert_int_equal(replay_compare(&t, 0, 3, DISK_ANY, &f), 0);
	assert_int_equal(f.n, 3);
	assert_true(fabs(f.demerit_us - sqrt((100 + 0 + 1600) / 3.0)) < 1e-9);
	assert_true(fabs(f.demerit - f.demerit_us / 200) < 1e-12);
	assert_true(fabs(f.same_median_us - 190) < 1e-9 && f.drive_us[2] == 200 && f.model_us[2] == 200);
	assert_int_equal(replay_compare(&t, 3, 4, DISK_READ, &f), 0);
	assert_int_equal(f.n, 0);
	assert_int_equal(replay_compare(&t, 0, 4, DISK_WRITE, &f), 0);
	assert_true(f.n == 2 && f.drive_mean_us == 599.5);
	replay_trace_done(&t);
}

TEST(what_is_no_trace_is_refused_with_its_line)
{
	struct replay_trace t;
	cleanup_profile struct profile p = { 0 };
	struct err err = { 0 };

	refused("", "no request");
	refused("# nothing\n", "no request");
	refused("R Hit 1 2 100 5\nX Hit 1 2 100 5\n", "t:2");
	refused("R Hit 1 2 100\n", "t:1");
	refused("R Hit 1 2 100 5 6\n", "t:1");
	refused("R Hit 1 0 100 5\n", "t:1");
	refused("R Hit -1 2 100 5\n", "t:1");
	refused("R Hit 1.5 2 100 5\n", "t:1");
	refused("R Hit 1 2 nan 5\n", "t:1");
	refused("R Hit 1 2 100 1e300\n", "t:1");
	refused("R Hit 1 99999999 100 5\n", "t:1");
	refused("RHit 1 2 100 5\n", "t:1");
	load(&p);
	assert_int_equal(profile_finish(&p, NULL), 0);
	parse(&t, "R Hit 1 2 100 5\nR Hit 90000000 2 100 5\n");
	assert_int_equal(replay_run(&t, &p, THINK_BEFORE, &err), -EINVAL);
	assert_non_null(strstr(err.text, "90000000"));
	replay_trace_done(&t);
}
