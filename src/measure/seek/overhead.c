/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overhead of a command: an access without any movement, wait and transfer.
 *
 * After a read at P the sector a part f of a track before P comes by after (1 - f) of a revolution, if both lie on one track. As long as
 * that leaves time for the overhead the access takes just so long; else a revolution more. Backwards, as drives read ahead. To come back to where the
 * head is in little more than the overhead, P must lie at the end of a track and its target at the begin. So first the length of a track is found
 * (hops of a third stay on it mostly), then where it begins (a hop of a half takes half a revolution only within one track), then the shortest access by
 * bisection; each step on a fresh track, as the drive's cache holds the old one.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "measure/seek/seek.h"

#define PLACES    4
#define TOLERANCE 0.015 /* of a revolution: tracks are skewed by more */

struct walk {
	struct seek_run *s;
	double at;         /* byte that was read last */
	double track;      /* bytes */
	double begin, end; /* the track begins in (begin, end] */
};

/* Reads at a place; its time is that of the way there. */
static int go(struct walk *w, double to, double *ret_access, struct err *err)
{
	uint64_t offset = timed_align(&w->s->t, to);
	int r = timed_reads(&w->s->t, &offset, 1, ret_access, NULL, err);

	w->at = (double)offset;
	return r;
}

/*
 * From one byte back to another, both to be on one track. *ret_turns: what the access took beyond the time at which the target came by first, in
 * revolutions: 0 or 1 on one track, something broken else; *ret_ns: the access. NaN: not known.
 */
static int back(struct walk *w, double from, double to, double *ret_ns, double *ret_turns, struct err *err)
{
	double access = NAN, start;
	int r = go(w, from, &access, err);

	*ret_ns = *ret_turns = NAN;
	start = w->at;
	if (r == 0 && !session_is_over(w->s->ses))
		r = go(w, to, &access, err);
	if (r == 0 && isfinite(access) && !seek_is_hit(w->s, access)) {
		*ret_ns = access;
		*ret_turns = access / w->s->rot.period_ns - (1.0 - (start - w->at) / w->track);
	}
	return r;
}

static bool is_near(double turns, double n)
{
	return fabs(turns - n) < TOLERANCE;
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Hops of a third of a track end (1 - f) of a revolution later when they stay on it: the densest third of the answers. */
static int find_track(struct walk *w, struct err *err)
{
	double guess = seek_track_bytes(w->s, w->at / (double)w->s->t.target->size_bytes), v[20], least = INFINITY;
	size_t n = 0, width;
	int r = 0;

	w->track = NAN;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(v) && !session_is_over(w->s->ses); i++) {
		double access = NAN, from = w->at, turn;

		r = go(w, w->at - guess * 0.33, &access, err);
		turn = 1.0 - access / w->s->rot.period_ns;
		if (r == 0 && isfinite(access) && turn > 0.1 && turn < 0.6)
			v[n++] = (from - w->at) / turn;
	}
	if (n < 6)
		return r;
	qsort(v, n, sizeof(v[0]), compare_double);
	width = n / 3 + 1;
	for (size_t i = 0; i + width < n; i++) {
		if (v[i + width] - v[i] < least) {
			least = v[i + width] - v[i];
			w->track = stats_median(&v[i], width);
			qsort(v, n, sizeof(v[0]), compare_double);
		}
	}
	return r;
}

/* To the same places of the track two before. */
static void next_track(struct walk *w)
{
	w->begin -= 2.0 * w->track;
	w->end -= 2.0 * w->track;
}

static int find_begin(struct walk *w, struct err *err)
{
	int r = 0;

	w->end = w->at - w->track;
	w->begin = w->end - w->track;
	for (int i = 0; r == 0 && i < 9 && !session_is_over(w->s->ses); i++) {
		double mid = (w->begin + w->end) / 2.0, access, turns;

		r = back(w, mid + w->track / 2.0, mid, &access, &turns, err);
		if (is_near(turns, 0.0) || is_near(turns, 1.0))
			w->end = mid;
		else if (isfinite(turns))
			w->begin = mid;
		next_track(w);
	}
	return r;
}

/*
 * By bisection, to the begin of the track from where it comes by after the time aimed at: so the drive does not read on over the track's end meanwhile.
 * A block that begins on the track before ends at the same angle, so the begin is known but for a block. *ret_ns:
 * overhead without transfer, NaN: not found. *ret_gap: how far apart the longest miss and the shortest access are.
 */
static int find_shortest(struct walk *w, double *ret_ns, double *ret_gap, struct err *err)
{
	double period = w->s->rot.period_ns, lower = 0.0, upper = period * 0.4, slack = (w->end - w->begin) / 2.0;
	double enough = fmax(0.002, 1.05 * w->s->t.step_bytes / w->track) * period;
	bool has_upper = false, has_lower = false;
	int r = 0;

	*ret_ns = *ret_gap = NAN;
	for (int i = 0; r == 0 && i < 20 && !session_is_over(w->s->ses) && upper - lower > enough; i++) {
		double aim = (lower + upper) / 2.0, to = w->end + w->s->t.block_bytes, access, turns;

		r = back(w, to + w->track * (1.0 - aim / period), to, &access, &turns, err);
		if (is_near(turns, 0.0) && access < upper) {
			upper = access;
			has_upper = true;
		} else if (is_near(turns, 1.0) && access - period > lower && access - period < upper) {
			lower = access - period;
			has_lower = true;
		} else if (isfinite(turns)) { /* not on one track: it begins later */
			w->end += slack;
		}
		next_track(w);
	}
	if (has_upper && has_lower) {
		*ret_ns = (lower + upper) / 2.0 - w->s->t.block_bytes / w->track * period;
		*ret_gap = upper - lower;
	}
	return r;
}

/* No access is shorter than the overhead, but a place may mislead: the shortest, of four the second shortest. */
static void conclude(struct seek_run *s, double *overhead, const double *gap, size_t n)
{
	if (n) {
		size_t least = 0;
		double half;

		for (size_t i = 1; i < n; i++)
			least = overhead[i] < overhead[least] ? i : least;
		half = fmax(gap[least], 0.002 * s->rot.period_ns) / 2.0;
		qsort(overhead, n, sizeof(*overhead), compare_double);
		s->overhead_ns = fmax(overhead[n > 3], 0.0);
		s->overhead_ci = (struct interval){ fmax(fmin(overhead[0], s->overhead_ns - half), 0.0),
			                            fmax(overhead[n > 3 ? 2 : n - 1], s->overhead_ns + half) };
		return;
	}
	s->overhead_ns = isfinite(s->rot.hit_ns) ? s->rot.hit_ns : 0.0;
	s->overhead_ci = (struct interval){ NAN, NAN };
	result_notice(
		s->ses->res, "overhead",
		"The command overhead could not be separated from the seek; %s is taken for it, so all seek times share its error.",
		isfinite(s->rot.hit_ns) ? "the time of a read from the drive's cache" : "nothing");
}

int seek_overhead(struct seek_run *s, struct err *err)
{
	double ratio[3 * PLACES], overhead[PLACES], gap[PLACES], size = (double)s->t.target->size_bytes;
	size_t want = s->p->quick ? 3 : PLACES, n = 0, nratio = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && n < want && i < 2 * want + 1 && !session_is_over(s->ses); i++) {
		struct walk w = { .s = s };
		double access, place;

		r = go(&w, size * (0.1 + 0.8 * rng_double(&s->t.rng)), &access, err);
		place = w.at / size;
		if (r == 0)
			r = find_track(&w, err);
		if (r < 0 || !isfinite(w.track))
			continue;
		ratio[nratio++] = w.track / seek_track_bytes(s, place);
		r = find_begin(&w, err);
		if (r == 0)
			r = find_shortest(&w, &overhead[n], &gap[n], err);
		if (r == 0 && isfinite(overhead[n]))
			n++;
	}
	s->has_overhead = true;
	if (nratio)
		s->track_ratio = stats_median(ratio, nratio);
	if (r == 0)
		conclude(s, overhead, gap, n);
	return r;
}
