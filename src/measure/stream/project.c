/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --project: disks are slower towards their end, so a rate that holds now may not hold in an hour. The curve of each
 * disk is a saved zones result or a quick look at 17 places. By it all disks are filled until one cannot take its part.
 *
 * In turn, each takes rate / n, until one of them is slower than that.
 * In balance, each takes an equal part, or less if it can do no more and the others take the rest, until all together
 * are slower than the rate.
 *
 * A disk that is full drops out, the others share. Between the places of a curve the rate is a straight line.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "measure/shared/timed.h"
#include "measure/stream/stream.h"

#define PLACES      17           /* both ends and 15 between, a straight line from each to the next (a choice) */
#define PLACE_BYTES (8ull << 20) /* five revolutions and more, also of the fastest disks (1.6 MB in one) */
#define STEPS       2000         /* of the way through a disk, at least: the rate changes by less than 0.1 % in one */

struct curve {
	struct point {
		double at, rate;
	} * v; /* sorted by place on the disk */
	size_t n;
	double x, end; /* where the stream is, where its target ends */
};

static double rate_at(const struct curve *c, double x)
{
	const struct point *p = c->v, *last = c->v + c->n - 1;

	while (p < last && p[1].at < x)
		p++;
	if (p == last || x <= p->at)
		return p->rate;
	return p->rate + (p[1].rate - p->rate) * (x - p->at) / (p[1].at - p->at);
}

static int curve_end(struct curve *c, const struct device *d, const struct stream_params *p)
{
	uint64_t first = 0, end = 0;
	int r = stream_range(p, d, &first, &end, NULL);

	qsort(c->v, c->n, sizeof(*c->v), order_f64);
	c->x = (double)(d->partition_offset_bytes + first);
	c->end = (double)(d->partition_offset_bytes + end);
	return r;
}

/* ---- where curves come from ---- */

static int strcmp_null(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : 1;
}

static int load_curve(struct stream_run *s, const char *path, size_t lane, struct curve *c, struct err *err)
{
	struct result *zones = NULL;
	int r = result_load(&zones, path, err), key, value, whose;
	const struct table *t;
	bool is_named = false;

	if (r < 0)
		return r;
	t = result_find_table(zones, "curve");
	key = t ? table_column(t, "disk_offset_bytes") : -1;
	value = t ? table_column(t, "rate_bytes_per_s") : -1;
	whose = t ? table_column(t, "target") : -1;
	for (size_t i = 0; whose >= 0 && i < t->nrows && !is_named; i++)
		is_named = strcmp_null(table_string(t, i, (size_t)whose), s->routes.lanes[lane].name) == 0;
	for (size_t i = 0; key >= 0 && value >= 0 && i < t->nrows; i++) {
		struct point p = { table_number(t, i, (size_t)key), table_number(t, i, (size_t)value) };

		if (is_named && strcmp_null(table_string(t, i, (size_t)whose), s->routes.lanes[lane].name) != 0)
			continue; /* the result is of several targets, this one among them */
		if (isfinite(p.at) && isfinite(p.rate))
			xappend(c->v, c->n, p);
	}
	r = c->n ? curve_end(c, &s->ses->devs[lane], s->p)
	         : err_set(err, -EINVAL, "--project=%s is not a result of `platter zones`: it has no curve.", path);
	result_free(zones);
	return r;
}

static int measure_curve(struct stream_run *s, size_t lane, struct curve *c, struct err *err)
{
	const struct engine_config cfg = { .depth = 2, .buf_bytes = 1u << 20 };
	const struct device *d = &s->ses->devs[lane];
	struct timed t = { .ses = s->ses, .target = &s->routes.targets[lane], .block_bytes = 4096, .step_bytes = 4096 };
	int r = session_engine(s->ses, &cfg, &t.eng, err);

	for (int i = 0; r == 0 && i < PLACES && !session_is_over(s->ses); i++) {
		double place = (double)i / (PLACES - 1) * (double)d->size_bytes, rate;

		session_progress(s->ses, "looking", -1.0, "%s, place %d of %d", d->name, i + 1, PLACES);
		r = timed_rate(&t, (uint64_t)place, PLACE_BYTES, &rate, err);
		if (r == 0 && isfinite(rate))
			xappend(c->v, c->n, (struct point){ (double)d->partition_offset_bytes + place, rate });
	}
	engine_close(t.eng);
	if (r == 0 && c->n == 0)
		r = session_is_over(s->ses) ? 0 : err_set(err, -EIO, "No place of %s could be read.", d->path);
	return r < 0 || c->n == 0 ? r : curve_end(c, d, s->p);
}

/* ---- following the fill ---- */

/* What each takes now; false: they cannot hold the rate, and *ret_slow is the one that is to blame most. */
static bool share_out(const struct stream_run *s, const struct curve *c, double *share, size_t *ret_slow)
{
	double left = (double)s->p->rate, cap, slowest = INFINITY, even;
	size_t active = 0, free_lanes;
	bool changed = true;

	for (size_t i = 0; i < s->routes.nlanes; i++) {
		share[i] = -1.0; /* not settled */
		if (c[i].x >= c[i].end)
			share[i] = 0.0;
		else if (rate_at(&c[i], c[i].x) < slowest) {
			slowest = rate_at(&c[i], c[i].x);
			*ret_slow = i;
		}
		active += share[i] < 0.0;
	}
	free_lanes = active;
	if (s->p->layout == LAYOUT_ROUNDROBIN && active) {
		even = left / (double)active;
		for (size_t i = 0; i < s->routes.nlanes; i++)
			share[i] = share[i] < 0.0 ? even : share[i];
		return slowest >= even;
	}
	while (changed && free_lanes) {
		changed = false;
		even = left / (double)free_lanes;
		for (size_t i = 0; i < s->routes.nlanes; i++) {
			if (share[i] >= 0.0)
				continue;
			cap = rate_at(&c[i], c[i].x);
			if (cap < even) {
				share[i] = cap;
				left -= cap;
				free_lanes--;
				changed = true;
			}
		}
	}
	for (size_t i = 0; i < s->routes.nlanes && free_lanes; i++)
		if (share[i] < 0.0)
			share[i] = left / (double)free_lanes;
	return free_lanes > 0;
}

/* Seconds until they cannot hold it (*ret_slow: which), or until all are full (*ret_slow: SIZE_MAX). */
static double follow(const struct stream_run *s, struct curve *c, size_t *ret_slow)
{
	double share[STREAM_LANES_MAX], time_s = 0.0;

	for (;;) {
		double step = INFINITY;
		bool any = false;

		for (size_t i = 0; i < s->routes.nlanes; i++)
			any = any || c[i].x < c[i].end;
		if (!any) {
			*ret_slow = SIZE_MAX;
			return time_s;
		}
		if (!share_out(s, c, share, ret_slow))
			return time_s;
		for (size_t i = 0; i < s->routes.nlanes; i++)
			if (share[i] > 0.0)
				step = fmin(step, fmin(c[i].end - c[i].x, c[i].end / STEPS) / share[i]);
		for (size_t i = 0; i < s->routes.nlanes; i++) {
			c[i].x += step * share[i];
			if (c[i].end - c[i].x < 1.0) /* rounding */
				c[i].x = c[i].end;
		}
		time_s += step;
	}
}

static void report(struct stream_run *s, const struct curve *c, double time_s, size_t slow)
{
	struct result *res = s->ses->res;
	char rate[32], place[32], can[32], text[32];

	result_figure(res, "projected_s", "time until a zone is too slow", UNIT_S,
	              slow == SIZE_MAX ? (double)NAN : time_s, NULL, 0);
	(void)units_rate_bits(rate, sizeof(rate), (double)s->p->rate);
	if (slow == SIZE_MAX) {
		result_notice(res, "project", "By these curves the disks hold %s to their end, %.0f s from the start.",
		              rate, time_s);
		return;
	}
	(void)units_bytes_dec(place, sizeof(place), (uint64_t)c[slow].x);
	(void)units_rate(can, sizeof(can), rate_at(&c[slow], c[slow].x));
	result_notice(
		res, "project",
		"By these curves %s is held for %s. Then %s, at %s of its disk, takes %s and is the first to be too slow.",
		rate, units_time(text, sizeof(text), (uint64_t)(time_s * 1e9)), s->routes.lanes[slow].name, place, can);
}

int stream_project(struct stream_run *s, struct err *err)
{
	const struct strs *from = &s->p->project;
	struct curve curves[STREAM_LANES_MAX] = { 0 };
	size_t slow = SIZE_MAX;
	bool is_all = true;
	double time_s;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->routes.nlanes; i++) {
		const char *path = from->v[from->n == 1 ? 0 : i];

		r = strcmp(path, "measure") == 0 ? measure_curve(s, i, &curves[i], err)
		                                 : load_curve(s, path, i, &curves[i], err);
		is_all = is_all && curves[i].n;
	}
	if (r == 0 && is_all && !session_is_over(s->ses)) {
		time_s = follow(s, curves, &slow);
		report(s, curves, time_s, slow);
		session_checkpoint(s->ses);
	}
	for (size_t i = 0; i < s->routes.nlanes; i++)
		free(curves[i].v);
	return r;
}
