/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is this disk fit to keep? A composition: measurements of the table in measures.c by turns, each with a part of the
 * time, their documents in one, and the rules of verdict/ over all of it. It measures nothing of its own; with --write
 * a part writes.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/measures.h"
#include "verdict/verdict.h"

#define CHECK_TIME_NS (300 * NS_PER_S)
#define READS_SHARE   0.98 /* of the time: requests in flight at its end come later */

/* ---- the parts: measurements, in their order, name NULL ends them ---- */

struct check_part {
	const char *name, *words;         /* of the measurement; its options */
	double share;                     /* of the time, at most; 0: what the others leave */
	bool is_for_rotating, is_writing; /* the latter: with --write alone, without a limit of time */
};

/*
 * Shares are a choice: five minutes give each of the first what its short run takes on a usual disk, and the sample of
 * the surface, which finds most, the rest.
 */
static const struct check_part check_parts[] = {
	{ "surface", "--write", 0.0, false, .is_writing = true },
	{ "zones", "--quick", 0.10, false },
	{ "seek", "--quick", 0.08, true },
	{ "transactions", "--ios=1", 0.12, false },
	{ "buffer", "", 0.05, true },
	{ "smr", "", 0.02, true },
	{ "surface", "--sample --without=files", 0.0, false },
	{ .name = NULL },
};

/* Is it one for this disk? */
static bool check_wants(const struct check_part *p, const struct device *dev, bool writes)
{
	bool takes_it = dev->kind != DEVICE_FILE || measure_find(p->name)->takes & TAKES_FILES;

	return takes_it && (p->is_writing ? writes : !p->is_for_rotating || dev->rotational != 0);
}

/* What it may take of so much for all, where so much is left. */
static uint64_t check_budget(const struct check_part *p, const struct device *dev, uint64_t all_ns, uint64_t left_ns)
{
	double rest = 1.0, ns = READS_SHARE * (double)all_ns;

	if (p->is_writing)
		return 0;
	for (const struct check_part *o = check_parts; o->name; o++)
		rest -= check_wants(o, dev, false) ? o->share : 0.0;
	ns *= p->share > 0.0 ? p->share : rest;
	if (p->share <= 0.0 && p[1].name == NULL) /* the last has also what others did not need */
		ns = (double)left_ns - (1.0 - READS_SHARE) * (double)all_ns;
	return ns < (double)left_ns ? (uint64_t)(ns > 0.0 ? ns : 0.0) : left_ns;
}

/* ---- options and plan ---- */

struct check_params {
	bool write, resume;
	const char *state;
	const char *history; /* for cli/execute.c */
};

static const struct opt check_opts[] = {
	OPT_FLAG(struct check_params, write, "write", 'w',
	         "burn-in first: write all of it, read it back and verify it: destroys data (see --destroy-data)"),
	OPT_STR(struct check_params, state, "state", 0, "FILE", NULL,
	        "keep in this file how far --write came, once a minute", .writes = OUTFILE_STATE),
	OPT_FLAG(struct check_params, resume, "resume", 0, "go on where --state says", .is_aside = true),
	OPT_STR(struct check_params, history, "history", 0, "DIR", "/var/lib/platter",
	        "earlier documents of the same disk: what has become worse is a reason", .reads = true,
	        .is_aside = true),
	OPT_END,
};

static uint64_t time_of(const struct session *ses)
{
	return ses->common->time_ns ? ses->common->time_ns : CHECK_TIME_NS;
}

/* Written once and read once. */
static uint64_t burn_ns(const struct session *ses)
{
	return plan_guess_ns(2 * ses->devs[0].size_bytes);
}

static int check_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct check_params *own = params;
	uint64_t all_ns = time_of(ses);

	if (own->state && !own->write)
		return err_set(err, -EINVAL, "--state is of a burn-in; give --write, or leave it out.");
	if (own->resume && !own->state)
		return err_set(err, -EINVAL, "--resume needs a file with the progress of --write; give --state=FILE.");
	for (const struct check_part *p = check_parts; p->name; p++)
		if (check_wants(p, &ses->devs[0], own->write))
			plan_phase(plan, p->is_writing ? "surface --write" : p->name,
			           p->is_writing ? burn_ns(ses) : check_budget(p, &ses->devs[0], all_ns, all_ns));
	plan->read_bytes = UINT64_MAX;
	plan->writes = own->write ? WRITE_DESTROY : WRITE_NONE;
	plan->write_bytes = own->write ? UINT64_MAX : 0;
	plan->is_direct = plan->lasts = true;
	plan->is_latency = true;
	return 0;
}

/* ---- documents in one ---- */

static void judge(struct session *ses, struct result *res)
{
	(void)ses;
	verdict_conclude(res);
}

static struct result *copy_of(const struct result *res)
{
	cleanup_free char *text = result_to_json(res);
	struct result *copy = NULL;

	return text && result_from_json(&copy, text, strlen(text), NULL) == 0 ? copy : NULL;
}

/* What a part has so far goes into a copy, as the part goes on. */
static void save(struct session *ses, const struct result *part)
{
	struct result *whole = ses->res, *both = copy_of(whole), *some = both ? copy_of(part) : NULL;

	if (some) {
		result_join(both, some, 0.0);
		judge(ses, both);
		ses->res = both;
		session_checkpoint(ses);
		ses->res = whole;
	}
	result_free(both);
}

/* ---- the run ---- */

/* reads_ns: since when it reads, as the time is that of the parts which do; burn: the share of the burn-in. */
static int run_part(struct session *ses, const struct check_params *own, const struct check_part *p, uint64_t reads_ns,
                    double burn, struct err *err)
{
	cleanup_free char *state = NULL;
	uint64_t now_ns = clock_now_ns(ses->env->clk), all_ns = time_of(ses), spent_ns = now_ns - reads_ns;
	uint64_t left_ns = spent_ns < all_ns ? all_ns - spent_ns : 0;
	uint64_t time_ns = check_budget(p, &ses->devs[0], all_ns, left_ns);
	double from = burn + (1.0 - burn) * (double)spent_ns / (double)all_ns;
	struct session_part part = {
		.measure = measure_find(p->name),
		.words = p->words,
		.time_ns = time_ns,
		.index = (unsigned)(p - check_parts),
		.from = p->is_writing ? 0.0 : from,
		.to = p->is_writing ? burn : from + (1.0 - burn) * (double)time_ns / (double)all_ns,
		.save = save,
	};
	struct result *doc = NULL;
	struct err why = { 0 };
	int r;

	if (!part.time_ns && !p->is_writing) {
		session_ended_early(ses);
		return 0;
	}
	if (p->is_writing && own->state) {
		(void)xmust(asprintf(&state, "--state=%s", own->state) < 0 ? NULL : state);
		part.whole = state;
		part.words = own->resume ? "--write --resume" : p->words;
	}
	r = session_run_part(ses, &part, &doc, &why);
	if (r < 0)
		result_notice(ses->res, "part-left-out", "%s was not measured: %s", p->name, why.text);
	/* Parts have their time of the whole; what takes all that is left reads on until then. */
	if (doc && doc->status == STATUS_ENDED_EARLY && ses->common->time_ns && p->share > 0.0)
		session_ended_early(ses);
	if (doc)
		result_join(ses->res, doc, (double)(now_ns - ses->start_ns) * 1e-9);
	session_checkpoint(ses);
	return r == 0 || (r == -EINVAL && !p->is_writing) ? 0 : err_set(err, r, "%s", why.text);
}

static int check_run(struct session *ses, const void *params, struct err *err)
{
	const struct check_params *own = params;
	double all_ns = (double)time_of(ses), writes_ns = own->write ? (double)burn_ns(ses) : 0.0;
	uint64_t reads_ns = ses->start_ns;
	size_t wanted = 0, done = 0;
	struct err first = { 0 };
	int r = 0;

	for (const struct check_part *p = check_parts; p->name && !session_is_over(ses); p++) {
		struct err why = { 0 };

		if (!check_wants(p, &ses->devs[0], own->write))
			continue;
		wanted++;
		r = run_part(ses, own, p, reads_ns, writes_ns / (writes_ns + all_ns), &why);
		done += r == 0;
		reads_ns = p->is_writing ? clock_now_ns(ses->env->clk) : reads_ns;
		if (r < 0 && !first.code)
			first = why;
		if (r < 0 && p->is_writing)
			return err_set(err, r, "%s", why.text);
	}
	return done || !wanted || session_is_over(ses) ? 0 : err_set(err, first.code, "%s", first.text);
}

static const struct screen_decl check_screen = {
	.shows =
		"#reasons,#health,start_bytes_per_s,middle_bytes_per_s,end_bytes_per_s,random_access_mean_ns,average_seek_ns,scanned_bytes,scanned_ratio,bad_places_ratio",
	.says =
		(const struct clause[]){
			{ "{verdict}" },
			{ "{verdict_why}" },
			{ "{scanned_bytes@scanned_ratio} read at {sampled_places:random place}" },
			{ NULL },
		},
};

const struct measure measure_check = {
	.name = "check",
	.help = "is this disk fit to keep: all of it in five minutes",
	.group = GROUP_DISK,
	.targets = "DEVICE...",
	.max_targets = 64,
	.takes = TAKES_DISKS | TAKES_FILES,
	.is_each_alone = true,
	.opts = check_opts,
	.params_size = sizeof(struct check_params),
	.takes_all_errors = true,
	.judges = true,
	.plan = check_plan,
	.run = check_run,
	.conclude = judge,
	.screen = &check_screen,
	.tables = NULL,
};
