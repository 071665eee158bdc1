/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heat maps as SVG: cells of equal size, one for each pair of levels, from the top left. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/whole.h"
#include "base/xalloc.h"
#include "report/map.h"
#include "report/markup.h"
#include "report/report.h"

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorted different values of x or y of one series; heap. */
static double *levels(const struct series *s, bool is_x, size_t *ret_n)
{
	double *v = malloc(s->n * sizeof(*v));
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		v[i] = is_x ? s->v[i].x : s->v[i].y;
	qsort(v, s->n, sizeof(*v), compare_double);
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

char *map_level_text(const struct plot_data *d, const struct axis *a, double v, char *buf, size_t len)
{
	struct cell cell = { .f64 = v };

	if (isfinite(d->cell))
		return report_value(buf, len, FIELD_TYPE_F64, UNIT_BYTES, &cell);
	if (a->unit == UNIT_BYTES)
		return units_bytes(buf, len, whole(v));
	(void)snprintf(buf, len, "%.6g", v);
	return buf;
}

/* Columns of a map stand for values: a mark is put between them as on a logarithmic scale. */
static void map_marks(FILE *out, const struct plot_data *d, const double *xs, size_t nx, double w)
{
	for (size_t i = 0; !isfinite(d->cell) && i < d->nmarks; i++)
		for (size_t k = 0; k < d->marks[i].n; k++) {
			double v = d->marks[i].v[k][0], place = 0.0;
			size_t c = 0;

			while (c + 1 < nx && xs[c + 1] <= v)
				c++;
			if (c + 1 < nx && v > xs[c] && xs[c] > 0.0)
				place = log(v / xs[c]) / log(xs[c + 1] / xs[c]);
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

void map_legend(FILE *out, const struct plot_data *d)
{
	char text[64];

	(void)fputs("<p class=\"legend\">", out);
	markup_text(out, map_heat_label(d));
	for (int i = 0; i <= MAP_HEAT_STEPS; i++) {
		(void)fprintf(out, " <span><i class=\"heat\" style=\"--h:%.2f\"></i>", (double)i / MAP_HEAT_STEPS);
		markup_text(out, map_heat_text(d, i, text, sizeof(text)));
		(void)fputs("</span>", out);
	}
	(void)fputs("</p>\n<div class=\"maps\">\n", out);
}

void map_draw(FILE *out, const struct plot_data *d, const struct series *s)
{
	size_t nx, ny;
	double *xs = levels(s, true, &nx), *ys = levels(s, false, &ny);
	double w = (SVG_WIDTH - SVG_LEFT - SVG_RIGHT) / (double)nx,
	       h = (SVG_HEIGHT - SVG_TOP - SVG_BOTTOM) / (double)ny;
	char text[64];

	for (size_t i = 0; i < s->n; i++) {
		double left = SVG_LEFT + w * (double)level_of(xs, nx, s->v[i].x);
		double top = SVG_TOP + h * (double)level_of(ys, ny, s->v[i].y);
		double heat = axis_place(&d->z, s->v[i].z);
		struct cell cell = { .f64 = s->v[i].z };

		if (!isfinite(s->v[i].z))
			continue; /* blank: it was not measured */
		(void)fprintf(
			out,
			"<rect class=\"heat%s\" style=\"--h:%.2f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
			plot_is_marked(d, &s->v[i]) ? " ring" : "", heat, left, top, fmax(w - 1.0, 0.5),
			fmax(h - 1.0, 0.5));
		svg_heat(out, heat);
		(void)fputs("><title>", out);
		markup_text(out, report_value(text, sizeof(text), FIELD_TYPE_F64, d->z.unit, &cell));
		(void)fputs("</title></rect>\n", out);
	}
	map_marks(out, d, xs, nx, w);
	for (size_t i = 0; i < nx; i++)
		if (i % (nx / 8 + 1) == 0)
			(void)fprintf(out,
			              "<text class=\"t%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
			              i % (2 * (nx / 8 + 1)) ? " o" : "", SVG_LEFT + w * ((double)i + 0.5),
			              SVG_HEIGHT - SVG_BOTTOM + 20,
			              map_level_text(d, &d->x, xs[i], text, sizeof(text)));
	for (size_t i = 0; i < ny; i++)
		if (i % (ny / 10 + 1) == 0)
			(void)fprintf(out, "<text class=\"t%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			              i % (2 * (ny / 10 + 1)) ? " o" : "", SVG_LEFT - 6,
			              SVG_TOP + h * ((double)i + 0.5) + 4,
			              map_level_text(d, &d->y, ys[i], text, sizeof(text)));
	(void)fprintf(out, "<text class=\"l\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
	              (SVG_LEFT + SVG_WIDTH - SVG_RIGHT) / 2, SVG_HEIGHT - 8);
	markup_text(out, d->x.label);
	(void)fputs("</text><text class=\"l\" x=\"4\" y=\"18\">", out);
	markup_text(out, d->y.label);
	(void)fputs("</text>\n", out);
	free(xs);
	free(ys);
}
