/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables, figures and plots of `platter zones`. Whatever is written here is a place in the samples or comes out of the
 * analysis. */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "measure/shared/link.h"
#include "measure/zones/zones.h"

/* A row of each table whose rows are bytes, and what was found of them. */
struct bytes_row {
	const char *figure, *kind, *errno_name, *state, *target;
	uint64_t first_byte, last_byte, offset_bytes, disk_offset_bytes, edge_half_bytes, moved_bytes, elapsed_ns,
		samples, readings;
	double rate_bytes_per_s, low, high, expected_bytes_per_s, rate_to_expected_ratio, beside_bytes_per_s,
		rate_to_beside_ratio, fit_residual_ratio;
};

#define R            struct bytes_row
#define ITS_BYTES    FIELD_U64(R, first_byte, UNIT_BYTES, "first byte"), FIELD_U64(R, last_byte, UNIT_BYTES, "last byte")
#define ITS_RATE     FIELD_F64(R, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate")
#define ITS_INTERVAL ITS_RATE, FIELD_F64(R, low, UNIT_BYTES_PER_S, "low"), FIELD_F64(R, high, UNIT_BYTES_PER_S, "high")
#define ITS_TARGET   FIELD_STR(R, target, "target"), FIELD_END

static const struct field curve_fields[] = {
	FIELD_U64(R, offset_bytes, UNIT_BYTES, "offset"),
	ITS_INTERVAL,
	FIELD_U64(R, moved_bytes, UNIT_BYTES, "moved", .detail = true),
	FIELD_U64(R, elapsed_ns, UNIT_NS, "time", .detail = true),
	FIELD_U64(R, first_byte, UNIT_BYTES, "first byte", .detail = true),
	FIELD_U64(R, last_byte, UNIT_BYTES, "last byte", .detail = true),
	FIELD_U64(R, disk_offset_bytes, UNIT_BYTES, "on the disk", .detail = true),
	FIELD_U64(R, samples, UNIT_COUNT, "samples", .detail = true),
	FIELD_F64(R, fit_residual_ratio, UNIT_RATIO, "off the smooth fit", .detail = true),
	FIELD_STR(R, state, "state"),
	ITS_TARGET,
};

static const struct field band_fields[] = {
	ITS_BYTES,
	ITS_INTERVAL,
	FIELD_U64(R, edge_half_bytes, UNIT_BYTES, "begin, half width"),
	FIELD_U64(R, samples, UNIT_COUNT, "samples", .detail = true),
	ITS_TARGET,
};

static const struct field slow_fields[] = {
	ITS_BYTES,
	ITS_RATE,
	FIELD_F64(R, expected_bytes_per_s, UNIT_BYTES_PER_S, "expected"),
	FIELD_F64(R, rate_to_expected_ratio, UNIT_RATIO, "ratio"),
	FIELD_U64(R, readings, UNIT_COUNT, "readings"),
	ITS_TARGET,
};

static const struct field stretch_fields[] = {
	ITS_BYTES,
	ITS_RATE,
	FIELD_F64(R, beside_bytes_per_s, UNIT_BYTES_PER_S, "beside it"),
	FIELD_F64(R, rate_to_beside_ratio, UNIT_RATIO, "ratio"),
	FIELD_STR(R, kind, "what it may be"),
	FIELD_U64(R, samples, UNIT_COUNT, "samples", .detail = true),
	ITS_TARGET,
};

static const struct field unreadable_fields[] = {
	ITS_BYTES,
	FIELD_STR(R, errno_name, "error"),
	ITS_TARGET,
};

static const struct field spot_fields[] = {
	FIELD_STR(R, figure, "figure"),
	ITS_BYTES,
	ITS_INTERVAL,
	FIELD_U64(R, samples, UNIT_COUNT, "samples"),
	ITS_TARGET,
};
#undef R

struct place_row {
	const char *target;
	uint64_t disk_offset_bytes, size_bytes;
	double start_bytes_per_s, middle_bytes_per_s, end_bytes_per_s, mean_bytes_per_s;
};

static const struct field place_fields[] = {
	FIELD_STR(struct place_row, target, "target"),
	FIELD_U64(struct place_row, disk_offset_bytes, UNIT_BYTES, "on the disk"),
	FIELD_U64(struct place_row, size_bytes, UNIT_BYTES, "size"),
	FIELD_F64(struct place_row, start_bytes_per_s, UNIT_BYTES_PER_S, "start"),
	FIELD_F64(struct place_row, middle_bytes_per_s, UNIT_BYTES_PER_S, "middle"),
	FIELD_F64(struct place_row, end_bytes_per_s, UNIT_BYTES_PER_S, "end"),
	FIELD_F64(struct place_row, mean_bytes_per_s, UNIT_BYTES_PER_S, "mean"),
	FIELD_END,
};

const struct measure_table zones_tables[] = {
	{ "curve", "Transfer rate by place", curve_fields },
	{ "bands", "Recording zones", band_fields },
	{ "slow_regions", "Slow regions", slow_fields },
	{ "stretches", "Stretches that are not the media of one disk", stretch_fields },
	{ "arms", "Arms, each alone and all at once", zone_arm_fields },
	{ "unreadable", "Unreadable regions", unreadable_fields },
	{ "places", "Targets and their places on the disk", place_fields },
	{ "spots", "Bytes behind each figure", spot_fields },
	{ "samples", "Samples", zone_sample_fields },
	REQUESTS_TABLE,
	{ "layouts", "Layout of each target", zone_layout_fields },
	{ "cells", "Places", zone_cell_fields },
	{ NULL },
};

static struct table *fresh_table(struct result *res, const char *name)
{
	for (const struct measure_table *m = zones_tables; m->name; m++)
		if (strcmp(m->name, name) == 0)
			return result_table_anew(res, m->name, m->title, m->fields);
	return NULL;
}

/* ---- tables ---- */

/* The first place that was sampled at a position: the one the curve is drawn at. */
static const struct zone_sample *first_sample(const struct zone_target *t, size_t position)
{
	for (size_t i = 0; i < t->samples.n; i++)
		if (t->samples.v[i].position == position && t->samples.v[i].kind == SAMPLE_CURVE)
			return &t->samples.v[i];
	return NULL;
}

static const char *position_state(const struct zone_target *t, size_t position)
{
	if (zone_is_in_slow(&t->analysis->slows, position, true))
		return "slow";
	for (size_t i = 0; i < t->samples.n; i++)
		if (t->samples.v[i].position == position && t->samples.v[i].has_fault)
			return "errors";
	return t->analysis->levels.v[position].is_mixed ? "edge" : NULL;
}

/* half: NaN: not known. */
static struct bytes_row row_of(const struct zones_run *run, const struct zone_target *t, uint64_t first_bytes,
                               uint64_t end_bytes, double y, double half)
{
	struct interval ci = zone_rate_ci(y, half);

	return (struct bytes_row){ .first_byte = first_bytes,
		                   .last_byte = end_bytes - 1,
		                   .rate_bytes_per_s = zone_rate(y),
		                   .low = ci.low,
		                   .high = ci.high,
		                   .target = zone_target_name(run, t) };
}

static void fill_curve(const struct zones_run *run, const struct zone_target *t, struct table *table)
{
	const struct zone_analysis *a = t->analysis;

	for (size_t p = 0; p < t->layout.npositions; p++) {
		const struct zone_level *v = &a->levels.v[p];
		const struct zone_sample *s = first_sample(t, p);
		struct bytes_row row;

		if (t->layout.positions[p].is_extra || !s)
			continue;
		row = row_of(run, t, v->first_bytes, v->end_bytes, v->n ? v->y : (double)NAN, v->half);
		if (!v->n)
			row.first_byte = row.last_byte = UINT64_MAX;
		row.offset_bytes = s->first_bytes;
		row.disk_offset_bytes = t->dev->partition_offset_bytes + s->first_bytes;
		row.moved_bytes = (uint64_t)v->moved_bytes;
		row.elapsed_ns = (uint64_t)v->elapsed_ns;
		row.samples = v->n;
		row.fit_residual_ratio = (double)NAN;
		if (a->has_density)
			row.fit_residual_ratio =
				row.rate_bytes_per_s /
					density_rate(&a->density, zone_place(t, (double)s->first_bytes)) -
				1.0;
		row.state = position_state(t, p);
		result_row(table, &row);
	}
}

static void fill_bands(const struct zones_run *run, const struct zone_target *t, const struct zone_band *bands,
                       size_t n, struct table *table)
{
	for (size_t i = 0; table && i < n; i++) {
		const struct zone_band *b = &bands[i];
		struct bytes_row row = row_of(run, t, b->first_bytes, b->end_bytes, b->y, b->half);

		row.edge_half_bytes = b->edge_half_bytes;
		row.samples = b->samples;
		result_row(table, &row);
	}
}

static void fill_slow(const struct zones_run *run, const struct zone_target *t, struct table *table)
{
	for (size_t i = 0; i < t->analysis->slows.n; i++) {
		const struct zone_slow *s = &t->analysis->slows.v[i];
		struct bytes_row row = row_of(run, t, s->first_bytes, s->end_bytes, s->y, NAN);

		row.expected_bytes_per_s = zone_rate(s->expected_y);
		row.rate_to_expected_ratio = exp(s->expected_y - s->y);
		row.readings = s->readings;
		if (s->is_confirmed)
			result_row(table, &row);
	}
}

static const char *const stretch_kinds[] = { [STRETCH_FAST] = "not stored, or cached",
	                                     [STRETCH_DEVICE] = "another device or actuator",
	                                     [STRETCH_UNEVEN] = "uneven" };

static void fill_stretches(const struct zones_run *run, const struct zone_target *t, struct table *table)
{
	for (size_t i = 0; i < t->analysis->stretches.n; i++) {
		const struct zone_stretch *s = &t->analysis->stretches.v[i];
		struct bytes_row row = row_of(run, t, s->first_bytes, s->end_bytes, s->y, NAN);

		row.beside_bytes_per_s = zone_rate(s->beside_y);
		row.rate_to_beside_ratio = exp(s->beside_y - s->y);
		row.kind = stretch_kinds[s->kind];
		row.samples = s->samples;
		result_row(table, &row);
	}
}

static void fill_unreadable(const struct zones_run *run, const struct zone_target *t, struct table *table)
{
	for (size_t i = 0; i < t->nunreadable; i++) {
		const struct zone_unreadable *u = &t->unreadable[i];
		struct bytes_row row = row_of(run, t, u->first_bytes, u->end_bytes, NAN, NAN);

		row.errno_name = u->error ? err_name(u->error) : "short";
		result_row(table, &row);
	}
}

/* ---- figures ---- */

struct spot { /* a position of a target */
	const struct zone_target *t;
	size_t position;
};

static const struct zone_level *spot_level(const struct spot *s)
{
	const struct zone_level *v;

	if (!s->t || s->position == ZONE_NONE)
		return NULL;
	v = &s->t->analysis->levels.v[s->position];
	return v->n && !isnan(v->y) ? v : NULL;
}

static double spot_rate(const struct spot *s)
{
	return spot_level(s) ? zone_rate(spot_level(s)->y) : (double)NAN;
}

static void fill_places(const struct zone_target *t, struct table *table)
{
	const struct zone_layout *l = &t->layout;
	struct place_row row = { .target = t->dev->path,
		                 .disk_offset_bytes = t->dev->partition_offset_bytes,
		                 .size_bytes = t->dev->size_bytes,
		                 .start_bytes_per_s = spot_rate(&(struct spot){ t, l->start }),
		                 .middle_bytes_per_s = spot_rate(&(struct spot){ t, l->middle }),
		                 .end_bytes_per_s = spot_rate(&(struct spot){ t, l->end }),
		                 .mean_bytes_per_s =
		                         t->analysis->has_mean ? 1e9 / t->analysis->mean_ns_per_byte : (double)NAN };

	result_row(table, &row);
}

static void rate_figure(struct result *res, const char *name, const char *label, const struct spot *s)
{
	const struct zone_level *v = spot_level(s);
	struct interval ci = v ? zone_rate_ci(v->y, v->half) : (struct interval){ NAN, NAN };

	result_figure(res, name, label, UNIT_BYTES_PER_S, spot_rate(s), isnan(ci.low) ? NULL : &ci, v ? v->n : 0);
}

static void spot_figure(const struct zones_run *run, struct table *table, const char *name, const char *figure,
                        const struct spot *s)
{
	const struct zone_level *v = spot_level(s);
	struct bytes_row row;

	rate_figure(run->res, figure, name, s);
	if (!v)
		return;
	row = row_of(run, s->t, v->first_bytes, v->end_bytes, v->y, v->half);
	row.figure = name;
	row.samples = v->n;
	result_row(table, &row);
}

/* Start, middle and end of the disk as far as the targets reach: the outermost of all, and the one nearest to the
 * disk's middle. */
static void find_spots(const struct zones_run *run, struct spot *start, struct spot *middle, struct spot *end)
{
	double nearest = 2.0;

	*start = *middle = *end = (struct spot){ NULL, ZONE_NONE };
	for (size_t i = 0; i < run->ntargets; i++) {
		const struct zone_target *t = &run->targets[i];
		uint64_t at = t->dev->partition_offset_bytes;

		if (!t->analysis)
			continue;
		if (!start->t || at < start->t->dev->partition_offset_bytes)
			*start = (struct spot){ t, t->layout.start };
		if (!end->t || at > end->t->dev->partition_offset_bytes)
			*end = (struct spot){ t, t->layout.end };
		for (size_t p = 0; run->ntargets > 1 && p < t->layout.npositions; p++) {
			double off = fabs(zone_place(t, (double)t->layout.positions[p].cell_bytes +
			                                        0.5 * (double)t->layout.cell_bytes) -
			                  0.5);

			if (t->analysis->levels.v[p].n && off < nearest) {
				nearest = off;
				*middle = (struct spot){ t, p };
			}
		}
		if (run->ntargets == 1)
			*middle = (struct spot){ t, t->layout.middle };
	}
}

/* Of the rates as they are reported: no better known than the clock. */
static void ratio_figure(struct result *res)
{
	const struct figure *start = result_find_figure(res, "start_bytes_per_s"),
			    *end = result_find_figure(res, "end_bytes_per_s");
	struct stats_estimate ratio = stats_ratio((struct stats_estimate){ figure_number(end), end->ci },
	                                          (struct stats_estimate){ figure_number(start), start->ci });

	result_figure(res, "end_to_start_ratio", "end / start", UNIT_RATIO, ratio.value, &ratio.ci,
	              start->samples + end->samples);
}

static void lowest_figure(const struct zones_run *run)
{
	struct spot low = { NULL, ZONE_NONE };
	bool is_whole = true;

	for (size_t i = 0; i < run->ntargets; i++) {
		const struct zone_target *t = &run->targets[i];

		is_whole = is_whole && t->analysis && t->analysis->has_mean;
		for (size_t p = 0; t->analysis && p < t->layout.npositions; p++) {
			struct spot one = { t, p };

			if (spot_level(&one) && !(spot_rate(&one) >= spot_rate(&low))) /* NaN: there is none yet */
				low = one;
		}
	}
	if (!is_whole)
		low.t = NULL; /* a part of the curve says nothing about everywhere */
	rate_figure(run->res, "lowest_bytes_per_s", "lowest rate", &low);
}

/* Mean over all targets: of time per byte, weighted by size. */
static void mean_figures(const struct zones_run *run)
{
	struct result *res = run->res;
	bool is_read = !run->p->write && !run->p->rewrite, is_known = true;
	struct stats_estimate ns = { 0.0, { 0.0, 0.0 } };
	double bytes = 0.0, disk;
	struct interval ci;
	uint64_t n = 0;

	for (size_t i = 0; i < run->ntargets; i++) {
		const struct zone_target *t = &run->targets[i];
		double size = (double)(t->layout.end_bytes - t->layout.first_bytes);

		is_known = t->analysis && t->analysis->has_mean;
		if (!is_known)
			break;
		bytes += size;
		ns = stats_sum(
			ns, stats_times((struct stats_estimate){ t->analysis->mean_ns_per_byte, t->analysis->mean_ci },
		                        size));
		n += t->analysis->levels.samples;
	}
	ci = (struct interval){ 1e9 * bytes / ns.ci.high, 1e9 * bytes / ns.ci.low };
	/* Samples that differ by as much as they are say nothing of how fast it may be. */
	result_figure(res, "mean_bytes_per_s", "mean rate", UNIT_BYTES_PER_S,
	              is_known ? 1e9 * bytes / ns.value : (double)NAN, is_known && ns.ci.low > 0.0 ? &ci : NULL, n);
	/* Of the whole disk when nearly all of it was covered, else of what was given. */
	disk = (double)(run->targets[0].dev->disk_size_bytes ? run->targets[0].dev->disk_size_bytes
	                                                     : run->targets[0].dev->size_bytes);
	if (bytes < 0.95 * disk)
		disk = bytes;
	ns = stats_times(ns, disk / bytes * 1e-9);
	result_figure(res, is_read ? "read_all_s" : "write_all_s", is_read ? "time to read all" : "time to fill it",
	              UNIT_S, is_known ? ns.value : (double)NAN, is_known ? &ns.ci : NULL, n);
}

/* A change in time, or bursts: how fast it was, and how fast it lasts. */
static void regime_figures(const struct zones_run *run, const struct zone_target *t, bool is_final)
{
	const struct zone_regime *g = &t->analysis->levels.regime;
	struct result *res = run->res;
	double burst = g->before_bytes_per_s, lasting = g->after_bytes_per_s;
	size_t before_n = g->before_n, after_n = g->after_n;
	bool is_in_bursts = zone_is_in_bursts(&t->samples, t->layout.npositions, &burst, &lasting, &before_n);
	char a[32], b[32], c[32];

	if (!is_in_bursts && !g->is_found)
		return;
	result_figure(res, "burst_bytes_per_s",
	              is_in_bursts    ? "rate in bursts"
	              : g->step > 0.0 ? "at first (credit)"
	                              : "at first",
	              UNIT_BYTES_PER_S, burst, is_in_bursts ? NULL : &g->before_ci, before_n);
	result_figure(res, "sustained_bytes_per_s", is_in_bursts ? "rate all in all" : "rate later", UNIT_BYTES_PER_S,
	              lasting, is_in_bursts ? NULL : &g->after_ci, is_in_bursts ? before_n : after_n);
	if (!is_in_bursts)
		result_figure(res, "burst_bytes", "bytes moved until the change", UNIT_BYTES, g->before_bytes, NULL, 0);
	if (!is_final) /* its numbers change */
		return;
	units_rate(a, sizeof(a), burst);
	units_bytes_dec(b, sizeof(b), (uint64_t)g->before_bytes);
	units_rate(c, sizeof(c), lasting);
	if (is_in_bursts)
		result_notice(
			res, "bursts",
			"%s gave data in bursts, of %s in the median, with pauses between, and %s all in all: storage behind a limit (a cgroup's, "
			"a provider's), or a machine with other work. What lasts is the second; the rates by place are of bursts, and show nothing about places.",
			t->dev->path, a, c);
	else
		result_notice(
			res, g->step > 0.0 ? "token-bucket" : "speed-up",
			g->step > 0.0
				? "%s ran at %s for the first %s and at %s from then on, wherever it was read: storage behind a limit with "
				  "a credit. The curve shows what it does without credit."
				: "%s ran at %s for the first %s and at %s from then on, wherever it was read: it was not idle at first. "
				  "The curve shows the later.",
			t->dev->path, a, b, c);
}

/* The time that it took, beside the least that physics allow for intervals of these widths. */
static void time_figures(const struct zones_run *run, const struct zone_target *t)
{
	double used = 1e-9 * zone_used_ns(t), least = 1e-9 * zone_least_ns(t);

	if (t->layout.is_whole || isnan(used) || isnan(least))
		return;
	result_figure(run->res, "used_s", "time used", UNIT_S, used, NULL, 0);
	result_figure(run->res, "bound_s", "least time for these intervals, by physics", UNIT_S, least, NULL, 0);
	result_figure(run->res, "used_to_bound_ratio", "used / least", UNIT_RATIO, used / least, NULL, 0);
}

/* What is only said of a single target. */
static void single_figures(const struct zones_run *run, const struct zone_target *t, bool is_final)
{
	const struct zone_analysis *a = t->analysis;
	struct result *res = run->res;
	double last_s = t->samples.n ? t->samples.v[t->samples.n - 1].at_s : 0.0, first_s;
	struct interval ci;

	if (a->has_density) {
		result_figure(res, "fit_start_bytes_per_s", "smooth fit: start", UNIT_BYTES_PER_S, a->density.r0, NULL,
		              0);
		result_figure(res, "fit_end_to_start_ratio", "smooth fit: end / start", UNIT_RATIO, a->density.r, NULL,
		              0);
		result_figure(res, "fit_residual_ratio", "smooth fit: rms residual", UNIT_RATIO, a->density.rms_ratio,
		              NULL, 0);
	}
	if (!isnan(a->levels.drift_ci.low)) {
		first_s = t->samples.v[0].at_s;
		ci = (struct interval){ -a->levels.drift_ci.high * (last_s - first_s),
			                -a->levels.drift_ci.low * (last_s - first_s) };
		result_figure(res, "drift_ratio", "drift of the rate during the run", UNIT_RATIO,
		              -a->levels.drift_per_s * (last_s - first_s), &ci, a->levels.samples);
	}
	result_figure(res, "noise_ratio", "scatter of one sample", UNIT_RATIO, a->levels.sigma[ZONE_SHORT], NULL,
	              a->levels.samples);
	result_figure(res, "lost_time_ratio", "time lost in disturbed samples", UNIT_RATIO, a->levels.lost_ratio, NULL,
	              a->levels.samples);
	result_figure_u64(res, "disturbed_samples", "disturbed samples", UNIT_COUNT, a->levels.outliers);
	if (isfinite(a->slows.least_loss))
		result_figure(res, "slow_least_loss_ratio", "least loss reported as a slow region", UNIT_RATIO,
		              a->slows.least_loss, NULL, 0);
	time_figures(run, t);
	if (!isnan(t->layout.interface_bytes_per_s) && t->layout.rev_ns != 0.0) /* what is flat has no other rate */
		result_figure(res, "interface_bytes_per_s", "rate from the drive's buffer", UNIT_BYTES_PER_S,
		              t->layout.interface_bytes_per_s, NULL, 0);
	if (!run->p->places && !a->has_no_zones)
		result_figure(res, "least_step_ratio", "least step seen as an edge", UNIT_RATIO, a->bands.least_step,
		              NULL, 0);
	regime_figures(run, t, is_final);
}

static void count_figures(const struct zones_run *run)
{
	struct result *res = run->res;
	uint64_t bands = 0, slow = 0, bad = 0, stretches = 0;
	bool has_zones = false, may_hide = false;

	for (size_t i = 0; i < run->ntargets; i++) {
		const struct zone_target *t = &run->targets[i];

		bad += t->nunreadable;
		if (!t->analysis)
			continue;
		has_zones |= !t->analysis->has_no_zones;
		bands += t->analysis->bands.n;
		may_hide |= t->analysis->hides_zones || t->analysis->bands.is_least;
		stretches += t->analysis->stretches.n;
		for (size_t k = 0; k < t->analysis->slows.n; k++)
			slow += t->analysis->slows.v[k].is_confirmed;
	}
	/* Taken back where the last samples made an end of them. */
	if (!run->p->places && (has_zones || result_find_figure(res, "bands")))
		result_figure_u64(res, "bands", may_hide ? "recording zones, at least" : "recording zones", UNIT_COUNT,
		                  bands ? bands : UINT64_MAX);
	result_figure_u64(res, "slow_regions", "slow regions", UNIT_COUNT, slow);
	if (stretches)
		result_figure_u64(res, "stretches", "stretches that are not of one disk's media", UNIT_COUNT,
		                  stretches);
	result_figure_u64(res, "unreadable_regions", "unreadable regions", UNIT_COUNT, bad);
	if (run->failed_writes)
		result_figure_u64(res, "failed_writes", "failed writes", UNIT_COUNT, run->failed_writes);
}

/* Whether the rate at the start is the link's: by the buffer, and by the first sample's large requests. */
static void note_link(const struct zones_run *run, double start_bytes_per_s)
{
	const struct zone_target *t = &run->targets[0];
	const struct zone_sample *s = &t->samples.v[0]; /* with a rate at the start there is one */

	link_say(run->res, t->dev, t->layout.interface_bytes_per_s, start_bytes_per_s, t->layout.block_bytes);
	if (s->kind == SAMPLE_PROBE && s->is_good && s->request_bytes > t->layout.block_bytes)
		link_say_by_size(run->res, t->dev, 1e9 / s->ns_per_byte, start_bytes_per_s, t->layout.block_bytes);
}

static void fill_figures(struct zones_run *run, bool is_final)
{
	struct result *res = run->res;
	struct table *spots = fresh_table(res, "spots");
	struct spot start, middle, end;

	find_spots(run, &start, &middle, &end);
	spot_figure(run, spots, "start", "start_bytes_per_s", &start);
	spot_figure(run, spots, "middle", "middle_bytes_per_s", &middle);
	spot_figure(run, spots, "end", "end_bytes_per_s", &end);
	ratio_figure(res);
	if (is_final && spot_level(&start) && run->ses) /* NULL: a document is analysed again */
		note_link(run, spot_rate(&start));
	mean_figures(run);
	lowest_figure(run);
	if (run->ntargets == 1 && run->targets[0].analysis)
		single_figures(run, &run->targets[0], is_final);
	count_figures(run);
}

void zones_report(struct zones_run *run, bool is_final)
{
	struct result *res = run->res;
	struct table *curve = fresh_table(res, "curve"), *slow = fresh_table(res, "slow_regions");
	struct table *bands = run->p->places ? NULL : fresh_table(res, "bands"), *bad = fresh_table(res, "unreadable");
	struct table *places = run->ntargets > 1 ? fresh_table(res, "places") : NULL;
	struct table *stretches = fresh_table(res, "stretches"), *samples = fresh_table(res, "samples");
	struct table *layouts = fresh_table(res, "layouts"), *cells = fresh_table(res, "cells");

	for (size_t i = 0; i < run->ntargets; i++) {
		const struct zone_target *t = &run->targets[i];

		fill_unreadable(run, t, bad);
		zone_keep(run, t, layouts, cells, samples);
		if (!t->analysis)
			continue;
		fill_curve(run, t, curve);
		fill_slow(run, t, slow);
		fill_stretches(run, t, stretches);
		fill_bands(run, t, t->analysis->bands.v, t->analysis->bands.n, bands);
		if (places)
			fill_places(t, places);
	}
	fill_figures(run, is_final);
	zone_extent_report(run, is_final);
}
