/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * platter zones: the transfer rate of the media by place. The method, in the order of the run:
 *
 * 1. A probe spins the disk up and shows roughly how fast it is.
 * 2. Passes: upward, downward, then shuffled, over positions spread evenly; each sample reads bytes that no other one
 * read (plan.c), the lead-in of each is left out (estimate.c). Two directions keep drift in time apart from place
 * (level.c).
 * 3. Second looks, in rounds, as long as there is time: where the interval is still too wide, where samples disagree,
 * where a fault spoiled them, where something looks slow.
 * 4. Edges: where slow regions begin and end, by halving; which sectors of a failed request are unreadable (faults.c).
 * The document is complete after every pass; a run that is stopped has what it has.
 */
#include "measure/zones/zones.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"

#define BAND_STEPS 2 /* readings for an edge between zones: to a quarter of that distance */

#define P struct zones_params
static const struct opt zones_opts[] = {
	OPT_U64(P, positions, "count", 0, "N", "64", "places to measure", .min = 1, .max = 10000),
	OPT_U64(P, passes, "repeat", 0, "N", NULL, "passes over all places, at least (default 3; 5 with --zones)",
	        .max = 100, .is_aside = true),
	OPT_STR(P, places, "zones", 0, "LIST", NULL, "measure these places only: start, middle, end, 25%, 10GB",
	        .implied = "start,middle,end"),
	OPT_FLAG(P, quick, "quick", 0, "two short passes: less than a minute"),
	OPT_FLAG(P, full, "full", 0, "read everything, once"),
	OPT_STR(P, range, "range", 0, "FROM-TO", NULL, "measure this part only: 10GB-20GB, 50%-"),
	OPT_BYTES(P, block_bytes, "block", 0, "SIZE", NULL, "size of a request (default up to 1MiB)", .max = 64 << 20),
	OPT_U64(P, depth, "depth", 0, "N", "4", "requests in flight", .min = 1, .max = 64),
	OPT_BYTES(P, sample_bytes, "sample", 0, "SIZE", NULL,
	          "bytes counted in each sample (default: by time and rate)", .max = 1e12),
	OPT_FLAG(P, write, "write", 0, "measure writing; destroys the data (see --destroy-data)"),
	OPT_FLAG(P, rewrite, "rewrite", 0, "measure writing; puts the same bytes back"),
	OPT_STR(P, journal, "journal", 0, "DIR", "/var/lib/platter", "where --rewrite keeps the block in work",
	        .is_aside = true),
	OPT_FLAG(P, requests, "keep-requests", 0, "each read into the document, for report --again", .is_aside = true),
	OPT_END,
};
#undef P

/* ---- plan ---- */

static int check_params(const struct session *ses, const struct zones_params *p, struct err *err)
{
	if (p->write && p->rewrite)
		return err_set(err, -EINVAL, "--write and --rewrite exclude each other; give the one that you mean.");
	if (p->full && (p->write || p->rewrite || p->places))
		return err_set(
			err, -EINVAL,
			"--full reads everything and goes with neither --write, --rewrite nor --zones; leave those out.");
	if (p->places && p->quick)
		return err_set(err, -EINVAL, "--zones is short already; leave --quick out.");
	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct device *dev = &ses->devs[i];

		if (dev->disk_rdev != ses->devs[0].disk_rdev || strcmp(dev->disk, ses->devs[0].disk) != 0)
			return err_set(
				err, -EINVAL,
				"%s and %s lie on different disks, and each is a result of its own; run platter zones "
				"once for each, at the same time if they share no cable.",
				ses->devs[0].path, dev->path);
		if ((p->write || p->rewrite) && device_is_zoned(dev))
			return err_set(
				err, -EINVAL,
				"%s is a %s zoned disk: writes in the middle of a zone fail or are slow; leave --%s out.",
				dev->path, dev->queue.zoned, p->write ? "write" : "rewrite");
	}
	return 0;
}

/* What the samples of one target will take and touch, at most. */
static void plan_target(const struct zones_params *p, const struct zone_layout *l, const struct device *dev,
                        struct plan *plan, uint64_t *ret_pass_ns)
{
	double rate = zone_guess_rate(dev), ns = 0.0;
	uint64_t most = 0;

	for (size_t i = 0; i < l->npositions; i++) {
		double bytes = (double)zone_sample_bytes(l, p, l->positions[i].class, rate);

		ns += zone_visits(p, l->positions[i].class) * (bytes / rate * 1e9 + 30e6);
		most += l->slots * l->window_bytes;
	}
	*ret_pass_ns += (uint64_t)ns * (p->rewrite ? 4 : 1);
	if (most > l->end_bytes - l->first_bytes)
		most = l->end_bytes - l->first_bytes;
	if ((p->write || p->rewrite) && l->rev_ns != 0.0)
		most += l->npositions * l->slots * ZONE_LEAD_MAX;
	if (!p->write)
		plan->read_bytes += p->rewrite ? 2 * most : most;
	if (p->write || p->rewrite)
		plan->write_bytes += most;
}

static int zones_plan(const struct session *ses, const void *params, struct plan *ret_plan, struct err *err)
{
	static const char *const pass_names[] = { "upward", "downward", "shuffled" };
	const struct zones_params *p = params;
	uint64_t pass_ns = 0;
	int r = check_params(ses, p, err);

	if (r < 0)
		return r;
	ret_plan->writes = p->write ? WRITE_DESTROY : p->rewrite ? WRITE_SAME : WRITE_NONE;
	ret_plan->read_bytes = 0;
	ret_plan->in_turn = true;
	for (size_t i = 0; i < ses->ndevs; i++) {
		struct zone_layout l;

		r = zone_layout_init(&l, &ses->devs[i], p, err);
		if (r < 0)
			return r;
		if (ses->ndevs == 1 && !p->full) {
			ret_plan->touch_first = l.first_bytes;
			ret_plan->touch_end = l.end_bytes;
		}
		plan_target(p, &l, &ses->devs[i], ret_plan, &pass_ns);
		zone_layout_done(&l);
	}
	for (uint32_t i = 0; i < zone_passes(p) && i < PLAN_PHASES - 2; i++)
		plan_phase(ret_plan, pass_names[i < 3 ? i : 2], pass_ns);
	plan_phase(ret_plan, "second looks", pass_ns / 4);
	return 0;
}

/* ---- one target ---- */

static int run_pass(struct zones_run *run, struct zone_target *t, uint32_t pass, struct err *err)
{
	static const char *const names[] = { "upward", "downward", "shuffled" };
	cleanup_free size_t *order = xcalloc(2 * t->layout.npositions + 1, sizeof(*order));
	uint32_t passes = zone_passes(run->p) + t->is_taken_back; /* what small requests read said nothing */
	size_t n;
	int r;

	n = zone_order_pass(run, t, pass, order);
	for (size_t i = 0; i < n && !session_is_over(run->ses) && zones_has_time(run, t, false); i++) {
		if (!pass)
			zone_fine_begin(t, order[i]);
		r = zone_visit(run, t, order[i], SAMPLE_CURVE, pass, err);
		if (r < 0)
			return r;
		zones_show(run, t, names[pass < 2 ? pass : 2],
		           ZONE_PASS_PART * ((double)pass + (double)(i + 1) / (double)n) / (double)passes);
	}
	session_log(run->ses, "%s: pass %" PRIu32 " of %" PRIu32 " done", t->dev->path, pass + 1, passes);
	zone_analyse_places(t);
	zone_fine_choose(run, t, pass);
	zones_renew(run, t);
	return 0;
}

/* ---- edges of recording zones ---- */

/* The first place from `at` on, that many bytes behind all that was read: the drive's buffer may hold that, and some
 * more. */
static uint64_t unread_from(const struct zone_target *t, uint64_t at, uint64_t bytes)
{
	for (bool is_moved = true; is_moved;) {
		is_moved = false;
		for (size_t i = 0; i < t->samples.n; i++) {
			const struct zone_sample *s = &t->samples.v[i];

			if (s->first_bytes < at + bytes && s->end_bytes + bytes > at) {
				at = s->end_bytes + bytes;
				is_moved = true;
			}
		}
	}
	return at;
}

/* Reads in the middle between the last place of a band and the first of the next one: edges get closer, and the mean
 * with them. */
static int narrow_bands(struct zones_run *run, struct zone_target *t, struct err *err)
{
	uint64_t bytes = zone_sample_bytes(&t->layout, run->p, ZONE_SHORT, t->bytes_per_s);

	for (int round = 0; round < BAND_STEPS; round++) {
		const struct zone_bands *bands = &t->analysis->bands;
		size_t taken = 0;
		int r = 0;

		for (size_t k = 1; r == 0 && k < bands->n; k++) {
			struct zone_sample how = { .position = ZONE_NONE, .kind = SAMPLE_EDGE };

			if (bands->v[k].edge_half_bytes < bytes || session_is_over(run->ses) ||
			    !zones_has_time(run, t, true))
				continue;
			/* An edge that has not moved is where it was read before: the drive still holds those bytes. */
			how.first_bytes = unread_from(t, bands->v[k].first_bytes - bytes / 2, bytes);
			if (how.first_bytes > bands->v[k].first_bytes + bands->v[k].edge_half_bytes ||
			    how.first_bytes + bytes > t->layout.end_bytes)
				continue;
			how.first_bytes -= how.first_bytes % t->layout.align_bytes;
			how.end_bytes = how.first_bytes + bytes;
			r = zone_sample_take(run, t, &how, NULL, err);
			taken++;
			zones_show(run, t, "edges of zones", ZONE_PASS_PART + 0.1);
		}
		if (r < 0 || !taken)
			return r;
		zones_renew(run, t);
	}
	return 0;
}

/* ---- what a target's run says in words ---- */

static void say_precision(const struct zones_run *run, struct zone_target *t)
{
	double precision = session_precision(run->ses);
	size_t wide = 0, none = 0;

	for (size_t p = 0; p < t->analysis->levels.n; p++) {
		const struct zone_level *v = &t->analysis->levels.v[p];

		none += !v->n;
		wide += v->n && (isnan(v->half) || v->half > log1p(precision));
	}
	if (wide)
		result_notice(run->res, "precision",
		              "%s: at %zu of %zu places the rate is less certain than +-%.3g %%: %s.", t->dev->path,
		              wide, t->analysis->levels.n, 100.0 * precision,
		              session_is_over(run->ses) ? "the run ended before"
		              : t->is_out_of_time       ? "time ran out. Give more --time"
		                                        : "all bytes there have been read. Use a smaller --count");
	if (none)
		result_notice(run->res, "no-figure", "%s: no figure for %zu of %zu places: %s.", t->dev->path, none,
		              t->analysis->levels.n,
		              session_is_over(run->ses) || t->is_out_of_time ? "the run ended before"
		              : result_fault_count(run->res)                 ? "requests there failed"
		                                             : "too few bytes for a sample; measure a larger --range");
}

static void say_drift(const struct zones_run *run, const struct zone_target *t)
{
	const struct zone_levels *lv = &t->analysis->levels;
	double first_s = t->samples.n ? t->samples.v[0].at_s : 0.0;
	double last_s = t->samples.n ? t->samples.v[t->samples.n - 1].at_s : 0.0;
	double total = -lv->drift_per_s * (last_s - first_s);

	if (lv->has_drift && fabs(total) > 0.01)
		result_notice(
			run->res, "drift",
			"%s became %.1f %% %s during the run; the curve shows its middle. Let it warm up, stop other users, and repeat.",
			t->dev->path, 100.0 * fabs(total), total < 0.0 ? "slower" : "faster");
}

static void say_bands(const struct zones_run *run, const struct zone_target *t)
{
	const struct zone_bands *bands = &t->analysis->bands;

	if (bands->is_least && bands->n)
		result_notice(run->res, "zones-at-least",
		              "%s has at least %zu recording zones; steps below %.2g %% are lost in noise.",
		              t->dev->path, bands->n, 100.0 * bands->least_step);
	if (t->analysis->hides_zones)
		result_notice(
			run->res, "zones-hidden",
			"Cannot tell whether %s has recording zones: no step stands out from the scatter of its samples. "
			"Its interface may also be no faster than its media.",
			t->dev->path);
	if (t->analysis->is_by_length)
		result_notice(
			run->res, "by-length",
			"Long samples of %s at its start, middle or end are far faster than short ones beside them, as with several actuators "
			"or striped disks. The curve is of short reads; a mean is not reported, and a sequential read is faster.",
			t->dev->path);
}

static void say_stretches(const struct zones_run *run, const struct zone_target *t)
{
	for (size_t i = 0; i < t->analysis->stretches.n; i++) {
		const struct zone_stretch *s = &t->analysis->stretches.v[i];
		char from[32], to[32], rate[32], beside[32];

		units_bytes_dec(from, sizeof(from), s->first_bytes);
		units_bytes_dec(to, sizeof(to), s->end_bytes);
		units_rate(rate, sizeof(rate), zone_rate(s->y));
		units_rate(beside, sizeof(beside), zone_rate(s->beside_y));
		if (s->kind == STRETCH_FAST)
			result_notice(
				run->res, "not-stored",
				"%s answers at %s from %s to %s, beside it at %s: faster than one disk's media change. Probably nothing is "
				"stored there (never written, or trimmed), or a cache answers: this shows nothing of the media.",
				t->dev->path, rate, from, to, beside);
		else if (s->kind == STRETCH_DEVICE)
			result_notice(
				run->res, "another-device",
				"%s gets faster at %s, from %s to %s, and falls again from there: another actuator or another disk begins there.",
				t->dev->path, from, beside, rate);
		else
			result_notice(
				run->res, "uneven",
				"%s answers at %s from %s to %s, most of it at %s: written and unwritten parts, a cache or several devices differ so. It does not rotate; this alone does not indicate a failure.",
				t->dev->path, rate, from, to, beside);
	}
	if (t->analysis->has_no_zones && t->layout.rev_ns != 0.0 && !run->p->places)
		result_notice(
			run->res, "no-zones",
			"%s is as fast at its end as at its start, as no disk with recording zones is; zones are not reported.",
			t->dev->path);
}

static int run_passes(struct zones_run *run, struct zone_target *t, struct err *err)
{
	int r = zone_probe(run, t, err);

	for (uint32_t pass = 0; r == 0 && pass < zone_passes(run->p) + t->is_taken_back && !session_is_over(run->ses);
	     pass++) {
		if (!zones_has_time(run, t, false))
			continue;
		r = run_pass(run, t, pass, err);
	}
	return r;
}

static int measure_target(struct zones_run *run, struct zone_target *t, struct err *err)
{
	uint64_t left = session_time_left_ns(run->ses);
	int r;

	session_rng(run->ses, t->index, &t->rng);
	t->start_ns = clock_now_ns(run->ses->env->clk);
	t->limit_ns = left == UINT64_MAX ? left : left / (run->ntargets - (size_t)(t - run->targets));
	r = run->p->full ? zones_full_run(run, t, err) : run_passes(run, t, err);
	if (r < 0 || !t->analysis)
		return r;
	r = zone_look_again(run, t, err);
	if (r == 0 && !run->p->places && !run->p->full && !run->p->write && !run->p->rewrite)
		r = narrow_bands(run, t, err);
	if (r == 0 && !run->p->places && !run->p->full && !run->p->write && !run->p->rewrite &&
	    zones_has_time(run, t, false))
		r = zone_arms_measure(run, t, err);
	if (r == 0 && !run->p->write)
		r = zones_faults_locate(run, t, err);
	if (r < 0)
		return r;
	if (t->is_out_of_time && run->ses->common->time_ns) /* one more did not fit in */
		session_ended_early(run->ses);
	say_precision(run, t);
	say_drift(run, t);
	if (!run->p->places)
		say_bands(run, t);
	say_stretches(run, t);
	return 0;
}

/* ---- the run ---- */

static void declare_plots(struct session *ses, const struct zones_params *p)
{
	const struct plot curve = {
		.name = "curve",
		.see = ses->devs[0].rotational == 0
		               ? "A level line is one rate everywhere; dots below it and marks are slow places."
		       : ses->ndevs > 1
		               ? "The rate falls in steps from the outer tracks to the inner ones; a dip that no step explains is a place to look at."
		               : "Steps down towards the inner tracks are recording zones; rows of dots beside the line are heads of other densities, lone dots below it and marks are slow places.",
		.kind = "line",
		.title = p->write || p->rewrite ? "Write rate by place" : "Read rate by place",
		.table = "curve",
		.x = ses->ndevs > 1 ? "disk_offset_bytes" : "offset_bytes",
		.y = "rate_bytes_per_s",
		.series = ses->ndevs > 1 ? "target" : NULL,
		.low = "low",
		.high = "high",
		.dots = ses->ndevs > 1 ? NULL : "samples:offset_bytes:rate_bytes_per_s",
		.marks = ses->ndevs > 1 ? NULL : /* those are places of the target, not of the disk */
		                 "slow_regions:first_byte:last_byte,unreadable:first_byte:last_byte"
	};
	const struct plot bands = {
		.name = "bands",
		.see = "Each bar is a stretch of one rate: a recording zone, whose tracks hold the same number of sectors.",
		.kind = "bands",
		.title = "Recording zones",
		.table = "bands",
		.x = "first_byte,last_byte",
		.y = "rate_bytes_per_s",
		.low = "low",
		.high = "high"
	};

	result_plot(ses->res, &curve);
	if (!p->places && ses->ndevs == 1)
		result_plot(ses->res, &bands);
}

static void say_settings(const struct zones_run *run)
{
	for (size_t i = 0; i < run->ntargets; i++) {
		const struct zone_target *t = &run->targets[i];

		if (t->dev->rotational == 0)
			result_notice(
				run->res, "not-rotational",
				"%s does not rotate: it has no recording zones; differences by place have other reasons.",
				t->dev->path);
		if (device_has_members(t->dev))
			result_notice(
				run->res, "several-disks",
				"%s is made of %s: these are the rates at which they answer together when it is read in sequence, where each waits "
				"for the others. They are of no single disk's media, and a slow place may be any member's; measure these one by one.",
				t->dev->path, t->dev->id.below);
		if (t->layout.wanted_positions > t->layout.npositions)
			result_notice(
				run->res, "positions",
				"%s is too small for %zu places without reading bytes twice; it has room for %zu.",
				t->dev->path, t->layout.wanted_positions, t->layout.npositions);
	}
}

/* Incompressible data; each block is stamped with its place before it goes out. */
static void fill_buffers(struct zones_run *run)
{
	for (uint32_t slot = 0; slot < run->eng->cfg.slots; slot++) {
		struct payload_id id = { .seed = run->ses->seed,
			                 .sequence = slot,
			                 .len_bytes = run->eng->cfg.buf_bytes };

		payload_fill(engine_buf(run->eng, slot), &id);
	}
}

static int run_init(struct zones_run *run, struct err *err)
{
	/* One by one: a merged request completes as a whole, so that bytes of its front would count as late as its end.
	 */
	struct engine_config cfg = { .depth = (uint32_t)run->p->depth, .one_by_one = true };
	int r;

	run->targets = xcalloc(run->ses->ndevs, sizeof(*run->targets));
	for (size_t i = 0; i < run->ses->ndevs; i++) {
		struct zone_target *t = &run->targets[i];

		t->index = i;
		t->dev = &run->ses->devs[i];
		r = zone_layout_init(&t->layout, t->dev, run->p, err);
		if (r < 0)
			return r;
		run->ntargets++;
		cfg.buf_bytes = t->layout.block_bytes > cfg.buf_bytes ? t->layout.block_bytes : cfg.buf_bytes;
	}
	r = session_engine(run->ses, &cfg, &run->eng, err);
	if (r == 0 && run->p->write)
		fill_buffers(run);
	if (r == 0 && run->p->rewrite)
		r = zones_journal_open(run, err);
	return r;
}

static void run_done(struct zones_run *run)
{
	engine_close(run->eng);
	zones_journal_close(run);
	zone_targets_done(run);
	free(run->done);
}

static int zones_run(struct session *ses, const void *params, struct err *err)
{
	struct zones_run run = { .ses = ses, .res = ses->res, .p = params };
	int r;

	if (run.p->requests)
		session_keep_requests(ses);
	r = run_init(&run, err);
	if (r == 0) {
		declare_plots(ses, run.p);
		say_settings(&run);
		for (size_t i = 0; r == 0 && i < run.ntargets && !session_is_over(ses); i++)
			r = measure_target(&run, &run.targets[i], err);
	}
	if (run.ntargets == ses->ndevs && run.eng)
		zones_report(&run, true);
	run_done(&run);
	return r;
}

/* platter report --again: what a run reported, from the samples in its document. */
static int zones_again(const struct result *saved, struct result *ret, struct err *err)
{
	const struct table *layouts = result_find_table(saved, "layouts");
	const char *places = result_option_text(saved, "zones");
	struct zones_params p = { .write = replay_flag(saved, "write"),
		                  .rewrite = replay_flag(saved, "rewrite"),
		                  .places = places && *places ? "given" : NULL };
	struct zones_run run = { .res = ret, .p = &p };
	cleanup_free struct device *devs = NULL;
	int r = 0;

	if (!layouts || !layouts->nrows || !result_find_table(saved, "cells") || !result_find_table(saved, "samples"))
		return err_set(err, -ENODATA, "The document does not have its samples.");
	run.targets = xcalloc(layouts->nrows, sizeof(*run.targets));
	devs = xcalloc(layouts->nrows, sizeof(*devs));
	for (; r == 0 && run.ntargets < layouts->nrows; run.ntargets++) {
		r = zone_load(saved, run.ntargets, &run.targets[run.ntargets], &devs[run.ntargets]);
		run.targets[run.ntargets].layout.is_whole = replay_flag(saved, "full");
	}
	for (size_t i = 0; r == 0 && i < run.ntargets; i++)
		zone_analyse(&run.targets[i]);
	if (r == 0)
		zones_report(&run, false);
	zone_targets_done(&run);
	return r == 0 ? 0 : err_set(err, r, "The document's samples are not whole.");
}

static const struct screen_decl zones_screen = {
	.shows =
		"start_bytes_per_s,middle_bytes_per_s,end_bytes_per_s,end_to_start_ratio,mean_bytes_per_s,read_all_s,lowest_bytes_per_s,interface_bytes_per_s,#slow_regions,#unreadable,#stretches",
	.says =
		(const struct clause[]){
			{ "{start_bytes_per_s} at the start, {middle_bytes_per_s} in the middle, {end_bytes_per_s} at the end" },
			{ "{mean_bytes_per_s} on average", .instead_of = 1 },
			{ "{start_bytes_per_s} at the start", .instead_of = 2 },
			{ "{lowest_bytes_per_s} at the slowest place measured", .instead_of = 3 },
			{ "the samples scatter too far for a rate", .if_any = "read_bytes", .instead_of = 4,
	                  .is_open = true },
			{ "the samples scatter too far for a rate", .if_any = "written_bytes", .instead_of = 5,
	                  .is_open = true },
			{ "at least {bands:recording zone}", .if_any = "bands", .because = "zones-at-least" },
			{ "{bands:recording zone}", .if_any = "bands", .instead_of = 1 },
			{ "{slow_regions:slow region} and {unreadable_regions:unreadable region} in {read_bytes@read_ratio} that were read",
	                  .if_any = "slow_regions" },
			{ "{unreadable_regions:unreadable region} in {read_bytes@read_ratio} that were read",
	                  .if_any = "unreadable_regions", .instead_of = 1 },
			{ "{slow_regions:slow region} in {written_bytes@written_ratio} that were written",
	                  .if_any = "slow_regions", .instead_of = 2 },
			{ "what failed in {read_bytes@read_ratio} that were read was read well when tried again",
	                  .because = "healed" },
			{ "in {read_bytes@read_ratio} that were read nothing failed, and nothing was slow by {slow_least_loss_ratio%} or more",
	                  .if_none = "slow_regions", .instead_of = 4 },
			{ "in {read_bytes@read_ratio} that were read nothing failed", .if_none = "unreadable_regions",
	                  .unless = "healed", .instead_of = 5 },
			{ "{failed_writes:write} failed beside {written_bytes@written_ratio} that were written",
	                  .if_any = "failed_writes" },
			{ "in {written_bytes@written_ratio} that were written nothing failed, and nothing was slow by {slow_least_loss_ratio%} or more",
	                  .if_none = "slow_regions", .instead_of = 7 },
			{ "in {written_bytes@written_ratio} that were written nothing failed", .instead_of = 8 },
			{ "nothing was read that gives a rate", .if_none = "read_bytes", .is_open = true },
			{ "nothing was written that gives a rate", .if_none = "written_bytes", .is_open = true },
			{ NULL },
		},
};

const struct measure measure_zones = {
	.name = "zones",
	.help = "transfer rate of the media by place: start, middle, end, the whole curve",
	.group = GROUP_DISK,
	.targets = "TARGET...",
	.max_targets = 64,
	.takes = TAKES_DISKS | TAKES_FILES,
	.opts = zones_opts,
	.params_size = sizeof(struct zones_params),
	.precision = 0.01,
	.plan = zones_plan,
	.run = zones_run,
	.again = zones_again,
	.screen = &zones_screen,
	.tables = zones_tables,
};
