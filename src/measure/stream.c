/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Will these disks hold this rate? (Mujunen, wr.c 2001.) A clock makes data at the rate, a ring holds them until a disk has taken them; ring.c keeps the account,
 * stream_run.c does the I/O. This file: options, plan, targets, verdict and figures, the trade-off of ring and rate, the search for the highest rate.
 */
#include "measure/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

#define TIME_DEFAULT_NS (60 * NS_PER_S)

static const char *const layouts[] = { "balance", "roundrobin", NULL };
static const char *const producers[] = { "none", "memcpy", NULL };

static const struct opt stream_opts[] = {
	OPT_RATE(struct stream_params, rate, "rate", 'r', "RATE", "max",
	         "data that come each second: 256Mbit, 32MB, max"),
	OPT_BYTES(struct stream_params, buffer_bytes, "buffer", 'b', "SIZE", "160MiB", "the ring buffer", .min = 4096,
	          .max = 1e15),
	OPT_BYTES(struct stream_params, block_bytes, "block", 0, "SIZE", "1MiB", "bytes of each request", .min = 512,
	          .max = 1073741824),
	OPT_BYTES(struct stream_params, bytes, "bytes", 0, "SIZE", NULL,
	          "stream this much instead of for --time (default of that: 60s)", .min = 512, .max = 9e18),
	OPT_U64(struct stream_params, depth, "depth", 0, "N", "4", "requests in flight to each target", .min = 1,
	        .max = 256),
	OPT_BYTES(struct stream_params, start_bytes, "start", 0, "OFFSET", "0", "begin here on each device",
	          .max = 9e18),
	OPT_CHOICE(struct stream_params, layout, "layout", 0, layouts, "balance",
	           "the next block goes to the least busy target, or in turn"),
	OPT_FLAG(struct stream_params, write, "write", 'w', "record: destroys data on devices (see --destroy-data)"),
	OPT_FLAG(struct stream_params, read, "read", 0, "play back: the ring must not run dry"),
	OPT_BYTES(struct stream_params, file_bytes, "file-size", 0, "SIZE", "1GiB",
	          "in directories: bytes of each file", .min = 65536, .max = 9e18),
	OPT_FLAG(struct stream_params, cached, "cached", 0,
	         "through the page cache, for contrast; the final fsync is timed apart"),
	OPT_FLAG(struct stream_params, verify, "verify", 0,
	         "read all back and prove that nothing was lost, doubled or swapped"),
	OPT_CHOICE(struct stream_params, producer, "producer", 0, producers, "none", "load memory as a receiver would"),
	OPT_FLAG(struct stream_params, tradeoff, "tradeoff", 0,
	         "from one run at full speed: the largest rate of every ring"),
	OPT_FLAG(struct stream_params, find_max, "find-max", 0, "find the highest rate that the ring sustains"),
	OPT_STR(struct stream_params, project, "project", 0, "RESULT", NULL,
	        "from a saved zones result: when the disk reaches a zone too slow"),
	OPT_FLAG(struct stream_params, keep, "keep", 0, "leave the files where they are"),
	OPT_END,
};

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

static const struct field timeline_fields[] = {
	FIELD_F64(struct timeline_row, time_s, UNIT_S, "time"),
	FIELD_F64(struct timeline_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_U64(struct timeline_row, occupancy_bytes, UNIT_BYTES, "ring, most"),
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

struct tradeoff_row {
	uint64_t ring_bytes;
	double rate_bytes_per_s;
};

static const struct field tradeoff_fields[] = {
	FIELD_U64(struct tradeoff_row, ring_bytes, UNIT_BYTES, "ring"),
	FIELD_F64(struct tradeoff_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "largest rate"),
	FIELD_END,
};

struct try_row {
	double rate_bytes_per_s, peak_ratio;
	uint64_t overflows;
};

static const struct field try_fields[] = {
	FIELD_F64(struct try_row, rate_bytes_per_s, UNIT_BYTES_PER_S, "rate"),
	FIELD_F64(struct try_row, peak_ratio, UNIT_RATIO, "peak of the ring"),
	FIELD_U64(struct try_row, overflows, UNIT_COUNT, "overflows"),
	FIELD_END,
};

static const struct measure_table stream_tables[] = {
	{ "targets", "Targets", target_fields },
	{ "timeline", "Over time", timeline_fields },
	{ "overflows", "Overflows", event_fields },
	{ "tradeoff", "Ring against rate", tradeoff_fields },
	{ "tries", "Search for the highest rate", try_fields },
	{ NULL, NULL, NULL },
};

/* ---- plan ---- */

static bool has_directory(const struct session *ses)
{
	for (size_t i = 0; i < ses->ndevs; i++)
		if (ses->devs[i].kind == DEVICE_DIRECTORY)
			return true;
	return false;
}

static int check_targets(const struct session *ses, const struct stream_params *p, struct err *err)
{
	for (size_t i = 0; i < ses->ndevs; i++) {
		const struct device *d = &ses->devs[i];

		if (has_directory(ses) && d->kind != DEVICE_DIRECTORY)
			return err_set(err, -EINVAL, "%s is no directory, but another target is; run them apart.",
			               d->path);
		if (d->kind == DEVICE_DIRECTORY && p->read)
			return err_set(err, -EINVAL, "%s is a directory; to play back give the files in it.", d->path);
		if (d->kind == DEVICE_FILE && !p->read)
			return err_set(
				err, -EINVAL,
				"%s is an existing file, which is never written over; give its directory, or --read.",
				d->path);
		if (d->kind != DEVICE_DIRECTORY && !p->read && !p->write)
			return err_set(err, -EINVAL,
			               "%s: say --read to play back, or --write --destroy-data=%s to record on it.",
			               d->path, d->name);
		if (!p->cached && d->logical_block_bytes && p->block_bytes % d->logical_block_bytes)
			return err_set(err, -EINVAL,
			               "--block=%" PRIu64 " is no multiple of the %" PRIu32 "-byte blocks of %s.",
			               p->block_bytes, d->logical_block_bytes, d->path);
		if (d->kind != DEVICE_DIRECTORY && p->start_bytes + p->block_bytes > d->size_bytes)
			return err_set(err, -EINVAL, "--start=%" PRIu64 " lies beyond the %" PRIu64 " bytes of %s.",
			               p->start_bytes, d->size_bytes, d->path);
	}
	return 0;
}

static uint64_t run_time_ns(const struct session *ses, const struct stream_params *p)
{
	if (ses->common->time_ns)
		return ses->common->time_ns;
	return p->bytes ? CLOCK_NEVER : TIME_DEFAULT_NS;
}

static int stream_plan(const struct session *ses, const void *params, struct plan *plan, struct err *err)
{
	const struct stream_params *p = params;
	uint64_t time_ns = run_time_ns(ses, p), moved = UINT64_MAX;
	int r = check_targets(ses, p, err);

	if (r < 0)
		return r;
	if (p->read && p->write)
		return err_set(err, -EINVAL, "--read and --write exclude each other.");
	if (p->verify && p->read)
		return err_set(err, -EINVAL, "--verify reads back what this run wrote; it does not go with --read.");
	if ((p->tradeoff || p->find_max) && p->verify)
		return err_set(err, -EINVAL, "--verify does not go with --tradeoff and --find-max; run it apart.");
	if (p->buffer_bytes / p->block_bytes < 2)
		return err_set(err, -EINVAL, "--buffer=%" PRIu64 " holds fewer than two blocks of %" PRIu64 " bytes.",
		               p->buffer_bytes, p->block_bytes);
	if (p->buffer_bytes / p->block_bytes > 1u << 20)
		return err_set(err, -EINVAL,
		               "--buffer=%" PRIu64 " holds more than a million blocks of %" PRIu64
		               " bytes; give a larger --block.",
		               p->buffer_bytes, p->block_bytes);
	if (p->bytes)
		moved = p->bytes;
	else if (p->rate != RATE_MAX)
		moved = (uint64_t)((unsigned __int128)p->rate * time_ns / NS_PER_S);
	plan->opens_itself = has_directory(ses);
	plan->is_direct = !p->cached;
	plan->is_latency = true;
	plan->writes = p->read || plan->opens_itself ? WRITE_NONE : WRITE_DESTROY;
	plan->read_bytes = p->read || p->verify ? moved : 0;
	plan->write_bytes = p->read ? 0 : moved;
	plan_phase(plan, p->find_max ? "tries" : "stream",
	           (p->find_max ? 8 : 1) * (time_ns == CLOCK_NEVER ? TIME_DEFAULT_NS : time_ns));
	if (p->verify)
		plan_phase(plan, "verify", time_ns == CLOCK_NEVER ? TIME_DEFAULT_NS : time_ns);
	return 0;
}

/* ---- targets ---- */

static int make_file(struct stream_run *s, size_t lane, unsigned n, uint64_t bytes, struct err *err)
{
	const struct device *d = &s->ses->devs[lane];
	struct datafile **df = &s->files[s->ntargets];
	char path[512];
	int fd, r = datafile_name(path, sizeof(path), d->path, "stream", (unsigned)lane * 1000 + n);

	if (r < 0)
		return err_set(err, r, "The name of a file in %s would be too long.", d->path);
	r = datafile_create(df, path, bytes, DATAFILE_ALLOCATE | (s->p->keep ? DATAFILE_KEEP : 0), err);
	if (r < 0)
		return r;
	fd = datafile_open(*df, !s->p->cached, err);
	if (fd == -EOPNOTSUPP)
		return err_set(err, fd,
		               "The file system of %s takes no direct I/O; --cached streams through the page cache.",
		               d->path);
	if (fd < 0)
		return fd;
	s->targets[s->ntargets] = (struct target){
		.name = d->path,
		.fd = fd,
		.size_bytes = DATAFILE_HEADER_BYTES + bytes,
		.align_bytes = s->p->cached                ? 1
		               : d->dio_offset_align_bytes ? d->dio_offset_align_bytes
		                                           : 512,
		.permit = datafile_permit(*df),
	};
	s->lane_of[s->ntargets++] = (uint32_t)lane;
	return 0;
}

/* Files for all that may come: a fair share and half as much again, since a fast directory takes more than its share. */
static int make_files(struct stream_run *s, uint64_t total, struct err *err)
{
	uint64_t share = total / s->nlanes, each = s->p->file_bytes - s->p->file_bytes % s->p->block_bytes, n;
	int r = 0;

	if (each == 0)
		return err_set(err, -EINVAL, "--file-size=%" PRIu64 " is smaller than a block of %" PRIu64 ".",
		               s->p->file_bytes, s->p->block_bytes);
	if (s->nlanes > 1 && s->p->layout == LAYOUT_BALANCE)
		share += share / 2;
	share += s->p->block_bytes;
	if (share < each)
		each = share + s->p->block_bytes - share % s->p->block_bytes;
	n = (share + each - 1) / each;
	if (n * s->nlanes > STREAM_FILES_MAX)
		return err_set(err, -EINVAL,
		               "That would be %" PRIu64 " files; give a larger --file-size (at most %d files).",
		               n * s->nlanes, STREAM_FILES_MAX);
	for (size_t lane = 0; r == 0 && lane < s->nlanes; lane++) {
		s->lanes[lane].first_target = s->ntargets;
		s->lanes[lane].start = DATAFILE_HEADER_BYTES;
		s->lanes[lane].room = each;
		for (uint64_t i = 0; r == 0 && i < n; i++)
			r = make_file(s, lane, (unsigned)i, each, err);
		s->lanes[lane].ntargets = n;
	}
	return r;
}

int stream_open(struct stream_run *s, struct err *err)
{
	bool is_dir = has_directory(s->ses);
	uint64_t total = s->p->bytes, time_ns = run_time_ns(s->ses, s->p);

	s->nlanes = s->ses->ndevs;
	s->lanes = calloc(s->nlanes, sizeof(*s->lanes));
	s->lane_of = calloc(STREAM_FILES_MAX + STREAM_LANES_MAX, sizeof(*s->lane_of));
	if (!s->lanes || !s->lane_of)
		return err_set(err, -ENOMEM, "Out of memory.");
	for (size_t i = 0; i < s->nlanes; i++)
		s->lanes[i].name = s->ses->devs[i].path;
	if (is_dir) {
		if (!total)
			total = s->p->rate == RATE_MAX ? (uint64_t)s->nlanes << 30
			                               : (uint64_t)((unsigned __int128)s->p->rate * time_ns / NS_PER_S);
		s->targets = calloc(STREAM_FILES_MAX + STREAM_LANES_MAX, sizeof(*s->targets));
		s->files = calloc(STREAM_FILES_MAX + STREAM_LANES_MAX, sizeof(struct datafile *));
		return s->targets && s->files ? make_files(s, total, err) : err_set(err, -ENOMEM, "Out of memory.");
	}
	s->targets = s->ses->targets;
	s->ntargets = s->ses->ndevs;
	for (size_t i = 0; i < s->nlanes; i++) {
		struct lane *l = &s->lanes[i];

		l->first_target = i;
		l->ntargets = 1;
		l->start = s->p->start_bytes - s->p->start_bytes % s->p->block_bytes;
		l->room = s->ses->devs[i].size_bytes - l->start;
		s->lane_of[i] = (uint32_t)i;
	}
	return 0;
}

void stream_close(struct stream_run *s)
{
	engine_close(s->eng);
	for (size_t i = 0; s->files && i < s->ntargets; i++) {
		if (s->targets[i].fd >= 0)
			(void)close(s->targets[i].fd); /* the file is thrown away, or was synced */
		datafile_close(s->files[i]);
	}
	if (s->files)
		free(s->targets);
	for (size_t i = 0; s->lanes && i < s->nlanes; i++) {
		free(s->lanes[i].service);
		free(s->lanes[i].response);
	}
	free(s->files);
	free(s->lanes);
	free(s->lane_of);
	free(s->free_slots);
	free(s->source);
	free(s->points);
	free(s->placed);
	stream_once_done(s);
}

/* ---- figures ---- */

static void target_table(struct stream_run *s)
{
	struct table *t = result_table(s->ses->res, "targets", "Targets", target_fields);

	result_table_clear(t);
	for (size_t i = 0; i < s->nlanes; i++) {
		const struct lane *l = &s->lanes[i];
		double seconds = l->last_done_ns > l->first_submit_ns
		                         ? (double)(l->last_done_ns - l->first_submit_ns) * 1e-9
		                         : (double)NAN;
		struct target_row row = {
			.target = l->name,
			.bytes = l->bytes,
			.rate_bytes_per_s = (double)l->bytes / seconds,
			.p50_ns = l->blocks ? hist_quantile(l->service, 0.5) : UINT64_MAX,
			.p99_ns = hist_can_quantile(l->service, 0.99) ? hist_quantile(l->service, 0.99) : UINT64_MAX,
			.p999_ns = hist_can_quantile(l->service, 0.999) ? hist_quantile(l->service, 0.999) : UINT64_MAX,
			.max_ns = l->blocks ? l->service->max : UINT64_MAX,
			.max_gap_ns = l->max_gap_ns,
			.response_p99_ns =
				hist_can_quantile(l->response, 0.99) ? hist_quantile(l->response, 0.99) : UINT64_MAX,
			.response_max_ns = l->blocks ? l->response->max : UINT64_MAX,
			.faults = l->faults,
			.first_byte = l->first_offset,
			.last_byte = l->last_offset ? l->last_offset - 1 : 0,
			.state = l->is_dead   ? "lost"
			         : l->is_full ? "full"
			                      : "good",
		};

		result_row(t, &row);
	}
}

static void timeline_table(struct stream_run *s)
{
	struct table *t = result_table(s->ses->res, "timeline", "Over time", timeline_fields);

	result_table_clear(t);
	for (size_t i = 0; i < s->ntimeline; i++)
		result_row(t, &s->timeline[i]);
}

static void event_table(struct stream_run *s)
{
	struct table *t = result_table(s->ses->res, "overflows", s->p->read ? "Underruns" : "Overflows", event_fields);

	result_table_clear(t);
	for (uint64_t i = 0; i < s->ring.nevents && i < RING_EVENTS_MAX; i++) {
		const struct ring_event *e = &s->ring.events[i];
		struct event_row row = { (double)e->start_ns * 1e-9, (double)(e->end_ns - e->start_ns) * 1e-9,
			                 e->dropped_bytes };

		result_row(t, &row);
	}
}

/* Which part of each device was streamed over, and that slower zones were not. */
static void zone_notice(struct stream_run *s)
{
	for (size_t i = 0; i < s->nlanes; i++) {
		const struct lane *l = &s->lanes[i];
		char from[32], to[32];

		if (s->files || s->ses->devs[i].rotational == 0 ||
		    l->last_offset >= s->ses->devs[i].size_bytes - s->ses->devs[i].size_bytes / 50)
			continue; /* its slowest zone was covered */
		result_notice(
			s->ses->res, "zone",
			"%s was tested from %s to %s only; disks are slower towards their end: --start takes the test there, --project tells when.",
			l->name, units_bytes_dec(from, sizeof(from), l->first_offset),
			units_bytes_dec(to, sizeof(to), l->last_offset));
	}
}

static bool is_whole(const struct stream_run *s)
{
	for (size_t i = 0; i < s->nlanes; i++)
		if (s->lanes[i].is_dead || s->lanes[i].faults)
			return false;
	return true;
}

static void verdict(struct stream_run *s, uint64_t rate, double seconds)
{
	const struct ring *r = &s->ring;
	const char *what = s->p->read ? "underruns" : "overflows";
	bool sustained = r->dropped_bytes == 0 && r->lost_bytes == 0 && is_whole(s) && s->completed == s->ring.taken &&
	                 !session_is_over(s->ses);
	char text[32], peak[32], ring[32], needed[32];

	(void)units_rate_bits(text, sizeof(text), (double)rate);
	(void)units_bytes_dec(peak, sizeof(peak), (uint64_t)r->peak_bytes);
	(void)units_bytes_dec(ring, sizeof(ring), s->places * s->p->block_bytes);
	(void)units_bytes_dec(needed, sizeof(needed), (uint64_t)r->endless_peak_bytes);
	result_figure_u64(s->ses->res, "sustained", "sustained", UNIT_COUNT, sustained);
	if (sustained) {
		result_notice(
			s->ses->res, "verdict",
			"%s was sustained for %.1f s in the zones tested: the ring of %s was never fuller than %s; %s would have been enough.",
			text, seconds, ring, peak, needed);
		result_notice(s->ses->res, "bound",
		              "No %s in %.3g h means, with 95 %% confidence, fewer than %.3g an hour.", what,
		              seconds / 3600.0, law_rule_of_three(seconds / 3600.0));
	} else if (r->dropped_bytes) {
		result_notice(s->ses->res, "verdict",
		              "%s was NOT sustained: the ring of %s was full %.3f s after the start; %" PRIu64
		              " %s lost %s.",
		              text, ring, (double)r->events[0].start_ns * 1e-9, r->nevents, what,
		              units_bytes_dec(needed, sizeof(needed), r->dropped_bytes));
	} else {
		result_notice(s->ses->res, "verdict", "%s was NOT sustained: not everything could be %s.", text,
		              s->p->read ? "read" : "written");
	}
	if (!session_is_over(s->ses))
		s->ses->res->verdict_is_no = !sustained;
}

static void ring_figures(struct stream_run *s, uint64_t rate)
{
	const struct ring *r = &s->ring;
	struct result *res = s->ses->res;
	uint64_t needed = (uint64_t)r->endless_peak_bytes;

	result_figure_u64(res, "requested_bytes_per_s", "rate asked for", UNIT_BYTES_PER_S, rate);
	result_figure_u64(res, "peak_bytes", "most in the ring", UNIT_BYTES, (uint64_t)r->peak_bytes);
	result_figure_u64(res, "ring_bytes", "the ring", UNIT_BYTES, s->places * s->p->block_bytes);
	result_figure(res, "peak_ratio", "peak as part of the ring", UNIT_RATIO,
	              (double)r->peak_bytes / (double)(s->places * s->p->block_bytes), NULL, 0);
	result_figure_u64(res, "needed_bytes", "ring that would have been enough", UNIT_BYTES, needed);
	result_figure_u64(res, "overflows", s->p->read ? "underruns" : "overflows", UNIT_COUNT, r->nevents);
	result_figure_u64(res, "dropped_bytes", "dropped", UNIT_BYTES, r->dropped_bytes);
	result_figure(res, "first_overflow_s", "first of them at", UNIT_S,
	              r->nevents ? (double)r->events[0].start_ns * 1e-9 : (double)NAN, NULL, 0);
}

static void run_figures(struct stream_run *s, uint64_t rate, const struct host_usage *before)
{
	double seconds = (double)(s->end_ns - s->start_ns) * 1e-9, achieved = (double)stream_done_bytes(s) / seconds;
	struct host_usage now;

	host_usage(&now);
	if (!s->is_max && s->ring.dropped_bytes == 0 && s->issued > 2 &&
	    s->last_issue_ns > s->first_issue_ns) /* from first to last block: no ragged ends */
		achieved = (double)((s->issued - 1) * s->p->block_bytes) /
		           ((double)(s->last_issue_ns - s->first_issue_ns) * 1e-9);
	result_figure(s->ses->res, "rate_bytes_per_s", "rate achieved", UNIT_BYTES_PER_S, achieved, NULL, s->completed);
	if (!s->is_max) {
		ring_figures(s, rate);
		event_table(s);
		verdict(s, rate, seconds);
	}
	result_figure(s->ses->res, "cpu_user_s", "CPU, user", UNIT_S, (double)(now.user_ns - before->user_ns) * 1e-9,
	              NULL, 0);
	result_figure(s->ses->res, "cpu_system_s", "CPU, system", UNIT_S,
	              (double)(now.system_ns - before->system_ns) * 1e-9, NULL, 0);
	result_figure_u64(s->ses->res, "page_faults", "page faults", UNIT_COUNT,
	                  now.minor_faults + now.major_faults - before->minor_faults - before->major_faults);
	target_table(s);
	timeline_table(s);
	zone_notice(s);
}

static void plots(struct session *ses)
{
	result_plot(ses->res, &(struct plot_decl){ .kind = "line",
	                                           .title = "Rate over time",
	                                           .table = "timeline",
	                                           .x = "time_s",
	                                           .y = "rate_bytes_per_s" });
	result_plot(ses->res, &(struct plot_decl){ .kind = "step",
	                                           .title = "Most in the ring",
	                                           .table = "timeline",
	                                           .x = "time_s",
	                                           .y = "occupancy_bytes" });
	result_plot(ses->res, &(struct plot_decl){ .kind = "line",
	                                           .title = "Largest rate of a ring",
	                                           .table = "tradeoff",
	                                           .x = "ring_bytes",
	                                           .y = "rate_bytes_per_s" });
}

/* ---- what a run is made of ---- */

static int sync_targets(struct stream_run *s)
{
	uint64_t start = clock_now_ns(s->ses->env->clk);

	if (!s->p->cached || s->p->read || s->ses->env->clk->spin_ns == 0)
		return 0;
	for (size_t i = 0; i < s->ntargets; i++)
		if (fdatasync(s->targets[i].fd) < 0)
			result_fault(s->ses->res, s->targets[i].name, "flush", 0, 0, -errno,
			             (double)(start - s->ses->start_ns) * 1e-9);
	result_figure_u64(s->ses->res, "fsync_ns", "final fsync", UNIT_NS, clock_now_ns(s->ses->env->clk) - start);
	return 0;
}

static int plain(struct stream_run *s, struct err *err)
{
	struct host_usage before;
	uint64_t bad;
	int r;

	host_usage(&before);
	r = stream_once(s, s->p->rate, run_time_ns(s->ses, s->p), s->p->bytes, err);
	if (r == 0) {
		run_figures(s, s->p->rate, &before);
		r = sync_targets(s);
		session_checkpoint(s->ses);
	}
	if (r == 0 && s->p->verify && !session_is_over(s->ses)) {
		r = stream_verify(s, &bad, err);
		if (r == 0 && !session_is_over(s->ses)) {
			result_figure_u64(s->ses->res, "verified_blocks", "blocks read back and checked", UNIT_COUNT,
			                  s->nplaced);
			result_figure_u64(s->ses->res, "verify_errors", "of them not as written", UNIT_COUNT, bad);
			s->ses->res->verdict_is_no |= bad > 0;
		}
	}
	return r;
}

/* Largest rate of a ring, and of all rings by doubling, from the completions of the run at full speed. */
static double tradeoff_table(struct stream_run *s)
{
	struct table *t = result_table(s->ses->res, "tradeoff", "Ring against rate", tradeoff_fields);
	double mean = (double)stream_done_bytes(s) / ((double)(s->end_ns - s->start_ns) * 1e-9);
	uint64_t ring = s->places * s->p->block_bytes;

	for (uint64_t bytes = 2 * s->p->block_bytes; bytes <= 8 * ring && bytes < stream_done_bytes(s); bytes *= 2) {
		/* Beyond the disks' own mean the ring only lives on the run's being short. */
		struct tradeoff_row row = { bytes, fmin((double)bucket_max_rate(s->points, s->npoints, bytes), mean) };

		result_row(t, &row);
	}
	return fmin((double)bucket_max_rate(s->points, s->npoints, ring), mean);
}

static int tradeoff(struct stream_run *s, struct err *err)
{
	struct host_usage before;
	double rate;
	int r;

	host_usage(&before);
	r = stream_once(s, RATE_MAX, run_time_ns(s->ses, s->p), s->p->bytes, err);
	if (r < 0 || session_is_over(s->ses))
		return r;
	rate = tradeoff_table(s);
	result_figure(s->ses->res, "max_rate_bytes_per_s", "largest rate of this ring", UNIT_BYTES_PER_S, rate, NULL,
	              s->npoints);
	result_figure(s->ses->res, "full_speed_bytes_per_s", "at full speed", UNIT_BYTES_PER_S,
	              (double)stream_done_bytes(s) / ((double)(s->end_ns - s->start_ns) * 1e-9), NULL, s->completed);
	session_checkpoint(s->ses);
	if (!(rate > 0.0))
		return 0;
	stream_once_done(s);
	r = stream_once(s, (uint64_t)(0.95 * rate), run_time_ns(s->ses, s->p), s->p->bytes,
	                err); /* the proof: a real run at 95 % of it */
	if (r == 0)
		run_figures(s, (uint64_t)(0.95 * rate), &before);
	return r;
}

static int one_try(struct stream_run *s, uint64_t rate, uint64_t time_ns, bool *ret_good, struct err *err)
{
	struct table *t = result_table(s->ses->res, "tries", "Search for the highest rate", try_fields);
	struct try_row row;
	char text[32];
	int r;

	stream_once_done(s);
	r = stream_once(s, rate, time_ns, s->p->bytes, err);
	if (r < 0)
		return r;
	*ret_good = s->ring.nevents == 0 && is_whole(s);
	row = (struct try_row){ (double)rate, (double)s->ring.peak_bytes / (double)(s->places * s->p->block_bytes),
		                s->ring.nevents };
	result_row(t, &row);
	session_log(s->ses, "try %s: peak %.2f of the ring, %" PRIu64 " overflows",
	            units_rate_bits(text, sizeof(text), row.rate_bytes_per_s), row.peak_ratio, row.overflows);
	session_checkpoint(s->ses);
	return 0;
}

/* Halves between what held and what did not, to 1 %; the first bracket comes from the run at full speed. */
static int find_max(struct stream_run *s, struct err *err)
{
	uint64_t time_ns = run_time_ns(s->ses, s->p), low = 0, high;
	struct host_usage before;
	double mean, guess;
	int r;

	host_usage(&before);
	r = stream_once(s, RATE_MAX, time_ns, s->p->bytes, err);
	if (r < 0 || session_is_over(s->ses))
		return r;
	mean = (double)stream_done_bytes(s) / ((double)(s->end_ns - s->start_ns) * 1e-9);
	guess = fmin((double)bucket_max_rate(s->points, s->npoints, s->places * s->p->block_bytes), mean);
	high = (uint64_t)(mean * 1.02);
	if (time_ns != CLOCK_NEVER &&
	    (double)s->places * (double)s->p->block_bytes > 0.02 * mean * (double)time_ns * 1e-9)
		result_notice(
			s->ses->res, "short",
			"In this time a ring of this size hides a rate 2 %% too high; give more --time for a sharper answer.");
	for (uint64_t rate = (uint64_t)(guess * 0.98);
	     r == 0 && !session_is_over(s->ses) && (double)(high - low) > 0.01 * (double)high;
	     rate = low / 2 + high / 2) {
		bool good;

		r = one_try(s, rate, time_ns, &good, err);
		if (r == 0 && !session_is_over(s->ses))
			*(good ? &low : &high) = rate;
		if (r == 0 && !low)
			low = (uint64_t)(guess * 0.5);
	}
	if (r == 0 && !session_is_over(s->ses)) {
		result_figure(s->ses->res, "max_rate_bytes_per_s", "highest rate without overflow", UNIT_BYTES_PER_S,
		              (double)low, &(struct interval){ (double)low, (double)high }, 0);
		stream_once_done(s);
		r = stream_once(s, low, time_ns, s->p->bytes, err);
		if (r == 0)
			run_figures(s, low, &before);
	}
	return r;
}

/* ---- --project ---- */

/* Until the place where the curve falls below what each disk has to take: bytes on each disk, over the rate, in seconds. */
static int project(struct stream_run *s, struct err *err)
{
	struct result *zones = NULL;
	const struct table *t;
	double share = (double)s->p->rate / (double)s->nlanes, until = NAN, last = NAN;
	int r = result_load(&zones, s->p->project, err), key, value;

	if (r < 0)
		return r;
	t = result_find_table(zones, "curve");
	key = t ? table_column(t, "offset_bytes") : -1;
	value = t ? table_column(t, "rate_bytes_per_s") : -1;
	if (key < 0 || value < 0 || s->p->rate == RATE_MAX) {
		result_free(zones);
		return err_set(err, -EINVAL, "--project wants a document of `platter zones` and a --rate.");
	}
	for (size_t i = 0; i < t->nrows; i++) {
		double at = table_number(t, i, (size_t)key), rate = table_number(t, i, (size_t)value);

		if (isfinite(at) && !(at <= last))
			last = at;
		if (isfinite(rate) && rate < share && at >= (double)s->p->start_bytes && !(at >= until))
			until = at;
	}
	result_figure(s->ses->res, "projected_s", "time until a zone is too slow", UNIT_S,
	              isfinite(until) ? (until - (double)s->p->start_bytes) / share : (double)NAN, NULL, 0);
	if (!isfinite(until))
		result_notice(s->ses->res, "project",
		              "By that zones result the disk holds its share of the rate to its end: %.0f s.",
		              (last - (double)s->p->start_bytes) / share);
	result_free(zones);
	return 0;
}

static int stream_measure(struct session *ses, const void *params, struct err *err)
{
	const struct stream_params *p = params;
	cleanup_free struct stream_run *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "Out of memory.");
	s->ses = ses;
	s->p = p;
	s->seed = ses->seed;
	r = stream_open(s, err);
	if (r == 0 && p->project)
		r = project(s, err);
	if (r == 0)
		r = p->tradeoff ? tradeoff(s, err) : p->find_max ? find_max(s, err) : plain(s, err);
	plots(ses);
	stream_close(s);
	return r;
}

const struct measure measure_stream = {
	.name = "stream",
	.help = "do these disks sustain this rate through this ring buffer",
	.group = GROUP_DISK,
	.targets = "DEVICE|DIRECTORY|FILE...",
	.min_targets = 1,
	.max_targets = STREAM_LANES_MAX,
	.opts = stream_opts,
	.params_size = sizeof(struct stream_params),
	.precision = 0.01,
	.plan = stream_plan,
	.run = stream_measure,
	.tables = stream_tables,
};
