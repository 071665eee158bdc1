/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses between two places, each aimed at a time: where `seek` learns when the head arrives.
 *
 * The period is known to a millionth, so the time of a completion shows the angle of the sector that was read. Its
 * neighbours on the track follow at known angles. So a target can be chosen that comes by any time after the command
 * (Worthington et al. 1995 aim at the minimal time likewise; Wong 2019 finds it by shrinking steps).
 *
 * First come accesses aimed evenly over the revolution, whose mean less half a revolution is another estimate. Then
 * each aims a little before or after where the head may arrive (struct belief), which is where an access shows most.
 *
 * What is where on a track is learnt on the way: where its neighbour lies beyond a track's end an aim fails, and the
 * next one knows. An access that did not end at the angle that was aimed at does not count.
 */
#include <math.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

#define SEEN_MAX  64  /* sectors of a track whose angles are kept: a pair of places is visited less often */
#define TRIES     8   /* for what was not read yet; for each aim that is to show something (a choice) */
#define NEAR_EDGE 0.7 /* scales (of the logistic law) */
#define HARDLY    5.0 /* in the logarithm: a few accesses that say otherwise are believed (a choice) */
#define FORGETS   0.5 /* times the log likelihood, for the next places (a choice: half as sure) */

/* ---- when the head arrives ---- */

void belief_anything(struct belief *b, double most, double scatter)
{
	*b = (struct belief){ .step = most / SEEK_CELLS, .scatter = scatter };
}

void belief_within(struct belief *b, struct interval ns)
{
	for (size_t i = 0; i < SEEK_CELLS; i++) {
		double median = ((double)i + 0.5) * b->step;

		if (median < ns.low || median > ns.high)
			b->log_likelihood[i] -= HARDLY;
	}
}

void belief_learn(struct belief *b, double access, double period)
{
	const double never = log(arrival_likelihood(0.0, period, b->scatter, period, SEEK_MISSED));

	for (size_t i = 0; i < SEEK_CELLS; i++) {
		double median = ((double)i + 0.5) * b->step;

		b->log_likelihood[i] +=
			median > access + 30.0 * b->scatter
				? never
				: log(arrival_likelihood(access, median, b->scatter, period, SEEK_MISSED));
	}
}

/* Other places of the same distance take about as long. */
void belief_fades(struct belief *b)
{
	double most = -INFINITY;

	for (size_t i = 0; i < SEEK_CELLS; i++)
		most = fmax(most, b->log_likelihood[i]);
	for (size_t i = 0; i < SEEK_CELLS; i++)
		b->log_likelihood[i] = fmax((b->log_likelihood[i] - most) * FORGETS, -9.0);
}

double belief_draw(const struct belief *b, struct rng *rng)
{
	double most = -INFINITY, sum = 0.0, at;

	for (size_t i = 0; i < SEEK_CELLS; i++)
		most = fmax(most, b->log_likelihood[i]);
	for (size_t i = 0; i < SEEK_CELLS; i++)
		sum += exp(b->log_likelihood[i] - most);
	at = rng_double(rng) * sum;
	for (size_t i = 0; i < SEEK_CELLS; i++) {
		at -= exp(b->log_likelihood[i] - most);
		if (at <= 0.0)
			return ((double)i + rng_double(rng)) * b->step;
	}
	return 0.0;
}

double belief_aim(const struct belief *b, struct rng *rng, size_t i)
{
	return belief_draw(b, rng) + (i & 1 ? NEAR_EDGE : -NEAR_EDGE) * b->scatter;
}

/* ---- targets ---- */

struct aim_place {
	double first;  /* byte; targets lie within a track from here */
	double length; /* of a track, about */
	double offset[SEEN_MAX], phase[SEEN_MAX];
	size_t n;
};

struct aim {
	struct seek_run *s;
	const struct aim_setup *setup;
	struct belief *belief;
	struct aim_place place[2];
	double period;
	double transfer[2];          /* ns, of a block at each place: not the same for outer and inner ones */
	uint64_t origin_ns, last_ns; /* of all phases; the last completion */
	int head;                    /* the place where it is; -1: elsewhere */
	double from;                 /* byte that it read there */
	struct aim_log *log;
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

/* A target that comes by at the phase, as far as is known; from its nearest neighbour, as tracks end somewhere. -1:
 * none known. */
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

/* ---- accesses ---- */

/* How long the wait for the target is, by the angles known, from the command on; NaN: not known. */
static double waited(const struct aim *a, double phase, double submit, int side, double access)
{
	double wait = (phase - submit / a->period) * a->period - a->transfer[side];

	return isfinite(phase) ? wait + round((access - wait) / a->period) * a->period : (double)NAN;
}

static void add(struct aim *a, const struct aim_access *access)
{
	struct aim_log *log = a->log;

	if (log->n == ARRAY_LEN(log->access))
		return;
	log->access[log->n++] = *access;
	if (aim_shows(access))
		belief_learn(a->belief, access->ns, a->period);
}

/* One access to the place on that side; want_ns: the time to aim at, NaN: any. *ret_tells: it is in the log, and not as
 * a hit (fault, head elsewhere). */
static int hop(struct aim *a, int side, double want_ns, enum aim_how how, bool *ret_shows, struct err *err)
{
	struct aim_place *p = &a->place[side];
	struct timed *t = &a->s->t;
	double target = -1.0, phase = NAN, access = NAN, submit;
	uint64_t offset, done = 0;
	struct aim_access one = { .how = how, .end = AIM_CACHE, .pair = a->log->pairs };
	bool counts = a->head == 1 - side && !(a->setup->backward_only && side == 1);
	int r;

	*ret_shows = false;
	if (isfinite(want_ns) && a->last_ns)
		target = aimed_target(
			a, p, phase_at(a, (double)(a->last_ns - a->origin_ns) + want_ns + a->transfer[side]), &phase);
	for (int tries = 1; target < 0.0; tries++) {
		double any = p->first + rng_double(&t->rng) * fmax(p->length - t->block_bytes, 0.0);

		if (tries == TRIES || !is_stale(a, p, any))
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
	one.bytes = counts ? fabs((double)offset - a->from) : (double)NAN;
	if (timed_is_hit(&a->s->sector_hits, access)) {
		one.ns = access;
		add(a, &one);
		learn(p, (double)offset, NAN);
		return 0;
	}
	submit = (double)(done - a->origin_ns) - access;
	learn(p, (double)offset, phase_at(a, (double)(done - a->origin_ns)));
	if (counts) {
		one.ns = access - a->transfer[side];
		one.end = fabs(one.ns - waited(a, phase, submit, side, one.ns)) < SEEK_TOLERANCE * a->period
		                  ? AIM_THERE
		                  : AIM_ELSEWHERE;
		add(a, &one);
		*ret_shows = true;
	}
	a->head = side;
	a->from = (double)offset;
	return 0;
}

/* Nothing is stored at one of the places, which answers at once: the first look says so. */
static bool is_unstored(const struct aim *a)
{
	return a->s->known.is_patchy &&
	       (!a->place[0].n || !a->place[1].n || isnan(a->place[0].phase[0]) || isnan(a->place[1].phase[0]));
}

/* At the parts of a revolution that the setup says. */
static int evenly(struct aim *a, struct err *err)
{
	bool shows;
	int r = 0;

	for (int i = 0; r == 0 && i < 2; i++) /* both places get a first look */
		r = hop(a, i, NAN, AIM_FIRST, &shows, err);
	for (size_t i = 0, tries = 0; r == 0 && !is_unstored(a) && i < a->setup->neven &&
	                              tries < TRIES / 2 * a->setup->neven && !seek_is_over(a->s);
	     tries++) {
		r = hop(a, a->head == 0, a->setup->even[i] * a->period, AIM_EVENLY, &shows, err);
		i += r == 0 && shows;
	}
	return r;
}

static size_t reported(const struct aim_log *log)
{
	size_t n = 0;

	for (size_t i = 0; i < log->n; i++)
		n += aim_shows(&log->access[i]);
	return n;
}

static int about_the_edge(struct aim *a, struct err *err)
{
	size_t want = reported(a->log) + a->setup->aimed;
	struct rng *rng = &a->s->t.rng;
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2 * a->setup->aimed && reported(a->log) < want && !seek_is_over(a->s); i++) {
		bool shows;

		r = hop(a, a->head == 0, fmax(belief_aim(a->belief, rng, i), 0.0), AIM_EDGE, &shows, err);
	}
	return r;
}

/*
 * By single sectors: of a longer block a drive without latency reads the end first if the head comes down in it, and is
 * done before the angle aimed at.
 */
int seek_aim(struct seek_run *s, const struct aim_setup *setup, struct belief *belief, struct aim_log *log,
             struct err *err)
{
	struct aim a = {
		.s = s, .setup = setup, .belief = belief, .period = s->known.places.period_ns, .head = -1, .log = log
	};
	const uint32_t block = s->t.block_bytes;
	size_t had = reported(log);
	int r;

	s->t.block_bytes = s->t.step_bytes;
	for (size_t i = 0; i < 2; i++) {
		a.place[i].first = setup->first[i];
		a.place[i].length = setup->track[i];
		a.transfer[i] = seek_answer(&s->known, s->t.block_bytes, setup->track[i]);
	}
	belief_fades(belief);
	r = evenly(&a, err);
	if (r == 0 && !is_unstored(&a) && !seek_is_over(s))
		r = about_the_edge(&a, err);
	s->t.block_bytes = block;
	log->pairs += reported(log) > had;
	return r;
}
