/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `seek` past a drive's cache that does not forget: by FUA where it is obeyed, and by what was never read where it is
 * not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "load.h"
#include "rows.h"
#include "seekrun.h"

static struct sim_run seek_on(const struct profile *p, const char *words, enum sim_verify commands)
{
	struct sim *sim = sim_new();

	(void)sim_add_disk(sim, p, "sda");
	sim_set_verify(sim, commands);
	return run_on(sim, words);
}

/* More pieces than the search counts blocks, and more bytes than it reads elsewhere in any run. */
static void load_with_large_cache(struct profile *p)
{
	struct err err;

	load(p, "modern-4tb");
	p->cache_sizing = CACHE_BY_USE;
	p->cache_bytes = 2ull << 30;
	p->segments = 4096;
	assert_int_equal(profile_finish(p, &err), 0);
}

static void assert_rpm(const struct sim_run *run, double rpm, double within)
{
	const struct figure *f = result_find_figure(run->res, "rotation_rpm");

	assert_non_null(f);
	assert_true(fabs(sim_figure(run, "rotation_rpm") / rpm - 1.0) < within);
	assert_true(f->ci.high - f->ci.low < 2.0 * within * rpm);
}

static void fua_passes_a_cache_by_that_does_not_forget(void **state)
{
	struct profile p;
	struct sim_run run;
	const struct table *t;

	(void)state;
	load_with_large_cache(&p);
	run = seek_on(&p, "--quick sda", SIM_VERIFY_TRUE);
	assert_non_null(strstr(notice_of(&run, "past-cache"), "FUA"));
	assert_rpm(&run, p.rpm, 30e-6);
	assert_false(result_has_notice(run.res, "cache-holds"));
	assert_true(run.res->status == STATUS_COMPLETE || run.res->status == STATUS_ENDED_EARLY);
	t = result_find_table(run.res, "spans");
	assert_non_null(t);
	for (size_t i = 0; i < t->nrows; i++) /* what the cache has of them is read again */
		assert_true(number(t, i, "mean_ns") > 4e6);
	profile_done(&p);
	sim_run_end(&run);
}

static void without_fua_the_rotation_is_from_what_was_never_read(void **state)
{
	(void)state;
	for (int is_answered = 0; is_answered < 2; is_answered++) {
		struct profile p;
		struct sim_run run;

		load_with_large_cache(&p);
		p.fua_reads = is_answered ? FUA_READS_BUFFER : FUA_READS_MEDIA;
		run = seek_on(&p, "--quick sda", is_answered ? SIM_VERIFY_TRUE : SIM_VERIFY_UNKNOWN);
		assert_non_null(strstr(notice_of(&run, "past-cache"), "read once only"));
		assert_rpm(&run, p.rpm, 60e-6);
		assert_false(result_has_notice(run.res, "cache-holds"));
		assert_int_equal(run.res->status, STATUS_COMPLETE); /* FUA that is not known is no fault */
		profile_done(&p);
		sim_run_end(&run);
	}
}

/* A track is in the cache as soon as one of its sectors was read: the ones before, too. */
static void a_cache_that_hides_all_is_still_told(void **state)
{
	struct profile p;
	struct sim_run run;

	(void)state;
	load_with_large_cache(&p);
	p.fua_reads = FUA_READS_BUFFER;
	p.is_pre_read = true;
	run = seek_on(&p, "--quick --without=curve,queue sda", SIM_VERIFY_TRUE);
	assert_true(isnan(sim_figure(&run, "rotation_rpm")));
	assert_true(result_has_notice(run.res, "cache-holds"));
	assert_false(result_has_notice(run.res, "past-cache"));
	profile_done(&p);
	sim_run_end(&run);
}

/* Blocks elsewhere are enough there: FUA is not looked for. */
static void a_small_cache_forgets(void **state)
{
	struct profile p;
	struct sim_run run;

	(void)state;
	load(&p, "ibm-deskstar-60gxp");
	p.segments = 16;
	run = seek_on(&p, "--quick --without=curve,queue sda", SIM_VERIFY_TRUE);
	assert_non_null(strstr(notice_of(&run, "past-cache"), "forgot"));
	profile_done(&p);
	sim_run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fua_passes_a_cache_by_that_does_not_forget),
		cmocka_unit_test(without_fua_the_rotation_is_from_what_was_never_read),
		cmocka_unit_test(a_cache_that_hides_all_is_still_told),
		cmocka_unit_test(a_small_cache_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
