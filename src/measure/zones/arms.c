/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several arms, or several disks in a row: each of the ranges alone, and all at once. The ranges are those that the
 * kernel shows (queue/independent_access_ranges), else those that the curve shows: another device from some place on.
 * In each round all read their next bytes, one after the other and then together, so that a drift in time meets all
 * alike; the rounds show the intervals.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/zones/zones.h"

#define UNSURE_PLACES 2 /* places of the curve, between which another device begins */
#define ROUNDS        5 /* t is 2.8 for that many (a choice) */
#define PLACE_PART                                                                                                 \
	128 /* of a range, from its begin to the first reading: behind the cell of the curve, and within the first \
	       zone */
#define STRIDE_BYTES (1ull << 30) /* from one reading to the next, at most: beyond what any buffer has read ahead */
#define ROOM_PART    4 /* of a range, that all readings may take: or the arm is too small to be measured apart */

struct stream {
	uint64_t at, end, room_end;
	uint64_t unsure;       /* that many bytes behind its begin may still be of the one before */
	uint64_t next, stride; /* where the next reading begins, and how far from one to the next */
	uint32_t in_flight;
	struct zone_done *done;
	size_t n, room;
};

/* Feeder and sink of one reading: the streams from first to last, by turns. */
struct reading {
	struct feeder feeder;
	struct sink sink;
	struct stream *streams;
	size_t first, last, turn;
	uint32_t target, block_bytes, depth;
	uint64_t start_ns;
	double end_ns; /* of the last completion, since the start */
	bool has_fault, is_enough;
};

/* Each has its share in flight; the first that has read all ends it for all, so that none reads alone. */
static enum feed next_of_streams(struct feeder *f, uint64_t now_ns, struct io_req *req, uint64_t *ret_until_ns)
{
	struct reading *g = (struct reading *)((char *)f - offsetof(struct reading, feeder));
	size_t n = g->last - g->first + 1;

	if (!g->start_ns)
		g->start_ns = now_ns;
	for (size_t i = 0; i < n; i++)
		g->is_enough |= g->streams[g->first + i].at == g->streams[g->first + i].end;
	if (g->has_fault || g->is_enough)
		return FEED_END;
	for (size_t i = 0; i < n; i++) {
		struct stream *s = &g->streams[g->first + g->turn];

		req->tag = g->first + g->turn;
		g->turn = (g->turn + 1) % n;
		if (s->in_flight == g->depth)
			continue;
		req->op = IO_READ;
		req->target = g->target;
		req->offset_bytes = s->at;
		req->len_bytes = g->block_bytes;
		req->due_ns = 0;
		s->at += g->block_bytes;
		s->in_flight++;
		return FEED_IO;
	}
	*ret_until_ns = CLOCK_NEVER;
	return FEED_WAIT;
}

static void take_of_streams(struct sink *sink, const struct io_req *req, bool is_fault)
{
	struct reading *g = (struct reading *)((char *)sink - offsetof(struct reading, sink));
	struct stream *s = &g->streams[req->tag];

	s->in_flight--;
	g->has_fault |= is_fault || req->is_late;
	g->end_ns = (double)(req->done_ns - g->start_ns);
	if (is_fault || s->n == s->room)
		return;
	s->done[s->n] = (struct zone_done){ g->end_ns, (s->n ? s->done[s->n - 1].bytes : 0.0) + (double)req->res };
	s->n++;
}

/* Of stream k in the reading; one that hardly had its turn beside the others (a drive's queue may be unfair) by all its
 * bytes. NaN: a fault. */
static double rate_of(const struct reading *g, size_t k)
{
	const struct stream *s = &g->streams[k];
	struct zone_estimate e;

	if (g->has_fault || !(g->end_ns > 0.0))
		return NAN;
	if (zone_estimate(s->done, s->n, g->depth, 0.0, &e))
		return 1e9 / e.ns_per_byte;
	return s->n ? 1e9 * s->done[s->n - 1].bytes / g->end_ns : 0.0;
}

/* Reads the next span of streams first to last; fills rate[] of each, and adds them up. */
static int read_streams(struct zones_run *run, struct reading *g, size_t first, size_t last, double *rate,
                        double *ret_sum, struct err *err)
{
	struct load load = { .targets = run->ses->targets,
		             .ntargets = run->ses->ndevs,
		             .feeder = &g->feeder,
		             .sink = &g->sink,
		             .depth = (uint32_t)run->p->depth };
	struct load_stats stats;
	int r;

	g->first = first;
	g->last = last;
	g->turn = 0;
	g->start_ns = 0;
	g->end_ns = 0.0;
	g->has_fault = g->is_enough = false;
	for (size_t k = first; k <= last; k++) {
		struct stream *s = &g->streams[k];

		s->at = s->next;
		s->next += s->stride;
		s->end = s->at + s->room * g->block_bytes;
		s->n = 0;
	}
	r = session_load(run->ses, &load, run->eng, &stats, err);
	*ret_sum = 0.0;
	for (size_t k = first; k <= last; k++)
		*ret_sum += rate[k] = r == 0 ? rate_of(g, k) : (double)NAN;
	return r;
}

/* The ranges, as far as they are measured: [first, end) of each. */
static size_t find_ranges(const struct zone_target *t, struct stream *streams, size_t max)
{
	const struct zone_layout *l = &t->layout;
	uint64_t unsure = UNSURE_PLACES * (l->end_bytes - l->first_bytes) / l->npositions;
	size_t n = 0;

	for (size_t i = 0; t->dev->kind == DEVICE_DISK && i < t->dev->nranges && n < max; i++) {
		const struct device_range *r = &t->dev->ranges[i];

		if (r->first_byte >= l->first_bytes && r->first_byte < l->end_bytes &&
		    r->bytes <= l->end_bytes - r->first_byte)
			streams[n++] = (struct stream){ .at = r->first_byte, .room_end = r->first_byte + r->bytes };
	}
	for (size_t i = 0; n == 0 && t->dev->nranges < 2 && i < t->analysis->stretches.n; i++) {
		const struct zone_stretch *s = &t->analysis->stretches.v[i];

		if (s->kind != STRETCH_DEVICE)
			continue;
		streams[n++] = (struct stream){ .at = l->first_bytes, .room_end = s->first_bytes };
		streams[n++] = (struct stream){ .at = s->first_bytes, .room_end = l->end_bytes, .unsure = unsure };
	}
	return n;
}

struct rounds { /* of each arm, and of all */
	double alone[DEVICE_RANGES_MAX][ROUNDS], together[DEVICE_RANGES_MAX][ROUNDS], all[ROUNDS], gain[ROUNDS];
	uint64_t first[DEVICE_RANGES_MAX], end[DEVICE_RANGES_MAX];
	size_t n;
};

static int run_rounds(struct zones_run *run, struct reading *g, struct rounds *ret, struct err *err)
{
	size_t n = ret->n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROUNDS; i++) {
		double rate[DEVICE_RANGES_MAX], sum;

		for (size_t k = 0; r == 0 && k < n && !session_is_over(run->ses); k++) {
			r = read_streams(run, g, k, k, rate, &sum, err);
			ret->alone[k][i] = rate[k];
		}
		if (r < 0 || session_is_over(run->ses))
			return r < 0 ? r : -ECANCELED;
		r = read_streams(run, g, 0, n - 1, rate, &ret->all[i], err);
		for (size_t k = 0; k < n; k++)
			ret->together[k][i] = rate[k];
	}
	return r == 0 && session_is_over(run->ses) ? -ECANCELED : r;
}

/* ---- what it says ---- */

const struct field zone_arm_fields[] = {
	FIELD_U64(struct zone_arm_row, arm, UNIT_COUNT, "arm"),
	FIELD_U64(struct zone_arm_row, first_byte, UNIT_BYTES, "first byte"),
	FIELD_U64(struct zone_arm_row, last_byte, UNIT_BYTES, "last byte"),
	FIELD_F64(struct zone_arm_row, alone_bytes_per_s, UNIT_BYTES_PER_S, "alone"),
	FIELD_F64(struct zone_arm_row, alone_low_bytes_per_s, UNIT_BYTES_PER_S, "low"),
	FIELD_F64(struct zone_arm_row, alone_high_bytes_per_s, UNIT_BYTES_PER_S, "high"),
	FIELD_F64(struct zone_arm_row, together_bytes_per_s, UNIT_BYTES_PER_S, "with the others"),
	FIELD_F64(struct zone_arm_row, together_low_bytes_per_s, UNIT_BYTES_PER_S, "low"),
	FIELD_F64(struct zone_arm_row, together_high_bytes_per_s, UNIT_BYTES_PER_S, "high"),
	FIELD_U64(struct zone_arm_row, samples, UNIT_COUNT, "samples", .detail = true),
	FIELD_STR(struct zone_arm_row, target, "target"),
	FIELD_END,
};

/* Against the one that is the fastest by all rounds: the fastest of each round would be so by chance. */
static void find_gain(struct rounds *m)
{
	size_t best = 0;
	double most = 0.0;

	for (size_t k = 0; k < m->n; k++) {
		double sum = 0.0;

		for (size_t i = 0; i < ROUNDS; i++)
			sum += m->alone[k][i];
		best = sum > most ? k : best;
		most = fmax(most, sum);
	}
	for (size_t i = 0; i < ROUNDS; i++)
		m->gain[i] = m->all[i] / m->alone[best][i];
}

static void report(struct zones_run *run, const struct zone_target *t, const struct rounds *m)
{
	struct table *table = result_table(run->res, "arms", "Arms, each alone and all at once", zone_arm_fields);
	struct summary all, gain, alone, together;
	char a[32];

	if (!summary_of(m->all, ROUNDS, &all) || !summary_of(m->gain, ROUNDS, &gain) || isnan(gain.mean))
		return; /* a request failed */
	for (size_t k = 0; k < m->n; k++) {
		if (!summary_of(m->alone[k], ROUNDS, &alone) || !summary_of(m->together[k], ROUNDS, &together))
			return;
		result_row(table, &(struct zone_arm_row){ .arm = k + 1,
		                                          .first_byte = m->first[k],
		                                          .last_byte = m->end[k] - 1,
		                                          .alone_bytes_per_s = alone.mean,
		                                          .alone_low_bytes_per_s = alone.mean_ci.low,
		                                          .alone_high_bytes_per_s = alone.mean_ci.high,
		                                          .together_bytes_per_s = together.mean,
		                                          .together_low_bytes_per_s = fmax(together.mean_ci.low, 0.0),
		                                          .together_high_bytes_per_s = together.mean_ci.high,
		                                          .samples = ROUNDS,
		                                          .target = zone_target_name(run, t) });
	}
	if (run->ntargets == 1) {
		result_figure(run->res, "arms_bytes_per_s", "all actuators at once", UNIT_BYTES_PER_S, all.mean,
		              &all.mean_ci, ROUNDS);
		result_figure(run->res, "arms_gain_ratio", "all actuators at once / the fastest alone", UNIT_RATIO,
		              gain.mean, &gain.mean_ci, ROUNDS);
	}
	result_notice(
		run->res, "arms",
		"%s: %zu ranges of addresses read at once give %s, %.2f times what the fastest of them gives alone%s.",
		t->dev->path, m->n, units_rate(a, sizeof(a), all.mean), gain.mean,
		gain.mean_ci.high < 1.0  ? ": they do not work at once"
		: gain.mean_ci.low > 1.0 ? ": they work at once"
					 : "");
}

int zone_arms_measure(struct zones_run *run, struct zone_target *t, struct err *err)
{
	double rev_ns = t->layout.rev_ns > 0.0 ? t->layout.rev_ns : ZONE_REV_NS;
	uint64_t block = t->layout.coarse_bytes;
	size_t blocks = (size_t)(t->bytes_per_s * ZONE_SHORT_REVS * rev_ns * 1e-9 / (double)block) + run->p->depth + 1;
	struct stream streams[DEVICE_RANGES_MAX] = { 0 };
	cleanup_free struct rounds *m = xcalloc(1, sizeof(*m));
	cleanup_free struct zone_done *done = NULL;
	struct reading g = { .feeder = { .next = next_of_streams },
		             .sink = { take_of_streams },
		             .streams = streams,
		             .target = (uint32_t)t->index,
		             .block_bytes = (uint32_t)block };
	size_t n = find_ranges(t, streams, DEVICE_RANGES_MAX);
	int r;

	if (n < 2 || run->p->depth < n)
		return 0;
	done = xcalloc(n * blocks, sizeof(*done));
	m->n = n;
	g.depth = (uint32_t)(run->p->depth / n);
	for (size_t k = 0; k < n; k++) {
		struct stream *s = &streams[k];
		uint64_t bytes = s->room_end - s->at, room = bytes / ROOM_PART / (2 * ROUNDS);
		uint64_t before = s->unsure > bytes / PLACE_PART ? s->unsure : bytes / PLACE_PART;

		m->first[k] = s->at;
		m->end[k] = s->room_end;
		if (room < 2 * blocks * block || before > bytes / 2)
			return 0;
		s->next = s->at + before;
		s->next -= s->next % t->layout.align_bytes;
		s->stride = room < STRIDE_BYTES ? room - room % t->layout.align_bytes : STRIDE_BYTES;
		s->done = done + k * blocks;
		s->room = blocks;
	}
	r = run_rounds(run, &g, m, err);
	if (r == 0) {
		find_gain(m);
		report(run, t, m);
	}
	return r == -ECANCELED ? 0 : r;
}
