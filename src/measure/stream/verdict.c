/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a paced run says of the rate: for ever, for so long, not, or that it cannot tell; and over what it was seen. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "measure/stream/stream.h"

#define VERDICT_BYTES 380 /* of the sentence; that of a clause has room for it */

/* ---- judging ---- */

/* Caches that take data first: of the drive, unless it is known to have none at work, and of the kernel. */
static bool is_hidden(const struct stream_run *s)
{
	if (s->p->read)
		return false;
	for (size_t i = 0; i < s->routes.nlanes; i++)
		if (s->p->mode == STREAM_CACHED ||
		    strncmp(s->ses->devs[i].queue.write_cache, "write through", strlen("write through")) != 0)
			return true;
	return false;
}

/* Without look-ahead each block waits for the medium, and what does not turn has no reason to read ahead. */
static bool is_ahead(const struct stream_run *s)
{
	for (size_t i = 0; i < s->routes.nlanes; i++)
		if (s->p->read && s->ses->devs[i].rotational != 0)
			return true;
	return false;
}

/* No target was lost or returned errors. */
static bool is_whole(const struct stream_run *s)
{
	for (size_t i = 0; i < s->routes.nlanes; i++)
		if (s->routes.lanes[i].is_dead || s->routes.lanes[i].faults)
			return false;
	return true;
}

static bool is_lost(const struct stream_run *s)
{
	for (size_t i = 0; i < s->routes.nlanes; i++)
		if (!s->routes.lanes[i].is_dead)
			return false;
	return true;
}

/* Done, and failed. */
static uint64_t failed_blocks(const struct stream_run *s)
{
	return s->blocks.completed - s->blocks.done_bytes / s->p->block_bytes;
}

static bool is_all(const struct stream_run *s)
{
	return s->blocks.completed == s->ring.taken && s->blocks.completed == s->ring.blocks_max;
}

int stream_judge(struct stream_run *s, struct err *err)
{
	struct balance_more more = { .ring_bytes = (double)s->blocks.places * (double)s->p->block_bytes,
		                     .in_turn = s->p->layout == LAYOUT_ROUNDROBIN,
		                     .is_hidden = is_hidden(s),
		                     .is_ahead = is_ahead(s),
		                     .can_bytes_per_s = NAN,
		                     .ends_s = INFINITY };
	int r;

	if (s->p->read) /* with the targets */
		more.ends_s = (double)(s->blocks.room_blocks * s->p->block_bytes) / s->balance.rate;
	balance_finish(&s->balance, s->span.end_ns);
	balance_judge(&s->balance, &more, &s->judgement);
	if (s->judgement.answer != BALANCE_OPEN || s->ring.nevents || !is_all(s) || session_is_over(s->ses))
		return 0;
	r = stream_reserve(s, more.is_hidden, &more.can_bytes_per_s, err);
	if (r == 0)
		balance_judge(&s->balance, &more, &s->judgement);
	return r;
}

/* Of what is played the targets are the end. */
static bool is_cut(const struct stream_run *s)
{
	return s->p->read && s->blocks.blocks_max == s->blocks.room_blocks;
}

/* Did the targets end before what was asked for? A recording that is played may, if nobody asked for its length. */
static bool is_short(const struct stream_run *s)
{
	bool is_asked = !s->p->read || s->p->bytes || s->ses->common->time_ns;

	for (size_t i = 0; i < s->routes.nlanes; i++)
		if (!s->routes.lanes[i].is_full || s->routes.lanes[i].is_dead)
			return false;
	return is_asked && !session_is_over(s->ses) &&
	       (s->blocks.asked_blocks == UINT64_MAX ? s->span.end_ns < s->span.start_ns + stream_time_ns(s->ses, s->p)
	                                             : s->blocks.issued < s->blocks.asked_blocks);
}

static bool is_steady(const struct stream_run *s)
{
	return s->judgement.answer == BALANCE_FOR_EVER || s->judgement.answer == BALANCE_AT_LEAST;
}

const char *const stream_answers[] = { [STREAM_NO] = "no", [STREAM_OPEN] = "cannot tell", [STREAM_YES] = "yes" };

enum stream_answer stream_answer(const struct stream_run *s)
{
	if (s->ring.nevents || s->judgement.answer == BALANCE_FILLS)
		return STREAM_NO;
	return is_steady(s) ? STREAM_YES : STREAM_OPEN;
}

/* ---- words ---- */

/* As exactly as it was asked for, and in that family, the other beside it. */
static const char *rate_text(const struct stream_run *s, double rate, char *buf, size_t len)
{
	if (s->p->rate_typed && strcasestr(s->p->rate_typed, "bit"))
		(void)units_printf(buf, len, "%.7g Mbit/s (%.7g MB/s)", rate * 8e-6, rate * 1e-6);
	else
		/* one that was asked for as it was typed, one that was found to what it is known by */
		(void)units_printf(buf, len, rate == (double)s->p->rate ? "%.7g MB/s" : "%.4g MB/s", rate * 1e-6);
	return buf;
}

static const char *seconds_text(double seconds, char *buf, size_t len)
{
	return units_time(buf, len, (uint64_t)fmin(seconds * 1e9, 9e18));
}

/* For as long as data came. */
static double lasted_s(const struct stream_run *s)
{
	uint64_t end_ns = session_is_over(s->ses) || !is_all(s) ? s->span.end_ns : s->balance.until_ns;

	return (double)(end_ns - s->span.start_ns) * 1e-9;
}

/*
 * " on the first 640 MB", " from 3.90 TB to 3.92 TB": of the target that went furthest. "": files, of which nobody
 * knows where they lie.
 */
static const char *place_text(const struct stream_run *s, char *buf, size_t len)
{
	const struct lane *far = &s->routes.lanes[0];
	const char *each = s->routes.nlanes > 1 ? " of each" : "";
	char from[32], to[32];

	buf[0] = '\0';
	for (size_t i = 1; i < s->routes.nlanes; i++)
		if (s->routes.lanes[i].last_offset > far->last_offset)
			far = &s->routes.lanes[i];
	(void)units_bytes_dec(from, sizeof(from), far->first_offset);
	if (!s->routes.files && far->first_offset == far->start && !s->p->range) {
		(void)units_bytes_dec(to, sizeof(to), far->last_offset - far->start);
		(void)snprintf(buf, len, " on the first %s%s", to, each);
	} else if (!s->routes.files) {
		(void)units_bytes_dec(to, sizeof(to), far->last_offset);
		(void)snprintf(buf, len, " from %s to %s%s", from, to, each);
	}
	return buf;
}

static void say_yes(const struct stream_run *s, const char *rate, char *buf, size_t len)
{
	char held[32], least[32], place[96], peak[32], ring[32], more[64] = "";

	if (s->judgement.answer == BALANCE_AT_LEAST)
		(void)snprintf(more, sizeof(more), ", and lasts at least %s",
		               seconds_text(s->judgement.at_least_s, least, sizeof(least)));
	(void)snprintf(buf, len,
	               s->p->read ? "%s was sustained for %s%s%s; at most %s of the ring's %s were missing"
	                          : "%s was sustained for %s%s%s; the ring held at most %s of %s",
	               rate, seconds_text(lasted_s(s), held, sizeof(held)), place_text(s, place, sizeof(place)), more,
	               units_bytes_dec(peak, sizeof(peak), (uint64_t)s->ring.peak_bytes),
	               units_bytes_dec(ring, sizeof(ring), s->blocks.places * s->p->block_bytes));
}

static void say_no(const struct stream_run *s, const char *rate, char *buf, size_t len)
{
	const struct balance_judgement *j = &s->judgement;
	const struct ring *r = &s->ring;
	char ring[32], lost[32], held[32], grows[32], full[32], low[32], high[32];

	(void)units_bytes_dec(ring, sizeof(ring), s->blocks.places * s->p->block_bytes);
	(void)seconds_text(lasted_s(s), held, sizeof(held));
	if (r->nevents)
		(void)snprintf(buf, len,
		               s->p->read ? "%s was not sustained: the ring of %s had run dry after %s; %" PRIu64
		                            " underrun%s missed %s"
		                          : "%s was not sustained: the ring of %s was full after %s; %" PRIu64
		                            " overflow%s lost %s",
		               rate, ring, units_time(full, sizeof(full), r->events[0].start_ns), r->nevents,
		               r->nevents == 1 ? "" : "s", units_bytes_dec(lost, sizeof(lost), r->dropped_bytes));
	else if (is_lost(s))
		(void)snprintf(buf, len, "%s held for %s, not longer: then %s took no more requests", rate, held,
		               s->routes.lanes[0].name);
	else if (r->lost_bytes || !is_whole(s))
		(void)snprintf(buf, len, "%s was not sustained: %" PRIu64 " of %" PRIu64 " blocks could not be %s",
		               rate, failed_blocks(s), s->blocks.completed, s->p->read ? "read" : "written");
	else if (!is_all(s))
		(void)snprintf(buf, len, "%s held for %s, not longer", rate, held);
	else
		(void)snprintf(
			buf, len,
			s->p->read
				? "%s was not sustained: it held for %s, but the ring of %s drains by %s and is dry after %s (%s to %s)"
				: "%s was not sustained: it held for %s, but the ring of %s grows fuller by %s and is full after %s (%s to %s)",
			rate, held, ring, units_rate(grows, sizeof(grows), j->growth.value),
			seconds_text(j->full_s.value, full, sizeof(full)),
			seconds_text(j->full_s.ci.low, low, sizeof(low)),
			seconds_text(j->full_s.ci.high, high, sizeof(high)));
}

/* Which of several disks it is, where all of them carry less than was asked; else it was not the rate. */
static void report_slowest(const struct stream_run *s)
{
	const struct balance_judgement *j = &s->judgement;
	char text[VERDICT_BYTES] = "", can[32], part[32];

	if (s->routes.nlanes > 1 && j->slowest_bytes_per_s > 0.0 &&
	    j->all_bytes_per_s < (double)s->ring.rate_bytes_per_s) {
		bool in_turn = s->p->layout == LAYOUT_ROUNDROBIN;

		(void)units_rate(can, sizeof(can), j->slowest_bytes_per_s);
		(void)units_rate(part, sizeof(part),
		                 in_turn ? (double)s->ring.rate_bytes_per_s / (double)s->routes.nlanes
		                         : j->all_bytes_per_s);
		(void)snprintf(text, sizeof(text),
		               in_turn ? "%s holds it up: it carries %s, and its part is %s"
		                       : "%s is the slowest: it carries %s of the %s of all",
		               s->routes.lanes[j->slowest].name, can, part);
	}
	if (*text)
		result_figure_text(s->ses->res, "slowest", "what holds it up", text);
}

/* Which part of each device was streamed over, and that slower zones were not. */
static void zone_notice(struct stream_run *s)
{
	for (size_t i = 0; i < s->routes.nlanes; i++) {
		const struct lane *l = &s->routes.lanes[i];
		char from[32], to[32];

		if (s->routes.files || s->ses->devs[i].kind == DEVICE_FILE || s->ses->devs[i].rotational == 0 ||
		    l->last_offset >= s->ses->devs[i].size_bytes - s->ses->devs[i].size_bytes / 50)
			continue; /* its slowest zone was covered */
		result_notice(
			s->ses->res, "zone",
			"%s was tested from %s to %s only, and disks are slower towards their end. --range=90%%- tests there; --project shows when it becomes too slow.",
			l->name, units_bytes_dec(from, sizeof(from), l->first_offset),
			units_bytes_dec(to, sizeof(to), l->last_offset));
	}
}

static void bound_notice(struct stream_run *s, double seconds)
{
	const char *what = s->p->read ? "underruns" : "overflows";
	char text[32];

	if (seconds < 3600.0)
		result_notice(s->ses->res, "bound", "There were no %s in %s. Run 3 h to show fewer than one an hour.",
		              what, seconds_text(seconds, text, sizeof(text)));
	else
		result_notice(s->ses->res, "bound",
		              "No %s in %.3g h means, with 95 %% confidence, fewer than %.3g an hour.", what,
		              seconds / 3600.0, law_rule_of_three(seconds / 3600.0));
}

/* Neither yes nor no. */
static void say_open(const struct stream_run *s, const char *what, double seconds, char *buf, size_t len)
{
	char time[32];

	(void)seconds_text(seconds, time, sizeof(time));
	if (s->is_under_way)
		(void)snprintf(buf, len, "%s has held for %s so far", what, time);
	else if (s->blocks.completed == 0)
		(void)snprintf(buf, len, "nothing was %s: the run ended before the first block was done",
		               s->p->read ? "read" : "written");
	else if (session_is_over(s->ses))
		(void)snprintf(buf, len, "%s held for %s, until the run was ended", what, time);
	else
		(void)snprintf(
			buf, len,
			"this run cannot tell whether %s is sustained: nothing was lost, but a ring that fills slowly looks the same; %s%.0f s%s",
			what, is_cut(s) ? "give targets that last for " : "let it run for ", ceil(s->judgement.need_s),
			is_cut(s) ? "" : " (--time)");
}

void stream_report_short(const struct stream_run *s)
{
	uint64_t bytes = s->p->bytes, time_ns = stream_time_ns(s->ses, s->p);
	char text[VERDICT_BYTES], asked[32];

	if (!is_short(s))
		return;
	(void)snprintf(text, sizeof(text), "the targets %s before the %s of --%s", s->p->read ? "ended" : "were full",
	               bytes ? units_bytes_dec(asked, sizeof(asked), bytes) : units_time(asked, sizeof(asked), time_ns),
	               bytes ? "size" : "time");
	result_figure_text(s->ses->res, "ended_by", "why it ended early", text);
	session_ended_early(s->ses);
}

void stream_report_full_speed(const struct stream_run *s, double rate)
{
	const char *done = s->p->read ? "read" : "written";
	char text[VERDICT_BYTES], what[32], time[32], place[96], failed[64] = "";

	(void)units_rate(what, sizeof(what), rate);
	(void)seconds_text((double)(s->span.end_ns - s->span.start_ns) * 1e-9, time, sizeof(time));
	if (failed_blocks(s))
		(void)snprintf(failed, sizeof(failed), "; %" PRIu64 " of %" PRIu64 " blocks could not be %s",
		               failed_blocks(s), s->blocks.completed, done);
	if (s->blocks.done_bytes)
		(void)snprintf(text, sizeof(text), "%s at full speed for %s%s%s", what, time,
		               place_text(s, place, sizeof(place)), failed);
	else
		(void)snprintf(text, sizeof(text), "nothing was %s in %s%s", done, time, failed);
	result_figure_text(s->ses->res, "full_speed", "at full speed", text);
}

void stream_report_verdict(struct stream_run *s, uint64_t rate)
{
	const struct balance_judgement *j = &s->judgement;
	struct result *res = s->ses->res;
	double seconds = lasted_s(s), sustained = NAN;
	bool is_open_ended = s->is_under_way || session_is_over(s->ses),
	     is_no = s->ring.nevents || s->ring.lost_bytes || !is_whole(s) ||
	             (!is_open_ended && (!is_all(s) || j->answer == BALANCE_FILLS));
	char text[VERDICT_BYTES], what[80];

	(void)rate_text(s, (double)rate, what, sizeof(what));
	if (is_no) {
		sustained = 0.0;
		say_no(s, what, text, sizeof(text));
	} else if (!is_open_ended && s->blocks.completed && (is_steady(s) || (is_cut(s) && !is_short(s)))) {
		/* all of a recording, whatever one that goes on would do; or for ever */
		sustained = 1.0;
		say_yes(s, what, text, sizeof(text));
		if (!is_short(s))
			bound_notice(s, seconds);
	} else {
		say_open(s, what, seconds, text, sizeof(text));
	}
	result_figure(res, "sustained", "sustained", UNIT_COUNT, sustained, NULL, 0);
	result_figure_text(res, "verdict", "verdict", text);
	if (s->is_under_way)
		return;
	if (is_no)
		report_slowest(s);
	result_figure(res, "growth_bytes_per_s", "growth of the ring's fill", UNIT_BYTES_PER_S, j->growth.value,
	              &j->growth.ci, 0);
	result_figure(res, "ring_full_s", "ring full after", UNIT_S,
	              s->ring.nevents ? (double)s->ring.events[0].start_ns * 1e-9 : j->full_s.value,
	              s->ring.nevents ? NULL : &j->full_s.ci, 0);
	if (!is_no && isnan(sustained) && !session_is_over(s->ses))
		result_figure(res, "needed_time_s", "length of a run that can tell", UNIT_S, ceil(j->need_s), NULL, 0);
	zone_notice(s);
	if (!session_is_over(s->ses)) {
		res->verdict_is_no = is_no;
		res->verdict_is_open = !is_no && isnan(sustained);
	}
}
