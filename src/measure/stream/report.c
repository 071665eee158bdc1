/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run of `stream` has to say: tables, figures, the verdict. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/shared/distribution.h"
#include "measure/shared/link.h"
#include "measure/stream/stream.h"

#define LANES_SHOWN 8 /* distributions side by side; of more there is one together */

/* ---- tables ---- */

struct target_row {
	const char *target;
	uint64_t bytes;
	double rate_bytes_per_s;
	uint64_t p50_ns, p99_ns, p999_ns, max_ns, max_gap_ns;
	uint64_t response_p99_ns, response_max_ns, faults, first_byte, last_byte;
	const char *state;
};

static const struct field target_fields[] = {
	FIELD_STR(struct target_row, target, "target"),
	FIELD_U64(struct target_row, bytes, UNIT_BYTES, "moved"),
	FIELD_F64(struct target_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_U64(struct target_row, p50_ns, UNIT_NS, "service, median"),
	FIELD_U64(struct target_row, p99_ns, UNIT_NS, "99 %"),
	FIELD_U64(struct target_row, p999_ns, UNIT_NS, "99.9 %", .detail = true),
	FIELD_U64(struct target_row, max_ns, UNIT_NS, "worst"),
	FIELD_U64(struct target_row, max_gap_ns, UNIT_NS, "longest gap"),
	FIELD_U64(struct target_row, response_p99_ns, UNIT_NS, "response, 99 %", .detail = true),
	FIELD_U64(struct target_row, response_max_ns, UNIT_NS, "response, worst"),
	FIELD_U64(struct target_row, faults, UNIT_COUNT, "errors"),
	FIELD_U64(struct target_row, first_byte, UNIT_BYTES, "from", .detail = true),
	FIELD_U64(struct target_row, last_byte, UNIT_BYTES, "to", .detail = true),
	FIELD_STR(struct target_row, state, "state"),
	FIELD_END,
};

struct timeline_row {
	double time_s, rate_bytes_per_s;
	uint64_t occupancy_bytes, blocks; /* blocks: completed well in it */
	double service_mean_ns;           /* of them; NaN: there are none */
};

static const struct field timeline_fields[] = {
	FIELD_F64(struct timeline_row, time_s, UNIT_S, "time"),
	FIELD_F64(struct timeline_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_U64(struct timeline_row, occupancy_bytes, UNIT_BYTES, "ring, most"),
	FIELD_U64(struct timeline_row, blocks, UNIT_COUNT, "blocks", .detail = true),
	FIELD_F64(struct timeline_row, service_mean_ns, UNIT_NS, "service, mean", .detail = true),
	FIELD_END,
};

struct event_row {
	double start_s, length_s;
	uint64_t dropped_bytes;
};

static const struct field event_fields[] = {
	FIELD_F64(struct event_row, start_s, UNIT_S, "at"),
	FIELD_F64(struct event_row, length_s, UNIT_S, "for"),
	FIELD_U64(struct event_row, dropped_bytes, UNIT_BYTES, "dropped"),
	FIELD_END,
};

static const struct field stall_fields[] = {
	FIELD_STR(struct stall_row, target, "target"),
	FIELD_F64(struct stall_row, start_s, UNIT_S, "at"),
	FIELD_F64(struct stall_row, length_s, UNIT_S, "for"),
	FIELD_U64(struct stall_row, occupancy_bytes, UNIT_BYTES, "in the ring then"),
	FIELD_END,
};

const struct field stream_tradeoff_fields[] = {
	FIELD_U64(struct tradeoff_row, ring_bytes, UNIT_BYTES, "ring"),
	FIELD_F64(struct tradeoff_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "largest rate"),
	FIELD_END,
};

const struct field stream_try_fields[] = {
	FIELD_F64(struct try_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_F64(struct try_row, peak_ratio, UNIT_RATIO, "peak of the ring"),
	FIELD_U64(struct try_row, overflows, UNIT_COUNT, "overflows"),
	FIELD_STR(struct try_row, held, "held"),
	FIELD_END,
};

const struct measure_table stream_tables[] = {
	{ "targets", "Targets", target_fields },
	{ "timeline", "Over time", timeline_fields },
	{ "overflows", "Overflows", event_fields },
	{ "stalls", "Stalls", stall_fields },
	{ "tradeoff", "Ring against rate", stream_tradeoff_fields },
	{ "tries", "Search for the highest rate", stream_try_fields },
	DISTRIBUTION_TABLE,
	{ NULL, NULL, NULL },
};

/* ---- figures ---- */

static uint64_t if_any(uint64_t ns)
{
	return ns ? ns : UINT64_MAX;
}

static void target_table(struct stream_run *s)
{
	struct table *t = result_table_anew(s->ses->res, "targets", "Targets", target_fields);

	for (size_t i = 0; i < s->routes.nlanes; i++) {
		const struct lane *l = &s->routes.lanes[i];
		double seconds = l->last_done_ns > l->first_submit_ns
		                         ? (double)(l->last_done_ns - l->first_submit_ns) * 1e-9
		                         : (double)NAN;
		struct target_row row = {
			.target = l->name,
			.bytes = l->bytes,
			.rate_bytes_per_s = (double)l->bytes / seconds,
			.p50_ns = l->blocks ? hist_quantile(l->service, 0.5) : UINT64_MAX,
			.p99_ns = hist_known_quantile(l->service, 0.99),
			.p999_ns = hist_known_quantile(l->service, 0.999),
			.max_ns = if_any(l->service->max),
			.max_gap_ns = if_any(l->max_gap_ns),
			.response_p99_ns = hist_known_quantile(l->response, 0.99),
			.response_max_ns = if_any(l->response->max),
			.faults = l->faults,
			.first_byte = l->first_offset,
			.last_byte = l->last_offset ? l->last_offset - 1 : 0,
			.state = l->is_dead   ? "lost"
			         : l->is_full ? "full"
			         : l->faults  ? "errors"
			                      : "good",
		};

		result_row(t, &row);
	}
}

/* From when a block was due to when it was done. Blocks follow each other too closely for an interval by order
 * statistics. */
static void report_responses(struct result *res, const struct hist *all)
{
	static const struct distribution_quantile qs[] = { { 0.5, "response_p50_ns",
		                                             "a block, from due to done, median" },
		                                           { 0.95, "response_p95_ns", "a block, 95 %" },
		                                           { 0.99, "response_p99_ns", "response of a block, 99 %" },
		                                           { 1.0, "response_max_ns", "response of a block, worst" } };

	distribution_figures(res, qs, ARRAY_LEN(qs), all, false);
}

static void response_figures(struct stream_run *s)
{
	cleanup_free struct hist *all = hist_new();

	distribution_clear(s->ses->res);
	for (size_t i = 0; i < s->routes.nlanes; i++) {
		hist_merge(all, s->routes.lanes[i].response);
		if (s->routes.nlanes > 1 && s->routes.nlanes <= LANES_SHOWN)
			distribution_add(s->ses->res, s->routes.lanes[i].name, s->routes.lanes[i].response);
	}
	if (s->routes.nlanes == 1 || s->routes.nlanes > LANES_SHOWN)
		distribution_add(s->ses->res, NULL, all);
	report_responses(s->ses->res, all);
}

static void timeline_table(struct stream_run *s)
{
	struct table *t = result_table_anew(s->ses->res, "timeline", "Over time", timeline_fields);

	for (size_t i = 0; i < s->timeline.n; i++) {
		const struct timeline_step *step = &s->timeline.v[i];

		result_row(t, &(struct timeline_row){
				      .time_s = (double)step->end_ns * 1e-9,
				      .rate_bytes_per_s = (double)step->amount / ((double)s->timeline.step_ns * 1e-9),
				      .occupancy_bytes = step->most,
				      .blocks = step->requests,
				      .service_mean_ns = (double)step->service_ns / (double)step->requests });
	}
}

static void event_table(struct stream_run *s)
{
	struct table *t =
		result_table_anew(s->ses->res, "overflows", s->p->read ? "Underruns" : "Overflows", event_fields);

	for (uint64_t i = 0; i < s->ring.nevents && i < RING_EVENTS_MAX; i++) {
		const struct ring_event *e = &s->ring.events[i];
		struct event_row row = { (double)e->start_ns * 1e-9, (double)(e->end_ns - e->start_ns) * 1e-9,
			                 e->dropped_bytes };

		if (i + 1 == s->ring.nevents && s->ring.is_dropping) /* it goes on */
			row.length_s = (double)(s->span.end_ns - s->span.start_ns) * 1e-9 - row.start_s;

		result_row(t, &row);
	}
}

static void stall_table(struct stream_run *s)
{
	struct table *t = result_table_anew(s->ses->res, "stalls", "Stalls", stall_fields);

	for (uint64_t i = 0; i < s->nstalls && i < STALLS_MAX; i++)
		result_row(t, &s->stalls[i]);
}

/*
 * Several targets do not begin and end together. The aggregate of the window in which all were active (from when the
 * last had begun to when the first was done) has neither ragged end in it; beside it, when the first and the last were
 * done.
 */
static void window_figures(struct stream_run *s)
{
	const struct lane *late = NULL, *early = NULL, *last = NULL;
	struct result *res = s->ses->res;
	double rate = NAN;

	if (s->routes.nlanes < 2)
		return;
	for (size_t i = 0; i < s->routes.nlanes; i++) {
		const struct lane *l = &s->routes.lanes[i];

		if (!l->blocks)
			return; /* one never moved anything: there is no such window */
		late = !late || l->first_submit_ns > late->first_submit_ns ? l : late;
		early = !early || l->last_done_ns < early->last_done_ns ? l : early;
		last = !last || l->last_done_ns > last->last_done_ns ? l : last;
	}
	if (early->last_done_ns > late->first_submit_ns)
		rate = (double)(early->all_at_last - late->all_at_first) /
		       ((double)(early->last_done_ns - late->first_submit_ns) * 1e-9);
	result_figure(res, "deskewed_bytes_per_s", "rate while all were active", UNIT_BYTES_PER_S, rate, NULL, 0);
	result_figure(res, "first_done_s", "the first was done after", UNIT_S,
	              (double)(early->last_done_ns - s->span.start_ns) * 1e-9, NULL, 0);
	result_figure(res, "last_done_s", "the last was done after", UNIT_S,
	              (double)(last->last_done_ns - s->span.start_ns) * 1e-9, NULL, 0);
}

static void ring_figures(struct stream_run *s, uint64_t rate)
{
	const struct ring *r = &s->ring;
	struct result *res = s->ses->res;
	uint64_t needed = (uint64_t)r->endless_peak_bytes;

	result_figure_u64(res, "requested_bytes_per_s", "rate asked for", UNIT_BYTES_PER_S, rate);
	result_figure_u64(res, "peak_bytes", "highest fill of the ring", UNIT_BYTES, (uint64_t)r->peak_bytes);
	result_figure_u64(res, "ring_bytes", "ring size", UNIT_BYTES, s->blocks.places * s->p->block_bytes);
	result_figure(res, "peak_ratio", "peak as part of the ring", UNIT_RATIO,
	              (double)r->peak_bytes / (double)(s->blocks.places * s->p->block_bytes), NULL, 0);
	result_figure_u64(res, "needed_bytes", "ring size needed", UNIT_BYTES, needed);
	result_figure_u64(res, "overflows", s->p->read ? "underruns" : "overflows", UNIT_COUNT, r->nevents);
	result_figure_u64(res, "dropped_bytes", "dropped", UNIT_BYTES, r->dropped_bytes);
	result_figure(res, "first_overflow_s", "first loss at", UNIT_S,
	              r->nevents ? (double)r->events[0].start_ns * 1e-9 : (double)NAN, NULL, 0);
}

static void load_figures(struct stream_run *s, uint64_t rate, double achieved)
{
	result_figure(s->ses->res, "rate_bytes_per_s", "rate achieved", UNIT_BYTES_PER_S, achieved, NULL,
	              s->blocks.completed);
	if (s->is_max) {
		stream_report_full_speed(s, achieved);
	} else {
		ring_figures(s, rate);
		event_table(s);
		stream_report_verdict(s, rate);
	}
	window_figures(s);
	response_figures(s);
	target_table(s);
	timeline_table(s);
	stall_table(s);
}

static double mean_rate(const struct stream_run *s)
{
	return s->blocks.done_bytes
	               ? (double)s->blocks.done_bytes / ((double)(s->span.end_ns - s->span.start_ns) * 1e-9)
	               : (double)NAN;
}

void stream_figures_so_far(struct stream_run *s, uint64_t now_ns)
{
	uint64_t end_ns = s->span.end_ns;

	s->span.end_ns = now_ns;
	s->is_under_way = true;
	load_figures(s, s->ring.rate_bytes_per_s, mean_rate(s));
	s->is_under_way = false;
	s->span.end_ns = end_ns;
}

void stream_figures(struct stream_run *s, uint64_t rate)
{
	const struct host_usage *before = &s->before, *after = &s->after;
	double achieved = mean_rate(s);
	const struct ring *r = &s->ring;

	/* What failed was asked for in time, but nobody has got it. */
	if (!s->is_max && r->dropped_bytes == 0 && s->blocks.issued > 2 && r->done_bytes)
		achieved = (double)rate * pace_ratio(&s->pace) * (double)r->done_bytes /
		           (double)(r->done_bytes + r->lost_bytes);
	load_figures(s, rate, achieved);
	stream_report_short(s);
	for (size_t i = 0; i < s->routes.nlanes && s->is_max && s->ses->devs[i].kind != DEVICE_DIRECTORY; i++)
		link_say(s->ses->res, &s->ses->devs[i], (double)NAN,
		         (double)s->routes.lanes[i].bytes / ((double)(s->span.end_ns - s->span.start_ns) * 1e-9),
		         s->p->block_bytes);
	result_figure(s->ses->res, "cpu_user_s", "CPU, user", UNIT_S, (double)(after->user_ns - before->user_ns) * 1e-9,
	              NULL, 0);
	result_figure(s->ses->res, "cpu_system_s", "CPU, system", UNIT_S,
	              (double)(after->system_ns - before->system_ns) * 1e-9, NULL, 0);
	result_figure_u64(s->ses->res, "page_faults", "page faults", UNIT_COUNT,
	                  after->minor_faults + after->major_faults - before->minor_faults - before->major_faults);
	result_figure_u64(s->ses->res, "depth", "in flight to each target, at most", UNIT_COUNT, s->depth);
}

void stream_plots(struct session *ses)
{
	result_plot(ses->res, &(struct plot){ .name = "rate",
	                                      .see = "At a dip the disk did not keep up; at a mark data were lost.",
	                                      .kind = "line",
	                                      .title = "Rate over time",
	                                      .table = "timeline",
	                                      .x = "time_s",
	                                      .y = "rate_bytes_per_s",
	                                      .marks = "overflows:start_s" });
	result_plot(ses->res,
	            &(struct plot){ .name = "ring",
	                            .see = "Highest fill in each interval: at a peak the disk did not keep up.",
	                            .kind = "step",
	                            .title = "Fill of the ring",
	                            .table = "timeline",
	                            .x = "time_s",
	                            .y = "occupancy_bytes",
	                            .marks = "overflows:start_s" });
	distribution_plots(ses->res, "blocks", "figures:response_p50_ns,figures:response_p99_ns");
	result_plot(
		ses->res,
		&(struct plot){
			.name = "tradeoff",
			.see = "Highest rate without loss by size of the ring; where the line is flat, a larger ring does not help.",
			.kind = "line",
			.title = "Largest rate of a ring",
			.table = "tradeoff",
			.x = "ring_bytes",
			.y = "rate_bytes_per_s" });
}
