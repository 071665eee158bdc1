/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random access: service time against span (spans.c), the seek curve (curve.c), the figures of a data sheet from it,
 * and what a queue brings. The rotation period is found on the way (timed.c). A device without rotation gets spans and
 * queue only, and is reported so.
 */
#include "measure/seek/seek.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/whole.h"
#include "base/xalloc.h"
#include "measure/shared/distribution.h"

static const char *const seek_parts[] = { "curve", "queue", NULL };

static const struct opt seek_opts[] = {
	OPT_FLAG(struct seek_params, quick, "quick", 0,
	         "a short run: spans at the start only, fewer distances, wider intervals"),
	OPT_BYTES(struct seek_params, block_bytes, "block", 'b', "SIZE", NULL,
	          "size of each read; default 4 KiB or the physical sector", .min = 512, .max = 1048576),
	OPT_U64(struct seek_params, reads, "count", 0, "N", "60", "reads of each span, at least", .min = 40,
	        .max = 10000, .is_aside = true),
	OPT_TIME(struct seek_params, span_ns, "slice", 0, "TIME", "1s",
	         "time of each span, where the precision needs it", .min = 1e6, .max = 1e13, .is_aside = true),
	OPT_STRS(struct seek_params, without, "without", 0, "WORD", "leave out this part", .choices = seek_parts,
	         .is_aside = true),
	OPT_END,
};

static const struct measure_table seek_tables[] = {
	{ "spans", "Service time of random reads", seek_span_fields },
	{ "curve", "Seek time against distance", seek_curve_fields },
	{ "smooth", "Smooth curve through the points", seek_smooth_fields },
	{ "near", "Seek time over few tracks", seek_near_fields },
	{ "accesses", "Accesses between two places", seek_access_fields },
	{ "rates", "Sequential rates", seek_rate_fields },
	{ "media_rates", "The media's rates, by the length of tracks", seek_rate_fields },
	{ "arms", "Each actuator", seek_arm_fields },
	{ "parts", "Parts of a random access", seek_part_fields },
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

#define SPANS_WHOLE 76 /* spans that the whole device, and the queue, take the time of (a choice) */

/* Longer spans make a run longer. */
static uint64_t longer_ns(const struct seek_params *p, uint64_t size_bytes)
{
	return p->span_ns > NS_PER_S ? (p->span_ns - NS_PER_S) * (seek_span_count(size_bytes, false) + SPANS_WHOLE) : 0;
}

static int seek_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct seek_params *p = params;
	const struct device *d = &ses->devs[0];
	uint32_t block = block_of(d, p), align = device_direct_align(d);

	if (plan_block(d, block, align, err) < 0)
		return -EINVAL;
	if (d->size_bytes < (uint64_t)block * 1000)
		return err_set(err, -EINVAL,
		               "%s has %" PRIu64 " bytes, too few for spans of random reads of %" PRIu32
		               "; give a smaller --block or a larger target.",
		               d->path, d->size_bytes, block);
	plan->is_direct = true;
	plan->is_latency = true;
	plan_phase(plan, "rotation", seek_usual_ns(p, SEEK_ROTATION, SEEK_ROTATION));
	if (!strs_list_have(&p->without, "curve"))
		plan_phase(plan, "curve", seek_usual_ns(p, SEEK_ARMS, SEEK_NEAR));
	plan_phase(plan, "spans", seek_usual_ns(p, SEEK_WHOLE, SEEK_SPANS) + longer_ns(p, d->size_bytes));
	if (!strs_list_have(&p->without, "queue"))
		plan_phase(plan, "queue", seek_usual_ns(p, SEEK_QUEUE, SEEK_QUEUE));
	return 0;
}

/* ---- the run ---- */

#define LAST_READS 0.98 /* of the time: those in flight at its end come later */

static uint64_t reading_ns(const struct seek_run *s)
{
	const uint64_t asked_ns = s->ses->common->time_ns;
	double ns =
		(s->p->quick ? SEEK_QUICK_S : SEEK_FULL_S) * 1e9 + (double)longer_ns(s->p, s->known.places.size_bytes);

	if (asked_ns)
		ns = (double)asked_ns;
	return (uint64_t)(ns * LAST_READS);
}

/* A run that is given less than a third of a full one's time asks what a short one asks, and takes longer for each: of
 * less, each of many distances would get too little (a choice). */
static bool is_short(const struct session *ses, const struct seek_params *p)
{
	double ns = (double)ses->common->time_ns;

	return p->quick || (ns > 0.0 && ns < SEEK_FULL_S / 3.0 * 1e9);
}

static void make_short(struct seek_run *s, struct seek_params *p)
{
	double longer;

	s->is_shortened = !p->quick;
	p->quick = true;
	longer = fmax((double)reading_ns(s) / (SEEK_QUICK_S * 1e9), 1.0);
	p->reads = p->reads < 40 ? p->reads : 40;
	p->span_ns = (uint64_t)fmin((double)p->span_ns, 0.3e9 * longer);
}

static int run_phases(struct seek_run *s, struct err *err)
{
	int r;

	seek_budget(s, reading_ns(s));
	(void)seek_begin(s, SEEK_ROTATION);
	r = rotation_find(&s->t, s->p->quick ? (uint64_t)(0.7e9 * fmax(s->budget.scale, 1.0)) : 4 * NS_PER_S, &s->rot,
	                  err);
	s->t.most_samples = 0; /* what comes later reads as others want it */
	if (r < 0 || session_is_over(s->ses))
		return r;
	seek_report_rotation(s);
	/* As the document has it: what is reported again is the same. */
	s->known.places.period_ns = s->rot.period_ns = 60e9 / (60e9 / s->rot.period_ns);
	s->known.is_patchy = s->rot.is_patchy;
	session_checkpoint(s->ses);
	s->fraction = 0.08;
	if (!seek_wants_curve(s)) /* what reads take is explained by bytes as well, if not so well */
		s->known.places = seek_places_blind(&s->known.places);
	else
		r = seek_arms(s, err);
	if (r == 0 && seek_wants_curve(s) && !session_is_over(s->ses)) {
		r = seek_media(s, err);
		if (r == 0 && !session_is_over(s->ses) && isfinite(s->known.places.ratio))
			r = seek_curve_begin(s, err);
	}
	if (!isfinite(s->known.places.ratio))
		s->known.places = seek_places_blind(&s->known.places);
	if (r == 0 && !session_is_over(s->ses))
		r = seek_spans(s, err);
	if (r == 0 && seek_wants_curve(s) && !s->is_curve_over)
		seek_curve_end(s);
	if (s->rot.is_rotating)
		seek_report_parts(s);
	if (r == 0 && !strs_list_have(&s->p->without, "queue") && !session_is_over(s->ses))
		r = seek_queue(s, err);
	seek_report_cut(s);
	return r;
}

/* What is known before anything was read. */
static struct seek_known unknown(uint64_t size_bytes)
{
	return (struct seek_known){
		.places = { .size_bytes = size_bytes, .rate_start = NAN, .ratio = NAN, .track_ratio = 1.0 },
		.hits = { .without_ns = NAN, .bus_ns = NAN },
		.overhead = SEEK_NO_OVERHEAD,
		.scatter = { .ns = NAN },
		.curve = CURVE_UNKNOWN,
		.track = STATS_UNKNOWN,
		.third = STATS_UNKNOWN,
		.full = STATS_UNKNOWN,
	};
}

static int seek_run(struct session *ses, const void *params, struct err *err)
{
	struct seek_params p = *(const struct seek_params *)params;
	struct engine_config cfg = {
		.depth = SEEK_DEEPEST, .buf_bytes = 1u << 20, .fds = &ses->targets[0].fd, .nfds = 1
	};
	cleanup_free struct seek_samples *m = xcalloc(1, sizeof(*m));
	cleanup_free struct timed_sample *samples = xcalloc(SEEK_RANDOM_MAX, sizeof(*samples));
	struct seek_run s = { .ses = ses,
		              .res = ses->res,
		              .p = &p,
		              .samples = m,
		              .known = unknown(ses->targets[0].size_bytes),
		              .sector_hits = NO_HITS,
		              .whole = { .mean_ns = NAN } };
	int r;

	if (is_short(ses, &p))
		make_short(&s, &p);
	s.t = (struct timed){ .ses = ses,
		              .target = &ses->targets[0],
		              .block_bytes = block_of(&ses->devs[0], &p),
		              .is_brief = true,
		              .takes_any_way = p.quick };
	s.t.sample = samples;
	s.t.most_samples = SEEK_RANDOM_MAX;
	s.t.step_bytes = ses->targets[0].align_bytes; /* in files it may be more than a sector */
	if (ses->devs[0].physical_block_bytes > s.t.step_bytes &&
	    s.t.block_bytes % ses->devs[0].physical_block_bytes == 0)
		s.t.step_bytes = ses->devs[0].physical_block_bytes;
	s.known.block_bytes = s.t.block_bytes;
	s.known.step_bytes = s.t.step_bytes;
	s.known.is_quick = p.quick;
	session_rng(ses, 0x5345454bull, &s.t.rng);
	r = session_engine(ses, &cfg, &s.t.eng, err);
	if (r == 0) {
		r = run_phases(&s, err);
		seek_report_plots(&s);
	}
	engine_close(s.t.fua);
	engine_close(s.t.eng);
	return r;
}

/* What follows from the accesses between two places: overhead, seek times, fit, scatter. Spans and queue have too many
 * reads to be in the document. */
static int seek_again(const struct result *saved, struct result *ret, struct err *err)
{
	const struct table *accesses = result_find_table(saved, "accesses");
	double rpm = figure_number(result_find_figure(saved, "rotation_rpm"));
	cleanup_free struct seek_samples *m = xcalloc(1, sizeof(*m));
	uint64_t arm = seek_first_arm_bytes(saved), /* whose accesses they are */
		size = arm ? arm : whole(target_number(saved->targets, "size_bytes"));
	struct seek_run s = { .res = ret, .samples = m, .known = unknown(size) };

	if (!accesses || !result_find_table(saved, "rates") || !(rpm > 0.0) || !size)
		return err_set(err, -ENODATA, "The document has no accesses of a rotating disk.");
	s.known.is_quick = strcmp(result_option_text(saved, "quick") ?: "no", "yes") == 0;
	s.known.places.period_ns = 60e9 / rpm;
	s.known.hits.without_ns = figure_number(result_find_figure(saved, "sector_hit_ns"));
	s.known.places = seek_places_of(&s.known.places, saved);
	if (!isfinite(s.known.places.ratio))
		return err_set(err, -ENODATA, "The document has too few rates.");
	seek_load_all(&s, accesses);
	seek_conclude_near(&s);
	seek_report_curve(ret, &s.known, m);
	seek_report_figures(&s);
	return 0;
}

static const struct screen_decl seek_screen = {
	.shows =
		"random_access_mean_ns,random_access_p50_ns,random_access_p95_ns,random_access_p999_ns,iops_alone_per_s,iops_deepest_per_s,average_seek_ns,average_seek_with_overhead_ns,track_to_track_ns,track_to_track_with_overhead_ns,third_stroke_ns,full_stroke_ns,full_stroke_with_overhead_ns,overhead_ns,rotation_rpm",
	.says =
		(const struct clause[]){
			{ "Seek times: {track_to_track_ns} track to track, {average_seek_ns} average, {full_stroke_ns} full stroke",
	                  .unless = "overhead-wide" },
			{ "Seek times with the drive's overhead: {track_to_track_with_overhead_ns} track to track, {average_seek_with_overhead_ns} average, {full_stroke_with_overhead_ns} full stroke",
	                  .instead_of = 1 },
			{ "Seek times: {average_seek_ns} average, {full_stroke_ns} full stroke",
	                  .unless = "overhead-wide", .instead_of = 2 },
			{ "a random read takes {random_access_mean_ns~}" },
			{ "{random_access_mean_ns#random read} took {random_access_mean_ns} on average",
	                  .instead_of = 1 },
			{ "half of them take at most {random_access_p50_ns}, 99 % at most {random_access_p99_ns}",
	                  .because = "not-rotating" },
			{ "99.9 % take at most {random_access_p999_ns}" },
			{ "it answers {iops_alone_per_s~} one at a time, {iops_deepest_per_s~} with {deepest_queue} requests at once" },
			{ "the drive's overhead is {overhead_ns~}", .unless = "overhead-wide" },
			{ "it turns at {rotation_rpm~}" },
			{ NULL },
		},
};

const struct measure measure_seek = {
	.name = "seek",
	.help = "random access time against span, seek curve, what a queue brings",
	.group = GROUP_DISK,
	.targets = "DEVICE|FILE",
	.takes = TAKES_DISKS | TAKES_FILES,
	.opts = seek_opts,
	.params_size = sizeof(struct seek_params),
	.precision = 0.015,
	.plan = seek_plan,
	.run = seek_run,
	.again = seek_again,
	.screen = &seek_screen,
	.tables = seek_tables,
};
