/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Axes: the unit that makes numbers short, and ticks at 1, 2 or 5 times a power of ten (bytes too: disks count in
 * decimal). */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/whole.h"
#include "base/xalloc.h"
#include "report/axis.h"

#define TICK_TEXT   12   /* bytes; numbers beyond all that is measured do not get 300 digits */
#define LABEL_MOST  90   /* bytes, before the unit */
#define RANGE_SMALL 20.0 /* of a disk: on a drawing of all of it less than that shows nothing */

struct step {
	double from; /* largest value shown, in base units */
	double scale;
	const char *suffix;
};

static const struct step byte_steps[] = { { 2e12, 1e12, "TB" },
	                                  { 2e9, 1e9, "GB" },
	                                  { 2e6, 1e6, "MB" },
	                                  { 2e3, 1e3, "kB" },
	                                  { 0, 1, "B" } };
/* As in every figure and sentence, but that five digits have no room beside the axis. */
static const struct step rate_steps[] = { { 1e10, 1e9, "GB/s" }, { 0, 1e6, "MB/s" } };
static const struct step ns_steps[] = { { 7.2e12, 3.6e12, "h" },
	                                { 2e9, 1e9, "s" },
	                                { 1e6, 1e6, "ms" },
	                                { 1e3, 1e3, "us" },
	                                { 0, 1, "ns" } };
static const struct step s_steps[] = { { 7200, 3600, "h" }, { 300, 60, "min" }, { 0, 1, "s" } };
static const struct step per_s_steps[] = { { 2e6, 1e6, "million/s" }, { 2e4, 1e3, "thousand/s" }, { 0, 1, "/s" } };

static const struct step ratio_steps[] = { { 2, 1, "" }, { 0, 0.01, "%" } };
static const struct step percent_steps[] = { { 0, 1, "%" } };
static const struct step rpm_steps[] = { { 0, 1, "rpm" } };
static const struct step mib_steps[] = { { 0, 1, "MiB/s" } };
static const struct step plain_steps[] = { { 0, 1, "" } };

static const struct step *steps_of(enum unit unit)
{
	static const struct step *const steps[] = {
		[UNIT_BYTES] = byte_steps,      [UNIT_BYTES_PER_S] = rate_steps,
		[UNIT_NS] = ns_steps,           [UNIT_S] = s_steps,
		[UNIT_PER_S] = per_s_steps,     [UNIT_RATIO] = ratio_steps,
		[UNIT_PERCENT] = percent_steps, [UNIT_RPM] = rpm_steps,
		[UNIT_MIB_PER_S] = mib_steps,
	};

	return unit < ARRAY_LEN(steps) && steps[unit] ? steps[unit] : plain_steps;
}

static double nice_step(double raw)
{
	double power = pow(10.0, floor(log10(raw))), m = raw / power;

	return power * (m < 1.5 ? 1.0 : m < 3.5 ? 2.0 : m < 7.5 ? 5.0 : 10.0);
}

static void linear_ticks(struct axis *a)
{
	double step = nice_step((a->high - a->low) / a->scale / 6.0);
	double first = ceil(a->low / a->scale / step - 1e-9);

	a->decimals = step >= 1.0 ? 0 : (int)ceil(-log10(step) - 1e-9);
	for (double k = first; a->nticks < AXIS_TICKS && k * step * a->scale <= a->high * (1 + 1e-12) + 1e-300;
	     k += 1.0)
		a->tick[a->nticks++] = k * step * a->scale;
}

static void log_ticks(struct axis *a)
{
	static const double within[] = { 1.0, 2.0, 5.0 };
	double decades = log10(a->high / a->low);
	size_t per = decades <= 3.0 ? 3 : 1;
	int every = decades > 12.0 ? 3 : decades > 7.0 ? 2 : 1;

	for (int d = (int)floor(log10(a->low)); d <= (int)ceil(log10(a->high)); d += every)
		for (size_t k = 0; k < per && a->nticks < AXIS_TICKS; k++) {
			double v = within[k] * pow(10.0, d);

			if (v >= a->low * (1 - 1e-9) && v <= a->high * (1 + 1e-9))
				a->tick[a->nticks++] = v;
		}
	a->decimals = -1; /* as many as each needs */
}

void axis_init(struct axis *a, bool is_log, double low, double high, bool from_zero, bool has_units)
{
	const struct step *s = steps_of(a->unit);
	size_t len = strnlen(a->label, LABEL_MOST);

	a->is_log = is_log && high > 0.0;
	if (a->is_log && !(low > 0.0))
		low = high / 1e6;
	if (from_zero && !a->is_log && low > 0.0)
		low = 0.0;
	if (!(high > low)) { /* one value only: some room around it */
		double room = high != 0.0 ? fabs(high) * 0.1 : 1.0;

		low -= a->is_log ? low * 0.5 : high != 0.0 ? room : 0.0; /* never below a zero */
		high += a->is_log ? high : room;
	} else if (!a->is_log) {
		high += (high - low) * 0.04;
	}
	a->low = low;
	a->high = high;
	while (fmax(fabs(low), fabs(high)) < s->from)
		s++;
	a->scale = a->is_log ? 1.0 : s->scale; /* on a logarithmic one each tick says its own unit */
	if (a->is_log)
		log_ticks(a);
	else
		linear_ticks(a);
	if (!a->is_log && !has_units && s->suffix[0])
		(void)snprintf(a->label + len, sizeof(a->label) - len, " (%s)", s->suffix);
}

double axis_place(const struct axis *a, double value)
{
	double p = a->is_log ? log(fmax(value, a->low) / a->low) / log(a->high / a->low)
	                     : (value - a->low) / (a->high - a->low);

	return p < 0.0 ? 0.0 : p > 1.0 ? 1.0 : p;
}

char *axis_tick_text(const struct axis *a, size_t i, char *buf, size_t len)
{
	double v = a->tick[i] / a->scale;

	if (a->is_log) {
		const struct step *s = steps_of(a->unit);

		while (v < s->from / 2.0) /* a tick of 1 ms is "1 ms", not "1000 us" */
			s++;
		(void)snprintf(buf, len, s->suffix[0] ? "%.6g %s" : "%.6g", v / s->scale, s->suffix);
	} else {
		if (snprintf(buf, len, "%.*f", a->decimals, v == 0.0 ? 0.0 : v) > TICK_TEXT) /* no "-0" */
			(void)snprintf(buf, len, "%.4g", v);
	}
	return buf;
}

/* ---- of a plot: what of its numbers they show, and on which kind of scale ---- */

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
	axis_init(&d->x, is_log, x.low, x.high, !d->is_by_place && (d->x.unit == UNIT_BYTES || d->x.unit == UNIT_S),
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

/* The values, and their intervals as far as these reach no further out than the values lie apart (of one value: than it
 * is from 0): the rest is cut at the frame, as it would leave a flat line of the values. */
static struct range range_of_y(const struct plot_data *d, bool is_log)
{
	struct range values = { INFINITY, -INFINITY }, y;
	double room;

	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++)
			if (!is_log || d->series[i].v[k].y > 0.0)
				widen(&values, d->series[i].v[k].y);
	room = values.high > values.low ? values.high - values.low : fabs(values.high);
	y = values;
	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++) {
			const struct point *p = &d->series[i].v[k];

			if (isfinite(p->low) && isfinite(p->high)) {
				widen(&y, fmax(p->low, values.low - room));
				widen(&y, fmin(p->high, values.high + room));
			}
		}
	return y;
}

void plot_make_axes(struct plot_data *d, const struct result *const *res, size_t n)
{
	struct range y, z = { INFINITY, -INFINITY };
	bool is_log = d->kind == PLOT_HEATMAP && wants_log(d, false);

	make_x_axis(d, res, n);
	if (d->kind == PLOT_HISTOGRAM && d->nseries > 1)
		even_bars(d);
	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++)
			widen(&z, d->series[i].v[k].z);
	y = range_of_y(d, is_log);
	axis_init(&d->y, is_log, y.low, y.high, d->y.unit != UNIT_NONE && d->y.unit != UNIT_RPM,
	          d->kind == PLOT_HEATMAP);
	if (isfinite(z.low))
		axis_init(&d->z, true, z.low, z.high, false, false);
	if (d->kind == PLOT_HEATMAP) {
		d->x.levels = levels_of(d, true);
		d->y.levels = levels_of(d, false);
	}
}
