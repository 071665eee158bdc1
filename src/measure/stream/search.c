/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rate for which ring: --tradeoff has it for all rings from one run at full speed. With W(t) the completed bytes,
 * it is the largest R with R (t - s) - (W(t) - W(s)) <= ring for all s < t. --find finds it for one ring by real runs.
 */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "measure/stream/stream.h"

#define TRIES_MAX      16    /* without any that held: less than a ten thousandth */
#define BLOCKS_MIN     100.0 /* fewer in a try say nothing: one more or less is 1 %, as sharp as the answer is to be */
#define TRIES_EXPECTED 5.0   /* the first guess, and closer ones until one is sure to hold and the next not to */

/* A run of very many blocks: what holds for it is on the safe side, and how far. */
static void report_thinned(struct stream_run *s)
{
	if (s->log.stride > 1)
		result_notice(s->ses->res, "thinned",
		              "There were more than %zu blocks, so each %" PRIu64
		              "th was kept; the rates are those that a ring smaller by %" PRIu64
		              " blocks would have borne.",
		              STREAM_POINTS_MAX, s->log.stride, s->log.stride - 1);
}

/* Largest rate of a ring, and of all rings by doubling, from the completions of the run at full speed. */
static double tradeoff_table(struct stream_run *s)
{
	struct table *t = result_table(s->ses->res, "tradeoff", "Ring against rate", stream_tradeoff_fields);
	double mean = (double)s->blocks.done_bytes / ((double)(s->span.end_ns - s->span.start_ns) * 1e-9);
	uint64_t ring = s->blocks.places * s->p->block_bytes;

	report_thinned(s);
	for (uint64_t bytes = (s->log.stride + 1) * s->p->block_bytes;
	     bytes <= 8 * ring && bytes < s->blocks.done_bytes; bytes *= 2) {
		/* Beyond the disks' own mean the ring only lives on the run's being short. */
		struct tradeoff_row row = { bytes, fmin((double)bucket_log_max_rate(&s->log, bytes), mean) };

		result_row(t, &row);
	}
	return fmin((double)bucket_log_max_rate(&s->log, ring), mean);
}

int stream_tradeoff(struct stream_run *s, struct err *err)
{
	double rate;
	int r;

	s->blocks.parts_left = 1;
	r = stream_once(s, RATE_MAX, err);
	if (r < 0 || session_is_over(s->ses))
		return r;
	rate = tradeoff_table(s);
	result_figure(s->ses->res, "max_rate_bytes_per_s", "highest rate of this ring", UNIT_BYTES_PER_S, rate, NULL,
	              s->log.seen);
	result_figure(s->ses->res, "full_speed_bytes_per_s", "at full speed", UNIT_BYTES_PER_S,
	              (double)s->blocks.done_bytes / ((double)(s->span.end_ns - s->span.start_ns) * 1e-9), NULL,
	              s->blocks.completed);
	session_checkpoint(s->ses);
	if (!(rate > 0.0))
		return 0;
	stream_once_done(s);
	s->blocks.parts_done = 1;
	s->blocks.parts_left = 0;
	r = stream_once(s, (uint64_t)(0.95 * rate), err); /* the proof: a real run at 95 % of it */
	if (r == 0)
		stream_figures(s, (uint64_t)(0.95 * rate));
	return r;
}

/*
 * A block that cannot be read fails at every rate, and is reported as the error that it is: it says nothing against
 * this one. But a target that was lost, or of which more than a hundredth failed, bears nothing.
 */
static bool is_borne(const struct stream_run *s)
{
	uint64_t faults = 0;

	for (size_t i = 0; i < s->routes.nlanes; i++) {
		if (s->routes.lanes[i].is_dead)
			return false;
		faults += s->routes.lanes[i].faults;
	}
	return faults * 100 <= s->blocks.completed;
}

static int one_try(struct stream_run *s, uint64_t rate, enum stream_answer *ret, struct err *err)
{
	struct table *t = result_table(s->ses->res, "tries", "Search for the highest rate", stream_try_fields);
	struct try_row row;
	char text[32];
	int r;

	stream_once_done(s);
	r = stream_once(s, rate, err);
	if (r < 0)
		return r;
	*ret = is_borne(s) ? stream_answer(s) : STREAM_NO;
	row = (struct try_row){ (double)rate,
		                (double)s->ring.peak_bytes / (double)(s->blocks.places * s->p->block_bytes),
		                s->ring.nevents, stream_answers[*ret] };
	result_row(t, &row);
	session_log(s->ses, "try %s: peak %.2f of the ring, %" PRIu64 " overflows",
	            units_rate_bits(text, sizeof(text), row.rate_bytes_per_s), row.peak_ratio, row.overflows);
	session_checkpoint(s->ses);
	return 0;
}

/* What the search goes by: rates that held (0: none yet), that did not prove to, and that did not hold, or cannot, as
 * the disks are not faster. */
struct bracket {
	uint64_t low, high, refuted;
};

/* Down by halves until one has held, then halves between. */
static uint64_t next_rate(const struct bracket *b)
{
	return b->low ? b->low / 2 + b->high / 2 : b->high / 2;
}

static bool is_found(const struct stream_run *s, const struct bracket *b, uint64_t time_ns, unsigned tries)
{
	double blocks = (double)next_rate(b) * (double)time_ns * 1e-9 / (double)s->p->block_bytes;

	if (b->low)
		return (double)(b->high - b->low) <= 0.01 * (double)b->high;
	return tries >= TRIES_MAX || (time_ns != CLOCK_NEVER && blocks < BLOCKS_MIN);
}

static int search(struct stream_run *s, uint64_t time_ns, uint64_t guess, struct bracket *b, struct err *err)
{
	uint64_t rate = guess;
	int r = 0;

	for (unsigned tries = 0; r == 0 && rate && !session_is_over(s->ses) && !is_found(s, b, time_ns, tries);
	     tries++) {
		enum stream_answer answer = STREAM_OPEN;

		s->blocks.parts_done++;
		s->blocks.parts_left =
			b->low ? fmax(ceil(log2((double)(b->high - b->low) / (0.01 * (double)b->high))), 1.0)
			       : TRIES_EXPECTED;
		r = one_try(s, rate, &answer, err);
		if (r == 0 && !session_is_over(s->ses)) {
			*(answer == STREAM_YES ? &b->low : &b->high) = rate;
			b->refuted = answer == STREAM_NO ? rate : b->refuted;
		}
		rate = next_rate(b);
	}
	return r;
}

/* A rate that lost nothing and still did not prove to hold speaks against none. */
static void report_not_found(struct stream_run *s, const struct bracket *b)
{
	const struct table *t = result_find_table(s->ses->res, "tries");
	struct result *res = s->ses->res;
	char text[200];
	bool is_no = t && t->nrows ? b->refuted == b->high : result_fault_count(res) > 0;

	result_figure(res, "max_rate_bytes_per_s", "highest rate without overflow", UNIT_BYTES_PER_S, NAN, NULL, 0);
	if (t && t->nrows)
		(void)snprintf(text, sizeof(text), "%s: none of %zu rates that were tried held",
		               is_no ? "no rate is reported" : "this run cannot tell", t->nrows);
	else
		(void)snprintf(
			text, sizeof(text),
			"this run cannot tell: --time is shorter than %g blocks, so nothing was tried; give more",
			BLOCKS_MIN);
	result_figure_text(res, "verdict", "verdict", text);
	res->verdict_is_no = is_no;
	res->verdict_is_open = !is_no;
}

/* The rate that held, in a run of its own once more: what it says stands in the document. */
static int prove(struct stream_run *s, const struct bracket *b, struct err *err)
{
	int r;

	stream_once_done(s);
	s->blocks.parts_done++;
	s->blocks.parts_left = 0;
	r = stream_once(s, b->low, err);
	if (r < 0 || (!session_is_over(s->ses) && stream_answer(s) == STREAM_NO))
		return r;
	result_figure(s->ses->res, "max_rate_bytes_per_s", "highest rate without overflow", UNIT_BYTES_PER_S,
	              (double)b->low, &(struct interval){ (double)b->low, (double)b->refuted }, 0);
	if (b->refuted > b->high)
		result_notice(
			s->ses->res, "open-above",
			"Runs at %.4g MB/s and more lost nothing, and were too short to see whether that lasts; give more --time, or targets that last longer.",
			(double)b->high * 1e-6);
	stream_figures(s, b->low);
	return 1;
}

/* To 1 %; the first guess comes from the run at full speed. Only a rate that has held twice is reported. */
int stream_find_max(struct stream_run *s, struct err *err)
{
	uint64_t time_ns = stream_time_ns(s->ses, s->p);
	struct bracket b = { 0 };
	double mean, guess;
	int r;

	s->blocks.parts_left = TRIES_EXPECTED + 1;
	r = stream_once(s, RATE_MAX, err);
	if (r < 0 || session_is_over(s->ses))
		return r;
	report_thinned(s);
	mean = (double)s->blocks.done_bytes / ((double)(s->span.end_ns - s->span.start_ns) * 1e-9);
	guess = fmin((double)bucket_log_max_rate(&s->log, s->blocks.places * s->p->block_bytes), mean);
	b.high = b.refuted = (uint64_t)(mean * 1.02);
	for (r = 0; r == 0; guess = (double)b.high) {
		r = search(s, time_ns, (uint64_t)(guess * 0.98), &b, err);
		if (r < 0 || session_is_over(s->ses))
			return r;
		if (!b.low) {
			report_not_found(s, &b);
			return 0;
		}
		r = prove(s, &b, err);
		if (r == 0)
			b = (struct bracket){ .high = b.low, .refuted = b.low };
	}
	return r < 0 ? r : 0;
}
