/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure/stream/balance.h"
#include "base/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_NS 1000000u /* the shortest: of a run of 256 ms */

/*
 * A run that is that many times as long can tell, if the drift is what it seems: the half-width falls with the root of
 * the time, and is to be half of the drift.
 */
#define MARGIN       2.0
#define HIDDEN_TIMES 4.0  /* till a cache is full that was not yet (a choice) */
#define NEED_MOST    64.0 /* beyond that the drift is not known well enough to show how long */

void balance_start(struct balance *b, size_t nlanes, uint64_t rate_bytes_per_s, uint64_t start_ns, uint64_t until_ns)
{
	uint64_t part = (until_ns - start_ns) / BALANCE_SLOTS;
	struct balance_lane *lanes = b->lanes ? b->lanes : xcalloc(nlanes, sizeof(*lanes));

	*b = (struct balance){ .rate = (double)rate_bytes_per_s,
		               .start_ns = start_ns,
		               .until_ns = until_ns,
		               .at_ns = start_ns,
		               .slot_ns = part == 0        ? 1
		                          : part < SLOT_NS ? part
		                                           : SLOT_NS,
		               .nlanes = nlanes,
		               .lanes = lanes };
	for (size_t i = 0; i < nlanes; i++) {
		lanes[i].done_bytes = lanes[i].idle_ns = lanes[i].wait_ns = 0;
		lanes[i].idle_since_ns = start_ns;
	}
}

void balance_free(struct balance *b)
{
	free(b->lanes);
	b->lanes = NULL;
}

/* ---- keeping it ---- */

static double fill_at(const struct balance *b, uint64_t t_ns)
{
	return b->rate * 1e-9 * (double)(t_ns - b->start_ns) - b->done_bytes;
}

static void merge(struct balance *b)
{
	for (size_t i = 0; i < BALANCE_SLOTS / 2; i++) {
		b->fill[i] = 0.5 * (b->fill[2 * i] + b->fill[2 * i + 1]);
		for (size_t k = 0; k < b->nlanes; k++) {
			b->lanes[k].done[i] = b->lanes[k].done[2 * i + 1];
			b->lanes[k].idle_s[i] = b->lanes[k].idle_s[2 * i + 1];
		}
	}
	b->n = BALANCE_SLOTS / 2;
	b->slot_ns *= 2;
}

/* Between two events the fill is a straight line. */
static void advance(struct balance *b, uint64_t t_ns)
{
	b->area += 0.5 * (fill_at(b, b->at_ns) + fill_at(b, t_ns)) * (double)(t_ns - b->at_ns) * 1e-9;
	b->at_ns = t_ns;
}

static void close_slot(struct balance *b)
{
	b->fill[b->n] = b->area / ((double)b->slot_ns * 1e-9);
	b->area = 0.0;
	for (size_t k = 0; k < b->nlanes; k++) {
		struct balance_lane *l = &b->lanes[k];
		uint64_t more = l->idle_since_ns < b->at_ns ? b->at_ns - l->idle_since_ns : 0;

		l->done[b->n] = (double)l->done_bytes;
		l->idle_s[b->n] = (double)(l->idle_ns + more) * 1e-9;
	}
	b->n++;
}

static void roll(struct balance *b, uint64_t now_ns)
{
	uint64_t end_ns = now_ns < b->until_ns ? now_ns : b->until_ns;

	while (end_ns > b->at_ns) {
		uint64_t slot_end_ns = b->start_ns + (b->n + 1) * b->slot_ns;

		advance(b, end_ns < slot_end_ns ? end_ns : slot_end_ns);
		if (b->at_ns < slot_end_ns)
			return;
		close_slot(b);
		if (b->n == BALANCE_SLOTS)
			merge(b);
	}
}

void balance_issue(struct balance *b, size_t lane, uint64_t exist_ns, uint64_t now_ns)
{
	struct balance_lane *l = &b->lanes[lane];

	if (l->idle_since_ns == UINT64_MAX)
		return;
	roll(b, now_ns);
	/* From when the data existed on it was the host that let it wait, or another's turn. */
	if (exist_ns > l->idle_since_ns) {
		l->idle_ns += exist_ns - l->idle_since_ns;
		l->idle_since_ns = exist_ns;
	}
	l->wait_ns += now_ns > l->idle_since_ns ? now_ns - l->idle_since_ns : 0;
	l->idle_since_ns = UINT64_MAX;
}

void balance_complete(struct balance *b, size_t lane, uint64_t bytes, bool has_more, uint64_t now_ns)
{
	roll(b, now_ns);
	b->block_bytes = fmax(b->block_bytes, (double)bytes);
	if (now_ns > b->until_ns)
		return; /* what is left in the ring at the end */
	b->lanes[lane].done_bytes += bytes;
	b->lanes[lane].idle_since_ns = has_more ? UINT64_MAX : now_ns;
	b->done_bytes += (double)bytes;
}

void balance_finish(struct balance *b, uint64_t now_ns)
{
	roll(b, now_ns);
}

/* ---- judging it ---- */

/* Of slots [from, n): what a lane does while it has work, bytes/s; 0: it did nothing. */
static double busy_rate(const struct balance *b, const struct balance_lane *l, size_t from)
{
	double seconds = (double)(b->n - 1 - from) * (double)b->slot_ns * 1e-9;
	double busy_s = seconds - (l->idle_s[b->n - 1] - l->idle_s[from]), bytes = l->done[b->n - 1] - l->done[from];

	/* Less than a slot's part of work is too little to divide by. */
	return busy_s > 0.0 && bytes > 0.0 ? bytes / busy_s : 0.0;
}

/*
 * What the sawtooth of blocks moves the mean of a slot by, at most: its height where a slot is shorter than a tooth,
 * else what is left of a tooth that is cut: height x length / 8, at either end of the slot.
 */
static double grain_bytes(const struct balance *b)
{
	double height = b->block_bytes * (double)b->nlanes, tooth_s = height / b->rate;

	return height * fmin(tooth_s / (4.0 * (double)b->slot_ns * 1e-9), 1.0);
}

static struct stats_estimate mean_step(const struct balance *b, const double *x, size_t from)
{
	double step[BALANCE_SLOTS], slot_s = (double)b->slot_ns * 1e-9,
				    grain = grain_bytes(b) / (slot_s * (double)(b->n - from - 1));
	struct interval ci;

	for (size_t i = from + 1; i < b->n; i++)
		step[i - from - 1] = (x[i] - x[i - 1]) / slot_s;
	ci = stats_batch_means_ci(step, b->n - from - 1);
	return (struct stats_estimate){ 0.5 * (ci.low + ci.high), { ci.low - grain, ci.high + grain } };
}

/* What each target does while it has work, over all of the run: of all, and of the slowest. */
static void find_slowest(const struct balance *b, bool in_turn, struct balance_judgement *ret)
{
	for (size_t k = 0; k < b->nlanes; k++) {
		const struct balance_lane *l = &b->lanes[k];
		double busy_s = ((double)(b->at_ns - b->start_ns) - (double)l->idle_ns - (double)l->wait_ns) * 1e-9;
		double rate = busy_s > 0.0 ? (double)l->done_bytes / busy_s : 0.0;

		ret->all_bytes_per_s += rate;
		if (rate > 0.0 && (!(ret->slowest_bytes_per_s > 0.0) || rate < ret->slowest_bytes_per_s)) {
			ret->slowest = k;
			ret->slowest_bytes_per_s = rate;
		}
	}
	if (in_turn)
		ret->all_bytes_per_s = (double)b->nlanes * ret->slowest_bytes_per_s;
}

/* Drift of the netput from a slot on. */
static struct stats_estimate drift_from(const struct balance *b, const struct balance_more *more, size_t from,
                                        size_t slowest)
{
	double x[BALANCE_SLOTS];

	memcpy(x, b->fill, sizeof(x));
	for (size_t k = 0; k < b->nlanes; k++) {
		const struct balance_lane *l = &b->lanes[k];
		double rate = busy_rate(b, l, from) * (more->in_turn ? (double)b->nlanes : 1.0);

		if (more->in_turn && k != slowest)
			continue;
		for (size_t i = from; i < b->n; i++)
			x[i] -= rate * 0.5 * (l->idle_s[i] + (i ? l->idle_s[i - 1] : 0.0));
	}
	return mean_step(b, x, from);
}

/* How long a run has to be, seen from one of seconds that could not tell. */
static double need_s(const struct balance_judgement *j, struct stats_estimate drift, const struct balance_more *more,
                     double seconds, double horizon_s)
{
	double factor = more->is_hidden ? HIDDEN_TIMES : pow(MARGIN * interval_half(drift.ci) / fabs(drift.value), 2.0);
	double by_growth = MARGIN * horizon_s / j->at_least_s;

	if (isfinite(by_growth))
		factor = fmin(factor, by_growth);
	return seconds * fmax(isfinite(factor) ? fmin(factor, NEED_MOST) : NEED_MOST, MARGIN);
}

/*
 * The last half of the run: by then caches are full, and what was there at the start is over. And for a yes also its
 * last eighth: where a zone ends, or a cache has just become full, the rest is not to be hidden by what was before. For
 * a no that is too little: it may be a stall.
 */
void balance_judge(const struct balance *b, const struct balance_more *more, struct balance_judgement *ret)
{
	double seconds = (double)(b->until_ns - b->start_ns) * 1e-9, ends_s = fmax(more->ends_s, seconds);
	double horizon_s = fmin(fmax(BALANCE_HORIZON_S, seconds), ends_s), room;
	struct stats_estimate late, drift, late_growth;
	bool is_slack;

	*ret = (struct balance_judgement){ .answer = BALANCE_OPEN,
		                           .growth = STATS_UNKNOWN,
		                           .full_s = STATS_UNKNOWN,
		                           .at_least_s = NAN,
		                           .need_s = MARGIN * seconds };
	if (b->n < BALANCE_SLOTS / 4)
		return;
	find_slowest(b, more->in_turn, ret);
	late = drift_from(b, more, b->n - b->n / 8 - 1, ret->slowest);
	drift = drift_from(b, more, b->n / 2, ret->slowest);
	late_growth = mean_step(b, b->fill, b->n - b->n / 8 - 1);
	ret->growth = mean_step(b, b->fill, b->n / 2);
	is_slack = !more->is_hidden && !more->is_ahead && drift.ci.high < 0.0 && late.ci.high < 0.0;
	room = more->ring_bytes - b->fill[b->n - 1];
	ret->full_s = (struct stats_estimate){ seconds + room / ret->growth.value,
		                               { seconds + room / ret->growth.ci.high,
		                                 seconds + room / ret->growth.ci.low } };
	if (ret->growth.ci.low > 0.0 && ret->full_s.value <= horizon_s && !is_slack) {
		ret->answer = BALANCE_FILLS;
		return;
	}
	ret->full_s = STATS_UNKNOWN;
	ret->at_least_s =
		more->is_hidden
			? (double)NAN
			: fmin(fmax(room, 0.0) / fmax(fmax(ret->growth.ci.high, late_growth.ci.high), 0.0), ends_s);
	if (is_slack || more->can_bytes_per_s > b->rate)
		ret->answer = BALANCE_FOR_EVER;
	else if (ret->at_least_s >= horizon_s)
		ret->answer = BALANCE_AT_LEAST;
	else
		ret->need_s = need_s(ret, drift, more, seconds, horizon_s);
}
