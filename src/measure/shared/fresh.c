/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rotation of a drive whose cache does not forget: from sectors each of which is read once only.
 *
 * About each of a few places the next read takes a sector before the one read last. In between the head is away at the
 * other places. What a drive reads ahead lies behind what was asked for, so none of these is in its cache. They lie at
 * other angles than the first one of their place, but so near that how far away is known: the sequential rate shows
 * what passes in a time. Skews are in it: a few percent of a way that is a few percent of a revolution. With that taken
 * off, completions lie on the lattice of the period, as those of one sector read again.
 *
 * What is wrong with the ways grows with them, as time goes on, and would be taken for a longer or shorter period. So
 * places go on by steps of different lengths, and the period is the one of the least squares in both, time and way,
 * given what skews there are.
 *
 * A drive that has the whole track as soon as one of its sectors was read answers at once: nothing is found then.
 */
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "measure/shared/lattice.h"

#define PLACES_LEAST 24          /* each read is behind one at another of them: waiting varies (a choice) */
#define PLACES_MOST  40          /* all their events have room */
#define VISITS       9           /* after the first: with the longest steps 27 sectors, a tenth of a track of today */
#define VISIT_NS     12e6        /* takes one, about */
#define OFF_NOISES   4           /* off the lattice by more: late */
#define ROUNDS       4           /* of the period by the ways, and of these by the period */
#define STEPS        3           /* lengths of them */
#define SETS         4           /* of places, where the period does not stand out (a choice) */
#define EVENTS       60          /* enough for a period (as in rotation.c) */
#define RATE_BYTES   (8u << 20)  /* the rate is known to a few percent by then, as is needed */
#define ABOUT        0.01        /* of the device, within which tracks are alike */
#define ABOUT_LEAST  1000000000u /* bytes: a track is not met again */

struct fresh {
	struct timed *t;
	const struct rotation *rot;
	struct events ev;
	double way[EVENTS_MAX]; /* bytes, of each event from the first sector of its place */
	double ns_per_byte;
	size_t places;      /* of a set */
	uint64_t from, end; /* places lie between */
	size_t answered;    /* sectors that the cache had, though they were never read */
};

/* No more time; or the cache has what was never read, and not by chance. */
static bool is_futile(const struct fresh *f)
{
	return timed_is_over(f->t) || 2 * f->answered > f->ev.n + f->places;
}

static void take(struct fresh *f, uint64_t *first, double way, double access, uint64_t done_ns)
{
	struct events *ev = &f->ev;

	if (!isfinite(access))
		return;
	if (timed_may_be_hit(&f->rot->hits, access)) {
		f->answered++;
	} else if (!*first) {
		*first = way > 0.0 ? 0 : done_ns; /* a place whose first sector was a hit has none */
		if (ev->nlooks < LOOKS_MOST)
			ev->look[ev->nlooks++] = access;
	} else if (ev->n < EVENTS_MAX) {
		f->way[ev->n] = way;
		ev->access[ev->n] = access;
		ev->first[ev->n] = *first;
		ev->when[ev->n++] = (double)(done_ns - *first) + way * f->ns_per_byte;
	}
}

/* A few new places, each read so often, in another order every time. */
static int one_set(struct fresh *f, struct err *err)
{
	const uint64_t step = f->t->block_bytes;
	uint64_t at[PLACES_MOST], first[PLACES_MOST] = { 0 };
	size_t order[PLACES_MOST];
	int r = 0;

	for (size_t i = 0; i < f->places; i++) {
		at[i] = timed_align(f->t, (double)timed_random(f->t, f->from + VISITS * STEPS * step, f->end));
		order[i] = i;
	}
	for (size_t v = 0; r == 0 && v <= VISITS && !is_futile(f); v++) {
		uint64_t offsets[PLACES_MOST], done[PLACES_MOST] = { 0 };
		double access[PLACES_MOST];

		rng_shuffle(&f->t->rng, order, f->places);
		for (size_t i = 0; i < f->places; i++)
			offsets[i] = at[order[i]] - v * (1 + order[i] % STEPS) * step;
		r = timed_reads(f->t, offsets, f->places, access, done, err);
		for (size_t i = 0; r == 0 && i < f->places; i++)
			take(f, &first[order[i]], (double)(at[order[i]] - offsets[i]), access[i], done[i]);
	}
	return r;
}

/* ---- time and way ---- */

/* Of one place: those on the lattice, the first sector among them. k: revolutions, x: bytes, c: off the lattice; all
 * about their means. */
struct place {
	double k[VISITS + 1], x[VISITS + 1], c[VISITS + 1];
	size_t n;
};

static void centre(double *v, size_t n)
{
	double mean = 0.0;

	for (size_t i = 0; i < n; i++)
		mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		v[i] -= mean;
}

/* The events from i on that are of one place; where the next one begins. */
static size_t next_place(const struct fresh *f, size_t i, const struct rotation *rot, struct place *ret)
{
	const uint64_t first = f->ev.first[i];

	*ret = (struct place){ .n = 1 };
	for (; i < f->ev.n && f->ev.first[i] == first; i++) {
		double turns = round(f->ev.when[i] / rot->period_ns), off = f->ev.when[i] - turns * rot->period_ns;

		if (fabs(off) > OFF_NOISES * rot->noise_ns || ret->n > VISITS)
			continue;
		ret->k[ret->n] = turns;
		ret->x[ret->n] = f->way[i];
		ret->c[ret->n++] = off;
	}
	centre(ret->k, ret->n);
	centre(ret->x, ret->n);
	centre(ret->c, ret->n);
	return i;
}

/* c = more k + per_byte x, by least squares: the rate is only where ways begin, as it may be an interface's, or of what
 * is not stored. */
static bool refine(struct fresh *f, struct rotation *rot)
{
	double kk = 0.0, kx = 0.0, kc = 0.0, xx = 0.0, xc = 0.0, det, more, per_byte, scores = 0.0, rest = 0.0;
	size_t n = 0, places = 0;
	struct place p;

	for (size_t at = 0; at < f->ev.n;) {
		at = next_place(f, at, rot, &p);
		for (size_t i = 0; i < p.n; i++) {
			kk += p.k[i] * p.k[i];
			kx += p.k[i] * p.x[i];
			xx += p.x[i] * p.x[i];
			kc += p.k[i] * p.c[i];
			xc += p.x[i] * p.c[i];
		}
		n += p.n;
		places++;
	}
	if (n < places + EVENTS / 2)
		return false;
	det = kk * xx - kx * kx;
	more = (kc * xx - xc * kx) / det;
	per_byte = (xc * kk - kc * kx) / det;
	for (size_t at = 0; at < f->ev.n;) {
		double score = 0.0;

		at = next_place(f, at, rot, &p);
		for (size_t i = 0; i < p.n; i++) {
			double off = p.c[i] - more * p.k[i] - per_byte * p.x[i];

			score += (p.k[i] * xx - p.x[i] * kx) / det * off;
			rest += off * off;
		}
		scores += score * score;
	}
	f->ns_per_byte -= per_byte;
	for (size_t i = 0; i < f->ev.n; i++)
		f->ev.when[i] -= f->way[i] * per_byte;
	rot->period_ns += more;
	/* Or as places differ, which have skews of their own (the sandwich of Liang and Zeger 1986). */
	rot->se_ns =
		sqrt(fmax(rest / (double)(n - places - 1) * xx / det, scores * (double)places / (double)(places - 1)));
	return true;
}

/* ---- the search ---- */

struct one {
	uint64_t first;
	double when, access, way;
};

/* Place by place. */
static void sort(struct fresh *f)
{
	struct one v[EVENTS_MAX];
	struct events *ev = &f->ev;

	for (size_t i = 0; i < ev->n; i++)
		v[i] = (struct one){ ev->first[i], ev->when[i], ev->access[i], f->way[i] };
	qsort(v, ev->n, sizeof(v[0]), order_u64);
	for (size_t i = 0; i < ev->n; i++) {
		ev->when[i] = v[i].when;
		ev->access[i] = v[i].access;
		f->way[i] = v[i].way;
		ev->first[i] = v[i].first;
	}
}

/* How long a byte takes to pass, read in order where no place is. */
static int learn_rate(struct fresh *f, uint64_t at, struct err *err)
{
	double rate = NAN;
	int r = timed_rate(f->t, at, RATE_BYTES, &rate, err);

	f->ns_per_byte = rate > 0.0 ? 1e9 / rate : (double)NAN;
	return r;
}

int rotation_fresh(struct timed *t, uint64_t about, uint64_t budget_ns, struct rotation *ret, struct err *err)
{
	const uint64_t start = clock_now_ns(t->ses->env->clk), size = timed_size(t),
		       width = (uint64_t)fmax(ABOUT * (double)size, ABOUT_LEAST);
	const uint32_t block = t->block_bytes;
	struct fresh f = { .t = t, .rot = ret };
	struct rotation found = *ret;
	int r;

	if (size < 2 * width)
		return 0;
	f.places = (size_t)fmin(fmax((double)budget_ns / VISIT_NS / VISITS, PLACES_LEAST), PLACES_MOST);
	f.from = about > width / 2 ? about - width / 2 : 0;
	f.from = f.from + width > size ? size - width : f.from;
	f.end = f.from + width;
	r = learn_rate(&f, f.from, err);
	f.from += 4 * RATE_BYTES; /* and what was read ahead of it */
	t->block_bytes = t->step_bytes;
	for (size_t k = 0; r == 0 && isfinite(f.ns_per_byte) && k < SETS && !found.is_rotating && !is_futile(&f); k++) {
		do
			r = one_set(&f, err);
		while (r == 0 && f.ev.n + f.places * VISITS <= EVENTS_MAX && !is_futile(&f) &&
		       clock_now_ns(t->ses->env->clk) - start < budget_ns);
		sort(&f);
		for (int round = 0; r == 0 && f.ev.n >= EVENTS && round < ROUNDS; round++)
			found.is_rotating = rotation_fit(&f.ev, &found) && refine(&f, &found);
	}
	t->block_bytes = block;
	if (r == 0 && found.is_rotating) {
		found.is_fresh = true;
		found.forget_ns = INFINITY;
		*ret = found;
	}
	return r;
}
