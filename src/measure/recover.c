/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an interrupted --rewrite of any command left in its journal is put back. Measures nothing. */
#include "measure/shared/rewrite.h"

#define BUFFER_BYTES (1u << 20)

struct recover_params {
	const char *journal;
};

static const struct opt recover_opts[] = {
	OPT_STR(struct recover_params, journal, "journal", 0, "DIR", "/var/lib/platter",
	        "where --rewrite kept the blocks in work"),
	OPT_END,
};

static int recover_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	const struct recover_params *p = params;

	(void)err;
	for (size_t i = 0; i < ses->ndevs; i++)
		if (rewrite_is_left(p->journal, &ses->devs[i]))
			ret_plan->writes = WRITE_SAME;
	plan_phase(ret_plan, "recovery", NS_PER_S);
	return 0;
}

static int recover_run(struct session *ses, const void *params, struct err *err)
{
	const struct recover_params *p = params;
	const struct engine_config cfg = { .depth = 1, .buf_bytes = BUFFER_BYTES };
	struct engine *eng = NULL;
	int all = 0;

	for (size_t i = 0; ses->plan->writes == WRITE_NONE && i < ses->ndevs; i++)
		rewrite_say_nothing(ses, i, p->journal);
	if (ses->plan->writes != WRITE_NONE)
		all = session_engine(ses, &cfg, &eng, err);

	for (size_t i = 0; eng && i < ses->ndevs; i++) { /* one that fails keeps none from the others */
		struct rewrite_journal *j = NULL;
		struct err why = { 0 };
		int r = rewrite_start(&j, ses, i, eng, p->journal, true, &why);

		rewrite_close(j);
		if (r < 0 && all == 0)
			all = err_set(err, r, "%s", why.text);
		else if (r < 0)
			result_notice(ses->res, "not-recovered", "%s", why.text);
	}
	engine_close(eng);
	return all;
}

const struct measure measure_recover = {
	.name = "recover",
	.help = "put back what an interrupted --rewrite left",
	.group = GROUP_DEVICE,
	.targets = "TARGET...",
	.max_targets = 64,
	.takes = TAKES_DISKS | TAKES_FILES,
	.puts_back = true,
	.opts = recover_opts,
	.params_size = sizeof(struct recover_params),
	.plan = recover_plan,
	.run = recover_run,
};
