/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `seek` where the kernel's scheduler sorts in front of a drive with a short queue: what that gains is not the drive's.
 */
#include "test.h"

#include "load.h"
#include "seekrun.h"

static struct sim_run seek_on(const struct profile *p, const char *words, const char *scheduler)
{
	struct sim *sim = sim_new();

	sim_set_scheduler(sim_add_disk(sim, p, "sda"), scheduler);
	return run_on(sim, words);
}

TEST(what_a_scheduler_gains_is_not_said_to_be_the_drives)
{
	static const struct {
		uint32_t depth;
		const char *scheduler, *says;
		double least, most; /* gain at 32 */
	} cases[] = {
		{ 1, "none", "expect no gain", 0.95, 1.05 },
		{ 1, "mq-deadline", "scheduler, mq-deadline,", 1.3, 4.0 },
		{ 4, "mq-deadline", "beyond that depth", 1.3, 4.0 },
		{ 4, "none", "", 1.05, 4.0 },
		{ 32, "mq-deadline", "", 1.3, 4.0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_run run;
		const char *text;
		PROFILE(p, "modern-4tb");

		p.ctl.queue_depth = cases[i].depth;
		MUST(profile_finish(&p, &err));
		run = seek_on(&p, "--count=40 --without=curve sda", cases[i].scheduler);
		text = notice_of(&run, "queue-order");
		print_message("depth %u, %s: gain %.2f; %s\n", cases[i].depth, cases[i].scheduler,
		              sim_figure(&run, "queue_gain_ratio"), text);
		assert_true(sim_figure(&run, "queue_gain_ratio") > cases[i].least);
		assert_true(sim_figure(&run, "queue_gain_ratio") < cases[i].most);
		assert_int_equal(result_has_notice(run.res, "queue-order"), cases[i].says[0] != 0);
		assert_non_null(strstr(text, cases[i].says));
		sim_run_end(&run);
	}
}
