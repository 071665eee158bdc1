/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a disk keeps its rate up, and what rest brings back. Requests go until the rate has settled (analyse.c),
 * then the disk rests, each time for longer, and is asked again; the last rest is repeated with requests of another
 * size (cause.c). Published tests write an SSD from end to end without asking what a rest brings back; SNIA's PTS asks
 * when the rate is steady, and for that alone.
 */
#include <math.h>
#include <stdlib.h>

#include "measure/shared/timed.h"
#include "measure/sustain/sustain.h"

#define LOOK_FIRST_S 5.0
#define LOOK_GROWS   0.25 /* of the time so far: looks are stops, so they are few */
#define AGAIN_S      5.0
#define STEP_S       1.0 /* behind a rest */
#define STEP_GROWS   0.5
#define RESTS_S      900.0
#define RESTS_MORE   1.25 /* times as long as so far, where they take longer */

struct run {
	struct sustain_io io;
	struct sustain_series s;
	struct sustain_states f;
	struct sustain_rests rests;
};

static void report(void *arg)
{
	struct run *run = arg;
	struct sustain_found found;

	if (!sustain_states(&run->s, &run->f))
		return;
	sustain_find_cause(&run->f, &run->rests, &found);
	sustain_report_rows(run->io.l.ses->res, &run->s, &run->rests);
	sustain_report_figures(run->io.l.ses->res, &run->f, &found, true);
}

/* Of the run, in which rests take a quarter of an hour mostly. */
static double done(const struct run *run, double settles_s)
{
	const struct session *ses = run->io.l.ses;
	double now_s = (double)(clock_now_ns(ses->env->clk) - ses->start_ns) * 1e-9;
	bool has_burst = run->f.n == 0 || run->f.burst < run->f.n;

	return fmin(0.98, now_s / (fmax(settles_s, run->s.time_s) +
	                           (has_burst ? fmax(RESTS_S, RESTS_MORE * (now_s - run->s.time_s)) : 0)));
}

/* Where it began, at once: is it the place that is fast? Reads in sequence are asked. */
static int again(struct run *run, struct err *err)
{
	const struct sustain_state *b = &run->f.v[run->f.burst];
	const struct sustain_order o = { "where it began",
		                         (uint64_t)(fmin(AGAIN_S, (b->to_s - b->from_s) / 2) * 1e9),
		                         sustain_block(run->io.p),
		                         0,
		                         done(run, 0),
		                         0 };
	struct sustain_series s;
	uint64_t at = run->io.at;
	int r;

	if (run->io.p->write || run->io.l.file || run->io.p->random)
		return 0;
	sustain_series_init(&s, false);
	run->rests.again_bytes_per_s = 0;
	run->io.at = 0;
	for (size_t k = 0; k < run->f.burst; k++)
		run->io.at += (uint64_t)run->f.v[k].bytes;
	r = sustain_load(&run->io, &o, &s, err);
	run->io.at = at;
	for (size_t i = 0; i < s.n; i++)
		run->rests.again_bytes_per_s += (double)s.v[i].bytes / s.time_s;
	sustain_series_done(&s);
	return r;
}

static int until_settled(struct run *run, struct err *err)
{
	uint64_t span = run->io.end_bytes - run->io.first_bytes;
	int r = 0;

	while (r == 0 && !lasting_is_over(&run->io.l) && run->s.time_s < SUSTAIN_MOST_S &&
	       !sustain_is_settled(&run->f)) {
		const double until_s = sustain_settles_s(&run->f);
		const struct sustain_order o = {
			.phase = "until it has settled",
			.ns = (uint64_t)(fmax(LOOK_FIRST_S, LOOK_GROWS * run->s.time_s) * 1e9),
			.block_bytes = sustain_block(run->io.p),
			.done = done(run, until_s),
			.until_s = until_s,
		};

		r = sustain_load(&run->io, &o, &run->s, err);
		(void)sustain_states(&run->s, &run->f);
		/* a second pass would show once more what lies in the place */
		if (r == 0 && run->io.at == span && run->f.burst < run->f.n && !lasting_is_over(&run->io.l))
			r = again(run, err);
		if (run->io.at == span && run->f.burst < run->f.n && sustain_lies_in_place(&run->f, &run->rests))
			break;
	}
	return r;
}

/* One rest, and what is fast behind it, until it is slow again. */
static int rest(struct run *run, const struct sustain_rest *next, struct err *err)
{
	struct sustain_rest *to = &run->rests.v[run->rests.n];
	struct sustain_series s;
	bool is_done = false;
	int r = 0;

	sustain_series_init(&s, false);
	*to = *next;
	timed_rest(run->io.l.ses, next->rest_ns);
	while (r == 0 && !is_done && !lasting_is_over(&run->io.l)) {
		const struct sustain_order o = { "after a rest",
			                         (uint64_t)(fmax(STEP_S, STEP_GROWS * s.time_s) * 1e9),
			                         (uint32_t)next->block_bytes,
			                         fmax(next->asked_bytes_per_s, 0),
			                         done(run, 0),
			                         0 };

		r = sustain_load(&run->io, &o, &s, err);
		is_done = sustain_rest_found(&s, &run->f, to);
	}
	run->rests.n += is_done;
	sustain_series_done(&s);
	return r;
}

static int rest_and_see(struct run *run, struct err *err)
{
	struct sustain_rest next = { .block_bytes = sustain_block(run->io.p) };
	int r = again(run, err);

	while (r == 0 && !sustain_lies_in_place(&run->f, &run->rests) && !lasting_is_over(&run->io.l) &&
	       sustain_next_rest(&run->f, &run->rests, sustain_other_block(run->io.p, run->f.v[run->f.burst].requests),
	                         &next))
		r = rest(run, &next, err);
	return r;
}

static int sustain_run(struct session *ses, const void *params, struct err *err)
{
	const struct sustain_params *p = params;
	struct run run = { .io = { .p = p, .saves = report, .arg = &run }, .rests.again_bytes_per_s = NAN };
	uint32_t block = sustain_block(p), other = sustain_other_block(p, INFINITY);
	const struct engine_config cfg = { .depth = (uint32_t)p->depth, .buf_bytes = block > other ? block : other };
	int r = lasting_range(&ses->devs[0], p->range, SUSTAIN_FILE_BYTES, block, &run.io.first_bytes,
	                      &run.io.end_bytes, err);

	if (r < 0)
		return r;
	sustain_series_init(&run.s, true);
	r = lasting_open(&run.io.l, ses, &cfg, run.io.end_bytes, err) ?: until_settled(&run, err);
	if (r == 0 && sustain_is_settled(&run.f) && run.f.burst < run.f.n)
		r = rest_and_see(&run, err);
	report(&run);
	if (!result_find_figure(ses->res, "limited_by"))
		ses->res->verdict_is_open = true;
	else if (ses->res->verdict_is_open && run.rests.n)
		result_notice(
			ses->res, "cause-unknown",
			"What rests brought back of %s does not show what limits it; repeat with another --block, or "
			"with more --time.",
			ses->devs[0].path);
	if (ses->res->verdict_is_open && session_time_left_ns(ses) == 0)
		session_ended_early(ses);
	lasting_close(&run.io.l);
	sustain_series_done(&run.s);
	session_checkpoint(ses);
	return r;
}

static const struct screen_decl sustain_screen = {
	.shows =
		"burst_bytes_per_s,burst_bytes,burst_s,burst_requests,second_bytes_per_s,second_bytes,settled_bytes_per_s,last_bytes_per_s,minute_of_rest_bytes,limited_by,burst_worst_second_bytes_per_s,settled_worst_second_bytes_per_s,burst_p999_ns,settled_p999_ns,pts_steady_s,#states,#rests",
	.says =
		(const struct clause[]){
			{ "{burst_bytes_per_s} for {burst_bytes} ({burst_s}), {second_bytes_per_s} for {second_bytes}, then {settled_bytes_per_s}" },
			{ "{burst_bytes_per_s} for {burst_bytes} ({burst_s}, {burst_requests:request}), then {settled_bytes_per_s}",
	                  .instead_of = 1 },
			{ "{burst_bytes_per_s} for {burst_bytes} ({burst_s}); not settled after {measured_s}",
	                  .instead_of = 2 },
			{ "{settled_bytes_per_s} from the first second on, over {measured_s}", .instead_of = 3 },
			{ "{last_bytes_per_s} over the last {last_s}; whether that has settled shows after 35 minutes",
	                  .is_open = true, .instead_of = 4 },
			{ "a minute of rest brings back {minute_of_rest_bytes}" },
			{ "limited by {limited_by}" },
			{ "cannot tell what limits it", .because = "cause-unknown" },
			{ NULL },
		},
};

const struct measure measure_sustain = {
	.name = "sustain",
	.help = "how long it keeps its rate up, and what rest brings back",
	.group = GROUP_DISK,
	.targets = "DEVICE|DIRECTORY|FILE",
	.takes = TAKES_DISKS | TAKES_FILES | TAKES_FOLDERS,
	.opts = sustain_opts,
	.params_size = sizeof(struct sustain_params),
	.plan = sustain_plan,
	.run = sustain_run,
	.again = sustain_again,
	.screen = &sustain_screen,
	.tables = sustain_tables,
};
