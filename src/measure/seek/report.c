/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is reported of a run: figures, the parts of an access, pictures. From what is in seek_run, nothing is measured
 * here.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
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

/* How what the drive's cache had, or might have had, was read from the media. */
static void past_the_cache(struct seek_run *s)
{
	uint64_t bytes = (uint64_t)s->rot.flush_reads * s->rot.flush_bytes;
	char text[32];

	if (s->t.fua)
		result_notice(
			s->res, "past-cache",
			"FUA bypassed the drive's cache: a block that it answered at once took a revolution each time with FUA.");
	else if (s->rot.is_fresh)
		result_notice(
			s->res, "past-cache",
			"Neither reads of %s elsewhere nor FUA cleared the drive's cache: the rotation is from sectors that were read only once, and what the cache answered could not be read again.",
			units_bytes(text, sizeof(text), bytes));
	else if (bytes)
		result_figure_u64(s->res, "cleared_bytes", "reads elsewhere that cleared its cache", UNIT_BYTES, bytes);
}

void seek_report_rotation(struct seek_run *s)
{
	struct result *res = s->res;
	struct interval ci = { NAN, NAN };
	double rpm = 60e9 / s->rot.period_ns;

	if (!s->rot.is_rotating) {
		result_figure(res, "rotation_rpm", "rotation", UNIT_RPM, NAN, NULL, 0);
		result_figure(res, "track_to_track_ns", "seek, track to track", UNIT_NS, NAN, NULL, 0);
		result_figure(res, "average_seek_ns", "average seek", UNIT_NS, NAN, NULL, 0);
		result_figure(res, "full_stroke_ns", "seek, full stroke", UNIT_NS, NAN, NULL, 0);
		(void)rotation_say(res, &s->rot, &s->ses->devs[0]);
		return;
	}
	ci.low = rpm * (1.0 - STATS_95 * s->rot.se_ns / s->rot.period_ns);
	ci.high = rpm * (1.0 + STATS_95 * s->rot.se_ns / s->rot.period_ns);
	result_figure(res, "rotation_rpm", "rotation", UNIT_RPM, rpm, &ci, s->rot.events);
	past_the_cache(s);
	(void)rotation_say(res, &s->rot, &s->ses->devs[0]);
}

void seek_report_overhead(struct seek_run *s)
{
	const struct seek_known *k = &s->known;
	char text[32];

	if (k->hits.without_ns > 0.0)
		result_figure(s->res, "sector_hit_ns", "a sector from the drive's cache, without its transfer", UNIT_NS,
		              k->hits.without_ns, NULL, 0);
	if (k->overhead.restart_ns > 0.0)
		result_notice(
			s->res, "restart",
			"A read that goes on with what the drive is reading takes %s less than one that comes back to the same track: the drive needs so long to find its place again, or has a shorter way for what it reads ahead. The overhead is that of the former; intervals reach to that of the latter.",
			units_time(text, sizeof(text), (uint64_t)k->overhead.restart_ns));
	if (isfinite(k->overhead.ns))
		return;
	if (seek_is_cut(s, SEEK_OVERHEAD))
		result_notice(
			s->res, "overhead",
			"There was no time to find the command overhead: times with overhead are given, and no seek time by itself. A longer run looks for it.");
	else
		result_notice(
			s->res, "overhead",
			"The command overhead could not be separated from the seek: no equal tracks were found on which the head stays. Times with overhead are given, and no seek time by itself.");
}

/* What reaches further to either side than it is large, or nobody knows how far, is not reported. */
static struct stats_estimate enough_seen(struct stats_estimate e)
{
	return interval_half(e.ci) <= fabs(e.value) ? e : STATS_UNKNOWN;
}

/* A seek time, and the same with the overhead, which is known even where the overhead is not. n: reads. */
static void seek_figure(const struct seek_run *s, const char *name, const char *title, struct stats_estimate arrives,
                        size_t n)
{
	const struct stats_estimate seek = enough_seen(seek_less_overhead(&s->known, arrives));
	char key[64], text[96];

	(void)snprintf(key, sizeof(key), "%s_ns", name);
	arrives = enough_seen(arrives);
	result_figure(s->res, key, title, UNIT_NS, seek.value, &seek.ci, n);
	(void)snprintf(key, sizeof(key), "%s_with_overhead_ns", name);
	(void)snprintf(text, sizeof(text), "%s, with overhead", title);
	result_figure(s->res, key, text, UNIT_NS, arrives.value, &arrives.ci, n);
}

static void fit_figures(const struct seek_run *s)
{
	const struct seek_fit *f = &s->known.fit;
	struct stats_estimate a = seek_less_overhead(&s->known, f->a), c = seek_less_overhead(&s->known, f->c);
	char text[32];

	result_estimate(s->res, "fit_a_ns", "fit near: a + b sqrt(d), a", UNIT_NS, &a);
	result_estimate(s->res, "fit_b_ns", "fit near, b (d: part of the stroke)", UNIT_NS, &f->b);
	if (isfinite(f->knee.value)) {
		result_estimate(s->res, "fit_c_ns", "fit far: c + e d, c", UNIT_NS, &c);
		result_estimate(s->res, "fit_e_ns", "fit far, e", UNIT_NS, &f->e);
		result_estimate(s->res, "fit_knee_ratio", "fit: where near and far meet", UNIT_RATIO, &f->knee);
	}
	if (!(f->misfit > 0.0))
		return;
	result_figure(s->res, "fit_misfit_ns", "fit: distance from the points", UNIT_NS, f->misfit, NULL, 0);
	result_notice(
		s->res, "fit-misfit",
		"The points miss the fit a + b sqrt(d), c + e d by %s (root mean square), more than by chance. Take seek times from the smooth curve, as the figures do, not from the fit.",
		units_time(text, sizeof(text), (uint64_t)f->misfit));
}

static void time_figures(struct seek_run *s)
{
	const struct seek_known *k = &s->known;
	struct result *res = s->res;
	const struct curve *curve = &k->curve;
	size_t n = s->samples->nrandom;

	if (!curve->is_known && s->samples->naimed)
		result_notice(
			s->res, "no-curve",
			curve->falls
				? "Seek times not reported: long seeks measured faster than short ones. Several disks or actuators may be behind one name: give the parts, to measure each by itself. Or the drive's cache answered, or the machine was late."
				: "Seek times not reported: the accesses that reached the media are too few, or too scattered, for a curve.");
	if (!curve->is_known)
		return;
	for (size_t i = 0; i < s->samples->naimed; i++)
		n += s->samples->aimed[i].is_known ? s->samples->aimed[i].fit.n : 0;
	seek_figure(s, "track_to_track", "seek, track to track", k->track, 0);
	seek_figure(s, "average_seek", "average seek", curve->average, n);
	seek_figure(s, "third_stroke", "seek, a third of the stroke", k->third, n);
	seek_figure(s, "full_stroke", "seek, full stroke", k->full, n);
	result_figure(res, "overhead_ns", "command overhead", UNIT_NS, k->overhead.ns, &k->overhead.ci, 0);
	if (interval_half(k->overhead.ci) > 0.5 * k->overhead.ns)
		result_notice(
			res, "overhead-wide",
			"Reads ahead of the head take no longer than what the cache answers, so the overhead may be more, up to the shortest access. Seek times without it are as uncertain; those with overhead are not.");
	fit_figures(s);
}

/* How seeks scatter about their median, and how often an access comes whole revolutions late for no reason of its own.
 */
static void scatter_figures(struct seek_run *s)
{
	struct interval ci = stats_share_ci(s->known.scatter.missed.missed, s->known.scatter.missed.of);

	if (isfinite(s->known.scatter.ns))
		result_figure(s->res, "seek_scatter_ns", "scatter of seeks", UNIT_NS, s->known.scatter.ns,
		              &s->known.scatter.ci, 0);
	if (s->known.scatter.missed.of < 20)
		return;
	result_figure(s->res, "missed_revolution_ratio", "accesses a revolution or more late", UNIT_RATIO,
	              (double)s->known.scatter.missed.missed / (double)s->known.scatter.missed.of, &ci,
	              s->known.scatter.missed.of);
}

void seek_report_figures(struct seek_run *s)
{
	time_figures(s);
	scatter_figures(s);
}

void seek_report_parts(struct seek_run *s)
{
	const struct seek_known *k = &s->known;
	double transfer, arrival, half = k->places.period_ns / 2.0;
	struct part_row rows[6];
	struct table *t;
	size_t n = 0;

	if (!k->curve.is_known || !isfinite(s->whole.mean_ns))
		return;
	transfer = seek_transfer(k, 0.5 * (double)k->places.size_bytes);
	arrival = seek_mean_arrival(k, &k->curve, 0, k->places.size_bytes);
	if (isfinite(k->overhead.ns)) {
		rows[n++] = (struct part_row){ "command overhead", k->overhead.ns };
		rows[n++] = (struct part_row){ "seek, mean over the device", arrival - k->overhead.ns };
	} else {
		rows[n++] = (struct part_row){ "command overhead and seek, mean over the device", arrival };
	}
	rows[n++] = (struct part_row){ "half a revolution", half };
	rows[n++] = (struct part_row){ "transfer", transfer };
	rows[n++] = (struct part_row){ "sum of the parts", arrival + half + transfer };
	rows[n++] = (struct part_row){ "measured, whole device", s->whole.mean_ns };
	t = result_table(s->res, "parts", "Parts of a random access", seek_part_fields);
	for (size_t i = 0; i < n; i++)
		result_row(t, &rows[i]);
}

void seek_report_plots(const struct seek_run *s)
{
	const bool turns = s->rot.is_rotating;
	const struct plot plots[] = {
		{ .name = "accesses",
		  .see = "Each dot is a read: in the band it waited for less than a revolution, above it a revolution was lost.",
		  .kind = "line",
		  .title = "Every read, by how far the head moved",
		  .table = "smooth",
		  .x = "stroke_ratio",
		  .y = "with_overhead_ns,latest_ns",
		  .low = "with_overhead_ns",
		  .high = "latest_ns",
		  .dots = "accesses:stroke_ratio:access_ns" },
		{ .name = "spans",
		  .see = turns ? "Reads spread over a wider span take longer; at the left end only the rotation is left."
		               : "Where the line is flat, it does not matter how far reads are spread.",
		  .kind = "line",
		  .title = "Service time against span",
		  .table = "spans",
		  .x = "span_bytes",
		  .y = "mean_ns",
		  .low = "low",
		  .high = "high",
		  .series = "anchor" },
		{ .name = "curve",
		  .see = "Steep over short distances, while the actuator accelerates; then nearly straight, at full speed.",
		  .kind = "scatter",
		  .title = "Seek time against distance",
		  .table = "curve",
		  .x = "stroke_ratio",
		  .y = "seek_ns",
		  .low = "low",
		  .high = "high" },
		{ .name = "queue",
		  .see = turns ? "With more requests to choose from, the drive seeks less; where the line is flat, more depth only adds waiting."
		               : "The device works at several requests at once; where the line is flat, more depth is only waiting.",
		  .kind = "line",
		  .title = "IOPS against queue depth",
		  .table = "queue",
		  .x = "depth",
		  .y = "iops",
		  .low = "low",
		  .high = "high" },
	};

	for (size_t i = 0; i < ARRAY_LEN(plots); i++) {
		if (i == 2)
			distribution_plots(s->res, "random reads over the whole device",
			                   "figures:random_access_p50_ns,figures:random_access_p99_ns");
		result_plot(s->res, &plots[i]);
	}
}
