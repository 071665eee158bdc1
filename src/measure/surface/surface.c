/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads every block of a disk, looks at the time of each request, and finds out what slow and unreadable places are.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "hosts/hosts.h"
#include "measure/shared/rewrite.h"
#include "measure/surface/surface.h"

#define DEAF_MOST 0.01 /* of what was read: rarer than that, what hides is rare */

static void declare_plots(struct result *res)
{
	result_plot(
		res,
		&(struct plot_decl){
			.name = "cells",
			.see = "Row by row from the start of the disk, each cell by its longest request: a strong one was fought for, or failed.",
			.kind = "heatmap",
			.title = "The surface",
			.table = "map",
			.x = "column",
			.y = "row,shown_ns" });
	result_plot(
		res,
		&(struct plot_decl){
			.name = "rate",
			.see = "The rate falls in steps from the outer tracks to the inner ones; dips and marks are places that took longer.",
			.kind = "line",
			.title = "Rate by place",
			.table = "map",
			.x = "first_byte",
			.y = "rate_bytes_per_s",
			.marks = "slow:offset_bytes" });
	result_plot(
		res,
		&(struct plot_decl){
			.name = "worst",
			.see = "A sound disk is even; a place one revolution above its neighbours was read twice, one far above was fought for.",
			.kind = "step",
			.title = "Longest request by place",
			.table = "map",
			.x = "first_byte",
			.y = "worst_ns" });
	result_plot(
		res,
		&(struct plot_decl){
			.name = "lost",
			.see = "A sound disk stays near zero; revolutions that pile up at a place are retries of its sectors.",
			.kind = "step",
			.title = "Revolutions lost by place",
			.table = "map",
			.x = "first_byte",
			.y = "revolutions_lost" });
}

static void declare_head_plots(struct result *res)
{
	result_plot(
		res,
		&(struct plot_decl){
			.name = "heads",
			.see = "Heads of a sound disk lose about as much as each other; one that stands out is going, or its surface is.",
			.kind = "bars",
			.title = "Revolutions lost by head",
			.table = "by_head",
			.x = "surface",
			.y = "revolutions_lost",
			.low = "low",
			.high = "high" });
	result_plot(
		res,
		&(struct plot_decl){
			.name = "heads-places",
			.see = "A bad head loses all over the disk; a line that rises at one place only is damage there.",
			.kind = "line",
			.title = "Revolutions lost by head and place",
			.table = "by_head_place",
			.x = "first_byte",
			.y = "revolutions_lost",
			.series = "surface" });
}

static int run_init(struct surface_run *run, struct err *err)
{
	struct session *ses = run->ses;
	struct engine_config cfg = { .depth = (uint32_t)run->p->depth, .one_by_one = true };
	int r = surface_range(&ses->devs[0], run->p, &run->range, err);

	if (r < 0)
		return r;
	cfg.buf_bytes = 2 * run->range.block_bytes;
	r = session_engine(ses, &cfg, &run->eng, err);
	if (r < 0)
		return r;
	run->position = run->range.first_bytes;
	run->timed = (struct timed){ .ses = ses,
		                     .eng = run->eng,
		                     .target = &ses->targets[0],
		                     .block_bytes = run->range.unit_bytes,
		                     .step_bytes = run->range.unit_bytes,
		                     .manners = &run->manners };
	run->manners = surface_manners(run);
	session_rng(ses, 0, &run->timed.rng);
	run->is_tuned = run->p->block_bytes != 0;
	run->start_ns = surface_now(run);
	run->buffer_ns = -1.0;
	r = surface_heads_open(run, err);
	if (r == 0 && run->p->rewrite)
		r = rewrite_start(&run->journal, ses, 0, run->eng, run->p->journal, false, err);
	if (r == 0)
		r = surface_lists_prepare(run, err);
	if (r == 0)
		r = surface_state_load(run, err);
	run->is_scanned = run->position == run->range.end_bytes;
	run->portions++;
	if (r == 0)
		r = surface_learn_rotation(run, err);
	if (r == 0)
		r = surface_find_bound(run, err);
	return r == 0 && run->p->verify ? surface_verifier_open(run, err) : r;
}

static bool is_unfinished(const struct surface_run *run)
{
	return run->position < run->range.end_bytes || run->nactive;
}

static void say(const struct surface_run *run)
{
	struct result *res = run->ses->res;

	if (is_unfinished(run))
		result_notice(res, "unfinished", "%" PRIu64 " of %" PRIu64 " bytes are still to be scanned%s.",
		              run->range.end_bytes - run->position, run->range.end_bytes - run->range.first_bytes,
		              run->p->state ? "; --resume goes on" : "");

	if ((double)run->deaf_bytes > DEAF_MOST * (double)run->scan_bytes)
		result_notice(
			res, "insensitive",
			"In %.0f %% of what was read the times of requests to %s vary so much that a revolution lost is not told "
			"from that: weak places may be missing. Stop what else runs on this machine, and repeat.",
			100.0 * (double)run->deaf_bytes / (double)run->scan_bytes, run->ses->devs[0].path);
	if ((double)run->bound_batches > DEAF_MOST * (double)run->batches)
		result_notice(
			res, "buffered",
			"In %.0f %% of what was read %s is as fast as what it is connected by, which its buffer keeps busy while a "
			"revolution is lost: weak places may be missing. Connect it otherwise, or try --verify-command.",
			100.0 * (double)run->bound_batches / (double)run->batches, run->ses->devs[0].path);
	if (run->ses->devs[0].rotational == 1 && !run->rot.is_rotating)
		result_notice(
			res, "insensitive",
			"%s calls itself rotating, but no rotation was found: what takes less than %.1f ms longer than expected "
			"is not told, and weak places may be missing. See platter-geometry(8) for what it says of the rotation.",
			run->ses->devs[0].path, SURFACE_LEAST_OVER_NS * 1e-6);
	if (run->nkinds[SURFACE_UNCHECKED])
		result_notice(res, "unchecked",
		              "There was no time to read all slow places again: %" PRIu64
		              " were not; scan this part alone (--from, --to) to have them told.",
		              run->nkinds[SURFACE_UNCHECKED]);
}

static int surface_run(struct session *ses, const void *params, struct err *err)
{
	struct surface_run *run = calloc(1, sizeof(*run));
	int r;

	if (!run)
		return err_set(err, -ENOMEM, "Out of memory.");
	run->ses = ses;
	run->p = params;
	r = run_init(run, err);
	if (r == 0)
		declare_plots(ses->res);
	if (r == 0 && run->heads)
		declare_head_plots(ses->res);
	while (r == 0 && !surface_is_over(run) && is_unfinished(run)) {
		r = surface_scan_leg(run, err);
		if (r == 0 && !session_is_over(ses) &&
		    (run->position == run->range.end_bytes || surface_wants_again(run)))
			r = surface_again(run, err);
		surface_tell(run);
		session_checkpoint(ses);
		if (r == 0)
			r = surface_state_save(run, true, err);
	}
	if (r == 0 &&
	    !run->scan_ns) { /* others used the disk all the time, or the search of the rotation took it all */
		surface_tell(run);
		r = surface_state_save(run, true, err);
	}
	if (run->eng)
		say(run);
	surface_heads_say(run);
	if (r == 0 && run->journal && !is_unfinished(run) && !session_is_over(ses))
		r = surface_refresh(run, run->journal, &surface_tables[SURFACE_TABLE_REFRESH], err);
	if (r == 0)
		r = surface_contents(run, &surface_tables[SURFACE_TABLE_CONTENTS], err);
	if (r == 0)
		r = surface_lists_save(run, err);
	rewrite_close(run->journal);
	engine_close(run->eng);
	engine_close(run->verifier);
	surface_heads_close(run);
	free(run);
	return r;
}

static const struct screen_decl surface_screen = {
	.shows =
		"scanned_bytes,rate_bytes_per_s,unreadable_places,always_places,sometimes_places,passing_places,once_places,healed_places,pending_places,unchecked_places,revolutions_lost_per_gb,bad_head,worst_ns,files_hit,#by_head,#slow,#contents,#classes",
	.says =
		(const struct clause[]){
			{ "{scanned_bytes} read at {rate_bytes_per_s}" },
			{ "{unreadable_places:unreadable place}", .if_any = "unreadable_places" },
			{ "{always_places:place} always slow", .if_any = "always_places" },
			{ "{sometimes_places:place} slow sometimes", .if_any = "sometimes_places" },
			{ "{pending_places:place} still to be read again", .if_any = "pending_places" },
			{ "{unchecked_places:place} not read again, for want of time", .if_any = "unchecked_places" },
			{ "{files_hit:file} hit", .if_any = "files_hit" },
			{ "one head loses revolutions wherever it reads: number {bad_head}", .because = "one-head" },
			{ "every block of them was read, and no place stays slow", .if_none = "unreadable_places",
	                  .instead_of = 6 },
			{ NULL },
		},
};

const struct measure measure_surface = {
	.name = "surface",
	.help = "every block, each request by its time: weak and unreadable places",
	.group = GROUP_DISK,
	.targets = "DEVICE",
	.min_targets = 1,
	.max_targets = 1,
	.opts = surface_opts,
	.params_size = sizeof(struct surface_params),
	.plan = surface_plan,
	.run = surface_run,
	.screen = &surface_screen,
	.again = surface_anew,
	.together = hosts_apart,
	.tables = surface_tables,
};
