/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plots with characters, for people on a serial console or ssh: braille dots (2 x 4 a character) where the terminal
 * speaks UTF-8, else one mark a character. The data are the same as on the page (plotdata.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "base/whole.h"
#include "base/xalloc.h"
#include "report/map.h"
#include "report/plotdata.h"
#include "report/text.h"

#define ROWS         15
#define ROWS_LEAST   4
#define NUMBERS_MOST 16 /* side by side, of a map: more do not fit into a line */
#define ROWS_POLAR   24
#define BAR_NAME     22 /* columns */
#define GUTTER       10 /* columns left of the drawing: tick labels */

struct canvas {
	size_t columns, rows;  /* in characters */
	size_t dots_x, dots_y; /* dots per character */
	bool has_light_dots;   /* no colour distinguishes them from lines */
	unsigned char *dot;    /* one per dot: 0 empty, else series + 1, with BEHIND */
};

#define BEHIND 0x80 /* a dot behind the lines: it shows in characters that no line goes through */

static const char marks[] = "*o+x#%@&";

static void canvas_init(struct canvas *c, size_t columns, size_t rows, bool has_braille, bool has_colour)
{
	*c = (struct canvas){ .columns = columns,
		              .rows = rows,
		              .dots_x = has_braille ? 2 : 1,
		              .dots_y = has_braille ? 4 : 1,
		              .has_light_dots = !has_braille || !has_colour };
	c->dot = xcalloc(columns * c->dots_x, rows * c->dots_y);
}

/* x and y: 0..1, y upwards. */
static void canvas_dot(struct canvas *c, double x, double y, size_t series)
{
	size_t w = c->columns * c->dots_x, h = c->rows * c->dots_y;
	size_t col = (size_t)lround(x * (double)(w - 1)), row = (size_t)lround((1.0 - y) * (double)(h - 1));

	c->dot[row * w + col] = (unsigned char)((series & BEHIND) | (series % 8 + 1));
}

static void canvas_line(struct canvas *c, const double from[2], const double to[2], size_t series)
{
	double dx = fabs(to[0] - from[0]) * (double)(c->columns * c->dots_x),
	       dy = fabs(to[1] - from[1]) * (double)(c->rows * c->dots_y);
	size_t steps = (size_t)fmax(dx, dy) + 1;

	for (size_t i = 0; i <= steps; i++) {
		double t = (double)i / (double)steps;

		canvas_dot(c, from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1]), series);
	}
}

/* The braille pattern of a character cell as UTF-8, or a mark; *ret_series: the last series in it, 0: empty. */
static void canvas_cell(const struct canvas *c, size_t col, size_t row, char text[4], size_t *ret_series)
{
	static const unsigned bit[4][2] = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 } };
	size_t w = c->columns * c->dots_x, last[2] = { 0, 0 };
	unsigned patterns[2] = { 0, 0 }, pattern; /* of what lies behind, and of lines */

	for (size_t y = 0; y < c->dots_y; y++)
		for (size_t x = 0; x < c->dots_x; x++) {
			unsigned char d = c->dot[(row * c->dots_y + y) * w + col * c->dots_x + x];

			if (d) {
				patterns[!(d & BEHIND)] |= bit[y][x];
				last[!(d & BEHIND)] = d & ~BEHIND;
			}
		}
	pattern = patterns[patterns[1] != 0];
	*ret_series = last[patterns[1] != 0];
	if (!pattern) {
		memcpy(text, " ", 2);
	} else if (!patterns[1] && c->has_light_dots) {
		(void)stpcpy(text, c->dots_x == 1 ? "." : "\xc2\xb7");
	} else if (c->dots_x == 1) {
		text[0] = marks[(*ret_series - 1) % 8];
		text[1] = '\0';
	} else { /* U+2800 + pattern */
		text[0] = (char)0xe2;
		text[1] = (char)(0xa0 | (pattern >> 6));
		text[2] = (char)(0x80 | (pattern & 0x3f));
		text[3] = '\0';
	}
}

static void ink(FILE *out, const struct text_style *style, size_t series, const char *text)
{
	static const int hue[] = { 33, 208, 35, 170, 178, 69, 161, 106 };

	if (style->colour && series)
		(void)fprintf(out, "\033[38;5;%dm%s\033[0m", hue[(series - 1) % 8], text);
	else
		(void)fputs(text, out);
}

/* The tick nearest to the middle of a character row, as a label of GUTTER - 2 columns; every other one where a row
 * would have two. */
static void y_label(FILE *out, const struct axis *a, size_t row, size_t rows)
{
	double apart =
		a->nticks > 1 ? (axis_place(a, a->tick[1]) - axis_place(a, a->tick[0])) * (double)(rows - 1) : 1.0;
	char text[64];

	for (size_t i = 0; i < a->nticks; i += apart < 1.0 ? 2 : 1)
		if ((size_t)lround((1.0 - axis_place(a, a->tick[i])) * (double)(rows - 1)) == row) {
			(void)fprintf(out, "%*.*s ", GUTTER - 2, GUTTER - 2, axis_tick_text(a, i, text, sizeof(text)));
			return;
		}
	(void)fprintf(out, "%*s", GUTTER - 1, "");
}

static void x_labels(FILE *out, const struct axis *a, size_t columns)
{
	cleanup_free char *line = xmust(malloc(GUTTER + columns + 2));
	size_t used = 0;
	char text[64];
	memset(line, ' ', GUTTER + columns + 1);
	line[GUTTER + columns + 1] = '\0';
	for (size_t i = 0; i < a->nticks; i++) {
		size_t len = strlen(axis_tick_text(a, i, text, sizeof(text)));
		size_t at = GUTTER + (size_t)lround(axis_place(a, a->tick[i]) * (double)(columns - 1));

		at = at > len / 2 ? at - len / 2 : 0;
		if (at + len > GUTTER + columns + 1)
			at = GUTTER + columns + 1 - len;
		if (used && at < used + 2)
			continue;
		memcpy(line + at, text, len);
		used = at + len;
	}
	for (size_t n = strlen(line); n > 0 && line[n - 1] == ' '; n--)
		line[n - 1] = '\0';
	(void)fprintf(out, "%s\n", line);
}

/* Do the names of the marks fit into one line? */
static bool marks_share_line(const struct plot_data *d, size_t columns)
{
	size_t used = 0;

	for (size_t i = 0; i < d->nmarks; i++)
		used += text_width(d->marks[i].name) + 4;
	return used <= columns;
}

/* Under the axis: a row of all marks, and what each stands for. */
static void print_marks(FILE *out, const struct plot_data *d, const struct text_style *style, size_t columns)
{
	static const char signs[] = "^!v~";
	cleanup_free char *line = xcalloc(columns + 1, 1);

	if (d->nmarks == 0)
		return;
	for (size_t i = 0; i < d->nmarks; i++)
		for (size_t k = 0; k < d->marks[i].n; k++) {
			size_t from = (size_t)lround(axis_place(&d->x, d->marks[i].v[k][0]) * (double)(columns - 1));
			size_t to = (size_t)lround(axis_place(&d->x, d->marks[i].v[k][1]) * (double)(columns - 1));

			memset(line + from, signs[i % 4], to - from + 1);
		}
	for (size_t i = 0; i < columns; i++)
		line[i] = line[i] ? line[i] : ' ';
	for (size_t n = columns; n > 0 && line[n - 1] == ' '; n--)
		line[n - 1] = '\0';
	(void)fprintf(out, "%*s", GUTTER, "");
	ink(out, style, 2, line);
	for (size_t i = 0; i < d->nmarks; i++) {
		char sign[2] = { signs[i % 4], '\0' };

		if (i == 0 || !marks_share_line(d, columns))
			(void)fprintf(out, "\n%*s", GUTTER, "");
		else
			(void)fputs("  ", out);
		ink(out, style, 2, sign);
		(void)fprintf(out, " %s", d->marks[i].name);
	}
	(void)fputc('\n', out);
}

static void print_canvas(FILE *out, const struct canvas *c, const struct plot_data *d, const struct text_style *style)
{
	bool has_axes = d->kind != PLOT_POLAR;

	if (has_axes)
		(void)fprintf(out, "%s\n", d->y.label);
	for (size_t row = 0; row < c->rows; row++) {
		size_t last = c->columns;
		char text[4];
		size_t series;

		if (has_axes) {
			y_label(out, &d->y, row, c->rows);
			(void)fputs(style->unicode ? "\xe2\x94\x82" : "|", out);
		}
		for (; last > 0; last--) { /* no blanks at line ends */
			canvas_cell(c, last - 1, row, text, &series);
			if (series)
				break;
		}
		for (size_t col = 0; col < last; col++) {
			canvas_cell(c, col, row, text, &series);
			ink(out, style, series, text);
		}
		(void)fputc('\n', out);
	}
	if (has_axes) {
		(void)fprintf(out, "%*s%s", GUTTER - 1, "", style->unicode ? "\xe2\x94\x94" : "+");
		for (size_t i = text_width(d->x.label) + 1; i < c->columns; i++)
			(void)fputs(style->unicode ? "\xe2\x94\x80" : "-", out);
		(void)fprintf(out, " %s\n", d->x.label);
		print_marks(out, d, style, c->columns);
		x_labels(out, &d->x, c->columns);
	}
}

/* Several lines in braille look alike without colour; marks do not. */
static bool has_braille(const struct plot_data *d, const struct text_style *style)
{
	size_t lines = 0;

	for (size_t i = 0; i < d->nseries; i++)
		lines += !d->series[i].is_dots;
	return style->unicode && (style->colour || lines <= 1);
}

/* In one line, where it is wide enough for all names. */
static size_t legend_lines(const struct plot_data *d, size_t width)
{
	size_t used = 0;

	for (size_t i = 0; i < d->nseries; i++)
		used += text_width(d->series[i].name) + 4;
	return d->nseries < 2 ? 0 : used <= width ? 1 : d->nseries;
}

static void legend(FILE *out, const struct plot_data *d, const struct text_style *style, size_t width)
{
	size_t lines = legend_lines(d, width);

	for (size_t i = 0; lines > 0 && i < d->nseries; i++) {
		char mark[2] = { marks[i % 8], '\0' };

		ink(out, style, i + 1,
		    d->series[i].is_dots    ? style->unicode ? "\xc2\xb7" : "."
		    : has_braille(d, style) ? "\xe2\x96\xa0"
		                            : mark);
		(void)fprintf(out, " %s%s", d->series[i].name, lines > 1 || i + 1 == d->nseries ? "\n" : "  ");
	}
}

static void draw_polar(struct canvas *c, const struct plot_data *d)
{
	double aspect = (double)(c->rows * c->dots_y) / (double)(c->columns * c->dots_x) * (c->dots_x == 1 ? 2.0 : 1.0);

	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++) {
			double turn = d->series[i].v[k].x * 6.283185307179586,
			       r = 0.5 * (1.0 - 0.7 * axis_place(&d->y, d->series[i].v[k].y));

			canvas_dot(c, 0.5 + r * sin(turn) * fmin(aspect, 1.0), 0.5 + r * cos(turn), i);
		}
}

static void draw_series(struct canvas *c, const struct plot_data *d, size_t i)
{
	const struct series *s = &d->series[i];
	bool is_joined = !s->is_dots && (d->kind == PLOT_LINE || d->kind == PLOT_STEP);

	for (size_t k = 0; k < s->n; k++) {
		double here[2] = { axis_place(&d->x, s->v[k].x), axis_place(&d->y, s->v[k].y) };

		canvas_dot(c, here[0], here[1], s->is_dots ? i % 8 | BEHIND : i);
		if (is_joined && k > 0) {
			double before[2] = { axis_place(&d->x, s->v[k - 1].x), axis_place(&d->y, s->v[k - 1].y) };

			canvas_line(c, before, here, i);
		}
		if (d->kind == PLOT_HISTOGRAM || d->kind == PLOT_BANDS) {
			double there[2] = { axis_place(&d->x, plot_bar_end(d, s, k)), here[1] };
			double foot[2] = { here[0], d->nseries > 1 && k > 0 ? axis_place(&d->y, s->v[k - 1].y) : 0.0 };

			canvas_line(c, here, there, i);
			if (d->kind == PLOT_HISTOGRAM) /* of several: outlines */
				canvas_line(c, foot, here, i);
		}
	}
}

/* Bars lie down: names are long. */
static void print_bars(FILE *out, const struct plot_data *d, const struct text_style *style, size_t width)
{
	char text[4 * BAR_NAME + 8];

	const char *unit = strstr(d->y.label, " ("); /* each bar has its own */

	(void)fprintf(out, "%.*s\n", unit ? (int)(unit - d->y.label) : (int)strlen(d->y.label), d->y.label);
	for (size_t i = 0; i < d->nseries; i++)
		for (size_t k = 0; k < d->series[i].n; k++) {
			const struct point *p = &d->series[i].v[k];
			size_t len = (size_t)lround(axis_place(&d->y, p->y) * (double)(width > 44 ? width - 40 : 4));
			struct cell cell = { .f64 = p->y };

			const char *name = p->x >= 0.0 && p->x < (double)d->nnames ? d->names[(size_t)p->x] : "";
			unsigned used = report_printable(text, sizeof(text), name, BAR_NAME, style->unicode);

			(void)fprintf(out, "%*s%s ", (int)(BAR_NAME - used), "", text);
			for (size_t b = 0; b < len; b++)
				ink(out, style, i + 1, style->unicode ? "\xe2\x96\x88" : "#");
			(void)fprintf(out, " %s\n", report_value(text, sizeof(text), FIELD_TYPE_F64, d->y.unit, &cell));
		}
}

static int compare_point(const void *a, const void *b)
{
	const struct point *p = a, *q = b;

	if (p->y != q->y)
		return (p->y > q->y) - (p->y < q->y);
	return (p->x > q->x) - (p->x < q->x);
}

/* Where numbers would not fit: the stronger, the hotter. */
static const char *shade(size_t heat, const struct text_style *style)
{
	static const char *const shades[][MAP_HEAT_STEPS + 1] = { { ".", ":", "+", "x", "#" },
		                                                  { "\xc2\xb7", "\xe2\x96\x91", "\xe2\x96\x92",
		                                                    "\xe2\x96\x93", "\xe2\x96\x88" } };

	return shades[style->unicode][heat];
}

static void print_cell(FILE *out, const struct plot_data *d, double z, const char *text, const struct text_style *style)
{
	const char *mark = !isfinite(z) ? " " : shade((size_t)lround(axis_place(&d->z, z) * MAP_HEAT_STEPS), style);

	if (style->colour && isfinite(z))
		(void)fprintf(out, "\033[48;5;%dm", 232 + (int)lround(axis_place(&d->z, z) * 20.0));
	(void)fprintf(out, "%s%s", text ? text : mark, text ? "" : mark);
	if (style->colour)
		(void)fputs("\033[0m", out);
}

/* Rows of shades, `per` of the map in one, each cell the strongest of them; a mark is stronger than any. */
static void print_shades(FILE *out, const struct plot_data *d, const struct series *s, size_t across, size_t per,
                         const struct text_style *style)
{
	char text[64];

	(void)fprintf(out, "%s:", map_heat_label(d));
	for (int i = 0; i <= MAP_HEAT_STEPS; i++)
		(void)fprintf(out, "%s %s %s", i ? " " : "", shade((size_t)i, style),
		              map_heat_text(d, i, text, sizeof(text)));
	for (size_t row = 0; row * across < s->n; row += per) {
		(void)fprintf(out, "\n%9s ", map_level_text(d, &d->y, s->v[row * across].y, text, sizeof(text)));
		for (size_t c = 0; c < across; c++) {
			double z = (double)NAN;
			bool is_marked = false;

			for (size_t k = row; k < row + per && k * across + c < s->n; k++) {
				z = fmax(z, s->v[k * across + c].z); /* the number, where one is none */
				is_marked |= plot_is_marked(d, &s->v[k * across + c]);
			}
			print_cell(out, d, z, is_marked ? "!!" : NULL, style);
		}
	}
	(void)fputc('\n', out);
}

/* A heat map as numbers, or shades: a row for each y, shaded by colour when there is colour. */
static void print_map(FILE *out, const struct plot_data *d, const struct series *s, const struct text_style *style,
                      size_t rows)
{
	const char *suffix = d->z.unit == UNIT_BYTES_PER_S ? " (MB/s)" : "";
	double scale = d->z.unit == UNIT_BYTES_PER_S ? 1e6 : 1.0;
	size_t across = 0, levels;
	char text[64], number[16];

	qsort(s->v, s->n, sizeof(*s->v), compare_point);
	while (across < s->n && s->v[across].y == s->v[0].y)
		across++;
	levels = across ? (s->n + across - 1) / across : 0;
	if (across > NUMBERS_MOST) {
		print_shades(out, d, s, across, levels > rows ? (levels + rows - 1) / rows : 1, style);
		return;
	}
	(void)fprintf(out, "%s: %s%s; rows: %s\n", s->name[0] ? s->name : d->title, d->z.label, suffix, d->y.label);
	for (size_t i = 0; i < s->n; i++) {
		if (i == 0 || s->v[i].y != s->v[i - 1].y)
			(void)fprintf(out, "%s%9s ", i ? "\n" : "",
			              d->y.unit == UNIT_BYTES ? units_bytes(text, sizeof(text), whole(s->v[i].y)) : "");
		(void)snprintf(number, sizeof(number), "%7.*f", s->v[i].z / scale < 100.0 ? 1 : 0, s->v[i].z / scale);
		print_cell(out, d, s->v[i].z, number, style);
	}
	(void)fputc('\n', out);
}

/* What a picture has in the lines that it may have: where they are few, first what to see in it is left out, then its
 * legend. */
struct frame {
	size_t rows; /* of characters; 0: too few lines */
	bool has_see, has_legend;
};

static struct frame frame_of(const struct plot_data *d, const struct text_style *style, size_t width, size_t see)
{
	size_t most = d->kind == PLOT_POLAR ? ROWS_POLAR : ROWS, marks_lines = d->nmarks;
	size_t around = d->kind == PLOT_POLAR ? 2
	                : isfinite(d->cell)   ? 3
	                                      : 5; /* empty line, title; label, axis, ticks */
	struct frame f = { most, true, true };

	if (d->nmarks && !isfinite(d->cell))
		marks_lines = 1 + (marks_share_line(d, width - GUTTER - 2) ? 1 : d->nmarks);
	around += marks_lines + see + legend_lines(d, width);
	if (style->lines && style->lines < around + ROWS_LEAST) {
		f.has_see = false;
		around -= see;
	}
	if (style->lines && style->lines < around + ROWS_LEAST) {
		f.has_legend = false;
		around -= legend_lines(d, width);
	}
	if (style->lines)
		f.rows = style->lines < around + ROWS_LEAST ? 0
		         : style->lines - around < most     ? style->lines - around
		                                            : most;
	return f;
}

static void print_maps(FILE *out, const struct plot_data *d, const struct text_style *style, size_t rows)
{
	char text[64];

	for (size_t i = 0; i < d->nseries; i++)
		print_map(out, d, &d->series[i], style, rows);
	for (size_t i = 0; i < d->nmarks; i++) {
		struct cell cell = { .f64 = d->marks[i].v[0][0] };

		if (isfinite(d->cell))
			(void)fprintf(out, "%*s! %s\n", GUTTER, "", d->marks[i].name);
		else
			(void)fprintf(out, "%s: %s\n", d->marks[i].name,
			              report_value(text, sizeof(text), FIELD_TYPE_F64, d->x.unit, &cell));
	}
}

static void print_drawing(FILE *out, const struct plot_data *d, const struct text_style *style, size_t width,
                          const struct frame *f)
{
	size_t rows = f->rows;
	bool is_polar = d->kind == PLOT_POLAR;
	struct canvas c;

	canvas_init(&c, is_polar ? 2 * rows : width - GUTTER - 2, rows, has_braille(d, style), style->colour);
	if (is_polar)
		draw_polar(&c, d);
	for (size_t i = d->nseries; !is_polar && i-- > 0;) /* the first series on top */
		draw_series(&c, d, i);
	print_canvas(out, &c, d, style);
	if (f->has_legend)
		legend(out, d, style, width);
	free(c.dot);
}

/* What to see, in lines; heap. */
static char *see_text(const struct plot *plot, const struct text_style *style, unsigned width)
{
	struct printer p = { .style = style, .width = width };
	cleanup_free char *see = text_printable(&p, plot->see);
	char *text = NULL;
	size_t len = 0;

	p.out = xmust(open_memstream(&text, &len));
	if (*see) {
		text_look(&p, LOOK_QUIET);
		text_fill(&p, see, 0, 0);
		text_plain(&p);
	}
	return xmust(fclose(p.out) == 0 ? text : NULL);
}

static void tame(const struct text_style *style, char **text)
{
	struct printer p = { .style = style };
	char *shown = text_printable(&p, *text);

	free(*text);
	*text = shown;
}

static void tame_label(const struct text_style *style, struct axis *a)
{
	char label[sizeof(a->label)];

	(void)report_printable(label, sizeof(label), a->label, 0, style->unicode);
	(void)memcpy(a->label, label, sizeof(label));
}

/* All of its texts come from the document: behind this a terminal shows them and does not obey. */
static struct plot_data *printable_data(const struct result *const *res, size_t n, const struct plot *plot,
                                        const struct text_style *style)
{
	struct plot_data *d = plot_data_new(res, n, plot);

	if (!d)
		return NULL;
	tame(style, &d->title);
	for (size_t i = 0; i < d->nseries; i++)
		tame(style, &d->series[i].name);
	for (size_t i = 0; i < d->nmarks; i++)
		tame(style, &d->marks[i].name);
	for (size_t i = 0; i < d->nnames; i++)
		tame(style, &d->names[i]);
	tame_label(style, &d->x);
	tame_label(style, &d->y);
	tame_label(style, &d->z);
	return d;
}

void report_plot_text(FILE *out, const struct result *const *res, size_t n, const struct plot *plot,
                      const struct text_style *style)
{
	struct plot_data *d = printable_data(res, n, plot, style);
	cleanup_free char *see = NULL;
	size_t width = style->width ? style->width : 80;
	struct frame f;

	if (!d)
		return; /* nothing to draw is no failure: an interrupted run */
	if (width < 40)
		width = 40;
	see = see_text(plot, style, (unsigned)width);
	f = frame_of(d, style, width, text_lines(see));
	if (f.rows > 0)
		(void)fprintf(out, "\n%s\n%s", d->title, f.has_see ? see : "");
	if (f.rows > 0 && d->kind == PLOT_BARS)
		print_bars(out, d, style, width);
	else if (f.rows > 0 && d->kind == PLOT_HEATMAP)
		print_maps(out, d, style, style->lines ? f.rows : SIZE_MAX);
	else if (f.rows > 0)
		print_drawing(out, d, style, width, &f);
	plot_data_free(d);
}

void report_plots_text(FILE *out, const struct result *const *res, size_t n, const struct text_style *style)
{
	for (size_t which = 0; which < n; which++)
		for (size_t i = 0; i < res[which]->nplots; i++)
			if (!plot_is_repeated(res, which, i))
				report_plot_text(out, res, n, &res[which]->plots[i], style);
}
