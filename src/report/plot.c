/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plots with characters, for people on a serial console or ssh: braille dots (2 x 4 a character) where the terminal
 * speaks UTF-8, else one mark a character. The data are the same as on the page (plotdata.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "report/plotdata.h"
#include "report/printer.h"

#define ROWS         15
#define ROWS_LEAST   4
#define NUMBERS_MOST 16 /* side by side, of a map that is drawn: shades show more of them */
#define NUMBER       9  /* columns of one */
#define MATRIX_MOST  32 /* side by side, of a table */
#define ROWS_POLAR   24
#define BAR_NAME     22 /* columns */
#define GUTTER       10 /* columns left of the drawing: tick labels */

struct canvas {
	size_t columns, rows;  /* in characters */
	size_t dots_x, dots_y; /* dots per character */
	bool has_light_dots;   /* no colour distinguishes them from lines */
	unsigned char *dot;    /* one per dot: 0 empty, else series + 1, or SHARED, with BEHIND */
};

#define BEHIND 0x80 /* a dot behind the lines: it shows in characters that no line goes through */
#define SHARED 9    /* lines lie on each other where nothing but the mark distinguishes them */

static const char marks[] = "*o+x#%@&=";

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

	unsigned char *dot = &c->dot[row * w + col], is = (unsigned char)((series & BEHIND) | (series % 8 + 1));

	*dot = c->dots_x == 1 && *dot && *dot != is && !((*dot | is) & BEHIND) ? SHARED : is;
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
		text[0] = marks[*ret_series - 1];
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

static char sign_of(const struct plot_data *d, size_t mark)
{
	return d->marks[mark].is_unread ? '-' : isfinite(d->cell) ? '!' : "^!v~"[mark % 4];
}

/* Under the axis: a row of all marks. */
static void print_marks(FILE *out, const struct plot_data *d, const struct text_style *style, size_t columns)
{
	cleanup_free char *line = xcalloc(columns + 1, 1);
	size_t used = 0;

	for (size_t i = d->nmarks; i-- > 0;) /* what was not read lies below others */
		for (size_t k = 0; k < d->marks[i].n; k++) {
			size_t from = (size_t)lround(axis_place(&d->x, d->marks[i].v[k][0]) * (double)(columns - 1));
			size_t to = (size_t)lround(axis_place(&d->x, d->marks[i].v[k][1]) * (double)(columns - 1));

			memset(line + from, sign_of(d, i), to - from + 1);
			used = to + 1 > used ? to + 1 : used;
		}
	for (size_t i = 0; i < used; i++)
		line[i] = line[i] ? line[i] : ' ';
	(void)fprintf(out, "%*s", used ? GUTTER : 0, "");
	ink(out, style, 2, line);
	(void)fputs(used ? "\n" : "", out);
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

static size_t count_lines(const struct plot_data *d)
{
	size_t lines = 0;

	for (size_t i = 0; i < d->nseries; i++)
		lines += !d->series[i].is_dots;
	return lines;
}

/* Several lines in braille look alike without colour; marks do not. */
static bool has_braille(const struct plot_data *d, const struct text_style *style)
{
	return style->unicode && (style->colour || count_lines(d) <= 1);
}

/* Of the legend: lines and dots, what lies on each other, marks. */
struct entry {
	const char *name;
	size_t hue; /* as of ink() */
	char sign[4];
};

static bool entry_of(const struct plot_data *d, const struct text_style *style, size_t i, struct entry *ret)
{
	bool has_marks = !has_braille(d, style) && d->kind != PLOT_BARS;
	size_t nseries = d->nseries > 1 && d->kind != PLOT_HEATMAP ? d->nseries : 0;
	bool has_shared = nseries && has_marks && count_lines(d) > 1;
	struct plot_key key;
	const char *dot = style->unicode ? "\xc2\xb7" : ".", *block = style->unicode ? "\xe2\x96\xa0" : "#";

	*ret = (struct entry){ "several at one place", 2, { marks[SHARED - 1] } };
	if (has_shared && i == nseries)
		return true;
	if (!plot_key(d, i - (has_shared && i > nseries), &key) || !(key.is_series || key.is_mark))
		return false;
	*ret = (struct entry){ key.name,
		               key.is_series ? key.at + 1 : 2,
		               { key.is_series ? marks[key.at % 8] : sign_of(d, key.at) } };
	if (key.is_series && (d->series[i].is_dots || !has_marks))
		(void)stpcpy(ret->sign, d->series[i].is_dots ? dot : block);
	return true;
}

/* What each stands for, filled into lines; out NULL: counted alone. Returns how many lines. */
static size_t legend(FILE *out, const struct plot_data *d, const struct text_style *style, size_t width)
{
	size_t lines = 0, at = 0;
	struct entry e;

	for (size_t i = 0; entry_of(d, style, i, &e); i++) {
		size_t wide = text_width(e.name) + 2;
		bool is_new = lines == 0 || at + 2 + wide > width;

		lines += is_new;
		at = (is_new ? 0 : at + 2) + wide;
		if (!out)
			continue;
		(void)fputs(i == 0 ? "" : is_new ? "\n" : "  ", out);
		ink(out, style, e.hue, e.sign);
		(void)fprintf(out, " %s", e.name);
	}
	if (out && lines)
		(void)fputc('\n', out);
	return lines;
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
	for (size_t i = 0; i < d->nseries; i++) {
		if (d->nseries > 1)
			(void)fprintf(out, "%s:\n", d->series[i].name);
		for (size_t k = 0; k < d->series[i].n; k++) {
			const struct point *p = &d->series[i].v[k];
			size_t len = (size_t)lround(axis_place(&d->y, p->y) * (double)(width > 44 ? width - 40 : 4));

			const char *name = p->x >= 0.0 && p->x < (double)d->nnames ? d->names[(size_t)p->x] : "";
			unsigned used = report_printable(text, sizeof(text), name, BAR_NAME, style->unicode);

			(void)fprintf(out, "%*s%s ", (int)(BAR_NAME - used), "", text);
			for (size_t b = 0; b < len; b++)
				ink(out, style, i + 1, style->unicode ? "\xe2\x96\x88" : "#");
			(void)fprintf(out, " %s\n", report_f64(text, sizeof(text), d->y.unit, p->y));
		}
	}
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
	(void)fputs(text ? text : mark, out);
	if (style->colour)
		(void)fputs("\033[0m", out);
}

/*
 * Rows of shades, `per` of the map in one, each character the strongest of its cells; a mark is stronger than any. A
 * disk's places go on along a row: what is joined are neighbours. In other maps a column stays one.
 */
static void print_shades(FILE *out, const struct plot_data *d, const struct series *s, size_t across, size_t per,
                         const struct text_style *style)
{
	bool is_disk = isfinite(d->cell);
	char text[64];

	(void)fprintf(out, "%s:", map_heat_label(d));
	for (int i = 0; i <= MAP_HEAT_STEPS; i++)
		(void)fprintf(out, "%s %s %s", i ? " " : "", shade((size_t)i, style),
		              map_heat_text(d, i, text, sizeof(text)));
	for (size_t row = 0; row * across < s->n; row += per) {
		(void)fprintf(out, "\n%9s ", map_level_text(&d->y, s->v[row * across].y, text, sizeof(text)));
		for (size_t c = 0; c < 2 * across; c++) {
			size_t k = row * across + (is_disk ? c * per : c) / 2;
			double z = (double)NAN;
			bool is_marked = false;

			for (size_t n = is_disk ? (per + 1) / 2 : per; n > 0 && k < s->n;
			     n--, k += is_disk ? 1 : across) {
				z = fmax(z, s->v[k].z); /* the number, where one is none */
				is_marked |= plot_is_marked(d, &s->v[k]);
			}
			print_cell(out, d, z, is_marked ? "!" : NULL, style);
		}
	}
	(void)fputc('\n', out);
}

/* Numbers, x across and y down, in as many blocks as the width makes of them. */
static void print_numbers(FILE *out, const struct plot_data *d, const struct series *s, size_t across, size_t width,
                          const struct text_style *style)
{
	bool is_rate = d->z.unit == UNIT_BYTES_PER_S;
	size_t most = (width - GUTTER) / NUMBER;
	char text[64], number[32];

	(void)fprintf(out, "%s: %s%s, %s across, %s down\n", s->name[0] ? s->name : d->title, d->z.label,
	              is_rate ? " (MB/s)" : "", d->x.label, d->y.label);
	for (size_t from = 0; from < across; from += most) {
		size_t to = from + most < across ? from + most : across;

		(void)fprintf(out, "%*s", GUTTER, "");
		for (size_t c = from; c < to; c++)
			(void)fprintf(out, "%*s", NUMBER, map_level_text(&d->x, s->v[c].x, text, sizeof(text)));
		for (size_t row = 0; row + across <= s->n; row += across) {
			(void)fprintf(out, "\n%*s", GUTTER, map_level_text(&d->y, s->v[row].y, text, sizeof(text)));
			for (size_t c = row + from; c < row + to; c++) {
				double z = s->v[c].z / (is_rate ? 1e6 : 1.0);

				(void)snprintf(number, sizeof(number), "%*.*f", NUMBER, z < 99.95 ? 1 : 0, z);
				if (!isfinite(z)) /* not measured */
					(void)snprintf(number, sizeof(number), "%*s", NUMBER, "-");
				print_cell(out, d, s->v[c].z, number, style);
			}
		}
		(void)fputc('\n', out);
	}
}

bool text_matrix(struct printer *p, const struct result *res, const struct plot *plot)
{
	bool is_map = result_plot_kind(plot->kind) == PLOT_HEATMAP, is_small = is_map;
	struct plot_data *d = is_map ? plot_data_new(&res, 1, plot, p->style->unicode) : NULL;

	for (size_t i = 0; d && i < d->nseries; i++)
		is_small &= map_fill(&d->series[i]) <= MATRIX_MOST;
	for (size_t i = 0; d && is_small && i < d->nseries; i++) {
		(void)fputs(i ? "\n" : "", p->out);
		print_numbers(p->out, d, &d->series[i], map_fill(&d->series[i]), p->width, p->style);
	}
	is_small &= d != NULL;
	plot_data_free(d);
	return is_small;
}

/* What a picture has in the lines that it may have: where they are few, what to see in it is left out. */
struct frame {
	size_t rows; /* of characters; 0: too few lines */
	bool has_see;
};

static struct frame frame_of(const struct plot_data *d, const struct text_style *style, size_t width, size_t see)
{
	size_t most = d->kind == PLOT_POLAR ? ROWS_POLAR : ROWS, lines = style->lines ? style->lines : SIZE_MAX / 2;
	size_t around = legend(NULL, d, style, width) + see + (d->nmarks && !isfinite(d->cell)) +
	                (d->kind == PLOT_POLAR ? 2
	                 : isfinite(d->cell)   ? 3
	                                       : 5); /* empty line, title; label, axis, ticks */
	struct frame f = { .has_see = lines >= around + ROWS_LEAST };

	around -= f.has_see ? 0 : see;
	f.rows = lines < around + ROWS_LEAST ? 0 : lines - around < most ? lines - around : most;
	return f;
}

static void print_maps(FILE *out, const struct plot_data *d, const struct text_style *style, size_t width, size_t rows)
{
	char text[64];

	for (size_t i = 0; i < d->nseries; i++) {
		struct series *s = &d->series[i];
		size_t across = map_fill(s), levels = s->n / across;

		if (across <= NUMBERS_MOST)
			print_numbers(out, d, s, across, width, style);
		else
			print_shades(out, d, s, across, levels > rows ? (levels + rows - 1) / rows : 1, style);
	}
	for (size_t i = 0; i < d->nmarks && !isfinite(d->cell); i++)
		(void)fprintf(out, "%s: %s\n", d->marks[i].name,
		              report_f64(text, sizeof(text), d->x.unit, d->marks[i].v[0][0]));
	if (isfinite(d->cell))
		(void)legend(out, d, style, width);
}

static void print_drawing(FILE *out, const struct plot_data *d, const struct text_style *style, size_t width,
                          size_t rows)
{
	bool is_polar = d->kind == PLOT_POLAR;
	struct canvas c;

	canvas_init(&c, is_polar ? 2 * rows : width - GUTTER - 2, rows, has_braille(d, style), style->colour);
	if (is_polar)
		draw_polar(&c, d);
	for (size_t i = d->nseries; !is_polar && i-- > 0;) /* the first series on top */
		draw_series(&c, d, i);
	print_canvas(out, &c, d, style);
	(void)legend(out, d, style, width);
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

void report_plot_text(FILE *out, const struct result *const *res, size_t n, const struct plot *plot,
                      const struct text_style *style)
{
	struct plot_data *d = plot_data_new(res, n, plot, style->unicode);
	size_t width = style->width >= 40 ? style->width : style->width ? 40 : 80;
	cleanup_free char *see = see_text(plot, style, (unsigned)width);
	struct frame f;

	if (!d)
		return; /* nothing to draw is not a failure: an interrupted run */
	f = frame_of(d, style, width, text_lines(see));
	if (f.rows > 0)
		(void)fprintf(out, "\n%s\n%s", d->title, f.has_see ? see : "");
	if (f.rows > 0 && d->kind == PLOT_BARS)
		print_bars(out, d, style, width);
	else if (f.rows > 0 && d->kind == PLOT_HEATMAP)
		print_maps(out, d, style, width, style->lines ? f.rows : SIZE_MAX);
	else if (f.rows > 0)
		print_drawing(out, d, style, width, f.rows);
	plot_data_free(d);
}

void report_plots_text(FILE *out, const struct result *const *res, size_t n, const struct text_style *style)
{
	for (size_t which = 0; which < n; which++)
		for (size_t i = 0; i < res[which]->nplots; i++)
			if (!plot_is_repeated(res, which, i))
				report_plot_text(out, res, n, &res[which]->plots[i], style);
}
