/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seek time between two places, to a hundredth of a revolution from about sixteen accesses.
 *
 * The period is known to a millionth, so the time of a completion tells the angle of the sector that was read, and the sectors about it on its track follow
 * at known angles. So a target can be chosen that comes by any time after the command: the wait is not left to chance (Worthington et al.,
 * "On-line extraction of SCSI disk drive parameters", 1995, aim at the minimal time likewise; Wong 2019 finds it by shrinking steps). An access that
 * was aimed at a time w takes w if the arm is there by then, and w and a revolution if not: bisection. The least time is overhead + seek + transfer;
 * the transfer is known from the length of a track.
 *
 * First come accesses aimed evenly over the revolution. They tell where to begin, and their mean less half a revolution is the other estimate
 * of the seek time; that the waits are spread evenly, not at random, makes it several times as sharp.
 *
 * What is where on a track is learnt on the way: where its neighbour lies beyond a track's end an aim fails, and the next one knows.
 * A miss counts only if it came just a revolution late, so that odd delays do not.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

#define SEEN_MAX  64
#define TOLERANCE 0.03 /* of a revolution: how well an aim is met */

struct aim_place {
	double first;  /* byte; targets lie within a track from here */
	double length; /* of a track, about */
	double offset[SEEN_MAX], phase[SEEN_MAX];
	size_t n;
};

struct aim {
	struct seek_run *s;
	const struct aim_setup *setup;
	struct aim_place place[2];
	double period;
	double transfer[2];          /* ns, of a block at each place: not the same for outer and inner ones */
	uint64_t origin_ns, last_ns; /* of all phases; the last completion */
	int head;                    /* the place where it is; -1: elsewhere */
	double from;                 /* byte that it read there */
	double lower, upper, step;
	bool is_confirmed; /* the lower bound is a miss that was aimed */
	double second;     /* the longest miss but that one */
	double bytes;      /* sum of distances */
	size_t nbytes;
	struct aim_edge *ret;
};

static double phase_at(const struct aim *a, double ns)
{
	return phase_of(ns, 0.0, a->period);
}

/* Overlaps with a read before, or lies just behind one, where the drive read ahead. */
static bool is_stale(const struct aim *a, const struct aim_place *p, double offset)
{
	double block = a->s->t.block_bytes;

	for (size_t i = 0; i < p->n; i++)
		if (offset > p->offset[i] - block && offset < p->offset[i] + block + 0.03 * p->length)
			return true;
	return false;
}

/* A target that comes by at the phase, as far as is known; from its nearest neighbour, as tracks end somewhere. -1: none known. */
static double aimed_target(const struct aim *a, const struct aim_place *p, double phase, double *ret_phase)
{
	double best = -1.0, nearest = INFINITY, block = a->s->t.block_bytes, step = a->s->t.step_bytes;

	for (size_t i = 0; i < p->n; i++) {
		double turn = phase - p->phase[i];

		if (!isfinite(turn))
			continue;
		turn -= floor(turn);
		for (int k = -1; k <= 0; k++) {
			double offset = p->offset[i] + (turn + k) * p->length, away = fabs(offset - p->offset[i]);

			if (offset < p->first || offset + block > p->first + p->length)
				continue;
			offset = (double)timed_align(&a->s->t, offset + step / 2.0);
			if (is_stale(a, p, offset))
				away += p->length;
			if (away >= nearest)
				continue;
			nearest = away;
			best = offset;
			*ret_phase = p->phase[i] + (offset - p->offset[i]) / p->length;
		}
	}
	return best;
}

static void learn(struct aim_place *p, double offset, double phase)
{
	size_t i = p->n < SEEN_MAX ? p->n++ : SEEN_MAX - 1;

	p->offset[i] = offset;
	p->phase[i] = phase;
}

/* What the access says of the least time; predicted: how long the wait alone would have been, NaN: not known. */
static void narrow(struct aim *a, double access, double predicted)
{
	double miss = access - a->period;

	if (access < a->upper)
		a->upper = access;
	if (isfinite(predicted) && fabs(miss - predicted) < TOLERANCE * a->period && miss < a->upper) {
		a->second = fmax(fmin(miss, a->lower), a->second);
		a->lower = fmax(miss, a->lower);
		a->is_confirmed = true;
	}
	if (a->lower >= a->upper) { /* it was a miss for another reason */
		a->lower = a->second;
		a->second = 0.0;
		if (a->lower >= a->upper)
			a->lower = 0.0;
		a->is_confirmed = a->lower > 0.0;
	}
}

/* One access to the place on that side; want_ns: the time to aim at, NaN: any. *ret_access: NaN when it tells nothing (hit, fault, head elsewhere). */
static int hop(struct aim *a, int side, double want_ns, double *ret_access, struct err *err)
{
	struct aim_place *p = &a->place[side];
	struct timed *t = &a->s->t;
	double target = -1.0, phase = NAN, access = NAN, predicted = NAN, submit;
	uint64_t offset, done = 0;
	bool counts = a->head == 1 - side && !(a->setup->backward_only && side == 1);
	int r;

	*ret_access = NAN;
	if (isfinite(want_ns) && a->last_ns)
		target = aimed_target(
			a, p, phase_at(a, (double)(a->last_ns - a->origin_ns) + want_ns + a->transfer[side]), &phase);
	for (int tries = 0; target < 0.0 && tries < 8; tries++) {
		double any = p->first + rng_double(&t->rng) * fmax(p->length - t->block_bytes, 0.0);

		if (tries == 7 || !is_stale(a, p, any))
			target = any;
	}
	offset = timed_align(t, target);
	r = timed_reads(t, &offset, 1, &access, &done, err);
	if (r < 0 || !isfinite(access)) {
		a->head = -1;
		return r;
	}
	if (!a->origin_ns)
		a->origin_ns = done - (uint64_t)access;
	a->last_ns = done;
	if (seek_is_hit(a->s, access) || access < a->s->overhead_ns * 0.9) {
		a->ret->hits++;
		learn(p, (double)offset, NAN);
		return 0;
	}
	submit = (double)(done - a->origin_ns) - access;
	if (isfinite(phase)) {
		predicted = (phase - submit / a->period) * a->period - a->transfer[side];
		predicted -= round((predicted - want_ns) / a->period) * a->period;
	}
	learn(p, (double)offset, phase_at(a, (double)(done - a->origin_ns)));
	if (counts) {
		access -= a->transfer[side];
		narrow(a, access, predicted);
		a->bytes += fabs((double)offset - a->from);
		a->nbytes++;
		a->ret->samples++;
		*ret_access = access;
	}
	a->head = side;
	a->from = (double)offset;
	return 0;
}

/* Evenly over the revolution in a random order. */
static int spread(struct aim *a, struct err *err)
{
	size_t n = a->setup->spread, key = rng_u64(&a->s->t.rng), got = 0;
	double sum = 0.0, access = NAN;
	int r = 0;

	/* Both places get a first look. */
	for (int i = 0; r == 0 && i < 2; i++)
		r = hop(a, i, NAN, &access, err);
	for (size_t i = 0, tries = 0; r == 0 && i < n && tries < 4 * n && !session_is_over(a->s->ses); tries++) {
		double want = ((double)permute(i, n, key) + rng_double(&a->s->t.rng)) / (double)n * a->period;

		r = hop(a, a->head == 0, want, &access, err);
		if (r == 0 && isfinite(access)) {
			sum += access;
			got++;
			i++;
		}
	}
	a->ret->mean_ns = got == n ? sum / (double)n : (double)NAN;
	return r;
}

/* One miss may have had another reason; two close together have not. */
static bool is_proven(const struct aim *a)
{
	return a->is_confirmed && a->lower - a->second < 0.03 * a->period;
}

/* Between a miss and the least time so far; just below a single miss that bounds it closely; without a miss below the least, in steps that grow. */
static double next_aim(struct aim *a)
{
	if (a->is_confirmed && !is_proven(a) && a->upper - a->lower < 0.015 * a->period)
		return fmax(a->lower - 0.012 * a->period, 0.0);
	if (a->is_confirmed)
		return (a->lower + a->upper) / 2.0;
	a->step = fmin(a->step * 1.5, a->period / 3.0);
	return fmax(a->upper - a->step, 0.0);
}

static int bisect(struct aim *a, struct err *err)
{
	double enough = a->setup->enough * a->period, access;
	int r = 0;

	a->step = a->period / (2.0 * (double)a->setup->spread);
	for (size_t i = 0; r == 0 && i < a->setup->aimed && !session_is_over(a->s->ses); i++) {
		if (is_proven(a) && a->upper - a->lower < enough)
			break;
		r = hop(a, a->head == 0, next_aim(a), &access, err);
	}
	return r;
}

int seek_aim(struct seek_run *s, const struct aim_setup *setup, struct aim_edge *ret, struct err *err)
{
	struct aim a = {
		.s = s, .setup = setup, .period = s->rot.period_ns, .head = -1, .upper = INFINITY, .ret = ret
	};
	int r;

	*ret = (struct aim_edge){ .edge_ns = NAN, .mean_ns = NAN, .gap_ns = NAN };
	for (size_t i = 0; i < 2; i++) {
		a.place[i].first = setup->first[i];
		a.place[i].length = setup->track[i];
		a.transfer[i] = s->t.block_bytes / setup->track[i] * a.period;
	}
	r = spread(&a, err);
	if (r == 0 && !session_is_over(s->ses))
		r = bisect(&a, err);
	if (r < 0 || !isfinite(a.upper) || a.nbytes == 0)
		return r;
	ret->bytes = a.bytes / (double)a.nbytes;
	ret->upper_ns = a.upper;
	ret->is_sure = is_proven(&a);
	ret->gap_ns = a.is_confirmed ? a.upper - a.lower : a.step;
	ret->edge_ns = a.upper - ret->gap_ns / 2.0;
	return 0;
}
