/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spindle's own clock: how many revolutions it has made when a read is done. A spindle that warms up turns by parts
 * in 10^5 faster or slower after a minute. Angles read then would not fit those read now. So a few sectors, the
 * anchors, are read again every few seconds. What their angles have moved by corrects phase and period: a phase-locked
 * loop of second order. It takes little from a deviation that noise explains, and all of one that noise does not.
 *
 * A drive whose cache still has an anchor is asked for the sector in front of it the next time, and so on.
 */
#include <math.h>

#include "measure/geometry/geometry.h"

#define FIRST_NS    (2 * NS_PER_S) /* until the anchors are read again, and at least (a choice) */
#define LONGEST_NS  (15 * NS_PER_S)
#define FROM        0.01 /* of the disk, where its start is still what it is like */
#define FEWEST      5    /* anchors that must be read: a median of fewer is of no use */
#define SURE        2.5  /* errors of a median: chance alone is that far off once in 80 times */
#define JUMP        0.1  /* of a revolution: no drift is so quick; the spindle has stood still */
#define WORST       0.01 /* of a revolution: a median that is less sure than that says nothing */
#define PULL_PHASE  0.5  /* of what noise explains as well */
#define PULL_PERIOD 0.15
#define PARTS       4   /* of the run: the last one shows the speed at its end */
#define LIKE_SERIES 2.0 /* errors of a slope, as what is off comes in waves */
/* Of the speed: as well as it is known where anchors have stepped on (surfaces differ in sectors). */
#define SPREAD 3e-7

void geo_spindle_start(struct geo *g)
{
	struct geo_spindle *s = &g->spindle;

	session_rng(g->ses, 0x5350494eull, &s->rng); /* its own: what is read else does not depend on it */
	s->every_ns = FIRST_NS;
	for (size_t i = 0; i < GEO_ANCHORS; i++) {
		s->anchor[i].sector = (uint64_t)((FROM + FROM * rng_double(&s->rng)) * (double)g->sectors);
		s->anchor[i].angle = NAN;
	}
}

/* It is read again at once, in front, or, where it was never read from the media, anywhere on the disk: nothing may be
 * stored at the start. There nobody knows how far sectors are apart. */
static void leave_kept(struct geo *g, struct geo_anchor *a, double spacing)
{
	if (isnan(a->angle) || a->is_moved) {
		a->sector = (uint64_t)(rng_double(&g->spindle.rng) * (double)g->sectors);
		a->angle = NAN;
		a->seen = 0;
		a->is_moved = true;
	} else if (spacing > 0.0 && a->sector > 0) {
		a->sector--;
		a->angle = geo_frac(a->angle - spacing);
	}
}

double geo_turns(const struct geo *g, uint64_t done_ns)
{
	const struct geo_spindle *s = &g->spindle;

	return s->turns + ((double)done_ns - (double)s->at_ns) / s->period_ns;
}

/* The anchors' angles now; NaN: not read from the media. */
static int read_anchors(struct geo *g, double *ret, struct err *err)
{
	struct geo_spindle *s = &g->spindle;
	double spacing = 1.0 / figure_number(result_find_figure(g->ses->res, "start_sectors_per_track"));
	int r = 0;

	for (size_t i = 0; i < GEO_ANCHORS; i++)
		ret[i] = NAN;
	for (int k = 0; k < 2 && r == 0; k++) { /* at once those in front, where the cache had them */
		uint64_t offset[GEO_ANCHORS], done[GEO_ANCHORS] = { 0 };
		double access[GEO_ANCHORS];
		size_t which[GEO_ANCHORS], n = 0;

		for (size_t i = 0; i < GEO_ANCHORS; i++) {
			if (isfinite(ret[i]) || (k && !s->anchor[i].is_kept))
				continue;
			offset[n] = s->anchor[i].sector * g->t.block_bytes;
			which[n++] = i;
		}
		r = n ? timed_media_reads(&g->t, offset, n, access, done, err) : 0;
		g->cost.reads += n;
		for (size_t i = 0; i < n && r == 0; i++) {
			struct geo_anchor *a = &s->anchor[which[i]];

			a->is_kept = timed_may_be_hit(&g->rot.hits, access[i]);
			if (isfinite(access[i]) && !a->is_kept)
				ret[which[i]] = geo_frac(geo_turns(g, done[i]));
			if (a->is_kept)
				leave_kept(g, a, spacing);
		}
	}
	return r;
}

/* What all of them are off, and its error; NaN: too few were read. */
static double off_by(const struct geo *g, const double *seen, double *ret_error)
{
	double off[GEO_ANCHORS];
	struct summary sum;
	size_t n = 0;

	for (size_t i = 0; i < GEO_ANCHORS; i++)
		if (isfinite(seen[i]) && isfinite(g->spindle.anchor[i].angle))
			off[n++] = phase_distance(seen[i], g->spindle.anchor[i].angle);
	if (n < FEWEST || !summary_of(off, n, &sum))
		return NAN;
	*ret_error = fmax(summary_median_error(&sum), g->rot.noise_ns / g->rot.period_ns / sqrt((double)n));
	return *ret_error < WORST ? sum.median : (double)NAN;
}

/* One that is off by itself has come to another track, or its answer was late: it begins anew. */
static void keep_angles(struct geo *g, const double *seen, double off)
{
	double most = geo_near(g);

	for (size_t i = 0; i < GEO_ANCHORS; i++) {
		struct geo_anchor *a = &g->spindle.anchor[i];
		double now = seen[i] - off, more = phase_distance(now, a->angle);

		if (!isfinite(seen[i]))
			continue;
		if (!(fabs(more) < most))
			a->seen = 0;
		a->angle = a->seen ? geo_frac(a->angle + more / (double)(a->seen + 1)) : geo_frac(now);
		a->seen++;
	}
}

static void note(struct geo_spindle *s, double turns, uint64_t now_ns, double off)
{
	if (fabs(off) > JUMP)
		s->npoints = 0;
	if (s->npoints == GEO_POINTS) { /* every second one says as much */
		for (size_t i = 0; i < GEO_POINTS / 2; i++)
			s->point[i] = s->point[2 * i];
		s->npoints = GEO_POINTS / 2;
	}
	s->point[s->npoints].at_ns = now_ns;
	s->point[s->npoints++].turns = turns - off;
}

static void set_right(struct geo *g, uint64_t now_ns, double off, double error)
{
	struct geo_spindle *s = &g->spindle;
	double turns = geo_turns(g, now_ns), since = turns - s->turns;
	bool is_sure = fabs(off) > SURE * error;

	note(s, turns, now_ns, off);
	s->turns = turns - (is_sure ? off : PULL_PHASE * off);
	s->at_ns = now_ns;
	if (fabs(off) <= JUMP)
		s->period_ns *= 1.0 + (is_sure ? off : PULL_PERIOD * off) / since;
	s->every_ns = is_sure ? s->every_ns / 2 : s->every_ns + s->every_ns / 2;
	s->every_ns = s->every_ns < FIRST_NS ? FIRST_NS : s->every_ns > LONGEST_NS ? LONGEST_NS : s->every_ns;
}

int geo_spindle_follow(struct geo *g, struct err *err)
{
	struct geo_spindle *s = &g->spindle;
	uint64_t now_ns = session_answered_ns(g->ses);
	double seen[GEO_ANCHORS], off, error;
	int r;

	if (!s->every_ns || !s->at_ns || now_ns < s->due_ns || geo_is_over(g))
		return 0;
	r = read_anchors(g, seen, err);
	if (r < 0)
		return r;
	off = off_by(g, seen, &error);
	now_ns = session_answered_ns(g->ses);
	if (isfinite(off))
		set_right(g, now_ns, off, error);
	if (isfinite(off) || !s->npoints) /* too few of them: those that there are may be late */
		keep_angles(g, seen, isfinite(off) ? off : 0.0);
	s->due_ns = now_ns + s->every_ns;
	return 0;
}

/* The period over some of the points by least squares, and its relative error; NaN: they lie in one place. */
static double period_of(const struct geo_point *p, size_t n, double *ret_error)
{
	double t[GEO_POINTS], turns[GEO_POINTS];
	struct line l;

	for (size_t i = 0; i < n; i++) {
		t[i] = (double)(p[i].at_ns - p[0].at_ns);
		turns[i] = p[i].turns - p[0].turns;
	}
	if (!fit_line(t, turns, NULL, n, &l))
		return *ret_error = NAN;
	*ret_error = hypot(LIKE_SERIES * l.b_se / l.b, SPREAD);
	return 1.0 / l.b;
}

/* Against what the search of the rotation has found, and against the begin of the run: one alone may be off as noise
 * puts it once in a thousand times. */
static bool has_drifted(const struct geo *g, struct geo_drift *ret)
{
	const struct geo_spindle *s = &g->spindle;
	size_t n = s->npoints / PARTS;
	double begin, end, before, error, ignore, lately, own = g->rot.se_ns / g->rot.period_ns;

	begin = period_of(s->point, n, &ignore);
	end = period_of(s->point + s->npoints - n, n, &error);
	before = period_of(s->point + s->npoints - 2 * n, n, &ignore);
	lately = fabs(before / end - 1.0);
	*ret = (struct geo_drift){ .period_ns = end,
		                   .change = g->rot.period_ns / end - 1.0,
		                   .error = 1.96 * error + lately };
	return fabs(ret->change) > GEO_BEYOND * hypot(error, own) + lately &&
	       fabs(begin / end - 1.0) > GEO_BEYOND * error + lately;
}

bool geo_spindle_speed(const struct geo *g, struct geo_drift *ret)
{
	const struct geo_spindle *s = &g->spindle;
	double begin, end, whole, error, ignore;
	size_t half = s->npoints / 2;

	if (s->npoints < PARTS * PARTS)
		return false;
	if (has_drifted(g, ret))
		return true;
	begin = period_of(s->point, half, &ignore);
	end = period_of(s->point + s->npoints - half, half, &ignore);
	whole = period_of(s->point, s->npoints, &error);
	*ret = (struct geo_drift){ .period_ns = whole, .error = 1.96 * error + fabs(begin / end - 1.0) };
	return ret->error < 1.96 * (g->rot.se_ns / g->rot.period_ns + SPREAD);
}
