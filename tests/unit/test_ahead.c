/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --look-ahead where drives take the command without effect, say that they follow, or say nothing: what their answers
 * tell, in virtual time. PLATTER_LONG=1: of many. */
#include "test.h"

#include "simrun.h"
#include "wild.h"

extern const struct measure measure_seek;

static struct {
	bool follows, tells, says_so; /* the command; whether word 82 has it; and as wanted whatever it does */
	unsigned on;
} drive;

static int played_look(void *ctx, const struct device *dev, struct drive_state *ret, struct err *err)
{
	int r = device_sim.drive_look(ctx, dev, ret, err);

	if (drive.says_so)
		ret->on = (ret->on & ~DRIVE_LOOK_AHEAD) | drive.on;
	if (!drive.tells) {
		ret->reported &= ~DRIVE_LOOK_AHEAD;
		ret->on &= ~DRIVE_LOOK_AHEAD;
	}
	return r;
}

static int played_set(void *ctx, const struct device *dev, unsigned mask, unsigned on, struct err *err)
{
	if (mask & DRIVE_LOOK_AHEAD)
		drive.on = on & DRIVE_LOOK_AHEAD;
	return device_sim.drive_set(ctx, dev, drive.follows ? mask : mask & ~DRIVE_LOOK_AHEAD, on, err);
}

static const char *during(const struct result *res)
{
	const struct table *t = result_find_table(res, "switches");

	for (size_t i = 0; t && i < t->nrows; i++)
		if (strcmp(table_string(t, i, 1), "look-ahead") == 0)
			return table_string(t, i, 3);
	return "none";
}

TEST(answers_tell_whether_the_look_ahead_follows)
{
	static const struct {
		const char *lines, *wish;
		bool follows, tells, says_so;
		const char *during;
		bool stays, is_unknown;
	} cases[] = {
		{ "", "off", true, true, false, "off", false, false },
		{ "", "off", false, true, true, "on", true, false },
		{ "", "off", true, false, false, "off", false, false },
		{ "", "off", false, false, false, "on", true, false },
		{ "read_ahead_when sequential\n", "off", false, false, false, "on", true, false },
		{ "read_ahead_reach track\n", "off", true, false, false, "off", false, false },
		{ "", "on", true, false, false, "on", false, false },
		{ "read_ahead no\n", "on", false, false, false, "off", true, false },
		{ "drops_read yes\n", "off", true, false, false, "not reported", false, true },
	};

	const size_t seeds = getenv("PLATTER_LONG") ? 200 : 1;

	for (size_t i = 0; i < seeds * ARRAY_LEN(cases); i++)
		for (int noise = WILD_NOISE_NONE; noise <= WILD_NOISE_REAL;
		     noise += WILD_NOISE_REAL - WILD_NOISE_NONE) {
			struct sim_run run = { .sim = sim_new(), .m = &measure_seek };
			struct device_ops ops = device_sim;
			const __typeof__(cases[0]) *c = &cases[i % ARRAY_LEN(cases)];
			struct err err = { 0 };
			cleanup_profile struct profile p = { 0 };
			char text[600], words[200];

			(void)snprintf(text, sizeof(text),
			               "surfaces 2\nrpm 7200\noverhead_ms 0.1\nhit_overhead_ms 0.04\nseek 0.8 0.05\n"
			               "head_switch_ms 0.7\ninterface_mbs 500\nserial AHEADTEST\nzone 20000 330\n"
			               "cache_kb 8192\nsegments 16\nwrite_cache_kb 1024\n%s",
			               c->lines);
			assert_int_equal(profile_parse(&p, "drawn", text, strlen(text), &err), 0);
			assert_int_equal(profile_add_noise(&p, (enum wild_noise)noise, i + 1, &err), 0);
			(void)sim_add_disk(run.sim, &p, "sda");
			ops.drive_look = played_look;
			ops.drive_set = played_set;
			sim_env(run.sim)->devices = &ops;
			drive.follows = c->follows;
			drive.tells = c->tells;
			drive.says_so = c->says_so;
			drive.on = DRIVE_LOOK_AHEAD;
			(void)snprintf(
				words, sizeof(words),
				"--quick --time=1s --without=curve,queue --look-ahead=%s --despite=look-ahead --seed=%zu sda",
				c->wish, i + 1);
			run.words = words;
			if (sim_run(&run) < 0)
				fail_msg("%zu: %s", i, run.err.text);
			if (i < ARRAY_LEN(cases) || strcmp(during(run.res), "not reported") != 0) {
				assert_string_equal(during(run.res), c->during);
				assert_int_equal(result_has_notice(run.res, "look-ahead-stays"), c->stays);
				assert_int_equal(result_has_notice(run.res, "look-ahead-unknown"), c->is_unknown);
			}
			sim_run_done(&run);
			sim_free(run.sim);
		}
}

TEST(of_what_does_not_rotate_nothing_is_told)
{
	struct sim_run run = { .sim = sim_new(), .m = &measure_seek };
	struct device_ops ops = device_sim;
	const char *text =
		"kind ssd\ncapacity_lba 8388608\nchannels 8\nread_latency_us 90\nwrite_latency_us 30\nserial AHEADTEST\n"
		"interface_mbs 500\nwrite_cache_kb 1024\n";
	cleanup_profile struct profile p = { 0 };

	MUST(profile_parse(&p, "drawn", text, strlen(text), &err));
	(void)sim_add_disk(run.sim, &p, "sda");
	ops.drive_look = played_look;
	ops.drive_set = played_set;
	sim_env(run.sim)->devices = &ops;
	drive.follows = drive.tells = drive.says_so = false;
	run.words = "--quick --time=1s --look-ahead=off --despite=look-ahead sda";
	MUST_RUN(run);
	assert_false(result_has_notice(run.res, "look-ahead-stays"));
	assert_true(result_has_notice(run.res, "look-ahead-unknown"));
	sim_run_done(&run);
	sim_free(run.sim);
}
