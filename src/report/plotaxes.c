/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The axes of a plot: what of its numbers they show, and on which kind of scale. */
#include <math.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/whole.h"
#include "base/xalloc.h"
#include "report/plotaxes.h"

#define RANGE_SMALL 20.0 /* of a disk: on a drawing of all of it less than that shows nothing */

struct range {
	double low, high;
};

static void widen(struct range *r, double v)
{
	if (!isfinite(v))
		return;
	r->low = fmin(r->low, v);
	r->high = fmax(r->high, v);
}

/* The disk that a document is of; of a small range of it that was asked for, this. */
static void widen_to_disk(struct range *x, const struct result *res)
{
	double size = target_number(res->targets, "size_bytes");
	const char *range = result_option_text(res, "range");
	uint64_t first, end;

	if (res->ntargets != 1 || !(size > 0.0) || size >= 0x1p63 ||
	    units_parse_range(range && *range ? range : NULL, whole(size), &first, &end, NULL) < 0)
		return;
	if (RANGE_SMALL * (double)(end - first) >= size) {
		first = 0;
		end = whole(size);
	}
	widen(x, (double)first);
	widen(x, (double)end);
}

/* Bytes of files and records, and distances, double from step to step: such columns are shown on a logarithmic axis. */
static bool wants_log(const struct plot_data *d, bool is_x)
{
	double low = INFINITY, high = 0.0;
	size_t below = 0, n = 0;

	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++) {
			double v = is_x ? d->series[i].v[k].x : d->series[i].v[k].y;

			if (v > 0.0) {
				low = fmin(low, v);
				high = fmax(high, v);
			}
		}
	if (!(high > 200.0 * low))
		return false;
	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++, n++)
			below += (is_x ? d->series[i].v[k].x : d->series[i].v[k].y) < high / 10.0;
	return 2 * below > n; /* evenly spaced values have a tenth of them there */
}

/* The bars of a histogram are of one width on one of the two kinds of axis. */
static bool has_growing_bars(const struct plot_data *d)
{
	for (size_t i = 0; i < d->nseries; i++) {
		const struct point *first = &d->series[i].v[0], *last = &d->series[i].v[d->series[i].n - 1];

		if (last->x_end - last->x > 2.0 * (first->x_end - first->x)) /* false for NaN */
			return true;
	}
	return false;
}

/* has_units: its ticks or cells have units of their own. */
static void init(struct axis *a, bool is_log, const struct range *r, bool from_zero, bool has_units)
{
	struct axis old = *a;

	axis_init(a, old.label, old.unit, is_log, r->low, r->high, from_zero);
	if (has_units)
		(void)snprintf(a->label, sizeof(a->label), "%s", old.label);
}

static void make_x_axis(struct plot_data *d, const struct result *const *res, size_t n)
{
	struct range x = { INFINITY, -INFINITY };
	bool is_log = d->kind == PLOT_HISTOGRAM
	                      ? has_growing_bars(d)
	                      : d->kind != PLOT_POLAR && d->kind != PLOT_BARS && d->kind != PLOT_BANDS &&
	                                d->x.unit != UNIT_S && !d->is_by_place && wants_log(d, true);

	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++) {
			if (!is_log || d->series[i].v[k].x > 0.0)
				widen(&x, d->series[i].v[k].x);
			widen(&x, d->series[i].v[k].x_end);
		}
	for (size_t i = 0; d->is_by_place && i < n; i++)
		widen_to_disk(&x, res[i]);
	init(&d->x, is_log, &x, !d->is_by_place && (d->x.unit == UNIT_BYTES || d->x.unit == UNIT_S),
	     d->kind == PLOT_HEATMAP);
	if (!is_log && d->kind != PLOT_BARS) /* no empty strip at the right end of a disk */
		d->x.high = x.high > d->x.low ? x.high : d->x.high;
}

double plot_bar_end(const struct plot_data *d, const struct series *s, size_t i)
{
	return isfinite(s->v[i].x_end) ? s->v[i].x_end : i + 1 < s->n ? s->v[i + 1].x : d->x.high;
}

static double bar_width(const struct plot_data *d, const struct series *s, size_t i)
{
	return axis_place(&d->x, plot_bar_end(d, s, i)) - axis_place(&d->x, s->v[i].x);
}

/* Histograms with bars of different widths are drawn as if all had the widest of them, or the finer one would look the
 * lower. */
static void even_bars(struct plot_data *d)
{
	double widest = 0.0, least = INFINITY;

	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++) {
			widest = fmax(widest, bar_width(d, &d->series[i], k));
			least = fmin(least, bar_width(d, &d->series[i], k));
		}
	if (!(least > 0.0) || widest < 1.01 * least)
		return;
	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++)
			d->series[i].v[k].y *= widest / bar_width(d, &d->series[i], k);
}

/* One unit for all rows or columns of a map. */
static struct value_scale levels_of(const struct plot_data *d, bool is_x)
{
	const struct series *s = &d->series[0];
	cleanup_free double *v = xcalloc(s->n + 1, sizeof(*v));

	for (size_t i = 0; i < s->n; i++)
		v[i] = is_x ? s->v[i].x : s->v[i].y;
	return report_scale(is_x ? d->x.unit : d->y.unit, v, s->n);
}

void plot_make_axes(struct plot_data *d, const struct result *const *res, size_t n)
{
	struct range y = { INFINITY, -INFINITY }, z = y;
	bool is_log = d->kind == PLOT_HEATMAP && wants_log(d, false);

	make_x_axis(d, res, n);
	if (d->kind == PLOT_HISTOGRAM && d->nseries > 1)
		even_bars(d);
	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++) {
			const struct point *p = &d->series[i].v[k];
			const double shown[] = { p->y, p->low, p->high };

			for (size_t m = 0; m < 3; m++)
				if (!is_log || shown[m] > 0.0)
					widen(&y, shown[m]);
			widen(&z, p->z);
		}
	init(&d->y, is_log, &y, d->y.unit != UNIT_NONE && d->y.unit != UNIT_RPM, d->kind == PLOT_HEATMAP);
	if (isfinite(z.low))
		init(&d->z, true, &z, false, false);
	if (d->kind == PLOT_HEATMAP) {
		d->x.levels = levels_of(d, true);
		d->y.levels = levels_of(d, false);
	}
}
