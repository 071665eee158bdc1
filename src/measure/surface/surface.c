/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads every block of a disk, times each request, and finds out what slow and unreadable places are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/shared/rewrite.h"
#include "measure/surface/writing.h"

#define PLOT(name_, kind_, title_, table_, x_, y_, see_, flat_, ...) \
	{                                                            \
		{ .name = name_,                                     \
		  .kind = kind_,                                     \
		  .title = title_,                                   \
		  .table = table_,                                   \
		  .x = x_,                                           \
		  .y = y_,                                           \
		  .see = see_,                                       \
		  __VA_ARGS__ },                                     \
			flat_                                        \
	}
static const struct {
	struct plot decl;
	const char *flat_see; /* of what does not rotate; NULL: it has no such picture */
} plots[] = {
	PLOT("cells", "heatmap", "The surface", "map", "column_bytes", "row_bytes,shown_ns",
	     "Row by row, each cell by its longest request, a failed one as 10 s: strong colours were retried, or failed; blank cells were not read.",
	     "Row by row, each cell by its longest request, a failed one as 10 s: strong colours took long, or failed; blank cells were not read.",
	     .marks = "slow:offset_bytes:+length_bytes"),
	PLOT("rate", "line", "Rate by place", "map", "first_byte", "rate_bytes_per_s",
	     "The rate falls in steps from the outer tracks to the inner ones; dips and marks are places that took longer.",
	     "A level line is one rate everywhere; dips and marks are places that took longer.",
	     .marks = "slow:offset_bytes"),
	PLOT("write-rate", "line", "Rate of writing by place", "map", "first_byte", "write_rate_bytes_per_s",
	     "Writing falls in the same steps as reading; dips are places where the drive verified or remapped.",
	     "A level line is one rate everywhere; it falls where a cache was full.", .marks = "wrong:offset_bytes"),
	PLOT("worst", "step", "Longest request by place", "map", "first_byte", "worst_ns",
	     "A healthy disk gives a flat line; one revolution higher means one retry.",
	     "A peak is a request that failed or waited; peaks at one place in each run are damage there.",
	     .marks = "slow:offset_bytes"),
	PLOT("lost", "step", "Revolutions lost by place", "map", "first_byte", "revolutions_lost",
	     "A healthy disk stays near zero; revolutions lost in one place are retries of its sectors.", NULL,
	     .marks = "slow:offset_bytes"),
	PLOT("heads", "bars", "Revolutions lost by head", "by_head", "surface", "revolutions_lost",
	     "Heads of a healthy disk lose about equally; one that stands out is failing, or its surface is.", NULL,
	     .low = "low", .high = "high"),
	PLOT("heads-places", "line", "Revolutions lost by head and place", "by_head_place", "first_byte",
	     "revolutions_lost",
	     "A bad head loses all over the disk; a line that rises at one place only is damage there.", NULL,
	     .series = "surface"),
};

/* Of nothing there is no picture. */
static void declare_plots(const struct surface_run *run)
{
	struct result *res = run->ses->res;
	bool is_flat = run->ses->devs[0].rotational == 0;

	if (run->position == run->range.first_bytes || res->nplots)
		return;
	for (size_t i = 0; i < ARRAY_LEN(plots); i++) {
		struct plot plot = plots[i].decl;

		if (is_flat)
			plot.see = plots[i].flat_see;
		if (plot.see && (strcmp(plot.name, "write-rate") != 0 || run->burn) &&
		    (strncmp(plot.table, "by_head", 7) != 0 || run->heads))
			result_plot(res, &plot);
	}
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
	run->begun.start_ns = surface_now(run);
	run->blind.buffer_ns = -1.0;
	r = surface_heads_open(run, err);
	if (r == 0 && run->p->rewrite)
		r = rewrite_start(&run->journal, ses, 0, run->eng, run->p->journal, false, err);
	if (r == 0 && run->p->write)
		surface_burn_open(run);
	if (r == 0)
		r = surface_state_load(run, err);
	run->begun.is_scanned = run->position == run->range.end_bytes;
	if (r < 0 || !surface_is_unfinished(run))
		return r;
	run->done.portions++;
	r = surface_learn_rotation(run, err);
	return r == 0 && run->p->verify ? surface_verifier_open(run, err) : r;
}

static int surface_run(struct session *ses, const void *params, struct err *err)
{
	struct surface_run *run = xcalloc(1, sizeof(*run));
	int r;

	run->ses = ses;
	run->p = params;
	run->later.sample = run->p->sample ? xcalloc(1, sizeof(*run->later.sample)) : NULL;
	r = run_init(run, err);
	while (r == 0 && !surface_is_over(run) && (surface_is_unfinished(run) || surface_sample_goes_on(run))) {
		bool is_read = surface_is_written(run);

		r = !is_read                      ? surface_burn_leg(run, err)
		    : surface_sample_goes_on(run) ? surface_sample_leg(run, err)
		                                  : surface_scan_leg(run, err);
		declare_plots(run);
		if (r == 0 && is_read && !session_is_over(ses) &&
		    (run->position == run->range.end_bytes || surface_wants_again(run)))
			r = surface_again(run, err);
		surface_report(run);
		surface_sample_report(run);
		session_checkpoint(ses);
		if (r == 0)
			r = surface_state_save(run, true, err);
	}
	if (r == 0 && !result_find_figure(ses->res, "scanned_bytes")) {
		/* Others used the disk all the time, the search of the rotation took it all, or all was done. */
		surface_report(run);
		r = surface_state_save(run, true, err);
	}
	if (r == 0 && run->leg.error)
		r = err_set(err, run->leg.error, "%s", run->leg.why.text);
	if (run->eng)
		surface_report_ending(run);
	surface_burn_judge(run);
	surface_heads_say(run);
	if (r == 0 && run->journal && !surface_is_unfinished(run) && !session_is_over(ses))
		r = surface_refresh(run, run->journal, &surface_tables[SURFACE_TABLE_REFRESH], err);
	if (r == 0)
		surface_contents(run, &surface_tables[SURFACE_TABLE_CONTENTS]);
	if (r == 0)
		r = surface_map_save(run, err);
	rewrite_close(run->journal);
	engine_close(run->eng);
	engine_close(run->verifier);
	surface_heads_close(run);
	surface_burn_close(run);
	surface_failures_done(&run->failures);
	surface_failures_done(&run->later.skipped);
	free(run->lists.places);
	surface_sample_free(run->later.sample);
	free(run);
	return r;
}

#define FINDINGS 10 /* clauses, of which none is said where nothing was found */

static const struct screen_decl surface_screen = {
	.shows =
		"wrong_bytes,true_bytes,write_rate_bytes_per_s,most_celsius,scanned_bytes,scanned_ratio,rate_bytes_per_s,unreadable_places,always_places,revolutions_lost_per_gb,bad_head,worst_ns,files_hit,#wrong,#by_head,#slow,#contents,#classes",
	.says =
		(const struct clause[]){
			{ "nothing was scanned", .because = "nothing-scanned", .is_open = true },
			{ "{wrong_bytes} not as written: {wrong_lbas}", .if_any = "wrong_bytes" },
			{ "addresses begin anew: the disk holds {true_bytes}", .if_any = "true_bytes" },
			{ "{unwritten_bytes} not written yet", .if_any = "unwritten_bytes" },
			{ "written at {write_rate_bytes_per_s}, {verified_bytes} read back and verified",
	                  .if_any = "verified_bytes" },
			{ "every block of {scanned_bytes@scanned_of_all_ratio} was scanned, at {rate_bytes_per_s}",
	                  .if_none = "unscanned_bytes" },
			{ "{scanned_ratio%} was scanned: {scanned_bytes} at {rate_bytes_per_s}",
	                  .if_any = "unscanned_bytes", .unless = "nothing-scanned" },
			{ "no read of {scanned_bytes@scanned_of_all_ratio} succeeded", .if_any = "scanned_bytes",
	                  .instead_of = 2 },
			{ "{unreadable_places:unreadable place}, at LBA {unreadable_lbas}",
	                  .if_any = "unreadable_places" },
			{ "{unnarrowed_places:range} failed, not narrowed down to sectors",
	                  .if_any = "unnarrowed_places", .unless = "unchecked" },
			{ "{healed_places:place} failed, then read well", .if_any = "healed_places" },
			{ "{always_places:place} always slow", .if_any = "always_places" },
			{ "{weak_places:place} lost revolutions in each of three readings", .if_any = "weak_places" },
			{ "{suspects:slow suspect} still to be rechecked", .if_any = "suspects" },
			{ "{unchecked_places:suspect} not rechecked (limit of rechecks reached)",
	                  .if_any = "unchecked_places" },
			{ "{skipped_bytes} not read, as reads before it failed and took long",
	                  .if_any = "skipped_bytes" },
			{ "{files_hit:file} hit", .if_any = "files_hit" },
			{ "head {bad_head} loses revolutions wherever it reads", .because = "one-head" },
			{ "no place in {scanned_bytes@scanned_ratio} is unreadable or stays slow",
	                  .if_none = "unscanned_bytes", .instead_of = FINDINGS },
			{ "no bad or slow place in {scanned_bytes@scanned_ratio} so far", .if_any = "unscanned_bytes",
	                  .instead_of = FINDINGS + 1 },
			{ "at most {bad_places_most_ratio%} of places are bad (95 %)" },
			{ "weak places may hide", .because = "insensitive" },
			{ "weak places may hide", .because = "buffered", .instead_of = 1 },
			{ "it ended early: {ended_by}" },
			{ NULL },
		},
};

const struct measure measure_surface = {
	.name = "surface",
	.help = "every block, each request by its time: weak and unreadable places",
	.group = GROUP_DISK,
	.targets = "DEVICE",
	.takes = TAKES_DISKS | TAKES_FILES,
	.opts = surface_opts,
	.params_size = sizeof(struct surface_params),
	.takes_all_errors = true,
	.plan = surface_plan,
	.run = surface_run,
	.screen = &surface_screen,
	.tables = surface_tables,
};
