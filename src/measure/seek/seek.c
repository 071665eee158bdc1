/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random access: service time against span (spans.c), the seek curve (curve.c), the figures of a data sheet from it, and what a queue
 * brings. The rotation period is found on the way (timed.c). A device without rotation gets spans and queue only, and is told so.
 */
#include "measure/seek/seek.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "measure/shared/distribution.h"

static const struct opt seek_opts[] = {
	OPT_FLAG(struct seek_params, quick, "quick", 0,
	         "a short run: spans at the start only, fewer distances, wider intervals"),
	OPT_BYTES(struct seek_params, block_bytes, "block", 'b', "SIZE", NULL,
	          "size of each read; default 4 KiB or the physical sector", .min = 512, .max = 1048576),
	OPT_U64(struct seek_params, reads, "reads", 0, "N", "100", "reads of each span at least", .min = 40,
	        .max = 10000),
	OPT_TIME(struct seek_params, span_ns, "span-time", 0, "TIME", "1s",
	         "time of each span, where the precision needs it", .min = 1e6, .max = 1e13),
	OPT_FLAG(struct seek_params, no_curve, "no-curve", 0, "leave out the seek curve"),
	OPT_FLAG(struct seek_params, no_queue, "no-queue", 0, "leave out the queue"),
	OPT_STR(struct seek_params, iolog, "emit-iolog", 0, "FILE", NULL,
	        "write the offsets of all single reads in fio's iolog format"),
	OPT_END,
};

struct part_row {
	const char *part;
	double time_ns;
};

static const struct field part_fields[] = {
	FIELD_STR(struct part_row, part, "part"),
	FIELD_F64(struct part_row, time_ns, UNIT_NS, "time"),
	FIELD_END,
};

static const struct measure_table seek_tables[] = {
	{ "spans", "Service time of random reads", seek_span_fields },
	{ "curve", "Seek time against distance", seek_curve_fields },
	{ "near", "Seek time over few tracks", seek_near_fields },
	{ "parts", "Parts of a random access", part_fields },
	{ "queue", "What a queue brings", seek_queue_fields },
	DISTRIBUTION_TABLE,
	{ NULL, NULL, NULL },
};

static uint32_t block_of(const struct device *d, const struct seek_params *p)
{
	uint64_t block = p->block_bytes                   ? p->block_bytes
	                 : d->physical_block_bytes > 4096 ? d->physical_block_bytes
	                                                  : 4096;

	return (uint32_t)block;
}

static int seek_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct seek_params *p = params;
	const struct device *d = &ses->devs[0];
	uint32_t block = block_of(d, p),
		 align = d->dio_offset_align_bytes ? d->dio_offset_align_bytes : d->logical_block_bytes;

	if (d->kind == DEVICE_DIRECTORY)
		return err_set(err, -EINVAL, "%s is a directory; give a disk, a partition or a file.", d->path);
	if (align && block % align)
		return err_set(err, -EINVAL,
		               "--block=%" PRIu32 " is no multiple of what %s wants; give one of %" PRIu32 " bytes.",
		               block, d->path, align);
	if (d->size_bytes < (uint64_t)block * 1000)
		return err_set(err, -EINVAL,
		               "%s has %" PRIu64 " bytes, too few for spans of random reads of %" PRIu32
		               "; give a smaller --block or a larger target.",
		               d->path, d->size_bytes, block);
	plan->is_direct = true;
	plan->is_latency = true;
	plan_phase(plan, "rotation", p->quick ? 3 * NS_PER_S : 6 * NS_PER_S);
	if (!p->no_curve)
		plan_phase(plan, "curve", p->quick ? 7 * NS_PER_S : 60 * NS_PER_S);
	plan_phase(plan, "spans",
	           p->quick ? 5 * NS_PER_S : (seek_span_count(d->size_bytes, false) + 9) * p->span_ns * 5 / 4);
	if (!p->no_queue)
		plan_phase(plan, "queue", p->quick ? 2 * NS_PER_S : 6 * p->span_ns);
	return 0;
}

/* ---- figures ---- */

static void not_rotating(struct seek_run *s)
{
	char text[32];

	if (s->rot.is_unclear) {
		result_notice(
			s->ses->res, "rotation-unclear",
			"No rotation was found in the times of %zu reads, which are as slow as a disk's: answers may have been late. Try again on a machine that is less busy.",
			s->rot.events);
		return;
	}
	if (s->rot.anywhere_ns > 0.0)
		result_notice(
			s->ses->res, "not-rotating",
			"A read anywhere takes %s, as long as one that was just done: this is no rotating disk, so there is no seek curve.",
			units_time(text, sizeof(text), (uint64_t)s->rot.anywhere_ns));
	else
		result_notice(
			s->ses->res, "not-rotating",
			"No rotation was found in the times of %zu reads of one sector: this is no rotating disk, so there is no seek curve.",
			s->rot.events);
}

static void rotation_figures(struct seek_run *s)
{
	struct result *res = s->ses->res;
	struct interval ci = { NAN, NAN };
	double rpm = 60e9 / s->rot.period_ns;

	if (!s->rot.is_rotating) {
		result_figure(res, "rotation_rpm", "rotation", UNIT_RPM, NAN, NULL, 0);
		result_figure(res, "track_to_track_ns", "seek, track to track", UNIT_NS, NAN, NULL, 0);
		result_figure(res, "average_seek_ns", "seek, average", UNIT_NS, NAN, NULL, 0);
		result_figure(res, "full_stroke_ns", "seek, full stroke", UNIT_NS, NAN, NULL, 0);
		not_rotating(s);
		if (s->ses->devs[0].rotational == 1)
			result_notice(res, "says-rotating",
			              "The kernel calls %s rotational, but it does not behave so.",
			              s->ses->devs[0].name);
		return;
	}
	ci.low = rpm * (1.0 - 1.96 * s->rot.se_ns / s->rot.period_ns);
	ci.high = rpm * (1.0 + 1.96 * s->rot.se_ns / s->rot.period_ns);
	result_figure(res, "rotation_rpm", "rotation", UNIT_RPM, rpm, &ci, s->rot.events);
	if (s->ses->devs[0].rotational == 0)
		result_notice(res, "says-not-rotating",
		              "The kernel calls %s not rotational, but reads of one sector come once a revolution.",
		              s->ses->devs[0].name);
}

/* Mean of the fitted curve, overhead and seek, over uniform pairs of bytes, which is what random reads do: outer cylinders hold more of them. */
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

/*
 * As measured over few tracks; where changes of the head take longer and hide it, from the curve, which has to be known well enough to tell: a cylinder
 * holds one to ten tracks, and three is off by less than the curve rises over that.
 */
static void choose_track(struct seek_run *s)
{
	double fitted = seek_arrival(s, 3.0 * seek_track_bytes(s, 0.0) / (double)s->t.target->size_bytes);
	double slack = 0.1e6 + fmax((s->fit_ci.a.high - s->fit_ci.a.low) / 2.0, 0.0);

	struct interval about = { fitted - 0.1e6 - 2.0 * s->fit.rms, fitted + 0.1e6 + 2.0 * s->fit.rms };

	if (isfinite(s->track.median) && s->track.median <= fitted + slack && s->has_track_bound)
		return;
	if (isfinite(s->track.median)) { /* it may be one or the other */
		about.low = fmin(about.low, s->track.ci.low);
		about.high = fmax(about.high, s->track.ci.high);
	}
	if (!isfinite(s->track.median) || s->track.median > fitted + slack)
		s->track.median = fitted;
	s->track.ci = about;
}

/* A seek time, and the same with the overhead, which is known even where the overhead is not. */
static void arrival_figure(const struct seek_run *s, const char *name, const char *title, const struct arrival *a)
{
	double off = (s->overhead_ci.high - s->overhead_ci.low) / 2.0, seek = a->median - s->overhead_ns;
	struct interval ci = { seek - hypot(a->median - a->ci.low, off), seek + hypot(a->ci.high - a->median, off) };
	char key[64], text[96];

	result_figure(s->ses->res, name, title, UNIT_NS, seek, &ci, a->n);
	(void)snprintf(key, sizeof(key), "%.*s_with_overhead_ns", (int)(strlen(name) - 3), name);
	(void)snprintf(text, sizeof(text), "%s, with overhead", title);
	result_figure(s->ses->res, key, text, UNIT_NS, a->median, &a->ci, a->n);
}

static struct interval shifted(struct interval ci, double by, double value, double off)
{
	return (struct interval){ value - by - hypot(value - ci.low, off), value - by + hypot(ci.high - value, off) };
}

static void seek_figures(struct seek_run *s)
{
	struct result *res = s->ses->res;
	double off = (s->overhead_ci.high - s->overhead_ci.low) / 2.0, less = s->overhead_ns;
	const struct seek_fit_ci *ci = &s->fit_ci;
	struct interval a, c;
	struct arrival average = { .median = NAN };

	if (!s->has_fit)
		return;
	choose_track(s);
	average.median = seek_mean_over_pairs(&s->fit);
	average.ci = ci->average;
	a = shifted(ci->a, less, s->fit.a, off);
	c = shifted(ci->c, less, s->fit.c, off);
	arrival_figure(s, "track_to_track_ns", "seek, track to track", &s->track);
	arrival_figure(s, "average_seek_ns", "seek, mean over uniform pairs", &average);
	arrival_figure(s, "third_stroke_ns", "seek, a third of the stroke", &s->third);
	arrival_figure(s, "full_stroke_ns", "seek, full stroke", &s->full);
	result_figure(res, "overhead_ns", "command overhead", UNIT_NS, s->overhead_ns, &s->overhead_ci, 0);
	result_figure(res, "fit_a_ns", "fit near: a + b sqrt(d), a", UNIT_NS, s->fit.a - less, &a, 0);
	result_figure(res, "fit_b_ns", "fit near, b (d: part of the stroke)", UNIT_NS, s->fit.b, &ci->b, 0);
	if (isfinite(s->fit.knee)) {
		result_figure(res, "fit_c_ns", "fit far: c + e d, c", UNIT_NS, s->fit.c - less, &c, 0);
		result_figure(res, "fit_e_ns", "fit far, e", UNIT_NS, s->fit.e, &ci->e, 0);
		result_figure(res, "fit_knee_ratio", "where the pieces meet", UNIT_RATIO, s->fit.knee, &ci->knee, 0);
	}
}

/* How seeks scatter about their median, and how often an access comes whole revolutions late for no reason of its own (Wilson's interval, 1927). */
static void scatter_figures(struct seek_run *s)
{
	double n = (double)s->missed.of, p = (double)s->missed.missed / n, z = 1.96, mid, half;
	struct interval ci;

	if (isfinite(s->scatter_ns))
		result_figure(s->ses->res, "seek_scatter_ns", "scatter of seeks", UNIT_NS, s->scatter_ns,
		              &s->scatter_ci, 0);
	if (n < 20.0)
		return;
	mid = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
	half = z * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n);
	ci = (struct interval){ fmin(fmax(mid - half, 0.0), p), mid + half };
	result_figure(s->ses->res, "missed_revolution_ratio", "accesses a revolution or more late", UNIT_RATIO, p, &ci,
	              s->missed.of);
}

static void parts(struct seek_run *s)
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
	t = result_table(s->ses->res, "parts", "Parts of a random access", part_fields);
	for (size_t i = 0; i < n; i++)
		result_row(t, &rows[i]);
}

static void plots(struct session *ses)
{
	static char line[] = "line", scatter[] = "scatter", spans[] = "spans",
		    span_title[] = "Service time against span", span[] = "span_bytes", mean[] = "mean_ns",
		    low[] = "low", high[] = "high", anchor[] = "anchor", curve[] = "curve",
		    curve_title[] = "Seek time against distance", stroke[] = "stroke_ratio", seek[] = "seek_ns",
		    queue[] = "queue", queue_title[] = "IOPS against queue depth", depth[] = "depth", iops[] = "iops";

	result_plot(ses->res, &(struct plot_decl){ .kind = line,
	                                           .title = span_title,
	                                           .table = spans,
	                                           .x = span,
	                                           .y = mean,
	                                           .low = low,
	                                           .high = high,
	                                           .series = anchor });
	distribution_plots(ses->res, "random reads over the whole device",
	                   "figures:random_access_p50_ns,figures:random_access_p99_ns");
	result_plot(ses->res, &(struct plot_decl){ .kind = scatter,
	                                           .title = curve_title,
	                                           .table = curve,
	                                           .x = stroke,
	                                           .y = seek,
	                                           .low = low,
	                                           .high = high });
	result_plot(ses->res, &(struct plot_decl){ .kind = line,
	                                           .title = queue_title,
	                                           .table = queue,
	                                           .x = depth,
	                                           .y = iops,
	                                           .low = low,
	                                           .high = high });
}

/* ---- the run ---- */

static int open_iolog(struct seek_run *s, struct err *err)
{
	int fd;

	if (!s->p->iolog)
		return 0;
	fd = result_new_file(s->p->iolog);
	s->t.iolog = fd < 0 ? NULL : fdopen(fd, "w");
	if (!s->t.iolog)
		return err_set(err, fd < 0 ? fd : -ENOMEM,
		               "--emit-iolog: %s could not be made (%s); an existing file is not overwritten.",
		               s->p->iolog, err_name(fd < 0 ? fd : ENOMEM));
	(void)fprintf(s->t.iolog, "fio version 2 iolog\n%s add\n%s open\n", s->t.target->name,
	              s->t.target->name); /* errors show at close */
	return 0;
}

static int close_iolog(struct seek_run *s, struct err *err)
{
	bool bad;

	if (!s->t.iolog)
		return 0;
	bad = fprintf(s->t.iolog, "%s close\n", s->t.target->name) < 0 || ferror(s->t.iolog);
	if ((fclose(s->t.iolog) != 0 || bad) && err)
		return err_set(err, -EIO, "--emit-iolog: %s could not be written in full.", s->p->iolog);
	return 0;
}

int seek_media(struct seek_run *s, struct err *err)
{
	int r = s->has_rates ? 0 : seek_rates(s, err);

	if (r == 0 && !s->has_overhead && !session_is_over(s->ses) && isfinite(s->ratio))
		r = seek_overhead(s, err);
	return r;
}

static int run_phases(struct seek_run *s, struct err *err)
{
	int r = rotation_find(&s->t, s->p->quick ? 1 * NS_PER_S : 4 * NS_PER_S, &s->rot, err);

	if (r < 0 || session_is_over(s->ses))
		return r;
	rotation_figures(s);
	session_checkpoint(s->ses);
	s->fraction = 0.08;
	if (s->rot.is_rotating && !s->p->no_curve) {
		r = seek_media(s, err);
		if (r == 0 && !session_is_over(s->ses) && isfinite(s->ratio))
			r = seek_curve(s, err);
		if (r == 0 && !session_is_over(s->ses) && isfinite(s->ratio))
			r = seek_near(s, err);
		seek_figures(s);
		scatter_figures(s);
		session_checkpoint(s->ses);
	}
	if (r == 0 && !session_is_over(s->ses))
		r = seek_spans(s, err);
	if (s->rot.is_rotating)
		parts(s);
	if (r == 0 && !s->p->no_queue && !session_is_over(s->ses))
		r = seek_queue(s, err);
	return r;
}

static int seek_run(struct session *ses, const void *params, struct err *err)
{
	struct seek_params p = *(const struct seek_params *)params;
	struct seek_run s = { .ses = ses,
		              .p = &p,
		              .overhead_ns = NAN,
		              .rate_start = NAN,
		              .ratio = NAN,
		              .track = { .median = NAN },
		              .third = { .median = NAN },
		              .full = { .median = NAN },
		              .scatter_ns = NAN,
		              .whole_mean_ns = NAN };
	struct engine_config cfg = { .depth = 32, .buf_bytes = 1u << 20, .fds = &ses->targets[0].fd, .nfds = 1 };
	int r, closed;

	if (p.quick) {
		p.reads = p.reads < 60 ? p.reads : 60;
		p.span_ns = p.span_ns < 300 * NS_PER_MS ? p.span_ns : 300 * NS_PER_MS;
	}
	s.t = (struct timed){ .ses = ses, .target = &ses->targets[0], .block_bytes = block_of(&ses->devs[0], &p) };
	s.t.step_bytes = ses->devs[0].physical_block_bytes && s.t.block_bytes % ses->devs[0].physical_block_bytes == 0
	                         ? ses->devs[0].physical_block_bytes
	                         : ses->targets[0].align_bytes;
	session_rng(ses, 0x5345454bull, &s.t.rng);
	r = session_engine(ses, &cfg, &s.t.eng, err);
	if (r == 0)
		r = open_iolog(&s, err);
	if (r == 0) {
		r = run_phases(&s, err);
		plots(ses);
	}
	closed = close_iolog(&s, r == 0 ? err : NULL);
	engine_close(s.t.eng);
	return r < 0 ? r : closed;
}

const struct measure measure_seek = {
	.name = "seek",
	.help = "random access time against span, seek curve, what a queue brings",
	.group = GROUP_DISK,
	.targets = "DEVICE|FILE",
	.min_targets = 1,
	.max_targets = 1,
	.opts = seek_opts,
	.params_size = sizeof(struct seek_params),
	.precision = 0.015,
	.plan = seek_plan,
	.run = seek_run,
	.tables = seek_tables,
};
