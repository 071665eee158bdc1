/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `check` as a whole that is made of parts: which ones, when, and how far it is. */
#include "test.h"

#include <errno.h>

#include "load.h"
#include "measure/measures.h"
#include "simrun.h"

extern const struct measure measure_check;

TEST(no_part_is_wanted_that_does_not_take_the_target)
{
	static const enum device_kind kinds[] = { DEVICE_FILE, DEVICE_DISK };
	cleanup_free void *params = calloc(1, measure_check.params_size);
	const struct common_params common = { 0 };
	struct plan plans[ARRAY_LEN(kinds)] = { 0 };
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct device dev = { .kind = kinds[i], .rotational = 1 };
		const struct session ses = { .devs = &dev, .ndevs = 1, .common = &common };

		assert_int_equal(measure_check.plan(&ses, params, &plans[i], &err), 0);
		for (size_t k = 0; k < plans[i].nphases && kinds[i] == DEVICE_FILE; k++)
			assert_true(measure_find(plans[i].phases[k].name)->takes & TAKES_FILES);
	}
	assert_true(plans[0].nphases > 2 && plans[0].nphases < plans[1].nphases);
}

struct progress {
	double done, at_burn_in_end;
	uint64_t calls;
	bool has_gone_back;
};

static void note_progress(void *arg, struct session *ses, const char *phase, double done, const char *figure)
{
	struct progress *p = arg;

	(void)ses;
	(void)figure;
	if (done < 0)
		return;
	p->calls++;
	p->has_gone_back |= done < p->done - 1e-9;
	p->done = done;
	if (strncmp(phase, "surface: writing", 16) == 0)
		p->at_burn_in_end = done;
}

/* 393 MB, written and read once each in some 45 s, then 60 s of the other parts; a sector goes bad when those begin. */
TEST(a_check_with_burn_in_says_all_the_time_how_far_it_is_and_when_what_failed)
{
	struct progress seen = { 0 };
	cleanup_run struct sim_run run = { .sim = sim_new(),
		                           .m = &measure_check,
		                           .words = "--write --destroy-data=TINY0001 --time=60s sda",
		                           .hooks = { .progress = note_progress, .arg = &seen } };
	PROFILE(p, "tiny");

	assert_int_equal(
		profile_add_bad(&p,
	                        &(struct profile_bad){
					.lba = 2000, .count = 1, .kind = BAD_READ, .revolutions = 10, .err = -EIO }),
		0);
	MUST(profile_finish(&p, &err));
	(void)sim_add_disk(run.sim, &p, "sda");
	assert_int_equal(sim_run(&run), 0);
	assert_true(seen.calls > 100 && !seen.has_gone_back);
	print_message("%.3f when all is written, %.3f at last\n", seen.at_burn_in_end, seen.done);
	assert_true(seen.at_burn_in_end > 0.01 && seen.at_burn_in_end < 0.9 && seen.done > 0.85);
	assert_true(result_fault_count(run.res) > 1);
	for (size_t i = 1; i < run.res->nfaults; i++)
		assert_true(run.res->faults[i].time_s >= run.res->faults[i - 1].time_s);
}
