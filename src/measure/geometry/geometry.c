/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The disk's own shape from the times of single reads: rotation, sectors per track, skew. How angles come about:
 * probe.c; how the ends of tracks are found: edges.c. The idea of finding the end of a track by the jump in angle is H.
 * Wong's ("Discovering Hard Disk Physical Geometry through Microbenchmarking", 2019).
 */
#include "base/xalloc.h"
#include "measure/geometry/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "session/replay.h"

/* Of the budget may be walked until a layout is looked for; what that leaves is for the rest of the walk. */
#define WALK_PART 0.55
/* Without --time so much is enough where bands were seen to come again, and the rest of the walk, which only shows more
 * zones, ends there: of 36 drawn disks that rotate no fewer surfaces are known than with all of it. */
#define SOON_END  0.4
#define QUICK_NS  (55 * NS_PER_S) /* a quick run is over within a minute */
#define LATE_PART 1.5             /* what only computes may go on until then */

static const struct opt geometry_opts[] = {
	OPT_FLAG(struct geometry_params, quick, "quick", 0, "rotation, tracks at start, middle and end, skew only"),
	OPT_FLAG(struct geometry_params, tracks, "tracks", 0, "a table of all runs of equal tracks", .is_aside = true),
	OPT_FLAG(struct geometry_params, requests, "keep-requests", 0,
	         "every read into the document, for platter report --again", .is_aside = true),
	OPT_END,
};

/* Equal tracks, one after the other, each followed by the same jump; and the same again, times over, each every_bytes
 * further on. */
struct run_row {
	uint64_t first_byte, tracks, sectors_per_track;
	double skew_ratio;
	uint64_t times, every_bytes, missing;
};

static const struct field run_fields[] = {
	FIELD_U64(struct run_row, first_byte, UNIT_BYTES, "first byte"),
	FIELD_U64(struct run_row, tracks, UNIT_COUNT, "tracks"),
	FIELD_U64(struct run_row, sectors_per_track, UNIT_COUNT, "sectors per track"),
	FIELD_F64(struct run_row, skew_ratio, UNIT_RATIO, "skew behind"),
	FIELD_U64(struct run_row, times, UNIT_COUNT, "times"),
	FIELD_U64(struct run_row, every_bytes, UNIT_BYTES, "every"),
	FIELD_U64(struct run_row, missing, UNIT_COUNT, "missing"),
	FIELD_END,
};

static const struct measure_table geometry_tables[] = {
	{ "zones", "Recording zones", geo_zone_fields },
	{ "tracks", "Tracks that were looked at", geo_track_fields },
	{ "runs", "Runs of equal tracks", run_fields },
	{ "profile", "Shortest access to an earlier track", geo_profile_fields },
	{ "angles", "Angles of sectors", geo_angle_fields },
	HEADS_TABLE,
	{ "defects", "Sectors and tracks without data", geo_defect_fields },
	REQUESTS_TABLE,
	{ NULL, NULL, NULL },
};

static int geometry_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct geometry_params *p = params;
	const struct device *d = &ses->devs[0];
	uint32_t sector = d->physical_block_bytes ? d->physical_block_bytes : d->logical_block_bytes;

	if (d->size_bytes < (uint64_t)sector * 1000)
		return err_set(err, -EINVAL, "%s has %" PRIu64 " bytes, too few to have tracks; give a whole disk.",
		               d->path, d->size_bytes);
	plan->is_direct = true;
	plan->is_latency = true;
	plan_phase(plan, "rotation", 8 * NS_PER_S);
	plan_phase(plan, "start, middle, end", 30 * NS_PER_S);
	if (!p->quick)
		plan_phase(plan, "tracks, surfaces", (uint64_t)(SOON_END * GEO_BUDGET_NS) - 38 * NS_PER_S);
	return 0;
}

/* ---- figures ---- */

static void null_figures(struct session *ses)
{
	struct result *res = ses->res;

	result_figure(res, "rotation_rpm", "rotation", UNIT_RPM, NAN, NULL, 0);
	result_figure(res, "rotation_period_ns", "one revolution", UNIT_NS, NAN, NULL, 0);
	result_figure(res, "surfaces", "surfaces", UNIT_COUNT, NAN, NULL, 0);
	result_figure(res, "tracks", "tracks", UNIT_COUNT, NAN, NULL, 0);
	result_figure(res, "cylinder_skew_ratio", "skew to the next cylinder", UNIT_RATIO, NAN, NULL, 0);
	result_figure(res, "head_skew_ratio", "skew to the next surface", UNIT_RATIO, NAN, NULL, 0);
	result_figure_text(res, "layout", "layout", NULL);
	result_figure_text(res, "confidence", "certainty", NULL);
	result_figure_text(res, "fua_reads", "reads with FUA", NULL);
}

static void fua_figure(const struct geo *g)
{
	static const char *const words[] = { [TIMED_FUA_MEDIA] = "come from the media",
		                             [TIMED_FUA_CACHE] = "come from the buffer",
		                             [TIMED_FUA_REFUSED] = "are refused" };

	result_figure_text(g->ses->res, "fua_reads", "reads with FUA", words[g->t.fua_reads]);
}

/* error: relative, 95 %. */
static void speed_figures(struct result *res, double period_ns, double error, size_t n)
{
	double rpm = 60e9 / period_ns;
	struct interval ci = { rpm * (1.0 - error), rpm * (1.0 + error) };

	result_figure(res, "rotation_rpm", "rotation", UNIT_RPM, rpm, &ci, n);
	ci = (struct interval){ period_ns * (1.0 - error), period_ns * (1.0 + error) };
	result_figure(res, "rotation_period_ns", "one revolution", UNIT_NS, period_ns, &ci, n);
}

static void rotation_figures(struct geo *g)
{
	struct result *res = g->ses->res;

	g->rot.is_unclear = g->rot.is_unclear || (!g->rot.is_rotating && timed_is_over(&g->t));
	res->verdict_is_open = rotation_say(res, &g->rot, &g->ses->devs[0]);
	if (g->rot.is_rotating)
		speed_figures(res, g->rot.period_ns, 1.96 * g->rot.se_ns / g->rot.period_ns, g->rot.events);
}

/* The run is a hundred times as long as the search of the rotation. The speed of a spindle that has changed it is that
 * of the run's last quarter. */
static void report_speed(struct geo *g)
{
	struct geo_drift d;

	if (!geo_spindle_speed(g, &d))
		return;
	speed_figures(g->ses->res, d.period_ns, d.error, g->spindle.npoints);
	if (d.change != 0.0)
		result_notice(
			g->ses->res, "spindle-drifts",
			"In the last quarter of the run the spindle turned %.1f ppm %s than at the start; angles follow that, and the figure is the speed then. A disk that was switched on a while ago turns evenly.",
			fabs(d.change) * 1e6, d.change > 0.0 ? "faster" : "slower");
}

/* ---- the run ---- */

static const struct plot plots[] = {
	{ .name = "tracks",
	  .see = "All tracks of a zone hold the same number of sectors; two rows of dots at one place are heads of different density.",
	  .kind = "scatter",
	  .title = "Track size against position",
	  .table = "tracks",
	  .x = "first_byte",
	  .y = "sectors_per_track" },
	{ .name = "profile",
	  .see = "Seek time against distance in tracks: the lower edge of the dots is the drive at its best.",
	  .kind = "scatter",
	  .title = "Seek profile: shortest access against tracks",
	  .table = "profile",
	  .x = "distance_tracks",
	  .y = "access_ns" },
	{ .name = "angles",
	  .see = "The disk from above, its outer edge outside: each dot is a sector, at the angle at which it came by.",
	  .kind = "polar",
	  .title = "Angles of sectors",
	  .table = "angles",
	  .x = "angle_ratio",
	  .y = "offset_bytes" },
};

/* Of the order, which has pieces of a track as one and knows of ends that noise hid; where a track lacks sectors, or is
 * a piece, it may be one more or less. */
static void count_tracks(const struct geo_walk *w, const struct geo_order *o)
{
	uint64_t n = o->tracks, rest = w->g->sectors - w->at, odd = 0;
	struct interval ci;

	for (size_t i = 0; i < w->nitems; i++)
		odd += w->items[i].tracks == 1 && (w->items[i].is_unsure || w->items[i].missing);
	/* The walk ends in front of the last track or two. */
	n += rest == 0 ? 0 : (double)rest <= w->per_track ? 1 : 2;
	ci = (struct interval){ (double)(n - odd) - ((double)rest > w->per_track), (double)(n + odd) };
	result_figure(w->g->ses->res, "tracks", "tracks", UNIT_COUNT, (double)n, &ci, 0);
}

static void run_rows(const struct geo_walk *w)
{
	struct table *t = result_table(w->g->ses->res, "runs", "Runs of equal tracks", run_fields);
	uint64_t bytes = w->g->t.block_bytes;

	for (size_t i = 0; i < w->nitems; i++) {
		const struct geo_item *item = &w->items[i];
		uint64_t at = item->first;

		for (uint32_t k = 0; k < item->nruns; k++) {
			const struct geo_run *run = &item->run[k];
			struct run_row row = {
				.first_byte = at * bytes,
				.tracks = run->tracks,
				.sectors_per_track = run->per_track,
				.skew_ratio = run->jump,
				.times = item->times,
				.every_bytes =
					item->times > 1 ? (item->end - item->first) / item->times * bytes : UINT64_MAX,
				.missing = k == 0 ? item->missing : 0,
			};

			result_row(t, &row);
			at += run->tracks * run->per_track;
		}
	}
}

/* Zones of the layout, also of one that is not reported if it explains the sizes; else as the walk found them. */
static void zone_rows(struct geo_walk *w, const struct geo_layout *layout, uint64_t end)
{
	const struct geo_fit *fit = layout->fit;
	bool is_read = fit && fit->n && (layout->is_reported || fit->cost < 4.0 * (double)fit->n + 20.0);
	size_t unclear = is_read ? geo_fit_rows(w, layout, end) : geo_walk_rows(w, w->is_whole ? w->g->sectors : w->at);

	if (unclear)
		result_notice(
			w->g->ses->res, "unclear-zones",
			"Unclear zones: %zu. They rest on very few tracks, or sizes change there in no order that came again. Where they begin and end is not certain, and they may belong to a neighbour.",
			unclear);
}

/* Of one kind: the median over the zones but small ones; all of them are within the interval, and tol, by which noise
 * may put off what a zone has. */
static void skew_figure(struct geo *g, const struct geo_fit *fit, size_t member, double tol, const char *key,
                        const char *label)
{
	double v[ARRAY_LEN(fit->zone)], low = INFINITY, high = -INFINITY, median;
	uint64_t largest = 0;
	struct interval ci;
	size_t n = 0;

	for (size_t i = 0; i < fit->n; i++)
		largest = fit->zone[i].tracks > largest ? fit->zone[i].tracks : largest;
	for (size_t i = 0; i < fit->n; i++) {
		const double *skew = (const double *)(const void *)((const char *)&fit->zone[i] + member);

		if (isfinite(*skew) && 2 * fit->zone[i].tracks >= largest)
			v[n++] = geo_frac(*skew - geo_spare_turn(g, fit->zone[i].size[0]));
	}
	if (n == 0)
		return;
	median = stats_median(v, n);
	for (size_t i = 0; i < n; i++) { /* the middle half: in single zones something may be missing */
		double off = phase_distance(v[i], median);

		if (fabs(off) < 0.02) {
			low = fmin(low, median + off);
			high = fmax(high, median + off);
		}
	}
	if (!(low <= high)) /* none is near the middle */
		return;
	ci = (struct interval){ low - tol, high + tol };
	result_figure(g->ses->res, key, label, UNIT_RATIO, median, &ci, n);
}

/* What most tracks of a zone have is one of them, and the others are near it. A rarer skew that is as near to the usual
 * one is taken for it, where it was a single one that strayed. */
static void skew_figures(struct geo *g, const struct geo_layout *layout)
{
	const struct geo_shape *shape = &layout->shape;
	double usual = geo_near(g), merged = usual + g->tol;
	bool is_by_heads = shape->band == 1 && shape->heads > 2;

	skew_figure(g, layout->fit, offsetof(struct geo_fit_zone, cylinder_skew),
	            shape->band == 1 && shape->heads > 1 ? merged : usual, "cylinder_skew_ratio",
	            "skew to the next cylinder");
	if (shape->heads > 1)
		skew_figure(g, layout->fit, offsetof(struct geo_fit_zone, head_skew), is_by_heads ? usual : merged,
		            "head_skew_ratio", "skew to the next surface");
	if (shape->heads > 1 && shape->band > 1)
		skew_figure(g, layout->fit, offsetof(struct geo_fit_zone, band_skew), merged, "band_skew_ratio",
		            "skew to the next band");
}

/* Each change of size or skew that nothing explains may be one more that is left out, or be none. */
static void left_out_figure(struct result *res, const struct geo_fit *fit)
{
	double n = (double)fit->left_out, odd = fmax(0.0, ceil(fit->cost - 2.0 * (double)fit->n - fit->left_cost));
	struct interval ci = { fmax(0.0, n - odd), n + odd };

	result_figure(res, "tracks_left_out", "tracks without data", UNIT_COUNT, n, &ci, 0);
}

/* Goes on until this part of the budget is spent. */
static int timed_walk(struct geo_walk *w, double part, struct err *err)
{
	int r;

	geo_may_take(w->g, part);
	r = geo_walk_on(w, err);
	geo_may_take(w->g, 1.0);
	return r;
}

/* Surfaces and layout from what was seen so far, and then the rest of the disk, which shows zones only. */
static int find_layout(struct geo_walk *w, struct geo_order *order, struct geo_layout *layout, struct err *err)
{
	struct geo *g = w->g;
	int r = 0;

	geo_order_fill(order, w);
	if (order->tracks == 0 || (w->at < g->sectors / 2 && w->is_stuck && order->tracks < GEO_SOME_TRACKS))
		result_notice(
			g->ses->res, "layout-unknown",
			"The number of surfaces and the layout cannot be determined: too little of the disk was read.");
	else
		r = geo_find_layout(g, order, layout, err);
	if (r < 0 || w->is_whole || w->is_stuck || geo_is_over(g))
		return r;
	session_checkpoint(g->ses);
	r = timed_walk(w, !g->ses->common->time_ns ? SOON_END : 1.0 - GEO_DEFECTS_PART, err);
	g->cost.is_cut = !w->is_whole && !w->is_stuck;
	if (r < 0 || session_is_over(g->ses)) /* what was read before stays */
		return r;
	geo_order_free(order);
	geo_order_fill(order, w);
	geo_may_take(g, LATE_PART);
	geo_may_think_all(g);
	if (layout->fit)
		geo_order_fit_whole(order, &layout->shape, layout->fit);
	return 0;
}

static int walk_figures(struct geo_walk *w, struct err *err)
{
	struct geo *g = w->g;
	struct result *res = g->ses->res;
	struct geo_order order = { .seg = NULL };
	struct geo_layout layout = { .fit = NULL };
	int r = find_layout(w, &order, &layout, err);

	if (r == 0 && layout.is_reported)
		geo_settle_band(g, &order, &layout);
	if (g->p->tracks)
		run_rows(w);
	session_checkpoint(g->ses);
	if (r == 0 && order.tracks) {
		zone_rows(w, &layout, order.end);
		if (w->is_whole)
			count_tracks(w, &order);
		if (layout.is_reported && !layout.is_mended)
			skew_figures(g, &layout);
		if (layout.is_reported && !layout.is_mended && w->is_whole)
			left_out_figure(res, layout.fit);
		r = geo_map_rows(w, &order, &layout, err);
	}
	if (!w->is_whole)
		result_notice(
			res, "not-to-the-end",
			"Only %.1f %% of the disk was looked at, because %s; the number of tracks is not reported.",
			100.0 * (double)w->at / (double)g->sectors,
			w->is_stuck ? "no end of a track could be found there" : "the run ended before");
	free(layout.fit);
	geo_order_free(&order);
	return r;
}

/* Was a cycle of runs passed more than once? */
static bool has_come_again(const struct geo_walk *w)
{
	for (size_t i = 0; i < w->nitems; i++)
		if (w->items[i].nruns > 1)
			return true;
	return false;
}

static int walk(struct geo *g, struct err *err)
{
	struct geo_walk *w = xcalloc(1, sizeof(*w));
	int r;

	w->g = g;
	w->per_track = w->outermost = figure_number(result_find_figure(g->ses->res, "start_sectors_per_track"));
	if (!isfinite(w->per_track)) {
		free(w);
		return 0;
	}
	if (g->looks == 1) {
		geo_set_looks(g, geo_looks(geo_near(g), geo_flush_cost(g)));
		if (g->looks > 1)
			geo_forget(g);
	}
	r = timed_walk(w, g->ses->common->time_ns ? WALK_PART : WALK_PART / 2.0, err);
	if (r == 0 && !g->ses->common->time_ns && !has_come_again(w))
		r = timed_walk(w, WALK_PART, err);
	/* Where making the cache forget is dear, also what layouts would take: accesses show nothing without it. */
	if (r == 0 && geo_flush_cost(g) > GEO_VERY_DEAR && !has_come_again(w))
		r = timed_walk(w, GEO_LAYOUT_AT, err);
	if (r == 0)
		r = walk_figures(w, err);
	geo_walk_free(w);
	return r;
}

static int look_at_tracks(struct geo *g, struct err *err)
{
	int r;

	geo_set_looks(g, 1);
	geo_set_looks(g, geo_looks(geo_near(g), geo_flush_cost(g)));
	g->spindle.period_ns = g->rot.period_ns;
	r = rotation_find_ahead(&g->t, &g->rot, &g->is_fua_ahead, err);
	if (r == 0)
		r = geo_look_at_places(g, err);
	if (r == 0 && !g->p->quick && !geo_is_over(g)) {
		geo_spindle_start(g);
		r = walk(g, err);
	}
	if (r == 0 && g->p->quick)
		result_notice(g->ses->res, "quick",
		              "A quick run does not look at surfaces, layout and zones; leave out --quick for them.");
	report_speed(g);
	for (size_t i = 0; i < ARRAY_LEN(plots); i++)
		result_plot(g->ses->res, &plots[i]);
	return r;
}

static int run_phases(struct geo *g, struct err *err)
{
	int r = rotation_find(&g->t, 4 * NS_PER_S, &g->rot, err);

	if (r < 0)
		return r;
	rotation_figures(g);
	session_checkpoint(g->ses);
	if (g->rot.is_rotating && !session_is_over(g->ses))
		r = look_at_tracks(g, err);
	if (r == 0 && (geo_done(g, 0.0) >= 1.0 || g->cost.is_cut)) {
		session_ended_early(g->ses);
		result_notice(g->ses->res, "out-of-time",
		              "%s ended before all was measured. Give a longer --time for the rest.",
		              g->ses->common->time_ns ? "--time" : "The time of a run without --time");
	}
	fua_figure(g);
	return r;
}

static int geometry_run(struct session *ses, const void *params, struct err *err)
{
	const struct device *d = &ses->devs[0];
	struct geo g = { .ses = ses, .p = params };
	struct engine_config cfg = { .depth = 2, .buf_bytes = 1u << 20, .fds = &ses->targets[0].fd, .nfds = 1 };
	uint32_t sector = d->physical_block_bytes ? d->physical_block_bytes : d->logical_block_bytes;
	int r;

	if (sector < ses->targets[0].align_bytes)
		sector = ses->targets[0].align_bytes;
	g.t = (struct timed){
		.ses = ses, .target = &ses->targets[0], .block_bytes = sector, .step_bytes = sector, .prefers_fua = true
	};
	g.sectors = ses->targets[0].size_bytes / sector;
	g.budget_ns = ses->common->time_ns ? ses->common->time_ns : g.p->quick ? QUICK_NS : GEO_BUDGET_NS;
	g.t.until_ns = ses->common->time_ns ? ses->start_ns + g.budget_ns : 0;
	geo_may_take(&g, 1.0);
	session_rng(ses, 0x47454f4dull, &g.t.rng);
	null_figures(ses);
	if (g.p->requests)
		session_keep_requests(ses);
	r = session_engine(ses, &cfg, &g.t.eng, err);
	if (r == 0)
		r = run_phases(&g, err);
	if (r == 0 && g.cost.tracks_seen) {
		result_figure_u64(ses->res, "reads", "reads of single sectors", UNIT_COUNT, g.cost.reads);
		result_figure_u64(ses->res, "tracks_visited", "ends of tracks looked at", UNIT_COUNT,
		                  g.cost.tracks_seen);
	}
	engine_close(g.t.fua);
	engine_close(g.t.eng);
	return r;
}

static int geometry_again(const struct result *saved, struct result *ret, struct err *err)
{
	struct geometry_params p = { .quick = replay_flag(saved, "quick"), .tracks = replay_flag(saved, "tracks") };
	struct result *again;
	int r = session_replay(&measure_geometry, saved, &p, &again, err);

	if (r == 0)
		result_take(ret, again);
	return r;
}

static const struct screen_decl geometry_screen = {
	.shows =
		"rotation_rpm,rotation_period_ns,surfaces,arm_surfaces,layout,confidence,start_sectors_per_track,middle_sectors_per_track,end_sectors_per_track,skew_ratio,cylinder_skew_ratio,head_skew_ratio,#zones",
	.says =
		(const struct clause[]){
			{ "Rotation was not found: an SSD, a virtual disk, or a cache in front",
	                  .because = "not-rotating" },
			{ "Cannot tell whether it rotates", .because = "rotation-unclear" },
			{ "Cannot tell whether it rotates: its cache answers", .because = "cache-holds" },
			{ "It turns at {rotation_rpm~}" },
			{ "probably {surfaces:surface}", .because = "layout-likely" },
			{ "{surfaces:surface}, layout {layout}", .instead_of = 1 },
			{ "{surfaces:surface}", .instead_of = 2 },
			{ "{start_sectors_per_track:sector} per track at the start, {middle_sectors_per_track:sector} in the middle, {end_sectors_per_track:sector} at the end" },
			{ NULL },
		},
};

const struct measure measure_geometry = {
	.name = "geometry",
	.help = "rotation, sectors per track, skew, zones, surfaces and their layout",
	.group = GROUP_DISK,
	.targets = "DEVICE",
	.takes = TAKES_DISKS,
	.opts = geometry_opts,
	.params_size = sizeof(struct geometry_params),
	.plan = geometry_plan,
	.run = geometry_run,
	.again = geometry_again,
	.screen = &geometry_screen,
	.tables = geometry_tables,
};
