/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Edges: where the angle of the next sector is not one sector further on. A grid of some sectors per track is read
 * downwards, where what a drive reads ahead does not help it, or upwards where that has given the same angles; between
 * neighbours of one track the angle grows evenly, and where it does not there is an edge in between, found by
 * bisection. As both sides are known in advance only the jump has to stand out of the noise, not a single sector: the
 * edge is exact or not found.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "measure/geometry/walk.h"

#define GRID           9 /* points of a track; all but two show its spacing, as hardly an end of it lies between them */
#define SPACING_POINTS (GRID - 2)
#define STUMP          (GRID + GEO_FEW)   /* points that are enough for a closer look */
#define GRID_MAX       (GRID * GEO_JUMPS) /* points of one survey: far more tracks than are asked for */

/* Between two evenly spaced runs. */
struct gap {
	uint64_t low, high; /* sectors of the last point of the one run and the first of the next */
	double low_angle, high_angle;
	double before, after;       /* spacing in the runs */
	uint64_t in, out;           /* bisection: in is on the low side, out is not */
	double in_angle, out_angle; /* of the sectors before and after the edge */
};

/* The angles from each of these points to the one above it; how many are known. */
static size_t steps_between(const double *angle, size_t n, double *ret)
{
	size_t m = 0;

	for (size_t i = 0; i + 1 < n; i++)
		if (isfinite(angle[i]) && isfinite(angle[i + 1]))
			ret[m++] = geo_frac(angle[i] - angle[i + 1]);
	return m;
}

/* How many of them agree with the one that most agree with, which is *ret. */
static size_t most_agree(const struct geo *g, const double *d, size_t n, double *ret)
{
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		size_t m = 0;

		for (size_t k = 0; k < n; k++)
			m += fabs(d[k] - d[i]) < geo_near(g);
		if (m <= most)
			continue;
		most = m;
		*ret = d[i];
	}
	return most;
}

int geo_spacing(struct geo *g, uint64_t near, double guess, double *ret_per_track, struct err *err)
{
	uint64_t sector[SPACING_POINTS], step = guess > 2.0 * (GRID - 1) ? (uint64_t)(guess / (GRID - 1)) : 1,
					 span = SPACING_POINTS * step;
	double angle[SPACING_POINTS], d[GEO_TRIES * SPACING_POINTS], one = NAN;
	size_t n = 0;
	int r = 0;

	*ret_per_track = NAN;
	if (near + span > g->sectors)
		near = g->sectors > span ? g->sectors - span : 0;
	/* At stretches one behind the other, until more than half of the angles between points agree. */
	for (size_t k = 0; k < GEO_TRIES && r == 0 && near + span <= g->sectors; k++, near += span) {
		size_t most;

		for (size_t i = 0; i < SPACING_POINTS; i++)
			sector[i] = near + (SPACING_POINTS - 1 - i) * step;
		r = geo_probe(g, sector, angle, SPACING_POINTS, err);
		n += steps_between(angle, SPACING_POINTS, d + n);
		most = most_agree(g, d, n, &one);
		if (n < GEO_FEW)
			continue;
		if (most * 2 > n) {
			*ret_per_track = (double)step / stats_median(d, n);
			break;
		}
		*ret_per_track = (double)step / one;
	}
	if (r == 0 && isfinite(*ret_per_track))
		g->per_track = *ret_per_track;
	return r;
}

/* ---- the grid ---- */

struct grid {
	uint64_t sector[GRID_MAX];
	double angle[GRID_MAX];
	bool is_even[GRID_MAX]; /* from i to i + 1 as before or after it */
	size_t n;
};

/* Do the angles come out the same upwards? Then each point comes by a small part of a revolution after the one before,
 * not nearly a whole one. What the drive keeps of the sectors in front of one does not help it. Tried where they are
 * known already. */
static int try_upwards(struct geo *g, const struct grid *grid, struct err *err)
{
	double angle[GRID_MAX] = { 0 };
	size_t agree = 0;
	int r;

	if (grid->n < STUMP || grid->n > GEO_BATCH || g->p->quick)
		return 0;
	r = geo_probe_afresh(g, grid->sector, angle, grid->n, err);
	for (size_t i = 0; i < grid->n && r == 0; i++)
		agree += geo_apart(angle[i], grid->angle[i]) < 2.0 * g->tol / geo_noise_left(g->looks);
	/* Reading many points again costs more than is won. */
	g->ways.is_up_vain = (double)agree < GEO_MOST * (double)grid->n;
	g->ways.up_agreed += !g->ways.is_up_vain;
	return r;
}

/* Upwards the cache gets all of two tracks: is nothing lost by that? Where it has what is below a read, it gets that
 * downwards, too, and forgets behind each point. */
static bool may_go_up(const struct geo *g)
{
	return !g->ways.is_up_vain && (geo_flush_cost(g) < GEO_DEAR || geo_kept_has_below(&g->kept));
}

/* Upwards where that has come out the same, but for finer grids: the next point would come by before it is asked for.
 * (Where all are read upwards such points are left for later.) */
static int read_grid(struct geo *g, struct grid *grid, uint64_t from, uint64_t span, uint64_t step, double per_track,
                     struct err *err)
{
	bool is_coarse = (double)(step + 1) * GRID > per_track;
	bool is_up = geo_goes_up(g) || (is_coarse && g->ways.up_agreed >= GEO_TWICE && may_go_up(g));
	uint64_t sector[GRID_MAX] = { 0 };
	double angle[GRID_MAX];
	size_t n = 0;
	int r;

	while (n < GRID_MAX && from + n * step < g->sectors && n * step <= span)
		n++;
	for (size_t i = 0; i < n; i++)
		sector[i] = from + (is_up ? i : n - 1 - i) * step;
	r = geo_probe(g, sector, angle, n, err);
	grid->n = 0;
	for (size_t k = 0; k < n && r == 0; k++) {
		size_t i = is_up ? k : n - 1 - k;

		if (!isfinite(angle[i]))
			continue;
		grid->sector[grid->n] = sector[i];
		grid->angle[grid->n++] = angle[i];
	}
	return r == 0 && is_coarse && !is_up && may_go_up(g) ? try_upwards(g, grid, err) : r;
}

static double spacing(const struct grid *grid, size_t i)
{
	return geo_frac(grid->angle[i + 1] - grid->angle[i]) / (double)(grid->sector[i + 1] - grid->sector[i]);
}

static void find_even(const struct geo *g, struct grid *grid, double per_track)
{
	for (size_t i = 0; i + 1 < grid->n; i++) {
		double s = spacing(grid, i), width = (double)(grid->sector[i + 1] - grid->sector[i]);
		bool even = false;

		for (int k = -1; k <= 1; k += 2) {
			size_t o = i + (size_t)k;

			if ((k < 0 && i == 0) || o + 1 >= grid->n)
				continue;
			even = even || fabs(spacing(grid, o) - s) * width < 2.0 * g->tol;
		}
		/* The next zone may have fewer sectors, but not a third; two edges that look even by chance do not fool
		 * us. */
		grid->is_even[i] = even && s * per_track > 0.5 && s * per_track < 3.0;
	}
}

/* Mean spacing of the even run that ends (forward < 0) or begins at the interval i. */
static double run_spacing(const struct geo *g, const struct grid *grid, size_t i, int forward)
{
	double first = spacing(grid, i), sum = 0.0, width = 0.0;

	for (size_t k = i; k + 1 < grid->n && grid->is_even[k]; k += (size_t)forward) {
		double s = spacing(grid, k), w = (double)(grid->sector[k + 1] - grid->sector[k]);

		if (fabs(s - first) * w >= 3.0 * g->tol)
			break;
		sum += s * w;
		width += w;
		if (k == 0 && forward < 0)
			break;
	}
	return sum / width;
}

static size_t find_gaps(const struct geo *g, const struct grid *grid, struct gap *ret)
{
	size_t n = 0, last = SIZE_MAX; /* last: the even interval before */

	for (size_t i = 0; i + 1 < grid->n && n < GEO_JUMPS; i++) {
		if (!grid->is_even[i])
			continue;
		if (last != SIZE_MAX && last + 1 < i)
			ret[n++] = (struct gap){
				.low = grid->sector[last + 1],
				.low_angle = grid->angle[last + 1],
				.before = run_spacing(g, grid, last, -1),
				.high = grid->sector[i],
				.high_angle = grid->angle[i],
				.after = run_spacing(g, grid, i, 1),
			};
		last = i;
	}
	return n;
}

/* ---- bisection of all gaps at once ---- */

static double off_low(const struct gap *gap, uint64_t sector, double angle)
{
	return geo_apart(angle, gap->low_angle + (double)(sector - gap->low) * gap->before);
}

static double off_high(const struct gap *gap, uint64_t sector, double angle)
{
	return geo_apart(angle, gap->high_angle - (double)(gap->high - sector) * gap->after);
}

static bool is_low(const struct geo *g, const struct gap *gap, uint64_t sector, double angle)
{
	double off = off_low(gap, sector, angle);

	return off < 3.0 * g->tol && off <= off_high(gap, sector, angle);
}

static bool is_high(const struct geo *g, const struct gap *gap, uint64_t sector, double angle)
{
	double off = off_high(gap, sector, angle);

	return off < 3.0 * g->tol && off <= off_low(gap, sector, angle);
}

/* Does one look show which side a sector is on, whatever one angle strays by? */
static bool is_clear(const struct geo *g, const struct gap *gap, uint64_t sector, double angle)
{
	double low = off_low(gap, sector, angle), high = off_high(gap, sector, angle);
	double one = GEO_BEYOND * g->rot.noise_ns / g->rot.period_ns / geo_noise_left(g->looks);

	return fabs(high * high - low * low) > one * one && fmin(low, high) < 3.0 * g->tol;
}

/* What lies on neither side and was read in a short time is read once more: the drive may have had it. Where several
 * looks are wanted, others follow where the first does not decide. */
static int probe_gaps(struct geo *g, const struct gap *gap, const size_t *which, const uint64_t *sector, double *angle,
                      size_t n, struct err *err)
{
	bool doubt[GEO_BATCH] = { false }, any = false;
	int r = geo_probe_once(g, sector, angle, doubt, n, false, err);

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct gap *p = &gap[which[i]];
		bool is_open = g->looks > 1 ? !is_clear(g, p, sector[i], angle[i])
		                            : doubt[i] && !is_low(g, p, sector[i], angle[i]) &&
		                                      !is_high(g, p, sector[i], angle[i]);

		doubt[i] = is_open && isfinite(angle[i]);
		any = any || doubt[i];
	}
	return r == 0 && any ? geo_probe_doubt(g, sector, angle, doubt, n, true, err) : r;
}

/* By an angle in a gap; one that could not be read is taken to lie on the low side: the check in the end is what
 * counts. */
static void narrow(const struct geo *g, struct gap *gap, uint64_t sector, double angle, bool want_high)
{
	bool is_below = want_high ? !is_high(g, gap, sector, angle) : is_low(g, gap, sector, angle);

	*(isnan(angle) || is_below ? &gap->in : &gap->out) = sector;
	*(isnan(angle) || is_below ? &gap->in_angle : &gap->out_angle) = angle;
}

/* Narrows in..out of each gap that is still open to two neighbours. One round makes the cache forget once for all of
 * them; where that is dear they are taken one by one from above, as going up within a track brings all that lies
 * between into the cache: unless each is read several times, for which it forgets all the same. want_high: the edge
 * where the high side begins. */
static int bisect(struct geo *g, struct gap *gap, size_t n, const bool *is_open, bool want_high, struct err *err)
{
	uint64_t sector[GEO_JUMPS];
	double angle[GEO_JUMPS];
	size_t which[GEO_JUMPS], m = 1;
	int r = 0;

	while (r == 0 && m && !geo_is_over(g)) {
		double flush = geo_flush_cost(g);
		bool is_each_alone = flush > GEO_DEAR && g->looks == 1 && !geo_kept_has_below(&g->kept);
		size_t most = is_each_alone ? 1 : n;

		m = 0;
		for (size_t k = n; k-- > 0 && m < most;) {
			if (!is_open[k] || gap[k].out - gap[k].in <= 1)
				continue;
			which[m] = k;
			sector[m++] = geo_kept_next(&g->kept, gap[k].in, gap[k].out, most > 1 ? 0.0 : flush);
		}
		if (m && is_each_alone)
			r = geo_leave(g, sector[0], err);
		if (r == 0)
			r = probe_gaps(g, gap, which, sector, angle, m, err);
		for (size_t i = 0; i < m && r == 0; i++)
			narrow(g, &gap[which[i]], sector[i], angle[i], want_high);
	}
	return r;
}

static void open_gaps(struct gap *gap, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		gap[i].in = gap[i].low;
		gap[i].in_angle = gap[i].low_angle;
		gap[i].out = gap[i].high;
		gap[i].out_angle = gap[i].high_angle;
	}
}

/* What a survey finds. */
struct edges {
	struct geo_edge *edge;
	size_t n, max;
};

static void add_edge(struct edges *e, uint64_t first, double jump, double before, double after)
{
	if (e->n < e->max)
		e->edge[e->n++] = (struct geo_edge){ .first = first, .jump = jump, .before = before, .after = after };
}

/* Something lies between the two sides: from p->out to gap->in. */
static void add_piece(const struct geo *g, const struct gap *gap, const struct gap *p, struct edges *ret)
{
	uint64_t steps = gap->in - p->out;
	/* Short for a track, so that it spans less than a revolution; a little less than nothing is noise. */
	double inside = p->before, arc = geo_frac(gap->in_angle - p->out_angle + 0.25) - 0.25;

	if (steps > 0 && fabs(arc - p->before * (double)steps) > 4.0 * g->tol)
		inside = arc / (double)steps;
	add_edge(ret, p->out, geo_frac(p->out_angle - p->in_angle - inside), p->before, inside);
	add_edge(ret, gap->out, geo_frac(gap->out_angle - gap->in_angle - p->after), inside, p->after);
}

/* Where the low side ends; and where the high side begins, when there is something else in between: a short track. */
static int resolve(struct geo *g, struct gap *gap, size_t n, struct edges *ret, struct err *err)
{
	struct gap first[GEO_JUMPS];
	bool is_open[GEO_JUMPS] = { false };
	int r;

	for (size_t i = 0; i < n; i++)
		is_open[i] = true;
	open_gaps(gap, n);
	r = bisect(g, gap, n, is_open, false, err);
	memcpy(first, gap, n * sizeof(*gap));
	for (size_t i = 0; i < n; i++) {
		is_open[i] = !is_high(g, &gap[i], gap[i].out, gap[i].out_angle);
		if (is_open[i]) {
			gap[i].in = gap[i].out;
			gap[i].in_angle = gap[i].out_angle;
			gap[i].out = gap[i].high;
			gap[i].out_angle = gap[i].high_angle;
		}
	}
	if (r == 0)
		r = bisect(g, gap, n, is_open, true, err);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct gap *p = &first[i];

		if (!is_open[i]) {
			add_edge(ret, p->out, geo_frac(p->out_angle - p->in_angle - p->after), p->before, p->after);
			continue;
		}
		add_piece(g, &gap[i], p, ret);
	}
	return r;
}

/* A late answer looks like an edge, until it turns out that there is no jump. (To another track, whatever its spacing,
 * it takes time.) */
static void drop_empty(const struct geo *g, struct edges *e)
{
	size_t m = 0;

	for (size_t i = 0; i < e->n; i++)
		if (!(geo_apart(e->edge[i].jump, 0.0) < geo_near(g)))
			e->edge[m++] = e->edge[i];
	e->n = m;
}

/* Grid of this step; ret_blind: what lies in front of the first even stretch, where a finer grid may find something. */
static int survey_grid(struct geo *g, uint64_t from, uint64_t span, uint64_t step, double per_track, struct edges *ret,
                       uint64_t *ret_blind, struct err *err)
{
	cleanup_free struct grid *grid = xcalloc(1, sizeof(*grid));
	cleanup_free struct gap *gap = xcalloc(GEO_JUMPS, sizeof(*gap));
	size_t even = 0;
	int r;

	ret->n = 0;
	*ret_blind = 0;
	r = read_grid(g, grid, from, span, step, per_track, err);
	if (r < 0 || grid->n < 3)
		return r;
	find_even(g, grid, per_track);
	while (even + 1 < grid->n && !grid->is_even[even])
		even++;
	*ret_blind = even && even + 1 < grid->n ? grid->sector[even] - from : 0;
	r = resolve(g, gap, find_gaps(g, grid, gap), ret, err);
	drop_empty(g, ret);
	return r;
}

/* Those of add in place of those in [from, to), if there is room. */
static void put_edges(struct edges *ret, uint64_t from, uint64_t to, const struct edges *add)
{
	size_t first = 0, end;

	while (first < ret->n && ret->edge[first].first < from)
		first++;
	for (end = first; end < ret->n && ret->edge[end].first < to;)
		end++;
	if (ret->n - (end - first) + add->n > ret->max)
		return;
	memmove(ret->edge + first + add->n, ret->edge + end, (ret->n - end) * sizeof(*ret->edge));
	memcpy(ret->edge + first, add->edge, add->n * sizeof(*ret->edge));
	ret->n += add->n - (end - first);
}

/* A piece that has no spacing which a track could have, or too many sectors for one: there is another edge in it. */
static bool is_crooked(const struct geo_edge *one, const struct geo_edge *two)
{
	uint64_t n = two->first - one->first;

	return n > 1 && (!(one->after > 0.6 * fmin(one->before, two->after) &&
	                   one->after < 1.6 * fmax(one->before, two->after)) ||
	                 (double)n * one->after > GEO_ROUND);
}

/* The same place again with a finer grid. */
static int survey_finer(struct geo *g, uint64_t from, uint64_t to, uint64_t step, double per_track, struct edges *ret,
                        uint64_t *ret_blind, struct err *err)
{
	struct geo_edge edge[4 * GRID];
	struct edges found = { .edge = edge, .max = ARRAY_LEN(edge) };
	int r = survey_grid(g, from, to + 3 * step - from, step, per_track, &found, ret_blind, err);

	if (r == 0 && found.n)
		put_edges(ret, from, edge[found.n - 1].first >= to ? edge[found.n - 1].first + 1 : to, &found);
	return r;
}

/* A track of one or two sectors in front of the first even stretch, that is about `blind` sectors further on: no grid
 * is fine enough for it, but where the sectors of that stretch begin shows. */
static int survey_stump(struct geo *g, uint64_t from, uint64_t blind, struct edges *ret, struct err *err)
{
	uint64_t sector[STUMP], k = blind;
	double angle[STUMP], after;
	struct geo_edge e = { .first = from };
	int r;

	if (blind + 3 > STUMP || from + STUMP > g->sectors)
		return 0;
	for (size_t i = 0; i < STUMP; i++)
		sector[i] = from + STUMP - 1 - i;
	r = geo_probe(g, sector, angle, STUMP, err);
	if (r < 0)
		return r;
#define ANGLE(i) angle[STUMP - 1 - (i)]
	after = geo_frac(ANGLE(blind + 2) - ANGLE(blind)) / 2.0;
	while (k > 0 && geo_apart(ANGLE(k - 1), ANGLE(blind) - (double)(blind - k + 1) * after) < 3.0 * g->tol)
		k--;
#undef ANGLE
	if (k == 0)
		return 0;
	e.first = from + k;
	r = geo_read_jumps(g, &e.first, &after, 1, &e.jump, err); /* an answer may have been late */
	if (!isfinite(e.jump) || geo_apart(e.jump, 0.0) < geo_near(g))
		return r;
	e.before = NAN; /* it may be of another zone */
	e.after = after;
	put_edges(ret, from + 1, from + k + 1, &(struct edges){ .edge = &e, .n = 1 });
	return 0;
}

int geo_survey(struct geo *g, uint64_t from, uint64_t span, double per_track, struct geo_edge *ret, size_t max,
               size_t *ret_n, struct err *err)
{
	uint64_t step = per_track >= 2.0 * GRID ? (uint64_t)(per_track / GRID) : 1, finer = step, blind, ignore;
	struct edges e = { .edge = ret, .max = max };
	int r = survey_grid(g, from, span, step, per_track, &e, &blind, err);

	/* A track that is a stump, at the very start: it has too few points. */
	while (r == 0 && blind && finer > 1 && !geo_is_over(g)) {
		finer = finer / (GRID - 1) ? finer / (GRID - 1) : 1; /* as many points between two of the grid before */
		r = survey_finer(g, from, from + blind + 1, finer, per_track, &e, &blind, err);
	}
	if (r == 0 && blind && finer == 1 && !geo_is_over(g))
		r = survey_stump(g, from, blind, &e, err);
	for (size_t i = 0; r == 0 && i + 1 < e.n && step > 1 && !geo_is_over(g); i++) {
		uint64_t low = ret[i].first, high = ret[i + 1].first;

		if (!is_crooked(&ret[i], &ret[i + 1]))
			continue;
		finer = (high - low) / (GRID - 1) ? (high - low) / (GRID - 1) : 1;
		finer = finer < step ? finer : step;
		low = low > from + 4 * finer ? low - 4 * finer : from;
		r = survey_finer(g, low, high + 1, finer, per_track, &e, &ignore, err);
	}
	*ret_n = e.n;
	return r;
}
