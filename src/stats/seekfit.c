/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seek curve in two pieces (Ruemmler and Wilkes, "An introduction to disk drive modeling", 1994): square root of
 * the distance while the arm is still being accelerated, linear after that. For each knee the rest is linear least
 * squares, so the knee is searched by profile: every gap between distances, then closer inside the best. Two shapes:
 * pieces that meet (a, b, e and knee), and free ones (a, b, c, e and knee); the free one only if Schwarz's criterion
 * (1978) wants it.
 */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define PARAMETERS_MAX 4

enum shape { SHAPE_ROOT, SHAPE_MEETING, SHAPE_FREE };
static const size_t shape_columns[] = { 2, 3, 4 };

struct point {
	double d, y, w;
};

double seek_fit_at(const struct seek_fit *f, double distance)
{
	if (distance < f->knee)
		return f->a + f->b * sqrt(fmax(distance, 0));
	return f->c + f->e * distance;
}

static void columns(enum shape shape, double d, double knee, double *ret)
{
	bool is_near = shape == SHAPE_ROOT || d < knee;

	ret[0] = is_near || shape == SHAPE_MEETING;
	ret[1] = is_near ? sqrt(d) : shape == SHAPE_MEETING ? sqrt(knee) : 0;
	ret[2] = is_near ? 0 : shape == SHAPE_MEETING ? d - knee : 1;
	ret[3] = is_near || shape == SHAPE_MEETING ? 0 : d;
}

/*
 * Least squares by Givens rotations (Gentleman 1974) on scaled columns: each observation is rotated into a triangle,
 * and what remains of it is residual. false: columns depend on each other. Returns the weighted sum of squares in
 * ret_rss.
 */
static bool solve(enum shape shape, const struct point *p, size_t n, double knee, double *ret_x, double *ret_rss)
{
	double tri[PARAMETERS_MAX][PARAMETERS_MAX + 1] = { { 0 } }, scale[PARAMETERS_MAX], row[PARAMETERS_MAX + 1];
	size_t m = shape_columns[shape];
	double rss = 0, far = p[n - 1].d;

	scale[0] = 1;
	scale[1] = sqrt(far);
	scale[2] = shape == SHAPE_MEETING ? far : 1;
	scale[3] = far;
	for (size_t i = 0; i < n; i++) {
		double root = sqrt(p[i].w);

		columns(shape, p[i].d, knee, row);
		for (size_t j = 0; j < m; j++)
			row[j] *= root / scale[j];
		row[m] = root * p[i].y;
		for (size_t j = 0; j < m; j++) {
			double h = hypot(tri[j][j], row[j]), c, s;

			if (row[j] == 0)
				continue;
			c = tri[j][j] / h;
			s = row[j] / h;
			for (size_t k = j; k <= m; k++) {
				double up = tri[j][k];

				tri[j][k] = c * up + s * row[k];
				row[k] = c * row[k] - s * up;
			}
		}
		rss += row[m] * row[m];
	}
	for (size_t j = m; j-- > 0;) {
		double v = tri[j][m];

		if (!(fabs(tri[j][j]) > 1e-9 * fabs(tri[0][0])))
			return false;
		for (size_t k = j + 1; k < m; k++)
			v -= tri[j][k] * ret_x[k];
		ret_x[j] = v / tri[j][j];
	}
	for (size_t j = 0; j < m; j++)
		ret_x[j] /= scale[j];
	*ret_rss = rss;
	return true;
}

static int by_distance(const void *pa, const void *pb)
{
	const struct point *a = pa, *b = pb;

	return (a->d > b->d) - (a->d < b->d);
}

/* Schwarz's criterion; the knee counts as a parameter. The floor: residuals of a billionth prove nothing. */
static double criterion(enum shape shape, double rss, double floor, size_t n)
{
	double parameters = (double)shape_columns[shape] + (shape != SHAPE_ROOT);

	return (double)n * log(fmax(rss, floor)) + parameters * log((double)n);
}

struct profile {
	double knee, rss, x[PARAMETERS_MAX];
	double most; /* the largest of the times */
};

/* Two distances that are nearly one give any slope before them: a curve does not fall, nor begin beyond what was seen.
 */
static bool try_knee(enum shape shape, const struct point *p, size_t n, double knee, struct profile *best)
{
	double x[PARAMETERS_MAX] = { 0 }, rss;

	if (!solve(shape, p, n, knee, x, &rss) || rss >= best->rss ||
	    (shape != SHAPE_ROOT && !(x[1] >= 0 && fabs(x[0]) <= best->most)))
		return false;
	best->knee = knee;
	best->rss = rss;
	memcpy(best->x, x, sizeof(x));
	return true;
}

/* Every gap between distances, then for pieces that meet ever finer steps about the best. */
static void search_knee(enum shape shape, const struct point *p, size_t n, struct profile *best)
{
	double low, high;
	size_t at;

	for (size_t i = 1; i + 2 < n; i++) {
		if (p[i + 1].d > p[i].d && p[i].d > 0)
			(void)try_knee(shape, p, n, sqrt(p[i].d * p[i + 1].d), best);
	}
	if (shape == SHAPE_FREE || isinf(best->rss))
		return;
	for (at = 1; at + 1 < n && p[at].d < best->knee; at++)
		;
	/* p[at - 1] and p[at] enclose the knee; one gap more to either side */
	low = p[at > 1 ? at - 2 : 0].d;
	high = p[at + 1 < n ? at + 1 : n - 1].d;
	low = low > 0 ? low : best->knee / 16;
	for (int round = 0; round < 14; round++) { /* a quarter as wide each time */
		double centre = best->knee, ratio = pow(high / low, pow(0.25, round) / 32);

		for (int k = -16; k <= 16; k++)
			(void)try_knee(shape, p, n, centre * pow(ratio, k), best);
	}
}

bool fit_seek(const double *distance, const double *seek, const double *w, size_t n, struct seek_fit *ret)
{
	cleanup_free struct point *p = xcalloc(n, sizeof(*p));
	struct profile root = { .rss = INFINITY }, meeting, loose;
	struct seek_fit f = { .knee = INFINITY };
	double sw = 0, floor = 0, best;
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		double wi = w ? w[i] : 1;

		if (!(isfinite(distance[i]) && distance[i] >= 0 && isfinite(seek[i]) && isfinite(wi) && wi > 0))
			continue;
		p[used++] = (struct point){ distance[i], seek[i], wi };
		root.most = fmax(root.most, fabs(seek[i]));
		sw += wi;
		floor += wi * seek[i] * seek[i] * 1e-18;
	}
	if (used < 2)
		return false;
	meeting = loose = root;
	qsort(p, used, sizeof(*p), by_distance);
	if (!try_knee(SHAPE_ROOT, p, used, 0, &root))
		return false;
	f.a = root.x[0];
	f.b = root.x[1];
	f.rms = sqrt(root.rss / sw);
	best = criterion(SHAPE_ROOT, root.rss, floor, used);
	search_knee(SHAPE_MEETING, p, used, &meeting);
	if (used > 5 && criterion(SHAPE_MEETING, meeting.rss, floor, used) < best) {
		best = criterion(SHAPE_MEETING, meeting.rss, floor, used);
		f.knee = meeting.knee;
		f.a = meeting.x[0];
		f.b = meeting.x[1];
		f.e = meeting.x[2];
		f.c = f.a + f.b * sqrt(f.knee) - f.e * f.knee;
		f.rms = sqrt(meeting.rss / sw);
	}
	search_knee(SHAPE_FREE, p, used, &loose);
	if (used > 6 && criterion(SHAPE_FREE, loose.rss, floor, used) < best - 6) {
		f =
			(struct seek_fit){ loose.x[0], loose.x[1], loose.x[2],
			                   loose.x[3], loose.knee, sqrt(loose.rss / sw) };
	}
	*ret = f;
	return true;
}
