/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A drawing is 640 x 340 user units and scales with the page. Labels have room to grow on a phone, where the style
 * sheet enlarges the type and hides every other tick label (class "o").
 */
#include "report/svg.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "report/printer.h"

#define MARK_HUES  2
#define MARK_WIDTH 3.0  /* of a place */
#define POINTS_MAX 1600 /* of one line: two per unit of width, and thinning keeps extremes */
#define DOTS_MAX   4000 /* behind lines */

/* ---- in a page ---- */

static double px(const struct plot_data *d, double x)
{
	return SVG_LEFT + axis_place(&d->x, x) * (SVG_WIDTH - SVG_LEFT - SVG_RIGHT);
}

static double py(const struct plot_data *d, double y)
{
	return SVG_HEIGHT - SVG_BOTTOM - axis_place(&d->y, y) * (SVG_HEIGHT - SVG_TOP - SVG_BOTTOM);
}

static const char *mark_class(const struct plot_data *d, size_t i)
{
	static const char *const classes[] = { "m0", "m1", "unread" };

	return classes[d->marks[i].is_unread ? 2 : isfinite(d->cell) ? 1 : i % MARK_HUES];
}

/* Beside a name of the legend: what it stands for, if that has a colour. */
static bool put_swatch(FILE *out, const struct plot_data *d, const struct plot_key *key, double x, double y)
{
	char hue[16];

	(void)snprintf(hue, sizeof(hue), "f%zu", key->at % SVG_HUES);
	if (!key->is_series && !key->is_mark && isnan(key->heat))
		return false;
	markup(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\"",
	       !key->is_series              ? key->is_mark ? mark_class(d, key->at) : "heat"
	       : d->series[key->at].is_dots ? "quiet"
	                                    : hue,
	       x, y);
	if (isfinite(key->heat)) {
		markup(out, " style=\"--h:%.2f\"", key->heat);
		svg_heat(out, key->heat);
	}
	(void)fputs("/>", out);
	return true;
}

static void legend(FILE *out, const struct plot_data *d)
{
	struct plot_key key;

	for (size_t i = 0; plot_key(d, i, &key); i++) {
		(void)fputs(i ? "<span><svg viewBox=\"0 0 11 11\">"
		              : "<p class=\"legend\"><span><svg viewBox=\"0 0 11 11\">",
		            out);
		(void)put_swatch(out, d, &key, 0.0, 0.0);
		markup(out, "</svg>%s</span> ", key.name);
	}
	(void)fputs(plot_key(d, 0, &key) ? "</p>\n" : "", out);
}

/* Along the whole height, behind the series; a place is as wide as can be seen. */
static void draw_marks(FILE *out, const struct plot_data *d)
{
	for (size_t i = d->nmarks; i-- > 0;) {
		const struct marks *m = &d->marks[i];
		bool drawn[(int)SVG_WIDTH + 1] = { false }; /* hundreds in one place are one */

		for (size_t k = 0; k < m->n; k++) {
			double left = px(d, m->v[k][0]), right = px(d, m->v[k][1]);

			if (right - left < MARK_WIDTH) {
				left = fmin(fmax(left - MARK_WIDTH / 2, SVG_LEFT), SVG_WIDTH - SVG_RIGHT - MARK_WIDTH);
				right = left + MARK_WIDTH;
			}
			if (drawn[(size_t)fmin(fmax(left, 0), SVG_WIDTH)] && right - left <= MARK_WIDTH)
				continue;
			drawn[(size_t)fmin(fmax(left, 0), SVG_WIDTH)] = true; /* also beside the axis */
			markup(out, "<rect class=\"mark %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
			       mark_class(d, i), left, SVG_TOP, right - left, SVG_HEIGHT - SVG_TOP - SVG_BOTTOM);
		}
	}
}

/* Large type on a phone would run into the other axis, or out of the drawing. */
static const char *edge_class(double x)
{
	return x < SVG_LEFT + 20 ? " first" : x > SVG_WIDTH - SVG_RIGHT - 20 ? " last" : "";
}

static void x_axis(FILE *out, const struct plot_data *d)
{
	double wide = (SVG_WIDTH - SVG_LEFT - SVG_RIGHT) / (double)(d->nnames ? d->nnames : 1);
	char text[64];

	for (size_t i = 0; d->kind != PLOT_BARS && i < d->x.nticks; i++) {
		double x = px(d, d->x.tick[i]);

		markup(out,
		       "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text class=\"t%s%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
		       x, SVG_TOP, SVG_HEIGHT - SVG_BOTTOM, i % 2 ? " o" : "", edge_class(x), x,
		       SVG_HEIGHT - SVG_BOTTOM + 20, axis_tick_text(&d->x, i, text, sizeof(text)));
	}
	for (size_t i = 0; d->kind == PLOT_BARS && i < d->nnames; i++)
		markup(out, "<text class=\"t%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
		       d->nnames > 4 && i % 2 ? " o" : "", SVG_LEFT + ((double)i + 0.5) * wide,
		       SVG_HEIGHT - SVG_BOTTOM + 20, d->names[i]);
}

static void y_axis(FILE *out, const struct plot_data *d)
{
	char text[64];

	for (size_t i = 0; i < d->y.nticks; i++)
		markup(out,
		       "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text class=\"t%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		       SVG_LEFT, py(d, d->y.tick[i]), SVG_WIDTH - SVG_RIGHT, i % 2 ? " o" : "", SVG_LEFT - 8,
		       py(d, d->y.tick[i]) + 4, axis_tick_text(&d->y, i, text, sizeof(text)));
}

/* The 95 % interval as a band behind the line. */
static void band(FILE *out, const struct plot_data *d, const struct series *s, size_t hue)
{
	bool has_interval = false;

	for (size_t i = 0; i < s->n; i++)
		has_interval |= isfinite(s->v[i].low) && isfinite(s->v[i].high);
	if (!has_interval)
		return;
	markup(out, "<path class=\"band f%zu\" d=\"", hue);
	for (size_t i = 0; i < 2 * s->n; i++) { /* there above, and back below */
		const struct point *p = &s->v[i < s->n ? i : 2 * s->n - 1 - i];
		double edge = i < s->n ? p->high : p->low;

		markup(out, "%c%.1f %.1f", i ? 'L' : 'M', px(d, p->x), py(d, isfinite(edge) ? edge : p->y));
	}
	(void)fputs("Z\"/>\n", out);
}

static void put_dot(FILE *out, size_t hue, double x, double y, double r)
{
	markup(out, "<circle class=\"f%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", hue, x, y, r);
}

static void draw_line(FILE *out, const struct plot_data *d, const struct series *s, size_t hue)
{
	band(out, d, s, hue);
	markup(out, "<path class=\"line s%zu\" d=\"", hue);
	for (size_t i = 0; i < s->n; i++)
		markup(out,
		       i && d->kind == PLOT_STEP ? "H%.1fV%.1f"
		       : i                       ? "L%.1f %.1f"
		                                 : "M%.1f %.1f",
		       px(d, s->v[i].x), py(d, s->v[i].y));
	(void)fputs("\"/>\n", out);
	for (size_t i = 0; s->n <= 80 && d->kind == PLOT_LINE && i < s->n; i++)
		put_dot(out, hue, px(d, s->v[i].x), py(d, s->v[i].y), 2.2);
}

static void draw_scatter(FILE *out, const struct plot_data *d, const struct series *s, size_t hue)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct point *p = &s->v[i];

		if (isfinite(p->low) && isfinite(p->high))
			markup(out, "<path class=\"whisker s%zu\" d=\"M%.1f %.1fV%.1f\"/>", hue, px(d, p->x),
			       py(d, p->low), py(d, p->high));
		put_dot(out, hue, px(d, p->x), py(d, p->y), s->n > 400 ? 1.4 : 2.6);
	}
}

static void put_bar(FILE *out, size_t hue, double left, double top, double width)
{
	markup(out, "<rect class=\"f%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", hue, left, top,
	       width, SVG_HEIGHT - SVG_BOTTOM - top);
}

static void draw_bars(FILE *out, const struct plot_data *d, const struct series *s, size_t hue, size_t which)
{
	double slot = (SVG_WIDTH - SVG_LEFT - SVG_RIGHT) / (double)(d->nnames ? d->nnames : 1),
	       width = slot * 0.8 / (double)d->nseries;

	for (size_t i = 0; i < s->n; i++)
		put_bar(out, hue, SVG_LEFT + s->v[i].x * slot + slot * 0.1 + width * (double)which, py(d, s->v[i].y),
		        fmax(width - 1.0, 0.5));
}

/* Of several histograms each is an outline over a pale area, so that none hides another. */
static void draw_outline(FILE *out, const struct plot_data *d, const struct series *s, size_t hue)
{
	for (int is_line = 0; is_line < 2; is_line++) {
		markup(out, "<path class=\"%s%zu\" d=\"M%.1f %.1f", is_line ? "line s" : "band f", hue,
		       px(d, s->v[0].x), SVG_HEIGHT - SVG_BOTTOM);
		for (size_t i = 0; i < s->n; i++)
			markup(out, "V%.1fH%.1f", py(d, s->v[i].y), px(d, plot_bar_end(d, s, i)));
		markup(out, "V%.1f\"/>\n", SVG_HEIGHT - SVG_BOTTOM);
	}
}

/* Bars between x and x_end (or the next x): histograms and recording zones. */
static void draw_spans(FILE *out, const struct plot_data *d, const struct series *s, size_t hue)
{
	bool is_histogram = d->kind == PLOT_HISTOGRAM;

	if (is_histogram && d->nseries > 1) {
		draw_outline(out, d, s, hue);
		return;
	}
	for (size_t i = 0; i < s->n; i++) {
		double left = px(d, s->v[i].x), width = fmax(px(d, plot_bar_end(d, s, i)) - left, 0.6),
		       top = py(d, s->v[i].y);

		if (is_histogram)
			put_bar(out, hue, left, top, width);
		else
			markup(out, "<path class=\"span s%zu\" d=\"M%.1f %.1fH%.1f\"/>\n", hue, left, top,
			       left + width);
	}
}

/* x: part of a revolution, 0 at the top, clockwise from above; y: the outer edge of the disk is the smallest value. */
static void draw_polar(FILE *out, const struct plot_data *d)
{
	double cx = SVG_WIDTH / 2, cy = SVG_HEIGHT / 2, outer = SVG_HEIGHT / 2 - 10, inner = outer * 0.3;

	for (int i = 0; i < 2; i++)
		markup(out, "<circle class=\"rim\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", cx, cy, i ? inner : outer);
	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++) {
			double turn = d->series[i].v[k].x * 6.283185307179586;
			double r = outer - (outer - inner) * axis_place(&d->y, d->series[i].v[k].y);

			put_dot(out, i % SVG_HUES, cx + r * sin(turn), cy - r * cos(turn), 1.6);
		}
}

static void open_svg(FILE *out, const struct plot_data *d, const char *what)
{
	markup(out, "<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s%s%s\">\n", SVG_WIDTH,
	       SVG_HEIGHT, d->title, what[0] ? ": " : "", what);
}

static void draw_series(FILE *out, const struct plot_data *d, size_t i)
{
	const struct series *s = &d->series[i];
	size_t hue = i % SVG_HUES;

	switch (d->kind) {
	case PLOT_LINE:
	case PLOT_STEP:
		if (s->is_dots) {
			(void)fputs("<g class=\"dots\">", out);
			draw_scatter(out, d, s, hue);
			(void)fputs("</g>\n", out);
		} else {
			draw_line(out, d, s, hue);
		}
		break;
	case PLOT_SCATTER:
		draw_scatter(out, d, s, hue);
		break;
	case PLOT_BARS:
		draw_bars(out, d, s, hue, i);
		break;
	case PLOT_HISTOGRAM:
	case PLOT_BANDS:
		draw_spans(out, d, s, hue);
		break;
	case PLOT_HEATMAP:
	case PLOT_POLAR:
		break;
	}
}

/* ---- maps: cells of equal size, one for each pair of levels, from the top left ---- */

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

static void axis_names(FILE *out, const struct plot_data *d)
{
	markup(out,
	       "<text class=\"l\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text><text class=\"l\" x=\"4\" y=\"18\">%s</text>\n",
	       (SVG_LEFT + SVG_WIDTH - SVG_RIGHT) / 2, SVG_HEIGHT - 8, d->x.label, d->y.label);
}

static void map_draw(FILE *out, const struct plot_data *d, struct series *s)
{
	size_t nx = map_fill(s), ny = s->n / nx;
	double w = (SVG_WIDTH - SVG_LEFT - SVG_RIGHT) / (double)nx,
	       h = (SVG_HEIGHT - SVG_TOP - SVG_BOTTOM) / (double)ny;
	char text[64];

	for (size_t i = 0; i < s->n; i++) {
		double heat = axis_place(&d->z, s->v[i].z);

		if (!isfinite(s->v[i].z))
			continue; /* blank: it was not measured */
		markup(out,
		       "<rect class=\"heat%s\" style=\"--h:%.2f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
		       plot_is_marked(d, &s->v[i]) ? " ring" : "", heat, SVG_LEFT + w * (double)(i % nx),
		       SVG_TOP + h * (double)(i / nx), fmax(w - 1.0, 0.5), fmax(h - 1.0, 0.5));
		svg_heat(out, heat);
		markup(out, "><title>%s</title></rect>\n", report_f64(text, sizeof(text), d->z.unit, s->v[i].z));
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
	axis_names(out, d);
}

/* Of a plot that is not a map. */
static void draw_plot(FILE *out, const struct plot_data *d)
{
	if (d->kind == PLOT_POLAR) {
		draw_polar(out, d);
		return;
	}
	x_axis(out, d);
	y_axis(out, d);
	axis_names(out, d);
	if (d->kind != PLOT_HISTOGRAM) /* whose bars would hide them */
		draw_marks(out, d);
	for (int is_line = 0; is_line < 2; is_line++)
		for (size_t i = 0; i < d->nseries; i++)
			if (d->series[i].is_dots == !is_line)
				draw_series(out, d, i);
	if (d->kind == PLOT_HISTOGRAM)
		draw_marks(out, d);
}

static void thin(struct plot_data *d)
{
	for (size_t i = 0; i < d->nseries; i++)
		plot_thin(&d->series[i], d->series[i].is_dots ? DOTS_MAX : POINTS_MAX);
}

void svg_plot(FILE *out, struct plot_data *d)
{
	thin(d);
	legend(out, d);
	if (d->kind == PLOT_HEATMAP) {
		(void)fputs("<div class=\"maps\">\n", out);
		for (size_t i = 0; i < d->nseries; i++) {
			markup(out, d->series[i].name[0] ? "<div><h4>%s</h4>\n" : "<div>%s", d->series[i].name);
			open_svg(out, d, d->series[i].name);
			map_draw(out, d, &d->series[i]);
			(void)fputs("</svg></div>\n", out);
		}
		(void)fputs("</div>\n", out);
		return;
	}
	open_svg(out, d, "");
	draw_plot(out, d);
	(void)fputs("</svg>\n", out);
}

/* ---- alone ---- */

#define MARGIN    16.0
#define LINE      20.0 /* from one line of text to the next */
#define CHARACTER 7.6  /* of 13 px, in a wide face */

/* Text lines above the drawing are made in memory, since the size of the whole stands in front of them. */
struct sheet {
	FILE *out;
	double y; /* the base of the last line */
};

static void sheet_text(struct sheet *s, const char *look, double x, const char *text, size_t bytes)
{
	cleanup_free char *copy = xmust(strndup(text, bytes));

	markup(s->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", look, x, s->y, copy);
}

/* Words filled into lines of that many bytes: as few as fit in any face. */
static void sheet_fill(struct sheet *s, const char *look, const char *text, size_t most)
{
	while (text && *text) {
		size_t n = text_line(text, most);

		s->y += LINE;
		sheet_text(s, look, MARGIN, text, n);
		text += n + (text[n] == ' ');
	}
}

static void sheet_legend(struct sheet *s, const struct plot_data *d)
{
	double x = MARGIN;
	struct plot_key key;

	for (size_t i = 0; plot_key(d, i, &key); i++) {
		double width = 24.0 + CHARACTER * (double)strlen(key.name);
		bool is_new = i == 0 || x + width > MARGIN + SVG_WIDTH;

		x = is_new ? MARGIN : x;
		s->y += is_new ? LINE : 0.0;
		sheet_text(s, "l", x + (put_swatch(s->out, d, &key, x, s->y - 10.0) ? 16.0 : 0.0), key.name,
		           strlen(key.name));
		x += width;
	}
}

/* The drawing, or of a map each of them with its name. */
static void sheet_drawings(struct sheet *s, const struct plot_data *d)
{
	for (size_t i = 0; i < (d->kind == PLOT_HEATMAP ? d->nseries : 1); i++) {
		if (d->kind == PLOT_HEATMAP)
			sheet_fill(s, "l", d->series[i].name, SIZE_MAX);
		s->y += 8.0;
		markup(s->out, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\">\n", MARGIN, s->y, SVG_WIDTH,
		       SVG_HEIGHT);
		if (d->kind == PLOT_HEATMAP)
			map_draw(s->out, d, &d->series[i]);
		else
			draw_plot(s->out, d);
		(void)fputs("</svg>\n", s->out);
		s->y += SVG_HEIGHT;
	}
}

/*
 * A file of its own, light, for programs that know no variables: title, see (or NULL), what was measured, legend,
 * drawing. The picture can be turned into a PNG by any of them.
 */
static void svg_alone(FILE *out, struct plot_data *d, const char *what, const char *see)
{
	char *body = NULL;
	size_t len = 0;
	struct sheet s = { .out = xmust(open_memstream(&body, &len)), .y = MARGIN - 4.0 };
	double width = SVG_WIDTH + 2 * MARGIN;

	thin(d);
	sheet_fill(&s, "l title", d->title, 68);
	sheet_fill(&s, "t", what, 92);
	sheet_fill(&s, "l", see, 92);
	sheet_legend(&s, d);
	sheet_drawings(&s, d);
	(void)xmust(fclose(s.out) == 0 ? body : NULL);
	(void)fprintf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, sans-serif\">\n<!-- platter -->\n<style>",
		2 * width, 2 * (s.y + MARGIN), width, s.y + MARGIN);
	svg_style(out, true);
	(void)fprintf(
		out,
		"svg .title{font-size:16px;font-weight:bold}</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n",
		svg_light("bg", 2));
	(void)fputs(body, out);
	(void)fputs("</svg>\n", out);
	free(body);
}

/* What a document of an older program calls it is its title. */
static const char *name_of(const struct plot *plot)
{
	return plot->name ? plot->name : plot->title ? plot->title : "";
}

static int refuse(const struct result *const *res, size_t n, const char *name, struct err *err)
{
	char names[512] = "";

	for (size_t which = 0; which < n; which++)
		for (size_t i = 0; i < res[which]->nplots; i++)
			if (plot_has_points(res, which, i))
				str_list(names, sizeof(names), ", ", "%s", name_of(&res[which]->plots[i]));
	if (!names[0])
		return err_set(err, -EINVAL, "There is no picture '%s': the documents have none.", name);
	return err_set(err, -EINVAL, "There is no picture '%s'; there are: %s.", name, names);
}

static int draw(FILE *out, const struct result *const *res, size_t n, const struct plot *plot, const char *what)
{
	struct plot_data *d = plot_data_new(res, n, plot, true);

	if (!d)
		return -ENODATA;
	svg_alone(out, d, what, plot->see);
	plot_data_free(d);
	return ferror(out) ? -EIO : 0;
}

static const struct plot *find(const struct result *const *res, size_t n, const char *name, size_t *ret_which)
{
	for (size_t which = 0; which < n; which++)
		for (size_t i = 0; i < res[which]->nplots; i++)
			if (strcmp(name_of(&res[which]->plots[i]), name) == 0 && plot_has_points(res, which, i)) {
				*ret_which = which;
				return &res[which]->plots[i];
			}
	return NULL;
}

int report_picture_check(const struct result *const *res, size_t n, const char *name, struct err *err)
{
	size_t which;

	return find(res, n, name, &which) ? 0 : refuse(res, n, name, err);
}

int report_picture(FILE *out, const struct result *const *res, size_t n, const char *name)
{
	char label[160], what[256];
	const struct result *group[DOCUMENTS_MAX];
	size_t ngroup = 0, which = 0;
	const struct plot *plot = find(res, n, name, &which);

	if (!plot)
		return -EINVAL;
	for (size_t k = 0; k < n && ngroup < DOCUMENTS_MAX; k++)
		if (strcmp(res[k]->head.measurement, res[which]->head.measurement) == 0)
			group[ngroup++] = res[k];
	(void)snprintf(what, sizeof(what), "platter %s of %s, %.10s", res[which]->head.measurement,
	               ngroup == 1 ? document_label(res, n, which, label, sizeof(label)) : "several",
	               res[which]->head.started ? res[which]->head.started : "");
	return draw(out, group, ngroup, plot, what);
}
