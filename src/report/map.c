/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Legends, and heat maps as SVG: cells of equal size, one for each pair of levels, from the top left. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "report/map.h"
#include "report/markup.h"
#include "report/report.h"

/* Sorted different values of x or y of one series; heap. */
static double *levels(const struct series *s, bool is_x, size_t *ret_n)
{
	double *v = xcalloc(s->n + 1, sizeof(*v));
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		v[i] = is_x ? s->v[i].x : s->v[i].y;
	qsort(v, s->n, sizeof(*v), order_f64);
	for (size_t i = 0; i < s->n; i++)
		if (n == 0 || v[i] != v[n - 1])
			v[n++] = v[i];
	*ret_n = n;
	return v;
}

static size_t level_of(const double *v, size_t n, double x)
{
	size_t i = 0;

	while (i + 1 < n && v[i] < x)
		i++;
	return i;
}

size_t map_fill(struct series *s)
{
	size_t nx, ny;
	cleanup_free double *xs = levels(s, true, &nx), *ys = levels(s, false, &ny);
	struct point *v = xcalloc(nx * ny + 1, sizeof(*v));

	for (size_t i = 0; i < nx * ny; i++)
		v[i] = (struct point){ xs[i % nx], ys[i / nx], NAN, NAN, NAN, NAN };
	for (size_t i = 0; i < s->n; i++)
		v[level_of(ys, ny, s->v[i].y) * nx + level_of(xs, nx, s->v[i].x)] = s->v[i];
	free(s->v);
	s->v = v;
	s->n = nx * ny;
	return nx;
}

char *map_level_text(const struct axis *a, double v, char *buf, size_t len)
{
	if (a->unit == UNIT_BYTES)
		return report_with_unit(buf, len, &a->levels, v);
	(void)snprintf(buf, len, "%.6g", v);
	return buf;
}

/* Columns of a map stand for values: a mark is put between them as on a logarithmic scale. */
static void map_marks(FILE *out, const struct plot_data *d, const struct point *row, size_t nx, double w)
{
	for (size_t i = 0; !isfinite(d->cell) && i < d->nmarks; i++)
		for (size_t k = 0; k < d->marks[i].n; k++) {
			double v = d->marks[i].v[k][0], place = 0.0;
			size_t c = 0;

			while (c + 1 < nx && row[c + 1].x <= v)
				c++;
			if (c + 1 < nx && v > row[c].x && row[c].x > 0.0)
				place = log(v / row[c].x) / log(row[c + 1].x / row[c].x);
			(void)fprintf(out, "<path class=\"knee\" d=\"M%.1f %.1fV%.1f\"/>\n",
			              SVG_LEFT + w * ((double)c + 0.5 + place), SVG_TOP - 6,
			              SVG_HEIGHT - SVG_BOTTOM + 4);
		}
}

char *map_heat_text(const struct plot_data *d, int i, char *buf, size_t len)
{
	double part = (double)i / MAP_HEAT_STEPS;
	struct cell cell = { .f64 = d->z.is_log ? d->z.low * pow(d->z.high / d->z.low, part)
		                                : d->z.low + part * (d->z.high - d->z.low) };

	return report_value(buf, len, FIELD_TYPE_F64, d->z.unit, &cell);
}

const char *map_heat_label(const struct plot_data *d)
{
	return d->z.label[0] ? d->z.label : "value";
}

bool plot_key(const struct plot_data *d, size_t i, struct plot_key *ret)
{
	bool is_map = d->kind == PLOT_HEATMAP;
	size_t nseries = d->nseries > 1 && !is_map ? d->nseries : 0, step = i - nseries - d->nmarks;

	*ret = (struct plot_key){ .heat = (double)NAN, .is_series = i < nseries };
	ret->is_mark = !ret->is_series && i - nseries < d->nmarks;
	ret->at = ret->is_series ? i : i - nseries;
	if (ret->is_series || ret->is_mark) {
		ret->name = ret->is_series ? d->series[i].name : d->marks[ret->at].name;
		return true;
	}
	if (step > 0)
		ret->heat = (double)(step - 1) / MAP_HEAT_STEPS;
	ret->name = step == 0 ? map_heat_label(d) : map_heat_text(d, (int)step - 1, ret->text, sizeof(ret->text));
	return is_map && step <= MAP_HEAT_STEPS + 1;
}

void map_axis_names(FILE *out, const struct plot_data *d)
{
	markup(out,
	       "<text class=\"l\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text><text class=\"l\" x=\"4\" y=\"18\">%s</text>\n",
	       (SVG_LEFT + SVG_WIDTH - SVG_RIGHT) / 2, SVG_HEIGHT - 8, d->x.label, d->y.label);
}

void map_draw(FILE *out, const struct plot_data *d, struct series *s)
{
	size_t nx = map_fill(s), ny = s->n / nx;
	double w = (SVG_WIDTH - SVG_LEFT - SVG_RIGHT) / (double)nx,
	       h = (SVG_HEIGHT - SVG_TOP - SVG_BOTTOM) / (double)ny;
	char text[64];

	for (size_t i = 0; i < s->n; i++) {
		double heat = axis_place(&d->z, s->v[i].z);
		struct cell cell = { .f64 = s->v[i].z };

		if (!isfinite(s->v[i].z))
			continue; /* blank: it was not measured */
		markup(out,
		       "<rect class=\"heat%s\" style=\"--h:%.2f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
		       plot_is_marked(d, &s->v[i]) ? " ring" : "", heat, SVG_LEFT + w * (double)(i % nx),
		       SVG_TOP + h * (double)(i / nx), fmax(w - 1.0, 0.5), fmax(h - 1.0, 0.5));
		svg_heat(out, heat);
		markup(out, "><title>%s</title></rect>\n",
		       report_value(text, sizeof(text), FIELD_TYPE_F64, d->z.unit, &cell));
	}
	map_marks(out, d, s->v, nx, w);
	for (size_t i = 0; i < nx; i += nx / 8 + 1)
		markup(out, "<text class=\"t%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
		       i % (2 * (nx / 8 + 1)) ? " o" : "", SVG_LEFT + w * ((double)i + 0.5),
		       SVG_HEIGHT - SVG_BOTTOM + 20, map_level_text(&d->x, s->v[i].x, text, sizeof(text)));
	for (size_t i = 0; i < ny; i += ny / 10 + 1) {
		char *space = strchr(map_level_text(&d->y, s->v[i * nx].y, text, sizeof(text)), ' ');

		if (space && !isfinite(d->cell)) /* on a phone the type is large, and the margin is not */
			memmove(space, space + 1, strlen(space));
		markup(out, "<text class=\"t%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		       i % (2 * (ny / 10 + 1)) ? " o" : "", SVG_LEFT - 6, SVG_TOP + h * ((double)i + 0.5) + 4, text);
	}
	map_axis_names(out, d);
}
