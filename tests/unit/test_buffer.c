/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `buffer` on simulated disks whose truth is known, in virtual time. tools/wild buffer does it on hundreds of disks as they occur; here one of each
 * policy. PLATTER_LONG=1 for more of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "simrun.h"
#include "wild.h"

extern const struct measure measure_buffer;

#define MECHANICS                                                                                                          \
	"surfaces 2\nrpm 7200\nqueue_depth 32\noverhead_ms 0.1\nhit_overhead_ms 0.04\nseek 0.8 0.05\nhead_switch_ms 0.7\n" \
	"interface_mbs 500\nphysical_sector 4096\nserial BUFTEST1\nzone 20000 330\n"

static struct sim_run run_on(const struct profile *p, const char *words)
{
	struct sim_run run = { .sim = sim_new(), .m = &measure_buffer, .words = words };

	(void)sim_add_disk(run.sim, p, "sda");
	sim_set_contents(run.sim, false);
	return run;
}

static void parse(struct profile *p, const char *lines)
{
	struct err err = { 0 };
	char text[1000];

	(void)snprintf(text, sizeof(text), MECHANICS "%s", lines);
	if (profile_parse(p, "drawn", text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static const char *text_of(const struct sim_run *run, const char *name)
{
	const struct figure *f = result_find_figure(run->res, name);

	return f && f->value.str ? f->value.str : "none";
}

static void holds(const struct sim_run *run, const char *name, double truth, double part, const char *what)
{
	const struct figure *f = result_find_figure(run->res, name);
	double x = figure_number(f);

	if (isnan(truth) ? isfinite(x) : !(fabs(x / truth - 1) <= part && f->ci.low <= truth && truth <= f->ci.high))
		fail_msg("%s is %.9g (%.9g .. %.9g), in truth %.9g: %s", name, x, f ? f->ci.low : (double)NAN,
		         f ? f->ci.high : (double)NAN, truth, what);
}

static const struct policy {
	const char *lines;
	double segments, segment, ahead; /* NaN: must not be told */
	const char *sizing, *reads_ahead, *ends, *before;
} policies[] = {
	{ "cache_kb 8192\nsegments 16\n", 16, 524288, 520192, "fixed", "always", "when its segment is full", "no" },
	{ "cache_kb 4096\nsegments 5\npre_read yes\nread_ahead_stop command\n", 5, 835584, 831488, "fixed", "always",
	  "when its segment is full", "yes" },
	{ "cache_kb 8192\nsegments 16\nread_ahead_kb 128\n", 16, 524288, 131072, "fixed", "always",
	  "after a fixed length", "no" },
	{ "cache_kb 32768\nsegments 12\nread_ahead_reach track\n", 12, 2793472, NAN, "fixed", "always",
	  "at the end of a track", "no" },
	{ "cache_kb 8192\nsegments 16\nread_ahead no\n", 16, 524288, NAN, "fixed", "no", "none", "no" },
	{ "cache_kb 8192\nsegments 8\nread_ahead_when sequential\n", 8, 1048576, 1044480, "fixed",
	  "after reads in sequence", "when its segment is full", "no" },
	{ "cache_kb 16384\nsegments 40\ncache_sizing by-use\n", 40, NAN, 8384512, "by use", "always",
	  "when its segment is full", "no" },
	{ "cache_kb 512\nsegments 1\n", 1, 524288, 520192, "none", "always", "when its segment is full", "no" },
};

static void segments_and_sizes_are_exact_and_policies_as_they_are(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		for (int noise = WILD_NOISE_NONE; noise <= WILD_NOISE_REAL;
		     noise += WILD_NOISE_REAL - WILD_NOISE_NONE) {
			const struct policy *q = &policies[i];
			bool is_run =
				strcmp(q->ends, "none") == 0 || strstr(q->ends, "track") || strstr(q->ends, "fixed");
			struct err err = { 0 };
			struct profile p;
			struct sim_run run;

			parse(&p, q->lines);
			assert_int_equal(profile_add_noise(&p, (enum wild_noise)noise, i + 1, &err), 0);
			run = run_on(&p, "sda");
			assert_int_equal(sim_run(&run), 0);
			assert_int_equal(run.res->status, STATUS_COMPLETE);
			holds(&run, "segments", q->segments, 0, q->lines);
			holds(&run, "segment_bytes", q->segment, is_run ? 0.05 : 0, q->lines);
			holds(&run, "buffer_bytes",
			      strcmp(q->sizing, "fixed") == 0  ? q->segments * q->segment
			      : strcmp(q->sizing, "none") == 0 ? (double)NAN
			                                       : 16384 * 1024,
			      0.1, q->lines);
			holds(&run, "read_ahead_bytes", q->ahead, 0, q->lines);
			holds(&run, "interface_bytes_per_s", 500e6, 0.1, q->lines);
			assert_string_equal(text_of(&run, "sizing"), q->sizing);
			assert_string_equal(text_of(&run, "reads_ahead"), q->reads_ahead);
			assert_string_equal(text_of(&run, "read_ahead_ends"), q->ends);
			assert_string_equal(text_of(&run, "keeps_before"), q->before);
			sim_run_end(&run);
			profile_done(&p);
		}
}

/* Flat devices, and disks that keep nothing: no figure at all. Wild disks of all kinds: no number of segments that is wrong. */
static void of_flat_devices_nothing_is_told_and_of_others_nothing_false(void **state)
{
	static const char *const classes[] = { "ssd", "cloud", "thin", NULL };
	uint64_t n = getenv("PLATTER_LONG") ? 200 : 8;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (uint64_t seed = 1001; seed <= 1000 + (classes[i] ? 3 : n); seed++) {
			struct profile p;
			struct err err = { 0 };
			struct sim_run run;
			double told;

			assert_int_equal(profile_wild(&p, seed, classes[i], &err), 0);
			run = run_on(&p, "sda");
			assert_int_equal(sim_run(&run), 0);
			told = sim_figure(&run, "segments");
			assert_true(isnan(told) || (p.kind == DISK_ROTATING && told == p.segments));
			if (p.kind != DISK_ROTATING)
				assert_int_equal(run.res->nfigures, 0);
			sim_run_end(&run);
			profile_done(&p);
		}
}

static void a_disk_that_keeps_nothing_is_told_so(void **state)
{
	struct profile p;
	struct sim_run run;

	(void)state;
	parse(&p, "cache_kb 0\n");
	run = run_on(&p, "sda");
	assert_int_equal(sim_run(&run), 0);
	assert_true(result_has_notice(run.res, "nothing-kept"));
	assert_int_equal(run.res->nfigures, 0);
	sim_run_end(&run);
	profile_done(&p);
}

static void send_signal(void *number)
{
	atomic_store((atomic_int *)number, SIGINT);
}

static void a_signal_keeps_what_was_measured_and_the_same_samples_give_the_same_again(void **state)
{
	static const char *const names[] = { "segments",        "segment_bytes", "buffer_bytes",
		                             "sizing",          "reads_ahead",   "read_ahead_bytes",
		                             "read_ahead_ends", "keeps_before",  "interface_bytes_per_s" };

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct result *again = result_new("buffer");
		atomic_int number = 0;
		struct err err = { 0 };
		struct profile p;
		struct sim_run run;

		parse(&p, policies[0].lines);
		run = run_on(&p, "sda");
		run.cancel = &number;
		if (k)
			sim_at(run.sim, 5 * NS_PER_S, send_signal, &number);
		assert_int_equal(sim_run(&run), 0);
		assert_int_equal(run.res->status, k ? STATUS_CANCELLED : STATUS_COMPLETE);
		assert_int_equal(measure_buffer.again(run.res, again, &err), 0);
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			assert_true(figure_equals(result_find_figure(run.res, names[i]),
			                          result_find_figure(again, names[i])));
		result_free(again);
		sim_run_end(&run);
		profile_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_and_sizes_are_exact_and_policies_as_they_are),
		cmocka_unit_test(of_flat_devices_nothing_is_told_and_of_others_nothing_false),
		cmocka_unit_test(a_disk_that_keeps_nothing_is_told_so),
		cmocka_unit_test(a_signal_keeps_what_was_measured_and_the_same_samples_give_the_same_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
