/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is told of a run: figures, the parts of an access, pictures. From what is in seek_run, nothing is measured here.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "measure/seek/seek.h"
#include "measure/shared/distribution.h"

struct part_row {
	const char *part;
	double time_ns;
};

const struct field seek_part_fields[] = {
	FIELD_STR(struct part_row, part, "part"),
	FIELD_F64(struct part_row, time_ns, UNIT_NS, "time"),
	FIELD_END,
};

/* It holds what was read, or to have it forget takes so long that no sector was seen twice. */
static bool is_for_the_cache(const struct seek_run *s)
{
	return s->rot.is_unclear && (s->rot.is_held || (!s->rot.events && s->rot.flush_reads));
}

static void not_rotating(struct seek_run *s)
{
	char text[32];

	if (is_for_the_cache(s)) {
		(void)units_bytes(text, sizeof(text), (uint64_t)s->rot.flush_reads * s->rot.flush_bytes);
		result_notice(
			s->res, "cache-holds",
			s->rot.is_held
				? "What was read before is answered by the drive's cache even after reads of %s elsewhere: whether it rotates could not be found out."
				: "What was read before is answered by the drive's cache until %s are read elsewhere, for which there was no time: whether it rotates could not be found out. Give a longer --time.",
			text);
		return;
	}
	if (s->rot.is_unclear) {
		result_notice(
			s->res, "rotation-unclear",
			"No rotation was found in the times of %zu reads, which are as slow as a disk's. Either nothing rotates, or answers came too late: repeat when machine and device are idle.",
			s->rot.events);
		return;
	}
	if (s->rot.anywhere_ns > 0.0)
		result_notice(
			s->res, "not-rotating",
			"A read anywhere takes %s, as long as a repeated one: the device does not rotate and has no seek curve.",
			units_time(text, sizeof(text), (uint64_t)s->rot.anywhere_ns));
	else
		result_notice(
			s->res, "not-rotating",
			"No rotation was found in the times of %zu reads of one sector: the device does not rotate and has no seek curve.",
			s->rot.events);
}

/* How what the drive's cache had, or might have had, was read from the media. */
static void past_the_cache(struct seek_run *s)
{
	char text[32];

	(void)units_bytes(text, sizeof(text), (uint64_t)s->rot.flush_reads * s->rot.flush_bytes);
	if (s->t.fua)
		result_notice(
			s->res, "past-cache",
			"The drive's cache was passed by with FUA: a block that it answered at once took a revolution each time it was read so.");
	else if (s->rot.is_fresh)
		result_notice(
			s->res, "past-cache",
			"The drive's cache did not forget by reads of %s elsewhere, and FUA does not pass it by: the rotation is from sectors that were read once only, and what the cache answered could not be read again.",
			text);
	else if (s->rot.flush_reads)
		result_notice(s->res, "past-cache",
		              "The drive's cache forgot what was read before by reads of %s elsewhere.", text);
}

void seek_tell_rotation(struct seek_run *s)
{
	struct result *res = s->res;
	struct interval ci = { NAN, NAN };
	double rpm = 60e9 / s->rot.period_ns;

	if (!s->rot.is_rotating) {
		result_figure(res, "rotation_rpm", "rotation", UNIT_RPM, NAN, NULL, 0);
		result_figure(res, "track_to_track_ns", "seek, track to track", UNIT_NS, NAN, NULL, 0);
		result_figure(res, "average_seek_ns", "average seek", UNIT_NS, NAN, NULL, 0);
		result_figure(res, "full_stroke_ns", "seek, full stroke", UNIT_NS, NAN, NULL, 0);
		not_rotating(s);
		if (s->ses->devs[0].rotational == 1 && !s->rot.is_unclear)
			result_notice(res, "says-rotating",
			              "The kernel calls %s rotational, but it does not behave so.",
			              s->ses->devs[0].name);
		return;
	}
	ci.low = rpm * (1.0 - 1.96 * s->rot.se_ns / s->rot.period_ns);
	ci.high = rpm * (1.0 + 1.96 * s->rot.se_ns / s->rot.period_ns);
	result_figure(res, "rotation_rpm", "rotation", UNIT_RPM, rpm, &ci, s->rot.events);
	past_the_cache(s);
	if (s->ses->devs[0].rotational == 0)
		result_notice(res, "says-not-rotating",
		              "The kernel calls %s not rotational, but reads of one sector come once a revolution.",
		              s->ses->devs[0].name);
}

/* Mean of the fitted curve, overhead and seek, over uniform pairs of bytes, which is what random reads do: outer
 * cylinders hold more of them. */
static double mean_over_bytes(const struct seek_run *s)
{
	double sum = 0.0;
	int steps = 200;

	for (int i = 0; i < steps; i++)
		for (int k = 0; k < steps; k++)
			sum += seek_arrival(s, fabs(seek_stroke_of(s, ((double)i + 0.5) / steps) -
			                            seek_stroke_of(s, ((double)k + 0.25) / steps)));
	return sum / (steps * steps);
}

/* A seek time, and the same with the overhead, which is known even where the overhead is not. */
static void arrival_figure(const struct seek_run *s, const char *name, const char *title, const struct arrival *a)
{
	struct stats_estimate seek = seek_less_overhead(s, a->median, a->ci);
	const char *which = seek_of(s, "", "write_"), *whose = seek_of(s, "", "writes: ");
	char key[64], text[96];

	(void)snprintf(key, sizeof(key), "%s%s", which, name);
	(void)snprintf(text, sizeof(text), "%s%s", whose, title);
	result_figure(s->res, key, text, UNIT_NS, seek.value, &seek.ci, a->n);
	(void)snprintf(key, sizeof(key), "%s%.*s_with_overhead_ns", which, (int)(strlen(name) - 3), name);
	(void)snprintf(text, sizeof(text), "%s%s, with overhead", whose, title);
	result_figure(s->res, key, text, UNIT_NS, a->median, &a->ci, a->n);
}

static void time_figures(struct seek_run *s)
{
	struct result *res = s->res;
	const struct seek_fit_ci *ci = &s->fit_ci;
	struct stats_estimate a, c;

	if (s->has_no_curve)
		result_notice(
			s->res, "no-curve",
			"Seek times not reported: long seeks measured faster than short ones on a drive with one actuator. Its cache may have answered, or the machine was late.");
	else if (!s->has_fit && s->naimed && !s->is_writing)
		result_notice(
			s->res, "no-curve",
			"Seek times not reported: the accesses that reached the media are too few, or too scattered, for a curve.");
	if (!s->has_fit)
		return;
	a = seek_less_overhead(s, s->fit.a, ci->a);
	c = seek_less_overhead(s, s->fit.c, ci->c);
	arrival_figure(s, "track_to_track_ns", "seek, track to track", &s->track);
	arrival_figure(s, "average_seek_ns", "average seek", &s->average);
	arrival_figure(s, "third_stroke_ns", "seek, a third of the stroke", &s->third);
	arrival_figure(s, "full_stroke_ns", "seek, full stroke", &s->full);
	result_figure(res, seek_of(s, "overhead_ns", "write_overhead_ns"),
	              seek_of(s, "command overhead", "writes: command overhead"), UNIT_NS, s->overhead_ns,
	              &s->overhead_ci, 0);
	if (s->is_writing)
		return;
	if (interval_half(s->overhead_ci) > 0.5 * s->overhead_ns)
		result_notice(
			res, "overhead-wide",
			"Reads ahead of the head take no longer than what the cache answers, so the overhead may be more, up to the shortest access. Seek times without it are as uncertain; those with overhead are not.");
	if (s->is_split) {
		result_notice(
			res, "not-one-arm",
			"Far seeks take less than near ones: this is not one arm over one stroke, but several arms or disks behind one name. Seek times over parts of the stroke mean nothing then; give the parts to measure each by itself.");
		return;
	}
	result_estimate(res, "fit_a_ns", "fit near: a + b sqrt(d), a", UNIT_NS, &a);
	result_figure(res, "fit_b_ns", "fit near, b (d: part of the stroke)", UNIT_NS, s->fit.b, &ci->b, 0);
	if (isfinite(s->fit.knee)) {
		result_estimate(res, "fit_c_ns", "fit far: c + e d, c", UNIT_NS, &c);
		result_figure(res, "fit_e_ns", "fit far, e", UNIT_NS, s->fit.e, &ci->e, 0);
		result_figure(res, "fit_knee_ratio", "where the pieces meet", UNIT_RATIO, s->fit.knee, &ci->knee, 0);
	}
}

/* How seeks scatter about their median, and how often an access comes whole revolutions late for no reason of its own.
 */
static void scatter_figures(struct seek_run *s)
{
	struct interval ci = stats_share_ci(s->missed.missed, s->missed.of);

	if (isfinite(s->scatter_ns))
		result_figure(s->res, "seek_scatter_ns", "scatter of seeks", UNIT_NS, s->scatter_ns, &s->scatter_ci, 0);
	if (s->missed.of < 20)
		return;
	result_figure(s->res, "missed_revolution_ratio", "accesses a revolution or more late", UNIT_RATIO,
	              (double)s->missed.missed / (double)s->missed.of, &ci, s->missed.of);
}

void seek_tell_figures(struct seek_run *s)
{
	time_figures(s);
	if (s->is_writing)
		return;
	scatter_figures(s);
	if (s->has_fit && !s->is_split && s->misfit_ns > 0.0) {
		char text[32];

		result_figure(s->res, "fit_misfit_ns", "fit: beside the points by", UNIT_NS, s->misfit_ns, NULL, 0);
		result_notice(
			s->res, "fit-misfit",
			"The points lie beside the fit a + b sqrt(d), c + e d by %s (root of the mean square), which chance does not explain: take seek times from the smooth curve, which the figures are from, and not from the fit.",
			units_time(text, sizeof(text), (uint64_t)s->misfit_ns));
	}
}

void seek_tell_parts(struct seek_run *s)
{
	struct table *t;
	double transfer, arrival, half = s->rot.period_ns / 2.0;
	struct part_row rows[6];
	size_t n = 0;

	if (!s->has_fit || !isfinite(s->whole_mean_ns))
		return;
	transfer = s->t.block_bytes / (seek_track_bytes(s, 0.5) * s->track_ratio) * s->rot.period_ns;
	arrival = mean_over_bytes(s);
	if (isfinite(s->overhead_ns)) {
		rows[n++] = (struct part_row){ "command overhead", s->overhead_ns };
		rows[n++] = (struct part_row){ "seek, mean over the device", arrival - s->overhead_ns };
	} else {
		rows[n++] = (struct part_row){ "command overhead and seek, mean over the device", arrival };
	}
	rows[n++] = (struct part_row){ "half a revolution", half };
	rows[n++] = (struct part_row){ "transfer", transfer };
	rows[n++] = (struct part_row){ "sum of the parts", arrival + half + transfer };
	rows[n++] = (struct part_row){ "measured, whole device", s->whole_mean_ns };
	t = result_table(s->res, "parts", "Parts of a random access", seek_part_fields);
	for (size_t i = 0; i < n; i++)
		result_row(t, &rows[i]);
}

void seek_tell_plots(const struct seek_run *s)
{
	const bool turns = s->rot.is_rotating;
	struct result *res = s->res;

	result_plot(
		res,
		&(struct plot_decl){
			.name = "accesses",
			.see = "Each dot is a read. In the band it came by within a revolution; above it, a revolution was lost.",
			.kind = "line",
			.title = "Every read, by how far the head moved",
			.table = "smooth",
			.x = "stroke_ratio",
			.y = "with_overhead_ns,latest_ns",
			.low = "with_overhead_ns",
			.high = "latest_ns",
			.dots = "accesses:stroke_ratio:access_ns" });
	result_plot(
		res,
		&(struct plot_decl){
			.name = "spans",
			.see = turns ? "The wider the part of the disk that reads are spread over, the longer each takes; at the left it is the rotation alone."
	                             : "Where the line is flat, it does not matter how far reads are spread.",
			.kind = "line",
			.title = "Service time against span",
			.table = "spans",
			.x = "span_bytes",
			.y = "mean_ns",
			.low = "low",
			.high = "high",
			.series = "anchor" });
	distribution_plots(res, "random reads over the whole device",
	                   "figures:random_access_p50_ns,figures:random_access_p99_ns");
	result_plot(
		res,
		&(struct plot_decl){
			.name = "curve",
			.see = "A steep rise over short ways, while the arm speeds up, then nearly a straight line, while it moves at full speed.",
			.kind = "scatter",
			.title = "Seek time against distance",
			.table = "curve",
			.x = "stroke_ratio",
			.y = "seek_ns",
			.low = "low",
			.high = "high" });
	if (result_find_table(res, "write_curve"))
		result_plot(res,
		            &(struct plot_decl){ .name = "write_curve",
		                                 .see = "As above, but the head has to be at rest before it may write.",
		                                 .kind = "scatter",
		                                 .title = "Seek time of writes against distance",
		                                 .table = "write_curve",
		                                 .x = "stroke_ratio",
		                                 .y = "seek_ns",
		                                 .low = "low",
		                                 .high = "high" });
	result_plot(
		res,
		&(struct plot_decl){
			.name = "queue",
			.see = turns ? "With more requests to choose from, the drive finds shorter ways; where the line is flat, more depth is only waiting."
	                             : "The device works at several requests at once; where the line is flat, more depth is only waiting.",
			.kind = "line",
			.title = "IOPS against queue depth",
			.table = "queue",
			.x = "depth",
			.y = "iops",
			.low = "low",
			.high = "high" });
}
